//! Schemas as text, for people: the shape of a record, with types in the places of values.
//!
//! ```json
//! {
//!   "id": "int64",
//!   "created_at": "timestamp[ms]",
//!   "actor": { "login": "text", "site_admin": "bool" },
//!   "labels": ["text"],
//!   "payload": "json",
//!   "_rest": "json"
//! }
//! ```
//!
//! Types are `bool`, `int64`, `uint64`, `float64`, `date`, `timestamp[ms]`, `timestamp[us]`,
//! `timestamp[ns]` (in UTC; `timestamp` alone is microseconds), `text` and `json` (any value, as
//! JSON text). An object is a struct, an array of one type a list. Columns come in this order; each
//! may be null. A last column `_rest` of `json` takes the values that have no column; without it
//! such a value is an error. Where records are no objects, the whole text is one type: `"int64"`,
//! `["text"]`; or, with a `_rest`, `{ "$": "int64", "_rest": "json" }`.

use super::schema::{REST, VALUE, is_json, is_rest, is_whole, json, timestamp, whole};
use crate::json::cursor::{Cursor, RecordFlaw};
use crate::json::string::{RawString, unescape};
use crate::limits::{COLUMNS_MAX, NESTING_MAX};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use std::collections::HashSet;
use std::sync::Arc;

/// Scalar types and their names.
fn scalars() -> [(&'static str, DataType); 10] {
    [
        ("bool", DataType::Boolean),
        ("int64", DataType::Int64),
        ("uint64", DataType::UInt64),
        ("float64", DataType::Float64),
        ("timestamp[ms]", timestamp(TimeUnit::Millisecond)),
        ("timestamp[us]", timestamp(TimeUnit::Microsecond)),
        ("timestamp[ns]", timestamp(TimeUnit::Nanosecond)),
        // The same again, which is read and not written.
        ("timestamp", timestamp(TimeUnit::Microsecond)),
        ("date", DataType::Date32),
        ("text", DataType::Utf8),
    ]
}

/// A schema as text that [`parse_schema`] reads. A type that JSON has no values of is written as
/// Arrow names it, and is not read back.
#[must_use]
pub fn format_schema(schema: &Schema) -> String {
    let mut text = String::new();
    match schema.fields().iter().find(|field| is_whole(field)) {
        Some(field) if schema.fields().len() == 1 => format_type(field, 0, &mut text),
        Some(field) => {
            let record = Arc::new(field.as_ref().clone().with_name(RECORD));
            format_fields(&[record, Arc::new(json(REST))], 0, &mut text);
        }
        None => format_fields(schema.fields(), 0, &mut text),
    }
    text.push('\n');
    text
}

fn format_fields(fields: &[Arc<Field>], level: usize, text: &mut String) {
    text.push('{');
    for (index, field) in fields.iter().enumerate() {
        text.push_str(if index == 0 { "\n" } else { ",\n" });
        text.push_str(&"  ".repeat(level + 1));
        text.push_str(&format!("{}: ", serde_json::Value::from(field.name().as_str())));
        format_type(field, level + 1, text);
    }
    text.push('\n');
    text.push_str(&"  ".repeat(level));
    text.push('}');
}

fn format_type(field: &Field, level: usize, text: &mut String) {
    match field.data_type() {
        DataType::Struct(fields) => format_fields(fields, level, text),
        DataType::List(item) => {
            text.push('[');
            format_type(item, level, text);
            text.push(']');
        }
        _ if is_json(field) => text.push_str("\"json\""),
        data_type => match scalars().iter().find(|(_, scalar)| scalar == data_type) {
            Some((name, _)) => text.push_str(&format!("\"{name}\"")),
            None => text.push_str(&serde_json::Value::from(data_type.to_string()).to_string()),
        },
    }
}

/// A schema from its text.
///
/// # Errors
/// The fault, and its byte.
pub fn parse_schema(text: &str) -> Result<SchemaRef, String> {
    let mut parser = SchemaParser { cursor: Cursor::new(text, false), columns: 0 };
    let field = parser.document().map_err(|fault| match fault {
        SchemaTextError::Json(flaw) => format!("{} at byte {}", flaw.reason, flaw.at),
        SchemaTextError::Schema(at, what) => format!("{what} at byte {at}"),
    })?;
    Ok(Arc::new(match field.data_type() {
        DataType::Struct(fields) => match &fields[..] {
            [record, rest] if record.name() == RECORD && is_rest(rest) => {
                Schema::new(vec![whole(record.as_ref().clone().with_name(VALUE)), rest.as_ref().clone()])
            }
            _ => Schema::new(fields.clone()),
        },
        _ => Schema::new(vec![whole(field)]),
    }))
}

/// The place of the whole record's type, beside `_rest`.
const RECORD: &str = "$";

struct SchemaParser<'a> {
    cursor: Cursor<'a>,
    columns: usize,
}

enum SchemaTextError {
    Json(RecordFlaw),
    Schema(usize, String),
}

impl From<RecordFlaw> for SchemaTextError {
    fn from(flaw: RecordFlaw) -> Self {
        Self::Json(flaw)
    }
}

impl SchemaParser<'_> {
    fn document(&mut self) -> Result<Field, SchemaTextError> {
        self.cursor.space();
        let field = self.column(VALUE, 0)?;
        self.cursor.space();
        if self.cursor.at() < self.cursor.text().len() { Err(self.fault("something follows the schema")) } else { Ok(field) }
    }

    fn column(&mut self, name: &str, level: usize) -> Result<Field, SchemaTextError> {
        self.columns += 1;
        if self.columns > COLUMNS_MAX || level > NESTING_MAX {
            return Err(self.fault(&format!("more than {COLUMNS_MAX} columns, or nested deeper than {NESTING_MAX}")));
        }
        match self.cursor.peek()? {
            b'{' => Ok(Field::new(name, DataType::Struct(self.fields(level)?.into()), true)),
            b'[' => {
                let item = self.item(level)?;
                Ok(Field::new(name, DataType::List(Arc::new(item)), true))
            }
            b'"' => self.scalar(name),
            _ => Err(self.fault("a type should be here: its name, {…} or […]")),
        }
    }

    fn fields(&mut self, level: usize) -> Result<Vec<Field>, SchemaTextError> {
        let mut fields = Vec::new();
        let mut names = HashSet::new();
        let mut goes_on = !self.cursor.enter(b'}')?;
        while goes_on {
            let at = self.cursor.at();
            let raw = self.cursor.key()?;
            let name = plain(raw)?;
            self.cursor.colon()?;
            let field = self.column(&name, level + 1)?;
            if !names.insert(name) {
                return Err(SchemaTextError::Schema(at, "a second column of this name".into()));
            }
            fields.push(field);
            goes_on = self.cursor.goes_on(b'}')?;
        }
        if fields.is_empty() { Err(self.fault("a struct needs a column (or is \"json\")")) } else { Ok(fields) }
    }

    fn item(&mut self, level: usize) -> Result<Field, SchemaTextError> {
        if self.cursor.enter(b']')? {
            return Err(self.fault("a list needs the type of its items"));
        }
        let item = self.column(Field::LIST_FIELD_DEFAULT_NAME, level + 1)?;
        if self.cursor.goes_on(b']')? { Err(self.fault("a list has items of one type")) } else { Ok(item) }
    }

    fn scalar(&mut self, name: &str) -> Result<Field, SchemaTextError> {
        let at = self.cursor.at();
        let kind = plain(self.cursor.string()?)?;
        if kind == "json" {
            return Ok(json(name));
        }
        let known = scalars().into_iter().find(|(scalar, _)| *scalar == kind);
        let names = scalars().map(|(name, _)| name).join(", ");
        let (_, data_type) =
            known.ok_or_else(|| SchemaTextError::Schema(at, format!("the type {kind:?} is not one of {names}, json")))?;
        Ok(Field::new(name, data_type, true))
    }

    fn fault(&self, what: &str) -> SchemaTextError {
        SchemaTextError::Schema(self.cursor.at(), what.into())
    }
}

fn plain(raw: RawString<'_>) -> Result<String, SchemaTextError> {
    let mut text = String::new();
    let lone = unescape(raw.body, raw.start, &mut text)?;
    if lone { Err(SchemaTextError::Schema(raw.start, "a lone surrogate".into())) } else { Ok(text) }
}

//! Rows of a schema's own columns on their way to be a batch: the inverse of
//! [`FlatColumns`](crate::render::FlatColumns).

use crate::shape::json;
use crate::text::UncheckedTexts;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, TimestampMicrosecondBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Schema as ArrowSchema, SchemaRef, TimeUnit};
use rorqual_accesslog::ABSENT;
use rorqual_accesslog::schema::{NumberUnit, OwnColumn, Schema, TextContent, integer_of};
use std::borrow::Cow;
use std::sync::Arc;

/// Values of a row's own columns.
pub trait RowValues {
    /// The value of the column of texts with this number; the absent one is empty.
    fn text(&self, number: usize) -> &[u8];

    /// The step of the column of numbers with this number.
    fn number(&self, number: usize) -> Option<u64>;
}

/// Change of texts on their way, such as into ones that no spreadsheet takes for formulas.
pub type TextMap = fn(&[u8]) -> Cow<'_, [u8]>;

/// Rows on their way to be a batch.
pub struct OwnRows {
    schema: SchemaRef,
    columns: Vec<OwnCells>,
    /// Faults, and the texts of rejected records.
    flaws: Option<[UncheckedTexts; 2]>,
    map: TextMap,
    rows: usize,
    text_bytes: usize,
}

enum OwnCells {
    Text(usize, UncheckedTexts),
    /// JSON, which the writer takes as it is.
    Json(usize, UncheckedTexts),
    Flag(usize, BooleanBuilder),
    Natural(usize, UInt64Builder),
    Integer(usize, Int64Builder),
    Float(usize, NumberUnit, Float64Builder),
    Moment(usize, TimestampMicrosecondBuilder),
}

impl OwnRows {
    /// Rows of the own columns of `schema`, followed, where there are `flaws`, by the fault of a
    /// record and the start of a rejected one.
    #[must_use]
    pub fn new(schema: &Schema, flaws: bool, map: TextMap) -> Self {
        let (mut texts, mut numbers) = (0.., 0..);
        let mut columns = Vec::new();
        let mut fields = Vec::new();
        let name = |name: &str| String::from_utf8_lossy(&map(name.as_bytes())).into_owned();
        for own in schema.own() {
            let cells = match own.unit {
                None => texts.next().and_then(|number| OwnCells::of_text(number, schema.text_kind(number))),
                Some(unit) => numbers.next().map(|number| OwnCells::of_number(number, unit)),
            };
            if let Some(cells) = cells {
                fields.push(cells.field(&name(&own.name)));
                columns.push(cells);
            }
        }
        if flaws {
            fields.extend(["flaw", "line"].map(|name| Field::new(free(name, schema.own()), DataType::Utf8, true)));
        }
        let flaws = flaws.then(Default::default);
        Self { schema: Arc::new(ArrowSchema::new(fields)), columns, flaws, map, rows: 0, text_bytes: 0 }
    }

    /// Their columns.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Adds a row.
    pub fn push(&mut self, values: &impl RowValues, flaw: &[u8], line: &[u8]) {
        self.rows += 1;
        let map = self.map;
        self.text_bytes += self.columns.iter_mut().map(|column| column.push(values, map)).sum::<usize>();
        for (texts, text) in self.flaws.iter_mut().flatten().zip([flaw, line]) {
            self.text_bytes += text.len();
            push_text(texts, &map(text));
        }
    }

    /// Bytes of the rows so far.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.rows * (self.columns.len() + 2) * size_of::<u64>() + self.text_bytes
    }

    /// The rows so far as a batch; `None` where there is none.
    ///
    /// # Errors
    /// When Arrow refuses the columns, which would be a defect here.
    pub fn finish(&mut self) -> Result<Option<RecordBatch>, ArrowError> {
        self.text_bytes = 0;
        if std::mem::take(&mut self.rows) == 0 {
            return Ok(None);
        }
        let flaws = self.flaws.iter_mut().flatten().map(UncheckedTexts::finish);
        let columns = self.columns.iter_mut().map(OwnCells::finish).chain(flaws).collect();
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map(Some)
    }
}

/// The name, or with a number after it where a column has it.
fn free(name: &str, own: &[OwnColumn]) -> String {
    let is_free = |name: &String| own.iter().all(|own| own.name != *name);
    let numbered = || (2..).map(|number| format!("{name}#{number}"));
    std::iter::once(name.to_owned()).chain(numbered()).find(is_free).unwrap_or_default()
}

fn push_text(texts: &mut UncheckedTexts, text: &[u8]) {
    match text {
        [] => texts.push_null(),
        text => texts.push(text),
    }
}

impl OwnCells {
    /// `None` of a column that follows from another.
    fn of_text(number: usize, kind: TextContent) -> Option<Self> {
        match kind {
            TextContent::Text | TextContent::Other => Some(Self::Text(number, UncheckedTexts::default())),
            TextContent::Json => Some(Self::Json(number, UncheckedTexts::default())),
            TextContent::Flag => Some(Self::Flag(number, BooleanBuilder::new())),
            TextContent::Pattern => None,
        }
    }

    fn of_number(number: usize, unit: NumberUnit) -> Self {
        match unit {
            NumberUnit::Integer => Self::Integer(number, Int64Builder::new()),
            NumberUnit::Float | NumberUnit::Seconds => Self::Float(number, unit, Float64Builder::new()),
            NumberUnit::Moment => Self::Moment(number, TimestampMicrosecondBuilder::new()),
            _ => Self::Natural(number, UInt64Builder::new()),
        }
    }

    fn field(&self, name: &str) -> Field {
        let of = |data_type| Field::new(name, data_type, true);
        match self {
            Self::Text(..) => of(DataType::Utf8),
            Self::Json(..) => json(name),
            Self::Flag(..) => of(DataType::Boolean),
            Self::Natural(..) => of(DataType::UInt64),
            Self::Integer(..) => of(DataType::Int64),
            Self::Float(..) => of(DataType::Float64),
            Self::Moment(..) => of(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))),
        }
    }

    /// Adds the value of a row; returns the bytes of a text.
    fn push(&mut self, values: &impl RowValues, map: TextMap) -> usize {
        match self {
            Self::Text(number, texts) => {
                let text = values.text(*number);
                push_text(texts, &map(text));
                return text.len();
            }
            Self::Json(number, texts) => {
                let text = values.text(*number);
                push_text(texts, &whole_json(text));
                return text.len();
            }
            Self::Flag(number, flags) => flags.append_option(match values.text(*number) {
                b"true" => Some(true),
                b"false" => Some(false),
                _ => None,
            }),
            // The step of the two largest numbers, of which files have the largest.
            Self::Natural(number, numbers) => {
                let natural = |step| if step == ABSENT - 1 { u64::MAX } else { step };
                numbers.append_option(values.number(*number).map(natural));
            }
            Self::Integer(number, numbers) => numbers.append_option(values.number(*number).map(integer_of)),
            Self::Float(number, unit, numbers) => {
                numbers.append_option(values.number(*number).map(|step| unit.value(step)));
            }
            Self::Moment(number, moments) => moments.append_option(values.number(*number).map(integer_of)),
        }
        0
    }

    fn finish(&mut self) -> ArrayRef {
        match self {
            Self::Text(_, texts) | Self::Json(_, texts) => texts.finish(),
            Self::Flag(_, flags) => Arc::new(flags.finish()),
            Self::Natural(_, numbers) => Arc::new(numbers.finish()),
            Self::Integer(_, numbers) => Arc::new(numbers.finish()),
            Self::Float(_, _, numbers) => Arc::new(numbers.finish()),
            Self::Moment(_, moments) => Arc::new(moments.finish().with_timezone("UTC")),
        }
    }
}

/// JSON as it is; a text that was cut, or stands for values that had no room, as a JSON string.
fn whole_json(text: &[u8]) -> Cow<'_, [u8]> {
    if text.is_empty() || serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(serde_json::Value::from(String::from_utf8_lossy(text)).to_string().into_bytes())
}

//! Shapes and Arrow's schemas.

use super::{Kinds, NodeCount, ObjectFields, Shape, ShapeNode, Type};
use crate::limits::NESTING_MAX;
use arrow_schema::extension::{EXTENSION_TYPE_METADATA_KEY, EXTENSION_TYPE_NAME_KEY};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use std::sync::Arc;

/// The column for values that have no column.
pub(super) const REST: &str = "_rest";
/// The only column, when records are no objects.
pub(super) const VALUE: &str = "value";
/// Metadata of the column that is the whole record.
const WHOLE_KEY: &str = "rorqual:record";
/// Metadata of a column of which nothing is known.
const OPEN_KEY: &str = "rorqual:open";
/// Metadata of a text column that has integers alone.
const INTEGERS_KEY: &str = "rorqual:integers";
const JSON: &str = "arrow.json";

impl Shape {
    /// The schema for it; `rest` adds the column `_rest` for values without a column, which is also
    /// added where [`Shape::needs_rest`].
    ///
    /// Every column may be null. A column that is text with the extension `arrow.json` has JSON;
    /// `_rest` is one of these. Records that are no objects are the one column `value`; of a null
    /// among objects `_rest` says that it is one. A field `_rest` of JSON text that the records
    /// have themselves goes into `_rest`.
    #[must_use]
    pub fn to_schema(&self, rest: bool) -> SchemaRef {
        let mut rest = rest || self.needs_rest();
        let mut columns: Vec<Field> = match self.record.to_type() {
            Type::Struct(fields) => {
                rest |= self.record.has_nulls();
                rest |= fields.iter().any(|(key, node)| key == REST && matches!(node.to_type(), Type::Json));
                let own = fields.iter().filter(|(key, _)| !(rest && *key == REST));
                own.map(|(key, node)| field(key, node)).collect()
            }
            _ if rest && self.record.is_empty() => Vec::new(),
            // Of a record that is no object nothing is open: it is there as a whole.
            Type::Json => vec![whole(json(VALUE))],
            _ => vec![whole(field(VALUE, &self.record))],
        };
        if rest {
            columns.push(json(REST));
        }
        Arc::new(Schema::new(columns))
    }

    /// Shape that a schema has room for. A type that JSON has no values of counts as JSON text.
    #[must_use]
    pub fn from_schema(schema: &Schema) -> Self {
        let mut shape = Self::default();
        let columns = schema.fields().iter().filter(|field| !is_rest(field));
        shape.count.overflows = schema.fields().iter().any(|field| is_rest(field));
        for column in columns {
            let node = node(column, 0, &mut shape.count);
            if is_whole(column) {
                shape.record = node;
            } else {
                shape.record.meet(Kinds::OBJECT, u64::MAX);
                add(shape.record.fields(), column.name(), node, &mut shape.count);
            }
        }
        shape
    }
}

/// The column is where values without a column go.
pub(crate) fn is_rest(field: &Field) -> bool {
    field.name() == REST && is_json(field)
}

/// The column has whole records.
pub(crate) fn is_whole(field: &Field) -> bool {
    field.metadata().contains_key(WHOLE_KEY)
}

/// Nothing is known of the column's values.
pub(crate) fn is_open(field: &Field) -> bool {
    is_json(field) && field.metadata().contains_key(OPEN_KEY)
}

/// The column has integers as text, as no type of 64 bits has room for all of them.
pub(crate) fn is_integer_text(field: &Field) -> bool {
    *field.data_type() == DataType::Utf8 && field.metadata().contains_key(INTEGERS_KEY)
}

/// The column has JSON text.
pub(crate) fn is_json(field: &Field) -> bool {
    *field.data_type() == DataType::Utf8 && field.extension_type_name() == Some(JSON)
}

/// A column of JSON text.
pub(crate) fn json(name: &str) -> Field {
    let metadata = [(EXTENSION_TYPE_NAME_KEY, JSON), (EXTENSION_TYPE_METADATA_KEY, "")];
    Field::new(name, DataType::Utf8, true).with_metadata(metadata.map(|(key, value)| (key.into(), value.into())).into())
}

/// A column of which nothing is known: there were only nulls, and empty lists or objects.
fn open(name: &str) -> Field {
    let field = json(name);
    let mut metadata = field.metadata().clone();
    metadata.insert(OPEN_KEY.into(), "open".into());
    field.with_metadata(metadata)
}

/// A column of integers as text.
fn integer_text(name: &str) -> Field {
    Field::new(name, DataType::Utf8, true).with_metadata([(INTEGERS_KEY.into(), "text".into())].into())
}

/// The same column, as the one that has whole records.
pub(super) fn whole(field: Field) -> Field {
    let mut metadata = field.metadata().clone();
    metadata.insert(WHOLE_KEY.into(), "whole".into());
    field.with_metadata(metadata)
}

/// Moments.
pub(super) fn timestamp(unit: TimeUnit) -> DataType {
    DataType::Timestamp(unit, Some("UTC".into()))
}

fn field(name: &str, node: &ShapeNode) -> Field {
    let data_type = match node.to_type() {
        Type::Bool => DataType::Boolean,
        Type::Int64 => DataType::Int64,
        Type::UInt64 => DataType::UInt64,
        Type::Float64 => DataType::Float64,
        Type::Timestamp(unit) => timestamp(unit),
        Type::Date => DataType::Date32,
        Type::Text if node.is_integer_text() => return integer_text(name),
        Type::Text => DataType::Utf8,
        Type::Json if node.is_json() => return json(name),
        Type::Json => return open(name),
        Type::List(item) => DataType::List(Arc::new(field(Field::LIST_FIELD_DEFAULT_NAME, item))),
        Type::Struct(fields) => DataType::Struct(fields.iter().map(|(key, node)| field(key, node)).collect()),
    };
    Field::new(name, data_type, true)
}

fn node(field: &Field, level: usize, count: &mut NodeCount) -> ShapeNode {
    if is_open(field) {
        return ShapeNode::of(Kinds::NULL);
    }
    if is_json(field) || level > NESTING_MAX {
        return ShapeNode::of(Kinds::JSON);
    }
    match field.data_type() {
        DataType::Boolean => ShapeNode::of(Kinds::BOOL),
        DataType::Int64 => ShapeNode::of(Kinds::INT),
        DataType::UInt64 => ShapeNode::of(Kinds::INT | Kinds::UINT),
        DataType::Float64 => ShapeNode::of(Kinds::FLOAT),
        DataType::Utf8 if is_integer_text(field) => ShapeNode::of(Kinds::HUGE),
        DataType::Utf8 => ShapeNode::of(Kinds::TEXT),
        DataType::Timestamp(TimeUnit::Millisecond, Some(_)) => ShapeNode::of(Kinds::TIME_3),
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => ShapeNode::of(Kinds::TIME_6),
        DataType::Timestamp(TimeUnit::Nanosecond, Some(_)) => ShapeNode::of(Kinds::TIME_9),
        DataType::Date32 => ShapeNode::of(Kinds::DATE),
        DataType::List(item) => {
            let mut list = ShapeNode::of(Kinds::LIST);
            let item = node(item, level + 1, count);
            if let Some(slot) = list.item(count) {
                *slot = item;
            }
            list
        }
        DataType::Struct(children) => {
            let mut object = ShapeNode::of(Kinds::OBJECT);
            for child in children {
                let node = node(child, level + 1, count);
                add(object.fields(), child.name(), node, count);
            }
            object
        }
        _ => ShapeNode::of(Kinds::JSON),
    }
}

fn add(fields: &mut ObjectFields, key: &str, node: ShapeNode, count: &mut NodeCount) {
    if let Some(index) = fields.find_or_add(key, None, count) {
        *fields.node(index) = node;
    }
}

//! Columns that a format has no place for, as texts.

use datafusion::arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use std::sync::Arc;

/// The schema with lists and structs as texts.
pub(super) fn as_texts(schema: &Schema) -> Schema {
    let field = |field: &Arc<Field>| {
        if field.data_type().is_nested() { Field::new(field.name(), DataType::Utf8, true) } else { field.as_ref().clone() }
    };
    Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>())
}

/// The rows with lists and structs as texts.
pub(super) fn flat(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    if !batch.columns().iter().any(|column| column.data_type().is_nested()) {
        return Ok(batch.clone());
    }
    let columns =
        batch.columns().iter().map(|column| if column.data_type().is_nested() { texts(column) } else { Ok(Arc::clone(column)) });
    RecordBatch::try_new(Arc::new(as_texts(&batch.schema())), columns.collect::<Result<_, _>>()?)
}

fn texts(column: &ArrayRef) -> Result<ArrayRef, ArrowError> {
    let options = FormatOptions::default();
    let formatter = ArrayFormatter::try_new(column, &options)?;
    let text = |row| (!column.is_null(row)).then(|| formatter.value(row).to_string());
    Ok(Arc::new((0..column.len()).map(text).collect::<StringArray>()))
}

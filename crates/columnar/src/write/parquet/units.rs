//! Types that Parquet would only hold as bare integers, as those that it has: seconds as
//! milliseconds, dates in milliseconds as days.

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_cast::{CastOptions, cast, cast_with_options};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use std::sync::Arc;

/// The schema of a file with rows of `schema`.
pub(super) fn file_schema(schema: &SchemaRef) -> SchemaRef {
    let fields: Fields = schema.fields().iter().map(file_field).collect();
    if fields == *schema.fields() {
        return Arc::clone(schema);
    }
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

fn file_field(field: &FieldRef) -> FieldRef {
    let data_type = file_type(field.data_type());
    if data_type == *field.data_type() { Arc::clone(field) } else { Arc::new(field.as_ref().clone().with_data_type(data_type)) }
}

fn file_type(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Timestamp(TimeUnit::Second, zone) => DataType::Timestamp(TimeUnit::Millisecond, zone.clone()),
        DataType::Time32(TimeUnit::Second) => DataType::Time32(TimeUnit::Millisecond),
        DataType::Date64 => DataType::Date32,
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(file_field).collect()),
        DataType::List(item) => DataType::List(file_field(item)),
        DataType::LargeList(item) => DataType::LargeList(file_field(item)),
        DataType::FixedSizeList(item, length) => DataType::FixedSizeList(file_field(item), *length),
        DataType::Map(entries, sorted) => DataType::Map(file_field(entries), *sorted),
        DataType::Dictionary(key, value) => DataType::Dictionary(key.clone(), Box::new(file_type(value))),
        other => other.clone(),
    }
}

/// Rows with the types of the file.
///
/// # Errors
/// When a value would be changed: a moment beyond the reach of milliseconds, a date with a time.
pub(super) fn in_units_of(schema: &SchemaRef, batch: RecordBatch) -> Result<RecordBatch, ArrowError> {
    if batch.schema_ref().fields() == schema.fields() {
        return Ok(batch);
    }
    let column = |(array, field): (&ArrayRef, &FieldRef)| {
        if array.data_type() == field.data_type() {
            return Ok(Arc::clone(array));
        }
        let failed = |why: &str| ArrowError::CastError(format!("the column '{}' {why}", field.name()));
        let strict = CastOptions { safe: false, ..CastOptions::default() };
        let converted = cast_with_options(array, field.data_type(), &strict)
            .map_err(|error| failed(&format!("has a value that Parquet has no place for: {error}")))?;
        let same = cast(&converted, array.data_type()).is_ok_and(|back| &back == array);
        if same { Ok(converted) } else { Err(failed("has dates with a time of day, or too far away for a date")) }
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(column).collect::<Result<_, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

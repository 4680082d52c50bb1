//! Several files of columns as one.

use super::plain::twice;
use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, GenericListArray, ListArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions, StructArray, new_null_array,
};
use arrow_buffer::OffsetBuffer;
use arrow_cast::{CastOptions, cast_with_options};
use arrow_schema::{ArrowError, DECIMAL128_MAX_PRECISION, DataType, Field, FieldRef, Fields, Schema, SchemaRef, TimeUnit};
use rorqual_pipe::{Error, ErrorClass};
use std::sync::Arc;

/// The columns that any of these files has, in the order in which they come first. Where they
/// differ in a column's type it has one that holds the values of all, as with values of JSON: a
/// wider number, or a text.
///
/// # Errors
/// When a file has two columns of one name, or a column's types have nothing in common. Both are
/// named.
pub fn merge<'a>(schemas: impl IntoIterator<Item = (&'a str, SchemaRef)>) -> Result<SchemaRef, Error> {
    let mut merged: Vec<FieldRef> = Vec::new();
    for (name, schema) in schemas {
        let failed = |text: String| Error::new(ErrorClass::Limit, name, text);
        if let Some(twice) = twice(schema.fields()) {
            return Err(failed(format!("has two columns '{twice}', and columns of several files are joined by their names")));
        }
        merged = union(&merged, schema.fields()).map_err(failed)?;
    }
    Ok(Arc::new(Schema::new(merged)))
}

/// A batch of the file `name` with all columns of `schema`, which was merged of its own and others:
/// nulls where it has none.
///
/// # Errors
/// When a value does not fit.
pub fn fit(batch: &RecordBatch, schema: &SchemaRef, name: &str) -> Result<RecordBatch, Error> {
    if batch.schema_ref() == schema {
        return Ok(batch.clone());
    }
    let column = |field: &FieldRef| match batch.column_by_name(field.name()) {
        Some(column) => fitted(column, field.data_type()),
        None => Ok(new_null_array(field.data_type(), batch.num_rows())),
    };
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let columns = schema.fields().iter().map(column).collect::<Result<Vec<_>, ArrowError>>();
    let fit = columns.and_then(|columns| RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options));
    fit.map_err(|error| Error::new(ErrorClass::Corrupt, name, error.to_string()))
}

fn union(ours: &[FieldRef], theirs: &Fields) -> Result<Vec<FieldRef>, String> {
    let mut all = ours.to_vec();
    for field in theirs {
        match all.iter_mut().find(|own| own.name() == field.name()) {
            None => all.push(nullable(field)),
            Some(own) => {
                let both = common(own.data_type(), field.data_type()).ok_or_else(|| {
                    let (name, own, other) = (own.name(), own.data_type(), field.data_type());
                    format!("the column '{name}' is {other}, and {own} in a file before: they do not make one file")
                })?;
                let same = own.data_type() == field.data_type();
                // Metadata about one type need not hold for another.
                let kept = if same { own.as_ref().clone() } else { Field::new(own.name(), both, true) };
                *own = Arc::new(kept.with_nullable(true));
            }
        }
    }
    Ok(all)
}

/// A file without the column has nulls.
fn nullable(field: &FieldRef) -> FieldRef {
    Arc::new(field.as_ref().clone().with_nullable(true))
}

/// A type that has the values of both, none of them changed.
fn common(one: &DataType, other: &DataType) -> Option<DataType> {
    use DataType::{Dictionary, Float32, Float64, Int64, LargeList, List, Null, Struct, Timestamp, UInt64, Utf8};
    Some(match (one, other) {
        _ if one == other => one.clone(),
        (Null, other) | (other, Null) => other.clone(),
        (Dictionary(_, values), other) | (other, Dictionary(_, values)) => return common(values, other),
        (Struct(ours), Struct(theirs)) => Struct(union(ours, theirs).ok()?.into()),
        (List(ours) | LargeList(ours), List(theirs) | LargeList(theirs)) => {
            List(Arc::new(Field::new(ours.name(), common(ours.data_type(), theirs.data_type())?, true)))
        }
        (Timestamp(ours, zone), Timestamp(theirs, other)) if zone == other => match finer(*ours, *theirs) {
            Some(unit) => Timestamp(unit, zone.clone()),
            None => Utf8,
        },
        _ if one.is_decimal() && other.is_decimal() => wider_decimal(one, other).unwrap_or(Utf8),
        _ if one.is_unsigned_integer() && other.is_unsigned_integer() => UInt64,
        _ if is_signed(one) && is_signed(other) => Int64,
        (Float32 | Float64, number) | (number, Float32 | Float64) if is_in_doubles(number) => Float64,
        _ if is_scalar(one) && is_scalar(other) => Utf8,
        _ => return None,
    })
}

/// The decimal that has the digits of both before and after the point; `None` beyond 38.
fn wider_decimal(one: &DataType, other: &DataType) -> Option<DataType> {
    let digits = |data_type: &DataType| match data_type {
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale) => Some((i16::from(*precision) - i16::from(*scale), i16::from(*scale))),
        _ => None,
    };
    let ((before, after), (others_before, others_after)) = (digits(one)?, digits(other)?);
    let (before, after) = (before.max(others_before), after.max(others_after));
    let precision = u8::try_from(before + after).ok().filter(|precision| *precision <= DECIMAL128_MAX_PRECISION)?;
    Some(DataType::Decimal128(precision, i8::try_from(after).ok()?))
}

/// Of two units; nanoseconds reach only from 1677 to 2262, so that other moments need not be among
/// them.
fn finer(one: TimeUnit, other: TimeUnit) -> Option<TimeUnit> {
    let (less, more) = (one.min(other), one.max(other));
    (more != TimeUnit::Nanosecond || less == more).then_some(more)
}

/// All values are in 64 bits with a sign.
fn is_signed(data_type: &DataType) -> bool {
    data_type.is_integer() && data_type != &DataType::UInt64
}

fn is_in_doubles(data_type: &DataType) -> bool {
    data_type.is_floating() || (data_type.is_integer() && !matches!(data_type, DataType::Int64 | DataType::UInt64))
}

/// Values that are texts without a loss. Booleans are not: true would be the same as "true".
fn is_scalar(data_type: &DataType) -> bool {
    data_type.is_numeric() || data_type.is_temporal() || data_type.is_string()
}

fn fitted(array: &ArrayRef, wanted: &DataType) -> Result<ArrayRef, ArrowError> {
    if array.data_type() == wanted {
        return Ok(Arc::clone(array));
    }
    match (array.data_type(), wanted) {
        (DataType::Struct(_), DataType::Struct(fields)) => fitted_struct(array.as_struct(), fields),
        (DataType::List(_), DataType::List(item)) => fitted_list(array.as_list::<i32>(), item),
        (DataType::LargeList(_), DataType::List(item)) => fitted_list(array.as_list::<i64>(), item),
        // A value that does not fit is an error and no null.
        _ => cast_with_options(array, wanted, &CastOptions { safe: false, ..CastOptions::default() }),
    }
}

fn fitted_struct(array: &StructArray, fields: &Fields) -> Result<ArrayRef, ArrowError> {
    let column = |field: &FieldRef| match array.column_by_name(field.name()) {
        Some(column) => fitted(column, field.data_type()),
        None => Ok(new_null_array(field.data_type(), array.len())),
    };
    let columns = fields.iter().map(column).collect::<Result<Vec<_>, _>>()?;
    Ok(Arc::new(StructArray::try_new_with_length(fields.clone(), columns, array.nulls().cloned(), array.len())?))
}

fn fitted_list<O: OffsetSizeTrait>(array: &GenericListArray<O>, item: &FieldRef) -> Result<ArrayRef, ArrowError> {
    let offsets = array.value_offsets();
    let (start, end) = (offsets[0].as_usize(), offsets[array.len()].as_usize());
    let values = fitted(&array.values().slice(start, end - start), item.data_type())?;
    let ends = offsets.iter().map(|offset| i32::try_from(offset.as_usize() - start)).collect::<Result<Vec<_>, _>>();
    let ends = ends.map_err(|_| ArrowError::CastError("more items than a list of 32 bits has".to_owned()))?;
    Ok(Arc::new(ListArray::try_new(Arc::clone(item), OffsetBuffer::new(ends.into()), values, array.nulls().cloned())?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, LargeListArray, StringArray};
    use arrow_buffer::NullBuffer;

    /// `[{name: …}, …], null, [{name: …}]` without the first row of four.
    fn lists(name: &str, values: ArrayRef, large: bool) -> RecordBatch {
        let item = Field::new(name, values.data_type().clone(), true);
        let items: ArrayRef = Arc::new(StructArray::new(Fields::from(vec![item]), vec![values], None));
        let field = Arc::new(Field::new("item", items.data_type().clone(), true));
        let nulls = Some(NullBuffer::from(vec![true, true, false, true]));
        let lists: ArrayRef = if large {
            Arc::new(LargeListArray::new(field, OffsetBuffer::from_lengths([1, 2, 0, 1]), items, nulls))
        } else {
            Arc::new(ListArray::new(field, OffsetBuffer::from_lengths([1, 2, 0, 1]), items, nulls))
        };
        RecordBatch::try_from_iter([("lists", lists)]).unwrap().slice(1, 3)
    }

    #[test]
    fn lists_of_structs_have_the_fields_of_both() {
        for large in [false, true] {
            let one = lists("a", Arc::new(Int64Array::from(vec![1, 2, 3, 4])), large);
            let other = lists("b", Arc::new(StringArray::from(vec!["p", "q", "r", "s"])), false);
            let schema = merge([("one", one.schema()), ("other", other.schema())]).unwrap();
            let text = |batch: &RecordBatch| {
                let mut lines = Vec::new();
                crate::render::JsonRows::new(&fit(batch, &schema, "file").unwrap()).unwrap().lines(&mut lines);
                String::from_utf8(lines).unwrap()
            };
            assert_eq!(text(&one), "{\"lists\":[{\"a\":2},{\"a\":3}]}\n{}\n{\"lists\":[{\"a\":4}]}\n");
            assert_eq!(text(&other), "{\"lists\":[{\"b\":\"q\"},{\"b\":\"r\"}]}\n{}\n{\"lists\":[{\"b\":\"s\"}]}\n");
        }
    }

    #[test]
    fn names_that_come_twice_are_refused_wherever_they_are() {
        let below = Fields::from(vec![Field::new("same", DataType::Int64, true), Field::new("same", DataType::Utf8, true)]);
        let list = DataType::List(Arc::new(Field::new("item", DataType::Struct(below), true)));
        let schema = Arc::new(Schema::new(vec![Field::new("lists", list, true)]));
        assert!(merge([("file", schema)]).unwrap_err().to_string().contains("'same'"));
    }
}

//! Structs that are null, whose fields have values in some files: SQL reads a field without asking
//! for its struct.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericListArray, OffsetSizeTrait, RecordBatch, RecordBatchOptions, StructArray, make_array};
use arrow_buffer::NullBuffer;
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Fields, Schema, SchemaRef};
use std::sync::Arc;

/// A schema in which any field of a struct may be null, as it is where the struct is.
#[must_use]
pub fn nullable_below(schema: &SchemaRef) -> SchemaRef {
    let fields: Fields = schema.fields().iter().map(|field| changed(field, field.is_nullable())).collect();
    Arc::new(Schema::new_with_metadata(fields, schema.metadata().clone()))
}

/// The same rows, in which the fields of a struct that is null are null.
///
/// # Errors
/// When `schema` is not what [`nullable_below`] makes of the batch's.
pub fn nulls_below(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let columns = batch.columns().iter().map(|column| masked(column, None)).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

fn changed(field: &FieldRef, nullable: bool) -> FieldRef {
    let data_type = match field.data_type() {
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|field| changed(field, true)).collect()),
        DataType::List(item) => DataType::List(changed(item, item.is_nullable())),
        DataType::LargeList(item) => DataType::LargeList(changed(item, item.is_nullable())),
        other => other.clone(),
    };
    Arc::new(Field::clone(field).with_data_type(data_type).with_nullable(nullable))
}

/// The array with these nulls, too.
fn masked(array: &ArrayRef, above: Option<&NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let nulls = NullBuffer::union(array.nulls(), above);
    Ok(match array.data_type() {
        DataType::Struct(fields) => {
            let columns = array.as_struct().columns().iter().map(|column| masked(column, nulls.as_ref()));
            let fields = fields.iter().map(|field| changed(field, true)).collect();
            Arc::new(StructArray::try_new_with_length(fields, columns.collect::<Result<_, _>>()?, nulls, array.len())?)
        }
        DataType::List(_) => masked_list(array.as_list::<i32>(), nulls)?,
        DataType::LargeList(_) => masked_list(array.as_list::<i64>(), nulls)?,
        DataType::Null => Arc::clone(array),
        _ if above.is_none() => Arc::clone(array),
        _ => make_array(array.to_data().into_builder().nulls(nulls).build()?),
    })
}

fn masked_list<O: OffsetSizeTrait>(list: &GenericListArray<O>, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
    let (DataType::List(item) | DataType::LargeList(item)) = list.data_type() else {
        return Err(ArrowError::SchemaError("a list is none".to_owned()));
    };
    let (item, values) = (changed(item, item.is_nullable()), masked(list.values(), None)?);
    Ok(Arc::new(GenericListArray::try_new(item, list.offsets().clone(), values, nulls)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int64Type;
    use arrow_array::{Int64Array, ListArray};
    use arrow_buffer::OffsetBuffer;

    /// `{m: 1}, null` with 7 under the null, of a field that is never null.
    fn structs() -> ArrayRef {
        let field = Arc::new(Field::new("m", DataType::Int64, false));
        let nulls = Some(NullBuffer::from(vec![true, false]));
        Arc::new(StructArray::new(Fields::from(vec![field]), vec![Arc::new(Int64Array::from(vec![1, 7]))], nulls))
    }

    #[test]
    fn fields_of_a_struct_that_is_null_are_null() {
        let item = Arc::new(Field::new("item", structs().data_type().clone(), true));
        let lists: ArrayRef = Arc::new(ListArray::new(item, OffsetBuffer::from_lengths([1, 1]), structs(), None));
        let inner = Fields::from(vec![Field::new("s", structs().data_type().clone(), true)]);
        let outer = StructArray::new(inner, vec![structs()], Some(NullBuffer::from(vec![false, true])));
        let batch = RecordBatch::try_from_iter([("s", structs()), ("l", lists), ("o", Arc::new(outer) as ArrayRef)]).unwrap();
        let schema = nullable_below(&batch.schema());
        let found = nulls_below(&batch, &schema).unwrap();
        let numbers = |array: &ArrayRef| array.as_struct().column(0).as_primitive::<Int64Type>().iter().collect::<Vec<_>>();
        assert_eq!(numbers(found.column(0)), [Some(1), None]);
        assert_eq!(numbers(found.column(1).as_list::<i32>().values()), [Some(1), None]);
        assert_eq!(numbers(found.column(2).as_struct().column(0)), [None, None]);
        let sliced = nulls_below(&batch.slice(1, 1), &schema).unwrap();
        assert_eq!(numbers(sliced.column(0)), [None]);
    }
}

//! Numbers that JSON has no text for.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, OffsetSizeTrait, RecordBatch};
use arrow_buffer::{BooleanBufferBuilder, NullBuffer};
use arrow_schema::DataType;

/// Number of values of a batch that are NaN or infinite: as JSON they are null.
#[must_use]
pub fn not_finite(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(|column| of(column, None)).sum()
}

/// Number of them among the shown values: values below a null are not shown.
fn of(array: &ArrayRef, shown: Option<&NullBuffer>) -> u64 {
    if !has_floats(array.data_type()) {
        return 0;
    }
    let shown = NullBuffer::union(shown, array.nulls());
    let shown = shown.as_ref();
    match array.data_type() {
        DataType::Float16 => count::<Float16Type>(array, shown, |value| value.is_finite()),
        DataType::Float32 => count::<Float32Type>(array, shown, f32::is_finite),
        DataType::Float64 => count::<Float64Type>(array, shown, f64::is_finite),
        DataType::Dictionary(..) => coded(array, shown),
        DataType::Struct(_) => array.as_struct().columns().iter().map(|column| of(column, shown)).sum(),
        DataType::List(_) => lists(array.as_list::<i32>().value_offsets(), array.as_list::<i32>().values(), shown),
        DataType::LargeList(_) => lists(array.as_list::<i64>().value_offsets(), array.as_list::<i64>().values(), shown),
        DataType::FixedSizeList(_, length) => {
            let length = usize::try_from(*length).unwrap_or(0);
            of(array.as_fixed_size_list().values(), shown.map(|shown| shown.expand(length)).as_ref())
        }
        DataType::Map(..) => {
            let entries: ArrayRef = std::sync::Arc::new(array.as_map().entries().clone());
            lists(array.as_map().value_offsets(), &entries, shown)
        }
        _ => 0,
    }
}

fn has_floats(data_type: &DataType) -> bool {
    match data_type {
        DataType::Dictionary(_, values) => has_floats(values),
        DataType::Struct(fields) => fields.iter().any(|field| has_floats(field.data_type())),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) | DataType::Map(item, _) => {
            has_floats(item.data_type())
        }
        other => other.is_floating(),
    }
}

fn is_shown(shown: Option<&NullBuffer>, row: usize) -> bool {
    shown.is_none_or(|shown| shown.is_valid(row))
}

fn count<T: ArrowPrimitiveType>(array: &ArrayRef, shown: Option<&NullBuffer>, is_finite: impl Fn(T::Native) -> bool) -> u64 {
    let values = array.as_primitive::<T>().values().iter().enumerate();
    values.filter(|(row, value)| !is_finite(**value) && is_shown(shown, *row)).count() as u64
}

fn coded(array: &ArrayRef, shown: Option<&NullBuffer>) -> u64 {
    let dictionary = array.as_any_dictionary();
    if dictionary.values().is_empty() {
        return 0;
    }
    let keys = dictionary.normalized_keys().into_iter().enumerate().filter(|(row, _)| is_shown(shown, *row));
    keys.map(|(_, key)| of(&dictionary.values().slice(key, 1), None)).sum()
}

/// Only of the items of lists that are shown.
fn lists<O: OffsetSizeTrait>(offsets: &[O], items: &ArrayRef, shown: Option<&NullBuffer>) -> u64 {
    let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return 0 };
    let (start, end) = (first.as_usize(), last.as_usize());
    let items = items.slice(start, end - start);
    let Some(shown) = shown else { return of(&items, None) };
    let mut below = BooleanBufferBuilder::new(items.len());
    offsets.windows(2).enumerate().for_each(|(row, pair)| below.append_n((pair[1] - pair[0]).as_usize(), shown.is_valid(row)));
    of(&items, Some(&NullBuffer::new(below.finish())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, Float64Array, Int32Array, ListArray, StructArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::{Field, Fields};
    use std::sync::Arc;

    fn counted(array: ArrayRef) -> u64 {
        not_finite(&RecordBatch::try_from_iter([("column", array)]).unwrap())
    }

    fn nans(length: usize) -> ArrayRef {
        Arc::new(Float64Array::from(vec![f64::NAN; length]))
    }

    #[test]
    fn what_is_shown_counts() {
        let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0, f64::NAN, f64::INFINITY]));
        assert_eq!(counted(Arc::clone(&values)), 2);
        let keys = Int32Array::from(vec![Some(0), Some(1), None, Some(1), Some(1)]);
        assert_eq!(counted(Arc::new(DictionaryArray::<Int32Type>::new(keys, values))), 3);

        let field = Arc::new(Field::new("item", DataType::Float64, true));
        let shown = || Some(NullBuffer::from(vec![true, false, true, true]));
        let lists = ListArray::new(Arc::clone(&field), OffsetBuffer::from_lengths([1, 2, 4, 8]), nans(15), shown());
        assert_eq!(counted(Arc::new(lists.clone())), 13);
        assert_eq!(counted(Arc::new(lists.slice(1, 2))), 4);
        let structs = StructArray::new(Fields::from(vec![field]), vec![nans(4)], shown());
        assert_eq!(counted(Arc::new(structs)), 3);
    }
}

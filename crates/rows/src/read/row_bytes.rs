//! What rows hold once nothing is shared between them.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_schema::DataType;

/// What each row of `array` takes with its values written out: of a dictionary its value, of a list its items.
pub(super) fn of(array: &ArrayRef) -> Vec<usize> {
    let mut bytes = vec![0; array.len()];
    add(array, &mut bytes);
    bytes
}

/// Adds what each row of `array` takes.
pub(super) fn add(array: &ArrayRef, bytes: &mut [usize]) {
    match array.data_type() {
        DataType::Null => {}
        DataType::Boolean => each(bytes, |_| 1),
        DataType::Utf8 => lengths(array.as_string::<i32>().value_offsets(), bytes),
        DataType::LargeUtf8 => lengths(array.as_string::<i64>().value_offsets(), bytes),
        DataType::Binary => lengths(array.as_binary::<i32>().value_offsets(), bytes),
        DataType::LargeBinary => lengths(array.as_binary::<i64>().value_offsets(), bytes),
        // The low 32 bits of a view are its length.
        DataType::Utf8View => each(bytes, |row| 16 + (array.as_string_view().views()[row] as u32) as usize),
        DataType::BinaryView => each(bytes, |row| 16 + (array.as_binary_view().views()[row] as u32) as usize),
        DataType::Dictionary(..) => coded(array, bytes),
        DataType::Struct(_) => array.as_struct().columns().iter().for_each(|column| add(column, bytes)),
        DataType::List(_) => list(array.as_list::<i32>().value_offsets(), array.as_list::<i32>().values(), bytes),
        DataType::LargeList(_) => list(array.as_list::<i64>().value_offsets(), array.as_list::<i64>().values(), bytes),
        DataType::Map(..) => {
            let entries: ArrayRef = std::sync::Arc::new(array.as_map().entries().clone());
            list(array.as_map().value_offsets(), &entries, bytes);
        }
        DataType::FixedSizeList(_, length) => {
            let (items, length) = (of(array.as_fixed_size_list().values()), usize::try_from(*length).unwrap_or(0));
            each(bytes, |row| 8 + items[row * length..(row + 1) * length].iter().sum::<usize>());
        }
        other => {
            // Of any other each row may refer to all there is.
            let width = other.primitive_width().unwrap_or_else(|| match other {
                DataType::FixedSizeBinary(width) => usize::try_from(*width).unwrap_or(0),
                _ => array.get_array_memory_size(),
            });
            each(bytes, |_| width);
        }
    }
}

fn each(bytes: &mut [usize], of_row: impl Fn(usize) -> usize) {
    bytes.iter_mut().enumerate().for_each(|(row, bytes)| *bytes += of_row(row));
}

fn lengths<O: OffsetSizeTrait>(offsets: &[O], bytes: &mut [usize]) {
    each(bytes, |row| size_of::<O>() + (offsets[row + 1] - offsets[row]).as_usize());
}

fn coded(array: &ArrayRef, bytes: &mut [usize]) {
    let dictionary = array.as_any_dictionary();
    let values = of(dictionary.values());
    if values.is_empty() {
        return;
    }
    let keys = dictionary.normalized_keys();
    each(bytes, |row| size_of::<u32>() + values[keys[row]]);
}

fn list<O: OffsetSizeTrait>(offsets: &[O], items: &ArrayRef, bytes: &mut [usize]) {
    // Of a slice only its own items are looked at.
    let start = offsets.first().map_or(0, |start| start.as_usize());
    let end = offsets.last().map_or(0, |end| end.as_usize());
    let items = of(&items.slice(start, end - start));
    each(bytes, |row| {
        let (from, to) = (offsets[row].as_usize() - start, offsets[row + 1].as_usize() - start);
        size_of::<O>() + items[from..to].iter().sum::<usize>()
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::Int32Type;
    use arrow_array::{DictionaryArray, Int32Array, Int64Array, ListArray, StringArray, StringViewArray};
    use std::sync::Arc;

    #[test]
    fn what_is_shared_counts_in_each_row() {
        let values: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(100).as_str(), "y"]));
        let keys = Int32Array::from(vec![Some(0), Some(1), None, Some(0)]);
        let coded: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, values));
        let bytes = of(&coded);
        // Lengths and 4 bytes of the offset, 4 of the code; what a null counts is of no matter.
        assert_eq!((bytes[0], bytes[1], bytes[3]), (108, 9, 108));
        assert_eq!(of(&coded.slice(1, 1)), [9]);
    }

    #[test]
    fn lists_and_views_count_what_is_theirs() {
        let lists = [Some(vec![Some(1), Some(2)]), Some(vec![]), Some(vec![Some(3)])];
        let lists: ArrayRef = Arc::new(ListArray::from_iter_primitive::<arrow_array::types::Int64Type, _, _>(lists));
        assert_eq!(of(&lists), [20, 4, 12]);
        assert_eq!(of(&lists.slice(2, 1)), [12]);
        let views: ArrayRef = Arc::new(StringViewArray::from(vec!["short", "a text of 23 bytes here"]));
        assert_eq!(of(&views), [21, 39]);
        let ints: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        assert_eq!(of(&ints), [8, 8]);
    }
}

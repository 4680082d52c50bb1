//! Bytes of rows once nothing is shared between them.

use super::plain::plain_scalar;
use crate::limits::BATCH_ROWS_MAX;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int16Type, Int32Type, Int64Type, RunEndIndexType};
use arrow_array::{Array, ArrayRef, OffsetSizeTrait};
use arrow_schema::DataType;
use std::ops::Range;

/// Items of lists are measured so many at once: there may be any number of them.
const ITEMS_MAX: usize = BATCH_ROWS_MAX;

/// Bytes of each row of `array` with its values written out: of a dictionary its value, of a list
/// its items.
pub(super) fn of(array: &ArrayRef) -> Vec<usize> {
    let mut bytes = vec![0; array.len()];
    add(array, &mut bytes);
    bytes
}

/// Adds the bytes of each row of `array`.
pub(super) fn add(array: &ArrayRef, bytes: &mut [usize]) {
    if let Some(width) = width(array.data_type()) {
        return each(bytes, |_| width);
    }
    match array.data_type() {
        DataType::Utf8 => lengths(array.as_string::<i32>().value_offsets(), bytes),
        DataType::LargeUtf8 => lengths(array.as_string::<i64>().value_offsets(), bytes),
        DataType::Binary => lengths(array.as_binary::<i32>().value_offsets(), bytes),
        DataType::LargeBinary => lengths(array.as_binary::<i64>().value_offsets(), bytes),
        // The low 32 bits of a view are its length.
        DataType::Utf8View => each(bytes, |row| 16 + (array.as_string_view().views()[row] as u32) as usize),
        DataType::BinaryView => each(bytes, |row| 16 + (array.as_binary_view().views()[row] as u32) as usize),
        DataType::Dictionary(..) => coded(array, bytes),
        DataType::Struct(_) => array.as_struct().columns().iter().for_each(|column| add(column, bytes)),
        DataType::List(_) => lists(array.as_list::<i32>().value_offsets(), array.as_list::<i32>().values(), bytes),
        DataType::LargeList(_) => lists(array.as_list::<i64>().value_offsets(), array.as_list::<i64>().values(), bytes),
        DataType::Map(..) => {
            let entries: ArrayRef = std::sync::Arc::new(array.as_map().entries().clone());
            lists(array.as_map().value_offsets(), &entries, bytes);
        }
        DataType::FixedSizeList(_, length) => {
            let length = usize::try_from(*length).unwrap_or(0);
            items(|row| row * length, array.as_fixed_size_list().values(), bytes, LIST_BYTES);
        }
        DataType::ListView(_) => {
            let views = array.as_list_view::<i32>();
            listed(views.offsets(), views.sizes(), views.values(), bytes);
        }
        DataType::LargeListView(_) => {
            let views = array.as_list_view::<i64>();
            listed(views.offsets(), views.sizes(), views.values(), bytes);
        }
        DataType::RunEndEncoded(ends, _) => match ends.data_type() {
            DataType::Int16 => runs::<Int16Type>(array, bytes),
            DataType::Int32 => runs::<Int32Type>(array, bytes),
            _ => runs::<Int64Type>(array, bytes),
        },
        // Each row may refer to all there is.
        _ => each(bytes, |_| array.get_array_memory_size()),
    }
}

/// Adds the bytes of list views, which may have any items, also those of others.
fn listed<O: OffsetSizeTrait>(offsets: &[O], sizes: &[O], values: &ArrayRef, bytes: &mut [usize]) {
    // The number of an item takes so much while they are gathered.
    let number = size_of::<u64>();
    if let Some(width) = width(values.data_type()) {
        return each(bytes, |row| sizes[row].as_usize().saturating_mul(width + number).saturating_add(LIST_BYTES));
    }
    // Measuring the items that many rows share once for each row might take for ever.
    if values.len() > SUMS_MAX {
        return each(bytes, |row| if sizes[row].as_usize() == 0 { LIST_BYTES } else { values.get_array_memory_size() });
    }
    let mut sums = Vec::with_capacity(values.len() + 1);
    sums.push(0_usize);
    for start in (0..values.len()).step_by(ITEMS_MAX) {
        for item in of(&values.slice(start, ITEMS_MAX.min(values.len() - start))) {
            sums.push(sums[sums.len() - 1].saturating_add(item + number));
        }
    }
    each(bytes, |row| {
        let start = offsets[row].as_usize();
        sums[start + sizes[row].as_usize()].saturating_sub(sums[start]).saturating_add(LIST_BYTES)
    });
}

/// Adds the bytes of each row's run value.
fn runs<E: RunEndIndexType>(array: &ArrayRef, bytes: &mut [usize]) {
    let Some(runs) = array.as_run_opt::<E>() else { return };
    let values = runs.values();
    if let Some(width) = width(values.data_type()) {
        return each(bytes, |_| width);
    }
    let mut known = (usize::MAX, 0);
    for (row, bytes) in bytes.iter_mut().enumerate() {
        let place = runs.get_physical_index(row);
        if known.0 != place {
            known = (place, sum(values, place..place + 1));
        }
        *bytes = bytes.saturating_add(known.1);
    }
}

/// Most items of list views that are measured one by one; each takes eight bytes meanwhile.
const SUMS_MAX: usize = 1 << 18;

/// Bytes of a list of a fixed length beside its items.
const LIST_BYTES: usize = 8;

/// Bytes of a value of the type, where that is the same for all.
fn width(data_type: &DataType) -> Option<usize> {
    match data_type {
        // A list may have any number of nulls, and each has a text.
        DataType::Null | DataType::Boolean => Some(1),
        DataType::FixedSizeBinary(width) => Some(usize::try_from(*width).unwrap_or(0)),
        DataType::FixedSizeList(item, length) => {
            let length = usize::try_from(*length).unwrap_or(0);
            Some(width(item.data_type())?.saturating_mul(length).saturating_add(LIST_BYTES))
        }
        DataType::Struct(fields) => {
            let sum = fields.iter().try_fold(0_usize, |sum, field| Some(sum.saturating_add(width(field.data_type())?)));
            sum.map(|sum| sum.max(1))
        }
        other => plain_scalar(other).primitive_width(),
    }
}

fn each(bytes: &mut [usize], of_row: impl Fn(usize) -> usize) {
    bytes.iter_mut().enumerate().for_each(|(row, bytes)| *bytes = bytes.saturating_add(of_row(row)));
}

fn lengths<O: OffsetSizeTrait>(offsets: &[O], bytes: &mut [usize]) {
    each(bytes, |row| size_of::<O>() + (offsets[row + 1] - offsets[row]).as_usize());
}

fn coded(array: &ArrayRef, bytes: &mut [usize]) {
    let dictionary = array.as_any_dictionary();
    let values = dictionary.values();
    if values.is_empty() {
        return;
    }
    let keys = dictionary.normalized_keys();
    // A large dictionary is not measured for a few rows.
    if values.len() > bytes.len() {
        return each(bytes, |row| size_of::<u32>() + sum(values, keys[row]..keys[row] + 1));
    }
    let values = of(values);
    each(bytes, |row| size_of::<u32>() + values[keys[row]]);
}

fn lists<O: OffsetSizeTrait>(offsets: &[O], values: &ArrayRef, bytes: &mut [usize]) {
    items(|row| offsets[row].as_usize(), values, bytes, size_of::<O>());
}

/// Adds the bytes of lists whose items begin at these offsets.
fn items(offset: impl Fn(usize) -> usize, values: &ArrayRef, bytes: &mut [usize], list_bytes: usize) {
    if let Some(width) = width(values.data_type()) {
        return each(bytes, |row| (offset(row + 1) - offset(row)).saturating_mul(width).saturating_add(list_bytes));
    }
    let mut row = 0;
    while row < bytes.len() {
        let start = offset(row);
        let mut end = row;
        while end < bytes.len() && offset(end + 1) - start <= ITEMS_MAX {
            end += 1;
        }
        if end == row {
            bytes[row] = bytes[row].saturating_add(list_bytes).saturating_add(sum(values, start..offset(row + 1)));
            row += 1;
            continue;
        }
        let items = of(&values.slice(start, offset(end) - start));
        each(&mut bytes[row..end], |of| {
            list_bytes
                + items[offset(row + of) - start..offset(row + of + 1) - start]
                    .iter()
                    .fold(0, |sum, item| item.saturating_add(sum))
        });
        row = end;
    }
}

/// Bytes of these values together.
fn sum(values: &ArrayRef, range: Range<usize>) -> usize {
    let starts = range.clone().step_by(ITEMS_MAX);
    let parts = starts.map(|start| of(&values.slice(start, ITEMS_MAX.min(range.end - start))));
    parts.flatten().fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{
        DictionaryArray, Int32Array, Int64Array, LargeListArray, ListArray, NullArray, StringArray, StringViewArray,
    };
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::Field;
    use std::sync::Arc;

    #[test]
    fn what_is_shared_counts_in_each_row() {
        let values: ArrayRef = Arc::new(StringArray::from(vec!["x".repeat(100).as_str(), "y"]));
        let keys = Int32Array::from(vec![Some(0), Some(1), None, Some(0)]);
        let coded: ArrayRef = Arc::new(DictionaryArray::<Int32Type>::new(keys, values));
        let bytes = of(&coded);
        // Lengths and 4 bytes of the offset, 4 of the code; the count of a null is of no matter.
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

    #[test]
    fn any_number_of_items_is_measured() {
        let offsets = OffsetBuffer::new(vec![0_i64, 3, 1 << 40].into());
        let nulls: ArrayRef = Arc::new(NullArray::new(1 << 40));
        let item = Arc::new(Field::new("item", DataType::Null, true));
        let lists: ArrayRef = Arc::new(LargeListArray::new(item, offsets, nulls, None));
        assert_eq!(of(&lists), [8 + 3, 8 + (1 << 40) - 3]);
        // Lists of texts of a byte each, shorter and longer than the part that is measured at once.
        let ends = [0, 5, 5, 10_000, 10_001, 30_000];
        let texts: ArrayRef = Arc::new(StringArray::from(vec!["x"; 30_000]));
        let item = Arc::new(Field::new("item", DataType::Utf8, true));
        let lists: ArrayRef = Arc::new(ListArray::new(item, OffsetBuffer::new(ends.to_vec().into()), texts, None));
        assert_eq!(of(&lists), [4 + 25, 4, 4 + 49_975, 4 + 5, 4 + 99_995]);
        assert_eq!(of(&lists.slice(2, 2)), [4 + 49_975, 4 + 5]);
    }
}

//! Batches in parts that are small as text.
//!
//! # Why?
//! A value that many rows share is held once, and written for each of them.

use crate::limits::BATCH_BYTES_MAX;
use datafusion::arrow::array::{Array, ArrayRef, AsArray, OffsetSizeTrait, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use std::ops::Range;

/// About the bytes of a value that is no text.
const CELL_BYTES: usize = 16;

/// The rows of a batch in order, in parts of about [`BATCH_BYTES_MAX`] as text, or of one row.
pub(super) fn of(batch: &RecordBatch) -> impl Iterator<Item = RecordBatch> + '_ {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rows = batch.num_rows() - start;
        let mut taken = rows;
        while taken > 1 && bytes(batch.columns(), start..start + taken) > BATCH_BYTES_MAX {
            taken = taken.div_ceil(2);
        }
        let part = (taken > 0).then(|| batch.slice(start, taken));
        start += taken;
        part
    })
}

fn bytes(columns: &[ArrayRef], rows: Range<usize>) -> usize {
    columns.iter().map(|column| of_column(column, rows.clone())).sum()
}

/// About the bytes of these rows of a column as text.
fn of_column(column: &ArrayRef, rows: Range<usize>) -> usize {
    let cells = rows.len() * CELL_BYTES;
    let lengths = |lengths: &mut dyn Iterator<Item = u32>| lengths.map(|length| length as usize).sum::<usize>();
    let texts: usize = match column.data_type() {
        DataType::Utf8View => lengths(&mut column.as_string_view().lengths().skip(rows.start).take(rows.len())),
        // Two digits for a byte.
        DataType::BinaryView => 2 * lengths(&mut column.as_binary_view().lengths().skip(rows.start).take(rows.len())),
        DataType::Utf8 => between(column.as_string::<i32>().value_offsets(), &rows).len(),
        DataType::LargeUtf8 => between(column.as_string::<i64>().value_offsets(), &rows).len(),
        DataType::Dictionary(..) => {
            let dictionary = column.as_any_dictionary();
            if dictionary.values().is_empty() {
                return cells;
            }
            let value = |code: &usize| of_column(dictionary.values(), *code..*code + 1);
            dictionary.normalized_keys()[rows].iter().map(value).sum()
        }
        DataType::Struct(_) => bytes(column.as_struct().columns(), rows),
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            of_column(list.values(), between(list.value_offsets(), &rows))
        }
        DataType::LargeList(_) => {
            let list = column.as_list::<i64>();
            of_column(list.values(), between(list.value_offsets(), &rows))
        }
        DataType::Map(..) => {
            let map = column.as_map();
            bytes(map.entries().columns(), between(map.value_offsets(), &rows))
        }
        _ => 0,
    };
    cells + texts
}

/// Bytes between the offsets of some rows.
fn between<O: OffsetSizeTrait>(offsets: &[O], rows: &Range<usize>) -> Range<usize> {
    offsets[rows.start].as_usize()..offsets[rows.end].as_usize()
}

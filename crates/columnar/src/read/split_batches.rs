//! Batches as a file gives them, in pieces whose size is known.

use super::plain::plain;
use super::row_bytes;
use crate::limits::{BATCH_BYTES_MAX, BATCH_ROWS_MAX};
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array, make_array};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, SchemaRef};
use arrow_select::take::take;
use rorqual_pipe::setting::MEMORY;
use rorqual_pipe::{Error, ErrorClass, format_size};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Cuts batches into pieces of [`BATCH_BYTES_MAX`] with all values written out, which are made one
/// at a time.
pub(super) struct BatchSplitter {
    name: String,
    /// Schema of the pieces.
    schema: SchemaRef,
    row_bytes_max: usize,
    batch: Option<RecordBatch>,
    /// Up to which of its rows the pieces are known.
    measured: usize,
    ranges: VecDeque<Range<usize>>,
}

impl BatchSplitter {
    pub(super) fn new(name: &str, schema: &SchemaRef, row_bytes_max: usize) -> Self {
        let name = name.to_owned();
        Self { name, schema: Arc::clone(schema), row_bytes_max, batch: None, measured: 0, ranges: VecDeque::new() }
    }

    /// The next piece of the batch that was put.
    pub(super) fn next(&mut self) -> Option<Result<RecordBatch, Error>> {
        if self.ranges.is_empty()
            && let Err(error) = self.measure()
        {
            return Some(Err(error));
        }
        let (range, batch) = (self.ranges.pop_front()?, self.batch.as_ref()?);
        Some(piece(batch, range, &self.schema).map_err(|error| self.failed(&error)))
    }

    /// Takes a batch, once there is no piece of the one before.
    pub(super) fn put(&mut self, batch: RecordBatch) {
        self.measured = 0;
        self.batch = Some(batch);
    }

    /// Finds the next pieces: a batch may have any number of rows, so some are measured at a time.
    fn measure(&mut self) -> Result<(), Error> {
        let start = self.measured;
        let Some(batch) = self.batch.take().filter(|batch| start < batch.num_rows()) else { return Ok(()) };
        let rows = BATCH_ROWS_MAX.min(batch.num_rows() - start);
        let mut bytes = vec![0; rows];
        batch.columns().iter().for_each(|column| row_bytes::add(&column.slice(start, rows), &mut bytes));
        if let Some(large) = bytes.iter().find(|bytes| **bytes > self.row_bytes_max) {
            let (size, max) = (format_size(*large as u64), format_size(self.row_bytes_max as u64));
            let message = format!("a row takes {size}, more than {max}: more {MEMORY}, or fewer columns, would take it");
            return Err(Error::new(ErrorClass::Limit, &self.name, message));
        }
        self.ranges = ranges(&bytes, start);
        self.measured += rows;
        self.batch = Some(batch);
        Ok(())
    }

    fn failed(&self, error: &ArrowError) -> Error {
        Error::new(ErrorClass::Corrupt, &self.name, error.to_string())
    }
}

/// Rows from the first on that together are no more than a batch may be, or one.
fn ranges(bytes: &[usize], first: usize) -> VecDeque<Range<usize>> {
    let (mut found, mut start, mut sum) = (VecDeque::new(), 0, 0);
    for (row, bytes) in bytes.iter().enumerate() {
        if row > start && sum + bytes > BATCH_BYTES_MAX {
            found.push_back(first + start..first + row);
            (start, sum) = (row, 0);
        }
        sum += bytes;
    }
    found.push_back(first + start..first + bytes.len());
    found
}

/// Some rows of a batch, as arrays that share no more than dictionaries.
fn piece(batch: &RecordBatch, range: Range<usize>, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let whole = range.len() == batch.num_rows();
    let places = UInt64Array::from_iter_values(range.start as u64..range.end as u64);
    let column = |(column, field): (&ArrayRef, &Arc<arrow_schema::Field>)| {
        let own = plain(if whole { Arc::clone(column) } else { take(column, &places, None)? })?;
        if own.data_type() == field.data_type() { compact(own) } else { cast(&own, field.data_type()) }
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(column).collect::<Result<Vec<_>, ArrowError>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(range.len()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

/// Texts of its own instead of views into those of other rows.
fn compact(array: ArrayRef) -> Result<ArrayRef, ArrowError> {
    if !has_views(array.data_type()) {
        return Ok(array);
    }
    Ok(match array.data_type() {
        DataType::Utf8View => Arc::new(array.as_string_view().gc()),
        DataType::BinaryView => Arc::new(array.as_binary_view().gc()),
        _ => {
            let data = array.to_data();
            let below = data.child_data().iter().map(|child| Ok(compact(make_array(child.clone()))?.to_data()));
            let below = below.collect::<Result<Vec<_>, ArrowError>>()?;
            make_array(data.into_builder().child_data(below).build()?)
        }
    })
}

fn has_views(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8View | DataType::BinaryView => true,
        DataType::Struct(fields) => fields.iter().any(|field| has_views(field.data_type())),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) | DataType::Map(item, _) => {
            has_views(item.data_type())
        }
        // Dictionaries are shared.
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{BooleanArray, ListArray, NullArray, StringViewArray};
    use arrow_buffer::OffsetBuffer;
    use arrow_schema::{Field, Schema};

    fn cutter(columns: Vec<ArrayRef>) -> BatchSplitter {
        let fields =
            columns.iter().enumerate().map(|(place, column)| Field::new(place.to_string(), column.data_type().clone(), true));
        let schema: SchemaRef = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let mut cutter = BatchSplitter::new("test", &schema, 1 << 20);
        cutter.put(RecordBatch::try_new(schema, columns).unwrap());
        cutter
    }

    #[test]
    fn any_number_of_rows_is_cut_a_piece_at_a_time() {
        let mut cutter = cutter(vec![Arc::new(NullArray::new(1 << 40))]);
        for _ in 0..3 {
            assert_eq!(cutter.next().unwrap().unwrap().num_rows(), BATCH_ROWS_MAX);
        }
    }

    #[test]
    fn pieces_are_all_rows_in_order() {
        let bits = |row: usize| row.is_multiple_of(3);
        let mut cutter = cutter(vec![Arc::new(BooleanArray::from((0..20_000).map(bits).collect::<Vec<_>>()))]);
        let pieces: Vec<RecordBatch> = std::iter::from_fn(|| cutter.next()).map(Result::unwrap).collect();
        assert_eq!(pieces.iter().map(RecordBatch::num_rows).collect::<Vec<_>>(), [8192, 8192, 3616]);
        let rows: Vec<bool> = pieces.iter().flat_map(|piece| piece.column(0).as_boolean().values().iter()).collect();
        assert_eq!(rows, (0..20_000).map(bits).collect::<Vec<_>>());
    }

    #[test]
    fn views_of_a_piece_have_no_texts_of_others() {
        let texts: Vec<String> =
            (0..20_000).map(|row| format!("a text that is {row} and longer than a view: {}", "x".repeat(900))).collect();
        let views: ArrayRef = Arc::new(StringViewArray::from_iter_values(&texts));
        let item = Arc::new(Field::new("item", DataType::Utf8View, true));
        let lists = ListArray::new(item, OffsetBuffer::from_lengths(vec![1; 20_000]), Arc::clone(&views), None);
        let mut cutter = cutter(vec![views, Arc::new(lists)]);
        let pieces: Vec<RecordBatch> = std::iter::from_fn(|| cutter.next()).map(Result::unwrap).collect();
        let mut row = 0;
        for piece in &pieces {
            assert!(piece.get_array_memory_size() < 2 * BATCH_BYTES_MAX, "{}", piece.get_array_memory_size());
            for (text, list) in piece.column(0).as_string_view().iter().zip(piece.column(1).as_list::<i32>().iter()) {
                let expected = Some(texts[row].as_str());
                assert_eq!((text, list.unwrap().as_string_view().iter().next().unwrap()), (expected, expected));
                row += 1;
            }
        }
        assert_eq!(row, texts.len());
    }
}

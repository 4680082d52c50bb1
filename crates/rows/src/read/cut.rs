//! Batches as a file gives them, in pieces whose size is known.

use super::row_bytes;
use crate::limits::{BATCH_BYTES_MAX, BATCH_ROWS_MAX};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt64Array};
use arrow_cast::cast;
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::take;
use rorqual_pipe::{Error, Kind, format_size};
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

/// Cuts batches into pieces of [`BATCH_BYTES_MAX`] with all values written out, which are made one at a time.
pub(super) struct Cutter {
    name: String,
    /// What the pieces are to be.
    schema: SchemaRef,
    row_bytes_max: usize,
    batch: Option<RecordBatch>,
    ranges: VecDeque<Range<usize>>,
}

impl Cutter {
    pub(super) fn new(name: &str, schema: &SchemaRef, row_bytes_max: usize) -> Self {
        let name = name.to_owned();
        Self { name, schema: Arc::clone(schema), row_bytes_max, batch: None, ranges: VecDeque::new() }
    }

    /// The next piece of what was put.
    pub(super) fn next(&mut self) -> Option<Result<RecordBatch, Error>> {
        let range = self.ranges.pop_front()?;
        let batch = self.batch.as_ref()?;
        let piece = piece(batch, range, &self.schema).map_err(|error| self.failed(&error));
        if self.ranges.is_empty() {
            self.batch = None;
        }
        Some(piece)
    }

    /// Takes a batch, once there is no piece of the one before.
    pub(super) fn put(&mut self, batch: RecordBatch) -> Result<(), Error> {
        let mut bytes = vec![0; batch.num_rows()];
        batch.columns().iter().for_each(|column| row_bytes::add(column, &mut bytes));
        if let Some(large) = bytes.iter().find(|bytes| **bytes > self.row_bytes_max) {
            let (size, max) = (format_size(*large as u64), format_size(self.row_bytes_max as u64));
            let message = format!("a row takes {size}, more than {max}: more --memory, or fewer columns, would take it");
            return Err(Error::new(Kind::Limit, &self.name, message));
        }
        self.ranges = ranges(&bytes);
        self.batch = Some(batch);
        Ok(())
    }

    fn failed(&self, error: &ArrowError) -> Error {
        Error::new(Kind::Corrupt, &self.name, error.to_string())
    }
}

/// Rows that together are no more than a batch may be, or one.
fn ranges(bytes: &[usize]) -> VecDeque<Range<usize>> {
    let (mut found, mut start, mut sum) = (VecDeque::new(), 0, 0);
    for (row, bytes) in bytes.iter().enumerate() {
        if row > start && (sum + bytes > BATCH_BYTES_MAX || row - start == BATCH_ROWS_MAX) {
            found.push_back(start..row);
            (start, sum) = (row, 0);
        }
        sum += bytes;
    }
    if start < bytes.len() {
        found.push_back(start..bytes.len());
    }
    found
}

/// Some rows of a batch, as arrays that share no more than dictionaries.
fn piece(batch: &RecordBatch, range: Range<usize>, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let whole = range.len() == batch.num_rows();
    let places = UInt64Array::from_iter_values(range.start as u64..range.end as u64);
    let column = |(column, field): (&ArrayRef, &Arc<arrow_schema::Field>)| {
        let own = if whole { Arc::clone(column) } else { take(column, &places, None)? };
        if own.data_type() == field.data_type() { Ok(own) } else { cast(&own, field.data_type()) }
    };
    let columns = batch.columns().iter().zip(schema.fields()).map(column).collect::<Result<Vec<_>, ArrowError>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(range.len()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)
}

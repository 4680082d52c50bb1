//! Rows on their way into a row store.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use rorqual_columnar::limits::BATCH_BYTES_MAX;
use rorqual_columnar::render::{FlatColumns, FlatTexts};
use rorqual_crossfilter::{RowStore, TableRecorder, TableRows, TextCells};
use rorqual_pipe::{Error, ErrorClass};
use std::sync::Arc;

/// Memory of a batch, with its rows in the form in which they are recorded: the patterns of its
/// messages take up to three times as much as these.
pub(crate) const RECORDED_BATCH_BYTES: u64 = 6 * BATCH_BYTES_MAX as u64;

/// Takes batches of rows of one schema into a store.
pub(crate) struct RowsIntoStore {
    columns: FlatColumns,
    /// Number, among the columns of texts, of the one with values that have no column.
    rest: Option<usize>,
    recorder: TableRecorder,
    rows: u64,
}

/// Texts of a column, for a recorder.
struct Cells<'a>(&'a FlatTexts);

impl TextCells for Cells<'_> {
    fn text(&self, row: usize) -> &[u8] {
        self.0.text(row)
    }
}

impl RowsIntoStore {
    /// Rows of that schema, for a store with its [`FlatColumns`].
    pub(crate) fn new(schema: &SchemaRef, store: &Arc<RowStore>) -> Self {
        let columns = FlatColumns::new(schema);
        let rest = columns.rest().map(|(number, _)| number);
        Self { columns, rest, recorder: TableRecorder::new(store), rows: 0 }
    }

    /// Takes a batch; true if a row of it has a value for which there is no column.
    pub(crate) fn take(&mut self, batch: &RecordBatch) -> Result<bool, Error> {
        let flat = self.columns.batch(batch).map_err(|error| Error::new(ErrorClass::Io, "rows", error.to_string()))?;
        let cells: Vec<Cells<'_>> = flat.texts.iter().map(Cells).collect();
        let texts: Vec<&dyn TextCells> = cells.iter().map(|cells| cells as &dyn TextCells).collect();
        let numbers: Vec<&[u64]> = flat.numbers.iter().map(Vec::as_slice).collect();
        self.recorder.take(&TableRows {
            offset: self.rows,
            rows: flat.rows,
            times: &flat.times_us,
            texts: &texts,
            numbers: &numbers,
        });
        self.rows += flat.rows as u64;
        let has_rest = |rest: usize| (0..flat.rows).any(|row| !flat.texts[rest].text(row).is_empty());
        Ok(self.rest.is_some_and(has_rest))
    }

    /// Takes a record that is no row.
    pub(crate) fn reject(&mut self, reason: &str, text: &[u8]) {
        self.recorder.reject(self.rows, reason, text);
        self.rows += 1;
    }

    /// Ends the input.
    pub(crate) fn finish(self) {
        self.recorder.finish();
    }
}

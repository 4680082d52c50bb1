//! Rows on their way into a row store.

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use rorqual_columnar::limits::BATCH_BYTES_MAX;
use rorqual_columnar::read::{RowChoice, TableFile};
use rorqual_columnar::render::{FlatColumns, FlatTexts};
use rorqual_columnar::{BadRecord, Decode, Notes, long_offset};
use rorqual_crossfilter::{RowStore, RowTexts, TableRecorder, TableRows};
use rorqual_pipe::{Chunk, Control, Error, ErrorClass, Stage, each};
use std::sync::Arc;

/// Memory of a batch on its way to one recorder, with its rows in the form in which they are
/// recorded: the patterns of its messages take up to three times as much as these.
pub(crate) const RECORDED_BATCH_BYTES: u64 = 6 * BATCH_BYTES_MAX as u64;

/// Fault of a record of which only the head is there.
const LONG: &str = "the record is longer than one may be";

/// Takes batches of rows of one schema into a store.
pub(crate) struct RowsIntoStore {
    columns: Arc<FlatColumns>,
    /// Number, among the columns of texts, of the one with values that have no column.
    rest: Option<usize>,
    recorder: TableRecorder,
}

impl RowsIntoStore {
    /// Recorders of one input with that schema, for a store with its [`FlatColumns`]: one for each
    /// thread that reads.
    pub(crate) fn several(schema: &Schema, store: &Arc<RowStore>, count: usize) -> Vec<Self> {
        let columns = Arc::new(FlatColumns::new(schema));
        let rest = columns.rest().map(|(number, _)| number);
        let recorders = TableRecorder::several(store, count).into_iter();
        recorders.map(|recorder| Self { columns: Arc::clone(&columns), rest, recorder }).collect()
    }

    /// Takes a batch that starts at `offset` of the input, as the one before it may; true if a row
    /// of it has a value for which there is no column.
    fn take(&mut self, batch: &RecordBatch, offset: u64) -> Result<bool, Error> {
        let flat = self.columns.batch(batch).map_err(|error| Error::new(ErrorClass::Io, "rows", error.to_string()))?;
        let texts = flat.texts.iter().map(FlatTexts::parts);
        let texts: Vec<RowTexts<'_>> = texts.map(|(bytes, ranges)| RowTexts { bytes, ranges }).collect();
        let numbers: Vec<&[u64]> = flat.numbers.iter().map(Vec::as_slice).collect();
        self.recorder.take(&TableRows { offset, rows: flat.rows, times: &flat.times_us, texts: &texts, numbers: &numbers });
        let has_rest = |rest: usize| (0..flat.rows).any(|row| !flat.texts[rest].text(row).is_empty());
        Ok(self.rest.is_some_and(has_rest))
    }

    /// Takes a record without a text, which is no row for that reason.
    pub(crate) fn reject(&mut self, offset: u64, reason: &str) {
        self.recorder.reject(offset, reason, b"");
    }

    /// Shows the rows so far; more may come.
    pub(crate) fn show_so_far(&mut self) {
        self.recorder.show_so_far();
    }

    /// Ends the input.
    pub(crate) fn finish(self) {
        self.recorder.finish();
    }
}

/// Gives the rows of a file of columns to recorders, one on each thread, until `control` stops it.
/// `count` is told the rows of each batch.
pub(crate) fn record_columns(
    table: &TableFile,
    mut recorders: Vec<RowsIntoStore>,
    control: &Control,
    mut count: impl FnMut(usize) + Send,
) -> Result<(), Error> {
    let mut offset = 0;
    let batches = table.batches(None, &RowChoice::All)?.take_while(|_| !control.stopped()).map(|batch| {
        let start = offset;
        offset += batch.as_ref().map_or(0, |batch| batch.num_rows() as u64);
        (start, batch)
    });
    let take = |rows: &mut RowsIntoStore, (start, batch): (u64, Result<RecordBatch, Error>)| {
        let batch = batch?;
        rows.take(&batch, start).map(|_| batch.num_rows())
    };
    let taken = each(batches, &mut recorders, take, |rows| rows.map(&mut count));
    recorders.into_iter().for_each(RowsIntoStore::finish);
    taken
}

/// Decodes and records: one a thread.
pub(super) struct RecordStage {
    pub(super) decoder: Box<dyn Decode>,
    pub(super) rows: RowsIntoStore,
    /// Bytes that may be before a record.
    pub(super) separators: &'static [u8],
    /// Records that are no rows are recorded as such.
    pub(super) keeps_bad: bool,
}

/// Notes of a chunk whose rows were recorded.
#[derive(Default)]
pub(super) struct ChunkFindings {
    pub(super) bad: Vec<BadRecord>,
    /// Start of a record that is too long.
    pub(super) long: Option<u64>,
    pub(super) notes: Notes,
    /// A row has a value for which there is no column.
    pub(super) has_rest: bool,
    /// A value has no place at all: the rows from it on were not recorded.
    pub(super) is_misfit: bool,
}

impl Stage for RecordStage {
    type Output = ChunkFindings;

    fn chunk(&mut self, chunk: &Chunk) -> Result<ChunkFindings, Error> {
        let mut recorded = ChunkFindings::default();
        let mut part = chunk.clone();
        loop {
            let decoded = self.decoder.decode(&part)?;
            if decoded.misfit.is_some() {
                recorded.is_misfit = true;
                return Ok(recorded);
            }
            for batch in &decoded.batches {
                recorded.has_rest |= self.rows.take(batch, part.offset)?;
            }
            recorded.notes.merge(&decoded.notes);
            for record in decoded.bad.iter().filter(|_| self.keeps_bad) {
                self.rows.recorder.reject(part.offset, record.reason, bytes_of(record, chunk));
            }
            recorded.bad.extend(decoded.bad);
            // A chunk may be too much to be decoded at once.
            let Some(rest) = decoded.rest else { break };
            part = part.from(rest);
        }
        recorded.long = long_offset(chunk, self.separators);
        if let Some(offset) = recorded.long.filter(|_| self.keeps_bad) {
            self.rows.recorder.reject(part.offset, LONG, bytes_from(offset, chunk));
        }
        Ok(recorded)
    }
}

/// The bytes of a bad record, or the first of them.
fn bytes_of<'a>(record: &BadRecord, chunk: &'a Chunk) -> &'a [u8] {
    let bytes = bytes_from(record.offset, chunk);
    &bytes[..usize::try_from(record.length).unwrap_or(usize::MAX).min(bytes.len())]
}

/// The bytes of a chunk from an offset of the input on.
fn bytes_from(offset: u64, chunk: &Chunk) -> &[u8] {
    let start = usize::try_from(offset.saturating_sub(chunk.offset)).unwrap_or(usize::MAX);
    &chunk.bytes[start.min(chunk.bytes.len())..]
}

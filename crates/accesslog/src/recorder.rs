//! Recorders, which keep rows beside the sums or instead of them.

use crate::batch::LogBatch;
use crate::filter::Filter;
use crate::format::LogFormat;
use crate::note_reason::NoteReason;
use crate::own::OwnColumns;
use rorqual_pipe::Chunk;
use std::sync::Arc;

/// Options of workers: tasks beside counting, or instead of it. The default is to count every line.
#[derive(Clone, Default)]
pub struct Options {
    /// Leaves out the lines that it does not mean; they are counted as
    /// [`filtered`](crate::aggregate::LineCounts::filtered). Rejected lines only where it
    /// [names](Filter::names_flaws) them: they are never left out in silence.
    pub only: Option<LineFilter>,
    /// Gets all rows.
    pub recording: Option<Arc<dyn Recording>>,
    /// The inputs are several files, by whose names lines can be told apart.
    pub of_files: bool,
    /// Nothing is tallied: of the report only the numbers of lines and the samples are made.
    pub untallied: bool,
    /// Seed of estimates of distinct values, where other processes count with the same and one adds
    /// all up.
    pub estimates_seed: Option<u64>,
}

/// A filter of lines by its text, as a name in it may be that of a column of a log's own.
#[derive(Debug, Clone)]
pub struct LineFilter {
    name: &'static str,
    text: String,
}

impl LineFilter {
    /// The filter of a text, which errors call by that name.
    #[must_use]
    pub fn new(name: &'static str, text: &str) -> Self {
        Self { name, text: text.to_owned() }
    }

    /// The filter of lines with these columns.
    ///
    /// # Errors
    /// A sentence with those of [`Schema::filter`](crate::schema::Schema::filter).
    pub(crate) fn of(&self, own: &OwnColumns) -> Result<Filter, String> {
        own.schema().filter(&self.text).map_err(|error| format!("{}: {error}", self.name))
    }
}

/// Makes recorders, one for each worker of a run.
pub trait Recording: Send + Sync {
    /// Recorders for the run over the input `name`, which comes after all inputs before.
    fn recorders(&self, name: &str, format: &LogFormat, count: usize) -> Vec<Box<dyn Recorder>>;

    /// The columns of a log's own that these have.
    fn own(&self) -> Option<Arc<OwnColumns>>;
}

/// Takes the rows of one worker.
pub trait Recorder: Send {
    /// Takes the rows of one chunk; of all chunks of the input those of one worker, in ascending
    /// order.
    fn take(&mut self, rows: &RecordedRows<'_>);

    /// The codes of the text column at `index`, of
    /// [`text_columns`](crate::LogBatch::text_columns), stand for other values from the next rows
    /// on.
    fn forget(&mut self, index: usize);

    /// No rows have come for a while: time to show others what there is.
    fn idle(&mut self);

    /// There are no more rows.
    fn finish(&mut self);
}

/// The rows of one chunk. Values beyond 64 KiB are cut there.
pub struct RecordedRows<'a> {
    /// Sound and repaired lines.
    pub batch: &'a LogBatch,
    /// For each row of the batch, the offset of its clock in seconds east of UTC.
    pub zones_seconds: &'a [i32],
    /// Rows of the batch that were repaired, in ascending order.
    pub repaired: &'a [(u32, NoteReason)],
    /// Lines that were rejected, in order.
    pub rejected: &'a [Rejected],
    pub(crate) chunk: &'a Chunk,
}

/// A rejected line.
#[derive(Debug, Clone, Copy)]
pub struct Rejected {
    /// Row of the batch that it comes before.
    pub before_row: u32,
    /// Reason for rejecting it.
    pub reason: NoteReason,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl RecordedRows<'_> {
    /// Offset in the input at which the chunk starts, in bytes: chunks are ordered by it.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.chunk.offset
    }

    /// The text of a rejected line, without its newline; of an over-long one its start.
    #[must_use]
    pub fn text(&self, rejected: &Rejected) -> &[u8] {
        &self.chunk.bytes[rejected.start..rejected.end]
    }
}

/// Rows of a chunk, gathered for its recorder.
pub(crate) struct RecordedChunk {
    pub(crate) recorder: Box<dyn Recorder>,
    pub(crate) zones_seconds: Vec<i32>,
    pub(crate) repaired: Vec<(u32, NoteReason)>,
    pub(crate) rejected: Vec<Rejected>,
}

impl RecordedChunk {
    pub(crate) fn new(recorder: Box<dyn Recorder>) -> Self {
        Self { recorder, zones_seconds: Vec::new(), repaired: Vec::new(), rejected: Vec::new() }
    }

    /// Gives the recorder the rows of `chunk`.
    pub(crate) fn hand_over(&mut self, batch: &LogBatch, chunk: &Chunk) {
        let Self { recorder, zones_seconds, repaired, rejected } = self;
        recorder.take(&RecordedRows { batch, zones_seconds, repaired, rejected, chunk });
        zones_seconds.clear();
        repaired.clear();
        rejected.clear();
    }
}

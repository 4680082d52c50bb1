//! Rows of inputs as an iterator: for whoever takes batches when they are wanted.

use crate::bad_records::{BadRecords, long_offset};
use crate::decode::{BadRecord, Decode, DecodedRecords, Notes, Unplaced};
use crate::join::{BatchJoiner, JoinLimits};
use crate::limits::{JOINED_AFTER, JOINED_BYTES, JOINED_ROWS};
use crate::log::LogDecoder;
use crate::record_format::RecordFormat;
use crate::scan::ScanSettings;
use crate::setting::RECORD_MAX;
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, SchemaRef};
use rorqual_accesslog::filter::Filter;
use rorqual_pipe::{Background, Error, ErrorClass, Input, beside, format_size};
use std::ops::RangeInclusive;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;
use std::time::Duration;

/// Batches that wait for who takes them, beside the one that is being handed over.
const BATCHES_AHEAD: usize = 1;

/// Rows to read of inputs, in columns that all of them have.
#[derive(Debug, Clone)]
pub struct RowsPlan {
    /// Settings for reading; a stop of their control ends the rows.
    pub scan: ScanSettings,
    /// Threads that decode.
    pub threads: usize,
    /// The columns.
    pub schema: SchemaRef,
    /// Fate of a value whose key has no column.
    pub unplaced: Unplaced,
    /// Span of time of the lines of a log, in Unix microseconds.
    pub span_us: Option<RangeInclusive<i64>>,
    /// Filter of the lines of a log.
    pub filter: Option<Arc<Filter>>,
    /// A record that is no row ends the rows with its error. Otherwise it is left out and counted.
    pub is_strict: bool,
}

/// Summary of the rows so far: how many, and all that was left out or mended.
#[derive(Debug, Clone, Default)]
pub struct RowsSummary {
    /// Rows that were decoded.
    pub rows: u64,
    /// Lines outside of the span of time.
    pub outside: u64,
    /// Lines that the filter does not mean.
    pub filtered: u64,
    /// Records that are no rows.
    pub bad: BadRecords,
    notes: Vec<(String, Notes)>,
}

/// Batches of rows on their way, in the order of the inputs. Threads of their own read as far ahead
/// as there is room. Dropping it ends them, and waits until they are gone.
///
/// # Examples
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use rorqual_columnar::{FormatHints, RecordFormat, RowsPlan, ScanHead, ScanSettings, Unplaced};
/// use rorqual_pipe::{BufferPool, Control, Input, limits};
///
/// let log = b"::1 - - [10/Oct/2025:13:55:36 +0000] \"GET / HTTP/1.1\" 200 5\nno line of a log\n";
/// let head = ScanHead { bytes: log.to_vec(), whole: true, ..ScanHead::default() };
/// let format = RecordFormat::detect("access.log", &head, &FormatHints::default())?.format;
/// let record_bytes_max = limits::LINE_BYTES_MAX_DEFAULT;
/// let plan = RowsPlan {
///     scan: ScanSettings {
///         pool: BufferPool::new(limits::buffer_bytes(record_bytes_max), 12),
///         control: Control::default(),
///         record_bytes_max,
///         zstd_window_log_max: 23,
///     },
///     threads: 2,
///     schema: format.schema().ok_or("only logs say their columns")?,
///     unplaced: Unplaced::Ignore,
///     span_us: None,
///     filter: None,
///     is_strict: false,
/// };
/// let input = Input::from_reader("access.log", Box::new(&log[..]));
/// let mut batches = plan.batches([Ok((input, format))].into_iter());
/// let mut rows = 0;
/// for batch in &mut batches {
///     rows += batch?.num_rows();
/// }
/// assert_eq!((rows, batches.summary().get().bad.count()), (1, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Batches {
    plan: RowsPlan,
    made: Option<Background<Result<RecordBatch, Error>>>,
    summary: SummaryHandle,
}

/// Summary of rows that somebody else takes.
#[derive(Debug, Clone, Default)]
pub struct SummaryHandle(Arc<Mutex<RowsSummary>>);

impl RowsPlan {
    /// The rows of inputs, each of its format, which are opened one after another.
    #[must_use]
    pub fn batches(self, inputs: impl Iterator<Item = Result<(Input, RecordFormat), Error>> + Send + 'static) -> Batches {
        let summary = SummaryHandle::default();
        let (plan, shared) = (self.clone(), summary.clone());
        let made = beside(BATCHES_AHEAD, move |give| {
            let gone = |_| Error::new(ErrorClass::Stopped, "", "nobody wants more rows");
            let read = || plan.read_all(inputs, &shared, &mut |batch| give.send(Ok(batch)).map_err(gone));
            // Whoever takes the rows may be a program that a panic would end.
            let error = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(broken()));
            if let Err(error) = error
                && error.kind() != ErrorClass::Stopped
            {
                let _gone = give.send(Err(error));
            }
        });
        Batches { plan: self, made: Some(made), summary }
    }

    fn read_all(
        &self,
        inputs: impl Iterator<Item = Result<(Input, RecordFormat), Error>>,
        summary: &SummaryHandle,
        give: &mut (dyn FnMut(RecordBatch) -> Result<(), Error> + Send),
    ) -> Result<(), Error> {
        for input in inputs {
            let (input, format) = input?;
            if let Some(error) = self.read(input, &format, summary, give) {
                return Err(error);
            }
            if self.scan.control.stopped() {
                break;
            }
        }
        Ok(())
    }

    fn read(
        &self,
        input: Input,
        format: &RecordFormat,
        summary: &SummaryHandle,
        give: &mut (dyn FnMut(RecordBatch) -> Result<(), Error> + Send),
    ) -> Option<Error> {
        let name = input.name().to_owned();
        let mut joiner = BatchJoiner::new(SchemaRef::clone(&self.schema), join_limits(&input));
        let unjoined = |cause: ArrowError| Error::new(ErrorClass::Limit, &name, format!("cannot join batches of rows: {cause}"));
        let decoders = (0..self.threads).map(|_| self.decoder(format)).collect();
        let error = self.scan.decode(input, format, decoders, self.decoder(format), |decoded, chunk| {
            if decoded.misfit.is_some() {
                return Err(self.misfit(&name));
            }
            let long = long_offset(chunk, format.separators()).filter(|_| decoded.rest.is_none());
            if self.is_strict {
                self.refuse(&name, decoded.bad.first(), long)?;
            }
            summary.locked().add(&name, &decoded, long, self.scan.record_bytes_max);
            for batch in decoded.batches {
                joiner.push(batch).map_err(unjoined)?.try_for_each(&mut *give)?;
            }
            // A filter may mean a row in a million.
            let due = if joiner.is_due(JOINED_AFTER) { joiner.join().map_err(unjoined)? } else { None };
            due.map_or(Ok(()), &mut *give)
        });
        // Rows before a fault are rows.
        let rest = joiner.join().map_err(unjoined).and_then(|rest| rest.map_or(Ok(()), give));
        error.or(rest.err())
    }

    fn decoder(&self, format: &RecordFormat) -> Box<dyn Decode> {
        let RecordFormat::Log(log) = format else {
            return format.decoder(&self.schema, self.unplaced, self.scan.record_bytes_max);
        };
        let decoder = LogDecoder::new(log, &self.schema).within(self.span_us.clone());
        Box::new(match &self.filter {
            Some(filter) => decoder.only(filter),
            None => decoder,
        })
    }

    fn refuse(&self, name: &str, bad: Option<&BadRecord>, long: Option<u64>) -> Result<(), Error> {
        if let Some(bad) = bad {
            return Err(bad.error(name));
        }
        let Some(offset) = long else { return Ok(()) };
        let max = format_size(self.scan.record_bytes_max as u64);
        Err(Error::new(ErrorClass::Limit, name, format!("a record of more than {RECORD_MAX} {max} starts")).at(offset))
    }

    fn misfit(&self, name: &str) -> Error {
        let reason = match self.unplaced {
            Unplaced::Ignore => "a value does not fit its column, which is as the start of the input has it",
            Unplaced::Keep => "it was changed while it was read: its columns are others now",
        };
        Error::new(ErrorClass::Corrupt, name, reason)
    }
}

/// Sizes of joined batches. Those of a pipe are given as they come: nobody knows when there will be
/// more.
fn join_limits(input: &Input) -> JoinLimits {
    if input.is_stored() { JoinLimits { bytes: JOINED_BYTES, rows: JOINED_ROWS } } else { JoinLimits { bytes: 0, rows: 0 } }
}

fn broken() -> Error {
    Error::new(ErrorClass::Corrupt, "rows", "reading failed inside; this is a defect of the program")
}

impl SummaryHandle {
    /// Summary of the rows so far; of all once the last batch was taken.
    #[must_use]
    pub fn get(&self) -> RowsSummary {
        self.locked().clone()
    }

    fn locked(&self) -> MutexGuard<'_, RowsSummary> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RowsSummary {
    fn add(&mut self, name: &str, decoded: &DecodedRecords, long: Option<u64>, record_bytes_max: usize) {
        self.rows += decoded.batches.iter().map(|batch| batch.num_rows() as u64).sum::<u64>();
        self.outside += decoded.outside as u64;
        self.filtered += decoded.filtered as u64;
        decoded.bad.iter().for_each(|bad| self.bad.add(name, bad));
        long.into_iter().for_each(|offset| self.bad.add_long(name, offset, record_bytes_max));
        if decoded.notes == Notes::default() {
            return;
        }
        match self.notes.last_mut().filter(|(known, _)| known == name) {
            Some((_, notes)) => notes.merge(&decoded.notes),
            None => self.notes.push((name.to_owned(), decoded.notes.clone())),
        }
    }

    /// A sentence for each kind of thing that was left out or mended, bad records first.
    #[must_use]
    pub fn told(&self) -> Vec<String> {
        let notes = self.notes.iter().flat_map(|(name, notes)| notes.told(name));
        self.bad.left_out("").into_iter().chain(notes).collect()
    }
}

impl Batches {
    /// The columns.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        &self.plan.schema
    }

    /// Summary of the rows, which goes on when they are somebody else's.
    #[must_use]
    pub fn summary(&self) -> &SummaryHandle {
        &self.summary
    }

    /// The next batch, or [`Poll::Pending`] when there is none within `patience`.
    pub fn wait(&mut self, patience: Duration) -> Poll<Option<Result<RecordBatch, Error>>> {
        self.made.as_mut().map_or(Poll::Ready(None), |made| made.wait(patience))
    }
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.made.as_mut()?.next()
    }
}

impl Drop for Batches {
    fn drop(&mut self) {
        self.plan.scan.control.stop();
        self.made = None;
    }
}

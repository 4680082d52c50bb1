//! Rows that are decoded: JSON, CSV, access logs.

use super::recorded::{ChunkFindings, RecordStage, RowsIntoStore};
use super::{BatchPrinter, unprintable};
use crate::args::{Common, FromArgs, ShownArgs};
use crate::exit::ExitStatus;
use crate::verbs::convert::{InputContent, InputFile, KnownInput, columns_of, given, rest_bytes, scan};
use crate::{interrupt, message};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use rorqual_columnar::convert::SampleExtent;
use rorqual_columnar::json::Layout;
use rorqual_columnar::read::TableFile;
use rorqual_columnar::{
    BadRecord, BadRecords, Decode, DecodedRecords, Notes, RecordFormat, ScanSettings, Unplaced, choose_columns, long_offset,
};
use rorqual_pipe::{Chunk, Control, Error, ErrorClass, Input, Stage, escaped_path};
use std::path::Path;
use std::time::Instant;

/// A file that rows are taken of.
pub(crate) enum OpenedRows {
    /// A file of columns, and the control that Ctrl-C stops.
    Table(TableFile, Control),
    /// Records.
    Records(Box<RecordRows>),
}

/// Rules for rows that are recorded.
#[derive(Clone, Copy)]
pub(crate) struct RecordRules {
    /// It ends soon after a value for which there is no column.
    pub(crate) stops_at_rest: bool,
    /// A record that is no row is one of the rows, as rejected.
    pub(crate) keeps_bad: bool,
}

/// End of rows that were recorded.
#[derive(Default)]
pub(crate) struct RecordsEnd {
    pub(crate) bad: BadRecords,
    /// A row has a value for which there is no column.
    pub(crate) has_rest: bool,
    /// The error that ended it early.
    pub(crate) error: Option<Error>,
}

/// An input of records, and the columns that its start has.
pub(crate) struct RecordRows {
    scan: ScanSettings,
    threads: usize,
    memory_bytes: u64,
    source: KnownInput,
    schema: SchemaRef,
    unplaced: Unplaced,
    /// Name of the input, once it was read.
    name: String,
    notes: Notes,
    start: Instant,
    /// The place after the last row that was taken is looked for.
    end_wanted: bool,
    end: Option<u64>,
}

/// Opens a file of any format, or says why not; `beside_bytes` of memory are for another use
/// beside the rows, and the columns are those of that extent.
pub(crate) fn open(
    common: &Common,
    from: &FromArgs,
    shown: &ShownArgs,
    path: &Path,
    (beside_bytes, extent): (u64, SampleExtent),
) -> Result<OpenedRows, ExitStatus> {
    let memory_bytes = common.process.memory_bytes();
    let scanned = scan(common, from, std::slice::from_ref(&path), memory_bytes, |_, _| beside_bytes);
    let (threads, scan) = scanned.map_err(|error| message::error(&error))?;
    let control = scan.control.clone();
    interrupt::stop_on_interrupt(&control);
    let opened = recognised((threads, (memory_bytes, memory_bytes)), scan, from, shown, path.into(), extent.into());
    // A file of which all is looked at was read by its start before, and told then.
    if let Ok(OpenedRows::Records(records)) = &opened
        && extent == SampleExtent::Prefix
    {
        records.guesses().iter().for_each(|note| message::note(note));
    }
    opened.map_err(|error| {
        match control.stopped() {
            // A head that a stop cut off tells no format, which is no fault of the input's.
            true => interrupt::exit_of_nothing(&control, ExitStatus::Done),
            false => message::error(&error),
        }
    })
}

/// The columns of records.
pub(crate) enum RecordColumns {
    /// Columns of this extent, with `_rest` in any case where that is wanted.
    Found { extent: SampleExtent, with_rest: bool },
    /// Columns that were found before.
    Known(SchemaRef),
}

impl From<SampleExtent> for RecordColumns {
    fn from(extent: SampleExtent) -> Self {
        Self::Found { extent, with_rest: false }
    }
}

/// Opens a file as [`open`] does, with these settings and columns.
pub(crate) fn recognised(
    (threads, memory): (usize, (u64, u64)),
    scan: ScanSettings,
    from: &FromArgs,
    shown: &ShownArgs,
    file: InputFile<'_>,
    columns: RecordColumns,
) -> Result<OpenedRows, String> {
    let start = Instant::now();
    let mut source = KnownInput::open(file, &given(from)?, &scan, memory)?;
    if let InputContent::Table(table) = source.content {
        return Ok(OpenedRows::Table(table, scan.control));
    }
    let schema = match columns {
        RecordColumns::Found { extent, with_rest } => columns_of(&mut source, &scan, threads, (extent, with_rest))?,
        RecordColumns::Known(schema) => schema,
    };
    let (schema, unplaced) = match &shown.columns {
        Some(columns) => {
            let chosen = choose_columns(&schema, columns).map_err(|error| format!("{}: {error}", escaped_path(file.path)))?;
            (chosen, Unplaced::Ignore)
        }
        None => (schema, Unplaced::Keep),
    };
    let memory_bytes = memory.0;
    Ok(OpenedRows::Records(Box::new(RecordRows {
        scan,
        threads,
        memory_bytes,
        source,
        schema,
        unplaced,
        name: String::new(),
        notes: Notes::default(),
        start,
        end_wanted: false,
        end: None,
    })))
}

impl RecordRows {
    /// By which Ctrl-C stops it.
    pub(crate) fn control(&self) -> &Control {
        &self.scan.control
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes
    }

    /// The columns.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Memory that nobody has while the rows are read.
    pub(crate) fn rest_bytes(&self) -> u64 {
        rest_bytes(self.scan.record_bytes_max, std::slice::from_ref(&self.source), self.memory_bytes, self.threads)
    }

    /// Hands batches on until `take` has enough. Bad records before that are left out, and that is
    /// said.
    pub(crate) fn each(
        &mut self,
        mut take: impl FnMut(&RecordBatch) -> Result<BatchOutcome, Error> + Send,
    ) -> Result<ExitStatus, String> {
        let mut bad = BadRecords::default();
        let input = self.source.input()?;
        let InputContent::Records(format, _) = &self.source.content else { return Ok(ExitStatus::Done) };
        let decoder = || format.decoder(&self.schema, self.unplaced, self.scan.record_bytes_max);
        let stages = (0..self.threads).map(|_| RecordDecoder(decoder())).collect();
        let mut own = decoder();
        let name = input.name().to_owned();
        self.name.clone_from(&name);
        let (end_wanted, mut end) = (self.end_wanted, None);
        let finish = self.scan.run(input, format, stages, |(mut decoded, chunk): (DecodedRecords, Chunk)| {
            let mut part = chunk.clone();
            loop {
                if decoded.misfit.is_some() {
                    return Err(misfit(&name, self.unplaced));
                }
                let mut rows = 0;
                for batch in decoded.batches {
                    rows += batch.num_rows() as u64;
                    if let BatchOutcome::Enough(of_batch) = take(&batch)? {
                        let rows = rows - batch.num_rows() as u64 + of_batch;
                        let met = bad_before(rows, &decoded.bad, &part, own.as_mut())?;
                        decoded.bad[..met].iter().for_each(|record| bad.add(&name, record));
                        end = if end_wanted { Some(end_of(rows, &part, format, own.as_mut())?) } else { None };
                        return Err(Error::new(ErrorClass::Stopped, "", "enough was seen"));
                    }
                }
                self.notes.merge(&decoded.notes);
                decoded.bad.iter().for_each(|record| bad.add(&name, record));
                // The rest of a chunk that is too much to be decoded at once is decoded in its
                // turn.
                let Some(rest) = decoded.rest else { break };
                part = part.from(rest);
                decoded = own.decode(&part)?;
            }
            if let Some(offset) = long_offset(&chunk, format.separators()) {
                bad.add_long(&name, offset, self.scan.record_bytes_max);
            }
            Ok(())
        });
        self.end = end;
        self.exit((bad, finish.error.filter(|error| error.kind() != ErrorClass::Stopped)))
    }

    /// Looks for the place after the last row that is taken.
    pub(crate) fn watch_end(&mut self) {
        self.end_wanted = true;
    }

    /// The place after the last line of the rows that were taken, where they were enough.
    pub(crate) fn end(&self) -> Option<u64> {
        self.end
    }

    /// Gives the rows to a recorder on each thread.
    pub(crate) fn record(&mut self, recorders: Vec<RowsIntoStore>, rules: RecordRules) -> Result<RecordsEnd, String> {
        let input = self.source.input()?;
        let (recorded, recorders) = self.record_input(input, recorders, rules);
        recorders.into_iter().for_each(RowsIntoStore::finish);
        Ok(recorded)
    }

    /// The same of an input that is a part of this one, or goes on with it; more may come for the
    /// recorders.
    pub(crate) fn record_input(
        &mut self,
        input: Input,
        recorders: Vec<RowsIntoStore>,
        rules: RecordRules,
    ) -> (RecordsEnd, Vec<RowsIntoStore>) {
        let mut recorded = RecordsEnd::default();
        let InputContent::Records(format, _) = &self.source.content else { return (recorded, recorders) };
        let decoder = || format.decoder(&self.schema, self.unplaced, self.scan.record_bytes_max);
        let stage = |rows| RecordStage { decoder: decoder(), rows, separators: format.separators(), keeps_bad: rules.keeps_bad };
        let stages = recorders.into_iter().map(stage).collect();
        let name = input.name().to_owned();
        self.name.clone_from(&name);
        let finish = self.scan.run(input, format, stages, |chunk: ChunkFindings| {
            if chunk.is_misfit && !rules.stops_at_rest {
                return Err(misfit(&name, self.unplaced));
            }
            self.notes.merge(&chunk.notes);
            chunk.bad.iter().for_each(|record| recorded.bad.add(&name, record));
            if let Some(offset) = chunk.long {
                recorded.bad.add_long(&name, offset, self.scan.record_bytes_max);
            }
            recorded.has_rest |= chunk.has_rest || chunk.is_misfit;
            if recorded.has_rest && rules.stops_at_rest {
                return Err(Error::new(ErrorClass::Stopped, "", "its columns are more than those of its start"));
            }
            Ok(())
        });
        recorded.error = finish.error.filter(|error| error.kind() != ErrorClass::Stopped);
        (recorded, finish.stages.into_iter().map(|stage| stage.rows).collect())
    }

    /// Says what was left out of rows that were read, and how that ended.
    pub(crate) fn exit(&self, (bad, error): (BadRecords, Option<Error>)) -> Result<ExitStatus, String> {
        let InputContent::Records(format, _) = &self.source.content else { return Ok(ExitStatus::Done) };
        let exit = said_bad(&bad, format);
        match error {
            Some(error) => Ok(message::error(&error)),
            None => Ok(interrupt::exit_of(&self.scan.control, exit)),
        }
    }

    /// Sentences about what was guessed of the format.
    pub(crate) fn guesses(&self) -> &[String] {
        &self.source.notes
    }

    /// Sentences about what was met in the records that were read, in the order of the kinds.
    pub(crate) fn notes(&self) -> impl Iterator<Item = String> {
        self.notes.told(&self.name)
    }

    /// True if each record is a line of a plain file of UTF-8, to which others may be appended.
    pub(crate) fn has_lines(&mut self) -> Result<bool, String> {
        let is_lines = matches!(&self.source.content, InputContent::Records(RecordFormat::Json(Layout::Lines, _), None));
        Ok(is_lines && self.source.input()?.is_file())
    }

    /// Gives the memory of buffers back that no run has.
    pub(crate) fn release_buffers(&self) {
        self.scan.pool.release_free();
    }

    /// True if it can't be read again.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.source.content, InputContent::Records(_, Some(_)))
    }

    /// The closing line of `--stats`, of work that began then.
    pub(crate) fn say_stats(&self, common: &Common, start: Instant) {
        if common.process.stats {
            crate::stats::print(start, self.memory_bytes, self.threads, &self.scan.control, &self.scan.pool);
        }
    }
}

/// The error of a value that has no place in the columns.
fn misfit(name: &str, unplaced: Unplaced) -> Error {
    let reason = match unplaced {
        Unplaced::Ignore => {
            "a value does not fit its column, which is as the start of the input has it; without --columns it is kept"
        }
        Unplaced::Keep => "it was changed while it was read: its columns are others now",
    };
    Error::new(ErrorClass::Corrupt, name, reason)
}

/// Outcome of a batch.
pub(crate) enum BatchOutcome {
    /// All of it was taken, and more is wanted.
    All,
    /// So many of its rows were taken, which are enough.
    Enough(u64),
}

/// Number of the bad records of a chunk that are before the last of its first `rows` rows: those
/// after it are not looked at.
fn bad_before(rows: u64, bad: &[BadRecord], chunk: &Chunk, decoder: &mut dyn Decode) -> Result<usize, Error> {
    let (mut met, mut end) = (0, bad.len());
    while met < end {
        let middle = met.midpoint(end);
        let before = decoder.decode(&chunk.until((bad[middle].offset - chunk.offset) as usize))?;
        let rows_before: usize = before.batches.iter().map(RecordBatch::num_rows).sum();
        if (rows_before as u64) < rows { met = middle + 1 } else { end = middle }
    }
    Ok(met)
}

/// The place in the input after the line at which a chunk has its first `rows` rows.
fn end_of(rows: u64, chunk: &Chunk, format: &RecordFormat, decoder: &mut dyn Decode) -> Result<u64, Error> {
    let mut ends = line_ends(&chunk.bytes, format);
    ends.push(chunk.bytes.len());
    let (mut first, mut last) = (0, ends.len() - 1);
    while first < last {
        let middle = first.midpoint(last);
        let before = decoder.decode(&chunk.until(ends[middle]))?;
        let rows_before: usize = before.batches.iter().map(RecordBatch::num_rows).sum();
        if (rows_before as u64) < rows { first = middle + 1 } else { last = middle }
    }
    Ok(chunk.offset + ends[first] as u64)
}

/// Ends of the lines of a chunk; of a CSV only those that end a record, as one that is cut in its
/// last cell has all its cells.
fn line_ends(bytes: &[u8], format: &RecordFormat) -> Vec<usize> {
    let ends = memchr::memchr_iter(b'\n', bytes).map(|newline| newline + 1);
    let splitter = if matches!(format, RecordFormat::Csv(_)) { format.splitter() } else { None };
    let Some(mut splitter) = splitter else { return ends.collect() };
    let mut start = 0;
    let ends_record = |end: &usize| {
        let found = splitter.split(&bytes[start..*end]);
        start = *end;
        found.is_ok_and(|found| found.last_end.is_some())
    };
    ends.filter(ends_record).collect()
}

/// Tells the records that were left out. A line of a log that is none is usual; any other bad
/// record is a bad input.
pub(crate) fn said_bad(bad: &BadRecords, format: &RecordFormat) -> ExitStatus {
    let Some(said) = bad.left_out("") else { return ExitStatus::Done };
    message::note(&said);
    if matches!(format, RecordFormat::Log(_)) { ExitStatus::Done } else { ExitStatus::Bad }
}

/// Decodes, as far as that can be done at once.
struct RecordDecoder(Box<dyn Decode>);

impl Stage for RecordDecoder {
    type Output = (DecodedRecords, Chunk);

    fn chunk(&mut self, chunk: &Chunk) -> Result<Self::Output, Error> {
        Ok((self.0.decode(chunk)?, chunk.clone()))
    }
}

/// Prints the first rows.
pub(crate) fn print_head(common: &Common, shown: &ShownArgs, records: &mut RecordRows, rows: u64) -> Result<ExitStatus, String> {
    let out = |error| Error::io("standard output", "cannot write", error);
    let mut printer = BatchPrinter::new(shown, records.control()).map_err(|error| out(error).to_string())?;
    let mut left = rows;
    let exit = records.each(|batch| {
        let batch = batch.slice(0, batch.num_rows().min(usize::try_from(left).unwrap_or(usize::MAX)));
        left -= batch.num_rows() as u64;
        printer.batch(&batch).map_err(out)?;
        Ok(if left > 0 { BatchOutcome::All } else { BatchOutcome::Enough(batch.num_rows() as u64) })
    })?;
    finish(printer, exit, common, records)
}

/// Prints batches that were chosen.
pub(crate) fn print_batches(
    common: &Common,
    shown: &ShownArgs,
    records: &RecordRows,
    batches: &[RecordBatch],
    exit: ExitStatus,
) -> Result<ExitStatus, String> {
    let mut printer = match BatchPrinter::new(shown, records.control()) {
        Ok(printer) => printer,
        Err(error) => return Ok(message::print_error(&error)),
    };
    if let Err(error) = batches.iter().try_for_each(|batch| printer.batch(batch)) {
        return Ok(message::print_error(&error));
    }
    finish(printer, exit, common, records)
}

fn finish(printer: BatchPrinter, exit: ExitStatus, common: &Common, records: &RecordRows) -> Result<ExitStatus, String> {
    let printed = printer.finish();
    records.say_stats(common, records.start);
    Ok(printed.map_or_else(|error| message::print_error(&error), |()| exit))
}

/// Refuses rows that together take more than their share of the memory.
pub(crate) fn too_much(bytes: usize, memory_bytes: u64) -> Result<(), Error> {
    if bytes as u64 <= memory_bytes / SAMPLE_SHARE {
        return Ok(());
    }
    let message = format!(
        "the rows chosen take more than a {SAMPLE_SHARE}th of --memory: fewer rows (-n), fewer --columns or more --memory"
    );
    Err(Error::new(ErrorClass::Limit, "-n", message))
}

/// Chosen rows may take this share of the memory.
const SAMPLE_SHARE: u64 = 16;

/// A row of a batch, with its memory its own.
pub(crate) fn row_of(batch: &RecordBatch, row: usize) -> Result<RecordBatch, Error> {
    let index = arrow_array::UInt32Array::from(vec![row as u32]);
    arrow_select::take::take_record_batch(batch, &index).map_err(|error| Error::io("rows", "cannot keep", unprintable(error)))
}

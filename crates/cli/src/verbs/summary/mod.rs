//! `rorqual summary`: the columns of any file, by a row store; and what `rorqual logs` says of a
//! file that is no access log.

mod answer;
mod report;
mod terminal;

use crate::args::{Common, FromArgs, ShownArgs, SummaryArgs, TempArgs};
use crate::exit::ExitStatus;
use crate::rows::recorded::{RECORDED_BATCH_BYTES, RowsIntoStore};
use crate::rows::records::{BatchOutcome, OpenedRows, open};
use crate::verbs::convert::rest_bytes_of_table;
use crate::verbs::logs::{HtmlPage, Question, table_page_bytes, unanswerable};
use crate::watchdog::MemoryWatchdog;
use crate::{interrupt, message};
use arrow_schema::SchemaRef;
pub(crate) use report::SummaryReport;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_columnar::convert::SampleExtent;
use rorqual_columnar::read::{RowChoice, TableFile};
use rorqual_columnar::render::FlatColumns;
use rorqual_crossfilter::limits::{
    RECORDER_BYTES, ROWS_BYTES_MIN, SEGMENT_ROWS_MIN, table_recorder_bytes, table_segment_rows, table_thread_bytes,
};
use rorqual_crossfilter::{RowStore, RowStoreSettings, Stack, View, ViewError, ViewParts};
use rorqual_pipe::gather::OutputFd;
use rorqual_pipe::{Control, escaped_path, format_size, reason};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Columns of one file at most: each takes memory for its values.
const COLUMNS_MAX: usize = 4_000;

/// Buckets of the histogram.
const BUCKETS: usize = 400;

/// Question about a file.
pub(crate) struct SummaryQuestion<'a> {
    pub(crate) file: &'a Path,
    pub(crate) filter: Option<&'a str>,
    pub(crate) span: SpanFilter,
    /// Values of each column of texts.
    pub(crate) top: u16,
    pub(crate) json: bool,
    pub(crate) from: &'a FromArgs,
    pub(crate) temp: &'a TempArgs,
    /// In place of what is printed.
    pub(crate) page: Option<HtmlPage>,
    /// In place of the columns.
    pub(crate) question: Option<Question>,
}

pub(crate) fn run(common: &Common, args: &SummaryArgs) -> ExitStatus {
    let SummaryArgs { filter, top, json, from, temp, file } = args;
    let from = &FromArgs { guesses_rows: true, ..from.clone() };
    let asked = SummaryQuestion {
        file,
        filter: filter.as_deref(),
        span: SpanFilter::default(),
        top: *top,
        json: *json,
        from,
        temp,
        page: None,
        question: None,
    };
    answer(common, asked)
}

/// Reads the file, and prints what is asked.
pub(crate) fn answer(common: &Common, asked: SummaryQuestion<'_>) -> ExitStatus {
    let shown = ShownArgs { columns: None, to: None, json: false };
    // Of a table with few columns; the others are asked when the columns are known.
    let beside = ROWS_BYTES_MIN + RECORDER_BYTES + table_thread_bytes(0, 0) + RECORDED_BATCH_BYTES;
    let begun = Instant::now();
    let summed = match open(common, asked.from, &shown, asked.file, (beside, SampleExtent::Whole)) {
        Ok(OpenedRows::Table(table, control)) => of_table(common, asked, &table, &control, begun),
        Ok(OpenedRows::Records(mut records)) => {
            let (rest_bytes, threads) = (records.rest_bytes(), records.threads());
            let control = records.control().clone();
            let opened = SummarizedFile::new(asked, records.schema(), (common.process.memory_bytes(), rest_bytes), threads);
            opened.and_then(|mut summary| {
                let exit = records.each(|batch| summary.rows.take(batch).map(|_| BatchOutcome::All))?;
                let exit = summary.finish(&control, begun, exit);
                records.notes().for_each(|note| message::note(&note));
                records.say_stats(common);
                Ok(exit)
            })
        }
        Err(exit) => return exit,
    };
    summed.unwrap_or_else(|error| message::error(&error))
}

fn of_table(
    common: &Common,
    asked: SummaryQuestion<'_>,
    table: &TableFile,
    control: &Control,
    begun: Instant,
) -> Result<ExitStatus, String> {
    let memory_bytes = common.process.memory_bytes();
    let _guard = MemoryWatchdog::reading(table.name(), memory_bytes);
    let threads = common.process.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let rest_bytes = rest_bytes_of_table(table, memory_bytes, threads);
    let mut summary = SummarizedFile::new(asked, table.schema(), (memory_bytes, rest_bytes), threads)?;
    let mut exit = ExitStatus::Done;
    for batch in table.batches(None, &RowChoice::All).map_err(|error| error.to_string())? {
        if control.stopped() {
            break;
        }
        if let Err(error) = batch.and_then(|batch| summary.rows.take(&batch)) {
            exit = message::error(&error);
            break;
        }
    }
    Ok(summary.finish(control, begun, interrupt::exit_of(control, exit)))
}

/// The rows of a file on their way into a store.
struct SummarizedFile<'a> {
    asked: SummaryQuestion<'a>,
    store: Arc<RowStore>,
    rows: RowsIntoStore,
    view: View,
}

impl<'a> SummarizedFile<'a> {
    /// A store for the rows of that schema, in the part of the memory that their reading leaves.
    fn new(
        asked: SummaryQuestion<'a>,
        arrow_schema: &SchemaRef,
        (memory_bytes, rest_bytes): (u64, u64),
        threads: usize,
    ) -> Result<Self, String> {
        let columns = FlatColumns::new(arrow_schema);
        let count = columns.own().len();
        let name = escaped_path(asked.file);
        if count > COLUMNS_MAX {
            return Err(format!("{name}: it has {count} columns, and at most {COLUMNS_MAX} are summarised"));
        }
        let schema = columns.schema();
        let filter = schema.filter(asked.filter.unwrap_or_default()).map_err(|error| format!("--where: {error}"))?;
        if schema.time().is_none()
            && let Some(flag) = asked.timed_flag()
        {
            return Err(format!("{flag}: no column of {name} is the time of a row"));
        }
        let (texts, numbers) = (schema.own_texts(), schema.own_numbers());
        let page_bytes = asked.page.as_ref().map_or(0, |_| table_page_bytes(asked.top, texts, numbers));
        let needed_by = |segment_rows: usize, threads: usize| {
            ROWS_BYTES_MIN
                + table_recorder_bytes(segment_rows, texts, numbers)
                + threads as u64 * table_thread_bytes(texts, numbers)
                + RECORDED_BATCH_BYTES
                + page_bytes
        };
        // More memory has larger segments, which are made smaller before it is refused.
        let mut segment_rows = table_segment_rows(rest_bytes, texts, numbers);
        while segment_rows > SEGMENT_ROWS_MIN && needed_by(segment_rows, 1) > rest_bytes {
            segment_rows /= 2;
        }
        let needed = |threads: usize| needed_by(segment_rows, threads);
        // Counting by fewer threads leaves more room for rows.
        let threads = (1..=threads).rev().find(|threads| needed(*threads) <= rest_bytes);
        let threads = threads.ok_or_else(|| {
            // Up to a third of what is added goes to the reading of the file.
            let lacking = (needed(1) - rest_bytes) * 3 / 2;
            let least = (memory_bytes + lacking).next_multiple_of(1 << 20) >> 20;
            format!(
                "{name}: {} columns take more memory than --memory {}. Give --memory {least}MiB",
                texts + numbers,
                format_size(memory_bytes)
            )
        })?;
        let rows_bytes = ROWS_BYTES_MIN + rest_bytes - needed(threads);
        let spill = asked.temp.spill();
        let folder = spill.as_ref().map_or_else(String::new, |(folder, _)| escaped_path(folder));
        let settings =
            RowStoreSettings { spill, segment_rows, schema: Arc::new(schema), ..RowStoreSettings::only(rows_bytes, threads) };
        let store = RowStore::new(settings)
            .map_err(|cause| format!("--temp-dir {folder}: there can be no temporary file for rows: {}", reason(&cause)))?;
        let rows = RowsIntoStore::new(arrow_schema, &store);
        let view = View { from_us: asked.span.since_us, to_us: asked.span.until_us, filter };
        Ok(Self { asked, store, rows, view })
    }

    /// Counts the rows, and prints the answer.
    fn finish(self, control: &Control, begun: Instant, exit: ExitStatus) -> ExitStatus {
        let Self { asked, store, rows, view } = self;
        rows.finish();
        // Of a run that was stopped the rows so far are summarised; the next Ctrl-C ends the
        // process.
        let control = if control.stopped() { Control::default() } else { control.clone() };
        let top = if asked.question.is_some() && asked.page.is_none() { 0 } else { usize::from(asked.top) };
        let wanted = ViewParts { top, buckets: BUCKETS, stack: Stack::Class, facets: false };
        let viewed = match store.view(&view, &wanted, &control) {
            Ok(viewed) => viewed,
            Err(error) => return failed(&error, &control),
        };
        if let Some(failure) = store.spill_failure() {
            message::note(&format!("rows that did not fit the memory could not be written to the temporary file: {failure}"));
        }
        store.shortage().into_iter().for_each(|shortage| message::note(&shortage));
        let complete = exit == ExitStatus::Done;
        let name = asked.file.to_string_lossy();
        let report = SummaryReport::new(&name, &store.schema(), viewed, complete, Some(begun));
        if let Some((name, rest)) = report.rest() {
            message::note(&format!(
                "{rest} of these rows have values that the columns of the stream's start have no place for: they are in {name}, and counted in no other column. A file is read twice, and has no such values"
            ));
        }
        let SummaryQuestion { question, page, json, top, .. } = asked;
        if let Some(question) = question {
            let answered = answer::print(&question, &report, (&store, &view), (json, top), page, &control);
            return answered.map_or_else(|error| failed(&error, &control), |answered| exit.max(answered));
        }
        let printed = match &page {
            _ if json => print_json(&report, &control),
            Some(_) => Ok(()),
            None => terminal::print(&report, &control),
        };
        let exit = printed.map_or_else(|error| message::print_error(&error), |()| exit);
        exit.max(page.map_or(ExitStatus::Done, |page| page.finish_table(&report, None, top, &control)))
    }
}

impl SummaryQuestion<'_> {
    /// The first flag of those that ask for times.
    fn timed_flag(&self) -> Option<&'static str> {
        match &self.question {
            Some(question) => question.timed_flag(),
            None if self.span.since_us.is_some() => Some("--since"),
            None => self.span.until_us.map(|_| "--until"),
        }
    }
}

fn failed(error: &ViewError, control: &Control) -> ExitStatus {
    match error {
        ViewError::Cancelled => interrupt::exit_of_nothing(control, ExitStatus::Interrupted),
        ViewError::Unanswerable(error) => message::error(&unanswerable(error)),
        error => message::error(error),
    }
}

fn print_json(report: &impl serde::Serialize, control: &Control) -> io::Result<()> {
    let mut out = io::BufWriter::new(OutputFd::stdout(control)?);
    serde_json::to_writer(&mut out, report)?;
    out.write_all(b"\n")?;
    out.flush()
}

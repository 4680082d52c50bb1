//! `rorqual summary`: the columns of any file, by a row store; and what `rorqual logs` says of a
//! file that is no access log.

mod answer;
mod report;
mod terminal;

use crate::args::{Common, FromArgs, ShownArgs, SummaryArgs, TempArgs};
use crate::exit::ExitStatus;
use crate::json_name::bytes_of;
use crate::rows::recorded::{RECORDED_BATCH_BYTES, RowsIntoStore, record_columns};
use crate::rows::records::{OpenedRows, RecordRows, RecordRules, open};
use crate::verbs::convert::rest_bytes_of_table;
use crate::verbs::logs::{HtmlPage, Question, lacking, table_page_bytes, unanswerable};
use crate::watchdog::MemoryWatchdog;
use crate::{interrupt, message};
use arrow_schema::SchemaRef;
pub(crate) use report::SummaryReport;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_columnar::convert::SampleExtent;
use rorqual_columnar::read::TableFile;
use rorqual_columnar::render::FlatColumns;
use rorqual_crossfilter::limits::{
    RECORDER_BYTES, ROWS_BYTES_MIN, SEGMENT_ROWS_MIN, table_recorder_bytes, table_segment_rows, table_thread_bytes,
};
use rorqual_crossfilter::{RowStore, RowStoreSettings, Stack, View, ViewError, ViewParts};
use rorqual_pipe::gather::OutputFd;
use rorqual_pipe::{Control, escaped_path, format_size, reason};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
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
    // Most files have the columns of their start. One that has more is read again.
    let mut extent = SampleExtent::Prefix;
    loop {
        let mut records = match open(common, asked.from, &shown, asked.file, (beside, extent)) {
            Ok(OpenedRows::Table(table, control)) => return of_table(common, asked, &table, (&control, begun)),
            Ok(OpenedRows::Records(records)) => records,
            Err(exit) => return exit,
        };
        let stops_at_rest = extent == SampleExtent::Prefix && !records.is_stream();
        match of_records(common, &asked, &mut records, stops_at_rest) {
            Ok(None) => extent = SampleExtent::Whole,
            Ok(Some((summary, exit))) => {
                let exit = summary.finish(asked, records.control(), begun, exit);
                records.notes().for_each(|note| message::note(&note));
                records.say_stats(common, begun);
                return exit;
            }
            Err(error) => return message::error(&error),
        }
    }
}

/// Reads records; `None` where that stopped at a value for which there is no column.
fn of_records(
    common: &Common,
    asked: &SummaryQuestion<'_>,
    records: &mut RecordRows,
    stops_at_rest: bool,
) -> Result<Option<(SummarizedFile, ExitStatus)>, String> {
    let memory = (common.process.memory_bytes(), records.rest_bytes());
    let (summary, recorders) = SummarizedFile::new(asked, records.schema(), memory, records.threads())?;
    let recorded = records.record(recorders, RecordRules { stops_at_rest, keeps_bad: false })?;
    // A reader who ends it wants what there is.
    if recorded.has_rest && stops_at_rest && !records.control().stopped() {
        return Ok(None);
    }
    let exit = records.exit((recorded.bad, recorded.error))?;
    Ok(Some((summary, exit)))
}

fn of_table(common: &Common, asked: SummaryQuestion<'_>, table: &TableFile, (control, begun): (&Control, Instant)) -> ExitStatus {
    let memory_bytes = common.process.memory_bytes();
    let _guard = MemoryWatchdog::reading(table.name(), memory_bytes);
    let threads = common.process.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let rest_bytes = rest_bytes_of_table(table, memory_bytes, threads);
    let (summary, recorders) = match SummarizedFile::new(&asked, table.schema(), (memory_bytes, rest_bytes), threads) {
        Ok(made) => made,
        Err(error) => return message::error(&error),
    };
    let recorded = record_columns(table, recorders, control, |_| {});
    let exit = recorded.map_or_else(|error| message::error(&error), |()| ExitStatus::Done);
    summary.finish(asked, control, begun, interrupt::exit_of(control, exit))
}

/// The rows of a file on their way into a store.
struct SummarizedFile {
    store: Arc<RowStore>,
    view: View,
}

impl SummarizedFile {
    /// A store for the rows of that schema, in the part of the memory that their reading leaves,
    /// and its recorders.
    fn new(
        asked: &SummaryQuestion<'_>,
        arrow_schema: &SchemaRef,
        (memory_bytes, rest_bytes): (u64, u64),
        threads: usize,
    ) -> Result<(Self, Vec<RowsIntoStore>), String> {
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
                + page_bytes
                + threads as u64
                    * (table_recorder_bytes(segment_rows, texts, numbers)
                        + table_thread_bytes(texts, numbers)
                        + RECORDED_BATCH_BYTES)
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
        let recorders = RowsIntoStore::several(arrow_schema, &store, threads);
        let view = View { from_us: asked.span.since_us, to_us: asked.span.until_us, filter };
        Ok((Self { store, view }, recorders))
    }

    /// Counts the rows, and prints the answer.
    fn finish(self, asked: SummaryQuestion<'_>, control: &Control, begun: Instant, exit: ExitStatus) -> ExitStatus {
        let Self { store, view } = self;
        // Of a run that was stopped the rows so far are summarised; the next Ctrl-C ends the
        // process.
        let control = if control.stopped() { Control::default() } else { control.clone() };
        let top = if asked.question.is_some() && asked.page.is_none() { 0 } else { usize::from(asked.top) };
        let wanted = ViewParts { top, buckets: BUCKETS, stack: Stack::Class, facets: false };
        let viewed = match store.view(&view, &wanted, &control) {
            Ok(viewed) => viewed,
            Err(error) => return failed(&error, &control),
        };
        let dropped = store.rows_dropped();
        match store.shortage() {
            Some(_) if dropped > 0 => {
                message::note(&format!("the answer is of {} rows: {dropped} more {}", store.rows(), lacking(&store, "--memory")));
            }
            shortage => shortage.into_iter().for_each(|shortage| message::note(&shortage)),
        }
        if dropped == 0 && !store.is_whole() {
            message::note(
                &"some texts are longer than 64 KiB: of these the start is kept, and those that differ after it count as one",
            );
        }
        let complete = exit == ExitStatus::Done && dropped == 0;
        let name = asked.file.to_string_lossy();
        let mut report = SummaryReport::new(&name, &store.schema(), viewed, complete, Some(begun));
        report.file_bytes = bytes_of(asked.file.as_os_str().as_bytes());
        if let Some((name, rest)) = report.rest() {
            message::note(&format!(
                "{rest} of these rows have values that the columns of the stream's start have no place for: they are in {name}, and counted in no other column. A file is read again where it has such values"
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

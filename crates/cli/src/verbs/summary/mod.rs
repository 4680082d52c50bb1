//! `rorqual summary`: the columns of any file, by a row store.

mod report;
mod terminal;

use crate::args::{Common, ShownArgs, SummaryArgs};
use crate::exit::ExitStatus;
use crate::rows::recorded::{RECORDED_BATCH_BYTES, RowsIntoStore};
use crate::rows::records::{BatchOutcome, OpenedRows, open};
use crate::verbs::convert::rest_bytes_of_table;
use crate::watchdog::MemoryWatchdog;
use crate::{interrupt, message};
use arrow_schema::SchemaRef;
use report::SummaryReport;
use rorqual_accesslog::schema::Schema;
use rorqual_columnar::convert::SampleExtent;
use rorqual_columnar::read::{RowChoice, TableFile};
use rorqual_columnar::render::FlatColumns;
use rorqual_crossfilter::limits::{RECORDER_BYTES, ROWS_BYTES_MIN, table_recorder_bytes, table_segment_rows, table_thread_bytes};
use rorqual_crossfilter::{RowStore, RowStoreSettings, Stack, View, ViewError, ViewParts};
use rorqual_pipe::gather::OutputFd;
use rorqual_pipe::{Control, escaped_path, format_size, reason};
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Instant;

/// Columns of one file at most: each takes memory for its values.
const COLUMNS_MAX: usize = 4_000;

/// Buckets of the histogram.
const BUCKETS: usize = 400;

pub(crate) fn run(common: &Common, args: &SummaryArgs) -> ExitStatus {
    let shown = ShownArgs { columns: None, to: None, json: false };
    // Of a table with few columns; the others are asked when the columns are known.
    let beside = ROWS_BYTES_MIN + RECORDER_BYTES + table_thread_bytes(0, 0) + RECORDED_BATCH_BYTES;
    let begun = Instant::now();
    let summed = match open(common, &args.from, &shown, &args.file, (beside, SampleExtent::Whole)) {
        Ok(OpenedRows::Table(table, control)) => of_table(common, args, &table, &control, begun),
        Ok(OpenedRows::Records(mut records)) => {
            let (rest_bytes, threads) = (records.rest_bytes(), records.threads());
            let control = records.control().clone();
            let opened = SummarizedFile::new(args, records.schema(), (common.process.memory_bytes(), rest_bytes), threads);
            opened.and_then(|mut summary| {
                let exit = records.each(|batch| summary.rows.take(batch).map(|_| BatchOutcome::All))?;
                let exit = summary.finish(args, &control, begun, exit);
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
    args: &SummaryArgs,
    table: &TableFile,
    control: &Control,
    begun: Instant,
) -> Result<ExitStatus, String> {
    let memory_bytes = common.process.memory_bytes();
    let _guard = MemoryWatchdog::reading(table.name(), memory_bytes);
    let threads = common.process.threads.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
    let rest_bytes = rest_bytes_of_table(table, memory_bytes, threads);
    let mut summary = SummarizedFile::new(args, table.schema(), (memory_bytes, rest_bytes), threads)?;
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
    Ok(summary.finish(args, control, begun, interrupt::exit_of(control, exit)))
}

/// The rows of a file on their way into a store.
struct SummarizedFile {
    columns: FlatColumns,
    store: Arc<RowStore>,
    rows: RowsIntoStore,
    view: View,
}

impl SummarizedFile {
    /// A store for the rows of that schema, in the part of the memory that their reading leaves.
    fn new(
        args: &SummaryArgs,
        arrow_schema: &SchemaRef,
        (memory_bytes, rest_bytes): (u64, u64),
        threads: usize,
    ) -> Result<Self, String> {
        let columns = FlatColumns::new(arrow_schema);
        let own = columns.own();
        let name = escaped_path(&args.file);
        if own.len() > COLUMNS_MAX {
            return Err(format!("{name}: it has {} columns, and at most {COLUMNS_MAX} are summarised", own.len()));
        }
        let schema = Schema::table(own, columns.time().is_some());
        let filter = schema.filter(args.filter.as_deref().unwrap_or_default()).map_err(|error| format!("--where: {error}"))?;
        let (texts, numbers) = (schema.own_texts(), schema.own_numbers());
        let segment_rows = table_segment_rows(rest_bytes, texts, numbers);
        let needed = |threads: usize| {
            ROWS_BYTES_MIN
                + table_recorder_bytes(segment_rows, texts, numbers)
                + threads as u64 * table_thread_bytes(texts, numbers)
                + RECORDED_BATCH_BYTES
        };
        // Counting by fewer threads leaves more room for rows.
        let threads = (1..=threads).rev().find(|threads| needed(*threads) <= rest_bytes);
        let threads = threads.ok_or_else(|| {
            // A part of what is added goes to the reading of the file.
            let lacking = (needed(1) - rest_bytes) * 5 / 4;
            let least = (memory_bytes + lacking).next_multiple_of(1 << 20) >> 20;
            format!(
                "{name}: {} columns take more memory than --memory {}. Give --memory {least}MiB",
                texts + numbers,
                format_size(memory_bytes)
            )
        })?;
        let rows_bytes = ROWS_BYTES_MIN + rest_bytes - needed(threads);
        let spill = args.temp.spill();
        let folder = spill.as_ref().map_or_else(String::new, |(folder, _)| escaped_path(folder));
        let settings =
            RowStoreSettings { spill, segment_rows, schema: Arc::new(schema), ..RowStoreSettings::only(rows_bytes, threads) };
        let store = RowStore::new(settings)
            .map_err(|cause| format!("--temp-dir {folder}: there can be no temporary file for rows: {}", reason(&cause)))?;
        let rows = RowsIntoStore::new(arrow_schema, &store);
        Ok(Self { columns, store, rows, view: View { filter, ..View::default() } })
    }

    /// Counts the rows, and prints the answer.
    fn finish(self, args: &SummaryArgs, control: &Control, begun: Instant, exit: ExitStatus) -> ExitStatus {
        let Self { columns, store, rows, view } = self;
        rows.finish();
        // Of a run that was stopped the rows so far are summarised; the next Ctrl-C ends the
        // process.
        let control = if control.stopped() { Control::default() } else { control.clone() };
        let wanted = ViewParts { top: usize::from(args.top), buckets: BUCKETS, stack: Stack::Class };
        let viewed = match store.view(&view, &wanted, &control) {
            Ok(viewed) => viewed,
            Err(ViewError::Cancelled) => return interrupt::exit_of_nothing(&control, ExitStatus::Interrupted),
            Err(error) => return message::error(&error),
        };
        if let Some(failure) = store.spill_failure() {
            message::note(&format!("rows that did not fit the memory could not be written to the temporary file: {failure}"));
        }
        store.shortage().into_iter().for_each(|shortage| message::note(&shortage));
        let complete = exit == ExitStatus::Done;
        let report = SummaryReport::new(&args.file, &columns, &store.schema(), viewed, complete, begun);
        if let Some((name, rest)) = report.rest() {
            message::note(&format!(
                "{rest} of these rows have values that the columns of the stream's start have no place for: they are in {name}, and counted in no other column. A file is read twice, and has no such"
            ));
        }
        let printed = if args.json { print_json(&report, &control) } else { terminal::print(&report, &control) };
        printed.map_or_else(|error| message::print_error(&error), |()| exit)
    }
}

fn print_json(report: &SummaryReport, control: &Control) -> io::Result<()> {
    let mut out = io::BufWriter::new(OutputFd::stdout(control)?);
    serde_json::to_writer(&mut out, report)?;
    out.write_all(b"\n")?;
    out.flush()
}

//! Records as batches of columns.

use crate::failure::OperationFailure;
use crate::report::without_countries;
use crate::resources::Resources;
use crate::running::RunningOperation;
use crate::source::DataSource;
use arrow_schema::SchemaRef;
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::schema::Schema;
use rorqual_columnar::convert::SampleExtent;
use rorqual_columnar::limits::{BATCH_BYTES_MAX, PREFIX_BYTES, RECORD_BYTES_MAX_DEFAULT, RECORD_SHARE, worker_bytes};
use rorqual_columnar::log::own_columns;
use rorqual_columnar::read::{is_table, merge};
use rorqual_columnar::{Batches, FormatHints, RecordFormat, RowsPlan, ScanSettings, Shape, Unplaced, choose_columns};
use rorqual_pipe::decode::{decoder_bytes, zstd_window_log_max};
use rorqual_pipe::limits::{BLOCK_BYTES, buffer_bytes, buffers_needed};
use rorqual_pipe::{Budget, BufferPool, Control, Error, Input};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

/// Batches that are with their taker and on the way to it, and rows that are being joined to one.
const BATCHES_GIVEN: usize = 3 + 1;

/// Rows to read.
#[derive(Debug, Default)]
pub struct RowsRequest {
    /// The inputs, whose rows come one after another.
    pub sources: Vec<DataSource>,
    /// Hints to their format.
    pub hints: FormatHints,
    /// The columns by name, in the order of the schema; all of them if not given.
    pub columns: Option<Vec<String>>,
    /// Filter of the lines of a log.
    pub filter: Option<String>,
    /// Lines of a log at or after this time count, in Unix microseconds.
    pub since_us: Option<i64>,
    /// Lines of a log before this time count.
    pub until_us: Option<i64>,
    /// Longest record.
    pub record_bytes_max: Option<usize>,
    /// The columns are those of all records, and not of the first megabytes.
    pub infer_all: bool,
    /// Records that are no rows are left out and counted; `None` does so with logs alone.
    pub skip_bad: Option<bool>,
    /// Stop of the reading, from the looks at its start on.
    pub control: Control,
}

/// The rows of inputs, in the columns that all of them have. Reading begins at once.
///
/// # Errors
/// When an input can't be read or its format told, a column is not there, the filter is none, or
/// the memory too little.
pub fn rows(request: RowsRequest, resources: Resources) -> Result<Batches, OperationFailure> {
    let span_us = span(request.since_us, request.until_us)?;
    // Names that no log has are told when it is known which logs these are.
    let written = request.filter.as_deref().map(|text| Schema::access_log().filter_of_any(text)).map(without_countries);
    let scan = Scan::new(&request, written.transpose()?.as_ref(), resources)?;
    let opened = scan.open_all(request.sources, &request.hints)?;
    let is_log = opened.iter().all(|input| matches!(input.format, RecordFormat::Log(_)));
    if !is_log && (span_us.is_some() || request.filter.is_some()) {
        return Err(OperationFailure::argument(
            "a filter and a span of time are of access logs; whoever takes the rows can filter others",
        ));
    }
    let filter = request.filter.as_deref().map(|text| filter(text, &opened)).transpose()?;
    let schema = if is_log { said(&opened)? } else { scan.inferred(&opened, request.infer_all)? };
    let (schema, unplaced) = match &request.columns {
        Some(columns) => (choose_columns(&schema, columns).map_err(OperationFailure::argument)?, Unplaced::Ignore),
        None => (schema, Unplaced::Keep),
    };
    let is_strict = !request.skip_bad.unwrap_or(is_log);
    let plan = RowsPlan { scan: scan.settings, threads: scan.threads, schema, unplaced, span_us, filter, is_strict };
    Ok(plan.batches(opened.into_iter().map(RecordInput::input)))
}

/// The same on a thread, as the start of an input may be long in coming.
#[must_use]
pub fn rows_later(request: RowsRequest, resources: Resources) -> RunningOperation<Batches> {
    let control = request.control.clone();
    RunningOperation::beginning(&control, move || rows(request, resources))
}

/// The filter in the columns of these logs, those of their formats' own where all have the same.
fn filter(text: &str, opened: &[RecordInput]) -> Result<Arc<Filter>, OperationFailure> {
    let own = opened.iter().map(|input| match &input.format {
        RecordFormat::Log(format) => Some(own_columns(format)),
        _ => None,
    });
    let mut own = own.flatten();
    let first = own.next().filter(|first| own.all(|other| other == *first));
    let schema = first.as_deref().unwrap_or_else(|| Schema::access_log());
    without_countries(schema.filter(text)).map(Arc::new)
}

fn span(since_us: Option<i64>, until_us: Option<i64>) -> Result<Option<RangeInclusive<i64>>, OperationFailure> {
    match (since_us, until_us) {
        (None, None) => Ok(None),
        (Some(since), Some(until)) if since >= until => {
            Err(OperationFailure::argument("since is not before until: no line can be in between"))
        }
        (since, until) => Ok(Some(since.unwrap_or(i64::MIN)..=until.map_or(i64::MAX, |until| until - 1))),
    }
}

/// An input of a known format.
struct RecordInput {
    /// Its path, where it can be opened again.
    path: Option<PathBuf>,
    opened: Option<Input>,
    format: RecordFormat,
    /// Columns that were found in its first bytes; a stream has them before it is read.
    ahead: Option<(Shape, bool)>,
}

impl RecordInput {
    fn input(self) -> Result<(Input, RecordFormat), Error> {
        let input = match (self.opened, self.path) {
            (Some(input), _) => input,
            (None, Some(path)) => Input::open(&path)?.into_utf8(),
            (None, None) => Input::from_reader("rows", Box::new(std::io::empty())),
        };
        Ok((input, self.format))
    }
}

/// The columns, where the formats say them.
fn said(opened: &[RecordInput]) -> Result<SchemaRef, OperationFailure> {
    let schemas = opened.iter().filter_map(|input| Some(("", input.format.schema()?)));
    Ok(merge(schemas)?)
}

/// Settings by which all inputs are read.
struct Scan {
    settings: ScanSettings,
    threads: usize,
}

impl Scan {
    fn new(request: &RowsRequest, filter: Option<&Filter>, resources: Resources) -> Result<Self, OperationFailure> {
        let memory_bytes = resources.memory_bytes;
        let usual = || (memory_bytes / RECORD_SHARE).clamp(BLOCK_BYTES as u64, RECORD_BYTES_MAX_DEFAULT) as usize;
        let record_bytes_max = request.record_bytes_max.unwrap_or_else(usual).max(BLOCK_BYTES);
        let streams = request.sources.iter().filter(|source| matches!(source, DataSource::Reader(..))).count();
        let threads = resources.fitting(|budget, threads| {
            reserve(budget, threads, record_bytes_max, streams);
            budget.reserve("decoder", decoder_bytes(memory_bytes));
            budget.reserve("filter and its regular expressions", filter.map_or(0, |filter| filter.bytes(threads)));
        })?;
        let pool = BufferPool::new(buffer_bytes(record_bytes_max), buffers_needed(threads));
        let zstd_window_log_max = zstd_window_log_max(memory_bytes);
        let settings = ScanSettings { pool, control: request.control.clone(), record_bytes_max, zstd_window_log_max };
        Ok(Self { settings, threads })
    }

    fn open_all(&self, sources: Vec<DataSource>, hints: &FormatHints) -> Result<Vec<RecordInput>, OperationFailure> {
        if sources.is_empty() {
            return Err(OperationFailure::argument("no input is named"));
        }
        sources.into_iter().map(|source| self.open(source, hints)).collect()
    }

    fn open(&self, source: DataSource, hints: &FormatHints) -> Result<RecordInput, OperationFailure> {
        let path = if let DataSource::Path(path) = &source { Some(path.clone()) } else { None };
        let mut input = source.open()?.into_utf8();
        let name = input.name().to_owned();
        let head = self.settings.head(&mut input, PREFIX_BYTES)?;
        let failed = |text: String| OperationFailure {
            name: Some(name.clone()),
            ..OperationFailure::new("corrupt", format!("{name}: {text}"))
        };
        if is_table(&head.bytes) {
            return Err(failed("this is a Parquet or Arrow file, which has columns already".to_owned()));
        }
        let format = RecordFormat::detect(&name, &head, hints).map_err(failed)?.format;
        if input.is_stored() {
            return Ok(RecordInput { path, opened: None, format, ahead: None });
        }
        let (found, error) = self.settings.infer_ahead(&mut input, &format, self.threads);
        if let Some(error) = error.filter(|_| found.shape == Shape::default() && format.schema().is_none()) {
            return Err(error.into());
        }
        Ok(RecordInput { path: None, opened: Some(input), format, ahead: Some((found.shape, found.complete)) })
    }

    /// The columns of records that say none, with `_rest` for later values without one.
    fn inferred(&self, opened: &[RecordInput], infer_all: bool) -> Result<SchemaRef, OperationFailure> {
        let extent = if infer_all { SampleExtent::Whole } else { SampleExtent::Prefix };
        let (mut shape, mut complete) = (Shape::default(), true);
        for input in opened {
            if input.format.schema().is_some() {
                return Err(OperationFailure::argument(
                    "access logs and other inputs do not have the same columns: read them one by one",
                ));
            }
            let (found, whole) = match (&input.ahead, &input.path) {
                (Some((shape, whole)), _) => (shape.clone(), *whole),
                (None, Some(path)) => {
                    let again = Input::open(path)?.into_utf8();
                    let (found, _) = self.settings.infer(again, &input.format, self.threads, extent);
                    (found.shape, found.complete)
                }
                (None, None) => continue,
            };
            shape.merge(found);
            complete &= whole;
        }
        Ok(shape.to_schema(!complete))
    }
}

fn reserve(budget: &mut Budget, threads: usize, record_bytes_max: usize, streams: usize) {
    let buffers = buffers_needed(threads);
    budget.reserve(format!("{buffers} blocks, each with room for one record"), (buffers * buffer_bytes(record_bytes_max)) as u64);
    budget.reserve(format!("{threads} decoders"), threads as u64 * worker_bytes(record_bytes_max));
    budget.reserve("batches on their way", (BATCHES_GIVEN * BATCH_BYTES_MAX) as u64);
    budget.reserve("starts of streams", (streams * PREFIX_BYTES) as u64);
}

//! `rorqual convert` and `rorqual schema`

mod output;
mod pass;
mod schema;
mod source;

use crate::args::{Common, ConvertArgs, ConvertConflicts, FromArgs, ProcessArgs, TerminalWhen};
use crate::exit::ExitStatus;
use crate::message;
use crate::progress::Progress;
use crate::{fitting, interrupt};
use arrow_schema::{Schema, SchemaRef};
use output::ConvertOutput;
use pass::{ConvertPass, PassEnd};
use rorqual_columnar::convert::{InferredColumns as Found, SampleExtent};
use rorqual_columnar::limits::{PREFIX_BYTES, worker_bytes};
use rorqual_columnar::read::{TableFile, merge};
use rorqual_columnar::{FormatHints, ScanSettings, Shape};
use rorqual_pipe::decode::{decoder_bytes, zstd_window_log_max};
use rorqual_pipe::limits::{self, buffer_bytes, buffers_needed};
use rorqual_pipe::{Budget, BudgetError, BufferPool, Control, allocator, escaped_path, format_size};
pub(crate) use schema::run as run_schema;
pub(crate) use source::{InputContent, InputFile, KnownInput, RecordLimit, given};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Buffers beside those of the run: the rejects' one.
const BUFFERS_BESIDE: usize = 1;

/// Settings of the allocator: a block beyond a batch's own arrays is given back when it is freed.
/// Otherwise each thread that has encoded a long list keeps tens of mebibytes for the next one.
const ALLOCATOR: [(&str, &str); 2] = [("MALLOC_MMAP_THRESHOLD_", "4194304"), ("MALLOC_TRIM_THRESHOLD_", "4194304")];

/// Hint about an output that is given up.
const KEEPS_PARTIAL: &str = " (--keep-partial keeps what came before)";

pub(crate) fn run(common: &Common, args: &ConvertArgs) -> ExitStatus {
    if let Err(error) = allocator::settle(&ALLOCATOR) {
        message::note(&format!("{error}; threads may keep what they freed, beside --memory"));
    }
    let start = Instant::now();
    let mut convert = match Convert::new(common, args) {
        Ok(convert) => convert,
        Err(error) => return message::error(&error),
    };
    interrupt::stop_on_interrupt(&convert.scan.control);
    let exit = convert.all().unwrap_or_else(|error| interrupt::exit_of_nothing(&convert.scan.control, message::error(&error)));
    if common.process.stats {
        crate::stats::print(start, convert.memory_bytes, convert.threads, &convert.scan.control, &convert.scan.pool);
    }
    exit
}

/// The meaning of the arguments, and the state that all inputs of one run share.
struct Convert<'a> {
    args: &'a ConvertArgs,
    output: ConvertOutput,
    given: FormatHints,
    schema: Option<SchemaRef>,
    progress: TerminalWhen,
    memory_bytes: u64,
    threads: usize,
    /// Threads that were asked for, until it is told that there are fewer.
    threads_asked: Option<usize>,
    limit: RecordLimit,
    scan: ScanSettings,
}

impl<'a> Convert<'a> {
    fn new(common: &Common, args: &'a ConvertArgs) -> Result<Self, String> {
        let memory_bytes = common.process.memory_bytes();
        let output = ConvertOutput::new(args)?;
        if args.schema.iter().chain(&args.files).filter(|path| path.as_os_str() == "-").count() > 1 {
            return Err("standard input is read once: '-' stands for one input, or for --schema".to_owned());
        }
        let schema = args.schema.as_deref().map(schema::read).transpose()?;
        // The columns come on top; here they are those of any schema.
        let none: SchemaRef = Arc::new(Schema::empty());
        let writer_bytes = |bytes, threads| output.settings(bytes).bytes(&none, threads);
        let usual = RecordLimit::of(&args.from)?;
        let fitting = |process: &ProcessArgs| limits_that_fit(process, usual, &args.files, memory_bytes, writer_bytes);
        // Of the threads that were asked for there are as many as have room.
        let fewer = || {
            let process = |threads| ProcessArgs { threads: Some(threads), ..common.process.clone() };
            (1..common.process.threads?).rev().find_map(|threads| fitting(&process(threads)).ok())
        };
        let (threads, limit) =
            fitting(&common.process).or_else(|error| fewer().ok_or(error)).map_err(|error| error.to_string())?;
        let scan = settings(common, limit, memory_bytes, threads);
        let (given, progress) = (given(&args.from)?, common.progress);
        let threads_asked = common.process.threads.map(usize::from);
        Ok(Self { args, output, given, schema, progress, memory_bytes, threads, threads_asked, limit, scan })
    }

    /// One pass, mostly; another for each time that some value has no column in the one before.
    fn all(&mut self) -> Result<ExitStatus, String> {
        let (mut sources, mut columns) = match self.sources() {
            // A head that a stop cut off tells no format, which is no fault of the input's.
            Err(_) if self.scan.control.stopped() => return Ok(self.stopped_early()),
            looked => looked?,
        };
        let _progress = Progress::start(self.progress, &self.scan.control, crate::input::stored_bytes(&self.args.files));
        loop {
            let schema = columns.schema()?;
            self.fit(&schema, &sources)?;
            match self.pass(&mut sources, &schema)? {
                PassEnd::Written(exit) => return Ok(exit),
                PassEnd::Misfit(later) => columns = columns.widened(later)?,
            }
        }
    }

    /// Ends a run that was stopped before its columns were known.
    fn stopped_early(&self) -> ExitStatus {
        let exit = interrupt::exit_of_nothing(&self.scan.control, ExitStatus::Done);
        self.say_not_written(if self.args.keep_partial { ": nothing came before" } else { KEEPS_PARTIAL });
        exit
    }

    fn say_not_written(&self, advice: &str) {
        message::note(&format!("{} is not written{advice}", self.output.name()));
    }

    /// Gives up threads for which there is no memory, now that the columns are known; of those that
    /// were asked for only where shorter records make no room, which is told.
    fn fit(&mut self, schema: &SchemaRef, sources: &[KnownInput]) -> Result<(), String> {
        let held = HeldInputs::of(sources);
        self.make_room(schema, &held);
        let sum = |limit, threads| self.budget(limit, schema, &held, threads);
        let fits = |limit, threads| sum(limit, threads).check().is_ok();
        let limit_of = |threads| match self.threads_asked {
            Some(_) => self.limit.fitting(|limit| fits(limit, threads)),
            None => self.limit,
        };
        let most = self.threads_asked.unwrap_or(self.threads);
        let fitting =
            (1..=most).rev().map(|threads| (threads, limit_of(threads))).find(|(threads, limit)| fits(*limit, *threads));
        let least = self.threads_asked.unwrap_or(1);
        let (threads, limit) = fitting.unwrap_or_else(|| (least, limit_of(least)));
        Budget::check_threads(threads, |threads| sum(limit, threads)).map_err(|error| error.to_string())?;
        let asked = self.threads_asked.filter(|asked| *asked > threads);
        let refused = asked.and_then(|asked| Some((asked, sum(limit_of(asked), asked).check().err()?)));
        if let Some((asked, refused)) = refused {
            let (memory, enough) = (format_size(self.memory_bytes), refused.least_bytes() >> 20);
            message::note(&format!(
                "--memory {memory} has room for {threads} of --threads {asked}, which work; --memory {enough}MiB has room for all"
            ));
            self.threads_asked = Some(threads);
        }
        let record_bytes_max = limit.bytes(self.memory_bytes);
        if (threads, record_bytes_max) != (self.threads, self.scan.record_bytes_max) {
            (self.threads, self.limit) = (threads, limit);
            self.scan.record_bytes_max = record_bytes_max;
            self.scan.pool = pool(record_bytes_max, threads);
        }
        Ok(())
    }

    /// Beside large pages that are read, what is written has smaller row groups, unless their size
    /// is given.
    fn make_room(&mut self, schema: &SchemaRef, held: &HeldInputs) {
        while held.large_page_bytes > 0
            && self.budget(self.limit, schema, held, 1).check().is_err()
            && self.output.halve_groups(self.memory_bytes)
        {}
    }

    fn pass(&self, sources: &mut [KnownInput], schema: &SchemaRef) -> Result<PassEnd, String> {
        let mut pass = ConvertPass::start(self, schema)?;
        for source in sources {
            if pass.goes_on() {
                pass.source(source)?;
            }
        }
        pass.finish()
    }

    /// The inputs, and the columns to begin with.
    fn sources(&self) -> Result<(Vec<KnownInput>, PassColumns), String> {
        let mut sources = Vec::new();
        for path in &self.args.files {
            sources.push(
                KnownInput::open(path.as_path().into(), &self.given, &self.scan, (self.memory_bytes, self.memory_bytes))?
                    .say_guesses(),
            );
            // The footers of all inputs are held.
            self.footers_fit(&sources)?;
        }
        if let Some(schema) = &self.schema {
            if let Some(log) = sources.iter().find(|source| source.schema().is_some()) {
                return Err(format!("--schema: {} says its columns itself", escaped_path(&log.path)));
            }
            return Ok((sources, PassColumns::Given(Shape::from_schema(schema).to_schema(true))));
        }
        if let Some(schema) = said_schema(&sources, self.args.from.conflicts)? {
            return Ok((sources, PassColumns::Given(schema)));
        }
        // Rows on standard output are gone, an index is of a column that is there, and a conflict
        // may come late.
        let whole = self.output.is_stream() || !self.args.index.is_empty() || self.args.from.conflicts == ConvertConflicts::Error;
        let extent = if whole { SampleExtent::Whole } else { SampleExtent::Prefix };
        let mut shape = Shape::default();
        let mut complete = true;
        for source in &mut sources {
            let (columns, stream) = look(source, &self.scan, self.threads, extent)?;
            // A stream is there for one pass.
            complete &= !stream || (columns.complete && self.args.files.len() == 1);
            shape.merge(columns.shape);
        }
        let widen = self.args.from.conflicts == ConvertConflicts::Widen;
        Ok((sources, PassColumns::Found { shape, rest: !complete, widen }))
    }

    /// Sum of the memory, for columns of that schema.
    fn budget(&self, limit: RecordLimit, schema: &SchemaRef, held: &HeldInputs, threads: usize) -> Budget {
        let columns = schema.flattened_fields().len();
        fitting::least(self.memory_bytes, |memory_bytes| {
            let writer_bytes = self.output.settings(memory_bytes).bytes(schema, threads);
            let writer = (format!("writer of {columns} columns (--row-group)"), writer_bytes);
            terms(limit, held, (self.memory_bytes, memory_bytes), threads, writer)
        })
    }

    fn footers_fit(&self, sources: &[KnownInput]) -> Result<(), String> {
        let held = HeldInputs::of(sources);
        let sum = |bytes| terms(self.limit, &held, (self.memory_bytes, bytes), 1, (String::new(), 0));
        if held.tables == 0 {
            return Ok(());
        }
        fitting::least(self.memory_bytes, sum).check().map_err(|error| error.to_string())
    }
}

/// Inputs, as far as they hold memory.
#[derive(Default)]
pub(crate) struct HeldInputs {
    records: usize,
    /// Number of record inputs that can't be opened again; the start of each is read ahead.
    streams: usize,
    tables: usize,
    /// Bytes of the largest pages of one input.
    large_page_bytes: u64,
    footer_bytes: u64,
}

impl HeldInputs {
    /// Before they are opened, as far as their names tell.
    fn expected(files: &[impl AsRef<Path>]) -> Self {
        let is_stored = |path: &Path| path.as_os_str() != "-" && path.is_file();
        let streams = files.iter().filter(|path| !is_stored(path.as_ref())).count();
        Self { records: files.len(), streams, ..Self::default() }
    }

    fn of(sources: &[KnownInput]) -> Self {
        let mut held = Self::default();
        for source in sources {
            match &source.content {
                InputContent::Records(_, stream) => {
                    held.records += 1;
                    held.streams += usize::from(stream.is_some());
                }
                InputContent::Table(table) => {
                    held.tables += 1;
                    held.footer_bytes += table.footer_bytes();
                    held.large_page_bytes = held.large_page_bytes.max(table.large_page_bytes());
                }
            }
        }
        held
    }
}

/// The columns that an input has, or its start, and whether it is a stream. An error in it will be
/// met again, after the rows before it.
fn look(source: &mut KnownInput, scan: &ScanSettings, threads: usize, extent: SampleExtent) -> Result<(Found, bool), String> {
    Ok(match &mut source.content {
        InputContent::Records(format, Some(stream)) => (scan.infer_ahead(stream, format, threads).0, true),
        InputContent::Records(format, None) => {
            let format = format.clone();
            (scan.infer(source.input()?, &format, threads, extent).0, false)
        }
        InputContent::Table(_) => (Found::default(), false),
    })
}

/// The columns that the start of an input has, or all of it where that is wanted and it is no
/// stream, with `_rest` for later values without one, where there may be some or `with_rest`.
pub(crate) fn columns_of(
    source: &mut KnownInput,
    scan: &ScanSettings,
    threads: usize,
    (extent, with_rest): (SampleExtent, bool),
) -> Result<SchemaRef, String> {
    match source.schema() {
        Some(schema) => Ok(schema),
        None => look(source, scan, threads, extent).map(|(found, _)| found.shape.to_schema(with_rest || !found.complete)),
    }
}

/// The columns of a pass.
enum PassColumns {
    /// By a schema, or by the formats.
    Given(SchemaRef),
    /// By the records that were seen.
    Found {
        shape: Shape,
        /// Not all was seen, or will be before it is converted: values without a column go to
        /// `_rest`.
        rest: bool,
        widen: bool,
    },
}

impl PassColumns {
    fn schema(&self) -> Result<SchemaRef, String> {
        match self {
            Self::Given(schema) => Ok(SchemaRef::clone(schema)),
            Self::Found { shape, rest, widen } => match shape.conflict().filter(|_| !widen) {
                Some(conflict) => Err(format!("{conflict}; --conflicts widen takes both as text")),
                None => Ok(shape.to_schema(*rest)),
            },
        }
    }

    fn widened(self, later: Shape) -> Result<Self, String> {
        const CHANGED: &str = "an input was changed while it was read: its columns are others now";
        let Self::Found { mut shape, rest, widen } = self else { return Err(CHANGED.to_owned()) };
        let before = shape.clone();
        shape.merge(later);
        if shape == before { Err(CHANGED.to_owned()) } else { Ok(Self::Found { shape, rest, widen }) }
    }
}

/// The columns, where the formats of all inputs say them: those that any has.
fn said_schema(sources: &[KnownInput], conflicts: ConvertConflicts) -> Result<Option<SchemaRef>, String> {
    let said: Vec<_> = sources.iter().filter_map(|source| Some((source.path.to_string_lossy(), source.schema()?))).collect();
    match said.len() {
        0 => Ok(None),
        1 if sources.len() == 1 => Ok(said.into_iter().next().map(|(_, schema)| schema)),
        all if all == sources.len() => {
            if conflicts == ConvertConflicts::Error {
                let schemas = said.iter().map(|(_, schema)| Schema::clone(schema));
                Schema::try_merge(schemas).map_err(|error| format!("{error}; --conflicts widen takes a type that has both"))?;
            }
            let merged = merge(said.iter().map(|(name, schema)| (&**name, SchemaRef::clone(schema))));
            merged.map(Some).map_err(|error| error.to_string())
        }
        _ => Err("access logs, files of columns and other inputs do not make one file".to_owned()),
    }
}

/// Settings for reading inputs, and the number of threads, which need `writer` bytes for their
/// output.
pub(crate) fn scan(
    common: &Common,
    args: &FromArgs,
    files: &[impl AsRef<Path>],
    memory_bytes: u64,
    writer: impl Fn(u64, usize) -> u64,
) -> Result<(usize, ScanSettings), String> {
    scan_limited(common, RecordLimit::of(args)?, files, memory_bytes, writer).map_err(|error| error.to_string())
}

/// The same with this longest record.
pub(crate) fn scan_limited(
    common: &Common,
    usual: RecordLimit,
    files: &[impl AsRef<Path>],
    memory_bytes: u64,
    writer: impl Fn(u64, usize) -> u64,
) -> Result<(usize, ScanSettings), BudgetError> {
    let (threads, limit) = limits_that_fit(&common.process, usual, files, memory_bytes, writer)?;
    Ok((threads, settings(common, limit, memory_bytes, threads)))
}

/// The number of threads, and the longest record, for which there is memory. Without `--threads`
/// there are as few as need be. With it records are shorter where they may be, so that a record
/// that is too long never depends on the cores of a machine.
fn limits_that_fit(
    process: &ProcessArgs,
    usual: RecordLimit,
    files: &[impl AsRef<Path>],
    memory_bytes: u64,
    writer: impl Fn(u64, usize) -> u64,
) -> Result<(usize, RecordLimit), BudgetError> {
    let held = HeldInputs::expected(files);
    let sum = |limit, threads| {
        fitting::least(memory_bytes, |bytes| {
            let writer = ("writer (--row-group)".to_owned(), writer(bytes, threads));
            terms(limit, &held, (memory_bytes, bytes), threads, writer)
        })
    };
    let limit = process.threads.map_or(usual, |_| {
        let threads = process.threads_or(usize::MAX);
        usual.fitting(|limit| sum(limit, threads).check().is_ok())
    });
    let threads = fitting::threads(process, |threads| sum(limit, threads))?;
    Ok((threads, limit))
}

fn settings(common: &Common, limit: RecordLimit, memory_bytes: u64, threads: usize) -> ScanSettings {
    let record_bytes_max = limit.bytes(memory_bytes);
    let pool = pool(record_bytes_max, threads);
    let control = Control::with_rate_limit(common.limit_rate);
    ScanSettings { pool, control, record_bytes_max, zstd_window_log_max: zstd_window_log_max(memory_bytes) }
}

fn pool(record_bytes_max: usize, threads: usize) -> BufferPool {
    BufferPool::new(buffer_bytes(record_bytes_max), buffers_needed(threads) + BUFFERS_BESIDE)
}

/// Memory that the reading of inputs leaves, with records of so many bytes.
pub(crate) fn rest_bytes(record_bytes_max: usize, sources: &[KnownInput], memory_bytes: u64, threads: usize) -> u64 {
    terms(
        RecordLimit::fixed(record_bytes_max),
        &HeldInputs::of(sources),
        (memory_bytes, memory_bytes),
        threads,
        (String::new(), 0),
    )
    .rest_bytes()
}

/// Memory that the reading of a file of columns leaves.
pub(crate) fn rest_bytes_of_table(table: &TableFile, memory_bytes: u64, threads: usize) -> u64 {
    let held = HeldInputs {
        tables: 1,
        large_page_bytes: table.large_page_bytes(),
        footer_bytes: table.footer_bytes(),
        ..HeldInputs::default()
    };
    terms(RecordLimit::fixed(0), &held, (memory_bytes, memory_bytes), threads, (String::new(), 0)).rest_bytes()
}

/// Sum of the memory, of which `given_bytes` was given and `memory_bytes` is shared out.
fn terms(
    limit: RecordLimit,
    held: &HeldInputs,
    (given_bytes, memory_bytes): (u64, u64),
    threads: usize,
    (writer, writer_bytes): (String, u64),
) -> Budget {
    let mut budget = Budget::new(given_bytes);
    budget.reserve("program", limits::PROGRAM_BYTES);
    budget.reserve(format!("{threads} threads"), threads as u64 * limits::THREAD_BYTES);
    if held.records > 0 {
        reserve_records(&mut budget, limit, held, memory_bytes, threads);
    }
    if held.tables > 0 {
        budget.reserve(format!("footers of {} files of columns", held.tables), held.footer_bytes);
        budget.reserve(
            "pages and rows that are read of one (an 8th of --memory each)",
            TableFile::reading_bytes(memory_bytes, held.large_page_bytes),
        );
    }
    if writer_bytes > 0 {
        budget.reserve(writer, writer_bytes);
    }
    budget
}

fn reserve_records(budget: &mut Budget, limit: RecordLimit, held: &HeldInputs, memory_bytes: u64, threads: usize) {
    let record_bytes_max = limit.bytes(memory_bytes);
    let buffers = buffers_needed(threads) + BUFFERS_BESIDE;
    budget.reserve(
        format!("{buffers} blocks, each with room for one record (--record-max)"),
        (buffers * buffer_bytes(record_bytes_max)) as u64,
    );
    budget.reserve("decoder", decoder_bytes(memory_bytes));
    // All are looked at before the first is read, which takes a copy of the start of one.
    let starts = (held.streams + 1) * PREFIX_BYTES;
    budget.reserve(format!("starts of {} streams, read ahead, and of what is looked at", held.streams), starts as u64);
    budget.reserve(format!("rows of {threads} workers (--record-max)"), threads as u64 * worker_bytes(record_bytes_max));
}

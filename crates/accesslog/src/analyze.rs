//! Runs inputs through an analysis: budget, format, workers, report.

use crate::Countries;
use crate::aggregate::{
    Analysis, ChunkNotes, FIXED_BYTES, HeldNotes, HitsAndBytes, InputPart, LogWorker, NoteKeeper, SpanFilter, TABLES_BYTES_MIN,
    TopRow, WORKER_BYTES,
};
use crate::filter::Filter;
use crate::format::{Detection, Field, ForeignContent, FormatError, LogFormat, Unknown, detect};
use crate::own::{OWN_NUMBERS_MAX, OWN_TEXTS_MAX, OwnColumns};
use crate::parse::relay::ColumnRelay;
use crate::recorder::Options;
use crate::report::{Guess, InputReport, LogReport, RunStats, files_panel};
use crate::setting::GEOIP;
use rorqual_pipe::decode::{decoder_bytes, zstd_window_log_max};
use rorqual_pipe::gather::Gather;
use rorqual_pipe::limits::{self, LINE_BYTES_MAX_DEFAULT, buffer_bytes, buffers_needed};
use rorqual_pipe::setting::LINE_MAX;
use rorqual_pipe::{
    Budget, BudgetError, BufferPool, Control, Error, ErrorClass, Framing, Input, Operation, ResumableRun, ResumePoint, RunPlan,
    run, stats,
};
use std::fmt;
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Settings of an analysis: its task, memory and formats.
#[derive(Debug, Clone)]
pub struct AnalyzeSettings {
    /// The memory of the whole process.
    pub memory_bytes: u64,
    /// Worker threads; `None` takes one a core, or as many as the memory has room for.
    pub threads: Option<usize>,
    /// Longest line that is parsed.
    pub line_bytes_max: usize,
    /// The lines that count.
    pub span: SpanFilter,
    /// The formats that come into question.
    pub formats: Formats,
    /// Buffers of the pool beside those of the run, for whoever fills blocks before the run takes
    /// them.
    pub feed_buffers: usize,
    /// The store of rows that takes the place of the tables of distinct values, if any.
    pub kept: Option<RowStoreShare>,
    /// Tells the countries of clients.
    pub countries: Option<Arc<Countries>>,
}

/// Memory of a store of rows that is kept instead of tables of distinct values.
#[derive(Debug, Clone, Copy)]
pub struct RowStoreShare {
    /// Its name in the sum that an error prints.
    pub what: &'static str,
    /// For each worker.
    pub worker_bytes: u64,
    /// Number of such stores, which share the remaining memory.
    pub parts: u64,
    /// Least for each of them.
    pub bytes_min: u64,
}

/// Formats that an input may have.
#[derive(Debug, Clone, Default)]
pub struct Formats {
    /// The format, when it is known.
    pub given: Option<LogFormat>,
    /// Formats to try before the well-known ones, such as those of a configuration file.
    pub candidates: Vec<LogFormat>,
}

impl Formats {
    /// The format of a text or of its name among those of a configuration; without it, these are
    /// candidates.
    ///
    /// # Errors
    /// When the text is no format.
    pub fn new(given: Option<&str>, named: Vec<(String, LogFormat)>) -> Result<Self, FormatError> {
        let Some(text) = given else {
            return Ok(Self { given: None, candidates: named.into_iter().map(|(_, format)| format).collect() });
        };
        let known = named.into_iter().find(|(name, _)| name == text).map(|(_, format)| format);
        let given = known.map_or_else(|| LogFormat::parse(text), Ok)?;
        Ok(Self { given: Some(given), candidates: Vec::new() })
    }
}

/// Memory of one analysis, and its shares.
#[derive(Debug, Clone, Copy)]
pub struct AnalysisShares {
    /// Worker threads.
    pub threads: usize,
    /// For the tables of distinct values, or the store instead of them.
    pub tables_bytes: u64,
    /// Inputs that may be read side by side.
    pub inputs: usize,
    line_bytes_max: usize,
    buffers: usize,
    zstd_window_log_max: u32,
}

impl AnalyzeSettings {
    /// Shares the memory out, for `analyses` of them at a time and `program_bytes` beside them. A
    /// number of threads that nobody asked for, and then the window that zstd may ask for, give way
    /// to the least that is needed.
    ///
    /// # Errors
    /// When there is too little; the error prints the sum.
    pub fn shares(&self, program_bytes: u64, analyses: u64) -> Result<AnalysisShares, BudgetError> {
        self.shares_beside(&[("program".to_owned(), program_bytes)], analyses, "")
    }

    /// The same as [`AnalyzeSettings::shares`], beside holders that are named one by one, and with
    /// `instead` as what the error advises other than more memory or fewer threads; nothing where
    /// it is empty.
    ///
    /// # Errors
    /// When there is too little; the error prints the sum.
    pub fn shares_beside(&self, beside: &[(String, u64)], analyses: u64, instead: &str) -> Result<AnalysisShares, BudgetError> {
        self.shares_of_inputs(1, beside, analyses, instead)
    }

    /// The same for one analysis that may read up to so many inputs side by side, as far as these
    /// leave most of the memory to the tables.
    ///
    /// # Errors
    /// When there is too little; the error prints the sum.
    pub fn shares_side_by_side(&self, inputs_max: usize, beside: &[(String, u64)]) -> Result<AnalysisShares, BudgetError> {
        self.shares_of_inputs(inputs_max, beside, 1, "")
    }

    /// Shares of an analysis in a part of the memory of a process, whose windows of zstd are those
    /// of the whole process: the same files can be read.
    ///
    /// # Errors
    /// When there is too little; the error prints the sum.
    pub fn shares_of_task(&self, process_bytes: u64, beside: &[(String, u64)]) -> Result<AnalysisShares, BudgetError> {
        let (budget, shares) = self.terms((self.threads_max(), process_bytes), 1, beside, 1, "");
        budget.check().map(|()| shares)
    }

    fn shares_of_inputs(
        &self,
        inputs_max: usize,
        beside: &[(String, u64)],
        analyses: u64,
        instead: &str,
    ) -> Result<AnalysisShares, BudgetError> {
        let threads_max = self.threads.unwrap_or_else(|| self.threads_fitting(analyses));
        let threads_min = self.threads.unwrap_or(1);
        let each = self.memory_bytes / analyses;
        let decoder_shares = std::iter::successors(Some(each), |share| {
            let smaller = share / 2;
            (zstd_window_log_max(smaller) < zstd_window_log_max(*share)).then_some(smaller)
        });
        let decoder_least = decoder_shares.clone().last().unwrap_or(each);
        // Threads that nobody asked for give way first, then the decoder's window.
        let mut choices = decoder_shares.flat_map(|share| (threads_min..=threads_max).rev().map(move |threads| (threads, share)));
        let terms = |choice| self.terms(choice, inputs_max, beside, analyses, instead);
        let found = choices.find_map(|choice| {
            let (budget, shares) = terms(choice);
            budget.check().is_ok().then_some(shares)
        });
        match found {
            Some(shares) => Ok(shares),
            None => Budget::check_threads(threads_min, |threads| terms((threads, decoder_least)).0)
                .map(|()| terms((threads_min, decoder_least)).1),
        }
    }

    /// The sum for a number of threads and a decoder's share of the memory, of which as much is
    /// shared out as there is.
    fn terms(
        &self,
        (threads, decoder_share): (usize, u64),
        inputs_max: usize,
        beside: &[(String, u64)],
        analyses: u64,
        instead: &str,
    ) -> (Budget, AnalysisShares) {
        let buffers = buffers_needed(threads) + self.feed_buffers;
        let buffer = buffer_bytes(self.line_bytes_max) as u64;
        let mut budget = Budget::new(self.memory_bytes);
        if !instead.is_empty() {
            budget.advise(instead);
        }
        budget.reserve(
            format!("database of countries ({GEOIP})"),
            self.countries.as_ref().map_or(0, |countries| countries.bytes()),
        );
        let times = if analyses == 1 { String::new() } else { format!("{analyses} x ") };
        beside.iter().for_each(|(holder, bytes)| budget.reserve(holder, *bytes));
        budget.reserve(format!("{times}{threads} threads"), analyses * threads as u64 * limits::THREAD_BYTES);
        budget.reserve(
            format!("{times}{buffers} blocks, each with room for one line ({LINE_MAX})"),
            analyses * buffers as u64 * buffer,
        );
        budget.reserve(format!("{times}decoder"), analyses * decoder_bytes(decoder_share));
        budget.reserve(format!("{times}{threads} workers' dictionaries"), analyses * threads as u64 * WORKER_BYTES);
        // The default is within the workers' room.
        let line_bytes = self.line_bytes_max.saturating_sub(LINE_BYTES_MAX_DEFAULT) as u64;
        if line_bytes > 0 {
            budget.reserve(
                format!("{times}{threads} workers' copies of a line whose escapes are undone ({LINE_MAX})"),
                analyses * threads as u64 * line_bytes,
            );
        }
        if self.kept.is_none() {
            budget.reserve(format!("{times}timeline, sums, samples"), analyses * FIXED_BYTES);
        }
        let (what, parts, least_bytes) = self
            .kept
            .map_or(("tables of distinct values", analyses, TABLES_BYTES_MIN), |kept| (kept.what, kept.parts, kept.bytes_min));
        if let Some(RowStoreShare { worker_bytes, .. }) = self.kept {
            budget.reserve(format!("{times}{threads} workers' {what}"), analyses * threads as u64 * worker_bytes);
        }
        // Rounding of the allocator, which nobody can name. Of the least that would do, where too
        // little was given.
        let least = budget.reserved_bytes() + parts * least_bytes;
        budget.reserve("a tenth, unassigned", (self.memory_bytes / 10).max(least / 9));
        let further_bytes_max = budget.rest_bytes().saturating_sub(parts * least_bytes) / FURTHER_INPUTS_SHARE;
        let (inputs, further_bytes) = self.inputs_fitting(inputs_max, threads, decoder_share, further_bytes_max);
        if inputs > 1 {
            budget.reserve(format!("blocks and decoders of {} further inputs at a time", inputs - 1), further_bytes);
        }
        let tables_bytes = (budget.rest_bytes() / parts).max(least_bytes);
        let times = if parts == 1 { String::new() } else { format!("{parts} x ") };
        budget.reserve(format!("{times}{what}"), parts * tables_bytes);
        let shares = AnalysisShares {
            threads,
            tables_bytes,
            inputs,
            line_bytes_max: self.line_bytes_max,
            buffers,
            zstd_window_log_max: zstd_window_log_max(decoder_share),
        };
        (budget, shares)
    }

    /// Number of inputs that may be read side by side, and memory of those beside the first: the
    /// most that so many or fewer of them take, since fewer have more workers each.
    fn inputs_fitting(&self, inputs_max: usize, threads: usize, decoder_share: u64, bytes_max: u64) -> (usize, u64) {
        let further_bytes = |inputs: usize| (inputs as u64 - 1) * self.further_input_bytes(threads / inputs, decoder_share);
        let most = |inputs: usize| (1..=inputs).map(further_bytes).max().unwrap_or(0);
        let fitting = (1..=inputs_max.min(threads)).rev().find(|inputs| most(*inputs) <= bytes_max).unwrap_or(1);
        (fitting, most(fitting))
    }

    /// Memory of an input that is read beside another by so many workers, without these.
    fn further_input_bytes(&self, threads: usize, decoder_share: u64) -> u64 {
        let buffers = buffers_needed(threads) as u64 * buffer_bytes(self.line_bytes_max) as u64;
        // The thread that decodes.
        buffers + decoder_bytes(decoder_share) + limits::THREAD_BYTES
    }

    /// Worker threads at most.
    #[must_use]
    pub fn threads_max(&self) -> usize {
        self.threads.unwrap_or_else(cores)
    }

    fn threads_fitting(&self, analyses: u64) -> usize {
        let kept = self.kept.map_or(0, |kept| kept.worker_bytes);
        let each = WORKER_BYTES + kept + limits::THREAD_BYTES + 4 * buffer_bytes(self.line_bytes_max) as u64;
        let fitting = (self.memory_bytes / 2 / analyses / each) as usize;
        cores().min(fitting).max(1)
    }
}

/// Share of the memory of the tables that inputs beside the first may take.
const FURTHER_INPUTS_SHARE: u64 = 4;

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl AnalysisShares {
    /// A pool for one run.
    #[must_use]
    pub fn pool(&self) -> BufferPool {
        self.pool_of(self.buffers)
    }

    fn pool_of(&self, buffers: usize) -> BufferPool {
        BufferPool::new(buffer_bytes(self.line_bytes_max), buffers)
    }

    /// Worker threads of each of `inputs` that are read side by side.
    fn threads_each(&self, inputs: usize) -> usize {
        (self.threads / inputs.max(1)).max(1)
    }
}

/// Reason for which an input could not be analysed at all. The way to give a format is the caller's
/// to say, in a line after it.
#[derive(Debug)]
pub enum AnalyzeError {
    /// Nobody knows its format.
    UnknownFormat {
        /// The input's name.
        name: String,
        /// Its first lines.
        unknown: Unknown,
    },
}

impl fmt::Display for AnalyzeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::UnknownFormat { name, unknown } = self;
        if let Some(foreign) = &unknown.foreign {
            write!(f, "{name}: this is {foreign}, and no access log. {}", foreign.way_on(name, "logs"))?;
            let is_text = matches!(foreign, ForeignContent::Text(_));
            return unknown.lines.iter().filter(|_| is_text).take(1).try_for_each(|line| write!(f, "\n  It starts with: {line}"));
        }
        if unknown.lines.is_empty() {
            return write!(f, "{name}: there are blank lines and nothing else");
        }
        write!(f, "{name}: this is in none of the known log formats. It starts with:")?;
        unknown.lines.iter().try_for_each(|line| write!(f, "\n  {line}"))
    }
}

impl std::error::Error for AnalyzeError {}

/// Inputs run through one analysis, one after another.
pub struct Analyzer {
    analysis: Arc<Analysis>,
    shares: AnalysisShares,
    plan: RunPlan,
    pool: BufferPool,
    formats: Formats,
    options: Options,
    /// The own columns of all inputs, where no recording has them.
    own: Arc<OwnColumns>,
    /// Counted lines of each file and their bytes, where there are several and nothing records
    /// them.
    files: Mutex<Vec<TopRow>>,
    memory_bytes: u64,
    start: Instant,
}

/// Blocks and workers of one of the inputs that are read side by side.
pub struct InputLane {
    pool: BufferPool,
    threads: usize,
}

/// The end of the run over one input.
pub struct RunEnd {
    /// The input, as the report lists it.
    pub source: InputReport,
    /// The error that ended it early; the lines before it are in the analysis.
    pub error: Option<Error>,
    /// Offset of its clock in seconds east of UTC, by its first line that counts and has a time.
    pub zone_seconds: Option<i32>,
    /// Its format after the last line.
    pub format: Option<LogFormat>,
    counted: HitsAndBytes,
    held: HeldNotes,
}

impl RunEnd {
    /// The end of an input of which this is the first part that other processes ran.
    #[must_use]
    pub fn of_part(part: InputPart) -> Self {
        let InputPart { source, zone_seconds, counted, held, .. } = part;
        Self { source, error: None, zone_seconds, format: None, counted, held }
    }

    /// Adds the part after those so far.
    pub fn take_part(&mut self, part: InputPart) {
        let InputPart { source, zone_seconds, counted, held, .. } = part;
        self.held.append(held.after(self.source.lines));
        self.source.bytes = self.source.bytes.saturating_add(source.bytes);
        self.source.lines = self.source.lines.saturating_add(source.lines);
        self.source.error = self.source.error.take().or(source.error);
        self.zone_seconds = self.zone_seconds.or(zone_seconds);
        self.counted.add(counted);
    }
}

/// A run of one input among others.
struct RunSetup<'a> {
    pool: &'a BufferPool,
    threads: usize,
    /// Others are read at the same time.
    is_in_lane: bool,
    /// Lines before its start, and the format that it has by then.
    after: (u64, Option<LogFormat>),
}

impl Analyzer {
    /// An analyzer with the memory of `shares`, whose workers do what `options` say. Memory of what
    /// a recording holds is not in the shares.
    #[must_use]
    pub fn new(settings: &AnalyzeSettings, shares: AnalysisShares, options: Options) -> Self {
        let (span, countries) = (settings.span, settings.countries.clone());
        let analysis = match options.untallied {
            true => Analysis::untallied(span, countries),
            false => Analysis::new(shares.tables_bytes, span, countries),
        };
        let analysis = match options.estimates_seed {
            Some(seed) => analysis.estimating_by(seed),
            None => analysis,
        };
        Self {
            analysis: Arc::new(analysis),
            shares,
            plan: RunPlan {
                framing: Framing::LogLines { line_bytes_max: settings.line_bytes_max },
                zstd_window_log_max: shares.zstd_window_log_max,
            },
            pool: shares.pool(),
            formats: settings.formats.clone(),
            options,
            own: Arc::new(OwnColumns::new(&[], OWN_TEXTS_MAX, OWN_NUMBERS_MAX)),
            files: Mutex::default(),
            memory_bytes: settings.memory_bytes,
            start: Instant::now(),
        }
    }

    /// The analysis so far; can be read during a run.
    #[must_use]
    pub fn analysis(&self) -> &Arc<Analysis> {
        &self.analysis
    }

    /// The pool that all blocks are leased from.
    #[must_use]
    pub fn pool(&self) -> &BufferPool {
        &self.pool
    }

    /// Worker threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.shares.threads
    }

    /// Runs one input through the analysis. `found` hears the format before the first line is
    /// parsed, with the lines it was found by; rejected lines go to `rejects`, whole and in order.
    ///
    /// # Errors
    /// When the format is unknown. Any later error is in [`RunEnd`], with what was analysed before
    /// it.
    pub fn run<W: Write + Send>(
        &self,
        input: Input,
        control: &Control,
        found: impl FnOnce(&Detection, &[u8]),
        rejects: Option<&mut Gather<W>>,
    ) -> Result<RunEnd, AnalyzeError> {
        self.run_after((0, None), input, control, found, rejects)
    }

    /// The same of an input that goes on after so many lines, in the format that it has by then.
    ///
    /// # Errors
    /// As [`Analyzer::run`].
    pub fn run_after<W: Write + Send>(
        &self,
        after: (u64, Option<LogFormat>),
        input: Input,
        control: &Control,
        found: impl FnOnce(&Detection, &[u8]),
        rejects: Option<&mut Gather<W>>,
    ) -> Result<RunEnd, AnalyzeError> {
        let setup = RunSetup { pool: &self.pool, threads: self.shares.threads, is_in_lane: false, after };
        let ended = self.run_input(&setup, input, control, found, rejects)?;
        self.count_file(&ended);
        Ok(ended)
    }

    /// Number of inputs that may be read side by side.
    #[must_use]
    pub fn inputs_max(&self) -> usize {
        self.shares.inputs
    }

    /// Blocks and workers for inputs that are read side by side: as many as there are, and as the
    /// shares allow.
    #[must_use]
    pub fn lanes(&self, inputs: usize) -> Vec<InputLane> {
        let count = inputs.min(self.shares.inputs).max(1);
        let threads = self.shares.threads_each(count);
        let lane = |number: usize| {
            let pool = if number == 0 { self.pool.clone() } else { self.shares.pool_of(buffers_needed(threads)) };
            InputLane { pool, threads }
        };
        (0..count).map(lane).collect()
    }

    /// Runs one input in a lane, while others run in theirs. Its samples and its clock are in no
    /// report before [`Analyzer::take_in_turn`].
    ///
    /// # Errors
    /// As [`Analyzer::run`].
    pub fn run_in_lane(
        &self,
        lane: &InputLane,
        input: Input,
        control: &Control,
        found: impl FnOnce(&Detection, &[u8]),
    ) -> Result<RunEnd, AnalyzeError> {
        let setup = RunSetup { pool: &lane.pool, threads: lane.threads, is_in_lane: true, after: (0, None) };
        self.run_input(&setup, input, control, found, None::<&mut Gather<std::io::Sink>>)
    }

    /// Takes the samples and the clock of an input that ran in a lane: the inputs have an order,
    /// whichever ended first.
    pub fn take_in_turn(&self, ended: &mut RunEnd) {
        self.analysis.take_held(std::mem::take(&mut ended.held), ended.zone_seconds);
        self.count_file(ended);
    }

    /// The format by which any part of an input is read that begins so; `None` where parts can't be
    /// read apart: nothing tells the format, or lines say that of those after them.
    #[must_use]
    pub fn format_of_parts(&self, head: &[u8]) -> Option<LogFormat> {
        let is_text = head.contains(&b'\n');
        self.format_of(head).filter(|format| is_text && !format.is_said_by_lines())
    }

    /// Runs a part of an input, or all of it, for another process, with the number of the input
    /// there. `input` is the part [within](Input::within) its range; the format is known where it
    /// is not the first.
    ///
    /// # Errors
    /// When reading fails, or meets a limit of this process. Whatever is wrong with the bytes is
    /// told by the part.
    pub fn run_part(&self, number: u64, format: Option<LogFormat>, input: Input, control: &Control) -> Result<InputPart, Error> {
        let name = input.name().to_owned();
        let mut head = None;
        let is_bounded = self.analysis.span().is_bounded();
        let found = |detection: &Detection, lines: &[u8]| {
            let is_timeless = is_bounded && !detection.format.has(Field::Time);
            if !detection.sure || detection.unread.is_some() || is_timeless {
                head = Some(lines.to_vec());
            }
        };
        let setup = RunSetup { pool: &self.pool, threads: self.shares.threads, is_in_lane: true, after: (0, format) };
        let ran = self.run_input(&setup, input, control, found, None::<&mut Gather<std::io::Sink>>);
        let (source, lacks_format, ended) = match ran {
            Ok(RunEnd { error: Some(error), .. })
                if matches!(error.kind(), ErrorClass::Io | ErrorClass::Limit | ErrorClass::Stopped) =>
            {
                return Err(error);
            }
            Ok(ended) => (ended.source.clone(), false, Some(ended)),
            Err(error) => {
                let AnalyzeError::UnknownFormat { unknown, .. } = &error;
                let lacks_format = unknown.lacks_format();
                let error = Some(error.to_string());
                (InputReport { name, format: None, guess: None, bytes: 0, lines: 0, error }, lacks_format, None)
            }
        };
        let zone_seconds = ended.as_ref().and_then(|ended| ended.zone_seconds);
        let counted = ended.as_ref().map(|ended| ended.counted).unwrap_or_default();
        let held = ended.map(|ended| ended.held).unwrap_or_default();
        Ok(InputPart { number, source, lacks_format, head, zone_seconds, counted, held })
    }

    fn run_input<W: Write + Send>(
        &self,
        setup: &RunSetup<'_>,
        input: Input,
        control: &Control,
        found: impl FnOnce(&Detection, &[u8]),
        rejects: Option<&mut Gather<W>>,
    ) -> Result<RunEnd, AnalyzeError> {
        let operation = Operation::start("logs");
        let name = input.name().to_owned();
        let control = control.of_input();
        let keep_rejects = rejects.is_some();
        let (lines, format) = setup.after.clone();
        let mut keeper = NoteKeeper::new(&name, &self.analysis, rejects).after(lines).holding(setup.is_in_lane);
        let mut known = KnownFormat { format, ..KnownFormat::default() };
        let input = if self.formats.given.is_some() { input } else { input.after_long_line() };
        let mut refused = None;
        let start = |head: &[u8]| {
            let format = known.format(head, |head| self.detect(head), found)?;
            self.workers(&name, format, keep_rejects, setup.threads).map_err(|error| refused = Some(error)).ok()
        };
        let finish = run(input, &self.plan, setup.pool, &control, start, |notes: ChunkNotes| keeper.take(notes));
        let format_after = finish.stages.first().and_then(LogWorker::format_after);
        finish.stages.into_iter().for_each(LogWorker::finish);
        let error = finish.error.or(refused);
        operation.bytes(control.decoded_bytes());
        if let (Some(unknown), None) = (known.unknown.take(), &error) {
            operation.failed("unknown_format");
            return Err(AnalyzeError::UnknownFormat { name, unknown });
        }
        operation.ended(error.as_ref());
        let source = InputReport {
            name,
            guess: known.guess,
            format: known.format.as_ref().map(|format| format.name().to_owned()),
            bytes: control.decoded_bytes(),
            lines: keeper.lines(),
            error: error.as_ref().map(ToString::to_string),
        };
        let (zone_seconds, counted) = (keeper.zone_seconds(), keeper.counted());
        let format = format_after.or(known.format);
        Ok(RunEnd { source, error, zone_seconds, format, counted, held: keeper.into_held() })
    }

    /// Opens a stream that is analysed by turns, from its start on or from where it was left. What
    /// is decoded of it is in blocks of `pool`.
    #[must_use]
    pub fn open(&self, input: Input, pool: &BufferPool, control: &Control, left: Option<SuspendedInput>) -> LogRun {
        let name = input.name().to_owned();
        let input = if self.formats.given.is_some() { input } else { input.after_long_line() };
        let course = ResumableRun::new(input, &self.plan, pool, control);
        match left {
            None => LogRun { name, course, known: KnownFormat::default(), lines: 0 },
            Some(SuspendedInput { place, lines, format }) => {
                let known = KnownFormat { format, ..KnownFormat::default() };
                LogRun { name, course: course.at(place), known, lines }
            }
        }
    }

    /// Runs a stream to its next pause or to its end, with `threads` workers; a single one on the
    /// calling thread. All that came with whole lines is in the analysis after it, and workers
    /// hold nothing.
    ///
    /// # Errors
    /// When the format is unknown, which ends it.
    pub fn run_slice(
        &self,
        reading: &mut LogRun,
        threads: usize,
        control: &Control,
        found: impl FnOnce(&Detection, &[u8]),
    ) -> Result<SliceEnd, AnalyzeError> {
        let LogRun { name, course, known, lines } = reading;
        let mut keeper = NoteKeeper::<std::io::Sink>::new(name, &self.analysis, None).after(*lines);
        course.in_place(threads == 1);
        let mut refused = None;
        let start = |head: &[u8]| {
            let format = known.format(head, |head| self.detect(head), found)?;
            self.workers(name, format, false, threads).map_err(|error| refused = Some(error)).ok()
        };
        let finish = course.run(control, start, |notes: ChunkNotes| keeper.take(notes));
        if let Some(format) = finish.stages.first().and_then(LogWorker::format_after) {
            known.format = Some(format);
        }
        finish.stages.into_iter().for_each(LogWorker::finish);
        *lines = keeper.lines();
        match (known.unknown.take(), finish.error.or(refused)) {
            (Some(unknown), None) => Err(AnalyzeError::UnknownFormat { name: name.clone(), unknown }),
            (_, Some(error)) => Ok(SliceEnd::Failed(error)),
            (None, None) if course.ended() || control.stopped() => Ok(SliceEnd::Ended),
            (None, None) => Ok(SliceEnd::Paused),
        }
    }

    /// Lets go of the memory that only a run needs: the tables of distinct values and the free
    /// blocks.
    pub fn release(&self) {
        self.analysis.release_tables();
        self.pool.release_free();
    }

    /// The report of everything run so far.
    #[must_use]
    pub fn report(&self, sources: Vec<InputReport>, complete: bool, top: usize) -> LogReport {
        let stats = self.stats(&sources);
        let mut report = LogReport::new(&self.analysis, sources, complete, top, stats);
        report.panels.extend(files_panel(&self.files.lock().unwrap_or_else(PoisonError::into_inner), top));
        report
    }

    /// Notes the lines of a file that count, and their bytes.
    fn count_file(&self, ended: &RunEnd) {
        if !self.options.of_files || self.options.untallied {
            return;
        }
        let row = TopRow { key: ended.source.name.as_bytes().to_vec(), amount: ended.counted, missed: 0 };
        self.files.lock().unwrap_or_else(PoisonError::into_inner).push(row);
    }

    /// Statistics of the run over `sources` so far.
    #[must_use]
    pub fn stats(&self, sources: &[InputReport]) -> RunStats {
        let bytes = sources.iter().map(|source| source.bytes).sum();
        let seconds = self.start.elapsed().as_secs_f64();
        RunStats {
            seconds,
            bytes,
            bytes_per_second: bytes as f64 / seconds.max(1e-9),
            threads: self.shares.threads,
            memory_max_bytes: self.memory_bytes,
            peak_bytes: stats::peak_bytes(),
        }
    }

    /// The start of a stream, of which these are the first bytes as stored: decoded, in UTF-8, at
    /// most a block.
    #[must_use]
    pub fn start_of(&self, stored: Vec<u8>, pool: &BufferPool) -> Vec<u8> {
        let mut start = Vec::new();
        let take = |head: &[u8]| {
            start = head.to_vec();
            None::<Vec<LogWorker>>
        };
        let input = Input::from_reader("", Box::new(Cursor::new(stored))).into_utf8();
        run(input, &self.plan, pool, &Control::default(), take, |_| Ok(()));
        start
    }

    /// The format of an input that begins so, where it is known.
    #[must_use]
    pub fn format_of(&self, head: &[u8]) -> Option<LogFormat> {
        self.detection(head).map(|detection| detection.format)
    }

    /// The same with its fit.
    #[must_use]
    pub fn detection(&self, head: &[u8]) -> Option<Detection> {
        self.detect(whole_lines(head)).ok()
    }

    fn detect(&self, head: &[u8]) -> Result<Detection, Unknown> {
        match &self.formats.given {
            Some(format) => match ForeignContent::of_bytes(head) {
                // Whatever format is given, a file that has others in it is not in it.
                Some(foreign) => Err(Unknown { lines: Vec::new(), foreign: Some(foreign) }),
                None => Ok(Detection { format: format.sampled(head), lines: 0, sound: 0, sure: true, unread: None }),
            },
            None => detect(head, &self.formats.candidates),
        }
    }

    /// Workers for an input.
    ///
    /// # Errors
    /// When the filter names a column that the input does not have.
    fn workers(&self, name: &str, format: &LogFormat, keep_rejects: bool, threads: usize) -> Result<Vec<LogWorker>, Error> {
        let Framing::LogLines { line_bytes_max } = self.plan.framing else { return Ok(Vec::new()) };
        let recording = self.options.recording.as_ref();
        let recorders = recording.map(|recording| recording.recorders(name, format, threads));
        let own = recording.and_then(|recording| recording.own()).unwrap_or_else(|| Arc::clone(&self.own));
        own.add_all(format.variables());
        let only = self.only(name, &own)?;
        let is_asked = recording.is_some() || only.as_ref().is_some_and(|only| only.names_own());
        let mut recorders = recorders.into_iter().flatten();
        let relay = ColumnRelay::of(format);
        let file: Arc<str> = if self.options.of_files { name.into() } else { Arc::default() };
        let worker = |_| {
            let worker = LogWorker::new(&self.analysis, format, line_bytes_max as u64, keep_rejects);
            let own = Some(&own).filter(|_| is_asked);
            let worker = worker.relayed(format, relay.as_ref()).with(&self.options, only.as_ref(), own, recorders.next());
            worker.of_file(&file)
        };
        Ok((0..threads).map(worker).collect())
    }

    /// The filter of the lines that count, by the columns of the input.
    fn only(&self, name: &str, own: &OwnColumns) -> Result<Option<Arc<Filter>>, Error> {
        let Some(only) = &self.options.only else { return Ok(None) };
        only.of(own).map(|filter| Some(Arc::new(filter))).map_err(|error| Error::new(ErrorClass::Mismatch, name, error))
    }
}

/// An input that is analysed by turns.
pub struct LogRun {
    name: String,
    course: ResumableRun,
    known: KnownFormat,
    /// Lines so far.
    lines: u64,
}

/// The end of a slice.
#[derive(Debug)]
pub enum SliceEnd {
    /// There is more to come.
    Paused,
    /// Everything was analysed, or it was stopped.
    Ended,
    /// This ended it early; what came before is in the analysis.
    Failed(Error),
}

/// State with which an input resumes that was left between two slices.
#[derive(Debug, Clone)]
pub struct SuspendedInput {
    /// From where its bytes are needed.
    pub place: ResumePoint,
    /// Lines before that.
    pub lines: u64,
    /// Its format, once it is known.
    pub format: Option<LogFormat>,
}

impl LogRun {
    /// The state to resume it with.
    #[must_use]
    pub fn left(&self) -> SuspendedInput {
        SuspendedInput { place: self.course.place(), lines: self.lines, format: self.known.format.clone() }
    }

    /// Bytes that it holds, of an unfinished line, and that are not in the analysis.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.course.held_bytes()
    }

    /// Forgets what it holds: its source goes on at the place where it is left. How many bytes come
    /// again.
    pub fn rewind(&mut self) -> u64 {
        self.course.rewind()
    }
}

/// The format of an input, once it is known.
#[derive(Default)]
struct KnownFormat {
    format: Option<LogFormat>,
    guess: Option<Guess>,
    unknown: Option<Unknown>,
}

impl KnownFormat {
    /// The format, which is told by `head` where it is not known yet; `None` where nobody knows it,
    /// or nothing came.
    fn format(
        &mut self,
        head: &[u8],
        detect: impl FnOnce(&[u8]) -> Result<Detection, Unknown>,
        found: impl FnOnce(&Detection, &[u8]),
    ) -> Option<&LogFormat> {
        if self.format.is_none() && !head.is_empty() {
            match detect(head) {
                Ok(detection) => {
                    found(&detection, whole_lines(head));
                    self.guess = Guess::new(&detection);
                    self.format = Some(detection.format);
                }
                Err(unknown) => self.unknown = Some(unknown),
            }
        }
        self.format.as_ref()
    }
}

/// The part of `head` that is whole lines; all of it where it has no newline.
fn whole_lines(head: &[u8]) -> &[u8] {
    memchr::memrchr(b'\n', head).map_or(head, |newline| &head[..=newline])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fewer inputs have more workers each, and so may take more blocks.
    #[test]
    fn inputs_beside_the_first_have_the_memory_of_any_number_of_them() {
        let settings = AnalyzeSettings {
            memory_bytes: 1 << 30,
            threads: Some(16),
            line_bytes_max: 16 << 20,
            span: SpanFilter::default(),
            formats: Formats::default(),
            feed_buffers: 1,
            kept: None,
            countries: None,
        };
        let decoder_share = 1 << 30;
        let input_bytes = |threads| settings.further_input_bytes(threads, decoder_share);
        assert!(7 * input_bytes(2) > 8 * input_bytes(1), "8 inputs take more than 9 do");
        let fitting = |inputs, bytes_max| settings.inputs_fitting(inputs, 16, decoder_share, bytes_max);
        assert_eq!(fitting(9, u64::MAX), (9, 7 * input_bytes(2)));
        assert_eq!(fitting(9, 7 * input_bytes(2) - 1).0, 7);
        assert_eq!(fitting(9, 0), (1, 0));
        assert_eq!(fitting(1, u64::MAX), (1, 0));
    }
}

//! `rorqual grep`

mod block;
mod inputs;
mod json;
mod operands;
mod ordered_output;
mod printer;
mod program;
mod replacement;
mod selection;
mod side_by_side;
mod text;
mod whole;

use crate::args::{Common, GrepArgs, Sort, TerminalWhen};
use crate::exit::ExitStatus;
use crate::fitting;
use crate::interrupt;
use crate::message;
use crate::progress::Progress;
use crate::shared_offset::SharedOffset;
use inputs::{Inputs, NamedInput};
use operands::Operands;
use printer::MatchPrinter;
use program::ProgramNeeds;
use rorqual_pipe::decode::{decoder_bytes, zstd_window_log_max};
use rorqual_pipe::limits::{self, WINDOW_PER_WORKER, buffer_bytes, buffers_needed};
use rorqual_pipe::{Budget, BufferPool, Control, Error, ErrorClass, Framing, Input, Operation, RunPlan};
use rorqual_search::limits::{
    CONTEXT_SHARE, HITS_MAX, PROGRAM_BYTES_MIN, WINDOW_BYTES, cache_bytes_max, held_bytes_max, multiline_bytes_max,
    sort_bytes_max,
};
use rorqual_search::{
    CaseMatching, Expression, HitRange, LineEnd, PatternError, ReportSettings, RereadInput, SearchMode, SearchPattern,
    SearchReport, Searcher, Summary, search_text,
};
use selection::SelectionFlags;
use side_by_side::alike;
use std::fmt::Display;
use std::io::{self, IsTerminal};
use std::time::Instant;
use text::shown_name;

/// The longest `--line-max`, in bytes.
const LINE_BYTES_MAX: u64 = 1 << 30;

/// Buffers beside those of a run: output, an over-long line's head, and reading it again.
const BUFFERS_BESIDE: usize = 3;

/// Output for each input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GrepOutput {
    Lines,
    Json,
    Count,
    NamesWith,
    NamesWithout,
    Nothing,
}

impl GrepOutput {
    fn of(args: &GrepArgs) -> Self {
        match args {
            GrepArgs { quiet: true, .. } => Self::Nothing,
            GrepArgs { json: true, .. } => Self::Json,
            // As grep: names tell more than counts.
            GrepArgs { files_with_matches: true, .. } => Self::NamesWith,
            GrepArgs { files_without_match: true, .. } => Self::NamesWithout,
            GrepArgs { count: true, .. } => Self::Count,
            _ => Self::Lines,
        }
    }

    /// Mode of the searchers. A count that stops early needs the place of its last line, which a
    /// search of a whole text always knows.
    fn mode_of(self, args: &GrepArgs, operands: &Operands, expression: &Expression) -> SearchMode {
        let stops = self == Self::Count && args.max_count.is_some() && operands.paths.iter().any(|path| path.as_os_str() == "-");
        if stops && !expression.is_multiline() { SearchMode::Lines } else { self.mode() }
    }

    fn mode(self) -> SearchMode {
        if matches!(self, Self::Lines | Self::Json) { SearchMode::Lines } else { SearchMode::Count }
    }

    /// True where one selected line decides.
    fn is_yes_or_no(self) -> bool {
        matches!(self, Self::NamesWith | Self::NamesWithout | Self::Nothing)
    }
}

pub(crate) fn run(common: &Common, args: &GrepArgs) -> ExitStatus {
    let start = Instant::now();
    let control = Control::with_rate_limit(common.limit_rate);
    interrupt::stop_on_interrupt(&control);
    let (search, mut lane, mut results) = match SearchPlan::new(common, args, &control) {
        Ok(made) => made,
        Err(_) if control.stopped() => return interrupt::exit_of_nothing(&control, ExitStatus::Done),
        Err(error) => return message::error(&error),
    };
    let printed = search.all(args, &mut lane, &mut results);
    if common.process.stats {
        crate::stats::print(start, search.memory_bytes, search.threads, &search.control, &search.pool);
    }
    match printed {
        // A closed pipe is the reader's way of saying enough.
        Err(error) if error.kind() == ErrorClass::Stopped => interrupt::exit_of_closed(),
        Err(error) => message::error(&error),
        Ok(()) => interrupt::exit_of(&search.control, results.exit(&lane.printer)),
    }
}

/// A search as the arguments mean it.
struct SearchPlan {
    output: GrepOutput,
    settings: ReportSettings,
    searcher: Searcher,
    operands: Operands,
    selection: SelectionFlags,
    /// After so many selected lines of standard input, what follows is left to who reads it next.
    leaves_rest: bool,
    line_buffered: bool,
    /// UTF-16 is read as text.
    decoded: bool,
    /// Matches may go on over the ends of lines: the longest text that is held for them.
    whole_bytes_max: Option<u64>,
    progress: TerminalWhen,
    /// Names are printed with lines.
    names: bool,
    memory_bytes: u64,
    threads: usize,
    /// Most compressed files that are searched side by side.
    lanes_max: usize,
    plan: RunPlan,
    pool: BufferPool,
    control: Control,
}

/// An input's own part of a search: its pattern, which knows over-long lines, its printer, and its
/// buffers.
struct SearchLane {
    expression: Expression,
    printer: MatchPrinter,
    pool: BufferPool,
}

/// A search of one input that has ended.
struct SearchEnd {
    name: Vec<u8>,
    shown: String,
    error: Option<Error>,
    ended: Result<Summary, Error>,
}

impl SearchPlan {
    fn new(common: &Common, args: &GrepArgs, control: &Control) -> Result<(Self, SearchLane, Results), String> {
        let output = GrepOutput::of(args);
        let memory_bytes = common.process.memory_bytes();
        refuse(args)?;
        let mut operands = Operands::read(args, memory_bytes, control)?;
        let selection = SelectionFlags::new(args, memory_bytes)?;
        let around = output.mode() == SearchMode::Lines && [args.context, args.before_context, args.after_context] != [None; 3];
        let lines = |given: Option<usize>| if around { given.or(args.context).unwrap_or(0) } else { 0 };
        let (before, after) = (lines(args.before_context), lines(args.after_context));
        let line_bytes_max = match args.line_max {
            1..=LINE_BYTES_MAX => args.line_max as usize,
            other => return Err(format!("--line-max {other} is not between 1 byte and 1 GiB")),
        };
        let pattern = pattern(args, std::mem::take(&mut operands.patterns), memory_bytes);
        let window = args.only_matching || args.json;
        let sorted = args.sort == Sort::Path;
        let program = ProgramNeeds::of(&pattern);
        let needs = Needs { program, memory_bytes, line_bytes_max, before, window, multiline: args.multiline, sorted };
        let CompiledPattern { expression, threads, lanes_max } = compile(common, needs, pattern, &operands)?;
        let searcher = Searcher {
            matcher: expression.matcher(),
            mode: output.mode_of(args, &operands, &expression),
            invert: args.invert_match,
            numbered: output.mode() == SearchMode::Lines && (args.line_number || args.column || args.json),
            around: before > 0 || after > 0,
            terminator: if args.null_data { 0 } else { b'\n' },
            // Where NULs end lines, they are no sign of anything.
            skip_binary: args.skip_binary && !args.null_data,
        };
        let pool = BufferPool::new(buffer_bytes(line_bytes_max), buffers_needed(threads) + BUFFERS_BESIDE);
        let many = operands.paths.len() > 1 || selection.recursive && operands.paths.iter().any(|path| path.is_dir());
        let names = !args.no_filename && (args.with_filename || many);
        let printer = MatchPrinter::new(output, args, &expression, (&pool, control), names).map_err(|error| error.to_string())?;
        let selected_max = args.max_count.unwrap_or(u64::MAX).min(if output.is_yes_or_no() { 1 } else { u64::MAX });
        let framing = if args.null_data { Framing::NulLines { line_bytes_max } } else { Framing::Lines { line_bytes_max } };
        let search = Self {
            output,
            settings: ReportSettings {
                around,
                before,
                after,
                selected_max,
                eager: args.only_matching && !args.invert_match && !around && output == GrepOutput::Lines,
                context_bytes_max: usize::try_from(memory_bytes / CONTEXT_SHARE).unwrap_or(usize::MAX),
            },
            searcher,
            operands,
            selection,
            leaves_rest: args.max_count.is_some() && !output.is_yes_or_no(),
            line_buffered: args.line_buffered,
            decoded: operands::decodes(args),
            whole_bytes_max: expression.is_multiline().then(|| multiline_bytes_max(memory_bytes)),
            progress: progress(common, output),
            names,
            memory_bytes,
            threads,
            lanes_max,
            plan: RunPlan { framing, zstd_window_log_max: zstd_window_log_max(memory_bytes) },
            pool,
            control: control.clone(),
        };
        let lane = SearchLane { expression, printer, pool: search.pool.clone() };
        let (null, no_messages) = (args.null, args.no_messages);
        Ok((search, lane, Results { output, names, null, no_messages, selected_any: false, failed: false }))
    }

    /// Searches all inputs; an error is one of the output.
    fn all(&self, args: &GrepArgs, lane: &mut SearchLane, results: &mut Results) -> Result<(), Error> {
        // As GNU grep: with no line to select none is read, but of -L, whose names are wanted then.
        if self.settings.selected_max == 0 && self.output != GrepOutput::NamesWithout {
            return Ok(());
        }
        let printed = self.output.mode() == SearchMode::Lines && self.settings.selected_max > 1;
        let inputs = Inputs::new(&self.operands, &self.selection, printed, self.decoded);
        let _progress = Progress::start(self.progress, &self.control, inputs.stored_bytes());
        let mut inputs = inputs.peekable();
        let mut lanes = Vec::new();
        while let Some(next) = inputs.next() {
            match next {
                Ok(named) if self.settings.selected_max == 0 => {
                    results.tell(&mut lane.printer, &named.name, &Summary::default())?;
                }
                Ok(named) if named.is_small() && self.threads > 1 && self.whole_bytes_max.is_none() => {
                    self.small_ones(alike(named, NamedInput::is_small, &mut inputs), lane, results)?;
                }
                // One by itself is decoded by one thread and searched by all.
                Ok(named)
                    if self.lanes_max > 1
                        && self.whole_bytes_max.is_none()
                        && named.is_encoded()
                        && inputs.peek().is_some_and(|next| next.as_ref().is_ok_and(NamedInput::is_encoded)) =>
                {
                    if lanes.is_empty() {
                        lanes = self.make_lanes(args, lane)?;
                    }
                    self.encoded_ones(alike(named, NamedInput::is_encoded, &mut inputs), &mut lanes, lane, results)?;
                }
                Ok(_) if self.control.stopped() => {}
                Ok(named) => match self.whole_bytes_max {
                    Some(bytes_max) => self.one_whole(named, bytes_max, lane, results)?,
                    None => self.one(named, lane, results)?,
                },
                Err(error) => results.fail(&error),
            }
            if self.control.stopped() || results.is_decided() {
                break;
            }
        }
        lane.printer.finish()
    }

    /// Searches one input with all workers.
    fn one(&self, named: NamedInput, lane: &mut SearchLane, results: &mut Results) -> Result<(), Error> {
        let again = match self.again(&named.input) {
            Ok(again) => again,
            Err(error) => {
                results.fail(&error);
                return Ok(());
            }
        };
        let end = self.search(named, lane, again, self.threads, &self.control);
        results.end(self, &mut lane.printer, end)
    }

    /// Searches one input. `again` is the same one where it is a plain file.
    fn search(
        &self,
        NamedInput { name, input, is_stdin }: NamedInput,
        lane: &mut SearchLane,
        again: Option<RereadInput>,
        threads: usize,
        control: &Control,
    ) -> SearchEnd {
        let operation = Operation::start("grep");
        let shown = input.name().to_owned();
        let live = self.line_buffered || input.size_bytes().is_none();
        let place = if is_stdin { SharedOffset::of_stdin() } else { None };
        let workers = vec![self.searcher.clone(); threads];
        let bytes_before = control.decoded_bytes();
        lane.printer.start(&name);
        let SearchLane { expression, printer, pool } = lane;
        let mut report = SearchReport::new(self.settings, &shown, expression, self.searcher.clone(), again, printer);
        let take = |found| {
            report.take(found)?;
            report.sink().settle(live)
        };
        let finish = rorqual_pipe::run(input, &self.plan, pool, control, |_| Some(workers), take);
        operation.bytes(control.decoded_bytes() - bytes_before);
        let ended = report.finish();
        let enough = ended.as_ref().is_ok_and(|summary| summary.enough);
        if let Some(place) = place {
            let end =
                ended.as_ref().ok().filter(|summary| summary.enough && self.leaves_rest).map(|summary| summary.selected_end);
            place.leave_at(end);
        }
        operation.ended(finish.error.as_ref().filter(|_| !enough));
        SearchEnd { name, shown, error: finish.error, ended }
    }

    /// Searches one input that is held whole.
    fn one_whole(&self, named: NamedInput, bytes_max: u64, lane: &mut SearchLane, results: &mut Results) -> Result<(), Error> {
        let NamedInput { name, input, is_stdin } = named;
        let operation = Operation::start("grep");
        let shown = input.name().to_owned();
        let place = if is_stdin { SharedOffset::of_stdin() } else { None };
        let (text, error) = match whole::text(input, bytes_max, &self.plan, &self.pool, &self.control) {
            Ok(held) => held,
            Err(error) => {
                operation.ended(Some(&error));
                results.fail(&error);
                return Ok(());
            }
        };
        operation.bytes(text.len() as u64);
        lane.printer.start(&name);
        let ended = search_text(&text, &self.searcher, self.settings, &self.control, &mut lane.printer);
        if let Some(place) = place {
            let enough = ended.as_ref().ok().filter(|summary| summary.enough && self.leaves_rest);
            place.leave_at(enough.map(|summary| summary.selected_end));
        }
        operation.ended(error.as_ref());
        results.end(self, &mut lane.printer, SearchEnd { name, shown, error, ended })
    }

    /// File and buffer to read a plain file's over-long line again, where lines are printed.
    fn again(&self, input: &Input) -> Result<Option<RereadInput>, Error> {
        if self.output.mode() == SearchMode::Count {
            return Ok(None);
        }
        let Some(file) = input.file_again()? else { return Ok(None) };
        let buffer = self.pool.lease().map_err(|cause| Error::io(input.name(), "no memory for a block", cause))?;
        Ok(Some(RereadInput { file, name: input.name().to_owned(), buffer }))
    }
}

/// Results of all inputs so far.
struct Results {
    output: GrepOutput,
    names: bool,
    /// A NUL follows a name.
    null: bool,
    no_messages: bool,
    selected_any: bool,
    failed: bool,
}

impl Results {
    /// Ends one input. An error that is returned is one of the output.
    fn end(&mut self, search: &SearchPlan, printer: &mut MatchPrinter, end: SearchEnd) -> Result<(), Error> {
        let SearchEnd { name, shown, error, ended } = end;
        // Lines that were found before an error are printed before it is told.
        printer.settle(error.is_some() || ended.as_ref().is_ok_and(|summary| summary.context_cut))?;
        let (summary, late) = match ended {
            Ok(summary) => (summary, None),
            Err(error) => (Summary::default(), Some(error)),
        };
        self.selected_any |= summary.selected > 0;
        if summary.context_cut {
            self.failed = true;
            message::note(&format!(
                "{}: lines before a selected one are missing: an 8th of the memory holds no more (--memory)",
                one_line(&shown)
            ));
        }
        match error.or(late) {
            Some(error) if printer.failed => return Err(error),
            Some(error) if !summary.enough => self.fail(&error),
            _ => {}
        }
        // Of what was not searched to its end, nothing can be told in one word.
        if search.control.stopped() && !summary.enough && !matches!(self.output, GrepOutput::Lines | GrepOutput::Json) {
            return Ok(());
        }
        self.tell(printer, &name, &summary)
    }

    fn tell(&self, printer: &mut MatchPrinter, name: &[u8], summary: &Summary) -> Result<(), Error> {
        let name = shown_name(name, self.null);
        let (after, end): (&[u8], &[u8]) = if self.null { (b"\0", b"\0") } else { (b":", b"\n") };
        let line = match self.output {
            GrepOutput::Count if self.names => [&name[..], after, format!("{}\n", summary.selected).as_bytes()].concat(),
            GrepOutput::Count => format!("{}\n", summary.selected).into_bytes(),
            GrepOutput::NamesWith if summary.selected > 0 => [&name[..], end].concat(),
            GrepOutput::NamesWithout if summary.selected == 0 => [&name[..], end].concat(),
            _ => return printer.end(summary),
        };
        printer.say(&line)
    }

    fn fail(&mut self, error: &Error) {
        self.failed = true;
        // What was read and is broken is no file that can't be read.
        if !(self.no_messages && error.kind() == ErrorClass::Io) {
            message::error(&one_line(error));
        }
    }

    /// Nothing that is still to come can change the answer.
    fn is_decided(&self) -> bool {
        self.output == GrepOutput::Nothing && self.selected_any
    }

    /// Exit code as of grep: an error counts more than a selected line, but for -q, which has its
    /// answer.
    fn exit(&self, printer: &MatchPrinter) -> ExitStatus {
        match (self.failed || printer.lost_something(), self.is_decided(), self.selected_any) {
            (_, true, _) | (false, _, true) => ExitStatus::Done,
            (true, ..) => ExitStatus::Bad,
            (false, _, false) => ExitStatus::Not,
        }
    }
}

/// A message about an input, whose name may have newlines, as one line.
pub(crate) fn one_line(said: &dyn Display) -> String {
    said.to_string().replace('\n', "\\n")
}

/// Refuses flags of other greps that are not here, with the way on.
fn refuse(args: &GrepArgs) -> Result<(), String> {
    if !args.perl_regexp {
        return Ok(());
    }
    Err("-P: patterns are regular expressions of Perl's kind anyway (\\d, \\w, \\b, lazy *?, named groups), so leave -P out; \
         look-around and back-references, which have no bound on their time, are not supported"
        .to_owned())
}

fn pattern(args: &GrepArgs, patterns: Vec<Vec<u8>>, memory_bytes: u64) -> SearchPattern {
    SearchPattern {
        patterns,
        fixed: args.fixed_strings,
        case: case(args),
        word: args.word_regexp,
        whole_line: args.line_regexp,
        line_end: match (args.null_data, args.crlf) {
            (true, _) => LineEnd::Nul,
            (_, true) => LineEnd::Crlf,
            _ => LineEnd::Newline,
        },
        multiline: args.multiline,
        dot_newline: args.multiline_dotall,
        groups: args.replace.is_some(),
        bytes_max: PROGRAM_BYTES_MIN,
        cache_bytes_max: cache_bytes_max(memory_bytes),
        memory_setting: "--memory",
    }
}

fn case(args: &GrepArgs) -> CaseMatching {
    match (args.ignore_case, args.smart_case) {
        (true, _) => CaseMatching::Insensitive,
        (_, true) => CaseMatching::Smart,
        _ => CaseMatching::Sensitive,
    }
}

/// A progress bar would be drawn between the lines on a terminal.
fn progress(common: &Common, output: GrepOutput) -> TerminalWhen {
    let lines_on_terminal = output.mode() == SearchMode::Lines && io::stdout().is_terminal();
    if common.progress == TerminalWhen::Auto && lines_on_terminal { TerminalWhen::Never } else { common.progress }
}

/// A compiled pattern, and the threads and lanes for which there is memory beside it.
struct CompiledPattern {
    expression: Expression,
    threads: usize,
    lanes_max: usize,
}

/// Compiles the pattern, once it is known that there is memory for it. One that turns out to be
/// larger is tried with more.
fn compile(
    common: &Common,
    mut needs: Needs,
    mut pattern: SearchPattern,
    operands: &Operands,
) -> Result<CompiledPattern, String> {
    let threads = |needs: &Needs| fitting::threads(&common.process, |threads| needs.budget(threads));
    let refused = |error: PatternError| {
        let place = error.index.and_then(|index| operands.place(index));
        place.map_or_else(|| error.to_string(), |place| format!("{place}: {error}"))
    };
    // To look at many patterns takes memory by itself.
    if needs.program.is_costly(needs.memory_bytes) {
        threads(&needs).map_err(|error| error.to_string())?;
    }
    needs.program.measure(&pattern, needs.memory_bytes).map_err(refused)?;
    loop {
        let fitting = threads(&needs).map_err(|error| needs.program.too_large(&error))?;
        let rest_bytes = needs.budget(fitting).rest_bytes();
        needs.program.take_rest(fitting, needs.memory_bytes, rest_bytes);
        needs.program.set(&mut pattern, needs.memory_bytes);
        match Expression::new(pattern.clone()) {
            Ok(expression) => {
                let lanes_max = fitting::lanes(fitting, |lanes| needs.budget_of_lanes(fitting, lanes));
                return Ok(CompiledPattern { expression, threads: fitting, lanes_max });
            }
            Err(error) if error.is_too_large => needs.program.grow(),
            Err(error) => return Err(refused(error)),
        }
    }
}

/// Holders of memory in a search.
struct Needs {
    program: ProgramNeeds,
    memory_bytes: u64,
    line_bytes_max: usize,
    before: usize,
    window: bool,
    /// A text may be held whole.
    multiline: bool,
    sorted: bool,
}

impl Needs {
    fn budget(&self, threads: usize) -> Budget {
        let by_lines = fitting::least(self.memory_bytes, |memory_bytes| self.terms(threads, false, memory_bytes));
        if !self.multiline {
            return by_lines;
        }
        // One thread searches a text that is held whole; the pattern tells later whether one is.
        let whole = fitting::least(self.memory_bytes, |memory_bytes| self.terms(1, true, memory_bytes));
        if whole.rest_bytes() < by_lines.rest_bytes() { whole } else { by_lines }
    }

    /// The sum while files are searched side by side, each in a lane. The workers of a plain file
    /// are gone then; their blocks may have been used before.
    fn budget_of_lanes(&self, threads: usize, lanes: usize) -> Budget {
        let blocks =
            (buffers_needed(threads) + BUFFERS_BESIDE + lanes * side_by_side::BUFFERS) * buffer_bytes(self.line_bytes_max);
        let automata = self.program.lane_bytes(self.memory_bytes);
        let hits = ((1 + WINDOW_PER_WORKER) * HITS_MAX * size_of::<HitRange>()) as u64;
        let before = (2 * self.before as u64).saturating_mul(self.line_bytes_max as u64).min(self.memory_bytes / CONTEXT_SHARE);
        let window = if self.window { 3 * WINDOW_BYTES as u64 + self.program.follower_bytes(self.memory_bytes) } else { 0 };
        let lane = fitting::lane_bytes(self.memory_bytes) + automata + hits + before + window;
        let mut budget = Budget::new(self.memory_bytes);
        budget.reserve("program", limits::PROGRAM_BYTES);
        budget.reserve("blocks", blocks as u64);
        budget.reserve("compiling the patterns", self.program.compile_bytes(self.window));
        budget.reserve("automata", self.program.worker_bytes(self.memory_bytes));
        budget.reserve("names in order (--sort)", if self.sorted { sort_bytes_max(self.memory_bytes) } else { 0 });
        budget.reserve(format!("{lanes} files side by side"), lanes as u64 * (lane + held_bytes_max(self.memory_bytes) as u64));
        budget
    }

    fn terms(&self, threads: usize, whole: bool, memory_bytes: u64) -> Budget {
        let buffers = buffers_needed(threads) + BUFFERS_BESIDE;
        let hits = (threads * (1 + WINDOW_PER_WORKER) * HITS_MAX * size_of::<HitRange>()) as u64;
        let mut budget = Budget::new(self.memory_bytes);
        budget.reserve("program", limits::PROGRAM_BYTES);
        budget.reserve(format!("{threads} threads"), threads as u64 * limits::THREAD_BYTES);
        budget.reserve(format!("{buffers} blocks"), (buffers * buffer_bytes(self.line_bytes_max)) as u64);
        budget.reserve("decoder", decoder_bytes(memory_bytes));
        budget.reserve("compiling the patterns", self.program.compile_bytes(self.window));
        budget.reserve("automata", self.program.automata_bytes(threads, memory_bytes));
        budget.reserve("places of matches", hits);
        if whole {
            budget.reserve("a text that is held whole (-U)", multiline_bytes_max(memory_bytes));
        }
        if self.before > 0 {
            budget.reserve("lines before", memory_bytes / CONTEXT_SHARE);
        }
        if self.sorted {
            budget.reserve("names in order (--sort)", sort_bytes_max(memory_bytes));
        }
        if self.window {
            // The window, the beginning of a match, and the automaton that finds its end.
            budget.reserve("matches in over-long lines", 3 * WINDOW_BYTES as u64 + self.program.follower_bytes(memory_bytes));
        }
        budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lanes of a search with so much memory, threads, and lines before a selected one.
    fn lanes(memory_bytes: u64, threads: usize, before: usize) -> usize {
        let pattern = SearchPattern {
            patterns: vec![b"404".to_vec()],
            fixed: false,
            case: CaseMatching::Sensitive,
            word: false,
            whole_line: false,
            line_end: LineEnd::Newline,
            multiline: false,
            dot_newline: false,
            groups: false,
            bytes_max: PROGRAM_BYTES_MIN,
            cache_bytes_max: cache_bytes_max(memory_bytes),
            memory_setting: "--memory",
        };
        let mut program = ProgramNeeds::of(&pattern);
        program.measure(&pattern, memory_bytes).expect("a pattern");
        let line_bytes_max = limits::LINE_BYTES_MAX_DEFAULT;
        let needs = Needs { program, memory_bytes, line_bytes_max, before, window: false, multiline: false, sorted: false };
        fitting::lanes(threads, |lanes| needs.budget_of_lanes(threads, lanes))
    }

    #[test]
    fn threads_and_lines_before_leave_room_for_files_side_by_side() {
        assert_eq!([2, 4, 8, 16].map(|threads| lanes(256 << 20, threads, 0)), [2, 4, 4, 4]);
        assert_eq!(lanes(256 << 20, 2, 3), 2);
        assert!([4, 8].into_iter().all(|threads| lanes(256 << 20, threads, 3) >= 3));
        assert!([8, 16].into_iter().all(|threads| lanes(2 << 30, threads, 0) >= 4));
        assert_eq!(lanes(32 << 20, 2, 0), 1);
    }
}

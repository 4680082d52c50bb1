//! Lines that match.

use crate::failure::OperationFailure;
use crate::resources::Resources;
use crate::running::{Give, RunningOperation};
use crate::source::DataSource;
use rorqual_pipe::decode::{decoder_bytes, zstd_window_log_max};
use rorqual_pipe::limits::{LINE_BYTES_MAX_DEFAULT, WINDOW_PER_WORKER, buffer_bytes, buffers_needed};
use rorqual_pipe::{BufferPool, Control, Error, ErrorClass, Framing, Input, RunPlan, format_size, run};
use rorqual_search::limits::{CACHES_PER_WORKER, HITS_MAX, ONE_PASS_BYTES, PROGRAM_BYTES_MIN, cache_bytes_max};
use rorqual_search::{
    CaseMatching, Expression, HitRange, LineEnd, LineSink, LongPiece, MatchedBlock, ReportSettings, RereadInput, SearchMode,
    SearchPattern, SearchReport, Searcher, ShownLines,
};
use std::time::{Duration, Instant};

/// A line that is longer than a block is held whole for its taker, up to this.
const LONG_BYTES_MAX: usize = 16 << 20;

/// Lines are handed over once so many bytes of them are there.
const GIVEN_BYTES: usize = 256 << 10;

/// Fewer are handed over so long after the last ones.
const GIVEN_AFTER: Duration = Duration::from_millis(50);

/// Lines to look for.
#[derive(Debug, Clone, Default)]
pub struct LineSearch {
    /// Regular expressions, any of which may match.
    pub patterns: Vec<String>,
    /// They are texts instead.
    pub fixed: bool,
    /// Letters match their other case.
    pub ignore_case: bool,
    /// A match starts and ends where a word does.
    pub word: bool,
    /// A match is a whole line.
    pub whole_line: bool,
    /// Lines that do not match are meant.
    pub invert: bool,
    /// Stop after so many lines.
    pub lines_max: Option<u64>,
}

/// Memory in which patterns are looked at, however little there is: then a refusal has all terms.
const LOOKED_AT_BYTES: u64 = 8 << 20;

/// A line that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatchedLine {
    /// Its number, from 1.
    pub number: u64,
    /// Its start in the decoded input.
    pub offset: u64,
    /// The line without its newline.
    pub bytes: Vec<u8>,
}

/// The lines of a source that match, in order, some at a time.
///
/// # Errors
/// When a pattern is none, or the memory too little.
pub fn matches(
    source: DataSource,
    search: &LineSearch,
    resources: Resources,
) -> Result<RunningOperation<Vec<MatchedLine>>, OperationFailure> {
    let memory_bytes = resources.memory_bytes;
    let mut pattern = pattern(search, memory_bytes);
    let looked_bytes = memory_bytes.max(LOOKED_AT_BYTES);
    if pattern.parse_bytes() > looked_bytes / 8 {
        resources.fitting(|budget, _| budget.reserve("looking at the patterns", pattern.parse_bytes()))?;
    }
    let cost = pattern.cost(looked_bytes / 2)?;
    pattern.bytes_max = cost.limit_bytes();
    let cache_bytes = pattern.cache_bytes_max;
    let threads = resources.fitting(|budget, threads| {
        let buffers = buffers_needed(threads) + 1;
        budget.reserve(format!("{buffers} blocks"), (buffers * buffer_bytes(LINE_BYTES_MAX_DEFAULT)) as u64);
        budget.reserve("decoder", decoder_bytes(memory_bytes));
        budget.reserve("compiling the patterns", cost.compile_bytes(false) + cost.making_long_bytes() + ONE_PASS_BYTES);
        let worker_bytes = CACHES_PER_WORKER * cache_bytes + cost.simulation_bytes();
        let long_bytes = cache_bytes + cost.long_bytes();
        budget.reserve("automata", (threads as u64 + 1) * worker_bytes + long_bytes);
        let hits = threads * (1 + WINDOW_PER_WORKER) * HITS_MAX * size_of::<HitRange>();
        budget.reserve("places of matches", hits as u64);
        budget.reserve("a line that is longer than a block", LONG_BYTES_MAX as u64);
    })?;
    let mut expression = Expression::new(pattern)?;
    let searcher = Searcher {
        matcher: expression.matcher(),
        mode: SearchMode::Lines,
        invert: search.invert,
        numbered: true,
        around: false,
        terminator: b'\n',
        skip_binary: false,
    };
    let settings = ReportSettings {
        around: false,
        before: 0,
        after: 0,
        selected_max: search.lines_max.unwrap_or(u64::MAX),
        eager: false,
        context_bytes_max: 0,
    };
    let control = Control::default();
    let stop = control.clone();
    Ok(RunningOperation::start(&control, move |give| {
        let input = source.open()?.into_utf8();
        let pool = BufferPool::new(buffer_bytes(LINE_BYTES_MAX_DEFAULT), buffers_needed(threads) + 1);
        let plan = RunPlan {
            framing: Framing::Lines { line_bytes_max: LINE_BYTES_MAX_DEFAULT },
            zstd_window_log_max: zstd_window_log_max(memory_bytes),
        };
        if settings.selected_max == 0 {
            return Ok(());
        }
        let (again, name, is_stored) = (again(&input, &pool)?, input.name().to_owned(), input.is_stored());
        let sink = LineGiver { name: name.clone(), give, lines: Vec::new(), bytes: 0, given: None, long: None };
        let mut report = SearchReport::new(settings, &name, &mut expression, searcher.clone(), again, sink);
        let workers = vec![searcher; threads];
        let finish = run(
            input,
            &plan,
            &pool,
            &stop,
            |_| Some(workers),
            |found| {
                report.take(found)?;
                report.sink().block_ends(is_stored)
            },
        );
        let rest = report.sink().hand_over(0);
        let enough = report.finish()?.enough;
        match finish.error.or(rest.err()) {
            Some(error) if !(enough && error.kind() == ErrorClass::Stopped) => Err(error.into()),
            _ => Ok(()),
        }
    }))
}

fn pattern(search: &LineSearch, memory_bytes: u64) -> SearchPattern {
    SearchPattern {
        patterns: search.patterns.iter().map(|pattern| pattern.clone().into_bytes()).collect(),
        fixed: search.fixed,
        case: if search.ignore_case { CaseMatching::Insensitive } else { CaseMatching::Sensitive },
        word: search.word,
        whole_line: search.whole_line,
        line_end: LineEnd::Newline,
        multiline: false,
        dot_newline: false,
        groups: false,
        bytes_max: PROGRAM_BYTES_MIN,
        cache_bytes_max: cache_bytes_max(memory_bytes),
        memory_setting: "memory",
    }
}

fn again(input: &Input, pool: &BufferPool) -> Result<Option<RereadInput>, Error> {
    let Some(file) = input.file_again()? else { return Ok(None) };
    let buffer = pool.lease().map_err(|cause| Error::io(input.name(), "no memory for a block", cause))?;
    Ok(Some(RereadInput { file, name: input.name().to_owned(), buffer }))
}

/// Gathers lines, and hands them over.
struct LineGiver<'a> {
    name: String,
    give: Give<'a, Vec<MatchedLine>>,
    lines: Vec<MatchedLine>,
    bytes: usize,
    /// Last hand-over of lines.
    given: Option<Instant>,
    /// A line that comes in pieces.
    long: Option<MatchedLine>,
}

impl LineGiver<'_> {
    fn push(&mut self, line: MatchedLine) -> Result<(), Error> {
        self.bytes += line.bytes.len() + size_of::<MatchedLine>();
        self.lines.push(line);
        self.hand_over(GIVEN_BYTES)
    }

    /// Hands the lines over: few only where they are the first, after a while, or where nobody
    /// knows when more input comes.
    fn block_ends(&mut self, is_stored: bool) -> Result<(), Error> {
        let waits = is_stored && self.given.is_some_and(|given| given.elapsed() < GIVEN_AFTER);
        self.hand_over(if waits { GIVEN_BYTES } else { 0 })
    }

    /// Hands the lines over where there are so many bytes of them, and some at all.
    fn hand_over(&mut self, bytes_min: usize) -> Result<(), Error> {
        if self.bytes < bytes_min.max(1) {
            return Ok(());
        }
        (self.bytes, self.given) = (0, Some(Instant::now()));
        (self.give)(std::mem::take(&mut self.lines)).map_err(|failure| Error::new(ErrorClass::Stopped, "", failure.message))
    }
}

impl LineSink for LineGiver<'_> {
    fn part(&mut self, part: ShownLines<'_>) -> Result<(), Error> {
        let mut offset = part.offset;
        for (number, line) in (part.number..).zip(part.lines.split_inclusive(|byte| *byte == b'\n')) {
            let bytes = line.strip_suffix(b"\n").unwrap_or(line).to_vec();
            self.push(MatchedLine { number, offset, bytes })?;
            offset += line.len() as u64;
        }
        Ok(())
    }

    fn block(&mut self, _: MatchedBlock<'_>) -> Result<(), Error> {
        // Matches do not go on over the ends of lines here.
        Ok(())
    }

    fn gap(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn long(&mut self, piece: LongPiece<'_>) -> Result<(), Error> {
        let too_long = |name: &str, offset| {
            let max = format_size(LONG_BYTES_MAX as u64);
            Error::new(ErrorClass::Limit, name, format!("a line that matches has more than {max} and starts")).at(offset)
        };
        match (piece, &mut self.long) {
            (LongPiece::Start { number, offset, .. }, _) => self.long = Some(MatchedLine { number, offset, bytes: Vec::new() }),
            (LongPiece::Bytes(bytes), Some(line)) => {
                if line.bytes.len() + bytes.len() > LONG_BYTES_MAX {
                    return Err(too_long(&self.name, line.offset));
                }
                line.bytes.extend_from_slice(bytes);
            }
            (LongPiece::Lost(_), Some(line)) => {
                let message =
                    "the beginning of a line that matches is gone: it has more than a block, and the input can't be read again";
                return Err(Error::new(ErrorClass::Limit, &self.name, message).at(line.offset));
            }
            (LongPiece::End { .. }, _) => {
                if let Some(line) = self.long.take() {
                    self.push(line)?;
                }
            }
            (LongPiece::Bytes(_) | LongPiece::Lost(_), None) => {}
        }
        Ok(())
    }
}

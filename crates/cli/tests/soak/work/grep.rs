//! Searches of files and streams, counted and printed.

use super::{Kit, Mishap, Outcome, THREADS, closed_pipe, input, judge};
use crate::samples::PATTERNS;
use rorqual_pipe::decode::zstd_window_log_max;
use rorqual_pipe::{Control, Error, Framing, Operation, RunPlan};
use rorqual_search::{
    CaseMatching, Expression, LineEnd, LineSink, LongPiece, MatchedBlock, ReportSettings, SearchMode, SearchPattern,
    SearchReport, Searcher, ShownLines,
};
use rorqual_testkit::generate::Rng;
use std::io::{PipeWriter, Write};

const SETTINGS: ReportSettings =
    ReportSettings { around: false, before: 0, after: 0, selected_max: u64::MAX, eager: false, context_bytes_max: 0 };

pub(super) fn once(kit: &Kit, random: &mut Rng) -> Outcome {
    let (sample, mishap, control) = (kit.sample(random), Kit::mishap(random), Control::default());
    let which = random.below(PATTERNS.len());
    let mode = if mishap == Mishap::Close || random.below(2) == 0 { SearchMode::Lines } else { SearchMode::Count };
    let operation = Operation::start("grep");
    let mut expression = Expression::new(pattern(PATTERNS[which])).expect("it is a pattern");
    let searcher = Searcher {
        matcher: expression.matcher(),
        mode,
        invert: false,
        numbered: false,
        around: false,
        terminator: b'\n',
        skip_binary: false,
    };
    let workers = vec![searcher.clone(); 1 + random.below(THREADS)];
    let listener = Listener { pipe: (mishap == Mishap::Close).then(closed_pipe), lines: 0 };
    let mut report = SearchReport::new(SETTINGS, "soak", &mut expression, searcher, None, listener);
    let input = input(sample, mishap, &control, random);
    let plan = RunPlan {
        framing: Framing::Lines { line_bytes_max: super::LINE_BYTES_MAX },
        zstd_window_log_max: zstd_window_log_max(256 << 20),
    };
    let finish = rorqual_pipe::run(input, &plan, &kit.pool, &control, |_| Some(workers), |found| report.take(found));
    let printed = report.sink().lines;
    let (selected, error) = match report.finish() {
        Ok(summary) => (summary.selected, finish.error),
        Err(error) => (0, finish.error.or(Some(error))),
    };
    let right = selected == sample.matches[which] && (mode == SearchMode::Count || printed == selected);
    operation.bytes(control.decoded_bytes());
    match &error {
        None => operation.done(),
        Some(error) => operation.failed(error.kind().name()),
    }
    judge(mishap, error.as_ref(), control.stopped(), right, sample)
}

fn pattern(text: &str) -> SearchPattern {
    SearchPattern {
        patterns: vec![text.as_bytes().to_vec()],
        fixed: false,
        case: CaseMatching::Sensitive,
        word: false,
        whole_line: false,
        line_end: LineEnd::Newline,
        multiline: false,
        dot_newline: false,
        groups: false,
        bytes_max: 16 << 20,
        cache_bytes_max: 16 << 20,
        memory_setting: "--memory",
    }
}

/// Counts the lines that it is shown.
struct Listener {
    pipe: Option<PipeWriter>,
    lines: u64,
}

impl LineSink for Listener {
    fn block(&mut self, block: MatchedBlock<'_>) -> Result<(), Error> {
        self.part(block.lines())
    }

    fn part(&mut self, part: ShownLines<'_>) -> Result<(), Error> {
        self.lines += part.lines.iter().filter(|byte| **byte == b'\n').count() as u64;
        let told = self.pipe.as_mut().map_or(Ok(()), |pipe| pipe.write_all(part.lines));
        told.map_err(|cause| Error::io("soak", "cannot write", cause))
    }

    fn gap(&mut self) -> Result<(), Error> {
        Ok(())
    }

    fn long(&mut self, _: LongPiece<'_>) -> Result<(), Error> {
        Ok(())
    }
}

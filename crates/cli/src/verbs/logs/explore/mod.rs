//! Questions about the lines of a log: their rows are kept while they are read, and asked when all
//! are there.

pub(super) mod breakdown;
mod json;
mod question;
mod rows;
mod terminal;

use super::html::HtmlPage;
use crate::args::LogsArgs;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::message;
pub(crate) use question::{LogsAnswer, Question, SpanSeconds};
use rorqual_accesslog::LeftOut;
use rorqual_accesslog::analyze::{AnalyzeSettings, Analyzer, RowStoreShare};
use rorqual_accesslog::report::LogReport;
use rorqual_crossfilter::limits::{ROWS_BYTES_MIN, WORKER_BYTES};
use rorqual_crossfilter::{BreakdownError, RowStore, ViewError};
use rorqual_pipe::{Control, format_size, stats};
pub(super) use rows::FormatRows;
use std::sync::Arc;
use std::time::Instant;
pub(crate) use terminal::print_asked;
pub(super) use {breakdown::cell, terminal::percent, terminal::times};

/// A question, and the rows that it is asked of.
pub(super) struct RowsQuestion {
    question: Question,
    rows: Arc<FormatRows>,
}

/// Rows of a store.
#[derive(Debug, Clone, Copy)]
struct HeldRows {
    rows: u64,
    dropped: u64,
    spilled_bytes: u64,
    seconds: f64,
}

/// Rows that are kept instead of tables of distinct values.
pub(super) fn kept() -> RowStoreShare {
    RowStoreShare { what: "rows", worker_bytes: WORKER_BYTES, parts: 1, bytes_min: ROWS_BYTES_MIN }
}

/// The question, where there is one.
pub(super) fn question(args: &LogsArgs) -> Result<Option<Question>, String> {
    Question::of(&args.explore)
}

impl RowsQuestion {
    /// The question, to be asked of `rows`.
    pub(super) fn new(question: Question, rows: Arc<FormatRows>) -> Self {
        Self { question, rows }
    }

    /// Asks, and prints the answer beside the counts of `report` about the lines, or writes both
    /// to `page`.
    pub(super) fn answer(
        &self,
        report: &LogReport,
        analyzer: &Analyzer,
        control: &Control,
        settings: &AnalyzeSettings,
        args: &LogsArgs,
        page: Option<HtmlPage>,
    ) -> ExitStatus {
        let mut report = report.clone();
        // Memory that only the run needed is for the question now.
        analyzer.release();
        // Of a run that was stopped the rows so far are asked; the next Ctrl-C ends the process.
        let control = if control.stopped() { Control::default() } else { control.clone() };
        let start = Instant::now();
        let zone_seconds = analyzer.analysis().zone_seconds().unwrap_or(0);
        let top = usize::from(args.top);
        let Some(store) = self.rows.store() else { return message::error(&"no line was read that could be asked about") };
        let shown = if page.is_some() { top } else { 0 };
        let filled = store.fill(&mut report, zone_seconds, shown, &control);
        let asked = filled.and_then(|(_, week)| Ok((week, self.question.ask(store, top, &control)?)));
        let (week, answer) = match asked {
            Ok(asked) => asked,
            Err(ViewError::Cancelled) => return interrupt::exit_of_nothing(&control, ExitStatus::Interrupted),
            Err(ViewError::Unanswerable(error)) => return message::error(&unanswerable(&error)),
            Err(error) => return message::error(&error),
        };
        report.stats.peak_bytes = stats::peak_bytes();
        let held = held(store, start);
        report.complete &= held.dropped == 0;
        say_if_left_out(store);
        say_if_not_all(store, &held, &answer, settings);
        let exit =
            self.question.unanswerable(&answer, &report, held.dropped).map_or(ExitStatus::Done, |error| message::error(&error));
        let printed = match &page {
            _ if args.json => json::print(&report, &self.question, &answer, held, &control),
            Some(_) => Ok(()),
            None => terminal::print((&report, held.dropped), &self.question, &answer, top, &control),
        };
        let exit = printed.map_or_else(|error| message::print_error(&error), |()| exit);
        let Some(page) = page else { return exit };
        exit.max(page.finish_answer((&report, &week), &answer, args.top, &control, settings.memory_bytes))
    }
}

/// The error in the words of the flags.
pub(crate) fn unanswerable(error: &BreakdownError) -> String {
    let flag = match error {
        BreakdownError::Field(..) => "--by",
        BreakdownError::Measure(..) => "--measure",
        BreakdownError::Metric(..) => "--show and --sort",
        BreakdownError::Order(..) => "--sort",
    };
    format!("{flag}: {error}")
}

fn held(store: &RowStore, start: Instant) -> HeldRows {
    HeldRows {
        rows: store.rows(),
        dropped: store.rows_dropped(),
        spilled_bytes: store.spilled_bytes(),
        seconds: start.elapsed().as_secs_f64(),
    }
}

/// Tells the values of the log's own columns that are in no answer.
fn say_if_left_out(store: &RowStore) {
    /// Names that are told.
    const NAMES_MAX: usize = 8;
    let Some(own) = store.own() else { return };
    let LeftOut { names, more } = own.left_out();
    if !names.is_empty() {
        let rest = if more || names.len() > NAMES_MAX { ", …" } else { "" };
        let names: Vec<String> = names.iter().take(NAMES_MAX).map(|name| message::escaped(name).to_string()).collect();
        message::note(&format!("these of the log's own columns had no place, and are in no answer: {}{rest}", names.join(", ")));
    }
    if own.misfits() > 0 {
        message::note(&format!("{} values in columns of numbers are not numbers, and count as absent", own.misfits()));
    }
}

/// Reason for which rows were dropped, after their number.
pub(crate) fn lacking(store: &RowStore, memory: &str) -> String {
    match store.spill_failure() {
        Some(why) => format!("had no room in {memory}, and could not be written to the temporary file: {why}"),
        None => format!("had no room, neither in {memory} nor in the temporary file (--temp-dir, --temp-max)"),
    }
}

/// Tells the lines that the answer is not about.
fn say_if_not_all(store: &RowStore, held: &HeldRows, answer: &LogsAnswer, settings: &AnalyzeSettings) {
    let memory = format_size(settings.memory_bytes);
    if held.dropped > 0 {
        let missing = lacking(store, &format!("--memory {memory}"));
        message::note(&format!("the answer is of the first {} lines: {} more {missing}", held.rows, held.dropped));
    } else if let LogsAnswer::Breakdown(_) = answer
        && !answer.exact()
    {
        message::note(&format!(
            "not all values are told apart: there are more than fit --memory {memory}, or some are longer than is kept of them"
        ));
    } else if !answer.exact() {
        message::note(&format!(
            "values with few lines each were not looked at one by one, as there are more than fit --memory {memory}"
        ));
    } else if held.spilled_bytes > 0 {
        message::note(&format!(
            "{} of lines had no room in --memory {memory} and were read back from a temporary file; with more --memory it is faster",
            format_size(held.spilled_bytes)
        ));
    }
}

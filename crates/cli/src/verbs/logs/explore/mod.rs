//! Questions about the lines of a log: their rows are kept while they are read, and asked when all
//! are there.

mod json;
mod question;
mod terminal;

use crate::args::LogsArgs;
use crate::exit::ExitStatus;
use crate::interrupt;
use crate::message;
pub(crate) use question::{LogsAnswer, Question, SpanSeconds};
use rorqual_accesslog::Recording;
use rorqual_accesslog::analyze::{AnalysisShares, AnalyzeSettings, Analyzer, RowStoreShare};
use rorqual_accesslog::report::LogReport;
use rorqual_crossfilter::limits::{ROWS_BYTES_MIN, WORKER_BYTES};
use rorqual_crossfilter::{Recordings, RowStore, ViewError};
use rorqual_pipe::{Control, escaped_path, format_size, reason, stats};
use std::sync::Arc;
use std::time::Instant;
pub(crate) use terminal::print_asked;

/// A question, and the rows that it is asked of.
pub(super) struct RowsQuestion {
    question: Question,
    store: Arc<RowStore>,
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
    /// A place for rows, in the memory of `shares`.
    pub(super) fn new(
        question: Question,
        args: &LogsArgs,
        settings: &AnalyzeSettings,
        shares: &AnalysisShares,
    ) -> Result<Self, String> {
        let spill = args.explore.temp.spill();
        let folder = spill.as_ref().map_or_else(String::new, |(folder, _)| escaped_path(folder));
        let countries = settings.countries.clone();
        let settings = rorqual_crossfilter::RowStoreSettings {
            spill,
            countries,
            ..rorqual_crossfilter::RowStoreSettings::only(shares.tables_bytes, shares.threads)
        };
        let store = RowStore::new(settings)
            .map_err(|cause| format!("--temp-dir {folder}: there can be no temporary file for rows: {}", reason(&cause)))?;
        Ok(Self { question, store })
    }

    /// Takes the rows while they are read.
    pub(super) fn recording(&self) -> Arc<dyn Recording> {
        Arc::new(Recordings::new(&self.store))
    }

    /// Asks, and prints the answer beside the counts of `report` about the lines.
    pub(super) fn answer(
        &self,
        report: &LogReport,
        analyzer: &Analyzer,
        control: &Control,
        settings: &AnalyzeSettings,
        args: &LogsArgs,
    ) -> ExitStatus {
        let mut report = report.clone();
        // Memory that only the run needed is for the question now.
        analyzer.release();
        // Of a run that was stopped the rows so far are asked; the next Ctrl-C ends the process.
        let control = if control.stopped() { Control::default() } else { control.clone() };
        let start = Instant::now();
        let zone_seconds = analyzer.analysis().zone_seconds().unwrap_or(0);
        let top = usize::from(args.top);
        let asked =
            self.store.fill(&mut report, zone_seconds, 0, &control).and_then(|_| self.question.ask(&self.store, top, &control));
        let answer = match asked {
            Ok(answer) => answer,
            Err(ViewError::Cancelled) => return interrupt::exit_of_nothing(&control, ExitStatus::Interrupted),
            Err(error) => return message::error(&error),
        };
        report.stats.peak_bytes = stats::peak_bytes();
        let held = self.held(start);
        say_if_not_all(&held, &answer, settings);
        let exit = self.question.unanswerable(&answer, &report).map_or(ExitStatus::Done, |error| message::error(&error));
        let printed = if args.json {
            json::print(&report, &self.question, &answer, held, &control)
        } else {
            terminal::print(&report, &self.question, &answer, top, &control)
        };
        printed.map_or_else(|error| message::print_error(&error), |()| exit)
    }

    fn held(&self, start: Instant) -> HeldRows {
        HeldRows {
            rows: self.store.rows(),
            dropped: self.store.rows_dropped(),
            spilled_bytes: self.store.spilled_bytes(),
            seconds: start.elapsed().as_secs_f64(),
        }
    }
}

/// Tells the lines that the answer is not about.
fn say_if_not_all(held: &HeldRows, answer: &LogsAnswer, settings: &AnalyzeSettings) {
    let memory = format_size(settings.memory_bytes);
    if held.dropped > 0 {
        message::note(&format!(
            "the answer is of the first {} lines: {} more had no room, neither in --memory {memory} nor in the temporary file (--temp-dir, --temp-max)",
            held.rows, held.dropped
        ));
    } else if !answer.exact() {
        message::note(&format!(
            "some values had no room in --memory {memory} and were not looked at one by one; more --memory has room for them"
        ));
    } else if held.spilled_bytes > 0 {
        message::note(&format!(
            "{} of lines had no room in --memory {memory} and were read back from a temporary file; with more --memory it is faster",
            format_size(held.spilled_bytes)
        ));
    }
}

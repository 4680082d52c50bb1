//! The log while it is read, on a thread of its own.

use super::state::ReadingState;
use crate::args::{Common, TerminalWhen};
use crate::exit::ExitStatus;
use crate::message;
use crate::verbs::logs::explore::FormatRows;
use crate::verbs::logs::{nothing_fits, run_files};
use rorqual_accesslog::analyze::Analyzer;
use rorqual_pipe::{Background, Control, beside};
use std::path::PathBuf;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

/// End of a reading.
#[derive(Debug, Clone, Copy)]
struct ReadingEnd {
    exit: ExitStatus,
    /// No line could be read.
    has_nothing: bool,
}

/// A log that is read, or was.
pub(super) struct LogReading {
    thread: Background<ReadingEnd>,
    end: Option<ReadingEnd>,
    control: Control,
    total_bytes: Option<u64>,
}

impl LogReading {
    pub(super) fn start(
        common: &Common,
        files: Vec<PathBuf>,
        analyzer: Analyzer,
        rows: &Arc<FormatRows>,
        control: &Control,
    ) -> Self {
        let length = |path: &PathBuf| std::fs::metadata(path).ok().filter(|data| data.is_file()).map(|data| data.len());
        let total_bytes = files.iter().map(length).sum();
        // The screen shows the progress.
        let common = Common { progress: TerminalWhen::Never, ..common.clone() };
        let (rows, run) = (Arc::clone(rows), control.clone());
        let thread = beside(1, move |end| {
            // Nobody waits for it where the screen has failed.
            let _ = end.send(read(&common, &files, &analyzer, &rows, &run));
        });
        Self { thread, end: None, control: control.clone(), total_bytes }
    }

    /// State of the reading by now.
    pub(super) fn state(&mut self, rows: &FormatRows) -> ReadingState {
        if self.end.is_none()
            && let Poll::Ready(end) = self.thread.wait(Duration::ZERO)
        {
            self.end = end;
        }
        let store = rows.store();
        let read_bytes = self.control.stored_bytes();
        ReadingState {
            has_rows: store.is_some(),
            is_done: self.end.is_some(),
            part: self.total_bytes.filter(|total| *total > 0).map(|total| (read_bytes as f64 / total as f64).min(1.0)),
            read_bytes,
            spilled_bytes: store.map_or(0, |store| store.spilled_bytes()),
            dropped: store.map_or(0, |store| store.rows_dropped()),
            messages: (0, None),
        }
    }

    /// True if it has ended, and there is nothing to show.
    pub(super) fn has_nothing(&self) -> bool {
        self.end.is_some_and(|end| end.has_nothing)
    }

    /// Waits for its end.
    pub(super) fn finish(mut self) -> ExitStatus {
        let end = self.end.or_else(|| self.thread.next());
        end.map_or(ExitStatus::Bad, |end| end.exit)
    }
}

fn read(common: &Common, files: &[PathBuf], analyzer: &Analyzer, rows: &FormatRows, control: &Control) -> ReadingEnd {
    let (sources, mut exit) = run_files(common, files, analyzer, control, &mut None);
    let is_left = control.stopped();
    let report = analyzer.report(sources, exit == ExitStatus::Done, 0);
    if let Some(error) = nothing_fits(&report).filter(|_| !is_left) {
        exit = exit.max(message::error(&error));
    }
    if exit == ExitStatus::Done && rows.store().is_none() && !is_left {
        message::note(&"it has no lines");
    }
    // Memory that only the run needed is for questions now.
    analyzer.release();
    let lines = report.lines.parsed + report.lines.rejected;
    let has_nothing = !is_left && (rows.store().is_none() || (lines == 0 && exit != ExitStatus::Done));
    ReadingEnd { exit, has_nothing }
}

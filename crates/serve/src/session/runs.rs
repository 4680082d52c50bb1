//! The runs of a session: over a file to its end, or over an upload a turn at a time.

use super::{Session, SessionState, lock};
use crate::admission::scheduler::WorkerGrant as ParseTurn;
use crate::ingest::feed::is_enough;
use crate::state::Checkpoints;
use rorqual_accesslog::analyze::{LogRun, SliceEnd};
use rorqual_accesslog::report::Guess;
use rorqual_pipe::Input;
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Outcome of a slice.
#[derive(Debug)]
pub(crate) enum SliceOutcome {
    /// There is more to come.
    Paused {
        /// Of an unfinished line.
        held_bytes: usize,
    },
    /// The session has ended.
    Ended,
}

impl Session {
    /// Analyses an open file to its end. Blocks.
    pub(crate) fn run_file(self: &Arc<Self>, name: String, file: File) {
        match Input::from_file(name, file).map(Input::into_utf8) {
            Ok(input) => self.run_input(input),
            Err(error) => self.fail("unreadable", &error.to_string()),
        }
    }

    /// Analyses a stream or a file that grows. Blocks for as long as it goes on.
    pub(crate) fn run_following(self: &Arc<Self>, input: Input) {
        let formats = self.formats.clone();
        self.run_input(input.with_first(move |head| is_enough(head, &formats)));
    }

    /// Analyses an input of our own instead of an upload. Blocks.
    pub(crate) fn run_input(self: &Arc<Self>, input: Input) {
        {
            let mut inner = self.lock();
            if inner.state.ended() {
                return;
            }
            (inner.feed, inner.begun) = (None, true);
            inner.followed = input.followed();
            let state = if inner.followed.is_some() { SessionState::Following } else { SessionState::Receiving };
            self.set_state(&mut inner, state);
        }
        self.run(input);
    }

    fn run(self: &Arc<Self>, input: Input) {
        let guard = FailOnUnwind(self);
        let begun = Instant::now();
        let ran = self.analyzer.run::<std::io::Sink>(input, &self.control, |found, _| self.found(found), None);
        metrics::histogram!("rorqual_parse_seconds").record(begun.elapsed());
        match ran {
            Ok(ran) => self.end_by(ran.error.as_ref()),
            Err(unknown) => self.end_unknown(&unknown),
        }
        std::mem::forget(guard);
    }

    /// Runs all that its feed gives it in one slice. Blocks.
    pub(crate) fn run_slice(self: &Arc<Self>, turn: &ParseTurn) -> SliceOutcome {
        let guard = FailOnUnwind(self);
        let begun = Instant::now();
        let mut guarded = lock(&self.reading);
        // It was stopped before.
        if self.is_over() {
            self.inlet.close();
            std::mem::forget(guard);
            return SliceOutcome::Ended;
        }
        self.unkept.store(true, Ordering::Relaxed);
        let reading = guarded.get_or_insert_with(|| {
            let input = Input::from_source(self.name.clone(), Box::new(self.inlet.source(&self.control)));
            let input = input.into_utf8();
            self.analyzer.open(input, &turn.pool, &self.control, None)
        });
        let turned = self.analyzer.run_slice(reading, turn.threads, &self.control, |found, _| self.found(found));
        metrics::histogram!("rorqual_parse_seconds").record(begun.elapsed());
        // With a decoder goes its window.
        if !matches!(turned, Ok(SliceEnd::Paused)) {
            *guarded = None;
            self.inlet.close();
        }
        let lapped = match turned {
            Ok(SliceEnd::Paused) => {
                let held_bytes = guarded.as_ref().map_or(0, LogRun::held_bytes);
                if self.checkpoints.as_ref().is_some_and(Checkpoints::due) {
                    self.keep(guarded.as_ref(), None);
                }
                SliceOutcome::Paused { held_bytes }
            }
            Ok(SliceEnd::Ended) => {
                self.end_by(None);
                SliceOutcome::Ended
            }
            Ok(SliceEnd::Failed(error)) => {
                self.end_by(Some(&error));
                SliceOutcome::Ended
            }
            Err(unknown) => {
                self.end_unknown(&unknown);
                SliceOutcome::Ended
            }
        };
        std::mem::forget(guard);
        lapped
    }

    fn found(&self, detection: &rorqual_accesslog::format::Detection) {
        let mut inner = self.lock();
        inner.format = Some(detection.format.clone());
        inner.guess = Guess::new(detection);
    }
}

/// Sets a session to failed when its run panics: nothing else would, and a waiter for its end would
/// wait for ever.
struct FailOnUnwind<'a>(&'a Session);

impl Drop for FailOnUnwind<'_> {
    fn drop(&mut self) {
        self.0.inlet.close();
        self.0.fail("internal", "the analysis stopped by a defect of rorqual; its log has more");
    }
}

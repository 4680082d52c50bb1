//! The runs of a session: over a file to its end, or over an upload a turn at a time.

use super::phase::{Failure, Phase};
use super::{Session, lock};
use crate::admission::scheduler::WorkerGrant as ParseTurn;
use crate::ingest::feed::is_enough;
use crate::state::Checkpoints;
use rorqual_accesslog::analyze::SliceEnd;
use rorqual_accesslog::report::Guess;
use rorqual_pipe::Input;
use std::fs::File;
use std::sync::Arc;
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
            Err(error) => self.step(|phase| phase.fail(Failure::Unreadable { message: error.to_string() })),
        }
    }

    /// Analyses a stream or a file that grows. Blocks for as long as it goes on.
    pub(crate) fn run_following(self: &Arc<Self>, input: Input) {
        let formats = self.settings.formats.clone();
        self.run_input(input.with_first(move |head| is_enough(head, &formats)));
    }

    /// Analyses an input of our own instead of an upload. Blocks.
    pub(crate) fn run_input(self: &Arc<Self>, input: Input) {
        let followed = input.followed();
        {
            let mut inner = self.lock();
            self.change(&mut inner, |phase| (phase.read(followed.is_some()), ()));
            if !matches!(inner.phase, Phase::Reading { .. }) {
                return;
            }
            inner.followed = followed;
        }
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
        self.checkpoints.iter().for_each(Checkpoints::outdate);
        let reading = guarded.get_or_insert_with(|| {
            let input = Input::from_source(self.name().to_owned(), Box::new(self.inlet.source(&self.control)));
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
        match turned {
            Ok(SliceEnd::Paused) if self.checkpoints.as_ref().is_some_and(Checkpoints::due) => self.keep(guarded.as_ref(), None),
            Ok(SliceEnd::Paused) => {}
            Ok(SliceEnd::Ended) => self.end_by(None),
            Ok(SliceEnd::Failed(error)) => self.end_by(Some(&error)),
            Err(unknown) => self.end_unknown(&unknown),
        }
        std::mem::forget(guard);
        // With its end went the run.
        guarded.as_ref().map_or(SliceOutcome::Ended, |reading| SliceOutcome::Paused { held_bytes: reading.held_bytes() })
    }

    fn found(&self, detection: &rorqual_accesslog::format::Detection) {
        let mut inner = self.lock();
        inner.format = Some(detection.format.clone());
        inner.guess = Guess::new(detection);
    }
}

/// Sets a session to failed when its run panics: nothing else would, and a waiter for its end would
/// wait for ever.
pub(super) struct FailOnUnwind<'a>(pub(super) &'a Session);

impl Drop for FailOnUnwind<'_> {
    fn drop(&mut self) {
        self.0.inlet.close();
        let message = "the analysis stopped by a defect of rorqual; its log has more";
        self.0.step(|phase| phase.fail(Failure::Internal { message: message.to_owned() }));
    }
}

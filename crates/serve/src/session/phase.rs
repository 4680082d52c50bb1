//! The phase of a session. Each transition takes the phase and returns the next one; a transition
//! that a phase does not have leaves it as it is. `docs/design/session.md` has the table.

use super::outcome::{Failure, RunOutcome, SessionEnd, SessionState};
use crate::http::error::ApiError;
use crate::ingest::feed::Feed;
use crate::limits::{INTERRUPTED_GRACE, WAITING_GRACE};
use serde_json::Value;
use std::time::Instant;

/// Phase of a session, with all that exists in it alone.
pub(super) enum Phase {
    /// A file of the server, before its turn.
    Queued,
    /// The log, or the rest of it, is to come; `begun` once an upload was accepted.
    Waiting { parked: ParkedUpload, begun: bool },
    /// An upload has the feed.
    Receiving,
    /// The server reads a file, to its end or as it grows.
    Reading { follows: bool },
    /// The upload broke off, with this error where this server saw it.
    Suspended { parked: ParkedUpload, error: Option<ApiError> },
    /// No more bytes are taken. Clients see the state before it.
    Finishing { shown: SessionState, cause: FinishCause },
    /// Over; `ran` where a run of this server came to its end.
    Ended { end: SessionEnd, ran: Option<RunOutcome> },
}

/// An upload that is away, and may go on.
pub(super) struct ParkedUpload {
    /// Writing end of the run; `None` while the start of a line in it is given up.
    pub(super) feed: Option<Feed>,
    /// Time at which the upload left, or was announced.
    pub(super) since: Instant,
}

/// Reason for which a session is about to end.
pub(super) enum FinishCause {
    /// Stopped, `by` a failure or its user. A slice of it may still run.
    Stopped { by: Option<Failure>, begun: bool },
    /// Its run is over; the end may wait for the disk.
    Ran(SessionEnd, RunOutcome),
}

impl Phase {
    /// Gives the feed to an upload, where no other has it.
    pub(super) fn begin_upload(self) -> (Self, Option<Feed>) {
        match self {
            Self::Waiting { parked: ParkedUpload { feed: Some(feed), .. }, .. }
            | Self::Suspended { parked: ParkedUpload { feed: Some(feed), .. }, .. } => (Self::Receiving, Some(feed)),
            other => (other, None),
        }
    }

    /// Takes the feed back from an upload that broke off with an `error`, or whose rest is to come.
    /// A session that was stopped meanwhile drops the feed: its run waits for the end of that.
    pub(super) fn pause_upload(self, feed: Feed, error: Option<ApiError>) -> Self {
        let parked = ParkedUpload::new(feed);
        match self {
            Self::Receiving if error.is_some() => Self::Suspended { parked, error },
            Self::Receiving => Self::Waiting { parked, begun: true },
            other => other,
        }
    }

    /// Begins to read a file of the server.
    pub(super) fn read(self, follows: bool) -> Self {
        if matches!(self, Self::Queued) { Self::Reading { follows } } else { self }
    }

    /// Takes no more bytes, `by` a failure or its user. A session into which nothing came ends at
    /// once, unless it is `kept`: its files go first.
    pub(super) fn stop(self, by: Option<Failure>, kept: bool) -> Self {
        let (begun, shown) = (self.begun(), self.state());
        match self {
            Self::Finishing { .. } | Self::Ended { .. } => self,
            _ if !begun && !kept => Self::Ended { end: SessionEnd::stopped(by), ran: None },
            _ => Self::Finishing { shown, cause: FinishCause::Stopped { by, begun } },
        }
    }

    /// The run is over: by a stop, at the end of the log, or at a `failure`. Returns the end, where
    /// that was not decided before.
    pub(super) fn finish(self, failure: Option<Failure>, outcome: RunOutcome) -> (Self, Option<SessionEnd>) {
        let shown = self.state();
        let end = match self {
            over if over.is_over() => return (over, None),
            Self::Finishing { cause: FinishCause::Stopped { by, .. }, .. } => SessionEnd::stopped(by),
            _ => failure.map_or(SessionEnd::Finished, SessionEnd::Failed),
        };
        (Self::Finishing { shown, cause: FinishCause::Ran(end.clone(), outcome) }, Some(end))
    }

    /// The end that was decided becomes the state.
    pub(super) fn end(self) -> Self {
        match self {
            Self::Finishing { cause: FinishCause::Ran(end, outcome), .. } => Self::Ended { end, ran: Some(outcome) },
            Self::Finishing { cause: FinishCause::Stopped { by, .. }, .. } => {
                Self::Ended { end: SessionEnd::stopped(by), ran: None }
            }
            other => other,
        }
    }

    /// Fails without a run that came to its end.
    pub(super) fn fail(self, failure: Failure) -> Self {
        match self {
            Self::Ended { .. } => self,
            _ => Self::Ended { end: SessionEnd::Failed(failure), ran: None },
        }
    }

    /// State as clients see it.
    pub(super) fn state(&self) -> SessionState {
        match self {
            Self::Queued | Self::Waiting { .. } => SessionState::Waiting,
            Self::Receiving | Self::Reading { follows: false } => SessionState::Receiving,
            Self::Reading { follows: true } => SessionState::Following,
            Self::Suspended { .. } => SessionState::Interrupted,
            Self::Finishing { shown, .. } => *shown,
            Self::Ended { end: SessionEnd::Finished, .. } => SessionState::Finished,
            Self::Ended { end: SessionEnd::Cancelled, .. } => SessionState::Cancelled,
            Self::Ended { end: SessionEnd::Failed(_), .. } => SessionState::Failed,
        }
    }

    /// Error as clients see it.
    pub(super) fn error(&self) -> Option<Value> {
        match self {
            Self::Suspended { error, .. } => error.as_ref().map(ApiError::object),
            Self::Ended { end: SessionEnd::Failed(failure), .. } => serde_json::to_value(failure).ok(),
            _ => None,
        }
    }

    /// Outcome of a run that is over.
    pub(super) fn ran(&self) -> Option<&RunOutcome> {
        match self {
            Self::Finishing { cause: FinishCause::Ran(_, outcome), .. } => Some(outcome),
            Self::Ended { ran, .. } => ran.as_ref(),
            _ => None,
        }
    }

    /// True if nothing of it runs any more.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Ended { .. } | Self::Finishing { cause: FinishCause::Ran(..), .. })
    }

    /// True if more bytes may come.
    pub(super) fn is_open(&self) -> bool {
        !matches!(self, Self::Ended { .. } | Self::Finishing { .. })
    }

    /// True if something came, or might have.
    pub(super) fn begun(&self) -> bool {
        !matches!(
            self,
            Self::Queued
                | Self::Waiting { begun: false, .. }
                | Self::Finishing { cause: FinishCause::Stopped { begun: false, .. }, .. }
        )
    }

    /// Time since which it holds its place for an upload that may never come; `None` while it has a
    /// right to the place.
    pub(super) fn holds_up_since(&self) -> Option<Instant> {
        let (ParkedUpload { since, .. }, grace) = match self {
            Self::Waiting { parked, .. } => (parked, WAITING_GRACE),
            Self::Suspended { parked, .. } => (parked, INTERRUPTED_GRACE),
            _ => return None,
        };
        Some(*since).filter(|since| since.elapsed() >= grace)
    }

    /// The upload that is away.
    pub(super) fn parked(&mut self) -> Option<&mut ParkedUpload> {
        match self {
            Self::Waiting { parked, .. } | Self::Suspended { parked, .. } => Some(parked),
            _ => None,
        }
    }
}

impl ParkedUpload {
    pub(super) fn new(feed: Feed) -> Self {
        Self { feed: Some(feed), since: Instant::now() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rorqual_accesslog::report::RunStats;

    fn parked() -> ParkedUpload {
        ParkedUpload::new(Feed::new(0, None))
    }

    fn outcome() -> RunOutcome {
        let stats = RunStats { seconds: 0.0, bytes: 0, bytes_per_second: 0.0, threads: 1, memory_max_bytes: 0, peak_bytes: None };
        RunOutcome { sources: Vec::new(), stats }
    }

    fn displaced() -> Failure {
        Failure::Displaced { message: "another came".to_owned() }
    }

    fn broken() -> ApiError {
        ApiError::bad_request("it broke off")
    }

    /// The open phases, with the state that clients see.
    fn open() -> Vec<(Phase, SessionState)> {
        vec![
            (Phase::Queued, SessionState::Waiting),
            (Phase::Waiting { parked: parked(), begun: false }, SessionState::Waiting),
            (Phase::Waiting { parked: parked(), begun: true }, SessionState::Waiting),
            (Phase::Receiving, SessionState::Receiving),
            (Phase::Reading { follows: false }, SessionState::Receiving),
            (Phase::Reading { follows: true }, SessionState::Following),
            (Phase::Suspended { parked: parked(), error: None }, SessionState::Interrupted),
        ]
    }

    #[test]
    fn a_stop_ends_at_once_what_was_not_begun_and_is_not_kept() {
        for (index, (phase, shown)) in open().into_iter().enumerate() {
            assert_eq!(phase.state(), shown, "{index}");
            let stopped = phase.stop(None, false);
            // The first two.
            let state = if index < 2 { SessionState::Cancelled } else { shown };
            assert_eq!((stopped.state(), stopped.is_over(), stopped.is_open()), (state, index < 2, false), "{index}");
            assert_eq!(stopped.end().state(), SessionState::Cancelled, "{index}");
        }
        let kept = Phase::Waiting { parked: parked(), begun: false }.stop(Some(displaced()), true);
        assert_eq!((kept.state(), kept.is_over(), kept.begun()), (SessionState::Waiting, false, false));
        assert_eq!(kept.end().error(), Some(serde_json::json!({"code": "displaced", "message": "another came"})));
    }

    #[test]
    fn the_first_stop_decides_and_a_run_that_is_over_is_not_stopped() {
        for (phase, _) in open() {
            let (ran, end) = phase.stop(Some(displaced()), true).stop(None, true).finish(None, outcome());
            assert_eq!(end, Some(SessionEnd::Failed(displaced())));
            assert!(ran.is_over() && ran.ran().is_some() && !ran.state().ended());
        }
        let (ran, end) = Phase::Receiving.finish(None, outcome());
        assert_eq!((end, ran.state()), (Some(SessionEnd::Finished), SessionState::Receiving));
        let (again, end) = ran.stop(Some(displaced()), true).finish(Some(displaced()), outcome());
        assert_eq!(end, None, "it was decided before");
        let ended = again.end();
        assert_eq!((ended.state(), ended.ran().is_some()), (SessionState::Finished, true));
        assert_eq!(ended.stop(None, false).fail(displaced()).end().state(), SessionState::Finished, "an end stays");
        let failed = Phase::Receiving.fail(displaced());
        assert_eq!((failed.state(), failed.ran().is_some()), (SessionState::Failed, false));
    }

    #[test]
    fn one_upload_has_the_feed_and_only_it_gives_the_feed_back() {
        for (phase, shown) in open() {
            let had = matches!(shown, SessionState::Interrupted) || matches!(phase, Phase::Waiting { .. });
            let (taken, feed) = phase.begin_upload();
            assert_eq!(feed.is_some(), had, "{shown:?}");
            assert_eq!(taken.state(), if had { SessionState::Receiving } else { shown });
            let Some(feed) = feed else { continue };
            let (busy, second) = taken.begin_upload();
            assert!(second.is_none());
            let mut back = busy.pause_upload(feed, Some(broken()));
            assert_eq!((back.state(), back.error()), (SessionState::Interrupted, Some(broken().object())));
            assert!(back.parked().is_some_and(|parked| parked.feed.is_some()) && back.holds_up_since().is_none());
            // The start of a line in it is given up just now.
            back.parked().expect("it is away").feed = None;
            assert!(back.begin_upload().1.is_none());
        }
        let mut stopped = Phase::Receiving.stop(None, false).pause_upload(Feed::new(0, None), None);
        assert!(!stopped.is_open() && stopped.parked().is_none());
        assert_eq!(stopped.read(true).state(), SessionState::Receiving, "only a queued file is read");
    }

    #[test]
    fn the_end_in_a_checkpoint_is_read_as_it_was_always_written() {
        let unknown = Failure::UnknownFormat { message: "no format".to_owned(), lines: vec!["a line".to_owned()] };
        for (text, end) in [
            (r#"{"state":"finished","error":null}"#, SessionEnd::Finished),
            (r#"{"state":"cancelled","error":null}"#, SessionEnd::Cancelled),
            (
                r#"{"state":"failed","error":{"code":"unknown_format","lines":["a line"],"message":"no format"}}"#,
                SessionEnd::Failed(unknown),
            ),
            (r#"{"state":"failed","error":{"code":"displaced","message":"another came"}}"#, SessionEnd::Failed(displaced())),
        ] {
            assert_eq!(serde_json::from_str::<SessionEnd>(text).expect(text), end);
            let written = serde_json::to_string(&end).expect("JSON");
            assert_eq!(serde_json::from_str::<SessionEnd>(&written).expect(&written), end);
        }
        for text in [r#"{"state":"waiting","error":null}"#, r#"{"state":"failed","error":null}"#] {
            serde_json::from_str::<SessionEnd>(text).expect_err(text);
        }
    }

    #[test]
    fn an_answer_has_the_code_of_the_failure() {
        let message = || "why".to_owned();
        let lines = vec!["a line".to_owned()];
        for (failure, status, code) in [
            (Failure::UnknownFormat { message: message(), lines: lines.clone() }, 422, "unknown_format"),
            (Failure::BadInput { message: message() }, 422, "bad_input"),
            (Failure::TooDense { message: message() }, 422, "too_dense"),
            (Failure::Displaced { message: message() }, 409, "displaced"),
            (Failure::TableNoRoom { message: message() }, 507, "table_no_room"),
            (Failure::Internal { message: message() }, 500, "internal"),
        ] {
            let shown = serde_json::to_value(&failure).expect("JSON");
            let answer = ApiError::from(failure);
            assert_eq!((answer.status().as_u16(), answer.code(), answer.object()), (status, code, shown));
        }
        let cancelled = SessionEnd::Cancelled.answer().expect_err("it did not finish");
        assert_eq!((cancelled.status().as_u16(), cancelled.code()), (409, "cancelled"));
        assert!(SessionEnd::Finished.answer().is_ok());
    }
}

//! End of a session: by its log, by its user, or because others need its place.

use super::{RunOutcome, Session, SessionInner, SessionState, lock};
use crate::http::error::ApiError;
use crate::limits::{SETTLED_LENT_BYTES, SETTLED_LENT_SHARE, UNPACKED_BYTES_FREE, UNPACKED_RATIO_MAX};
use crate::state::SessionEnd;
use axum::http::StatusCode;
use rorqual_accesslog::analyze::AnalyzeError;
use rorqual_accesslog::report::InputReport;
use serde_json::Value;
use std::sync::Arc;

impl Session {
    /// Ends the session with the analysis, at the end of the log or at an error.
    pub(super) fn end_by(self: &Arc<Self>, error: Option<&rorqual_pipe::Error>) {
        let source = InputReport { error: error.map(ToString::to_string), ..self.source_so_far() };
        let (state, error) = if self.control.stopped() {
            let stopped_by = self.lock().stopped_by.take();
            (if stopped_by.is_some() { SessionState::Failed } else { SessionState::Cancelled }, stopped_by)
        } else {
            match error {
                None => (SessionState::Finished, None),
                Some(error) => (SessionState::Failed, Some(failure("bad_input", &error.to_string()))),
            }
        };
        self.end(state, error, vec![source]);
    }

    pub(super) fn end_unknown(self: &Arc<Self>, error: &AnalyzeError) {
        let AnalyzeError::UnknownFormat { unknown, .. } = error;
        let object = unknown_format(error).with("lines", unknown.lines.clone()).object();
        self.end(SessionState::Failed, Some(object), Vec::new());
    }

    /// The end; before it the memory is given back that the next session may be waiting for.
    fn end(self: &Arc<Self>, state: SessionState, error: Option<Value>, sources: Vec<InputReport>) {
        let stats = self.analyzer.stats(&sources);
        self.keep(None, Some(SessionEnd { state, error: error.clone() }));
        self.complete_rows();
        self.analyzer.release();
        let mut inner = self.lock();
        inner.ran = Some(RunOutcome { sources, stats });
        inner.feed = None;
        inner.error = error;
        if state == SessionState::Finished && self.is_kept() {
            // Its turn is for others: they need not wait for the disk.
            tokio::spawn(Arc::clone(self).finish());
        } else {
            self.set_state(&mut inner, state);
        }
    }

    /// Says that it has finished, once that outlasts an end of the whole machine, as its sender may
    /// have no other copy of the log from then on; or once the disk failed, which the log and
    /// [`SessionView::kept`](super::View) say.
    async fn finish(self: Arc<Self>) {
        Arc::clone(&self).sync_later().await;
        self.set_state(&mut self.lock(), SessionState::Finished);
    }

    /// No more rows come: views count all that there are once, and other sessions get the memory
    /// that they leave.
    pub(crate) fn complete_rows(&self) {
        self.rows.store().inspect(|store| store.settle((store.memory_bytes() / SETTLED_LENT_SHARE).max(SETTLED_LENT_BYTES)));
    }

    pub(super) fn fail(&self, code: &'static str, message: &str) {
        let mut inner = self.lock();
        inner.feed = None;
        inner.error = Some(failure(code, message));
        self.set_state(&mut inner, SessionState::Failed);
    }

    /// The error, as an answer.
    pub(crate) fn error(&self) -> ApiError {
        let error = self.lock().error.clone().unwrap_or_default();
        let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        let (status, code) = match error["code"].as_str() {
            Some("unknown_format") => (StatusCode::UNPROCESSABLE_ENTITY, "unknown_format"),
            Some("too_dense") => (StatusCode::UNPROCESSABLE_ENTITY, "too_dense"),
            Some("displaced") => (StatusCode::CONFLICT, "displaced"),
            Some("internal") => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
            _ => (StatusCode::UNPROCESSABLE_ENTITY, "bad_input"),
        };
        let answer = ApiError::new(status, code, text("message"));
        if error["lines"].is_array() { answer.with("lines", error["lines"].clone()) } else { answer }
    }

    /// Stops the run; all that it has analysed stays.
    pub(crate) fn cancel(self: &Arc<Self>) {
        self.stop(&mut self.lock());
    }

    /// Ends a session that waits for the rest of an upload, because its place is needed.
    pub(crate) fn give_way(self: &Arc<Self>) {
        let mut inner = self.lock();
        // Its sender may have come back meanwhile.
        if self.holds_up(&inner) && !self.control.stopped() {
            let message = "its place was needed by another session (--sessions) while nothing came; send the log anew";
            inner.stopped_by = Some(failure("displaced", message));
            self.stop(&mut inner);
        }
    }

    /// Ends an upload that unpacks to more than a log would: it could hold the cores for hours with
    /// the bytes of a second.
    pub(crate) fn stop_if_too_dense(self: &Arc<Self>) {
        let (stored, unpacked) = (self.control.stored_bytes(), self.control.decoded_bytes());
        let most = UNPACKED_BYTES_FREE.saturating_add(stored.saturating_mul(UNPACKED_RATIO_MAX));
        let mut inner = self.lock();
        if unpacked <= most || self.is_file || inner.state.ended() || self.control.stopped() {
            return;
        }
        let message = format!(
            "{stored} bytes unpacked to {unpacked}, which is more than {UNPACKED_RATIO_MAX} times as many: no log does; unpack it, and send it so"
        );
        inner.stopped_by = Some(failure("too_dense", &message));
        self.stop(&mut inner);
    }

    fn stop(self: &Arc<Self>, inner: &mut SessionInner) {
        self.control.stop();
        if inner.state.ended() {
            return;
        }
        // The run of a decoder sees the end of its source.
        inner.feed = None;
        if !inner.begun && !self.is_kept() {
            return self.end_unbegun(inner);
        }
        self.changed.send_modify(|version| *version += 1);
        if !self.is_file {
            tokio::spawn(Arc::clone(self).conclude());
        }
    }

    /// Ends an upload that was stopped between two laps; one that has a lap ends with it, as a file
    /// does with its run.
    async fn conclude(self: Arc<Self>) {
        let turn = if self.is_kept() {
            let lap = Arc::clone(&self);
            // The lap ends when its upload hears of it, and others are kept meanwhile. A panic was
            // reported where it was.
            let _ = tokio::task::spawn_blocking(move || drop(lock(&lap.reading))).await;
            // It is kept with how it ended, which takes memory.
            Some(self.turns.keeping().await)
        } else {
            None
        };
        let conclude = move || {
            let (_turn, mut lap) = (turn, lock(&self.reading));
            if self.is_over() {
                return;
            }
            *lap = None;
            if self.lock().begun {
                self.end_by(None);
            } else {
                self.forget();
                self.end_unbegun(&mut self.lock());
            }
        };
        // A panic was reported where it was.
        let _ = tokio::task::spawn_blocking(conclude).await;
    }

    fn end_unbegun(&self, inner: &mut SessionInner) {
        inner.error = inner.stopped_by.take();
        let state = if inner.error.is_some() { SessionState::Failed } else { SessionState::Cancelled };
        self.set_state(inner, state);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.control.stopped()
    }

    /// Ends it, forgets it, and gives the memory of its rows back, and their file with it.
    pub(crate) async fn discard(self: &Arc<Self>) {
        // A session that has not ended need not be kept any more.
        self.forget_later().await;
        self.cancel();
        self.rows.close();
        self.ended().await;
        self.rows.release().await;
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(&self) {
        let mut changes = self.changes();
        while !self.state().ended() && changes.changed().await.is_ok() {}
    }

    /// Comes back once the session was cancelled, so that a silent upload does not hold its run.
    pub(crate) async fn cancelled(&self) {
        let mut changes = self.changes();
        while !self.control.stopped() && changes.changed().await.is_ok() {}
    }
}

fn failure(code: &'static str, message: &str) -> Value {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, code, message).object()
}

fn unknown_format(error: &AnalyzeError) -> ApiError {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_format", error.to_string())
}

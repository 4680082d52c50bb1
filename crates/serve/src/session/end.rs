//! End of a session: by its log, by its user, or because others need its place.

use super::locks::lock;
use super::outcome::{Failure, RunOutcome, SessionEnd};
use super::phase::Phase;
use super::{Session, SessionInner};
use crate::limits::{SETTLED_LENT_BYTES, SETTLED_LENT_SHARE, UNPACKED_BYTES_FREE, UNPACKED_RATIO_MAX};
use crate::setting::SESSIONS;
use rorqual_accesslog::analyze::AnalyzeError;
use rorqual_accesslog::report::InputReport;
use std::sync::{Arc, MutexGuard};

/// The way on for a text in no known format: both ways to make a session take one.
const GIVE_FORMAT: &str = "Send it anew with its format, as \"format\" of the session or ?format= of the upload: the name of one, \
     an nginx log_format such as '$remote_addr - $remote_user [$time_local] \"$request\" $status …', or an Apache LogFormat such as \
     '%h %l %u %t \"%r\" %>s %b'";

/// The same for a file that the server reads itself, which nobody sent.
const GIVE_FORMAT_AT_START: &str = "Start the server anew with the format of this log";

impl Session {
    /// Ends the session with the analysis, at the end of the log or at an error.
    pub(super) fn end_by(self: &Arc<Self>, error: Option<&rorqual_pipe::Error>) {
        if self.has_parts() {
            return self.end_by_parts();
        }
        let error = error.map(ToString::to_string);
        let source = self.source_so_far(error.clone());
        self.end(error.map(|message| Failure::BadInput { message }), vec![source]);
    }

    pub(super) fn end_unknown(self: &Arc<Self>, error: &AnalyzeError) {
        self.end(Some(self.failure_of(error)), Vec::new());
    }

    /// The failure of a log that is in no known format.
    pub(super) fn failure_of(&self, error: &AnalyzeError) -> Failure {
        let AnalyzeError::UnknownFormat { unknown, .. } = error;
        let way_on = if self.announced.is_file { GIVE_FORMAT_AT_START } else { GIVE_FORMAT };
        let message = if unknown.lacks_format() { format!("{error}\n{way_on}") } else { error.to_string() };
        Failure::UnknownFormat { message, lines: unknown.lines.clone() }
    }

    /// The end; before it the memory is given back that the next session may be waiting for.
    pub(super) fn end(self: &Arc<Self>, failure: Option<Failure>, sources: Vec<InputReport>) {
        let stats = self.analyzer.stats(&sources);
        let decided = self.change(&mut self.lock(), |phase| phase.finish(failure, RunOutcome { sources, stats }));
        let Some(end) = decided else { return };
        let is_waiting = end == SessionEnd::Finished && self.is_kept();
        self.keep(None, Some(end));
        self.complete_rows();
        self.analyzer.release();
        if is_waiting {
            // Its turn is for others: they need not wait for the disk.
            tokio::spawn(Arc::clone(self).finish());
        } else {
            self.step(Phase::end);
        }
    }

    /// Says that it has finished, once that outlasts an end of the whole machine, as its sender may
    /// have no other copy of the log from then on; or once the disk failed, which the log and
    /// [`SessionView::kept`](super::View) say.
    async fn finish(self: Arc<Self>) {
        Arc::clone(&self).sync_later().await;
        self.step(Phase::end);
    }

    /// No more rows come: views count all that there are once, and other sessions get the memory
    /// that they leave.
    pub(crate) fn complete_rows(&self) {
        self.rows.store().inspect(|store| store.settle((store.memory_bytes() / SETTLED_LENT_SHARE).max(SETTLED_LENT_BYTES)));
    }

    /// Stops the run; all that it has analysed stays.
    pub(crate) fn cancel(self: &Arc<Self>) {
        self.stop(self.lock(), None);
    }

    /// Ends a session that waits for the rest of an upload, because its place is needed. False
    /// where its sender came back meanwhile.
    pub(crate) fn give_way(self: &Arc<Self>) -> bool {
        let inner = self.lock();
        let is_away = inner.phase.holds_up_since().is_some();
        if is_away {
            let message = format!("its place was needed by another session ({SESSIONS}) while nothing came; send the log anew");
            self.stop(inner, Some(Failure::Displaced { message }));
        }
        is_away
    }

    /// Ends an upload that unpacks to more than a log would: it could hold the cores for hours with
    /// the bytes of a second.
    pub(crate) fn stop_if_too_dense(self: &Arc<Self>) {
        let (stored, unpacked) = (self.control.stored_bytes(), self.control.decoded_bytes());
        let most = UNPACKED_BYTES_FREE.saturating_add(stored.saturating_mul(UNPACKED_RATIO_MAX));
        if unpacked <= most || self.announced.is_file {
            return;
        }
        let message = format!(
            "{stored} bytes unpacked to {unpacked}, which is more than {UNPACKED_RATIO_MAX} times as many: no log does; unpack it, and send it so"
        );
        let inner = self.lock();
        if inner.phase.is_open() {
            self.stop(inner, Some(Failure::TooDense { message }));
        }
    }

    fn stop(self: &Arc<Self>, mut inner: MutexGuard<'_, SessionInner>, by: Option<Failure>) {
        let was_open = inner.phase.is_open();
        self.change(&mut inner, |phase| (phase.stop(by, self.is_kept()), ()));
        // A run that hears of it finds the phase.
        self.control.stop();
        self.notify();
        if was_open && !inner.phase.is_over() && !self.announced.is_file {
            tokio::spawn(Arc::clone(self).conclude());
        }
    }

    /// Ends an upload that was stopped between two slices; one that has a slice ends with it, as a
    /// file does with its run.
    async fn conclude(self: Arc<Self>) {
        let turn = if self.is_kept() {
            let slice = Arc::clone(&self);
            // The slice ends when its upload hears of it, and others are kept meanwhile. A panic
            // was reported where it was.
            let _ = tokio::task::spawn_blocking(move || drop(lock(&slice.reading))).await;
            // It is kept with how it ended, which takes memory.
            Some(self.turns().keeping().await)
        } else {
            None
        };
        let conclude = move || {
            let (_turn, mut reading) = (turn, lock(&self.reading));
            if self.is_over() {
                return;
            }
            *reading = None;
            if self.lock().phase.begun() {
                self.end_by(None);
            } else {
                self.forget();
                self.step(Phase::end);
            }
        };
        // A panic was reported where it was.
        let _ = tokio::task::spawn_blocking(conclude).await;
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
    pub(crate) async fn ended(&self) -> SessionEnd {
        let mut changes = self.changes();
        loop {
            if let Phase::Ended { end, .. } = &self.lock().phase {
                return end.clone();
            }
            // Its sender lives as long as the session.
            let _ = changes.changed().await;
        }
    }

    /// Comes back once the session was cancelled, so that a silent upload does not hold its run.
    pub(crate) async fn cancelled(&self) {
        let mut changes = self.changes();
        while !self.control.stopped() && changes.changed().await.is_ok() {}
    }
}

//! What of a session outlives the server (`--state`).

use super::{Session, State, lock, try_lock};
use crate::feed::Feed;
use crate::state::{Checkpoints, Ended, Found, Saved, SavedFormat};
use rorqual_pipe::Input;
use rorqual_table::analyze::{Left, Reading};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

impl Session {
    /// The same as it was kept, which goes on where it was.
    pub(crate) fn restored(self, Found { saved, .. }: Found) -> Self {
        let place = saved.place();
        self.took(place.offset);
        let _ = self.control.take_stored(place.offset);
        self.control.decoded(saved.decoded_bytes);
        let format = saved.format.as_ref().and_then(SavedFormat::format);
        if format.is_some() && saved.ended.is_none() {
            let input = Input::from_source(saved.name, Box::new(self.inlet.source(&self.control)));
            let left = Left { place, lines: saved.lines, format: format.clone() };
            *lock(&self.reading) = Some(self.analyzer.open(input, self.turns.pool(), &self.control, Some(left)));
        }
        self.analyzer.analysis().go_on(saved.counts);
        let mut inner = self.lock();
        inner.begun = true;
        (inner.state, inner.error) = match saved.ended {
            Some(Ended { state, error }) => (state, error),
            None if place.offset == 0 => (State::Waiting, None),
            None => (State::Interrupted, None),
        };
        inner.feed = (!inner.state.ended()).then(|| {
            let formats = format.is_none().then(|| self.formats.clone());
            Feed::new(self.line_bytes_max, formats)
        });
        inner.format = format;
        let ended = inner.state.ended();
        drop(inner);
        if ended {
            self.complete_rows();
        }
        Self { created: saved.created, ..self }
    }

    /// Keeps what is known of it, where the server has a place for that, and how it ended. Blocks. Nothing of it may run.
    pub(super) fn keep(&self, reading: Option<&Reading>, ended: Option<Ended>) {
        let (Some(checkpoints), Some(store)) = (&self.checkpoints, self.rows.store()) else { return };
        // What is decoded can't be left in the middle: it comes again from its start.
        if checkpoints.removed() || (self.own.load(Ordering::Relaxed) && ended.is_none()) {
            return;
        }
        let begun = Instant::now();
        self.unkept.store(false, Ordering::Relaxed);
        let saved = self.saved(reading, ended);
        match checkpoints.write(&saved, || store.checkpoint(false)) {
            Ok(()) => metrics::histogram!("rorqual_checkpoint_seconds").record(begun.elapsed()),
            Err(error) => {
                // The one before stays, from which the upload goes on after a restart.
                tracing::warn!(session = self.id, %error, "no checkpoint (--state)");
                self.unkept.store(true, Ordering::Relaxed);
            }
        }
    }

    fn saved(&self, reading: Option<&Reading>, ended: Option<Ended>) -> Saved {
        let mut saved = Saved::new(&self.name, self.created, self.analyzer.analysis().counts());
        saved.size = self.size();
        saved.metadata.clone_from(&self.metadata);
        saved.fingerprint.clone_from(&self.fingerprint);
        saved.given = self.formats.given.as_ref().map(SavedFormat::new);
        saved.format = self.format().as_ref().map(SavedFormat::new);
        if ended.is_some() {
            (saved.offset, saved.decoded_bytes) = (self.offset(), self.control.decoded_bytes());
        } else if let Some(Left { place, lines, .. }) = reading.map(Reading::left) {
            (saved.offset, saved.skipping, saved.lines) = (place.offset, place.skipping, lines);
            saved.decoded_bytes = place.offset;
        }
        saved.ended = ended;
        saved
    }

    /// Keeps a session of which nothing has come.
    pub(crate) fn keep_new(&self) {
        self.keep(None, None);
    }

    /// Keeps what came of it and is not kept, where nothing of it runs, and a checkpoint is due or this is the `last`; one session after another, as
    /// each takes memory for that.
    pub(crate) async fn keep_later(self: Arc<Self>, last: bool) {
        // A run of its own has what is read by to its end, and nothing is kept of it before.
        let own = || self.own.load(Ordering::Relaxed) && !self.state().ended();
        if !self.is_kept() || !self.unkept.load(Ordering::Relaxed) || own() {
            return;
        }
        let _turn = self.turns.keeping().await;
        // A panic was reported where it was.
        let _ = tokio::task::spawn_blocking(move || self.keep_now(last)).await;
    }

    fn keep_now(&self, last: bool) {
        // A lap that has it keeps what came before at its end, or leaves it to the next try.
        let Some(reading) = try_lock(&self.reading) else { return };
        if !last && !self.checkpoints.as_ref().is_some_and(Checkpoints::due) {
            return;
        }
        let (state, error, over) = {
            let inner = self.lock();
            (inner.state, inner.error.clone(), inner.ran.is_some())
        };
        match (state.ended(), over) {
            (false, false) => self.keep(reading.as_ref(), None),
            (true, true) => self.keep(None, Some(Ended { state, error })),
            // It is told at once that it has finished, or nobody knows where it failed.
            _ => {}
        }
    }

    /// Has the disk keep what was kept last, so that it outlasts an end of the whole machine; a few sessions at a time. A run may be on its way.
    pub(crate) async fn sync_later(self: Arc<Self>) {
        if !self.checkpoints.as_ref().is_some_and(Checkpoints::is_newer) {
            return;
        }
        let _place = self.turns.syncing().await;
        // A panic was reported where it was.
        let _ = tokio::task::spawn_blocking(move || self.sync()).await;
    }

    /// Who takes the rows away waits for this.
    fn sync(&self) {
        let (Some(checkpoints), Some(store)) = (&self.checkpoints, self.rows.store()) else { return };
        if let Err(error) = checkpoints.sync(|| store.sync()) {
            tracing::warn!(session = self.id, %error, "a checkpoint is not on the disk for sure (--state)");
        }
    }

    /// Whether it outlives the server.
    pub(crate) fn is_kept(&self) -> bool {
        self.checkpoints.is_some()
    }

    /// Nothing of it is kept any longer. Blocks: files of rows are large.
    pub(crate) fn forget(&self) {
        self.checkpoints.iter().for_each(Checkpoints::remove);
    }

    /// The same, on a thread that may block.
    pub(super) async fn forget_later(self: &Arc<Self>) {
        if self.is_kept() {
            let session = Arc::clone(self);
            // A panic was reported where it was.
            let _ = tokio::task::spawn_blocking(move || session.forget()).await;
        }
    }
}

//! The rows of a session, for as long as it has its place, and who asks about them.

use crate::error::ApiError;
use crate::limits::PAGES_ASKING_MAX;
use crate::twin::Twin;
use axum::http::StatusCode;
use metrics::histogram;
use rorqual_pipe::Control;
use rorqual_view::{Store, ViewError};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::{OwnedMutexGuard, OwnedRwLockReadGuard, RwLock, watch};

/// Rows, until their place is needed by another session.
pub(crate) struct Rows {
    store: Arc<RwLock<Option<Arc<Store>>>>,
    /// One question at a time: each has all threads, and the memory of a view that the store counts once.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The latest question of each page, with its turn.
    asking: Mutex<VecDeque<(String, u64, Control)>>,
    /// All that is done with the rows; `None` once they are to go.
    works: Arc<Mutex<Option<Works>>>,
}

#[derive(Default)]
struct Works {
    controls: Vec<Control>,
    /// Dropped when the rows are to go: who sends them slowly then ends.
    ended: watch::Sender<()>,
}

/// Something that is done with the rows: it is stopped when they are to go, or when nobody waits for it any longer.
pub(crate) struct Work {
    pub(crate) control: Control,
    /// Closes when the rows are to go.
    pub(crate) ended: watch::Receiver<()>,
    works: Arc<Mutex<Option<Works>>>,
}

impl Work {
    /// Why it was stopped.
    fn stopped(&self) -> ApiError {
        if self.ended.has_changed().is_err() { gone() } else { superseded() }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        self.control.stop();
        if let Some(works) = lock(&self.works).as_mut() {
            works.controls.retain(|control| !control.is_same(&self.control));
        }
    }
}

/// Rows that stay for as long as somebody holds them, who must end with his work.
pub(crate) struct Held {
    pub(crate) store: OwnedRwLockReadGuard<Option<Arc<Store>>>,
    pub(crate) work: Work,
}

/// The right to ask.
pub(crate) struct Turn {
    _held: OwnedMutexGuard<()>,
}

impl Rows {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self {
            store: Arc::new(RwLock::new(Some(store))),
            turn: Arc::default(),
            asking: Mutex::default(),
            works: Arc::new(Mutex::new(Some(Works::default()))),
        }
    }

    /// Whether there are still rows, or somebody takes them away just now.
    pub(crate) fn held(&self) -> bool {
        self.store.try_read().map_or(true, |store| store.is_some())
    }

    /// Bytes of them in the temporary file; none while somebody takes them away.
    pub(crate) fn spilled_bytes(&self) -> u64 {
        self.store.try_read().ok().and_then(|store| store.as_ref().map(|store| store.spilled_bytes())).unwrap_or(0)
    }

    /// Stops all that is done with the rows, and lets nobody begin anew.
    pub(crate) fn close(&self) {
        let works = lock(&self.works).take();
        works.iter().flat_map(|works| &works.controls).for_each(Control::stop);
    }

    /// Gives the rows' memory back, once those who look at them have stopped.
    pub(crate) async fn release(&self) {
        self.close();
        let store = self.store.write().await.take();
        // Its tables are large.
        let _ = tokio::task::spawn_blocking(move || drop(store)).await;
    }

    /// The rows, for an answer that takes as long as its reader likes.
    pub(crate) async fn hold(&self) -> Result<Held, ApiError> {
        let work = self.work()?;
        let store = Arc::clone(&self.store).read_owned().await;
        if store.is_some() { Ok(Held { store, work }) } else { Err(gone()) }
    }

    fn work(&self) -> Result<Work, ApiError> {
        let control = Control::default();
        let mut works = lock(&self.works);
        let begun = works.as_mut().ok_or_else(gone)?;
        begun.controls.push(control.clone());
        Ok(Work { control, ended: begun.ended.subscribe(), works: Arc::clone(&self.works) })
    }

    /// The turn of those who ask, if nobody has it.
    pub(crate) fn try_turn(&self) -> Option<Turn> {
        Arc::clone(&self.turn).try_lock_owned().ok().map(|held| Turn { _held: held })
    }

    /// Waits for the turn of those who ask, on a thread that may block.
    pub(crate) fn blocking_turn(&self) -> Turn {
        Turn { _held: Arc::clone(&self.turn).blocking_lock_owned() }
    }

    /// What the rows say, on a thread that may block. `None` when they are gone, or to go.
    pub(crate) fn look<T>(&self, _turn: &Turn, look: impl FnOnce(&Store, &Control) -> T) -> Option<T> {
        let work = self.work().ok()?;
        self.store.blocking_read().as_ref().map(|store| look(store, &work.control))
    }

    /// Asks the rows, for as long as the asker is there. A question of the same page with a higher turn ends one with a lower one.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        twin: &Twin,
        page: Option<(String, u64)>,
        ask: impl FnOnce(&Store, &Control) -> Result<T, ViewError> + Send + 'static,
    ) -> Result<T, ApiError> {
        tokio::select! {
            biased;
            answer = self.answer(page, ask) => answer,
            () = twin.left() => Err(ApiError::bad_request("the client closed its sending half, which ends its question")),
        }
    }

    async fn answer<T: Send + 'static>(
        &self,
        page: Option<(String, u64)>,
        ask: impl FnOnce(&Store, &Control) -> Result<T, ViewError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let work = self.work()?;
        let control = work.control.clone();
        // One that is too late need not wait for its turn.
        if page.is_some_and(|(page, turn)| !self.supersede(page, turn, &control)) {
            return Err(superseded());
        }
        let asked_at = Instant::now();
        let turn = Arc::clone(&self.turn).lock_owned().await;
        histogram!("rorqual_view_wait_seconds").record(asked_at.elapsed());
        if control.stopped() {
            return Err(work.stopped());
        }
        let store = Arc::clone(&self.store).read_owned().await;
        let asked = tokio::task::spawn_blocking(move || {
            let (_turn, begun) = (turn, Instant::now());
            let answer = store.as_ref().map(|store| ask(store, &control));
            histogram!("rorqual_view_seconds").record(begun.elapsed());
            answer
        });
        match asked.await {
            Ok(Some(Ok(answer))) => Ok(answer),
            Ok(Some(Err(ViewError::Cancelled))) => Err(work.stopped()),
            Ok(Some(Err(ViewError::Io(error)))) => {
                Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "spilled_rows", error.to_string()))
            }
            Ok(None) => Err(gone()),
            Err(error) => Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())),
        }
    }

    /// Stops the question of the page before, unless that is the newer one: then this one is too late, as requests overtake each other on
    /// their way.
    fn supersede(&self, page: String, turn: u64, control: &Control) -> bool {
        let mut asking = lock(&self.asking);
        if let Some(at) = asking.iter().position(|(other, ..)| *other == page) {
            if asking[at].1 > turn {
                return false;
            }
            asking[at].2.stop();
            asking.remove(at);
        }
        asking.truncate(PAGES_ASKING_MAX - 1);
        asking.push_front((page, turn, control.clone()));
        true
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn superseded() -> ApiError {
    ApiError::new(StatusCode::CONFLICT, "superseded", "a newer question of the same page took its place")
}

pub(crate) fn gone() -> ApiError {
    let message =
        "the rows of this session gave their place to another session (--sessions), or it was deleted; send the log anew";
    ApiError::new(StatusCode::GONE, "rows_gone", message)
}

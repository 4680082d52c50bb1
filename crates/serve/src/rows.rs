//! The rows of a session, for as long as it has its place, and who asks about them.

use crate::error::ApiError;
use crate::limits::PAGES_ASKING_MAX;
use axum::http::StatusCode;
use rorqual_pipe::Control;
use rorqual_view::{Store, ViewError};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedRwLockReadGuard, RwLock, watch};

/// Rows, until their place is needed by another session.
pub(crate) struct Rows {
    store: Arc<RwLock<Option<Arc<Store>>>>,
    /// One question at a time: each has all threads, and the memory of a view that the store counts once.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The latest question of each page, with its turn.
    asking: Mutex<VecDeque<(String, u64, Control)>>,
    /// Dropped when the rows are to go: who sends them slowly then ends.
    stays: Mutex<Option<watch::Sender<()>>>,
}

/// Rows that stay for as long as somebody holds them, which must end when `ended` closes.
pub(crate) struct Held {
    pub(crate) store: OwnedRwLockReadGuard<Option<Arc<Store>>>,
    pub(crate) ended: watch::Receiver<()>,
}

/// Stops a question when nobody waits for its answer.
struct StopOnDrop(Control);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Rows {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self {
            store: Arc::new(RwLock::new(Some(store))),
            turn: Arc::default(),
            asking: Mutex::default(),
            stays: Mutex::new(Some(watch::Sender::new(()))),
        }
    }

    /// Whether there are still rows, or somebody takes them away just now.
    pub(crate) fn held(&self) -> bool {
        self.store.try_read().map_or(true, |store| store.is_some())
    }

    /// Gives the rows' memory back, once those who look at them have stopped.
    pub(crate) async fn release(&self) {
        self.lock().iter().for_each(|(.., control)| control.stop());
        drop(self.stays.lock().unwrap_or_else(PoisonError::into_inner).take());
        let store = self.store.write().await.take();
        // Its tables are large.
        let _ = tokio::task::spawn_blocking(move || drop(store)).await;
    }

    /// The rows, for an answer that takes as long as its reader likes.
    pub(crate) async fn hold(&self) -> Result<Held, ApiError> {
        let store = Arc::clone(&self.store).read_owned().await;
        let ended = self.stays.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(watch::Sender::subscribe);
        ended.filter(|_| store.is_some()).map(|ended| Held { store, ended }).ok_or_else(gone)
    }

    /// What the rows say, on a thread that may block. `None` when they are gone.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Store) -> T) -> Option<T> {
        self.store.blocking_read().as_ref().map(|store| look(store))
    }

    /// Asks the rows. A question of the same page with a higher turn ends one with a lower one.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        page: Option<(String, u64)>,
        ask: impl FnOnce(&Store, &Control) -> Result<T, ViewError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let control = Control::default();
        let _stop = StopOnDrop(control.clone());
        if let Some((page, turn)) = page {
            self.supersede(page, turn, &control);
        }
        let turn = Arc::clone(&self.turn).lock_owned().await;
        if control.stopped() {
            return Err(superseded());
        }
        let store = Arc::clone(&self.store).read_owned().await;
        let asked = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            store.as_ref().map(|store| ask(store, &control))
        });
        match asked.await {
            Ok(Some(Ok(answer))) => Ok(answer),
            Ok(Some(Err(ViewError::Cancelled))) => Err(superseded()),
            Ok(Some(Err(ViewError::Io(error)))) => {
                Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "spilled_rows", error.to_string()))
            }
            Ok(None) => Err(gone()),
            Err(error) => Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())),
        }
    }

    fn supersede(&self, page: String, turn: u64, control: &Control) {
        let mut asking = self.lock();
        if let Some(at) = asking.iter().position(|(other, ..)| *other == page) {
            // Requests overtake each other on their way.
            let older = if asking[at].1 > turn { control } else { &asking[at].2 };
            older.stop();
            if asking[at].1 > turn {
                return;
            }
            asking.remove(at);
        }
        asking.truncate(PAGES_ASKING_MAX - 1);
        asking.push_front((page, turn, control.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, u64, Control)>> {
        self.asking.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn superseded() -> ApiError {
    ApiError::new(StatusCode::CONFLICT, "superseded", "a newer question of the same page took its place, or its rows were needed")
}

fn gone() -> ApiError {
    let message = "the rows of this session gave their place to another session (--sessions); send the log anew";
    ApiError::new(StatusCode::GONE, "rows_gone", message)
}

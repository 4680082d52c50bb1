//! The rows of a session, for as long as it has its place, and who asks about them.

use crate::error::ApiError;
use crate::limits::PAGES_ASKING_MAX;
use axum::http::StatusCode;
use rorqual_pipe::Control;
use rorqual_view::{Store, ViewError};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::RwLock;

/// Rows, until their place is needed by another session.
pub(crate) struct Rows {
    store: Arc<RwLock<Option<Arc<Store>>>>,
    /// One question at a time: each has all threads, and the memory of a view that the store counts once.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The latest question of each page.
    asking: Mutex<VecDeque<(String, Control)>>,
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
        Self { store: Arc::new(RwLock::new(Some(store))), turn: Arc::default(), asking: Mutex::default() }
    }

    /// Whether there are still rows, or somebody takes them away just now.
    pub(crate) fn held(&self) -> bool {
        self.store.try_read().map_or(true, |store| store.is_some())
    }

    /// Gives the rows' memory back, once those who look at them have stopped.
    pub(crate) async fn release(&self) {
        self.lock().iter().for_each(|(_, control)| control.stop());
        let store = self.store.write().await.take();
        // Its tables are large.
        let _ = tokio::task::spawn_blocking(move || drop(store)).await;
    }

    /// What the rows say, on a thread that may block. `None` when they are gone.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Store) -> T) -> Option<T> {
        self.store.blocking_read().as_ref().map(|store| look(store))
    }

    /// Asks the rows. A newer question of the same page ends an older one.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        page: Option<String>,
        ask: impl FnOnce(&Store, &Control) -> Result<T, ViewError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let control = Control::default();
        let _stop = StopOnDrop(control.clone());
        if let Some(page) = page {
            self.supersede(page, &control);
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
            Ok(Some(Err(ViewError::Io(error)))) => Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "spilled_rows", error.to_string())),
            Ok(None) => Err(gone()),
            Err(error) => Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())),
        }
    }

    fn supersede(&self, page: String, control: &Control) {
        let mut asking = self.lock();
        asking.retain(|(other, older)| {
            let same = *other == page;
            if same {
                older.stop();
            }
            !same
        });
        asking.truncate(PAGES_ASKING_MAX - 1);
        asking.push_front((page, control.clone()));
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, Control)>> {
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

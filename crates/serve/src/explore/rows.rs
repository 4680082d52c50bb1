//! The rows of a session, for as long as it has its place, and who asks about them.

use crate::admission::{PermitGuard, PermitKind, PermitPool};
use crate::http::disconnect_watch::DisconnectWatch;
use crate::http::error::ApiError;
use crate::limits::PAGES_ASKING_MAX;
use crate::setting::SESSIONS;
use axum::http::StatusCode;
use metrics::histogram;
use rorqual_crossfilter::{RowStore, ViewError};
use rorqual_pipe::Control;
use rorqual_pipe::setting::MEMORY;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::{OwnedRwLockReadGuard, RwLock, oneshot, watch};

/// Rows, until their place is needed by another session.
pub(crate) struct SharedRowStore {
    store: Arc<RwLock<Option<Arc<RowStore>>>>,
    /// One question of these rows waits for the turn that all sessions share; the others wait for
    /// that one. So sessions take turns, however much is asked of one of them.
    next: PermitPool,
    turn: PermitPool,
    /// The latest question of each page.
    asking: Mutex<VecDeque<LatestQuestion>>,
    /// All that is done with the rows; `None` once they are to go.
    works: Arc<Mutex<Option<RowsWorks>>>,
}

/// The latest question of a page.
struct LatestQuestion {
    page: String,
    turn: u64,
    control: Control,
    /// Told when a newer one takes its place.
    superseded: oneshot::Sender<()>,
}

#[derive(Default)]
struct RowsWorks {
    controls: Vec<Control>,
    /// Dropped when the rows are to go: who sends them slowly then ends.
    ended: watch::Sender<()>,
}

/// Something that is done with the rows: it is stopped when they are to go, or when nobody waits
/// for it any longer.
pub(crate) struct RowsWork {
    pub(crate) control: Control,
    /// Closes when the rows are to go.
    pub(crate) ended: watch::Receiver<()>,
    works: Arc<Mutex<Option<RowsWorks>>>,
}

impl RowsWork {
    /// Done when the rows are to go.
    async fn ended(&self) {
        let mut ended = self.ended.clone();
        while ended.changed().await.is_ok() {}
    }

    /// The error of a stopped question.
    fn stopped(&self) -> ApiError {
        if self.ended.has_changed().is_err() { gone() } else { superseded() }
    }
}

impl Drop for RowsWork {
    fn drop(&mut self) {
        self.control.stop();
        if let Some(works) = lock(&self.works).as_mut() {
            works.controls.retain(|control| !control.is_same(&self.control));
        }
    }
}

/// Rows that stay for as long as somebody holds them, who must end with his work.
pub(crate) struct RowsGuard {
    pub(crate) store: OwnedRwLockReadGuard<Option<Arc<RowStore>>>,
    pub(crate) work: RowsWork,
}

/// Rows that nobody takes away meanwhile.
pub(crate) type StoreGuard = OwnedRwLockReadGuard<Option<Arc<RowStore>>, Arc<RowStore>>;

/// The right to ask, of one question at a time, of all sessions: each has all threads, and the
/// memory of a view and of an answer in the making, which are counted once.
pub(crate) struct QueryPermit {
    _held: PermitGuard,
}

impl SharedRowStore {
    pub(crate) fn new(store: Arc<RowStore>, turn: PermitPool) -> Self {
        Self {
            store: Arc::new(RwLock::new(Some(store))),
            next: PermitPool::new(PermitKind::NextQuestion, 1),
            turn,
            asking: Mutex::default(),
            works: Arc::new(Mutex::new(Some(RowsWorks::default()))),
        }
    }

    /// The rows, where they are there and nobody takes them away; nor does anybody before this is
    /// dropped.
    pub(crate) fn store(&self) -> Option<StoreGuard> {
        let store = Arc::clone(&self.store).try_read_owned().ok()?;
        OwnedRwLockReadGuard::try_map(store, Option::as_ref).ok()
    }

    /// True if there are still rows, or they are just being taken away.
    pub(crate) fn held(&self) -> bool {
        self.store.try_read().map_or(true, |store| store.is_some())
    }

    /// Most memory and file bytes of the rows, of a `share` at most; `None` where they are gone.
    pub(crate) fn claim(&self, share: [u64; 2]) -> Option<[u64; 2]> {
        match self.store.try_read() {
            Ok(store) => store.as_ref().map(|store| [store.memory_bytes(), store.file_bytes_max()]),
            // Somebody takes them away just now.
            Err(_) => Some(share),
        }
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

    /// Takes the rows away, once those who look at them have stopped, and puts others in their
    /// place, which `make` makes with the same memory; `None` where they are to go. Blocks.
    pub(crate) fn replace<E>(&self, make: impl FnOnce() -> Result<Arc<RowStore>, E>) -> Option<Result<Arc<RowStore>, E>> {
        lock(&self.works).as_ref()?.controls.iter().for_each(Control::stop);
        let mut store = self.store.blocking_write();
        // An empty one takes no memory, and stays where there can be no other.
        let empty = store.take().map(|store| (store.rows() == 0).then_some(store))?;
        let made = make();
        *store = made.as_ref().ok().map(Arc::clone).or(empty);
        Some(made)
    }

    /// The rows, for an answer that takes as long as its reader likes.
    pub(crate) async fn hold(&self) -> Result<RowsGuard, ApiError> {
        let work = self.work()?;
        let store = Arc::clone(&self.store).read_owned().await;
        if store.is_some() { Ok(RowsGuard { store, work }) } else { Err(gone()) }
    }

    fn work(&self) -> Result<RowsWork, ApiError> {
        let control = Control::default();
        let mut works = lock(&self.works);
        let begun = works.as_mut().ok_or_else(gone)?;
        begun.controls.push(control.clone());
        Ok(RowsWork { control, ended: begun.ended.subscribe(), works: Arc::clone(&self.works) })
    }

    /// Waits for the turn of those who ask.
    pub(crate) async fn acquire(&self) -> QueryPermit {
        QueryPermit { _held: self.turn.acquire().await }
    }

    /// Looks at the rows, also at those that are to go. `None` when they are gone, or just being
    /// taken away.
    pub(crate) fn look<T>(&self, _turn: &QueryPermit, look: impl FnOnce(&RowStore) -> T) -> Option<T> {
        self.store.try_read().ok()?.as_ref().map(|store| look(store))
    }

    /// Asks the rows, once it has the things to be `held` before the permit, for as long as the
    /// asker is there. A question of the same page with a higher turn ends one with a lower one.
    pub(crate) async fn ask<H, T: Send + 'static>(
        &self,
        twin: &DisconnectWatch,
        page: Option<(String, u64)>,
        held: impl Future<Output = H>,
        ask: impl FnOnce(&RowStore, &Control) -> Result<T, ViewError> + Send + 'static,
    ) -> Result<(H, T), ApiError> {
        tokio::select! {
            biased;
            answer = self.answer(page, held, ask) => answer,
            () = twin.left() => Err(ApiError::bad_request("the client closed its sending half, which ends its question")),
        }
    }

    async fn answer<H, T: Send + 'static>(
        &self,
        page: Option<(String, u64)>,
        held: impl Future<Output = H>,
        ask: impl FnOnce(&RowStore, &Control) -> Result<T, ViewError> + Send + 'static,
    ) -> Result<(H, T), ApiError> {
        let work = self.work()?;
        let control = work.control.clone();
        let superseded = self.supersede(page, &control)?;
        let asked_at = Instant::now();
        // One that is too late keeps no place among those that wait.
        let (held, store, turn) = tokio::select! {
            biased;
            () = work.ended() => return Err(gone()),
            Ok(()) = superseded => return Err(self::superseded()),
            waited = self.wait(held) => waited,
        };
        histogram!("rorqual_view_wait_seconds").record(asked_at.elapsed());
        if control.stopped() {
            return Err(work.stopped());
        }
        let asked = tokio::task::spawn_blocking(move || {
            let (_turn, begun) = (turn, Instant::now());
            let answer = store.as_ref().map(|store| ask(store, &control));
            histogram!("rorqual_view_seconds").record(begun.elapsed());
            answer
        });
        match asked.await {
            Ok(Some(Ok(answer))) => Ok((held, answer)),
            Ok(Some(Err(ViewError::Cancelled))) => Err(work.stopped()),
            Ok(Some(Err(ViewError::Io(error)))) => {
                Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "spilled_rows", error.to_string()))
            }
            Ok(Some(Err(ViewError::Unanswerable(error)))) => Err(ApiError::bad_request(error.to_string())),
            Ok(None) => Err(gone()),
            Err(error) => Err(ApiError::internal(error)),
        }
    }

    /// All that is to be had before the turn, and then the turn.
    async fn wait<H>(&self, held: impl Future<Output = H>) -> (H, OwnedRwLockReadGuard<Option<Arc<RowStore>>>, QueryPermit) {
        let _next = self.next.acquire().await;
        let store = Arc::clone(&self.store).read_owned().await;
        let held = held.await;
        (held, store, self.acquire().await)
    }

    /// Stops the question of the page before, unless that is the newer one: then this one is too
    /// late, as requests overtake each other on their way. Returns the receiver that hears when
    /// this one is superseded itself.
    fn supersede(&self, page: Option<(String, u64)>, control: &Control) -> Result<oneshot::Receiver<()>, ApiError> {
        let (told, superseded) = oneshot::channel();
        let Some((page, turn)) = page else { return Ok(superseded) };
        let mut asking = lock(&self.asking);
        if let Some(at) = asking.iter().position(|other| other.page == page) {
            if asking[at].turn > turn {
                return Err(self::superseded());
            }
            if let Some(before) = asking.remove(at) {
                before.control.stop();
                // Nobody hears it where it was answered.
                let _ = before.superseded.send(());
            }
        }
        asking.truncate(PAGES_ASKING_MAX - 1);
        asking.push_front(LatestQuestion { page, turn, control: control.clone(), superseded: told });
        Ok(superseded)
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

fn superseded() -> ApiError {
    ApiError::new(StatusCode::CONFLICT, "superseded", "a newer question of the same page took its place")
}

pub(crate) fn gone() -> ApiError {
    let message = format!(
        "the rows of this session gave their place to another session ({MEMORY}, {SESSIONS}), or it was deleted; send the log anew"
    );
    ApiError::new(StatusCode::GONE, "rows_gone", message)
}

#[cfg(test)]
mod tests {
    use super::{ApiError, PermitKind, PermitPool, RowStore, SharedRowStore};
    use futures_util::future::{join, join_all};
    use rorqual_crossfilter::RowStoreSettings;
    use rorqual_crossfilter::limits::{STORE_BYTES_MIN, WORK_BYTES_MIN};
    use std::future::{pending, ready};
    use std::pin::Pin;
    use std::sync::mpsc::{Sender, channel};
    use std::task::{Context, Waker};
    use tokio::runtime::{Builder, Runtime};

    fn turn() -> PermitPool {
        PermitPool::new(PermitKind::Query, 1)
    }

    fn rows(turn: &PermitPool) -> SharedRowStore {
        SharedRowStore::new(
            RowStore::new(RowStoreSettings::new(STORE_BYTES_MIN, WORK_BYTES_MIN, 1)).expect("no file is needed"),
            turn.clone(),
        )
    }

    fn runtime() -> Runtime {
        Builder::new_current_thread().enable_all().build().expect("a runtime")
    }

    type Answered<'a> = Pin<Box<dyn Future<Output = Result<((), ()), ApiError>> + 'a>>;

    /// A question that tells its name when it is answered.
    fn question<'a>(rows: &'a SharedRowStore, told: &Sender<&'static str>, name: &'static str) -> Answered<'a> {
        let told = told.clone();
        Box::pin(rows.answer(None, ready(()), move |_, _| {
            told.send(name).expect("it is heard");
            Ok(())
        }))
    }

    #[test]
    fn sessions_take_turns_however_much_is_asked_of_one() {
        let turn = turn();
        let (busy, other) = (rows(&turn), rows(&turn));
        let (told, heard) = channel();
        runtime().block_on(async {
            let before = turn.acquire().await;
            let mut asked: Vec<Answered<'_>> = ["1", "2", "3"].iter().map(|name| question(&busy, &told, name)).collect();
            asked.push(question(&other, &told, "other"));
            // They come in this order.
            let mut context = Context::from_waker(Waker::noop());
            asked.iter_mut().for_each(|asked| assert!(asked.as_mut().poll(&mut context).is_pending()));
            drop(before);
            join_all(asked).await.into_iter().for_each(|answer| assert!(answer.is_ok()));
        });
        assert_eq!(heard.try_iter().collect::<Vec<_>>(), ["1", "other", "2", "3"]);
    }

    #[test]
    fn who_waits_for_a_ticket_has_no_turn_and_a_newer_question_ends_it() {
        let turn = turn();
        let (stuck, other) = (rows(&turn), rows(&turn));
        runtime().block_on(async {
            let page = |turn| Some(("page".to_owned(), turn));
            let mut old = Box::pin(stuck.answer(page(1), pending::<()>(), |_, _| Ok(())));
            let mut context = Context::from_waker(Waker::noop());
            assert!(old.as_mut().poll(&mut context).is_pending());
            assert!(other.answer(None, ready(()), |_, _| Ok(())).await.is_ok(), "other sessions are answered");
            let new = Box::pin(stuck.answer(page(2), ready(()), |_, _| Ok(())));
            let (old, new) = join(old, new).await;
            assert_eq!(old.expect_err("it is too late").code(), "superseded");
            assert!(new.is_ok());
            assert_eq!(stuck.answer(page(1), ready(()), |_, _| Ok(())).await.expect_err("it is too late").code(), "superseded");
        });
    }

    #[test]
    fn rows_stay_for_as_long_as_somebody_has_them() {
        let rows = rows(&turn());
        runtime().block_on(async {
            let store = rows.store().expect("nobody takes them");
            let mut release = Box::pin(rows.release());
            let mut context = Context::from_waker(Waker::noop());
            assert!(release.as_mut().poll(&mut context).is_pending());
            assert!(rows.store().is_none(), "they are to go");
            drop(store);
            release.await;
            assert!(!rows.held());
        });
    }
}

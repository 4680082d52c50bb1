//! Scheduler of the workers and blocks with which sessions are analysed.

use super::{Admission, PermitGuard, PermitKind, PermitPool};
use rorqual_accesslog::analyze::AnalysisShares;
use rorqual_pipe::BufferPool;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::sync::watch;

/// The workers that all uploads share, in the order in which they ask.
pub(crate) struct Scheduler {
    pool: BufferPool,
    threads: usize,
    /// A place for each worker.
    workers: PermitPool,
    waiting: watch::Sender<usize>,
    held: PermitPool,
    held_wanted: AtomicBool,
    /// Held while a session is kept for the next server.
    keeping: PermitPool,
    /// Held while a checkpoint is synced to the disk.
    syncing: PermitPool,
    own: PermitPool,
    own_waiting: watch::Sender<usize>,
    own_wanted: AtomicBool,
}

/// The right to run workers over a stretch of a log.
pub(crate) struct WorkerGrant {
    pub(crate) threads: usize,
    pub(crate) pool: BufferPool,
    kind: GrantKind,
    _place: PermitGuard,
}

enum GrantKind {
    /// Until others want it.
    Shared(Arc<Scheduler>),
    /// To the end of the log.
    Own,
}

/// Counts somebody who waits.
struct WaitCount<'a>(&'a watch::Sender<usize>);

impl<'a> WaitCount<'a> {
    fn new(count: &'a watch::Sender<usize>) -> Self {
        count.send_modify(|count| *count += 1);
        Self(count)
    }
}

impl Drop for WaitCount<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

impl Scheduler {
    pub(crate) fn new(shares: &AnalysisShares, admission: &Admission) -> Arc<Self> {
        Arc::new(Self {
            pool: shares.pool(),
            threads: shares.threads,
            workers: PermitPool::new(PermitKind::Worker, shares.threads),
            waiting: watch::Sender::new(0),
            held: admission.pool(PermitKind::LineStart),
            held_wanted: AtomicBool::new(false),
            keeping: admission.pool(PermitKind::Save),
            syncing: admission.pool(PermitKind::Sync),
            own: admission.pool(PermitKind::Decoder),
            own_waiting: watch::Sender::new(0),
            own_wanted: AtomicBool::new(false),
        })
    }

    /// A turn: with all workers where nobody else has or wants one, else with one.
    pub(crate) async fn acquire_shared(self: &Arc<Self>) -> WorkerGrant {
        let threads = if self.quiet() { self.threads } else { 1 };
        let waiting = WaitCount::new(&self.waiting);
        let place = self.workers.acquire_many(threads).await;
        drop(waiting);
        WorkerGrant { threads, pool: self.pool.clone(), kind: GrantKind::Shared(Arc::clone(self)), _place: place }
    }

    /// A permit to the end of a log, with the blocks of `pool`: a decoder can't be left in the
    /// middle. Without waiting it is `None` where all are taken; the shared workers, which a single
    /// session has instead, are always waited for, as nobody has them for long.
    pub(crate) async fn acquire_dedicated(self: &Arc<Self>, pool: &BufferPool, waits: bool) -> Option<WorkerGrant> {
        let waiting = WaitCount::new(&self.own_waiting);
        let (place, pool) = match self.own.count() {
            0 => (self.workers.acquire_many(self.threads).await, &self.pool),
            _ if waits => (self.own.acquire().await, pool),
            _ => {
                let place = self.own.try_acquire();
                if place.is_none() {
                    self.own_wanted.store(true, Ordering::Relaxed);
                }
                (place?, pool)
            }
        };
        drop(waiting);
        Some(WorkerGrant { threads: self.threads, pool: pool.clone(), kind: GrantKind::Own, _place: place })
    }

    /// The turn to keep a session of which nothing runs.
    pub(crate) async fn keeping(&self) -> PermitGuard {
        self.keeping.acquire().await
    }

    /// A place to wait for the disk.
    pub(crate) async fn syncing(&self) -> PermitGuard {
        self.syncing.acquire().await
    }

    /// True if an upload waits for a permit to the end of a log, or found none since the last call.
    pub(crate) fn own_wanted(&self) -> bool {
        self.own_wanted.swap(false, Ordering::Relaxed) || *self.own_waiting.borrow() > 0
    }

    /// A place for the start of a line, or of a log, while the rest of it is waited for; `None`
    /// where all are taken.
    pub(crate) fn hold(&self) -> Option<PermitGuard> {
        let place = self.held.try_acquire();
        if place.is_none() {
            self.held_wanted.store(true, Ordering::Relaxed);
        }
        place
    }

    /// True if an upload found no such place since the last call.
    pub(crate) fn held_wanted(&self) -> bool {
        self.held_wanted.swap(false, Ordering::Relaxed)
    }

    /// The blocks of shared turns.
    pub(crate) fn pool(&self) -> &BufferPool {
        &self.pool
    }

    /// Bytes of blocks that are lent, and that there may be.
    pub(crate) fn pool_bytes(&self) -> (u64, u64) {
        let bytes = |buffers: usize| (buffers * self.pool.buffer_bytes()) as u64;
        (bytes(self.pool.lent()), bytes(self.pool.buffers_max()) * (1 + self.own.count() as u64))
    }

    /// Gives the memory of the blocks back that nobody has used for a while.
    pub(crate) fn rest(&self) {
        if self.quiet() {
            self.pool.release_free();
        }
    }

    fn quiet(&self) -> bool {
        *self.waiting.borrow() == 0 && self.workers.free() == self.threads
    }
}

impl WorkerGrant {
    /// True if it lasts to the end of the log.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self.kind, GrantKind::Own)
    }

    /// True if another permit would be of more use: to others, or to this one with all workers.
    pub(crate) fn better_ended(&self) -> bool {
        match &self.kind {
            GrantKind::Own => false,
            GrantKind::Shared(turns) => {
                let others = turns.threads - self.threads;
                *turns.waiting.borrow() > 0 || (others > 0 && turns.workers.free() == others)
            }
        }
    }

    /// Comes back when somebody waits for a turn.
    pub(crate) async fn wanted(&self) {
        match &self.kind {
            GrantKind::Own => std::future::pending().await,
            // Its sender lives as long as this turn.
            GrantKind::Shared(turns) => drop(turns.waiting.subscribe().wait_for(|waiting| *waiting > 0).await),
        }
    }
}

//! Order in which a task waits for permits. A task that holds one waits only for later ones, so no
//! ring of waits can close. Debug builds assert it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::task::Id;

/// Kinds of permits, in the order in which a task may wait for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PermitKind {
    /// Large buffers of a connection. Nobody waits for one.
    WideConnection,
    /// A connection that has not shown the token. It gives way to others.
    Stranger,
    /// A connection that has shown the token.
    Connection,
    /// A test of a connection. Nobody waits for one.
    Test,
    /// A rendering. Nobody waits for one.
    Render,
    /// An export. Nobody waits for one.
    Export,
    /// A body on its way into the store. Nobody waits for one.
    Put,
    /// An entry of the store on its way through TLS. Nobody waits for one.
    Read,
    /// A question to the store.
    StoreQuestion,
    /// A long body of JSON, until its answer is made.
    Body,
    /// Making room for a new session.
    Room,
    /// A session that has not ended. Another one gives way to a new one, or the new one is refused.
    Session,
    /// An ended session without rows. The oldest gives way.
    EndedSession,
    /// The next question of a session.
    NextQuestion,
    /// The long answer of a connection, of which it has one at a time.
    ConnectionAnswer,
    /// A long answer, of all connections.
    Answer,
    /// The question or report being made, of all sessions.
    Query,
    /// The start of a line or of a log while its rest is to come. Nobody waits for one.
    LineStart,
    /// Workers of its own for a log that is decoded, to its end.
    Decoder,
    /// Reading of a table, to its end.
    Table,
    /// The memory of a part with a checksum where its session has none.
    Checksum,
    /// A worker that all uploads share, for a slice.
    Worker,
    /// Saving a session of which nothing runs.
    Save,
    /// A wait for the disk.
    Sync,
}

/// Permits that tasks hold, in debug builds: the record's number, its task, and the kind.
static HELD: Mutex<Vec<(u64, Id, PermitKind)>> = Mutex::new(Vec::new());
static LATEST: AtomicU64 = AtomicU64::new(0);

/// Note of a permit that a task holds, until it is dropped, anywhere; 0 is none. Code outside of
/// tasks has none: threads that may block wait for no permit, and tests hold what they like.
#[derive(Debug)]
pub(super) struct HeldRecord(u64);

impl HeldRecord {
    pub(super) fn new(kind: PermitKind) -> Self {
        let Some(task) = task() else { return Self::none() };
        let number = LATEST.fetch_add(1, Ordering::Relaxed) + 1;
        held().push((number, task, kind));
        Self(number)
    }

    pub(super) fn none() -> Self {
        Self(0)
    }
}

impl Drop for HeldRecord {
    fn drop(&mut self) {
        if self.0 > 0 {
            held().retain(|(number, ..)| *number != self.0);
        }
    }
}

/// Panics where this task must not wait for `wanted`. It may hold others of that kind: its futures
/// may run side by side.
pub(super) fn check(wanted: PermitKind) {
    let Some(task) = task() else { return };
    let last = held().iter().filter(|(_, holder, _)| *holder == task).map(|(.., kind)| *kind).max();
    assert!(last <= Some(wanted), "a task that holds {last:?} waits for {wanted:?}, which comes before it");
}

fn task() -> Option<Id> {
    if cfg!(debug_assertions) { tokio::task::try_id() } else { None }
}

fn held() -> MutexGuard<'static, Vec<(u64, Id, PermitKind)>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::PermitKind;
    use crate::admission::PermitPool;
    use tokio::spawn;

    #[tokio::test]
    async fn a_task_that_waits_for_permits_in_the_wrong_order_panics() {
        let pools = || [PermitKind::Answer, PermitKind::Query].map(|kind| PermitPool::new(kind, 1));
        let [answers, queries] = pools();
        let right = spawn(async move { (answers.acquire().await, queries.acquire().await) });
        assert!(right.await.is_ok());
        let [answers, queries] = pools();
        let wrong = spawn(async move { (queries.acquire().await, answers.acquire().await) });
        assert!(wrong.await.expect_err("it must not wait").is_panic());
    }

    #[tokio::test]
    async fn given_back_detached_and_tried_permits_are_in_no_order() {
        let [answers, queries] = [PermitKind::Answer, PermitKind::Query].map(|kind| PermitPool::new(kind, 2));
        let held = spawn(async move {
            drop(queries.acquire().await);
            let first = (queries.acquire().await.detach(), answers.acquire().await);
            (first, queries.acquire().await, answers.try_acquire())
        });
        let held = held.await.expect("no panic");
        assert!(held.2.is_some());
        // Dropped by another task than the one that has waited for it.
        drop(held);
    }
}

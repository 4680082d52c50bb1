//! Permits of all that runs or is held at a time: one table of their numbers and memory, and the
//! order in which a task waits for them.

pub(crate) mod order;
pub(crate) mod response_permits;
pub(crate) mod scheduler;
mod table;

pub(crate) use order::PermitKind;
pub(crate) use table::{Admission, AdmissionCounts};

use order::HeldRecord;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The permits of one kind, given in the order in which they are asked for. Clones share them.
#[derive(Debug, Clone)]
pub(crate) struct PermitPool {
    kind: PermitKind,
    count: usize,
    // Never closed.
    semaphore: Arc<Semaphore>,
}

/// One permit or several, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct PermitGuard {
    _permit: Option<OwnedSemaphorePermit>,
    record: HeldRecord,
}

impl PermitPool {
    pub(crate) fn new(kind: PermitKind, count: usize) -> Self {
        Self { kind, count, semaphore: Arc::new(Semaphore::new(count)) }
    }

    /// Waits for a permit.
    pub(crate) async fn acquire(&self) -> PermitGuard {
        self.acquire_many(1).await
    }

    /// Waits for so many permits, at most all of them.
    ///
    /// # Panics
    /// In debug builds, where this task holds a permit that has to come after these.
    pub(crate) async fn acquire_many(&self, count: usize) -> PermitGuard {
        order::check(self.kind);
        let permit = Arc::clone(&self.semaphore).acquire_many_owned(count as u32).await.ok();
        PermitGuard { _permit: permit, record: HeldRecord::new(self.kind) }
    }

    /// A permit, where one is free. In any order: nothing is waited for.
    pub(crate) fn try_acquire(&self) -> Option<PermitGuard> {
        let permit = Arc::clone(&self.semaphore).try_acquire_owned().ok()?;
        Some(PermitGuard { _permit: Some(permit), record: HeldRecord::new(self.kind) })
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }

    pub(crate) fn free(&self) -> usize {
        self.semaphore.available_permits()
    }

    pub(crate) fn taken(&self) -> usize {
        self.count - self.free()
    }
}

impl PermitGuard {
    /// The same for something that ends whatever its task waits for, such as bytes on their way: it
    /// is no longer looked at for the order.
    pub(crate) fn detach(mut self) -> Self {
        self.record = HeldRecord::none();
        self
    }
}

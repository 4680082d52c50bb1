//! Semaphore of operations that run for others: a bound on how many run at once, and a count and a
//! clock for each.
//!
//! Measures go through the `metrics` facade, which costs next to nothing until a recorder is
//! installed. `operation` is the verb or the method (`hash`, `store.put`):
//!
//! | name | kind | labels |
//! |---|---|---|
//! | `rorqual_operations_total` | counter | `operation`, `outcome`: `done` or the error's kind |
//! | `rorqual_operation_seconds` | histogram | `operation` |
//! | `rorqual_operations_in_flight` | gauge | `operation` |
//! | `rorqual_operation_bytes_total` | counter | `operation` |
//! | `rorqual_pool_waits_total`, `rorqual_pool_wait_seconds` | counter, histogram | |

use crate::error::Error;
use metrics::{counter, gauge, histogram};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

/// Lets a fixed number of operations run at the same time; clones share one count.
#[derive(Debug, Clone)]
pub struct Semaphore {
    shared: Arc<SemaphoreState>,
}

#[derive(Debug)]
struct SemaphoreState {
    free: Mutex<usize>,
    left: Condvar,
}

/// The right to run, until dropped.
#[derive(Debug)]
pub struct Permit {
    shared: Arc<SemaphoreState>,
}

impl Semaphore {
    /// A gate for `operations_max` at once; 0 counts as 1.
    #[must_use]
    pub fn new(operations_max: usize) -> Self {
        Self { shared: Arc::new(SemaphoreState { free: Mutex::new(operations_max.max(1)), left: Condvar::new() }) }
    }

    /// Waits for a turn.
    #[must_use]
    pub fn acquire(&self) -> Permit {
        let free = self.shared.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.shared.left.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        Permit { shared: Arc::clone(&self.shared) }
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *self.shared.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.shared.left.notify_one();
    }
}

/// One operation, counted and timed. Dropped without a word it counts as `cancelled`.
#[derive(Debug)]
pub struct Operation {
    name: &'static str,
    start: Instant,
    outcome: &'static str,
}

impl Operation {
    /// Starts the clock.
    #[must_use]
    pub fn start(name: &'static str) -> Self {
        gauge!("rorqual_operations_in_flight", "operation" => name).increment(1.0);
        Self { name, start: Instant::now(), outcome: "cancelled" }
    }

    /// Adds bytes that went through.
    pub fn bytes(&self, bytes: u64) {
        counter!("rorqual_operation_bytes_total", "operation" => self.name).increment(bytes);
    }

    /// Marks the operation as successful.
    pub fn done(mut self) {
        self.outcome = "done";
    }

    /// It ended, well or with an error.
    pub fn ended(self, error: Option<&Error>) {
        match error {
            None => self.done(),
            Some(error) => self.failed(error.kind().name()),
        }
    }

    /// It failed; `kind` is one of a fixed few, as it becomes a label.
    pub fn failed(mut self, kind: &'static str) {
        self.outcome = kind;
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        gauge!("rorqual_operations_in_flight", "operation" => self.name).decrement(1.0);
        counter!("rorqual_operations_total", "operation" => self.name, "outcome" => self.outcome).increment(1);
        histogram!("rorqual_operation_seconds", "operation" => self.name).record(self.start.elapsed());
    }
}

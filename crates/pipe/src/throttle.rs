//! A limit on how fast bytes are taken, as `curl --limit-rate`.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Spreads bytes over time; shared by all workers of a run.
#[derive(Debug)]
pub(crate) struct Throttle {
    bytes_per_second: f64,
    /// Time at which the bytes taken so far are paid off.
    paid_until: Mutex<Instant>,
}

impl Throttle {
    pub(crate) fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1) as f64, paid_until: Mutex::new(Instant::now()) }
    }

    /// Time for which the caller has to sleep for the `bytes` it just took.
    pub(crate) fn take(&self, bytes: u64) -> Duration {
        let cost = Duration::from_secs_f64(bytes as f64 / self.bytes_per_second);
        let now = Instant::now();
        let mut paid_until = self.paid_until.lock().unwrap_or_else(PoisonError::into_inner);
        *paid_until = (*paid_until).max(now) + cost;
        *paid_until - now
    }
}

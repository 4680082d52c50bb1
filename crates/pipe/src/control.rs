//! Watches and steers a run from outside.

use crate::limits::STOP_CHECK;
use crate::throttle::Throttle;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Watches and steers a run from outside; clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Control {
    shared: Arc<ControlState>,
}

#[derive(Debug, Default)]
struct ControlState {
    stop: AtomicBool,
    stored_bytes: AtomicU64,
    decoded_bytes: AtomicU64,
    reads: AtomicU64,
    throttle: Option<Throttle>,
    /// The run that this is a part of.
    whole: Option<Control>,
    /// All that is counted is counted for the whole, too.
    counts_for_whole: bool,
    /// Held from a waiter's look at `stop` until it sleeps, and while `told` is notified: no
    /// notification is lost in between.
    waiting: Mutex<()>,
    told: Condvar,
}

impl Control {
    /// A control that lets at most `bytes_per_second` stored bytes pass (`None`: no limit).
    #[must_use]
    pub fn with_rate_limit(bytes_per_second: Option<u64>) -> Self {
        let throttle = bytes_per_second.map(Throttle::new);
        Self { shared: Arc::new(ControlState { throttle, ..ControlState::default() }) }
    }

    /// The control of a part of the run, which ends with the run or by itself. Its counts and its
    /// rate are its own.
    #[must_use]
    pub fn part(&self) -> Self {
        Self { shared: Arc::new(ControlState { whole: Some(self.clone()), ..ControlState::default() }) }
    }

    /// The control of one of several inputs of the run. It has counts of its own, which are in
    /// those of the run, too, and keeps to the rate of the run.
    #[must_use]
    pub fn of_input(&self) -> Self {
        let state = ControlState { whole: Some(self.clone()), counts_for_whole: true, ..ControlState::default() };
        Self { shared: Arc::new(state) }
    }

    /// The run for which all is counted, too.
    fn counted_whole(&self) -> Option<&Self> {
        self.shared.whole.as_ref().filter(|_| self.shared.counts_for_whole)
    }

    /// Asks the run to end soon; all that was taken by then is complete.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        let _waiting = self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        self.shared.told.notify_all();
    }

    /// Waits for [`Control::stop`], but not longer than `patience`; whether it was called.
    #[must_use]
    pub fn stopped_within(&self, patience: Duration) -> bool {
        // Nobody wakes a part where the whole run is stopped.
        let step = if self.shared.whole.is_some() { STOP_CHECK } else { patience };
        let until = Instant::now() + patience;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let waiting = self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            drop(self.shared.told.wait_timeout_while(waiting, step.min(left), |()| !self.stopped()));
            if self.stopped() || left <= step {
                return self.stopped();
            }
        }
    }

    /// True if [`Control::stop`] was called, of this or of the run that it is a part of.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed) || self.shared.whole.as_ref().is_some_and(Self::stopped)
    }

    /// True if the two share one state.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Bytes read so far, as stored (compressed, where the input is).
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.shared.stored_bytes.load(Ordering::Relaxed)
    }

    /// Bytes taken in so far, after decoding; holes of sparse files and the rest of over-long lines
    /// included.
    #[must_use]
    pub fn decoded_bytes(&self) -> u64 {
        self.shared.decoded_bytes.load(Ordering::Relaxed)
    }

    /// Read system calls on the input so far.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.shared.reads.load(Ordering::Relaxed)
    }

    pub(crate) fn read_called(&self) {
        self.shared.reads.fetch_add(1, Ordering::Relaxed);
        self.counted_whole().into_iter().for_each(Self::read_called);
    }

    /// Counts stored bytes, and sleeps where there is a rate limit. Sources call it for the bytes
    /// that they read.
    pub fn stored(&self, bytes: u64) {
        let pause = self.take_stored(bytes);
        if !pause.is_zero() {
            // A block may cost minutes, and a stop does not wait for them.
            let _stopped = self.stopped_within(pause);
        }
    }

    /// Counts stored bytes and returns the pause that the rate limit asks for; sleeping is left to
    /// the caller.
    #[must_use]
    pub fn take_stored(&self, bytes: u64) -> Duration {
        self.shared.stored_bytes.fetch_add(bytes, Ordering::Relaxed);
        match self.counted_whole() {
            Some(whole) => whole.take_stored(bytes),
            None => self.shared.throttle.as_ref().map_or(Duration::ZERO, |throttle| throttle.take(bytes)),
        }
    }

    /// Counts bytes that an earlier run took in, without a pause.
    pub fn resumed(&self, stored_bytes: u64, decoded_bytes: u64) {
        self.shared.stored_bytes.fetch_add(stored_bytes, Ordering::Relaxed);
        self.shared.decoded_bytes.fetch_add(decoded_bytes, Ordering::Relaxed);
        self.counted_whole().into_iter().for_each(|whole| whole.resumed(stored_bytes, decoded_bytes));
    }

    /// Takes bytes back that were counted as stored and as taken in, and come again.
    pub fn untake(&self, bytes: u64) {
        self.shared.stored_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.shared.decoded_bytes.fetch_sub(bytes, Ordering::Relaxed);
        self.counted_whole().into_iter().for_each(|whole| whole.untake(bytes));
    }

    /// Counts bytes that were taken in after decoding; a run does so itself.
    pub fn decoded(&self, bytes: u64) {
        self.shared.decoded_bytes.fetch_add(bytes, Ordering::Relaxed);
        self.counted_whole().into_iter().for_each(|whole| whole.decoded(bytes));
    }
}

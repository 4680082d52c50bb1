//! Ranges of a file that are done or claimed, and the threads that wait for them.

use crate::ranges::Ranges;
use std::ops::Range;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Shared by the transfers, which claim and report, and by the digest and the keeper, which wait.
#[derive(Debug)]
pub(crate) struct RangeBoard {
    state: Mutex<BoardState>,
    /// For the digest: the prefix has grown to the size it waits for.
    grown: Condvar,
    /// For the keeper: there is enough to write down.
    unkept: Condvar,
}

#[derive(Debug, Default)]
struct BoardState {
    done: Ranges,
    claimed: Ranges,
    size_bytes: Option<u64>,
    /// The prefix that the digest waits for.
    wanted_prefix: u64,
    /// Bytes done since the keeper last took the claims, and how many it waits for.
    unkept_bytes: u64,
    wanted_unkept: u64,
    ended: bool,
}

/// Answer to a waiting reader of the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrefixAnswer {
    /// Everything below this offset is there.
    Grown(u64),
    /// The whole file is there.
    Whole(u64),
    /// There will be no more.
    Ended,
}

impl RangeBoard {
    pub(crate) fn new(done: Ranges, size_bytes: Option<u64>) -> Self {
        let state = BoardState { done, size_bytes, ..BoardState::default() };
        Self { state: Mutex::new(state), grown: Condvar::new(), unkept: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, BoardState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next stretch that nobody has or works on; the first gap comes first.
    pub(crate) fn claim(&self, bytes_max: u64) -> Option<Range<u64>> {
        let mut state = self.lock();
        let end = state.size_bytes.unwrap_or(u64::MAX);
        let claim = state.done.gap(&state.claimed, end, bytes_max)?;
        state.claimed.add(claim.clone());
        Some(claim)
    }

    /// Gives up the rest of a claim.
    pub(crate) fn release(&self, claim: &Range<u64>) {
        self.lock().claimed.remove(claim);
    }

    /// These bytes are in the file.
    pub(crate) fn add(&self, bytes: Range<u64>) {
        let mut state = self.lock();
        state.unkept_bytes += bytes.end - bytes.start;
        state.done.add(bytes);
        if state.unkept_bytes >= state.wanted_unkept {
            self.unkept.notify_one();
        }
        let prefix = state.done.prefix();
        if prefix >= state.wanted_prefix || state.size_bytes == Some(prefix) {
            self.grown.notify_one();
        }
    }

    pub(crate) fn set_size(&self, size_bytes: u64) {
        self.lock().size_bytes = Some(size_bytes);
        self.grown.notify_one();
    }

    pub(crate) fn size(&self) -> Option<u64> {
        self.lock().size_bytes
    }

    pub(crate) fn done_bytes(&self) -> u64 {
        self.lock().done.bytes()
    }

    pub(crate) fn done(&self) -> Ranges {
        self.lock().done.clone()
    }

    /// Tells all waiters that nothing more comes.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.grown.notify_all();
        self.unkept.notify_all();
    }

    /// Waits until the prefix has `bytes`, or is whole, or ends.
    pub(crate) fn wait_prefix(&self, bytes: u64) -> PrefixAnswer {
        let mut state = self.lock();
        state.wanted_prefix = bytes;
        loop {
            let prefix = state.done.prefix();
            if state.ended {
                return PrefixAnswer::Ended;
            }
            if state.size_bytes == Some(prefix) {
                return PrefixAnswer::Whole(prefix);
            }
            if prefix >= bytes {
                return PrefixAnswer::Grown(prefix);
            }
            state = self.grown.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until `bytes` were added, or some were and `time` is over; `None` at the end.
    pub(crate) fn wait_unkept(&self, bytes: u64, time: Duration) -> Option<Ranges> {
        let deadline = Instant::now() + time;
        let mut state = self.lock();
        state.wanted_unkept = bytes;
        while !state.ended {
            let left = deadline.saturating_duration_since(Instant::now());
            if state.unkept_bytes >= bytes || (left.is_zero() && state.unkept_bytes > 0) {
                state.unkept_bytes = 0;
                return Some(state.done.clone());
            }
            let left = if left.is_zero() { time } else { left };
            state = self.unkept.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        None
    }
}

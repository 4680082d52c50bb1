//! Chunks on their way from the one reader of a stream to its workers, with a bound on how many
//! wait.
//!
//! # Why not a channel of the standard library?
//! Its receiver can't be shared, and under a lock only one worker waits with a time limit while the
//! others wait for the lock, without one.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A queue with one giver and many takers.
pub(crate) struct Queue<T> {
    state: Mutex<QueueState<T>>,
    filled: Condvar,
    emptied: Condvar,
    room: usize,
}

struct QueueState<T> {
    waiting: VecDeque<T>,
    closed: bool,
}

/// Item for a receiver.
pub(crate) enum Received<T> {
    One(T),
    /// Nothing came in time.
    Nothing,
    /// Nothing will come.
    End,
}

/// Closes the queue when its sender leaves; waiting items are still taken.
pub(crate) struct QueueSender<'a, T>(pub(crate) &'a Queue<T>);

/// Closes the queue when this receiver leaves, which happens after the end, or when the run has
/// failed: nobody needs the waiting items then, and the sender may be waiting for their buffers.
pub(crate) struct QueueReceiver<'a, T>(pub(crate) &'a Queue<T>);

impl<T> Drop for QueueSender<'_, T> {
    fn drop(&mut self) {
        self.0.close(false);
    }
}

impl<T> Drop for QueueReceiver<'_, T> {
    fn drop(&mut self) {
        self.0.close(true);
    }
}

impl<T> QueueSender<'_, T> {
    /// Puts `item` after the others, waiting for room; `false` when the receivers have left.
    pub(crate) fn put(&self, item: T) -> bool {
        let queue = self.0;
        let full = |state: &mut QueueState<T>| !state.closed && state.waiting.len() >= queue.room;
        let mut state = queue.emptied.wait_while(queue.lock(), full).unwrap_or_else(PoisonError::into_inner);
        if state.closed {
            return false;
        }
        state.waiting.push_back(item);
        queue.filled.notify_one();
        true
    }
}

impl<T> QueueReceiver<'_, T> {
    /// The first item, waiting for at most `patience`.
    pub(crate) fn take(&self, patience: Duration) -> Received<T> {
        let queue = self.0;
        let empty = |state: &mut QueueState<T>| !state.closed && state.waiting.is_empty();
        let waited = queue.filled.wait_timeout_while(queue.lock(), patience, empty);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        match state.waiting.pop_front() {
            Some(item) => {
                queue.emptied.notify_one();
                Received::One(item)
            }
            None if state.closed => Received::End,
            None => Received::Nothing,
        }
    }
}

impl<T> Queue<T> {
    pub(crate) fn new(room: usize) -> Self {
        let state = QueueState { waiting: VecDeque::with_capacity(room), closed: false };
        Self { state: Mutex::new(state), filled: Condvar::new(), emptied: Condvar::new(), room }
    }

    fn close(&self, discard: bool) {
        let mut state = self.lock();
        state.closed = true;
        if discard {
            state.waiting.clear();
        }
        drop(state);
        self.filled.notify_all();
        self.emptied.notify_all();
    }

    // A poisoned lock is taken all the same: no code that can panic runs while it is held.
    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

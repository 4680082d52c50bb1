//! Locks of the parts of a session.

use std::sync::{Mutex, MutexGuard, PoisonError};

// A poisoned lock is taken all the same: its session has failed.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `None` where somebody has it, or failed with it.
pub(super) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    mutex.try_lock().ok()
}

//! Puts results back into the order of the input, with a bound on how many wait.

use crate::error::Error;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Takes numbered outputs from many workers and hands them to one sink in order.
///
/// The worker that submits the next output works the sink, outside the lock, for as long as there
/// is a next one; the others leave their output and go on. A worker that is `window` numbers ahead
/// waits. The holder of the next number never does, so the buffer always moves as long as numbers
/// are claimed by workers that can finish.
pub(crate) struct ReorderBuffer<O, F> {
    state: Mutex<ReorderState<O>>,
    sink: Mutex<F>,
    moved: Condvar,
    window: u64,
}

struct ReorderState<O> {
    next: u64,
    pending: BTreeMap<u64, O>,
    /// Somebody is working the sink.
    draining: bool,
    aborted: bool,
}

/// The sequence was aborted; the reason is kept where it was aborted.
pub(crate) struct ReorderAborted;

impl<O, F: FnMut(O) -> Result<(), Error>> ReorderBuffer<O, F> {
    pub(crate) fn new(window: usize, sink: F) -> Self {
        let state = ReorderState { next: 0, pending: BTreeMap::new(), draining: false, aborted: false };
        Self { state: Mutex::new(state), sink: Mutex::new(sink), moved: Condvar::new(), window: window as u64 }
    }

    /// Hands over output `number`, and to the sink all that are now in order.
    ///
    /// # Errors
    /// `Err(Ok(Aborted))` after an abort; `Err(Err(_))` when the sink failed, which aborts as well.
    pub(crate) fn submit(&self, number: u64, output: O) -> Result<(), Result<ReorderAborted, Error>> {
        let mut state = self.lock();
        while !state.aborted && number >= state.next + self.window {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.aborted {
            return Err(Ok(ReorderAborted));
        }
        state.pending.insert(number, output);
        if state.draining { Ok(()) } else { self.drain(state) }
    }

    fn drain<'a>(&'a self, mut state: MutexGuard<'a, ReorderState<O>>) -> Result<(), Result<ReorderAborted, Error>> {
        state.draining = true;
        let result = loop {
            if state.aborted {
                break Err(Ok(ReorderAborted));
            }
            let next = state.next;
            let Some(output) = state.pending.remove(&next) else { break Ok(()) };
            drop(state);
            let result = (self.sink.lock().unwrap_or_else(PoisonError::into_inner))(output);
            state = self.lock();
            state.next += 1;
            self.moved.notify_all();
            if let Err(error) = result {
                abort(&mut state);
                break Err(Err(error));
            }
        };
        state.draining = false;
        result
    }

    /// Lets all waiters go, and drops the waiting outputs.
    pub(crate) fn abort(&self) {
        abort(&mut self.lock());
        self.moved.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, ReorderState<O>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn abort<O>(state: &mut ReorderState<O>) {
    state.aborted = true;
    state.pending.clear();
}

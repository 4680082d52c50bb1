//! Puts results back into the order of the input, with a bound on how many wait.

use crate::error::Error;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Takes numbered outputs from many workers and hands them to one sink in order.
///
/// A worker that is `window` numbers ahead of the next one waits. Whoever holds the next number never
/// does, so the sequence always moves as long as numbers are claimed by workers that can finish.
pub(crate) struct Sequence<O, F> {
    state: Mutex<State<O, F>>,
    moved: Condvar,
    window: u64,
}

struct State<O, F> {
    next: u64,
    pending: BTreeMap<u64, O>,
    sink: F,
    aborted: bool,
}

/// The sequence was aborted; the reason is with whoever aborted it.
pub(crate) struct Aborted;

impl<O, F: FnMut(O) -> Result<(), Error>> Sequence<O, F> {
    pub(crate) fn new(window: usize, sink: F) -> Self {
        let state = State { next: 0, pending: BTreeMap::new(), sink, aborted: false };
        Self { state: Mutex::new(state), moved: Condvar::new(), window: window as u64 }
    }

    /// Hands over output `number`, and to the sink all that are now in order.
    ///
    /// # Errors
    /// `Err(Ok(Aborted))` after an abort; `Err(Err(_))` when the sink failed, which aborts as well.
    pub(crate) fn submit(&self, number: u64, output: O) -> Result<(), Result<Aborted, Error>> {
        let mut state = self.lock();
        while !state.aborted && number >= state.next + self.window {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        if state.aborted {
            return Err(Ok(Aborted));
        }
        state.pending.insert(number, output);
        let before = state.next;
        let result = drain(&mut state);
        state.aborted |= result.is_err();
        if state.next != before || state.aborted {
            self.moved.notify_all();
        }
        result.map_err(Err)
    }

    /// Lets everyone who waits go, and drops what waits.
    pub(crate) fn abort(&self) {
        let mut state = self.lock();
        state.aborted = true;
        state.pending.clear();
        self.moved.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<O, F>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn drain<O, F: FnMut(O) -> Result<(), Error>>(state: &mut State<O, F>) -> Result<(), Error> {
    while let Some(output) = state.pending.remove(&state.next) {
        state.next += 1;
        (state.sink)(output)?;
    }
    Ok(())
}

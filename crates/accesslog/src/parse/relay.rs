//! The columns that a stretch of a log begins with, where workers read many stretches at a time and
//! a line of any of them may say others.

use crate::format::w3c::{W3cColumns, W3cDirectives};
use crate::format::{LineSyntax, LogFormat};
use rorqual_pipe::Chunk;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Hands the columns on from each stretch to the next. Holds what workers that wait or are ahead
/// have said: an entry of a few bytes a worker, and columns of at most a few KiB, which workers
/// share.
#[derive(Debug)]
pub(crate) struct ColumnRelay {
    state: Mutex<RelayState>,
    moved: Condvar,
}

#[derive(Debug)]
struct RelayState {
    /// The first stretch that nobody has come with.
    next: u64,
    /// The last directives of stretches after that one.
    said: BTreeMap<u64, W3cDirectives>,
    /// The columns that stretches before it begin with, until their workers take them.
    starts: BTreeMap<u64, Arc<W3cColumns>>,
    /// The columns that `next` begins with.
    columns: Arc<W3cColumns>,
}

impl ColumnRelay {
    /// A relay for lines of a format whose columns may change; `None` of any other.
    pub(crate) fn of(format: &LogFormat) -> Option<Arc<ColumnRelay>> {
        let LineSyntax::W3c(columns) = format.kind() else { return None };
        let state = RelayState { next: 0, said: BTreeMap::new(), starts: BTreeMap::new(), columns: Arc::clone(columns) };
        Some(Arc::new(ColumnRelay { state: Mutex::new(state), moved: Condvar::new() }))
    }

    /// The columns that a chunk begins with. Waits until all chunks before it have come here, whose
    /// workers have them already: chunks are given out in order, and each comes here first of all.
    pub(crate) fn start_of(&self, chunk: &Chunk) -> Arc<W3cColumns> {
        let mut said = W3cDirectives::default();
        chunk.lines().filter(|line| !line.long).for_each(|line| said.read(line.bytes));
        let number = chunk.number();
        let mut state = self.lock();
        state.said.insert(number, said);
        loop {
            let next = state.next;
            let Some(said) = state.said.remove(&next) else { break };
            let columns = Arc::clone(&state.columns);
            state.starts.insert(next, columns);
            if let Some(columns) = said.after(&state.columns) {
                state.columns = Arc::new(columns);
            }
            state.next += 1;
        }
        self.moved.notify_all();
        loop {
            if let Some(columns) = state.starts.remove(&number) {
                return columns;
            }
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// The format of the lines after the last stretch.
    pub(crate) fn format(&self) -> LogFormat {
        LogFormat::w3c(Arc::clone(&self.lock().columns))
    }

    fn lock(&self) -> MutexGuard<'_, RelayState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

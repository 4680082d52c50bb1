//! Memory and threads of an operation.

use crate::failure::OperationFailure;
use rorqual_pipe::{Budget, limits};

/// Memory of an operation unless it is said.
const MEMORY_BYTES_DEFAULT: u64 = 128 << 20;

/// Threads beyond that gain nothing over the memory's speed.
const THREADS_MAX_DEFAULT: usize = 64;

/// Memory and threads of one operation, beside all that its process has.
#[derive(Debug, Clone, Copy)]
pub struct Resources {
    /// The most that it takes, in bytes.
    pub memory_bytes: u64,
    /// Worker threads; `None` takes one a core, or as many as the memory has room for.
    pub threads: Option<usize>,
}

impl Default for Resources {
    fn default() -> Self {
        Self { memory_bytes: MEMORY_BYTES_DEFAULT, threads: None }
    }
}

impl Resources {
    /// Number of threads for which the sum fits: that of the threads and of the holders that
    /// `reserve` names.
    pub(crate) fn fitting(&self, reserve: impl Fn(&mut Budget, usize)) -> Result<usize, OperationFailure> {
        let sum = |threads: usize| {
            let mut budget = Budget::new(self.memory_bytes);
            budget.reserve(format!("{threads} threads"), threads as u64 * limits::THREAD_BYTES);
            reserve(&mut budget, threads);
            budget
        };
        if let Some(threads) = self.threads {
            let threads = threads.max(1);
            return Ok(Budget::check_threads(threads, sum).map(|()| threads)?);
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX_DEFAULT);
        let fitting = (2..=cores).rev().find(|threads| sum(*threads).check().is_ok());
        Ok(fitting.map_or_else(|| sum(1).check().map(|()| 1), Ok)?)
    }
}

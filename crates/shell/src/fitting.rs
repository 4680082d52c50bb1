//! Number of threads that the memory has room for.

use crate::args::ProcessArgs;
use rorqual_pipe::decode::decoder_bytes;
use rorqual_pipe::limits::THREAD_BYTES;
use rorqual_pipe::{Budget, BudgetError};

/// More memory than that is not advised.
const MEMORY_BYTES_MAX: u64 = 1 << 50;

/// More threads than that, unless asked for, gain nothing over the memory's speed.
const THREADS_MAX_DEFAULT: usize = 64;

/// Number of threads as asked for, or else one a core, as far as the sum of `budget` for them fits.
///
/// # Errors
/// When not even those asked for fit, or one.
pub fn threads(args: &ProcessArgs, budget: impl Fn(usize) -> Budget) -> Result<usize, BudgetError> {
    let most = args.threads_or(THREADS_MAX_DEFAULT);
    if args.threads.is_some() {
        return Budget::check_threads(most, budget).map(|()| most);
    }
    let fitting = (2..=most).rev().find(|threads| budget(*threads).check().is_ok());
    fitting.map_or_else(|| budget(1).check().map(|()| 1), Ok)
}

/// Most inputs that are worked on side by side, each with a decoder of its own: up to one a thread,
/// as far as the sum of `budget` for them fits.
pub fn lanes(threads: usize, budget: impl Fn(usize) -> Budget) -> usize {
    (2..=threads).rev().find(|lanes| budget(*lanes).check().is_ok()).unwrap_or(1)
}

/// Memory of one of them beside its blocks: the thread that decodes, the one that works, and the
/// decoder.
#[must_use]
pub fn lane_bytes(memory_bytes: u64) -> u64 {
    2 * THREAD_BYTES + decoder_bytes(memory_bytes)
}

/// The sum for the memory that is given, or, where that is too little, for the least that would do:
/// for terms that grow with the memory, which `terms` makes for any.
#[must_use]
pub fn least(given_bytes: u64, terms: impl Fn(u64) -> Budget) -> Budget {
    let mut memory_bytes = given_bytes;
    loop {
        let budget = terms(memory_bytes);
        if budget.reserved_bytes() <= memory_bytes {
            return budget;
        }
        memory_bytes = budget.reserved_bytes().next_multiple_of(1 << 20);
        // So many threads take more of any memory than there is of it.
        if memory_bytes > MEMORY_BYTES_MAX {
            return terms(given_bytes);
        }
    }
}

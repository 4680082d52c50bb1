//! Who gets how much of the memory.

use crate::args::Args;
use crate::limits::{CANCEL_BELOW_BYTES, OPERATORS_BYTES_MIN, PROGRAM_BYTES, RECORD_BYTES_MAX_DEFAULT, THREAD_BYTES};
use rorqual_pipe::decode::zstd_window_log_max;
use rorqual_pipe::limits::{LINE_BYTES_MAX_DEFAULT, buffer_bytes};
use rorqual_pipe::{Budget, BudgetError};

/// What a query has to work with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shares {
    /// The whole process.
    pub(crate) memory_bytes: u64,
    /// Threads that work, and partitions of a plan.
    pub(crate) threads: usize,
    /// What the engine's operators may reserve.
    pub(crate) operators_bytes: u64,
    /// Longest line or record that is taken.
    pub(crate) record_bytes_max: usize,
    pub(crate) zstd_window_log_max: u32,
}

/// More threads than that, unless asked for, gain nothing over the memory's speed.
const THREADS_MAX_DEFAULT: usize = 64;

impl Shares {
    /// What fits: the threads asked for, or as many as there are cores and memory for.
    ///
    /// # Errors
    /// When not even one thread fits; the error prints every term.
    pub(crate) fn of(args: &Args) -> Result<Self, BudgetError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from).min(THREADS_MAX_DEFAULT);
        let threads = args.threads.map_or(cores, usize::from);
        let least = if args.threads.is_some() { threads } else { 1 };
        let fitting = (least..=threads).rev().find(|threads| budget(args, *threads).check().is_ok()).unwrap_or(least);
        let budget = budget(args, fitting);
        budget.check()?;
        Ok(Self {
            memory_bytes: args.memory,
            threads: fitting,
            // The engine counts what its operators hold and not what they take while they work on it, which is about as much again.
            operators_bytes: (OPERATORS_BYTES_MIN + budget.rest_bytes()) * 3 / 5,
            record_bytes_max: record_bytes_max(args),
            zstd_window_log_max: zstd_window_log_max(args.memory),
        })
    }
}

/// As large as a buffer's share of the memory allows, unless a flag says it.
fn record_bytes_max(args: &Args) -> usize {
    let fitting = (args.memory / 256) as usize;
    args.record_max.map_or(fitting.clamp(LINE_BYTES_MAX_DEFAULT, RECORD_BYTES_MAX_DEFAULT), |bytes| bytes as usize)
}

fn budget(args: &Args, threads: usize) -> Budget {
    let mut budget = Budget::new(args.memory);
    budget.reserve("program", PROGRAM_BYTES);
    budget.reserve(format!("{threads} threads"), threads as u64 * THREAD_BYTES);
    let buffer = buffer_bytes(record_bytes_max(args)) as u64;
    budget.reserve(format!("{threads} blocks, each with room for one record (--record-max)"), threads as u64 * buffer);
    budget.reserve("room in which the guard works", CANCEL_BELOW_BYTES);
    budget.reserve("operators", OPERATORS_BYTES_MIN);
    budget
}

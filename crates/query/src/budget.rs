//! Shares of the memory.

use crate::args::Args;
use crate::limits::{
    CANCEL_BELOW_BYTES, OBJECT_PIECE_BYTES, OPERATORS_BYTES_MIN, PROGRAM_BYTES, RECORD_BYTES_MAX_DEFAULT, ROWS_BYTES,
    THREAD_BYTES,
};
use rorqual_pipe::decode::{decoder_bytes, zstd_window_log_max};
use rorqual_pipe::limits::{LINE_BYTES_MAX_DEFAULT, WINDOW_PER_WORKER, buffer_bytes, buffers_needed};
use rorqual_pipe::{Budget, BudgetError};
use rorqual_shell::args::ProcessArgs;
use rorqual_shell::fitting;

/// Threads and memory of a query.
#[derive(Debug, Clone, Copy)]
pub struct QueryShares {
    /// The whole process.
    pub memory_bytes: u64,
    /// Threads that work, and partitions of a plan.
    pub threads: usize,
    /// Most bytes that the engine's operators may reserve.
    pub operators_bytes: u64,
    /// Longest line or record that is taken.
    pub(crate) record_bytes_max: usize,
    pub(crate) zstd_window_log_max: u32,
}

/// The engine counts the rows that its operators hold and not their work memory, which is about as
/// much again: of five bytes they may reserve three.
const COUNTED: (u64, u64) = (3, 5);

impl QueryShares {
    /// The shares that fit: the threads asked for, or as many as there are cores and memory for.
    ///
    /// # Errors
    /// When not even one thread fits; the error prints every term.
    pub(crate) fn of(args: &Args) -> Result<Self, BudgetError> {
        Self::of_process(&args.process, args.record_max)
    }

    /// The shares of a process that takes records up to `record_max`, or as long as a buffer's
    /// share allows.
    ///
    /// # Errors
    /// When not even one thread fits; the error prints every term.
    pub fn of_process(process: &ProcessArgs, record_max: Option<u64>) -> Result<Self, BudgetError> {
        let memory_bytes = process.memory_bytes();
        let record_bytes_max = record_bytes_max(memory_bytes, record_max);
        let budget = |threads| budget(memory_bytes, record_bytes_max, threads);
        let threads = fitting::threads(process, budget)?;
        Ok(Self {
            memory_bytes,
            threads,
            operators_bytes: (OPERATORS_BYTES_MIN + budget(threads).rest_bytes()) * COUNTED.0 / COUNTED.1,
            record_bytes_max,
            zstd_window_log_max: zstd_window_log_max(memory_bytes),
        })
    }

    /// Memory for tables, operators and the output.
    pub(crate) fn rest_bytes(&self) -> u64 {
        self.operators_bytes * COUNTED.1 / COUNTED.0
    }

    /// Bytes that a sort which spills keeps to merge with; a share of the memory for all of them.
    #[must_use]
    pub fn sort_merge_bytes(&self) -> usize {
        (self.operators_bytes / 16 / self.threads as u64) as usize
    }

    /// Bytes to reserve among the operators for so many bytes that need nothing beside them.
    #[must_use]
    pub fn as_operators(&self, bytes: u64) -> u64 {
        bytes.saturating_mul(COUNTED.0) / COUNTED.1
    }

    /// Bytes of a task that does all of its work by itself; a share of the memory for each thread.
    #[must_use]
    pub fn task_bytes(&self) -> u64 {
        // A tenth is left for sending the results.
        self.rest_bytes() / self.threads as u64 * 9 / 10
    }

    /// Threads that decode each of the streams which so many partitions read side by side.
    pub(crate) fn stream_threads(&self, partitions: usize) -> usize {
        self.threads.div_ceil(partitions.max(1))
    }

    /// Memory of a stream that so many threads decode: blocks, the decoder with a piece of an
    /// object before it, and the rows of each block.
    #[must_use]
    pub fn stream_bytes(&self, threads: usize) -> u64 {
        let blocks = buffers_needed(threads) * buffer_bytes(self.record_bytes_max);
        let rows = threads * (1 + WINDOW_PER_WORKER) * ROWS_BYTES;
        (blocks + rows) as u64 + decoder_bytes(self.memory_bytes) + OBJECT_PIECE_BYTES
    }
}

/// Longest record: as large as a buffer's share of the memory allows, unless a flag says it.
fn record_bytes_max(memory_bytes: u64, record_max: Option<u64>) -> usize {
    let fitting = (memory_bytes / 256) as usize;
    record_max.map_or(fitting.clamp(LINE_BYTES_MAX_DEFAULT, RECORD_BYTES_MAX_DEFAULT), |bytes| bytes as usize)
}

fn budget(memory_bytes: u64, record_bytes_max: usize, threads: usize) -> Budget {
    let mut budget = Budget::new(memory_bytes);
    budget.reserve("program", PROGRAM_BYTES);
    budget.reserve(format!("{threads} threads"), threads as u64 * THREAD_BYTES);
    let buffer = buffer_bytes(record_bytes_max) as u64;
    budget.reserve(format!("{threads} blocks, each with room for one record (--record-max)"), threads as u64 * buffer);
    budget.reserve("room in which the guard works", CANCEL_BELOW_BYTES);
    budget.reserve("operators", OPERATORS_BYTES_MIN);
    budget
}

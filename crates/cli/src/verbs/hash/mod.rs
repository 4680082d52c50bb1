//! `rorqual hash`

mod check;
mod print;

use crate::args::{Common, HashArgs};
use crate::exit::ExitStatus;
use crate::{fitting, interrupt, message};
use rorqual_digest::{Algorithm, Digest, digest};
use rorqual_pipe::limits::{self, BLOCK_BYTES, buffers_needed};
use rorqual_pipe::{Budget, BudgetError, BufferPool, Control, Error, ErrorClass, Input};
use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// A file of this size is worth all threads, where the algorithm can use them; smaller ones go side
/// by side.
const LARGE_BYTES: u64 = 16 << 20;

/// The JSON of `hash` and `hash --check`.
const SCHEMA: &str = "rorqual.hash/1";

pub(crate) fn run(common: &Common, args: &HashArgs) -> ExitStatus {
    let hashing = match HashRun::new(common) {
        Ok(hashing) => hashing,
        Err(error) => return message::error(&error),
    };
    let algorithm = match args.algorithm() {
        Ok(algorithm) => algorithm,
        Err(error) => return message::error(&error),
    };
    let start = Instant::now();
    interrupt::stop_on_interrupt(&hashing.control);
    let exit = if args.check {
        check::run(&hashing, common, args)
    } else {
        print::run(&hashing, common, args, algorithm.unwrap_or(Algorithm::Sha256))
    };
    if common.process.stats {
        crate::stats::print(start, hashing.memory_bytes, hashing.threads, &hashing.control, &hashing.pool);
    }
    exit
}

/// Settings and memory that all files of one run share.
struct HashRun {
    memory_bytes: u64,
    threads: usize,
    pool: BufferPool,
    control: Control,
    /// Held by the one file that has all threads.
    large: Mutex<()>,
}

fn budget(threads: usize, memory_bytes: u64) -> Budget {
    // One thread a file and one that reads ahead of it, or all threads on one file while the others
    // wait for their turn.
    let (started, buffers) = (2 * threads, buffers_needed(threads));
    let mut budget = Budget::new(memory_bytes);
    budget.reserve("program", limits::PROGRAM_BYTES);
    budget.reserve(format!("{started} threads"), started as u64 * limits::THREAD_BYTES);
    budget.reserve(format!("{buffers} blocks"), (buffers * BLOCK_BYTES) as u64);
    budget
}

impl HashRun {
    fn new(common: &Common) -> Result<Self, BudgetError> {
        let memory_bytes = common.process.memory_bytes();
        let threads = fitting::threads(&common.process, |threads| budget(threads, memory_bytes))?;
        Ok(Self {
            memory_bytes,
            threads,
            pool: BufferPool::new(BLOCK_BYTES, buffers_needed(threads)),
            control: Control::with_rate_limit(common.limit_rate),
            large: Mutex::new(()),
        })
    }

    /// The digest of one file; `alone` says that there is no other.
    fn file(&self, input: Input, algorithm: Algorithm, alone: bool) -> Result<Digest, Error> {
        let hash = |input, threads| digest(input, algorithm, &self.pool, &self.control, threads);
        if alone {
            return hash(input, self.threads);
        }
        if algorithm == Algorithm::Blake3 && input.is_file() && input.size_bytes().is_some_and(|size| size >= LARGE_BYTES) {
            let _one = self.large.lock().unwrap_or_else(PoisonError::into_inner);
            return hash(input, self.threads);
        }
        hash(input, 1)
    }
}

/// A failure to print as an error that ends the run.
fn print_failed(cause: io::Error) -> Error {
    Error::io("standard output", "cannot write", cause)
}

/// Exit status of a run of files: a reader that closed the pipe has had enough.
fn ended(control: &Control, result: Result<(), Error>, exit: ExitStatus) -> ExitStatus {
    match result {
        Ok(()) => interrupt::exit_of_nothing(control, exit),
        Err(error) if error.kind() == ErrorClass::Stopped => interrupt::exit_of_closed(),
        Err(error) => message::error(&error),
    }
}

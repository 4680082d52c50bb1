//! Counts of lines, words, characters and bytes.

use crate::failure::OperationFailure;
use crate::resources::Resources;
use crate::running::Running;
use crate::source::DataSource;
use rorqual_pipe::count::{ByteCounts, Counter};
use rorqual_pipe::decode::{decoder_bytes, zstd_window_log_max};
use rorqual_pipe::limits::{BLOCK_BYTES, buffers_needed};
use rorqual_pipe::{BufferPool, Control, Framing, RunPlan, run};

/// The counts of a source, as `rorqual count` has them.
///
/// # Errors
/// When the memory is too little.
pub fn count(source: DataSource, counter: Counter, resources: Resources) -> Result<Running<ByteCounts>, OperationFailure> {
    let memory_bytes = resources.memory_bytes;
    let threads = resources.fitting(|budget, threads| {
        let buffers = buffers_needed(threads);
        budget.reserve(format!("{buffers} blocks"), (buffers * BLOCK_BYTES) as u64);
        budget.reserve("decoder", decoder_bytes(memory_bytes));
    })?;
    let control = Control::default();
    let stop = control.clone();
    Ok(Running::one(&control, move || {
        let plan = RunPlan { framing: Framing::Bytes, zstd_window_log_max: zstd_window_log_max(memory_bytes) };
        let pool = BufferPool::new(BLOCK_BYTES, buffers_needed(threads));
        let mut total = ByteCounts::default();
        let stages = vec![counter; threads];
        let finish = run(
            source.open()?,
            &plan,
            &pool,
            &stop,
            |_| Some(stages),
            |count| {
                total = total.then(count);
                Ok(())
            },
        );
        match finish.error {
            Some(error) => Err(error.into()),
            None if stop.stopped() => Err(OperationFailure::new("stopped", "stopped before its end")),
            None => Ok(total),
        }
    }))
}

//! The closing line of `--stats`.

use crate::message;
use rorqual_pipe::{BufferPool, Control, stats};
use std::time::Instant;

/// Prints the costs of a run as one JSON object on stderr.
pub(crate) fn print(start: Instant, memory_max_bytes: u64, threads: usize, control: &Control, pool: &BufferPool) {
    let seconds = start.elapsed().as_secs_f64();
    let (waits, wait_seconds) = pool.waits();
    let object = serde_json::json!({
        "stored_bytes": control.stored_bytes(),
        "decoded_bytes": control.decoded_bytes(),
        "seconds": seconds,
        "bytes_per_second": control.decoded_bytes() as f64 / seconds.max(1e-9),
        "threads": threads,
        "memory_max_bytes": memory_max_bytes,
        "peak_bytes": stats::peak_bytes(),
        "buffers_lent_max": pool.lent_max(),
        "buffer_bytes": pool.buffer_bytes(),
        "pool_waits": waits,
        "pool_wait_seconds": wait_seconds,
        "reads": control.reads(),
    });
    message::line(&object);
}

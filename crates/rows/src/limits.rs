//! Every limit of rows in one place, with the memory it costs.

use rorqual_pipe::limits::{BLOCK_BYTES, WINDOW_PER_WORKER};

/// Longest record that is taken unless a flag says otherwise; each buffer has this much room beside its block, touched only when a
/// record needs it.
pub const RECORD_BYTES_MAX_DEFAULT: usize = 4 << 20;

/// A batch that has grown so large is finished: its arrays' bytes, nulls in sparse columns included.
pub const BATCH_BYTES_MAX: usize = 4 << 20;

/// Deepest nesting of a record that is taken apart; deeper parts become JSON text, and beyond [`DEPTH_MAX`] a record is bad.
pub const NESTING_MAX: usize = 64;

/// Deepest nesting of a record.
pub const DEPTH_MAX: usize = 100_000;

/// Most columns (leaves) of a schema that is inferred; what more there is goes to `_rest`.
pub const COLUMNS_MAX: usize = 10_000;

/// How much of a stream is looked at for its columns before the first row is written.
pub const PREFIX_BYTES: usize = 8 << 20;

/// What a worker's rows take, in bytes: those being made of a chunk, which is at most a block and a record, and those of the chunks that
/// wait for an earlier one. Columns take up to twice what the text of a record does.
#[must_use]
pub const fn worker_bytes(record_bytes_max: usize) -> u64 {
    2 * (BLOCK_BYTES + record_bytes_max) as u64 + (WINDOW_PER_WORKER * BATCH_BYTES_MAX) as u64
}

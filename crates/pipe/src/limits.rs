//! Every limit of the pipeline in one place, with the memory it costs.

use std::time::Duration;

/// New bytes of one block. Small enough that a block read by a core is still in that core's L2
/// cache when it is searched, large enough that a system call a block costs nothing.
pub const BLOCK_BYTES: usize = 256 << 10;

/// Longest line that is handed over whole unless a flag says otherwise; each buffer has this much
/// room beside its block, touched only when a line needs it.
pub const LINE_BYTES_MAX_DEFAULT: usize = 256 << 10;

/// Bytes of the next block that a file worker reads along, so that the line that crosses the border
/// is nearly always there after one system call.
pub const OVERREAD_BYTES: usize = 4 << 10;

/// Finished outputs that may wait for an earlier one, for each worker. Each may keep one buffer
/// alive.
pub const WINDOW_PER_WORKER: usize = 2;

/// Buffers that the reader of a stream holds: the one being filled and the one whose last,
/// unfinished line is moved to it.
pub const READER_BUFFERS: usize = 2;

/// Blocks of a stream that wait for a worker, for each worker.
pub const QUEUE_PER_WORKER: usize = 1;

/// A worker that gets nothing from a stream for this long is idle.
pub const IDLE_AFTER: Duration = Duration::from_millis(100);

/// Time for which a pipe may be silent before its bytes are handed on in a block that is not full:
/// `tail -f log | rorqual grep` answers at once, and a busy pipe fills its blocks.
pub const PARTIAL_BLOCK_AFTER: Duration = Duration::from_millis(20);

/// Pause between two looks at the stop while a reader waits for a pipe.
pub const STOP_CHECK: Duration = Duration::from_millis(50);

/// Time for which a reader of our output is waited for once the run was stopped: a slow one gets
/// the rest of the output, one that takes nothing does not keep us.
pub const STOPPED_PATIENCE: Duration = Duration::from_millis(500);

/// Pause between two looks at a followed file, once its end was met: one read and two looks at the
/// file system.
pub const FOLLOW_EVERY: Duration = Duration::from_millis(250);

/// Bytes of a stream that pauses which are held until they tell its format; more are given to the
/// run as they are. Each of several streams that are followed may hold so many.
pub const HELD_FIRST_BYTES_MAX: usize = 64 << 10;

/// Bytes of a stream that pauses which are read before it does so in any case: others are followed
/// beside it, and one that always has more would let none of them be read.
pub const TURN_BYTES_MAX: u64 = 16 << 20;

/// A file whose name another one has taken is still read while it gave something within this time:
/// its writers go on with it until they open the new one.
pub const ROTATED_AFTER: Duration = Duration::from_millis(500);

/// Bytes of a file that may grow that are looked through for the end of its last whole line.
pub const LAST_LINE_BYTES_MAX: u64 = 64 << 20;

/// Bytes in which the end of a file's first line is looked for, to detect the format of its lines;
/// at no cost in memory.
pub const FIRST_LINE_BYTES_MAX: u64 = 256 << 20;

/// The process before any payload: code, stacks, allocator, the runtime's tables. Measured: 5 MiB
/// for `count`, 9 MiB for `serve`; the rest is room for the allocator's rounding.
pub const PROGRAM_BYTES: u64 = 12 << 20;

/// Memory of one worker thread beside its buffers: touched stack and thread-local allocator arenas.
pub const THREAD_BYTES: u64 = 512 << 10;

/// Share of the whole budget that a zstd window may take, or an xz dictionary; the formats allow
/// gigabytes. A 32nd of 256 MiB is the 8 MiB that zstd's levels up to 19 and xz's up to 6 stay
/// within, and lz4's blocks of 4 MiB.
pub const ZSTD_WINDOW_SHARE: u64 = 32;

/// Bytes that one decoder needs beside a zstd window: inflate's tables and window, zstd's
/// workspace.
pub const DECODER_BYTES: u64 = 1 << 20;

/// Stored bytes of UTF-16 that wait to be UTF-8; within [`DECODER_BYTES`], of which inflate takes
/// less than a tenth.
pub const UTF16_BYTES: usize = 16 << 10;

/// Memory of bzip2 for its largest blocks, 900,000 bytes: 4 bytes each, and its tables. So no
/// budget gives a decoder less.
pub const BZIP2_BYTES: u64 = 4 << 20;

/// A pipe or a decoder's input is read through a pooled buffer of the same size as all others.
pub const DECODER_BUFFERS: usize = 1;

const _: () = assert!(OVERREAD_BYTES < BLOCK_BYTES);
const _: () = assert!(BLOCK_BYTES.is_power_of_two());

/// Number of buffers by which no holder of a run with `threads` workers ever waits for itself.
#[must_use]
pub const fn buffers_needed(threads: usize) -> usize {
    threads + threads * (WINDOW_PER_WORKER + QUEUE_PER_WORKER) + READER_BUFFERS + DECODER_BUFFERS
}

/// Size of one pooled buffer: a block, and a line's length of room beside it.
#[must_use]
pub const fn buffer_bytes(line_bytes_max: usize) -> usize {
    BLOCK_BYTES + line_bytes_max + OVERREAD_BYTES
}

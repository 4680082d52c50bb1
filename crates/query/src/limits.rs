//! Every limit of queries in one place, with the memory it costs.

use std::time::Duration;

/// Bytes of the temp folder unless a flag says otherwise; it is disk.
pub const TEMP_BYTES_DEFAULT: u64 = 16 << 30;

/// Rows of a table that are shown unless a flag says otherwise; they are held until all are there.
pub(crate) const TABLE_ROWS_DEFAULT: usize = 100;

/// The process before any payload: the pages of the program that a query touches, the plan, the
/// runtime's threads.
pub(crate) const PROGRAM_BYTES: u64 = 72 << 20;

/// Memory of one working thread: stack, batches on their way between operators.
pub(crate) const THREAD_BYTES: u64 = 6 << 20;

/// The least that the operators (sorting, grouping, joining) work with.
pub(crate) const OPERATORS_BYTES_MIN: u64 = 24 << 20;

/// Distance to the limit at which a query is cancelled: operators may take so much between two
/// looks of the watchdog.
pub(crate) const CANCEL_BELOW_BYTES: u64 = 20 << 20;

/// Below the limit by so much, the process ends at once. Until then more is taken, and the more the
/// busier the machine is.
pub(crate) const END_BELOW_BYTES: u64 = 12 << 20;

/// Pause between two looks of the watchdog at the resident size.
pub(crate) const GUARD_EVERY: Duration = Duration::from_millis(2);

/// Least bytes of a file that one worker takes at a time; a file has at most [`STRETCHES_MAX`] such
/// stretches.
pub(crate) const STRETCH_BYTES_MIN: u64 = 4 << 20;

/// Most stretches of one file; each is half a KiB of the plan.
pub(crate) const STRETCHES_MAX: u64 = 2048;

/// Rows of a batch as far as its bytes allow.
pub(crate) const BATCH_ROWS: usize = 8192;

/// A batch that has grown so large is handed on.
pub(crate) const BATCH_BYTES_MAX: usize = 2 << 20;

/// Batches of a stream that wait for the operators.
pub(crate) const STREAM_BATCHES: usize = 2;

/// Rows of one block of a stream, as arrays, as they usually are: a block of texts is about as
/// large in columns. The decoder's own bound for odd ones is
/// [`rorqual_columnar::limits::DECODED_BYTES_MAX`].
pub(crate) const ROWS_BYTES: usize = 1 << 20;

/// Objects that a wildcard may stand for; each is half a KiB of the plan.
pub(crate) const OBJECTS_MAX: usize = 100_000;

/// Number of further tries of a request to a store.
pub(crate) const RETRIES_MAX: usize = 4;

/// For how long it is tried again.
pub(crate) const RETRY_FOR: Duration = Duration::from_secs(60);

/// A range of an object that one request asks for.
pub(crate) const OBJECT_PIECE_BYTES: u64 = 4 << 20;

/// A range of an object that is asked for after the end of a stretch, for the rest of its last
/// line.
pub(crate) const LINE_END_BYTES: u64 = 256 << 10;

/// First bytes of an object that tell whether it is compressed.
pub(crate) const MAGIC_BYTES: u64 = 32;

/// Least and most bytes of a stretch of an object that is a task of a cluster.
pub(crate) const OBJECT_STRETCH_BYTES: (u64, u64) = (8 << 20, 64 << 20);

/// Pieces of objects that the readers of a statement may have in memory or under way beside one
/// for each, where half of the memory of tables and operators has room for them. One of them is
/// for a piece that is asked for again.
pub(crate) const PIECES_AHEAD_MAX: usize = 8;

/// The same for each partition, where there are many.
pub(crate) const PIECES_AHEAD_EACH: usize = 4;

/// A piece is asked for again after so many times the median of the last ones, and not before
/// [`LATE_AFTER_MIN`].
pub(crate) const LATE_AFTER_MEDIANS: u32 = 3;

/// Least time after which a piece is asked for again.
pub(crate) const LATE_AFTER_MIN: Duration = Duration::from_secs(1);

/// Pieces whose times are remembered for that.
pub(crate) const PIECE_TIMES_MAX: usize = 16;

/// Rows of a Parquet file that wait to be written, as bytes of arrays, and its footer; a writer
/// holds two groups. 8 MiB of 256 MiB.
pub(crate) const fn writer_share(memory_bytes: u64) -> usize {
    (memory_bytes / 32) as usize
}

/// Settings of the allocator: two arenas that threads share, and no large block kept, so that freed
/// memory is given back.
pub const ALLOCATOR: [(&str, &str); 3] =
    [("MALLOC_ARENA_MAX", "2"), ("MALLOC_MMAP_THRESHOLD_", "262144"), ("MALLOC_TRIM_THRESHOLD_", "1048576")];

const _: () = assert!(END_BELOW_BYTES < CANCEL_BELOW_BYTES);

/// The longest record unless a flag says otherwise, where the memory has room for more.
pub(crate) const RECORD_BYTES_MAX_DEFAULT: usize = 8 << 20;

/// A page of a Parquet file, before compression, as its writers make them: a column that is read
/// holds one, and its dictionary.
pub(crate) const PAGE_BYTES: u64 = 1 << 20;

/// Copies of a stored batch of an Arrow file: as read, without compression, and as rows on their
/// way.
pub(crate) const ARROW_BATCH_COPIES: u64 = 4;

/// Operators of one statement. Each takes up to 3 KiB of the stack while it is planned, of the 8
/// MiB that a program usually has, and 1 KiB of the 2 MiB of each thread that works on rows.
pub(crate) const CHAIN_MAX: usize = 1_000;

//! The limits of the crossfilter, and what they cost.

use rorqual_table::filter::filter_bytes_max;

/// Rows of a segment; their codes fit 16 bits. Some 1.3 MiB of a usual log.
pub const SEGMENT_ROWS_MAX: usize = 1 << 16;

/// Distinct values of a segment, of all its columns together: one that has more ends earlier, give or take those of one chunk. Each takes up to
/// 28 bytes while it is recorded.
pub const SEGMENT_VALUES_MAX: usize = 1 << 17;

/// What one recorder holds of a segment that is not full: 58 bytes a row, where its chunks are, its tables of distinct values, the codes of its
/// worker, and a copy while the segment is made.
pub const RECORDER_BYTES: u64 = 16 << 20;

/// What one thread of a view holds beside its sums: selected rows, weights, the columns that it reads back.
pub const THREAD_BYTES: u64 = 4 << 20;

/// What each worker of an analysis takes for rows, and each thread of a view.
pub const WORKER_BYTES: u64 = RECORDER_BYTES + THREAD_BYTES;

/// Least memory for rows beside that: most of a segment for each thread of four, distinct values, what questions sort.
pub const ROWS_BYTES_MIN: u64 = 24 << 20;

/// Memory of a store in which rows may take so much, beside what recorders and views of as many threads take.
#[must_use]
pub const fn store_bytes(rows_bytes: u64, threads: usize) -> u64 {
    rows_bytes + threads as u64 * WORKER_BYTES
}

/// Bytes of a rejected line that are kept.
pub const LINE_BYTES_MAX: usize = 1 << 10;

/// Part of a store's memory in which rates sort times, a sixteenth; with more than [`RATES_BYTES_MAX`] they gain nothing.
pub const RATES_SHARE: u64 = 16;

/// Values of a field that explanations hold: those that say most, and as many of those that most rows have, while twice as many are looked
/// through. They take what rates would, which are not asked at the same time.
pub const CANDIDATES_MAX: usize = 512;

/// A million rows at a time.
pub const RATES_BYTES_MAX: u64 = 128 << 20;

/// Parts in a hundred that its dictionaries may take of a store's memory without its workers; segments give way to them.
pub const DICTIONARIES_PERCENT: u64 = 50;

/// What a distinct value takes beside its text and its place in the table: 16 bytes of sums of the whole store, as much of a view, and as much
/// again for each of its threads.
#[must_use]
pub const fn value_bytes(threads: usize) -> u64 {
    16 * (threads as u64 + 2)
}

/// What the filters of one question take: those of the two views that are compared, whatever they are.
#[must_use]
pub const fn filters_bytes(threads: usize) -> u64 {
    2 * filter_bytes_max(threads)
}

/// Least memory of a store.
pub const STORE_BYTES_MIN: u64 = 32 << 20;

/// Buckets of a histogram at most; 9 series of them are 144 KiB a thread.
pub const BUCKETS_MAX: usize = 2_000;

/// Series of a stacked histogram beside the rest.
pub const SERIES_MAX: usize = 8;

/// Counted views that are remembered; together they take at most an eighth of the store's memory.
pub const VIEWS_KEPT_MAX: usize = 8;

/// Rows of a page of the table.
pub const PAGE_ROWS_MAX: usize = 1_000;

/// Bytes of a text in it; what is longer ends in `…`. A row takes some 80 KiB at most.
pub const PAGE_TEXT_BYTES_MAX: usize = 4 << 10;

/// Bytes of a line rebuilt in it: such texts together. A format may have any text between them.
pub const PAGE_LINE_BYTES_MAX: usize = 40 << 10;

/// Distinct pairs of path and query that are held at once, by all threads together: some 7 MiB, of what a view's sums would take.
pub const URL_PAIRS_MAX: usize = 1 << 17;

/// Values of a panel that are listed at most; nobody reads on. Twice as many are held, 24 bytes each.
pub const VALUES_LISTED_MAX: usize = 1 << 16;

/// Rows whose texts are copied at once, while nobody else has the dictionaries.
pub const PIECE_ROWS_MAX: usize = 1 << 10;

/// And bytes of these texts, give or take one row of at most 640 KiB.
pub const PIECE_BYTES_MAX: usize = 1 << 20;

/// What going through all rows of a view takes: a segment of each recorder with its columns, and one piece.
#[must_use]
pub const fn each_bytes(threads: usize) -> u64 {
    threads as u64 * THREAD_BYTES + 2 * PIECE_BYTES_MAX as u64
}

//! The limits of the crossfilter, with their cost.

use crate::uncoded_counts::TALLIES_BYTES;
use rorqual_accesslog::filter::{REJECTED_BYTES_MAX, filter_bytes_max};

/// Rows of a segment at most; their codes fit 16 bits. Some 1.3 MiB of a usual log.
pub const SEGMENT_ROWS_MAX: usize = 1 << 16;

/// Rows of a small store's segments: some 10 KiB of a usual log, beside 1 KiB that each segment
/// takes.
pub const SEGMENT_ROWS_MIN: usize = 512;

/// Rows of a segment in a store of so much memory, of which a full segment of a usual log is then a
/// twelfth.
#[must_use]
pub const fn segment_rows(memory_bytes: u64) -> usize {
    let rows = memory_bytes / 256;
    if rows <= SEGMENT_ROWS_MIN as u64 {
        SEGMENT_ROWS_MIN
    } else if rows >= SEGMENT_ROWS_MAX as u64 {
        SEGMENT_ROWS_MAX
    } else {
        rows as usize
    }
}

/// Distinct values of a segment, of all its columns together: one that has more ends earlier, give
/// or take those of [`append_rows`]. Each takes up to 48 bytes while it is recorded.
pub const SEGMENT_VALUES_MAX: usize = 1 << 17;

/// The same of a segment of so many rows.
#[must_use]
pub const fn segment_values(segment_rows: usize) -> usize {
    let values = 3 * segment_rows;
    if values < SEGMENT_VALUES_MAX { values } else { SEGMENT_VALUES_MAX }
}

/// Rows that are appended to a segment before its values are counted.
#[must_use]
pub const fn append_rows(segment_rows: usize) -> usize {
    segment_rows.div_ceil(16)
}

/// Bytes of texts without a code in a segment of so many rows, of all its columns together: one
/// with more ends earlier. They are compressed in the segment; a recorder has them twice so, and as
/// they are while it compresses them.
#[must_use]
pub const fn uncoded_bytes_max(segment_rows: usize) -> usize {
    let bytes = 16 * segment_rows;
    if bytes < UNCODED_BYTES_MIN { UNCODED_BYTES_MIN } else { bytes }
}

/// The same at least: more than a line has, in most logs.
const UNCODED_BYTES_MIN: usize = 128 << 10;

/// From the codes of a worker to those of a segment: 9 fields of 8,192 values and those of a chunk,
/// 8 bytes each.
const TRANSLATIONS_BYTES: u64 = 3 << 19;

/// Memory of one recorder for segments of so many rows: 58 bytes a row, the offsets of its chunks,
/// its tables of distinct values, the codes of its worker, and a copy while the segment is made. It
/// is of no store's memory: an analysis has it for each of its workers.
#[must_use]
pub const fn recorder_bytes(segment_rows: usize) -> u64 {
    let values = segment_values(segment_rows) + crate::columns::CODED * append_rows(segment_rows);
    TRANSLATIONS_BYTES + 140 * segment_rows as u64 + 48 * values as u64 + 2 * uncoded_bytes_max(segment_rows) as u64
}

/// Memory of the recorder of a table with so many columns of texts and of numbers, for segments of
/// so many rows: each column twice, as a copy is made, its distinct values, and those of the rows
/// that are appended at once.
#[must_use]
pub const fn table_recorder_bytes(segment_rows: usize, texts: usize, numbers: usize) -> u64 {
    let coded = crate::columns::CODED + texts;
    let row_bytes = 2 * (2 * coded + 8 * (crate::columns::NUMBERS + numbers));
    let values = segment_values(segment_rows) + coded * append_rows(segment_rows);
    (row_bytes * segment_rows + 48 * values + 256 * append_rows(segment_rows) + 2 * uncoded_bytes_max(segment_rows)) as u64
}

/// Memory of a full segment of such a table at most, where its codes take 4 bytes each.
#[must_use]
pub const fn table_segment_bytes(segment_rows: usize, texts: usize, numbers: usize) -> u64 {
    (segment_rows * (4 * texts + 8 * (numbers + 1))) as u64
}

/// Memory of the recorder of a log with so many columns of its own: that of a table with as many,
/// and from the codes of a worker to those of a segment.
#[must_use]
pub const fn own_recorder_bytes(segment_rows: usize, texts: usize, numbers: usize) -> u64 {
    table_recorder_bytes(segment_rows, texts, numbers) + 2 * TRANSLATIONS_BYTES
}

/// Rows of a segment of such a table in a store of so much memory: fewer where there are many
/// columns, so that a recorder takes no more than another's, and a segment a twelfth of the store.
#[must_use]
pub const fn table_segment_rows(memory_bytes: u64, texts: usize, numbers: usize) -> usize {
    let mut rows = segment_rows(memory_bytes);
    while rows > SEGMENT_ROWS_MIN
        && (table_recorder_bytes(rows, texts, numbers) > RECORDER_BYTES
            || 12 * table_segment_bytes(rows, texts, numbers) > memory_bytes)
    {
        rows /= 2;
    }
    rows
}

/// Memory of each thread of a view of such a table: that of any view, the distributions of its
/// numbers, and what grows with its columns.
#[must_use]
pub const fn table_thread_bytes(texts: usize, numbers: usize) -> u64 {
    THREAD_BYTES + TABLE_NUMBERS_BYTES + table_columns_bytes(texts, numbers)
}

/// Memory of the distributions of a table's numbers in each thread of a view, whose buckets its
/// columns share.
pub const TABLE_NUMBERS_BYTES: u64 = 4 << 20;

/// Memory of each thread of a view that grows with a table's columns: sums of its texts, and the
/// least buckets of its numbers.
#[must_use]
pub const fn table_columns_bytes(texts: usize, numbers: usize) -> u64 {
    (16 * SUMMED_VALUES * texts + 8 * 1024 * numbers) as u64
}

/// Most memory of a recorder: 15.8 MiB.
pub const RECORDER_BYTES: u64 = recorder_bytes(SEGMENT_ROWS_MAX);

/// Values of a field whose sums in a question are counted as memory of the question, not of the
/// store.
pub const SUMMED_VALUES: usize = 1 << 10;

/// Memory of these sums, of 20 fields.
const SUMS_BYTES: u64 = 20 * 16 * SUMMED_VALUES as u64;

/// Memory of one thread of a view: selected rows, weights, the columns that it reads back with
/// their texts, sums beside those that are counted with the store, and tallies of texts without a
/// code.
pub const THREAD_BYTES: u64 = (4 << 20) + SUMS_BYTES + TALLIES_BYTES + 3 * uncoded_bytes_max(SEGMENT_ROWS_MAX) as u64 / 2;

/// Memory of each worker of an analysis for rows, and of each thread of a view.
pub const WORKER_BYTES: u64 = RECORDER_BYTES + THREAD_BYTES;

/// Least memory for the rows of a single store, beside that: most of a segment for each thread of
/// four, distinct values, the sorting of questions.
pub const ROWS_BYTES_MIN: u64 = 24 << 20;

/// Bytes of a rejected line that are kept.
pub const LINE_BYTES_MAX: usize = REJECTED_BYTES_MAX;

/// Memory of a question's sums and tallies of two views and its distributions, beside its threads.
const JOINED_BYTES: u64 = 2 * (SUMS_BYTES + TALLIES_BYTES) + (384 << 10);

/// Part of the memory of the only store there is in which rates sort times, a sixteenth; with more
/// than [`RATES_BYTES_MAX`] they gain nothing.
const RATES_SHARE: u64 = 16;

/// Part that filters may take at most.
const FILTERS_SHARE: u64 = 8;

/// Values of a field that explanations hold: those with the strongest evidence, and as many of
/// those that most rows have, while twice as many are looked through. They take the memory of
/// rates, which are not asked at the same time.
pub const CANDIDATES_MAX: usize = 512;

/// Values that one store of several tells of for an explanation, and that all together count.
pub const EXPLAIN_VALUES_MAX: usize = 2_048;

/// Values whose pairs several stores count for an explanation.
pub const EXPLAIN_PAIRED_MAX: usize = 200;

/// Values, and sets of them, that a store counts at a time for an explanation over several.
pub const EXPLAIN_SETS_MAX: usize = 512;

/// Sets of values whose rows a store counts at a time by client, for an explanation over several.
pub const EXPLAIN_VISITS_MAX: usize = 128;

/// Numbers of rows in stretches that a store tells at a time, for an explanation over several: with
/// three bytes each they are within any part of an answer.
pub const EXPLAIN_CELLS_MAX: usize = 170_000;

/// Least memory for rates, or for candidates of an explanation.
pub const RATES_BYTES_MIN: u64 = 2 << 20;

/// A million rows at a time.
pub const RATES_BYTES_MAX: u64 = 128 << 20;

/// Values that are ranked by a metric for which their rows are read, such as a quantile: those with
/// most rows.
pub const BREAKDOWN_RANKED_MAX: usize = 1_000;

/// Values whose metrics an answer has at most.
pub const BREAKDOWN_VALUES_MAX: usize = 100;

/// Passes over the rows for metrics over time at most; where there is no room for more numbers or
/// clients in as many, quantiles are rougher, and clients are estimated.
pub const OVER_TIME_PASSES_MAX: usize = 8;

/// Memory of values over time, where unusual spans are looked for; they take that of rates, which
/// are not asked at the same time.
pub const UNUSUAL_BYTES_MAX: u64 = 16 << 20;

/// Least for the filters of a question.
const FILTERS_BYTES_MIN: u64 = 4 << 20;

/// Least that one question may take beside its threads.
pub const WORK_BYTES_MIN: u64 = JOINED_BYTES + RATES_BYTES_MIN + FILTERS_BYTES_MIN;

/// Memory of questions out of `memory_bytes`, which are for the rows of the only store and for its
/// questions, when as many threads ask.
#[must_use]
pub const fn work_bytes(memory_bytes: u64, threads: usize) -> u64 {
    let rates = clamp(memory_bytes / RATES_SHARE, RATES_BYTES_MIN, RATES_BYTES_MAX);
    let filters = clamp(memory_bytes / FILTERS_SHARE, FILTERS_BYTES_MIN, filters_bytes(threads));
    JOINED_BYTES + rates + filters
}

/// Shares of `work_bytes` for the filters of a question (any filters, or two thirds), and for rows
/// that rates hold at a time.
pub(crate) const fn work_shares(work_bytes: u64, threads: usize) -> (u64, u64) {
    let rest = clamp(work_bytes, WORK_BYTES_MIN, u64::MAX) - JOINED_BYTES;
    let filters = clamp(rest * 2 / 3, 0, filters_bytes(threads));
    (filters, clamp(rest - filters, 0, RATES_BYTES_MAX))
}

const fn clamp(bytes: u64, least: u64, most: u64) -> u64 {
    if bytes > most {
        most
    } else if bytes < least {
        least
    } else {
        bytes
    }
}

/// Parts in a hundred that its dictionaries may take of a store's memory. Without a file for
/// spilled rows the rest is for segments.
pub const DICTIONARIES_PERCENT: u64 = 60;

/// The same where segments can give way to the file, of a store with room for full ones: where they
/// are in it takes next to nothing of the rest.
pub const DICTIONARIES_PERCENT_SPILLING: u64 = 75;

/// Part of that which is shared out among the dictionaries, so that none of them is without room;
/// and the least that is shared out of so little that this would be nothing. The rest is for those
/// that need it: which these are, the log decides.
pub const SHARED_PART: u64 = 4;
/// The least that is shared out, or half of all.
pub const SHARED_BYTES_MIN: u64 = 4 << 20;

/// Part of a store's memory for counted views that are remembered.
pub const KEPT_SHARE: u64 = 8;

/// The same at least, of a store that is settled and has so little in it that this part of it would
/// be nothing.
pub const KEPT_BYTES_MIN: u64 = 4 << 20;

/// Memory of a distinct value beside its text and its place in the table: for sums of all rows of a
/// store of so much memory, where they are cached ([`BASE_BYTES_MIN`]); and of those beyond
/// [`SUMMED_VALUES`] for sums of a view, and for as much again of each of its threads.
#[must_use]
pub const fn value_bytes(memory_bytes: u64, threads: usize) -> (u64, u64) {
    let base = if memory_bytes < BASE_BYTES_MIN { 0 } else { 16 };
    (base, 16 * (threads as u64 + 1))
}

/// Memory of the filters of one question: those of the two views that are compared, whatever they
/// are.
#[must_use]
pub const fn filters_bytes(threads: usize) -> u64 {
    2 * filter_bytes_max(threads)
}

/// Least memory of a store: one open segment of a usual log for each thread of two, some 700
/// distinct values, and where some hundred segments are in the file.
pub const STORE_BYTES_MIN: u64 = 128 << 10;

/// Distributions of all complete rows are remembered by stores of this memory, of which they are a
/// tenth; others count all rows anew.
pub const BASE_BYTES_MIN: u64 = 2 << 20;

/// Part of a store's memory for all rows over time, in buckets that a first view is made of.
const GRID_SHARE: u64 = 64;

/// Bytes of such a bucket: rows by class of status, and by how long they took.
const GRID_BUCKET_BYTES: u64 = 8 * (6 + 17);

/// Buckets of all rows over time, in a store of so much memory.
#[must_use]
pub const fn grid_buckets(memory_bytes: u64) -> usize {
    clamp(memory_bytes / GRID_SHARE / GRID_BUCKET_BYTES, 1, BUCKETS_MAX as u64) as usize
}

/// Buckets of a histogram at most; 9 series of them are 144 KiB a thread.
pub const BUCKETS_MAX: usize = 2_000;

/// Series of a stacked histogram beside the rest.
pub const SERIES_MAX: usize = 8;

/// Counted views that are remembered; together they take at most [`KEPT_SHARE`] of the store's
/// memory.
pub const VIEWS_KEPT_MAX: usize = 8;

/// Fields of a view whose panels are counted without their own conditions, at most: 8 KiB of bits
/// each in every thread. Their sums take the place of the view's, whose pass is over.
pub const FACETS_MAX: usize = 16;

/// Suggestions for a typed text at most.
pub const SUGGESTIONS_MAX: usize = 20;

/// Suggestions without a row that are told where there are no others.
pub const SUGGESTIONS_EMPTY_MAX: usize = 2;

/// Time for counting suggestions; those that it does not suffice for have at least the rows that
/// were counted.
pub const SUGGEST_MILLIS_MAX: u64 = 1_000;

/// Rows of a page of the table.
pub const PAGE_ROWS_MAX: usize = 1_000;

/// Bytes of a text in it; a longer one ends in `…`. A row takes some 80 KiB at most.
pub const PAGE_TEXT_BYTES_MAX: usize = 4 << 10;

/// Bytes of a line rebuilt in it: such texts together. A format may have any text between them.
pub const PAGE_LINE_BYTES_MAX: usize = 40 << 10;

/// Rows of an order that pages show: nobody reads on.
pub const SORTED_ROWS_MAX: usize = 10_000;

/// Rows that are put in order for the first pages.
pub(crate) const SORTED_ROWS_FIRST: usize = 1_000;

/// Bytes of a text that it is ordered by.
pub const SORT_TEXT_BYTES_MAX: usize = 256;

/// Memory of a row that is put in order: its place, also while lists are joined, and its text.
const SORTED_ROW_BYTES: u64 = 3 * 40 + SORT_TEXT_BYTES_MAX as u64 + 80;

// It takes the memory of sums and of rates, which are not asked at the same time.
const _: () = assert!(SORTED_ROWS_MAX as u64 * SORTED_ROW_BYTES <= JOINED_BYTES + RATES_BYTES_MIN);

/// Distinct pairs of path and query that are held at once, by all threads together: some 7 MiB, out
/// of the memory of a view's sums.
pub const URL_PAIRS_MAX: usize = 1 << 17;

/// Values of a panel that are listed at most; nobody reads on. Twice as many are held, 24 bytes
/// each.
pub const VALUES_LISTED_MAX: usize = 1 << 16;

/// Rows whose texts are copied at once, under the locks of all dictionaries.
pub const PIECE_ROWS_MAX: usize = 1 << 10;

/// Bytes of these texts, give or take one row of at most 640 KiB.
pub const PIECE_BYTES_MAX: usize = 1 << 20;

/// Values of a column that are copied at once: 1 MiB at most.
pub const VALUES_COPIED_MAX: usize = 16;

/// Bytes of a record of a journal: a segment whose columns are as wide as they get.
pub const RECORD_BYTES_MAX: usize = 16 << 20;

/// Memory of going through all rows of a view: a segment of each recorder with its columns, and one
/// piece.
#[must_use]
pub const fn each_bytes(threads: usize) -> u64 {
    threads as u64 * THREAD_BYTES + 2 * PIECE_BYTES_MAX as u64
}

/// Most rows of one store of a fleet, so that no sum of them overflows.
pub const STORE_ROWS_MAX: u64 = 1 << 50;

//! Every limit of rows in one place, with the memory it costs.

use rorqual_pipe::limits::WINDOW_PER_WORKER;
use std::time::Duration;

/// Longest record that is taken unless a flag says otherwise, as a share of the memory: each buffer
/// has this much room beside its block, touched only when a record needs it, and each worker a few
/// times as much for its columns. 2 MiB of 256 MiB.
pub const RECORD_SHARE: u64 = 128;

/// Longest record that is taken unless a flag says otherwise, however much memory there is: more
/// memory is for more threads, of which each takes 20 times as much.
pub const RECORD_BYTES_MAX_DEFAULT: u64 = 8 << 20;

/// A batch that has grown so large is finished: its arrays' bytes, nulls in sparse columns
/// included.
pub const BATCH_BYTES_MAX: usize = 2 << 20;

/// Bytes from which rows of a file are given to a program as one batch: a block of a log has a
/// thousand rows, and a data frame of thousands of batches is slow.
pub const JOINED_BYTES: usize = BATCH_BYTES_MAX / 4;

/// Rows from which they are given, however few bytes they have.
pub const JOINED_ROWS: usize = 16_384;

/// Time after which they are given, however few they are; the first are given at once.
pub const JOINED_AFTER: Duration = Duration::from_millis(50);

/// Rows of a chunk are decoded up to so many bytes at once: short records of many columns take a
/// thousand times their text.
pub const DECODED_BYTES_MAX: usize = 2 * BATCH_BYTES_MAX;

/// Deepest nesting of a record that is taken apart; deeper parts become JSON text, and beyond
/// [`DEPTH_MAX`] a record is bad.
pub const NESTING_MAX: usize = 64;

/// Deepest nesting of a record.
pub const DEPTH_MAX: usize = 100_000;

/// Most columns of a schema that is inferred, lists and structs and their items counted each;
/// further ones go to `_rest`. A shape takes about 200 bytes a column, and its name twice.
pub const COLUMNS_MAX: usize = 10_000;

/// Most keys of an object inside a record that become columns of a struct; one with more is used as
/// a map, and becomes JSON text.
pub const OBJECT_KEYS_MAX: usize = 256;

/// The same of keys whose values are objects or arrays, each with columns of its own.
pub const NESTED_KEYS_MAX: usize = 64;

/// Bytes of a stream that are looked at for its columns before the first row is written.
pub const PREFIX_BYTES: usize = 4 << 20;

/// Memory of a worker's rows, in bytes: those being made of a chunk, and those of the chunks that
/// wait for an earlier one.
#[must_use]
pub const fn worker_bytes(record_bytes_max: usize) -> u64 {
    ((1 + WINDOW_PER_WORKER) * (row_bytes_max(record_bytes_max) + BATCH_BYTES_MAX)) as u64
}

/// Most bytes of rows, as arrays, in a row group of a Parquet file unless the caller says
/// otherwise. A writer holds two groups: the one that gathers and the one that is encoded.
pub const GROUP_BYTES_MAX_DEFAULT: usize = 32 << 20;

/// Most rows in a row group; memory by rows (a Bloom filter: 2 MiB while its column is encoded) is
/// bounded by it.
pub const GROUP_ROWS_MAX: usize = 1 << 20;

/// A page of a Parquet file is finished when it has so many bytes before compression; a value that
/// is larger gets a page of its own.
pub const PAGE_BYTES_MAX: usize = 256 << 10;

/// Rows at which a page is finished: `get` decodes as many for one row.
pub const PAGE_ROWS_MAX: usize = 20_000;

/// Largest dictionary of a column chunk; beyond it values are encoded without one.
pub const DICTIONARY_BYTES_MAX: usize = 1 << 20;

/// Memory of a worker for the column that it encodes: a dictionary with its hash table, a page with
/// its levels, before and after compression, zstd's tables, and a Bloom filter.
pub const ENCODER_BYTES: usize = 8 << 20;

/// Memory of a writer of Parquet for each column of its schema.
pub const COLUMN_BYTES: usize = 4 << 10;

/// Longest key that becomes a column's name; values under longer ones go to `_rest`.
pub const COLUMN_NAME_BYTES_MAX: usize = 1024;

/// Factor by which one record may take more as columns than the longest record, nulls in sparse
/// columns included: a batch takes this and [`BATCH_BYTES_MAX`] at most. A record that takes more
/// (a list of a million empty objects in a column of a thousand fields) is bad.
pub const ROW_FACTOR: usize = 5;

/// The least of that in bytes: short records in wide schemas.
pub const ROW_BYTES_MIN: usize = 4 << 20;

/// Most memory of one record as columns, where none is longer than `record_bytes_max`.
#[must_use]
pub const fn row_bytes_max(record_bytes_max: usize) -> usize {
    let bytes = record_bytes_max.saturating_mul(ROW_FACTOR);
    if bytes < ROW_BYTES_MIN {
        ROW_BYTES_MIN
    } else if bytes > TEXT_BYTES_MAX {
        TEXT_BYTES_MAX
    } else {
        bytes
    }
}

/// Longest record that is decoded: a column of texts counts its bytes with 31 bits.
pub const TEXT_BYTES_MAX: usize = 1 << 30;

/// Most bytes that a Parquet file's footer may take while the file is written, unless the caller
/// says otherwise: a footer is written last, so it grows with the file, and beyond this the file is
/// refused. Each column of a row group takes about 150 bytes, and a quarter is for page indexes
/// (which later row groups do without), so that this is enough for 2,600 row groups of 60 columns:
/// at 32 MiB each, and JSON being longer than its columns, more than 100 GiB of it.
pub const FOOTER_BYTES_MAX_DEFAULT: usize = 32 << 20;

/// Row groups of a Parquet file: they are numbered with 15 bits.
pub const GROUPS_MAX: i16 = i16::MAX;

/// Bytes after which bounds of texts in a footer are cut.
pub const BOUND_BYTES_MAX: usize = 32;

/// Most rows of a batch that is read of a file of columns.
pub const BATCH_ROWS_MAX: usize = 8192;

/// Most rows of a batch as an Arrow file has it, or values of a dictionary: there are some of which
/// any number takes no bytes.
pub const STORED_ROWS_MAX: u64 = 1 << 28;

/// Share of the memory for the metadata of a file of columns (its footer and page index, the
/// dictionaries of an Arrow file).
pub const READ_FOOTER_SHARE: u64 = 4;

/// Share of the memory for a file of columns while it is read: the pages of all columns of a
/// Parquet file with their dictionaries, before compression; a stored batch of an Arrow file, and
/// the same again before compression. A row of it, with all that it shares written out, may take
/// half of that.
pub const READ_SHARE: u64 = 8;

/// Pages larger than their share are read where all that are held at once take no more than so many
/// eighths of the memory: there are writers that make one page of a row group.
pub const READ_LARGE_EIGHTHS: u64 = 5;

/// This share of a memory.
#[must_use]
pub fn share(memory_bytes: u64, share: u64) -> usize {
    // An array of texts has room for no more.
    usize::try_from(memory_bytes / share).unwrap_or(usize::MAX).min(TEXT_BYTES_MAX)
}

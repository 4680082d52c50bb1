//! Every limit of the store in one place, with its cost.

use std::time::Duration;

/// Bytes that are read at once of an entry that is open while the same is put again.
pub(crate) const CHECKED_BYTES: usize = 64 << 10;

/// Default bound of a store, in bytes of its entries.
pub const STORE_BYTES_MAX_DEFAULT: u64 = 10 << 30;

/// Bytes that a put may write before it has to reserve room. So much may lie on the disk beyond the
/// bound for each put in flight; in return a small put needs one turn and not two.
pub const UNRESERVED_BYTES_MAX: u64 = 1 << 20;

/// Room that a put of unknown length reserves at a time. A smaller step means more locking, a
/// larger one evicts more than is needed.
pub const RESERVE_STEP_BYTES: u64 = 64 << 20;

/// Entries that one transaction evicts. Each costs a file descriptor for its lock.
pub const EVICT_BATCH: usize = 64;

/// Rows that are read at a time when all are listed. Each costs about 200 bytes, and 300 for each
/// of its names.
pub const PAGE_ROWS: usize = 256;

/// Names that are shown of one entry when all are listed; 300 bytes each, for each of a page's
/// rows.
pub const NAMES_SHOWN_MAX: usize = 16;

/// Longest name in bytes.
pub const NAME_BYTES_MAX: usize = 255;

/// Longest label of a lease's holder in bytes.
pub const HOLDER_BYTES_MAX: usize = 255;

/// Shortest prefix of a digest that is looked up, in hexadecimal digits.
pub const PREFIX_DIGITS_MIN: usize = 4;

/// Longest time for which a lease is given at once. One that is never released keeps its bytes that
/// long.
pub const LEASE_MAX: Duration = Duration::from_secs(366 * 24 * 3600);

/// Age of the recorded last use from which a read records it anew; any other read writes nothing.
pub const TOUCH_AFTER: Duration = Duration::from_secs(60);

/// Time for which SQLite waits for a program that holds its lock without the store's, such as a
/// shell of `sqlite3`.
pub const BUSY_TIMEOUT: Duration = Duration::from_secs(60);

/// Age after which a download that nobody works on is removed by a gc.
pub const PART_AGE_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

/// SQLite's page cache in KiB, for each open store.
pub const INDEX_CACHE_KIB: i64 = 1024;

/// Bytes of the log ahead of the index from which the last process to close the store writes them
/// into it. A process that is the only one to open the store reads that log first.
pub const LOG_BYTES_KEPT: u64 = 1 << 20;

/// The log ahead of the index is cut back to this when it was longer, in bytes on the disk.
pub const JOURNAL_BYTES_MAX: i64 = 4 << 20;

/// All that SQLite takes for an open store: its page cache, prepared statements, the map of its
/// log. Measured: 2.5 MiB.
pub const INDEX_BYTES: u64 = 4 << 20;

/// Operations with payload (puts, verifications) at the same time in one process, unless it is told
/// otherwise.
pub const OPERATIONS_MAX_DEFAULT: usize = 16;

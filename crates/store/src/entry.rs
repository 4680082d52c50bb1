//! Listed facts of an entry, and of a store.

use rorqual_digest::{Algorithm, Digest};

/// One entry as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreEntry {
    /// Its digest, which is its address.
    pub digest: Digest,
    /// Its length.
    pub bytes: u64,
    /// Time of the first put, in milliseconds since 1970 by the clock of then.
    pub stored_ms: u64,
    /// Time of the last put or read, coarsely, by the clock of then.
    pub accessed_ms: u64,
    /// The first of its names, sorted; at most [`NAMES_SHOWN_MAX`](crate::limits::NAMES_SHOWN_MAX).
    pub names: Vec<String>,
    /// Number of running leases on it.
    pub leases: u64,
}

/// Totals of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Algorithm of its digests.
    pub algorithm: Algorithm,
    /// Number of entries.
    pub entries: u64,
    /// Sum of their lengths.
    pub bytes: u64,
    /// The most that the sum may be.
    pub bytes_max: u64,
    /// Entries that a lease is running on.
    pub leased_entries: u64,
    /// Sum of their lengths.
    pub leased_bytes: u64,
    /// Leases that are running.
    pub leases: u64,
    /// Number of names.
    pub names: u64,
    /// Bytes that puts in flight have reserved.
    pub reserved_bytes: u64,
}

//! What is known of an entry, and of a store.

use rorqual_digest::{Algorithm, Digest};

/// One entry as it is listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreEntry {
    /// What it is addressed by.
    pub digest: Digest,
    /// Its length.
    pub bytes: u64,
    /// When it was first put, in milliseconds since 1970 by the clock of then.
    pub stored_ms: u64,
    /// When it was last put or read, coarsely, by the clock of then.
    pub accessed_ms: u64,
    /// The first of its names, sorted; at most [`NAMES_SHOWN_MAX`](crate::limits::NAMES_SHOWN_MAX).
    pub names: Vec<String>,
    /// How many leases on it are running.
    pub leases: u64,
}

/// What a store holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// What its entries are addressed by.
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
    /// What puts in flight have reserved.
    pub reserved_bytes: u64,
}

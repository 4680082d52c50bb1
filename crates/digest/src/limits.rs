//! Every limit of this crate, with the memory it costs.

/// Longest line of a list of checksums, in bytes: the longest path that Linux takes, escaped,
/// beside the longest digest fits twice. Anything longer is an improper line and passed over; a
/// reader holds one line of this length.
pub const LIST_LINE_BYTES_MAX: usize = 16 << 10;

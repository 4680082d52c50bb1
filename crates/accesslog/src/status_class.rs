//! Classes of statuses.

/// 2xx, 3xx, 4xx, 5xx, and everything else (1xx, absent, beyond).
pub const CLASSES: [&str; 5] = ["2xx", "3xx", "4xx", "5xx", "other"];

/// The class of [`CLASSES`] that a status belongs to.
#[inline]
pub(crate) fn class_of(status: u16) -> usize {
    match status / 100 {
        2 => 0,
        3 => 1,
        4 => 2,
        5 => 3,
        _ => 4,
    }
}

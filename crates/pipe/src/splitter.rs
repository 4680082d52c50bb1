//! Ends of the pieces of a stream: lines, and records that a [`Splitter`] finds.

use memchr::{memchr, memrchr};
use std::ops::Range;

/// Finds where records end, in a stream that it sees once, in order, whatever the borders of the
/// blocks.
pub trait Splitter: Send {
    /// Takes the next bytes of the decoded input. They are never empty.
    ///
    /// # Errors
    /// When no record can follow any more. Records before the fault in the same bytes should be
    /// given first, as a stretch that ends after them, and the error at the next call or in
    /// [`Splitter::finish`].
    fn split(&mut self, bytes: &[u8]) -> Result<RecordEnds, SplitError>;

    /// The input is over.
    ///
    /// # Errors
    /// When it should not be.
    fn finish(&mut self) -> Result<(), SplitError>;
}

/// Ends of the records in a byte range. Indices count from its first byte, and both ends lie within
/// `records`, the first not after the last; others end the stream with an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordEnds {
    /// The part that has records; bytes outside belong to none and are dropped. It starts after 0
    /// only where no record is unfinished, and ends before the range does only where one ends.
    pub records: Range<usize>,
    /// Index after the first record that ends here.
    pub first_end: Option<usize>,
    /// Index after the last record that ends here.
    pub last_end: Option<usize>,
}

impl RecordEnds {
    /// The same ends, if they are possible ones of `length` bytes at `offset` of the input: the
    /// cutting counts on it.
    pub(crate) fn checked(self, length: usize, offset: u64) -> Result<Self, SplitError> {
        let Range { start, end } = self.records;
        let first = self.first_end.unwrap_or(start);
        let last = self.last_end.unwrap_or(end);
        let in_order = start <= first && first <= last && last <= end && end <= length;
        if in_order && self.first_end.is_some() == self.last_end.is_some() {
            return Ok(self);
        }
        let message = format!("a splitter gave ends that no records have: {self:?} of {length} bytes");
        Err(SplitError { offset, message, truncated: false })
    }
}

/// Reason for which a stream has no (more) records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitError {
    /// Offset from the start of the decoded input.
    pub offset: u64,
    /// The fault there.
    pub message: String,
    /// The input ends too early; otherwise it is malformed.
    pub truncated: bool,
}

/// Lines, which end after this byte.
pub(crate) struct Terminated(pub(crate) u8);

impl Splitter for Terminated {
    fn split(&mut self, bytes: &[u8]) -> Result<RecordEnds, SplitError> {
        let after = |end| end + 1;
        let first_end = memchr(self.0, bytes).map(after);
        let last_end = first_end.and_then(|_| memrchr(self.0, bytes).map(after));
        Ok(RecordEnds { records: 0..bytes.len(), first_end, last_end })
    }

    fn finish(&mut self) -> Result<(), SplitError> {
        Ok(())
    }
}

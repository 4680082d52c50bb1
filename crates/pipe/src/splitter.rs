//! Ends of the pieces of a stream: lines, and records that a [`Splitter`] finds.

use crate::chunk::Framing;
use crate::holes::{HoleEnds, trailing_nuls};
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

/// Ends of lines.
pub(crate) struct LineEnds {
    /// The byte after which lines end.
    terminator: u8,
    /// The longest line, where holes that are longer end lines, too.
    hole_bytes_min: Option<usize>,
    /// NULs at the end of the bytes so far.
    nuls: usize,
}

impl LineEnds {
    pub(crate) fn new(framing: Framing) -> Self {
        let hole_bytes_min = framing.has_holes().then(|| framing.piece_bytes_max());
        Self { terminator: framing.terminator(), hole_bytes_min, nuls: 0 }
    }

    /// Bytes at the end of those so far that tell whether a line begins after them.
    pub(crate) fn lookback_bytes(&self) -> usize {
        self.hole_bytes_min.map_or(0, |max| self.nuls.min(max + 1))
    }

    /// Forgets the bytes so far.
    pub(crate) fn restart(&mut self) {
        self.nuls = 0;
    }

    /// The ends in the next bytes, which are never empty.
    pub(crate) fn split(&mut self, bytes: &[u8]) -> RecordEnds {
        let after = |end| end + 1;
        let mut first_end = memchr(self.terminator, bytes).map(after);
        let mut last_end = first_end.and_then(|_| memrchr(self.terminator, bytes).map(after));
        if let Some(max) = self.hole_bytes_min {
            for end in HoleEnds::new(bytes, max, self.nuls) {
                first_end = Some(first_end.map_or(end, |first| first.min(end)));
                last_end = Some(last_end.map_or(end, |last| last.max(end)));
            }
            let nuls = trailing_nuls(bytes);
            self.nuls = if nuls == bytes.len() { self.nuls.saturating_add(nuls) } else { nuls };
        }
        RecordEnds { records: 0..bytes.len(), first_end, last_end }
    }
}

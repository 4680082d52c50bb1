//! What a stage is given: a stretch of the input, and its lines.

use bytes::Bytes;
use memchr::memchr;

/// A stretch of the (decoded) input.
///
/// Under [`Framing::Bytes`](crate::Framing::Bytes) chunks are consecutive and cover the input. Under
/// [`Framing::Lines`](crate::Framing::Lines) a chunk starts at the start of a line and holds whole lines; only
/// the last line of the input may lack its newline.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// Where `bytes` (or the zeros) start in the decoded input.
    pub offset: u64,
    /// The bytes; cheap to clone and slice, which keeps the buffer alive (and so counts against the pool).
    pub bytes: Bytes,
    /// Length of a hole in a sparse file, which reads as zeros and was not read; `bytes` is empty then.
    pub zeros: u64,
    pub(crate) line_bytes_max: usize,
    /// The last line in `bytes` is over-long and only its head is here.
    pub(crate) cut: bool,
}

/// One line, without its newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Line<'a> {
    /// Index of the line's first byte in the chunk's `bytes`.
    pub start: usize,
    /// The line; of an over-long one its first `line_bytes_max` bytes.
    pub bytes: &'a [u8],
    /// The line is longer than `line_bytes_max`.
    pub long: bool,
}

/// The lines of a chunk, in order.
#[derive(Debug)]
pub struct Lines<'a> {
    bytes: &'a [u8],
    position: usize,
    line_bytes_max: usize,
    cut: bool,
}

impl Chunk {
    /// The lines of a chunk that was framed as lines.
    #[must_use]
    pub fn lines(&self) -> Lines<'_> {
        Lines { bytes: &self.bytes, position: 0, line_bytes_max: self.line_bytes_max, cut: self.cut }
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = Line<'a>;

    #[inline]
    fn next(&mut self) -> Option<Line<'a>> {
        let start = self.position;
        let rest = &self.bytes[start..];
        let (end, ended) = match memchr(b'\n', rest) {
            Some(end) => (end, true),
            None if rest.is_empty() => return None,
            None => (rest.len(), false),
        };
        self.position = start + end + usize::from(ended);
        let long = end > self.line_bytes_max || (self.cut && !ended);
        Some(Line { start, bytes: &rest[..end.min(self.line_bytes_max)], long })
    }
}

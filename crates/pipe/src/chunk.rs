//! Input of a stage: a byte range of the input, and its lines.

use crate::holes::HoleEnds;
use bytes::Bytes;
use memchr::memchr;

/// Cutting of the input for the stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Anywhere.
    Bytes,
    /// After newlines; a line longer than `line_bytes_max` comes as its head, marked as long.
    Lines {
        /// The longest line that is handed over whole, in bytes without the newline; at least 1.
        line_bytes_max: usize,
    },
    /// After newlines, as [`Framing::Lines`], and after holes: NUL bytes that are more than
    /// `line_bytes_max`. So a hole is the end of an over-long line, and another begins after it.
    LogLines {
        /// The longest line that is handed over whole, in bytes without the newline; at least 1.
        line_bytes_max: usize,
    },
    /// After NUL bytes, as [`Framing::Lines`] after newlines.
    NulLines {
        /// The longest one that is handed over whole, in bytes without the NUL; at least 1.
        line_bytes_max: usize,
    },
    /// After records, by a [`Splitter`](crate::Splitter); one longer than `record_bytes_max` comes
    /// as its head, marked as long, unless it lies within one block.
    Records {
        /// The longest record that is handed over whole, in bytes with the separator before it; at
        /// least 1.
        record_bytes_max: usize,
    },
}

impl Framing {
    /// The longest piece that is handed over whole, in bytes.
    pub(crate) fn piece_bytes_max(self) -> usize {
        match self {
            Self::Bytes => usize::MAX,
            Self::Lines { line_bytes_max: max }
            | Self::LogLines { line_bytes_max: max }
            | Self::NulLines { line_bytes_max: max }
            | Self::Records { record_bytes_max: max } => max,
        }
    }

    /// The byte after which lines are cut.
    pub(crate) fn terminator(self) -> u8 {
        if let Self::NulLines { .. } = self { 0 } else { b'\n' }
    }

    /// True if holes end lines.
    pub(crate) fn has_holes(self) -> bool {
        matches!(self, Self::LogLines { .. })
    }

    /// The room that a buffer has before its block, for the unfinished piece of the block before.
    pub(crate) fn headroom(self) -> usize {
        if self == Self::Bytes { 0 } else { self.piece_bytes_max() }
    }
}

/// Settings of a run beside its input.
#[derive(Debug, Clone)]
pub struct RunPlan {
    /// Cutting of the input.
    pub framing: Framing,
    /// The largest zstd window that an input may ask for, as a power of two.
    pub zstd_window_log_max: u32,
}

/// A stretch of the (decoded) input.
///
/// Under [`Framing::Bytes`](crate::Framing::Bytes) chunks are consecutive and cover the input.
/// Under [`Framing::Lines`](crate::Framing::Lines) a chunk starts at the start of a line and holds
/// whole lines; only the last line of the input may lack its newline. The same holds for records
/// under [`Framing::Records`](crate::Framing::Records), where a chunk has the bytes between records
/// too.
#[derive(Debug, Clone)]
pub struct Chunk {
    /// Offset of `bytes` (or the zeros) in the decoded input.
    pub offset: u64,
    /// The bytes; cheap to clone and slice, which keeps the buffer alive (and so counts against the
    /// pool).
    pub bytes: Bytes,
    /// Length of a hole in a sparse file, which reads as zeros and was not read; `bytes` is empty
    /// then.
    pub zeros: u64,
    /// Under [`Framing::Lines`](crate::Framing::Lines), the part here of a line that an earlier
    /// chunk began, its newline included where it is here. Of an over-long line this is the part
    /// after its head; it may begin with bytes of the head. Of any other line it is nothing new.
    pub before: Bytes,
    /// Offset of `before` in the decoded input.
    pub before_offset: u64,
    /// Its place among the chunks of its run.
    pub(crate) number: u64,
    pub(crate) line_bytes_max: usize,
    /// Start in `bytes` of the last line or record when it is over-long and only its head is here:
    /// at least `line_bytes_max` bytes of it.
    pub(crate) long_start: Option<usize>,
    /// The input ended inside this line or record, or after a last one that nothing ends.
    pub(crate) unfinished: bool,
    /// Holes end lines, as [`Framing::LogLines`] says.
    pub(crate) has_holes: bool,
    /// Its first line begins after a hole.
    pub(crate) after_hole: bool,
}

/// One line, without its newline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkLine<'a> {
    /// Index of the line's first byte in the chunk's `bytes`.
    pub start: usize,
    /// Index after the line and its newline, as far as they are here.
    pub end: usize,
    /// The line; of an over-long one its first `line_bytes_max` bytes.
    pub bytes: &'a [u8],
    /// The line is longer than `line_bytes_max`.
    pub long: bool,
    /// The line begins after a hole, and not after a newline.
    pub after_hole: bool,
}

/// The lines of a chunk, in order.
#[derive(Debug)]
pub struct ChunkLines<'a> {
    bytes: &'a [u8],
    position: usize,
    line_bytes_max: usize,
    cut: bool,
    has_holes: bool,
    after_hole: bool,
}

impl Chunk {
    /// A stretch of bytes that was framed as bytes.
    pub(crate) fn of_bytes(offset: u64, bytes: Bytes) -> Self {
        Self { bytes, ..Self::empty(offset, usize::MAX) }
    }

    /// A hole.
    pub(crate) fn of_zeros(offset: u64, zeros: u64) -> Self {
        Self { zeros, ..Self::empty(offset, usize::MAX) }
    }

    /// Nothing at all, at `offset`.
    #[must_use]
    pub fn empty(offset: u64, line_bytes_max: usize) -> Self {
        Self {
            offset,
            bytes: Bytes::new(),
            zeros: 0,
            before: Bytes::new(),
            before_offset: offset,
            number: 0,
            line_bytes_max,
            long_start: None,
            unfinished: false,
            has_holes: false,
            after_hole: false,
        }
    }

    /// The same chunk without the bytes from `end` on.
    #[must_use]
    pub fn until(&self, end: usize) -> Self {
        Self { bytes: self.bytes.slice(..end), long_start: None, unfinished: false, ..self.clone() }
    }

    /// The same chunk without the bytes before `start`, and without `before`.
    #[must_use]
    pub fn from(&self, start: usize) -> Self {
        Self {
            offset: self.offset + start as u64,
            bytes: self.bytes.slice(start..),
            before: Bytes::new(),
            long_start: self.long_start.map(|long| long - start),
            after_hole: self.after_hole && start == 0,
            ..self.clone()
        }
    }

    /// Its place among the chunks of its run, from 0: they are given out in this order, and each is
    /// given to a stage.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Its last line or record is one that nothing ended but the end of the input.
    #[must_use]
    pub fn is_unfinished(&self) -> bool {
        self.unfinished
    }

    /// Start in `bytes` of the last line or record, when it is over-long and goes on in the chunks
    /// that follow.
    #[must_use]
    pub fn long_start(&self) -> Option<usize> {
        self.long_start
    }

    /// The lines of a chunk that was framed as lines.
    #[must_use]
    pub fn lines(&self) -> ChunkLines<'_> {
        ChunkLines {
            bytes: &self.bytes,
            position: 0,
            line_bytes_max: self.line_bytes_max,
            cut: self.long_start.is_some(),
            has_holes: self.has_holes,
            after_hole: self.after_hole,
        }
    }
}

impl<'a> Iterator for ChunkLines<'a> {
    type Item = ChunkLine<'a>;

    #[inline]
    fn next(&mut self) -> Option<ChunkLine<'a>> {
        let start = self.position;
        let rest = &self.bytes[start..];
        let (end, ended) = match memchr(b'\n', rest) {
            Some(end) => (end, true),
            None if rest.is_empty() => return None,
            None => (rest.len(), false),
        };
        let is_over_long = end > self.line_bytes_max;
        let hole_end = if is_over_long { self.hole_end(start, end) } else { None };
        self.position = start + hole_end.unwrap_or(end + usize::from(ended));
        let after_hole = std::mem::replace(&mut self.after_hole, hole_end.is_some());
        // One place that makes the line, so that it is not copied.
        let bytes = &rest[..end.min(self.line_bytes_max)];
        Some(ChunkLine { start, end: self.position, bytes, long: is_over_long || self.cut && !ended, after_hole })
    }
}

impl ChunkLines<'_> {
    /// The end of the first hole in an over-long line of `length` bytes at `start`.
    #[cold]
    fn hole_end(&self, start: usize, length: usize) -> Option<usize> {
        let line = &self.bytes[start..start + length];
        if self.has_holes { HoleEnds::new(line, self.line_bytes_max, 0).next() } else { None }
    }
}

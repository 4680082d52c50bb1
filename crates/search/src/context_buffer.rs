//! The lines that have passed and may still have to be shown, before a selected one.

use crate::searcher::count_lines;
use bytes::Bytes;
use memchr::{memchr, memrchr};
use std::collections::VecDeque;

/// Bytes kept of an over-long line where the input can't be read again.
const HEAD_BYTES_MAX: usize = 4 << 10;

/// Lines that followed one another, or one that was not held whole.
pub(crate) enum ContextPiece {
    Lines { bytes: Vec<u8>, lines: usize, number: u64, offset: u64 },
    Long(PassedLine),
}

/// An over-long line.
#[derive(Clone)]
pub(crate) struct PassedLine {
    pub(crate) offset: u64,
    pub(crate) number: u64,
    /// Without its newline.
    pub(crate) bytes: u64,
    pub(crate) newline: bool,
    pub(crate) head: Bytes,
}

impl PassedLine {
    pub(crate) fn end(&self) -> u64 {
        self.offset + self.bytes + u64::from(self.newline)
    }
}

impl ContextPiece {
    pub(crate) fn offset(&self) -> u64 {
        match self {
            Self::Lines { offset, .. } => *offset,
            Self::Long(line) => line.offset,
        }
    }

    fn end(&self) -> u64 {
        match self {
            Self::Lines { bytes, offset, .. } => offset + bytes.len() as u64,
            Self::Long(line) => line.end(),
        }
    }

    fn held_bytes(&self) -> usize {
        match self {
            Self::Lines { bytes, .. } => bytes.len(),
            Self::Long(line) => line.head.len() + size_of::<Self>(),
        }
    }

    fn lines(&self) -> usize {
        match self {
            Self::Lines { lines, .. } => *lines,
            Self::Long(_) => 1,
        }
    }
}

/// The last lines of the chunks before the present one, within a number of lines and of bytes.
pub(crate) struct ContextBuffer {
    pieces: VecDeque<ContextPiece>,
    lines: usize,
    bytes: usize,
    lines_max: usize,
    bytes_max: usize,
    /// The byte that ends a line.
    terminator: u8,
    /// Lines before this offset were let go of for want of memory.
    forgotten_to: u64,
    /// Some of those were asked for.
    pub(crate) missed: bool,
}

impl ContextBuffer {
    pub(crate) fn new(lines_max: usize, bytes_max: usize, terminator: u8) -> Self {
        Self { pieces: VecDeque::new(), lines: 0, bytes: 0, lines_max, bytes_max, terminator, forgotten_to: 0, missed: false }
    }

    /// Adds the lines of a chunk.
    pub(crate) fn add_lines(&mut self, lines: &[u8], offset: u64, number: u64) {
        let (length, count) = lines_backward(lines, self.lines_max, self.terminator);
        let start = lines.len() - length;
        if count == 0 {
            return;
        }
        let number = number + if start > 0 { count_lines(&lines[..start], self.terminator) } else { 0 };
        self.add(ContextPiece::Lines { bytes: lines[start..].to_vec(), lines: count, number, offset: offset + start as u64 });
    }

    /// Adds an over-long line.
    pub(crate) fn add_long(&mut self, line: &PassedLine) {
        if self.lines_max > 0 {
            // A copy of a little: the head itself would keep a buffer.
            let head = Bytes::copy_from_slice(&line.head[..line.head.len().min(HEAD_BYTES_MAX)]);
            self.add(ContextPiece::Long(PassedLine { head, ..*line }));
        }
    }

    /// Adds a piece, and drops lines before the last that may be asked for, and those for which
    /// there is no memory.
    fn add(&mut self, piece: ContextPiece) {
        self.lines += piece.lines();
        self.bytes += piece.held_bytes();
        self.pieces.push_back(piece);
        while let Some(first) = self.pieces.front() {
            let spare = self.lines - first.lines() >= self.lines_max;
            if !spare && self.bytes <= self.bytes_max {
                break;
            }
            if !spare {
                self.forgotten_to = first.end();
            }
            self.lines -= first.lines();
            self.bytes -= first.held_bytes();
            self.pieces.pop_front();
        }
    }

    /// The last `wanted` lines before `end`, as far as they lie after `shown_to`; without what is
    /// missing in between.
    pub(crate) fn last_lines(&mut self, wanted: usize, shown_to: u64, end: u64) -> Vec<ContextPiece> {
        let (mut left, mut end) = (wanted, end);
        let mut last = Vec::new();
        while left > 0 && end > shown_to {
            let Some(piece) = self.pieces.pop_back() else {
                self.missed |= self.forgotten_to == end;
                break;
            };
            self.lines -= piece.lines();
            self.bytes -= piece.held_bytes();
            if piece.end() != end {
                break;
            }
            end = piece.offset();
            let piece = match piece {
                ContextPiece::Lines { mut bytes, number, offset, .. } => {
                    let shown = (shown_to.saturating_sub(offset) as usize).min(bytes.len());
                    let (length, lines) = lines_backward(&bytes[shown..], left, self.terminator);
                    let start = bytes.len() - length;
                    left -= lines;
                    let number = number + count_lines(&bytes[..start], self.terminator);
                    bytes.drain(..start);
                    ContextPiece::Lines { bytes, lines, number, offset: offset + start as u64 }
                }
                long => {
                    left -= 1;
                    long
                }
            };
            last.push(piece);
        }
        last.reverse();
        last
    }
}

/// Length and number of the first lines, at most `count` of them.
pub(crate) fn lines_forward(bytes: &[u8], count: usize, terminator: u8) -> (usize, usize) {
    let (mut length, mut lines) = (0, 0);
    while lines < count && length < bytes.len() {
        length = memchr(terminator, &bytes[length..]).map_or(bytes.len(), |newline| length + newline + 1);
        lines += 1;
    }
    (length, lines)
}

/// Length and number of the last lines, at most `count` of them.
pub(crate) fn lines_backward(bytes: &[u8], count: usize, terminator: u8) -> (usize, usize) {
    let (mut start, mut lines) = (bytes.len(), 0);
    while lines < count && start > 0 {
        start = memrchr(terminator, &bytes[..start - 1]).map_or(0, |newline| newline + 1);
        lines += 1;
    }
    (bytes.len() - start, lines)
}

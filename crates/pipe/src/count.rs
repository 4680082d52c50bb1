//! Lines, bytes and the longest line, of any input, in one pass.

use crate::chunk::Chunk;
use crate::error::Error;
use crate::run::Stage;
use memchr::{memchr, memrchr};

/// Counts of a stretch of bytes, which can be joined with those of the next stretch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Count {
    /// Newlines: as `wc -l`, a last line without one does not count.
    pub newlines: u64,
    /// Bytes.
    pub bytes: u64,
    /// Bytes before the first newline; all of them where there is none.
    head: u64,
    /// Bytes after the last newline; all of them where there is none.
    tail: u64,
    /// The longest line that lies between two newlines.
    inner: u64,
}

/// A stage that counts chunks of bytes.
#[derive(Debug, Clone, Copy)]
pub struct Counter {
    /// Whether to look for the longest line, which costs a second look at every block.
    pub longest: bool,
}

impl Count {
    /// The longest line in bytes, its newline not counted; a last line without newline counts.
    #[must_use]
    pub fn longest_bytes(&self) -> u64 {
        self.inner.max(self.head).max(self.tail)
    }

    /// The counts of this stretch followed by `next`.
    #[must_use]
    pub fn then(self, next: Self) -> Self {
        let across = self.tail + next.head;
        Self {
            newlines: self.newlines + next.newlines,
            bytes: self.bytes + next.bytes,
            head: if self.newlines == 0 { across } else { self.head },
            tail: if next.newlines == 0 { across } else { next.tail },
            inner: match (self.newlines, next.newlines) {
                (0, _) | (_, 0) => self.inner.max(next.inner),
                _ => self.inner.max(next.inner).max(across),
            },
        }
    }

    /// The counts of two inputs that do not touch: no line crosses from this one to `other`.
    #[must_use]
    pub fn beside(self, other: Self) -> Self {
        Self {
            newlines: self.newlines + other.newlines,
            bytes: self.bytes + other.bytes,
            head: 0,
            tail: 0,
            inner: self.longest_bytes().max(other.longest_bytes()),
        }
    }

    fn of_zeros(length: u64) -> Self {
        Self { bytes: length, head: length, tail: length, ..Self::default() }
    }

    fn of(bytes: &[u8], longest: bool) -> Self {
        let newlines = bytecount::count(bytes, b'\n') as u64;
        let whole = Self { newlines, ..Self::of_zeros(bytes.len() as u64) };
        if !longest {
            return whole;
        }
        match (memchr(b'\n', bytes), memrchr(b'\n', bytes)) {
            (Some(first), Some(last)) => Self {
                head: first as u64,
                tail: (bytes.len() - last - 1) as u64,
                inner: longest_line(&bytes[first + 1..=last]) as u64,
                ..whole
            },
            _ => whole,
        }
    }
}

/// The longest of the newline-terminated lines in `bytes`.
///
/// Looks only where a longer line could end: when the next `longest` bytes hold a newline, none of the lines
/// that end before it can be longer, so the search goes on behind the last such newline (the idea of Boyer and
/// Moore's skip).
fn longest_line(bytes: &[u8]) -> usize {
    let (mut start, mut longest) = (0, 0);
    while start + longest < bytes.len() {
        match memrchr(b'\n', &bytes[start..=start + longest]) {
            Some(newline) => start += newline + 1,
            None => {
                let length = memchr(b'\n', &bytes[start..]).unwrap_or(bytes.len() - start);
                longest = length;
                start += length + 1;
            }
        }
    }
    longest
}

impl Stage for Counter {
    type Output = Count;

    fn chunk(&mut self, chunk: &Chunk) -> Result<Count, Error> {
        Ok(if chunk.zeros > 0 { Count::of_zeros(chunk.zeros) } else { Count::of(&chunk.bytes, self.longest) })
    }
}

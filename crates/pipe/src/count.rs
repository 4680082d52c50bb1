//! Lines, words, characters, bytes and the longest line, of any input, in one pass.

use crate::chunk::Chunk;
use crate::error::Error;
use crate::run::Stage;
use memchr::{memchr, memrchr};

/// Counts of a stretch of bytes, which can be joined with those of the next stretch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByteCounts {
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
    words: WordCounts,
    characters: Characters,
}

/// Counts beside newlines and bytes; each costs a further look at every block.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counter {
    /// True if to look for the longest line.
    pub longest: bool,
    /// True if to count words.
    pub words: bool,
    /// True if to count characters.
    pub characters: bool,
}

impl ByteCounts {
    /// The longest line in bytes, its newline not counted; a last line without newline counts.
    #[must_use]
    pub fn longest_bytes(&self) -> u64 {
        self.inner.max(self.head).max(self.tail)
    }

    /// Runs of bytes that are no ASCII white space.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.words.count
    }

    /// Characters of UTF-8; bytes that are part of none do not count.
    #[must_use]
    pub fn characters(&self) -> u64 {
        self.characters.count
    }

    /// The counts of this stretch, which begins with its input, followed by `next`.
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
            words: if next.bytes == 0 { self.words } else { self.words.then(next.words) },
            characters: self.characters.then(next.characters),
        }
    }

    /// The counts of two inputs that do not touch: no line, word or character crosses from this one
    /// to `other`.
    #[must_use]
    pub fn beside(self, other: Self) -> Self {
        let words = self.words() + other.words();
        let characters = self.characters() + other.characters();
        Self {
            newlines: self.newlines + other.newlines,
            bytes: self.bytes + other.bytes,
            head: 0,
            tail: 0,
            inner: self.longest_bytes().max(other.longest_bytes()),
            words: WordCounts { count: words, ..WordCounts::default() },
            characters: Characters { count: characters, ..Characters::default() },
        }
    }

    fn of_zeros(length: u64) -> Self {
        // One word, however long, and as many characters: a NUL is neither white space nor part of
        // a longer character.
        let words = WordCounts { count: u64::from(length > 0), starts_in: length > 0, ends_in: length > 0 };
        let characters = Characters { count: length, continues: length == 0, ..Characters::default() };
        Self { bytes: length, head: length, tail: length, words, characters, ..Self::default() }
    }

    fn of(bytes: &[u8], counter: Counter) -> Self {
        let newlines = bytecount::count(bytes, b'\n') as u64;
        let length = bytes.len() as u64;
        let words = if counter.words { WordCounts::of(bytes) } else { WordCounts::default() };
        let characters = if counter.characters { Characters::of(bytes) } else { Characters::default() };
        let whole = Self { newlines, bytes: length, head: length, tail: length, words, characters, ..Self::default() };
        if !counter.longest {
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

/// Words of a stretch, and whether one may go on before or after it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct WordCounts {
    count: u64,
    starts_in: bool,
    ends_in: bool,
}

impl WordCounts {
    fn of(bytes: &[u8]) -> Self {
        let (mut count, mut before) = (0, true);
        for byte in bytes {
            let space = is_space(*byte);
            count += u64::from(before & !space);
            before = space;
        }
        let is_word = |byte: Option<&u8>| byte.is_some_and(|byte| !is_space(*byte));
        Self { count, starts_in: is_word(bytes.first()), ends_in: is_word(bytes.last()) }
    }

    /// Joined with the words of a stretch that is not empty.
    fn then(self, next: Self) -> Self {
        let across = u64::from(self.ends_in && next.starts_in);
        Self { count: self.count + next.count - across, starts_in: self.starts_in, ends_in: next.ends_in }
    }
}

/// White space of the C locale.
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// A character's bytes, at most four, of which one stretch has only some.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct PartialChar {
    bytes: [u8; 4],
    length: usize,
}

impl PartialChar {
    fn of(bytes: &[u8]) -> Self {
        let mut cut = Self { length: bytes.len(), ..Self::default() };
        cut.bytes[..bytes.len()].copy_from_slice(bytes);
        cut
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

/// Characters of a stretch, and the ends of those that it has cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Characters {
    count: u64,
    /// The bytes at its start that may end a character: three at most.
    head: PartialChar,
    /// There is nothing else in it, so that a character before it may also go on after it.
    continues: bool,
    /// The bytes at its end that begin a character.
    tail: PartialChar,
}

impl Default for Characters {
    fn default() -> Self {
        Self { count: 0, head: PartialChar::default(), continues: true, tail: PartialChar::default() }
    }
}

impl Characters {
    fn of(bytes: &[u8]) -> Self {
        let continuing = bytes.iter().take(4).take_while(|byte| is_continuing(**byte)).count();
        // A fourth belongs to no character, whatever is before them.
        let head = continuing.min(3);
        let rest = &bytes[continuing..];
        let tail = unfinished(rest);
        let whole = &rest[..rest.len() - tail];
        let count = match std::str::from_utf8(whole) {
            Ok(text) => bytecount::num_chars(text.as_bytes()),
            Err(_) => whole.utf8_chunks().map(|chunk| bytecount::num_chars(chunk.valid().as_bytes())).sum(),
        };
        Self {
            count: count as u64,
            head: PartialChar::of(&bytes[..head]),
            continues: head == bytes.len(),
            tail: PartialChar::of(&rest[rest.len() - tail..]),
        }
    }

    fn then(self, next: Self) -> Self {
        let mut open = self.tail;
        let mut ended = 0;
        for byte in next.head.bytes() {
            if open.length == 0 {
                break;
            }
            open.bytes[open.length] = *byte;
            open.length += 1;
            match std::str::from_utf8(open.bytes()) {
                Ok(_) => (ended, open) = (1, PartialChar::default()),
                Err(error) if error.error_len().is_some() => open = PartialChar::default(),
                Err(_) => {}
            }
        }
        let tail = if next.continues { open } else { next.tail };
        Self { count: self.count + ended + next.count, head: self.head, continues: self.continues && next.continues, tail }
    }
}

fn is_continuing(byte: u8) -> bool {
    byte & 0xc0 == 0x80
}

/// Number of bytes at the end of `bytes` that begin a character and need more.
fn unfinished(bytes: &[u8]) -> usize {
    let last = bytes.len().saturating_sub(3);
    let begins = |start: &usize| {
        std::str::from_utf8(&bytes[*start..]).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
    };
    (last..bytes.len()).find(begins).map_or(0, |start| bytes.len() - start)
}

/// The longest of the newline-terminated lines in `bytes`.
///
/// Looks only where a longer line could end: when the next `longest` bytes hold a newline, none of
/// the lines that end before it can be longer, so the search goes on after the last such newline
/// (the idea of Boyer and Moore's skip).
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
    type Output = ByteCounts;

    fn chunk(&mut self, chunk: &Chunk) -> Result<ByteCounts, Error> {
        Ok(if chunk.zeros > 0 { ByteCounts::of_zeros(chunk.zeros) } else { ByteCounts::of(&chunk.bytes, *self) })
    }
}

//! The records of a chunk: their starts, the bytes between them, and the way on after a bad one.

use super::cursor::{Cursor, RecordFlaw};
use super::head::{foreign_encoding, mark_bytes};
use super::layout::Layout;
use super::split::JsonSplitter;
use crate::decode::BadRecord;
use crate::limits::TEXT_BYTES_MAX;
use memchr::memchr;
use rorqual_pipe::{Chunk, Error, ErrorClass};

/// Layout of records in chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordLayout {
    /// One a line.
    Newlines,
    /// White space, or nothing.
    Space,
    /// Commas, which the splitter has checked.
    Commas,
    /// The same, between members of an object: a record is a key, a colon and a value.
    Members,
}

/// Event that stops the reading of records.
pub(super) enum RecordStop {
    /// This record is bad.
    Flaw(RecordFlaw),
    /// A key came twice in an object of this record, which is not known to be sound.
    Duplicate,
    /// A value of this record has no place. It ends [`RecordLayout::each`], once the record is
    /// known to be sound.
    Misfit,
    /// There are as many rows as may be taken at once.
    Full,
    /// The run is over.
    Run(Error),
}

impl From<RecordFlaw> for RecordStop {
    fn from(flaw: RecordFlaw) -> Self {
        Self::Flaw(flaw)
    }
}

impl From<Error> for RecordStop {
    fn from(error: Error) -> Self {
        Self::Run(error)
    }
}

const INVALID: &str = "bytes that are not UTF-8";
const FOLLOWED: &str = "something follows the value";
const TOO_LONG: &str = "longer than 1 GiB, the most that a column takes at once";
const _: () = assert!(TEXT_BYTES_MAX == 1 << 30, "the message names the limit");

impl RecordLayout {
    pub(super) fn of(layout: &Layout) -> Self {
        match layout {
            Layout::Lines => Self::Newlines,
            Layout::Documents => Self::Space,
            Layout::Array | Layout::Rows(_) => Self::Commas,
            Layout::Members(_) => Self::Members,
        }
    }

    fn has_commas(self) -> bool {
        matches!(self, Self::Commas | Self::Members)
    }

    /// Takes a record, and checks it: where its value starts, and all of it.
    pub(super) fn skip<'t>(self, cursor: &mut Cursor<'t>) -> Result<(usize, &'t str), RecordFlaw> {
        let start = cursor.at();
        if self == Self::Members {
            cursor.key()?.check()?;
            cursor.colon()?;
        }
        let value = cursor.at();
        cursor.skip()?;
        Ok((value - start, &cursor.text()[start..cursor.at()]))
    }

    fn is_between(self, byte: u8) -> bool {
        matches!(byte, b' ' | b'\n' | b'\r' | b'\t') || (byte == b',' && self.has_commas())
    }

    /// Checks the bytes after the value that was just taken.
    #[inline]
    pub(super) fn check_after(self, cursor: &mut Cursor<'_>) -> Result<(), RecordFlaw> {
        let closed = self != Self::Newlines && matches!(cursor.last(), b'}' | b']' | b'"');
        if closed {
            return Ok(());
        }
        cursor.space();
        match cursor.rest().first() {
            None if cursor.is_cut() => Err(cursor.flaw(FOLLOWED)),
            None | Some(b'\n') => Ok(()),
            Some(_) if self == Self::Newlines => Err(cursor.flaw(FOLLOWED)),
            Some(b',') if self.has_commas() => Ok(()),
            // A word ends where a value can start.
            Some(b'{' | b'[' | b'"') => Ok(()),
            Some(_) if self.is_between(cursor.last()) => Ok(()),
            Some(_) => Err(cursor.flaw(FOLLOWED)),
        }
    }

    /// Hands each record to `record`, which takes one value at the cursor and checks the bytes
    /// after it by [`check_after`](Self::check_after); the second argument is the offset of the
    /// cursor's text. Bad records are added to `bad`.
    pub(super) fn each<F>(self, chunk: &Chunk, bad: &mut Vec<BadRecord>, record: F) -> Result<(), RecordStop>
    where
        F: FnMut(&mut Cursor<'_>, u64) -> Result<(), RecordStop>,
    {
        let bytes = &chunk.bytes[..chunk.long_start().unwrap_or(chunk.bytes.len())];
        let mut start = 0;
        if chunk.offset == 0 {
            if let Some(message) = foreign_encoding(&bytes[..bytes.len().min(4)]) {
                return Err(Error::new(ErrorClass::Corrupt, String::new(), message).at(0).into());
            }
            start = mark_bytes(bytes);
        }
        let mut walk = RecordWalk { between: self, bytes, offset: chunk.offset, bad, record };
        while start < bytes.len() {
            start = walk.stretch(start)?;
        }
        Ok(())
    }
}

struct RecordWalk<'a, F> {
    between: RecordLayout,
    bytes: &'a [u8],
    offset: u64,
    bad: &'a mut Vec<BadRecord>,
    record: F,
}

impl<F: FnMut(&mut Cursor<'_>, u64) -> Result<(), RecordStop>> RecordWalk<'_, F> {
    /// Takes the records from `start` on that are UTF-8, and the bad one after them; returns the
    /// place to go on from.
    fn stretch(&mut self, start: usize) -> Result<usize, RecordStop> {
        let bytes = &self.bytes[start..];
        let text = valid_text(bytes);
        let mut cursor = Cursor::of_records(text, self.between == RecordLayout::Newlines, text.len() < bytes.len());
        loop {
            let between = cursor.rest().iter().take_while(|byte| self.between.is_between(**byte)).count();
            cursor.advance(between);
            let at = cursor.at();
            if at == bytes.len() {
                return Ok(self.bytes.len());
            }
            match self.one(&mut cursor, bytes, start) {
                Ok(()) => {}
                Err(RecordStop::Flaw(flaw)) => {
                    let end = at + self.note_bad(bytes, at, start, text.len(), flaw);
                    if end > text.len() {
                        return Ok(start + end);
                    }
                    cursor.move_to(end);
                }
                Err(stop) => return Err(stop),
            }
            cursor.move_to(cursor.at());
        }
    }

    fn one(&mut self, cursor: &mut Cursor<'_>, bytes: &[u8], start: usize) -> Result<(), RecordStop> {
        let at = cursor.at();
        if bytes.len() - at > TEXT_BYTES_MAX && self.length(&bytes[at..]) > TEXT_BYTES_MAX {
            return Err(RecordFlaw { at, reason: TOO_LONG }.into());
        }
        (self.record)(cursor, self.offset + start as u64)
    }

    /// Keeps the bad record that starts at `at`; its length.
    fn note_bad(&mut self, bytes: &[u8], at: usize, start: usize, text_bytes: usize, flaw: RecordFlaw) -> usize {
        let length = self.length(&bytes[at..]);
        let invalid = flaw.at >= text_bytes && text_bytes < bytes.len();
        let reason = if invalid { INVALID } else { flaw.reason };
        let offset = self.offset + start as u64;
        self.bad.push(BadRecord { offset: offset + at as u64, length: length as u64, at: offset + flaw.at as u64, reason });
        length
    }

    /// Length of the record that `bytes` start with.
    fn length(&self, bytes: &[u8]) -> usize {
        let end = match self.between {
            RecordLayout::Newlines => memchr(b'\n', bytes).map(|end| end + 1),
            RecordLayout::Space => JsonSplitter::record_end(bytes, &Layout::Documents),
            RecordLayout::Commas => JsonSplitter::record_end(bytes, &Layout::Array),
            RecordLayout::Members => JsonSplitter::record_end(bytes, &Layout::Members(Vec::new())),
        };
        end.unwrap_or(bytes.len())
    }
}

/// The longest start of `bytes` that is UTF-8.
fn valid_text(bytes: &[u8]) -> &str {
    if let Ok(text) = simdutf8::basic::from_utf8(bytes) {
        return text;
    }
    // Slower, but it says where.
    match simdutf8::compat::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => simdutf8::basic::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

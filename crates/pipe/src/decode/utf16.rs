//! UTF-16, as IIS and PowerShell's `>` write it, to UTF-8.

use super::fault::DecodeError;
use crate::limits::UTF16_BYTES;
use std::io::{self, ErrorKind, Read};

/// Number of first bytes that tell UTF-16 without a mark.
pub(crate) const UNMARKED_BYTES: usize = 12;

/// Encoding of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// Bytes that are handed on as they are, whatever they are.
    Utf8,
    /// Units of two bytes, the lower one first.
    Utf16Le,
    /// Units of two bytes, the higher one first.
    Utf16Be,
}

/// An input of an odd number of bytes up to this one is no UTF-16 without its mark.
const ODD_BYTES_MAX: usize = 5;

impl Charset {
    /// Tells UTF-16 by its mark, or by two to six first characters that are all ASCII: every other
    /// byte is zero then.
    #[must_use]
    pub fn detect(head: &[u8]) -> Self {
        match head {
            // UTF-32 begins with the same mark.
            [0xff, 0xfe, 0, 0, ..] => return Self::Utf8,
            [0xff, 0xfe, ..] => return Self::Utf16Le,
            [0xfe, 0xff, ..] => return Self::Utf16Be,
            _ => {}
        }
        // Two units may be anything, and so short an input is here as a whole: one with half a
        // character more is other text.
        if head.len() <= ODD_BYTES_MAX && !head.len().is_multiple_of(2) {
            return Self::Utf8;
        }
        let units = head[..head.len().min(UNMARKED_BYTES)].chunks_exact(2);
        let is_text = |byte: u8| matches!(byte, b' '..=b'~' | b'\t' | b'\r' | b'\n');
        match units.len() {
            0 | 1 => Self::Utf8,
            _ if units.clone().all(|unit| is_text(unit[0]) && unit[1] == 0) => Self::Utf16Le,
            _ if units.clone().all(|unit| is_text(unit[1]) && unit[0] == 0) => Self::Utf16Be,
            _ => Self::Utf8,
        }
    }

    /// Number of first bytes that are needed of a stream that begins like this.
    pub(crate) fn head_bytes(head: &[u8]) -> usize {
        match head {
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => 4,
            [0, _, 0, _, ..] | [_, 0, _, 0, ..] => UNMARKED_BYTES,
            _ => 4,
        }
    }
}

/// Reads an input as UTF-8, whichever [`Charset`] its first bytes tell. Holds [`UTF16_BYTES`] of
/// it.
pub(super) struct Utf8Reader<R> {
    input: R,
    charset: Option<Charset>,
    stored: Box<[u8]>,
    /// Start of the rest of `stored` that was not taken yet.
    from: usize,
    to: usize,
    ended: bool,
    /// The failure that ended it.
    cause: Option<io::Error>,
    /// Bytes of the input before `from`.
    taken: u64,
    /// A character for which there was too little room.
    pending: [u8; 4],
    pending_from: usize,
    failed: Option<DecodeError>,
}

impl<R: Read> Utf8Reader<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            charset: None,
            stored: vec![0; UTF16_BYTES].into(),
            from: 0,
            to: 0,
            ended: false,
            cause: None,
            taken: 0,
            pending: [0; 4],
            pending_from: 4,
            failed: None,
        }
    }

    /// Makes at least `wanted` bytes available where the input has so many; bytes before a failure
    /// are good.
    fn fill(&mut self, wanted: usize) {
        while !self.ended && self.to - self.from < wanted {
            self.stored.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
            match self.input.read(&mut self.stored[self.to..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.to += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => (self.ended, self.cause) = (true, Some(error)),
            }
        }
    }

    /// The end of the input.
    fn end(&mut self) -> io::Result<usize> {
        self.cause.take().map_or(Ok(0), Err)
    }

    fn charset(&mut self) -> Charset {
        if let Some(charset) = self.charset {
            return charset;
        }
        self.fill(4);
        self.fill(Charset::head_bytes(&self.stored[self.from..self.to]));
        let head = &self.stored[self.from..self.to];
        let charset = Charset::detect(head);
        let marked = matches!(head, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        if marked && charset != Charset::Utf8 {
            self.step(2);
        }
        self.charset = Some(charset);
        charset
    }

    fn step(&mut self, bytes: usize) {
        self.from += bytes;
        self.taken += bytes as u64;
    }

    /// The bytes that were read ahead, and then the input as it is.
    fn read_plain(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.from == self.to {
            return if self.ended { self.end() } else { self.input.read(buffer) };
        }
        let amount = buffer.len().min(self.to - self.from);
        buffer[..amount].copy_from_slice(&self.stored[self.from..self.from + amount]);
        self.step(amount);
        Ok(amount)
    }

    fn pending(&mut self, buffer: &mut [u8]) -> usize {
        let pending = &self.pending[self.pending_from..];
        let amount = pending.len().min(buffer.len());
        buffer[..amount].copy_from_slice(&pending[..amount]);
        self.pending_from += amount;
        amount
    }

    /// The next character that is there, or nothing where more must be read for it.
    fn character(&mut self, unit_of: fn([u8; 2]) -> u16) -> Result<Option<char>, DecodeError> {
        let available = &self.stored[self.from..self.to];
        let unit = |at: usize| available.get(at..at + 2).map(|bytes| unit_of([bytes[0], bytes[1]]));
        let Some(first) = unit(0) else {
            let cut = self.ended && self.cause.is_none() && !available.is_empty();
            return if cut { Err(DecodeError::OddByte(self.taken)) } else { Ok(None) };
        };
        let (character, bytes) = match (first, unit(2)) {
            (0xd800..=0xdbff, Some(second @ 0xdc00..=0xdfff)) => {
                (char::from_u32(0x1_0000 + ((u32::from(first) - 0xd800) << 10) + (u32::from(second) - 0xdc00)), 4)
            }
            (0xd800..=0xdbff, None) if !self.ended || self.cause.is_some() => return Ok(None),
            _ => (char::from_u32(u32::from(first)), 2),
        };
        let character = character.ok_or(DecodeError::HalfPair(self.taken))?;
        self.step(bytes);
        Ok(Some(character))
    }

    fn transcode(&mut self, buffer: &mut [u8], unit_of: fn([u8; 2]) -> u16) -> usize {
        let mut written = 0;
        while written < buffer.len() {
            match self.character(unit_of) {
                Ok(Some(character)) if character.is_ascii() => {
                    buffer[written] = character as u8;
                    written += 1;
                }
                Ok(Some(character)) => {
                    let length = character.len_utf8();
                    self.pending_from = self.pending.len() - length;
                    character.encode_utf8(&mut self.pending[4 - length..]);
                    written += self.pending(&mut buffer[written..]);
                }
                Ok(None) => break,
                Err(fault) => {
                    self.failed = Some(fault);
                    break;
                }
            }
        }
        written
    }
}

impl<R: Read> Read for Utf8Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let unit_of = match self.charset() {
            Charset::Utf8 => return self.read_plain(buffer),
            Charset::Utf16Le => u16::from_le_bytes,
            Charset::Utf16Be => u16::from_be_bytes,
        };
        let mut written = self.pending(buffer);
        while written == 0 && !buffer.is_empty() {
            if let Some(fault) = self.failed {
                return Err(fault.into());
            }
            self.fill(2);
            written = self.transcode(buffer, unit_of);
            if written == 0 && self.failed.is_none() {
                if self.ended {
                    return self.end();
                }
                // The second half of a pair.
                self.fill(4);
            }
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
        text.encode_utf16().flat_map(unit).collect()
    }

    #[test]
    fn marks_and_zeros_tell() {
        assert_eq!(Charset::detect(&utf16("\u{feff}", u16::to_le_bytes)), Charset::Utf16Le);
        assert_eq!(Charset::detect(&utf16("\u{feff}ü", u16::to_be_bytes)), Charset::Utf16Be);
        assert_eq!(Charset::detect(&utf16("#Software", u16::to_le_bytes)), Charset::Utf16Le);
        assert_eq!(Charset::detect(&utf16("1.2", u16::to_be_bytes)), Charset::Utf16Be);
        assert_eq!(Charset::detect(b"\0A\0A\n"), Charset::Utf8);
        // UTF-32 with its mark and without, one character, other characters than ASCII, and binary
        // data.
        for other in
            [&b"\xff\xfe\0\0a\0\0\0"[..], b"a\0\0\0b\0\0\0", b"a\0", b"", b"a\0\xe4\0b\0", b"a\0b\0c\0d\0e\0\x01\0", b"ab"]
        {
            assert_eq!(Charset::detect(other), Charset::Utf8, "{other:?}");
        }
    }

    #[test]
    fn a_character_is_cut_at_any_end_of_a_buffer() {
        let text = "#ä€\u{1f600}\r\n";
        for stored in [utf16(&format!("\u{feff}{text}"), u16::to_le_bytes), utf16(&format!("\u{feff}{text}"), u16::to_be_bytes)] {
            for room in 1..6 {
                let mut reader = Utf8Reader::new(&stored[..]);
                let (mut read, mut buffer) = (Vec::new(), vec![0; room]);
                while let Ok(amount @ 1..) = reader.read(&mut buffer) {
                    read.extend_from_slice(&buffer[..amount]);
                }
                assert_eq!(String::from_utf8_lossy(&read), text, "room for {room}");
            }
        }
    }
}

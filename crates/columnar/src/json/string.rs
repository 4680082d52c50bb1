//! Strings: where they end, 16 bytes at a time, and their escapes.

use super::cursor::{ENDS, RecordFlaw};
use memchr::memchr;
use wide::u8x16;

/// A string as it is written, without its quotes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawString<'a> {
    pub(crate) body: &'a str,
    /// Start of the body in the text.
    pub(crate) start: usize,
    /// It has backslashes.
    pub(crate) escaped: bool,
}

const BAD_ESCAPE: &str = "an escape that JSON does not have";
const CONTROL: &str = "a control character in a string";

impl RawString<'_> {
    /// Checks the escapes.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), RecordFlaw> {
        if self.escaped { unescape(self.body, self.start, &mut DiscardString).map(drop) } else { Ok(()) }
    }

    /// With its quotes.
    pub(super) fn quoted<'a>(&self, text: &'a str) -> &'a str {
        &text[self.start - 1..self.start + self.body.len() + 1]
    }
}

/// Target of unescaped text.
pub(crate) trait StringSink {
    fn push_str(&mut self, text: &str);
    fn push(&mut self, character: char);
}

struct DiscardString;

impl StringSink for DiscardString {
    fn push_str(&mut self, _text: &str) {}
    fn push(&mut self, _character: char) {}
}

impl StringSink for String {
    fn push_str(&mut self, text: &str) {
        Self::push_str(self, text);
    }

    fn push(&mut self, character: char) {
        Self::push(self, character);
    }
}

/// End of the string whose body starts at `at`, and whether it has escapes.
#[inline]
pub(super) fn end(bytes: &[u8], mut at: usize) -> Result<(usize, bool), RecordFlaw> {
    let mut escaped = false;
    loop {
        at = find_special(bytes, at);
        match bytes.get(at) {
            Some(b'"') => return Ok((at, escaped)),
            Some(b'\\') => {
                escaped = true;
                at += 2;
            }
            Some(_) => return Err(RecordFlaw { at, reason: CONTROL }),
            None => return Err(RecordFlaw { at: bytes.len(), reason: ENDS }),
        }
    }
}

/// The first quote, backslash or control character from `at` on.
#[inline]
fn find_special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(part) = bytes.get(at..).and_then(|rest| rest.first_chunk::<16>()) {
        let part = u8x16::from(*part);
        let control = part.min(u8x16::splat(0x1F)).simd_eq(part);
        let special = part.simd_eq(u8x16::splat(b'"')) | part.simd_eq(u8x16::splat(b'\\')) | control;
        let mask = special.to_bitmask();
        if mask != 0 {
            return at + mask.trailing_zeros() as usize;
        }
        at += 16;
    }
    let is_special = |byte: &u8| matches!(byte, b'"' | b'\\' | 0..=0x1F);
    let tail = bytes.get(at..).unwrap_or_default();
    tail.iter().position(is_special).map_or(bytes.len(), |index| at + index)
}

/// Unescapes a body; true if it has a lone surrogate, which becomes U+FFFD. `start` is the place of
/// the body, for flaws.
pub(crate) fn unescape(body: &str, start: usize, out: &mut impl StringSink) -> Result<bool, RecordFlaw> {
    let (mut at, mut lone) = (0, false);
    while let Some(plain) = memchr(b'\\', &body.as_bytes()[at..]) {
        out.push_str(&body[at..at + plain]);
        at += plain;
        let (character, length) = escape(&body.as_bytes()[at..]).map_err(|reason| RecordFlaw { at: start + at, reason })?;
        lone |= character.is_none();
        out.push(character.unwrap_or(char::REPLACEMENT_CHARACTER));
        at += length;
    }
    out.push_str(&body[at..]);
    Ok(lone)
}

/// The character of the escape that `bytes` start with, `None` for a lone surrogate; and how long
/// the escape is.
fn escape(bytes: &[u8]) -> Result<(Option<char>, usize), &'static str> {
    let character = match bytes.get(1) {
        Some(b'n') => '\n',
        Some(b't') => '\t',
        Some(b'r') => '\r',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(byte @ (b'"' | b'\\' | b'/')) => char::from(*byte),
        Some(b'u') => return unicode(bytes),
        _ => return Err(BAD_ESCAPE),
    };
    Ok((Some(character), 2))
}

fn unicode(bytes: &[u8]) -> Result<(Option<char>, usize), &'static str> {
    let unit = hex(&bytes[2..])?;
    if !(0xD800..0xDC00).contains(&unit) {
        return Ok((char::from_u32(unit), 6));
    }
    if !bytes[6..].starts_with(b"\\u") {
        return Ok((None, 6));
    }
    let low = hex(&bytes[8..])?;
    if !(0xDC00..0xE000).contains(&low) {
        return Ok((None, 6));
    }
    Ok((char::from_u32(0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00)), 12))
}

fn hex(bytes: &[u8]) -> Result<u32, &'static str> {
    let digits = bytes.get(..4).ok_or(BAD_ESCAPE)?;
    let digit = |value: u32, byte: &u8| char::from(*byte).to_digit(16).map(|digit| value << 4 | digit);
    digits.iter().try_fold(0, digit).ok_or(BAD_ESCAPE)
}

//! A place in JSON text: white space, words, strings, numbers, and values to be skipped.

use super::number;
use super::string::{self, RawString};
use crate::limits::DEPTH_MAX;

/// Fault of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordFlaw {
    /// Its place in the text.
    pub(crate) at: usize,
    /// The reason.
    pub(crate) reason: &'static str,
}

pub(super) const ENDS: &str = "the record ends too early";
const TOO_DEEP: &str = "nested deeper than 100,000 levels";
const _: () = assert!(DEPTH_MAX == 100_000, "the message names the limit");

/// Reads JSON text once, from its start.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// A newline is a fault: it ends the record.
    lines: bool,
    /// The text is followed by bytes that are not UTF-8.
    cut: bool,
    /// Objects and arrays that are open.
    depth: usize,
    /// White space was skipped since this was last set to false.
    pub(super) spaced: bool,
    /// Brackets that `skip` has open; a byte a level.
    opened: Vec<u8>,
}

impl<'a> Cursor<'a> {
    /// At the start of `text`; `lines` makes newlines a fault.
    pub(crate) fn new(text: &'a str, lines: bool) -> Self {
        Self::of_records(text, lines, false)
    }

    /// At the start of `text`, which is `cut` off before bytes that are not UTF-8.
    pub(super) fn of_records(text: &'a str, lines: bool, cut: bool) -> Self {
        Self { text, at: 0, lines, cut, depth: 0, spaced: false, opened: Vec::new() }
    }

    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    /// The byte before the cursor, which is not at the start.
    #[inline]
    pub(super) fn last(&self) -> u8 {
        self.text.as_bytes()[self.at - 1]
    }

    #[inline]
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Goes to the start of a record.
    pub(super) fn move_to(&mut self, at: usize) {
        self.at = at;
        self.depth = 0;
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    #[inline]
    pub(super) fn rest(&self) -> &'a [u8] {
        &self.text.as_bytes()[self.at..]
    }

    #[inline]
    pub(super) fn advance(&mut self, bytes: usize) {
        self.at += bytes;
    }

    /// The next byte.
    #[inline]
    pub(crate) fn peek(&self) -> Result<u8, RecordFlaw> {
        self.text.as_bytes().get(self.at).copied().ok_or(RecordFlaw { at: self.at, reason: ENDS })
    }

    /// A flaw at the next byte; at the end of the text, that it ends.
    #[cold]
    pub(crate) fn flaw(&self, reason: &'static str) -> RecordFlaw {
        RecordFlaw { at: self.at, reason: if self.at >= self.text.len() { ENDS } else { reason } }
    }

    /// Skips white space.
    #[inline]
    pub(crate) fn space(&mut self) {
        if self.text.as_bytes().get(self.at).is_some_and(|byte| *byte <= b' ') {
            self.space_closely();
        }
    }

    fn space_closely(&mut self) {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r') || (*byte == b'\n' && !self.lines);
        let length = self.rest().iter().take_while(|byte| is_space(byte)).count();
        self.spaced |= length > 0;
        self.at += length;
    }

    /// Takes `byte`, with white space before and after it.
    #[inline]
    pub(crate) fn expect(&mut self, byte: u8, reason: &'static str) -> Result<(), RecordFlaw> {
        self.space();
        if self.text.as_bytes().get(self.at) != Some(&byte) {
            return Err(self.flaw(reason));
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    /// Takes the bracket at the cursor, and white space; whether `close` follows, which is taken
    /// too.
    #[inline]
    pub(crate) fn enter(&mut self, close: u8) -> Result<bool, RecordFlaw> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.flaw(TOO_DEEP));
        }
        self.at += 1;
        self.space();
        let empty = self.text.as_bytes().get(self.at) == Some(&close);
        if empty {
            self.at += 1;
            self.depth -= 1;
        }
        Ok(empty)
    }

    /// Takes the comma after a value, and white space, or the closing bracket; `true` after a
    /// comma.
    #[inline]
    pub(crate) fn goes_on(&mut self, close: u8) -> Result<bool, RecordFlaw> {
        self.space();
        match self.text.as_bytes().get(self.at) {
            Some(b',') => {
                self.at += 1;
                self.space();
                Ok(true)
            }
            Some(byte) if *byte == close => {
                self.at += 1;
                self.depth -= 1;
                Ok(false)
            }
            _ => Err(self.flaw("a comma or a closing bracket should be here")),
        }
    }

    /// Takes a key.
    #[inline]
    pub(crate) fn key(&mut self) -> Result<RawString<'a>, RecordFlaw> {
        if self.text.as_bytes().get(self.at) != Some(&b'"') {
            return Err(self.flaw("a key in quotes should be here"));
        }
        self.string()
    }

    /// Takes the colon after a key, and white space.
    #[inline]
    pub(crate) fn colon(&mut self) -> Result<(), RecordFlaw> {
        self.expect(b':', "a colon should be here")
    }

    /// Takes a word: `null`, `true`, `false`.
    #[inline]
    pub(crate) fn word(&mut self, word: &'static str) -> Result<(), RecordFlaw> {
        if !self.rest().starts_with(word.as_bytes()) {
            return Err(self.flaw("a value should be here"));
        }
        self.at += word.len();
        Ok(())
    }

    /// Takes the string at the cursor. Its escapes are not looked at.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<RawString<'a>, RecordFlaw> {
        let start = self.at + 1;
        let (end, escaped) = string::end(self.text.as_bytes(), start)?;
        self.at = end + 1;
        Ok(RawString { body: &self.text[start..end], start, escaped })
    }

    /// Goes back to the start of the string that was just taken.
    pub(super) fn step_back(&mut self, taken: RawString<'_>) {
        self.at = taken.start - 1;
    }

    /// Takes the number at the cursor.
    pub(crate) fn number(&mut self) -> Result<&'a str, RecordFlaw> {
        let length =
            number::length(self.rest()).map_err(|at| RecordFlaw { at: self.at + at, ..self.flaw("a digit should be here") })?;
        let literal = &self.text[self.at..self.at + length];
        self.at += length;
        Ok(literal)
    }

    /// Takes a value of any kind, and checks it. It does not recurse.
    pub(crate) fn skip(&mut self) -> Result<&'a str, RecordFlaw> {
        let start = self.at;
        self.opened.clear();
        loop {
            let opens = self.skip_start()?;
            if !opens && !self.skip_closing()? {
                return Ok(&self.text[start..self.at]);
            }
            if self.opened.last() == Some(&b'}') {
                let key = self.key()?;
                key.check()?;
                self.colon()?;
            }
        }
    }

    /// A scalar, an empty object or array, or the opening of one with something in it; whether it
    /// is the last.
    fn skip_start(&mut self) -> Result<bool, RecordFlaw> {
        let close = match self.peek()? {
            b'{' => b'}',
            b'[' => b']',
            _ => return self.skip_scalar().map(|()| false),
        };
        let empty = self.enter(close)?;
        if !empty {
            self.opened.push(close);
        }
        Ok(!empty)
    }

    /// Takes the brackets after a value, and the comma; returns whether another value follows.
    fn skip_closing(&mut self) -> Result<bool, RecordFlaw> {
        while let Some(close) = self.opened.last() {
            if self.goes_on(*close)? {
                return Ok(true);
            }
            self.opened.pop();
        }
        Ok(false)
    }

    fn skip_scalar(&mut self) -> Result<(), RecordFlaw> {
        match self.peek()? {
            b'"' => self.string()?.check(),
            b'n' => self.word("null"),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'-' | b'0'..=b'9' => self.number().map(drop),
            _ => Err(self.no_value()),
        }
    }

    /// No value starts here.
    #[cold]
    pub(crate) fn no_value(&self) -> RecordFlaw {
        let starts = |words: &[&str]| words.iter().any(|word| self.rest().starts_with(word.as_bytes()));
        if starts(&["NaN", "nan", "Infinity", "inf"]) {
            self.flaw("NaN and Infinity are not JSON")
        } else {
            self.flaw("a value should be here")
        }
    }
}

/// JSON text without the white space between its parts.
pub(super) fn compact(text: &str, out: &mut String) {
    let (mut start, mut in_string, mut escaped) = (0, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b' ' | b'\n' | b'\r' | b'\t' if !in_string => {
                out.push_str(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push_str(&text[start..]);
}

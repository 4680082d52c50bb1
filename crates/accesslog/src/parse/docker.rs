//! Lines in the envelope of Docker's json-file driver,
//! `{"log":"…\n","stream":"stdout","time":"…"}`, of its driver for fluentd, and of `journalctl -o
//! json`, whose lines have no newline.

use super::escape::undo_escapes;
use super::{LineOutcome, LogParser};
use crate::parse::LineFlaw;

/// Room for a line that is kept from one to the next.
const SCRATCH_BYTES_KEPT: usize = 64 << 10;

/// Bytes after which Docker cuts a line; all pieces but the last are of this length and have no
/// newline.
const PIECE_BYTES: usize = 16 << 10;

/// State of a parser of lines in envelopes.
#[derive(Clone, Debug)]
pub(crate) struct EnvelopeState {
    parser: LogParser,
    /// The line of the last envelope.
    line: Vec<u8>,
}

impl EnvelopeState {
    pub(crate) fn new(parser: LogParser) -> EnvelopeState {
        EnvelopeState { parser, line: Vec::new() }
    }

    /// The same whose parser is another.
    pub(crate) fn map(self, change: impl FnOnce(LogParser) -> LogParser) -> EnvelopeState {
        EnvelopeState { parser: change(self.parser), ..self }
    }

    pub(crate) fn parser(&self) -> &LogParser {
        &self.parser
    }

    /// Reads the line in an envelope.
    pub(crate) fn parse(&mut self, envelope: &[u8]) -> LineOutcome<'_> {
        let envelope = envelope.strip_prefix(b"\xef\xbb\xbf").unwrap_or(envelope);
        if envelope.trim_ascii().is_empty() {
            return LineOutcome::Blank;
        }
        let Some(text) = enveloped(envelope) else {
            return LineOutcome::Rejected(LineFlaw::Start);
        };
        if self.line.capacity() > SCRATCH_BYTES_KEPT {
            self.line = Vec::new();
        }
        self.line.clear();
        // Undone it is never longer.
        self.line.reserve_exact(text.len());
        undo_escapes(text, &mut self.line);
        let line = self.line.strip_suffix(b"\n");
        let has = |key: &[u8]| memchr::memmem::find(envelope, key).is_some();
        let is_of_other_writer = || has(br#""container_name""#) || has(br#""MESSAGE""#);
        let is_whole = line.is_some() || (is_of_other_writer() && !has(br#""partial_message""#));
        if !is_whole && self.line.len() >= PIECE_BYTES {
            return LineOutcome::Rejected(LineFlaw::Piece);
        }
        match self.parser.parse(line.unwrap_or(&self.line)) {
            // The last words of a program that ended its line with itself.
            outcome @ (LineOutcome::Parsed(_) | LineOutcome::Blank) => outcome,
            outcome if is_whole => outcome,
            _ => LineOutcome::Rejected(LineFlaw::Piece),
        }
    }
}

/// The text in an envelope, with its escapes: that of its key `log` or `MESSAGE`, before which
/// others may stand whose values are texts.
pub(crate) fn enveloped(line: &[u8]) -> Option<&[u8]> {
    // Docker writes no blanks, but what copies its lines may.
    let mut rest = line.strip_prefix(b"{")?.trim_ascii_start();
    loop {
        let (key, after) = string(rest)?;
        let (text, after) = string(after.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start())?;
        let after = after.trim_ascii();
        if matches!(key, b"log" | b"MESSAGE") {
            return (after.ends_with(b"}") && (after == b"}" || after.starts_with(b","))).then_some(text);
        }
        rest = after.strip_prefix(b",")?.trim_ascii_start();
    }
}

/// The text in quotes that begins here, and what follows it.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"\"")?;
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some((&text[..at], &text[at + 1..]));
        }
        at += 2;
    }
}

/// The lines in the envelopes of a sample, a line each; of a line in none, nothing.
pub(crate) fn unwrapped(lines: &[&[u8]]) -> Vec<u8> {
    let mut all = Vec::new();
    for text in lines.iter().filter_map(|line| enveloped(line)) {
        undo_escapes(text, &mut all);
        if !all.ends_with(b"\n") {
            all.push(b'\n');
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_envelope_may_have_blanks() {
        for line in [
            r#"{"log":"a\"b","stream":"stdout"}"#,
            r#"{ "log": "a\"b", "time": "2025" }"#,
            r#"{"log" :"a\"b"}"#,
            r#"{"time":"2025\"","stream":"stdout","log":"a\"b"}"#,
            r#"{"_HOSTNAME":"web1","MESSAGE":"a\"b"}"#,
        ] {
            assert_eq!(enveloped(line.as_bytes()), Some(&br#"a\"b"#[..]), "{line}");
        }
        for line in [
            r#"{"logs":"a"}"#,
            r#"{"log":1}"#,
            r#"{"log":"a""#,
            r#"{"log":"a" "b"}"#,
            r#"{"x":1,"log":"a"}"#,
            r#"{"x":"log"}"#,
            r#"{"log":"a\"#,
        ] {
            assert_eq!(enveloped(line.as_bytes()), None, "{line}");
        }
    }
}

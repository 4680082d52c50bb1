//! Lines in the envelope of Docker's json-file driver:
//! `{"log":"…\n","stream":"stdout","time":"…"}`.

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
        if line.is_none() && self.line.len() >= PIECE_BYTES {
            return LineOutcome::Rejected(LineFlaw::Piece);
        }
        match self.parser.parse(line.unwrap_or(&self.line)) {
            // The last words of a program that ended its line with itself.
            outcome @ (LineOutcome::Parsed(_) | LineOutcome::Blank) => outcome,
            outcome if line.is_some() => outcome,
            _ => LineOutcome::Rejected(LineFlaw::Piece),
        }
    }
}

/// The text in an envelope, with its escapes.
pub(crate) fn enveloped(line: &[u8]) -> Option<&[u8]> {
    // Docker writes no blanks, but what copies its lines may.
    let key = line.strip_prefix(b"{")?.trim_ascii_start().strip_prefix(br#""log""#)?;
    let text = key.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start().strip_prefix(b"\"")?;
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', &text[at..])?;
        if text[at] == b'"' {
            break;
        }
        at += 2;
        if at > text.len() {
            return None;
        }
    }
    let after = text[at + 1..].trim_ascii();
    (after.ends_with(b"}") && (after == b"}" || after.starts_with(b","))).then_some(&text[..at])
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
        for line in [r#"{"log":"a\"b","stream":"stdout"}"#, r#"{ "log": "a\"b", "time": "2025" }"#, r#"{"log" :"a\"b"}"#] {
            assert_eq!(enveloped(line.as_bytes()), Some(&br#"a\"b"#[..]), "{line}");
        }
        for line in [r#"{"logs":"a"}"#, r#"{"log":1}"#, r#"{"log":"a""#, r#"{"log":"a" "b"}"#] {
            assert_eq!(enveloped(line.as_bytes()), None, "{line}");
        }
    }
}

//! Fields of one record.

use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// The fields of a record, in order. A record without a byte has none.
pub(super) struct Fields<'a> {
    rest: Option<&'a [u8]>,
    delimiter: u8,
}

/// One field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field<'a> {
    /// Its text, quotes undone.
    pub(super) text: Cow<'a, [u8]>,
    /// It was in quotes, and so is a text even where it is empty.
    pub(super) quoted: bool,
}

impl<'a> Fields<'a> {
    /// Of a record without its newline.
    pub(super) fn new(record: &'a [u8], delimiter: u8) -> Self {
        Self { rest: (!record.is_empty()).then_some(record), delimiter }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    #[inline]
    fn next(&mut self) -> Option<Field<'a>> {
        let rest = self.rest?;
        if rest.first() == Some(&b'"') {
            let (text, length) = unquoted(rest, self.delimiter);
            self.rest = rest.get(length + 1..);
            return Some(Field { text, quoted: true });
        }
        let end = memchr(self.delimiter, rest).unwrap_or(rest.len());
        self.rest = rest.get(end + 1..);
        Some(Field { text: Cow::Borrowed(&rest[..end]), quoted: false })
    }
}

/// The text of a field that begins with a quote, and how many bytes the field has.
fn unquoted(rest: &[u8], delimiter: u8) -> (Cow<'_, [u8]>, usize) {
    let end = memchr(b'"', &rest[1..]).map_or(rest.len(), |quote| quote + 1);
    if rest.get(end + 1).is_none() || rest.get(end + 1) == Some(&delimiter) {
        return (Cow::Borrowed(&rest[1..end]), (end + 1).min(rest.len()));
    }
    let mut text = Vec::new();
    let mut at = 1;
    // Each turn ends behind a quote inside quotes.
    while let Some(quote) = memchr(b'"', rest.get(at..).unwrap_or_default()) {
        text.extend_from_slice(&rest[at..at + quote]);
        at += quote + 1;
        if rest.get(at) != Some(&b'"') {
            let after = &rest[at..];
            let end = memchr(delimiter, after).unwrap_or(after.len());
            text.extend_from_slice(&after[..end]);
            return (Cow::Owned(text), at + end);
        }
        text.push(b'"');
        at += 1;
    }
    text.extend_from_slice(rest.get(at..).unwrap_or_default());
    (Cow::Owned(text), rest.len())
}

/// The records of a stretch that starts at one's start, each with where it starts, without newline and carriage return.
pub(super) struct Records<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) delimiter: u8,
}

impl<'a> Iterator for Records<'a> {
    /// Where it starts, and its bytes; and how many bytes it has with its newline.
    type Item = (usize, &'a [u8], usize);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let start = self.at;
        let length = record_length(rest, self.delimiter);
        self.at += length;
        let record = &rest[..length];
        let record = record.strip_suffix(b"\n").unwrap_or(record);
        Some((start, record.strip_suffix(b"\r").unwrap_or(record), length))
    }
}

/// Length of the record that `rest` begins with, its newline included.
#[inline]
fn record_length(rest: &[u8], delimiter: u8) -> usize {
    let newline = memchr(b'\n', rest);
    let first_line = newline.map_or(rest, |newline| &rest[..newline]);
    // Most records have no quote.
    if memchr(b'"', first_line).is_none() {
        return newline.map_or(rest.len(), |newline| newline + 1);
    }
    let mut at = 0;
    while at < rest.len() {
        if rest[at] == b'"' {
            at = closing(rest, at + 1);
        }
        let Some(found) = memchr2(delimiter, b'\n', rest.get(at..).unwrap_or_default()) else { break };
        at += found + 1;
        if rest[at - 1] == b'\n' {
            return at;
        }
    }
    rest.len()
}

/// Behind the quote that closes, where `at` is inside quotes.
fn closing(rest: &[u8], mut at: usize) -> usize {
    while let Some(quote) = memchr(b'"', &rest[at.min(rest.len())..]) {
        at += quote + 1;
        if rest.get(at) != Some(&b'"') {
            return at;
        }
        at += 1;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Python's `csv.reader(…, strict=False)` makes of the same records.
    #[test]
    fn fields_are_those_of_pythons_reader() {
        let cases: [(&str, &[&str]); 12] = [
            ("a,b", &["a", "b"]),
            ("a,", &["a", ""]),
            (",", &["", ""]),
            ("\"\"", &[""]),
            ("\"a,b\",c", &["a,b", "c"]),
            ("\"a\"\"b\",c", &["a\"b", "c"]),
            ("\"a\"x,c", &["ax", "c"]),
            ("a\"b,c", &["a\"b", "c"]),
            ("\"a\nb\",c", &["a\nb", "c"]),
            ("\"\"\"\"", &["\""]),
            ("\"a", &["a"]),
            ("\"a\"\"", &["a\""]),
        ];
        for (record, expected) in cases {
            let fields: Vec<String> =
                Fields::new(record.as_bytes(), b',').map(|field| String::from_utf8_lossy(&field.text).into_owned()).collect();
            assert_eq!(fields, expected, "{record}");
        }
    }

    #[test]
    fn records_are_without_their_newlines() {
        let text = b"a,\"b\nc\"\r\n\nd\"\ne,\"\"\"\n\"\nf";
        let records: Vec<_> = Records { bytes: text, at: 0, delimiter: b',' }.collect();
        let expected: [(usize, &[u8], usize); 5] =
            [(0, b"a,\"b\nc\"", 9), (9, b"", 1), (10, b"d\"", 3), (13, b"e,\"\"\"\n\"", 8), (21, b"f", 1)];
        assert_eq!(records, expected);
    }
}

//! Fields of one record.

use memchr::{memchr, memchr2};
use std::borrow::Cow;

/// The bytes that are no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CsvMarks {
    pub(super) delimiter: u8,
    /// Around fields that have delimiters, newlines or quotes in them; in some files there are none
    /// such.
    pub(super) quote: Option<u8>,
}

impl CsvMarks {
    /// The quote that `bytes` begin with.
    #[inline]
    pub(super) fn opening(self, bytes: &[u8]) -> Option<u8> {
        self.quote.filter(|quote| bytes.first() == Some(quote))
    }
}

/// The fields of a record, in order. A record without a byte has none.
#[derive(Clone)]
pub(super) struct CsvFields<'a> {
    rest: Option<&'a [u8]>,
    marks: CsvMarks,
}

/// One field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CsvField<'a> {
    /// Its text, quotes undone.
    pub(super) text: Cow<'a, [u8]>,
    /// It was in quotes, and so is a text even where it is empty.
    pub(super) quoted: bool,
    /// Its text goes on after the closing quote.
    pub(super) goes_on: bool,
}

impl<'a> CsvFields<'a> {
    /// Of a record without its newline.
    pub(super) fn new(record: &'a [u8], marks: CsvMarks) -> Self {
        Self { rest: (!record.is_empty()).then_some(record), marks }
    }
}

impl<'a> Iterator for CsvFields<'a> {
    type Item = CsvField<'a>;

    #[inline]
    fn next(&mut self) -> Option<CsvField<'a>> {
        let rest = self.rest?;
        if let Some(quote) = self.marks.opening(rest) {
            let (field, length) = unquoted(rest, self.marks.delimiter, quote);
            self.rest = rest.get(length + 1..);
            return Some(field);
        }
        let end = memchr(self.marks.delimiter, rest).unwrap_or(rest.len());
        self.rest = rest.get(end + 1..);
        Some(CsvField { text: Cow::Borrowed(&rest[..end]), quoted: false, goes_on: false })
    }
}

/// A field that begins with a quote, and how many bytes it has.
fn unquoted(rest: &[u8], delimiter: u8, mark: u8) -> (CsvField<'_>, usize) {
    let field = |text, goes_on| CsvField { text, quoted: true, goes_on };
    let end = memchr(mark, &rest[1..]).map_or(rest.len(), |quote| quote + 1);
    if rest.get(end + 1).is_none() || rest.get(end + 1) == Some(&delimiter) {
        return (field(Cow::Borrowed(&rest[1..end]), false), (end + 1).min(rest.len()));
    }
    let mut text = Vec::new();
    let mut at = 1;
    // Each turn ends after a quote inside quotes.
    while let Some(quote) = memchr(mark, rest.get(at..).unwrap_or_default()) {
        text.extend_from_slice(&rest[at..at + quote]);
        at += quote + 1;
        if rest.get(at) != Some(&mark) {
            let after = &rest[at..];
            let end = memchr(delimiter, after).unwrap_or(after.len());
            text.extend_from_slice(&after[..end]);
            let goes_on = !after[..end].trim_ascii().is_empty();
            return (field(Cow::Owned(text), goes_on), at + end);
        }
        text.push(mark);
        at += 1;
    }
    text.extend_from_slice(rest.get(at..).unwrap_or_default());
    (field(Cow::Owned(text), false), rest.len())
}

/// The records of a stretch that starts at one's start, each with where it starts, without newline
/// and carriage return.
pub(super) struct CsvRecords<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    pub(super) marks: CsvMarks,
}

impl<'a> Iterator for CsvRecords<'a> {
    /// Its start, and its bytes; and its length with its newline.
    type Item = (usize, &'a [u8], usize);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let start = self.at;
        let length = record_length(rest, self.marks);
        self.at += length;
        let record = &rest[..length];
        let record = record.strip_suffix(b"\n").unwrap_or(record);
        Some((start, record.strip_suffix(b"\r").unwrap_or(record), length))
    }
}

/// Length of the record that `rest` begins with, its newline included.
#[inline]
fn record_length(rest: &[u8], marks: CsvMarks) -> usize {
    let newline = memchr(b'\n', rest);
    let first_line = newline.map_or(rest, |newline| &rest[..newline]);
    // Most records have no quote.
    let Some(quote) = marks.quote.filter(|quote| memchr(*quote, first_line).is_some()) else {
        return newline.map_or(rest.len(), |newline| newline + 1);
    };
    let mut at = 0;
    while at < rest.len() {
        if rest[at] == quote {
            at = closing(rest, at + 1, quote);
        }
        let Some(found) = memchr2(marks.delimiter, b'\n', rest.get(at..).unwrap_or_default()) else { break };
        at += found + 1;
        if rest[at - 1] == b'\n' {
            return at;
        }
    }
    rest.len()
}

/// The record has a field in quotes with text after them, or a tab and a newline in them, as no
/// table in tabs has.
pub(super) fn is_odd(record: &[u8], marks: CsvMarks) -> bool {
    let mut at = 0;
    while at <= record.len() {
        let field = &record[at..];
        let Some(quote) = marks.opening(field) else {
            let Some(end) = memchr(marks.delimiter, field) else { return false };
            at += end + 1;
            continue;
        };
        let end = closing(field, 1, quote);
        let swallows = |byte| memchr(byte, &field[..end]).is_some();
        if field.get(end).is_some_and(|next| *next != marks.delimiter)
            || (marks.delimiter == b'\t' && swallows(b'\t') && swallows(b'\n'))
        {
            return true;
        }
        at += end + 1;
    }
    false
}

/// Index after the closing quote; the text at `at` is inside quotes.
fn closing(rest: &[u8], mut at: usize, mark: u8) -> usize {
    while let Some(quote) = memchr(mark, &rest[at.min(rest.len())..]) {
        at += quote + 1;
        if rest.get(at) != Some(&mark) {
            return at;
        }
        at += 1;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKS: CsvMarks = CsvMarks { delimiter: b',', quote: Some(b'"') };

    /// Records as Python's `csv.reader(…, strict=False)` reads them.
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
                CsvFields::new(record.as_bytes(), MARKS).map(|field| String::from_utf8_lossy(&field.text).into_owned()).collect();
            assert_eq!(fields, expected, "{record}");
        }
    }

    #[test]
    fn text_after_a_closing_quote_is_told() {
        for (record, expected) in [
            ("\"a\" b,c", [true, false]),
            ("\"a\" ,c", [false, false]),
            ("c,\"x\"y\"z\"", [false, true]),
            ("\"a\"\"b\",\"c\"", [false, false]),
            ("\"\"\"\",\"c", [false, false]),
            ("\"\"\"a\"\"\"x,5\" pipe", [true, false]),
        ] {
            let told: Vec<bool> = CsvFields::new(record.as_bytes(), MARKS).map(|field| field.goes_on).collect();
            assert_eq!(told, expected, "{record}");
        }
    }

    #[test]
    fn records_are_without_their_newlines() {
        let text = b"a,\"b\nc\"\r\n\nd\"\ne,\"\"\"\n\"\nf";
        let records: Vec<_> = CsvRecords { bytes: text, at: 0, marks: MARKS }.collect();
        let expected: [(usize, &[u8], usize); 5] =
            [(0, b"a,\"b\nc\"", 9), (9, b"", 1), (10, b"d\"", 3), (13, b"e,\"\"\"\n\"", 8), (21, b"f", 1)];
        assert_eq!(records, expected);
    }

    #[test]
    fn without_quotes_each_line_is_a_record() {
        let marks = CsvMarks { delimiter: b'\t', quote: None };
        let text = b"1\t\"a\n2\tb\"\n";
        let records: Vec<_> = CsvRecords { bytes: text, at: 0, marks }.map(|(_, record, _)| record).collect();
        assert_eq!(records, [&b"1\t\"a"[..], b"2\tb\""]);
        let fields: Vec<_> = CsvFields::new(records[0], marks).map(|field| (field.text.into_owned(), field.quoted)).collect();
        assert_eq!(fields, [(b"1".to_vec(), false), (b"\"a".to_vec(), false)]);
    }
}

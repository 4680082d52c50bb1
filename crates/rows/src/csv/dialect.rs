//! Which separator an input has, and what its columns are called.

use super::scan::{Fields, Records};
use std::fmt;

/// Separators that are recognised, the likelier first.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// Records that are looked at to recognise a dialect.
const SAMPLE_RECORDS: usize = 50;

/// How fields are separated, and what the columns are called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dialect {
    /// Between fields: a comma, a tab, a semicolon, a bar.
    pub delimiter: u8,
    /// The first record has the names of the columns.
    pub header: bool,
    /// The columns' names: from the header, or `column1`, `column2` and so on.
    pub names: Vec<String>,
}

/// Why the first record can't be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DialectError {
    /// There is none.
    Empty,
    /// Lines end in a carriage return and nothing else, as on old Macs: all would be one record.
    CarriageReturns,
}

impl fmt::Display for DialectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "there is no record to tell the columns by",
            Self::CarriageReturns => r"its lines end in CR alone; convert them: tr '\r' '\n'",
        })
    }
}

impl Dialect {
    /// The dialect of an input that begins with `head`. `delimiter` and `header` are found out where they are not given: the separator
    /// is the one that gives most records the same number of fields, and more than one; a first record is a header when none of its
    /// fields is a number, and not all are empty.
    ///
    /// # Errors
    /// When there is no record, or the head has carriage returns outside of quotes and no newline.
    pub fn detect(head: &[u8], whole: bool, delimiter: Option<u8>, header: Option<bool>) -> Result<Self, DialectError> {
        let delimiter = delimiter.unwrap_or_else(|| {
            let score = |delimiter: &u8| agreement(&sample(head, whole, *delimiter));
            // The first of the best: `max_by_key` would take the last.
            DELIMITERS.into_iter().rev().max_by_key(score).unwrap_or(b',')
        });
        if has_bare_returns(head, delimiter) {
            return Err(DialectError::CarriageReturns);
        }
        let records = sample(head, whole, delimiter);
        let first = records.first().ok_or(DialectError::Empty)?;
        let header = header.unwrap_or_else(|| is_header(first));
        let names = if header { distinct(first) } else { (1..=first.len()).map(|number| format!("column{number}")).collect() };
        Ok(Self { delimiter, header, names })
    }
}

/// The head is one record without an end, and has carriage returns outside of quotes. (One at its very end may have its newline behind it.)
fn has_bare_returns(head: &[u8], delimiter: u8) -> bool {
    let first = Records { bytes: head, at: 0, delimiter }.next().filter(|(_, _, length)| *length == head.len());
    let Some((_, record, _)) = first.filter(|_| !head.ends_with(b"\n") && !head.contains(&0)) else { return false };
    let mut in_quotes = false;
    record.iter().any(|byte| {
        in_quotes ^= *byte == b'"';
        *byte == b'\r' && !in_quotes
    })
}

/// How many records have as many fields as the first, when those are several.
fn agreement(records: &[Vec<String>]) -> usize {
    let fields = records.first().map_or(0, Vec::len);
    if fields < 2 { 0 } else { records.iter().filter(|record| record.len() == fields).count() }
}

/// The fields of the first records; the last may be cut off where the head is not the whole.
fn sample(head: &[u8], whole: bool, delimiter: u8) -> Vec<Vec<String>> {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let records = Records { bytes: head, at: 0, delimiter }
        .filter(|(start, record, length)| !record.is_empty() && (whole || start + length < head.len()));
    let fields = |record| Fields::new(record, delimiter).map(|field| String::from_utf8_lossy(&field.text).into_owned()).collect();
    records.map(|(_, record, _)| fields(record)).take(SAMPLE_RECORDS).collect()
}

fn is_header(fields: &[String]) -> bool {
    let is_number = |field: &String| field.trim().parse::<f64>().is_ok();
    !fields.iter().any(is_number) && fields.iter().any(|field| !field.trim().is_empty())
}

/// The names, with a number behind those that came before, and one for those that are empty.
fn distinct(names: &[String]) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    let mut all = Vec::new();
    for (index, name) in names.iter().enumerate() {
        let name = if name.trim().is_empty() { format!("column{}", index + 1) } else { name.trim().to_owned() };
        let free =
            std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}_{number}"))).find(|name| !seen.contains(name));
        let free = free.unwrap_or(name);
        seen.insert(free.clone());
        all.push(free);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn detected(text: &str) -> (char, bool, Vec<String>) {
        let dialect = Dialect::detect(text.as_bytes(), true, None, None).expect("a record");
        (dialect.delimiter as char, dialect.header, dialect.names)
    }

    #[test]
    fn separators_and_headers_are_recognised() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(detected("a,b\n1,2\n"), (',', true, names(&["a", "b"])));
        assert_eq!(detected("\u{feff}a\tb, c\n1\t2\n"), ('\t', true, names(&["a", "b, c"])));
        assert_eq!(detected("a;b\n1,5;2,5\n"), (';', true, names(&["a", "b"])));
        assert_eq!(detected("1|2\n3|4"), ('|', false, names(&["column1", "column2"])));
        assert_eq!(detected(",a,a\n0,1,2\n"), (',', true, names(&["column1", "a", "a_2"])));
        assert_eq!(detected("one\n1\n"), (',', true, names(&["one"])));
        assert!(Dialect::detect(b"\n\n", true, None, None).is_err());
    }

    #[test]
    fn lines_that_end_in_cr_alone_are_refused() {
        let detect = |text: &str, whole| Dialect::detect(text.as_bytes(), whole, None, None).map(|dialect| dialect.names.len());
        for text in ["a,b\r1,2\r3,4\r", "a\r1\r", "\"a\",\"b\"\r\"1\",\"2\"\r"] {
            assert_eq!(detect(text, true), Err(DialectError::CarriageReturns), "{text:?}");
        }
        for text in ["a,\"b\r1\",2", "a,b,c\r", "a,b,c\r\n1,2,3\r\n", "a,b\rb,c\n"] {
            assert_eq!(detect(text, true), Ok(3), "{text:?}");
        }
    }

    #[test]
    fn names_of_a_header_that_is_asked_for_are_made_distinct() {
        let dialect = Dialect::detect(b"a,a,,a_2\n", true, None, Some(true)).expect("a record");
        assert_eq!(dialect.names, ["a", "a_2", "column3", "a_2_2"]);
    }
}

//! Separator of an input, and names of its columns.

use super::CsvSplitter;
use super::header::{self, HeaderGuess};
use super::scan::{CsvFields, CsvMarks, CsvRecords, is_odd};
use crate::rules::ValueRules;
use crate::setting::{HEADER, QUOTE};
use memchr::{memchr, memchr_iter};
use rorqual_pipe::Splitter;
use std::fmt;

/// Separators that are recognised, the likelier first.
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// Records that are looked at to recognise a dialect.
const SAMPLE_RECORDS: usize = 50;

/// Separators of fields, and names of the columns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Dialect {
    /// Between fields: a comma, a tab, a semicolon, a bar.
    pub delimiter: u8,
    /// Around fields that have more in them than plain text; `None` where a quote is a character
    /// like any other.
    pub quote: Option<u8>,
    /// The reason for which it is that quote.
    pub basis: QuoteBasis,
    /// The first line is no record, but says the delimiter: `sep=;`, as Excel writes and reads it.
    pub says_delimiter: bool,
    /// The first record has the names of the columns.
    pub header: bool,
    /// The columns' names: from the header, or `column1`, `column2` and so on.
    pub names: Vec<String>,
    /// Rules for the meaning of values.
    pub rules: ValueRules,
}

/// Hints to a dialect, from before the input is looked at.
#[derive(Debug, Clone, Default)]
pub struct DialectHints {
    /// Between fields.
    pub delimiter: Option<u8>,
    /// Around fields.
    pub quote: Option<Quote>,
    /// The first record has the columns' names.
    pub header: Option<bool>,
    /// Rules for the meaning of values.
    pub rules: ValueRules,
}

/// The character around fields that have delimiters, newlines or quotes in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quote {
    /// This character.
    Mark(u8),
    /// There are no such fields: each line is a record.
    Never,
}

/// Reason to take a character for a quote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum QuoteBasis {
    /// It is given.
    #[default]
    Given,
    /// The head of the input has fields in such.
    Seen,
    /// It is the usual one, and the head has no field in quotes.
    Assumed,
}

/// Reason for which the first record can't be read.
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
    /// The dialect of an input that begins with `head`, with notes on its guessed parts. All that
    /// is not given is found out: the separator is the one that gives most records the same number
    /// of fields, and more than one; there are no quotes where reading them as such tears records
    /// apart that agree without; a first record is a header unless it looks as the others do.
    ///
    /// # Errors
    /// When there is no record, or the head has carriage returns outside of quotes and no newline.
    pub fn detect(head: &[u8], whole: bool, hints: &DialectHints) -> Result<(Self, Vec<String>), DialectError> {
        let (head, mut notes) = (head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head), Vec::new());
        let said = said_delimiter(head);
        let head = said.map_or(head, |(_, length)| &head[length..]);
        let quote = match hints.quote {
            Some(Quote::Never) => None,
            Some(Quote::Mark(quote)) => Some(quote),
            None => Some(b'"'),
        };
        let delimiter = hints.delimiter.or(said.map(|(delimiter, _)| delimiter)).unwrap_or_else(|| {
            let score = |delimiter: &u8| agreement(records(head, whole, CsvMarks { delimiter: *delimiter, quote }));
            // The first of the best: `max_by_key` would take the last.
            DELIMITERS.into_iter().rev().max_by_key(score).unwrap_or(b',')
        });
        let mut marks = CsvMarks { delimiter, quote };
        if hints.quote.is_none() && is_unquoted(head, whole, marks) {
            marks.quote = None;
            notes.push(format!("its quotes do not pair up as a CSV's, and are read as text; {QUOTE} '\"' reads them as quotes"));
        }
        if has_bare_returns(head, marks) {
            return Err(DialectError::CarriageReturns);
        }
        let mut records = records(head, whole, marks);
        let first = records.next().ok_or(DialectError::Empty)?;
        let header = hints.header.unwrap_or_else(|| {
            let guess = header::guess(&first, records, &hints.rules.nulls);
            notes.extend(doubt(guess));
            guess.header
        });
        let names = if header { distinct(&first) } else { (1..=first.len()).map(|number| format!("column{number}")).collect() };
        let basis = match hints.quote {
            Some(_) => QuoteBasis::Given,
            None if has_quoted_field(head, whole, marks) => QuoteBasis::Seen,
            None => QuoteBasis::Assumed,
        };
        let (says_delimiter, rules) = (said.is_some(), hints.rules.clone());
        let dialect = Self { delimiter, quote: marks.quote, basis, says_delimiter, header, names, rules };
        notes.extend(dialect.header_doubt(head));
        Ok((dialect, notes))
    }

    /// The lines of a record that has line breaks in quotes may be records of their own: there were
    /// no quotes before, or each line has as many fields as there are columns. Two such lines are
    /// no rare text, but for the tabs.
    pub(super) fn doubts_lines(&self, record: &[u8]) -> bool {
        let fields = |line: &[u8]| memchr_iter(self.delimiter, line).count() + 1;
        let lines_min = if self.delimiter == b'\t' { 2 } else { 3 };
        let mut lines = record.split(|byte| *byte == b'\n');
        match self.basis {
            QuoteBasis::Given => false,
            QuoteBasis::Assumed => true,
            QuoteBasis::Seen => {
                let columns = self.names.len();
                columns > 1 && lines.clone().nth(lines_min - 1).is_some() && lines.all(|line| fields(line) == columns)
            }
        }
    }

    /// A note on a header that may have taken records as well.
    fn header_doubt(&self, head: &[u8]) -> Option<String> {
        let mut records = CsvRecords { bytes: head, at: 0, marks: self.marks() };
        let (_, first, _) = records.find(|(_, record, _)| !record.is_empty()).filter(|_| self.header)?;
        let text = "its first record is over several lines, by quotes that may be lone ones;";
        (memchr(b'\n', first).is_some() && self.doubts_lines(first))
            .then(|| format!("{text} {QUOTE} none makes each line a record, {QUOTE} '\"' trusts them"))
    }

    pub(super) fn marks(&self) -> CsvMarks {
        CsvMarks { delimiter: self.delimiter, quote: self.quote }
    }
}

/// The delimiter that the first line says, and the length of that line.
fn said_delimiter(head: &[u8]) -> Option<(u8, usize)> {
    let length = memchr(b'\n', head)? + 1;
    let line = &head[..length - 1];
    match line.strip_suffix(b"\r").unwrap_or(line) {
        [b's' | b'S', b'e' | b'E', b'p' | b'P', b'=', delimiter] if !delimiter.is_ascii_alphanumeric() && *delimiter != b'"' => {
            Some((*delimiter, length))
        }
        _ => None,
    }
}

/// A note on a guess that is worth one.
fn doubt(guess: HeaderGuess) -> Option<String> {
    match guess {
        HeaderGuess { header: false, .. } => Some(format!(
            "its first record looks like a row, and the columns are column1 and so on; {HEADER} true takes their names from it"
        )),
        HeaderGuess { sure: false, .. } => {
            Some(format!("its first record is taken for the columns' names; {HEADER} false makes it a row"))
        }
        HeaderGuess { .. } => None,
    }
}

/// True if a field of the head is in quotes, and nothing but them.
fn has_quoted_field(head: &[u8], whole: bool, marks: CsvMarks) -> bool {
    if marks.quote.is_none_or(|quote| memchr(quote, head).is_none()) {
        return false;
    }
    let mut records = CsvRecords { bytes: head, at: 0, marks }.filter(|(start, _, length)| whole || start + length < head.len());
    records.any(|(_, record, _)| CsvFields::new(record, marks).any(|field| field.quoted && !field.goes_on))
}

/// True if quotes are characters: as lines all records have the same fields, and as quotes they are
/// not closed, have text after them, or make records of other lengths.
fn is_unquoted(head: &[u8], whole: bool, marks: CsvMarks) -> bool {
    if marks.quote.is_none_or(|quote| memchr(quote, head).is_none()) {
        return false;
    }
    let mut lines = records(head, whole, CsvMarks { quote: None, ..marks }).map(|fields| fields.len());
    let fields = lines.next().unwrap_or(0);
    fields > 1 && lines.all(|count| count == fields) && are_odd(head, whole, marks, fields)
}

fn are_odd(head: &[u8], whole: bool, marks: CsvMarks, fields: usize) -> bool {
    let mut splitter = CsvSplitter::new(&Dialect { delimiter: marks.delimiter, quote: marks.quote, ..Dialect::default() });
    // With other separators a file that was cut off looks so.
    let has_tabs = marks.delimiter == b'\t';
    if has_tabs && whole && splitter.split(head).is_ok() && splitter.finish().is_err() {
        return true;
    }
    CsvRecords { bytes: head, at: 0, marks }.filter(|(_, record, _)| !record.is_empty()).any(|(start, record, length)| {
        let is_cut = !whole && start + length == head.len();
        let spans_lines = memchr(b'\n', record).is_some();
        if is_cut { has_tabs && spans_lines } else { CsvFields::new(record, marks).count() != fields || is_odd(record, marks) }
    })
}

impl Quote {
    /// Reads the value of the option: a character, or `none`.
    ///
    /// # Errors
    /// A sentence about the value.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.as_bytes() {
            b"none" => Ok(Self::Never),
            [byte] if byte.is_ascii_graphic() && !byte.is_ascii_alphanumeric() => Ok(Self::Mark(*byte)),
            _ => Err(format!("{text:?} is not a quote: it is one ASCII character other than a letter or a digit, or none")),
        }
    }
}

/// The head is one record without an end, and has carriage returns outside of quotes. (One at its
/// very end may have its newline after it.)
fn has_bare_returns(head: &[u8], marks: CsvMarks) -> bool {
    let first = CsvRecords { bytes: head, at: 0, marks }.next().filter(|(_, _, length)| *length == head.len());
    let Some((_, record, _)) = first.filter(|_| !head.ends_with(b"\n") && !head.contains(&0)) else { return false };
    let mut in_quotes = false;
    record.iter().any(|byte| {
        in_quotes ^= Some(*byte) == marks.quote;
        *byte == b'\r' && !in_quotes
    })
}

/// Number of records with as many fields as the first, when those are several.
fn agreement(records: impl Iterator<Item = Vec<String>>) -> usize {
    let mut lengths = records.take(SAMPLE_RECORDS).map(|record| record.len());
    let fields = lengths.next().unwrap_or(0);
    if fields < 2 { 0 } else { 1 + lengths.filter(|length| *length == fields).count() }
}

/// The fields of the records of the head, of which the last may be cut off where it is not the
/// whole.
fn records(head: &[u8], whole: bool, marks: CsvMarks) -> impl Iterator<Item = Vec<String>> {
    let records = CsvRecords { bytes: head, at: 0, marks }
        .filter(move |(start, record, length)| !record.is_empty() && (whole || start + length < head.len()));
    records.map(move |(_, record, _)| {
        CsvFields::new(record, marks).map(|field| String::from_utf8_lossy(&field.text).into_owned()).collect()
    })
}

/// The names, with a number after those that came before, and one for those that are empty.
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

    fn detect(text: &str, whole: bool) -> Result<(Dialect, Vec<String>), DialectError> {
        Dialect::detect(text.as_bytes(), whole, &DialectHints::default())
    }

    fn detected(text: &str) -> (char, bool, Vec<String>) {
        let dialect = detect(text, true).expect("a record").0;
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
        // As Excel says it, also where another one would be guessed.
        assert_eq!(detected("sep=;\r\na,b;c,d\r\n1,5;2,5\r\n"), (';', true, names(&["a,b", "c,d"])));
        assert_eq!(detected("\u{feff}sep=\t\na\tb\n1\t2\n"), ('\t', true, names(&["a", "b"])));
        assert_eq!(detected("sep=x\n1\n"), (',', true, names(&["sep=x"])));
        assert!(detect("\n\n", true).is_err());
    }

    #[test]
    fn lines_that_end_in_cr_alone_are_refused() {
        let detect = |text: &str, whole| detect(text, whole).map(|(dialect, _)| dialect.names.len());
        for text in ["a,b\r1,2\r3,4\r", "a\r1\r", "\"a\",\"b\"\r\"1\",\"2\"\r"] {
            assert_eq!(detect(text, true), Err(DialectError::CarriageReturns), "{text:?}");
        }
        for text in ["a,\"b\r1\",2", "a,b,c\r", "a,b,c\r\n1,2,3\r\n", "a,b\rb,c\n"] {
            assert_eq!(detect(text, true), Ok(3), "{text:?}");
        }
    }

    #[test]
    fn names_of_a_header_that_is_asked_for_are_made_distinct() {
        let hints = DialectHints { header: Some(true), ..DialectHints::default() };
        let (dialect, notes) = Dialect::detect(b"a,a,,a_2\n", true, &hints).expect("a record");
        assert_eq!(dialect.names, ["a", "a_2", "column3", "a_2_2"]);
        assert_eq!(notes, Vec::<String>::new());
    }

    #[test]
    fn quotes_that_do_not_pair_up_are_characters() {
        for (text, whole) in [
            ("id\ttitle\n1\t\"Hello World\n2\tfoo\n", true),
            ("id\ttitle\n1\t\"Hello\" World\n2\tfoo\n", true),
            ("id\ttitle\n1\t\"Hello World\n2\tfoo\n3\tbar\n4\tb", false),
            ("id\ta\tb\n1\t\"x\t2\n2\ty\"\t3\n", true),
            ("id,size\n1,\"5\" pipe\n", true),
        ] {
            let (dialect, notes) = detect(text, whole).expect("a record");
            assert_eq!((dialect.quote, notes.len()), (None, 1), "{text:?}: {notes:?}");
        }
        for (text, whole) in [
            ("id\ttitle\n1\t\"Hello World\"\n2\tfoo\n", true),
            ("id,title\n1,\"a\nb\"\n2,\"c,d\"\n", true),
            ("id,title\n1,\"a \"\"b\"\"\"\n2,x\n", true),
            ("id,title\n1,\"a\n2\n3", false),
            ("id,title\n1,5\" pipe\n", true),
            ("id,title\n1,\"a\n", true),
        ] {
            let quote = detect(text, whole).expect("a record").0.quote;
            assert_eq!(quote, Some(b'"'), "{text:?}");
        }
    }

    #[test]
    fn a_header_over_lines_that_may_be_records_is_said() {
        let text = "id,\"text\n1,a\n2,b\"\n3,c\n";
        let said = |hints: &DialectHints| Dialect::detect(text.as_bytes(), true, hints).expect("a record").1;
        let header = Some(true);
        let notes = said(&DialectHints { header, ..DialectHints::default() });
        assert!(notes.len() == 1 && notes[0].starts_with("its first record is over several lines"), "{notes:?}");
        for quote in [Quote::Mark(b'"'), Quote::Never] {
            assert_eq!(said(&DialectHints { header, quote: Some(quote), ..DialectHints::default() }), Vec::<String>::new());
        }
        assert_eq!(detect("id,\"size\nin MB\"\nx,2\n", true).expect("a record").1, Vec::<String>::new());
    }

    #[test]
    fn a_guess_says_so_and_how_to_settle_it() {
        let notes = |text: &str| detect(text, true).expect("a record").1.join("");
        assert!(notes("2024-01-01,a\n2024-01-02,b\n").contains("\"header\" true"));
        assert!(notes("name,city\nalice,paris\n").contains("\"header\" false"));
        assert_eq!(notes("name,age\nalice,3\n"), "");
    }
}

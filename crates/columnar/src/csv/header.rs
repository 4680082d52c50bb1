//! A guess whether a first record has the columns' names, by its difference from the records after
//! it.

use crate::json::time::{Moment, date};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;

/// A guess of a first record's kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct HeaderGuess {
    pub(super) header: bool,
    /// Columns speak for it, and none against it.
    pub(super) sure: bool,
}

/// The look of a field.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum FieldClue {
    Empty,
    /// A mark for a value that is not there: it says nothing of a column, and names none.
    Missing,
    Number,
    /// True or false.
    Flag,
    /// A date, a moment.
    Time,
    /// An address of a network, a host.
    Address,
    Mail,
    /// A URL, a path.
    Url,
    /// A text with digits: `AB-123` is `a-9`.
    Shape(String),
    Text,
}

/// Longest field whose shape is told.
const SHAPE_BYTES_MAX: usize = 64;

/// Marks of missing values, in letters of either case.
const MISSING: [&str; 13] = ["na", "n/a", "#n/a", "n.a.", "nan", "null", "nil", "none", "unknown", "?", ".", "-", r"\n"];

impl FieldClue {
    /// The look of a field, where `nulls` stand for missing values as well.
    fn of(field: &str, nulls: &[String]) -> Self {
        let field = field.trim();
        let is_number = || field.parse::<f64>().is_ok() && field.contains(|character: char| character.is_ascii_digit());
        match field {
            "" => Self::Empty,
            _ if is_missing(field) || nulls.iter().any(|null| null == field) => Self::Missing,
            _ if is_number() => Self::Number,
            _ if is_flag(field) => Self::Flag,
            _ if date(field).is_some() || Moment::parse(field).is_some() => Self::Time,
            _ if field.parse::<IpAddr>().is_ok() => Self::Address,
            _ if field.contains("://") || (field.starts_with('/') && field.len() > 1) => Self::Url,
            _ if is_mail(field) => Self::Mail,
            _ => Self::shape(field),
        }
    }

    fn shape(field: &str) -> Self {
        if field.len() > SHAPE_BYTES_MAX || !field.bytes().any(|byte| byte.is_ascii_digit()) {
            return Self::Text;
        }
        let mut shape = String::new();
        let mut word = None;
        for character in field.chars() {
            if character.is_alphanumeric() {
                // A word with a digit in it is a number.
                word = if character.is_ascii_digit() { Some('9') } else { word.or(Some('a')) };
            } else {
                shape.extend(word.take());
                shape.push(character);
            }
        }
        shape.extend(word);
        match shape.as_str() {
            // Days and months as others write them: 31.12.2025, 12/31/2025 10:00.
            "9.9.9" | "9/9/9" | "9-9-9" | "9:9" | "9:9:9" => Self::Time,
            _ => Self::Shape(shape),
        }
    }

    /// No column is called so.
    fn is_value(&self) -> bool {
        matches!(self, Self::Number | Self::Flag | Self::Time | Self::Address | Self::Mail | Self::Url)
    }

    /// Nor is one with values of this kind: years name columns of numbers.
    fn is_never_a_name(&self) -> bool {
        matches!(self, Self::Flag | Self::Time | Self::Address | Self::Mail)
    }
}

/// `Na` is sodium.
fn is_missing(field: &str) -> bool {
    field != "Na" && MISSING.iter().any(|mark| field.eq_ignore_ascii_case(mark))
}

fn is_flag(field: &str) -> bool {
    ["true", "false"].iter().any(|word| field.eq_ignore_ascii_case(word))
}

fn is_mail(field: &str) -> bool {
    let parts = field.split_once('@').filter(|_| !field.contains(char::is_whitespace));
    parts.is_some_and(|(name, host)| !name.is_empty() && host.contains('.') && !host.contains('@'))
}

/// One column of the records after the first.
#[derive(Default)]
struct ColumnClues {
    looks: HashMap<FieldClue, usize>,
    filled: usize,
    /// The first record's field comes again.
    recurs: bool,
}

enum HeaderVote {
    Header,
    Row,
    /// A row, whatever the other columns say.
    CertainRow,
    /// A row, if no other column says anything.
    Missing,
    None,
}

impl ColumnClues {
    fn add(&mut self, field: &str, first: &str, nulls: &[String]) {
        let look = FieldClue::of(field, nulls);
        self.recurs |= look != FieldClue::Empty && field == first;
        if !matches!(look, FieldClue::Empty | FieldClue::Missing) {
            self.filled += 1;
            *self.looks.entry(look).or_default() += 1;
        }
    }

    /// The column's word on the first record's field: two thirds of its fields look alike and the
    /// first does or does not, or a text comes again.
    fn vote(&self, first: &str, nulls: &[String]) -> HeaderVote {
        let look = FieldClue::of(first, nulls);
        let most = self.looks.iter().max_by_key(|(_, count)| **count).filter(|(_, count)| **count * 3 >= self.filled * 2);
        match most {
            _ if look == FieldClue::Empty => HeaderVote::None,
            _ if look == FieldClue::Missing && !self.recurs => HeaderVote::Missing,
            _ if look == FieldClue::Missing => HeaderVote::Row,
            None if look.is_value() && self.filled == 0 => HeaderVote::Row,
            Some((most, _)) if *most == look && look.is_never_a_name() => HeaderVote::CertainRow,
            Some((most, _)) if *most == look && look != FieldClue::Text => HeaderVote::Row,
            Some((most, _)) if *most != FieldClue::Text => HeaderVote::Header,
            _ if self.recurs => HeaderVote::Row,
            _ => HeaderVote::None,
        }
    }
}

/// Guesses the kind of the first record, beside the others; `nulls` stand for missing values. Where
/// nothing tells, it has the names, as nearly all files do.
pub(super) fn guess(first: &[String], rest: impl Iterator<Item = Vec<String>>, nulls: &[String]) -> HeaderGuess {
    let mut columns: Vec<ColumnClues> = first.iter().map(|_| ColumnClues::default()).collect();
    for record in rest {
        for ((field, first), column) in record.iter().zip(first).zip(&mut columns) {
            column.add(field, first, nulls);
        }
    }
    let (mut names, mut rows, mut missing, mut certain) = (0, repeated(first), 0, false);
    for (column, first) in columns.iter().zip(first) {
        match column.vote(first, nulls) {
            HeaderVote::Header => names += 1,
            HeaderVote::Row => rows += 1,
            HeaderVote::CertainRow => certain = true,
            HeaderVote::Missing => missing += 1,
            HeaderVote::None => {}
        }
    }
    let is_blank = first.iter().all(|field| field.trim().is_empty());
    let is_row = certain || names < rows || (names == 0 && missing > 0);
    let header = !is_blank && !is_row;
    HeaderGuess { header, sure: header && names > missing && rows == 0 }
}

/// Number of fields that came before: names of columns are told apart.
fn repeated(first: &[String]) -> usize {
    let mut seen = HashSet::new();
    first.iter().map(|field| field.trim()).filter(|field| !field.is_empty() && !seen.insert(*field)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guessed(text: &str) -> (bool, bool) {
        guessed_with(text, &[])
    }

    fn guessed_with(text: &str, nulls: &[&str]) -> (bool, bool) {
        let nulls: Vec<String> = nulls.iter().map(|null| (*null).to_owned()).collect();
        let mut records = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let first = records.next().expect("a record");
        let HeaderGuess { header, sure } = guess(&first, records, &nulls);
        (header, sure)
    }

    #[test]
    fn a_first_record_that_looks_like_the_others_is_one_of_them() {
        for text in [
            "2024-01-01,alice\n2024-01-02,bob\n2024-01-03,carol",
            "alice,10.0.0.1\nbob,10.0.0.2\ncarol,fe80::1",
            "alice,paris\nbob,london\ncarol,paris\ndave,rome",
            "a@example.com,x\nb@example.org,y",
            "31.12.2024,a\n01.01.2025,b",
            "12/31/2024 23:59,a\n01/01/2025 00:00,b",
            "AB-123,x\nCD-456,y\nXY-1,z",
            "https://example.com/,x\nhttps://example.org/a,y",
            "1,2\n3,4",
            "2024-01-01,alice",
            "10.0.0.1,x",
            "0x1f,a\n0x2c,b",
            "true,alice\nfalse,bob",
            "True,alice",
        ] {
            assert_eq!(guessed(text), (false, false), "{text}");
        }
    }

    #[test]
    fn a_first_record_that_differs_has_the_names() {
        for text in [
            "day,name\n2024-01-01,alice\n2024-01-02,bob",
            "host,address\nalice,10.0.0.1\nbob,10.0.0.2",
            "id\n1\n2",
            "active,name\ntrue,alice\nfalse,bob",
            "name,age\nalice,\nbob,3",
            "code,x\nAB-123,x1\nCD-456,y",
            "id,q1,q2\na,1,2\nb,3,",
            ",a\n0,1",
            "when,who\n,a\n2024-01-01,b\nnever,c\n2024-01-01,b\n2024-01-01,b",
        ] {
            assert_eq!(guessed(text), (true, true), "{text}");
        }
    }

    #[test]
    fn a_mark_of_a_missing_value_is_no_name() {
        for mark in ["NA", "N/A", "?", "null", "nan", "NaN", "None", "unknown", ".", "-", r"\N"] {
            for text in [
                "M,M\n1,2\n3,4\n5,6",
                "M\n1\n2",
                "alice,M\nbob,5\ncarol,6\ndave,7",
                "2024-01-01,M\n2024-01-02,5\n2024-01-03,6",
                "10.0.0.1,M\n10.0.0.2,a1\n10.0.0.3,b2",
                "M,x\nM,y\nb,z",
            ] {
                let text = text.replace('M', mark);
                assert_eq!(guessed(&text), (false, false), "{text}");
            }
            // Of the others below a name nothing is said.
            let text = "id,note,size\n1,M,M\n2,M,5\n3,M,M".replace('M', mark);
            assert_eq!(guessed(&text), (true, true), "{text}");
        }
        assert_eq!(guessed("day,ok,failed,unknown\n2024-01-01,1,2,3"), (true, true));
        assert_eq!(guessed("NA,height\n1,2\n3,4"), (true, false));
        assert_eq!(guessed("sample,Na\nwater,0.1\nwine,0.2"), (true, true));
        // Those that are said to be such.
        assert_eq!(guessed_with("-999,x\n1,a\n2,b", &[]), (false, false));
        assert_eq!(guessed("alice,absent\nbob,5\ncarol,6"), (true, true));
        assert_eq!(guessed_with("alice,absent\nbob,5\ncarol,6", &["absent"]), (false, false));
    }

    #[test]
    fn equal_names_and_dates_over_dates_speak_against_a_header() {
        assert_eq!(guessed("x,x\nred,green\nblue,white"), (false, false));
        assert_eq!(guessed(",x,\nred,green,a\nblue,white,b"), (true, false), "empty ones are not equal");
        assert_eq!(guessed("x,x\n1,2\n3,4"), (true, false), "numbers below speak for it");
        for text in ["2024-01-01,low,ok\n2024-01-02,5,1\n2024-01-03,6,2", "10.0.0.1,low,ok\n10.0.0.2,5,1\n10.0.0.3,6,2"] {
            assert_eq!(guessed(text), (false, false), "{text}");
        }
    }

    #[test]
    fn where_nothing_tells_it_has_the_names_and_is_in_doubt() {
        for text in ["name,city\nalice,paris\nbob,london", "name,city", "name,year 2\nalice,\nbob,"] {
            assert_eq!(guessed(text), (true, false), "{text}");
        }
        assert_eq!(guessed(",\n1,2"), (false, false));
    }
}

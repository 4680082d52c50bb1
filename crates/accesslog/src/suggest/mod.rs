//! Text that somebody typed who knows no filters, read as filters: `504`, `checkout`,
//! `"GET /api" 504`, `path:checkout`, `2026-01-27 14:10`, an address, a pasted line of the log.
//!
//! A text is cut into parts, each of which has several readings, the likeliest first: how many rows
//! each means decides between them, which is for those to say who hold the rows. They also tell
//! which values columns have ([`ColumnValueSource`]). All readings are filters of the language, or
//! spans of time.

mod names;
mod pasted;
mod quantity;
mod reader;
mod when;
mod words;

pub use pasted::{pasted_line, pasted_object};
pub use reader::{TypedPart, TypedText, as_filter, read};

use crate::filter::{Filter, TextTest, TextValue};
use crate::schema::{Schema, TextColumn};

/// Bytes of a text that is read: a pasted line may be long.
pub const TYPED_BYTES_MAX: usize = 16 << 10;

/// Parts that a text is read as; of one with more only the whole is looked for.
pub const TYPED_PARTS_MAX: usize = 8;

/// A filter or a span of time that a text, or a part of it, may mean.
#[derive(Debug, Clone, PartialEq)]
pub struct TypedReading {
    /// In plain words, for people: `path contains checkout`.
    pub label: String,
    /// Rows that it means.
    pub filter: Filter,
    /// Half open, in Unix microseconds; where it is one, the filter is empty.
    pub span_us: Option<(i64, i64)>,
    /// The likeliest readings have the least.
    pub rank: u8,
    /// Name of a column that is not quite the one that was typed.
    pub meant: Option<String>,
}

/// Ranks of readings.
pub(crate) mod rank {
    /// Nothing else is meant by such a text.
    pub(crate) const PLAIN: u8 = 0;
    /// It is the whole value of a column.
    pub(crate) const VALUE: u8 = 1;
    /// It is in the path.
    pub(crate) const IN_PATH: u8 = 2;
    /// It is in the text of another column, or of those that are near.
    pub(crate) const IN_TEXT: u8 = 3;
    /// It is in the agent, whose text is long and of many parts.
    pub(crate) const IN_AGENT: u8 = 4;
    /// It is anywhere in the row.
    pub(crate) const ANYWHERE: u8 = 5;
    /// The same in any case of its letters.
    pub(crate) const ANY_CASE: u8 = 6;
}

impl TypedReading {
    pub(crate) fn new(rank: u8, label: impl Into<String>, filter: Filter) -> Self {
        Self { label: label.into(), filter, span_us: None, rank, meant: None }
    }

    /// A reading that is written in the language; `None` where the columns do not allow it.
    pub(crate) fn written(schema: &Schema, rank: u8, label: impl Into<String>, text: &str) -> Option<Self> {
        schema.filter(text).ok().map(|filter| Self::new(rank, label, filter))
    }

    pub(crate) fn span(label: String, span_us: (i64, i64)) -> Self {
        Self { label, filter: Filter::default(), span_us: Some(span_us), rank: rank::PLAIN, meant: None }
    }

    /// The rows that it does not mean; a span has no opposite.
    #[must_use]
    pub fn negated(self) -> Self {
        if self.span_us.is_some() {
            return self;
        }
        Self { label: format!("not: {}", self.label), filter: Filter::Not(Box::new(self.filter)), ..self }
    }
}

/// Knowledge of a column's values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ValuesSeen {
    /// Values that are the text in some case of its letters.
    pub equal: Vec<String>,
    /// Some value has it in it.
    pub contains: bool,
    /// Some value has it in it in other letters.
    pub contains_in_any_case: bool,
}

/// Values of the columns of some rows.
pub trait ColumnValueSource {
    /// The values of a column that have to do with a text.
    fn values_like(&self, column: TextColumn, text: &str) -> ValuesSeen;

    /// First and last time, in Unix microseconds.
    fn times_us(&self) -> Option<(i64, i64)>;
}

/// The columns of rows, their values, and the clock that the reader looks at.
#[derive(Clone, Copy)]
pub struct TypedContext<'a> {
    /// Columns of the rows.
    pub schema: &'a Schema,
    /// Values of these.
    pub values: &'a dyn ColumnValueSource,
    /// Seconds east of UTC that times are typed in.
    pub zone_seconds: i32,
}

pub(crate) fn equals(column: TextColumn, values: Vec<String>) -> Filter {
    let values = values.into_iter().map(|value| TextValue::Text(as_recorded(column, &value)));
    Filter::Text(column, TextTest::OneOf(values.collect()))
}

pub(crate) fn contains(column: TextColumn, text: &str) -> Filter {
    Filter::Text(column, TextTest::Contains(as_recorded(column, text)))
}

/// The text as the column has it: names of sites are in small letters.
fn as_recorded(column: TextColumn, text: &str) -> String {
    if column == TextColumn::SITE { text.to_ascii_lowercase() } else { text.to_owned() }
}

/// A text as a regular expression that is met in any case of its letters.
pub fn in_any_case(text: &str) -> String {
    format!("(?i){}", regex::escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use regex::Regex;

    #[test]
    fn every_sign_means_itself() {
        let signs: String = (b'!'..=b'~').filter(u8::is_ascii_punctuation).map(char::from).collect();
        assert!(Regex::new(&in_any_case(&signs)).expect("a pattern").is_match(&signs));
        let tag = Regex::new(&in_any_case("<Script>")).expect("a pattern");
        assert!(tag.is_match("/<SCRIPT>") && !tag.is_match("/script/"));
    }
}

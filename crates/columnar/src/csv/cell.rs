//! Value of a field: a text unless it is exactly a value of another type.

use super::scan::CsvField;
use crate::json::number::{self, Number};
use crate::json::time::{Moment, date};
use crate::rules::ValueRules;
use crate::shape::Kinds;

/// A field's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum CsvCell {
    /// An empty field without quotes.
    Null,
    Bool(bool),
    Number(Number),
    Moment(Moment),
    /// Days since 1970.
    Date(i32),
    Text,
}

impl CsvCell {
    /// `007` and `+1` are no numbers of JSON, and so they are texts: nothing of a field is lost.
    #[inline]
    pub(super) fn of(field: &CsvField<'_>, rules: &ValueRules) -> Self {
        match field.text.first() {
            _ if rules.is_null(&field.text) => Self::Null,
            None if field.quoted => Self::Text,
            None => Self::Null,
            Some(b'-' | b'0'..=b'9') => {
                std::str::from_utf8(&field.text).map_or(Self::Text, |text| Self::number_or_moment(text, rules))
            }
            Some(b't') if *field.text == *b"true" => Self::Bool(true),
            Some(b'f') if *field.text == *b"false" => Self::Bool(false),
            Some(_) => Self::Text,
        }
    }

    /// True if it is the null of a table of one column, which has quotes since a blank line is no
    /// row; in a column of texts it is the empty text.
    pub(super) fn is_null_alone(field: &CsvField<'_>) -> bool {
        field.quoted && field.text.is_empty()
    }

    fn number_or_moment(text: &str, rules: &ValueRules) -> Self {
        if number::length(text.as_bytes()) == Ok(text.len()) {
            return Self::Number(rules.number(text));
        }
        let moment = || Moment::parse(text).map(Self::Moment);
        date(text).map(Self::Date).or_else(moment).unwrap_or(Self::Text)
    }

    pub(super) fn kinds(self) -> Kinds {
        match self {
            Self::Null => Kinds::NULL,
            Self::Bool(_) => Kinds::WORD,
            Self::Number(number) => Kinds::of_number(number),
            Self::Moment(moment) => Kinds::of_moment(moment),
            Self::Date(_) => Kinds::DATE,
            Self::Text => Kinds::TEXT,
        }
    }

    pub(super) fn to_int(self) -> Option<i64> {
        if let Self::Number(number) = self { number.to_signed() } else { None }
    }

    pub(super) fn to_uint(self) -> Option<u64> {
        if let Self::Number(number) = self { number.to_unsigned() } else { None }
    }

    pub(super) fn to_float(self) -> Option<f64> {
        if let Self::Number(number) = self { number.to_float() } else { None }
    }

    pub(super) fn to_date(self) -> Option<i32> {
        if let Self::Date(days) = self { Some(days) } else { None }
    }

    pub(super) fn is_rounded(self) -> bool {
        matches!(self, Self::Number(number) if number.is_rounded_by_float())
    }

    pub(super) fn is_changed(self) -> bool {
        matches!(self, Self::Number(number) if number.is_text_among_integers())
    }

    pub(super) fn is_float(self) -> bool {
        matches!(self, Self::Number(Number::Float(_) | Number::Rounded(_)))
    }

    /// In units of which a second has ten to the power of `digits`.
    pub(super) fn to_moment(self, digits: u32) -> Option<i64> {
        if let Self::Moment(moment) = self { moment.in_units(digits) } else { None }
    }
}

//! What a field holds: what is not exactly a value of another type is a text.

use super::scan::Field;
use crate::json::number::{self, Number};
use crate::json::time::Moment;
use crate::shape::Kinds;

/// A field's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell {
    /// An empty field without quotes.
    Null,
    Bool(bool),
    Number(Number),
    Moment(Moment),
    Text,
}

impl Cell {
    /// `007` and `+1` are no numbers of JSON, and so they are texts: nothing of a field is lost.
    #[inline]
    pub(super) fn of(field: &Field<'_>) -> Self {
        match field.text.first() {
            None if field.quoted => Self::Text,
            None => Self::Null,
            Some(b'-' | b'0'..=b'9') => std::str::from_utf8(&field.text).map_or(Self::Text, Self::number_or_moment),
            Some(b't') if *field.text == *b"true" => Self::Bool(true),
            Some(b'f') if *field.text == *b"false" => Self::Bool(false),
            Some(_) => Self::Text,
        }
    }

    fn number_or_moment(text: &str) -> Self {
        if number::length(text.as_bytes()) == Ok(text.len()) {
            return Self::Number(Number::of(text));
        }
        Moment::parse(text).filter(Moment::has_column).map_or(Self::Text, Self::Moment)
    }

    pub(super) fn kinds(self) -> Kinds {
        match self {
            Self::Null => Kinds::NULL,
            Self::Bool(_) => Kinds::WORD,
            Self::Number(number) => Kinds::of_number(number),
            Self::Moment(moment) => Kinds::of_moment(moment),
            Self::Text => Kinds::TEXT,
        }
    }

    pub(super) fn to_int(self) -> Option<i64> {
        if let Self::Number(Number::Int(value)) = self { Some(value) } else { None }
    }

    pub(super) fn to_uint(self) -> Option<u64> {
        match self {
            Self::Number(Number::Int(value)) => u64::try_from(value).ok(),
            Self::Number(Number::UInt(value)) => Some(value),
            _ => None,
        }
    }

    pub(super) fn to_float(self) -> Option<f64> {
        if let Self::Number(number) = self { number.to_float() } else { None }
    }

    /// In units of which a second has ten to the power of `digits`.
    pub(super) fn to_moment(self, digits: u32) -> Option<i64> {
        if let Self::Moment(moment) = self { moment.in_units(digits) } else { None }
    }
}

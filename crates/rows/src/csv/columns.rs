//! Fields as columns.

use super::Dialect;
use super::scan::{Field, Fields, Records};
use crate::decode::{Bad, Decode, Decoded, Infer, Inferred, Note, Notes};
use crate::format::Without;
use crate::json::number::{self, Number};
use crate::json::time::Moment;
use crate::rest::Rest;
use crate::shape::{Scalar, Shape};
use crate::text::Texts;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, SchemaRef};
use rorqual_pipe::{Chunk, Error, Kind};
use std::sync::Arc;

/// What a field holds, as a type: what is not exactly a value of another is a text.
enum Cell<'a> {
    /// An empty field without quotes.
    Null,
    Bool(bool),
    Number(&'a str, Number),
    Moment(Moment),
    Text,
}

impl<'a> Cell<'a> {
    #[inline]
    fn of(field: &'a Field<'_>) -> Self {
        let text: &[u8] = &field.text;
        match text.first() {
            None if field.quoted => Self::Text,
            None => Self::Null,
            Some(b'-' | b'0'..=b'9') => Self::number_or_moment(text),
            Some(b't') if text == b"true" => Self::Bool(true),
            Some(b'f') if text == b"false" => Self::Bool(false),
            Some(_) => Self::Text,
        }
    }

    fn number_or_moment(text: &'a [u8]) -> Self {
        let Ok(text) = std::str::from_utf8(text) else { return Self::Text };
        if number::length(text.as_bytes()) == Ok(text.len()) {
            return Self::Number(text, Number::of(text));
        }
        Moment::parse(text).map_or(Self::Text, Self::Moment)
    }
}

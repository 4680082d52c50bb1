//! JSON documents: ends of records, their columns, and their values as columns.

mod columns;
pub(crate) mod cursor;
mod decode;
mod detect;
mod first;
mod head;
mod infer;
mod mask;
pub(crate) mod number;
pub(crate) mod path;
mod records;
mod rest;
mod seek;
mod split;
pub(crate) mod string;
pub(crate) mod time;
mod unique;

pub use decode::JsonDecoder;
pub(crate) use decode::TOO_LARGE;
pub use detect::{RowsWithin, detect, rows_within};
pub(crate) use first::FirstDocument;
pub use infer::JsonInferrer;
pub use path::{format_rows, parse_rows};
pub use split::JsonSplitter;

/// Columns of the members of an object.
const MEMBER_KEY: &str = "key";
const MEMBER_VALUE: &str = "value";

/// The same as they are written in JSON.
const MEMBER_KEY_QUOTED: &str = "\"key\"";
const MEMBER_VALUE_QUOTED: &str = "\"value\"";

/// Layout of the records in an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Layout {
    /// One document a line (NDJSON).
    Lines,
    /// Documents one after another, with anything or nothing of white space between them.
    Documents,
    /// The elements of one array, which is the whole input.
    Array,
    /// The elements of the array under these keys of one document: `$.data.items`.
    Rows(Vec<String>),
    /// The members of the object under these keys of one document, which is used as a map:
    /// `$.users.*`. Each is a record of its `key` and its `value`.
    Members(Vec<String>),
}

//! Layouts of the records in an input.

/// Columns of the members of an object.
pub(super) const MEMBER_KEY: &str = "key";
pub(super) const MEMBER_VALUE: &str = "value";

/// The same as they are written in JSON.
pub(super) const MEMBER_KEY_QUOTED: &str = "\"key\"";
pub(super) const MEMBER_VALUE_QUOTED: &str = "\"value\"";

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

/// Number of the documents of an input, as far as it was looked at.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum DocumentCount {
    /// The end of the first was not seen.
    #[default]
    Unknown,
    /// Nothing follows the first.
    One,
    /// The same, and it is longer than a record may be.
    OneTooLong,
    /// Something follows the first.
    Several,
}

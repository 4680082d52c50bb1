//! Shape of the records: a tree of types that only widens.
//!
//! A node remembers the kinds of values it met, with the first place of each; their type is decided
//! when a schema is asked for. So merging is a union, and it does not matter how the input was cut.
//! Only columns beyond [`COLUMNS_MAX`] may depend on the cuts.

mod node;
mod schema;
mod text;

pub(crate) use node::{Kinds, NodeCount, ObjectFields, Order, ShapeNode, Type};
pub(crate) use schema::{is_integer_text, is_json, is_open, is_rest, is_whole, json};
pub use text::{format_schema, parse_schema};

use crate::limits::COLUMNS_MAX;
use std::fmt;

/// The columns that some records need. Shapes are merged in the order of the input: a field's place
/// is where it came first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shape {
    /// Shape of the records: an object, whose fields are the columns, or anything else, which is
    /// one column.
    pub(crate) record: ShapeNode,
    pub(crate) count: NodeCount,
}

/// Two values under one path that have no common type but text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Path of the values in their records.
    pub path: String,
    /// Their kinds, each with its first place, the earlier one first. No offset where only a schema
    /// says so.
    pub kinds: [(&'static str, Option<u64>); 2],
}

impl Shape {
    /// Widens this shape to the needs of both.
    pub fn merge(&mut self, later: Shape) {
        self.count.overflows |= later.count.overflows;
        self.record.merge(later.record, &mut self.count);
    }

    /// Some values have no column and go to `_rest`: there are more than [`COLUMNS_MAX`], a key is
    /// too long for a name, or a text can't be UTF-8.
    #[must_use]
    pub fn needs_rest(&self) -> bool {
        self.count.overflows
    }

    /// The first two values that only text has room for: a text and a number, a number and an
    /// object.
    #[must_use]
    pub fn conflict(&self) -> Option<Conflict> {
        let mut found = Vec::new();
        self.record.conflicts(&mut String::new(), &mut found);
        found.into_iter().min_by_key(|conflict| conflict.kinds[1].1)
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = self.kinds.map(|(kind, offset)| match offset {
            Some(offset) => format!("{kind} at byte {offset}"),
            None => kind.to_owned(),
        });
        write!(f, "{} is {first}, and {second}", self.path)
    }
}

const _: () = assert!(COLUMNS_MAX < u32::MAX as usize, "fields are numbered by 32 bits");

//! The column `_rest`: values of a record that have no column.
//!
//! It is one JSON object a row, or null: under the path of each value, the value as it was written
//! (without white space between its parts). A path is as for `--rows`, without the `$.` it would
//! start with: `name`, `payload.items[3].name`, `a["odd key"]`; `$` alone is the whole record. Keys
//! in brackets are JSON strings. So nothing is lost: the place in the record and the value are both
//! there.

use super::cursor::compact;
use super::path::is_plain;
use std::collections::HashMap;
use std::ops::Range;

/// A step of a path, as it is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum PathStep<'a> {
    /// The whole record.
    Record,
    /// A key with its quotes.
    Key(&'a str),
    /// An item of a list.
    Item(usize),
}

/// A path from a value up to its record.
#[derive(Debug, Clone, Copy)]
pub(super) struct RestPath<'a> {
    pub(super) above: Option<&'a RestPath<'a>>,
    pub(super) step: PathStep<'a>,
}

/// Values of one record that have no column.
#[derive(Debug)]
pub(super) struct RestColumn {
    /// Most bytes that it may have, and the columns of the record.
    pub(super) bytes_max: usize,
    /// `"path":value`, one after the other.
    text: String,
    entries: Vec<RestEntry>,
    path: String,
}

#[derive(Debug)]
struct RestEntry {
    all: Range<usize>,
    path_bytes: usize,
}

impl RestColumn {
    pub(super) fn new(bytes_max: usize) -> Self {
        Self { bytes_max, text: String::new(), entries: Vec::new(), path: String::new() }
    }

    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.entries.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Adds a value. `false` when it is too much.
    pub(super) fn add(&mut self, path: &RestPath<'_>, value: &str, spaced: bool) -> bool {
        self.path.clear();
        path.write(&mut self.path);
        let start = self.text.len();
        self.text.push('"');
        for part in self.path.split_inclusive(['"', '\\']) {
            let (plain, special) = part.split_at(part.len() - usize::from(part.ends_with(['"', '\\'])));
            self.text.push_str(plain);
            if !special.is_empty() {
                self.text.push('\\');
                self.text.push_str(special);
            }
        }
        self.text.push('"');
        let path_bytes = self.text.len() - start;
        self.text.push(':');
        if spaced {
            compact(value, &mut self.text);
        } else {
            self.text.push_str(value);
        }
        self.entries.push(RestEntry { all: start..self.text.len(), path_bytes });
        self.text.len() <= self.bytes_max
    }

    /// The object, and whether a path came twice; its last value counts.
    pub(super) fn object(&self, out: &mut String) -> bool {
        let path = |entry: &RestEntry| &self.text[entry.all.start..entry.all.start + entry.path_bytes];
        let last: HashMap<&str, usize> = self.entries.iter().enumerate().map(|(index, entry)| (path(entry), index)).collect();
        out.push('{');
        for (index, entry) in self.entries.iter().enumerate() {
            if last.get(path(entry)) == Some(&index) {
                out.push_str(if out.len() == 1 { "" } else { "," });
                out.push_str(&self.text[entry.all.clone()]);
            }
        }
        out.push('}');
        last.len() < self.entries.len()
    }
}

impl RestPath<'_> {
    fn write(&self, out: &mut String) {
        match (self.above, self.step) {
            (None, _) => out.push('$'),
            (Some(above), step) => {
                if above.above.is_some() {
                    above.write(out);
                }
                step.write(out);
            }
        }
    }
}

impl PathStep<'_> {
    fn write(self, out: &mut String) {
        match self {
            Self::Record => {}
            Self::Key(quoted) => {
                let key = quoted.trim_matches('"');
                if !is_plain(key) {
                    out.push_str(&format!("[{quoted}]"));
                } else {
                    out.push_str(if out.is_empty() { "" } else { "." });
                    out.push_str(key);
                }
            }
            Self::Item(index) => out.push_str(&format!("[{index}]")),
        }
    }
}

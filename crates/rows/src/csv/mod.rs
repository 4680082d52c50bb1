//! Fields with separators (RFC 4180 and what people make of it).

use rorqual_pipe::{Fault, Split, Splitter};

/// How fields are separated.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dialect {
    /// Between fields: a comma, a tab, a semicolon, a bar.
    pub delimiter: u8,
    /// The names of the columns, which the first record has unless a flag says otherwise.
    pub header: bool,
}

/// Finds records: a newline inside quotes ends none.
pub struct RecordSplitter {}

impl RecordSplitter {
    /// A splitter for that dialect.
    #[must_use]
    pub fn new(_dialect: &Dialect) -> Self {
        todo!()
    }
}

impl Splitter for RecordSplitter {
    fn split(&mut self, _bytes: &[u8]) -> Result<Split, Fault> {
        todo!()
    }

    fn finish(&mut self) -> Result<(), Fault> {
        todo!()
    }
}

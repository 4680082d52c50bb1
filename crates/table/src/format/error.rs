//! What is wrong with a format string.

use std::fmt;

/// A format string that could not be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    column: usize,
    message: String,
}

impl FormatError {
    pub(crate) fn new(column: usize, message: impl Into<String>) -> FormatError {
        FormatError { column, message: message.into() }
    }

    /// Where it is wrong: the byte of the format string, from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// What is wrong there.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "column {}: {}", self.column, self.message)
    }
}

impl std::error::Error for FormatError {}

//! Errors of format strings.

use std::fmt;

/// A format string that could not be compiled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    /// Byte of the text that was given, from 0.
    at: usize,
    line: usize,
    column: usize,
    message: String,
}

impl FormatError {
    pub(crate) fn new(column: usize, message: impl Into<String>) -> FormatError {
        FormatError { at: column - 1, line: 1, column, message: message.into() }
    }

    /// The same at byte `at` of `text`, which the format string is a part of.
    pub(crate) fn placed(self, text: &str, at: usize) -> FormatError {
        let before = &text.as_bytes()[..at.min(text.len())];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |newline| newline + 1);
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        FormatError { at: before.len(), line, column: before.len() - line_start + 1, ..self }
    }

    /// The place of the error: the byte of the text that was given, from 0.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The line of that text, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The place in the line: its byte, from 1.
    pub fn column(&self) -> usize {
        self.column
    }

    /// The message, for people.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 1 {
            write!(f, "line {}, ", self.line)?;
        }
        write!(f, "column {}: {}", self.column, self.message)
    }
}

impl std::error::Error for FormatError {}

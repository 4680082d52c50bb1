//! Errors of foreign bytes and foreign files, in a form that names file and offset.

use crate::escape::escaped_line;
use crate::open_files;
use std::fmt;
use std::io;

/// Class of an error: the party at fault, and so the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorClass {
    /// The operating system refused: no such file, no permission, disk full, connection reset.
    Io,
    /// The input is not of its claimed kind: a broken checksum, an impossible header.
    Corrupt,
    /// The input ends too early: a cut gzip, a file that shrank while it was read.
    Truncated,
    /// The input is sound, and another one than was asked for: its digest differs.
    Mismatch,
    /// A stated limit was met; the message quotes it and names the setting that moves it.
    Limit,
    /// The reader of the output went away (closed pipe), or a stop was asked for. Not a failure of
    /// the input.
    Stopped,
}

impl ErrorClass {
    /// One word for it, as a label of measures.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Io => "io",
            Self::Corrupt => "corrupt",
            Self::Truncated => "truncated",
            Self::Mismatch => "mismatch",
            Self::Limit => "limit",
            Self::Stopped => "stopped",
        }
    }
}

/// An error with the place where it happened.
#[derive(Debug)]
pub struct Error {
    kind: ErrorClass,
    name: String,
    offset: Option<u64>,
    message: String,
    cause: Option<io::Error>,
}

impl Error {
    /// An error about the input `name`.
    pub fn new(kind: ErrorClass, name: impl Into<String>, message: impl Into<String>) -> Self {
        Self { kind, name: name.into(), offset: None, message: message.into(), cause: None }
    }

    /// An operating-system error while doing `message` ("cannot open", "cannot read").
    pub fn io(name: impl Into<String>, message: impl Into<String>, cause: io::Error) -> Self {
        let kind = if cause.kind() == io::ErrorKind::BrokenPipe { ErrorClass::Stopped } else { ErrorClass::Io };
        Self { kind, name: name.into(), offset: None, message: message.into(), cause: Some(cause) }
    }

    /// The same error at `offset` bytes into the input.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// The same error about the input `name`, where it names none yet.
    #[must_use]
    pub fn of_input(mut self, name: &str) -> Self {
        if self.name.is_empty() {
            name.clone_into(&mut self.name);
        }
        self
    }

    /// Class of the error.
    #[must_use]
    pub fn kind(&self) -> ErrorClass {
        self.kind
    }

    /// Bytes into the input, where known.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        self.offset
    }

    /// The input's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", escaped_line(&self.name), self.message)?;
        if let Some(offset) = self.offset {
            write!(f, " at byte {offset}")?;
        }
        match &self.cause {
            Some(cause) => write!(f, ": {}", reason(cause)),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.cause.as_ref().map(|cause| cause as _)
    }
}

/// The system's words without Rust's "(os error 2)".
#[must_use]
pub fn reason(cause: &io::Error) -> String {
    let text = cause.to_string();
    let end = text.find(" (os error").unwrap_or(text.len());
    let full = || (cause.kind() == io::ErrorKind::StorageFull).then(|| ": make room there, or write elsewhere".to_owned());
    format!("{}{}", &text[..end], open_files::advice(cause).or_else(full).unwrap_or_default())
}

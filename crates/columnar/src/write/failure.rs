//! The one failure that ends a writer, given to every thread that works on it.

use arrow_schema::ArrowError;
use parquet::errors::ParquetError;
use rorqual_pipe::{Error, ErrorClass};
use std::io;

/// Reason for which a file can't be written.
#[derive(Debug, Clone)]
pub(super) enum WriteFailure {
    /// The system refused.
    Io { kind: io::ErrorKind, code: Option<i32>, text: String },
    /// The format has no place for it.
    Format { kind: ErrorClass, text: String },
}

impl WriteFailure {
    /// A limit of the format or of ours was met.
    pub(super) fn limit(text: impl Into<String>) -> Self {
        Self::Format { kind: ErrorClass::Limit, text: text.into() }
    }

    /// The error for the file `name`.
    pub(super) fn error(&self, name: &str) -> Error {
        match self {
            Self::Io { code: Some(code), .. } => Error::io(name, "cannot write", io::Error::from_raw_os_error(*code)),
            Self::Io { kind, text, .. } => Error::io(name, "cannot write", io::Error::new(*kind, text.clone())),
            Self::Format { kind, text } => Error::new(*kind, name, text.clone()),
        }
    }
}

impl From<&io::Error> for WriteFailure {
    fn from(error: &io::Error) -> Self {
        Self::Io { kind: error.kind(), code: error.raw_os_error(), text: error.to_string() }
    }
}

impl From<ParquetError> for WriteFailure {
    fn from(error: ParquetError) -> Self {
        match &error {
            ParquetError::External(cause) => {
                let text = || Self::Format { kind: ErrorClass::Corrupt, text: error.to_string() };
                cause.downcast_ref::<io::Error>().map_or_else(text, Self::from)
            }
            _ => Self::Format { kind: ErrorClass::Corrupt, text: error.to_string() },
        }
    }
}

impl From<ArrowError> for WriteFailure {
    fn from(error: ArrowError) -> Self {
        match &error {
            ArrowError::IoError(_, cause) => Self::from(cause),
            _ => Self::Format { kind: ErrorClass::Corrupt, text: error.to_string() },
        }
    }
}

//! Faults of compressed data, in our words.

use super::Encoding;
use crate::error::{Error, ErrorClass};
use crate::setting::MEMORY;
use std::fmt;
use std::io::{self, ErrorKind};

/// Faults that our own decoders find; others have errors of their own.
#[derive(Debug, Clone, Copy)]
pub(super) enum DecodeError {
    /// Bytes after the end that are neither padding nor another member.
    Trailing,
    /// Against the format, or a checksum that does not match.
    Damaged(&'static str),
    /// Needs more memory than it may have, for this.
    Memory(&'static str),
    /// UTF-16 that has half a surrogate pair, at this byte of it.
    HalfPair(u64),
    /// UTF-16 that ends in half a unit, at this byte of it.
    OddByte(u64),
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trailing => "something else follows",
            Self::Damaged(what) | Self::Memory(what) => what,
            Self::HalfPair(_) => "half a surrogate pair",
            Self::OddByte(_) => "half a unit",
        })
    }
}

impl std::error::Error for DecodeError {}

impl From<DecodeError> for io::Error {
    fn from(fault: DecodeError) -> Self {
        Self::new(ErrorKind::InvalidData, fault)
    }
}

/// A decoder's failure in our words; a failure of the source below it comes through as it was.
/// `stored` is how many bytes the decoder had taken by then: the offset that is added later counts
/// decoded ones.
pub(crate) fn describe(name: &str, encoding: Encoding, stored: u64, cause: io::Error) -> Error {
    let cause = match cause.downcast::<Error>() {
        Ok(source_error) => return source_error,
        Err(cause) => cause,
    };
    let (data, text) = (encoding.name(), cause.to_string());
    let fault = cause.get_ref().and_then(|inner| inner.downcast_ref::<DecodeError>());
    match fault {
        Some(DecodeError::HalfPair(at)) => {
            let message = format!(
                "the UTF-16 text has half a surrogate pair, which is no character, at byte {at} of it; of the text as UTF-8"
            );
            return Error::new(ErrorClass::Corrupt, name, message);
        }
        Some(DecodeError::OddByte(at)) => {
            let message = format!(
                "the UTF-16 text ends in half a character (the file is cut short), at byte {at} of it; of the text as UTF-8"
            );
            return Error::new(ErrorClass::Truncated, name, message);
        }
        _ => {}
    }
    let place = format!("byte {stored} of the file; of the decoded data");
    if let Some(DecodeError::Trailing) = fault {
        return Error::new(ErrorClass::Corrupt, name, format!("the {data} data is followed by something else, near {place}"));
    }
    if let Some(what) = memory(&cause, &text) {
        let message = format!(
            "this {data} data needs {what} than a 32nd of the memory given (a larger {MEMORY} moves the limit), near {place}"
        );
        return Error::new(ErrorClass::Limit, name, message);
    }
    // zstd says the latter.
    if cause.kind() == ErrorKind::UnexpectedEof || text.contains("incomplete frame") {
        return Error::new(
            ErrorClass::Truncated,
            name,
            format!("the {data} data ends too early (the file is cut short), after {place}"),
        );
    }
    Error::new(ErrorClass::Corrupt, name, format!("the {data} data is damaged ({text}), near {place}"))
}

/// The part that is larger than the memory allows, where that is the fault.
fn memory(cause: &io::Error, text: &str) -> Option<&'static str> {
    let inner = cause.get_ref();
    if let Some(DecodeError::Memory(what)) = inner.and_then(|inner| inner.downcast_ref::<DecodeError>()) {
        return Some(what);
    }
    if let Some(liblzma::stream::Error::MemLimit) = inner.and_then(|inner| inner.downcast_ref()) {
        return Some("a larger dictionary");
    }
    // zstd's errors are only texts.
    text.contains("too much memory").then_some("a larger window")
}

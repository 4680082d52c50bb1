//! Targets of received bytes.

use crate::error::{FetchError, FetchErrorKind};
use crate::part::PartFile;
use crate::sidecar::Validator;
use rorqual_digest::Hasher;
use rorqual_pipe::escaped_path;
use std::cell::RefCell;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileExt;

/// A part, anywhere in it; or a writer, in order.
pub(crate) enum FetchSink {
    Part(PartFile),
    Writer(RefCell<HashedWriter>),
}

/// A writer, and the digests of all bytes given to it.
pub(crate) struct HashedWriter {
    pub(crate) writer: Box<dyn Write + Send>,
    pub(crate) hashers: Vec<Hasher>,
}

impl FetchSink {
    /// The first answer is there; nothing has been written yet.
    pub(crate) fn adopt(&self, validator: Option<&Validator>, size_bytes: Option<u64>) -> Result<(), FetchError> {
        match self {
            Self::Part(part) => {
                part.reserve(size_bytes.unwrap_or(0))?;
                part.ledger.adopt(validator, size_bytes)
            }
            Self::Writer(_) => Ok(()),
        }
    }

    pub(crate) fn write(&self, at: u64, bytes: &[u8]) -> Result<(), FetchError> {
        let written = match self {
            Self::Part(part) => part.ledger.file.write_all_at(bytes, at),
            Self::Writer(stream) => {
                let mut stream = stream.borrow_mut();
                stream.hashers.iter_mut().for_each(|hasher| hasher.update(bytes));
                stream.writer.write_all(bytes)
            }
        };
        written.map_err(|cause| match cause.kind() {
            ErrorKind::BrokenPipe => FetchError::new(FetchErrorKind::Closed, "the reader of the output has enough"),
            _ => FetchError::local(format!("{}: cannot write at byte {at}", self.name()), &cause),
        })
    }

    fn name(&self) -> String {
        match self {
            Self::Part(part) => escaped_path(&part.path),
            Self::Writer(_) => "output".to_owned(),
        }
    }
}

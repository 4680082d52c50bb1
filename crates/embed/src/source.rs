//! Sources of bytes.

use crate::failure::OperationFailure;
use rorqual_pipe::Input;
use std::fmt;
use std::io::Read;
use std::path::PathBuf;

/// A source of bytes, which may be compressed.
pub enum DataSource {
    /// A file, a FIFO or a device.
    Path(PathBuf),
    /// Anything that reads, under a name for messages. It is read once.
    Reader(String, Box<dyn Read + Send>),
}

impl fmt::Debug for DataSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name())
    }
}

impl DataSource {
    /// Its name in messages.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Path(path) => path.to_string_lossy().into_owned(),
            Self::Reader(name, _) => name.clone(),
        }
    }

    /// The source, opened; what is compressed comes decoded.
    pub(crate) fn open(self) -> Result<Input, OperationFailure> {
        Ok(match self {
            Self::Path(path) => Input::open(&path)?,
            Self::Reader(name, reader) => Input::from_reader(name, reader),
        })
    }

    /// The source, opened, with its bytes as they are stored.
    pub(crate) fn open_stored(self) -> Result<Input, OperationFailure> {
        Ok(match self {
            Self::Path(path) => Input::open_stored(&path)?,
            Self::Reader(name, reader) => Input::from_reader(name, reader).stored(),
        })
    }
}

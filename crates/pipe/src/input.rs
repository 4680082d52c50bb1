//! Where bytes come from.

use crate::error::{Error, Kind};
use crate::stream::BlockSource;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// An input that was opened and not yet read.
pub struct Input {
    pub(crate) name: String,
    pub(crate) body: Body,
    size_bytes: Option<u64>,
}

pub(crate) enum Body {
    /// A plain regular file: read side by side.
    File { file: File, size_bytes: u64 },
    /// A stream of stored bytes, which may be compressed.
    Read(Box<dyn Read + Send>),
    /// The same, in buffers that are filled elsewhere.
    Source(Box<dyn BlockSource>),
}

impl Input {
    /// Opens a file, a FIFO or a device; `-` is standard input. A compressed file becomes a stream.
    ///
    /// # Errors
    /// When it does not exist, may not be read, or is a directory.
    pub fn open(path: &Path) -> Result<Self, Error> {
        if path.as_os_str() == "-" {
            return Ok(Self::from_reader("standard input", Box::new(std::io::stdin())));
        }
        let name = path.to_string_lossy().into_owned();
        let file = File::open(path).map_err(|cause| Error::io(&name, "cannot open", cause))?;
        Self::from_file(name, file)
    }

    /// An input over an open file.
    ///
    /// # Errors
    /// When it is a directory or can't be examined.
    pub fn from_file(name: String, file: File) -> Result<Self, Error> {
        let metadata = file.metadata().map_err(|cause| Error::io(&name, "cannot examine", cause))?;
        if metadata.is_dir() {
            return Err(Error::new(Kind::Io, name, "is a directory; give a file in it"));
        }
        let size_bytes = metadata.len();
        // Files of /proc are regular, have no size, and can only be read as streams.
        if !metadata.is_file() || size_bytes == 0 {
            return Ok(Self::from_reader(name, Box::new(file)));
        }
        let head = head(&file).map_err(|cause| Error::io(&name, "cannot read", cause))?;
        let body = match crate::decode::Encoding::detect(&head) {
            crate::decode::Encoding::Plain => Body::File { file, size_bytes },
            _ => Body::Read(Box::new(file)),
        };
        Ok(Self { name, body, size_bytes: Some(size_bytes) })
    }

    /// An input over anything that reads, of unknown size.
    #[must_use]
    pub fn from_reader(name: impl Into<String>, reader: Box<dyn Read + Send>) -> Self {
        Self { name: name.into(), body: Body::Read(reader), size_bytes: None }
    }

    /// An input over buffers that are filled elsewhere, from the pool that the run is given.
    #[must_use]
    pub fn from_source(name: impl Into<String>, source: Box<dyn BlockSource>) -> Self {
        Self { name: name.into(), body: Body::Source(source), size_bytes: None }
    }

    /// The input's name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Stored size (before decoding), where it is known.
    #[must_use]
    pub fn size_bytes(&self) -> Option<u64> {
        self.size_bytes
    }
}

fn head(file: &File) -> std::io::Result<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let mut head = vec![0; crate::decode::MAGIC_BYTES];
    let length = file.read_at(&mut head, 0)?;
    head.truncate(length);
    Ok(head)
}

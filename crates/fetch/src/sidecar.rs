//! `FILE.part.json`: the record of `FILE.part`, by which another process can resume it.
//!
//! Its claims are true at any moment, after kill -9 and after a power failure: bytes are named only
//! once they have been flushed, the file is replaced and never written over, and before a part is
//! begun anew a sidecar without claims is flushed.

use crate::error::FetchError;
use crate::limits::SIDECAR_BYTES_MAX;
use crate::ranges::Ranges;
use rorqual_pipe::escaped_path;
use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

const SCHEMA: &str = "rorqual.fetch.part/1";

/// Validator of the server's file; sent as If-Range.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Validator {
    Etag(String),
    LastModified(String),
}

impl Validator {
    pub(crate) fn value(&self) -> &str {
        match self {
            Self::Etag(value) | Self::LastModified(value) => value,
        }
    }
}

/// The record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SidecarRecord {
    schema: String,
    pub(crate) url: String,
    pub(crate) validator: Option<Validator>,
    pub(crate) size_bytes: Option<u64>,
    /// Ranges of the part that are sound: first byte, and the one after the last.
    done: Vec<(u64, u64)>,
}

impl SidecarRecord {
    pub(crate) fn new(url: &str) -> Self {
        Self { schema: SCHEMA.to_owned(), url: url.to_owned(), validator: None, size_bytes: None, done: Vec::new() }
    }

    pub(crate) fn done(&self) -> Ranges {
        Ranges::of(self.done.iter().filter(|(start, end)| start <= end).map(|(start, end)| *start..*end))
    }

    pub(crate) fn set_done(&mut self, done: &Ranges) {
        self.done = done.iter().map(|stretch| (stretch.start, stretch.end)).collect();
    }
}

/// True of the text of a record, or of what a power failure leaves of one.
fn is_record(text: &[u8]) -> bool {
    const BEGIN: &[u8] = b"{\"schema\":\"rorqual.fetch.part/";
    let length = text.len().min(BEGIN.len());
    text[..length] == BEGIN[..length] || text.iter().all(|byte| *byte == 0)
}

/// The file itself.
#[derive(Debug)]
pub(crate) struct Sidecar {
    path: PathBuf,
    new_path: PathBuf,
}

/// State of a sidecar that was found.
pub(crate) enum SidecarState {
    Nothing,
    /// A record of a fetch that can't be read: cut, or of another version.
    Unreadable,
    /// Something else has its name.
    Foreign,
    Record(SidecarRecord),
}

impl Sidecar {
    pub(crate) fn new(part: &Path) -> Self {
        Self { path: with_suffix(part, ".json"), new_path: with_suffix(part, ".json.new") }
    }

    pub(crate) fn read(&self) -> Result<SidecarState, FetchError> {
        // A FIFO in its place would keep us waiting.
        let opened = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(&self.path);
        let file = match opened {
            Ok(file) => file,
            Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(SidecarState::Nothing),
            Err(cause) => return Err(FetchError::local(format!("{}: cannot open", escaped_path(&self.path)), &cause)),
        };
        let mut text = Vec::new();
        let read = file.take(SIDECAR_BYTES_MAX).read_to_end(&mut text);
        read.map_err(|cause| FetchError::local(format!("{}: cannot read", escaped_path(&self.path)), &cause))?;
        let record = serde_json::from_slice(&text).ok().filter(|record: &SidecarRecord| record.schema == SCHEMA);
        let unread = || if is_record(&text) { SidecarState::Unreadable } else { SidecarState::Foreign };
        Ok(record.map_or_else(unread, SidecarState::Record))
    }

    /// Replaces the sidecar. It names the URL, which may hold a token, so it is for the owner only.
    pub(crate) fn write(&self, record: &SidecarRecord) -> Result<(), FetchError> {
        self.replace(record).map_err(|cause| FetchError::local(format!("{}: cannot write", escaped_path(&self.path)), &cause))
    }

    fn replace(&self, record: &SidecarRecord) -> io::Result<()> {
        remove(&self.new_path)?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.new_path)?;
        file.write_all(&serde_json::to_vec(record)?)?;
        file.sync_data()?;
        std::fs::rename(&self.new_path, &self.path)
    }

    pub(crate) fn remove(&self) -> io::Result<()> {
        remove(&self.new_path)?;
        remove(&self.path)
    }
}

/// Removes a file that may not be there.
fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(cause) if cause.kind() != ErrorKind::NotFound => Err(cause),
        _ => Ok(()),
    }
}

pub(crate) fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

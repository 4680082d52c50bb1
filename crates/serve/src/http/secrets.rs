//! The files that the server itself opens: its token, its certificate and its key. A secret must
//! not be readable by others.

use rorqual_pipe::reason;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Bits of a mode that let others than the owner in.
const ALL_OTHERS: u32 = 0o077;

/// Bits that let those in who are neither owner nor of the group: keys are often for a group to
/// read.
const STRANGERS: u32 = 0o007;

/// Version of a file: inode, size, and time of the last change, in seconds and nanoseconds.
pub(crate) type Version = (u64, u64, i64, i64);

/// The version of the file at `path`; `None` where there is none.
pub(crate) fn version(path: &Path) -> Option<Version> {
    path.metadata().ok().map(|data| version_of(&data))
}

fn version_of(data: &Metadata) -> Version {
    (data.ino(), data.size(), data.ctime(), data.ctime_nsec())
}

/// A file of at most `bytes_max` bytes that only its owner can read, and its version.
///
/// # Errors
/// When it can't be read, is longer, is not a regular file, or others may read it.
pub(crate) fn private(path: &Path, bytes_max: u64) -> Result<(String, Version), String> {
    let (bytes, data) = read(path, bytes_max)?;
    refuse(path, &data, ALL_OTHERS)?;
    let text = String::from_utf8(bytes).map_err(|_| format!("{}: is no text", path.display()))?;
    Ok((text, version_of(&data)))
}

/// A key: the same, but a group may read it.
///
/// # Errors
/// As [`private`].
pub(crate) fn key(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    let (bytes, data) = read(path, bytes_max)?;
    refuse(path, &data, STRANGERS)?;
    Ok(bytes)
}

/// A file that is no secret.
///
/// # Errors
/// When it can't be read, is longer, or is not a regular file.
pub(crate) fn public(path: &Path, bytes_max: u64) -> Result<Vec<u8>, String> {
    read(path, bytes_max).map(|(bytes, _)| bytes)
}

fn refuse(path: &Path, data: &Metadata, others: u32) -> Result<(), String> {
    if data.mode() & others == 0 {
        return Ok(());
    }
    let (path, mode) = (path.display(), data.mode() & 0o777);
    Err(format!("{path}: others can read this secret (mode {mode:03o}): chmod 600 {path}"))
}

/// The mode is that of the file that was opened, whatever the name leads to meanwhile.
fn read(path: &Path, bytes_max: u64) -> Result<(Vec<u8>, Metadata), String> {
    let failed = |cause: io::Error| format!("{}: {}", path.display(), reason(&cause));
    // Opening a FIFO would wait for its writer.
    if !path.metadata().map_err(failed)?.is_file() {
        return Err(format!("{}: is not a regular file", path.display()));
    }
    let file = File::open(path).map_err(failed)?;
    let data = file.metadata().map_err(failed)?;
    let mut bytes = Vec::new();
    file.take(bytes_max + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > bytes_max {
        return Err(format!("{}: is longer than {bytes_max} bytes", path.display()));
    }
    Ok((bytes, data))
}

/// Makes a file that only its owner can read, unless there is one already.
///
/// # Errors
/// When it can't be made; one that is there is none.
pub(crate) fn create(path: &Path, text: &str) -> Result<(), String> {
    match OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
        Ok(mut file) => file
            .write_all(text.as_bytes())
            .and_then(|()| file.sync_all())
            .map_err(|cause| format!("{}: {}", path.display(), reason(&cause))),
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(cause) => Err(format!("{}: {}", path.display(), reason(&cause))),
    }
}

//! Inputs as verbs open them.

use crate::{message, objects};
use rorqual_pipe::{Error, ErrorClass, Input, escaped_path};
use std::collections::HashSet;
use std::fs::{File, Metadata};
use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A file, whatever its name: its device and its inode.
pub(crate) type FileId = (u64, u64);

/// The path of a file that is read as a whole: `-` is standard input.
pub(crate) fn real_path(path: &Path) -> &Path {
    if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path }
}

/// The same as [`Input::open`], and an object of a store by its address. A user before a silent
/// terminal is told that it is waited for.
///
/// # Errors
/// As [`Input::open`] and [`objects::open`].
pub(crate) fn open(path: &Path) -> Result<Input, Error> {
    if objects::is_address(path) {
        return objects::open(path);
    }
    if path.as_os_str() == "-" && std::io::stdin().is_terminal() {
        message::note(&"reading standard input, which is this terminal: Ctrl-D ends it");
    }
    Input::open(path)
}

/// The same with the bytes as they are stored.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_stored(path: &Path) -> Result<Input, Error> {
    if objects::is_address(path) { objects::open(path).map(Input::stored) } else { Input::open_stored(path) }
}

/// Size of all files as they are stored, in bytes; `None` where it is not known beforehand.
pub(crate) fn stored_bytes(paths: &[PathBuf]) -> Option<u64> {
    paths.iter().map(|path| std::fs::metadata(path).ok().filter(Metadata::is_file).map(|file| file.len())).sum()
}

/// Tells files that are named more than once, as by a pattern and beside it: their lines count as
/// often.
pub(crate) fn say_if_twice(paths: &[PathBuf]) {
    let mut seen = HashSet::new();
    for path in paths.iter().filter(|path| path.as_os_str() != "-") {
        if !seen.insert(path) {
            message::note(&format!("{}: is named more than once, and its lines count as often", escaped_path(path)));
        }
    }
}

/// The file that standard output goes into; `None` where it is a pipe, a terminal or a device.
pub(crate) fn output_file() -> Option<FileId> {
    examined(&std::io::stdout()).filter(Metadata::is_file).map(|data| (data.dev(), data.ino()))
}

/// Refuses an input that standard output goes into: it would grow while it is read.
///
/// # Errors
/// [`ErrorClass::Io`], with the name of the input.
pub(crate) fn refuse_output(path: &Path, output: Option<FileId>) -> Result<(), Error> {
    let Some(output) = output else { return Ok(()) };
    let data = if path.as_os_str() == "-" { examined(&std::io::stdin()) } else { std::fs::metadata(path).ok() };
    match data {
        Some(data) if (data.dev(), data.ino()) == output => {
            let name = if path.as_os_str() == "-" { "standard input".to_owned() } else { escaped_path(path) };
            Err(Error::new(ErrorClass::Io, name, "is also the output"))
        }
        _ => Ok(()),
    }
}

/// Metadata of an open file.
fn examined(file: &impl AsFd) -> Option<Metadata> {
    let file: File = file.as_fd().try_clone_to_owned().ok()?.into();
    file.metadata().ok()
}

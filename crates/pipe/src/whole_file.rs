//! Outputs that people name: a file, which appears whole at the end or not at all and leaves
//! nothing beside it however the process ends; or a stream (standard output, a pipe, a device),
//! which is written as it comes.

use crate::control::Control;
use crate::error::reason;
use crate::escape::escaped_path;
use crate::limits::STOP_CHECK;
use crate::setting::FORCE;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{File, FileType, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempPath};

/// Mode of any new file: the umask decides, where a temporary file would be the owner's alone.
const MODE: u32 = 0o666;

/// Folder in which an open file without a name is found.
const OPEN_FILES: &str = "/proc/self/fd";

/// An output that a person named by a flag. It costs no file: see [`OutputPath::check`].
#[derive(Debug, Clone, Copy)]
pub struct OutputPath<'a> {
    /// The flag, as it is called in messages: `-o`, `--html`.
    pub flag: &'a str,
    /// Its value; `-` is standard output.
    pub path: &'a Path,
    /// True if an existing file may be replaced: `--force`.
    pub force: bool,
}

impl OutputPath<'_> {
    /// True if the output vanishes: there is no file that appears at the end.
    #[must_use]
    pub fn is_stream(&self) -> bool {
        is_stream(self.path)
    }

    /// The one rule of all verbs: an output is none of the inputs, by whatever name and whatever is
    /// forced, and replaces an existing file only where that was asked for.
    ///
    /// # Errors
    /// A sentence for people, where it is an input, is there already, or can't be a file.
    pub fn check<'i>(&self, inputs: impl IntoIterator<Item = &'i Path>) -> Result<(), String> {
        if is_dash(self.path) {
            return Ok(());
        }
        let Ok(there) = std::fs::metadata(self.path) else {
            let is_link = std::fs::symlink_metadata(self.path).is_ok_and(|there| there.is_symlink());
            return if is_link && !self.force {
                Err(self.said(&format!("is a symbolic link to nothing; {FORCE} replaces it")))
            } else {
                Ok(())
            };
        };
        let kind = there.file_type();
        if kind.is_file() && inputs.into_iter().any(|input| identity(input) == Some((there.dev(), there.ino()))) {
            return Err(self.said("is one of the inputs, and would be lost"));
        }
        if !kind.is_file() && !streams(kind) {
            return Err(self.said("is there and is not a plain file"));
        }
        if kind.is_file() && !self.force {
            return Err(self.said(&format!("is there already; {FORCE} replaces it")));
        }
        Ok(())
    }

    /// Refuses two outputs that are one file.
    ///
    /// # Errors
    /// A sentence for people.
    pub fn check_other(&self, other: &Self) -> Result<(), String> {
        // A file that is not there yet is told by its folder and its name in it.
        let place = |path: &Path| Some((folder_of(path).canonicalize().ok()?, path.file_name()?.to_owned()));
        let real = |path: &Path| path.canonicalize().ok();
        let (ours, others) = (self.path, other.path);
        let by_name = place(ours).zip(place(others)).is_some_and(|(ours, others)| ours == others);
        if ours != others && !by_name && real(ours).zip(real(others)).is_none_or(|(ours, others)| ours != others) {
            return Ok(());
        }
        Err(format!("{} and {} are both {}", self.flag, other.flag, escaped_path(ours)))
    }

    /// Opens it: an empty file without a name, which [`PendingFile::put`] puts there when it is
    /// written, or the stream itself.
    ///
    /// # Errors
    /// A sentence for people, where it can't be created.
    pub fn create(&self, control: &Control) -> Result<(File, PendingFile), String> {
        create(self.path, control).map_err(|cause| self.said(&format!("cannot create it: {}", reason(&cause))))
    }

    /// The error of a failed write to it.
    #[must_use]
    pub fn failed(&self, cause: &io::Error) -> String {
        self.said(&format!("cannot write: {}", reason(cause)))
    }

    fn said(&self, what: &str) -> String {
        format!("{} {}: {what}", self.flag, escaped_path(self.path))
    }
}

/// A created file on its way to its name.
#[derive(Debug)]
pub struct PendingFile(FileEnd);

#[derive(Debug)]
enum FileEnd {
    /// A file without a name yet, and its path.
    Unnamed(PathBuf),
    /// The same where the file system has no such files, with the name that it has until the end.
    Named(TempPath, PathBuf),
    /// Nothing is left to do.
    Stream,
}

/// Makes an empty file, which [`PendingFile::put`] puts at `path` when it is written; a stream is
/// opened as it is. A pipe that nobody reads yet is waited for until a stop.
///
/// # Errors
/// When it can't be created.
pub fn create(path: &Path, control: &Control) -> io::Result<(File, PendingFile)> {
    if is_dash(path) {
        return Ok((io::stdout().as_fd().try_clone_to_owned()?.into(), PendingFile(FileEnd::Stream)));
    }
    if is_stream(path) {
        return Ok((open_stream(path, control)?, PendingFile(FileEnd::Stream)));
    }
    // A link stays one, and its target is replaced.
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match unnamed(folder_of(&path)) {
        Ok(file) => Ok((file, PendingFile(FileEnd::Unnamed(path)))),
        Err(_) => {
            let builder = Builder::new().permissions(Permissions::from_mode(MODE)).tempfile_in(folder_of(&path));
            let (file, named) = builder?.into_parts();
            Ok((file, PendingFile(FileEnd::Named(named, path))))
        }
    }
}

fn open_stream(path: &Path, control: &Control) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::NOCTTY;
    if !std::fs::metadata(path)?.file_type().is_fifo() {
        return Ok(rustix::fs::open(path, flags, Mode::empty())?.into());
    }
    // Opening one that blocks would wait for a reader, and hear no stop.
    loop {
        match rustix::fs::open(path, flags | OFlags::NONBLOCK, Mode::empty()) {
            Err(Errno::NXIO) if control.stopped() => return Err(io::Error::other("nobody reads it")),
            Err(Errno::NXIO) => std::thread::sleep(STOP_CHECK),
            opened => {
                let file = opened?;
                rustix::fs::fcntl_setfl(&file, OFlags::empty())?;
                return Ok(file.into());
            }
        }
    }
}

impl PendingFile {
    /// Puts `file` in its place; a file there is replaced.
    ///
    /// # Errors
    /// When it can't be moved there.
    pub fn put(self, file: &File) -> io::Result<()> {
        let (named, path) = match self.0 {
            FileEnd::Stream => return Ok(()),
            FileEnd::Named(named, path) => (named, path),
            FileEnd::Unnamed(path) => (name(file, folder_of(&path))?, path),
        };
        named.persist(&path).map_err(|error| error.error)
    }

    /// The same when `file` is on the disk.
    ///
    /// # Errors
    /// As [`PendingFile::put`], and when it can't be written to the disk.
    pub fn put_for_good(self, file: &File) -> io::Result<()> {
        if !matches!(self.0, FileEnd::Stream) {
            file.sync_all()?;
        }
        self.put(file)
    }
}

/// The folder that a path is in.
#[must_use]
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn is_dash(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn is_stream(path: &Path) -> bool {
    is_dash(path) || std::fs::metadata(path).is_ok_and(|there| streams(there.file_type()))
}

/// A disk is none: nobody means to overwrite one.
fn streams(kind: FileType) -> bool {
    kind.is_fifo() || kind.is_char_device() || kind.is_socket()
}

/// Identity of a file, by whatever name.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let path = if is_dash(path) { Path::new("/dev/stdin") } else { path };
    std::fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

/// A file without a name, of which nothing is left however the process ends.
fn unnamed(folder: &Path) -> io::Result<File> {
    // Without it there would be no way to a name at the end.
    std::fs::metadata(OPEN_FILES)?;
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::from_raw_mode(MODE))?.into())
}

/// Gives it a name that nothing else has; only a named file can be moved onto another.
fn name(file: &File, folder: &Path) -> io::Result<TempPath> {
    let itself = format!("{OPEN_FILES}/{}", file.as_raw_fd());
    let link = |path: &Path| Ok(rustix::fs::linkat(CWD, &itself, CWD, path, AtFlags::SYMLINK_FOLLOW)?);
    Ok(Builder::new().make_in(folder, link)?.into_temp_path())
}

//! A file that appears whole at the end, or not at all, and leaves nothing beside it however the process ends.

use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use std::fs::{File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempPath};

/// As any new file: the umask decides, where a temporary file would be the owner's alone.
const MODE: u32 = 0o666;

/// Where an open file without a name is found.
const OPEN_FILES: &str = "/proc/self/fd";

/// Where a file that [`create`] made is going to be.
pub struct Place {
    /// Where the file system has no files without a name, the one that it has until the end.
    named: Option<TempPath>,
    path: PathBuf,
}

/// Makes an empty file, which [`Place::put`] puts at `path` when it is written.
pub fn create(path: &Path) -> io::Result<(File, Place)> {
    let (file, named) = match unnamed(folder_of(path)) {
        Ok(file) => (file, None),
        Err(_) => {
            let builder = Builder::new().permissions(Permissions::from_mode(MODE)).tempfile_in(folder_of(path));
            let (file, named) = builder?.into_parts();
            (file, Some(named))
        }
    };
    Ok((file, Place { named, path: path.to_owned() }))
}

impl Place {
    /// Puts `file` where it belongs; what is there is replaced.
    pub fn put(self, file: &File) -> io::Result<()> {
        let named = match self.named {
            Some(named) => named,
            None => name(file, folder_of(&self.path))?,
        };
        named.persist(&self.path).map_err(|error| error.error)
    }
}

/// Whether something is at `path` that must not be replaced: a folder would refuse it, and a device would not survive it.
pub fn is_no_file(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|target| !target.is_file())
}

/// The folder that a path is in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file without a name, of which nothing is left however the process ends.
fn unnamed(folder: &Path) -> io::Result<File> {
    // Without it there would be no way to a name at the end.
    std::fs::metadata(OPEN_FILES)?;
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    Ok(rustix::fs::open(folder, flags, Mode::from_raw_mode(MODE))?.into())
}

/// Gives it a name that nothing else has; only a name can be moved onto what is there.
fn name(file: &File, folder: &Path) -> io::Result<TempPath> {
    let itself = format!("{OPEN_FILES}/{}", file.as_raw_fd());
    let link = |path: &Path| Ok(rustix::fs::linkat(CWD, &itself, CWD, path, AtFlags::SYMLINK_FOLLOW)?);
    Ok(Builder::new().make_in(folder, link)?.into_temp_path())
}

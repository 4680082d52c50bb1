//! Every step on the disk, and the locks on files.

use rorqual_digest::{Algorithm, Digest};
use rustix::fs::{FlockOperation, OFlags, flock};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Called with its name before each step that changes the disk or the index; an error stands for
/// the step's own failure. Tests fail or end the process there.
pub type StepHook = Arc<dyn Fn(&'static str) -> io::Result<()> + Send + Sync>;

/// Folder of a store, and the changes of its files.
#[derive(Clone)]
pub(crate) struct Disk {
    dir: PathBuf,
    pub(crate) fsync: bool,
    hook: Option<StepHook>,
}

/// Result of asking for a file's exclusive lock.
pub(crate) enum Lock {
    Held(File),
    /// Somebody else holds it.
    Busy,
    /// There is no such file.
    Missing,
}

impl Disk {
    pub(crate) fn new(dir: PathBuf, fsync: bool, hook: Option<StepHook>) -> Self {
        Self { dir, fsync, hook }
    }

    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.dir.join("index.sqlite")
    }

    /// An index that is not complete yet.
    pub(crate) fn new_index(&self) -> PathBuf {
        self.dir.join("index.new")
    }

    pub(crate) fn tmp(&self) -> PathBuf {
        self.dir.join("tmp")
    }

    pub(crate) fn parts(&self) -> PathBuf {
        self.dir.join("parts")
    }

    pub(crate) fn blobs(&self) -> PathBuf {
        self.dir.join("blobs")
    }

    pub(crate) fn lock(&self) -> PathBuf {
        self.dir.join("lock")
    }

    /// Every process that has the store open holds its shared lock.
    pub(crate) fn in_use(&self) -> PathBuf {
        self.dir.join("in-use")
    }

    pub(crate) fn blob(&self, digest: &Digest) -> PathBuf {
        let hex = digest.to_string();
        self.algorithm_dir(digest.algorithm()).join(&hex[..2]).join(hex)
    }

    pub(crate) fn algorithm_dir(&self, algorithm: Algorithm) -> PathBuf {
        self.blobs().join(algorithm.name())
    }

    /// Tells that a step is about to be done.
    pub(crate) fn step(&self, name: &'static str) -> io::Result<()> {
        self.hook.as_ref().map_or(Ok(()), |hook| hook(name))
    }

    pub(crate) fn make_dir(&self, path: &Path) -> io::Result<()> {
        self.step("make folder")?;
        std::fs::create_dir_all(path)
    }

    /// A new file that this process has locked.
    pub(crate) fn create(&self, path: &Path) -> io::Result<File> {
        self.step("create")?;
        // Read and write: the hash may be taken from it, and another file system may have to be
        // copied from.
        OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
    }

    /// Takes the exclusive lock of a file, without waiting.
    pub(crate) fn try_lock(&self, path: &Path) -> io::Result<Lock> {
        let file = match open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Lock::Missing),
            Err(error) => return Err(error),
        };
        if !try_exclusive(&file)? {
            return Ok(Lock::Busy);
        }
        // It may have been unlinked, or replaced, between the two calls.
        Ok(if same_file(&file, path)? { Lock::Held(file) } else { Lock::Missing })
    }

    /// Opens a file with a shared lock; `None` when it is not there (any more).
    pub(crate) fn open_shared(&self, path: &Path) -> io::Result<Option<File>> {
        let file = match open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        wait_for(&file, FlockOperation::LockShared)?;
        Ok((file.metadata()?.nlink() > 0).then_some(file))
    }

    pub(crate) fn sync(&self, file: &File) -> io::Result<()> {
        self.step("sync")?;
        if self.fsync { file.sync_all() } else { Ok(()) }
    }

    pub(crate) fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.step("sync folder")?;
        if self.fsync { open(path)?.sync_all() } else { Ok(()) }
    }

    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step("rename")?;
        std::fs::rename(from, to)
    }

    /// Removes a file; it need not be there.
    pub(crate) fn unlink(&self, path: &Path) -> io::Result<()> {
        self.step("unlink")?;
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    pub(crate) fn make_read_only(&self, file: &File) -> io::Result<()> {
        self.step("make read-only")?;
        file.set_permissions(Permissions::from_mode(0o444))
    }
}

/// Opens a file or a folder for reading, and nothing that would keep the opener waiting (a FIFO) or
/// never end.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).custom_flags(OFlags::NONBLOCK.bits().cast_signed()).open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() || kind.is_dir() { Ok(file) } else { Err(io::Error::other("is not a plain file")) }
}

/// A file that is there for its lock; made where it is missing if it may be `written`.
pub(crate) fn open_lock(path: &Path, written: bool) -> io::Result<File> {
    if written { OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path) } else { open(path) }
}

/// Waits for a lock on an open file.
pub(crate) fn wait_for(file: &File, operation: FlockOperation) -> io::Result<()> {
    loop {
        match flock(file, operation) {
            Err(rustix::io::Errno::INTR) => {}
            result => return result.map_err(Into::into),
        }
    }
}

/// Takes the exclusive lock of an open file if nobody has any.
pub(crate) fn try_exclusive(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK | rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Device and inode of an open file, whatever its name.
fn identity(metadata: &std::fs::Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Device and inode of the file at `path`, if any.
pub(crate) fn identity_at(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|metadata| identity(&metadata))
}

/// True if `path` names this open file.
pub(crate) fn same_file(file: &File, path: &Path) -> io::Result<bool> {
    match std::fs::symlink_metadata(path) {
        Ok(metadata) => Ok(identity(&metadata) == identity(&file.metadata()?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

//! `FILE.part`, which becomes `FILE` or stays to be gone on from.
//!
//! The process that works on it holds its lock. A part without a sidecar belongs to another program
//! and is not touched.

use crate::error::{FetchError, FetchErrorKind};
use crate::ranges::Ranges;
use crate::setting::OUTPUT;
use crate::sidecar::{Sidecar, SidecarRecord, SidecarState, Validator, with_suffix};
use rorqual_pipe::escaped_path;
use rorqual_pipe::setting::FORCE;
use rustix::fs::{FallocateFlags, OFlags, RenameFlags};
use rustix::io::Errno;
use std::fs::{File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The part of one target, locked.
#[derive(Debug)]
pub(crate) struct PartFile {
    target: PathBuf,
    replace: bool,
    pub(crate) path: PathBuf,
    pub(crate) ledger: Arc<Ledger>,
}

/// The part's file and its sidecar.
#[derive(Debug)]
pub(crate) struct Ledger {
    pub(crate) file: File,
    sidecar: Sidecar,
    record: Mutex<SidecarRecord>,
}

impl Ledger {
    pub(crate) fn record(&self) -> MutexGuard<'_, SidecarRecord> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the sidecar, before any byte of the file.
    pub(crate) fn adopt(&self, validator: Option<&Validator>, size_bytes: Option<u64>) -> Result<(), FetchError> {
        let mut record = self.record();
        record.validator = validator.cloned();
        record.size_bytes = size_bytes;
        self.sidecar.write(&record)
    }

    /// Flushes the part, and then claims `done`.
    pub(crate) fn keep(&self, done: &Ranges) -> Result<(), FetchError> {
        self.file.sync_data().map_err(|cause| FetchError::local("cannot flush the part", &cause))?;
        let mut record = self.record();
        record.set_done(done);
        self.sidecar.write(&record)
    }
}

impl PartFile {
    /// Opens or creates the part beside `target`. Its record's claims hold for `url` and the file
    /// as it is.
    ///
    /// # Errors
    /// When the target can't be written (or exists, without `replace`), or another fetch works on
    /// it.
    pub(crate) fn open(target: &Path, url: &str, replace: bool) -> Result<Self, FetchError> {
        let path = with_suffix(target, ".part");
        let sidecar = Sidecar::new(&path);
        check_target(target, replace).inspect_err(|_| {
            // A fetch that was killed between its rename and its last step has left this.
            let is_record = || sidecar.read().is_ok_and(|found| !matches!(found, SidecarState::Foreign));
            if !path.exists() && is_record() {
                let _ = sidecar.remove();
            }
        })?;
        // Before there is a part that would be ours.
        if matches!(sidecar.read()?, SidecarState::Foreign) {
            return Err(foreign(&with_suffix(&path, ".json"), "is no record of a fetch"));
        }
        let file = lock(&path, target)?;
        let length = file.metadata().map_err(|cause| cannot("read", &path, &cause))?.len();
        let record = match sidecar.read()? {
            SidecarState::Nothing if length > 0 => {
                let name = escaped_path(&path);
                return Err(foreign(&path, &format!("is there without {name}.json, so it is not the part of a fetch")));
            }
            SidecarState::Record(record) if record.url == url && record.validator.is_some() => Some(record),
            _ => None,
        };
        let fresh = record.is_none();
        let mut record = record.unwrap_or_else(|| SidecarRecord::new(url));
        // Bytes that were cut off since are not there any more.
        let mut done = record.done();
        done.remove(&(length.min(record.size_bytes.unwrap_or(u64::MAX))..u64::MAX));
        record.set_done(&done);
        let ledger = Arc::new(Ledger { file, sidecar, record: Mutex::new(record) });
        let part = Self { target: target.to_owned(), replace, path, ledger };
        if fresh {
            part.reset()?;
        }
        Ok(part)
    }

    /// Throws everything away, so that a crash in between can't leave claims of bytes that are
    /// gone.
    pub(crate) fn reset(&self) -> Result<(), FetchError> {
        {
            let mut record = self.ledger.record();
            *record = SidecarRecord::new(&record.url);
            self.ledger.sidecar.write(&record)?;
        }
        self.sync_directory()?;
        self.ledger.file.set_len(0).map_err(|cause| cannot("empty", &self.path, &cause))
    }

    /// Takes the room for the whole file now, rather than to fail at its end. File systems that
    /// can't do without.
    pub(crate) fn reserve(&self, size_bytes: u64) -> Result<(), FetchError> {
        if size_bytes == 0 {
            return Ok(());
        }
        match rustix::fs::fallocate(&self.ledger.file, FallocateFlags::KEEP_SIZE, 0, size_bytes) {
            Err(cause @ (Errno::NOSPC | Errno::FBIG | Errno::DQUOT)) => {
                let what = format!("{}: no room for the {size_bytes} bytes that the server announces", escaped_path(&self.path));
                Err(FetchError::local(what, &io::Error::from(cause)))
            }
            _ => Ok(()),
        }
    }

    /// The end: cut to `size_bytes`, flushed, renamed, and the directory flushed.
    pub(crate) fn finish(&self, size_bytes: u64) -> Result<(), FetchError> {
        let flushed = self.ledger.file.set_len(size_bytes).and_then(|()| self.ledger.file.sync_all());
        flushed.map_err(|cause| cannot("flush", &self.path, &cause))?;
        self.rename()?;
        self.sync_directory()?;
        self.ledger.sidecar.remove().map_err(|cause| cannot("remove", &with_suffix(&self.path, ".json"), &cause))
    }

    /// The file with its lock, which ends when both handles are closed.
    pub(crate) fn file(&self) -> Result<Arc<File>, FetchError> {
        let again = self.ledger.file.try_clone().map(Arc::new);
        again.map_err(|cause| cannot("open", &self.target, &cause))
    }

    fn rename(&self) -> Result<(), FetchError> {
        check_target(&self.target, self.replace)?;
        let flags = if self.replace { RenameFlags::empty() } else { RenameFlags::NOREPLACE };
        let here = rustix::fs::CWD;
        let renamed = match rustix::fs::renameat_with(here, &self.path, here, &self.target, flags) {
            Err(Errno::EXIST) => return Err(exists(&self.target)),
            // A file system without the flag; the check above has to do.
            Err(Errno::INVAL | Errno::NOSYS) => std::fs::rename(&self.path, &self.target),
            other => other.map_err(io::Error::from),
        };
        renamed.map_err(|cause| cannot("rename the finished part to", &self.target, &cause))
    }

    fn sync_directory(&self) -> Result<(), FetchError> {
        let parent = self.target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let directory = parent.unwrap_or(Path::new("."));
        let flushed = File::open(directory).and_then(|directory| directory.sync_all());
        flushed.map_err(|cause| cannot("flush", directory, &cause))
    }

    /// The rest after a failure: the part and how much of it is claimed, or nothing at all when
    /// nothing is, or no validator could tell that the file is still the same.
    pub(crate) fn leave(&self) -> Option<(PathBuf, u64)> {
        let (kept_bytes, is_resumable) = {
            let record = self.ledger.record();
            (record.done().bytes(), record.validator.is_some())
        };
        if kept_bytes > 0 && is_resumable {
            return Some((self.path.clone(), kept_bytes));
        }
        let _ = std::fs::remove_file(&self.path);
        let _ = self.ledger.sidecar.remove();
        None
    }
}

/// Only a plain file may be replaced, and only when that was asked for.
fn check_target(target: &Path, replace: bool) -> Result<(), FetchError> {
    let kind = match std::fs::symlink_metadata(target) {
        Ok(metadata) => metadata.file_type(),
        Err(cause) if cause.kind() == ErrorKind::NotFound => return Ok(()),
        Err(cause) => return Err(cannot("write", target, &cause)),
    };
    let wrong = |what: &str| Err(FetchError::new(FetchErrorKind::Local, format!("{}: {what}", escaped_path(target))));
    match () {
        () if kind.is_dir() => wrong("is a directory; name the file in it"),
        () if kind.is_symlink() => wrong("is a symbolic link; name the file that it points at"),
        () if !kind.is_file() => wrong(&format!("is not a plain file; write to it by {OUTPUT} - and a redirection")),
        () if !replace => Err(exists(target)),
        () => Ok(()),
    }
}

fn lock(path: &Path, target: &Path) -> Result<File, FetchError> {
    loop {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let opened = options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed()).open(path);
        let file = opened.map_err(|cause| match Errno::from_io_error(&cause) {
            Some(Errno::LOOP) => {
                FetchError::new(FetchErrorKind::Local, format!("{}: is a symbolic link; remove it", escaped_path(path)))
            }
            _ => cannot("create", path, &cause),
        })?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(FetchError::new(
                    FetchErrorKind::Local,
                    format!("{}: another fetch is at work on it", escaped_path(target)),
                ));
            }
            Err(TryLockError::Error(cause)) => return Err(cannot("lock", path, &cause)),
        }
        // The former holder of the lock may have renamed or removed the file meanwhile.
        let ours = file.metadata().map_err(|cause| cannot("read", path, &cause))?;
        let same = |there: Metadata| (there.dev(), there.ino()) == (ours.dev(), ours.ino());
        if std::fs::symlink_metadata(path).is_ok_and(same) {
            return Ok(file);
        }
    }
}

fn cannot(what: &str, path: &Path, cause: &io::Error) -> FetchError {
    FetchError::local(format!("{}: cannot {what} it", escaped_path(path)), cause)
}

fn exists(target: &Path) -> FetchError {
    FetchError::new(FetchErrorKind::Local, format!("{}: exists; {FORCE} replaces it", escaped_path(target)))
}

/// The error of a file that is not ours.
fn foreign(path: &Path, why: &str) -> FetchError {
    FetchError::new(FetchErrorKind::Local, format!("{}: {why}; move it away", escaped_path(path)))
}

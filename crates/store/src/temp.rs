//! A file that is being written, and ends with its writer.

use crate::disk::{Disk, Lock, same_file, try_exclusive};
use crate::index::Index;
use crate::store::{ExclusiveLock, Store};
use rorqual_pipe::{Error, ErrorClass};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Tells the temporary files of one process apart.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// A locked file of `tmp/`; removed when dropped, with its reserved room.
pub(crate) struct Temp {
    store: Store,
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) file: Arc<File>,
    /// It was renamed: nothing is left to remove.
    pub(crate) placed: bool,
    /// Kept after a failure, for its owner.
    keep: bool,
}

impl Temp {
    pub(crate) fn new(store: &Store) -> Result<Self, Error> {
        let disk = &store.inner.disk;
        loop {
            let name = format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
            let path = disk.tmp().join(&name);
            match create_locked(disk, &path) {
                Ok(Some(file)) => {
                    return Ok(Self { store: store.clone(), name, path, file: Arc::new(file), placed: false, keep: false });
                }
                // Of another process with our number: an earlier one, or one in another container.
                Ok(None) => {}
                Err(cause) => return Err(Error::io(path.to_string_lossy(), "cannot create", cause)),
            }
        }
    }

    /// A file that somebody else wrote, at `path` as far as they know.
    pub(crate) fn of_part(store: &Store, path: &Path, file: Arc<File>) -> Result<Self, Error> {
        let shown = path.to_string_lossy();
        let failed = |cause| Error::io(&*shown, "cannot open", cause);
        if !try_exclusive(&file).map_err(failed)? {
            return Err(Error::new(ErrorClass::Io, shown, "somebody else is working on it"));
        }
        if !same_file(&file, path).map_err(failed)? {
            return Err(replaced(path));
        }
        // No reservation has a name like that.
        Ok(Self { store: store.clone(), name: String::new(), path: path.to_owned(), file, placed: false, keep: true })
    }

    /// It was renamed to `blob`, unless somebody put another file at its path just before: that one
    /// goes back.
    pub(crate) fn check_placed(&mut self, blob: &Path) -> Result<(), Error> {
        let failed = |cause| Error::io(blob.to_string_lossy(), "cannot examine", cause);
        if same_file(&self.file, blob).map_err(failed)? {
            self.placed = true;
            return Ok(());
        }
        self.store.inner.disk.rename(blob, &self.path).map_err(failed)?;
        Err(replaced(&self.path))
    }

    /// Its bytes are an entry, here or elsewhere.
    pub(crate) fn done(&mut self) {
        self.keep = false;
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if self.placed || self.keep {
            return;
        }
        // A failure here is left to the next gc, or to the next put that needs the space.
        if same_file(&self.file, &self.path).unwrap_or(false) {
            let _ = self.store.inner.disk.unlink(&self.path);
        }
        let reserved = self.store.index().reserved_for(&self.name);
        if reserved.is_ok_and(|reserved| reserved.is_some())
            && let Ok(turn) = self.store.lock_exclusive()
        {
            let _ = turn.transaction(false, |index| index.end_reservation(&self.name));
        }
    }
}

fn replaced(path: &Path) -> Error {
    Error::new(ErrorClass::Io, path.to_string_lossy(), "somebody put another file there meanwhile; fetch it again")
}

/// `None` when the name is taken, or a gc was faster than our lock.
fn create_locked(disk: &Disk, path: &Path) -> io::Result<Option<File>> {
    let file = match disk.create(path) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => return Ok(None),
        created => created?,
    };
    let locked = try_exclusive(&file)? && path.exists();
    Ok(locked.then_some(file))
}

/// Ends the reservations of writers that are gone, and removes their files.
pub(crate) fn sweep_reservations(turn: &ExclusiveLock<'_>) -> Result<(), Error> {
    let mut after = String::new();
    loop {
        let page = turn.reservations(&after)?;
        for temp in &page {
            sweep_reservation(turn, temp)?;
        }
        match page.into_iter().next_back() {
            Some(last) => after = last,
            None => return Ok(()),
        }
    }
}

fn sweep_reservation(turn: &ExclusiveLock<'_>, temp: &str) -> Result<(), Error> {
    let path = turn.disk.tmp().join(temp);
    match turn.disk.try_lock(&path).map_err(|cause| turn.failed("examine tmp/", cause))? {
        Lock::Busy => return Ok(()),
        Lock::Held(_file) => turn.disk.unlink(&path).map_err(|cause| turn.failed("remove from tmp/", cause))?,
        Lock::Missing => {}
    }
    turn.transaction(false, |index: &Index<'_>| index.end_reservation(temp))
}

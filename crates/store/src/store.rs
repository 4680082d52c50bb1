//! A store that is open, and turns at changing it.

use crate::disk::{self, Disk, StepHook, wait_for};
use crate::entry::{StoreEntry, Usage};
use crate::index::{Index, schema};
use crate::limits::{OPERATIONS_MAX_DEFAULT, STORE_BYTES_MAX_DEFAULT, TOUCH_AFTER};
use crate::setting::GC_REBUILD;
use rorqual_digest::{Algorithm, Digest};
use rorqual_pipe::{Error, ErrorClass, Semaphore};
use rusqlite::Connection;
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Gives the milliseconds since 1970.
pub type StoreClock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Settings of a store in this process.
#[derive(Clone)]
pub struct StoreSettings {
    /// Its folder.
    pub dir: PathBuf,
    /// Wait until each put is on the disk. Without it a put is faster, and entries may be gone or
    /// damaged after a power cut (never after a kill); [`Store::verify`] finds them. Default: true.
    pub fsync: bool,
    /// Puts and verifications at the same time. Default: 16.
    pub operations_max: usize,
    /// Age of the recorded last use from which a read records it anew. Default: a minute.
    pub touch_after: Duration,
    /// The wall clock, for tests.
    pub clock: Option<StoreClock>,
    /// Faults, for tests.
    pub hook: Option<StepHook>,
}

impl StoreSettings {
    /// The defaults for a store in `dir`.
    #[must_use]
    pub fn new(dir: impl Into<PathBuf>) -> Self {
        let (dir, operations_max) = (dir.into(), OPERATIONS_MAX_DEFAULT);
        Self { dir, fsync: true, operations_max, touch_after: TOUCH_AFTER, clock: None, hook: None }
    }

    pub(crate) fn disk(&self) -> Disk {
        Disk::new(self.dir.clone(), self.fsync, self.hook.clone())
    }
}

/// An open store; clones share it. Threads may use it side by side, and processes may open the same
/// one.
#[derive(Clone)]
pub struct Store {
    pub(crate) inner: Arc<StoreInner>,
}

pub(crate) struct StoreInner {
    pub(crate) disk: Disk,
    pub(crate) gate: Semaphore,
    pub(crate) touch_after: Duration,
    algorithm: Algorithm,
    clock: Option<StoreClock>,
    index_path: PathBuf,
    connection: Mutex<Connection>,
    /// Threads of this process wait here before they wait for other processes: they would share one
    /// `flock`.
    order: Mutex<()>,
    /// `None` where we may only read.
    lock: Option<File>,
    /// Shared by all processes that have the store open, so that none puts another index in its
    /// place.
    in_use: File,
}

impl Drop for StoreInner {
    fn drop(&mut self) {
        if self.lock.is_some() {
            let connection = self.connection.get_mut().unwrap_or_else(PoisonError::into_inner);
            schema::before_close(connection, &self.index_path);
        }
        // A process that is being started at this moment has a copy of the file until it runs its
        // own program, and closing ours ends no lock.
        let _ = flock(&self.in_use, FlockOperation::Unlock);
    }
}

/// The sole right, among all processes, to change the store; until dropped.
pub(crate) struct ExclusiveLock<'a> {
    index: Index<'a>,
    lock: &'a File,
    _order: MutexGuard<'a, ()>,
    pub(crate) disk: &'a Disk,
    pub(crate) now_ms: u64,
}

impl Store {
    /// Opens a store that exists. Where the process may not write, everything that only reads
    /// works.
    ///
    /// # Errors
    /// When there is none, or its index is damaged or of a newer version.
    pub fn open(settings: &StoreSettings) -> Result<Self, Error> {
        let disk = settings.disk();
        let name = disk.dir().to_string_lossy().into_owned();
        let index_path = disk.index();
        let failed = |cause: io::Error| match cause.kind() {
            ErrorKind::NotFound => {
                Error::new(ErrorClass::Io, &name, "there is no store; `rorqual store init` or a put makes one")
            }
            _ => Error::io(&name, "cannot open the store", cause),
        };
        if !index_path.exists() {
            return Err(failed(ErrorKind::NotFound.into()));
        }
        let in_use = disk::open_lock(&disk.in_use(), false).map_err(failed)?;
        wait_for(&in_use, FlockOperation::LockShared).map_err(failed)?;
        let lock = match disk::open_lock(&disk.lock(), true) {
            Ok(lock) => Some(lock),
            Err(error) if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem) => None,
            Err(error) => return Err(failed(error)),
        };
        let connection = schema::open(&index_path, lock.is_some())?;
        let inner = StoreInner {
            algorithm: algorithm_of(&connection, &index_path)?,
            gate: Semaphore::new(settings.operations_max),
            touch_after: settings.touch_after,
            clock: settings.clock.clone(),
            connection: Mutex::new(connection),
            order: Mutex::new(()),
            lock,
            in_use,
            index_path,
            disk,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Opens a store, and makes it where there is none: with `algorithm` (SHA-256 unless given;
    /// SHA-256 and BLAKE3 are offered) and room for `bytes_max` ([`STORE_BYTES_MAX_DEFAULT`] unless
    /// given). A bound that is given is set anew in a store that exists.
    ///
    /// # Errors
    /// When it can't be made, or exists with another algorithm.
    pub fn init(settings: &StoreSettings, algorithm: Option<Algorithm>, bytes_max: Option<u64>) -> Result<Self, Error> {
        let wanted = algorithm.unwrap_or(Algorithm::Sha256);
        if !matches!(wanted, Algorithm::Sha256 | Algorithm::Blake3) {
            return Err(Error::new(ErrorClass::Limit, wanted.name(), "a store is addressed by sha256 or blake3"));
        }
        make(&settings.disk(), wanted, bytes_max.unwrap_or(STORE_BYTES_MAX_DEFAULT))?;
        let store = Self::open(settings)?;
        if let Some(asked) = algorithm.filter(|asked| *asked != store.algorithm()) {
            let message = format!("is addressed by {}, and can't be by {asked} as well: make another store", store.algorithm());
            return Err(Error::new(ErrorClass::Limit, store.dir().to_string_lossy(), message));
        }
        if let Some(bytes_max) = bytes_max {
            store.lock_exclusive()?.transaction(true, |index| index.set_bytes_max(bytes_max))?;
        }
        Ok(store)
    }

    /// Algorithm of its digests.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.inner.algorithm
    }

    /// Its folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        self.inner.disk.dir()
    }

    /// The file of an entry. It may be evicted at any time, unless a lease or a
    /// [`EntryReader`](crate::Reader) keeps it.
    #[must_use]
    pub fn path(&self, digest: &Digest) -> PathBuf {
        self.inner.disk.blob(digest)
    }

    /// All about an entry.
    ///
    /// # Errors
    /// When the index can't be read.
    pub fn entry(&self, digest: &Digest) -> Result<Option<StoreEntry>, Error> {
        self.index().entry(digest, self.now_ms())
    }

    /// Gives each entry to `visit`, in the order of the digests and with a fixed amount of memory.
    /// Entries that come or go meanwhile may or may not be among them.
    ///
    /// # Errors
    /// When the index can't be read, and the first error of `visit`.
    pub fn for_each(&self, mut visit: impl FnMut(&StoreEntry) -> Result<(), Error>) -> Result<(), Error> {
        let mut after = None;
        loop {
            let (entries, next) = self.entries(after.as_ref())?;
            entries.iter().try_for_each(&mut visit)?;
            match next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// The next entries after `after` in the order of their digests, and the digest to go on from,
    /// `None` at the end. At most [`PAGE_ROWS`](crate::limits::PAGE_ROWS).
    ///
    /// # Errors
    /// When the index can't be read.
    pub fn entries(&self, after: Option<&Digest>) -> Result<(Vec<StoreEntry>, Option<Digest>), Error> {
        let page = self.index().page(after)?;
        let entries = page.iter().filter_map(|(digest, _)| self.entry(digest).transpose()).collect::<Result<_, Error>>()?;
        Ok((entries, page.last().map(|(last, _)| *last)))
    }

    /// Totals of the store.
    ///
    /// # Errors
    /// When the index can't be read.
    pub fn usage(&self) -> Result<Usage, Error> {
        self.index().usage(self.now_ms())
    }

    /// True if this process may only read.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.inner.lock.is_none()
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.inner.clock.as_ref().map_or_else(system_ms, |clock| clock())
    }

    /// The index, for reading. Others' changes are seen between two questions.
    pub(crate) fn index(&self) -> Index<'_> {
        let inner = &*self.inner;
        // A poisoned lock is taken all the same: a transaction that was left open by a panic was
        // rolled back by its guard.
        let connection = inner.connection.lock().unwrap_or_else(PoisonError::into_inner);
        Index { connection, path: &inner.index_path, algorithm: inner.algorithm }
    }

    /// Waits for a turn at changing the store.
    pub(crate) fn lock_exclusive(&self) -> Result<ExclusiveLock<'_>, Error> {
        let inner = &*self.inner;
        let failed = |cause| Error::io(self.dir().to_string_lossy(), "cannot lock the store", cause);
        let read_only = || Error::new(ErrorClass::Io, self.dir().to_string_lossy(), "the store may not be written here");
        let lock = inner.lock.as_ref().ok_or_else(read_only)?;
        inner.disk.step("lock").map_err(failed)?;
        let order = inner.order.lock().unwrap_or_else(PoisonError::into_inner);
        wait_for(lock, FlockOperation::LockExclusive).map_err(failed)?;
        Ok(ExclusiveLock { index: self.index(), lock, _order: order, disk: &inner.disk, now_ms: self.now_ms() })
    }
}

impl ExclusiveLock<'_> {
    /// Does `work` whole or not at all. With `durable` it survives a power cut once this has
    /// returned.
    pub(crate) fn transaction<T>(&self, durable: bool, work: impl FnOnce(&Index<'_>) -> Result<T, Error>) -> Result<T, Error> {
        let failed = |cause| self.index.write_failed(cause);
        let synchronous = match (self.disk.fsync, durable) {
            (true, true) => "FULL",
            (true, false) => "NORMAL",
            (false, _) => "OFF",
        };
        self.index.connection.pragma_update(None, "synchronous", synchronous).map_err(failed)?;
        self.step("begin")?;
        let guard = rusqlite::Transaction::new_unchecked(&self.index.connection, rusqlite::TransactionBehavior::Immediate)
            .map_err(failed)?;
        // Dropped without a commit, the guard rolls back.
        let done = work(&self.index)?;
        self.step("commit")?;
        guard.commit().map_err(failed)?;
        self.step("committed").map(|()| done)
    }

    pub(crate) fn step(&self, name: &'static str) -> Result<(), Error> {
        self.disk.step(name).map_err(|cause| self.failed(name, cause))
    }

    pub(crate) fn failed(&self, what: &str, cause: io::Error) -> Error {
        Error::io(self.disk.dir().to_string_lossy(), format!("cannot {what}"), cause)
    }
}

impl<'a> Deref for ExclusiveLock<'a> {
    type Target = Index<'a>;
    fn deref(&self) -> &Index<'a> {
        &self.index
    }
}

impl Drop for ExclusiveLock<'_> {
    fn drop(&mut self) {
        // The file stays open for the next turn. Should this fail, which Linux excludes, the
        // process's end unlocks it.
        let _ = wait_for(self.lock, FlockOperation::Unlock);
    }
}

/// Makes the folders and the index where they are missing. The index appears when it is complete.
fn make(disk: &Disk, algorithm: Algorithm, bytes_max: u64) -> Result<(), Error> {
    if disk.index().exists() {
        return Ok(());
    }
    let name = disk.dir().to_string_lossy();
    let failed = |cause| Error::io(&*name, "cannot make the store", cause);
    for dir in [disk.tmp(), disk.parts(), disk.blobs()] {
        disk.make_dir(&dir).map_err(failed)?;
    }
    disk::open_lock(&disk.in_use(), true).map_err(failed)?;
    let lock = disk::open_lock(&disk.lock(), true).map_err(failed)?;
    wait_for(&lock, FlockOperation::LockExclusive).map_err(failed)?;
    if disk.index().exists() {
        return Ok(());
    }
    if std::fs::read_dir(disk.blobs()).map_err(failed)?.next().is_some() {
        let message = format!("there are files but no index; {GC_REBUILD} makes one from them");
        return Err(Error::new(ErrorClass::Corrupt, &*name, message));
    }
    disk.step("make index").map_err(failed)?;
    schema::create(&disk.new_index(), algorithm, bytes_max, disk.fsync)?;
    // The log of an index that somebody has removed would be taken for this one's.
    schema::remove_index(&disk.index()).and_then(|()| disk.sync_dir(disk.dir()).map_err(failed))?;
    disk.rename(&disk.new_index(), &disk.index()).map_err(failed)?;
    disk.sync_dir(disk.dir()).map_err(failed)
}

fn algorithm_of(connection: &Connection, path: &Path) -> Result<Algorithm, Error> {
    let sql = "SELECT value FROM setting WHERE name = 'algorithm'";
    let name: String = connection
        .query_row(sql, [], |row| row.get(0))
        .map_err(|cause| crate::error::of_index(path, "cannot read the index", cause))?;
    let unknown = |_| Error::new(ErrorClass::Corrupt, path.to_string_lossy(), format!("unknown algorithm '{name}'"));
    name.parse().map_err(unknown)
}

fn system_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::{Store, StoreSettings};
    use crate::rebuild::rebuild;

    #[test]
    fn a_store_that_was_dropped_is_nobodys_although_a_process_that_starts_has_its_files() {
        let dir = tempfile::tempdir().unwrap();
        let settings = StoreSettings::new(dir.path());
        let store = Store::init(&settings, None, Some(1 << 20)).unwrap();
        assert!(rebuild(&settings, None).is_err(), "it is open");
        let copy = store.inner.in_use.try_clone().unwrap();
        drop(store);
        rebuild(&settings, None).unwrap();
        drop(copy);
    }
}

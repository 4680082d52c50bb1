//! Removal of files and rows that nobody needs.

use crate::disk::Lock;
use crate::evict::EvictionResult;
use crate::lease::forget_expired;
use crate::limits::PART_AGE_MAX;
use crate::store::{ExclusiveLock, Store};
use crate::temp::sweep_reservations;
use rorqual_digest::{Algorithm, Digest};
use rorqual_pipe::Error;
use std::fs::{DirEntry, ReadDir};
use std::io::{self, ErrorKind};
use std::path::Path;

/// Files and rows that a gc removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GcResult {
    /// Entries above the bound, where that was lowered.
    pub evicted: EvictionResult,
    /// Leases that had expired.
    pub leases: u64,
    /// Files without a row: a put or an eviction was killed.
    pub orphans: u64,
    /// Temporary files without a writer: a put was killed.
    pub temps: u64,
    /// Downloads that nobody has worked on for a week.
    pub parts: u64,
    /// Bytes of these three kinds of files.
    pub file_bytes: u64,
    /// Files among the blobs that no store writes; they are left alone.
    pub foreign: u64,
}

impl Store {
    /// Removes the files of processes that were killed, forgets leases that have expired, and
    /// evicts down to the bound. Others may go on using the store meanwhile. Memory and open files
    /// are bounded, whatever there is to remove.
    ///
    /// # Errors
    /// When a folder can't be read or something can't be removed; all that was removed by then
    /// stays removed. [`ErrorClass::Limit`](rorqual_pipe::ErrorClass::Limit) when more than the
    /// bound is leased or open.
    pub fn gc(&self) -> Result<GcResult, Error> {
        let mut collected = GcResult::default();
        {
            let turn = self.lock_exclusive()?;
            collected.leases = turn.transaction(false, |index| forget_expired(index, turn.now_ms))?;
            sweep_reservations(&turn)?;
        }
        self.clear(&self.inner.disk.tmp(), false, &mut collected)?;
        self.clear(&self.inner.disk.parts(), true, &mut collected)?;
        self.clear_orphans(&mut collected)?;
        let turn = self.lock_exclusive()?;
        collected.evicted = turn.make_room(0, None)?;
        let shrink = "PRAGMA wal_checkpoint(TRUNCATE)";
        // Readers may be in its way; the next one does it then.
        let _ = turn.connection.query_row(shrink, [], |_| Ok(()));
        Ok(collected)
    }

    /// Removes the files of a folder that nobody has locked, with `aged` only those that have not
    /// changed for long.
    fn clear(&self, folder: &Path, aged: bool, collected: &mut GcResult) -> Result<(), Error> {
        let failed = |cause| Error::io(folder.to_string_lossy(), "cannot clear", cause);
        let Some(files) = read_dir(folder).map_err(failed)? else { return Ok(()) };
        for file in files {
            let bytes = self.clear_file(&file.map_err(failed)?, aged).map_err(failed)?;
            if let Some(bytes) = bytes {
                *(if aged { &mut collected.parts } else { &mut collected.temps }) += 1;
                collected.file_bytes += bytes;
            }
        }
        Ok(())
    }

    fn clear_file(&self, file: &DirEntry, aged: bool) -> io::Result<Option<u64>> {
        let Lock::Held(held) = self.inner.disk.try_lock(&file.path())? else { return Ok(None) };
        let metadata = held.metadata()?;
        let age = metadata.modified()?.elapsed().unwrap_or_default();
        if !metadata.is_file() || (aged && age < PART_AGE_MAX) {
            return Ok(None);
        }
        self.inner.disk.unlink(&file.path())?;
        Ok(Some(metadata.len()))
    }

    fn clear_orphans(&self, collected: &mut GcResult) -> Result<(), Error> {
        each_blob(&self.inner.disk.algorithm_dir(self.algorithm()), self.algorithm(), |file, digest| {
            let Some(digest) = digest else {
                collected.foreign += 1;
                return Ok(());
            };
            if self.index().row(&digest)?.is_none() {
                // Looked at again in a turn: a put may be about to commit its row.
                let turn = self.lock_exclusive()?;
                if let Some(bytes) = clear_orphan(&turn, file, &digest)? {
                    collected.orphans += 1;
                    collected.file_bytes += bytes;
                }
            }
            Ok(())
        })
    }
}

fn clear_orphan(turn: &ExclusiveLock<'_>, file: &DirEntry, digest: &Digest) -> Result<Option<u64>, Error> {
    if turn.row(digest)?.is_some() {
        return Ok(None);
    }
    let Lock::Held(held) = turn.lock_blob(digest)? else { return Ok(None) };
    let bytes = held.metadata().map_err(|cause| Error::io(file.path().to_string_lossy(), "cannot examine", cause))?.len();
    turn.unlink_blob(digest)?;
    Ok(Some(bytes))
}

/// Gives every file below the folder of `algorithm` to `visit`, with the digest that it is named
/// by.
pub(crate) fn each_blob(
    folder: &Path,
    algorithm: Algorithm,
    mut visit: impl FnMut(&DirEntry, Option<Digest>) -> Result<(), Error>,
) -> Result<(), Error> {
    let failed = |cause| Error::io(folder.to_string_lossy(), "cannot read", cause);
    let Some(shards) = read_dir(folder).map_err(failed)? else { return Ok(()) };
    for shard in shards {
        let shard = shard.map_err(failed)?;
        let files = match read_dir(&shard.path()) {
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                visit(&shard, None)?;
                continue;
            }
            files => files.map_err(failed)?,
        };
        for file in files.into_iter().flatten() {
            let file = file.map_err(failed)?;
            visit(&file, digest_of(&file, &shard, algorithm))?;
        }
    }
    Ok(())
}

/// The digest that a blob is named by: in lower-case hexadecimal, in the folder of its first two
/// digits.
fn digest_of(file: &DirEntry, shard: &DirEntry, algorithm: Algorithm) -> Option<Digest> {
    let (name, shard) = (file.file_name().into_string().ok()?, shard.file_name().into_string().ok()?);
    Digest::parse(algorithm, &name).filter(|digest| digest.to_string() == name && name.get(..2) == Some(shard.as_str()))
}

fn read_dir(folder: &Path) -> io::Result<Option<ReadDir>> {
    match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        files => files.map(Some),
    }
}

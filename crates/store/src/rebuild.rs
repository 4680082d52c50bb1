//! A new index, from the files.

use crate::disk::{self, Disk, wait_for};
use crate::entry::Usage;
use crate::gc::each_blob;
use crate::index::schema;
use crate::limits::STORE_BYTES_MAX_DEFAULT;
use crate::store::{Store, StoreSettings};
use rorqual_digest::{Algorithm, Digest};
use rorqual_pipe::{Error, ErrorClass};
use rusqlite::{Connection, params};
use rustix::fs::FlockOperation;
use std::fs::DirEntry;
use std::time::UNIX_EPOCH;

/// Makes a new index from the files of a store, for when the old one is damaged; returns the totals
/// of the store. Names and leases are lost. The bound is `bytes_max`; without one it is
/// [`STORE_BYTES_MAX_DEFAULT`] or the size of all files, if that is more: the old bound is not
/// known any more, and the next gc must not evict for it. The order of use is that of the files'
/// times. Contents are not looked at: [`Store::verify`] does that.
///
/// # Errors
/// When another process has the store open, or files or folders can't be read or written.
pub fn rebuild(settings: &StoreSettings, bytes_max: Option<u64>) -> Result<Usage, Error> {
    let disk = settings.disk();
    let name = disk.dir().to_string_lossy().into_owned();
    let failed = |cause| Error::io(&name, "cannot rebuild the index", cause);
    let algorithm = algorithm_of_blobs(&disk)
        .ok_or_else(|| Error::new(ErrorClass::Io, &name, "there is no store: it has no folder blobs/"))?;
    let in_use = disk::open_lock(&disk.in_use(), true).map_err(failed)?;
    if !disk::try_exclusive(&in_use).map_err(failed)? {
        return Err(Error::new(ErrorClass::Io, &name, "other processes have the store open: end them first"));
    }
    let lock = disk::open_lock(&disk.lock(), true).map_err(failed)?;
    wait_for(&lock, FlockOperation::LockExclusive).map_err(failed)?;
    schema::create(&disk.new_index(), algorithm, bytes_max.unwrap_or(STORE_BYTES_MAX_DEFAULT), disk.fsync)?;
    fill(&disk, algorithm, bytes_max.is_none())?;
    // The old log must never be taken for the new index's.
    disk.step("remove index").map_err(failed)?;
    schema::remove_index(&disk.index()).and_then(|()| disk.sync_dir(disk.dir()).map_err(failed))?;
    disk.rename(&disk.new_index(), &disk.index()).and_then(|()| disk.sync_dir(disk.dir())).map_err(failed)?;
    drop((lock, in_use));
    Store::open(settings)?.usage()
}

fn algorithm_of_blobs(disk: &Disk) -> Option<Algorithm> {
    let used = [Algorithm::Sha256, Algorithm::Blake3].into_iter().find(|algorithm| disk.algorithm_dir(*algorithm).is_dir());
    used.or_else(|| disk.blobs().is_dir().then_some(Algorithm::Sha256))
}

/// Adds a row for each file, and with `widen` moves the bound to where they all fit, in one
/// transaction: nobody else sees this index yet.
fn fill(disk: &Disk, algorithm: Algorithm, widen: bool) -> Result<(), Error> {
    let path = disk.new_index();
    let failed = |cause| crate::error::of_index(&path, "cannot rebuild the index", cause);
    let connection = Connection::open(&path).map_err(failed)?;
    let transaction = connection.unchecked_transaction().map_err(failed)?;
    each_blob(&disk.algorithm_dir(algorithm), algorithm, |file, digest| {
        digest.map_or(Ok(()), |digest| add(&connection, file, &digest).map_err(failed))
    })?;
    if widen {
        let sql = "UPDATE setting SET value = max(value, (SELECT bytes FROM total)) WHERE name = 'bytes_max'";
        connection.execute(sql, []).map_err(failed)?;
    }
    transaction.commit().map_err(failed)
}

fn add(connection: &Connection, file: &DirEntry, digest: &Digest) -> rusqlite::Result<()> {
    // A file that is gone by now is no entry.
    let Ok(metadata) = file.metadata() else { return Ok(()) };
    let since = metadata.modified().ok().and_then(|modified| modified.duration_since(UNIX_EPOCH).ok());
    let modified_ms = since.map_or(1, |since| since.as_millis() as u64);
    let sql = "INSERT INTO entry (digest, bytes, stored_ms, accessed_ms, used) VALUES (?1, ?2, ?3, ?3, ?3)";
    connection.prepare_cached(sql)?.execute(params![digest.as_bytes(), metadata.len(), modified_ms]).map(drop)
}

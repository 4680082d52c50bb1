//! Reading an entry: an open file that keeps it from being evicted.

use crate::lease::{EntryLease, LeaseTerms};
use crate::setting::VERIFY_REPAIR;
use crate::store::Store;
use rorqual_digest::Digest;
use rorqual_pipe::{Error, ErrorClass, Operation};
use std::fs::File;

/// An open entry. While it exists, in whatever process, the entry stays.
#[derive(Debug)]
pub struct EntryReader {
    /// The file, at its start, with the shared lock that keeps the entry; clones of the handle
    /// share it.
    pub file: File,
    /// Its length.
    pub bytes: u64,
    /// Digest of the entry.
    pub digest: Digest,
    /// The lease that was asked for.
    pub lease: Option<EntryLease>,
}

impl EntryReader {
    /// Makes `target`, an empty file, share the entry's blocks on the disk; `false` where the file
    /// system can't, and then nothing was done.
    #[must_use]
    pub fn reflink(&self, target: &File) -> bool {
        #[cfg(target_os = "linux")]
        return rustix::fs::ioctl_ficlone(target, &self.file).is_ok();
        #[cfg(not(target_os = "linux"))]
        return false;
    }
}

impl Store {
    /// Opens an entry, and takes a lease on it if `lease` has terms for one; `None` when there is
    /// no such entry. It counts as a use, but the record of the last use is only written when it is
    /// older than [`StoreSettings::touch_after`](crate::Settings::touch_after).
    ///
    /// # Errors
    /// [`ErrorClass::Corrupt`] when the file is missing or has another length than it had; when it
    /// or the index can't be read; as [`LeaseTerms::check`].
    pub fn get(&self, digest: &Digest, lease: Option<&LeaseTerms<'_>>) -> Result<Option<EntryReader>, Error> {
        let operation = Operation::start("store.get");
        let result = self.open_entry(digest, lease);
        match &result {
            Ok(Some(reader)) => {
                operation.bytes(reader.bytes);
                operation.done();
            }
            Ok(None) => operation.failed("missing"),
            Err(error) => operation.failed(error.kind().name()),
        }
        result
    }

    fn open_entry(&self, digest: &Digest, terms: Option<&LeaseTerms<'_>>) -> Result<Option<EntryReader>, Error> {
        let lease = match terms {
            None => None,
            Some(terms) => match self.take_lease(digest, terms)? {
                None => return Ok(None),
                lease => lease,
            },
        };
        let reader = self.open_reader(digest)?.map(|reader| EntryReader { lease, ..reader });
        if reader.is_some() {
            self.note_use(digest)?;
        }
        Ok(reader)
    }

    /// Opens an entry without noting that it is used.
    pub(crate) fn open_reader(&self, digest: &Digest) -> Result<Option<EntryReader>, Error> {
        let Some(row) = self.index().row(digest)? else { return Ok(None) };
        let path = self.path(digest);
        let failed = |cause| Error::io(path.to_string_lossy(), "cannot open", cause);
        if let Some(file) = self.inner.disk.open_shared(&path).map_err(failed)? {
            return self.sized(file, digest, row.bytes).map(Some);
        }
        if self.is_read_only() {
            // Without a turn: evicted just now, or damaged.
            return if self.index().row(digest)?.is_none() { Ok(None) } else { Err(self.damaged(digest, "its file is missing")) };
        }
        // Evicted between the two, and perhaps put again: in a turn, row and file agree.
        let turn = self.lock_exclusive()?;
        let Some(row) = turn.row(digest)? else { return Ok(None) };
        match self.inner.disk.open_shared(&path).map_err(failed)? {
            Some(file) => self.sized(file, digest, row.bytes).map(Some),
            None => Err(self.damaged(digest, "its file is missing")),
        }
    }

    fn sized(&self, file: File, digest: &Digest, bytes: u64) -> Result<EntryReader, Error> {
        let metadata =
            file.metadata().map_err(|cause| Error::io(self.path(digest).to_string_lossy(), "cannot examine", cause))?;
        if metadata.len() != bytes {
            return Err(self.damaged(digest, &format!("its file has {} bytes instead of {bytes}", metadata.len())));
        }
        Ok(EntryReader { file, bytes, digest: *digest, lease: None })
    }

    fn damaged(&self, digest: &Digest, what: &str) -> Error {
        let message = format!("the entry is damaged: {what}; {VERIFY_REPAIR} removes it");
        Error::new(ErrorClass::Corrupt, self.path(digest).to_string_lossy(), message)
    }

    /// Records that an entry is used, if the record is old, by a clock that may have jumped either
    /// way.
    fn note_use(&self, digest: &Digest) -> Result<(), Error> {
        let now_ms = self.now_ms();
        let age_ms = self.index().row(digest)?.map_or(0, |row| row.accessed_ms.abs_diff(now_ms));
        if u128::from(age_ms) < self.inner.touch_after.as_millis() || self.is_read_only() {
            return Ok(());
        }
        let turn = self.lock_exclusive()?;
        turn.transaction(false, |index| index.touch(digest, now_ms))
    }
}

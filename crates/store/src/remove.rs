//! Ending entries by hand.

use crate::disk::Lock;
use crate::lease::running;
use crate::store::{ExclusiveLock, Store};
use rorqual_digest::Digest;
use rorqual_pipe::Error;

/// Result of removing an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removed {
    /// It is gone, with its names and leases.
    Done,
    /// It was not there.
    Missing,
    /// It stays, as so many leases are running on it.
    Leased(u64),
    /// It stays, as somebody has it open.
    Open,
}

impl Store {
    /// Removes an entry, unless it is leased or open. With `force` leases don't keep it; an open
    /// reader always does.
    ///
    /// # Errors
    /// When the index or the file can't be changed.
    pub fn remove(&self, digest: &Digest, force: bool) -> Result<Removed, Error> {
        self.lock_exclusive()?.remove(digest, force)
    }
}

impl ExclusiveLock<'_> {
    pub(crate) fn remove(&self, digest: &Digest, force: bool) -> Result<Removed, Error> {
        // Held until the file is unlinked, which comes after the commit.
        let mut held = None;
        let removed = self.transaction(true, |index| {
            if index.row(digest)?.is_none() {
                return Ok(Removed::Missing);
            }
            let leases = running(index, digest, self.now_ms)?;
            if leases > 0 && !force {
                return Ok(Removed::Leased(leases));
            }
            match self.lock_blob(digest)? {
                Lock::Busy => return Ok(Removed::Open),
                Lock::Held(file) => held = Some(file),
                Lock::Missing => {}
            }
            index.delete_entry(digest)?;
            Ok(Removed::Done)
        })?;
        if removed == Removed::Done {
            self.unlink_blob(digest)?;
        }
        drop(held);
        Ok(removed)
    }
}

//! Making room: the entry that was used longest ago goes first, unless it is leased or open.

use crate::disk::Lock;
use crate::index::Index;
use crate::limits::EVICT_BATCH;
use crate::setting::INIT_MAX_SIZE;
use crate::store::ExclusiveLock;
use crate::temp::sweep_reservations;
use rorqual_digest::Digest;
use rorqual_pipe::{Error, ErrorClass, Operation, format_size};
use rusqlite::params;
use std::fs::File;

/// Evicted entries.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EvictionResult {
    /// Number of entries.
    pub entries: u64,
    /// Sum of their lengths.
    pub bytes: u64,
}

impl EvictionResult {
    pub(crate) fn add(&mut self, other: Self) {
        self.entries += other.entries;
        self.bytes += other.bytes;
    }
}

/// A row that may go.
struct EvictionCandidate {
    digest: Digest,
    bytes: u64,
    used: u64,
}

/// A pass through the entries from the one that was used longest ago.
#[derive(Default)]
struct EvictionScan {
    /// `used` and digest of the last entry that was looked at.
    after: (u64, Vec<u8>),
    /// Entries that can't go, as they are open, and the sum of their lengths.
    open: EvictionResult,
}

impl ExclusiveLock<'_> {
    /// Evicts until `bytes` more fit under the bound. Entries that go for the file `temp` in `tmp/`
    /// leave their names with it: its bytes may turn out to be an entry that had to go for them.
    ///
    /// # Errors
    /// [`ErrorClass::Limit`] when that is impossible; then nothing was evicted, unless a file was
    /// opened just then.
    pub(crate) fn make_room(&self, bytes: u64, temp: Option<&str>) -> Result<EvictionResult, Error> {
        let mut evicted = EvictionResult::default();
        self.check_room(bytes)?;
        let operation = Operation::start("store.evict");
        let result = self.evict(bytes, temp, &mut evicted);
        operation.bytes(evicted.bytes);
        match &result {
            Ok(()) => operation.done(),
            Err(error) => operation.failed(error.kind().name()),
        }
        result.map(|()| evicted)
    }

    /// Refuses bytes that could have no room even with all evicted: leased and open entries stay.
    ///
    /// # Errors
    /// [`ErrorClass::Limit`] with the entries that are in the way.
    pub(crate) fn check_room(&self, bytes: u64) -> Result<(), Error> {
        if self.excess(bytes)? == 0 {
            return Ok(());
        }
        // Space of writers that are gone comes first: it costs nobody anything.
        sweep_reservations(self)?;
        let excess = self.excess(bytes)?;
        let usage = self.usage(self.now_ms)?;
        if excess > usage.bytes - usage.leased_bytes {
            return Err(self.full(bytes, EvictionResult::default())?);
        }
        let (mut free, mut pass) = (0, EvictionScan::default());
        while free < excess {
            let candidates = candidates(self, &pass.after, self.now_ms)?;
            if candidates.is_empty() {
                return Err(self.full(bytes, pass.open)?);
            }
            for candidate in candidates {
                pass.after = (candidate.used, candidate.digest.as_bytes().to_vec());
                match self.lock_blob(&candidate.digest)? {
                    Lock::Busy => pass.open.add(EvictionResult { entries: 1, bytes: candidate.bytes }),
                    _ => free += candidate.bytes,
                }
            }
        }
        Ok(())
    }

    fn evict(&self, bytes: u64, temp: Option<&str>, evicted: &mut EvictionResult) -> Result<(), Error> {
        let mut pass = EvictionScan::default();
        loop {
            let excess = self.excess(bytes)?;
            if excess == 0 {
                return Ok(());
            }
            match self.evict_batch(excess, temp, &mut pass)? {
                Some(batch) => evicted.add(batch),
                None => return Err(self.full(bytes, pass.open)?),
            }
        }
    }

    /// Ends a few entries in one transaction, and unlinks their files once it is committed: a kill
    /// in between leaves files without rows, never the reverse. The files' locks are held until
    /// then. `None` at the end of the pass.
    fn evict_batch(&self, excess: u64, temp: Option<&str>, pass: &mut EvictionScan) -> Result<Option<EvictionResult>, Error> {
        let (mut batch, mut held) = (EvictionResult::default(), Vec::<(Digest, File)>::new());
        let more = self.transaction(true, |index| {
            let candidates = candidates(index, &pass.after, self.now_ms)?;
            for candidate in &candidates {
                if batch.bytes >= excess {
                    break;
                }
                pass.after = (candidate.used, candidate.digest.as_bytes().to_vec());
                match self.lock_blob(&candidate.digest)? {
                    Lock::Busy => pass.open.add(EvictionResult { entries: 1, bytes: candidate.bytes }),
                    lock => {
                        match temp {
                            Some(temp) => index.end_entry_for(temp, &candidate.digest)?,
                            None => index.delete_entry(&candidate.digest)?,
                        }
                        batch.add(EvictionResult { entries: 1, bytes: candidate.bytes });
                        held.extend(if let Lock::Held(file) = lock { Some((candidate.digest, file)) } else { None });
                    }
                }
            }
            Ok(!candidates.is_empty())
        })?;
        held.iter().try_for_each(|(digest, _)| self.unlink_blob(digest))?;
        Ok(more.then_some(batch))
    }

    pub(crate) fn lock_blob(&self, digest: &Digest) -> Result<Lock, Error> {
        self.disk.try_lock(&self.disk.blob(digest)).map_err(|cause| self.failed("lock a file", cause))
    }

    pub(crate) fn unlink_blob(&self, digest: &Digest) -> Result<(), Error> {
        let blob = self.disk.blob(digest);
        self.disk.unlink(&blob).map_err(|cause| Error::io(blob.to_string_lossy(), "cannot remove", cause))
    }

    /// The reason for which there is no room, in numbers.
    fn full(&self, bytes: u64, open: EvictionResult) -> Result<Error, Error> {
        let usage = self.usage(self.now_ms)?;
        let message = format!(
            "no room for {}: it may hold {} ({INIT_MAX_SIZE} moves that), of {} in it {} are leased ({} entries; `rorqual store \
             lease ls` lists them), {} are being read ({} entries), and {} are reserved by puts in flight",
            format_size(bytes),
            format_size(usage.bytes_max),
            format_size(usage.bytes),
            format_size(usage.leased_bytes),
            usage.leased_entries,
            format_size(open.bytes),
            open.entries,
            format_size(usage.reserved_bytes),
        );
        Ok(Error::new(ErrorClass::Limit, self.disk.dir().to_string_lossy(), message))
    }
}

fn candidates(index: &Index<'_>, after: &(u64, Vec<u8>), now_ms: u64) -> Result<Vec<EvictionCandidate>, Error> {
    let sql = "SELECT digest, bytes, used FROM entry
               WHERE (used, digest) > (?1, ?2) AND NOT EXISTS (SELECT 1 FROM lease WHERE lease.digest = entry.digest AND expires_ms > ?3)
               ORDER BY used, digest LIMIT ?4";
    index.all(sql, params![after.0, after.1, now_ms, EVICT_BATCH], |row| {
        Ok(EvictionCandidate { digest: index.digest(row, 0)?, bytes: row.get(1)?, used: row.get(2)? })
    })
}

//! Leases: for a time, an entry stays.

use crate::index::Index;
use crate::limits::{HOLDER_BYTES_MAX, LEASE_MAX, PAGE_ROWS};
use crate::setting::{HOLDER, LEASE, TTL};
use crate::store::Store;
use rorqual_digest::Digest;
use rorqual_pipe::{Error, ErrorClass};
use rusqlite::{Row, params};
use std::time::Duration;

/// Terms of a lease that is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTerms<'a> {
    /// Its duration, in whole milliseconds; at most [`LEASE_MAX`].
    pub ttl: Duration,
    /// Its holder, for people to read; at most [`HOLDER_BYTES_MAX`] bytes.
    pub holder: &'a str,
}

/// A promise that an entry stays until it expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryLease {
    /// The number that renews and releases it.
    pub id: String,
    /// The entry.
    pub digest: Digest,
    /// Its holder.
    pub holder: String,
    /// Time at which it was taken, in milliseconds since 1970.
    pub taken_ms: u64,
    /// Time at which it expires.
    pub expires_ms: u64,
}

impl LeaseTerms<'_> {
    /// Checks the terms of a lease.
    ///
    /// # Errors
    /// [`ErrorClass::Limit`] when they are longer than allowed, or have control characters.
    pub fn check(&self) -> Result<(), Error> {
        let refuse = |why| Err(Error::new(ErrorClass::Limit, "the lease", why));
        if self.ttl < Duration::from_millis(1) || self.ttl > LEASE_MAX {
            return refuse(format!(
                "it runs for more than nothing and at most {} days ({LEASE}, {TTL})",
                LEASE_MAX.as_secs() / 86_400
            ));
        }
        if self.holder.len() > HOLDER_BYTES_MAX || self.holder.chars().any(char::is_control) {
            return refuse(format!("a holder has at most {HOLDER_BYTES_MAX} bytes and no control characters ({HOLDER})"));
        }
        Ok(())
    }
}

impl Store {
    /// Takes a lease; `None` when there is no such entry. An entry may have many.
    ///
    /// # Errors
    /// As [`LeaseTerms::check`], and when the index can't be written.
    pub fn take_lease(&self, digest: &Digest, terms: &LeaseTerms<'_>) -> Result<Option<EntryLease>, Error> {
        terms.check()?;
        let turn = self.lock_exclusive()?;
        turn.transaction(true, |index| match index.row(digest)? {
            Some(_) => add_lease(index, digest, terms, turn.now_ms).map(Some),
            None => Ok(None),
        })
    }

    /// Lets a lease run for `ttl` from now on; `None` when there is none, or it has expired: the
    /// entry may have been evicted since.
    ///
    /// # Errors
    /// As [`Store::take_lease`].
    pub fn renew_lease(&self, id: &str, ttl: Duration) -> Result<Option<EntryLease>, Error> {
        LeaseTerms { ttl, holder: "" }.check()?;
        let turn = self.lock_exclusive()?;
        let expires_ms = turn.now_ms + ttl.as_millis() as u64;
        turn.transaction(true, |index| {
            let sql = "UPDATE lease SET expires_ms = ?3 WHERE id = ?1 AND expires_ms > ?2
                       RETURNING id, digest, holder, taken_ms, expires_ms";
            index.first(sql, params![id, turn.now_ms, expires_ms], |row| read_lease(index, row))
        })
    }

    /// Ends a lease; `false` when there is none, or it has expired.
    ///
    /// # Errors
    /// When the index can't be written.
    pub fn release_lease(&self, id: &str) -> Result<bool, Error> {
        let turn = self.lock_exclusive()?;
        let sql = "DELETE FROM lease WHERE id = ?1 AND expires_ms > ?2";
        turn.transaction(false, |index| Ok(index.execute(sql, params![id, turn.now_ms])? > 0))
    }

    /// Gives each running lease to `visit`, in the order of their ids, with a fixed amount of
    /// memory.
    ///
    /// # Errors
    /// When the index can't be read, and the first error of `visit`.
    pub fn for_each_lease(&self, mut visit: impl FnMut(&EntryLease) -> Result<(), Error>) -> Result<(), Error> {
        let mut after = String::new();
        loop {
            let page = self.leases(&after)?;
            page.iter().try_for_each(&mut visit)?;
            match page.into_iter().next_back() {
                Some(last) => after = last.id,
                None => return Ok(()),
            }
        }
    }

    /// The next running leases after the id `after` (the empty one is before all), in the order of
    /// their ids; at most [`PAGE_ROWS`](crate::limits::PAGE_ROWS), none at the end.
    ///
    /// # Errors
    /// When the index can't be read.
    pub fn leases(&self, after: &str) -> Result<Vec<EntryLease>, Error> {
        let sql =
            "SELECT id, digest, holder, taken_ms, expires_ms FROM lease WHERE id > ?1 AND expires_ms > ?2 ORDER BY id LIMIT ?3";
        let index = self.index();
        index.all(sql, params![after, self.now_ms(), PAGE_ROWS], |row| read_lease(&index, row))
    }
}

/// Writes a lease on an entry that exists.
pub(crate) fn add_lease(index: &Index<'_>, digest: &Digest, terms: &LeaseTerms<'_>, now_ms: u64) -> Result<EntryLease, Error> {
    let sql =
        "INSERT INTO lease VALUES (lower(hex(randomblob(8))), ?1, ?2, ?3, ?4) RETURNING id, digest, holder, taken_ms, expires_ms";
    let expires_ms = now_ms + terms.ttl.as_millis() as u64;
    let made = index.first(sql, params![digest.as_bytes(), terms.holder, now_ms, expires_ms], |row| read_lease(index, row))?;
    made.ok_or_else(|| index.write_failed(rusqlite::Error::QueryReturnedNoRows))
}

/// Number of running leases on an entry.
pub(crate) fn running(index: &Index<'_>, digest: &Digest, now_ms: u64) -> Result<u64, Error> {
    index.number("SELECT count(*) FROM lease WHERE digest = ?1 AND expires_ms > ?2", params![digest.as_bytes(), now_ms])
}

/// Forgets leases that have expired; gives how many.
pub(crate) fn forget_expired(index: &Index<'_>, now_ms: u64) -> Result<u64, Error> {
    Ok(index.execute("DELETE FROM lease WHERE expires_ms <= ?1", params![now_ms])? as u64)
}

fn read_lease(index: &Index<'_>, row: &Row<'_>) -> rusqlite::Result<EntryLease> {
    let digest = index.digest(row, 1)?;
    Ok(EntryLease { id: row.get(0)?, digest, holder: row.get(2)?, taken_ms: row.get(3)?, expires_ms: row.get(4)? })
}

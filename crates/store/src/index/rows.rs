//! Entries and names.

use crate::entry::{StoreEntry, Usage};
use crate::index::Index;
use crate::limits::{NAMES_SHOWN_MAX, PAGE_ROWS};
use rorqual_digest::Digest;
use rorqual_pipe::Error;
use rusqlite::params;

/// Columns that decide about an entry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EntryRow {
    pub(crate) bytes: u64,
    pub(crate) accessed_ms: u64,
}

impl Index<'_> {
    pub(crate) fn row(&self, digest: &Digest) -> Result<Option<EntryRow>, Error> {
        let sql = "SELECT bytes, accessed_ms FROM entry WHERE digest = ?1";
        self.first(sql, params![digest.as_bytes()], |row| Ok(EntryRow { bytes: row.get(0)?, accessed_ms: row.get(1)? }))
    }

    /// Up to two of the entries from `first` to `last`.
    pub(crate) fn between(&self, first: &Digest, last: &Digest) -> Result<Vec<Digest>, Error> {
        let sql = "SELECT digest FROM entry WHERE digest BETWEEN ?1 AND ?2 LIMIT 2";
        self.all(sql, params![first.as_bytes(), last.as_bytes()], |row| self.digest(row, 0))
    }

    /// The entry with this name.
    pub(crate) fn named(&self, name: &str) -> Result<Option<Digest>, Error> {
        self.first("SELECT digest FROM name WHERE name = ?1", params![name], |row| self.digest(row, 0))
    }

    /// The next entries after `after` in the order of their digests, with their lengths.
    pub(crate) fn page(&self, after: Option<&Digest>) -> Result<Vec<(Digest, u64)>, Error> {
        let sql = "SELECT digest, bytes FROM entry WHERE digest > ?1 ORDER BY digest LIMIT ?2";
        let after = after.map_or(&[][..], Digest::as_bytes);
        self.all(sql, params![after, PAGE_ROWS], |row| Ok((self.digest(row, 0)?, row.get(1)?)))
    }

    /// All about an entry.
    pub(crate) fn entry(&self, digest: &Digest, now_ms: u64) -> Result<Option<StoreEntry>, Error> {
        let sql = "SELECT bytes, stored_ms, accessed_ms,
                       (SELECT count(*) FROM lease WHERE lease.digest = entry.digest AND expires_ms > ?2)
                   FROM entry WHERE digest = ?1";
        let found = self.first(sql, params![digest.as_bytes(), now_ms], |row| {
            let (bytes, stored_ms, accessed_ms, leases) = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            Ok(StoreEntry { digest: *digest, bytes, stored_ms, accessed_ms, names: Vec::new(), leases })
        })?;
        let Some(entry) = found else { return Ok(None) };
        let sql = "SELECT name FROM name WHERE digest = ?1 ORDER BY name LIMIT ?2";
        let names = self.all(sql, params![digest.as_bytes(), NAMES_SHOWN_MAX], |row| row.get(0))?;
        Ok(Some(StoreEntry { names, ..entry }))
    }

    pub(crate) fn add_entry(&self, digest: &Digest, bytes: u64, now_ms: u64) -> Result<(), Error> {
        let sql = "INSERT INTO entry (digest, bytes, stored_ms, accessed_ms, used)
                   VALUES (?1, ?2, ?3, ?3, (SELECT coalesce(max(used), 0) + 1 FROM entry))";
        self.execute(sql, params![digest.as_bytes(), bytes, now_ms]).map(drop)
    }

    /// Makes an entry the one that was used last.
    pub(crate) fn touch(&self, digest: &Digest, now_ms: u64) -> Result<(), Error> {
        let sql = "UPDATE entry SET accessed_ms = ?2, used = (SELECT max(used) + 1 FROM entry) WHERE digest = ?1";
        self.execute(sql, params![digest.as_bytes(), now_ms]).map(drop)
    }

    /// Ends an entry, with its names and leases.
    pub(crate) fn delete_entry(&self, digest: &Digest) -> Result<(), Error> {
        self.execute("DELETE FROM entry WHERE digest = ?1", params![digest.as_bytes()]).map(drop)
    }

    /// Points a name at an entry, whatever it pointed at before.
    pub(crate) fn set_name(&self, name: &str, digest: &Digest) -> Result<(), Error> {
        let sql = "INSERT INTO name VALUES (?1, ?2) ON CONFLICT DO UPDATE SET digest = excluded.digest";
        self.execute(sql, params![name, digest.as_bytes()]).map(drop)
    }

    pub(crate) fn bytes_max(&self) -> Result<u64, Error> {
        self.number("SELECT value FROM setting WHERE name = 'bytes_max'", [])
    }

    pub(crate) fn set_bytes_max(&self, bytes_max: u64) -> Result<(), Error> {
        self.execute("UPDATE setting SET value = ?1 WHERE name = 'bytes_max'", params![bytes_max]).map(drop)
    }

    /// Reserves `bytes` in all for the file `temp` in `tmp/`.
    pub(crate) fn set_reserved(&self, temp: &str, bytes: u64) -> Result<(), Error> {
        let sql = "INSERT INTO reservation VALUES (?1, ?2) ON CONFLICT DO UPDATE SET bytes = excluded.bytes";
        self.execute(sql, params![temp, bytes]).map(drop)
    }

    /// Ends an entry for the file `temp`, which gets its names back should it be the same bytes.
    pub(crate) fn end_entry_for(&self, temp: &str, digest: &Digest) -> Result<(), Error> {
        let params = params![temp, digest.as_bytes()];
        // They end with the reservation, which there may not be yet.
        self.execute("INSERT OR IGNORE INTO reservation VALUES (?1, 0)", params![temp])?;
        self.execute("INSERT OR IGNORE INTO evicted_name SELECT ?1, digest, name FROM name WHERE digest = ?2", params)?;
        self.delete_entry(digest)
    }

    /// Gives an entry the names back that ended for `temp`, but those that name another one by now.
    pub(crate) fn restore_names(&self, temp: &str, digest: &Digest) -> Result<(), Error> {
        let sql = "INSERT OR IGNORE INTO name SELECT name, digest FROM evicted_name WHERE temp = ?1 AND digest = ?2";
        self.execute(sql, params![temp, digest.as_bytes()]).map(drop)
    }

    /// By how much the bound would be exceeded if `bytes` came along.
    pub(crate) fn excess(&self, bytes: u64) -> Result<u64, Error> {
        let taken = "SELECT (SELECT bytes FROM total) + (SELECT coalesce(sum(bytes), 0) FROM reservation)";
        let wanted = self.number(taken, [])?.saturating_add(bytes);
        Ok(wanted.saturating_sub(self.bytes_max()?))
    }

    /// True if some entry has exactly that many bytes.
    pub(crate) fn has_length(&self, bytes: u64) -> Result<bool, Error> {
        Ok(self.number("SELECT EXISTS (SELECT 1 FROM entry WHERE bytes = ?1)", params![bytes])? > 0)
    }

    pub(crate) fn end_reservation(&self, temp: &str) -> Result<(), Error> {
        self.execute("DELETE FROM reservation WHERE temp = ?1", params![temp]).map(drop)
    }

    /// The next files after `after` in `tmp/` that space is reserved for.
    pub(crate) fn reservations(&self, after: &str) -> Result<Vec<String>, Error> {
        let sql = "SELECT temp FROM reservation WHERE temp > ?1 ORDER BY temp LIMIT ?2";
        self.all(sql, params![after, PAGE_ROWS], |row| row.get(0))
    }

    /// Bytes reserved for a file in `tmp/`; `None` when the index knows nothing of it.
    pub(crate) fn reserved_for(&self, temp: &str) -> Result<Option<u64>, Error> {
        self.first("SELECT bytes FROM reservation WHERE temp = ?1", params![temp], |row| row.get(0))
    }

    pub(crate) fn usage(&self, now_ms: u64) -> Result<Usage, Error> {
        let leased = "FROM entry WHERE digest IN (SELECT digest FROM lease WHERE expires_ms > ?1)";
        Ok(Usage {
            algorithm: self.algorithm,
            entries: self.number("SELECT entries FROM total", [])?,
            bytes: self.number("SELECT bytes FROM total", [])?,
            bytes_max: self.bytes_max()?,
            leased_entries: self.number(&format!("SELECT count(*) {leased}"), params![now_ms])?,
            leased_bytes: self.number(&format!("SELECT coalesce(sum(bytes), 0) {leased}"), params![now_ms])?,
            leases: self.number("SELECT count(*) FROM lease WHERE expires_ms > ?1", params![now_ms])?,
            names: self.number("SELECT count(*) FROM name", [])?,
            reserved_bytes: self.number("SELECT coalesce(sum(bytes), 0) FROM reservation", [])?,
        })
    }
}

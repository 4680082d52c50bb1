//! The store.

use crate::failure::OperationFailure;
use crate::running::Running;
use crate::source::DataSource;
use rorqual_digest::Digest;
use rorqual_pipe::limits::{BLOCK_BYTES, buffers_needed};
use rorqual_pipe::{BufferPool, Control};
use rorqual_store::{
    EntryLease, EntryReader, KeyMatch, LeaseTerms, PutOptions, PutResult, Removed, Store, StoreEntry, StoreSettings, Usage,
};
use std::path::PathBuf;
use std::time::Duration;

/// An open store.
#[derive(Clone)]
pub struct EntryStore(Store);

impl EntryStore {
    /// Opens a store, and makes it where there is none, with room for `bytes_max` if given.
    ///
    /// # Errors
    /// When it can't be made or opened.
    pub fn open(dir: PathBuf, bytes_max: Option<u64>) -> Result<Self, OperationFailure> {
        Ok(Self(Store::init(&StoreSettings::new(dir), None, bytes_max)?))
    }

    /// Takes a source in, as it is stored, and gives it a name if given.
    #[must_use]
    pub fn put(&self, source: DataSource, name: Option<String>) -> Running<PutResult> {
        let (store, control) = (self.0.clone(), Control::default());
        let stop = control.clone();
        Running::one(&control, move || {
            let input = source.open_stored()?;
            let size_bytes = input.size_bytes();
            let pool = BufferPool::new(BLOCK_BYTES, buffers_needed(1));
            let options = PutOptions { name: name.as_deref(), ..PutOptions::default() };
            Ok(store.put(input, size_bytes, &options, &pool, &stop)?)
        })
    }

    /// Opens the entry of a key, which is a digest, the start of one, or a name. It stays while it
    /// is open. `None` where there is none.
    ///
    /// # Errors
    /// When several digests start like that, or it can't be read.
    pub fn get(&self, key: &str) -> Result<Option<EntryReader>, OperationFailure> {
        match self.find(key)? {
            Some(digest) => Ok(self.0.get(&digest, None)?),
            None => Ok(None),
        }
    }

    /// The path of an entry's file.
    #[must_use]
    pub fn path(&self, digest: &Digest) -> PathBuf {
        self.0.path(digest)
    }

    /// Takes a lease on the entry of a key; `None` where there is none.
    ///
    /// # Errors
    /// As [`EntryStore::get`].
    pub fn lease(&self, key: &str, ttl: Duration, holder: &str) -> Result<Option<EntryLease>, OperationFailure> {
        let Some(digest) = self.find(key)? else { return Ok(None) };
        Ok(self.0.take_lease(&digest, &LeaseTerms { ttl, holder })?)
    }

    /// Ends a lease; `false` where there is none.
    ///
    /// # Errors
    /// When the index can't be written.
    pub fn release(&self, id: &str) -> Result<bool, OperationFailure> {
        Ok(self.0.release_lease(id)?)
    }

    /// Removes the entry of a key; `false` where there is none, or somebody holds it.
    ///
    /// # Errors
    /// As [`EntryStore::get`].
    pub fn remove(&self, key: &str) -> Result<bool, OperationFailure> {
        let Some(digest) = self.find(key)? else { return Ok(false) };
        Ok(matches!(self.0.remove(&digest, false)?, Removed::Done))
    }

    /// Facts of the entry of a key.
    ///
    /// # Errors
    /// As [`EntryStore::get`].
    pub fn entry(&self, key: &str) -> Result<Option<StoreEntry>, OperationFailure> {
        let Some(digest) = self.find(key)? else { return Ok(None) };
        Ok(self.0.entry(&digest)?)
    }

    /// Totals.
    ///
    /// # Errors
    /// When the index can't be read.
    pub fn usage(&self) -> Result<Usage, OperationFailure> {
        Ok(self.0.usage()?)
    }

    fn find(&self, key: &str) -> Result<Option<Digest>, OperationFailure> {
        match self.0.find(key)? {
            KeyMatch::One(digest) => Ok(Some(digest)),
            KeyMatch::Many => {
                Err(OperationFailure::argument(format!("{key}: several digests start like that; give more of its digits")))
            }
            KeyMatch::None => Ok(None),
        }
    }
}

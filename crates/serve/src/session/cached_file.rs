//! The cache's entry of a session's file, and how far that was read.

use super::locks::lock;
use super::new_upload::NewUpload;
use super::table_source::{TablePoint, TableSource};
use crate::state::{CacheEntry, SavedSession, SavedTable};
use rorqual_accesslog::format::LogFormat;
use rorqual_pipe::{Error, Input};
use std::fs::File;
use std::io::{self, Seek};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// The cache's entry of a session's file.
pub(crate) struct CachedFile {
    pub(super) entry: Arc<CacheEntry>,
    pub(super) file: File,
    /// Bytes of the file whose rows came from the cache.
    pub(super) taken_bytes: AtomicU64,
    pub(super) read: Mutex<ReadSoFar>,
    /// The table that it is, in case that it has to be read anew; `None` of a log.
    pub(super) table: Option<Mutex<Box<dyn TableSource>>>,
    /// End of a table's rows in the cache, from which its reading goes on.
    pub(super) point: Mutex<Option<TablePoint>>,
}

/// Part of a file that was read.
#[derive(Clone, Default)]
pub(super) struct ReadSoFar {
    pub(super) offset: u64,
    pub(super) lines: u64,
    pub(super) format: Option<LogFormat>,
}

impl CachedFile {
    pub(crate) fn new(entry: Arc<CacheEntry>, file: File) -> Self {
        Self { entry, file, taken_bytes: AtomicU64::new(0), read: Mutex::default(), table: None, point: Mutex::default() }
    }

    /// The same, which is a table.
    pub(crate) fn with_table(self, table: Box<dyn TableSource>) -> Self {
        Self { table: Some(Mutex::new(table)), ..self }
    }

    /// The table that it is, to be read from its start.
    pub(crate) fn table(&self) -> Option<Box<dyn TableSource>> {
        self.table.as_ref().map(|table| lock(table).reopened())
    }

    /// Forgets its rows.
    pub(crate) fn forget(&self) {
        self.entry.checkpoints.remove();
    }

    /// The file that has its path now.
    pub(crate) fn open_again(&self) -> io::Result<File> {
        self.entry.open_again()
    }

    /// True if nothing was written over the bytes that it had when it was opened, as far as parts
    /// of them tell.
    pub(super) fn is_as_begun(&self) -> bool {
        self.entry.is_as_begun(&self.file)
    }

    /// The end of a table's rows that came from the cache.
    pub(super) fn point(&self) -> Option<TablePoint> {
        lock(&self.point).clone()
    }

    /// None of its rows is from the cache any more.
    pub(super) fn forget_taken(&self) {
        self.taken_bytes.store(0, Ordering::Relaxed);
        *lock(&self.point) = None;
    }

    pub(super) fn taken_bytes(&self) -> u64 {
        self.taken_bytes.load(Ordering::Relaxed)
    }

    /// Goes on after a checkpoint.
    pub(super) fn resume(&mut self, saved: &SavedSession, format: Option<LogFormat>) {
        let lines = saved.file.as_ref().map_or(0, |file| file.lines);
        self.taken_bytes = AtomicU64::new(saved.offset);
        self.read = Mutex::new(ReadSoFar { offset: saved.offset, lines, format });
        let columns = saved.table.as_ref().and_then(SavedTable::columns);
        self.point = Mutex::new(columns.map(|columns| TablePoint { offset: saved.offset, columns }));
    }

    /// True if all of a file is in the cache that is not followed.
    pub(super) fn is_whole(&self, announced: &NewUpload) -> bool {
        self.taken_bytes() >= self.entry.identity.size() && announced.size.get().is_some()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ReadSoFar> {
        lock(&self.read)
    }

    /// The file as an input.
    pub(super) fn input(&self, name: &str) -> Result<Input, Error> {
        let again = || {
            let mut file = self.file.try_clone()?;
            // Looking for holes moved the place that all handles share.
            file.rewind()?;
            Ok(file)
        };
        let file = again().map_err(|cause| Error::io(name, "cannot open again", cause))?;
        Input::from_file(name.to_owned(), file).map(Input::into_utf8)
    }
}

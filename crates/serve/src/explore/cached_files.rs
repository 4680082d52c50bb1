//! Sessions of files that the server reads, with the rows of them that the cache has.

use crate::explore::sessions::Sessions;
use crate::http::error::ApiError;
use crate::http::token::random_text;
use crate::limits::ID_BYTES;
use crate::session::{CachedFile, Journal, LogStores, NewUpload, Session, TableResources, TableSource};
use crate::setting::CACHE_DIR;
use crate::state::{CacheEntry, NotCached, SavedColumns, SavedFormat, SavedSession};
use axum::http::StatusCode;
use rorqual_crossfilter::RowStore;
use rorqual_pipe::{format_size, reason};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Rows of a file, and the checkpoint that they are of.
type Rows = (Arc<RowStore>, SavedSession);

impl Sessions {
    /// A session of a file of the server, which is a `table` or a log, with the rows of it that the
    /// cache has, and sentences about that for people. Blocks.
    ///
    /// # Errors
    /// As [`Sessions::create`].
    pub(crate) fn create_file(
        &self,
        path: &Path,
        file: File,
        table: Option<&dyn TableSource>,
    ) -> Result<(Arc<Session>, Option<String>), ApiError> {
        let name = path.to_string_lossy().into_owned();
        let is_whole = table.is_none_or(|table| table.followed().is_none());
        let data = file.metadata().ok().filter(|data| data.is_file() && is_whole);
        let size = data.map(|data| data.len());
        self.create_cached(path, file, NewUpload::file(name, size), table)
    }

    /// The same of a file that is followed, whose size nobody knows.
    pub(crate) fn create_followed(&self, path: &Path, file: File) -> Result<(Arc<Session>, Option<String>), ApiError> {
        self.create_cached(path, file, NewUpload::file(path.to_string_lossy().into_owned(), None), None)
    }

    fn create_cached(
        &self,
        path: &Path,
        file: File,
        announced: NewUpload,
        table: Option<&dyn TableSource>,
    ) -> Result<(Arc<Session>, Option<String>), ApiError> {
        let entry = self.cache.as_ref().map(|cache| cache.entry(path, &file));
        let entry = match entry {
            Some(Ok(entry)) => Arc::new(entry),
            Some(Err(NotCached::Refused(why))) => return Ok((self.create(announced, None)?, Some(why))),
            Some(Err(NotCached::Small)) | None => return Ok((self.create(announced, None)?, None)),
        };
        self.check_room(&self.lock())?;
        let stores = self.stores(Journal::File(Arc::clone(&entry)));
        let (restored, note) = restored(&entry, &file, &stores, table.map(|_| self.shared.tables()));
        let (store, saved) = match restored {
            Some((store, saved)) => (store, Some(saved)),
            None => (stores.empty()?, None),
        };
        let id = random_text(ID_BYTES)
            .map_err(|error| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "no_randomness", error.to_string()))?;
        let session = self.session_of(id, announced, stores, store);
        let cached = CachedFile::new(entry, file);
        let cached = match table {
            Some(table) => cached.with_table(table.reopened()),
            None => cached,
        };
        let session = self.add(session.with_cached(cached, saved))?;
        if session.state().ended() {
            session.complete_rows();
        }
        Ok((session, note))
    }

    /// Reads files anew of which rows from the cache turned out to be damaged: each in a session
    /// with the same id.
    pub(crate) async fn read_damaged_anew(self: &Arc<Self>) {
        let damaged = || self.list().into_iter().find(|session| session.has_damaged_rows());
        while let Some(session) = damaged() {
            let Some(cached) = session.cached() else { return };
            let (id, name, file) = (session.id().to_owned(), session.name().to_owned(), cached.open_again());
            let table = cached.table();
            tracing::warn!(session = id, "the rows of its file in the cache are damaged: it is read anew ({CACHE_DIR})");
            cached.forget();
            self.discard(&session).await;
            let _room = self.make_room().await;
            let sessions = Arc::clone(self);
            let read = move || sessions.read_anew(id, name, file, table);
            // A panic was reported where it was.
            let read = tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(error.to_string()));
            if let Err(error) = read {
                tracing::warn!(error, "a file could not be read anew");
            }
        }
    }

    fn read_anew(
        &self,
        id: String,
        name: String,
        file: io::Result<File>,
        table: Option<Box<dyn TableSource>>,
    ) -> Result<(), String> {
        let file = file.map_err(|cause| format!("{name}: cannot open: {}", reason(&cause)))?;
        let is_whole = table.as_ref().is_none_or(|table| table.followed().is_none());
        let size = file.metadata().ok().filter(|_| is_whole).map(|data| data.len());
        let announced = NewUpload::file(name.clone(), size);
        let made = self.session(id, announced, None, LogStores::empty).and_then(|made| self.add(made));
        let session = made.map_err(|error| error.message().to_owned())?;
        tokio::task::spawn_blocking(move || match table {
            Some(table) => session.run_table(table),
            None => session.run_file(name, file),
        });
        Ok(())
    }
}

/// The rows that the cache has of a file, or none yet, and a sentence about them. It is one of the
/// `tables`, or a log.
fn restored(
    entry: &CacheEntry,
    file: &File,
    stores: &LogStores,
    tables: Option<&TableResources>,
) -> (Option<Rows>, Option<String>) {
    let settings = |saved: &SavedSession| match (tables, &saved.table) {
        (Some(tables), Some(table)) => {
            let is_as_read = !table.has_flaws || table.read_with == tables.read_with();
            tables.settings(table.schema.schema(), 0).ok().filter(|_| is_as_read)
        }
        (None, None) => {
            saved.format.as_ref().and_then(SavedFormat::format)?;
            let own = saved.own.as_ref().map(SavedColumns::columns).map(Arc::new);
            Some(stores.spilling(stores.settings_with(own)))
        }
        _ => None,
    };
    let fitting = |saved: &SavedSession| {
        let file = saved.file.as_ref()?;
        settings(saved).filter(|settings| file.fits(settings.memory_bytes, settings.segment_rows))
    };
    let restored = entry.take(file, fitting, |settings, stored| {
        let store = RowStore::restore(settings, stored.journal, entry.bytes_max(), &stored.head)?;
        Ok((store, stored.saved))
    });
    match restored {
        Ok(Some((store, saved))) => {
            let (kept, size) = (saved.offset, entry.identity.size());
            let rest = format_size(size.saturating_sub(kept));
            let note = format!("reopened: the rows of {} were kept, and {rest} are read", format_size(kept));
            (Some((store, saved)), Some(note))
        }
        Ok(None) => (None, None),
        Err(why) => (None, Some(why)),
    }
}

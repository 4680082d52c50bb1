//! Sessions of files that the server reads, with the rows of them that the cache has.

use crate::explore::sessions::Sessions;
use crate::http::error::ApiError;
use crate::http::token::random_text;
use crate::limits::ID_BYTES;
use crate::session::{CachedFile, NewUpload, Session};
use crate::state::{CacheEntry, NotCached, SavedFormat, SavedSession};
use axum::http::StatusCode;
use rorqual_crossfilter::{RowStore, RowStoreSettings};
use rorqual_pipe::{format_size, reason};
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// Rows of a file, and the checkpoint that they are of.
type Rows = (Arc<RowStore>, Option<SavedSession>);

impl Sessions {
    /// A session of a file of the server, with the rows of it that the cache has, and sentences
    /// about that for people. Blocks.
    ///
    /// # Errors
    /// As [`Sessions::create`].
    pub(crate) fn create_file(&self, path: &Path, file: File) -> Result<(Arc<Session>, Option<String>), ApiError> {
        let name = path.to_string_lossy().into_owned();
        let size = file.metadata().ok().filter(std::fs::Metadata::is_file).map(|data| data.len());
        self.create_cached(path, file, NewUpload::file(name, size))
    }

    /// The same of a file that is followed, whose size nobody knows.
    pub(crate) fn create_followed(&self, path: &Path, file: File) -> Result<(Arc<Session>, Option<String>), ApiError> {
        self.create_cached(path, file, NewUpload::file(path.to_string_lossy().into_owned(), None))
    }

    fn create_cached(&self, path: &Path, file: File, announced: NewUpload) -> Result<(Arc<Session>, Option<String>), ApiError> {
        let entry = self.cache.as_ref().map(|cache| cache.entry(path, &file));
        let entry = match entry {
            Some(Ok(entry)) => entry,
            Some(Err(NotCached::Refused(why))) => return Ok((self.create(announced, None)?, Some(why))),
            Some(Err(NotCached::Small)) | None => return Ok((self.create(announced, None)?, None)),
        };
        self.check_room(&self.lock())?;
        let ((store, saved), note) = match self.cached_rows(&entry, &file) {
            Ok(rows) => rows,
            Err(why) => return Ok((self.create(announced, None)?, Some(why))),
        };
        let id = random_text(ID_BYTES)
            .map_err(|error| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "no_randomness", error.to_string()))?;
        let session = self.session(id, announced, None, |_, _| Ok::<_, ApiError>(store))?;
        let session = self.add(session.with_cached(CachedFile::new(entry, file), saved))?;
        if session.state().ended() {
            session.complete_rows();
        }
        Ok((session, note))
    }

    /// The rows that the cache has of a file, or none yet, and a sentence about them.
    fn cached_rows(&self, entry: &CacheEntry, file: &File) -> Result<(Rows, Option<String>), String> {
        let spill = self.spill.as_ref().map(|(folder, _)| (folder.clone(), self.rows_bytes_max()));
        let settings = RowStoreSettings { spill, ..self.rows_settings() };
        let is_fitting = |saved: &SavedSession| {
            let has_format = saved.format.as_ref().is_some_and(|format| SavedFormat::format(format).is_some());
            has_format && saved.file.as_ref().is_some_and(|file| file.fits(settings.memory_bytes, settings.segment_rows))
        };
        let restored = entry.take(file, is_fitting, |stored| {
            let store = RowStore::restore(settings.clone(), stored.journal, entry.bytes_max(), &stored.head)?;
            Ok((store, stored.saved))
        });
        let note = match restored {
            Ok(Some((store, saved))) => {
                let (kept, size) = (saved.offset, entry.identity.size());
                let rest = format_size(size.saturating_sub(kept));
                let note = format!("reopened: the rows of {} were kept, and {rest} are read", format_size(kept));
                return Ok(((store, Some(saved)), Some(note)));
            }
            Ok(None) => None,
            Err(why) => Some(why),
        };
        let journal = entry.journal().and_then(|journal| RowStore::with_journal(settings.clone(), journal, entry.bytes_max()));
        match journal {
            Ok(store) => Ok(((store, None), note)),
            Err(cause) => {
                entry.clear();
                Err(format!("its rows are not kept for the next time (--cache-dir): {}", reason(&cause)))
            }
        }
    }

    /// Reads files anew of which rows from the cache turned out to be damaged: each in a session
    /// with the same id.
    pub(crate) async fn read_damaged_anew(self: &Arc<Self>) {
        let damaged = || self.list().into_iter().find(|session| session.has_damaged_rows());
        while let Some(session) = damaged() {
            let Some(cached) = session.cached() else { return };
            let (id, name, file) = (session.id().to_owned(), session.name().to_owned(), cached.open_again());
            tracing::warn!(session = id, "the rows of its file in the cache are damaged: it is read anew (--cache-dir)");
            cached.forget();
            self.discard(&session).await;
            let _room = self.make_room().await;
            let sessions = Arc::clone(self);
            let read = move || sessions.read_anew(id, name, file);
            // A panic was reported where it was.
            let read = tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(error.to_string()));
            if let Err(error) = read {
                tracing::warn!(error, "a file could not be read anew");
            }
        }
    }

    fn read_anew(&self, id: String, name: String, file: io::Result<File>) -> Result<(), String> {
        let file = file.map_err(|cause| format!("{name}: cannot open: {}", reason(&cause)))?;
        let size = file.metadata().ok().map(|data| data.len());
        let announced = NewUpload::file(name.clone(), size);
        let made = self.session(id, announced, None, |_, settings| self.store("", settings)).and_then(|made| self.add(made));
        let session = made.map_err(|error| error.message().to_owned())?;
        tokio::task::spawn_blocking(move || session.run_file(name, file));
        Ok(())
    }
}

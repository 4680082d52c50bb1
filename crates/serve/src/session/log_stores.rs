//! Stores for the rows of a session's log: at first without columns of its own, and another one
//! once its format is known.

use super::table_resources::no_file;
use crate::http::error::ApiError;
use crate::setting::{CACHE_DIR, STATE};
use crate::state::{CacheEntry, StateDir};
use axum::http::StatusCode;
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::{LATE_COLUMNS_MAX, OwnColumns};
use rorqual_crossfilter::{RowStore, RowStoreSettings};
use rorqual_pipe::setting::TEMP_DIR;
use rorqual_pipe::{Setting, reason};
use std::path::PathBuf;
use std::sync::Arc;

/// The journal in which a session's rows outlive it.
#[derive(Clone)]
pub(crate) enum Journal {
    None,
    /// Of a session that is kept: its folder, and its id.
    Session(Arc<StateDir>, String),
    /// Of a file of the server.
    File(Arc<CacheEntry>),
}

/// Settings for the stores of one session, and their files.
pub(crate) struct LogStores {
    pub(crate) settings: RowStoreSettings,
    pub(crate) journal: Journal,
    /// Folder for rows that do not fit the memory.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) file_bytes_max: u64,
    /// The log is several files, of which later ones may have further columns.
    pub(crate) of_files: bool,
    /// Workers that record at a time.
    pub(crate) workers: usize,
    /// Memory of the distributions of numbers is counted with a question's.
    pub(crate) counts_numbers: bool,
}

impl LogStores {
    /// An empty store without columns of its log's own.
    pub(crate) fn empty(&self) -> Result<Arc<RowStore>, ApiError> {
        self.made(self.settings.clone())
    }

    /// An empty store for a log of that format; `None` where the first one will do.
    pub(crate) fn of_format(&self, format: &LogFormat) -> Option<Result<Arc<RowStore>, ApiError>> {
        let late = if format.is_open() || self.of_files { LATE_COLUMNS_MAX } else { 0 };
        let settings = self.settings.clone().of_format(format, late, self.workers, self.counts_numbers);
        settings.own.is_some().then(|| self.made(settings))
    }

    /// Settings of a store that had these columns.
    pub(crate) fn settings_with(&self, own: Option<Arc<OwnColumns>>) -> RowStoreSettings {
        let settings = self.settings.clone();
        own.map_or(settings.clone(), |own| settings.with_own(own, self.workers, self.counts_numbers))
    }

    /// An empty store of those settings, in its journal.
    pub(super) fn made(&self, settings: RowStoreSettings) -> Result<Arc<RowStore>, ApiError> {
        let failed = |setting: Setting, folder: String, cause: std::io::Error| {
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "no_temp", no_file(setting, &folder, &cause))
        };
        let folder = || self.folder.as_ref().map_or_else(String::new, |folder| folder.display().to_string());
        match &self.journal {
            Journal::None => RowStore::new(self.spilling(settings)).map_err(|cause| failed(TEMP_DIR, folder(), cause)),
            Journal::Session(state, id) => {
                let journal = state.journal(id);
                let store = journal.and_then(|journal| RowStore::with_journal(settings, journal, self.file_bytes_max));
                store.inspect_err(|_| state.forget_journal(id)).map_err(|cause| failed(STATE, state.folder(), cause))
            }
            Journal::File(entry) => {
                let settings = self.spilling(settings);
                let journal = entry.journal();
                let store = journal.and_then(|journal| RowStore::with_journal(settings.clone(), journal, entry.bytes_max()));
                store.or_else(|cause| {
                    entry.give_up(&format!("{CACHE_DIR}: {}", reason(&cause)));
                    RowStore::new(settings).map_err(|cause| failed(TEMP_DIR, folder(), cause))
                })
            }
        }
    }

    /// Settings of a store that spills, where it may.
    pub(crate) fn spilling(&self, settings: RowStoreSettings) -> RowStoreSettings {
        RowStoreSettings { spill: self.folder.as_ref().map(|folder| (folder.clone(), self.file_bytes_max)), ..settings }
    }
}

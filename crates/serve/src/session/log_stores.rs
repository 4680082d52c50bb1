//! Stores for the rows of a session's log: at first without columns of its own, and another one
//! once its format is known.

use super::no_file;
use crate::http::error::ApiError;
use crate::setting::STATE;
use crate::state::StateDir;
use axum::http::StatusCode;
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::{LATE_COLUMNS_MAX, OwnColumns};
use rorqual_crossfilter::{RowStore, RowStoreSettings};
use rorqual_pipe::Setting;
use rorqual_pipe::setting::TEMP_DIR;
use std::path::PathBuf;
use std::sync::Arc;

/// Settings for the stores of one session, and their files.
pub(crate) struct LogStores {
    pub(crate) settings: RowStoreSettings,
    /// The folder of a session that is kept, and its id.
    pub(crate) state: Option<(Arc<StateDir>, String)>,
    /// Folder for rows that do not fit the memory.
    pub(crate) folder: Option<PathBuf>,
    pub(crate) file_bytes_max: u64,
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
        let late = if format.is_open() { LATE_COLUMNS_MAX } else { 0 };
        let settings = self.settings.clone().of_format(format, late, self.workers, self.counts_numbers);
        settings.own.is_some().then(|| self.made(settings))
    }

    /// Settings of a store that had these columns.
    pub(crate) fn settings_with(&self, own: Option<Arc<OwnColumns>>) -> RowStoreSettings {
        let settings = self.settings.clone();
        own.map_or(settings.clone(), |own| settings.with_own(own, self.workers, self.counts_numbers))
    }

    fn made(&self, settings: RowStoreSettings) -> Result<Arc<RowStore>, ApiError> {
        let failed = |setting: Setting, folder: String, cause: std::io::Error| {
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "no_temp", no_file(setting, &folder, &cause))
        };
        if let Some((state, id)) = &self.state {
            let failed = |cause| failed(STATE, state.folder(), cause);
            let store = state.journal(id).and_then(|journal| RowStore::with_journal(settings, journal, self.file_bytes_max));
            return store.inspect_err(|_| state.forget_journal(id)).map_err(failed);
        }
        let spill = self.folder.as_ref().map(|folder| (folder.clone(), self.file_bytes_max));
        let folder = || self.folder.as_ref().map_or_else(String::new, |folder| folder.display().to_string());
        RowStore::new(RowStoreSettings { spill, ..settings }).map_err(|cause| failed(TEMP_DIR, folder(), cause))
    }
}

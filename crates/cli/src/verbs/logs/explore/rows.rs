//! The rows of a run, which questions are asked of.

use crate::args::LogsArgs;
use crate::message;
use rorqual_accesslog::analyze::{AnalysisShares, AnalyzeSettings};
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::{LATE_COLUMNS_MAX, OwnColumns, Recorder, Recording};
use rorqual_crossfilter::{Recordings, RowStore, RowStoreSettings};
use rorqual_pipe::{escaped_path, reason};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The store of rows, which has the columns of the log's own once the format of the first file is
/// known.
pub(in super::super) struct FormatRows {
    settings: RowStoreSettings,
    /// Columns that there may be more.
    late: usize,
    workers: usize,
    /// There are several files, whose names are a column.
    of_files: bool,
    /// The format of each file, by its name, and that of the first.
    formats: Mutex<KnownFormats>,
    made: OnceLock<RecordedStore>,
}

struct RecordedStore {
    store: Arc<RowStore>,
    recordings: Recordings,
}

/// Formats by the names of files.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct KnownFormats {
    pub(in super::super) first: Option<Arc<LogFormat>>,
    pub(in super::super) of_files: HashMap<Box<str>, Arc<LogFormat>>,
}

impl FormatRows {
    /// A place for rows, in the memory of `shares`.
    pub(in super::super) fn new(
        args: &LogsArgs,
        settings: &AnalyzeSettings,
        shares: &AnalysisShares,
    ) -> Result<Arc<Self>, String> {
        let spill = args.explore.temp.spill();
        let folder = spill.as_ref().map_or_else(String::new, |(folder, _)| escaped_path(folder));
        let countries = settings.countries.clone();
        let settings = RowStoreSettings { spill, countries, ..RowStoreSettings::only(shares.tables_bytes, shares.threads) };
        // Nothing is read where there can be no file.
        RowStore::new(settings.clone())
            .map_err(|cause| format!("--temp-dir {folder}: there can be no temporary file for rows: {}", reason(&cause)))?;
        let of_files = args.files.len() > 1;
        let late = if of_files { LATE_COLUMNS_MAX } else { 0 };
        let (formats, made) = (Mutex::default(), OnceLock::new());
        Ok(Arc::new(Self { settings, late, workers: shares.threads, of_files, formats, made }))
    }

    /// Formats of the files that were begun.
    pub(in super::super) fn formats(&self) -> KnownFormats {
        self.formats.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note_format(&self, name: &str, format: &LogFormat) {
        let mut formats = self.formats.lock().unwrap_or_else(PoisonError::into_inner);
        let format = Arc::new(format.clone());
        formats.first.get_or_insert_with(|| Arc::clone(&format));
        formats.of_files.insert(name.into(), format);
    }

    /// The store, once there is a row.
    pub(in super::super) fn store(&self) -> Option<&Arc<RowStore>> {
        self.made.get().map(|made| &made.store)
    }
}

impl Recording for FormatRows {
    fn recorders(&self, name: &str, format: &LogFormat, count: usize) -> Vec<Box<dyn Recorder>> {
        self.note_format(name, format);
        let late = if format.is_open() { LATE_COLUMNS_MAX } else { self.late };
        let settings = || self.settings.clone().of_format(format, late, self.workers, false);
        let make = || {
            // The folder took a file before.
            RowStore::new(settings()).map(|store| {
                let recordings = Recordings::new(&store);
                let recordings = if self.of_files { recordings.of_files() } else { recordings };
                RecordedStore { recordings, store }
            })
        };
        if self.made.get().is_none() {
            match make() {
                Ok(made) => drop(self.made.set(made)),
                Err(cause) => {
                    message::error(&format!("--temp-dir: there can be no temporary file for rows: {}", reason(&cause)));
                }
            }
        }
        self.made.get().map(|made| made.recordings.recorders(name, format, count)).unwrap_or_default()
    }

    fn own(&self) -> Option<Arc<OwnColumns>> {
        self.store()?.own().cloned()
    }
}

//! Settings with which an export has room beside the rows of a session.

use crate::http::error::ApiError;
use crate::setting::SESSIONS;
use axum::http::StatusCode;
use rorqual_pipe::setting::{MEMORY, TEMP_MAX};

/// Exports that need different amounts of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExportNeed {
    /// Rows as text, values of a panel, a page.
    Text,
    Parquet,
}

/// Settings for one kind of export. Nothing is advised of a setting that is enough, or that no
/// change of it alone makes enough.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AdvisedSettings {
    /// The least memory, in MiB.
    pub(crate) memory_mib: Option<u64>,
    pub(crate) sessions: Option<usize>,
}

/// Settings for each kind of export.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ExportAdvice {
    pub(crate) text: AdvisedSettings,
    pub(crate) parquet: AdvisedSettings,
    /// There is no file to which rows could go.
    pub(crate) lacks_file: bool,
}

impl ExportAdvice {
    /// The answer to an export that has no memory.
    pub(crate) fn refusal(&self, need: ExportNeed) -> ApiError {
        let AdvisedSettings { memory_mib, sessions } = match need {
            ExportNeed::Text => self.text,
            ExportNeed::Parquet => self.parquet,
        };
        let refused = |advice: &str| {
            let message = format!("there is no memory for this export beside the rows and values of the session: {advice}");
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "export_no_room", message)
        };
        let file = format!("{TEMP_MAX}, so that rows make room for it");
        match (memory_mib, sessions) {
            (Some(memory), _) if self.lacks_file => refused(&format!("give {MEMORY} {memory}MiB and {file}")),
            (None, _) if self.lacks_file => refused(&format!("give {file}")),
            (Some(memory), Some(sessions)) => refused(&format!("give {MEMORY} {memory}MiB or {SESSIONS} {sessions}")),
            (Some(memory), None) => refused(&format!("give {MEMORY} {memory}MiB")),
            // There is enough for one.
            (None, _) => refused("others have it now, try again later").retry_after(5),
        }
    }
}

//! The run that an upload's bytes go to.

use super::table_resources::SpooledTable;
use crate::ingest::feed::FeedSource;
use rorqual_accesslog::analyze::LogRun;

/// The run that an upload's bytes go to.
pub(super) enum UploadRun {
    /// The analysis of a log.
    Log(Box<LogRun>),
    /// A table, which is read once all of it is there.
    Table { source: FeedSource, spooled: SpooledTable },
}

impl UploadRun {
    pub(super) fn log(&self) -> Option<&LogRun> {
        match self {
            Self::Log(run) => Some(run),
            Self::Table { .. } => None,
        }
    }
}

//! Files of a log that is several, as far as they were read.

use super::outcome::Failure;
use crate::state::{SavedFormat, SavedParts};
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::report::InputReport;
use std::collections::HashMap;
use std::sync::Arc;

/// Files of a log so far.
#[derive(Default)]
pub(super) struct PartsRead {
    /// Files that came to an end.
    pub(super) ended: Vec<InputReport>,
    /// Name of the one that is read.
    pub(super) current: Option<String>,
    /// Bytes and lines of those before it.
    pub(super) before: (u64, u64),
    /// Files that are followed, side by side.
    pub(super) following: Vec<InputReport>,
    /// Failure of one that is in no known format.
    pub(super) unknown: Option<Failure>,
    /// Formats of files that have another than the first.
    pub(super) formats: Arc<HashMap<Box<str>, Arc<LogFormat>>>,
}

impl PartsRead {
    /// Files as they were kept.
    pub(super) fn restored(saved: SavedParts) -> Self {
        let format = |(name, format): (String, SavedFormat)| Some((name.into(), Arc::new(format.format()?)));
        let formats = Arc::new(saved.formats.into_iter().filter_map(format).collect());
        Self { ended: saved.read, formats, ..Self::default() }
    }
}

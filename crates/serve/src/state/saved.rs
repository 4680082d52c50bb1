//! Sessions as they are kept.

use super::file_identity::SavedFile;
use super::names::VERSION;
use crate::limits::NAME_BYTES_MAX;
use crate::saved_schema::SavedSchema;
use crate::session::SessionEnd;
use data_encoding::BASE64;
use rorqual_accesslog::aggregate::AnalysisCounts;
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::report::{Guess, InputReport};
use rorqual_accesslog::{LogVariable, OWN_NUMBERS_MAX, OWN_TEXTS_MAX, OwnColumns};
use rorqual_pipe::ResumePoint;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::time::SystemTime;

/// All of a session but its rows.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedSession {
    pub(super) version: u32,
    pub(crate) name: String,
    pub(crate) size: Option<u64>,
    pub(crate) metadata: Option<String>,
    pub(crate) fingerprint: Option<String>,
    pub(crate) created: SystemTime,
    /// `null` while more is to come.
    pub(crate) ended: Option<SessionEnd>,
    /// The format that came with it.
    pub(crate) given: Option<SavedFormat>,
    /// The one that was found.
    pub(crate) format: Option<SavedFormat>,
    /// Fit of that format to the first lines; absent in files of an earlier version.
    #[serde(default)]
    pub(crate) guess: Option<Guess>,
    /// Columns of the log's own; absent where it has none, and in files of an earlier version.
    #[serde(default)]
    pub(crate) own: Option<SavedColumns>,
    /// Offset from which its upload goes on, in bytes as they are sent.
    pub(crate) offset: u64,
    /// True in the middle of a line that is too long.
    pub(crate) skipping: bool,
    /// Lines before that.
    pub(crate) lines: u64,
    /// Bytes taken in, after decoding.
    pub(crate) decoded_bytes: u64,
    pub(crate) counts: AnalysisCounts,
    /// The file of the server that it is; `None` of an upload.
    #[serde(default)]
    pub(crate) file: Option<SavedFile>,
    /// The files that it is, where these are several.
    #[serde(default)]
    pub(crate) parts: Option<SavedParts>,
    /// The table that it is; `None` of a log.
    #[serde(default)]
    pub(crate) table: Option<SavedTable>,
}

/// A table that was read to its end.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedTable {
    /// Name of its format, for people.
    pub(crate) format: String,
    pub(crate) schema: SavedSchema,
    /// The columns by which lines that are appended are read, in base64; `None` where none are.
    pub(crate) columns: Option<String>,
    /// Records were left out, which are those that were too long for this memory, among others.
    pub(crate) has_flaws: bool,
    /// Memory and threads that it was read with.
    pub(crate) read_with: (u64, usize),
}

impl SavedTable {
    /// The columns by which lines that are appended are read.
    pub(crate) fn columns(&self) -> Option<Vec<u8>> {
        self.columns.as_ref().and_then(|columns| BASE64.decode(columns.as_bytes()).ok())
    }
}

/// A format, by its name and as it was given.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedFormat {
    name: String,
    source: String,
}

/// The columns of a log's own, by name and kind in the order in which they came, and how many of
/// texts and of numbers there may be.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedColumns {
    variables: Vec<(String, String)>,
    texts_max: usize,
    numbers_max: usize,
}

impl SavedColumns {
    pub(crate) fn new(own: &OwnColumns) -> Self {
        let (texts_max, numbers_max) = own.most();
        Self { variables: own.asked().iter().map(LogVariable::written).collect(), texts_max, numbers_max }
    }

    /// The columns, as many of them as there may be.
    pub(crate) fn columns(&self) -> OwnColumns {
        let variables: Vec<LogVariable> =
            self.variables.iter().filter_map(|(name, kind)| LogVariable::read(name, kind)).collect();
        OwnColumns::new(&variables, self.texts_max.min(OWN_TEXTS_MAX), self.numbers_max.min(OWN_NUMBERS_MAX))
    }
}

/// A session that was kept, for the choice among them.
pub(crate) struct SessionCandidate {
    pub(crate) id: String,
    pub(crate) created: SystemTime,
    pub(crate) ended: bool,
}

/// A session as it was kept.
pub(crate) struct StoredSession {
    pub(crate) id: String,
    pub(crate) saved: SavedSession,
    /// The head of its rows.
    pub(crate) head: Vec<u8>,
    pub(crate) journal: File,
}

impl SavedSession {
    pub(crate) fn new(name: &str, created: SystemTime, counts: AnalysisCounts) -> Self {
        Self {
            version: VERSION,
            name: name.to_owned(),
            size: None,
            metadata: None,
            fingerprint: None,
            created,
            ended: None,
            given: None,
            format: None,
            guess: None,
            own: None,
            offset: 0,
            skipping: false,
            lines: 0,
            decoded_bytes: 0,
            counts,
            file: None,
            parts: None,
            table: None,
        }
    }

    /// True if a session may be so, whatever it was.
    pub(super) fn is_sound(&self) -> bool {
        let counted = [self.offset, self.lines, self.decoded_bytes].iter().all(|count| *count <= i64::MAX as u64);
        let begun = self.offset > 0 && self.ended.is_none();
        counted
            && self.name.len() <= NAME_BYTES_MAX
            && self.size.is_none_or(|size| self.offset <= size)
            && !(begun && self.format.is_none())
    }

    pub(crate) fn place(&self) -> ResumePoint {
        ResumePoint { offset: self.offset, skipping: self.skipping }
    }
}

impl SavedFormat {
    pub(crate) fn new(format: &LogFormat) -> Self {
        Self { name: format.name().to_owned(), source: format.source().to_owned() }
    }

    /// `None` where this version knows it no longer.
    pub(crate) fn format(&self) -> Option<LogFormat> {
        LogFormat::named(&self.name).or_else(|| LogFormat::parse(&self.source).ok())
    }
}

/// A file of a log that has several, in the order in which they are read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LogPart {
    pub(crate) name: String,
    pub(crate) size: u64,
}

/// Files of a log that is kept.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedParts {
    pub(crate) files: Vec<LogPart>,
    pub(crate) read: Vec<InputReport>,
    pub(crate) formats: Vec<(String, SavedFormat)>,
}

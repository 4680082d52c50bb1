//! Sessions that outlive the server: `--state DIR`. Of each the folder has a journal of its rows,
//! and a file with all else, which is written anew by each checkpoint and takes the place of the
//! one before at once. Beside it is a copy of the latest that is on the disk for sure, which only a
//! later one of that kind replaces: from it a session goes on where the machine lost what came
//! after it.
//!
//! Files that the server reads itself are kept in the same way, each in a folder of its own, for
//! the next time that they are opened: the cache.

mod checkpoints;
mod dir;
mod file_cache;
mod file_identity;

pub(crate) use checkpoints::Checkpoints;
pub(crate) use dir::StateDir;
pub use file_cache::CacheSettings;
pub(crate) use file_cache::{CacheEntry, FileCache, NotCached};
pub(crate) use file_identity::SavedFile;

use crate::limits::{ID_BYTES, NAME_BYTES_MAX};
use crate::saved_schema::SavedSchema;
use crate::session::{SavedParts, SessionEnd};
use data_encoding::BASE64;
use rorqual_accesslog::aggregate::AnalysisCounts;
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::report::Guess;
use rorqual_accesslog::{LogVariable, OWN_NUMBERS_MAX, OWN_TEXTS_MAX, OwnColumns};
use rorqual_digest::{Algorithm, Hasher};
use rorqual_pipe::ResumePoint;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::time::SystemTime;

/// Version of these files; others are left alone.
const VERSION: u32 = 3;

const SESSION: &str = "session";
const SYNCED: &str = "synced";
const ROWS: &str = "rows";
const LOCK: &str = "lock";

/// Name of a file that is being written: this, and then as the session.
const UNFINISHED: &str = "new-";
const TMP: &str = "tmp";

/// Name of one that is to be a copy.
const COPY: &str = "copy";

/// Of all that follows it in a session's file.
fn checksum(parts: &[&[u8]]) -> String {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finish().to_string()
}

/// The name of an entry with that key, as sessions have names.
fn hex_id(key: &[&[u8]]) -> String {
    let mut id = checksum(key);
    id.truncate(2 * ID_BYTES);
    id
}

/// True if a name is that of a session.
fn is_id(name: &str) -> bool {
    name.len() == 2 * ID_BYTES && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// All of a session but its rows.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedSession {
    version: u32,
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
    fn is_sound(&self) -> bool {
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

/// Content of one of its files, for tests of others.
#[cfg(test)]
pub(crate) fn content(path: &std::path::Path) -> Vec<u8> {
    std::fs::read(path).expect("it is there")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rorqual_accesslog::aggregate::{Analysis, SpanFilter};
    use std::fs;
    use std::io;
    use std::sync::Arc;
    use tempfile::TempDir;

    const ID: &str = "00112233445566aa";

    fn folder() -> (TempDir, Arc<StateDir>, Checkpoints) {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let dir = StateDir::open(folder.path()).expect("it is empty");
        dir.journal(ID).expect("a file can be made");
        let checkpoints = Checkpoints::new(&dir, ID);
        (folder, dir, checkpoints)
    }

    fn try_write(checkpoints: &Checkpoints, lines: u64) -> io::Result<()> {
        let counts = Analysis::new(1 << 20, SpanFilter::default(), None).counts();
        let saved = SavedSession { lines, ..SavedSession::new("test.log", SystemTime::UNIX_EPOCH, counts) };
        checkpoints.write(|| saved, || Ok(b"head".to_vec()))
    }

    fn write(checkpoints: &Checkpoints, lines: u64) {
        try_write(checkpoints, lines).expect("it can be written");
    }

    /// Lines that a server would go on from after a kill, and after a power cut that took the
    /// unsynced bytes.
    fn lines(dir: &StateDir) -> (Option<u64>, Option<u64>) {
        let lines = |extension| dir.read(ID, &dir.path(ID, extension)).ok().map(|found| found.saved.lines);
        (lines(SESSION), lines(SYNCED))
    }

    /// Takes any but the checkpoint of so many lines.
    fn take_but(dir: &StateDir, lines: u64, kind: io::ErrorKind) -> Result<u64, String> {
        dir.take(ID, |found| if found.saved.lines == lines { Err(kind.into()) } else { Ok(found.saved.lines) })
    }

    #[test]
    fn what_is_not_synced_takes_the_place_of_nothing_that_is() {
        let (_folder, dir, checkpoints) = folder();
        assert!(!checkpoints.is_newer());
        write(&checkpoints, 1);
        checkpoints.sync(|| Ok(())).expect("it can be written");
        assert_eq!(lines(&dir), (Some(1), Some(1)));
        write(&checkpoints, 2);
        write(&checkpoints, 3);
        assert_eq!(lines(&dir), (Some(3), Some(1)));
        // The next server, after a kill, knows no more than the files.
        let next = Checkpoints::new(&dir, ID);
        assert!(next.is_newer(), "what the one before did not sync");
        next.sync(|| Ok(())).expect("it can be written");
        assert_eq!(lines(&dir), (Some(3), Some(3)));
        assert!(!Checkpoints::new(&dir, ID).is_newer(), "it is there");
        write(&next, 4);
        next.sync(|| try_write(&next, 5)).expect("it can be written");
        assert_eq!(lines(&dir), (Some(5), Some(4)));
        assert!(next.is_newer(), "another came meanwhile");
        next.sync(|| Ok(())).expect("it can be written");
        next.sync(|| panic!("there is nothing to do")).expect("nothing is done");
        assert_eq!((lines(&dir), next.is_newer()), ((Some(5), Some(5)), false));
    }

    #[test]
    fn what_failed_is_done_by_the_next_try() {
        let (folder, dir, checkpoints) = folder();
        write(&checkpoints, 1);
        checkpoints.sync(|| Err(io::ErrorKind::StorageFull.into())).expect_err("the journal is not there");
        assert_eq!((lines(&dir), checkpoints.is_newer()), ((Some(1), None), true));
        checkpoints.sync(|| Ok(())).expect("there is room now");
        assert_eq!((lines(&dir), checkpoints.is_newer()), ((Some(1), Some(1)), false));
        // Somebody takes the latest away, and puts something in its place.
        fs::remove_file(dir.path(ID, SESSION)).expect("it is there");
        write(&checkpoints, 2);
        fs::remove_file(dir.path(ID, SESSION)).expect("it is there");
        fs::create_dir(dir.path(ID, SESSION)).expect("there is none");
        try_write(&checkpoints, 3).expect_err("there is a folder");
        assert!(!checkpoints.due(), "it is not tried again at once");
        fs::remove_dir(dir.path(ID, SESSION)).expect("it is empty");
        write(&checkpoints, 4);
        assert_eq!(lines(&dir), (Some(4), Some(1)));
        assert_eq!(fs::read_dir(folder.path()).expect("it is there").count(), 4, "the lock, rows, and two of these");
    }

    #[test]
    fn a_session_goes_on_from_the_earlier_checkpoint_where_the_later_one_is_not_whole() {
        let (_folder, dir, checkpoints) = folder();
        write(&checkpoints, 1);
        checkpoints.sync(|| Ok(())).expect("it can be written");
        write(&checkpoints, 2);
        assert_eq!(take_but(&dir, 0, io::ErrorKind::UnexpectedEof), Ok(2));
        fs::write(dir.path(ID, SESSION), "torn").expect("it can be written");
        let (known, wrong) = dir.sessions().expect("a folder");
        assert_eq!((known.len(), wrong.len()), (1, 0));
        assert!(dir.path(ID, SESSION).exists(), "it may find no place, and is left then");
        let both = take_but(&dir, 1, io::ErrorKind::InvalidData).expect_err("neither is whole");
        assert!(both.contains(".session: this is not a session") && both.contains(".synced: "), "{both}");
        assert_eq!(take_but(&dir, 0, io::ErrorKind::UnexpectedEof), Ok(1));
        assert_eq!(lines(&dir), (Some(1), Some(1)), "the later one is not tried again");
        assert_eq!(take_but(&dir, 0, io::ErrorKind::UnexpectedEof), Ok(1));
        let next = Checkpoints::new(&dir, ID);
        assert!(!next.is_newer());
        write(&next, 3);
        assert_eq!((lines(&dir), next.is_newer()), ((Some(3), Some(1)), true));
    }

    #[test]
    fn what_may_pass_does_not_lose_the_later_checkpoint() {
        let (_folder, dir, checkpoints) = folder();
        write(&checkpoints, 1);
        checkpoints.sync(|| Ok(())).expect("it can be written");
        write(&checkpoints, 2);
        for kind in [io::ErrorKind::OutOfMemory, io::ErrorKind::PermissionDenied, io::ErrorKind::Other] {
            take_but(&dir, 2, kind).expect_err("it is not damaged");
            assert_eq!(lines(&dir), (Some(2), Some(1)));
        }
        // Of a version to come.
        let content = b"{\"version\":9}\n";
        let foreign = [checksum(&[content]).as_bytes(), b"\n", content].concat();
        fs::write(dir.path(ID, SESSION), &foreign).expect("it can be written");
        take_but(&dir, 0, io::ErrorKind::Other).expect_err("it is not ours");
        assert_eq!(fs::read(dir.path(ID, SESSION)).expect("it is there"), foreign);
    }

    #[test]
    fn what_was_being_written_is_removed_and_no_session() {
        let (folder, dir, checkpoints) = folder();
        write(&checkpoints, 1);
        let ours = [TMP, COPY].map(|extension| folder.path().join(format!("{UNFINISHED}{ID}.{extension}")));
        let foreign = [SESSION, ROWS].map(|extension| folder.path().join(format!("{UNFINISHED}{ID}.{extension}")));
        ours.iter().chain(&foreign).for_each(|path| fs::write(path, "").expect("it can be written"));
        let (known, wrong) = dir.sessions().expect("a folder");
        assert_eq!((known.len(), wrong.len()), (1, 0));
        assert!(foreign.iter().all(|path| path.exists()) && !ours.iter().any(|path| path.exists()));
    }

    #[test]
    fn what_is_forgotten_while_it_is_synced_leaves_nothing() {
        let (folder, _dir, checkpoints) = folder();
        write(&checkpoints, 1);
        let forget = || {
            checkpoints.remove();
            Ok(())
        };
        checkpoints.sync(forget).expect("there is nothing to do");
        write(&checkpoints, 2);
        let names: Vec<_> = fs::read_dir(folder.path()).expect("it is there").flatten().map(|entry| entry.file_name()).collect();
        assert_eq!(names, [LOCK]);
    }
}

//! Sessions that outlive the server: `--state DIR`. Of each the folder has a journal of its rows, and a file with all else, which is written
//! anew by each checkpoint and takes the place of the one before at once.

use crate::limits::{CHECKPOINT_EVERY, NAME_BYTES_MAX, STATE_FILE_BYTES_MAX};
use crate::sessions::ID_BYTES;
use rorqual_digest::{Algorithm, Hasher};
use rorqual_pipe::{Place, reason};
use rorqual_table::aggregate::Counts;
use rorqual_table::format::Format;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime};

/// What the version of these files is; others are left alone.
const VERSION: u32 = 1;

const SESSION: &str = "session";
const ROWS: &str = "rows";
const LOCK: &str = "lock";

/// How a file that is being written is named: so, and then as the session.
const UNFINISHED: &str = "new-";
const TMP: &str = "tmp";

/// Whether a server would give a session such an id.
fn is_id(text: &str) -> bool {
    text.len() == 2 * ID_BYTES && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Of all that follows it in a session's file.
fn checksum(parts: &[&[u8]]) -> String {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    parts.iter().for_each(|part| hasher.update(part));
    hasher.finish().to_string()
}

/// The folder, which one server has at a time.
pub(crate) struct StateDir {
    folder: PathBuf,
    _lock: File,
}

/// All of a session but its rows.
#[derive(Serialize, Deserialize)]
pub(crate) struct Saved {
    version: u32,
    pub(crate) name: String,
    pub(crate) size: Option<u64>,
    pub(crate) metadata: Option<String>,
    pub(crate) fingerprint: Option<String>,
    pub(crate) created: SystemTime,
    /// `null` while more is to come.
    pub(crate) ended: Option<Ended>,
    /// The format that came with it.
    pub(crate) given: Option<SavedFormat>,
    /// The one that was found.
    pub(crate) format: Option<SavedFormat>,
    /// Where its upload goes on, in bytes as they are sent.
    pub(crate) offset: u64,
    /// That is in the middle of a line that is too long.
    pub(crate) skipping: bool,
    /// Lines before that.
    pub(crate) lines: u64,
    /// Bytes taken in, after decoding.
    pub(crate) decoded_bytes: u64,
    pub(crate) counts: Counts,
}

/// How it ended.
#[derive(Serialize, Deserialize)]
pub(crate) struct Ended {
    pub(crate) state: crate::session::State,
    pub(crate) error: Option<Value>,
}

/// A format, by its name and as it was given.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedFormat {
    name: String,
    source: String,
}

/// The checkpoints of one session.
pub(crate) struct Checkpoints {
    dir: Arc<StateDir>,
    id: String,
    last: Mutex<Option<Instant>>,
}

/// A session as it was kept.
pub(crate) struct Found {
    pub(crate) id: String,
    pub(crate) saved: Saved,
    /// The head of its rows.
    pub(crate) head: Vec<u8>,
    pub(crate) journal: File,
}

impl Saved {
    pub(crate) fn new(name: &str, created: SystemTime, counts: Counts) -> Self {
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
            offset: 0,
            skipping: false,
            lines: 0,
            decoded_bytes: 0,
            counts,
        }
    }

    /// Whether a session may be so, whatever it was.
    fn is_sound(&self) -> bool {
        let counted = [self.offset, self.lines, self.decoded_bytes].iter().all(|count| *count <= i64::MAX as u64);
        let begun = self.offset > 0 && self.ended.is_none();
        let named = self.name.len() <= NAME_BYTES_MAX && self.ended.as_ref().is_none_or(|ended| ended.state.ended());
        counted && named && self.size.is_none_or(|size| self.offset <= size) && !(begun && self.format.is_none())
    }

    pub(crate) fn place(&self) -> Place {
        Place { offset: self.offset, skipping: self.skipping }
    }
}

impl SavedFormat {
    pub(crate) fn new(format: &Format) -> Self {
        Self { name: format.name().to_owned(), source: format.source().to_owned() }
    }

    /// `None` where this version knows it no longer.
    pub(crate) fn format(&self) -> Option<Format> {
        Format::named(&self.name).or_else(|| Format::parse(&self.source).ok())
    }
}

impl StateDir {
    /// Takes the folder, and makes it where there is none.
    ///
    /// # Errors
    /// When it can't be written, or another server has it; for people.
    pub(crate) fn open(folder: &Path) -> Result<Arc<Self>, String> {
        let failed = |cause: io::Error| format!("--state {}: {}", folder.display(), reason(&cause));
        // Logs say who visited whom.
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
        let lock =
            OpenOptions::new().mode(0o600).create(true).truncate(false).write(true).open(folder.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Arc::new(Self { folder: folder.to_owned(), _lock: lock })),
            Err(TryLockError::WouldBlock) => {
                Err(format!("--state {}: another server has this folder; give each its own", folder.display()))
            }
            Err(TryLockError::Error(cause)) => Err(failed(cause)),
        }
    }

    /// Removes the journal of a session that is not to be.
    pub(crate) fn forget_journal(&self, id: &str) {
        let _ = fs::remove_file(self.path(id, ROWS));
    }

    /// Its path, for messages.
    pub(crate) fn folder(&self) -> String {
        self.folder.display().to_string()
    }

    /// An empty journal for the rows of a new session.
    pub(crate) fn journal(&self, id: &str) -> io::Result<File> {
        OpenOptions::new().create(true).truncate(true).read(true).write(true).mode(0o600).open(self.path(id, ROWS))
    }

    /// The sessions that were kept, and what is wrong with others. What a server left that was ended in the middle of a checkpoint
    /// is removed.
    pub(crate) fn sessions(&self) -> io::Result<(Vec<Found>, Vec<String>)> {
        let (mut found, mut wrong, mut journals) = (Vec::new(), Vec::new(), Vec::new());
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            // Whatever else is in the folder is not ours.
            if !is_id(id.strip_prefix(UNFINISHED).unwrap_or(&id)) {
                continue;
            }
            match path.extension().and_then(|extension| extension.to_str()) {
                Some(SESSION) => match self.read(&id, &path) {
                    Ok(session) => found.push(session),
                    Err(cause) => wrong.push(format!("{}: {}", path.display(), reason(&cause))),
                },
                Some(ROWS) => journals.push((id, path)),
                // What can't be removed is in nobody's way.
                Some(TMP) => drop(fs::remove_file(path)),
                _ => {}
            }
        }
        for (id, path) in journals {
            if !self.path(&id, SESSION).exists() {
                let _ = fs::remove_file(path);
            }
        }
        Ok((found, wrong))
    }

    fn read(&self, id: &str, path: &Path) -> io::Result<Found> {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        // Opening a FIFO waits for its writer.
        if !fs::symlink_metadata(path)?.is_file() {
            return Err(damaged("this is no file"));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(STATE_FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        let no_session = || damaged("this is no session that was kept, or it is damaged");
        let line_end = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n');
        let end = line_end(&bytes).filter(|_| bytes.len() as u64 <= STATE_FILE_BYTES_MAX).ok_or_else(no_session)?;
        let mut content = bytes.split_off(end + 1);
        if bytes[..end] != *checksum(&[&content]).as_bytes() {
            return Err(no_session());
        }
        let end = line_end(&content).ok_or_else(no_session)?;
        let saved: Saved = serde_json::from_slice(&content[..end]).map_err(|error| damaged(&error.to_string()))?;
        if saved.version != VERSION {
            return Err(damaged(&format!("it was kept by another version ({})", saved.version)));
        }
        if !saved.is_sound() {
            return Err(no_session());
        }
        let journal = OpenOptions::new().read(true).write(true).open(self.path(id, ROWS))?;
        Ok(Found { id: id.to_owned(), saved, head: content.split_off(end + 1), journal })
    }

    fn path(&self, id: &str, extension: &str) -> PathBuf {
        self.folder.join(id).with_extension(extension)
    }
}

impl Checkpoints {
    pub(crate) fn new(dir: &Arc<StateDir>, id: &str) -> Self {
        Self { dir: Arc::clone(dir), id: id.to_owned(), last: Mutex::default() }
    }

    /// Whether the last one is a while ago.
    pub(crate) fn due(&self) -> bool {
        self.lock().is_none_or(|last| last.elapsed() >= CHECKPOINT_EVERY)
    }

    /// One is made now. Where it fails, the next try is as far off: a disk that is full stays so.
    pub(crate) fn begin(&self) {
        *self.lock() = Some(Instant::now());
    }

    /// Puts what is known now in the place of what was known before.
    pub(crate) fn write(&self, saved: &Saved, head: &[u8], sync: bool) -> io::Result<()> {
        let mut line = serde_json::to_vec(saved)?;
        line.push(b'\n');
        let checksum = checksum(&[&line, head]);
        if (checksum.len() + 1 + line.len() + head.len()) as u64 > STATE_FILE_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "there is too much of it"));
        }
        let name = format!("{UNFINISHED}{}", self.id);
        let mut file =
            tempfile::Builder::new().prefix(&name).suffix(&format!(".{TMP}")).rand_bytes(0).tempfile_in(&self.dir.folder)?;
        for part in [checksum.as_bytes(), b"\n", &line, head] {
            file.write_all(part)?;
        }
        if sync {
            file.as_file().sync_data()?;
        }
        file.persist(self.dir.path(&self.id, SESSION)).map_err(|error| error.error)?;
        Ok(())
    }

    /// Forgets the session. What can't be removed is offered again by the next server, and no loss.
    pub(crate) fn remove(&self) {
        for extension in [SESSION, ROWS] {
            let _ = fs::remove_file(self.dir.path(&self.id, extension));
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

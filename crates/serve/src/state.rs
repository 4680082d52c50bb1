//! Sessions that outlive the server: `--state DIR`. Of each the folder has a journal of its rows, and a file with all else, which is written
//! anew by each checkpoint and takes the place of the one before at once. Beside it is a copy of the latest that is on the disk for sure, which only
//! a later one of that kind replaces: from it a session goes on where the machine lost what came after it.

use crate::limits::{CHECKPOINT_EVERY, CHECKPOINT_RETRY, NAME_BYTES_MAX, STATE_FILE_BYTES_MAX};
use crate::sessions::ID_BYTES;
use rorqual_digest::{Algorithm, Hasher};
use rorqual_pipe::{Place, reason};
use rorqual_table::aggregate::Counts;
use rorqual_table::format::Format;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tempfile::NamedTempFile;
use tokio::time::Instant;

/// What the version of these files is; others are left alone.
const VERSION: u32 = 1;

const SESSION: &str = "session";
const SYNCED: &str = "synced";
const ROWS: &str = "rows";
const LOCK: &str = "lock";

/// How a file that is being written is named: so, and then as the session.
const UNFINISHED: &str = "new-";
const TMP: &str = "tmp";

/// And one that is to be a copy.
const COPY: &str = "copy";

/// Whether a server would give a session such an id.
fn is_id(text: &str) -> bool {
    text.len() == 2 * ID_BYTES && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether an error is one of what a machine left that ended in the middle: others may pass, and what is there is to wait for that.
fn is_damage(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound)
}

/// Whether two files have the same bytes.
fn is_same(one: &Path, other: &Path) -> io::Result<bool> {
    let (first, second) = (fs::metadata(one)?, fs::metadata(other)?);
    if !first.is_file() || !second.is_file() || first.len() != second.len() {
        return Ok(false);
    }
    let bytes = |path| Ok::<_, io::Error>(BufReader::new(File::open(path)?).bytes());
    let (mut one, mut other) = (bytes(one)?, bytes(other)?);
    loop {
        match (one.next().transpose()?, other.next().transpose()?) {
            (None, None) => return Ok(true),
            (one, other) if one != other => return Ok(false),
            _ => {}
        }
    }
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
    /// Checkpoints that were written.
    written: AtomicU64,
    /// How many of them had been when the one was written that is on the disk for sure.
    synced: AtomicU64,
    /// Held by who waits for the disk, and by nobody else.
    syncing: Mutex<()>,
    done: Mutex<Done>,
}

/// What was done with the files of one.
#[derive(Default)]
struct Done {
    /// Not before this is the next one due.
    next: Option<Instant>,
    /// The last could not be written.
    failed: bool,
    /// It is forgotten.
    removed: bool,
}

/// A session that was kept, for the choice among them.
pub(crate) struct Known {
    pub(crate) id: String,
    pub(crate) created: SystemTime,
    pub(crate) ended: bool,
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
    pub(crate) fn sessions(&self) -> io::Result<(Vec<Known>, Vec<String>)> {
        let (mut ids, mut journals) = (BTreeSet::new(), Vec::new());
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            // Whatever else is in the folder is not ours.
            match path.extension().and_then(|extension| extension.to_str()) {
                Some(SESSION | SYNCED) if is_id(&id) => drop(ids.insert(id)),
                Some(ROWS) if is_id(&id) => journals.push((id, path)),
                // What can't be removed is in nobody's way.
                Some(TMP | COPY) if id.strip_prefix(UNFINISHED).is_some_and(is_id) => drop(fs::remove_file(path)),
                _ => {}
            }
        }
        for (id, path) in journals {
            if !ids.contains(&id) {
                let _ = fs::remove_file(path);
            }
        }
        let (mut known, mut wrong) = (Vec::new(), Vec::new());
        for id in ids {
            match self.latest(&id, Ok) {
                Ok((Found { saved, .. }, _)) => known.push(Known { id, created: saved.created, ended: saved.ended.is_some() }),
                Err(why) => wrong.push(why),
            }
        }
        Ok((known, wrong))
    }

    /// Takes what `make` makes of the latest checkpoint, or of the one that is on the disk for sure where the latest is damaged or missing.
    ///
    /// # Errors
    /// Why there is none, for people; then all is left as it is.
    pub(crate) fn take<T>(&self, id: &str, make: impl Fn(Found) -> io::Result<T>) -> Result<T, String> {
        let (made, damage) = self.latest(id, make)?;
        if let Some(damage) = damage {
            tracing::warn!(session = id, damage, "it goes on from an earlier checkpoint (--state)");
            // With what is written from now on the later one does not go together. Where this fails, the next checkpoint takes its place.
            let _ = self.go_back(id).or_else(|_| fs::remove_file(self.path(id, SESSION))).and_then(|()| self.sync());
        }
        Ok(made)
    }

    /// And what is wrong with the latest, where it is not made of that.
    fn latest<T>(&self, id: &str, make: impl Fn(Found) -> io::Result<T>) -> Result<(T, Option<String>), String> {
        let made = |extension| {
            let path = self.path(id, extension);
            let made = self.read(id, &path).and_then(&make);
            made.map_err(|cause| (cause.kind(), format!("{}: {}", path.display(), reason(&cause))))
        };
        match made(SESSION) {
            Ok(made) => Ok((made, None)),
            Err((kind, damage)) if is_damage(kind) => match made(SYNCED) {
                Ok(made) => Ok((made, Some(damage))),
                Err((io::ErrorKind::NotFound, _)) => Err(damage),
                Err((_, why)) => Err(format!("{damage}; {why}")),
            },
            Err((_, why)) => Err(why),
        }
    }

    /// Puts the checkpoint that is on the disk for sure in the place of the latest.
    fn go_back(&self, id: &str) -> io::Result<()> {
        let mut copy = self.unfinished(id, TMP)?;
        io::copy(&mut File::open(self.path(id, SYNCED))?, copy.as_file_mut())?;
        copy.persist(self.path(id, SESSION)).map(drop).map_err(|error| error.error)
    }

    /// A file that is gone unless it gets its name.
    fn unfinished(&self, id: &str, extension: &str) -> io::Result<NamedTempFile> {
        let name = format!("{UNFINISHED}{id}");
        tempfile::Builder::new().prefix(&name).suffix(&format!(".{extension}")).rand_bytes(0).tempfile_in(&self.folder)
    }

    /// Waits until the names in the folder are on the disk.
    fn sync(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    fn read(&self, id: &str, path: &Path) -> io::Result<Found> {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let foreign = |what: &str| io::Error::new(io::ErrorKind::Unsupported, what.to_owned());
        // Opening a FIFO waits for its writer.
        if !fs::symlink_metadata(path)?.is_file() {
            return Err(foreign("this is no file"));
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
        let saved: Saved = serde_json::from_slice(&content[..end]).map_err(|error| foreign(&error.to_string()))?;
        if saved.version != VERSION {
            return Err(foreign(&format!("it was kept by another version ({})", saved.version)));
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
        let latest = dir.path(id, SESSION);
        // A kill may have come between a checkpoint and its copy.
        let newer = latest.exists() && !is_same(&latest, &dir.path(id, SYNCED)).unwrap_or(false);
        Self {
            dir: Arc::clone(dir),
            id: id.to_owned(),
            written: AtomicU64::new(newer.into()),
            synced: AtomicU64::new(0),
            syncing: Mutex::default(),
            done: Mutex::default(),
        }
    }

    /// Whether the last one is a while ago.
    pub(crate) fn due(&self) -> bool {
        self.lock().next.is_none_or(|next| Instant::now() >= next)
    }

    /// Whether the last one failed, and that not long ago.
    pub(crate) fn failed(&self) -> bool {
        let failed = self.lock().failed;
        failed && !self.due()
    }

    /// Puts what is known now in the place of what was known before. It is in the hands of the system then, and outlasts the server.
    pub(crate) fn write(&self, saved: &Saved, head: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<()> {
        self.next_in(CHECKPOINT_RETRY, true);
        let head = head()?;
        let mut line = serde_json::to_vec(saved)?;
        line.push(b'\n');
        let checksum = checksum(&[&line, &head]);
        if (checksum.len() + 1 + line.len() + head.len()) as u64 > STATE_FILE_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "there is too much of it"));
        }
        let mut file = self.dir.unfinished(&self.id, TMP)?;
        for part in [checksum.as_bytes(), b"\n", &line, &head] {
            file.write_all(part)?;
        }
        let done = self.lock();
        if done.removed {
            return Ok(());
        }
        file.persist(self.path(SESSION)).map_err(|error| error.error)?;
        self.written.fetch_add(1, Ordering::Relaxed);
        drop(done);
        self.next_in(CHECKPOINT_EVERY, false);
        Ok(())
    }

    fn next_in(&self, time: Duration, failed: bool) {
        let mut done = self.lock();
        (done.next, done.failed) = (Some(Instant::now() + time), failed);
    }

    /// Whether the last is not on the disk for sure.
    pub(crate) fn is_newer(&self) -> bool {
        self.written.load(Ordering::Relaxed) != self.synced.load(Ordering::Relaxed)
    }

    /// Has the disk keep a copy of the last, once `journal` has what belongs to it there. Another may be written meanwhile.
    pub(crate) fn sync(&self, journal: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let written = self.written.load(Ordering::Relaxed);
        if self.removed() || written == self.synced.load(Ordering::Relaxed) {
            return Ok(());
        }
        match self.copy(journal) {
            Err(error) if !self.removed() => Err(error),
            _ => {
                self.synced.store(written, Ordering::Relaxed);
                Ok(())
            }
        }
    }

    fn copy(&self, journal: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut copy = self.dir.unfinished(&self.id, COPY)?;
        io::copy(&mut File::open(self.path(SESSION))?, copy.as_file_mut())?;
        journal()?;
        copy.as_file().sync_data()?;
        let done = self.lock();
        if done.removed {
            return Ok(());
        }
        copy.persist(self.path(SYNCED)).map_err(|error| error.error)?;
        drop(done);
        self.dir.sync()
    }

    /// Forgets the session. What can't be removed is offered again by the next server, and no loss.
    pub(crate) fn remove(&self) {
        self.lock().removed = true;
        for extension in [SESSION, SYNCED, ROWS] {
            let _ = fs::remove_file(self.path(extension));
        }
    }

    /// Whether nothing is kept any longer.
    pub(crate) fn removed(&self) -> bool {
        self.lock().removed
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.dir.path(&self.id, extension)
    }

    fn lock(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is in one of its files, for tests of others.
#[cfg(test)]
pub(crate) fn content(path: &Path) -> Vec<u8> {
    fs::read(path).expect("it is there")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rorqual_table::aggregate::{Analysis, Span};
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
        let counts = Analysis::new(1 << 20, Span::default(), None).counts();
        let saved = Saved { lines, ..Saved::new("test.log", SystemTime::UNIX_EPOCH, counts) };
        checkpoints.write(&saved, || Ok(b"head".to_vec()))
    }

    fn write(checkpoints: &Checkpoints, lines: u64) {
        try_write(checkpoints, lines).expect("it can be written");
    }

    /// What a server would go on from after a kill, and after a power cut took what was not synced.
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
        // The next server, behind a kill, knows no more than the files.
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
        assert!(both.contains(".session: this is no session") && both.contains(".synced: "), "{both}");
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
        let content = b"{\"version\":2}\n";
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

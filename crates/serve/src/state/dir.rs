//! The folder with the files of all kept sessions, and their reading.

use super::names::{COPY, LOCK, ROWS, SESSION, SYNCED, TMP, UNFINISHED, VERSION, checksum, is_id};
use super::saved::{SavedSession, SessionCandidate, StoredSession};
use crate::limits::STATE_FILE_BYTES_MAX;
use crate::setting::STATE;
use rorqual_pipe::reason;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use tempfile::NamedTempFile;

/// The folder, which one server has at a time.
pub(crate) struct StateDir {
    folder: PathBuf,
    lock: File,
}

impl StateDir {
    /// Takes the folder, and makes it where there is none.
    ///
    /// # Errors
    /// When it can't be written, or another server has it; for people.
    pub(crate) fn open(folder: &Path) -> Result<Arc<Self>, String> {
        let taken = Self::take_folder(folder);
        let taken = taken.map_err(|cause| format!("{STATE} {}: {}", folder.display(), reason(&cause)))?;
        let others = || format!("{STATE} {}: another server has this folder; give each its own", folder.display());
        taken.ok_or_else(others)
    }

    /// The same; `None` where another server has it.
    pub(super) fn take_folder(folder: &Path) -> io::Result<Option<Arc<Self>>> {
        // Logs tell of visitors.
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let path = folder.join(LOCK);
        let lock = OpenOptions::new().mode(0o600).create(true).truncate(false).write(true).open(&path)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(cause)) => return Err(cause),
        }
        // Whoever had it before may have removed the folder meanwhile.
        let (ours, named) = (lock.metadata()?, fs::metadata(&path)?);
        let is_ours = (ours.dev(), ours.ino()) == (named.dev(), named.ino());
        Ok(is_ours.then(|| Arc::new(Self { folder: folder.to_owned(), lock })))
    }

    /// Notes that it is used now. Where that fails, it seems unused for longer.
    pub(super) fn touch(&self, now: SystemTime) {
        let _ = self.lock.set_modified(now);
    }

    /// True if there is a checkpoint of that session.
    pub(super) fn has(&self, id: &str) -> bool {
        self.path(id, SESSION).exists()
    }

    /// Removes the files of a session. One that can't be removed is found again, and is no loss.
    pub(super) fn clear(&self, id: &str) {
        for extension in [SESSION, SYNCED, ROWS] {
            let _ = fs::remove_file(self.path(id, extension));
        }
        self.clear_unfinished(id);
    }

    /// Removes what a server was writing when it was ended.
    pub(super) fn clear_unfinished(&self, id: &str) {
        for extension in [TMP, COPY] {
            let _ = fs::remove_file(self.path(&format!("{UNFINISHED}{id}"), extension));
        }
    }

    /// The result of `make` from the latest checkpoint, which need not be on the disk.
    pub(super) fn latest_alone<T>(&self, id: &str, make: impl Fn(StoredSession) -> io::Result<T>) -> io::Result<T> {
        self.read(id, &self.path(id, SESSION)).and_then(make)
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

    /// The kept sessions, and faults of others. Files of a server that was ended in the middle of a
    /// checkpoint are removed.
    pub(crate) fn sessions(&self) -> io::Result<(Vec<SessionCandidate>, Vec<String>)> {
        let (mut ids, mut journals) = (BTreeSet::new(), Vec::new());
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let id = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
            // Whatever else is in the folder is not ours.
            match path.extension().and_then(|extension| extension.to_str()) {
                Some(SESSION | SYNCED) if is_id(&id) => drop(ids.insert(id)),
                Some(ROWS) if is_id(&id) => journals.push((id, path)),
                // A file that can't be removed is in nobody's way.
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
                Ok((StoredSession { saved, .. }, _)) => {
                    known.push(SessionCandidate { id, created: saved.created, ended: saved.ended.is_some() });
                }
                Err(why) => wrong.push(why),
            }
        }
        Ok((known, wrong))
    }

    /// The result of `make` from the latest checkpoint, or from the synced one where the latest is
    /// damaged or missing.
    ///
    /// # Errors
    /// Why there is none, for people; then all is left as it is.
    pub(crate) fn take<T>(&self, id: &str, make: impl Fn(StoredSession) -> io::Result<T>) -> Result<T, String> {
        let (made, damage) = self.latest(id, make)?;
        if let Some(damage) = damage {
            tracing::warn!(session = id, damage, "it goes on from an earlier checkpoint");
            // The rows to come do not go together with the later one. Where this fails, the next
            // checkpoint takes its place.
            let _ = self.go_back(id).or_else(|_| fs::remove_file(self.path(id, SESSION))).and_then(|()| self.sync());
        }
        Ok(made)
    }

    /// The same, with the fault of the latest, where it is not made of that.
    fn latest<T>(&self, id: &str, make: impl Fn(StoredSession) -> io::Result<T>) -> Result<(T, Option<String>), String> {
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
    pub(super) fn unfinished(&self, id: &str, extension: &str) -> io::Result<NamedTempFile> {
        let name = format!("{UNFINISHED}{id}");
        tempfile::Builder::new().prefix(&name).suffix(&format!(".{extension}")).rand_bytes(0).tempfile_in(&self.folder)
    }

    /// Waits until the names in the folder are on the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        File::open(&self.folder)?.sync_all()
    }

    pub(super) fn read(&self, id: &str, path: &Path) -> io::Result<StoredSession> {
        let damaged = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
        let foreign = |what: &str| io::Error::new(io::ErrorKind::Unsupported, what.to_owned());
        // Opening a FIFO waits for its writer.
        if !fs::symlink_metadata(path)?.is_file() {
            return Err(foreign("this is no file"));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(STATE_FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
        let no_session = || damaged("this is not a session that was kept, or it is damaged");
        let line_end = |bytes: &[u8]| bytes.iter().position(|byte| *byte == b'\n');
        let end = line_end(&bytes).filter(|_| bytes.len() as u64 <= STATE_FILE_BYTES_MAX).ok_or_else(no_session)?;
        let mut content = bytes.split_off(end + 1);
        if bytes[..end] != *checksum(&[&content]).as_bytes() {
            return Err(no_session());
        }
        let end = line_end(&content).ok_or_else(no_session)?;
        let saved: SavedSession = serde_json::from_slice(&content[..end]).map_err(|error| foreign(&error.to_string()))?;
        if saved.version != VERSION {
            return Err(foreign(&format!("it was kept by another version ({})", saved.version)));
        }
        if !saved.is_sound() {
            return Err(no_session());
        }
        let rows = self.path(id, ROWS);
        let no_rows =
            |cause: io::Error| io::Error::new(cause.kind(), format!("its rows, {}: {}", rows.display(), reason(&cause)));
        let journal = OpenOptions::new().read(true).write(true).open(&rows).map_err(no_rows)?;
        Ok(StoredSession { id: id.to_owned(), saved, head: content.split_off(end + 1), journal })
    }

    pub(super) fn path(&self, id: &str, extension: &str) -> PathBuf {
        self.folder.join(id).with_extension(extension)
    }
}

/// True if an error comes from a machine that ended in the middle: other errors may pass, and the
/// files are to wait for that.
fn is_damage(kind: io::ErrorKind) -> bool {
    matches!(kind, io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound)
}

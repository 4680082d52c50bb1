//! The checkpoints of one session: the latest, and the latest that is synced.

use super::{COPY, ROWS, SESSION, SYNCED, SavedSession, StateDir, TMP, checksum};
use crate::limits::{CHECKPOINT_EVERY, CHECKPOINT_RETRY, STATE_FILE_BYTES_MAX};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The checkpoints of one session.
pub(crate) struct Checkpoints {
    dir: Arc<StateDir>,
    id: String,
    /// Checkpoints that were written.
    written: AtomicU64,
    /// Number of writes at the one that is synced.
    synced: AtomicU64,
    /// Held while waiting for the disk, and for nothing else.
    syncing: Mutex<()>,
    done: Mutex<Done>,
    /// There was a checkpoint.
    begun: AtomicBool,
}

/// Steps done with the files of one.
#[derive(Default)]
struct Done {
    /// Not before this is the next one due.
    next: Option<Instant>,
    /// The last could not be written.
    failed: bool,
    /// It is forgotten.
    removed: bool,
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
            begun: AtomicBool::new(latest.exists()),
        }
    }

    /// True if the last one is a while ago.
    pub(crate) fn due(&self) -> bool {
        self.lock().next.is_none_or(|next| Instant::now() >= next)
    }

    /// True if the last one failed, and that not long ago.
    pub(crate) fn failed(&self) -> bool {
        let failed = self.lock().failed;
        failed && !self.due()
    }

    /// Replaces the latest checkpoint. It is in the hands of the system then, and outlasts the
    /// server.
    pub(crate) fn write(&self, saved: &SavedSession, head: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<()> {
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
        self.begun.store(true, Ordering::Relaxed);
        drop(done);
        self.next_in(CHECKPOINT_EVERY, false);
        Ok(())
    }

    fn next_in(&self, time: Duration, failed: bool) {
        let mut done = self.lock();
        (done.next, done.failed) = (Some(Instant::now() + time), failed);
    }

    /// True if the last is not synced.
    pub(crate) fn is_newer(&self) -> bool {
        self.written.load(Ordering::Relaxed) != self.synced.load(Ordering::Relaxed)
    }

    /// Syncs a copy of the last, once `journal` has synced its rows. Another may be written
    /// meanwhile.
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

    /// Forgets the session. A file that can't be removed is offered again by the next server, and
    /// no loss.
    pub(crate) fn remove(&self) {
        self.lock().removed = true;
        for extension in [SESSION, SYNCED, ROWS] {
            let _ = fs::remove_file(self.path(extension));
        }
    }

    /// True if nothing is kept any longer.
    pub(crate) fn removed(&self) -> bool {
        self.lock().removed
    }

    /// True if the files are where they were put: somebody may have taken them away, or the session
    /// gave them up.
    pub(crate) fn are_there(&self) -> bool {
        let there = |extension| self.path(extension).exists();
        !self.removed() && (!self.begun.load(Ordering::Relaxed) || (there(ROWS) && (there(SYNCED) || there(SESSION))))
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.dir.path(&self.id, extension)
    }

    fn lock(&self) -> MutexGuard<'_, Done> {
        self.done.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True if two files have the same bytes.
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

//! The checkpoints of one session: the latest, and the latest that is synced.

use super::dir::StateDir;
use super::names::{COPY, ROWS, SESSION, SYNCED, TMP, checksum};
use super::saved::SavedSession;
use crate::limits::{CHECKPOINT_EVERY, CHECKPOINT_RETRY, STATE_FILE_BYTES_MAX};
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The checkpoints of one session.
pub(crate) struct Checkpoints {
    dir: Arc<StateDir>,
    id: String,
    /// Held while waiting for the disk, and taken before `progress`.
    syncing: Mutex<()>,
    progress: Mutex<CheckpointProgress>,
}

/// Steps done with the files of one.
#[derive(Default)]
struct CheckpointProgress {
    /// Something of the session is in no checkpoint.
    outdated: bool,
    /// Checkpoints that were written.
    written: u64,
    /// Number of writes at the one that is synced.
    synced: u64,
    /// There was a checkpoint.
    begun: bool,
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
            syncing: Mutex::default(),
            progress: Mutex::new(CheckpointProgress {
                written: newer.into(),
                begun: latest.exists(),
                ..CheckpointProgress::default()
            }),
        }
    }

    /// The session has something that is in no checkpoint.
    pub(crate) fn outdate(&self) {
        self.lock().outdated = true;
    }

    /// True if something of the session is in no checkpoint.
    pub(crate) fn is_outdated(&self) -> bool {
        self.lock().outdated
    }

    /// True if the last one is a while ago.
    pub(crate) fn due(&self) -> bool {
        self.lock().due()
    }

    /// True if the last one failed, and that not long ago.
    pub(crate) fn failed(&self) -> bool {
        let progress = self.lock();
        progress.failed && !progress.due()
    }

    /// Replaces the latest checkpoint. It is in the hands of the system then, and outlasts the
    /// server.
    pub(crate) fn write(
        &self,
        saved: impl FnOnce() -> SavedSession,
        head: impl FnOnce() -> io::Result<Vec<u8>>,
    ) -> io::Result<()> {
        let mut progress = self.lock();
        progress.outdated = false;
        progress.next_in(CHECKPOINT_RETRY, true);
        drop(progress);
        self.replace(&saved(), head).inspect_err(|_| self.outdate())
    }

    fn replace(&self, saved: &SavedSession, head: impl FnOnce() -> io::Result<Vec<u8>>) -> io::Result<()> {
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
        let mut progress = self.lock();
        if progress.removed {
            return Ok(());
        }
        file.persist(self.path(SESSION)).map_err(|error| error.error)?;
        progress.written += 1;
        progress.begun = true;
        progress.next_in(CHECKPOINT_EVERY, false);
        Ok(())
    }

    /// True if the last is not synced.
    pub(crate) fn is_newer(&self) -> bool {
        self.lock().is_newer()
    }

    /// Syncs a copy of the last, once `journal` has synced its rows. Another may be written
    /// meanwhile.
    pub(crate) fn sync(&self, journal: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let _syncing = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let written = self.lock().written;
        if self.removed() || !self.is_newer() {
            return Ok(());
        }
        let copied = self.copy(journal);
        let mut progress = self.lock();
        if progress.removed || copied.is_ok() {
            progress.synced = written;
            return Ok(());
        }
        copied
    }

    fn copy(&self, journal: impl FnOnce() -> io::Result<()>) -> io::Result<()> {
        let mut copy = self.dir.unfinished(&self.id, COPY)?;
        io::copy(&mut File::open(self.path(SESSION))?, copy.as_file_mut())?;
        journal()?;
        copy.as_file().sync_data()?;
        let progress = self.lock();
        if progress.removed {
            return Ok(());
        }
        copy.persist(self.path(SYNCED)).map_err(|error| error.error)?;
        drop(progress);
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

    /// True if all of the session is synced, and the files are where they were put: somebody may
    /// have taken them away, or the session gave them up.
    pub(crate) fn are_whole(&self) -> bool {
        let (is_synced, begun) = {
            let progress = self.lock();
            (!progress.removed && !progress.outdated && !progress.is_newer(), progress.begun)
        };
        let there = |extension| self.path(extension).is_file();
        is_synced && (!begun || (there(ROWS) && (there(SYNCED) || there(SESSION))))
    }

    /// The file of its rows.
    pub(crate) fn rows_path(&self) -> PathBuf {
        self.path(ROWS)
    }

    fn path(&self, extension: &str) -> PathBuf {
        self.dir.path(&self.id, extension)
    }

    fn lock(&self) -> MutexGuard<'_, CheckpointProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CheckpointProgress {
    fn next_in(&mut self, time: Duration, failed: bool) {
        (self.next, self.failed) = (Some(Instant::now() + time), failed);
    }

    fn due(&self) -> bool {
        self.next.is_none_or(|next| Instant::now() >= next)
    }

    fn is_newer(&self) -> bool {
        self.written != self.synced
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

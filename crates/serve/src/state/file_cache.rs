//! Files of the server that were read before: of each a folder has an entry, which is a folder as
//! `--state` has for sessions, with the checkpoint of one. An entry is of one server at a time, and
//! those that were used longest ago give way.

use super::checkpoints::Checkpoints;
use super::dir::StateDir;
use super::file_identity::FileIdentity;
use super::names::{LOCK, hex_id, is_id};
use super::saved::{SavedSession, StoredSession};
use crate::limits::CACHED_FILE_BYTES_MIN;
use crate::setting::{CACHE_DIR, CACHE_MAX};
use rorqual_pipe::{format_size, reason};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Folder for rows of files that the server reads, and its most bytes.
#[derive(Debug, Clone)]
pub struct CacheSettings {
    /// The folder, made where there is none.
    pub folder: PathBuf,
    /// Most bytes of all entries together.
    pub bytes_max: u64,
    /// Everything that a user may set and that decides what the rows of a file are.
    pub meaning: String,
}

/// The entries of a server's cache.
pub(crate) struct FileCache {
    settings: CacheSettings,
}

/// The entry of one file, which this server has.
pub(crate) struct CacheEntry {
    dir: Arc<StateDir>,
    id: String,
    pub(crate) checkpoints: Checkpoints,
    /// The file as it was when it was opened.
    pub(crate) identity: FileIdentity,
    /// Checksum of parts of it then.
    sample: String,
    /// Path under which it was opened.
    path: PathBuf,
    settings: CacheSettings,
}

/// Reasons for which a file is read without the cache.
pub(crate) enum NotCached {
    /// It takes no longer to read it.
    Small,
    /// A sentence for people.
    Refused(String),
}

impl FileCache {
    pub(crate) fn new(settings: CacheSettings) -> Self {
        Self { settings }
    }

    /// The entry of an open file.
    pub(crate) fn entry(&self, path: &Path, file: &File) -> Result<CacheEntry, NotCached> {
        let refused = |cause: io::Error| {
            let folder = self.settings.folder.display();
            NotCached::Refused(format!("its rows are not kept for the next time ({CACHE_DIR} {folder}): {}", reason(&cause)))
        };
        let identity = FileIdentity::of(path, file).map_err(refused)?;
        if identity.size() < CACHED_FILE_BYTES_MIN {
            return Err(NotCached::Small);
        }
        let sample = identity.sample(file).map_err(refused)?;
        let id = hex_id(&[identity.path().as_bytes(), b"\0", self.settings.meaning.as_bytes()]);
        let folder = self.settings.folder.join(&id);
        let dir = StateDir::take_folder(&folder).map_err(refused)?.ok_or_else(|| {
            let message =
                "another server has this file open: its rows are neither taken from the cache nor kept for the next time";
            NotCached::Refused(message.to_owned())
        })?;
        dir.touch(SystemTime::now());
        dir.clear_unfinished(&id);
        let checkpoints = Checkpoints::new(&dir, &id);
        let settings = self.settings.clone();
        Ok(CacheEntry { dir, id, checkpoints, identity, sample, path: path.to_owned(), settings })
    }
}

impl CacheEntry {
    /// The rows that were kept of this file, where it is as it was, or longer, and `fitting` has
    /// settings for them; `make` makes a session of them. Anything else that the entry has is
    /// removed.
    ///
    /// # Errors
    /// The reason for which rows that there are can't be had, for people.
    pub(crate) fn take<S, T>(
        &self,
        file: &File,
        fitting: impl Fn(&SavedSession) -> Option<S>,
        make: impl Fn(S, StoredSession) -> io::Result<T>,
    ) -> Result<Option<T>, String> {
        if !self.dir.has(&self.id) {
            self.clear();
            return Ok(None);
        }
        let taken = self.dir.latest_alone(&self.id, |stored| {
            let saved = &stored.saved;
            let is_known = saved.file.as_ref().is_some_and(|known| known.identity.goes_on(&self.identity, file, saved.offset));
            let settings = if is_known { fitting(saved) } else { None };
            settings.map(|settings| make(settings, stored)).transpose()
        });
        match taken {
            Ok(None) => {
                self.clear();
                Ok(None)
            }
            Ok(made) => Ok(made),
            Err(cause) => {
                self.clear();
                Err(format!("its rows can't be taken from the cache, and it is read anew: {}", reason(&cause)))
            }
        }
    }

    /// The file that has its path now.
    pub(crate) fn open_again(&self) -> io::Result<File> {
        File::open(&self.path)
    }

    /// True if its path still names the file that was opened, and nothing was written to that.
    pub(crate) fn is_unchanged(&self) -> bool {
        let now = File::open(&self.path).and_then(|file| FileIdentity::of(&self.path, &file));
        now.is_ok_and(|now| now == self.identity)
    }

    /// True if the bytes that the file had when it was opened are in it still, as far as parts of
    /// them tell; more may have come.
    pub(crate) fn is_as_begun(&self, file: &File) -> bool {
        self.identity.sample(file).is_ok_and(|now| now == self.sample)
    }

    /// An empty journal for its rows.
    pub(crate) fn journal(&self) -> io::Result<File> {
        self.clear();
        self.dir.journal(&self.id)
    }

    /// Stops keeping its rows; told once.
    pub(crate) fn give_up(&self, why: &str) {
        if !self.checkpoints.removed() {
            tracing::warn!(file = self.path.display().to_string(), why, "its rows are not kept for the next time");
            self.checkpoints.remove();
        }
    }

    /// Most bytes of the journal.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.settings.bytes_max
    }

    /// Removes all that it has; its rows stay for those who have them open.
    pub(crate) fn clear(&self) {
        self.dir.clear(&self.id);
    }

    /// Makes room for it, at the cost of those that were used longest ago.
    ///
    /// # Errors
    /// A sentence where there is none, for people; it is removed then.
    pub(crate) fn make_room(&self) -> Result<(), String> {
        let bytes_max = self.settings.bytes_max;
        let (mut others, mut bytes) = (Vec::new(), 0);
        for entry in fs::read_dir(&self.settings.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if is_id(&name) {
                let (size, used) = size_and_use(&entry.path());
                bytes += size;
                others.extend((name != self.id).then(|| (used, entry.path(), size)));
            }
        }
        others.sort();
        for (_, path, size) in others {
            if bytes <= bytes_max {
                break;
            }
            // One that another server has stays.
            if let Ok(Some(dir)) = StateDir::take_folder(&path) {
                bytes -= size;
                // What can't be removed is in the next one's way.
                let _ = fs::remove_dir_all(&path);
                drop(dir);
            }
        }
        if bytes <= bytes_max {
            return Ok(());
        }
        self.clear();
        let most = format_size(bytes_max);
        Err(format!("the cache has no room for them within {most} ({CACHE_MAX})"))
    }
}

/// Bytes of an entry's files, and the time of its last use.
fn size_and_use(folder: &Path) -> (u64, SystemTime) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let bytes = files.filter_map(|file| Some(file.metadata().ok()?.len())).sum();
    let used = fs::metadata(folder.join(LOCK)).and_then(|lock| lock.modified());
    (bytes, used.unwrap_or(SystemTime::UNIX_EPOCH))
}

//! The folder for rows that do not fit the memory.

use rorqual_pipe::reason;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use tempfile::Builder;

const PREFIX: &str = "rorqual-query-";

/// Held locked as long as the folder's process lives, however that ends.
const LOCK: &str = "lock";

/// Name of that file until it is locked.
const UNLOCKED: &str = "lock.new";

/// Number of tries to remove a folder in which files keep appearing.
const REMOVALS_MAX: usize = 100;

/// A folder that is removed at the end. One whose process was killed is removed by the next.
pub struct TempFolder {
    path: PathBuf,
    _lock: File,
}

impl TempFolder {
    /// Makes a folder in `parent`, and removes those that nobody uses any more.
    ///
    /// # Errors
    /// When no folder can be made there.
    pub fn create(parent: Option<&Path>) -> Result<Self, String> {
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        remove_left(&parent);
        let made = make(&parent);
        made.map_err(|cause| format!("{}: cannot make a folder for temporary files: {}", parent.display(), reason(&cause)))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it with all that is in it.
    pub fn remove(&self) {
        remove(&self.path);
    }
}

impl Drop for TempFolder {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Removes such a folder with all that is in it, and no other. Tries again where a cancelled task
/// has just put a file there.
pub(crate) fn remove(folder: &Path) {
    if !folder.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(PREFIX.as_bytes())) {
        return;
    }
    for _ in 0..REMOVALS_MAX {
        if std::fs::remove_dir_all(folder).is_ok() || !folder.exists() {
            return;
        }
    }
}

fn make(parent: &Path) -> io::Result<TempFolder> {
    let path = Builder::new().prefix(PREFIX).tempdir_in(parent)?.keep();
    let unlocked = path.join(UNLOCKED);
    let lock = File::create(&unlocked)?;
    lock.try_lock()?;
    // It gets its name when it is locked: no process takes the folder for one that was left.
    std::fs::rename(unlocked, path.join(LOCK))?;
    Ok(TempFolder { path, _lock: lock })
}

/// Removes the folders of processes that were killed.
fn remove_left(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_string_lossy().starts_with(PREFIX);
        if is_ours && is_left(&entry.path()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// True if nobody holds the folder's lock. One that has none yet is being made, or its process was
/// killed just then.
fn is_left(folder: &Path) -> bool {
    let lock = File::open(folder.join(LOCK));
    lock.is_ok_and(|lock| lock.try_lock().is_ok())
}

//! Views of the page that people gave names, for all logs of a server.

use super::StateDir;
use super::names::{TMP, UNFINISHED};
use crate::limits::{SAVED_VIEWS_BYTES_MAX, SAVED_VIEWS_FILE_BYTES_MAX};
use rorqual_pipe::reason;
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Version of the file; another is left alone.
const VERSION: u32 = 1;

/// Name of the file in the state folder.
const FILE: &str = "views.json";

/// Name of such a file that is being written, before its extension.
const VIEWS: &str = "views";

/// A view with a name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SavedView {
    /// Name, which no other view has.
    pub(crate) name: String,
    /// Part of the page's address after `#`, without the session.
    pub(crate) address: String,
    /// Seconds since 1970 when it was saved.
    pub(crate) saved: f64,
}

/// Views with names, oldest first. They are in a file of the state folder, or else last as long as
/// the server.
pub(crate) struct SavedViews {
    dir: Option<PathBuf>,
    /// The reason, for people, where the file can't be read: then it is left as it is.
    views: Mutex<Result<Vec<SavedView>, String>>,
}

/// A reason why views are not as they were asked to be.
#[derive(Debug)]
pub(crate) enum SaveError {
    /// They would have more bytes than there is room for.
    Full,
    /// The file in the folder is damaged or of another version.
    Unreadable(String),
    /// The file can't be written; for people.
    Unwritable(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ViewsFile {
    version: u32,
    views: Vec<SavedView>,
}

impl SavedViews {
    /// Reads the views of a folder. Blocks.
    pub(crate) fn open(dir: Option<&StateDir>) -> Self {
        let Some(dir) = dir else { return Self { dir: None, views: Mutex::new(Ok(Vec::new())) } };
        let path = dir.folder_path().join(FILE);
        let views = match read(&path) {
            Ok(views) => Ok(views),
            Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(cause) => {
                let why = format!("{}: {}", path.display(), reason(&cause));
                tracing::warn!(why, "views with names can't be read");
                Err(why)
            }
        };
        Self { dir: Some(dir.folder_path().to_owned()), views: Mutex::new(views) }
    }

    /// True if they outlive the server.
    pub(crate) fn are_kept(&self) -> bool {
        self.dir.is_some()
    }

    /// The views, oldest first.
    pub(crate) fn list(&self) -> Result<Vec<SavedView>, SaveError> {
        self.lock().clone().map_err(SaveError::Unreadable)
    }

    /// Adds a view, in the place of the one with its name where there is one; false then. Blocks.
    pub(crate) fn save(&self, view: SavedView) -> Result<bool, SaveError> {
        self.change(|views| {
            let before = views.iter_mut().find(|own| own.name == view.name);
            let is_new = before.is_none();
            match before {
                Some(own) => *own = view,
                None => views.push(view),
            }
            let bytes: usize = views.iter().map(|view| size_of::<SavedView>() + view.name.len() + view.address.len()).sum();
            if bytes > SAVED_VIEWS_BYTES_MAX { Err(SaveError::Full) } else { Ok(is_new) }
        })
    }

    /// Removes a view; false where there is none with that name. Blocks.
    pub(crate) fn remove(&self, name: &str) -> Result<bool, SaveError> {
        self.change(|views| {
            let before = views.len();
            views.retain(|view| view.name != name);
            Ok(views.len() < before)
        })
    }

    /// The result of a change, which is on the disk before others see it.
    fn change<T>(&self, change: impl FnOnce(&mut Vec<SavedView>) -> Result<T, SaveError>) -> Result<T, SaveError> {
        let mut views = self.lock();
        let before = views.as_ref().map_err(|why| SaveError::Unreadable(why.clone()))?;
        let mut after = before.clone();
        let result = change(&mut after)?;
        if let Some(dir) = self.dir.as_deref().filter(|_| after != *before) {
            let why = |cause: io::Error| SaveError::Unwritable(format!("{}: {}", dir.join(FILE).display(), reason(&cause)));
            write(dir, &after).map_err(why)?;
        }
        *views = Ok(after);
        Ok(result)
    }

    fn lock(&self) -> MutexGuard<'_, Result<Vec<SavedView>, String>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(path: &Path) -> io::Result<Vec<SavedView>> {
    let damaged = |what: String| io::Error::new(ErrorKind::InvalidData, what);
    // Opening a FIFO waits for its writer.
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(damaged("this is no file".to_owned()));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(SAVED_VIEWS_FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SAVED_VIEWS_FILE_BYTES_MAX {
        return Err(damaged(format!("it has more than {SAVED_VIEWS_FILE_BYTES_MAX} bytes")));
    }
    let file: ViewsFile = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if file.version != VERSION {
        return Err(damaged(format!("it was kept by another version ({})", file.version)));
    }
    Ok(file.views)
}

/// Writes the file whole, or not at all: the one before is there until it is on the disk.
fn write(dir: &Path, views: &[SavedView]) -> io::Result<()> {
    let (prefix, suffix) = (format!("{UNFINISHED}{VIEWS}"), format!(".{TMP}"));
    // One that a server was writing when it was ended.
    let _ = fs::remove_file(dir.join(format!("{prefix}{suffix}")));
    let mut file = tempfile::Builder::new().prefix(&prefix).suffix(&suffix).rand_bytes(0).tempfile_in(dir)?;
    let content = ViewsFile { version: VERSION, views: views.to_vec() };
    file.write_all(&serde_json::to_vec(&content).map_err(io::Error::from)?)?;
    file.as_file().sync_all()?;
    file.persist(dir.join(FILE)).map_err(|error| error.error)?;
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tempfile::TempDir;

    fn folder() -> (TempDir, Arc<StateDir>) {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let dir = StateDir::open(folder.path()).expect("it is empty");
        (folder, dir)
    }

    fn view(name: &str, address: &str) -> SavedView {
        SavedView { name: name.to_owned(), address: address.to_owned(), saved: 1.5 }
    }

    #[test]
    fn views_are_replaced_by_name_removed_and_there_again() {
        let (_folder, dir) = folder();
        let views = SavedViews::open(Some(&dir));
        assert!(views.are_kept() && views.list().expect("none").is_empty());
        assert!(views.save(view("errors", "f=status%20%3E%3D%20500")).expect("room"));
        assert!(views.save(view("slow\u{301}", "order=-bytes")).expect("room"));
        assert!(!views.save(view("errors", "f=status%20%3D%20504")).expect("room"));
        let expected = [view("errors", "f=status%20%3D%20504"), view("slow\u{301}", "order=-bytes")];
        assert_eq!(views.list().expect("two"), expected);
        assert_eq!(SavedViews::open(Some(&dir)).list().expect("two"), expected);
        assert!(views.remove("errors").expect("it is written"));
        assert!(!views.remove("errors").expect("nothing to do"));
        assert_eq!(SavedViews::open(Some(&dir)).list().expect("one"), expected[1..]);
    }

    #[test]
    fn views_without_a_folder_last_as_long_as_the_server() {
        let views = SavedViews::open(None);
        assert!(!views.are_kept());
        views.save(view("errors", "")).expect("room");
        assert_eq!(views.list().expect("one"), [view("errors", "")]);
    }

    #[test]
    fn views_have_a_bound_and_a_refused_one_changes_nothing() {
        let (_folder, dir) = folder();
        let views = SavedViews::open(Some(&dir));
        let address = "\u{1}".repeat(4 << 10);
        let mut saved = 0;
        let refused = loop {
            match views.save(view(&saved.to_string(), &address)) {
                Ok(_) => saved += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, SaveError::Full) && saved >= 20, "{saved}: {refused:?}");
        assert!(views.save(view("0", "")).is_ok(), "a smaller one takes less");
        // However its characters are escaped in the file.
        assert_eq!(SavedViews::open(Some(&dir)).list().expect("all").len(), saved);
    }

    #[test]
    fn a_file_that_can_not_be_read_is_left_as_it_is() {
        for (content, why) in [("{\"version\":1,\"views\":[", "EOF"), ("{\"version\":9,\"views\":[]}", "another version (9)")] {
            let (folder, dir) = folder();
            let path = folder.path().join(FILE);
            fs::write(&path, content).expect("room");
            let views = SavedViews::open(Some(&dir));
            for error in [views.list().err(), views.save(view("a", "")).err(), views.remove("a").err()] {
                let Some(SaveError::Unreadable(message)) = error else { panic!("{error:?}") };
                assert!(message.contains(why) && message.contains(FILE), "{message}");
            }
            assert_eq!(fs::read_to_string(&path).expect("it is there"), content);
        }
    }

    #[test]
    fn a_view_that_is_not_written_is_not_shown() {
        let (folder, dir) = folder();
        let views = SavedViews::open(Some(&dir));
        views.save(view("a", "")).expect("room");
        // A folder with a file in it is in the way of the name.
        fs::remove_file(folder.path().join(FILE)).expect("it is there");
        fs::create_dir_all(folder.path().join(FILE).join("b")).expect("room");
        let refused = views.save(view("c", "")).expect_err("it can't be written");
        assert!(matches!(&refused, SaveError::Unwritable(why) if why.contains(FILE)), "{refused:?}");
        assert_eq!(views.list().expect("as before"), [view("a", "")]);
        assert!(!folder.path().join("new-views.tmp").exists());
        fs::remove_dir_all(folder.path().join(FILE)).expect("it is ours");
        // One that a server was writing when it was killed is in nobody's way.
        fs::write(folder.path().join("new-views.tmp"), "torn").expect("room");
        views.save(view("c", "")).expect("room");
        assert_eq!(SavedViews::open(Some(&dir)).list().expect("two"), [view("a", ""), view("c", "")]);
    }
}

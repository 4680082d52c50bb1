//! Views of the page that people gave names, for all logs of a server.

use super::StateDir;
use super::names::TMP;
use crate::limits::{SAVED_VIEW_ADDRESS_BYTES_MAX, SAVED_VIEW_NAME_BYTES_MAX, SAVED_VIEWS_BYTES_MAX, SAVED_VIEWS_FILE_BYTES_MAX};
use rorqual_pipe::reason;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::OwnedMutexGuard;

/// Version of the file; another is left alone.
const VERSION: u32 = 1;

/// Name of the file in the state folder, before its extension.
const VIEWS: &str = "views";

/// Extension of the file.
const JSON: &str = "json";

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

/// Saved views, in the order in which their names came. They are in a file of the state folder, or
/// else last as long as the server.
pub(crate) struct SavedViews {
    dir: Option<Arc<StateDir>>,
    /// Held from before a change until it is on the disk.
    turn: Arc<tokio::sync::Mutex<()>>,
    /// The reason, for people, where the file can't be read: then it is left as it is. Held for a
    /// moment only.
    views: Mutex<Result<Vec<SavedView>, String>>,
}

/// A reason why views are not as they were asked to be; for people.
#[derive(Debug)]
pub(crate) enum SavedViewsError {
    /// They would have more bytes than there is room for.
    Full,
    /// The file in the folder is damaged or of another version.
    Unreadable(String),
    /// The file can't be written: nothing was changed.
    Unwritable(String),
    /// The change was made, and may not outlast a power cut.
    Unsynced(String),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ViewsFile {
    version: u32,
    views: Vec<SavedView>,
}

impl SavedView {
    /// The reason, for people, why it is no view; `None` where it is one.
    pub(crate) fn fault(&self) -> Option<String> {
        let Self { name, address, .. } = self;
        let unfit = |char: char| char.is_control() || is_invisible(char);
        // A browser takes these for steps in a path.
        if name.is_empty() || name.trim() != name || matches!(&**name, "." | "..") || name.chars().any(unfit) {
            let message = "the name of a saved view has a letter or sign, and no space at its ends, control character or \
                           invisible one; it is not '.' or '..'";
            return Some(message.to_owned());
        }
        if name.len() > SAVED_VIEW_NAME_BYTES_MAX {
            return Some(format!("the name of a saved view has at most {SAVED_VIEW_NAME_BYTES_MAX} bytes"));
        }
        if address.len() > SAVED_VIEW_ADDRESS_BYTES_MAX {
            let message = format!(
                "the view is too long to be saved: its address has {} bytes, and may have {SAVED_VIEW_ADDRESS_BYTES_MAX}",
                address.len()
            );
            return Some(message);
        }
        let message = "\"address\" is a part of an address, which has no control characters";
        address.chars().any(char::is_control).then(|| message.to_owned())
    }

    /// Memory that it takes.
    fn bytes(&self) -> usize {
        size_of::<Self>() + self.name.len() + self.address.len()
    }
}

/// True for characters that show nothing, or turn the text around them.
fn is_invisible(char: char) -> bool {
    matches!(char, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

impl SavedViews {
    /// Reads the views of a folder. Blocks.
    pub(crate) fn open(dir: Option<Arc<StateDir>>) -> Self {
        let views = dir.as_deref().map_or_else(
            || Ok(Vec::new()),
            |dir| {
                dir.clear_unfinished(VIEWS);
                let path = dir.path(VIEWS, JSON);
                match read(&path) {
                    Err(cause) if cause.kind() == ErrorKind::NotFound => Ok(Vec::new()),
                    read => read.map_err(|cause| named(&path, &cause)),
                }
            },
        );
        if let Err(why) = &views {
            tracing::warn!(why, "saved views can't be read");
        }
        Self { dir, turn: Arc::default(), views: Mutex::new(views) }
    }

    /// True if they outlive the server.
    pub(crate) fn are_kept(&self) -> bool {
        self.dir.is_some()
    }

    /// The views, in the order in which their names came.
    pub(crate) fn list(&self) -> Result<Vec<SavedView>, SavedViewsError> {
        self.lock().clone().map_err(SavedViewsError::Unreadable)
    }

    /// The turn to change them, which one request has at a time.
    pub(crate) async fn turn(&self) -> OwnedMutexGuard<()> {
        Arc::clone(&self.turn).lock_owned().await
    }

    /// Adds a view, in the place of the one with its name where there is one; false then. Blocks.
    pub(crate) fn save(&self, view: SavedView, turn: &OwnedMutexGuard<()>) -> Result<bool, SavedViewsError> {
        self.change(turn, |views| {
            let before = views.iter_mut().find(|own| own.name == view.name);
            let is_new = before.is_none();
            match before {
                Some(own) => *own = view,
                None => views.push(view),
            }
            if fit(views) { Ok(is_new) } else { Err(SavedViewsError::Full) }
        })
    }

    /// Removes a view; false where there is none with that name. Blocks.
    pub(crate) fn remove(&self, name: &str, turn: &OwnedMutexGuard<()>) -> Result<bool, SavedViewsError> {
        self.change(turn, |views| {
            let before = views.len();
            views.retain(|view| view.name != name);
            Ok(views.len() < before)
        })
    }

    /// The result of a change, which is on the disk before others see it.
    fn change<T>(
        &self,
        _turn: &OwnedMutexGuard<()>,
        change: impl FnOnce(&mut Vec<SavedView>) -> Result<T, SavedViewsError>,
    ) -> Result<T, SavedViewsError> {
        let before = self.list()?;
        let mut after = before.clone();
        let result = change(&mut after)?;
        let dir = self.dir.as_deref().filter(|_| after != before);
        let why = |dir: &StateDir, cause: &io::Error| named(&dir.path(VIEWS, JSON), cause);
        if let Some(dir) = dir {
            write(dir, &after).map_err(|cause| SavedViewsError::Unwritable(why(dir, &cause)))?;
        }
        *self.lock() = Ok(after);
        if let Some(dir) = dir {
            dir.sync().map_err(|cause| SavedViewsError::Unsynced(why(dir, &cause)))?;
        }
        Ok(result)
    }

    fn lock(&self) -> MutexGuard<'_, Result<Vec<SavedView>, String>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn named(path: &Path, cause: &io::Error) -> String {
    format!("{}: {}", path.display(), reason(cause))
}

fn fit(views: &[SavedView]) -> bool {
    views.iter().map(SavedView::bytes).sum::<usize>() <= SAVED_VIEWS_BYTES_MAX
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
    let ViewsFile { version, views } = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if version != VERSION {
        return Err(damaged(format!("it was kept by another version ({version})")));
    }
    if let Some(fault) = views.iter().find_map(SavedView::fault) {
        return Err(damaged(fault));
    }
    let names: BTreeSet<&str> = views.iter().map(|view| &*view.name).collect();
    if names.len() < views.len() {
        return Err(damaged("two views have one name".to_owned()));
    }
    if fit(&views) { Ok(views) } else { Err(damaged(format!("its views have more than {SAVED_VIEWS_BYTES_MAX} bytes"))) }
}

/// Writes the file whole, or not at all: the one before is there until it is on the disk.
fn write(dir: &StateDir, views: &[SavedView]) -> io::Result<()> {
    let mut file = dir.unfinished(VIEWS, TMP)?;
    let content = ViewsFile { version: VERSION, views: views.to_vec() };
    file.write_all(&serde_json::to_vec(&content).map_err(io::Error::from)?)?;
    file.as_file().sync_all()?;
    file.persist(dir.path(VIEWS, JSON)).map(drop).map_err(|error| error.error)
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

    fn save(views: &SavedViews, view: SavedView) -> Result<bool, SavedViewsError> {
        views.save(view, &Arc::clone(&views.turn).blocking_lock_owned())
    }

    fn remove(views: &SavedViews, name: &str) -> Result<bool, SavedViewsError> {
        views.remove(name, &Arc::clone(&views.turn).blocking_lock_owned())
    }

    #[test]
    fn views_are_replaced_by_name_removed_and_there_again() {
        let (_folder, dir) = folder();
        let views = SavedViews::open(Some(Arc::clone(&dir)));
        assert!(views.are_kept() && views.list().expect("none").is_empty());
        assert!(save(&views, view("errors", "f=status%20%3E%3D%20500")).expect("room"));
        assert!(save(&views, view("slow\u{301}", "order=-bytes")).expect("room"));
        assert!(!save(&views, view("errors", "f=status%20%3D%20504")).expect("room"));
        let expected = [view("errors", "f=status%20%3D%20504"), view("slow\u{301}", "order=-bytes")];
        assert_eq!(views.list().expect("two"), expected);
        assert_eq!(SavedViews::open(Some(Arc::clone(&dir))).list().expect("two"), expected);
        assert!(remove(&views, "errors").expect("it is written"));
        assert!(!remove(&views, "errors").expect("nothing to do"));
        assert_eq!(SavedViews::open(Some(Arc::clone(&dir))).list().expect("one"), expected[1..]);
    }

    #[test]
    fn views_without_a_folder_last_as_long_as_the_server() {
        let views = SavedViews::open(None);
        assert!(!views.are_kept());
        save(&views, view("errors", "")).expect("room");
        assert_eq!(views.list().expect("one"), [view("errors", "")]);
    }

    #[test]
    fn views_have_a_bound_and_a_refused_one_changes_nothing() {
        let (_folder, dir) = folder();
        let views = SavedViews::open(Some(Arc::clone(&dir)));
        let address = "\"".repeat(8 << 10);
        let mut saved = 0;
        let refused = loop {
            match save(&views, view(&saved.to_string(), &address)) {
                Ok(_) => saved += 1,
                Err(error) => break error,
            }
        };
        assert!(matches!(refused, SavedViewsError::Full) && saved == 15, "{saved}: {refused:?}");
        assert!(save(&views, view("0", "")).is_ok(), "a smaller one takes less");
        // However its characters are escaped in the file.
        assert_eq!(SavedViews::open(Some(Arc::clone(&dir))).list().expect("all").len(), saved);
    }

    #[test]
    fn a_file_that_can_not_be_read_is_left_as_it_is() {
        let one = |name: &str| format!("{{\"name\":\"{name}\",\"address\":\"\",\"saved\":1}}");
        let file = |views: &[String]| format!("{{\"version\":1,\"views\":[{}]}}", views.join(","));
        let many: Vec<String> = (0..3_000).map(|number| one(&format!("{number:0>60}"))).collect();
        for (content, why) in [
            ("{\"version\":1,\"views\":[".to_owned(), "EOF"),
            ("{\"version\":9,\"views\":[]}".to_owned(), "another version (9)"),
            (file(&[one("a"), one("b"), one("a")]), "two views have one name"),
            (file(&[one("a"), one("..")]), "not '.' or '..'"),
            (file(&many), "more than 131072 bytes"),
            (" ".repeat(2 << 20), "more than 1048576 bytes"),
        ] {
            let (folder, dir) = folder();
            let path = folder.path().join("views.json");
            fs::write(&path, &content).expect("room");
            let views = SavedViews::open(Some(Arc::clone(&dir)));
            for error in [views.list().err(), save(&views, view("a", "")).err(), remove(&views, "a").err()] {
                let Some(SavedViewsError::Unreadable(message)) = error else { panic!("{error:?}") };
                assert!(message.contains(why) && message.contains("views.json"), "{message}");
            }
            assert_eq!(fs::read_to_string(&path).expect("it is there"), content);
        }
    }

    #[test]
    fn a_view_that_is_not_written_is_not_shown() {
        let (folder, dir) = folder();
        let views = SavedViews::open(Some(Arc::clone(&dir)));
        save(&views, view("a", "")).expect("room");
        // A folder with a file in it is in the way of the name.
        fs::remove_file(folder.path().join("views.json")).expect("it is there");
        fs::create_dir_all(folder.path().join("views.json").join("b")).expect("room");
        let refused = save(&views, view("c", "")).expect_err("it can't be written");
        assert!(matches!(&refused, SavedViewsError::Unwritable(why) if why.contains("views.json")), "{refused:?}");
        assert_eq!(views.list().expect("as before"), [view("a", "")]);
        assert!(!folder.path().join("new-views.tmp").exists());
        fs::remove_dir_all(folder.path().join("views.json")).expect("it is ours");
        // One that a server was writing when it was killed is in nobody's way.
        fs::write(folder.path().join("new-views.tmp"), "torn").expect("room");
        let views = SavedViews::open(Some(Arc::clone(&dir)));
        assert!(!folder.path().join("new-views.tmp").exists());
        save(&views, view("a", "")).expect("room");
        save(&views, view("c", "")).expect("room");
        assert_eq!(SavedViews::open(Some(Arc::clone(&dir))).list().expect("two"), [view("a", ""), view("c", "")]);
    }
}

//! Folders of one test each.
#![allow(clippy::expect_used, reason = "a test without a folder has failed")]

use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder for the files of one test; gone with it.
#[derive(Debug)]
pub struct TestFolder(TempDir);

impl TestFolder {
    /// A new one.
    ///
    /// # Panics
    /// When the system has no room for it; so do all here: a test can't go on then.
    #[must_use]
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.path()
    }

    /// The path of `name` in it.
    #[must_use]
    pub fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file in it; its path as text.
    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        std::fs::write(self.at(name), bytes).expect("room on the disk");
        self.text(name)
    }

    /// The path of `name` in it as text.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        self.at(name).to_str().expect("a path of ours").to_owned()
    }

    /// The names in it, sorted.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        names_in(self.path())
    }
}

impl Default for TestFolder {
    fn default() -> Self {
        Self::new()
    }
}

/// The names in a folder, sorted.
#[must_use]
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("it is there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

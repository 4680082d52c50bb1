//! Folders outside of which nothing is read.

use rorqual_pipe::{escaped_path, reason};
use std::path::{Path, PathBuf};

/// Folders whose files may be read, with links resolved.
#[derive(Debug, Clone)]
pub struct Roots(Vec<PathBuf>);

impl Roots {
    /// The folders of a flag of that name.
    ///
    /// # Errors
    /// A sentence, where one is no folder.
    pub fn new(flag: &str, folders: &[PathBuf]) -> Result<Self, String> {
        let resolve = |root: &PathBuf| {
            let resolved = root.canonicalize().map_err(|cause| format!("{flag} {}: {}", escaped_path(root), reason(&cause)))?;
            if resolved.is_dir() { Ok(resolved) } else { Err(format!("{flag} {}: is not a folder", escaped_path(root))) }
        };
        folders.iter().map(resolve).collect::<Result<_, _>>().map(Self)
    }

    /// The folders.
    #[must_use]
    pub fn folders(&self) -> &[PathBuf] {
        &self.0
    }

    /// True if a file or folder is there, and below one of the folders.
    #[must_use]
    pub fn contains(&self, path: &Path) -> bool {
        path.canonicalize().is_ok_and(|file| self.0.iter().any(|root| file.starts_with(root)))
    }

    /// True if a file or folder is below one of the folders, or would be if it were there. Of what
    /// is elsewhere nothing is told, not even whether it is there.
    #[must_use]
    pub fn may_have(&self, path: &Path) -> bool {
        let is_current = |place: &Path| place.as_os_str().is_empty();
        let there = path.ancestors().find(|place| is_current(place) || place.symlink_metadata().is_ok());
        there.is_some_and(|place| self.contains(if is_current(place) { Path::new(".") } else { place }))
    }

    /// The path of a file or folder with links resolved. A relative one is below the first folder
    /// that has it.
    ///
    /// # Errors
    /// A sentence, where there is none or it is not below a folder.
    pub fn resolve(&self, path: &Path) -> Result<PathBuf, String> {
        let mut missing = None;
        for place in self.0.iter().map(|root| root.join(path)).filter(|place| self.may_have(place)) {
            match place.canonicalize() {
                Ok(file) => return Ok(file),
                Err(cause) => missing = Some(cause),
            }
        }
        Err(match missing {
            Some(cause) => format!("{}: {} (files are below {})", escaped_path(path), reason(&cause), self.named()),
            None => format!("{}: is not below {}", escaped_path(path), self.named()),
        })
    }

    /// Names of the folders, for messages.
    #[must_use]
    pub fn named(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|root| escaped_path(root).to_string()).collect();
        names.join(" or ")
    }
}

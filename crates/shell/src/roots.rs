//! Folders outside of which nothing is read.

use rorqual_pipe::{escaped_path, reason};
use std::io;
use std::path::{Path, PathBuf};

/// Folders whose files may be read, with links resolved.
#[derive(Debug, Clone)]
pub struct Roots(Vec<PathBuf>);

impl Roots {
    /// The folders of `--root`.
    ///
    /// # Errors
    /// A sentence, where one is no folder.
    pub fn new(folders: &[PathBuf]) -> Result<Self, String> {
        let resolve = |root: &PathBuf| {
            let resolved = root.canonicalize().map_err(|cause| format!("--root {}: {}", escaped_path(root), reason(&cause)))?;
            if resolved.is_dir() { Ok(resolved) } else { Err(format!("--root {}: is no folder", escaped_path(root))) }
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

    /// The path of a file or folder with links resolved. A relative one is below the first folder
    /// that has it.
    ///
    /// # Errors
    /// A sentence, where there is none or it is not below a folder.
    pub fn resolve(&self, path: &Path) -> Result<PathBuf, String> {
        let mut missing = io::Error::from(io::ErrorKind::NotFound);
        for root in &self.0 {
            match root.join(path).canonicalize() {
                Ok(file) if self.contains(&file) => return Ok(file),
                Ok(_) => return Err(format!("{}: is not below {}", escaped_path(path), self.named())),
                Err(cause) => missing = cause,
            }
        }
        Err(format!("{}: {} (files are below {})", escaped_path(path), reason(&missing), self.named()))
    }

    /// Names of the folders, for messages.
    #[must_use]
    pub fn named(&self) -> String {
        let names: Vec<String> = self.0.iter().map(|root| escaped_path(root).to_string()).collect();
        names.join(" or ")
    }
}

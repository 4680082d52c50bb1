//! Templates from a folder, and from nowhere else.

use crate::limits::TEMPLATES_BYTES_MAX;
use minijinja::{Error, ErrorKind};
use rorqual_pipe::{escaped_path, reason};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A folder of templates, and how much of their text was read.
#[derive(Debug)]
pub(crate) struct TemplateFolder {
    path: PathBuf,
    /// Lengths by name: one that is no template is read again whenever it is named.
    read: Mutex<BTreeMap<String, usize>>,
}

impl TemplateFolder {
    /// # Errors
    /// When there is no such folder.
    pub(crate) fn new(path: &Path) -> Result<Self, Error> {
        let real = path.canonicalize().map_err(|cause| unreadable(&escaped_path(path), &cause))?;
        Ok(Self { path: real, read: Mutex::default() })
    }

    /// The files that were read so far.
    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).keys().map(|name| self.path.join(name)).collect()
    }

    /// The text of a template below the folder; `None` when there is no such file.
    ///
    /// # Errors
    /// When its name leads out of the folder, by `..` or a link, when it is no file or not UTF-8,
    /// and when all together are too long.
    pub(crate) fn read(&self, name: &str) -> Result<Option<String>, Error> {
        // One name for each: `a//b` and `a/./b` would be others for `a/b`.
        let inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if !inside || name.split('/').any(|part| part.is_empty() || part == ".") {
            return Err(outside(name));
        }
        let Ok(real) = self.path.join(name).canonicalize() else { return Ok(None) };
        if !real.starts_with(&self.path) {
            return Err(outside(name));
        }
        // A pipe would keep us waiting.
        if !real.is_file() {
            return Err(Error::new(ErrorKind::InvalidOperation, format!("{name}: is not a file")));
        }
        let mut known = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let others: usize = known.iter().filter(|(other, _)| *other != name).map(|(_, bytes)| bytes).sum();
        let text = read(&real, name, TEMPLATES_BYTES_MAX.saturating_sub(others))?;
        known.insert(name.to_owned(), text.len());
        Ok(Some(text))
    }
}

/// The text of a template of at most so many bytes.
pub(crate) fn read(path: &Path, name: &str, bytes_max: usize) -> Result<String, Error> {
    let mut text = Vec::new();
    let file = File::open(path).map_err(|cause| unreadable(name, &cause))?;
    file.take(bytes_max as u64 + 1).read_to_end(&mut text).map_err(|cause| unreadable(name, &cause))?;
    if text.len() > bytes_max {
        let limit = rorqual_pipe::format_size(TEMPLATES_BYTES_MAX as u64);
        return Err(Error::new(ErrorKind::InvalidOperation, format!("{name}: the templates together may have {limit} of text")));
    }
    String::from_utf8(text).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        Error::new(ErrorKind::InvalidOperation, format!("{name}: is not UTF-8 at byte {offset}"))
    })
}

fn outside(name: &str) -> Error {
    Error::new(ErrorKind::TemplateNotFound, format!("{name:?} is outside of the template's folder"))
}

fn unreadable(name: &str, cause: &std::io::Error) -> Error {
    Error::new(ErrorKind::InvalidOperation, format!("{name}: cannot read: {}", reason(cause)))
}

//! The files to search, one after another.

use rorqual_pipe::{Error, Input, Kind};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// An input, and its name as it is to be printed: a path need not be text.
pub(crate) struct Named {
    pub(crate) name: Vec<u8>,
    pub(crate) input: Input,
}

/// Inputs, opened as they are asked for.
pub(crate) struct Inputs<'a> {
    paths: std::slice::Iter<'a, PathBuf>,
    all: &'a [PathBuf],
    recursive: bool,
    walk: Option<walkdir::IntoIter>,
}

impl<'a> Inputs<'a> {
    pub(crate) fn new(paths: &'a [PathBuf], recursive: bool) -> Self {
        Self { paths: paths.iter(), all: paths, recursive, walk: None }
    }

    /// Size of all inputs as they are stored; `None` where it is not known beforehand.
    pub(crate) fn stored_bytes(&self) -> Option<u64> {
        if self.recursive {
            return None;
        }
        self.all.iter().map(|path| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file).map(|file| file.len())).sum()
    }

    /// The next one, with its path, or what is wrong with it.
    pub(crate) fn next_input(&mut self) -> Option<Result<Named, Error>> {
        loop {
            if let Some(walk) = &mut self.walk {
                match walk.next() {
                    Some(Ok(entry)) if entry.file_type().is_file() => {
                        return Some(named(entry.path(), Input::open(entry.path())));
                    }
                    // Folders are walked; links, FIFOs and devices inside of them are passed over.
                    Some(Ok(_)) => continue,
                    Some(Err(error)) => return Some(Err(of_walk(&error))),
                    None => self.walk = None,
                }
            }
            let path = self.paths.next()?;
            if !(self.recursive && path.is_dir()) {
                return Some(named(path, crate::input::open(path).map_err(|error| hint(path, error))));
            }
            self.walk = Some(WalkDir::new(path).into_iter());
        }
    }
}

fn named(path: &Path, opened: Result<Input, Error>) -> Result<Named, Error> {
    let name: &[u8] = if path.as_os_str() == "-" { b"(standard input)" } else { path.as_os_str().as_bytes() };
    opened.map(|input| Named { name: name.to_vec(), input })
}

fn of_walk(error: &walkdir::Error) -> Error {
    let name = error.path().unwrap_or(Path::new("")).to_string_lossy();
    let cause = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
    Error::new(Kind::Io, name, format!("cannot be walked: {cause}"))
}

fn hint(path: &Path, error: Error) -> Error {
    if path.is_dir() {
        Error::new(Kind::Io, path.to_string_lossy(), "is a directory; -r searches the files in it")
    } else {
        error
    }
}

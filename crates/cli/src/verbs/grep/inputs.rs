//! The files to search, one after another.

use crate::input::{self, FileId};
use crate::verbs::grep::operands::Operands;
use crate::verbs::grep::selection::SelectionFlags;
use ignore::Walk;
use rorqual_pipe::{Error, ErrorClass, Input};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// An input, and its name as it is to be printed: a path need not be text.
pub(crate) struct NamedInput {
    pub(crate) name: Vec<u8>,
    pub(crate) input: Input,
    pub(crate) is_stdin: bool,
}

impl NamedInput {
    /// True if one worker may take the whole of it; where standard input was read to is kept by
    /// all.
    pub(crate) fn is_small(&self) -> bool {
        self.input.is_small() && !self.is_stdin
    }

    /// True if one thread has to decode it.
    pub(crate) fn is_encoded(&self) -> bool {
        self.input.is_encoded_file() && !self.is_stdin
    }
}

/// Inputs, opened as they are asked for.
pub(crate) struct Inputs<'a> {
    paths: std::slice::Iter<'a, PathBuf>,
    operands: &'a Operands,
    selection: &'a SelectionFlags,
    walk: Option<Walk>,
    /// The file that lines are printed to: reading it would never end.
    output: Option<FileId>,
    /// UTF-16 is read as text.
    decoded: bool,
}

impl<'a> Inputs<'a> {
    /// `printed` says that lines go to standard output, `decoded` that UTF-16 is read as text.
    pub(crate) fn new(operands: &'a Operands, selection: &'a SelectionFlags, printed: bool, decoded: bool) -> Self {
        let output = if printed { input::output_file() } else { None };
        Self { paths: operands.paths.iter(), operands, selection, walk: None, output, decoded }
    }

    /// Size of all inputs as they are stored; `None` where it is not known beforehand.
    pub(crate) fn stored_bytes(&self) -> Option<u64> {
        if self.selection.recursive { None } else { input::stored_bytes(&self.operands.paths) }
    }

    fn found(&self, path: &Path) -> Result<NamedInput, Error> {
        // Who named no folder is not told of the present one with each file.
        let shown = if self.operands.implied { path.strip_prefix(".").unwrap_or(path) } else { path };
        self.open(path, shown.as_os_str().as_bytes(), false)
    }

    fn open(&self, path: &Path, name: &[u8], is_stdin: bool) -> Result<NamedInput, Error> {
        input::refuse_output(path, self.output)?;
        let opened = input::open(path)?;
        let input = if self.decoded { opened.into_utf8() } else { opened };
        Ok(NamedInput { name: name.to_vec(), input, is_stdin })
    }
}

impl Iterator for Inputs<'_> {
    type Item = Result<NamedInput, Error>;

    /// The next one, with its path, or what is wrong with it.
    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(walk) = &mut self.walk {
                match walk.next() {
                    Some(Ok(entry)) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                        if self.selection.takes_found(entry.path()) {
                            return Some(self.found(entry.path()));
                        }
                    }
                    // Folders are walked; links, FIFOs and devices inside of them are passed over.
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Some(Err(of_walk(&error))),
                    None => self.walk = None,
                }
                continue;
            }
            let path = self.paths.next()?;
            let (is_stdin, is_folder) = (path.as_os_str() == "-", path.is_dir());
            if !is_stdin && !self.selection.takes_operand(path, is_folder) {
                continue;
            }
            if !(self.selection.recursive && is_folder) {
                let name: &[u8] = if is_stdin { b"(standard input)" } else { path.as_os_str().as_bytes() };
                return Some(self.open(path, name, is_stdin).map_err(|error| hint(is_folder, path, error)));
            }
            match self.selection.walk(path) {
                Ok(walk) => self.walk = Some(walk),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn of_walk(error: &ignore::Error) -> Error {
    let mut inner = error;
    let mut name = String::new();
    loop {
        inner = match inner {
            ignore::Error::WithPath { path, err } => {
                name = path.to_string_lossy().into_owned();
                err
            }
            ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => err,
            ignore::Error::Loop { child, .. } => {
                name = child.to_string_lossy().into_owned();
                break;
            }
            _ => break,
        };
    }
    let cause = match inner {
        ignore::Error::Loop { ancestor, .. } => format!("is a link to {}, which it lies in", ancestor.display()),
        ignore::Error::Io(cause) => rorqual_pipe::reason(cause),
        other => other.to_string(),
    };
    Error::new(ErrorClass::Io, name, format!("cannot be walked: {cause}"))
}

fn hint(is_folder: bool, path: &Path, error: Error) -> Error {
    if is_folder {
        Error::new(ErrorClass::Io, path.to_string_lossy(), "is a directory; -r searches the files in it")
    } else {
        error
    }
}

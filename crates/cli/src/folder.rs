//! Folders that are named as logs: the files in them, as of one that is dropped on the page.

use crate::objects::is_address;
use rorqual_pipe::escaped_path;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// Most files in all folders that are named together: as many as one upload may have.
pub(crate) const FOLDER_FILES_MAX: usize = 300;

/// Most entries of a folder that are looked at.
const ENTRIES_MAX: usize = 100_000;

/// Files that the operands of a verb stand for.
pub(crate) struct NamedFiles {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) errors: Vec<String>,
}

/// The operands, with the files of a folder in its place. Of a folder that cannot be read as a
/// whole there is an error, and no file.
pub(crate) fn in_folders(operands: &[PathBuf]) -> NamedFiles {
    let mut named = NamedFiles { files: Vec::new(), errors: Vec::new() };
    let mut room = FOLDER_FILES_MAX;
    for operand in operands {
        if operand.as_os_str() == "-" || is_address(operand) || !operand.is_dir() {
            named.files.push(operand.clone());
            continue;
        }
        match files_in(operand, room) {
            Ok(files) => {
                room -= files.len();
                named.files.extend(files);
            }
            Err(error) => named.errors.push(format!("{}: {error}", escaped_path(operand))),
        }
    }
    named
}

/// Regular files in a folder and in those below it, in the order of their paths. Hidden ones are
/// left out. A link to a file is read as the file, as those of container logs; one to a folder is
/// not followed.
fn files_in(folder: &Path, room: usize) -> Result<Vec<PathBuf>, String> {
    let is_shown = |entry: &DirEntry| entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".");
    let mut files = Vec::new();
    for (number, entry) in WalkDir::new(folder).into_iter().filter_entry(is_shown).enumerate() {
        let entry = entry.map_err(|error| unreadable(&error))?;
        if number == ENTRIES_MAX {
            return Err(format!("is a directory with more than {ENTRIES_MAX} files and folders: name the files"));
        }
        if !entry.file_type().is_dir() && entry.path().is_file() {
            let path = entry.into_path();
            // Who named the present folder is not told of it with each file.
            files.push(path.strip_prefix(".").map(Path::to_owned).unwrap_or(path));
        }
        if files.len() > room {
            return Err(format!(
                "is a directory with more files than are read: at most {FOLDER_FILES_MAX} of all directories; name the files"
            ));
        }
    }
    if files.is_empty() {
        return Err("is a directory without files; hidden files are left out".to_owned());
    }
    files.sort();
    Ok(files)
}

fn unreadable(error: &walkdir::Error) -> String {
    let name = error.path().map_or_else(String::new, |path| format!("{}: ", escaped_path(path)));
    let cause = error.io_error().map_or_else(|| error.to_string(), rorqual_pipe::reason);
    format!("cannot read the directory: {name}{cause}")
}

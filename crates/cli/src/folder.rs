//! Folders that are named as logs: the files in them, as of one that is dropped on the page.

use crate::objects::is_address;
use rorqual_pipe::escaped_path;
use rorqual_serve::LOG_FILES_MAX;
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// Most entries of a folder that are looked at.
const ENTRIES_MAX: usize = 100_000;

/// Files that the operands of a verb stand for.
pub(crate) struct NamedFiles {
    pub(crate) files: Vec<PathBuf>,
    pub(crate) errors: Vec<String>,
    /// A sentence for each folder that has entries which are no files, such as links to nothing.
    pub(crate) notes: Vec<String>,
}

/// The operands, with the files of a folder in its place. Of a folder that cannot be read as a
/// whole there is an error, and no file.
pub(crate) fn in_folders(operands: &[PathBuf]) -> NamedFiles {
    let mut named = NamedFiles { files: Vec::new(), errors: Vec::new(), notes: Vec::new() };
    let (mut room, mut known) = (LOG_FILES_MAX, HashSet::new());
    for operand in operands {
        if operand.as_os_str() == "-" || is_address(operand) || !operand.is_dir() {
            named.files.push(operand.clone());
            continue;
        }
        match files_in(operand, room, &mut known) {
            Ok((files, note)) => {
                room -= files.len();
                named.files.extend(files);
                named.notes.extend(note);
            }
            Err(error) => named.errors.push(format!("{}: {error}", escaped_path(operand))),
        }
    }
    named
}

/// Regular files in a folder and in those below it, in the order of their paths. Hidden ones are
/// left out. A link to a file is read as the file, as those of container logs, but for one that is
/// `known` by device and inode; one to a folder is not followed.
fn files_in(folder: &Path, room: usize, known: &mut HashSet<(u64, u64)>) -> Result<(Vec<PathBuf>, Option<String>), String> {
    let is_shown = |entry: &DirEntry| entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".");
    let (mut files, mut left_out) = (Vec::new(), Vec::new());
    for (number, entry) in WalkDir::new(folder).into_iter().filter_entry(is_shown).enumerate() {
        let entry = entry.map_err(|error| unreadable(&error))?;
        if number == ENTRIES_MAX {
            return Err(format!("has more than {ENTRIES_MAX} files and folders: name the files"));
        }
        if !entry.file_type().is_dir() && !entry.path().is_file() {
            left_out.push(entry.into_path());
        } else if !entry.file_type().is_dir() {
            let data = entry.path().metadata().map_err(|cause| rorqual_pipe::reason(&cause))?;
            if !known.insert((data.dev(), data.ino())) {
                left_out.push(entry.into_path());
                continue;
            }
            let path = entry.into_path();
            // The present folder is not told with each file; but `-` alone is standard input.
            let short = path.strip_prefix(".").ok().filter(|short| short.as_os_str() != "-").map(Path::to_owned);
            files.push(short.unwrap_or(path));
        }
        if files.len() > room {
            return Err(format!(
                "has more than {LOG_FILES_MAX} files, the most that all folders of a command may have: name the files"
            ));
        }
    }
    if files.is_empty() {
        return Err("is a folder without files; hidden files are left out".to_owned());
    }
    files.sort();
    left_out.sort();
    let note = left_out.first().map(|first| {
        let count = left_out.len();
        format!(
            "{}: {count} entries are left out, as they are no regular files, or links to files that are read already; the first is {}",
            escaped_path(folder),
            escaped_path(first)
        )
    });
    Ok((files, note))
}

fn unreadable(error: &walkdir::Error) -> String {
    let name = error.path().map_or_else(String::new, |path| format!("{}: ", escaped_path(path)));
    let cause = error.io_error().map_or_else(|| error.to_string(), rorqual_pipe::reason);
    format!("cannot read the folder: {name}{cause}")
}

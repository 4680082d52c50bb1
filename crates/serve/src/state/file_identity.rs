//! A file of the server as it was when it was read, so that it is known again.

use super::names::checksum;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Bytes of a file's start and end that are compared.
const END_BYTES: u64 = 64 << 10;

/// Pieces between them that are compared, spread evenly, and the bytes of each.
const PIECES: u64 = 16;
const PIECE_BYTES: u64 = 4 << 10;

/// A file, with the times of its last changes in seconds and nanoseconds: of its content, and of
/// anything about it, which nobody can set back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileIdentity {
    /// Canonical path, in hexadecimal where it is no text.
    path: String,
    size: u64,
    device: u64,
    inode: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// A file that was read, as a checkpoint has it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SavedFile {
    pub(crate) identity: KnownFile,
    /// Lines of it so far.
    pub(crate) lines: u64,
    /// All rows and values had room, in a session with this memory.
    pub(crate) whole: bool,
    pub(crate) memory_bytes: u64,
    /// Rows of a segment.
    pub(crate) segment_rows: usize,
}

/// A file that was read, and a checksum of parts of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct KnownFile {
    file: FileIdentity,
    /// It is a plain text, which may go on.
    resumes: bool,
    checksum: String,
}

impl SavedFile {
    /// True if its rows are as they would be in a session with so much memory, and segments of so
    /// many rows at most.
    pub(crate) fn fits(&self, memory_bytes: u64, segment_rows: usize) -> bool {
        self.segment_rows <= segment_rows && (self.whole || self.memory_bytes == memory_bytes)
    }
}

impl FileIdentity {
    /// The identity of an open file.
    ///
    /// # Errors
    /// When the system does not tell, or it is not a regular file.
    pub(crate) fn of(path: &Path, file: &File) -> io::Result<Self> {
        let data = file.metadata()?;
        if !data.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let path = path.canonicalize()?;
        let hex = || path.as_os_str().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self {
            path: path.to_str().map_or_else(hex, str::to_owned),
            size: data.len(),
            device: data.dev(),
            inode: data.ino(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        })
    }

    /// A checksum of parts of its file, as far as that is now.
    pub(crate) fn sample(&self, file: &File) -> io::Result<String> {
        checksum_of(file, self.size)
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// The same with a checksum, where its first `offset` bytes were read; it may go on after them
    /// where it `resumes`.
    pub(crate) fn known(&self, file: &File, offset: u64, resumes: bool) -> io::Result<KnownFile> {
        Ok(KnownFile { file: self.clone(), resumes, checksum: checksum_of(file, offset)? })
    }
}

impl KnownFile {
    /// True if this file, of which the first `offset` bytes were read, is the `present` one: it did
    /// not change, or it got longer.
    pub(crate) fn goes_on(&self, present: &FileIdentity, file: &File, offset: u64) -> bool {
        let place = |file: &FileIdentity| (file.path.clone(), file.device, file.inode);
        let is_longer = self.resumes && place(&self.file) == place(present) && present.size > self.file.size;
        (self.file == *present || is_longer) && checksum_of(file, offset).is_ok_and(|checksum| checksum == self.checksum)
    }
}

/// Checksum of the first and last of so many bytes, and of some between them.
fn checksum_of(file: &File, length: u64) -> io::Result<String> {
    let ends = [(0, END_BYTES.min(length)), (length.saturating_sub(END_BYTES), END_BYTES.min(length))];
    let between = (1..=PIECES).map(|piece| (length / (PIECES + 1) * piece, PIECE_BYTES));
    let mut bytes = Vec::new();
    for (offset, wanted) in ends.into_iter().chain(between) {
        let start = bytes.len();
        bytes.resize(start + wanted.min(length - offset) as usize, 0);
        file.read_exact_at(&mut bytes[start..], offset)?;
    }
    Ok(checksum(&[&bytes]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn a_file_is_known_as_it_was_and_when_it_got_longer() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("a.log");
        let text: Vec<u8> = (0..400_000u32).flat_map(u32::to_le_bytes).collect();
        std::fs::write(&path, &text).expect("it can be written");
        let file = File::options().read(true).write(true).open(&path).expect("it is there");
        let identity = || FileIdentity::of(&path, &file).expect("it is a file");
        let offset = text.len() as u64;
        let [known, whole] = [true, false].map(|resumes| identity().known(&file, offset, resumes).expect("it can be read"));
        assert!(known.goes_on(&identity(), &file, offset) && whole.goes_on(&identity(), &file, offset));
        File::options().append(true).open(&path).and_then(|mut file| file.write_all(b"more")).expect("it can be written");
        assert!(known.goes_on(&identity(), &file, offset));
        assert!(!whole.goes_on(&identity(), &file, offset), "it can't go on");
        // At its start, its old end, and where a piece between them is.
        let piece = offset / (PIECES + 1) * 5;
        for at in [0, END_BYTES - 1, offset - 1, offset - END_BYTES, piece, piece + PIECE_BYTES - 1] {
            file.write_all_at(b"!", at).expect("it can be written");
            assert!(!known.goes_on(&identity(), &file, offset), "byte {at} is another");
            file.write_all_at(&text[at as usize..=at as usize], at).expect("it can be written");
            assert!(known.goes_on(&identity(), &file, offset), "byte {at}");
        }
        let copied = folder.path().join("b.log");
        std::fs::copy(&path, &copied).and_then(|_| std::fs::rename(&copied, &path)).expect("it can be replaced");
        let copy = File::open(&path).expect("it is there");
        let replaced = FileIdentity::of(&path, &copy).expect("it is a file");
        assert!(!known.goes_on(&replaced, &copy, offset), "another file has its name");
        file.set_len(offset - 1).expect("it can be cut");
        assert!(!known.goes_on(&identity(), &file, offset));
        file.write_all_at(&text[text.len() - 1..], offset - 1).expect("it can be written");
        assert!(!known.goes_on(&identity(), &file, offset), "it was written since");
    }
}

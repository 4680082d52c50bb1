//! The file for segments that do not fit the memory: without a name, so that nothing is left
//! however the process ends, or the journal of a store that is to outlive it.

use crate::journal_record::{FRAME_BYTES, JournalRecord};
use rorqual_pipe::setting::{TEMP_DIR, TEMP_MAX};
use rorqual_pipe::{escaped_path, format_size, is_at, reason};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// File for columns that have no place in memory. One thread at a time writes.
pub(crate) struct Spill {
    /// A journal, which comes first.
    journal: Option<JournalFile>,
    /// Folder of the file without a name, which is made when something comes.
    folder: Option<PathBuf>,
    file: OnceLock<File>,
    bytes_max: AtomicU64,
    end: AtomicU64,
    /// Something that was read back is not as it was written.
    damaged: AtomicBool,
}

/// A journal, and the offset at which it was given up for the file without a name.
struct JournalFile {
    file: File,
    bytes_max: u64,
    end: OnceLock<u64>,
    /// Its first bytes, by which it is known.
    start: [u8; START_BYTES],
}

/// Bytes of a journal before its first record, which no other has.
pub(crate) const START_BYTES: usize = 16;

impl JournalFile {
    fn start_now(file: &File) -> [u8; START_BYTES] {
        let mut start = [0; START_BYTES];
        // One without a start is damaged, and found to be so where it is read.
        let _ = file.read_exact_at(&mut start, 0);
        start
    }

    /// True if it is the file at that path, has its start, and is so long.
    fn is_whole(&self, path: &Path, end: u64) -> bool {
        let is_long = self.file.metadata().is_ok_and(|data| data.len() >= end);
        is_long && is_at(&self.file, path) && Self::start_now(&self.file) == self.start
    }
}

impl Spill {
    /// A file in `folder` that grows to at most `bytes_max`. It is made when it is needed; that it
    /// can be is tried at once.
    pub(crate) fn new(folder: &Path, bytes_max: u64) -> io::Result<Self> {
        tempfile::tempfile_in(folder)?;
        Ok(Self::of(None, Some(folder.to_owned()), 0, bytes_max))
    }

    /// A journal that has `end` bytes by now, and grows to at most `bytes_max`. Where it can't be
    /// written any more, a file in the folder of `beside` goes on, which has a limit of its own.
    pub(crate) fn journal(file: File, end: u64, bytes_max: u64, beside: Option<&(PathBuf, u64)>) -> Self {
        let start = JournalFile::start_now(&file);
        let journal = JournalFile { file, bytes_max, end: OnceLock::new(), start };
        let own_max = beside.map_or(bytes_max, |(_, bytes)| *bytes);
        Self::of(Some(journal), beside.map(|(folder, _)| folder.clone()), end, own_max)
    }

    fn of(journal: Option<JournalFile>, folder: Option<PathBuf>, end: u64, bytes_max: u64) -> Self {
        Self {
            journal,
            folder,
            file: OnceLock::new(),
            bytes_max: AtomicU64::new(bytes_max),
            end: AtomicU64::new(end),
            damaged: AtomicBool::new(false),
        }
    }

    /// True if all that was written is in a journal.
    pub(crate) fn is_journal(&self) -> bool {
        self.open_journal().is_some()
    }

    fn file(&self) -> io::Result<&File> {
        if let (None, Some(folder)) = (self.file.get(), &self.folder) {
            let file = tempfile::tempfile_in(folder)?;
            // Another could only have made one as empty.
            let _ = self.file.set(file);
        }
        self.file.get().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Appends a record; where its bytes begin, from its frame on.
    pub(crate) fn append(&self, record: JournalRecord) -> io::Result<u64> {
        let (bytes, offset) = (record.finish()?, self.bytes());
        let length = bytes.len() as u64;
        let end = offset.checked_add(length).ok_or_else(full)?;
        let own_end = self.own_bytes().saturating_add(length);
        let own_room = || if own_end <= self.bytes_max() { Ok(()) } else { Err(full()) };
        // One that was cut would have a hole then.
        let is_cut = |journal: &JournalFile| journal.file.metadata().is_ok_and(|data| data.len() < offset);
        if self.open_journal().is_some_and(is_cut) {
            self.damaged.store(true, Ordering::Relaxed);
        }
        // A broken record takes no place: the next one is written over it.
        match self.open_journal() {
            None => {
                own_room()?;
                self.file()?.write_all_at(&bytes, offset - self.journal_bytes())?;
            }
            Some(journal) if self.folder.is_none() => {
                own_room()?;
                journal.file.write_all_at(&bytes, offset)?;
            }
            Some(journal) => {
                let has_room = end <= journal.bytes_max;
                if !has_room || journal.file.write_all_at(&bytes, offset).is_err() {
                    own_room()?;
                    self.file()?.write_all_at(&bytes, 0)?;
                    // One thread at a time writes.
                    let _ = journal.end.set(offset);
                }
            }
        }
        self.end.store(end, Ordering::Relaxed);
        Ok(offset)
    }

    /// The reason for which a record could not be written, with what makes room.
    pub(crate) fn failure(&self, cause: &io::Error) -> String {
        let place = self.folder.as_deref().map_or_else(|| "the kept rows".to_owned(), escaped_path);
        let is_own = cause.get_ref().is_some_and(|inner| inner.is::<LimitReached>());
        match cause.kind() {
            _ if is_own => format!("{place}: its limit of {} is reached: give more {TEMP_MAX}", format_size(self.bytes_max())),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                let full = cause.to_string();
                let full = full.split(" (os error").next().unwrap_or_default();
                let folder = self.folder.is_some().then(|| format!(" or name another folder ({TEMP_DIR})"));
                format!("{place}: {full}: make room there{}", folder.unwrap_or_default())
            }
            _ => format!("{place}: {}", reason(cause)),
        }
    }

    /// The journal, as long as it was not given up.
    fn open_journal(&self) -> Option<&JournalFile> {
        self.journal.as_ref().filter(|journal| journal.end.get().is_none())
    }

    /// Bytes in a journal that was given up.
    fn journal_bytes(&self) -> u64 {
        self.journal.as_ref().and_then(|journal| journal.end.get()).copied().unwrap_or(0)
    }

    /// Bytes of those that have the limit: in the file without a name, where there may be one.
    fn own_bytes(&self) -> u64 {
        match self.open_journal() {
            Some(_) if self.folder.is_some() => 0,
            _ => self.bytes() - self.journal_bytes(),
        }
    }

    /// Reads so many bytes from an offset on; more than there are is an error.
    pub(crate) fn read_at(&self, (offset, length): (u64, usize)) -> io::Result<Vec<u8>> {
        let end = offset.checked_add(length as u64).filter(|end| *end <= self.bytes());
        if end.is_none() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; length];
        let read = match &self.journal {
            Some(journal) if journal.end.get().is_none_or(|end| offset < *end) => journal.file.read_exact_at(&mut bytes, offset),
            _ => self.file()?.read_exact_at(&mut bytes, offset - self.journal_bytes()),
        };
        match read {
            Ok(()) => Ok(bytes),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(io::Error::new(error.kind(), "the file of rows was cut: it is shorter than what was written to it"))
            }
            Err(error) => Err(error),
        }
    }

    /// True if a journal is the file at that path and has all that was written to it, by its start
    /// and its length, and nothing that was read back was damaged.
    pub(crate) fn is_whole(&self, path: &Path) -> bool {
        let end = |journal: &JournalFile| journal.end.get().copied().unwrap_or_else(|| self.bytes());
        !self.is_damaged() && self.journal.as_ref().is_none_or(|journal| journal.is_whole(path, end(journal)))
    }

    /// Notes an error of reading something back, where that is damage.
    pub(crate) fn note_damage(&self, error: &io::Error) {
        if matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) {
            self.damaged.store(true, Ordering::Relaxed);
        }
    }

    /// True if something that was read back was not as it was written.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged.load(Ordering::Relaxed)
    }

    /// The header of the record at an offset.
    pub(crate) fn frame_at(&self, offset: u64) -> io::Result<Vec<u8>> {
        self.read_at((offset, FRAME_BYTES))
    }

    /// Another handle on the journal.
    pub(crate) fn handle(&self) -> io::Result<File> {
        self.journal.as_ref().ok_or(io::ErrorKind::NotFound)?.file.try_clone()
    }

    /// Bytes that it grows to at most; of a journal that may be given up, those that come after it.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max.load(Ordering::Relaxed)
    }

    /// Grows by no more than that from now on.
    pub(crate) fn shrink(&self, more_max: u64) {
        self.bytes_max.fetch_min(self.own_bytes() + more_max, Ordering::Relaxed);
    }

    /// Bytes in the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }
}

/// The error of a file that has reached its own limit.
fn full() -> io::Error {
    io::Error::new(io::ErrorKind::StorageFull, LimitReached)
}

#[derive(Debug)]
struct LimitReached;

impl std::error::Error for LimitReached {}

impl std::fmt::Display for LimitReached {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the file for rows has reached its limit")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal_record::RecordKind;

    fn record() -> JournalRecord {
        let mut record = JournalRecord::new(RecordKind::Texts);
        record.bytes().extend_from_slice(&[7; 300]);
        record
    }

    #[test]
    fn what_could_not_be_written_takes_no_place() {
        // Nobody can write at such an offset.
        let far = 1 << 63;
        let spill = Spill::journal(tempfile::tempfile().expect("a file"), far, u64::MAX, None);
        for _ in 0..3 {
            assert!(spill.append(record()).is_err());
            assert_eq!(spill.bytes(), far);
        }
        let spill = Spill::new(&std::env::temp_dir(), 1_000).expect("a folder");
        assert!(spill.file.get().is_none(), "there is no file before there is something to write");
        for _ in 0..3 {
            let offset = spill.append(record()).expect("there is room");
            assert_eq!(spill.read_at((offset + FRAME_BYTES as u64, 300)).expect("it is there"), [7; 300]);
        }
        assert!(spill.append(record()).is_err_and(|error| error.kind() == io::ErrorKind::StorageFull));
        assert!(spill.read_at((900, 100)).is_err());
    }

    #[test]
    fn a_journal_that_was_cut_and_grew_again_is_not_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows");
        let file = || File::options().read(true).write(true).create(true).truncate(false).open(&path).expect("there is room");
        let begin = || {
            file().set_len(0).expect("it can be cut");
            file().write_all_at(&[b'x'; START_BYTES], 0).expect("there is room");
        };
        for cut in [0, 8, 20, 300] {
            begin();
            let spill = Spill::journal(file(), 16, 10_000, None);
            spill.append(record()).expect("there is room");
            assert!(spill.is_whole(&path), "nothing was cut");
            file().set_len(cut).expect("it can be cut");
            assert!(!spill.is_whole(&path), "{cut}");
            spill.append(record()).expect("there is room");
            assert!(!spill.is_whole(&path), "{cut}: it has a hole");
        }
        begin();
        let spill = Spill::journal(file(), 16, 10_000, None);
        spill.append(record()).expect("there is room");
        file().write_all_at(b"other", 0).expect("it can be written");
        assert!(!spill.is_whole(&path), "its start is another");
        assert!(!spill.is_whole(folder.path()), "a folder");
    }

    #[test]
    fn a_journal_without_room_goes_on_in_a_file() {
        let beside = (std::env::temp_dir(), 1_300);
        let spill = Spill::journal(tempfile::tempfile().expect("a file"), 16, 700, Some(&beside));
        let offsets: Vec<u64> = (0..6).map(|_| spill.append(record()).expect("there is room")).collect();
        let handle = spill.handle().expect("the journal");
        assert_eq!(handle.metadata().expect("a size").len(), 16 + 2 * (FRAME_BYTES as u64 + 300), "two fit it");
        assert!(!spill.is_journal(), "some records are elsewhere");
        for offset in offsets {
            assert_eq!(spill.read_at((offset + FRAME_BYTES as u64, 300)).expect("it is there"), [7; 300]);
        }
        assert!(spill.append(record()).is_err_and(|error| error.kind() == io::ErrorKind::StorageFull), "both are full");
    }
}

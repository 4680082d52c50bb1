//! The file for segments that do not fit the memory: without a name, so that nothing is left
//! however the process ends, or the journal of a store that is to outlive it.

use crate::record::{FRAME_BYTES, JournalRecord};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// File for columns that have no place in memory. One thread at a time writes.
pub(crate) struct Spill {
    /// Folder of the file, which is made when something comes; a journal is there already.
    folder: Option<PathBuf>,
    file: OnceLock<File>,
    bytes_max: AtomicU64,
    end: AtomicU64,
}

impl Spill {
    /// A file in `folder` that grows to at most `bytes_max`. It is made when it is needed; that it
    /// can be is tried at once.
    pub(crate) fn new(folder: &Path, bytes_max: u64) -> io::Result<Self> {
        tempfile::tempfile_in(folder)?;
        Ok(Self {
            folder: Some(folder.to_owned()),
            file: OnceLock::new(),
            bytes_max: AtomicU64::new(bytes_max),
            end: AtomicU64::new(0),
        })
    }

    /// A journal that has `end` bytes by now.
    pub(crate) fn journal(file: File, end: u64, bytes_max: u64) -> Self {
        Self { folder: None, file: OnceLock::from(file), bytes_max: AtomicU64::new(bytes_max), end: AtomicU64::new(end) }
    }

    pub(crate) fn is_journal(&self) -> bool {
        self.folder.is_none()
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
        let bytes = record.finish()?;
        let offset = self.bytes();
        let end = offset.checked_add(bytes.len() as u64).filter(|end| *end <= self.bytes_max());
        let end = end.ok_or_else(|| io::Error::new(io::ErrorKind::StorageFull, "the file for rows has reached its limit"))?;
        // A broken record takes no place: the next one is written over it.
        self.file()?.write_all_at(&bytes, offset)?;
        self.end.store(end, Ordering::Relaxed);
        Ok(offset)
    }

    /// Reads so many bytes from an offset on; more than there are is an error.
    pub(crate) fn read_at(&self, (offset, length): (u64, usize)) -> io::Result<Vec<u8>> {
        let end = offset.checked_add(length as u64).filter(|end| *end <= self.bytes());
        if end.is_none() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut bytes = vec![0; length];
        self.file()?.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    /// The header of the record at an offset.
    pub(crate) fn frame_at(&self, offset: u64) -> io::Result<Vec<u8>> {
        self.read_at((offset, FRAME_BYTES))
    }

    /// Another handle on the file.
    pub(crate) fn handle(&self) -> io::Result<File> {
        self.file()?.try_clone()
    }

    /// Bytes that it grows to at most.
    pub(crate) fn bytes_max(&self) -> u64 {
        self.bytes_max.load(Ordering::Relaxed)
    }

    /// Grows to no more than that from now on.
    pub(crate) fn shrink(&self, bytes_max: u64) {
        self.bytes_max.fetch_min(bytes_max, Ordering::Relaxed);
    }

    /// Bytes in the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RecordKind;

    fn record() -> JournalRecord {
        let mut record = JournalRecord::new(RecordKind::Texts);
        record.bytes().extend_from_slice(&[7; 300]);
        record
    }

    #[test]
    fn what_could_not_be_written_takes_no_place() {
        // Nobody can write at such an offset.
        let far = 1 << 63;
        let spill = Spill::journal(tempfile::tempfile().expect("a file"), far, u64::MAX);
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
}

//! The file for segments that do not fit the memory: without a name, so that nothing is left however the process ends.

use lz4_flex::block::{compress, decompress};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Where columns go that have no place in memory.
pub(crate) struct Spill {
    file: File,
    bytes_max: u64,
    /// What was given out so far.
    end: AtomicU64,
}

/// A column in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Spilled {
    offset: u64,
    stored_bytes: u32,
    /// As many as are stored, where compressing was no gain.
    bytes: u32,
}

impl Spill {
    /// An empty file in `folder` that grows to at most `bytes_max`.
    pub(crate) fn new(folder: &Path, bytes_max: u64) -> io::Result<Self> {
        Ok(Self { file: tempfile::tempfile_in(folder)?, bytes_max, end: AtomicU64::new(0) })
    }

    /// Writes the stretches of `bytes` that end at `ends`.
    pub(crate) fn write(&self, bytes: &[u8], ends: &[usize]) -> io::Result<Vec<Spilled>> {
        let mut stored = Vec::with_capacity(bytes.len());
        let mut places = Vec::with_capacity(ends.len());
        let mut start = 0;
        for &end in ends {
            let piece = &bytes[start..end];
            let packed = compress(piece);
            let kept = if packed.len() < piece.len() { &packed[..] } else { piece };
            places.push(Spilled { offset: stored.len() as u64, stored_bytes: kept.len() as u32, bytes: piece.len() as u32 });
            stored.extend_from_slice(kept);
            start = end;
        }
        let offset = self.claim(stored.len() as u64)?;
        self.file.write_all_at(&stored, offset).inspect_err(|_| self.give_back(offset, stored.len() as u64))?;
        places.iter_mut().for_each(|place| place.offset += offset);
        Ok(places)
    }

    fn claim(&self, bytes: u64) -> io::Result<u64> {
        let fitting = |end: u64| end.checked_add(bytes).filter(|end| *end <= self.bytes_max);
        let full = |_| io::Error::new(io::ErrorKind::StorageFull, "the file for rows has reached its limit");
        self.end.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fitting).map_err(full)
    }

    /// Undoes a claim, where nothing was claimed behind it.
    fn give_back(&self, offset: u64, bytes: u64) {
        // Otherwise the file has a hole.
        let _ = self.end.compare_exchange(offset + bytes, offset, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Reads a column back.
    pub(crate) fn read(&self, place: &Spilled) -> io::Result<Vec<u8>> {
        let mut stored = vec![0; place.stored_bytes as usize];
        self.file.read_exact_at(&mut stored, place.offset)?;
        if place.stored_bytes == place.bytes {
            return Ok(stored);
        }
        decompress(&stored, place.bytes as usize).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }

    /// Bytes in the file.
    pub(crate) fn bytes(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_could_not_be_written_takes_no_place() {
        // Nobody can write as far behind.
        let far = 1 << 63;
        let spill = Spill { file: tempfile::tempfile().expect("a file"), bytes_max: u64::MAX, end: AtomicU64::new(far) };
        for _ in 0..3 {
            assert!(spill.write(&[7; 600], &[300, 600]).is_err());
            assert_eq!(spill.bytes(), far);
        }
        let spill = Spill::new(&std::env::temp_dir(), 1_000).expect("a file");
        let places = spill.write(&[7; 600], &[300, 600]).expect("there is room");
        assert_eq!(spill.read(&places[1]).expect("it is there"), [7; 300]);
    }
}

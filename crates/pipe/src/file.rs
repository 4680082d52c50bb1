//! A plain file that all workers read side by side.

use crate::chunk::{Chunk, Framing};
use crate::control::Control;
use crate::error::{Error, ErrorClass};
use crate::holes::{HoleEnds, leading_nuls, trailing_nuls};
use crate::limits::{BLOCK_BYTES, FIRST_LINE_BYTES_MAX, OVERREAD_BYTES};
use crate::pool::{BufferPool, Lease};
use crate::splitter::LineEnds;
use bytes::Bytes;
use memchr::{memchr, memrchr};
use rustix::fs::SeekFrom;
use std::fs::File;
use std::io::ErrorKind;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

/// A plain file that all workers read, each the blocks that it claims.
pub(crate) struct SharedFile {
    file: File,
    pub(crate) name: String,
    size_bytes: u64,
    /// The part that is read: a line begins at its start.
    range: Range<u64>,
    /// Blocks are cut at lines, the longest of which has so many bytes.
    line_bytes_max: Option<usize>,
    framing: Framing,
    control: Control,
    next: Mutex<NextRange>,
}

/// A plain file that is read in byte ranges of the caller's choice, as chunks of lines. Ranges that
/// together cover the file have every line once, wherever they meet.
pub struct FileRanges(SharedFile);

impl FileRanges {
    pub(crate) fn new(file: SharedFile) -> Self {
        Self(file)
    }

    /// The lines of the `length` bytes at `offset`: those whose preceding newline lies in them, and
    /// the file's first. Lines that were read come back even when the file ended early or reading
    /// failed.
    ///
    /// # Panics
    /// When `length` is more than [`BLOCK_BYTES`], the room of a buffer.
    #[must_use]
    pub fn chunk(&self, offset: u64, length: usize, lease: Lease) -> (Chunk, Option<Error>) {
        assert!(length <= BLOCK_BYTES, "a stretch is at most a block");
        self.0.chunk(&Claim { number: 0, offset, length: length as u64, hole: false }, lease)
    }
}

#[derive(Default)]
struct NextRange {
    number: u64,
    offset: u64,
    /// End of the data extent that contains `offset`.
    data_end: u64,
    /// The file system can't tell data from holes.
    no_holes: bool,
}

pub(crate) struct Claim {
    pub(crate) number: u64,
    offset: u64,
    length: u64,
    hole: bool,
}

impl SharedFile {
    pub(crate) fn new(file: File, name: String, size_bytes: u64, framing: Framing, control: Control) -> Self {
        let line_bytes_max = match framing {
            Framing::Lines { line_bytes_max } | Framing::LogLines { line_bytes_max } | Framing::NulLines { line_bytes_max } => {
                Some(line_bytes_max)
            }
            Framing::Bytes | Framing::Records { .. } => None,
        };
        // Each byte of a hole is a line of its own then.
        let next = Mutex::new(NextRange { no_holes: framing.terminator() == 0, ..NextRange::default() });
        Self { file, name, size_bytes, range: 0..size_bytes, line_bytes_max, framing, control, next }
    }

    /// The same file, of which only that part is read.
    pub(crate) fn within(mut self, range: Range<u64>) -> Self {
        self.next.get_mut().unwrap_or_else(PoisonError::into_inner).offset = range.start;
        self.range = range.start..range.end.min(self.size_bytes);
        self
    }

    /// The next block, or the next hole rounded to blocks. The first block is never part of a hole:
    /// the line that starts the file is its owner's.
    pub(crate) fn claim(&self) -> Option<Claim> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = next.offset;
        if offset >= self.range.end {
            return None;
        }
        let hole_end = if offset == self.range.start { 0 } else { self.hole_end(&mut next) };
        let hole = hole_end > offset;
        let end = if hole { hole_end } else { (offset + BLOCK_BYTES as u64).min(self.range.end) };
        let claim = Claim { number: next.number, offset, length: end - offset, hole };
        next.number += 1;
        next.offset = end;
        Some(claim)
    }

    /// End of the hole at the next offset, as a block border or the end of the file; 0 when it is
    /// data.
    fn hole_end(&self, next: &mut NextRange) -> u64 {
        if next.no_holes || next.offset < next.data_end {
            return 0;
        }
        let seek = |from| rustix::fs::seek(&self.file, from);
        let data = match seek(SeekFrom::Data(next.offset)) {
            Ok(data) => data,
            // No data after the offset: the hole goes to the end, or the file shrank, which reading
            // will tell.
            Err(rustix::io::Errno::NXIO) if self.file.metadata().is_ok_and(|now| now.len() < self.size_bytes) => return 0,
            Err(rustix::io::Errno::NXIO) => self.range.end,
            Err(_) => {
                next.no_holes = true;
                return 0;
            }
        };
        if data > next.offset {
            // Where a line may begin after a hole, the hole's last byte is read.
            let end = data - u64::from(self.framing.has_holes());
            return if data >= self.range.end { self.range.end } else { end - end % BLOCK_BYTES as u64 };
        }
        next.data_end = seek(SeekFrom::Hole(next.offset)).unwrap_or(self.range.end);
        0
    }

    pub(crate) fn first_stretch(&self, pool: &BufferPool) -> Result<Bytes, Error> {
        self.stretch_at(pool, self.range.start)
    }

    /// The same as [`SharedFile::first_stretch`], but the bytes after the first line where that one
    /// is longer than the range.
    pub(crate) fn first_stretch_after_long(&self, pool: &BufferPool) -> Result<Bytes, Error> {
        let start = self.range.start;
        let mut offset = start;
        let mut ends = LineEnds::new(self.framing);
        while offset < self.range.end.min(start + FIRST_LINE_BYTES_MAX) && !self.control.stopped() {
            let stretch = self.stretch_at(pool, offset)?;
            if stretch.is_empty() {
                break;
            }
            match ends.split(&stretch).first_end {
                Some(_) if offset == start => return Ok(stretch),
                Some(end) if offset + (end as u64) < self.range.end => {
                    drop(stretch);
                    return self.stretch_at(pool, offset + end as u64);
                }
                Some(_) => break,
                None => offset += stretch.len() as u64,
            }
        }
        self.first_stretch(pool)
    }

    fn stretch_at(&self, pool: &BufferPool, offset: u64) -> Result<Bytes, Error> {
        let mut lease = pool.lease().map_err(|cause| Error::io(&self.name, "no memory for a block", cause))?;
        let wanted = self.range.end.saturating_sub(offset).min(BLOCK_BYTES as u64) as usize;
        let read = self.read(&mut lease[..wanted], offset)?;
        Ok(Bytes::from_owner(lease).slice(..read))
    }

    /// Reads a claimed range. Lines that were read come back even when the file ended early or
    /// reading failed.
    pub(crate) fn chunk(&self, claim: &Claim, mut lease: Lease) -> (Chunk, Option<Error>) {
        if claim.hole {
            self.control.decoded(claim.length);
            let chunk = Chunk::of_zeros(claim.offset, claim.length);
            return (chunk, None);
        }
        let length = claim.length as usize;
        let overread = match self.line_bytes_max {
            None => 0,
            Some(_) => OVERREAD_BYTES.min((self.range.end.saturating_sub(claim.offset) as usize).saturating_sub(length)),
        };
        let (read, mut error) = match self.read(&mut lease[..length + overread], claim.offset) {
            Ok(read) => (read, None),
            Err(error) => (0, Some(error)),
        };
        if read < length + overread && error.is_none() {
            error = Some(self.shrank(claim.offset + read as u64));
        }
        self.control.decoded(read.min(length) as u64);
        self.control.stored(read.min(length) as u64);
        let chunk = match self.line_bytes_max {
            None => Chunk::of_bytes(claim.offset, Bytes::from_owner(lease).slice(..read)),
            Some(line_bytes_max) => self.lines(claim, lease, read, line_bytes_max, &mut error),
        };
        (chunk, error)
    }

    /// The lines that this block owns: those whose preceding newline lies in it (and the file's
    /// first).
    fn lines(&self, claim: &Claim, mut lease: Lease, mut read: usize, line_bytes_max: usize, error: &mut Option<Error>) -> Chunk {
        let length = read.min(claim.length as usize);
        let start =
            if claim.offset == self.range.start { Some(0) } else { self.first_start(claim, &lease[..read], length, error) };
        let Some(start) = start else {
            let before = Bytes::from_owner(lease).slice(..length);
            return Chunk { before, ..Chunk::empty(claim.offset, line_bytes_max) };
        };
        let after_hole = self.framing.has_holes() && start > 0 && lease[start - 1] == 0;
        // From here on the newline that ends the line which crosses the border is looked for.
        let mut searched = length;
        let (mut end, mut cut) = loop {
            if let Some(newline) = memchr(self.framing.terminator(), &lease[searched..read]) {
                break (searched + newline + 1, false);
            }
            searched = read;
            let at = claim.offset + read as u64;
            if at >= self.range.end || error.is_some() {
                break (read, false);
            }
            if read > length + line_bytes_max {
                break (length + line_bytes_max, true);
            }
            let more =
                (read - length).max(OVERREAD_BYTES).min(length + line_bytes_max + 1 - read).min((self.range.end - at) as usize);
            match self.read(&mut lease[read..read + more], at) {
                Ok(0) => *error = Some(self.shrank(at)),
                Ok(count) => read += count,
                Err(failed) => *error = Some(failed),
            }
        };
        // The line after a hole that crosses the border is another block's.
        if let Some(hole_end) = self.hole_end_after(&lease[start..end], length - start) {
            (end, cut) = (start + hole_end, true);
        }
        let all = Bytes::from_owner(lease);
        let (before, bytes) = (all.slice(..start), all.slice(start.min(end)..end));
        let offset = claim.offset + start as u64;
        let long_start = cut.then(|| self.last_start(&bytes));
        let unfinished = !cut && bytes.last().is_some_and(|last| *last != self.framing.terminator());
        Chunk {
            offset,
            bytes,
            before,
            before_offset: claim.offset,
            long_start,
            unfinished,
            has_holes: self.framing.has_holes(),
            after_hole,
            ..Chunk::empty(offset, line_bytes_max)
        }
    }

    /// Start of the first line that begins after one of the first `length` bytes read for `claim`.
    fn first_start(&self, claim: &Claim, read: &[u8], length: usize, error: &mut Option<Error>) -> Option<usize> {
        let newline = memchr(self.framing.terminator(), &read[..length]).map(|newline| newline + 1);
        let Some(line_bytes_max) = self.line_bytes_max.filter(|_| self.framing.has_holes()) else { return newline };
        let bytes = &read[..newline.unwrap_or(read.len().min(length + 1))];
        let nuls = leading_nuls(bytes);
        // Only the start of the block can belong to a hole of which more is before it.
        let before = if (1..=line_bytes_max).contains(&nuls) && nuls < bytes.len() {
            self.nuls_before(claim.offset, line_bytes_max + 1 - nuls).unwrap_or_else(|failed| {
                error.get_or_insert(failed);
                0
            })
        } else {
            0
        };
        HoleEnds::new(bytes, line_bytes_max, before).next().or(newline)
    }

    /// Number of NULs before `offset`, up to `most`.
    fn nuls_before(&self, offset: u64, most: usize) -> Result<usize, Error> {
        let mut piece = [0; OVERREAD_BYTES];
        let mut nuls = 0;
        let most = most.min(usize::try_from(offset).unwrap_or(usize::MAX));
        while nuls < most {
            let wanted = (most - nuls).min(piece.len());
            let read = self.read(&mut piece[..wanted], offset - (nuls + wanted) as u64)?;
            let found = trailing_nuls(&piece[..read]);
            nuls += found;
            if found < wanted {
                break;
            }
        }
        Ok(nuls)
    }

    /// The first end of a hole after `border` in the lines of a block.
    fn hole_end_after(&self, lines: &[u8], border: usize) -> Option<usize> {
        let line_bytes_max = self.line_bytes_max.filter(|_| self.framing.has_holes())?;
        let start = memrchr(self.framing.terminator(), &lines[..border]).map_or(0, |newline| newline + 1);
        HoleEnds::new(&lines[start..], line_bytes_max, 0).map(|end| start + end).find(|end| *end > border)
    }

    /// Start of the last one of the lines of a block.
    fn last_start(&self, lines: &[u8]) -> usize {
        let start = memrchr(self.framing.terminator(), lines).map_or(0, |newline| newline + 1);
        let line_bytes_max = self.line_bytes_max.filter(|_| self.framing.has_holes());
        let hole_end = line_bytes_max.and_then(|max| HoleEnds::new(&lines[start..], max, 0).last());
        start + hole_end.unwrap_or(0)
    }

    /// Fills `buffer` from `offset`; less only at the end of the file.
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        let mut filled = 0;
        while filled < buffer.len() {
            self.control.read_called();
            match self.file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(Error::io(&self.name, "cannot read", cause).at(offset + filled as u64)),
            }
        }
        Ok(filled)
    }

    fn shrank(&self, end: u64) -> Error {
        let message = format!("the file shrank while it was read: it had {} bytes when opened and now ends", self.size_bytes);
        Error::new(ErrorClass::Truncated, &self.name, message).at(end)
    }
}

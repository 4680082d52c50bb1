//! Records of a store's file, each with its kind, its length and a checksum.
//!
//! A record of texts holds those of one field in the order of their codes. A record of a segment
//! holds its number, its runs, and its columns, each packed by itself and with a checksum of its
//! own, so that one can be read back without the others. Records of an index say where the others
//! are, so that a store is restored without a look at its segments.

use crate::columns::{ColumnCounts, STATUS, STATUSES, TIME, ZONE, ZONE_MIN};
use crate::limits::{RECORD_BYTES_MAX, SEGMENT_ROWS_MAX};
use crate::numbers::CodedNumbers;
use crate::segment::{CodedColumnRef, InputRun, Segment, SegmentColumns};
use crate::spill::Spill;
use lz4_flex::block::{compress, decompress};
use std::io;

/// Kind, length and checksum of a record.
pub(crate) const FRAME_BYTES: usize = 1 + 4 + 4;

/// Kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordKind {
    Texts = 1,
    Segment = 2,
    /// Offsets of records of texts and segments, and the metadata of the segments.
    Index = 4,
    /// Counts of all rows of some segments.
    Counts = 5,
}

/// A record while it is made.
pub(crate) struct JournalRecord {
    kind: RecordKind,
    bytes: Vec<u8>,
}

/// Header before a record's bytes in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RecordHeader {
    pub(crate) kind: RecordKind,
    pub(crate) length: u32,
    checksum: u32,
}

/// Location of the columns of a segment in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SegmentLocation {
    pub(crate) offset: u64,
    pub(crate) counts: ColumnCounts,
    /// Of each column, the coded ones first.
    columns: Box<[ColumnLocation]>,
    /// The largest code in all segments of each coded column.
    last_codes: Box<[u32]>,
    /// Memory that all of them take.
    memory_bytes: u32,
}

/// A column of a segment in the file, after those before it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ColumnLocation {
    length: u32,
    checksum: u32,
}

/// Metadata of a segment beside its columns.
#[derive(Debug)]
pub(crate) struct Meta {
    pub(crate) place: usize,
    pub(crate) rows: usize,
    pub(crate) runs: Vec<InputRun>,
    pub(crate) times: Option<(u64, u64)>,
    pub(crate) all_timed: bool,
}

pub(crate) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the file of rows is damaged")
}

impl JournalRecord {
    pub(crate) fn new(kind: RecordKind) -> Self {
        Self { kind, bytes: vec![0; FRAME_BYTES] }
    }

    /// Its payload, after the header.
    pub(crate) fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// The finished record.
    pub(crate) fn finish(mut self) -> io::Result<Vec<u8>> {
        let payload = &self.bytes[FRAME_BYTES..];
        let length = u32::try_from(payload.len()).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        let checksum = crc32fast::hash(payload);
        self.bytes[0] = self.kind as u8;
        self.bytes[1..5].copy_from_slice(&length.to_le_bytes());
        self.bytes[5..FRAME_BYTES].copy_from_slice(&checksum.to_le_bytes());
        Ok(self.bytes)
    }
}

impl RecordHeader {
    pub(crate) fn read(mut bytes: &[u8]) -> Option<Self> {
        let kind = match u8::take(&mut bytes)? {
            1 => RecordKind::Texts,
            2 => RecordKind::Segment,
            4 => RecordKind::Index,
            5 => RecordKind::Counts,
            _ => return None,
        };
        Some(Self { kind, length: u32::take(&mut bytes)?, checksum: u32::take(&mut bytes)? })
    }

    /// True if the header fits the payload.
    pub(crate) fn fits(&self, payload: &[u8]) -> bool {
        payload.len() == self.length as usize && crc32fast::hash(payload) == self.checksum
    }
}

/// A number as bytes.
pub(crate) trait NumberBytes: Sized {
    /// Takes it from the front of `bytes`; `None` where these are too few.
    fn take(bytes: &mut &[u8]) -> Option<Self>;
}

macro_rules! field {
    ($($type:ty),*) => {
        $(impl NumberBytes for $type {
            fn take(bytes: &mut &[u8]) -> Option<Self> {
                let (own, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(Self::from_le_bytes(*own))
            }
        })*
    };
}
field!(u8, u16, u32, u64);

/// Bytes of a column of so many rows, before it is packed.
pub(crate) fn column_bytes_max(rows: usize) -> usize {
    64 + 12 * rows
}

/// `bytes` as they are stored: after their number, packed where that is a gain.
pub(crate) fn pack(bytes: &[u8], out: &mut Vec<u8>) {
    let packed = compress(bytes);
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(if packed.len() < bytes.len() { &packed } else { bytes });
}

/// The inverse of [`pack`], of at most `bytes_max`.
pub(crate) fn unpacked(mut stored: &[u8], bytes_max: usize) -> io::Result<Vec<u8>> {
    let length = u32::take(&mut stored).ok_or_else(damaged)? as usize;
    if length == stored.len() {
        return Ok(stored.to_vec());
    }
    // No packed byte stands for more than 255.
    if length > bytes_max || length / 255 > stored.len() {
        return Err(damaged());
    }
    let bytes = decompress(stored, length).map_err(|_| damaged())?;
    if bytes.len() == length { Ok(bytes) } else { Err(damaged()) }
}

/// Appends a segment as it is stored; where its columns are, from the first byte of `out` on.
pub(crate) fn encode(segment: &Segment, columns: &SegmentColumns, place: usize, out: &mut Vec<u8>) -> SegmentLocation {
    write_meta(segment, place, out);
    let directory = out.len();
    let counts = columns.counts();
    out.resize(directory + counts.all() * ColumnLocation::BYTES, 0);
    let mut stored = SegmentLocation::new(out.len() as u64, counts);
    let mut bytes = Vec::new();
    for index in 0..counts.all() {
        bytes.clear();
        match columns.coded.get(index) {
            Some(coded) => {
                coded.write(&mut bytes);
                stored.last_codes[index] = coded.last_code();
            }
            None => columns.numbers[index - counts.coded].write(&mut bytes),
        }
        let start = out.len();
        pack(&bytes, out);
        let column = ColumnLocation { length: (out.len() - start) as u32, checksum: crc32fast::hash(&out[start..]) };
        out[directory + index * ColumnLocation::BYTES..][..ColumnLocation::BYTES].copy_from_slice(&column.to_bytes());
        stored.columns[index] = column;
    }
    stored.memory_bytes = u32::try_from(columns.bytes()).unwrap_or(u32::MAX);
    stored
}

/// Appends the metadata of a segment.
fn write_meta(segment: &Segment, place: usize, out: &mut Vec<u8>) {
    let (first, last) = segment.times.unwrap_or((1, 0));
    out.extend_from_slice(&(place as u32).to_le_bytes());
    out.extend_from_slice(&(segment.rows as u32).to_le_bytes());
    out.extend_from_slice(&first.to_le_bytes());
    out.extend_from_slice(&last.to_le_bytes());
    out.push(u8::from(segment.all_timed));
    out.extend_from_slice(&(segment.runs.len() as u32).to_le_bytes());
    for InputRun { input, offset, rows, .. } in &segment.runs {
        out.extend_from_slice(&input.to_le_bytes());
        out.extend_from_slice(&offset.to_le_bytes());
        out.extend_from_slice(&rows.to_le_bytes());
    }
}

/// Takes a segment of so many columns that [`encode`] appended from the front of `bytes`. `None`
/// where it is something else; its codes are not held against the dictionaries yet.
pub(crate) fn decode(bytes: &mut &[u8], counts: ColumnCounts) -> Option<(Meta, SegmentColumns)> {
    let meta = Meta::take(bytes)?;
    let columns = (0..counts.all()).map(|_| ColumnLocation::take(bytes)).collect::<Option<Vec<_>>>()?;
    let mut column = |index: usize| -> Option<Vec<u8>> {
        let (own, rest) = bytes.split_at_checked(columns[index].length as usize)?;
        *bytes = rest;
        unpacked(own, column_bytes_max(meta.rows)).ok()
    };
    let coded = (0..counts.coded).map(|index| CodedColumnRef::read(&column(index)?, meta.rows)).collect::<Option<Vec<_>>>()?;
    let numbers =
        (counts.coded..counts.all()).map(|index| CodedNumbers::read(&column(index)?, meta.rows)).collect::<Option<Vec<_>>>()?;
    let known = [STATUS, ZONE].iter().all(|index| is_known(*index, coded[*index].last_code(), 0));
    let time = &numbers[TIME];
    let timed = time.min().map(|first| (first, time.max()));
    (known && timed == meta.times).then_some((meta, SegmentColumns { coded, numbers }))
}

/// True if a coded column may have codes up to `last`, where its dictionary has `length` codes. The
/// codes of statuses and of zones are no dictionary's.
pub(crate) fn is_known(index: usize, last: u32, length: usize) -> bool {
    let codes = match index {
        STATUS => STATUSES,
        ZONE => 2 * ZONE_MIN.unsigned_abs() as usize + 1,
        _ => length,
    };
    (last as usize) < codes
}

/// Appends where a segment is, as it is in an index.
pub(crate) fn write_location(segment: &Segment, location: &SegmentLocation, place: usize, out: &mut Vec<u8>) {
    write_meta(segment, place, out);
    out.extend_from_slice(&location.offset.to_le_bytes());
    location.columns.iter().for_each(|column| out.extend_from_slice(&column.to_bytes()));
    location.last_codes.iter().for_each(|code| out.extend_from_slice(&code.to_le_bytes()));
    out.extend_from_slice(&location.memory_bytes.to_le_bytes());
}

/// The inverse of [`write_location`], of a segment of so many columns.
pub(crate) fn take_location(bytes: &mut &[u8], counts: ColumnCounts) -> Option<(Meta, SegmentLocation)> {
    let meta = Meta::take(bytes)?;
    let offset = u64::take(bytes)?;
    let columns = (0..counts.all()).map(|_| ColumnLocation::take(bytes)).collect::<Option<_>>()?;
    let last_codes = (0..counts.coded).map(|_| u32::take(bytes)).collect::<Option<_>>()?;
    Some((meta, SegmentLocation { offset, counts, columns, last_codes, memory_bytes: u32::take(bytes)? }))
}

impl ColumnLocation {
    const BYTES: usize = 4 + 4;

    fn to_bytes(self) -> [u8; Self::BYTES] {
        (u64::from(self.length) | u64::from(self.checksum) << 32).to_le_bytes()
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        Some(Self { length: u32::take(bytes)?, checksum: u32::take(bytes)? })
    }
}

impl Meta {
    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let (place, rows) = (u32::take(bytes)? as usize, u32::take(bytes)? as usize);
        let (first, last) = (u64::take(bytes)?, u64::take(bytes)?);
        let all_timed = u8::take(bytes)? != 0;
        let count = u32::take(bytes)? as usize;
        if !(1..=SEGMENT_ROWS_MAX).contains(&rows) || count > rows {
            return None;
        }
        let mut runs: Vec<InputRun> = Vec::with_capacity(count);
        let mut row = 0u32;
        for _ in 0..count {
            let run = InputRun { input: u32::take(bytes)?, offset: u64::take(bytes)?, row, rows: u32::take(bytes)? };
            row = row.checked_add(run.rows)?;
            runs.push(run);
        }
        let times = (first <= last).then_some((first, last));
        (row as usize == rows).then_some(Self { place, rows, runs, times, all_timed })
    }
}

impl SegmentLocation {
    fn new(offset: u64, counts: ColumnCounts) -> Self {
        let columns = vec![ColumnLocation::default(); counts.all()].into();
        Self { offset, counts, columns, last_codes: vec![0; counts.coded].into(), memory_bytes: 0 }
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.columns) + size_of_val(&*self.last_codes)
    }

    /// The largest code in all segments of each coded column.
    pub(crate) fn last_codes(&self) -> &[u32] {
        &self.last_codes
    }

    /// Memory that its columns take once they are read back.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes.into()
    }

    /// Reads all columns, and holds them against their checksums.
    pub(crate) fn verify(&self, spill: &Spill) -> io::Result<()> {
        (0..self.columns.len()).try_for_each(|index| self.read(index, spill).map(drop))
    }

    /// Reads a column, as it is packed.
    pub(crate) fn read(&self, index: usize, spill: &Spill) -> io::Result<Vec<u8>> {
        let before: u64 = self.columns[..index].iter().map(|column| u64::from(column.length)).sum();
        let ColumnLocation { length, checksum } = self.columns[index];
        if length as usize > RECORD_BYTES_MAX {
            return Err(damaged());
        }
        let offset = self.offset.checked_add(before).ok_or_else(damaged)?;
        let bytes = spill.read_at((offset, length as usize))?;
        if crc32fast::hash(&bytes) == checksum { Ok(bytes) } else { Err(damaged()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        for bytes in [vec![], vec![1], vec![7; 100_000], (0..=255).collect()] {
            let mut stored = Vec::new();
            pack(&bytes, &mut stored);
            assert_eq!(unpacked(&stored, bytes.len()).expect("it is whole"), bytes);
        }
        // A length that nothing can have.
        assert!(unpacked(&[255, 255, 255, 255, 0], usize::MAX).is_err());
        assert!(unpacked(&[200, 0, 0, 0, 0x1f, 7, 1, 0, 255], 100).is_err());
        assert!(unpacked(&[1, 0], 100).is_err());
    }
}

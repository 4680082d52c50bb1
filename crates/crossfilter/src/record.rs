//! Records of a store's file, each with its kind, its length and a checksum.
//!
//! A record of texts holds those of one field in the order of their codes. A record of a segment
//! holds its number, its runs, and its columns, each packed by itself, so that one can be read back
//! without the others.

use crate::columns::{ColumnCounts, STATUS, STATUSES, TIME, ZONE, ZONE_MIN};
use crate::limits::SEGMENT_ROWS_MAX;
use crate::numbers::CodedNumbers;
use crate::segment::{CodedColumnRef, InputRun, Segment, SegmentColumns};
use crate::uncoded::{PackedTexts, UncodedTexts};
use lz4_flex::block::{compress, decompress};
use std::io;

/// Kind, length and checksum of a record.
pub(crate) const FRAME_BYTES: usize = 1 + 4 + 4;

/// Kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RecordKind {
    Texts = 1,
    Segment = 2,
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
    lengths: Box<[u32]>,
    /// Of the coded columns with texts without a code, in the order of the columns.
    pub(crate) uncoded: Box<[UncodedLocation]>,
}

/// Location of the texts without a code of a column: hashes, and then texts, after those of the
/// columns before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UncodedLocation {
    pub(crate) column: u16,
    texts: u32,
    texts_bytes: u32,
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
    let directory = out.len();
    let counts = columns.counts();
    out.resize(directory + counts.all() * size_of::<u32>(), 0);
    let mut bytes = Vec::new();
    let mut uncoded = Vec::new();
    out.extend_from_slice(&(columns.uncoded.len() as u32).to_le_bytes());
    for (column, of) in &columns.uncoded {
        bytes.clear();
        of.texts.write(&mut bytes);
        let location = UncodedLocation { column: *column, texts: of.hashes.len() as u32, texts_bytes: bytes.len() as u32 };
        out.extend_from_slice(&location.column.to_le_bytes());
        out.extend_from_slice(&location.texts.to_le_bytes());
        out.extend_from_slice(&location.texts_bytes.to_le_bytes());
        uncoded.push(location);
    }
    let mut stored = SegmentLocation::new(out.len() as u64, counts, uncoded);
    for index in 0..counts.all() {
        bytes.clear();
        match columns.coded.get(index) {
            Some(coded) => coded.write(&mut bytes),
            None => columns.numbers[index - counts.coded].write(&mut bytes),
        }
        let start = out.len();
        pack(&bytes, out);
        stored.lengths[index] = (out.len() - start) as u32;
        out[directory + index * size_of::<u32>()..][..size_of::<u32>()].copy_from_slice(&stored.lengths[index].to_le_bytes());
    }
    for (_, of) in &columns.uncoded {
        of.write_hashes(out);
        of.texts.write(out);
    }
    stored
}

/// Takes a segment of so many columns that [`encode`] appended from the front of `bytes`. `None`
/// where it is something else; its codes are not held against the dictionaries yet.
pub(crate) fn decode(bytes: &mut &[u8], counts: ColumnCounts) -> Option<(Meta, SegmentColumns, SegmentLocation)> {
    let whole = bytes.len();
    let meta = Meta::take(bytes)?;
    let mut stored = SegmentLocation::new(0, counts, Vec::new());
    for length in &mut stored.lengths {
        *length = u32::take(bytes)?;
    }
    stored.uncoded = UncodedLocation::take_all(bytes, counts)?.into();
    stored.offset = (whole - bytes.len()) as u64;
    let mut column = |index: usize| -> Option<Vec<u8>> {
        let (own, rest) = bytes.split_at_checked(stored.lengths[index] as usize)?;
        *bytes = rest;
        unpacked(own, column_bytes_max(meta.rows)).ok()
    };
    let coded = (0..counts.coded).map(|index| CodedColumnRef::read(&column(index)?, meta.rows)).collect::<Option<Vec<_>>>()?;
    let numbers =
        (counts.coded..counts.all()).map(|index| CodedNumbers::read(&column(index)?, meta.rows)).collect::<Option<Vec<_>>>()?;
    let mut uncoded = Vec::new();
    for location in &stored.uncoded {
        let texts = location.texts as usize;
        let (hashes, rest) = bytes.split_at_checked(texts.checked_mul(size_of::<u64>())?)?;
        let (packed, rest) = rest.split_at_checked(location.texts_bytes as usize)?;
        *bytes = rest;
        let hashes = UncodedTexts::read_hashes(hashes, texts)?;
        uncoded.push((location.column, UncodedTexts { hashes, texts: PackedTexts::read(packed, texts)? }));
    }
    let columns = SegmentColumns { coded, numbers, uncoded };
    let has_texts = |(index, column): (usize, &CodedColumnRef)| {
        column.uncoded == columns.uncoded(index).map_or(0, |uncoded| uncoded.hashes.len())
    };
    if !columns.coded.iter().enumerate().all(has_texts) {
        return None;
    }
    let SegmentColumns { coded, numbers, .. } = &columns;
    let fits = |index: usize, codes: usize| (coded[index].globals_max() as usize) < codes;
    let known = fits(STATUS, STATUSES) && fits(ZONE, 2 * ZONE_MIN.unsigned_abs() as usize + 1);
    let time = &numbers[TIME];
    let timed = time.min().map(|first| (first, time.max()));
    (known && timed == meta.times).then_some((meta, columns, stored))
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

impl UncodedLocation {
    fn take_all(bytes: &mut &[u8], counts: ColumnCounts) -> Option<Vec<Self>> {
        let count = u32::take(bytes)? as usize;
        if count > counts.coded {
            return None;
        }
        let mut all: Vec<Self> = Vec::with_capacity(count);
        for _ in 0..count {
            let of = Self { column: u16::take(bytes)?, texts: u32::take(bytes)?, texts_bytes: u32::take(bytes)? };
            let is_next = all.last().is_none_or(|last| last.column < of.column) && usize::from(of.column) < counts.coded;
            is_next.then(|| all.push(of))?;
        }
        Some(all)
    }
}

impl SegmentLocation {
    fn new(offset: u64, counts: ColumnCounts, uncoded: Vec<UncodedLocation>) -> Self {
        Self { offset, counts, lengths: vec![0; counts.all()].into(), uncoded: uncoded.into() }
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.lengths) + size_of_val(&*self.uncoded)
    }

    /// Offset and length of the hashes of a column's texts without a code, and the number of these.
    pub(crate) fn uncoded_hashes(&self, index: usize) -> Option<((u64, usize), usize)> {
        let (offset, of) = self.uncoded_of(index)?;
        Some(((offset, of.texts as usize * size_of::<u64>()), of.texts as usize))
    }

    /// The same of the texts.
    pub(crate) fn uncoded_texts(&self, index: usize) -> Option<((u64, usize), usize)> {
        let (offset, of) = self.uncoded_of(index)?;
        Some(((offset + u64::from(of.texts) * size_of::<u64>() as u64, of.texts_bytes as usize), of.texts as usize))
    }

    fn uncoded_of(&self, index: usize) -> Option<(u64, &UncodedLocation)> {
        let (columns, _) = self.column(self.lengths.len());
        let at = self.uncoded.iter().position(|of| usize::from(of.column) == index)?;
        let bytes = |of: &UncodedLocation| u64::from(of.texts) * size_of::<u64>() as u64 + u64::from(of.texts_bytes);
        Some((columns + self.uncoded[..at].iter().map(bytes).sum::<u64>(), &self.uncoded[at]))
    }

    /// Offset and length of a column.
    pub(crate) fn column(&self, index: usize) -> (u64, usize) {
        let before: u64 = self.lengths[..index].iter().map(|length| u64::from(*length)).sum();
        (self.offset + before, self.lengths.get(index).map_or(0, |length| *length as usize))
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

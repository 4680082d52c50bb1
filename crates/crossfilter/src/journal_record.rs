//! Records of a store's file, each with its kind, its length and a checksum.
//!
//! A record of texts holds those of one field in the order of their codes. A record of a segment
//! holds its number, its runs, and its columns, each packed by itself and with a checksum of its
//! own, so that one can be read back without the others. Records of an index say where the others
//! are, so that a store is restored without a look at its segments.

use crate::columns::{ColumnCounts, STATUS, STATUSES, TIME, ZONE, ZONE_MIN};
use crate::file_bytes::{NumberBytes, damaged, pack, unpacked};
use crate::limits::{RECORD_BYTES_MAX, SEGMENT_ROWS_MAX};
use crate::numbers::CodedNumbers;
use crate::segment::{CodedColumnRef, InputRun, Segment, SegmentColumns};
use crate::spill::Spill;
use crate::uncoded::{PackedTexts, UncodedTexts};
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
    globals_max: Box<[u32]>,
    /// Of the coded columns with texts without a code, in the order of the columns.
    pub(crate) uncoded: Box<[UncodedLocation]>,
    /// Memory that all of them take.
    memory_bytes: u32,
}

/// Length and checksum of bytes in the file, which lie after those of the column before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct ColumnLocation {
    length: u32,
    checksum: u32,
}

/// Location of the texts without a code of a column: hashes, and then texts, after those of the
/// columns before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct UncodedLocation {
    pub(crate) column: u16,
    count: u32,
    hashes: ColumnLocation,
    texts: ColumnLocation,
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

/// Bytes of a column of so many rows, before it is packed.
pub(crate) fn column_bytes_max(rows: usize) -> usize {
    64 + 12 * rows
}

/// Appends a segment as it is stored; where its columns are, from the first byte of `out` on.
pub(crate) fn encode(segment: &Segment, columns: &SegmentColumns, place: usize, out: &mut Vec<u8>) -> SegmentLocation {
    write_meta(segment, place, out);
    let directory = out.len();
    let counts = columns.counts();
    out.resize(directory + counts.all() * ColumnLocation::BYTES, 0);
    let uncoded_directory = out.len();
    out.resize(uncoded_directory + UncodedLocation::bytes_of(columns.uncoded.len()), 0);
    let mut stored = SegmentLocation::new(out.len() as u64, counts);
    let mut bytes = Vec::new();
    for index in 0..counts.all() {
        bytes.clear();
        match columns.coded.get(index) {
            Some(coded) => {
                coded.write(&mut bytes);
                stored.globals_max[index] = coded.globals_max();
            }
            None => columns.numbers[index - counts.coded].write(&mut bytes),
        }
        let start = out.len();
        pack(&bytes, out);
        let column = ColumnLocation::of(&out[start..]);
        out[directory + index * ColumnLocation::BYTES..][..ColumnLocation::BYTES].copy_from_slice(&column.to_bytes());
        stored.columns[index] = column;
    }
    let mut uncoded = Vec::with_capacity(columns.uncoded.len());
    for (column, of) in &columns.uncoded {
        let start = out.len();
        of.write_hashes(out);
        let hashes = ColumnLocation::of(&out[start..]);
        let start = out.len();
        of.texts.write(out);
        let texts = ColumnLocation::of(&out[start..]);
        uncoded.push(UncodedLocation { column: *column, count: of.hashes.len() as u32, hashes, texts });
    }
    bytes.clear();
    UncodedLocation::write_all(&uncoded, &mut bytes);
    out[uncoded_directory..][..bytes.len()].copy_from_slice(&bytes);
    stored.uncoded = uncoded.into();
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
    let locations = UncodedLocation::take_all(bytes, counts)?;
    let mut column = |index: usize| -> Option<Vec<u8>> {
        let (own, rest) = bytes.split_at_checked(columns[index].length as usize)?;
        *bytes = rest;
        unpacked(own, column_bytes_max(meta.rows)).ok()
    };
    let coded = (0..counts.coded).map(|index| CodedColumnRef::read(&column(index)?, meta.rows)).collect::<Option<Vec<_>>>()?;
    let numbers =
        (counts.coded..counts.all()).map(|index| CodedNumbers::read(&column(index)?, meta.rows)).collect::<Option<Vec<_>>>()?;
    let mut uncoded = Vec::new();
    for location in &locations {
        let texts = location.count as usize;
        let (hashes, rest) = bytes.split_at_checked(location.hashes.length as usize)?;
        let (packed, rest) = rest.split_at_checked(location.texts.length as usize)?;
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
    let known = [STATUS, ZONE].iter().all(|index| is_known(*index, coded[*index].globals_max(), 0));
    let time = &numbers[TIME];
    let timed = time.min().map(|first| (first, time.max()));
    (known && timed == meta.times).then_some((meta, columns))
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
    UncodedLocation::write_all(&location.uncoded, out);
    location.globals_max.iter().for_each(|code| out.extend_from_slice(&code.to_le_bytes()));
    out.extend_from_slice(&location.memory_bytes.to_le_bytes());
}

/// The inverse of [`write_location`], of a segment of so many columns.
pub(crate) fn take_location(bytes: &mut &[u8], counts: ColumnCounts) -> Option<(Meta, SegmentLocation)> {
    let meta = Meta::take(bytes)?;
    let offset = u64::take(bytes)?;
    let columns = (0..counts.all()).map(|_| ColumnLocation::take(bytes)).collect::<Option<_>>()?;
    let uncoded = UncodedLocation::take_all(bytes, counts)?.into();
    let globals_max = (0..counts.coded).map(|_| u32::take(bytes)).collect::<Option<_>>()?;
    Some((meta, SegmentLocation { offset, counts, columns, globals_max, uncoded, memory_bytes: u32::take(bytes)? }))
}

impl ColumnLocation {
    const BYTES: usize = 4 + 4;

    fn of(bytes: &[u8]) -> Self {
        Self { length: bytes.len() as u32, checksum: crc32fast::hash(bytes) }
    }

    fn to_bytes(self) -> [u8; Self::BYTES] {
        (u64::from(self.length) | u64::from(self.checksum) << 32).to_le_bytes()
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        Some(Self { length: u32::take(bytes)?, checksum: u32::take(bytes)? })
    }

    /// Reads the bytes from an offset on, and holds them against the checksum.
    fn read(self, offset: u64, spill: &Spill) -> io::Result<Vec<u8>> {
        if self.length as usize > RECORD_BYTES_MAX {
            return Err(damaged());
        }
        let bytes = spill.read_at((offset, self.length as usize))?;
        if crc32fast::hash(&bytes) == self.checksum { Ok(bytes) } else { Err(damaged()) }
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

impl UncodedLocation {
    /// Bytes of so many as [`UncodedLocation::write_all`] has them.
    fn bytes_of(count: usize) -> usize {
        4 + count * (2 + 4 + 2 * ColumnLocation::BYTES)
    }

    fn write_all(all: &[Self], out: &mut Vec<u8>) {
        out.extend_from_slice(&(all.len() as u32).to_le_bytes());
        for of in all {
            out.extend_from_slice(&of.column.to_le_bytes());
            out.extend_from_slice(&of.count.to_le_bytes());
            out.extend_from_slice(&of.hashes.to_bytes());
            out.extend_from_slice(&of.texts.to_bytes());
        }
    }

    fn take_all(bytes: &mut &[u8], counts: ColumnCounts) -> Option<Vec<Self>> {
        let count = u32::take(bytes)? as usize;
        if count > counts.coded {
            return None;
        }
        let mut all: Vec<Self> = Vec::with_capacity(count);
        for _ in 0..count {
            let (column, count) = (u16::take(bytes)?, u32::take(bytes)?);
            let of = Self { column, count, hashes: ColumnLocation::take(bytes)?, texts: ColumnLocation::take(bytes)? };
            let is_next = all.last().is_none_or(|last| last.column < of.column) && usize::from(of.column) < counts.coded;
            is_next.then(|| all.push(of))?;
        }
        Some(all)
    }
}

impl SegmentLocation {
    fn new(offset: u64, counts: ColumnCounts) -> Self {
        let columns = vec![ColumnLocation::default(); counts.all()].into();
        let globals_max = vec![0; counts.coded].into();
        Self { offset, counts, columns, globals_max, uncoded: Box::default(), memory_bytes: 0 }
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + size_of_val(&*self.columns) + size_of_val(&*self.globals_max) + size_of_val(&*self.uncoded)
    }

    /// The largest code in all segments of each coded column.
    pub(crate) fn globals_max(&self) -> &[u32] {
        &self.globals_max
    }

    /// Memory that its columns take once they are read back.
    pub(crate) fn memory_bytes(&self) -> u64 {
        self.memory_bytes.into()
    }

    /// Reads all columns and texts, and holds them against their checksums.
    pub(crate) fn verify(&self, spill: &Spill) -> io::Result<()> {
        (0..self.columns.len()).try_for_each(|index| self.read(index, spill).map(drop))?;
        self.uncoded.iter().map(|of| usize::from(of.column)).try_for_each(|index| {
            self.read_hashes(index, spill)?;
            self.read_texts(index, spill).map(drop)
        })
    }

    /// Reads a column, as it is packed.
    pub(crate) fn read(&self, index: usize, spill: &Spill) -> io::Result<Vec<u8>> {
        self.columns[index].read(self.offset_of(index)?, spill)
    }

    /// Number of the texts without a code of a column.
    pub(crate) fn uncoded_count(&self, index: usize) -> usize {
        self.uncoded.iter().find(|of| usize::from(of.column) == index).map_or(0, |of| of.count as usize)
    }

    /// Reads the hashes of the texts without a code of a column that has some.
    pub(crate) fn read_hashes(&self, index: usize, spill: &Spill) -> io::Result<Vec<u64>> {
        let (offset, of) = self.uncoded_of(index)?;
        UncodedTexts::read_hashes(&of.hashes.read(offset, spill)?, of.count as usize).ok_or_else(damaged)
    }

    /// Reads the texts themselves.
    pub(crate) fn read_texts(&self, index: usize, spill: &Spill) -> io::Result<PackedTexts> {
        let (offset, of) = self.uncoded_of(index)?;
        let texts = of.texts.read(offset + u64::from(of.hashes.length), spill)?;
        PackedTexts::read(&texts, of.count as usize).ok_or_else(damaged)
    }

    fn uncoded_of(&self, index: usize) -> io::Result<(u64, &UncodedLocation)> {
        let at = self.uncoded.iter().position(|of| usize::from(of.column) == index).ok_or_else(damaged)?;
        let bytes = |of: &UncodedLocation| u64::from(of.hashes.length) + u64::from(of.texts.length);
        let before: u64 = self.uncoded[..at].iter().map(bytes).sum();
        let offset = self.offset_of(self.columns.len())?.checked_add(before).ok_or_else(damaged)?;
        Ok((offset, &self.uncoded[at]))
    }

    /// Offset of a column; of the texts without a code, which follow the last one.
    fn offset_of(&self, index: usize) -> io::Result<u64> {
        let before: u64 = self.columns[..index].iter().map(|column| u64::from(column.length)).sum();
        self.offset.checked_add(before).ok_or_else(damaged)
    }
}

//! Rows as columns: a few tens of thousands of them, with codes of their own.

use crate::codes::Codes;
use crate::columns::{ColumnCounts, TIME};
use crate::file_bytes::{damaged, unpacked};
use crate::journal_record::{JournalRecord, Meta, RecordKind, SegmentLocation, column_bytes_max, encode};
use crate::numbers::CodedNumbers;
use crate::spill::Spill;
use crate::uncoded::{PackedTexts, PlainTexts, UncodedTexts};
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

/// Bytes that an allocator and an `Arc` add to a segment.
const ALLOCATED_BYTES: usize = 64;

/// Rows that lie after each other in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct InputRun {
    /// Number of the input.
    pub(crate) input: u32,
    /// Offset of their chunk in the input.
    pub(crate) offset: u64,
    /// The first row.
    pub(crate) row: u32,
    pub(crate) rows: u32,
}

/// A column of codes, with the global code of each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodedColumnRef {
    /// Codes of texts in ascending order; after them, for each text without one, the code of its
    /// group.
    pub(crate) globals: Vec<u32>,
    /// Number of texts without a code.
    pub(crate) uncoded: usize,
    /// Indices into `globals`.
    pub(crate) codes: Codes,
}

/// Rows that do not change any more.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) rows: usize,
    pub(crate) runs: Vec<InputRun>,
    /// First and last time, biased by [`biased`].
    pub(crate) times: Option<(u64, u64)>,
    pub(crate) all_timed: bool,
    /// True if no more rows come to it.
    pub(crate) complete: bool,
    /// In memory, unless they are only in the file.
    columns: Option<Arc<SegmentColumns>>,
    /// Their location in the file.
    stored: Option<Box<SegmentLocation>>,
}

/// All columns of a segment.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SegmentColumns {
    pub(crate) coded: Vec<CodedColumnRef>,
    pub(crate) numbers: Vec<CodedNumbers>,
    /// Of the coded columns that have such texts, by their index.
    pub(crate) uncoded: Vec<(u16, UncodedTexts)>,
}

/// Times as unsigned numbers in the same order.
pub(crate) fn biased(time_us: i64) -> u64 {
    time_us.cast_unsigned() ^ (1 << 63)
}

/// The inverse of [`biased`].
pub(crate) fn unbiased(time: u64) -> i64 {
    (time ^ (1 << 63)).cast_signed()
}

impl Segment {
    pub(crate) fn new(rows: usize, runs: Vec<InputRun>, columns: SegmentColumns, complete: bool) -> Self {
        let absent = rorqual_accesslog::filter::NumberTest { ranges: Vec::new(), absent: true };
        let time = &columns.numbers[TIME];
        let all_timed = time.select(&absent, rows).count() == 0;
        let times = time.min().map(|first| (first, time.max()));
        Self { rows, runs, times, all_timed, complete, columns: Some(Arc::new(columns)), stored: None }
    }

    /// A column of codes, read back where it was spilled.
    pub(crate) fn coded(&self, index: usize, spill: Option<&Spill>) -> io::Result<Cow<'_, CodedColumnRef>> {
        match &self.columns {
            Some(columns) => Ok(Cow::Borrowed(&columns.coded[index])),
            None => {
                let stored = self.stored.as_ref().ok_or_else(damaged)?;
                // The dictionary was held against the largest code.
                let (max, uncoded) = (stored.globals_max()[index], stored.uncoded_count(index));
                let is_own = |column: &CodedColumnRef| column.globals_max() == max && column.uncoded == uncoded;
                self.read(index, spill, CodedColumnRef::read, is_own).map(Cow::Owned)
            }
        }
    }

    /// A column of codes, where it is in memory.
    pub(crate) fn coded_here(&self, index: usize) -> Option<&CodedColumnRef> {
        self.columns.as_ref().map(|columns| &columns.coded[index])
    }

    /// A column of numbers, read back where it was spilled.
    pub(crate) fn numbers(&self, index: usize, spill: Option<&Spill>) -> io::Result<Cow<'_, CodedNumbers>> {
        match &self.columns {
            Some(columns) => Ok(Cow::Borrowed(&columns.numbers[index])),
            None => {
                let coded = self.stored.as_ref().map_or(0, |stored| stored.counts.coded);
                let is_own =
                    |numbers: &CodedNumbers| index != TIME || numbers.min().map(|first| (first, numbers.max())) == self.times;
                self.read(coded + index, spill, CodedNumbers::read, is_own).map(Cow::Owned)
            }
        }
    }

    /// Hashes of the texts without a code of a coded column that has some, read back where it was
    /// spilled.
    pub(crate) fn uncoded_hashes(&self, index: usize, spill: Option<&Spill>) -> io::Result<Cow<'_, [u64]>> {
        match &self.columns {
            Some(columns) => Ok(Cow::Borrowed(&columns.uncoded(index).ok_or_else(damaged)?.hashes)),
            None => self.read_stored(spill, |stored, spill| stored.read_hashes(index, spill)).map(Cow::Owned),
        }
    }

    /// The texts themselves.
    pub(crate) fn uncoded_texts(&self, index: usize, spill: Option<&Spill>) -> io::Result<Cow<'_, PackedTexts>> {
        match &self.columns {
            Some(columns) => Ok(Cow::Borrowed(&columns.uncoded(index).ok_or_else(damaged)?.texts)),
            None => self.read_stored(spill, |stored, spill| stored.read_texts(index, spill)).map(Cow::Owned),
        }
    }

    /// The texts without a code of each coded column that has some, not compressed.
    pub(crate) fn plain_texts(&self, spill: Option<&Spill>) -> io::Result<Vec<Option<PlainTexts>>> {
        let mut all: Vec<Option<PlainTexts>> = (0..self.counts().coded).map(|_| None).collect();
        for index in self.uncoded_columns() {
            all[index] = Some(self.uncoded_texts(index, spill)?.plain()?);
        }
        Ok(all)
    }

    /// All columns, where they are in memory.
    pub(crate) fn columns(&self) -> Option<&Arc<SegmentColumns>> {
        self.columns.as_ref()
    }

    /// Reads a column back that is this segment's own.
    fn read<T>(
        &self,
        index: usize,
        spill: Option<&Spill>,
        decode: impl Fn(&[u8], usize) -> Option<T>,
        is_own: impl Fn(&T) -> bool,
    ) -> io::Result<T> {
        self.read_stored(spill, |stored, spill| {
            let bytes = unpacked(&stored.read(index, spill)?, column_bytes_max(self.rows))?;
            decode(&bytes, self.rows).filter(&is_own).ok_or_else(damaged)
        })
    }

    /// Reads from the file, and notes damage there.
    fn read_stored<T>(
        &self,
        spill: Option<&Spill>,
        read: impl FnOnce(&SegmentLocation, &Spill) -> io::Result<T>,
    ) -> io::Result<T> {
        let (spill, stored) = spill.zip(self.stored.as_deref()).ok_or_else(damaged)?;
        read(stored, spill).inspect_err(|error| spill.note_damage(error))
    }

    /// The same rows, which have the `place` among all segments, with columns in the file, too.
    ///
    /// # Errors
    /// When the file is full.
    pub(crate) fn stored(&self, place: usize, spill: &Spill) -> io::Result<Self> {
        let Some(columns) = self.columns.as_ref().filter(|_| self.stored.is_none()) else { return Ok(self.clone()) };
        let mut record = JournalRecord::new(RecordKind::Segment);
        let mut stored = encode(self, columns, place, record.bytes());
        stored.offset += spill.append(record)?;
        Ok(Self { stored: Some(Box::new(stored)), ..self.clone() })
    }

    /// The same rows, with columns only in the file.
    ///
    /// # Errors
    /// When the file is full.
    pub(crate) fn spilled(&self, place: usize, spill: &Spill) -> io::Result<Self> {
        Ok(Self { columns: None, ..self.stored(place, spill)? })
    }

    /// The same rows, with all columns in memory.
    ///
    /// # Errors
    /// When the file can't be read.
    pub(crate) fn read_back(&self, spill: Option<&Spill>) -> io::Result<Self> {
        let ColumnCounts { coded, numbers } = self.counts();
        let coded = (0..coded).map(|index| Ok(self.coded(index, spill)?.into_owned())).collect::<io::Result<_>>()?;
        let numbers = (0..numbers).map(|index| Ok(self.numbers(index, spill)?.into_owned())).collect::<io::Result<_>>()?;
        let uncoded = |index: usize| {
            let hashes = self.uncoded_hashes(index, spill)?.into_owned();
            Ok((index as u16, UncodedTexts { hashes, texts: self.uncoded_texts(index, spill)?.into_owned() }))
        };
        let with_uncoded = self.uncoded_columns();
        let uncoded = with_uncoded.into_iter().map(uncoded).collect::<io::Result<_>>()?;
        Ok(Self { columns: Some(Arc::new(SegmentColumns { coded, numbers, uncoded })), ..self.clone() })
    }

    /// Indices of the coded columns that have texts without a code.
    fn uncoded_columns(&self) -> Vec<usize> {
        match (&self.columns, &self.stored) {
            (Some(columns), _) => columns.uncoded.iter().map(|(index, _)| usize::from(*index)).collect(),
            (None, Some(stored)) => stored.uncoded.iter().map(|of| usize::from(of.column)).collect(),
            (None, None) => Vec::new(),
        }
    }

    /// Numbers of its columns.
    pub(crate) fn counts(&self) -> ColumnCounts {
        let here = || self.columns.as_ref().map(|columns| columns.counts());
        let there = || self.stored.as_ref().map(|stored| stored.counts);
        here().or_else(there).unwrap_or(ColumnCounts { coded: 0, numbers: 0 })
    }

    /// The same rows, to which no more come.
    pub(crate) fn completed(&self) -> Self {
        Self { complete: true, ..self.clone() }
    }

    /// The rows of a record of the file.
    pub(crate) fn of_record(
        meta: Meta,
        columns: Option<SegmentColumns>,
        stored: Option<SegmentLocation>,
        complete: bool,
    ) -> Self {
        let Meta { rows, runs, times, all_timed, .. } = meta;
        Self { rows, runs, times, all_timed, complete, columns: columns.map(Arc::new), stored: stored.map(Box::new) }
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> u64 {
        let fixed = size_of::<Self>() + ALLOCATED_BYTES + self.runs.capacity() * size_of::<InputRun>();
        let stored = self.stored.as_ref().map_or(0, |stored| stored.bytes());
        (fixed + stored) as u64 + self.columns.as_ref().map_or(0, |columns| columns.bytes())
    }

    pub(crate) fn is_spilled(&self) -> bool {
        self.columns.is_none()
    }

    /// True if its columns are in the file.
    pub(crate) fn is_stored(&self) -> bool {
        self.stored.is_some()
    }

    /// Location of its columns in the file.
    pub(crate) fn location(&self) -> Option<&SegmentLocation> {
        self.stored.as_deref()
    }
}

impl SegmentColumns {
    /// The texts without a code of a column; `None` where it has none.
    pub(crate) fn uncoded(&self, index: usize) -> Option<&UncodedTexts> {
        self.uncoded.iter().find(|(column, _)| usize::from(*column) == index).map(|(_, texts)| texts)
    }

    pub(crate) fn counts(&self) -> ColumnCounts {
        ColumnCounts { coded: self.coded.len(), numbers: self.numbers.len() }
    }

    pub(crate) fn bytes(&self) -> u64 {
        let coded = |coded: &CodedColumnRef| coded.codes.bytes() + (coded.globals.capacity() * size_of::<u32>()) as u64;
        let columns = self.coded.len() * size_of::<CodedColumnRef>() + self.numbers.len() * size_of::<CodedNumbers>();
        let fixed = size_of::<Self>() + columns + ALLOCATED_BYTES;
        let numbers = self.numbers.iter().map(|numbers| numbers.codes.bytes());
        let uncoded = self.uncoded.iter().map(|(_, texts)| texts.bytes() + size_of::<(u16, UncodedTexts)>() as u64);
        self.coded.iter().map(coded).sum::<u64>() + numbers.sum::<u64>() + uncoded.sum::<u64>() + fixed as u64
    }
}

impl CodedColumnRef {
    /// A column of `codes`, which are indices into `globals`: sorted, so that sums go through the
    /// others in order, with the codes of `uncoded` texts after them.
    pub(crate) fn sorted(globals: &[u32], uncoded: &[u16], codes: &[u16]) -> Self {
        let mut is_uncoded = vec![false; globals.len()];
        uncoded.iter().for_each(|local| is_uncoded[usize::from(*local)] = true);
        let known = globals.iter().enumerate().filter(|(local, _)| !is_uncoded[*local]);
        let mut order: Vec<u64> = known.map(|(local, global)| u64::from(*global) << 32 | local as u64).collect();
        order.sort_unstable();
        order.extend(uncoded.iter().map(|local| u64::from(globals[usize::from(*local)]) << 32 | u64::from(*local)));
        let mut ranks = vec![0u16; globals.len()];
        order.iter().enumerate().for_each(|(rank, key)| ranks[*key as u32 as usize] = rank as u16);
        let max = globals.len().saturating_sub(1) as u64;
        let codes = Codes::new(codes.iter().map(|code| u64::from(ranks[usize::from(*code)])), max);
        Self { globals: order.iter().map(|key| (key >> 32) as u32).collect(), uncoded: uncoded.len(), codes }
    }

    /// The codes of texts that have one.
    pub(crate) fn known(&self) -> &[u32] {
        &self.globals[..self.globals.len() - self.uncoded]
    }

    /// The largest of its codes in all segments.
    pub(crate) fn globals_max(&self) -> u32 {
        self.globals.iter().copied().max().unwrap_or(0)
    }

    /// The number of the text without a code that a local code stands for.
    pub(crate) fn uncoded_of(&self, local: usize) -> Option<usize> {
        local.checked_sub(self.globals.len() - self.uncoded)
    }

    /// The local code of a code in all segments.
    pub(crate) fn local_of(&self, global: u32) -> Option<usize> {
        let among_others = || self.globals.iter().skip(self.known().len()).position(|other| *other == global);
        self.known().binary_search(&global).ok().or_else(|| among_others().map(|at| self.known().len() + at))
    }

    /// The code in all segments.
    pub(crate) fn get(&self, row: usize) -> u32 {
        self.globals[self.codes.get(row) as usize]
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.globals.len() as u32).to_le_bytes());
        out.extend_from_slice(&(self.uncoded as u32).to_le_bytes());
        self.globals.iter().for_each(|global| out.extend_from_slice(&global.to_le_bytes()));
        self.codes.write(out);
    }

    /// Reads a column that [`CodedColumnRef::write`] wrote for `rows` rows; `None` where that is
    /// something else.
    pub(crate) fn read(bytes: &[u8], rows: usize) -> Option<Self> {
        let (len, bytes) = bytes.split_first_chunk()?;
        let (uncoded, bytes) = bytes.split_first_chunk()?;
        let uncoded = u32::from_le_bytes(*uncoded) as usize;
        let (globals, bytes) = bytes.split_at_checked((u32::from_le_bytes(*len) as usize).checked_mul(size_of::<u32>())?)?;
        let globals: Vec<u32> = globals.as_chunks().0.iter().map(|global| u32::from_le_bytes(*global)).collect();
        let (codes, rest) = Codes::read(bytes, rows)?;
        let known = globals.get(..globals.len().checked_sub(uncoded)?)?;
        let sorted = known.is_sorted_by(|a, b| a < b) && codes.max() < globals.len() as u64;
        (sorted && rest.is_empty()).then_some(Self { globals, uncoded, codes })
    }
}

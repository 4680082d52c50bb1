//! Rows as columns: a few tens of thousands of them, with codes of their own.

use crate::codes::Codes;
use crate::columns::{CODED, NUMBERS, TIME};
use crate::numbers::Numbers;
use crate::spill::{Spill, Spilled};
use std::borrow::Cow;
use std::io;

/// What an allocator and an `Arc` add to a segment.
const ALLOCATED_BYTES: usize = 64;

/// Rows that lie behind each other in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Run {
    /// Number of the input.
    pub(crate) input: u32,
    /// Where in the input their chunk starts.
    pub(crate) offset: u64,
    /// The first row.
    pub(crate) row: u32,
    pub(crate) rows: u32,
}

/// A column of codes, and what each code is in all segments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Coded {
    /// In ascending order.
    pub(crate) globals: Vec<u32>,
    /// Indices into `globals`.
    pub(crate) codes: Codes,
}

/// Rows that do not change any more.
#[derive(Debug)]
pub(crate) struct Segment {
    pub(crate) rows: usize,
    pub(crate) runs: Vec<Run>,
    /// First and last time, biased by [`biased`].
    pub(crate) times: Option<(u64, u64)>,
    pub(crate) all_timed: bool,
    /// Whether no more rows come to it.
    pub(crate) complete: bool,
    coded: Vec<Stored<Coded>>,
    numbers: Vec<Stored<Numbers>>,
}

#[derive(Debug, Clone)]
enum Stored<T> {
    Here(T),
    Spilled(Spilled),
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
    pub(crate) fn new(rows: usize, runs: Vec<Run>, coded: Vec<Coded>, numbers: Vec<Numbers>, complete: bool) -> Self {
        let absent = rorqual_table::filter::NumberTest { ranges: Vec::new(), absent: true };
        let time = &numbers[TIME];
        let all_timed = time.select(&absent, rows).count() == 0;
        let times = time.min().map(|first| (first, time.max()));
        let (coded, numbers) = (coded.into_iter().map(Stored::Here).collect(), numbers.into_iter().map(Stored::Here).collect());
        Self { rows, runs, times, all_timed, complete, coded, numbers }
    }

    /// A column of codes, read back where it was spilled.
    pub(crate) fn coded(&self, index: usize, spill: Option<&Spill>) -> io::Result<Cow<'_, Coded>> {
        match &self.coded[index] {
            Stored::Here(coded) => Ok(Cow::Borrowed(coded)),
            Stored::Spilled(place) => read(place, spill, |bytes| Coded::read(bytes, self.rows)).map(Cow::Owned),
        }
    }

    /// A column of codes, where it is in memory.
    pub(crate) fn coded_here(&self, index: usize) -> Option<&Coded> {
        match &self.coded[index] {
            Stored::Here(coded) => Some(coded),
            Stored::Spilled(_) => None,
        }
    }

    /// A column of numbers, read back where it was spilled.
    pub(crate) fn numbers(&self, index: usize, spill: Option<&Spill>) -> io::Result<Cow<'_, Numbers>> {
        match &self.numbers[index] {
            Stored::Here(numbers) => Ok(Cow::Borrowed(numbers)),
            Stored::Spilled(place) => read(place, spill, |bytes| Numbers::read(bytes, self.rows)).map(Cow::Owned),
        }
    }

    /// The same rows, with columns in the file.
    ///
    /// # Errors
    /// When the file is full.
    pub(crate) fn spilled(&self, spill: &Spill) -> io::Result<Self> {
        let mut bytes = Vec::new();
        let mut ends = Vec::with_capacity(CODED + NUMBERS);
        for index in 0..CODED {
            self.coded(index, Some(spill))?.write(&mut bytes);
            ends.push(bytes.len());
        }
        for index in 0..NUMBERS {
            self.numbers(index, Some(spill))?.write(&mut bytes);
            ends.push(bytes.len());
        }
        let places = spill.write(&bytes, &ends)?;
        let (coded, numbers) = places.split_at(CODED);
        Ok(Self {
            coded: coded.iter().copied().map(Stored::Spilled).collect(),
            numbers: numbers.iter().copied().map(Stored::Spilled).collect(),
            runs: self.runs.clone(),
            ..*self
        })
    }

    /// The same rows, with all columns in memory.
    ///
    /// # Errors
    /// When the file can't be read.
    pub(crate) fn read_back(&self, spill: Option<&Spill>) -> io::Result<Self> {
        let coded = (0..CODED).map(|index| Ok(Stored::Here(self.coded(index, spill)?.into_owned())));
        let numbers = (0..NUMBERS).map(|index| Ok(Stored::Here(self.numbers(index, spill)?.into_owned())));
        Ok(Self {
            coded: coded.collect::<io::Result<_>>()?,
            numbers: numbers.collect::<io::Result<_>>()?,
            runs: self.runs.clone(),
            ..*self
        })
    }

    /// The same rows, to which no more come. They are in memory.
    pub(crate) fn completed(&self) -> Self {
        Self { complete: true, coded: self.coded.clone(), numbers: self.numbers.clone(), runs: self.runs.clone(), ..*self }
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> u64 {
        let coded = |stored: &Stored<Coded>| match stored {
            Stored::Here(coded) => coded.codes.bytes() + (coded.globals.capacity() * size_of::<u32>()) as u64,
            Stored::Spilled(_) => 0,
        };
        let numbers = |stored: &Stored<Numbers>| match stored {
            Stored::Here(numbers) => numbers.codes.bytes(),
            Stored::Spilled(_) => 0,
        };
        let fixed = size_of::<Self>() + CODED * size_of::<Stored<Coded>>() + NUMBERS * size_of::<Stored<Numbers>>();
        let columns = self.coded.iter().map(coded).sum::<u64>() + self.numbers.iter().map(numbers).sum::<u64>();
        columns + (fixed + ALLOCATED_BYTES + self.runs.capacity() * size_of::<Run>()) as u64
    }

    pub(crate) fn is_spilled(&self) -> bool {
        matches!(self.numbers[TIME], Stored::Spilled(_))
    }
}

fn read<T>(place: &Spilled, spill: Option<&Spill>, decode: impl Fn(&[u8]) -> Option<T>) -> io::Result<T> {
    let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the file of spilled rows has changed");
    let bytes = spill.ok_or_else(damaged)?.read(place)?;
    decode(&bytes).ok_or_else(damaged)
}

impl Coded {
    /// A column of `codes`, which are indices into `globals`: sorted, so that sums go through the others in order.
    pub(crate) fn sorted(globals: &[u32], codes: &[u16]) -> Self {
        let mut order: Vec<u64> =
            globals.iter().enumerate().map(|(local, global)| u64::from(*global) << 32 | local as u64).collect();
        order.sort_unstable();
        let mut ranks = vec![0u16; globals.len()];
        order.iter().enumerate().for_each(|(rank, key)| ranks[*key as u32 as usize] = rank as u16);
        let max = globals.len().saturating_sub(1) as u64;
        let codes = Codes::new(codes.iter().map(|code| u64::from(ranks[usize::from(*code)])), max);
        Self { globals: order.iter().map(|key| (key >> 32) as u32).collect(), codes }
    }

    /// The code in all segments.
    pub(crate) fn get(&self, row: usize) -> u32 {
        self.globals[self.codes.get(row) as usize]
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.globals.len() as u32).to_le_bytes());
        self.globals.iter().for_each(|global| out.extend_from_slice(&global.to_le_bytes()));
        self.codes.write(out);
    }

    fn read(bytes: &[u8], rows: usize) -> Option<Self> {
        let (len, bytes) = bytes.split_first_chunk()?;
        let (globals, bytes) = bytes.split_at_checked((u32::from_le_bytes(*len) as usize).checked_mul(size_of::<u32>())?)?;
        let globals = globals.as_chunks().0.iter().map(|global| u32::from_le_bytes(*global)).collect();
        Some(Self { globals, codes: Codes::read(bytes, rows)?.0 })
    }
}

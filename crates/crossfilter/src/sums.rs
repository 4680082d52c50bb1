//! Counts of a view.

use crate::codes::{Codes, ColumnCode, with_codes};
use crate::columns::{BYTES, NUMBERS, REQUEST_TIME, UPSTREAM_TIME, counted_place};
use crate::dictionary::OTHERS;
use crate::number_spread::NumberSpread;
use crate::numbers::CodedNumbers;
use crate::plan::WEEK_HOURS;
use crate::segment::{CodedColumnRef, Segment};
use crate::sparse_counts::SparseCounts;
use crate::spill::Spill;
use crate::store::RowStore;
use crate::tally::{UncodedTallies, UncodedTally};
use crate::timeline::{BucketRun, each_stretch};
use rorqual_accesslog::LogHistogram;
use rorqual_accesslog::schema::{NumberColumn, Schema};
use serde::{Deserialize, Serialize};
use std::io;

/// Rows and the sum of their response sizes, which stays at 2^64 - 1 where it gets there.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct RowsAndBytes {
    pub(crate) hits: u64,
    pub(crate) bytes: u64,
}

impl RowsAndBytes {
    #[inline]
    pub(crate) fn add(&mut self, other: Self) {
        self.hits += other.hits;
        self.bytes = self.bytes.saturating_add(other.bytes);
    }

    #[inline]
    pub(crate) fn subtract(&mut self, other: Self) {
        self.hits -= other.hits;
        self.bytes -= other.bytes;
    }
}

/// Amounts by code in all segments, for each column that
/// [`counted`](crate::columns::ColumnCounts::counted) has, and of all rows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sums {
    pub(crate) columns: Vec<SparseCounts>,
    pub(crate) all: RowsAndBytes,
}

impl Sums {
    /// Sums of dictionaries that are so long.
    pub(crate) fn new(lengths: &[usize]) -> Self {
        Self { columns: lengths.iter().map(|length| SparseCounts::new(*length)).collect(), all: RowsAndBytes::default() }
    }

    /// Makes room for values that came since.
    pub(crate) fn grow(&mut self, lengths: &[usize]) {
        self.columns.resize_with(lengths.len(), SparseCounts::default);
        self.columns.iter_mut().zip(lengths).for_each(|(column, length)| column.grow(*length));
    }

    /// Amounts by code of a coded column, one of those that are counted.
    pub(crate) fn column(&self, index: usize) -> &SparseCounts {
        static NOTHING: SparseCounts = SparseCounts::Many(Vec::new());
        counted_place(index).and_then(|at| self.columns.get(at)).unwrap_or(&NOTHING)
    }

    /// Ends adding rows.
    pub(crate) fn settle(&mut self) {
        self.columns.iter_mut().for_each(SparseCounts::settle);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        self.all.add(other.all);
        self.columns.iter_mut().zip(&other.columns).for_each(|(own, other)| own.add(other));
    }

    pub(crate) fn subtract(&mut self, other: &Self) {
        self.all.subtract(other.all);
        self.columns.iter_mut().zip(&other.columns).for_each(|(own, other)| own.subtract(other));
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.columns.iter().map(SparseCounts::bytes).sum()
    }
}

/// A row and its response size in one number: below this many bits the sum of the sizes, above it
/// the number of rows.
const PACKED_BITS: u32 = 44;
const PACKED_MASK: u64 = (1 << PACKED_BITS) - 1;

/// Rows are added to the sums one by one where the segment has so many times as many values.
const FEW: usize = 4;

/// Buffers of counting a segment, kept from one to the next.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Row and response size of each row that is counted.
    weights: Vec<u64>,
    packed: Vec<u64>,
    wide: Vec<RowsAndBytes>,
    hits: Vec<u32>,
    /// Of all rows that are counted.
    all: RowsAndBytes,
    /// True if rows and response size are in one number.
    is_packed: bool,
}

/// Adds the `rows` of a segment (all where it is `None`) to `sums`, and of texts without a code to
/// `tallies`.
pub(crate) fn count(
    segment: &Segment,
    store: &RowStore,
    rows: Option<&[u16]>,
    (sums, tallies): (&mut Sums, &mut UncodedTallies),
    scratch: &mut Scratch,
) -> io::Result<()> {
    if rows.map_or(segment.rows, <[u16]>::len) == 0 {
        return Ok(());
    }
    scratch.prepare(segment, &*segment.numbers(BYTES, store.spill.as_ref())?, rows);
    sums.all.add(scratch.all);
    for (place, (index, sums)) in segment.counts().counted().zip(&mut sums.columns).enumerate() {
        scratch.add(segment, store, rows, (place, index), (sums, tallies))?;
    }
    Ok(())
}

/// Adds the `rows` of a segment, which has such response sizes, to the sums of one of the counted
/// columns, at `place` among them.
pub(crate) fn count_column_of(
    (segment, bytes): (&Segment, &CodedNumbers),
    store: &RowStore,
    rows: &[u16],
    (place, index): (usize, usize),
    counts: (&mut SparseCounts, &mut UncodedTallies),
    scratch: &mut Scratch,
) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    scratch.prepare(segment, bytes, Some(rows));
    scratch.add(segment, store, Some(rows), (place, index), counts)
}

/// Amounts by code of one column of some segments.
pub(crate) fn count_one(
    segment: &Segment,
    store: &RowStore,
    index: usize,
    sums: &mut SparseCounts,
    scratch: &mut Scratch,
) -> io::Result<()> {
    scratch.prepare(segment, &*segment.numbers(BYTES, store.spill.as_ref())?, None);
    count_column(&*store.coded(segment, index)?, None, sums, scratch);
    Ok(())
}

fn count_column(column: &CodedColumnRef, rows: Option<&[u16]>, sums: &mut SparseCounts, scratch: &mut Scratch) {
    match (&column.codes, rows) {
        (Codes::Constant(code), _) => sums.add_each(std::iter::once((column.globals[*code as usize], scratch.all))),
        (_, Some(rows)) if rows.len() < column.globals.len() / FEW => count_few(column, rows, scratch, sums),
        _ if scratch.is_packed => count_packed(column, rows, scratch, sums),
        _ => count_wide(column, rows, scratch, sums),
    }
}

impl Scratch {
    /// Adds rows that were made ready to the sums of a column.
    fn add(
        &mut self,
        segment: &Segment,
        store: &RowStore,
        rows: Option<&[u16]>,
        (place, index): (usize, usize),
        (sums, tallies): (&mut SparseCounts, &mut UncodedTallies),
    ) -> io::Result<()> {
        let column = store.coded(segment, index)?;
        count_column(&column, rows, sums, self);
        if column.uncoded > 0
            && let Some(tally) = tallies.of(place)
        {
            let groups_start = store.dictionaries[index].lock().groups_start();
            let hashes = segment.uncoded_hashes(index, store.spill.as_ref())?;
            self.tally(&column, rows, &hashes, groups_start, tally);
        }
        Ok(())
    }

    /// Makes the weights of the rows ready.
    fn prepare(&mut self, segment: &Segment, bytes: &CodedNumbers, rows: Option<&[u16]>) {
        self.weigh(bytes, segment.rows, rows);
        let bytes: u128 = self.weights.iter().map(|bytes| u128::from(*bytes)).sum();
        self.all = RowsAndBytes { hits: self.weights.len() as u64, bytes: u64::try_from(bytes).unwrap_or(u64::MAX) };
        self.is_packed = bytes <= u128::from(PACKED_MASK);
        if self.is_packed {
            self.weights.iter_mut().for_each(|weight| *weight |= 1 << PACKED_BITS);
        }
    }

    /// Adds the rows of the texts of groups to a tally.
    fn tally(
        &mut self,
        column: &CodedColumnRef,
        rows: Option<&[u16]>,
        hashes: &[u64],
        groups_start: u32,
        tally: &mut UncodedTally,
    ) {
        let known = column.known().len();
        self.hits.clear();
        self.hits.resize(column.uncoded, 0);
        let hits = &mut self.hits;
        let mut add = |local: usize, rows: u32| {
            if let Some(hits) = local.checked_sub(known).and_then(|text| hits.get_mut(text)) {
                *hits += rows;
            }
        };
        with_codes!(
            &column.codes,
            constant => add(*constant as usize, self.all.hits as u32),
            codes => match rows {
                None => codes.iter().for_each(|code| add(code.index(), 1)),
                Some(rows) => rows.iter().for_each(|row| add(codes[usize::from(*row)].index(), 1)),
            }
        );
        for ((hits, hash), global) in self.hits.iter().zip(hashes).zip(&column.globals[known..]) {
            match *hits {
                0 => {}
                hits if *global == OTHERS || *global >= groups_start => tally.add(*hash, u64::from(hits)),
                _ => tally.add_named(*hash),
            }
        }
    }

    /// The response sizes of the rows; 0 where there is none.
    fn weigh(&mut self, bytes: &CodedNumbers, segment_rows: usize, rows: Option<&[u16]>) {
        self.weights.clear();
        let size = |code: u64| bytes.number(code).unwrap_or(0);
        let weights = &mut self.weights;
        let number = rows.map_or(segment_rows, <[u16]>::len);
        with_codes!(
            &bytes.codes,
            constant => weights.resize(number, size(*constant)),
            codes => match rows {
                None => weights.extend(codes.iter().map(|code| size(code.number()))),
                Some(rows) => weights.extend(rows.iter().map(|row| size(codes[usize::from(*row)].number()))),
            }
        );
    }
}

fn count_few(column: &CodedColumnRef, rows: &[u16], scratch: &Scratch, sums: &mut SparseCounts) {
    let mask = if scratch.is_packed { PACKED_MASK } else { u64::MAX };
    let amount = |local: usize, weight: &u64| (column.globals[local], RowsAndBytes { hits: 1, bytes: weight & mask });
    let rows = rows.iter().zip(&scratch.weights);
    with_codes!(
        &column.codes,
        _constant => {},
        codes => sums.add_each(rows.map(|(row, weight)| amount(codes[usize::from(*row)].index(), weight)))
    );
}

fn count_packed(column: &CodedColumnRef, rows: Option<&[u16]>, scratch: &mut Scratch, sums: &mut SparseCounts) {
    let Scratch { weights, packed, .. } = scratch;
    packed.clear();
    packed.resize(column.globals.len(), 0);
    with_codes!(&column.codes, _constant => {}, codes => add_all(codes, rows, weights, packed, |sum, weight| *sum += weight));
    let amount = |sum: u64| RowsAndBytes { hits: sum >> PACKED_BITS, bytes: sum & PACKED_MASK };
    let met = column.globals.iter().zip(packed).filter(|(_, sum)| **sum != 0);
    sums.add_each(met.map(|(global, sum)| (*global, amount(*sum))));
}

fn count_wide(column: &CodedColumnRef, rows: Option<&[u16]>, scratch: &mut Scratch, sums: &mut SparseCounts) {
    let Scratch { weights, wide, .. } = scratch;
    wide.clear();
    wide.resize(column.globals.len(), RowsAndBytes::default());
    let one = |sum: &mut RowsAndBytes, bytes| sum.add(RowsAndBytes { hits: 1, bytes });
    with_codes!(&column.codes, _constant => {}, codes => add_all(codes, rows, weights, wide, one));
    let met = column.globals.iter().zip(wide).filter(|(_, sum)| sum.hits > 0);
    sums.add_each(met.map(|(global, sum)| (*global, *sum)));
}

#[inline]
fn add_all<C: ColumnCode, S>(codes: &[C], rows: Option<&[u16]>, weights: &[u64], sums: &mut [S], add: impl Fn(&mut S, u64)) {
    match rows {
        None => codes.iter().zip(weights).for_each(|(code, weight)| add(&mut sums[code.index()], *weight)),
        Some(rows) => {
            rows.iter().zip(weights).for_each(|(row, weight)| add(&mut sums[codes[usize::from(*row)].index()], *weight));
        }
    }
}

/// Distributions of the numbers, and rows by hour of the week.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Distributions {
    pub(crate) bytes: LogHistogram,
    pub(crate) request_time: LogHistogram,
    pub(crate) upstream_time: LogHistogram,
    pub(crate) week: Vec<u64>,
    /// First and last time.
    pub(crate) times: Option<(u64, u64)>,
    /// Of each number of the schema's own.
    pub(crate) own: Vec<NumberSpread>,
}

impl Default for Distributions {
    fn default() -> Self {
        let [bytes, request_time, upstream_time] = std::array::from_fn(|_| LogHistogram::default());
        Self { bytes, request_time, upstream_time, week: vec![0; WEEK_HOURS], times: None, own: Vec::new() }
    }
}

impl Distributions {
    pub(crate) fn take(&mut self, other: &Self) {
        self.bytes.take(&other.bytes);
        self.request_time.take(&other.request_time);
        self.upstream_time.take(&other.upstream_time);
        self.week.iter_mut().zip(&other.week).for_each(|(own, other)| *own += other);
        if let Some((first, last)) = other.times {
            self.widen(first, last);
        }
        self.own.resize_with(self.own.len().max(other.own.len()), NumberSpread::default);
        self.own.iter_mut().zip(&other.own).for_each(|(own, other)| own.take(other));
    }

    /// True if distributions of so many rows may be so, which were read from a file.
    pub(crate) fn is_sound(&self, rows: u64) -> bool {
        let week = self.week.iter().try_fold(0u64, |sum, hits| sum.checked_add(*hits));
        let spreads = [&self.bytes, &self.request_time, &self.upstream_time];
        self.week.len() == WEEK_HOURS
            && week.is_some_and(|week| week <= rows)
            && spreads.iter().all(|spread| spread.is_sound(rows))
            && self.own.iter().all(|spread| spread.is_sound(rows))
    }

    pub(crate) fn widen(&mut self, first: u64, last: u64) {
        let (least, most) = self.times.unwrap_or((first, last));
        self.times = Some((least.min(first), most.max(last)));
    }

    /// Adds rows of a segment, whose hours of the week are `hours`.
    pub(crate) fn count(
        &mut self,
        segment: &Segment,
        spill: Option<&Spill>,
        rows: &[u16],
        hours: &[BucketRun],
        schema: &Schema,
    ) -> io::Result<()> {
        let spreads =
            [(BYTES, &mut self.bytes), (REQUEST_TIME, &mut self.request_time), (UPSTREAM_TIME, &mut self.upstream_time)];
        for (index, spread) in spreads {
            let numbers = segment.numbers(index, spill)?;
            if numbers.min().is_some() {
                let mut adding = spread.adding();
                numbers.each(rows, |_, number| number.into_iter().for_each(|number| adding.add(number)));
            }
        }
        self.own.resize_with(schema.own_numbers(), NumberSpread::default);
        for (number, spread) in self.own.iter_mut().enumerate() {
            let numbers = segment.numbers(NUMBERS + number, spill)?;
            if numbers.min().is_some() {
                spread.count(
                    &numbers,
                    rows,
                    schema.unit(NumberColumn::own(number)),
                    NumberSpread::buckets_max(schema.own_numbers()),
                );
            }
        }
        each_stretch(hours, rows, |hour, rows| self.week[hour] += rows.len() as u64);
        Ok(())
    }
}

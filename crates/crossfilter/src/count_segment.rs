//! Counting rows of a segment: their number and response sizes by the codes of each column.

use crate::codes::{Codes, ColumnCode, with_codes};
use crate::columns::BYTES;
use crate::dictionary::OTHERS;
use crate::numbers::CodedNumbers;
use crate::segment::{CodedColumnRef, Segment};
use crate::sparse_counts::{RowsAndBytes, SparseCounts};
use crate::store::RowStore;
use crate::sums::Sums;
use crate::uncoded_counts::{UncodedTallies, UncodedTally};
use std::io;

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

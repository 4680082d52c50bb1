//! The segment that a recorder fills.

use crate::columns::{ColumnCounts, TIME};
use crate::limits::{SEGMENT_ROWS_MAX, append_rows, segment_values};
use crate::numbers::CodedNumbers;
use crate::segment::{CodedColumnRef, InputRun, Segment, SegmentColumns};
use foldhash::fast::RandomState;
use rorqual_accesslog::ABSENT;
use std::collections::HashMap;

/// Stands for a code of the segment that is not known yet; codes are one above.
pub(crate) const UNKNOWN: u32 = 0;

/// Rows on their way to be a segment.
pub(crate) struct SegmentBuilder {
    rows_max: usize,
    /// Distinct values of all columns.
    values: usize,
    runs: Vec<InputRun>,
    coded: Vec<CodeColumnBuilder>,
    numbers: Vec<Vec<u64>>,
}

/// A column of codes of the segment's own, in the order in which the values came.
#[derive(Default)]
struct CodeColumnBuilder {
    codes: Vec<u16>,
    globals: Vec<u32>,
    locals: HashMap<u32, u16, RandomState>,
}

impl SegmentBuilder {
    pub(crate) fn new(rows_max: usize, counts: ColumnCounts) -> Self {
        Self {
            rows_max: rows_max.clamp(1, SEGMENT_ROWS_MAX),
            values: 0,
            runs: Vec::new(),
            coded: (0..counts.coded).map(|_| CodeColumnBuilder::default()).collect(),
            numbers: vec![Vec::new(); counts.numbers],
        }
    }

    /// Makes room for a segment.
    pub(crate) fn reserve(&mut self) {
        // At their final length, since a vector that grows by doubling may take twice that.
        self.coded.iter_mut().for_each(|column| column.codes.reserve_exact(self.rows_max));
        self.numbers.iter_mut().for_each(|numbers| numbers.reserve_exact(self.rows_max));
    }

    /// Goes on with a segment and its columns.
    pub(crate) fn take_up(&mut self, segment: &Segment, columns: &SegmentColumns) {
        for (column, coded) in self.coded.iter_mut().zip(&columns.coded) {
            self.values += coded.globals.len();
            column.locals.extend(coded.globals.iter().copied().zip(0..));
            column.globals.extend_from_slice(&coded.globals);
            column.codes.extend((0..segment.rows).map(|row| coded.codes.get(row) as u16));
        }
        for (column, numbers) in self.numbers.iter_mut().zip(&columns.numbers) {
            column.extend((0..segment.rows).map(|row| numbers.get(row).unwrap_or(ABSENT)));
        }
        self.runs.extend_from_slice(&segment.runs);
    }

    pub(crate) fn rows(&self) -> usize {
        self.numbers[TIME].len()
    }

    /// Rows that may be appended before it is asked whether it is full.
    pub(crate) fn room(&self) -> usize {
        self.rows_max.saturating_sub(self.rows()).min(append_rows(self.rows_max))
    }

    pub(crate) fn is_full(&self) -> bool {
        self.room() == 0 || self.values >= segment_values(self.rows_max)
    }

    /// The local code of a value, which has one row at least.
    #[inline]
    pub(crate) fn local(&mut self, column: usize, global: u32) -> u16 {
        let CodeColumnBuilder { globals, locals, .. } = &mut self.coded[column];
        local_of(globals, locals, &mut self.values, global)
    }

    /// Appends rows of a column by foreign codes: `global` has the values, and `local` the known
    /// local codes.
    pub(crate) fn append(&mut self, column: usize, codes: &[u32], global: &[u32], local: &mut [u32]) {
        let (CodeColumnBuilder { codes: to, globals, locals }, values) = (&mut self.coded[column], &mut self.values);
        to.extend(codes.iter().map(|&code| {
            let local = &mut local[code as usize];
            if *local == UNKNOWN {
                *local = u32::from(local_of(globals, locals, values, global[code as usize])) + 1;
            }
            (*local - 1) as u16
        }));
    }

    /// Appends rows of columns that they do not have.
    pub(crate) fn append_none(&mut self, column: usize, rows: usize) {
        let none = self.local(column, 0);
        let codes = &mut self.coded[column].codes;
        codes.resize(codes.len() + rows, none);
    }

    /// The local codes of a column, for the next rows.
    #[inline]
    pub(crate) fn codes(&mut self, column: usize) -> &mut Vec<u16> {
        &mut self.coded[column].codes
    }

    /// The numbers of a column, for the next rows.
    #[inline]
    pub(crate) fn numbers(&mut self, column: usize) -> &mut Vec<u64> {
        &mut self.numbers[column]
    }

    /// Notes that the rows from `row` on are of the chunk at `offset`.
    pub(crate) fn run(&mut self, input: u32, offset: u64, row: usize) {
        let rows = (self.rows() - row) as u32;
        match self.runs.last_mut() {
            Some(last) if (last.input, last.offset) == (input, offset) => last.rows += rows,
            _ if rows == 0 => {}
            _ => self.runs.push(InputRun { input, offset, row: row as u32, rows }),
        }
    }

    /// The rows so far as a segment.
    pub(crate) fn segment(&self, complete: bool) -> Segment {
        let coded = self.coded.iter().map(|column| CodedColumnRef::sorted(&column.globals, &column.codes)).collect();
        let numbers = self.numbers.iter().map(|numbers| CodedNumbers::new(numbers)).collect();
        Segment::new(self.rows(), self.runs.clone(), SegmentColumns { coded, numbers }, complete)
    }

    /// Starts afresh; memory stays.
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.values = 0;
        self.numbers.iter_mut().for_each(Vec::clear);
        for column in &mut self.coded {
            column.codes.clear();
            column.globals.clear();
            column.locals.clear();
        }
    }
}

fn local_of(globals: &mut Vec<u32>, locals: &mut HashMap<u32, u16, RandomState>, values: &mut usize, global: u32) -> u16 {
    *locals.entry(global).or_insert_with(|| {
        *values += 1;
        globals.push(global);
        (globals.len() - 1) as u16
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::{CODED, NUMBERS};
    use crate::limits::{SEGMENT_VALUES_MAX, recorder_bytes};

    const COUNTS: ColumnCounts = ColumnCounts { coded: CODED, numbers: NUMBERS };

    /// Appends a row whose values are all new.
    fn push(builder: &mut SegmentBuilder, row: u32) {
        for column in 0..CODED {
            let local = builder.local(column, row);
            builder.codes(column).push(local);
        }
        (0..NUMBERS).for_each(|column| builder.numbers(column).push(u64::from(row) << 32));
        builder.run(0, u64::from(row), builder.rows() - 1);
    }

    #[test]
    fn a_segment_with_many_values_ends_earlier() {
        for (rows_max, values) in [(SEGMENT_ROWS_MAX, SEGMENT_VALUES_MAX), (1_024, 3_072)] {
            let mut builder = SegmentBuilder::new(rows_max, COUNTS);
            builder.reserve();
            (0..)
                .take_while(|row| {
                    push(&mut builder, *row);
                    !builder.is_full()
                })
                .for_each(drop);
            assert_eq!(builder.rows(), values.div_ceil(CODED));
            let coded = |column: &CodeColumnBuilder| {
                column.codes.capacity() * 2 + column.globals.capacity() * 4 + column.locals.capacity() * 16
            };
            let numbers: usize = builder.numbers.iter().map(|numbers| numbers.capacity() * 8).sum();
            let held = builder.coded.iter().map(coded).sum::<usize>() + numbers + builder.runs.capacity() * size_of::<InputRun>();
            let copy = builder.segment(true).bytes();
            assert!(held as u64 + copy <= recorder_bytes(rows_max), "{held} and {copy}");
            builder.clear();
            assert!(!builder.is_full() && builder.room() == append_rows(rows_max));
        }
    }

    #[test]
    fn a_segment_is_taken_up_where_it_was_left() {
        let (mut whole, mut first) = (SegmentBuilder::new(1_024, COUNTS), SegmentBuilder::new(1_024, COUNTS));
        (0..40).for_each(|row| push(&mut whole, row * 7 % 31));
        (0..25).for_each(|row| push(&mut first, row * 7 % 31));
        whole.numbers(TIME)[3] = ABSENT;
        first.numbers(TIME)[3] = ABSENT;
        let mut second = SegmentBuilder::new(1_024, COUNTS);
        let open = first.segment(false);
        second.take_up(&open, open.columns().expect("in memory"));
        assert_eq!(second.values, first.values);
        (25..40).for_each(|row| push(&mut second, row * 7 % 31));
        let (whole, second) = (whole.segment(true), second.segment(true));
        assert_eq!(whole.columns(), second.columns());
        assert_eq!((whole.runs, whole.times, whole.all_timed), (second.runs, second.times, second.all_timed));
    }
}

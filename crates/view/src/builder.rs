//! The segment that a recorder fills.

use crate::columns::{CODED, NUMBERS, TIME};
use crate::limits::{SEGMENT_ROWS_MAX, SEGMENT_VALUES_MAX};
use crate::numbers::Numbers;
use crate::segment::{Coded, Run, Segment};
use foldhash::fast::RandomState;
use std::collections::HashMap;

/// Rows on their way to be a segment.
pub(crate) struct Builder {
    rows_max: usize,
    /// Distinct values of all columns.
    values: usize,
    runs: Vec<Run>,
    coded: Vec<Growing>,
    numbers: [Vec<u64>; NUMBERS],
}

/// A column of codes of the segment's own, in the order in which the values came.
#[derive(Default)]
struct Growing {
    codes: Vec<u16>,
    globals: Vec<u32>,
    locals: HashMap<u32, u16, RandomState>,
}

impl Builder {
    pub(crate) fn new(rows_max: usize) -> Self {
        let rows_max = rows_max.clamp(1, SEGMENT_ROWS_MAX);
        // As long as they get, since what grows by doubling may take twice that.
        let growing = || Growing { codes: Vec::with_capacity(rows_max), ..Growing::default() };
        Self {
            rows_max,
            values: 0,
            runs: Vec::new(),
            coded: (0..CODED).map(|_| growing()).collect(),
            numbers: std::array::from_fn(|_| Vec::with_capacity(rows_max)),
        }
    }

    pub(crate) fn rows(&self) -> usize {
        self.numbers[TIME].len()
    }

    /// Rows that still fit.
    pub(crate) fn room(&self) -> usize {
        self.rows_max - self.rows()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.room() == 0 || self.values >= SEGMENT_VALUES_MAX
    }

    /// The local code of a value, which has one row at least.
    #[inline]
    pub(crate) fn local(&mut self, column: usize, global: u32) -> u16 {
        let Self { coded, values, .. } = self;
        let Growing { globals, locals, .. } = &mut coded[column];
        *locals.entry(global).or_insert_with(|| {
            *values += 1;
            globals.push(global);
            (globals.len() - 1) as u16
        })
    }

    /// Where the local codes of the next rows of a column go.
    #[inline]
    pub(crate) fn codes(&mut self, column: usize) -> &mut Vec<u16> {
        &mut self.coded[column].codes
    }

    /// Where the next rows' numbers of a column go.
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
            _ => self.runs.push(Run { input, offset, row: row as u32, rows }),
        }
    }

    /// The rows so far as a segment.
    pub(crate) fn segment(&self, complete: bool) -> Segment {
        let coded = self.coded.iter().map(|column| Coded::sorted(&column.globals, &column.codes)).collect();
        let numbers = self.numbers.iter().map(|numbers| Numbers::new(numbers)).collect();
        Segment::new(self.rows(), self.runs.clone(), coded, numbers, complete)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::RECORDER_BYTES;

    #[test]
    fn a_segment_with_many_values_ends_earlier() {
        let mut builder = Builder::new(SEGMENT_ROWS_MAX);
        let mut row = 0;
        while !builder.is_full() {
            for column in 0..CODED {
                let local = builder.local(column, row);
                builder.codes(column).push(local);
            }
            (0..NUMBERS).for_each(|column| builder.numbers(column).push(u64::from(row) << 32));
            builder.run(0, u64::from(row), row as usize);
            row += 1;
        }
        assert_eq!(builder.rows(), SEGMENT_VALUES_MAX.div_ceil(CODED));
        let coded =
            |column: &Growing| column.codes.capacity() * 2 + column.globals.capacity() * 4 + column.locals.capacity() * 16;
        let numbers: usize = builder.numbers.iter().map(|numbers| numbers.capacity() * 8).sum();
        let held = builder.coded.iter().map(coded).sum::<usize>() + numbers + builder.runs.capacity() * size_of::<Run>();
        let copy = builder.segment(true).bytes();
        assert!(held as u64 + copy <= RECORDER_BYTES, "{held} and {copy}");
        builder.clear();
        assert!(!builder.is_full() && builder.room() == SEGMENT_ROWS_MAX);
    }
}

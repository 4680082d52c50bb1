//! The segment that a recorder fills.

use crate::columns::{ColumnCounts, TIME};
use crate::dictionary::OTHERS;
use crate::limits::{SEGMENT_ROWS_MAX, append_rows, segment_values, uncoded_bytes_max};
use crate::numbers::CodedNumbers;
use crate::segment::{CodedColumnRef, InputRun, Segment, SegmentColumns};
use crate::uncoded::UncodedBuilder;
use foldhash::fast::RandomState;
use rorqual_accesslog::ABSENT;
use std::collections::HashMap;
use std::io;

/// Stands for a code of the segment that is not known yet; codes are one above.
pub(crate) const UNKNOWN: u32 = 0;

/// Rows on their way to be a segment.
pub(crate) struct SegmentBuilder {
    rows_max: usize,
    /// Distinct values of all columns.
    values: usize,
    /// Bytes of the texts without a code of all columns.
    uncoded_bytes: usize,
    /// A text was not kept.
    is_short: bool,
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
    uncoded: UncodedBuilder,
}

/// A value that a segment may not have yet.
pub(crate) enum NewValue<'a> {
    /// Its code in all segments.
    Coded(u32),
    /// A text without one: the code of its group, its hash, and itself.
    Uncoded(u32, u64, &'a [u8]),
}

impl SegmentBuilder {
    pub(crate) fn new(rows_max: usize, counts: ColumnCounts) -> Self {
        Self {
            rows_max: rows_max.clamp(1, SEGMENT_ROWS_MAX),
            values: 0,
            uncoded_bytes: 0,
            is_short: false,
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
    ///
    /// # Errors
    /// When its texts without a code are damaged.
    pub(crate) fn take_up(&mut self, segment: &Segment, columns: &SegmentColumns) -> io::Result<()> {
        for (index, (column, coded)) in self.coded.iter_mut().zip(&columns.coded).enumerate() {
            self.values += coded.globals.len();
            column.locals.extend(coded.known().iter().copied().zip(0..));
            if let Some(uncoded) = columns.uncoded(index) {
                column.uncoded.take_up(uncoded, coded.known().len() as u16)?;
                self.uncoded_bytes += uncoded.texts.bytes_of_texts();
            }
            column.globals.extend_from_slice(&coded.globals);
            column.codes.extend((0..segment.rows).map(|row| coded.codes.get(row) as u16));
        }
        for (column, numbers) in self.numbers.iter_mut().zip(&columns.numbers) {
            column.extend((0..segment.rows).map(|row| numbers.get(row).unwrap_or(ABSENT)));
        }
        self.runs.extend_from_slice(&segment.runs);
        Ok(())
    }

    pub(crate) fn rows(&self) -> usize {
        self.numbers[TIME].len()
    }

    /// Rows that may be appended before it is asked whether it is full.
    pub(crate) fn room(&self) -> usize {
        self.rows_max.saturating_sub(self.rows()).min(append_rows(self.rows_max))
    }

    pub(crate) fn is_full(&self) -> bool {
        self.room() == 0 || self.values >= segment_values(self.rows_max) || self.uncoded_room() == 0
    }

    /// Bytes of texts without a code that there is room for.
    pub(crate) fn uncoded_room(&self) -> usize {
        uncoded_bytes_max(self.rows_max).saturating_sub(self.uncoded_bytes)
    }

    /// True if a text was not kept since this was asked last.
    pub(crate) fn take_shortage(&mut self) -> bool {
        std::mem::take(&mut self.is_short)
    }

    /// The local code of a value, which has one row at least.
    #[inline]
    pub(crate) fn local(&mut self, column: usize, global: u32) -> u16 {
        let CodeColumnBuilder { globals, locals, .. } = &mut self.coded[column];
        local_of(globals, locals, &mut self.values, global)
    }

    /// The same of a value that may be a text without a code.
    pub(crate) fn local_of(&mut self, column: usize, value: &NewValue<'_>) -> u16 {
        let (group, hash, text) = match value {
            NewValue::Coded(global) => return self.local(column, *global),
            NewValue::Uncoded(group, hash, text) => (*group, *hash, *text),
        };
        if let Some(local) = self.coded[column].uncoded.local(hash) {
            return local;
        }
        if text.len() > self.uncoded_room() {
            self.is_short = true;
            return self.local(column, OTHERS);
        }
        let CodeColumnBuilder { globals, uncoded, .. } = &mut self.coded[column];
        let local = globals.len() as u16;
        globals.push(group);
        uncoded.add(local, hash, text);
        self.values += 1;
        self.uncoded_bytes += text.len();
        local
    }

    /// Appends rows of a column by foreign codes, with the known `local` codes of these; `value`
    /// has the others.
    pub(crate) fn append<'a>(&mut self, column: usize, codes: &[u32], local: &mut [u32], value: impl Fn(u32) -> NewValue<'a>) {
        let mut to = std::mem::take(&mut self.coded[column].codes);
        to.extend(codes.iter().map(|&code| {
            if local[code as usize] == UNKNOWN {
                local[code as usize] = u32::from(self.local_of(column, &value(code))) + 1;
            }
            (local[code as usize] - 1) as u16
        }));
        self.coded[column].codes = to;
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
        let sorted = |column: &CodeColumnBuilder| CodedColumnRef::sorted(&column.globals, &column.uncoded.locals, &column.codes);
        let coded = self.coded.iter().map(sorted).collect();
        let uncoded = (0..).zip(&self.coded).filter(|(_, column)| !column.uncoded.is_empty());
        let uncoded = uncoded.map(|(index, column)| (index, column.uncoded.texts())).collect();
        let numbers = self.numbers.iter().map(|numbers| CodedNumbers::new(numbers)).collect();
        Segment::new(self.rows(), self.runs.clone(), SegmentColumns { coded, numbers, uncoded }, complete)
    }

    /// Starts afresh; memory stays.
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.values = 0;
        self.uncoded_bytes = 0;
        self.numbers.iter_mut().for_each(Vec::clear);
        for column in &mut self.coded {
            column.codes.clear();
            column.globals.clear();
            column.locals.clear();
            column.uncoded.clear();
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
        second.take_up(&open, open.columns().expect("in memory")).expect("whole");
        assert_eq!(second.values, first.values);
        (25..40).for_each(|row| push(&mut second, row * 7 % 31));
        let (whole, second) = (whole.segment(true), second.segment(true));
        assert_eq!(whole.columns(), second.columns());
        assert_eq!((whole.runs, whole.times, whole.all_timed), (second.runs, second.times, second.all_timed));
    }
}

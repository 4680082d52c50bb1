//! Takes the rows of a table into segments.

use crate::builder::{SegmentBuilder, UNKNOWN};
use crate::columns::{CODED, ColumnCounts, FLAW, LINE, NUMBERS, REJECTED, TIME, ZONE, ZONE_MIN};
use crate::dictionary::{NONE, OTHERS};
use crate::limits::LINE_BYTES_MAX;
use crate::segment::biased;
use crate::store::RowStore;
use foldhash::fast::RandomState;
use rorqual_accesslog::{ABSENT, NO_TIME};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a text that are kept.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Texts of a column.
pub trait TextCells {
    /// The text in a row; the absent value is the empty text.
    fn text(&self, row: usize) -> &[u8];
}

/// Rows of a table that come after each other in its input.
pub struct TableRows<'a> {
    /// Offset in the input at which they start: rows are ordered by it.
    pub offset: u64,
    /// Number of rows.
    pub rows: usize,
    /// Time of each row in Unix microseconds, or [`NO_TIME`]; empty where the table has no time.
    pub times: &'a [i64],
    /// The schema's own columns of texts.
    pub texts: &'a [&'a dyn TextCells],
    /// The schema's own columns of numbers in their steps, or [`ABSENT`].
    pub numbers: &'a [&'a [u64]],
}

/// Takes the rows of one input, in ascending order of their offsets.
pub struct TableRecorder {
    store: Arc<RowStore>,
    input: u32,
    builder: SegmentBuilder,
    /// Place under which the segment is shown.
    place: Option<usize>,
    /// Rows that are shown of it.
    shown: usize,
    /// The last wish for fresh rows that was granted.
    granted: u64,
    reserved: bool,
}

/// The distinct texts of some rows.
#[derive(Default)]
struct BatchTexts {
    codes: Vec<u32>,
    /// Row that each code is first met in.
    first: Vec<u32>,
    globals: Vec<u32>,
    locals: Vec<u32>,
}

impl TableRecorder {
    /// A recorder of the next input into `store`.
    #[must_use]
    pub fn new(store: &Arc<RowStore>) -> Self {
        Self {
            store: Arc::clone(store),
            input: store.next_input(1),
            builder: SegmentBuilder::new(store.settings.segment_rows, store.counts()),
            place: None,
            shown: 0,
            granted: store.wanted(),
            reserved: false,
        }
    }

    /// Takes rows.
    pub fn take(&mut self, rows: &TableRows<'_>) {
        self.reserve();
        let mut start = 0;
        while start < rows.rows {
            let end = rows.rows.min(start + self.builder.room());
            self.append(rows, start..end);
            start = end;
            self.show_if_full();
        }
        let wanted = self.store.wanted();
        if wanted != self.granted {
            self.granted = wanted;
            self.show(false, false);
        }
    }

    /// Takes a record that is no row, for a reason, with the start of its text.
    pub fn reject(&mut self, offset: u64, reason: &str, text: &[u8]) {
        self.reserve();
        let first = self.builder.rows();
        let flaw: Vec<u8> = std::iter::once(REJECTED).chain(reason.bytes()).collect();
        let flaw = self.store.dictionaries[FLAW].lock().intern(&flaw);
        let line = self.store.dictionaries[LINE].lock().intern(&text[..text.len().min(LINE_BYTES_MAX)]);
        let ColumnCounts { coded, numbers } = self.store.counts();
        for column in 0..coded {
            let global = match column {
                FLAW => flaw,
                LINE => line,
                ZONE => ZONE_MIN.unsigned_abs(),
                _ => NONE,
            };
            let local = self.builder.local(column, global);
            self.builder.codes(column).push(local);
        }
        (0..numbers).for_each(|index| self.builder.numbers(index).push(ABSENT));
        self.builder.run(self.input, offset, first);
        self.show_if_full();
    }

    /// Ends the input: all rows are shown.
    pub fn finish(mut self) {
        self.show(true, true);
    }

    fn reserve(&mut self) {
        if !self.reserved {
            self.reserved = true;
            self.builder.reserve();
        }
    }

    fn append(&mut self, rows: &TableRows<'_>, range: Range<usize>) {
        let first = self.builder.rows();
        let len = range.len();
        (0..CODED).filter(|column| *column != ZONE).for_each(|column| self.builder.append_none(column, len));
        // Times of tables are in UTC.
        let zone = self.builder.local(ZONE, ZONE_MIN.unsigned_abs());
        let zones = self.builder.codes(ZONE);
        zones.resize(zones.len() + len, zone);
        for (index, cells) in (CODED..).zip(rows.texts) {
            self.append_texts(index, *cells, range.clone());
        }
        let times = self.builder.numbers(TIME);
        match rows.times.get(range.clone()) {
            Some(known) => {
                let time = |time: &i64| if *time == NO_TIME { ABSENT } else { biased(*time).min(ABSENT - 1) };
                times.extend(known.iter().map(time));
            }
            None => times.resize(times.len() + len, ABSENT),
        }
        (TIME + 1..NUMBERS).for_each(|index| {
            let numbers = self.builder.numbers(index);
            numbers.resize(numbers.len() + len, ABSENT);
        });
        for (index, numbers) in (NUMBERS..).zip(rows.numbers) {
            self.builder.numbers(index).extend_from_slice(&numbers[range.clone()]);
        }
        self.builder.run(self.input, rows.offset, first);
    }

    fn append_texts(&mut self, index: usize, cells: &dyn TextCells, range: Range<usize>) {
        let text = |row: usize| {
            let text = cells.text(row);
            &text[..text.len().min(TEXT_BYTES_MAX)]
        };
        let mut column = BatchTexts::default();
        let mut known: HashMap<&[u8], u32, RandomState> = HashMap::default();
        for row in range {
            let code = *known.entry(text(row)).or_insert_with(|| {
                column.first.push(row as u32);
                (column.first.len() - 1) as u32
            });
            column.codes.push(code);
        }
        drop(known);
        let value = |code: usize| text(column.first[code] as usize);
        let mut tables = self.store.dictionaries[index].lock();
        tables.intern_all(column.first.len(), value, &mut column.globals);
        if column.globals.contains(&OTHERS) {
            let mut hits = vec![0u64; column.first.len()];
            column.codes.iter().for_each(|code| hits[*code as usize] += 1);
            for (code, global) in column.globals.iter_mut().enumerate().filter(|(_, global)| **global == OTHERS) {
                *global = tables.count_uncoded(value(code), hits[code]);
            }
        }
        drop(tables);
        column.locals.resize(column.first.len(), UNKNOWN);
        self.builder.append(index, &column.codes, &column.globals, &mut column.locals);
    }

    fn show_if_full(&mut self) {
        if self.builder.is_full() {
            self.store.show(&mut self.place, self.builder.segment(true), true);
            self.place = None;
            self.shown = 0;
            self.builder.clear();
        }
    }

    /// Shows the rows so far; after `last` no more come from here.
    fn show(&mut self, complete: bool, last: bool) {
        let unsettled = complete || (last && self.place.is_none());
        if self.builder.rows() > self.shown || (unsettled && self.builder.rows() > 0) {
            self.shown = self.builder.rows();
            self.store.show(&mut self.place, self.builder.segment(complete), last);
        }
    }
}

impl Drop for TableRecorder {
    fn drop(&mut self) {
        self.store.recorder_ended(None);
    }
}

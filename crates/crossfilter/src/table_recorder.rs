//! Takes the rows of a table into segments.

use crate::builder::{NewValue, SegmentBuilder, UNKNOWN};
use crate::columns::{CODED, ColumnCounts, FLAW, LINE, NUMBERS, REJECTED, TIME, ZONE, ZONE_MIN};
use crate::dictionary::{NONE, OTHERS};
use crate::limits::LINE_BYTES_MAX;
use crate::segment::biased;
use crate::store::RowStore;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rorqual_accesslog::{ABSENT, NO_TIME};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a text that are kept.
const TEXT_BYTES_MAX: usize = 64 << 10;

/// Texts of a column, one a row; the absent value is the empty text.
#[derive(Debug, Clone, Copy)]
pub struct RowTexts<'a> {
    /// The bytes of all texts.
    pub bytes: &'a [u8],
    /// Start and end of the text of each row.
    pub ranges: &'a [(u32, u32)],
}

impl<'a> RowTexts<'a> {
    /// The text in a row, as much of it as is kept.
    fn text(&self, row: usize) -> &'a [u8] {
        let (start, end) = self.ranges[row];
        let text = &self.bytes[start as usize..end as usize];
        &text[..text.len().min(TEXT_BYTES_MAX)]
    }
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
    pub texts: &'a [RowTexts<'a>],
    /// The schema's own columns of numbers in their steps, or [`ABSENT`].
    pub numbers: &'a [&'a [u64]],
}

/// Takes rows of one input, in ascending order of their offsets.
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
    /// Codes in a batch of the texts of a column; kept for its memory.
    known: HashTable<u32>,
}

/// The distinct texts of some rows of a column.
#[derive(Default)]
struct BatchTexts<'a> {
    /// Index among the values, of each row.
    codes: Vec<u32>,
    values: Vec<&'a [u8]>,
    hashes: Vec<u64>,
    globals: Vec<u32>,
    /// Some of the values have no code.
    has_uncoded: bool,
}

impl BatchTexts<'_> {
    /// Bytes of a row's text where it has no code.
    fn uncoded_bytes(&self, row: usize) -> usize {
        let code = self.codes[row] as usize;
        if self.globals[code] == OTHERS { self.values[code].len() } else { 0 }
    }
}

impl TableRecorder {
    /// Recorders of the next input into `store`, each of some of its rows.
    #[must_use]
    pub fn several(store: &Arc<RowStore>, count: usize) -> Vec<Self> {
        let input = store.next_input(count);
        let recorder = |_| Self {
            store: Arc::clone(store),
            input,
            builder: SegmentBuilder::new(store.settings.segment_rows, store.counts()),
            place: None,
            shown: 0,
            granted: store.wanted(),
            reserved: false,
            known: HashTable::new(),
        };
        (0..count).map(recorder).collect()
    }

    /// Takes rows.
    pub fn take(&mut self, rows: &TableRows<'_>) {
        self.reserve();
        let mut start = 0;
        while start < rows.rows {
            let end = rows.rows.min(start + self.builder.room());
            let columns = self.columns(rows, start..end);
            let end = start + self.fitting(&columns, end - start);
            if end == start {
                self.show_full();
                continue;
            }
            self.append(rows, start..end, columns);
            start = end;
            self.show_if_full();
        }
        let wanted = self.store.wanted();
        if wanted != self.granted {
            self.granted = wanted;
            self.show(false, false);
        }
    }

    /// Shows the rows so far; more may come.
    pub fn show_so_far(&mut self) {
        self.show(false, false);
    }

    /// Takes a record that is no row, for a reason, with the start of its text.
    pub fn reject(&mut self, offset: u64, reason: &str, text: &[u8]) {
        self.reserve();
        if self.builder.uncoded_room() < LINE_BYTES_MAX {
            self.show_full();
        }
        let first = self.builder.rows();
        let flaw: Vec<u8> = std::iter::once(REJECTED).chain(reason.bytes()).collect();
        let flaw = self.store.dictionaries[FLAW].lock().intern(&flaw);
        let ColumnCounts { coded, numbers } = self.store.counts();
        for column in 0..coded {
            let global = match column {
                FLAW => flaw,
                LINE => {
                    let local = self.builder.local_of(LINE, &self.store.line_value(text));
                    self.builder.codes(LINE).push(local);
                    continue;
                }
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

    /// The texts of rows, with their codes in all segments.
    fn columns<'a>(&mut self, rows: &TableRows<'a>, range: Range<usize>) -> Vec<BatchTexts<'a>> {
        (CODED..).zip(rows.texts).map(|(index, texts)| self.texts(index, *texts, range.clone())).collect()
    }

    fn texts<'a>(&mut self, index: usize, texts: RowTexts<'a>, range: Range<usize>) -> BatchTexts<'a> {
        let mut column = BatchTexts { codes: Vec::with_capacity(range.len()), ..BatchTexts::default() };
        self.known.clear();
        let mut absent = None;
        for row in range {
            let text = texts.text(row);
            // In many columns most rows have none, and a comparison of no bytes at all is slow
            // where their address is no memory's.
            if text.is_empty()
                && let Some(code) = absent
            {
                column.codes.push(code);
                continue;
            }
            // A text is hashed once here for all that need it.
            let hash = self.store.hasher.hash(text);
            let BatchTexts { values, hashes, .. } = &column;
            let is_same = |code: &u32| values[*code as usize] == text;
            let code = match self.known.entry(hash, is_same, |code| hashes[*code as usize]) {
                Entry::Occupied(known) => *known.get(),
                Entry::Vacant(new) => {
                    let code = column.values.len() as u32;
                    new.insert(code);
                    column.values.push(text);
                    column.hashes.push(hash);
                    code
                }
            };
            if text.is_empty() {
                absent = Some(code);
            }
            column.codes.push(code);
        }
        let BatchTexts { values, hashes, globals, .. } = &mut column;
        let mut tables = self.store.dictionaries[index].lock();
        tables.intern_all(values.len(), (|code| hashes[code], |code| values[code]), globals);
        // No column follows from a table's texts.
        column.has_uncoded = column.globals.contains(&OTHERS);
        column
    }

    /// Number of the first of so many rows whose texts without a code fit the segment: at least one
    /// in an empty segment.
    fn fitting(&self, columns: &[BatchTexts<'_>], rows: usize) -> usize {
        let mut room = self.builder.uncoded_room();
        let with_uncoded: Vec<&BatchTexts<'_>> = columns.iter().filter(|column| column.has_uncoded).collect();
        for row in 0..if with_uncoded.is_empty() { 0 } else { rows } {
            let bytes: usize = with_uncoded.iter().map(|column| column.uncoded_bytes(row)).sum();
            match room.checked_sub(bytes) {
                Some(left) => room = left,
                None => return row.max(usize::from(self.builder.rows() == 0)),
            }
        }
        rows
    }

    fn append(&mut self, rows: &TableRows<'_>, range: Range<usize>, columns: Vec<BatchTexts<'_>>) {
        let first = self.builder.rows();
        let len = range.len();
        (0..CODED).filter(|column| *column != ZONE).for_each(|column| self.builder.append_none(column, len));
        // Times of tables are in UTC.
        let zone = self.builder.local(ZONE, ZONE_MIN.unsigned_abs());
        let zones = self.builder.codes(ZONE);
        zones.resize(zones.len() + len, zone);
        (CODED..).zip(columns).for_each(|(index, column)| self.append_texts(index, &column, len));
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

    fn append_texts(&mut self, index: usize, column: &BatchTexts<'_>, rows: usize) {
        let value = |code: u32| match column.globals[code as usize] {
            OTHERS => NewValue::Uncoded(OTHERS, column.hashes[code as usize], column.values[code as usize]),
            global => NewValue::Coded(global),
        };
        let mut locals = vec![UNKNOWN; column.values.len()];
        self.builder.append(index, &column.codes[..rows], &mut locals, value);
        if self.builder.take_shortage() {
            self.store.dictionaries[index].lock().note_cut();
        }
    }

    fn show_if_full(&mut self) {
        if self.builder.is_full() {
            self.show_full();
        }
    }

    /// Shows the segment, to which no more rows come, and begins the next one.
    fn show_full(&mut self) {
        if self.builder.rows() > 0 {
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

//! Takes the rows of one worker into segments.

use crate::builder::{NewValue, SegmentBuilder, UNKNOWN};
use crate::columns::{
    BYTES, CODED, ColumnCounts, FILE, FLAW, LINE, REJECTED, REPAIRED, REQUEST_TIME, STATUS, STATUSES, TIME, UPSTREAM_TIME,
};
use crate::columns::{NUMBERS, ZONE, ZONE_MIN};
use crate::dictionary::{NONE, OTHERS};
use crate::limits::LINE_BYTES_MAX;
use crate::segment::biased;
use crate::store::{RowStore, lock};
use rorqual_accesslog::aggregate::NoteReason;
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::{ABSENT, NO_TIME, OwnColumns, RecordedRows, Recorder, Recording, TEXT_FIELDS};
use std::ops::Range;
use std::sync::{Arc, Mutex, Weak};

/// Gives the workers of a run recorders into a store, as long as there is one.
#[derive(Clone)]
pub struct Recordings {
    store: Arc<Mutex<Weak<RowStore>>>,
    /// Segments that are not full when a run ends stay open for the next one.
    in_turns: bool,
    /// Rows have the name of their input as their file.
    names_files: bool,
}

impl Recordings {
    /// Recorders into `store`, each run over an input of its own.
    #[must_use]
    pub fn new(store: &Arc<RowStore>) -> Self {
        Self { store: Arc::new(Mutex::new(Arc::downgrade(store))), in_turns: false, names_files: false }
    }

    /// Recorders for runs over one slice of an input after another: a segment that is not full at
    /// the end of one gets more rows in the next. [`RowStore::complete`] may be called after the
    /// last one.
    #[must_use]
    pub fn in_turns(store: &Arc<RowStore>) -> Self {
        Self { in_turns: true, ..Self::new(store) }
    }

    /// The same for inputs that are several files, whose names are a column.
    #[must_use]
    pub fn of_files(self) -> Self {
        Self { names_files: true, ..self }
    }

    /// Recorders into another store from the next run on.
    pub fn redirect(&self, store: &Arc<RowStore>) {
        *lock(&self.store) = Arc::downgrade(store);
    }

    fn store(&self) -> Option<Arc<RowStore>> {
        lock(&self.store).upgrade()
    }
}

impl Recording for Recordings {
    fn recorders(&self, name: &str, _format: &LogFormat, count: usize) -> Vec<Box<dyn Recorder>> {
        let Some(store) = self.store() else { return Vec::new() };
        let input = store.next_input(count);
        let file: Arc<str> = if self.names_files { name.into() } else { "".into() };
        let recorder = |_| Box::new(SegmentRecorder::new(&store, (input, &file), self.in_turns)) as Box<dyn Recorder>;
        (0..count).map(recorder).collect()
    }

    fn own(&self) -> Option<Arc<OwnColumns>> {
        self.store()?.own().cloned()
    }
}

/// The recorder of one worker.
struct SegmentRecorder {
    store: Arc<RowStore>,
    input: u32,
    /// Name of the file that the rows are from; empty where there is one only.
    file: Arc<str>,
    in_turns: bool,
    /// Rows have come.
    begun: bool,
    builder: SegmentBuilder,
    /// Place under which the segment is shown.
    place: Option<usize>,
    /// Rows that are shown of it.
    shown: usize,
    /// The last wish for fresh rows that was granted.
    granted: u64,
    /// Of the text fields, and of the columns of texts of the log's own.
    texts: Vec<Translation>,
    /// For each status, its code in the segment and 1.
    statuses: Vec<u32>,
    /// The last zone, and its code in the segment and 1.
    zone: (i32, u32),
}

/// From the codes of a worker to those of the segment.
#[derive(Default)]
struct Translation {
    /// Codes in all segments.
    globals: Vec<u32>,
    /// Codes of the segment and 1.
    locals: Vec<u32>,
    /// The first of the codes of groups, once there are texts without a code.
    groups_start: Option<u32>,
}

impl Translation {
    /// True if the text of this code in all segments has none of its own.
    fn is_uncoded(&self, global: u32) -> bool {
        self.groups_start.is_some_and(|start| global == OTHERS || global >= start)
    }
}

/// The coded column of a text column of a batch.
fn coded_index(index: usize) -> usize {
    index.checked_sub(TEXT_FIELDS.len()).map_or(index, |own| CODED + own)
}

impl SegmentRecorder {
    fn new(store: &Arc<RowStore>, (input, file): (u32, &Arc<str>), in_turns: bool) -> Self {
        Self {
            store: Arc::clone(store),
            input,
            file: Arc::clone(file),
            in_turns,
            begun: false,
            builder: SegmentBuilder::new(store.settings.segment_rows, store.counts()),
            place: None,
            shown: 0,
            granted: store.wanted(),
            texts: (0..TEXT_FIELDS.len() + store.counts().coded - CODED).map(|_| Translation::default()).collect(),
            statuses: Vec::new(),
            zone: (0, UNKNOWN),
        }
    }

    /// Takes up a segment that was left open, where there is one. Many a worker gets none of the
    /// rows of a short run.
    fn begin(&mut self) {
        if self.begun {
            return;
        }
        self.begun = true;
        self.statuses = vec![UNKNOWN; STATUSES];
        self.builder.reserve();
        if let Some((place, segment)) = self.store.take_open() {
            // Open segments are in memory.
            let taken = segment.columns().map(|columns| self.builder.take_up(&segment, columns));
            debug_assert!(taken.is_some_and(|taken| taken.is_ok()), "what this process packed is whole");
            (self.place, self.shown) = (Some(place), segment.rows);
        }
    }

    /// Gives each value that the worker has met for the first time its code in all segments.
    fn intern(&mut self, rows: &RecordedRows<'_>) {
        for (index, translation) in self.texts.iter_mut().enumerate().take(rows.batch.text_columns()) {
            let (known, all) = (translation.globals.len(), rows.batch.codes_len(index));
            if known < all {
                let hasher = &self.store.hasher;
                let value = |number: usize| rows.batch.value(index, (known + number) as u32);
                let mut tables = self.store.dictionaries[coded_index(index)].lock();
                tables.intern_all(all - known, (|number| hasher.hash(value(number)), value), &mut translation.globals);
                if tables.has_groups() {
                    translation.groups_start = Some(tables.groups_start());
                    for number in known..all {
                        if translation.globals[number] == OTHERS {
                            translation.globals[number] = tables.group(rows.batch.value(index, number as u32));
                        }
                    }
                }
                translation.locals.resize(all, UNKNOWN);
            }
        }
    }

    /// Takes the batch's rows in `range`, in as many segments as it needs.
    fn take_rows(&mut self, rows: &RecordedRows<'_>, mut range: Range<usize>) {
        while !range.is_empty() {
            let end = range.end.min(range.start + self.builder.room());
            let end = range.start + self.fitting(rows, range.start..end);
            if end == range.start {
                self.show_full();
                continue;
            }
            self.append(rows, range.start..end);
            range.start = end;
            self.show_if_full();
        }
    }

    /// Number of the first rows in `range` whose texts without a code fit the segment: at least one
    /// in an empty segment.
    fn fitting(&self, rows: &RecordedRows<'_>, range: Range<usize>) -> usize {
        let mut fitting = range.len();
        if self.texts.iter().all(|translation| translation.groups_start.is_none()) {
            return fitting;
        }
        let mut bytes = vec![0; range.len()];
        for (index, translation) in self.texts.iter().enumerate().filter(|(_, of)| of.groups_start.is_some()) {
            let codes = rows.batch.codes(index).map_or(&[][..], |codes| &codes[range.clone()]);
            for (bytes, code) in bytes.iter_mut().zip(codes) {
                let is_new = translation.locals[*code as usize] == UNKNOWN;
                if is_new && translation.is_uncoded(translation.globals[*code as usize]) {
                    *bytes += rows.batch.value(index, *code).len();
                }
            }
        }
        let mut room = self.builder.uncoded_room();
        for (row, bytes) in bytes.into_iter().enumerate() {
            match room.checked_sub(bytes) {
                Some(left) => room = left,
                None => {
                    fitting = row;
                    break;
                }
            }
        }
        fitting.max(usize::from(self.builder.rows() == 0))
    }

    /// Takes rows that fit.
    fn append(&mut self, rows: &RecordedRows<'_>, range: Range<usize>) {
        let first = self.builder.rows();
        let batch = rows.batch;
        for (index, translation) in self.texts.iter_mut().enumerate() {
            let to = coded_index(index);
            if let Some(codes) = batch.codes(index) {
                let Translation { globals, locals, groups_start } = translation;
                let start = groups_start.unwrap_or(u32::MAX);
                let value = |code: u32| match globals[code as usize] {
                    global if global != OTHERS && global < start => NewValue::Coded(global),
                    group => {
                        let text = batch.value(index, code);
                        NewValue::Uncoded(group, self.store.hasher.hash(text), text)
                    }
                };
                self.builder.append(to, &codes[range.clone()], locals, value);
                if self.builder.take_shortage() {
                    self.store.dictionaries[to].lock().note_cut();
                }
            } else if to >= CODED {
                // Nobody has such a value yet.
                self.builder.append_none(to, range.len());
            }
        }
        for &status in &batch.status()[range.clone()] {
            let local = &mut self.statuses[usize::from(status).min(STATUSES - 1)];
            if *local == UNKNOWN {
                *local = u32::from(self.builder.local(STATUS, u32::from(status).min(STATUSES as u32 - 1))) + 1;
            }
            self.builder.codes(STATUS).push((*local - 1) as u16);
        }
        self.append_zones(&rows.zones_seconds[range.clone()]);
        let times = batch.times_us()[range.clone()].iter();
        self.builder
            .numbers(TIME)
            .extend(times.map(|time| if *time == NO_TIME { ABSENT } else { biased(*time).min(ABSENT - 1) }));
        let numbers =
            [(BYTES, batch.bytes()), (REQUEST_TIME, batch.request_times_us()), (UPSTREAM_TIME, batch.upstream_times_us())];
        numbers.into_iter().for_each(|(index, numbers)| self.builder.numbers(index).extend_from_slice(&numbers[range.clone()]));
        self.append_own_numbers(batch.own_numbers(), &range);
        self.append_flaws(rows, &range);
        self.append_file(range.len());
        self.builder.run(self.input, rows.offset(), first);
    }

    fn append_own_numbers(&mut self, own: &[Vec<u64>], range: &Range<usize>) {
        for index in NUMBERS..self.store.counts().numbers {
            let numbers = self.builder.numbers(index);
            match own.get(index - NUMBERS) {
                Some(own) => numbers.extend_from_slice(&own[range.clone()]),
                None => numbers.resize(numbers.len() + range.len(), ABSENT),
            }
        }
    }

    fn append_zones(&mut self, zones_seconds: &[i32]) {
        for &zone in zones_seconds {
            if self.zone.1 == UNKNOWN || self.zone.0 != zone {
                let global = zone.clamp(ZONE_MIN, -ZONE_MIN) - ZONE_MIN;
                self.zone = (zone, u32::from(self.builder.local(ZONE, global.unsigned_abs())) + 1);
            }
            self.builder.codes(ZONE).push((self.zone.1 - 1) as u16);
        }
    }

    fn append_flaws(&mut self, rows: &RecordedRows<'_>, range: &Range<usize>) {
        let (sound, line) = (self.builder.local(FLAW, NONE), self.builder.local(LINE, NONE));
        let first = self.builder.codes(FLAW).len();
        self.builder.codes(FLAW).resize(first + range.len(), sound);
        self.builder.codes(LINE).resize(first + range.len(), line);
        let start = rows.repaired.partition_point(|(row, _)| (*row as usize) < range.start);
        for (row, reason) in rows.repaired[start..].iter().take_while(|(row, _)| (*row as usize) < range.end) {
            let local = self.flaw(REPAIRED, *reason);
            self.builder.codes(FLAW)[first + *row as usize - range.start] = local;
        }
    }

    /// Appends rows that are from the file.
    fn append_file(&mut self, rows: usize) {
        let file = self.store.value(FILE, self.file.as_bytes());
        let file = self.builder.local_of(FILE, &file);
        let codes = self.builder.codes(FILE);
        codes.resize(codes.len() + rows, file);
        if self.builder.take_shortage() {
            self.store.dictionaries[FILE].lock().note_cut();
        }
    }

    fn flaw(&mut self, kind: u8, reason: NoteReason) -> u16 {
        let mut text = vec![kind];
        text.extend_from_slice(reason.name().as_bytes());
        let global = self.store.dictionaries[FLAW].lock().intern(&text);
        self.builder.local(FLAW, global)
    }

    fn reject(&mut self, offset: u64, reason: NoteReason, text: &[u8]) {
        if self.builder.uncoded_room() < LINE_BYTES_MAX {
            self.show_full();
        }
        let first = self.builder.rows();
        let ColumnCounts { coded, numbers } = self.store.counts();
        for column in (0..coded).filter(|column| ![FILE, FLAW, LINE, ZONE].contains(column)) {
            let none = self.builder.local(column, NONE);
            self.builder.codes(column).push(none);
        }
        self.append_zones(&[0]);
        let flaw = self.flaw(REJECTED, reason);
        self.builder.codes(FLAW).push(flaw);
        let line = self.store.line_value(text);
        let line = self.builder.local_of(LINE, &line);
        self.builder.codes(LINE).push(line);
        self.append_file(1);
        (0..numbers).for_each(|index| self.builder.numbers(index).push(ABSENT));
        self.builder.run(self.input, offset, first);
        self.show_if_full();
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
            self.texts.iter_mut().for_each(|translation| translation.locals.fill(UNKNOWN));
            self.statuses.fill(UNKNOWN);
            self.zone.1 = UNKNOWN;
        }
    }

    /// Shows the rows so far; after `last` no more come from here.
    fn show(&mut self, complete: bool, last: bool) {
        // Rows that were not shown for want of a place are dropped in the end.
        let unsettled = complete || (last && self.place.is_none());
        if self.builder.rows() > self.shown || (unsettled && self.builder.rows() > 0) {
            self.shown = self.builder.rows();
            self.store.show(&mut self.place, self.builder.segment(complete), last);
        }
    }
}

impl Recorder for SegmentRecorder {
    fn take(&mut self, rows: &RecordedRows<'_>) {
        self.begin();
        self.intern(rows);
        let mut row = 0;
        for rejected in rows.rejected {
            let before = rejected.before_row as usize;
            self.take_rows(rows, row..before);
            row = before;
            self.reject(rows.offset(), rejected.reason, rows.text(rejected));
        }
        self.take_rows(rows, row..rows.batch.len());
        let wanted = self.store.wanted();
        if wanted != self.granted {
            self.granted = wanted;
            self.show(false, false);
        }
    }

    fn forget(&mut self, index: usize) {
        if let Some(translation) = self.texts.get_mut(index) {
            *translation = Translation::default();
        }
    }

    fn idle(&mut self) {
        self.show(false, false);
    }

    fn finish(&mut self) {
        self.show(!self.in_turns, true);
        if !self.in_turns {
            self.place = None;
        }
    }
}

impl Drop for SegmentRecorder {
    fn drop(&mut self) {
        self.store.recorder_ended(self.place);
    }
}

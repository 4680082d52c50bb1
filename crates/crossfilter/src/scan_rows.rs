//! All rows of a view, one after another in the order of the inputs.
//!
//! A recorder fills its segments one after another, so that at any position of its input at most
//! one segment of each recorder is open. Complete segments are held by number until they are
//! opened, so that a slow reader does not keep segments in memory that were spilled meanwhile; of
//! those that still grow, the rows that they had at the start are held.

use crate::columns::{
    AGENT, BYTES, CLIENT, CODED, ColumnCounts, FILE, FLAW, HOST, LINE, METHOD, NUMBERS, PATH, PROTOCOL, QUERY, REFERRER,
    REJECTED, REPAIRED, REQUEST_TIME, SOURCE, STATUS, TIME, UPSTREAM_TIME, USER, ZONE, ZONE_MIN, has_dictionary,
};
use crate::dictionary::{DictionaryTables, FLAW_NO_ROOM, NO_ROOM, OTHERS};
use crate::limits::{PIECE_BYTES_MAX, PIECE_ROWS_MAX};
use crate::numbers::CodedNumbers;
use crate::plan::ViewPlan;
use crate::segment::{Segment, unbiased};
use crate::store::RowStore;
use crate::uncoded::PlainTexts;
use crate::view::{View, ViewError};
use rorqual_accesslog::OwnValues;
use rorqual_accesslog::parse::LogRecord;
use rorqual_pipe::{Control, Error};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, MutexGuard};

/// A row of a view, for as long as it is looked at.
#[derive(Debug, Clone, Copy)]
pub struct ViewRow<'a> {
    /// Its fields; of a rejected line none. A value that the store had no room for is `…`.
    pub record: LogRecord<'a>,
    /// Name of the file that the line is from, where the rows are those of several.
    pub file: &'a [u8],
    /// Fault of the line; empty for a sound one.
    pub flaw: &'a [u8],
    /// The first 1 KiB of a rejected line; empty for others.
    pub line: &'a [u8],
    /// Values of the schema's own columns.
    pub own: OwnRow<'a>,
}

/// Values of a row in a schema's own columns.
#[derive(Debug, Clone, Copy)]
pub struct OwnRow<'a> {
    texts: &'a TextRows,
    /// Number among the rows whose texts these are.
    at: usize,
    numbers: &'a [CodedNumbers],
    /// Number in the segment.
    row: usize,
}

impl OwnRow<'_> {
    /// The value of the column of texts with this number; the absent one is empty.
    #[must_use]
    pub fn text(&self, number: usize) -> &[u8] {
        self.texts.text(self.at, CODED + number)
    }

    /// The step of the column of numbers with this number.
    #[must_use]
    pub fn number(&self, number: usize) -> Option<u64> {
        self.numbers.get(NUMBERS + number)?.get(self.row)
    }
}

/// Position of a segment's next run: input, offset, and the number of the segment.
type RunPosition = (u32, u64, usize);

/// A segment whose rows come later.
enum PendingSegment {
    /// By its number.
    Complete,
    /// Snapshot from the start: rows that come later are not part of the view.
    Growing(Arc<Segment>),
}

/// A segment whose rows are being looked at.
struct OpenRuns {
    /// With all columns in memory.
    segment: Arc<Segment>,
    /// Texts without a code of the coded columns that have some.
    uncoded: Vec<Option<PlainTexts>>,
    /// Remaining rows of the view.
    rows: std::vec::IntoIter<u16>,
    /// Number of runs done.
    passed: usize,
}

impl RowStore {
    /// True if a line was rejected or repaired.
    #[must_use]
    pub fn has_flaws(&self) -> bool {
        let flaws = self.dictionaries[FLAW].lock();
        (0..flaws.len() as u32).any(|code| matches!(flaws.text(code).first(), Some(&(REJECTED | REPAIRED))))
    }

    /// Calls `take` for each row that a view has now, in the order of the inputs, and returns their
    /// number. An error of `take` ends it.
    ///
    /// # Errors
    /// When it was cancelled, spilled rows can't be read back, or `take` failed.
    pub fn each(
        &self,
        view: &View,
        control: &Control,
        mut take: impl FnMut(&ViewRow<'_>) -> Result<(), Error>,
    ) -> Result<u64, ViewError> {
        let mut later = self.later();
        let plan = ViewPlan::new(view, self, control).ok_or(ViewError::Cancelled)?;
        let mut open: BTreeMap<RunPosition, OpenRuns> = BTreeMap::new();
        let (mut piece, mut count) = (TextRows::default(), 0);
        loop {
            // A segment is opened when its first run is the next one of all: any later, and its
            // rows would be out of order; any sooner, and more segments than recorders would be in
            // memory.
            while let Some((place, _)) = later.last()
                && open.first_key_value().is_none_or(|(first, _)| place < first)
                && let Some((place, segment)) = later.pop()
            {
                if control.stopped() {
                    return Err(ViewError::Cancelled);
                }
                if let Some(opened) = self.open(place.2, segment, &plan).map_err(ViewError::spilled)? {
                    open.insert(place, opened);
                }
            }
            let Some((place, mut opened)) = open.pop_first() else {
                // A stop makes `open` leave rows out: this need not be the end of the view.
                return if control.stopped() { Err(ViewError::Cancelled) } else { Ok(count) };
            };
            let rows = opened.next_run();
            // Texts are copied piece by piece, so that no dictionary is locked while `take` runs,
            // which may wait for a slow reader.
            let mut left = &rows[..];
            while !left.is_empty() {
                if control.stopped() {
                    return Err(ViewError::Cancelled);
                }
                let rows;
                (rows, left) = left.split_at(piece.fill(self, &opened, left).map_err(ViewError::spilled)?);
                piece
                    .rows(&opened.segment, rows)
                    .map_err(ViewError::spilled)?
                    .try_for_each(|row| take(&row))
                    .map_err(ViewError::Io)?;
                count += rows.len() as u64;
            }
            // Back into the order under its next run: runs of other recorders may come before it.
            if let Some(run) = opened.segment.runs.get(opened.passed).filter(|_| opened.rows.len() > 0) {
                open.insert((run.input, run.offset, place.2), opened);
            }
        }
    }

    /// Segments by the position of their first run, in descending order: the next one is popped
    /// from the end.
    fn later(&self) -> Vec<(RunPosition, PendingSegment)> {
        let first = |(number, segment): (usize, Arc<Segment>)| {
            let run = segment.runs.first()?;
            let place = (run.input, run.offset, number);
            Some((place, if segment.complete { PendingSegment::Complete } else { PendingSegment::Growing(segment) }))
        };
        let mut later: Vec<_> = self.snapshot().segments.into_iter().enumerate().filter_map(first).collect();
        later.sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
        later
    }

    /// Selects the view's rows of a segment and loads its columns; `None` if it has no such row.
    fn open(&self, number: usize, segment: PendingSegment, plan: &ViewPlan) -> io::Result<Option<OpenRuns>> {
        let segment = match segment {
            PendingSegment::Complete => self.segment(number),
            PendingSegment::Growing(segment) => segment,
        };
        let spill = self.spill.as_ref();
        let mut rows = Vec::new();
        plan.select(&segment, self)?.list(&mut rows);
        if rows.is_empty() {
            return Ok(None);
        }
        let segment = if segment.is_spilled() { Arc::new(segment.read_back(spill)?) } else { segment };
        let uncoded = segment.plain_texts(None)?;
        Ok(Some(OpenRuns { segment, uncoded, rows: rows.into_iter(), passed: 0 }))
    }
}

impl OpenRuns {
    /// Rows of the view in the next run.
    fn next_run(&mut self) -> Vec<u16> {
        let end = self.segment.runs.get(self.passed).map_or(0, |run| run.row + run.rows);
        self.passed += 1;
        let length = self.rows.as_slice().partition_point(|row| u32::from(*row) < end);
        self.rows.by_ref().take(length).collect()
    }
}

/// The texts of a few rows.
#[derive(Debug, Default)]
struct TextRows {
    texts: Vec<u8>,
    /// End of each text, row after row.
    ends: Vec<usize>,
    /// Coded columns of the segment, of each of which there is a text; of the status and of the
    /// zone an empty one.
    columns: usize,
    /// Of each row the values of the log's own columns, where it has such.
    own: Vec<OwnValues>,
}

impl TextRows {
    /// Copies the texts of as many of the rows as fit, and returns how many; at least one.
    fn fill(&mut self, store: &RowStore, opened: &OpenRuns, rows: &[u16]) -> io::Result<usize> {
        let OpenRuns { segment, uncoded, .. } = opened;
        self.texts.clear();
        self.ends.clear();
        let ColumnCounts { coded, numbers } = segment.counts();
        let has_own = store.own().is_some();
        self.columns = if has_own { CODED } else { coded };
        let own_numbers = if has_own { NUMBERS..numbers } else { 0..0 };
        let own_numbers = own_numbers.map(|index| segment.numbers(index, None)).collect::<io::Result<Vec<_>>>()?;
        let columns = (0..coded).map(|index| segment.coded(index, None)).collect::<io::Result<Vec<_>>>()?;
        // Locked in ascending order, as everywhere that takes several, against deadlocks.
        let tables: Vec<MutexGuard<'_, DictionaryTables>> =
            store.dictionaries.iter().map(|dictionary| dictionary.lock()).collect();
        let text = |index: usize, row: usize| {
            let column = &columns[index];
            let text = match (column.uncoded_of(column.codes.get(row) as usize), &uncoded[index]) {
                (Some(text), Some(uncoded)) => Some(uncoded.text(text)),
                _ => None,
            };
            match (text, column.get(row)) {
                _ if !has_dictionary(index) => b"",
                (Some(text), _) => text,
                (None, OTHERS) if index == FLAW => FLAW_NO_ROOM.as_bytes(),
                (None, OTHERS) => NO_ROOM.as_bytes(),
                (None, code) => tables[index].text(code),
            }
        };
        let (mut filled, mut own_bytes) = (0, 0);
        for row in rows.iter().take(PIECE_ROWS_MAX) {
            for index in 0..self.columns {
                self.texts.extend_from_slice(text(index, usize::from(*row)));
                self.ends.push(self.texts.len());
            }
            if has_own {
                if self.own.len() == filled {
                    self.own.push(OwnValues::default());
                }
                let values = &mut self.own[filled];
                values.clear();
                (CODED..coded).map(|index| text(index, usize::from(*row))).for_each(|text| {
                    own_bytes += text.len();
                    values.push_text(text);
                });
                own_numbers.iter().for_each(|numbers| values.push_number(numbers.get(usize::from(*row))));
            }
            filled += 1;
            if self.texts.len() + own_bytes >= PIECE_BYTES_MAX {
                break;
            }
        }
        Ok(filled)
    }

    fn text(&self, row: usize, column: usize) -> &[u8] {
        let at = row * self.columns + column;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.texts[start..self.ends[at]]
    }

    /// The rows whose texts these are.
    fn rows<'a>(&'a self, segment: &'a Segment, rows: &'a [u16]) -> io::Result<impl Iterator<Item = ViewRow<'a>>> {
        let [times, bytes, request_times, upstream_times] =
            [TIME, BYTES, REQUEST_TIME, UPSTREAM_TIME].map(|index| segment.numbers(index, None));
        let (times, bytes, request_times, upstream_times) = (times?, bytes?, request_times?, upstream_times?);
        let (statuses, zones) = (segment.coded(STATUS, None)?, segment.coded(ZONE, None)?);
        // The segment was opened with all its columns.
        let numbers = segment.columns().map_or(&[][..], |columns| &columns.numbers);
        Ok(rows.iter().enumerate().map(move |(at, row)| {
            let (row, text) = (usize::from(*row), |column| self.text(at, column));
            let record = LogRecord {
                time_us: times.get(row).map(unbiased),
                zone_seconds: zones.get(row).cast_signed() + ZONE_MIN,
                client: text(CLIENT),
                user: text(USER),
                host: text(HOST),
                method: text(METHOD),
                path: text(PATH),
                query: text(QUERY),
                protocol: text(PROTOCOL),
                status: u16::try_from(statuses.get(row)).unwrap_or(0),
                bytes: bytes.get(row),
                referrer: text(REFERRER),
                agent: text(AGENT),
                request_time_us: request_times.get(row),
                upstream_time_us: upstream_times.get(row),
                source: text(SOURCE),
                own: self.own.get(at),
            };
            // The first byte is the kind of flaw.
            let flaw = text(FLAW).get(1..).unwrap_or_default();
            ViewRow { record, file: text(FILE), flaw, line: text(LINE), own: OwnRow { texts: self, at, numbers, row } }
        }))
    }
}

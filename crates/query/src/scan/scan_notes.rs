//! Records that are no rows, and notes about others: counted, and told at the end.

use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder};
use rorqual_columnar::{BadRecord, DecodeNote, DecodedRecords, Notes};
use rorqual_pipe::Chunk;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Reason for which a record that is too long is left out.
const TOO_LONG: &str = "longer than --record-max";

/// Notes of the scans of a query. A query that scans a file twice meets the same records twice, so
/// each scan counts for itself.
#[derive(Debug, Default)]
pub struct ScanTallies {
    scans: Mutex<Vec<Arc<ScanNotes>>>,
}

/// Notes of one scan, by file.
#[derive(Debug, Default)]
pub(crate) struct ScanNotes {
    files: Mutex<BTreeMap<String, NoteCount>>,
}

#[derive(Debug, Clone, Default)]
struct NoteCount {
    left: Option<SkippedRecords>,
    notes: Notes,
}

/// Records that were left out.
#[derive(Debug, Clone)]
struct SkippedRecords {
    records: u64,
    first: FirstSeen,
}

#[derive(Debug, Clone)]
struct FirstSeen {
    at: u64,
    reason: Cow<'static, str>,
}

/// A note of a scan as it goes from one process to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteRecord {
    /// The file.
    pub file: String,
    /// Number of times.
    pub times: u64,
    /// First place, from the start of the file.
    pub first: u64,
    /// Reason for which records were left out; `None` for a note of which no record is left out.
    pub reason: Option<String>,
    /// The other note, by its place among all kinds.
    pub kind: usize,
}

impl NoteRecord {
    /// Start of the names of metrics that are notes.
    const METRIC: &'static str = "rorqual_note ";

    /// The note that a metric of that name is, if it is one.
    #[must_use]
    pub fn of_metric(name: &str) -> Option<Self> {
        serde_json::from_str(name.strip_prefix(Self::METRIC)?).ok()
    }
}

impl ScanTallies {
    /// The tally of one more scan.
    pub(crate) fn add(&self) -> Arc<ScanNotes> {
        let tally = Arc::<ScanNotes>::default();
        self.scans.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&tally));
        tally
    }

    /// Adds the notes of one scan that ran elsewhere, in one part or several.
    pub fn add_records(&self, records: impl IntoIterator<Item = NoteRecord>) {
        let scan = self.add();
        let mut files = scan.files.lock().unwrap_or_else(PoisonError::into_inner);
        for record in records {
            let met = files.entry(record.file).or_default();
            match (record.reason, DecodeNote::ALL.get(record.kind)) {
                (Some(reason), _) => {
                    let first = FirstSeen { at: record.first, reason: reason.into() };
                    met.leave(record.times, first);
                }
                (None, Some(note)) => met.notes.add_all(*note, record.times, record.first),
                (None, None) => {}
            }
        }
    }

    /// The notes, a sentence each; then everything starts again.
    pub(crate) fn take(&self) -> Vec<String> {
        let scans = std::mem::take(&mut *self.scans.lock().unwrap_or_else(PoisonError::into_inner));
        let mut most: BTreeMap<String, NoteCount> = BTreeMap::new();
        for scan in scans {
            for (name, met) in scan.files.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                let known = most.entry(name.clone()).or_default();
                if met.times() > known.times() {
                    *known = met.clone();
                }
            }
        }
        most.iter().flat_map(|(name, met)| met.sentences(name)).collect()
    }
}

impl NoteCount {
    fn times(&self) -> u64 {
        let notes: u64 = DecodeNote::ALL.into_iter().filter_map(|note| self.notes.get(note)).map(|met| met.times).sum();
        notes + self.left.as_ref().map_or(0, |left| left.records)
    }

    /// So many more records are left out.
    fn leave(&mut self, records: u64, first: FirstSeen) {
        let left = self.left.get_or_insert_with(|| SkippedRecords { records: 0, first: first.clone() });
        left.records += records;
        if first.at < left.first.at {
            left.first = first;
        }
    }

    fn records(&self, file: &str) -> Vec<NoteRecord> {
        let noted = |(kind, note): (usize, DecodeNote)| {
            let met = self.notes.get(note)?;
            Some(NoteRecord { file: file.to_owned(), times: met.times, first: met.first_offset, reason: None, kind })
        };
        let left = self.left.as_ref().map(|left| NoteRecord {
            file: file.to_owned(),
            times: left.records,
            first: left.first.at,
            reason: Some(left.first.reason.to_string()),
            kind: DecodeNote::ALL.len(),
        });
        DecodeNote::ALL.into_iter().enumerate().filter_map(noted).chain(left).collect()
    }

    fn sentences(&self, name: &str) -> Vec<String> {
        let noted = |note| self.notes.get(note).map(|met| (note, met));
        let note = |(note, met): (DecodeNote, rorqual_columnar::Occurrences)| {
            format!("{} x {note}; the first in {name} at byte {}", met.times, met.first_offset)
        };
        let notes = DecodeNote::ALL.into_iter().filter_map(noted).map(note);
        notes.chain(self.left.as_ref().map(|left| sentence(name, left))).collect()
    }
}

fn sentence(name: &str, left: &SkippedRecords) -> String {
    let records = if left.records == 1 { "1 record was" } else { &format!("{} records were", left.records) };
    let first = if left.records == 1 { "," } else { "; the first" };
    format!("{name}: {records} left out{first} at byte {}: {}", left.first.at, left.first.reason)
}

impl ScanNotes {
    /// Counts the result of a chunk, or of the part of it that was decoded.
    pub(crate) fn count(&self, name: &str, chunk: &Chunk, decoded: &DecodedRecords) {
        // The last part comes with the start of the over-long record after it.
        let long = chunk.long_start().filter(|_| decoded.rest.is_none());
        let long = long.map(|start| FirstSeen { at: chunk.offset + start as u64, reason: TOO_LONG.into() });
        let records = decoded.bad.len() as u64 + u64::from(long.is_some());
        let first = decoded.bad.first().map(|bad: &BadRecord| FirstSeen { at: bad.at, reason: bad.reason.into() }).or(long);
        if first.is_none() && decoded.notes == Notes::default() {
            return;
        }
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let met = files.entry(name.to_owned()).or_default();
        met.notes.merge(&decoded.notes);
        if let Some(first) = first {
            met.leave(records, first);
        }
    }

    /// Puts the notes among the metrics of a scan.
    pub(crate) fn publish(&self, metrics: &ExecutionPlanMetricsSet) {
        for (file, met) in self.files.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            for record in met.records(file) {
                // A record of texts and numbers is JSON always.
                let Ok(json) = serde_json::to_string(&record) else { continue };
                let count = MetricBuilder::new(metrics).counter(format!("{}{json}", NoteRecord::METRIC), 0);
                count.add(usize::try_from(record.times).unwrap_or(usize::MAX));
            }
        }
    }
}

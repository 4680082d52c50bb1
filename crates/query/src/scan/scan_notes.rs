//! Records that are no rows, and notes about others: counted, and told at the end.

use rorqual_columnar::{BadRecord, DecodeNote, DecodedRecords, Notes};
use rorqual_pipe::Chunk;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Reason for which a record that is too long is left out.
const TOO_LONG: &str = "longer than --record-max";

/// Notes of the scans of a query. A query that scans a file twice meets the same records twice, so
/// each scan counts for itself.
#[derive(Debug, Default)]
pub(crate) struct ScanTallies {
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
#[derive(Debug, Clone, Copy)]
struct SkippedRecords {
    records: u64,
    first: FirstSeen,
}

#[derive(Debug, Clone, Copy)]
struct FirstSeen {
    at: u64,
    reason: &'static str,
}

impl ScanTallies {
    /// The tally of one more scan.
    pub(crate) fn add(&self) -> Arc<ScanNotes> {
        let tally = Arc::<ScanNotes>::default();
        self.scans.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&tally));
        tally
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
        notes + self.left.map_or(0, |left| left.records)
    }

    fn sentences(&self, name: &str) -> Vec<String> {
        let noted = |note| self.notes.get(note).map(|met| (note, met));
        let note = |(note, met): (DecodeNote, rorqual_columnar::Occurrences)| {
            format!("{} x {note}; the first in {name} at byte {}", met.times, met.first_offset)
        };
        let notes = DecodeNote::ALL.into_iter().filter_map(noted).map(note);
        notes.chain(self.left.map(|left| sentence(name, &left))).collect()
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
        let long = long.map(|start| FirstSeen { at: chunk.offset + start as u64, reason: TOO_LONG });
        let first = decoded.bad.first().map(|bad: &BadRecord| FirstSeen { at: bad.at, reason: bad.reason }).or(long);
        if first.is_none() && decoded.notes == Notes::default() {
            return;
        }
        let records = decoded.bad.len() as u64 + u64::from(long.is_some());
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let met = files.entry(name.to_owned()).or_default();
        met.notes.merge(&decoded.notes);
        let Some(first) = first else { return };
        let known = met.left.unwrap_or(SkippedRecords { records: 0, first });
        let first = if first.at < known.first.at { first } else { known.first };
        met.left = Some(SkippedRecords { records: known.records + records, first });
    }
}

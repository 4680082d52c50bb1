//! Records that are no rows: counted, and told at the end.

use rorqual_pipe::Chunk;
use rorqual_rows::{Bad, Decoded};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};

/// Why a record that is too long is left out.
const TOO_LONG: &str = "longer than --record-max";

/// What the scans of a query left out. A query that scans a file twice meets the same records twice, so each scan counts for itself.
#[derive(Debug, Default)]
pub(crate) struct Tallies {
    scans: Mutex<Vec<Arc<Tally>>>,
}

/// What one scan left out, by file.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    files: Mutex<BTreeMap<String, Left>>,
}

#[derive(Debug, Clone, Copy)]
struct Left {
    records: u64,
    first: Place,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    at: u64,
    reason: &'static str,
}

impl Tallies {
    /// The tally of one more scan.
    pub(crate) fn add(&self) -> Arc<Tally> {
        let tally = Arc::<Tally>::default();
        self.scans.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&tally));
        tally
    }

    /// A sentence for each file of which records were left out; then everything starts again.
    pub(crate) fn take(&self) -> Vec<String> {
        let scans = std::mem::take(&mut *self.scans.lock().unwrap_or_else(PoisonError::into_inner));
        let mut most: BTreeMap<String, Left> = BTreeMap::new();
        for scan in scans {
            for (name, left) in scan.files.lock().unwrap_or_else(PoisonError::into_inner).iter() {
                let known = most.entry(name.clone()).or_insert(*left);
                if left.records > known.records {
                    *known = *left;
                }
            }
        }
        most.iter().map(|(name, left)| sentence(name, left)).collect()
    }
}

fn sentence(name: &str, left: &Left) -> String {
    let records = if left.records == 1 { "1 record was" } else { &format!("{} records were", left.records) };
    let mut text = format!("{name}: {records} left out; ");
    let first = if left.records == 1 { "it" } else { "the first" };
    let _ = write!(text, "{first}, at byte {}, is {}", left.first.at, left.first.reason);
    text
}

impl Tally {
    /// Counts what is left out of a chunk that came to `decoded`.
    pub(crate) fn count(&self, name: &str, chunk: &Chunk, decoded: &Decoded) {
        let first = decoded.bad.first().map(|bad: &Bad| Place { at: bad.at, reason: bad.reason });
        let long = chunk.long_start().map(|start| Place { at: chunk.offset + start as u64, reason: TOO_LONG });
        let Some(first) = first.or(long) else { return };
        let records = decoded.bad.len() as u64 + u64::from(long.is_some());
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let left = files.entry(name.to_owned()).or_insert(Left { records: 0, first });
        left.records += records;
        if first.at < left.first.at {
            left.first = first;
        }
    }
}

//! Uploads: logs of random sizes, some lines of which are none, with their totals by `rorqual logs
//! --json`.

use crate::common::rorqual;
use rorqual_digest::{Algorithm, DigestForm, Hasher};
use rorqual_testkit::generate::{AccessLog, DistinctLog, GeneratedLines, Rng, SiteLog, write_lines};
use rorqual_testkit::paths::{gzip, zstd_frame};
use serde_json::{Value, json};
use std::path::Path;
use std::time::Duration;

const INPUTS: usize = 16;

/// Sizes are spread evenly over the powers of two between these.
const BYTES_LOG: (f64, f64) = (8.0, 23.0);
const BYTES_LOG_FAST: (f64, f64) = (8.0, 20.5);

/// Bytes of a log of values that do not repeat, so that its rows do not fit the memory: the others
/// go to the temporary disk.
const LARGE_BYTES: u64 = 96 << 20;
const LARGE_BYTES_FAST: u64 = 40 << 20;

/// Each line with this number is replaced by one that no format reads.
const REJECTED_EVERY: usize = 61;

/// An input of whole lines.
pub(crate) struct Input {
    pub(crate) plain: Vec<u8>,
    pub(crate) gzip: Vec<u8>,
    pub(crate) zstd: Vec<u8>,
    /// SHA-256 in hexadecimal.
    pub(crate) digest: String,
    pub(crate) totals: Value,
}

/// The small ones, and the large one after them.
pub(crate) fn make(random: &mut Rng, folder: &Path, fast: bool) -> Vec<Input> {
    let (least, most) = if fast { BYTES_LOG_FAST } else { BYTES_LOG };
    let mut inputs: Vec<Input> = (0..INPUTS)
        .map(|number| {
            let size = random.fraction().mul_add(most - least, least).exp2() as u64;
            let seed = random.next();
            if number % 2 == 0 {
                Input::make(AccessLog::new(size, seed), size, folder)
            } else {
                Input::make(SiteLog::new(size / 100, seed), size, folder)
            }
        })
        .collect();
    let size = if fast { LARGE_BYTES_FAST } else { LARGE_BYTES };
    inputs.push(Input::make(DistinctLog::new(size, random.next()), size, folder));
    inputs
}

impl Input {
    fn make(mut lines: impl GeneratedLines, size: u64, folder: &Path) -> Self {
        let mut written = Vec::new();
        write_lines(&mut lines, size, &mut written).expect("a Vec takes everything");
        let plain = spoilt(&written);
        let path = folder.join("input.log");
        std::fs::write(&path, &plain).expect("room on the disk");
        let path = path.to_str().expect("a path of ours");
        let ran = rorqual(&["logs", "--json", "--top", "100", "--memory", "1GiB", path]).time_max(Duration::from_secs(600)).run();
        let totals = totals(&ran.exits(0).json());
        let mut hasher = Hasher::new(Algorithm::Sha256);
        hasher.update(&plain);
        let digest = hasher.finish().encode(DigestForm::Hex);
        Self { gzip: gzip(&plain), zstd: zstd_frame(&plain), digest, totals, plain }
    }
}

fn spoilt(log: &[u8]) -> Vec<u8> {
    let mut spoilt = Vec::with_capacity(log.len());
    for (number, line) in log.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if number % REJECTED_EVERY == REJECTED_EVERY - 1 {
            spoilt.extend(format!("this is no line {number}\n").bytes());
        } else {
            spoilt.extend_from_slice(line);
        }
    }
    spoilt
}

/// The parts of a report that depend on nothing but its log.
pub(crate) fn totals(report: &Value) -> Value {
    // Where they had no room they are an estimate, which depends on the memory.
    let clients = &report["clients"];
    json!({
        "lines": report["lines"],
        "bytes_sent": report["bytes_sent"],
        "time": report["time"],
        "status": report["status"],
        "clients": if clients["exact"] == true { clients["count"].clone() } else { Value::Null },
        "rejects": report["rejects"]["count"],
    })
}

/// True if a report has the totals of its log. Clients are compared where both counted them all.
/// Compares a report with the expected one. Rows without room on a full temporary disk are known
/// by their number of lines alone.
pub(crate) fn agree(report: &Value, expected: &Value) -> bool {
    let mut found = totals(report);
    if let Some(dropped) = report["rows_dropped"].as_u64() {
        let counted: u64 = report["status"].as_array().into_iter().flatten().filter_map(|row| row["hits"].as_u64()).sum();
        let rows = ["parsed", "rejected"].iter().filter_map(|kind| expected["lines"][kind].as_u64()).sum::<u64>();
        // Of those dropped some were rejected, which have no status.
        let whole = counted + dropped <= rows && counted + dropped + expected["rejects"].as_u64().unwrap_or(0) >= rows;
        return report["complete"] == true && whole && ["lines", "rejects"].iter().all(|key| found[key] == expected[key]);
    }
    if expected["clients"].is_null() || found["clients"].is_null() {
        found["clients"] = expected["clients"].clone();
    }
    report["complete"] == true && found == *expected
}

//! One report of a session for all who look at it: made once a change, shared as bytes.

use crate::limits::{LIVE_INTERVAL, REPORT_BYTES_MAX, TOP_ROWS};
use bytes::Bytes;
use rorqual_table::report::Report;
use serde::Serialize;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::OwnedMutexGuard;

/// How much longer a report stays good when nothing came since.
const QUIET_FACTOR: u32 = 5;

/// The latest report of a session, as JSON.
#[derive(Default)]
pub(crate) struct Reports {
    making: Arc<tokio::sync::Mutex<()>>,
    latest: Mutex<Option<Latest>>,
}

struct Latest {
    json: Bytes,
    made: Instant,
    /// Time it took to make.
    cost: Duration,
    /// Bytes that had come when it was begun.
    bytes: u64,
    /// No other will follow.
    last: bool,
}

/// The right to make a report: only one is made at a time.
pub(crate) struct Turn {
    _held: OwnedMutexGuard<()>,
}

impl Reports {
    /// The latest report while it is good enough for a session that has taken in `bytes`.
    pub(crate) fn fresh(&self, bytes: u64) -> Option<Bytes> {
        let latest = self.lock();
        let latest = latest.as_ref()?;
        let interval = LIVE_INTERVAL * if latest.bytes == bytes { QUIET_FACTOR } else { 1 };
        let age = latest.made.elapsed();
        (latest.last || age < interval || age < latest.cost * 10).then(|| latest.json.clone())
    }

    /// The latest report, however old.
    pub(crate) fn latest(&self) -> Option<Bytes> {
        self.lock().as_ref().map(|latest| latest.json.clone())
    }

    /// Waits for the turn to make one.
    pub(crate) async fn turn(&self) -> Turn {
        Turn { _held: Arc::clone(&self.making).lock_owned().await }
    }

    /// The same, on a thread that may block.
    pub(crate) fn blocking_turn(&self) -> Turn {
        Turn { _held: Arc::clone(&self.making).blocking_lock_owned() }
    }

    /// Makes one and keeps it as the latest.
    pub(crate) fn make(&self, _turn: &Turn, bytes: u64, last: bool, report: impl FnOnce() -> Report) -> Option<Bytes> {
        let begun = Instant::now();
        let json = to_json(report())?;
        let latest = Latest { json: json.clone(), made: Instant::now(), cost: begun.elapsed(), bytes, last };
        metrics::histogram!("rorqual_report_seconds").record(latest.cost);
        *self.lock() = Some(latest);
        Some(json)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Latest>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The report with as many rows a table as fit into [`REPORT_BYTES_MAX`].
fn to_json(mut report: Report) -> Option<Bytes> {
    let cut = |report: &mut Report, rows| report.panels.iter_mut().for_each(|panel| panel.rows.truncate(rows));
    capped_json(&mut report, TOP_ROWS, REPORT_BYTES_MAX, cut).map(Bytes::from)
}

/// A value of so many rows as JSON, cut to fewer of them while it has more bytes than it may.
pub(crate) fn capped_json<T: Serialize>(
    value: &mut T,
    rows: usize,
    bytes_max: usize,
    mut cut: impl FnMut(&mut T, usize),
) -> Option<Vec<u8>> {
    let mut rows = rows;
    loop {
        let mut json = Capped { json: Vec::new(), bytes_max };
        if serde_json::to_writer(&mut json, value).is_ok() {
            return Some(json.json);
        }
        rows /= 2;
        if rows == 0 {
            return None;
        }
        cut(value, rows);
    }
}

/// Takes no more than it may.
struct Capped {
    json: Vec<u8>,
    bytes_max: usize,
}

impl Write for Capped {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.json.len() + bytes.len() > self.bytes_max {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.json.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

//! One report of a session for all who look at it: made once a change, shared as bytes, and kept
//! while there is room.

use crate::limits::{LIVE_INTERVAL, REPORT_BYTES_MAX, REPORTS_KEPT_BYTES, TOP_ROWS};
use bytes::Bytes;
use rorqual_accesslog::report::LogReport;
use serde::Serialize;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Factor by which a report stays good longer when nothing came since.
const QUIET_FACTOR: u32 = 5;

/// The latest reports of all sessions, as many as fit into [`REPORTS_KEPT_BYTES`].
#[derive(Default)]
pub(crate) struct ReportCache {
    /// By the number of their session, those that were asked for last in front.
    latest: Mutex<VecDeque<(u64, LatestReports)>>,
    numbers: AtomicU64,
    /// Sessions that somebody watches.
    watched: AtomicUsize,
}

#[derive(Clone)]
struct LatestReports {
    json: Bytes,
    made: Instant,
    /// Time it took to make.
    cost: Duration,
    /// Bytes that had come when it was begun.
    bytes: u64,
    /// No other will follow.
    last: bool,
}

impl ReportCache {
    fn get(&self, number: u64) -> Option<LatestReports> {
        let mut all = self.lock();
        let at = all.iter().position(|(other, _)| *other == number)?;
        let found = all.remove(at)?;
        all.push_front(found.clone());
        Some(found.1)
    }

    fn put(&self, number: u64, latest: LatestReports) {
        let mut all = self.lock();
        all.retain(|(other, _)| *other != number);
        all.push_front((number, latest));
        let mut bytes: usize = all.iter().map(|(_, latest)| latest.json.len()).sum();
        while bytes > REPORTS_KEPT_BYTES
            && let Some((_, dropped)) = all.pop_back()
        {
            bytes -= dropped.json.len();
        }
    }

    fn remove(&self, number: u64) {
        self.lock().retain(|(other, _)| *other != number);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(u64, LatestReports)>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The latest report of a session, as JSON.
pub(crate) struct Reports {
    kept: Arc<ReportCache>,
    number: u64,
    /// The last one, which stays when it can't be made again.
    last: OnceLock<Bytes>,
    watchers: AtomicUsize,
}

impl Reports {
    pub(crate) fn new(kept: &Arc<ReportCache>) -> Self {
        let number = kept.numbers.fetch_add(1, Ordering::Relaxed);
        Self { kept: Arc::clone(kept), number, last: OnceLock::new(), watchers: AtomicUsize::new(0) }
    }

    /// The latest report while it is good enough for a session that has taken in `bytes`; the last
    /// one of a session that has `ended`.
    pub(crate) fn fresh(&self, bytes: u64, ended: bool) -> Option<Bytes> {
        if let Some(last) = self.last.get() {
            return Some(last.clone());
        }
        let latest = self.kept.get(self.number)?;
        let interval = LIVE_INTERVAL * if latest.bytes == bytes { QUIET_FACTOR } else { 1 };
        // One is made at a time: all together take a tenth of it.
        let watched = self.kept.watched.load(Ordering::Relaxed).max(1) as u32;
        let age = latest.made.elapsed();
        let good = latest.last || (!ended && (age < interval || age < latest.cost * 10 * watched));
        good.then_some(latest.json)
    }

    /// The latest report, however old, and its age.
    pub(crate) fn latest(&self) -> Option<(Bytes, Duration)> {
        self.kept.get(self.number).map(|latest| (latest.json, latest.made.elapsed()))
    }

    /// Makes one of a session that has taken in `bytes`, and keeps it as the latest; for who has
    /// the turn of those who ask. It is the last where the session had ended before.
    pub(crate) fn make(&self, bytes: u64, last: bool, report: impl FnOnce() -> LogReport) -> Option<Bytes> {
        let begun = Instant::now();
        let json = to_json(report())?;
        let latest = LatestReports { json: json.clone(), made: Instant::now(), cost: begun.elapsed(), bytes, last };
        metrics::histogram!("rorqual_report_seconds").record(latest.cost);
        self.kept.put(self.number, latest);
        Some(json)
    }

    /// Keeps the last one for as long as the session is there.
    pub(crate) fn settle(&self, last: Bytes) {
        let _ = self.last.set(last);
        self.kept.remove(self.number);
    }

    /// Evicts the report, as a request for others does.
    #[cfg(test)]
    pub(crate) fn evict(&self) {
        self.kept.remove(self.number);
    }

    /// One more watches.
    pub(crate) fn watch(&self) {
        if self.watchers.fetch_add(1, Ordering::Relaxed) == 0 {
            self.kept.watched.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// One of those who watch leaves.
    pub(crate) fn unwatch(&self) {
        if self.watchers.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.kept.watched.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

impl Drop for Reports {
    fn drop(&mut self) {
        self.kept.remove(self.number);
    }
}

/// The report with as many rows a table as fit into [`REPORT_BYTES_MAX`].
fn to_json(mut report: LogReport) -> Option<Bytes> {
    let cut = |report: &mut LogReport, rows| report.panels.iter_mut().for_each(|panel| panel.rows.truncate(rows));
    capped_json(&mut report, TOP_ROWS, cut)
}

/// A value of so many rows as JSON, cut to fewer of them while it has more bytes than
/// [`REPORT_BYTES_MAX`].
pub(crate) fn capped_json<T: Serialize>(value: &mut T, rows: usize, mut cut: impl FnMut(&mut T, usize)) -> Option<Bytes> {
    let mut rows = rows;
    loop {
        let mut json = CappedWriter::default();
        if serde_json::to_writer(&mut json, value).is_ok() {
            return Some(json.into_bytes());
        }
        rows /= 2;
        if rows == 0 {
            return None;
        }
        cut(value, rows);
    }
}

/// Takes no more than [`REPORT_BYTES_MAX`].
#[derive(Default)]
pub(crate) struct CappedWriter {
    json: Vec<u8>,
}

impl CappedWriter {
    /// The few last bytes, which have room always.
    pub(crate) fn end(&mut self, bytes: &[u8]) {
        self.json.extend_from_slice(bytes);
    }

    /// The bytes, without the room to grow that they had.
    pub(crate) fn into_bytes(self) -> Bytes {
        self.json.into_boxed_slice().into()
    }
}

impl Write for CappedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.json.len() + bytes.len() > REPORT_BYTES_MAX {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.json.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{LatestReports, ReportCache};
    use crate::limits::{REPORT_BYTES_MAX, REPORTS_KEPT_BYTES};
    use bytes::Bytes;
    use std::time::{Duration, Instant};

    #[test]
    fn the_report_that_was_asked_for_longest_ago_goes_first() {
        let kept = ReportCache::default();
        let latest = || {
            let json = Bytes::from(vec![b' '; REPORT_BYTES_MAX]);
            LatestReports { json, made: Instant::now(), cost: Duration::ZERO, bytes: 0, last: false }
        };
        let fitting = (REPORTS_KEPT_BYTES / REPORT_BYTES_MAX) as u64;
        (0..fitting).for_each(|number| kept.put(number, latest()));
        assert!(kept.get(0).is_some(), "asked for just now");
        kept.put(fitting, latest());
        assert!(kept.get(1).is_none(), "it made room");
        assert!(kept.get(0).is_some() && kept.get(fitting).is_some());
        // Another of the same session takes the place of the one before.
        kept.put(0, latest());
        assert!((2..=fitting).all(|number| kept.get(number).is_some()));
    }
}

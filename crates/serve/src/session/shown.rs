//! A session as clients see it: its progress, and its report.

use super::cached::ReopenedView;
use super::outcome::{RunOutcome, SessionState};
use super::several_files::PartsView;
use super::{Session, SessionInner};
use crate::explore::reports::Reports;
use crate::explore::rows::QueryPermit;
use crate::limits::{REPORT_PATIENCE, TOP_ROWS};
use bytes::Bytes;
use rorqual_accesslog::aggregate::LineCounts;
use rorqual_accesslog::report::{InputReport, LogReport, NoteSample};
use rorqual_crossfilter::RowStore;
use rorqual_pipe::{Control, FollowStatus};
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, UNIX_EPOCH};
use tokio::time::timeout;

/// A session as clients see it.
#[derive(Debug, Serialize)]
pub(crate) struct SessionView {
    id: String,
    name: String,
    size: Option<u64>,
    pub(crate) state: SessionState,
    offset: u64,
    rate: f64,
    eta_seconds: Option<f64>,
    error: Option<Value>,
    follow: Option<FollowView>,
    fingerprint: Option<String>,
    created: f64,
    expires_seconds: u64,
    kept: Option<bool>,
    /// A file of the server whose rows were in the cache.
    reopened: Option<ReopenedView>,
    /// Files of a log that is several.
    files: Option<PartsView>,
    /// Number of the columns of a table; they are others where it changes. `None` of a log.
    columns: Option<usize>,
    /// Number of the columns of a log's own, of which there may be more while it comes.
    own_columns: usize,
}

/// Events of a followed file.
#[derive(Debug, Serialize)]
struct FollowView {
    truncations: u64,
    rotations: u64,
    missing: bool,
}

impl Session {
    pub(crate) fn view(&self, expires_after: Duration) -> SessionView {
        let offset = self.offset();
        let mut inner = self.lock();
        let (rate, state) = (inner.rate(offset), inner.phase.state());
        let left = self.size().map(|size| size.saturating_sub(offset));
        let view = SessionView {
            id: self.id.clone(),
            name: self.name().to_owned(),
            size: self.size(),
            state,
            offset,
            rate,
            eta_seconds: left.filter(|_| rate > 0.0 && state == SessionState::Receiving).map(|left| left as f64 / rate),
            error: inner.phase.error(),
            follow: FollowView::new(&inner.followed),
            fingerprint: self.announced.fingerprint.clone(),
            created: self.created.duration_since(UNIX_EPOCH).map_or(0.0, |age| age.as_secs_f64()),
            expires_seconds: expires_after.saturating_sub(self.idle_of(&inner)).as_secs(),
            kept: None,
            reopened: self.reopened(),
            files: Self::parts_view(&inner, self.parts().len()),
            columns: inner.table.as_ref().map(|_| inner.schema.own().len()),
            own_columns: 0,
        };
        let is_log = inner.table.is_none();
        drop(inner);
        // After the state, since a session that is shown as finished is on the disk; and without
        // the lock, since this asks the disk.
        let own_columns = if is_log { self.schema().own().len() } else { 0 };
        SessionView { kept: self.kept(), own_columns, ..view }
    }

    /// The report as JSON, at most a little old, the same for all who ask; `None` until the format
    /// is known. It is made on a blocking thread, as it goes over all tables, in the turn of a
    /// question.
    pub(crate) async fn report(self: &Arc<Self>) -> Option<Bytes> {
        self.format_name()?;
        let fresh = || self.reports.fresh(self.control.decoded_bytes(), self.state().ended());
        if let Some(report) = fresh() {
            return Some(report);
        }
        let (turn, (least, most)) = (self.rows.acquire(), REPORT_PATIENCE);
        let turn = match self.reports.latest().filter(|_| !self.state().ended()) {
            // While others ask, the one before is good enough.
            Some((latest, age)) => match timeout(age.clamp(least, most), turn).await {
                Ok(turn) => turn,
                Err(_elapsed) => return Some(latest),
            },
            None => turn.await,
        };
        // Another may have made it meanwhile.
        if let Some(report) = fresh() {
            return Some(report);
        }
        let session = Arc::clone(self);
        tokio::task::spawn_blocking(move || session.make_report(&turn)).await.ok().flatten()
    }

    fn make_report(&self, turn: &QueryPermit) -> Option<Bytes> {
        let bytes = self.control.decoded_bytes();
        let (ran, state) = {
            let inner = self.lock();
            (inner.phase.ran().cloned(), inner.phase.state())
        };
        let last = state.ended();
        let made = self.reports.make(bytes, last, || self.report_of(turn, ran, state == SessionState::Finished));
        if !last {
            self.analyzer.analysis().refresh();
            self.rows.look(turn, RowStore::refresh);
        }
        made
    }

    /// Its reports.
    pub(crate) fn reports(&self) -> &Reports {
        &self.reports
    }

    /// Gives the memory of its rows back when it has ended; their last report stays.
    pub(crate) async fn retire(self: &Arc<Self>) {
        self.rows.close();
        if let Some(last) = self.report().await {
            self.reports.settle(last);
        }
        self.rows.release().await;
        // Its rows gave their place, and so does the file that has them.
        self.forget_later().await;
    }

    /// The report so far, with that of the rows. Blocks.
    fn report_of(&self, turn: &QueryPermit, ran: Option<RunOutcome>, complete: bool) -> LogReport {
        let (sources, stats) = match ran {
            Some(RunOutcome { sources, stats }) => (sources, Some(stats)),
            None => (self.sources_so_far(), None),
        };
        let mut report = self.analyzer.report(sources, complete, 0);
        report.stats = stats.unwrap_or(report.stats);
        // Not stopped with the run: a cancelled one has a report too. Rows that can't be read back
        // are told to the client that asks for them.
        let control = Control::default();
        let filled = self.rows.look(turn, |store| store.fill(&mut report, self.zone_seconds(), TOP_ROWS, &control));
        if let Some(Ok((lines, _))) = filled.filter(|_| self.is_table()) {
            report.lines = lines;
        }
        report
    }

    /// Its lines so far, by outcome.
    pub(crate) fn lines(&self) -> LineCounts {
        let rows = self.rows.store().filter(|_| self.is_table()).map(|store| store.rows());
        rows.map_or_else(
            || self.analyzer.analysis().lines(),
            |rows| LineCounts { total: rows, parsed: rows, ..LineCounts::default() },
        )
    }

    /// Bytes a second that come in now.
    pub(crate) fn rate(&self) -> f64 {
        let offset = self.offset();
        self.lock().rate(offset)
    }

    /// Some rejected lines.
    pub(crate) fn rejects(&self) -> Vec<NoteSample> {
        self.analyzer.analysis().rejects()
    }

    /// The report's part about the lines of a view. Blocks.
    pub(crate) fn view_report(&self, complete: bool) -> LogReport {
        self.analyzer.report(self.sources_so_far(), complete, 0)
    }

    /// Name of the format, once it is known.
    pub(crate) fn format_name(&self) -> Option<String> {
        let inner = self.lock();
        inner.format.as_ref().map(|format| format.name().to_owned()).or_else(|| inner.table.clone())
    }

    /// Its input, with the `error` that ended it early.
    pub(super) fn source_so_far(&self, error: Option<String>) -> InputReport {
        InputReport {
            name: self.name().to_owned(),
            format: self.format_name(),
            guess: self.lock().guess.clone(),
            bytes: self.control.decoded_bytes() - self.looked[1].load(Ordering::Relaxed),
            lines: self.analyzer.analysis().lines().total,
            error,
        }
    }
}

impl FollowView {
    /// Events of all files; `None` where none is followed.
    fn new(followed: &[FollowStatus]) -> Option<Self> {
        (!followed.is_empty()).then(|| Self {
            truncations: followed.iter().map(FollowStatus::truncations).sum(),
            rotations: followed.iter().map(FollowStatus::rotations).sum(),
            missing: followed.iter().any(FollowStatus::missing),
        })
    }
}

impl SessionInner {
    /// Bytes a second over the last second or so.
    fn rate(&mut self, offset: u64) -> f64 {
        let now = Instant::now();
        self.rates.push_back((now, offset));
        while self.rates.len() > 2 && self.rates.get(1).is_some_and(|(at, _)| now - *at > Duration::from_secs(1)) {
            self.rates.pop_front();
        }
        // Many viewers must not make this long.
        if self.rates.len() > 64 {
            self.rates.remove(1);
        }
        let Some((start, before)) = self.rates.front() else { return 0.0 };
        let seconds = (now - *start).as_secs_f64();
        if seconds > 0.05 { offset.saturating_sub(*before) as f64 / seconds } else { 0.0 }
    }
}

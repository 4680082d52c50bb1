//! One analysis and its state.

mod end;
mod kept;
mod runs;
mod shown;
mod uploads;

pub(crate) use runs::SliceOutcome;
pub(crate) use shown::SessionView;
pub(crate) use uploads::too_long;

use crate::admission::scheduler::{Scheduler, WorkerGrant as ParseTurn};
use crate::admission::{Admission, PermitKind, PermitPool};
use crate::explore::answers::Hint;
use crate::explore::reports::{ReportCache, Reports};
use crate::explore::rows::SharedRowStore;
use crate::http::error::ApiError;
use crate::ingest::feed::{Feed, Inlet};
use crate::ingest::pace::Pace;
use crate::limits::{FINGERPRINT_BYTES_MAX, INTERRUPTED_GRACE, NAME_BYTES_MAX, WAITING_GRACE};
use crate::state::Checkpoints;
use axum::http::StatusCode;
use rorqual_accesslog::Options;
use rorqual_accesslog::analyze::{AnalysisShares, AnalyzeSettings, Analyzer, Formats, LogRun};
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::report::{Guess, InputReport, RunStats};
use rorqual_crossfilter::{Recordings, RowStore};
use rorqual_pipe::{Control, FollowStatus, format_size};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

/// State of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SessionState {
    /// Nothing has come yet, or the rest is still to come.
    Waiting,
    /// An upload is running, or a file is being read.
    Receiving,
    /// A file is being read, and goes on to be as it grows.
    Following,
    /// The upload broke off; it may go on from the offset.
    Interrupted,
    /// Everything was analysed.
    Finished,
    /// Stopped by the user; all that was analysed stays.
    Cancelled,
    /// It could not be analysed to its end; all that was analysed stays.
    Failed,
}

impl SessionState {
    pub(crate) fn ended(self) -> bool {
        matches!(self, Self::Finished | Self::Cancelled | Self::Failed)
    }
}

/// Announcement of a session's log.
pub(crate) struct NewUpload {
    pub(crate) name: String,
    pub(crate) size: Option<u64>,
    /// The server reads it; nobody uploads.
    pub(crate) is_file: bool,
    /// Metadata of a tus client, to be told again as it was.
    pub(crate) metadata: Option<String>,
    /// Fingerprint by which the sender knows the file again; told again as it was.
    pub(crate) fingerprint: Option<String>,
}

impl NewUpload {
    /// An upload under a name; of a size, where that is known.
    pub(crate) fn upload(name: String, size: Option<u64>) -> Result<Self, ApiError> {
        if name.len() > NAME_BYTES_MAX {
            return Err(ApiError::bad_request(format!("a name has at most {NAME_BYTES_MAX} bytes")));
        }
        Ok(Self { name, size, is_file: false, metadata: None, fingerprint: None })
    }

    /// Adds the fingerprint by which the sender will know the file again.
    pub(crate) fn with_fingerprint(self, fingerprint: Option<String>) -> Result<Self, ApiError> {
        if fingerprint.as_ref().is_some_and(|fingerprint| fingerprint.len() > FINGERPRINT_BYTES_MAX) {
            return Err(ApiError::bad_request(format!("a fingerprint has at most {FINGERPRINT_BYTES_MAX} bytes")));
        }
        Ok(Self { fingerprint, ..self })
    }

    /// A file that the server reads.
    pub(crate) fn file(name: String, size: Option<u64>) -> Self {
        Self { name, size, is_file: true, metadata: None, fingerprint: None }
    }
}

/// One analysis.
pub(crate) struct Session {
    id: String,
    name: String,
    /// Set once: at the start, or when it is announced later.
    size: OnceLock<u64>,
    metadata: Option<String>,
    fingerprint: Option<String>,
    created: SystemTime,
    control: Control,
    analyzer: Analyzer,
    /// Formats that it may have.
    formats: Formats,
    /// Bytes taken from uploads; those of a file are counted by the control.
    taken: AtomicU64,
    pace: Pace,
    is_file: bool,
    line_bytes_max: usize,
    threads: usize,
    /// Most memory of a filter about the rows.
    filter_bytes_max: u64,
    sessions_max: usize,
    rows: SharedRowStore,
    turns: Arc<Scheduler>,
    spare: PermitPool,
    inlet: Inlet,
    /// The run that reads it; a slice has it while it lasts.
    reading: Mutex<Option<LogRun>>,
    /// It has workers of its own.
    own: AtomicBool,
    /// Something of it is in no checkpoint.
    unkept: AtomicBool,
    inner: Mutex<SessionInner>,
    reports: Reports,
    /// Its checkpoints, where it outlives the server.
    checkpoints: Option<Checkpoints>,
    /// Rises with every change of state.
    changed: watch::Sender<u64>,
}

struct SessionInner {
    state: SessionState,
    error: Option<Value>,
    format: Option<LogFormat>,
    /// The guess of the format, where it was not given.
    guess: Option<Guess>,
    /// The writing end of the run; out while an upload uses it.
    feed: Option<Feed>,
    /// Something has come, or is read.
    begun: bool,
    /// Time at which the state was set.
    since: Instant,
    touched: Instant,
    rates: VecDeque<(Instant, u64)>,
    /// The reason for which it was stopped, where nobody asked for it.
    stopped_by: Option<Value>,
    /// The file that is followed.
    followed: Option<FollowStatus>,
    /// The outcome of the run, once it is over; where the session has finished, that is told a
    /// little later.
    ran: Option<RunOutcome>,
}

/// Outcome of a run, for the report: it is the same whenever it is made.
#[derive(Clone)]
struct RunOutcome {
    sources: Vec<InputReport>,
    stats: RunStats,
}

/// State shared by all sessions.
pub(crate) struct SessionContext {
    sessions_max: usize,
    /// The permit for questions and reports.
    turn: PermitPool,
    /// Their reports.
    kept: Arc<ReportCache>,
    /// For a part that no session's rows have room for.
    spare: PermitPool,
    /// The scheduler of their parsing.
    pub(crate) turns: Arc<Scheduler>,
}

impl SessionContext {
    pub(crate) fn new(shares: &AnalysisShares, admission: &Admission) -> Self {
        Self {
            sessions_max: admission.count(PermitKind::Session),
            turn: admission.pool(PermitKind::Query),
            spare: admission.pool(PermitKind::Checksum),
            kept: Arc::default(),
            turns: Scheduler::new(shares, admission),
        }
    }
}

impl Session {
    pub(crate) fn new(
        id: String,
        NewUpload { name, size, is_file, metadata, fingerprint }: NewUpload,
        settings: &AnalyzeSettings,
        shares: AnalysisShares,
        (store, checkpoints): (Arc<RowStore>, Option<Checkpoints>),
        rate_limit: Option<u64>,
        shared: &SessionContext,
    ) -> Self {
        let control = Control::with_rate_limit(rate_limit);
        let options = Options { recording: Some(Arc::new(Recordings::in_turns(&store))), untallied: true, only: None };
        let analyzer = Analyzer::new(settings, shares, options);
        let feed = Feed::new(settings.line_bytes_max, Some(settings.formats.clone()));
        let inner = SessionInner {
            state: SessionState::Waiting,
            error: None,
            format: None,
            guess: None,
            feed: Some(feed),
            begun: false,
            since: Instant::now(),
            touched: Instant::now(),
            rates: VecDeque::new(),
            stopped_by: None,
            followed: None,
            ran: None,
        };
        Self {
            id,
            name,
            size: size.map_or_else(OnceLock::new, OnceLock::from),
            metadata,
            fingerprint,
            created: SystemTime::now(),
            control,
            analyzer,
            formats: settings.formats.clone(),
            taken: AtomicU64::new(0),
            pace: Pace::default(),
            is_file,
            line_bytes_max: settings.line_bytes_max,
            threads: shares.threads,
            filter_bytes_max: store.filter_bytes_max(),
            sessions_max: shared.sessions_max,
            rows: SharedRowStore::new(store, shared.turn.clone()),
            turns: Arc::clone(&shared.turns),
            spare: shared.spare.clone(),
            inlet: Inlet::default(),
            reading: Mutex::default(),
            own: AtomicBool::new(false),
            unkept: AtomicBool::new(false),
            inner: Mutex::new(inner),
            reports: Reports::new(&shared.kept),
            checkpoints,
            changed: watch::Sender::new(0),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn created(&self) -> SystemTime {
        self.created
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The log's format, once it is known.
    pub(crate) fn format(&self) -> Option<LogFormat> {
        self.lock().format.clone()
    }

    pub(crate) fn state(&self) -> SessionState {
        self.lock().state
    }

    /// True if its run is over.
    fn is_over(&self) -> bool {
        let inner = self.lock();
        inner.state.ended() || inner.ran.is_some()
    }

    /// True if an upload into it is running.
    pub(crate) fn uploading(&self) -> bool {
        !self.is_file && self.state() == SessionState::Receiving
    }

    /// Tells of every change of state from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn turns(&self) -> &Arc<Scheduler> {
        &self.turns
    }

    /// For a part that its rows have no room for.
    pub(crate) fn spare(&self) -> &PermitPool {
        &self.spare
    }

    pub(crate) fn inlet(&self) -> &Inlet {
        &self.inlet
    }

    /// A permit to the end of its log; without waiting only where one is free.
    pub(crate) async fn own_turn(&self, waits: bool) -> Option<ParseTurn> {
        let turn = self.turns.acquire_dedicated(self.analyzer.pool(), waits).await?;
        self.own.store(true, Ordering::Relaxed);
        Some(turn)
    }

    /// True if it has workers of its own, which others may wait for.
    pub(crate) fn has_own_turn(&self) -> bool {
        self.own.load(Ordering::Relaxed) && !self.state().ended()
    }

    /// Speed of its upload.
    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    pub(crate) fn size(&self) -> Option<u64> {
        self.size.get().copied()
    }

    /// Metadata of a tus client.
    pub(crate) fn metadata(&self) -> Option<&str> {
        self.metadata.as_deref()
    }

    /// Bytes taken in, as stored.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.control.stored_bytes()
    }

    /// Somebody is interested.
    pub(crate) fn touch(&self) {
        self.lock().touched = Instant::now();
    }

    pub(crate) fn idle(&self) -> Duration {
        self.idle_of(&self.lock())
    }

    fn idle_of(&self, inner: &SessionInner) -> Duration {
        // A file that waits for its turn is not idle either, nor one that is followed: nobody could
        // open it again.
        let busy = inner.state == SessionState::Receiving || (self.is_file && !inner.state.ended());
        if busy { Duration::ZERO } else { inner.touched.elapsed() }
    }

    /// Since when this session holds its place for an upload that may never come; `None` while it
    /// has a right to it.
    pub(crate) fn holds_up_since(&self) -> Option<Instant> {
        let inner = self.lock();
        (!self.control.stopped() && self.holds_up(&inner)).then_some(inner.since)
    }

    fn holds_up(&self, inner: &SessionInner) -> bool {
        match inner.state {
            SessionState::Interrupted => inner.since.elapsed() >= INTERRUPTED_GRACE,
            SessionState::Waiting => !self.is_file && inner.since.elapsed() >= WAITING_GRACE,
            _ => false,
        }
    }

    /// Blocks of its run that somebody holds.
    #[cfg(test)]
    pub(crate) fn blocks_lent(&self) -> u64 {
        self.pool_lent_bytes() + self.turns.pool_bytes().0
    }

    /// Refuses a filter that would take more than its share of the memory.
    pub(crate) fn has_room_for(&self, filter: &Filter) -> Result<(), ApiError> {
        let (bytes, most) = (filter.bytes_of_values(self.threads), self.filter_bytes_max);
        if bytes <= most {
            return Ok(());
        }
        let message = format!(
            "this filter may take {} of memory, and one of this session {}: write a shorter one with fewer regular expressions, \
             or start the server with more --memory or fewer --sessions",
            format_size(bytes),
            format_size(most)
        );
        Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "filter_too_large", message))
    }

    /// Hint beside an answer about the rows.
    pub(crate) fn hint(&self) -> Hint {
        Hint { sessions_max: self.sessions_max }
    }

    /// Longest line that is parsed.
    pub(crate) fn line_bytes_max(&self) -> usize {
        self.line_bytes_max
    }

    /// Its rows.
    pub(crate) fn rows(&self) -> &SharedRowStore {
        &self.rows
    }

    /// Offset of the log's clock, 0 until a line with a time has come.
    pub(crate) fn zone_seconds(&self) -> i32 {
        self.analyzer.analysis().zone_seconds().unwrap_or(0)
    }

    /// Bytes of blocks of its own that are lent.
    pub(crate) fn pool_lent_bytes(&self) -> u64 {
        let pool = self.analyzer.pool();
        (pool.lent() * pool.buffer_bytes()) as u64
    }

    fn set_state(&self, inner: &mut SessionInner, state: SessionState) {
        inner.state = state;
        let code = inner.error.as_ref().and_then(|error| error["code"].as_str());
        match code {
            // Ours; the others are the log's, or its sender's.
            Some("internal" | "unreadable") => tracing::warn!(session = self.id, ?state, code, "session"),
            _ => tracing::info!(session = self.id, ?state, code, "session"),
        }
        (inner.since, inner.touched) = (Instant::now(), Instant::now());
        self.changed.send_modify(|version| *version += 1);
    }

    // A poisoned lock is taken all the same: one broken session must not take the list of all with
    // it.
    fn lock(&self) -> MutexGuard<'_, SessionInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// A poisoned lock is taken all the same: its session has failed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `None` where somebody has it, or failed with it.
fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    mutex.try_lock().ok()
}

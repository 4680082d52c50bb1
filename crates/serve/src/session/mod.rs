//! One analysis and its state.

mod cached;
mod cached_file;
mod checkpointing;
mod end;
mod locks;
mod log_stores;
mod memory;
mod new_upload;
mod outcome;
mod parts_read;
mod phase;
mod runs;
mod several_files;
pub(crate) mod shown;
mod table;
mod table_resources;
mod table_source;
mod upload_run;
mod uploads;

pub(crate) use cached_file::CachedFile;
pub(crate) use log_stores::{Journal, LogStores};
pub(crate) use memory::SessionMemory;
pub(crate) use new_upload::{NewUpload, too_long, uploaded_files_max};
pub(crate) use outcome::{SessionEnd, SessionState};
pub(crate) use table_resources::TableResources;
pub use table_source::{TableEnd, TableOpener, TablePoint, TableSource};

use crate::admission::scheduler::{Scheduler, WorkerGrant as ParseTurn};
use crate::admission::{Admission, PermitKind, PermitPool};
use crate::explore::answers::Hint;
use crate::explore::reports::{ReportCache, Reports};
use crate::explore::rows::SharedRowStore;
use crate::http::error::ApiError;
use crate::ingest::feed::{Feed, Inlet};
use crate::ingest::slow_uploads::Pace;
use crate::setting::SESSIONS;
use crate::state::Checkpoints;
use axum::http::StatusCode;
use outcome::Failure;
use parts_read::PartsRead;
use phase::{ParkedUpload, Phase};
use rorqual_accesslog::analyze::{AnalysisShares, AnalyzeSettings, Analyzer};
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::report::Guess;
use rorqual_accesslog::schema::Schema;
use rorqual_accesslog::{Options, OwnColumns, Recording};
use rorqual_crossfilter::{Recordings, RowStore};
use rorqual_pipe::setting::MEMORY;
use rorqual_pipe::{Control, FollowStatus, format_size};
use std::collections::VecDeque;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;
use upload_run::UploadRun;

/// One analysis. `docs/design/session.md` has its phases and the order of its locks.
pub(crate) struct Session {
    id: String,
    created: SystemTime,
    announced: NewUpload,
    settings: AnalyzeSettings,
    shared: Arc<SessionContext>,
    /// Most memory of a filter about the rows.
    filter_bytes_max: u64,
    control: Control,
    analyzer: Analyzer,
    /// Bytes taken from uploads; those of a file are counted by the control.
    taken: AtomicU64,
    /// Bytes read of a table, stored and decoded, before it is looked at anew: for all of its
    /// columns, or for its rows.
    looked: [AtomicU64; 2],
    pace: Pace,
    inlet: Inlet,
    /// The run that reads it. Held by a slice while it lasts, and by a checkpoint while it is
    /// written: only threads that may block wait for it.
    reading: Mutex<Option<UploadRun>>,
    inner: Mutex<SessionInner>,
    rows: SharedRowStore,
    /// Other stores for the rows of a log with columns of its own.
    stores: LogStores,
    recordings: Recordings,
    reports: Reports,
    /// Its checkpoints, where it outlives the server.
    checkpoints: Option<Checkpoints>,
    /// The cache's entry of a file of the server.
    cached: Option<CachedFile>,
    /// Rises with every change of state.
    changed: watch::Sender<u64>,
}

/// All of a session that changes with its phase, or beside it. Held for a moment only.
struct SessionInner {
    phase: Phase,
    /// The format, once it is found, and its guess where it was not given.
    format: Option<LogFormat>,
    guess: Option<Guess>,
    /// Files of a log that is several.
    parts: PartsRead,
    /// Name of the format of the one that is read.
    part_format: Option<String>,
    /// Name of the format of a table; `None` where it is a log.
    table: Option<String>,
    /// Columns of the rows.
    schema: Arc<Schema>,
    /// Files that are followed.
    followed: Vec<FollowStatus>,
    /// It has workers of its own to its end.
    dedicated: bool,
    touched: Instant,
    rates: VecDeque<(Instant, u64)>,
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
    tables: TableResources,
}

impl SessionContext {
    pub(crate) fn tables(&self) -> &TableResources {
        &self.tables
    }

    /// True if the memory of the distributions of numbers is that of all questions.
    pub(crate) fn counts_numbers(&self) -> bool {
        self.tables.has_memory()
    }

    pub(crate) fn new(tables: TableResources, admission: &Admission) -> Arc<Self> {
        Arc::new(Self {
            sessions_max: admission.count(PermitKind::Session),
            turn: admission.pool(PermitKind::Query),
            spare: admission.pool(PermitKind::Checksum),
            kept: Arc::default(),
            turns: Scheduler::new(&tables.memory().shares, admission),
            tables,
        })
    }
}

impl Session {
    pub(crate) fn new(
        id: String,
        announced: NewUpload,
        (settings, stores): (AnalyzeSettings, LogStores),
        shares: AnalysisShares,
        (store, checkpoints): (Arc<RowStore>, Option<Checkpoints>),
        rate_limit: Option<u64>,
        shared: &Arc<SessionContext>,
    ) -> Self {
        let recordings = Recordings::in_turns(&store);
        let recordings = if announced.parts.is_empty() { recordings } else { recordings.of_files() };
        let recording: Arc<dyn Recording> = Arc::new(recordings.clone());
        let of_files = !announced.parts.is_empty();
        let options = Options { recording: Some(recording), of_files, untallied: true, only: None, estimates_seed: None };
        let analyzer = Analyzer::new(&settings, shares, options);
        let phase = match announced.is_file {
            true => Phase::Queued,
            false => {
                // Each of several files tells its own format.
                let formats = announced.parts.is_empty().then(|| settings.formats.clone());
                let feed = Feed::new(settings.line_bytes_max, formats);
                Phase::Waiting { parked: ParkedUpload::new(feed), begun: false }
            }
        };
        let inner = SessionInner {
            phase,
            format: None,
            guess: None,
            parts: PartsRead::default(),
            part_format: None,
            table: None,
            schema: store.schema(),
            followed: Vec::new(),
            dedicated: false,
            touched: Instant::now(),
            rates: VecDeque::new(),
        };
        Self {
            id,
            created: SystemTime::now(),
            announced,
            settings,
            shared: Arc::clone(shared),
            filter_bytes_max: store.filter_bytes_max(),
            control: Control::with_rate_limit(rate_limit),
            analyzer,
            taken: AtomicU64::new(0),
            looked: Default::default(),
            pace: Pace::default(),
            inlet: Inlet::default(),
            reading: Mutex::default(),
            inner: Mutex::new(inner),
            rows: SharedRowStore::new(store, shared.turn.clone()),
            stores,
            recordings,
            reports: Reports::new(&shared.kept),
            checkpoints,
            cached: None,
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
        &self.announced.name
    }

    /// The log's format, once it is known.
    pub(crate) fn format(&self) -> Option<LogFormat> {
        self.lock().format.clone()
    }

    pub(crate) fn state(&self) -> SessionState {
        self.lock().phase.state()
    }

    /// True if its run is over.
    fn is_over(&self) -> bool {
        self.lock().phase.is_over()
    }

    /// True if an upload into it is running.
    pub(crate) fn uploading(&self) -> bool {
        matches!(self.lock().phase, Phase::Receiving)
    }

    /// Tells of every change of state from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    pub(crate) fn turns(&self) -> &Arc<Scheduler> {
        &self.shared.turns
    }

    /// For a part that its rows have no room for.
    pub(crate) fn spare(&self) -> &PermitPool {
        &self.shared.spare
    }

    pub(crate) fn inlet(&self) -> &Inlet {
        &self.inlet
    }

    /// A permit to the end of its log; without waiting only where one is free.
    pub(crate) async fn own_turn(&self, waits: bool) -> Option<ParseTurn> {
        let turn = self.turns().acquire_dedicated(self.analyzer.pool(), waits).await?;
        self.lock().dedicated = true;
        Some(turn)
    }

    /// True if it has workers of its own, which others may wait for.
    pub(crate) fn has_own_turn(&self) -> bool {
        let inner = self.lock();
        inner.dedicated && !inner.phase.state().ended()
    }

    /// Speed of its upload.
    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    pub(crate) fn size(&self) -> Option<u64> {
        self.announced.size.get().copied()
    }

    /// Metadata of a tus client.
    pub(crate) fn metadata(&self) -> Option<&str> {
        self.announced.metadata.as_deref()
    }

    /// Bytes taken in, as stored. Those of an uploaded table are read again from its temporary
    /// file, which the control counts too.
    pub(crate) fn stored_bytes(&self) -> u64 {
        if self.is_table() && !self.announced.is_file { self.offset() } else { self.control.stored_bytes() }
    }

    /// Bytes that this server has read of it, as stored.
    pub(crate) fn received_bytes(&self) -> u64 {
        self.stored_bytes().saturating_sub(self.kept_bytes())
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
        let state = inner.phase.state();
        let busy = state == SessionState::Receiving || (self.announced.is_file && !state.ended());
        if busy { Duration::ZERO } else { inner.touched.elapsed() }
    }

    /// Time since which it holds its place for an upload that may never come; `None` while it has a
    /// right to the place.
    pub(crate) fn holds_up_since(&self) -> Option<Instant> {
        self.lock().phase.holds_up_since()
    }

    /// Blocks of its run that somebody holds.
    #[cfg(test)]
    pub(crate) fn blocks_lent(&self) -> u64 {
        self.pool_lent_bytes() + self.turns().pool_bytes().0
    }

    /// Columns of the rows.
    pub(crate) fn schema(&self) -> Arc<Schema> {
        // Columns of a log's own turn up while it is read.
        let of_rows = self.rows.store().map(|store| store.schema());
        of_rows.unwrap_or_else(|| Arc::clone(&self.lock().schema))
    }

    /// The columns of a log's own; `None` where it has none, or its rows are gone.
    pub(crate) fn own(&self) -> Option<Arc<OwnColumns>> {
        self.rows.store()?.own().cloned()
    }

    /// True if its rows are those of a table, and no log's.
    pub(crate) fn is_table(&self) -> bool {
        self.lock().table.is_some()
    }

    /// Refuses a filter that would take more than its share of the memory.
    pub(crate) fn has_room_for(&self, filter: &Filter) -> Result<(), ApiError> {
        let (bytes, most) = (filter.bytes_of_values(self.analyzer.threads()), self.filter_bytes_max);
        if bytes <= most {
            return Ok(());
        }
        let message = format!(
            "this filter may take {} of memory, and one of this session {}: write a shorter one with fewer regular expressions, \
             or start the server with more {MEMORY} or fewer {SESSIONS}",
            format_size(bytes),
            format_size(most)
        );
        Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "filter_too_large", message))
    }

    /// Hint beside an answer about the rows.
    pub(crate) fn hint(&self) -> Hint {
        Hint { sessions_max: self.shared.sessions_max }
    }

    /// Longest line that is parsed.
    pub(crate) fn line_bytes_max(&self) -> usize {
        self.settings.line_bytes_max
    }

    /// Its rows.
    pub(crate) fn rows(&self) -> &SharedRowStore {
        &self.rows
    }

    /// Offset of the log's clock, 0 until a line with a time has come.
    pub(crate) fn zone_seconds(&self) -> i32 {
        self.analyzer.analysis().zone_seconds().unwrap_or(0)
    }

    /// True if clients have countries.
    pub(crate) fn has_countries(&self) -> bool {
        self.analyzer.analysis().has_countries()
    }

    /// Bytes of blocks of its own that are lent.
    pub(crate) fn pool_lent_bytes(&self) -> u64 {
        let pool = self.analyzer.pool();
        (pool.lent() * pool.buffer_bytes()) as u64
    }

    /// Takes the phase through a transition that returns nothing.
    fn step(&self, transition: impl FnOnce(Phase) -> Phase) {
        self.change(&mut self.lock(), |phase| (transition(phase), ()));
    }

    /// Takes the phase through a transition, and tells where clients see another state after it.
    fn change<T>(&self, inner: &mut SessionInner, transition: impl FnOnce(Phase) -> (Phase, T)) -> T {
        let before = inner.phase.state();
        // Nobody sees this phase: the lock is held until the next one is there.
        let (phase, made) = transition(std::mem::replace(&mut inner.phase, Phase::Receiving));
        inner.phase = phase;
        if inner.phase.state() != before {
            inner.touched = Instant::now();
            self.log_state(&inner.phase);
            self.notify();
        }
        made
    }

    fn log_state(&self, phase: &Phase) {
        let (state, error) = (phase.state(), phase.error());
        let code = error.as_ref().and_then(|error| error["code"].as_str());
        match phase {
            // Ours; the others are the log's, or its sender's.
            Phase::Ended { end: SessionEnd::Failed(Failure::Internal { .. } | Failure::Unreadable { .. }), .. } => {
                tracing::warn!(session = self.id, ?state, code, "session");
            }
            _ => tracing::info!(session = self.id, ?state, code, "session"),
        }
    }

    fn notify(&self) {
        self.changed.send_modify(|version| *version += 1);
    }

    // A poisoned lock is taken all the same: one broken session must not take the list of all with
    // it.
    fn lock(&self) -> MutexGuard<'_, SessionInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

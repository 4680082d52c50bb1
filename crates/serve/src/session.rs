//! One analysis: its state, its run, and what of it is shown.

use crate::answers::Hint;
use crate::error::ApiError;
use crate::feed::{Feed, Inlet, is_enough};
use crate::limits::{
    FINGERPRINT_BYTES_MAX, INTERRUPTED_GRACE, NAME_BYTES_MAX, REPORT_PATIENCE, TOP_ROWS, UNPACKED_BYTES_FREE, UNPACKED_RATIO_MAX,
    WAITING_GRACE,
};
use crate::pace::Pace;
use crate::reports::{Kept, Reports};
use crate::rows::{Rows, SharedTurn, Turn};
use crate::state::{Checkpoints, Ended, Found, Saved, SavedFormat};
use crate::transport::{End, Tally};
use crate::turns::{Turn as ParseTurn, Turns};
use axum::http::StatusCode;
use bytes::Bytes;
use rorqual_pipe::{Control, Followed, Input, format_size};
use rorqual_table::Options;
use rorqual_table::aggregate::LineCounts;
use rorqual_table::analyze::{AnalyzeError, Analyzer, Formats, Left, Reading, Settings, Shares, Turned};
use rorqual_table::filter::Filter;
use rorqual_table::format::Format;
use rorqual_table::report::{Report, RunStats, Sample, Source};
use rorqual_view::{Recordings, Store};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;
use tokio::time::timeout;

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
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
    /// Stopped by the user; what was analysed stays.
    Cancelled,
    /// It could not be analysed to its end; what was analysed stays.
    Failed,
}

impl State {
    pub(crate) fn ended(self) -> bool {
        matches!(self, Self::Finished | Self::Cancelled | Self::Failed)
    }
}

/// What a session is to be of.
pub(crate) struct Announced {
    pub(crate) name: String,
    pub(crate) size: Option<u64>,
    /// The server reads it; nobody uploads.
    pub(crate) is_file: bool,
    /// What a tus client said of it, to be told again as it was.
    pub(crate) metadata: Option<String>,
    /// By what its sender knows the file again; told again as it was.
    pub(crate) fingerprint: Option<String>,
}

impl Announced {
    /// What is uploaded under a name; of a size, where that is known.
    pub(crate) fn upload(name: String, size: Option<u64>) -> Result<Self, ApiError> {
        if name.len() > NAME_BYTES_MAX {
            return Err(ApiError::bad_request(format!("a name has at most {NAME_BYTES_MAX} bytes")));
        }
        Ok(Self { name, size, is_file: false, metadata: None, fingerprint: None })
    }

    /// By what its sender will know the file again.
    pub(crate) fn with_fingerprint(self, fingerprint: Option<String>) -> Result<Self, ApiError> {
        if fingerprint.as_ref().is_some_and(|fingerprint| fingerprint.len() > FINGERPRINT_BYTES_MAX) {
            return Err(ApiError::bad_request(format!("a fingerprint has at most {FINGERPRINT_BYTES_MAX} bytes")));
        }
        Ok(Self { fingerprint, ..self })
    }

    /// What the server reads.
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
    /// What its format may be.
    formats: Formats,
    /// Bytes taken from uploads; those of a file are counted by the control.
    taken: AtomicU64,
    pace: Pace,
    is_file: bool,
    line_bytes_max: usize,
    threads: usize,
    /// What a filter about the rows may take.
    filter_bytes_max: u64,
    sessions_max: usize,
    rows: Rows,
    turns: Arc<Turns>,
    inlet: Inlet,
    /// What it is read by; a lap has it while it lasts.
    reading: Mutex<Option<Reading>>,
    /// It has workers of its own.
    own: AtomicBool,
    inner: Mutex<Inner>,
    reports: Reports,
    /// Where it outlives the server.
    checkpoints: Option<Checkpoints>,
    /// Rises with every change of state.
    changed: watch::Sender<u64>,
}

struct Inner {
    state: State,
    error: Option<Value>,
    format: Option<Format>,
    /// The writing end of the run; out while an upload uses it.
    feed: Option<Feed>,
    /// Something has come, or is read.
    begun: bool,
    /// When the state was set.
    since: Instant,
    touched: Instant,
    rates: VecDeque<(Instant, u64)>,
    /// Why it was stopped, where nobody asked for it.
    stopped_by: Option<Value>,
    /// The file that is followed.
    followed: Option<Followed>,
    /// What the run came to, once it has ended.
    ran: Option<Outcome>,
}

/// What a run came to, for the report: it is the same whenever it is made.
#[derive(Clone)]
struct Outcome {
    sources: Vec<Source>,
    stats: RunStats,
}

/// What all sessions share.
pub(crate) struct Shared {
    sessions_max: usize,
    /// The turn of those who ask, or make a report.
    turn: SharedTurn,
    /// Their reports.
    kept: Arc<Kept>,
    /// What they parse with.
    pub(crate) turns: Arc<Turns>,
}

impl Shared {
    /// For so many sessions at a time.
    pub(crate) fn new(shares: &Shares, sessions_max: usize) -> Self {
        Self { sessions_max, turn: SharedTurn::default(), kept: Arc::default(), turns: Turns::new(shares, sessions_max) }
    }
}

/// How a lap ended.
#[derive(Debug)]
pub(crate) enum Lapped {
    /// There is more to come.
    Paused {
        /// Of an unfinished line.
        held_bytes: usize,
    },
    /// The session has ended.
    Ended,
}

/// A session as clients see it.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    id: String,
    name: String,
    size: Option<u64>,
    pub(crate) state: State,
    offset: u64,
    rate: f64,
    eta_seconds: Option<f64>,
    error: Option<Value>,
    follow: Option<FollowView>,
    fingerprint: Option<String>,
    created: f64,
    expires_seconds: u64,
}

/// What happened to a file that is followed.
#[derive(Debug, Serialize)]
struct FollowView {
    truncations: u64,
    rotations: u64,
    missing: bool,
}

impl Session {
    pub(crate) fn new(
        id: String,
        Announced { name, size, is_file, metadata, fingerprint }: Announced,
        settings: &Settings,
        shares: Shares,
        (store, checkpoints): (Arc<Store>, Option<Checkpoints>),
        rate_limit: Option<u64>,
        shared: &Shared,
    ) -> Self {
        let control = Control::with_rate_limit(rate_limit);
        let options = Options { recording: Some(Arc::new(Recordings::in_turns(&store))), untallied: true, only: None };
        let analyzer = Analyzer::new(settings, shares).with(options);
        let feed = Feed::new(settings.line_bytes_max, Some(settings.formats.clone()));
        let inner = Inner {
            state: State::Waiting,
            error: None,
            format: None,
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
            rows: Rows::new(store, Arc::clone(&shared.turn)),
            turns: Arc::clone(&shared.turns),
            inlet: Inlet::default(),
            reading: Mutex::default(),
            own: AtomicBool::new(false),
            inner: Mutex::new(inner),
            reports: Reports::new(&shared.kept),
            checkpoints,
            changed: watch::Sender::new(0),
        }
    }

    /// The same as it was kept, which goes on where it was.
    pub(crate) fn restored(self, Found { saved, .. }: Found) -> Self {
        let place = saved.place();
        self.took(place.offset);
        let _ = self.control.take_stored(place.offset);
        self.control.decoded(saved.decoded_bytes);
        let format = saved.format.as_ref().and_then(SavedFormat::format);
        if format.is_some() && saved.ended.is_none() {
            let input = Input::from_source(saved.name, Box::new(self.inlet.source(&self.control)));
            let left = Left { place, lines: saved.lines, format: format.clone() };
            *lock(&self.reading) = Some(self.analyzer.open(input, self.turns.pool(), &self.control, Some(left)));
        }
        self.analyzer.analysis().go_on(saved.counts);
        let mut inner = self.lock();
        inner.begun = true;
        (inner.state, inner.error) = match saved.ended {
            Some(Ended { state, error }) => (state, error),
            None if place.offset == 0 => (State::Waiting, None),
            None => (State::Interrupted, None),
        };
        inner.feed = (!inner.state.ended()).then(|| {
            let formats = format.is_none().then(|| self.formats.clone());
            Feed::new(self.line_bytes_max, formats)
        });
        inner.format = format;
        drop(inner);
        Self { created: saved.created, ..self }
    }

    /// Keeps what is known of it, where the server has a place for that, and how it ended; with `sync` also for the end of the whole machine.
    /// Blocks. Nothing of it may run.
    fn keep(&self, reading: Option<&Reading>, ended: Option<Ended>, sync: bool) {
        let (Some(checkpoints), Some(store)) = (&self.checkpoints, self.rows.store()) else { return };
        // What is decoded can't be left in the middle: it comes again from its start.
        if self.own.load(Ordering::Relaxed) && ended.is_none() {
            return;
        }
        checkpoints.begin();
        let begun = Instant::now();
        let saved = self.saved(reading, ended);
        match store.checkpoint(sync).and_then(|head| checkpoints.write(&saved, &head, sync)) {
            Ok(()) => metrics::histogram!("rorqual_checkpoint_seconds").record(begun.elapsed()),
            // The one before stays, from which the upload goes on after a restart.
            Err(error) => tracing::warn!(session = self.id, %error, "no checkpoint (--state)"),
        }
    }

    fn saved(&self, reading: Option<&Reading>, ended: Option<Ended>) -> Saved {
        let mut saved = Saved::new(&self.name, self.created, self.analyzer.analysis().counts());
        saved.size = self.size();
        saved.metadata.clone_from(&self.metadata);
        saved.fingerprint.clone_from(&self.fingerprint);
        saved.given = self.formats.given.as_ref().map(SavedFormat::new);
        saved.format = self.format().as_ref().map(SavedFormat::new);
        if ended.is_some() {
            (saved.offset, saved.decoded_bytes) = (self.offset(), self.control.decoded_bytes());
        } else if let Some(Left { place, lines, .. }) = reading.map(Reading::left) {
            (saved.offset, saved.skipping, saved.lines) = (place.offset, place.skipping, lines);
            saved.decoded_bytes = place.offset;
        }
        saved.ended = ended;
        saved
    }

    /// Keeps a session of which nothing has come.
    pub(crate) fn keep_new(&self) {
        self.keep(None, None, false);
    }

    /// Keeps what is known when nothing runs, one session after another, as each takes memory for that.
    pub(crate) async fn keep_later(self: Arc<Self>) {
        // A run of its own has what is read by to its end, and nothing is kept of it before.
        if self.own.load(Ordering::Relaxed) || !self.is_kept() {
            return;
        }
        let _turn = self.turns.keeping().await;
        let keep = move || {
            let reading = lock(&self.reading);
            if !self.state().ended() {
                self.keep(reading.as_ref(), None, true);
            }
        };
        // A panic was reported where it was.
        let _ = tokio::task::spawn_blocking(keep).await;
    }

    /// Whether it outlives the server.
    pub(crate) fn is_kept(&self) -> bool {
        self.checkpoints.is_some()
    }

    /// It is to be forgotten.
    pub(crate) fn forget(&self) {
        self.checkpoints.iter().for_each(Checkpoints::remove);
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
    pub(crate) fn format(&self) -> Option<Format> {
        self.lock().format.clone()
    }

    pub(crate) fn state(&self) -> State {
        self.lock().state
    }

    /// Whether an upload into it is running.
    pub(crate) fn uploading(&self) -> bool {
        !self.is_file && self.state() == State::Receiving
    }

    /// Tells of every change of state from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Bytes taken so far; where an upload goes on.
    pub(crate) fn offset(&self) -> u64 {
        if self.is_file { self.control.stored_bytes() } else { self.taken.load(Ordering::Relaxed) }
    }

    /// Bytes that may still come.
    pub(crate) fn room(&self) -> u64 {
        self.size().map_or(u64::MAX, |size| size.saturating_sub(self.offset()))
    }

    /// So many bytes were taken.
    pub(crate) fn took(&self, bytes: u64) {
        self.taken.fetch_add(bytes, Ordering::Relaxed);
    }

    /// So many bytes were counted as taken, and no run was given them: they come again.
    pub(crate) fn untake(&self, bytes: u64) {
        self.taken.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// So many bytes go to the run; how long to wait for the next, where there is a rate limit.
    pub(crate) fn stored(&self, bytes: u64) -> Duration {
        self.control.take_stored(bytes)
    }

    /// Forgets the unfinished line at the end of what was taken: it comes again.
    pub(crate) fn rewind(&self) {
        if let Some(reading) = lock(&self.reading).as_mut() {
            let bytes = reading.rewind();
            self.control.untake(bytes);
            self.untake(bytes);
        }
    }

    pub(crate) fn turns(&self) -> &Arc<Turns> {
        &self.turns
    }

    pub(crate) fn inlet(&self) -> &Inlet {
        &self.inlet
    }

    /// A turn to the end of its log.
    pub(crate) async fn own_turn(&self) -> Option<ParseTurn> {
        let turn = self.turns.own(self.analyzer.pool()).await;
        self.own.store(true, Ordering::Relaxed);
        turn
    }

    /// Whether it has workers of its own, which others may wait for.
    pub(crate) fn has_own_turn(&self) -> bool {
        self.own.load(Ordering::Relaxed) && !self.state().ended()
    }

    /// How fast its upload is.
    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    pub(crate) fn size(&self) -> Option<u64> {
        self.size.get().copied()
    }

    /// Says how long the log is, once; for who has the claim on it, and brings bytes up to `end`.
    pub(crate) fn announce(&self, size: u64, end: u64) -> Result<(), ApiError> {
        if end > size {
            return Err(too_long(size, &format!("a part that ends at byte {end} was refused, and nothing of it taken")));
        }
        let announced = *self.size.get_or_init(|| size);
        if announced == size {
            return Ok(());
        }
        Err(ApiError::bad_request(format!("the session was announced with a size of {announced} bytes, which does not change")))
    }

    /// What a tus client said of it.
    pub(crate) fn metadata(&self) -> Option<&str> {
        self.metadata.as_deref()
    }

    /// Bytes taken in, as stored.
    pub(crate) fn stored_bytes(&self) -> u64 {
        self.control.stored_bytes()
    }

    /// Whether the announced size has come; where there is none, what its transport's end means says so.
    pub(crate) fn whole(&self, end: End) -> bool {
        self.size().map_or(end == End::Log, |size| self.offset() >= size)
    }

    /// Somebody is interested.
    pub(crate) fn touch(&self) {
        self.lock().touched = Instant::now();
    }

    pub(crate) fn idle(&self) -> Duration {
        self.idle_of(&self.lock())
    }

    fn idle_of(&self, inner: &Inner) -> Duration {
        // A file that waits for its turn is not idle either, nor one that is followed: nobody could open it again.
        let busy = inner.state == State::Receiving || (self.is_file && !inner.state.ended());
        if busy { Duration::ZERO } else { inner.touched.elapsed() }
    }

    /// Since when this session holds its place for an upload that may never come; `None` while it has a right to it.
    pub(crate) fn holds_up_since(&self) -> Option<Instant> {
        let inner = self.lock();
        (!self.control.stopped() && self.holds_up(&inner)).then_some(inner.since)
    }

    fn holds_up(&self, inner: &Inner) -> bool {
        match inner.state {
            State::Interrupted => inner.since.elapsed() >= INTERRUPTED_GRACE,
            State::Waiting => !self.is_file && inner.since.elapsed() >= WAITING_GRACE,
            _ => false,
        }
    }

    /// Takes the feed for an upload that goes on at `offset` with a body of `length`, where that is known.
    pub(crate) fn begin_upload(self: &Arc<Self>, offset: u64, length: Option<u64>) -> Result<Feed, ApiError> {
        let mut inner = self.lock();
        if inner.state.ended() {
            let message = "this session has ended; make a new one for another upload";
            return Err(ApiError::new(StatusCode::CONFLICT, "finished", message));
        }
        if self.is_file {
            let message = "this session reads a file of the server; make a new one for an upload";
            return Err(ApiError::new(StatusCode::CONFLICT, "busy", message));
        }
        let expected = self.offset();
        if offset != expected && inner.feed.is_some() {
            let message = format!("the upload goes on at byte {expected}, not at {offset}");
            return Err(ApiError::new(StatusCode::CONFLICT, "offset_mismatch", message).with("offset", expected));
        }
        let end = length.map_or(offset, |length| offset.saturating_add(length));
        if let Some(size) = self.size().filter(|size| end > *size) {
            return Err(too_long(size, &format!("a body that ends at byte {end} was refused, and nothing of it taken")));
        }
        let busy = || ApiError::new(StatusCode::CONFLICT, "busy", "another upload into this session is running");
        let feed = inner.feed.take().ok_or_else(busy)?;
        inner.begun = true;
        inner.error = None;
        self.pace.begin(expected);
        self.set_state(&mut inner, State::Receiving);
        Ok(feed)
    }

    /// Gives its place for the start of a line to others, where its sender has been away for a while.
    pub(crate) fn leave_held(&self) {
        let away = |inner: &Inner| {
            matches!(inner.state, State::Interrupted | State::Waiting) && inner.since.elapsed() >= INTERRUPTED_GRACE
        };
        let feed = {
            let mut inner = self.lock();
            if away(&inner) { inner.feed.take() } else { None }
        };
        let Some(mut feed) = feed else { return };
        feed.leave(self);
        let mut inner = self.lock();
        if !inner.state.ended() && !self.control.stopped() {
            inner.feed = Some(feed);
        }
    }

    /// Gives the feed back when more is to come.
    pub(crate) fn pause_upload(self: &Arc<Self>, feed: Feed, state: State, error: Option<&ApiError>) {
        let mut inner = self.lock();
        // A cancelled run waits for the end of its source, which comes with the end of the feed.
        if inner.state.ended() || self.control.stopped() {
            return;
        }
        inner.feed = Some(feed);
        inner.error = error.map(ApiError::object);
        self.set_state(&mut inner, state);
        drop(inner);
        if self.is_kept() {
            tokio::spawn(Arc::clone(self).keep_later());
        }
    }

    /// Analyses an open file to its end. Blocks.
    pub(crate) fn run_file(&self, name: String, file: File) {
        match Input::from_file(name, file) {
            Ok(input) => self.run_input(input),
            Err(error) => self.fail("unreadable", &error.to_string()),
        }
    }

    /// Analyses a stream or a file that grows. Blocks for as long as it goes on.
    pub(crate) fn run_following(&self, input: Input) {
        let formats = self.formats.clone();
        self.run_input(input.with_first(move |head| is_enough(head, &formats)));
    }

    /// Analyses an input of our own instead of an upload. Blocks.
    pub(crate) fn run_input(&self, input: Input) {
        {
            let mut inner = self.lock();
            if inner.state.ended() {
                return;
            }
            (inner.feed, inner.begun) = (None, true);
            inner.followed = input.followed();
            let state = if inner.followed.is_some() { State::Following } else { State::Receiving };
            self.set_state(&mut inner, state);
        }
        self.run(input);
    }

    fn run(&self, input: Input) {
        let guard = FailOnUnwind(self);
        let begun = Instant::now();
        let ran = self.analyzer.run::<std::io::Sink>(input, &self.control, |found, _| self.found(found), None);
        metrics::histogram!("rorqual_parse_seconds").record(begun.elapsed());
        match ran {
            Ok(ran) => self.end_by(ran.error.as_ref()),
            Err(unknown) => self.end_unknown(&unknown),
        }
        std::mem::forget(guard);
    }

    /// Runs what its feed gives it in one turn. Blocks.
    pub(crate) fn lap(&self, turn: &ParseTurn) -> Lapped {
        let guard = FailOnUnwind(self);
        let begun = Instant::now();
        let mut guarded = lock(&self.reading);
        // It was stopped before.
        if self.state().ended() {
            std::mem::forget(guard);
            return Lapped::Ended;
        }
        let reading = guarded.get_or_insert_with(|| {
            let input = Input::from_source(self.name.clone(), Box::new(self.inlet.source(&self.control)));
            self.analyzer.open(input, &turn.pool, &self.control, None)
        });
        let turned = self.analyzer.turn(reading, turn.threads, &self.control, |found, _| self.found(found));
        metrics::histogram!("rorqual_parse_seconds").record(begun.elapsed());
        // With a decoder goes its window.
        if !matches!(turned, Ok(Turned::Paused)) {
            *guarded = None;
        }
        let lapped = match turned {
            Ok(Turned::Paused) => {
                let held_bytes = guarded.as_ref().map_or(0, Reading::held_bytes);
                if self.checkpoints.as_ref().is_some_and(Checkpoints::due) {
                    self.keep(guarded.as_ref(), None, false);
                }
                Lapped::Paused { held_bytes }
            }
            Ok(Turned::Ended) => {
                self.end_by(None);
                Lapped::Ended
            }
            Ok(Turned::Failed(error)) => {
                self.end_by(Some(&error));
                Lapped::Ended
            }
            Err(unknown) => {
                self.end_unknown(&unknown);
                Lapped::Ended
            }
        };
        std::mem::forget(guard);
        lapped
    }

    fn found(&self, detection: &rorqual_table::format::Detection) {
        self.lock().format = Some(detection.format.clone());
    }

    /// The end of what was analysed, to its end or to an error.
    fn end_by(&self, error: Option<&rorqual_pipe::Error>) {
        let source = Source { error: error.map(ToString::to_string), ..self.source_so_far() };
        let (state, error) = if self.control.stopped() {
            let stopped_by = self.lock().stopped_by.take();
            (if stopped_by.is_some() { State::Failed } else { State::Cancelled }, stopped_by)
        } else {
            match error {
                None => (State::Finished, None),
                Some(error) => (State::Failed, Some(failure("bad_input", &error.to_string()))),
            }
        };
        self.end(state, error, vec![source]);
    }

    fn end_unknown(&self, error: &AnalyzeError) {
        let AnalyzeError::UnknownFormat { unknown, .. } = error;
        let object = unknown_format(error).with("lines", unknown.lines.clone()).object();
        self.end(State::Failed, Some(object), Vec::new());
    }

    /// The end; before it the memory is given back that the next session may be waiting for.
    fn end(&self, state: State, error: Option<Value>, sources: Vec<Source>) {
        let stats = self.analyzer.report(sources.clone(), state == State::Finished, 0).stats;
        self.keep(None, Some(Ended { state, error: error.clone() }), true);
        self.analyzer.release();
        let mut inner = self.lock();
        inner.ran = Some(Outcome { sources, stats });
        inner.feed = None;
        inner.error = error;
        self.set_state(&mut inner, state);
    }

    fn fail(&self, code: &'static str, message: &str) {
        let mut inner = self.lock();
        inner.feed = None;
        inner.error = Some(failure(code, message));
        self.set_state(&mut inner, State::Failed);
    }

    /// What went wrong, as an answer.
    pub(crate) fn error(&self) -> ApiError {
        let error = self.lock().error.clone().unwrap_or_default();
        let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        let (status, code) = match error["code"].as_str() {
            Some("unknown_format") => (StatusCode::UNPROCESSABLE_ENTITY, "unknown_format"),
            Some("too_dense") => (StatusCode::UNPROCESSABLE_ENTITY, "too_dense"),
            Some("displaced") => (StatusCode::CONFLICT, "displaced"),
            Some("internal") => (StatusCode::INTERNAL_SERVER_ERROR, "internal"),
            _ => (StatusCode::UNPROCESSABLE_ENTITY, "bad_input"),
        };
        let answer = ApiError::new(status, code, text("message"));
        if error["lines"].is_array() { answer.with("lines", error["lines"].clone()) } else { answer }
    }

    /// Stops the run; what it has analysed stays.
    pub(crate) fn cancel(self: &Arc<Self>) {
        self.stop(&mut self.lock());
    }

    /// Ends a session that waits for the rest of an upload, because its place is needed.
    pub(crate) fn give_way(self: &Arc<Self>) {
        let mut inner = self.lock();
        // Its sender may have come back meanwhile.
        if self.holds_up(&inner) && !self.control.stopped() {
            let message = "its place was needed by another session (--sessions) while nothing came; send the log anew";
            inner.stopped_by = Some(failure("displaced", message));
            self.stop(&mut inner);
        }
    }

    /// Ends an upload that unpacks to more than a log would: it could hold the cores for hours with the bytes of a second.
    pub(crate) fn stop_if_too_dense(self: &Arc<Self>) {
        let (stored, unpacked) = (self.control.stored_bytes(), self.control.decoded_bytes());
        let most = UNPACKED_BYTES_FREE.saturating_add(stored.saturating_mul(UNPACKED_RATIO_MAX));
        let mut inner = self.lock();
        if unpacked <= most || self.is_file || inner.state.ended() || self.control.stopped() {
            return;
        }
        let message = format!(
            "{stored} bytes unpacked to {unpacked}, which is more than {UNPACKED_RATIO_MAX} times as many: no log does; unpack it, and send it so"
        );
        inner.stopped_by = Some(failure("too_dense", &message));
        self.stop(&mut inner);
    }

    fn stop(self: &Arc<Self>, inner: &mut Inner) {
        self.control.stop();
        if inner.state.ended() {
            return;
        }
        // The run of a decoder sees the end of its source.
        inner.feed = None;
        if inner.begun {
            self.changed.send_modify(|version| *version += 1);
            self.conclude();
        } else {
            inner.error = inner.stopped_by.take();
            let state = if inner.error.is_some() { State::Failed } else { State::Cancelled };
            self.set_state(inner, state);
            self.forget();
        }
    }

    /// Ends an upload that was stopped between two laps; one that has a lap ends with it, as a file does with its run.
    fn conclude(self: &Arc<Self>) {
        let session = Arc::clone(self);
        let conclude = move || {
            let mut lap = lock(&session.reading);
            if !session.state().ended() {
                *lap = None;
                session.end_by(None);
            }
        };
        if !self.is_file {
            drop(tokio::task::spawn_blocking(conclude));
        }
    }

    /// Blocks of its run that somebody holds.
    #[cfg(test)]
    pub(crate) fn blocks_lent(&self) -> u64 {
        self.pool_lent_bytes() + self.turns.pool_bytes().0
    }

    pub(crate) fn stopped(&self) -> bool {
        self.control.stopped()
    }

    /// Ends it, and gives the memory of its rows back.
    pub(crate) async fn discard(self: &Arc<Self>) {
        self.cancel();
        self.rows.close();
        self.ended().await;
        self.rows.release().await;
    }

    /// Waits until it has ended.
    pub(crate) async fn ended(&self) {
        let mut changes = self.changes();
        while !self.state().ended() && changes.changed().await.is_ok() {}
    }

    /// Comes back once the session was cancelled, so that a silent upload does not hold its run.
    pub(crate) async fn cancelled(&self) {
        let mut changes = self.changes();
        while !self.control.stopped() && changes.changed().await.is_ok() {}
    }

    pub(crate) fn view(&self, expires_after: Duration) -> View {
        let offset = self.offset();
        let mut inner = self.lock();
        let rate = inner.rate(offset);
        let left = self.size().map(|size| size.saturating_sub(offset));
        View {
            id: self.id.clone(),
            name: self.name.clone(),
            size: self.size(),
            state: inner.state,
            offset,
            rate,
            eta_seconds: left.filter(|_| rate > 0.0 && inner.state == State::Receiving).map(|left| left as f64 / rate),
            error: inner.error.clone(),
            follow: inner.followed.as_ref().map(FollowView::new),
            fingerprint: self.fingerprint.clone(),
            created: self.created.duration_since(UNIX_EPOCH).map_or(0.0, |age| age.as_secs_f64()),
            expires_seconds: expires_after.saturating_sub(self.idle_of(&inner)).as_secs(),
        }
    }

    /// The report as JSON, at most a little old, the same for all who ask; `None` until the format is known. It is made on
    /// a blocking thread, as it goes over all tables, in the turn of a question.
    pub(crate) async fn report(self: &Arc<Self>) -> Option<Bytes> {
        self.lock().format.as_ref()?;
        let fresh = || self.reports.fresh(self.control.decoded_bytes(), self.state().ended());
        if let Some(report) = fresh() {
            return Some(report);
        }
        let (turn, (least, most)) = (self.rows.turn(), REPORT_PATIENCE);
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

    fn make_report(&self, turn: &Turn) -> Option<Bytes> {
        let bytes = self.control.decoded_bytes();
        let (ran, state) = {
            let inner = self.lock();
            (inner.ran.clone(), inner.state)
        };
        let last = state.ended();
        let made = self.reports.make(bytes, last, || self.report_of(turn, ran, state == State::Finished));
        if !last {
            self.analyzer.analysis().refresh();
            self.rows.look(turn, Store::refresh);
        }
        made
    }

    /// Its reports.
    pub(crate) fn reports(&self) -> &Reports {
        &self.reports
    }

    /// Gives the memory of its rows back when it has ended; what they say last stays.
    pub(crate) async fn retire(self: &Arc<Self>) {
        self.rows.close();
        if let Some(last) = self.report().await {
            self.reports.settle(last);
        }
        self.rows.release().await;
        // Its rows gave their place, and so does the file that has them.
        self.forget();
    }

    /// Refuses a filter that would take more than its share of the memory.
    pub(crate) fn has_room_for(&self, filter: &Filter) -> Result<(), ApiError> {
        let (bytes, most) = (filter.bytes(self.threads), self.filter_bytes_max);
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

    /// What to tell beside an answer about the rows.
    pub(crate) fn hint(&self) -> Hint {
        Hint { sessions_max: self.sessions_max }
    }

    /// Longest line that is parsed.
    pub(crate) fn line_bytes_max(&self) -> usize {
        self.line_bytes_max
    }

    /// Its rows.
    pub(crate) fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Offset of the log's clock, 0 until a line with a time has come.
    pub(crate) fn zone_seconds(&self) -> i32 {
        self.analyzer.analysis().zone_seconds().unwrap_or(0)
    }

    /// What is known, with what the rows say. Blocks.
    fn report_of(&self, turn: &Turn, ran: Option<Outcome>, complete: bool) -> Report {
        let (sources, stats) = match ran {
            Some(Outcome { sources, stats }) => (sources, Some(stats)),
            None => (vec![self.source_so_far()], None),
        };
        let mut report = self.analyzer.report(sources, complete, 0);
        report.stats = stats.unwrap_or(report.stats);
        // Not stopped with the run: a cancelled one has a report too. Rows that can't be read back are told by who asks for them.
        let control = Control::default();
        let _ = self.rows.look(turn, |store| store.fill(&mut report, self.zone_seconds(), TOP_ROWS, &control));
        report
    }

    /// Its lines so far, by what became of them.
    pub(crate) fn lines(&self) -> LineCounts {
        self.analyzer.analysis().lines()
    }

    /// Bytes of blocks of its own that are lent.
    pub(crate) fn pool_lent_bytes(&self) -> u64 {
        let pool = self.analyzer.pool();
        (pool.lent() * pool.buffer_bytes()) as u64
    }

    /// Bytes a second that come in now.
    pub(crate) fn rate(&self) -> f64 {
        let offset = self.offset();
        self.lock().rate(offset)
    }

    /// Some rejected lines.
    pub(crate) fn rejects(&self) -> Vec<Sample> {
        self.analyzer.analysis().rejects()
    }

    /// What is known of the lines of a view. Blocks.
    pub(crate) fn view_report(&self, complete: bool) -> Report {
        self.analyzer.report(vec![self.source_so_far()], complete, 0)
    }

    fn source_so_far(&self) -> Source {
        Source {
            name: self.name.clone(),
            format: self.format().map(|format| format.name().to_owned()),
            bytes: self.control.decoded_bytes(),
            lines: self.analyzer.analysis().lines().total,
            error: None,
        }
    }

    fn set_state(&self, inner: &mut Inner, state: State) {
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

    // A poisoned lock is taken all the same: one broken session must not take the list of all with it.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// A poisoned lock is taken all the same: its session has failed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Tally for Session {
    fn offset(&self) -> u64 {
        Self::offset(self)
    }

    fn size(&self) -> Option<u64> {
        Self::size(self)
    }
}

impl FollowView {
    fn new(followed: &Followed) -> Self {
        Self { truncations: followed.truncations(), rotations: followed.rotations(), missing: followed.missing() }
    }
}

/// Sets a session to failed when its run panics: nobody else would, and whoever waits for its end would wait for ever.
struct FailOnUnwind<'a>(&'a Session);

impl Drop for FailOnUnwind<'_> {
    fn drop(&mut self) {
        self.0.fail("internal", "the analysis stopped by a defect of rorqual; its log has more");
    }
}

impl Inner {
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

fn failure(code: &'static str, message: &str) -> Value {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, code, message).object()
}

fn unknown_format(error: &AnalyzeError) -> ApiError {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_format", error.to_string())
}

/// More came than was announced.
pub(crate) fn too_long(size: u64, what: &str) -> ApiError {
    let message = format!("the session was announced with a size of {size} bytes: {what}");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", message).with("size", size)
}

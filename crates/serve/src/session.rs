//! One analysis: its state, its run, and what of it is shown.

use crate::error::ApiError;
use crate::feed::{Feed, FeedSource, feed};
use crate::limits::TOP_ROWS;
use axum::http::StatusCode;
use rorqual_pipe::{Control, Input};
use rorqual_table::analyze::{AnalyzeError, Analyzer, Settings, Shares};
use rorqual_table::report::{Histogram, Report, Source, histogram};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::collections::VecDeque;
use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::watch;

/// Where a session stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Nothing has come yet, or the rest is still to come.
    Waiting,
    /// An upload is running, or a file is being read.
    Receiving,
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

/// One analysis.
pub(crate) struct Session {
    id: String,
    name: String,
    size: Option<u64>,
    created: SystemTime,
    control: Control,
    analyzer: Analyzer,
    /// Bytes taken from uploads; those of a file are counted by the control.
    taken: AtomicU64,
    is_file: bool,
    inner: Mutex<Inner>,
    /// Rises with every change of state.
    changed: watch::Sender<u64>,
}

struct Inner {
    state: State,
    error: Option<Value>,
    format: Option<String>,
    /// The writing end of the run; out while an upload uses it.
    feed: Option<Feed>,
    /// The reading end, until the run starts.
    source: Option<FeedSource>,
    touched: Instant,
    rates: VecDeque<(Instant, u64)>,
    report: Option<CachedReport>,
}

struct CachedReport {
    made: Instant,
    cost: Duration,
    json: Arc<RawValue>,
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
    created: f64,
    expires_seconds: u64,
}

impl Session {
    pub(crate) fn new(
        id: String,
        name: String,
        size: Option<u64>,
        is_file: bool,
        settings: &Settings,
        shares: Shares,
        rate_limit: Option<u64>,
    ) -> Self {
        let control = Control::with_rate_limit(rate_limit);
        let analyzer = Analyzer::new(settings, shares);
        let (feed, source) = feed(analyzer.pool(), settings.line_bytes_max, &control);
        let inner = Inner {
            state: State::Waiting,
            error: None,
            format: None,
            feed: Some(feed),
            source: Some(source),
            touched: Instant::now(),
            rates: VecDeque::new(),
            report: None,
        };
        Self {
            id,
            name,
            size,
            created: SystemTime::now(),
            control,
            analyzer,
            taken: AtomicU64::new(0),
            is_file,
            inner: Mutex::new(inner),
            changed: watch::Sender::new(0),
        }
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn state(&self) -> State {
        self.lock().state
    }

    /// Tells of every change of state from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Bytes taken so far; where an upload goes on.
    pub(crate) fn offset(&self) -> u64 {
        if self.is_file { self.control.stored_bytes() } else { self.taken.load(Ordering::Relaxed) }
    }

    pub(crate) fn taken(&self) -> &AtomicU64 {
        &self.taken
    }

    /// Whether the announced size has come; an unannounced one comes with the end of a body.
    pub(crate) fn whole(&self) -> bool {
        self.size.is_none_or(|size| self.offset() >= size)
    }

    /// Somebody is interested.
    pub(crate) fn touch(&self) {
        self.lock().touched = Instant::now();
    }

    pub(crate) fn idle(&self) -> Duration {
        let inner = self.lock();
        // A file that waits for its turn is not idle either.
        let busy = inner.state == State::Receiving || (self.is_file && !inner.state.ended());
        if busy { Duration::ZERO } else { inner.touched.elapsed() }
    }

    /// Takes the feed for an upload that goes on at `offset`.
    pub(crate) fn begin_upload(self: &Arc<Self>, offset: u64) -> Result<Feed, ApiError> {
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
        let busy = || ApiError::new(StatusCode::CONFLICT, "busy", "another upload into this session is running");
        let feed = inner.feed.take().ok_or_else(busy)?;
        if let Some(source) = inner.source.take() {
            let session = Arc::clone(self);
            let input = Input::from_source(self.name.clone(), Box::new(source));
            drop(tokio::task::spawn_blocking(move || session.run(input)));
        }
        inner.error = None;
        self.set_state(&mut inner, State::Receiving);
        Ok(feed)
    }

    /// Gives the feed back when more is to come.
    pub(crate) fn pause_upload(&self, feed: Feed, state: State, error: Option<&ApiError>) {
        let mut inner = self.lock();
        // A cancelled run waits for the end of its source, which comes with the end of the feed.
        if inner.state.ended() || self.control.stopped() {
            return;
        }
        inner.feed = Some(feed);
        inner.error = error.map(ApiError::object);
        self.set_state(&mut inner, state);
    }

    /// Analyses an open file to its end. Blocks.
    pub(crate) fn run_file(&self, name: String, file: File) {
        match Input::from_file(name, file) {
            Ok(input) => self.run_input(input),
            Err(error) => self.fail("unreadable", &error.to_string()),
        }
    }

    /// Analyses an input of our own instead of an upload. Blocks.
    pub(crate) fn run_input(&self, input: Input) {
        {
            let mut inner = self.lock();
            if inner.state.ended() {
                return;
            }
            (inner.feed, inner.source) = (None, None);
            self.set_state(&mut inner, State::Receiving);
        }
        self.run(input);
    }

    fn run(&self, input: Input) {
        let found = |detection: &rorqual_table::format::Detection, _: &[u8]| {
            self.lock().format = Some(detection.format.name().to_owned());
        };
        let guard = FailOnUnwind(self);
        let ran = self.analyzer.run::<std::io::Sink>(input, &self.control, found, None);
        let (state, error, sources) = match ran {
            Ok(ran) if self.control.stopped() => (State::Cancelled, None, vec![ran.source]),
            Ok(ran) => match ran.error {
                None => (State::Finished, None, vec![ran.source]),
                Some(error) => (State::Failed, Some(failure("bad_input", &error.to_string())), vec![ran.source]),
            },
            Err(error) => {
                let AnalyzeError::UnknownFormat { unknown, .. } = &error;
                let object = unknown_format(&error).with("lines", unknown.lines.clone()).object();
                (State::Failed, Some(object), Vec::new())
            }
        };
        let report = self.analyzer.report(sources, state == State::Finished, TOP_ROWS);
        std::mem::forget(guard);
        let mut inner = self.lock();
        (inner.feed, inner.source) = (None, None);
        inner.error = error;
        inner.report = to_json(&report, Duration::ZERO);
        self.set_state(&mut inner, state);
        drop(inner);
        self.analyzer.release();
    }

    fn fail(&self, code: &'static str, message: &str) {
        let mut inner = self.lock();
        (inner.feed, inner.source) = (None, None);
        inner.error = Some(failure(code, message));
        self.set_state(&mut inner, State::Failed);
    }

    /// What went wrong, as an answer.
    pub(crate) fn error(&self) -> ApiError {
        let error = self.lock().error.clone().unwrap_or_default();
        let text = |name: &str| error[name].as_str().unwrap_or_default().to_owned();
        let code = if text("code") == "unknown_format" { "unknown_format" } else { "bad_input" };
        let answer = ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, code, text("message"));
        if error["lines"].is_array() { answer.with("lines", error["lines"].clone()) } else { answer }
    }

    /// Stops the run; what it has analysed stays.
    pub(crate) fn cancel(&self) {
        self.control.stop();
        let mut inner = self.lock();
        if inner.state.ended() {
            return;
        }
        let never_ran = inner.source.take().is_some();
        // The run sees the end of its source, and sets the state itself.
        inner.feed = None;
        if never_ran {
            self.set_state(&mut inner, State::Cancelled);
        } else {
            self.changed.send_modify(|version| *version += 1);
        }
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
        let left = self.size.map(|size| size.saturating_sub(offset));
        View {
            id: self.id.clone(),
            name: self.name.clone(),
            size: self.size,
            state: inner.state,
            offset,
            rate,
            eta_seconds: left.filter(|_| rate > 0.0 && inner.state == State::Receiving).map(|left| left as f64 / rate),
            error: inner.error.clone(),
            created: self.created.duration_since(UNIX_EPOCH).map_or(0.0, |age| age.as_secs_f64()),
            expires_seconds: expires_after.saturating_sub(inner.touched.elapsed()).as_secs(),
        }
    }

    /// The report as JSON, at most a little old; `None` until the format is known. Blocks for as long as it
    /// takes to go over the tables once.
    pub(crate) fn report(&self, interval: Duration) -> Option<Arc<RawValue>> {
        {
            let inner = self.lock();
            inner.format.as_ref()?;
            if let Some(cached) = &inner.report {
                let age = cached.made.elapsed();
                if inner.state.ended() || age < interval || age < cached.cost * 10 {
                    return Some(Arc::clone(&cached.json));
                }
            }
        }
        let started = Instant::now();
        let report = self.analyzer.report(vec![self.source_so_far()], false, TOP_ROWS);
        self.analyzer.analysis().refresh();
        let cached = to_json(&report, started.elapsed())?;
        let mut inner = self.lock();
        // The run may have ended meanwhile, and its last report must not be replaced by an older one.
        if !inner.state.ended() || inner.report.is_none() {
            inner.report = Some(cached);
        }
        inner.report.as_ref().map(|cached| Arc::clone(&cached.json))
    }

    /// Lines over time in a span.
    pub(crate) fn histogram(&self, from: Option<i64>, to: Option<i64>, buckets_max: usize) -> Histogram {
        histogram(self.analyzer.analysis(), from, to, buckets_max)
    }

    fn source_so_far(&self) -> Source {
        Source {
            name: self.name.clone(),
            format: self.lock().format.clone(),
            bytes: self.control.decoded_bytes(),
            lines: self.analyzer.analysis().lines().total,
            error: None,
        }
    }

    fn set_state(&self, inner: &mut Inner, state: State) {
        inner.state = state;
        inner.touched = Instant::now();
        self.changed.send_modify(|version| *version += 1);
    }

    // A poisoned lock is taken all the same: one broken session must not take the list of all with it.
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
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

fn to_json(report: &Report, cost: Duration) -> Option<CachedReport> {
    let json = serde_json::value::to_raw_value(report).ok()?;
    Some(CachedReport { made: Instant::now(), cost, json: json.into() })
}

fn failure(code: &'static str, message: &str) -> Value {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, code, message).object()
}

fn unknown_format(error: &AnalyzeError) -> ApiError {
    ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "unknown_format", error.to_string())
}

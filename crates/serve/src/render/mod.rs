//! `GET /render/{name}`: a template that leaves while it is rendered.
//!
//! A rendering has a thread, and a place with a few blocks of its own, see [`crate::http::body`].

use crate::admission::PermitPool;
use crate::http::body::{self, BodyPermits, BodyPiece, BodySink, DisconnectStop};
use crate::http::disconnect_watch::DisconnectWatch;
use crate::http::error::ApiError;
use crate::http::extract::PathKey;
use crate::limits::{GUARD_EVERY, GUARD_MARGIN_SHARE, QUERY_VALUES_MAX, RENDER_BLOCK_BYTES, RENDER_BLOCKS, STOP_PATIENCE};
use crate::setting::RENDERS;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Query, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rorqual_pipe::setting::MEMORY;
use rorqual_pipe::{Control, ErrorClass, Sink, format_size, stats};
use rorqual_render::{ErrorKind, PageInput, RenderError, Source, Templates, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch;

/// Templates of a server, and their input.
#[derive(Debug)]
pub struct Rendering {
    /// The templates; their names are the addresses below `/render/`.
    pub templates: Templates,
    /// Their variables. `query` is added: a map of the address's parameters after `?`.
    pub context: BTreeMap<String, Value>,
    /// Most memory of the parsed templates and their variables.
    pub given_bytes: u64,
    /// The value of `rows`.
    pub rows: Option<Arc<dyn Source>>,
    /// Most memory of reading them, in all renderings together.
    pub rows_bytes: u64,
    /// Renderings at a time, each with 256 KiB and a thread; further requests get 503.
    pub places: usize,
    /// Called with a rendering's name when it was stopped as the memory ran out, goes on, and the
    /// memory is still short: it ends the process. Nothing else can end a value that a filter is
    /// about to build.
    pub exceeded: fn(&str),
    /// Told of each rendering that failed: its name and why. Its reader sees no more than an answer
    /// that breaks off.
    pub failed: fn(&str, &dyn fmt::Display),
}

/// Templates to render, and the slots for renderings.
pub(crate) struct Renders {
    given: Rendering,
    places: Arc<BodyPermits>,
    /// Running renderings, by the number of their slot.
    running: Mutex<BTreeMap<u64, (String, Control)>>,
    started: AtomicU64,
    rate_limit: Option<u64>,
    /// Held for as long as the server is there.
    stays: watch::Sender<()>,
}

impl Renders {
    /// Renders the `given` templates; each rendering reads at most so many bytes of rows a second.
    pub(crate) fn new(given: Rendering, rate_limit: Option<u64>, permits: PermitPool) -> Arc<Self> {
        let places = BodyPermits::new(permits, RENDER_BLOCK_BYTES, RENDER_BLOCKS);
        let (running, started) = (Mutex::default(), AtomicU64::new(0));
        Arc::new(Self { given, places, running, started, rate_limit, stays: watch::Sender::new(()) })
    }

    pub(crate) fn places(&self) -> &BodyPermits {
        &self.places
    }

    fn place(self: &Arc<Self>, name: &str, control: &Control) -> Option<RenderPermit> {
        let place = self.places.take()?;
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        lock(&self.running).insert(number, (name.to_owned(), control.clone()));
        Some(RenderPermit { place, number, renders: Arc::clone(self) })
    }

    /// Looks at the resident size as long as the server runs. A template's variables are in no sum:
    /// near the limit all renderings are stopped, guilty or not; and one that does not end then, as
    /// it is in the middle of a value, ends the process.
    pub(crate) async fn guard(self: Arc<Self>, memory_bytes: u64) {
        let end_at = memory_bytes - memory_bytes / GUARD_MARGIN_SHARE;
        let mut every = tokio::time::interval(GUARD_EVERY);
        let mut stopped = None;
        loop {
            every.tick().await;
            let latest = lock(&self.running).keys().next_back().copied();
            let Some(latest) = latest.filter(|_| stats::resident_bytes().is_some_and(|resident| resident > end_at)) else {
                stopped = None;
                continue;
            };
            let (last_stopped, since) = *stopped.get_or_insert_with(|| (latest, Instant::now()));
            self.stop_all(memory_bytes);
            if since.elapsed() > STOP_PATIENCE
                && let Some((_, (name, _))) = lock(&self.running).range(..=last_stopped).next()
            {
                (self.given.exceeded)(name);
            }
        }
    }

    fn stop_all(&self, memory_bytes: u64) {
        let memory = format_size(memory_bytes);
        for (name, control) in lock(&self.running).values().filter(|(_, control)| !control.stopped()) {
            control.stop();
            (self.given.failed)(name, &format!("stopped, as the server came near its {MEMORY} {memory}"));
        }
    }

    /// Renders one template into a channel, which then ends with an error or without one. Blocks.
    fn run(self: &Arc<Self>, place: RenderPermit, name: &str, page: &PageInput, mut sink: BodySink, sender: &Sender<BodyPiece>) {
        let rendered = self.given.templates.render(name, page, &mut sink);
        let ended = rendered.and_then(|_| Ok(sink.flush()?));
        // A name that no template has is the client's mistake, and of it nothing goes into our log.
        if let Err(error) = &ended
            && !error.is_stop()
            && !is_missing(error)
        {
            (self.given.failed)(name, error);
        }
        body::tell(sender, ended);
        // Free before the sender is dropped, by which the reader hears of the end.
        drop(place);
    }
}

/// A place for one rendering, given back when its thread ends.
struct RenderPermit {
    place: body::BodyWorkPermit,
    number: u64,
    renders: Arc<Renders>,
}

impl Drop for RenderPermit {
    fn drop(&mut self) {
        lock(&self.renders.running).remove(&self.number);
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers with a template.
pub(crate) async fn render(
    State(renders): State<Arc<Renders>>,
    Extension(twin): Extension<DisconnectWatch>,
    PathKey(name): PathKey,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(query) = query.map_err(|error| ApiError::bad_request(error.body_text()))?;
    if query.len() > QUERY_VALUES_MAX {
        return Err(ApiError::bad_request(format!("an address has at most {QUERY_VALUES_MAX} values after its `?`")));
    }
    let control = Control::with_rate_limit(renders.rate_limit);
    let place = renders.place(&name, &control).ok_or_else(|| full(renders.places().count()))?;
    let mut context = renders.given.context.clone();
    context.insert("query".to_owned(), query.into_iter().collect::<BTreeMap<_, _>>().into());
    let page = PageInput { context: context.into(), rows: renders.given.rows.clone(), control: control.clone() };
    let (sink, sender, pieces) = BodySink::new(&place.place, renders.stays.subscribe());
    let reader = DisconnectStop { pieces, control, twin };
    let media_type = media_type(&name);
    tokio::task::spawn_blocking(move || renders.run(place, &name, &page, sink, &sender));
    let body = reader.body().await.map_err(|error| refusal(&error))?;
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, "no-store"),
        // A template may have scripts, and put text of the address into its page: it gets an origin
        // of its own, from which nothing here can be asked.
        (header::CONTENT_SECURITY_POLICY, "sandbox allow-scripts allow-downloads allow-popups"),
        // Browsers refuse to open a page in a sandbox whose opener policy is stricter.
        (HeaderName::from_static("cross-origin-opener-policy"), "unsafe-none"),
    ];
    Ok((headers, body).into_response())
}

fn full(places: usize) -> ApiError {
    let message = format!("all {places} places for renderings are taken; more by `serve {RENDERS} N`");
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "renders_full", message).retry_after(1)
}

fn refusal(error: &RenderError) -> ApiError {
    match error.template_kind() {
        None if matches!(error, RenderError::Rows(error) if error.kind() == ErrorClass::Limit) => {
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "renders_full", error.to_string()).retry_after(1)
        }
        _ if is_missing(error) => ApiError::new(StatusCode::NOT_FOUND, "no_template", error.to_string()),
        _ if error.is_stop() => {
            let message = format!("stopped, as the server came near its {MEMORY}; come again");
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "renders_full", message).retry_after(1)
        }
        _ => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "template_failed", error.to_string()),
    }
}

/// True if there is no template of the requested name. One that a template includes has a place
/// there.
fn is_missing(error: &RenderError) -> bool {
    matches!(error.template_kind(), Some(ErrorKind::TemplateNotFound))
        && matches!(error, RenderError::Template(error) if error.place.is_none())
}

/// Media type by the extension of a template's name, without a `.j2` or `.jinja` after it.
fn media_type(name: &str) -> &'static str {
    let name = [".j2", ".jinja", ".jinja2"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" | "htm" => "text/html; charset=utf-8",
        "xml" => "application/xml; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        "ndjson" | "jsonl" => "application/x-ndjson",
        "csv" => "text/csv; charset=utf-8",
        "md" => "text/markdown; charset=utf-8",
        _ => "text/plain; charset=utf-8",
    }
}

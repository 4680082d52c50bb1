//! `GET /render/{name}`: a template that leaves while it is rendered.
//!
//! A rendering has a thread, and a place with a few blocks of its own. Its reader holds the blocks, the thread then finds none free and
//! waits; so a slow reader slows its own rendering and nobody else's. When the reader goes away, the channel closes, and the rendering
//! ends with its next piece, or, where it makes none, when it next looks at its control.

use crate::error::ApiError;
use crate::limits::{GUARD_EVERY, GUARD_MARGIN_SHARE, QUERY_VALUES_MAX, RENDER_BLOCK_BYTES, RENDER_BLOCKS, STOP_PATIENCE};
use crate::twin::Twin;
use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Extension, Path, Query, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream::unfold;
use rorqual_pipe::gather::COPY_BYTES_MAX;
use rorqual_pipe::{Control, Kind, Lease, Pool, Sink, format_size, stats};
use rorqual_render::{Error, ErrorKind, Page, Source, Templates, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// The templates that a server renders, and what it gives them.
#[derive(Debug)]
pub struct Rendering {
    /// The templates; their names are the addresses below `/render/`.
    pub templates: Templates,
    /// Their variables. `query` is added: a map of what the address says behind `?`.
    pub context: BTreeMap<String, Value>,
    /// What the parsed templates and their variables take at most.
    pub given_bytes: u64,
    /// What `rows` is.
    pub rows: Option<Arc<dyn Source>>,
    /// What reading them takes at most, in all renderings together.
    pub rows_bytes: u64,
    /// Renderings at a time, each with 256 KiB and a thread; further requests get 503.
    pub places: usize,
    /// Called with a rendering's name when it was stopped as the memory ran out, goes on, and the memory is still short: it ends the
    /// process. Nothing else can end a value that a filter is about to build.
    pub exceeded: fn(&str),
    /// Told of each rendering that failed: its name and why. Its reader sees no more than an answer that breaks off.
    pub failed: fn(&str, &dyn fmt::Display),
}

/// What is rendered, and the places for it.
pub(crate) struct Renders {
    given: Rendering,
    /// The blocks of the places that are free, those used last at the end.
    free: Mutex<Vec<Pool>>,
    /// What runs, by the number of its place.
    running: Mutex<BTreeMap<u64, (String, Control)>>,
    started: AtomicU64,
    rate_limit: Option<u64>,
}

impl Renders {
    /// With what is rendered, and the most bytes of rows a second that each rendering reads.
    pub(crate) fn new(given: Rendering, rate_limit: Option<u64>) -> Arc<Self> {
        let free = (0..given.places).map(|_| Pool::new(RENDER_BLOCK_BYTES, RENDER_BLOCKS)).collect();
        Arc::new(Self { given, free: Mutex::new(free), running: Mutex::default(), started: AtomicU64::new(0), rate_limit })
    }

    /// Places that are taken: by a rendering, or by blocks that a reader still holds.
    pub(crate) fn taken(&self) -> usize {
        self.given.places - lock(&self.free).iter().filter(|pool| pool.lent() == 0).count()
    }

    pub(crate) fn places(&self) -> usize {
        self.given.places
    }

    fn place(self: &Arc<Self>, name: &str, control: &Control) -> Option<Place> {
        let mut free = lock(&self.free);
        // What its last reader still holds would be missing.
        let at = free.iter().rposition(|pool| pool.lent() == 0)?;
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        lock(&self.running).insert(number, (name.to_owned(), control.clone()));
        Some(Place { pool: free.remove(at), number, renders: Arc::clone(self) })
    }

    /// Looks at the resident size as long as the server runs. What a template builds in its variables is in no sum: near the limit all
    /// renderings are stopped, whoever it was; and one that does not end then, as it is in the middle of a value, ends the process.
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
            (self.given.failed)(name, &format!("stopped, as the server came near its --memory {memory}"));
        }
    }

    /// Renders one template into a channel, which then ends with an error or without one. Blocks.
    fn run(self: &Arc<Self>, place: Place, name: &str, page: &Page, sender: Sender<Piece>) {
        let mut sink = BodySink { pool: place.pool.clone(), block: None, used: 0, sender };
        let rendered = self.given.templates.render(name, page, &mut sink);
        if let Err(error) = rendered.and_then(|_| Ok(sink.flush()?)) {
            if !error.is_stop() {
                (self.given.failed)(name, &error);
            }
            // Where nobody takes it, the reader went away.
            let _ = sink.sender.blocking_send(Err(error));
        }
        // Free once all was told.
        drop(place);
    }
}

/// A place for one rendering, given back when its thread ends.
struct Place {
    pool: Pool,
    number: u64,
    renders: Arc<Renders>,
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.renders.running).remove(&self.number);
        lock(&self.renders.free).push(self.pool.clone());
    }
}

fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

type Piece = Result<Bytes, Error>;

/// Pieces on their way into the body of an answer.
struct BodySink {
    pool: Pool,
    block: Option<Lease>,
    used: usize,
    sender: Sender<Piece>,
}

impl BodySink {
    fn send(&self, bytes: Bytes) -> io::Result<()> {
        self.sender.blocking_send(Ok(bytes)).map_err(|_| gone())
    }
}

fn gone() -> io::Error {
    io::ErrorKind::BrokenPipe.into()
}

impl Sink for BodySink {
    fn copy(&mut self, mut piece: &[u8]) -> io::Result<()> {
        while !piece.is_empty() {
            let block = match &mut self.block {
                Some(block) => block,
                none => none.insert(self.pool.lease()?),
            };
            let length = piece.len().min(block.len() - self.used);
            block[self.used..self.used + length].copy_from_slice(&piece[..length]);
            self.used += length;
            piece = &piece[length..];
            if self.used == self.pool.buffer_bytes() {
                self.flush()?;
            }
        }
        Ok(())
    }

    fn point(&mut self, piece: &Bytes) -> io::Result<()> {
        if piece.len() <= COPY_BYTES_MAX {
            return self.copy(piece);
        }
        self.flush()?;
        self.send(piece.clone())
    }

    fn flush(&mut self) -> io::Result<()> {
        let used = std::mem::take(&mut self.used);
        match self.block.take() {
            Some(block) => self.send(Bytes::from_owner(block).slice(..used)),
            None => Ok(()),
        }
    }
}

/// Stops a rendering when nobody waits for it any longer.
struct Reader {
    pieces: Receiver<Piece>,
    control: Control,
    twin: Twin,
}

impl Reader {
    /// The next piece; an error when the reader goes away first.
    async fn next(&mut self) -> Option<Piece> {
        tokio::select! {
            biased;
            piece = self.pieces.recv() => piece,
            () = self.twin.left() => Some(Err(gone().into())),
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.control.stop();
    }
}

/// Answers with a template. The answer begins with its first piece, so that what fails before has a status of its own; what fails
/// later breaks the answer off.
pub(crate) async fn render(
    State(renders): State<Arc<Renders>>,
    Extension(twin): Extension<Twin>,
    Path(name): Path<String>,
    query: Result<Query<Vec<(String, String)>>, QueryRejection>,
) -> Result<Response, ApiError> {
    let Query(query) = query.map_err(|error| ApiError::bad_request(error.body_text()))?;
    if query.len() > QUERY_VALUES_MAX {
        return Err(ApiError::bad_request(format!("an address has at most {QUERY_VALUES_MAX} values behind its `?`")));
    }
    let control = Control::with_rate_limit(renders.rate_limit);
    let place = renders.place(&name, &control).ok_or_else(|| full(renders.places()))?;
    let mut context = renders.given.context.clone();
    context.insert("query".to_owned(), query.into_iter().collect::<BTreeMap<_, _>>().into());
    let page = Page { context: context.into(), rows: renders.given.rows.clone(), control: control.clone() };
    let (sender, pieces) = channel(1);
    let mut reader = Reader { pieces, control, twin };
    let media_type = media_type(&name);
    tokio::task::spawn_blocking(move || renders.run(place, &name, &page, sender));
    let body = match reader.next().await {
        Some(Ok(first)) => Body::from_stream(unfold((Some(first), reader), next)),
        Some(Err(error)) => return Err(refusal(&error)),
        None => Body::empty(),
    };
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CACHE_CONTROL, "no-store"),
        // A template may have scripts, and put into its page what the address says: it gets an origin of its own, from which
        // nothing here can be asked.
        (header::CONTENT_SECURITY_POLICY, "sandbox allow-scripts allow-downloads allow-popups"),
        // Browsers refuse to open a page in a sandbox whose opener policy is stricter.
        (HeaderName::from_static("cross-origin-opener-policy"), "unsafe-none"),
    ];
    Ok((headers, body).into_response())
}

async fn next((first, mut reader): (Option<Bytes>, Reader)) -> Option<(Piece, (Option<Bytes>, Reader))> {
    let piece = match first {
        Some(first) => Ok(first),
        None => reader.next().await?,
    };
    Some((piece, (None, reader)))
}

fn full(places: usize) -> ApiError {
    let message = format!("all {places} places for renderings are taken; more by `serve --renders N`");
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "renders_full", message).retry_after(1)
}

fn refusal(error: &Error) -> ApiError {
    match error.template_kind() {
        None if matches!(error, Error::Rows(error) if error.kind() == Kind::Limit) => {
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "renders_full", error.to_string()).retry_after(1)
        }
        // One that a template includes has a place there.
        Some(ErrorKind::TemplateNotFound) if matches!(error, Error::Template(error) if error.place.is_none()) => {
            ApiError::new(StatusCode::NOT_FOUND, "no_template", error.to_string())
        }
        _ if error.is_stop() => {
            let message = "stopped, as the server came near its --memory; come again";
            ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "renders_full", message).retry_after(1)
        }
        _ => ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "template_failed", error.to_string()),
    }
}

/// By the extension of a template's name; `.j2` and `.jinja` behind it say nothing.
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

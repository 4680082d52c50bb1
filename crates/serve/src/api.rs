//! The handlers, as `API.md` lists them.

use crate::error::ApiError;
use crate::guard::{Guard, guard};
use crate::limits::{BUCKETS, JSON_BYTES_MAX, NAME_BYTES_MAX};
use crate::live::{Live, ServerView, events};
use crate::page::page;
use crate::session::{Session, View};
use crate::sessions::Sessions;
use crate::upload::upload;
use axum::body::{Body, to_bytes};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::StatusCode;
use axum::response::sse::{Event, Sse};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use futures_util::Stream;
use rorqual_pipe::Input;
use rorqual_table::format::Format;
use rorqual_table::report::Histogram;
use serde::Deserialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::io::Cursor;
use std::sync::Arc;

/// Ten thousand real lines, to try the explorer with.
const SAMPLE: &[u8] = include_bytes!("../../../samples/apache_combined.log");

/// What all handlers share.
pub(crate) struct App {
    pub(crate) sessions: Sessions,
}

type Shared = State<Arc<App>>;

/// The whole interface.
pub(crate) fn router(app: Arc<App>, guarded: Arc<Guard>) -> Router {
    Router::new()
        .route("/api/server", get(server))
        .route("/api/sessions", post(create).get(list))
        .route("/api/sessions/{id}", get(show).delete(forget))
        .route("/api/sessions/{id}/data", put(data))
        .route("/api/sessions/{id}/cancel", post(cancel))
        .route("/api/sessions/{id}/live", get(live))
        .route("/api/sessions/{id}/histogram", get(histogram))
        .fallback(get(page))
        .layer(DefaultBodyLimit::disable())
        .layer(axum::middleware::from_fn_with_state(guarded, guard))
        .with_state(app)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewSession {
    name: Option<String>,
    size: Option<u64>,
    format: Option<String>,
    #[serde(default)]
    sample: bool,
}

async fn create(State(app): Shared, body: Body) -> Result<(StatusCode, Json<View>), ApiError> {
    let bad = |message: String| ApiError::new(StatusCode::BAD_REQUEST, "bad_request", message);
    let body = to_bytes(body, JSON_BYTES_MAX).await.map_err(|error| bad(error.to_string()))?;
    let wanted: NewSession = serde_json::from_slice(&body).map_err(|error| bad(error.to_string()))?;
    let format = wanted.format.as_deref().map(Format::parse).transpose();
    let format = format.map_err(|error| ApiError::new(StatusCode::BAD_REQUEST, "bad_format", error.to_string()))?;
    let session = if wanted.sample {
        start_sample(&app)?
    } else {
        let name: String = wanted.name.unwrap_or_else(|| "upload".to_owned());
        if name.len() > NAME_BYTES_MAX {
            return Err(bad(format!("a name has at most {NAME_BYTES_MAX} bytes")));
        }
        app.sessions.create(name, wanted.size, false, format)?
    };
    Ok((StatusCode::CREATED, Json(session.view(app.sessions.idle_max()))))
}

fn start_sample(app: &App) -> Result<Arc<Session>, ApiError> {
    let session = app.sessions.create("sample.log".to_owned(), Some(SAMPLE.len() as u64), true, None)?;
    let running = Arc::clone(&session);
    tokio::task::spawn_blocking(move || running.run_input(Input::from_reader("sample.log", Box::new(Cursor::new(SAMPLE)))));
    Ok(session)
}

async fn list(State(app): Shared) -> Json<Value> {
    let views: Vec<View> = app.sessions.list().iter().map(|session| session.view(app.sessions.idle_max())).collect();
    Json(json!({"sessions": views}))
}

async fn show(State(app): Shared, Path(id): Path<String>) -> Result<Json<Live>, ApiError> {
    let session = app.sessions.get(&id)?;
    Ok(Json(Live::new(&app, &session).await))
}

async fn forget(State(app): Shared, Path(id): Path<String>) -> Result<StatusCode, ApiError> {
    app.sessions.remove(&id)?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
struct At {
    #[serde(default)]
    offset: u64,
}

async fn data(State(app): Shared, Path(id): Path<String>, Query(at): Query<At>, body: Body) -> Result<Json<View>, ApiError> {
    let session = app.sessions.get(&id)?;
    // A task of its own: bytes that were counted as taken must reach the run even when the client goes away and this
    // handler is dropped.
    let task = tokio::spawn(upload(Arc::clone(&session), at.offset, body));
    match task.await {
        Ok(result) => result?,
        Err(error) => return Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "upload_failed", error.to_string())),
    }
    Ok(Json(session.view(app.sessions.idle_max())))
}

async fn cancel(State(app): Shared, Path(id): Path<String>) -> Result<Json<View>, ApiError> {
    let session = app.sessions.get(&id)?;
    let mut changes = session.changes();
    session.cancel();
    while !session.state().ended() && changes.changed().await.is_ok() {}
    Ok(Json(session.view(app.sessions.idle_max())))
}

async fn live(
    State(app): Shared,
    Path(id): Path<String>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let session = app.sessions.get(&id)?;
    Ok(Sse::new(events(app, session)))
}

#[derive(Deserialize)]
struct HistogramSpan {
    from: Option<f64>,
    to: Option<f64>,
    buckets: Option<usize>,
}

async fn histogram(
    State(app): Shared,
    Path(id): Path<String>,
    Query(span): Query<HistogramSpan>,
) -> Result<Json<Histogram>, ApiError> {
    let session = app.sessions.get(&id)?;
    let second = |time: Option<f64>| time.filter(|time| time.is_finite()).map(|time| time as i64);
    let (default, most) = BUCKETS;
    let buckets = span.buckets.unwrap_or(default).clamp(1, most);
    Ok(Json(session.histogram(second(span.from), second(span.to), buckets)))
}

async fn server(State(app): Shared) -> Json<ServerView> {
    Json(ServerView::new(&app))
}

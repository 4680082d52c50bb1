//! The handlers, as `API.md` lists them.

use crate::error::ApiError;
use crate::exports;
use crate::formats;
use crate::guard::{Gate, guard};
use crate::limits::{BUCKETS, JSON_BYTES_MAX, JSON_TIME_MAX, NAME_BYTES_MAX};
use crate::live::{Live, ServerView, events};
use crate::observe::observe;
use crate::page::{page, wrong_method};
use crate::render::{Renders, render};
use crate::session::{self, Session};
use crate::sessions::Sessions;
use crate::twin::Twin;
use crate::upload::upload;
use crate::views;
use crate::vitals;
use axum::body::{Body, to_bytes};
use axum::extract::{DefaultBodyLimit, Extension, FromRequestParts, Path, Query, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::Response;
use axum::routing::{get, post, put};
use axum::{Json, Router};
use rorqual_pipe::Input;
use rorqual_view::{Histogram, Stack, View, Wanted};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::Cursor;
use std::sync::Arc;
use tokio::time::timeout;

/// Ten thousand real lines, to try the explorer with.
const SAMPLE: &[u8] = include_bytes!("../../../samples/apache_combined.log");

type Shared = State<Arc<Sessions>>;

/// The whole interface.
pub(crate) fn router(sessions: Arc<Sessions>, renders: Option<Arc<Renders>>, gate: Arc<Gate>) -> Router {
    let vitals = vitals::routes(&sessions, renders.as_ref(), &gate);
    let routes = Router::new()
        .route("/api/server", get(server))
        .route("/api/sessions", post(create).get(list))
        .route("/api/sessions/{id}", get(show).delete(forget))
        .route("/api/sessions/{id}/data", put(data))
        .route("/api/sessions/{id}/cancel", post(cancel))
        .route("/api/sessions/{id}/live", get(live))
        .route("/api/sessions/{id}/histogram", get(histogram))
        .route("/api/sessions/{id}/view", post(views::view))
        .route("/api/sessions/{id}/panel", post(views::panel))
        .route("/api/sessions/{id}/rows", post(views::rows))
        .route("/api/sessions/{id}/compare", post(views::compare))
        .route("/api/sessions/{id}/explain", post(views::explain))
        .route("/api/sessions/{id}/rates", post(views::rates))
        .route("/api/sessions/{id}/rejects", get(views::rejects))
        .route("/api/sessions/{id}/export", get(exports::rows))
        .route("/api/sessions/{id}/panel.csv", get(exports::panel))
        .route("/api/sessions/{id}/report.html", get(exports::report))
        .route("/api/sessions/{id}/format/try", post(formats::try_format))
        .with_state(sessions)
        .merge(vitals);
    let routes = match renders {
        Some(renders) => routes.merge(render_router(renders)),
        None => routes,
    };
    routes
        .method_not_allowed_fallback(wrong_method)
        .fallback(page)
        .layer(DefaultBodyLimit::disable())
        .layer(axum::middleware::from_fn_with_state(gate, guard))
        .layer(axum::middleware::from_fn(observe))
}

fn render_router(renders: Arc<Renders>) -> Router {
    Router::new().route("/render", get(places)).route("/render/{*name}", get(render)).with_state(renders)
}

async fn places(State(renders): State<Arc<Renders>>) -> Json<Value> {
    Json(json!({"places": renders.places().count(), "taken": renders.places().taken()}))
}

/// The session that a path names.
pub(crate) struct Named(pub(crate) Arc<Session>);

impl FromRequestParts<Arc<Sessions>> for Named {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, sessions: &Arc<Sessions>) -> Result<Self, ApiError> {
        let Path(id) = Path::<String>::from_request_parts(parts, sessions).await.map_err(|_| ApiError::no_session())?;
        sessions.get(&id).map(Self)
    }
}

/// What the query asks for.
pub(crate) struct Asked<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<Sessions>> for Asked<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, sessions: &Arc<Sessions>) -> Result<Self, ApiError> {
        let query = Query::<T>::from_request_parts(parts, sessions).await;
        query.map(|Query(asked)| Self(asked)).map_err(|error| ApiError::bad_request(error.body_text()))
    }
}

/// What a body of JSON asks for.
pub(crate) async fn body_json<T: DeserializeOwned>(body: Body) -> Result<T, ApiError> {
    let late = |_elapsed| {
        let message = format!("the body did not come within {} s", JSON_TIME_MAX.as_secs());
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message)
    };
    let body = timeout(JSON_TIME_MAX, to_bytes(body, JSON_BYTES_MAX))
        .await
        .map_err(late)?
        .map_err(|error| ApiError::bad_request(error.to_string()))?;
    serde_json::from_slice(&body).map_err(|error| ApiError::bad_request(error.to_string()))
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

async fn create(State(sessions): Shared, body: Body) -> Result<(StatusCode, Json<session::View>), ApiError> {
    let wanted: NewSession = body_json(body).await?;
    let format = wanted.format.as_deref().map(formats::parse).transpose()?;
    let name = wanted.name.unwrap_or_else(|| "upload".to_owned());
    if name.len() > NAME_BYTES_MAX {
        return Err(ApiError::bad_request(format!("a name has at most {NAME_BYTES_MAX} bytes")));
    }
    let _room = sessions.make_room().await;
    let session = if wanted.sample { start_sample(&sessions)? } else { sessions.create(name, wanted.size, false, format)? };
    Ok((StatusCode::CREATED, Json(session.view(sessions.idle_max()))))
}

fn start_sample(sessions: &Sessions) -> Result<Arc<Session>, ApiError> {
    let session = sessions.create("sample.log".to_owned(), Some(SAMPLE.len() as u64), true, None)?;
    let running = Arc::clone(&session);
    tokio::task::spawn_blocking(move || running.run_input(Input::from_reader("sample.log", Box::new(Cursor::new(SAMPLE)))));
    Ok(session)
}

async fn list(State(sessions): Shared) -> Json<Value> {
    let views: Vec<session::View> = sessions.list().iter().map(|session| session.view(sessions.idle_max())).collect();
    Json(json!({"sessions": views}))
}

async fn show(State(sessions): Shared, Named(session): Named) -> Live {
    Live::new(&sessions, &session).await
}

async fn forget(State(sessions): Shared, Named(session): Named) -> Result<StatusCode, ApiError> {
    sessions.remove(session.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct At {
    #[serde(default)]
    offset: u64,
}

async fn data(
    State(sessions): Shared,
    Named(session): Named,
    Asked(at): Asked<At>,
    body: Body,
) -> Result<Json<session::View>, ApiError> {
    // A task of its own: bytes that were counted as taken must reach the run even when the client goes away and this
    // handler is dropped.
    let task = tokio::spawn(upload(Arc::clone(&session), at.offset, body));
    match task.await {
        Ok(result) => result?,
        Err(error) => return Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", error.to_string())),
    }
    Ok(Json(session.view(sessions.idle_max())))
}

async fn cancel(State(sessions): Shared, Named(session): Named) -> Json<session::View> {
    session.cancel();
    session.ended().await;
    Json(session.view(sessions.idle_max()))
}

async fn live(State(sessions): Shared, Named(session): Named) -> Response {
    events(sessions, session)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HistogramSpan {
    from: Option<f64>,
    to: Option<f64>,
    buckets: Option<usize>,
}

async fn histogram(
    Named(session): Named,
    Extension(twin): Extension<Twin>,
    Asked(span): Asked<HistogramSpan>,
) -> Result<Json<Option<Histogram>>, ApiError> {
    let second = |time: Option<f64>| match time {
        Some(time) if !time.is_finite() => Err(ApiError::bad_request("a time is a finite number of seconds")),
        time => Ok(time.map(|time| (time.floor() * 1e6) as i64)),
    };
    let (default, most) = BUCKETS;
    let buckets = span.buckets.unwrap_or(default);
    if buckets == 0 {
        return Err(ApiError::bad_request("a histogram has at least one bucket"));
    }
    let view = View { from_us: second(span.from)?, to_us: second(span.to)?, ..View::default() };
    let wanted = Wanted { top: 0, buckets: buckets.min(most), stack: Stack::Class };
    let viewed = session.rows().ask(&twin, None, move |store, control| store.view(&view, &wanted, control)).await?;
    Ok(Json(viewed.histogram))
}

async fn server(State(sessions): Shared) -> Json<ServerView> {
    Json(ServerView::new(&sessions))
}

//! The handlers, as `docs/api.md` lists them.

use crate::auth::{RequestGate, guard};
use crate::discard;
use crate::disconnect_watch::DisconnectWatch;
use crate::error::ApiError;
use crate::exports;
use crate::formats;
use crate::limits::{BUCKETS, JSON_BYTES_MAX, JSON_TIME_MAX, SESSIONS_LISTED_MAX};
use crate::live::{LiveState, ServerView, events};
use crate::observe::observe;
use crate::page::{page, wrong_method};
use crate::render::{Renders, render};
use crate::reports::{CappedWriter, capped_json};
use crate::response_permits::{BodyTicket, PermitOwner};
use crate::routes::RouteTable;
use crate::session::{self, NewUpload, Session};
use crate::sessions::Sessions;
use crate::transport::{BodyTransport, TransferEnd};
use crate::upload::{self, Intake};
use crate::views;
use crate::{oneshot, socket, tus};
use axum::body::{Body, HttpBody};
use axum::extract::rejection::ExtensionRejection;
use axum::extract::{DefaultBodyLimit, Extension, FromRequestParts, Path, Query, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::{Json, Router};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use rorqual_crossfilter::{RowStore, Stack, View, ViewParts};
use rorqual_pipe::{Control, Input};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::io::{Cursor, Write};
use std::sync::Arc;
use tokio::time::timeout;

/// Ten thousand real lines, to try the explorer with.
const SAMPLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sample.log.gz"));

type ServerState = State<Arc<Sessions>>;

/// The explorer, and the routes beside it.
pub(crate) fn router(sessions: Arc<Sessions>, beside: Vec<Router>, gate: Arc<RequestGate>) -> Router {
    let routes = routes().into_router(sessions).merge(discard::router());
    beside
        .into_iter()
        .fold(routes, Router::merge)
        .method_not_allowed_fallback(wrong_method)
        .fallback(page)
        .layer(DefaultBodyLimit::disable())
        .layer(axum::middleware::from_fn_with_state(gate, guard))
        .layer(axum::middleware::from_fn(observe))
}

/// Sessions and uploads into them.
pub(crate) fn routes() -> RouteTable<Arc<Sessions>> {
    RouteTable::new()
        .get("/api/server", server)
        .post("/api/sessions", create)
        .get("/api/sessions", list)
        .get("/api/sessions/{id}", show)
        .delete("/api/sessions/{id}", forget)
        .put("/api/sessions/{id}/data", data)
        .get("/api/sessions/{id}/socket", socket::socket)
        .post("/api/sessions/{id}/cancel", cancel)
        .get("/api/sessions/{id}/live", live)
        .get("/api/sessions/{id}/histogram", histogram)
        .post("/api/sessions/{id}/view", views::view)
        .post("/api/sessions/{id}/panel", views::panel)
        .post("/api/sessions/{id}/rows", views::rows)
        .post("/api/sessions/{id}/compare", views::compare)
        .post("/api/sessions/{id}/explain", views::explain)
        .post("/api/sessions/{id}/rates", views::rates)
        .get("/api/sessions/{id}/rejects", views::rejects)
        .get("/api/sessions/{id}/export", exports::rows)
        .get("/api/sessions/{id}/panel.csv", exports::panel)
        .get("/api/sessions/{id}/report.html", exports::report)
        .post("/api/sessions/{id}/format/try", formats::try_format)
        .put("/api/upload", oneshot::unnamed)
        .post("/api/upload", oneshot::unnamed)
        .put("/api/upload/", oneshot::unnamed)
        .post("/api/upload/", oneshot::unnamed)
        .put("/api/upload/{*name}", oneshot::named)
        .post("/api/upload/{*name}", oneshot::named)
        .any(&tus::UPLOADS_METHODS, "/api/tus", tus::uploads)
        .any(&tus::UPLOADS_METHODS, "/api/tus/", tus::uploads)
        .any(&tus::UPLOAD_METHODS, "/api/tus/{id}", tus::upload)
}

/// Templates, where `serve --templates` was given.
pub(crate) fn render_routes() -> RouteTable<Arc<Renders>> {
    RouteTable::new().get("/render", places).get("/render/{*name}", render)
}

async fn places(State(renders): State<Arc<Renders>>) -> Json<Value> {
    Json(json!({"places": renders.places().count(), "taken": renders.places().taken()}))
}

/// The session that a path names.
pub(crate) struct PathSession(pub(crate) Arc<Session>);

impl FromRequestParts<Arc<Sessions>> for PathSession {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, sessions: &Arc<Sessions>) -> Result<Self, ApiError> {
        let Path(id) = Path::<String>::from_request_parts(parts, sessions).await.map_err(|_| ApiError::no_session())?;
        sessions.get(&id).map(Self)
    }
}

/// The name in a path, which has to be UTF-8.
pub(crate) struct PathKey(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathKey {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = Path::<String>::from_request_parts(parts, state).await;
        path.map(|Path(key)| Self(key)).map_err(|error| ApiError::bad_request(error.body_text()))
    }
}

/// The client that asks about rows: a connection that may leave, and may have tickets.
pub(crate) struct Requester {
    pub(crate) twin: DisconnectWatch,
    pub(crate) holder: PermitOwner,
}

impl<S: Send + Sync> FromRequestParts<S> for Requester {
    type Rejection = ExtensionRejection;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ExtensionRejection> {
        let Extension(twin) = Extension::<DisconnectWatch>::from_request_parts(parts, state).await?;
        let Extension(holder) = Extension::<PermitOwner>::from_request_parts(parts, state).await?;
        Ok(Self { twin, holder })
    }
}

/// Parameters of the query.
pub(crate) struct SessionQuery<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequestParts<Arc<Sessions>> for SessionQuery<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, sessions: &Arc<Sessions>) -> Result<Self, ApiError> {
        let query = Query::<T>::from_request_parts(parts, sessions).await;
        query.map(|Query(asked)| Self(asked)).map_err(|error| ApiError::bad_request(error.body_text()))
    }
}

/// Reads a body of JSON; the ticket is for its memory, as long as that is held.
pub(crate) async fn body_json<T: DeserializeOwned>(holder: &PermitOwner, body: Body) -> Result<(T, BodyTicket), ApiError> {
    let ticket = holder.body_ticket(body.size_hint().exact()).await;
    let late = |_elapsed| {
        let message = format!("the body did not come within {} s", JSON_TIME_MAX.as_secs());
        ApiError::new(StatusCode::REQUEST_TIMEOUT, "too_slow", message)
    };
    let body = timeout(JSON_TIME_MAX, Limited::new(body, JSON_BYTES_MAX).collect()).await.map_err(late)?.map_err(|error| {
        if !error.is::<LengthLimitError>() {
            return ApiError::bad_request(error.to_string());
        }
        let message = format!("a body of JSON has at most {JSON_BYTES_MAX} bytes; send less at a time");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", message).with("size", JSON_BYTES_MAX)
    })?;
    let body = body.to_bytes();
    let asked = serde_json::from_slice(&body).map_err(|error| ApiError::bad_request(error.to_string()))?;
    Ok((asked, ticket))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewSession {
    name: Option<String>,
    size: Option<u64>,
    format: Option<String>,
    fingerprint: Option<String>,
    #[serde(default)]
    sample: bool,
}

async fn create(
    State(sessions): ServerState,
    Extension(holder): Extension<PermitOwner>,
    body: Body,
) -> Result<(StatusCode, Json<session::SessionView>), ApiError> {
    let (wanted, _ticket): (NewSession, _) = body_json(&holder, body).await?;
    let format = wanted.format.as_deref().map(formats::parse).transpose()?;
    let name = wanted.name.unwrap_or_else(|| "upload".to_owned());
    let announced = NewUpload::upload(name, wanted.size)?.with_fingerprint(wanted.fingerprint)?;
    let session = if wanted.sample { start_sample(&sessions).await? } else { sessions.begin(announced, format).await? };
    Ok((StatusCode::CREATED, Json(session.view(sessions.idle_max()))))
}

async fn start_sample(sessions: &Arc<Sessions>) -> Result<Arc<Session>, ApiError> {
    let session = sessions.begin(NewUpload::file("sample.log.gz".to_owned(), Some(SAMPLE.len() as u64)), None).await?;
    let running = Arc::clone(&session);
    tokio::spawn(async move {
        let turn = running.own_turn(true).await;
        let run = move || {
            running.run_input(Input::from_reader("sample.log.gz", Box::new(Cursor::new(SAMPLE))));
            drop(turn);
        };
        // A panic has failed the session.
        let _ = tokio::task::spawn_blocking(run).await;
    });
    Ok(session)
}

/// The newest sessions, as many as a list has.
async fn list(State(sessions): ServerState, Extension(holder): Extension<PermitOwner>) -> Response {
    let ticket = holder.ticket().await;
    let all = sessions.list();
    let mut json = CappedWriter::default();
    let mut listed = 0;
    // One that does not fit is the first that is left out.
    let _ = json.write_all(b"{\"sessions\":[");
    for session in all.iter().take(SESSIONS_LISTED_MAX) {
        let mut view = serde_json::to_vec(&session.view(sessions.idle_max())).unwrap_or_default();
        if listed > 0 {
            view.insert(0, b',');
        }
        if json.write_all(&view).is_err() {
            break;
        }
        listed += 1;
    }
    json.end(format!("],\"more\":{}}}", listed < all.len()).as_bytes());
    views::json(ticket, json.into_bytes())
}

async fn show(
    State(sessions): ServerState,
    PathSession(session): PathSession,
    Extension(holder): Extension<PermitOwner>,
) -> LiveState {
    LiveState::new(&sessions, &session, &holder).await
}

async fn forget(State(sessions): ServerState, PathSession(session): PathSession) -> Result<StatusCode, ApiError> {
    sessions.remove(session.id()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Offset from which an upload goes on.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct UploadOffset {
    #[serde(default)]
    pub(crate) offset: u64,
}

async fn data(
    State(sessions): ServerState,
    PathSession(session): PathSession,
    SessionQuery(at): SessionQuery<UploadOffset>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<session::SessionView>, ApiError> {
    upload::check_encoding(&headers)?;
    let intake = Intake::claim(Arc::clone(&session), at.offset, body.size_hint().exact())?;
    upload::detached(async move { intake.take(&mut BodyTransport::new(body, TransferEnd::Log)).await }).await?;
    Ok(Json(session.view(sessions.idle_max())))
}

async fn cancel(State(sessions): ServerState, PathSession(session): PathSession) -> Json<session::SessionView> {
    session.cancel();
    session.ended().await;
    Json(session.view(sessions.idle_max()))
}

async fn live(
    State(sessions): ServerState,
    PathSession(session): PathSession,
    Extension(holder): Extension<PermitOwner>,
) -> Response {
    events(sessions, session, holder)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HistogramSpan {
    from: Option<f64>,
    to: Option<f64>,
    buckets: Option<usize>,
}

async fn histogram(
    PathSession(session): PathSession,
    asker: Requester,
    SessionQuery(span): SessionQuery<HistogramSpan>,
) -> Result<Response, ApiError> {
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
    let wanted = ViewParts { top: 0, buckets: buckets.min(most), stack: Stack::Class };
    let ask = move |store: &RowStore, control: &Control| {
        let mut histogram = store.view(&view, &wanted, control)?.histogram;
        Ok(capped_json(&mut histogram, 0, |_, _| {}))
    };
    views::answer(&session, &asker, None, ask).await
}

async fn server(State(sessions): ServerState) -> Json<ServerView> {
    Json(ServerView::new(&sessions))
}

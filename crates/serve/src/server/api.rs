//! The handlers, as `docs/api.md` lists them.

use crate::admission::response_permits::{PermitOwner, Ticket};
use crate::explore::live::{LiveState, ServerView, events};
use crate::explore::path_session::PathSession;
use crate::explore::reports::{CappedWriter, capped_json};
use crate::explore::sessions::Sessions;
use crate::explore::{exports, find, fleet_parts, formats, saved_views, sql, suggest, views};
use crate::fleet::handlers::{self, FleetState};
use crate::http::auth::{RequestGate, guard};
use crate::http::error::ApiError;
use crate::http::extract::{QueryParams, Requester, body_json};
use crate::http::page::{page, wrong_method};
use crate::http::routes::{Route, RouteTable};
use crate::ingest::transport::{BodyTransport, TransferEnd};
use crate::ingest::upload::{self, Intake, UploadOffset};
use crate::ingest::{discard, oneshot, socket, tus};
use crate::limits::{BUCKETS, SESSIONS_LISTED_MAX};
use crate::monitor::observe::observe;
use crate::monitor::vitals;
use crate::render::{Renders, render};
use crate::session::shown::SessionView;
use crate::session::{NewUpload, Session, uploaded_files_max};
use crate::state::LogPart;
use crate::store;
use axum::body::{Body, HttpBody};
use axum::extract::{DefaultBodyLimit, Extension, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use axum::{Json, Router};
use rorqual_accesslog::schema::{NumberUnit, OwnColumn, Schema};
use rorqual_crossfilter::{RowStore, Stack, View, ViewParts};
use rorqual_pipe::{Control, Input};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io::{Cursor, Write};
use std::sync::Arc;

/// Ten thousand real lines, to try the explorer with.
const SAMPLE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sample.log.gz"));

type ServerState = State<Arc<Sessions>>;

/// The explorer, and the routes beside it.
pub(crate) fn router(sessions: Arc<Sessions>, beside: Vec<Router>, gate: Arc<RequestGate>) -> Router {
    let of_fleet = sessions.fleet().cloned();
    let of_fleet = of_fleet.map(|fleet| handlers::router(FleetState { fleet, sessions: Arc::clone(&sessions) }));
    let beside = beside.into_iter().chain(of_fleet);
    let routes = session_routes().into_router(sessions).merge(discard::router(&gate.admission));
    beside
        .fold(routes, Router::merge)
        .method_not_allowed_fallback(wrong_method)
        .fallback(page)
        .layer(DefaultBodyLimit::disable())
        .layer(axum::middleware::from_fn_with_state(gate, guard))
        .layer(axum::middleware::from_fn(observe))
}

/// Sessions and uploads into them.
fn session_routes() -> RouteTable<Arc<Sessions>> {
    RouteTable::new()
        .get("/api/server", server)
        .post("/api/sessions", create)
        .get("/api/sessions", list)
        .get("/api/sessions/{id}", show)
        .delete("/api/sessions/{id}", forget)
        .put("/api/sessions/{id}/data", data)
        .get("/api/sessions/{id}/socket", socket::socket)
        .post("/api/sessions/{id}/cancel", cancel)
        .get("/api/sessions/{id}/columns", columns)
        .get("/api/sessions/{id}/live", live)
        .get("/api/sessions/{id}/histogram", histogram)
        .post("/api/sessions/{id}/part", fleet_parts::part)
        .post("/api/sessions/{id}/view", views::view)
        .post("/api/sessions/{id}/panel", views::panel)
        .post("/api/sessions/{id}/rows", views::rows)
        .post("/api/sessions/{id}/find", find::find)
        .post("/api/sessions/{id}/compare", views::compare)
        .post("/api/sessions/{id}/explain", views::explain)
        .post("/api/sessions/{id}/findings", views::findings)
        .post("/api/sessions/{id}/rates", views::rates)
        .post("/api/sessions/{id}/breakdown", views::breakdown)
        .post("/api/sessions/{id}/timeseries", views::timeseries)
        .post("/api/sessions/{id}/suggest", suggest::suggest)
        .get("/api/sessions/{id}/rejects", views::rejects)
        .get("/api/sessions/{id}/export", exports::rows)
        .get("/api/sessions/{id}/panel.csv", exports::panel)
        .get("/api/sessions/{id}/report.html", exports::report)
        .get("/api/sessions/{id}/sql", sql::sql)
        .post("/api/sessions/{id}/format/try", formats::try_format)
        .get("/api/views", saved_views::list)
        .put("/api/views/{name}", saved_views::save)
        .delete("/api/views/{name}", saved_views::remove)
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

/// All routes of a server that has templates and a store.
#[must_use]
pub fn routes() -> Vec<Route> {
    let (own, discards, vitals) = (session_routes().listed(), discard::routes().listed(), vitals::routes().listed());
    [own, discards, vitals, render_routes().listed(), store::routes().listed()].concat()
}

/// Templates, where `serve --templates` was given.
pub(crate) fn render_routes() -> RouteTable<Arc<Renders>> {
    RouteTable::new().get("/render", places).get("/render/{*name}", render)
}

async fn places(State(renders): State<Arc<Renders>>) -> Json<Value> {
    Json(json!({"places": renders.places().count(), "taken": renders.places().taken()}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewSession {
    name: Option<String>,
    size: Option<u64>,
    format: Option<String>,
    fingerprint: Option<String>,
    /// Files that come one after another, and are one log.
    files: Option<Vec<LogPart>>,
    #[serde(default)]
    sample: bool,
}

async fn create(
    State(sessions): ServerState,
    Extension(holder): Extension<PermitOwner>,
    body: Body,
) -> Result<(StatusCode, Json<SessionView>), ApiError> {
    let (wanted, _ticket): (NewSession, _) = body_json(&holder, body).await?;
    let format = wanted.format.as_deref().map(formats::parse).transpose()?;
    let announced = match wanted.files {
        Some(files) => {
            let most = uploaded_files_max(sessions.sessions_max());
            NewUpload::upload_of(wanted.name, wanted.size, files, most)?
        }
        None => NewUpload::upload(wanted.name.unwrap_or_else(|| "upload".to_owned()), wanted.size)?,
    };
    let announced = announced.with_fingerprint(wanted.fingerprint)?;
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
    let of_fleet = sessions.fleet().map(|fleet| serde_json::to_vec(&fleet.session()));
    let views = all.iter().take(SESSIONS_LISTED_MAX).map(|session| serde_json::to_vec(&session.view(sessions.idle_max())));
    for view in of_fleet.into_iter().chain(views) {
        let mut view = view.unwrap_or_default();
        if listed > 0 {
            view.insert(0, b',');
        }
        if json.write_all(&view).is_err() {
            break;
        }
        listed += 1;
    }
    let count = all.len() + usize::from(sessions.fleet().is_some());
    json.end(format!("],\"more\":{}}}", listed < count).as_bytes());
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

async fn data(
    State(sessions): ServerState,
    PathSession(session): PathSession,
    QueryParams(at): QueryParams<UploadOffset>,
    headers: HeaderMap,
    body: Body,
) -> Result<Json<SessionView>, ApiError> {
    upload::check_encoding(&headers)?;
    let intake = Intake::claim(Arc::clone(&session), at.offset, body.size_hint().exact())?;
    upload::detached(async move { intake.take(&mut BodyTransport::new(body, TransferEnd::Log)).await }).await?;
    Ok(Json(session.view(sessions.idle_max())))
}

async fn cancel(State(sessions): ServerState, PathSession(session): PathSession) -> Json<SessionView> {
    session.cancel();
    session.ended().await;
    Json(session.view(sessions.idle_max()))
}

/// The columns of a table.
#[derive(Serialize)]
struct ColumnsAnswer {
    /// In the order of the file; none of a log, which has those of `docs/api.md`.
    columns: Vec<ColumnAnswer>,
}

#[derive(Serialize)]
struct ColumnAnswer {
    name: String,
    kind: &'static str,
    /// Of numbers.
    unit: Option<&'static str>,
    /// Of texts.
    content: Option<&'static str>,
}

async fn columns(PathSession(session): PathSession, Extension(holder): Extension<PermitOwner>) -> Result<Response, ApiError> {
    let ticket = holder.ticket().await;
    columns_of(ticket, &session.schema())
}

/// The own columns of a schema, as they are answered.
pub(crate) fn columns_of(ticket: Ticket, schema: &Schema) -> Result<Response, ApiError> {
    let mut texts = 0..;
    let column = |own: &OwnColumn| ColumnAnswer {
        name: own.name.clone(),
        kind: if own.unit.is_some() { "number" } else { "text" },
        unit: own.unit.map(NumberUnit::name),
        content: if own.unit.is_some() { None } else { texts.next().map(|number| schema.text_kind(number).name()) },
    };
    let mut answer = ColumnsAnswer { columns: schema.own().iter().map(column).collect() };
    let json = capped_json(&mut answer, 0, |_, _| {}).ok_or_else(views::too_long)?;
    Ok(views::json(ticket, json))
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
pub(crate) struct HistogramSpan {
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
    pub(crate) buckets: Option<usize>,
}

impl HistogramSpan {
    /// The view, and its buckets at most.
    pub(crate) fn view(&self) -> Result<(View, usize), ApiError> {
        let second = |time: Option<f64>| match time {
            Some(time) if !time.is_finite() => Err(ApiError::bad_request("a time is a finite number of seconds")),
            time => Ok(time.map(|time| (time.floor() * 1e6) as i64)),
        };
        let (default, most) = BUCKETS;
        let buckets = self.buckets.unwrap_or(default);
        if buckets == 0 {
            return Err(ApiError::bad_request("a histogram has at least one bucket"));
        }
        Ok((View { from_us: second(self.from)?, to_us: second(self.to)?, ..View::default() }, buckets.min(most)))
    }
}

async fn histogram(
    PathSession(session): PathSession,
    asker: Requester,
    QueryParams(span): QueryParams<HistogramSpan>,
) -> Result<Response, ApiError> {
    let (view, buckets) = span.view()?;
    let wanted = ViewParts { top: 0, buckets, stack: Stack::Class, facets: false };
    let ask = move |store: &RowStore, control: &Control| {
        let mut histogram = store.view(&view, &wanted, control)?.histogram;
        Ok(capped_json(&mut histogram, 0, |_, _| {}))
    };
    views::answer(&session, &asker, None, ask).await
}

async fn server(State(sessions): ServerState) -> Json<ServerView> {
    Json(ServerView::new(&sessions))
}

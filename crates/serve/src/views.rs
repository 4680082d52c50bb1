//! Questions about the rows of a session: `POST /api/sessions/{id}/view` and its kin, as `API.md` lists them.

use crate::api::{Named, body_json};
use crate::error::ApiError;
use crate::limits::{BUCKETS, PAGE_NAME_BYTES_MAX, REPORT_BYTES_MAX, TOP_ROWS, VIEW_ROWS};
use crate::reports::capped_json;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use rorqual_table::filter::{Filter, TextColumn};
use rorqual_view::{By, PanelWanted, Stack, Store, View, ViewError, Viewed, Wanted};
use serde::{Deserialize, Serialize};
use std::time::Instant;

/// The schema's name; it changes when a field changes its meaning.
const SCHEMA: &str = "rorqual.view/1";

/// Times are Unix seconds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Span {
    from: Option<f64>,
    to: Option<f64>,
    #[serde(default, rename = "where")]
    filter: String,
}

impl Span {
    fn view(&self) -> Result<View, ApiError> {
        let filter = Filter::parse(&self.filter).map_err(|error| {
            ApiError::new(StatusCode::BAD_REQUEST, "bad_filter", error.message).with("column", error.column as u64)
        })?;
        Ok(View { from_us: micros(self.from)?, to_us: micros(self.to)?, filter })
    }
}

fn micros(seconds: Option<f64>) -> Result<Option<i64>, ApiError> {
    match seconds {
        Some(seconds) if !seconds.is_finite() => Err(ApiError::bad_request("a time is a finite number of seconds")),
        // Beyond what is a time it stays at the ends.
        seconds => Ok(seconds.map(|seconds| (seconds * 1e6) as i64)),
    }
}

/// Who asks; a newer question of the same page ends an older one.
fn page(name: Option<String>) -> Result<Option<String>, ApiError> {
    match name {
        Some(name) if name.len() > PAGE_NAME_BYTES_MAX => {
            Err(ApiError::bad_request(format!("a page's name has at most {PAGE_NAME_BYTES_MAX} bytes")))
        }
        name => Ok(name),
    }
}

fn text_column(name: &str) -> Result<TextColumn, ApiError> {
    let found = TextColumn::ALL.iter().find(|column| column.name() == name);
    found.copied().ok_or_else(|| ApiError::bad_request(format!("there is no field '{name}'")))
}

fn stack(name: Option<&str>) -> Result<Stack, ApiError> {
    match name {
        None | Some("class") => Ok(Stack::Class),
        Some("bot") => Ok(Stack::Bot),
        Some(name) => text_column(name).map(Stack::Values),
    }
}

/// An answer with what it took, and as many rows a table as fit.
fn answer<T: Serialize>(seconds: f64, mut value: T, rows: usize, cut: impl FnMut(&mut T, usize)) -> Result<Response, ApiError> {
    let json = capped_json(&mut value, rows, REPORT_BYTES_MAX, cut).ok_or_else(|| {
        let message = format!("the answer would be above {REPORT_BYTES_MAX} bytes; ask for less");
        ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", message)
    })?;
    let headers = [(header::CONTENT_TYPE, "application/json".to_owned()), (header::CACHE_CONTROL, "no-store".to_owned())];
    let timing = [("server-timing", format!("rows;dur={:.1}", seconds * 1e3))];
    Ok((headers, timing, Body::from(Bytes::from(json))).into_response())
}

/// What is asked, and how many seconds the answer took.
fn timed<T>(ask: impl FnOnce(&Store, &rorqual_pipe::Control) -> Result<T, ViewError>) -> impl FnOnce(&Store, &rorqual_pipe::Control) -> Result<(f64, T), ViewError> {
    move |store, control| {
        let begun = Instant::now();
        ask(store, control).map(|answer| (begun.elapsed().as_secs_f64(), answer))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ViewAsked {
    #[serde(default)]
    view: Span,
    page: Option<String>,
    stack: Option<String>,
    buckets: Option<usize>,
    top: Option<usize>,
}

#[derive(Serialize)]
struct ViewAnswer {
    schema: &'static str,
    /// Nothing more will come.
    complete: bool,
    /// What the server worked for it.
    seconds: f64,
    /// The clock of the log, east of UTC.
    zone_seconds: i32,
    #[serde(flatten)]
    viewed: Viewed,
}

pub(crate) async fn view(Named(session): Named, body: Body) -> Result<Response, ApiError> {
    let asked: ViewAsked = body_json(body).await?;
    let (look, stack) = (asked.view.view()?, stack(asked.stack.as_deref())?);
    let (default, most) = BUCKETS;
    let top = asked.top.unwrap_or(VIEW_ROWS).min(TOP_ROWS);
    let wanted = Wanted { top, buckets: asked.buckets.unwrap_or(default).clamp(1, most), stack };
    // Seen before the rows are: what is shown as complete has all of them.
    let complete = session.state().ended();
    let rows = session.rows();
    let ask = timed(move |store: &Store, control: &_| {
        store.refresh();
        store.view(&look, &wanted, control)
    });
    let (seconds, viewed) = rows.ask(page(asked.page)?, ask).await?;
    let value = ViewAnswer { schema: SCHEMA, complete, seconds, zone_seconds: session.zone_seconds(), viewed };
    answer(seconds, value, top, |value, rows| value.viewed.panels.iter_mut().for_each(|panel| panel.rows.truncate(rows)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PanelAsked {
    #[serde(default)]
    view: Span,
    page: Option<String>,
    field: String,
    search: Option<String>,
    #[serde(default)]
    offset: usize,
    limit: Option<usize>,
}

pub(crate) async fn panel(Named(session): Named, body: Body) -> Result<Response, ApiError> {
    let asked: PanelAsked = body_json(body).await?;
    let (look, column) = (asked.view.view()?, text_column(&asked.field)?);
    let limit = asked.limit.unwrap_or(VIEW_ROWS).min(TOP_ROWS);
    let wanted = PanelWanted { search: asked.search, offset: asked.offset, limit };
    let ask = timed(move |store: &Store, control: &_| store.panel(&look, column, &wanted, control));
    let (seconds, panel) = session.rows().ask(page(asked.page)?, ask).await?;
    answer(seconds, panel, limit, |panel, rows| panel.rows.truncate(rows))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RowsAsked {
    #[serde(default)]
    view: Span,
    page: Option<String>,
    #[serde(default)]
    offset: u64,
    limit: Option<usize>,
}

pub(crate) async fn rows(Named(session): Named, body: Body) -> Result<Response, ApiError> {
    let asked: RowsAsked = body_json(body).await?;
    let look = asked.view.view()?;
    let limit = asked.limit.unwrap_or(TOP_ROWS).min(TOP_ROWS);
    let ask = timed(move |store: &Store, control: &_| store.page(&look, asked.offset, limit, control));
    let (seconds, page) = session.rows().ask(page(asked.page)?, ask).await?;
    answer(seconds, page, limit, |page, rows| page.rows.truncate(rows))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CompareAsked {
    a: Span,
    b: Span,
    page: Option<String>,
    top: Option<usize>,
}

pub(crate) async fn compare(Named(session): Named, body: Body) -> Result<Response, ApiError> {
    let asked: CompareAsked = body_json(body).await?;
    let (a, b) = (asked.a.view()?, asked.b.view()?);
    let top = asked.top.unwrap_or(VIEW_ROWS).min(TOP_ROWS);
    let wanted = Wanted { top, buckets: BUCKETS.0, stack: Stack::Class };
    let ask = timed(move |store: &Store, control: &_| store.compare(&a, &b, &wanted, control));
    let (seconds, compared) = session.rows().ask(page(asked.page)?, ask).await?;
    answer(seconds, compared, top, |compared, rows| {
        compared.panels.iter_mut().for_each(|panel| panel.rows.truncate(rows));
        [&mut compared.a, &mut compared.b].into_iter().flat_map(|viewed| &mut viewed.panels).for_each(|panel| panel.rows.truncate(rows));
    })
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExplainAsked {
    /// The rows asked about.
    select: Span,
    /// The rows they are a part of.
    #[serde(default)]
    view: Span,
    page: Option<String>,
}

pub(crate) async fn explain(Named(session): Named, body: Body) -> Result<Response, ApiError> {
    let asked: ExplainAsked = body_json(body).await?;
    let (select, against) = (asked.select.view()?, asked.view.view()?);
    let ask = timed(move |store: &Store, control: &_| store.explain(&select, &against, control));
    let (seconds, explained) = session.rows().ask(page(asked.page)?, ask).await?;
    answer(seconds, explained, TOP_ROWS, |explained, rows| explained.findings.truncate(rows))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RatesAsked {
    #[serde(default)]
    view: Span,
    page: Option<String>,
    #[serde(default)]
    by: ByAsked,
    top: Option<usize>,
    #[serde(default)]
    limits_per_minute: Vec<u64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum ByAsked {
    #[default]
    Client,
    Net,
}

/// Limits whose effect one answer tells.
const LIMITS_MAX: usize = 8;

pub(crate) async fn rates(Named(session): Named, body: Body) -> Result<Response, ApiError> {
    let asked: RatesAsked = body_json(body).await?;
    if asked.limits_per_minute.len() > LIMITS_MAX {
        return Err(ApiError::bad_request(format!("at most {LIMITS_MAX} limits at a time")));
    }
    let look = asked.view.view()?;
    let by = match asked.by {
        ByAsked::Client => By::Client,
        ByAsked::Net => By::Net,
    };
    let top = asked.top.unwrap_or(VIEW_ROWS).min(TOP_ROWS);
    let ask = timed(move |store: &Store, control: &_| store.rates(&look, by, top, &asked.limits_per_minute, control));
    let (seconds, rates) = session.rows().ask(page(asked.page)?, ask).await?;
    answer(seconds, rates, top, |rates, count| rates.fastest.truncate(count))
}

//! Questions about the rows of a session: `POST /api/sessions/{id}/view` and its kin, as
//! `docs/api.md` lists them.

use crate::admission::response_permits::Ticket;
use crate::explore::answers::{
    AnswerWithHint, BreakdownAnswer, CompareAnswer, ExplainAnswer, FindingsAnswer, RatesAnswer, Rebuilt, RowsAnswer, SortAnswer,
    TimeSeriesAnswer, ViewAnswer, ViewOrigin,
};
use crate::explore::path_session::PathSession;
use crate::explore::reports::capped_json;
use crate::http::error::ApiError;
use crate::http::extract::{Requester, body_json};
use crate::limits::{BUCKETS, PAGE_NAME_BYTES_MAX, REPORT_BYTES_MAX, TOP_ROWS, VIEW_ROWS};
use crate::session::Session;
use axum::body::Body;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use rorqual_accesslog::filter::{Filter, Flag};
use rorqual_accesslog::report::NoteSample;
use rorqual_accesslog::schema::{NumberColumn, Schema, TextColumn};
use rorqual_crossfilter::limits::{BREAKDOWN_VALUES_MAX, SORTED_ROWS_MAX};
use rorqual_crossfilter::{
    BreakdownMetric, BreakdownWanted, BucketWidth, ComparisonBase, Limit, LineFormats, MetricSet, OverTimeWanted, PanelWanted,
    RateGrouping, RateUnit, RowOrder, RowStore, Stack, UnusualKind, View, ViewError, ViewParts,
};
use rorqual_pipe::Control;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

/// Times are Unix seconds.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SpanQuery {
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
    #[serde(default, rename = "where", deserialize_with = "text_or_none")]
    pub(crate) filter: String,
}

/// No filter is an empty one.
pub(crate) fn text_or_none<'a, D: Deserializer<'a>>(deserializer: D) -> Result<String, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

impl SpanQuery {
    pub(crate) fn new(from: Option<f64>, to: Option<f64>, filter: String) -> Self {
        Self { from, to, filter }
    }

    fn view(&self, session: &Session, schema: &Schema) -> Result<View, ApiError> {
        let filter = schema.filter(&self.filter).map_err(|error| {
            ApiError::new(StatusCode::BAD_REQUEST, "bad_filter", error.message).with("column", error.column as u64 - 1)
        })?;
        session.has_room_for(&filter)?;
        Ok(View { from_us: micros(self.from)?, to_us: micros(self.to)?, filter })
    }
}

/// A view that waits for its turn, and its filter with it as a text: many may wait, and compiled
/// each would take megabytes.
pub(crate) struct QueuedView(SpanQuery);

impl QueuedView {
    /// Refuses a wrong one at once.
    pub(crate) fn new(session: &Session, span: SpanQuery) -> Result<Self, ApiError> {
        span.view(session, &session.schema()).map(|_| Self(span))
    }

    /// It was read before; only rows with other columns came meanwhile.
    pub(crate) fn view(&self, session: &Session, store: &RowStore) -> Result<View, ViewError> {
        self.0.view(session, &store.schema()).map_err(|_| ViewError::Cancelled)
    }
}

/// The view of a question's own span.
pub(crate) fn span(session: &Session, from: Option<f64>, to: Option<f64>, filter: String) -> Result<View, ApiError> {
    SpanQuery { from, to, filter }.view(session, &session.schema())
}

pub(crate) fn micros(seconds: Option<f64>) -> Result<Option<i64>, ApiError> {
    match seconds {
        Some(seconds) if !seconds.is_finite() => Err(ApiError::bad_request("a time is a finite number of seconds")),
        // Beyond the range of times it stays at the ends.
        seconds => Ok(seconds.map(|seconds| (seconds * 1e6) as i64)),
    }
}

/// The asking page: a question with a higher turn ends one of the same page with a lower one, in
/// either order of arrival.
pub(crate) fn asking(page: Option<String>, turn: u64) -> Result<Option<(String, u64)>, ApiError> {
    match page {
        Some(name) if name.len() > PAGE_NAME_BYTES_MAX => {
            Err(ApiError::bad_request(format!("a page's name has at most {PAGE_NAME_BYTES_MAX} bytes")))
        }
        name => Ok(name.map(|name| (name, turn))),
    }
}

pub(crate) fn text_column(schema: &Schema, name: &str) -> Result<TextColumn, ApiError> {
    schema.text(name).ok_or_else(|| ApiError::bad_request(format!("there is no field '{name}'")))
}

/// The column of a panel; `None` is the status.
pub(crate) fn panel_column(schema: &Schema, name: &str) -> Result<Option<TextColumn>, ApiError> {
    if schema.number(name) == Some(NumberColumn::STATUS) { Ok(None) } else { text_column(schema, name).map(Some) }
}

pub(crate) fn stack(schema: &Schema, name: Option<&str>) -> Result<Stack, ApiError> {
    match name {
        Some(name) if schema.is_table() && schema.text(name).is_some() => text_column(schema, name).map(Stack::Values),
        None | Some("class") => Ok(Stack::Class),
        Some("bot") if !schema.is_table() => Ok(Stack::Bot),
        Some(name) => text_column(schema, name).map(Stack::Values),
    }
}

/// Asks the rows of a session, and answers with the JSON of the result; `None` is one that would be
/// too long. It is made under the question's permit, so the result is held once.
pub(crate) async fn answer(
    session: &Session,
    asker: &Requester,
    page: Option<(String, u64)>,
    ask: impl FnOnce(&RowStore, &Control) -> Result<Option<Bytes>, ViewError> + Send + 'static,
) -> Result<Response, ApiError> {
    let (ticket, made) = session.rows().ask(&asker.twin, page, asker.holder.ticket(), ask).await?;
    made.map(|made| json(ticket, made)).ok_or_else(too_long)
}

/// An answer of JSON, which has its ticket until it was taken.
pub(crate) fn json(ticket: Ticket, json: Bytes) -> Response {
    ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], ticket.on(json)).into_response()
}

pub(crate) fn too_long() -> ApiError {
    let message = format!("the answer would be above {REPORT_BYTES_MAX} bytes; ask for less");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", message)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ViewAsked {
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
    #[serde(default, rename = "where", deserialize_with = "text_or_none")]
    pub(crate) filter: String,
    pub(crate) page: Option<String>,
    #[serde(default)]
    pub(crate) turn: u64,
    pub(crate) stack: Option<String>,
    pub(crate) buckets: Option<usize>,
    pub(crate) top: Option<usize>,
    #[serde(default)]
    pub(crate) facets: bool,
}

pub(crate) async fn view(PathSession(session): PathSession, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (ViewAsked, _) = body_json(&asker.holder, body).await?;
    let (look, stacked) =
        (QueuedView::new(&session, SpanQuery { from: asked.from, to: asked.to, filter: asked.filter })?, asked.stack);
    stack(&session.schema(), stacked.as_deref())?;
    let (default, most) = BUCKETS;
    let top = asked.top.unwrap_or(VIEW_ROWS).min(TOP_ROWS);
    let buckets = asked.buckets.unwrap_or(default).clamp(1, most);
    // Taken before the rows: a view shown as complete has all of them.
    let complete = session.state().ended();
    let hint = session.hint();
    let asked_of = Arc::clone(&session);
    let page = asking(asked.page, asked.turn)?;
    let ask = move |store: &RowStore, control: &Control| {
        let begun = Instant::now();
        store.refresh();
        let stack = stack(&store.schema(), stacked.as_deref()).map_err(|_| ViewError::Cancelled)?;
        let wanted = ViewParts { top, buckets, stack, facets: asked.facets };
        let (viewed, hint) = hint.beside(store.view(&look.view(&asked_of, store)?, &wanted, control)?, store);
        let seconds = begun.elapsed().as_secs_f64();
        let origin = ViewOrigin::of_store(stack, store, viewed.rows.dropped);
        let value = ViewAnswer::new(viewed, origin, complete, seconds, asked_of.zone_seconds(), top);
        let cut = |value: &mut AnswerWithHint<ViewAnswer>, rows| value.answer.truncate(rows);
        Ok(capped_json(&mut AnswerWithHint { answer: value, hint }, top, cut))
    };
    answer(&session, &asker, page, ask).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PanelQuery {
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
    #[serde(default, rename = "where", deserialize_with = "text_or_none")]
    pub(crate) filter: String,
    pub(crate) field: String,
    pub(crate) search: Option<String>,
    #[serde(default)]
    pub(crate) offset: usize,
    pub(crate) limit: Option<usize>,
    #[serde(default)]
    pub(crate) facets: bool,
}

pub(crate) async fn panel(PathSession(session): PathSession, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (PanelQuery, _) = body_json(&asker.holder, body).await?;
    let look = QueuedView::new(&session, SpanQuery { from: asked.from, to: asked.to, filter: asked.filter })?;
    panel_column(&session.schema(), &asked.field)?;
    let limit = asked.limit.unwrap_or(VIEW_ROWS).min(TOP_ROWS);
    let wanted = PanelWanted { search: asked.search, offset: asked.offset, limit };
    let asked_of = Arc::clone(&session);
    let ask = move |store: &RowStore, control: &Control| {
        let mut look = look.view(&asked_of, store)?;
        let column = panel_column(&store.schema(), &asked.field).map_err(|_| ViewError::Cancelled)?;
        if asked.facets {
            look = look.without_choices(column);
        }
        let mut panel = match column {
            Some(column) => store.panel(&look, column, &wanted, control),
            None => store.statuses(&look, &wanted, control),
        }?;
        Ok(capped_json(&mut panel, limit, |panel, rows| panel.rows.truncate(rows)))
    };
    answer(&session, &asker, None, ask).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RowsQuery {
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
    #[serde(default, rename = "where", deserialize_with = "text_or_none")]
    pub(crate) filter: String,
    #[serde(default)]
    pub(crate) offset: u64,
    pub(crate) limit: Option<usize>,
    /// The offset counts from the end, and the last row comes first.
    #[serde(default)]
    pub(crate) from_end: bool,
    pub(crate) sort: Option<SortQuery>,
}

/// An order by a column.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SortQuery {
    pub(crate) field: String,
    #[serde(default)]
    pub(crate) descending: bool,
}

impl SortQuery {
    pub(crate) fn order(&self, schema: &Schema) -> Result<RowOrder, ApiError> {
        RowOrder::named(schema, &self.field, self.descending)
            .ok_or_else(|| ApiError::bad_request(format!("\"sort\": rows have no order by '{}'", self.field)))
    }

    /// Refuses an offset that no order has rows at.
    pub(crate) fn has_rows_at(&self, offset: u64) -> Result<(), ApiError> {
        if offset < SORTED_ROWS_MAX as u64 {
            return Ok(());
        }
        let field = &self.field;
        Err(ApiError::bad_request(format!(
            "\"offset\": of an order by '{field}' there are the first {SORTED_ROWS_MAX} rows; turn it round, or narrow \"where\", \"from\" \
             and \"to\""
        )))
    }
}

pub(crate) async fn rows(PathSession(session): PathSession, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (RowsQuery, _) = body_json(&asker.holder, body).await?;
    let look = QueuedView::new(&session, SpanQuery { from: asked.from, to: asked.to, filter: asked.filter })?;
    if let Some(sort) = &asked.sort {
        if asked.from_end {
            return Err(ApiError::bad_request("\"from_end\": an order by \"sort\" begins at its end where it is turned round"));
        }
        sort.order(&session.schema())?;
        sort.has_rows_at(asked.offset)?;
    }
    let limit = asked.limit.unwrap_or(TOP_ROWS).min(TOP_ROWS);
    let (format, of_files) = (session.format(), session.formats_of_files());
    let lines = Rebuilt::new(format.as_ref());
    let asked_of = Arc::clone(&session);
    let ask = move |store: &RowStore, control: &Control| {
        let look = look.view(&asked_of, store)?;
        let formats = LineFormats { first: format.as_ref(), of_files: Some(&of_files) };
        if let Some(sort) = asked.sort {
            let order = sort.order(&store.schema()).map_err(|_| ViewError::Cancelled)?;
            let sorted = store.sorted_page((&look, order), asked.offset, limit, formats, control)?;
            let told =
                SortAnswer { field: sort.field, descending: sort.descending, exact: sorted.exact, rows_max: SORTED_ROWS_MAX };
            let mut answer = RowsAnswer::new(sorted.page, lines, Some(told));
            return Ok(capped_json(&mut answer, limit, |answer, rows| answer.rows.truncate(rows)));
        }
        let (mut offset, mut length) = (asked.offset, limit);
        let page = |offset, length| store.page(&look, offset, length, formats, control);
        if asked.from_end {
            let end = page(0, 0)?.total.saturating_sub(asked.offset);
            offset = end.saturating_sub(limit as u64);
            length = (end - offset) as usize;
        }
        let mut answer = RowsAnswer::new(page(offset, length)?, lines, None);
        if asked.from_end {
            answer.rows.reverse();
        }
        Ok(capped_json(&mut answer, limit, |answer, rows| answer.rows.truncate(rows)))
    };
    answer(&session, &asker, None, ask).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct CompareAsked {
    pub(crate) a: SpanQuery,
    pub(crate) b: SpanQuery,
    pub(crate) top: Option<usize>,
    /// All of `a` is within `b`, and is compared with the rest of it.
    #[serde(default)]
    pub(crate) rest: bool,
}

impl CompareAsked {
    pub(crate) fn base(&self) -> ComparisonBase {
        if self.rest { ComparisonBase::Rest } else { ComparisonBase::View }
    }
}

pub(crate) async fn compare(PathSession(session): PathSession, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (CompareAsked, _) = body_json(&asker.holder, body).await?;
    let base = asked.base();
    let (a, b) = (QueuedView::new(&session, asked.a)?, QueuedView::new(&session, asked.b)?);
    let top = asked.top.unwrap_or(VIEW_ROWS).min(TOP_ROWS);
    let wanted = ViewParts { top, buckets: BUCKETS.0, stack: Stack::Class, facets: false };
    let hint = session.hint();
    let asked_of = Arc::clone(&session);
    let ask = move |store: &RowStore, control: &Control| {
        let (a, b) = (a.view(&asked_of, store)?, b.view(&asked_of, store)?);
        let (compared, hint) = hint.beside(store.compare([&a, &b], base, &wanted, control)?, store);
        let cut = |value: &mut AnswerWithHint<CompareAnswer>, rows| {
            value.answer.panels.iter_mut().for_each(|panel| panel.rows.truncate(rows));
        };
        Ok(capped_json(&mut AnswerWithHint { answer: CompareAnswer::from(compared), hint }, top, cut))
    };
    answer(&session, &asker, None, ask).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ExplainAsked {
    // The rows that these are a part of.
    pub(crate) from: Option<f64>,
    pub(crate) to: Option<f64>,
    #[serde(default, rename = "where", deserialize_with = "text_or_none")]
    pub(crate) filter: String,
    /// The rows asked about.
    pub(crate) select: SpanQuery,
    /// Fields whose values are not tried.
    #[serde(default)]
    pub(crate) except: Vec<String>,
    pub(crate) limit: Option<usize>,
}

/// Names of fields as the schema has them.
pub(crate) fn excepted_fields(schema: &Schema, names: &[String]) -> Result<Vec<String>, ApiError> {
    let known = |name: &String| {
        let number = || schema.number(name).map(|column| schema.number_name(column));
        let field = schema.text(name).map(|column| schema.text_name(column)).or_else(number);
        let unknown = || ApiError::bad_request(format!("\"except\": there is no field '{name}'"));
        field.map(Cow::into_owned).ok_or_else(unknown)
    };
    names.iter().map(known).collect()
}

pub(crate) async fn explain(PathSession(session): PathSession, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (ExplainAsked, _) = body_json(&asker.holder, body).await?;
    let against = QueuedView::new(&session, SpanQuery { from: asked.from, to: asked.to, filter: asked.filter })?;
    let select = QueuedView::new(&session, asked.select)?;
    let except = excepted_fields(&session.schema(), &asked.except)?;
    let limit = asked.limit.unwrap_or(TOP_ROWS).min(TOP_ROWS);
    let hint = session.hint();
    let asked_of = Arc::clone(&session);
    let ask = move |store: &RowStore, control: &Control| {
        let begun = Instant::now();
        let (select, against) = (select.view(&asked_of, store)?, against.view(&asked_of, store)?);
        let (explained, hint) = hint.beside(store.explain_except(&select, &against, &except, control)?, store);
        let mut value = AnswerWithHint { answer: ExplainAnswer::new(explained, begun.elapsed().as_secs_f64()), hint };
        value.answer.rows.truncate(limit);
        Ok(capped_json(&mut value, limit, |value, rows| value.answer.rows.truncate(rows)))
    };
    answer(&session, &asker, None, ask).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingsAsked {}

pub(crate) async fn findings(PathSession(session): PathSession, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (FindingsAsked {}, _ticket) = body_json(&asker.holder, body).await?;
    if session.is_table() {
        return Err(ApiError::bad_request("findings are of the requests of an access log, and the rows of a table are none"));
    }
    // Taken before the rows: findings shown as complete are of all of them.
    let complete = session.state().ended();
    let hint = session.hint();
    let ask = move |store: &RowStore, control: &Control| {
        let begun = Instant::now();
        store.refresh();
        let mut found = store.unusual(control)?;
        if !complete {
            // Several threads read: what is missing now may be on its way.
            found.spans.retain(|span| span.kind != UnusualKind::Fewer || span.field.is_some());
        }
        let (found, hint) = hint.beside(found, store);
        let answer = FindingsAnswer { found, complete, seconds: begun.elapsed().as_secs_f64() };
        let mut value = AnswerWithHint { answer, hint };
        Ok(capped_json(&mut value, TOP_ROWS, |value, rows| value.answer.found.spans.truncate(rows)))
    };
    answer(&session, &asker, None, ask).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RatesAsked {
    from: Option<f64>,
    to: Option<f64>,
    #[serde(default, rename = "where", deserialize_with = "text_or_none")]
    filter: String,
    #[serde(default)]
    by: RateGroupingQuery,
    top: Option<usize>,
    /// The only one that counts where both are given.
    limit_per_minute: Option<u64>,
    limit_per_second: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "lowercase")]
enum RateGroupingQuery {
    #[default]
    Client,
    Net,
}

pub(crate) async fn rates(PathSession(session): PathSession, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (RatesAsked, _) = body_json(&asker.holder, body).await?;
    let look = QueuedView::new(&session, SpanQuery { from: asked.from, to: asked.to, filter: asked.filter })?;
    if session.is_table() {
        return Err(ApiError::bad_request("rates are of clients, and the rows of a table have none"));
    }
    let by = match asked.by {
        RateGroupingQuery::Client => RateGrouping::Client,
        RateGroupingQuery::Net => RateGrouping::Net,
    };
    let top = asked.top.unwrap_or(VIEW_ROWS).min(TOP_ROWS);
    let per = |requests: Option<u64>, per| requests.map(|requests| Limit { requests, per });
    let limits = [per(asked.limit_per_minute, RateUnit::Minute), per(asked.limit_per_second, RateUnit::Second)];
    let limits: Vec<Limit> = limits.into_iter().flatten().take(1).collect();
    let hint = session.hint();
    let asked_of = Arc::clone(&session);
    let ask = move |store: &RowStore, control: &Control| {
        let begun = Instant::now();
        let (rates, hint) = hint.beside(store.rates(&look.view(&asked_of, store)?, by, top, &limits, control)?, store);
        let mut value = AnswerWithHint { answer: RatesAnswer::new(rates, by, begun.elapsed().as_secs_f64()), hint };
        Ok(capped_json(&mut value, top, |value, rows| value.answer.rows.truncate(rows)))
    };
    answer(&session, &asker, None, ask).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct BreakdownAsked {
    from: Option<f64>,
    to: Option<f64>,
    #[serde(default, rename = "where", deserialize_with = "text_or_none")]
    filter: String,
    field: String,
    sort: Option<String>,
    show: Option<Vec<String>>,
    measure: Option<String>,
    limit: Option<usize>,
}

/// The metric of that name.
fn metric(name: &str) -> Result<BreakdownMetric, ApiError> {
    BreakdownMetric::named(name).ok_or_else(|| {
        let names = BreakdownMetric::ALL.map(BreakdownMetric::name).join(", ");
        ApiError::bad_request(format!("there is no metric '{name}'; there are {names}"))
    })
}

/// The metrics of these names.
fn metrics(names: Option<Vec<String>>) -> Result<Option<MetricSet>, ApiError> {
    names.map(|names| names.iter().map(|name| metric(name)).collect()).transpose()
}

/// Buckets of the trend of a value.
const TREND_BUCKETS: usize = 40;

pub(crate) async fn breakdown(PathSession(session): PathSession, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (BreakdownAsked, _) = body_json(&asker.holder, body).await?;
    let look = QueuedView::new(&session, SpanQuery { from: asked.from, to: asked.to, filter: asked.filter })?;
    let sort = asked.sort.as_deref().map_or(Ok(BreakdownMetric::Hits), metric)?;
    if !sort.is_sortable() {
        return Err(ApiError::bad_request(format!("\"sort\": values have no order by '{}'", sort.name())));
    }
    let show = metrics(asked.show)?;
    let limit = asked.limit.unwrap_or(VIEW_ROWS).min(BREAKDOWN_VALUES_MAX);
    let wanted = BreakdownWanted { field: asked.field, sort, show, measure: asked.measure, limit, trend_buckets: TREND_BUCKETS };
    let hint = session.hint();
    let asked_of = Arc::clone(&session);
    let ask = move |store: &RowStore, control: &Control| {
        let begun = Instant::now();
        store.refresh();
        let (answer, hint) = hint.beside(store.breakdown(&look.view(&asked_of, store)?, &wanted, control)?, store);
        let answer = BreakdownAnswer::new(answer, begun.elapsed().as_secs_f64());
        let mut value = AnswerWithHint { answer, hint };
        Ok(capped_json(&mut value, limit, |value, rows| value.answer.truncate(rows)))
    };
    answer(&session, &asker, None, ask).await
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TimeSeriesAsked {
    from: Option<f64>,
    to: Option<f64>,
    #[serde(default, rename = "where", deserialize_with = "text_or_none")]
    filter: String,
    show: Option<Vec<String>>,
    measure: Option<String>,
    buckets: Option<usize>,
    /// Width of a bucket, in place of the one that follows from their number.
    bucket_seconds: Option<i64>,
}

impl TimeSeriesAsked {
    fn width(&self) -> Result<BucketWidth, ApiError> {
        let (default, most) = BUCKETS;
        match (self.bucket_seconds, self.buckets) {
            (Some(_), Some(_)) => Err(ApiError::bad_request("\"bucket_seconds\" and \"buckets\" exclude each other")),
            (Some(seconds), None) if seconds < 1 => {
                Err(ApiError::bad_request(format!("\"bucket_seconds\": a bucket has at least 1 second, and not {seconds}")))
            }
            (Some(seconds), None) => Ok(BucketWidth::Seconds(seconds)),
            (None, buckets) => Ok(BucketWidth::Most(buckets.unwrap_or(default).clamp(1, most))),
        }
    }
}

pub(crate) async fn timeseries(PathSession(session): PathSession, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (TimeSeriesAsked, _) = body_json(&asker.holder, body).await?;
    let width = asked.width()?;
    let look = QueuedView::new(&session, SpanQuery { from: asked.from, to: asked.to, filter: asked.filter })?;
    let wanted = OverTimeWanted { width, show: metrics(asked.show)?, measure: asked.measure };
    let hint = session.hint();
    let asked_of = Arc::clone(&session);
    let ask = move |store: &RowStore, control: &Control| {
        let begun = Instant::now();
        store.refresh();
        let (found, hint) = hint.beside(store.over_time(&look.view(&asked_of, store)?, &wanted, control)?, store);
        let answer = TimeSeriesAnswer::new(found, begun.elapsed().as_secs_f64());
        // A bucket less would be another course.
        Ok(capped_json(&mut AnswerWithHint { answer, hint }, 1, |_, _| {}))
    };
    answer(&session, &asker, None, ask).await
}

#[derive(Serialize)]
struct RejectsAnswer {
    count: u64,
    exact: bool,
    reasons: Vec<ViewRefusal>,
    samples: Vec<NoteSample>,
}

#[derive(Serialize)]
struct ViewRefusal {
    reason: String,
    hits: u64,
}

pub(crate) async fn rejects(PathSession(session): PathSession, asker: Requester) -> Result<Response, ApiError> {
    let look = View { filter: Filter::Is(Flag::Rejected), ..View::default() };
    let wanted = PanelWanted { search: None, offset: 0, limit: TOP_ROWS };
    let asked_of = Arc::clone(&session);
    let ask = move |store: &RowStore, control: &Control| {
        store.refresh();
        let panel = store.panel(&look, TextColumn::FLAW, &wanted, control)?;
        let reasons = panel.rows.into_iter().map(|row| ViewRefusal { reason: row.value, hits: row.hits }).collect();
        let mut value = RejectsAnswer { count: panel.hits, exact: panel.exact, reasons, samples: asked_of.rejects() };
        Ok(capped_json(&mut value, TOP_ROWS, |value, rows| value.samples.truncate(rows)))
    };
    answer(&session, &asker, None, ask).await
}

//! The addresses of a fleet's session, which are those of any session. A question that it can't
//! answer yet is refused.

use super::Fleet;
use super::ask::{FleetQuestion, LostPeers};
use super::compare::{FleetCompared, FleetSides};
use super::facets::Facets;
use super::live_peers::Roll;
use super::rows::MergedRows;
use super::shown::{FleetAnswer, unsure};
use super::wire::PartSort;
use crate::explore::answers::{
    AnswerWithHint, CompareAnswer, ExplainAnswer, Rebuilt, RowsAnswer, SortAnswer, ViewAnswer, ViewOrigin,
};
use crate::explore::reports::capped_json;
use crate::explore::sessions::Sessions;
use crate::explore::suggest::{SuggestAnswer, SuggestAsked, is_typed};
use crate::explore::views::{self, CompareAsked, ExplainAsked, PanelQuery, RowsQuery, SpanQuery, ViewAsked, micros};
use crate::http::error::ApiError;
use crate::http::extract::{QueryParams, Requester, body_json};
use crate::limits::{BUCKETS, LIVE_INTERVAL, PEER_FILTER_BYTES_MAX, PEER_SELECT_BYTES_MAX, PEER_VALUES_MAX, TOP_ROWS, VIEW_ROWS};
use crate::server::api::{HistogramSpan, columns_of};
use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use bytes::Bytes;
use futures_util::stream::unfold;
use rorqual_accesslog::schema::{Schema, TextColumn};
use rorqual_crossfilter::limits::SORTED_ROWS_MAX;
use rorqual_crossfilter::{Amounts, PanelPage, PanelWanted, RowOrder, RowPage, Stack, View, ViewResult};
use rorqual_pipe::format_size;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// A fleet, and the sessions beside it.
#[derive(Clone)]
pub(crate) struct FleetState {
    pub(crate) fleet: Arc<Fleet>,
    pub(crate) sessions: Arc<Sessions>,
}

/// Time after which a client that watches is told that there is nothing new.
const QUIET_EVERY: Duration = Duration::from_secs(15);

/// Time after which rows that came since the last report are looked at.
const NEWS_EVERY: Duration = Duration::from_secs(1);

/// Routes of the session alone, before those of all sessions.
pub(crate) fn router(state: FleetState) -> Router {
    let at = |verb: &str| format!("/api/sessions/{}{verb}", state.fleet.id());
    Router::new()
        .route(&at(""), get(show).delete(not_deleted))
        .route(&at("/live"), get(live))
        .route(&at("/columns"), get(columns))
        .route(&at("/view"), post(view))
        .route(&at("/panel"), post(panel))
        .route(&at("/rows"), post(rows))
        .route(&at("/compare"), post(compare))
        .route(&at("/explain"), post(explain))
        .route(&at("/suggest"), post(suggest))
        .route(&at("/histogram"), get(histogram))
        .route(&at("/{*verb}"), any(refused))
        .with_state(state)
}

async fn refused() -> ApiError {
    let message = "this session shows the logs of peers, of which this question can't be answered; ask a peer itself";
    ApiError::new(StatusCode::NOT_IMPLEMENTED, "fleet_cannot", message)
}

async fn not_deleted() -> ApiError {
    let message = "this session shows the logs of peers, and ends with this server: it can't be deleted";
    ApiError::new(StatusCode::NOT_IMPLEMENTED, "fleet_cannot", message)
}

async fn show(State(FleetState { fleet, sessions }): State<FleetState>, asker: Requester) -> Response {
    let own = asker.holder.own_answer().await;
    let report = fleet.latest_report().await;
    let ticket = own.ticket().await;
    views::json(ticket, fleet.live(&sessions, report.as_ref()))
}

/// Events like those of any session; they go on for as long as their client wants them, as peers
/// may go and come back.
async fn live(State(state): State<FleetState>, asker: Requester) -> Response {
    let changes = state.fleet.changed.subscribe();
    let holder = asker.holder;
    let events = unfold((state, changes, true), move |(state, mut changes, is_first)| {
        let holder = holder.clone();
        async move {
            if !is_first {
                sleep(LIVE_INTERVAL).await;
                let has_news = state.fleet.has_news();
                let quiet = if has_news { NEWS_EVERY } else { QUIET_EVERY };
                if timeout(quiet, changes.changed()).await.is_err() && !has_news {
                    return Some((Ok::<_, Infallible>(Bytes::from_static(b": nothing new\n\n")), (state, changes, false)));
                }
            }
            changes.mark_unchanged();
            let own = holder.own_answer().await;
            let report = state.fleet.latest_report().await;
            let ticket = own.ticket().await;
            let live = state.fleet.live(&state.sessions, report.as_ref());
            let event = [b"event: live\ndata: ", &live[..], b"\n\n"].concat();
            Some((Ok(ticket.on(event.into())), (state, changes, false)))
        }
    });
    let headers = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-cache")];
    (headers, Body::from_stream(events)).into_response()
}

async fn columns(State(FleetState { fleet, .. }): State<FleetState>, asker: Requester) -> Result<Response, ApiError> {
    let own = asker.holder.own_answer().await;
    let schema = fleet.known_schema().await;
    columns_of(own.ticket().await, &schema)
}

/// An answer as JSON, `None` where it would be too long, or a refusal; or peers that gave no part.
type Made = Result<Result<Option<Bytes>, ApiError>, LostPeers>;

/// A question to a fleet.
trait FleetAsk: Sync {
    /// The question as the columns of the peers mean it.
    type Read: Send + Sync;

    /// Reads it.
    fn read(&self, schema: &Schema) -> Result<Self::Read, ApiError>;

    /// The answer of the peers of a roll.
    fn answer(&self, fleet: &Fleet, roll: &Roll, read: &Self::Read) -> impl Future<Output = Made> + Send;
}

impl Fleet {
    /// Asks the peers, and once more without those that gave no part, until the others have given
    /// all. The answer is made of what they gave and of the peers that are in it.
    async fn ask(&self, asker: &Requester, question: &impl FleetAsk) -> Result<Response, ApiError> {
        tokio::select! {
            biased;
            answer = self.answer(asker, question) => answer,
            () = asker.twin.left() => Err(ApiError::bad_request("the client closed its sending half, which ends its question")),
        }
    }

    /// Its turn comes first, which others wait for as well, and a ticket of the server only where
    /// there is an answer.
    async fn answer(&self, asker: &Requester, question: &impl FleetAsk) -> Result<Response, ApiError> {
        let own = asker.holder.own_answer().await;
        let within = self.settings.question_time;
        // The wait for the turn counts, too.
        let made = timeout(within, async {
            let turn = self.turn.acquire().await.map_err(|_| no_peer(""))?;
            Ok::<_, ApiError>((self.made(question).await?, turn))
        });
        let (made, _turn) = made.await.map_err(|_| too_slow(within))??;
        Ok(views::json(own.ticket().await, made))
    }

    async fn made(&self, question: &impl FleetAsk) -> Result<Bytes, ApiError> {
        let mut roll = self.roll().await;
        loop {
            let missing = || self.view(&roll).incomplete();
            if roll.live.is_empty() {
                return Err(no_peer(&missing().unwrap_or_default()));
            }
            // A column may be that of a peer that is missing.
            let with_missing = |error: ApiError| missing().map_or(error.clone(), |missing| error.and(&format!("; {missing}")));
            let read = question.read(&roll.schema).map_err(with_missing)?;
            match question.answer(self, &roll, &read).await {
                Ok(made) => return made?.ok_or_else(views::too_long),
                Err(lost) => roll = self.lose(&roll, &lost),
            }
        }
    }
}

fn too_slow(within: Duration) -> ApiError {
    let message = format!("peers have not given all parts of the answer within {} s; ask for less", within.as_secs_f64());
    ApiError::new(StatusCode::GATEWAY_TIMEOUT, "peers_too_slow", message)
}

fn no_peer(why: &str) -> ApiError {
    ApiError::new(StatusCode::BAD_GATEWAY, "no_peer", format!("no peer answers: {why}")).retry_after(1)
}

fn filter_of(schema: &Schema, filter: &str, from: Option<f64>, to: Option<f64>) -> Result<View, ApiError> {
    let filter = schema.filter(filter).map_err(|error| {
        ApiError::new(StatusCode::BAD_REQUEST, "bad_filter", error.message).with("column", error.column as u64 - 1)
    })?;
    // It is never run here.
    if filter.bytes_of_values(0) > PEER_FILTER_BYTES_MAX {
        let message = format!(
            "this filter may take {} of memory, and one of the logs of peers {}: write a shorter one with fewer regular expressions",
            format_size(filter.bytes_of_values(0)),
            format_size(PEER_FILTER_BYTES_MAX)
        );
        return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "filter_too_large", message));
    }
    Ok(View { from_us: micros(from)?, to_us: micros(to)?, filter })
}

/// A question about a view.
struct FleetViewAsk {
    asked: ViewAsked,
    begun: Instant,
}

async fn view(State(FleetState { fleet, .. }): State<FleetState>, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (ViewAsked, _) = body_json(&asker.holder, body).await?;
    fleet.ask(&asker, &FleetViewAsk { asked, begun: Instant::now() }).await
}

impl FleetAsk for FleetViewAsk {
    type Read = (View, Stack);

    fn read(&self, schema: &Schema) -> Result<(View, Stack), ApiError> {
        let ViewAsked { filter, from, to, stack, .. } = &self.asked;
        Ok((filter_of(schema, filter, *from, *to)?, views::stack(schema, stack.as_deref())?))
    }

    async fn answer(&self, fleet: &Fleet, roll: &Roll, (view, stack): &Self::Read) -> Made {
        let (default, most) = BUCKETS;
        let top = self.asked.top.unwrap_or(VIEW_ROWS).min(TOP_ROWS);
        let buckets = self.asked.buckets.unwrap_or(default).clamp(1, most);
        let question = FleetQuestion { fleet, roll, view: view.clone() };
        let mut viewed = viewed(&question, (buckets, *stack), top, self.asked.facets).await?;
        let peers = fleet.view(roll);
        peers.mark(&mut viewed);
        let reasons: Vec<String> = peers.incomplete().into_iter().chain(dropped(&viewed)).collect();
        let incomplete = (!reasons.is_empty()).then(|| reasons.join("; "));
        let origin = ViewOrigin { stack: *stack, is_table: roll.schema.is_table(), incomplete };
        let complete = peers.complete && roll.is_ended();
        let seconds = self.begun.elapsed().as_secs_f64();
        let value = ViewAnswer::new(viewed, origin, complete, seconds, roll.zone_seconds(), top);
        let mut answer = FleetAnswer { answer: AnswerWithHint { answer: value, hint: None }, fleet: peers };
        Ok(Ok(capped_json(&mut answer, top, |answer, rows| answer.answer.answer.truncate(rows))))
    }
}

fn dropped(viewed: &ViewResult) -> Option<String> {
    (viewed.rows.dropped > 0).then(|| "peers had no room for more rows".to_owned())
}

async fn viewed(
    question: &FleetQuestion<'_>,
    (buckets, stack): (usize, Stack),
    top: usize,
    facets: bool,
) -> Result<ViewResult, LostPeers> {
    let (sums, generations) = question.sums(buckets, stack).await?;
    let numbers = question.numbers(&generations).await?;
    let panels = question.panels(&generations, top).await?;
    let filter = question.roll.schema.written(&question.view.filter);
    let (facets, number_facets) = if facets { question.facets(&panels, top).await? } else { Facets::default() };
    Ok(ViewResult { facets, number_facets, ..sums.into_result(filter, panels, numbers) })
}

/// A question about the values of a field.
struct FleetPanelAsk {
    asked: PanelQuery,
    wanted: PanelWanted,
}

async fn panel(State(FleetState { fleet, .. }): State<FleetState>, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (PanelQuery, _) = body_json(&asker.holder, body).await?;
    let limit = asked.limit.unwrap_or(VIEW_ROWS).min(TOP_ROWS);
    if asked.offset.saturating_add(limit) > PEER_VALUES_MAX {
        let message =
            format!("of the logs of peers there are the first {PEER_VALUES_MAX} values; narrow \"search\" or \"where\"");
        return Err(ApiError::bad_request(message));
    }
    let wanted = PanelWanted { search: asked.search.clone(), offset: asked.offset, limit };
    fleet.ask(&asker, &FleetPanelAsk { asked, wanted }).await
}

impl FleetAsk for FleetPanelAsk {
    type Read = (View, Option<TextColumn>);

    fn read(&self, schema: &Schema) -> Result<Self::Read, ApiError> {
        let PanelQuery { filter, from, to, field, facets, .. } = &self.asked;
        let column = views::panel_column(schema, field)?;
        if column == Some(TextColumn::URL) {
            return Err(ApiError::bad_request("\"field\": of the logs of peers there is no panel of path and query together"));
        }
        let view = filter_of(schema, filter, *from, *to)?;
        Ok((if *facets { view.without_choices(column) } else { view }, column))
    }

    async fn answer(&self, fleet: &Fleet, roll: &Roll, (view, column): &Self::Read) -> Made {
        let question = FleetQuestion { fleet, roll, view: view.clone() };
        let mut page = match column {
            Some(column) => question.panel(*column, &self.wanted).await?,
            None => question.sums(1, Stack::Class).await?.0.status_page(&self.wanted),
        };
        let peers = fleet.view(roll);
        if !peers.complete {
            page = PanelPage { exact: false, distinct: unsure(page.distinct), ..page };
            page.error_max = page.error_max.saturating_add(peers.rows_missing);
        }
        let cut = |answer: &mut FleetAnswer<PanelPage>, rows| answer.answer.rows.truncate(rows);
        Ok(Ok(capped_json(&mut FleetAnswer { answer: page, fleet: peers }, self.wanted.limit, cut)))
    }
}

/// A question about rows.
struct FleetRowsAsk {
    asked: RowsQuery,
    sort: PartSort,
}

/// Rows by time, from the last one on where they are asked for from their end; or by another
/// column.
async fn rows(State(FleetState { fleet, .. }): State<FleetState>, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (RowsQuery, _) = body_json(&asker.holder, body).await?;
    let sort = match &asked.sort {
        Some(_) if asked.from_end => {
            return Err(ApiError::bad_request("\"from_end\": an order by \"sort\" begins at its end where it is turned round"));
        }
        Some(sort) => {
            sort.has_rows_at(asked.offset)?;
            PartSort { field: sort.field.clone(), descending: sort.descending }
        }
        None => PartSort { field: "time".to_owned(), descending: asked.from_end },
    };
    fleet.ask(&asker, &FleetRowsAsk { asked, sort }).await
}

impl FleetAsk for FleetRowsAsk {
    type Read = (View, PartSort);

    fn read(&self, schema: &Schema) -> Result<Self::Read, ApiError> {
        let RowsQuery { filter, from, to, sort, .. } = &self.asked;
        let mut own = self.sort.clone();
        if let Some(time) = schema.time().filter(|_| sort.is_none()) {
            time.clone_into(&mut own.field);
        }
        if RowOrder::named(schema, &own.field, own.descending).is_none() {
            let message = format!("\"sort\": rows have no order by '{}'", own.field);
            return Err(ApiError::bad_request(message));
        }
        Ok((filter_of(schema, filter, *from, *to)?, own))
    }

    async fn answer(&self, fleet: &Fleet, roll: &Roll, (view, sort): &Self::Read) -> Made {
        let limit = self.asked.limit.unwrap_or(TOP_ROWS).min(TOP_ROWS);
        let question = FleetQuestion { fleet, roll, view: view.clone() };
        let peers = fleet.view(roll);
        let Some(found) = question.rows(sort, self.asked.offset, limit).await? else {
            let message = format!(
                "\"offset\", \"sort\": rows of several peers can't be put in order from there on, or only some of them have '{}'; narrow \
                 \"where\", \"from\" and \"to\"",
                sort.field
            );
            return Ok(Err(ApiError::bad_request(message)));
        };
        let MergedRows { total, rows, peers: of, exact, unkept } = found;
        let page = RowPage { total, offset: self.asked.offset, rows };
        let lines = Rebuilt { format: roll.format(), unkept };
        let told = SortAnswer {
            field: sort.field.clone(),
            descending: sort.descending,
            exact: exact && peers.complete,
            rows_max: SORTED_ROWS_MAX,
        };
        let names = of.into_iter().map(|at| roll.live[at].peer.name().to_owned());
        let answer = RowsAnswer::new(page, lines, Some(told)).of_peers(names);
        let cut = |answer: &mut FleetAnswer<RowsAnswer>, rows| answer.answer.rows.truncate(rows);
        Ok(Ok(capped_json(&mut FleetAnswer { answer, fleet: peers }, limit, cut)))
    }
}

async fn compare(State(FleetState { fleet, .. }): State<FleetState>, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (CompareAsked, _) = body_json(&asker.holder, body).await?;
    fleet.ask(&asker, &asked).await
}

impl FleetAsk for CompareAsked {
    type Read = [View; 2];

    fn read(&self, schema: &Schema) -> Result<Self::Read, ApiError> {
        let view = |span: &SpanQuery| filter_of(schema, &span.filter, span.from, span.to);
        Ok([view(&self.a)?, view(&self.b)?])
    }

    async fn answer(&self, fleet: &Fleet, roll: &Roll, [a, b]: &Self::Read) -> Made {
        let top = self.top.unwrap_or(VIEW_ROWS).min(TOP_ROWS);
        let [a, b] = [a, b].map(|view| FleetQuestion { fleet, roll, view: view.clone() });
        let FleetCompared { sums, exact, panels } = FleetSides { a, b, base: self.base() }.compared(top).await?;
        let totals = sums.map(|sums| Amounts { hits: sums.lines().total, bytes: sums.bytes_sent() });
        let peers = fleet.view(roll);
        let answer = CompareAnswer::new(totals, exact && peers.complete && roll.is_ended(), panels);
        let mut answer = FleetAnswer { answer: AnswerWithHint { answer, hint: None }, fleet: peers };
        let cut = |answer: &mut FleetAnswer<AnswerWithHint<CompareAnswer>>, rows| {
            answer.answer.answer.panels.iter_mut().for_each(|panel| panel.rows.truncate(rows));
        };
        Ok(Ok(capped_json(&mut answer, top, cut)))
    }
}

/// Hint of an explanation in which some values were not tried.
const LISTED_ONLY: &str = "not all values were compared: of each field those that stand out or are common at one server at least";

/// A question about what is more frequent in some rows.
struct FleetExplainAsk {
    asked: ExplainAsked,
    begun: Instant,
}

async fn explain(State(FleetState { fleet, .. }): State<FleetState>, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (ExplainAsked, _) = body_json(&asker.holder, body).await?;
    fleet.ask(&asker, &FleetExplainAsk { asked, begun: Instant::now() }).await
}

impl FleetAsk for FleetExplainAsk {
    type Read = ([View; 2], Vec<String>);

    fn read(&self, schema: &Schema) -> Result<Self::Read, ApiError> {
        let ExplainAsked { filter, from, to, select, except, .. } = &self.asked;
        let against = filter_of(schema, filter, *from, *to)?;
        let select = filter_of(schema, &select.filter, select.from, select.to)?;
        let except = views::excepted_fields(schema, except)?;
        let written = [&select, &against].map(|view| Value::from(schema.written(&view.filter)).to_string().len());
        let bytes = written.iter().sum::<usize>() + Value::from(except.clone()).to_string().len();
        if bytes > PEER_SELECT_BYTES_MAX {
            let message = format!(
                "\"where\" of both and \"except\" have {} as JSON, and a question to peers takes {} of them: write shorter filters",
                format_size(bytes as u64),
                format_size(PEER_SELECT_BYTES_MAX as u64)
            );
            return Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "filter_too_large", message));
        }
        Ok(([select, against], except))
    }

    async fn answer(&self, fleet: &Fleet, roll: &Roll, ([select, against], except): &Self::Read) -> Made {
        let limit = self.asked.limit.unwrap_or(TOP_ROWS).min(TOP_ROWS);
        let question = FleetQuestion { fleet, roll, view: against.clone() };
        let (mut explained, is_whole) = question.explained(select, except).await?;
        let peers = fleet.view(roll);
        explained.exact &= peers.complete && roll.is_ended();
        explained.findings.truncate(limit);
        // The reason of numbers that are not exact comes first.
        let hint = (!is_whole && explained.exact).then(|| LISTED_ONLY.to_owned());
        let answer = ExplainAnswer::new(explained, self.begun.elapsed().as_secs_f64());
        let mut answer = FleetAnswer { answer: AnswerWithHint { answer, hint }, fleet: peers };
        let cut = |answer: &mut FleetAnswer<AnswerWithHint<ExplainAnswer>>, rows| answer.answer.answer.rows.truncate(rows);
        Ok(Ok(capped_json(&mut answer, limit, cut)))
    }
}

/// A question about a typed text.
struct FleetSuggestAsk {
    asked: SuggestAsked,
    begun: Instant,
}

async fn suggest(State(FleetState { fleet, .. }): State<FleetState>, asker: Requester, body: Body) -> Result<Response, ApiError> {
    let (asked, _ticket): (SuggestAsked, _) = body_json(&asker.holder, body).await?;
    is_typed(&asked.text)?;
    fleet.ask(&asker, &FleetSuggestAsk { asked, begun: Instant::now() }).await
}

impl FleetAsk for FleetSuggestAsk {
    type Read = View;

    fn read(&self, schema: &Schema) -> Result<View, ApiError> {
        let SuggestAsked { filter, from, to, .. } = &self.asked;
        filter_of(schema, filter, *from, *to)
    }

    async fn answer(&self, fleet: &Fleet, roll: &Roll, view: &View) -> Made {
        let question = FleetQuestion { fleet, roll, view: view.clone() };
        let mut found = question.suggestions(&self.asked.text, self.asked.zone_seconds()).await?;
        let peers = fleet.view(roll);
        found.rows.truncate(self.asked.limit());
        found.rows.iter_mut().for_each(|row| row.exact &= peers.complete);
        found.complete &= peers.complete;
        let answer = SuggestAnswer::new(found, self.begun.elapsed().as_secs_f64());
        let cut = |answer: &mut FleetAnswer<SuggestAnswer>, rows| answer.answer.rows.truncate(rows);
        Ok(Ok(capped_json(&mut FleetAnswer { answer, fleet: peers }, self.asked.limit(), cut)))
    }
}

/// A question about all rows over time.
struct FleetHistogramAsk {
    view: View,
    buckets: usize,
}

async fn histogram(
    State(FleetState { fleet, .. }): State<FleetState>,
    asker: Requester,
    QueryParams(span): QueryParams<HistogramSpan>,
) -> Result<Response, ApiError> {
    let (view, buckets) = span.view()?;
    fleet.ask(&asker, &FleetHistogramAsk { view, buckets }).await
}

impl FleetAsk for FleetHistogramAsk {
    type Read = ();

    fn read(&self, _schema: &Schema) -> Result<(), ApiError> {
        Ok(())
    }

    async fn answer(&self, fleet: &Fleet, roll: &Roll, (): &()) -> Made {
        let question = FleetQuestion { fleet, roll, view: self.view.clone() };
        let (sums, _) = question.sums(self.buckets, Stack::Class).await?;
        let (answer, peers) = (sums.histogram(), fleet.view(roll));
        if answer.is_none() && peers.complete {
            return Ok(Ok(Some(Bytes::from_static(b"null"))));
        }
        Ok(Ok(capped_json(&mut FleetAnswer { answer, fleet: peers }, 0, |_, _| {})))
    }
}

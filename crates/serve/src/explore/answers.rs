//! Views in the shape of the interface, as `docs/api.md` describes it.

use crate::setting::SESSIONS;
use rorqual_accesslog::LeftOut;
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::report::{Panel, PercentileSet};
use rorqual_crossfilter::{
    Amounts, Breakdown, BreakdownMeasure, BreakdownMetric, BreakdownValue, ClientRate, Compared, ComparedPanel, ComparedRow,
    Explained, Facet, Finding, MetricSet, NumberSummary, OwnValue, PageRow, RateGrouping, Rates, RowPage, RowStore, Stack,
    UnknownField, UnusualSpans, ViewResult,
};
use rorqual_pipe::setting::{MEMORY, TEMP_MAX};
use serde::{Serialize, Serializer};
use std::borrow::Cow;

/// The schema's name; it changes when a field changes its meaning.
const SCHEMA: &str = "rorqual.view/1";

#[derive(Serialize)]
pub(crate) struct ViewAnswer {
    schema: &'static str,
    complete: bool,
    kept: KeptAnswer,
    lines: AnswerLines,
    seconds: f64,
    bytes_sent: u64,
    exact: bool,
    time: Option<Time>,
    histogram: Option<HistogramAnswer>,
    pub(crate) panels: Vec<Panel>,
    pub(crate) facets: Vec<Facet>,
    humans: Amounts,
    bots: Amounts,
    /// Of agents that there was no room for.
    unknown: Amounts,
    week: WeekAnswer,
    percentiles: PercentileSet,
    /// Numbers of the columns of a table.
    pub(crate) numbers: Vec<NumberSummary>,
    pub(crate) number_facets: Vec<NumberSummary>,
    latency: Option<LatencyAnswer>,
}

#[derive(Serialize)]
struct KeptAnswer {
    rows: u64,
    /// Lines that there was no room for.
    dropped: u64,
    all: bool,
    reason: Option<String>,
}

#[derive(Serialize)]
struct AnswerLines {
    total: u64,
    matching: u64,
    parsed: u64,
    repaired: u64,
    rejected: u64,
}

#[derive(Serialize)]
struct Time {
    first: f64,
    last: f64,
    zone_seconds: i32,
}

#[derive(Serialize)]
struct HistogramAnswer {
    bucket_seconds: i64,
    finest_seconds: i64,
    at: Vec<i64>,
    stack: String,
    series: Vec<SeriesAnswer>,
}

#[derive(Serialize)]
struct SeriesAnswer {
    /// `None`: all values that have no series of their own.
    value: Option<String>,
    hits: Vec<u64>,
}

#[derive(Serialize)]
struct WeekAnswer {
    hits: Vec<Vec<u64>>,
}

#[derive(Serialize)]
struct LatencyAnswer {
    at: Vec<i64>,
    edges: Vec<f64>,
    hits: Vec<Vec<u64>>,
}

/// Origin of a view.
pub(crate) struct ViewOrigin {
    pub(crate) stack: Stack,
    pub(crate) is_table: bool,
    /// The reason for which not all rows are in it, where they are not.
    pub(crate) incomplete: Option<String>,
}

impl ViewOrigin {
    /// A view of one store, of which so many rows had no room.
    pub(crate) fn of_store(stack: Stack, store: &RowStore, dropped: u64) -> Self {
        let incomplete = (dropped > 0).then(|| reason_of_dropped(store));
        Self { stack, is_table: store.schema().is_table(), incomplete }
    }
}

impl ViewAnswer {
    /// A view that was counted in `seconds`, of rows to which more come unless they are `complete`,
    /// with the log's clock and `top` rows a panel.
    pub(crate) fn new(
        viewed: ViewResult,
        ViewOrigin { stack, is_table, incomplete }: ViewOrigin,
        complete: bool,
        seconds: f64,
        zone_seconds: i32,
        top: usize,
    ) -> Self {
        let is_log = !is_table;
        let panels = viewed.status_panel(top).filter(|_| is_log).into_iter().chain(viewed.panels).collect();
        let (rows, lines) = (viewed.rows, viewed.lines);
        let all = rows.dropped == 0 && incomplete.is_none();
        Self {
            schema: SCHEMA,
            complete,
            kept: KeptAnswer { rows: rows.total, dropped: rows.dropped, all, reason: incomplete },
            lines: AnswerLines {
                total: rows.total,
                matching: lines.total,
                parsed: lines.parsed,
                repaired: lines.repaired,
                rejected: lines.rejected,
            },
            seconds,
            bytes_sent: viewed.bytes_sent,
            exact: viewed.exact,
            time: viewed.time.map(|time| Time { first: time.first, last: time.last, zone_seconds }),
            histogram: viewed.histogram.map(|histogram| match stack {
                Stack::Class if !is_log => unstacked(histogram),
                _ => named(histogram, stack),
            }),
            panels,
            facets: viewed.facets,
            humans: viewed.people,
            bots: viewed.bots,
            unknown: viewed.unknown,
            week: WeekAnswer { hits: viewed.week },
            percentiles: viewed.percentiles,
            numbers: viewed.numbers.into_iter().map(for_scripts).collect(),
            number_facets: viewed.number_facets.into_iter().map(for_scripts).collect(),
            latency: viewed.latency.map(|latency| {
                let edges = [0.0].into_iter().chain(latency.borders_seconds).collect();
                LatencyAnswer { at: latency.at, edges, hits: latency.hits }
            }),
        }
    }
}

/// Columns of numbers that have a distribution, for each row that panels have, where an answer is
/// cut.
const NUMBERS_FOLD: usize = 8;

impl ViewAnswer {
    /// Leaves so many rows of each panel.
    pub(crate) fn truncate(&mut self, rows: usize) {
        let Self { panels, facets, numbers, number_facets, .. } = self;
        panels.iter_mut().for_each(|panel| panel.rows.truncate(rows));
        let lists = facets.iter_mut().flat_map(|Facet { panel, chosen, excluded }| [&mut panel.rows, chosen, excluded]);
        lists.for_each(|list| list.truncate(rows));
        for numbers in [numbers, number_facets] {
            numbers.iter_mut().skip(NUMBERS_FOLD * rows).for_each(|number| number.buckets = None);
        }
    }
}

/// The reason for which a store has not all rows.
fn reason_of_dropped(store: &RowStore) -> String {
    match store.spill_failure() {
        Some(why) => format!("the file for rows could not be written: {why}"),
        None => format!("no room in {MEMORY} and {TEMP_MAX} for more rows"),
    }
}

fn for_scripts(numbers: NumberSummary) -> NumberSummary {
    let (min, max) = (numbers.min.clone().for_scripts(), numbers.max.clone().for_scripts());
    NumberSummary { min, max, ..numbers }
}

/// A histogram of all rows, which have no classes.
fn unstacked(histogram: rorqual_crossfilter::ViewHistogram) -> HistogramAnswer {
    let hits = |bucket: usize| histogram.series.iter().map(|series| series.hits[bucket]).sum();
    let hits = (0..histogram.at.len()).map(hits).collect();
    HistogramAnswer {
        bucket_seconds: histogram.bucket_seconds,
        finest_seconds: histogram.finest_seconds,
        at: histogram.at,
        stack: String::new(),
        series: vec![SeriesAnswer { value: Some("rows".to_owned()), hits }],
    }
}

/// A histogram whose rest has no name, and is left out where there is none.
fn named(histogram: rorqual_crossfilter::ViewHistogram, stack: Stack) -> HistogramAnswer {
    let rest = if matches!(stack, Stack::Values(_)) { histogram.series.len() - 1 } else { usize::MAX };
    let named = |(at, line): (usize, rorqual_crossfilter::PageLine)| SeriesAnswer {
        value: (at != rest).then_some(line.class),
        hits: line.hits,
    };
    let mut series: Vec<SeriesAnswer> = histogram.series.into_iter().enumerate().map(named).collect();
    series.retain(|series| series.value.is_some() || series.hits.iter().any(|hits| *hits > 0));
    HistogramAnswer {
        bucket_seconds: histogram.bucket_seconds,
        finest_seconds: histogram.finest_seconds,
        at: histogram.at,
        stack: histogram.stack.into_owned(),
        series,
    }
}

/// An answer, and a hint to a better one.
#[derive(Serialize)]
pub(crate) struct AnswerWithHint<T> {
    #[serde(flatten)]
    pub(crate) answer: T,
    pub(crate) hint: Option<String>,
}

/// Hint that more memory would keep more of a session's rows.
#[derive(Clone, Copy)]
pub(crate) struct Hint {
    pub(crate) sessions_max: usize,
}

impl Hint {
    /// A result of a store, and the hint beside it.
    pub(crate) fn beside<T>(self, found: T, store: &RowStore) -> (T, Option<String>) {
        (found, self.of(store))
    }

    fn of(self, store: &RowStore) -> Option<String> {
        if let Some(why) = store.spill_failure().filter(|_| store.rows_dropped() > 0) {
            return Some(format!(
                "some rows are in no answer, as the file for rows could not be written: {why}, or start the server with more {MEMORY}"
            ));
        }
        let left_out = store.own().map(|own| own.left_out()).filter(|left_out| !left_out.names.is_empty());
        if let Some(LeftOut { names, .. }) = left_out.filter(|_| store.rows_dropped() == 0) {
            /// Names that are told.
            const NAMES_MAX: usize = 5;
            let more = if names.len() > NAMES_MAX { ", …" } else { "" };
            let names = names[..names.len().min(NAMES_MAX)].join(", ");
            return Some(format!("some columns of the log's own had no place, and are in no answer: {names}{more}"));
        }
        let less = if self.sessions_max > 1 { format!(" or {SESSIONS} 1") } else { String::new() };
        let what = store.shortage()?;
        Some(format!("{what}: start the server with more {MEMORY}{less}"))
    }
}

#[derive(Serialize)]
pub(crate) struct RowsAnswer {
    matching: u64,
    offset: u64,
    lines: Rebuilt,
    /// `None` of the order of the log.
    sort: Option<SortAnswer>,
    pub(crate) rows: Vec<NumberedRow>,
}

/// The order of rows by a column.
#[derive(Serialize)]
pub(crate) struct SortAnswer {
    pub(crate) field: String,
    pub(crate) descending: bool,
    pub(crate) exact: bool,
    /// Rows of the order that are shown.
    pub(crate) rows_max: usize,
}

/// Rules by which the lines of rows are rebuilt: not as they were byte for byte.
#[derive(Serialize)]
pub(crate) struct Rebuilt {
    pub(crate) format: Option<String>,
    /// Variables that are `-` in every line.
    pub(crate) unkept: Vec<String>,
}

impl Rebuilt {
    pub(crate) fn new(format: Option<&LogFormat>) -> Self {
        let unkept = format.map(LogFormat::unkept).unwrap_or_default().into_iter().map(str::to_owned).collect();
        Self { format: format.map(|format| format.name().to_owned()), unkept }
    }
}

#[derive(Serialize)]
pub(crate) struct NumberedRow {
    /// Its place in the view.
    row: u64,
    /// The server that has it, where that is another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    peer: Option<String>,
    #[serde(flatten)]
    fields: PageRow,
}

impl RowsAnswer {
    pub(crate) fn new(page: RowPage, lines: Rebuilt, sort: Option<SortAnswer>) -> Self {
        let numbered = |(row, mut fields): (u64, PageRow)| {
            fields.columns = fields.columns.into_iter().map(|(name, value)| (name, value.for_scripts())).collect();
            NumberedRow { row, peer: None, fields }
        };
        let rows = (page.offset..).zip(page.rows).map(numbered).collect();
        Self { matching: page.total, offset: page.offset, lines, sort, rows }
    }

    /// The same with the server of each row.
    pub(crate) fn of_peers(mut self, peers: impl Iterator<Item = String>) -> Self {
        self.rows.iter_mut().zip(peers).for_each(|(row, peer)| row.peer = Some(peer));
        self
    }
}

#[derive(Serialize)]
pub(crate) struct CompareAnswer {
    a: Amounts,
    b: Amounts,
    exact: bool,
    pub(crate) panels: Vec<ComparePanel>,
}

#[derive(Serialize)]
pub(crate) struct ComparePanel {
    field: Cow<'static, str>,
    title: Cow<'static, str>,
    pub(crate) rows: Vec<CompareRow>,
}

#[derive(Serialize)]
pub(crate) struct CompareRow {
    value: String,
    a: AnswerPart,
    b: AnswerPart,
    /// Of the shares; `None` where the first view has none.
    ratio: Option<f64>,
    /// Of hits.
    change: i64,
    /// The G statistic of the two shares.
    g: f64,
}

#[derive(Serialize)]
struct AnswerPart {
    hits: u64,
    bytes: u64,
    share: f64,
}

impl From<Compared> for CompareAnswer {
    fn from(compared: Compared) -> Self {
        let total = |viewed: &ViewResult| Amounts { hits: viewed.lines.total, bytes: viewed.bytes_sent };
        Self::new([total(&compared.a), total(&compared.b)], compared.exact, compared.panels)
    }
}

impl CompareAnswer {
    /// Panels of two views of so many rows and bytes.
    pub(crate) fn new([a, b]: [Amounts; 2], exact: bool, panels: Vec<ComparedPanel>) -> Self {
        let row = |row: ComparedRow| {
            let part = |hits: u64, bytes, of: Amounts| AnswerPart { hits, bytes, share: hits as f64 / of.hits.max(1) as f64 };
            let (a, b) = (part(row.hits_a, row.bytes_a, a), part(row.hits_b, row.bytes_b, b));
            let ratio = (a.hits > 0).then(|| b.share / a.share);
            let change = i64::try_from(b.hits).unwrap_or(i64::MAX).saturating_sub_unsigned(a.hits);
            CompareRow { value: row.value, a, b, ratio, change, g: row.g }
        };
        let panels = panels.into_iter().map(|panel| ComparePanel {
            field: panel.field,
            title: panel.title,
            rows: panel.rows.into_iter().map(row).collect(),
        });
        Self { a, b, exact, panels: panels.collect() }
    }
}

#[derive(Serialize)]
pub(crate) struct ExplainAnswer {
    inside: u64,
    outside: u64,
    statistic: &'static str,
    /// Least values of a finding.
    least: &'static str,
    tried: usize,
    exact: bool,
    /// Fields with values that there was no room for, which were not tried.
    unknown: Vec<UntriedField>,
    seconds: f64,
    pub(crate) rows: Vec<FindingRow>,
}

/// Lines with a value of a field that there was no room for.
#[derive(Serialize)]
struct UntriedField {
    field: Cow<'static, str>,
    inside: u64,
    outside: u64,
}

#[derive(Serialize)]
pub(crate) struct FindingRow {
    /// One or two.
    terms: Vec<Term>,
    #[serde(rename = "where")]
    filter: String,
    inside: u64,
    outside: u64,
    share_inside: f64,
    share_outside: f64,
    /// `None` where there are none outside.
    ratio: Option<f64>,
    g: f64,
    dispersion: f64,
    q: f64,
    /// Filters that most of its rows match too, or only they do.
    companions: Vec<String>,
}

impl ExplainAnswer {
    pub(crate) fn new(explained: Explained, seconds: f64) -> Self {
        Self {
            inside: explained.rows_in,
            outside: explained.rows_out,
            statistic: explained.statistic,
            tried: explained.tried,
            least: explained.least,
            exact: explained.exact,
            unknown: explained.unknown.into_iter().map(unknown).collect(),
            seconds,
            rows: explained.findings.into_iter().map(finding).collect(),
        }
    }
}

fn unknown(UnknownField { field, hits_in, hits_out }: UnknownField) -> UntriedField {
    UntriedField { field, inside: hits_in, outside: hits_out }
}

fn finding(finding: Finding) -> FindingRow {
    FindingRow {
        terms: finding.conditions.iter().map(|condition| term(condition)).collect(),
        filter: finding.filter,
        inside: finding.hits_in,
        outside: finding.hits_out,
        share_inside: finding.share_in,
        share_outside: finding.share_out,
        ratio: (finding.hits_out > 0).then_some(finding.ratio),
        g: finding.g,
        dispersion: finding.dispersion,
        q: finding.q,
        companions: finding.companions,
    }
}

#[derive(Serialize)]
pub(crate) struct FindingsAnswer {
    #[serde(flatten)]
    pub(crate) found: UnusualSpans,
    /// The log has ended, and these are of all of it.
    pub(crate) complete: bool,
    pub(crate) seconds: f64,
}

#[derive(Serialize)]
pub(crate) struct BreakdownAnswer {
    #[serde(flatten)]
    pub(crate) answer: Breakdown,
    pub(crate) seconds: f64,
}

impl BreakdownAnswer {
    pub(crate) fn new(mut answer: Breakdown, seconds: f64) -> Self {
        for value in &mut answer.values {
            value.max = value.max.take().map(OwnValue::for_scripts);
        }
        Self { answer, seconds }
    }

    /// Leaves so many values; the rows of the rest are those of others.
    pub(crate) fn truncate(&mut self, values: usize) {
        let cut = self.answer.values.split_off(values.min(self.answer.values.len()));
        self.answer.others += cut.iter().map(|value| value.hits).sum::<u64>();
    }
}

/// Metrics over time: of each a list with a number for each bucket, null where it has none.
#[derive(Serialize)]
pub(crate) struct TimeSeriesAnswer {
    seconds: f64,
    rows: u64,
    exact: bool,
    measure: Option<BreakdownMeasure>,
    measure_error: OwnValue,
    clients_error: f64,
    has_status: bool,
    has_bytes: bool,
    has_clients: bool,
    from: Option<i64>,
    bucket_seconds: Option<i64>,
    buckets: usize,
    others: u64,
    metrics: MetricLists,
}

/// Metrics of buckets, each by its name.
struct MetricLists {
    shown: MetricSet,
    buckets: Vec<BreakdownValue>,
}

/// One of them.
struct MetricList<'a>(BreakdownMetric, &'a [BreakdownValue]);

impl Serialize for MetricLists {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.shown.metrics().map(|metric| (metric.name(), MetricList(metric, &self.buckets))))
    }
}

impl Serialize for MetricList<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.1.iter().map(|bucket| bucket.number(self.0).for_scripts()))
    }
}

impl TimeSeriesAnswer {
    pub(crate) fn new(answer: Breakdown, seconds: f64) -> Self {
        Self {
            seconds,
            rows: answer.rows,
            exact: answer.exact,
            measure: answer.measure,
            measure_error: OwnValue::Float(answer.measure_error),
            clients_error: answer.clients_error,
            has_status: answer.has_status,
            has_bytes: answer.has_bytes,
            has_clients: answer.has_clients,
            from: answer.from,
            bucket_seconds: answer.bucket_seconds,
            buckets: answer.values.len(),
            others: answer.others,
            metrics: MetricLists { shown: answer.asked, buckets: answer.values },
        }
    }
}

#[derive(Serialize)]
pub(crate) struct RatesAnswer {
    seconds: f64,
    by: &'static str,
    clients: u64,
    exact: bool,
    /// Lines of clients that there was no room for: they are in no other number here.
    unknown: u64,
    /// The reason for which nothing was counted, where nothing was.
    reason: Option<&'static str>,
    pub(crate) rows: Vec<RateRow>,
    blocked: Option<Blocked>,
}

#[derive(Serialize)]
pub(crate) struct RateRow {
    value: String,
    hits: u64,
    peak_second: u32,
    peak_second_at: i64,
    peak_minute: u32,
    peak_minute_at: i64,
    /// The limit, where there is one.
    blocked: Option<u64>,
}

#[derive(Serialize)]
struct Blocked {
    requests: u64,
    values: u64,
}

impl RatesAnswer {
    pub(crate) fn new(rates: Rates, by: RateGrouping, seconds: f64) -> Self {
        let by = match by {
            RateGrouping::Client => "client",
            RateGrouping::Net => "net",
        };
        let row = |rate: ClientRate| RateRow {
            value: rate.value,
            hits: rate.hits,
            peak_second: rate.second_hits_max,
            peak_second_at: rate.second_at,
            peak_minute: rate.minute_hits_max,
            peak_minute_at: rate.minute_at,
            blocked: rate.blocked,
        };
        let limit = rates.limits.first();
        let blocked = limit.map(|limit| Blocked { requests: limit.blocked, values: limit.clients });
        Self {
            seconds,
            by,
            clients: rates.clients,
            exact: rates.exact,
            unknown: rates.unknown,
            reason: (rates.rows + rates.unknown == 0).then_some("no row of this view has both a time and a client"),
            rows: rates.fastest.into_iter().map(row).collect(),
            blocked,
        }
    }
}

#[derive(Serialize)]
struct Term {
    field: String,
    value: String,
}

/// A condition for people: `path = "/a b"` has the value `/a b`, `bytes >= 100` the value `>= 100`.
fn term(condition: &str) -> Term {
    let (field, value) = condition.split_once(" = ").or_else(|| condition.split_once(' ')).unwrap_or((condition, ""));
    let value = serde_json::from_str(value).unwrap_or_else(|_| value.to_owned());
    Term { field: field.to_owned(), value }
}

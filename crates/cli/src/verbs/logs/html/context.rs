//! Input of a template.

use super::breakdown::BreakdownTable;
use super::limits::SOURCES_MAX;
use super::timeline::TimelinePlot;
use super::week::WeekPlot;
use crate::verbs::logs::LogsAnswer;
use crate::verbs::summary::SummaryReport;
use jiff::Timestamp;
use rorqual_accesslog::aggregate::Analysis;
use rorqual_accesslog::report::{LogReport, Percentiles};
use rorqual_crossfilter::{Breakdown, UnusualSpan, UnusualSpans};
use rorqual_serve::ShownView;
use serde::Serialize;

/// The variables of a template; `docs/report-template.md` describes them.
#[derive(Debug, Serialize)]
pub(super) struct Context<'a> {
    /// The report as `rorqual logs --json` prints it.
    report: &'a LogReport,
    /// Rows of each table that were asked for.
    top: u16,
    timeline: Option<TimelinePlot>,
    /// Unusual spans of time; `None` where nobody asked for them.
    findings: Option<FindingsPlot<'a>>,
    /// Metrics of the values of a field; `None` where nobody asked for them.
    breakdown: Option<BreakdownTable<'a>>,
    week: Option<WeekPlot>,
    /// Choice of the rows, where it is not all of them.
    view: Option<ChosenRows<'a>>,
    spreads: Vec<PercentileBars>,
    limits: PlotLimits,
    /// Time of the report, in Unix seconds.
    made: i64,
    /// Of the program.
    version: &'static str,
}

/// The variables of the page of a table.
#[derive(Debug, Serialize)]
pub(super) struct TableContext<'a> {
    /// The input, as the page of a log has them.
    report: TableSources<'a>,
    table: &'a SummaryReport,
    top: u16,
    timeline: Option<TimelinePlot>,
    breakdown: Option<BreakdownTable<'a>>,
    view: Option<ChosenRows<'a>>,
    made: i64,
    version: &'static str,
}

#[derive(Debug, Serialize)]
struct TableSources<'a> {
    sources: [PageSource<'a>; 1],
    lines: [(); 0],
    complete: bool,
}

#[derive(Debug, Serialize)]
struct PageSource<'a> {
    name: &'a str,
}

impl<'a> TableContext<'a> {
    /// The page of a file, or of a view of it.
    pub(super) fn new(table: &'a SummaryReport, top: u16, shown: Option<&'a ShownView>) -> Self {
        let chosen = shown.map(|view| ChosenRows { filter: &view.filter, from: view.from, to: view.to });
        let is_part = |view: &ChosenRows<'_>| !view.filter.is_empty() || view.from.is_some() || view.to.is_some();
        let of_filter = || (!table.filter.is_empty()).then_some(ChosenRows { filter: &table.filter, from: None, to: None });
        Self {
            report: TableSources { sources: [PageSource { name: &table.file }], lines: [], complete: table.complete },
            table,
            top,
            timeline: table.time_histogram().as_ref().and_then(TimelinePlot::new),
            breakdown: None,
            view: chosen.filter(is_part).or_else(of_filter),
            made: Timestamp::now().as_second(),
            version: env!("CARGO_PKG_VERSION"),
        }
    }

    pub(super) fn with_breakdown(self, breakdown: Option<&'a Breakdown>) -> Self {
        Self { breakdown: breakdown.map(BreakdownTable::new), ..self }
    }
}

/// A filter as it is written, and a span in Unix seconds.
#[derive(Debug, Serialize)]
struct ChosenRows<'a> {
    filter: &'a str,
    from: Option<f64>,
    to: Option<f64>,
}

/// Unusual spans, the most unusual first.
#[derive(Debug, Serialize)]
struct FindingsPlot<'a> {
    spans: Vec<FindingMark<'a>>,
    /// Windows of time that were tried.
    tried: usize,
    exact: bool,
}

/// An unusual span, and its place along the timeline in per cent of the width.
#[derive(Debug, Serialize)]
struct FindingMark<'a> {
    from: i64,
    to: i64,
    text: &'a str,
    filter: &'a str,
    x: f64,
    width: f64,
}

impl<'a> FindingsPlot<'a> {
    fn new(found: &'a UnusualSpans, timeline: Option<&TimelinePlot>) -> Self {
        let place = |at: i64| timeline.map_or(0.0, |timeline| timeline.place(at));
        let mark = |span: &'a UnusualSpan| FindingMark {
            from: span.from,
            to: span.to,
            text: &span.text,
            filter: &span.filter,
            x: place(span.from),
            width: place(span.to) - place(span.from),
        };
        Self { spans: found.spans.iter().map(mark).collect(), tried: found.tried, exact: found.exact }
    }
}

#[derive(Debug, Serialize)]
struct PlotLimits {
    value_chars: usize,
    sample_chars: usize,
    sources: usize,
}

/// Percentiles as bars on a scale of doublings: from the half to the largest is often a
/// thousandfold.
#[derive(Debug, Serialize)]
struct PercentileBars {
    field: &'static str,
    title: &'static str,
    is_time: bool,
    count: u64,
    rows: Vec<Quantile>,
}

#[derive(Debug, Serialize)]
struct Quantile {
    name: &'static str,
    about: &'static str,
    value: f64,
    /// At most 1 % too high, and not exact.
    about_right: bool,
    /// Of the bar, in per cent.
    width: f64,
}

impl<'a> Context<'a> {
    pub(super) fn new(report: &'a LogReport, analysis: &Analysis, top: u16) -> Self {
        Self::of(report, WeekPlot::new(report, analysis), top)
    }

    pub(super) fn of_view(view: &'a ShownView) -> Self {
        let chosen = ChosenRows { filter: &view.filter, from: view.from, to: view.to };
        let is_part = !view.filter.is_empty() || view.from.is_some() || view.to.is_some();
        let top = u16::try_from(view.top).unwrap_or(u16::MAX);
        Self { view: is_part.then_some(chosen), ..Self::of(&view.report, WeekPlot::of_view(view), top) }
    }

    /// The page with the unusual spans, or the metrics, that were asked for.
    pub(super) fn with_answer(report: &'a LogReport, week: &[Vec<u64>], answer: &'a LogsAnswer, top: u16) -> Self {
        let plain = Self::of(report, WeekPlot::of_hours(report, week), top);
        match answer {
            LogsAnswer::Findings(found) => Self { findings: Some(FindingsPlot::new(found, plain.timeline.as_ref())), ..plain },
            LogsAnswer::Breakdown(breakdown) => Self { breakdown: Some(BreakdownTable::new(breakdown)), ..plain },
            LogsAnswer::Explain(_) | LogsAnswer::Compare(_) | LogsAnswer::Rates(_) => plain,
        }
    }

    fn of(report: &'a LogReport, week: Option<WeekPlot>, top: u16) -> Self {
        let set = &report.percentiles;
        let spreads = [
            set.bytes.map(|spread| PercentileBars::new("bytes", "Response size", &spread, 1.0)),
            set.request_time.map(|spread| PercentileBars::new("request_time", "Request time", &spread, 1e-6)),
            set.upstream_time.map(|spread| PercentileBars::new("upstream_time", "Upstream time", &spread, 1e-6)),
        ];
        Self {
            report,
            top,
            timeline: report.histogram.as_ref().and_then(TimelinePlot::new),
            findings: None,
            breakdown: None,
            week,
            view: None,
            spreads: spreads.into_iter().flatten().collect(),
            limits: PlotLimits {
                value_chars: super::limits::VALUE_CHARS_MAX,
                sample_chars: super::limits::SAMPLE_CHARS_MAX,
                sources: SOURCES_MAX,
            },
            made: Timestamp::now().as_second(),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

impl PercentileBars {
    /// `unit` is the smallest step that is worth a part of a bar.
    fn new(field: &'static str, title: &'static str, of: &Percentiles, unit: f64) -> Self {
        let length = |value: f64| (1.0 + value / unit).log2();
        let row = |name, about, value: f64, about_right| {
            let width = if of.max > 0.0 { percent(length(value) / length(of.max)) } else { 0.0 };
            Quantile { name, about, value, about_right, width: width.min(100.0) }
        };
        let rows = vec![
            row("p50", "half are at most this", of.p50, true),
            row("p90", "90 % are at most this", of.p90, true),
            row("p95", "95 % are at most this", of.p95, true),
            row("p99", "99 % are at most this", of.p99, true),
            row("max", "the largest", of.max, false),
            row("mean", "the mean", of.mean, false),
        ];
        Self { field, title, is_time: unit < 1.0, count: of.count, rows }
    }
}

/// A share in per cent, with as many digits as a screen can show.
pub(super) fn percent(share: f64) -> f64 {
    (share * 1e5).round() / 1e3
}

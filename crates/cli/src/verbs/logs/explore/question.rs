//! Questions and answers.

use super::super::time;
use crate::args::ExploreArgs;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::report::LogReport;
use rorqual_crossfilter::{
    Breakdown, BreakdownError, BreakdownMetric, BreakdownWanted, BucketWidth, Compared, ComparisonBase, Explained, Limit,
    OverTimeWanted, RateGrouping, RateUnit, Rates, RowStore, Stack, UnusualSpans, View, ViewError, ViewParts,
};
use rorqual_pipe::Control;
use serde::Serialize;

/// Buckets of the histograms in an answer.
const BUCKETS: usize = 400;

/// Limits that are looked at where none was given.
const PER_MINUTE: [u64; 6] = [10, 30, 60, 120, 300, 600];
const PER_SECOND: [u64; 5] = [1, 2, 5, 10, 20];

/// Question about the lines of a log.
#[derive(Debug, Clone)]
pub(crate) enum Question {
    Findings,
    Explain(SpanFilter),
    Compare(SpanFilter, SpanFilter),
    Rates { by: RateGrouping, limits: Vec<Limit> },
    Breakdown(BreakdownWanted),
}

/// Answer to a question.
#[derive(Debug)]
pub(crate) enum LogsAnswer {
    Findings(UnusualSpans),
    Explain(Explained),
    Compare(Box<Compared>),
    Rates(Rates),
    Breakdown(Breakdown),
}

impl Question {
    /// The question of the arguments, where there is one.
    pub(super) fn of(args: &ExploreArgs) -> Result<Option<Self>, String> {
        if args.findings {
            return Ok(Some(Self::Findings));
        }
        if let Some(text) = &args.explain {
            let span = span("--explain", text)?;
            if span.since_us.is_none() && span.until_us.is_none() {
                return Err(
                    "--explain ..: a span without FROM and TO has all lines, and nothing is left to hold it against".to_owned()
                );
            }
            return Ok(Some(Self::Explain(span)));
        }
        if let Some([a, b]) = args.compare.as_deref() {
            return Ok(Some(Self::Compare(span("--compare", a)?, span("--compare", b)?)));
        }
        if !args.rates {
            return Ok(args.by.as_deref().map(|field| Self::Breakdown(breakdown(args, field))));
        }
        let by = match args.by.as_deref() {
            None | Some("client") => RateGrouping::Client,
            Some("net") => RateGrouping::Net,
            Some(other) => return Err(format!("--by {other}: rates are by client or by net")),
        };
        Ok(Some(Self::Rates { by, limits: limits(args) }))
    }

    /// The spans that it is about.
    pub(super) fn spans(&self) -> Vec<SpanFilter> {
        match self {
            Self::Explain(span) => vec![*span],
            Self::Compare(a, b) => vec![*a, *b],
            Self::Findings | Self::Rates { .. } | Self::Breakdown(_) => Vec::new(),
        }
    }

    /// The spans, for programs.
    pub(crate) fn time_spans(&self) -> Vec<SpanSeconds> {
        let seconds = |time_us: i64| time_us as f64 / 1e6;
        let shown = |span: SpanFilter| SpanSeconds { from: span.since_us.map(seconds), to: span.until_us.map(seconds) };
        self.spans().into_iter().map(shown).collect()
    }

    /// The flag, where it is about times.
    pub(crate) fn timed_flag(&self) -> Option<&'static str> {
        match self {
            Self::Explain(_) => Some("--explain"),
            Self::Compare(..) => Some("--compare"),
            Self::Findings | Self::Rates { .. } | Self::Breakdown(_) => None,
        }
    }

    pub(super) fn ask(&self, store: &RowStore, top: usize, control: &Control) -> Result<LogsAnswer, ViewError> {
        self.ask_within(&View::default(), store, top, control)
    }

    /// Asks of the rows of a view.
    pub(crate) fn ask_within(
        &self,
        within: &View,
        store: &RowStore,
        top: usize,
        control: &Control,
    ) -> Result<LogsAnswer, ViewError> {
        let view = |span: SpanFilter| timed(span, within);
        match self {
            Self::Findings => {
                let mut found = store.unusual(control)?;
                found.spans.truncate(top);
                Ok(LogsAnswer::Findings(found))
            }
            Self::Explain(span) => {
                // Lines without a time are neither in the span nor in the rest.
                let mut explained = store.explain(&view(*span), &view(SpanFilter::default()), control)?;
                explained.findings.truncate(top);
                Ok(LogsAnswer::Explain(explained))
            }
            Self::Compare(a, b) => {
                let wanted = ViewParts { top, buckets: BUCKETS, stack: Stack::Class, facets: false };
                store
                    .compare([&view(*a), &view(*b)], ComparisonBase::View, &wanted, control)
                    .map(Box::new)
                    .map(LogsAnswer::Compare)
            }
            Self::Rates { by, limits } => store.rates(within, *by, top, limits, control).map(LogsAnswer::Rates),
            Self::Breakdown(wanted) if is_of_time(wanted, store) => {
                if wanted.sort != BreakdownMetric::Hits {
                    return Err(ViewError::Unanswerable(BreakdownError::Order(wanted.sort)));
                }
                let BreakdownWanted { show, measure, .. } = wanted.clone();
                let wanted = OverTimeWanted { width: BucketWidth::Most(top), show, measure };
                store.over_time(within, &wanted, control).map(LogsAnswer::Breakdown)
            }
            Self::Breakdown(wanted) => {
                let wanted = BreakdownWanted { limit: top, ..wanted.clone() };
                store.breakdown(within, &wanted, control).map(LogsAnswer::Breakdown)
            }
        }
    }

    /// Reason for which the answer says nothing, where that is for the question.
    pub(super) fn unanswerable(&self, answer: &LogsAnswer, report: &LogReport, dropped: u64) -> Option<String> {
        self.unanswerable_of(answer, report.time.map(|time| (time.first, time.last)), (report.lines.parsed, dropped))
    }

    /// The same for so many rows, with their first and last time, beside so many that had no room.
    pub(crate) fn unanswerable_of(
        &self,
        answer: &LogsAnswer,
        time: Option<(f64, f64)>,
        (rows, dropped): (u64, u64),
    ) -> Option<String> {
        let Some((first, last)) = time else {
            let flag = match self {
                Self::Explain(_) => "--explain",
                Self::Compare(..) => "--compare",
                // That nobody asked for anything is an answer.
                Self::Rates { .. } if rows == 0 => return None,
                // Lines without a time have values, too.
                Self::Breakdown(_) => return None,
                Self::Findings => "--findings",
                Self::Rates { .. } => "--rates",
            };
            return Some(format!("{flag}: no selected line has a time"));
        };
        let all = || {
            let log = if dropped == 0 { "the log is" } else { "the lines that had room are" };
            format!("{log} of {} to {} UTC", time::show(first as i64), time::show(last as i64))
        };
        let none = if dropped == 0 { "no line is in this span" } else { "no line that had room is in this span" };
        let empty = |flag: &str, span: &SpanFilter| format!("{flag} {}: {none}; {}", show(span), all());
        match (self, answer) {
            (Self::Explain(span), LogsAnswer::Explain(explained)) if explained.rows_in == 0 => Some(empty("--explain", span)),
            (Self::Explain(span), LogsAnswer::Explain(explained)) if explained.rows_out == 0 => Some(format!(
                "--explain {}: all lines are in this span, and nothing is left to hold it against; {}",
                show(span),
                all()
            )),
            (Self::Compare(a, _), LogsAnswer::Compare(compared)) if compared.a.lines.total == 0 => Some(empty("--compare", a)),
            (Self::Compare(_, b), LogsAnswer::Compare(compared)) if compared.b.lines.total == 0 => Some(empty("--compare", b)),
            _ => None,
        }
    }
}

/// A span in Unix seconds; `null` where it is open.
#[derive(Debug, Serialize)]
pub(crate) struct SpanSeconds {
    from: Option<f64>,
    to: Option<f64>,
}

impl LogsAnswer {
    /// True if every value was looked at.
    pub(crate) fn exact(&self) -> bool {
        match self {
            Self::Findings(found) => found.exact,
            Self::Explain(explained) => explained.exact,
            Self::Compare(compared) => {
                let exact = |panel: &rorqual_accesslog::report::Panel| panel.exact;
                compared.a.exact && compared.b.exact && compared.a.panels.iter().chain(&compared.b.panels).all(exact)
            }
            Self::Rates(rates) => rates.exact,
            Self::Breakdown(breakdown) => breakdown.exact,
        }
    }
}

/// `FROM..TO`, either of which may be left out.
fn span(flag: &str, text: &str) -> Result<SpanFilter, String> {
    let Some((from, to)) = text.split_once("..") else {
        return Err(format!(
            "{flag} {text}: is not a span FROM..TO (example: 2025-01-31T08:00..2025-01-31T08:30; either may be left out)"
        ));
    };
    let time = |text: &str| (!text.is_empty()).then(|| time::parse_us(text)).transpose();
    let parse = || Ok(SpanFilter { since_us: time(from)?, until_us: time(to)? });
    let span = parse().map_err(|error: String| format!("{flag} {text}: {error}"))?;
    if span.since_us.zip(span.until_us).is_some_and(|(from, to)| from >= to) {
        return Err(format!("{flag} {text}: FROM is not before TO: no line can be in between"));
    }
    Ok(span)
}

/// A span as people read it.
pub(super) fn show(span: &SpanFilter) -> String {
    let time = |time_us: i64| time::show(time_us.div_euclid(1_000_000));
    match (span.since_us, span.until_us) {
        (Some(from), Some(to)) => format!("{} to {} UTC", time(from), time(to)),
        (Some(from), None) => format!("{} UTC and later", time(from)),
        (None, Some(to)) => format!("before {} UTC", time(to)),
        (None, None) => "all times".to_owned(),
    }
}

/// The rows of a span, within those of a view, that have a time.
fn timed(span: SpanFilter, within: &View) -> View {
    let from_us = span.since_us.unwrap_or(i64::MIN).max(within.from_us.unwrap_or(i64::MIN));
    let to_us = [span.until_us, within.to_us].into_iter().flatten().min();
    View { from_us: Some(from_us), to_us, filter: within.filter.clone() }
}

/// True if metrics over time are asked for: `time`, or the table's column of times, unless a column
/// of texts has that name.
fn is_of_time(wanted: &BreakdownWanted, store: &RowStore) -> bool {
    let schema = store.schema();
    let is_named = |name: &str| wanted.field.eq_ignore_ascii_case(name);
    (is_named("time") || schema.time().is_some_and(is_named)) && schema.text(&wanted.field).is_none()
}

/// Buckets of the trend of a value.
const TREND_BUCKETS: usize = 24;

fn breakdown(args: &ExploreArgs, field: &str) -> BreakdownWanted {
    // The parser of the arguments knows no other names.
    let metrics = |names: &Vec<String>| names.iter().filter_map(|name| BreakdownMetric::named(name)).collect();
    BreakdownWanted {
        field: field.to_owned(),
        sort: BreakdownMetric::named(&args.sort).unwrap_or(BreakdownMetric::Hits),
        show: args.show.as_ref().map(metrics),
        measure: args.measure.clone(),
        limit: 0,
        trend_buckets: TREND_BUCKETS,
    }
}

fn limits(args: &ExploreArgs) -> Vec<Limit> {
    let limit = |per: RateUnit| move |requests: u64| Limit { requests, per };
    let given = args.limit_per_minute.map(limit(RateUnit::Minute)).or(args.limit_per_second.map(limit(RateUnit::Second)));
    given.map_or_else(
        || PER_SECOND.map(limit(RateUnit::Second)).into_iter().chain(PER_MINUTE.map(limit(RateUnit::Minute))).collect(),
        |limit| vec![limit],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_have_open_ends_and_zones() {
        let us = |seconds: i64| Some(seconds * 1_000_000);
        for (text, since_us, until_us) in [
            ("2025-01-31..2025-02-01", us(1_738_281_600), us(1_738_368_000)),
            ("2025-01-31T08:00..", us(1_738_310_400), None),
            ("..2025-01-31T10:00:00.5+02:00", None, Some(1_738_310_400_500_000)),
            ("..", None, None),
        ] {
            assert_eq!(span("--compare", text).map(|span| (span.since_us, span.until_us)), Ok((since_us, until_us)), "{text}");
        }
        for (text, said) in [
            ("2025-01-31", "not a span FROM..TO"),
            ("2025-01-31..2025-01-31", "not before"),
            ("2025-01-31..soon", "'soon' is not a time"),
            ("a..b..c", "'a' is not a time"),
        ] {
            assert!(span("--explain", text).unwrap_err().contains(said), "{text}");
        }
    }
}

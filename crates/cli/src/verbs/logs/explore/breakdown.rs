//! Metrics of values as a table, for looking at.

use super::super::terminal::{BOLD, DIM, EIGHTHS, bar, highest_share};
use super::super::time::{format, show_width};
use super::super::words::{distinct as about, seconds, shown, size, thousands};
use rorqual_accesslog::report::Distinct;
use rorqual_crossfilter::{Breakdown, BreakdownMetric, BreakdownValue, OwnValue};
use std::io::{self, Write};

/// Metrics that are not shown unless they are asked for: a screen has no room for all.
const SELDOM: [BreakdownMetric; 4] =
    [BreakdownMetric::P99, BreakdownMetric::Total, BreakdownMetric::First, BreakdownMetric::Last];

/// Columns of a value at least.
const VALUE_WIDTH_MIN: usize = 20;

/// A metric of all values, as people read it.
pub(in crate::verbs::logs) struct MetricText {
    pub(in crate::verbs::logs) metric: BreakdownMetric,
    pub(in crate::verbs::logs) cells: Vec<String>,
}

/// The metrics that are shown, in their order.
pub(in crate::verbs::logs) fn metric_texts(breakdown: &Breakdown) -> Vec<MetricText> {
    BreakdownMetric::ALL.into_iter().filter_map(|metric| column(breakdown, metric)).collect()
}

pub(super) fn print(out: &mut impl Write, breakdown: &Breakdown, width: usize) -> io::Result<()> {
    let Breakdown { rows, values, others, .. } = breakdown;
    heading(out, breakdown)?;
    if values.is_empty() {
        return writeln!(out, "None of {} rows has a value.", thousands(*rows));
    }
    let columns = metric_texts(breakdown);
    let widths: Vec<usize> = columns.iter().map(MetricText::width).collect();
    let used: usize = widths.iter().map(|width| width + 2).sum();
    let room = width.saturating_sub(used + 2);
    // The bars say what the numbers say, and are the first to make room for values.
    let bar_width = if room >= BAR_WIDTH + VALUE_WIDTH_MIN { BAR_WIDTH } else { 0 };
    let value_width = (room - bar_width).max(VALUE_WIDTH_MIN);
    let most = highest_share(values.iter().map(|value| value.share));
    write!(out, "{DIM}{:bar_width$}", "")?;
    for (column, width) in columns.iter().zip(&widths) {
        write!(out, "  {:>width$}", column.metric.name())?;
    }
    writeln!(out, "{DIM:#}")?;
    for (at, value) in values.iter().enumerate() {
        if bar_width > 0 {
            write!(out, "{:<bar_width$}", bar(value.share / most))?;
        }
        for (column, width) in columns.iter().zip(&widths) {
            write!(out, "  {:>width$}", column.cells[at])?;
        }
        writeln!(out, "  {}", shown(&value.value, value_width))?;
    }
    if *others > 0 {
        let lack = if time_width(breakdown).is_some() { "no time" } else { "other values, or none" };
        writeln!(out, "{DIM}{} of {} rows have {lack}.{DIM:#}", thousands(*others), thousands(*rows))?;
    }
    if let Some(ranked) = breakdown.ranked {
        writeln!(out, "{DIM}Ranked: the {} values with most rows.{DIM:#}", thousands(ranked))?;
    }
    if let Some(error) = breakdown.rank_error.filter(|error| *error > breakdown.measure_error) {
        writeln!(out, "{DIM}Of values that are within {} of each other one may stand for the other.{DIM:#}", part(error))?;
    }
    notes(out, breakdown, &columns)
}

/// Width of a bucket, where these are of time.
fn time_width(breakdown: &Breakdown) -> Option<i64> {
    breakdown.bucket_seconds.filter(|_| breakdown.is_over_time)
}

/// The field, its values and their order.
fn heading(out: &mut impl Write, breakdown: &Breakdown) -> io::Result<()> {
    let Breakdown { field, sort, distinct, distinct_error: error, .. } = breakdown;
    if let Some(width) = time_width(breakdown) {
        return writeln!(out, "\n{BOLD}time{BOLD:#}  {DIM}UTC, {} a row{DIM:#}", show_width(width));
    }
    let plural = if *distinct == 1 { "value" } else { "values" };
    let distinct = about(Distinct { distinct: *distinct, exact: *error == 0.0, error: *error });
    writeln!(out, "\n{BOLD}{}{BOLD:#}  {DIM}{distinct} {plural}, by {}{DIM:#}", shown(field, VALUE_WIDTH_MAX), sort.name())
}

/// Columns of a bar, and of the name of the field.
const BAR_WIDTH: usize = 12;
const VALUE_WIDTH_MAX: usize = 60;

impl MetricText {
    pub(in crate::verbs::logs) fn is_trend(&self) -> bool {
        self.metric == BreakdownMetric::Trend
    }

    fn width(&self) -> usize {
        let title = self.metric.name().len();
        self.cells.iter().map(|cell| cell.chars().count()).fold(title, usize::max)
    }
}

/// The source of the numbers, and the axis of the trends.
fn notes(out: &mut impl Write, breakdown: &Breakdown, columns: &[MetricText]) -> io::Result<()> {
    let has = |is_so: fn(&BreakdownValue) -> bool| breakdown.values.iter().any(is_so);
    let has_quantiles = has(|value| value.p50.or(value.p95).or(value.p99).is_some());
    let is_measured = has_quantiles || has(|value| value.max.is_some() || value.total.is_some());
    if let Some(measure) = breakdown.measure.as_ref().filter(|_| is_measured) {
        let within = if has_quantiles { format!(", quantiles within {}", part(breakdown.measure_error)) } else { String::new() };
        writeln!(out, "{DIM}Numbers are of {}{within}.{DIM:#}", shown(&measure.field, VALUE_WIDTH_MAX))?;
    }
    if breakdown.clients_error > 0.0 {
        writeln!(out, "{DIM}Clients are estimated, within {} (two standard deviations).{DIM:#}", part(breakdown.clients_error))?;
    }
    match breakdown.from.zip(breakdown.bucket_seconds).filter(|_| columns.iter().any(MetricText::is_trend)) {
        Some((from, width)) => {
            writeln!(out, "{DIM}Trends begin {} UTC, {} a column.{DIM:#}", format(from, TIME_FORMAT), show_width(width))
        }
        None => Ok(()),
    }
}

/// A part as people read it.
fn part(error: f64) -> String {
    if error.is_finite() { format!("{:.1} %", error * 100.0) } else { "any part".to_owned() }
}

const TIME_FORMAT: &str = "%Y-%m-%d %H:%M";

/// The column of a metric; of one that is not named, `None` where no value has it, or where it is
/// seldom wanted.
fn column(breakdown: &Breakdown, metric: BreakdownMetric) -> Option<MetricText> {
    let unit = breakdown.measure.as_ref().map_or("", |measure| measure.unit);
    let cell = |value: &BreakdownValue| cell(value, metric, unit);
    // Buckets of time say it themselves.
    let sort = if time_width(breakdown).is_some() { BreakdownMetric::Hits } else { breakdown.sort };
    let cells: Vec<Option<String>> = breakdown.values.iter().map(cell).collect();
    let is_wanted = breakdown.asked.contains(metric) && (!breakdown.asks_all || metric == sort || !SELDOM.contains(&metric));
    (is_wanted && (!breakdown.asks_all || cells.iter().any(Option::is_some)))
        .then(|| MetricText { metric, cells: cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".to_owned())).collect() })
}

/// A metric of a value as people read it; `None` where it has none.
pub(in super::super) fn cell(value: &BreakdownValue, metric: BreakdownMetric, unit: &str) -> Option<String> {
    let time = |seconds: f64| format(seconds.floor() as i64, TIME_FORMAT);
    match metric {
        BreakdownMetric::Hits => Some(thousands(value.hits)),
        BreakdownMetric::Errors => value.errors.map(thousands),
        BreakdownMetric::ErrorRate => value.error_rate.map(|rate| format!("{:.2} %", rate * 100.0)),
        BreakdownMetric::Refused => value.refused.map(thousands),
        BreakdownMetric::Bytes => value.bytes.map(size),
        BreakdownMetric::P50 => value.p50.map(|number| in_unit(number, unit)),
        BreakdownMetric::P95 => value.p95.map(|number| in_unit(number, unit)),
        BreakdownMetric::P99 => value.p99.map(|number| in_unit(number, unit)),
        BreakdownMetric::Max => value.max.as_ref().map(|number| match number {
            OwnValue::Absent => "-".to_owned(),
            OwnValue::Text(text) => text.clone(),
            OwnValue::Integer(number) => number.to_string(),
            OwnValue::Natural(number) => in_unit(*number as f64, unit),
            OwnValue::Float(number) => in_unit(*number, unit),
        }),
        BreakdownMetric::Total => value.total.map(|number| in_unit(number, unit)),
        BreakdownMetric::Clients => value.clients.map(thousands),
        BreakdownMetric::First => value.first.map(time),
        BreakdownMetric::Last => value.last.map(time),
        BreakdownMetric::Trend => value.trend.as_deref().map(trend),
    }
}

/// A number as people read it.
fn in_unit(number: f64, unit: &str) -> String {
    match unit {
        "seconds" => seconds(number),
        "bytes" => size(number as u64),
        "integer" => format!("{number:.0}"),
        // The digits of a large or small one would fill the screen.
        _ if number != 0.0 && number.is_finite() && !(1e-6..1e15).contains(&number.abs()) => format!("{number:e}"),
        _ => format!("{number}"),
    }
}

/// Rows over time, each bucket as high as its part of the most.
fn trend(counts: &[u64]) -> String {
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let height = |count: &u64| {
        let height = (u128::from(*count) * (EIGHTHS.len() - 1) as u128).div_ceil(u128::from(most)) as usize;
        EIGHTHS[height]
    };
    counts.iter().map(height).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trend_shows_the_least_row() {
        assert_eq!(trend(&[0, 1, 400, 800]), " ▁▄█");
        assert_eq!(trend(&[0, 0]), "  ");
        assert_eq!(trend(&[u64::MAX]), "█");
    }

    #[test]
    fn numbers_in_their_unit() {
        assert_eq!(in_unit(0.0125, "seconds"), "12.5 ms");
        assert_eq!(in_unit(1_536.0, "bytes"), size(1_536));
        assert_eq!(in_unit(12.0, "integer"), "12");
        assert_eq!(in_unit(0.5, "float"), "0.5");
    }
}

//! Metrics of values as a table, for looking at.

use super::super::shown;
use super::super::terminal::{BOLD, DIM, EIGHTHS, bar};
use super::super::time::{format, show_width};
use super::super::words::{distinct as about, seconds, size, thousands};
use rorqual_accesslog::report::Distinct;
use rorqual_crossfilter::{Breakdown, BreakdownMetric, BreakdownValue, OwnValue};
use std::io::{self, Write};

/// Metrics that are not shown unless they are asked for: a screen has no room for all.
const SELDOM: [BreakdownMetric; 4] =
    [BreakdownMetric::P99, BreakdownMetric::Total, BreakdownMetric::First, BreakdownMetric::Last];

/// Columns of a value at least.
const VALUE_WIDTH_MIN: usize = 20;

/// A column of the table.
struct TableColumn {
    title: String,
    cells: Vec<String>,
    is_trend: bool,
}

pub(super) fn print(out: &mut impl Write, breakdown: &Breakdown, width: usize) -> io::Result<()> {
    let Breakdown { field, sort, rows, values, others, .. } = breakdown;
    let distinct =
        Distinct { distinct: breakdown.distinct, exact: breakdown.distinct_error == 0.0, error: breakdown.distinct_error };
    let plural = if distinct.distinct == 1 { "value" } else { "values" };
    writeln!(
        out,
        "\n{BOLD}{}{BOLD:#}  {DIM}{} {plural}, by {}{DIM:#}",
        shown(field, VALUE_WIDTH_MAX),
        about(distinct),
        sort.name()
    )?;
    if values.is_empty() {
        return writeln!(out, "None of {} rows has a value.", thousands(*rows));
    }
    let columns: Vec<TableColumn> = BreakdownMetric::ALL.into_iter().filter_map(|metric| column(breakdown, metric)).collect();
    let widths: Vec<usize> = columns.iter().map(TableColumn::width).collect();
    let used: usize = widths.iter().map(|width| width + 2).sum();
    let room = width.saturating_sub(used + 1);
    // The bars say what the numbers say, and are the first to make room for values.
    let bar_width = if room >= BAR_WIDTH + VALUE_WIDTH_MIN { BAR_WIDTH } else { 0 };
    let value_width = (room - bar_width).max(VALUE_WIDTH_MIN);
    write!(out, "{DIM}{:bar_width$}", "")?;
    for (column, width) in columns.iter().zip(&widths) {
        write!(out, "  {:>width$}", column.title)?;
    }
    writeln!(out, "{DIM:#}")?;
    for (at, value) in values.iter().enumerate() {
        if bar_width > 0 {
            write!(out, "{:<bar_width$}", bar(value.share))?;
        }
        for (column, width) in columns.iter().zip(&widths) {
            write!(out, "  {:>width$}", column.cells[at])?;
        }
        writeln!(out, "  {}", shown(&value.value, value_width))?;
    }
    if *others > 0 {
        writeln!(out, "{DIM}{} of {} rows have other values, or none.{DIM:#}", thousands(*others), thousands(*rows))?;
    }
    if let Some(ranked) = breakdown.ranked {
        writeln!(out, "{DIM}Ranked: the {} values with most rows.{DIM:#}", thousands(ranked))?;
    }
    if let Some(error) = breakdown.rank_error.filter(|error| *error > breakdown.measure_error) {
        writeln!(out, "{DIM}Of values that are within {} of each other one may stand for the other.{DIM:#}", part(error))?;
    }
    notes(out, breakdown, &columns)
}

/// Columns of a bar, and of the name of the field.
const BAR_WIDTH: usize = 12;
const VALUE_WIDTH_MAX: usize = 60;

impl TableColumn {
    fn width(&self) -> usize {
        self.cells.iter().chain([&self.title]).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }
}

/// The source of the numbers, and the axis of the trends.
fn notes(out: &mut impl Write, breakdown: &Breakdown, columns: &[TableColumn]) -> io::Result<()> {
    let has = |is_so: fn(&BreakdownValue) -> bool| breakdown.values.iter().any(is_so);
    let has_quantiles = has(|value| value.p50.or(value.p95).or(value.p99).is_some());
    let is_measured = has_quantiles || has(|value| value.max.is_some() || value.total.is_some());
    if let Some(measure) = breakdown.measure.as_ref().filter(|_| is_measured) {
        let within = if has_quantiles { format!(", quantiles within {}", part(breakdown.measure_error)) } else { String::new() };
        writeln!(out, "{DIM}Numbers are of {}{within}.{DIM:#}", shown(&measure.field, VALUE_WIDTH_MAX))?;
    }
    match breakdown.from.zip(breakdown.bucket_seconds).filter(|_| columns.iter().any(|column| column.is_trend)) {
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
fn column(breakdown: &Breakdown, metric: BreakdownMetric) -> Option<TableColumn> {
    let unit = breakdown.measure.as_ref().map_or("", |measure| measure.unit);
    let cell = |value: &BreakdownValue| cell(value, metric, unit);
    let cells: Vec<Option<String>> = breakdown.values.iter().map(cell).collect();
    let is_wanted =
        breakdown.asked.contains(metric) && (!breakdown.asks_all || metric == breakdown.sort || !SELDOM.contains(&metric));
    (is_wanted && (!breakdown.asks_all || cells.iter().any(Option::is_some))).then(|| TableColumn {
        title: metric.name().to_owned(),
        cells: cells.into_iter().map(|cell| cell.unwrap_or_else(|| "-".to_owned())).collect(),
        is_trend: metric == BreakdownMetric::Trend,
    })
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

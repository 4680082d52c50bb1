//! Metrics of values as a table of the page.

use super::context::percent;
use crate::verbs::logs::explore::breakdown::{MetricText, metric_texts};
use rorqual_crossfilter::{Breakdown, BreakdownMetric, BreakdownValue, OwnValue};
use serde::Serialize;
use std::cmp::Ordering;

/// Metrics of the values of a field, as the page shows them.
#[derive(Debug, Serialize)]
pub(super) struct BreakdownTable<'a> {
    field: &'a str,
    /// The values are buckets of time.
    is_over_time: bool,
    /// Metrics, in the order of the cells; the trend is none of them.
    columns: Vec<MetricHead>,
    rows: Vec<BreakdownRow<'a>>,
    /// Rows of none of the values, and of all.
    others: u64,
    hits: u64,
    /// Numbers that quantiles are of.
    measure: Option<&'a str>,
    /// Parts in a hundred by which quantiles and clients may be wrong; absent where they are
    /// exact, and where nothing is known.
    measure_error: Option<f64>,
    clients_error: Option<f64>,
    /// Values that were ranked, where these are not all.
    ranked: Option<u64>,
    exact: bool,
    /// Width of a bar of a trend, and the first one's begin; absent without trends.
    trend_seconds: Option<i64>,
    trend_from: Option<i64>,
}

#[derive(Debug, Serialize)]
struct MetricHead {
    name: &'static str,
    is_sorted: bool,
}

#[derive(Debug, Serialize)]
struct BreakdownRow<'a> {
    value: &'a str,
    cells: Vec<MetricCell>,
    /// The most of a bucket, and the bars as a path in a box as wide as there are buckets and 16
    /// high.
    trend: Option<TrendPath>,
}

#[derive(Debug, Serialize)]
struct MetricCell {
    text: String,
    /// Its place among the cells of its column.
    rank: usize,
}

#[derive(Debug, Serialize)]
struct TrendPath {
    most: u64,
    width: usize,
    path: String,
}

/// Height of the box of a trend.
const TREND_HEIGHT: u64 = 16;

impl<'a> BreakdownTable<'a> {
    pub(super) fn new(breakdown: &'a Breakdown) -> Self {
        let texts: Vec<MetricText> = metric_texts(breakdown).into_iter().filter(|text| !text.is_trend()).collect();
        let ranks: Vec<Vec<usize>> = texts.iter().map(|text| ranks(&breakdown.values, text.metric)).collect();
        let has_trend = breakdown.values.iter().any(|value| value.trend.is_some());
        let row = |(at, value): (usize, &'a BreakdownValue)| BreakdownRow {
            value: &value.value,
            cells: texts
                .iter()
                .zip(&ranks)
                .map(|(text, ranks)| MetricCell { text: text.cells[at].clone(), rank: ranks[at] })
                .collect(),
            trend: value.trend.as_deref().map(TrendPath::new),
        };
        let in_percent = |error: f64| (error > 0.0 && error.is_finite()).then(|| percent(error));
        Self {
            field: &breakdown.field,
            is_over_time: breakdown.is_over_time,
            columns: texts
                .iter()
                .map(|text| MetricHead { name: text.metric.name(), is_sorted: text.metric == breakdown.sort })
                .collect(),
            rows: breakdown.values.iter().enumerate().map(row).collect(),
            others: breakdown.others,
            hits: breakdown.rows,
            measure: breakdown.measure.as_ref().map(|measure| &*measure.field),
            measure_error: in_percent(breakdown.measure_error),
            clients_error: in_percent(breakdown.clients_error),
            ranked: breakdown.ranked,
            exact: breakdown.exact,
            trend_seconds: breakdown.bucket_seconds.filter(|_| has_trend),
            trend_from: breakdown.from.filter(|_| has_trend),
        }
    }
}

/// The place of each value by a metric, the least first; those without one before all.
fn ranks(values: &[BreakdownValue], metric: BreakdownMetric) -> Vec<usize> {
    let number = |value: &BreakdownValue| match value.number(metric) {
        OwnValue::Natural(number) => Some(number as f64),
        OwnValue::Integer(number) => Some(number as f64),
        OwnValue::Float(number) => Some(number),
        OwnValue::Absent | OwnValue::Text(_) => None,
    };
    let numbers: Vec<Option<f64>> = values.iter().map(number).collect();
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| numbers[*a].partial_cmp(&numbers[*b]).unwrap_or(Ordering::Equal));
    let mut ranks = vec![0; values.len()];
    for pair in order.windows(2) {
        let is_more = numbers[pair[0]] != numbers[pair[1]];
        ranks[pair[1]] = ranks[pair[0]] + usize::from(is_more);
    }
    ranks
}

impl TrendPath {
    /// Bars, each 1 wide; none of a bucket with rows is too low to be seen.
    fn new(trend: &[u64]) -> Self {
        let most = trend.iter().copied().max().unwrap_or(0);
        let bar = |(at, hits): (usize, &u64)| {
            let height = (u128::from(TREND_HEIGHT) * u128::from(*hits)).div_ceil(u128::from(most.max(1))) as u64;
            (*hits > 0).then(|| format!("M{at} {TREND_HEIGHT}V{}h1V{TREND_HEIGHT}z", TREND_HEIGHT - height))
        };
        Self { most, width: trend.len(), path: trend.iter().enumerate().filter_map(bar).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_of_the_most_is_as_high_as_the_box_and_the_least_can_be_seen() {
        let trend = TrendPath::new(&[0, 1, 400, 800]);
        assert_eq!((trend.most, trend.width), (800, 4));
        assert_eq!(trend.path, "M1 16V15h1V16zM2 16V8h1V16zM3 16V0h1V16z");
        assert_eq!(TrendPath::new(&[0, 0]).path, "");
    }
}

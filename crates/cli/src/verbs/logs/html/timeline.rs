//! Requests over time: bars stacked by status class.

use super::axis::{CountTick, TimeTick, count_ticks, time_ticks};
use super::context::percent;
use super::limits::COLUMNS_MAX;
use crate::verbs::logs::columns::columns;
use crate::verbs::logs::time::show_width;
use rorqual_accesslog::report::TimeHistogram;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ops::Range;

/// From the baseline upwards: errors stand where the eye compares heights best, and the many
/// successes ride on top of them. Rows of a table have no class.
const STACK: [&str; 6] = ["5xx", "4xx", "other", "3xx", "2xx", "rows"];

/// A bar of less than this share of the height is hard to see.
const VISIBLE: f64 = 0.01;

/// The plot. Places are in per cent of its width, and of its height from the top.
#[derive(Debug, Serialize)]
pub(super) struct TimelinePlot {
    /// Time of one bar: `hour`, `6 hours`.
    width: String,
    width_seconds: i64,
    /// Its time, in Unix seconds.
    #[serde(skip)]
    span: Range<i64>,
    /// Most requests in one bar.
    most: u64,
    /// Classes from the baseline upwards, with the sum of their requests; those without any are
    /// left out.
    classes: Vec<Class>,
    /// Only those with requests.
    columns: Vec<PlotColumn>,
    counts: Vec<CountTick>,
    /// Labels for a narrow, a usual and a wide page.
    narrow: Vec<TimeTick>,
    usual: Vec<TimeTick>,
    wide: Vec<TimeTick>,
}

#[derive(Debug, Serialize)]
struct Class {
    name: &'static str,
    hits: u64,
}

#[derive(Debug, Serialize)]
struct PlotColumn {
    /// Its start and end in Unix seconds.
    from: i64,
    to: i64,
    total: u64,
    hits: BTreeMap<&'static str, u64>,
    x: f64,
    width: f64,
    bars: Vec<Bar>,
    /// The class of too few requests to be seen as a bar, which is marked at the baseline.
    few: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Bar {
    class: &'static str,
    y: f64,
    height: f64,
}

impl TimelinePlot {
    pub(super) fn new(histogram: &TimeHistogram) -> Option<Self> {
        let joined = columns(histogram, COLUMNS_MAX)?;
        let most = joined.hits.iter().map(|hits| hits.iter().sum()).max().filter(|most| *most > 0)?;
        let (from, to) = (joined.start, joined.start + joined.span * joined.hits.len().cast_signed() as i64);
        let by_name = |hits: &[u64]| histogram.series.iter().map(|series| series.class).zip(hits.iter().copied()).collect();
        let columns: Vec<PlotColumn> = joined
            .hits
            .iter()
            .enumerate()
            .filter(|(_, hits)| hits.iter().any(|hits| *hits > 0))
            .map(|(index, hits)| {
                column(joined.start + index.cast_signed() as i64 * joined.span, joined.span, by_name(hits), most, (from, to))
            })
            .collect();
        let class = |name| Class { name, hits: columns.iter().filter_map(|column| column.hits.get(name)).sum() };
        Some(Self {
            width: show_width(joined.span),
            width_seconds: joined.span,
            span: from..to,
            most,
            classes: STACK.into_iter().map(class).filter(|class| class.hits > 0).collect(),
            columns,
            counts: count_ticks(most),
            narrow: time_ticks(from, to, 300),
            usual: time_ticks(from, to, 640),
            wide: time_ticks(from, to, 1_200),
        })
    }

    /// The place of a time along the plot, at its border where it is beyond.
    pub(super) fn place(&self, at: i64) -> f64 {
        let Range { start, end } = self.span;
        percent((at.clamp(start, end) - start) as f64 / (end - start) as f64)
    }
}

fn column(at: i64, span: i64, hits: BTreeMap<&'static str, u64>, most: u64, (from, to): (i64, i64)) -> PlotColumn {
    let share = |hits: u64| hits as f64 / most as f64;
    let total = hits.values().sum();
    let mut below = 0;
    let mut bars = Vec::new();
    for class in STACK {
        let count = hits.get(class).copied().unwrap_or(0);
        below += count;
        if count > 0 {
            bars.push(Bar { class, y: percent(1.0 - share(below)), height: percent(share(count)) });
        }
    }
    let gravest = bars.first().filter(|bar| share(total) < VISIBLE || bar.class == "5xx" && bar.height < 100.0 * VISIBLE);
    let few = gravest.map(|bar| bar.class);
    let place = |at: i64| percent((at - from) as f64 / (to - from) as f64);
    // To where the next one begins, so that no gap comes from rounding.
    let (x, width) = (place(at), ((place(at + span) - place(at)) * 1e3).round() / 1e3);
    PlotColumn { from: at, to: at + span, total, hits, x, width, bars, few }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rorqual_accesslog::report::ReportSeries;

    #[test]
    fn errors_stand_on_the_baseline() {
        let series = |class, hits: [u64; 2]| ReportSeries { class, hits: hits.to_vec() };
        let histogram = TimeHistogram {
            bucket_seconds: 3_600,
            finest_seconds: 1,
            at: vec![0, 3 * 3_600],
            series: vec![series("2xx", [750, 2]), series("4xx", [0, 0]), series("5xx", [250, 0])],
        };
        let plot = TimelinePlot::new(&histogram).expect("it has requests");
        let bars = |index: usize| plot.columns[index].bars.iter().map(|bar| (bar.class, bar.y, bar.height)).collect::<Vec<_>>();
        assert_eq!(bars(0), [("5xx", 75.0, 25.0), ("2xx", 0.0, 75.0)]);
        assert_eq!((plot.columns[0].few, plot.columns[1].few), (None, Some("2xx")));
        assert_eq!((plot.columns.len(), plot.columns[1].x, plot.most), (2, 75.0, 1_000));
        let classes: Vec<_> = plot.classes.iter().map(|class| (class.name, class.hits)).collect();
        assert_eq!(classes, [("5xx", 250), ("2xx", 752)]);
    }
}

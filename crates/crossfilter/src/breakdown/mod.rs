//! Metrics of a field's values, or of buckets of time: the rows of a view by value, with their
//! errors, durations, sizes, clients and course over time.

pub(crate) mod error;
mod metric;
mod over_time;
mod question;
mod ranking;
mod sums;

pub use error::BreakdownError;
pub use metric::{BreakdownMetric, MetricSet};
pub use over_time::{BucketWidth, OverTimeWanted};
pub use question::BreakdownWanted;

use crate::columns::CLIENT;
use crate::page_row::{OwnValue, finite_or_text};
use crate::question::ViewQuestion;
use crate::segment::unbiased;
use crate::store::RowStore;
use crate::time_axis::Axis;
use crate::view::{PanelWanted, View, ViewError};
use crate::view_cache::CountedViews;
use question::{ResolvedBreakdown, ResolvedMetrics};
use ranking::{BreakdownPasses, RankedValues, TREND_BUCKETS_MAX, best};
use rorqual_accesslog::filter::{Filter, NumberTest};
use rorqual_accesslog::report::Distinct;
use rorqual_accesslog::schema::{NumberColumn, NumberUnit};
use rorqual_pipe::Control;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use sums::{CountedValues, ValueSums};

/// Metrics of the values of a field.
#[derive(Debug, Clone, Serialize)]
pub struct Breakdown {
    /// Name of the field, for programs.
    pub field: String,
    /// Metric that the values are ranked by.
    pub sort: BreakdownMetric,
    /// True if the values are buckets of time.
    #[serde(skip)]
    pub is_over_time: bool,
    /// Metrics of the values.
    #[serde(skip)]
    pub asked: MetricSet,
    /// True if none was named.
    #[serde(skip)]
    pub asks_all: bool,
    /// Rows of the view.
    pub rows: u64,
    /// Values of the field in the view.
    pub distinct: u64,
    /// Part of it by which it may be wrong, where some values have no place of their own.
    pub distinct_error: f64,
    /// True if every number is exact but the quantiles and, by `clients_error`, the clients, every
    /// value was known, and values were ranked by exact numbers but for `rank_error`.
    pub exact: bool,
    /// Values that were ranked, those with most rows; `None` where all were.
    pub ranked: Option<u64>,
    /// Part of a quantile by which one may be beside it where values were ranked by it: of values
    /// that are as close one may be listed in place of the other.
    #[serde(serialize_with = "finite_or_text_or_null")]
    pub rank_error: Option<f64>,
    /// Numbers that the quantiles are of.
    pub measure: Option<BreakdownMeasure>,
    /// Part of an exact quantile by which one may be beside it; a whole number, by a half in any
    /// case.
    #[serde(serialize_with = "finite_or_text")]
    pub measure_error: f64,
    /// Part by which a number of clients may be wrong, two standard deviations; 0 where all are
    /// exact.
    pub clients_error: f64,
    /// True if the rows have statuses.
    pub has_status: bool,
    /// True if the rows have sizes of responses.
    pub has_bytes: bool,
    /// True if the rows have clients.
    pub has_clients: bool,
    /// Unix seconds of the first bucket of a trend; `None` where no row has a time.
    pub from: Option<i64>,
    /// Width of a bucket of a trend.
    pub bucket_seconds: Option<i64>,
    /// Buckets of a trend.
    pub buckets: Option<usize>,
    /// The highest first.
    pub values: Vec<BreakdownValue>,
    /// Rows of the view with none of these values.
    pub others: u64,
}

/// Numbers that quantiles are of.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct BreakdownMeasure {
    /// Name of the field, for programs.
    pub field: Cow<'static, str>,
    /// Name of the unit, for programs.
    pub unit: &'static str,
}

/// A value with its metrics; `None` of those that were not asked for, that these rows do not have,
/// or that no row of the value has.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct BreakdownValue {
    /// The value as in the log.
    pub value: String,
    /// Filter for its rows.
    pub filter: String,
    /// Its rows.
    pub hits: u64,
    /// Its part of the view's rows.
    pub share: f64,
    /// Rows with a status of 500 or more.
    pub errors: Option<u64>,
    /// Their part of its rows.
    pub error_rate: Option<f64>,
    /// Rows with a status from 400 to 499.
    pub refused: Option<u64>,
    /// Sum of the response sizes; 2^64 - 1 stands for that or more. `None` where no row has one.
    pub bytes: Option<u64>,
    /// Median of the measure.
    #[serde(serialize_with = "finite_or_text_or_null")]
    pub p50: Option<f64>,
    /// Number that 95 % of the rows are not above.
    #[serde(serialize_with = "finite_or_text_or_null")]
    pub p95: Option<f64>,
    /// Number that 99 % of the rows are not above.
    #[serde(serialize_with = "finite_or_text_or_null")]
    pub p99: Option<f64>,
    /// The largest number.
    pub max: Option<OwnValue>,
    /// Sum of the numbers, to the precision of a double.
    #[serde(serialize_with = "finite_or_text_or_null")]
    pub total: Option<f64>,
    /// Number of client addresses.
    pub clients: Option<u64>,
    /// Unix seconds of its first row.
    pub first: Option<f64>,
    /// Unix seconds of its last row.
    pub last: Option<f64>,
    /// Rows over time.
    pub trend: Option<Vec<u64>>,
}

impl BreakdownValue {
    /// A metric as a number; absent where there is none, and the trend, which is many.
    #[must_use]
    pub fn number(&self, metric: BreakdownMetric) -> OwnValue {
        let whole = |number: Option<u64>| number.map_or(OwnValue::Absent, OwnValue::Natural);
        let float = |number: Option<f64>| number.map_or(OwnValue::Absent, OwnValue::Float);
        match metric {
            BreakdownMetric::Hits => OwnValue::Natural(self.hits),
            BreakdownMetric::Errors => whole(self.errors),
            BreakdownMetric::ErrorRate => float(self.error_rate),
            BreakdownMetric::Refused => whole(self.refused),
            BreakdownMetric::Bytes => whole(self.bytes),
            BreakdownMetric::P50 => float(self.p50),
            BreakdownMetric::P95 => float(self.p95),
            BreakdownMetric::P99 => float(self.p99),
            BreakdownMetric::Max => self.max.clone().unwrap_or(OwnValue::Absent),
            BreakdownMetric::Total => float(self.total),
            BreakdownMetric::Clients => whole(self.clients),
            BreakdownMetric::First => float(self.first),
            BreakdownMetric::Last => float(self.last),
            BreakdownMetric::Trend => OwnValue::Absent,
        }
    }
}

fn finite_or_text_or_null<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => finite_or_text(number, serializer),
        None => serializer.serialize_none(),
    }
}

impl RowStore {
    /// Metrics of the values of a field in a view.
    ///
    /// # Errors
    /// When these rows have no such field, numbers or metric, when it was cancelled, or spilled
    /// rows can't be read back.
    pub fn breakdown(&self, view: &View, wanted: &BreakdownWanted, control: &Control) -> Result<Breakdown, ViewError> {
        self.asked(|| self.broken_down(view, wanted, control))
    }

    fn broken_down(&self, view: &View, wanted: &BreakdownWanted, control: &Control) -> Result<Breakdown, ViewError> {
        // First the rows: the codes of a field that is looked up before them may be too few.
        let (snapshot, base) = self.up_to_date(control)?;
        let counts_of = |view: &View| self.sums_in(&snapshot, &base, view, control);
        let all = counts_of(&View::default())?;
        let counted = counts_of(view)?;
        let question = self.resolved(wanted, &snapshot, &all).map_err(ViewError::Unanswerable)?;
        let failed = question.sort.statuses().map(|statuses| {
            let test = Filter::Number(NumberColumn::STATUS, NumberTest::range(*statuses.start(), *statuses.end()));
            counts_of(&View { filter: Filter::All(vec![view.filter.clone(), test]), ..view.clone() })
        });
        let failed = failed.transpose()?;
        let asking = ViewQuestion::new(self, view, &View::default(), control)?;
        let axis = snapshot
            .axis(view, question.trend_buckets.min(TREND_BUCKETS_MAX))
            .filter(|_| question.metrics.show.contains(BreakdownMetric::Trend));
        let passes = BreakdownPasses { asking: &asking, snapshot: &snapshot, question: &question, axis };
        let mut ranked = passes.ranked(&counted, failed.as_deref())?;
        let mut found = passes.sums(&ranked.codes, question.metrics.show)?;
        if question.sort.is_quantile() {
            // These are finer than those that the values were ranked by.
            let unit = question.metrics.unit();
            let finer = best(&ranked.codes, &found.sums, |sums| question.sort.key(sums, unit));
            found.reorder(&ranked.codes, &finer);
            ranked.codes = finer;
        }
        let mut answer = self.breakdown_of(&question, &ranked, &found, (&counted, axis));
        answer.exact &= counted.exact && !self.is_cut(&question);
        Ok(answer)
    }

    fn breakdown_of(
        &self,
        question: &ResolvedBreakdown,
        ranked: &RankedValues,
        found: &CountedValues,
        (counted, axis): (&CountedViews, Option<Axis>),
    ) -> Breakdown {
        let ResolvedBreakdown { field, sort, metrics, .. } = question;
        let rows = counted.sums.all.hits;
        let nothing_listed = PanelWanted { search: None, offset: 0, limit: 0 };
        let distinct = match field.column() {
            Some(column) => self.page_of(counted, column, &nothing_listed).distinct,
            None => Distinct { distinct: ranked.distinct, exact: true, error: 0.0 },
        };
        let value = |(code, sums): (&u32, &ValueSums)| BreakdownValue {
            value: self.value_text(field, *code),
            filter: self.schema().written(&field.test(*code).filter(self)),
            ..value_of(sums, rows, metrics)
        };
        let values: Vec<BreakdownValue> = ranked.codes.iter().zip(&found.sums).map(value).collect();
        let listed: u64 = values.iter().map(|value| value.hits).sum();
        Breakdown {
            field: field.name(&self.schema()),
            sort: *sort,
            rows,
            distinct: distinct.distinct,
            distinct_error: distinct.error,
            exact: ranked.unknown == 0 && ranked.exact && found.exact,
            ranked: ranked.only,
            rank_error: ranked.error,
            measure_error: found.quantile_error(metrics.unit()),
            clients_error: found.clients_error(),
            from: axis.map(|axis| axis.start(0)),
            bucket_seconds: axis.map(|axis| axis.width_seconds),
            buckets: axis.map(|axis| axis.buckets),
            values,
            others: rows.saturating_sub(listed),
            ..self.empty_breakdown(metrics)
        }
    }

    /// An answer about the metrics that are there, without values.
    fn empty_breakdown(&self, metrics: &ResolvedMetrics) -> Breakdown {
        let schema = self.schema();
        let named = |(column, unit): (NumberColumn, NumberUnit)| BreakdownMeasure {
            field: schema.number_name(column),
            unit: unit.name(),
        };
        Breakdown {
            field: String::new(),
            sort: BreakdownMetric::Hits,
            is_over_time: false,
            asked: metrics.show,
            asks_all: metrics.asks_all,
            rows: 0,
            distinct: 0,
            distinct_error: 0.0,
            exact: true,
            ranked: None,
            rank_error: None,
            measure: metrics.measure.map(named),
            measure_error: 0.0,
            clients_error: 0.0,
            has_status: metrics.has.contains(BreakdownMetric::Errors),
            has_bytes: metrics.has.contains(BreakdownMetric::Bytes),
            has_clients: metrics.has.contains(BreakdownMetric::Clients),
            from: None,
            bucket_seconds: None,
            buckets: None,
            values: Vec::new(),
            others: 0,
        }
    }

    /// True if texts that the answer tells apart were cut, and may be several.
    fn is_cut(&self, question: &ResolvedBreakdown) -> bool {
        let of_field = question.field.text_source().map(|(index, _)| index);
        let is_cut = |index: usize| self.dictionaries[index].lock().has_cut();
        of_field.is_some_and(is_cut) || self.has_cut_clients(question.metrics.show)
    }

    /// True if clients are counted whose texts were cut.
    fn has_cut_clients(&self, show: MetricSet) -> bool {
        show.contains(BreakdownMetric::Clients) && self.dictionaries[CLIENT].lock().has_cut()
    }
}

/// A value with the metrics that are shown, of so many rows of the view; without its name.
fn value_of(sums: &ValueSums, rows: u64, metrics: &ResolvedMetrics) -> BreakdownValue {
    let (show, unit) = (metrics.show, metrics.unit());
    let shown = |metric: BreakdownMetric| show.contains(metric);
    let of_status = |metric: BreakdownMetric| shown(metric) && sums.answered > 0;
    let hits = sums.hits;
    let quantiles = unit.and_then(|unit| sums.spread.quantiles(unit)).map(|(quantiles, _)| quantiles);
    let quantile = |metric: BreakdownMetric| quantiles.filter(|_| shown(metric)).map(|all| metric.of_quantiles(&all));
    let seconds = |time: u64| unbiased(time) as f64 / 1e6;
    let times = sums.times.map(|(first, last)| (seconds(first), seconds(last)));
    let most = unit.zip(sums.extent).filter(|_| shown(BreakdownMetric::Max));
    BreakdownValue {
        value: String::new(),
        filter: String::new(),
        hits,
        share: hits as f64 / rows.max(1) as f64,
        errors: of_status(BreakdownMetric::Errors).then_some(sums.errors),
        error_rate: of_status(BreakdownMetric::ErrorRate).then(|| sums.errors as f64 / hits.max(1) as f64),
        refused: of_status(BreakdownMetric::Refused).then_some(sums.refused),
        bytes: sums.bytes.filter(|_| shown(BreakdownMetric::Bytes)),
        p50: quantile(BreakdownMetric::P50),
        p95: quantile(BreakdownMetric::P95),
        p99: quantile(BreakdownMetric::P99),
        max: most.map(|(unit, (_, most))| OwnValue::number(unit, Some(most))),
        total: unit.zip(sums.extent).filter(|_| shown(BreakdownMetric::Total)).and_then(|(unit, _)| sums.total.value(unit)),
        clients: sums.clients().filter(|_| shown(BreakdownMetric::Clients)).map(|(clients, _)| clients),
        first: times.filter(|_| shown(BreakdownMetric::First)).map(|(first, _)| first),
        last: times.filter(|_| shown(BreakdownMetric::Last)).map(|(_, last)| last),
        trend: (shown(BreakdownMetric::Trend) && !sums.trend.is_empty()).then(|| sums.trend.clone()),
    }
}

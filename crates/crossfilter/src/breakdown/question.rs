//! The question for metrics: as it is asked, and with the columns that it means.

use super::error::BreakdownError;
use super::metric::{BreakdownMetric, GROUPS, MetricSet};
use crate::candidates::{CandidateField, field_columns, field_name};
use crate::columns::{CLIENT, STATUS, number_source};
use crate::dictionary::NONE;
use crate::limits::BREAKDOWN_VALUES_MAX;
use crate::store::{RowStore, Snapshot};
use crate::view_cache::CountedViews;
use rorqual_accesslog::schema::{NumberColumn, NumberUnit, Schema};

/// A question for metrics, as it is asked.
#[derive(Debug, Clone)]
pub struct BreakdownWanted {
    /// Name of the field.
    pub field: String,
    /// Metric that the values are ranked by, the highest first.
    pub sort: BreakdownMetric,
    /// Metrics beside the number of rows; `None` for all that these rows have.
    pub show: Option<MetricSet>,
    /// Name of the numbers whose quantiles are shown; `None` for the duration of requests.
    pub measure: Option<String>,
    /// Values at most, up to [`BREAKDOWN_VALUES_MAX`].
    pub limit: usize,
    /// Buckets of a trend at most, give or take the alignment.
    pub trend_buckets: usize,
}

/// A question with the columns that it means.
pub(super) struct ResolvedBreakdown {
    pub(super) field: CandidateField,
    pub(super) sort: BreakdownMetric,
    pub(super) metrics: ResolvedMetrics,
    pub(super) limit: usize,
    pub(super) trend_buckets: usize,
}

/// The metrics of a question, with the columns that they are of.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResolvedMetrics {
    pub(super) show: MetricSet,
    /// Metrics that the rows of the store have.
    pub(super) has: MetricSet,
    pub(super) asks_all: bool,
    /// Numbers that quantiles are of, and their unit.
    pub(super) measure: Option<(NumberColumn, NumberUnit)>,
}

impl ResolvedMetrics {
    /// Metrics of rows that have these; `all` are the counts of all rows.
    pub(super) fn new(
        show: Option<MetricSet>,
        measure_name: Option<&str>,
        schema: &Schema,
        snapshot: &Snapshot,
        all: &CountedViews,
    ) -> Result<Self, BreakdownError> {
        let measure = measure(measure_name, schema, all)?;
        let has = metrics_of(all, measure.is_some(), snapshot.times().is_some());
        Ok(Self { show: show.unwrap_or(has), has, asks_all: show.is_none(), measure })
    }

    /// Refuses metrics that the rows do not have.
    pub(super) fn checked(self) -> Result<Self, BreakdownError> {
        match self.show.metrics().find(|metric| !self.has.contains(*metric)) {
            Some(metric) => Err(BreakdownError::Metric(metric, self.has)),
            None => Ok(self),
        }
    }

    pub(super) fn unit(&self) -> Option<NumberUnit> {
        self.measure.map(|(_, unit)| unit)
    }
}

impl RowStore {
    /// Finds the field and the numbers that a question names; `all` are the counts of all rows.
    pub(super) fn resolved(
        &self,
        wanted: &BreakdownWanted,
        snapshot: &Snapshot,
        all: &CountedViews,
    ) -> Result<ResolvedBreakdown, BreakdownError> {
        let schema = self.schema();
        // Rows of a table have no status.
        let columns = || field_columns(&schema).filter(|column| column.is_some() || !schema.is_table());
        let is_named = |name: &String| !name.is_empty() && name.eq_ignore_ascii_case(&wanted.field);
        let exact = columns().find(|column| !wanted.field.is_empty() && field_name(*column, &schema) == wanted.field);
        let named = exact.or_else(|| columns().find(|column| is_named(&field_name(*column, &schema))));
        let Some(column) = named else {
            return Err(BreakdownError::Field(
                wanted.field.clone(),
                columns().map(|column| field_name(column, &schema)).collect(),
            ));
        };
        let metrics = ResolvedMetrics::new(wanted.show, wanted.measure.as_deref(), &schema, snapshot, all)?;
        let metrics = ResolvedMetrics { show: metrics.show.with(wanted.sort), ..metrics }.checked()?;
        Ok(ResolvedBreakdown {
            field: self.field(column),
            sort: wanted.sort,
            metrics,
            limit: wanted.limit.min(BREAKDOWN_VALUES_MAX),
            trend_buckets: wanted.trend_buckets,
        })
    }
}

/// Metrics of the rows that were counted.
fn metrics_of(all: &CountedViews, has_measure: bool, has_times: bool) -> MetricSet {
    let has_some = |index: usize| all.sums.column(index).iter().any(|(code, amount)| code > NONE && amount.hits > 0);
    let has_bytes = all.spreads.bytes.percentiles(1.0).is_some();
    let there = [has_some(STATUS), has_bytes, has_measure, has_some(CLIENT), has_times];
    let groups = GROUPS.into_iter().zip(there).filter(|(_, is_there)| *is_there);
    [BreakdownMetric::Hits].into_iter().chain(groups.flat_map(|(group, _)| group.iter().copied())).collect()
}

/// The numbers of that name; without one those of how long requests took.
fn measure(
    name: Option<&str>,
    schema: &Schema,
    all: &CountedViews,
) -> Result<Option<(NumberColumn, NumberUnit)>, BreakdownError> {
    let with_unit = |column: NumberColumn| (column, schema.unit(column));
    let is_measure = |column: &NumberColumn| number_source(*column).is_some() && schema.unit(*column) != NumberUnit::Moment;
    let spreads = &all.spreads;
    match name {
        None if spreads.request_time.percentiles(1.0).is_some() => Ok(Some(with_unit(NumberColumn::REQUEST_TIME))),
        None if spreads.upstream_time.percentiles(1.0).is_some() => Ok(Some(with_unit(NumberColumn::UPSTREAM_TIME))),
        None => Ok(None),
        Some(name) => match schema.number(name).filter(is_measure) {
            Some(column) => Ok(Some(with_unit(column))),
            None => {
                let names = schema.numbers().filter(is_measure).map(|column| schema.number_name(column).into_owned());
                Err(BreakdownError::Measure(name.to_owned(), names.collect()))
            }
        },
    }
}

//! Metrics of a field's values: the rows of a view by value, with their errors, durations, sizes,
//! clients and course over time.

mod metric;
mod sums;

pub use metric::{BreakdownMetric, MetricSet};

use crate::candidates::CandidateField;
use crate::columns::{CLIENT, STATUS, number_source};
use crate::counted::CountedViews;
use crate::limits::{BREAKDOWN_RANKED_MAX, BREAKDOWN_VALUES_MAX, RATES_BYTES_MIN};
use crate::number_spread::BUCKET_BYTES;
use crate::page::{OwnValue, finite_or_text};
use crate::panels::{amounts_of, top_values};
use crate::question::ViewQuestion;
use crate::segment::unbiased;
use crate::store::{RowStore, Snapshot};
use crate::sums::RowsAndBytes;
use crate::timeline::Axis;
use crate::view::{View, ViewError};
use rorqual_accesslog::filter::{Filter, NumberTest};
use rorqual_accesslog::schema::{NumberColumn, NumberUnit, Schema};
use rorqual_pipe::Control;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use sums::{SumsSettings, ValueSums};

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

/// Reason for which the rows have no such metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BreakdownError {
    /// There is no field of this name; those that there are.
    Field(String, Vec<String>),
    /// There are no numbers of this name; those that there are.
    Measure(String, Vec<String>),
    /// The rows have no such metric; those that they have.
    Metric(BreakdownMetric, MetricSet),
}

impl fmt::Display for BreakdownError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = |names: &[String]| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        match self {
            Self::Field(name, names) => write!(f, "there is no field '{name}' with values; there are {}", known(names)),
            Self::Measure(name, names) => write!(f, "there is no field '{name}' of numbers; there are {}", known(names)),
            Self::Metric(metric, has) => {
                write!(f, "these rows have no {}; they have {}", metric.name(), known(&has.names()))
            }
        }
    }
}

impl std::error::Error for BreakdownError {}

/// Metrics of the values of a field.
#[derive(Debug, Clone, Serialize)]
pub struct Breakdown {
    /// Name of the field, for programs.
    pub field: String,
    /// Metric that the values are ranked by.
    pub sort: BreakdownMetric,
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
    /// True if every number is exact but the quantiles, and no value is missing.
    pub exact: bool,
    /// Values that were ranked, those with most rows; `None` where all were.
    pub ranked: Option<u64>,
    /// Numbers that the quantiles are of.
    pub measure: Option<BreakdownMeasure>,
    /// Part of an exact quantile by which one may be beside it; a whole number, by a half in any
    /// case.
    #[serde(serialize_with = "finite_or_text")]
    pub measure_error: f64,
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
    /// Sum of the response sizes; 2^64 - 1 stands for that or more.
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
    /// Sum of the numbers.
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

fn finite_or_text_or_null<S: Serializer>(number: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    match number {
        Some(number) => finite_or_text(number, serializer),
        None => serializer.serialize_none(),
    }
}

/// A question that the rows have an answer to.
struct BreakdownQuestion {
    field: CandidateField,
    sort: BreakdownMetric,
    show: MetricSet,
    asks_all: bool,
    measure: Option<NumberColumn>,
    limit: usize,
    trend_buckets: usize,
}

/// Value of a field with the key that it is ranked by.
struct RankedValues {
    /// Codes, the highest first.
    codes: Vec<u32>,
    /// Values of the field in the view.
    distinct: u64,
    /// Rows whose value is not known.
    unknown: u64,
}

impl RowStore {
    /// Finds the field and the numbers that a question names.
    fn breakdown_question(&self, wanted: &BreakdownWanted) -> Result<BreakdownQuestion, BreakdownError> {
        let schema = self.schema();
        let mut fields = self.fields();
        fields.retain(|field| !schema.is_table() || field.text_source().is_some());
        let named = |field: &&CandidateField| field.name(&schema).eq_ignore_ascii_case(&wanted.field);
        let Some(field) = fields.iter().find(named).filter(|_| !wanted.field.is_empty()).cloned() else {
            let names = fields.iter().map(|field| field.name(&schema)).collect();
            return Err(BreakdownError::Field(wanted.field.clone(), names));
        };
        let measure = self.measure(wanted.measure.as_deref(), &schema)?;
        let mut has = MetricSet::default().with(BreakdownMetric::Hits);
        let [of_status, of_bytes, of_measure, of_client, of_time] = metric::GROUPS;
        for (group, is_there) in [
            (of_status, !schema.is_table()),
            (of_bytes, !schema.is_table()),
            (of_measure, measure.is_some()),
            (of_client, !schema.is_table()),
            (of_time, self.snapshot().times().is_some()),
        ] {
            group.iter().filter(|_| is_there).for_each(|metric| has = has.with(*metric));
        }
        let asked = wanted.show.unwrap_or(has).with(wanted.sort);
        match asked.metrics().find(|metric| !has.contains(*metric)) {
            Some(metric) => Err(BreakdownError::Metric(metric, has)),
            None => Ok(BreakdownQuestion {
                field,
                sort: wanted.sort,
                show: asked,
                asks_all: wanted.show.is_none(),
                measure,
                limit: wanted.limit.min(BREAKDOWN_VALUES_MAX),
                trend_buckets: wanted.trend_buckets,
            }),
        }
    }

    /// The numbers of that name; without one those of how long requests took.
    fn measure(&self, name: Option<&str>, schema: &Schema) -> Result<Option<NumberColumn>, BreakdownError> {
        let is_measure = |column: &NumberColumn| number_source(*column).is_some() && schema.unit(*column) != NumberUnit::Moment;
        let has = |column: NumberColumn| {
            let index = number_source(column)?;
            let has_some = |segment: &std::sync::Arc<crate::segment::Segment>| {
                segment.numbers(index, self.spill.as_ref()).is_ok_and(|numbers| numbers.min().is_some())
            };
            self.snapshot().segments.iter().any(has_some).then_some(column)
        };
        match name {
            None if schema.is_table() => Ok(None),
            None => Ok(has(NumberColumn::REQUEST_TIME).or_else(|| has(NumberColumn::UPSTREAM_TIME))),
            Some(name) => match schema.number(name).filter(is_measure) {
                Some(column) => Ok(Some(column)),
                None => {
                    let names = schema.numbers().filter(is_measure).map(|column| schema.number_name(column).into_owned());
                    Err(BreakdownError::Measure(name.to_owned(), names.collect()))
                }
            },
        }
    }

    /// Metrics of the values of a field in a view.
    ///
    /// # Errors
    /// When these rows have no such field, numbers or metric, when it was cancelled, or spilled
    /// rows can't be read back.
    pub fn breakdown(&self, view: &View, wanted: &BreakdownWanted, control: &Control) -> Result<Breakdown, ViewError> {
        self.asked(|| {
            let question = self.breakdown_question(wanted).map_err(ViewError::Unanswerable)?;
            self.broken_down(view, &question, control)
        })
    }

    fn broken_down(&self, view: &View, question: &BreakdownQuestion, control: &Control) -> Result<Breakdown, ViewError> {
        let BreakdownQuestion { field, sort, show, asks_all, measure, limit, trend_buckets } = question;
        let (snapshot, base) = self.up_to_date(control)?;
        let counted = self.sums_in(&snapshot, &base, view, control)?;
        let failed = sort.statuses().map(|statuses| {
            let test = Filter::Number(NumberColumn::STATUS, NumberTest::range(*statuses.start(), *statuses.end()));
            let view = View { filter: Filter::All(vec![view.filter.clone(), test]), ..view.clone() };
            self.sums_in(&snapshot, &base, &view, control)
        });
        let failed = failed.transpose()?;
        let asking = ViewQuestion::new(self, view, &View::default(), control)?;
        let axis = snapshot.axis(view, *trend_buckets).filter(|_| show.contains(BreakdownMetric::Trend));
        let pass = |codes: &[u32], metrics: MetricSet| {
            let settings = self.sums_settings(&snapshot, codes.len(), metrics, *measure, axis);
            sums::count(&asking, &snapshot, field, codes, &settings)
        };
        let unit = self.unit_of(*measure);
        let most = if sort.is_counted() { *limit } else { self.ranked_max(*sort).max(*limit) };
        let mut ranked = self.ranked_values(field, &counted, failed.as_deref(), *sort, most);
        let mut only = None;
        if !sort.is_counted() {
            let found = pass(&ranked.codes, MetricSet::default().with(*sort))?;
            only = (ranked.distinct > ranked.codes.len() as u64).then_some(ranked.codes.len() as u64);
            // Quantiles of many values are rough: the best are told apart once more.
            let kept = if sort.is_quantile() { RANKED_TWICE * *limit } else { *limit };
            ranked.codes = best(&ranked.codes, &found.sums, *sort, unit, kept);
            if ranked.codes.len() > *limit {
                let found = pass(&ranked.codes, MetricSet::default().with(*sort))?;
                ranked.codes = best(&ranked.codes, &found.sums, *sort, unit, *limit);
            }
        }
        let mut found = pass(&ranked.codes, *show)?;
        if sort.is_quantile() {
            let mut both: Vec<(u32, ValueSums)> = ranked.codes.drain(..).zip(found.sums.drain(..)).collect();
            both.sort_by(|a, b| sort.key(&b.1, unit).total_cmp(&sort.key(&a.1, unit)));
            (ranked.codes, found.sums) = both.into_iter().unzip();
        }
        let schema = self.schema();
        let rows = counted.sums.all.hits;
        let value = |(code, sums): (&u32, &ValueSums)| self.breakdown_value(field, *code, sums, rows, (*show, unit));
        let values: Vec<BreakdownValue> = ranked.codes.iter().zip(&found.sums).map(value).collect();
        let listed: u64 = values.iter().map(|value| value.hits).sum();
        let quantiles = || found.sums.iter().filter_map(|sums| sums.spread.summary(Cow::Borrowed(""), unit?));
        let measure =
            measure.zip(unit).map(|(column, unit)| BreakdownMeasure { field: schema.number_name(column), unit: unit.name() });
        Ok(Breakdown {
            field: field.name(&schema),
            sort: *sort,
            asked: *show,
            asks_all: *asks_all,
            rows,
            distinct: ranked.distinct,
            exact: counted.exact && ranked.unknown == 0 && found.exact && !self.has_cut(),
            ranked: only,
            measure,
            measure_error: quantiles().map(|summary| summary.quantile_error).fold(0.0, f64::max),
            has_status: !schema.is_table(),
            has_bytes: !schema.is_table(),
            has_clients: !schema.is_table(),
            from: axis.map(|axis| axis.start(0)),
            bucket_seconds: axis.map(|axis| axis.width_seconds),
            buckets: axis.map(|axis| axis.buckets),
            values,
            others: rows.saturating_sub(listed),
        })
    }

    fn unit_of(&self, measure: Option<NumberColumn>) -> Option<NumberUnit> {
        measure.map(|column| self.schema().unit(column))
    }

    /// The values of a field that come first, at most so many.
    fn ranked_values(
        &self,
        field: &CandidateField,
        counted: &CountedViews,
        failed: Option<&CountedViews>,
        sort: BreakdownMetric,
        most: usize,
    ) -> RankedValues {
        // Ordered by the key, then by the number of rows in place of that of bytes.
        let key = |all: RowsAndBytes, failed: u64| RowsAndBytes {
            hits: match sort {
                BreakdownMetric::Errors | BreakdownMetric::Refused => failed,
                BreakdownMetric::ErrorRate => (u128::from(failed) * RATE_PARTS / u128::from(all.hits.max(1))) as u64,
                BreakdownMetric::Bytes => all.bytes,
                _ => all.hits,
            },
            bytes: all.hits,
        };
        let Some((index, derived)) = field.text_source() else {
            let (all, failed) = (counted.sums.column(STATUS), failed.map(|failed| failed.sums.column(STATUS)));
            let hits_of = |code: u32| failed.map_or(0, |failed| failed.get(code).hits);
            let values = all.iter().filter(|(code, amount)| field.is_value(*code) && amount.hits > 0);
            let mut keyed: Vec<(u32, RowsAndBytes)> = values.map(|(code, amount)| (code, key(amount, hits_of(code)))).collect();
            keyed.sort_by_key(|(code, key)| (std::cmp::Reverse((key.hits, key.bytes)), *code));
            let distinct = keyed.len() as u64;
            let codes = keyed.into_iter().take(most).map(|(code, _)| code).collect();
            return RankedValues { codes, distinct, unknown: 0 };
        };
        let tables = self.dictionaries[index].lock();
        let all = amounts_of(counted.sums.column(index), &tables, derived);
        let failed = failed.map(|failed| amounts_of(failed.sums.column(index), &tables, derived));
        let hits_of = |code: u32| failed.as_ref().map_or(0, |failed| failed.get(code).hits);
        let (mut distinct, mut unknown) = (0, 0);
        let is_value = |(code, amount): &(u32, RowsAndBytes)| {
            let is_value = amount.hits > 0 && field.is_value(*code);
            distinct += u64::from(is_value);
            unknown += if is_value || !field.is_unknown(*code) { 0 } else { amount.hits };
            is_value
        };
        let keyed = all.iter().filter(is_value).map(|(code, amount)| (code, key(amount, hits_of(code))));
        let top = top_values(keyed, |code| tables.text_of(derived, code), most);
        RankedValues { codes: top.into_iter().map(|(code, _)| code).collect(), distinct, unknown }
    }

    /// Values that are ranked by a metric that their rows are read for: as many as there is memory
    /// for.
    fn ranked_max(&self, sort: BreakdownMetric) -> usize {
        let threads = self.settings.threads.max(1);
        let bytes = size_of::<ValueSums>() + if sort.is_of_measure() { RANKED_BUCKETS * BUCKET_BYTES } else { 0 };
        let clients = if sort == BreakdownMetric::Clients { self.client_words() * size_of::<u64>() } else { 0 };
        let most = self.breakdown_bytes() / (bytes * threads + clients);
        most.clamp(1, BREAKDOWN_RANKED_MAX)
    }

    /// Memory of the sums of a question; they take that of rates, which are not asked at the same
    /// time.
    fn breakdown_bytes(&self) -> usize {
        self.rates_bytes().max(RATES_BYTES_MIN) as usize
    }

    /// Words of a set of all clients.
    fn client_words(&self) -> usize {
        self.codes_of(CLIENT).div_ceil(64)
    }

    fn sums_settings(
        &self,
        snapshot: &Snapshot,
        values: usize,
        metrics: MetricSet,
        measure: Option<NumberColumn>,
        axis: Option<Axis>,
    ) -> SumsSettings {
        let threads = self.settings.threads.min(snapshot.segments.len()).max(1);
        let words = self.client_words();
        let has_room = values * words * size_of::<u64>() <= self.breakdown_bytes() / 2;
        let wants = |metric: BreakdownMetric| metrics.contains(metric);
        let measure = measure.filter(|_| metrics.metrics().any(BreakdownMetric::is_of_measure));
        SumsSettings {
            statuses: metrics.metrics().any(|metric| metric.statuses().is_some()),
            bytes: wants(BreakdownMetric::Bytes),
            measure: measure.and_then(|column| Some((number_source(column)?, self.schema().unit(column)))),
            times: wants(BreakdownMetric::First) || wants(BreakdownMetric::Last),
            axis: axis.filter(|_| wants(BreakdownMetric::Trend)),
            client_words: words * usize::from(wants(BreakdownMetric::Clients) && has_room),
            clients_missing: wants(BreakdownMetric::Clients) && !has_room,
            buckets_max: (self.breakdown_bytes() / 2 / (BUCKET_BYTES * values.max(1) * threads)).clamp(BUCKETS_MIN, BUCKETS_MAX),
        }
    }

    fn breakdown_value(
        &self,
        field: &CandidateField,
        code: u32,
        sums: &ValueSums,
        rows: u64,
        (show, unit): (MetricSet, Option<NumberUnit>),
    ) -> BreakdownValue {
        let shown = |metric: BreakdownMetric| show.contains(metric);
        let hits = sums.hits;
        let quantiles = unit.and_then(|unit| sums.spread.summary(Cow::Borrowed(""), unit)?.quantiles);
        let quantile = |metric: BreakdownMetric| quantiles.filter(|_| shown(metric)).map(|all| metric.of_quantiles(&all));
        let seconds = |time: u64| unbiased(time) as f64 / 1e6;
        let times = sums.times.map(|(first, last)| (seconds(first), seconds(last)));
        BreakdownValue {
            value: self.value_text(field, code),
            filter: self.schema().written(&field.test(code).filter(self)),
            hits,
            share: hits as f64 / rows.max(1) as f64,
            errors: shown(BreakdownMetric::Errors).then_some(sums.errors),
            error_rate: shown(BreakdownMetric::ErrorRate).then(|| sums.errors as f64 / hits.max(1) as f64),
            refused: shown(BreakdownMetric::Refused).then_some(sums.refused),
            bytes: shown(BreakdownMetric::Bytes).then_some(sums.bytes),
            p50: quantile(BreakdownMetric::P50),
            p95: quantile(BreakdownMetric::P95),
            p99: quantile(BreakdownMetric::P99),
            max: unit
                .zip(sums.spread.extent())
                .filter(|_| shown(BreakdownMetric::Max))
                .map(|(unit, (_, most))| OwnValue::number(unit, Some(most))),
            total: unit
                .filter(|_| shown(BreakdownMetric::Total) && sums.spread.extent().is_some())
                .map(|unit| sums.total.value(unit)),
            clients: sums.clients.filter(|_| shown(BreakdownMetric::Clients)),
            first: times.filter(|_| shown(BreakdownMetric::First)).map(|(first, _)| first),
            last: times.filter(|_| shown(BreakdownMetric::Last)).map(|(_, last)| last),
            trend: (shown(BreakdownMetric::Trend) && !sums.trend.is_empty()).then(|| sums.trend.clone()),
        }
    }
}

/// Buckets of the numbers of a value: of those that are only ranked, at least, and at most.
const RANKED_BUCKETS: usize = 128;
const BUCKETS_MIN: usize = 16;
const BUCKETS_MAX: usize = 1 << 12;

/// Values that are ranked a second time by a quantile, for each that is listed.
const RANKED_TWICE: usize = 4;

/// Parts of a share that values are ranked by.
const RATE_PARTS: u128 = 1 << 40;

/// The codes with the highest metric, at most so many; of equal ones those that came first.
fn best(codes: &[u32], sums: &[ValueSums], sort: BreakdownMetric, unit: Option<NumberUnit>, limit: usize) -> Vec<u32> {
    let mut keyed: Vec<(f64, u32)> = sums.iter().zip(codes).map(|(sums, code)| (sort.key(sums, unit), *code)).collect();
    keyed.sort_by(|a, b| b.0.total_cmp(&a.0));
    keyed.into_iter().take(limit).map(|(_, code)| code).collect()
}

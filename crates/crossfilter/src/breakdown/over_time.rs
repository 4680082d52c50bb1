//! Metrics of buckets of time.
//!
//! The rows of a bucket are summed as those of a value are. Where there is no memory for the
//! numbers and clients of all buckets at once, these are counted in several passes, each over the
//! segments that have rows of its buckets: of a log in the order of time nearly every segment is
//! read once.

use super::error::BreakdownError;
use super::metric::{BreakdownMetric, MetricSet};
use super::question::ResolvedMetrics;
use super::sums::{CountedValues, RowGroups, SumsSettings, ValueSums, count};
use super::{Breakdown, BreakdownValue, value_of};
use crate::columns::number_source;
use crate::limits::{BUCKETS_MAX, OVER_TIME_PASSES_MAX, RATES_BYTES_MIN};
use crate::number_spread::BUCKET_BYTES;
use crate::question::ViewQuestion;
use crate::store::{RowStore, Snapshot};
use crate::time_axis::Axis;
use crate::view::{View, ViewError};
use rorqual_accesslog::calendar::civil_from_days;
use rorqual_accesslog::schema::{NumberColumn, NumberUnit};
use rorqual_pipe::Control;

/// A question for metrics over time.
#[derive(Debug, Clone)]
pub struct OverTimeWanted {
    /// Buckets of time.
    pub width: BucketWidth,
    /// Metrics beside the number of rows; `None` for all that these rows have.
    pub show: Option<MetricSet>,
    /// Name of the numbers whose quantiles are shown; `None` for the duration of requests.
    pub measure: Option<String>,
}

/// Width of buckets of time, which are aligned to UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BucketWidth {
    /// The finest usual one with at most so many buckets, give or take the alignment: that of the
    /// histogram of a view.
    Most(usize),
    /// Seconds; the least doubling of them where there would be more than [`BUCKETS_MAX`] buckets.
    Seconds(i64),
}

/// Parts of the memory of a question: for the answer, for numbers, for clients, and for other sums.
/// Numbers have those of clients where these are not counted, and the other way round.
const PARTS: usize = 8;
const ANSWER_PARTS: usize = 3;
const SPREADS_PARTS: usize = 3;
const CLIENTS_PARTS: usize = 1;
const SUMS_PARTS: usize = 1;

/// Buckets of the numbers in a bucket of time: those that are wanted, and the least.
const SPREAD_BUCKETS: usize = 1 << 10;
const SPREAD_BUCKETS_MIN: usize = 16;

/// Words of a set of clients at least.
const CLIENT_WORDS_MIN: usize = 4;

/// Bytes of the name of a bucket of time.
const NAME_BYTES: usize = 32;

/// Buckets of an axis at most: one more than is asked for, by the alignment.
const AXIS_BUCKETS_MAX: usize = BUCKETS_MAX + 1;

const _: () = {
    let part = RATES_BYTES_MIN as usize / PARTS;
    let at_once = AXIS_BUCKETS_MAX.div_ceil(OVER_TIME_PASSES_MAX);
    assert!(PARTS == ANSWER_PARTS + SPREADS_PARTS + CLIENTS_PARTS + SUMS_PARTS);
    assert!(AXIS_BUCKETS_MAX * (size_of::<BreakdownValue>() + NAME_BYTES) <= ANSWER_PARTS * part);
    assert!(at_once * SPREAD_BUCKETS_MIN * BUCKET_BYTES <= SPREADS_PARTS * part);
    assert!(at_once * CLIENT_WORDS_MIN * 8 <= CLIENTS_PARTS * part);
    assert!(at_once * size_of::<ValueSums>() <= SUMS_PARTS * part);
};

impl RowStore {
    /// Metrics of a view over time: a value for each bucket, in the order of time, also where it
    /// has no rows.
    ///
    /// # Errors
    /// When these rows have no such numbers or metric, when it was cancelled, or spilled rows can't
    /// be read back.
    pub fn over_time(&self, view: &View, wanted: &OverTimeWanted, control: &Control) -> Result<Breakdown, ViewError> {
        self.asked(|| self.counted_over_time(view, wanted, control))
    }

    fn counted_over_time(&self, view: &View, wanted: &OverTimeWanted, control: &Control) -> Result<Breakdown, ViewError> {
        let (snapshot, base) = self.up_to_date(control)?;
        let all = self.sums_in(&snapshot, &base, &View::default(), control)?;
        let counted = self.sums_in(&snapshot, &base, view, control)?;
        let metrics = ResolvedMetrics::new(wanted.show, wanted.measure.as_deref(), &self.schema(), &snapshot, &all);
        let metrics = metrics.and_then(of_time).map_err(ViewError::Unanswerable)?;
        let axis = match wanted.width {
            BucketWidth::Most(buckets) => snapshot.axis(view, buckets),
            BucketWidth::Seconds(width_seconds) => snapshot.axis_of_width(view, width_seconds),
        };
        let rows = counted.sums.all.hits;
        let mut answer = Breakdown {
            field: TIME_FIELD.to_owned(),
            sort: BreakdownMetric::First,
            is_over_time: true,
            rows,
            exact: counted.exact && !self.has_cut_clients(metrics.show),
            others: rows,
            ..self.empty_breakdown(&metrics)
        };
        let Some(axis) = axis else { return Ok(answer) };
        let asking = ViewQuestion::new(self, view, &View::default(), control)?;
        TimePasses { asking: &asking, snapshot: &snapshot, metrics: &metrics, axis }.fill(&mut answer)?;
        Ok(answer)
    }
}

/// Name of the field that buckets of time are of, for programs.
const TIME_FIELD: &str = "time";

/// The metrics that buckets of time can have.
fn of_time(metrics: ResolvedMetrics) -> Result<ResolvedMetrics, BreakdownError> {
    let show = if metrics.asks_all { metrics.show.without(BreakdownMetric::Trend) } else { metrics.show };
    ResolvedMetrics { show: show.with(BreakdownMetric::Hits), has: metrics.has.without(BreakdownMetric::Trend), ..metrics }
        .checked()
}

/// Passes over the rows of a view for sums of its buckets of time.
struct TimePasses<'a> {
    asking: &'a ViewQuestion<'a>,
    snapshot: &'a Snapshot,
    metrics: &'a ResolvedMetrics,
    axis: Axis,
}

/// Memory of a question for the sums of buckets of time.
struct TimeBytes {
    spreads: usize,
    clients: usize,
    sums: usize,
}

impl TimePasses<'_> {
    /// Counts all buckets.
    fn fill(&self, answer: &mut Breakdown) -> Result<(), ViewError> {
        let (bytes, buckets) = (self.bytes(), self.axis.buckets);
        let at_once = buckets.div_ceil(self.passes(&bytes));
        let settings = self.settings(&bytes, at_once);
        for start in (0..buckets).step_by(at_once.max(1)) {
            let groups = RowGroups::Buckets { axis: self.axis, range: start..buckets.min(start + at_once) };
            let found = count(self.asking, self.snapshot, &groups, &settings)?;
            self.add(answer, start, &found);
        }
        answer.from = Some(self.axis.start(0));
        answer.bucket_seconds = Some(self.axis.width_seconds);
        answer.buckets = Some(buckets);
        let listed: u64 = answer.values.iter().map(|value| value.hits).sum();
        answer.others = answer.rows.saturating_sub(listed);
        answer.distinct = answer.values.iter().filter(|value| value.hits > 0).count() as u64;
        Ok(())
    }

    /// Adds the buckets from `start` on.
    fn add(&self, answer: &mut Breakdown, start: usize, found: &CountedValues) {
        for (bucket, sums) in (start..).zip(&found.sums) {
            let value = value_of(sums, answer.rows, self.metrics);
            let clients = value.clients.filter(|_| sums.hits > 0);
            answer.values.push(BreakdownValue { value: name(self.axis.start(bucket)), clients, ..value });
        }
        answer.exact &= found.exact;
        answer.measure_error = answer.measure_error.max(found.quantile_error(self.metrics.unit()));
        answer.clients_error = answer.clients_error.max(found.clients_error());
    }

    fn wants(&self, metric: BreakdownMetric) -> bool {
        self.metrics.show.contains(metric)
    }

    fn wants_any(&self, is_so: fn(BreakdownMetric) -> bool) -> bool {
        self.metrics.show.metrics().any(is_so)
    }

    /// Index of the numbers that are asked for, with their unit.
    fn measure(&self) -> Option<(usize, NumberUnit)> {
        let indexed = |(column, unit): (NumberColumn, NumberUnit)| Some((number_source(column)?, unit));
        self.metrics.measure.filter(|_| self.wants_any(BreakdownMetric::is_of_measure)).and_then(indexed)
    }

    fn has_spreads(&self) -> bool {
        self.measure().is_some() && self.wants_any(BreakdownMetric::is_quantile)
    }

    fn bytes(&self) -> TimeBytes {
        let part = self.asking.store.breakdown_bytes() / PARTS;
        let (has_spreads, has_clients) = (self.has_spreads(), self.wants(BreakdownMetric::Clients));
        TimeBytes {
            spreads: part * (SPREADS_PARTS + if has_clients { 0 } else { CLIENTS_PARTS }),
            clients: part * (CLIENTS_PARTS + if has_spreads { 0 } else { SPREADS_PARTS }),
            sums: part * SUMS_PARTS,
        }
    }

    /// Passes in which there is room for what is wanted of each bucket, up to
    /// [`OVER_TIME_PASSES_MAX`].
    fn passes(&self, bytes: &TimeBytes) -> usize {
        let passes = |bucket_bytes: usize, bytes: usize| (self.axis.buckets * bucket_bytes).div_ceil(bytes.max(1));
        let words = self.asking.store.client_words();
        let of_sums = passes(size_of::<ValueSums>(), bytes.sums);
        let of_spreads = if self.has_spreads() { passes(SPREAD_BUCKETS * BUCKET_BYTES, bytes.spreads) } else { 0 };
        let of_clients = if self.wants(BreakdownMetric::Clients) { passes(words * 8, bytes.clients) } else { 0 };
        of_sums.max(of_spreads).max(of_clients).clamp(1, OVER_TIME_PASSES_MAX)
    }

    fn settings(&self, bytes: &TimeBytes, at_once: usize) -> SumsSettings {
        let at_once = at_once.max(1);
        let words = self.asking.store.client_words().max(1);
        let words_max = (bytes.clients / at_once / 8).max(CLIENT_WORDS_MIN);
        SumsSettings {
            statuses: self.wants_any(|metric| metric.statuses().is_some()),
            bytes: self.wants(BreakdownMetric::Bytes),
            measure: self.measure(),
            quantiles: self.has_spreads(),
            times: self.wants(BreakdownMetric::First) || self.wants(BreakdownMetric::Last),
            axis: None,
            client_words: if self.wants(BreakdownMetric::Clients) { words.min(words_max) } else { 0 },
            clients_hashed: words > words_max,
            clients_missing: false,
            buckets_max: (bytes.spreads / at_once / BUCKET_BYTES).clamp(SPREAD_BUCKETS_MIN, SPREAD_BUCKETS * 4),
        }
    }
}

/// A time in UTC as RFC 3339 has it.
fn name(seconds: i64) -> String {
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = civil_from_days(days);
    format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}Z", second / 3_600, second / 60 % 60, second % 60)
}

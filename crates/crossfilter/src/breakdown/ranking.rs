//! The values that are listed: those with the highest metric.

use super::metric::{BreakdownMetric, MetricSet};
use super::question::ResolvedBreakdown;
use super::sums::{CountedValues, RowGroups, SumsSettings, ValueSums, count};
use crate::candidates::CandidateField;
use crate::columns::{CLIENT, STATUS, number_source};
use crate::limits::{BREAKDOWN_RANKED_MAX, BREAKDOWN_VALUES_MAX, RATES_BYTES_MIN};
use crate::number_spread::BUCKET_BYTES;
use crate::panel_counts::amounts_of;
use crate::question::ViewQuestion;
use crate::sparse_counts::RowsAndBytes;
use crate::store::{RowStore, Snapshot};
use crate::time_axis::Axis;
use crate::top::top_by;
use crate::view::ViewError;
use crate::view_cache::CountedViews;
use std::cmp::{Ordering, Reverse};

/// Buckets of the numbers of a value at least, and at most; and of one that is only ranked, where
/// there is room.
const BUCKETS_MIN: usize = 16;
const BUCKETS_MAX: usize = 1 << 12;
const RANKED_BUCKETS: usize = 128;

/// Values that are ranked a second time by a quantile, for each that is listed.
const RANKED_TWICE: usize = 4;

/// Parts of a share that values are ranked by.
const RATE_PARTS: u128 = 1 << 40;

/// Parts of the memory of a question: for spreads, for sets of clients, and for other sums.
const SPREADS_PART: usize = 2;
const CLIENTS_PART: usize = 4;
const SUMS_PART: usize = 4;

/// Buckets of a trend that there is room for, give or take the alignment.
pub(super) const TREND_BUCKETS_MAX: usize = 64;

const _: () = {
    let sums = BREAKDOWN_VALUES_MAX * (size_of::<ValueSums>() + (TREND_BUCKETS_MAX + 2) * size_of::<u64>());
    assert!(sums * SUMS_PART <= RATES_BYTES_MIN as usize);
    assert!(BREAKDOWN_VALUES_MAX * BUCKETS_MIN * BUCKET_BYTES * SPREADS_PART <= RATES_BYTES_MIN as usize);
};

/// Values in the order of a metric.
pub(super) struct RankedValues {
    /// Codes, the highest first.
    pub(super) codes: Vec<u32>,
    /// Values of the field in the view.
    pub(super) distinct: u64,
    /// Rows whose value is not known.
    pub(super) unknown: u64,
    /// Values that were ranked, where these are not all.
    pub(super) only: Option<u64>,
    /// Part of a quantile by which one may be beside it where values were ranked by it.
    pub(super) error: Option<f64>,
    /// True if the metric of each value was exact but for that error.
    pub(super) exact: bool,
}

/// Passes over the rows of a view for sums of some values.
pub(super) struct BreakdownPasses<'a> {
    pub(super) asking: &'a ViewQuestion<'a>,
    pub(super) snapshot: &'a Snapshot,
    pub(super) question: &'a ResolvedBreakdown,
    pub(super) axis: Option<Axis>,
}

/// Value with the key that it is ranked by, and its rows.
#[derive(Clone, Copy)]
struct KeyedValue {
    code: u32,
    key: u64,
    hits: u64,
}

impl BreakdownPasses<'_> {
    /// Sums of values, of these metrics.
    pub(super) fn sums(&self, codes: &[u32], metrics: MetricSet) -> Result<CountedValues, ViewError> {
        let settings = self.settings(codes.len(), metrics);
        count(self.asking, self.snapshot, &RowGroups::of_values(&self.question.field, codes), &settings)
    }

    /// The values that come first.
    pub(super) fn ranked(&self, counted: &CountedViews, failed: Option<&CountedViews>) -> Result<RankedValues, ViewError> {
        let ResolvedBreakdown { field, sort, limit, metrics, .. } = self.question;
        let most = if sort.is_counted() { *limit } else { self.ranked_max().max(*limit) };
        let mut ranked = self.asking.store.by_counts(field, counted, failed, *sort, most);
        if sort.is_counted() {
            return Ok(ranked);
        }
        ranked.only = (ranked.distinct > ranked.codes.len() as u64).then_some(ranked.codes.len() as u64);
        let unit = metrics.unit();
        // Quantiles of many values are rough: the best are told apart once more.
        let twice = [RANKED_TWICE * *limit, *limit];
        let rounds = if sort.is_quantile() { &twice[..] } else { &twice[1..] };
        let mut error: f64 = 0.0;
        for (round, kept) in rounds.iter().enumerate() {
            if round > 0 && ranked.codes.len() <= *kept {
                break;
            }
            let found = self.sums(&ranked.codes, MetricSet::default().with(*sort))?;
            ranked.exact &= found.exact;
            error = error.max(found.quantile_error(unit));
            ranked.codes = best(&ranked.codes, &found.sums, |sums| sort.key(sums, unit));
            ranked.codes.truncate(*kept);
        }
        ranked.error = sort.is_quantile().then_some(error);
        Ok(ranked)
    }

    /// Values that there is memory for, where they are ranked by a metric that rows are read for.
    fn ranked_max(&self) -> usize {
        let (sort, bytes) = (self.question.sort, self.asking.store.breakdown_bytes());
        let mut most = bytes / SUMS_PART / size_of::<ValueSums>();
        if sort.is_quantile() {
            most = most.min(bytes / SPREADS_PART / (RANKED_BUCKETS * BUCKET_BYTES));
        }
        if sort == BreakdownMetric::Clients {
            most = most.min(bytes / CLIENTS_PART / (self.asking.store.client_words().max(1) * size_of::<u64>()));
        }
        most.clamp(1, BREAKDOWN_RANKED_MAX)
    }

    fn settings(&self, values: usize, metrics: MetricSet) -> SumsSettings {
        let store = self.asking.store;
        let wants = |metric: BreakdownMetric| metrics.contains(metric);
        let has = |is_so: fn(BreakdownMetric) -> bool| metrics.metrics().any(is_so);
        let words = store.client_words();
        let has_room = values * words * size_of::<u64>() <= store.breakdown_bytes() / CLIENTS_PART;
        let spread_bytes = store.breakdown_bytes() / SPREADS_PART / values.max(1);
        let measure = self.question.metrics.measure.filter(|_| has(BreakdownMetric::is_of_measure));
        SumsSettings {
            statuses: has(|metric| metric.statuses().is_some()),
            bytes: wants(BreakdownMetric::Bytes),
            measure: measure.and_then(|(column, unit)| Some((number_source(column)?, unit))),
            quantiles: has(BreakdownMetric::is_quantile),
            times: wants(BreakdownMetric::First) || wants(BreakdownMetric::Last),
            axis: self.axis.filter(|_| wants(BreakdownMetric::Trend)),
            client_words: words * usize::from(wants(BreakdownMetric::Clients) && has_room),
            clients_hashed: false,
            clients_missing: wants(BreakdownMetric::Clients) && !has_room,
            buckets_max: (spread_bytes / BUCKET_BYTES).clamp(BUCKETS_MIN, BUCKETS_MAX),
        }
    }
}

impl RowStore {
    /// The values of a field that come first by counts that there are, at most so many; of equal
    /// ones those with more rows, then by text.
    fn by_counts(
        &self,
        field: &CandidateField,
        counted: &CountedViews,
        failed: Option<&CountedViews>,
        sort: BreakdownMetric,
        most: usize,
    ) -> RankedValues {
        let keyed = |code: u32, all: RowsAndBytes, failed: u64| {
            let key = match sort {
                BreakdownMetric::Errors | BreakdownMetric::Refused => failed,
                BreakdownMetric::ErrorRate => (u128::from(failed) * RATE_PARTS / u128::from(all.hits.max(1))) as u64,
                BreakdownMetric::Bytes => all.bytes,
                _ => all.hits,
            };
            KeyedValue { code, key, hits: all.hits }
        };
        let (mut distinct, mut unknown) = (0, 0);
        let mut is_value = |(code, amount): &(u32, RowsAndBytes)| {
            let is_value = amount.hits > 0 && field.is_value(*code);
            distinct += u64::from(is_value);
            unknown += if is_value || !field.is_unknown(*code) { 0 } else { amount.hits };
            is_value
        };
        let by_key = |a: &KeyedValue, b: &KeyedValue| (Reverse(a.key), Reverse(a.hits)).cmp(&(Reverse(b.key), Reverse(b.hits)));
        let top = if let Some((index, derived)) = field.text_source() {
            let tables = self.dictionaries[index].lock();
            let all = amounts_of(counted.sums.column(index), &tables, derived);
            let failed = failed.map(|failed| amounts_of(failed.sums.column(index), &tables, derived));
            let hits_of = |code: u32| failed.as_ref().map_or(0, |failed| failed.get(code).hits);
            let text = |value: &KeyedValue| tables.text_of(derived, value.code);
            let order = |a: &KeyedValue, b: &KeyedValue| by_key(a, b).then_with(|| text(a).cmp(text(b)));
            let values = all.iter().filter(&mut is_value).map(|(code, amount)| keyed(code, amount, hits_of(code)));
            top_by(values, order, most)
        } else {
            let hits_of = |code: u32| failed.map_or(0, |failed| failed.sums.column(STATUS).get(code).hits);
            let values = counted.sums.column(STATUS).iter().filter(&mut is_value);
            let order = |a: &KeyedValue, b: &KeyedValue| by_key(a, b).then(a.code.cmp(&b.code));
            top_by(values.map(|(code, amount)| keyed(code, amount, hits_of(code))), order, most)
        };
        let codes = top.iter().map(|value| value.code).collect();
        RankedValues { codes, distinct, unknown, only: None, error: None, exact: true }
    }

    /// Memory of the sums of a question; they take that of rates, which are not asked at the same
    /// time.
    pub(super) fn breakdown_bytes(&self) -> usize {
        self.rates_bytes().max(RATES_BYTES_MIN) as usize
    }

    /// Words of a set of all clients.
    pub(super) fn client_words(&self) -> usize {
        self.codes_of(CLIENT).div_ceil(64)
    }
}

/// The codes with the highest key first; of equal ones in the order that they came in.
pub(super) fn best<K: PartialOrd>(codes: &[u32], sums: &[ValueSums], key: impl Fn(&ValueSums) -> K) -> Vec<u32> {
    let mut keyed: Vec<(K, u32)> = sums.iter().zip(codes).map(|(sums, code)| (key(sums), *code)).collect();
    keyed.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap_or(Ordering::Equal));
    keyed.into_iter().map(|(_, code)| code).collect()
}

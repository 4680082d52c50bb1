//! Metrics of values, against one row after another.

use crate::log::{Plain, Random, Setup, State, text_of};
use crate::naive::value;
use rorqual_crossfilter::{
    Breakdown, BreakdownError, BreakdownMetric, BreakdownValue, BreakdownWanted, BucketWidth, MetricSet, OverTimeWanted,
    OwnValue, RowStore, View, ViewError, ViewParts,
};
use rorqual_pipe::Control;
use std::collections::{BTreeMap, BTreeSet};

const ROWS: usize = 30_000;

fn rows() -> Vec<Plain> {
    let mut random = Random(7);
    let row = |index: usize| {
        let path = format!("/p{}", random.zipf(400));
        let slow = path.len() as u64;
        Plain {
            state: if random.one_in(50) { State::Rejected("garbage".to_owned()) } else { State::Sound },
            time: index as i64 * 3 + random.zipf(50) as i64,
            zone_hours: 0,
            client: if random.one_in(20) { String::new() } else { format!("10.0.{}.{}", random.zipf(90), random.zipf(90)) },
            user: String::new(),
            method: "GET".to_owned(),
            status: *random.pick(&[200, 200, 200, 304, 404, 403, 500, 503]),
            bytes: if random.one_in(10) { None } else { Some(random.zipf(1 << 40)) },
            request_time_us: if random.one_in(9) { None } else { Some(random.zipf(4_000_000) * slow) },
            path,
            query: String::new(),
            referrer: String::new(),
            agent: String::new(),
            host: String::new(),
            upstream_time_us: None,
        }
    };
    (0..ROWS).map(row).collect()
}

/// Metrics of a value by hand.
#[derive(Default)]
struct ByHand {
    hits: u64,
    errors: u64,
    refused: u64,
    bytes: Option<u64>,
    times_us: Vec<u64>,
    clients: BTreeSet<String>,
    seconds: Vec<i64>,
}

fn by_hand(rows: &[&Plain], field: &str) -> BTreeMap<String, ByHand> {
    let mut found: BTreeMap<String, ByHand> = BTreeMap::new();
    for row in rows {
        let value = if field == "status" && !row.rejected() { row.status.to_string() } else { of_field(row, field) };
        if value.is_empty() {
            continue;
        }
        found.entry(value).or_default().add(row);
    }
    found.values_mut().for_each(|sums| sums.times_us.sort_unstable());
    found
}

fn of_field(row: &Plain, field: &str) -> String {
    if field == "status" { String::new() } else { value(row, field) }
}

impl ByHand {
    fn add(&mut self, row: &Plain) {
        self.hits += 1;
        if row.rejected() {
            return;
        }
        self.errors += u64::from(row.status >= 500);
        self.refused += u64::from((400..500).contains(&row.status));
        self.bytes = self.bytes.map_or(row.size(), |bytes| Some(bytes + row.size().unwrap_or(0)));
        self.times_us.extend(row.request_time_us);
        self.clients.extend(Some(row.client.clone()).filter(|client| !client.is_empty()));
        self.seconds.push(row.unix());
    }

    fn quantile(&self, percent: usize) -> Option<f64> {
        let rank = (self.times_us.len() * percent).div_ceil(100);
        Some(*self.times_us.get(rank.checked_sub(1)?)? as f64 / 1e6)
    }

    fn number(&self, metric: BreakdownMetric) -> Option<f64> {
        let seconds = |us: u64| us as f64 / 1e6;
        match metric {
            BreakdownMetric::Hits => Some(self.hits as f64),
            BreakdownMetric::Errors => Some(self.errors as f64),
            BreakdownMetric::ErrorRate => Some(self.errors as f64 / self.hits as f64),
            BreakdownMetric::Refused => Some(self.refused as f64),
            BreakdownMetric::Bytes => self.bytes.map(|bytes| bytes as f64),
            BreakdownMetric::P50 => self.quantile(50),
            BreakdownMetric::P95 => self.quantile(95),
            BreakdownMetric::P99 => self.quantile(99),
            BreakdownMetric::Max => self.times_us.last().map(|us| seconds(*us)),
            BreakdownMetric::Total => (!self.times_us.is_empty()).then(|| seconds(self.times_us.iter().sum())),
            BreakdownMetric::Clients => Some(self.clients.len() as f64),
            BreakdownMetric::First => self.seconds.iter().min().map(|seconds| *seconds as f64),
            BreakdownMetric::Last => self.seconds.iter().max().map(|seconds| *seconds as f64),
            BreakdownMetric::Trend => None,
        }
    }
}

fn number_of(value: &BreakdownValue, metric: BreakdownMetric) -> Option<f64> {
    match metric {
        BreakdownMetric::Hits => Some(value.hits as f64),
        BreakdownMetric::Errors => value.errors.map(|errors| errors as f64),
        BreakdownMetric::ErrorRate => value.error_rate,
        BreakdownMetric::Refused => value.refused.map(|refused| refused as f64),
        BreakdownMetric::Bytes => value.bytes.map(|bytes| bytes as f64),
        BreakdownMetric::P50 => value.p50,
        BreakdownMetric::P95 => value.p95,
        BreakdownMetric::P99 => value.p99,
        BreakdownMetric::Max => value.max.as_ref().map(|max| match max {
            OwnValue::Float(number) => *number,
            other => panic!("seconds are no {other:?}"),
        }),
        BreakdownMetric::Total => value.total,
        BreakdownMetric::Clients => value.clients.map(|clients| clients as f64),
        BreakdownMetric::First => value.first,
        BreakdownMetric::Last => value.last,
        BreakdownMetric::Trend => None,
    }
}

fn wanted(field: &str, sort: BreakdownMetric) -> BreakdownWanted {
    BreakdownWanted { field: field.to_owned(), sort, show: None, measure: None, limit: 30, trend_buckets: 20 }
}

fn asked(store: &RowStore, view: &View, wanted: &BreakdownWanted) -> Breakdown {
    store.breakdown(view, wanted, &Control::default()).unwrap_or_else(|error| panic!("{wanted:?}: {error}"))
}

fn is_quantile(metric: BreakdownMetric) -> bool {
    matches!(metric, BreakdownMetric::P50 | BreakdownMetric::P95 | BreakdownMetric::P99)
}

/// A metric is as it is by hand, but for the error that the answer tells.
fn is_near(breakdown: &Breakdown, metric: BreakdownMetric, found: Option<f64>, expected: Option<f64>) -> bool {
    let error = match metric {
        _ if is_quantile(metric) => breakdown.measure_error,
        BreakdownMetric::Clients => breakdown.clients_error,
        _ => 1e-12,
    };
    match (found, expected) {
        (Some(found), Some(expected)) => (found - expected).abs() <= error * expected.abs() + 1e-9,
        (found, expected) => found == expected,
    }
}

/// Every value has the metrics that it has by hand.
fn check_values(breakdown: &Breakdown, hand: &BTreeMap<String, ByHand>) {
    assert_eq!((breakdown.distinct, breakdown.distinct_error), (hand.len() as u64, 0.0));
    assert_eq!(breakdown.values.len(), hand.len().min(30));
    for value in &breakdown.values {
        let by_hand = &hand[&value.value];
        for metric in BreakdownMetric::ALL.into_iter().filter(|metric| *metric != BreakdownMetric::Trend) {
            let (found, expected) = (number_of(value, metric), by_hand.number(metric));
            assert!(
                is_near(breakdown, metric, found, expected),
                "{} of {}: {found:?}, by hand {expected:?}",
                metric.name(),
                value.value
            );
        }
        let (from, width) = breakdown.from.zip(breakdown.bucket_seconds).expect("rows have times");
        let mut trend = vec![0; breakdown.buckets.expect("rows have times")];
        by_hand.seconds.iter().for_each(|seconds| trend[((seconds - from) / width) as usize] += 1);
        assert_eq!(value.trend.as_ref(), Some(&trend), "{}", value.value);
    }
    let listed: u64 = breakdown.values.iter().map(|value| value.hits).sum();
    assert_eq!(breakdown.others, breakdown.rows - listed);
}

/// The highest come first, and no higher one is left out.
fn check_order(breakdown: &Breakdown, hand: &BTreeMap<String, ByHand>) {
    let sort = breakdown.sort;
    let none = f64::NEG_INFINITY;
    let key = |value: &BreakdownValue| number_of(value, sort).unwrap_or(none);
    let order = |a: &BreakdownValue, b: &BreakdownValue| {
        let is_counted = matches!(
            sort,
            BreakdownMetric::Errors | BreakdownMetric::ErrorRate | BreakdownMetric::Refused | BreakdownMetric::Bytes
        );
        key(a) > key(b) || key(a) == key(b) && (!is_counted || a.hits >= b.hits) || (key(a) - key(b)).abs() < 1e-9
    };
    assert!(breakdown.values.windows(2).all(|pair| order(&pair[0], &pair[1])), "{sort:?}: {:?}", breakdown.values);
    let least = breakdown.values.last().map_or(none, key);
    let listed: BTreeSet<&str> = breakdown.values.iter().map(|value| &*value.value).collect();
    let others = hand.iter().filter(|(value, _)| !listed.contains(&***value));
    let best_other = others.filter_map(|(_, by_hand)| by_hand.number(sort)).fold(none, f64::max);
    let error = breakdown.rank_error.unwrap_or(0.0) + breakdown.measure_error;
    let most = if is_quantile(sort) { least * (1.0 + error) / (1.0 - error) } else { least };
    assert!(best_other <= most + 1e-9, "{sort:?}: {best_other} is not listed, {least} is, within {error}");
}

#[test]
fn metrics_are_those_of_a_count() {
    let rows = rows();
    let text = text_of(&rows);
    let setups = [
        Setup { segment_rows: 1_000, ..Setup::default() },
        Setup { threads: 2, segment_rows: 700, ..Setup::default() },
        Setup { threads: 2, segment_rows: 700, memory_bytes: 4 << 20, spill_bytes: Some(1 << 30) },
    ];
    for setup in setups {
        let store = setup.record(text.clone());
        for filter in ["", "path contains \"1\" and status < 503", "status = 500", "path = /nowhere"] {
            let view = View { filter: store.schema().filter(filter).expect("a filter"), ..View::default() };
            let is_meant = |row: &&Plain| match filter {
                "" => true,
                "status = 500" => !row.rejected() && row.status == 500,
                "path = /nowhere" => false,
                _ => !row.rejected() && row.path.contains('1') && row.status < 503,
            };
            let meant: Vec<&Plain> = rows.iter().filter(is_meant).collect();
            for field in ["path", "net", "status", "client"] {
                let hand = by_hand(&meant, field);
                for sort in BreakdownMetric::ALL.into_iter().filter(|metric| metric.is_sortable()) {
                    let breakdown = asked(&store, &view, &wanted(field, sort));
                    assert_eq!(breakdown.rows, meant.len() as u64);
                    assert!(breakdown.exact, "{field} {filter} {sort:?}");
                    check_values(&breakdown, &hand);
                    if breakdown.ranked.is_none() {
                        check_order(&breakdown, &hand);
                    }
                    // The filter of a value means its rows, and no others.
                    if let Some(value) = breakdown.values.first().filter(|_| sort == BreakdownMetric::Errors) {
                        let only = View { filter: store.schema().filter(&value.filter).expect("a filter"), ..View::default() };
                        let hits = asked(&store, &only, &wanted(field, sort)).rows;
                        assert_eq!(hits, by_hand(&rows.iter().collect::<Vec<_>>(), field)[&value.value].hits, "{}", value.filter);
                    }
                }
            }
        }
    }
}

#[test]
fn only_what_is_asked_for_is_counted() {
    let store = Setup::default().record(text_of(&rows()));
    let show: MetricSet = [BreakdownMetric::Errors].into_iter().collect();
    let breakdown =
        asked(&store, &View::default(), &BreakdownWanted { show: Some(show), ..wanted("path", BreakdownMetric::P95) });
    let value = &breakdown.values[0];
    assert!(value.errors.is_some() && value.p95.is_some());
    assert_eq!((value.p50, value.clients, value.bytes, value.trend.clone()), (None, None, None, None));
}

#[test]
fn a_name_of_no_field_is_refused_with_those_that_there_are() {
    let store = Setup::default().record(text_of(&rows()));
    let refused = |wanted: &BreakdownWanted| match store.breakdown(&View::default(), wanted, &Control::default()) {
        Err(ViewError::Unanswerable(error)) => error,
        other => panic!("{other:?}"),
    };
    let error = refused(&wanted("pfad", BreakdownMetric::Hits));
    assert!(error.to_string().contains("no field 'pfad'") && error.to_string().contains("path, "), "{error}");
    let error = refused(&BreakdownWanted { measure: Some("path".to_owned()), ..wanted("path", BreakdownMetric::P50) });
    assert!(matches!(error, BreakdownError::Measure(..)) && error.to_string().contains("request_time"), "{error}");
}

/// Paths and clients that there is no memory for at once.
fn wide_rows() -> Vec<Plain> {
    let mut random = Random(11);
    let mut rows = rows();
    for row in &mut rows {
        row.path = format!("/p{}", random.zipf(3_000));
        row.client = format!("10.{}.{}.{}", random.below(4), random.below(200), random.below(250));
    }
    rows
}

#[test]
fn values_are_ranked_by_clients_as_far_as_there_is_memory_and_that_is_said() {
    let rows = wide_rows();
    let meant: Vec<&Plain> = rows.iter().collect();
    let hand = by_hand(&meant, "path");
    let mut answers = Vec::new();
    for threads in [1, 3] {
        let store = Setup { threads, segment_rows: 1_000, ..Setup::default() }.record(text_of(&rows));
        let breakdown = asked(&store, &View::default(), &wanted("path", BreakdownMetric::Clients));
        let ranked = breakdown.ranked.expect("there is no memory for all");
        assert!(ranked < hand.len() as u64 && ranked >= 30 && breakdown.exact);
        let clients = |value: &BreakdownValue| value.clients.expect("there is room for those that are listed");
        assert!(breakdown.values.is_sorted_by(|a, b| clients(a) >= clients(b)));
        // Of those that were ranked, the ones with most rows, none with more clients is left out.
        let mut by_hits: Vec<(&String, &ByHand)> = hand.iter().collect();
        by_hits.sort_by_key(|(path, by_hand)| (std::cmp::Reverse(by_hand.hits), *path));
        let mut expected: Vec<u64> = by_hits[..ranked as usize].iter().map(|(_, by_hand)| by_hand.clients.len() as u64).collect();
        expected.sort_unstable_by(|a, b| b.cmp(a));
        assert_eq!(breakdown.values.iter().map(clients).collect::<Vec<_>>(), expected[..30]);
        answers.push((ranked, breakdown.values));
    }
    assert_eq!(answers[0], answers[1], "the number of threads does not show");
}

#[test]
fn clients_without_a_place_are_not_counted_as_if_they_had_one() {
    let rows = wide_rows();
    let store =
        Setup { threads: 2, segment_rows: 1_000, memory_bytes: 2 << 20, spill_bytes: Some(1 << 30) }.record(text_of(&rows));
    let breakdown = asked(&store, &View::default(), &wanted("status", BreakdownMetric::Hits));
    assert!(!breakdown.exact);
    let hand = by_hand(&rows.iter().collect::<Vec<_>>(), "status");
    for value in &breakdown.values {
        assert_eq!((value.clients, value.hits), (None, hand[&value.value].hits), "{value:?}");
    }
}

fn over_time(store: &RowStore, view: &View, width: BucketWidth, show: Option<&[BreakdownMetric]>) -> Breakdown {
    let show = show.map(|metrics| metrics.iter().copied().collect::<MetricSet>());
    let wanted = OverTimeWanted { width, show, measure: None };
    store.over_time(view, &wanted, &Control::default()).unwrap_or_else(|error| panic!("{wanted:?}: {error}"))
}

/// The rows with a time by the start of their bucket.
fn by_bucket(rows: &[&Plain], width: i64) -> BTreeMap<i64, ByHand> {
    let mut found: BTreeMap<i64, ByHand> = BTreeMap::new();
    for row in rows.iter().filter(|row| !row.rejected()) {
        found.entry(row.unix().div_euclid(width) * width).or_default().add(row);
    }
    found.values_mut().for_each(|sums| sums.times_us.sort_unstable());
    found
}

/// Every bucket has the metrics that it has by hand, and one without rows has none.
fn check_buckets(breakdown: &Breakdown, rows: &[&Plain]) {
    let timed = rows.iter().filter(|row| !row.rejected()).count() as u64;
    assert_eq!((breakdown.rows, breakdown.others), (rows.len() as u64, rows.len() as u64 - timed));
    let Some((from, width)) = breakdown.from.zip(breakdown.bucket_seconds) else {
        return assert_eq!((breakdown.values.len(), timed), (0, 0));
    };
    let hand = by_bucket(rows, width);
    assert_eq!(breakdown.distinct, hand.len() as u64);
    assert_eq!(breakdown.buckets, Some(breakdown.values.len()));
    let shown = BreakdownMetric::ALL.into_iter().filter(|metric| breakdown.asked.contains(*metric));
    let shown: Vec<BreakdownMetric> = shown.collect();
    for (bucket, value) in (0..).zip(&breakdown.values) {
        let by_hand = hand.get(&(from + bucket * width));
        for metric in &shown {
            let found = number_of(value, *metric);
            let expected = by_hand.and_then(|by_hand| by_hand.number(*metric));
            let expected = if *metric == BreakdownMetric::Hits { expected.or(Some(0.0)) } else { expected };
            assert!(
                is_near(breakdown, *metric, found, expected),
                "{} of {}: {found:?}, by hand {expected:?}",
                metric.name(),
                value.value
            );
        }
    }
    assert_eq!(breakdown.values.iter().map(|value| value.hits).sum::<u64>(), timed);
}

#[test]
fn metrics_over_time_are_those_of_a_count() {
    let rows = rows();
    let text = text_of(&rows);
    let setups = [
        Setup { segment_rows: 1_000, ..Setup::default() },
        Setup { threads: 2, segment_rows: 700, ..Setup::default() },
        Setup { threads: 2, segment_rows: 700, memory_bytes: 4 << 20, spill_bytes: Some(1 << 30) },
    ];
    let start = rows[0].unix();
    let spans = [None, Some((start + 20_000, start + 47_123)), Some((start - 100, start + 1)), Some((start - 100, start - 50))];
    for setup in setups {
        let store = setup.record(text.clone());
        for filter in ["", "status = 500", "path = /nowhere"] {
            for span in spans {
                let us = |seconds: i64| seconds * 1_000_000;
                let filter_of = store.schema().filter(filter).expect("a filter");
                let view = View { from_us: span.map(|span| us(span.0)), to_us: span.map(|span| us(span.1)), filter: filter_of };
                let is_meant = |row: &&Plain| {
                    let is_in = span.is_none_or(|(from, to)| !row.rejected() && (from..to).contains(&row.unix()));
                    is_in && (filter.is_empty() || filter == "status = 500" && !row.rejected() && row.status == 500)
                };
                let meant: Vec<&Plain> = rows.iter().filter(is_meant).collect();
                for width in
                    [BucketWidth::Most(50), BucketWidth::Most(2_000), BucketWidth::Seconds(3_600), BucketWidth::Seconds(70)]
                {
                    let breakdown = over_time(&store, &view, width, None);
                    assert!(breakdown.exact && breakdown.measure_error < 0.13, "{width:?}: {}", breakdown.measure_error);
                    check_buckets(&breakdown, &meant);
                    if let (BucketWidth::Seconds(seconds), Some(found)) = (width, breakdown.bucket_seconds) {
                        assert_eq!(found, seconds, "{width:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn buckets_of_time_are_those_of_the_histogram() {
    let store = Setup { segment_rows: 1_000, ..Setup::default() }.record(text_of(&rows()));
    for buckets in [1, 24, 400, 2_000] {
        let parts = ViewParts { buckets, ..ViewParts::default() };
        let viewed = store.view(&View::default(), &parts, &Control::default()).expect("nobody cancels");
        let histogram = viewed.histogram.expect("rows have times");
        let breakdown = over_time(&store, &View::default(), BucketWidth::Most(buckets), Some(&[BreakdownMetric::Errors]));
        let (from, width) = (breakdown.from.expect("times"), breakdown.bucket_seconds.expect("times"));
        assert_eq!(width, histogram.bucket_seconds);
        let starts = (0..).zip(&breakdown.values).filter(|(_, value)| value.hits > 0).map(|(bucket, _)| from + bucket * width);
        assert_eq!(starts.collect::<Vec<_>>(), histogram.at);
        let hits = (0..histogram.at.len()).map(|bucket| histogram.series.iter().map(|series| series.hits[bucket]).sum());
        assert_eq!(
            breakdown.values.iter().map(|value| value.hits).filter(|hits| *hits > 0).collect::<Vec<u64>>(),
            hits.collect::<Vec<u64>>()
        );
    }
    // More buckets than an answer has are joined.
    let seconds = over_time(&store, &View::default(), BucketWidth::Seconds(1), None);
    assert!(seconds.bucket_seconds.is_some_and(|width| width.count_ones() == 1 && width > 1), "{:?}", seconds.bucket_seconds);
    assert!(seconds.values.len() <= 2_001 && seconds.values.len() > 1_000, "{}", seconds.values.len());
}

#[test]
fn many_clients_over_time_are_estimated_within_the_error_that_is_told() {
    let mut rows = wide_rows();
    rows.iter_mut()
        .enumerate()
        .for_each(|(index, row)| row.client = format!("10.{}.{}.{}", index % 4, index / 4 % 250, index / 1_000));
    let meant: Vec<&Plain> = rows.iter().collect();
    let mut answers = Vec::new();
    for threads in [1, 3] {
        let store = Setup { threads, segment_rows: 1_000, ..Setup::default() }.record(text_of(&rows));
        let exact = over_time(&store, &View::default(), BucketWidth::Most(60), Some(&[BreakdownMetric::Clients]));
        assert_eq!(exact.clients_error, 0.0, "there is a bit for each client of 60 buckets");
        check_buckets(&exact, &meant);
        let rough = over_time(&store, &View::default(), BucketWidth::Most(2_000), None);
        assert!(rough.exact && rough.clients_error > 0.0 && rough.clients_error < 0.5, "{}", rough.clients_error);
        // The error is two standard deviations: one in twenty buckets may be beside it.
        let hand = by_bucket(&meant, rough.bucket_seconds.expect("times"));
        let counted = hand.values().map(|by_hand| by_hand.clients.len() as f64);
        let found = rough.values.iter().filter_map(|value| value.clients);
        let beside =
            found.zip(counted).filter(|(found, counted)| (*found as f64 - counted).abs() > rough.clients_error * counted + 0.5);
        assert!(beside.count() <= hand.len() / 20, "too many buckets are beside the error {}", rough.clients_error);
        // Estimates go by codes, which values have in the order in which the threads met them.
        let others = rough.values.into_iter().map(|value| BreakdownValue { clients: None, ..value });
        answers.push((exact.values, others.collect::<Vec<_>>()));
    }
    assert_eq!(answers[0], answers[1], "the number of threads shows in estimates only");
}

#[test]
fn dropped_rows_mark_metrics_over_time() {
    let store = Setup { memory_bytes: 1 << 20, segment_rows: 1_000, ..Setup::default() }.record(text_of(&wide_rows()));
    assert!(store.rows_dropped() > 0);
    assert!(!over_time(&store, &View::default(), BucketWidth::Most(50), None).exact);
}

#[test]
fn metrics_that_buckets_can_not_have_are_refused() {
    let store = Setup::default().record(text_of(&rows()));
    let asked = |show: &[BreakdownMetric], measure: Option<&str>| {
        let show = Some(show.iter().copied().collect());
        let wanted = OverTimeWanted { width: BucketWidth::Most(10), show, measure: measure.map(str::to_owned) };
        store.over_time(&View::default(), &wanted, &Control::default())
    };
    let refused = |answer: Result<Breakdown, ViewError>| match answer {
        Err(ViewError::Unanswerable(error)) => error.to_string(),
        other => panic!("{other:?}"),
    };
    assert!(refused(asked(&[BreakdownMetric::Trend], None)).contains("no trend; they have hits, errors"));
    assert!(refused(asked(&[BreakdownMetric::P95], Some("path"))).contains("no field 'path' of numbers"));
    let bytes = asked(&[BreakdownMetric::Max], Some("bytes")).expect("sizes are numbers");
    assert_eq!(bytes.measure.map(|measure| measure.field.into_owned()), Some("bytes".to_owned()));
}

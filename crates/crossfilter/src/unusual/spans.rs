//! The exact time of an incident, its numbers, and what it was in words.

use super::search::Outlier;
use super::span::{UnusualKind, UnusualSpan};
use crate::columns::STATUS;
use crate::outcome_counts::{ALL, OutcomeCount, OutcomeCounts, STEPS, WatchedField};
use crate::outliers::heaviest;
use crate::statuses::STATUS_FIELD;
use crate::store::RowStore;
use crate::top::shown;
use rorqual_accesslog::filter::{Filter, NumberTest, TextTest, TextValue};
use rorqual_accesslog::schema::NumberColumn;

/// Part of the log that is no longer a span of it.
const SPAN_PART_MAX: f64 = 0.2;

/// The span of an outlier to the fine bucket, with its numbers; `None` where it is no span of the
/// log but a part of it.
pub(super) fn refined(counts: &OutcomeCounts, slot: usize, outlier: &Outlier) -> Option<UnusualSpan> {
    let axis = counts.axis;
    let near =
        |at: &usize| axis.start(*at + 1) > outlier.from - axis.width_seconds && axis.start(*at) < outlier.to + axis.width_seconds;
    let buckets: Vec<usize> = (0..axis.buckets).filter(near).collect();
    let (first, last) = (*buckets.first()?, *buckets.last()?);
    let of_slot = counts.windows(slot, 1);
    let all = counts.windows(ALL, 1);
    let usual = Usual::new(outlier.kind, slot, &of_slot, &all, first..last + 1);
    let weights: Vec<f64> = buckets.iter().map(|at| usual.weight(&of_slot[*at], &all[*at])).collect();
    let (from, to) = heaviest(&weights);
    let (from, to) = if from == to { (first, last + 1) } else { (first + from, first + to) };
    if (to - from) as f64 > SPAN_PART_MAX * axis.buckets as f64 {
        return None;
    }
    let join = |windows: &[OutcomeCount]| {
        let mut sum = OutcomeCount::default();
        windows[from..to].iter().for_each(|window| sum.add(window));
        sum
    };
    let (own, rest) = (join(&of_slot), join(&all));
    let (hits, rows, expected, ratio) = usual.numbers(&own, &rest, to - from);
    let is_so = if outlier.kind == UnusualKind::Fewer { ratio < 1.0 } else { ratio > 1.0 };
    is_so.then_some(UnusualSpan {
        from: axis.start(from),
        to: axis.start(to),
        kind: outlier.kind,
        field: None,
        value: None,
        filter: String::new(),
        text: String::new(),
        hits,
        rows,
        expected,
        ratio,
        z: outlier.z,
        q: outlier.q,
        companions: Vec::new(),
    })
}

/// Share or mean outside of a span and within it, by which its ends are found.
struct Usual {
    kind: UnusualKind,
    of_all: bool,
    outside: f64,
    within: f64,
}

impl Usual {
    fn new(kind: UnusualKind, slot: usize, own: &[OutcomeCount], all: &[OutcomeCount], span: std::ops::Range<usize>) -> Self {
        let of_all = slot == ALL;
        let level = |is_in: bool| {
            let (mut own_sum, mut all_sum, mut buckets) = (OutcomeCount::default(), OutcomeCount::default(), 0.0);
            // What is usual for a number of rows is the time around.
            let is_near = |at: usize| {
                kind != UnusualKind::Fewer && kind != UnusualKind::More || !of_all || {
                    let reach = 2 * span.len().max(6);
                    at + reach >= span.start && at < span.end + reach
                }
            };
            for at in (0..own.len()).filter(|at| span.contains(at) == is_in && is_near(*at)) {
                own_sum.add(&own[at]);
                all_sum.add(&all[at]);
                buckets += 1.0;
            }
            level(kind, of_all, &own_sum, &all_sum, buckets)
        };
        Self { kind, of_all, outside: level(false), within: level(true) }
    }

    /// Weight of a bucket: positive where it is more like the span than like the rest.
    fn weight(&self, own: &OutcomeCount, all: &OutcomeCount) -> f64 {
        let middle = (self.outside + self.within) / 2.0;
        let weight = match self.kind {
            UnusualKind::More | UnusualKind::Fewer if self.of_all => f64::from(own.hits) - middle,
            UnusualKind::More | UnusualKind::Fewer => f64::from(own.hits) - middle * f64::from(all.hits),
            UnusualKind::Errors => f64::from(own.errors) - middle * f64::from(own.hits),
            UnusualKind::Refused => f64::from(own.refused) - middle * f64::from(own.hits),
            UnusualKind::Slower => own.time_steps as f64 / STEPS - middle * f64::from(own.timed),
            UnusualKind::Larger => own.size_steps as f64 / STEPS - middle * f64::from(own.sized),
        };
        if self.kind == UnusualKind::Fewer { -weight } else { weight }
    }

    /// Hits, rows, hits that would be usual, and the ratio.
    fn numbers(&self, own: &OutcomeCount, all: &OutcomeCount, buckets: usize) -> (u64, u64, f64, f64) {
        let ratio = |hits: f64, expected: f64| (hits + 0.5) / (expected + 0.5);
        let (hits, rows) = match self.kind {
            UnusualKind::More | UnusualKind::Fewer => (own.hits, all.hits),
            UnusualKind::Errors => (own.errors, own.hits),
            UnusualKind::Refused => (own.refused, own.hits),
            UnusualKind::Slower => (own.timed, own.hits),
            UnusualKind::Larger => (own.sized, own.hits),
        };
        let expected = match self.kind {
            UnusualKind::More | UnusualKind::Fewer if self.of_all => self.outside * buckets as f64,
            UnusualKind::Slower | UnusualKind::Larger => f64::from(hits),
            _ => self.outside * f64::from(rows),
        };
        let mean = level(self.kind, self.of_all, own, all, buckets as f64) - self.outside;
        let ratio = match self.kind {
            UnusualKind::Slower | UnusualKind::Larger => mean.exp2(),
            _ => ratio(f64::from(hits), expected),
        };
        (hits.into(), rows.into(), expected, ratio)
    }
}

/// Rows a bucket, a share of rows, or a mean logarithm.
fn level(kind: UnusualKind, of_all: bool, own: &OutcomeCount, all: &OutcomeCount, buckets: f64) -> f64 {
    let share = |part: u32, of: u32| f64::from(part) / f64::from(of.max(1));
    let mean = |steps: u64, rows: u32| steps as f64 / STEPS / f64::from(rows.max(1));
    match kind {
        UnusualKind::More | UnusualKind::Fewer if of_all => f64::from(own.hits) / buckets.max(1.0),
        UnusualKind::More | UnusualKind::Fewer => share(own.hits, all.hits),
        UnusualKind::Errors => share(own.errors, own.hits),
        UnusualKind::Refused => share(own.refused, own.hits),
        UnusualKind::Slower => mean(own.time_steps, own.timed),
        UnusualKind::Larger => mean(own.size_steps, own.sized),
    }
}

impl UnusualSpan {
    pub(super) fn describe(
        &mut self,
        store: &RowStore,
        value: Option<Filter>,
        watched: Option<&WatchedField>,
        status: Option<u32>,
    ) {
        let statuses = |first: u64| Filter::Number(NumberColumn::STATUS, NumberTest::range(first, first + 99));
        let outcome = match self.kind {
            UnusualKind::Errors => Some(statuses(500)),
            UnusualKind::Refused => Some(statuses(400)),
            _ => None,
        };
        let schema = store.schema();
        if let (Some(filter), Some(watched)) = (&value, watched) {
            self.field = Some(watched.field.name(&schema));
            self.value = Some(value_of(filter));
        }
        self.filter = schema.written(&Filter::All(value.into_iter().chain(outcome).collect()));
        self.text = self.words(status);
    }

    /// Summary of it in a few words.
    fn words(&self, status: Option<u32>) -> String {
        let Self { hits, rows, ratio, .. } = self;
        let value = self.value.as_deref().map(|value| shown(value.as_bytes()));
        let subject = match (&value, self.field.as_deref()) {
            (Some(value), Some(STATUS_FIELD)) => format!("status {value}"),
            (Some(value), _) => value.clone(),
            (None, _) => "all requests".to_owned(),
        };
        let percent = |part: f64| if part < 0.1 { format!("{:.1} %", 100.0 * part) } else { format!("{:.0} %", 100.0 * part) };
        let share = percent(*hits as f64 / (*rows).max(1) as f64);
        match (self.kind, &value) {
            (UnusualKind::Errors, _) => {
                let errors = status.map_or_else(|| "errors".to_owned(), |status| format!("errors ({status})"));
                format!("{subject}: {errors}, {hits} of {rows}")
            }
            (UnusualKind::Refused, _) => format!("{subject}: refused (4xx), {hits} of {rows}"),
            (UnusualKind::Slower, _) => format!("{subject}: {ratio:.1} times as slow"),
            (UnusualKind::Larger, _) => format!("{subject}: responses {ratio:.1} times as large"),
            (UnusualKind::More, Some(_)) => format!("{subject}: {share} of requests"),
            (UnusualKind::More, None) => format!("{ratio:.1} times as many requests"),
            (UnusualKind::Fewer, None) if *hits == 0 => "no requests".to_owned(),
            (UnusualKind::Fewer, _) => format!("{subject}: {} of the usual number", percent(*ratio)),
        }
    }
}

/// The status of an outlier that is one of errors.
pub(super) fn error_status(fields: &[WatchedField], outlier: &Outlier) -> Option<u32> {
    let watched = &fields[outlier.field?];
    let status = watched.codes[outlier.slot - watched.slots.start];
    (watched.field.index == STATUS && status >= 500).then_some(status)
}

/// The text or the number that a filter of one value asks for.
fn value_of(filter: &Filter) -> String {
    match filter {
        Filter::Text(_, TextTest::OneOf(values)) => match &values[..] {
            [TextValue::Text(text)] => text.clone(),
            _ => String::new(),
        },
        Filter::Number(_, test) => test.ranges.first().map_or_else(String::new, |(first, _)| first.to_string()),
        _ => String::new(),
    }
}

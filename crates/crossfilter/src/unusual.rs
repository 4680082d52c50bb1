//! Unusual spans of a log, found without a question: errors, volume, durations, sizes and values
//! that stand out of what is usual in it.

use crate::candidates::CandidateField;
use crate::columns::{AGENT, CLIENT, CODED, PATH, STATUS};
use crate::counted::CountedViews;
use crate::evidence::{p_value, q_values};
use crate::limits::{RATES_BYTES_MIN, UNUSUAL_BYTES_MAX};
use crate::outcome_counts::{ALL, OutcomeCount, OutcomeCounts, STEPS, WatchedField};
use crate::outliers::{Series, heaviest, usual_peak};
use crate::panels::shown;
use crate::store::{RowStore, Snapshot};
use crate::timeline::Axis;
use crate::view::{STATUS_FIELD, View, ViewError};
use rorqual_accesslog::filter::{Filter, NumberTest, TextTest, TextValue};
use rorqual_accesslog::schema::NumberColumn;
use rorqual_pipe::Control;
use serde::Serialize;

/// Buckets of all rows at most, with so many rows each on average; fewer than the least say
/// nothing.
const FINE_BUCKETS_MAX: u64 = 4_700;
const FINE_ROWS_MIN: u64 = 10;
const BUCKETS_MIN: usize = 24;

/// Buckets of values at most, and rows in each on average.
const COARSE_BUCKETS_MAX: u64 = 400;
const COARSE_ROWS_MIN: u64 = 100;

/// Memory of a window of a series, and of the fine counts of all rows.
const SERIES_BYTES: usize = 4 * size_of::<f64>();
const FINE_BYTES: usize = FINE_BUCKETS_MAX as usize * size_of::<OutcomeCount>();

/// The fine counts of each span take the place of those of the values.
const _: () = assert!(((SPANS_MAX + 1) * FINE_BYTES) as u64 <= RATES_BYTES_MIN);

/// Widths of windows in buckets.
const FINE_WIDTHS: [usize; 6] = [1, 2, 4, 8, 16, 32];
const COARSE_WIDTHS: [usize; 3] = [1, 2, 4];

/// Standard deviations of something unusual at least, and false ones among all at most.
const Z_MIN: f64 = 6.0;
const Q_MAX: f64 = 1e-4;

/// Something is unusual that stands out so much more than what happens more often than so many
/// times in the log.
const USUAL_TIMES: usize = 4;
const GAP_MIN: f64 = 1.5;

/// The same of what happened to the value itself: a crawler that came before may come for longer.
const OWN_TIMES: usize = 2;
const OWN_GAP_MIN: f64 = 2.0;
const OWN_MORE_GAP_MIN: f64 = 8.0;

/// Standard deviations, at least, of more rows of a value that came at other times, too: such a
/// part of them at least.
const KNOWN_Z_MIN: f64 = 20.0;
const KNOWN_PART: f64 = 0.1;

/// Part of all rows from which on a value says nothing of its own: what happens to it happens to
/// all.
const MOST_PART: f64 = 0.9;

/// Part of an effect that, a day or a week before or after, makes it a habit, and its deviation at
/// least.
const HABIT: f64 = 0.3;
const HABIT_Z_MIN: f64 = 2.0;
const DAY_SECONDS: i64 = 86_400;

/// Spans at most.
const SPANS_MAX: usize = 10;

/// Part of the log that is no longer a span of it.
const SPAN_PART_MAX: f64 = 0.2;

/// Spans that stand out of a log.
#[derive(Debug, Clone, Serialize)]
pub struct UnusualSpans {
    /// Most unusual first; empty of a quiet log.
    #[serde(rename = "findings")]
    pub spans: Vec<UnusualSpan>,
    /// Rows that were looked at.
    pub rows: u64,
    /// Rows that there was no place for, and that are in no span.
    pub dropped: u64,
    /// Values that were followed over time.
    pub values: usize,
    /// Windows of time of values that were tried.
    pub tried: usize,
    /// True if every row was looked at, and each value had room.
    pub exact: bool,
}

/// Kind of an unusual span.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UnusualKind {
    /// More statuses from 500 on.
    Errors,
    /// More statuses from 400 to 499.
    Refused,
    /// Requests took longer.
    Slower,
    /// Responses were larger.
    Larger,
    /// A larger share of the requests, or more requests of all.
    More,
    /// A smaller share of the requests, or fewer requests of all.
    Fewer,
}

/// An unusual span.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct UnusualSpan {
    /// Unix seconds of its begin.
    pub from: i64,
    /// Unix seconds of its end, which is not in it.
    pub to: i64,
    /// Meaning of its numbers.
    pub kind: UnusualKind,
    /// Name of the value's field, for programs; `None` of all requests.
    pub field: Option<String>,
    /// The value as in the log.
    pub value: Option<String>,
    /// Filter for the rows that it is about.
    pub filter: String,
    /// Summary of it in a few words, for people.
    pub text: String,
    /// Rows in the span that are unusual: errors, or requests.
    pub hits: u64,
    /// Rows in the span that might have been so: requests of the value, or all.
    pub rows: u64,
    /// Hits that would be usual.
    pub expected: f64,
    /// The quotient of these; of durations and sizes that of the geometric means.
    pub ratio: f64,
    /// Standard deviations from what is usual, which the order is by.
    pub z: f64,
    /// Share of false ones among all that stand out as much (Benjamini and Hochberg).
    pub q: f64,
    /// Filters of other values that stand out in the same span.
    pub companions: Vec<String>,
}

/// A window of time in which a slot stands out.
#[derive(Debug, Clone, Copy)]
struct Outlier {
    kind: UnusualKind,
    /// The field's number; `None` of all rows.
    field: Option<usize>,
    slot: usize,
    from: i64,
    to: i64,
    z: f64,
    q: f64,
}

impl RowStore {
    /// Finds the unusual spans of the log. Of a table, which has no statuses, there are none.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn unusual(&self, control: &Control) -> Result<UnusualSpans, ViewError> {
        self.asked(|| self.unusual_spans(control))
    }

    fn unusual_spans(&self, control: &Control) -> Result<UnusualSpans, ViewError> {
        let (snapshot, base) = self.up_to_date(control)?;
        let rows: u64 = snapshot.segments.iter().map(|segment| segment.rows as u64).sum();
        let dropped = snapshot.rows_dropped;
        let times = snapshot.times().filter(|_| !self.schema().is_table());
        let counted = times.map(|times| self.of_most(&snapshot, times, rows, control)).transpose()?.flatten();
        let Some(MostRows { of_all, coarse, stray }) = counted else {
            return Ok(UnusualSpans { spans: Vec::new(), rows, dropped, values: 0, tried: 0, exact: dropped == 0 });
        };
        let all = self.sums_in(&snapshot, &base, &View::default(), control)?;
        let (mut fields, has_all) = self.watched(&all, coarse.buckets);
        let of_values = self.bucket_counts(&snapshot, coarse, &fields.iter().collect::<Vec<_>>(), control)?;
        let mut search = OutlierSearch::default();
        FINE_WIDTHS.iter().for_each(|width| search.all_rows(&of_all, *width));
        for (number, field) in fields.iter().enumerate() {
            COARSE_WIDTHS.iter().for_each(|width| search.values(&of_values, (number, field), *width));
        }
        let outliers = search.outliers(|field| fields[field].field.is_telling());
        let clusters = clustered(outliers);
        let values = of_values.slots - 1;
        drop(of_values);
        fields.iter_mut().for_each(WatchedField::end);
        let spans = self.spans(&snapshot, &of_all, &fields, &clusters, control)?;
        let has_groups = || self.dictionaries.iter().any(|dictionary| dictionary.lock().has_groups());
        Ok(UnusualSpans {
            spans,
            rows,
            dropped,
            values,
            tried: search.tried,
            exact: dropped + stray == 0 && has_all && !has_groups() && !self.has_cut(),
        })
    }

    /// Counts all rows over the time that nearly all of them have: a single line with another year
    /// would make one bucket of all others. `None` where there is too little.
    fn of_most(
        &self,
        snapshot: &Snapshot,
        mut times: (u64, u64),
        rows: u64,
        control: &Control,
    ) -> Result<Option<MostRows>, ViewError> {
        let mut timed = None;
        loop {
            let Some((fine, coarse)) = axes(times, rows) else { return Ok(None) };
            let of_all = self.bucket_counts(snapshot, fine, &[], control)?;
            let counted = of_all.rows();
            let stray = *timed.get_or_insert(counted) - counted;
            match of_all.times_of_most() {
                Some(most) => times = most,
                None => return Ok(Some(MostRows { of_all, coarse, stray })),
            }
        }
    }

    /// The values with most rows of each field, as many as there is memory for, and whether there
    /// is some for each field.
    fn watched(&self, all: &CountedViews, buckets: usize) -> (Vec<WatchedField>, bool) {
        let mut fields = self.fields();
        let asked = fields.len();
        // Half for the tables of the codes, of which one more is needed to make each.
        let mut bytes = self.rates_bytes().max(RATES_BYTES_MIN) as usize;
        let mut tables = bytes / 2;
        let table = |field: &CandidateField| 2 * size_of::<u32>() * self.codes_of(field.index);
        let mut sizes: Vec<usize> = fields.iter().map(table).collect();
        sizes.sort_unstable();
        let mut largest = 0;
        for size in sizes {
            let Some(left) = tables.checked_sub(size) else { break };
            (tables, largest) = (left, size);
        }
        fields.retain(|field| table(field) <= largest);
        bytes = bytes / 2 + tables;
        let bytes = bytes.min(UNUSUAL_BYTES_MAX as usize).saturating_sub(FINE_BYTES);
        let slots = bytes / (buckets * (size_of::<OutcomeCount>() + SERIES_BYTES));
        let weight = |field: &CandidateField| match field.index {
            PATH | CLIENT => 5,
            AGENT => 3,
            index if index >= CODED => 2,
            _ => 1,
        };
        let weights: usize = fields.iter().map(weight).sum();
        let mut first = ALL + 1;
        let mut watched = Vec::new();
        for field in fields {
            let most = slots * weight(&field) / weights;
            let codes = self.most_frequent(&field, all, most);
            let column_codes = self.codes_of(field.index);
            let field = WatchedField::new(field, codes, first, column_codes);
            first = field.slots.end;
            watched.push(field);
        }
        let has_all = watched.len() == asked;
        (watched, has_all)
    }

    /// Counts the lead of each cluster finely, and says what it was.
    fn spans(
        &self,
        snapshot: &Snapshot,
        of_all: &OutcomeCounts,
        fields: &[WatchedField],
        clusters: &[OutlierCluster],
        control: &Control,
    ) -> Result<Vec<UnusualSpan>, ViewError> {
        let code = |lead: &Outlier| {
            let watched = &fields[lead.field?];
            Some(watched.codes[lead.slot - watched.slots.start])
        };
        let mut first = ALL + 1;
        let mut leads: Vec<Option<WatchedField>> = Vec::new();
        for (number, watched) in fields.iter().enumerate() {
            let of_field = clusters.iter().map(|cluster| &cluster.outliers[0]).filter(|lead| lead.field == Some(number));
            let mut codes: Vec<u32> = of_field.filter_map(code).collect();
            codes.sort_unstable();
            codes.dedup();
            let column_codes = self.codes_of(watched.field.index);
            let lead = (!codes.is_empty()).then(|| WatchedField::new(watched.field.clone(), codes, first, column_codes));
            first = lead.as_ref().map_or(first, |lead| lead.slots.end);
            leads.push(lead);
        }
        let slot_of = |lead: &Outlier| {
            let watched = leads[lead.field?].as_ref()?;
            Some(watched.slots.start + watched.codes.iter().position(|own| Some(*own) == code(lead))?)
        };
        let watched: Vec<&WatchedField> = leads.iter().flatten().collect();
        let counts = self.bucket_counts(snapshot, of_all.axis, &watched, control)?;
        let mut spans = Vec::new();
        for cluster in clusters {
            let OutlierCluster { from, to, outliers } = cluster;
            let lead = Outlier { from: *from, to: *to, ..outliers[0] };
            let slot = slot_of(&lead).unwrap_or(ALL);
            let filter = |outlier: &Outlier| {
                let watched = &fields[outlier.field?];
                Some(watched.field.test(watched.codes[outlier.slot - watched.slots.start]).filter(self))
            };
            let Some(mut span) = refined(&counts, slot, &lead) else { continue };
            let status = outliers.iter().find_map(|outlier| error_status(fields, outlier));
            span.describe(self, filter(&lead), lead.field.map(|field| &fields[field]), status);
            let lead = filter(&lead);
            for other in outliers[1..].iter().filter_map(filter).filter(|other| Some(other) != lead.as_ref()) {
                let written = self.schema().written(&other);
                if span.companions.len() < COMPANIONS_MAX && !span.companions.contains(&written) {
                    span.companions.push(written);
                }
            }
            spans.push(span);
        }
        Ok(spans)
    }
}

/// All rows over the time of nearly all, an axis for values, and the number of rows that are not in
/// that time.
struct MostRows {
    of_all: OutcomeCounts,
    coarse: Axis,
    stray: u64,
}

/// Companions of a span at most.
const COMPANIONS_MAX: usize = 5;

/// A fine axis for all rows, and a coarse one for values; `None` where there is too little.
fn axes((first, last): (u64, u64), rows: u64) -> Option<(Axis, Axis)> {
    let axis = |most: u64, rows_min: u64| Axis::new(first, last, most.min(rows / rows_min) as usize);
    let (fine, coarse) = (axis(FINE_BUCKETS_MAX, FINE_ROWS_MIN), axis(COARSE_BUCKETS_MAX, COARSE_ROWS_MIN));
    (coarse.buckets >= BUCKETS_MIN).then_some((fine, coarse))
}

/// Outliers so far.
#[derive(Default)]
struct OutlierSearch {
    found: Vec<Outlier>,
    tried: usize,
}

/// Series of one kind, each with its slot.
struct OutlierSeries {
    kind: UnusualKind,
    field: Option<usize>,
    series: Vec<(usize, Series)>,
}

impl OutlierSearch {
    fn all_rows(&mut self, counts: &OutcomeCounts, width: usize) {
        let windows = counts.windows(ALL, width);
        if windows.len() < BUCKETS_MIN {
            return;
        }
        let hits = of(&windows, |window| window.hits);
        let span = WindowAxis { axis: counts.axis, width };
        for kind in KINDS {
            if let Some(series) = series_of(kind, &windows, None) {
                self.take(OutlierSeries { kind, field: None, series: vec![(ALL, series)] }, &span, &hits);
            }
        }
    }

    fn values(&mut self, counts: &OutcomeCounts, (number, field): (usize, &WatchedField), width: usize) {
        let all = of(&counts.windows(ALL, width), |window| window.hits);
        if all.len() < BUCKETS_MIN {
            return;
        }
        let span = WindowAxis { axis: counts.axis, width };
        // One kind after the other: the series of all values take as much memory as their counts.
        let is_told = |kind: &UnusualKind| field.field.is_asked_for() || !OF_ANSWERS.contains(kind);
        for kind in KINDS.into_iter().filter(is_told) {
            let series = |slot: usize| {
                let windows = counts.windows(slot, width);
                let hits: f64 = of(&windows, |window| window.hits).iter().sum();
                let is_special = hits <= MOST_PART * all.iter().sum::<f64>();
                is_special.then(|| Some((slot, series_of(kind, &windows, Some(&all))?))).flatten()
            };
            let series = field.slots.clone().filter_map(series).collect();
            self.take(OutlierSeries { kind, field: Some(number), series }, &span, &all);
        }
    }

    /// Takes the windows of a kind that stand out.
    fn take(&mut self, of_kind: OutlierSeries, span: &WindowAxis, rows: &[f64]) {
        let OutlierSeries { kind, field, series } = of_kind;
        self.tried += series.iter().map(|(_, series)| series.z.len()).sum::<usize>();
        let height = |at: usize| series.iter().map(|(_, series)| series.z[at]).fold(0.0, f64::max);
        let heights: Vec<f64> = (0..rows.len()).map(height).collect();
        let least = Z_MIN.max(GAP_MIN * usual_peak(&heights, USUAL_TIMES));
        for (slot, series) in &series {
            if series.z.iter().all(|z| *z < least) {
                continue;
            }
            let gap = if kind == UnusualKind::More { OWN_MORE_GAP_MIN } else { OWN_GAP_MIN };
            let least = least.max(gap * usual_peak(&series.z, OWN_TIMES));
            for (at, z) in series.z.iter().enumerate() {
                let stands_out = *z >= least && is_large(kind, field.is_some(), series, at, rows[at]);
                if stands_out && !span.is_habit(series, at) {
                    let (from, to) = span.times(at);
                    self.found.push(Outlier { kind, field, slot: *slot, from, to, z: *z, q: 1.0 });
                }
            }
        }
    }

    /// Outliers that are no accident, most unusual first.
    fn outliers(&self, is_telling: impl Fn(usize) -> bool) -> Vec<Outlier> {
        let p: Vec<f64> = self.found.iter().map(|outlier| p_value(outlier.z * outlier.z)).collect();
        let mut outliers = self.found.clone();
        outliers.iter_mut().zip(q_values(&p, self.tried)).for_each(|(outlier, q)| outlier.q = q);
        outliers.retain(|outlier| outlier.q <= Q_MAX);
        let key = |outlier: &Outlier| (outlier.from, outlier.to, outlier.kind, outlier.field, outlier.slot);
        let weight = |outlier: &Outlier| if outlier.field.is_none_or(&is_telling) { outlier.z } else { outlier.z / 2.0 };
        outliers.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then_with(|| key(a).cmp(&key(b))));
        outliers
    }
}

/// All kinds, and those that depend on what is asked for and not on who asks.
const KINDS: [UnusualKind; 6] =
    [UnusualKind::Errors, UnusualKind::Refused, UnusualKind::Slower, UnusualKind::Larger, UnusualKind::More, UnusualKind::Fewer];
const OF_ANSWERS: [UnusualKind; 2] = [UnusualKind::Slower, UnusualKind::Larger];

/// The series of a kind, of all rows or of a value among `all` of each window; `None` where there
/// are too few to say anything.
fn series_of(kind: UnusualKind, windows: &[OutcomeCount], all: Option<&[f64]>) -> Option<Series> {
    let hits = of(windows, |window| window.hits);
    let share = |part: Vec<f64>, least: f64| part.iter().any(|part| *part >= least).then(|| Series::of_share(&part, &hits));
    let fewer = kind == UnusualKind::Fewer;
    let series = match (kind, all) {
        (UnusualKind::Errors, _) => share(of(windows, |window| window.errors), ERRORS_MIN)?,
        (UnusualKind::Refused, _) => share(of(windows, |window| window.refused), HITS_MIN)?,
        (UnusualKind::Slower, _) => Series::of_mean(windows, |window| (window.timed, window.time_steps)),
        (UnusualKind::Larger, _) => Series::of_mean(windows, |window| (window.sized, window.size_steps)),
        (_, None) => Series::of_rate(&hits, fewer),
        (_, Some(_)) if hits.iter().all(|hits| *hits < HITS_MIN) => return None,
        (_, Some(all)) if fewer => Series::of_share(&hits, all).fewer(),
        (_, Some(all)) => Series::of_share(&hits, all),
    };
    (!series.z.is_empty()).then_some(series)
}

/// Rows of a value, or errors, that are told.
const HITS_MIN: f64 = 30.0;
const ERRORS_MIN: f64 = 10.0;

fn of(windows: &[OutcomeCount], number: impl Fn(&OutcomeCount) -> u32) -> Vec<f64> {
    windows.iter().map(|window| f64::from(number(window))).collect()
}

/// True if a deviation is so large that somebody wants to know of it, if it is no accident.
fn is_large(kind: UnusualKind, is_value: bool, series: &Series, at: usize, rows: f64) -> bool {
    let (seen, expected) = (series.seen[at], series.expected[at]);
    let (excess, effect) = (seen - expected, series.effects[at]);
    match (kind, is_value) {
        (UnusualKind::More, true) => {
            let others = series.seen.iter().sum::<f64>() - seen;
            let is_known = others >= HITS_MIN && others >= KNOWN_PART * seen;
            let is_sure = !is_known || series.z[at] >= KNOWN_Z_MIN;
            excess >= HITS_MIN && excess >= 0.01 * rows && seen >= 3.0 * expected && is_sure
        }
        (UnusualKind::More, false) => excess >= 100.0 && seen >= 3.0 * expected,
        (UnusualKind::Fewer, true) => expected >= 50.0 && expected >= 0.02 * rows && seen <= 0.2 * expected,
        (UnusualKind::Fewer, false) => expected >= 30.0 && seen <= 0.4 * expected,
        (UnusualKind::Errors, _) => {
            excess >= ERRORS_MIN
                && seen >= 5.0 * expected
                && (effect >= 0.2 && excess >= 2.0 * ERRORS_MIN || effect >= 0.02 && series.z[at] >= 20.0)
        }
        (UnusualKind::Refused, _) => excess >= HITS_MIN && seen >= 3.0 * expected && effect >= 0.1,
        (UnusualKind::Slower | UnusualKind::Larger, _) => excess >= 1.0,
    }
}

/// Windows on an axis.
struct WindowAxis {
    axis: Axis,
    width: usize,
}

impl WindowAxis {
    fn times(&self, window: usize) -> (i64, i64) {
        (self.axis.start(window * self.width), self.axis.start((window + 1) * self.width))
    }

    /// True if much the same happened at the same time of a neighbouring day or week.
    fn is_habit(&self, series: &Series, window: usize) -> bool {
        let seconds = self.axis.width_seconds * self.width.cast_signed() as i64;
        let is_alike = |at: i64| {
            let at = usize::try_from(at).ok().filter(|at| *at < series.z.len());
            at.is_some_and(|at| series.z[at] >= HABIT_Z_MIN && series.effects[at] >= HABIT * series.effects[window])
        };
        let happened = |days: i64| {
            let distance = (days * DAY_SECONDS + seconds / 2).div_euclid(seconds);
            let at = window.cast_signed() as i64 + distance;
            distance.abs() > 2 && (at - 1..=at + 1).any(is_alike)
        };
        [-7, -1, 1, 7].into_iter().any(happened)
    }
}

/// Outliers of about the same time.
struct OutlierCluster {
    from: i64,
    to: i64,
    /// The first one names it.
    outliers: Vec<Outlier>,
}

impl OutlierCluster {
    /// True if an outlier is of its time, or as near as it is long.
    fn touches(&self, outlier: &Outlier) -> bool {
        let width = outlier.to - outlier.from;
        outlier.from - width <= self.to && self.from <= outlier.to + width
    }

    fn take(&mut self, outlier: Outlier) {
        // A weak one does not make it longer, nor does another value.
        if outlier.z >= self.outliers[0].z / 3.0 && outlier.is_of(&self.outliers[0]) {
            (self.from, self.to) = (self.from.min(outlier.from), self.to.max(outlier.to));
        }
        self.outliers.push(outlier);
    }
}

impl Outlier {
    fn is_of(&self, other: &Self) -> bool {
        (self.kind, self.field, self.slot) == (other.kind, other.field, other.slot)
    }
}

/// Outliers of the same time, those that name it best first: they come with the most unusual one
/// first.
fn clustered(outliers: Vec<Outlier>) -> Vec<OutlierCluster> {
    let mut clusters: Vec<OutlierCluster> = Vec::new();
    for outlier in outliers {
        match clusters.iter_mut().find(|cluster| cluster.touches(&outlier)) {
            Some(cluster) => cluster.take(outlier),
            None => clusters.push(OutlierCluster { from: outlier.from, to: outlier.to, outliers: vec![outlier] }),
        }
    }
    let mut joined: Vec<OutlierCluster> = Vec::new();
    for cluster in clusters {
        let is_same = |other: &&mut OutlierCluster| {
            other.outliers[0].is_of(&cluster.outliers[0])
                && other.touches(&Outlier { from: cluster.from, to: cluster.to, ..cluster.outliers[0] })
        };
        match joined.iter_mut().find(is_same) {
            Some(other) => {
                (other.from, other.to) = (other.from.min(cluster.from), other.to.max(cluster.to));
                other.outliers.extend(cluster.outliers);
            }
            None => joined.push(cluster),
        }
    }
    joined.truncate(SPANS_MAX);
    joined
}

/// The span of an outlier to the fine bucket, with its numbers; `None` where it is no span of the
/// log but a part of it.
fn refined(counts: &OutcomeCounts, slot: usize, outlier: &Outlier) -> Option<UnusualSpan> {
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
    fn describe(&mut self, store: &RowStore, value: Option<Filter>, watched: Option<&WatchedField>, status: Option<u32>) {
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
fn error_status(fields: &[WatchedField], outlier: &Outlier) -> Option<u32> {
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

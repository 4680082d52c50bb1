//! Windows of time in which a value, or all rows, stand out.

use super::span::UnusualKind;
use crate::evidence::{p_value, q_values};
use crate::outcome_counts::{ALL, OutcomeCount, OutcomeCounts, WatchedField};
use crate::outliers::{ScoredSeries, usual_peak};
use crate::time_axis::Axis;

/// Windows of a series at least; fewer say nothing.
pub(super) const BUCKETS_MIN: usize = 24;

/// Standard deviations below which nothing is unusual.
const Z_MIN: f64 = 6.0;

/// Largest share of false ones among all that are listed.
const Q_MAX: f64 = 1e-4;

/// Peaks of a field that may be incidents: the next highest is taken for usual, and an unusual one
/// is so many times as high.
const USUAL_TIMES: usize = 4;
const GAP_MIN: f64 = 1.5;

/// The same of the peaks of a single value; of more rows of it the factor is larger, as crawlers
/// come again for longer.
const OWN_TIMES: usize = 2;
const OWN_GAP_MIN: f64 = 2.0;
const OWN_MORE_GAP_MIN: f64 = 8.0;

/// A value is known that has this part of a window's rows elsewhere. More rows of it need more
/// standard deviations.
const KNOWN_PART: f64 = 0.1;
const KNOWN_Z_MIN: f64 = 20.0;

/// Part of all rows from which on a value says nothing of its own: what happens to it happens to
/// all.
const MOST_PART: f64 = 0.9;

/// Part of an effect that makes it a habit where it is seen a day or a week before or after, with
/// so many standard deviations at least.
const HABIT: f64 = 0.3;
const HABIT_Z_MIN: f64 = 2.0;
const DAY_SECONDS: i64 = 86_400;

/// Standard deviations from which on a habit of all rows explains what is within its time: a value
/// that comes with a nightly job, and a narrow window, may have too few rows on the day before to
/// show that it comes every night.
const HABIT_OF_ALL_Z_MIN: f64 = 3.0;

/// Size of what a habit explains at most, as a multiple of that on the other day.
const HABIT_TIMES_MAX: f64 = 2.5;

/// A window of time in which a slot stands out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outlier {
    pub(super) kind: UnusualKind,
    /// The field's number; `None` of all rows.
    pub(super) field: Option<usize>,
    pub(super) slot: usize,
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) z: f64,
    pub(super) q: f64,
    /// Its size, as a series has it.
    pub(super) effect: f64,
}

/// Outliers so far.
#[derive(Default)]
pub(super) struct OutlierSearch {
    found: Vec<Outlier>,
    habits: Vec<DailyHabit>,
    pub(super) tried: usize,
}

/// Deviation of all rows that they had at the same time of a neighbouring day or week, too.
struct DailyHabit {
    kind: UnusualKind,
    from: i64,
    to: i64,
    /// Its size on the other day.
    effect: f64,
}

/// Series of one kind, each with its slot.
struct OutlierSeries {
    kind: UnusualKind,
    field: Option<usize>,
    series: Vec<(usize, ScoredSeries)>,
}

impl OutlierSearch {
    pub(super) fn all_rows(&mut self, counts: &OutcomeCounts, width: usize) {
        let windows = counts.windows(ALL, width);
        if windows.len() < BUCKETS_MIN {
            return;
        }
        let hits = of(&windows, |window| window.hits);
        let span = WindowAxis { axis: counts.axis, width };
        for kind in KINDS {
            if let Some(series) = series_of(kind, &windows, None) {
                self.note_habits(kind, &series, &span);
                self.take(OutlierSeries { kind, field: None, series: vec![(ALL, series)] }, &span, &hits);
            }
        }
    }

    pub(super) fn values(&mut self, counts: &OutcomeCounts, (number, field): (usize, &WatchedField), width: usize) {
        let of_all = counts.windows(ALL, width);
        let all = of(&of_all, |window| window.hits);
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
                is_special.then(|| Some((slot, series_of(kind, &windows, Some(&of_all))?))).flatten()
            };
            let series = field.slots.clone().filter_map(series).collect();
            self.take(OutlierSeries { kind, field: Some(number), series }, &span, &all);
        }
    }

    /// Notes the times at which all rows do as on other days. The number of rows has its neighbours
    /// to be held against.
    fn note_habits(&mut self, kind: UnusualKind, series: &ScoredSeries, span: &WindowAxis) {
        if matches!(kind, UnusualKind::More | UnusualKind::Fewer) {
            return;
        }
        for at in (0..series.z.len()).filter(|at| series.z[*at] >= HABIT_OF_ALL_Z_MIN) {
            if let Some(effect) = span.habit(series, at) {
                let (from, to) = span.times(at);
                self.habits.push(DailyHabit { kind, from, to, effect });
            }
        }
    }

    /// True if an outlier is within a habit of all rows, and not much more than it.
    fn is_explained(&self, outlier: &Outlier) -> bool {
        let middle = outlier.from.midpoint(outlier.to);
        let explains = |habit: &DailyHabit| {
            let is_of_it = habit.kind == outlier.kind && (habit.from..habit.to).contains(&middle);
            is_of_it && outlier.effect <= HABIT_TIMES_MAX * habit.effect
        };
        self.habits.iter().any(explains)
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
                if stands_out && span.habit(series, at).is_none() {
                    let (from, to) = span.times(at);
                    self.found.push(Outlier { kind, field, slot: *slot, from, to, z: *z, q: 1.0, effect: series.effects[at] });
                }
            }
        }
    }

    /// Outliers that are no accident, most unusual first.
    pub(super) fn outliers(&self, is_telling: impl Fn(usize) -> bool) -> Vec<Outlier> {
        let p: Vec<f64> = self.found.iter().map(|outlier| p_value(outlier.z * outlier.z)).collect();
        let mut outliers = self.found.clone();
        outliers.iter_mut().zip(q_values(&p, self.tried)).for_each(|(outlier, q)| outlier.q = q);
        outliers.retain(|outlier| outlier.q <= Q_MAX && !self.is_explained(outlier));
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
fn series_of(kind: UnusualKind, windows: &[OutcomeCount], all: Option<&[OutcomeCount]>) -> Option<ScoredSeries> {
    let hits = of(windows, |window| window.hits);
    let share = |part: Vec<f64>, least: f64| part.iter().any(|part| *part >= least).then(|| ScoredSeries::of_share(&part, &hits));
    let fewer = kind == UnusualKind::Fewer;
    let series = match (kind, all) {
        (UnusualKind::Errors, _) => share(of(windows, |window| window.errors), ERRORS_MIN)?,
        (UnusualKind::Refused, _) => share(of(windows, |window| window.refused), HITS_MIN)?,
        (UnusualKind::Slower, _) => ScoredSeries::of_mean(windows, all, |window| (window.timed, window.time_steps)),
        (UnusualKind::Larger, _) => ScoredSeries::of_mean(windows, all, |window| (window.sized, window.size_steps)),
        (_, None) => ScoredSeries::of_rate(&hits, fewer),
        (_, Some(_)) if hits.iter().all(|hits| *hits < HITS_MIN) => return None,
        (_, Some(all)) if fewer => ScoredSeries::of_share(&hits, &of(all, |window| window.hits)).fewer(),
        (_, Some(all)) => ScoredSeries::of_share(&hits, &of(all, |window| window.hits)),
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
fn is_large(kind: UnusualKind, is_value: bool, series: &ScoredSeries, at: usize, rows: f64) -> bool {
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

    /// The effect at the same time of a neighbouring day or week, where much the same happened.
    fn habit(&self, series: &ScoredSeries, window: usize) -> Option<f64> {
        let seconds = self.axis.width_seconds * self.width.cast_signed() as i64;
        let alike = |at: i64| {
            let at = usize::try_from(at).ok().filter(|at| *at < series.z.len())?;
            let is_alike = series.z[at] >= HABIT_Z_MIN && series.effects[at] >= HABIT * series.effects[window];
            is_alike.then(|| series.effects[at])
        };
        let happened = |days: i64| {
            let distance = (days * DAY_SECONDS + seconds / 2).div_euclid(seconds);
            let at = window.cast_signed() as i64 + distance;
            (at - 1..=at + 1).filter(|_| distance.abs() > 2).filter_map(alike).reduce(f64::max)
        };
        [-7, -1, 1, 7].into_iter().filter_map(happened).reduce(f64::max)
    }
}

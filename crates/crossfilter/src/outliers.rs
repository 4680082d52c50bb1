//! Windows of time that stand out of a series, by what is usual in it and in others of its kind.

use crate::outcome_counts::{OutcomeCount, STEPS};
use std::ops::Range;

/// Share of the windows, those with the highest shares, that a usual share is not taken from.
const TRIMMED: f64 = 0.05;

/// Windows on each side that a usual number of rows is taken from, and the least of them.
const NEIGHBOURS: usize = 12;
const NEIGHBOURS_MIN: usize = 4;

/// Rows of a window that have a mean.
const MEAN_ROWS_MIN: u32 = 16;

/// Windows with a mean that a usual one is taken from, at least.
const MEANS_MIN: usize = 24;

/// Quantiles of what is usual, each with that of a normal deviate: the scale of a series is the
/// largest that one of them says.
const QUANTILES: [(f64, f64); 2] = [(0.90, 1.645), (0.95, 1.96)];

/// Peaks of a series that its scale is not taken from, and the part of its windows that they may
/// have.
const RARE_PEAKS: usize = 2;
const RARE_PART_MAX: f64 = 0.2;

/// Standard deviation of single logarithms (to base 2) at least.
const LOG_DEVIATION_MIN: f64 = 0.2;

/// A series: for each window what was seen, what was expected, and how unusual that is.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScoredSeries {
    /// Standard deviations, positive where there is more than usual.
    pub(crate) z: Vec<f64>,
    pub(crate) seen: Vec<f64>,
    pub(crate) expected: Vec<f64>,
    /// Its size, whatever the number of rows: a share of them, or a logarithm.
    pub(crate) effects: Vec<f64>,
}

impl ScoredSeries {
    /// A share: of `rows` in each window `hits` are expected to be as many as usual.
    pub(crate) fn of_share(hits: &[f64], rows: &[f64]) -> Self {
        let share = usual_share(hits, rows);
        let z = hits.iter().zip(rows).map(|(hits, rows)| signed_root(*hits, *rows, share)).collect();
        let expected = rows.iter().map(|rows| rows * share).collect();
        let effects = hits.iter().zip(rows).map(|(hits, rows)| hits / rows.max(1.0) - share).collect();
        Self { z: scaled(z), seen: hits.to_vec(), expected, effects }
    }

    /// A mean of logarithms (to base 2). The mean of a value is taken less the change of all other
    /// rows: all requests are slower under load.
    pub(crate) fn of_mean(
        windows: &[OutcomeCount],
        all: Option<&[OutcomeCount]>,
        of: impl Fn(&OutcomeCount) -> (u32, u64),
    ) -> Self {
        let shifts = all.map_or_else(Vec::new, |all| shifts_of_others(windows, all, &of));
        let mean = |(at, window): (usize, &OutcomeCount)| {
            let (rows, steps) = of(window);
            let shift = shifts.get(at).copied().unwrap_or(0.0);
            (rows >= MEAN_ROWS_MIN).then(|| (steps as f64 / f64::from(rows) / STEPS - shift, f64::from(rows)))
        };
        let means: Vec<Option<(f64, f64)>> = windows.iter().enumerate().map(mean).collect();
        let known: Vec<(f64, f64)> = means.iter().flatten().copied().collect();
        let usual = weighted_median(known.clone());
        if known.len() < MEANS_MIN {
            return Self::default();
        }
        let squares = known.iter().map(|(mean, rows)| rows * (mean - usual).powi(2)).collect();
        // The median of chi squared with one degree of freedom.
        let deviation = (quantile(squares, 0.5) / 0.455).sqrt().max(LOG_DEVIATION_MIN);
        let z = |mean: &Option<(f64, f64)>| mean.map_or(0.0, |(mean, rows)| (mean - usual) * rows.sqrt() / deviation);
        let z = scaled(means.iter().map(z).collect());
        let seen: Vec<f64> = means.iter().map(|mean| mean.map_or(usual, |(mean, _)| mean)).collect();
        let effects = seen.iter().map(|mean| mean - usual).collect();
        Self { z, seen, expected: vec![usual; windows.len()], effects }
    }

    /// A number of rows: as many as in the windows before and after it, or `fewer`, or more.
    pub(crate) fn of_rate(hits: &[f64], fewer: bool) -> Self {
        let expected: Vec<Option<f64>> = (0..hits.len()).map(|at| around(hits, at, fewer)).collect();
        let log =
            |(hits, expected): (&f64, &Option<f64>)| expected.map_or(0.0, |expected| ((hits + 1.0) / (expected + 1.0)).ln());
        let logs: Vec<f64> = hits.iter().zip(&expected).map(log).collect();
        let chance = |expected: &Option<f64>| expected.map_or(1.0, |expected| 1.0 / (expected + 1.0));
        let usual_chance = quantile(expected.iter().map(chance).collect(), 0.5);
        let wander = (quantile(logs.iter().map(|log| log.abs()).collect(), 0.9) / 1.645).powi(2);
        let wander = (wander - usual_chance).max(0.0);
        let z = logs.iter().zip(&expected).map(|(log, expected)| log / (chance(expected) + wander).sqrt());
        let (z, effects) = (scaled(z.collect()), logs.clone());
        let expected = expected.iter().zip(hits).map(|(expected, hits)| expected.unwrap_or(*hits)).collect();
        let series = Self { z, seen: hits.to_vec(), expected, effects };
        if fewer { series.fewer() } else { series }
    }

    /// The same, where less than usual counts.
    pub(crate) fn fewer(mut self) -> Self {
        self.z.iter_mut().chain(&mut self.effects).for_each(|number| *number = -*number);
        self
    }
}

/// Differences of the mean of all other rows from what is usual for them; none where there are few.
fn shifts_of_others(windows: &[OutcomeCount], all: &[OutcomeCount], of: impl Fn(&OutcomeCount) -> (u32, u64)) -> Vec<f64> {
    let mean = |(own, all): (&OutcomeCount, &OutcomeCount)| {
        let ((own_rows, own_steps), (rows, steps)) = (of(own), of(all));
        let (rows, steps) = (rows.saturating_sub(own_rows), steps.saturating_sub(own_steps));
        (rows >= MEAN_ROWS_MIN).then(|| (steps as f64 / f64::from(rows) / STEPS, f64::from(rows)))
    };
    let means: Vec<Option<(f64, f64)>> = windows.iter().zip(all).map(mean).collect();
    let usual = weighted_median(means.iter().flatten().copied().collect());
    means.iter().map(|mean| mean.map_or(0.0, |(mean, _)| mean - usual)).collect()
}

/// The usual number of rows on either side of a window, of which the one that it is nearer to;
/// `None` at the ends.
fn around(hits: &[f64], at: usize, fewer: bool) -> Option<f64> {
    // The window beside it may have a part of the same incident.
    let before = &hits[at.saturating_sub(NEIGHBOURS + 1)..at.saturating_sub(1)];
    let after = &hits[(at + 2).min(hits.len())..(at + 2 + NEIGHBOURS).min(hits.len())];
    if before.len() < NEIGHBOURS_MIN || after.len() < NEIGHBOURS_MIN {
        return None;
    }
    let [before, after] = [before, after].map(|side| quantile(side.to_vec(), 0.5));
    Some(if fewer { before.min(after) } else { before.max(after) })
}

/// The share of all windows but those with the highest.
fn usual_share(hits: &[f64], rows: &[f64]) -> f64 {
    let mut windows: Vec<(f64, f64)> = hits.iter().copied().zip(rows.iter().copied()).filter(|(_, rows)| *rows > 0.0).collect();
    windows.sort_by(|a, b| (a.0 * b.1).total_cmp(&(b.0 * a.1)));
    windows.truncate(windows.len() - (windows.len() as f64 * TRIMMED).ceil() as usize);
    let (hits, rows) = windows.iter().fold((0.0, 0.0), |(hits, rows), window| (hits + window.0, rows + window.1));
    ((hits + 0.5) / (rows + 1.0)).min(1.0 - 1e-9)
}

/// The root of the G statistic of so many hits among rows of which a share is expected, with the
/// sign of the difference.
fn signed_root(hits: f64, rows: f64, share: f64) -> f64 {
    let part = |seen: f64, expected: f64| if seen > 0.0 { seen * (seen / expected).ln() } else { 0.0 };
    let g = 2.0 * (part(hits, rows * share) + part(rows - hits, rows * (1.0 - share)));
    g.max(0.0).sqrt() * (hits - rows * share).signum()
}

/// Divides by the scale of what is usual, where that is more than by chance.
fn scaled(mut z: Vec<f64>) -> Vec<f64> {
    let mut sizes: Vec<f64> = z.iter().map(|z| z.abs()).collect();
    // An incident may last for much of a short log. What comes more often remains, and is usual.
    let mut room = (RARE_PART_MAX * sizes.len() as f64) as usize;
    for peak in highest_peaks(&sizes, RARE_PEAKS) {
        let Some(left) = room.checked_sub(peak.len()) else { break };
        room = left;
        sizes[peak].fill(f64::NAN);
    }
    sizes.retain(|size| !size.is_nan());
    sizes.sort_by(f64::total_cmp);
    let of = |(quantile, deviate): (f64, f64)| at_quantile(&sizes, quantile) / deviate;
    let scale = QUANTILES.into_iter().map(of).fold(1.0, f64::max);
    z.iter_mut().for_each(|z| *z /= scale);
    z
}

fn quantile(mut numbers: Vec<f64>, quantile: f64) -> f64 {
    numbers.sort_by(f64::total_cmp);
    at_quantile(&numbers, quantile)
}

fn at_quantile(sorted: &[f64], quantile: f64) -> f64 {
    let at = (sorted.len() as f64 * quantile) as usize;
    sorted.get(at.min(sorted.len().saturating_sub(1))).copied().unwrap_or(0.0)
}

fn weighted_median(mut numbers: Vec<(f64, f64)>) -> f64 {
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = numbers.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let found = numbers.iter().find(|(_, weight)| {
        sum += weight;
        sum >= half
    });
    found.map_or(0.0, |(number, _)| *number)
}

/// The height of the peak in a row of others that only so few are higher than: what comes as often
/// is not unusual. Windows beside each other are one peak.
pub(crate) fn usual_peak(heights: &[f64], rank: usize) -> f64 {
    let peaks = highest_peaks(heights, rank);
    let is_in_one = |at: &usize| peaks.iter().any(|peak| peak.contains(at));
    let others = (0..heights.len()).filter(|at| !is_in_one(at)).map(|at| heights[at]);
    others.fold(0.0, f64::max)
}

/// The highest peaks, at most so many, with their slopes; where slopes meet, the higher one has
/// both.
fn highest_peaks(heights: &[f64], most: usize) -> Vec<Range<usize>> {
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by(|a, b| heights[*b].total_cmp(&heights[*a]));
    let mut peaks: Vec<Range<usize>> = Vec::new();
    for at in order {
        let height = heights[at];
        if peaks.iter().any(|peak| peak.contains(&at)) {
            continue;
        }
        if peaks.len() == most {
            break;
        }
        // The slopes of a peak: down to half of its height, and one window more.
        let is_slope = |other: &usize| heights[*other] >= height / 2.0;
        let from = (0..at).rev().take_while(is_slope).last().unwrap_or(at);
        let to = (at..heights.len()).take_while(is_slope).last().unwrap_or(at);
        peaks.push(from.saturating_sub(1)..(to + 2).min(heights.len()));
    }
    peaks
}

/// The stretch of the largest sum.
pub(crate) fn heaviest(numbers: &[f64]) -> (usize, usize) {
    let (mut best, mut range, mut sum, mut start) = (0.0, (0, 0), 0.0, 0);
    for (at, number) in numbers.iter().enumerate() {
        if sum <= 0.0 {
            (sum, start) = (0.0, at);
        }
        sum += number;
        if sum > best {
            (best, range) = (sum, (start, at + 1));
        }
    }
    range
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_by_hand() {
        // 2 (30 ln(30 / 20) + 70 ln(70 / 80)) = 5.6343.
        assert!((signed_root(30.0, 100.0, 0.2) - 5.6343_f64.sqrt()).abs() < 1e-3);
        assert!((signed_root(10.0, 100.0, 0.2) + signed_root(90.0, 100.0, 0.8)).abs() < 1e-9);
        let rows = vec![100.0; 40];
        let mut hits = vec![10.0; 40];
        hits[7] = 90.0;
        let series = ScoredSeries::of_share(&hits, &rows);
        assert!(series.z[7] > 15.0 && series.z[8].abs() < 0.5, "{:?}", series.z);
        assert!((series.expected[7] - 10.0).abs() < 0.1);
    }

    #[test]
    fn a_rate_that_breaks_down() {
        let mut hits: Vec<f64> = (0..60).map(|at| 300.0 + f64::from(at) + f64::from(at % 3) * 20.0).collect();
        hits[30] = 0.0;
        let series = ScoredSeries::of_rate(&hits, true);
        assert!(series.z[30] > 20.0 && series.z[29] < 3.0, "{:?}", series.z);
        assert!((series.expected[30] - 343.0).abs() < 15.0, "{}", series.expected[30]);
        assert!(series.z[0] == 0.0 && series.z[59] == 0.0, "nothing is said of the ends");
    }

    #[test]
    fn peaks_that_come_again() {
        let mut heights = vec![1.0; 30];
        for (at, height) in [(3, 9.0), (4, 8.0), (10, 7.0), (20, 6.0)] {
            heights[at] = height;
        }
        assert_eq!([0, 1, 2, 3].map(|rank| usual_peak(&heights, rank)), [9.0, 7.0, 6.0, 1.0]);
        assert!(usual_peak(&heights[..8], 7).abs() < f64::EPSILON);
    }

    #[test]
    fn the_stretch_of_most() {
        assert_eq!(heaviest(&[-1.0, 2.0, -1.0, 3.0, -5.0, 3.5]), (1, 4));
        assert_eq!(heaviest(&[-1.0]), (0, 0));
    }
}

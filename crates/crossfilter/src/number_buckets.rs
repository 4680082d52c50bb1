//! The distribution of a column as bars: buckets whose edges are those of finer ones, so that the
//! numbers between any two edges are counted exactly.

use crate::number_spread::NumberSpread;
use rorqual_accesslog::schema::{NumberUnit, float_of, float_step, integer_step};
use serde::Serialize;

/// Bars at most, about.
const BARS: f64 = 40.0;

/// Quotients of the largest number by the smallest above 0, and by the median, from which on the
/// axis is logarithmic; of evenly spread numbers it is not.
const LOGARITHMIC_MIN: (f64, f64) = (50.0, 8.0);

/// Edges in a power of ten, for the number of powers up to which they are as close as that.
const DECADES: [(f64, &[f64]); 3] = [(6.0, &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0]), (13.0, &[1.0, 2.0, 5.0]), (f64::INFINITY, &[1.0])];

/// Powers of ten on a logarithmic axis at most: those of smaller numbers are one bucket.
const POWERS_MAX: i32 = 40;

/// Numbers of a view by size. A whole number beyond 2^53 may be in the bucket beside its own.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct NumberBuckets {
    /// Growth of the edges.
    pub scale: BucketScale,
    /// In ascending order: a bucket has the numbers from its edge on and below the next one. The
    /// last edge is above all numbers.
    pub edges: Vec<f64>,
    /// Of each bucket.
    pub hits: Vec<u64>,
}

/// Growth of edges.
#[derive(Debug, Clone, Copy, Serialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum BucketScale {
    /// By a difference.
    Linear,
    /// By a factor.
    Log,
}

/// A least number, and the rows that have at least this.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threshold {
    /// Step of the column.
    pub(crate) least: u64,
    /// Its number.
    pub(crate) value: f64,
    pub(crate) hits: u64,
}

impl NumberSpread {
    /// The distribution; `None` of moments, of infinities, and where all numbers are the same.
    pub(crate) fn bars(&self, unit: NumberUnit) -> Option<NumberBuckets> {
        let (least, most) = self.extent()?;
        let (min, max) = (unit.value(least), unit.value(most));
        if unit == NumberUnit::Moment || !min.is_finite() || !max.is_finite() || least == most {
            return None;
        }
        let lowest = |bucket: &(f64, u64)| bucket.0;
        let buckets = self.sorted();
        let least_above_0 = buckets.iter().map(lowest).find(|lowest| *lowest > 0.0).unwrap_or(max);
        let (by_least, by_median) = LOGARITHMIC_MIN;
        let is_log = min >= 0.0 && max / least_above_0 >= by_least && max / median(&buckets) >= by_median;
        let wanted = if is_log { log_edges(min, least_above_0, max) } else { linear_edges(min, max, unit) };
        let mut edges: Vec<f64> = wanted.into_iter().map(|edge| whole(self.floor(edge), unit)).collect();
        // The numbers below the first edge of a rounder number, and what is above them all.
        edges[0] = whole(self.floor(min), unit).min(min);
        let above = (self.above(max), whole(self.above(max), unit));
        edges.retain(|edge| *edge <= max);
        edges.push(if above.1 > max { above.1 } else { above.0 });
        edges.dedup();
        let mut hits = vec![0; edges.len() - 1];
        for (lowest, count) in buckets {
            // The smallest number of a bucket may be below the smallest of all.
            let above = edges.partition_point(|edge| *edge <= whole(lowest.max(min), unit));
            hits[above.saturating_sub(1).min(edges.len() - 2)] += count;
        }
        let scale = if is_log { BucketScale::Log } else { BucketScale::Linear };
        Some(NumberBuckets { scale, edges, hits })
    }

    /// Each number with which a bucket begins, with the numbers from it on; in ascending order.
    pub(crate) fn thresholds(&self, unit: NumberUnit) -> Vec<Threshold> {
        let buckets = self.sorted();
        let mut hits: u64 = buckets.iter().map(|(_, hits)| hits).sum();
        let mut thresholds = Vec::new();
        for (lowest, count) in buckets {
            let value = whole(lowest, unit);
            if value.is_finite() {
                thresholds.push(Threshold { least: step(value, unit), value, hits });
            }
            hits -= count;
        }
        thresholds
    }

    /// The numbers from the one with that value on, which begins a bucket of a spread as fine as
    /// this one.
    pub(crate) fn hits_from(&self, value: f64, unit: NumberUnit) -> u64 {
        self.buckets().filter(|(bucket, _)| whole(self.lowest(*bucket), unit) >= value).map(|(_, hits)| hits).sum()
    }

    /// Of the numbers with which buckets begin, those that have about as many in a hundred below.
    pub(crate) fn nearest_thresholds(&self, unit: NumberUnit, percents: &[u64]) -> Vec<Threshold> {
        let thresholds = self.thresholds(unit);
        let all = thresholds.first().map_or(0, |threshold| threshold.hits);
        let nearest = |percent: &u64| {
            let wanted = (u128::from(all) * u128::from(100 - percent) / 100) as u64;
            thresholds.iter().skip(1).min_by_key(|threshold| threshold.hits.abs_diff(wanted)).copied()
        };
        let mut nearest: Vec<Threshold> = percents.iter().filter_map(nearest).collect();
        nearest.dedup_by_key(|threshold| threshold.least);
        nearest
    }
}

/// Begin of the bucket that has the number in the middle.
fn median(buckets: &[(f64, u64)]) -> f64 {
    let half = buckets.iter().map(|(_, hits)| hits).sum::<u64>().div_ceil(2);
    let mut before = 0;
    let found = buckets.iter().find(|(_, hits)| {
        before += hits;
        before >= half
    });
    found.map_or(0.0, |(lowest, _)| *lowest)
}

/// The step of the least number that is not below.
fn step(value: f64, unit: NumberUnit) -> u64 {
    match unit {
        NumberUnit::Float => float_step(value),
        NumberUnit::Integer | NumberUnit::Moment => integer_step(value.ceil() as i64),
        NumberUnit::Seconds => (value * 1e6).ceil() as u64,
        _ => value.ceil() as u64,
    }
}

/// The least number of the unit that is not below: of whole numbers the next one.
fn whole(edge: f64, unit: NumberUnit) -> f64 {
    let is_whole = !matches!(unit, NumberUnit::Float | NumberUnit::Seconds);
    if is_whole { edge.ceil() + 0.0 } else { edge }
}

/// Multiples of a round number.
fn linear_edges(min: f64, max: f64, unit: NumberUnit) -> Vec<f64> {
    let width = (max - min) / BARS;
    // The difference of the two largest numbers of all is none.
    if !width.is_finite() {
        return vec![min, 0.0];
    }
    let power = 10f64.powi(width.log10().floor() as i32);
    let round = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|round| *round >= width);
    let mut width = round.unwrap_or(width);
    if !matches!(unit, NumberUnit::Float | NumberUnit::Seconds) {
        width = width.max(1.0);
    }
    let first = (min / width).floor();
    (0..=BARS as u32 + 1).map(|number| (first + f64::from(number)) * width).collect()
}

/// Round numbers in each power of ten; 0 has a bucket of its own.
fn log_edges(min: f64, least_above_0: f64, max: f64) -> Vec<f64> {
    let last = max.log10().floor() as i32;
    let first = (least_above_0.log10().floor() as i32).max(last - POWERS_MAX);
    let (_, factors) =
        DECADES.into_iter().find(|(most, _)| f64::from(last - first + 1) <= *most).unwrap_or(DECADES[DECADES.len() - 1]);
    let mut edges: Vec<f64> = if min == 0.0 { vec![0.0] } else { Vec::new() };
    edges.extend((first..=last).flat_map(|power| factors.iter().map(move |factor| factor * 10f64.powi(power))));
    // Up to the one before the smallest number above 0, none is of use.
    let skipped = edges.iter().filter(|edge| **edge > 0.0 && **edge <= least_above_0).count().saturating_sub(1);
    let kept = usize::from(min == 0.0);
    edges.drain(kept..kept + skipped);
    edges
}

impl NumberSpread {
    /// The largest number with which a bucket of this spread begins that is not above.
    fn floor(&self, number: f64) -> f64 {
        let shift = self.shift();
        float_of(((float_step(number) >> shift) << shift).max(float_step(f64::MIN)))
    }

    /// The number with which the bucket after that of a number begins.
    fn above(&self, number: f64) -> f64 {
        let shift = self.shift();
        float_of((((float_step(number) >> shift) + 1) << shift).min(float_step(f64::MAX)))
    }

    /// The smallest number of each bucket, and how many it has; in ascending order.
    fn sorted(&self) -> Vec<(f64, u64)> {
        let mut buckets: Vec<(u32, u64)> = self.buckets().collect();
        buckets.sort_unstable();
        buckets.into_iter().map(|(bucket, hits)| (self.lowest(bucket), hits)).collect()
    }

    /// The smallest number of a bucket.
    fn lowest(&self, bucket: u32) -> f64 {
        float_of((u64::from(bucket) << self.shift()).max(float_step(f64::NEG_INFINITY)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(numbers: &[f64]) -> NumberSpread {
        let mut spread = NumberSpread::default();
        numbers.iter().for_each(|number| spread.add(*number));
        spread
    }

    /// Each bucket has the numbers between its edges, counted one by one.
    fn check(numbers: &[f64], unit: NumberUnit, scale: BucketScale) -> NumberBuckets {
        let bars = spread(numbers).bars_of(numbers, unit).expect("bars");
        assert_eq!(bars.scale, scale, "{bars:?}");
        assert!(bars.edges.is_sorted_by(|a, b| a < b), "{bars:?}");
        assert!(bars.hits.len() <= 50, "{bars:?}");
        for (hits, edges) in bars.hits.iter().zip(bars.edges.windows(2)) {
            // There is no number beyond the largest, which is in the last bucket.
            let is_last = |number: f64| number == f64::MAX && edges[1] == f64::MAX;
            let expected = numbers.iter().filter(|number| (edges[0]..edges[1]).contains(*number) || is_last(**number)).count();
            assert_eq!(*hits, expected as u64, "{edges:?} of {bars:?}");
        }
        assert_eq!(bars.hits.iter().sum::<u64>(), numbers.len() as u64);
        bars
    }

    impl NumberSpread {
        fn bars_of(mut self, numbers: &[f64], unit: NumberUnit) -> Option<NumberBuckets> {
            let step = |number: f64| if unit == NumberUnit::Natural { number as u64 } else { float_step(number) };
            numbers.iter().for_each(|number| self.widen(step(*number), step(*number)));
            self.bars(unit)
        }
    }

    #[test]
    fn every_number_is_between_the_edges_of_its_bucket() {
        let thousandths: Vec<f64> = (0..1_000).map(|n| f64::from(n) / 8.0).collect();
        check(&thousandths, NumberUnit::Float, BucketScale::Linear);
        let skewed: Vec<f64> = (0..1_000).map(|n| f64::from(n * n) / 8.0).collect();
        check(&skewed, NumberUnit::Float, BucketScale::Linear);
        let long: Vec<f64> = (0..1_000).map(|n| f64::from(n).powi(6)).collect();
        check(&long, NumberUnit::Float, BucketScale::Log);
        let around: Vec<f64> = (-400..=600).map(|n| f64::from(n) * 0.37).collect();
        check(&around, NumberUnit::Float, BucketScale::Linear);
        let near: Vec<f64> = (0..500).map(|n| 100.0 + f64::from(n) * 0.171).collect();
        check(&near, NumberUnit::Float, BucketScale::Linear);
        let powers: Vec<f64> = (0..60).map(|n| 1.7f64.powi(n).floor()).collect();
        check(&powers, NumberUnit::Natural, BucketScale::Log);
        let few: Vec<f64> = (3..40).map(f64::from).collect();
        let bars = check(&few, NumberUnit::Natural, BucketScale::Linear);
        assert!(bars.hits.iter().all(|hits| *hits == 1), "{bars:?}");
        let wide: Vec<f64> = (-300..300).map(|power| 10f64.powi(power)).collect();
        check(&wide, NumberUnit::Float, BucketScale::Log);
        check(&[f64::MIN, -1.0, 5.0, f64::MAX], NumberUnit::Float, BucketScale::Linear);
    }

    #[test]
    fn one_number_and_infinities_have_no_bars() {
        let float = |number: f64| spread(&[number]).bars_of(&[number], NumberUnit::Float);
        assert_eq!(float(7.0), None);
        assert_eq!(spread(&[1.0]).bars_of(&[1.0, f64::INFINITY], NumberUnit::Float), None);
    }

    #[test]
    fn thresholds_have_the_numbers_from_them_on() {
        let numbers: Vec<f64> = (0..500).map(|n| f64::from(n % 90)).collect();
        let spread = spread(&numbers);
        for threshold in spread.thresholds(NumberUnit::Natural) {
            let expected = numbers.iter().filter(|number| **number >= threshold.value).count() as u64;
            assert_eq!((threshold.hits, threshold.least), (expected, threshold.value as u64));
            assert_eq!(spread.hits_from(threshold.value, NumberUnit::Natural), expected);
        }
    }
}

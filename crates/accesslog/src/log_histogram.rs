//! The distribution of a number: counts in buckets less than 1 % wide, which can be added up.

use serde::{Deserialize, Serialize};

/// Bits of a number that its bucket keeps: 1 in 128 is the width of a bucket.
const KEPT_BITS: u32 = 7;

/// Numbers below this one have a bucket each.
const EXACT: u64 = 2 << KEPT_BITS;

const BUCKETS: usize = EXACT as usize + ((63 - KEPT_BITS) as usize) * (1 << KEPT_BITS);

/// Distribution of numbers up to 2^64 - 2; 58 KiB from the first number on.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct LogHistogram {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

impl LogHistogram {
    /// Counts a number.
    #[inline]
    pub fn add(&mut self, number: u64) {
        if self.counts.is_empty() {
            self.begin();
        }
        self.counts[bucket(number)] += 1;
        self.count += 1;
        self.sum += u128::from(number);
        self.max = self.max.max(number);
    }

    /// Counts many numbers, whose sums stay in registers meanwhile.
    pub fn adding(&mut self) -> HistogramBuffer<'_> {
        self.begin();
        HistogramBuffer { spread: self, count: 0, low: 0, high: 0, max: 0 }
    }

    #[cold]
    fn begin(&mut self) {
        self.counts.resize(BUCKETS, 0);
    }

    /// Adds the counts of another.
    pub fn take(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.begin();
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, other)| *own += other);
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// True if a distribution of at most so many numbers may be so, which was read from a file.
    #[must_use]
    pub fn is_sound(&self, numbers: u64) -> bool {
        let counted = self.counts.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
        let sums = u128::from(self.max) * u128::from(self.count);
        [0, BUCKETS].contains(&self.counts.len())
            && counted == Some(self.count)
            && self.count <= numbers
            && self.max < u64::MAX
            && self.sum <= sums
    }

    /// Forgets all numbers.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.count, self.sum, self.max) = (0, 0, 0);
    }

    /// The percentiles, each number divided by `divisor` (1e6 for seconds of microseconds); `None`
    /// where there is no number.
    #[must_use]
    pub fn percentiles(&self, divisor: f64) -> Option<Percentiles> {
        (self.count > 0).then(|| Percentiles {
            count: self.count,
            mean: self.sum as f64 / self.count as f64 / divisor,
            p50: self.quantile(0.50) as f64 / divisor,
            p90: self.quantile(0.90) as f64 / divisor,
            p95: self.quantile(0.95) as f64 / divisor,
            p99: self.quantile(0.99) as f64 / divisor,
            max: self.max as f64 / divisor,
        })
    }

    /// Numbers with which those buckets begin that have the numbers at so many in a hundred, in
    /// ascending order; without the first bucket, from whose begin on all numbers are.
    #[must_use]
    pub fn bucket_starts(&self, percents: &[u64]) -> Vec<u64> {
        let first = self.counts.iter().position(|count| *count > 0).unwrap_or_default();
        let buckets = percents.iter().map(|percent| bucket(self.quantile(*percent as f64 / 100.0)));
        let mut starts: Vec<u64> = buckets.filter(|bucket| *bucket > first).map(|bucket| largest(bucket - 1) + 1).collect();
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    /// Numbers from the one on with which a bucket begins.
    #[must_use]
    pub fn hits_from(&self, bucket_start: u64) -> u64 {
        self.counts.iter().skip(bucket(bucket_start)).sum()
    }

    /// The number that a share of `quantile` is not above, at most 1 % too high.
    fn quantile(&self, quantile: f64) -> u64 {
        let wanted = ((quantile * self.count as f64).ceil() as u64).clamp(1, self.count.max(1));
        let mut below = 0;
        let found = self.counts.iter().position(|count| {
            below += count;
            below >= wanted
        });
        found.map_or(0, largest).min(self.max)
    }
}

/// Numbers on their way into a distribution, at most 2^32 of them; they are in it when this is
/// dropped.
pub struct HistogramBuffer<'a> {
    spread: &'a mut LogHistogram,
    count: u64,
    /// Sums of the numbers' halves, which can't wrap.
    low: u64,
    high: u64,
    max: u64,
}

impl HistogramBuffer<'_> {
    /// Counts a number.
    #[inline]
    pub fn add(&mut self, number: u64) {
        self.spread.counts[bucket(number)] += 1;
        self.count += 1;
        self.low += number & u64::from(u32::MAX);
        self.high += number >> 32;
        self.max = self.max.max(number);
    }
}

impl Drop for HistogramBuffer<'_> {
    fn drop(&mut self) {
        self.spread.count += self.count;
        self.spread.sum += u128::from(self.low) + (u128::from(self.high) << 32);
        self.spread.max = self.spread.max.max(self.max);
    }
}

#[inline]
fn bucket(number: u64) -> usize {
    if number < EXACT {
        return number as usize;
    }
    let exponent = number.ilog2();
    let mantissa = (number >> (exponent - KEPT_BITS)) as usize & ((1 << KEPT_BITS) - 1);
    EXACT as usize + (((exponent - KEPT_BITS - 1) as usize) << KEPT_BITS) + mantissa
}

/// The largest number of a bucket.
fn largest(bucket: usize) -> u64 {
    let Some(beyond) = bucket.checked_sub(EXACT as usize) else { return bucket as u64 };
    let exponent = (beyond >> KEPT_BITS) as u32 + KEPT_BITS + 1;
    let mantissa = (beyond & ((1 << KEPT_BITS) - 1)) as u64 | 1 << KEPT_BITS;
    let shift = exponent - KEPT_BITS;
    (mantissa << shift) | ((1 << shift) - 1)
}

/// One distribution of numbers up to 2^64 - 2; percentiles are at most 1 % too high, the others
/// exact.
#[derive(Debug, Clone, Copy, Serialize, PartialEq)]
#[allow(missing_docs)]
pub struct Percentiles {
    pub count: u64,
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_those_of_the_log() {
        let mut durations = LogHistogram::default();
        durations.add(400_000);
        assert_eq!(durations.percentiles(1e6).map(|percentiles| percentiles.max), Some(0.4));
    }

    #[test]
    fn percentiles_hold_for_any_number() {
        for scale in [1, 1_000_000_000, 1 << 40, (1 << 63) / 50, u64::MAX / 100] {
            let mut spread = LogHistogram::default();
            (1..=100).for_each(|n| spread.add(n * scale));
            for (quantile, n) in [(0.5, 50), (0.9, 90), (0.99, 99), (1.0, 100)] {
                let (found, exact) = (spread.quantile(quantile), n * scale);
                assert!(found >= exact && (found - exact) as f64 <= exact as f64 * 0.01, "{found} for {exact}");
            }
            assert_eq!((spread.max, spread.count), (100 * scale, 100));
        }
    }

    #[test]
    fn buckets_are_narrow_and_in_order() {
        let mut last = 0;
        for number in
            (0..1000).chain((0..57).flat_map(|shift| [(255 << shift) - 1, 255 << shift, (257 << shift) + 1])).chain([u64::MAX])
        {
            let top = largest(bucket(number));
            assert!(top >= number && (top - number) as f64 <= number as f64 * 0.01, "{number} is in a bucket up to {top}");
            assert!(bucket(number) < BUCKETS);
        }
        for bucket in 0..BUCKETS {
            assert!(bucket == 0 || largest(bucket) > last);
            last = largest(bucket);
        }
        assert_eq!(last, u64::MAX);
    }
}

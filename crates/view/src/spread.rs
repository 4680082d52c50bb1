//! The distribution of a number: counts in buckets less than 1 % wide, which can be added up.

use crate::numbers::Numbers;
use rorqual_table::report::Percentiles;

/// Bits of a number that its bucket keeps: 1 in 128 is the width of a bucket.
const KEPT_BITS: u32 = 7;

/// Numbers below this one have a bucket each.
const EXACT: u64 = 2 << KEPT_BITS;

const BUCKETS: usize = EXACT as usize + ((63 - KEPT_BITS) as usize) * (1 << KEPT_BITS);

/// Counts by size; 58 KiB.
#[derive(Debug, Clone)]
pub(crate) struct Spread {
    counts: Vec<u64>,
    count: u64,
    sum: u128,
    max: u64,
}

impl Spread {
    pub(crate) fn new() -> Self {
        Self { counts: vec![0; BUCKETS], count: 0, sum: 0, max: 0 }
    }

    /// Adds the numbers of `rows`.
    pub(crate) fn add_all(&mut self, numbers: &Numbers, rows: &[u16]) {
        // At most 65,536 numbers: the sum of their halves can't wrap.
        let (mut count, mut sum, mut high, mut max) = (0, 0, 0, 0);
        numbers.each(rows, |_, number| {
            if let Some(number) = number {
                self.counts[bucket(number)] += 1;
                count += 1;
                sum += number & u64::from(u32::MAX);
                high += number >> 32;
                max = max.max(number);
            }
        });
        self.count += count;
        self.sum += u128::from(sum) + (u128::from(high) << 32);
        self.max = self.max.max(max);
    }

    pub(crate) fn take(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, other)| *own += other);
        self.count += other.count;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    /// The percentiles, each number times `scale`; `None` where there is no number.
    pub(crate) fn percentiles(&self, scale: f64) -> Option<Percentiles> {
        (self.count > 0).then(|| Percentiles {
            count: self.count,
            mean: self.sum as f64 / self.count as f64 * scale,
            p50: self.quantile(0.50) as f64 * scale,
            p90: self.quantile(0.90) as f64 * scale,
            p95: self.quantile(0.95) as f64 * scale,
            p99: self.quantile(0.99) as f64 * scale,
            max: self.max as f64 * scale,
        })
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

#[cfg(test)]
mod tests {
    use super::*;

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

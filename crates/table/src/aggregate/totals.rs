//! What is counted over all lines: outcomes, sizes, status codes, percentiles.

use crate::aggregate::tally::Amount;
use hdrhistogram::Histogram;

/// Status codes have three digits.
const STATUSES: usize = 1000;

/// Percentiles' relative error is below 1 %: two significant digits.
const SIGNIFICANT_DIGITS: u8 = 2;

/// Any number that a log can hold: the histogram's buckets grow with the value, so all of them take 60 KiB.
const VALUE_MAX: u64 = u64::MAX;

/// Counts of lines by what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct LineCounts {
    /// All lines: parsed, rejected, outside, blank and filtered.
    pub total: u64,
    /// Lines that are counted in the panels.
    pub parsed: u64,
    /// Of the parsed ones, those with one flaw.
    pub repaired: u64,
    /// Lines that do not fit the format.
    pub rejected: u64,
    /// Sound lines before `since` or after `until`.
    pub outside: u64,
    /// Lines of nothing but white space.
    pub blank: u64,
    /// Lines that the filter does not mean; only where there is one.
    #[serde(skip_serializing_if = "is_zero")]
    pub filtered: u64,
}

// As serde asks for it.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A number's distribution.
#[derive(Debug, Clone)]
pub(crate) struct Spread {
    histogram: Histogram<u64>,
    sum: u128,
    max: u64,
}

/// Sums over lines; those of two workers can be merged.
#[derive(Debug, Clone)]
pub(crate) struct Totals {
    pub(crate) lines: LineCounts,
    pub(crate) bytes_sent: u64,
    /// Earliest and latest time, in Unix microseconds.
    pub(crate) span_us: Option<(i64, i64)>,
    pub(crate) status: Box<[Amount; STATUSES]>,
    pub(crate) bytes: Spread,
    pub(crate) request_time_us: Spread,
    pub(crate) upstream_time_us: Spread,
}

impl Default for Totals {
    fn default() -> Self {
        Self {
            lines: LineCounts::default(),
            bytes_sent: 0,
            span_us: None,
            status: Box::new([Amount::default(); STATUSES]),
            bytes: Spread::new(),
            request_time_us: Spread::new(),
            upstream_time_us: Spread::new(),
        }
    }
}

impl Totals {
    /// Adds the other's sums and empties it.
    pub(crate) fn take(&mut self, other: &mut Self) {
        self.lines.add(other.lines);
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        if let Some((first, last)) = other.span_us {
            self.widen(first);
            self.widen(last);
        }
        for (sum, amount) in self.status.iter_mut().zip(other.status.iter()) {
            sum.add(*amount);
        }
        self.bytes.take(&mut other.bytes);
        self.request_time_us.take(&mut other.request_time_us);
        self.upstream_time_us.take(&mut other.upstream_time_us);
        other.lines = LineCounts::default();
        other.bytes_sent = 0;
        other.span_us = None;
        other.status.fill(Amount::default());
    }

    #[inline]
    pub(crate) fn widen(&mut self, time_us: i64) {
        let (first, last) = self.span_us.unwrap_or((time_us, time_us));
        self.span_us = Some((first.min(time_us), last.max(time_us)));
    }
}

impl LineCounts {
    fn add(&mut self, other: Self) {
        self.total += other.total;
        self.parsed += other.parsed;
        self.repaired += other.repaired;
        self.rejected += other.rejected;
        self.outside += other.outside;
        self.blank += other.blank;
        self.filtered += other.filtered;
    }
}

impl Spread {
    fn new() -> Self {
        // Fails only for bounds or digits out of range, which these are not.
        let histogram = Histogram::new_with_bounds(1, VALUE_MAX, SIGNIFICANT_DIGITS);
        #[allow(clippy::expect_used)]
        let histogram = histogram.expect("the bounds and the digits are within the crate's limits");
        Self { histogram, sum: 0, max: 0 }
    }

    #[inline]
    pub(crate) fn record(&mut self, value: u64) {
        self.histogram.saturating_record(value);
        self.sum += u128::from(value);
        self.max = self.max.max(value);
    }

    fn take(&mut self, other: &mut Self) {
        // Equal bounds on both sides: adding can't fail.
        let added = self.histogram.add(&other.histogram);
        debug_assert!(added.is_ok());
        self.sum += other.sum;
        self.max = self.max.max(other.max);
        other.histogram.reset();
        other.sum = 0;
        other.max = 0;
    }

    pub(crate) fn count(&self) -> u64 {
        self.histogram.len()
    }

    pub(crate) fn mean(&self) -> f64 {
        self.sum as f64 / self.count().max(1) as f64
    }

    pub(crate) fn max(&self) -> u64 {
        self.max
    }

    /// The value below which a share of `quantile` (0 to 1) lies, at most 1 % too high.
    pub(crate) fn quantile(&self, quantile: f64) -> u64 {
        self.histogram.value_at_quantile(quantile).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_hold_for_any_number() {
        for scale in [1, 1_000_000_000, 1 << 40, (1 << 63) / 50, u64::MAX / 100] {
            let mut spread = Spread::new();
            (1..=100).for_each(|n| spread.record(n * scale));
            for (quantile, n) in [(0.5, 50), (0.9, 90), (0.99, 99), (1.0, 100)] {
                let (found, exact) = (spread.quantile(quantile), n * scale);
                assert!(found >= exact && (found - exact) as f64 <= exact as f64 * 0.01, "{found} for {exact}");
            }
            assert_eq!((spread.max(), spread.count()), (100 * scale, 100));
        }
    }
}

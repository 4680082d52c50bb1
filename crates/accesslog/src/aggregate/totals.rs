//! Counts over all lines: outcomes, sizes, status codes, percentiles.

use crate::aggregate::heavy_hitters::HitsAndBytes;
use crate::log_histogram::LogHistogram;

/// Status codes have three digits.
pub(crate) const STATUSES: usize = 1000;

/// More than any log has: sums of so many hits of each of many processes have room in 64 bits.
pub(crate) const HITS_MAX: u64 = 1 << 48;

/// Counts of lines by their outcome.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct LineCounts {
    /// All lines: parsed, rejected, outside, blank and filtered.
    pub total: u64,
    /// Lines that are counted in the panels.
    pub parsed: u64,
    /// Of the parsed ones, those with one flaw.
    pub repaired: u64,
    /// Lines that do not fit the format.
    pub rejected: u64,
    /// Of the rejected ones, pieces of lines that a container's runtime cut, without the last of
    /// each line.
    #[serde(skip_serializing_if = "is_zero")]
    pub pieces: u64,
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

/// Counts as a list of all of them: other formats than JSON do not tell which are left out.
mod every_count {
    use super::LineCounts;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    // As serde asks for it.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(super) fn serialize<S: Serializer>(counts: &LineCounts, serializer: S) -> Result<S::Ok, S::Error> {
        let LineCounts { total, parsed, repaired, rejected, pieces, outside, blank, filtered } = *counts;
        [total, parsed, repaired, rejected, pieces, outside, blank, filtered].serialize(serializer)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<LineCounts, D::Error> {
        let [total, parsed, repaired, rejected, pieces, outside, blank, filtered] = <[u64; 8]>::deserialize(deserializer)?;
        Ok(LineCounts { total, parsed, repaired, rejected, pieces, outside, blank, filtered })
    }
}

/// Sums over lines; those of two workers can be merged.
#[derive(Debug, Clone, Default, serde::Serialize, serde::Deserialize)]
pub(crate) struct LineTotals {
    #[serde(with = "every_count")]
    pub(crate) lines: LineCounts,
    pub(crate) bytes_sent: u64,
    /// Earliest and latest time, in Unix microseconds.
    pub(crate) span_us: Option<(i64, i64)>,
    /// For each code; empty until there is one.
    pub(crate) status: Vec<HitsAndBytes>,
    pub(crate) bytes: LogHistogram,
    pub(crate) request_time_us: LogHistogram,
    pub(crate) upstream_time_us: LogHistogram,
}

impl LineTotals {
    /// True if they may be so, which came from another process.
    pub(crate) fn is_sound(&self) -> bool {
        let lines = self.lines.total;
        let numbers = [&self.bytes, &self.request_time_us, &self.upstream_time_us];
        let LineCounts { total: _, parsed, repaired, rejected, pieces, outside, blank, filtered } = self.lines;
        lines < HITS_MAX
            && [parsed, repaired, rejected, pieces, outside, blank, filtered].iter().all(|count| *count <= lines)
            && self.status.len() <= STATUSES
            && self.status.iter().all(|amount| amount.hits <= lines)
            && numbers.iter().all(|numbers| numbers.is_sound(lines))
    }

    /// Adds the other's sums and empties it.
    pub(crate) fn take(&mut self, other: &mut Self) {
        self.lines.add(other.lines);
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        if let Some((first, last)) = other.span_us {
            self.widen(first);
            self.widen(last);
        }
        self.status.resize(self.status.len().max(other.status.len()), HitsAndBytes::default());
        for (sum, amount) in self.status.iter_mut().zip(other.status.iter()) {
            sum.add(*amount);
        }
        self.bytes.take(&other.bytes);
        other.bytes.clear();
        self.request_time_us.take(&other.request_time_us);
        other.request_time_us.clear();
        self.upstream_time_us.take(&other.upstream_time_us);
        other.upstream_time_us.clear();
        other.lines = LineCounts::default();
        other.bytes_sent = 0;
        other.span_us = None;
        other.status.fill(HitsAndBytes::default());
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
        self.pieces += other.pieces;
        self.outside += other.outside;
        self.blank += other.blank;
        self.filtered += other.filtered;
    }
}

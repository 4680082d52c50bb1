//! The metrics that there are.

use crate::number_spread::NumberQuantiles;
use serde::{Serialize, Serializer};
use std::ops::RangeInclusive;

/// Metric of the rows of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BreakdownMetric {
    /// Number of rows.
    Hits,
    /// Rows with a status of 500 or more.
    Errors,
    /// Their part of the rows.
    ErrorRate,
    /// Rows with a status from 400 to 499.
    Refused,
    /// Sum of the response sizes.
    Bytes,
    /// Median of the measure.
    P50,
    /// Number that 95 % of the rows are not above.
    P95,
    /// Number that 99 % of the rows are not above.
    P99,
    /// The largest number.
    Max,
    /// Sum of the numbers.
    Total,
    /// Number of client addresses.
    Clients,
    /// Time of the first row.
    First,
    /// Time of the last row.
    Last,
    /// Rows over time; values can't be ranked by it.
    Trend,
}

use BreakdownMetric::{Bytes, Clients, ErrorRate, Errors, First, Hits, Last, Max, P50, P95, P99, Refused, Total, Trend};

/// Metrics of rows that have statuses, sizes, a measure, clients and times.
pub(super) const GROUPS: [&[BreakdownMetric]; 5] =
    [&[Errors, ErrorRate, Refused], &[Bytes], &[P50, P95, P99, Max, Total], &[Clients], &[First, Last, Trend]];

impl BreakdownMetric {
    /// All metrics, in the order that they are shown in.
    pub const ALL: [Self; 14] = [Hits, Errors, ErrorRate, Refused, Bytes, P50, P95, P99, Max, Total, Clients, First, Last, Trend];

    /// Name for programs.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Hits => "hits",
            Errors => "errors",
            ErrorRate => "error_rate",
            Refused => "refused",
            Bytes => "bytes",
            P50 => "p50",
            P95 => "p95",
            P99 => "p99",
            Max => "max",
            Total => "total",
            Clients => "clients",
            First => "first",
            Last => "last",
            Trend => "trend",
        }
    }

    /// The metric of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|metric| metric.name() == name)
    }

    /// True if values can be ranked by it.
    #[must_use]
    pub fn is_sortable(self) -> bool {
        self != Trend
    }

    /// True if all values are ranked by it, from counts that there are anyway.
    pub(super) fn is_counted(self) -> bool {
        matches!(self, Hits | Errors | ErrorRate | Refused | Bytes)
    }

    pub(super) fn is_quantile(self) -> bool {
        matches!(self, P50 | P95 | P99)
    }

    pub(super) fn is_of_measure(self) -> bool {
        matches!(self, P50 | P95 | P99 | Max | Total)
    }

    /// Statuses of the rows that it is about.
    pub(super) fn statuses(self) -> Option<RangeInclusive<u64>> {
        match self {
            Errors | ErrorRate => Some(500..=999),
            Refused => Some(400..=499),
            _ => None,
        }
    }

    pub(super) fn of_quantiles(self, quantiles: &NumberQuantiles) -> f64 {
        match self {
            P95 => quantiles.p95,
            P99 => quantiles.p99,
            _ => quantiles.p50,
        }
    }
}

impl Serialize for BreakdownMetric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// Set of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MetricSet(u16);

impl MetricSet {
    /// The same with one more.
    #[must_use]
    pub const fn with(self, metric: BreakdownMetric) -> Self {
        Self(self.0 | 1 << metric as u16)
    }

    /// The same without one.
    #[must_use]
    pub const fn without(self, metric: BreakdownMetric) -> Self {
        Self(self.0 & !(1 << metric as u16))
    }

    /// True if it has the metric.
    #[must_use]
    pub const fn contains(self, metric: BreakdownMetric) -> bool {
        self.0 >> metric as u16 & 1 == 1
    }

    /// Its metrics, in the order that they are shown in.
    pub fn metrics(self) -> impl Iterator<Item = BreakdownMetric> {
        BreakdownMetric::ALL.into_iter().filter(move |metric| self.contains(*metric))
    }

    /// Their names.
    #[must_use]
    pub fn names(self) -> Vec<String> {
        self.metrics().map(|metric| metric.name().to_owned()).collect()
    }
}

impl FromIterator<BreakdownMetric> for MetricSet {
    fn from_iter<T: IntoIterator<Item = BreakdownMetric>>(metrics: T) -> Self {
        metrics.into_iter().fold(Self::default(), Self::with)
    }
}

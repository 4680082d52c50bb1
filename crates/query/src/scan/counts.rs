//! Counts of a scan for `EXPLAIN ANALYZE`.

use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};

/// Counts of one partition of a scan.
#[derive(Debug, Clone)]
pub(crate) struct ScanCounts {
    /// Rows that were decoded.
    pub(crate) rows_decoded: Count,
    /// Lines of a log that were not decoded further, since their time is outside of the span.
    pub(crate) rows_outside: Count,
    /// Chunks of records that were not decoded, since a filter leaves nothing of them.
    pub(crate) chunks_skipped: Count,
}

impl ScanCounts {
    pub(crate) fn new(metrics: &ExecutionPlanMetricsSet, partition: usize) -> Self {
        let count = |name: &'static str| MetricBuilder::new(metrics).counter(name, partition);
        Self { rows_decoded: count("rows_decoded"), rows_outside: count("rows_outside"), chunks_skipped: count("chunks_skipped") }
    }
}

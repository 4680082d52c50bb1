//! The histogram of a view as it is answered, and the durations of its requests over time.

use crate::time_axis::{Axis, BANDS_US, Grid};
use crate::view::{LatencyGrid, PageLine, ViewHistogram};

/// Rows over time, by series and by how long they took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowsOverTime<'a> {
    pub(crate) axis: Option<Axis>,
    /// Name of the column of the series, for programs.
    pub(crate) stack: &'a str,
    pub(crate) names: &'a [String],
    pub(crate) classes: &'a Grid,
    pub(crate) bands: Option<&'a Grid>,
}

impl RowsOverTime<'_> {
    /// Buckets with at least one row.
    fn buckets(&self) -> Vec<usize> {
        let buckets = self.axis.map_or(0, |axis| axis.buckets);
        (0..buckets).filter(|bucket| self.classes.bucket(*bucket).iter().any(|hits| *hits > 0)).collect()
    }

    pub(crate) fn histogram(&self) -> Option<ViewHistogram> {
        let axis = self.axis?;
        let buckets = self.buckets();
        let hits = |series: usize| buckets.iter().map(|bucket| self.classes.bucket(*bucket)[series]).collect();
        let line = |(series, name): (usize, &String)| PageLine { class: name.clone(), hits: hits(series) };
        Some(ViewHistogram {
            stack: self.stack.to_owned().into(),
            bucket_seconds: axis.width_seconds,
            finest_seconds: 1,
            at: buckets.iter().map(|bucket| axis.start(*bucket)).collect(),
            series: self.names.iter().enumerate().map(line).collect(),
        })
    }

    pub(crate) fn latency(&self) -> Option<LatencyGrid> {
        let (axis, bands) = (self.axis?, self.bands?);
        let buckets = self.buckets();
        let hits: Vec<Vec<u64>> = buckets.iter().map(|bucket| bands.bucket(*bucket).to_vec()).collect();
        hits.iter().flatten().any(|hits| *hits > 0).then(|| LatencyGrid {
            borders_seconds: BANDS_US.iter().map(|border| *border as f64 / 1e6).collect(),
            bucket_seconds: axis.width_seconds,
            at: buckets.iter().map(|bucket| axis.start(*bucket)).collect(),
            hits,
        })
    }
}

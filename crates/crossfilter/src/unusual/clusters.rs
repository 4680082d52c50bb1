//! Outliers of the same time, as one incident.

use super::search::Outlier;
use super::span::SPANS_MAX;

/// Outliers of about the same time.
pub(super) struct OutlierCluster {
    pub(super) from: i64,
    pub(super) to: i64,
    /// The first one names it.
    pub(super) outliers: Vec<Outlier>,
}

impl OutlierCluster {
    /// True if an outlier is of its time, or as near as it is long.
    fn touches(&self, outlier: &Outlier) -> bool {
        let width = outlier.to - outlier.from;
        outlier.from - width <= self.to && self.from <= outlier.to + width
    }

    fn take(&mut self, outlier: Outlier) {
        // A weak one does not make it longer, nor does another value.
        if outlier.z >= self.outliers[0].z / 3.0 && outlier.is_of(&self.outliers[0]) {
            (self.from, self.to) = (self.from.min(outlier.from), self.to.max(outlier.to));
        }
        self.outliers.push(outlier);
    }
}

impl Outlier {
    fn is_of(&self, other: &Self) -> bool {
        (self.kind, self.field, self.slot) == (other.kind, other.field, other.slot)
    }
}

/// Outliers of the same time, those that name it best first: they come with the most unusual one
/// first.
pub(super) fn clustered(outliers: Vec<Outlier>) -> Vec<OutlierCluster> {
    let mut clusters: Vec<OutlierCluster> = Vec::new();
    for outlier in outliers {
        match clusters.iter_mut().find(|cluster| cluster.touches(&outlier)) {
            Some(cluster) => cluster.take(outlier),
            None => clusters.push(OutlierCluster { from: outlier.from, to: outlier.to, outliers: vec![outlier] }),
        }
    }
    let mut joined: Vec<OutlierCluster> = Vec::new();
    for cluster in clusters {
        let is_same = |other: &&mut OutlierCluster| {
            other.outliers[0].is_of(&cluster.outliers[0])
                && other.touches(&Outlier { from: cluster.from, to: cluster.to, ..cluster.outliers[0] })
        };
        match joined.iter_mut().find(is_same) {
            Some(other) => {
                (other.from, other.to) = (other.from.min(cluster.from), other.to.max(cluster.to));
                other.outliers.extend(cluster.outliers);
            }
            None => joined.push(cluster),
        }
    }
    joined.truncate(SPANS_MAX);
    joined
}

//! A set of bytes as sorted stretches that neither touch nor overlap.

use std::ops::Range;

/// Set of byte ranges of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Ranges(Vec<Range<u64>>);

impl Ranges {
    /// The set of these stretches, in any order.
    pub(crate) fn of(stretches: impl IntoIterator<Item = Range<u64>>) -> Self {
        let mut ranges = Self::default();
        stretches.into_iter().for_each(|stretch| ranges.add(stretch));
        ranges
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Range<u64>> {
        self.0.iter()
    }

    pub(crate) fn add(&mut self, new: Range<u64>) {
        if new.is_empty() {
            return;
        }
        let first = self.0.partition_point(|old| old.end < new.start);
        let last = self.0.partition_point(|old| old.start <= new.end);
        let merged = self.0[first..last].iter().fold(new, |all, old| all.start.min(old.start)..all.end.max(old.end));
        self.0.splice(first..last, [merged]);
    }

    pub(crate) fn remove(&mut self, gone: &Range<u64>) {
        if gone.is_empty() {
            return;
        }
        let left = self.0.iter().flat_map(|old| [old.start..old.end.min(gone.start), old.start.max(gone.end)..old.end]);
        self.0 = left.filter(|stretch| !stretch.is_empty()).collect();
    }

    /// Number of bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.0.iter().map(|stretch| stretch.end - stretch.start).sum()
    }

    /// Up to where everything is there.
    pub(crate) fn prefix(&self) -> u64 {
        self.0.first().filter(|first| first.start == 0).map_or(0, |first| first.end)
    }

    /// The first stretch below `end` that is neither here nor in `other`, at most `bytes_max` long.
    pub(crate) fn gap(&self, other: &Self, end: u64, bytes_max: u64) -> Option<Range<u64>> {
        let both = Self::of(self.iter().chain(other.iter()).cloned());
        let start = both.prefix();
        let next = both.iter().find(|stretch| stretch.start > start).map_or(end, |stretch| stretch.start);
        let gap = start..next.min(end).min(start.saturating_add(bytes_max));
        (!gap.is_empty()).then_some(gap)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_a_set_of_bytes() {
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..300 {
            let (mut ranges, mut bytes) = (Ranges::default(), [false; 40]);
            for _ in 0..12 {
                let start = random.u64(0..40);
                let stretch = start..random.u64(start..=40);
                let adds = random.u8(0..3) > 0;
                bytes[stretch.start as usize..stretch.end as usize].fill(adds);
                if adds {
                    ranges.add(stretch);
                } else {
                    ranges.remove(&stretch);
                }
                let listed: Vec<bool> = (0..40).map(|byte| ranges.iter().any(|stretch| stretch.contains(&byte))).collect();
                assert_eq!(listed, bytes);
                assert_eq!(ranges.bytes(), bytes.iter().filter(|byte| **byte).count() as u64);
                assert_eq!(ranges.prefix(), bytes.iter().take_while(|byte| **byte).count() as u64);
                assert!(ranges.0.windows(2).all(|pair| pair[0].end < pair[1].start));
                let gap = bytes.iter().position(|byte| !byte).map(|start| {
                    let length = bytes[start..].iter().take(7).take_while(|byte| !**byte).count();
                    start as u64..(start + length) as u64
                });
                assert_eq!(ranges.gap(&Ranges::default(), 40, 7), gap);
            }
        }
    }

    #[test]
    fn a_gap_is_in_neither_of_both() {
        let (done, claimed) = (Ranges::of([0..4, 8..12]), Ranges::of([4..6, 12..20]));
        assert_eq!(done.gap(&claimed, 30, 100), Some(6..8));
        assert_eq!(done.gap(&Ranges::of([4..8, 12..20]), 30, 5), Some(20..25));
        assert_eq!(done.gap(&Ranges::of([4..8, 12..20]), 20, 5), None);
    }
}

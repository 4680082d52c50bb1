//! Rows of texts without a code, by their hashes: those that many rows have, bounds for the others,
//! and the number of distinct ones.
//!
//! Each hash votes in one bucket. A bucket keeps the hash that may have most of its rows (Boyer and
//! Moore, "MJRTY: A fast majority vote algorithm", 1991): each vote for it cancels one of another
//! and the other way round, so any other hash has at most half of the rows that were cancelled.

use crate::file_bytes::NumberBytes;
use datasketches::hll::{HllSketch, HllType, HllUnion};

/// Registers of the sketch of distinct hashes, as a power of two: 1.6 % standard error, 4 KiB.
const SKETCH_LOG_REGISTERS: u8 = 12;

/// Buckets of a tally, a power of two; 24 bytes each.
const BUCKETS: usize = 2_048;

/// Columns of a view that have a tally; the texts without a code of others have no bounds.
const TALLIES_MAX: usize = 16;

/// Memory of all tallies of a view.
pub(crate) const TALLIES_BYTES: u64 = (TALLIES_MAX * (BUCKETS * 24 + (8 << 10))) as u64;

/// UncodedTallies by column, in the order of the counted ones.
#[derive(Debug, Clone, Default)]
pub(crate) struct UncodedTallies {
    columns: Vec<Option<UncodedTally>>,
    /// Columns with rows that were not taken, as there were too many others.
    refused: Vec<usize>,
}

impl UncodedTallies {
    /// The tally of a column; `None` where too many others have one.
    pub(crate) fn of(&mut self, column: usize) -> Option<&mut UncodedTally> {
        if self.columns.len() <= column {
            self.columns.resize(column + 1, None);
        }
        let is_full = self.columns.iter().flatten().count() >= TALLIES_MAX;
        if self.columns[column].is_none() {
            if is_full || self.refused.contains(&column) {
                self.refused.push(column);
                self.refused.dedup();
                return None;
            }
            self.columns[column] = Some(UncodedTally::new());
        }
        self.columns[column].as_mut()
    }

    /// The tally of all rows of a column that have texts without a code.
    pub(crate) fn get(&self, column: usize) -> Option<&UncodedTally> {
        self.columns.get(column).and_then(Option::as_ref).filter(|_| !self.refused.contains(&column))
    }

    pub(crate) fn take(&mut self, other: &Self) {
        for column in &other.refused {
            if !self.refused.contains(column) {
                self.refused.push(*column);
            }
        }
        for (column, other) in other.columns.iter().enumerate() {
            if let (Some(other), Some(own)) = (other, self.of(column)) {
                own.take(other);
            }
        }
    }

    /// Columns that have a tally, in order.
    pub(crate) fn columns(&self) -> impl Iterator<Item = (usize, &UncodedTally)> {
        self.columns.iter().enumerate().filter_map(|(column, tally)| Some((column, tally.as_ref()?)))
    }

    /// Columns with rows that were not taken.
    pub(crate) fn refused(&self) -> &[usize] {
        &self.refused
    }

    /// Tallies that were written one by one; `None` where these are too many.
    pub(crate) fn of_columns(columns: Vec<(usize, UncodedTally)>, refused: Vec<usize>) -> Option<Self> {
        let mut all = Self { columns: Vec::new(), refused };
        for (column, tally) in columns {
            let length = all.columns.len().max(column + 1);
            all.columns.resize(length, None);
            all.columns[column] = Some(tally);
        }
        (all.columns.iter().flatten().count() <= TALLIES_MAX).then_some(all)
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.columns.iter().flatten().map(UncodedTally::bytes).sum()
    }
}

/// Rows of the hashes of one column.
#[derive(Debug, Clone)]
pub(crate) struct UncodedTally {
    buckets: Vec<Bucket>,
    distinct: Option<HllSketch>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    hash: u64,
    votes: u64,
    /// Rows of all its hashes.
    rows: u64,
}

impl Bucket {
    fn vote(&mut self, hash: u64, votes: u64) {
        if self.hash == hash {
            self.votes += votes;
        } else if votes > self.votes {
            (self.hash, self.votes) = (hash, votes - self.votes);
        } else {
            self.votes -= votes;
        }
    }
}

impl UncodedTally {
    fn new() -> Self {
        Self { buckets: vec![Bucket::default(); BUCKETS], distinct: HllSketch::new(SKETCH_LOG_REGISTERS, HllType::Hll8).ok() }
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        for Bucket { hash, votes, rows } in &self.buckets {
            [hash, votes, rows].iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        }
        self.distinct.iter().for_each(|sketch| out.extend_from_slice(&sketch.serialize()));
    }

    /// Reads what [`UncodedTally::write`] wrote of at most so many rows; `None` where it is
    /// something else.
    pub(crate) fn read(mut bytes: &[u8], rows_max: u64) -> Option<Self> {
        let mut buckets = vec![Bucket::default(); BUCKETS];
        let mut rows_all = 0u64;
        for bucket in &mut buckets {
            *bucket = Bucket { hash: u64::take(&mut bytes)?, votes: u64::take(&mut bytes)?, rows: u64::take(&mut bytes)? };
            rows_all = rows_all.checked_add(bucket.rows).filter(|_| bucket.votes <= bucket.rows)?;
        }
        let sketch = if bytes.is_empty() { None } else { Some(HllSketch::deserialize(bytes).ok()?) };
        let is_own = |sketch: &HllSketch| sketch.lg_config_k() == SKETCH_LOG_REGISTERS && sketch.target_type() == HllType::Hll8;
        let fits = rows_all <= rows_max && sketch.as_ref().is_none_or(is_own);
        fits.then_some(Self { buckets, distinct: sketch })
    }

    /// Takes so many rows of a hash.
    #[inline]
    pub(crate) fn add(&mut self, hash: u64, rows: u64) {
        let bucket = &mut self.buckets[hash as usize % BUCKETS];
        bucket.rows += rows;
        bucket.vote(hash, rows);
        self.add_named(hash);
    }

    /// Takes a hash of a text that got a code for answers: its rows are counted elsewhere, and the
    /// number of distinct ones does not depend on when it got it.
    #[inline]
    pub(crate) fn add_named(&mut self, hash: u64) {
        if let Some(sketch) = &mut self.distinct {
            sketch.update(hash);
        }
    }

    /// Takes the rows of another one of as many columns.
    pub(crate) fn take(&mut self, other: &Self) {
        for (own, other) in self.buckets.iter_mut().zip(&other.buckets) {
            own.rows += other.rows;
            own.vote(other.hash, other.votes);
        }
        self.distinct = self.distinct.take().zip(other.distinct.as_ref()).and_then(|(own, other)| {
            let mut union = HllUnion::new(SKETCH_LOG_REGISTERS).ok()?;
            union.update(&own);
            union.update(other);
            Some(union.to_sketch(HllType::Hll8))
        });
    }

    /// The hashes that most rows may have, and the least rows that each has: at most so many; where
    /// there are more, each with at least two rows.
    pub(crate) fn most(&self, count: usize) -> Vec<(u64, u64)> {
        let least = if self.distinct().0 as usize <= count { 1 } else { 2 };
        let mut most: Vec<(u64, u64)> =
            self.buckets.iter().filter(|bucket| bucket.votes >= least).map(|bucket| (bucket.votes, bucket.hash)).collect();
        most.sort_unstable_by(|a, b| b.cmp(a));
        most.truncate(count);
        most.into_iter().map(|(votes, hash)| (hash, votes)).collect()
    }

    /// The most rows that a hash may have which is none of those in `named`.
    pub(crate) fn rows_max(&self, named: impl Fn(u64) -> bool) -> u64 {
        let most = |bucket: &Bucket| {
            let cancelled = (bucket.rows - bucket.votes) / 2;
            if named(bucket.hash) { cancelled } else { cancelled + bucket.votes }
        };
        self.buckets.iter().map(most).max().unwrap_or(0)
    }

    /// Number of distinct hashes, about, and twice its standard error as a share of it.
    pub(crate) fn distinct(&self) -> (u64, f64) {
        let Some((sketch, mut union)) = self.distinct.as_ref().zip(HllUnion::new(SKETCH_LOG_REGISTERS).ok()) else {
            return (0, 1.0);
        };
        // The estimate of a union depends on its registers alone, and not on the order of rows.
        union.update(sketch);
        (union.composite_estimate().round() as u64, 2.0 * 1.04 / f64::from(1 << (SKETCH_LOG_REGISTERS / 2)))
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> u64 {
        (self.buckets.len() * size_of::<Bucket>() + (1 << SKETCH_LOG_REGISTERS)) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    #[test]
    fn bounds_hold_in_one_tally_and_in_joined_ones() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 20
        };
        for heavy in [0_u64, 3, 40] {
            let mut truth: HashMap<u64, u64> = HashMap::new();
            let mut parts = [UncodedTally::new(), UncodedTally::new()];
            for row in 0..60_000_u64 {
                let (is_heavy, number) = (heavy > 0 && row.is_multiple_of(3), random());
                let hash = if is_heavy { number % heavy } else { number }.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let hash = hash ^ hash >> 31;
                *truth.entry(hash).or_default() += row % 4;
                parts[row as usize % 2].add(hash, row % 4);
            }
            let [mut tally, other] = parts;
            tally.take(&other);
            let named: Vec<u64> = tally
                .most(100)
                .into_iter()
                .map(|(hash, least)| {
                    assert!(truth[&hash] >= least, "{} {least}", truth[&hash]);
                    hash
                })
                .collect();
            assert!(named.len() as u64 >= heavy, "{} of {heavy}", named.len());
            let most = tally.rows_max(|hash| named.contains(&hash));
            let others = truth.iter().filter(|(hash, _)| !named.contains(hash)).map(|(_, rows)| *rows).max().unwrap_or(0);
            assert!(others <= most, "{others} of at most {most}");
            let (distinct, error) = tally.distinct();
            let exact = truth.len() as f64;
            assert!((distinct as f64 - exact).abs() <= exact * error, "{distinct} of {exact}");
        }
    }
}

//! Parts of a tally, which another process adds to its own.
//!
//! A process tells first how many hits it may have missed of any value, then its values. Whoever
//! adds them takes the first for all values that it has, and corrects it for each one that comes:
//! so the bounds hold for values that only some of the processes have.

use super::{FieldTally, HitsAndBytes, SHARDS, SKETCH_LOG_REGISTERS, TallyShard, key_at, shard_of};
use crate::aggregate::totals::HITS_MAX;
use crate::dict::hash;
use datasketches::common::NumStdDev;
use datasketches::hll::{HllSketch, HllType, HllUnion};
use serde::{Deserialize, Serialize};
use std::sync::{MutexGuard, PoisonError};

/// Keys of a part, in bytes; one key more may be longer.
const PART_KEY_BYTES: usize = 256 << 10;

/// Values of a part.
const PART_VALUES: usize = 16 << 10;

/// Hits that a process may have missed of a value, beside those that it tells for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
struct MissedBound {
    floor: u64,
    overlong_hits: u64,
    /// Values from so many bytes on may have the overlong hits, too.
    overlong_key_bytes_min: u64,
}

impl MissedBound {
    fn of(&self, key_bytes: usize) -> u64 {
        self.floor + if key_bytes as u64 >= self.overlong_key_bytes_min { self.overlong_hits } else { 0 }
    }

    fn is_none(&self) -> bool {
        self.floor == 0 && self.overlong_hits == 0
    }
}

/// Sums of the values of a field that had no room in a process, and their bounds.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TallyPart {
    bound: MissedBound,
    /// By class.
    dropped: Vec<(u32, HitsAndBytes)>,
    /// Values that came, where some had no room.
    sketch: Option<Vec<u8>>,
}

impl TallyPart {
    /// Gives the classes the numbers of another process, in order; false if there are not as many.
    pub(crate) fn renumber(&mut self, numbers: Vec<u32>) -> bool {
        let fits = numbers.len() == self.dropped.len();
        self.dropped.iter_mut().zip(numbers).for_each(|((class, _), number)| *class = number);
        fits
    }

    /// The numbers of classes.
    pub(crate) fn classes(&self) -> impl Iterator<Item = u32> {
        self.dropped.iter().map(|(class, _)| *class)
    }
}

/// Some values of a field.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct ValuesPart {
    bound: MissedBound,
    /// End of each key in `keys`.
    key_ends: Vec<u32>,
    keys: Vec<u8>,
    amounts: Vec<HitsAndBytes>,
    /// Hits that each may have beyond those.
    missed: Vec<u64>,
}

impl ValuesPart {
    fn push(&mut self, key: &[u8], amount: HitsAndBytes, missed: u64) {
        self.keys.extend_from_slice(key);
        self.key_ends.push(self.keys.len() as u32);
        self.amounts.push(amount);
        self.missed.push(missed);
    }

    /// True if all lists belong together, as they do unless the bytes were those of something else.
    fn is_sound(&self) -> bool {
        let lengths = [self.amounts.len(), self.missed.len()];
        lengths == [self.key_ends.len(); 2]
            && self.key_ends.is_sorted()
            && self.key_ends.last().map_or(0, |end| *end as usize) == self.keys.len()
            && self.amounts.iter().all(|amount| amount.hits < HITS_MAX)
            && self.missed.iter().chain([&self.bound.floor, &self.bound.overlong_hits]).all(|hits| *hits < HITS_MAX)
    }

    fn values(&self) -> impl Iterator<Item = (&[u8], HitsAndBytes, u64)> {
        let starts = std::iter::once(0).chain(self.key_ends.iter().copied());
        let keys = starts.zip(&self.key_ends).map(|(start, end)| &self.keys[start as usize..*end as usize]);
        keys.zip(self.amounts.iter().zip(&self.missed)).map(|(key, (amount, missed))| (key, *amount, *missed))
    }
}

impl FieldTally {
    /// Gives the tally as parts: the first by one function, values by the other.
    pub(crate) fn parts<E>(
        &self,
        first: impl FnOnce(TallyPart) -> Result<(), E>,
        mut values: impl FnMut(ValuesPart) -> Result<(), E>,
    ) -> Result<(), E> {
        let part = self.first_part();
        let bound = part.bound;
        first(part)?;
        let begun = || ValuesPart { bound, ..ValuesPart::default() };
        let mut part = begun();
        for shard in 0..SHARDS {
            let shard = self.shard(shard);
            for entry in &shard.entries {
                part.push(key_at(&shard.arena, entry.start), entry.amount(), entry.missed.into());
                if part.keys.len() >= PART_KEY_BYTES || part.key_ends.len() >= PART_VALUES {
                    values(std::mem::replace(&mut part, begun()))?;
                }
            }
        }
        if part.key_ends.is_empty() { Ok(()) } else { values(part) }
    }

    fn first_part(&self) -> TallyPart {
        let mut bound = MissedBound { overlong_key_bytes_min: u64::MAX, ..MissedBound::default() };
        for shard in 0..SHARDS {
            let shard = self.shard(shard);
            bound.floor = bound.floor.max(shard.floor);
            bound.overlong_hits = bound.overlong_hits.max(shard.turned_away.hits);
            bound.overlong_key_bytes_min = bound.overlong_key_bytes_min.min(shard.turned_away.key_bytes_min as u64);
        }
        let mut dropped: Vec<(u32, HitsAndBytes)> = Vec::new();
        for shard in 0..SHARDS {
            dropped.extend(self.shard(shard).dropped.iter().map(|(class, amount)| (*class, *amount)));
        }
        TallyPart { bound, dropped, sketch: self.sketch().map(|sketch| sketch.serialize()) }
    }

    /// Sketch of the values, where some had no room; shards that dropped none send their values.
    fn sketch(&self) -> Option<HllSketch> {
        let mut union = self.elsewhere().clone();
        for shard in 0..SHARDS {
            if let Some(sketch) = &self.shard(shard).sketch {
                union = union.or_else(|| HllUnion::new(SKETCH_LOG_REGISTERS).ok());
                union.iter_mut().for_each(|union| union.update(sketch));
            }
        }
        union.map(|union| union.to_sketch(HllType::Hll8))
    }

    /// The number of distinct values here and elsewhere, and its relative error (two standard
    /// deviations), where some had no room elsewhere.
    pub(super) fn distinct_anywhere(&self) -> Option<(u64, f64)> {
        let mut union = self.elsewhere().clone()?;
        for shard in 0..SHARDS {
            let shard = self.shard(shard);
            match &shard.sketch {
                Some(sketch) => union.update(sketch),
                None => shard.entries.iter().for_each(|entry| {
                    union.update_value(self.seeds.estimated(key_at(&shard.arena, entry.start)));
                }),
            }
        }
        let estimate = union.estimate();
        let above = union.upper_bound(NumStdDev::Two) - estimate;
        let error = above.max(estimate - union.lower_bound(NumStdDev::Two)) / estimate.max(1.0);
        Some((estimate.round() as u64, error))
    }

    /// Adds the first part of another process's tally; false if it is none.
    pub(crate) fn absorb(&self, part: TallyPart) -> bool {
        let bounds = [part.bound.floor, part.bound.overlong_hits].into_iter();
        if !bounds.chain(part.dropped.iter().map(|(_, amount)| amount.hits)).all(|hits| hits < HITS_MAX) {
            return false;
        }
        if let Some(sketch) = part.sketch {
            let Ok(sketch) = HllSketch::deserialize(&sketch) else { return false };
            let mut elsewhere = self.elsewhere();
            if elsewhere.is_none() {
                *elsewhere = HllUnion::new(SKETCH_LOG_REGISTERS).ok();
            }
            elsewhere.iter_mut().for_each(|union| union.update(&sketch));
        }
        // The sum of a class belongs to no single value, so any shard may have it.
        let mut first = self.shard(0);
        for (class, amount) in part.dropped {
            first.dropped.entry(class).or_default().add(amount);
        }
        drop(first);
        if !part.bound.is_none() {
            (0..SHARDS).for_each(|shard| self.shard(shard).miss(&part.bound));
        }
        true
    }

    /// Adds values of another process's tally, after its first part; false if they are none.
    pub(crate) fn absorb_values(&self, part: &ValuesPart) -> bool {
        if !part.is_sound() {
            return false;
        }
        let mut values: Vec<(u64, &[u8], HitsAndBytes, u64)> =
            part.values().map(|(key, amount, missed)| (hash(&self.seeds.tables, key), key, amount, missed)).collect();
        values.sort_unstable_by_key(|(hash, ..)| *hash);
        for of_shard in values.chunk_by(|(one, ..), (other, ..)| shard_of(*one) == shard_of(*other)) {
            let mut shard = self.shard(shard_of(of_shard[0].0));
            for &(hash, key, amount, missed) in of_shard {
                shard.add(&self.seeds, self.classify.as_ref(), hash, key, amount);
                shard.correct(hash, key, part.bound.of(key.len()), missed);
            }
        }
        true
    }

    pub(super) fn elsewhere(&self) -> MutexGuard<'_, Option<HllUnion>> {
        self.elsewhere.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TallyShard {
    /// Takes note of hits that another process may have missed, of whatever value.
    fn miss(&mut self, bound: &MissedBound) {
        let Self { entries, arena, floor, turned_away, .. } = self;
        for entry in entries {
            let missed = u64::from(entry.missed) + bound.of(key_at(arena, entry.start).len());
            entry.missed = u32::try_from(missed).unwrap_or(u32::MAX);
        }
        *floor += bound.floor;
        turned_away.hits += bound.overlong_hits;
        let key_bytes_min = usize::try_from(bound.overlong_key_bytes_min).unwrap_or(usize::MAX);
        turned_away.key_bytes_min = turned_away.key_bytes_min.min(key_bytes_min);
    }

    /// Corrects the hits that were missed of a value: not as many as of any value, but so many.
    fn correct(&mut self, hash: u64, key: &[u8], of_any: u64, missed: u64) {
        if of_any != missed
            && let Some(entry) = self.find(hash, key)
        {
            let entry = &mut self.entries[entry];
            if entry.missed == u32::MAX {
                // It may be more.
                return;
            }
            let corrected = u64::from(entry.missed).saturating_sub(of_any).saturating_add(missed);
            entry.missed = u32::try_from(corrected).unwrap_or(u32::MAX);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ONE, feed};
    use super::*;
    use crate::dict::Seed;
    use std::collections::HashMap;

    const MIB: u64 = 1 << 20;

    /// A tally of another process.
    fn tally(share_bytes: u64) -> FieldTally {
        FieldTally::new(&Seed::default(), share_bytes, None).estimating_by(7)
    }

    fn absorb(sum: &FieldTally, part: &FieldTally) {
        let given = part.parts(
            |first| sum.absorb(first).then_some(()).ok_or(()),
            |values| sum.absorb_values(&values).then_some(()).ok_or(()),
        );
        assert_eq!(given, Ok(()));
    }

    /// Parts by any number of processes are the same as one of all.
    #[test]
    fn sums_are_exact_while_they_fit() {
        let (whole, sum) = (tally(64 * MIB), tally(64 * MIB));
        for part in 0..3u32 {
            let other = tally(64 * MIB);
            for n in 0..20_000u32 {
                let key = format!("/{}", n % (1_000 * (part + 1))).into_bytes();
                other.add(&key, ONE);
                whole.add(&key, ONE);
            }
            absorb(&sum, &other);
        }
        let (found, expected) = (sum.top(5_000), whole.top(5_000));
        assert_eq!(found.rows, expected.rows);
        assert_eq!((found.hits, found.distinct, found.floor), (60_000, 3_000, 0));
        assert_eq!(found.distinct_error, 0.0);
    }

    /// Bounds hold where processes, or the one that adds them up, had too little room.
    #[test]
    fn bounds_hold_beyond_the_shares() {
        for (sum_bytes, part_bytes) in [(64 * MIB, MIB), (MIB, 64 * MIB), (MIB, MIB)] {
            let sum = tally(sum_bytes);
            let mut truth: HashMap<Vec<u8>, u64> = HashMap::new();
            let mut hits = 0;
            for scale in [40, 25] {
                let other = tally(part_bytes);
                for (key, hits_of) in feed(&other, 20_000, scale) {
                    *truth.entry(key).or_default() += hits_of;
                    hits += hits_of;
                }
                // Values that the other process does not have, one of them with many hits.
                let own = format!("/own/{scale}").into_bytes();
                (0..500).for_each(|_| other.add(&own, ONE));
                *truth.entry(own).or_default() += 500;
                hits += 500;
                absorb(&sum, &other);
            }
            let top = sum.top(100_000);
            assert!(top.floor > 0, "the shares were meant to be too small");
            assert_eq!(top.hits, hits);
            let mut listed = HashMap::new();
            for row in &top.rows {
                let true_hits = truth[&row.key];
                let range = row.amount.hits..=row.amount.hits + row.missed;
                assert!(range.contains(&true_hits), "{row:?}: {true_hits}");
                listed.insert(row.key.clone(), ());
            }
            for (key, hits) in &truth {
                assert!(listed.contains_key(key) || *hits <= top.floor, "{hits} hits are not listed, the floor is {}", top.floor);
            }
            let off = (top.distinct as f64 - truth.len() as f64).abs() / truth.len() as f64;
            assert!(top.distinct_error > 0.0 && off <= 2.0 * top.distinct_error, "{} of {}", top.distinct, truth.len());
            let own = top.rows.iter().filter(|row| row.key.starts_with(b"/own/"));
            assert_eq!(own.count(), 2, "values with most hits stay");
        }
    }

    #[test]
    fn foreign_parts_are_refused() {
        let sum = tally(MIB);
        let sound = || ValuesPart {
            key_ends: vec![1, 2],
            keys: b"ab".to_vec(),
            amounts: vec![ONE; 2],
            missed: vec![0; 2],
            ..ValuesPart::default()
        };
        assert!(sum.absorb_values(&sound()));
        let broken = [
            ValuesPart { key_ends: vec![2, 1], ..sound() },
            ValuesPart { key_ends: vec![1, 3], ..sound() },
            ValuesPart { key_ends: vec![1], ..sound() },
            ValuesPart { amounts: vec![ONE], ..sound() },
            ValuesPart { missed: Vec::new(), ..sound() },
        ];
        for part in broken {
            assert!(!sum.absorb_values(&part), "{part:?}");
        }
        let sketch = TallyPart { bound: MissedBound::default(), dropped: Vec::new(), sketch: Some(vec![1, 2, 3]) };
        assert!(!sum.absorb(sketch));
        assert_eq!(sum.top(10).hits, 2);
    }
}

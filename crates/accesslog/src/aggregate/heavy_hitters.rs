//! Hits and bytes for every distinct value of a field, exact while they fit their share of memory.
//!
//! # What happens beyond the share
//! Lossy Counting (Manku and Motwani, VLDB 2002), driven by memory instead of by a fixed window:
//! when a shard is full, the values with the fewest hits are dropped, and `floor` rises to the most
//! hits that a dropped value can have had. A value that comes (again) later is noted with the floor
//! of that moment as what it may have missed. So for every value in the table `hits <= true hits <=
//! hits + missed`, and a value that is not in it has at most `floor` hits. Values that were
//! frequent from the start stay exact. A value too long to be worth dropping others for is turned
//! away: its hits count in the total and in its class, and only values as long as that may have
//! missed them. The number of distinct values is estimated from the first drop on by a
//! `HyperLogLog` sketch for each shard.

mod part;

pub(super) use part::{TallyPart, ValuesPart};

use crate::dict::{Seed, hash};
use datasketches::common::NumStdDev;
use datasketches::hll::{HllSketch, HllType, HllUnion};
use foldhash::quality::FixedState;
use std::collections::HashMap;
use std::hash::BuildHasher;
use std::hint::black_box;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A power of two, so that a few bits of the hash choose the shard; enough that two workers rarely
/// meet, few enough that growing one shard is a small part of the share.
pub(crate) const SHARDS: usize = 16;

/// Registers of a shard's sketch, as a power of two: 4 KiB a shard, 0.4 % standard error over 16
/// shards.
const SKETCH_LOG_REGISTERS: u8 = 12;

/// Values whose places in a large table are looked up side by side. Half as many wait for memory
/// more often; twice as many gain nothing.
const TOGETHER: usize = 32;

const SLOTS_MIN: usize = 64;

/// Bytes of a value that a top row has; one byte more tells that there is more. A path may be as
/// long as a line, and a report of hundreds of such rows would outweigh the tables it is made from.
pub(crate) const KEY_BYTES_SHOWN: usize = 1024;

/// Part of a shard's share that its tables may fill; the rest is for the copy while one of them
/// grows.
const FILL: f64 = 0.88;

/// A key that takes more than this part of a full shard's arena does not drop others to get in: one
/// such key would cost half of all that is there.
const KEY_PART_MAX: usize = 8;

/// Derives a class from a value when it first enters, such as the kind of browser from an agent.
pub(crate) type Classify = Arc<dyn Fn(&[u8]) -> u32 + Send + Sync>;

/// One field's values.
pub(crate) struct FieldTally {
    seeds: TallySeeds,
    shards: Vec<Mutex<TallyShard>>,
    classify: Option<Classify>,
    /// Sketch of the values of other processes that dropped some.
    elsewhere: Mutex<Option<HllUnion>>,
}

/// Seeds of the hashes of values.
struct TallySeeds {
    /// In tables; another one in each process.
    tables: Seed,
    /// In estimates of their number; the same in processes that add theirs up.
    estimates: FixedState,
}

impl TallySeeds {
    /// The hash of a value in an estimate.
    fn estimated(&self, key: &[u8]) -> u64 {
        self.estimates.hash_one(key)
    }
}

/// Hits and bytes of one value or class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct HitsAndBytes {
    pub(crate) hits: u64,
    pub(crate) bytes: u64,
}

impl HitsAndBytes {
    pub(crate) fn add(&mut self, other: Self) {
        self.hits += other.hits;
        // Sizes are foreign numbers: a log may claim 2^64 - 1 bytes for every line.
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// One row of a top table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TopRow {
    pub(crate) key: Vec<u8>,
    pub(crate) amount: HitsAndBytes,
    /// Hits that it may have beyond those counted.
    pub(crate) missed: u64,
}

/// The top of one field.
#[derive(Debug, Clone, Default)]
pub(crate) struct Top {
    pub(crate) rows: Vec<TopRow>,
    pub(crate) distinct: u64,
    /// Relative, two standard deviations; 0 when exact.
    pub(crate) distinct_error: f64,
    /// Hits of all values.
    pub(crate) hits: u64,
    /// The most hits that a value outside the table can have; 0 when nothing was dropped.
    pub(crate) floor: u64,
}

impl FieldTally {
    /// A tally that holds at most `share_bytes`.
    pub(crate) fn new(seed: &Seed, share_bytes: u64, classify: Option<Classify>) -> Self {
        let limit = (share_bytes / SHARDS as u64) as f64 * FILL;
        let shards = (0..SHARDS).map(|_| Mutex::new(TallyShard::new(limit as usize))).collect();
        let estimates = FixedState::with_seed(hash(seed, b"estimates"));
        let seeds = TallySeeds { tables: seed.clone(), estimates };
        Self { seeds, shards, classify, elsewhere: Mutex::default() }
    }

    /// The same with the seed of estimates, where other processes have it, too.
    pub(crate) fn estimating_by(mut self, seed: u64) -> Self {
        self.seeds.estimates = FixedState::with_seed(seed);
        self
    }

    /// Adds to the values of one shard: `value` gives hash, key and amount for each of `codes`, and
    /// all hashes have the top bits `shard`.
    pub(crate) fn add_all<'a>(&self, shard: usize, codes: &[u32], value: impl Fn(u32) -> (u64, &'a [u8], HitsAndBytes)) {
        let mut shard = self.shard(shard);
        for codes in codes.chunks(TOGETHER) {
            let likely = shard.likely(codes.iter().map(|&code| value(code).0));
            for (&code, likely) in codes.iter().zip(likely) {
                let (hash, key, amount) = value(code);
                match shard.entry_of(likely, key) {
                    Some(entry) => entry.add(amount),
                    None => shard.add(&self.seeds, self.classify.as_ref(), hash, key, amount),
                }
            }
        }
    }

    /// Adds to one value.
    pub(crate) fn add(&self, key: &[u8], amount: HitsAndBytes) {
        let hash = hash(&self.seeds.tables, key);
        self.shard(shard_of(hash)).add(&self.seeds, self.classify.as_ref(), hash, key, amount);
    }

    /// The `count` values with the most hits, ties by value.
    pub(crate) fn top(&self, count: usize) -> Top {
        let mut top = Top::default();
        let mut best = TopCandidates { rows: Vec::new(), count, bar: 0 };
        let (mut distinct, mut variance) = (0.0, 0.0);
        for shard in 0..SHARDS {
            let shard = self.shard(shard);
            let (estimate, deviation) = shard.distinct();
            distinct += estimate;
            variance += deviation * deviation;
            top.floor = top.floor.max(shard.floor + shard.turned_away.hits);
            top.hits += shard.dropped_hits();
            for entry in &shard.entries {
                top.hits += entry.hits;
                best.offer(&shard, entry);
            }
        }
        best.cut();
        top.rows = best.rows;
        (top.distinct, top.distinct_error) = match self.distinct_anywhere() {
            Some(estimated) => estimated,
            None => (distinct.round() as u64, if variance > 0.0 { variance.sqrt() / distinct } else { 0.0 }),
        };
        top
    }

    /// The total of each class; exact, also when values were dropped.
    pub(crate) fn classes(&self) -> HashMap<u32, HitsAndBytes> {
        let mut classes = HashMap::new();
        for shard in 0..SHARDS {
            let shard = self.shard(shard);
            for (&class, &amount) in &shard.dropped {
                classes.entry(class).or_insert_with(HitsAndBytes::default).add(amount);
            }
            for (entry, &class) in shard.entries.iter().zip(&shard.classes) {
                classes.entry(class).or_insert_with(HitsAndBytes::default).add(entry.amount());
            }
        }
        classes
    }

    /// Lets go of all memory.
    pub(crate) fn clear(&self) {
        for shard in 0..SHARDS {
            let mut shard = self.shard(shard);
            *shard = TallyShard::new(shard.limit_bytes);
        }
        *self.elsewhere() = None;
    }

    fn shard(&self, shard: usize) -> MutexGuard<'_, TallyShard> {
        self.shards[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The shard that a hash belongs to: its top bits, as the slots use the low ones.
pub(crate) fn shard_of(hash: u64) -> usize {
    (hash >> (64 - SHARDS.trailing_zeros())) as usize
}

#[derive(Debug)]
struct TallyShard {
    limit_bytes: usize,
    /// The hash's low half and the entry's index plus one; 0 is free. The place of a hash is its
    /// low half scaled to the number of slots, so the table can grow by any factor up to its limit.
    slots: Vec<u64>,
    entries: Vec<TallyEntry>,
    /// Classes of the entries; empty where the tally does not classify.
    classes: Vec<u32>,
    /// Keys, each after its length, in the order of the entries.
    arena: Vec<u8>,
    floor: u64,
    turned_away: OverlongKeys,
    sketch: Option<HllSketch>,
    dropped: HashMap<u32, HitsAndBytes>,
}

/// Sums of the keys that were too long.
#[derive(Debug, Clone, Copy)]
struct OverlongKeys {
    hits: u64,
    /// The shortest of them.
    key_bytes_min: usize,
}

#[derive(Debug, Clone, Copy)]
struct TallyEntry {
    start: u32,
    /// More than 2^32 would take 2^32 lines for each entry the shard has room for.
    missed: u32,
    hits: u64,
    bytes: u64,
}

impl TallyEntry {
    fn amount(&self) -> HitsAndBytes {
        HitsAndBytes { hits: self.hits, bytes: self.bytes }
    }

    #[inline]
    fn add(&mut self, amount: HitsAndBytes) {
        self.hits += amount.hits;
        self.bytes = self.bytes.saturating_add(amount.bytes);
    }

    fn hits_max(&self) -> u64 {
        self.hits + u64::from(self.missed)
    }
}

impl TallyShard {
    fn new(limit_bytes: usize) -> Self {
        // Places in the arena are 32 bits wide.
        let limit_bytes = limit_bytes.min(u32::MAX as usize);
        Self {
            limit_bytes,
            slots: Vec::new(),
            entries: Vec::new(),
            classes: Vec::new(),
            arena: Vec::new(),
            floor: 0,
            turned_away: OverlongKeys { hits: 0, key_bytes_min: usize::MAX },
            sketch: None,
            dropped: HashMap::new(),
        }
    }

    /// The entries that some hashes most likely have, each plus one, or 0. All that a comparison of
    /// their keys needs is in the cache then: the loads of each round do not depend on each other,
    /// so the processor waits for memory once a round and not three times a hash.
    fn likely(&self, hashes: impl Iterator<Item = u64>) -> [u32; TOGETHER] {
        let mut likely = [0; TOGETHER];
        if self.slots.is_empty() {
            return likely;
        }
        let (mut tags, mut count, mut loaded) = ([0; TOGETHER], 0, 0);
        for (tag, hash) in tags.iter_mut().zip(hashes) {
            *tag = hash as u32;
            loaded ^= self.slots[home(*tag, self.slots.len())];
            count += 1;
        }
        black_box(loaded);
        likely.iter_mut().zip(tags).take(count).for_each(|(entry, tag)| *entry = self.tagged(tag));
        let mut starts = [0; TOGETHER];
        for (start, entry) in starts.iter_mut().zip(likely) {
            *start = self.entries.get((entry as usize).wrapping_sub(1)).map_or(0, |entry| entry.start);
        }
        let mut lengths = 0;
        for start in starts {
            lengths ^= self.arena.get(start as usize).copied().unwrap_or(0);
        }
        black_box(lengths);
        likely
    }

    /// The first entry with that tag plus one; 0 for none.
    fn tagged(&self, tag: u32) -> u32 {
        let mut index = home(tag, self.slots.len());
        loop {
            let slot = self.slots[index];
            if slot == 0 || (slot >> 32) as u32 == tag {
                return slot as u32;
            }
            index = following(index, self.slots.len());
        }
    }

    /// The entry that [`TallyShard::likely`] gave, if it is that of the key.
    #[inline]
    fn entry_of(&mut self, likely: u32, key: &[u8]) -> Option<&mut TallyEntry> {
        let entry = self.entries.get_mut((likely as usize).wrapping_sub(1))?;
        (key_at(&self.arena, entry.start) == key).then_some(entry)
    }

    #[inline]
    fn add(&mut self, seeds: &TallySeeds, classify: Option<&Classify>, hash: u64, key: &[u8], amount: HitsAndBytes) {
        let Some(entry) = self.find(hash, key) else { return self.insert(seeds, classify, hash, key, amount) };
        self.entries[entry].add(amount);
    }

    /// The entry of a key.
    #[inline]
    fn find(&self, hash: u64, key: &[u8]) -> Option<usize> {
        let tag = hash as u32;
        if self.slots.is_empty() {
            return None;
        }
        let mut index = home(tag, self.slots.len());
        loop {
            let slot = self.slots[index];
            if slot == 0 {
                return None;
            }
            if (slot >> 32) as u32 == tag {
                let entry = (slot as u32 - 1) as usize;
                if key_at(&self.arena, self.entries[entry].start) == key {
                    return Some(entry);
                }
            }
            index = following(index, self.slots.len());
        }
    }

    /// The most hits that a key without an entry can have had: dropped with it, or turned away.
    fn missed(&self, key: &[u8]) -> u64 {
        self.floor + if key.len() >= self.turned_away.key_bytes_min { self.turned_away.hits } else { 0 }
    }

    fn insert(&mut self, seeds: &TallySeeds, classify: Option<&Classify>, hash: u64, key: &[u8], amount: HitsAndBytes) {
        if let Some(sketch) = &mut self.sketch {
            sketch.update(seeds.estimated(key));
        }
        let class = classify.map(|classify| classify(key));
        if !self.make_room(key.len(), class.is_some()) {
            self.start_sketch(seeds, key);
            let fits = self.may_drop_others(key.len(), class.is_some()) && {
                self.drop_some(&seeds.tables, class.is_some());
                self.make_room(key.len(), class.is_some())
            };
            if !fits {
                self.turned_away.hits += amount.hits;
                self.turned_away.key_bytes_min = self.turned_away.key_bytes_min.min(key.len());
                self.dropped.entry(class.unwrap_or_default()).or_default().add(amount);
                return;
            }
        }
        let start = self.arena.len() as u32;
        push_key(&mut self.arena, key);
        // It may be one that was turned away before there was room.
        let missed = u32::try_from(self.missed(key)).unwrap_or(u32::MAX);
        self.entries.push(TallyEntry { start, missed, hits: amount.hits, bytes: amount.bytes });
        self.classes.extend(class);
        place(&mut self.slots, hash as u32, self.entries.len() as u32);
    }

    /// True if a key is short enough, for what a shard can hold of keys, that others are dropped
    /// for it.
    fn may_drop_others(&self, key_bytes: usize, classified: bool) -> bool {
        let tables =
            self.slots.len().max(SLOTS_MIN) * size_of::<u64>() + self.entries.capacity().max(SLOTS_MIN) * entry_bytes(classified);
        (key_bytes + LENGTH_BYTES_MAX) * KEY_PART_MAX <= self.limit_bytes.saturating_sub(tables)
    }

    /// Makes room for one more entry within the limit; `false` when there is none.
    fn make_room(&mut self, key_bytes: usize, classified: bool) -> bool {
        let entry_bytes = entry_bytes(classified);
        let mut slots = self.slots.len();
        let mut entries = self.entries.capacity();
        let mut arena = self.arena.capacity();
        // At most five slots of six are used: linear probing stays short, and little is idle.
        if (self.entries.len() + 1) * 6 > slots * 5 {
            slots = (slots + slots / 2).max(SLOTS_MIN);
        }
        if self.entries.len() == entries {
            entries = (entries + entries / 4).max(SLOTS_MIN);
        }
        if self.arena.len() + key_bytes + LENGTH_BYTES_MAX > arena {
            arena = (arena + arena / 4).max(arena + key_bytes + LENGTH_BYTES_MAX).max(1 << 10);
        }
        let cost = |slots, entries, arena| slots * size_of::<u64>() + entries * entry_bytes + arena;
        if cost(slots, entries, arena) > self.limit_bytes {
            return false;
        }
        if slots > self.slots.len() {
            self.regrow_slots(slots);
        }
        self.entries.reserve_exact(entries - self.entries.len());
        if classified {
            self.classes.reserve_exact(entries - self.classes.len());
        }
        self.arena.reserve_exact(arena - self.arena.len());
        true
    }

    fn regrow_slots(&mut self, length: usize) {
        let mut slots = vec![0; length];
        for &slot in self.slots.iter().filter(|slot| **slot != 0) {
            place(&mut slots, (slot >> 32) as u32, slot as u32);
        }
        self.slots = slots;
    }

    /// Drops the entries with the fewest hits, about half of all.
    #[cold]
    fn drop_some(&mut self, seed: &Seed, classified: bool) {
        let threshold = self.median_hits();
        self.floor = self.floor.max(threshold);
        self.slots.fill(0);
        let (mut kept, mut arena_end) = (0, 0);
        for index in 0..self.entries.len() {
            let mut entry = self.entries[index];
            let key = key_at(&self.arena, entry.start);
            let hash = hash(seed, key);
            if entry.hits_max() <= threshold {
                let class = if classified { self.classes[index] } else { 0 };
                self.dropped.entry(class).or_default().add(entry.amount());
                continue;
            }
            let (from, to) = stored_range(&self.arena, entry.start);
            self.arena.copy_within(from..to, arena_end);
            entry.start = arena_end as u32;
            arena_end += to - from;
            self.entries[kept] = entry;
            if classified {
                self.classes[kept] = self.classes[index];
            }
            kept += 1;
            place(&mut self.slots, hash as u32, kept as u32);
        }
        self.entries.truncate(kept);
        self.classes.truncate(kept);
        self.arena.truncate(arena_end);
    }

    /// From now on the entries are not all that came: counts distinct values by the sketch, the one
    /// that is coming included.
    fn start_sketch(&mut self, seeds: &TallySeeds, coming: &[u8]) {
        if self.sketch.is_some() {
            return;
        }
        let Ok(mut sketch) = HllSketch::new(SKETCH_LOG_REGISTERS, HllType::Hll8) else { return };
        self.entries.iter().for_each(|entry| sketch.update(seeds.estimated(key_at(&self.arena, entry.start))));
        sketch.update(seeds.estimated(coming));
        self.sketch = Some(sketch);
    }

    /// The median of what the entries may have at most, from a sample of them.
    fn median_hits(&self) -> u64 {
        let step = (self.entries.len() / 1024).max(1);
        let mut sample: Vec<u64> = self.entries.iter().step_by(step).map(TallyEntry::hits_max).collect();
        let middle = sample.len() / 2;
        if sample.is_empty() { 0 } else { *sample.select_nth_unstable(middle).1 }
    }

    /// The number of distinct values and its uncertainty (two standard deviations).
    fn distinct(&self) -> (f64, f64) {
        match &self.sketch {
            None => (self.entries.len() as f64, 0.0),
            Some(sketch) => {
                let estimate = sketch.estimate();
                let above = sketch.upper_bound(NumStdDev::Two) - estimate;
                (estimate, above.max(estimate - sketch.lower_bound(NumStdDev::Two)))
            }
        }
    }

    fn dropped_hits(&self) -> u64 {
        self.dropped.values().map(|amount| amount.hits).sum()
    }
}

fn entry_bytes(classified: bool) -> usize {
    size_of::<TallyEntry>() + if classified { size_of::<u32>() } else { 0 }
}

/// Candidates for the top rows; at most twice as many as wanted.
struct TopCandidates {
    rows: Vec<TopRow>,
    count: usize,
    /// Fewer hits than this can't be among the best any more.
    bar: u64,
}

impl TopCandidates {
    fn offer(&mut self, shard: &TallyShard, entry: &TallyEntry) {
        if entry.hits < self.bar {
            return;
        }
        let key = key_at(&shard.arena, entry.start);
        let key = key[..key.len().min(KEY_BYTES_SHOWN + 1)].to_vec();
        self.rows.push(TopRow { key, amount: entry.amount(), missed: entry.missed.into() });
        if self.rows.len() >= 2 * self.count.max(1) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        sort_rows(&mut self.rows, self.count);
        if self.rows.len() == self.count {
            self.bar = self.rows.last().map_or(0, |row| row.amount.hits);
        }
    }
}

/// Most hits first, ties by value; only the first `count`.
pub(crate) fn sort_rows(rows: &mut Vec<TopRow>, count: usize) {
    rows.sort_unstable_by(|a, b| b.amount.hits.cmp(&a.amount.hits).then_with(|| a.key.cmp(&b.key)));
    rows.truncate(count);
}

#[inline]
fn home(tag: u32, slots: usize) -> usize {
    ((u64::from(tag) * slots as u64) >> 32) as usize
}

#[inline]
fn following(index: usize, slots: usize) -> usize {
    if index + 1 == slots { 0 } else { index + 1 }
}

fn place(slots: &mut [u64], tag: u32, entry: u32) {
    let mut index = home(tag, slots.len());
    while slots[index] != 0 {
        index = following(index, slots.len());
    }
    slots[index] = u64::from(tag) << 32 | u64::from(entry);
}

/// Bytes that a key's length takes at most.
const LENGTH_BYTES_MAX: usize = 5;

/// Lengths below this take one byte; longer ones this byte and four.
const LONG: u8 = 0xff;

fn push_key(arena: &mut Vec<u8>, key: &[u8]) {
    match u8::try_from(key.len()) {
        Ok(length) if length < LONG => arena.push(length),
        _ => {
            arena.push(LONG);
            arena.extend_from_slice(&(key.len() as u32).to_le_bytes());
        }
    }
    arena.extend_from_slice(key);
}

#[inline]
fn key_range(arena: &[u8], start: u32) -> (usize, usize) {
    let start = start as usize;
    match arena[start] {
        LONG => {
            let mut length = [0; 4];
            length.copy_from_slice(&arena[start + 1..start + 5]);
            (start + 5, start + 5 + u32::from_le_bytes(length) as usize)
        }
        length => (start + 1, start + 1 + length as usize),
    }
}

#[inline]
fn key_at(arena: &[u8], start: u32) -> &[u8] {
    let (from, to) = key_range(arena, start);
    &arena[from..to]
}

fn stored_range(arena: &[u8], start: u32) -> (usize, usize) {
    (start as usize, key_range(arena, start).1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    pub(super) const ONE: HitsAndBytes = HitsAndBytes { hits: 1, bytes: 10 };

    /// A skewed stream of keys, longer ones among them: key k comes about `scale / k` times.
    pub(super) fn feed(tally: &FieldTally, keys: u64, scale: u64) -> HashMap<Vec<u8>, u64> {
        let mut truth: HashMap<Vec<u8>, u64> = HashMap::new();
        for round in 0..scale {
            for k in 1..=keys {
                // Key k comes in every k-th round, and once for sure.
                if round % k == 0 || round == k % scale {
                    let key = format!("/{k}/{}", "x".repeat((k % 7 * 60) as usize)).into_bytes();
                    tally.add(&key, ONE);
                    *truth.entry(key).or_default() += 1;
                }
            }
        }
        truth
    }

    #[test]
    fn exact_while_it_fits() {
        let tally = FieldTally::new(&Seed::default(), 64 << 20, None);
        let truth = feed(&tally, 3_000, 50);
        let top = tally.top(100_000);
        assert_eq!((top.floor, top.distinct_error, top.distinct), (0, 0.0, truth.len() as u64));
        assert_eq!(top.hits, truth.values().sum::<u64>());
        assert_eq!(top.rows.len(), truth.len());
        for row in &top.rows {
            assert_eq!((row.amount.hits, row.amount.bytes), (truth[&row.key], 10 * truth[&row.key]));
        }
        assert!(top.rows.windows(2).all(|pair| (pair[1].amount.hits, &pair[0].key) < (pair[0].amount.hits, &pair[1].key)
            || pair[1].amount.hits < pair[0].amount.hits));
        let ten = tally.top(10).rows;
        assert_eq!(ten, top.rows[..10]);
    }

    #[test]
    fn bounds_hold_beyond_the_share() {
        let tally = FieldTally::new(&Seed::default(), 1 << 20, None);
        let truth = feed(&tally, 20_000, 40);
        let top = tally.top(100_000);
        assert!(top.floor > 0, "the share was meant to be too small");
        assert_eq!(top.hits, truth.values().sum::<u64>(), "dropped hits still count in the total");
        let mut listed = HashMap::new();
        for row in &top.rows {
            let true_hits = truth[&row.key];
            assert!(row.amount.hits <= true_hits && true_hits <= row.amount.hits + row.missed, "{row:?}: {true_hits}");
            listed.insert(row.key.clone(), ());
        }
        for (key, hits) in &truth {
            assert!(listed.contains_key(key) || *hits <= top.floor, "{hits} hits are not listed, the floor is {}", top.floor);
        }
        let off = (top.distinct as f64 - truth.len() as f64).abs() / truth.len() as f64;
        assert!(
            off <= 2.0 * top.distinct_error,
            "{} distinct of {}, stated error {}",
            top.distinct,
            truth.len(),
            top.distinct_error
        );
        for shard in &tally.shards {
            let shard = shard.lock().unwrap();
            let bytes = shard.slots.capacity() * 8 + shard.entries.capacity() * size_of::<TallyEntry>() + shard.arena.capacity();
            assert!(bytes <= shard.limit_bytes, "{bytes} bytes in a shard of {}", shard.limit_bytes);
        }
    }

    #[test]
    fn values_side_by_side_are_those_one_by_one() {
        let seed = Seed::default();
        // Enough for all, and so little that values are dropped while others are looked up.
        for share_bytes in [64 << 20, 256 << 10] {
            let classify: Classify = Arc::new(|key: &[u8]| key.len() as u32 % 3);
            let tallies = [(); 2].map(|()| FieldTally::new(&seed, share_bytes, Some(Arc::clone(&classify))));
            for round in 0..40_u64 {
                let keys = (0..5_000_u64).map(|n| format!("/{}/{}", (n * n + round * 77) % 9_001, "x".repeat(n as usize % 90)));
                let mut values: Vec<(u64, String)> = keys.map(|key| (hash(&seed, key.as_bytes()), key)).collect();
                values.sort_by_key(|(hash, _)| shard_of(*hash));
                let amount = |code: u32| HitsAndBytes { hits: 1 + u64::from(code % 3), bytes: code.into() };
                let codes: Vec<u32> = (0..values.len() as u32).collect();
                let shard = |code: u32| shard_of(values[code as usize].0);
                for codes in codes.chunk_by(|one, other| shard(*one) == shard(*other)) {
                    let value = |code: u32| (values[code as usize].0, values[code as usize].1.as_bytes(), amount(code));
                    tallies[0].add_all(shard(codes[0]), codes, value);
                }
                values.iter().zip(0..).for_each(|((_, key), code)| tallies[1].add(key.as_bytes(), amount(code)));
            }
            let [all, one] = tallies.each_ref().map(|tally| (tally.top(100_000), tally.classes()));
            assert_eq!(all.0.floor > 0, share_bytes < 1 << 20);
            assert_eq!((all.0.rows, all.0.hits, all.0.floor, all.1), (one.0.rows, one.0.hits, one.0.floor, one.1));
        }
    }

    #[test]
    fn classes_stay_exact_beyond_the_share() {
        let classify: Classify = Arc::new(|key: &[u8]| u32::from(key.len().is_multiple_of(3)));
        let tally = FieldTally::new(&Seed::default(), 1 << 20, Some(Arc::clone(&classify)));
        let truth = feed(&tally, 20_000, 10);
        let expected: u64 = truth.iter().filter(|(key, _)| classify(key) == 1).map(|(_, hits)| hits).sum();
        assert!(tally.top(1).floor > 0);
        assert_eq!(tally.classes()[&1], HitsAndBytes { hits: expected, bytes: expected * 10 });
    }

    #[test]
    fn a_key_larger_than_the_share_is_bounded_too() {
        let tally = FieldTally::new(&Seed::default(), 64 << 10, None);
        tally.add(&vec![b'x'; 200 << 10], ONE);
        tally.add(b"small", ONE);
        let top = tally.top(10);
        assert_eq!(top.hits, 2);
        assert_eq!(top.rows.len(), 1);
        assert_eq!(top.floor, 1);
        assert_eq!((top.distinct, top.distinct_error > 0.0), (2, true), "it was seen, if not kept");
    }

    #[test]
    fn a_key_that_can_not_fit_costs_the_others_nothing() {
        let classify: Classify = Arc::new(|key: &[u8]| key.len() as u32 / 1_000);
        let tally = FieldTally::new(&Seed::default(), 2 << 20, Some(classify));
        let mut truth = HashMap::new();
        for round in 0..3 {
            for n in 0..16_000u32 {
                let key = format!("/{n}").into_bytes();
                tally.add(&key, ONE);
                *truth.entry(key).or_insert(0u64) += 1;
            }
            // Far more than a shard, most of one, and a fifth: each shard meets each.
            for size in [400_000, 100_000, 24_000] {
                (0..100).for_each(|n| tally.add(&[vec![b'x'; size], vec![n]].concat(), ONE));
            }
            assert_eq!(tally.top(1).hits, (round + 1) * 16_300);
        }
        let top = tally.top(100_000);
        let short = top.rows.iter().filter(|row| row.key.len() < 100);
        assert_eq!(short.clone().count(), truth.len(), "none was dropped");
        for row in short {
            assert_eq!((row.amount.hits, row.missed), (truth[&row.key], 0), "{row:?}");
        }
        assert!(top.floor > 0, "but what was turned away is owned up to");
        let classes = tally.classes();
        assert_eq!([400, 100, 24].map(|class| classes[&class].hits), [300, 300, 300]);
    }
}

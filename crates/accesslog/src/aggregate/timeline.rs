//! Lines over time, by status class, at the finest width that fits a fixed number of buckets.
// Indices and numbers of buckets are far below 2^63.
#![allow(clippy::cast_possible_wrap)]

use super::totals::HITS_MAX;
use crate::status_class::CLASSES;
use std::collections::BTreeMap;

/// Buckets of one chunk.
const CHUNK: usize = 256;

/// Chunks held before the width grows; 256 of 10 KiB are 2.6 MiB. Only chunks with lines in them
/// count, so a single wrong date in the year 1970 costs one chunk and not the resolution of all
/// others.
const CHUNKS_MAX: usize = 256;

/// Most memory a timeline takes, in bytes.
pub(crate) const TIMELINE_BYTES: u64 = (CHUNKS_MAX as u64 + 1) * (CHUNK * CLASSES.len() * 8 + 64) as u64;

/// Widths of a bucket; each divides the next, so that buckets can be joined without splitting any.
pub const WIDTHS_SECONDS: [i64; 17] =
    [1, 5, 15, 30, 60, 120, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 604_800, 2_419_200, 29_030_400, 290_304_000];

const _: () = {
    let mut index = 1;
    while index < WIDTHS_SECONDS.len() {
        assert!(WIDTHS_SECONDS[index] % WIDTHS_SECONDS[index - 1] == 0);
        index += 1;
    }
};

type ClassCounts = [u64; CLASSES.len()];

/// Counts by bucket and class.
#[derive(Debug, Clone, Default)]
pub(crate) struct BucketCounts {
    /// Index into [`WIDTHS_SECONDS`].
    level: usize,
    chunks: BTreeMap<i64, Box<[ClassCounts; CHUNK]>>,
    /// The chunk that was last added to, out of the map: lines come nearly in order of time.
    current: Option<(i64, Box<[ClassCounts; CHUNK]>)>,
}

/// Non-empty buckets of a timeline, for another one.
#[derive(Debug, Clone, serde::Serialize, serde::Deserialize)]
pub(crate) struct TimelinePart {
    level: u8,
    rows: Vec<(i64, ClassCounts)>,
}

/// Seconds beyond the earliest and latest time in microseconds, by the widest bucket.
const SECONDS_MAX: u64 = (i64::MAX / 1_000_000 + 2 * WIDTHS_SECONDS[WIDTHS_SECONDS.len() - 1]) as u64;

/// Non-empty buckets of a span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Buckets {
    pub(crate) width_seconds: i64,
    pub(crate) finest_seconds: i64,
    pub(crate) rows: Vec<(i64, ClassCounts)>,
}

impl BucketCounts {
    /// Counts `hits` lines of one class at a time in Unix seconds.
    #[inline]
    pub(crate) fn add(&mut self, second: i64, class: usize, hits: u64) {
        let bucket = second.div_euclid(WIDTHS_SECONDS[self.level]);
        let chunk = bucket.div_euclid(CHUNK as i64);
        match &mut self.current {
            Some((current, counts)) if *current == chunk => {
                counts[bucket.rem_euclid(CHUNK as i64) as usize][class] += hits;
            }
            _ => self.add_elsewhere(second, class, hits),
        }
    }

    #[cold]
    fn add_elsewhere(&mut self, second: i64, class: usize, hits: u64) {
        self.put_back();
        let bucket = second.div_euclid(WIDTHS_SECONDS[self.level]);
        let chunk = bucket.div_euclid(CHUNK as i64);
        let mut counts = self.chunks.remove(&chunk).unwrap_or_else(|| Box::new([ClassCounts::default(); CHUNK]));
        counts[bucket.rem_euclid(CHUNK as i64) as usize][class] += hits;
        self.current = Some((chunk, counts));
        if self.chunks.len() >= CHUNKS_MAX {
            self.coarsen();
        }
    }

    fn put_back(&mut self) {
        if let Some((chunk, counts)) = self.current.take() {
            self.chunks.insert(chunk, counts);
        }
    }

    fn coarsen(&mut self) {
        self.put_back();
        while self.chunks.len() >= CHUNKS_MAX && self.level + 1 < WIDTHS_SECONDS.len() {
            self.widen();
        }
    }

    /// Joins buckets to those of the next width.
    fn widen(&mut self) {
        let factor = WIDTHS_SECONDS[self.level + 1] / WIDTHS_SECONDS[self.level];
        self.level += 1;
        // In ascending order, each chunk is gone before the one it is joined into is complete.
        let mut joined: BTreeMap<i64, Box<[ClassCounts; CHUNK]>> = BTreeMap::new();
        while let Some((chunk, counts)) = self.chunks.pop_first() {
            for (index, counts) in counts.iter().enumerate().filter(|(_, counts)| **counts != ClassCounts::default()) {
                let bucket = (chunk * CHUNK as i64 + index as i64).div_euclid(factor);
                let target =
                    joined.entry(bucket.div_euclid(CHUNK as i64)).or_insert_with(|| Box::new([ClassCounts::default(); CHUNK]));
                join(&mut target[bucket.rem_euclid(CHUNK as i64) as usize], counts);
            }
        }
        self.chunks = joined;
    }

    /// All buckets, for another timeline.
    pub(crate) fn part(&mut self) -> TimelinePart {
        self.put_back();
        TimelinePart { level: self.level as u8, rows: self.iter().map(|(start, counts)| (start, *counts)).collect() }
    }

    /// Adds the buckets of another timeline; false if they are of none.
    pub(crate) fn absorb(&mut self, part: &TimelinePart) -> bool {
        let level = usize::from(part.level);
        let is_time = |(start, _): &(i64, ClassCounts)| start.unsigned_abs() <= SECONDS_MAX;
        let is_count = |(_, counts): &(i64, ClassCounts)| counts.iter().all(|hits| *hits < HITS_MAX);
        if level >= WIDTHS_SECONDS.len() || !part.rows.iter().all(|row| is_time(row) && is_count(row)) {
            return false;
        }
        self.put_back();
        while self.level < level {
            self.widen();
        }
        for (start, counts) in &part.rows {
            for (class, hits) in counts.iter().enumerate().filter(|(_, hits)| **hits > 0) {
                self.add(*start, class, *hits);
            }
        }
        true
    }

    /// Buckets of `[from, to)` (either end open), widened until at most `count_max` would span it.
    pub(crate) fn buckets(&mut self, from: Option<i64>, to: Option<i64>, count_max: usize) -> Buckets {
        self.put_back();
        let finest_seconds = WIDTHS_SECONDS[self.level];
        let from = from.unwrap_or(i64::MIN).max(self.first().unwrap_or(0));
        let to = to.unwrap_or(i64::MAX).min(self.last().map_or(0, |last| last + finest_seconds));
        let span = to.saturating_sub(from).max(1);
        let width_seconds = display_width(finest_seconds, span, count_max as i64);
        let mut rows: Vec<(i64, ClassCounts)> = Vec::new();
        for (start, counts) in self.iter() {
            // A bucket belongs to the span when any of it does.
            if start + finest_seconds <= from || start >= to {
                continue;
            }
            let at = start.div_euclid(width_seconds) * width_seconds;
            match rows.last_mut() {
                Some((last, sums)) if *last == at => join(sums, counts),
                _ => rows.push((at, *counts)),
            }
        }
        Buckets { width_seconds, finest_seconds, rows }
    }

    fn iter(&self) -> impl DoubleEndedIterator<Item = (i64, &ClassCounts)> {
        let width = WIDTHS_SECONDS[self.level];
        self.chunks.iter().flat_map(move |(chunk, counts)| {
            let used = counts.iter().enumerate().filter(|(_, counts)| **counts != ClassCounts::default());
            used.map(move |(index, counts)| ((chunk * CHUNK as i64 + index as i64) * width, counts))
        })
    }

    fn first(&self) -> Option<i64> {
        self.iter().next().map(|(start, _)| start)
    }

    fn last(&self) -> Option<i64> {
        self.iter().next_back().map(|(start, _)| start)
    }
}

/// The least round width, a multiple of `finest`, with which at most `count_max` buckets span
/// `span` seconds.
fn display_width(finest: i64, span: i64, count_max: i64) -> i64 {
    const ROUND: [i64; 31] = [
        1,
        2,
        5,
        10,
        15,
        20,
        30,
        60,
        120,
        300,
        600,
        900,
        1_200,
        1_800,
        3_600,
        7_200,
        10_800,
        14_400,
        21_600,
        28_800,
        43_200,
        86_400,
        172_800,
        604_800,
        1_209_600,
        2_419_200,
        7_257_600,
        14_515_200,
        29_030_400,
        145_152_000,
        290_304_000,
    ];
    let wanted = span / count_max.max(1) + i64::from(span % count_max.max(1) != 0);
    let fits = |width: &i64| *width >= wanted && width % finest == 0;
    ROUND.into_iter().find(fits).unwrap_or_else(|| wanted.div_euclid(finest).max(0).saturating_add(1).saturating_mul(finest))
}

fn join(sums: &mut ClassCounts, counts: &ClassCounts) {
    for (sum, count) in sums.iter_mut().zip(counts) {
        *sum += count;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total(buckets: &Buckets) -> u64 {
        buckets.rows.iter().map(|(_, counts)| counts.iter().sum::<u64>()).sum()
    }

    #[test]
    fn counts_by_second_while_there_is_room() {
        let mut timeline = BucketCounts::default();
        for (second, status) in [(100, 200), (100, 404), (101, 500), (90, 301), (-1, 0)] {
            timeline.add(second, crate::status_class::class_of(status), 1);
        }
        let buckets = timeline.buckets(Some(90), None, 400);
        assert_eq!((buckets.width_seconds, buckets.finest_seconds), (1, 1));
        assert_eq!(buckets.rows, [(90, [0, 1, 0, 0, 0]), (100, [1, 0, 1, 0, 0]), (101, [0, 0, 0, 1, 0])]);
        assert_eq!(timeline.buckets(None, Some(0), 400).rows, [(-1, [0, 0, 0, 0, 1])]);
        assert_eq!(timeline.buckets(None, None, 1).rows.len(), 2, "aligned to UTC, -1 and 100 lie on two sides of 0");
    }

    #[test]
    fn ninety_days_are_held_at_two_minutes() {
        let mut timeline = BucketCounts::default();
        let start = 1_735_689_600;
        for minute in 0..90 * 24 * 60 {
            timeline.add(start + minute * 60, 0, 1);
        }
        let whole = timeline.buckets(None, None, 400);
        assert_eq!((whole.finest_seconds, whole.width_seconds), (120, 21_600));
        assert_eq!(total(&whole), 90 * 24 * 60);
        let hour = timeline.buckets(Some(start + 3_600), Some(start + 7_200), 400);
        assert_eq!((hour.width_seconds, hour.rows.len(), total(&hour)), (120, 30, 60));
    }

    #[test]
    fn one_wrong_date_does_not_cost_the_resolution() {
        let mut timeline = BucketCounts::default();
        timeline.add(0, 0, 1);
        timeline.add(253_402_300_799, 0, 1);
        for second in 0..3_600 {
            timeline.add(1_700_000_000 + second, 1, 1);
        }
        let hour = timeline.buckets(Some(1_700_000_000), Some(1_700_003_600), 4_000);
        assert_eq!((hour.width_seconds, total(&hour)), (1, 3_600));
        assert_eq!(total(&timeline.buckets(None, None, 100)), 3_602);
    }

    #[test]
    fn any_order_of_times_gives_the_same_counts() {
        let times: Vec<i64> = (0..200_000i64).map(|n| (n * 7_919_993) % 50_000_000).collect();
        let mut forward = BucketCounts::default();
        let mut backward = BucketCounts::default();
        times.iter().for_each(|&time| forward.add(time, 2, 1));
        times.iter().rev().for_each(|&time| backward.add(time, 2, 1));
        assert_eq!(forward.buckets(None, None, 300), backward.buckets(None, None, 300));
        assert_eq!(total(&forward.buckets(None, None, 300)), 200_000);
    }

    /// Timelines that are added up are the same as one of all times.
    #[test]
    fn parts_make_the_whole() {
        for spread in [1_000, 100_000, 50_000_000, 4_000_000_000] {
            let mut whole = BucketCounts::default();
            let mut parts = [const { BucketCounts { level: 0, chunks: BTreeMap::new(), current: None } }; 3];
            for n in 0..30_000i64 {
                let (time, class) = ((n * 7_919_993) % spread, (n % 5) as usize);
                whole.add(time, class, 1);
                parts[(time * 3 / spread) as usize].add(time, class, 1);
            }
            let mut sum = BucketCounts::default();
            for mut part in parts {
                assert!(sum.absorb(&part.part()));
            }
            assert_eq!(sum.level, whole.level);
            assert_eq!(sum.buckets(None, None, 1_000), whole.buckets(None, None, 1_000));
        }
        let mut sum = BucketCounts::default();
        let foreign = |level, start| TimelinePart { level, rows: vec![(start, [1; 5])] };
        assert!(!sum.absorb(&foreign(17, 0)) && !sum.absorb(&foreign(0, i64::MIN)) && !sum.absorb(&foreign(0, i64::MAX)));
    }

    #[test]
    fn extreme_times_do_not_overflow() {
        let mut timeline = BucketCounts::default();
        for second in [i64::MIN / 1_000_000, i64::MAX / 1_000_000, 0] {
            timeline.add(second, 0, 1);
        }
        assert_eq!(total(&timeline.buckets(None, None, 10)), 3);
    }
}

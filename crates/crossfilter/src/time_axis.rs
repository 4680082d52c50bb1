//! Rows over time, by series and by how long they took.

use crate::codes::{ColumnCode, with_codes};
use crate::limits::SERIES_MAX;
use crate::numbers::CodedNumbers;
use crate::segment::{CodedColumnRef, unbiased};
use rorqual_accesslog::aggregate::WIDTHS_SECONDS;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Hours of a week, Monday's first hour first.
pub(crate) const WEEK_HOURS: usize = 168;

/// The bucket of a row without time, or outside of the axis.
pub(crate) const NO_BUCKET: u32 = u32::MAX;

/// Borders of the bands of times that requests took, in microseconds: the first band is below the
/// first.
pub(crate) const BANDS_US: [u64; 16] = [
    1_000,
    2_000,
    5_000,
    10_000,
    20_000,
    50_000,
    100_000,
    200_000,
    500_000,
    1_000_000,
    2_000_000,
    5_000_000,
    10_000_000,
    20_000_000,
    50_000_000,
    100_000_000,
];

/// Number of bands, with one after the last border.
pub(crate) const BANDS: usize = BANDS_US.len() + 1;

/// Buckets of time, aligned to UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Axis {
    /// Number of the first bucket, counted from 1970 on.
    first: i64,
    pub(crate) width_seconds: i64,
    pub(crate) buckets: usize,
}

impl Axis {
    /// The finest axis from the first to the last time (as in segments) with at most `buckets_max`
    /// buckets, give or take the alignment.
    pub(crate) fn new(first: u64, last: u64, buckets_max: usize) -> Self {
        let wider = std::iter::successors(WIDTHS_SECONDS.last().copied(), |width| width.checked_mul(2));
        Self::finest((first, last), WIDTHS_SECONDS.into_iter().chain(wider), buckets_max)
    }

    /// The same with buckets of this width, or of the least doubling that is not too fine.
    pub(crate) fn of_width(first: u64, last: u64, width_seconds: i64, buckets_max: usize) -> Self {
        Self::finest((first, last), std::iter::successors(Some(width_seconds.max(1)), |width| width.checked_mul(2)), buckets_max)
    }

    fn finest((first, last): (u64, u64), mut widths: impl Iterator<Item = i64>, buckets_max: usize) -> Self {
        let (first, last) = (unbiased(first).div_euclid(1_000_000), unbiased(last).div_euclid(1_000_000));
        let fits = |width: &i64| last.div_euclid(*width) - first.div_euclid(*width) <= buckets_max.max(1).cast_signed() as i64;
        let width_seconds = widths.find(fits).unwrap_or(i64::MAX);
        let number = |seconds: i64| seconds.div_euclid(width_seconds);
        Self { first: number(first), width_seconds, buckets: (number(last) - number(first) + 1).unsigned_abs() as usize }
    }

    /// Bucket of a time in Unix seconds: below 0, or beyond the last one, where it is not on the
    /// axis.
    pub(crate) fn bucket(&self, seconds: i64) -> i64 {
        seconds.div_euclid(self.width_seconds).saturating_sub(self.first)
    }

    /// True if an axis of at most so many buckets may be so, which was read from a file.
    pub(crate) fn is_sound(&self, buckets_max: usize) -> bool {
        let last = self.first.checked_add(self.buckets.cast_signed() as i64);
        let has_end = last.and_then(|last| last.checked_mul(self.width_seconds)).is_some();
        let has_start = self.first.checked_mul(self.width_seconds).is_some();
        self.width_seconds > 0 && self.buckets <= buckets_max && has_start && has_end
    }

    /// Start of a bucket, in Unix seconds.
    pub(crate) fn start(&self, bucket: usize) -> i64 {
        (self.first + bucket.cast_signed() as i64) * self.width_seconds
    }

    /// Stretches of rows in one bucket.
    pub(crate) fn place(&self, times: &CodedNumbers, rows: &[u16], places: &mut Vec<BucketRun>) {
        let width_us = i128::from(self.width_seconds) * 1_000_000;
        places.clear();
        stretches(times, rows, places, |time| {
            let number = i128::from(unbiased(time)).div_euclid(width_us);
            let bucket = u32::try_from(number - i128::from(self.first)).ok().filter(|bucket| (*bucket as usize) < self.buckets);
            let biased = |time_us: i128| u64::try_from(time_us + (1 << 63)).unwrap_or(if time_us < 0 { 0 } else { u64::MAX });
            (biased(number * width_us)..biased((number + 1) * width_us), bucket.unwrap_or(NO_BUCKET))
        });
    }
}

/// Rows of a list that belong to one bucket: up to `end`, from where the stretch before ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BucketRun {
    pub(crate) end: usize,
    pub(crate) bucket: u32,
}

/// Finds the stretches of `rows` in one bucket. `bucket_of` gives the bucket of a time, and the
/// times that it has: rows come nearly in order, so it is seldom asked.
pub(crate) fn stretches(
    times: &CodedNumbers,
    rows: &[u16],
    found: &mut Vec<BucketRun>,
    mut bucket_of: impl FnMut(u64) -> (Range<u64>, u32),
) {
    let mut last = (0..0, NO_BUCKET);
    let mut index = 0;
    times.each(rows, |_, time| {
        let (is_same, time) =
            time.map_or((last.1 == NO_BUCKET && last.0.is_empty(), None), |time| (last.0.contains(&time), Some(time)));
        if !is_same {
            let next = time.map_or((0..0, NO_BUCKET), &mut bucket_of);
            if next.1 != last.1 {
                found.push(BucketRun { end: index, bucket: last.1 });
            }
            last = next;
        }
        index += 1;
    });
    found.push(BucketRun { end: index, bucket: last.1 });
}

/// Calls `each` with the bucket and the rows of each stretch, but for those in no bucket.
pub(crate) fn each_stretch<T>(places: &[BucketRun], rows: &[T], mut each: impl FnMut(usize, &[T])) {
    let mut start = 0;
    for stretch in places {
        if stretch.bucket != NO_BUCKET {
            each(stretch.bucket as usize, &rows[start..stretch.end]);
        }
        start = stretch.end;
    }
}

/// Counts by bucket and, within it, by series or band.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Grid {
    columns: usize,
    counts: Vec<u64>,
}

impl Grid {
    pub(crate) fn new(buckets: usize, columns: usize) -> Self {
        Self { columns, counts: vec![0; buckets * columns] }
    }

    /// True if it has so many buckets and columns, and at most so many rows.
    pub(crate) fn is_of(&self, buckets: usize, columns: usize, rows: u64) -> bool {
        let sum = self.counts.iter().try_fold(0u64, |sum, count| sum.checked_add(*count));
        let length = buckets.checked_mul(columns);
        self.columns == columns && Some(self.counts.len()) == length && sum.is_some_and(|sum| sum <= rows)
    }

    pub(crate) fn take(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, other)| *own += other);
    }

    /// The same counts of `own` buckets on an axis of `coarser` ones; `None` where these are not
    /// made of whole ones.
    pub(crate) fn joined(&self, own: &Axis, coarser: &Axis) -> Option<Self> {
        if coarser.width_seconds % own.width_seconds != 0 {
            return None;
        }
        let mut joined = Self::new(coarser.buckets, self.columns);
        for bucket in 0..own.buckets {
            let number = own.start(bucket).div_euclid(coarser.width_seconds) - coarser.first;
            let number = usize::try_from(number).ok().filter(|number| *number < coarser.buckets)?;
            let counts = &mut joined.counts[number * self.columns..(number + 1) * self.columns];
            counts.iter_mut().zip(self.bucket(bucket)).for_each(|(sum, more)| *sum += more);
        }
        Some(joined)
    }

    /// The same counts with more columns, which have none.
    pub(crate) fn widened(&self, columns: usize) -> Self {
        let mut wider = Self::new(self.counts.len() / self.columns.max(1), columns.max(self.columns));
        for (own, counts) in self.counts.chunks(self.columns.max(1)).zip(wider.counts.chunks_mut(columns.max(1))) {
            counts[..own.len()].copy_from_slice(own);
        }
        wider
    }

    /// All counts of each bucket in the last one of so many columns.
    pub(crate) fn joined_into_last(&self, buckets: usize, columns: usize) -> Self {
        let mut joined = Self::new(buckets, columns);
        for bucket in 0..buckets {
            joined.counts[(bucket + 1) * columns - 1] = self.bucket(bucket).iter().sum();
        }
        joined
    }

    pub(crate) fn bucket(&self, bucket: usize) -> &[u64] {
        &self.counts[bucket * self.columns..(bucket + 1) * self.columns]
    }

    /// Adds rows in `places`, each in the series of its code.
    pub(crate) fn add_series(&mut self, places: &[BucketRun], rows: &[u16], column: &CodedColumnRef, series_of: &[u8]) {
        let rest = (self.columns - 1) as u8;
        let local: Vec<u8> =
            column.globals.iter().map(|global| series_of.get(*global as usize).copied().unwrap_or(rest)).collect();
        let Self { columns, counts } = self;
        each_stretch(places, rows, |bucket, rows| {
            let counts = &mut counts[bucket * *columns..(bucket + 1) * *columns];
            with_codes!(
                &column.codes,
                constant => counts[usize::from(local[*constant as usize])] += rows.len() as u64,
                codes => add_codes(codes, rows, &local, counts)
            );
        });
    }

    /// Adds rows in `places`, each in the band of the time that it took.
    pub(crate) fn add_bands(&mut self, places: &[BucketRun], rows: &[u16], times: &CodedNumbers) {
        let Self { columns, counts } = self;
        each_stretch(places, rows, |bucket, rows| {
            let counts = &mut counts[bucket * *columns..(bucket + 1) * *columns];
            times.each(rows, |_, time_us| {
                if let Some(time_us) = time_us {
                    counts[BANDS_US.partition_point(|border| *border <= time_us)] += 1;
                }
            });
        });
    }
}

/// Counts rows by series. Two counters for each, in turns: adding to the one that was just added to
/// waits for it.
fn add_codes<C: ColumnCode>(codes: &[C], rows: &[u16], series_of: &[u8], counts: &mut [u64]) {
    let mut turns = [[0u64; SERIES_MAX + 1]; 2];
    for (index, row) in rows.iter().enumerate() {
        turns[index % 2][usize::from(series_of[codes[usize::from(*row)].index()])] += 1;
    }
    turns.iter().for_each(|turn| counts.iter_mut().zip(turn).for_each(|(count, more)| *count += more));
}

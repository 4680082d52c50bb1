//! Rows over time, by series and by how long they took.

use crate::codes::{Code, with_codes};
use crate::numbers::Numbers;
use crate::segment::{Coded, unbiased};

/// Widths of a bucket in seconds; each divides the next.
const WIDTHS_SECONDS: [i64; 17] =
    [1, 5, 15, 30, 60, 120, 600, 1_800, 3_600, 7_200, 21_600, 43_200, 86_400, 604_800, 2_419_200, 29_030_400, 290_304_000];

/// The bucket of a row without time, or outside of the axis.
const NO_BUCKET: u32 = u32::MAX;

/// Borders of the bands of times that requests took, in microseconds: the first band is below the first.
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

/// Bands, and one behind the last border.
pub(crate) const BANDS: usize = BANDS_US.len() + 1;

/// Buckets of time, aligned to UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Axis {
    /// Number of the first bucket, counted from 1970 on.
    first: i64,
    pub(crate) width_seconds: i64,
    pub(crate) buckets: usize,
}

impl Axis {
    /// The finest axis from the first to the last time (as in segments) with at most `buckets_max` buckets, give or take the alignment.
    pub(crate) fn new(first: u64, last: u64, buckets_max: usize) -> Self {
        let (first, last) = (unbiased(first).div_euclid(1_000_000), unbiased(last).div_euclid(1_000_000));
        let fits = |width: &i64| last.div_euclid(*width) - first.div_euclid(*width) <= buckets_max.max(1).cast_signed() as i64;
        let wider = std::iter::successors(WIDTHS_SECONDS.last().copied(), |width| width.checked_mul(2));
        let width_seconds = WIDTHS_SECONDS.into_iter().chain(wider).find(fits).unwrap_or(i64::MAX);
        let number = |seconds: i64| seconds.div_euclid(width_seconds);
        Self { first: number(first), width_seconds, buckets: (number(last) - number(first) + 1).unsigned_abs() as usize }
    }

    /// When a bucket starts, in Unix seconds.
    pub(crate) fn start(&self, bucket: usize) -> i64 {
        (self.first + bucket.cast_signed() as i64) * self.width_seconds
    }

    /// The bucket of each of the rows.
    pub(crate) fn place(&self, times: &Numbers, rows: &[u16], places: &mut Vec<u32>) {
        let width_us = i128::from(self.width_seconds) * 1_000_000;
        let mut last = (0..0, NO_BUCKET);
        places.clear();
        times.each(rows, |_, time| {
            let Some(time) = time else { return places.push(NO_BUCKET) };
            // Rows come nearly in order: most are in the bucket of the one before.
            if !last.0.contains(&time) {
                let number = i128::from(unbiased(time)).div_euclid(width_us);
                let bucket =
                    u32::try_from(number - i128::from(self.first)).ok().filter(|bucket| (*bucket as usize) < self.buckets);
                let biased = |time_us: i128| u64::try_from(time_us + (1 << 63)).unwrap_or(if time_us < 0 { 0 } else { u64::MAX });
                last = (biased(number * width_us)..biased((number + 1) * width_us), bucket.unwrap_or(NO_BUCKET));
            }
            places.push(last.1);
        });
    }
}

/// Counts by bucket and, within it, by series or band.
#[derive(Debug, Clone)]
pub(crate) struct Grid {
    columns: usize,
    counts: Vec<u64>,
}

impl Grid {
    pub(crate) fn new(buckets: usize, columns: usize) -> Self {
        Self { columns, counts: vec![0; buckets * columns] }
    }

    pub(crate) fn take(&mut self, other: &Self) {
        self.counts.iter_mut().zip(&other.counts).for_each(|(own, other)| *own += other);
    }

    pub(crate) fn bucket(&self, bucket: usize) -> &[u64] {
        &self.counts[bucket * self.columns..(bucket + 1) * self.columns]
    }

    /// Adds rows in `places`, each in the series of its code.
    pub(crate) fn add_series(&mut self, places: &[u32], rows: &[u16], column: &Coded, series_of: &[u8]) {
        let rest = (self.columns - 1) as u8;
        let local: Vec<u8> =
            column.globals.iter().map(|global| series_of.get(*global as usize).copied().unwrap_or(rest)).collect();
        let Self { columns, counts } = self;
        let mut add = |place: u32, series: u8| {
            if place != NO_BUCKET {
                counts[place as usize * *columns + usize::from(series)] += 1;
            }
        };
        with_codes!(
            &column.codes,
            constant => places.iter().for_each(|place| add(*place, local[*constant as usize])),
            codes => places.iter().zip(rows).for_each(|(place, row)| add(*place, local[codes[usize::from(*row)].index()]))
        );
    }

    /// Adds rows in `places`, each in the band of the time that it took.
    pub(crate) fn add_bands(&mut self, places: &[u32], rows: &[u16], times: &Numbers) {
        let mut next = places.iter();
        let Self { columns, counts } = self;
        times.each(rows, |_, time_us| {
            if let (Some(place), Some(time_us)) = (next.next().filter(|place| **place != NO_BUCKET), time_us) {
                let band = BANDS_US.partition_point(|border| *border <= time_us);
                counts[*place as usize * *columns + band] += 1;
            }
        });
    }
}

//! Rows over time of many values at once: how many, how many of them failed, how long they took and
//! how large they were.

use crate::candidates::CandidateField;
use crate::codes::{ColumnCode, with_codes};
use crate::columns::{BYTES, REQUEST_TIME, STATUS, TIME, UPSTREAM_TIME};
use crate::segment::{CodedColumnRef, Segment, biased};
use crate::store::{RowStore, Snapshot, lock};
use crate::time_axis::{Axis, BucketRun, NO_BUCKET};
use crate::view::ViewError;
use rorqual_pipe::{Control, Error, each};
use std::io;
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// Rows of a value in a bucket.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct OutcomeCount {
    pub(crate) hits: u32,
    /// Rows with a status of 500 or more.
    pub(crate) errors: u32,
    /// Rows with a status from 400 to 499.
    pub(crate) refused: u32,
    /// Rows that say how long they took.
    pub(crate) timed: u32,
    /// Rows with a size.
    pub(crate) sized: u32,
    /// Sum of the logarithms of how long they took, as [`log_steps`] has them.
    pub(crate) time_steps: u64,
    /// The same of their sizes.
    pub(crate) size_steps: u64,
}

impl OutcomeCount {
    pub(crate) fn add(&mut self, other: &Self) {
        self.hits = self.hits.saturating_add(other.hits);
        self.errors = self.errors.saturating_add(other.errors);
        self.refused = self.refused.saturating_add(other.refused);
        self.timed = self.timed.saturating_add(other.timed);
        self.sized = self.sized.saturating_add(other.sized);
        self.time_steps += other.time_steps;
        self.size_steps += other.size_steps;
    }
}

/// Steps of [`log_steps`] from a number to twice as much.
pub(crate) const STEPS: f64 = 16.0;

/// The logarithm of a number and one, in steps.
fn log_steps(number: u64) -> u64 {
    let number = number.saturating_add(1);
    let power = u64::from(number.ilog2());
    // The four bits after the first one.
    let part = if power >= 4 { number >> (power - 4) & 15 } else { number << (4 - power) & 15 };
    power * 16 + part
}

/// Values of a field whose rows are counted.
pub(crate) struct WatchedField {
    pub(crate) field: CandidateField,
    /// Their codes.
    pub(crate) codes: Vec<u32>,
    /// Slots of a bucket that are theirs, in the order of the codes.
    pub(crate) slots: Range<usize>,
    /// The slot of each code of the column in all segments; [`ALL`] of those that are not counted.
    slot_of: Vec<u32>,
}

/// The slot of all rows.
pub(crate) const ALL: usize = 0;

impl WatchedField {
    /// Watches values of a field whose column has so many codes, in the slots from `first` on.
    pub(crate) fn new(field: CandidateField, codes: Vec<u32>, first: usize, column_codes: usize) -> Self {
        let most = codes.iter().copied().max().map_or(0, |most| most as usize + 1);
        let mut slots = vec![ALL as u32; most];
        codes.iter().zip(first as u32..).for_each(|(code, slot)| slots[*code as usize] = slot);
        let slot = |global: u32| slots.get(field.value(global) as usize).copied().unwrap_or(ALL as u32);
        let slot_of = (0..column_codes as u32).map(slot).collect();
        let slots = first..first + codes.len();
        Self { field, codes, slots, slot_of }
    }

    /// Gives the memory of its table back: its rows are no longer counted.
    pub(crate) fn end(&mut self) {
        self.slot_of = Vec::new();
    }
}

/// Part of the rows, on either side, whose times are passed over where nearly all others are close
/// together; and the part of the axis, as a divisor, that is close.
const STRAY_PART: f64 = 0.0005;
const NARROWER: usize = 4;

/// Counts by bucket and slot.
pub(crate) struct OutcomeCounts {
    pub(crate) axis: Axis,
    pub(crate) slots: usize,
    counts: Vec<OutcomeCount>,
}

impl OutcomeCounts {
    fn new(axis: Axis, slots: usize) -> Self {
        Self { axis, slots, counts: vec![OutcomeCount::default(); axis.buckets * slots] }
    }

    pub(crate) fn get(&self, bucket: usize, slot: usize) -> &OutcomeCount {
        &self.counts[bucket * self.slots + slot]
    }

    /// All rows that were counted.
    pub(crate) fn rows(&self) -> u64 {
        (0..self.axis.buckets).map(|bucket| u64::from(self.get(bucket, ALL).hits)).sum()
    }

    /// The times of nearly all rows, as in segments, where these are a small part of the axis.
    pub(crate) fn times_of_most(&self) -> Option<(u64, u64)> {
        let stray = (self.rows() as f64 * STRAY_PART) as u64;
        let passed = |buckets: &mut dyn Iterator<Item = usize>| {
            let mut seen = 0;
            let is_stray = |bucket: &usize| {
                seen += u64::from(self.get(*bucket, ALL).hits);
                seen <= stray
            };
            buckets.take_while(is_stray).count()
        };
        let from = passed(&mut (0..self.axis.buckets));
        let to = self.axis.buckets - passed(&mut (0..self.axis.buckets).rev());
        let is_small = from < to && (to - from) * NARROWER < self.axis.buckets;
        let time = |bucket: usize, less_us: i64| biased(self.axis.start(bucket).saturating_mul(1_000_000) - less_us);
        is_small.then(|| (time(from, 0), time(to, 1)))
    }

    /// A slot over time, `width` buckets at a time; those at the end that are fewer are left out.
    pub(crate) fn windows(&self, slot: usize, width: usize) -> Vec<OutcomeCount> {
        let window = |at: usize| {
            let mut sum = OutcomeCount::default();
            (at * width..(at + 1) * width).for_each(|bucket| sum.add(self.get(bucket, slot)));
            sum
        };
        (0..self.axis.buckets / width).map(window).collect()
    }
}

impl RowStore {
    /// Counts all rows, and those of watched values, over time.
    pub(crate) fn bucket_counts(
        &self,
        snapshot: &Snapshot,
        axis: Axis,
        fields: &[&WatchedField],
        control: &Control,
    ) -> Result<OutcomeCounts, ViewError> {
        let slots = fields.iter().map(|field| field.slots.end).max().unwrap_or(1);
        let counts = Mutex::new(OutcomeCounts::new(axis, slots));
        let threads = self.settings.threads.min(snapshot.segments.len()).max(1);
        let mut workers: Vec<SegmentScratch> = (0..threads).map(|_| SegmentScratch::default()).collect();
        let work = |scratch: &mut SegmentScratch, segment: &Arc<Segment>| {
            if control.stopped() || segment.times.is_none() {
                Ok(())
            } else {
                self.count_buckets(segment, fields, scratch, &counts)
            }
        };
        let sink = |done: io::Result<()>| done.map_err(|cause| Error::io("rows", "cannot read spilled rows", cause));
        each(snapshot.segments.iter(), &mut workers, work, sink).map_err(ViewError::Io)?;
        let counts = counts.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        if control.stopped() { Err(ViewError::Cancelled) } else { Ok(counts) }
    }

    fn count_buckets(
        &self,
        segment: &Segment,
        fields: &[&WatchedField],
        scratch: &mut SegmentScratch,
        counts: &Mutex<OutcomeCounts>,
    ) -> io::Result<()> {
        let axis = lock(counts).axis;
        scratch.order(segment, self, &axis)?;
        scratch.weigh(segment, self)?;
        let all = |_: &SegmentScratch, rows: Range<usize>, sums: &mut Vec<[u64; 3]>, weights: &[[u64; 3]]| {
            weights[rows].iter().for_each(|weight| add(&mut sums[0], weight));
        };
        scratch.sum(ALL..ALL + 1, counts, all);
        for field in fields {
            let column = self.coded(segment, field.field.index)?;
            let local: Vec<u32> = column.globals.iter().map(|code| field.slot(*code)).collect();
            if local.iter().any(|slot| *slot > 0) {
                // Rows of no watched value go to a place of their own, after the others.
                scratch.sum(field.slots.start..field.slots.end + 1, counts, |scratch, rows, sums, weights| {
                    add_rows(&column, &scratch.rows[rows.clone()], &local, &weights[rows], sums);
                });
            }
        }
        Ok(())
    }
}

impl WatchedField {
    /// The place among its slots, from 1 on, of a code in all segments; 0 of one that is not
    /// watched.
    fn slot(&self, global: u32) -> u32 {
        let slot = self.slot_of.get(global as usize).copied().unwrap_or(ALL as u32);
        if slot == ALL as u32 { 0 } else { slot - self.slots.start as u32 + 1 }
    }
}

/// Adds the weights of rows, each to the place of its code; the first place is of no value.
fn add_rows(column: &CodedColumnRef, rows: &[u16], local: &[u32], weights: &[[u64; 3]], sums: &mut [[u64; 3]]) {
    with_codes!(
        &column.codes,
        constant => weights.iter().for_each(|weight| add(&mut sums[local[constant.index()] as usize], weight)),
        codes => rows.iter().zip(weights).for_each(|(row, weight)| {
            add(&mut sums[local[codes[usize::from(*row)].index()] as usize], weight);
        })
    );
}

fn add(sums: &mut [u64; 3], weight: &[u64; 3]) {
    sums.iter_mut().zip(weight).for_each(|(sum, weight)| *sum += weight);
}

/// Added to each duration and size, so that those which are next to nothing are all alike.
const LEAST_MICROS: u64 = 1_000;
const LEAST_BYTES: u64 = 100;

/// Several sums in one number: a segment has at most 2^16 rows.
const FIELD_BITS: u32 = 20;
const STEPS_BITS: u32 = 32;

/// Buffers of a segment.
#[derive(Default)]
struct SegmentScratch {
    /// Rows with a time, those of a bucket after each other.
    rows: Vec<u16>,
    runs: Vec<BucketRun>,
    /// Hits, errors and refusals of each of these rows; its duration; its size.
    weights: Vec<[u64; 3]>,
    sums: Vec<[u64; 3]>,
}

impl SegmentScratch {
    /// Lists the rows of a segment by their bucket.
    fn order(&mut self, segment: &Segment, store: &RowStore, axis: &Axis) -> io::Result<()> {
        self.rows.clear();
        self.rows.extend((0..segment.rows).map(|row| row as u16));
        axis.place(&*segment.numbers(TIME, store.spill.as_ref())?, &self.rows, &mut self.runs);
        if self.runs.is_sorted_by(|a, b| a.bucket < b.bucket) {
            return Ok(());
        }
        let mut start = 0;
        let mut pieces: Vec<(u32, Range<usize>)> = Vec::new();
        for run in &self.runs {
            pieces.push((run.bucket, start..run.end));
            start = run.end;
        }
        // Rows of no bucket come last, as their number is the largest.
        pieces.sort_by_key(|(bucket, rows)| (*bucket, rows.start));
        let listed = std::mem::take(&mut self.rows);
        self.runs.clear();
        for (bucket, rows) in pieces {
            self.rows.extend_from_slice(&listed[rows]);
            let end = self.rows.len();
            match self.runs.last_mut() {
                Some(last) if last.bucket == bucket => last.end = end,
                _ => self.runs.push(BucketRun { end, bucket }),
            }
        }
        Ok(())
    }

    fn weigh(&mut self, segment: &Segment, store: &RowStore) -> io::Result<()> {
        let spill = store.spill.as_ref();
        let statuses = segment.coded(STATUS, spill)?;
        let mut took = segment.numbers(REQUEST_TIME, spill)?;
        if took.min().is_none() {
            took = segment.numbers(UPSTREAM_TIME, spill)?;
        }
        let sizes = segment.numbers(BYTES, spill)?;
        let of_status: Vec<u64> = statuses.globals.iter().map(|status| outcome(*status)).collect();
        let Self { rows, weights, .. } = self;
        weights.clear();
        weights.extend(rows.iter().map(|row| [of_status[statuses.codes.get(usize::from(*row)) as usize], 0, 0]));
        let mut at = 0;
        took.each(rows, |_, micros| {
            weights[at][1] = micros.map_or(0, |micros| steps_of_one(micros.saturating_add(LEAST_MICROS)));
            at += 1;
        });
        at = 0;
        sizes.each(rows, |_, bytes| {
            weights[at][2] = bytes.map_or(0, |bytes| steps_of_one(bytes.saturating_add(LEAST_BYTES)));
            at += 1;
        });
        Ok(())
    }

    /// Sums the weights of each bucket by place, and adds those of the places from the second on
    /// (or of the only one) to the slots.
    fn sum(
        &mut self,
        slots: Range<usize>,
        counts: &Mutex<OutcomeCounts>,
        add_rows: impl Fn(&Self, Range<usize>, &mut Vec<[u64; 3]>, &[[u64; 3]]),
    ) {
        let mut sums = std::mem::take(&mut self.sums);
        let first = usize::from(slots.len() > 1 || slots.start > ALL);
        let mut start = 0;
        for run in &self.runs {
            if run.bucket != NO_BUCKET {
                sums.clear();
                sums.resize(slots.len(), [0; 3]);
                add_rows(self, start..run.end, &mut sums, &self.weights);
                let mut counts = lock(counts);
                let at = run.bucket as usize * counts.slots + slots.start;
                let of_slots = &mut counts.counts[at..at + slots.len() - first];
                of_slots
                    .iter_mut()
                    .zip(&sums[first..])
                    .filter(|(_, sum)| sum[0] > 0)
                    .for_each(|(count, sum)| count.add(&parts(sum)));
            }
            start = run.end;
        }
        self.sums = sums;
    }
}

/// A row, and an error or a refusal where its status says so.
fn outcome(status: u32) -> u64 {
    1 | u64::from(status >= 500) << FIELD_BITS | u64::from((400..500).contains(&status)) << (2 * FIELD_BITS)
}

/// One row, and the steps of its number.
fn steps_of_one(number: u64) -> u64 {
    1 << STEPS_BITS | log_steps(number)
}

fn parts([hits, time, size]: &[u64; 3]) -> OutcomeCount {
    let field = |number: u32| (hits >> (number * FIELD_BITS) & ((1 << FIELD_BITS) - 1)) as u32;
    OutcomeCount {
        hits: field(0),
        errors: field(1),
        refused: field(2),
        timed: (time >> STEPS_BITS) as u32,
        sized: (size >> STEPS_BITS) as u32,
        time_steps: time & ((1 << STEPS_BITS) - 1),
        size_steps: size & ((1 << STEPS_BITS) - 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_logarithms() {
        assert_eq!([0, 1, 3, 1_023].map(log_steps), [0, 16, 32, 160]);
        // 1.5 times as much is eight steps on, between the two.
        assert_eq!(log_steps(1_535), 168);
        assert_eq!(log_steps(u64::MAX), 63 * 16 + 15);
    }

    #[test]
    fn parts_of_a_sum() {
        let mut sums = [0; 3];
        for status in [200, 404, 500, 503, 0] {
            add(&mut sums, &[outcome(status), 1 << STEPS_BITS | 5, if status == 0 { 0 } else { 1 << STEPS_BITS | 7 }]);
        }
        let expected = OutcomeCount { hits: 5, errors: 2, refused: 1, timed: 5, sized: 4, time_steps: 25, size_steps: 28 };
        assert_eq!(parts(&sums), expected);
    }
}

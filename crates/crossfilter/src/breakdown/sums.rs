//! One pass over the rows of a view, with sums for each of some values.

use crate::candidates::CandidateField;
use crate::codes::{ColumnCode, with_codes};
use crate::columns::{BYTES, CLIENT, STATUS, TIME};
use crate::dictionary::OTHERS;
use crate::number_spread::NumberSpread;
use crate::numbers::CodedNumbers;
use crate::question::ViewQuestion;
use crate::segment::Segment;
use crate::store::{RowStore, Snapshot};
use crate::timeline::{Axis, BucketRun, each_stretch};
use crate::view::ViewError;
use rorqual_accesslog::schema::{NumberUnit, float_of, integer_of};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Sums that are wanted.
pub(super) struct SumsSettings {
    /// Errors and refusals.
    pub(super) statuses: bool,
    /// Sizes of responses.
    pub(super) bytes: bool,
    /// Index of a column of numbers, and its unit.
    pub(super) measure: Option<(usize, NumberUnit)>,
    /// First and last times.
    pub(super) times: bool,
    /// Axis of trends.
    pub(super) axis: Option<Axis>,
    /// Words of a set of clients; 0 where they are not counted.
    pub(super) client_words: usize,
    /// True if there is no memory for clients, which are wanted.
    pub(super) clients_missing: bool,
    /// Buckets of a value's numbers at most.
    pub(super) buckets_max: usize,
}

/// Sums of a value.
#[derive(Debug, Clone, Default)]
pub(super) struct ValueSums {
    pub(super) hits: u64,
    pub(super) errors: u64,
    pub(super) refused: u64,
    pub(super) bytes: u64,
    /// The measure's numbers.
    pub(super) spread: NumberSpread,
    pub(super) total: NumberTotal,
    /// First and last time, as in segments.
    pub(super) times: Option<(u64, u64)>,
    /// Rows by bucket.
    pub(super) trend: Vec<u64>,
    /// Client addresses; `None` where they were not counted.
    pub(super) clients: Option<u64>,
}

/// Sum of numbers that does not depend on their order: of whole ones, and of others to twice the
/// precision of a double.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NumberTotal {
    whole: i128,
    high: f64,
    low: f64,
}

impl NumberTotal {
    fn add(&mut self, unit: NumberUnit, step: u64) {
        match unit {
            NumberUnit::Float => self.add_float(float_of(step)),
            NumberUnit::Integer | NumberUnit::Moment => self.whole += i128::from(integer_of(step)),
            _ => self.whole += i128::from(step),
        }
    }

    /// Adds a number, and to the other half the part that the sum has no digits for (Knuth, "The
    /// Art of Computer Programming", volume 2, 4.2.2, theorem B).
    fn add_float(&mut self, number: f64) {
        let sum = self.high + number;
        let part = sum - self.high;
        let lost = (self.high - (sum - part)) + (number - part);
        self.high = sum;
        self.low += if lost.is_finite() { lost } else { 0.0 };
    }

    fn take(&mut self, other: &Self) {
        self.whole += other.whole;
        self.add_float(other.high);
        self.low += other.low;
    }

    /// The sum in the unit of the numbers.
    pub(super) fn value(&self, unit: NumberUnit) -> f64 {
        match unit {
            NumberUnit::Float => self.high + self.low,
            NumberUnit::Seconds => self.whole as f64 / 1e6,
            _ => self.whole as f64,
        }
    }
}

impl ValueSums {
    fn take(&mut self, other: &Self) {
        self.hits += other.hits;
        self.errors += other.errors;
        self.refused += other.refused;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.spread.take(&other.spread);
        self.total.take(&other.total);
        other.times.into_iter().for_each(|times| self.widen(times));
        if self.trend.len() < other.trend.len() {
            self.trend.resize(other.trend.len(), 0);
        }
        self.trend.iter_mut().zip(&other.trend).for_each(|(own, other)| *own += other);
    }

    fn widen(&mut self, (first, last): (u64, u64)) {
        let (least, most) = self.times.unwrap_or((first, last));
        self.times = Some((least.min(first), most.max(last)));
    }
}

/// Sums of all values that were asked for.
pub(super) struct CountedValues {
    /// In the order of the codes.
    pub(super) sums: Vec<ValueSums>,
    /// True if no client is missing.
    pub(super) exact: bool,
}

/// Sums of one thread, and its buffers.
#[derive(Default)]
struct Worker {
    sums: Vec<ValueSums>,
    /// Rows of the view, and those of each value after each other.
    rows: Vec<u16>,
    by_value: Vec<u16>,
    /// Begin of the rows of each value.
    starts: Vec<usize>,
    slots: Vec<u32>,
    runs: Vec<BucketRun>,
}

/// A row of no value that is counted.
const NO_VALUE: u32 = u32::MAX;

/// Sets of clients by value, for all threads.
struct ClientSets {
    words: usize,
    bits: Vec<AtomicU64>,
    /// True if a client had no code.
    has_unknown: AtomicBool,
}

impl ClientSets {
    fn new(values: usize, words: usize) -> Self {
        let bits = (0..values * words).map(|_| AtomicU64::new(0)).collect();
        Self { words, bits, has_unknown: AtomicBool::new(false) }
    }

    fn insert(&self, value: usize, client: u32) {
        let (word, bit) = (client as usize / 64, 1 << (client % 64));
        if let Some(word) = self.bits.get(value * self.words + word).filter(|_| word < self.words) {
            // Most clients come again, and a look is cheaper than a write that others have to see.
            if word.load(Ordering::Relaxed) & bit == 0 {
                word.fetch_or(bit, Ordering::Relaxed);
            }
        }
    }

    fn len(&self, value: usize) -> u64 {
        let words = &self.bits[value * self.words..(value + 1) * self.words];
        words.iter().map(|word| u64::from(word.load(Ordering::Relaxed).count_ones())).sum()
    }
}

/// Sums of the values with these codes, over the rows asked about.
pub(super) fn count(
    question: &ViewQuestion<'_>,
    snapshot: &Snapshot,
    field: &CandidateField,
    codes: &[u32],
    settings: &SumsSettings,
) -> Result<CountedValues, ViewError> {
    let store = question.store;
    let most = codes.iter().max().map_or(0, |most| *most as usize + 1);
    let mut slot_of = vec![NO_VALUE; most];
    codes.iter().zip(0..).for_each(|(code, slot)| slot_of[*code as usize] = slot);
    let slot = |global: u32| slot_of.get(field.value(global) as usize).copied().unwrap_or(NO_VALUE);
    let clients = ClientSets::new(codes.len(), settings.client_words);
    let groups_start = if settings.client_words > 0 { store.dictionaries[CLIENT].lock().groups_start() } else { 0 };
    let empty = || Worker { sums: vec![ValueSums::default(); codes.len()], ..Worker::default() };
    let workers = question.pass(
        snapshot.segments.iter().enumerate(),
        empty,
        |asked| !codes.is_empty() && !asked.inside.is_none(),
        |worker, segment, asked| {
            worker.rows.clear();
            asked.inside.list(&mut worker.rows);
            if worker.group(store, segment, field, slot)? {
                worker.add(store, segment, settings)?;
                worker.add_clients(store, segment, (&clients, groups_start))?;
            }
            Ok(())
        },
    )?;
    let mut sums = vec![ValueSums::default(); codes.len()];
    for worker in workers {
        sums.iter_mut().zip(&worker.sums).for_each(|(sum, more)| sum.take(more));
    }
    if settings.client_words > 0 {
        sums.iter_mut().enumerate().for_each(|(value, sums)| sums.clients = Some(clients.len(value)));
    }
    Ok(CountedValues { sums, exact: !settings.clients_missing && !clients.has_unknown.into_inner() })
}

impl Worker {
    /// Lists the rows of each value; false where there are none.
    fn group(
        &mut self,
        store: &RowStore,
        segment: &Segment,
        field: &CandidateField,
        slot: impl Fn(u32) -> u32,
    ) -> io::Result<bool> {
        let column = store.coded(segment, field.index)?;
        let local: Vec<u32> = column.globals.iter().map(|global| slot(*global)).collect();
        if local.iter().all(|slot| *slot == NO_VALUE) {
            return Ok(false);
        }
        let Self { sums, rows, by_value, starts, slots, .. } = self;
        slots.clear();
        with_codes!(
            &column.codes,
            constant => slots.resize(rows.len(), local[constant.index()]),
            codes => slots.extend(rows.iter().map(|row| local[codes[usize::from(*row)].index()]))
        );
        starts.clear();
        starts.resize(sums.len() + 1, 0);
        slots.iter().filter(|slot| **slot != NO_VALUE).for_each(|slot| starts[*slot as usize + 1] += 1);
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        by_value.clear();
        by_value.resize(starts[sums.len()], 0);
        let mut next = starts.clone();
        for (row, slot) in rows.iter().zip(slots.iter()).filter(|(_, slot)| **slot != NO_VALUE) {
            by_value[next[*slot as usize]] = *row;
            next[*slot as usize] += 1;
        }
        Ok(!by_value.is_empty())
    }

    /// Values with rows in the segment, each with these.
    fn ranges(starts: &[usize]) -> impl Iterator<Item = (usize, Range<usize>)> {
        starts.windows(2).map(|pair| pair[0]..pair[1]).enumerate().filter(|(_, rows)| !rows.is_empty())
    }

    fn add(&mut self, store: &RowStore, segment: &Segment, settings: &SumsSettings) -> io::Result<()> {
        let spill = store.spill.as_ref();
        let statuses = settings.statuses.then(|| segment.coded(STATUS, spill)).transpose()?;
        let sizes = settings.bytes.then(|| segment.numbers(BYTES, spill)).transpose()?;
        let measure = settings.measure.map(|(index, unit)| Ok::<_, io::Error>((segment.numbers(index, spill)?, unit)));
        let measure = measure.transpose()?;
        let wants_times = settings.times || settings.axis.is_some();
        let times = wants_times.then(|| segment.numbers(TIME, spill)).transpose()?;
        let Self { sums, by_value, starts, runs, .. } = self;
        for (value, range) in Self::ranges(starts) {
            let (sums, rows) = (&mut sums[value], &by_value[range]);
            sums.hits += rows.len() as u64;
            if let Some(statuses) = &statuses {
                for row in rows {
                    let status = statuses.get(usize::from(*row));
                    sums.errors += u64::from(status >= 500);
                    sums.refused += u64::from((400..500).contains(&status));
                }
            }
            if let Some(sizes) = &sizes {
                sizes.each(rows, |_, bytes| sums.bytes = sums.bytes.saturating_add(bytes.unwrap_or(0)));
            }
            if let Some((numbers, unit)) = &measure {
                sums.spread.count(numbers, rows, *unit, settings.buckets_max);
                numbers.each(rows, |_, step| step.into_iter().for_each(|step| sums.total.add(*unit, step)));
            }
            if let Some(times) = &times {
                sums.add_times(times, rows, settings, runs);
            }
        }
        Ok(())
    }

    fn add_clients(&self, store: &RowStore, segment: &Segment, (sets, groups_start): (&ClientSets, u32)) -> io::Result<()> {
        if sets.words == 0 {
            return Ok(());
        }
        let clients = store.coded(segment, CLIENT)?;
        for (value, range) in Self::ranges(&self.starts) {
            for row in &self.by_value[range] {
                match clients.get(usize::from(*row)) {
                    client if client > OTHERS && client < groups_start => sets.insert(value, client),
                    // A row without a client has none.
                    client if client < OTHERS => {}
                    _ => sets.has_unknown.store(true, Ordering::Relaxed),
                }
            }
        }
        Ok(())
    }
}

impl ValueSums {
    fn add_times(&mut self, times: &CodedNumbers, rows: &[u16], settings: &SumsSettings, runs: &mut Vec<BucketRun>) {
        if settings.times {
            times.extent(rows).into_iter().for_each(|times| self.widen(times));
        }
        if let Some(axis) = settings.axis {
            self.trend.resize(axis.buckets, 0);
            axis.place(times, rows, runs);
            each_stretch(runs, rows, |bucket, rows| self.trend[bucket] += rows.len() as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rorqual_accesslog::schema::float_step;

    #[test]
    fn totals_do_not_depend_on_the_order() {
        let numbers = [1e16, 1.0, -1e16, 0.25, 3.0, -0.125];
        for start in 0..numbers.len() {
            let mut total = NumberTotal::default();
            let mut rest = NumberTotal::default();
            for at in 0..numbers.len() {
                let number = float_step(numbers[(start + at) % numbers.len()]);
                if at % 2 == 0 { total.add(NumberUnit::Float, number) } else { rest.add(NumberUnit::Float, number) }
            }
            total.take(&rest);
            assert_eq!(total.value(NumberUnit::Float), 4.125, "from {start} on");
        }
        let mut total = NumberTotal::default();
        [1_500_000, 250_000].into_iter().for_each(|micros| total.add(NumberUnit::Seconds, micros));
        assert_eq!(total.value(NumberUnit::Seconds), 1.75);
        [f64::INFINITY, 1.0].into_iter().for_each(|number| total.add(NumberUnit::Float, float_step(number)));
        assert_eq!(total.value(NumberUnit::Float), f64::INFINITY);
    }
}

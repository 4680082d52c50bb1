//! One pass over the rows of a view, with sums for each of some values or buckets of time.

use super::metric::BreakdownMetric;
use crate::candidates::CandidateField;
use crate::codes::{ColumnCode, with_codes};
use crate::columns::{BYTES, CLIENT, STATUS, TIME};
use crate::dictionary::OTHERS;
use crate::number_spread::NumberSpread;
use crate::numbers::CodedNumbers;
use crate::question::ViewQuestion;
use crate::segment::{Segment, unbiased};
use crate::store::{RowStore, Snapshot, lock};
use crate::time_axis::{Axis, BucketRun, NO_BUCKET, each_stretch};
use crate::view::ViewError;
use foldhash::quality::FixedState;
use rorqual_accesslog::schema::{NumberUnit, float_of, integer_of};
use std::hash::BuildHasher;
use std::io;
use std::ops::Range;
use std::sync::Mutex;

/// Sums that are wanted.
#[derive(Debug, Clone, Copy)]
pub(super) struct SumsSettings {
    /// Errors and refusals.
    pub(super) statuses: bool,
    /// Sizes of responses.
    pub(super) bytes: bool,
    /// Index of a column of numbers, and its unit.
    pub(super) measure: Option<(usize, NumberUnit)>,
    /// Quantiles of these numbers.
    pub(super) quantiles: bool,
    /// First and last times.
    pub(super) times: bool,
    /// Axis of trends.
    pub(super) axis: Option<Axis>,
    /// Words of a set of clients; 0 where they are not counted.
    pub(super) client_words: usize,
    /// True if these are too few for a bit of each client, whose number is estimated then.
    pub(super) clients_hashed: bool,
    /// True if there is no memory for clients, which are wanted.
    pub(super) clients_missing: bool,
    /// Buckets of a value's numbers at most.
    pub(super) buckets_max: usize,
}

/// Sums of a value.
#[derive(Debug, Default)]
pub(super) struct ValueSums {
    pub(super) hits: u64,
    /// Rows with a status, and of these the errors and refusals.
    pub(super) answered: u64,
    pub(super) errors: u64,
    pub(super) refused: u64,
    /// Sum of the sizes; `None` where no row has one.
    pub(super) bytes: Option<u64>,
    /// Steps of the least and the largest number of the measure.
    pub(super) extent: Option<(u64, u64)>,
    /// The measure's numbers.
    pub(super) spread: NumberSpread,
    pub(super) total: NumberTotal,
    /// First and last time, as in segments.
    pub(super) times: Option<(u64, u64)>,
    /// Rows by bucket.
    pub(super) trend: Vec<u64>,
    clients: ClientSet,
    /// True if a row has a client without a code.
    has_unknown_client: bool,
}

/// Sum of numbers: of whole ones exact, of others to about twice the precision of a double, so that
/// their order does not show.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct NumberTotal {
    whole: i128,
    high: f64,
    low: f64,
    /// True if there was an infinity: below, and above all numbers.
    infinite: [bool; 2],
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
        if number.is_infinite() {
            self.infinite[usize::from(number > 0.0)] = true;
            return;
        }
        let sum = self.high + number;
        let part = sum - self.high;
        let lost = (self.high - (sum - part)) + (number - part);
        self.high = sum;
        self.low += if lost.is_finite() { lost } else { 0.0 };
    }

    /// The sum in the unit of the numbers; `None` of infinities of both signs, and where it is
    /// beyond all doubles on the way.
    pub(super) fn value(&self, unit: NumberUnit) -> Option<f64> {
        match (unit, self.infinite) {
            (NumberUnit::Float, [true, true]) => None,
            (NumberUnit::Float, [true, false]) => Some(f64::NEG_INFINITY),
            (NumberUnit::Float, [false, true]) => Some(f64::INFINITY),
            (NumberUnit::Float, _) => Some(self.high + self.low).filter(|sum| sum.is_finite()),
            (NumberUnit::Seconds, _) => Some(self.whole as f64 / 1e6),
            _ => Some(self.whole as f64),
        }
    }
}

/// Sums of all values that were asked for.
pub(super) struct CountedValues {
    /// In the order of the codes, or of time.
    pub(super) sums: Vec<ValueSums>,
    /// True if no client is missing.
    pub(super) exact: bool,
}

impl CountedValues {
    /// Part of a quantile by which one of these may be beside it.
    pub(super) fn quantile_error(&self, unit: Option<NumberUnit>) -> f64 {
        let errors = self.sums.iter().filter_map(|sums| sums.spread.quantiles(unit?)).map(|(_, error)| error);
        errors.fold(0.0, f64::max)
    }

    /// Part of a number of clients by which one of these may be wrong.
    pub(super) fn clients_error(&self) -> f64 {
        self.sums.iter().filter_map(ValueSums::clients).map(|(_, error)| error).fold(0.0, f64::max)
    }

    /// Puts the sums, which are in the order of the first codes, into that of the others.
    pub(super) fn reorder(&mut self, codes: &[u32], others: &[u32]) {
        let mut sums: Vec<(u32, ValueSums)> = codes.iter().copied().zip(self.sums.drain(..)).collect();
        sums.sort_by_key(|(code, _)| others.iter().position(|other| other == code));
        self.sums = sums.into_iter().map(|(_, sums)| sums).collect();
    }
}

/// Buffers of a thread.
#[derive(Default)]
struct RowBuffers {
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

/// Rows that are summed together.
pub(super) enum RowGroups<'a> {
    /// Rows of each of some values: their codes in ascending order, each with its place.
    Values { field: &'a CandidateField, slots: Vec<(u32, u32)> },
    /// Rows of each of some buckets of time.
    Buckets { axis: Axis, range: Range<usize> },
}

impl<'a> RowGroups<'a> {
    /// The rows of the values with these codes.
    pub(super) fn of_values(field: &'a CandidateField, codes: &[u32]) -> Self {
        let mut slots: Vec<(u32, u32)> = codes.iter().copied().zip(0..).collect();
        slots.sort_unstable();
        Self::Values { field, slots }
    }

    fn len(&self) -> usize {
        match self {
            Self::Values { slots, .. } => slots.len(),
            Self::Buckets { range, .. } => range.len(),
        }
    }

    /// False if none of the segment's rows is in a group, as its times tell.
    fn may_have(&self, segment: &Segment) -> bool {
        let Self::Buckets { axis, range } = self else { return true };
        let bucket = |time: u64| axis.bucket(unbiased(time).div_euclid(1_000_000));
        let (start, end) = (range.start.cast_signed() as i64, range.end.cast_signed() as i64);
        segment.times.is_some_and(|(first, last)| bucket(first) < end && bucket(last) >= start)
    }
}

/// Sums of these groups, over the rows asked about. Threads share the sums of a group, so that
/// their number shows in no answer, and takes no memory.
pub(super) fn count(
    question: &ViewQuestion<'_>,
    snapshot: &Snapshot,
    groups: &RowGroups<'_>,
    settings: &SumsSettings,
) -> Result<CountedValues, ViewError> {
    let store = question.store;
    let groups_start = if settings.client_words > 0 { store.dictionaries[CLIENT].lock().groups_start() } else { 0 };
    let clients = || ClientSet { words: vec![0; settings.client_words], is_hashed: settings.clients_hashed };
    let empty = || Mutex::new(ValueSums { clients: clients(), ..ValueSums::default() });
    let sums: Vec<Mutex<ValueSums>> = (0..groups.len()).map(|_| empty()).collect();
    question.pass(
        snapshot.segments.iter().enumerate().filter(|(_, segment)| groups.may_have(segment)),
        RowBuffers::default,
        |asked| groups.len() > 0 && !asked.inside.is_none(),
        |buffers, segment, asked| {
            buffers.rows.clear();
            asked.inside.list(&mut buffers.rows);
            if buffers.group(store, segment, groups)? {
                buffers.add(store, segment, settings, (&sums, groups_start))?;
            }
            Ok(())
        },
    )?;
    let sums: Vec<ValueSums> =
        sums.into_iter().map(|sums| sums.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)).collect();
    // Of a set without a free bit no number is told.
    let is_known = |sums: &ValueSums| !sums.has_unknown_client && (settings.client_words == 0 || sums.clients().is_some());
    let exact = !settings.clients_missing && sums.iter().all(is_known);
    Ok(CountedValues { sums, exact })
}

impl RowBuffers {
    /// Lists the rows of each group; false where there are none.
    fn group(&mut self, store: &RowStore, segment: &Segment, groups: &RowGroups<'_>) -> io::Result<bool> {
        match groups {
            RowGroups::Values { field, slots } => self.find_values(store, segment, field, slots)?,
            RowGroups::Buckets { axis, range } => self.find_buckets(store, segment, axis, range)?,
        }
        let Self { rows, by_value, starts, slots, .. } = self;
        let has_group = |slot: &u32| *slot != NO_VALUE;
        starts.clear();
        starts.resize(groups.len() + 1, 0);
        slots.iter().copied().filter(has_group).for_each(|slot| starts[slot as usize + 1] += 1);
        (1..starts.len()).for_each(|at| starts[at] += starts[at - 1]);
        by_value.clear();
        by_value.resize(starts[groups.len()], 0);
        let mut next = starts.clone();
        for (row, slot) in rows.iter().zip(slots.iter()).filter(|(_, slot)| has_group(slot)) {
            by_value[next[*slot as usize]] = *row;
            next[*slot as usize] += 1;
        }
        Ok(!by_value.is_empty())
    }

    /// The place of each row's value.
    fn find_values(
        &mut self,
        store: &RowStore,
        segment: &Segment,
        field: &CandidateField,
        places: &[(u32, u32)],
    ) -> io::Result<()> {
        let column = store.coded(segment, field.index)?;
        let slot = |global: &u32| {
            let found = places.binary_search_by_key(&field.value(*global), |(code, _)| *code);
            found.map_or(NO_VALUE, |at| places[at].1)
        };
        let local: Vec<u32> = column.globals.iter().map(slot).collect();
        let Self { rows, slots, .. } = self;
        slots.clear();
        if local.iter().all(|slot| *slot == NO_VALUE) {
            return Ok(());
        }
        with_codes!(
            &column.codes,
            constant => slots.resize(rows.len(), local[constant.index()]),
            codes => slots.extend(rows.iter().map(|row| local[codes[usize::from(*row)].index()]))
        );
        Ok(())
    }

    /// The place of each row's bucket of time.
    fn find_buckets(&mut self, store: &RowStore, segment: &Segment, axis: &Axis, range: &Range<usize>) -> io::Result<()> {
        let times = segment.numbers(TIME, store.spill.as_ref())?;
        let Self { rows, slots, runs, .. } = self;
        axis.place(&times, rows, runs);
        slots.clear();
        for run in runs {
            let is_in = run.bucket != NO_BUCKET && range.contains(&(run.bucket as usize));
            slots.resize(run.end, if is_in { run.bucket - range.start as u32 } else { NO_VALUE });
        }
        Ok(())
    }

    /// Values with rows in the segment, each with these.
    fn ranges(starts: &[usize]) -> impl Iterator<Item = (usize, Range<usize>)> {
        starts.windows(2).map(|pair| pair[0]..pair[1]).enumerate().filter(|(_, rows)| !rows.is_empty())
    }

    fn add(
        &mut self,
        store: &RowStore,
        segment: &Segment,
        settings: &SumsSettings,
        (sums, groups_start): (&[Mutex<ValueSums>], u32),
    ) -> io::Result<()> {
        let spill = store.spill.as_ref();
        let statuses = settings.statuses.then(|| segment.coded(STATUS, spill)).transpose()?;
        let sizes = settings.bytes.then(|| segment.numbers(BYTES, spill)).transpose()?;
        let measure = settings.measure.map(|(index, unit)| Ok::<_, io::Error>((segment.numbers(index, spill)?, unit)));
        let measure = measure.transpose()?;
        let wants_times = settings.times || settings.axis.is_some();
        let times = wants_times.then(|| segment.numbers(TIME, spill)).transpose()?;
        let clients = (settings.client_words > 0).then(|| store.coded(segment, CLIENT)).transpose()?;
        let Self { by_value, starts, runs, .. } = self;
        for (value, range) in Self::ranges(starts) {
            let rows = &by_value[range];
            let sums = &mut *lock(&sums[value]);
            sums.hits += rows.len() as u64;
            if let Some(statuses) = &statuses {
                rows.iter().for_each(|row| sums.add_status(statuses.get(usize::from(*row))));
            }
            if let Some(sizes) = &sizes {
                sizes.each(rows, |_, bytes| {
                    let Some(bytes) = bytes else { return };
                    sums.bytes = Some(sums.bytes.unwrap_or(0).saturating_add(bytes));
                });
            }
            if let Some((numbers, unit)) = &measure {
                sums.add_numbers(numbers, rows, *unit, settings);
            }
            if let Some(times) = &times {
                sums.add_times(times, rows, settings, runs);
            }
            if let Some(clients) = &clients {
                rows.iter().for_each(|row| sums.add_client(clients.get(usize::from(*row)), groups_start));
            }
        }
        Ok(())
    }
}

/// The range with another one.
fn widened(range: Option<(u64, u64)>, other: Option<(u64, u64)>) -> Option<(u64, u64)> {
    match (range, other) {
        (Some((first, last)), Some((least, most))) => Some((first.min(least), last.max(most))),
        (range, other) => range.or(other),
    }
}

impl ValueSums {
    /// Number of client addresses, and the part by which it may be wrong; `None` where they were
    /// not counted, or not all are known.
    pub(super) fn clients(&self) -> Option<(u64, f64)> {
        let (clients, error) = self.clients.count().filter(|_| !self.has_unknown_client)?;
        Some((clients.min(self.hits), error))
    }

    fn add_status(&mut self, status: u32) {
        self.answered += u64::from(status > 0);
        self.errors += u64::from(status >= 500);
        self.refused += u64::from((400..500).contains(&status));
    }

    fn add_numbers(&mut self, numbers: &CodedNumbers, rows: &[u16], unit: NumberUnit, settings: &SumsSettings) {
        self.extent = widened(self.extent, numbers.extent(rows));
        if settings.quantiles {
            self.spread.count(numbers, rows, unit, settings.buckets_max);
        }
        numbers.each(rows, |_, step| step.into_iter().for_each(|step| self.total.add(unit, step)));
    }

    fn add_times(&mut self, times: &CodedNumbers, rows: &[u16], settings: &SumsSettings, runs: &mut Vec<BucketRun>) {
        if settings.times {
            self.times = widened(self.times, times.extent(rows));
        }
        if let Some(axis) = settings.axis {
            self.trend.resize(axis.buckets, 0);
            axis.place(times, rows, runs);
            each_stretch(runs, rows, |bucket, rows| self.trend[bucket] += rows.len() as u64);
        }
    }

    fn add_client(&mut self, client: u32, groups_start: u32) {
        if client > OTHERS && client < groups_start {
            self.has_unknown_client |= !self.clients.add(client);
        } else if client >= OTHERS {
            self.has_unknown_client = true;
        }
    }
}

/// Set of client codes: a bit of each, or of the clients that share it.
#[derive(Debug, Default)]
struct ClientSet {
    words: Vec<u64>,
    is_hashed: bool,
}

/// The same for all processes. Codes follow one another: a hash that spreads them more evenly than
/// chance would make estimates too high.
const CLIENT_HASH: FixedState = FixedState::with_seed(0);

impl ClientSet {
    fn bits(&self) -> u64 {
        64 * self.words.len() as u64
    }

    /// False if there is no bit for the client.
    fn add(&mut self, client: u32) -> bool {
        let hashed = || ((u128::from(CLIENT_HASH.hash_one(client)) * u128::from(self.bits())) >> 64) as usize;
        let bit = if self.is_hashed { hashed() } else { client as usize };
        let word = self.words.get_mut(bit / 64);
        word.map(|word| *word |= 1 << (bit % 64)).is_some()
    }

    /// Number of clients, and the part by which it may be wrong, two standard deviations; `None`
    /// where there is no set, or all bits are taken.
    ///
    /// Of shared bits it is an estimate from those that nobody took (Whang, Vander-Zanden and
    /// Taylor, "A Linear-Time Probabilistic Counting Algorithm", 1990).
    fn count(&self) -> Option<(u64, f64)> {
        let taken: u64 = self.words.iter().map(|word| u64::from(word.count_ones())).sum();
        if !self.is_hashed || taken == 0 {
            return (!self.words.is_empty()).then_some((taken, 0.0));
        }
        let bits = self.bits() as f64;
        let load = -((bits - taken as f64) / bits).ln();
        let deviation = (load.exp() - load - 1.0).max(0.0).sqrt() / (load * bits.sqrt());
        load.is_finite().then(|| ((load * bits).round() as u64, 2.0 * deviation))
    }
}

impl BreakdownMetric {
    /// The number that values are ranked by, of a metric that is not counted, and a whole one that
    /// tells apart those that are one double; less than any other of a value that has none.
    pub(super) fn key(self, sums: &ValueSums, unit: Option<NumberUnit>) -> (f64, u64) {
        let none = (f64::NEG_INFINITY, 0);
        let Some(unit) = unit.filter(|_| self.is_of_measure()) else {
            return match self {
                Self::Clients => sums.clients().map_or(none, |(clients, _)| (clients as f64, 0)),
                Self::First => sums.times.map_or(none, |(first, _)| (0.0, first)),
                Self::Last => sums.times.map_or(none, |(_, last)| (0.0, last)),
                _ => none,
            };
        };
        let number = match self {
            Self::Max => return sums.extent.map_or(none, |(_, most)| (unit.value(most), most)),
            Self::Total => sums.extent.and_then(|_| sums.total.value(unit)),
            _ => sums.spread.quantiles(unit).map(|(quantiles, _)| self.of_quantiles(&quantiles)),
        };
        number.map_or(none, |number| (number, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rorqual_accesslog::schema::float_step;

    fn total(numbers: &[f64]) -> Option<f64> {
        let mut total = NumberTotal::default();
        numbers.iter().for_each(|number| total.add(NumberUnit::Float, float_step(*number)));
        total.value(NumberUnit::Float)
    }

    #[test]
    fn clients_that_share_bits_are_estimated_within_the_error() {
        let mut beyond = 0;
        for clients in [1, 50, 1_000, 20_000, 60_000] {
            let mut set = ClientSet { words: vec![0; 160], is_hashed: true };
            assert!((0..clients).all(|client| set.add(client * 7 + 3)));
            let (found, error) = set.count().expect("not all bits are taken");
            let is_beside = (found as f64 - f64::from(clients)).abs() > error * f64::from(clients) + 0.5;
            beyond += u64::from(is_beside);
            assert!(error < 0.25, "{found} of {clients} within {error}");
        }
        // Two standard deviations are one in twenty.
        assert!(beyond <= 1, "{beyond} of 5 are beyond the error");
        let mut full = ClientSet { words: vec![0; 1], is_hashed: true };
        (0..5_000).for_each(|client| assert!(full.add(client)));
        assert_eq!(full.count(), None);
        let mut exact = ClientSet { words: vec![0; 2], is_hashed: false };
        assert!([3, 90, 90].into_iter().all(|client| exact.add(client)));
        assert!(!exact.add(128));
        assert_eq!(exact.count(), Some((2, 0.0)));
    }

    #[test]
    fn totals_do_not_depend_on_the_order() {
        let mut numbers = [1e16, 1.0, -1e16, 0.25, 3.0, -0.125];
        for _ in 0..numbers.len() {
            numbers.rotate_left(1);
            assert_eq!(total(&numbers), Some(4.125), "{numbers:?}");
        }
        assert_eq!(total(&[f64::INFINITY, 1.0]), Some(f64::INFINITY));
        assert_eq!(total(&[f64::NEG_INFINITY, 1.0]), Some(f64::NEG_INFINITY));
        assert_eq!(total(&[f64::INFINITY, f64::NEG_INFINITY]), None);
        assert_eq!(total(&[1e308, 1e308]), None);
        let mut seconds = NumberTotal::default();
        [1_500_000, 250_000].into_iter().for_each(|micros| seconds.add(NumberUnit::Seconds, micros));
        assert_eq!(seconds.value(NumberUnit::Seconds), Some(1.75));
    }
}

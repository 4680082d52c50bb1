//! Explanation over several stores: their counts are added up, and judged as those of one store.
//!
//! Each store names the values that are over-represented or common in its own rows asked about. All
//! count the values of the others ([`ExplainMerge`]), each two of the best of them together
//! ([`ExplainPairs`]), what may be a finding in stretches of the other rows ([`ExplainCells`]), and
//! small shares by client ([`ExplainVisits`]). So the counts of a finding are those of all rows. A
//! value that is over-represented over all rows alone, and is neither strong nor common at any
//! store, is not tried; [`ExplainVisits::is_whole`] tells that there may be one.

use super::explain_parts::{
    ExplainNumbers, ExplainStep, ExplainValues, LISTED_OF_FIELD, SharedTest, TIMES_MAX, UNKNOWN, listed_of_fields, number_named,
    text_named,
};
use crate::candidates::{
    CandidateValue, Tested, TestedField, USUAL_MAX, at_least_filter, digits, draw_key, field_columns, field_name, number_field,
    roundest_of_best, status_filter, text_filter, text_key, thresholds,
};
use crate::columns::{STATUS, source};
use crate::dispersion::{CELLS_MIN, DispersionCells, cell_count, equal_parts, upper_quartile};
use crate::evidence::Evidence;
use crate::explain::{Explained, STATISTIC, UnknownField};
use crate::explain_offers::{LEAST, Offers, SMALL_EXCESS_MIN, paired};
use crate::limits::{EXPLAIN_CELLS_MAX, EXPLAIN_PAIRED_MAX, EXPLAIN_SETS_MAX, EXPLAIN_VALUES_MAX};
use crate::test_counts::TestCounts;
use crate::visits::{COUNTS, mean_visits};
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::schema::{NumberColumn, NumberUnit, Schema, TextColumn};
use std::collections::{HashMap, VecDeque};

/// A test by the columns of all stores.
#[derive(Debug, Clone)]
struct MergedTest {
    shared: SharedTest,
    field: TestedField,
}

impl Tested for MergedTest {
    fn tested(&self) -> TestedField {
        self.field
    }
}

/// A value, and its rows at the stores that have told of it.
struct MergedValue {
    test: MergedTest,
    hits: Vec<StoreHits>,
}

/// Rows of a value at a store, of those asked about and of all.
struct StoreHits {
    store: usize,
    hits_in: u64,
    hits_all: u64,
}

impl MergedValue {
    fn is_told_by(&self, store: usize) -> bool {
        self.hits.iter().any(|hits| hits.store == store)
    }

    /// True if some store does not know how many rows have it.
    fn is_unknown(&self) -> bool {
        self.hits.iter().any(|hits| (hits.hits_in, hits.hits_all) == UNKNOWN)
    }

    fn tell(&mut self, store: usize, (hits_in, hits_all): (u64, u64)) {
        self.hits.push(StoreHits { store, hits_in, hits_all });
    }
}

/// State of an explanation over several stores from the first answers on.
struct Merged {
    schema: Schema,
    /// Bytes of the tests of a question as JSON.
    room: usize,
    /// Times of rows, each with the number of them that it stands for.
    times_us: Vec<(i64, f64)>,
    tried: usize,
    exact: bool,
    whole: bool,
    unknown: Vec<UnknownField>,
    /// Usual values of fields, with their rows at the stores that have told of them.
    usual: Vec<(MergedTest, u64)>,
}

/// Values of several stores, and the questions of each about those of the others.
pub struct ExplainMerge {
    merged: Merged,
    stores: usize,
    rows_in: u64,
    rows_all: u64,
    values: Vec<MergedValue>,
    /// Places of values, and of common values of their rows.
    besides: Vec<(usize, Vec<usize>)>,
}

/// The best values of several stores, and the question about each two of them.
pub struct ExplainPairs {
    merged: Merged,
    tests: Vec<MergedTest>,
    counts: TestCounts,
}

/// Values and pairs that may be findings, and the questions about them and about usual values of
/// their fields in stretches of the other rows.
pub struct ExplainCells {
    merged: Merged,
    tests: Vec<MergedTest>,
    offers: Offers,
    /// Questions that have not been asked.
    rounds: VecDeque<(ExplainStep, Vec<Option<TextColumn>>)>,
    /// The question that is being answered, with the fields of its tests where these are usual
    /// values; and its answers.
    asked: Option<(ExplainStep, Vec<Option<TextColumn>>, DispersionCells)>,
    of_offers: Option<DispersionCells>,
    /// The first question, where it may be asked anew without times.
    by_order: Option<ExplainStep>,
    /// Dispersions of usual values of fields.
    floors: Vec<(Option<TextColumn>, Vec<f64>)>,
}

/// The same once they were divided by their dispersion, and the question about the clients of those
/// that are a small share.
pub struct ExplainVisits {
    merged: Merged,
    tests: Vec<MergedTest>,
    offers: Offers,
    small: Vec<Vec<usize>>,
    /// Empty where there is no question.
    counts: Vec<u32>,
}

impl ExplainStep {
    /// The first question to each of so many stores. A value with enough rows at all of them
    /// together has an equal share of these at one of them at least.
    #[must_use]
    pub fn values(stores: usize) -> Self {
        Self::Values { hits_min: (SMALL_EXCESS_MIN as u64).div_ceil(stores.max(1) as u64) }
    }
}

impl ExplainMerge {
    /// Of the values that the stores have told of, without fields that `except` names. The tests of
    /// a question have at most `room` bytes as JSON; ten thousand are enough for any one of them.
    #[must_use]
    pub fn new(schema: &Schema, except: &[String], room: usize, parts: Vec<ExplainValues>) -> Self {
        let stores = parts.len();
        let sum = |of: fn(&ExplainValues) -> u64| parts.iter().map(of).fold(0, u64::saturating_add);
        let (rows_in, rows_all) = (sum(|part| part.rows_in), sum(|part| part.rows_all));
        let times_of = |part: &ExplainValues| {
            let weight = part.rows as f64 / part.times_us.len().max(1) as f64;
            part.times_us.iter().map(move |time| (*time, weight)).collect::<Vec<_>>()
        };
        let times_us = parts.iter().flat_map(times_of).collect();
        let tried = sum(|part| part.tried) as usize;
        let (exact, whole) = (parts.iter().all(|part| part.exact), parts.iter().all(|part| part.whole));
        let merged = |shared: &SharedTest| merged(schema, except, shared);
        let mut unknown: Vec<UnknownField> = Vec::new();
        let mut known: HashMap<SharedTest, usize> = HashMap::new();
        let mut values: Vec<MergedValue> = Vec::new();
        let mut usual: HashMap<SharedTest, (MergedTest, u64)> = HashMap::new();
        let mut besides = Vec::new();
        let mut place_of = |values: &mut Vec<MergedValue>, shared: SharedTest| {
            let test = merged(&shared)?;
            Some(*known.entry(shared).or_insert_with(|| {
                values.push(MergedValue { test, hits: Vec::new() });
                values.len() - 1
            }))
        };
        // They come first, and are counted whatever the stores tell.
        for shared in thresholds().iter().filter_map(|test| SharedTest::of_number(test, schema)) {
            place_of(&mut values, shared);
        }
        let always = values.len();
        for (store, part) in parts.into_iter().enumerate() {
            let mut places = Vec::new();
            for (shared, hits_in, hits_all) in part.values {
                let place = place_of(&mut values, shared);
                place.into_iter().for_each(|place| values[place].tell(store, (hits_in, hits_all)));
                places.push(place);
            }
            for (leader, common) in part.besides.iter().enumerate() {
                let Some(leader) = places[leader] else { continue };
                besides.push((leader, common.iter().filter_map(|place| places[*place]).collect()));
            }
            for (shared, hits) in part.usual {
                let Some(test) = merged(&shared) else { continue };
                let (_, all) = usual.entry(shared).or_insert((test, 0));
                *all = all.saturating_add(hits);
            }
            for (field, hits_in, hits_all) in part.unknown {
                if text_named(schema, &field).is_none() {
                    continue;
                }
                let hits_out = hits_all.saturating_sub(hits_in);
                match unknown.iter_mut().find(|own| own.field == field) {
                    Some(own) => {
                        own.hits_in = own.hits_in.saturating_add(hits_in);
                        own.hits_out = own.hits_out.saturating_add(hits_out);
                    }
                    None => unknown.push(UnknownField { field: field.into(), hits_in, hits_out }),
                }
            }
        }
        let mut usual: Vec<(MergedTest, u64)> = usual.into_values().collect();
        usual.sort_by_key(|(test, _)| test.key());
        let merged = Merged { schema: schema.clone(), room, times_us, tried, exact, whole, unknown, usual };
        let mut own = Self { merged, stores, rows_in, rows_all, values, besides };
        own.keep_listed(always);
        own
    }

    /// Keeps the first values, and those that one store would tell of, as many as are counted.
    fn keep_listed(&mut self, always: usize) {
        let mut singles: Vec<(usize, CandidateValue<MergedTest>)> =
            (0..self.values.len()).map(|place| (place, self.single(place))).collect();
        singles.sort_by(|(_, a), (_, b)| CandidateValue::by_g(a, b));
        let (places, singles): (Vec<usize>, Vec<_>) = singles.into_iter().unzip();
        let listed = listed_of_fields(&singles, LISTED_OF_FIELD).into_iter().map(|place| places[place]);
        let besides = self.besides.iter().flat_map(|(leader, common)| [*leader].into_iter().chain(common.iter().copied()));
        let mut left: HashMap<usize, usize> = HashMap::new();
        for place in (0..always).chain(listed).chain(besides) {
            if left.len() < EXPLAIN_VALUES_MAX {
                left.entry(place).or_default();
            }
        }
        self.merged.whole &= left.len() == self.values.len();
        let mut values = Vec::new();
        for (place, value) in std::mem::take(&mut self.values).into_iter().enumerate() {
            if let Some(new_place) = left.get_mut(&place) {
                *new_place = values.len();
                values.push(value);
            }
        }
        self.values = values;
        let moved = |place: &usize| left.get(place).copied();
        let besides = std::mem::take(&mut self.besides).into_iter();
        self.besides =
            besides.filter_map(|(leader, common)| Some((moved(&leader)?, common.iter().filter_map(moved).collect()))).collect();
    }

    /// A value with the rows that are known of it.
    fn single(&self, place: usize) -> CandidateValue<MergedTest> {
        let MergedValue { test, hits } = &self.values[place];
        let (hits_in, hits_all): (u64, u64) = hits.iter().fold((0, 0), |(a, b), of| (a + of.hits_in, b + of.hits_all));
        let (rows_in, rows_out) = (self.rows_in, self.rows_all - self.rows_in);
        // Rows may come while they are counted.
        let (hits_in, hits_out) = (hits_in.min(rows_in), hits_all.saturating_sub(hits_in).min(rows_out));
        CandidateValue { test: test.clone(), evidence: Evidence { hits_in, rows_in, hits_out, rows_out }, key: test.key() }
    }

    /// The values that a store has not told of, as many as have room in a question.
    fn lacking(&self, store: usize) -> Vec<usize> {
        let lacks = (0..self.values.len()).filter(|place| !self.values[*place].is_told_by(store)).take(EXPLAIN_SETS_MAX);
        let mut rest = self.merged.room;
        lacks.take_while(|place| takes_room(&self.values[*place].test.shared, &mut rest)).collect()
    }

    /// The next question to a store about the values of others; `None` where it has told of all.
    #[must_use]
    pub fn step(&self, store: usize) -> Option<ExplainStep> {
        let tests: Vec<SharedTest> =
            self.lacking(store).into_iter().map(|place| self.values[place].test.shared.clone()).collect();
        (!tests.is_empty()).then_some(ExplainStep::Hits { tests })
    }

    /// Takes its answer; `false` where that is none.
    pub fn take(&mut self, store: usize, answer: &[u8]) -> bool {
        let places = self.lacking(store);
        let Some(numbers) = ExplainNumbers::read(answer).filter(|numbers| numbers.len() == 2 * places.len()) else {
            return false;
        };
        places
            .into_iter()
            .zip(numbers.chunks_exact(2))
            .for_each(|(place, hits)| self.values[place].tell(store, (hits[0], hits[1])));
        true
    }

    /// Chooses the best values, once all stores have told of all.
    #[must_use]
    pub fn pairs(mut self) -> ExplainPairs {
        let mut singles = self.singles();
        singles.sort_by(|(_, a), (_, b)| CandidateValue::by_g(a, b));
        let (places, singles): (Vec<usize>, Vec<_>) = singles.into_iter().unzip();
        let of_values: HashMap<usize, usize> = (0..).zip(&places).map(|(single, place)| (*place, single)).collect();
        let single_of = |place: &usize| of_values.get(place).copied();
        let mut besides = vec![Vec::new(); singles.len()];
        for (leader, common) in &self.besides {
            let Some(leader) = single_of(leader) else { continue };
            besides[leader].extend(common.iter().filter_map(single_of));
        }
        let chosen = paired(&singles, &besides);
        let (count, mut rest) = (chosen.len(), self.merged.room);
        let fits = |place: &usize| takes_room(&singles[*place].test.shared, &mut rest);
        let tests: Vec<MergedTest> =
            chosen.into_iter().filter(fits).take(EXPLAIN_PAIRED_MAX).map(|place| singles[place].test.clone()).collect();
        self.merged.whole &= tests.len() == count;
        self.merged.tried += tests.len() * tests.len().saturating_sub(1) / 2;
        let counts = TestCounts::new(&tests, true);
        ExplainPairs { merged: self.merged, tests, counts }
    }

    /// Values with enough of the rows asked about, of each column of numbers one, and their places.
    fn singles(&mut self) -> Vec<(usize, CandidateValue<MergedTest>)> {
        let mut singles = Vec::new();
        let mut of_numbers: HashMap<TestedField, Vec<(usize, CandidateValue<MergedTest>)>> = HashMap::new();
        for place in 0..self.values.len() {
            let (value, single) = (&self.values[place], self.single(place));
            if value.is_unknown() || (0..self.stores).any(|store| !value.is_told_by(store)) {
                self.merged.whole = false;
                self.merged.exact = false;
            } else if single.evidence.hits_in < SMALL_EXCESS_MIN as u64 {
                continue;
            } else if !single.test.is_least() {
                singles.push((place, single));
            } else if single.evidence.ratio() > 1.0 {
                of_numbers.entry(single.test.field).or_default().push((place, single));
            }
        }
        singles.extend(of_numbers.into_values().filter_map(|of_column| best_number(&self.merged.schema, of_column)));
        singles
    }
}

/// Of the least numbers of a column the one that says most, the narrower of equals; of the schema's
/// own columns the roundest of those that say nearly as much.
fn best_number(
    schema: &Schema,
    mut of_column: Vec<(usize, CandidateValue<MergedTest>)>,
) -> Option<(usize, CandidateValue<MergedTest>)> {
    of_column.sort_by_key(|(_, single)| u64::MAX - single.key);
    let own = |single: &CandidateValue<MergedTest>| match &single.test.shared {
        SharedTest::Least(name, least) => {
            let column: NumberColumn = number_named(schema, name).filter(|column| column.as_own().is_some())?;
            Some(digits(schema.unit(column).value(*least)))
        }
        _ => None,
    };
    let rounded: Option<Vec<(usize, usize)>> =
        of_column.iter().enumerate().map(|(at, (_, single))| Some((own(single)?, at))).collect();
    let Some(rounded) = rounded else {
        return of_column.into_iter().max_by(|(_, a), (_, b)| a.evidence.g().total_cmp(&b.evidence.g()));
    };
    let best = roundest_of_best(rounded, |at| of_column[*at].1.evidence.g())?;
    Some(of_column.swap_remove(best))
}

impl ExplainPairs {
    /// The question to all stores.
    #[must_use]
    pub fn step(&self) -> ExplainStep {
        ExplainStep::Pairs { tests: self.tests.iter().map(|test| test.shared.clone()).collect() }
    }

    /// Adds the answer of a store; `false` where that is none.
    pub fn take(&mut self, answer: &[u8]) -> bool {
        ExplainNumbers::read(answer).is_some_and(|numbers| self.counts.take(&numbers))
    }

    /// Chooses what may be a finding, once all stores have answered.
    #[must_use]
    pub fn cells(self) -> ExplainCells {
        let Self { merged, tests, counts } = self;
        let offers = Offers::new(counts, merged.tried);
        let mut rounds = VecDeque::new();
        if !offers.is_empty() {
            let count = cell_count(offers.rows()).min(TIMES_MAX);
            let of_sets = |tests: Vec<SharedTest>, sets: Vec<Vec<usize>>| {
                let most = count.min(EXPLAIN_CELLS_MAX / (sets.len() + 1));
                let ends = equal_parts(merged.times_us.clone(), most);
                // Rows of one moment are cut by their order.
                let ends = if ends.len() + 1 < CELLS_MIN.min(most) { Vec::new() } else { ends };
                let cells = if ends.is_empty() { most } else { ends.len() + 1 };
                ExplainStep::Cells { tests, sets, cells, ends }
            };
            let (asked, sets) = tests_of(&tests, offers.sets());
            rounds.push_back((of_sets(asked, sets), Vec::new()));
            let fields = field_columns(&merged.schema).filter(|column| offers.are_of(*column));
            let mut usual: Vec<(SharedTest, Option<TextColumn>)> = fields
                .flat_map(|column| merged.usual_of(column).into_iter().map(move |test| (test.shared.clone(), column)))
                .collect();
            while !usual.is_empty() {
                let mut rest = merged.room;
                let fits = usual.iter().take(EXPLAIN_SETS_MAX).take_while(|(test, _)| takes_room(test, &mut rest)).count().max(1);
                let (tests, fields): (Vec<SharedTest>, Vec<_>) = usual.drain(..fits).unzip();
                let sets = (0..tests.len()).map(|place| vec![place]).collect();
                rounds.push_back((of_sets(tests, sets), fields));
            }
        }
        let is_timed = |step: &ExplainStep| matches!(step, ExplainStep::Cells { ends, cells, .. } if !ends.is_empty() && *cells >= CELLS_MIN);
        let by_order = rounds.front().map(|(step, _)| step.clone()).filter(is_timed);
        ExplainCells { merged, tests, offers, rounds, asked: None, of_offers: None, by_order, floors: Vec::new() }
    }
}

impl ExplainCells {
    /// The next question to all stores, once all have answered the one before; `None` after the
    /// last.
    pub fn step(&mut self) -> Option<ExplainStep> {
        self.end_round();
        if self.of_offers.as_ref().is_some_and(|cells| cells.usable() < CELLS_MIN) {
            self.cut_by_order();
        }
        let (step, fields) = self.rounds.pop_front()?;
        let cells = DispersionCells::empty(step.tests_and_sets().1.len(), step.cells());
        self.asked = Some((step.clone(), fields, cells));
        Some(step)
    }

    /// Asks anew, where most rows have a few times only, or none: by the order of the rows.
    fn cut_by_order(&mut self) {
        let Some(first) = self.by_order.take() else { return };
        self.of_offers = None;
        self.rounds.push_front((first, Vec::new()));
        for (step, _) in &mut self.rounds {
            if let ExplainStep::Cells { ends, .. } = step {
                ends.clear();
            }
        }
    }

    /// Of usual values only the dispersions are kept.
    fn end_round(&mut self) {
        let Some((_, fields, cells)) = self.asked.take() else { return };
        if fields.is_empty() {
            self.of_offers = Some(cells);
            return;
        }
        for (set, column) in fields.into_iter().enumerate() {
            let dispersion = cells.of(set).dispersion();
            match self.floors.iter_mut().find(|(of, _)| *of == column) {
                Some((_, dispersions)) => dispersions.push(dispersion),
                None => self.floors.push((column, vec![dispersion])),
            }
        }
    }

    /// Adds the answer of a store; `false` where that is none.
    pub fn take(&mut self, answer: &[u8]) -> bool {
        let Some((step, _, all)) = &mut self.asked else { return false };
        let (sets, cells) = (step.tests_and_sets().1.len(), step.cells());
        let numbers = ExplainNumbers::read(answer).filter(|numbers| numbers.len() == cells * (sets + 1));
        let small = |numbers: Vec<u64>| numbers.into_iter().map(|rows| u32::try_from(rows).ok()).collect::<Option<Vec<u32>>>();
        let cells = numbers.and_then(small).and_then(|counts| DispersionCells::new(sets, counts));
        let is_one = cells.is_some();
        cells.iter().for_each(|cells| all.add(cells));
        is_one
    }

    /// Divides the evidence by the dispersion, after all answers.
    #[must_use]
    pub fn visits(mut self) -> ExplainVisits {
        self.end_round();
        let Self { merged, tests, mut offers, of_offers, floors, .. } = self;
        if let Some(cells) = of_offers {
            let floors: Vec<_> = floors.into_iter().map(|(column, of_field)| (column, upper_quartile(of_field))).collect();
            offers.disperse(|set| cells.of(set), &floors);
        }
        let small = if merged.schema.is_table() { Vec::new() } else { offers.small_sets() };
        let counts = if small.is_empty() { Vec::new() } else { vec![0; (1 + small.len()) * COUNTS] };
        ExplainVisits { merged, tests, offers, small, counts }
    }
}

impl ExplainVisits {
    /// The question to all stores; `None` where nothing is a small share.
    #[must_use]
    pub fn step(&self) -> Option<ExplainStep> {
        let (tests, sets) = tests_of(&self.tests, self.small.clone());
        (!self.small.is_empty()).then_some(ExplainStep::Visits { tests, sets })
    }

    /// Adds the answer of a store; `false` where that is none.
    pub fn take(&mut self, answer: &[u8]) -> bool {
        let Some(numbers) = ExplainNumbers::read(answer).filter(|numbers| numbers.len() == self.counts.len()) else {
            return false;
        };
        let small = |rows: u64| u32::try_from(rows).unwrap_or(u32::MAX);
        self.counts.iter_mut().zip(numbers).for_each(|(sum, rows)| *sum = sum.saturating_add(small(rows)));
        true
    }

    /// True if every value of every store was tried.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.merged.whole
    }

    /// The explanation, after all answers.
    #[must_use]
    pub fn explained(self) -> Explained {
        let Self { merged, tests, mut offers, counts, .. } = self;
        if !counts.is_empty() {
            offers.take_visits(&mean_visits(&counts));
        }
        let filters: Vec<Filter> = tests.iter().map(|test| test.filter(&merged.schema)).collect();
        let (rows_in, rows_out) = offers.rows();
        Explained {
            rows_in,
            rows_out,
            tried: merged.tried,
            statistic: STATISTIC,
            least: LEAST,
            exact: merged.exact && merged.unknown.is_empty(),
            unknown: merged.unknown,
            findings: offers.findings(&merged.schema, &filters),
        }
    }
}

impl Merged {
    /// Usual values of a field, drawn of those that the stores have drawn.
    fn usual_of(&self, column: Option<TextColumn>) -> Vec<&MergedTest> {
        let of_field = self.usual.iter().filter(|(test, hits)| test.field.is_of(column) && *hits > 0);
        let mut drawn: Vec<(f64, &MergedTest)> = of_field.map(|(test, hits)| (test.draw_key(*hits), test)).collect();
        drawn.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        drawn.truncate(USUAL_MAX);
        drawn.into_iter().map(|(_, test)| test).collect()
    }
}

/// The tests that some sets have, and the places of these there.
fn tests_of(tests: &[MergedTest], mut sets: Vec<Vec<usize>>) -> (Vec<SharedTest>, Vec<Vec<usize>>) {
    let mut used: Vec<usize> = Vec::new();
    for place in sets.iter_mut().flatten() {
        *place = used.iter().position(|own| own == place).unwrap_or_else(|| {
            used.push(*place);
            used.len() - 1
        });
    }
    (used.into_iter().map(|place| tests[place].shared.clone()).collect(), sets)
}

/// A test by these columns; `None` where it is of no field that is tried.
fn merged(schema: &Schema, except: &[String], shared: &SharedTest) -> Option<MergedTest> {
    let is_tried = |field: &str| except.iter().all(|name| name != field);
    let field = match shared {
        SharedTest::Text(name, _) => {
            let column = text_named(schema, name).filter(|column| field_columns(schema).any(|own| own == Some(*column)))?;
            Some(TestedField { source: source(column).0, column: Some(column) }).filter(|_| is_tried(name))
        }
        SharedTest::Status(_) | SharedTest::From(_) => {
            Some(TestedField { source: STATUS, column: None }).filter(|_| is_tried(&field_name(None, schema)))
        }
        SharedTest::Least(name, _) => {
            let column = number_named(schema, name).filter(|column| schema.unit(*column) != NumberUnit::Moment)?;
            Some(number_field(column)).filter(|_| is_tried(name))
        }
    };
    Some(MergedTest { shared: shared.clone(), field: field? })
}

impl MergedTest {
    /// True if it is of at least some number.
    fn is_least(&self) -> bool {
        matches!(self.shared, SharedTest::From(_) | SharedTest::Least(..))
    }

    /// By which values that say as much are in order: a single value comes first, and of numbers
    /// the narrower one.
    fn key(&self) -> u64 {
        match &self.shared {
            SharedTest::Text(name, text) => text_key(name, text.as_bytes()),
            SharedTest::Status(status) => u64::from(*status),
            SharedTest::From(least) => u64::MAX - u64::from(*least),
            SharedTest::Least(_, least) => u64::MAX - least,
        }
    }

    /// The key by which it is drawn among usual values.
    fn draw_key(&self, hits: u64) -> f64 {
        match &self.shared {
            SharedTest::Text(_, text) => draw_key(text.as_bytes(), hits),
            SharedTest::Status(status) => draw_key(&status.to_le_bytes(), hits),
            SharedTest::From(_) | SharedTest::Least(..) => f64::INFINITY,
        }
    }

    /// The filter that means its rows.
    fn filter(&self, schema: &Schema) -> Filter {
        match &self.shared {
            SharedTest::Text(_, text) => text_filter(self.field.column.unwrap_or(TextColumn::PATH), text.as_bytes()),
            SharedTest::Status(status) => status_filter(*status, Some(*status)),
            SharedTest::From(least) => status_filter(*least, None),
            SharedTest::Least(name, least) => {
                number_named(schema, name).map_or(Filter::All(Vec::new()), |column| at_least_filter(column, *least))
            }
        }
    }
}

/// True if a test has room as JSON, which it then takes.
fn takes_room(test: &SharedTest, rest: &mut usize) -> bool {
    let bytes = serde_json::to_string(test).map_or(usize::MAX, |text| text.len() + 1);
    let left = rest.checked_sub(bytes);
    left.inspect(|left| *rest = *left).is_some()
}

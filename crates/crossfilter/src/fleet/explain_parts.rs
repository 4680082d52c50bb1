//! Parts of an explanation over several stores, as one of them counts them.

use super::values::{read_number, write_number};
use crate::candidates::{CandidateField, CandidateTest, CandidateValue, Tested, TestedField};
use crate::columns::{STATUS, STATUSES, number_source, source};
use crate::dictionary::OTHERS;
use crate::explain::{Candidates, of_places};
use crate::explain_offers::DRILLED_MAX;
use crate::limits::{
    EXPLAIN_CELLS_MAX, EXPLAIN_PAIRED_MAX, EXPLAIN_SETS_MAX, EXPLAIN_VALUES_MAX, EXPLAIN_VISITS_MAX, STORE_ROWS_MAX,
};
use crate::question::ViewQuestion;
use crate::store::{RowStore, Snapshot};
use crate::value_bytes::{NAMED_BYTES_MAX, ValueBytes};
use crate::view::{View, ViewError};
use crate::view_cache::CountedViews;
use rorqual_accesslog::schema::{NumberColumn, Schema, TextColumn};
use rorqual_pipe::Control;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};

/// Values of a field that a store lists: those with the strongest evidence, and as many of those
/// with most of the rows asked about, as a value may be strong only over all stores.
pub(super) const LISTED_OF_FIELD: usize = 24;

/// Parts of equal length that a store's rows are cut into by time.
pub(super) const TIMES_MAX: usize = 512;

/// Bytes of a usual value: there are many without longer ones.
const USUAL_BYTES_MAX: usize = 256;

/// Rows of a text of which a store does not know them.
pub(super) const UNKNOWN: (u64, u64) = (STORE_ROWS_MAX, 0);

/// A test for the rows that have a value, as all stores know it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SharedTest {
    /// Rows with this text, of the field with this name.
    Text(String, ValueBytes),
    /// Rows with this status.
    Status(u32),
    /// Rows with at least this status.
    From(u32),
    /// Rows with at least this number, of the column with this name.
    Least(String, u64),
}

impl SharedTest {
    /// A test of a status or of a number as all stores know it; `None` of a text.
    pub(super) fn of_number(test: &CandidateTest, schema: &Schema) -> Option<Self> {
        match test {
            CandidateTest::Status(status) => Some(Self::Status(*status)),
            CandidateTest::StatusFrom(least) => Some(Self::From(*least)),
            CandidateTest::AtLeast(column, least) => Some(Self::Least(schema.number_name(*column).into_owned(), *least)),
            CandidateTest::Code { .. } | CandidateTest::Uncoded { .. } => None,
        }
    }

    /// Bytes of its text.
    fn text_bytes(&self) -> usize {
        if let Self::Text(_, text) = self { text.as_bytes().len() } else { 0 }
    }
}

/// A part of an explanation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum ExplainStep {
    /// Values that are over-represented, or common, in the rows asked about.
    Values {
        /// Rows asked about that a value has at least.
        hits_min: u64,
    },
    /// Rows of tests.
    Hits {
        /// Tests.
        tests: Vec<SharedTest>,
    },
    /// Rows of each two tests.
    Pairs {
        /// Tests.
        tests: Vec<SharedTest>,
    },
    /// Rows of sets of tests, in stretches of the others.
    Cells {
        /// Tests.
        tests: Vec<SharedTest>,
        /// Places of the tests of each set.
        sets: Vec<Vec<usize>>,
        /// Number of stretches.
        cells: usize,
        /// Unix microseconds between these; without any they have the same length each.
        ends: Vec<i64>,
    },
    /// Rows of sets of tests, by client.
    Visits {
        /// Tests.
        tests: Vec<SharedTest>,
        /// Places of the tests of each set.
        sets: Vec<Vec<usize>>,
    },
}

/// Answer of a store to a step.
#[derive(Debug)]
pub enum ExplainPart {
    /// Its values.
    Values(Box<ExplainValues>),
    /// Numbers, in the order of the tests.
    Numbers(ExplainNumbers),
}

/// Values of a store that may explain.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ExplainValues {
    /// All rows of the log.
    pub rows: u64,
    /// Rows asked about.
    pub rows_in: u64,
    /// With the rest.
    pub rows_all: u64,
    /// Times that cut all rows of the log into about equal parts, in Unix microseconds.
    pub times_us: Vec<i64>,
    /// Values that were looked at.
    pub tried: u64,
    /// Every row was looked at, and every value has a place.
    pub exact: bool,
    /// All values are told of.
    pub whole: bool,
    /// Values with their rows, of those asked about and of all; the strongest evidence first.
    pub values: Vec<(SharedTest, u64, u64)>,
    /// Places of common values of the rows of the first of these, for each.
    pub besides: Vec<Vec<usize>>,
    /// Usual values of fields, with all their rows.
    pub usual: Vec<(SharedTest, u64)>,
    /// Fields with rows whose values had no room: of those asked about, and of all.
    pub unknown: Vec<(String, u64, u64)>,
}

/// Numbers by seven bits a byte, as most are small.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainNumbers(Vec<u8>);

impl FromIterator<u64> for ExplainNumbers {
    fn from_iter<T: IntoIterator<Item = u64>>(numbers: T) -> Self {
        let mut bytes = Vec::new();
        numbers.into_iter().for_each(|number| write_number(&mut bytes, number));
        Self(bytes)
    }
}

impl ExplainNumbers {
    /// The bytes, for another process.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The numbers in such bytes; `None` of other bytes, and where one is no number of rows.
    pub(super) fn read(mut bytes: &[u8]) -> Option<Vec<u64>> {
        let mut numbers = Vec::new();
        while !bytes.is_empty() {
            let (number, rest) = read_number(bytes)?;
            if number > STORE_ROWS_MAX {
                return None;
            }
            numbers.push(number);
            bytes = rest;
        }
        Some(numbers)
    }
}

impl ExplainValues {
    /// Most of its lists.
    #[must_use]
    pub fn longest(&self) -> usize {
        self.values.len().max(self.usual.len()).max(self.unknown.len())
    }

    /// Leaves so many of each list.
    pub fn truncate(&mut self, most: usize) {
        self.whole &= self.longest() <= most;
        self.values.truncate(most);
        self.besides.truncate(most);
        self.besides.iter_mut().for_each(|places| places.retain(|place| *place < most));
        self.usual.truncate(most);
        self.unknown.truncate(most);
    }

    /// True if it may be that of a store.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let are_rows = |hits_in: u64, hits_all: u64| hits_in <= STORE_ROWS_MAX && hits_all <= STORE_ROWS_MAX;
        let is_place = |place: &usize| *place < self.values.len();
        let is_short = |test: &SharedTest| test.text_bytes() <= NAMED_BYTES_MAX;
        let tests = || self.values.iter().map(|(test, ..)| test);
        self.values.len() <= EXPLAIN_VALUES_MAX
            && tests().chain(self.usual.iter().map(|(test, _)| test)).all(is_short)
            && tests().all(|test| !matches!(test, SharedTest::Status(status) if !(1..STATUSES as u32).contains(status)))
            && (self.rows > 0 || self.times_us.is_empty())
            && tests().collect::<HashSet<_>>().len() == self.values.len()
            && self.times_us.len() < TIMES_MAX
            && are_rows(self.rows_in, self.rows)
            && self.rows_in <= self.rows_all
            && self.rows_all <= self.rows
            && self.tried <= STORE_ROWS_MAX
            && self.values.iter().all(|(_, hits_in, hits_all)| are_rows(*hits_in, *hits_all))
            && self.besides.len() <= self.values.len().min(DRILLED_MAX)
            && self.besides.iter().flatten().all(is_place)
            && self.usual.iter().all(|(_, hits)| *hits <= STORE_ROWS_MAX)
            && self.unknown.iter().all(|(_, hits_in, hits_all)| are_rows(*hits_in, *hits_all))
    }
}

impl ExplainStep {
    /// The tests and sets that it asks for.
    #[must_use]
    pub fn tests_and_sets(&self) -> (&[SharedTest], &[Vec<usize>]) {
        match self {
            Self::Values { .. } => (&[], &[]),
            Self::Hits { tests } | Self::Pairs { tests } => (tests, &[]),
            Self::Cells { tests, sets, .. } | Self::Visits { tests, sets } => (tests, sets),
        }
    }

    /// True if there are not too many tests and sets, and the sets are of one test or two of these.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let (tests, sets) = self.tests_and_sets();
        let sets_max = if matches!(self, Self::Visits { .. }) { EXPLAIN_VISITS_MAX } else { EXPLAIN_SETS_MAX };
        let tests_max = if matches!(self, Self::Pairs { .. }) { EXPLAIN_PAIRED_MAX } else { EXPLAIN_SETS_MAX };
        tests.len() <= tests_max
            && sets.len() <= sets_max
            && self.are_cells_sound()
            && sets.iter().all(|places| (1..=2).contains(&places.len()) && places.iter().all(|place| *place < tests.len()))
    }

    /// Number of stretches.
    pub(super) fn cells(&self) -> usize {
        if let Self::Cells { cells, .. } = self { *cells } else { 0 }
    }

    fn are_cells_sound(&self) -> bool {
        let Self::Cells { sets, cells, ends, .. } = self else { return true };
        let numbers = cells.saturating_mul(sets.len() + 1);
        (1..=EXPLAIN_CELLS_MAX).contains(&numbers) && (ends.is_empty() || ends.len() + 1 == *cells) && ends.is_sorted()
    }

    /// True if its answer is [`ExplainNumbers`].
    #[must_use]
    pub fn is_numbers(&self) -> bool {
        !matches!(self, Self::Values { .. })
    }
}

/// The column with exactly this name.
pub(super) fn text_named(schema: &Schema, name: &str) -> Option<TextColumn> {
    schema.text(name).filter(|column| schema.text_name(*column) == name)
}

/// The column of numbers with exactly this name, if its numbers are kept.
pub(super) fn number_named(schema: &Schema, name: &str) -> Option<NumberColumn> {
    let column = schema.number(name).filter(|column| schema.number_name(*column) == name)?;
    number_source(column).map(|_| column)
}

impl RowStore {
    /// A part of the explanation of the rows of `view` that are in `against` by the other rows of
    /// `against`, without values of the fields that `except` names.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn explain_part(
        &self,
        [view, against]: [&View; 2],
        except: &[String],
        step: &ExplainStep,
        control: &Control,
    ) -> Result<ExplainPart, ViewError> {
        self.asked(|| {
            let (snapshot, base) = self.up_to_date(control)?;
            let counted = |view: &View| self.sums_in(&snapshot, &base, view, control);
            let question = ViewQuestion::new(self, view, against, control)?;
            Ok(ExplainPart::Numbers(match step {
                ExplainStep::Values { hits_min } => {
                    let counted = [&*counted(view)?, &*counted(against)?];
                    let values = question.listed(&snapshot, counted, except, *hits_min)?;
                    return Ok(ExplainPart::Values(Box::new(values)));
                }
                ExplainStep::Hits { tests } => question.hits(&snapshot, [&*counted(view)?, &*counted(against)?], tests)?,
                ExplainStep::Pairs { tests } => question.count(&snapshot, &self.tests(tests), true)?.numbers().collect(),
                ExplainStep::Cells { tests, sets, cells, ends } => {
                    let tests = self.tests(tests);
                    let cells = question.shared_cells(&snapshot, &of_places(&tests, sets), (*cells, ends))?;
                    cells.counts().iter().map(|rows| u64::from(*rows)).collect()
                }
                ExplainStep::Visits { tests, sets } => {
                    let tests = self.tests(tests);
                    let visits = question.visits(&snapshot, &of_places(&tests, sets))?;
                    visits.into_iter().map(u64::from).collect()
                }
            }))
        })
    }

    /// The tests here; of a value that no row has, or that is derived and has no room, one that
    /// none passes.
    fn tests(&self, tests: &[SharedTest]) -> Vec<CandidateTest> {
        let schema = self.schema();
        let mut fields: HashMap<TextColumn, CandidateField> = HashMap::new();
        let mut test = |shared: &SharedTest| match shared {
            SharedTest::Text(name, text) => {
                let column = text_named(&schema, name)?;
                let field = fields.entry(column).or_insert_with(|| self.field(Some(column)));
                let text = text.as_bytes();
                let code = self.code_of(&self.dictionaries[field.index].lock(), column, text);
                let uncoded = || CandidateTest::Uncoded { column, hash: self.hasher.hash(text), text: text.into() };
                code.map(|code| field.test(code)).or_else(|| source(column).1.is_none().then(uncoded))
            }
            SharedTest::Status(status) => Some(CandidateTest::Status(*status)),
            SharedTest::From(least) => Some(CandidateTest::StatusFrom(*least)),
            SharedTest::Least(name, least) => Some(CandidateTest::AtLeast(number_named(&schema, name)?, *least)),
        };
        tests.iter().map(|shared| test(shared).unwrap_or(CandidateTest::Status(u32::MAX))).collect()
    }

    /// A test as all stores know it; `None` of a text that is longer than one that is named.
    fn shared(&self, test: &CandidateTest) -> Option<SharedTest> {
        let schema = self.schema();
        let CandidateTest::Code { column, code, .. } = test else { return SharedTest::of_number(test, &schema) };
        let (index, derived) = source(*column);
        let tables = self.dictionaries[index].lock();
        let text = Some(tables.text_of(derived, *code)).filter(|text| text.len() <= NAMED_BYTES_MAX)?;
        Some(SharedTest::Text(schema.text_name(*column).into_owned(), ValueBytes::new(text)))
    }
}

impl ViewQuestion<'_> {
    fn listed(
        &self,
        snapshot: &Snapshot,
        [inside, all]: [&CountedViews; 2],
        except: &[String],
        hits_min: u64,
    ) -> Result<ExplainValues, ViewError> {
        let store = self.store;
        let Candidates { fields, singles, besides, tried } = self.candidates(snapshot, (inside, all), except, hits_min)?;
        let unknown = store.unknown_fields((inside, all), except);
        let is_listed = listed_places(&singles, &besides);
        let mut whole = true;
        let mut new_places = vec![None; singles.len()];
        let mut values = Vec::new();
        for (place, CandidateValue { test, evidence, .. }) in singles.iter().enumerate() {
            let is_told = is_listed[place] && values.len() < EXPLAIN_VALUES_MAX;
            let shared = is_told.then(|| store.shared(test)).flatten();
            whole &= shared.is_some();
            if let Some(shared) = shared {
                new_places[place] = Some(values.len());
                values.push((shared, evidence.hits_in, evidence.hits_in + evidence.hits_out));
            }
        }
        // The first are all listed, so their places are the same but for those of very long texts.
        let leaders = besides.iter().enumerate().filter(|(leader, _)| new_places[*leader].is_some());
        let moved = |(_, places): (usize, &Vec<usize>)| places.iter().filter_map(|place| new_places[*place]).collect();
        let besides = leaders.map(moved).collect();
        let usual_of = |field: &CandidateField| -> Vec<(SharedTest, u64)> {
            let shared = |test: &CandidateTest| store.shared(test);
            let tests: Vec<SharedTest> = store.usual(field, all).iter().filter_map(shared).collect();
            let hits = store.hits_of(all, &tests.iter().collect::<Vec<_>>());
            let known = tests.into_iter().zip(hits).filter_map(|(test, hits)| Some((test, hits?)));
            known.filter(|(test, _)| test.text_bytes() <= USUAL_BYTES_MAX).collect()
        };
        Ok(ExplainValues {
            rows: snapshot.rows(),
            times_us: snapshot.time_quantiles(TIMES_MAX, store.spill.as_ref()).map_err(ViewError::spilled)?,
            rows_in: inside.sums.all.hits.min(all.sums.all.hits),
            rows_all: all.sums.all.hits,
            tried: tried as u64,
            exact: inside.exact && all.exact && unknown.is_empty() && !store.has_cut(),
            whole,
            values,
            besides,
            usual: fields.iter().flat_map(usual_of).collect(),
            unknown: unknown.into_iter().map(|of| (of.field.into_owned(), of.hits_in, of.hits_in + of.hits_out)).collect(),
        })
    }

    /// Rows of tests: of those asked about, and of all; [`UNKNOWN`] of a text that rows may have
    /// whose text had no room.
    fn hits(
        &self,
        snapshot: &Snapshot,
        [inside, all]: [&CountedViews; 2],
        tests: &[SharedTest],
    ) -> Result<ExplainNumbers, ViewError> {
        let asked: Vec<&SharedTest> = tests.iter().collect();
        let (hits_in, hits_all) = (self.store.hits_of(inside, &asked), self.store.hits_of(all, &asked));
        let pair = |(hits_in, hits_all): (Option<u64>, Option<u64>)| hits_all.map_or(UNKNOWN, |all| (hits_in.unwrap_or(0), all));
        let mut hits: Vec<(u64, u64)> = hits_in.into_iter().zip(hits_all).map(pair).collect();
        let by_row = |test: &CandidateTest| matches!(test, CandidateTest::AtLeast(..) | CandidateTest::Uncoded { .. });
        let (places, tests): (Vec<usize>, Vec<CandidateTest>) =
            (0..).zip(self.store.tests(tests)).filter(|(place, test)| by_row(test) && hits[*place] != UNKNOWN).unzip();
        let counts = self.count(snapshot, &tests, false)?;
        for (test, place) in places.into_iter().enumerate() {
            let evidence = counts.evidence(test, test);
            hits[place] = (evidence.hits_in, evidence.hits_in + evidence.hits_out);
        }
        Ok(hits.into_iter().flat_map(|(hits_in, hits_all)| [hits_in, hits_all]).collect())
    }
}

impl RowStore {
    /// Rows of texts with a code and of statuses, in a view that was counted; none of other tests.
    /// `None` of a text without a code that rows may have whose text had no room.
    fn hits_of(&self, counted: &CountedViews, tests: &[&SharedTest]) -> Vec<Option<u64>> {
        let schema = self.schema();
        let mut hits = vec![Some(0); tests.len()];
        let mut of_columns: HashMap<TextColumn, Vec<(usize, &[u8])>> = HashMap::new();
        let statuses = counted.sums.column(STATUS);
        for (place, test) in tests.iter().enumerate() {
            match test {
                SharedTest::Status(status) => hits[place] = Some(statuses.get(*status).hits),
                SharedTest::From(least) => {
                    let of_class = statuses.iter().filter(|(status, _)| status >= least);
                    hits[place] = Some(of_class.map(|(_, amount)| amount.hits).sum());
                }
                SharedTest::Text(name, text) => {
                    if let Some(column) = text_named(&schema, name) {
                        of_columns.entry(column).or_default().push((place, text.as_bytes()));
                    }
                }
                SharedTest::Least(..) => {}
            }
        }
        for (column, texts) in of_columns {
            self.amounts(counted, column, |amounts, tables| {
                // A text of its own is kept with its rows, unless it was cut.
                let has_unknown = if source(column).1.is_some() { amounts.get(OTHERS).hits > 0 } else { tables.has_cut() };
                for (place, text) in texts {
                    let code = self.code_of(tables, column, text);
                    hits[place] = code.map(|code| amounts.get(code).hits).or(Some(0).filter(|_| !has_unknown));
                }
            });
        }
        hits
    }
}

/// True for each candidate that is told: of each field the strongest and the most frequent, and
/// what is common in the rows of the first.
fn listed_places(singles: &[CandidateValue], besides: &[Vec<usize>]) -> Vec<bool> {
    let mut is_listed = vec![false; singles.len()];
    besides.iter().flatten().for_each(|place| is_listed[*place] = true);
    (0..besides.len()).for_each(|leader| is_listed[leader] = true);
    listed_of_fields(singles, LISTED_OF_FIELD).into_iter().for_each(|place| is_listed[place] = true);
    is_listed
}

/// Of each field, the places of the first values, and of those with most of the rows asked about;
/// `singles` come with the strongest evidence first.
pub(super) fn listed_of_fields<T: Tested>(singles: &[CandidateValue<T>], most: usize) -> Vec<usize> {
    let mut by_hits: Vec<usize> = (0..singles.len()).collect();
    by_hits.sort_by(|a, b| CandidateValue::by_hits(&singles[*a], &singles[*b]));
    let mut listed = Vec::new();
    for order in [(0..singles.len()).collect(), by_hits] {
        let mut of_field: HashMap<TestedField, usize> = HashMap::new();
        for place in order {
            let count = of_field.entry(singles[place].test.tested()).or_default();
            *count += 1;
            if *count <= most {
                listed.push(place);
            }
        }
    }
    listed
}

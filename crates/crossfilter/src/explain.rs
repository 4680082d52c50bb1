//! Explanation of some rows against others: values, and pairs of values, that are over-represented
//! among them.

use crate::candidates::{CandidateField, CandidateTest, CandidateValue, thresholds};
use crate::dispersion::{cell_rows, upper_quartile};
use crate::explain_offers::{DRILLED_MAX, Finding, LEAST, Offers, SMALL_EXCESS_MIN, paired};
use crate::question::ViewQuestion;
use crate::store::{RowStore, Snapshot};
use crate::view::{View, ViewError};
use crate::view_cache::CountedViews;
use crate::visits::mean_visits;
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::schema::TextColumn;
use rorqual_pipe::Control;
use serde::Serialize;
use std::borrow::Cow;

/// Explanation of the rows of a view.
#[derive(Debug, Clone, Serialize)]
pub struct Explained {
    /// Rows that were asked about.
    pub rows_in: u64,
    /// The rest.
    pub rows_out: u64,
    /// Values and pairs that were tried.
    pub tried: usize,
    /// Named for people.
    pub statistic: &'static str,
    /// Least values of a finding, for people.
    pub least: &'static str,
    /// True if every row was looked at, and every value has a place. Of several stores not every
    /// value may have been tried.
    pub exact: bool,
    /// Fields in which some values had no room: common values of the rows with these were not
    /// tried.
    pub unknown: Vec<UnknownField>,
    /// Strongest evidence first; empty where nothing stands out.
    pub findings: Vec<Finding>,
}

/// A field some of whose values had no room.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct UnknownField {
    /// Name for programs.
    pub field: Cow<'static, str>,
    /// Rows with such a value, of those asked about.
    pub hits_in: u64,
    /// Of the rest.
    pub hits_out: u64,
}

pub(crate) const STATISTIC: &str = "G-test of independence, one degree of freedom, G divided by overdispersion in the rest; q by Benjamini and Hochberg over everything tried";

impl RowStore {
    /// Explains the rows of `view` that are in `against` by the other rows of `against`.
    ///
    /// Each value is tried by a G-test, whose G is divided by the value's overdispersion in the
    /// rest (Rao and Scott 1981), as requests come in visits. Whatever most rows of a strong value
    /// have besides is tried together with it.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn explain(&self, view: &View, against: &View, control: &Control) -> Result<Explained, ViewError> {
        self.explain_except(view, against, &[], control)
    }

    /// Explains the rows of `view` as [`explain`](Self::explain) does, without values of the fields
    /// that `except` names, as programs name them: a field that chose the rows would be the first
    /// finding, and all others its companions.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn explain_except(
        &self,
        view: &View,
        against: &View,
        except: &[String],
        control: &Control,
    ) -> Result<Explained, ViewError> {
        self.asked(|| self.explained(view, against, except, control))
    }

    fn explained(&self, view: &View, against: &View, except: &[String], control: &Control) -> Result<Explained, ViewError> {
        let schema = self.schema();
        let (snapshot, base) = self.up_to_date(control)?;
        let inside = self.sums_in(&snapshot, &base, view, control)?;
        let all = self.sums_in(&snapshot, &base, against, control)?;
        let question = ViewQuestion::new(self, view, against, control)?;
        let found = question.candidates(&snapshot, (&inside, &all), except, SMALL_EXCESS_MIN as u64)?;
        let Candidates { fields, singles, besides, mut tried } = found;
        let tests: Vec<CandidateTest> = paired(&singles, &besides).into_iter().map(|place| singles[place].test.clone()).collect();
        let paired = question.count(&snapshot, &tests, true)?;
        tried += tests.len() * tests.len().saturating_sub(1) / 2;
        let mut offers = Offers::new(paired, tried);
        if !offers.is_empty() {
            question.disperse(&snapshot, (&tests, &fields), &all, &mut offers)?;
        }
        let small = offers.small_sets();
        if !small.is_empty() && !schema.is_table() {
            offers.take_visits(&mean_visits(&question.visits(&snapshot, &of_places(&tests, &small))?));
        }
        let unknown = self.unknown_fields((&inside, &all), except);
        let filters: Vec<Filter> = tests.iter().map(|test| test.filter(self)).collect();
        Ok(Explained {
            rows_in: offers.rows().0,
            rows_out: offers.rows().1,
            tried,
            statistic: STATISTIC,
            least: LEAST,
            exact: inside.exact && all.exact && unknown.is_empty() && !self.has_cut(),
            unknown,
            findings: offers.findings(&schema, &filters),
        })
    }

    /// Fields with rows whose value had no room, but for those that `except` names.
    pub(crate) fn unknown_fields(&self, (inside, all): (&CountedViews, &CountedViews), except: &[String]) -> Vec<UnknownField> {
        let of = |column: TextColumn| {
            let hits = |counted| self.amounts(counted, column, |amounts, tables| tables.hits_without_code(amounts, column));
            let (hits_in, hits_all) = (hits(inside), hits(all));
            let field = self.schema().text_name(column);
            let is_short = column != TextColumn::URL && hits_all > 0 && except.iter().all(|name| *name != field);
            is_short.then(|| UnknownField { field, hits_in, hits_out: hits_all.saturating_sub(hits_in) })
        };
        self.schema().texts().filter_map(of).collect()
    }
}

/// Values that are tried.
pub(crate) struct Candidates {
    pub(crate) fields: Vec<CandidateField>,
    /// The strongest evidence first.
    pub(crate) singles: Vec<CandidateValue>,
    /// Places of common values of the rows of the first of these, for each.
    pub(crate) besides: Vec<Vec<usize>>,
    /// Number of values that were looked at.
    pub(crate) tried: usize,
}

/// Tests by their places.
pub(crate) fn of_places<'a, T>(tests: &'a [T], sets: &[Vec<usize>]) -> Vec<Vec<&'a T>> {
    sets.iter().map(|places| places.iter().map(|place| &tests[*place]).collect()).collect()
}

impl ViewQuestion<'_> {
    /// Values with at least `hits_min` of the rows asked about, of the fields that `except` does
    /// not name.
    pub(crate) fn candidates(
        &self,
        snapshot: &Snapshot,
        (inside, all): (&CountedViews, &CountedViews),
        except: &[String],
        hits_min: u64,
    ) -> Result<Candidates, ViewError> {
        let schema = self.store.schema();
        let is_tried = |field: &str| !except.iter().any(|name| name == field);
        let fields: Vec<CandidateField> =
            self.store.fields().into_iter().filter(|field| is_tried(&field.name(&schema))).collect();
        let thresholds: Vec<CandidateTest> = thresholds().into_iter().filter(|test| is_tried(&test.field(&schema))).collect();
        let numbers = self.count(snapshot, &thresholds, false)?;
        let (mut singles, mut tried) = self.store.candidates(&fields, inside, all, hits_min);
        tried += thresholds.len();
        singles.extend(numbers.best_thresholds(&thresholds, hits_min));
        tried += self.store.own_thresholds(inside, all, hits_min, is_tried, &mut singles);
        singles.sort_by(CandidateValue::by_g);
        let common = self.drill(snapshot, &fields, &singles[..singles.len().min(DRILLED_MAX)])?;
        let place = |test: &CandidateTest| singles.iter().position(|single| single.test.is_same(test));
        let besides = common.iter().map(|tests| tests.iter().filter_map(place).collect()).collect();
        Ok(Candidates { fields, singles, besides, tried })
    }

    /// Measures the dispersion of each offer, and of usual values of their fields.
    fn disperse(
        &self,
        snapshot: &Snapshot,
        (tests, fields): (&[CandidateTest], &[CandidateField]),
        all: &CountedViews,
        offers: &mut Offers,
    ) -> Result<(), ViewError> {
        let asked: Vec<&CandidateField> = fields.iter().filter(|field| offers.are_of(field.column())).collect();
        let usual: Vec<Vec<CandidateTest>> = asked.iter().map(|field| self.store.usual(field, all)).collect();
        let mut sets = of_places(tests, &offers.sets());
        let mut place = sets.len();
        sets.extend(usual.iter().flatten().map(|test| vec![test]));
        let cells = self.cells(snapshot, &sets, cell_rows(snapshot.rows(), offers.rows()))?;
        let mut floors = Vec::new();
        for (field, usual) in asked.iter().zip(&usual) {
            let of_field = (place..place + usual.len()).map(|set| cells.of(set).dispersion());
            floors.push((field.column(), upper_quartile(of_field.collect())));
            place += usual.len();
        }
        offers.disperse(|set| cells.of(set), &floors);
        Ok(())
    }
}

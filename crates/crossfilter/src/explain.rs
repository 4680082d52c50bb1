//! Explanation of some rows against others: values, and pairs of values, that are over-represented
//! among them.

use crate::candidates::{CandidateField, CandidateTest, CandidateValue, thresholds};
use crate::columns::{PATH, STATUS, source};
use crate::dictionary::OTHERS;
use crate::dispersion::upper_quartile;
use crate::evidence::{Evidence, p_value, q_values};
use crate::question::ViewQuestion;
use crate::store::{RowStore, Snapshot};
use crate::test_counts::TestCounts;
use crate::view::{View, ViewError};
use crate::view_cache::CountedViews;
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::schema::TextColumn;
use rorqual_pipe::Control;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::HashMap;

/// Least values of a finding among the rows asked about: so many, such a share more than would be
/// expected, and so many times as often as the rest.
const HITS_MIN: u64 = 30;
const EXCESS_MIN: f64 = 0.01;
const RATIO_MIN: f64 = 1.5;

/// The same of one that is a smaller share, such as a short outage: fewer rows, but far more than
/// expected.
const SMALL_EXCESS_MIN: f64 = 10.0;
const SMALL_RATIO_MIN: f64 = 5.0;

/// These, for people.
const LEAST: &str = "at least 30 lines that are 1.5 times as frequent and 1 % of the span more than expected, or 10 lines more than expected that are 5 times as frequent and come from more than a few long visits, and is more than chance: q ≤ 1e-5, by how such values vary in the rest";

/// False findings among all, at most: so few, since the dispersion of a value that is hardly seen
/// in the rest is only that of others like it.
const Q_MAX: f64 = 1e-5;

/// Values whose pairs are counted: those with the strongest evidence, the common values of the rows
/// of the first of these, and of each field those with most rows; of paths and statuses more, since
/// a path may answer otherwise than it did while both are as frequent as ever. Pairs of 112 take
/// some 1.5 ms a segment.
const BEST_MAX: usize = 40;
const DRILLED_MAX: usize = 16;
const BESIDES_MAX: usize = 24;
const BEST_OF_FIELD: usize = 2;
const BEST_OF_PATH: usize = 24;
const BEST_OF_STATUS: usize = 6;
const PAIRED_MAX: usize = 112;

/// Values and pairs whose dispersion is measured; and beside them those that are a small share, of
/// each field.
const OFFERS_MAX: usize = 96;
const SMALL_OF_FIELD: usize = 6;

/// A pair has to say so many times as much as each of its values alone.
const PAIR_GAIN_MIN: f64 = 1.15;

/// Share of a finding's rows within another one that says more, from which on it is only listed as
/// that one's companion.
const WITHIN_MIN: f64 = 0.8;

/// Findings at most.
const FINDINGS_MAX: usize = 20;

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
    /// True if every value was looked at, and every row.
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

/// A value, or two together, that more of the rows asked about have than of the rest.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct Finding {
    /// One condition or two, as filters are written.
    pub conditions: Vec<String>,
    /// All of them as one filter.
    pub filter: String,
    /// Of the rows asked about.
    pub hits_in: u64,
    /// Of the rest.
    pub hits_out: u64,
    /// Of the rows asked about, 0 to 1.
    pub share_in: f64,
    /// Of the rest, 0 to 1.
    pub share_out: f64,
    /// The quotient of the shares, with half a row more on both sides: it is finite where the rest
    /// has none.
    pub ratio: f64,
    /// The G statistic divided by the overdispersion, which the order is by.
    pub g: f64,
    /// Factor by which the rows of the finding vary more than by chance between time runs of the
    /// rest; of a small share the mean number of rows by the same client, where that is larger. At
    /// least 1.
    pub dispersion: f64,
    /// Share of false findings among all that say as much (Benjamini and Hochberg).
    pub q: f64,
    /// Filters that most of its rows match too, or only they do.
    pub companions: Vec<String>,
}

const STATISTIC: &str = "G-test of independence, one degree of freedom, G divided by overdispersion in the rest; q by Benjamini and Hochberg over everything tried";

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
        let is_tried = |field: &str| !except.iter().any(|name| name == field);
        let (snapshot, base) = self.up_to_date(control)?;
        let inside = self.sums_in(&snapshot, &base, view, control)?;
        let all = self.sums_in(&snapshot, &base, against, control)?;
        let question = ViewQuestion::new(self, view, against, control)?;
        let fields: Vec<CandidateField> = self.fields().into_iter().filter(|field| is_tried(&field.name(&schema))).collect();
        let thresholds: Vec<CandidateTest> = thresholds().into_iter().filter(|test| is_tried(&test.field(&schema))).collect();
        let numbers = question.count(&snapshot, &thresholds, false)?;
        let (mut singles, mut tried) = self.candidates(&fields, &inside, &all, SMALL_EXCESS_MIN as u64);
        tried += numbers.tests.len();
        singles.extend(numbers.best_thresholds(SMALL_EXCESS_MIN as u64));
        tried += self.own_thresholds(&inside, &all, SMALL_EXCESS_MIN as u64, is_tried, &mut singles);
        singles.sort_by(CandidateValue::by_g);
        let besides = question.drill(&snapshot, &fields, &singles[..singles.len().min(DRILLED_MAX)])?;
        let paired = question.count(&snapshot, &paired(&singles, &besides), true)?;
        tried += paired.tests.len() * paired.tests.len().saturating_sub(1) / 2;
        let mut unknown = self.unknown_fields(&inside, &all);
        unknown.retain(|unknown| is_tried(&unknown.field));
        let offers = question.offers(&snapshot, &paired, &fields, &all, tried)?;
        Ok(Explained {
            rows_in: paired.rows_in,
            rows_out: paired.rows_all - paired.rows_in,
            tried,
            statistic: STATISTIC,
            least: LEAST,
            exact: inside.exact && all.exact && unknown.is_empty() && !self.has_cut(),
            unknown,
            findings: self.findings(&paired, offers),
        })
    }

    fn findings(&self, paired: &TestCounts, offers: Vec<Offer>) -> Vec<Finding> {
        let mut chosen: Vec<(Offer, Vec<usize>)> = Vec::new();
        for offer in offers {
            match chosen.iter().position(|(leader, _)| paired.is_within(&offer, leader)) {
                Some(place) => chosen[place].1.extend(offer.tests),
                None if chosen.len() < FINDINGS_MAX => chosen.push((offer, Vec::new())),
                None => {}
            }
        }
        let with_companions = |(offer, within): &(Offer, Vec<usize>)| self.finding(paired, offer, within);
        chosen.iter().map(with_companions).collect()
    }

    fn finding(&self, paired: &TestCounts, offer: &Offer, within: &[usize]) -> Finding {
        let filters: Vec<Filter> = offer.tests.iter().map(|test| paired.tests[*test].filter(self)).collect();
        let covering = (0..paired.tests.len()).filter(|test| paired.covers(*test, offer));
        let mut companions: Vec<usize> = Vec::new();
        for test in within.iter().copied().chain(covering) {
            if !offer.tests.contains(&test) && !companions.contains(&test) {
                companions.push(test);
            }
        }
        let Evidence { hits_in, hits_out, .. } = offer.evidence;
        Finding {
            conditions: filters.iter().map(|filter| self.schema().written(filter)).collect(),
            filter: self.schema().written(&Filter::All(filters)),
            hits_in,
            hits_out,
            share_in: offer.evidence.share_in(),
            share_out: offer.evidence.share_out(),
            ratio: offer.evidence.ratio(),
            g: offer.g(),
            dispersion: offer.dispersion,
            q: offer.q,
            companions: companions.iter().map(|test| self.schema().written(&paired.tests[*test].filter(self))).collect(),
        }
    }

    /// Fields with rows whose value had no room.
    fn unknown_fields(&self, inside: &CountedViews, all: &CountedViews) -> Vec<UnknownField> {
        let of = |column: TextColumn| {
            let hits = |counted: &CountedViews| match source(column) {
                (index, None) => {
                    let tables = self.dictionaries[index].lock();
                    let of_groups = counted.sums.column(index).iter().filter(|(code, _)| tables.is_group(*code));
                    of_groups.map(|(_, amount)| amount.hits).sum::<u64>()
                }
                // A value that follows from a text may have no room of its own.
                (_, Some(_)) => self.amounts(counted, column, |amounts, _| amounts.get(OTHERS).hits),
            };
            let (hits_in, hits_all) = (hits(inside), hits(all));
            let is_short = column != TextColumn::URL && hits_all > 0;
            let field = self.schema().text_name(column);
            is_short.then(|| UnknownField { field, hits_in, hits_out: hits_all.saturating_sub(hits_in) })
        };
        self.schema().texts().filter_map(of).collect()
    }
}

/// The values whose pairs are counted; `singles` come with the strongest evidence first, and
/// `besides` are common values of the rows of the first of these.
fn paired(singles: &[CandidateValue], besides: &[Vec<CandidateTest>]) -> Vec<CandidateTest> {
    let mut taken: Vec<usize> = (0..singles.len().min(BEST_MAX)).collect();
    // Possible small findings of each field: large ones of others do not displace them.
    let mut small: HashMap<Option<TextColumn>, usize> = HashMap::new();
    for (place, single) in singles.iter().enumerate().filter(|(_, single)| is_small(&single.evidence)) {
        let count = small.entry(single.test.column()).or_default();
        *count += 1;
        if *count <= SMALL_OF_FIELD && place >= BEST_MAX {
            taken.push(place);
        }
    }
    let most = taken.len() + BESIDES_MAX;
    for (leader, tests) in singles.iter().zip(besides) {
        for test in tests {
            let Some(place) = singles.iter().position(|single| single.test.is_same(test)) else { continue };
            if taken.len() < most && !taken.contains(&place) && is_rarer_besides(&singles[place], leader) {
                taken.push(place);
            }
        }
    }
    let mut common: Vec<usize> = (BEST_MAX..singles.len()).filter(|place| !taken.contains(place)).collect();
    common.sort_by_key(|place| std::cmp::Reverse((singles[*place].evidence.hits_in, singles[*place].key)));
    let most = PAIRED_MAX.max(taken.len());
    let mut of_field: HashMap<usize, usize> = HashMap::new();
    for place in common {
        let source = singles[place].test.source();
        let of_source = match source {
            PATH => BEST_OF_PATH,
            STATUS => BEST_OF_STATUS,
            _ => BEST_OF_FIELD,
        };
        let count = of_field.entry(source).or_default();
        if *count < of_source && taken.len() < most {
            *count += 1;
            taken.push(place);
        }
    }
    taken.into_iter().map(|place| singles[place].test.clone()).collect()
}

/// True if a value that all of a leader's rows may have is that much rarer among the other rows
/// asked about.
fn is_rarer_besides(value: &CandidateValue, leader: &CandidateValue) -> bool {
    let others = value.evidence.hits_in.saturating_sub(leader.evidence.hits_in);
    let rows = leader.evidence.rows_in.saturating_sub(leader.evidence.hits_in);
    others as f64 * RATIO_MIN <= rows as f64
}

/// A test or two that may be a finding.
#[derive(Debug, Clone)]
struct Offer {
    tests: Vec<usize>,
    evidence: Evidence,
    dispersion: f64,
    q: f64,
}

impl Offer {
    fn new(tests: Vec<usize>, evidence: Evidence) -> Self {
        Self { tests, evidence, dispersion: 1.0, q: 1.0 }
    }

    fn g(&self) -> f64 {
        self.evidence.g() / self.dispersion
    }
}

/// Leaves the offers that are more than chance, of so many that were tried.
fn retain_unlikely(offers: &mut Vec<Offer>, tried: usize) {
    let p: Vec<f64> = offers.iter().map(|offer| p_value(offer.g())).collect();
    offers.iter_mut().zip(q_values(&p, tried.max(p.len()))).for_each(|(offer, q)| offer.q = q);
    offers.retain(|offer| offer.q <= Q_MAX);
}

/// True if a value is large enough to be told, if it is no accident.
fn is_large(evidence: &Evidence) -> bool {
    let excess = evidence.share_in() - evidence.share_out();
    evidence.hits_in >= HITS_MIN && excess >= EXCESS_MIN && evidence.ratio() >= RATIO_MIN
}

/// True if it is not, and yet is so far beyond the expected number that it may be told.
fn is_small(evidence: &Evidence) -> bool {
    let expected = evidence.share_out() * evidence.rows_in as f64;
    !is_large(evidence) && evidence.hits_in as f64 - expected >= SMALL_EXCESS_MIN && evidence.ratio() >= SMALL_RATIO_MIN
}

/// Offers of a small share: of each field those that say most. Of pairs only such with a status, as
/// visits make many others.
fn small_offers(paired: &TestCounts, mut offers: Vec<Offer>) -> Vec<Offer> {
    let mut of_field: HashMap<Vec<Option<TextColumn>>, usize> = HashMap::new();
    offers.retain(|offer| {
        let is_status = |test: &usize| paired.tests[*test].source() == STATUS;
        let columns = offer.tests.iter().map(|test| paired.tests[*test].column()).collect();
        let may_be = is_small(&offer.evidence) && (offer.tests.len() == 1 || offer.tests.iter().any(is_status));
        let count = of_field.entry(columns).or_default();
        *count += usize::from(may_be);
        may_be && *count <= SMALL_OF_FIELD
    });
    offers.truncate(OFFERS_MAX);
    offers
}

impl ViewQuestion<'_> {
    /// Offers that stand out, most first.
    fn offers(
        &self,
        snapshot: &Snapshot,
        paired: &TestCounts,
        fields: &[CandidateField],
        all: &CountedViews,
        tried: usize,
    ) -> Result<Vec<Offer>, ViewError> {
        let by_g = |offers: &mut Vec<Offer>| offers.sort_by(|a, b| b.g().total_cmp(&a.g()));
        let mut offers: Vec<Offer> = paired.offers();
        by_g(&mut offers);
        let small = small_offers(paired, offers.clone());
        offers.retain(|offer| is_large(&offer.evidence));
        offers.truncate(OFFERS_MAX);
        offers.extend(small);
        self.disperse(snapshot, paired, fields, all, &mut offers)?;
        retain_unlikely(&mut offers, tried);
        // The rest of the log tells nothing of a value that is hardly in it: its own rows do.
        let small: Vec<&mut Offer> = offers.iter_mut().filter(|offer| !is_large(&offer.evidence)).collect();
        if !small.is_empty() && !self.store.schema().is_table() {
            let sets: Vec<Vec<&CandidateTest>> =
                small.iter().map(|offer| offer.tests.iter().map(|test| &paired.tests[*test]).collect()).collect();
            let visits = self.visits(snapshot, &sets)?;
            small.into_iter().zip(visits).for_each(|(offer, visit)| offer.dispersion = offer.dispersion.max(visit));
            retain_unlikely(&mut offers, tried);
        }
        by_g(&mut offers);
        Ok(offers)
    }

    /// Measures the dispersion of each offer, and of usual values of their fields: one that is
    /// hardly seen in the rest is taken to come in visits as long as the longer ones of these.
    fn disperse(
        &self,
        snapshot: &Snapshot,
        paired: &TestCounts,
        fields: &[CandidateField],
        all: &CountedViews,
        offers: &mut [Offer],
    ) -> Result<(), ViewError> {
        if offers.is_empty() {
            return Ok(());
        }
        let is_asked =
            |field: &&CandidateField| offers.iter().flat_map(|offer| &offer.tests).any(|test| field.is_of(&paired.tests[*test]));
        let asked: Vec<&CandidateField> = fields.iter().filter(is_asked).collect();
        let usual: Vec<Vec<CandidateTest>> = asked.iter().map(|field| self.store.usual(field, all)).collect();
        let offered = offers.iter().map(|offer| offer.tests.iter().map(|test| &paired.tests[*test]).collect());
        let sets: Vec<Vec<&CandidateTest>> = offered.chain(usual.iter().flatten().map(|test| vec![test])).collect();
        let cells = self.cells(snapshot, &sets, (paired.rows_in, paired.rows_all - paired.rows_in))?;
        let mut place = offers.len();
        let mut floors = Vec::new();
        for (field, usual) in asked.iter().zip(&usual) {
            let of_field = (place..place + usual.len()).map(|set| cells.of(set).dispersion());
            floors.push((*field, upper_quartile(of_field.collect())));
            place += usual.len();
        }
        for (set, offer) in offers.iter_mut().enumerate() {
            let stretches = cells.of(set);
            let is_floor = |field: &CandidateField| offer.tests.iter().any(|test| field.is_of(&paired.tests[*test]));
            let floor = floors.iter().filter(|(field, _)| !stretches.are_full() && is_floor(field)).map(|(_, floor)| *floor);
            offer.dispersion = floor.fold(stretches.dispersion_kept().max(1.0), f64::max);
        }
        Ok(())
    }
}

impl TestCounts {
    /// All tests, and the pairs that say more than both of their tests.
    fn offers(&self) -> Vec<Offer> {
        let count = self.tests.len();
        let mut offers: Vec<Offer> = (0..count).map(|test| Offer::new(vec![test], self.evidence(test, test))).collect();
        for a in 0..count {
            for b in (a + 1..count).filter(|b| self.tests[a].source() != self.tests[*b].source()) {
                let evidence = self.evidence(a, b);
                let alone = [a, b].map(|test| self.evidence(test, test));
                let gain = |single: &Evidence| single.ratio() < 1.0 || evidence.g() >= PAIR_GAIN_MIN * single.g();
                if evidence.hits_in as f64 >= SMALL_EXCESS_MIN && evidence.ratio() > 1.0 && alone.iter().all(gain) {
                    offers.push(Offer::new(vec![a, b], evidence));
                }
            }
        }
        offers
    }

    /// True if most of an offer's rows beyond the expected number are those of another one.
    fn is_within(&self, offer: &Offer, leader: &Offer) -> bool {
        // Rows of three tests are not counted: of any two the fewest bound them.
        let both = offer.tests.iter().flat_map(|a| leader.tests.iter().map(|b| self.evidence(*a, *b).hits_in)).min().unwrap_or(0);
        let expected = offer.evidence.share_out() * offer.evidence.rows_in as f64;
        let excess = (offer.evidence.hits_in as f64 - expected).max(1.0);
        both.min(offer.evidence.hits_in) as f64 >= WITHIN_MIN * excess
    }
    /// True if most of an offer's rows pass a test that the other rows asked about pass more
    /// seldom.
    fn covers(&self, test: usize, offer: &Offer) -> bool {
        let (hits, passed) = (offer.evidence.hits_in, self.evidence(test, test).hits_in);
        // Rows of three tests are not counted: those that pass one of the offer's tests, without
        // all that do not pass the other, are a bound.
        let at_least = |own: &usize| (self.evidence(*own, test).hits_in + hits).saturating_sub(self.evidence(*own, *own).hits_in);
        let both = offer.tests.iter().map(at_least).max().unwrap_or(0);
        let (share, others) = (both as f64 / hits.max(1) as f64, (self.rows_in - hits).max(1) as f64);
        share >= WITHIN_MIN && (passed - both) as f64 / others * RATIO_MIN <= share
    }
}

//! Offers: values, and pairs of values, that may be findings of an explanation, and which of them
//! are. They are judged by their counts alone, which are those of one store or of several.

use crate::candidates::{CandidateValue, Tested, TestedField};
use crate::columns::{PATH, STATUS};
use crate::dispersion::TimeRuns;
use crate::evidence::{Evidence, p_value, q_values};
use crate::test_counts::TestCounts;
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::schema::{Schema, TextColumn};
use serde::Serialize;
use std::collections::HashMap;

/// Least values of a finding among the rows asked about: so many, such a share more than would be
/// expected, and so many times as often as the rest.
const HITS_MIN: u64 = 30;
const EXCESS_MIN: f64 = 0.01;
const RATIO_MIN: f64 = 1.5;

/// The same of one that is a smaller share, such as a short outage: fewer rows, but far more than
/// expected.
pub(crate) const SMALL_EXCESS_MIN: f64 = 10.0;
const SMALL_RATIO_MIN: f64 = 5.0;

/// These, for people.
pub(crate) const LEAST: &str = "at least 30 lines that are 1.5 times as frequent and 1 % of the span more than expected, or 10 lines more than expected that are 5 times as frequent and come from more than a few long visits, and is more than chance: q ≤ 1e-5, by how such values vary in the rest";

/// False findings among all, at most: so few, since the dispersion of a value that is hardly seen
/// in the rest is only that of others like it.
const Q_MAX: f64 = 1e-5;

/// Values whose pairs are counted: those with the strongest evidence, the common values of the rows
/// of the first of these, and of each field those with most rows; of paths and statuses more, since
/// a path may answer otherwise than it did while both are as frequent as ever. Pairs of 112 take
/// some 1.5 ms a segment.
const BEST_MAX: usize = 40;
pub(crate) const DRILLED_MAX: usize = 16;
const BESIDES_MAX: usize = 24;
const BEST_OF_FIELD: usize = 2;
const BEST_OF_PATH: usize = 24;
const BEST_OF_STATUS: usize = 6;
pub(crate) const PAIRED_MAX: usize = 112;

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

/// The places of the values whose pairs are counted; `singles` come with the strongest evidence
/// first, and `besides` are the places of common values of the rows of the first of these.
pub(crate) fn paired<T: Tested>(singles: &[CandidateValue<T>], besides: &[Vec<usize>]) -> Vec<usize> {
    let mut taken: Vec<usize> = (0..singles.len().min(BEST_MAX)).collect();
    // Possible small findings of each field: large ones of others do not displace them.
    let mut small: HashMap<Option<TextColumn>, usize> = HashMap::new();
    for (place, single) in singles.iter().enumerate().filter(|(_, single)| is_small(&single.evidence)) {
        let count = small.entry(single.test.tested().column).or_default();
        *count += 1;
        if *count <= SMALL_OF_FIELD && place >= BEST_MAX {
            taken.push(place);
        }
    }
    let most = taken.len() + BESIDES_MAX;
    for (leader, places) in singles.iter().zip(besides) {
        for place in places {
            if taken.len() < most && !taken.contains(place) && is_rarer_besides(&singles[*place].evidence, &leader.evidence) {
                taken.push(*place);
            }
        }
    }
    let mut common: Vec<usize> = (BEST_MAX..singles.len()).filter(|place| !taken.contains(place)).collect();
    common.sort_by_key(|place| std::cmp::Reverse((singles[*place].evidence.hits_in, singles[*place].key)));
    let most = PAIRED_MAX.max(taken.len());
    let mut of_field: HashMap<usize, usize> = HashMap::new();
    for place in common {
        let source = singles[place].test.tested().source;
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
    taken
}

/// True if a value that all of a leader's rows may have is that much rarer among the other rows
/// asked about.
fn is_rarer_besides(value: &Evidence, leader: &Evidence) -> bool {
    let others = value.hits_in.saturating_sub(leader.hits_in);
    let rows = leader.rows_in.saturating_sub(leader.hits_in);
    others as f64 * RATIO_MIN <= rows as f64
}

/// A test or two that may be a finding.
#[derive(Debug, Clone)]
struct Offer {
    /// Their places.
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

/// Offers of some tests.
pub(crate) struct Offers {
    paired: TestCounts,
    /// Values and pairs that were looked at.
    tried: usize,
    offers: Vec<Offer>,
}

impl Offers {
    /// Offers that stand out, before it is known how they vary in the rest.
    pub(crate) fn new(paired: TestCounts, tried: usize) -> Self {
        let mut offers = paired.offers();
        by_g(&mut offers);
        let small = small_offers(&paired, offers.clone());
        offers.retain(|offer| is_large(&offer.evidence));
        offers.truncate(OFFERS_MAX);
        offers.extend(small);
        Self { paired, tried, offers }
    }

    /// Rows asked about, and the others.
    pub(crate) fn rows(&self) -> (u64, u64) {
        (self.paired.rows_in, self.paired.rows_all - self.paired.rows_in)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.offers.is_empty()
    }

    /// True if one is of a field: that of a column of texts, or the status.
    pub(crate) fn are_of(&self, column: Option<TextColumn>) -> bool {
        self.offers.iter().any(|offer| self.is_of(offer, column))
    }

    fn is_of(&self, offer: &Offer, column: Option<TextColumn>) -> bool {
        offer.tests.iter().any(|test| self.paired.fields[*test].is_of(column))
    }

    /// The places of the tests of each.
    pub(crate) fn sets(&self) -> Vec<Vec<usize>> {
        self.offers.iter().map(|offer| offer.tests.clone()).collect()
    }

    /// Divides the evidence of each by its dispersion in the rest, and leaves those that are more
    /// than chance. A value that is hardly seen there is taken to come in visits as long as the
    /// longer ones of usual values of its field, which `floors` has.
    pub(crate) fn disperse(&mut self, runs_of: impl Fn(usize) -> TimeRuns, floors: &[(Option<TextColumn>, f64)]) {
        let mut offers = std::mem::take(&mut self.offers);
        for (set, offer) in offers.iter_mut().enumerate() {
            let runs = runs_of(set);
            let floors = floors.iter().filter(|(column, _)| !runs.are_full() && self.is_of(offer, *column));
            offer.dispersion = floors.map(|(_, floor)| *floor).fold(runs.dispersion_kept().max(1.0), f64::max);
        }
        self.offers = offers;
        self.retain_unlikely();
    }

    /// The places of the tests of each that is a small share. The rest of the log tells nothing of
    /// a value that is hardly in it: its own rows do.
    pub(crate) fn small_sets(&self) -> Vec<Vec<usize>> {
        self.offers.iter().filter(|offer| !is_large(&offer.evidence)).map(|offer| offer.tests.clone()).collect()
    }

    /// Divides the evidence of these by the mean number of rows by the same client.
    pub(crate) fn take_visits(&mut self, visits: &[f64]) {
        let small = self.offers.iter_mut().filter(|offer| !is_large(&offer.evidence));
        small.zip(visits).for_each(|(offer, visit)| offer.dispersion = offer.dispersion.max(*visit));
        self.retain_unlikely();
    }

    /// Leaves those that are more than chance, of so many that were tried.
    fn retain_unlikely(&mut self) {
        let p: Vec<f64> = self.offers.iter().map(|offer| p_value(offer.g())).collect();
        let q = q_values(&p, self.tried.max(p.len()));
        self.offers.iter_mut().zip(q).for_each(|(offer, q)| offer.q = q);
        self.offers.retain(|offer| offer.q <= Q_MAX);
    }

    /// The findings; `filters` are those of the tests.
    pub(crate) fn findings(mut self, schema: &Schema, filters: &[Filter]) -> Vec<Finding> {
        by_g(&mut self.offers);
        let mut chosen: Vec<(Offer, Vec<usize>)> = Vec::new();
        for offer in self.offers {
            match chosen.iter().position(|(leader, _)| self.paired.is_within(&offer, leader)) {
                Some(place) => chosen[place].1.extend(offer.tests),
                None if chosen.len() < FINDINGS_MAX => chosen.push((offer, Vec::new())),
                None => {}
            }
        }
        let finding = |(offer, within): &(Offer, Vec<usize>)| self.paired.finding(offer, within, schema, filters);
        chosen.iter().map(finding).collect()
    }
}

fn by_g(offers: &mut [Offer]) {
    offers.sort_by(|a, b| b.g().total_cmp(&a.g()));
}

/// Offers of a small share: of each field those that say most. Of pairs only such with a status, as
/// visits make many others.
fn small_offers(paired: &TestCounts, mut offers: Vec<Offer>) -> Vec<Offer> {
    let mut of_field: HashMap<Vec<Option<TextColumn>>, usize> = HashMap::new();
    offers.retain(|offer| {
        let fields = || offer.tests.iter().map(|test| &paired.fields[*test]);
        let has_status = fields().any(|field: &TestedField| field.source == STATUS);
        let may_be = is_small(&offer.evidence) && (offer.tests.len() == 1 || has_status);
        let count = of_field.entry(fields().map(|field| field.column).collect()).or_default();
        *count += usize::from(may_be);
        may_be && *count <= SMALL_OF_FIELD
    });
    offers.truncate(OFFERS_MAX);
    offers
}

impl TestCounts {
    /// All tests, and the pairs that say more than both of their tests.
    fn offers(&self) -> Vec<Offer> {
        let count = self.fields.len();
        let mut offers: Vec<Offer> = (0..count).map(|test| Offer::new(vec![test], self.evidence(test, test))).collect();
        for a in 0..count {
            for b in (a + 1..count).filter(|b| self.fields[a].source != self.fields[*b].source) {
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

    fn finding(&self, offer: &Offer, within: &[usize], schema: &Schema, filters: &[Filter]) -> Finding {
        let covering = (0..self.fields.len()).filter(|test| self.covers(*test, offer));
        let mut companions: Vec<usize> = Vec::new();
        for test in within.iter().copied().chain(covering) {
            if !offer.tests.contains(&test) && !companions.contains(&test) {
                companions.push(test);
            }
        }
        let written = |test: &usize| schema.written(&filters[*test]);
        let Evidence { hits_in, hits_out, .. } = offer.evidence;
        Finding {
            conditions: offer.tests.iter().map(written).collect(),
            filter: schema.written(&Filter::All(offer.tests.iter().map(|test| filters[*test].clone()).collect())),
            hits_in,
            hits_out,
            share_in: offer.evidence.share_in(),
            share_out: offer.evidence.share_out(),
            ratio: offer.evidence.ratio(),
            g: offer.g(),
            dispersion: offer.dispersion,
            q: offer.q,
            companions: companions.iter().map(written).collect(),
        }
    }
}

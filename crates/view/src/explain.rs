//! What sets some rows apart from others: values, and pairs of values, that are over-represented among them.

use crate::bits::Bits;
use crate::candidates::{Candidate, Test, thresholds};
use crate::evidence::{Evidence, q_values};
use crate::plan::Plan;
use crate::segment::Segment;
use crate::store::{Snapshot, Store};
use crate::view::{View, ViewError};
use rorqual_pipe::{Control, Error, each};
use rorqual_table::filter::Filter;
use serde::Serialize;
use std::io;
use std::sync::Arc;

/// Rows that a finding has at least, of those asked about.
const HITS_MIN: u64 = 30;

/// Share of the rows asked about that a finding adds at least to what would be expected.
const EXCESS_MIN: f64 = 0.01;

/// How many times as often as in the rest a finding is at least.
const RATIO_MIN: f64 = 1.5;

/// False findings among all, at most.
const Q_MAX: f64 = 1e-3;

/// Values whose pairs are counted: those that say most, and of each field those with most rows. Pairs of 64 take half a millisecond a
/// segment.
const BEST_MAX: usize = 40;
const BEST_OF_FIELD: usize = 2;
const PAIRED_MAX: usize = 64;

/// A pair has to say so many times as much as each of its values alone.
const PAIR_GAIN_MIN: f64 = 1.15;

/// Share of a finding's rows within another one that says more, from which on it is only listed as that one's companion.
const WITHIN_MIN: f64 = 0.8;

/// Findings at most.
const FINDINGS_MAX: usize = 20;

/// What sets the rows of a view apart.
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
    /// Whether every value was looked at, and every row.
    pub exact: bool,
    /// What says most first; empty where nothing stands out.
    pub findings: Vec<Finding>,
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
    /// The quotient of the shares.
    pub ratio: f64,
    /// The G statistic, which the order is by.
    pub g: f64,
    /// Share of false findings among all that say as much (Benjamini and Hochberg).
    pub q: f64,
    /// What most of its rows have too, as filters are written.
    pub companions: Vec<String>,
}

impl Store {
    /// What sets the rows of `view` that are in `against` apart from the other rows of `against`.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn explain(&self, view: &View, against: &View, control: &Control) -> Result<Explained, ViewError> {
        let inside = self.sums_of(view, control)?;
        let all = self.sums_of(against, control)?;
        let snapshot = self.snapshot();
        let question = Question::new(self, view, against, control)?;
        let numbers = question.count(&snapshot, &thresholds(), false)?;
        let (mut singles, mut tried) = self.candidates(&inside, &all, HITS_MIN);
        tried += numbers.tests.len();
        singles.extend(numbers.best_thresholds());
        singles.sort_by(|a, b| b.evidence.g().total_cmp(&a.evidence.g()));
        let paired = question.count(&snapshot, &paired(&singles), true)?;
        let (rows_in, rows_out) = (paired.rows_in, paired.rows_all - paired.rows_in);
        tried += paired.tests.len() * paired.tests.len().saturating_sub(1) / 2;
        Ok(Explained {
            rows_in,
            rows_out,
            tried,
            statistic: "G-test of independence, one degree of freedom; q by Benjamini and Hochberg over everything tried",
            exact: inside.exact && all.exact && !self.overflowed(),
            findings: self.findings(&paired, tried),
        })
    }

    fn findings(&self, paired: &Tally, tried: usize) -> Vec<Finding> {
        let mut offers: Vec<Offer> = paired.offers();
        let p: Vec<f64> = offers.iter().map(|offer| offer.evidence.p()).collect();
        offers.iter_mut().zip(q_values(&p, tried.max(p.len()))).for_each(|(offer, q)| offer.q = q);
        offers.retain(Offer::stands_out);
        offers.sort_by(|a, b| b.evidence.g().total_cmp(&a.evidence.g()));
        let mut chosen: Vec<(Offer, Vec<usize>)> = Vec::new();
        for offer in offers {
            match chosen.iter().position(|(leader, _)| paired.is_within(&offer, leader)) {
                Some(place) => {
                    let (leader, companions) = &mut chosen[place];
                    let new = |test: &&usize| !leader.tests.contains(test) && !companions.contains(test);
                    let more: Vec<usize> = offer.tests.iter().filter(new).copied().collect();
                    companions.extend(more);
                }
                None if chosen.len() < FINDINGS_MAX => chosen.push((offer, Vec::new())),
                None => {}
            }
        }
        chosen.iter().map(|(offer, companions)| self.finding(paired, offer, companions)).collect()
    }

    fn finding(&self, paired: &Tally, offer: &Offer, companions: &[usize]) -> Finding {
        let filters: Vec<Filter> = offer.tests.iter().map(|test| paired.tests[*test].filter(self)).collect();
        let Evidence { hits_in, hits_out, .. } = offer.evidence;
        Finding {
            conditions: filters.iter().map(ToString::to_string).collect(),
            filter: Filter::All(filters).to_string(),
            hits_in,
            hits_out,
            share_in: offer.evidence.share_in(),
            share_out: offer.evidence.share_out(),
            ratio: offer.evidence.ratio(),
            g: offer.evidence.g(),
            q: offer.q,
            companions: companions.iter().map(|test| paired.tests[*test].filter(self).to_string()).collect(),
        }
    }
}

/// The values whose pairs are counted; `singles` come with what says most first.
fn paired(singles: &[Candidate]) -> Vec<Test> {
    let mut tests: Vec<Test> = singles.iter().take(BEST_MAX).map(|candidate| candidate.test.clone()).collect();
    let mut common: Vec<&Candidate> = singles.iter().skip(BEST_MAX).collect();
    common.sort_by_key(|candidate| std::cmp::Reverse(candidate.evidence.hits_in));
    for candidate in common {
        let source = candidate.test.source();
        let of_field = tests.iter().skip(BEST_MAX).filter(|test| test.source() == source).count();
        if of_field < BEST_OF_FIELD && tests.len() < PAIRED_MAX {
            tests.push(candidate.test.clone());
        }
    }
    tests
}

/// Which rows are asked about, and which are all.
struct Question<'a> {
    store: &'a Store,
    inside: Plan,
    all: Plan,
    control: &'a Control,
}

/// Rows by test, and by pair of tests where they were counted.
struct Tally {
    tests: Vec<Test>,
    rows_in: u64,
    rows_all: u64,
    /// For each pair (and on the diagonal each test), rows asked about and all rows.
    pairs: Vec<(u64, u64)>,
}

/// A test or two that may be a finding.
#[derive(Debug, Clone)]
struct Offer {
    tests: Vec<usize>,
    evidence: Evidence,
    q: f64,
}

impl Offer {
    fn stands_out(&self) -> bool {
        let evidence = &self.evidence;
        let excess = evidence.share_in() - evidence.share_out();
        evidence.hits_in >= HITS_MIN && excess >= EXCESS_MIN && evidence.ratio() >= RATIO_MIN && self.q <= Q_MAX
    }
}

impl<'a> Question<'a> {
    fn new(store: &'a Store, view: &View, against: &View, control: &'a Control) -> Result<Self, ViewError> {
        let plan = |view: &View| Plan::new(view, &store.dictionaries, control).ok_or(ViewError::Cancelled);
        Ok(Self { store, inside: plan(view)?, all: plan(against)?, control })
    }

    fn count(&self, snapshot: &Snapshot, tests: &[Test], with_pairs: bool) -> Result<Tally, ViewError> {
        let empty = || Tally::new(tests.to_vec());
        let mut workers: Vec<Tally> = (0..self.store.settings.threads).map(|_| empty()).collect();
        let work = |tally: &mut Tally, segment: &Arc<Segment>| {
            if self.control.stopped() { Ok(()) } else { self.count_segment(segment, tally, with_pairs) }
        };
        let sink = |done: io::Result<()>| done.map_err(|cause| Error::io("rows", "cannot read spilled rows", cause));
        each(snapshot.segments.iter(), &mut workers, work, sink).map_err(ViewError::Io)?;
        if self.control.stopped() {
            return Err(ViewError::Cancelled);
        }
        Ok(workers.into_iter().reduce(Tally::joined).unwrap_or_else(empty))
    }

    fn count_segment(&self, segment: &Segment, tally: &mut Tally, with_pairs: bool) -> io::Result<()> {
        let select = |plan: &Plan| plan.select(segment, &self.store.dictionaries, self.store.spill.as_ref());
        let all = select(&self.all)?;
        let mut inside = select(&self.inside)?;
        inside.and(&all);
        tally.rows_in += inside.count() as u64;
        tally.rows_all += all.count() as u64;
        let mut present: Vec<(usize, Bits, Option<Bits>)> = Vec::new();
        for (index, test) in tally.tests.iter().enumerate() {
            if let Some(mut bits) = test.select(segment, self.store)? {
                bits.and(&all);
                // In most segments no row is asked about.
                let within = Some(&inside).filter(|inside| inside.count_both(&bits) > 0).map(|inside| {
                    let mut within = bits.clone();
                    within.and(inside);
                    within
                });
                present.push((index, bits, within));
            }
        }
        let tests = tally.tests.len();
        for (place, (a, bits_a, in_a)) in present.iter().enumerate() {
            let others = if with_pairs { &present[place..] } else { &present[place..=place] };
            for (b, bits_b, in_b) in others {
                let pair = &mut tally.pairs[a * tests + b];
                pair.1 += bits_a.count_both(bits_b) as u64;
                if let (Some(in_a), Some(in_b)) = (in_a, in_b) {
                    pair.0 += in_a.count_both(in_b) as u64;
                }
            }
        }
        Ok(())
    }
}

impl Tally {
    fn new(tests: Vec<Test>) -> Self {
        let pairs = vec![(0, 0); tests.len() * tests.len()];
        Self { tests, rows_in: 0, rows_all: 0, pairs }
    }

    fn joined(mut self, other: Self) -> Self {
        self.rows_in += other.rows_in;
        self.rows_all += other.rows_all;
        self.pairs.iter_mut().zip(other.pairs).for_each(|(own, other)| *own = (own.0 + other.0, own.1 + other.1));
        self
    }

    /// Rows that pass both of two tests.
    fn evidence(&self, a: usize, b: usize) -> Evidence {
        let (hits_in, hits_all) = self.pairs[a.min(b) * self.tests.len() + a.max(b)];
        Evidence { hits_in, rows_in: self.rows_in, hits_out: hits_all - hits_in, rows_out: self.rows_all - self.rows_in }
    }

    /// Of the least numbers that were tried, for each column the one that says most.
    fn best_thresholds(&self) -> Vec<Candidate> {
        let candidate = |index: usize| Candidate { test: self.tests[index].clone(), evidence: self.evidence(index, index) };
        let candidates: Vec<Candidate> = (0..self.tests.len()).map(candidate).collect();
        let by_column = candidates.chunk_by(|a, b| a.test.source() == b.test.source());
        let raised = |candidate: &&Candidate| candidate.evidence.hits_in >= HITS_MIN && candidate.evidence.ratio() > 1.0;
        let best = |of: &[Candidate]| of.iter().filter(raised).max_by(|a, b| a.evidence.g().total_cmp(&b.evidence.g())).cloned();
        by_column.filter_map(best).collect()
    }

    /// All tests, and the pairs that say more than both of their tests.
    fn offers(&self) -> Vec<Offer> {
        let count = self.tests.len();
        let mut offers: Vec<Offer> =
            (0..count).map(|test| Offer { tests: vec![test], evidence: self.evidence(test, test), q: 1.0 }).collect();
        for a in 0..count {
            for b in (a + 1..count).filter(|b| self.tests[a].source() != self.tests[*b].source()) {
                let evidence = self.evidence(a, b);
                let alone = [a, b].map(|test| self.evidence(test, test));
                let gain = |single: &Evidence| single.ratio() < 1.0 || evidence.g() >= PAIR_GAIN_MIN * single.g();
                if evidence.hits_in >= HITS_MIN && evidence.ratio() > 1.0 && alone.iter().all(gain) {
                    offers.push(Offer { tests: vec![a, b], evidence, q: 1.0 });
                }
            }
        }
        offers
    }

    /// Whether most of an offer's rows beyond what would be expected are those of another one.
    fn is_within(&self, offer: &Offer, leader: &Offer) -> bool {
        // Rows of three tests are not counted: of any two the fewest bound them.
        let both = offer.tests.iter().flat_map(|a| leader.tests.iter().map(|b| self.evidence(*a, *b).hits_in)).min().unwrap_or(0);
        let expected = offer.evidence.share_out() * offer.evidence.rows_in as f64;
        let excess = (offer.evidence.hits_in as f64 - expected).max(1.0);
        both.min(offer.evidence.hits_in) as f64 >= WITHIN_MIN * excess
    }
}

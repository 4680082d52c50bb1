//! Rows by test, and by pair of tests.

use crate::bits::Bits;
use crate::candidates::{CandidateTest, CandidateValue, Tested, TestedField};
use crate::evidence::Evidence;
use crate::question::{SegmentRows, ViewQuestion};
use crate::segment::Segment;
use crate::store::Snapshot;
use crate::view::ViewError;

/// Rows by test, and by pair of tests where they were counted.
pub(crate) struct TestCounts {
    /// The fields of the tests.
    pub(crate) fields: Vec<TestedField>,
    pub(crate) rows_in: u64,
    pub(crate) rows_all: u64,
    with_pairs: bool,
    /// Rows asked about and all rows: of each test, or of each pair, where a test is a pair with
    /// itself.
    hits: Vec<(u64, u64)>,
}

impl ViewQuestion<'_> {
    pub(crate) fn count(&self, snapshot: &Snapshot, tests: &[CandidateTest], with_pairs: bool) -> Result<TestCounts, ViewError> {
        let empty = || TestCounts::new(tests, with_pairs);
        let work = |tally: &mut TestCounts, segment: &Segment, asked: &SegmentRows| {
            tally.rows_in += asked.inside.count() as u64;
            tally.rows_all += asked.all.count() as u64;
            let mut present = Vec::new();
            for (test, value) in tests.iter().enumerate() {
                let Some(rows) = value.select(segment, self.store)? else { continue };
                let matching = MatchingRows::new(test, rows, asked);
                tally.add(&matching, &matching);
                if with_pairs {
                    present.iter().for_each(|earlier| tally.add(earlier, &matching));
                    present.push(matching);
                }
            }
            Ok(())
        };
        let workers = self.pass(snapshot.segments.iter().enumerate(), empty, |asked| asked.all.count() > 0, work)?;
        Ok(workers.into_iter().reduce(TestCounts::joined).unwrap_or_else(empty))
    }
}

/// Places of each of so many tests, and of its pairs with later ones.
fn upper_pairs(tests: usize) -> impl Iterator<Item = usize> {
    (0..tests).flat_map(move |a| (a..tests).map(move |b| a * tests + b))
}

/// Rows of a segment that pass a test.
struct MatchingRows {
    test: usize,
    all: Bits,
    /// Rows asked about, where there are any.
    inside: Option<Bits>,
}

impl MatchingRows {
    fn new(test: usize, mut all: Bits, asked: &SegmentRows) -> Self {
        all.and(&asked.all);
        // In most segments no row is asked about.
        let inside = Some(&asked.inside).filter(|inside| inside.count_both(&all) > 0).map(|inside| {
            let mut within = all.clone();
            within.and(inside);
            within
        });
        Self { test, all, inside }
    }
}

impl TestCounts {
    pub(crate) fn new<T: Tested>(tests: &[T], with_pairs: bool) -> Self {
        let count = if with_pairs { tests.len() * tests.len() } else { tests.len() };
        Self { fields: tests.iter().map(T::tested).collect(), rows_in: 0, rows_all: 0, with_pairs, hits: vec![(0, 0); count] }
    }

    fn place(&self, a: usize, b: usize) -> usize {
        if self.with_pairs { a.min(b) * self.fields.len() + a.max(b) } else { a }
    }

    fn add(&mut self, a: &MatchingRows, b: &MatchingRows) {
        let place = self.place(a.test, b.test);
        let hits = &mut self.hits[place];
        hits.1 += a.all.count_both(&b.all) as u64;
        if let (Some(in_a), Some(in_b)) = (&a.inside, &b.inside) {
            hits.0 += in_a.count_both(in_b) as u64;
        }
    }

    fn joined(mut self, other: Self) -> Self {
        self.rows_in += other.rows_in;
        self.rows_all += other.rows_all;
        self.hits.iter_mut().zip(other.hits).for_each(|(own, other)| *own = (own.0 + other.0, own.1 + other.1));
        self
    }

    /// All of its numbers, where it has pairs: the rows asked about and all rows, and the same for
    /// each test and then for each of its pairs with a later one.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = u64> {
        let pairs = upper_pairs(self.fields.len()).flat_map(|place| <[u64; 2]>::from(self.hits[place]));
        [self.rows_in, self.rows_all].into_iter().chain(pairs)
    }

    /// Adds such numbers; `false` of others.
    pub(crate) fn take(&mut self, numbers: &[u64]) -> bool {
        let tests = self.fields.len();
        let Some(([rows_in, rows_all], of_pairs)) = numbers.split_first_chunk().map(|(rows, rest)| (*rows, rest)) else {
            return false;
        };
        let mut more = vec![(0, 0); self.hits.len()];
        let places: Vec<usize> = upper_pairs(tests).collect();
        if of_pairs.len() != 2 * places.len() {
            return false;
        }
        places.iter().zip(of_pairs.chunks_exact(2)).for_each(|(place, rows)| more[*place] = (rows[0], rows[1]));
        let is_within = |(hits_in, hits_all): (u64, u64), (rows_in, rows_all): (u64, u64)| {
            hits_in <= rows_in && hits_all <= rows_all && hits_in <= hits_all && hits_all - hits_in <= rows_all - rows_in
        };
        let alone = |test: usize| more[test * tests + test];
        let are_sound = rows_in <= rows_all
            && (0..tests).all(|test| is_within(alone(test), (rows_in, rows_all)))
            && places.iter().all(|place| {
                let (a, b) = (place / tests, place % tests);
                is_within(more[*place], alone(a)) && is_within(more[*place], alone(b))
            });
        if are_sound {
            (self.rows_in, self.rows_all) = (self.rows_in + rows_in, self.rows_all + rows_all);
            self.hits.iter_mut().zip(more).for_each(|(own, more)| *own = (own.0 + more.0, own.1 + more.1));
        }
        are_sound
    }

    /// Rows that pass both of two tests.
    pub(crate) fn evidence(&self, a: usize, b: usize) -> Evidence {
        let (hits_in, hits_all) = self.hits[self.place(a, b)];
        Evidence { hits_in, rows_in: self.rows_in, hits_out: hits_all - hits_in, rows_out: self.rows_all - self.rows_in }
    }

    /// Of the least numbers that were tried, for each column the one that says most.
    pub(crate) fn best_thresholds<T: Tested>(&self, tests: &[T], hits_min: u64) -> Vec<CandidateValue<T>> {
        let candidate = |index: usize| CandidateValue {
            test: tests[index].clone(),
            evidence: self.evidence(index, index),
            // A single value that says as much comes first.
            key: u64::MAX - index as u64,
        };
        let candidates: Vec<CandidateValue<T>> = (0..tests.len()).map(candidate).collect();
        let by_column = candidates.chunk_by(|a, b| a.test.tested().source == b.test.tested().source);
        let raised = |candidate: &&CandidateValue<T>| candidate.evidence.hits_in >= hits_min && candidate.evidence.ratio() > 1.0;
        let best =
            |of: &[CandidateValue<T>]| of.iter().filter(raised).max_by(|a, b| a.evidence.g().total_cmp(&b.evidence.g())).cloned();
        by_column.filter_map(best).collect()
    }
}

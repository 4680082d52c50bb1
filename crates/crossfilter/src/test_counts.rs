//! Rows by test, and by pair of tests.

use crate::bits::Bits;
use crate::candidates::{CandidateTest, CandidateValue};
use crate::evidence::Evidence;
use crate::question::{SegmentRows, ViewQuestion};
use crate::segment::Segment;
use crate::store::Snapshot;
use crate::view::ViewError;
use std::io;

/// Rows by test, and by pair of tests where they were counted.
pub(crate) struct TestCounts {
    pub(crate) tests: Vec<CandidateTest>,
    pub(crate) rows_in: u64,
    pub(crate) rows_all: u64,
    /// For each pair (and on the diagonal each test), rows asked about and all rows.
    pairs: Vec<(u64, u64)>,
}

impl ViewQuestion<'_> {
    pub(crate) fn count(&self, snapshot: &Snapshot, tests: &[CandidateTest], with_pairs: bool) -> Result<TestCounts, ViewError> {
        let empty = || TestCounts::new(tests.to_vec());
        let work = |tally: &mut TestCounts, segment: &Segment, asked: &SegmentRows| {
            tally.rows_in += asked.inside.count() as u64;
            tally.rows_all += asked.all.count() as u64;
            let present = self.present(segment, asked, &tally.tests)?;
            tally.add(&present, with_pairs);
            Ok(())
        };
        let workers = self.pass(snapshot.segments.iter().enumerate(), empty, |asked| asked.all.count() > 0, work)?;
        Ok(workers.into_iter().reduce(TestCounts::joined).unwrap_or_else(empty))
    }

    fn present(&self, segment: &Segment, asked: &SegmentRows, tests: &[CandidateTest]) -> io::Result<Vec<MatchingRows>> {
        let mut present = Vec::new();
        for (test, value) in tests.iter().enumerate() {
            if let Some(mut all) = value.select(segment, self.store)? {
                all.and(&asked.all);
                // In most segments no row is asked about.
                let inside = Some(&asked.inside).filter(|inside| inside.count_both(&all) > 0).map(|inside| {
                    let mut within = all.clone();
                    within.and(inside);
                    within
                });
                present.push(MatchingRows { test, all, inside });
            }
        }
        Ok(present)
    }
}

/// Rows of a segment that pass a test.
struct MatchingRows {
    test: usize,
    all: Bits,
    /// Rows asked about, where there are any.
    inside: Option<Bits>,
}

impl TestCounts {
    fn new(tests: Vec<CandidateTest>) -> Self {
        let pairs = vec![(0, 0); tests.len() * tests.len()];
        Self { tests, rows_in: 0, rows_all: 0, pairs }
    }

    fn add(&mut self, present: &[MatchingRows], with_pairs: bool) {
        let tests = self.tests.len();
        for (place, a) in present.iter().enumerate() {
            let others = if with_pairs { &present[place..] } else { &present[place..=place] };
            for b in others {
                let pair = &mut self.pairs[a.test * tests + b.test];
                pair.1 += a.all.count_both(&b.all) as u64;
                if let (Some(in_a), Some(in_b)) = (&a.inside, &b.inside) {
                    pair.0 += in_a.count_both(in_b) as u64;
                }
            }
        }
    }

    fn joined(mut self, other: Self) -> Self {
        self.rows_in += other.rows_in;
        self.rows_all += other.rows_all;
        self.pairs.iter_mut().zip(other.pairs).for_each(|(own, other)| *own = (own.0 + other.0, own.1 + other.1));
        self
    }

    /// Rows that pass both of two tests.
    pub(crate) fn evidence(&self, a: usize, b: usize) -> Evidence {
        let (hits_in, hits_all) = self.pairs[a.min(b) * self.tests.len() + a.max(b)];
        Evidence { hits_in, rows_in: self.rows_in, hits_out: hits_all - hits_in, rows_out: self.rows_all - self.rows_in }
    }

    /// Of the least numbers that were tried, for each column the one that says most.
    pub(crate) fn best_thresholds(&self, hits_min: u64) -> Vec<CandidateValue> {
        let candidate = |index: usize| CandidateValue {
            test: self.tests[index].clone(),
            evidence: self.evidence(index, index),
            // A single value that says as much comes first.
            key: u64::MAX - index as u64,
        };
        let candidates: Vec<CandidateValue> = (0..self.tests.len()).map(candidate).collect();
        let by_column = candidates.chunk_by(|a, b| a.test.source() == b.test.source());
        let raised = |candidate: &&CandidateValue| candidate.evidence.hits_in >= hits_min && candidate.evidence.ratio() > 1.0;
        let best =
            |of: &[CandidateValue]| of.iter().filter(raised).max_by(|a, b| a.evidence.g().total_cmp(&b.evidence.g())).cloned();
        by_column.filter_map(best).collect()
    }
}

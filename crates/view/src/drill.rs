//! What most rows of a value have besides: the place of an effect, which alone is not over-represented.

use crate::bits::Bits;
use crate::candidates::{Field, Test};
use crate::question::{Asked, Question};
use crate::segment::Segment;
use crate::store::Snapshot;
use crate::view::ViewError;
use std::io;

/// Rows of a segment that are looked at for each value, evenly among its rows: what most have is counted exactly later.
const ROWS_SAMPLED: usize = 512;

/// The value that more than half of the votes are for, if there is one (Boyer and Moore's majority vote).
#[derive(Debug, Clone, Copy, Default)]
struct Majority {
    value: u32,
    votes: u64,
}

impl Majority {
    fn vote(&mut self, value: u32, votes: u64) {
        if self.value == value {
            self.votes += votes;
        } else if votes > self.votes {
            *self = Self { value, votes: votes - self.votes };
        } else {
            self.votes -= votes;
        }
    }
}

impl Question<'_> {
    /// For each test the values, one of each field, that most of its rows may have, of those asked about.
    pub(crate) fn drill(&self, snapshot: &Snapshot, fields: &[Field], tests: &[Test]) -> Result<Vec<Vec<Test>>, ViewError> {
        let empty = || vec![vec![Majority::default(); fields.len()]; tests.len()];
        let work = |found: &mut Vec<Vec<Majority>>, segment: &Segment, asked: &Asked| {
            for (test, found) in tests.iter().zip(found) {
                if let Some(mut bits) = test.select(segment, self.store)? {
                    bits.and(&asked.inside);
                    vote(segment, &bits, fields, found)?;
                }
            }
            Ok(())
        };
        let workers = self.pass(snapshot.segments.iter().enumerate(), empty, |asked| asked.inside.count() > 0, work)?;
        let mut joined = empty();
        for found in &workers {
            let pairs = joined.iter_mut().flatten().zip(found.iter().flatten());
            pairs.for_each(|(own, other)| own.vote(other.value, other.votes));
        }
        let values = |found: &Vec<Majority>| {
            let most = fields.iter().zip(found).filter(|(field, most)| most.votes > 0 && field.is_value(most.value));
            most.map(|(field, most)| field.test(most.value)).collect()
        };
        Ok(joined.iter().map(values).collect())
    }
}

/// Votes of rows of a segment, all on the columns that are here.
fn vote(segment: &Segment, rows: &Bits, fields: &[Field], found: &mut [Majority]) -> io::Result<()> {
    let mut list = Vec::new();
    rows.list(&mut list);
    let step = list.len().div_ceil(ROWS_SAMPLED).max(1);
    for (field, found) in fields.iter().zip(found) {
        let column = segment.coded(field.index, None)?;
        for row in list.iter().step_by(step) {
            found.vote(field.value(column.get(usize::from(*row))), step as u64);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_majority_survives_any_order_and_joining() {
        // Six of ten, first, last and in turn; and counted apart.
        for values in [[7, 7, 7, 7, 7, 7, 1, 2, 3, 4], [1, 2, 3, 4, 7, 7, 7, 7, 7, 7], [1, 7, 2, 7, 3, 7, 4, 7, 7, 7]] {
            let voted = |values: &[u32]| {
                let mut most = Majority::default();
                values.iter().for_each(|value| most.vote(*value, 1));
                most
            };
            assert_eq!(voted(&values).value, 7);
            let (mut one, other) = (voted(&values[..5]), voted(&values[5..]));
            one.vote(other.value, other.votes);
            assert_eq!(one.value, 7, "{values:?}");
        }
    }
}

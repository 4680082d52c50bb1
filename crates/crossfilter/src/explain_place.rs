//! Values that most rows of another value have: the place of an effect, which alone is not
//! over-represented.

use crate::bits::Bits;
use crate::candidates::{CandidateField, CandidateTest, CandidateValue};
use crate::columns::{BYTES, TIME};
use crate::question::{SegmentRows, ViewQuestion};
use crate::segment::Segment;
use crate::store::Snapshot;
use crate::view::ViewError;
use foldhash::quality::FixedState;
use std::hash::BuildHasher;
use std::io;

/// Rows that are looked at for each value, about.
const ROWS_SAMPLED: u64 = 8_192;

/// Fixed seed: the draw of a row depends neither on its segment nor on the caller.
const DRAWING: FixedState = FixedState::with_seed(0);

/// The value that more than half of the votes are for, if there is one (Boyer and Moore's majority
/// vote).
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

/// Votes for a value, of all votes.
#[derive(Debug, Clone, Copy, Default)]
struct Support {
    votes: u64,
    all: u64,
}

impl ViewQuestion<'_> {
    /// For each value the values, one of each field, that most of its rows have, of those asked
    /// about.
    pub(crate) fn drill(
        &self,
        snapshot: &Snapshot,
        fields: &[CandidateField],
        leaders: &[CandidateValue],
    ) -> Result<Vec<Vec<CandidateTest>>, ViewError> {
        if fields.is_empty() {
            return Ok(vec![Vec::new(); leaders.len()]);
        }
        let found = self.vote(snapshot, fields, leaders, |_, majority: &mut Majority, value| majority.vote(value, 1))?;
        let mut joined = vec![Majority::default(); leaders.len() * fields.len()];
        found.iter().for_each(|found| joined.iter_mut().zip(found).for_each(|(own, other)| own.vote(other.value, other.votes)));
        // A value of more than half is found in any order; anything else, by the order of arrival.
        let found = self.vote(snapshot, fields, leaders, |place, support: &mut Support, value| {
            support.votes += u64::from(value == joined[place].value);
            support.all += 1;
        })?;
        let mut support = vec![Support::default(); joined.len()];
        for found in found {
            support
                .iter_mut()
                .zip(found)
                .for_each(|(own, other)| (own.votes, own.all) = (own.votes + other.votes, own.all + other.all));
        }
        let values = |(majorities, support): (&[Majority], &[Support])| {
            let most = fields.iter().zip(majorities).zip(support);
            let is_one = |((field, most), support): &((&CandidateField, &Majority), &Support)| {
                field.is_value(most.value) && 2 * support.votes > support.all
            };
            most.filter(is_one).map(|((field, most), _)| field.test(most.value)).collect()
        };
        Ok(joined.chunks(fields.len()).zip(support.chunks(fields.len())).map(values).collect())
    }

    /// Takes the value of each field of rows of each leader, of the same ones each time.
    fn vote<T: Clone + Default + Send>(
        &self,
        snapshot: &Snapshot,
        fields: &[CandidateField],
        leaders: &[CandidateValue],
        take: impl Fn(usize, &mut T, u32) + Sync,
    ) -> Result<Vec<Vec<T>>, ViewError> {
        let empty = || vec![T::default(); leaders.len() * fields.len()];
        let work = |found: &mut Vec<T>, segment: &Segment, asked: &SegmentRows| {
            for (number, leader) in leaders.iter().enumerate() {
                let Some(mut bits) = leader.test.select(segment, self.store)? else { continue };
                bits.and(&asked.inside);
                let rows = drawn(segment, &bits, leader.evidence.hits_in.div_ceil(ROWS_SAMPLED))?;
                for (place, field) in (number * fields.len()..).zip(fields) {
                    let column = self.store.coded(segment, field.index)?;
                    rows.iter().for_each(|row| take(place, &mut found[place], field.value(column.get(usize::from(*row)))));
                }
            }
            Ok(())
        };
        self.pass(snapshot.segments.iter().enumerate(), empty, |asked| asked.inside.count() > 0, work)
    }
}

/// About one row of `step`, all on the columns that are here: by its content, and not by its
/// position.
fn drawn(segment: &Segment, rows: &Bits, step: u64) -> io::Result<Vec<u16>> {
    let mut list = Vec::new();
    rows.list(&mut list);
    if step > 1 {
        let (times, sizes) = (segment.numbers(TIME, None)?, segment.numbers(BYTES, None)?);
        let content = |row: &u16| (times.get(usize::from(*row)), sizes.get(usize::from(*row)));
        list.retain(|row| DRAWING.hash_one(content(row)).is_multiple_of(step));
    }
    Ok(list)
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

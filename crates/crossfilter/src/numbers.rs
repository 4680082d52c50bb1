//! A column of numbers some of which are absent.

use crate::bits::Bits;
use crate::codes::{Codes, ColumnCode, with_codes};
use rorqual_accesslog::ABSENT;
use rorqual_accesslog::filter::NumberTest;

/// Steps that a column's numbers may all be multiples of: times come in seconds or milliseconds.
const STEPS: [u64; 2] = [1_000_000, 1_000];

/// Each row's number is `base + (code - 1) * step`; code 0 is the absent one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CodedNumbers {
    base: u64,
    step: u64,
    /// The largest code.
    max: u64,
    pub(crate) codes: Codes,
}

impl CodedNumbers {
    /// A column of `numbers`, in which [`ABSENT`] stands for the absent one.
    pub(crate) fn new(numbers: &[u64]) -> Self {
        let present = || numbers.iter().copied().filter(|number| *number != ABSENT);
        let (base, last) = present().fold((ABSENT, 0), |(least, most), number| (least.min(number), most.max(number)));
        if base == ABSENT {
            return Self { base: 0, step: 1, max: 0, codes: Codes::Constant(0) };
        }
        let step = STEPS.into_iter().find(|step| present().all(|number| (number - base).is_multiple_of(*step))).unwrap_or(1);
        // The largest number is 2^64 - 2, so the code of any fits.
        let code = |number: u64| if number == ABSENT { 0 } else { (number - base) / step + 1 };
        let codes = Codes::new(numbers.iter().map(|number| code(*number)), code(last));
        Self { base, step, max: code(last), codes }
    }

    /// The number that a code stands for.
    #[inline]
    pub(crate) fn number(&self, code: u64) -> Option<u64> {
        code.checked_sub(1).map(|steps| self.base + steps * self.step)
    }

    /// The largest code.
    pub(crate) fn code_max(&self) -> u64 {
        self.max
    }

    pub(crate) fn get(&self, row: usize) -> Option<u64> {
        self.number(self.codes.get(row))
    }

    /// The smallest number, where there is one.
    pub(crate) fn min(&self) -> Option<u64> {
        (self.max > 0).then_some(self.base)
    }

    /// The largest number; 0 where there is none.
    pub(crate) fn max(&self) -> u64 {
        self.number(self.max).unwrap_or(0)
    }

    /// The rows that pass a test.
    pub(crate) fn select(&self, test: &NumberTest, rows: usize) -> Bits {
        let mut bits = Bits::new(rows, false);
        for (first, last) in &test.ranges {
            let Some((first, last)) = self.codes_between(*first, *last) else { continue };
            bits.or(&self.codes.select(first, last, rows));
        }
        if test.absent {
            bits.or(&self.codes.select(0, 0, rows));
        }
        bits
    }

    /// The codes of the numbers from `first` to `last`.
    fn codes_between(&self, first: u64, last: u64) -> Option<(u64, u64)> {
        let last = (last.checked_sub(self.base)? / self.step).saturating_add(1).min(self.max);
        let first = first.saturating_sub(self.base).div_ceil(self.step).saturating_add(1);
        (first <= last).then_some((first, last))
    }

    /// The smallest and the largest number of the rows.
    pub(crate) fn extent(&self, rows: &[u16]) -> Option<(u64, u64)> {
        // Less one, so that the absent code is after all others.
        let join = |(least, most): (u64, u64), code: u64| (least.min(code.wrapping_sub(1)), most.max(code));
        let (least, most) = with_codes!(
            &self.codes,
            constant => join((u64::MAX, 0), *constant),
            codes => rows.iter().fold((u64::MAX, 0), |extent, row| join(extent, codes[usize::from(*row)].number()))
        );
        self.number(least.checked_add(1)?).zip(self.number(most))
    }

    /// Calls `each` with the number of each of `rows`.
    #[inline]
    pub(crate) fn each(&self, rows: &[u16], mut each: impl FnMut(usize, Option<u64>)) {
        with_codes!(
            &self.codes,
            constant => rows.iter().for_each(|row| each(usize::from(*row), self.number(*constant))),
            codes => rows.iter().for_each(|row| each(usize::from(*row), self.number(codes[usize::from(*row)].number())))
        );
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        [self.base, self.step, self.max].iter().for_each(|number| out.extend_from_slice(&number.to_le_bytes()));
        self.codes.write(out);
    }

    /// Reads a column that [`CodedNumbers::write`] wrote for `rows` rows; `None` where that is
    /// something else.
    pub(crate) fn read(bytes: &[u8], rows: usize) -> Option<Self> {
        let (base, bytes) = bytes.split_first_chunk()?;
        let (step, bytes) = bytes.split_first_chunk()?;
        let (max, bytes) = bytes.split_first_chunk()?;
        let (codes, rest) = Codes::read(bytes, rows)?;
        let [base, step, max] = [base, step, max].map(|number: &[u8; 8]| u64::from_le_bytes(*number));
        // All numbers that codes stand for are below the absent one.
        let last = max.saturating_sub(1).checked_mul(step)?.checked_add(base)?;
        (rest.is_empty() && step > 0 && last < ABSENT && codes.max() <= max).then_some(Self { base, step, max, codes })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_ranges() {
        let columns = [
            vec![],
            vec![ABSENT, ABSENT],
            vec![5, 5],
            vec![5, ABSENT, 300, 0],
            vec![1_000_000, 3_000_000, ABSENT],
            vec![0, ABSENT - 1, 7],
            vec![u64::from(u32::MAX), 0, 9],
        ];
        for numbers in columns {
            let column = CodedNumbers::new(&numbers);
            let value = |number: &u64| (*number != ABSENT).then_some(*number);
            assert!(numbers.iter().enumerate().all(|(row, number)| column.get(row) == value(number)));
            for range in [(0, 0), (5, 5), (1, 299), (0, u64::MAX), (2_000_000, 3_000_000), (7, ABSENT - 2)] {
                for absent in [false, true] {
                    let test = NumberTest { ranges: vec![range], absent };
                    let expected: Vec<bool> = numbers.iter().map(|number| test.meets(value(number))).collect();
                    assert_eq!(column.select(&test, numbers.len()), Bits::of(&expected, |met| met), "{numbers:?} {range:?}");
                }
            }
            let mut bytes = Vec::new();
            column.write(&mut bytes);
            assert_eq!(CodedNumbers::read(&bytes, numbers.len()), Some(column));
        }
    }
}

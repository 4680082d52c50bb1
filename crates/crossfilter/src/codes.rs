//! A column of small numbers, as narrow as they are.

use crate::bits::Bits;

/// One number a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Codes {
    /// The same for all rows.
    Constant(u64),
    U8(Vec<u8>),
    U16(Vec<u16>),
    U32(Vec<u32>),
    U64(Vec<u64>),
}

/// Calls a generic function with the slice that a column is, and another with its constant.
macro_rules! with_codes {
    ($codes:expr, $constant:ident => $same:expr, $slice:ident => $each:expr) => {
        match $codes {
            $crate::codes::Codes::Constant($constant) => $same,
            $crate::codes::Codes::U8($slice) => $each,
            $crate::codes::Codes::U16($slice) => $each,
            $crate::codes::Codes::U32($slice) => $each,
            $crate::codes::Codes::U64($slice) => $each,
        }
    };
}
pub(crate) use with_codes;

/// A number of a column.
pub(crate) trait ColumnCode: Copy + Ord {
    fn number(self) -> u64;

    /// A number that fits.
    fn of(number: u64) -> Self;

    fn less(self, other: Self) -> Self;

    #[inline]
    fn index(self) -> usize {
        self.number() as usize
    }
}

macro_rules! code {
    ($($type:ty),*) => {
        $(impl ColumnCode for $type {
            #[inline]
            fn number(self) -> u64 {
                u64::from(self)
            }

            #[inline]
            fn of(number: u64) -> Self {
                number as Self
            }

            #[inline]
            fn less(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
        })*
    };
}
code!(u8, u16, u32, u64);

impl Codes {
    /// A column of `numbers`, the largest of which is `max`.
    pub(crate) fn new(numbers: impl Iterator<Item = u64> + Clone, max: u64) -> Self {
        let mut all = numbers.clone();
        let first = all.next().unwrap_or(0);
        if all.all(|number| number == first) {
            return Self::Constant(first);
        }
        match max {
            0..=0xff => Self::U8(numbers.map(|number| number as u8).collect()),
            0x100..=0xffff => Self::U16(numbers.map(|number| number as u16).collect()),
            0x1_0000..=0xffff_ffff => Self::U32(numbers.map(|number| number as u32).collect()),
            _ => Self::U64(numbers.collect()),
        }
    }

    pub(crate) fn get(&self, row: usize) -> u64 {
        with_codes!(self, constant => *constant, codes => codes[row].number())
    }

    /// The largest number; 0 of no rows.
    pub(crate) fn max(&self) -> u64 {
        with_codes!(self, constant => *constant, codes => codes.iter().copied().max().map_or(0, ColumnCode::number))
    }

    /// The rows whose number is one of those from `first` to `last`, which are at most the largest
    /// one.
    pub(crate) fn select(&self, first: u64, last: u64, rows: usize) -> Bits {
        with_codes!(
            self,
            constant => Bits::new(rows, (first..=last).contains(constant)),
            codes => between(codes, first, last)
        )
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> u64 {
        with_codes!(self, _constant => 0, codes => std::mem::size_of_val(&codes[..]) as u64)
    }

    /// Appends the column as bytes.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Self::Constant(constant) => {
                out.push(0);
                out.extend_from_slice(&constant.to_le_bytes());
            }
            Self::U8(codes) => {
                out.push(1);
                out.extend_from_slice(codes);
            }
            Self::U16(codes) => {
                out.push(2);
                codes.iter().for_each(|code| out.extend_from_slice(&code.to_le_bytes()));
            }
            Self::U32(codes) => {
                out.push(4);
                codes.iter().for_each(|code| out.extend_from_slice(&code.to_le_bytes()));
            }
            Self::U64(codes) => {
                out.push(8);
                codes.iter().for_each(|code| out.extend_from_slice(&code.to_le_bytes()));
            }
        }
    }

    /// Reads a column that [`Codes::write`] wrote for `rows` rows, and returns the bytes after it;
    /// `None` where that is something else.
    pub(crate) fn read(bytes: &[u8], rows: usize) -> Option<(Self, &[u8])> {
        let (&width, rest) = bytes.split_first()?;
        if width == 0 {
            let (constant, rest) = rest.split_first_chunk()?;
            return Some((Self::Constant(u64::from_le_bytes(*constant)), rest));
        }
        let (own, rest) = rest.split_at_checked(rows.checked_mul(usize::from(width))?)?;
        let codes = match width {
            1 => Self::U8(own.to_vec()),
            2 => Self::U16(own.as_chunks().0.iter().map(|code| u16::from_le_bytes(*code)).collect()),
            4 => Self::U32(own.as_chunks().0.iter().map(|code| u32::from_le_bytes(*code)).collect()),
            8 => Self::U64(own.as_chunks().0.iter().map(|code| u64::from_le_bytes(*code)).collect()),
            _ => return None,
        };
        Some((codes, rest))
    }
}

/// In the width of the codes, so that as many as possible are compared at once.
fn between<C: ColumnCode>(codes: &[C], first: u64, last: u64) -> Bits {
    let (first, width) = (C::of(first), C::of(last - first));
    if first == C::of(last) { Bits::of(codes, |code| code == first) } else { Bits::of(codes, |code| code.less(first) <= width) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_come_back_as_they_were() {
        for numbers in [vec![7, 7], vec![0, 255], vec![1, 256, 65_535], vec![1, 65_536], vec![u64::MAX, 0], vec![]] {
            let max = numbers.iter().copied().max().unwrap_or(0);
            let codes = Codes::new(numbers.iter().copied(), max);
            let mut bytes = Vec::new();
            codes.write(&mut bytes);
            bytes.push(9);
            assert_eq!(Codes::read(&bytes, numbers.len()), Some((codes.clone(), &[9][..])));
            assert!(numbers.iter().enumerate().all(|(row, number)| codes.get(row) == *number));
            for (first, last) in [(0, max), (max, max), (1.min(max), max), (0, 7.min(max))] {
                let expected = Bits::of(&numbers, |number| (first..=last).contains(&number));
                assert_eq!(codes.select(first, last, numbers.len()), expected, "{numbers:?} {first}..={last}");
            }
        }
        assert_eq!(Codes::read(&[4, 0, 0], 1), None);
    }
}

//! Sets of rows of one segment, a bit each.

/// Rows of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
    rows: usize,
}

impl Bits {
    pub(crate) fn new(rows: usize, all: bool) -> Self {
        let mut bits = Self { words: vec![if all { u64::MAX } else { 0 }; rows.div_ceil(64)], rows };
        bits.trim();
        bits
    }

    /// The rows whose item meets `test`.
    #[inline]
    pub(crate) fn of<T: Copy>(items: &[T], test: impl Fn(T) -> bool) -> Self {
        Self { words: words_of(items, test), rows: items.len() }
    }

    /// Leaves the rows that meet `test`, which is asked of each.
    pub(crate) fn retain(&mut self, mut test: impl FnMut(usize) -> bool) {
        for (index, word) in self.words.iter_mut().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                if !test(index * 64 + rest.trailing_zeros() as usize) {
                    *word &= !(rest & rest.wrapping_neg());
                }
                rest &= rest - 1;
            }
        }
    }

    pub(crate) fn and(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(own, other)| *own &= other);
    }

    pub(crate) fn or(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(own, other)| *own |= other);
    }

    pub(crate) fn without(&mut self, other: &Self) {
        self.words.iter_mut().zip(&other.words).for_each(|(own, other)| *own &= !other);
    }

    pub(crate) fn not(&mut self) {
        self.words.iter_mut().for_each(|word| *word = !*word);
        self.trim();
    }

    /// Rows of the segment.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Number of rows.
    pub(crate) fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Number of rows that both have.
    pub(crate) fn count_both(&self, other: &Self) -> usize {
        self.words.iter().zip(&other.words).map(|(own, other)| (own & other).count_ones() as usize).sum()
    }

    /// Number of the rows from `start` to before `end`.
    pub(crate) fn count_in(&self, start: usize, end: usize) -> usize {
        let (first, last) = (start / 64, end / 64);
        let from = u64::MAX << (start % 64);
        let below = (1u64 << (end % 64)) - 1;
        if first == last {
            return self.words.get(first).map_or(0, |word| (word & from & below).count_ones() as usize);
        }
        let middle: usize = self.words[first + 1..last].iter().map(|word| word.count_ones() as usize).sum();
        let ends = (self.words[first] & from).count_ones() + self.words.get(last).map_or(0, |word| (word & below).count_ones());
        middle + ends as usize
    }

    pub(crate) fn is_none(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// True if so few rows are left that each is better asked by itself.
    pub(crate) fn are_few(&self) -> bool {
        self.count() * FEW_PART <= self.rows
    }

    /// The rows in ascending order, appended to `list`.
    pub(crate) fn list(&self, list: &mut Vec<u16>) {
        list.reserve(self.count());
        for (index, word) in self.words.iter().enumerate() {
            let mut rest = *word;
            while rest != 0 {
                list.push((index * 64) as u16 | rest.trailing_zeros() as u16);
                rest &= rest - 1;
            }
        }
    }

    fn trim(&mut self) {
        if let (Some(last), beyond @ 1..) = (self.words.last_mut(), self.rows % 64) {
            *last &= (1 << beyond) - 1;
        }
    }
}

/// Of so many rows one, at most, are few.
const FEW_PART: usize = 8;

/// A bit for each item, whether it meets `test`.
#[inline]
pub(crate) fn words_of<T: Copy>(items: &[T], test: impl Fn(T) -> bool) -> Vec<u64> {
    let (chunks, rest) = items.as_chunks();
    let mut words = Vec::with_capacity(items.len().div_ceil(64));
    words.extend(chunks.iter().map(|chunk| word_of(chunk, &test)));
    if !rest.is_empty() {
        words.push(rest.iter().enumerate().fold(0, |word, (bit, item)| word | u64::from(test(*item)) << bit));
    }
    words
}

/// First a byte for each item, of which the compiler makes vectors; then of each eight bytes their
/// lowest bits, by one multiplication.
#[inline]
fn word_of<T: Copy>(items: &[T; 64], test: impl Fn(T) -> bool) -> u64 {
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let mut met = [0u8; 64];
    met.iter_mut().zip(items).for_each(|(met, item)| *met = u8::from(test(*item)));
    let (eights, _) = met.as_chunks();
    eights.iter().rev().fold(0, |word, eight| word << 8 | u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_counted_and_listed() {
        for rows in [0, 1, 63, 64, 65, 200] {
            let items: Vec<usize> = (0..rows).collect();
            let mut bits = Bits::of(&items, |item| item % 3 == 0);
            let expected: Vec<u16> = items.iter().filter(|item| **item % 3 == 0).map(|item| *item as u16).collect();
            let mut list = Vec::new();
            bits.list(&mut list);
            assert_eq!((list, bits.count()), (expected.clone(), expected.len()));
            for (start, end) in [(0, rows), (rows / 2, rows), (rows / 3, rows / 2)] {
                let between = expected.iter().filter(|row| (start..end).contains(&usize::from(**row))).count();
                assert_eq!(bits.count_in(start, end), between, "{start}..{end} of {rows}");
            }
            let mut odd = bits.clone();
            odd.retain(|row| row % 2 == 1);
            assert_eq!(odd, Bits::of(&items, |item| item % 6 == 3));
            let mut even = bits.clone();
            even.without(&odd);
            assert_eq!(even, Bits::of(&items, |item| item % 6 == 0));
            assert_eq!((even.is_none(), bits.are_few()), (rows == 0, rows == 0));
            bits.not();
            assert_eq!(bits.count(), rows - expected.len());
            assert_eq!(Bits::new(rows, true).count(), rows);
        }
    }
}

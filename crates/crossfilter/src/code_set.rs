//! Codes of a column that pass a test, a bit each.

use crate::bits::words_of;

/// So few codes are looked for one by one among those of a segment.
const LISTED_MAX: usize = 256;

/// Codes that pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct CodeSet {
    words: Vec<u64>,
    /// The codes themselves, up to one more than [`LISTED_MAX`].
    listed: Vec<u32>,
}

impl CodeSet {
    /// None of so many codes.
    pub(crate) fn none(codes: usize) -> Self {
        Self { words: vec![0; codes.div_ceil(64)], listed: Vec::new() }
    }

    /// The codes of those `items` that pass.
    pub(crate) fn of(items: &[u32], test: impl Fn(u32) -> bool) -> Self {
        let words = words_of(items, test);
        let mut listed = Vec::new();
        for (index, word) in words.iter().enumerate().filter(|(_, word)| **word != 0) {
            let mut rest = *word;
            while rest != 0 && listed.len() <= LISTED_MAX {
                listed.push(index as u32 * 64 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
        Self { words, listed }
    }

    pub(crate) fn add(&mut self, code: u32) {
        if self.has(code) {
            return;
        }
        if let Some(word) = self.words.get_mut(code as usize / 64) {
            *word |= 1 << (code % 64);
            if self.listed.len() <= LISTED_MAX {
                self.listed.push(code);
            }
        }
    }

    pub(crate) fn remove(&mut self, code: u32) {
        if let Some(word) = self.words.get_mut(code as usize / 64) {
            *word &= !(1 << (code % 64));
        }
        // Of more than are listed some are missing already.
        if self.listed.len() <= LISTED_MAX {
            self.listed.retain(|listed| *listed != code);
        }
    }

    /// True if a code passes; one that is not known does not.
    #[inline]
    pub(crate) fn has(&self, code: u32) -> bool {
        self.words.get(code as usize / 64).is_some_and(|word| word >> (code % 64) & 1 == 1)
    }

    /// The codes that pass, where they are few.
    pub(crate) fn listed(&self) -> Option<&[u32]> {
        Some(&self.listed[..]).filter(|listed| listed.len() <= LISTED_MAX)
    }
}

impl FromIterator<bool> for CodeSet {
    fn from_iter<I: IntoIterator<Item = bool>>(passes: I) -> Self {
        let passes: Vec<u32> = passes.into_iter().map(u32::from).collect();
        Self::of(&passes, |passes| passes == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_of_making_one_agree() {
        for codes in [0u32, 1, 64, 300, 1_000] {
            let items: Vec<u32> = (0..codes).collect();
            for step in [1, 3, 7] {
                let of = CodeSet::of(&items, |item| item % step == 0);
                let mut added = CodeSet::none(codes as usize);
                // Twice, and one that is not known.
                items.iter().chain(&items).filter(|item| *item % step == 0).for_each(|item| added.add(*item));
                added.add(codes + 64);
                let expected: Vec<u32> = items.iter().copied().filter(|item| item % step == 0).collect();
                let listed = (expected.len() <= 256).then_some(&expected[..]);
                assert_eq!((of.listed(), added.listed()), (listed, listed));
                assert!((0..codes + 200).all(|code| of.has(code) == expected.contains(&code) && added.has(code) == of.has(code)));
                let mut fewer = of.clone();
                fewer.remove(0);
                fewer.remove(codes + 64);
                assert!((0..codes + 200).all(|code| fewer.has(code) == (code != 0 && of.has(code))));
                assert_eq!(fewer.listed(), of.listed().map(|listed| listed.strip_prefix(&[0]).unwrap_or(listed)));
            }
        }
    }
}

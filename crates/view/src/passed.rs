//! Which codes of a column pass a test, a bit each.

/// Codes that pass.
#[derive(Debug, Clone, Default)]
pub(crate) struct Passed(Vec<u64>);

impl Passed {
    /// None of so many codes.
    pub(crate) fn none(codes: usize) -> Self {
        Self(vec![0; codes.div_ceil(64)])
    }

    pub(crate) fn add(&mut self, code: u32) {
        if let Some(word) = self.0.get_mut(code as usize / 64) {
            *word |= 1 << (code % 64);
        }
    }

    /// Whether a code passes; one that is not known does not.
    #[inline]
    pub(crate) fn has(&self, code: u32) -> bool {
        self.0.get(code as usize / 64).is_some_and(|word| word >> (code % 64) & 1 == 1)
    }
}

impl FromIterator<bool> for Passed {
    fn from_iter<I: IntoIterator<Item = bool>>(passes: I) -> Self {
        let mut passed = Self::default();
        for (code, passes) in passes.into_iter().enumerate() {
            if code % 64 == 0 {
                passed.0.push(0);
            }
            if passes {
                passed.add(code as u32);
            }
        }
        passed
    }
}

//! Values that have a series of their own in a stacked histogram of several stores.

use crate::value_bytes::{NAMED_BYTES_MAX, ValueBytes, shown_start, value_hash};
use serde::{Deserialize, Serialize};

/// A value with a series. A long one is known by the start of its text, and its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeriesText {
    text: ValueBytes,
    /// Seed, and the hash of the whole text.
    hash: Option<(u64, u64)>,
}

impl SeriesText {
    /// Of a text, or of the start of one that has this hash by a seed.
    #[must_use]
    pub fn new(text: &[u8], cut: Option<u64>, seed: u64) -> Self {
        let long = || (text.len() > NAMED_BYTES_MAX).then(|| value_hash(seed, text));
        let hash = cut.or_else(long).map(|hash| (seed, hash));
        Self { text: ValueBytes::new(if hash.is_some() { shown_start(text) } else { text }), hash }
    }

    /// The text, or the start of it, from which the same is shown.
    #[must_use]
    pub fn start(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// True of the value itself.
    pub(crate) fn is(&self, text: &[u8]) -> bool {
        match self.hash {
            None => self.start() == text,
            Some((seed, hash)) => text.starts_with(self.start()) && value_hash(seed, text) == hash,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_is_told_apart_from_one_with_the_same_start() {
        let long = |end: &str| format!("{}{end}", "a".repeat(30_000)).into_bytes();
        let series = SeriesText::new(&long("x"), None, 7);
        assert!(series.is(&long("x")) && !series.is(&long("y")) && !series.is(series.start()));
        assert!(serde_json::to_vec(&series).expect("JSON").len() < 1_200);
        let cut = SeriesText::new(shown_start(&long("x")), Some(value_hash(7, &long("x"))), 7);
        assert_eq!(cut, series);
        let short = SeriesText::new(b"/a", None, 7);
        assert!(short.is(b"/a") && !short.is(b"/ab"));
    }
}

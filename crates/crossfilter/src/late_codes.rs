//! Codes for texts without one that an answer is about.
//!
//! A pass over the rows tells texts without a code apart by their hashes, and finds those that many
//! rows have. These get a code in their dictionary, and the question is asked once more: then they
//! are counted, ranked and shown as other texts are.

use crate::dictionary::NamedHashes;
use crate::store::{RowStore, lock};
use crate::uncoded_counts::UncodedTallies;
use crate::view::ViewError;
use std::io;
use std::sync::PoisonError;

/// Texts of a column that get a code by one view, at most.
const NAMES_MAX: usize = 64;

impl RowStore {
    /// Answers a question, and once more where that gives texts codes which the answer is about.
    /// No question is asked within another one.
    pub(crate) fn asked<T>(&self, ask: impl Fn() -> Result<T, ViewError>) -> Result<T, ViewError> {
        let answer = {
            let _asked = self.naming.asked.read().unwrap_or_else(PoisonError::into_inner);
            lock(&self.naming.wanted).clear();
            ask()?
        };
        let wanted = std::mem::take(&mut *lock(&self.naming.wanted));
        if wanted.is_empty() || !self.name_all(wanted).map_err(ViewError::spilled)? {
            return Ok(answer);
        }
        let _asked = self.naming.asked.read().unwrap_or_else(PoisonError::into_inner);
        let answer = ask()?;
        lock(&self.naming.wanted).clear();
        Ok(answer)
    }

    /// Notes the texts that many rows of a view have.
    pub(crate) fn want_names(&self, tallies: &UncodedTallies) {
        for (place, index) in self.counts().counted().enumerate() {
            let Some(tally) = tallies.get(place) else { continue };
            let named = self.dictionaries[index].named();
            let most = tally.most(NAMES_MAX).into_iter().map(|(hash, _)| hash).filter(|hash| !named.contains_key(hash));
            lock(&self.naming.wanted).extend(most.map(|hash| (index, hash)));
        }
    }

    /// Gives texts codes; `false` where none got one.
    fn name_all(&self, wanted: Vec<(usize, u64)>) -> io::Result<bool> {
        let _asked = self.naming.asked.write().unwrap_or_else(PoisonError::into_inner);
        let mut some = false;
        let mut of_columns: Vec<(usize, NamedHashes)> = Vec::new();
        for (index, hash) in wanted {
            match of_columns.iter_mut().find(|(column, _)| *column == index) {
                Some((_, hashes)) => drop(hashes.insert(hash, 0)),
                None => of_columns.push((index, NamedHashes::from_iter([(hash, 0)]))),
            }
        }
        for (index, hashes) in of_columns {
            some |= self.name_of_column(index, hashes)?;
        }
        if some {
            self.change();
        }
        Ok(some)
    }

    /// Looks for the texts of these hashes, the latest first, and gives them codes.
    fn name_of_column(&self, index: usize, mut hashes: NamedHashes) -> io::Result<bool> {
        let spill = self.spill.as_ref();
        let mut some = false;
        for segment in self.snapshot().segments.iter().rev() {
            if hashes.is_empty() {
                break;
            }
            if segment.coded(index, spill)?.uncoded == 0 {
                continue;
            }
            let found = segment.uncoded_hashes(index, spill)?;
            let found: Vec<(usize, u64)> =
                found.iter().copied().enumerate().filter(|(_, hash)| hashes.contains_key(hash)).collect();
            if found.is_empty() {
                continue;
            }
            let texts = segment.uncoded_texts(index, spill)?.plain()?;
            for (text, hash) in found {
                if !self.dictionaries[index].name(hash, texts.text(text)) {
                    return Ok(some);
                }
                hashes.remove(&hash);
                some = true;
            }
        }
        Ok(some)
    }
}

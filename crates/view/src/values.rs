//! All values of a panel, however many.

use crate::columns::source;
use crate::dictionary::{NONE, OTHERS};
use crate::limits::PIECE_ROWS_MAX;
use crate::panels::top_codes;
use crate::store::Store;
use crate::sums::Amount;
use crate::view::{View, ViewError};
use rorqual_pipe::{Control, Error};
use rorqual_table::filter::TextColumn;

/// The values of a column in a view, by their codes: 24 bytes each.
#[derive(Debug)]
pub struct Values {
    column: TextColumn,
    /// Rows that have the field.
    hits: u64,
    listed: Vec<(u32, Amount)>,
}

/// A value with its rows.
#[derive(Debug, Clone, Copy)]
pub struct Value<'a> {
    /// As in the log; `…` for all that the store had no room for.
    pub text: &'a [u8],
    /// Rows.
    pub hits: u64,
    /// Sum of the response sizes.
    pub bytes: u64,
    /// Of the rows that have the field.
    pub share: f64,
}

impl Values {
    /// Bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.listed.capacity() * size_of::<(u32, Amount)>()) as u64
    }
}

impl Store {
    /// The values of a column in a view, most hits first; what there was no room for at the end.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn values(&self, view: &View, column: TextColumn, control: &Control) -> Result<Values, ViewError> {
        let counted = self.sums_of(view, control)?;
        let (_, derived) = source(column);
        Ok(self.amounts(&counted, column, |amounts, tables| {
            let mut codes = top_codes(amounts, |code| tables.text_of(derived, code), amounts.len());
            codes.extend(amounts.get(OTHERS as usize).filter(|others| others.hits > 0).map(|_| OTHERS));
            let hits = amounts.iter().enumerate().filter(|(code, _)| *code != NONE as usize).map(|(_, amount)| amount.hits).sum();
            Values { column, hits, listed: codes.into_iter().map(|code| (code, amounts[code as usize])).collect() }
        }))
    }

    /// Gives `take` each of the values, while nobody waits for the dictionary.
    ///
    /// # Errors
    /// Those of `take`.
    pub fn each_value(&self, values: &Values, mut take: impl FnMut(&Value<'_>) -> Result<(), Error>) -> Result<(), Error> {
        let (index, derived) = source(values.column);
        let mut texts: Vec<Vec<u8>> = Vec::new();
        for listed in values.listed.chunks(PIECE_ROWS_MAX / 16) {
            {
                let tables = self.dictionaries[index].lock();
                let text = |code: u32| if code == OTHERS { "…".as_bytes() } else { tables.text_of(derived, code) };
                texts.clear();
                texts.extend(listed.iter().map(|(code, _)| text(*code).to_vec()));
            }
            for (text, (_, Amount { hits, bytes })) in texts.iter().zip(listed) {
                let share = *hits as f64 / values.hits.max(1) as f64;
                take(&Value { text, hits: *hits, bytes: *bytes, share })?;
            }
        }
        Ok(())
    }
}

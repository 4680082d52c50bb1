//! The values of a field, as one store has them.

use super::STORE_ROWS_MAX;
use crate::columns::source;
use crate::counted::CountedViews;
use crate::dictionary::DictionaryTables;
use crate::panels::{PanelSearch, amounts_of, top_values};
use crate::store::RowStore;
use crate::sums::RowsAndBytes;
use crate::view::{PanelPage, PanelWanted, View, ViewError};
use foldhash::quality::FixedState;
use rorqual_accesslog::report::OtherValues;
use rorqual_accesslog::schema::TextColumn;
use rorqual_pipe::Control;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::hash::BuildHasher;

/// Bytes of a hash and of a small number of rows.
const PAIR_BYTES: usize = 11;

/// A text that is no UTF-8 where it is not: as a list of its bytes then.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ValueBytes {
    /// The text itself.
    Text(String),
    /// Its bytes.
    Bytes(Vec<u8>),
}

impl ValueBytes {
    /// A value as it is.
    #[must_use]
    pub fn new(text: &[u8]) -> Self {
        std::str::from_utf8(text).map_or_else(|_| Self::Bytes(text.to_vec()), |text| Self::Text(text.to_owned()))
    }

    /// Its bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// A value with its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldValue {
    /// The value.
    pub text: ValueBytes,
    /// Its rows.
    pub hits: u64,
    /// The sum of their response sizes.
    pub bytes: u64,
}

/// The values of a field with most rows in one store.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FieldTop {
    /// Name for programs.
    pub field: String,
    /// Name for people.
    pub title: String,
    /// Number of values.
    pub distinct: u64,
    /// Error of that number, 0 of an exact one.
    pub distinct_error: f64,
    /// Rows that have the field.
    pub hits: u64,
    /// All counts are exact.
    pub exact: bool,
    /// Most rows of a value that is in no list, beside those that were counted for it.
    pub error_max: u64,
    /// Rows of a listed value that may be missing.
    pub missing: u64,
    /// Rows of values without a place.
    pub others: Option<OtherValues>,
    /// Values that match the search.
    pub found: u64,
    /// Most rows first, ties by the bytes of the text.
    pub values: Vec<FieldValue>,
}

impl FieldTop {
    /// True if it may be one of a store.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let is_listed = |value: &FieldValue| value.hits > 0 && value.hits <= STORE_ROWS_MAX;
        [self.distinct, self.hits, self.error_max, self.missing, self.found].iter().all(|number| *number <= STORE_ROWS_MAX)
            && self.others.is_none_or(|others| others.hits <= STORE_ROWS_MAX)
            && self.distinct_error >= 0.0
            && self.values.len() as u64 <= self.found
            && self.values.iter().all(is_listed)
            && self.values.is_sorted_by(|a, b| a.hits >= b.hits)
    }

    /// True if it has values that are not listed.
    #[must_use]
    pub fn has_more(&self) -> bool {
        (self.values.len() as u64) < self.found
    }

    /// Leaves so many values.
    pub fn truncate(&mut self, values: usize) {
        self.values.truncate(values);
    }
}

/// Values of a field that are wanted.
#[derive(Debug, Clone)]
pub struct FieldWanted {
    /// Field, one that has a panel.
    pub column: TextColumn,
    /// Text that the values shall contain, in any case of ASCII letters.
    pub search: Option<String>,
}

/// Values of a field that are wanted by their hashes.
#[derive(Debug, Clone)]
pub struct HashesWanted {
    /// Field and search.
    pub values: FieldWanted,
    /// Seed of the hashes.
    pub seed: u64,
    /// Fewest rows of a value.
    pub least: u64,
    /// Hashes with this remainder, divided by the number of parts.
    pub part: u64,
    /// Number of parts.
    pub parts: u64,
}

/// Hashes of values with their rows, in the order of the hashes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HashedValues(Vec<(u64, u64)>);

/// Values by the hashes that were asked for.
pub type NamedValues = Vec<(u64, FieldValue)>;

/// Hash of a value.
#[must_use]
pub fn value_hash(seed: u64, text: &[u8]) -> u64 {
    FixedState::with_seed(seed).hash_one(text)
}

/// Hash of a text that all programs know, by which they see that they hash alike.
#[must_use]
pub fn probe_hash(seed: u64) -> u64 {
    value_hash(seed, b"rorqual")
}

impl HashedValues {
    /// The pairs.
    #[must_use]
    pub fn pairs(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// Eight bytes of each hash, and its rows by seven bits a byte.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.0.len() * PAIR_BYTES);
        for (hash, hits) in &self.0 {
            bytes.extend_from_slice(&hash.to_le_bytes());
            let mut rest = *hits;
            while rest >= 0x80 {
                bytes.push(rest as u8 | 0x80);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
        bytes
    }

    /// The inverse; `None` of other bytes, of too many rows, or where the hashes are not in order.
    #[must_use]
    pub fn read(mut bytes: &[u8]) -> Option<Self> {
        let mut pairs: Vec<(u64, u64)> = Vec::with_capacity(bytes.len() / (size_of::<u64>() + 1));
        while !bytes.is_empty() {
            let (hash, rest) = bytes.split_first_chunk()?;
            let (hits, rest) = read_number(rest)?;
            let hash = u64::from_le_bytes(*hash);
            let is_after = pairs.last().is_none_or(|(last, _)| *last < hash);
            pairs.push((hash, hits));
            bytes = rest;
            if !is_after || hits == 0 || hits > STORE_ROWS_MAX {
                return None;
            }
        }
        Some(Self(pairs))
    }
}

fn read_number(mut bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some((number, bytes));
        }
    }
    None
}

impl RowStore {
    /// The values with most rows of some fields, as they were at `generation` where that is still
    /// known. Fields that no row has are left out.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn field_tops(
        &self,
        view: &View,
        generation: u64,
        wanted: &[FieldWanted],
        top: usize,
        control: &Control,
    ) -> Result<Vec<FieldTop>, ViewError> {
        self.asked(|| {
            let counted = self.sums_at(view, generation, control)?;
            Ok(wanted.iter().filter_map(|wanted| self.field_top(&counted, wanted, top)).collect())
        })
    }

    fn field_top(&self, counted: &CountedViews, wanted: &FieldWanted, top: usize) -> Option<FieldTop> {
        let page = PanelWanted { search: wanted.search.clone(), offset: 0, limit: 0 };
        let PanelPage { field, distinct, hits, exact, error_max, others, found, .. } =
            self.shown_page(counted, wanted.column, &page)?;
        let is_derived = source(wanted.column).1.is_some();
        let values = self.with_values(counted, wanted, |values, tables, derived| {
            let text = |code: u32| tables.text_of(derived, code);
            let value = |(code, amount): (u32, RowsAndBytes)| value_of(text(code), amount);
            top_values(values, text, top).into_iter().map(value).collect()
        });
        Some(FieldTop {
            field: field.into_owned(),
            title: self.schema().title(wanted.column).into_owned(),
            distinct: distinct.distinct,
            distinct_error: if distinct.exact { 0.0 } else { distinct.error },
            hits,
            exact,
            error_max,
            missing: others.filter(|_| is_derived).map_or(0, |others| others.hits),
            others,
            found,
            values,
        })
    }

    /// The values of a field by their hashes.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn hashed_values(
        &self,
        view: &View,
        generation: u64,
        wanted: &HashesWanted,
        control: &Control,
    ) -> Result<HashedValues, ViewError> {
        let HashesWanted { values, seed, least, part, parts } = wanted;
        let counted = self.asked(|| self.sums_at(view, generation, control))?;
        let mut pairs: Vec<(u64, u64)> = self.with_values(&counted, values, |values, tables, derived| {
            let many = values.filter(|(_, amount)| amount.hits >= *least);
            let hashed = many.map(|(code, amount)| (value_hash(*seed, tables.text_of(derived, code)), amount.hits));
            hashed.filter(|(hash, _)| hash % parts.max(&1) == *part).collect()
        });
        pairs.sort_unstable();
        // Two texts of one hash are one, as in all that goes by hashes.
        pairs.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            kept.1 += if same { later.1 } else { 0 };
            same
        });
        Ok(HashedValues(pairs))
    }

    /// The values of a field that have some hashes.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn named_values(
        &self,
        view: &View,
        generation: u64,
        (column, seed): (TextColumn, u64),
        hashes: &[u64],
        control: &Control,
    ) -> Result<NamedValues, ViewError> {
        let counted = self.asked(|| self.sums_at(view, generation, control))?;
        let wanted: HashMap<u64, ()> = hashes.iter().map(|hash| (*hash, ())).collect();
        let values = FieldWanted { column, search: None };
        Ok(self.with_values(&counted, &values, |values, tables, derived| {
            let named = values.filter_map(|(code, amount)| {
                let text = tables.text_of(derived, code);
                let hash = value_hash(seed, text);
                wanted.contains_key(&hash).then(|| (hash, value_of(text, amount)))
            });
            named.collect()
        }))
    }

    /// Gives the values of a field that have rows in a view, and match its search.
    fn with_values<T>(
        &self,
        counted: &CountedViews,
        wanted: &FieldWanted,
        with: impl FnOnce(&mut dyn Iterator<Item = (u32, RowsAndBytes)>, &DictionaryTables, Option<TextColumn>) -> T,
    ) -> T {
        let (index, derived) = source(wanted.column);
        let tables = self.dictionaries[index].lock();
        let amounts = amounts_of(counted.sums.column(index), &tables, derived);
        let values = amounts.iter().filter(|(code, amount)| amount.hits > 0 && tables.is_value(derived, *code));
        match wanted.search.as_deref().and_then(PanelSearch::new) {
            None => with(&mut { values }, &tables, derived),
            Some(mut search) => {
                let mut found = values.filter(|(code, _)| search.is_in(tables.text_of(derived, *code)));
                with(&mut found, &tables, derived)
            }
        }
    }
}

fn value_of(text: &[u8], RowsAndBytes { hits, bytes }: RowsAndBytes) -> FieldValue {
    FieldValue { text: ValueBytes::new(text), hits, bytes }
}

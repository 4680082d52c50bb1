//! The values of a field, as one store has them.

use crate::columns::source;
use crate::dictionary::DictionaryTables;
use crate::limits::STORE_ROWS_MAX;
use crate::panel_counts::amounts_of;
use crate::panels::PanelSearch;
use crate::sparse_counts::RowsAndBytes;
use crate::store::RowStore;
use crate::top::top_values;
use crate::value_bytes::{NAMED_BYTES_MAX, ValueBytes, shown_start, value_hash};
use crate::view::{PanelPage, PanelWanted, View, ViewError};
use crate::view_cache::CountedViews;
use rorqual_accesslog::report::OtherValues;
use rorqual_accesslog::schema::TextColumn;
use rorqual_pipe::Control;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

/// Bytes of a hash and of a small number of rows.
const PAIR_BYTES: usize = 11;

/// Bytes of a hash and of the smallest number of rows.
const PAIR_BYTES_MIN: usize = size_of::<u64>() + 1;

/// A value with its rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldValue {
    /// The value.
    pub text: ValueBytes,
    /// Its rows.
    pub hits: u64,
    /// The sum of their response sizes.
    pub bytes: u64,
    /// The text is but the start of it, as far as it is shown.
    #[serde(default, skip_serializing_if = "is_false")]
    pub cut: bool,
}

fn is_false(cut: &bool) -> bool {
    !cut
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
        let is_listed = |value: &FieldValue| value.hits > 0 && value.hits <= STORE_ROWS_MAX && !value.cut;
        let sum = self.values.iter().try_fold(0u64, |sum, value| sum.checked_add(value.hits));
        let texts: HashSet<&[u8]> = self.values.iter().map(|value| value.text.as_bytes()).collect();
        [self.distinct, self.hits, self.error_max, self.missing, self.found].iter().all(|number| *number <= STORE_ROWS_MAX)
            && self.others.is_none_or(|others| others.hits <= STORE_ROWS_MAX)
            && self.distinct_error >= 0.0
            && self.values.len() as u64 <= self.found
            && self.values.iter().all(is_listed)
            && sum.is_some_and(|sum| sum <= STORE_ROWS_MAX)
            && texts.len() == self.values.len()
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
    /// Bytes of a part.
    pub bytes_max: usize,
}

/// Hashes of values with their rows, in the order of the hashes: eight bytes of each hash, and its
/// rows by seven bits a byte.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HashedValues(Vec<u8>);

/// Pairs of [`HashedValues`], one after another.
#[derive(Debug, Clone)]
pub(super) struct HashedPairs<'a>(&'a [u8]);

/// Pairs of several [`HashedValues`] in the order of the hashes, with the place of each among them:
/// nothing is held but the next of each.
pub(super) struct MergedPairs<'a> {
    rest: Vec<HashedPairs<'a>>,
    next: BinaryHeap<Reverse<(u64, usize, u64)>>,
}

/// Values by the hashes that were asked for, in the order of these.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedValues {
    values: Vec<(u64, FieldValue)>,
    /// Values with higher hashes had no room.
    more: bool,
}

impl NamedValues {
    /// True if they may be those of these hashes, which are in order, by a seed. The hash of a text
    /// that is cut is that of the whole one.
    #[must_use]
    pub fn is_sound(&self, seed: u64, hashes: &[u64]) -> bool {
        let is_it = |(hash, value): &(u64, FieldValue)| {
            let text = value.text.as_bytes();
            let is_text = if value.cut { text.len() > NAMED_BYTES_MAX } else { *hash == value_hash(seed, text) };
            is_text && (1..=STORE_ROWS_MAX).contains(&value.hits) && hashes.binary_search(hash).is_ok()
        };
        let sum = self.values.iter().try_fold(0u64, |sum, (_, value)| sum.checked_add(value.hits));
        self.values.iter().all(is_it)
            && self.values.is_sorted_by(|(a, _), (b, _)| a < b)
            && sum.is_some_and(|sum| sum <= STORE_ROWS_MAX)
            && !(self.more && self.values.is_empty())
    }

    /// The values with their hashes.
    pub fn iter(&self) -> std::slice::Iter<'_, (u64, FieldValue)> {
        self.values.iter()
    }

    /// Leaves so many, and says that there are more.
    pub fn truncate(&mut self, values: usize) {
        self.more |= self.values.len() > values;
        self.values.truncate(values);
    }

    /// The last hash that was told of, where others had no room.
    #[must_use]
    pub fn cut_after(&self) -> Option<u64> {
        self.values.last().filter(|_| self.more).map(|(hash, _)| *hash)
    }

    /// Leaves those with hashes up to this one.
    pub fn keep_up_to(&mut self, last: u64) {
        let kept = self.values.partition_point(|(hash, _)| *hash <= last);
        self.values.truncate(kept);
    }
}

impl<'a> IntoIterator for &'a NamedValues {
    type Item = &'a (u64, FieldValue);
    type IntoIter = std::slice::Iter<'a, (u64, FieldValue)>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl FromIterator<(u64, FieldValue)> for NamedValues {
    /// Two texts of one hash are one, as in all that goes by hashes.
    fn from_iter<T: IntoIterator<Item = (u64, FieldValue)>>(values: T) -> Self {
        let mut values: Vec<(u64, FieldValue)> = values.into_iter().collect();
        values.sort_by_key(|(hash, _)| *hash);
        values.dedup_by(|(later, value), (kept, all)| {
            let same = later == kept;
            if same {
                all.hits = all.hits.saturating_add(value.hits);
                all.bytes = all.bytes.saturating_add(value.bytes);
            }
            same
        });
        Self { values, more: false }
    }
}

impl HashedValues {
    /// Of pairs in the order of their hashes.
    fn new(pairs: &[(u64, u64)]) -> Self {
        let mut bytes = Vec::with_capacity(pairs.len() * PAIR_BYTES);
        for (hash, hits) in pairs {
            bytes.extend_from_slice(&hash.to_le_bytes());
            write_number(&mut bytes, *hits);
        }
        Self(bytes)
    }

    /// The pairs.
    pub(super) fn pairs(&self) -> HashedPairs<'_> {
        HashedPairs(&self.0)
    }

    /// True if they may be of this part of so many, with so many rows at least.
    #[must_use]
    pub fn is_part(&self, least: u64, part: u64, parts: u64) -> bool {
        self.pairs().all(|(hash, hits)| hash % parts.max(1) == part && hits >= least)
    }

    /// The bytes, for another process.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// The inverse; `None` of other bytes, of too many rows, or where the hashes are not in order.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let (mut pairs, mut last) = (HashedPairs(bytes), None);
        while !pairs.0.is_empty() {
            let (hash, hits) = pairs.next()?;
            if last.is_some_and(|last| last >= hash) || hits == 0 || hits > STORE_ROWS_MAX {
                return None;
            }
            last = Some(hash);
        }
        Some(Self(bytes.to_vec()))
    }
}

impl Iterator for HashedPairs<'_> {
    type Item = (u64, u64);

    fn next(&mut self) -> Option<(u64, u64)> {
        let (hash, rest) = self.0.split_first_chunk()?;
        let (hits, rest) = read_number(rest)?;
        self.0 = rest;
        Some((u64::from_le_bytes(*hash), hits))
    }
}

impl<'a> MergedPairs<'a> {
    pub(super) fn new(of: impl Iterator<Item = &'a HashedValues>) -> Self {
        let mut merged = Self { rest: of.map(HashedValues::pairs).collect(), next: BinaryHeap::new() };
        (0..merged.rest.len()).for_each(|place| merged.advance(place));
        merged
    }

    fn advance(&mut self, place: usize) {
        let next = self.rest[place].next();
        self.next.extend(next.map(|(hash, hits)| Reverse((hash, place, hits))));
    }
}

impl Iterator for MergedPairs<'_> {
    /// Hash, place and rows.
    type Item = (u64, usize, u64);

    fn next(&mut self) -> Option<Self::Item> {
        let Reverse(found) = self.next.pop()?;
        self.advance(found.1);
        Some(found)
    }
}

/// Writes a number by seven bits a byte, the lowest first.
pub(super) fn write_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The inverse, and the bytes after it; `None` where they end too early.
pub(super) fn read_number(mut bytes: &[u8]) -> Option<(u64, &[u8])> {
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

    /// The values of a field by their hashes; `None` where they are more than a part has room for.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn hashed_values(
        &self,
        view: &View,
        generation: u64,
        wanted: &HashesWanted,
        control: &Control,
    ) -> Result<Option<HashedValues>, ViewError> {
        let HashesWanted { values, seed, least, part, parts, bytes_max } = wanted;
        let pairs_max = bytes_max / PAIR_BYTES_MIN;
        let counted = self.asked(|| self.sums_at(view, generation, control))?;
        let mut pairs: Vec<(u64, u64)> = self.with_values(&counted, values, |values, tables, derived| {
            let many = values.filter(|(_, amount)| amount.hits >= *least);
            let hashed = many.map(|(code, amount)| (value_hash(*seed, tables.text_of(derived, code)), amount.hits));
            hashed.filter(|(hash, _)| hash % parts.max(&1) == *part).take(pairs_max + 1).collect()
        });
        if pairs.len() > pairs_max {
            return Ok(None);
        }
        pairs.sort_unstable();
        // Two texts of one hash are one, as in all that goes by hashes.
        pairs.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            kept.1 += if same { later.1 } else { 0 };
            same
        });
        Ok(Some(HashedValues::new(&pairs)))
    }

    /// The values of a field that have some hashes. Texts that are too long to show are cut.
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
        let wanted: HashSet<u64> = hashes.iter().copied().collect();
        let values = FieldWanted { column, search: None };
        Ok(self.with_values(&counted, &values, |values, tables, derived| {
            let named = values.filter_map(|(code, amount)| {
                let text = tables.text_of(derived, code);
                let hash = value_hash(seed, text);
                let start = shown_start(text);
                let cut = start.len() < text.len();
                wanted.contains(&hash).then(|| (hash, FieldValue { cut, ..value_of(start, amount) }))
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
    FieldValue { text: ValueBytes::new(text), hits, bytes, cut: false }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rorqual_accesslog::report::shown_value;

    fn value(text: &[u8], hits: u64) -> FieldValue {
        value_of(text, RowsAndBytes { hits, bytes: 0 })
    }

    #[test]
    fn the_start_of_a_text_is_shown_as_all_of_it() {
        for length in NAMED_BYTES_MAX - 4..NAMED_BYTES_MAX + 9 {
            for text in ["a".repeat(length), format!("{}{}", "a".repeat(length % 4), "😀".repeat(length / 4))] {
                let start = shown_start(text.as_bytes());
                assert_eq!(shown_value(start), shown_value(text.as_bytes()), "{length}");
                assert!(std::str::from_utf8(start).is_ok() && start.len() <= NAMED_BYTES_MAX + 4);
            }
        }
    }

    #[test]
    fn foreign_values_by_their_hashes_are_refused() {
        let hash = |text: &[u8]| value_hash(7, text);
        let of = |texts: &[&[u8]]| texts.iter().map(|text| (hash(text), value(text, 3))).collect::<NamedValues>();
        let mut asked = [hash(b"a"), hash(b"b")];
        asked.sort_unstable();
        let good = of(&[b"a", b"b"]);
        assert!(good.is_sound(7, &asked) && NamedValues::default().is_sound(7, &asked));
        assert_eq!(of(&[b"a", b"a"]).values[0].1.hits, 6, "each once");
        assert!(!of(&[b"c"]).is_sound(7, &asked) && !good.is_sound(8, &asked));
        let twice = NamedValues { values: vec![good.values[0].clone(); 2], more: false };
        assert!(!twice.is_sound(7, &asked));
        assert!(!NamedValues { values: Vec::new(), more: true }.is_sound(7, &asked));
        let mut short = good.clone();
        short.values[0].1.cut = true;
        assert!(!short.is_sound(7, &asked), "a short text is not cut");
        let mut many = good.clone();
        many.values.iter_mut().for_each(|(_, value)| value.hits = STORE_ROWS_MAX);
        assert!(!many.is_sound(7, &asked));
        // A part without room says how far it goes.
        let mut part = good.clone();
        part.truncate(1);
        assert_eq!((part.cut_after(), good.cut_after()), (Some(asked[0]), None));
        let mut all = good;
        all.keep_up_to(asked[0]);
        assert_eq!(all.values, part.values);
    }

    #[test]
    fn a_value_is_a_text_or_a_list_of_bytes_and_nothing_else() {
        for text in [&b"a\"\n"[..], "\u{e9}".as_bytes(), b"\xff\0a", b""] {
            let json = serde_json::to_string(&ValueBytes::new(text)).expect("JSON");
            assert_eq!(serde_json::from_str::<ValueBytes>(&json).expect(&json), ValueBytes::new(text));
        }
        for bad in ["[256]", "[-1]", "[[]]", "7", "null", "{}"] {
            assert!(serde_json::from_str::<ValueBytes>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn pairs_of_several_come_in_the_order_of_their_hashes() {
        let parts = [HashedValues::new(&[(1, 5), (9, 200)]), HashedValues::new(&[]), HashedValues::new(&[(1, 7), (4, 1)])];
        let merged: Vec<(u64, usize, u64)> = MergedPairs::new(parts.iter()).collect();
        assert_eq!(merged, [(1, 0, 5), (1, 2, 7), (4, 2, 1), (9, 0, 200)]);
    }

    #[test]
    fn first_values_come_once_and_fit_a_store() {
        let top = |values: Vec<FieldValue>| FieldTop {
            field: "path".to_owned(),
            title: String::new(),
            distinct: 9,
            distinct_error: 0.0,
            hits: 9,
            exact: true,
            error_max: 0,
            missing: 0,
            others: None,
            found: 9,
            values,
        };
        assert!(top(vec![value(b"a", 2), value(b"b", 2)]).is_sound());
        assert!(!top(vec![value(b"a", 2), value(b"a", 2)]).is_sound());
        assert!(!top(vec![value(b"a", STORE_ROWS_MAX), value(b"b", STORE_ROWS_MAX)]).is_sound());
    }
}

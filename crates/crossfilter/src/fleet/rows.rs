//! Rows of several stores in one order: each tells the keys of its first rows, of which the merge
//! says whose rows come where.

use crate::limits::STORE_ROWS_MAX;
use crate::row_order::RowOrder;
use crate::store::RowStore;
use crate::value_bytes::ValueBytes;
use crate::view::{View, ViewError};
use rorqual_pipe::Control;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::ops::Range;

/// Bytes of a text by which rows of different stores are ordered.
pub(crate) const KEY_BYTES_MAX: usize = 40;

/// The value that a row is ordered by, for other stores.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RowKey {
    /// A number in steps, or a status.
    Number(u64),
    /// A text.
    Text(ValueBytes),
    /// The start of a longer text.
    Start(ValueBytes),
    /// It is in no memory.
    Unknown,
    /// There is none.
    Absent,
}

/// The first rows of a store in an order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowKeys {
    /// Rows of the view.
    pub total: u64,
    /// No other rows may come before.
    pub exact: bool,
    /// Of the first rows, in their order.
    pub keys: Vec<RowKey>,
}

/// Rows of several stores, merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RowMerge {
    /// For each store, its rows before the first one.
    pub before: Vec<usize>,
    /// The store of each row.
    pub stores: Vec<usize>,
    /// The rows are in their order as far as the stores' are.
    pub exact: bool,
}

impl RowKey {
    fn rank(&self) -> u8 {
        match self {
            Self::Number(_) | Self::Text(_) | Self::Start(_) => 0,
            Self::Unknown => 1,
            Self::Absent => 2,
        }
    }

    fn text(&self) -> Option<&[u8]> {
        match self {
            Self::Text(text) | Self::Start(text) => Some(text.as_bytes()),
            _ => None,
        }
    }
}

/// Order of two keys, by which rows without a value come last in both directions.
fn compare(a: &RowKey, b: &RowKey, descending: bool) -> Ordering {
    let turned = |order: Ordering| if descending { order.reverse() } else { order };
    match (a, b) {
        (RowKey::Number(a), RowKey::Number(b)) => turned(a.cmp(b)),
        (a, b) if a.text().is_some() && b.text().is_some() => turned(a.text().cmp(&b.text())),
        (a, b) => a.rank().cmp(&b.rank()),
    }
}

impl RowKeys {
    /// True if they may be those of a store's first `end` rows, in order.
    #[must_use]
    pub fn is_sound(&self, end: usize, descending: bool) -> bool {
        let is_before = |pair: &[RowKey]| compare(&pair[0], &pair[1], descending).is_le();
        self.keys.len() <= end
            && self.keys.len() as u64 <= self.total
            && self.total <= STORE_ROWS_MAX
            && self.keys.windows(2).all(is_before)
    }

    /// True if there are keys after these, of the first `end` rows.
    #[must_use]
    pub fn has_more(&self, end: usize) -> bool {
        self.keys.len() < end && (self.keys.len() as u64) < self.total
    }

    /// Adds the keys of the rows after these. Where rows came meanwhile their order is not sure.
    pub fn append(&mut self, later: Self, descending: bool) {
        let is_before = match (self.keys.last(), later.keys.first()) {
            (Some(last), Some(first)) => compare(last, first, descending).is_le(),
            _ => true,
        };
        self.exact &= later.exact && is_before && self.total == later.total;
        self.keys.extend(later.keys);
    }
}

impl RowMerge {
    /// The rows from the `offset`th on, at most `limit`; `None` where a store did not tell as many
    /// as that takes.
    #[must_use]
    pub fn new(stores: &[RowKeys], descending: bool, offset: usize, limit: usize) -> Option<Self> {
        let mut at = vec![0; stores.len()];
        let mut merge = Self { before: at.clone(), stores: Vec::new(), exact: stores.iter().all(|store| store.exact) };
        for row in 0..offset.saturating_add(limit) {
            if row == offset {
                merge.before.clone_from(&at);
            }
            let lacks = |store: usize| at[store] >= stores[store].keys.len() && (at[store] as u64) < stores[store].total;
            if (0..stores.len()).any(lacks) {
                return None;
            }
            let key = |store: &usize| &stores[*store].keys[at[*store]];
            let with_rows = (0..stores.len()).filter(|store| at[*store] < stores[*store].keys.len());
            // The first of several that are equal.
            let Some(next) = with_rows.clone().min_by(|a, b| compare(key(a), key(b), descending)) else { break };
            let differs_later = |other: usize| {
                other != next && matches!(key(&other), RowKey::Start(_)) && key(&other).text() == key(&next).text()
            };
            merge.exact &= !with_rows.clone().any(differs_later);
            at[next] += 1;
            if row >= offset {
                merge.stores.push(next);
            }
        }
        if limit == 0 || merge.stores.is_empty() {
            merge.before = at;
        }
        Some(merge)
    }

    /// Rows of a store among these.
    #[must_use]
    pub fn count(&self, store: usize) -> usize {
        self.stores.iter().filter(|of| **of == store).count()
    }
}

impl RowStore {
    /// Keys of rows of a view in an order.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn row_keys(
        &self,
        (view, order): (&View, RowOrder),
        rows: Range<usize>,
        control: &Control,
    ) -> Result<RowKeys, ViewError> {
        let (total, exact, keys) = self.ordered_keys((view, order), rows, control)?;
        Ok(RowKeys { total, exact, keys })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(numbers: &[u64], total: u64) -> RowKeys {
        let absent = (numbers.len() as u64..total).map(|_| RowKey::Absent);
        RowKeys { total, exact: true, keys: numbers.iter().map(|number| RowKey::Number(*number)).chain(absent).collect() }
    }

    #[test]
    fn rows_are_merged_in_order_and_those_without_a_value_come_last() {
        let stores = [keys(&[1, 4, 4, 9], 6), keys(&[2, 4], 2), keys(&[], 0)];
        let all = RowMerge::new(&stores, false, 0, 100).expect("all are told");
        assert_eq!(all, RowMerge { before: vec![0, 0, 0], stores: vec![0, 1, 0, 0, 1, 0, 0, 0], exact: true });
        for offset in 0..10 {
            let part = RowMerge::new(&stores, false, offset, 3).expect("all are told");
            assert_eq!(part.stores, all.stores[offset.min(8)..(offset + 3).min(8)]);
            let before = |store: usize| all.stores[..offset.min(8)].iter().filter(|of| **of == store).count();
            assert_eq!(part.before, [before(0), before(1), before(2)], "{offset}");
        }
        let down = RowMerge::new(&[keys(&[9, 1], 3), keys(&[5], 2)], true, 1, 9).expect("all are told");
        assert_eq!((down.before, down.stores), (vec![1, 0], vec![1, 0, 0, 1]));
        let cut = [RowKeys { total: 9, ..keys(&[1, 2], 2) }, keys(&[3], 1)];
        assert!(RowMerge::new(&cut, false, 0, 2).is_some() && RowMerge::new(&cut, false, 0, 3).is_none());
    }

    #[test]
    fn keys_of_two_parts_are_in_sure_order_where_nothing_came_between() {
        let part = |numbers: &[u64], total| RowKeys { total, ..keys(numbers, 0) };
        for (later, exact) in [(part(&[4, 5], 4), true), (part(&[3, 5], 4), false), (part(&[4, 5], 5), false)] {
            let mut all = part(&[1, 4], 4);
            assert!(all.has_more(4) && !all.has_more(2));
            all.append(later, false);
            assert_eq!((all.keys.len(), all.exact, all.has_more(9)), (4, exact, false));
        }
    }

    #[test]
    fn texts_that_are_the_same_as_far_as_they_are_told_are_in_no_sure_order() {
        let text = |start: bool| {
            let text = ValueBytes::Text("a".to_owned());
            RowKeys { total: 1, exact: true, keys: vec![if start { RowKey::Start(text) } else { RowKey::Text(text) }] }
        };
        assert!(RowMerge::new(&[text(false), text(false)], false, 0, 2).expect("told").exact);
        assert!(!RowMerge::new(&[text(false), text(true)], false, 0, 2).expect("told").exact);
        assert!(!RowMerge::new(&[text(true), text(true)], false, 0, 2).expect("told").exact);
    }
}

//! Two views of several stores side by side.

use super::sums::{NumberPart, ViewSums};
use super::values::{FieldValue, HashedValues, NamedValues};
use crate::compare::{ComparedPanel, ComparedRow, compared_measures, compared_numbers, share_difference};
use crate::number_spread::NumberSpread;
use crate::view::{STATUS_FIELD, STATUS_TITLE};
use rorqual_accesslog::report::{StatusRow, shown_value};
use rorqual_accesslog::schema::{NumberUnit, Schema};
use std::collections::BTreeMap;

/// Values of which the rows of both views are asked for by name, beside those that are listed.
const SPARE: usize = 2_000;

/// Values of a field in two views of so many rows, by their hashes.
#[derive(Debug)]
pub struct HashCompare {
    rows: [u64; 2],
    count: usize,
    /// Hashes, and rows in both views.
    candidates: Vec<(u64, [u64; 2])>,
    cut: bool,
}

impl HashCompare {
    /// For the `count` values whose shares differ most.
    #[must_use]
    pub fn new(rows: [u64; 2], count: usize) -> Self {
        Self { rows, count, candidates: Vec::new(), cut: false }
    }

    /// Adds one part of all stores, of both views.
    pub fn add(&mut self, parts: [&[HashedValues]; 2]) {
        let mut pairs: Vec<(u64, [u64; 2])> = Vec::new();
        for (side, part) in parts.into_iter().enumerate() {
            let hits = |hits: u64| if side == 0 { [hits, 0] } else { [0, hits] };
            pairs.extend(part.iter().flat_map(HashedValues::pairs).map(|(hash, rows)| (*hash, hits(*rows))));
        }
        pairs.sort_unstable_by_key(|(hash, _)| *hash);
        for same in pairs.chunk_by(|a, b| a.0 == b.0) {
            let hits = same.iter().fold([0u64; 2], |sum, (_, hits)| [0, 1].map(|side| sum[side].saturating_add(hits[side])));
            self.candidates.push((same[0].0, hits));
        }
        self.prune();
    }

    fn prune(&mut self) {
        let rows = self.rows;
        let key = |(_, hits): &(u64, [u64; 2])| (share_difference(*hits, rows).abs(), hits[0].saturating_add(hits[1]));
        self.candidates.sort_by(|x, y| key(y).0.total_cmp(&key(x).0).then_with(|| key(y).1.cmp(&key(x).1)));
        let Some(last) = self.count.checked_sub(1).and_then(|last| self.candidates.get(last)).map(key) else {
            return self.candidates.truncate(self.count);
        };
        // Those that are equal are told apart by their texts.
        let equal = self.candidates.iter().skip(self.count).take_while(|candidate| key(candidate) == last).count();
        self.cut |= equal > SPARE;
        self.candidates.truncate(self.count + equal.min(SPARE));
    }

    /// Hashes of the values that may be listed, in order.
    #[must_use]
    pub fn candidates(&self) -> Vec<u64> {
        let mut hashes: Vec<u64> = self.candidates.iter().map(|(hash, _)| *hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }

    /// True if no other value may be listed.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        !self.cut
    }

    /// The values whose shares differ most, of those that stores named in both views.
    #[must_use]
    pub fn rows(&self, named: [&[NamedValues]; 2]) -> Vec<ComparedRow> {
        let mut values: BTreeMap<u64, (&FieldValue, [[u64; 2]; 2])> = BTreeMap::new();
        for (side, named) in named.into_iter().enumerate() {
            for (hash, value) in named.iter().flatten() {
                let (text, [hits, bytes]) = values.entry(*hash).or_insert((value, [[0; 2]; 2]));
                // A whole text is one that its hash vouches for.
                if text.cut && !value.cut {
                    *text = value;
                }
                hits[side] = hits[side].saturating_add(value.hits);
                bytes[side] = bytes[side].saturating_add(value.bytes);
            }
        }
        let texts = values.into_values().map(|(value, amounts)| (value.text.as_bytes(), amounts));
        let rows = texts.map(|(text, amounts)| (text, shown_value(text), amounts));
        listed(rows.collect(), self.rows, self.count)
    }
}

/// The rows that differ most, ties by hits and then by name.
fn listed<N: Ord>(mut values: Vec<(N, String, [[u64; 2]; 2])>, rows: [u64; 2], count: usize) -> Vec<ComparedRow> {
    values.sort_by(|(name_x, _, [x, _]), (name_y, _, [y, _])| {
        let by_share = share_difference(*y, rows).abs().total_cmp(&share_difference(*x, rows).abs());
        by_share.then_with(|| y[0].saturating_add(y[1]).cmp(&x[0].saturating_add(x[1]))).then_with(|| name_x.cmp(name_y))
    });
    let row = |(_, value, [hits, bytes]): (N, String, [[u64; 2]; 2])| ComparedRow {
        value,
        hits_a: hits[0],
        hits_b: hits[1],
        bytes_a: bytes[0],
        bytes_b: bytes[1],
        share_difference: share_difference(hits, rows),
    };
    values.into_iter().take(count).map(row).collect()
}

impl ViewSums {
    /// Statuses of this view and another one.
    #[must_use]
    pub fn compared_status(&self, other: &Self, top: usize) -> ComparedPanel {
        let mut values: BTreeMap<u16, [[u64; 2]; 2]> = BTreeMap::new();
        for (side, rows) in [self.status_rows(), other.status_rows()].into_iter().enumerate() {
            let numbered = |row: &StatusRow| Some((row.value.parse().ok()?, row.hits, row.bytes));
            for (status, hits, bytes) in rows.iter().filter_map(numbered) {
                let amounts: &mut [[u64; 2]; 2] = values.entry(status).or_default();
                amounts[0][side] = amounts[0][side].saturating_add(hits);
                amounts[1][side] = amounts[1][side].saturating_add(bytes);
            }
        }
        let values = values.into_iter().map(|(status, amounts)| (status, status.to_string(), amounts)).collect();
        let rows = listed(values, [self.lines().total, other.lines().total], top);
        ComparedPanel { field: STATUS_FIELD.into(), title: STATUS_TITLE.into(), rows }
    }

    /// Durations and sizes of this view and another one.
    #[must_use]
    pub fn compared_measures(&self, other: &Self, top: usize) -> Vec<ComparedPanel> {
        let rows = [self.lines().total, other.lines().total];
        compared_measures(Schema::access_log(), [self.spreads(), other.spreads()], rows, top)
    }
}

impl NumberPart {
    /// Numbers of a column in two views of so many rows.
    #[must_use]
    pub fn compared(field: &str, unit: NumberUnit, [a, b]: [Option<&Self>; 2], rows: [u64; 2], top: usize) -> ComparedPanel {
        let none = NumberSpread::default();
        let [a, b] = [a, b].map(|part| part.map_or(&none, Self::spread));
        compared_numbers(field.to_owned().into(), unit, [a, b], rows, top)
    }
}

//! Two views of several stores side by side.

use super::sums::{NumberPart, ViewSums};
use super::values::{FieldValue, HashedValues, MergedPairs, NamedValues};
use crate::compare::{ComparedPanel, ComparedRow, ComparedRows, Rank, by_rank, compared_measures, compared_numbers};
use crate::number_spread::NumberSpread;
use crate::statuses::{STATUS_FIELD, STATUS_TITLE};
use rorqual_accesslog::report::{StatusRow, shown_value};
use rorqual_accesslog::schema::{NumberUnit, Schema};
use std::collections::BTreeMap;

/// Values of which the rows of both views are asked for by name, beside those that are listed.
const SPARE: usize = 2_000;

/// Values of a field in two views of so many rows, by their hashes.
#[derive(Debug)]
pub struct HashCompare {
    rows: ComparedRows,
    count: usize,
    /// Rank, and hash.
    candidates: Vec<(Rank, u64)>,
    /// The last rank that may be listed; values after it are not held.
    least: Option<Rank>,
    /// The rank up to which values were left out that may be listed.
    cut: Option<Rank>,
    /// Values that differ most significantly, with their texts.
    named: Vec<ComparedValue>,
}

/// Rank, text, rows in both views, and bytes in both.
type ComparedValue = (Rank, Vec<u8>, [[u64; 2]; 2]);

impl HashCompare {
    /// For the `count` values whose shares differ most significantly.
    #[must_use]
    pub fn new(rows: ComparedRows, count: usize) -> Self {
        Self { rows, count, candidates: Vec::new(), least: None, cut: None, named: Vec::new() }
    }

    /// Adds one part of all stores, of both views.
    pub fn add(&mut self, parts: [&[HashedValues]; 2]) {
        let stores = parts[0].len();
        let side = |place: usize| usize::from(place >= stores);
        let mut pairs = MergedPairs::new(parts.into_iter().flatten()).peekable();
        while let Some((hash, place, first)) = pairs.next() {
            let mut hits = [0u64; 2];
            hits[side(place)] = first;
            while let Some((_, place, more)) = pairs.next_if(|(other, ..)| *other == hash) {
                hits[side(place)] = hits[side(place)].saturating_add(more);
            }
            let rank = self.rows.rank(hits);
            if self.least.is_some_and(|least| by_rank(&rank, &least).is_gt()) {
                continue;
            }
            self.candidates.push((rank, hash));
            if self.candidates.len() > 4 * (self.count + SPARE) {
                self.prune();
            }
        }
        self.prune();
    }

    fn prune(&mut self) {
        self.candidates.sort_unstable_by(|(x, _), (y, _)| by_rank(x, y));
        let Some((last, _)) = self.count.checked_sub(1).and_then(|last| self.candidates.get(last)).copied() else {
            return self.candidates.truncate(self.count);
        };
        // Those that are equal are told apart by their texts.
        let equal = self.candidates.iter().skip(self.count).take_while(|(rank, _)| *rank == last).count();
        if equal > SPARE {
            let most = self.cut.filter(|cut| by_rank(cut, &last).is_lt());
            self.cut = Some(most.unwrap_or(last));
        }
        self.candidates.truncate(self.count + equal.min(SPARE));
        self.least = Some(last);
    }

    /// Hashes of the values that may be listed, in order.
    #[must_use]
    pub fn candidates(&self) -> Vec<u64> {
        let mut hashes: Vec<u64> = self.candidates.iter().map(|(_, hash)| *hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes
    }

    /// True if no other value may be listed.
    #[must_use]
    pub fn is_sure(&self) -> bool {
        let last = self.count.checked_sub(1).and_then(|last| self.candidates.get(last));
        let above = |cut: &Rank| last.is_some_and(|(rank, _)| by_rank(rank, cut).is_lt());
        self.cut.as_ref().is_none_or(above)
    }

    /// Adds the values of some hashes that stores named in both views; each comes once.
    pub fn add_named(&mut self, named: [&[NamedValues]; 2]) {
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
        let rows = self.rows;
        let ranked =
            |(value, amounts): (&FieldValue, [[u64; 2]; 2])| (rows.rank(amounts[0]), value.text.as_bytes().to_vec(), amounts);
        self.named.extend(values.into_values().map(ranked));
        self.named.sort_by(|(x, a, _), (y, b, _)| by_rank(x, y).then_with(|| a.cmp(b)));
        self.named.truncate(self.count);
    }

    /// The values whose shares differ most significantly, of those that were named.
    #[must_use]
    pub fn rows(self) -> Vec<ComparedRow> {
        let row = |(_, text, [hits, bytes]): ComparedValue| self.rows.row(shown_value(&text), hits, bytes);
        self.named.into_iter().map(row).collect()
    }
}

impl ViewSums {
    /// Statuses of this view and another one.
    #[must_use]
    pub fn compared_status(&self, other: &Self, rows: ComparedRows, top: usize) -> ComparedPanel {
        let mut values: BTreeMap<u16, [[u64; 2]; 2]> = BTreeMap::new();
        for (side, rows) in [self.status_rows(), other.status_rows()].into_iter().enumerate() {
            let numbered = |row: &StatusRow| Some((row.value.parse().ok()?, row.hits, row.bytes));
            for (status, hits, bytes) in rows.iter().filter_map(numbered) {
                let amounts: &mut [[u64; 2]; 2] = values.entry(status).or_default();
                amounts[0][side] = amounts[0][side].saturating_add(hits);
                amounts[1][side] = amounts[1][side].saturating_add(bytes);
            }
        }
        let mut values: Vec<_> = values.into_iter().map(|(status, amounts)| (rows.rank(amounts[0]), status, amounts)).collect();
        values.sort_by(|(x, a, _), (y, b, _)| by_rank(x, y).then_with(|| a.cmp(b)));
        let row = |(_, status, [hits, bytes]): (Rank, u16, [[u64; 2]; 2])| rows.row(status.to_string(), hits, bytes);
        let rows = values.into_iter().take(top).map(row).collect();
        ComparedPanel { field: STATUS_FIELD.into(), title: STATUS_TITLE.into(), rows }
    }

    /// Durations and sizes of this view and another one.
    #[must_use]
    pub fn compared_measures(&self, other: &Self, rows: ComparedRows, top: usize) -> Vec<ComparedPanel> {
        compared_measures(Schema::access_log(), [self.spreads(), other.spreads()], rows, top)
    }
}

impl NumberPart {
    /// Numbers of a column in two views of so many rows.
    #[must_use]
    pub fn compared(field: &str, unit: NumberUnit, [a, b]: [Option<&Self>; 2], rows: ComparedRows, top: usize) -> ComparedPanel {
        let none = NumberSpread::default();
        let [a, b] = [a, b].map(|part| part.map_or(&none, Self::spread));
        compared_numbers(field.to_owned().into(), unit, [a, b], rows, top)
    }
}

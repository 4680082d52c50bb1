//! Two views of several stores side by side.

use super::sums::{NumberPart, ViewSums};
use super::values::{FieldValue, HashedValues, MergedPairs, NamedValues};
use crate::compare::{ComparedPanel, ComparedRow, compared_measures, compared_numbers, share_difference};
use crate::number_spread::NumberSpread;
use crate::statuses::{STATUS_FIELD, STATUS_TITLE};
use rorqual_accesslog::report::{StatusRow, shown_value};
use rorqual_accesslog::schema::{NumberUnit, Schema};
use std::cmp::Ordering;
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
    /// The difference up to which values were left out that may be listed.
    cut: Option<Difference>,
    /// Values that differ most, with their texts.
    named: Vec<ComparedValue>,
}

/// Difference of a value's shares, and its rows, by which values are listed.
type Difference = (f64, u64);

/// Text, rows in both views, and bytes in both.
type ComparedValue = (Vec<u8>, [[u64; 2]; 2]);

fn difference(hits: [u64; 2], rows: [u64; 2]) -> Difference {
    (share_difference(hits, rows).abs(), hits[0].saturating_add(hits[1]))
}

/// Larger differences first.
fn by_difference(a: &Difference, b: &Difference) -> Ordering {
    b.0.total_cmp(&a.0).then_with(|| b.1.cmp(&a.1))
}

impl HashCompare {
    /// For the `count` values whose shares differ most.
    #[must_use]
    pub fn new(rows: [u64; 2], count: usize) -> Self {
        Self { rows, count, candidates: Vec::new(), cut: None, named: Vec::new() }
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
            self.candidates.push((hash, hits));
            if self.candidates.len() > 4 * (self.count + SPARE) {
                self.prune();
            }
        }
        self.prune();
    }

    fn prune(&mut self) {
        let rows = self.rows;
        let key = |(_, hits): &(u64, [u64; 2])| difference(*hits, rows);
        self.candidates.sort_by(|x, y| by_difference(&key(x), &key(y)));
        let Some(last) = self.count.checked_sub(1).and_then(|last| self.candidates.get(last)).map(key) else {
            return self.candidates.truncate(self.count);
        };
        // Those that are equal are told apart by their texts.
        let equal = self.candidates.iter().skip(self.count).take_while(|candidate| key(candidate) == last).count();
        if equal > SPARE {
            let most = self.cut.filter(|cut| by_difference(cut, &last).is_lt());
            self.cut = Some(most.unwrap_or(last));
        }
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
        let last = self.count.checked_sub(1).and_then(|last| self.candidates.get(last));
        let above = |cut: &Difference| last.is_some_and(|(_, hits)| by_difference(&difference(*hits, self.rows), cut).is_lt());
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
        self.named.extend(values.into_values().map(|(value, amounts)| (value.text.as_bytes().to_vec(), amounts)));
        let rows = self.rows;
        let key = |hits: [u64; 2]| difference(hits, rows);
        self.named.sort_by(|(a, [x, _]), (b, [y, _])| by_difference(&key(*x), &key(*y)).then_with(|| a.cmp(b)));
        self.named.truncate(self.count);
    }

    /// The values whose shares differ most, of those that were named.
    #[must_use]
    pub fn rows(self) -> Vec<ComparedRow> {
        let row = |(text, amounts): ComparedValue| {
            let shown = shown_value(&text);
            (text, shown, amounts)
        };
        listed(self.named.into_iter().map(row).collect(), self.rows, self.count)
    }
}

/// The rows that differ most, ties by hits and then by name.
fn listed<N: Ord>(mut values: Vec<(N, String, [[u64; 2]; 2])>, rows: [u64; 2], count: usize) -> Vec<ComparedRow> {
    values.sort_by(|(name_x, _, [x, _]), (name_y, _, [y, _])| {
        by_difference(&difference(*x, rows), &difference(*y, rows)).then_with(|| name_x.cmp(name_y))
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

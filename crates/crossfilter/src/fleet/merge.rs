//! The values of a field with most rows in all stores together, and their number.
//!
//! Each store lists its first values (P. Cao and Z. Wang, "Efficient top-K query calculation in
//! distributed networks", PODC 2004). A value with as many rows as the last one wanted has, in some
//! store, at least that number divided by the stores. So one more round asks for the values with so
//! many rows, by their hashes, and another one for the few that may be listed: the table is exact
//! where those of the stores are. Where a store has few values the round asks for all of them, and
//! tells their number, too.

use super::values::{FieldTop, FieldValue, HashedValues, MergedPairs, NamedValues};
use crate::series_text::SeriesText;
use crate::view::PanelPage;
use rorqual_accesslog::report::{Distinct, OtherValues, ReportRow, shown_value};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Values of a store that are all looked at by their hashes.
const WHOLE_VALUES_MAX: u64 = 1 << 18;

/// Values of a store in one answer, about.
const PART_VALUES: u64 = 40_000;

/// Parts that are asked for at most.
const PARTS_MAX: u64 = 16;

/// Values of which the rows of all stores are asked for by name.
const CANDIDATES_MAX: usize = 2_000;

/// The first values of a field in all stores that have it.
#[derive(Debug, Clone, Default)]
pub struct FieldMerge {
    tops: Vec<FieldTop>,
}

/// The round that asks for values by their hashes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashPlan {
    /// Fewest rows of a value in a store.
    pub least: u64,
    /// Parts of the hashes, which are asked for one after another.
    pub parts: u64,
    /// Parts with which the number of all values is estimated; the first of them is asked for with
    /// one row at least. `None` where this round has all values.
    pub sampled: Option<u64>,
}

/// Values of all stores by their hashes.
#[derive(Debug)]
pub struct HashMerge {
    stores: u64,
    least: u64,
    count: usize,
    /// Most and fewest rows, and the hash.
    candidates: Vec<(u64, u64, u64)>,
    /// Most rows of a value that is no candidate though it may be listed.
    cut: u64,
    distinct: u64,
    sampled: Option<(u64, u64)>,
}

/// Values that were asked for by name, of all stores: as many of the first as are wanted.
#[derive(Debug, Default)]
pub struct NamedMerge {
    count: usize,
    /// Text, rows, and the hash where the text is cut.
    values: Vec<(Vec<u8>, FleetValue, Option<u64>)>,
}

/// A value in all stores.
#[derive(Debug, Clone, Default)]
struct FleetValue {
    hits: u64,
    bytes: u64,
    missing: u64,
    /// Stores that listed it.
    stores: Vec<usize>,
}

impl FieldMerge {
    /// Tops of one field, of different stores; `None` where no store has it.
    #[must_use]
    pub fn new(tops: Vec<FieldTop>) -> Option<Self> {
        (!tops.is_empty()).then_some(Self { tops })
    }

    /// Name of the field, and its title.
    #[must_use]
    pub fn names(&self) -> (&str, &str) {
        self.tops.first().map_or(("", ""), |top| (&top.field, &top.title))
    }

    /// The page of a field that no store has.
    #[must_use]
    pub fn page_named(&self, field: &str) -> PanelPage {
        PanelPage { field: field.to_owned().into(), ..self.page(0, 0) }
    }

    /// The round that finds its first `count` values; `None` where all values are listed.
    #[must_use]
    pub fn plan(&self, count: usize) -> Option<HashPlan> {
        if !self.tops.iter().any(FieldTop::has_more) {
            return None;
        }
        let most = self.tops.iter().map(|top| top.found).max().unwrap_or(0);
        if most <= WHOLE_VALUES_MAX {
            return Some(HashPlan { least: 1, parts: most.div_ceil(PART_VALUES).max(1), sampled: None });
        }
        let hits = self.tops.iter().map(|top| top.hits).max().unwrap_or(0);
        // Above it no store has more values than there are parts for.
        let fitting = hits / (PARTS_MAX * PART_VALUES) + 1;
        let least = self.threshold(count).div_ceil(self.tops.len() as u64).max(fitting);
        let parts = (hits / least).min(most).div_ceil(PART_VALUES).max(1);
        Some(HashPlan { least, parts, sampled: Some(most.div_ceil(PART_VALUES)) })
    }

    /// The round that tells all values, or those with most rows where there are too many.
    #[must_use]
    pub fn plan_all(&self) -> HashPlan {
        self.plan(0).unwrap_or(HashPlan { least: 1, parts: 1, sampled: None })
    }

    /// True if all counts of the stores are exact.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.tops.iter().all(|top| top.exact)
    }

    /// Rows that the last of the first `count` values has at least.
    fn threshold(&self, count: usize) -> u64 {
        let mut sums: Vec<u64> = self.listed().into_values().map(|value| value.hits).collect();
        sums.sort_unstable_by(|a, b| b.cmp(a));
        count.checked_sub(1).and_then(|last| sums.get(last)).copied().unwrap_or(0)
    }

    /// All listed values.
    fn listed(&self) -> BTreeMap<&[u8], FleetValue> {
        let mut all: BTreeMap<&[u8], FleetValue> = BTreeMap::new();
        for (store, top) in self.tops.iter().enumerate() {
            for value in &top.values {
                all.entry(value.text.as_bytes()).or_default().add(value, top, store);
            }
        }
        all
    }

    /// Begins a round by hashes.
    #[must_use]
    pub fn by_hash(&self, plan: HashPlan, count: usize) -> HashMerge {
        let stores = self.tops.len() as u64;
        HashMerge { stores, least: plan.least, count, candidates: Vec::new(), cut: 0, distinct: 0, sampled: None }
    }

    /// The first values, of those that are listed or, after a round by hashes, of its candidates;
    /// as they are asked for with their hashes by this seed where their texts are long.
    #[must_use]
    pub fn first(&self, named: Option<NamedMerge>, count: usize, seed: u64) -> Vec<SeriesText> {
        let mut values: Vec<(Vec<u8>, FleetValue, Option<u64>)> = match named {
            Some(named) if self.plan(count).is_some() => named.values,
            _ => self.listed().into_iter().map(|(text, value)| (text.to_vec(), value, None)).collect(),
        };
        values.sort_by(first_of_all);
        values.into_iter().take(count).map(|(text, _, cut)| SeriesText::new(&text, cut, seed)).collect()
    }

    /// The page of which all values are listed, from the `offset`th on.
    #[must_use]
    pub fn page(&self, offset: usize, limit: usize) -> PanelPage {
        let values = self.listed();
        let distinct = values.len() as u64;
        let values = values.into_iter().map(|(text, value)| (text.to_vec(), value)).collect();
        self.page_of(values, (distinct, 0.0), 0, offset, limit)
    }

    /// The page after a round by hashes, with the values of its candidates in each store.
    #[must_use]
    pub fn page_by_hash(&self, hashed: &HashMerge, named: NamedMerge, offset: usize, limit: usize) -> PanelPage {
        self.page_of(named.into_values(), hashed.distinct(), hashed.unseen(), offset, limit)
    }

    /// The first of some values that were asked for by name.
    #[must_use]
    pub fn rows_named(&self, named: NamedMerge, limit: usize) -> Vec<ReportRow> {
        self.page_of(named.into_values(), (0, 0.0), 0, 0, limit).rows
    }

    /// Values with their texts, and the hashes of those whose text is cut.
    fn values_by_hash(&self, named: &[NamedValues]) -> Vec<(Vec<u8>, FleetValue, Option<u64>)> {
        let mut values: BTreeMap<u64, (&FieldValue, FleetValue)> = BTreeMap::new();
        for (store, (named, top)) in named.iter().zip(&self.tops).enumerate() {
            for (hash, value) in named {
                let (text, sum) = values.entry(*hash).or_insert_with(|| (value, FleetValue::default()));
                // A whole text is one that its hash vouches for.
                if text.cut && !value.cut {
                    *text = value;
                }
                sum.add(value, top, store);
            }
        }
        let value = |(hash, (text, sum)): (u64, (&FieldValue, FleetValue))| {
            (text.text.as_bytes().to_vec(), sum, text.cut.then_some(hash))
        };
        values.into_iter().map(value).collect()
    }

    fn page_of(
        &self,
        mut values: Vec<(Vec<u8>, FleetValue)>,
        (known, known_error): (u64, f64),
        unseen: u64,
        offset: usize,
        limit: usize,
    ) -> PanelPage {
        for (_, value) in &mut values {
            let absent = |store: &usize| !value.stores.contains(store);
            value.missing += (0..self.tops.len()).filter(absent).map(|store| self.tops[store].error_max).sum::<u64>();
        }
        values.sort_by(|(a, x), (b, y)| y.hits.cmp(&x.hits).then_with(|| a.cmp(b)));
        let listed: Vec<_> = values.into_iter().skip(offset).take(limit).collect();
        // A value that nobody named may have as many rows.
        let is_sure = unseen == 0 || (listed.len() == limit && listed.last().is_none_or(|(_, last)| last.hits > unseen));
        let row = |(text, value): (Vec<u8>, FleetValue)| ReportRow {
            value: shown_value(&text),
            hits: value.hits,
            hits_min: value.hits,
            hits_max: value.hits.saturating_add(value.missing),
            bytes: value.bytes,
        };
        let sum = |of: fn(&FieldTop) -> u64| self.tops.iter().map(of).sum::<u64>();
        PanelPage {
            field: self.names().0.to_owned().into(),
            distinct: self.distinct(known, known_error),
            hits: sum(|top| top.hits),
            exact: is_sure && self.tops.iter().all(|top| top.exact),
            error_max: sum(|top| top.error_max).saturating_add(if is_sure { 0 } else { unseen }),
            others: self.others(),
            found: known,
            rows: listed.into_iter().map(row).collect(),
        }
    }

    /// The number of values, of which so many have a place in some store: those without one may be
    /// the same in several.
    fn distinct(&self, known: u64, known_error: f64) -> Distinct {
        let beyond: u64 = self.tops.iter().map(|top| top.distinct.saturating_sub(top.found)).sum();
        let distinct = known + beyond;
        let errors: f64 = self.tops.iter().map(|top| top.distinct_error * top.distinct as f64).sum();
        let error = (beyond as f64 + errors + known_error * known as f64) / distinct.max(1) as f64;
        let exact = beyond == 0 && known_error == 0.0 && self.tops.iter().all(|top| top.distinct_error == 0.0);
        Distinct { distinct, exact, error: if exact { 0.0 } else { error } }
    }

    fn others(&self) -> Option<OtherValues> {
        let all = self.tops.iter().filter_map(|top| top.others);
        let add = |a: OtherValues, b: OtherValues| OtherValues {
            hits: a.hits.saturating_add(b.hits),
            bytes: a.bytes.saturating_add(b.bytes),
        };
        all.reduce(add)
    }
}

impl FleetValue {
    fn add(&mut self, value: &FieldValue, top: &FieldTop, store: usize) {
        self.hits = self.hits.saturating_add(value.hits);
        self.bytes = self.bytes.saturating_add(value.bytes);
        self.missing = self.missing.saturating_add(top.missing);
        self.stores.push(store);
    }
}

/// More rows first, ties by the text.
fn first_of_all<C>((a, x, _): &(Vec<u8>, FleetValue, C), (b, y, _): &(Vec<u8>, FleetValue, C)) -> Ordering {
    y.hits.cmp(&x.hits).then_with(|| a.cmp(b))
}

impl NamedMerge {
    /// For the first `count` of them.
    #[must_use]
    pub fn new(count: usize) -> Self {
        Self { count, values: Vec::new() }
    }

    /// Adds the values of some hashes in all stores of a field, which come once.
    pub fn add(&mut self, field: &FieldMerge, part: &[NamedValues]) {
        self.values.extend(field.values_by_hash(part));
        self.values.sort_by(first_of_all);
        self.values.truncate(self.count);
    }

    fn into_values(self) -> Vec<(Vec<u8>, FleetValue)> {
        self.values.into_iter().map(|(text, value, _)| (text, value)).collect()
    }
}

impl HashMerge {
    /// Adds one part of all stores.
    pub fn add(&mut self, part: &[HashedValues]) {
        let mut pairs = MergedPairs::new(part.iter()).peekable();
        while let Some((hash, _, mut fewest)) = pairs.next() {
            let mut stores = 1;
            while let Some((_, _, hits)) = pairs.next_if(|(other, ..)| *other == hash) {
                (stores, fewest) = (stores + 1, fewest.saturating_add(hits));
            }
            self.distinct += 1;
            let absent = self.stores.saturating_sub(stores).saturating_mul(self.least.saturating_sub(1));
            self.candidates.push((fewest.saturating_add(absent), fewest, hash));
            if self.candidates.len() > 8 * CANDIDATES_MAX {
                self.prune();
            }
        }
        self.prune();
    }

    /// Adds the part by which the number of values is estimated, of so many.
    pub fn sample(&mut self, part: &[HashedValues], parts: u64) {
        let (mut found, mut last) = (0, None);
        for (hash, ..) in MergedPairs::new(part.iter()) {
            found += u64::from(last != Some(hash));
            last = Some(hash);
        }
        self.sampled = Some((found, parts));
    }

    /// Leaves the values that may be among the first ones.
    fn prune(&mut self) {
        let Some(last) = self.count.checked_sub(1) else { return self.candidates.clear() };
        if self.candidates.len() <= last {
            return;
        }
        let mut fewest: Vec<u64> = self.candidates.iter().map(|(_, fewest, _)| *fewest).collect();
        let (_, threshold, _) = fewest.select_nth_unstable_by(last, |a, b| b.cmp(a));
        self.candidates.retain(|(most, ..)| most >= threshold);
        if self.candidates.len() > CANDIDATES_MAX.max(self.count) {
            self.candidates.sort_unstable_by(|a, b| b.cmp(a));
            let left_out = self.candidates.split_off(CANDIDATES_MAX.max(self.count));
            self.cut = self.cut.max(left_out.first().map_or(0, |(most, ..)| *most));
        }
    }

    /// Hashes of the values that may be listed.
    #[must_use]
    pub fn candidates(&mut self) -> Vec<u64> {
        self.candidates.sort_unstable_by_key(|(.., hash)| *hash);
        self.candidates.dedup_by_key(|(.., hash)| *hash);
        self.candidates.iter().map(|(.., hash)| *hash).collect()
    }

    /// Most rows of a value that was not asked for.
    fn unseen(&self) -> u64 {
        self.cut.max(self.stores.saturating_mul(self.least.saturating_sub(1)))
    }

    /// The number of values, and its error.
    fn distinct(&self) -> (u64, f64) {
        let Some((found, parts)) = self.sampled else { return (self.distinct, 0.0) };
        // Two standard deviations of a number of independent events.
        (found.saturating_mul(parts), 2.0 / (found.max(1) as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value_bytes::{ValueBytes, value_hash};
    use std::collections::HashMap;

    const SEED: u64 = 7;

    type Store = HashMap<String, u64>;

    fn top(store: &Store, count: usize) -> FieldTop {
        let mut values: Vec<FieldValue> = store
            .iter()
            .map(|(text, hits)| FieldValue { text: ValueBytes::Text(text.clone()), hits: *hits, bytes: hits * 10, cut: false })
            .collect();
        values.sort_by(|a, b| b.hits.cmp(&a.hits).then_with(|| a.text.as_bytes().cmp(b.text.as_bytes())));
        values.truncate(count);
        let distinct = store.len() as u64;
        FieldTop {
            field: "path".to_owned(),
            title: "Paths".to_owned(),
            distinct,
            distinct_error: 0.0,
            hits: store.values().sum(),
            exact: true,
            error_max: 0,
            missing: 0,
            others: None,
            found: distinct,
            values,
        }
    }

    fn hashed(store: &Store, least: u64, part: u64, parts: u64) -> HashedValues {
        let many = store.iter().filter(|(_, hits)| **hits >= least);
        let pairs = many.map(|(text, hits)| (value_hash(SEED, text.as_bytes()), *hits));
        let mut bytes: Vec<(u64, u64)> = pairs.filter(|(hash, _)| hash % parts == part).collect();
        bytes.sort_unstable();
        let written: Vec<u8> = bytes.iter().flat_map(|(hash, hits)| [&hash.to_le_bytes()[..], &varint(*hits)].concat()).collect();
        HashedValues::read(&written).expect("sound pairs")
    }

    fn varint(mut number: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        while number >= 0x80 {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    }

    fn merged(stores: &[Store], count: usize, least: Option<u64>) -> PanelPage {
        let merge = FieldMerge::new(stores.iter().map(|store| top(store, count)).collect()).expect("some");
        let Some(mut plan) = merge.plan(count) else { return merge.page(0, count) };
        if let Some(least) = least {
            plan = HashPlan { least, parts: 3, sampled: Some(2) };
        }
        let mut by_hash = merge.by_hash(plan, count);
        for part in 0..plan.parts {
            let all: Vec<HashedValues> = stores.iter().map(|store| hashed(store, plan.least, part, plan.parts)).collect();
            by_hash.add(&all);
        }
        if let Some(parts) = plan.sampled {
            let all: Vec<HashedValues> = stores.iter().map(|store| hashed(store, 1, 0, parts)).collect();
            by_hash.sample(&all, parts);
        }
        let wanted = by_hash.candidates();
        let named: Vec<NamedValues> = stores
            .iter()
            .map(|store| {
                let all = top(store, usize::MAX).values.into_iter();
                let hashed = all.map(|value| (value_hash(SEED, value.text.as_bytes()), value));
                hashed.filter(|(hash, _)| wanted.contains(hash)).collect()
            })
            .collect();
        merge.page_by_hash(&by_hash, named_merge(&merge, &named, count), 0, count)
    }

    fn named_merge(merge: &FieldMerge, named: &[NamedValues], count: usize) -> NamedMerge {
        let mut all = NamedMerge::new(count);
        all.add(merge, named);
        all
    }

    fn whole(stores: &[Store]) -> Vec<(String, u64)> {
        let mut all: HashMap<&str, u64> = HashMap::new();
        stores.iter().flatten().for_each(|(text, hits)| *all.entry(text).or_default() += hits);
        let mut all: Vec<(String, u64)> = all.into_iter().map(|(text, hits)| (text.to_owned(), hits)).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        all
    }

    fn random(state: &mut u64) -> u64 {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    #[test]
    fn first_values_of_many_stores_are_those_of_one() {
        let mut state = 3;
        for (values, skew) in [(5, 1), (400, 1), (400, 60), (3_000, 9), (3_000, 400)] {
            let mut stores = vec![Store::new(); 4];
            for store in &mut stores {
                for _ in 0..values {
                    let text = format!("/{}", random(&mut state) % values);
                    *store.entry(text).or_default() += 1 + random(&mut state) % skew;
                }
            }
            let all = whole(&stores);
            for count in [1, 10, 100] {
                for least in [None, Some(2), Some(5), Some(50)] {
                    let page = merged(&stores, count, least);
                    let listed: Vec<(String, u64)> = page.rows.iter().map(|row| (row.value.clone(), row.hits)).collect();
                    assert!(page.rows.iter().all(|row| row.bytes == row.hits * 10));
                    if page.exact {
                        assert_eq!(listed, all[..count.min(all.len())], "{values} {skew} {count} {least:?}");
                    } else {
                        let left_out = all.iter().filter(|value| !listed.contains(value)).map(|(_, hits)| *hits).max();
                        assert!(left_out.is_none_or(|hits| hits <= page.error_max), "{page:?}");
                    }
                    let (found, exact) = (page.distinct.distinct as f64, all.len() as f64);
                    assert!(
                        (found - exact).abs() <= 2.0 * page.distinct.error * exact,
                        "{found} of {exact}: {:?}",
                        page.distinct
                    );
                }
                assert!(merged(&stores, count, None).exact || values == 3_000);
            }
        }
    }

    #[test]
    fn values_that_are_cut_are_told_apart_by_their_hashes() {
        let merge = FieldMerge::new(vec![top(&Store::new(), 0), top(&Store::new(), 0)]).expect("some");
        let long = |hits, cut| FieldValue { text: ValueBytes::Text("a".repeat(1_025)), hits, bytes: 1, cut };
        let named = [[(1, long(5, true)), (2, long(3, true))], [(1, long(4, true)), (3, long(2, false))]]
            .map(|values| values.into_iter().collect::<NamedValues>());
        let hits: Vec<u64> = merge.rows_named(named_merge(&merge, &named, 9), 9).iter().map(|row| row.hits).collect();
        assert_eq!(hits, [9, 3, 2]);
    }

    #[test]
    fn foreign_pairs_are_refused() {
        let good = HashedValues::read(&[[1, 0, 0, 0, 0, 0, 0, 0, 5], [2, 0, 0, 0, 0, 0, 0, 0, 7]].concat()).expect("sound");
        assert_eq!(good.pairs().collect::<Vec<_>>(), [(1, 5), (2, 7)]);
        assert!(good.is_part(5, 0, 1) && !good.is_part(6, 0, 1) && !good.is_part(5, 1, 2));
        assert_eq!(HashedValues::read(&good.clone().into_bytes()), Some(good));
        for bad in [
            vec![1, 0, 0, 0, 0, 0, 0, 0],
            vec![1, 0, 0, 0, 0, 0, 0, 0, 0],
            [[2, 0, 0, 0, 0, 0, 0, 0, 5], [1, 0, 0, 0, 0, 0, 0, 0, 7]].concat(),
            [[2, 0, 0, 0, 0, 0, 0, 0, 5], [2, 0, 0, 0, 0, 0, 0, 0, 7]].concat(),
            [&[1, 0, 0, 0, 0, 0, 0, 0][..], &[0xff; 12]].concat(),
            [&[1, 0, 0, 0, 0, 0, 0, 0][..], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]].concat(),
        ] {
            assert_eq!(HashedValues::read(&bad), None, "{bad:?}");
        }
    }
}

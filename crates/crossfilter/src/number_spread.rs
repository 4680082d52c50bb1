//! The distribution of a column of numbers with a sign, whole or not.

use crate::codes::{ColumnCode, with_codes};
use crate::number_buckets::NumberBuckets;
use crate::numbers::CodedNumbers;
use crate::page_row::{OwnValue, finite_or_text};
use foldhash::fast::RandomState;
use rorqual_accesslog::schema::{NumberUnit, float_of, float_step};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;

/// Bits of a double's step that tell its bucket: sign, exponent and six of the mantissa, so that a
/// bucket is at most a sixty-fourth of its numbers wide.
const BUCKET_BITS: u32 = 18;

/// Buckets of a spread at most, of the spreads of a store's columns together; beyond them all are
/// joined in pairs.
const BUCKETS_MAX: usize = 1 << 16;

/// Memory of a bucket at most.
pub(crate) const BUCKET_BYTES: usize = 36;

/// Buckets of one spread: numbers of 64 powers of two, and no fewer than these.
const SPREAD_BUCKETS: (usize, usize) = (128, 1 << 12);

/// Codes that are counted in a table before their numbers get buckets.
const COUNTED_CODES_MAX: u64 = 1 << 16;

/// Numbers of a view in buckets, the smallest and the largest.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct NumberSpread {
    buckets: HashMap<u32, u64, RandomState>,
    /// Steps.
    extent: Option<(u64, u64)>,
    /// Times that the buckets were joined in pairs.
    joined: u32,
}

/// The numbers of a column in a view, in its unit: seconds of times and of moments.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct NumberSummary {
    /// Name for programs.
    pub field: Cow<'static, str>,
    /// Name of the unit, for programs.
    pub unit: &'static str,
    /// Rows with a number.
    pub hits: u64,
    /// The smallest number, a whole one with all its digits.
    pub min: OwnValue,
    /// The largest number.
    pub max: OwnValue,
    /// Quantiles; of moments there are none.
    pub quantiles: Option<NumberQuantiles>,
    /// Part of an exact quantile by which one may be beside it; a whole number, by a half in any
    /// case. Infinity, the text `inf`, where it may be beside it by any part.
    #[serde(serialize_with = "finite_or_text")]
    pub quantile_error: f64,
    /// The distribution; `None` of moments, of infinities, and where all numbers are the same.
    pub buckets: Option<NumberBuckets>,
}

/// Quantiles of numbers; an infinity is the text `inf` or `-inf`.
#[derive(Debug, Clone, Copy, Serialize, PartialEq)]
#[allow(missing_docs)]
pub struct NumberQuantiles {
    #[serde(serialize_with = "finite_or_text")]
    pub p50: f64,
    #[serde(serialize_with = "finite_or_text")]
    pub p90: f64,
    #[serde(serialize_with = "finite_or_text")]
    pub p95: f64,
    #[serde(serialize_with = "finite_or_text")]
    pub p99: f64,
}

fn bucket(number: f64, joined: u32) -> u32 {
    (float_step(number) >> (u64::BITS - BUCKET_BITS + joined)) as u32
}

/// Bits of a step that are the mantissa's in a bucket's number.
const MANTISSA_BITS: u32 = BUCKET_BITS - 12;

/// Part of a number by which the middle of its bucket is beside it at most, after so many joins.
fn error(joined: u32) -> f64 {
    match joined.checked_sub(MANTISSA_BITS) {
        // A part of a power of two.
        None | Some(0) => f64::from(1 << joined) / f64::from(1 << MANTISSA_BITS),
        // So many powers of two, whose middle is the middle one.
        Some(powers) => f64::from(1 << (powers - 1)).exp2(),
    }
}

/// The number in the middle of a bucket, as its unit has numbers.
fn middle(bucket: u32, joined: u32, unit: NumberUnit) -> f64 {
    let first = u64::from(bucket) << (u64::BITS - BUCKET_BITS + joined);
    // Of the steps in the bucket of an infinity all others are no number's.
    let (least, most) = (float_step(f64::NEG_INFINITY), float_step(f64::INFINITY));
    let number = float_of((first | 1 << (u64::BITS - BUCKET_BITS + joined - 1)).clamp(least, most));
    // The buckets around 0 have no numbers that anybody would tell from it.
    let is_whole = !matches!(unit, NumberUnit::Float | NumberUnit::Seconds);
    if number.abs() < f64::MIN_POSITIVE {
        0.0
    } else if is_whole {
        number.round()
    } else {
        number
    }
}

impl NumberSpread {
    /// Buckets of a spread at most, in a store with so many columns of numbers.
    pub(crate) fn buckets_max(columns: usize) -> usize {
        let (least, most) = SPREAD_BUCKETS;
        (BUCKETS_MAX / columns.max(1)).clamp(least, most)
    }

    /// Adds the numbers of the rows; joins buckets where there are more than `buckets_max`.
    pub(crate) fn count(&mut self, numbers: &CodedNumbers, rows: &[u16], unit: NumberUnit, buckets_max: usize) {
        let Some((least, most)) = numbers.extent(rows) else { return };
        self.widen(least, most);
        let mut add = |code: u64, hits: u64| {
            if let Some(number) = numbers.number(code).map(|step| unit.value(step)) {
                *self.buckets.entry(bucket(number, self.joined)).or_default() += hits;
                if self.buckets.len() > buckets_max {
                    self.join(self.joined + 1);
                }
            }
        };
        with_codes!(
            &numbers.codes,
            constant => add(*constant, rows.len() as u64),
            codes => {
                if numbers.code_max() < COUNTED_CODES_MAX.min(rows.len() as u64) {
                    let mut hits = vec![0u32; numbers.code_max() as usize + 1];
                    rows.iter().for_each(|row| hits[codes[usize::from(*row)].index()] += 1);
                    (0..).zip(hits).filter(|(_, hits)| *hits > 0).for_each(|(code, hits)| add(code, u64::from(hits)));
                } else {
                    rows.iter().for_each(|row| add(codes[usize::from(*row)].number(), 1));
                }
            }
        );
    }

    /// True if a spread of at most so many numbers may be so, which was read from a file.
    pub(crate) fn is_sound(&self, numbers: u64) -> bool {
        let hits = self.buckets.values().try_fold(0u64, |sum, hits| sum.checked_add(*hits));
        let is_within = |bucket: &u32| *bucket >> BUCKET_BITS.saturating_sub(self.joined) == 0;
        self.joined < BUCKET_BITS
            && self.buckets.len() <= BUCKETS_MAX
            && self.buckets.keys().all(is_within)
            && hits.is_some_and(|hits| hits <= numbers)
            && self.extent.is_some() != self.buckets.is_empty()
            && self.extent.is_none_or(|(least, most)| least <= most)
    }

    /// True if its extent is of numbers of that unit, and its buckets are within.
    pub(crate) fn is_of(&self, unit: NumberUnit) -> bool {
        let Some((least, most)) = self.extent else { return self.buckets.is_empty() };
        let (min, max) = (unit.value(least), unit.value(most));
        let (first, last) = (bucket(min, self.joined), bucket(max, self.joined));
        min <= max && self.buckets.keys().all(|bucket| (first..=last).contains(bucket))
    }

    /// Adds one number.
    #[cfg(test)]
    pub(crate) fn add(&mut self, number: f64) {
        *self.buckets.entry(bucket(number, self.joined)).or_default() += 1;
    }

    /// Bits of a step that do not tell its bucket.
    pub(crate) fn shift(&self) -> u32 {
        u64::BITS - BUCKET_BITS + self.joined
    }

    /// Buckets with their numbers, in any order.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (u32, u64)> {
        self.buckets.iter().map(|(bucket, hits)| (*bucket, *hits))
    }

    /// The steps of the smallest and the largest number.
    pub(crate) fn extent(&self) -> Option<(u64, u64)> {
        self.extent
    }

    /// Two spreads with buckets of the same width.
    pub(crate) fn alike(&self, other: &Self) -> (Self, Self) {
        let (mut a, mut b) = (self.clone(), other.clone());
        let joined = a.joined.max(b.joined);
        a.join(joined);
        b.join(joined);
        (a, b)
    }

    pub(crate) fn widen(&mut self, least: u64, most: u64) {
        let (first, last) = self.extent.unwrap_or((least, most));
        self.extent = Some((first.min(least), last.max(most)));
    }

    /// Joins the buckets in pairs until they were joined so many times.
    fn join(&mut self, joined: u32) {
        let more = joined.saturating_sub(self.joined);
        if more > 0 {
            let finer = std::mem::take(&mut self.buckets);
            finer.iter().for_each(|(bucket, hits)| *self.buckets.entry(bucket >> more).or_default() += hits);
            self.joined = joined;
        }
    }

    pub(crate) fn take(&mut self, other: &Self) {
        self.join(other.joined);
        let more = self.joined - other.joined;
        other.buckets.iter().for_each(|(bucket, hits)| *self.buckets.entry(bucket >> more).or_default() += hits);
        other.extent.into_iter().for_each(|(least, most)| self.widen(least, most));
    }

    /// Quantiles, and the part of an exact one by which one may be beside it; `None` where there is
    /// no number.
    pub(crate) fn quantiles(&self, unit: NumberUnit) -> Option<(NumberQuantiles, f64)> {
        let (least, most) = self.extent?;
        // Of an extent that was read.
        let (min, max) = Some((unit.value(least), unit.value(most))).filter(|(min, max)| min <= max)?;
        let mut buckets: Vec<(u32, u64)> = self.buckets.iter().map(|(bucket, hits)| (*bucket, *hits)).collect();
        buckets.sort_unstable();
        let hits: u64 = buckets.iter().map(|(_, hits)| hits).sum();
        let quantile = |percent: u64| {
            // The rank of the number that so many in a hundred are not above.
            let rank = (u128::from(hits) * u128::from(percent)).div_ceil(100) as u64;
            let mut before = 0;
            let found = buckets.iter().find(|(_, hits)| {
                before += hits;
                before >= rank
            });
            found.map_or(max, |(bucket, _)| middle(*bucket, self.joined, unit).clamp(min, max))
        };
        let quantiles = NumberQuantiles { p50: quantile(50), p90: quantile(90), p95: quantile(95), p99: quantile(99) };
        // Joined with others, an infinity is beside them by any part.
        let has_infinity = [min, max].iter().any(|number| number.is_infinite());
        let error = if has_infinity && self.joined > MANTISSA_BITS { f64::INFINITY } else { error(self.joined) };
        Some((quantiles, error))
    }

    /// The numbers of a column of that name; `None` where there is none.
    pub(crate) fn summary(&self, field: Cow<'static, str>, unit: NumberUnit) -> Option<NumberSummary> {
        let (least, most) = self.extent?;
        let (quantiles, quantile_error) = self.quantiles(unit)?;
        let quantiles = (unit != NumberUnit::Moment).then_some(quantiles);
        let hits = self.buckets.values().sum();
        let [min, max] = [least, most].map(|step| OwnValue::number(unit, Some(step)));
        let buckets = self.bars(unit);
        Some(NumberSummary { field, unit: unit.name(), hits, min, max, quantiles, quantile_error, buckets })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spread of numbers, its buckets joined so many times.
    fn spread(numbers: &[f64], joined: u32) -> NumberSpread {
        let mut spread = NumberSpread::default();
        for number in numbers {
            spread.widen(float_step(*number), float_step(*number));
            *spread.buckets.entry(bucket(*number, 0)).or_default() += 1;
        }
        spread.join(joined);
        spread
    }

    fn summary(spread: &NumberSpread) -> NumberSummary {
        spread.summary("f".into(), NumberUnit::Float).unwrap()
    }

    #[test]
    fn infinities_are_quantiles_of_themselves() {
        let numbers = [f64::NEG_INFINITY, 1.0, 1.0, f64::INFINITY, f64::INFINITY, f64::INFINITY];
        let found = summary(&spread(&numbers, 0));
        let quantiles = found.quantiles.unwrap();
        assert!((quantiles.p50 - 1.0).abs() <= 1.0 / 64.0, "{quantiles:?}");
        assert_eq!(quantiles.p90, f64::INFINITY);
        let json = serde_json::to_value(&found).unwrap();
        assert_eq!(json["min"], "-inf");
        assert_eq!(json["max"], "inf");
        assert_eq!(json["quantiles"]["p99"], "inf");
        assert_eq!(summary(&spread(&[f64::NEG_INFINITY; 3], 0)).quantiles.unwrap().p50, f64::NEG_INFINITY);
        assert_eq!(summary(&spread(&numbers, 7)).quantile_error, f64::INFINITY);
    }

    #[test]
    fn foreign_extents_are_refused_and_no_reason_to_end() {
        let good = spread(&[1.0, 2.0, 3.0], 0);
        assert!(good.is_sound(3) && good.is_of(NumberUnit::Float) && spread(&[1.0, 9.0], 7).is_of(NumberUnit::Float));
        let (least, most) = (float_step(1.0), float_step(3.0));
        let turned = NumberSpread { extent: Some((most, least)), ..good.clone() };
        assert!(!turned.is_sound(3) && !turned.is_of(NumberUnit::Float));
        assert!(turned.quantiles(NumberUnit::Float).is_none());
        for (first, last) in [(least, u64::MAX), (0, most), (float_step(2.0), most), (least, float_step(2.0))] {
            assert!(!NumberSpread { extent: Some((first, last)), ..good.clone() }.is_of(NumberUnit::Float));
        }
        let none = NumberSpread { extent: Some((least, u64::MAX)), ..good.clone() };
        assert!(none.quantiles(NumberUnit::Float).is_none());
        assert!(NumberSpread::default().is_of(NumberUnit::Integer));
    }

    #[test]
    fn quantiles_are_within_their_stated_error_however_often_buckets_were_joined() {
        // 1, 2, 4, … to 2^100, so that the p-th quantile is the power of its rank.
        let numbers: Vec<f64> = (0..101).map(f64::from).map(f64::exp2).collect();
        for joined in 0..=11 {
            let found = summary(&spread(&numbers, joined));
            let quantiles = found.quantiles.unwrap();
            for (quantile, percent) in [(quantiles.p50, 50), (quantiles.p90, 90), (quantiles.p95, 95), (quantiles.p99, 99)] {
                let rank = (101_u32 * percent).div_ceil(100);
                let exact = f64::from(rank - 1).exp2();
                let beside = (quantile - exact).abs() / exact;
                assert!(
                    beside <= found.quantile_error,
                    "{joined} joins: {quantile} for {exact}, within {}",
                    found.quantile_error
                );
            }
            assert_eq!(found.hits, 101);
        }
    }
}

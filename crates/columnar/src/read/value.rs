//! A value that is looked for.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::{AnyDictionaryArray, Array, ArrayRef, BooleanArray, StringArray};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DECIMAL128_MAX_PRECISION, DataType, TimeUnit};
use std::cmp::Ordering;
use std::sync::Arc;

/// A value of a column's type.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Scalar {
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(String),
    /// Units of the last of so many decimal places.
    Decimal(i128, i8),
    /// A date in milliseconds, which files may have in days.
    Millis(i64),
}

/// An end of the range that some values are in.
#[derive(Debug, Clone, Copy)]
pub(super) enum ValueBound<'a> {
    Bool(bool),
    Int(i64),
    Float(f64),
    Bytes(&'a [u8]),
}

impl Scalar {
    /// Reads `text` as a value of that type; `None` when it is none.
    pub(super) fn parse(text: &str, data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Dictionary(_, values) => Self::parse(text, values),
            DataType::Boolean => text.parse().ok().map(Self::Bool),
            data_type if data_type.is_signed_integer() => text.parse().ok().map(Self::Int),
            data_type if data_type.is_unsigned_integer() => text.parse().ok().map(Self::UInt),
            // As precise as the column is.
            DataType::Float32 => text.parse::<f32>().ok().map(|value| Self::Float(value.into())),
            DataType::Float64 => text.parse().ok().map(Self::Float),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Self::Text(text.to_owned())),
            DataType::Timestamp(unit, _) => instant(text, *unit).map(Self::Int),
            DataType::Date32 | DataType::Time32(_) | DataType::Time64(_) => counted(text, data_type).map(Self::Int),
            DataType::Date64 => counted(text, data_type).map(Self::Millis),
            DataType::Decimal32(_, scale)
            | DataType::Decimal64(_, scale)
            | DataType::Decimal128(_, scale)
            | DataType::Decimal256(_, scale) => decimal(text, *scale).map(|units| Self::Decimal(units, *scale)),
            _ => None,
        }
    }

    /// True if the value may be between two bounds. Bounds of another type say nothing.
    pub(super) fn may_be_within(&self, min: Option<ValueBound<'_>>, max: Option<ValueBound<'_>>) -> bool {
        let below = min.and_then(|min| self.compare(min)) == Some(Ordering::Less);
        let above = max.and_then(|max| self.compare(max)) == Some(Ordering::Greater);
        !below && !above
    }

    fn compare(&self, bound: ValueBound<'_>) -> Option<Ordering> {
        match (self, bound) {
            (Self::Bool(value), ValueBound::Bool(bound)) => Some(value.cmp(&bound)),
            (Self::Int(value), ValueBound::Int(bound)) => Some(value.cmp(&bound)),
            // Unsigned numbers of 64 bits are stored as signed ones.
            (Self::Decimal(value, _), ValueBound::Int(bound)) => Some(value.cmp(&i128::from(bound))),
            (Self::UInt(value), ValueBound::Int(bound)) => Some(value.cmp(&bound.cast_unsigned())),
            (Self::Float(value), ValueBound::Float(bound)) => value.partial_cmp(&bound),
            (Self::Text(value), ValueBound::Bytes(bound)) => Some(value.as_bytes().cmp(bound)),
            _ => None,
        }
    }

    /// Mask of the values of a column that equal this one.
    pub(super) fn equal(&self, array: &ArrayRef) -> Result<BooleanArray, ArrowError> {
        if let Some(dictionary) = array.as_any_dictionary_opt() {
            return self.equal_coded(dictionary);
        }
        Ok(match self {
            Self::Bool(value) => BooleanArray::from_unary(array.as_boolean(), |found| found == *value),
            Self::Decimal(value, scale) => {
                let found = cast(array, &DataType::Decimal128(DECIMAL128_MAX_PRECISION, *scale))?;
                BooleanArray::from_unary(found.as_primitive::<Decimal128Type>(), |found| found == *value)
            }
            Self::Int(value) | Self::Millis(value) => {
                let found = cast(array, &DataType::Int64)?;
                BooleanArray::from_unary(found.as_primitive::<Int64Type>(), |found| found == *value)
            }
            Self::UInt(value) => {
                let found = cast(array, &DataType::UInt64)?;
                BooleanArray::from_unary(found.as_primitive::<UInt64Type>(), |found| found == *value)
            }
            Self::Float(value) => {
                let found = cast(array, &DataType::Float64)?;
                BooleanArray::from_unary(found.as_primitive::<Float64Type>(), |found| found == *value)
            }
            // Views stay views: written out they may take any memory.
            Self::Text(value) => match array.data_type() {
                DataType::Utf8View => BooleanArray::from_unary(array.as_string_view(), |found| found == value),
                DataType::LargeUtf8 => BooleanArray::from_unary(array.as_string::<i64>(), |found| found == value),
                _ => BooleanArray::from_unary(array.as_string::<i32>(), |found| found == value),
            },
        })
    }

    /// Looks at each value of a dictionary once.
    fn equal_coded(&self, dictionary: &dyn AnyDictionaryArray) -> Result<BooleanArray, ArrowError> {
        let values = self.equal(dictionary.values())?;
        if values.is_empty() {
            return Ok(BooleanArray::new_null(dictionary.len()));
        }
        let is_equal = |code: usize| values.is_valid(code) && values.value(code);
        let equal = dictionary.normalized_keys().into_iter().map(is_equal).collect();
        Ok(BooleanArray::new(equal, dictionary.logical_nulls()))
    }
}

/// An instant as the column counts it: RFC 3339, or the number itself.
fn instant(text: &str, unit: TimeUnit) -> Option<i64> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    let texts: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let instants = cast(&texts, &DataType::Timestamp(unit, Some("+00:00".into()))).ok()?;
    let numbers = cast(&instants, &DataType::Int64).ok()?;
    numbers.is_valid(0).then(|| numbers.as_primitive::<Int64Type>().value(0))
}

/// A date or a time of day as the column counts it.
fn counted(text: &str, data_type: &DataType) -> Option<i64> {
    let texts: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let numbers = cast(&cast(&texts, data_type).ok()?, &DataType::Int64).ok()?;
    numbers.is_valid(0).then(|| numbers.as_primitive::<Int64Type>().value(0))
}

/// A decimal number in units of its last place; `None` where it has more places than that.
fn decimal(text: &str, scale: i8) -> Option<i128> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let places = usize::try_from(scale).ok()?;
    let fraction = fraction.trim_end_matches('0');
    if whole.len() + fraction.len() == 0 && !digits.contains('0') || fraction.len() > places {
        return None;
    }
    let digits = format!("{whole}{fraction:0<places$}");
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<i128>().ok()?.checked_mul(sign)
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Date32Array, Decimal128Array};

    #[test]
    fn decimals_are_exact_or_none() {
        for (text, expected) in [
            ("12.5", Some(1250)),
            ("-12.50", Some(-1250)),
            ("+0.05", Some(5)),
            ("7", Some(700)),
            (".5", Some(50)),
            ("0", Some(0)),
            ("1.2500", Some(125)),
            ("1.251", None),
            ("", None),
            ("-", None),
            (".", None),
            ("1e3", None),
            ("99999999999999999999999999999999999999", None),
        ] {
            assert_eq!(decimal(text, 2), expected, "{text}");
        }
    }

    #[test]
    fn dates_and_decimals_are_found() {
        let found = |text: &str, array: ArrayRef| {
            let value = Scalar::parse(text, array.data_type()).unwrap();
            value.equal(&array).unwrap().iter().collect::<Vec<_>>()
        };
        // 2024-02-29 is 19,782 days after 1970-01-01.
        let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(19_781), Some(19_782), None]));
        assert_eq!(found("2024-02-29", days), [Some(false), Some(true), None]);
        let prices = Decimal128Array::from(vec![Some(1999), None, Some(2000)]).with_precision_and_scale(10, 2).unwrap();
        assert_eq!(found("19.99", Arc::new(prices)), [Some(true), None, Some(false)]);
        assert_eq!(Scalar::parse("19.999", &DataType::Decimal128(10, 2)), None);
    }
}

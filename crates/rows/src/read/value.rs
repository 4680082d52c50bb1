//! A value that is looked for.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, StringArray};
use arrow_cast::cast;
use arrow_schema::{ArrowError, DataType, TimeUnit};
use std::cmp::Ordering;
use std::sync::Arc;

/// A value of a column's type.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Bool(bool),
    Int(i64),
    UInt(u64),
    Float(f64),
    Text(String),
}

/// An end of the range that some values are in.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound<'a> {
    Bool(bool),
    Int(i64),
    Float(f64),
    Bytes(&'a [u8]),
}

impl Value {
    /// Reads `text` as a value of that type; `None` when it is none.
    pub(super) fn parse(text: &str, data_type: &DataType) -> Option<Self> {
        match data_type {
            DataType::Dictionary(_, values) => Self::parse(text, values),
            DataType::Boolean => text.parse().ok().map(Self::Bool),
            data_type if data_type.is_signed_integer() => text.parse().ok().map(Self::Int),
            data_type if data_type.is_unsigned_integer() => text.parse().ok().map(Self::UInt),
            DataType::Float32 | DataType::Float64 => text.parse().ok().map(Self::Float),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Some(Self::Text(text.to_owned())),
            DataType::Timestamp(unit, _) => instant(text, *unit).map(Self::Int),
            _ => None,
        }
    }

    /// Whether the value may be between two bounds. Bounds of another type say nothing.
    pub(super) fn may_be_within(&self, min: Option<Bound<'_>>, max: Option<Bound<'_>>) -> bool {
        let below = min.and_then(|min| self.compare(min)) == Some(Ordering::Less);
        let above = max.and_then(|max| self.compare(max)) == Some(Ordering::Greater);
        !below && !above
    }

    fn compare(&self, bound: Bound<'_>) -> Option<Ordering> {
        match (self, bound) {
            (Self::Bool(value), Bound::Bool(bound)) => Some(value.cmp(&bound)),
            (Self::Int(value), Bound::Int(bound)) => Some(value.cmp(&bound)),
            // Unsigned numbers of 64 bits are stored as signed ones.
            (Self::UInt(value), Bound::Int(bound)) => Some(value.cmp(&bound.cast_unsigned())),
            (Self::Float(value), Bound::Float(bound)) => value.partial_cmp(&bound),
            (Self::Text(value), Bound::Bytes(bound)) => Some(value.as_bytes().cmp(bound)),
            _ => None,
        }
    }

    /// Which values of a column are this one.
    pub(super) fn equal(&self, array: &ArrayRef) -> Result<BooleanArray, ArrowError> {
        Ok(match self {
            Self::Bool(value) => BooleanArray::from_unary(array.as_boolean(), |found| found == *value),
            Self::Int(value) => {
                let found = cast(array, &DataType::Int64)?;
                BooleanArray::from_unary(found.as_primitive::<Int64Type>(), |found| found == *value)
            }
            Self::UInt(value) => {
                let found = cast(array, &DataType::UInt64)?;
                BooleanArray::from_unary(found.as_primitive::<UInt64Type>(), |found| found == *value)
            }
            Self::Float(value) => {
                let single = array.data_type() == &DataType::Float32;
                // As precise as the column is.
                let value = if single { f64::from(*value as f32) } else { *value };
                let found = cast(array, &DataType::Float64)?;
                BooleanArray::from_unary(found.as_primitive::<Float64Type>(), |found| found == value)
            }
            Self::Text(value) => {
                let found = if array.data_type() == &DataType::Utf8 { array.clone() } else { cast(array, &DataType::Utf8)? };
                BooleanArray::from_unary(found.as_string::<i32>(), |found| found == value)
            }
        })
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

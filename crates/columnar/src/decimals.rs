//! Decimals whose values have more digits than their type says. Files may have them. A cast, or a
//! format that has as many bytes as the type needs, would change them without a word.

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType};
use arrow_array::{Array, ArrayRef, make_array};
use arrow_schema::{ArrowError, DataType};

/// Refuses decimals of more digits than their type says, also those in structs, lists and
/// dictionaries.
pub(crate) fn check_digits(array: &ArrayRef) -> Result<(), ArrowError> {
    match array.data_type() {
        DataType::Decimal32(precision, _) => check::<Decimal32Type>(array, *precision),
        DataType::Decimal64(precision, _) => check::<Decimal64Type>(array, *precision),
        DataType::Decimal128(precision, _) => check::<Decimal128Type>(array, *precision),
        DataType::Decimal256(precision, _) => check::<Decimal256Type>(array, *precision),
        other if has_decimals(other) => {
            array.to_data().child_data().iter().try_for_each(|below| check_digits(&make_array(below.clone())))
        }
        _ => Ok(()),
    }
}

fn check<T: DecimalType>(array: &ArrayRef, precision: u8) -> Result<(), ArrowError> {
    let is_beyond = |units: &T::Native| T::validate_decimal_precision(*units, precision, 0).is_err();
    match array.as_primitive::<T>().iter().flatten().find(is_beyond) {
        None => Ok(()),
        Some(units) => Err(ArrowError::InvalidArgumentError(format!(
            "a decimal of {precision} digits has the value {} in units of its last place, which has more; NDJSON and CSV take it",
            T::format_decimal(units, u8::MAX, 0)
        ))),
    }
}

fn has_decimals(data_type: &DataType) -> bool {
    match data_type {
        DataType::Struct(fields) => fields.iter().any(|field| has_decimals(field.data_type())),
        DataType::List(item) | DataType::LargeList(item) | DataType::FixedSizeList(item, _) | DataType::Map(item, _) => {
            has_decimals(item.data_type())
        }
        DataType::Dictionary(_, values) => has_decimals(values),
        other => other.is_decimal(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Decimal128Array, StructArray};
    use arrow_schema::Field;
    use std::sync::Arc;

    #[test]
    fn values_of_more_digits_than_their_type_are_refused_wherever_they_are() {
        let decimals = |units: i128| -> ArrayRef {
            Arc::new(Decimal128Array::from(vec![Some(units), None]).with_data_type(DataType::Decimal128(5, 2)))
        };
        check_digits(&decimals(99_999)).unwrap();
        let said = check_digits(&decimals(-100_000)).unwrap_err().to_string();
        assert!(said.contains("a decimal of 5 digits has the value -100000"), "{said}");
        let field = Arc::new(Field::new("d", DataType::Decimal128(5, 2), true));
        let below: ArrayRef = Arc::new(StructArray::from(vec![(field, decimals(100_000))]));
        check_digits(&below).unwrap_err();
    }
}

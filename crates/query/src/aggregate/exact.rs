//! Sums for which no type is wider than their own: of decimals of 76 digits, and of intervals.

use super::widened::beyond;
use datafusion::arrow::array::{Array, ArrayRef, ArrowNativeTypeOp, ArrowPrimitiveType, AsArray};
use datafusion::arrow::datatypes::{
    DECIMAL256_MAX_PRECISION, DataType, Decimal256Type, DecimalType, IntervalDayTimeType, IntervalMonthDayNanoType, IntervalUnit,
    IntervalYearMonthType, i256,
};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_err};
use datafusion::logical_expr::Accumulator;

/// Digits of a sum of decimals that can't have wrapped around in 256 bits, whatever the rows: those
/// of its argument, and ten for their number.
const DIGITS_SAFE: u8 = DECIMAL256_MAX_PRECISION - 3;

/// True if a sum of that type may wrap around in its own type, and none is wider.
pub(super) fn needs_looking(returned: &DataType) -> bool {
    match returned {
        DataType::Decimal256(digits, _) => *digits > DIGITS_SAFE,
        DataType::Interval(_) => true,
        _ => false,
    }
}

/// The accumulator of a sum that needs it.
pub(super) fn exact_sum(name: &str, returned: &DataType) -> Result<Box<dyn Accumulator>> {
    Ok(match returned {
        DataType::Decimal256(..) => Box::new(ExactSum::<Decimal256Type>::new(name, returned)),
        DataType::Interval(IntervalUnit::YearMonth) => Box::new(ExactSum::<IntervalYearMonthType>::new(name, returned)),
        DataType::Interval(IntervalUnit::DayTime) => Box::new(ExactSum::<IntervalDayTimeType>::new(name, returned)),
        DataType::Interval(IntervalUnit::MonthDayNano) => Box::new(ExactSum::<IntervalMonthDayNanoType>::new(name, returned)),
        other => return internal_err!("{name}: {other} has a wider type"),
    })
}

/// A sum of which each addition is looked at.
#[derive(Debug)]
struct ExactSum<T: ArrowPrimitiveType> {
    name: String,
    returned: DataType,
    sum: T::Native,
    /// Numbers in it.
    count: u64,
}

impl<T: ArrowPrimitiveType> ExactSum<T>
where
    T::Native: ArrowNativeTypeOp,
{
    fn new(name: &str, returned: &DataType) -> Self {
        Self { name: name.to_owned(), returned: returned.clone(), sum: T::Native::ZERO, count: 0 }
    }

    fn beyond(&self) -> DataFusionError {
        beyond(&self.name, &self.returned)
    }

    /// Changes the sum by each number; the number of these.
    fn each<E>(&mut self, values: &[ArrayRef], change: impl Fn(T::Native, T::Native) -> Result<T::Native, E>) -> Result<u64> {
        let [values] = values else { return internal_err!("{} has one argument", self.name) };
        for value in values.as_primitive::<T>().iter().flatten() {
            self.sum = change(self.sum, value).map_err(|_| self.beyond())?;
        }
        Ok((values.len() - values.null_count()) as u64)
    }

    fn value(&self) -> Result<ScalarValue> {
        ScalarValue::new_primitive::<T>((self.count > 0).then_some(self.sum), &self.returned)
    }
}

impl<T: ArrowPrimitiveType + std::fmt::Debug> Accumulator for ExactSum<T>
where
    T::Native: ArrowNativeTypeOp,
{
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count += self.each(values, ArrowNativeTypeOp::add_checked)?;
        Ok(())
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.count -= self.each(values, ArrowNativeTypeOp::sub_checked)?;
        Ok(())
    }

    fn supports_retract_batch(&self) -> bool {
        true
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let value = self.value()?;
        match &value {
            // 256 bits have room for more than 76 digits.
            ScalarValue::Decimal256(Some(sum), digits, _) if !is_of_digits(*sum, *digits) => Err(self.beyond()),
            _ => Ok(value),
        }
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.name.capacity()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![self.value()?])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.update_batch(states)
    }
}

fn is_of_digits(sum: i256, digits: u8) -> bool {
    Decimal256Type::is_valid_decimal_precision(sum, digits)
}

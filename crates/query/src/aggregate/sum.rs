//! `sum`, of which one beyond its type is an error.

use super::exact::{exact_sum, needs_looking};
use super::widened::{WIDE, WideTypes, accumulator, field_of, groups};
use datafusion::arrow::datatypes::{DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, FieldRef};
use datafusion::common::{Result, not_impl_err};
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, GroupsAccumulator, ReversedUDAF, SetMonotonicity, Signature,
};

/// Digits of a sum of decimals for which 128 bits have room, whatever the rows: ten million million
/// of the largest.
const DIGITS_SAFE: u8 = DECIMAL128_MAX_PRECISION - 3;

/// The function under its usual name.
pub(crate) fn checked_sum() -> AggregateUDF {
    AggregateUDF::new_from_impl(CheckedSum { inner: Sum::new() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedSum {
    inner: Sum,
}

/// Type in which a sum is made, where its own might wrap around.
fn wide_type(returned: &DataType) -> Option<DataType> {
    match returned {
        DataType::Int64 | DataType::UInt64 | DataType::Duration(_) => Some(WIDE),
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) => {
            Some(DataType::Decimal128(DECIMAL128_MAX_PRECISION, *scale))
        }
        DataType::Decimal128(digits, scale) if *digits > DIGITS_SAFE => {
            Some(DataType::Decimal256(DECIMAL256_MAX_PRECISION, *scale))
        }
        _ => None,
    }
}

/// Gives `make` the arguments, or those of a wider type.
fn widened<T>(args: AccumulatorArgs<'_>, make: impl FnOnce(AccumulatorArgs<'_>) -> Result<T>) -> Result<(T, Option<WideTypes>)> {
    let returned = args.return_field.data_type().clone();
    let Some(wide) = wide_type(&returned) else { return Ok((make(args)?, None)) };
    let name = args.name.to_owned();
    let inner = make(AccumulatorArgs { return_field: field_of(&args.return_field, &wide), ..args })?;
    Ok((inner, Some(WideTypes { name, wide, returned })))
}

fn checked(
    args: AccumulatorArgs<'_>,
    make: impl FnOnce(AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>>,
) -> Result<Box<dyn Accumulator>> {
    let returned = args.return_field.data_type();
    if needs_looking(returned) {
        if args.is_distinct {
            return not_impl_err!("{} of {returned}: sums of distinct ones have no room", args.name);
        }
        return exact_sum(args.name, returned);
    }
    widened(args, make).map(accumulator)
}

impl AggregateUDFImpl for CheckedSum {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        checked(args, |args| self.inner.accumulator(args))
    }

    fn create_sliding_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        // Over moving frames the engine has distinct sums of 64 bits only.
        if args.is_distinct {
            return not_impl_err!("{} over a moving frame", args.name);
        }
        checked(args, |args| self.inner.create_sliding_accumulator(args))
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        let wide = wide_type(args.return_type());
        let return_field = wide.map_or_else(|| args.return_field.clone(), |wide| field_of(&args.return_field, &wide));
        self.inner.state_fields(StateFieldsArgs { return_field, ..args })
    }

    /// False where additions are looked at: each group has an accumulator of its own.
    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        !needs_looking(args.return_field.data_type()) && self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        widened(args, |args| self.inner.create_groups_accumulator(args)).map(groups)
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        self.inner.reverse_expr()
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        self.inner.order_sensitivity()
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn set_monotonicity(&self, data_type: &DataType) -> SetMonotonicity {
        self.inner.set_monotonicity(data_type)
    }
}

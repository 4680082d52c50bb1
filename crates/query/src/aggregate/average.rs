//! `avg`, of durations in more than 64 bits.

use super::widened::{WIDE, WideTypes, accumulator, field_of, groups};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, plan_err};
use datafusion::functions_aggregate::average::Avg;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, GroupsAccumulator, ReversedUDAF, SetMonotonicity, Signature,
};

/// Type of durations as numbers: the engine adds these up in 38 digits.
const UNITS: DataType = DataType::Decimal128(25, 0);

/// Most digits of decimals whose sum can't wrap around in the engine's widest type.
const DIGITS_MAX: u8 = 63;

/// The function under its usual name.
pub(crate) fn checked_average() -> AggregateUDF {
    AggregateUDF::new_from_impl(CheckedAverage { inner: Avg::new() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedAverage {
    inner: Avg,
}

fn is_duration(returned: &FieldRef) -> bool {
    matches!(returned.data_type(), DataType::Duration(_))
}

/// Gives `make` the arguments, or those of numbers and the types of a duration.
fn widened<T>(args: AccumulatorArgs<'_>, make: impl FnOnce(AccumulatorArgs<'_>) -> Result<T>) -> Result<(T, Option<WideTypes>)> {
    if let Some(DataType::Decimal256(digits @ DIGITS_MAX.., scale)) = args.expr_fields.first().map(|field| field.data_type())
        && *digits > DIGITS_MAX
    {
        return plan_err!(
            "{}: decimals of {digits} digits have no room to be added up: CAST them AS DECIMAL({DIGITS_MAX},{scale}) or AS DOUBLE",
            args.name
        );
    }
    if !is_duration(&args.return_field) || args.is_distinct {
        return Ok((make(args)?, None));
    }
    let types = WideTypes { name: args.name.to_owned(), wide: WIDE, returned: args.return_field.data_type().clone() };
    let expr_fields: Vec<FieldRef> = args.expr_fields.iter().map(|field| field_of(field, &UNITS)).collect();
    let return_field = field_of(&args.return_field, &WIDE);
    Ok((make(AccumulatorArgs { return_field, expr_fields: &expr_fields, ..args })?, Some(types)))
}

impl AggregateUDFImpl for CheckedAverage {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(types)
    }

    fn accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        widened(args, |args| self.inner.accumulator(args)).map(accumulator)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        if !is_duration(&args.return_field) || args.is_distinct {
            return self.inner.state_fields(args);
        }
        let input_fields: Vec<FieldRef> = args.input_fields.iter().map(|field| field_of(field, &UNITS)).collect();
        let return_field = field_of(&args.return_field, &WIDE);
        self.inner.state_fields(StateFieldsArgs { return_field, input_fields: &input_fields, ..args })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
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

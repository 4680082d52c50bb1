//! `sum` of whole numbers, of which one beyond 64 bits is an error.
//!
//! # Why?
//! The engine's own wraps around: the sum of two large numbers is a negative one, without a word.
//! This one adds up in 128 bits and looks at the end.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Decimal128Array};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DECIMAL128_MAX_PRECISION, DataType, Decimal128Type, Field, FieldRef, Int64Type, UInt64Type};
use datafusion::common::{Result, ScalarValue, exec_datafusion_err, internal_err, not_impl_err};
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, Documentation, EmitTo, GroupsAccumulator, ReversedUDAF, SetMonotonicity,
    Signature,
};
use std::sync::Arc;

/// Type in which whole numbers are added up.
const WIDE: DataType = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);

/// The function under its usual name.
pub(crate) fn checked_sum() -> AggregateUDF {
    AggregateUDF::new_from_impl(CheckedSum { inner: Sum::new() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct CheckedSum {
    inner: Sum,
}

/// True if a sum is one of whole numbers.
fn is_whole(returned: &FieldRef) -> bool {
    matches!(returned.data_type(), DataType::Int64 | DataType::UInt64)
}

fn wide_field(returned: &FieldRef) -> FieldRef {
    Arc::new(Field::clone(returned).with_data_type(WIDE))
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
        let is_whole = is_whole(&args.return_field);
        let return_field = if is_whole { wide_field(&args.return_field) } else { args.return_field };
        self.inner.state_fields(StateFieldsArgs { return_field, ..args })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs<'_>) -> bool {
        self.inner.groups_accumulator_supported(args)
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        if !is_whole(&args.return_field) {
            return self.inner.create_groups_accumulator(args);
        }
        let (name, returned) = (args.name.to_owned(), args.return_field.data_type().clone());
        let args = AccumulatorArgs { return_field: wide_field(&args.return_field), ..args };
        Ok(Box::new(CheckedGroups { inner: self.inner.create_groups_accumulator(args)?, name, returned }))
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

fn checked(
    args: AccumulatorArgs<'_>,
    make: impl FnOnce(AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>>,
) -> Result<Box<dyn Accumulator>> {
    if !is_whole(&args.return_field) {
        return make(args);
    }
    let (name, returned) = (args.name.to_owned(), args.return_field.data_type().clone());
    let inner = make(AccumulatorArgs { return_field: wide_field(&args.return_field), ..args })?;
    Ok(Box::new(CheckedAccumulator { inner, name, returned }))
}

/// The numbers in 128 bits.
fn wide(values: &[ArrayRef]) -> Result<[ArrayRef; 1]> {
    let [values] = values else { return internal_err!("sum has one argument") };
    let wide: Decimal128Array = match values.data_type() {
        DataType::Int64 => values.as_primitive::<Int64Type>().unary::<_, Decimal128Type>(i128::from),
        DataType::UInt64 => values.as_primitive::<UInt64Type>().unary::<_, Decimal128Type>(i128::from),
        other => return internal_err!("{other} is no whole number of 64 bits"),
    };
    Ok([Arc::new(wide.with_precision_and_scale(DECIMAL128_MAX_PRECISION, 0)?)])
}

/// The sums in 64 bits.
fn narrow(sums: &ArrayRef, name: &str, returned: &DataType) -> Result<ArrayRef> {
    let options = CastOptions { safe: false, ..CastOptions::default() };
    cast_with_options(sums, returned, &options).map_err(|_| {
        exec_datafusion_err!(
            "{name} is beyond a whole number of 64 bits: CAST its argument AS DECIMAL(38,0) or AS DOUBLE for more room"
        )
    })
}

#[derive(Debug)]
struct CheckedAccumulator {
    inner: Box<dyn Accumulator>,
    name: String,
    returned: DataType,
}

impl Accumulator for CheckedAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(&wide(values)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(&wide(values)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let sum = self.inner.evaluate()?.to_array()?;
        ScalarValue::try_from_array(&narrow(&sum, &self.name, &self.returned)?, 0)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        self.inner.state()
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.inner.merge_batch(states)
    }
}

/// Sums of many groups.
struct CheckedGroups {
    inner: Box<dyn GroupsAccumulator>,
    name: String,
    returned: DataType,
}

impl GroupsAccumulator for CheckedGroups {
    fn update_batch(&mut self, values: &[ArrayRef], groups: &[usize], filter: Option<&BooleanArray>, total: usize) -> Result<()> {
        self.inner.update_batch(&wide(values)?, groups, filter, total)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        narrow(&self.inner.evaluate(emit_to)?, &self.name, &self.returned)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit_to)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.inner.merge_batch(states, groups, total)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(&wide(values)?, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

//! Accumulators that work in a wider type than their result has.

use datafusion::arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Decimal128Array, Decimal256Array};
use datafusion::arrow::compute::{CastOptions, cast, cast_with_options};
use datafusion::arrow::datatypes::{
    DECIMAL128_MAX_PRECISION, DECIMAL256_MAX_PRECISION, DataType, Decimal128Type, Decimal256Type, Field, FieldRef, Int64Type,
    UInt64Type, i256,
};
use datafusion::common::{DataFusionError, Result, ScalarValue, exec_datafusion_err, internal_err};
use datafusion::logical_expr::{Accumulator, EmitTo, GroupsAccumulator};
use std::sync::Arc;

/// Type in which numbers of 64 bits are added up: ten million million million of them have room.
pub(super) const WIDE: DataType = DataType::Decimal128(DECIMAL128_MAX_PRECISION, 0);

/// The same field with another type.
pub(super) fn field_of(field: &FieldRef, data_type: &DataType) -> FieldRef {
    Arc::new(Field::clone(field).with_data_type(data_type.clone()))
}

/// The two types of an accumulator, and its name in errors.
#[derive(Debug, Clone)]
pub(super) struct WideTypes {
    pub(super) name: String,
    pub(super) wide: DataType,
    pub(super) returned: DataType,
}

impl WideTypes {
    /// The numbers in the wider type.
    fn widen(&self, values: &[ArrayRef]) -> Result<[ArrayRef; 1]> {
        let [values] = values else { return internal_err!("{} has one argument", self.name) };
        let whole = |wide: Decimal128Array| -> Result<ArrayRef> {
            Ok(Arc::new(wide.with_precision_and_scale(DECIMAL128_MAX_PRECISION, 0)?))
        };
        Ok([match (values.data_type(), &self.wide) {
            (DataType::Int64, _) => whole(values.as_primitive::<Int64Type>().unary::<_, Decimal128Type>(i128::from))?,
            (DataType::UInt64, _) => whole(values.as_primitive::<UInt64Type>().unary::<_, Decimal128Type>(i128::from))?,
            (DataType::Duration(_), _) => {
                let units = cast(values, &DataType::Int64)?;
                whole(units.as_primitive::<Int64Type>().unary::<_, Decimal128Type>(i128::from))?
            }
            (DataType::Decimal128(..), DataType::Decimal256(_, scale)) => {
                let wide: Decimal256Array = values.as_primitive::<Decimal128Type>().unary::<_, Decimal256Type>(i256::from_i128);
                Arc::new(wide.with_precision_and_scale(DECIMAL256_MAX_PRECISION, *scale)?)
            }
            (_, wide) => cast(values, wide)?,
        }])
    }

    /// Results in their own type.
    fn narrow(&self, results: &ArrayRef) -> Result<ArrayRef> {
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let narrowed = match &self.returned {
            // A decimal is no duration by itself.
            DataType::Duration(_) => cast_with_options(results, &DataType::Int64, &options)
                .and_then(|units| cast_with_options(&units, &self.returned, &options)),
            returned => cast_with_options(results, returned, &options),
        };
        narrowed.map_err(|_| beyond(&self.name, &self.returned))
    }
}

/// The error of a result that its type has no room for.
pub(super) fn beyond(name: &str, returned: &DataType) -> DataFusionError {
    match returned {
        DataType::Duration(_) => exec_datafusion_err!(
            "{name} is beyond a duration of 64 bits: CAST its argument AS BIGINT, and that AS DECIMAL(38,0), for more room"
        ),
        DataType::Interval(_) => exec_datafusion_err!("{name} is beyond an interval of 64 bits"),
        DataType::Decimal32(digits, scale) | DataType::Decimal64(digits, scale) => {
            exec_datafusion_err!("{name} has more than {digits} digits: CAST its argument AS DECIMAL(38,{scale}) for more room")
        }
        DataType::Decimal128(digits, scale) => exec_datafusion_err!(
            "{name} has more than {digits} digits: CAST its argument AS DECIMAL(76,{scale}) or AS DOUBLE for more room"
        ),
        DataType::Decimal256(digits, _) => {
            exec_datafusion_err!("{name} has more than {digits} digits: CAST its argument AS DOUBLE for more room")
        }
        _ => exec_datafusion_err!(
            "{name} is beyond a whole number of 64 bits: CAST its argument AS DECIMAL(38,0) or AS DOUBLE for more room"
        ),
    }
}

/// The accumulator in its own type, where it has another.
pub(super) fn accumulator((inner, types): (Box<dyn Accumulator>, Option<WideTypes>)) -> Box<dyn Accumulator> {
    match types {
        Some(types) => Box::new(WidenedAccumulator { inner, types }),
        None => inner,
    }
}

/// The accumulator of groups in its own type, where it has another.
pub(super) fn groups((inner, types): (Box<dyn GroupsAccumulator>, Option<WideTypes>)) -> Box<dyn GroupsAccumulator> {
    match types {
        Some(types) => Box::new(WidenedGroups { inner, types }),
        None => inner,
    }
}

/// An accumulator of one group.
#[derive(Debug)]
struct WidenedAccumulator {
    inner: Box<dyn Accumulator>,
    types: WideTypes,
}

impl Accumulator for WidenedAccumulator {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.update_batch(&self.types.widen(values)?)
    }

    fn retract_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.inner.retract_batch(&self.types.widen(values)?)
    }

    fn supports_retract_batch(&self) -> bool {
        self.inner.supports_retract_batch()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let result = self.inner.evaluate()?.to_array()?;
        ScalarValue::try_from_array(&self.types.narrow(&result)?, 0)
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

/// An accumulator of many groups.
struct WidenedGroups {
    inner: Box<dyn GroupsAccumulator>,
    types: WideTypes,
}

impl GroupsAccumulator for WidenedGroups {
    fn update_batch(&mut self, values: &[ArrayRef], groups: &[usize], filter: Option<&BooleanArray>, total: usize) -> Result<()> {
        self.inner.update_batch(&self.types.widen(values)?, groups, filter, total)
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        self.types.narrow(&self.inner.evaluate(emit_to)?)
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        self.inner.state(emit_to)
    }

    fn merge_batch(&mut self, states: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.inner.merge_batch(states, groups, total)
    }

    fn convert_to_state(&self, values: &[ArrayRef], filter: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        self.inner.convert_to_state(&self.types.widen(values)?, filter)
    }

    fn size(&self) -> usize {
        self.inner.size()
    }
}

//! `date_trunc` of times in UTC at the speed of arithmetic.
//!
//! # Why?
//! The engine's own truncates a time with a zone by the calendar, which takes longer than reading
//! the line that has it. In UTC all days have 24 hours, so the zone may be left aside meanwhile.

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::{DataType, FieldRef, TimeUnit, TimestampMicrosecondType};
use datafusion::common::Result;
use datafusion::functions::datetime::date_trunc;
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
};
use std::sync::Arc;

/// The function under its usual name.
pub(crate) fn utc_trunc() -> ScalarUDF {
    ScalarUDF::from(UtcTrunc { inner: date_trunc() })
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct UtcTrunc {
    inner: Arc<ScalarUDF>,
}

impl ScalarUDFImpl for UtcTrunc {
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

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(inputs)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(ColumnarValue::Array(times)) = args.args.get_mut(1).filter(|times| is_utc(times)) else {
            return self.inner.invoke_with_args(args);
        };
        *times = Arc::new(times.as_primitive::<TimestampMicrosecondType>().clone().with_timezone_opt(None::<Arc<str>>));
        // The array has to have the promised type.
        let field = args.return_field.as_ref().clone().with_data_type(DataType::Timestamp(TimeUnit::Microsecond, None));
        args.return_field = Arc::new(field);
        match self.inner.invoke_with_args(args)? {
            ColumnarValue::Array(times) => {
                let times = times.as_primitive::<TimestampMicrosecondType>().clone().with_timezone("UTC");
                Ok(ColumnarValue::Array(Arc::new(times)))
            }
            scalar => Ok(scalar),
        }
    }
}

fn is_utc(times: &ColumnarValue) -> bool {
    let ColumnarValue::Array(times) = times else { return false };
    matches!(times.data_type(), DataType::Timestamp(TimeUnit::Microsecond, Some(zone)) if zone.as_ref() == "UTC")
}

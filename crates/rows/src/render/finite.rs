//! Numbers that JSON has no text for.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float16Type, Float32Type, Float64Type};
use arrow_array::{Array, ArrayRef, ArrowPrimitiveType, RecordBatch};
use arrow_schema::DataType;

/// How many values of a batch are NaN or infinite: as JSON they are null. Values of dictionaries count once.
#[must_use]
pub fn not_finite(batch: &RecordBatch) -> u64 {
    batch.columns().iter().map(of).sum()
}

fn of(array: &ArrayRef) -> u64 {
    match array.data_type() {
        DataType::Float16 => count::<Float16Type>(array, |value| value.is_finite()),
        DataType::Float32 => count::<Float32Type>(array, f32::is_finite),
        DataType::Float64 => count::<Float64Type>(array, f64::is_finite),
        DataType::Dictionary(..) => of(array.as_any_dictionary().values()),
        DataType::Struct(_) => array.as_struct().columns().iter().map(of).sum(),
        DataType::List(_) => of(array.as_list::<i32>().values()),
        DataType::LargeList(_) => of(array.as_list::<i64>().values()),
        DataType::FixedSizeList(..) => of(array.as_fixed_size_list().values()),
        DataType::Map(..) => array.as_map().entries().columns().iter().map(of).sum(),
        _ => 0,
    }
}

fn count<T: ArrowPrimitiveType>(array: &ArrayRef, is_finite: impl Fn(T::Native) -> bool) -> u64 {
    array.as_primitive::<T>().iter().flatten().filter(|value| !is_finite(*value)).count() as u64
}

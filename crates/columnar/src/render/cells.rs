//! The values of a batch, in the form that text is made from.

use super::time;
use crate::read::{is_plain, plain};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, DecimalType};
use arrow_array::types::{Float32Type, Float64Type, Int64Type, UInt64Type};
use arrow_array::types::{TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, LargeStringArray, OffsetSizeTrait, StringArray,
    UInt64Array,
};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_cast::cast;
use arrow_schema::extension::EXTENSION_TYPE_NAME_KEY;
use arrow_schema::{ArrowError, DataType, Field, TimeUnit};

/// Value of `ARROW:extension:name` of a text that is JSON.
const JSON_EXTENSION: &str = "arrow.json";

/// The values of a column.
pub(super) struct CellTexts {
    nulls: Option<NullBuffer>,
    pub(super) values: CellValues,
}

/// Values by how they are written.
pub(super) enum CellValues {
    Null,
    Bool(BooleanArray),
    Int(Int64Array),
    UInt(UInt64Array),
    Float(Float64Array),
    Float32(Float32Array),
    /// Numbers that are written as they are.
    Number(LargeStringArray),
    Text(StringArray),
    LargeText(LargeStringArray),
    /// Texts that are JSON.
    Raw(LargeStringArray),
    Time(ScalarBuffer<i64>, TimeUnit, bool),
    /// Numbers of values.
    Coded(Vec<usize>, Box<CellTexts>),
    /// Keys as JSON has them, with the colon.
    Struct(Vec<(Vec<u8>, CellTexts)>),
    List(Vec<usize>, Box<CellTexts>),
    Map(Vec<usize>, Box<CellTexts>, Box<CellTexts>),
}

impl CellTexts {
    /// The values of `array`.
    ///
    /// # Errors
    /// When its type has no text.
    pub(super) fn new(field: &Field, array: &ArrayRef) -> Result<Self, ArrowError> {
        Ok(Self { nulls: array.logical_nulls(), values: values(field, array)? })
    }

    pub(super) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Appends the value in `row` as JSON.
    pub(super) fn push_json(&self, row: usize, out: &mut Vec<u8>) {
        if self.is_null(row) {
            return out.extend_from_slice(b"null");
        }
        match &self.values {
            CellValues::Null => out.extend_from_slice(b"null"),
            CellValues::Text(texts) => push_text(out, texts.value(row)),
            CellValues::LargeText(texts) => push_text(out, texts.value(row)),
            CellValues::Time(values, unit, utc) => {
                out.push(b'"');
                time::push(out, values[row], *unit, *utc);
                out.push(b'"');
            }
            CellValues::Float(values) if !values.value(row).is_finite() => out.extend_from_slice(b"null"),
            CellValues::Float32(values) if !values.value(row).is_finite() => out.extend_from_slice(b"null"),
            CellValues::Coded(codes, values) => values.push_json(codes[row], out),
            CellValues::Struct(fields) => push_object(out, fields, row),
            CellValues::List(offsets, items) => push_list(out, offsets[row]..offsets[row + 1], items),
            CellValues::Map(offsets, keys, values) => push_map(out, offsets[row]..offsets[row + 1], keys, values),
            _ => self.push_plain(row, out),
        }
    }

    /// Appends a value that has the same text in every format, without quotes; of others nothing.
    pub(super) fn push_plain(&self, row: usize, out: &mut Vec<u8>) {
        match &self.values {
            CellValues::Bool(values) => out.extend_from_slice(if values.value(row) { b"true" } else { b"false" }),
            CellValues::Int(values) => push_number(out, values.value(row)),
            CellValues::UInt(values) => push_number(out, values.value(row)),
            CellValues::Float(values) => push_float(out, values.value(row)),
            CellValues::Float32(values) => push_float(out, values.value(row)),
            CellValues::Number(texts) => out.extend_from_slice(texts.value(row).as_bytes()),
            CellValues::Raw(texts) => push_raw(out, texts.value(row)),
            CellValues::Time(values, unit, utc) => time::push(out, values[row], *unit, *utc),
            _ => {}
        }
    }
}

/// Appends an object without the fields that are null.
pub(super) fn push_object(out: &mut Vec<u8>, fields: &[(Vec<u8>, CellTexts)], row: usize) {
    let mut before = b'{';
    for (key, cells) in fields.iter().filter(|(_, cells)| !cells.is_null(row)) {
        out.push(before);
        out.extend_from_slice(key);
        cells.push_json(row, out);
        before = b',';
    }
    if before == b'{' {
        out.push(before);
    }
    out.push(b'}');
}

fn push_list(out: &mut Vec<u8>, places: std::ops::Range<usize>, items: &CellTexts) {
    out.push(b'[');
    for place in places.clone() {
        if place > places.start {
            out.push(b',');
        }
        items.push_json(place, out);
    }
    out.push(b']');
}

fn push_map(out: &mut Vec<u8>, places: std::ops::Range<usize>, keys: &CellTexts, values: &CellTexts) {
    out.push(b'{');
    for place in places.clone() {
        if place > places.start {
            out.push(b',');
        }
        // A key that is no text becomes one: keys are texts in JSON.
        let start = out.len();
        keys.push_json(place, out);
        if out.get(start) != Some(&b'"') {
            let key = String::from_utf8_lossy(&out[start..]).into_owned();
            out.truncate(start);
            push_text(out, &key);
        }
        out.push(b':');
        values.push_json(place, out);
    }
    out.push(b'}');
}

/// Appends a text that is JSON, on one line: outside its strings, which have none, a line's end is
/// white space.
pub(super) fn push_raw(out: &mut Vec<u8>, json: &str) {
    out.extend(json.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
}

/// The bytes that JSON texts can't have as they are.
const ESCAPED: [bool; 256] = {
    let mut escaped = [false; 256];
    let mut byte = 0;
    while byte < 0x20 {
        escaped[byte] = true;
        byte += 1;
    }
    escaped[b'"' as usize] = true;
    escaped[b'\\' as usize] = true;
    escaped
};

/// Appends a text with quotes around it.
pub(super) fn push_text(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some(place) = rest.iter().position(|byte| ESCAPED[*byte as usize]) {
        out.extend_from_slice(&rest[..place]);
        push_escape(out, rest[place]);
        rest = &rest[place + 1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

fn push_escape(out: &mut Vec<u8>, byte: u8) {
    let short = match byte {
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        b'"' | b'\\' => byte,
        _ => {
            let digit = |nibble: u8| b"0123456789abcdef"[nibble as usize];
            return out.extend_from_slice(&[b'\\', b'u', b'0', b'0', digit(byte >> 4), digit(byte & 15)]);
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

fn push_number(out: &mut Vec<u8>, value: impl serde::Serialize) {
    // Writing to memory does not fail.
    let _ = serde_json::to_writer(out, &value);
}

/// The shortest text that reads as the same number.
fn push_float<F: Copy + Into<f64> + serde::Serialize + std::fmt::Display>(out: &mut Vec<u8>, value: F) {
    if Into::<f64>::into(value).is_finite() {
        push_number(out, value);
    } else {
        out.extend_from_slice(value.to_string().as_bytes());
    }
}

/// True if a text is JSON.
pub(super) fn is_json(field: &Field) -> bool {
    field.metadata().get(EXTENSION_TYPE_NAME_KEY).is_some_and(|name| name == JSON_EXTENSION)
}

fn values(field: &Field, array: &ArrayRef) -> Result<CellValues, ArrowError> {
    Ok(match array.data_type() {
        DataType::Null => CellValues::Null,
        DataType::Boolean => CellValues::Bool(array.as_boolean().clone()),
        DataType::Float64 => CellValues::Float(array.as_primitive::<Float64Type>().clone()),
        DataType::Float32 => CellValues::Float32(array.as_primitive::<Float32Type>().clone()),
        DataType::Float16 => CellValues::Float32(cast(array, &DataType::Float32)?.as_primitive::<Float32Type>().clone()),
        data_type if data_type.is_signed_integer() => {
            CellValues::Int(cast(array, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
        }
        data_type if data_type.is_unsigned_integer() => {
            CellValues::UInt(cast(array, &DataType::UInt64)?.as_primitive::<UInt64Type>().clone())
        }
        data_type if data_type.is_decimal() => CellValues::Number(decimals(array)?),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View if is_json(field) => CellValues::Raw(texts(array)?),
        DataType::Utf8 => CellValues::Text(array.as_string::<i32>().clone()),
        DataType::Timestamp(unit, zone) => CellValues::Time(instants(array, *unit), *unit, zone.is_some()),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => {
            CellValues::Text(hex(array)?)
        }
        other if !is_plain(other) => return values(field, &plain(ArrayRef::clone(array))?),
        _ => return nested(array),
    })
}

fn nested(array: &ArrayRef) -> Result<CellValues, ArrowError> {
    Ok(match array.data_type() {
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let values = dictionary.values();
            // Codes of nulls may be anything.
            let codes = if values.is_empty() { vec![0; array.len()] } else { dictionary.normalized_keys() };
            let field = Field::new("", values.data_type().clone(), true);
            CellValues::Coded(codes, Box::new(CellTexts::new(&field, values)?))
        }
        DataType::Struct(fields) => CellValues::Struct(members(fields.iter().map(AsRef::as_ref), array.as_struct().columns())?),
        DataType::List(item) => list::<i32>(item, array)?,
        DataType::LargeList(item) => list::<i64>(item, array)?,
        DataType::FixedSizeList(item, length) => {
            let length = usize::try_from(*length).unwrap_or(0);
            let offsets = (0..=array.len()).map(|row| row * length).collect();
            CellValues::List(offsets, Box::new(CellTexts::new(item, array.as_fixed_size_list().values())?))
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let (keys, values) = (map.keys(), map.values());
            let key_field = Field::new("", keys.data_type().clone(), false);
            let value_field = Field::new("", values.data_type().clone(), true);
            let offsets = map.offsets().iter().map(|offset| *offset as usize).collect();
            CellValues::Map(offsets, Box::new(CellTexts::new(&key_field, keys)?), Box::new(CellTexts::new(&value_field, values)?))
        }
        _ => CellValues::LargeText(texts(array)?),
    })
}

/// Fields with their keys as JSON has them.
pub(super) fn members<'a>(
    fields: impl Iterator<Item = &'a Field>,
    arrays: &[ArrayRef],
) -> Result<Vec<(Vec<u8>, CellTexts)>, ArrowError> {
    let member = |(field, array): (&Field, &ArrayRef)| {
        let mut key = Vec::new();
        push_text(&mut key, field.name());
        key.push(b':');
        Ok((key, CellTexts::new(field, array)?))
    };
    fields.zip(arrays).map(member).collect()
}

fn list<O: OffsetSizeTrait>(item: &Field, array: &ArrayRef) -> Result<CellValues, ArrowError> {
    let list = array.as_list::<O>();
    let offsets = list.offsets().iter().map(|offset| offset.as_usize()).collect();
    Ok(CellValues::List(offsets, Box::new(CellTexts::new(item, list.values())?)))
}

fn texts(array: &ArrayRef) -> Result<LargeStringArray, ArrowError> {
    Ok(cast(array, &DataType::LargeUtf8)?.as_string::<i64>().clone())
}

/// Decimals with all their digits, also those beyond their type's.
fn decimals(array: &ArrayRef) -> Result<LargeStringArray, ArrowError> {
    fn texts<T: DecimalType>(array: &ArrayRef, scale: i8) -> LargeStringArray
    where
        T::Native: std::fmt::Display,
    {
        array.as_primitive::<T>().iter().map(|value| value.map(|value| decimal(&value.to_string(), scale))).collect()
    }
    Ok(match array.data_type() {
        DataType::Decimal32(_, scale) => texts::<Decimal32Type>(array, *scale),
        DataType::Decimal64(_, scale) => texts::<Decimal64Type>(array, *scale),
        DataType::Decimal128(_, scale) => texts::<Decimal128Type>(array, *scale),
        DataType::Decimal256(_, scale) => texts::<Decimal256Type>(array, *scale),
        other => return Err(ArrowError::CastError(format!("{other} is not a decimal"))),
    })
}

/// A number in units of its last place, with its point.
fn decimal(units: &str, scale: i8) -> String {
    let (sign, digits) = units.strip_prefix('-').map_or(("", units), |digits| ("-", digits));
    let places = usize::from(scale.unsigned_abs());
    if scale <= 0 {
        let zeros = if digits == "0" { 0 } else { places };
        return format!("{sign}{digits}{}", "0".repeat(zeros));
    }
    let digits = format!("{digits:0>width$}", width = places + 1);
    let (whole, fraction) = digits.split_at(digits.len() - places);
    format!("{sign}{whole}.{fraction}")
}

fn instants(array: &ArrayRef, unit: TimeUnit) -> ScalarBuffer<i64> {
    match unit {
        TimeUnit::Second => array.as_primitive::<TimestampSecondType>().values().clone(),
        TimeUnit::Millisecond => array.as_primitive::<TimestampMillisecondType>().values().clone(),
        TimeUnit::Microsecond => array.as_primitive::<TimestampMicrosecondType>().values().clone(),
        TimeUnit::Nanosecond => array.as_primitive::<TimestampNanosecondType>().values().clone(),
    }
}

/// Bytes in hexadecimal.
fn hex(array: &ArrayRef) -> Result<StringArray, ArrowError> {
    let bytes = cast(array, &DataType::LargeBinary)?;
    let digits = |value: &[u8]| value.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    Ok(bytes.as_binary::<i64>().iter().map(|value| value.map(digits)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Decimal128Array, Decimal256Array};
    use arrow_buffer::i256;
    use std::sync::Arc;

    #[test]
    fn decimals_have_all_their_digits() {
        for (units, scale, expected) in [
            ("12345", 2, "123.45"),
            ("-5", 3, "-0.005"),
            ("0", 2, "0.00"),
            ("7", 0, "7"),
            ("7", -2, "700"),
            ("0", -2, "0"),
            ("-1234", 4, "-0.1234"),
        ] {
            assert_eq!(decimal(units, scale), expected);
        }
        // More digits than the type says; a library that cuts them prints 1.23 and 99.
        let beyond: ArrayRef =
            Arc::new(Decimal128Array::from(vec![Some(12345), None, Some(-7)]).with_data_type(DataType::Decimal128(3, 2)));
        let texts = decimals(&beyond).unwrap();
        assert_eq!(texts.iter().collect::<Vec<_>>(), [Some("123.45"), None, Some("-0.07")]);
        let wide: ArrayRef =
            Arc::new(Decimal256Array::from(vec![i256::from_i128(9999)]).with_data_type(DataType::Decimal256(2, 0)));
        assert_eq!(decimals(&wide).unwrap().value(0), "9999");
    }
}

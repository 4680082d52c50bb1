//! Columns as row stores have them, of foreign types.

use arrow_array::types::{Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, Date32Array, Date64Array, Decimal128Array, Decimal256Array, DictionaryArray, Float32Array, Int8Array, Int32Array,
    LargeStringArray, RecordBatch, StringArray, StructArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray,
};
use arrow_buffer::{NullBuffer, i256};
use arrow_schema::{DataType, Field};
use rorqual_accesslog::schema::{NumberUnit, float_step, integer_step};
use rorqual_accesslog::{ABSENT, NO_TIME};
use rorqual_columnar::render::{FlatBatch, FlatColumns};
use std::sync::Arc;

fn flat(columns: Vec<(&str, ArrayRef)>) -> (FlatColumns, FlatBatch) {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
    let columns = FlatColumns::new(&batch.schema());
    let rows = columns.batch(&batch).unwrap();
    (columns, rows)
}

#[test]
fn floats_and_decimals_are_the_numbers_that_are_shown() {
    let singles: ArrayRef =
        Arc::new(Float32Array::from(vec![Some(0.1), None, Some(f32::NAN), Some(f32::INFINITY), Some(-1.5e-45)]));
    // 0.1 with 30 decimals: ten to the power of 30 is no double.
    let tenth = 100_000_000_000_000_000_000_000_000_000;
    let decimals: ArrayRef = Arc::new(
        Decimal128Array::from(vec![Some(tenth), None, Some(-3 * tenth), Some(1), Some(0)])
            .with_data_type(DataType::Decimal128(38, 30)),
    );
    let wide: ArrayRef = Arc::new(
        Decimal256Array::from(vec![Some(i256::from_i128(12_345)), None, None, Some(i256::from_i128(-5)), None])
            .with_data_type(DataType::Decimal256(60, 2)),
    );
    let (columns, rows) = flat(vec![("single", singles), ("decimal", decimals), ("wide", wide)]);
    assert!(columns.own().iter().all(|own| own.unit == Some(NumberUnit::Float)));
    let step = float_step;
    assert_eq!(rows.numbers[0], [step(0.1), ABSENT, ABSENT, step(f64::INFINITY), step(-1e-45)]);
    assert_eq!(rows.numbers[1], [step(0.1), ABSENT, step(-0.3), step(1e-30), step(0.0)]);
    assert_eq!(rows.numbers[2], [step(123.45), ABSENT, ABSENT, step(-0.05), ABSENT]);
}

/// Slices of arrays, keys of nulls that are no keys, and dictionaries with nulls or without values.
#[test]
fn texts_are_those_of_the_rows_however_they_are_stored() {
    let plain: ArrayRef = Arc::new(StringArray::from(vec![Some("before"), Some("a"), None, Some(""), Some("né")]).slice(1, 4));
    let keys = Int8Array::new(vec![2, 0, 1, -7].into(), Some(NullBuffer::from(vec![true, true, true, false])));
    let values = Arc::new(StringArray::from(vec![Some("x"), None, Some("longer")]));
    let coded: ArrayRef = Arc::new(DictionaryArray::new(keys, values));
    let no_values = Arc::new(StringArray::from(Vec::<&str>::new()));
    let empty: ArrayRef = Arc::new(DictionaryArray::new(Int8Array::new_null(4), no_values));
    let large: ArrayRef = Arc::new(LargeStringArray::from(vec![None, Some("b"), Some("c"), None]));
    let (_, rows) = flat(vec![("plain", plain), ("coded", coded), ("empty", empty), ("large", large)]);
    let texts =
        |column: usize| -> Vec<&str> { (0..4).map(|row| std::str::from_utf8(rows.texts[column].text(row)).unwrap()).collect() };
    assert_eq!(texts(0), ["a", "", "", "né"]);
    assert_eq!(texts(1), ["longer", "x", "", ""]);
    assert_eq!(texts(2), ["", "", "", ""]);
    assert_eq!(texts(3), ["", "b", "c", ""]);
}

#[test]
fn moments_are_rounded_down_and_end_at_the_range() {
    let nanoseconds: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![Some(-1), Some(1_999), None]));
    let milliseconds: ArrayRef = Arc::new(TimestampMillisecondArray::from(vec![Some(i64::MAX), Some(i64::MIN), Some(2)]));
    let seconds: ArrayRef = Arc::new(TimestampSecondArray::from(vec![Some(-62_135_596_800), Some(i64::MAX), None]));
    let days: ArrayRef = Arc::new(Date32Array::from(vec![Some(20_480), Some(-1), Some(i32::MAX)]));
    let day_times: ArrayRef = Arc::new(Date64Array::from(vec![Some(86_400_000), None, Some(-86_400_000)]));
    let (columns, rows) =
        flat(vec![("ns", nanoseconds), ("time", milliseconds), ("s", seconds), ("day", days), ("day_time", day_times)]);
    let step = |moment: Option<i64>| moment.map_or(ABSENT, integer_step);
    let expected = [
        [Some(-1), Some(1), None],
        [Some(i64::MAX), Some(i64::MIN), Some(2_000)],
        [Some(-62_135_596_800_000_000), Some(i64::MAX), None],
        [Some(1_769_472_000_000_000), Some(-86_400_000_000), Some(i64::MAX)],
        [Some(86_400_000_000), None, Some(-86_400_000_000)],
    ];
    for (column, moments) in expected.into_iter().enumerate() {
        assert_eq!(rows.numbers[column], moments.map(step), "{column}");
    }
    assert_eq!(columns.time(), Some("time"));
    // The least of all is no time's place.
    assert_eq!(rows.times_us, [i64::MAX, NO_TIME + 1, 2_000]);
}

#[test]
fn a_dictionary_of_numbers_is_numbers() {
    let codes: DictionaryArray<Int8Type> = DictionaryArray::new(
        vec![Some(1), Some(0), None, Some(2)].into(),
        Arc::new(Int32Array::from(vec![Some(7), Some(-2), None])),
    );
    let singles: DictionaryArray<Int32Type> =
        DictionaryArray::new(vec![0, 0, 1, 1].into(), Arc::new(Float32Array::from(vec![0.1, 2.5])));
    let moments: DictionaryArray<Int8Type> =
        DictionaryArray::new(vec![0, 1, 1, 0].into(), Arc::new(TimestampSecondArray::from(vec![Some(5), None])));
    let texts: DictionaryArray<Int8Type> = vec![Some("a"), None, Some("b"), Some("a")].into_iter().collect();
    let (columns, rows) = flat(vec![
        ("whole", Arc::new(codes)),
        ("single", Arc::new(singles)),
        ("moment", Arc::new(moments)),
        ("text", Arc::new(texts)),
    ]);
    let units: Vec<_> = columns.own().into_iter().map(|own| own.unit).collect();
    // The pattern of the texts follows them.
    assert_eq!(units, [Some(NumberUnit::Integer), Some(NumberUnit::Float), Some(NumberUnit::Moment), None, None]);
    assert_eq!(rows.numbers[0], [integer_step(-2), integer_step(7), ABSENT, ABSENT]);
    assert_eq!(rows.numbers[1], [0.1, 0.1, 2.5, 2.5].map(float_step));
    assert_eq!(rows.times_us, [5_000_000, NO_TIME, NO_TIME, 5_000_000]);
    let found: Vec<_> = (0..4).map(|row| rows.texts[0].text(row)).collect();
    assert_eq!(found, [&b"a"[..], b"", b"b", b"a"]);
}

#[test]
fn every_column_has_a_name_of_its_own() {
    let column = || -> ArrayRef { Arc::new(StringArray::from(vec!["x"])) };
    let inner = StructArray::new(
        vec![Field::new("b", DataType::Int32, true)].into(),
        vec![Arc::new(Int32Array::from(vec![5]))],
        Some(NullBuffer::from(vec![false])),
    );
    let (columns, rows) = flat(vec![
        ("a", column()),
        ("a", column()),
        ("a#2", column()),
        ("a.b", column()),
        ("a", Arc::new(inner)),
        ("a", column()),
    ]);
    let names: Vec<_> = columns.own().into_iter().map(|own| own.name).collect();
    assert_eq!(names, ["a", "a#3", "a#2", "a.b", "a.b#2", "a#4"]);
    assert_eq!(rows.numbers[0], [ABSENT], "the object around it is null");
}

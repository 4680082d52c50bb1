//! Shared by the tests of JSON: documents as a tree of literals, chunks of any block size, and
//! columns compared with documents.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch, make_array};
use arrow_cast::display::{ArrayFormatter, FormatOptions};
use arrow_cast::parse::string_to_timestamp_nanos;
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rorqual_columnar::json::{JsonDecoder, JsonInferrer, JsonSplitter, Layout};
use rorqual_columnar::{BadRecord, Decode, DecodeNote, DecodedRecords, Infer, Notes, Shape, Unplaced};
use rorqual_pipe::{Chunk, SplitError, Splitter};

/// A document, with its numbers as they are written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// The document as JSON, with `space` wherever white space may be.
    pub(crate) fn to_json(&self, space: &str) -> String {
        let text = |text: &str| serde_json::Value::from(text).to_string();
        match self {
            Self::Null => "null".into(),
            Self::Bool(value) => value.to_string(),
            Self::Number(literal) => literal.clone(),
            Self::Text(value) => text(value),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(|item| item.to_json(space)).collect();
                format!("[{space}{}{space}]", items.join(&format!("{space},{space}")))
            }
            Self::Object(fields) => {
                let field = |(key, value): &(String, Self)| format!("{}{space}:{space}{}", text(key), value.to_json(space));
                let fields: Vec<String> = fields.iter().map(field).collect();
                format!("{{{space}{}{space}}}", fields.join(&format!("{space},{space}")))
            }
        }
    }

    /// The last value of a key.
    fn field(&self, key: &str) -> &Self {
        match self {
            Self::Object(fields) => fields.iter().rev().find(|(name, _)| name == key).map_or(&Self::Null, |(_, value)| value),
            _ => &Self::Null,
        }
    }
}

/// Keys that meet often, some of them odd.
const KEYS: [&str; 9] = ["a", "b", "id", "c d", "schlüssel", "\"quoted\\", "", "_rest", "value"];

const NUMBERS: [&str; 24] = [
    "0",
    "-0",
    "1",
    "-17",
    "9007199254740992",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "0.1",
    "-0.0",
    "1e5",
    "1.50",
    "1E-7",
    "0.1000000000000000055",
    "1e400",
    "1e-400",
    "123456789012345.678",
    "2.2250738585072011e-308",
    "12345678901234567890.5",
    "1e22",
];

const TEXTS: [&str; 16] = [
    "",
    "a",
    "naïve 🚀 日本",
    "with \"quotes\" and \\ back",
    "line\nline\ttab\u{1}",
    "2025-01-01T00:00:00Z",
    "2024-02-29T23:59:59.123Z",
    "1969-12-31T23:59:59.999999Z",
    "2025-02-29T00:00:00Z",
    "2025-01-01T00:00:00+01:00",
    "2025-01-01 12:34:56.5",
    "2025-06-30T23:59:59.123456789-08:00",
    "2024-02-29",
    "1700-01-01T00:00:00.1Z",
    "{\"not\": [\"json\"",
    "0123456789abcdef0123456789abcdef",
];

pub(crate) fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just(Tree::Null),
        any::<bool>().prop_map(Tree::Bool),
        select(&NUMBERS[..]).prop_map(|literal| Tree::Number(literal.into())),
        any::<i64>().prop_map(|value| Tree::Number(value.to_string())),
        any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(|value| Tree::Number(format!("{value:e}"))),
        select(&TEXTS[..]).prop_map(|text| Tree::Text(text.into())),
        ".{0,40}".prop_map(Tree::Text),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| prop_oneof![vec(inner.clone(), 0..5).prop_map(Tree::List), object(inner)])
}

fn object(value: impl Strategy<Value = Tree>) -> impl Strategy<Value = Tree> {
    let key = prop_oneof![8 => select(&KEYS[..]).prop_map(String::from), 1 => ".{0,8}"];
    vec((key, value), 0..6).prop_map(Tree::Object)
}

/// Records: mostly objects.
pub(crate) fn records() -> impl Strategy<Value = Vec<Tree>> {
    prop_oneof![4 => vec(object(tree()), 0..12), 1 => vec(tree(), 0..12)]
}

pub(crate) fn layouts() -> Vec<Layout> {
    vec![Layout::Lines, Layout::Documents, Layout::Array, Layout::Rows(vec!["data".into(), "the \"items\"".into()])]
}

/// Records as an input of that layout.
pub(crate) fn render(records: &[Tree], layout: &Layout, space: &str) -> String {
    let each = |between: &str| records.iter().map(|record| record.to_json(space)).collect::<Vec<_>>().join(between);
    match layout {
        Layout::Lines => records.iter().map(|record| record.to_json("") + "\n").collect(),
        Layout::Documents => each(if space.is_empty() { " " } else { space }),
        Layout::Array => format!("{space}[{space}{}{space}]{space}", each(&format!("{space},{space}"))),
        Layout::Members(_) => {
            let member = |(number, record): (usize, &Tree)| format!("\"{number}\"{space}:{space}{}", record.to_json(space));
            let members = records.iter().enumerate().map(member).collect::<Vec<_>>().join(&format!("{space},{space}"));
            format!("{space}{{{space}{members}{space}}}{space}")
        }
        Layout::Rows(_) => {
            let items = each(&format!("{space},{space}"));
            let before = r#"{"head":[{"data":{"the \"items\"":[]}}],"text":"[","data""#;
            format!(
                r#"{before}{space}:{{"x":1,"the \u0022items\"":[{space}{items}{space}],"after":{{"data":[1]}}}},"end":"]}}"}}{space}"#
            )
        }
    }
}

/// The chunks that an input is cut into.
pub(crate) fn chunks(input: &[u8], layout: &Layout, block_bytes: usize) -> (Vec<Chunk>, Result<(), SplitError>) {
    let bytes = Bytes::copy_from_slice(input);
    let mut chunks = Vec::new();
    let mut splitter: Box<dyn Splitter> =
        if *layout == Layout::Lines { Box::new(Newlines) } else { Box::new(JsonSplitter::new(layout)) };
    let (mut carried, mut outcome) = (0..0, Ok(()));
    for start in (0..input.len()).step_by(block_bytes) {
        let block = &input[start..(start + block_bytes).min(input.len())];
        let split = match splitter.split(block) {
            Ok(split) => split,
            Err(fault) => {
                outcome = Err(fault);
                break;
            }
        };
        assert!(split.records.end <= block.len() && split.first_end.is_some() == split.last_end.is_some(), "{split:?}");
        assert!(split.records.start == 0 || carried.is_empty(), "dropped a record's start");
        assert!(split.records.end == block.len() || split.last_end == Some(split.records.end), "dropped a record's end");
        if carried.is_empty() {
            carried = start + split.records.start..start;
        }
        if let Some(end) = split.last_end {
            chunks.push(chunk(&bytes, carried.start..start + end));
            carried.start = start + end;
        }
        carried.end = start + split.records.end;
    }
    if outcome.is_ok() {
        outcome = splitter.finish();
    }
    if !carried.is_empty() {
        chunks.push(chunk(&bytes, carried));
    }
    chunks.retain(|chunk| !chunk.bytes.is_empty());
    (chunks, outcome)
}

fn chunk(bytes: &Bytes, range: std::ops::Range<usize>) -> Chunk {
    let mut chunk = Chunk::empty(range.start as u64, usize::MAX);
    chunk.bytes = bytes.slice(range);
    chunk
}

struct Newlines;

impl Splitter for Newlines {
    fn split(&mut self, bytes: &[u8]) -> Result<rorqual_pipe::RecordEnds, SplitError> {
        let ends: Vec<usize> = (0..bytes.len()).filter(|index| bytes[*index] == b'\n').map(|index| index + 1).collect();
        Ok(rorqual_pipe::RecordEnds { records: 0..bytes.len(), first_end: ends.first().copied(), last_end: ends.last().copied() })
    }

    fn finish(&mut self) -> Result<(), SplitError> {
        Ok(())
    }
}

/// The shape of an input, and its bad records.
pub(crate) fn infer(input: &[u8], layout: &Layout, block_bytes: usize) -> (Shape, Vec<BadRecord>) {
    let mut inferrer = JsonInferrer::new(layout);
    let (mut shape, mut bad) = (Shape::default(), Vec::new());
    for chunk in chunks(input, layout, block_bytes).0 {
        let inferred = inferrer.infer(&chunk).unwrap();
        shape.merge(inferred.shape);
        bad.extend(inferred.bad);
    }
    (shape, bad)
}

/// All rows of an input under a schema.
pub(crate) fn decode(input: &[u8], layout: &Layout, schema: &Schema, unplaced: Unplaced, block_bytes: usize) -> DecodedRecords {
    let mut decoder = JsonDecoder::new(layout, &schema.clone().into(), unplaced, 32 << 20);
    let mut all = DecodedRecords::default();
    for chunk in chunks(input, layout, block_bytes).0 {
        let mut start = Some(0);
        while let Some(from) = start {
            let decoded = decoder.decode(&chunk.from(from)).unwrap();
            all.batches.extend(decoded.batches);
            all.bad.extend(decoded.bad);
            all.notes.merge(&decoded.notes);
            if let Some(misfit) = decoded.misfit {
                all.misfit.get_or_insert_default().merge(misfit);
            }
            start = decoded.rest.map(|rest| from + rest);
        }
    }
    all
}

/// Infers and decodes, with a column `_rest` or none.
pub(crate) fn convert(input: &[u8], layout: &Layout, rest: bool) -> DecodedRecords {
    let schema = infer(input, layout, 64).0.to_schema(rest);
    decode(input, layout, &schema, Unplaced::Keep, 50)
}

/// The cells of a column, as text; null is `∅`.
pub(crate) fn column(batches: &[RecordBatch], name: &str) -> Vec<String> {
    let options = FormatOptions::new().with_null("∅");
    let cells = |batch: &RecordBatch| {
        let array = batch.column_by_name(name).expect("the column");
        let formatter = ArrayFormatter::try_new(array, &options).unwrap();
        (0..batch.num_rows()).map(|row| formatter.value(row).to_string()).collect::<Vec<_>>()
    };
    batches.iter().flat_map(cells).collect()
}

pub(crate) fn notes(notes: &Notes) -> Vec<(rorqual_columnar::DecodeNote, u64)> {
    DecodeNote::ALL.into_iter().filter_map(|note| Some((note, notes.get(note)?.times))).collect()
}

/// Checks that the rows are these records.
pub(crate) fn check_rows(batches: &[RecordBatch], schema: &Schema, records: &[Tree]) {
    let whole = schema.fields().iter().any(|field| field.metadata().contains_key("rorqual:record"));
    let mut records = records.iter();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let record = records.next().expect("no more rows than records");
            for (field, column) in schema.fields().iter().zip(batch.columns()) {
                let value = if whole { record } else { record.field(field.name()) };
                if is_rest(field) && !whole && *record == Tree::Null {
                    // A null among objects is no object without fields.
                    check(column, row, field, &Tree::Object(vec![("$".into(), Tree::Null)]));
                } else if is_rest(field) && has_key(record, "_rest") {
                    // A column of that name is where it goes, with its key.
                    check(column, row, field, &Tree::Object(vec![("_rest".into(), value.clone())]));
                } else {
                    check(column, row, field, value);
                }
            }
        }
    }
    assert!(records.next().is_none(), "fewer rows than records");
}

fn is_rest(field: &Field) -> bool {
    field.name() == "_rest" && field.extension_type_name() == Some("arrow.json")
}

fn has_key(record: &Tree, key: &str) -> bool {
    matches!(record, Tree::Object(fields) if fields.iter().any(|(name, _)| name == key))
}

fn check(array: &dyn Array, row: usize, field: &Field, expected: &Tree) {
    let what = || format!("{field:?} in row {row}, of {expected:?}");
    if *expected == Tree::Null {
        assert!(array.is_null(row), "{}", what());
        return;
    }
    assert!(array.is_valid(row), "{}", what());
    match (field.data_type(), expected) {
        (DataType::Boolean, Tree::Bool(value)) => assert_eq!(array.as_boolean().value(row), *value),
        (DataType::Int64, Tree::Number(literal)) => {
            assert_eq!(array.as_primitive::<Int64Type>().value(row).to_string(), *literal);
        }
        (DataType::UInt64, Tree::Number(literal)) => {
            assert_eq!(array.as_primitive::<UInt64Type>().value(row).to_string(), *literal);
        }
        (DataType::Float64, Tree::Number(literal)) => {
            let value = array.as_primitive::<Float64Type>().value(row);
            assert_eq!(value.to_bits(), literal.parse::<f64>().unwrap().to_bits(), "{}", what());
        }
        (DataType::Timestamp(unit, _), Tree::Text(text)) => {
            let nanoseconds = string_to_timestamp_nanos(text).unwrap();
            let per_unit = match unit {
                TimeUnit::Second => 1_000_000_000,
                TimeUnit::Millisecond => 1_000_000,
                TimeUnit::Microsecond => 1_000,
                TimeUnit::Nanosecond => 1,
            };
            // Of the same instants without a zone, which needs no data of zones.
            let data = array.to_data().into_builder().data_type(DataType::Int64).build().unwrap();
            let plain = make_array(data);
            assert_eq!(plain.as_primitive::<Int64Type>().value(row) * per_unit, nanoseconds, "{}", what());
        }
        (DataType::Date32, Tree::Text(text)) => {
            let formatter = ArrayFormatter::try_new(array, &FormatOptions::new()).unwrap();
            assert_eq!(formatter.value(row).to_string(), *text);
        }
        (DataType::Utf8, _) if field.extension_type_name() == Some("arrow.json") => {
            assert_eq!(array.as_string::<i32>().value(row), expected.to_json(""));
        }
        (DataType::Utf8, Tree::Text(text)) => assert_eq!(array.as_string::<i32>().value(row), text),
        (DataType::Utf8, Tree::Number(_) | Tree::Bool(_)) => {
            assert_eq!(array.as_string::<i32>().value(row), expected.to_json(""));
        }
        (DataType::List(item), Tree::List(items)) => {
            let list = array.as_list::<i32>().value(row);
            assert_eq!(list.len(), items.len(), "{}", what());
            items.iter().enumerate().for_each(|(index, expected)| check(&list, index, item, expected));
        }
        (DataType::Struct(fields), Tree::Object(_)) => {
            let columns = array.as_struct();
            fields
                .iter()
                .zip(columns.columns())
                .for_each(|(field, column)| check(column, row, field, expected.field(field.name())));
        }
        _ => panic!("{}", what()),
    }
}

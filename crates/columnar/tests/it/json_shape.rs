//! Shapes: merging, types, schemas and their text.

use crate::json_common::{Tree, infer, layouts, records, render};
use arrow_schema::Schema;
use proptest::prelude::*;
use rorqual_columnar::json::Layout;
use rorqual_columnar::{Shape, format_schema, parse_schema};

fn shape(input: &str) -> Shape {
    infer(input.as_bytes(), &Layout::Documents, 64).0
}

/// The schema of some records as text, without white space.
fn schema(input: &str) -> String {
    format_schema(&shape(input).to_schema(false)).replace(['\n', ' '], "")
}

proptest! {
    #[test]
    fn merging_does_not_depend_on_the_cuts(records in records(), first in 0_usize..12, second in 0_usize..12) {
        let part = |range: &[Tree]| shape(&render(range, &Layout::Documents, " "));
        let (first, second) = (first.min(records.len()), second.min(records.len()));
        let (first, second) = (first.min(second), first.max(second));
        let merged = |mut a: Shape, b: Shape| { a.merge(b); a };
        let (a, b, c) = (part(&records[..first]), part(&records[first..second]), part(&records[second..]));
        let left = merged(merged(a.clone(), b.clone()), c.clone());
        prop_assert_eq!(left.to_schema(false), part(&records).to_schema(false));
        prop_assert_eq!(left, merged(a, merged(b, c)));
    }

    #[test]
    fn every_layout_has_the_same_columns(records in records(), block_bytes in 1_usize..200) {
        let schemas: Vec<_> = layouts().iter().map(|layout| {
            let (shape, bad) = infer(render(&records, layout, "").as_bytes(), layout, block_bytes);
            assert_eq!(bad, []);
            shape.to_schema(false)
        }).collect();
        prop_assert!(schemas.windows(2).all(|pair| pair[0] == pair[1]), "{:?}", schemas);
    }

    #[test]
    fn schemas_come_back_from_their_text_and_shapes(records in records(), rest: bool) {
        let schema = shape(&render(&records, &Layout::Documents, " ")).to_schema(rest);
        // That nothing is known of a column has no text.
        prop_assert_eq!(format_schema(&parse_schema(&format_schema(&schema)).unwrap()), format_schema(&schema));
        prop_assert_eq!(&Shape::from_schema(&schema).to_schema(rest), &schema);
        let mut widened = Shape::from_schema(&schema);
        widened.merge(shape(&render(&records, &Layout::Documents, " ")));
        prop_assert_eq!(&widened.to_schema(rest), &schema, "a schema has room for what it was made of");
    }
}

#[test]
fn types_widen_as_they_say() {
    let cases = [
        (r#"{"a":1}{"a":-2}"#, r#"{"a":"int64"}"#),
        (r#"{"a":1}{"a":18446744073709551615}"#, r#"{"a":"uint64"}"#),
        (r#"{"a":-1}{"a":18446744073709551615}"#, r#"{"a":"text"}"#),
        (r#"{"a":18446744073709551616}"#, r#"{"a":"text"}"#),
        (r#"{"a":18446744073709551616}{"a":1}"#, r#"{"a":"text"}"#),
        (r#"{"a":18446744073709551616}{"a":1.5}"#, r#"{"a":"float64"}"#),
        (r#"{"a":-9223372036854775809}{"a":1e3}{"a":-1}"#, r#"{"a":"float64"}"#),
        (r#"{"a":18446744073709551616}{"a":1e999}"#, r#"{"a":"text"}"#),
        (r#"{"a":1}{"a":1.5}"#, r#"{"a":"float64"}"#),
        (r#"{"a":9007199254740992}{"a":1.5}"#, r#"{"a":"float64"}"#),
        (r#"{"a":9007199254740993}{"a":1.5}"#, r#"{"a":"float64"}"#),
        (r#"{"a":18446744073709551615}{"a":1.5}"#, r#"{"a":"float64"}"#),
        (r#"{"a":18446744073709551615}{"a":1.5}{"a":-1}"#, r#"{"a":"float64"}"#),
        (r#"{"a":1.10}{"a":1e3}"#, r#"{"a":"float64"}"#),
        (r#"{"a":0.1000000000000000055}"#, r#"{"a":"float64"}"#),
        (r#"{"a":0.10000000000000001}"#, r#"{"a":"float64"}"#),
        (r#"{"a":1e-400}"#, r#"{"a":"text"}"#),
        (r#"{"a":1e999}"#, r#"{"a":"text"}"#),
        (r#"{"a":1}{"a":"x"}"#, r#"{"a":"text"}"#),
        (r#"{"a":true}{"a":null}"#, r#"{"a":"bool"}"#),
        (r#"{"a":true}{"a":1}"#, r#"{"a":"json"}"#),
        (r#"{"a":"true"}{"a":true}"#, r#"{"a":"json"}"#),
        (r#"{"a":"2025-01-01T00:00:00Z"}{"a":false}"#, r#"{"a":"json"}"#),
        (r#"{"a":1}{"a":[1]}"#, r#"{"a":"json"}"#),
        (r#"{"a":{"b":1}}{"a":[1]}"#, r#"{"a":"json"}"#),
        (r#"{"a":null}"#, r#"{"a":"json"}"#),
        (r#"{"a":{}}{"a":{}}"#, r#"{"a":"json"}"#),
        (r#"{"a":[]}{"a":[]}"#, r#"{"a":"json"}"#),
        (r#"{"a":[]}{"a":[null]}"#, r#"{"a":["json"]}"#),
        (r#"{"a":{}}{"a":{"b":[1,2.5]}}"#, r#"{"a":{"b":["float64"]}}"#),
        (r#"{"b":1}{"a":1,"b":2}"#, r#"{"b":"int64","a":"int64"}"#),
        (r#"{"t":"2025-01-01T00:00:00Z"}{"t":null}"#, r#"{"t":"timestamp[ms]"}"#),
        (r#"{"t":"2025-01-01T00:00:00.123Z"}"#, r#"{"t":"timestamp[ms]"}"#),
        (r#"{"t":"2025-01-01T00:00:00.123456Z"}"#, r#"{"t":"timestamp[us]"}"#),
        (r#"{"t":"2025-01-01T00:00:00.123456789Z"}"#, r#"{"t":"timestamp[ns]"}"#),
        (r#"{"t":"2500-01-01T00:00:00.123456789Z"}"#, r#"{"t":"text"}"#),
        (r#"{"t":"2025-01-01T00:00:00Z"}{"t":"2025-01-01T00:00:00.123Z"}"#, r#"{"t":"timestamp[ms]"}"#),
        (r#"{"t":"2025-01-01T00:00:00Z"}{"t":"2025-01-01T00:00:00.123456Z"}"#, r#"{"t":"timestamp[us]"}"#),
        (r#"{"t":"2025-01-01T00:00:00Z"}{"t":"2025-01-01T00:00:00.123456789Z"}"#, r#"{"t":"timestamp[ns]"}"#),
        (r#"{"t":"2025-01-01T00:00:00Z"}{"t":1}"#, r#"{"t":"text"}"#),
        (r#"{"t":"2025-02-29T00:00:00Z"}"#, r#"{"t":"text"}"#),
        (r#"{"t":"2025-01-01T00:00:60Z"}"#, r#"{"t":"text"}"#),
        (r#"{"t":"2025-01-01T00:00:00+05:30"}"#, r#"{"t":"timestamp[ms]"}"#),
        (r#"{"t":"2025-01-01t00:00:00.1z"}{"t":"2025-01-01 00:00:00"}"#, r#"{"t":"timestamp[ms]"}"#),
        (r#"{"t":"2025-01-01T00:00:00.1234567-0800"}"#, r#"{"t":"timestamp[ns]"}"#),
        (r#"{"t":"2025-01-01T00:00:00.12345+01"}"#, r#"{"t":"timestamp[us]"}"#),
        (r#"{"t":"2025-01-01T00:00:00.1234567Z"}{"t":"9999-12-31T23:59:59Z"}"#, r#"{"t":"text"}"#),
        (r#"{"t":"9999-12-31T23:59:59Z"}"#, r#"{"t":"timestamp[ms]"}"#),
        (r#"{"t":"2025-01-01T00:00:00.1234567890Z"}"#, r#"{"t":"text"}"#),
        (r#"{"t":"2025-01-01T00:00:00 UTC"}"#, r#"{"t":"text"}"#),
        (r#"{"t":"2025-01-01T24:00:00Z"}"#, r#"{"t":"text"}"#),
        (r#"{"t":"2025-01-01T00:00:00+24:00"}"#, r#"{"t":"text"}"#),
        (r#"{"t":"2024-02-29"}{"t":null}"#, r#"{"t":"date"}"#),
        (r#"{"t":"2025-02-29"}"#, r#"{"t":"text"}"#),
        (r#"{"t":"2024-02-29"}{"t":"2024-02-29T00:00:00Z"}"#, r#"{"t":"text"}"#),
        (r#"{"a":1} null"#, r#"{"a":"int64","_rest":"json"}"#),
        ("1 2 null", r#""int64""#),
        ("[1] [2,null]", r#"["int64"]"#),
        (r#"{"a":1} [2]"#, r#""json""#),
        (r#"{} null"#, r#""json""#),
        ("", r#""json""#),
    ];
    for (input, expected) in cases {
        assert_eq!(schema(input), expected, "{input}");
    }
}

#[test]
fn a_conflict_names_both_types_path_and_offsets() {
    let conflict = |input: &str| shape(input).conflict().map(|conflict| conflict.to_string());
    assert_eq!(conflict(r#"{"a":1}{"a":2.5}{"t":"2025-01-01T00:00:00Z"}{"t":"x"}{"a":null}"#), None);
    let text = r#"{"a":{"b":[1]}} {"z":1} {"z":"2"} {"a":{"b":["x"]}}"#;
    assert_eq!(conflict(text).unwrap(), "z is a number at byte 21, and a text at byte 29");
    let nested = r#"{"a":{"b c":[1]}} {"a":{"b c":[{}]}}"#;
    assert_eq!(conflict(nested).unwrap(), r#"a["b c"][] is a number at byte 13, and an object at byte 31"#);
    let mut known = Shape::from_schema(&parse_schema(r#"{"a":"int64"}"#).unwrap());
    known.merge(shape(r#"{"a":"x"}"#));
    assert!(known.conflict().unwrap().to_string().starts_with("a is "));
}

#[test]
fn there_is_an_end_to_columns() {
    let fields: Vec<String> = (0..20_000).map(|index| format!("\"k{index}\":{{\"x\":1}}")).collect();
    let shape = shape(&format!("{{{}}}", fields.join(",")));
    assert!(shape.needs_rest());
    let schema = shape.to_schema(false);
    assert_eq!((schema.fields().len(), schema.field(5000).name().as_str()), (5001, "_rest"));
    let long = infer(format!("{{\"{}\":1,\"b\":2}}", "k".repeat(1 << 20)).as_bytes(), &Layout::Lines, 1 << 16).0;
    assert_eq!(names(&long.to_schema(false)), ["b", "_rest"]);
}

#[test]
fn an_object_used_as_a_map_is_one_column() {
    let users = |keys: std::ops::Range<usize>| {
        let fields: Vec<String> = keys.map(|key| format!("\"u{key}\":{{\"age\":{key},\"tags\":[\"x\"]}}")).collect();
        format!("{{\"users\":{{{}}},\"n\":1}}", fields.join(","))
    };
    assert_eq!(schema(&users(0..5_000)), r#"{"users":"json","n":"int64"}"#);
    // Also by the keys of several records, and in whatever order they are looked at.
    let [first, second] = [users(0..50), users(30..70)];
    for text in [first.clone() + &second, second + &first] {
        assert_eq!(schema(&text), r#"{"users":"json","n":"int64"}"#);
        let (mut merged, parts) = (Shape::default(), text.split_inclusive("\"n\":1}"));
        parts.for_each(|part| merged.merge(shape(part)));
        assert_eq!(merged.to_schema(false), shape(&text).to_schema(false));
    }
    assert!(schema(&users(0..64)).starts_with(r#"{"users":{"u0":{"age":"int64","tags":["text"]},"u1":"#));
    // Of keys with plain values there may be more.
    let counts = |keys: usize| {
        let fields: Vec<String> = (0..keys).map(|key| format!("\"k{key}\":{key}")).collect();
        schema(&format!("{{\"c\":{{{}}}}}", fields.join(",")))
    };
    assert_eq!(counts(257), r#"{"c":"json"}"#);
    assert!(counts(256).starts_with(r#"{"c":{"k0":"int64","#));
}

fn names(schema: &Schema) -> Vec<&str> {
    schema.fields().iter().map(|field| field.name().as_str()).collect()
}

#[test]
fn a_schema_is_edited_by_hand() {
    let text = "{ \"id\":\"uint64\", \"x\": [ {\"y\" :\"timestamp[us]\"} ], \"_rest\":\"json\" }";
    let schema = parse_schema(text).unwrap();
    let said = parse_schema(r#"{"t":"timestamp","d":"date"}"#).unwrap();
    assert_eq!(format_schema(&said), "{\n  \"t\": \"timestamp[us]\",\n  \"d\": \"date\"\n}\n");
    let printed = "{\n  \"id\": \"uint64\",\n  \"x\": [{\n    \"y\": \"timestamp[us]\"\n  }],\n  \"_rest\": \"json\"\n}\n";
    assert_eq!(format_schema(&schema), printed);
    for (text, message) in [
        (r#"{"a":"decimal"}"#, "the type \"decimal\" is not one of bool,"),
        (r#"{"a":"int32"}"#, "the type \"int32\" is not one of bool, int64,"),
        (r#"{"a":"text","a":"text"}"#, "a second column of this name at byte 12"),
        (r#"{"a":[]}"#, "a list needs the type of its items at byte 7"),
        (r#"{"a":["text","text"]}"#, "a list has items of one type at byte 13"),
        (r#"{"a":{}}"#, "a struct needs a column (or is \"json\") at byte 7"),
        (r#"{"a":1}"#, "a type should be here: its name, {…} or […] at byte 5"),
        (r#"{"a":"text""#, "the record ends too early at byte 11"),
        (r#"{"a":"text"} x"#, "something follows the schema at byte 13"),
    ] {
        let fault = parse_schema(text).unwrap_err();
        assert!(fault.starts_with(message), "{text}: {fault}");
    }
}

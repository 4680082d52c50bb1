//! Rows are equal to the records they were made of.

use crate::json_common::{Tree, check_rows, column, convert, decode, infer, layouts, notes, records, render};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rorqual_columnar::json::{JsonDecoder, Layout, parse_rows};
use rorqual_columnar::{Decode, DecodeNote, Shape, Unplaced, parse_schema};
use rorqual_pipe::Chunk;

proptest! {
    #[test]
    fn every_value_is_in_its_column(records in records(), blocks in (1_usize..300, 1_usize..300), pretty: bool) {
        let space = if pretty { "\n  " } else { "" };
        for layout in layouts() {
            let input = render(&records, &layout, space);
            let (shape, bad) = infer(input.as_bytes(), &layout, blocks.0);
            prop_assert_eq!(bad, []);
            let schema = shape.to_schema(false);
            let decoded = decode(input.as_bytes(), &layout, &schema, Unplaced::Keep, blocks.1);
            prop_assert_eq!(decoded.bad, []);
            prop_assert_eq!(decoded.misfit, None);
            check_rows(&decoded.batches, &schema, &records);
        }
    }

    #[test]
    fn what_has_no_place_widens_the_schema(first in records(), second in records()) {
        let both: Vec<Tree> = first.iter().chain(&second).cloned().collect();
        let input = render(&both, &Layout::Lines, "");
        let mut shape = infer(render(&first, &Layout::Lines, "").as_bytes(), &Layout::Lines, 100).0;
        for _ in 0..=both.len() {
            let schema = shape.to_schema(false);
            let decoded = decode(input.as_bytes(), &Layout::Lines, &schema, Unplaced::Keep, 100);
            match decoded.misfit {
                // A value without a place goes there.
                None if schema.column_with_name("_rest").is_some() => return Ok(()),
                None => return { check_rows(&decoded.batches, &schema, &both); Ok(()) },
                Some(misfit) => {
                    shape.merge(misfit);
                    prop_assert_ne!(shape.to_schema(false), schema, "a misfit that the schema has room for");
                }
            }
        }
        prop_assert!(false, "it does not end");
    }

    #[test]
    fn the_rest_has_what_has_no_column(first in records(), second in records()) {
        let schema = infer(render(&first, &Layout::Lines, "").as_bytes(), &Layout::Lines, 100).0.to_schema(true);
        let decoded = decode(render(&second, &Layout::Lines, "").as_bytes(), &Layout::Lines, &schema, Unplaced::Keep, 100);
        prop_assert_eq!((decoded.bad, decoded.misfit), (vec![], None));
        let rows: usize = decoded.batches.iter().map(|batch| batch.num_rows()).sum();
        prop_assert_eq!(rows, second.len());
        for rest in column(&decoded.batches, "_rest").iter().filter(|rest| *rest != "∅") {
            prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(rest).is_ok(), "{}", rest);
        }
    }

    #[test]
    fn columns_that_are_not_asked_for_are_left_out(records in records(), keep in any::<u16>()) {
        let input = render(&records, &Layout::Lines, "");
        let schema = infer(input.as_bytes(), &Layout::Lines, 100).0.to_schema(false);
        let asked = |index: &usize| keep >> (index % 16) & 1 == 1 && schema.field(*index).name() != "_rest";
        let kept: Vec<usize> = (0..schema.fields().len()).filter(asked).collect();
        let schema = schema.project(&kept).unwrap();
        let decoded = decode(input.as_bytes(), &Layout::Lines, &schema, Unplaced::Ignore, 100);
        prop_assert_eq!((decoded.bad, decoded.misfit), (vec![], None));
        check_rows(&decoded.batches, &schema, &records);
    }
}

proptest! {
    #[test]
    fn a_member_is_a_row_of_its_key_and_its_value(
        values in records(),
        keys in vec("[a-z\"\\\\ü]{0,6}", 12),
        blocks in (1_usize..200, 1_usize..200),
        space in select(&["", " ", "\r\n\t"][..]),
    ) {
        let text = |key: &String| Tree::Text(key.clone());
        let members: Vec<(Tree, &Tree)> = keys.iter().map(text).zip(&values).collect();
        let member = |(key, value): &(Tree, &Tree)| format!("{}{space}:{space}{}", key.to_json(""), value.to_json(space));
        let all = members.iter().map(member).collect::<Vec<_>>().join(&format!("{space},{space}"));
        let map = format!(r#"{{"before":{{"users":[]}},"all":{{"users":{space}{{{space}{all}{space}}},"x":[1]}}}}"#);
        let layout = parse_rows("$.all.users.*").unwrap();
        let (shape, bad) = infer(map.as_bytes(), &layout, blocks.0);
        prop_assert_eq!(bad, []);
        let schema = shape.to_schema(false);
        let decoded = decode(map.as_bytes(), &layout, &schema, Unplaced::Keep, blocks.1);
        prop_assert_eq!((decoded.bad, decoded.misfit), (vec![], None));
        let row = |(key, value): (Tree, &Tree)| Tree::Object(vec![("key".into(), key), ("value".into(), value.clone())]);
        let rows: Vec<Tree> = members.into_iter().map(row).collect();
        check_rows(&decoded.batches, &schema, &rows);
    }
}

fn rest(schema: &str, record: &str) -> (Vec<String>, Vec<(DecodeNote, u64)>) {
    let schema = parse_schema(schema).unwrap();
    let decoded = decode(record.as_bytes(), &Layout::Lines, &schema, Unplaced::Keep, 1000);
    assert_eq!((decoded.bad, decoded.misfit), (vec![], None));
    (column(&decoded.batches, "_rest"), notes(&decoded.notes))
}

#[test]
fn the_rest_says_paths_and_values() {
    let schema = r#"{"a":"int64","s":{"x":"int64"},"l":[{"y":"int64"}],"_rest":"json"}"#;
    let record =
        r#"{"a":"1", "new": [1, {"k" : "a b"}], "s":{"x":1.5,"c d":null}, "l":[{"y":1},{"z":2},3], "_rest":7, "e\u0022":1}"#;
    let (rest, notes) = rest(schema, record);
    let expected =
        [r#"{"a":"1","new":[1,{"k":"a b"}],"s.x":1.5,"s[\"c d\"]":null,"l[1].z":2,"l[2]":3,"_rest":7,"[\"e\\u0022\"]":1}"#];
    assert_eq!(rest, expected);
    assert_eq!(notes, [(DecodeNote::Rest, 1)]);
}

#[test]
fn a_record_without_columns_is_rest() {
    let (rest, _) = rest(r#"{"a":"int64","_rest":"json"}"#, "5\nnull\n[1, 2]\n{}\n");
    // A null is no object without fields.
    assert_eq!(rest, [r#"{"$":5}"#, r#"{"$":null}"#, r#"{"$":[1,2]}"#, "∅"]);
}

#[test]
fn the_last_value_of_a_key_counts() {
    let input = r#"{"a":1,"s":{"x":1,"x":2,"y":3},"\u0061":null,"l":[{"q":1,"q":[]},{"q":[2]}]}"#;
    let decoded = convert(input.as_bytes(), &Layout::Lines, false);
    assert_eq!(column(&decoded.batches, "a"), ["∅"]);
    assert_eq!(column(&decoded.batches, "s"), ["{x: 2, y: 3}"]);
    assert_eq!(column(&decoded.batches, "l"), ["[{q: []}, {q: [2]}]"]);
    assert_eq!(notes(&decoded.notes), [(DecodeNote::DuplicateKey, 1)]);
    let (rest, notes) = rest(r#"{"a":"int64","_rest":"json"}"#, r#"{"a":"x","b":1,"b":2,"a":5}"#);
    assert_eq!(rest, [r#"{"b":2}"#]);
    assert_eq!(notes.iter().map(|(note, _)| *note).collect::<Vec<_>>(), [DecodeNote::DuplicateKey, DecodeNote::Rest]);
}

#[test]
fn a_lone_surrogate_is_kept_as_written() {
    let input = "{\"a\":\"x\"}\n{\"a\":\"\\ud800y\",\"\\udc00\":1}\n{\"a\":\"\\ud83d\\ude00\"}\n";
    let decoded = convert(input.as_bytes(), &Layout::Lines, false);
    assert_eq!(column(&decoded.batches, "a"), ["x", "∅", "😀"]);
    assert_eq!(column(&decoded.batches, "_rest"), ["∅", r#"{"a":"\ud800y","[\"\\udc00\"]":1}"#, "∅"]);
    assert_eq!(notes(&decoded.notes), [(DecodeNote::Rest, 1), (DecodeNote::LoneSurrogate, 1)]);
    // Without a place to keep it, the note tells its fate.
    let schema = parse_schema(r#"{"a":"text"}"#).unwrap();
    let decoded = decode(input.as_bytes(), &Layout::Lines, &schema, Unplaced::Ignore, input.len());
    assert_eq!(column(&decoded.batches, "a"), ["x", "\u{fffd}y", "😀"]);
    assert_eq!(notes(&decoded.notes), [(DecodeNote::ReplacedSurrogate, 1)]);
    assert!(DecodeNote::LoneSurrogate.to_string().contains("_rest") && !DecodeNote::LoneSurrogate.to_string().contains("FFFD"));
}

#[test]
fn batches_are_bounded() {
    let mut input = String::new();
    (0..200_000).for_each(|index| input.push_str(&format!("{{\"a\":{index},\"b\":\"{index}\"}}\n")));
    let schema = infer(input.as_bytes(), &Layout::Lines, 1 << 20).0.to_schema(false);
    let decoded = decode(input.as_bytes(), &Layout::Lines, &schema, Unplaced::Keep, input.len());
    assert!(decoded.batches.len() > 1);
    for batch in &decoded.batches {
        assert!(
            batch.get_array_memory_size() < 2 * rorqual_columnar::limits::BATCH_BYTES_MAX,
            "{}",
            batch.get_array_memory_size()
        );
    }
    let expected: Vec<String> = (0..200_000).map(|index| index.to_string()).collect();
    assert!(column(&decoded.batches, "a") == expected && column(&decoded.batches, "b") == expected);
}

#[test]
fn a_small_batch_behind_a_large_one_is_small() {
    let large: String = (0..20_000).map(|index| format!("{{\"a\":{index},\"b\":\"{index}\"}}\n")).collect();
    let schema = parse_schema(r#"{"a":"int64","b":"text"}"#).unwrap();
    let mut decoder = JsonDecoder::new(&Layout::Lines, &schema, Unplaced::Keep, 32 << 20);
    let sizes = [large.as_str(), "{\"a\":1,\"b\":\"x\"}\n"].map(|text| {
        let mut chunk = Chunk::empty(0, usize::MAX);
        chunk.bytes = text.to_owned().into();
        decoder.decode(&chunk).unwrap().batches[0].get_array_memory_size()
    });
    assert!(sizes[0] > 300_000 && sizes[1] < 2000, "{sizes:?}");
}

#[test]
fn a_schema_of_other_types_is_refused() {
    let schema = arrow_schema::Schema::new(vec![arrow_schema::Field::new("a", arrow_schema::DataType::Int32, true)]);
    let mut decoder = JsonDecoder::new(&Layout::Lines, &schema.clone().into(), Unplaced::Keep, 32 << 20);
    let error = decoder.decode(&Chunk::empty(0, 1)).unwrap_err();
    assert!(error.to_string().contains("\"a\" is of the type Int32"), "{error}");
    assert_eq!(Shape::from_schema(&schema).to_schema(false).fields().len(), 1);
}

//! JSON as people and machines distort it.

use crate::corpus::targets;
use crate::json_common::{chunks, column, convert, decode, infer, layouts, records, render};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use rorqual_columnar::json::{JsonDecoder, Layout};
use rorqual_columnar::{Decode, Unplaced, limits, parse_schema};

proptest! {
    #[test]
    fn records_are_rows_or_bad_as_serde_json_says(
        records in records(),
        layout in 0_usize..4,
        cuts in any::<u8>(),
        damage in vec((any::<Index>(), select(&b"{}[]\",:\\u0d8 \n\xFF\xC3\xED\x01-.eE1tnN"[..])), 0..4),
    ) {
        let mut input = render(&records, &layouts()[layout], "").into_bytes();
        for (place, byte) in damage {
            if !input.is_empty() {
                let place = place.index(input.len());
                input[place] = byte;
            }
        }
        input.insert(0, cuts);
        targets::json(&input);
    }
}

/// Bad records among good ones: where each starts, its length, where its fault is, and why.
fn bad(input: &[u8], layout: &Layout) -> Vec<(u64, u64, u64, &'static str)> {
    let (shape, inferred) = infer(input, layout, 1000);
    let decoded = decode(input, layout, &shape.to_schema(false), Unplaced::Keep, 7);
    assert_eq!(decoded.bad, inferred, "inferring and decoding differ");
    decoded.bad.iter().map(|bad| (bad.offset, bad.length, bad.at, bad.reason)).collect()
}

#[test]
fn each_fault_has_its_place_and_reason() {
    let cases: [(&[u8], u64, &str); 26] = [
        (br#"{"a":NaN}"#, 5, "NaN and Infinity are not JSON"),
        (br#"{"a":-Infinity}"#, 6, "a digit should be here"),
        (br#"{"a":01}"#, 6, "a digit should be here"),
        (br#"{"a":1.}"#, 7, "a digit should be here"),
        (br#"{"a":1e}"#, 7, "a digit should be here"),
        (br#"{"a":.5}"#, 5, "a value should be here"),
        (br#"{"a":+1}"#, 5, "a value should be here"),
        (br#"{"a":tru}"#, 5, "a value should be here"),
        (br#"{"a":truex}"#, 9, "a comma or a closing bracket should be here"),
        (br#"{"a" 1}"#, 5, "a colon should be here"),
        (br#"{"a":1 "b":2}"#, 7, "a comma or a closing bracket should be here"),
        (br#"{"a":1,}"#, 7, "a key in quotes should be here"),
        (br#"{a:1}"#, 1, "a key in quotes should be here"),
        (br#"{'a':1}"#, 1, "a key in quotes should be here"),
        (br#"{"a":[1,]}"#, 8, "a value should be here"),
        (br#"{"a":[1}"#, 7, "a comma or a closing bracket should be here"),
        (b"{\"a\":\"tab\there\"}", 9, "a control character in a string"),
        (b"{\"a\":\"nul\0here\"}", 9, "a control character in a string"),
        (br#"{"a":"\x41"}"#, 6, "an escape that JSON does not have"),
        (br#"{"a":"\u12g4"}"#, 6, "an escape that JSON does not have"),
        (br#"{"a":"\u12"}"#, 6, "an escape that JSON does not have"),
        (br#"{"b":{"x":"\q"}}"#, 11, "an escape that JSON does not have"),
        (b"{\"a\":\"\xFF\"}", 6, "bytes that are not UTF-8"),
        (b"{\"a\":\"\xED\xA0\x80\"}", 6, "bytes that are not UTF-8"),
        (b"{\"a\":\"\xF0\x9F\"}", 6, "bytes that are not UTF-8"),
        (br#"{"a":// comment"#, 5, "a value should be here"),
    ];
    for (record, at, reason) in cases {
        let input = [b"{\"a\":1}\n", record, b"\n{\"a\":2,\"b\":{\"x\":3}}\n"].concat();
        let expected = (8, record.len() as u64 + 1, 8 + at, reason);
        let shown = String::from_utf8_lossy(record);
        assert_eq!(bad(&input, &Layout::Lines), [expected], "{shown}");
        let decoded = convert(&input, &Layout::Lines, false);
        assert_eq!(column(&decoded.batches, "a"), ["1", "2"], "{shown}");
    }
}

#[test]
fn a_line_has_one_record() {
    let input = b"{\"a\":1} {\"a\":2}\n{\"a\":\n3}\n{\"a\":4} x\n{\"a\":5}\r\n\n  \n{\"a\":6}";
    let expected = [
        (0, 16, 8, "something follows the value"),
        (16, 6, 21, "a value should be here"),
        (22, 3, 23, "something follows the value"),
        (25, 10, 33, "something follows the value"),
    ];
    assert_eq!(bad(input, &Layout::Lines), expected);
    assert_eq!(column(&convert(input, &Layout::Lines, false).batches, "a"), ["5", "6"]);
}

#[test]
fn garbage_between_documents_is_a_bad_record() {
    let input = b"{\"a\":1} garbage {\"a\":2}xy{\"a\":3} {\"a\":4]} {\"a\":5} 1-2 \"s\"7 ";
    let reasons: Vec<_> = bad(input, &Layout::Documents).iter().map(|bad| (bad.0, bad.1, bad.2)).collect();
    assert_eq!(reasons, [(8, 7, 8), (23, 2, 23), (33, 7, 39), (40, 1, 40), (50, 3, 51)]);
}

#[test]
fn a_bad_element_of_an_array_is_one_record() {
    let input = br#"[{"a":1}, garbage, {"a":nul}, {"a":2}, tru ,{"b":1 2},{"a":3}]"#;
    let found: Vec<_> = bad(input, &Layout::Array).iter().map(|bad| (bad.0, bad.1, bad.2)).collect();
    assert_eq!(found, [(10, 7, 10), (19, 9, 24), (39, 3, 39), (44, 9, 51)]);
    assert_eq!(column(&convert(input, &Layout::Array, false).batches, "a"), ["1", "2", "3"]);
}

#[test]
fn a_cut_document_is_bad_where_it_ends() {
    assert_eq!(bad(b"{\"a\":1}\n{\"a\":\"xyz", &Layout::Lines), [(8, 9, 17, "the record ends too early")]);
    assert_eq!(bad(b"[{\"a\":1},{\"a\":[{", &Layout::Array), [(9, 7, 16, "the record ends too early")]);
}

#[test]
fn a_mark_is_skipped_and_other_encodings_are_named() {
    assert_eq!(column(&convert(b"\xEF\xBB\xBF{\"a\":1}\n", &Layout::Lines, false).batches, "a"), ["1"]);
    let schema = parse_schema("{\"a\":\"text\"}").unwrap();
    let (chunks, _) = chunks(b"\xFF\xFE{\0}\0\n", &Layout::Lines, 100);
    let error = JsonDecoder::new(&Layout::Lines, &schema, Unplaced::Keep, 32 << 20).decode(&chunks[0]).unwrap_err();
    assert!(error.to_string().contains("is UTF-16 (iconv -f"), "{error}");
}

#[test]
fn depth_has_a_limit_and_no_stack() {
    let nested = |levels: usize| format!("{{\"a\":{}{}}}\n", "[".repeat(levels), "]".repeat(levels));
    let fits = nested(limits::DEPTH_MAX - 1);
    let decoded = convert(fits.as_bytes(), &Layout::Lines, false);
    assert_eq!((decoded.bad.len(), decoded.batches[0].num_rows()), (0, 1));
    let rest =
        decode(fits.as_bytes(), &Layout::Lines, &parse_schema(r#"{"b":"text","_rest":"json"}"#).unwrap(), Unplaced::Keep, 4096);
    assert_eq!(column(&rest.batches, "_rest")[0].len(), fits.len() - 1);
    let ignored = decode(fits.as_bytes(), &Layout::Lines, &parse_schema(r#"{"b":"text"}"#).unwrap(), Unplaced::Ignore, 4096);
    assert_eq!(column(&ignored.batches, "b"), ["∅"]);
    let found = bad(nested(limits::DEPTH_MAX + 10).as_bytes(), &Layout::Lines);
    assert_eq!((found.len(), found[0].2, found[0].3), (1, 5 + limits::DEPTH_MAX as u64 - 1, "nested deeper than 100,000 levels"));
    let open = "[".repeat(3_000_000);
    assert!(chunks(open.as_bytes(), &Layout::Array, 1 << 16).1.unwrap_err().truncated);
}

#[test]
fn levels_below_the_columns_are_text() {
    let levels = limits::NESTING_MAX + 6;
    let input = format!("{}1{}", "{\"k\":".repeat(levels), "}".repeat(levels));
    let decoded = convert(input.as_bytes(), &Layout::Lines, false);
    let shown = &column(&decoded.batches, "k")[0];
    assert!(
        shown.ends_with(&format!(
            r#"k: {{"k":{{"k":{{"k":{{"k":{{"k":{{"k":1}}}}}}}}}}}}{}"#,
            "}".repeat(limits::NESTING_MAX - 1)
        )),
        "{shown}"
    );
}

#[test]
fn a_record_that_would_blow_up_is_bad() {
    let columns: Vec<String> = (0..9000).map(|index| format!("\"k{index}\":\"int64\"")).collect();
    let schema = parse_schema(&format!("{{\"l\":[{{{}}}]}}", columns.join(","))).unwrap();
    let bomb = format!("{{\"l\":[{}{{}}]}}\n", "{},".repeat(1 << 20));
    let input = format!("{{\"l\":[{{\"k5\":1}}]}}\n{bomb}{{\"l\":[]}}\n");
    let decoded = decode(input.as_bytes(), &Layout::Lines, &schema, Unplaced::Keep, 1 << 16);
    assert_eq!(decoded.bad.len(), 1);
    assert_eq!(decoded.bad[0].reason, "the record takes more than 5 times the longest record's bytes as columns");
    assert_eq!(decoded.batches.iter().map(|batch| batch.num_rows()).sum::<usize>(), 2);
    // A path that is repeated for each of a million values.
    let long = "k".repeat(1000);
    let schema = parse_schema(&format!("{{\"{long}\":[\"int64\"],\"_rest\":\"json\"}}")).unwrap();
    let input = format!("{{\"{long}\":[{}true]}}\n", "true,".repeat(1 << 20));
    let decoded = decode(input.as_bytes(), &Layout::Lines, &schema, Unplaced::Keep, 1 << 16);
    assert_eq!((decoded.bad.len(), decoded.batches.len()), (1, 0));
}

#[test]
fn many_columns_and_long_keys() {
    let fields: Vec<String> = (0..10_500).map(|index| format!("\"k{index}\":{index}")).collect();
    let input = format!("{{{}}}\n{{\"k0\":1}}\n{{\"{}\":1}}\n", fields.join(","), "x".repeat(1 << 20));
    let decoded = convert(input.as_bytes(), &Layout::Lines, false);
    assert_eq!((decoded.bad.len(), decoded.misfit), (0, None));
    assert_eq!(column(&decoded.batches, "k9999"), ["9999", "∅", "∅"]);
    let rest = column(&decoded.batches, "_rest");
    assert!(rest[0].starts_with(r#"{"k10000":10000,"k10001":10001,"#) && rest[1] == "∅" && rest[2].len() > 1 << 20);
}

#[test]
fn nothing_has_no_rows() {
    for (input, layout) in [("[]", Layout::Array), ("[ \n ]\n", Layout::Array), ("", Layout::Lines), (" \n\n", Layout::Documents)]
    {
        let decoded = convert(input.as_bytes(), &layout, false);
        assert_eq!((decoded.batches.len(), decoded.bad.len()), (0, 0), "{input:?}");
    }
}

#[test]
fn a_misfit_in_a_bad_record_is_no_misfit() {
    let schema = parse_schema(r#"{"a":"int64"}"#).unwrap();
    let decoded = decode(b"{\"a\":\"x\",\n{\"a\":1}\n", &Layout::Lines, &schema, Unplaced::Keep, 100);
    assert_eq!((decoded.misfit, decoded.bad.len()), (None, 1));
    assert_eq!(column(&decoded.batches, "a"), ["1"]);
}

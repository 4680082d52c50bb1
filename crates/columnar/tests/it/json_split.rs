//! Records are found whatever the borders of the blocks.

use crate::json_common::{chunks, layouts, records, render};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rorqual_columnar::json::{JsonSplitter, Layout, detect, format_rows, parse_rows};
use rorqual_pipe::Splitter;

/// Ends of documents, each with the byte that tells it, found one byte after the other; and whether
/// the last is open.
fn reference(bytes: &[u8]) -> (Vec<(usize, usize)>, bool) {
    let (mut ends, mut depth, mut in_string, mut escaped, mut in_word) = (Vec::new(), 0_u64, false, false, false);
    for (index, byte) in bytes.iter().enumerate() {
        if in_word && b" \n\r\t{[\"".contains(byte) {
            in_word = false;
            ends.push((index, index));
        }
        // Outside of strings a backslash is a fault; inside an object it hides a quote all the
        // same.
        let inside = depth > 0 || in_string;
        let was_escaped = escaped;
        escaped = inside && *byte == b'\\' && !was_escaped;
        match byte {
            b'"' if was_escaped => {}
            b'"' => {
                in_string = !in_string;
                if depth == 0 && !in_string {
                    ends.push((index + 1, index));
                }
            }
            _ if in_string => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 0 => {
                depth -= 1;
                if depth == 0 {
                    (escaped, in_string) = (false, false);
                    ends.push((index + 1, index));
                }
            }
            b' ' | b'\n' | b'\r' | b'\t' => {}
            _ => in_word = depth == 0,
        }
    }
    (ends, depth > 0 || in_string)
}

/// Bytes that are often brackets, quotes and backslashes.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![4 => select(&b"{}[]\"\\"[..]), 2 => select(&b"a1,: \n\r\t"[..]), 1 => any::<u8>()];
    (vec(byte, 0..400)).prop_map(|mut bytes| {
        // Not a byte order mark, nor UTF-16: those have tests of their own.
        bytes.splice(0..0, *b"    ");
        bytes
    })
}

proptest! {
    #[test]
    fn documents_end_where_the_reference_says(bytes in noise(), block_bytes in 1_usize..200) {
        let (ends, open) = reference(&bytes);
        let mut splitter = JsonSplitter::new(&Layout::Documents);
        let mut before = 0;
        for block in bytes.chunks(block_bytes) {
            let told = ends.iter().filter(|(_, told)| (before..before + block.len()).contains(told));
            let here: Vec<usize> = told.map(|(end, _)| end - before).collect();
            let split = splitter.split(block).unwrap();
            prop_assert_eq!(split.records, 0..block.len());
            prop_assert_eq!((split.first_end, split.last_end), (here.first().copied(), here.last().copied()), "block at {}", before);
            before += block.len();
        }
        match splitter.finish() {
            Ok(()) => prop_assert!(!open),
            Err(fault) => prop_assert!(open && fault.truncated && fault.offset == bytes.len() as u64),
        }
    }

    #[test]
    fn elements_come_whole(records in records(), block_bytes in 1_usize..100, space in select(&["", " ", "\r\n\t"][..])) {
        for layout in layouts().into_iter().filter(|layout| *layout != Layout::Lines) {
            let input = render(&records, &layout, space);
            let (pieces, outcome) = chunks(input.as_bytes(), &layout, block_bytes);
            prop_assert_eq!(outcome, Ok(()), "{}", input);
            let mut expected = records.iter().map(|record| record.to_json(if layout == Layout::Lines { "" } else { space }));
            for piece in pieces {
                let mut text = std::str::from_utf8(&piece.bytes).unwrap().trim_start_matches(BETWEEN);
                while !text.is_empty() {
                    let record = expected.next().expect("no more records than there are");
                    text = text.strip_prefix(&*record).expect("a whole record").trim_start_matches(BETWEEN);
                }
            }
            prop_assert_eq!(expected.next(), None);
        }
    }
}

/// Bytes that may be between records.
const BETWEEN: [char; 5] = [' ', '\n', '\r', '\t', ','];

/// The message and offset of the fault, at every size of blocks.
fn fault(input: &[u8], layout: &Layout) -> (String, u64, bool) {
    let at = |block_bytes| chunks(input, layout, block_bytes).1.expect_err("a fault");
    let first = at(1);
    for block_bytes in [2, 3, 7, 64, 1000] {
        assert_eq!(at(block_bytes), first, "blocks of {block_bytes}");
    }
    (first.message, first.offset, first.truncated)
}

fn rows(path: &str) -> Layout {
    parse_rows(path).unwrap()
}

#[test]
fn an_array_that_is_none_is_a_fault() {
    let cases: [(&str, u64, bool, &str); 9] = [
        (r#"{"a":1}"#, 0, false, "$ is an object, not an array; '$.*' makes a row of each of its members"),
        (r#"[1,2"#, 4, true, "the document ends inside a record"),
        (r#"[1,{"a":"]"#, 10, true, "the document ends inside a record"),
        ("", 0, true, "the document ends before the rows $"),
        ("[1,,2]", 3, false, "between records: a value should be here"),
        ("[1,2,]", 5, false, "between records: a value should be here"),
        ("[{}{}]", 3, false, "between records: a comma or a closing bracket should be here"),
        ("[1 2]", 3, false, "between records: a comma or a closing bracket should be here"),
        ("[1] x", 4, false, "something follows the document that has the rows $"),
    ];
    for (input, offset, truncated, message) in cases {
        assert_eq!(fault(input.as_bytes(), &Layout::Array), (message.into(), offset, truncated), "{input}");
    }
}

#[test]
fn members_that_are_none_are_a_fault() {
    let cases: [(&str, u64, bool, &str); 10] = [
        ("[1]", 0, false, "$ is an array, not an object; '$' makes a row of each of its elements"),
        ("5", 0, false, "$ is a number, not an object"),
        (r#"{"a":1"#, 6, true, "the document ends inside a record"),
        (r#"{"a"#, 3, true, "the document ends inside a record"),
        (r#"{"a":{"b":2},"#, 13, true, "the document ends inside the rows $.*"),
        (r#"{"a" 1}"#, 5, false, "between records: a colon should be here"),
        (r#"{"a":,"b":2}"#, 5, false, "between records: a value should be here"),
        (r#"{a:1}"#, 1, false, "between records: a key in quotes should be here"),
        (r#"{"a":1 "b":2}"#, 7, false, "between records: a comma or a closing bracket should be here"),
        (r#"{"a":1,}"#, 7, false, "between records: a key in quotes should be here"),
    ];
    for (input, offset, truncated, message) in cases {
        assert_eq!(fault(input.as_bytes(), &rows("$.*")), (message.to_owned(), offset, truncated), "{input}");
    }
}

#[test]
fn rows_that_are_not_there_are_a_fault() {
    let cases: [(&str, &str, u64, bool, &str); 8] = [
        (r#"{"a":{"b":[]}}"#, "$.a.c", 13, false, "the document has no rows $.a.c"),
        (r#"{"a":[1]}"#, "$.a.b", 5, false, "$.a is an array, not an object"),
        (r#"{"a":{"b":"x"}}"#, "$.a.b", 10, false, "$.a.b is a string, not an array"),
        (r#"{"a":{"b":[1 "#, "$.a.b", 13, true, "the document ends inside the rows $.a.b"),
        (r#"{"a":{"b":[1]},"#, "$.a.b", 15, true, "the document ends early, after the rows $.a.b"),
        (r#"{"x":{"b":[1]"#, "$.a.b", 13, true, "the document ends before the rows $.a.b"),
        (r#"{"a":{"b":[1]}} {"a":{"b":[2]}}"#, "$.a.b", 16, false, "something follows the document that has the rows $.a.b"),
        (r#"{"a" 1}"#, "$.a", 5, false, "not JSON, on the way to the rows $.a"),
    ];
    for (input, path, offset, truncated, message) in cases {
        assert_eq!(fault(input.as_bytes(), &rows(path)), (message.into(), offset, truncated), "{input}");
    }
}

#[test]
fn encodings_are_told() {
    let utf_16: Vec<u8> = "\u{feff}{\"a\":1}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let no_mark: Vec<u8> = "{\"a\":1}".encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(fault(&utf_16, &Layout::Documents).0, "is UTF-16 (iconv -f UTF-16 -t UTF-8 converts it), which starts");
    assert_eq!(fault(&no_mark, &Layout::Documents).0, "is UTF-16 (iconv -f UTF-16BE -t UTF-8 converts it), which starts");
    assert_eq!(fault(b"\xEF\xBB", &Layout::Documents).1, 0);
    for block_bytes in 1..6 {
        let (pieces, outcome) = chunks(b"\xEF\xBB\xBF{\"a\":1}", &Layout::Documents, block_bytes);
        assert_eq!((outcome, pieces[0].offset, &pieces[0].bytes[..]), (Ok(()), 3, &b"{\"a\":1}"[..]));
    }
}

#[test]
fn layouts_are_detected() {
    let cases: [(&str, bool, Option<Layout>); 17] = [
        ("{\"a\":1}\n{\"a\":2}\n", true, Some(Layout::Lines)),
        ("\n {\"a\":1}", true, Some(Layout::Lines)),
        ("{\"a\":1}\n{\"a\":", false, Some(Layout::Lines)),
        ("{\"a\":1}\n{\"a\":\n2}\n", true, Some(Layout::Documents)),
        ("{\"a\":1} {\"a\":2}\n", true, Some(Layout::Documents)),
        ("{\n\"a\": [1]\n}\n", true, Some(Layout::Documents)),
        ("[1,2]\n[3,4]\n", true, Some(Layout::Lines)),
        ("[{\"a\":1},{\"a\":2}]\n", true, Some(Layout::Array)),
        ("[\n{\"a\":1},\n{\"a\":2}\n]", true, Some(Layout::Array)),
        ("[{\"a\":1},{\"a\"", false, Some(Layout::Array)),
        ("[]", true, Some(Layout::Array)),
        // However long it is, it is one record.
        (r#"{"n":2,"data":{"x":[1],"items":[{"a":[1]},{"a":[2"#, false, Some(Layout::Documents)),
        (r#"{"rows":["#, false, Some(Layout::Documents)),
        (r#"{"rows":{"a":"#, false, Some(Layout::Documents)),
        ("127.0.0.1 - - [", true, None),
        ("a,b\n1,2\n", true, None),
        ("", true, None),
    ];
    for (head, whole, layout) in cases {
        assert_eq!(detect(head.as_bytes(), whole), layout, "{head}");
    }
    assert_eq!(detect(b"\xFF\xFE{\0", true), Some(Layout::Documents));
}

#[test]
fn paths_are_read_and_written() {
    for (text, keys) in [("$", vec![]), ("$.a.b", vec!["a", "b"]), (r#"$.a["c d"]["\u0022."].é"#, vec!["a", "c d", "\".", "é"])]
    {
        let keys: Vec<String> = keys.into_iter().map(str::to_owned).collect();
        for (suffix, layout) in [("", Layout::Rows(keys.clone())), (".*", Layout::Members(keys.clone()))] {
            assert_eq!(parse_rows(&format!("{text}{suffix}")).unwrap(), layout);
            assert_eq!(parse_rows(&format_rows(&layout)).unwrap(), layout);
        }
        assert_eq!(parse_rows(&format!("{text}[*]")).unwrap(), Layout::Rows(keys));
    }
    for (text, message) in [
        ("a.b", "the path \"a.b\": '$', which is the document, should be at character 1"),
        ("$.", "the path \"$.\": a key should follow the '.' at character 2"),
        ("$a", "the path \"$a\": '.' or '[' should be at character 2"),
        ("$.a[0]", "the path \"$.a[0]\": rows are under keys, written [\"key\"], and not under an index: '[' at character 4"),
        ("$[\"a\"", "the path \"$[\\\"a\\\"\": a JSON string and ']' should follow the '[' at character 2"),
    ] {
        assert_eq!(parse_rows(text).unwrap_err(), message);
    }
}

//! `rorqual convert` and `rorqual schema`: the same values come out that went in, on every path,
//! and bad input is told.

use crate::common::{GIB, MIB, TestFolder, advised, line, listens, log, rorqual};
use rorqual_testkit::generate::{EventLines, GeneratedLines, write_array};
use rorqual_testkit::process::{ProcessEnd, ProcessRun};
use serde_json::{Value, json};
use std::io::Write;
use std::os::fd::AsFd;

/// So many events, a line each.
fn events(count: usize) -> Vec<u8> {
    let mut events = EventLines::new(7);
    let mut lines = Vec::new();
    (0..count).for_each(|_| events.line(&mut lines));
    lines
}

/// The same as one array, under `path`.
fn array(count: usize, path: &str) -> Vec<u8> {
    let elements = events(count);
    let elements = elements.strip_suffix(b"\n").expect("a last newline").split(|byte| *byte == b'\n').collect::<Vec<_>>();
    let mut document = elements.join(&b","[..]);
    document = [b"[".to_vec(), document, b"]".to_vec()].concat();
    for key in path.split('.').filter(|key| !key.is_empty()).rev() {
        document = [format!("{{\"{key}\":").into_bytes(), document, b"}".to_vec()].concat();
    }
    document
}

fn rows(ndjson: &[u8]) -> Vec<Value> {
    ndjson
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_slice(line).expect("JSON"))
        .collect()
}

/// Without nulls, which a column can't tell from absent fields.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            fields.iter().filter(|(_, value)| !value.is_null()).map(|(key, value)| (key.clone(), plain(value))).collect()
        }
        Value::Array(values) => values.iter().map(plain).collect(),
        other => other.clone(),
    }
}

fn all_plain(ndjson: &[u8]) -> Vec<Value> {
    rows(ndjson).iter().map(plain).collect()
}

/// The rows of `input` as NDJSON, by way of Parquet.
fn through_parquet(folder: &TestFolder, input: &str, flags: &[&str]) -> Vec<u8> {
    let parquet = folder.text("through.parquet");
    let _ = rorqual(&["convert", input, "--force", "-o", &parquet]).args(flags).run().exits(0);
    rorqual(&["convert", &parquet, "--to", "ndjson", "-o", "-"]).run().exits(0).stdout
}

/// The rows of a text as NDJSON.
fn converted(text: impl Into<Vec<u8>>, flags: &[&str]) -> ProcessEnd {
    rorqual(&["convert", "-", "--to", "ndjson", "-o", "-"]).args(flags).stdin(text).run()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    rorqual_testkit::paths::gzip(bytes)
}

#[test]
fn every_layout_and_path_gives_the_same_rows() {
    let folder = TestFolder::new();
    let lines = events(2_000);
    let expected = all_plain(&lines);
    let documents = lines.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect::<Vec<_>>();
    let files = [
        ("lines.ndjson", lines.clone()),
        ("documents.json", documents),
        ("array.json", array(2_000, "")),
        ("nested.json", array(2_000, "a.b.items")),
        ("lines.ndjson.gz", gzip(&lines)),
        ("nested.json.gz", gzip(&array(2_000, "a.b.items"))),
    ];
    for (name, bytes) in files {
        let file = folder.file(name, &bytes);
        let rows = if name.starts_with("nested") { &["--rows", "$.a.b.items"][..] } else { &[] };
        for flags in [&["--threads", "1"][..], &["--threads", "3", "--memory", "384MiB"]] {
            assert!(all_plain(&through_parquet(&folder, &file, &[flags, rows].concat())) == expected, "{name} {flags:?}");
        }
        assert!(all_plain(&converted(bytes, rows).exits(0).stdout) == expected, "{name} from a pipe");
    }
}

#[test]
fn columns_are_those_of_the_whole_input() {
    let folder = TestFolder::new();
    // The columns of the first 8 MiB are not those of the last lines.
    let mut text: Vec<u8> =
        (0..400_000).flat_map(|number| format!("{{\"n\":{number},\"s\":{{\"a\":true}},\"l\":[1]}}\n").into_bytes()).collect();
    let last = [json!({"n": 0.5, "s": {"a": true, "b": "x"}, "l": ["y"], "new": [{"z": null}]}), json!({"n": null, "l": []})];
    last.iter().for_each(|row| writeln!(text, "{row}").expect("memory"));
    let file = folder.file("late.ndjson", &text);
    let schema = rorqual(&["schema", &file]).run().exits(0);
    let parquet = folder.text("late.parquet");
    let _ = rorqual(&["convert", &file, "-o", &parquet]).run().exits(0);
    let printed = rorqual(&["schema", &parquet]).run().exits(0).stdout;
    assert_eq!(String::from_utf8_lossy(&printed), String::from_utf8_lossy(&schema.stdout), "of the file as of its input");
    let back = rows(&rorqual(&["convert", &parquet, "--to", "ndjson", "-o", "-"]).run().exits(0).stdout);
    assert_eq!(back.len(), 400_002);
    // A list of numbers and texts is one of texts.
    assert_eq!(plain(&back[0]), json!({"n": 0.0, "s": {"a": true}, "l": ["1"]}));
    assert_eq!(plain(&back[400_000]), json!({"n": 0.5, "s": {"a": true, "b": "x"}, "l": ["y"], "new": [{}]}));
}

#[test]
fn of_a_stream_what_comes_too_late_for_a_column_is_in_the_rest() {
    let mut text: Vec<u8> =
        (0..600_000).flat_map(|number| format!("{{\"n\":{number},\"t\":\"{}\"}}\n", "x".repeat(10)).into_bytes()).collect();
    text.extend(b"{\"n\":\"late\",\"new\":{\"a\":[1,null]}}\n");
    let folder = TestFolder::new();
    let parquet = folder.text("piped.parquet");
    let ran = rorqual(&["convert", "-", "-o", &parquet]).stdin(text).run().exits(0);
    ran.says(&["a value without a column, which is in _rest"]);
    let back = rows(&rorqual(&["convert", &parquet, "--to", "ndjson", "-o", "-"]).run().exits(0).stdout);
    let last = back.last().expect("rows");
    let shown = last.to_string();
    assert!(shown.contains("late") && shown.contains("new") && shown.contains("[1,null]"), "{shown}");
}

#[test]
fn what_is_bad_is_told_with_its_place_and_nothing_is_written() {
    let folder = TestFolder::new();
    let good = "{\"a\":1}\n{\"a\":2}\n";
    let cases: [(&str, &str, Vec<u8>, &[&str]); 9] = [
        ("garbage.ndjson", "", format!("{good}nonsense\n").into_bytes(), &["at byte 16"]),
        ("cut.ndjson", "", format!("{good}{{\"a\":").into_bytes(), &["at byte 21"]),
        ("cut.json", "", b"[{\"a\":1},{\"a\":2},{\"a\"".to_vec(), &["at byte 21"]),
        ("open.json", "", b"[{\"a\":1},{\"a\":2}".to_vec(), &["at byte 16"]),
        ("behind.json", "", b"[{\"a\":1}] x".to_vec(), &["at byte 10"]),
        ("nan.ndjson", "", format!("{good}{{\"a\":NaN}}\n").into_bytes(), &["at byte 21"]),
        ("utf32.json", "--from=json", b"\xff\xfe\0\0[\0\0\0]\0\0\0".to_vec(), &["UTF-32", "iconv"]),
        ("none.json", "--rows=$.b", b"{\"a\":[1]}".to_vec(), &["$.b"]),
        ("utf8.ndjson", "", [good.as_bytes(), b"{\"a\":\"\xff\"}\n"].concat(), &["at byte 22"]),
    ];
    for (name, flag, bytes, said) in cases {
        let file = folder.file(name, &bytes);
        let target = folder.text("never.parquet");
        let flags: Vec<&str> = [flag].into_iter().filter(|flag| !flag.is_empty()).collect();
        let ran = rorqual(&["convert", &file, "-o", &target]).args(flags).run().exits(2);
        ran.says(&[name]).says(said);
        assert!(!std::path::Path::new(&target).exists(), "{name}: there is a file");
    }
}

#[test]
fn bad_records_are_left_out_kept_or_end_it_as_asked() {
    let folder = TestFolder::new();
    let text = "{\"a\":1}\n{\"a\":}\n{\"a\":2}\n[1\n{\"a\":3}\n";
    let file = folder.file("bad.ndjson", text);
    let rejects = folder.text("rejects");
    let to = |flags: &[&str]| rorqual(&["convert", &file, "--to", "ndjson", "-o", "-"]).args(flags).run();
    let kept = to(&["--rejects", &rejects]).exits(0);
    kept.says(&["2 bad records"]);
    assert_eq!(rows(&kept.stdout), [json!({"a": 1}), json!({"a": 2}), json!({"a": 3})]);
    assert_eq!(std::fs::read_to_string(&rejects).expect("rejects"), "{\"a\":}\n[1\n");
    assert_eq!(to(&["--bad", "skip"]).exits(0).stdout, kept.stdout);
    to(&[]).exits(2).says(&["at byte 13", "record that starts at byte 8"]);
    let target = folder.text("partial.parquet");
    let ran = rorqual(&["convert", &file, "--keep-partial", "-o", &target]).run().exits(2);
    ran.says(&["has the 1 rows before that"]);
    let back = rorqual(&["convert", &target, "--to", "ndjson", "-o", "-"]).run().exits(0).stdout;
    assert_eq!(rows(&back), [json!({"a": 1})]);
}

#[test]
fn a_record_that_is_too_long_is_told_with_its_size() {
    let folder = TestFolder::new();
    let long = format!("{{\"a\":\"{}\"}}", "x".repeat(3 << 20));
    let rejects = folder.text("rejects");
    for (name, text, separator) in [
        ("long.ndjson", format!("{{\"a\":\"1\"}}\n{long}\n{{\"a\":\"2\"}}\n"), "\n"),
        ("long.json", format!("[{{\"a\":\"1\"}},{long},{{\"a\":\"2\"}}]"), ","),
    ] {
        let file = folder.file(name, &text);
        let to =
            |flags: &[&str]| rorqual(&["convert", &file, "--to", "ndjson", "-o", "-", "--record-max", "1MiB"]).args(flags).run();
        // A line with its newline, an element without its comma.
        let bytes = long.len() + usize::from(separator == "\n");
        to(&[]).exits(2).says(&[&format!("a record of {bytes} bytes"), "--record-max 1.00 MiB", "at byte 1"]);
        let skipped = to(&["--bad", "skip"]).exits(0);
        assert_eq!(rows(&skipped.stdout), [json!({"a": "1"}), json!({"a": "2"})], "{name}");
        let _ = to(&["--force", "--rejects", &rejects]).exits(0);
        let kept = std::fs::read_to_string(&rejects).expect("rejects");
        assert_eq!(kept.trim_end_matches(['\n', ',']).trim_start_matches(','), long, "{name} {separator:?}");
        assert_eq!(
            rorqual(&["convert", &file, "--to", "ndjson", "-o", "-", "--record-max", "4MiB"]).run().exits(0).stdout.len(),
            text.len() - usize::from(separator == ",")
        );
    }
}

#[test]
fn odd_documents() {
    let one = |text: &str| rows(&converted(text, &["--from", "json"]).exits(0).stdout);
    assert_eq!(one("[]"), Vec::<Value>::new());
    assert_eq!(one("[1,2,3]"), [json!(1), json!(2), json!(3)]);
    assert_eq!(one("\u{feff}[{\"a\":true}]"), [json!({"a": true})]);
    assert_eq!(one("{\"a\":1}{\"a\":2} {\"a\":3}"), [json!({"a": 1}), json!({"a": 2}), json!({"a": 3})]);
    let twice = converted("{\"a\":1,\"a\":2}\n{\"a\":3}\n", &[]).exits(0);
    twice.says(&["a key twice in one object", "at byte"]);
    assert_eq!(rows(&twice.stdout), [json!({"a": 2}), json!({"a": 3})]);
    // 2^64 is kept as it is written; of a number of more digits than a double has, the nearest, or
    // the text by option.
    let large = "{\"a\":18446744073709551616,\"b\":0.12345678901234567890}\n{\"a\":1,\"b\":2}\n";
    let nearest = converted(large, &[]).exits(0);
    nearest.says(&["1 x a number that 64 bits or a double would change", "1 x a number of more digits", "--exact-numbers"]);
    assert_eq!(rows(&nearest.stdout)[0], json!({"a": "18446744073709551616", "b": 0.12345678901234568}));
    let exact = converted(large, &["--exact-numbers"]).exits(0);
    assert_eq!(rows(&exact.stdout)[0], json!({"a": "18446744073709551616", "b": "0.12345678901234567890"}));
    let deep = format!("{{\"a\":{}1{}}}\n", "[".repeat(99_990), "]".repeat(99_990));
    let back = converted(deep.clone(), &[]).exits(0).stdout;
    assert!(back.len() >= deep.len(), "depth is kept as JSON text");
    let key = "k".repeat(1 << 20);
    let long_key = converted(format!("{{\"{key}\":1}}\n"), &[]).exits(0).stdout;
    assert!(long_key.len() > key.len(), "a key of 1 MiB is in _rest");
}

#[test]
fn ten_thousand_columns_and_memory() {
    let folder = TestFolder::new();
    let row = |offset: usize| {
        let fields: Vec<String> = (0..10_000).map(|column| format!("\"c{column}\":{}", column + offset)).collect();
        format!("{{{}}}\n", fields.join(","))
    };
    let file = folder.file("wide.ndjson", (0..300).map(row).collect::<String>());
    let target = folder.text("wide.parquet");
    let ran = rorqual(&["convert", &file, "-o", &target, "--memory", "512MiB"]).run().exits(0);
    ran.within(512 * MIB);
    let back = rorqual(&["convert", &target, "--to", "ndjson", "-o", "-", "--memory", "512MiB"])
        .run()
        .exits(0)
        .within(512 * MIB)
        .stdout
        .clone();
    let last: Value = rows(&back).pop().expect("rows");
    assert_eq!((last["c0"].clone(), last["c9999"].clone()), (json!(299), json!(10_298)));
}

#[test]
fn memory_is_kept_for_each_layout_of_documents() {
    let folder = TestFolder::new();
    // The layouts beside the first differ in their beginning and end.
    for (path, bytes) in [("", 1 << 30), ("a.b.items", 800 * MIB)] {
        let target = folder.text(&format!("large{path}.parquet"));
        let feed = move |stdin: &mut std::process::ChildStdin| write_array(&mut EventLines::new(3), bytes, path, stdin).map(drop);
        let rows = if path.is_empty() { "$" } else { "$.a.b.items" };
        let ran = rorqual(&["convert", "-", "-o", &target, "--memory", "256MiB", "--rows", rows]).feed(feed).run().exits(0);
        ran.within(256 * MIB);
    }
    // The same as the members of an object, which is used as a map.
    let target = folder.text("members.parquet");
    let feed = |stdin: &mut std::process::ChildStdin| {
        let (mut lines, mut out) = (EventLines::new(3), std::io::BufWriter::new(stdin));
        let (mut line, mut written) = (Vec::new(), 0);
        out.write_all(b"{\"before\":[{}],\"a\":{\"users\":{")?;
        for number in 0.. {
            line.clear();
            lines.line(&mut line);
            written += line.len() as u64;
            let comma = if number == 0 { "" } else { "," };
            out.write_all(format!("{comma}\"-K{number:08}\":").as_bytes())?;
            out.write_all(&line)?;
            if written > 800 * MIB {
                break;
            }
        }
        out.write_all(b"}}}")?;
        out.flush()
    };
    let ran = rorqual(&["convert", "-", "-o", &target, "--memory", "256MiB", "--rows", "$.a.users.*"]).feed(feed).run().exits(0);
    ran.within(256 * MIB);
    let first = rorqual(&["head", "-n", "1", &target]).run().exits(0).json();
    assert!(first["key"] == "-K00000000" && first["value"].is_object(), "{first}");
}

/// The records that take most memory beside their text: lists of a million numbers, of which an
/// encoder holds levels, places and values at once.
#[test]
fn memory_is_kept_for_lists_of_a_million_numbers() {
    let folder = TestFolder::new();
    let feed = |stdin: &mut std::process::ChildStdin| {
        let line = format!("{{\"a\":[{}]}}\n", vec!["1"; 1_000_000].join(","));
        (0..120).try_for_each(|_| stdin.write_all(line.as_bytes()))
    };
    let target = folder.text("lists.parquet");
    let ran = rorqual(&["convert", "-", "--from", "ndjson", "--threads", "2", "-o", &target]).feed(feed).run().exits(0);
    ran.within(256 * MIB);
    let first = rorqual(&["head", "-n", "1", &target]).run().exits(0).json();
    assert_eq!(first["a"].as_array().map(Vec::len), Some(1_000_000));
}

#[test]
fn a_document_is_one_row_whatever_its_size() {
    let folder = TestFolder::new();
    for count in [3, 400, 1_500] {
        let document = array(count, "a.b.items");
        let indented = [b"{\n ".as_slice(), &document[1..]].concat();
        for (name, bytes) in [("one.json", document.clone()), ("indented.json", indented), ("one.json.gz", gzip(&document))] {
            let file = folder.file(name, &bytes);
            for ran in [rorqual(&["convert", &file, "--to", "ndjson", "-o", "-"]).run(), converted(bytes, &[])] {
                let ran = ran.exits(0);
                ran.says(&["is one document, which is one row; --rows '$.a.b.items' makes a row of each element"]);
                let back = rows(&ran.stdout);
                assert_eq!(back.len(), 1, "{name}");
                assert_eq!(back[0]["a"]["b"]["items"].as_array().map(Vec::len), Some(count), "{name}");
            }
            let items = rorqual(&["convert", &file, "--rows", "$.a.b.items", "--to", "ndjson", "-o", "-"]).run().exits(0);
            assert_eq!((rows(&items.stdout).len(), items.stderr.as_str()), (count, ""), "{name}");
        }
    }
    // A too large record is told, and the way to read it.
    let large = folder.file("large.json", array(9_000, "items"));
    let ran = rorqual(&["convert", &large, "-o", &folder.text("x.parquet")]).run().exits(2);
    ran.says(&["--rows '$.items'", "more than --record-max 2.00 MiB"]);
}

#[test]
fn lines_that_are_long_are_no_single_document() {
    let folder = TestFolder::new();
    let line = format!("{{\"v\":[{}]}}\n", vec!["1"; 300_000].join(","));
    let lines = line.repeat(3).into_bytes();
    let file = folder.file("x.ndjson", &lines);
    let compressed = folder.file("x.ndjson.gz", gzip(&lines));
    for file in [&file, &compressed] {
        let ran = rorqual(&["convert", file, "--to", "ndjson", "-o", "-"]).run().exits(0);
        assert_eq!((rows(&ran.stdout).len(), &*ran.stderr), (3, ""), "{file}");
    }
    let ran = converted(lines, &[]).exits(0);
    assert_eq!((rows(&ran.stdout).len(), &*ran.stderr), (3, ""));
    // The end of a document may be too far away to be seen.
    let begins = "begins with a document of more than 256 KiB; where no other follows,";
    for (count, says) in [(3_000, "is one document, which is longer than --record-max;"), (9_000, begins)] {
        let long = folder.file("long.json", array(count, "items"));
        let ran = rorqual(&["convert", &long, "-o", &folder.text("x.parquet")]).run().exits(2);
        ran.says(&[&format!("long.json: {says} --rows '$.items'"), "more than --record-max 2.00 MiB"]);
    }
}

#[test]
fn a_footer_that_is_longer_than_its_file_is_no_matter_of_memory() {
    let folder = TestFolder::new();
    let file = folder.file("par1.parquet", "PAR1PAR1");
    let ran = rorqual(&["convert", &file, "--to", "csv", "-o", "-"]).run().exits(2);
    ran.says(&["par1.parquet: not a sound Parquet file: its footer is longer than the file"]);
}

#[test]
fn null_among_objects_stays_null() {
    let folder = TestFolder::new();
    let lines = "{\"a\":1}\nnull\n{\"a\":2,\"l\":[{\"b\":1},null]}\n{}\n";
    for (name, text) in [("n.ndjson", lines.to_owned()), ("n.json", format!("[{}]", lines.trim_end().replace('\n', ",")))] {
        let file = folder.file(name, &text);
        for back in [converted(text, &[]).exits(0).stdout, through_parquet(&folder, &file, &[])] {
            assert_eq!(rows(&back), [json!({"a": 1}), json!(null), json!({"a": 2, "l": [{"b": 1}, null]}), json!({})], "{name}");
        }
    }
    // Also where it comes late.
    let late = folder.file("late.ndjson", with_late("{\"a\":1}", "null"));
    assert_eq!(rows(&through_parquet(&folder, &late, &[])).pop(), Some(json!(null)));
}

#[test]
fn a_csv_that_says_its_delimiter_is_read_by_it() {
    let text = "sep=;\r\nname, first;amount\r\n\"Ann; B\";1,5\r\nBob;2\r\n";
    let ran = converted(text, &["--from", "csv"]).exits(0);
    let expected = [json!({"name, first": "Ann; B", "amount": "1,5"}), json!({"name, first": "Bob", "amount": "2"})];
    assert_eq!(rows(&ran.stdout), expected);
}

#[test]
fn a_double_is_the_one_that_was_written() {
    // C's printf("%.17g") of 0.1, 0.3, 100.1 and 1/3; read back by Python's float().
    let text = "{\"a\":0.10000000000000001}\n{\"a\":0.29999999999999999}\n{\"a\":100.09999999999999}\n{\"a\":0.33333333333333331}\n{\"a\":1}\n";
    let csv = text.replace("{\"a\":", "").replace('}', "");
    for ran in [converted(text, &[]), converted(format!("a\n{csv}"), &["--from", "csv"])] {
        let ran = ran.exits(0);
        let expected = [0.1, 0.3, 100.1, 1.0 / 3.0, 1.0].map(|value| json!({"a": value}));
        assert_eq!((rows(&ran.stdout), ran.stderr.as_str()), (expected.to_vec(), ""));
    }
    let exact = converted(text, &["--exact-numbers"]).exits(0);
    assert_eq!(rows(&exact.stdout)[0], json!({"a": "0.10000000000000001"}));
    // Whole numbers above 2^53 beside a number with a point; the nearest doubles by Python's
    // float().
    let whole = "{\"a\":9007199254740993}\n{\"a\":18446744073709551615}\n{\"a\":1152921504606846976}\n{\"a\":-0.5}\n";
    let csv = whole.replace("{\"a\":", "").replace('}', "");
    for (text, from) in [(whole.to_owned(), "json"), (format!("a\n{csv}"), "csv")] {
        let ran = converted(&*text, &["--from", from]).exits(0);
        ran.says(&["2 x a number of more digits than a double has"]);
        let expected = [9_007_199_254_740_992.0, 18_446_744_073_709_551_616.0, 1_152_921_504_606_846_976.0, -0.5];
        assert_eq!(rows(&ran.stdout), expected.map(|value| json!({"a": value})), "{from}");
        let exact = converted(&*text, &["--from", from, "--exact-numbers"]).exits(0);
        assert_eq!(rows(&exact.stdout)[0], json!({"a": "9007199254740993"}), "{from}");
    }
    converted("a\n0.1234567890123456789\n2\n", &["--from", "csv"])
        .exits(0)
        .says(&["1 x a number of more digits than a double has"]);
}

#[test]
fn moments_and_dates_are_the_same_of_every_format() {
    let folder = TestFolder::new();
    let moments = ["2025-01-31T08:00:00+05:30", "2025-01-31 02:30:00", "2025-01-31t02:30:00.5z", "NA"];
    let days = ["2024-02-29", "NA", "1969-12-31", "0001-01-01"];
    let line = |(moment, day): (&&str, &&str)| format!("{{\"at\":\"{moment}\",\"day\":\"{day}\",\"n\":\"-\"}}\n");
    let json: String = moments.iter().zip(&days).map(line).collect();
    let csv: String = moments.iter().zip(&days).map(|(moment, day)| format!("{moment},\"{day}\",-\n")).collect();
    let files = [folder.file("t.ndjson", json), folder.file("t.csv", format!("at,day,n\n{csv}"))];
    let flags = ["--null", "NA", "--null=-"];
    for file in &files {
        let schema = rorqual(&["schema", file]).args(flags).run().exits(0);
        assert_eq!(schema.json(), json!({"at": "timestamp[ms]", "day": "date", "n": "json"}), "{file}");
        // 08:00 at +05:30 is 02:30 in UTC.
        let expected = [
            json!({"at": "2025-01-31T02:30:00Z", "day": "2024-02-29"}),
            json!({"at": "2025-01-31T02:30:00Z"}),
            json!({"at": "2025-01-31T02:30:00.500Z", "day": "1969-12-31"}),
            json!({"day": "0001-01-01"}),
        ];
        assert_eq!(rows(&through_parquet(&folder, file, &flags)), expected, "{file}");
        assert_eq!(rows(&rorqual(&["head", file]).args(flags).run().exits(0).stdout), expected, "{file}");
        let said = folder.file("said.json", r#"{"at": "timestamp", "day": "date", "n": "text"}"#);
        let by_schema = rorqual(&["convert", file, "--schema", &said, "--to", "ndjson", "-o", "-"]).args(flags).run().exits(0);
        assert_eq!(rows(&by_schema.stdout), expected, "{file}");
    }
}

#[test]
fn a_file_without_a_header_keeps_its_first_row() {
    let folder = TestFolder::new();
    for (text, first) in [
        ("2024-01-01,alice\n2024-01-02,bob\n2024-01-03,carol\n", json!({"column1": "2024-01-01", "column2": "alice"})),
        ("alice,10.0.0.1\nbob,10.0.0.2\ncarol,10.0.0.3\n", json!({"column1": "alice", "column2": "10.0.0.1"})),
        ("a@example.com,x\nb@example.org,y\nc@example.org,z\n", json!({"column1": "a@example.com", "column2": "x"})),
    ] {
        let file = folder.file("none.csv", text);
        for ran in [rorqual(&["convert", &file, "--to", "ndjson", "-o", "-"]).run(), converted(text, &["--from", "csv"])] {
            let ran = ran.exits(0);
            ran.says(&["its first record looks like a row", "--header true"]);
            assert_eq!((rows(&ran.stdout).len(), &rows(&ran.stdout)[0]), (3, &first), "{text}");
        }
        let named = rorqual(&["convert", &file, "--header", "true", "--to", "ndjson", "-o", "-"]).run().exits(0);
        assert_eq!((rows(&named.stdout).len(), named.stderr.as_str()), (2, ""), "{text}");
    }
    let doubtful = converted("name,city\nalice,paris\nbob,london\n", &["--from", "csv"]).exits(0);
    doubtful.says(&["is taken for the columns' names; --header false"]);
    assert_eq!(rows(&doubtful.stdout)[0], json!({"name": "alice", "city": "paris"}));
    assert_eq!(converted("name,age\nalice,3\n", &["--from", "csv"]).exits(0).stderr, "");
}

#[test]
fn a_table_without_quotes_has_a_row_a_line() {
    // As Python's csv.reader(…, delimiter="\t", quoting=csv.QUOTE_NONE) has it.
    let text = "id\ttitle\n1\t\"Heroes\" and more\n2\t\"open\n3\tclosed\"\n";
    let expected = ["\"Heroes\" and more", "\"open", "closed\""];
    for flags in [&[][..], &["--quote", "none"], &["--from", "tsv"]] {
        let ran = converted(text, flags).exits(0);
        let titles: Vec<Value> = rows(&ran.stdout).iter().map(|row| row["title"].clone()).collect();
        assert_eq!(titles, expected, "{flags:?}");
        assert_eq!(ran.stderr.contains("--quote"), !flags.contains(&"none"), "{flags:?}: {}", ran.stderr);
    }
    let single = converted("a,b\n1,'x,y'\n", &["--from", "csv", "--quote", "'"]).exits(0);
    assert_eq!(rows(&single.stdout), [json!({"a": 1, "b": "x,y"})]);
    converted("a,b\n1,2\n", &["--from", "csv", "--quote", "no"]).exits(2).says(&["--quote \"no\" is not a quote"]);
}

#[test]
fn utf_16_is_read_as_text() {
    let folder = TestFolder::new();
    let encoded = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let expected = [json!({"id": 1, "name": "Größe 🚀"}), json!({"id": 2, "name": "日本"})];
    let csv = encoded("\u{feff}id\tname\r\n1\tGröße 🚀\r\n2\t日本\r\n");
    let json = encoded("\u{feff}[{\"id\":1,\"name\":\"Größe 🚀\"},{\"id\":2,\"name\":\"日本\"}]");
    for (name, bytes) in [("excel.txt", csv), ("a.json", json)] {
        let file = folder.file(name, &bytes);
        assert_eq!(rows(&through_parquet(&folder, &file, &[])), expected, "{name}");
        assert_eq!(rows(&converted(bytes, &[]).exits(0).stdout), expected, "{name} from a pipe");
        assert_eq!(rows(&rorqual(&["head", &file]).run().exits(0).stdout), expected, "{name}");
    }
}

#[test]
fn an_object_used_as_a_map_is_one_column() {
    let folder = TestFolder::new();
    let users: Vec<String> = (0..5_000).map(|user| format!("\"u{user}\":{{\"age\":{user},\"tags\":[\"x\"]}}")).collect();
    let text = format!("{{\"users\":{{{}}},\"n\":1}}", users.join(","));
    let file = folder.file("map.json", &text);
    assert_eq!(rorqual(&["schema", &file]).run().exits(0).json(), json!({"users": "json", "n": "int64"}));
    let back = rows(&through_parquet(&folder, &file, &[]));
    assert_eq!(back, [serde_json::from_str::<Value>(&text).expect("JSON")]);
}

#[test]
fn a_string_of_3_gib_is_told_in_bounded_memory() {
    let feed = |stdin: &mut std::process::ChildStdin| {
        stdin.write_all(b"{\"a\":1}\n{\"a\":\"")?;
        let piece = vec![b'x'; 1 << 20];
        (0..3 << 10).try_for_each(|_| stdin.write_all(&piece))?;
        stdin.write_all(b"\"}\n{\"a\":2}\n")
    };
    let folder = TestFolder::new();
    let target = folder.text("out.ndjson");
    let ran = rorqual(&["convert", "-", "--bad", "skip", "-o", &target]).feed(feed).run().exits(0);
    ran.within(256 * MIB).says(&["1 bad record"]);
    assert_eq!(std::fs::read_to_string(&target).expect("rows"), "{\"a\":1}\n{\"a\":2}\n");
}

#[test]
fn a_log_becomes_the_rows_that_its_report_counts() {
    let folder = TestFolder::new();
    let text: String =
        (0..20_000).map(|number| if number % 100 == 7 { "no log line\n".to_owned() } else { line(number) + "\n" }).collect();
    let file = folder.file("access.log", &text);
    let rejects = folder.text("rejects");
    let target = folder.text("log.parquet");
    rorqual(&["convert", &file, "-o", &target, "--rejects", &rejects]).run().exits(0).says(&["200 bad records"]);
    assert_eq!(std::fs::read_to_string(&rejects).expect("rejects"), "no log line\n".repeat(200));
    let back = rows(&rorqual(&["convert", &target, "--to", "ndjson", "-o", "-"]).run().exits(0).stdout);
    assert_eq!(back.len(), 19_800);
    let report = rorqual(&["logs", "--json", &file]).run().exits(0).json();
    let sum: u64 = back.iter().filter_map(|row| row["bytes"].as_u64()).sum();
    assert_eq!(json!(sum), report["bytes_sent"], "the report's sum of bytes");
    assert!(text.starts_with(back[0]["client"].as_str().expect("a client")));
}

#[test]
fn csv_is_typed_where_nothing_is_lost() {
    let text = "id,name,zip,price,when,ok,none\n1,\"a, \"\"b\"\"\",007,1.50,2025-01-01T00:00:00Z,true,\n2,\"\",12,2,2025-01-02T00:00:00Z,false,\n";
    let back = rows(&converted(text, &[]).exits(0).stdout);
    assert_eq!(
        plain(&back[0]),
        json!({"id": 1, "name": "a, \"b\"", "zip": "007", "price": 1.5, "when": "2025-01-01T00:00:00Z", "ok": true})
    );
    assert_eq!(
        plain(&back[1]),
        json!({"id": 2, "name": "", "zip": "12", "price": 2.0, "when": "2025-01-02T00:00:00Z", "ok": false})
    );
    let wrong = converted("a,b\n1,2\n3\n4,5,6\n", &["--from", "csv"]).exits(2);
    wrong.says(&["at byte 8"]);
}

#[test]
fn a_schema_that_was_printed_is_read() {
    let folder = TestFolder::new();
    let file = folder.file("events.ndjson", events(500));
    let schema = folder.file("schema.json", rorqual(&["schema", &file]).run().exits(0).stdout);
    let [with, without] = [&["--schema", &schema][..], &[]].map(|flags| through_parquet(&folder, &file, flags));
    assert!(all_plain(&with) == all_plain(&without));
    let wrong = folder.file("wrong.json", "{\"a\": \"int65\"}");
    rorqual(&["convert", &file, "--schema", &wrong, "-o", &folder.text("x.parquet")]).run().exits(2).says(&[
        "--schema",
        "wrong.json",
        "int65",
    ]);
}

#[test]
fn nothing_is_half_written() {
    let folder = TestFolder::new();
    let file = folder.file("events.ndjson", events(20_000));
    let before = folder.names();
    // Files of more than 64 KiB are refused to it, as a full disk refuses.
    for target in ["full.parquet", "full.arrow", "full.ndjson", "full.csv"] {
        let script = "trap '' XFSZ; ulimit -f 64; exec \"$0\" convert \"$1\" -o \"$2\"";
        let ran =
            ProcessRun::new("bash").args(["-c", script, crate::common::PROGRAM, &file, &folder.text(target)]).run().exits(2);
        ran.says(&["File too large", target]);
        assert_eq!(folder.names(), before);
    }
    rorqual(&["convert", &file, "-o", &file]).run().exits(2).says(&["is one of the inputs"]);
    rorqual(&["convert", &file, "-o", &folder.text("what")]).run().exits(2).says(&["--to"]);
    rorqual(&["convert", &file, "--memory", "20MiB", "-o", &folder.text("x.parquet")])
        .run()
        .exits(2)
        .says(&["--memory", "writer (--row-group)"]);
    assert_eq!(folder.names(), before);
}

#[test]
fn the_least_memory_that_is_named_is_enough_and_kept() {
    let folder = TestFolder::new();
    let file = folder.file("events.ndjson", events(60_000));
    let refused = rorqual(&["convert", &file, "--threads", "1", "--memory", "30MiB", "-o", &folder.text("a.parquet")])
        .run()
        .exits(2)
        .stderr;
    let mut memory = advised(&refused);
    // The columns are only known once there is memory enough to look at them.
    for _ in 0..2 {
        let ran = rorqual(&["convert", &file, "--threads", "1", "--memory", &memory, "-o", &folder.text("a.parquet")]).run();
        let mebibytes: u64 = memory.trim_end_matches("MiB").parse().expect("a number");
        if ran.code == Some(0) {
            ran.within(mebibytes * MIB);
            return;
        }
        memory = advised(&ran.stderr);
    }
    panic!("never enough: {memory}");
}

#[test]
fn as_many_threads_as_are_asked_for_have_room_with_shorter_records() {
    let folder = TestFolder::new();
    // One record of 3 MiB among short ones.
    let long = format!("{{\"text\":\"{}\"}}\n", "x".repeat(3 << 20));
    let file = folder.file("events.ndjson", [events(20_000), long.into_bytes(), events(20_000)].concat());
    let target = folder.text("a.parquet");
    let convert = |memory: &str, more: &[&str]| {
        rorqual(&["convert", &file, "--force", "-o", &target, "--threads", "8", "--stats", "--memory", memory]).args(more).run()
    };
    let ran = convert("1GiB", &[]).exits(0);
    ran.within(GIB).says(&["\"threads\":8"]);
    let written = rorqual(&["summary", &target, "--json"]).run().exits(0).json();
    assert_eq!(written["rows"]["total"], 40_001);
    // Less memory takes shorter records yet, and says so.
    convert("600MiB", &[]).exits(2).says(&["a record of 3145740 bytes, more than --record-max", "starts"]);
    convert("600MiB", &["--bad", "skip"]).exits(0).within(600 * MIB);
    // A record is never shorter than was asked for: threads give way, which is told once.
    let fewer = convert("1GiB", &["--record-max", "8MiB"]).exits(0);
    fewer.within(GIB).says(&["--memory 1.00 GiB has room for 4 of --threads 8, which work", "\"threads\":4"]);
    assert_eq!(fewer.stderr.matches("has room for").count(), 2, "{}", fewer.stderr);
    // Without room for one thread it is refused; what is named is enough for all, and the same as
    // where there are fewer.
    let named = advised(&convert("20MiB", &[]).exits(2).stderr);
    let fewer = convert("200MiB", &["--bad", "skip"]).exits(0);
    fewer.within(200 * MIB).says(&["of --threads 8, which work", &format!("--memory {named} has room for all")]);
    convert(&named, &["--bad", "skip"])
        .exits(0)
        .within(rorqual_pipe::parse_size(&named).expect("a size"))
        .says(&["\"threads\":8"]);
}

/// So many lines that more than the start of the input is needed, and then one more.
fn with_late(line: &str, late: &str) -> String {
    format!("{}{late}\n", format!("{line}\n").repeat((5 << 20) / line.len()))
}

#[test]
fn a_column_that_begins_with_nulls_has_the_type_of_its_values() {
    let folder = TestFolder::new();
    let file = folder.file(
        "nulls.ndjson",
        with_late("{\"n\":null,\"l\":[],\"s\":{},\"t\":\"x\"}", "{\"n\":7,\"l\":[1],\"s\":{\"a\":2},\"t\":\"y\"}"),
    );
    let schema = rorqual(&["schema", &file]).run().exits(0).json();
    assert_eq!(schema, json!({"n": "int64", "l": ["int64"], "s": {"a": "int64"}, "t": "text"}));
    let parquet = folder.text("nulls.parquet");
    let _ = rorqual(&["convert", &file, "-o", &parquet]).run().exits(0);
    assert_eq!(rorqual(&["schema", &parquet]).run().exits(0).json(), schema);
    let csv = folder.file("nulls.csv", with_late("a,b\n1,", "2,3"));
    let back = rows(
        &rorqual(&["convert", &csv, "--header", "true", "--from", "csv", "--to", "ndjson", "-o", "-"]).run().exits(0).stdout,
    );
    assert_eq!(back.last().expect("rows")["b"], json!("3"), "with the header as a value now and then, it is text");
}

#[test]
fn standard_output_has_each_row_once() {
    let folder = TestFolder::new();
    let file = folder.file("late.ndjson", with_late("{\"n\":1}", "{\"n\":\"x\"}"));
    let lines = std::fs::read_to_string(&file).expect("the file").lines().count();
    let ran = rorqual(&["convert", &file, "--to", "csv", "-o", "-"]).run().exits(0);
    assert_eq!(ran.text().lines().count(), 1 + lines);
    let script = "set -o pipefail; \"$0\" convert \"$1\" --to ndjson -o - | head -1";
    let ran = ProcessRun::new("bash").args(["-c", script, crate::common::PROGRAM, &file]).run().exits(0);
    assert_eq!((ran.text(), ran.stderr.as_str()), ("{\"n\":\"1\"}\n", ""));
}

#[test]
fn what_is_redirected_is_read_whole() {
    let folder = TestFolder::new();
    let lines = events(1_000);
    let expected = all_plain(&lines);
    for (name, bytes) in [("plain", lines.clone()), ("gzip", gzip(&lines))] {
        let file = folder.file(name, bytes);
        for verb in ["convert - --to ndjson -o -", "head -n 1000 -", "sample -n 1000 -"] {
            let ran = ProcessRun::new("bash")
                .args(["-c", &format!("\"$0\" {verb} < \"$1\""), crate::common::PROGRAM, &file])
                .run()
                .exits(0);
            assert!(all_plain(&ran.stdout) == expected, "{verb} of {name}");
        }
    }
    // Beside a file that needs a second pass.
    let late = folder.file("late.ndjson", with_late("{\"n\":1}", "{\"n\":\"x\"}"));
    let both = rorqual(&["convert", &late, "-", "-o", &folder.text("both.ndjson")]).stdin("{\"n\":2}\n").run().exits(0);
    let _ = both;
    let text = std::fs::read_to_string(folder.text("both.ndjson")).expect("rows");
    assert!(text.ends_with("{\"n\":2}\n"), "{}", &text[text.len() - 60..]);
}

#[test]
fn conflicts_are_refused_where_that_is_asked_for() {
    let folder = TestFolder::new();
    let file = folder.file("late.ndjson", with_late("{\"n\":{\"m\":1}}", "{\"n\":{\"m\":\"x\"}}"));
    let ran = rorqual(&["convert", &file, "--conflicts", "error", "-o", &folder.text("x.parquet")]).run().exits(2);
    ran.says(&["n.m is a number at byte", "a text at byte", "--conflicts widen"]);
    let _ = rorqual(&["convert", &file, "-o", &folder.text("x.parquet")]).run().exits(0);
}

#[test]
fn a_schema_keeps_what_it_has_no_column_for() {
    let folder = TestFolder::new();
    let schema = folder.file("schema.json", "{\"a\": \"int64\"}");
    for (name, text) in [("x.ndjson", "{\"a\":1,\"b\":2}\n"), ("x.csv", "a,b\n1,2\n")] {
        let file = folder.file(name, text);
        let back = rows(&rorqual(&["convert", &file, "--schema", &schema, "--to", "ndjson", "-o", "-"]).run().exits(0).stdout);
        let shown = back[0].to_string();
        assert!(back[0]["a"] == json!(1) && shown.contains("\"b\""), "{name}: {shown}");
    }
    let log = folder.file("access.log", line(1) + "\n");
    rorqual(&["convert", &log, "--schema", &schema, "-o", &folder.text("x.parquet")])
        .run()
        .exits(2)
        .says(&["--schema", "its columns itself"]);
}

#[test]
fn the_first_rows_and_some_of_any_format() {
    let folder = TestFolder::new();
    let lines = events(3_000);
    let expected = all_plain(&lines);
    let table: String = std::iter::once("n,t\n".to_owned()).chain((0..3_000).map(|n| format!("{n},\"t {n}\"\n"))).collect();
    for (name, bytes) in [("x.ndjson", lines.clone()), ("x.json", array(3_000, "")), ("x.ndjson.gz", gzip(&lines))] {
        let file = folder.file(name, bytes);
        let head = rorqual(&["head", "-n", "700", &file]).run().exits(0);
        assert!(all_plain(&head.stdout) == expected[..700], "{name}");
        let [one, again] = [1, 2].map(|_| rorqual(&["sample", "-n", "20", "--seed", "5", &file]).run().exits(0).stdout);
        assert_eq!(one, again);
        let sampled = all_plain(&one);
        let places: Vec<usize> =
            sampled.iter().map(|row| expected.iter().position(|other| other == row).expect("a row of the file")).collect();
        assert!(places.len() == 20 && places.is_sorted(), "{places:?}");
    }
    let file = folder.file("x.csv", table);
    assert_eq!(
        rorqual(&["head", "-n", "2", &file, "--columns", "t"]).run().exits(0).text(),
        "{\"t\":\"t 0\"}\n{\"t\":\"t 1\"}\n"
    );
    rorqual(&["head", &file, "--columns", "x"]).run().exits(2).says(&["no column 'x'", "n, t"]);
    let log = folder.file("access.log", (0..50).map(|n| line(n) + "\n").collect::<String>());
    assert_eq!(
        rorqual(&["head", "-n", "7", &log, "--to", "csv", "--columns", "status"]).run().exits(0).text().lines().count(),
        8
    );
}

#[test]
fn short_records_of_many_columns_take_no_more_memory() {
    let folder = TestFolder::new();
    // 16 bytes of text are 5,000 columns, most of them null: 300 KB would be more than a gigabyte
    // of arrays.
    let text: String = (0..20_000).map(|number| format!("{{\"k{}\":{number}}}\n", number % 5_000)).collect();
    let file = folder.file("sparse.ndjson", text);
    let target = folder.text("sparse.out");
    let converted = rorqual(&["convert", &file, "--to", "ndjson", "-o", &target]).run().exits(0);
    converted.within(128 * MIB);
    let back = rows(&std::fs::read(&target).expect("rows"));
    assert_eq!((back.len(), plain(&back[19_999])), (20_000, json!({"k4999": 19_999})));
    rorqual(&["convert", &file, "--to", "arrow", "--force", "-o", &target]).run().exits(0).within(128 * MIB);
    for verb in ["head", "sample"] {
        let ran = rorqual(&[verb, "-n", "3", &file]).run().exits(0);
        assert_eq!(rows(&ran.stdout).len(), 3);
        ran.within(128 * MIB);
    }
}

#[test]
fn ctrl_c_says_that_nothing_is_written() {
    let folder = TestFolder::new();
    let target = folder.text("out.ndjson");
    let rows = "{\"a\":1}\n".repeat(10_000);
    let (sender, taken) = std::sync::mpsc::channel();
    let feed = move |stdin: &mut std::process::ChildStdin| loop {
        stdin.write_all(rows.as_bytes())?;
        // Whether the test still counts is its own affair.
        let _ = sender.send(rows.len());
    };
    let running = rorqual(&["convert", "-", "-o", &target]).feed(feed).start();
    // More than is looked at for the columns, and than a pipe holds.
    let taken_bytes = taken.iter().take(100).sum::<usize>();
    assert_eq!(taken_bytes, 8_000_000);
    running.interrupt();
    let ran = running.wait().exits(130);
    let kept = "is not written (--keep-partial keeps what came before)";
    assert_eq!(ran.stderr, format!("rorqual: stopped by Ctrl-C\nrorqual: {target} {kept}\n"));
    assert!(folder.names().is_empty());
}

/// Nothing came yet, or not even a whole record: there is no format to tell, and that is not the
/// end of the run.
#[test]
fn ctrl_c_before_the_first_record_is_no_fault_of_the_input() {
    let folder = TestFolder::new();
    let target = folder.text("out.ndjson");
    let kept = format!("rorqual: {target} is not written (--keep-partial keeps what came before)\n");
    let convert: &[&str] = &["convert", "-", "-o", &target];
    let runs = [(convert, "", &*kept), (convert, "{\"a\":", &kept), (&["schema", "-"], "", "")];
    for (verb, start, said) in runs {
        let (sender, sent) = std::sync::mpsc::channel();
        let feed = move |stdin: &mut std::process::ChildStdin| {
            stdin.write_all(start.as_bytes())?;
            sender.send(stdin.as_fd().try_clone_to_owned()?).expect("the test waits");
            Ok(())
        };
        let running = rorqual(verb).feed(feed).start();
        // As long as we hold it, the pipe does not end.
        let _writing_end = sent.recv().expect("it is fed");
        listens(&running);
        running.interrupt();
        let ran = running.wait().exits(130);
        assert_eq!(ran.stderr, format!("rorqual: stopped by Ctrl-C\n{said}"), "{verb:?} after {start:?}");
        assert!(folder.names().is_empty());
    }
}

#[test]
fn the_file_that_is_written_to_is_not_read() {
    let folder = TestFolder::new();
    for script in [
        "convert f.ndjson --to ndjson -o - >> f.ndjson",
        "head f.ndjson >> f.ndjson",
        "convert - --from ndjson --to csv -o - < f.ndjson >> f.ndjson",
    ] {
        folder.file("f.ndjson", "{\"a\":1}\n");
        let ran = ProcessRun::new("bash")
            .args(["-c", &format!("{} {script}", env!("CARGO_BIN_EXE_rorqual"))])
            .with(|run| {
                run.current_dir(folder.path());
            })
            .run();
        assert_eq!(ran.code, Some(2), "{script}");
        assert!(ran.stderr.contains("is also the output"), "{script}: {}", ran.stderr);
        assert_eq!(std::fs::read_to_string(folder.path().join("f.ndjson")).expect("it is there"), "{\"a\":1}\n", "{script}");
    }
}

#[test]
fn a_csv_of_one_column_is_read_as_it_was_written() {
    let folder = TestFolder::new();
    for (number, text) in [
        "{\"a\":1}\n{\"a\":null}\n{\"a\":3}\n",
        "{\"a\":0.5}\n{\"a\":null}\n",
        "{\"a\":\"2026-01-27\"}\n{\"a\":null}\n",
        "{\"a\":\"x\"}\n{\"a\":\"\"}\n",
    ]
    .into_iter()
    .enumerate()
    {
        let (rows, csv) = (folder.file(&format!("{number}.ndjson"), text), folder.at(&format!("{number}.csv")));
        let csv = csv.to_str().expect("UTF-8");
        drop(rorqual(&["convert", &rows, "-o", csv]).run().exits(0));
        let again = rorqual(&["convert", csv, "--to", "ndjson", "-o", "-"]).run().exits(0);
        // An object has no keys of nulls.
        assert_eq!(again.text(), text.replace("{\"a\":null}", "{}"));
    }
}

/// The doubles by Python's float(); the first of the integers is one.
#[test]
fn integers_past_64_bits_are_doubles_beside_numbers_with_a_point() {
    let integers = ["18446744073709551616", "123456789012345678901234567890", "-9223372036854775809"];
    let doubles = [18_446_744_073_709_551_616.0, 1.234_567_890_123_456_8e29, -9_223_372_036_854_775_808.0];
    let lines = |values: &[&str], from: &str| match from {
        "csv" => format!("a\n{}\n", values.join("\n")),
        _ => values.iter().map(|value| format!("{{\"a\":{value}}}\n")).collect(),
    };
    let folder = TestFolder::new();
    for from in ["json", "csv"] {
        let alone = converted(lines(&integers, from), &["--from", from]).exits(0);
        alone.says(&["3 x a number that 64 bits or a double would change, which stays text"]);
        assert_eq!(rows(&alone.stdout), integers.map(|value| json!({"a": value})), "{from}");
        for mixed in [["0.5"].iter().chain(&integers).copied().collect::<Vec<_>>(), [&integers[..], &["0.5"]].concat()] {
            let ran = converted(lines(&mixed, from), &["--from", from]).exits(0);
            ran.says(&["2 x a number of more digits than a double has"]);
            let found: Vec<_> = rows(&ran.stdout).iter().map(|row| row["a"].as_f64()).collect();
            let integers_first = mixed[0] != "0.5";
            let expected: Vec<_> = match integers_first {
                true => doubles.into_iter().chain([0.5]).map(Some).collect(),
                false => [0.5].into_iter().chain(doubles).map(Some).collect(),
            };
            assert_eq!(found, expected, "{from}");
            let exact = converted(lines(&mixed, from), &["--from", from, "--exact-numbers"]).exits(0);
            assert_eq!(rows(&exact.stdout)[usize::from(!integers_first)], json!({"a": integers[0]}), "{from}");
        }
        // A point that comes when the columns are known by the start.
        let mut values = vec![integers[0]; 300_000];
        for (last, expected) in [("7", "text"), ("0.5", "float64")] {
            values.push(last);
            let file = folder.file(&format!("late-{last}.{from}"), lines(&values, from));
            let target = folder.text("late.parquet");
            let _ = rorqual(&["convert", "--force", "--from", from, &file, "-o", &target]).run().exits(0);
            assert_eq!(rorqual(&["schema", &target]).run().exits(0).json(), json!({"a": expected}), "{from} {last}");
            assert_eq!(
                rorqual(&["schema", "--from", from, &file]).run().exits(0).json(),
                json!({"a": expected}),
                "{from} {last}"
            );
        }
    }
}

/// Nothing tells whether a number after the agent is a time or a size; `logs` says it so.
#[test]
fn what_is_not_read_of_the_lines_of_a_log_is_said_once() {
    let folder = TestFolder::new();
    let lines: String = (0..300).map(|number| format!("{} 1234\n", line(number))).collect();
    let file = folder.file("access.log", lines);
    let said = "this of each line is a column of its own and no time or size, as nothing tells its unit: 1234. A --format that names it reads it";
    let target = folder.text("a.parquet");
    for args in [&["logs"][..], &["convert", "--from", "log", "-o", &target], &["head"], &["sample"], &["schema"], &["summary"]] {
        let ran = rorqual(args).arg(&file).run().exits(0);
        assert_eq!(ran.stderr.matches(said).count(), 1, "{args:?}: {}", ran.stderr);
    }
    let format = r#"%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-agent}i" %D"#;
    let read = rorqual(&["convert", "--force", "--format", format, "-o", &target, &file]).run().exits(0);
    assert!(!read.stderr.contains("nothing tells its unit"), "{}", read.stderr);
}

/// A format that not all lines fit is a guess, and every verb that reads by it says so.
#[test]
fn a_doubtful_format_of_a_log_is_said() {
    let folder = TestFolder::new();
    let file = folder.file("mixed.log", [log(8), b"no line at all\n".repeat(2)].concat());
    let target = folder.text("a.parquet");
    let said = "taken for 'combined', but only 8 of the first 10 lines fit";
    for args in [&["convert", "--bad", "skip", "-o", &target][..], &["head"], &["schema"], &["summary"]] {
        let ran = rorqual(args).arg(&file).run();
        assert_eq!(ran.stderr.matches(said).count(), 1, "{args:?}: {}", ran.stderr);
    }
    let sound = folder.file("sound.log", log(10));
    assert!(!rorqual(&["head", &sound]).run().exits(0).stderr.contains("taken for"));
}

/// A log that was cut while its writer had it open begins with a hole, which may be longer than
/// what is looked at for a format.
#[test]
fn a_log_that_begins_with_a_hole_is_a_log() {
    let folder = TestFolder::new();
    let line = "1.2.3.4 - - [10/Oct/2024:13:55:36 +0000] \"GET / HTTP/1.1\" 200 5\n";
    for hole in [5_000, 262_100, 300_000, 3_000_000] {
        let text = [vec![0; hole], line.repeat(40).into_bytes()].concat();
        let file = folder.file("access.log", &text);
        let from_file = rorqual(&["convert", &file, "--to", "ndjson", "-o", "-"]).run().exits(0);
        let from_pipe = rorqual(&["convert", "-", "--to", "ndjson", "-o", "-"]).stdin(text).run().exits(0);
        assert_eq!(from_file.text().matches("\"client\":\"1.2.3.4\"").count(), 40, "{hole}: {}", from_file.stderr);
        assert_eq!(from_pipe.text(), from_file.text(), "{hole}");
    }
    // NULs before other data tell nothing.
    let file = folder.file("data", [vec![0; 300_000], b"a,b\n1,2\n".to_vec()].concat());
    let _ = rorqual(&["convert", &file, "--to", "ndjson", "-o", "-"]).run().exits(2).says(&["binary data"]);
}

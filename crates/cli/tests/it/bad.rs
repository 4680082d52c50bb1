//! Bad records: the first is named by every verb that leaves them out, with its file, place and
//! reason.

use crate::common::{TestFolder, rorqual};
use serde_json::json;

/// `{"a":}` at byte 8 and `[1` at byte 23 are none; the first lacks its value at byte 13.
const TEXT: &str = "{\"a\":1}\n{\"a\":}\n{\"a\":2}\n[1\n{\"a\":3}\n";
const FIRST: &str = "a value should be here (in the record that starts at byte 8) at byte 13";

#[test]
fn head_and_sample_name_the_first_and_end_with_2() {
    let folder = TestFolder::new();
    let file = folder.file("bad.ndjson", TEXT);
    let said = format!("2 bad records were left out; the first: {file}: {FIRST}");
    let ran = rorqual(&["head", &file]).run().exits(2);
    assert_eq!(ran.text(), "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
    ran.says(&[&said]);
    rorqual(&["sample", &file]).run().exits(2).says(&[&said]);
}

#[test]
fn head_tells_of_what_is_before_its_last_row() {
    let folder = TestFolder::new();
    let file = folder.file("bad.ndjson", TEXT);
    let none = rorqual(&["head", "-n", "1", &file]).run().exits(0);
    assert_eq!((none.text(), none.stderr.as_str()), ("{\"a\":1}\n", ""));
    let said = format!("1 bad record was left out: {file}: {FIRST}");
    rorqual(&["head", "-n", "2", &file]).run().exits(2).says(&[&said]);
}

#[test]
fn a_template_that_loops_twice_counts_them_once() {
    let folder = TestFolder::new();
    let file = folder.file("bad.ndjson", TEXT);
    let once = "{% for row in rows %}{{ row.a }} {% endfor %}";
    for template in [once.to_owned(), once.repeat(2), format!("{{% macro m() %}}{{% endmacro %}}{once}")] {
        let page = folder.file("page.txt", &template);
        let ran = rorqual(&["render", &page, "--rows", &file]).run().exits(2);
        assert!(ran.text().starts_with("1 2 3 "), "{}", ran.text());
        ran.says(&[&format!("2 bad records were left out; the first: {file}: {FIRST}")]);
    }
}

#[test]
fn one_that_is_too_long_is_told_too() {
    let folder = TestFolder::new();
    let long = format!("{{\"a\":1}}\n{{\"b\":\"{}\"}}\n{{\"a\":2}}\n", "x".repeat(2 << 20));
    let file = folder.file("long.ndjson", long);
    let said = format!("{file}: a record of more than --record-max 256 KiB starts at byte 8");
    let page = folder.file("page.txt", "{% for row in rows %}{{ row.a }} {% endfor %}");
    let record_max = ["--record-max", "256KiB"];
    let ran = rorqual(&["schema", &file]).args(record_max).run().exits(2);
    assert_eq!(ran.json(), json!({"a": "int64"}));
    ran.says(&[&format!("1 bad record was left out of the columns: {said}")]);
    rorqual(&["head", &file]).args(record_max).run().exits(2).says(&["1 bad record", &said]);
    rorqual(&["render", &page, "--rows", &file]).args(record_max).run().exits(2).says(&["1 bad record", &said]);
}

#[test]
fn lines_that_are_no_log_are_no_failure() {
    let folder = TestFolder::new();
    let file = folder.file("access.log", format!("{}\nno log line\n", crate::common::line(1)));
    rorqual(&["head", &file]).run().exits(0).says(&["1 bad record was left out: ", &file]);
}

/// Lines of a log beyond the limit, wherever the blocks of 256 KiB are cut in them: each of them is
/// told, also one that lies within what is read at once.
#[test]
fn a_long_line_of_a_log_is_never_passed_over() {
    let folder = TestFolder::new();
    let line = crate::common::line;
    let long = line(1).replace("GET /", &format!("GET /{}", "x".repeat(300 << 10)));
    for before in [1, 500, 1_500, 2_000] {
        let head: String = (0..before).map(|number| line(number) + "\n").collect();
        let text = format!("{head}{long}\n{}\n", line(2));
        let file = folder.file("access.log", &text);
        let convert = |input: &str, flags: &[&str]| {
            let args = ["convert", input, "--from", "log", "--to", "csv", "-o", "-", "--record-max", "256KiB"];
            rorqual(&args).args(flags).stdin(text.as_bytes().to_vec()).run()
        };
        for input in [file.as_str(), "-"] {
            let place = format!("byte {}", head.len());
            convert(input, &["--bad", "error"]).exits(2).says(&["--record-max", &place]);
            let ran = convert(input, &["--bad", "skip"]).exits(0);
            ran.says(&["1 bad record was left out", "--record-max", &place]);
            assert_eq!(ran.text().lines().count() as u64, 1 + before + 1, "{input}, after {before} lines");
        }
    }
}

#[test]
fn lines_that_end_in_cr_alone_are_refused() {
    let folder = TestFolder::new();
    let text = "a,b\r1,2\r3,4\r";
    let file = folder.file("old.csv", text);
    let said = "its lines end in CR alone; convert them: tr '\\r' '\\n'";
    rorqual(&["head", &file]).run().exits(2).says(&[&format!("{file}: {said}")]);
    rorqual(&["head", "-"]).stdin(text).run().exits(2).says(&[&format!("standard input: {said}")]);
    let converted = folder.file("new.csv", text.replace('\r', "\n"));
    assert_eq!(rorqual(&["head", &converted]).run().exits(0).text(), "{\"a\":1,\"b\":2}\n{\"a\":3,\"b\":4}\n");
}

#[test]
fn places_are_said_in_order() {
    let folder = TestFolder::new();
    let quotes = folder.file("q.csv", "a,b\n1,\"x\n");
    rorqual(&["convert", &quotes, "-o", "-", "--to", "ndjson"]).run().exits(2).says(&[
        "the quotes that opened at byte 6 are not closed when the input ends",
        "--quote none",
        "at byte 9",
    ]);
    let utf_32: Vec<u8> = "\u{feff}[1]".chars().flat_map(|character| u32::from(character).to_le_bytes()).collect();
    let utf_32 = folder.file("u.json", utf_32);
    rorqual(&["head", "--from", "json", &utf_32])
        .run()
        .exits(2)
        .says(&["is UTF-32 (iconv -f UTF-32LE -t UTF-8 converts it), which starts at byte 0"]);
}

#[test]
fn all_bad_and_kept_is_an_empty_file_and_a_note() {
    let folder = TestFolder::new();
    let file = folder.file("bad.ndjson", "{\"a\":}\n{\"b\":}\n");
    let rejects = folder.text("rejects");
    let ran = rorqual(&["convert", &file, "--to", "ndjson", "-o", "-", "--rejects", &rejects]).run().exits(0);
    assert_eq!(ran.text(), "");
    ran.says(&[&format!("2 bad records were left out, and are in {rejects}; the first: {file}: a value should be here")]);
}

#[test]
fn a_conversion_that_fails_keeps_no_rejects_and_says_so() {
    let folder = TestFolder::new();
    let file = folder.file("cut.json", "[{\"a\":1},{\"a\":2},{\"a\":3");
    let (rejects, target) = (folder.text("rejects"), folder.text("out.parquet"));
    for flags in [["--rejects", rejects.as_str()], ["--bad", "skip"]] {
        let ran = rorqual(&["convert", &file, "-o", &target]).args(flags).run().exits(2);
        ran.says(&["1 bad record was left out: ", "is not written (--keep-partial keeps what came before)"]);
        assert!(!ran.stderr.contains(&rejects) && !ran.stderr.contains("--bad"), "{}", ran.stderr);
        assert!(!std::path::Path::new(&rejects).exists());
    }
}

/// Samples are the first three lines of each reason, wherever blocks end.
#[test]
fn samples_of_rejected_lines_do_not_depend_on_blocks() {
    let folder = TestFolder::new();
    let start = "1.2.3.4 - - [10/Oct/2024:13:55:36 +0000] \"GET / HTTP/1.1\"";
    let good = format!("{start} 200 5\n");
    let bad = ["junk\n", &format!("{start}\n"), "1.2.3.4 - -\n"];
    for apart in [0, 5_000] {
        let (mut text, mut expected, mut number) = (good.repeat(20), Vec::new(), 20);
        for line in bad {
            for _ in 0..5 {
                number += 1;
                text.push_str(line);
                expected.push((line.trim_end(), number));
            }
            text.push_str(&good.repeat(apart));
            number += apart;
        }
        let file = folder.file("access.log", &text);
        for threads in ["1", "3"] {
            let report = rorqual(&["logs", "--json", "--threads", threads, "--format", "common", &file]).run().json();
            let samples = report["rejects"]["samples"].as_array().expect("samples");
            let found: Vec<(&str, usize)> = samples
                .iter()
                .map(|sample| (sample["text"].as_str().expect("a text"), sample["line"].as_u64().expect("a number") as usize))
                .collect();
            let first: Vec<(&str, usize)> = expected.chunks(5).flat_map(|alike| alike[..3].to_vec()).collect();
            assert_eq!(found, first, "{apart} apart, {threads} threads");
        }
    }
}

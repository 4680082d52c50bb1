//! Results as files and texts.

use crate::common::{SAMPLE, TestFolder, answer, csv, query};
use rorqual_testkit::process::ProcessRun;

const ROWS: &str =
    "SELECT * FROM (VALUES (1, 'a\tb', NULL), (20, '\u{1b}[2J\u{202e}x', 0.5)) AS t (number, text, share) ORDER BY number";

#[test]
fn formats() {
    assert_eq!(answer(query(&["--to", "csv", ROWS])), "number,text,share\n1,a\tb,\n20,\u{1b}[2J\u{202e}x,0.5\n");
    let ndjson = "{\"number\":1,\"text\":\"a\\tb\"}\n{\"number\":20,\"text\":\"\\u001b[2J\u{202e}x\",\"share\":0.5}\n";
    assert_eq!(answer(query(&["--to", "ndjson", ROWS])), ndjson);
    let json: serde_json::Value = serde_json::from_str(&answer(query(&["--to", "json", ROWS]))).unwrap();
    let lines: Vec<serde_json::Value> = ndjson.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(json, serde_json::Value::Array(lines));
    // A value can't steer the terminal.
    let table = "number  text                share\n     1  a\\tb\n    20  \\u{1b}[2J\\u{202e}x    0.5\n";
    assert_eq!(answer(query(&["--to", "table", ROWS])), table);
}

#[test]
fn a_result_without_rows_has_its_columns() {
    let none = "SELECT 1 AS a, 'x' AS b WHERE false";
    assert_eq!(csv(none), "a,b\n");
    assert_eq!(answer(query(&["--to", "json", none])), "[]\n");
    assert_eq!(answer(query(&["--to", "ndjson", none])), "");
}

#[test]
fn lists_and_structs_in_csv_are_texts() {
    assert_eq!(csv("SELECT make_array(1, 2) AS list, 3 AS n"), "list,n\n\"[1,2]\",3\n");
}

#[test]
fn a_table_is_cut_and_says_so() {
    let ran = query(&["--to", "table", "--max-rows", "2", "SELECT value FROM generate_series(1, 100000)"]).run().exits(0);
    assert_eq!(ran.text(), "value\n    1\n    2\n");
    ran.says(&["these are the first 2 rows; there are more"]);
    let exact = query(&["--to", "table", "--max-rows", "2", "SELECT value FROM generate_series(1, 2)"]);
    assert_eq!(answer(exact), "value\n    1\n    2\n");
}

#[test]
fn a_file_appears_whole_or_not_at_all() {
    let folder = TestFolder::new();
    let log = folder.file("access.log", SAMPLE);
    for name in ["out.csv", "out.json", "out.ndjson", "out.parquet", "out.arrow"] {
        let target = folder.text(name);
        // Most rows are written before one that can't be divided.
        let sql = format!("SELECT 100 / (CASE WHEN bytes = 203023 THEN 0 ELSE 1 END) AS x, agent FROM '{log}' ORDER BY bytes");
        let ran = query(&["-o", &target, &sql]).run().exits(2);
        ran.says(&["ivide"]);
        assert_eq!(folder.names(), ["access.log"], "{name}");
    }
    let target = folder.file("kept.csv", "what was there\n");
    query(&["-o", &target, "SELECT 1"]).run().exits(2).says(&["is there already; --force replaces it"]);
    let _ = query(&["--force", "-o", &target, "SELECT 1 / 0"]).run().exits(2);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "what was there\n");
    let _ = query(&["--force", "-o", &target, "SELECT 1 AS one"]).run().exits(0);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "one\n1\n");
    let _ = query(&["--to", "csv", "-o", "/dev/full", "SELECT 1"]).run().exits(2);
    let _ = query(&["--to", "csv", "-o", "/dev/null", "SELECT 1"]).run().exits(0);
    assert_eq!(answer(query(&["--to", "csv", "-o", "-", "SELECT 1 AS one"])), "one\n1\n");
    // Of several statements the last makes the file, as without it the last is read.
    let _ = query(&["-o", &folder.text("two.csv"), "SELECT 1 AS one; SELECT 2 AS two"]).run().exits(0);
    assert_eq!(std::fs::read_to_string(folder.text("two.csv")).unwrap(), "two\n2\n");
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let folder = TestFolder::new();
    let log = folder.file("access.log", SAMPLE.repeat(5));
    let script = format!("{} --to csv \"SELECT * FROM '{log}'\" | head -n 2", crate::common::PROGRAM);
    let ran = ProcessRun::new("bash").args(["-o", "pipefail", "-c", &script]).run().exits(0);
    assert_eq!((ran.text().lines().count(), crate::common::said(&ran)), (2, String::new()));
}

#[test]
fn the_text_of_a_query_is_an_input() {
    let folder = TestFolder::new();
    let text = folder.file("q.sql", "SELECT 1 AS one");
    let (file, other) = (folder.text("q.sql"), folder.text("other.csv"));
    let check = |ran: rorqual_testkit::process::ProcessEnd| {
        ran.exits(2).says(&[&text, "is one of the inputs, and would be lost"]);
        assert_eq!(std::fs::read_to_string(&text).unwrap(), "SELECT 1 AS one");
    };
    check(query(&["--to", "csv", "--force", "-f", &file, "-o", &text]).run());
    let script = "exec \"$0\" --to csv --force -o \"$1\" < \"$2\"";
    let by_shell = |output: &str| ProcessRun::new("bash").args(["-c", script, crate::common::PROGRAM, output, &file]).run();
    check(by_shell(&text));
    let _ = by_shell(&other).exits(0);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "one\n1\n");
    // Standard input that nobody reads is no input.
    let unread = "exec \"$0\" --to csv --force -o \"$1\" 'SELECT 2 AS two' < \"$1\"";
    let _ = ProcessRun::new("bash").args(["-c", unread, crate::common::PROGRAM, &other]).run().exits(0);
    assert_eq!(std::fs::read_to_string(&other).unwrap(), "two\n2\n");
}

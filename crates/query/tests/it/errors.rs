//! Errors that tell the way on, and end with the right code.

use crate::common::{SAMPLE, TestFolder, answer, query};
use rorqual_testkit::paths::gzip;

fn fails(sql: &str, says: &[&str]) {
    let ran = query(&["--to", "csv", sql]).run().exits(2);
    assert_eq!(ran.text(), "", "{sql}");
    ran.says(says);
}

#[test]
fn what_is_wrong_is_named() {
    let folder = TestFolder::new();
    let log = folder.file("access.log", SAMPLE);
    let empty = folder.file("empty.log", "");
    let noise = folder.file("noise.bin", [0xfe, 0xff, 0, 1, 2, 3].repeat(100));
    let missing = folder.text("no-such.log");
    fails(&format!("SELECT staus FROM '{log}'"), &["there is no column 'staus'; is status meant?", "time, client, user"]);
    fails(&format!("SELECT * FROM '{missing}'"), &[&missing, "No such file"]);
    fails(&format!("SELECT * FROM '{missing}*'"), &["no file has such a name"]);
    fails("SELECT * FROM nothing", &["'nothing' is neither a table nor a file"]);
    fails(&format!("SELECT * FROM '{empty}'"), &["empty.log", "there is nothing in it"]);
    fails(
        &format!("SELECT * FROM '{noise}'"),
        &["noise.bin", "this is binary data", "rorqual grep, count and hash take any bytes"],
    );
    fails("SELEC 1", &["Expected"]);
    fails("", &["there is no query"]);
    fails("SELECT * FROM 'ftp://h/x.log'", &["ftp:// is not one of s3://, gs://, az://, http://, https://"]);
}

#[test]
fn nothing_is_written_by_statements() {
    let folder = TestFolder::new();
    let log = folder.file("access.log", SAMPLE);
    let target = folder.text("copy.csv");
    for sql in [
        format!("COPY (SELECT * FROM '{log}') TO '{target}'"),
        format!("INSERT INTO '{log}' SELECT * FROM '{log}'"),
        format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{target}'"),
    ] {
        let ran = query(&[&sql]).run().exits(2);
        assert!(ran.says(&["rorqual: "]).stdout.is_empty());
    }
    assert_eq!(folder.names(), ["access.log"]);
}

#[test]
fn a_compressed_file_that_is_cut_gives_no_answer() {
    let folder = TestFolder::new();
    let whole = zstd::encode_all(&SAMPLE.repeat(3)[..], 3).unwrap();
    let path = folder.file("cut.log.zst", &whole[..whole.len() / 2]);
    fails(&format!("SELECT count(*) FROM '{path}'"), &["cut.log.zst"]);
}

#[test]
fn standard_input_is_read_once() {
    let ran = query(&["--to", "csv", "SELECT count(*) FROM '-' a JOIN '-' b ON a.path = b.path"]).stdin(SAMPLE).run().exits(2);
    ran.says(&["standard input"]);
}

#[test]
fn too_little_memory_is_refused_with_its_sum() {
    let ran = query(&["--memory", "64MiB", "SELECT 1"]).run().exits(2);
    ran.says(&["--memory 64.0 MiB is too little", "program", "operators", "Give --memory"]);
}

#[test]
fn an_output_that_is_an_input_is_none() {
    let folder = TestFolder::new();
    let path = folder.file("c.ndjson", "{\"a\":1}\n");
    let all = format!("SELECT 99 AS z FROM '{}'", folder.text("*.ndjson"));
    for sql in [format!("SELECT 99 AS z FROM '{path}'"), all] {
        query(&[&sql, "-o", &path]).run().exits(2).says(&["-o", "is one of the inputs"]);
        assert_eq!(std::fs::read_to_string(&path).expect("it is still there"), "{\"a\":1}\n");
    }
}

#[test]
fn long_statements_are_refused_before_they_overflow_the_stack() {
    let chains = [
        format!("SELECT {}1", "1+".repeat(100_000)),
        format!("SELECT {}1", "1=".repeat(100_000)),
        format!("SELECT 1{}", " IS NULL".repeat(100_000)),
        format!("{}SELECT 1", "SELECT 1 UNION ALL ".repeat(100_000)),
    ];
    for sql in chains {
        let folder = TestFolder::new();
        let file = folder.file("q.sql", &sql);
        query(&["-f", &file]).run().exits(2).says(&["100000 operators", "1000"]);
    }
    // A flat list may be long.
    let flat = format!(
        "SELECT count(*) AS n FROM (VALUES {}(-1)) AS t(v) WHERE v IN ({}-1)",
        "(-1), ".repeat(1_500),
        "-1, ".repeat(1_500)
    );
    assert_eq!(answer(query(&["--to", "csv", &flat])), "n\n1501\n");
    // At the limit, of constants and of a value that is different in each row.
    assert_eq!(answer(query(&["--to", "csv", &format!("SELECT {}1 AS n", "1+".repeat(1_000))])), "n\n1001\n");
    let folder = TestFolder::new();
    let rows = folder.file("rows.csv", "v\n1\n2\n");
    let sum = format!("SELECT {}v AS n FROM '{rows}' WHERE v > 1", "v+".repeat(999));
    assert_eq!(answer(query(&["--to", "csv", &sum])), "n\n2000\n");
}

#[test]
fn an_arrow_file_that_lies_about_its_buffers_is_refused() {
    let folder = TestFolder::new();
    let path = folder.text("lies.arrow");
    let rows: String = (0..5_000).map(|n| format!("a,{n}\n")).collect();
    let csv = folder.file("rows.csv", format!("s,n\n{rows}"));
    assert_eq!(answer(query(&["--to", "arrow", "-o", &path, &format!("SELECT * FROM '{csv}'")])), "");
    let whole = std::fs::read(&path).expect("it is there");
    let sql = format!("SELECT max(s) AS max, sum(n) AS sum FROM '{path}'");
    assert_eq!(answer(query(&["--to", "csv", &sql])), "max,sum\na,12497500\n");
    // Each eight bytes may be the length of a buffer: none may end the process by a signal.
    let end = whole.len() - 4_096.min(whole.len());
    for at in (8..4_096.min(whole.len()) - 8).chain(end..whole.len() - 8).step_by(8) {
        let mut bytes = whole.clone();
        bytes[at..at + 8].copy_from_slice(&i64::MAX.to_le_bytes());
        std::fs::write(&path, &bytes).expect("it can be written");
        let ran = query(&["--to", "csv", &sql]).run();
        assert!(matches!(ran.code, Some(0 | 2)), "byte {at}: {:?} {}", ran.code, ran.stderr);
    }
}

#[test]
fn only_files_below_the_root_are_tables() {
    let folder = TestFolder::new();
    std::fs::create_dir(folder.text("root")).unwrap();
    let inside = folder.file("root/a.ndjson", "{\"n\":1}\n");
    let outside = folder.file("b.ndjson", "{\"n\":2}\n");
    std::os::unix::fs::symlink(&outside, folder.text("root/link.ndjson")).unwrap();
    let root = format!("--root={}", folder.text("root"));
    let asked = |name: &str| query(&[&root, "--to", "csv", &format!("SELECT n FROM '{name}'")]).run();
    assert_eq!(asked(&inside).exits(0).text(), "n\n1\n");
    let link = folder.text("root/link.ndjson");
    let dots = folder.text("root/../b.ndjson");
    let all = folder.text("*.ndjson");
    let every = folder.text("root/*.ndjson");
    let file = format!("file://{outside}");
    for name in [&outside, &link, &dots, &all, &every, &file, &folder.text("")] {
        asked(name).exits(2).says(&["is not below", "(--root)"]);
    }
    asked("https://example.com/x.csv").exits(2).says(&["addresses are not read (--root)"]);
}

/// A long first line is not all of a file.
#[test]
fn lines_that_are_long_are_no_single_document() {
    let folder = TestFolder::new();
    let line = |count: usize| format!("{{\"k\":[{}]}}\n", vec!["1"; count].join(","));
    let lines = folder.file("x.ndjson", line(300_000).repeat(5));
    assert_eq!(answer(query(&["--to", "csv", &format!("SELECT count(*) AS n FROM '{lines}'")])), "n\n5\n");
    let piped = query(&["--to", "csv", "SELECT count(*) AS n FROM '-'"]).stdin(line(300_000).repeat(5));
    assert_eq!(answer(piped), "n\n5\n");
    let one = folder.file("one.json", line(300_000));
    let ran = query(&["--to", "csv", &format!("SELECT count(*) AS n FROM '{one}'")]).run().exits(0);
    ran.says(&["one.json: is one document, which is one row; --rows '$.k' makes a row of each element of that array"]);
    assert_eq!(ran.text(), "n\n1\n");
}

#[test]
fn records_that_are_too_long_to_tell_the_columns_are_said_to_be() {
    let folder = TestFolder::new();
    let line = format!("{{\"k\":[{}]}}\n", vec!["1"; 1_000_000].join(","));
    let sql = |file: &str| format!("SELECT k[1] AS k FROM '{file}'");
    let lines = folder.file("lm.ndjson", line.repeat(3));
    let too_long = ["a record of more than --record-max 1.00 MiB starts at byte 0"];
    for flags in [&[][..], &["--bad", "skip"]] {
        for ran in [query(&[&sql(&lines)]).args(flags).run(), query(&[&sql("-")]).args(flags).stdin(line.repeat(3)).run()] {
            let ran = ran.exits(2);
            ran.says(&too_long);
            assert!(!ran.stderr.contains("document") && !ran.stderr.contains("there is no record in it"), "{}", ran.stderr);
        }
    }
    query(&[&sql(&lines)]).run().exits(2).says(&["lm.ndjson: a record"]);
    let longer = query(&["--to", "csv", "--record-max", "4MiB", "--memory", "1GiB", &sql(&lines)]);
    assert_eq!(answer(longer), "k\n1\n1\n1\n");
    let one = folder.file("one.json", line);
    let ran = query(&[&sql(&one)]).run().exits(2);
    ran.says(&["one.json: is one document, which is longer than --record-max; --rows '$.k'", too_long[0]]);
}

#[test]
fn more_files_than_may_be_open_are_told_with_the_limit() {
    let folder = TestFolder::new();
    let table = folder.text("many0.parquet");
    let _ = query(&["-o", &table, "SELECT 1 AS a"]).run().exits(0);
    for number in 1..40 {
        std::fs::hard_link(&table, folder.at(&format!("many{number}.parquet"))).unwrap();
    }
    let by_shell = |limit: &str| {
        let script = format!("ulimit {limit}; exec \"$0\" --to csv \"$1\"");
        let sql = format!("SELECT count(*) AS n FROM '{}'", folder.text("many*.parquet"));
        rorqual_testkit::process::ProcessRun::new("bash").args(["-c", &script, crate::common::PROGRAM, &sql]).run()
    };
    // Room for one more file only, and each is open twice.
    let ran = by_shell("-n 12").exits(2);
    ran.says(&[
        folder.path().to_str().expect("text"),
        "Too many open files: this process may have 12 at a time",
        "raise the hard limit (`ulimit -n`)",
    ]);
    assert_eq!(by_shell("-Sn 12").exits(0).text(), "n\n40\n");
}

#[test]
fn a_log_whose_columns_change_is_named_with_the_line() {
    let folder = TestFolder::new();
    let first = "#Fields: date time c-ip cs-method cs-uri-stem sc-status\n2026-01-01 00:00:01 192.0.2.1 GET /a 200\n";
    let second = "#Fields: date time c-ip cs-method sc-status\n2026-01-01 00:00:02 192.0.2.2 GET 200\n";
    let path = folder.file("w3c.log", format!("{first}{second}"));
    let packed = folder.file("w3c.log.gz", gzip(format!("{first}{second}").as_bytes()));
    for path in [&path, &packed] {
        for sql in [format!("SELECT count(*) FROM '{path}'"), format!("SELECT path FROM '{path}' WHERE status = 200")] {
            let ran = query(&[&sql]).run().exits(2);
            let place = format!("at byte {}", first.len());
            ran.says(&[&format!("rorqual: {path}: #Fields says other columns"), "as two files", &place]);
        }
    }
}

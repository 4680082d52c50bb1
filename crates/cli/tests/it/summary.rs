//! `rorqual summary`

use crate::common::{MIB, TestFolder, advised, eventually, rorqual};
use crate::tables::peak_bytes;
use rorqual_testkit::paths::gzip;
use serde_json::{Value, json};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;

/// Rows of `rows` numbers as JSON lines: a time each second, a level, an object, a list.
fn lines(rows: i64) -> String {
    let line = |n: i64| {
        let level = ["info", "info", "warn", "error"][(n % 4) as usize];
        let took = (n % 1000) as f64 / 8.0;
        let user = if n % 10 == 0 { "null".to_owned() } else { format!("{{\"name\":\"user {}\",\"age\":{}}}", n % 7, n % 90) };
        let (minute, second) = (n / 60 % 60, n % 60);
        let hour = n / 3_600 % 24;
        format!(
            "{{\"ts\":\"2026-01-27T{hour:02}:{minute:02}:{second:02}Z\",\"level\":\"{level}\",\"took\":{took:?},\"user\":{user},\"tags\":[{}]}}\n",
            n % 2
        )
    };
    (0..rows).map(line).collect()
}

fn summary(args: &[&str]) -> Value {
    let ran = rorqual(&[&["summary", "--json"], args].concat()).run().exits(0);
    serde_json::from_str(ran.text()).expect("one JSON object")
}

/// The columns, without what differs from run to run.
fn answer(mut summary: Value) -> Value {
    let known = summary.as_object_mut().expect("an object");
    ["file", "seconds", "peak_bytes"].iter().for_each(|key| drop(known.remove(*key)));
    summary
}

fn column<'a>(summary: &'a Value, name: &str) -> &'a Value {
    let columns = summary["columns"].as_array().expect("columns");
    columns.iter().find(|column| column["name"] == name).unwrap_or_else(|| panic!("{name} is a column of {summary}"))
}

#[test]
fn columns_are_counted_as_by_hand() {
    let folder = TestFolder::new();
    let path = folder.file("app.ndjson", lines(4_000));
    let path = &*path;
    let all = summary(&[path, "--top", "2"]);
    assert_eq!(all["rows"], json!({"total": 4_000, "matching": 4_000, "dropped": 0}));
    // 2026-01-27T00:00:00Z.
    assert_eq!(all["time"], json!({"column": "ts", "first": 1_769_472_000.0, "last": 1_769_475_999.0}));
    let names: Vec<&str> =
        all["columns"].as_array().expect("columns").iter().map(|column| column["name"].as_str().expect("a name")).collect();
    assert_eq!(names, ["ts", "level", "took", "user.name", "user.age", "tags"]);
    let level = column(&all, "level");
    assert_eq!((&level["kind"], &level["hits"], &level["distinct"]["count"]), (&json!("text"), &json!(4_000), &json!(3)));
    assert_eq!(level["top"][0], json!({"value": "info", "hits": 2_000, "hits_min": 2_000, "hits_max": 2_000}));
    assert_eq!(level["top"].as_array().map(Vec::len), Some(2));
    let took = column(&all, "took");
    assert_eq!((&took["unit"], &took["min"], &took["max"]), (&json!("float"), &json!(0.0), &json!(124.875)));
    // Of 0 to 124.875 in eighths, each four times, the 2,000th is 62.375.
    let p50 = took["quantiles"]["p50"].as_f64().expect("a number");
    assert!((p50 - 62.375).abs() <= 62.375 / 64.0, "{p50}");
    let age = column(&all, "user.age");
    assert_eq!((&age["unit"], &age["hits"], &age["max"]), (&json!("integer"), &json!(3_600), &json!(89)));
    assert_eq!(column(&all, "user.name")["distinct"]["count"], 7);
    assert_eq!(column(&all, "tags")["top"][0]["value"], "[0]");

    let some = summary(&[path, "--where", "level = error and took >= 100 and user.age < 10 and ts < 2026-01-27T00:30"]);
    let means = |n: &i64| n % 4 == 3 && n % 1_000 >= 800 && n % 10 != 0 && n % 90 < 10 && *n < 1_800;
    let meant = (0..4_000).filter(means).count();
    assert!(meant > 0);
    assert_eq!((&some["rows"]["matching"], &some["exact"]), (&json!(meant), &json!(true)));
    assert_eq!(column(&some, "level")["top"], json!([{"value": "error", "hits": meant, "hits_min": meant, "hits_max": meant}]));
}

#[test]
fn numbers_that_lose_digits_are_told() {
    let folder = TestFolder::new();
    let path = folder.file("numbers.ndjson", "{\"a\":9007199254740993}\n{\"a\":0.5}\n");
    let ran = rorqual(&["summary", "--json", &path]).run().exits(0);
    ran.says(&["1 x a number of more digits than a double has", "numbers.ndjson at byte"]);
}

#[test]
fn every_path_gives_the_same_answer() {
    let folder = TestFolder::new();
    let text = lines(30_000);
    let path = folder.file("app.ndjson", &text);
    let path = &*path;
    let expected = answer(summary(&[path]));
    assert_eq!(expected["rows"]["total"], 30_000);
    for threads in ["1", "3"] {
        assert_eq!(answer(summary(&[path, "--threads", threads])), expected);
    }
    // By little memory, of which rows go to a file.
    assert_eq!(answer(summary(&[path, "--memory", "112MiB", "--threads", "1"])), expected);
    let piped = rorqual(&["summary", "--json", "-"]).stdin(text.clone()).run().exits(0);
    assert_eq!(answer(serde_json::from_str(piped.text()).expect("JSON")), expected);
    let gz = folder.file("app.ndjson.gz", gzip(text.as_bytes()));
    assert_eq!(answer(summary(&[&*gz])), expected);
    for target in ["app.parquet", "app.arrow"] {
        let target = folder.at(target);
        let target = target.to_str().expect("UTF-8");
        drop(rorqual(&["convert", path, "-o", target]).run().exits(0));
        assert_eq!(answer(summary(&[target])), expected, "{target}");
    }
    let array = format!("[{}]", text.trim_end().replace('\n', ","));
    let array = folder.file("app.json", array);
    assert_eq!(answer(summary(&[&*array])), expected);
}

#[test]
fn a_column_that_changes_its_type_late_is_counted_whole_or_marked() {
    let line = |n: u32| match n {
        0..400_000 => format!("{{\"took\":{n},\"name\":\"a\"}}\n"),
        400_000..400_010 => format!("{{\"took\":{n}.5,\"name\":\"b\",\"late\":\"x\"}}\n"),
        _ => format!("{{\"took\":{n},\"name\":7}}\n"),
    };
    let text: String = (0..400_020).map(line).collect();
    let folder = TestFolder::new();
    let path = folder.file("late.ndjson", &text);
    let whole = summary(&[&path]);
    let took = column(&whole, "took");
    assert_eq!((&took["hits"], &took["unit"], &took["max"]), (&json!(400_020), &json!("float"), &json!(400_019.0)));
    assert_eq!((&column(&whole, "late")["hits"], &column(&whole, "name")["distinct"]["count"]), (&json!(10), &json!(3)));
    assert_eq!(whole["exact"], true);
    let piped = rorqual(&["summary", "--json", "-"]).stdin(text).run().exits(0);
    piped.says(&["10 of these rows have values", "_rest"]);
    let piped: Value = serde_json::from_str(piped.text()).expect("JSON");
    assert_eq!((&piped["exact"], &column(&piped, "_rest")["hits"]), (&json!(false), &json!(10)));
    assert_eq!(column(&piped, "took")["hits"], 400_010);
}

/// A file whose columns turn up late is read again, and what was guessed of it is told once.
#[test]
fn a_guess_is_told_once_of_a_file_that_is_read_twice() {
    let folder = TestFolder::new();
    let rows: Vec<String> = (0..400_000).map(|n| format!("{{\"took\":{n}}}")).chain(["{\"late\":1}".to_owned()]).collect();
    let path = folder.file("rows.json", format!("{{\"data\":{{\"items\":[{}]}}}}", rows.join(",")));
    let ran = rorqual(&["summary", "--json", &path]).run().exits(0);
    assert_eq!((ran.stderr.matches("$.data.items").count(), ran.stderr.lines().count()), (1, 1), "{}", ran.stderr);
    let summary: Value = serde_json::from_str(ran.text()).expect("JSON");
    assert_eq!((&column(&summary, "late")["hits"], &summary["rows"]["total"]), (&json!(1), &json!(400_001)));
}

#[test]
fn ctrl_c_ends_the_second_reading_of_a_file() {
    let folder = TestFolder::new();
    let row = |n: u32| if n == 400_000 { "{\"late\":1}\n".to_owned() } else { format!("{{\"took\":{n}}}\n") };
    let text: String = (0..4_000_000).map(row).collect();
    let file_bytes = text.len() as u64;
    let path = folder.file("late.ndjson", text);
    let running = rorqual(&["summary", "--json", &path]).start();
    // The first reading ends at the late column, a tenth of the way.
    eventually("a second reading", || {
        let io = std::fs::read_to_string(format!("/proc/{}/io", running.id())).expect("it runs");
        let read = io.lines().find_map(|line| line.strip_prefix("rchar: ")).expect("a field of every kernel");
        (read.trim().parse::<u64>().expect("a number") > file_bytes / 2).then_some(())
    });
    running.interrupt();
    let ran = running.wait().exits(130);
    assert!(ran.stderr.starts_with("rorqual: stopped by Ctrl-C"), "{}", ran.stderr);
}

#[test]
fn a_files_own_rest_is_a_column_like_others() {
    let folder = TestFolder::new();
    let path = folder.file("rest.ndjson", "{\"_rest\":5,\"a\":1}\n{\"_rest\":7}\n");
    let ran = rorqual(&["summary", "--json", &path]).run().exits(0);
    assert_eq!(ran.stderr, "");
    let summary: Value = serde_json::from_str(ran.text()).expect("JSON");
    let rest = column(&summary, "_rest");
    assert_eq!((&summary["exact"], &rest["hits"], &rest["max"]), (&json!(true), &json!(2), &json!(7)));
}

#[test]
fn memory_is_kept_and_every_row_is_counted() {
    // 380 MB of rows with a text that no other has, in less than half of that.
    let rows = 1_200_000_u64;
    let feed = move |stdin: &mut std::process::ChildStdin| {
        let mut out = std::io::BufWriter::new(stdin);
        for n in 0..rows {
            let id = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let text = format!("{id:016x}").repeat(16);
            let level = if n % 5 == 4 { "error" } else { "info" };
            writeln!(out, "{{\"n\":{n},\"level\":\"{level}\",\"text\":\"{text}\"}}")?;
        }
        out.flush()
    };
    let args = ["summary", "-", "--json", "--stats", "--memory", "144MiB", "--threads", "2", "--where", "level = error"];
    let ran = rorqual(&args).feed(feed).run().exits(0);
    let (said, stats) = ran.stderr.trim().split_once('\n').map_or((ran.stderr.as_str(), ""), |(note, stats)| (note, stats));
    assert!(said.contains("read back from a temporary file"), "{said}");
    let stats: Value = serde_json::from_str(stats).expect("one JSON object");
    assert!(stats["peak_bytes"].as_u64().expect("a number") < 144 * MIB, "{stats}");
    let summary: Value = serde_json::from_str(ran.text()).expect("JSON");
    assert_eq!(summary["rows"], json!({"total": rows, "matching": rows / 5, "dropped": 0}));
    let text = column(&summary, "text");
    assert_eq!((&text["hits"], &text["exact"]), (&json!(rows / 5), &json!(false)));
    let n = column(&summary, "n");
    assert_eq!((&n["min"], &n["max"]), (&json!(4), &json!(rows - 1)));
}

#[test]
fn what_is_not_in_the_answer_is_told() {
    let folder = TestFolder::new();
    // 60 MB of texts that no other row has, and no file for what has no room.
    let text = |n: u64| (1..8).map(|k| format!("{:016x}", (n * 8 + k).wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect::<String>();
    let rows: String = (0..400_000).map(|n| format!("{{\"n\":{n},\"text\":\"{}\"}}\n", text(n))).collect();
    let path = folder.file("rows.ndjson", rows);
    let ran = rorqual(&["summary", "--json", "--memory", "128MiB", "--threads", "1", "--temp-max", "0", &path]).run().exits(0);
    let summary: Value = serde_json::from_str(ran.text()).expect("JSON");
    let [total, dropped] = ["total", "dropped"].map(|name| summary["rows"][name].as_u64().expect("a number"));
    assert_eq!((total + dropped, dropped > 0, &summary["complete"]), (400_000, true, &json!(false)));
    ran.says(&[&format!("of {total} rows: {dropped} more had no room, neither in --memory nor"), "--temp-max"]);

    let long = "x".repeat(70_000);
    let path = folder.file("long.ndjson", format!("{{\"text\":\"{long}1\"}}\n{{\"text\":\"{long}2\"}}\n"));
    let ran = rorqual(&["summary", "--json", &path]).run().exits(0);
    let summary: Value = serde_json::from_str(ran.text()).expect("JSON");
    assert_eq!((&summary["exact"], &summary["rows"]["total"]), (&json!(false), &json!(2)));
    ran.says(&["longer than 64 KiB"]);
}

#[test]
fn many_columns_take_no_more_memory() {
    let names: Vec<String> = (0..1_000).map(|n| format!("column {n}")).collect();
    let mut text = names.join(",") + "\n";
    for row in 0..300 {
        let cells: Vec<String> =
            (0..1_000).map(|n| if n % 2 == 0 { format!("{}", row * n) } else { format!("v{}", row % 3) }).collect();
        text += &(cells.join(",") + "\n");
    }
    let folder = TestFolder::new();
    let path = folder.file("wide.csv", text);
    let args = ["summary", "--json", "--stats", "--memory", "256MiB", "--where", "\"column 999\" = v2", &*path];
    let ran = rorqual(&args).run().exits(0);
    assert!(peak_bytes(&ran) < 256 * MIB);
    let summary: Value = serde_json::from_str(ran.text()).expect("JSON");
    assert_eq!((&summary["rows"]["matching"], summary["columns"].as_array().map(Vec::len)), (&json!(100), Some(1_000)));
    assert_eq!(column(&summary, "column 998")["max"], 299 * 998);
    // A refusal names the memory that is enough.
    let wide = |columns: usize| {
        let line = |text: &dyn Fn(usize) -> String| (0..columns).map(text).collect::<Vec<_>>().join(",") + "\n";
        line(&|n| format!("c{n}")) + &line(&|n| format!("a{n}")) + &line(&|n| format!("b{n}"))
    };
    let path = folder.file("wider.csv", wide(3_900));
    let refused = rorqual(&["summary", &path, "--memory", "112MiB", "--threads", "1"]).run().exits(2);
    drop(rorqual(&["summary", &path, "--threads", "1", "--memory", &advised(&refused.stderr)]).run().exits(0));
    let path = folder.file("widest.csv", wide(4_001));
    rorqual(&["summary", &path]).run().exits(2).says(&["4001 columns", "at most 4000"]);
}

#[test]
fn for_people_and_in_their_words() {
    let folder = TestFolder::new();
    let path = folder.file("app.ndjson", lines(1_200));
    let path = &*path;
    let ran = rorqual(&["summary", path, "--top", "1"]).run().exits(0);
    for part in [
        "1,200 rows, 6 columns",
        "2026-01-27 00:00:00 to 2026-01-27 00:19:59 UTC, by ts",
        "Rows per 15 seconds",
        "level  3 distinct",
        "user.age  integer, p50 to p99 ≈, within 1.6 %, 120 absent (10.0 %)",
    ] {
        assert!(ran.text().contains(part), "{part} is in {}", ran.text());
    }
    rorqual(&["summary", path, "--where", "levl = error"]).run().exits(2).says(&["--where: column 1", "did you mean 'level'?"]);
    rorqual(&["summary", path, "--where", "took > soon"]).run().exits(2).says(&["--where: column 8", "a number such as -0.5"]);
    rorqual(&["summary", path, "--memory", "40MiB"]).run().exits(2).says(&["--memory"]);
    let bad = folder.file("bad.ndjson", format!("{}not JSON\n{}", lines(3), lines(2)));
    let ran = rorqual(&["summary", &*bad]).run().exits(2);
    ran.says(&["1 bad record was left out", "byte"]);
    assert!(ran.text().contains("5 rows") && ran.text().contains("not all of the file is in this"), "{}", ran.text());
    let empty = folder.file("empty.ndjson", "");
    drop(rorqual(&["summary", &*empty, "--from", "ndjson"]).run().exits(0));
}

#[test]
fn logs_reports_the_columns_of_a_file_that_is_no_access_log() {
    let folder = TestFolder::new();
    let path = folder.file("app.ndjson", lines(4_000));
    let logs = |args: &[&str]| -> Value {
        let ran = rorqual(&[&["logs", "--json"], args, &[&*path]].concat()).run().exits(0);
        serde_json::from_str(ran.text()).expect("one JSON object")
    };
    assert_eq!(answer(logs(&["--top", "5"])), answer(summary(&[&path])));
    let filter = "level = error and took >= 100";
    let meant = (0..4_000).filter(|n| n % 4 == 3 && n % 1_000 >= 800).count();
    assert_eq!(logs(&["--where", filter])["rows"]["matching"], json!(meant));
    // The first of four thousand seconds.
    let first = logs(&["--since", "2026-01-27T00:00:10", "--until", "2026-01-27T00:00:30"]);
    assert_eq!(first["rows"]["matching"], json!(20));

    let compared = logs(&[
        "--where",
        "level = error",
        "--compare",
        "2026-01-27T00:00..2026-01-27T00:10",
        "2026-01-27T00:10..2026-01-27T00:30",
    ]);
    assert_eq!(compared["schema"], json!("rorqual.compare/1"));
    assert_eq!(
        (&compared["answer"]["a"]["lines"]["total"], &compared["answer"]["b"]["lines"]["total"]),
        (&json!(150), &json!(300))
    );
    let explained = logs(&["--explain", "2026-01-27T00:00..2026-01-27T00:10"]);
    assert_eq!((&explained["answer"]["rows_in"], &explained["answer"]["rows_out"]), (&json!(600), &json!(3_400)));
    let shown = rorqual(&["logs", &path]).run().exits(0);
    for part in ["4,000 rows", "by ts", "3 distinct", "user.name"] {
        assert!(shown.text().contains(part), "{part} is in {}", shown.text());
    }

    let page = folder.text("page.html");
    let _ = rorqual(&["logs", "--html", &page, "--where", "level = warn", &path]).run().exits(0);
    let page = std::fs::read_to_string(page).expect("it was written");
    for part in ["rows that meet <code>level = warn</code>", "data-field=\"user.name\"", "<dd>1,000</dd>"] {
        assert!(page.contains(part), "{part} is on {page}");
    }
}

#[test]
fn logs_refuses_of_a_table_what_is_about_access_logs() {
    let folder = TestFolder::new();
    let path = folder.file("app.csv", "name,amount\na,1\nb,2\n");
    for (args, part) in [
        (vec!["--rates"], "--rates: "),
        (vec!["--rejects", "x"], "--rejects: "),
        (vec!["--since", "2026-01-27"], "no column of"),
        (vec!["--explain", "2026-01-27.."], "no column of"),
        (vec!["--where", "nane = a"], "did you mean 'name'?"),
    ] {
        let ran = rorqual(&[&["logs"], &args[..], &[&*path]].concat()).run().exits(2);
        ran.says(&[part]);
    }
}

/// Many such names look alike once they are text.
#[test]
fn names_that_are_no_utf8_have_their_bytes_in_json() {
    let folder = TestFolder::new();
    let place = |name: &[u8]| folder.path().join(std::ffi::OsStr::from_bytes(name));
    let (table, log) = (place(b"t\xff.ndjson"), place(b"l\xfe.log"));
    std::fs::write(&table, "{\"a\":1}\n").expect("room");
    std::fs::write(&log, crate::common::log(3)).expect("room");
    let usual = folder.file("usual.log", crate::common::log(2));
    let bytes = |value: &Value| data_encoding::BASE64.decode(value.as_str().expect("a text").as_bytes()).expect("base64");
    let report = rorqual(&["summary", "--json"]).arg(&table).run().exits(0).json();
    assert_eq!(report["file"], *table.to_string_lossy());
    assert_eq!(bytes(&report["file_bytes"]), table.as_os_str().as_bytes());
    let report = rorqual(&["logs", "--json", &usual]).arg(&log).run().exits(0).json();
    let [first, second] = [&report["sources"][0], &report["sources"][1]];
    assert_eq!((&first["name"], first.get("name_bytes")), (&json!(usual), None));
    assert_eq!((&second["name"], &second["lines"]), (&json!(log.to_string_lossy()), &json!(3)));
    assert_eq!(bytes(&second["name_bytes"]), log.as_os_str().as_bytes());
}

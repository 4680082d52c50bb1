//! W3C's format, with columns that a line may change in the middle: the answer is the same for any
//! division of the log among readers.

use crate::client::Server;
use crate::common::{TestFolder, Truth, comparable, panel, rorqual};
use crate::export::{Download, target};
use rorqual_testkit::paths::gzip;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// The same columns in two orders, of which the second has none that says the time taken.
const HEADS: [&str; 2] = [
    "#Software: Microsoft Internet Information Services 10.0\r\n#Fields: date time c-ip cs-method cs-uri-stem sc-status sc-win32-status time-taken sc-bytes\r\n",
    "#Fields: date time sc-bytes sc-status cs-uri-stem cs-method c-ip sc-win32-status\r\n",
];

/// Lines of some blocks, with columns that change every so often, and their truth: hits and bytes
/// of each path, and of each status.
fn log(lines: u64) -> (Vec<u8>, Truth) {
    let (mut text, mut truth) = (String::new(), Truth::default());
    for number in 0..lines {
        let order = usize::from(number / 1_709 % 2 == 1);
        if number % 1_709 == 0 {
            text += HEADS[order];
        }
        let (path, status, bytes) = (format!("/p{}", number % 7), [200, 404, 500][(number % 3) as usize], 1_000 + number % 90);
        let (date, client) = ("2024-11-22", format!("10.0.0.{}", number % 9));
        let clock = format!("{:02}:{:02}:{:02}", number / 3_600 % 24, number / 60 % 60, number % 60);
        text += &match order {
            0 => format!("{date} {clock} {client} GET {path} {status} 0 15 {bytes}\r\n"),
            _ => format!("{date} {clock} {bytes} {status} {path} GET {client} 0\r\n"),
        };
        truth.parsed += 1;
        truth.bytes_sent += bytes;
        *truth.paths.entry(path).or_default() += 1;
        *truth.statuses.entry(status.to_string()).or_default() += 1;
    }
    (text.into_bytes(), truth)
}

fn methods(report: &Value) -> BTreeMap<String, u64> {
    crate::common::hits_of(&panel(report, "method")["rows"])
}

#[test]
fn columns_that_change_in_the_middle_are_those_of_every_worker() {
    let folder = TestFolder::new();
    let (text, truth) = log(40_000);
    assert!(text.len() > 6 * (256 << 10));
    let plain = folder.file("iis.log", &text);
    let packed = folder.file("iis.log.gz", gzip(&text));
    let mut reports = Vec::new();
    for threads in ["1", "2", "5"] {
        for file in [&plain, &packed] {
            let report = rorqual(&["logs", "--json", "--memory", "512MiB", "--threads", threads, file]).run().exits(0).json();
            truth.check(&report);
            assert_eq!(methods(&report), BTreeMap::from([("GET".to_owned(), 40_000)]), "{threads} threads");
            assert_eq!(report["lines"]["rejected"], 0);
            reports.push(comparable(report));
        }
    }
    assert!(reports.windows(2).all(|pair| pair[0]["panels"] == pair[1]["panels"] && pair[0]["lines"] == pair[1]["lines"]));
    let piped = rorqual(&["logs", "--json", "-"]).stdin(text).run().exits(0).json();
    truth.check(&piped);
}

/// IIS writes `#Software:` first, and collectors that sort the lines do not.
#[test]
fn a_server_that_is_named_after_the_columns_is_no_change_of_them() {
    let folder = TestFolder::new();
    let log = "#Date: 2021-04-01 00:00:21\n#Fields: date time c-ip cs-method cs-uri-stem sc-status time-taken\n\
        #Software: Microsoft Internet Information Services 10.0\n#Version: 1.0\n\
        2021-04-01 00:00:21 203.0.113.9 GET /a 200 65\n";
    let file = folder.file("iis.log", log.as_bytes());
    let rows = rorqual(&["convert", "--from", "log", "--to", "ndjson", "-o", "-", &file]).run().exits(0).stdout;
    let row: Value = serde_json::from_slice(&rows).expect("a row");
    assert_eq!((&row["path"], &row["status"], &row["request_time"]), (&json!("/a"), &json!(200), &json!(0.065)));
    let report = rorqual(&["logs", "--json", &file]).run().exits(0).json();
    assert_eq!((&report["lines"]["parsed"], &report["sources"][0]["guess"]["unread"]), (&json!(1), &Value::Null));
}

#[test]
fn an_upload_in_pieces_knows_the_last_columns() {
    let (text, truth) = log(12_000);
    let server = Server::start(&[]);
    let id = server.session(&json!({"size": text.len()}));
    // Behind the first change, and in the middle of a line.
    let cut = text.len() / 3 + 11;
    server.put(&id, 0, &text[..cut]);
    assert_eq!(server.put(&id, cut, &text[cut..]).status, 200);
    let report = &server.live(&id)["report"];
    assert_eq!((&report["lines"]["parsed"], &report["lines"]["rejected"]), (&truth.parsed.into(), &0.into()));
    assert_eq!(report["bytes_sent"], truth.bytes_sent);
}

#[test]
fn rows_have_one_kind_of_columns_and_say_so() {
    let folder = TestFolder::new();
    let (text, _) = log(40_000);
    let file = folder.file("iis.log", &text);
    for threads in ["1", "2"] {
        let ran = rorqual(&["convert", "--threads", threads, &file, "--to", "ndjson", "-o", "-"]).run().exits(2);
        ran.says(&["#Fields says other columns from here on", "as two files"]);
    }
    let first = folder.file("first.log", format!("{}2024-11-22 10:11:12 10.0.0.1 GET /a 200 0 15 7\r\n", HEADS[0]));
    let row = rorqual(&["convert", &first, "--to", "ndjson", "-o", "-"]).run().exits(0).json();
    assert_eq!((&row["path"], &row["status"], &row["bytes"]), (&"/a".into(), &200.into(), &7.into()));
}

#[test]
fn a_log_without_a_request_is_one() {
    let folder = TestFolder::new();
    let file = folder.file("empty.log", HEADS[0]);
    let report = rorqual(&["logs", "--json", &file]).run().exits(0).json();
    assert_eq!((&report["sources"][0]["format"], &report["lines"]["parsed"]), (&"w3c".into(), &0.into()));
    let headless = folder.file("headless.log", "2024-11-22 10:11:12 10.0.0.1 GET /a 200\n");
    let given = ["logs", "--json", "--format", "#Fields: date time c-ip cs-method cs-uri-stem sc-status", &headless];
    assert_eq!(rorqual(&given).run().exits(0).json()["lines"]["parsed"], 1);
}

/// Without a date the lines are in no span, and that is told.
#[test]
fn a_span_of_lines_without_a_date_is_told_to_be_empty() {
    let folder = TestFolder::new();
    let lines = "13:55:36 203.0.113.9 GET /a 200\n".repeat(3);
    let file = folder
        .file("timeless.log", format!("#Date: 2024-10-10 13:00:00\n#Fields: time c-ip cs-method cs-uri-stem sc-status\n{lines}"));
    let ran = rorqual(&["logs", "--json", "--since", "2024-10-10", &file]).run().exits(0);
    ran.says(&[
        "no column tells its unit or its date: time",
        "no time is read of its lines, so --since and --until leave all of them out",
    ]);
    assert_eq!(ran.json()["lines"]["outside"], 3);
    let all = rorqual(&["logs", "--json", &file]).run().exits(0);
    assert!(!all.stderr.contains("--since"), "{}", all.stderr);
}

/// Columns that a later line says are in all rows that have them: in exports, and in lines, which
/// are read again as the same rows.
#[test]
fn columns_that_come_later_are_in_exports() {
    let folder = TestFolder::new();
    let few = "#Fields: date time c-ip cs-method cs-uri-stem sc-status\n";
    let more = "#Fields: date time c-ip cs-method cs-uri-stem cs-uri-query sc-status cs(User-Agent) x-tenant\n";
    let mut text = String::new();
    for n in 0..12 {
        text += if n == 0 || n == 8 {
            few
        } else if n == 4 {
            more
        } else {
            ""
        };
        text += &format!("2026-01-01 00:00:{n:02} 192.0.2.{n} GET /{n} ");
        text += &if (4..8).contains(&n) { format!("q={n} 404 agent/{n} t{n}\n") } else { "200\n".to_owned() };
    }
    let expected: Vec<Value> = (0..12)
        .map(|n| {
            let time = format!("2026-01-01T00:00:{n:02}Z");
            let mut row =
                json!({"time": time, "client": format!("192.0.2.{n}"), "method": "GET", "path": format!("/{n}"), "status": 200});
            if (4..8).contains(&n) {
                row["status"] = json!(404);
                row["query"] = json!(format!("q={n}"));
                row["agent"] = json!(format!("agent/{n}"));
                row["x-tenant"] = json!(format!("t{n}"));
            }
            row
        })
        .collect();
    let shown = |text: &str| {
        let server = Server::start(&["--no-cache", &folder.file("u_ex.log", text)]);
        let id = server.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned();
        server.when_state(&id, "finished");
        let export = |format: &str| Download::begin(&server, &target(&id, "export", &[("format", format)])).text();
        let rows: Vec<Value> = export("ndjson").lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
        let page = server.request("POST", &format!("/api/sessions/{id}/rows"), b"{\"offset\": 5, \"limit\": 1}").json();
        (rows, export("lines"), page["rows"][0]["line"].as_str().expect("a line").to_owned())
    };
    let (rows, lines, line) = shown(&text);
    assert_eq!(rows, expected);
    for part in ["/5", "q=5", "agent/5", "t5"] {
        assert!(line.contains(part), "{line}");
    }
    assert_eq!(lines.matches("#Fields").count(), 3, "{lines}");
    assert_eq!(shown(&lines).0, expected, "{lines}");
}

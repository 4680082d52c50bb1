//! Columns of a log's own: variables of its format, beside counts of the lines that were written.

use crate::checkpoints::is_kept;
use crate::client::Server;
use crate::common::{MIB, PROGRAM, TestFolder, rorqual};
use crate::export::Download;
use crate::served_tables::{served, view};
use rorqual_testkit::generate::{GeneratedLines, write_lines};
use rorqual_testkit::paths::on_every_path;
use serde_json::{Value, json};
use std::collections::BTreeMap;

const FORMAT: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_length $upstream_cache_status $upstream_connect_time $request_id"#;

const LINES: u64 = 4_000;

fn cache(number: u64) -> &'static str {
    ["HIT", "HIT", "MISS", "-", "EXPIRED"][(number % 5) as usize]
}

fn line(number: u64) -> String {
    let (hour, minute, second) = (number / 3_600 % 24, number / 60 % 60, number % 60);
    format!(
        "10.0.0.{} - - [02/Jan/2025:{hour:02}:{minute:02}:{second:02} +0000] \"GET /p{} HTTP/1.1\" 200 {} \"-\" \"x\" {} {} 0.{:03} {number:08x}{:08x}\n",
        number % 11,
        number % 7,
        number % 100,
        500 + number % 64,
        cache(number),
        number % 10,
        number.wrapping_mul(2_654_435_761) & 0xffff_ffff
    )
}

fn log() -> Vec<u8> {
    (0..LINES).flat_map(|number| line(number).into_bytes()).collect()
}

fn count(meant: impl Fn(u64) -> bool) -> u64 {
    (0..LINES).filter(|number| meant(*number)).count() as u64
}

/// Filters, and how many lines they mean by the numbers that the lines were made of.
fn filters() -> Vec<(&'static str, u64)> {
    vec![
        ("$upstream_cache_status = HIT", count(|number| cache(number) == "HIT")),
        ("upstream_cache_status != HIT", count(|number| cache(number) != "HIT")),
        ("upstream_cache_status = -", count(|number| cache(number) == "-")),
        (
            "upstream_cache_status ~ \"^(MISS|EXP)\" and path = /p3",
            count(|number| matches!(cache(number), "MISS" | "EXPIRED") && number % 7 == 3),
        ),
        ("request_length >= 550", count(|number| 500 + number % 64 >= 550)),
        ("upstream_connect_time > 5ms", count(|number| number % 10 > 5)),
        ("request_id contains \"0000000f\"", 1),
    ]
}

#[test]
fn filters_of_logs_mean_the_same_lines_on_every_path() {
    let bytes = log();
    for (filter, expected) in filters() {
        let args = ["logs", "--json", "--format", FORMAT, "--where", filter];
        on_every_path(PROGRAM, &args, &[&["--threads", "1"], &["--threads", "2"]], &bytes, |path, ran| {
            let lines = &ran.exits(0).json()["lines"];
            assert_eq!((&lines["parsed"], &lines["filtered"]), (&json!(expected), &json!(LINES - expected)), "{filter}: {path}");
        });
    }
}

#[test]
fn a_name_that_no_column_has_is_told() {
    let folder = TestFolder::new();
    let file = folder.file("access.log", log());
    let refused = rorqual(&["logs", "--format", FORMAT, "--where", "upstream_cach_status = HIT", &file]).run().exits(2);
    refused.says(&["--where", "did you mean 'upstream_cache_status'"]);
    // The format is known once the log is.
    let refused = rorqual(&["logs", "--where", "upstream_cache_status = HIT", &file]).run();
    refused.says(&["--where", "expected a column"]);
}

#[test]
fn rows_have_them() {
    let folder = TestFolder::new();
    let file = folder.file("access.log", log());
    let out = folder.path().join("rows.ndjson").display().to_string();
    let _ = rorqual(&["convert", "--format", FORMAT, "-o", &out, &file]).run().exits(0);
    let rows = std::fs::read_to_string(&out).expect("rows");
    let rows: Vec<Value> = rows.lines().map(|row| serde_json::from_str(row).expect("JSON")).collect();
    assert_eq!(rows.len() as u64, LINES);
    let expected = json!({"request_length": 502, "upstream_cache_status": "MISS", "upstream_connect_time": 0.002});
    let own = |row: &Value| {
        expected
            .as_object()
            .expect("an object")
            .keys()
            .map(|key| (key.clone(), row[key].clone()))
            .collect::<serde_json::Map<_, _>>()
    };
    assert_eq!(Value::Object(own(&rows[2])), expected);
    assert_eq!(rows[3]["upstream_cache_status"], Value::Null);
}

fn panel<'a>(view: &'a Value, field: &str) -> &'a Value {
    view["panels"].as_array().expect("panels").iter().find(|panel| panel["field"] == field).expect("a panel")
}

fn ask(server: &Server, id: &str, verb: &str, question: &Value) -> Value {
    server.request("POST", &format!("/api/sessions/{id}/{verb}"), question.to_string().as_bytes()).json()
}

#[test]
fn the_explorer_has_them() {
    let folder = TestFolder::new();
    let (server, id) = served(&["--format", FORMAT, &folder.file("access.log", log())]);
    let session = &server.live(&id)["session"];
    assert_eq!((&session["columns"], &session["own_columns"]), (&Value::Null, &json!(4)));
    assert_eq!(
        server.get(&format!("/api/sessions/{id}/columns")).json()["columns"],
        json!([
            {"name": "request_length", "kind": "number", "unit": "bytes", "content": null},
            {"name": "upstream_cache_status", "kind": "text", "unit": null, "content": "text"},
            {"name": "upstream_connect_time", "kind": "number", "unit": "seconds", "content": null},
            {"name": "request_id", "kind": "text", "unit": null, "content": "text"},
        ])
    );
    for (filter, expected) in filters() {
        assert_eq!(view(&server, &id, filter)["lines"]["matching"], json!(expected), "{filter}");
    }
    let all = view(&server, &id, "");
    let mut statuses: BTreeMap<&str, u64> = BTreeMap::new();
    (0..LINES).for_each(|number| *statuses.entry(cache(number)).or_default() += 1);
    let top = &panel(&all, "upstream_cache_status")["rows"];
    assert_eq!((&top[0]["value"], &top[0]["hits"]), (&json!("HIT"), &json!(statuses["HIT"])));
    assert_eq!(panel(&all, "request_id")["distinct"]["count"], json!(LINES));
    let numbers = all["numbers"].as_array().expect("numbers");
    let length = numbers.iter().find(|number| number["field"] == "request_length").expect("a distribution");
    assert_eq!((&length["min"], &length["max"]), (&json!(500), &json!(563)));
    let page = ask(&server, &id, "rows", &json!({"where": "upstream_cache_status = MISS", "limit": 1}));
    assert_eq!(page["rows"][0]["columns"]["upstream_connect_time"], json!(0.002));
    assert_eq!(page["rows"][0]["line"], json!(line(2).trim_end()));
    let target = format!("/api/sessions/{id}/export?format=csv&where=upstream_cache_status%20%3D%20MISS");
    let text = Download::begin(&server, &target).text();
    assert!(text.lines().next().is_some_and(|names| names.contains(",request_length,upstream_cache_status,")), "{text:.200}");
    assert_eq!(text.lines().count() as u64, 1 + count(|number| cache(number) == "MISS"));
}

/// All that a view says of the rows.
fn counted(mut view: Value) -> Value {
    ["seconds", "hint", "complete"].iter().for_each(|key| view[*key] = Value::Null);
    view
}

#[test]
fn an_upload_has_them_too_although_its_server_was_killed() {
    let (folder, bytes) = (TestFolder::new(), log());
    let (of_file, file) = served(&["--format", FORMAT, &folder.file("access.log", &bytes)]);
    let expected = counted(view(&of_file, &file, "upstream_cache_status in (HIT, MISS)"));
    let state = folder.path().join("state").display().to_string();
    let start = || Server::start(&["--format", FORMAT, "--state", &state]);
    let mut server = start();
    let id = server.session(&json!({"name": "access.log", "size": bytes.len()}));
    let half = bytes[..bytes.len() / 2].iter().rposition(|byte| *byte == b'\n').expect("lines") + 1;
    assert_eq!(server.put(&id, 0, &bytes[..half]).status, 200);
    is_kept(&folder.path().join("state"), &id, half);
    server.running.kill();
    drop(server.running.wait());
    server = start();
    assert_eq!(server.put(&id, half, &bytes[half..]).status, 200);
    server.when_state(&id, "finished");
    assert_eq!(counted(view(&server, &id, "upstream_cache_status in (HIT, MISS)")), expected);
}

/// Lines of which each has another request's id.
struct Distinct(u64);

impl GeneratedLines for Distinct {
    fn line(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(line(self.0).as_bytes());
        self.0 += 1;
    }
}

#[test]
fn a_variable_that_is_another_in_each_line_stays_within_the_memory() {
    const MEMORY: u64 = 128 * MIB;
    const LOG_BYTES: u64 = 384 * MIB;
    let memory = format!("{}MiB", MEMORY / MIB);
    let args = ["logs", "--json", "--format", FORMAT, "--memory", &memory, "--explain", "2025-01-02T03:00..2025-01-02T04:00"];
    let feed = move |stdin: &mut std::process::ChildStdin| write_lines(&mut Distinct(0), LOG_BYTES, stdin).map(drop);
    let ran = rorqual(&args).feed(feed).run().exits(0);
    ran.within(MEMORY);
    assert_eq!(ran.json()["rows"]["dropped"], json!(0));
}

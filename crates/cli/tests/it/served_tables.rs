//! `rorqual serve` of tables.

use crate::client::{Answer, Server, least_memory};
use crate::common::{MIB, TestFolder, rorqual};
use crate::export::{Download, target};
use rorqual_testkit::paths::gzip;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// A row a second: a level, a number, an object; the name of the user has an odd key.
pub(crate) fn lines(rows: usize) -> String {
    let line = |n: usize| {
        let level = ["info", "info", "warn", "error"][n % 4];
        let (hour, minute, second) = (n / 3_600 % 24, n / 60 % 60, n % 60);
        format!(
            "{{\"ts\":\"2026-01-27T{hour:02}:{minute:02}:{second:02}Z\",\"level\":\"{level}\",\"took\":{:?},\"user\":{{\"full name\":\"user {}\"}}}}\n",
            (n % 1_000) as f64 / 8.0,
            n % 7
        )
    };
    (0..rows).map(line).collect()
}

/// A server of these files, once the first one is read, and its session.
pub(crate) fn served(args: &[&str]) -> (Server, String) {
    let server = Server::start(args);
    let id = server.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned();
    server.when(&id, "the end", |live| ["finished", "failed"].iter().any(|state| live["session"]["state"] == *state));
    (server, id)
}

fn ask(server: &Server, id: &str, verb: &str, question: &Value) -> Answer {
    server.request("POST", &format!("/api/sessions/{id}/{verb}"), question.to_string().as_bytes())
}

pub(crate) fn view(server: &Server, id: &str, filter: &str) -> Value {
    let answer = ask(server, id, "view", &json!({"where": filter, "top": 3, "buckets": 4}));
    assert_eq!(answer.status, 200, "{answer:?} of {}", server.live(id)["session"]);
    answer.json()
}

fn panel<'a>(view: &'a Value, field: &str) -> &'a Value {
    let panels = view["panels"].as_array().expect("panels");
    panels.iter().find(|panel| panel["field"] == field).unwrap_or_else(|| panic!("{field} is a panel of {view}"))
}

/// All that a view says of the rows, without what differs from run to run, and without the user:
/// an object is a text of its own in a CSV.
pub(crate) fn counted(mut view: Value) -> Value {
    ["seconds", "hint"].iter().for_each(|key| view[*key] = Value::Null);
    let panels = view["panels"].as_array_mut().expect("panels");
    panels.retain(|panel| panel["field"].as_str().is_some_and(|field| !field.starts_with("user")));
    view
}

#[test]
fn the_columns_of_a_table_are_counted_as_by_hand() {
    let folder = TestFolder::new();
    let (server, id) = served(&[&folder.file("app.ndjson", lines(4_000))]);
    let live = server.live(&id);
    assert_eq!((&live["session"]["state"], &live["session"]["columns"]), (&json!("finished"), &json!(4)));
    let source = &live["report"]["sources"][0];
    assert_eq!((&source["format"], &live["report"]["lines"]["parsed"]), (&json!("JSON"), &json!(4_000)));
    let columns = server.get(&format!("/api/sessions/{id}/columns")).json();
    assert_eq!(
        columns["columns"],
        json!([
            {"name": "ts", "kind": "number", "unit": "time", "content": null},
            {"name": "level", "kind": "text", "unit": null, "content": "text"},
            {"name": "took", "kind": "number", "unit": "float", "content": null},
            {"name": "user.full name", "kind": "text", "unit": null, "content": "text"},
        ])
    );

    let all = view(&server, &id, "");
    assert_eq!((&all["lines"]["matching"], &all["exact"]), (&json!(4_000), &json!(true)));
    assert_eq!(all["time"]["first"], json!(1_769_472_000.0));
    assert_eq!(
        panel(&all, "level")["rows"][0],
        json!({"value": "info", "hits": 2_000, "hits_min": 2_000, "hits_max": 2_000, "bytes": 0})
    );
    assert_eq!((&all["histogram"]["stack"], &all["histogram"]["series"][0]["value"]), (&json!(""), &json!("rows")));
    let hits = all["histogram"]["series"][0]["hits"].as_array().expect("buckets");
    assert_eq!(hits.iter().filter_map(Value::as_u64).sum::<u64>(), 4_000);
    let took = &all["numbers"][1];
    assert_eq!((&took["field"], &took["min"], &took["max"]), (&json!("took"), &json!(0.0), &json!(124.875)));
    assert!(all["panels"].as_array().expect("panels").iter().all(|panel| panel["field"] != "status"), "a log's");

    let some = view(&server, &id, "level = error and took >= 100 and \"user.full name\" = \"user 3\"");
    let meant = (0..4_000).filter(|n| n % 4 == 3 && n % 1_000 >= 800 && n % 7 == 3).count();
    assert!(meant > 0);
    assert_eq!(some["lines"]["matching"], json!(meant));

    let stacked = ask(&server, &id, "view", &json!({"stack": "level"})).json();
    assert_eq!(stacked["histogram"]["series"].as_array().map(Vec::len), Some(3));
    let page = ask(&server, &id, "rows", &json!({"offset": 5, "limit": 1})).json();
    // 5 mod 1,000 in eighths, and 5 mod 7.
    assert_eq!(
        page["rows"][0]["columns"],
        json!({"ts": 1_769_472_005.0, "level": "info", "took": 0.625, "user.full name": "user 5"})
    );
    assert_eq!(page["rows"][0]["line"], json!(r#"{"ts":1769472005.0,"level":"info","took":0.625,"user.full name":"user 5"}"#));
    let explained = ask(&server, &id, "explain", &json!({"select": {"where": "took >= 100"}, "limit": 5})).json();
    assert_eq!(explained["inside"], json!(800));
    assert!(explained["rows"].to_string().contains("took"), "{explained}");
    let except = |field: &str| json!({"select": {"where": "took >= 100"}, "except": [field]});
    let without = ask(&server, &id, "explain", &except("took")).json();
    assert_eq!(without["inside"], json!(800));
    assert!(!without["rows"].to_string().contains("took"), "{without}");
    let unknown = ask(&server, &id, "explain", &except("tok")).refused(400, "bad_request");
    assert!(unknown["message"].as_str().is_some_and(|message| message.contains("'tok'")), "{unknown}");
    let wrong = ask(&server, &id, "view", &json!({"where": "leve = info"})).refused(400, "bad_filter");
    assert!(wrong["message"].as_str().is_some_and(|message| message.contains("level")), "{wrong}");
    ask(&server, &id, "rates", &json!({})).refused(400, "bad_request");
    check_buckets(took, |number| number < 125.0);
    check_buckets(&some["numbers"][1], |number| number >= 100.0);
    let csv = server.get(&format!("/api/sessions/{id}/panel.csv?field=level"));
    assert!(csv.body.contains("info,2000,"), "{csv:?}");
}

/// Checks the bars of `took` in a view: all numbers that are meant are between the edges.
fn check_buckets(took: &Value, is_in: impl Fn(f64) -> bool) {
    let numbers = |key: &str| -> Vec<f64> {
        let list = took["buckets"][key].as_array().unwrap_or_else(|| panic!("{key} of {took}"));
        list.iter().map(|number| number.as_f64().expect("a number")).collect()
    };
    let (edges, hits) = (numbers("edges"), numbers("hits"));
    assert_eq!(edges.len(), hits.len() + 1);
    assert_eq!(hits.iter().sum::<f64>(), took["hits"].as_f64().expect("a number"));
    // Each of 0 to 124.875 in eighths is there as often as any other that is meant.
    let all: Vec<f64> = (0..1_000).map(|n| f64::from(n) / 8.0).filter(|number| is_in(*number)).collect();
    let between = |pair: &[f64]| all.iter().filter(|number| (pair[0]..pair[1]).contains(number)).count();
    assert_eq!(edges.windows(2).map(between).sum::<usize>(), all.len(), "{edges:?}");
}

/// Rows as an export has them, by hand.
fn exported(n: usize) -> Value {
    json!({
        "at": format!("2026-01-27T00:{:02}:{:02}Z", n / 60 % 60, n % 60), "ok": n.is_multiple_of(3), "took": n as f64 / 8.0,
        "size": n as i64 - 5, "name": format!("=user {}", n % 7), "where.city": format!("city {}", n % 3),
        "tags": [format!("t{n}"), "a\"b"], "msg": format!("took {n} ms"),
    })
}

/// The same as a line of a file, with an object.
fn line(n: usize) -> String {
    let mut row = exported(n);
    let object = row.as_object_mut().expect("an object");
    let city = object.remove("where.city").expect("a city");
    object.insert("where".to_owned(), json!({"city": city}));
    row.to_string() + "\n"
}

#[test]
fn the_rows_of_a_view_are_exported_as_the_file_has_them() {
    let folder = TestFolder::new();
    let text: String = (0..3_000).map(line).collect();
    let (server, id) = served(&[&folder.file("app.ndjson", &text), "--threads", "2"]);
    let download =
        |format: &str, filter: &str| Download::begin(&server, &target(&id, "export", &[("format", format), ("where", filter)]));
    let get = |format: &str, filter: &str| download(format, filter).text();
    let filter = "took >= 100 and ok = true";
    let meant: Vec<usize> = (0..3_000).filter(|n| *n >= 800 && n % 3 == 0).collect();
    let rows = |ndjson: &str| -> Vec<Value> { ndjson.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect() };
    assert_eq!(rows(&get("ndjson", filter)), meant.iter().map(|n| exported(*n)).collect::<Vec<_>>());
    assert_eq!(rows(&get("ndjson", "")).len(), 3_000);

    let csv = get("csv", filter);
    let (header, lines) = csv.split_once('\n').expect("a header");
    let mut names: Vec<&str> = header.split(',').collect();
    names.sort_unstable();
    assert_eq!(names, ["at", "msg", "name", "ok", "size", "tags", "took", "where.city"]);
    assert_eq!(lines.lines().count(), meant.len());
    assert!(lines.lines().all(|line| line.contains("'=user ")), "no spreadsheet takes it for a formula");

    let path = folder.file("rows.parquet", download("parquet", filter).body());
    let ran = rorqual(&["head", "-n", "5000", "--to", "ndjson", &path]).run().exits(0);
    assert_eq!(rows(ran.text()), meant.iter().map(|n| exported(*n)).collect::<Vec<_>>());

    let page = get("ndjson", "not took exists");
    assert!(page.is_empty(), "{page}");
}

#[test]
fn rejected_records_are_exported_with_their_reasons() {
    let folder = TestFolder::new();
    let (server, id) = served(&[&folder.file("app.ndjson", "{\"a\":1,\"flaw\":\"x\"}\n{\"a\": \n")]);
    let rows = Download::begin(&server, &target(&id, "export", &[("format", "ndjson")])).text();
    let rows: Vec<Value> = rows.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(rows[0], json!({"a": 1, "flaw": "x"}));
    assert_eq!((rows.len(), &rows[1]["line"]), (2, &json!("{\"a\": \n")), "{rows:?}");
    assert!(rows[1]["flaw#2"].as_str().is_some_and(|reason| !reason.is_empty()), "{rows:?}");
}

#[test]
fn a_page_of_a_table_has_its_columns_and_names_its_filter() {
    let folder = TestFolder::new();
    let (server, id) = served(&[&folder.file("app.ndjson", lines(4_000))]);
    let page = Download::begin(&server, &target(&id, "report.html", &[("where", "level = error")])).text();
    for part in [
        "rows that meet <code>level = error</code>",
        "data-field=\"user.full name\"",
        "data-field=\"took\"",
        "Rows per",
        "<dd>1,000</dd>",
        "124.875",
    ] {
        assert!(page.contains(part), "{part} is on {page}");
    }
}

#[test]
fn explain_and_compare_name_numbers_and_patterns() {
    let folder = TestFolder::new();
    // Of 36,000 rows 600 after each other are slow, and have another message.
    let line = |n: usize| {
        let slow = (1_800..1_860).contains(&(n / 10));
        let (took, message) = if slow { (250 + n % 7, "timeout of peer") } else { (n % 100, "served peer") };
        format!("{{\"n\":{n},\"took\":{took},\"msg\":\"{message} 10.0.0.{}\"}}\n", n % 250)
    };
    let text: String = (0..36_000).map(line).collect();
    let path = folder.file("app.ndjson", text);
    let (server, id) = served(&[&path]);
    let select = json!({"select": {"where": "pattern = \"timeout of peer <ip>\""}, "limit": 10});
    let explained = ask(&server, &id, "explain", &select).json();
    assert_eq!(explained["inside"], json!(600), "{explained}");
    let terms: Vec<&str> = explained["rows"].as_array().expect("rows").iter().filter_map(|row| row["where"].as_str()).collect();
    assert!(explained.to_string().contains("took >= "), "{terms:?}");
    let compared = ask(&server, &id, "compare", &json!({"a": {"where": "took >= 250"}, "b": {"where": "took < 250"}})).json();
    let panels = compared["panels"].as_array().expect("panels");
    let took = panels.iter().find(|panel| panel["field"] == "took").unwrap_or_else(|| panic!("took is in {compared}"));
    for row in took["rows"].as_array().expect("rows") {
        let least: usize =
            row["value"].as_str().and_then(|value| value.strip_prefix(">= ")).expect("a least").parse().expect("a number");
        let count = |slow: bool| {
            let took = |n: usize| if (1_800..1_860).contains(&(n / 10)) { 250 + n % 7 } else { n % 100 };
            (0..36_000).filter(|n| (took(*n) >= 250) == slow && took(*n) >= least).count()
        };
        assert_eq!((&row["a"]["hits"], &row["b"]["hits"]), (&json!(count(true)), &json!(count(false))), "{row}");
    }
    let all = view(&server, &id, "");
    let patterns = panel(&all, "pattern");
    assert_eq!(patterns["distinct"]["count"], json!(2));
    assert_eq!((&patterns["rows"][0]["value"], &patterns["rows"][0]["hits"]), (&json!("served peer <ip>"), &json!(35_400)));
    let page = ask(&server, &id, "rows", &json!({"offset": 0, "limit": 1})).json();
    assert_eq!(page["rows"][0]["line"], json!("{\"n\":0,\"took\":0,\"msg\":\"served peer 10.0.0.0\"}"));
}

/// The same rows inside one document, after another array of objects.
pub(crate) fn document(rows: usize) -> String {
    let items = lines(rows).trim_end().replace('\n', ",\n");
    format!("{{\"page\":{{\"links\":[{{\"rel\":\"next\"}}]}},\"data\":{{\"items\":[\n{items}\n]}},\"end\":true}}\n")
}

#[test]
fn rows_inside_one_document_are_found() {
    let folder = TestFolder::new();
    let (whole, id) = served(&["--no-cache", &folder.file("app.ndjson", lines(4_000))]);
    let expected = counted(view(&whole, &id, "took >= 100"));
    let file = folder.file("dump.json", document(4_000));
    let ways: [&[&str]; 3] = [&[], &["--rows", "$.data.items"], &["--rows", "$.data.items[*]"]];
    for rows in ways {
        let (server, id) = served(&[&["--no-cache", &file], rows].concat());
        let live = server.live(&id);
        let format = format!("JSON, rows of {}", rows.last().unwrap_or(&"$.data.items"));
        assert_eq!((&live["session"]["state"], &live["report"]["sources"][0]["format"]), (&json!("finished"), &json!(format)));
        assert_eq!(counted(view(&server, &id, "took >= 100")), expected);
    }
    // The other array may be meant.
    let (server, id) = served(&["--no-cache", "--rows", "$.page.links", &file]);
    assert_eq!(panel(&view(&server, &id, ""), "rel")["rows"][0]["value"], "next");
    // Larger than what is looked at to know the format.
    let long = folder.file("long.json", document(60_000));
    let (server, id) = served(&["--no-cache", &long]);
    assert_eq!(view(&server, &id, "")["lines"]["matching"], 60_000);

    for (args, rows, is_guessed) in
        [(&[&*file][..], 4_000, true), (&["--rows", "$.page.links", &file], 1, false), (&[&*long], 60_000, true)]
    {
        let ran = rorqual(&[&["logs", "--json"], args].concat()).run().exits(0);
        let report: Value = serde_json::from_str(ran.text()).expect("JSON");
        assert_eq!(report["rows"]["total"], rows, "{args:?}");
        assert_eq!(ran.stderr.contains("its rows are taken to be those of $.data.items"), is_guessed, "{}", ran.stderr);
    }
    // A list of numbers is no list of rows, and a file of records may have one so far.
    let rest = "1.5,".repeat(100_000);
    let numbers = folder.file("numbers.json", format!("{{\"embedding\":[{rest}1],\"name\":\"a\"}}"));
    let record = "{\"time\":\"2026-01-27T00:00:00Z\",\"level\":\"info\",\"items\":[{\"a\":1},{\"a\":2}]}\n";
    let (one, compact) = (folder.file("one.ndjson", record), folder.file("compact.json", record));
    let users: String = (0..50).map(|n| format!("\"u{n}\":{{\"age\":{n}}},")).collect();
    let users = folder.file("users.json", format!("{{\"users\":{{{users}\"last\":{{\"age\":1}}}}}}"));
    for (file, rows) in [(&numbers, 1), (&one, 1), (&compact, 2), (&users, 51)] {
        let ran = rorqual(&["logs", "--json", file]).run().exits(0);
        let report: Value = serde_json::from_str(ran.text()).expect("JSON");
        assert_eq!(report["rows"]["total"], rows, "{file}: {}", ran.stderr);
    }
    // Other files keep their layout.
    let (server, id) = served(&["--no-cache", "--rows", "$.data.items", &one, &file]);
    assert_eq!(panel(&view(&server, &id, ""), "level")["rows"][0]["value"], "info");
    let log = folder.file("access.log", "192.0.2.1 - - [02/Jan/2025:01:02:03 +0000] \"GET / HTTP/1.1\" 200 1\n");
    let refused = |args: &[&str], says: &str| {
        rorqual(args).run().exits(2).says(&[says]);
    };
    refused(&["serve", "--rows", "$.a", &log], "--rows: none of the files is a JSON document");
    refused(&["logs", "--rows", "$.a", &log], "--rows: this is for one file that is a JSON document");
    let csv = folder.file("t.csv", "a,b\n1,2\n");
    refused(&["logs", "--rows", "$.a", &csv], "is not one JSON document with rows inside, but CSV");
    refused(&["serve", "--rows", "a", &file], "--rows: the path \"a\"");
    refused(&["logs", "--rows", "a", &file], "--rows: the path \"a\"");
}

#[test]
fn every_format_gives_the_same_view() {
    let folder = TestFolder::new();
    let text = lines(20_000);
    let plain = folder.file("app.ndjson", &text);
    let filter = "level != info and took < 50";
    let expected = (0..20_000).filter(|n| n % 4 >= 2 && n % 1_000 < 400).count();
    let (server, id) = served(&[&plain, "--threads", "1"]);
    let of_lines = counted(view(&server, &id, filter));
    assert_eq!(of_lines["lines"]["matching"], json!(expected));
    let array = format!("[{}]", text.trim_end().replace('\n', ","));
    let mut paths = vec![plain.clone(), folder.file("array.json", array)];
    paths.push(folder.file("app.ndjson.gz", gzip(text.as_bytes())));
    for name in ["app.parquet", "app.arrow", "app.csv"] {
        let path = folder.text(name);
        let _ = rorqual(&["convert", &plain, "-o", &path]).run().exits(0);
        paths.push(path);
    }
    for path in paths {
        let (server, id) = served(&[&path, "--threads", "2", "--memory", "512MiB"]);
        let view = counted(view(&server, &id, filter));
        assert_eq!(view, of_lines, "{path}");
        server.within(512 * MIB);
    }
}

#[test]
fn a_table_that_is_piped_in_is_one() {
    let folder = TestFolder::new();
    let json = lines(3_000);
    let file = folder.file("rows.ndjson", &json);
    let converted = |name: &str| {
        let target = folder.text(name);
        drop(rorqual(&["convert", &file, "-o", &target]).run().exits(0));
        std::fs::read(target).expect("it was written")
    };
    let array = format!("[{}]", json.trim_end().replace('\n', ","));
    let csv = converted("rows.csv");
    let (server, id) = served(&[&file]);
    let expected = counted(view(&server, &id, "level = warn"));
    let inputs = [json.into_bytes(), array.into_bytes(), gzip(&csv), csv, converted("rows.parquet"), converted("rows.arrow")];
    for (number, input) in inputs.into_iter().enumerate() {
        for flags in [&["-"][..], &["--follow", "-"]] {
            let server = Server::start_as(rorqual(&["serve", "--port", "0"]).args(flags).stdin(&input[..]));
            let id = server.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned();
            let live =
                server.when(&id, "the end", |live| ["finished", "failed"].iter().any(|state| live["session"]["state"] == *state));
            assert_eq!(live["session"]["state"], "finished", "{number}: {}", live["session"]);
            assert_eq!(live["session"]["name"], "standard input");
            assert_eq!(counted(view(&server, &id, "level = warn")), expected, "{number}");
        }
    }
    // There has to be a place for it.
    let run = rorqual(&["serve", "--port", "0", "--temp-max", "0", "-"]).stdin("a,b\n1,2\n3,4\n");
    let server = Server::start_as(run);
    let id = server.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned();
    let error = server.when_state(&id, "failed")["session"]["error"].clone();
    assert_eq!(error["code"], "table_no_room", "{error}");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("--temp-max 0")), "{error}");
}

#[test]
fn standard_input_beside_files_is_said_to_be_a_log_of_its_own() {
    let folder = TestFolder::new();
    let path = folder.file("access.log", crate::common::log(10));
    let beside = |flags: &[&str]| {
        let server = Server::start_as(rorqual(&["serve", "--port", "0", "-", &path]).args(flags).stdin(crate::common::log(20)));
        let count = server.get("/api/sessions").json()["sessions"].as_array().map(Vec::len);
        (count, server.running.stderr_so_far().contains("standard input is a session of its own beside the files"))
    };
    assert_eq!((beside(&[]), beside(&["--follow"])), ((Some(2), true), (Some(1), false)));
}

#[test]
fn columns_that_turn_up_late_are_columns() {
    let folder = TestFolder::new();
    // More than the start of a file that is looked at first.
    let mut text = lines(60_000);
    text.push_str("{\"ts\":\"2026-01-28T00:00:00Z\",\"level\":\"late\",\"why\":\"a reason\"}\n");
    assert!(text.len() > 5 << 20);
    let size = text.len();
    let (server, id) = served(&[&folder.file("late.ndjson", text)]);
    let session = &server.live(&id)["session"];
    assert_eq!((&session["columns"], &session["offset"]), (&json!(5), &json!(size)), "it was read three times");
    let found = view(&server, &id, "why = \"a reason\"");
    assert_eq!((&found["lines"]["matching"], &found["lines"]["total"]), (&json!(1), &json!(60_001)));
    assert_eq!(panel(&found, "level")["rows"][0]["value"], "late");
}

#[test]
fn records_that_are_no_rows_are_counted_as_rejected() {
    let folder = TestFolder::new();
    let mut text = lines(1_000);
    text.insert_str(0, "{\"ts\": broken}\n");
    // Longer than a record may be.
    text.push_str(&format!("{{\"ts\":\"{}\"}}\n", "z".repeat(5 << 20)));
    text.push_str(&lines(10));
    text.push_str("{\"ts\":\"2026-01");
    let (server, id) = served(&[&folder.file("bad.ndjson", text)]);
    let all = view(&server, &id, "");
    assert_eq!((&all["lines"]["parsed"], &all["lines"]["rejected"]), (&json!(1_010), &json!(3)));
    let rejected = ask(&server, &id, "rows", &json!({"where": "rejected"})).json();
    assert_eq!(rejected["rows"][0]["line"], json!("{\"ts\": broken}"));
    assert_eq!(rejected["matching"], json!(3));
    assert!(rejected["rows"][1]["line"].as_str().is_some_and(|line| line.starts_with("{\"ts\":\"zzz")));
}

#[test]
fn the_least_memory_that_is_advised_is_enough() {
    let folder = TestFolder::new();
    let path = folder.file("app.ndjson", lines(1_000));
    let (memory, bytes) = least_memory(&[&path, "--sessions", "1"]);
    let (server, id) = served(&[&path, "--sessions", "1", "--memory", &memory]);
    assert_eq!(view(&server, &id, "level = warn")["lines"]["matching"], json!(250));
    server.within(bytes);
}

#[test]
fn a_table_that_is_cut_off_says_where() {
    let folder = TestFolder::new();
    let mut cut = gzip(lines(1_000).as_bytes());
    cut.truncate(cut.len() - 40);
    let (server, id) = served(&[&folder.file("cut.ndjson.gz", cut)]);
    let session = &server.live(&id)["session"];
    assert_eq!((&session["state"], &session["error"]["code"]), (&json!("failed"), &json!("bad_input")));
    let message = session["error"]["message"].as_str().expect("words");
    assert!(message.contains("cut.ndjson.gz") && message.contains("at byte"), "{message}");
}

#[test]
fn a_key_in_two_cases_is_two_columns_whatever_they_hold() {
    let folder = TestFolder::new();
    let text = "{\"X\":1,\"x\":\"a\"}\n{\"X\":2,\"x\":\"b\"}\n{\"X\":2,\"x\":\"1\"}\n";
    let (server, id) = served(&[&folder.file("cases.ndjson", text)]);
    for (filter, expected) in [("X = 2", 2), ("x = a", 1), ("x = 1", 1), ("X = 1", 1), ("X >= 2 and x = b", 1)] {
        assert_eq!(view(&server, &id, filter)["lines"]["matching"], json!(expected), "{filter}");
    }
}

#[test]
fn the_largest_numbers_are_themselves() {
    let folder = TestFolder::new();
    let text = "{\"u\":18446744073709551615,\"i\":-9223372036854775808}\n{\"u\":0,\"i\":9223372036854775807}\n";
    let (server, id) = served(&[&folder.file("numbers.ndjson", text)]);
    let all = view(&server, &id, "");
    // As texts, since a double is another number.
    let digits = (json!("18446744073709551615"), json!("-9223372036854775808"));
    assert_eq!((&all["numbers"][0]["max"], &all["numbers"][1]["min"]), (&digits.0, &digits.1));
    assert_eq!(all["numbers"][0]["min"], json!(0));
    assert_eq!(view(&server, &id, "u = 18446744073709551615 and i = -9223372036854775808")["lines"]["matching"], json!(1));
    for nothing in ["u > 18446744073709551615", "i > 9223372036854775807"] {
        ask(&server, &id, "view", &json!({"where": nothing})).refused(400, "bad_filter");
    }
    let page = ask(&server, &id, "rows", &json!({"limit": 2})).json();
    assert_eq!(page["rows"][0]["columns"], json!({"u": digits.0, "i": digits.1}));
    assert_eq!(page["rows"][0]["line"], json!(text.lines().next()));
}

#[test]
fn an_access_log_in_json_is_a_log() {
    let folder = TestFolder::new();
    let line = |n: usize| {
        format!(
            "{{\"time_local\":\"27/Jan/2026:10:00:{:02} +0000\",\"remote_addr\":\"192.0.2.{}\",\"request\":\"GET /a HTTP/1.1\",\"status\":\"200\",\"body_bytes_sent\":\"5\",\"http_user_agent\":\"x\"}}\n",
            n % 60,
            n % 9
        )
    };
    let log = folder.file("access.json", (0..300).map(line).collect::<String>());
    let (server, id) = served(&[&log]);
    let live = server.live(&id);
    assert_eq!((&live["session"]["columns"], &live["report"]["lines"]["parsed"]), (&Value::Null, &json!(300)));
    assert_eq!(view(&server, &id, "client = 192.0.2.3")["lines"]["matching"], json!((0..300).filter(|n| n % 9 == 3).count()));
}

#[test]
fn too_many_columns_are_refused_with_the_way_on() {
    let folder = TestFolder::new();
    let row: Vec<String> = (0..2_000).map(|n| format!("\"column {n}\":\"text {n}\"")).collect();
    let wide = folder.file("wide.ndjson", format!("{{{}}}\n", row.join(",")).repeat(3));
    let (server, id) = served(&[&wide, "--memory", "400MiB"]);
    let live = server.live(&id);
    assert_eq!((&live["session"]["state"], &live["session"]["error"]["code"]), (&json!("failed"), &json!("bad_input")));
    let message = live["session"]["error"]["message"].as_str().expect("words");
    assert!(message.contains("2000 columns") && message.contains("fewer sessions"), "{message}");
    server.within(400 * MIB);
    // What is advised is enough.
    let more = message.split("with ").nth(1).and_then(|rest| rest.split(" more").next()).expect("an amount");
    let more_bytes = rorqual_pipe::parse_size(&more.replace(' ', "")).expect("a size");
    let memory_bytes = 400 * MIB + more_bytes;
    let (server, id) = served(&[&wide, "--memory", &memory_bytes.to_string()]);
    assert_eq!(view(&server, &id, "\"column 7\" = \"text 7\"")["lines"]["matching"], json!(3), "with {more} more");
    server.within(memory_bytes);
}

#[test]
fn the_advised_memory_of_many_sessions_is_enough_for_a_table() {
    let folder = TestFolder::new();
    let path = folder.file("app.ndjson", lines(1_000));
    let (memory, bytes) = least_memory(&[&path, "--sessions", "16"]);
    let (server, id) = served(&[&path, "--sessions", "16", "--memory", &memory]);
    assert_eq!(view(&server, &id, "level = warn and took >= 0")["lines"]["matching"], json!(250));
    server.within(bytes);
}

#[test]
fn a_table_that_changes_while_it_is_read_is_no_whole_one() {
    use std::io::Write as _;
    let folder = TestFolder::new();
    // Of JSON lines more may come.
    let text = format!("[{}]", lines(200_000).trim_end().replace('\n', ","));
    let path = folder.file("app.json", &text);
    // Seconds for its 20 MB.
    let server = Server::start(&[&path, "--limit-rate", "4MiB"]);
    let id = server.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned();
    server.when(&id, "the first rows", |live| live["report"]["lines"]["parsed"].as_u64() > Some(0));
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).expect("the file");
    file.write_all(lines(1).as_bytes()).expect("a row more");
    server.when(&id, "the end", |live| ["finished", "failed"].iter().any(|state| live["session"]["state"] == *state));
    let session = &server.live(&id)["session"];
    assert_eq!((&session["state"], &session["error"]["code"]), (&json!("failed"), &json!("bad_input")));
    let message = session["error"]["message"].as_str().expect("words");
    assert!(message.contains("app.json") && message.contains("changed while it was read"), "{message}");
}

#[test]
fn a_table_far_above_the_memory_keeps_within_it() {
    let folder = TestFolder::new();
    // 480 MB with a text that no other row has.
    let mut text = String::new();
    for n in 0..2_400_000_u64 {
        let id = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        writeln!(
            text,
            "{{\"id\":\"{id:016x}{id:016x}\",\"n\":{n},\"text\":\"{}\",\"level\":\"l{}\"}}",
            "lorem ipsum ".repeat(9),
            n % 5
        )
        .expect("a text takes it");
    }
    assert!(text.len() > 400 << 20);
    let path = folder.file("large.ndjson", &text);
    drop(text);
    let (server, id) = served(&[&path, "--memory", "320MiB", "--sessions", "1"]);
    assert_eq!(server.live(&id)["session"]["state"], "finished");
    let found = view(&server, &id, "level = l3 and n < 600000");
    assert_eq!(found["lines"]["matching"], json!(120_000));
    server.within(320 * MIB);
    drop(server);
    // By more than one recorder, and as a file of columns.
    let columns = folder.text("large.parquet");
    let _ = rorqual(&["convert", &path, "-o", &columns]).run().exits(0);
    for path in [&path, &columns] {
        let (server, id) = served(&[path, "--memory", "520MiB", "--threads", "4", "--sessions", "1"]);
        assert_eq!(view(&server, &id, "level = l3 and n < 600000")["lines"]["matching"], json!(120_000), "{path}");
        server.within(520 * MIB);
    }
    // The same rows inside one document.
    let text = std::fs::read_to_string(&path).expect("it was written").trim_end().replace('\n', ",\n");
    let document = folder.file("large.json", format!("{{\"page\":1,\"items\":[\n{text}\n]}}\n"));
    drop(text);
    let counted = rorqual(&["logs", "--json", "--memory", "192MiB", "--where", "level = l3 and n < 600000", &document]).run();
    assert_eq!(counted.exits(0).within(192 * MIB).json()["rows"]["matching"], 120_000);
}

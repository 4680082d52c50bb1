//! `rorqual serve`: clients that ask the rows, and the ends of a question: a newer one, a client
//! that leaves, rows that have to go.

use crate::client::{Server, read_answer};
use crate::common::{MIB, TestFolder, eventually, log, panel};
use rorqual_testkit::generate::{SiteLog, write_lines};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;

/// Lines of which each has a long query of its own, of digits that look random.
fn long_queries(count: u64) -> Vec<u8> {
    let mut state = 1_u64;
    let mut digit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'0' + (state >> 33) as u8 % 10)
    };
    let mut line = || {
        let query: String = (0..900).map(|_| digit()).collect();
        format!("10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET /?{query} HTTP/1.1\" 200 5 \"-\" \"agent/1.0\"\n")
    };
    (0..count).flat_map(|_| line().into_bytes()).collect()
}

/// Patterns that no automaton of a sensible size has: each query takes milliseconds, and all of
/// them longer than a test waits.
fn slow() -> String {
    ["1-5", "2-6", "3-7", "4-8"].map(|digits| format!("query ~ \"[{digits}][0-9]{{800}}[a-z]\"")).join(" or ")
}

fn session(server: &Server, body: &[u8]) -> String {
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, body).status, 200);
    id
}

fn target(id: &str, what: &str) -> String {
    format!("/api/sessions/{id}/{what}")
}

/// Asks, and does not wait for the answer.
fn asking(server: &Server, id: &str, what: &str, question: &Value) -> TcpStream {
    let (mut stream, body) = (server.connect(), question.to_string());
    let head = server.head("POST", &target(id, what));
    stream.write_all(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).expect("it listens");
    stream
}

fn view(server: &Server, id: &str, question: &Value) -> crate::client::Answer {
    server.request("POST", &target(id, "view"), question.to_string().as_bytes())
}

/// A question that takes longer than a test waits; it is known to the server.
fn long_question(server: &Server, id: &str) -> TcpStream {
    let stream = asking(server, id, "view", &json!({"where": slow(), "page": "a", "turn": 7}));
    // From then on an older question of the same page is too late, and need not wait to hear it.
    eventually("the question", || {
        let answer = view(server, id, &json!({"page": "a", "turn": 3, "top": 1}));
        (answer.status == 409).then(|| answer.refused(409, "superseded"))
    });
    stream
}

#[test]
fn a_newer_question_of_a_page_ends_the_older_one() {
    let server = Server::start(&["--sessions", "1"]);
    let id = session(&server, &long_queries(20_000));
    let mut older = long_question(&server, &id);
    // Another page's question waits for its turn.
    let mut other = asking(&server, &id, "view", &json!({"page": "b", "turn": 1}));
    let newer = view(&server, &id, &json!({"page": "a", "turn": 8}));
    assert_eq!((newer.status, &newer.json()["lines"]["matching"]), (200, &20_000.into()));
    read_answer(&mut older).refused(409, "superseded");
    assert_eq!(read_answer(&mut other).status, 200);
}

#[test]
fn a_client_that_leaves_gives_its_turn_back() {
    let server = Server::start(&["--sessions", "1"]);
    let id = session(&server, &long_queries(20_000));
    for what in ["view", "rows", "rates"] {
        drop(asking(&server, &id, what, &json!({"where": slow()})));
    }
    drop(asking(&server, &id, "rows", &json!({"where": slow(), "sort": {"field": "query"}})));
    drop(asking(&server, &id, "find", &json!({"match": slow()})));
    drop(long_question(&server, &id));
    let answer = view(&server, &id, &json!({"page": "b"}));
    assert_eq!((answer.status, &answer.json()["lines"]["matching"]), (200, &20_000.into()));
}

#[test]
fn a_session_is_deleted_while_somebody_asks_it() {
    let server = Server::start(&["--sessions", "1"]);
    let body = long_queries(20_000);
    // One that has ended, and one with a last report that has to wait for its turn.
    for size in [body.len(), body.len() + 1] {
        let id = server.session_of(size);
        drop(server.put(&id, 0, &body));
        assert!(server.live(&id)["report"].is_object());
        let mut question = long_question(&server, &id);
        // The view shown before is shown again, also while others ask.
        assert!(server.live(&id)["report"]["lines"]["parsed"].is_u64());
        let mut waiting = asking(&server, &id, "panel", &json!({"where": slow(), "field": "path"}));
        assert_eq!(server.request("DELETE", &format!("/api/sessions/{id}"), b"").status, 204);
        read_answer(&mut question).refused(410, "rows_gone");
        // This one may have come too late for the session.
        let status = read_answer(&mut waiting).status;
        assert!([404, 410].contains(&status), "{status}");
    }
}

#[test]
fn an_export_that_meets_no_row_ends_with_its_session() {
    let server = Server::start(&["--sessions", "1"]);
    let id = session(&server, &long_queries(20_000));
    let mut stream = server.connect();
    let escaped = slow().bytes().map(|byte| format!("%{byte:02X}")).collect::<String>();
    let head = server.head("GET", &target(&id, &format!("export?format=parquet&where={escaped}")));
    stream.write_all(format!("{head}\r\n").as_bytes()).expect("it listens");
    assert_eq!(server.request("DELETE", &format!("/api/sessions/{id}"), b"").status, 204);
    let answer = read_answer(&mut stream);
    assert!([404, 410].contains(&answer.status) || !answer.body.ends_with("0\r\n\r\n"), "{answer:?}");
}

#[test]
fn ended_sessions_keep_their_rows_for_as_long_as_the_memory_has_room() {
    let folder = TestFolder::new();
    let state = folder.text("state");
    let given = ["--memory", "1GiB", "--sessions", "2", "--threads", "2", "--state", &state];
    let counts = [1_000_u64, 2_000, 3_000, 4_000];
    let server = Server::start(&given);
    let ids: Vec<String> = counts.iter().map(|count| session(&server, &log(*count))).collect();
    let all_answer = |server: &Server| {
        for (id, count) in ids.iter().zip(counts) {
            let answer = view(server, id, &json!({}));
            assert_eq!((answer.status, &answer.json()["lines"]["matching"]), (200, &count.into()));
            for format in ["csv", "parquet"] {
                assert_eq!(server.get(&target(id, &format!("export?format={format}"))).status, 200, "{format}");
            }
        }
    };
    all_answer(&server);
    drop(server);
    // Another server offers all of them again.
    let server = Server::start(&given);
    all_answer(&server);
    // As many as may arrive at a time need all of the memory.
    let _open: Vec<String> = (0..2).map(|_| server.session_of(10)).collect();
    server.request("POST", "/api/sessions", b"{}").refused(503, "sessions_full");
    for (id, count) in ids.iter().zip(counts) {
        server.request("POST", &target(id, "view"), b"{}").refused(410, "rows_gone");
        assert_eq!(server.live(id)["report"]["lines"]["parsed"], count, "its last report stays");
    }
}

#[test]
fn rows_that_gave_their_place_are_gone() {
    let server = Server::start(&["--sessions", "1"]);
    let (older, _newer) = (session(&server, &log(1_000)), session(&server, &log(100)));
    for (what, question) in [
        ("view", json!({})),
        ("panel", json!({"field": "path"})),
        ("rows", json!({})),
        ("rows", json!({"sort": {"field": "path"}})),
        ("find", json!({"match": "bot"})),
        ("compare", json!({"a": {}, "b": {"where": "status = 404"}})),
        ("explain", json!({"select": {"where": "status = 404"}})),
        ("rates", json!({})),
    ] {
        server.request("POST", &target(&older, what), question.to_string().as_bytes()).refused(410, "rows_gone");
    }
    for what in ["rejects", "histogram", "export?format=csv", "panel.csv?field=path", "report.html"] {
        server.get(&target(&older, what)).refused(410, "rows_gone");
    }
    assert_eq!(server.live(&older)["report"]["lines"]["parsed"], 1_000, "its last report stays");
}

#[test]
fn a_key_that_is_unknown_is_named() {
    let server = Server::start(&[]);
    let id = session(&server, &log(100));
    for (what, question) in [
        ("view", json!({"filter": "status = 404"})),
        ("panel", json!({"field": "path", "filter": "status = 404"})),
        ("rows", json!({"filter": "status = 404"})),
        ("rows", json!({"sort": {"field": "bytes", "filter": "status = 404"}})),
        ("find", json!({"match": "bot", "filter": "status = 404"})),
        ("compare", json!({"a": {"filter": "status = 404"}, "b": {}})),
        ("compare", json!({"a": {}, "b": {}, "filter": "status = 404"})),
        ("explain", json!({"select": {"filter": "status = 404"}})),
        ("explain", json!({"select": {}, "filter": "status = 404"})),
        ("rates", json!({"filter": "status = 404"})),
    ] {
        let answer = server.request("POST", &target(&id, what), question.to_string().as_bytes());
        let error = answer.refused(400, "bad_request");
        assert!(error["message"].as_str().is_some_and(|message| message.contains("`filter`")), "{what}: {error}");
    }
}

/// Lines of which many values have many rows, and the queries are no two the same; an hour of a
/// thousand lines a second.
fn many_values(line: u64) -> String {
    let (minute, second) = (line / 60_000 % 60, line / 1_000 % 60);
    format!(
        "10.{}.{}.{} - - [02/Jan/2025:00:{minute:02}:{second:02} +0000] \"GET /some/path/{}?some=query&number={line} HTTP/1.1\" 200 {} \"http://site-{}.example/\" \"Mozilla/5.0 (X11; Linux x86_64) Agent/{}\"\n",
        line % 7,
        line % 60,
        line % 151,
        line % 20_000,
        line % 5_000,
        line % 10_000,
        line % 15_000,
    )
}

/// Rates, pages of rows, the panel of path and query, and the explanation of rows, of a log far
/// above the memory.
#[test]
fn questions_far_above_the_memory_keep_to_it() {
    const MEMORY: u64 = 320 * MIB;
    const LINES: u64 = 3_000_000;
    let server = Server::start(&["--memory", "320MiB", "--sessions", "1", "--threads", "2"]);
    let block = |number: u64| (number * 10_000..(number + 1) * 10_000).map(many_values).collect::<String>();
    let bytes: u64 = (0..LINES).map(|line| many_values(line).len() as u64).sum();
    assert!(bytes > 3 * MEMORY / 2);
    let id = server.session(&json!({"name": "access.log", "size": bytes}));
    let mut upload = server.begin_put(&id, 0, bytes);
    (0..LINES / 10_000).for_each(|number| upload.write_all(block(number).as_bytes()).expect("it listens"));
    assert_eq!(read_answer(&mut upload).status, 200);
    server.when_state(&id, "finished");
    let ask = |what: &str, question: Value| {
        let answer = server.request("POST", &target(&id, what), question.to_string().as_bytes());
        assert_eq!(answer.status, 200, "{what} {answer:?}");
        answer.json()
    };
    let first_half = json!({"from": 1_735_776_000, "to": 1_735_776_000 + 1_500});
    let viewed = ask("view", json!({"where": "status = 200"}));
    assert_eq!((&viewed["lines"]["matching"], &viewed["kept"]["rows"]), (&json!(LINES), &json!(LINES)), "{}", viewed["kept"]);
    let urls = ask("panel", json!({"field": "url", "search": "NUMBER=1", "offset": 50_000, "limit": 100}));
    assert!(urls["exact"] == false || urls["distinct"]["count"] == LINES, "{}", urls["distinct"]);
    for question in [json!({"offset": LINES / 2, "limit": 100}), json!({"from_end": true, "limit": 100, "where": "bytes >= 100"})]
    {
        assert_eq!(ask("rows", question)["rows"].as_array().map(Vec::len), Some(100));
    }
    // A hundred rows each: by numbers, by texts that had room and by those that had none, at both
    // ends of what is shown.
    for field in ["bytes", "path", "agent", "url", "query", "site", "time"] {
        for (offset, descending) in [(0, true), (9_900, false)] {
            let sorted = ask("rows", json!({"sort": {"field": field, "descending": descending}, "offset": offset}));
            assert_eq!((&sorted["matching"], &sorted["sort"]["exact"]), (&json!(LINES), &json!(true)), "{field}");
            let value = |row: &Value| match &row[field] {
                Value::String(text) => (0, text.clone()),
                number => (number.as_f64().expect("a number").to_bits(), String::new()),
            };
            let values: Vec<_> = sorted["rows"].as_array().expect("rows").iter().map(value).collect();
            assert_eq!(values.len(), 100, "{field}");
            assert!(values.is_sorted_by(|a, b| if descending { a >= b } else { a <= b }), "{field}: {values:?}");
        }
    }
    let largest = ask("rows", json!({"sort": {"field": "query", "descending": true}, "limit": 1}))["rows"][0].take();
    let expected = (0..LINES).map(|line| format!("some=query&number={line}")).max().expect("there are lines");
    assert_eq!(largest["query"], expected);
    // As of a peer: filters that take all the memory that one may have each, forty of them, and a
    // clock that there is none of.
    let part = |ask: Value| {
        let version = concat!(env!("CARGO_PKG_VERSION"), "/4");
        json!({"version": version, "from_us": null, "to_us": null, "where": "", "columns": [], "generation": 0, "ask": ask})
    };
    let heavy =
        |n: usize| json!({"where": format!("query ~ \"number=.*(?:{n}|[a-f]{{1,300}})$\" or status = 200"), "span_us": null});
    let counted = ask("part", part(json!({"hits": {"of": (0..40).map(heavy).collect::<Vec<_>>()}})));
    let hits = counted["hits"].as_array().expect("hits");
    assert_eq!(hits.len(), 40);
    for hits in hits.iter().filter(|hits| !hits.is_null()) {
        let (rows, exact) = (hits[0].as_u64().expect("rows"), &hits[1]);
        assert!(rows == LINES || (rows < LINES && exact == false && counted["complete"] == false), "{hits}");
    }
    let typed = ask("part", part(json!({"suggest": {"text": "number 12:00 /path not 200", "zone_seconds": i32::MAX}})));
    assert!(typed["rows"].is_array(), "{typed}");
    // And as many values, sets and stretches of an explanation as one may ask for.
    let tests: Vec<Value> = (0..200).map(|n| json!({"text": ["path", format!("/some/path/{n}")]})).collect();
    let sets = |count: usize| (0..count).map(|set| vec![set % 200, (set + 1) % 200]).collect::<Vec<_>>();
    let select = json!({"from_us": 1_735_776_000_000_000_u64, "to_us": 1_735_777_500_000_000_u64, "where": ""});
    for step in [
        json!({"values": {"hits_min": 1}}),
        json!({"hits": {"tests": tests}}),
        json!({"hits": {"tests": (0..512).map(|least| json!({"least": ["bytes", least]})).collect::<Vec<_>>()}}),
        json!({"pairs": {"tests": tests}}),
        json!({"cells": {"tests": tests, "sets": sets(512), "cells": 331, "ends": []}}),
        json!({"cells": {"tests": tests, "sets": sets(512), "cells": 331, "ends": (1..331).map(|end| 1_735_776_000_000_000_u64 + end * 9_000_000).collect::<Vec<_>>()}}),
        json!({"visits": {"tests": tests, "sets": sets(128)}}),
    ] {
        let question = part(json!({"explain": {"select": select, "except": [], "step": step}})).to_string();
        let answer = server.request("POST", &target(&id, "part"), question.as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body.len() > 500, "{step}: {} bytes", answer.body.len());
    }
    let found = ask("find", json!({"match": format!("query = \"{expected}\"")}));
    assert_eq!(found["row"], expected.rsplit('=').next().and_then(|number| number.parse::<u64>().ok()).expect("a number"));
    assert_eq!(ask("find", json!({"places": [largest["place"]]})), found);
    for by in ["client", "net"] {
        assert_eq!(ask("rates", json!({"by": by, "limit_per_minute": 30}))["rows"].as_array().map(Vec::len), Some(10));
    }
    let explained = ask("explain", json!({"select": first_half}));
    assert_eq!((&explained["inside"], &explained["outside"]), (&json!(LINES / 2), &json!(LINES / 2)));
    assert!(explained["tried"].as_u64() > Some(100_000), "{}", explained["tried"]);
    let compared = ask("compare", json!({"a": first_half, "b": {"where": "path contains 7"}}));
    // Paths had room, and so had all that is shown of both.
    assert_eq!((&compared["a"]["hits"], &compared["exact"]), (&json!(LINES / 2), &json!(true)));
    // Queries had none, and lie with their rows: those of a filter by them are known all the same.
    let compared = ask("compare", json!({"a": first_half, "b": {"where": "query contains 7"}}));
    assert_eq!((&compared["a"]["hits"], &compared["exact"]), (&json!(LINES / 2), &json!(true)));
    let peak = server.running.peak_bytes();
    assert!(peak <= MEMORY, "{} MiB", peak / MIB);
}

fn question(server: &Server, id: &str, what: &str, question: &Value) -> crate::client::Answer {
    server.request("POST", &target(id, what), question.to_string().as_bytes())
}

#[test]
fn the_longest_filter_can_be_sent_and_a_longer_body_is_told() {
    let server = Server::start(&[]);
    let id = session(&server, &log(100));
    let value = "/p1".to_owned() + &"\\\"".repeat(100);
    let mut filter = "path in (\"/p1\"".to_owned();
    while filter.len() + value.len() + 8 < 64 << 10 {
        filter += &format!(", \"{value}\"");
    }
    filter.push(')');
    let answer = question(&server, &id, "view", &json!({"where": filter}));
    assert_eq!((answer.status, &answer.json()["lines"]["matching"]), (200, &15.into()));
    for none in [json!({"where": null, "from": null}), json!({"where": ""}), json!({})] {
        assert_eq!(question(&server, &id, "view", &none).json()["lines"]["matching"], 100, "{none}");
    }
    let error = question(&server, &id, "view", &json!({"where": "x".repeat(65 << 10)})).refused(400, "bad_filter");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("65536")), "{error}");
    for (what, body) in [("view", json!({"where": "x".repeat(1 << 20)})), ("format/try", json!({"lines": ["x".repeat(1 << 20)]}))]
    {
        let error = question(&server, &id, what, &body).refused(413, "too_long");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(&error["size"].to_string())), "{error}");
    }
}

#[test]
fn a_filter_has_its_share_of_the_memory_and_rows_that_did_not_fit_are_told() {
    let server = Server::start(&["--memory", "310MiB", "--threads", "1", "--temp-max", "0"]);
    let id = session(&server, &log(20));
    let patterns = |count: u32| {
        let pattern = |number| format!("path ~ \"^/p{number}$\"");
        (0..count).map(pattern).collect::<Vec<_>>().join(" or ")
    };
    let small = question(&server, &id, "view", &json!({"where": patterns(2)}));
    assert_eq!((small.status, &small.json()["lines"]["matching"]), (200, &6.into()));
    assert_eq!(small.json()["hint"], Value::Null);
    for (what, body) in [
        ("view", json!({"where": patterns(8)})),
        ("compare", json!({"a": {}, "b": {"where": patterns(8)}})),
        ("explain", json!({"select": {"where": patterns(8)}})),
    ] {
        let error = question(&server, &id, what, &body).refused(413, "filter_too_large");
        assert!(error["message"].as_str().is_some_and(|message| message.contains("--memory")), "{error}");
    }
    // As many values as rows: more than their share.
    let id = session(&server, &long_queries(60_000));
    for (what, body) in
        [("view", json!({})), ("rates", json!({})), ("explain", json!({"select": {}})), ("compare", json!({"a": {}, "b": {}}))]
    {
        let hint = question(&server, &id, what, &body).json()["hint"].clone();
        assert!(hint.as_str().is_some_and(|hint| hint.contains("more --memory or --sessions 1")), "{what}: {hint}");
    }
    // Asking again would not help.
    let refused = server.get(&target(&id, "export?format=parquet"));
    let error = refused.refused(503, "export_no_room");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("--memory")), "{error}");
    assert!(!refused.head.contains("retry-after"), "{}", refused.head);
}

#[test]
fn rates_of_rows_without_a_time_say_why_there_are_none() {
    let server = Server::start(&[]);
    let body = b"10.0.0.1 200\n10.0.0.2 404\n";
    let id = server.session(&json!({"size": body.len(), "format": "$remote_addr $status"}));
    assert_eq!(server.put(&id, 0, body).status, 200);
    let answer = question(&server, &id, "rates", &json!({})).json();
    assert_eq!((&answer["clients"], &answer["reason"]), (&0.into(), &"no row of this view has both a time and a client".into()));
    let rows = question(&server, &id, "rows", &json!({})).json();
    assert_eq!((&rows["rows"][1]["line"], &rows["lines"]), (&"10.0.0.2 404".into(), &json!({"format": "custom", "unkept": []})));
}

#[test]
fn lines_of_rows_are_rebuilt_in_the_format_of_the_log() {
    let server = Server::start(&[]);
    let line = "site:443 10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET /a?b HTTP/1.1\" 200 5 \"-\" \"x\"\n";
    let id = session(&server, line.as_bytes());
    let rows = question(&server, &id, "rows", &json!({})).json();
    assert_eq!(rows["rows"][0]["line"], line.trim_end());
    assert_eq!(rows["lines"], json!({"format": "vhost_combined", "unkept": ["%l"]}));
}

#[test]
fn a_report_says_how_many_rows_it_is_not_of() {
    let server = Server::start(&["--memory", "260MiB", "--sessions", "100", "--threads", "1", "--temp-max", "0"]);
    let mut body = Vec::new();
    let lines = write_lines(&mut SiteLog::new(500_000, 3), 64 * MIB, &mut body).expect("a Vec takes everything").lines;
    let report = server.live(&session(&server, &body))["report"].take();
    let dropped = report["rows_dropped"].as_u64().unwrap_or_else(|| panic!("there was room for all: {report}"));
    let counted: u64 = report["status"].as_array().expect("rows").iter().map(|row| row["hits"].as_u64().expect("hits")).sum();
    assert_eq!((&report["lines"]["total"], &report["lines"]["rejected"]), (&lines.into(), &0.into()));
    assert_eq!(dropped + counted, lines);
    // Where there was room for all, there is nothing to say.
    let report = server.live(&session(&server, &log(20)))["report"].take();
    assert_eq!((&report["rows_dropped"], &report["lines"]["parsed"]), (&Value::Null, &20.into()));
}

#[test]
fn values_that_were_cut_are_not_said_to_be_counted_exactly() {
    let line = |path: &str| format!("10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET /{path} HTTP/1.1\" 200 5 \"-\" \"agent\"\n");
    let long = "a".repeat(70_000);
    let server = Server::start(&[]);
    let distinct = |paths: &[String]| {
        let body: String = paths.iter().map(|path| line(path)).collect();
        let answer = view(&server, &session(&server, body.as_bytes()), &json!({}));
        assert_eq!(answer.status, 200);
        let found = answer.json();
        let (paths, kinds) = (panel(&found, "path"), panel(&found, "kind"));
        (paths["distinct"].clone(), paths["exact"].clone(), kinds["exact"].clone())
    };
    let exactly = |distinct: u64| json!({"count": distinct, "exact": true, "error": 0.0});
    assert_eq!(distinct(&["x".to_owned(), "y.png".to_owned()]), (exactly(2), true.into(), true.into()));
    // One value was cut, and counts as one; its end would say its kind.
    assert_eq!(distinct(&["x".to_owned(), format!("{long}.png")]), (exactly(2), true.into(), false.into()));
    // Three values, two of them with the same first 64 KiB.
    let (merged, exact, _) = distinct(&["x".to_owned(), format!("{long}b"), format!("{long}c")]);
    assert_eq!((merged, exact), (json!({"count": 2, "exact": false, "error": 0.5}), false.into()));
}

#[test]
fn rows_are_sorted_by_a_column_and_what_has_no_order_is_told() {
    let server = Server::start(&[]);
    let line = |client: &str, path: &str, bytes: &str| {
        format!("{client} - - [02/Jan/2025:00:00:00 +0000] \"GET {path} HTTP/1.1\" 200 {bytes} \"-\" \"agent\"\n")
    };
    let body =
        [line("10.0.0.1", "/b", "7"), line("10.0.0.2", "/a", "-"), line("10.0.0.3", "/b", "9"), line("10.0.0.1", "/c", "7")];
    let id = session(&server, body.concat().as_bytes());
    let clients = |order: Value| {
        let answer = question(&server, &id, "rows", &order);
        assert_eq!(answer.status, 200, "{answer:?}");
        let shown = answer.json();
        let paths = shown["rows"].as_array().expect("rows").iter().map(|row| format!("{}{}", row["path"], row["row"]));
        (paths.collect::<String>().replace('"', ""), shown["sort"].clone())
    };
    let sort = |field: &str, descending: bool| json!({"sort": {"field": field, "descending": descending}});
    let told = json!({"field": "bytes", "descending": true, "exact": true, "rows_max": 10_000});
    assert_eq!(clients(sort("bytes", true)), ("/b0/b1/c2/a3".to_owned(), told));
    assert_eq!(clients(sort("bytes", false)).0, "/b0/c1/b2/a3");
    assert_eq!(clients(json!({"sort": {"field": "path"}})).0, "/a0/b1/b2/c3");
    assert_eq!(clients(json!({"sort": {"field": "path"}, "offset": 1, "limit": 2})).0, "/b1/b2");
    assert_eq!(clients(json!({"sort": null})), ("/b0/a1/b2/c3".to_owned(), Value::Null));
    for (body, named) in [
        (sort("hour", true), "'hour'"),
        (sort("nothing", true), "'nothing'"),
        (json!({"sort": {"field": "path"}, "offset": 10_000}), "10000 rows"),
        (json!({"sort": {"field": "path"}, "from_end": true}), "\"from_end\""),
    ] {
        let error = question(&server, &id, "rows", &body).refused(400, "bad_request");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(named)), "{error}");
    }
    let find = |body: Value| question(&server, &id, "find", &body).json()["row"].clone();
    assert_eq!(find(json!({"match": "path = /b", "after": 0})), 2);
    assert_eq!(find(json!({"match": "path = /b", "after": 0, "from_end": true})), 1);
    assert_eq!(find(json!({"match": "path = /b", "after": 3, "backwards": true, "from_end": true})), 1);
    assert_eq!(find(json!({"match": "path = /b", "after": 2, "sort": {"field": "bytes"}})), Value::Null);
    assert_eq!(find(json!({"match": "path = /b", "after": 0, "sort": {"field": "bytes"}})), 2);
    for (body, named) in [
        (json!({"match": "path = /b", "places": ["0.0.0.0"]}), "\"match\""),
        (json!({"places": vec!["0.0.0.0"; 201]}), "at most 200"),
        (json!({"match": "bot", "sort": {"field": "weekday"}}), "'weekday'"),
    ] {
        let error = question(&server, &id, "find", &body).refused(400, "bad_request");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(named)), "{error}");
    }
}

#[test]
fn a_time_series_has_a_number_for_each_bucket_and_what_it_can_not_have_is_told() {
    let server = Server::start(&[]);
    let line = |second: u32, client: &str, status: u16, bytes: &str| {
        format!("{client} - - [02/Jan/2025:00:00:{second:02} +0000] \"GET / HTTP/1.1\" {status} {bytes} \"-\" \"agent\"\n")
    };
    let body = [
        line(1, "10.0.0.1", 200, "7"),
        line(4, "10.0.0.2", 500, "9"),
        line(4, "10.0.0.2", 404, "-"),
        line(21, "10.0.0.1", 503, "-"),
    ];
    let id = session(&server, body.concat().as_bytes());
    let asked = |body: Value| {
        let answer = question(&server, &id, "timeseries", &body);
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    };
    let all = asked(json!({"bucket_seconds": 10}));
    let start = 1_735_776_000;
    let shown = |name: &str| all[name].clone();
    assert_eq!(json!([shown("from"), shown("bucket_seconds"), shown("buckets"), shown("rows")]), json!([start, 10, 3, 4]));
    let metrics = json!({
        "hits": [3, 0, 1], "errors": [1, null, 1], "error_rate": [1.0 / 3.0, null, 1.0], "refused": [1, null, 0], "bytes": [16, null, null],
        "clients": [2, null, 1], "first": [start + 1, null, start + 21], "last": [start + 4, null, start + 21],
    });
    let as_float = |value: &Value| value.as_array().expect("a list").iter().map(Value::as_f64).collect::<Vec<_>>();
    for (name, expected) in metrics.as_object().expect("lists") {
        assert_eq!(as_float(&all["metrics"][name]), as_float(expected), "{name}");
    }
    assert_eq!(all["metrics"].as_object().expect("lists").len(), 8, "{all}");
    assert_eq!(json!([all["exact"], all["clients_error"], all["measure"]]), json!([true, 0.0, null]));
    let errors = asked(json!({"show": ["errors"], "where": "status >= 500", "to": start + 20, "bucket_seconds": 5}));
    assert_eq!(errors["metrics"], json!({"hits": [1, 0, 0, 0], "errors": [1, null, null, null]}));
    let sizes = asked(json!({"show": ["p50"], "measure": "bytes", "bucket_seconds": 60}));
    assert_eq!(sizes["metrics"]["p50"], json!([7.0]), "{sizes}");
    let empty = asked(json!({"from": 5, "to": 6}));
    assert_eq!(json!([empty["from"], empty["buckets"], empty["metrics"]["hits"]]), json!([null, 0, []]));
    for (body, named) in [
        (json!({"bucket_seconds": 0}), "\"bucket_seconds\": a bucket has at least 1 second"),
        (json!({"bucket_seconds": 5, "buckets": 5}), "exclude each other"),
        (json!({"show": ["trend"]}), "these rows have no trend; they have hits, errors"),
        (json!({"show": ["p95"]}), "no p95"),
        (json!({"show": ["p96"]}), "'p96'"),
        (json!({"show": ["p95"], "measure": "agent"}), "'agent' of numbers"),
    ] {
        let error = question(&server, &id, "timeseries", &body).refused(400, "bad_request");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(named)), "{error}");
    }
}

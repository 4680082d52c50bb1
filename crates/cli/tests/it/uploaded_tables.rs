//! Tables that are uploaded into `rorqual serve`.

use crate::client::{Server, least_memory};
use crate::common::{MIB, TestFolder, eventually, rorqual};
use crate::served_tables::{counted, document, lines, served, view};
use rorqual_testkit::paths::gzip;
use serde_json::{Value, json};

/// Uploads a file by one request; the session's id.
fn uploaded(server: &Server, name: &str, bytes: &[u8]) -> String {
    let id = server.session(&json!({"name": name, "size": bytes.len()}));
    let answer = server.put(&id, 0, bytes);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(server.live(&id)["session"]["state"], "finished");
    id
}

/// The error of an upload that fails, as its session has it too.
fn refused(server: &Server, name: &str, bytes: &[u8], status: u16, code: &str) -> String {
    let id = server.session(&json!({"name": name, "size": bytes.len()}));
    let error = server.put(&id, 0, bytes).refused(status, code);
    let session = server.live(&id)["session"].clone();
    assert_eq!((&session["state"], &session["error"]["code"]), (&json!("failed"), &json!(code)));
    error["message"].as_str().expect("words").to_owned()
}

/// Open files of the server that have no name any more.
fn unnamed_files(server: &Server) -> usize {
    let fds = std::fs::read_dir(format!("/proc/{}/fd", server.running.id())).expect("the process").flatten();
    let paths = fds.filter_map(|fd| std::fs::read_link(fd.path()).ok());
    paths.filter(|path| path.to_string_lossy().ends_with(" (deleted)")).count()
}

#[test]
fn an_upload_in_any_format_gives_the_view_of_the_file() {
    let folder = TestFolder::new();
    let text = lines(20_000);
    let plain = folder.file("app.ndjson", &text);
    let filter = "level != info and took < 50";
    let (opened, id) = served(&[&plain]);
    let of_file = counted(view(&opened, &id, filter));
    // 5 000 are warnings or errors of each, of which 400 in 1 000 are below 50.
    assert_eq!(of_file["lines"]["matching"], json!((0..20_000).filter(|n| n % 4 >= 2 && n % 1_000 < 400).count()));
    drop(opened);
    let array = format!("[{}]", text.trim_end().replace('\n', ",\n "));
    let mut files = vec![("app.ndjson", text.clone().into_bytes()), ("array.json", array.into_bytes())];
    files.push(("app.ndjson.gz", gzip(text.as_bytes())));
    files.push(("dump.json", document(20_000).into_bytes()));
    for name in ["app.parquet", "app.arrow", "app.csv"] {
        let path = folder.text(name);
        let _ = rorqual(&["convert", &plain, "-o", &path]).run().exits(0);
        files.push((name, std::fs::read(&path).expect("it was written")));
    }
    let server = Server::start(&["--sessions", "2"]);
    for (name, bytes) in files {
        let id = uploaded(&server, name, &bytes);
        assert_eq!(counted(view(&server, &id, filter)), of_file, "{name}");
        assert_eq!(server.live(&id)["report"]["sources"][0]["bytes"].as_u64().map(|read| read > 0), Some(true), "{name}");
    }
    assert!(unnamed_files(&server) <= 2 * 2, "only rows have files now");
    server.within(1_024 * MIB);
}

#[test]
fn an_upload_in_parts_and_after_a_break_is_the_whole_table() {
    let text = lines(30_000);
    let server = Server::start(&[]);
    let id = server.session(&json!({"name": "app.ndjson", "size": text.len()}));
    // A part that ends early breaks off, and the next goes on where it was.
    let mut offset = 0;
    for end in [100, 5_000, 700_001, 2_000_000] {
        use std::io::Write as _;
        let mut broken = server.begin_put(&id, offset, text.len() as u64 - offset as u64);
        broken.write_all(&text.as_bytes()[offset..end]).expect("it listens");
        broken.shutdown(std::net::Shutdown::Both).expect("it is open");
        // It was interrupted before: by its offset the server has seen this break too.
        let has_broken = |live: &Value| live["session"]["state"] == "interrupted" && live["session"]["offset"] == json!(end);
        server.when(&id, "the break", has_broken);
        offset = end;
    }
    assert_eq!(server.put(&id, offset, &text.as_bytes()[offset..]).status, 200);
    let all = view(&server, &id, "level = error");
    assert_eq!((&all["lines"]["matching"], &all["exact"]), (&json!(7_500), &json!(true)));
}

#[test]
fn columns_that_turn_up_late_in_an_upload_are_columns() {
    let mut text = lines(30_000);
    text.push_str("{\"ts\":\"2026-01-27T00:00:00Z\",\"late\":7}\n{\"took\":\"a text\"}\n");
    let server = Server::start(&[]);
    let id = uploaded(&server, "app.ndjson", text.as_bytes());
    assert_eq!(server.live(&id)["session"]["columns"], json!(5));
    assert_eq!(view(&server, &id, "late = 7")["lines"]["matching"], json!(1));
    assert_eq!(view(&server, &id, "took = \"a text\"")["lines"]["matching"], json!(1));
}

#[test]
fn what_is_no_table_stays_what_it_was() {
    let server = Server::start(&[]);
    let log = r#"{"time":"2026-01-27T00:00:00Z","remote_addr":"203.0.113.9","request":"GET / HTTP/1.1","status":200,"body_bytes_sent":5}"#;
    let id = uploaded(&server, "log.json", format!("{log}\n").repeat(50).as_bytes());
    let live = server.live(&id);
    assert_eq!((&live["session"]["columns"], &live["report"]["lines"]["parsed"]), (&Value::Null, &json!(50)));
    // A log in a format of its own is no table for its separators, unless it is called one.
    let own = b"10.1.2.3|2025-01-02T03:04:05+01:00|GET|/a|200|512\n".repeat(30);
    let message = refused(&server, "own.log", &own, 422, "unknown_format");
    assert!(message.contains("own.log") && message.contains("format"), "{message}");
    assert_eq!(server.live(&uploaded(&server, "own.csv", &own))["session"]["columns"], json!(6));
    for (name, bytes) in [("words.txt", b"some words\nof a text\n".repeat(40)), ("data.bin", [0, 1, 2, 255, 10].repeat(9_000))] {
        let message = refused(&server, name, &bytes, 422, "unknown_format");
        assert!(message.contains(name), "{message}");
    }
    let message = refused(&server, "cut.parquet", b"PAR1", 422, "bad_input");
    assert!(message.contains("cut.parquet") && message.contains("footer"), "{message}");
    let message = refused(&server, "cut.json", b"[{\"a\": 1}, {\"a\": 2", 422, "bad_input");
    assert!(message.contains("cut.json"), "{message}");
}

#[test]
fn a_table_without_room_is_refused_with_the_way_on() {
    let text = lines(40_000);
    for (args, wanted) in [
        (&["--temp-max", "0"][..], "--temp-max 0"),
        (&["--temp-max", "2MiB", "--sessions", "2"], "--temp-max"),
        (&["--memory", "300MiB"], "start it with more memory or fewer sessions"),
    ] {
        let server = Server::start(args);
        let before = unnamed_files(&server);
        let message = refused(&server, "app.ndjson", text.as_bytes(), 507, "table_no_room");
        assert!(message.contains(wanted), "{args:?}: {message}");
        assert!(unnamed_files(&server) <= before + 1, "{args:?}: but for its rows");
        // A log has room.
        let log = "203.0.113.9 - - [27/Jan/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5\n".repeat(10);
        assert_eq!(server.put(&server.session_of(log.len()), 0, log.as_bytes()).status, 200, "{args:?}");
    }
}

#[test]
fn a_table_that_is_cancelled_leaves_nothing() {
    let text = lines(60_000);
    let server = Server::start(&["--sessions", "1", "--limit-rate", "2MiB"]);
    let before = unnamed_files(&server);
    // While it arrives, and while it is read.
    for sent in [text.len() / 8, text.len()] {
        use std::io::Write as _;
        let id = server.session(&json!({"name": "app.ndjson", "size": text.len()}));
        let mut stream = server.begin_put(&id, 0, text.len() as u64);
        stream.write_all(&text.as_bytes()[..sent]).expect("it listens");
        let is_there = |live: &Value| live["session"]["columns"].is_u64();
        let is_read = |live: &Value| live["report"]["lines"]["parsed"].as_u64() > Some(0);
        server.when(&id, "the table", |live| if sent < text.len() { is_there(live) } else { is_read(live) });
        assert_eq!(server.request("POST", &format!("/api/sessions/{id}/cancel"), b"").status, 200);
        server.when_state(&id, "cancelled");
        assert_eq!(server.request("DELETE", &format!("/api/sessions/{id}"), b"").status, 204);
    }
    // The thread that read it may be about to let go of it.
    eventually("no file", || (unnamed_files(&server) == before).then_some(()));
}

#[test]
fn a_table_is_not_kept_for_the_next_server() {
    let folder = TestFolder::new();
    let state = folder.text("state");
    let text = lines(2_000);
    let server = Server::start(&["--state", &state]);
    let id = uploaded(&server, "app.ndjson", text.as_bytes());
    assert_eq!(server.live(&id)["session"]["kept"], json!(false));
    drop(server);
    let server = Server::start(&["--state", &state]);
    assert_eq!(server.get("/api/sessions").json()["sessions"], json!([]));
}

#[test]
fn an_uploaded_table_far_above_the_memory_keeps_within_it() {
    let (_, least_bytes) = least_memory(&["--sessions", "1"]);
    // Room to read it in, and half of that for its rows.
    let memory_bytes = least_bytes + 180 * MIB;
    let server = Server::start(&["--sessions", "1", "--memory", &memory_bytes.to_string()]);
    let line = |n: u64| {
        let id = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!(
            "{{\"id\":\"{id:016x}{id:016x}\",\"n\":{n},\"text\":\"{}\",\"level\":\"l{}\"}},\n",
            "lorem ipsum ".repeat(9),
            n % 5
        )
    };
    // Inside one document, which is read in one piece.
    let rows: String = (0..2_400_000).map(line).collect();
    let text = format!("{{\"page\":1,\"items\":[\n{}]}}\n", rows.trim_end_matches(",\n"));
    drop(rows);
    assert!(text.len() as u64 > memory_bytes);
    let id = uploaded(&server, "large.json", text.as_bytes());
    let found = view(&server, &id, "level = l3 and n < 600000");
    assert_eq!(found["lines"]["matching"], json!(120_000));
    server.within(memory_bytes);
}

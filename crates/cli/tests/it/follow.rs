//! `rorqual serve --follow`: files that grow, are cut and are rotated while they are read.

use crate::client::Server;
use crate::common::{MIB, TestFolder, eventually, line, log, rorqual};
use rorqual_testkit::generate::{DistinctLog, write_lines};
use rorqual_testkit::paths::gzip;
use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// A server that follows `path`, and the id of its session.
fn follow(path: &str, args: &[&str]) -> (Server, String) {
    let server = Server::start(&[&["--follow", path], args].concat());
    let sessions = server.get("/api/sessions").json();
    let id = sessions["sessions"][0]["id"].as_str().expect("a session").to_owned();
    (server, id)
}

fn append(path: impl AsRef<Path>, bytes: impl AsRef<[u8]>) {
    let mut file = OpenOptions::new().append(true).create(true).open(path).expect("it can be written");
    file.write_all(bytes.as_ref()).expect("room on the disk");
}

/// The session once a view of its rows has so many lines that were parsed and were rejected.
fn when_lines(server: &Server, id: &str, parsed: u64, rejected: u64) -> Value {
    let view = |body: &Value| server.request("POST", &format!("/api/sessions/{id}/view"), body.to_string().as_bytes()).json();
    let counted = eventually("the lines", || {
        let viewed = view(&json!({}));
        let lines = (viewed["lines"]["parsed"].as_u64()?, viewed["lines"]["rejected"].as_u64()?);
        assert!(lines.0 <= parsed && lines.1 <= rejected, "{lines:?}");
        (lines == (parsed, rejected)).then_some(viewed)
    });
    assert_eq!(counted["complete"], false);
    let live = server.when(id, "the report", |live| live["report"]["lines"]["parsed"] == parsed);
    assert_eq!((&live["session"]["state"], &live["report"]["complete"]), (&"following".into(), &false.into()));
    assert_eq!((&live["session"]["eta_seconds"], &live["session"]["size"]), (&Value::Null, &Value::Null));
    live["session"]["follow"].clone()
}

fn state(truncations: u64, rotations: u64, missing: bool) -> Value {
    json!({"truncations": truncations, "rotations": rotations, "missing": missing})
}

fn ends_in_time(server: Server) {
    server.running.interrupt();
    drop(server.running.wait().exits(0));
}

#[test]
fn an_empty_file_is_what_its_first_line_says() {
    let folder = TestFolder::new();
    for name in ["app.ndjson", "app.log"] {
        let path = folder.file(name, "");
        let (server, id) = follow(&path, &[]);
        assert_eq!(server.live(&id)["session"]["state"], "following");
        append(&path, "{\"n\":1,\"level\":\"info\"}\n{\"n\":2,\"lev");
        when_lines(&server, &id, 1, 0);
        append(&path, "el\":\"warn\"}\n{\"n\":3,\"level\":\"warn\"}\n");
        when_lines(&server, &id, 3, 0);
        let question = json!({"where": "level = warn"}).to_string();
        let viewed = server.request("POST", &format!("/api/sessions/{id}/view"), question.as_bytes()).json();
        assert_eq!(viewed["lines"]["matching"], 2);
        ends_in_time(server);
    }
    // A blank line tells nothing, and an empty file may be moved before anything comes.
    for is_moved in [false, true] {
        let path = folder.file("later.ndjson", "");
        let (server, id) = follow(&path, &[]);
        append(&path, if is_moved { "" } else { "\n" });
        if is_moved {
            std::fs::rename(&path, folder.at("later.1")).expect("the same folder");
            folder.file("later.ndjson", "");
        }
        append(&path, "{\"n\":1}\n{\"n\":2}\n");
        when_lines(&server, &id, 2, 0);
        ends_in_time(server);
    }
    // A log is one, whatever its name, and also where another file took the name meanwhile.
    let path = folder.file("other.ndjson", "");
    let (server, id) = follow(&path, &[]);
    std::fs::rename(&path, folder.at("other.1")).expect("the same folder");
    std::fs::write(&path, log(5)).expect("it can be written");
    when_lines(&server, &id, 5, 0);
    ends_in_time(server);
}

#[test]
fn more_files_than_sessions_leave_no_place_and_that_is_said() {
    let folder = TestFolder::new();
    let paths = ["a.log", "b.log", "c.log"].map(|name| folder.file(name, log(10)));
    for (sessions, is_said) in [("2", true), ("3", false)] {
        let server = Server::start(&["--sessions", sessions, "--separate", "--follow", &paths[0], &paths[1], &paths[2]]);
        eventually("its notes", || server.running.stderr_so_far().contains("Ctrl-C ends it").then_some(()));
        assert_eq!(server.get("/api/sessions").json()["sessions"].as_array().map(Vec::len), Some(3));
        let said = server.running.stderr_so_far();
        assert_eq!(said.contains("the 3 files take a place each, and --sessions 2 is raised"), is_said, "{said}");
    }
}

#[test]
fn what_is_appended_is_seen() {
    let folder = TestFolder::new();
    let path = folder.file("access.log", log(30_000));
    let (server, id) = follow(&path, &[]);
    assert_eq!(when_lines(&server, &id, 30_000, 0), state(0, 0, false));
    append(&path, line(30_000) + "\n");
    when_lines(&server, &id, 30_001, 0);
    // Half a line waits, however long, and is one with the bytes after it.
    let (first, second) = (line(30_001), line(30_002));
    append(&path, format!("{second}\n{}", &first[..40]));
    when_lines(&server, &id, 30_002, 0);
    append(&path, format!("{}\n", &first[40..]));
    assert_eq!(when_lines(&server, &id, 30_003, 0), state(0, 0, false));
    ends_in_time(server);
}

#[test]
fn a_file_that_is_cut_is_begun_anew() {
    let folder = TestFolder::new();
    let path = folder.file("access.log", log(1_000));
    append(&path, &line(1_000)[..30]);
    let (server, id) = follow(&path, &[]);
    when_lines(&server, &id, 1_000, 0);
    // As logrotate's copytruncate does it. The half line has no other half now.
    File::create(&path).expect("it can be written");
    server.when(&id, "the cut", |live| live["session"]["follow"]["truncations"] == 1);
    append(&path, log(10));
    assert_eq!(when_lines(&server, &id, 1_010, 1), state(1, 0, false));
    ends_in_time(server);
}

#[test]
fn a_file_that_is_renamed_is_read_to_its_end_before_the_new_one() {
    let folder = TestFolder::new();
    let path = folder.file("access.log", log(100));
    let (server, id) = follow(&path, &[]);
    when_lines(&server, &id, 100, 0);
    std::fs::rename(&path, folder.at("access.log.1")).expect("it is there");
    server.when(&id, "that it is missing", |live| live["session"]["follow"]["missing"] == true);
    // The writer has not opened the new one yet.
    append(folder.at("access.log.1"), line(100) + "\n");
    when_lines(&server, &id, 101, 0);
    append(folder.at("access.log.1"), line(101));
    append(&path, log(3));
    // The last line of the old file has no newline, and is one all the same.
    assert_eq!(when_lines(&server, &id, 105, 0), state(0, 1, false));
    append(&path, line(3) + "\n");
    when_lines(&server, &id, 106, 0);
    std::fs::remove_file(&path).expect("it is there");
    server.when(&id, "that it is missing", |live| live["session"]["follow"]["missing"] == true);
    append(&path, log(4));
    assert_eq!(when_lines(&server, &id, 110, 0), state(0, 2, false));
    ends_in_time(server);
}

#[test]
fn the_format_is_told_when_there_is_a_line_that_tells_it() {
    let folder = TestFolder::new();
    let path = folder.file("access.log", "");
    let (server, id) = follow(&path, &[]);
    let live = server.when_state(&id, "following");
    assert!(live["report"].is_null());
    let rows = server.request("POST", &format!("/api/sessions/{id}/rows"), b"{}").json();
    assert_eq!((&rows["matching"], &rows["lines"]["format"]), (&0.into(), &Value::Null));
    append(&path, "a banner of the server\n");
    server.when(&id, "the banner", |live| live["session"]["state"] == "following");
    append(&path, line(1) + "\n");
    when_lines(&server, &id, 1, 1);
    ends_in_time(server);
}

#[test]
fn followed_files_keep_their_places_until_they_are_cancelled() {
    let folder = TestFolder::new();
    let (first, second) = (folder.file("a.log", log(10)), folder.file("b.log", log(20)));
    let (server, newest) = follow(&first, &[&second, "--separate", "--sessions", "2"]);
    when_lines(&server, &newest, 20, 0);
    server.request("POST", "/api/sessions", b"{}").refused(503, "sessions_full");
    assert_eq!(server.request("POST", &format!("/api/sessions/{newest}/cancel"), b"").status, 200);
    let live = server.when_state(&newest, "cancelled");
    assert_eq!(live["report"]["lines"]["parsed"], 20);
    // An ended one gives its place.
    server.session_of(10);
    ends_in_time(server);
}

#[test]
fn what_cannot_be_followed_is_told() {
    let folder = TestFolder::new();
    let packed = folder.file("access.log.gz", gzip(&log(10)));
    let missing = folder.text("missing.log");
    for (path, said) in [(&packed, "--follow"), (&missing, "cannot open"), (&folder.text(""), "is a directory")] {
        let ran = rorqual(&["serve", "--port", "0", "--follow", path]).run().exits(2);
        ran.says(&[path, said]);
    }
    rorqual(&["serve", "--port", "0", "--follow"]).run().exits(2).says(&["FILE"]);
}

#[test]
fn a_fifo_is_read_to_its_end() {
    let folder = TestFolder::new();
    let fifo = folder.text("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo");
    assert!(made.success());
    let (server, id) = follow(&fifo, &[]);
    let mut writer = OpenOptions::new().write(true).open(&fifo).expect("somebody reads");
    writer.write_all(&log(100)).expect("somebody reads");
    server.when(&id, "the lines", |live| live["report"]["lines"]["parsed"] == 100);
    assert_eq!(server.live(&id)["session"]["state"], "receiving");
    writer.write_all((line(100) + "\n").as_bytes()).expect("somebody reads");
    drop(writer);
    assert_eq!(server.when_state(&id, "finished")["report"]["lines"]["parsed"], 101);
}

#[test]
fn a_file_that_grows_far_above_the_memory_is_read_within_it_while_it_is_looked_at() {
    const TIMES: u64 = 18;
    let folder = TestFolder::new();
    let path = folder.file("access.log", log(10));
    let (server, memory) = Server::tight(&["--sessions", "1", "--threads", "1", "--follow", &path]);
    let id = server.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned();
    // More distinct values than there is room for.
    let mut block = Vec::new();
    let lines = write_lines(&mut DistinctLog::new(24 * MIB, 3), 24 * MIB, &mut block).expect("a Vec takes everything").lines;
    assert!(block.len() as u64 * TIMES > 2 * memory, "{} MiB", memory / MIB);
    let over = AtomicBool::new(false);
    let look_on = |what: &str, question: &str| {
        let target = format!("/api/sessions/{id}/{what}");
        while !over.load(Ordering::Relaxed) {
            assert_eq!(server.request("POST", &target, question.as_bytes()).status, 200);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| look_on("view", "{\"top\": 100}"));
        scope.spawn(|| look_on("rates", "{\"top\": 100}"));
        scope.spawn(|| look_on("rows", "{\"from_end\": true}"));
        (0..TIMES).for_each(|_| append(&path, &block));
        let all = 10 + lines * TIMES;
        server.when(&id, "all lines", |live| live["report"]["lines"]["parsed"] == all);
        over.store(true, Ordering::Relaxed);
    });
    server.within(memory);
    ends_in_time(server);
}

#[test]
fn many_files_are_followed_and_all_of_them_are_read() {
    const FILES: u64 = 120;
    let folder = TestFolder::new();
    let paths: Vec<String> = (0..FILES).map(|number| folder.file(&format!("{number}.log"), log(10 + number))).collect();
    let args: Vec<&str> =
        ["--threads", "1", "--separate", "--follow"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    let (server, memory) = Server::tight(&args);
    for (number, path) in (0..).zip(&paths) {
        append(path, line(number) + "\n");
    }
    let sessions = server.get("/api/sessions").json()["sessions"].as_array().expect("sessions").clone();
    assert_eq!(sessions.len() as u64, FILES);
    for (number, session) in (0..FILES).rev().zip(&sessions) {
        when_lines(&server, session["id"].as_str().expect("an id"), 11 + number, 0);
    }
    server.within(memory);
    ends_in_time(server);
}

/// JSON lines of an application.
fn events(from: usize, rows: usize) -> String {
    let line = |n: usize| format!("{{\"ts\":\"2026-01-27T10:00:{:02}Z\",\"n\":{n},\"level\":\"l{}\"}}\n", n % 60, n % 3);
    (from..from + rows).map(line).collect()
}

fn matching(server: &Server, id: &str, filter: &str) -> u64 {
    let body = json!({"where": filter}).to_string();
    let view = server.request("POST", &format!("/api/sessions/{id}/view"), body.as_bytes()).json();
    view["lines"]["matching"].as_u64().unwrap_or_else(|| panic!("{view}"))
}

#[test]
fn json_lines_are_followed_as_logs_are() {
    let folder = TestFolder::new();
    let path = folder.file("app.ndjson", events(0, 3_000));
    append(&path, &events(3_000, 1)[..30]);
    let (server, id) = follow(&path, &[]);
    assert_eq!(when_lines(&server, &id, 3_000, 0), state(0, 0, false));
    append(&path, &events(3_000, 1)[30..]);
    append(&path, events(3_001, 2));
    when_lines(&server, &id, 3_003, 0);
    assert_eq!(matching(&server, &id, "n = 3000"), 1);
    append(&path, "no JSON\n");
    when_lines(&server, &id, 3_003, 1);
    // A key, and a type, that the file had not when it was opened.
    append(&path, "{\"n\":\"text\",\"late\":{\"a\":1}}\n");
    when_lines(&server, &id, 3_004, 1);
    assert_eq!(matching(&server, &id, "_rest contains late"), 1);
    assert_eq!(matching(&server, &id, "_rest contains text"), 1);
    // Renamed, with half a line, and then cut.
    append(&path, "{\"n\":70000}");
    std::fs::rename(&path, folder.at("app.ndjson.1")).expect("it is there");
    append(&path, events(0, 5));
    assert_eq!(when_lines(&server, &id, 3_010, 1), state(0, 1, false));
    assert_eq!(matching(&server, &id, "n = 70000"), 1);
    // Half a line is seen with the one before it.
    append(&path, events(5, 1) + "{\"n\":1");
    when_lines(&server, &id, 3_011, 1);
    File::create(&path).expect("it can be written");
    server.when(&id, "the cut", |live| live["session"]["follow"]["truncations"] == 1);
    append(&path, events(0, 2));
    assert_eq!(when_lines(&server, &id, 3_013, 2), state(1, 1, false));
    let rows = server.request("POST", &format!("/api/sessions/{id}/rows"), b"{\"from_end\": true, \"limit\": 3}").json();
    assert!(rows.to_string().contains("it is lost"), "{rows}");
    // A writer that goes on where it was before the cut leaves a hole.
    let file = OpenOptions::new().write(true).open(&path).expect("it is there");
    let size = file.metadata().expect("it is there").len();
    file.set_len(0).expect("it can be cut");
    server.when(&id, "the cut", |live| live["session"]["follow"]["truncations"] == 2);
    file.write_all_at(b"{\"n\":8}\n", size).expect("room");
    append(&path, events(0, 1));
    assert_eq!(when_lines(&server, &id, 3_014, 3), state(2, 1, false));
    ends_in_time(server);
}

#[test]
fn a_followed_table_that_is_cancelled_has_the_lines_that_came() {
    let folder = TestFolder::new();
    let path = folder.file("app.ndjson", events(0, 100));
    let (server, id) = follow(&path, &[]);
    when_lines(&server, &id, 100, 0);
    append(&path, events(100, 150));
    let size = std::fs::metadata(&path).expect("it is there").len();
    server.when(&id, "the bytes", |live| live["session"]["offset"] == size);
    assert_eq!(server.request("POST", &format!("/api/sessions/{id}/cancel"), b"").status, 200);
    server.when_state(&id, "cancelled");
    assert_eq!(matching(&server, &id, ""), 250);
    // Another kind of file with its name.
    let (server, id) = follow(&path, &[]);
    when_lines(&server, &id, 250, 0);
    std::fs::write(folder.at("new"), gzip(events(0, 9).as_bytes())).expect("room");
    append(folder.at("new"), "\n");
    std::fs::rename(folder.at("new"), &path).expect("it is there");
    let live = server.when_state(&id, "failed");
    assert!(live["session"]["error"].to_string().contains("of which only whole files are read"), "{live}");
    assert_eq!(matching(&server, &id, ""), 250);
}

#[test]
fn a_table_of_no_lines_is_not_followed_and_a_log_beside_one_is() {
    let folder = TestFolder::new();
    let csv = folder.file("a.csv", "a,b\n1,2\n3,4\n");
    let said = rorqual(&["serve", "--port", "0", "--follow", &csv]).run().exits(2);
    said.says(&["only JSON lines can be followed: leave out --follow"]);
    let (log, app) = (folder.file("a.log", log(10)), folder.file("app.ndjson", events(0, 20)));
    let (server, _) = follow(&app, &[&log]);
    let names = || {
        let sessions = server.get("/api/sessions").json()["sessions"].clone();
        let one = |session: &Value| (session["state"].clone(), session["name"].clone());
        sessions.as_array().expect("a list").iter().map(one).collect::<Vec<_>>()
    };
    eventually("both", || names().iter().all(|(state, _)| state == "following").then_some(()));
    assert_eq!(names().len(), 2);
    ends_in_time(server);
}

/// A writer appends all the time, as applications do.
#[test]
fn a_table_that_grows_while_it_is_read_has_the_lines_that_it_had() {
    let folder = TestFolder::new();
    let path = folder.file("app.ndjson", events(0, 200_000));
    let is_over = AtomicBool::new(false);
    let reached = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                append(&path, events(0, 100));
            }
        });
        let server = Server::start(&["--no-cache", &path]);
        let id = server.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned();
        let live =
            server.when(&id, "the end", |live| ["finished", "failed"].iter().any(|state| live["session"]["state"] == *state));
        is_over.store(true, Ordering::Relaxed);
        live
    });
    assert_eq!(reached["session"]["state"], "finished", "{}", reached["session"]["error"]);
    let lines = reached["report"]["lines"]["parsed"].as_u64().expect("a count");
    assert!(lines >= 200_000 && reached["report"]["lines"]["rejected"].as_u64().is_some_and(|lines| lines <= 1), "{lines}");
}

/// It is read twice, as its last line has a key that its start has not; between the two it grows.
#[test]
fn a_table_that_grew_before_its_second_reading_is_whole() {
    let folder = TestFolder::new();
    let path = folder.file("app.ndjson", events(0, 200_000) + "{\"late\":1}\n");
    let server = Server::start(&["--no-cache", "--limit-rate", "8MiB", &path]);
    let id = server.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned();
    server.when(&id, "some rows", |live| live["session"]["offset"].as_u64() > Some(0));
    append(&path, events(0, 1));
    let live = server.when(&id, "the end", |live| ["finished", "failed"].iter().any(|state| live["session"]["state"] == *state));
    assert_eq!((&live["session"]["state"], &live["report"]["lines"]["parsed"]), (&json!("finished"), &json!(200_002)));
    assert_eq!(matching(&server, &id, "late = 1"), 1);
}

/// The file that lost its name is read to its end, with all its columns.
#[test]
fn a_table_that_is_renamed_before_its_second_reading_is_followed() {
    let folder = TestFolder::new();
    let path = folder.file("app.ndjson", events(0, 100_000) + "{\"late\":1}\n");
    let (server, id) = follow(&path, &["--limit-rate", "8MiB"]);
    server.when(&id, "some rows", |live| live["session"]["offset"].as_u64() > Some(0));
    std::fs::rename(&path, folder.at("app.ndjson.1")).expect("it is there");
    append(&path, events(0, 5));
    assert_eq!(when_lines(&server, &id, 100_006, 0), state(0, 1, false));
    assert_eq!(matching(&server, &id, "late = 1"), 1);
    ends_in_time(server);
}

/// A record with texts that no other has.
fn message(n: usize) -> String {
    let id = (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    format!("{{\"n\":{n},\"id\":\"{id:016x}\",\"level\":\"l{}\",\"text\":\"message {n} of {id:x}\"}}\n", n % 5)
}

/// Lines that are appended, far above the memory.
#[test]
fn a_followed_table_stays_within_little_memory() {
    const ROWS: usize = 1_500_000;
    let folder = TestFolder::new();
    let path = folder.file("app.ndjson", message(0));
    let (server, id) = follow(&path, &["--memory", "320MiB", "--sessions", "1"]);
    for start in (1..ROWS).step_by(ROWS / 10) {
        append(&path, (start..ROWS.min(start + ROWS / 10)).map(message).collect::<String>());
    }
    when_lines(&server, &id, ROWS as u64, 0);
    assert_eq!(matching(&server, &id, "level = l3 and n < 600000"), 120_000);
    assert_eq!(matching(&server, &id, "text contains \"message 1499999 of\""), 1);
    server.within(320 * MIB);
    ends_in_time(server);
}

/// The same of a table that is piped in: its text is far above the share that its rows have.
#[test]
fn a_piped_table_stays_within_its_memory() {
    const ROWS: usize = 4_500_000;
    let rows: String = (0..ROWS).map(message).collect();
    assert!(rows.len() as u64 > 3 * 512 * MIB / 4);
    let args = ["serve", "--port", "0", "--memory", "512MiB", "--sessions", "1", "-"];
    let server = Server::start_as(rorqual(&args).stdin(rows));
    let id = server.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned();
    server.when_state(&id, "finished");
    assert_eq!(matching(&server, &id, "level = l3 and n < 600000"), 120_000);
    assert_eq!(matching(&server, &id, "text contains \"message 4499999 of\""), 1);
    server.within(512 * MIB);
}

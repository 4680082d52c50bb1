//! Several files as one log: the sums are those of the files by themselves and of all of them in
//! one, whichever way they come.

use crate::client::Server;
use crate::common::{MIB, TestFolder, Truth, eventually, hits_of, line, log, panel, rorqual};
use crate::export::{Download, target};
use rorqual_testkit::generate::{AccessLog, write_lines};
use rorqual_testkit::paths::gzip;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

/// Lines of [`log`] from `from` on, before `to`.
fn lines(from: u64, to: u64) -> Vec<u8> {
    (from..to).flat_map(|number| (line(number) + "\n").into_bytes()).collect()
}

fn only(server: &Server) -> Value {
    let sessions = server.get("/api/sessions").json()["sessions"].take();
    assert_eq!(sessions.as_array().map(Vec::len), Some(1), "{sessions}");
    sessions[0].clone()
}

fn id(session: &Value) -> &str {
    session["id"].as_str().expect("an id")
}

fn ask(server: &Server, id: &str, what: &str, question: &Value) -> Value {
    let answer = server.request("POST", &format!("/api/sessions/{id}/{what}"), question.to_string().as_bytes());
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn hits(expected: &[(&str, u64)]) -> BTreeMap<String, u64> {
    expected.iter().map(|(name, hits)| ((*name).to_owned(), *hits)).collect()
}

/// Three files of one name in folders, of which the middle part is compressed and the newest is
/// named first; the log that they are together.
fn rotated(folder: &TestFolder) -> ([String; 3], Vec<u8>) {
    for name in ["a", "b", "c"] {
        std::fs::create_dir(folder.text(name)).expect("there is none");
    }
    let newest = [&lines(5_000, 6_000)[..], b"no line\n"].concat();
    let newest = folder.file("a/access.log", newest);
    let middle = folder.file("b/access.log", gzip(&lines(2_000, 5_000)));
    let oldest = folder.file("c/access.log", log(2_000));
    ([newest, middle, oldest], log(6_000))
}

/// Checks the session of [`rotated`] files under the names.
fn check(server: &Server, live: &Value, names: [&str; 3], log: &[u8]) {
    let [newest, middle, oldest] = names;
    let (session, report) = (&live["session"], &live["report"]);
    Truth::of(log).check(report);
    assert_eq!((&report["complete"], &report["lines"]["rejected"]), (&json!(true), &json!(1)));
    assert_eq!(session["files"], json!({"count": 3, "read": 3, "failed": 0, "current": null}));
    let sources = report["sources"].as_array().expect("sources");
    let of = |source: &Value| (source["name"].as_str().unwrap_or_default().to_owned(), source["lines"].as_u64().unwrap_or(0));
    let listed: Vec<_> = sources.iter().map(of).collect();
    let expected = [(oldest, 2_000), (middle, 3_000), (newest, 1_001)].map(|(name, lines)| (name.to_owned(), lines));
    assert_eq!(listed, expected, "the oldest first");
    let reject = &report["rejects"]["samples"][0];
    assert_eq!((&reject["source"], &reject["line"]), (&json!(newest), &json!(1_001)));
    let id = id(session);
    let view = ask(server, id, "view", &json!({}));
    let files = hits_of(&panel(&view, "file")["rows"]);
    assert_eq!(files, hits(&[(newest, 1_001), (middle, 3_000), (oldest, 2_000)]));
    assert_eq!(view["time"]["first"], 1_735_776_000.0, "the time line is over all");
    let filtered = ask(server, id, "view", &json!({"where": format!("file = \"{middle}\" and status = 404")}));
    assert_eq!(filtered["lines"]["matching"], 1_000);
    let rejected = ask(server, id, "rows", &json!({"where": format!("rejected and file = \"{newest}\"")}));
    assert_eq!((&rejected["matching"], &rejected["rows"][0]["file"]), (&json!(1), &json!(newest)));
    let none = ask(server, id, "view", &json!({"where": format!("any contains \"{middle}\"")}));
    assert_eq!(none["lines"]["matching"], 0, "a file is no text of a line");
    // All rows in the order of time, each with its file.
    let rows = ask(server, id, "rows", &json!({"offset": 1_999, "limit": 2}));
    let row = |number: usize| (rows["rows"][number]["file"].clone(), rows["rows"][number]["line"].clone());
    assert_eq!(row(0), (json!(oldest), json!(line(1_999))));
    assert_eq!(row(1), (json!(middle), json!(line(2_000))));
    let csv = Download::begin(server, &target(id, "export", &[("format", "csv"), ("where", "status = 404 or rejected")])).text();
    let mut csv = csv.lines();
    assert!(csv.next().is_some_and(|head| head.ends_with(",file,flaw,line")));
    assert_eq!(csv.filter(|line| line.contains(middle)).count(), 1_000);
}

#[test]
fn files_of_the_command_line_are_one_log() {
    let folder = TestFolder::new();
    let (files, log) = rotated(&folder);
    let names = [&*files[0], &files[1], &files[2]];
    let server = Server::start(&names);
    let session = only(&server);
    assert_eq!(session["name"], format!("{} and 2 more", files[0]));
    check(&server, &server.when_state(id(&session), "finished"), names, &log);
    // The other way, as before.
    let server = Server::start(&[&["--separate"][..], &names].concat());
    let sessions = server.get("/api/sessions").json()["sessions"].take();
    let sessions = sessions.as_array().expect("sessions");
    assert_eq!(sessions.len(), 3);
    for session in sessions {
        let live = server.when_state(id(session), "finished");
        assert_eq!(live["session"]["files"], Value::Null);
        assert!(live["report"]["panels"].as_array().expect("panels").iter().all(|panel| panel["field"] != "file"));
    }
}

/// The files of [`rotated`] in a folder, with what is no file of it; the folder.
fn filled(folder: &TestFolder) -> String {
    let logs = folder.text("logs");
    std::fs::create_dir(&logs).expect("there is none");
    for name in ["a", "b", "c"] {
        std::fs::rename(folder.text(name), folder.text(&format!("logs/{name}"))).expect("it is there");
    }
    std::fs::create_dir(folder.text("logs/.git")).expect("there is none");
    for hidden in ["logs/.access.log.swp", "logs/.git/access.log"] {
        folder.file(hidden, log(10));
    }
    // A link to a file is read as that file; one to a folder is not followed.
    std::fs::rename(folder.text("logs/b/access.log"), folder.text("elsewhere.log")).expect("it is there");
    symlink(folder.text("elsewhere.log"), folder.text("logs/b/access.log")).expect("a link");
    symlink(&logs, folder.text("logs/c/up")).expect("a link");
    let fifo = Command::new("mkfifo").arg(folder.text("logs/c/fifo")).status().expect("mkfifo");
    assert!(fifo.success());
    logs
}

#[test]
fn a_folder_is_read_as_its_files() {
    let folder = TestFolder::new();
    let (_, log) = rotated(&folder);
    let logs = filled(&folder);
    let files = ["a", "b", "c"].map(|name| format!("{logs}/{name}/access.log"));
    let names = [&*files[0], &files[1], &files[2]];
    let server = Server::start(&[&logs]);
    let session = only(&server);
    assert_eq!(session["name"], format!("{} and 2 more", files[0]));
    check(&server, &server.when_state(id(&session), "finished"), names, &log);
    let report = rorqual(&["logs", "--json", &logs]).run().exits(0).json();
    Truth::of(&log).check(&report);
    let expected = hits(&[(names[0], 1_001), (names[1], 3_000), (names[2], 2_000)]);
    assert_eq!(hits_of(&panel(&report, "file")["rows"]), expected);
    // Links to folders and FIFOs are no files, which is said; one that is called `-` is.
    let ran = rorqual(&["logs", "--json", &logs]).run().exits(0);
    ran.says(&[
        "2 entries are left out, as they are no regular files, or links to files that are read already; the first is ",
        "/logs/c/fifo",
    ]);
    symlink(&files[0], folder.text("logs/link.log")).expect("a link");
    let again = rorqual(&["logs", "--json", &logs]).run().exits(0);
    again.says(&["3 entries are left out"]);
    assert_eq!(again.json()["lines"]["parsed"], report["lines"]["parsed"]);
    let dash = folder.text("dash");
    std::fs::create_dir(&dash).expect("there is none");
    folder.file("dash/-", super::common::log(7));
    let script = format!("cd {dash} && exec \"$0\" logs --json .");
    let ran = rorqual_testkit::process::ProcessRun::new("bash").args(["-c", &script, crate::common::PROGRAM]).run().exits(0);
    assert_eq!(ran.json()["lines"]["parsed"], 7);
}

#[test]
fn a_folder_that_can_not_be_read_as_its_files_is_told() {
    let folder = TestFolder::new();
    let (empty, many, good) = (folder.text("empty"), folder.text("many"), folder.file("good.log", log(10)));
    std::fs::create_dir(&empty).expect("there is none");
    std::fs::create_dir(&many).expect("there is none");
    folder.file("empty/.hidden", log(10));
    (0..300).for_each(|number| drop(folder.file(&format!("many/{number:03}.log"), lines(number, number + 1))));
    let without = [&*empty, "without files", "hidden"];
    rorqual(&["logs", &empty]).run().exits(2).says(&without);
    rorqual(&["serve", "--port", "0", &empty]).run().exits(2).says(&without);
    // The others are read all the same.
    let ran = rorqual(&["logs", "--json", &good, &empty]).run().exits(2);
    ran.says(&without);
    assert_eq!((&ran.json()["lines"]["parsed"], &ran.json()["complete"]), (&json!(10), &json!(false)));
    assert_eq!(rorqual(&["logs", "--json", &many]).run().exits(0).json()["lines"]["parsed"], 300);
    folder.file("many/300.log", log(1));
    for verb in [&["logs"][..], &["serve", "--port", "0"]] {
        rorqual(&[verb, &[&many]].concat())
            .run()
            .exits(2)
            .says(&[&many, "has more than 300 files, the most that all folders of a command may have"]);
    }
}

#[test]
fn uploaded_files_are_one_log_however_they_are_cut() {
    let folder = TestFolder::new();
    let (files, log) = rotated(&folder);
    let read = |name: &String| std::fs::read(name).expect("it is there");
    let (newest, middle, oldest) = (read(&files[0]), read(&files[1]), read(&files[2]));
    let parts = [("c.log", &oldest), ("b.log.gz", &middle), ("empty.log", &Vec::new()), ("a.log", &newest)];
    let list: Vec<Value> = parts.iter().map(|(name, bytes)| json!({"name": name, "size": bytes.len()})).collect();
    let body: Vec<u8> = parts.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    let ends = [oldest.len(), oldest.len() + middle.len()];
    // In one piece, in pieces that end within files, and in pieces that end with them.
    for cuts in [vec![], vec![1, 300_000.min(ends[0] - 1), ends[0] + 7, body.len() - 3], vec![ends[0], ends[1]]] {
        let server = Server::start(&[]);
        let session = server.session(&json!({"files": list}));
        let mut from = 0;
        for to in cuts.iter().copied().chain([body.len()]) {
            let answer = server.put(&session, from, &body[from..to]);
            assert_eq!(answer.status, 200, "{answer:?}");
            from = to;
        }
        let live = server.when_state(&session, "finished");
        assert_eq!(live["session"]["name"], "c.log and 3 more");
        let report = &live["report"];
        Truth::of(&log).check(report);
        let view = ask(&server, &session, "view", &json!({}));
        let expected = hits(&[("a.log", 1_001), ("b.log.gz", 3_000), ("c.log", 2_000)]);
        assert_eq!(hits_of(&panel(&view, "file")["rows"]), expected, "{cuts:?}");
        assert_eq!(report["sources"].as_array().map(Vec::len), Some(4));
        let reject = &report["rejects"]["samples"][0];
        assert_eq!((&reject["source"], &reject["line"]), (&json!("a.log"), &json!(1_001)));
    }
}

#[test]
fn what_is_wrong_with_one_file_is_said_and_the_others_stay() {
    let folder = TestFolder::new();
    let good = folder.file("good.log", log(3_000));
    let mut damaged = gzip(&lines(3_000, 6_000));
    let length = damaged.len();
    damaged.truncate(length / 2);
    let cut = folder.file("cut.log.gz", &damaged);
    let poem = folder.file("poem.txt", "Call me Ishmael.\nSome years ago\n");
    let server = Server::start(&[&good, &cut, &poem]);
    let live = server.when_state(id(&only(&server)), "failed");
    let error = &live["session"]["error"];
    let message = error["message"].as_str().expect("a message");
    assert_eq!(error["code"], "bad_input");
    assert!(message.starts_with("2 of 3 files could not be read to the end"), "{message}");
    assert!([&cut, &poem].iter().all(|name| message.contains(&***name)) && !message.contains(&good), "{message}");
    let report = &live["report"];
    assert_eq!(report["complete"], false);
    let sources = report["sources"].as_array().expect("sources");
    let failed = sources.iter().filter(|source| source["error"].is_string()).count();
    assert_eq!((sources.len(), failed), (3, 2));
    let view = ask(&server, id(&live["session"]), "view", &json!({"where": format!("file = \"{good}\"")}));
    assert_eq!(view["lines"]["matching"], 3_000);
    // By an upload, too: the rest of a damaged file is passed over.
    let parts = [
        ("good.log", log(3_000)),
        ("cut.log.gz", [&damaged[..], &vec![b'x'; 700_000]].concat()),
        ("more.log", lines(3_000, 4_000)),
    ];
    let list: Vec<Value> = parts.iter().map(|(name, bytes)| json!({"name": name, "size": bytes.len()})).collect();
    let body: Vec<u8> = parts.iter().flat_map(|(_, bytes)| bytes.iter().copied()).collect();
    let session = server.session(&json!({"files": list, "name": "all"}));
    server.put(&session, 0, &body).refused(422, "bad_input");
    let live = server.live(&session);
    assert_eq!((&live["session"]["name"], &live["session"]["files"]["failed"]), (&json!("all"), &json!(1)));
    let view = ask(&server, &session, "view", &json!({}));
    let files = hits_of(&panel(&view, "file")["rows"]);
    assert_eq!((files.get("good.log"), files.get("more.log")), (Some(&3_000), Some(&1_000)));
    // A log of nothing that is known is what its first file is.
    let server = Server::start(&[&poem, &folder.file("other.txt", "It is a way I have\nof driving off the spleen\n")]);
    let live = server.when_state(id(&only(&server)), "failed");
    assert_eq!(live["session"]["error"]["code"], "unknown_format");
}

#[test]
fn each_file_has_its_own_format() {
    let folder = TestFolder::new();
    let plain = folder.file("plain.log", log(100));
    let host = |number: u64| format!("www.example.com:443 {}\n", line(number));
    let hosts = folder.file("hosts.log", (100..300).map(host).collect::<String>());
    let json = |number: u64| {
        format!(
            "{{\"time\":\"2025-01-02T00:{:02}:{:02}Z\",\"remote_addr\":\"10.0.0.9\",\"request\":\"GET /j HTTP/1.1\",\"status\":200,\"body_bytes_sent\":5,\"upstream_cache_status\":\"HIT\"}}\n",
            number / 60 % 60,
            number % 60
        )
    };
    let objects = folder.file("objects.log", (300..350).map(json).collect::<String>());
    let table = folder.file("rows.csv", "a,b\n1,2\n");
    let server = Server::start(&["--sessions", "3", &plain, &table, &hosts, &objects]);
    let sessions = server.get("/api/sessions").json()["sessions"].take();
    let sessions = sessions.as_array().expect("sessions");
    assert_eq!(sessions.len(), 2, "a table is by itself");
    let log = sessions.iter().find(|session| session["files"]["count"] == 3).expect("the logs are one");
    let live = server.when_state(id(log), "finished");
    let formats = live["report"]["sources"].as_array().expect("sources").iter().map(|source| source["format"].clone());
    let formats: Vec<Value> = formats.collect();
    assert_eq!(formats[..2], [json!("combined"), json!("vhost_combined")]);
    assert_eq!(live["report"]["lines"]["parsed"], 350);
    let id = id(log);
    let view = ask(&server, id, "view", &json!({"where": "$upstream_cache_status = HIT"}));
    assert_eq!(view["lines"]["matching"], 50, "columns of a later file");
    let rows = ask(&server, id, "rows", &json!({"where": "host exists", "limit": 1}));
    assert_eq!(rows["rows"][0]["line"], host(100).trim_end(), "a line is rebuilt in the format of its file");
    let csv = Download::begin(&server, &target(id, "export", &[("format", "csv")])).text();
    let head: Vec<&str> = csv.lines().next().expect("a head").split(',').collect();
    assert!(["host", "upstream_cache_status", "file"].iter().all(|name| head.contains(name)), "{head:?}");
    assert_eq!(csv.lines().count(), 351);
}

#[test]
fn a_list_of_files_that_is_none_is_refused() {
    let server = Server::start(&[]);
    let file = |name: &str, size: u64| json!({"name": name, "size": size});
    for (files, said) in [
        (json!([]), "1 to 300 files"),
        (json!([file("a", 1), file("a", 2)]), "a is there twice"),
        (json!([file("", 1)]), "1 to 1024 bytes"),
        (json!([file("a", u64::MAX), file("b", 1)]), "2^64"),
        (json!((0..301).map(|number| file(&number.to_string(), 1)).collect::<Vec<_>>()), "1 to 300 files"),
        (json!((0..100).map(|number| file(&format!("{number:01000}"), 1)).collect::<Vec<_>>()), "names together"),
    ] {
        let answer = server.request("POST", "/api/sessions", json!({"files": files}).to_string().as_bytes());
        let error = answer.refused(400, "bad_request");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(said)), "{error}");
    }
    let other = json!({"files": [file("a", 1)], "size": 2}).to_string();
    server.request("POST", "/api/sessions", other.as_bytes()).refused(400, "bad_request");
}

#[test]
fn files_of_a_session_outlive_the_server() {
    let folder = TestFolder::new();
    let state = folder.text("state");
    let list = json!([{"name": "one", "size": log(500).len()}, {"name": "two", "size": lines(500, 800).len()}]);
    let server = Server::start(&["--state", &state]);
    let finished = server.session(&json!({"files": list}));
    assert_eq!(server.put(&finished, 0, &log(800)).status, 200);
    let before = server.when(&finished, "it is on the disk", |live| live["session"]["kept"] == true);
    let waiting = server.session(&json!({"files": list}));
    server.when(&waiting, "it is on the disk", |live| live["session"]["kept"] == true);
    server.running.interrupt();
    let _ = server.running.wait().exits(0);
    let server = Server::start(&["--state", &state]);
    let after = server.live(&finished);
    assert_eq!(after["session"]["files"], before["session"]["files"]);
    assert_eq!(after["report"]["sources"], before["report"]["sources"]);
    let view = ask(&server, &finished, "view", &json!({}));
    assert_eq!(hits_of(&panel(&view, "file")["rows"]), hits(&[("one", 500), ("two", 300)]));
    // One that had not begun takes its files as it was told them.
    assert_eq!(server.put(&waiting, 0, &log(800)).status, 200);
    let view = ask(&server, &waiting, "view", &json!({}));
    assert_eq!(hits_of(&panel(&view, "file")["rows"]), hits(&[("one", 500), ("two", 300)]));
}

#[test]
fn many_files_far_above_the_memory_are_within_it() {
    const BYTES: u64 = 48 * MIB;
    const FILES: usize = 12;
    let folder = TestFolder::new();
    let mut written = 0;
    let files: Vec<String> = (0..FILES)
        .map(|number| {
            let mut bytes = Vec::new();
            written += write_lines(&mut AccessLog::of_bytes(BYTES), BYTES, &mut bytes).expect("memory takes it").lines;
            let bytes = if number % 2 == 0 { gzip(&bytes) } else { bytes };
            folder.file(&format!("access.log.{number}"), bytes)
        })
        .collect();
    let names: Vec<&str> = files.iter().map(String::as_str).collect();
    let (server, memory_bytes) = Server::tight(&[&["--sessions", "1", "--threads", "2"][..], &names].concat());
    assert!(memory_bytes < FILES as u64 * BYTES / 2, "{memory_bytes}");
    let live = server.when_state(id(&only(&server)), "finished");
    assert_eq!(live["report"]["lines"]["parsed"], written);
    let view = ask(&server, id(&live["session"]), "view", &json!({}));
    let files = panel(&view, "file");
    assert_eq!((&files["distinct"]["count"], &files["hits"]), (&json!(FILES), &json!(written)));
    server.within(memory_bytes);
}

#[test]
fn followed_files_and_streams_are_one_log() {
    let folder = TestFolder::new();
    let (one, two) = (folder.file("one.log", log(2_000)), folder.file("two.log", lines(2_000, 2_100)));
    let fifo = folder.text("three.fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let server = Server::start(&["--follow", &one, &two, &fifo]);
    let session = only(&server);
    let id = id(&session);
    let names = [&*one, &two, &fifo];
    let count = |wanted: [u64; 3]| {
        let rows = eventually("the lines", || {
            // Before the first line there are no rows to ask (409).
            let view = server.request("POST", &format!("/api/sessions/{id}/view"), b"{}");
            let view = (view.status == 200).then(|| view.json())?;
            let panels = view["panels"].as_array()?;
            let rows = hits_of(&panels.iter().find(|panel| panel["field"] == "file")?["rows"]);
            (rows.values().sum::<u64>() == wanted.iter().sum::<u64>()).then_some(rows)
        });
        assert_eq!(names.map(|name| rows.get(name).copied().unwrap_or(0)), wanted);
    };
    count([2_000, 100, 0]);
    assert_eq!(server.live(id)["session"]["state"], "following");
    let append = |path: &str, bytes: &[u8]| {
        let mut file = OpenOptions::new().append(true).create(true).open(path).expect("it can be written");
        file.write_all(bytes).expect("room on the disk");
    };
    let mut stream = OpenOptions::new().write(true).open(&fifo).expect("the server reads it");
    stream.write_all(&lines(2_100, 2_103)).expect("it is read");
    count([2_000, 100, 3]);
    // A line of each, one after another, is so in the table; half a line waits.
    append(&two, &lines(2_103, 2_104));
    count([2_000, 101, 3]);
    append(&one, &lines(2_104, 2_105));
    count([2_001, 101, 3]);
    let half = lines(2_105, 2_106);
    stream.write_all(&half[..40]).expect("it is read");
    append(&two, &lines(2_106, 2_107));
    count([2_001, 102, 3]);
    stream.write_all(&half[40..]).expect("it is read");
    count([2_001, 102, 4]);
    let rows = ask(&server, id, "rows", &json!({"offset": 2_103, "limit": 10}));
    let files: Vec<&str> = rows["rows"].as_array().expect("rows").iter().filter_map(|row| row["file"].as_str()).collect();
    assert_eq!(files, [&*two, &one, &two, &fifo]);
    // One is rotated, and the writer of another ends.
    std::fs::rename(&two, folder.at("two.log.1")).expect("it is there");
    append(&two, &lines(2_107, 2_109));
    count([2_001, 104, 4]);
    drop(stream);
    append(&one, &lines(2_109, 2_110));
    count([2_002, 104, 4]);
    let live = server.when(id, "the report", |live| live["report"]["lines"]["parsed"] == 2_110);
    assert_eq!(live["session"]["follow"]["rotations"], 1);
    let sources = live["report"]["sources"].as_array().expect("sources");
    let lines: Vec<u64> = sources.iter().filter_map(|source| source["lines"].as_u64()).collect();
    assert_eq!(lines, [2_002, 104, 4]);
    server.running.interrupt();
    drop(server.running.wait().exits(0));
}

#[test]
fn a_file_that_is_named_twice_is_told() {
    let folder = TestFolder::new();
    let (one, two) = (folder.file("one.log", log(3)), folder.file("two.log", log(2)));
    let ran = rorqual(&["logs", "--json", &one, &two, &one]).run().exits(0);
    assert_eq!(ran.json()["lines"]["parsed"], 8);
    ran.says(&[&format!("{one}: is named more than once, and its lines count as often")]);
    assert!(!ran.stderr.contains(&two), "{}", ran.stderr);
}

#[test]
fn a_stream_that_never_rests_lets_the_others_be_read() {
    let folder = TestFolder::new();
    let (fifo, file) = (folder.text("busy.fifo"), folder.file("calm.log", log(10)));
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    let server = Server::start(&["--follow", &fifo, &file]);
    let session = only(&server);
    let id = id(&session);
    // It writes as fast as it is read, until the server has gone.
    let mut stream = OpenOptions::new().write(true).open(&fifo).expect("the server reads it");
    let busy = lines(100, 5_000);
    let writer = std::thread::spawn(move || while stream.write_all(&busy).is_ok() {});
    let of_file = |wanted: u64| {
        server.when(id, "the lines of the calm one", |live| {
            let sources = live["report"]["sources"].as_array();
            sources.is_some_and(|sources| sources[0]["lines"].as_u64() > Some(5_000) && sources[1]["lines"] == wanted)
        });
    };
    of_file(10);
    let mut calm = OpenOptions::new().append(true).open(&file).expect("it is there");
    calm.write_all(&lines(10, 13)).expect("room on the disk");
    of_file(13);
    server.running.interrupt();
    drop(server.running.wait().exits(0));
    writer.join().expect("its stream was closed");
}

#[test]
fn many_followed_files_are_within_the_memory() {
    const FILES: u64 = 120;
    let folder = TestFolder::new();
    let paths: Vec<String> = (0..FILES).map(|number| folder.file(&format!("{number}.log"), log(10 + number))).collect();
    let args: Vec<&str> =
        ["--sessions", "1", "--threads", "1", "--follow"].into_iter().chain(paths.iter().map(String::as_str)).collect();
    let (server, memory_bytes) = Server::tight(&args);
    // The start of a line of each, which is held.
    for path in &paths {
        let mut file = OpenOptions::new().append(true).open(path).expect("it is there");
        file.write_all(&[&lines(0, 1)[..], &vec![b'x'; 200_000]].concat()).expect("room on the disk");
    }
    let id = only(&server)["id"].as_str().expect("an id").to_owned();
    let all = (0..FILES).map(|number| 11 + number).sum::<u64>();
    let live = server.when(&id, "all lines", |live| live["report"]["lines"]["parsed"] == all);
    let sources = live["report"]["sources"].as_array().expect("sources");
    assert_eq!((sources.len(), &sources[99]["name"]), (100, &json!("21 more files")));
    assert_eq!(sources.iter().filter_map(|source| source["lines"].as_u64()).sum::<u64>(), all);
    server.within(memory_bytes);
}

#[test]
fn logs_tells_files_apart() {
    let folder = TestFolder::new();
    let (files, log) = rotated(&folder);
    let args = [&["logs", "--json"][..], &[&*files[0], &files[1], &files[2]]].concat();
    let report = rorqual(&args).run().exits(0).json();
    Truth::of(&log).check(&report);
    let expected = hits(&[(&*files[0], 1_001), (&*files[1], 3_000), (&*files[2], 2_000)]);
    assert_eq!(hits_of(&panel(&report, "file")["rows"]), expected);
    let filter = format!("file = \"{}\" and status = 404", files[1]);
    let filtered = rorqual(&args).args(["--where", &filter]).run().exits(0).json();
    assert_eq!(filtered["lines"]["parsed"], 1_000);
    assert_eq!(hits_of(&panel(&filtered, "file")["rows"]), hits(&[(&*files[1], 1_000)]));
    let metrics = rorqual(&args).args(["--by", "file", "--show", "hits"]).run().exits(0).json();
    let values = metrics["answer"]["values"].as_array().expect("values");
    let hits: BTreeMap<String, u64> = values
        .iter()
        .map(|value| (value["value"].as_str().expect("a text").to_owned(), value["hits"].as_u64().expect("hits")))
        .collect();
    assert_eq!(hits, expected);
    // Of one file there is nothing to tell.
    let one = rorqual(&["logs", "--json", &files[2]]).time_max(Duration::from_secs(60)).run().exits(0).json();
    assert!(one["panels"].as_array().expect("panels").iter().all(|panel| panel["field"] != "file"));
}

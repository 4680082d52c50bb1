//! `rorqual serve --state`: uploads that outlive their server.

use crate::client::Server;
use crate::common::{MIB, TestFolder, Truth, eventually, log, rorqual};
use rorqual_testkit::paths::gzip;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The present checkpoint of a session.
fn kept(folder: &TestFolder, id: &str) -> Option<Value> {
    let bytes = std::fs::read(folder.at(&format!("{id}.session"))).ok()?;
    let line = bytes.split(|byte| *byte == b'\n').nth(1)?;
    serde_json::from_slice(line).ok()
}

fn when_kept(folder: &TestFolder, id: &str, what: &str, ready: impl Fn(&Value) -> bool) -> Value {
    eventually(what, || kept(folder, id).filter(|kept| ready(kept)))
}

/// The parts of a report that depend on the log alone.
fn comparable(mut report: Value) -> Value {
    report["stats"].take();
    report
}

fn listed(server: &Server) -> Vec<Value> {
    server.get("/api/sessions").json()["sessions"].as_array().expect("a list").clone()
}

fn whole(body: &[u8]) -> Value {
    let server = Server::start(&[]);
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, body).status, 200);
    comparable(server.live(&id)["report"].clone())
}

#[test]
fn an_upload_goes_on_where_it_was_kept_after_its_server_was_killed() {
    let folder = TestFolder::new();
    let state = folder.text("");
    let mut body = log(60_000);
    body.splice(1_000_000..1_000_000, b"no line of a log\n".iter().copied());
    let expected = whole(&body);
    let cuts = [body.len() / 3, body.len() / 2 + 7];
    let mut server = Server::start(&["--state", &state]);
    let id = server.session_of(body.len());
    let mut offset = 0;
    for cut in cuts {
        assert_eq!(server.put(&id, offset, &body[offset..cut]).status, 200);
        // An unfinished line comes again.
        let start = body[..cut].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        when_kept(&folder, &id, "its checkpoint", |kept| kept["offset"] == start);
        server.running.kill();
        drop(server.running.wait());
        server = Server::start(&["--state", &state]);
        let session = &listed(&server)[0];
        assert_eq!((&session["id"], &session["offset"]), (&id.as_str().into(), &start.into()));
        assert_eq!((&session["state"], &session["size"]), (&"interrupted".into(), &body.len().into()));
        let wrong = server.put(&id, cut + 1, b"x").refused(409, "offset_mismatch");
        assert_eq!(wrong["offset"], start);
        offset = start;
    }
    assert_eq!(server.put(&id, offset, &body[offset..]).status, 200);
    assert_eq!(comparable(server.live(&id)["report"].clone()), expected);
    // An ended session is kept as well, with its rows.
    let ask = |server: &Server| {
        server.request("POST", &format!("/api/sessions/{id}/rows"), b"{\"offset\":59990}").json()["rows"].clone()
    };
    let rows = ask(&server);
    assert_eq!(rows.as_array().map(Vec::len), Some(11));
    server.running.kill();
    drop(server.running.wait());
    let server = Server::start(&["--state", &state]);
    let live = server.live(&id);
    assert_eq!(live["session"]["state"], "finished");
    assert_eq!(comparable(live["report"].clone()), expected);
    assert_eq!(ask(&server), rows);
    // And forgotten with it.
    assert_eq!(server.request("DELETE", &format!("/api/sessions/{id}"), b"").status, 204);
    assert_eq!(folder.names(), ["lock"]);
}

#[test]
fn a_server_that_is_asked_to_end_keeps_what_is_open() {
    let folder = TestFolder::new();
    let state = folder.text("");
    let server = Server::start(&["--state", &state, "--grace", "1"]);
    let body = log(20_000);
    let (waiting, running) = (server.session_of(body.len()), server.session_of(body.len()));
    assert_eq!(server.put(&waiting, 0, &body[..500_000]).status, 200);
    let mut stream = server.begin_put(&running, 0, body.len() as u64);
    std::io::Write::write_all(&mut stream, &body[..700_000]).expect("it listens");
    server.when(&running, "its bytes", |live| live["session"]["offset"] == 700_000);
    server.running.terminate();
    drop(server.running.wait());
    let server = Server::start(&["--state", &state]);
    for (id, sent) in [(&waiting, 500_000), (&running, 700_000)] {
        let offset = server.live(id)["session"]["offset"].as_u64().expect("an offset") as usize;
        assert!(offset <= sent && offset + 1_000 > sent, "{offset} of {sent}");
        assert_eq!(server.put(id, offset, &body[offset..]).status, 200);
        Truth::of(&body).check(&server.live(id)["report"]);
    }
}

#[test]
fn a_compressed_log_begins_anew_and_what_a_client_said_of_it_stays() {
    let folder = TestFolder::new();
    let state = folder.text("");
    let body = log(20_000);
    let packed = gzip(&body);
    let server = Server::start(&["--state", &state]);
    let id = server.session(&json!({"name": "packed.gz", "size": packed.len(), "fingerprint": "abc"}));
    assert_eq!(server.put(&id, 0, &packed[..packed.len() / 2]).status, 200);
    server.running.kill();
    drop(server.running.wait());
    let server = Server::start(&["--state", &state]);
    let session = server.live(&id)["session"].clone();
    assert_eq!((&session["offset"], &session["name"], &session["fingerprint"]), (&0.into(), &"packed.gz".into(), &"abc".into()));
    assert_eq!(server.put(&id, 0, &packed).status, 200);
    Truth::of(&body).check(&server.live(&id)["report"]);
}

#[test]
fn one_server_has_the_folder_and_what_is_damaged_is_told_and_left() {
    let folder = TestFolder::new();
    let state = folder.text("");
    let server = Server::start(&["--state", &state]);
    let body = log(1_000);
    let ids = [server.session_of(body.len()), server.session_of(body.len())];
    ids.iter().for_each(|id| assert_eq!(server.put(id, 0, &body).status, 200));
    let other = rorqual(&["serve", "--port", "0", "--state", &state]).run().exits(2);
    other.says(&["--state", "another server has this folder"]);
    server.running.kill();
    drop(server.running.wait());
    let rows = folder.at(&format!("{}.rows", ids[0]));
    let mut damaged = std::fs::read(&rows).expect("a journal");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(&rows, damaged).expect("it can be written");
    folder.file("00112233445566aa.session", "no session\n");
    folder.file("00112233445566bb.rows", "rows of nobody");
    let foreign = ["notes.tmp", "table.rows", "nothing.session"];
    foreign.iter().for_each(|name| drop(folder.file(name, "not ours")));
    let server = Server::start(&["--state", &state]);
    assert_eq!(listed(&server).iter().map(|session| session["id"].clone()).collect::<Vec<_>>(), [ids[1].as_str()]);
    Truth::of(&body).check(&server.live(&ids[1])["report"]);
    let said = eventually("its notes", || Some(server.running.stderr_so_far()).filter(|said| said.contains("00112233445566aa")));
    assert!(said.contains(&ids[0]) && said.contains("not offered again"), "{said}");
    let names = folder.names();
    assert!(Path::new(&rows).exists() && !names.contains(&"00112233445566bb.rows".to_owned()), "{names:?}");
    assert!(foreign.iter().all(|name| names.contains(&(*name).to_owned())), "{names:?}");
    let mode = std::fs::metadata(&rows).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    // A digit that was changed is seen.
    server.running.kill();
    drop(server.running.wait());
    let change = |extension: &str| {
        let path = folder.at(&format!("{}.{extension}", ids[1]));
        let edited = String::from_utf8_lossy(&std::fs::read(&path).expect("a session")).replacen("1000", "1001", 1);
        std::fs::write(&path, edited).expect("it can be written");
    };
    change("session");
    let server = Server::start(&["--state", &state]);
    Truth::of(&body).check(&server.live(&ids[1])["report"]);
    server.running.kill();
    drop(server.running.wait());
    // The earlier checkpoint has the place of the later by now.
    ["session", "synced"].iter().for_each(|extension| change(extension));
    assert!(listed(&Server::start(&["--state", &state])).is_empty());
}

#[test]
fn a_session_whose_rows_were_cut_or_removed_is_not_kept_and_the_next_server_says_why() {
    let folder = TestFolder::new();
    let state = folder.text("");
    let body = log(1_000);
    let kept = |server: &Server, id: &str| {
        listed(server).iter().find(|session| session["id"] == id).map(|session| session["kept"].clone()).expect("it is listed")
    };
    let server = Server::start(&["--state", &state]);
    let ids = [server.session_of(body.len()), server.session_of(body.len())];
    for id in &ids {
        assert_eq!(server.put(id, 0, &body).status, 200);
        server.when_state(id, "finished");
        assert_eq!(kept(&server, id), true);
    }
    let [cut, removed] = [&ids[0], &ids[1]].map(|id| folder.at(&format!("{id}.rows")));
    let length = std::fs::metadata(&cut).expect("a journal").len();
    std::fs::File::options().write(true).open(&cut).and_then(|rows| rows.set_len(length / 2)).expect("it can be cut");
    std::fs::remove_file(&removed).expect("a journal");
    assert_eq!(ids.each_ref().map(|id| kept(&server, id)), [false, false]);
    server.running.kill();
    drop(server.running.wait());
    let server = Server::start(&["--state", &state]);
    assert!(listed(&server).is_empty());
    let said = eventually("its notes", || Some(server.running.stderr_so_far()).filter(|said| said.contains(&*ids[1])));
    assert!(said.contains(&*ids[0]) && said.contains("the file of rows is too short"), "{said}");
    assert!(said.contains(&format!("its rows, {}: No such file or directory", removed.display())), "{said}");
}

#[test]
fn what_may_go_on_comes_before_what_has_ended() {
    let folder = TestFolder::new();
    let state = folder.text("");
    let server = Server::start(&["--state", &state, "--sessions", "2"]);
    let body = log(1_000);
    // Their rows all have room.
    for _ in 0..4 {
        let id = server.session_of(body.len());
        assert_eq!(server.put(&id, 0, &body).status, 200);
    }
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, &body[..50_000]).status, 200);
    when_kept(&folder, &id, "its checkpoint", |kept| kept["offset"].as_u64() > Some(0));
    server.running.kill();
    drop(server.running.wait());
    assert_eq!(folder.names().iter().filter(|name| name.ends_with(".session")).count(), 5);
    let server = Server::start(&["--state", &state, "--sessions", "1"]);
    let sessions = listed(&server);
    assert_eq!((sessions.len(), &sessions[0]["id"]), (1, &id.as_str().into()));
}

/// Ended sessions keep their rows in the memory that these need, beside open ones with a whole
/// share: as many must be there again.
#[test]
fn as_many_sessions_are_offered_again_as_there_were() {
    let folder = TestFolder::new();
    let args = ["--state", &folder.text(""), "--sessions", "2", "--grace", "1"];
    let server = Server::start(&args);
    let body = log(2_000);
    for _ in 0..3 {
        let id = server.session_of(body.len());
        assert_eq!(server.put(&id, 0, &body).status, 200);
        server.when_state(&id, "finished");
    }
    let open = server.session_of(body.len());
    assert_eq!(server.put(&open, 0, &body[..body.len() / 2]).status, 200);
    let before = listed(&server).len();
    server.running.terminate();
    drop(server.running.wait());
    let server = Server::start(&args);
    let rows = |id: &str| server.request("POST", &format!("/api/sessions/{id}/rows"), b"{}").status;
    let sessions = listed(&server);
    assert_eq!((sessions.len(), before), (4, 4));
    assert!(sessions.iter().filter_map(|session| session["id"].as_str()).all(|id| rows(id) == 200));
    server.running.terminate();
    let ran = server.running.wait();
    assert!(!ran.stderr.contains("not offered again"), "{}", ran.stderr);
}

#[test]
fn a_format_that_was_given_is_kept_before_anything_came() {
    let folder = TestFolder::new();
    let state = folder.text("");
    let server = Server::start(&["--state", &state]);
    let body = "10.0.0.1|404|/a\n10.0.0.2|200|/b\n";
    let id = server.session(&json!({"name": "own", "size": body.len(), "format": "$remote_addr|$status|$uri"}));
    server.running.kill();
    drop(server.running.wait());
    let server = Server::start(&["--state", &state]);
    assert_eq!(server.put(&id, 0, body.as_bytes()).status, 200);
    assert_eq!(server.live(&id)["report"]["lines"]["parsed"], 2);
}

#[test]
fn a_steady_upload_is_kept_while_it_goes_on_and_a_compressed_one_ends_with_its_server() {
    let folder = TestFolder::new();
    let state = folder.text("");
    let server = Server::start(&["--state", &state, "--grace", "1"]);
    let packed = gzip(&log(20_000));
    let open = server.session_of(packed.len());
    assert_eq!(server.put(&open, 0, &packed[..packed.len() / 2]).status, 200);
    let block = log(2_000);
    let id = server.session_of(1 << 40);
    let mut stream = server.begin_put(&id, 0, 1 << 40);
    let path = folder.at(&format!("{id}.session"));
    let is_kept = || std::fs::metadata(&path).is_ok_and(|data| data.len() > 2_000);
    let begun = std::time::Instant::now();
    while !is_kept() {
        std::io::Write::write_all(&mut stream, &block).expect("it listens");
        assert!(begun.elapsed().as_secs() < 60, "no checkpoint");
    }
    drop(stream);
    server.running.terminate();
    drop(server.running.wait().exits(0));
}

/// Ends a server in order, so that all that is open is on the disk.
fn end(server: Server) {
    server.running.terminate();
    drop(server.running.wait());
}

/// The start of the line that is unfinished at the end, or comes next.
fn line_start(sent: &[u8]) -> usize {
    sent.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1)
}

#[test]
fn what_is_on_the_disk_for_sure_survives_a_power_cut() {
    let folder = TestFolder::new();
    let state = folder.text("");
    let body = log(20_000);
    let (first, second) = (body.len() / 3, body.len() / 2);
    let server = Server::start(&["--state", &state]);
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, &body[..first]).status, 200);
    end(server);
    let offset = line_start(&body[..first]);
    let [rows, latest, synced] = ["rows", "session", "synced"].map(|file| folder.at(&format!("{id}.{file}")));
    assert_eq!(std::fs::read(&latest).expect("it is there"), std::fs::read(&synced).expect("it is there"));
    let server = Server::start(&["--state", &state]);
    assert_eq!(server.put(&id, offset, &body[offset..second]).status, 200);
    when_kept(&folder, &id, "a later checkpoint", |kept| kept["offset"] == line_start(&body[..second]));
    server.running.kill();
    drop(server.running.wait());
    // Of the later file the disk has the name only, and of the journal the synced part.
    std::fs::write(&latest, "").expect("it can be written");
    let sure = std::fs::read(&synced).expect("it is there");
    let parts: Vec<&[u8]> = sure.splitn(3, |byte| *byte == b'\n').collect();
    assert_eq!(serde_json::from_slice::<Value>(parts[1]).expect("JSON")["offset"], offset);
    let head = parts[2];
    let sure_bytes = u64::from_le_bytes(head[16..24].try_into().expect("a length"));
    let journal = std::fs::OpenOptions::new().write(true).open(&rows).expect("a journal");
    assert!(sure_bytes <= journal.metadata().expect("it is there").len());
    journal.set_len(sure_bytes).expect("it can be cut");
    let server = Server::start(&["--state", &state]);
    let session = server.live(&id)["session"].clone();
    assert_eq!((&session["state"], &session["offset"]), (&"interrupted".into(), &offset.into()));
    assert_eq!(server.put(&id, offset, &body[offset..]).status, 200);
    Truth::of(&body).check(&server.live(&id)["report"]);
}

#[test]
fn what_has_no_room_in_less_memory_is_there_again_with_more() {
    let folder = TestFolder::new();
    let state = folder.text("");
    let memory = ["--memory", "512MiB", "--sessions"];
    let start = |sessions| Server::start(&[&["--state", &state], &memory[..], &[sessions]].concat());
    // Few values, and then so many that a thousandth of the memory is too little for them.
    let few = log(1_000);
    let many = (0..60_000).map(|number| {
        format!(
            "10.1.{}.{} - - [02/Jan/2025:10:00:00 +0000] \"GET /value/{number} HTTP/1.1\" 200 5 \"-\" \"-\"\n",
            number / 250,
            number % 250
        )
    });
    let many: String = many.collect();
    let body = [&few[..], many.as_bytes()].concat();
    let server = start("1");
    let id = server.session_of(body.len() + 1);
    assert_eq!(server.put(&id, 0, &few).status, 200);
    end(server);
    let server = start("1");
    assert_eq!(server.put(&id, few.len(), &body[few.len()..]).status, 200);
    when_kept(&folder, &id, "a later checkpoint", |kept| kept["offset"] == body.len());
    server.running.kill();
    drop(server.running.wait());
    let files = || folder.names().into_iter().map(|name| std::fs::read(folder.at(&name)).expect("a file")).collect::<Vec<_>>();
    let before = files();
    let server = start("1000");
    assert!(listed(&server).is_empty());
    eventually("its note", || server.running.stderr_so_far().contains("had more memory than there is now").then_some(()));
    end(server);
    assert!(files() == before, "they are as they were");
    assert_eq!(start("1").live(&id)["session"]["offset"], body.len());
}

#[test]
fn a_folder_that_can_not_be_written_is_told() {
    let folder = TestFolder::new();
    let file = folder.file("file", "");
    rorqual(&["serve", "--port", "0", "--state", &format!("{file}/state")]).run().exits(2).says(&["--state", "file/state"]);
    let none = ["serve", "--port", "0", "--state", &folder.text("state"), "--temp-max", "0"];
    rorqual(&none).run().exits(2).says(&["--state", "--temp-max 0"]);
}

#[test]
fn a_log_far_above_the_memory_is_kept_within_it() {
    let folder = TestFolder::new();
    let state = folder.text("");
    let memory = ["--memory", "256MiB", "--sessions", "1"];
    let block = log(9_000);
    let times = (700 * MIB) as usize / block.len();
    let body = block.repeat(times);
    let server = Server::start(&[&["--state", &state], &memory[..]].concat());
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, &body).status, 200);
    let report = comparable(server.live(&id)["report"].clone());
    let peak = server.running.peak_bytes();
    assert!(peak <= 256 * MIB, "{} MiB", peak / MIB);
    server.running.kill();
    drop(server.running.wait());
    let server = Server::start(&[&["--state", &state], &memory[..]].concat());
    assert_eq!(comparable(server.live(&id)["report"].clone()), report);
    let peak = server.running.peak_bytes();
    assert!(peak <= 256 * MIB, "{} MiB restored", peak / MIB);
}

#[test]
fn saved_views_are_those_of_all_logs_and_outlive_the_server() {
    let folder = TestFolder::new();
    let state = folder.text("");
    let server = Server::start(&["--state", &state]);
    let save = |server: &Server, name: &str, address: &str| {
        server.request("PUT", &format!("/api/views/{name}"), json!({"address": address}).to_string().as_bytes())
    };
    let list = |server: &Server| -> (Value, Vec<(String, String)>) {
        let answer = server.get("/api/views").json();
        let text = |view: &Value, field: &str| view[field].as_str().expect("a text").to_owned();
        let views = answer["views"].as_array().expect("views");
        (answer["kept"].clone(), views.iter().map(|view| (text(view, "name"), text(view, "address"))).collect())
    };
    let pair = |name: &str, address: &str| (name.to_owned(), address.to_owned());
    assert_eq!(list(&server), (true.into(), vec![]));
    assert_eq!(save(&server, "Fehler%20%2F%20%C3%BC", "f=status%20%3E%3D%20500").status, 201);
    assert_eq!(save(&server, "slow", "order=-bytes").status, 201);
    assert_eq!(save(&server, "slow", "order=-request_time").status, 204);
    let expected = vec![pair("Fehler / ü", "f=status%20%3E%3D%20500"), pair("slow", "order=-request_time")];
    assert_eq!(list(&server), (true.into(), expected.clone()));
    // However the server ends.
    server.running.kill();
    drop(server.running.wait());
    let server = Server::start(&["--state", &state]);
    assert_eq!(list(&server), (true.into(), expected));
    let refusals: [(&str, &str, u16, &str); 9] = [
        ("%20", "", 400, "bad_request"),
        ("a%20", "", 400, "bad_request"),
        ("..", "", 400, "bad_request"),
        ("a%E2%80%AEb", "", 400, "bad_request"),
        ("%E2%80%8B", "", 400, "bad_request"),
        ("a%0Ab", "", 400, "bad_request"),
        (&"n".repeat(201), "", 400, "bad_request"),
        ("a", "f=a\u{7}", 400, "bad_request"),
        ("a", &"x".repeat(9 << 10), 400, "bad_request"),
    ];
    for (name, address, status, code) in refusals {
        save(&server, name, address).refused(status, code);
    }
    server.request("PUT", "/api/views/a", b"{\"address\":\"\",\"more\":1}").refused(400, "bad_request");
    server.request("DELETE", "/api/views/none", b"").refused(404, "no_view");
    assert_eq!(server.request("DELETE", "/api/views/slow", b"").status, 204);
    let mut saved = 1;
    let full = loop {
        let answer = save(&server, &format!("view{saved}"), &"x".repeat(8 << 10));
        if answer.status != 201 {
            break answer;
        }
        saved += 1;
    };
    full.refused(409, "views_full");
    assert_eq!((saved, list(&server).1.len()), (16, 16), "128 KiB");
    server.running.terminate();
    drop(server.running.wait().exits(0));
    // A damaged file is named, and neither lost nor in the way of anything else.
    let path = folder.at("views.json");
    let whole = fs::read(&path).expect("it is there");
    fs::write(&path, &whole[..whole.len() / 2]).expect("room");
    let server = Server::start(&["--state", &state]);
    let error = server.get("/api/views").refused(500, "views_unreadable");
    assert!(error["message"].as_str().is_some_and(|message| message.contains("views.json")), "{error}");
    save(&server, "a", "").refused(500, "views_unreadable");
    assert_eq!(fs::read(&path).expect("it is there"), whole[..whole.len() / 2]);
    // Without a folder they last as long as the server.
    let server = Server::start(&[]);
    assert_eq!(save(&server, "a", "").status, 201);
    assert_eq!(list(&server), (false.into(), vec![pair("a", "")]));
}

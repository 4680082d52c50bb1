//! Uploads as WebSockets: who may open one, what is said, and what a client that breaks the rules
//! is told.

use crate::common::config;
use crate::wire::{Server, log, read_answer};
use rorqual_accesslog::analyze::AnalyzeSettings;
use rorqual_serve::Config;
use rorqual_testkit::websocket::{ServerFrame, UPGRADE, WebSocket, frame};
use serde_json::json;
use std::io::{Read, Write};
use std::time::Duration;

/// The next text, which is of that type.
fn text(socket: &mut WebSocket, kind: &str) -> serde_json::Value {
    match socket.hear() {
        Some(ServerFrame::Text(text)) if text["type"] == kind => text,
        other => panic!("{other:?} instead of {kind}"),
    }
}

#[test]
fn an_upload_is_acknowledged_as_far_as_it_was_taken() {
    let server = Server::start();
    let log = log(3_000);
    let id = server.session(Some(log.len()));
    let mut socket = server.socket(&id, 0);
    let ready = text(&mut socket, "ready");
    assert_eq!((&ready["offset"], &ready["window_bytes"]), (&0.into(), &(8 << 20).into()));
    // One message at a time, so that each has its own acknowledgement.
    let (start, rest) = log.split_at(100_001);
    socket.binary(start);
    assert_eq!(text(&mut socket, "taken")["offset"], start.len());
    assert_eq!(server.live(&id)["session"]["offset"], start.len());
    // A fragment is none.
    socket.send(&frame(0x02, &rest[..1_000]));
    socket.send(&frame(0x89, b"are you there?"));
    assert_eq!(socket.hear(), Some(ServerFrame::Pong(b"are you there?".to_vec())));
    socket.send(&frame(0x80, &rest[1_000..2_000]));
    assert_eq!(text(&mut socket, "taken")["offset"], start.len() + 2_000);
    socket.send(&frame(0x8a, b"nobody asked"));
    socket.binary(&rest[2_000..]);
    let (done, code) = socket.end();
    assert_eq!((&done["type"], code), (&"done".into(), Some(1000)));
    assert_eq!((&done["session"]["state"], &done["session"]["offset"]), (&"finished".into(), &log.len().into()));
    assert_eq!(server.report(&id)["lines"]["parsed"], 3_000);
}

#[test]
fn the_log_ends_with_its_size_or_where_the_client_says_so() {
    let server = Server::start();
    let log = log(100);
    // Said, and nothing was announced.
    let id = server.session(None);
    let mut socket = server.socket(&id, 0);
    socket.binary(&log);
    socket.text("{\"type\":\"end\"}");
    assert_eq!(socket.end().0["session"]["state"], "finished");
    assert_eq!(server.report(&id)["lines"]["parsed"], 100);
    // Said before the announced size has come: as a body that ends sooner.
    let id = server.session(Some(log.len()));
    let mut socket = server.socket(&id, 0);
    socket.binary(&log[..50]);
    socket.text("{\"type\":\"end\"}");
    assert_eq!(socket.end().0["session"]["state"], "waiting");
    // A client that leaves in order may come back.
    let mut socket = server.socket(&id, 50);
    socket.binary(&log[50..60]);
    socket.send(&frame(0x88, &[]));
    assert_eq!(socket.rest().last(), Some(&ServerFrame::Close(None)));
    assert_eq!(server.when_state(&id, "waiting")["session"]["offset"], 60);
    // One that does not was interrupted, and may come back as well.
    let mut socket = server.socket(&id, 60);
    socket.binary(&log[60..70]);
    socket.send(&frame(0x88, &1001_u16.to_be_bytes()));
    assert_eq!(socket.rest().last(), Some(&ServerFrame::Close(Some(1001))));
    let live = server.when_state(&id, "interrupted");
    assert_eq!((&live["session"]["offset"], &live["session"]["error"]["code"]), (&70.into(), &"interrupted".into()));
    let mut socket = server.socket(&id, 70);
    socket.binary(&log[70..80]);
    text(&mut socket, "ready");
    assert_eq!(text(&mut socket, "taken")["offset"], 80);
    drop(socket);
    server.when_state(&id, "interrupted");
    let mut socket = server.socket(&id, 80);
    // More than was announced: what was is analysed.
    socket.binary(&[&log[80..], b"and more\n"].concat());
    assert_eq!(socket.refused(4413, "too_long")["size"], log.len());
    assert_eq!(server.report(&id)["lines"]["parsed"], 100);
}

#[test]
fn a_server_that_ends_waits_for_an_upload_and_says_that_it_was_taken() {
    let mut server = Server::start();
    let log = log(1_000);
    let id = server.session(Some(log.len()));
    let mut socket = server.socket(&id, 0);
    let (start, rest) = log.split_at(log.len() / 2);
    socket.binary(start);
    text(&mut socket, "ready");
    assert_eq!(text(&mut socket, "taken")["offset"], start.len());
    server.stop();
    socket.binary(rest);
    let (done, code) = socket.end();
    assert_eq!((&done["type"], &done["session"]["state"], code), (&"done".into(), &"finished".into(), Some(1000)));
}

#[test]
fn who_may_not_ask_may_not_open_one() {
    let server = Server::start();
    let id = server.session(None);
    let line = format!("GET /api/sessions/{id}/socket");
    let open = |head: String| {
        let mut stream = server.connect();
        stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).expect("it listens");
        read_answer(&mut stream)
    };
    let with = |header: &str| open(server.head(&line, &[&UPGRADE[..], &[header]].concat()));
    with("Origin: http://evil.example").refused(403, "foreign_origin");
    with("Sec-Fetch-Site: cross-site").refused(403, "foreign_origin");
    let stranger = server.head(&line, &UPGRADE).replace("Bearer ", "Bearer x");
    open(stranger).refused(401, "no_token");
    let host = server.head(&line, &UPGRADE).replace("Host: 127", "Host: 128");
    open(host).refused(403, "wrong_host");
    let missing = server.head("GET /api/sessions/none/socket", &UPGRADE);
    open(missing).refused(404, "no_session");
    let plain = server.ask(&line, &[], b"");
    plain.refused(426, "upgrade_required");
    assert_eq!(plain.header("upgrade"), Some("websocket"));
    let old = open(server.head(&line, &["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 8"]));
    old.refused(426, "upgrade_required");
    assert_eq!(old.header("sec-websocket-version"), Some("13"));
    server.ask(&format!("{line}?offset=x"), &UPGRADE[1..], b"").refused(400, "bad_request");
    assert_eq!(server.live(&id)["session"]["state"], "waiting", "nobody came");
}

#[test]
fn what_breaks_the_rules_ends_the_connection_and_not_the_session() {
    let server = Server::start();
    let log = log(1_000);
    let id = server.session(Some(log.len()));
    let mut offset = 0;
    for (what, frames, code) in [
        ("a reserved bit", frame(0xc2, b"x"), 1002),
        ("a reserved opcode", frame(0x83, b"x"), 1002),
        ("not masked", vec![0x82, 1, b'x'], 1002),
        ("a control frame that is too long", frame(0x89, &[0; 126]), 1002),
        ("a control frame in fragments", frame(0x09, b""), 1002),
        ("a stray continuation", frame(0x80, b"x"), 1002),
        ("a message in a message", [frame(0x02, b""), frame(0x82, b"x")].concat(), 1002),
        ("a length with its highest bit", vec![0x82, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1002),
        ("a longer length than need be", vec![0x82, 0xfe, 0, 1, 0, 0, 0, 0, b'x'], 1002),
        ("no UTF-8", frame(0x81, b"\xc0\xaf"), 1007),
        ("no UTF-8 in a reason", frame(0x88, b"\x03\xe8\xff"), 1007),
        ("half a code", frame(0x88, b"\x03"), 1002),
        ("a code that is never sent", frame(0x88, &1005_u16.to_be_bytes()), 1002),
        ("a text that is too long", frame(0x81, &[b' '; 2_000]), 1009),
        ("a text that means nothing", frame(0x81, b"{\"type\":\"stop\"}"), 4400),
    ] {
        let mut socket = server.socket(&id, offset);
        socket.binary(&log[offset..offset + 777]);
        socket.send(&frames);
        offset += 777;
        let error = socket.refused(code, "interrupted");
        // What came before is taken.
        assert_eq!(error["offset"], offset, "{what}: {error}");
    }
    let mut socket = server.socket(&id, offset);
    socket.binary(&log[offset..]);
    assert_eq!(socket.end().1, Some(1000));
    assert_eq!(server.report(&id)["lines"]["parsed"], 1_000);
}

#[test]
fn one_upload_at_a_time_and_what_ends_it() {
    let server = Server::start();
    let log = log(1_000);
    let id = server.session(None);
    let mut socket = server.socket(&id, 0);
    socket.binary(&log);
    text(&mut socket, "ready");
    text(&mut socket, "taken");
    server.socket(&id, 0).refused(4409, "busy");
    server.ask(&format!("PUT /api/sessions/{id}/data"), &[], b"x").refused(409, "busy");
    assert_eq!(server.ask(&format!("POST /api/sessions/{id}/cancel"), &[], b"").json()["state"], "cancelled");
    socket.refused(4409, "cancelled");
    server.socket(&id, 0).refused(4409, "finished");
    let id = server.session(None);
    let mut socket = server.socket(&id, 0);
    socket.binary(b"Call me Ishmael.\nSome years ago\n");
    socket.text(&json!({"type": "end"}).to_string());
    assert_eq!(socket.refused(4422, "unknown_format")["lines"][0], "Call me Ishmael.");
}

#[test]
fn a_socket_keeps_its_place_among_connections() {
    // Room for as many sessions as connections; what they would hold is never touched.
    let config = config(Duration::from_secs(600));
    let settings = AnalyzeSettings { memory_bytes: 8 << 30, ..config.settings.clone() };
    let server = Server::with(Config { sessions_max: 32, settings, ..config });
    let mut sockets: Vec<_> = (0..32)
        .map(|_| {
            let mut socket = server.socket(&server.session(None), 0);
            text(&mut socket, "ready");
            socket
        })
        .collect();
    let mut waiting = server.connect();
    let head = server.head("GET /api/server", &["Connection: close"]);
    waiting.write_all(format!("{head}\r\n").as_bytes()).expect("it listens");
    waiting.set_read_timeout(Some(Duration::from_millis(300))).expect("a valid time");
    assert!(waiting.read(&mut [0]).is_err(), "all places are taken");
    drop(sockets.pop());
    waiting.set_read_timeout(Some(Duration::from_secs(60))).expect("a valid time");
    assert_eq!(read_answer(&mut waiting).status, 200);
}

#[test]
fn a_socket_that_is_refused_gives_its_place_back() {
    let server = Server::start();
    let log = log(10);
    let id = server.session(None);
    let mut socket = server.socket(&id, 0);
    // From here on the session is its own.
    text(&mut socket, "ready");
    for _ in 0..100 {
        server.socket(&id, 0).refused(4409, "busy");
    }
    socket.binary(&log);
    socket.text("{\"type\":\"end\"}");
    assert_eq!(socket.end().1, Some(1000));
    assert_eq!(server.report(&id)["lines"]["parsed"], 10);
}

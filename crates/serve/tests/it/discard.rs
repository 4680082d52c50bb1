//! Tests of a connection: as uploads, of which nothing stays; and what a page knows its file by.

use crate::wire::{Server, read_answer};
use rorqual_testkit::websocket::{ServerFrame, UPGRADE, WebSocket};
use serde_json::json;
use std::io::Write;

const BYTES: usize = 3 * (1 << 20) + 17;

fn heard(socket: &mut WebSocket, kind: &str) -> serde_json::Value {
    match socket.hear() {
        Some(ServerFrame::Text(text)) if text["type"] == kind => text,
        other => panic!("{other:?} instead of {kind}"),
    }
}

#[test]
fn what_is_sent_to_be_discarded_is_counted_and_makes_no_session() {
    let server = Server::start();
    let body = vec![b'x'; BYTES];
    for answer in [server.ask("PUT /api/discard", &[], &body), server.ask_chunked("PUT /api/discard", &[], &body, 8_191)] {
        assert_eq!((answer.status, &answer.json()["bytes"]), (200, &BYTES.into()));
        assert!(answer.json()["seconds"].as_f64().is_some_and(|seconds| seconds > 0.0), "{answer:?}");
    }
    let mut socket = server.socket_at("/api/discard/socket");
    assert_eq!(heard(&mut socket, "ready")["window_bytes"], 8 << 20);
    socket.binary(&body[..1_000]);
    assert_eq!(heard(&mut socket, "taken")["offset"], 1_000);
    socket.binary(&body[1_000..]);
    socket.text("{\"type\":\"end\"}");
    let (done, code) = socket.end();
    assert_eq!((&done["type"], &done["bytes"], code), (&"done".into(), &BYTES.into(), Some(1000)));
    let none: [u8; 0] = [];
    assert_eq!(server.ask("PUT /api/discard", &[], &none).json()["bytes"], 0);
    assert_eq!(server.ask("GET /api/sessions", &[], b"").json(), json!({"sessions": [], "more": false}));
    assert_eq!(server.ask("GET /api/vitals", &[], b"").json()["received_bytes"], 0);
}

#[test]
fn tests_of_a_connection_are_few_and_bound_by_the_rules_of_uploads() {
    let server = Server::start();
    let mut first = server.socket_at("/api/discard/socket");
    heard(&mut first, "ready");
    let mut second = server.socket_at("/api/discard/socket");
    heard(&mut second, "ready");
    let refused = server.ask("PUT /api/discard", &[], b"one too many");
    refused.refused(503, "tests_full");
    assert_eq!(refused.header("retry-after"), Some("5"));
    server.socket_at("/api/discard/socket").refused(4503, "tests_full");
    // Who breaks the rules gives its place back.
    first.text("{\"type\":\"more\"}");
    first.refused(4400, "interrupted");
    assert_eq!(server.ask("PUT /api/discard", &[], b"there is room").json()["bytes"], 13);
    server.ask("GET /api/discard/socket", &UPGRADE[2..], b"").refused(426, "upgrade_required");
    let mut stream = server.connect();
    let head = server.head("GET /api/discard/socket", &[&UPGRADE[..], &["Origin: http://evil.example"]].concat());
    stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes()).expect("it listens");
    read_answer(&mut stream).refused(403, "foreign_origin");
    server.ask("POST /api/discard", &[], b"").refused(405, "method_not_allowed");
}

#[test]
fn a_fingerprint_is_told_again_as_it_was_and_has_its_limit() {
    let server = Server::start();
    let new = |fingerprint: &serde_json::Value| {
        let session = json!({"name": "test.log", "size": 5, "fingerprint": fingerprint});
        server.ask("POST /api/sessions", &[], session.to_string().as_bytes())
    };
    // Bytes are counted, not characters.
    let longest = "ü".repeat(64);
    let made = new(&json!(longest));
    assert_eq!((made.status, &made.json()["fingerprint"]), (201, &json!(longest)));
    let id = made.json()["id"].as_str().expect("an id").to_owned();
    assert_eq!(server.live(&id)["session"]["fingerprint"], json!(longest));
    assert_eq!(server.ask("GET /api/sessions", &[], b"").json()["sessions"][0]["fingerprint"], json!(longest));
    server.forget(&id);
    new(&json!(format!("{longest}x"))).refused(400, "bad_request");
    new(&json!(7)).refused(400, "bad_request");
    let id = server.session(Some(5));
    assert!(server.live(&id)["session"]["fingerprint"].is_null());
}

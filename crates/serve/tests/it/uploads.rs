//! Every way of sending a log, and one answer.

use crate::wire::{Answer, Server, log};
use rorqual_testkit::paths::encodings;
use rorqual_testkit::websocket::{ServerFrame, frame};
use serde_json::{Value, json};
use std::io::Write;

/// Way of sending a log; returns the id of its session.
type Way = (&'static str, fn(&Server, &[u8]) -> String);

/// All of them, a piece of which is no whole number of lines or blocks.
const WAYS: [Way; 12] = [
    ("PUT", put),
    ("PUT in pieces", put_in_pieces),
    ("PUT of unknown length", put_of_unknown_length),
    ("one request, as curl -T FILE", one_request),
    ("one request, as curl -T - from a pipe", one_request_of_unknown_length),
    ("one request, as curl --data-binary", one_post),
    ("a WebSocket, in one frame", socket_in_one_frame),
    ("a WebSocket, in frames and fragments of any size", socket_in_frames),
    ("a WebSocket again and again", socket_again_and_again),
    ("tus", tus),
    ("tus in parts, each with its checksum", tus_in_parts),
    ("tus of unknown length, from its creation on", tus_deferred),
];

fn id_of(answer: &Answer, name: &str) -> String {
    let location = answer.header("location").expect("an address");
    location.strip_prefix(name).unwrap_or_else(|| panic!("{location}")).to_owned()
}

fn put_at(server: &Server, id: &str, offset: usize, bytes: &[u8]) {
    let answer = server.ask(&format!("PUT /api/sessions/{id}/data?offset={offset}"), &[], bytes);
    assert_eq!(answer.status, 200, "{answer:?}");
}

fn put(server: &Server, bytes: &[u8]) -> String {
    let id = server.session(Some(bytes.len()));
    put_at(server, &id, 0, bytes);
    id
}

fn put_in_pieces(server: &Server, bytes: &[u8]) -> String {
    let id = server.session(Some(bytes.len()));
    let mut offset = 0;
    for piece in bytes.chunks(99_991) {
        put_at(server, &id, offset, piece);
        offset += piece.len();
    }
    id
}

fn put_of_unknown_length(server: &Server, bytes: &[u8]) -> String {
    let id = server.session(None);
    assert_eq!(server.ask_chunked(&format!("PUT /api/sessions/{id}/data"), &[], bytes, 8_191).status, 200);
    id
}

fn one_request(server: &Server, bytes: &[u8]) -> String {
    // curl asks before it sends a long body.
    let answer = server.ask("PUT /api/upload/logs/access.log", &["Expect: 100-continue"], bytes);
    assert_eq!(answer.status, 201, "{answer:?}");
    let session = answer.json()["session"].clone();
    assert_eq!((&session["name"], &session["size"]), (&"logs/access.log".into(), &bytes.len().into()));
    id_of(&answer, "/api/sessions/")
}

fn one_request_of_unknown_length(server: &Server, bytes: &[u8]) -> String {
    let answer = server.ask_chunked("PUT /api/upload/", &[], bytes, 65_536);
    assert_eq!(answer.status, 201, "{answer:?}");
    let id = id_of(&answer, "/api/sessions/");
    assert_eq!(server.live(&id)["session"]["name"], "upload");
    id
}

fn one_post(server: &Server, bytes: &[u8]) -> String {
    let form = ["Content-Type: application/x-www-form-urlencoded"];
    let answer = server.ask("POST /api/upload?name=a%20b.log&format=combined", &form, bytes);
    assert_eq!(answer.status, 201, "{answer:?}");
    let id = id_of(&answer, "/api/sessions/");
    let said = answer.json();
    assert_eq!((&said["report"], &said["page"]), (&format!("/api/sessions/{id}").into(), &format!("/#s={id}").into()));
    assert_eq!((&said["session"]["name"], &said["session"]["state"]), (&"a b.log".into(), &"finished".into()));
    id
}

fn socket_in_one_frame(server: &Server, bytes: &[u8]) -> String {
    let id = server.session(Some(bytes.len()));
    let mut socket = server.socket(&id, 0);
    socket.binary(bytes);
    let (last, code) = socket.end();
    assert_eq!((&last["type"], &last["session"]["offset"], code), (&"done".into(), &bytes.len().into(), Some(1000)));
    id
}

fn socket_in_frames(server: &Server, bytes: &[u8]) -> String {
    let id = server.session(None);
    let mut socket = server.socket(&id, 0);
    let sizes = [1, 0, 125, 126, 1_000, 65_535, 65_536, 3, 200_001];
    let (mut rest, mut fragment) = (bytes, false);
    for size in sizes.into_iter().cycle() {
        let (piece, behind) = rest.split_at(size.min(rest.len()));
        // Every other message has two fragments, and a ping between them.
        let first = if fragment { 0x80 } else { 0x02 } | if behind.is_empty() || size % 2 == 0 { 0x80 } else { 0 };
        socket.send(&frame(first, piece));
        fragment = first & 0x80 == 0;
        socket.send(&frame(0x89, b"between"));
        rest = behind;
        if rest.is_empty() {
            break;
        }
    }
    socket.text("{\"type\":\"end\"}");
    assert_eq!(socket.end().1, Some(1000));
    id
}

fn socket_again_and_again(server: &Server, bytes: &[u8]) -> String {
    let id = server.session(Some(bytes.len()));
    let mut offset = 0;
    for piece in bytes.chunks(150_001) {
        let mut socket = server.socket(&id, offset);
        socket.binary(piece);
        offset += piece.len();
        if offset < bytes.len() {
            socket.send(&frame(0x88, &1000_u16.to_be_bytes()));
        }
        let rest = socket.rest();
        assert_eq!(rest.last(), Some(&ServerFrame::Close(Some(1000))));
        assert_eq!(server.live(&id)["session"]["offset"], offset);
    }
    id
}

const TUS: &str = "Tus-Resumable: 1.0.0";
const PART: &str = "Content-Type: application/offset+octet-stream";

fn tus_new(server: &Server, headers: &[&str], body: &[u8]) -> Answer {
    let answer = server.ask("POST /api/tus", &[&[TUS], headers].concat(), body);
    assert_eq!((answer.status, answer.header("tus-resumable")), (201, Some("1.0.0")), "{answer:?}");
    answer
}

fn tus_part(server: &Server, id: &str, offset: usize, headers: &[&str], part: &[u8]) {
    let at = format!("Upload-Offset: {offset}");
    let answer = server.ask(&format!("PATCH /api/tus/{id}"), &[&[TUS, PART, &at], headers].concat(), part);
    let taken = (offset + part.len()).to_string();
    assert_eq!((answer.status, answer.header("upload-offset")), (204, Some(taken.as_str())), "{answer:?}");
}

fn tus(server: &Server, bytes: &[u8]) -> String {
    let answer = tus_new(server, &[&format!("Upload-Length: {}", bytes.len())], b"");
    let id = id_of(&answer, "/api/tus/");
    tus_part(server, &id, 0, &[], bytes);
    id
}

fn tus_in_parts(server: &Server, bytes: &[u8]) -> String {
    let answer = tus_new(server, &[&format!("Upload-Length: {}", bytes.len())], b"");
    let id = id_of(&answer, "/api/tus/");
    let mut offset = 0;
    for (number, part) in bytes.chunks(300_007).enumerate() {
        let checksum = crate::tus::checksum(if number % 2 == 0 { "sha1" } else { "sha256" }, part);
        tus_part(server, &id, offset, &[&checksum], part);
        offset += part.len();
    }
    id
}

fn tus_deferred(server: &Server, bytes: &[u8]) -> String {
    let (start, rest) = bytes.split_at(bytes.len() / 3);
    let answer = tus_new(server, &["Upload-Defer-Length: 1", PART], start);
    assert_eq!(answer.header("upload-offset"), Some(start.len().to_string().as_str()));
    let id = id_of(&answer, "/api/tus/");
    let (middle, end) = rest.split_at(rest.len() / 2);
    tus_part(server, &id, start.len(), &[], middle);
    tus_part(server, &id, start.len() + middle.len(), &[&format!("Upload-Length: {}", bytes.len())], end);
    id
}

#[test]
fn every_way_gives_the_same_report() {
    let server = Server::start();
    let log = log(12_000);
    let mut expected = None;
    for (way, send) in WAYS {
        let report = server.report(&send(&server, &log));
        assert_eq!(report["lines"]["parsed"], 12_000, "{way}");
        assert_eq!(report["bytes_sent"], 12 * (0..1_000_u64).sum::<u64>(), "{way}");
        assert_eq!(&report, expected.get_or_insert_with(|| report.clone()), "{way}");
    }
}

#[test]
fn compressed_bodies_of_all_kinds_are_taken_every_way() {
    let server = Server::start();
    let log = log(12_000);
    let expected = server.report(&put(&server, &log));
    for (encoding, stored) in encodings(&log) {
        for (way, send) in WAYS {
            assert_eq!(server.report(&send(&server, &stored)), expected, "{encoding} by {way}");
        }
    }
}

#[test]
fn the_offset_is_in_bytes_of_the_body_as_it_is_sent() {
    let server = Server::start();
    let log = log(12_000);
    let stored = rorqual_testkit::paths::gzip(&log);
    let (start, rest) = stored.split_at(stored.len() / 2);
    let id = server.session(Some(stored.len()));
    let coded = ["Content-Encoding: gzip"];
    assert_eq!(server.ask(&format!("PUT /api/sessions/{id}/data"), &coded, start).status, 200);
    assert_eq!(server.live(&id)["session"]["offset"], start.len());
    let wrong = server.ask(&format!("PUT /api/sessions/{id}/data?offset={}", log.len() / 2), &coded, rest);
    assert_eq!(wrong.refused(409, "offset_mismatch")["offset"], start.len());
    assert_eq!(server.ask(&format!("PUT /api/sessions/{id}/data?offset={}", start.len()), &coded, rest).status, 200);
    assert_eq!(server.report(&id)["lines"]["parsed"], 12_000);
    for target in ["PUT /api/upload/x", "PUT /api/upload/"] {
        server.ask(target, &["Content-Encoding: br"], &stored).refused(415, "unsupported_encoding");
    }
    assert_eq!(server.ask("GET /api/sessions", &[], b"").json()["sessions"], json!([]), "nothing was made of it");
}

/// Offset of an upload, as each transport tells it to a client with a wrong one.
#[test]
fn wrong_and_duplicate_offsets_are_told_the_right_one_every_way() {
    let server = Server::start();
    let log = log(2_000);
    let (start, rest) = log.split_at(5_003);
    let id = server.session(Some(log.len()));
    put_at(&server, &id, 0, start);
    for offset in [0, 1, start.len() - 1, start.len() + 1, log.len()] {
        let put = server.ask(&format!("PUT /api/sessions/{id}/data?offset={offset}"), &[], &rest[..10]);
        assert_eq!(put.refused(409, "offset_mismatch")["offset"], start.len());
        let error = server.socket(&id, offset).refused(4409, "offset_mismatch");
        assert_eq!(error["offset"], start.len());
        let at = format!("Upload-Offset: {offset}");
        let patch = server.ask(&format!("PATCH /api/tus/{id}"), &[TUS, PART, &at], &rest[..10]);
        assert_eq!(patch.refused(409, "offset_mismatch")["offset"], start.len());
    }
    put_at(&server, &id, start.len(), rest);
    assert_eq!(server.report(&id)["lines"]["parsed"], 2_000);
}

#[test]
fn one_request_that_breaks_off_or_means_nothing() {
    let server = Server::start();
    let log = log(2_000);
    // Half of it, and the client is gone: the session waits for the rest.
    let mut stream = server.connect();
    let head = server.head("PUT /api/upload/access.log", &[&format!("Content-Length: {}", log.len())]);
    stream.write_all(format!("{head}\r\n").as_bytes()).expect("it listens");
    stream.write_all(&log[..log.len() / 2]).expect("it listens");
    let newest = || server.ask("GET /api/sessions", &[], b"").json()["sessions"][0].clone();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while newest()["offset"] != log.len() / 2 {
        assert!(std::time::Instant::now() < deadline, "half of it is taken");
    }
    drop(stream);
    let id = newest()["id"].as_str().expect("an id").to_owned();
    server.when_state(&id, "interrupted");
    put_at(&server, &id, log.len() / 2, &log[log.len() / 2..]);
    assert_eq!(server.report(&id)["lines"]["parsed"], 2_000);
    let answer = server.ask("PUT /api/upload/poem.txt", &[], b"Call me Ishmael.\nSome years ago\n");
    assert_eq!(answer.refused(422, "unknown_format")["lines"][0], "Call me Ishmael.");
    let id = id_of(&answer, "/api/sessions/");
    assert_eq!(server.live(&id)["session"]["state"], "failed");
    server.forget(&id);
    server.ask("PUT /api/upload/x?frmat=1", &[], b"").refused(400, "bad_request");
    server.ask("PUT /api/upload/x?format=", &[], b"").refused(400, "bad_format");
    server.ask(&format!("PUT /api/upload/{}", "x".repeat(2_000)), &[], b"").refused(400, "bad_request");
    server.ask("DELETE /api/upload/x", &[], b"").refused(405, "method_not_allowed");
    // The only place is taken.
    let id = server.session(None);
    let full = server.ask("PUT /api/upload/access.log", &[], &log);
    full.refused(503, "sessions_full");
    assert!(full.header("retry-after").is_some());
    server.forget(&id);
}

/// Bytes that the kernel may hold between the two ends of a connection.
fn kernel_bytes() -> usize {
    let max = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap_or_default();
        text.split_whitespace().last().and_then(|bytes| bytes.parse().ok()).unwrap_or(32 << 20)
    };
    max("tcp_rmem") + max("tcp_wmem")
}

/// Number of bytes that a sender gets rid of before it has to wait, and of those that the session
/// took.
fn pushed(server: &Server, id: &str, mut stream: std::net::TcpStream, mut piece: impl FnMut() -> Vec<u8>) -> (usize, Value) {
    stream.set_write_timeout(Some(std::time::Duration::from_secs(2))).expect("a valid time");
    let mut sent = 0;
    while sent < 2 * kernel_bytes() {
        let piece = piece();
        match stream.write_all(&piece) {
            Ok(()) => sent += piece.len(),
            Err(_would_wait) => break,
        }
    }
    (sent, server.live(id)["session"].clone())
}

#[test]
fn a_slow_consumer_slows_the_sender() {
    // One that takes next to nothing.
    let config = rorqual_serve::Config { rate_limit: Some(1), ..crate::common::config(std::time::Duration::from_secs(600)) };
    let server = Server::with(config);
    let log = log(10_000);
    // The blocks of a session with one thread, and what a connection has read.
    let blocks_bytes: usize = 11 * (256 << 10);
    let sent_max = kernel_bytes() + blocks_bytes + (1 << 20);
    let id = server.session(None);
    let mut put = server.connect();
    let head = server.head(&format!("PUT /api/sessions/{id}/data"), &["Content-Length: 1000000000000"]);
    put.write_all(format!("{head}\r\n").as_bytes()).expect("it listens");
    let (sent, session) = pushed(&server, &id, put, || log.clone());
    let offset = session["offset"].as_u64().expect("a number");
    assert!(sent < sent_max && offset <= blocks_bytes as u64, "{sent} sent, {offset} taken");
    server.forget(&id);
    let id = server.session(None);
    let socket = server.socket(&id, 0);
    let (sent, session) = pushed(&server, &id, socket.stream, || frame(0x82, &log));
    let offset = session["offset"].as_u64().expect("a number");
    assert!(sent < sent_max && offset <= blocks_bytes as u64, "{sent} sent, {offset} taken");
    server.forget(&id);
}

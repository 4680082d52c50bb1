//! Uploads by WebSockets, as many as are allowed, each in the state with the most memory: within a
//! frame, and within a line.

use crate::client::Server;
use crate::common::{eventually, log};
use std::io::{Read, Write};
use std::net::TcpStream;

const UPLOADS: usize = 200;

/// Number of uploads that may hold the start of a long line, but for the places that the next take
/// while they begin; all of them have large buffers.
const LONG: usize = 32 - 4;

/// Any 16 bytes as base64 do.
const UPGRADE: &str =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: bm8gcmFuZG9tbmVzcyEhIQ==\r\n";

/// The head of a frame, with a mask that changes nothing.
fn frame(bytes: usize) -> Vec<u8> {
    [&[0x82, 0xff][..], &(bytes as u64).to_be_bytes(), &[0; 4]].concat()
}

fn socket(server: &Server, id: &str) -> TcpStream {
    let mut stream = server.connect();
    let head = server.head("GET", &format!("/api/sessions/{id}/socket?offset=0")).replace("Connection: close\r\n", UPGRADE);
    stream.write_all(format!("{head}\r\n").as_bytes()).expect("it listens");
    let mut status = [0; 12];
    stream.read_exact(&mut status).expect("an answer");
    assert!(status.ends_with(b"101"), "{}", String::from_utf8_lossy(&status));
    stream
}

/// Lines, the last of which is long for those that come first.
fn body(lines: &[u8], number: usize) -> Vec<u8> {
    let agent = "x".repeat(if number < LONG { 200 << 10 } else { 3 << 10 });
    let last = format!("10.0.0.9 - - [02/Jan/2025:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"{agent}\"\n");
    [lines, last.as_bytes()].concat()
}

#[test]
fn sockets_within_a_frame_and_a_line_hold_what_they_are_counted_with() {
    const LINES: u64 = 3_000;
    const REST: usize = 20;
    let (uploads, connections) = (UPLOADS.to_string(), (UPLOADS + 8).to_string());
    let (server, memory) = Server::tight(&["--sessions", &uploads, "--connections", &connections, "--threads", "2"]);
    let lines = log(LINES);
    let upload = |number: usize| {
        let body = body(&lines, number);
        let id = server.session_of(body.len());
        let mut stream = socket(&server, &id);
        let sent = body.len() - REST;
        stream.write_all(&[&frame(body.len())[..], &body[..sent]].concat()).expect("it listens");
        server.when(&id, "all that was sent", |live| live["session"]["offset"] == sent);
        (id, stream)
    };
    let open: Vec<(String, TcpStream)> = (0..UPLOADS).map(upload).collect();
    let vitals = server.vitals();
    assert_eq!(vitals["sessions"]["receiving"], UPLOADS, "{vitals}");
    server.within(memory);
    let ids: Vec<String> = open
        .into_iter()
        .map(|(id, mut stream)| {
            stream.write_all(format!("{}\"\n", "x".repeat(REST - 2)).as_bytes()).expect("it listens");
            stream.read_to_end(&mut Vec::new()).expect("its end");
            id
        })
        .collect();
    for id in ids {
        let report = server.when_state(&id, "finished")["report"].clone();
        assert_eq!((&report["lines"]["parsed"], &report["lines"]["rejected"]), (&(LINES + 1).into(), &0.into()));
    }
    eventually("all connections are gone", || (server.vitals()["connections"]["known"] == 1).then_some(()));
    server.within(memory);
}

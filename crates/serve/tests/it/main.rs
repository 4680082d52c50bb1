//! Tests of what takes too long to wait for at the real program.
#![allow(clippy::expect_used)]

use rorqual_serve::{Config, Server};
use rorqual_table::aggregate::Span;
use rorqual_table::analyze::{Formats, Settings};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tokio::runtime::Builder;

/// Longer than the idle time and the pause between two looks of the housekeeping.
const PATIENCE: Duration = Duration::from_secs(30);

fn config(idle_max: Duration) -> Config {
    Config {
        port: 0,
        sessions_max: 1,
        idle_max,
        rate_limit: None,
        settings: Settings {
            memory_bytes: 256 << 20,
            threads: Some(1),
            line_bytes_max: 64 << 10,
            span: Span::default(),
            formats: Formats::default(),
            feed_buffers: 0,
        },
    }
}

/// Asks a server at `url` (with its token) and gives the whole answer.
fn ask(url: &str, request: &str, headers: &str) -> String {
    let (address, token) = url.strip_prefix("http://").and_then(|rest| rest.split_once("/?token=")).expect("an address");
    let mut stream = TcpStream::connect(address).expect("it listens");
    let (line, body) = request.split_once('\n').unwrap_or((request, ""));
    let length = body.len();
    let head =
        format!("Host: {address}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}");
    write!(stream, "{line} HTTP/1.1\r\n{head}\r\n{body}").expect("it listens");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer in text");
    answer
}

#[test]
fn a_session_that_nobody_asks_for_is_forgotten_and_its_place_is_free() {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let server = runtime.block_on(Server::bind(config(Duration::from_secs(1)))).expect("a free port");
    let url = server.url();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = runtime.spawn(server.run(async { drop(stopped.await) }));
    let new = "POST /api/sessions\n{\"name\": \"test.log\"}";
    assert!(ask(&url, new, "").starts_with("HTTP/1.1 201"));
    // The only place is taken.
    assert!(ask(&url, new, "").starts_with("HTTP/1.1 503"));
    let deadline = Instant::now() + PATIENCE;
    // Looking at the list is not asking for the session.
    while !ask(&url, "GET /api/sessions", "").contains("\"sessions\":[]") {
        assert!(Instant::now() < deadline, "the session was not forgotten");
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(ask(&url, new, "").starts_with("HTTP/1.1 201"));
    stop.send(()).expect("it runs");
    runtime.block_on(running).expect("no panic");
}

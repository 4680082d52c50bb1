//! Clients of the server under test that send any bytes.

use crate::common::{Running, config};
use rorqual_serve::Config;
use rorqual_testkit::websocket::{UPGRADE, WebSocket};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// An awaited event comes sooner, or never.
const PATIENCE: Duration = Duration::from_secs(60);

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The head, names in lower case.
    head: String,
    body: Vec<u8>,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Checks status and error code.
    pub(crate) fn refused(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{}", String::from_utf8_lossy(&self.body));
        let error = self.json()["error"].clone();
        assert_eq!(error["code"], code, "{error}");
        error
    }
}

/// A server, and the address and token to ask it with.
pub(crate) struct Server {
    running: Running,
    address: String,
    token: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::with(config(Duration::from_secs(600)))
    }

    pub(crate) fn with(config: Config) -> Self {
        let running = Running::of(config);
        let (address, token) = running.url.strip_prefix("http://").and_then(|rest| rest.split_once("/?token=")).expect("a URL");
        let (address, token) = (address.to_owned(), token.to_owned());
        Self { running, address, token }
    }

    /// Asks it to end, which it does once what runs has come to its end.
    pub(crate) fn stop(&mut self) {
        self.running.stop();
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a valid time");
        stream
    }

    /// A request's head with these headers, without the empty line after it.
    pub(crate) fn head(&self, line: &str, headers: &[&str]) -> String {
        let Self { address, token, .. } = self;
        let mut head = format!("{line} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n");
        headers.iter().for_each(|header| head += &format!("{header}\r\n"));
        head
    }

    /// Sends a request whose length is known, and reads its answer.
    pub(crate) fn ask(&self, line: &str, headers: &[&str], body: &[u8]) -> Answer {
        let mut stream = self.connect();
        let head = self.head(line, headers) + &format!("Connection: close\r\nContent-Length: {}\r\n\r\n", body.len());
        // An early answer may close the connection while we still send.
        let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
        read_answer(&mut stream)
    }

    /// Sends a body whose length is not told, in chunks of that many bytes.
    pub(crate) fn ask_chunked(&self, line: &str, headers: &[&str], body: &[u8], chunk_bytes: usize) -> Answer {
        let mut stream = self.connect();
        let mut bytes = (self.head(line, headers) + "Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n").into_bytes();
        for chunk in body.chunks(chunk_bytes) {
            bytes.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\n\r\n");
        stream.write_all(&bytes).expect("it is taken");
        read_answer(&mut stream)
    }

    /// A new session, of a size where that is known; its id.
    pub(crate) fn session(&self, size: Option<usize>) -> String {
        let answer = self.ask("POST /api/sessions", &[], json!({"name": "test.log", "size": size}).to_string().as_bytes());
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().expect("an id").to_owned()
    }

    pub(crate) fn live(&self, id: &str) -> Value {
        self.ask(&format!("GET /api/sessions/{id}"), &[], b"").json()
    }

    /// The session once it is in that state.
    pub(crate) fn when_state(&self, id: &str, state: &str) -> Value {
        self.when(id, state, |live| live["session"]["state"] == state)
    }

    pub(crate) fn when(&self, id: &str, what: &str, ready: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let live = self.live(id);
            if ready(&live) {
                return live;
            }
            assert!(Instant::now() < deadline, "waited for {what}: {live}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The parts of a finished session's report that depend on its log alone; the session is
    /// forgotten.
    pub(crate) fn report(&self, id: &str) -> Value {
        let live = self.when_state(id, "finished");
        let mut report = live["report"].clone();
        assert_eq!(report["complete"], true, "{live}");
        report["stats"].take();
        report["sources"].take();
        for kind in ["rejects", "repairs"] {
            for sample in report[kind]["samples"].as_array_mut().expect("samples") {
                sample["source"].take();
            }
        }
        self.forget(id);
        report
    }

    pub(crate) fn forget(&self, id: &str) {
        assert_eq!(self.ask(&format!("DELETE /api/sessions/{id}"), &[], b"").status, 204);
    }

    /// Becomes a WebSocket that sends into a session.
    pub(crate) fn socket(&self, id: &str, offset: usize) -> WebSocket {
        self.socket_at(&format!("/api/sessions/{id}/socket?offset={offset}"))
    }

    /// Becomes a WebSocket at an address.
    pub(crate) fn socket_at(&self, path: &str) -> WebSocket {
        let mut stream = self.connect();
        let head = self.head(&format!("GET {path}"), &UPGRADE);
        stream.write_all(format!("{head}\r\n").as_bytes()).expect("it listens");
        WebSocket::opened(stream)
    }
}

pub(crate) fn read_answer(stream: &mut TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    // A reset after a whole answer is the end of it.
    assert!(read.is_ok() || !bytes.is_empty(), "no answer: {read:?}");
    // A client that asked whether it may send hears so first.
    let bytes = bytes.strip_prefix(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap_or(&bytes);
    let at = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&bytes[..at]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let lower =
        |line: &str| line.split_once(": ").map_or(line.to_owned(), |(name, value)| name.to_ascii_lowercase() + ": " + value);
    let head = head.lines().map(lower).collect::<Vec<_>>().join("\n");
    Answer { status, head, body: bytes[at + 4..].to_vec() }
}

/// Lines of the combined format, each a second later than the one before.
pub(crate) fn log(lines: u64) -> Vec<u8> {
    let line = |number: u64| {
        let (hour, minute, second) = (number / 3_600 % 24, number / 60 % 60, number % 60);
        let (path, status) = (number % 7, [200, 304, 404][(number % 3) as usize]);
        format!(
            "10.0.{}.{} - - [02/Jan/2025:{hour:02}:{minute:02}:{second:02} +0000] \"GET /p{path}?q={number} HTTP/1.1\" {status} {} \"-\" \"agent/1.0\"\n",
            number % 5,
            number % 11,
            number % 1_000
        )
    };
    (0..lines).flat_map(|number| line(number).into_bytes()).collect()
}

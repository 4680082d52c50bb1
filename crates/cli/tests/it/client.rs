//! A server under test, and a client of it that can do wrong.

use crate::common::{MIB, advised, eventually, rorqual};
use rorqual_testkit::process::{ProcessRun, RunningProcess};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde_json::{Value, json};
use std::io::{BufRead, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// `rorqual serve` on a free port, until dropped.
pub(crate) struct Server {
    pub(crate) running: RunningProcess,
    pub(crate) port: u16,
    pub(crate) token: String,
    /// Certificates that its clients trust, where it speaks TLS.
    trust: Option<Arc<ClientConfig>>,
}

/// A connection, encrypted or not.
pub(crate) trait Stream: Read + Write + Send {}

impl<T: Read + Write + Send> Stream for T {}

/// One that is.
pub(crate) type Encrypted = StreamOwned<ClientConnection, TcpStream>;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The head, names in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    fn parse(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        Self { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("no JSON ({error}): {self:?}"))
    }

    /// Checks status and error code.
    pub(crate) fn refused(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        let error = self.json()["error"].clone();
        assert_eq!(error["code"], code, "{error}");
        assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()));
        error
    }
}

impl Server {
    pub(crate) fn start(args: &[&str]) -> Self {
        Self::start_as(rorqual(&["serve", "--port", "0"]).args(args))
    }

    /// The same, of a program that was told more than arguments.
    pub(crate) fn start_as(run: ProcessRun) -> Self {
        Self::trusted_by(run, None)
    }

    /// The same over TLS, for clients that trust its certificate.
    pub(crate) fn trusted_by(run: ProcessRun, trust: Option<Arc<ClientConfig>>) -> Self {
        let scheme = if trust.is_some() { "https" } else { "http" };
        let mut running = run.start();
        let url = running.stdout_when(|text| text.contains('\n'));
        let (address, token) = url.trim().split_once("/?token=").expect("an address with a token");
        let port = address.strip_prefix(scheme).and_then(|rest| rest.strip_prefix("://127.0.0.1:")).expect("a loopback address");
        Self { running, port: port.parse().expect("a port"), token: token.to_owned(), trust }
    }

    /// A server in the least memory that it starts with, and that memory.
    pub(crate) fn tight(args: &[&str]) -> (Self, u64) {
        let (memory, bytes) = least_memory(args);
        (Self::start(&[args, &["--memory", &memory]].concat()), bytes)
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a valid time");
        stream
    }

    /// A connection as its clients have it: its handshake comes with the first bytes.
    pub(crate) fn open(&self) -> Box<dyn Stream> {
        match &self.trust {
            None => Box::new(self.connect()),
            Some(_) => Box::new(self.encrypted()),
        }
    }

    /// The same where it is encrypted.
    pub(crate) fn encrypted(&self) -> Encrypted {
        let trust = self.trust.as_ref().expect("a server behind TLS");
        let client = ClientConnection::new(Arc::clone(trust), "127.0.0.1".try_into().expect("a name")).expect("a client");
        StreamOwned::new(client, self.connect())
    }

    /// Bytes sent by the client at `client` that the server has not read.
    pub(crate) fn unread_bytes(&self, client: SocketAddr) -> u64 {
        let table = std::fs::read_to_string("/proc/net/tcp").expect("the kernel tells");
        let (own, its) = (format!(":{:04X}", self.port), format!(":{:04X}", client.port()));
        let bytes = |text: &str| u64::from_str_radix(text, 16).unwrap_or(0);
        let queued = |line: &str| {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let (sent, received) = fields[4].split_once(':')?;
            match (&fields[1][8..], &fields[2][8..]) {
                (near, far) if near == own && far == its => Some(bytes(received)),
                (near, far) if near == its && far == own => Some(bytes(sent)),
                _ => None,
            }
        };
        table.lines().skip(1).filter_map(queued).sum()
    }

    /// Checks the peak resident size so far.
    pub(crate) fn within(&self, memory_bytes: u64) {
        let peak = self.running.peak_bytes();
        assert!(peak <= memory_bytes, "peak {} MiB of {} MiB", peak / MIB, memory_bytes / MIB);
    }

    pub(crate) fn vitals(&self) -> Value {
        self.get("/api/vitals").json()
    }

    /// The start of a request that may be made, without the empty line that ends the head.
    pub(crate) fn head(&self, method: &str, target: &str) -> String {
        self.head_of(&format!("{method} {target} HTTP/1.1"))
    }

    /// The same with a first line of any kind.
    #[allow(dead_code, reason = "the soak has none")]
    pub(crate) fn head_of(&self, line: &str) -> String {
        format!("{line}\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n", self.port, self.token)
    }

    /// Sends bytes as they are and reads the answer to its end.
    pub(crate) fn raw(&self, request: &[u8]) -> Answer {
        self.send(&[request])
    }

    pub(crate) fn request(&self, method: &str, target: &str, body: &[u8]) -> Answer {
        let head = format!("{}Content-Length: {}\r\n\r\n", self.head(method, target), body.len());
        self.send(&[head.as_bytes(), body])
    }

    fn send(&self, parts: &[&[u8]]) -> Answer {
        let mut stream = self.open();
        for part in parts {
            // An early answer may close the connection while we still send.
            let _ = stream.write_all(part);
        }
        read_answer(&mut stream)
    }

    pub(crate) fn get(&self, target: &str) -> Answer {
        self.request("GET", target, b"")
    }

    /// A new session; its id.
    pub(crate) fn session(&self, wanted: &Value) -> String {
        let answer = self.request("POST", "/api/sessions", wanted.to_string().as_bytes());
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()["id"].as_str().expect("an id").to_owned()
    }

    /// A new session for `bytes` bytes of the combined format.
    pub(crate) fn session_of(&self, bytes: usize) -> String {
        self.session(&json!({"name": "test.log", "size": bytes}))
    }

    pub(crate) fn put(&self, id: &str, offset: usize, body: &[u8]) -> Answer {
        self.request("PUT", &format!("/api/sessions/{id}/data?offset={offset}"), body)
    }

    /// Starts an upload with an announced length of `length`.
    pub(crate) fn begin_put(&self, id: &str, offset: usize, length: u64) -> TcpStream {
        let mut stream = self.connect();
        let head = self.head("PUT", &format!("/api/sessions/{id}/data?offset={offset}"));
        stream.write_all(format!("{head}Content-Length: {length}\r\n\r\n").as_bytes()).expect("it listens");
        stream
    }

    pub(crate) fn live(&self, id: &str) -> Value {
        self.get(&format!("/api/sessions/{id}")).json()
    }

    /// The session once `ready` likes it.
    pub(crate) fn when(&self, id: &str, what: &str, ready: impl Fn(&Value) -> bool) -> Value {
        eventually(what, || Some(self.live(id)).filter(|live| ready(live)))
    }

    pub(crate) fn when_state(&self, id: &str, state: &str) -> Value {
        self.when(id, state, |live| live["session"]["state"] == state)
    }
}

/// The least `--memory` with which the server starts with these arguments, as text and in bytes.
pub(crate) fn least_memory(args: &[&str]) -> (String, u64) {
    let refused = rorqual(&["serve", "--port", "0", "--memory", "1MiB"]).args(args).run().exits(2).stderr;
    let advised = advised(&refused);
    let bytes = rorqual_pipe::parse_size(&advised).expect("a size");
    (advised, bytes)
}

pub(crate) fn read_answer(stream: &mut impl Read) -> Answer {
    let mut bytes = Vec::new();
    let read = stream.read_to_end(&mut bytes);
    // A reset after a whole answer is the end of it.
    assert!(read.is_ok() || !bytes.is_empty(), "no answer: {read:?}");
    Answer::parse(&String::from_utf8_lossy(&bytes))
}

/// The texts of a body in chunks, as long as they come; the head was read.
pub(crate) fn chunks(mut reader: impl BufRead) -> impl Iterator<Item = String> {
    std::iter::from_fn(move || {
        let mut length = String::new();
        reader.read_line(&mut length).expect("the length of a chunk");
        let length = usize::from_str_radix(length.trim(), 16).expect("a length");
        let mut chunk = vec![0; length + 2];
        reader.read_exact(&mut chunk).expect("a whole chunk");
        chunk.truncate(length);
        (length > 0).then(|| String::from_utf8(chunk).expect("text"))
    })
}

//! An HTTP server that lies as it is told to, and the file that it serves.
//!
//! A script is asked for a [`HttpReply`] to each [`Request`]; [`Content::answer`] gives the honest
//! one, which the script may spoil.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test whose server can't listen has failed")]

use crate::process::ProcessRun;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// Length of the pattern that a content repeats: no divisor of any piece's or block's size, so that
/// bytes in a wrong place show.
pub const PERIOD_BYTES: usize = (1 << 20) + 7;

/// A file of any size that takes a mebibyte.
#[derive(Debug, Clone)]
pub struct GeneratedContent {
    /// Its size.
    pub size_bytes: u64,
    /// Its ETag, quotes included; none when empty.
    pub etag: String,
    /// Its Last-Modified; none when empty.
    pub last_modified: String,
    period: Arc<Vec<u8>>,
}

impl GeneratedContent {
    /// `size_bytes` of noise that depends on `seed`, and with it the ETag.
    #[must_use]
    pub fn new(size_bytes: u64, seed: u64) -> Self {
        let mut state = seed.wrapping_mul(2).wrapping_add(1);
        let mut next = || {
            // xorshift64
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        };
        let mut period: Vec<u8> = (0..PERIOD_BYTES.div_ceil(8)).flat_map(|_| next()).collect();
        period.truncate(PERIOD_BYTES);
        Self { size_bytes, etag: format!("\"{seed}\""), last_modified: String::new(), period: Arc::new(period) }
    }

    /// A file of these bytes.
    ///
    /// # Panics
    /// When they are more than the mebibyte that a content holds.
    #[must_use]
    pub fn of(mut bytes: Vec<u8>) -> Self {
        let size_bytes = bytes.len() as u64;
        assert!(bytes.len() <= PERIOD_BYTES, "more bytes than a content holds");
        bytes.resize(PERIOD_BYTES, 0);
        Self { size_bytes, etag: "\"given\"".to_owned(), last_modified: String::new(), period: Arc::new(bytes) }
    }

    /// The same bytes so many times over.
    ///
    /// # Panics
    /// When they are not [`PERIOD_BYTES`].
    #[must_use]
    pub fn repeated(self, times: u64) -> Self {
        assert_eq!(self.size_bytes, PERIOD_BYTES as u64, "other bytes can't be repeated");
        Self { size_bytes: self.size_bytes * times, ..self }
    }

    /// The same with that Last-Modified.
    #[must_use]
    pub fn with_last_modified(self, last_modified: &str) -> Self {
        Self { last_modified: last_modified.to_owned(), ..self }
    }

    /// Some of its bytes.
    #[must_use]
    pub fn bytes(&self, range: Range<u64>) -> Vec<u8> {
        let mut bytes = Vec::with_capacity((range.end - range.start) as usize);
        self.each(range, |stretch| {
            bytes.extend_from_slice(stretch);
            true
        });
        bytes
    }

    /// All of its bytes.
    #[must_use]
    pub fn all(&self) -> Vec<u8> {
        self.bytes(0..self.size_bytes)
    }

    fn each(&self, range: Range<u64>, mut take: impl FnMut(&[u8]) -> bool) {
        let mut at = range.start;
        while at < range.end {
            let start = (at % PERIOD_BYTES as u64) as usize;
            let length = (PERIOD_BYTES - start).min(64 << 10).min((range.end - at) as usize);
            if !take(&self.period[start..start + length]) {
                return;
            }
            at += length as u64;
        }
    }

    /// The honest reply: 200, 206 or 416, with If-Range.
    #[must_use]
    pub fn answer(&self, request: &Request) -> HttpReply {
        let told = request.header("if-range").is_none_or(|validator| validator == self.etag || validator == self.last_modified);
        let reply = match request.range().filter(|_| told) {
            Some((first, _)) if first >= self.size_bytes => {
                return HttpReply::new(416, self.clone(), 0..0).header("Content-Range", format!("bytes */{}", self.size_bytes));
            }
            Some((first, last)) => {
                let end = last.map_or(self.size_bytes, |last| (last + 1).min(self.size_bytes));
                let value = format!("bytes {first}-{}/{}", end - 1, self.size_bytes);
                HttpReply::new(206, self.clone(), first..end).header("Content-Range", value)
            }
            None => HttpReply::new(200, self.clone(), 0..self.size_bytes).header("Accept-Ranges", "bytes"),
        };
        let reply = if self.etag.is_empty() { reply } else { reply.header("ETag", &self.etag) };
        if self.last_modified.is_empty() { reply } else { reply.header("Last-Modified", &self.last_modified) }
    }
}

/// Request of a client.
#[derive(Debug, Clone)]
pub struct Request {
    /// Of this server, from 0.
    pub number: usize,
    /// `GET`, `CONNECT`.
    pub method: String,
    /// The target as it was sent: a path, or a whole URL to a proxy.
    pub target: String,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
}

impl Request {
    /// The value of the header `name` (in lower case).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// First and, where it is told, last byte of the range that is asked for.
    #[must_use]
    pub fn range(&self) -> Option<(u64, Option<u64>)> {
        let (first, last) = self.header("range")?.strip_prefix("bytes=")?.split_once('-')?;
        Some((first.parse().ok()?, last.parse().ok()))
    }
}

/// End of a reply's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseEnd {
    /// The connection stays open for the next request.
    Keep,
    /// The connection is closed.
    Close,
    /// The connection is reset.
    Reset,
    /// Nothing more comes, until the server ends.
    Stall,
}

/// Reply of the server.
#[derive(Debug, Clone)]
pub struct HttpReply {
    /// The status.
    pub status: u16,
    /// Headers beside the length.
    pub headers: Vec<(String, String)>,
    /// Content of the body.
    pub content: GeneratedContent,
    /// Its byte range.
    pub range: Range<u64>,
    /// The Content-Length that is told; `None` for none.
    pub length: Option<u64>,
    /// Chunked transfer encoding.
    pub chunked: bool,
    /// At most so many bytes of the body are sent.
    pub bytes_max: u64,
    /// The end after it.
    pub end: ResponseEnd,
    /// A pause before each 64 KiB.
    pub pause: Duration,
}

impl HttpReply {
    /// An honest reply.
    #[must_use]
    pub fn new(status: u16, content: GeneratedContent, range: Range<u64>) -> Self {
        let length = Some(range.end - range.start);
        let (headers, pause) = (Vec::new(), Duration::ZERO);
        Self { status, headers, content, range, length, chunked: false, bytes_max: u64::MAX, end: ResponseEnd::Keep, pause }
    }

    /// A reply without a body.
    #[must_use]
    pub fn empty(status: u16) -> Self {
        Self::new(status, GeneratedContent::new(0, 0), 0..0)
    }

    /// One more header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// The same without the header `name`.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self
    }

    /// The same, broken off after `bytes_max` bytes of the body.
    #[must_use]
    pub fn cut(mut self, bytes_max: u64, end: ResponseEnd) -> Self {
        self.bytes_max = bytes_max;
        self.end = end;
        self
    }

    /// The same, chunked and without a length.
    #[must_use]
    pub fn chunked(mut self) -> Self {
        self.chunked = true;
        self.length = None;
        self
    }
}

type Script = dyn Fn(&Request) -> HttpReply + Send + Sync;

/// A server on a port of its own; ends when dropped.
pub struct TestServer {
    address: SocketAddr,
    shared: Arc<HttpShared>,
    listener: Option<JoinHandle<()>>,
}

struct HttpShared {
    script: Box<Script>,
    requests: Mutex<Vec<Request>>,
    ended: AtomicBool,
}

impl TestServer {
    /// Listens on 127.0.0.1.
    ///
    /// # Panics
    /// When that is impossible.
    #[must_use]
    pub fn start(script: impl Fn(&Request) -> HttpReply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(HttpShared { script: Box::new(script), requests: Mutex::default(), ended: AtomicBool::new(false) });
        let theirs = Arc::clone(&shared);
        let listener = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if theirs.ended.load(Ordering::Relaxed) {
                    return;
                }
                let shared = Arc::clone(&theirs);
                std::thread::spawn(move || serve(&shared, &stream));
            }
        });
        Self { address, shared, listener: Some(listener) }
    }

    /// A server that serves `content` and does nothing wrong.
    #[must_use]
    pub fn honest(content: &GeneratedContent) -> Self {
        let content = content.clone();
        Self::start(move |request| content.answer(request))
    }

    /// The URL of `path`, which begins with a slash.
    #[must_use]
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The settings of a client that asks this server as it asks S3.
    #[must_use]
    pub fn as_s3(&self, run: ProcessRun) -> ProcessRun {
        run.with(|command| {
            command
                .env("AWS_ENDPOINT_URL", self.url(""))
                .env("AWS_ALLOW_HTTP", "true")
                .env("AWS_ACCESS_KEY_ID", "key")
                .env("AWS_SECRET_ACCESS_KEY", "a secret key")
                .env("AWS_REGION", "us-east-1");
        })
    }

    /// Requests so far.
    ///
    /// # Panics
    /// When a script has panicked.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.shared.ended.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
        self.listener.take().map(JoinHandle::join);
    }
}

fn serve(shared: &HttpShared, stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    while let Some(request) = read(shared, &mut reader) {
        let mut reply = (shared.script)(&request);
        if request.method == "HEAD" {
            reply.bytes_max = 0;
        }
        if send(shared, stream, &reply).is_err() || reply.end != ResponseEnd::Keep {
            return;
        }
    }
}

fn read(shared: &HttpShared, reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut line = || {
        let mut line = String::new();
        let read = reader.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    };
    let first = line()?;
    let mut words = first.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let line = line()?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut requests = shared.requests.lock().unwrap();
    let request = Request { number: requests.len(), method, target, headers };
    requests.push(request.clone());
    Some(request)
}

fn send(shared: &HttpShared, mut stream: &TcpStream, reply: &HttpReply) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} -\r\n", reply.status);
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    if let Some(length) = reply.length {
        head += &format!("Content-Length: {length}\r\n");
    }
    head += if reply.chunked { "Transfer-Encoding: chunked\r\n\r\n" } else { "\r\n" };
    stream.write_all(head.as_bytes())?;
    let length = (reply.range.end - reply.range.start).min(reply.bytes_max);
    let mut result = Ok(());
    reply.content.each(reply.range.start..reply.range.start + length, |bytes| {
        std::thread::sleep(reply.pause);
        result = if reply.chunked { write_chunk(stream, bytes) } else { stream.write_all(bytes) };
        result.is_ok()
    });
    result?;
    if reply.chunked && reply.bytes_max == u64::MAX {
        stream.write_all(b"0\r\n\r\n")?;
    }
    match reply.end {
        ResponseEnd::Keep | ResponseEnd::Close => {}
        ResponseEnd::Reset => {
            let linger = nix::libc::linger { l_onoff: 1, l_linger: 0 };
            // The sent bytes have to arrive first, or their number would be anybody's guess.
            std::thread::sleep(Duration::from_millis(20));
            nix::sys::socket::setsockopt(&stream, nix::sys::socket::sockopt::Linger, &linger)?;
        }
        ResponseEnd::Stall => {
            while !shared.ended.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
    Ok(())
}

fn write_chunk(mut stream: &TcpStream, bytes: &[u8]) -> std::io::Result<()> {
    write!(stream, "{:x}\r\n", bytes.len())?;
    stream.write_all(bytes)?;
    stream.write_all(b"\r\n")
}

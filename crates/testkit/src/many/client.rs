//! Requests on a connection that stays open, as little as this server needs of HTTP.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// A later answer is taken for none.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// A connection without a request for so long gives its place to others when all are taken, as
/// `docs/api.md` says.
const FIRST_REQUEST_TIME_MAX: Duration = Duration::from_millis(100);

/// A head that is longer is none of this server's.
const HEAD_BYTES_MAX: usize = 16 << 10;

/// One connection.
pub(super) struct HttpClient<'a> {
    stream: TcpStream,
    address: &'a str,
    token: &'a str,
    /// Bytes that were read after an answer.
    rest: Vec<u8>,
    opened: Instant,
    /// The thread did not run for so long that the server may have given its place away; until the
    /// first answer.
    is_late: bool,
}

/// Kind of the error of a first request that came late and was cut off or refused.
pub(super) const LATE: ErrorKind = ErrorKind::ConnectionAborted;

/// The head of an answer, and its body where it has a length.
#[derive(Debug)]
pub(super) struct HttpAnswer {
    pub(super) status: u16,
    /// Names in lower case.
    head: String,
    pub(super) body: Vec<u8>,
}

impl HttpAnswer {
    pub(super) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// `503 sessions_full`
    pub(super) fn code(&self) -> String {
        format!("{} {}", self.status, self.json()["error"]["code"].as_str().unwrap_or("no_code"))
    }

    /// Time after which the server wants to be asked again.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        self.header("retry-after")?.parse().ok().map(Duration::from_secs)
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl<'a> HttpClient<'a> {
    pub(super) fn connect(address: &'a str, token: &'a str) -> io::Result<Self> {
        let opened = Instant::now();
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(ANSWER_TIME_MAX))?;
        Ok(Self { stream, address, token, rest: Vec::new(), opened, is_late: true })
    }

    /// Sends a request with a body of JSON, or none, and reads the answer.
    pub(super) fn ask(&mut self, method: &str, target: &str, body: &str) -> io::Result<HttpAnswer> {
        self.begin(method, target, &format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len()))?;
        self.stream.write_all(body.as_bytes())?;
        self.answer()
    }

    /// Sends the head of a request.
    pub(super) fn begin(&mut self, method: &str, target: &str, headers: &str) -> io::Result<()> {
        let (address, token) = (self.address, self.token);
        let head = format!("{method} {target} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{headers}\r\n");
        let written = self.stream.write_all(head.as_bytes());
        // Looked at after the write: the thread may not run for long just before it.
        self.is_late &= self.opened.elapsed() >= FIRST_REQUEST_TIME_MAX;
        written.map_err(|error| self.late(error))
    }

    fn late(&self, error: io::Error) -> io::Error {
        if self.is_late { LATE.into() } else { error }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes)
    }

    /// Waits until the server says something, but not longer than `time`; whether it did, so that
    /// reading waits for nothing.
    pub(super) fn listen(&mut self, time: Duration) -> io::Result<bool> {
        if !self.rest.is_empty() {
            return Ok(true);
        }
        // No time at all would mean any.
        self.stream.set_read_timeout(Some(time.max(Duration::from_millis(1))))?;
        match self.stream.peek(&mut [0]) {
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(false),
            heard => heard.map(|_| true),
        }
    }

    /// Reads up to the size of `buffer`; 0 at the end of the connection.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            return self.stream.read(buffer);
        }
        let count = buffer.len().min(self.rest.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Ok(count)
    }

    /// The answer to the request that was sent.
    pub(super) fn answer(&mut self) -> io::Result<HttpAnswer> {
        let mut answer = self.head()?;
        let length: usize = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        answer.body = vec![0; length];
        let mut at = 0;
        while at < length {
            match self.read(&mut answer.body[at..])? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                count => at += count,
            }
        }
        Ok(answer)
    }

    /// Reads the head alone: the body comes by [`HttpClient::read`].
    pub(super) fn head(&mut self) -> io::Result<HttpAnswer> {
        let head = self.read_head().map_err(|error| self.late(error))?;
        let is_refused = self.is_late && head.status == 503;
        self.is_late = false;
        if is_refused { Err(LATE.into()) } else { Ok(head) }
    }

    fn read_head(&mut self) -> io::Result<HttpAnswer> {
        self.stream.set_read_timeout(Some(ANSWER_TIME_MAX))?;
        let mut bytes = std::mem::take(&mut self.rest);
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
                break end + 4;
            }
            let mut buffer = [0; 4096];
            match self.stream.read(&mut buffer)? {
                0 => return Err(ErrorKind::UnexpectedEof.into()),
                _ if bytes.len() > HEAD_BYTES_MAX => return Err(ErrorKind::InvalidData.into()),
                count => bytes.extend_from_slice(&buffer[..count]),
            }
        };
        self.rest = bytes.split_off(end);
        let head = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or(ErrorKind::InvalidData)?;
        Ok(HttpAnswer { status, head, body: Vec::new() })
    }
}

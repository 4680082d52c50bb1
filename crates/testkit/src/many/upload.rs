//! One upload: a session of its own, its bytes at the pace of somebody's line, again from where the
//! server is when something breaks.

use super::client::{HttpAnswer, HttpClient, LATE};
use super::fate::Fate;
use super::log::LogSlice;
use super::socket::{IncomingFrames, ServerMessage};
use super::{LoadShared, PATIENCE};
use crate::websocket::{BINARY, UPGRADE, head};
use serde_json::{Value, json};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes come so often.
const PIECES_PER_SECOND: u64 = 10;

/// Before another attempt, where the server says no time.
const PAUSE: Duration = Duration::from_millis(300);

/// An awaited message of a WebSocket comes sooner, or never.
const MESSAGE_TIME_MAX: Duration = Duration::from_secs(60);

/// The reason for which an attempt ended before the upload did.
enum UploadFailure {
    /// The server says no, for now.
    Later(String, Option<Duration>),
    /// It will not do.
    Never(String),
    Connection(io::Error),
}

impl From<io::Error> for UploadFailure {
    fn from(error: io::Error) -> Self {
        Self::Connection(error)
    }
}

impl UploadFailure {
    fn of(answer: &HttpAnswer) -> Self {
        Self::named(answer.code(), answer.retry_after())
    }

    /// By the error's code, with or without a status before it.
    fn named(code: String, retry_after: Option<Duration>) -> Self {
        let passes = ["interrupted", "busy", "offset_mismatch", "sessions_full"].iter().any(|known| code.ends_with(known));
        if passes || retry_after.is_some() { Self::Later(code, retry_after) } else { Self::Never(code) }
    }
}

struct Upload<'a> {
    crowd: &'a LoadShared<'a>,
    number: usize,
    stretch: LogSlice,
}

pub(super) fn upload(crowd: &LoadShared<'_>, number: usize) -> Fate {
    let plan = crowd.plan;
    thread::sleep(plan.ramp.mul_f64(number as f64 / plan.uploads as f64));
    let upload = Upload { crowd, number, stretch: crowd.log.stretch(number, plan.bytes) };
    let begun = Instant::now();
    match upload.report() {
        Err(reason) => Fate::Lost(reason),
        Ok(report) => match upload.stretch.problem(&report) {
            Some(problem) => Fate::Wrong(format!("upload {number}: {problem}")),
            None => Fate::Finished { bytes: upload.length(), seconds: begun.elapsed().as_secs_f64() },
        },
    }
}

impl LogSlice {
    /// Differences between a report and its lines.
    fn problem(&self, report: &Value) -> Option<String> {
        let checks = [
            ("lines", &report["lines"]["total"], self.lines),
            ("parsed", &report["lines"]["parsed"], self.lines),
            ("bytes", &report["sources"][0]["bytes"], self.range.len() as u64),
            ("bytes_sent", &report["bytes_sent"], self.bytes_sent),
        ];
        let wrong = checks.iter().find(|(_, said, truth)| said.as_u64() != Some(*truth));
        wrong.map(|(what, said, truth)| format!("{what}: {said} of {truth}"))
    }
}

impl<'u> Upload<'u> {
    fn length(&self) -> u64 {
        self.stretch.range.len() as u64
    }

    /// The report at its end, after as many attempts as it takes; or why there is none.
    fn report(&self) -> Result<Value, String> {
        let plan = self.crowd.plan;
        let last = Instant::now() + Duration::from_secs(self.length() / plan.bytes_per_second.max(1)) + PATIENCE;
        let mut session = None;
        loop {
            let (code, pause) = match self.attempt(&mut session) {
                Ok(report) => return Ok(report),
                Err(UploadFailure::Never(code)) => {
                    self.crowd.errors.note(&code);
                    return Err(code);
                }
                Err(UploadFailure::Connection(error)) if error.kind() == LATE && Instant::now() <= last => {
                    self.crowd.late.fetch_add(1, Ordering::Relaxed);
                    thread::sleep(PAUSE);
                    continue;
                }
                Err(UploadFailure::Later(code, pause)) => (code, pause),
                Err(UploadFailure::Connection(error)) => (format!("connection: {:?}", error.kind()), None),
            };
            self.crowd.errors.note(&code);
            if Instant::now() > last {
                return Err(format!("no end in time, last {code}"));
            }
            self.crowd.retries.fetch_add(1, Ordering::Relaxed);
            self.crowd.refused.fetch_add(u64::from(pause.is_some()), Ordering::Relaxed);
            thread::sleep(pause.unwrap_or(PAUSE));
        }
    }

    /// Goes on where the server is, to the end.
    fn attempt(&self, session: &mut Option<String>) -> Result<Value, UploadFailure> {
        let mut client = self.connect()?;
        let (id, offset) = match session {
            Some(id) => (id.clone(), self.offset(&mut client, id)?),
            None => (session.insert(self.begin(&mut client)?).clone(), 0),
        };
        if offset < self.length() {
            self.crowd.running().push(id.clone());
            let sent = self.send(client, &id, offset);
            self.crowd.running().retain(|other| *other != id);
            client = sent?;
        }
        let live = self.live(&mut client, &id)?;
        match live["session"]["state"].as_str() {
            Some("finished") => Ok(live["report"].clone()),
            _ => Err(UploadFailure::Later(format!("{} behind its end", live["session"]["state"]), None)),
        }
    }

    fn connect(&self) -> Result<HttpClient<'u>, UploadFailure> {
        Ok(HttpClient::connect(&self.crowd.plan.address, &self.crowd.plan.token)?)
    }

    fn begin(&self, client: &mut HttpClient<'_>) -> Result<String, UploadFailure> {
        let wanted = json!({"name": format!("many-{}.log", self.number), "size": self.length()}).to_string();
        let answer = client.ask("POST", "/api/sessions", &wanted)?;
        match answer.json()["id"].as_str() {
            Some(id) if answer.status == 201 => Ok(id.to_owned()),
            _ => Err(UploadFailure::of(&answer)),
        }
    }

    fn live(&self, client: &mut HttpClient<'_>, id: &str) -> Result<Value, UploadFailure> {
        let answer = client.ask("GET", &format!("/api/sessions/{id}"), "")?;
        if answer.status == 200 { Ok(answer.json()) } else { Err(UploadFailure::of(&answer)) }
    }

    /// Offset to go on from.
    fn offset(&self, client: &mut HttpClient<'_>, id: &str) -> Result<u64, UploadFailure> {
        let session = &self.live(client, id)?["session"];
        if session["state"] == "failed" {
            return Err(UploadFailure::Never(session["error"]["code"].to_string()));
        }
        Ok(session["offset"].as_u64().unwrap_or(0))
    }

    /// The connection it may go on with is the same, or another one after a WebSocket.
    fn send(&self, mut client: HttpClient<'u>, id: &str, offset: u64) -> Result<HttpClient<'u>, UploadFailure> {
        if self.number.is_multiple_of(2) {
            self.put(&mut client, id, offset)?;
            return Ok(client);
        }
        self.socket(&mut client, id, offset)?;
        drop(client);
        self.connect()
    }

    fn put(&self, client: &mut HttpClient<'_>, id: &str, offset: u64) -> Result<(), UploadFailure> {
        let headers = format!("Content-Type: application/octet-stream\r\nContent-Length: {}\r\n", self.length() - offset);
        client.begin("PUT", &format!("/api/sessions/{id}/data?offset={offset}"), &headers)?;
        for (due, piece) in self.pieces(offset) {
            // An answer before the end is a refusal.
            if client.listen(due.saturating_duration_since(Instant::now()))? {
                break;
            }
            client.send(self.crowd.log.plain(piece))?;
        }
        let answer = client.answer()?;
        if answer.status == 200 { Ok(()) } else { Err(UploadFailure::of(&answer)) }
    }

    fn socket(&self, client: &mut HttpClient<'_>, id: &str, offset: u64) -> Result<(), UploadFailure> {
        client.begin("GET", &format!("/api/sessions/{id}/socket?offset={offset}"), &(UPGRADE.join("\r\n") + "\r\n"))?;
        let answer = client.answer()?;
        if answer.status != 101 {
            return Err(UploadFailure::of(&answer));
        }
        let mut talk = SocketReplies { client, incoming: IncomingFrames::default(), taken: offset, window_bytes: 0, done: false };
        for (due, piece) in self.pieces(offset) {
            talk.wait(due, (piece.start - self.stretch.range.start) as u64)?;
            let (mask, bytes) = self.crowd.log.masked(piece);
            let mut message = head(BINARY, bytes.len(), mask);
            message.extend_from_slice(bytes);
            talk.client.send(&message)?;
        }
        while !talk.done {
            talk.hear(MESSAGE_TIME_MAX)?;
        }
        Ok(())
    }

    /// Pieces from `offset` on, with their times. A late sender does not catch up: the line has no
    /// more.
    fn pieces(&self, offset: u64) -> impl Iterator<Item = (Instant, Range<usize>)> {
        let rate = self.crowd.plan.bytes_per_second.max(1);
        let piece_bytes = (rate / PIECES_PER_SECOND).max(1) as usize;
        let (mut at, end) = (self.stretch.range.start + offset as usize, self.stretch.range.end);
        let mut due = Instant::now();
        std::iter::from_fn(move || {
            let piece = at..end.min(at + piece_bytes);
            at = piece.end;
            due = (due + Duration::from_secs_f64(piece.len() as f64 / rate as f64)).max(Instant::now());
            (!piece.is_empty()).then_some((due, piece))
        })
    }
}

/// The server's side of a WebSocket, as far as it was heard.
struct SocketReplies<'c, 'a> {
    client: &'c mut HttpClient<'a>,
    incoming: IncomingFrames,
    taken: u64,
    window_bytes: u64,
    done: bool,
}

impl SocketReplies<'_, '_> {
    /// Listens until it is time, and until there is room for more after `sent`.
    fn wait(&mut self, due: Instant, sent: u64) -> Result<(), UploadFailure> {
        loop {
            let full = sent >= self.taken + self.window_bytes;
            let left = if full { MESSAGE_TIME_MAX } else { due.saturating_duration_since(Instant::now()) };
            if left.is_zero() || !self.heard(left)? {
                return if full { Err(io::Error::from(ErrorKind::TimedOut).into()) } else { Ok(()) };
            }
        }
    }

    fn hear(&mut self, time: Duration) -> Result<(), UploadFailure> {
        if self.heard(time)? { Ok(()) } else { Err(io::Error::from(ErrorKind::TimedOut).into()) }
    }

    /// True if a message came within that time.
    fn heard(&mut self, time: Duration) -> Result<bool, UploadFailure> {
        let Some(said) = self.incoming.next(self.client, time)? else { return Ok(false) };
        let ServerMessage::Text(text) = said else { return Err(io::Error::from(ErrorKind::ConnectionAborted).into()) };
        match text["type"].as_str() {
            Some("ready") => self.window_bytes = text["window_bytes"].as_u64().unwrap_or(0),
            Some("taken") => self.taken = text["offset"].as_u64().unwrap_or(self.taken),
            Some("done") => self.done = true,
            _ => return Err(UploadFailure::named(text["error"]["code"].as_str().unwrap_or("no_code").to_owned(), None)),
        }
        Ok(true)
    }
}

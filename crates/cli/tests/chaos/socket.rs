//! An upload as a WebSocket, over a connection that may break at any byte.

use crate::answer::Answer;
use crate::op::{Body, Call, NONE, Op, excuses, name};
use rorqual_testkit::proxy::ConnectionFault;
use rorqual_testkit::websocket::{BINARY, CLOSE, ServerFrame, TEXT, UPGRADE, frame, hear};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The server says something sooner: it takes an upload that sends nothing for interrupted after 60
/// s.
const WORD_TIME_MAX: Duration = Duration::from_secs(90);

/// The last message of the server.
pub(crate) enum Said {
    /// Instead of a WebSocket.
    Answer(Answer),
    /// `done`.
    Done,
    /// A close, to a client that pauses.
    Paused,
    /// The status and the error.
    Error(u16, Value),
    /// Nothing, for a reason.
    Broken,
}

/// Way in which a client ends its upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The announced size has come then.
    Size,
    /// It says so.
    Said,
    /// It closes in order, to come back.
    Pause,
    /// It leaves without a word.
    Leave,
}

/// Result of one WebSocket.
pub(crate) struct Brought {
    pub(crate) said: Said,
    /// The last offset that was acknowledged.
    pub(crate) taken: Option<u64>,
}

/// Sends `bytes` from `offset` on.
pub(crate) fn send(op: &mut Op<'_>, target: &str, offset: u64, bytes: &[u8], ending: Ending, fault: ConnectionFault) -> Brought {
    let life = op.kit.lives.current();
    let call = UPGRADE[1..].iter().fold(Call::new("GET", target, Body::NONE), |call, header| call.header(*header));
    let head = String::from_utf8(call.head(&life)).expect("text").replace("Connection: close", "Connection: Upgrade");
    let nothing = Brought { said: Said::Broken, taken: None };
    let Some(mut through) = op.connect(&life, fault) else { return nothing };
    let _ = through.stream.write_all(head.as_bytes());
    let mut stream = through.stream.try_clone().expect("a descriptor more");
    let answer = upgrade(&mut stream);
    let mut brought = match answer {
        None => nothing,
        Some(answer) if answer.status == 101 => talk(op, &mut through.stream, stream, offset, bytes, ending),
        Some(answer) => Brought { said: Said::Answer(answer), taken: None },
    };
    let struck = through.struck();
    op.note(fault, struck);
    let label = match &brought.said {
        Said::Answer(answer) => answer.label(),
        Said::Done => "101 done".to_owned(),
        Said::Paused => "101 paused".to_owned(),
        Said::Error(status, error) => format!("101 {} {}", 4000 + status, error["code"].as_str().unwrap_or_default()),
        Said::Broken => "broken".to_owned(),
    };
    op.kit.tallies.answered(if struck { name(fault) } else { NONE }, &label);
    let half_closed = matches!(fault, ConnectionFault::HalfClose { .. }) && struck;
    if matches!(brought.said, Said::Broken) && !half_closed && !(excuses(fault) && struck) && op.kit.lives.holds(life.number) {
        op.wrong(&format!("{target}: a WebSocket that ended without a word ({fault:?}, struck: {struck})"));
    }
    if let Said::Error(status, error) = &brought.said {
        let code = error["code"].as_str().unwrap_or_default();
        if !op.kit.documented.has(*status, code) || code == "internal" {
            op.wrong(&format!("{target}: {status} {code:?} is in no document: {error}"));
        }
    }
    // A part that was taken is acknowledged by the error.
    if let Said::Error(_, error) = &brought.said {
        brought.taken = error["offset"].as_u64().or(brought.taken);
    }
    brought
}

/// Reads the answer to the request for an upgrade.
fn upgrade(stream: &mut TcpStream) -> Option<Answer> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    if !head.starts_with(b"HTTP/1.1 101") {
        let _ = stream.read_to_end(&mut head);
    }
    Answer::parse(&head, "GET")
}

fn talk(op: &mut Op<'_>, stream: &mut TcpStream, reader: TcpStream, offset: u64, bytes: &[u8], ending: Ending) -> Brought {
    let (sender, words) = channel();
    let listener = std::thread::spawn(move || {
        let mut reader = reader;
        while let Ok(Some(word)) = hear(&mut reader) {
            let last = matches!(word, ServerFrame::Close(_));
            if sender.send(word).is_err() || last {
                return;
            }
        }
    });
    let mut talk = Talk { words, taken: offset, window: 64 << 10, last: None, closed: false, paused: false };
    let mut at = 0;
    while at < bytes.len() && !talk.closed {
        let length = (1 + op.random.below(300_000)).min(bytes.len() - at);
        if stream.write_all(&frame(BINARY, &bytes[at..at + length])).is_err() {
            break;
        }
        at += length;
        talk.listen(offset + at as u64);
    }
    let whole = at == bytes.len() && !talk.closed;
    match ending {
        Ending::Said if whole => drop(stream.write_all(&frame(TEXT, b"{\"type\":\"end\"}"))),
        Ending::Pause if whole => {
            talk.paused = stream.write_all(&frame(CLOSE, &1000_u16.to_be_bytes())).is_ok();
        }
        Ending::Leave if whole => {
            (talk.closed, talk.paused) = (true, true);
        }
        _ => {}
    }
    talk.end();
    let _ = stream.shutdown(std::net::Shutdown::Both);
    drop(listener.join());
    Brought { taken: Some(talk.taken), said: talk.said() }
}

/// Messages that were heard.
struct Talk {
    words: Receiver<ServerFrame>,
    taken: u64,
    window: u64,
    last: Option<Value>,
    closed: bool,
    /// It was our wish.
    paused: bool,
}

impl Talk {
    /// Waits for as long as more than the window is on its way.
    fn listen(&mut self, sent: u64) {
        while let Ok(word) = self.words.try_recv() {
            self.take(word);
        }
        while !self.closed && sent > self.taken + self.window {
            self.wait();
        }
    }

    fn wait(&mut self) {
        match self.words.recv_timeout(WORD_TIME_MAX) {
            Ok(word) => self.take(word),
            Err(_) => (self.closed, self.paused) = (true, false),
        }
    }

    fn end(&mut self) {
        while !self.closed {
            self.wait();
        }
    }

    fn take(&mut self, word: ServerFrame) {
        match word {
            ServerFrame::Close(_) => self.closed = true,
            ServerFrame::Pong(_) => {}
            ServerFrame::Text(text) => match text["type"].as_str() {
                Some("ready") => self.window = text["window_bytes"].as_u64().unwrap_or(self.window),
                Some("taken") => self.taken = text["offset"].as_u64().unwrap_or(self.taken),
                _ => self.last = Some(text),
            },
        }
    }

    fn said(self) -> Said {
        let Some(last) = self.last else { return if self.paused && self.closed { Said::Paused } else { Said::Broken } };
        if last["type"] == "done" {
            return Said::Done;
        }
        let error = last["error"].clone();
        let status = match error["code"].as_str() {
            Some("offset_mismatch" | "busy" | "finished" | "cancelled" | "displaced") => 409,
            Some("too_long") => 413,
            Some("unknown_format" | "bad_input" | "too_dense") => 422,
            _ => 400,
        };
        Said::Error(status, error)
    }
}

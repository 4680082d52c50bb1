//! One operation of a client: its requests, each over a connection of its own with some fault, and
//! the answers that may come.

use crate::answer::Answer;
use crate::kit::Kit;
use crate::lives::Life;
use rorqual_testkit::generate::Rng;
use rorqual_testkit::proxy::{ConnectionFault, PIECE_BYTES, ProxyConnection, ProxyDirection};
use std::collections::BTreeSet;
use std::io::{ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

/// A server that lives answers sooner, whatever happens to it here.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(90);

/// Longer than the server waits for the next bytes of an upload.
const STALL_LONG: Duration = Duration::from_secs(70);

/// All delays of a request together.
const DELAY_MAX: Duration = Duration::from_secs(1);

/// A client that hears nothing through a proxy that hangs leaves after this long.
const PATIENCE: Duration = Duration::from_millis(700);

/// A repeated request is answered sooner, or never.
const RETRY_TIME_MAX: Duration = Duration::from_secs(60);

/// Ours are shorter.
const HEAD_BYTES_MAX: u64 = 600;

/// Requests of an operation that meet a fault. It has to come to its end.
const FAULTS_MAX: u32 = 5;

/// A body, and whether its length is told.
#[derive(Clone, Copy)]
pub(crate) enum Body<'a> {
    Known(&'a [u8]),
    Chunked(&'a [u8]),
}

impl<'a> Body<'a> {
    pub(crate) const NONE: Self = Self::Known(&[]);

    fn bytes(self) -> &'a [u8] {
        match self {
            Self::Known(bytes) | Self::Chunked(bytes) => bytes,
        }
    }
}

/// A request.
pub(crate) struct Call<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: String,
    pub(crate) headers: Vec<String>,
    pub(crate) body: Body<'a>,
    /// Its answer may break off: the rows that it is of may go meanwhile.
    pub(crate) may_break: bool,
}

impl<'a> Call<'a> {
    pub(crate) fn new(method: &'a str, target: impl Into<String>, body: Body<'a>) -> Self {
        Self { method, target: target.into(), headers: Vec::new(), body, may_break: false }
    }

    pub(crate) fn header(mut self, header: impl Into<String>) -> Self {
        self.headers.push(header.into());
        self
    }

    pub(crate) fn head(&self, life: &Life) -> Vec<u8> {
        let Life { address, token, .. } = life;
        let mut head =
            format!("{} {} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n", self.method, self.target);
        self.headers.iter().for_each(|header| head += &format!("{header}\r\n"));
        head += &match self.body {
            Body::Known(bytes) => format!("Content-Length: {}\r\nConnection: close\r\n\r\n", bytes.len()),
            Body::Chunked(_) => "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n".to_owned(),
        };
        head.into_bytes()
    }
}

pub(crate) struct Op<'a> {
    pub(crate) kit: &'a Kit,
    pub(crate) random: Rng,
    /// Unlike any other operation's.
    pub(crate) name: String,
    /// Faults that it met.
    pub(crate) met: BTreeSet<&'static str>,
    /// Its next upload is to stall for longer than the server waits.
    pub(crate) stalls_long: bool,
    troubles_before: usize,
    pub(crate) faults_left: u32,
}

impl<'a> Op<'a> {
    pub(crate) fn new(kit: &'a Kit, client: u64, operation: u64) -> Self {
        let random = kit.random(client, operation);
        let troubles_before = kit.tallies.troubles();
        let name = format!("chaos-{client}-{operation}.log");
        Self { kit, random, name, met: BTreeSet::new(), stalls_long: false, troubles_before, faults_left: FAULTS_MAX }
    }

    /// Faults of connections and of the process that it met.
    pub(crate) fn all_met(&self) -> BTreeSet<&'static str> {
        self.met.iter().copied().chain(self.kit.tallies.troubles_since(self.troubles_before)).collect()
    }

    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.random.below(times) == 0
    }

    /// A fault for a request of so many bytes in all, once in `times`.
    pub(crate) fn fault(&mut self, bytes: usize, times: usize) -> ConnectionFault {
        if self.faults_left == 0 || !self.one_in(times) {
            return ConnectionFault::None;
        }
        self.faults_left -= 1;
        let at = self.random.below(bytes) as u64;
        // An answer's head has some 100 bytes.
        let down = self.random.below(300) as u64;
        let time = Duration::from_millis(100 + self.random.below(900) as u64);
        match self.random.below(12) {
            0 | 1 => ConnectionFault::Cut { side: ProxyDirection::Up, at, reset: false },
            2 => ConnectionFault::Cut { side: ProxyDirection::Up, at, reset: true },
            3 => ConnectionFault::Cut { side: ProxyDirection::Down, at: down, reset: self.one_in(2) },
            4 => ConnectionFault::Stall { side: ProxyDirection::Up, at, time },
            5 => ConnectionFault::Stall { side: ProxyDirection::Down, at: down, time },
            6 => ConnectionFault::Hang { side: ProxyDirection::Up, at },
            7 => ConnectionFault::Hang { side: ProxyDirection::Down, at: down },
            8 => ConnectionFault::Trickle {
                side: if self.one_in(2) { ProxyDirection::Up } else { ProxyDirection::Down },
                at: down,
                bytes: 300,
            },
            9 => ConnectionFault::Delay { each: (DELAY_MAX / (bytes / PIECE_BYTES + 1) as u32).min(Duration::from_millis(8)) },
            10 => ConnectionFault::HalfClose { at },
            _ => ConnectionFault::Duplicate { at_once: self.one_in(2) },
        }
    }

    /// The same for a request that moves an upload on, with a body of so many bytes.
    pub(crate) fn fault_of_upload(&mut self, body_bytes: usize) -> ConnectionFault {
        if self.stalls_long && body_bytes > 0 {
            self.stalls_long = false;
            // Behind the head, which has less time.
            return ConnectionFault::Stall {
                side: ProxyDirection::Up,
                at: HEAD_BYTES_MAX + self.random.below(body_bytes) as u64,
                time: STALL_LONG,
            };
        }
        self.fault(body_bytes + 250, 2)
    }

    /// Notes a fault that has come.
    pub(crate) fn note(&mut self, fault: ConnectionFault, struck: bool) {
        if struck {
            self.kit.tallies.came(name(fault));
            self.met.insert(name(fault));
        }
    }

    /// Opens a connection; `None` when that life has ended.
    pub(crate) fn connect(&self, life: &Life, fault: ConnectionFault) -> Option<ProxyConnection> {
        match self.kit.proxy.connect(life.address, fault) {
            Ok(through) => {
                let time = if matches!(fault, ConnectionFault::Hang { .. }) { PATIENCE } else { ANSWER_TIME_MAX };
                through.stream.set_read_timeout(Some(time)).expect("a valid time");
                through.stream.set_write_timeout(Some(time)).expect("a valid time");
                Some(through)
            }
            Err(error) => {
                if self.kit.lives.holds(life.number) {
                    self.kit.tallies.wrong(format!("{}: no connection: {error}", self.name));
                }
                None
            }
        }
    }

    /// Asks once over a connection with that fault. `None` where no whole answer came, and that has
    /// its reason.
    pub(crate) fn once(&mut self, call: &Call<'_>, fault: ConnectionFault) -> Option<Answer> {
        let life = self.kit.lives.current();
        let head = call.head(&life);
        let mut through = self.connect(&life, fault)?;
        // An early answer may close the connection while we still send.
        let sent = through.stream.write_all(&head).and_then(|()| write_body(&mut through, call.body));
        let (bytes, silent) = read_all(&mut through);
        let answer = Answer::parse(&bytes, call.method);
        let struck = through.struck();
        let duplicate =
            if matches!(fault, ConnectionFault::Duplicate { .. }) && answer.is_some() { through.duplicate() } else { None };
        let struck = struck || duplicate.is_some();
        self.note(fault, struck);
        let fault_name = if struck { name(fault) } else { NONE };
        self.kit.tallies.answered(fault_name, &answer.as_ref().map_or("broken".to_owned(), Answer::label));
        match &answer {
            Some(answer) => self.documented(call, answer),
            None => {
                let within_head = matches!(fault, ConnectionFault::HalfClose { at } if at < head.len() as u64);
                let half_closed = matches!(fault, ConnectionFault::HalfClose { .. }) && struck && (within_head || call.may_break);
                // Of a client that leaves soon, the server may not have been as quick.
                let left = matches!(fault, ConnectionFault::Hang { .. }) && silent;
                let excused = (excuses(fault) && struck) || left || half_closed || call.may_break;
                let excused = excused || !self.kit.lives.holds(life.number);
                if !excused {
                    let what = format!("{} {}: {} bytes of an answer", call.method, call.target, bytes.len());
                    self.wrong(&format!("{what} ({fault:?}, struck: {struck}, sent: {sent:?}, silent: {silent})"));
                }
            }
        }
        if let Some(duplicate) = duplicate {
            self.judge_duplicate(call, fault, answer.as_ref(), &duplicate, &life);
        }
        answer
    }

    /// Of two sendings of one request that moves an upload on, one is taken, and the other is
    /// refused with its reason.
    fn judge_duplicate(&mut self, call: &Call<'_>, fault: ConnectionFault, first: Option<&Answer>, second: &[u8], life: &Life) {
        let Some(second) = Answer::parse(second, call.method) else {
            // A reset may come before the answer was read, where all was sent into a refusal.
            if self.kit.lives.holds(life.number) && !call.may_break {
                let (second, met) = (String::from_utf8_lossy(second), self.all_met());
                self.wrong(&format!(
                    "{} {}: no whole answer to its second sending ({fault:?}, {met:?}): {second:?}",
                    call.method, call.target
                ));
            }
            return;
        };
        self.kit.tallies.answered(name(fault), &format!("second: {}", second.label()));
        self.documented(call, &second);
        let moves = call.target.contains("/data?") || call.method == "PATCH";
        let both = first.is_some_and(|first| first.status < 300) && second.status < 300;
        if moves && both && !call.body.bytes().is_empty() {
            self.wrong(&format!("{} {}: taken twice", call.method, call.target));
        }
    }

    /// Every failure has a clear status.
    fn documented(&self, call: &Call<'_>, answer: &Answer) {
        let (status, code) = (answer.status, answer.code());
        // Answers about conditions and ranges, and those without a body, have their status alone.
        let bare = call.method == "HEAD"
            || (call.target.starts_with("/store") && matches!(status, 412 | 416))
            || call.target == "/readyz";
        let known = self.kit.documented.has(status, &code) && code != "internal" && !self.forgotten_on_purpose(&code);
        let later = ["sessions_full", "exports_full", "renders_full", "store_busy"].contains(&code.as_str());
        if later && answer.header("retry-after").is_none() {
            self.wrong(&format!("{} {}: {status} {code} without Retry-After", call.method, call.target));
        }
        if status >= 400 && !bare && !known {
            self.wrong(&format!("{} {}: {status} {code:?} is in no document: {:?}", call.method, call.target, answer.json()));
        }
    }

    /// True where an undocumented answer is to be found on purpose.
    fn forgotten_on_purpose(&self, code: &str) -> bool {
        self.kit.leak && code == "offset_mismatch"
    }

    /// Asks until there is an answer, for requests that may be repeated.
    pub(crate) fn ask(&mut self, call: &Call<'_>) -> Option<Answer> {
        let deadline = Instant::now() + RETRY_TIME_MAX;
        while Instant::now() < deadline {
            let fault = self.fault(400, 12);
            if let Some(answer) = self.once(call, fault) {
                return Some(answer);
            }
        }
        self.wrong(&format!("{} {}: no answer in {RETRY_TIME_MAX:?}", call.method, call.target));
        None
    }

    pub(crate) fn get(&mut self, target: impl Into<String>) -> Option<Answer> {
        self.ask(&Call::new("GET", target, Body::NONE))
    }

    pub(crate) fn wrong(&self, what: &str) {
        self.kit.tallies.wrong(format!("{}: {what}", self.name));
    }
}

/// An upload that stalls for longer than the server waits.
pub(crate) const STALLS_LONG: &str = "request stalls for 70 s";

/// A connection without a fault.
pub(crate) const NONE: &str = "none";

pub(crate) const fn name(fault: ConnectionFault) -> &'static str {
    match fault {
        ConnectionFault::None => NONE,
        ConnectionFault::Cut { side: ProxyDirection::Up, reset: false, .. } => "request cut",
        ConnectionFault::Cut { side: ProxyDirection::Up, reset: true, .. } => "request reset",
        ConnectionFault::Cut { side: ProxyDirection::Down, .. } => "answer cut",
        ConnectionFault::Stall { time, .. } if time.as_secs() >= STALL_LONG.as_secs() => STALLS_LONG,
        ConnectionFault::Stall { side: ProxyDirection::Up, .. } => "request stalls",
        ConnectionFault::Stall { side: ProxyDirection::Down, .. } => "answer stalls",
        ConnectionFault::Hang { side: ProxyDirection::Up, .. } => "request hangs",
        ConnectionFault::Hang { side: ProxyDirection::Down, .. } => "answer hangs",
        ConnectionFault::Trickle { .. } => "one byte at a time",
        ConnectionFault::Delay { .. } => "delays",
        ConnectionFault::HalfClose { .. } => "half-closed",
        ConnectionFault::Duplicate { at_once: true } => "sent twice at once",
        ConnectionFault::Duplicate { at_once: false } => "sent again",
    }
}

/// All that a connection may meet.
pub(crate) const ALL: [&str; 12] = [
    "request cut",
    "request reset",
    "answer cut",
    "request stalls",
    "answer stalls",
    "request hangs",
    "answer hangs",
    "one byte at a time",
    "delays",
    "half-closed",
    "sent twice at once",
    "sent again",
];

/// True if there may be no answer.
pub(crate) const fn excuses(fault: ConnectionFault) -> bool {
    matches!(fault, ConnectionFault::Cut { .. } | ConnectionFault::Hang { .. })
}

fn write_body(through: &mut ProxyConnection, body: Body<'_>) -> std::io::Result<()> {
    match body {
        Body::Known(bytes) => through.stream.write_all(bytes),
        Body::Chunked(bytes) => {
            for chunk in bytes.chunks(60_001) {
                let mut framed = format!("{:x}\r\n", chunk.len()).into_bytes();
                framed.extend_from_slice(chunk);
                framed.extend_from_slice(b"\r\n");
                through.stream.write_all(&framed)?;
            }
            through.stream.write_all(b"0\r\n\r\n")
        }
    }
}

/// Everything that comes, and whether it ended in silence.
fn read_all(through: &mut ProxyConnection) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    // A reset after a whole answer is the end of it.
    let silent = match through.stream.read_to_end(&mut bytes) {
        Err(error) => matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
        Ok(_) => false,
    };
    if silent {
        let _ = through.stream.shutdown(Shutdown::Both);
    }
    (bytes, silent)
}

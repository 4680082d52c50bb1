//! An upload, by any way, through whatever comes, to its totals.

use crate::answer::Answer;
use crate::inputs::{Input, agree, totals};
use crate::lives::End;
use crate::op::{Body, Call, NONE, Op};
use crate::questions;
use crate::socket::{self, Ending, Said};
use crate::state::{self, Fate, Known};
use data_encoding::BASE64;
use rorqual_digest::{Algorithm, DigestForm, Hasher};
use rorqual_testkit::proxy::ConnectionFault;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// An upload that has not come to its end by then never will: 100 MB take a debug build half a
/// minute, and longer where much else is done and servers end.
const TIME_MAX: Duration = Duration::from_secs(300);

/// Between two looks at a busy server.
const PAUSE: Duration = Duration::from_millis(20);

/// An upload that was away for longer may find its place given to another.
const GRACE: Duration = Duration::from_millis(2_500);

/// One input in so many is the large one.
const LARGE_ONE_IN: usize = 40;

/// Bytes of a part that tus sends with a checksum, at most.
const PART_BYTES_MAX: usize = 4 << 20;

/// Way in which the bytes are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// PUTs of a session of known size.
    Put,
    /// PUTs of unknown length into a session of unknown size.
    PutChunked,
    /// One request, gone on with by PUT where it breaks off.
    One,
    Socket,
    /// Of unknown size.
    SocketOpen,
    Tus,
    TusChecked,
}

const WAYS: [Way; 7] = [Way::Put, Way::PutChunked, Way::One, Way::Socket, Way::SocketOpen, Way::Tus, Way::TusChecked];

impl Way {
    const fn name(self) -> &'static str {
        match self {
            Self::Put => "PUT",
            Self::PutChunked => "PUT of unknown length",
            Self::One => "one request",
            Self::Socket => "WebSocket",
            Self::SocketOpen => "WebSocket of unknown length",
            Self::Tus => "tus",
            Self::TusChecked => "tus with checksums",
        }
    }

    const fn is_tus(self) -> bool {
        matches!(self, Self::Tus | Self::TusChecked)
    }

    /// True if the server knows the size from the start.
    const fn sized(self) -> bool {
        !matches!(self, Self::PutChunked | Self::SocketOpen)
    }
}

/// Outcome of one step.
enum UploadStep {
    Again,
    /// The server is busy with the bytes before, or has no place.
    Wait,
    Finished(Value),
    /// Ended otherwise, as was wanted.
    Over,
}

struct Job<'a> {
    input: &'a Input,
    bytes: &'a [u8],
    way: Way,
    id: Option<String>,
    /// True after a creation was sent and its answer did not come.
    maybe_made: bool,
    made: Instant,
    /// In which it was last seen.
    life: u64,
    seen: Instant,
    acknowledged: u64,
    sent: u64,
    /// A connection of its has broken.
    broke: bool,
    /// Offset that the server named in a refusal.
    told: Option<u64>,
}

/// One upload.
pub(crate) fn once(op: &mut Op<'_>) {
    let inputs = &op.kit.inputs;
    let small = inputs.len() - 1;
    let which = if op.one_in(LARGE_ONE_IN) { small } else { op.random.below(small) };
    let input = &inputs[which];
    let bytes = match op.random.below(4) {
        0 => &input.gzip,
        1 => &input.zstd,
        _ => &input.plain,
    };
    let way = WAYS[op.random.below(WAYS.len())];
    Job::new(op, input, bytes, way).bring(op);
}

/// Uploads the large input once, without faults on its connections.
pub(crate) fn large(op: &mut Op<'_>) {
    op.faults_left = 0;
    let input = &op.kit.inputs[op.kit.inputs.len() - 1];
    Job::new(op, input, &input.plain, Way::Put).bring(op);
}

impl<'a> Job<'a> {
    fn new(op: &Op<'_>, input: &'a Input, bytes: &'a [u8], way: Way) -> Self {
        let (now, life) = (Instant::now(), op.kit.lives.current().number);
        Self {
            input,
            bytes,
            way,
            id: None,
            maybe_made: false,
            made: now,
            life,
            seen: now,
            acknowledged: 0,
            sent: 0,
            broke: false,
            told: None,
        }
    }

    /// To its end, whatever that is, and out of the way.
    fn bring(mut self, op: &mut Op<'_>) {
        let end = self.run(op);
        self.clean(op);
        let met = op.all_met();
        let met = if met.is_empty() { [NONE].into() } else { met };
        op.kit.tallies.totals(&met, end != "WRONG");
        op.kit.tallies.ended(self.way.name(), end);
    }
}

impl Job<'_> {
    fn run(&mut self, op: &mut Op<'_>) -> &'static str {
        let deadline = Instant::now() + TIME_MAX;
        let taken_back = op.one_in(24);
        while Instant::now() < deadline {
            match self.step(op, taken_back) {
                UploadStep::Again => {}
                UploadStep::Wait => std::thread::sleep(PAUSE),
                UploadStep::Over => return "taken back",
                UploadStep::Finished(live) => return self.finished(op, &live),
            }
        }
        op.wrong(&format!("{:?} of {} bytes: not done in {TIME_MAX:?}, at {}", self.way, self.bytes.len(), self.acknowledged));
        "WRONG"
    }

    fn step(&mut self, op: &mut Op<'_>, taken_back: bool) -> UploadStep {
        let Some(id) = self.id.clone() else { return self.make(op) };
        if self.life != op.kit.lives.current().number {
            return self.restarted(op, &id);
        }
        let Some(live) = op.get(format!("/api/sessions/{id}")) else { return UploadStep::Over };
        if live.status == 404 {
            return self.gone(op, &id);
        }
        let live = live.json();
        let session = &live["session"];
        let offset = session["offset"].as_u64().unwrap_or(u64::MAX);
        // Of a life that has ended meanwhile this says nothing.
        if op.kit.lives.holds(self.life) && (offset < self.acknowledged || offset > self.sent) {
            op.wrong(&format!("offset {offset}, {} acknowledged, {} sent: {session}", self.acknowledged, self.sent));
        }
        self.acknowledged = self.acknowledged.max(offset.min(self.sent));
        match session["state"].as_str().unwrap_or_default() {
            "receiving" => UploadStep::Wait,
            "finished" => UploadStep::Finished(live),
            "waiting" | "interrupted" if taken_back && offset > 0 => self.take_back(op, &id),
            "waiting" | "interrupted" => self.go_on(op, &id, offset),
            "failed" if session["error"]["code"] == "displaced" => self.displaced(op),
            other => {
                op.wrong(&format!("{:?}: the session is {other}: {session}", self.way));
                UploadStep::Over
            }
        }
    }

    /// Starts the upload anew. Displacement is right only after an absence of the grace time, or a
    /// restart of the server.
    fn displaced(&mut self, op: &mut Op<'_>) -> UploadStep {
        op.kit.tallies.ended(self.way.name(), "(displaced)");
        if self.seen.elapsed() < GRACE && self.life == op.kit.lives.current().number {
            op.wrong(&format!("displaced {:?} after it was seen", self.seen.elapsed()));
        }
        self.anew();
        UploadStep::Again
    }

    fn anew(&mut self) {
        (self.id, self.maybe_made, self.acknowledged, self.sent, self.told) = (None, false, 0, 0, None);
    }

    fn gone(&mut self, op: &mut Op<'_>, id: &str) -> UploadStep {
        // The server may have ended between the two looks.
        if self.life != op.kit.lives.current().number {
            return UploadStep::Again;
        }
        if self.seen.elapsed() < GRACE {
            op.wrong(&format!("{id}: forgotten {:?} after it was seen", self.seen.elapsed()));
        }
        self.anew();
        UploadStep::Again
    }

    fn restarted(&mut self, op: &mut Op<'_>, id: &str) -> UploadStep {
        let life = op.kit.lives.current().number;
        let ends: Vec<End> = op.kit.lives.ends_since(self.life);
        let known = self.known(id, false);
        let fate = state::after_restart(op, &known, &ends);
        if op.kit.lives.current().number != life {
            return UploadStep::Again;
        }
        (self.life, self.seen, self.told) = (life, Instant::now(), None);
        // Bytes that the server had not kept are sent again; their number was judged before.
        self.acknowledged = 0;
        if matches!(fate, Some(Fate::Gone)) {
            self.anew();
        }
        UploadStep::Again
    }

    fn known<'b>(&self, id: &'b str, finished: bool) -> Known<'b> {
        Known {
            id,
            made: self.made,
            seen: self.seen,
            whole: self.sent >= self.bytes.len() as u64,
            compressed: self.bytes != self.input.plain,
            acknowledged: self.acknowledged,
            sent: self.sent,
            finished,
        }
    }

    fn take_back(&self, op: &mut Op<'_>, id: &str) -> UploadStep {
        match op.ask(&Call::new("POST", format!("/api/sessions/{id}/cancel"), Body::NONE)) {
            Some(answer) if matches!(answer.status, 200 | 404) => UploadStep::Over,
            Some(answer) => {
                op.wrong(&format!("cancel: {}", answer.label()));
                UploadStep::Over
            }
            None => UploadStep::Over,
        }
    }

    /// Makes the session, or finds the one that was made without our hearing of it.
    fn make(&mut self, op: &mut Op<'_>) -> UploadStep {
        if self.maybe_made {
            let Some(list) = op.get("/api/sessions") else { return UploadStep::Over };
            (self.life, self.maybe_made) = (op.kit.lives.current().number, false);
            // A displaced session is listed still, and is of an earlier try.
            self.id = ids_of(&list.json(), &op.name, |state| state != "failed").pop();
            // Of one request it is not known how much went out.
            self.sent = if self.id.is_some() && self.way == Way::One { self.bytes.len() as u64 } else { 0 };
            return UploadStep::Again;
        }
        let life = op.kit.lives.current().number;
        let whole = self.way == Way::One;
        let size = if self.way.sized() { json!(self.bytes.len()) } else { Value::Null };
        let announced = json!({"name": op.name, "size": size}).to_string();
        let call = self.creation(&op.name, announced.as_bytes());
        let fault = op.fault(300 + if whole { self.bytes.len() } else { 0 }, if whole { 2 } else { 8 });
        let begun = Instant::now();
        let answer = op.once(&call, fault);
        (self.life, self.made, self.seen) = (life, Instant::now(), seen(begun, answer.as_ref().is_some_and(in_time)));
        match answer {
            None => (self.maybe_made, self.broke) = (true, true),
            Some(answer) => return self.made(op, &answer),
        }
        UploadStep::Again
    }

    fn creation<'b>(&'b self, name: &str, announced: &'b [u8]) -> Call<'b> {
        let size = self.bytes.len();
        match self.way {
            Way::One => Call::new("PUT", format!("/api/upload/{name}"), Body::Known(self.bytes)),
            Way::Tus | Way::TusChecked => {
                let name = BASE64.encode(name.as_bytes());
                let call = Call::new("POST", "/api/tus", Body::NONE).header("Tus-Resumable: 1.0.0");
                call.header(format!("Upload-Length: {size}")).header(format!("Upload-Metadata: filename {name}"))
            }
            _ => Call::new("POST", "/api/sessions", Body::Known(announced)),
        }
    }

    fn made(&mut self, op: &Op<'_>, answer: &Answer) -> UploadStep {
        if self.way == Way::One {
            self.sent = self.bytes.len() as u64;
        }
        let location = answer.header("location").and_then(|location| location.rsplit('/').next()).map(str::to_owned);
        let id = answer.json()["id"].as_str().map(str::to_owned).or(location);
        match (answer.status, id) {
            // Also an upload that broke off says where its session is.
            (200 | 201 | 400 | 408 | 409 | 503, Some(id)) => {
                self.id = Some(id);
                UploadStep::Again
            }
            (503, None) => {
                if answer.header("retry-after").is_none() {
                    op.wrong(&format!("{} without Retry-After", answer.label()));
                }
                std::thread::sleep(PAUSE);
                UploadStep::Wait
            }
            // There were no descriptors for it, or no room.
            (500, None) if answer.code() == "no_temp" => UploadStep::Wait,
            // A request that was half-closed has half a body, which may be none of JSON.
            (400, None) => UploadStep::Again,
            _ => {
                op.wrong(&format!("{:?}: creation answers {}: {}", self.way, answer.label(), answer.json()));
                UploadStep::Over
            }
        }
    }

    /// Sends the missing bytes, or some of them.
    fn go_on(&mut self, op: &mut Op<'_>, id: &str, offset: u64) -> UploadStep {
        if op.one_in(6) {
            self.out_of_order(op, id, offset);
        }
        // As a client would that was refused: from where the refusal said.
        let offset = self.told.take().unwrap_or(offset);
        let rest = &self.bytes[(offset as usize).min(self.bytes.len())..];
        let part = if self.way.sized() && op.one_in(3) { &rest[..op.random.below(rest.len() + 1)] } else { rest };
        self.sent = self.sent.max(offset + part.len() as u64);
        let fault = op.fault_of_upload(part.len());
        match self.way {
            Way::Socket | Way::SocketOpen => {
                let target = format!("/api/sessions/{id}/socket?offset={offset}");
                let ending = match self.way {
                    Way::SocketOpen => Ending::Said,
                    _ if part.len() == rest.len() => Ending::Size,
                    _ if op.one_in(2) => Ending::Pause,
                    _ => Ending::Leave,
                };
                let begun = Instant::now();
                let brought = socket::send(op, &target, offset, part, ending, fault);
                self.seen = seen(begun, said_in_time(&brought.said));
                self.heard(op, brought)
            }
            Way::Tus => self.answered(op, id, part, Body::Known(part), offset, Vec::new(), fault),
            Way::TusChecked => {
                let part = &part[..part.len().min(PART_BYTES_MAX)];
                self.part_checked(op, id, part, offset, fault)
            }
            Way::PutChunked => self.answered(op, id, part, Body::Chunked(part), offset, Vec::new(), fault),
            Way::Put | Way::One => self.answered(op, id, part, Body::Known(part), offset, Vec::new(), fault),
        }
    }

    fn part_checked(&mut self, op: &mut Op<'_>, id: &str, part: &[u8], offset: u64, fault: ConnectionFault) -> UploadStep {
        let mut hasher = Hasher::new(Algorithm::Sha256);
        hasher.update(part);
        let wrong = op.one_in(8);
        if wrong {
            hasher.update(b"damaged");
            op.kit.tallies.came("damaged part");
            op.met.insert("damaged part");
        }
        let header = format!("Upload-Checksum: sha256 {}", hasher.finish().encode(DigestForm::Base64));
        self.answered(op, id, part, Body::Known(part), offset, vec![header], fault)
    }

    /// The request that moves the upload on.
    fn request<'b>(&self, id: &str, body: Body<'b>, offset: u64, headers: Vec<String>) -> Call<'b> {
        if self.way.is_tus() {
            let mut call = Call::new("PATCH", format!("/api/tus/{id}"), body).header("Tus-Resumable: 1.0.0");
            call.headers.push("Content-Type: application/offset+octet-stream".to_owned());
            call.headers.push(format!("Upload-Offset: {offset}"));
            call.headers.extend(headers);
            call
        } else {
            Call::new("PUT", format!("/api/sessions/{id}/data?offset={offset}"), body)
        }
    }

    #[allow(clippy::too_many_arguments, reason = "what a request is made of")]
    fn answered(
        &mut self,
        op: &mut Op<'_>,
        id: &str,
        part: &[u8],
        body: Body<'_>,
        offset: u64,
        headers: Vec<String>,
        fault: ConnectionFault,
    ) -> UploadStep {
        let call = self.request(id, body, offset, headers);
        let begun = Instant::now();
        let answer = op.once(&call, fault);
        self.seen = seen(begun, answer.as_ref().is_some_and(in_time));
        let Some(answer) = answer else {
            self.broke = true;
            return UploadStep::Again;
        };
        match (answer.status, answer.code().as_str()) {
            (200 | 204, _) => {
                self.acknowledged = self.acknowledged.max(offset + part.len() as u64);
                UploadStep::Again
            }
            (409, "offset_mismatch") => {
                self.told = answer.offset();
                UploadStep::Again
            }
            (413, "part_too_long") => {
                // The rows have all the memory, and a long part can't be held for its checksum.
                // Without one it is parsed as it comes.
                self.way = Way::Tus;
                UploadStep::Again
            }
            (409 | 423, "busy") | (503, _) => UploadStep::Wait,
            (400 | 408, "interrupted") | (408, "too_slow") => UploadStep::Again,
            // The state says why; a life may have ended, or a second sending have brought the rest.
            (404 | 409 | 410, _) | (460, "checksum_mismatch") => UploadStep::Again,
            _ => {
                op.wrong(&format!("{:?} at {offset}: {}: {}", self.way, answer.label(), answer.json()));
                UploadStep::Over
            }
        }
    }

    fn heard(&mut self, op: &Op<'_>, brought: socket::Brought) -> UploadStep {
        self.broke |= matches!(brought.said, Said::Broken | Said::Paused);
        match brought.said {
            Said::Done | Said::Paused | Said::Broken => {}
            Said::Answer(answer) if matches!(answer.status, 400 | 404 | 409 | 503) => {}
            Said::Answer(answer) => op.wrong(&format!("a WebSocket is refused: {}", answer.label())),
            Said::Error(409, error) if error["code"] == "offset_mismatch" => self.told = error["offset"].as_u64(),
            Said::Error(409 | 408 | 400 | 503, _) => {}
            Said::Error(status, error) => op.wrong(&format!("a WebSocket ends with {status} {error}")),
        }
        if let Some(taken) = brought.taken.filter(|taken| *taken <= self.sent) {
            self.acknowledged = self.acknowledged.max(taken);
        }
        UploadStep::Again
    }

    /// Some bytes from a later or an earlier place: they have to be refused, with the right place.
    fn out_of_order(&self, op: &mut Op<'_>, id: &str, offset: u64) {
        let size = self.bytes.len() as u64;
        let wrong = if op.one_in(2) {
            (offset + 1 + op.random.below(50_000) as u64).min(size)
        } else {
            op.random.below(offset as usize + 1) as u64
        };
        if wrong == offset {
            return;
        }
        let body = &self.bytes[wrong as usize..(wrong + 1_000).min(size) as usize];
        let life = op.kit.lives.current().number;
        let call = self.request(id, Body::Known(body), wrong, Vec::new());
        let Some(answer) = op.once(&call, ConnectionFault::None) else { return };
        op.kit.tallies.came("out of order");
        op.kit.tallies.answered("out of order", &answer.label());
        op.met.insert("out of order");
        let right = match (answer.status, answer.code().as_str()) {
            // The server may come to read the bytes of a broken connection only now.
            (409, "offset_mismatch") if self.broke => answer.offset().is_some_and(|at| at >= offset && at <= self.sent),
            (409, "offset_mismatch") => answer.offset() == Some(offset),
            (409 | 423, "busy") => true,
            // It was displaced, or another life does not know it.
            (404 | 409 | 410, _) => true,
            _ => false,
        };
        if !right && life == self.life && op.kit.lives.holds(life) {
            op.wrong(&format!("{:?} at {wrong} instead of {offset}: {}: {}", self.way, answer.label(), answer.json()));
        }
    }

    /// Everything was taken: the totals have to be those of the bytes.
    fn finished(&self, op: &mut Op<'_>, live: &Value) -> &'static str {
        let Some(id) = &self.id else { return "WRONG" };
        let right = self.right(op, live);
        if !right {
            return "WRONG";
        }
        questions::about(op, id, &self.input.totals);
        if let Some(vitals) = op.get("/api/vitals") {
            op.kit.tallies.spilled(vitals.json()["spilled_bytes"].as_u64().unwrap_or(0));
        }
        self.over_the_end(op, id)
    }

    fn right(&self, op: &Op<'_>, live: &Value) -> bool {
        let mut expected = self.input.totals.clone();
        if op.kit.leak {
            expected["lines"]["total"] = json!(-1);
        }
        let whole = live["session"]["offset"] == self.bytes.len();
        let right = whole && agree(&live["report"], &expected);
        if !right {
            let found = totals(&live["report"]);
            op.kit.tallies.wrong_total(format!(
                "{:?} of {} bytes: {} with {found}, expected {expected}",
                self.way,
                self.bytes.len(),
                live["session"]
            ));
        }
        right
    }

    /// Looks for the finished session in the next life, where the server ends soon.
    fn over_the_end(&self, op: &mut Op<'_>, id: &str) -> &'static str {
        if !op.one_in(4) {
            return "done";
        }
        let until = Instant::now() + Duration::from_secs(1);
        while op.kit.lives.holds(self.life) && Instant::now() < until {
            std::thread::sleep(PAUSE);
        }
        let life = op.kit.lives.current().number;
        if life == self.life {
            return "done";
        }
        let ends = op.kit.lives.ends_since(self.life);
        let fate = state::after_restart(op, &self.known(id, true), &ends);
        if !matches!(fate, Some(Fate::Kept)) || op.kit.lives.current().number != life {
            return "done";
        }
        let Some(live) = op.get(format!("/api/sessions/{id}")) else { return "WRONG" };
        let finished = live.json()["session"]["state"] == "finished";
        if !finished || self.right(op, &live.json()) { "done, and over an end" } else { "WRONG" }
    }

    /// Whatever there is of this operation is forgotten.
    fn clean(&self, op: &mut Op<'_>) {
        let mut ids: Vec<String> = self.id.iter().cloned().collect();
        loop {
            for id in ids {
                let call = if self.way.is_tus() && op.one_in(2) {
                    Call::new("DELETE", format!("/api/tus/{id}"), Body::NONE).header("Tus-Resumable: 1.0.0")
                } else {
                    Call::new("DELETE", format!("/api/sessions/{id}"), Body::NONE)
                };
                match op.ask(&call) {
                    Some(answer) if matches!(answer.status, 204 | 404) => {}
                    Some(answer) => op.wrong(&format!("DELETE answers {}", answer.label())),
                    None => return,
                }
            }
            let Some(list) = op.get("/api/sessions") else { return };
            ids = ids_of(&list.json(), &op.name, |_| true);
            if ids.is_empty() {
                return;
            }
        }
    }
}

/// Codes for a client that stood still, or was so slow that others got the place.
const TOO_LATE: [&str; 3] = ["too_slow", "interrupted", "displaced"];

/// Time at which the server surely heard of us: a connection that breaks, or is told that it was
/// too slow, may have stood still for long.
fn seen(begun: Instant, in_time: bool) -> Instant {
    if in_time { Instant::now() } else { begun }
}

fn in_time(answer: &Answer) -> bool {
    !TOO_LATE.contains(&answer.code().as_str())
}

fn said_in_time(said: &Said) -> bool {
    match said {
        Said::Answer(answer) => in_time(answer),
        Said::Error(_, error) => !TOO_LATE.contains(&error["code"].as_str().unwrap_or_default()),
        Said::Done | Said::Paused => true,
        Said::Broken => false,
    }
}

/// The sessions of that name in such a state.
fn ids_of(list: &Value, name: &str, wanted: impl Fn(&Value) -> bool) -> Vec<String> {
    let sessions = list["sessions"].as_array().cloned().unwrap_or_default();
    sessions
        .iter()
        .filter(|session| session["name"] == name && wanted(&session["state"]))
        .filter_map(|session| session["id"].as_str().map(str::to_owned))
        .collect()
}

//! Viewers: of the live events of one upload, and of views of others.

use super::LoadShared;
use super::client::HttpClient;
use super::fate::ViewerFate;
use crate::generate::Rng;
use std::io::{self, ErrorKind};
use std::thread;
use std::time::{Duration, Instant};

/// The page's question.
const VIEW: &str = r#"{"from": null, "to": null, "where": "", "stack": "class", "buckets": 400, "top": 20}"#;

/// Answer while there is nothing to look at yet.
const PAUSE: Duration = Duration::from_millis(100);

/// Begin of an event; another one ends the events of a session.
const EVENT: &[u8] = b"event: live";
const EVENT_END: &[u8] = b"event: end";

const READ_BYTES: usize = 64 << 10;

pub(super) fn viewer(crowd: &LoadShared<'_>, number: usize) -> ViewerFate {
    let mut viewer = Viewer { crowd, random: Rng::new(number as u64), seen: ViewerFate::default() };
    // Not all at the same moment.
    thread::sleep(crowd.plan.view_every.mul_f64(number as f64 / crowd.plan.viewers as f64));
    let (mut live, mut asking) = (None, None);
    while !crowd.over() {
        let until = Instant::now() + crowd.plan.view_every;
        live = viewer.noted(live, |viewer, live| viewer.follow(live, until));
        asking = viewer.noted(asking, Viewer::ask);
    }
    viewer.seen
}

/// Live events of a session as read so far; the last bytes may be the first of a line.
struct LiveReader<'a> {
    client: HttpClient<'a>,
    tail: Vec<u8>,
    ended: bool,
}

struct Viewer<'a> {
    crowd: &'a LoadShared<'a>,
    random: Rng,
    seen: ViewerFate,
}

impl<'a> Viewer<'a> {
    /// The connection after a step; none where it broke.
    fn noted<T>(&mut self, before: Option<T>, act: impl FnOnce(&mut Self, Option<T>) -> io::Result<Option<T>>) -> Option<T> {
        act(self, before).unwrap_or_else(|error| {
            self.crowd.errors.note(&format!("viewer: {:?}", error.kind()));
            None
        })
    }

    fn session(&mut self) -> Option<String> {
        let running = self.crowd.running();
        (!running.is_empty()).then(|| running[self.random.below(running.len())].clone())
    }

    fn connect(&self) -> io::Result<HttpClient<'a>> {
        HttpClient::connect(&self.crowd.plan.address, &self.crowd.plan.token)
    }

    /// Reads events until it is time for a view.
    fn follow(&mut self, live: Option<LiveReader<'a>>, until: Instant) -> io::Result<Option<LiveReader<'a>>> {
        let mut live = match live {
            Some(live) => live,
            None => match self.subscribe()? {
                Some(live) => live,
                None => {
                    thread::sleep(PAUSE);
                    return Ok(None);
                }
            },
        };
        let mut buffer = vec![0; READ_BYTES];
        while !live.ended && live.client.listen(until.saturating_duration_since(Instant::now()))? {
            let count = live.client.read(&mut buffer)?;
            if count == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            self.seen.live_events += live.count(&buffer[..count]);
            if Instant::now() >= until {
                break;
            }
        }
        thread::sleep(if live.ended { until.saturating_duration_since(Instant::now()) } else { Duration::ZERO });
        Ok((!live.ended).then_some(live))
    }

    fn subscribe(&mut self) -> io::Result<Option<LiveReader<'a>>> {
        let Some(id) = self.session() else { return Ok(None) };
        let mut client = self.connect()?;
        client.begin("GET", &format!("/api/sessions/{id}/live"), "")?;
        let head = client.head()?;
        if head.status != 200 {
            self.crowd.errors.note(&format!("live: {}", head.status));
            return Ok(None);
        }
        Ok(Some(LiveReader { client, tail: Vec::new(), ended: false }))
    }

    /// Asks for a view of a session that bytes come to.
    fn ask(&mut self, client: Option<HttpClient<'a>>) -> io::Result<Option<HttpClient<'a>>> {
        let Some(id) = self.session() else { return Ok(client) };
        self.seen.asked += 1;
        let begun = Instant::now();
        let mut client = client.map_or_else(|| self.connect(), Ok)?;
        let answer = client.ask("POST", &format!("/api/sessions/{id}/view"), VIEW)?;
        if answer.status == 200 && answer.json()["schema"] == "rorqual.view/1" {
            self.seen.seconds.push(begun.elapsed().as_secs_f64());
        } else {
            self.crowd.errors.note(&format!("view: {}", answer.code()));
        }
        Ok(Some(client))
    }
}

impl LiveReader<'_> {
    /// Events that begin in the received bytes.
    fn count(&mut self, bytes: &[u8]) -> u64 {
        self.tail.extend_from_slice(bytes);
        let mut count = 0;
        let mut lines = self.tail.split_inclusive(|byte| *byte == b'\n').peekable();
        let mut rest = Vec::new();
        while let Some(line) = lines.next() {
            if lines.peek().is_none() && !line.ends_with(b"\n") {
                rest = line.get(..EVENT.len() + 2).unwrap_or(line).to_vec();
            } else {
                count += u64::from(line.starts_with(EVENT));
                self.ended |= line.starts_with(EVENT_END);
            }
        }
        self.tail = rest;
        count
    }
}

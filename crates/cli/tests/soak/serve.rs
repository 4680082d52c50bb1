//! A real `rorqual serve`, given uploads that end well, break off, or are taken back; looked at
//! from outside.

use crate::ALLOCATOR;
use crate::client::Server;
use crate::common::{eventually, rorqual};
use crate::process::Held;
use crate::samples::Sample;
use crate::work::{Kit, Outcome};
use rorqual_pipe::allocator::unsettle;
use rorqual_testkit::generate::Rng;
use serde_json::json;
use std::io::Write;
use std::net::Shutdown;
use std::time::Instant;

/// Memory limit of the server.
const MEMORY: &str = "512MiB";

pub(crate) struct Serve {
    server: Server,
}

impl Serve {
    pub(crate) fn start() -> Self {
        let run = rorqual(&["serve", "--port", "0", "--memory", MEMORY, "--sessions", "2", "--threads", "2"]);
        // The server has an allocator with settings of its own.
        Self { server: Server::start_as(run.with(|command| unsettle(command, &ALLOCATOR))) }
    }

    pub(crate) fn id(&self) -> u32 {
        self.server.running.id()
    }

    /// Resources of the server while no request is under way.
    pub(crate) fn at_rest(&self) -> Held {
        Held::settled(&self.id().to_string())
    }

    /// Uploads until `deadline`.
    pub(crate) fn work(&self, kit: &Kit, number: u64, deadline: Instant) {
        let mut random = kit.random(1_000 + number);
        while Instant::now() < deadline {
            let sample = kit.sample(&mut random).clone();
            let outcome = self.upload(&sample, &mut random);
            kit.tallies.add("serve", outcome);
        }
    }

    fn upload(&self, sample: &Sample, random: &mut Rng) -> Outcome {
        let id = self.server.session(&json!({"name": "soak.log", "size": sample.bytes.len(), "format": "combined"}));
        let cut = random.below(sample.bytes.len() + 1);
        let outcome = match random.below(4) {
            0 => self.in_two(&id, sample, cut),
            1 => self.taken_back(&id, sample, cut),
            _ => self.whole(&id, sample),
        };
        // An ended session keeps its report until it is forgotten.
        let deleted = self.server.request("DELETE", &format!("/api/sessions/{id}"), b"").status;
        if deleted == 204 { outcome } else { Outcome::Wrong(format!("DELETE answers {deleted}")) }
    }

    fn whole(&self, id: &str, sample: &Sample) -> Outcome {
        let status = self.server.put(id, 0, &sample.bytes).status;
        if status == 200 {
            self.reported(id, sample, Outcome::Done)
        } else {
            Outcome::wrong(format!("PUT answers {status}"), sample)
        }
    }

    /// The connection breaks at `cut`; another one goes on where the server says, once it has seen
    /// the first one end.
    fn in_two(&self, id: &str, sample: &Sample, cut: usize) -> Outcome {
        self.broken(id, sample, cut);
        eventually("the rest of an upload to be taken", || {
            let live = self.server.live(id);
            if live["session"]["state"] == "finished" {
                return Some(self.reported(id, sample, Outcome::Resumed));
            }
            let offset = live["session"]["offset"].as_u64().expect("an offset") as usize;
            match self.server.put(id, offset, &sample.bytes[offset..]).status {
                200 => Some(self.reported(id, sample, Outcome::Resumed)),
                // Busy with the rest of the broken one, or further than it was.
                409 => None,
                status => Some(Outcome::wrong(format!("PUT of the rest answers {status}"), sample)),
            }
        })
    }

    /// `good`, if the report has all lines. There is none of an empty log.
    fn reported(&self, id: &str, sample: &Sample, good: Outcome) -> Outcome {
        let lines = self.server.live(id)["report"]["lines"]["total"].as_u64();
        if lines.unwrap_or(0) == sample.lines { good } else { Outcome::wrong(format!("a report of {lines:?} lines"), sample) }
    }

    fn taken_back(&self, id: &str, sample: &Sample, cut: usize) -> Outcome {
        self.broken(id, sample, cut);
        let status = self.server.request("POST", &format!("/api/sessions/{id}/cancel"), b"").status;
        if status == 200 { Outcome::Cancelled } else { Outcome::wrong(format!("cancel answers {status}"), sample) }
    }

    fn broken(&self, id: &str, sample: &Sample, cut: usize) {
        let mut stream = self.server.begin_put(id, 0, sample.bytes.len() as u64);
        // It may have answered early.
        let _ = stream.write_all(&sample.bytes[..cut]);
        let _ = stream.shutdown(Shutdown::Both);
    }
}

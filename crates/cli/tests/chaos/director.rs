//! The director does to the server as planned, and looks at it at rest.

use crate::kit::Kit;
use crate::leak;
use crate::lives::{End, SESSIONS};
use crate::op::{Body, Call, Op};
use crate::plan::{Event, Step, Trouble};
use crate::process::Held;
use crate::upload;
use rorqual_testkit::disk::TestDisk;
use rorqual_testkit::folder::names_in;
use rorqual_testkit::generate::Rng;
use rorqual_testkit::process::RunningProcess;
use rorqual_testkit::proxy::ConnectionFault;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Descriptors that a server gets which has few, beside those it has.
const DESCRIPTORS_MORE: usize = 2;

/// Seconds by which the clock jumps: an hour, a day, ten years.
const JUMPS: [i64; 3] = [3_600, 86_400, 315_360_000];

/// Number of the client with the large input.
const LARGE_CLIENT: u64 = 1 << 16;

/// The disks that can be filled.
pub(crate) struct Disks {
    pub(crate) temp: Option<TestDisk>,
    pub(crate) store: Option<TestDisk>,
    pub(crate) state: Option<TestDisk>,
}

/// The server while nobody wants anything of it.
#[derive(Debug, Clone)]
pub(crate) struct Rest {
    pub(crate) life: u64,
    pub(crate) seconds: f64,
    pub(crate) held: Held,
    pub(crate) lent_bytes: u64,
    pub(crate) sessions: usize,
    /// Names in the folders of temporary files and of the state.
    pub(crate) temp: Vec<String>,
    pub(crate) state: Vec<String>,
}

pub(crate) struct Director<'a> {
    pub(crate) kit: &'a Kit,
    pub(crate) disks: &'a Disks,
    pub(crate) temp: PathBuf,
    pub(crate) state: Option<PathBuf>,
    pub(crate) started: Instant,
    random: Rng,
    larges: u64,
    /// Connections that are held on purpose.
    leaked: Vec<TcpStream>,
    pub(crate) rests: Vec<Rest>,
}

impl<'a> Director<'a> {
    pub(crate) fn new(kit: &'a Kit, disks: &'a Disks, temp: PathBuf, state: Option<PathBuf>) -> Self {
        let random = kit.random(u64::MAX, 0);
        Self { kit, disks, temp, state, started: Instant::now(), random, larges: 0, leaked: Vec::new(), rests: Vec::new() }
    }

    pub(crate) fn run(&mut self, plan: &[Step]) {
        self.warm_up();
        for step in plan {
            std::thread::sleep(step.at.saturating_sub(self.started.elapsed()));
            match step.event {
                Event::Rest => self.rest(),
                Event::Trouble(trouble, seconds) => self.trouble(trouble, Duration::from_secs_f64(seconds)),
                Event::Kill => self.end("kill -9", End::Killed, step.jumping),
                Event::Terminate => self.end("SIGTERM", End::Terminated, step.jumping),
            }
        }
    }

    /// Fills all places with large logs at once, so that the memory that the server keeps for them
    /// is there before it is measured.
    fn warm_up(&mut self) {
        let (kit, first) = (self.kit, self.larges + 1);
        self.larges += SESSIONS as u64;
        std::thread::scope(|scope| {
            for number in first..=self.larges {
                scope.spawn(move || upload::large(&mut Op::new(kit, LARGE_CLIENT, number)));
            }
        });
    }

    fn end(&self, name: &'static str, how: End, jumping: bool) {
        self.kit.tallies.begin(name);
        let _ = self.kit.lives.end(how, &self.kit.tallies);
        self.kit.lives.begin(jumping);
        self.kit.tallies.end();
    }

    fn trouble(&mut self, trouble: Trouble, time: Duration) {
        self.kit.tallies.begin(trouble.name());
        match trouble {
            Trouble::Pause => {
                self.kit.lives.with_running(RunningProcess::pause);
                std::thread::sleep(time);
                self.kit.lives.with_running(RunningProcess::go_on);
            }
            Trouble::FullTemp => self.full_temp(time),
            Trouble::FullStore => fill(self.disks.store.as_ref(), time),
            Trouble::FullState => fill(self.disks.state.as_ref(), time),
            Trouble::FewDescriptors => self.few_descriptors(time),
            Trouble::Jump => self.jump(time),
        }
        self.kit.tallies.end();
    }

    /// Fills the disk of the temporary file while an upload sends rows that need it.
    fn full_temp(&mut self, time: Duration) {
        self.larges += 1;
        let mut op = Op::new(self.kit, LARGE_CLIENT, self.larges);
        std::thread::scope(|scope| {
            scope.spawn(|| upload::large(&mut op));
            fill(self.disks.temp.as_ref(), time);
        });
    }

    fn few_descriptors(&self, time: Duration) {
        let Some(id) = self.kit.lives.id() else { return };
        let soft = std::fs::read_to_string(format!("/proc/{id}/limits")).unwrap_or_default();
        let before =
            soft.lines().find_map(|line| line.strip_prefix("Max open files")).and_then(|rest| rest.split_whitespace().next());
        let before = before.unwrap_or("1024").to_owned();
        let has = Held::of(&id.to_string()).map_or(0, |held| held.descriptors.len());
        prlimit(id, &(has + DESCRIPTORS_MORE).to_string());
        std::thread::sleep(time);
        prlimit(id, &before);
    }

    /// Forth, back to before the true time, and home.
    fn jump(&mut self, time: Duration) {
        let seconds = JUMPS[self.random.below(JUMPS.len())];
        for seconds in [seconds, -seconds, 0] {
            self.kit.lives.jump(seconds);
            // The library looks once a second.
            std::thread::sleep(time.max(Duration::from_millis(1_100)));
        }
    }

    /// Looks once no operation is under way and nothing is being closed any more.
    pub(crate) fn rest(&mut self) {
        let _all = self.kit.gate.write().unwrap();
        let life = self.kit.lives.current();
        let mut op = Op::new(self.kit, u64::MAX, 1);
        let mut ask = |target: &str| op.once(&Call::new("GET", target, Body::NONE), ConnectionFault::None);
        let (Some(vitals), Some(list)) = (ask("/api/vitals"), ask("/api/sessions")) else { return };
        if self.kit.leak && !self.rests.is_empty() {
            self.leaked.push(leak::connection(self.kit));
        }
        let held = Held::settled(&life.id.to_string());
        self.rests.push(Rest {
            life: life.number,
            seconds: self.started.elapsed().as_secs_f64(),
            held,
            lent_bytes: vitals.json()["pool_lent_bytes"].as_u64().unwrap_or(u64::MAX),
            sessions: list.json()["sessions"].as_array().map_or(usize::MAX, Vec::len),
            temp: names_in(&self.temp),
            state: self.state.as_ref().map_or_else(Vec::new, |state| names_in(state)),
        });
    }
}

fn fill(disk: Option<&TestDisk>, time: Duration) {
    let Some(disk) = disk else { return };
    disk.fill();
    std::thread::sleep(time);
    disk.clear();
}

fn prlimit(id: u32, descriptors: &str) {
    // A process that has just ended has no limits.
    let _ = Command::new("prlimit").args(["--pid", &id.to_string(), &format!("--nofile={descriptors}:")]).output();
}

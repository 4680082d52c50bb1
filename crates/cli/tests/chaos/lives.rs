//! The server, from one life to the next.

use crate::common::{TestFolder, rorqual};
use crate::tallies::Tallies;
use rorqual_testkit::process::{ProcessEnd, RunningProcess};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

/// Memory of the server.
pub(crate) const MEMORY_BYTES: u64 = 768 << 20;

/// Sessions at a time: fewer than clients that want one.
pub(crate) const SESSIONS: usize = 4;

/// Seconds that a server which was asked to end gives to running requests.
const GRACE: &str = "1";

/// Makes a program see another time of day than there is; the clock that only goes on stays as it
/// is.
const CLOCK: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// Settings of a server, whatever its life.
pub(crate) struct Settings {
    pub(crate) folder: TestFolder,
    /// Flags beside those of all.
    pub(crate) flags: Vec<String>,
    /// A server that lives longer has hung.
    pub(crate) time_max: Duration,
}

/// One life, as a client sees it.
#[derive(Clone)]
pub(crate) struct Life {
    pub(crate) number: u64,
    pub(crate) address: SocketAddr,
    pub(crate) token: Arc<str>,
    /// The process.
    pub(crate) id: u32,
}

/// End of a life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Killed,
    Terminated,
}

pub(crate) struct Lives {
    pub(crate) settings: Settings,
    now: Mutex<Now>,
    changed: Condvar,
}

#[derive(Default)]
struct Now {
    life: Option<Life>,
    running: Option<RunningProcess>,
    /// End of each life, by number.
    ends: Vec<End>,
    peak_bytes: u64,
}

impl Lives {
    pub(crate) fn new(settings: Settings) -> Arc<Self> {
        Arc::new(Self { settings, now: Mutex::default(), changed: Condvar::new() })
    }

    /// True if the time of day can be made to jump.
    pub(crate) fn can_jump() -> bool {
        PathBuf::from(CLOCK).exists()
    }

    /// Begins the next life; with a clock that can be made to jump where that is `jumping`.
    pub(crate) fn begin(&self, jumping: bool) {
        let flags: Vec<&str> = self.settings.flags.iter().map(String::as_str).collect();
        self.jump(0);
        let time = self.settings.folder.at("time");
        let run =
            rorqual(&["serve", "--port", "0", "--grace", GRACE, "--threads", "2"]).args(flags).time_max(self.settings.time_max);
        let run = run.with(|command| {
            if jumping {
                command.env("LD_PRELOAD", CLOCK).env("FAKETIME_TIMESTAMP_FILE", time);
                command.envs([("FAKETIME_CACHE_DURATION", "1"), ("FAKETIME_DONT_FAKE_MONOTONIC", "1"), ("NO_FAKE_STAT", "1")]);
            }
        });
        let mut running = run.start();
        let url = running.stdout_when(|text| text.contains('\n'));
        let (address, token) =
            url.trim().strip_prefix("http://").and_then(|url| url.split_once("/?token=")).expect("an address with a token");
        let mut now = self.now.lock().unwrap();
        let (number, id) = (now.ends.len() as u64, running.id());
        now.life = Some(Life { number, address: address.parse().expect("an address"), token: token.into(), id });
        now.running = Some(running);
        self.changed.notify_all();
    }

    /// Sets the clock of a life that can jump to so many seconds from the real time.
    pub(crate) fn jump(&self, seconds: i64) {
        std::fs::write(self.settings.folder.at("time"), format!("{seconds:+}")).expect("room on the disk");
    }

    /// The life that goes on, once there is one.
    pub(crate) fn current(&self) -> Life {
        let now = self.changed.wait_while(self.now.lock().unwrap(), |now| now.life.is_none()).unwrap();
        now.life.clone().expect("waited for")
    }

    /// True if a life goes on, and nobody has decided its end.
    pub(crate) fn holds(&self, number: u64) -> bool {
        self.now.lock().unwrap().life.as_ref().is_some_and(|life| life.number == number)
    }

    pub(crate) fn id(&self) -> Option<u32> {
        self.now.lock().unwrap().life.as_ref().map(|life| life.id)
    }

    /// Ends of the lives from `number` on.
    pub(crate) fn ends_since(&self, number: u64) -> Vec<End> {
        self.now.lock().unwrap().ends[number as usize..].to_vec()
    }

    /// Runs `act` on the process of this life.
    pub(crate) fn with_running(&self, act: impl FnOnce(&RunningProcess)) {
        if let Some(running) = &self.now.lock().unwrap().running {
            act(running);
        }
    }

    pub(crate) fn peak_bytes(&self) -> u64 {
        self.now.lock().unwrap().peak_bytes
    }

    /// Ends this life, of which nobody expects an answer from then on.
    pub(crate) fn end(&self, how: End, tallies: &Tallies) -> ProcessEnd {
        let (running, life) = {
            let mut now = self.now.lock().unwrap();
            let running = now.running.take().expect("it runs");
            now.ends.push(how);
            now.peak_bytes = now.peak_bytes.max(running.peak_bytes());
            (running, now.life.take().expect("it runs"))
        };
        match how {
            End::Killed => running.kill(),
            End::Terminated => running.terminate(),
        }
        let ran = running.wait();
        let expected = if how == End::Killed { None } else { Some(0) };
        if ran.code != expected {
            tallies.wrong(format!("a server that was {how:?} ended with {:?}: {}", ran.code, ran.stderr));
        }
        // Kept sessions are offered again.
        for line in ran.stderr.lines().filter(|line| line.contains("not offered again")) {
            tallies.wrong(line.to_owned());
        }
        if ran.stderr.contains("panicked") {
            tallies.wrong(format!("a panic: {}", ran.stderr));
        }
        forget_clock(life.id);
        ran
    }
}

/// The library that makes clocks jump leaves these files where its process was killed.
fn forget_clock(id: u32) {
    for name in ["faketime_shm_", "sem.faketime_sem_"] {
        let _ = std::fs::remove_file(format!("/dev/shm/{name}{id}"));
    }
}

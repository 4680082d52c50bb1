//! Many uploads at once, each as slow as somebody's line, and people who look at them meanwhile.
//!
//! A thread each, on blocking sockets: most of their time they sleep, so that they leave the cores
//! to the server. The bytes are made once, and each upload sends a range of its own. The server's
//! totals are held against those of the lines.

mod client;
mod fate;
mod log;
mod socket;
mod upload;
mod view;

use fate::Errors;
use log::LoadLog;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Stack of a thread, with room to spare: its buffers are on the heap.
const STACK_BYTES: usize = 256 << 10;

/// An upload without an end so long after the time its bytes take is lost.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Load on a server.
#[derive(Debug, Clone)]
pub struct LoadPlan {
    /// `127.0.0.1:8631`
    pub address: String,
    /// Its token.
    pub token: String,
    /// Number of uploads at once; every other one is a WebSocket, the rest are PUTs.
    pub uploads: usize,
    /// Of each.
    pub bytes_per_second: u64,
    /// Of each, to the end of the line.
    pub bytes: u64,
    /// Viewers of an upload each: they follow its live events, and ask for a view of another one
    /// again and again.
    pub viewers: usize,
    /// Between two views of a viewer.
    pub view_every: Duration,
    /// Uploads begin evenly within this time.
    pub ramp: Duration,
}

/// Result of the load.
#[derive(Debug, Serialize)]
pub struct LoadOutcome {
    /// Number of planned uploads.
    pub uploads: usize,
    /// Uploads with the totals of their lines.
    pub finished: usize,
    /// Uploads that came to no end, by reason.
    pub lost: BTreeMap<String, u64>,
    /// Differences in the totals of others.
    pub wrong: Vec<String>,
    /// Attempts that had to be made again.
    pub retries: u64,
    /// Of those, the ones that the server asked for by Retry-After.
    pub refused: u64,
    /// First requests of connections that came so late that their places were given to others, and
    /// were made again.
    pub late: u64,
    /// Bytes of the uploads that finished.
    pub bytes: u64,
    /// From the first connection to the last total.
    pub seconds: f64,
    /// Of uploads that finished, from their first connection to their total.
    pub upload_seconds: MeasuredTimes,
    /// Views that were asked for.
    pub views: usize,
    /// Of those that were answered with a view.
    pub view_seconds: MeasuredTimes,
    /// Live events that came to viewers.
    pub live_events: u64,
    /// Failures, by status and code.
    pub errors: BTreeMap<String, u64>,
}

/// Of many measured times.
#[derive(Debug, Default, Serialize)]
pub struct MeasuredTimes {
    /// Their number.
    pub count: usize,
    /// The median.
    pub p50: f64,
    /// The 95th percentile.
    pub p95: f64,
    /// The slowest.
    pub max: f64,
    /// All of them, in seconds, in no order that means anything.
    pub all: Vec<f64>,
}

impl MeasuredTimes {
    fn of(all: Vec<f64>) -> Self {
        let mut sorted = all.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let at =
            |share: f64| sorted.get(((share * sorted.len() as f64).ceil() as usize).saturating_sub(1)).copied().unwrap_or(0.0);
        Self { count: all.len(), p50: at(0.5), p95: at(0.95), max: at(1.0), all }
    }
}

/// State shared by all threads.
struct LoadShared<'a> {
    plan: &'a LoadPlan,
    log: LoadLog,
    start: Instant,
    /// The sessions that bytes are on their way to, for viewers to choose from.
    running: Mutex<Vec<String>>,
    over: AtomicBool,
    retries: AtomicU64,
    refused: AtomicU64,
    late: AtomicU64,
    errors: Errors,
}

impl LoadShared<'_> {
    fn running(&self) -> MutexGuard<'_, Vec<String>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }
}

/// Sends all uploads and looks at them meanwhile.
///
/// # Errors
/// When a thread can't be started.
pub fn run(plan: &LoadPlan) -> io::Result<LoadOutcome> {
    let crowd = LoadShared {
        plan,
        log: LoadLog::new(plan.bytes),
        start: Instant::now(),
        running: Mutex::default(),
        over: AtomicBool::new(false),
        retries: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        late: AtomicU64::new(0),
        errors: Errors::default(),
    };
    let crowd = &crowd;
    thread::scope(|scope| {
        let start = || thread::Builder::new().stack_size(STACK_BYTES);
        let viewers = (0..plan.viewers).map(|number| start().spawn_scoped(scope, move || view::viewer(crowd, number)));
        let viewers: Vec<_> = viewers.collect::<io::Result<_>>()?;
        let uploads = (0..plan.uploads).map(|number| start().spawn_scoped(scope, move || upload::upload(crowd, number)));
        let uploads: io::Result<Vec<_>> = uploads.collect();
        let fates = uploads.map(|threads| threads.into_iter().filter_map(|thread| thread.join().ok()).collect());
        // Whatever happened: viewers look until they are told.
        crowd.over.store(true, Ordering::Relaxed);
        let seen = viewers.into_iter().filter_map(|thread| thread.join().ok()).collect();
        Ok(fate::outcome(crowd, fates?, seen))
    })
}

//! Resources of a process, as the kernel sees them: now, and over time.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A plot has no room for more.
const SAMPLES_MAX: u32 = 600;
const SAMPLE_EVERY_MIN: Duration = Duration::from_millis(50);

/// Nothing of an operation ends later than this after it.
const SETTLED_AFTER: Duration = Duration::from_millis(500);

/// Resources of one process.
#[derive(Debug, Clone)]
pub(crate) struct Held {
    pub(crate) resident_bytes: u64,
    /// Target of each descriptor, sorted.
    pub(crate) descriptors: Vec<String>,
    pub(crate) threads: usize,
}

impl Held {
    /// `process` is an id, or `self`.
    pub(crate) fn by(process: &str) -> Self {
        Self::of(process).expect("it runs")
    }

    /// The same of a process that may have ended.
    pub(crate) fn of(process: &str) -> Option<Self> {
        let root = Path::new("/proc").join(process);
        let mut descriptors: Vec<String> = entries(&root.join("fd"))?
            .iter()
            .filter_map(|descriptor| std::fs::read_link(descriptor).ok())
            .map(|target| target.to_string_lossy().into_owned())
            // Those of looking.
            .filter(|target| !target.starts_with("/proc/"))
            .collect();
        descriptors.sort();
        Some(Self { resident_bytes: resident_bytes(&root)?, descriptors, threads: entries(&root.join("task"))?.len() })
    }
}

/// A process that has just ended has none.
fn resident_bytes(root: &Path) -> Option<u64> {
    let status = std::fs::read_to_string(root.join("status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
}

fn entries(folder: &Path) -> Option<Vec<PathBuf>> {
    Some(std::fs::read_dir(folder).ok()?.filter_map(|entry| Some(entry.ok()?.path())).collect())
}

/// One moment.
#[derive(Debug, Clone, serde::Serialize)]
pub(crate) struct Moment {
    pub(crate) seconds: f64,
    pub(crate) resident_bytes: u64,
    pub(crate) descriptors: usize,
    pub(crate) threads: usize,
    pub(crate) server_resident_bytes: u64,
    pub(crate) server_descriptors: usize,
}

/// Everything that was seen.
#[derive(Debug, Default, Clone, serde::Serialize)]
pub(crate) struct Series {
    pub(crate) moments: Vec<Moment>,
    /// Seconds at which something was noted.
    pub(crate) marks: Vec<(f64, String)>,
}

/// A thread that looks now and then.
pub(crate) struct Sampler {
    start: Instant,
    series: Arc<Mutex<Series>>,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Sampler {
    /// `server` is its id, while there is one.
    pub(crate) fn start(time: Duration, server: impl Fn() -> Option<u32> + Send + 'static) -> Self {
        let (start, stop, series) = (Instant::now(), Arc::<AtomicBool>::default(), Arc::<Mutex<Series>>::default());
        let (stopped, filled) = (Arc::clone(&stop), Arc::clone(&series));
        let every = (time / SAMPLES_MAX).max(SAMPLE_EVERY_MIN);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                let own = Held::by("self");
                let server = server().and_then(|id| Held::of(&id.to_string()));
                filled.lock().unwrap().moments.push(Moment {
                    seconds: start.elapsed().as_secs_f64(),
                    resident_bytes: own.resident_bytes,
                    descriptors: own.descriptors.len(),
                    threads: own.threads,
                    server_resident_bytes: server.as_ref().map_or(0, |server| server.resident_bytes),
                    server_descriptors: server.map_or(0, |server| server.descriptors.len()),
                });
                std::thread::park_timeout(every);
            }
        });
        Self { start, series, stop, thread }
    }

    pub(crate) fn mark(&self, what: &str) {
        self.series.lock().unwrap().marks.push((self.start.elapsed().as_secs_f64(), what.to_owned()));
    }

    pub(crate) fn stop(self) -> Series {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.thread().unpark();
        self.thread.join().expect("it only looks");
        self.series.lock().unwrap().clone()
    }
}

impl Held {
    /// Looks until nothing has changed for a while: connections and their threads end a moment
    /// after their last answer.
    pub(crate) fn settled(process: &str) -> Self {
        let (mut held, mut since) = (Self::by(process), Instant::now());
        while since.elapsed() < SETTLED_AFTER {
            std::thread::sleep(SETTLED_AFTER / 10);
            let now = Self::by(process);
            if (now.threads, &now.descriptors) != (held.threads, &held.descriptors) {
                since = Instant::now();
            }
            held = now;
        }
        held
    }
}

//! The operations: their list, the workers that run them, and their outcomes.

mod count;
mod fetch;
mod grep;
mod hash;
mod logs;
pub(crate) mod store;

use crate::check::Check;
use crate::samples::{self, Sample};
use rorqual_pipe::limits::{buffer_bytes, buffers_needed};
use rorqual_pipe::{BufferPool, Control, Error, ErrorClass, Input, Semaphore};
use rorqual_store::Store;
use rorqual_testkit::fault::{FaultPlan, FaultyIo};
use rorqual_testkit::generate::Rng;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Operations at the same time.
const OPERATIONS_MAX: usize = 3;

/// Threads of one operation.
const THREADS: usize = 2;

/// Longest line that is searched whole.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Wrong answers that are told; one is too many.
const WRONG_MAX: usize = 5;

/// Outcome of an operation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Done,
    /// The input broke off, and that was said.
    Cut,
    /// It was stopped, and did stop.
    Cancelled,
    /// Nobody listened any more.
    Closed,
    /// It broke off and was brought to its end.
    Resumed,
    /// It was not there, as may be.
    Missing,
    /// Anything else.
    Wrong(String),
}

impl Outcome {
    pub(crate) fn wrong(what: impl std::fmt::Display, sample: &Sample) -> Self {
        Self::Wrong(format!("{what} ({} lines, {} bytes)", sample.lines, sample.bytes.len()))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Cut => "cut",
            Self::Cancelled => "cancelled",
            Self::Closed => "closed",
            Self::Resumed => "resumed",
            Self::Missing => "missing",
            Self::Wrong(_) => "WRONG",
        }
    }
}

/// Mishap that befalls an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mishap {
    None,
    /// The input fails at some read.
    Cut,
    /// It is stopped from outside at some read.
    Cancel,
    /// The output's reader goes away.
    Close,
}

type Operation = fn(&Kit, &mut Rng) -> Outcome;

/// **A new operation is added here**, with a file in `work/`.
const OPERATIONS: [(&str, Operation); 6] = [
    ("count", count::once),
    ("fetch", fetch::once),
    ("grep", grep::once),
    ("hash", hash::once),
    ("logs", logs::once),
    ("store", store::once),
];

/// Outcomes of all operations so far, counted by name.
#[derive(Default)]
pub(crate) struct Tallies {
    counts: Mutex<BTreeMap<&'static str, BTreeMap<&'static str, u64>>>,
    wrong: Mutex<Vec<String>>,
}

impl Tallies {
    pub(crate) fn add(&self, operation: &'static str, outcome: Outcome) {
        *self.counts.lock().unwrap().entry(operation).or_default().entry(outcome.name()).or_default() += 1;
        if let Outcome::Wrong(what) = outcome {
            let mut wrong = self.wrong.lock().unwrap();
            if wrong.len() < WRONG_MAX {
                wrong.push(format!("{operation}: {what}"));
            }
        }
    }

    pub(crate) fn all(&self) -> BTreeMap<&'static str, BTreeMap<&'static str, u64>> {
        self.counts.lock().unwrap().clone()
    }

    pub(crate) fn total(&self) -> u64 {
        self.all().values().flat_map(BTreeMap::values).sum()
    }

    pub(crate) fn wrong(&self) -> Vec<String> {
        self.wrong.lock().unwrap().clone()
    }

    /// Operations that succeeded at least once.
    pub(crate) fn done(&self) -> BTreeSet<&'static str> {
        let all = self.all();
        all.iter().filter(|(_, outcomes)| outcomes.contains_key("done")).map(|(name, _)| *name).collect()
    }
}

/// State that all operations share.
pub(crate) struct Kit {
    seed: u64,
    folder: PathBuf,
    samples: Vec<Sample>,
    pub(crate) gate: Semaphore,
    pub(crate) pool: BufferPool,
    pub(crate) store: Store,
    pub(crate) tallies: Tallies,
}

impl Kit {
    pub(crate) fn new(seed: u64, folder: &Path, fast: bool) -> Self {
        std::fs::create_dir(folder.join("fetched")).expect("a folder of ours");
        let samples = samples::make(&mut Rng::new(seed), folder, fast);
        Self {
            seed,
            folder: folder.to_owned(),
            store: store::open(folder, &samples),
            samples,
            gate: Semaphore::new(OPERATIONS_MAX),
            pool: BufferPool::new(buffer_bytes(LINE_BYTES_MAX), OPERATIONS_MAX * buffers_needed(THREADS)),
            tallies: Tallies::default(),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// One stream of random numbers for each worker.
    pub(crate) fn random(&self, worker: u64) -> Rng {
        Rng::new(Rng::new(self.seed ^ worker).next())
    }

    pub(crate) fn sample(&self, random: &mut Rng) -> &Sample {
        &self.samples[random.below(self.samples.len())]
    }

    pub(crate) fn operations(&self) -> impl Iterator<Item = &'static str> {
        OPERATIONS.iter().map(|(name, _)| *name).chain(["serve"])
    }

    /// One operation after the other until `deadline`.
    pub(crate) fn work(&self, worker: u64, deadline: Instant) {
        let mut random = self.random(worker);
        while Instant::now() < deadline {
            let (name, operation) = OPERATIONS[random.below(OPERATIONS.len())];
            let pass = self.gate.acquire();
            let outcome = operation(self, &mut random);
            drop(pass);
            self.tallies.add(name, outcome);
        }
    }

    /// Checks for the time after the last operation.
    pub(crate) fn finish(&self) -> Vec<Check> {
        store::checks(&self.store, &self.pool)
    }

    /// One in three goes wrong somehow.
    fn mishap(random: &mut Rng) -> Mishap {
        match random.below(9) {
            0 => Mishap::Cut,
            1 => Mishap::Cancel,
            2 => Mishap::Close,
            _ => Mishap::None,
        }
    }
}

/// An input of the sample's bytes in some encoding, the file or a stream.
fn input(sample: &Sample, mishap: Mishap, control: &Control, random: &mut Rng) -> Input {
    let stored = [&sample.bytes, &sample.gzip, &sample.zstd][random.below(3)];
    let file = if random.below(2) == 0 { &sample.path } else { &sample.gzip_path };
    let stream = stream(stored, mishap, control, random);
    if mishap_of_input(mishap) || random.below(2) == 0 { stream } else { Input::open(file).expect("it is there") }
}

/// The same without encodings.
fn stored(sample: &Sample, mishap: Mishap, control: &Control, random: &mut Rng) -> Input {
    let stream = stream(&sample.bytes, mishap, control, random);
    if mishap_of_input(mishap) || random.below(2) == 0 { stream } else { Input::open_stored(&sample.path).expect("it is there") }
}

fn mishap_of_input(mishap: Mishap) -> bool {
    matches!(mishap, Mishap::Cut | Mishap::Cancel)
}

fn stream(stored: &Arc<[u8]>, mishap: Mishap, control: &Control, random: &mut Rng) -> Input {
    Input::from_reader("soak", reader(stored, mishap, control, random))
}

/// Comes in small pieces; with a mishap, one of its reads fails or stops the run.
fn reader(stored: &Arc<[u8]>, mishap: Mishap, control: &Control, random: &mut Rng) -> Box<dyn Read + Send> {
    let read_bytes_max = 1 + random.below(64 << 10);
    // A read that is never asked for can't fail.
    let reads = stored.len() / read_bytes_max + 1;
    let fault = match mishap {
        Mishap::Cut => FaultPlan::new(random.below(reads) as u64, true, ErrorKind::ConnectionReset),
        _ => FaultPlan::never(),
    };
    let left = if mishap == Mishap::Cancel { random.below(reads) } else { usize::MAX };
    let stopping = Stopping { inner: Cursor::new(Arc::clone(stored)), left, control: control.clone() };
    Box::new(FaultyIo::new(stopping, read_bytes_max, &fault))
}

/// Stops the run after so many reads.
struct Stopping {
    inner: Cursor<Arc<[u8]>>,
    left: usize,
    control: Control,
}

impl Read for Stopping {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => self.control.stop(),
        }
        self.inner.read(buffer)
    }
}

/// A writer to a pipe without a reader.
fn closed_pipe() -> std::io::PipeWriter {
    std::io::pipe().expect("two more descriptors").1
}

/// True if an operation ended as its mishap wants it. `right` is whether the answer is that of the
/// whole input.
fn judge(mishap: Mishap, error: Option<&Error>, stopped: bool, right: bool, sample: &Sample) -> Outcome {
    match (mishap, error.map(Error::kind)) {
        (Mishap::None, None) if right => Outcome::Done,
        (Mishap::Cut, Some(ErrorClass::Io)) => Outcome::Cut,
        (Mishap::Close, Some(ErrorClass::Stopped)) => Outcome::Closed,
        // Nothing was written that could have met the closed pipe.
        (Mishap::Close, None) if right => Outcome::Done,
        (Mishap::Cancel, None | Some(ErrorClass::Stopped)) if stopped => Outcome::Cancelled,
        (Mishap::Cancel, None) if right => Outcome::Done,
        _ => {
            Outcome::wrong(format!("{mishap:?} gives {error:?}, the answer is {}", if right { "right" } else { "wrong" }), sample)
        }
    }
}

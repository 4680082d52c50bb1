//! Shared by the tests: a cluster of processes, and the same query by one.

pub(crate) use rorqual_testkit::folder::{TestFolder, names_in};
use rorqual_testkit::http::{GeneratedContent, PERIOD_BYTES};
use rorqual_testkit::process::{ProcessEnd, ProcessRun, RunningProcess};
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_rorqual-cluster");

pub(crate) const MIB: u64 = 1 << 20;

pub(crate) const SAMPLE: &[u8] = include_bytes!("../../../../samples/apache_combined.log");

/// A scheduler and executors. Each has its folder of temporary files below that of the test.
pub(crate) struct TestCluster {
    pub(crate) scheduler: RunningProcess,
    pub(crate) executors: Vec<RunningProcess>,
    pub(crate) address: String,
    temp: String,
}

pub(crate) fn program(args: &[&str]) -> ProcessRun {
    ProcessRun::new(PROGRAM).args(args).time_max(Duration::from_secs(300))
}

/// Starts a process that says its address.
pub(crate) fn listening(run: ProcessRun) -> (RunningProcess, String) {
    let mut process = run.start();
    let said = process.stdout_when(|text| text.ends_with('\n'));
    (process, said.trim().rsplit(' ').next().unwrap().to_owned())
}

impl TestCluster {
    /// A cluster of so many executors of one thread, which read the files of the folder.
    pub(crate) fn start(folder: &TestFolder, executors: usize) -> Self {
        Self::with(folder, executors, |run| run)
    }

    /// The same, with a change to each executor.
    pub(crate) fn with(folder: &TestFolder, executors: usize, change: impl Fn(ProcessRun) -> ProcessRun) -> Self {
        let (scheduler, address) = listening(program(&["scheduler", "--listen", "127.0.0.1:0"]));
        // A killed executor leaves its folder to the next one, which is of another cluster.
        let temp = folder.text(&format!("temp{}", address.replace(':', "-")));
        std::fs::create_dir_all(&temp).unwrap();
        let mut cluster = Self { scheduler, executors: Vec::new(), address, temp };
        for _ in 0..executors {
            cluster.add(folder, &change);
        }
        cluster
    }

    /// One more executor.
    pub(crate) fn add(&mut self, folder: &TestFolder, change: impl Fn(ProcessRun) -> ProcessRun) {
        let files = folder.path().to_str().unwrap();
        let run = program(&["executor", "--scheduler", &self.address, "--listen", "127.0.0.1:0", "--threads", "1"]);
        let run = change(run.args(["--files", files, "--temp-dir", &self.temp]));
        self.executors.push(listening(run).0);
    }

    /// A query of the cluster.
    pub(crate) fn query(&self, args: &[&str]) -> ProcessRun {
        program(&["query", "--cluster", &self.address, "--to", "csv", "--temp-dir", &self.temp]).args(args)
    }

    /// Checks the peaks of the executors' resident sizes.
    pub(crate) fn within(&self, memory_bytes: u64) {
        for process in &self.executors {
            let peak = process.peak_bytes();
            assert!(peak <= memory_bytes, "{} of {} MiB", peak / MIB, memory_bytes / MIB);
        }
    }

    /// The folders of temporary files of the executors.
    pub(crate) fn temp(&self) -> &Path {
        self.temp.as_ref()
    }

    /// Waits until no executor has a file of a job.
    pub(crate) fn waits_for_clean_folders(&self) {
        let begun = Instant::now();
        loop {
            let shuffles = names_in(self.temp()).into_iter().map(|name| format!("{name}/shuffle"));
            let jobs = |folder: String| {
                let path = self.temp().join(&folder);
                let names = if path.is_dir() { names_in(&path) } else { Vec::new() };
                names.into_iter().map(move |name| format!("{folder}/{name}"))
            };
            let left: Vec<String> = shuffles.flat_map(jobs).collect();
            if left.is_empty() {
                return;
            }
            assert!(begun.elapsed() < Duration::from_secs(20), "files of jobs that ended: {left:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A log of so many periods, each the start of the sample and one line that is none, as an object;
/// and the number of its rows.
pub(crate) fn repeated_log(periods: u64) -> (GeneratedContent, u64) {
    let mut period = SAMPLE[..PERIOD_BYTES - 200].to_vec();
    period.truncate(period.iter().rposition(|byte| *byte == b'\n').unwrap() + 1);
    let rows = period.iter().filter(|byte| **byte == b'\n').count() as u64;
    period.resize(PERIOD_BYTES - 1, b'x');
    period.push(b'\n');
    let content = GeneratedContent::of(period).repeated(periods).with_last_modified("Thu, 01 Jan 2026 00:00:00 GMT");
    (content, periods * rows)
}

/// The query by one process.
pub(crate) fn alone(args: &[&str]) -> ProcessRun {
    program(&["query", "--to", "csv"]).args(args)
}

/// Holds the answers of a cluster and of one process, with all messages, to be the same.
pub(crate) fn same(cluster: &TestCluster, args: &[&str]) -> ProcessEnd {
    let expected = alone(args).run().exits(0);
    let ran = cluster.query(args).run().exits(0);
    assert_eq!(ran.text(), expected.text(), "{args:?}");
    assert_eq!(ran.stderr, expected.stderr, "{args:?}");
    ran
}

//! Shared by the tests: the program, logs with a known content, a reference that reads them by
//! hand, and waiting.

#[allow(unused_imports, reason = "the soak has no folders")]
pub(crate) use rorqual_testkit::folder::TestFolder;
use rorqual_testkit::process::{ProcessRun, RunningProcess};
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_rorqual");

pub(crate) const MIB: u64 = 1 << 20;
pub(crate) const GIB: u64 = 1 << 30;

/// An awaited event comes sooner, or never.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program with these arguments, which finds no cache of its user.
pub(crate) fn rorqual(args: &[&str]) -> ProcessRun {
    let homeless = |command: &mut std::process::Command| {
        command.env_remove("HOME").env_remove("XDG_CACHE_HOME").env_remove("RORQUAL_CACHE");
    };
    ProcessRun::new(PROGRAM).args(args).with(homeless)
}

/// The `--memory` that a refusal names as enough.
pub(crate) fn advised(refused: &str) -> String {
    let (mebibytes, _) = refused.split_once("Give --memory ").and_then(|(_, rest)| rest.split_once("MiB")).expect("an advice");
    format!("{mebibytes}MiB")
}

/// Waits until `look` finds something.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited {PATIENCE:?} for: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the program has a handler for Ctrl-C.
#[allow(dead_code, reason = "the soak interrupts nothing")]
pub(crate) fn listens(running: &RunningProcess) {
    eventually("a handler for Ctrl-C", || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", running.id())).ok()?;
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        (u64::from_str_radix(caught.trim(), 16).ok()? & 2 != 0).then_some(())
    });
}

/// Line `number` of a log in the combined format, without its newline: a second later than the one
/// before, one of seven paths, one of three statuses.
pub(crate) fn line(number: u64) -> String {
    let (path, status) = (number % 7, [200, 304, 404][(number % 3) as usize]);
    let (minute, second) = (number / 60 % 60, number % 60);
    format!(
        "10.0.{}.{} - - [02/Jan/2025:{:02}:{minute:02}:{second:02} +0000] \"GET /p{path}?q={number} HTTP/1.1\" {status} {} \"-\" \"agent/1.0\"",
        number % 5,
        number % 11,
        number / 3_600 % 24,
        number % 1_000
    )
}

/// The first `count` lines.
pub(crate) fn log(count: u64) -> Vec<u8> {
    (0..count).flat_map(|number| (line(number) + "\n").into_bytes()).collect()
}

/// Report of a log in the combined format.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Truth {
    pub(crate) parsed: u64,
    pub(crate) bytes_sent: u64,
    pub(crate) statuses: BTreeMap<String, u64>,
    pub(crate) paths: BTreeMap<String, u64>,
}

impl Truth {
    /// Counts lines that are known to be sound, by splitting at quotes and blanks.
    pub(crate) fn of(lines: &[u8]) -> Self {
        let mut truth = Self::default();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            let line = String::from_utf8_lossy(line);
            let mut quoted = line.split('"').skip(1);
            let request = quoted.next().expect("a request");
            let mut numbers = quoted.next().expect("status and size").split_whitespace();
            let target = request.split(' ').nth(1).expect("a target");
            let path = target.split('?').next().expect("a path");
            *truth.paths.entry(path.to_owned()).or_default() += 1;
            *truth.statuses.entry(numbers.next().expect("a status").to_owned()).or_default() += 1;
            truth.bytes_sent += numbers.next().expect("a size").parse().unwrap_or(0);
            truth.parsed += 1;
        }
        truth
    }

    /// The counts of the same lines `times` over.
    pub(crate) fn times(mut self, times: u64) -> Self {
        self.parsed *= times;
        self.bytes_sent *= times;
        self.statuses.values_mut().chain(self.paths.values_mut()).for_each(|hits| *hits *= times);
        self
    }

    /// Checks a report with as many rows as there are paths.
    pub(crate) fn check(&self, report: &Value) {
        assert_eq!(report["lines"]["parsed"], self.parsed);
        assert_eq!(report["bytes_sent"], self.bytes_sent);
        assert_eq!(hits_of(&report["status"]), self.statuses);
        let paths = panel(report, "path");
        assert_eq!(paths["exact"], true);
        assert_eq!(paths["distinct"]["count"], self.paths.len());
        let listed = hits_of(&paths["rows"]);
        assert!(!listed.is_empty());
        for (path, hits) in listed {
            assert_eq!(self.paths.get(&path), Some(&hits), "{path}");
        }
    }
}

/// The panel of one field.
pub(crate) fn panel<'a>(report: &'a Value, field: &str) -> &'a Value {
    let panels = report["panels"].as_array().expect("panels");
    panels.iter().find(|panel| panel["field"] == field).unwrap_or_else(|| panic!("no panel {field}"))
}

/// Rows as a map from value to hits.
pub(crate) fn hits_of(rows: &Value) -> BTreeMap<String, u64> {
    let row = |row: &Value| (row["value"].as_str().expect("a value").to_owned(), row["hits"].as_u64().expect("hits"));
    rows.as_array().expect("rows").iter().map(row).collect()
}

/// The part of a report that depends on nothing but the log.
pub(crate) fn comparable(mut report: Value) -> Value {
    report["stats"].take();
    for source in report["sources"].as_array_mut().expect("sources") {
        source["name"].take();
    }
    for kind in ["rejects", "repairs"] {
        for sample in report[kind]["samples"].as_array_mut().expect("samples") {
            sample["source"].take();
        }
    }
    report
}

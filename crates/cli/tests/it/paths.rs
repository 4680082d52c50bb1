//! One answer on every path: file, pipe, FIFO; plain, gzip, zstd; one thread or several; any line
//! limit.

use crate::common::{PROGRAM, TestFolder, Truth, comparable, line, log, rorqual};
use rorqual_testkit::paths::on_every_path;
use serde_json::Value;
use std::cell::RefCell;

/// The first of several answers, which the others must equal.
#[derive(Default)]
struct Same(RefCell<Option<Value>>);

impl Same {
    fn check(&self, path: &str, answer: Value) {
        let mut first = self.0.borrow_mut();
        match &*first {
            Some(first) => assert_eq!(first, &answer, "{path}"),
            None => *first = Some(answer),
        }
    }

    fn answer(self) -> Value {
        self.0.into_inner().expect("something ran")
    }
}

/// Sound lines, and between them everything that is not.
fn mixed_log() -> Vec<u8> {
    let mut bytes = Vec::new();
    for number in 0..12_000 {
        bytes.extend(line(number).bytes());
        let more: &[u8] = match number % 1_000 {
            100 => b"\r\n",
            200 => b"\n\n\n",
            300 => b"\nno such line\n",
            400 => b"\n\xff\xfe\0\0\n",
            _ => b"\n",
        };
        bytes.extend(more);
    }
    bytes.resize(bytes.len() + 300_000, b'x');
    bytes.extend(b"\n10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET /\xff\xc3 HTTP/1.1\" 200 5 \"-\" \"no newline\"");
    bytes
}

#[test]
fn count() {
    let bytes = mixed_log();
    let newlines = bytes.iter().filter(|byte| **byte == b'\n').count();
    let longest = bytes.split(|byte| *byte == b'\n').map(<[u8]>::len).max().expect("a line");
    let settings: [&[&str]; 3] = [&["--threads", "1"], &["--threads", "4"], &["--threads", "1", "--memory", "19MiB"]];
    on_every_path(PROGRAM, &["count", "--json"], &settings, &bytes, |path, ran| {
        let total = &ran.exits(0).json()["total"];
        let counts = ["lines", "bytes", "longest_bytes"].map(|name| total[name].as_u64().expect("a number") as usize);
        assert_eq!(counts, [newlines, bytes.len(), longest], "{path}");
    });
}

#[test]
fn logs_of_sound_lines_equal_a_reference() {
    let bytes = log(20_000);
    let truth = Truth::of(&bytes);
    let settings: [&[&str]; 3] = [&["--threads", "1"], &["--threads", "3"], &["--threads", "1", "--memory", "52MiB"]];
    let same = Same::default();
    on_every_path(PROGRAM, &["logs", "--json"], &settings, &bytes, |path, ran| {
        let report = ran.exits(0).json();
        truth.check(&report);
        same.check(path, comparable(report));
    });
    assert_eq!(same.answer()["lines"]["total"], 20_000);
}

#[test]
fn logs_of_mixed_lines_are_the_same() {
    let bytes = mixed_log();
    let settings: [&[&str]; 2] = [&["--threads", "1"], &["--threads", "4"]];
    for (line_max, rejected) in [("256KiB", 12 + 12 + 1), ("1KiB", 12 + 12 + 1), ("1MiB", 12 + 12 + 1)] {
        let same = Same::default();
        on_every_path(PROGRAM, &["logs", "--json", "--line-max", line_max], &settings, &bytes, |path, ran| {
            let report = ran.exits(0).json();
            assert_eq!(report["sources"][0]["bytes"], bytes.len(), "{path}: the rest of an over-long line counts");
            same.check(path, comparable(report));
        });
        let report = same.answer();
        assert_eq!(report["lines"]["parsed"], 12_001);
        assert_eq!(report["lines"]["rejected"], rejected);
        // Two empty lines after every line with a number that ends in 200.
        assert_eq!(report["lines"]["blank"], 2 * 12);
    }
}

#[test]
fn rejected_lines_are_the_same_and_over_long_ones_are_cut() {
    let bytes = mixed_log();
    let folder = TestFolder::new();
    let rejects = folder.text("rejects");
    let settings: [&[&str]; 2] = [&["--threads", "1"], &["--threads", "4"]];
    for (line_max, kept) in [("256KiB", 256 << 10), ("1KiB", 1 << 10), ("1MiB", 300_000)] {
        let expected = [&b"no such line\n\xff\xfe\0\0\n".repeat(12)[..], &vec![b'x'; kept], b"\n"].concat();
        let args = ["logs", "--json", "--line-max", line_max, "--force", "--rejects", &rejects];
        on_every_path(PROGRAM, &args, &settings, &bytes, |path, ran| {
            let _ = ran.exits(0);
            let written = std::fs::read(&rejects).expect("it was made");
            assert!(expected == written, "{path}, {line_max}: {} instead of {} bytes", written.len(), expected.len());
        });
    }
}

#[test]
fn ten_files_are_ten_times_one() {
    let folder = TestFolder::new();
    let bytes = log(5_000);
    let file = folder.file("log", &bytes);
    let report = rorqual(&["logs", "--json"]).args(vec![&file; 10]).run().exits(0).json();
    Truth::of(&bytes).times(10).check(&report);
    assert_eq!(report["sources"].as_array().map(Vec::len), Some(10));
    let counts = rorqual(&["count", "--json"]).args(vec![&file; 10]).run().exits(0).json();
    assert_eq!(counts["total"]["lines"], 50_000);
    assert_eq!(counts["total"]["bytes"], 10 * bytes.len());
}

/// NULs as `copytruncate` leaves them, and a machine that lost power: after more of them than a
/// line may have comes an ordinary line, at the start of the file and after half a line.
#[test]
fn a_hole_costs_no_line() {
    let (first, second) = (log(3_000), log(2_000));
    let hole = |length: usize| vec![0; length];
    let bytes = [&hole(700_000)[..], &first, b"10.0.0.1 - half a li", &hole(600_001), &second, &hole(300_000)].concat();
    let truth = Truth::of(&[first, second].concat());
    let settings: [&[&str]; 2] = [&["--threads", "1"], &["--threads", "4"]];
    for line_max in ["256KiB", "100KB", "1KiB"] {
        let same = Same::default();
        on_every_path(PROGRAM, &["logs", "--json", "--line-max", line_max], &settings, &bytes, |path, ran| {
            let report = ran.exits(0).json();
            let lines = &report["lines"];
            // The hole at the start, the half line with its hole, the hole at the end.
            assert_eq!((&lines["parsed"], &lines["rejected"]), (&5_000.into(), &3.into()), "{path}, {line_max}");
            same.check(path, comparable(report));
        });
        let report = same.answer();
        let samples = report["rejects"]["samples"].as_array().expect("samples");
        let places: Vec<_> = samples.iter().map(|sample| (&sample["line"], &sample["offset"])).collect();
        let offset = |after: usize| (700_000 + after) as u64;
        // As an editor numbers them: what is after a hole is on the hole's line.
        let half = offset(log(3_000).len());
        let last = offset(log(3_000).len() + 20 + 600_001 + log(2_000).len());
        assert_eq!(places, [(&1.into(), &0.into()), (&3_001.into(), &half.into()), (&5_001.into(), &last.into())], "{line_max}");
        truth.check(&report);
    }
    let bad = &["convert", "--from", "log", "--to", "csv", "-o", "-", "--bad", "skip", "--record-max", "256KiB"];
    // Its format is told by the first bytes alone.
    on_every_path(PROGRAM, bad, &settings, &bytes[700_000..], |path, ran| {
        let rows = ran.exits(0).stdout.split(|byte| *byte == b'\n').count();
        // The header, the rows, nothing after the last newline.
        assert_eq!(rows, 1 + 5_000 + 1, "{path}");
    });
}

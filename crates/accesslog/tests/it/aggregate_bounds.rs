//! Top tables against counts by hand: exact while there is room, true bounds beyond it, the same
//! for any number of threads.

use proptest::collection::vec;
use proptest::prelude::*;
use rorqual_accesslog::aggregate::{Analysis, ChunkNotes, LogWorker, SpanFilter};
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::report::{LogReport, Panel, RunStats};
use rorqual_pipe::limits::{buffer_bytes, buffers_needed};
use rorqual_pipe::{BufferPool, Control, Framing, Input, RunPlan, run};
use std::collections::HashMap;
use std::io::Cursor;
use std::sync::Arc;

const LINE_BYTES_MAX: usize = 4096;

/// Room for everything that these tests count.
const ROOM: u64 = 16 << 20;

/// Room for a few hundred values in each of a path's shards.
const LITTLE_ROOM: u64 = 1 << 20;

const ROWS: usize = 50;

fn combined(number: u64, path: &str) -> String {
    format!("10.0.0.{} - - [02/Jan/2025:00:00:00 +0000] \"GET {path} HTTP/1.1\" 200 {number} \"-\" \"agent\"\n", number % 256)
}

/// The report of `log` with `tables_bytes` for its tables, counted by `threads` workers.
fn report(log: &str, tables_bytes: u64, threads: usize) -> LogReport {
    let analysis = Arc::new(Analysis::new(tables_bytes, SpanFilter::default(), None));
    let pool = BufferPool::new(buffer_bytes(LINE_BYTES_MAX), buffers_needed(threads));
    let plan = RunPlan { framing: Framing::Lines { line_bytes_max: LINE_BYTES_MAX }, zstd_window_log_max: 20 };
    let format = LogFormat::parse("combined").expect("a known format");
    let worker = |_| LogWorker::new(&analysis, &format, LINE_BYTES_MAX as u64, false);
    let input = Input::from_reader("log", Box::new(Cursor::new(log.to_owned())));
    let stages = |_: &[u8]| Some((0..threads).map(worker).collect());
    let finish = run(input, &plan, &pool, &Control::default(), stages, |_: ChunkNotes| Ok(()));
    assert!(finish.error.is_none());
    finish.stages.into_iter().for_each(LogWorker::finish);
    let stats = RunStats { seconds: 0.0, bytes: 0, bytes_per_second: 0.0, threads, memory_max_bytes: 0, peak_bytes: None };
    LogReport::new(&analysis, Vec::new(), true, ROWS, stats)
}

fn paths(report: &LogReport) -> &Panel {
    report.panels.iter().find(|panel| panel.field == "path").expect("there are paths")
}

/// Hits and bytes by path.
fn by_hand(numbers: &[u64]) -> HashMap<String, (u64, u64)> {
    let mut truth = HashMap::new();
    for (index, number) in numbers.iter().enumerate() {
        let (hits, bytes) = truth.entry(format!("/{number}")).or_insert((0, 0));
        *hits += 1;
        *bytes += index as u64;
    }
    truth
}

fn log_of(numbers: &[u64]) -> String {
    numbers.iter().enumerate().map(|(index, number)| combined(index as u64, &format!("/{number}"))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn exact_while_there_is_room(numbers in vec(prop_oneof![0u64..5, 0u64..2_000], 1..3_000), threads in 1usize..=4) {
        let report = report(&log_of(&numbers), ROOM, threads);
        let (panel, truth) = (paths(&report), by_hand(&numbers));
        prop_assert!(panel.exact && panel.distinct.exact && panel.error_max == 0);
        prop_assert_eq!((panel.distinct.distinct, panel.hits), (truth.len() as u64, numbers.len() as u64));
        let mut expected: Vec<(u64, String, u64)> = truth.into_iter().map(|(path, (hits, bytes))| (hits, path, bytes)).collect();
        expected.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        expected.truncate(ROWS);
        let rows: Vec<_> = panel.rows.iter().map(|row| (row.hits, row.value.clone(), row.bytes)).collect();
        prop_assert_eq!(rows, expected);
        prop_assert!(panel.rows.iter().all(|row| row.hits_max == row.hits));
    }
}

/// Many values seen once, a few often, some only towards the end.
fn flood(seed: u64) -> Vec<u64> {
    let hot = |n: u64| n % 40;
    let rare = |n: u64| 1_000 + n.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed) % 1_000_000_000;
    let late = |n: u64| 500 + n % 7;
    (0..200_000u64)
        .map(|n| match n % 10 {
            0..3 => hot(n / 10),
            3 if n > 150_000 => late(n / 10),
            _ => rare(n),
        })
        .collect()
}

#[test]
fn beyond_the_room_the_bounds_hold() {
    for (seed, threads) in [(1, 1), (2, 2), (3, 4)] {
        let numbers = flood(seed);
        let report = report(&log_of(&numbers), LITTLE_ROOM, threads);
        let (panel, truth) = (paths(&report), by_hand(&numbers));
        assert!(!panel.exact && panel.error_max > 0, "this is about the other case");
        assert_eq!(panel.hits, numbers.len() as u64, "the sum stays exact");
        for row in &panel.rows {
            let (hits, bytes) = truth[&row.value];
            assert!(row.hits <= hits && hits <= row.hits_max, "{row:?}: {hits}");
            assert!(row.bytes <= bytes, "{row:?}: {bytes}");
        }
        let last = panel.rows.last().expect("rows").hits;
        for (path, (hits, _)) in &truth {
            let listed = panel.rows.iter().any(|row| row.value == *path);
            assert!(listed || *hits <= last + panel.error_max, "{path} with {hits} hits is missing");
        }
        let off = (panel.distinct.distinct as f64 / truth.len() as f64 - 1.0).abs();
        assert!(off <= 2.0 * panel.distinct.error && panel.distinct.error < 0.05, "{:?}", panel.distinct);
    }
}

#[test]
fn sums_that_overflow_stay_at_their_limit() {
    let line = |bytes: &str| format!("10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET / HTTP/1.1\" 200 {bytes} \"-\" \"a\"\n");
    let log = [line("18446744073709551614"), line("18446744073709551614"), line("7")].concat();
    let report = report(&log, ROOM, 1);
    assert_eq!((report.lines.total, report.bytes_sent), (3, u64::MAX));
    assert_eq!(paths(&report).rows[0].bytes, u64::MAX);
}

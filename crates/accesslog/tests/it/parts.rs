//! Parts of a log, analysed apart and added up, make the report of the whole.

use rorqual_accesslog::Options;
use rorqual_accesslog::aggregate::{AnalysisPart, InputPart, SpanFilter};
use rorqual_accesslog::analyze::{AnalyzeSettings, Analyzer, Formats, RunEnd};
use rorqual_pipe::gather::Gather;
use rorqual_pipe::{Control, Input};
use std::io::{Cursor, Sink};

const SAMPLE: &[u8] = include_bytes!("../../../../samples/apache_combined.log");

fn analyzer(memory_bytes: u64) -> Analyzer {
    let settings = AnalyzeSettings {
        memory_bytes,
        threads: Some(1),
        line_bytes_max: 64 << 10,
        span: SpanFilter { since_us: Some(1_431_900_000_000_000), until_us: None },
        formats: Formats::default(),
        feed_buffers: 0,
        kept: None,
        countries: None,
    };
    let shares = settings.shares(0, 1).expect("enough");
    Analyzer::new(&settings, shares, Options { of_files: true, estimates_seed: Some(1), ..Options::default() })
}

fn input(name: &str, bytes: &[u8]) -> Input {
    Input::from_reader(name, Box::new(Cursor::new(bytes.to_vec())))
}

/// The report without its costs.
fn report(analyzer: &Analyzer, ends: Vec<RunEnd>) -> serde_json::Value {
    let sources = ends.into_iter().map(|end| end.source).collect();
    let mut report = serde_json::to_value(analyzer.report(sources, true, 1_000)).expect("JSON");
    report["stats"].take();
    report
}

/// Two logs, with lines that are none, one of them long, and one that has a flaw.
fn logs() -> Vec<(&'static str, Vec<u8>)> {
    let first = [SAMPLE, b"no line\n", SAMPLE, &b"x".repeat(70_000), b"\n", SAMPLE].concat();
    let second = SAMPLE.iter().rev().skip(1).copied().collect::<Vec<u8>>();
    let second = second.split(|byte| *byte == b'\n').flat_map(|line| line.iter().rev().copied().chain([b'\n'])).collect();
    vec![("first.log", first), ("second.log", second)]
}

/// Parts of some lines each, by the number of the log and the offset.
fn cut(logs: &[(&str, Vec<u8>)], bytes: usize) -> Vec<(u64, u64, Vec<u8>)> {
    let mut parts = Vec::new();
    for (number, (_, log)) in logs.iter().enumerate() {
        let mut start = 0;
        while start < log.len() {
            let at = (start + bytes).min(log.len());
            let end = log[at..].iter().position(|byte| *byte == b'\n').map_or(log.len(), |newline| at + newline + 1);
            parts.push((number as u64, start as u64, log[start..end].to_vec()));
            start = end;
        }
    }
    parts
}

#[test]
fn any_cut_gives_the_same_report() {
    let logs = logs();
    let whole = analyzer(256 << 20);
    let ends: Vec<RunEnd> = logs
        .iter()
        .map(|(name, log)| whole.run(input(name, log), &Control::default(), |_, _| {}, None::<&mut Gather<Sink>>).expect("a log"))
        .collect();
    let expected = report(&whole, ends);
    assert!(expected["lines"]["rejected"] == 2 && expected["lines"]["outside"].as_u64() > Some(1_000), "{}", expected["lines"]);
    // A part is longer than the lines that tell the format.
    for (bytes, processes) in [(usize::MAX, 1), (1_000_000, 2), (500_000, 3), (300_000, 5)] {
        let sum = analyzer(256 << 20);
        let parts = cut(&logs, bytes.min(1 << 30));
        let mut ends: Vec<(u64, RunEnd)> = Vec::new();
        // Each process has parts that follow one another.
        for of_process in parts.chunks(parts.len().div_ceil(processes)) {
            let process = analyzer(256 << 20);
            let mut given: Vec<Vec<u8>> = Vec::new();
            for (number, start, lines) in of_process {
                let (name, log) = &logs[*number as usize];
                let format = (*start > 0).then(|| process.format_of_parts(&log[..256 << 10]).expect("it can be cut"));
                let part = input(name, lines).within(*start..log.len() as u64);
                let part = process.run_part(*number, format, part, &Control::default());
                given.push(AnalysisPart::of_input(part.expect("it can be read")).to_bytes());
            }
            let _: Result<(), ()> = process.analysis().parts(|part| {
                given.push(part.to_bytes());
                Ok(())
            });
            for bytes in given {
                let part = AnalysisPart::of_bytes(&bytes).expect("a part");
                if let Some(input) = sum.analysis().absorb(part).expect("a sound one") {
                    take(&mut ends, input);
                }
            }
        }
        let mut ends: Vec<RunEnd> = ends.into_iter().map(|(_, end)| end).collect();
        ends.iter_mut().for_each(|end| sum.take_in_turn(end));
        let found = report(&sum, ends);
        for (key, value) in expected.as_object().expect("an object") {
            assert!(found[key] == *value, "{key} of {bytes} bytes a part, {processes} processes");
        }
    }
}

fn take(ends: &mut Vec<(u64, RunEnd)>, part: InputPart) {
    match ends.last_mut() {
        Some((number, end)) if *number == part.number => end.take_part(part),
        _ => ends.push((part.number, RunEnd::of_part(part))),
    }
}

#[test]
fn bytes_that_are_no_part_are_an_error() {
    let process = analyzer(256 << 20);
    let part = process.run_part(0, None, input("a.log", SAMPLE), &Control::default()).expect("it can be read");
    let mut parts = vec![AnalysisPart::of_input(part).to_bytes()];
    let _: Result<(), ()> = process.analysis().parts(|part| {
        parts.push(part.to_bytes());
        Ok(())
    });
    assert!(parts.len() > 10);
    // Whatever is done to the bytes: an error, or other sums, but no panic.
    for (number, part) in parts.iter().enumerate() {
        for step in 0..200 {
            let mut bytes = part.clone();
            let at = (step * 7_919 + number) % bytes.len();
            match step % 3 {
                0 => bytes.truncate(at),
                1 => bytes[at] ^= 0xff,
                _ => bytes[at] = bytes[at].wrapping_add(1),
            }
            let sum = analyzer(64 << 20);
            if let Ok(part) = AnalysisPart::of_bytes(&bytes) {
                let _ = sum.analysis().absorb(part);
            }
            let _ = sum.report(Vec::new(), true, 10);
        }
    }
}

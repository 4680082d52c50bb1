//! Numbers after the agent: which of them are times, and in what unit. What is read is worked out
//! by hand; what is not has to be said.

use rorqual_accesslog::format::{Detection, Field, detect};
use rorqual_accesslog::parse::{LineFlaw, LineOutcome, LogParser};

const BASE: &str = r#"203.0.113.7 - - [22/Nov/2024:10:10:00 +0000] "GET /a/0?q=0 HTTP/1.1" 200 512 "-" "curl/8""#;

/// The lines, each with its own end.
fn log(before: &str, tails: &[String]) -> Vec<String> {
    tails.iter().map(|tail| format!("{before}{BASE}{tail}")).collect()
}

fn detected(lines: &[String]) -> Detection {
    detect((lines.join("\n") + "\n").as_bytes(), &[]).expect("a known format")
}

/// The request times of lines with these ends, in microseconds, and what of them is not read.
fn times(before: &str, tails: &[&str]) -> (Vec<Option<u64>>, Option<String>) {
    let lines = log(before, &tails.iter().map(|tail| (*tail).to_owned()).collect::<Vec<_>>());
    let found = detected(&lines);
    assert!(found.sure, "{tails:?}");
    let mut parser = LogParser::new(&found.format);
    let times = lines.iter().map(|line| match parser.parse(line.as_bytes()) {
        LineOutcome::Parsed(record) => record.request_time_us,
        other => panic!("{line}: {other:?}"),
    });
    (times.collect(), found.unread)
}

/// Morgan's `combined` with `:response-time ms` after it, behind whatever may stand before lines.
#[test]
fn a_number_before_a_unit_is_in_that_unit() {
    let befores = ["", "www.example.com ", "www.example.com:443 ", "Nov 22 10:10:00 web1 app: ", "web-1  | "];
    for before in befores {
        assert_eq!(times(before, &[" 94.801 ms", " 7 ms"]), (vec![Some(94_801), Some(7_000)], None), "{before}");
        assert_eq!(times(before, &[" 94.801 ms", " - ms"]), (vec![Some(94_801), None], None), "{before}");
        assert_eq!(times(before, &[" - 12.345 ms"]), (vec![Some(12_345)], Some("-".to_owned())), "{before}");
    }
    assert_eq!(times("", &[" 1.5 s"]), (vec![Some(1_500_000)], None));
    assert_eq!(times("", &[" 2 sec"]), (vec![Some(2_000_000)], None));
    assert_eq!(times("", &[" 1500 us"]), (vec![Some(1_500)], None));
    assert_eq!(times("", &[" 1500 µs"]), (vec![Some(1_500)], None));
    assert_eq!(times("", &[" rt=94.801 ms id=7"]), (vec![Some(94_801)], Some("id=7".to_owned())));
    // One time only, whatever the word before.
    assert_eq!(times("", &[" 7 94.801 ms"]), (vec![Some(94_801)], Some("7".to_owned())));
    // No word is a unit where others stand in its place.
    assert_eq!(times("", &[" 94.801 us", " 94.802 de"]), (vec![None; 2], Some("94.801 us".to_owned())));
    assert_eq!(times("", &[" \"94.801 ms\""]), (vec![None], Some("\"94.801 ms\"".to_owned())));
}

/// A line whose unit is another one is no line of the format: its time is left out.
#[test]
fn a_line_with_another_unit_is_repaired() {
    let lines = log("", &(0..200).map(|number| format!(" {number}.801 ms")).collect::<Vec<_>>());
    let found = detected(&lines);
    assert_eq!((found.format.name(), found.sure, found.sound), ("combined_times", true, 200));
    let mut parser = LogParser::new(&found.format);
    for tail in [" 1.204 s", " 1.204", " 500123"] {
        let line = format!("{BASE}{tail}");
        let LineOutcome::Repaired(record, _) = parser.parse(line.as_bytes()) else { panic!("{tail}") };
        assert_eq!((record.request_time_us, record.status, record.bytes), (None, 200, Some(512)), "{tail}");
    }
}

#[test]
fn numbers_that_are_no_times() {
    // A Unix time, a ratio, a version: none is written as nginx writes a request's time.
    for tail in [" 1732270200.123", " 1.70", " 1.1", " 0.5", " 1234567.123", " 1.2345", " 1732270200.000 1.70"] {
        assert_eq!(times("", &[tail]), (vec![None], Some(tail.trim_start().to_owned())), "{tail}");
        assert_eq!(times("www.example.com ", &[tail]), (vec![None], Some(tail.trim_start().to_owned())), "{tail}");
    }
    assert_eq!(times("", &[" 0.123"]), (vec![Some(123_000)], None));
    assert_eq!(times("", &[" 999999.123"]), (vec![Some(999_999_123_000)], None));
    // `$msec $request_time`
    let tails = [" 1732270200.000 0.123", " 1732270201.500 0.007"];
    assert_eq!(times("", &tails), (vec![Some(123_000), Some(7_000)], Some("1732270200.000".to_owned())));
}

/// Request times differ: a number that is the same in all lines is something else.
#[test]
fn a_number_that_never_changes_is_no_time() {
    for tail in [" 1.204", " \"1.204\"", " 37.751", " 0.100, 0.100"] {
        let unread = Some(tail.trim_start().to_owned());
        assert_eq!(times("", &[tail; 8]), (vec![None; 8], unread.clone()), "{tail}");
        assert_eq!(times("www.example.com ", &[tail; 8]), (vec![None; 8], unread), "{tail}");
    }
    // Fewer lines may be the same by chance.
    assert_eq!(times("", &[" 1.204"; 7]), (vec![Some(1_204_000); 7], None));
    // Short requests take none.
    assert_eq!(times("", &[" 0.000"; 9]), (vec![Some(0); 9], None));
    // One line that differs is enough, and one without a time is none.
    let mut tails = [" 1.204"; 9];
    tails[8] = " 1.205";
    assert_eq!(times("", &tails).0[7..], [Some(1_204_000), Some(1_205_000)]);
    tails[8] = " -";
    assert_eq!(times("", &tails).0, [None; 9]);
    // Beside one that changes.
    let tails: Vec<String> = (1..=8).map(|number| format!(" 37.751 0.00{number}")).collect();
    let read = times("", &tails.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(read, ((1..=8).map(|number| Some(number * 1_000)).collect(), Some("37.751".to_owned())));
    // A name says what it is.
    assert_eq!(times("", &[" rt=1.204"; 8]), (vec![Some(1_204_000); 8], None));
}

/// Whole numbers behind a log of seconds may be microseconds: no time is read of them.
#[test]
fn a_whole_number_among_seconds_is_a_flaw() {
    for (tail, name) in [("", "combined_timed"), (" 0.001", "combined_upstream_timed")] {
        let seconds = (0..250).map(|number| format!(" 0.{:03}{tail}", 500 + number));
        let lines = log("", &seconds.chain((0..50).map(|_| format!(" 500123{tail}"))).collect::<Vec<_>>());
        let found = detected(&lines);
        if tail.is_empty() {
            assert_eq!((found.format.name(), found.sure, found.lines), (name, true, 200));
        }
        let mut parser = LogParser::new(&found.format);
        let outcomes = lines.iter().map(|line| match parser.parse(line.as_bytes()) {
            LineOutcome::Parsed(record) => (record.request_time_us, None),
            LineOutcome::Repaired(record, flaw) => (record.request_time_us, Some(flaw)),
            other => panic!("{line}: {other:?}"),
        });
        let outcomes: Vec<_> = outcomes.collect();
        assert_eq!((outcomes[0], outcomes[249]), ((Some(500_000), None), (Some(749_000), None)));
        assert_eq!(outcomes[250..], vec![(None, Some(LineFlaw::NotNumber(Field::RequestTime))); 50]);
    }
}

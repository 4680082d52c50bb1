//! Times of every zone, checked against jiff.

// Helpers are not seen as tests by clippy.toml, and may fail as tests do.
#![allow(clippy::expect_used)]

use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::tz::Offset;
use jiff::{Timestamp, fmt::strtime};
use proptest::prelude::*;
use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::parse::{LineOutcome, LogParser};

/// From the year 0001 to the end of 9998, so that every zone's local year has four digits.
const SECONDS: std::ops::Range<i64> = -62_135_596_800..253_370_764_800;

const CLF: &str = "[$time_local] $status";
const ISO: &str = "$time_iso8601 $status";
const PIECES: &str = "%{%y %j %I:%M:%S %p %z}t %s";

/// The formats, compiled once.
static FORMATS: LazyLock<HashMap<&str, LogFormat>> =
    LazyLock::new(|| [CLF, ISO, PIECES, "json"].into_iter().map(|text| (text, LogFormat::parse(text).expect("sound"))).collect());

fn time_of(format: &str, line: &str) -> Option<(i64, i32)> {
    let mut parser = LogParser::new(&FORMATS[format]);
    match parser.parse(line.as_bytes()) {
        LineOutcome::Parsed(record) => record.time_us.map(|time_us| (time_us, record.zone_seconds)),
        _ => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn agrees_with_jiff(second in SECONDS, micros in 0i64..1_000_000, zone_minutes in -1_439i32..1_440) {
        let zone_seconds = zone_minutes * 60;
        let instant = Timestamp::from_second(second).expect("in range");
        let local = instant.to_zoned(Offset::from_seconds(zone_seconds).expect("in range").to_time_zone());
        let write = |format: &str| strtime::format(format, &local).expect("a known directive");
        let whole_us = second * 1_000_000;
        let clf = write("%d/%b/%Y:%H:%M:%S %z");
        prop_assert_eq!(time_of(CLF, &format!("[{clf}] 200")), Some((whole_us, zone_seconds)));
        let iso = write("%Y-%m-%dT%H:%M:%S%:z");
        prop_assert_eq!(time_of(ISO, &format!("{iso} 200")), Some((whole_us, zone_seconds)));
        let fraction = write("%Y-%m-%dT%H:%M:%S");
        let fraction = format!(r#"{{"ts":"{fraction}.{micros:06}{}","status":200}}"#, write("%:z"));
        prop_assert_eq!(time_of("json", &fraction), Some((whole_us + micros, zone_seconds)));
        let pieces = write("%y %j %I:%M:%S %p %z");
        if (1969..2069).contains(&local.year()) {
            prop_assert_eq!(time_of(PIECES, &format!("{pieces} 200")), Some((whole_us, zone_seconds)));
        }
    }

    #[test]
    fn remembered_dates_change_nothing(seconds in prop::collection::vec((0i64..400_000, 0i32..3), 1..20)) {
        let mut parser = LogParser::new(&FORMATS[CLF]);
        for (second, zone_hours) in seconds {
            let local = Timestamp::from_second(second).expect("in range").to_zoned(Offset::constant(zone_hours as i8).to_time_zone());
            let line = strtime::format("[%d/%b/%Y:%H:%M:%S %z] 200", &local).expect("known directives");
            let LineOutcome::Parsed(record) = parser.parse(line.as_bytes()) else { panic!("{line}") };
            prop_assert_eq!(record.time_us, Some(second * 1_000_000));
        }
    }
}

#[test]
fn a_flawed_date_is_not_remembered() {
    let mut parser = LogParser::new(&FORMATS[CLF]);
    for _ in 0..2 {
        assert!(matches!(parser.parse(b"[31/Feb/2015:10:05:03 +0000] 200"), LineOutcome::Rejected(_)));
        assert!(matches!(parser.parse(b"[28/Feb/2015:10:05:03 +0000] 200"), LineOutcome::Parsed(_)));
        assert!(matches!(parser.parse(b"[28/Feb/2015:10:05:03 +9900] 200"), LineOutcome::Rejected(_)));
    }
}

#[test]
fn every_day_of_eight_hundred_years() {
    let mut parser = LogParser::new(&FORMATS[CLF]);
    let mut date = jiff::civil::date(1600, 1, 1);
    let mut days = Timestamp::from_second(-11_676_096_000).expect("in range").as_second() / 86_400;
    while date.year() < 2400 {
        let line = format!("[{} 200", date.strftime("%d/%b/%Y:00:00:00 +0000]"));
        let LineOutcome::Parsed(record) = parser.parse(line.as_bytes()) else { panic!("{line}") };
        assert_eq!(record.time_us, Some(days * 86_400_000_000), "{line}");
        date = date.tomorrow().expect("in range");
        days += 1;
    }
}

//! Explain finds planted effects, and nothing where nothing was planted.

use crate::log::{Plain, Random, Setup, State, format, text_of};
use rorqual_crossfilter::{Finding, RowStore, View};
use rorqual_pipe::Control;
use std::sync::Arc;

pub(crate) const ROWS: usize = 60_000;
/// The log's span, and the one that is asked about.
const SECONDS: i64 = 10 * 86_400;
pub(crate) const FROM: i64 = 5 * 86_400;
pub(crate) const TO: i64 = FROM + 86_400 / 2;

pub(crate) fn ordinary(random: &mut Random) -> Plain {
    let paths = 400;
    let path = random.zipf(paths);
    let status = match random.below(100) {
        0..=1 => 500,
        2..=7 => 404,
        8..=15 => 301,
        _ => 200,
    };
    Plain {
        state: if random.one_in(500) { State::Repaired } else { State::Sound },
        time: random.below(SECONDS as u64) as i64,
        zone_hours: 0,
        client: format!("10.{}.{}.{}", random.below(30), random.below(100), random.below(200)),
        user: String::new(),
        method: if random.one_in(12) { "POST" } else { "GET" }.to_owned(),
        path: format!("/path/{path}"),
        query: String::new(),
        status,
        bytes: Some(random.zipf(200_000)),
        referrer: if random.one_in(3) { format!("http://site{}.example/", random.zipf(40)) } else { String::new() },
        agent: format!("Mozilla/5.0 (Windows NT 10.0) Chrome/{}.0 Safari/537.36", 90 + random.zipf(30)),
        host: format!("host{}.example", random.zipf(4)),
        request_time_us: Some(1_000 + random.zipf(400_000)),
        upstream_time_us: Some(500 + random.zipf(100_000)),
    }
}

/// A kind of anomaly: its effect on a row of the span, and the text of a finding of it.
pub(crate) type Planted = (&'static str, fn(&mut Plain, &mut Random), &'static str);

pub(crate) const PLANTED: [Planted; 10] = [
    (
        "a scanner",
        |row, random| {
            row.client = "192.0.2.77".to_owned();
            row.path = format!("/wp-admin/{}.php", random.below(5_000));
            row.status = 404;
        },
        "client = 192.0.2.77",
    ),
    (
        "a broken path",
        |row, _| {
            row.path = "/path/3".to_owned();
            row.status = 502;
        },
        "status = 502",
    ),
    (
        "a bad bot from one network",
        |row, random| {
            row.client = format!("198.51.100.{}", random.below(250));
            row.agent = "BadBot/1.0".to_owned();
        },
        "net = 198.51.100.0/24",
    ),
    (
        "a slow upstream",
        |row, random| {
            row.upstream_time_us = Some(4_000_000 + random.below(1_000_000));
            row.request_time_us = Some(5_100_000);
        },
        "request_time >= 5",
    ),
    ("a link from elsewhere", |row, _| row.referrer = "http://news.example/item".to_owned(), "site = news.example"),
    ("large downloads", |row, random| row.bytes = Some((200 << 20) + random.below(1 << 20)), "bytes >= 104857600"),
    ("a method", |row, _| row.method = "PROPFIND".to_owned(), "method = PROPFIND"),
    (
        "a host that fails",
        |row, _| {
            row.host = "host2.example".to_owned();
            row.status = 500;
        },
        "host = host2.example",
    ),
    ("lines with a flaw", |row, _| row.state = State::Repaired, "flaw = \"number of bytes is not a number\""),
    ("a program", |row, _| row.agent = "python-requests/2.31.0".to_owned(), "bot = python-requests"),
];

/// Effect on a row that is in the span or not.
type Change = fn(&mut Plain, bool, &mut Random);

/// Effects on one path, which is asked for as often as ever; and the texts of the findings.
const PLACED: [(&str, Change, [&str; 2]); 3] = [
    (
        "a path that fails",
        |row, within, random| {
            if within && row.path == "/path/2" && !random.one_in(10) {
                row.status = 503;
            }
        },
        ["path = /path/2", "status = 503"],
    ),
    (
        "a path that is slow",
        |row, within, random| {
            if within && row.path == "/path/2" && !random.one_in(5) {
                row.request_time_us = Some(2_000_000 + random.below(3_000_000));
            }
        },
        ["path = /path/2", "request_time >= 2"],
    ),
    (
        "a cache that forgets a file",
        |row, within, random| {
            if row.path == "/path/1" {
                row.status = if within || random.one_in(10) { 200 } else { 304 };
            }
        },
        ["path = /path/1", "status = 200"],
    ),
];

/// Number of visitors at a time, in a log of visits.
const VISITORS: u64 = 100;

/// Rows of visitors that come, ask for 8 things each (one in fifty of them for ten times as many),
/// and go.
pub(crate) fn visits(seed: u64) -> Vec<Plain> {
    visits_of(seed, ROWS, VISITORS)
}

fn visits_of(seed: u64, rows: usize, visitors_at_a_time: u64) -> Vec<Plain> {
    let mut random = Random(seed);
    let arrive = |random: &mut Random| {
        let requests = (1 + random.below(15)) * if random.one_in(50) { 10 } else { 1 };
        let agents = ["Chrome", "Firefox", "Opera", "curl", "Wget", "Googlebot", "bingbot", "YandexBot"];
        let agent = format!("{}/{}.0", random.pick(&agents), random.zipf(12));
        let client = format!("10.{}.{}.{}", random.zipf(200), random.below(50), random.below(200));
        (requests, client, agent, format!("host{}.example", random.below(3)))
    };
    let mut visitors: Vec<_> = (0..visitors_at_a_time).map(|_| arrive(&mut random)).collect();
    let mut rows: Vec<Plain> = (0..rows).map(|_| ordinary(&mut random)).collect();
    rows.sort_by_key(|row| row.time);
    for row in &mut rows {
        let place = random.below(visitors_at_a_time) as usize;
        if visitors[place].0 == 0 {
            visitors[place] = arrive(&mut random);
        }
        let visitor = &mut visitors[place];
        visitor.0 -= 1;
        (row.client, row.agent, row.host) = (visitor.1.clone(), visitor.2.clone(), visitor.3.clone());
    }
    rows
}

fn changed(mut rows: Vec<Plain>, random: &mut Random, change: Change) -> Vec<Plain> {
    rows.iter_mut().for_each(|row| change(row, (FROM..TO).contains(&row.time), random));
    rows
}

pub(crate) fn log(seed: u64, planted: Option<Planted>) -> Vec<Plain> {
    let mut random = Random(seed);
    let mut rows: Vec<Plain> = (0..ROWS).map(|_| ordinary(&mut random)).collect();
    rows.sort_by_key(|row| row.time);
    let Some((_, change, _)) = planted else { return rows };
    // A part of the span's rows, and a few everywhere else.
    for row in &mut rows {
        let within = (FROM..TO).contains(&row.time);
        if within && random.one_in(12) || random.one_in(5_000) && !within {
            change(row, &mut random);
        }
    }
    rows
}

pub(crate) fn span(from: i64, to: i64) -> View {
    let unix = |time: i64| (crate::log::START + 2 * 86_400 + time) * 1_000_000;
    View { from_us: Some(unix(from)), to_us: Some(unix(to)), ..View::default() }
}

fn findings(store: &RowStore, from: i64, to: i64) -> Vec<Finding> {
    store.explain(&span(from, to), &View::default(), &Control::default()).expect("nobody cancels").findings
}

#[test]
fn planted_anomalies_are_among_the_first_three() {
    for (round, planted) in PLANTED.iter().chain(&PLANTED).enumerate() {
        let store = Setup { threads: 2, segment_rows: 8_192, ..Setup::default() }
            .record(text_of(&log(1_000 + round as u64, Some(*planted))));
        let found = findings(&store, FROM, TO);
        let says =
            |finding: &Finding| finding.conditions.iter().chain(&finding.companions).any(|condition| condition == planted.2);
        assert!(found.iter().take(3).any(says), "{}: {found:#?}", planted.0);
        for finding in &found {
            let view =
                View { filter: rorqual_accesslog::filter::Filter::parse(&finding.filter).expect("a filter"), ..span(FROM, TO) };
            let page = store.page(&view, 0, 0, Some(&format()), &Control::default()).expect("nobody cancels");
            assert_eq!(page.total, finding.hits_in, "{}", finding.filter);
        }
    }
}

#[test]
fn nothing_is_found_where_nothing_is() {
    for seed in 0..5u64 {
        let store = Setup { threads: 2, segment_rows: 8_192, ..Setup::default() }.record(text_of(&log(77 + seed, None)));
        for span in 0..4 {
            let from = span * 2 * 86_400;
            let found = findings(&store, from, from + 86_400 / 2);
            assert!(found.is_empty(), "seed {seed}, span {span}: {found:#?}");
        }
    }
}

fn recorded(rows: &[Plain]) -> Arc<RowStore> {
    Setup { threads: 2, segment_rows: 8_192, ..Setup::default() }.record(text_of(rows))
}

#[test]
fn an_effect_is_named_with_its_place() {
    for (round, (name, change, said)) in (0..).zip(PLACED.iter().chain(&PLACED)) {
        let mut random = Random(4_000 + round);
        for rows in [log(3_000 + round, None), visits(3_000 + round)] {
            let found = findings(&recorded(&changed(rows, &mut random, *change)), FROM, TO);
            let says = |finding: &Finding, text: &str| {
                finding.conditions.iter().chain(&finding.companions).any(|condition| condition == text)
            };
            let is_whole = |finding: &Finding| said.iter().all(|text| says(finding, text));
            assert!(found.iter().take(3).any(is_whole), "{name}: {found:#?}");
        }
    }
}

#[test]
fn visits_are_no_findings() {
    for seed in 0..20 {
        let store = recorded(&visits(500 + seed));
        for span in 0..4 {
            let from = span * 2 * 86_400;
            let found = findings(&store, from, from + 86_400 / 2);
            assert!(found.is_empty(), "seed {seed}, span {span}: {found:#?}");
        }
    }
}

/// The longest visits are a small share of the span, as a short outage is, and hardly any other
/// rows have their clients.
#[test]
fn long_visits_in_a_large_span_are_no_small_findings() {
    for seed in 0..3 {
        let found = findings(&recorded(&visits_of(600 + seed, 400_000, 60)), FROM, TO);
        // Several of one network may be a large one.
        let are_large = found.iter().all(|finding| finding.share_in - finding.share_out >= 0.01);
        assert!(are_large, "seed {seed}: {found:#?}");
    }
}

#[test]
fn a_scanner_among_visits_is_found() {
    let scan: Change = |row, within, random| {
        if within && random.one_in(15) {
            row.client = "192.0.2.77".to_owned();
            row.path = format!("/wp-admin/{}.php", random.below(5_000));
            row.status = 404;
        }
    };
    for seed in 0..5 {
        let rows = changed(visits(900 + seed), &mut Random(seed + 1), scan);
        let scanned = rows.iter().filter(|row| row.client == "192.0.2.77").count() as u64;
        let found = findings(&recorded(&rows), FROM, TO);
        let names = |finding: &&Finding| {
            finding.conditions.iter().chain(&finding.companions).any(|condition| condition == "client = 192.0.2.77")
        };
        let finding = found.iter().take(3).find(names).unwrap_or_else(|| panic!("seed {seed}: {found:#?}"));
        assert!(finding.hits_in >= scanned, "{finding:?}");
    }
}

#[test]
fn a_view_that_is_wider_than_what_it_is_set_against() {
    let store = Setup { threads: 2, segment_rows: 8_192, ..Setup::default() }.record(text_of(&log(5, None)));
    let explained = store.explain(&View::default(), &span(FROM, TO), &Control::default()).expect("nobody cancels");
    assert_eq!((explained.rows_out, explained.findings.len()), (0, 0));
    let apart = store.explain(&span(0, FROM), &span(FROM, TO), &Control::default()).expect("nobody cancels");
    assert_eq!((apart.rows_in, apart.findings.len()), (0, 0));
}

/// The field that chose the rows is in each finding's rows, and would have all others as mere
/// companions.
#[test]
fn fields_that_chose_the_rows_are_left_out() {
    let mut random = Random(17);
    let mut rows = log(17, None);
    for row in rows.iter_mut().filter(|row| row.path == "/path/2") {
        if random.one_in(3) {
            row.request_time_us = Some(20_000_000 + random.below(1_000_000));
        }
    }
    let store = Setup { threads: 2, segment_rows: 8_192, ..Setup::default() }.record(text_of(&rows));
    let slow =
        View { filter: rorqual_accesslog::filter::Filter::parse("request_time >= 10").expect("a filter"), ..View::default() };
    let first = |except: &[&str]| {
        let except: Vec<String> = except.iter().map(|name| (*name).to_owned()).collect();
        let explained = store.explain_except(&slow, &View::default(), &except, &Control::default()).expect("nobody cancels");
        assert_eq!(explained.rows_in, rows.iter().filter(|row| row.request_time_us >= Some(10_000_000)).count() as u64);
        let names = |finding: &Finding| [finding.conditions.clone(), finding.companions.clone()].concat();
        let said: Vec<Vec<String>> = explained.findings.iter().map(names).collect();
        (explained.findings[0].conditions.clone(), said.concat(), explained.tried)
    };
    let (conditions, _, tried) = first(&[]);
    assert!(conditions[0].starts_with("request_time >= "), "{conditions:?}");
    let (conditions, said, tried_without) = first(&["request_time"]);
    assert_eq!(conditions, ["path = /path/2"]);
    assert!(!said.iter().any(|condition| condition.contains("request_time")), "{said:?}");
    assert!(tried_without < tried, "{tried_without} of {tried}");
}

#[test]
fn findings_are_the_same_whichever_thread_took_which_rows() {
    let mut random = Random(71);
    let mut rows: Vec<Plain> = (0..ROWS).map(|_| ordinary(&mut random)).collect();
    rows.sort_by_key(|row| row.time);
    for row in &mut rows {
        let inside = (FROM..TO).contains(&row.time);
        // In the rest it comes in bursts.
        if (inside && random.one_in(6)) || (!inside && row.time / 1_800 % 20 == 0 && random.one_in(4)) {
            row.path = "/path/3".to_owned();
            row.status = 502;
        }
    }
    let text = text_of(&rows);
    let explained = |threads, segment_rows| {
        let store = Setup { threads, segment_rows, ..Setup::default() }.record(text.clone());
        let explained = store.explain(&span(FROM, TO), &View::default(), &Control::default()).expect("nobody cancels");
        (explained.findings, explained.tried)
    };
    let one = explained(1, 1 << 16);
    assert!(one.0.iter().any(|finding| finding.dispersion > 1.0), "{one:?}");
    for (threads, segment_rows) in [(2, 1 << 16), (3, 1_000), (2, 137)] {
        assert_eq!(explained(threads, segment_rows), one, "{threads} threads, {segment_rows} rows a segment");
    }
}

/// Has the first 53 requests of the span fail: 36 with one status and 17 with another.
pub(crate) fn fail_for_a_minute(rows: &mut [Plain]) {
    for (place, row) in rows.iter_mut().filter(|row| row.time >= FROM).take(53).enumerate() {
        row.status = if place < 36 { 502 } else { 504 };
    }
}

/// A minute in which a few requests fail, of a log in which nothing else does: 53 rows of the span,
/// and below 1 % of it.
#[test]
fn a_small_outage_is_found() {
    for (seed, is_proxied) in (0..6).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut rows = if seed % 2 == 0 { visits(700 + seed) } else { log(700 + seed, None) };
        if is_proxied {
            rows.iter_mut().for_each(|row| "10.0.0.1".clone_into(&mut row.client));
        }
        // A span with more than a hundred times as many rows.
        let (span_from, end) = (FROM - 86_400 / 2, FROM + 86_400 / 2);
        fail_for_a_minute(&mut rows);
        let rows_in = rows.iter().filter(|row| (span_from..end).contains(&row.time)).count();
        assert!(rows_in > 5_300, "{rows_in}");
        let found = findings(&recorded(&rows), span_from, end);
        let hits =
            |condition: &str| found.iter().find(|finding| finding.conditions == [condition]).map(|finding| finding.hits_in);
        assert_eq!((hits("status = 502"), hits("status = 504")), (Some(36), Some(17)), "seed {seed}: {found:#?}");
    }
}

/// Errors of many statuses, of each fewer than are told: together they are one finding.
#[test]
fn errors_of_several_statuses_are_found_as_a_class() {
    let mut rows = visits(31);
    rows.iter_mut().filter(|row| row.status == 500).for_each(|row| row.status = 200);
    let mut inside: Vec<&mut Plain> = rows.iter_mut().filter(|row| (FROM..TO).contains(&row.time)).collect();
    let statuses = [500, 502, 503, 504, 507, 520, 521, 522];
    for (row, status) in inside.iter_mut().step_by(31).zip(statuses.repeat(7)) {
        row.status = status;
    }
    let found = findings(&recorded(&rows), FROM, TO);
    let class = found.iter().find(|finding| finding.conditions == ["status >= 500"]);
    let class = class.unwrap_or_else(|| panic!("{found:?}"));
    assert_eq!((class.hits_in, class.hits_out), (56, 0));
    assert!(!found.iter().any(|finding| finding.conditions == ["status >= 400"]), "{found:?}");
}

#[test]
fn a_long_value_is_offered_by_its_beginning() {
    let mut random = Random(72);
    let long = format!("q=(a+b)[1]{}", "x<\u{e9}".repeat(500));
    let mut rows: Vec<Plain> = (0..20_000).map(|_| ordinary(&mut random)).collect();
    for row in rows.iter_mut().filter(|row| (FROM..TO).contains(&row.time) && row.state == State::Sound) {
        if random.one_in(8) {
            row.query = long.clone();
        }
    }
    let store = Setup::default().record(text_of(&rows));
    let explained = store.explain(&span(FROM, TO), &View::default(), &Control::default()).expect("nobody cancels");
    let finding = explained.findings.first().expect("something stands out");
    assert!(finding.filter.starts_with("query ~ \"^q") && finding.filter.len() < 1_000, "{}", finding.filter);
    let filter = rorqual_accesslog::filter::Filter::parse(&finding.filter).expect("a filter");
    let viewed = store.view(&View { filter, ..View::default() }, &rorqual_crossfilter::ViewParts::default(), &Control::default());
    assert_eq!(viewed.expect("nobody cancels").lines.total, rows.iter().filter(|row| row.query == long).count() as u64);
}

/// More values with enough rows than are held.
#[test]
fn a_value_is_found_among_many() {
    let mut random = Random(73);
    let mut rows = Vec::new();
    for number in 0..160_000_u64 {
        let mut row = ordinary(&mut random);
        let inside = number < 80_000;
        row.time = if inside { FROM + (random.below((TO - FROM) as u64)) as i64 } else { random.below(FROM as u64) as i64 };
        row.path = format!("/page/{}", number % 2_500);
        if inside && number % 2_500 == 1_234 {
            row.path = "/planted".to_owned();
        }
        if inside && random.one_in(40) {
            row.path = "/planted".to_owned();
        }
        rows.push(row);
    }
    let store = Setup::default().record(text_of(&rows));
    let explained = store.explain(&span(FROM, TO), &View::default(), &Control::default()).expect("nobody cancels");
    assert!(explained.tried > 2_500);
    assert_eq!(
        explained.findings.first().map(|finding| finding.filter.as_str()),
        Some("path = /planted"),
        "{:?}",
        explained.findings
    );
}

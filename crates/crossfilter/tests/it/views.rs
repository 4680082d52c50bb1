//! Every total and panel of a view equals a count by one row after another.

use crate::log::{Plain, Random, START, Setup, State, text_of};
use crate::naive::{Naive, class, clock, is_anywhere, naive, panel, value};
use proptest::prelude::*;
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::schema::TextColumn;
use rorqual_crossfilter::{ComparedRow, ComparisonBase, PanelWanted, RowStore, Stack, View, ViewError, ViewParts, ViewResult};
use rorqual_pipe::{BlockSource, BufferPool, Control, Error, FilledBlock, Input};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const AGENTS: [&str; 5] = [
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0",
    "curl/8.5.0",
    "Mozilla/5.0 (compatible; FooBot/1.0; +http://foo.example/)",
    "",
];
const PATHS: [&str; 6] = ["/", "/a.css", "/b.js", "/img/c.png", "/api/d.json", "/what.ever"];
pub(crate) const ALL: ViewParts = ViewParts { top: 10_000, buckets: 400, stack: Stack::Class, facets: false };

pub(crate) fn rows(seed: u64, count: usize) -> Vec<Plain> {
    let mut random = Random(seed | 1);
    let zones = [0, 0, -7, 2];
    // Some logs have one zone only, no times of requests, or no flaws.
    let (one_zone, timed, flawed) = (random.one_in(2), random.one_in(2), random.one_in(2));
    let mut time = 0;
    (0..count)
        .map(|index| {
            time = (time + random.below(2 * 20 * 86_400 / count as u64) as i64).min(20 * 86_400);
            let state = match random.below(20) {
                0 if flawed => State::Repaired,
                1 if flawed => State::Rejected(format!("garbage{}", index % 7)),
                _ => State::Sound,
            };
            let text = |random: &mut Random, texts: &[&str]| (*random.pick(texts)).to_owned();
            Plain {
                state,
                // Not always in order.
                time: if random.one_in(10) { random.below(20 * 86_400) as i64 } else { time },
                zone_hours: if one_zone { 0 } else { *random.pick(&zones) },
                client: match random.below(10) {
                    0 => format!("2001:db8:{:x}::1", random.zipf(9) + 1),
                    1 => "host.example".to_owned(),
                    _ => format!("10.{}.{}.7", random.zipf(3), random.zipf(200)),
                },
                user: text(&mut random, &["", "", "", "ann", "bob"]),
                method: text(&mut random, &["GET", "GET", "POST"]),
                path: text(&mut random, &PATHS),
                query: text(&mut random, &["", "", "x=1", "x=2&y"]),
                status: *random.pick(&[200, 200, 200, 301, 404, 500, 503, 101]),
                bytes: if random.one_in(12) { None } else { Some(random.zipf(5_000_000)) },
                referrer: text(&mut random, &["", "http://www.example.org/a", "https://b.example/"]),
                agent: text(&mut random, &AGENTS),
                host: text(&mut random, &["", "one.example", "two.example"]),
                request_time_us: (timed && !random.one_in(9)).then(|| random.zipf(20_000_000)),
                upstream_time_us: (timed && random.one_in(3)).then(|| random.zipf(20_000)),
            }
        })
        .collect()
}

fn has(field: &'static str, text: &str) -> impl Fn(&Plain) -> bool + Send + Sync + 'static {
    let text = text.to_owned();
    move |row| value(row, field) == text
}

fn condition() -> impl Strategy<Value = Naive> {
    let number = |test: fn(&Plain, u64) -> bool, written: fn(u64) -> String| {
        (0u64..3_000_000).prop_map(move |number| naive(written(number), move |row| !row.rejected() && test(row, number)))
    };
    let texts =
        ["path", "query", "url", "method", "host", "user", "browser", "os", "bot", "site", "kind", "net", "client", "agent"];
    let seen = (0..texts.len(), any::<u64>()).prop_map(move |(field, seed)| {
        let value = value(&Plain { state: State::Sound, ..rows(seed, 1)[0].clone() }, texts[field]);
        let written = if value.is_empty() { "-".to_owned() } else { format!("{value:?}") };
        naive(format!("{} = {written}", texts[field]), has(texts[field], &value))
    });
    prop_oneof![
        4 => seen,
        1 => number(|row, n| u64::from(row.status) >= 100 + n % 500, |n| format!("status >= {}", 100 + n % 500)),
        1 => number(|row, n| row.size().is_some_and(|size| size >= n), |n| format!("bytes >= {n}")),
        1 => number(|row, n| row.size().is_some_and(|size| size < n + 1), |n| format!("bytes < {}", n + 1)),
        1 => number(|row, n| row.request_time_us.is_some_and(|us| us > n), |n| format!("request_time > {n}us")),
        1 => number(|row, n| clock(row).1 as u64 == n % 24, |n| format!("hour = {}", n % 24)),
        1 => number(|row, n| clock(row).0 as u64 >= n % 7, |n| format!("weekday in {}..sun", n % 7 + 1)),
        1 => Just(naive("bot", |row| !value(row, "bot").is_empty())),
        1 => Just(naive("rejected", Plain::rejected)),
        1 => Just(naive("repaired", |row| row.state == State::Repaired)),
        1 => Just(naive("class = other", |row| !row.rejected() && class(row) == "other")),
        1 => Just(naive("class = -", Plain::rejected)),
        1 => Just(naive("status in (404, 5xx)", |row| !row.rejected() && (row.status == 404 || row.status / 100 == 5))),
        1 => Just(naive("client in 10.1.0.0/16", |row| value(row, "client").starts_with("10.1."))),
        1 => Just(naive("bytes = -", |row| row.size().is_none())),
        1 => Just(naive("flaw contains before", Plain::rejected)),
        1 => Just(naive("url ~ \"^/.*[?]x=1$\"", |row| value(row, "url").ends_with("?x=1"))),
        1 => Just(naive("path ~ \"[.](css|js)$\"", |row| [".css", ".js"].iter().any(|end| value(row, "path").ends_with(end)))),
        1 => Just(naive("agent contains \"Firefox\"", |row| value(row, "agent").contains("Firefox"))),
        1 => Just(naive("any contains \"GET /a\"", |row| is_anywhere(row, "GET /a"))),
        1 => Just(naive("any contains example", |row| is_anywhere(row, "example"))),
        1 => Just(naive("any contains garbage3", |row| is_anywhere(row, "garbage3"))),
        1 => Just(naive("any ~ \"[.]css[?]x=1 HTTP\"", |row| is_anywhere(row, ".css?x=1 HTTP"))),
        1 => Just(naive("", |_| true)),
    ]
}

fn filter() -> impl Strategy<Value = Naive> {
    let some = condition()
        .prop_map(|condition| if condition.written.is_empty() { naive("bytes = - or bytes >= 0", |_| true) } else { condition });
    let tree = some.prop_recursive(3, 8, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.and(b)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| a.or(b)),
            inner.prop_map(Naive::not),
        ]
    });
    prop_oneof![1 => Just(naive("", |_| true)), 12 => tree]
}

fn look(store: &RowStore, view: &View, stack: Stack) -> ViewResult {
    store.view(view, &ViewParts { stack, ..ALL }, &Control::default()).expect("nobody cancels")
}

/// Compares all that a view says with the rows it should mean.
fn check(viewed: &ViewResult, rows: &[&Plain], all: &[Plain], stack: &str) {
    let context = &viewed.filter;
    let parsed: Vec<&Plain> = rows.iter().copied().filter(|row| !row.rejected()).collect();
    assert_eq!(viewed.rows.total, all.len() as u64);
    assert!(viewed.exact);
    let lines = (viewed.lines.total, viewed.lines.parsed, viewed.lines.repaired, viewed.lines.rejected);
    let repaired = rows.iter().filter(|row| row.state == State::Repaired).count();
    assert_eq!(lines, (rows.len() as u64, parsed.len() as u64, repaired as u64, (rows.len() - parsed.len()) as u64), "{context}");
    let sizes: Vec<u64> = rows.iter().filter_map(|row| row.size()).collect();
    assert_eq!(viewed.bytes_sent, sizes.iter().sum::<u64>(), "{context}");
    let times = parsed.iter().map(|row| row.unix());
    assert_eq!(
        viewed.time.map(|time| (time.first as i64, time.last as i64)),
        times.clone().min().zip(times.clone().max()),
        "{context}"
    );
    check_panels(viewed, rows, all);
    let mut status: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    for row in &parsed {
        let sum = status.entry(row.status.to_string()).or_default();
        *sum = (sum.0 + 1, sum.1 + row.size().unwrap_or(0));
    }
    let found: BTreeMap<_, _> = viewed.status.iter().map(|row| (row.value.clone(), (row.hits, row.bytes))).collect();
    assert_eq!(found, status, "{context}");
    let bots: Vec<u64> = parsed.iter().filter(|row| !value(row, "bot").is_empty()).map(|row| row.size().unwrap_or(0)).collect();
    assert_eq!((viewed.bots.hits, viewed.bots.bytes), (bots.len() as u64, bots.iter().sum()), "{context}");
    assert_eq!(viewed.people.hits, (parsed.len() - bots.len()) as u64);
    check_histogram(viewed, &parsed, stack);
    let mut week = vec![vec![0; 24]; 7];
    parsed.iter().map(|row| clock(row)).for_each(|(day, hour)| week[day][hour] += 1);
    assert_eq!(viewed.week, week, "{context}");
    check_percentiles(viewed, &sizes, &parsed);
}

fn check_panels(viewed: &ViewResult, rows: &[&Plain], all: &[Plain]) {
    let fields = [
        "path", "client", "net", "host", "method", "protocol", "referrer", "site", "browser", "os", "bot", "agent", "user",
        "kind", "flaw",
    ];
    let expected: Vec<(&str, BTreeMap<String, (u64, u64)>)> =
        fields.into_iter().map(|field| (field, panel(rows, field))).collect();
    // Panels do not come and go with the view: a field that any row has, has one.
    let has = |field: &str| all.iter().any(|row| !value(row, field).is_empty());
    let expected: Vec<_> = expected.into_iter().filter(|(field, _)| has(field)).collect();
    let names: Vec<&str> = viewed.panels.iter().map(|panel| &*panel.field).collect();
    assert_eq!(names, expected.iter().map(|(field, _)| *field).collect::<Vec<_>>(), "{}", viewed.filter);
    for (panel, (field, values)) in viewed.panels.iter().zip(&expected) {
        let mut order: Vec<_> = values.iter().collect();
        order.sort_by(|a, b| b.1.0.cmp(&a.1.0).then_with(|| a.0.cmp(b.0)));
        let found: Vec<_> = panel.rows.iter().map(|row| (row.value.clone(), (row.hits, row.bytes))).collect();
        let order: Vec<_> = order.into_iter().map(|(value, sums)| (value.clone(), *sums)).collect();
        assert_eq!(found, order, "{field} of {}", viewed.filter);
        assert_eq!(panel.distinct.distinct, values.len() as u64);
        assert_eq!(panel.hits, values.values().map(|(hits, _)| hits).sum::<u64>());
        assert!(panel.exact && panel.error_max == 0);
    }
}

fn check_histogram(viewed: &ViewResult, parsed: &[&Plain], stack: &str) {
    let Some(histogram) = &viewed.histogram else { return assert!(parsed.is_empty()) };
    let width = histogram.bucket_seconds;
    let named: Vec<&str> = histogram.series.iter().map(|series| series.class.as_str()).collect();
    let mut expected: BTreeMap<(i64, String), u64> = BTreeMap::new();
    for row in parsed {
        let name = match stack {
            "class" => class(row).to_owned(),
            "bot" => if value(row, "bot").is_empty() { "human" } else { "bot" }.to_owned(),
            field => value(row, field),
        };
        let name = if named.contains(&name.as_str()) { name } else { "other".to_owned() };
        *expected.entry((row.unix().div_euclid(width) * width, name)).or_default() += 1;
    }
    let mut found = BTreeMap::new();
    for series in &histogram.series {
        for (at, hits) in histogram.at.iter().zip(&series.hits).filter(|(_, hits)| **hits > 0) {
            *found.entry((*at, series.class.clone())).or_default() += hits;
        }
    }
    assert_eq!(found, expected, "{} by {stack}", viewed.filter);
    assert!(histogram.at.len() <= ALL.buckets + 1);
    let took: u64 = parsed.iter().filter(|row| row.request_time_us.is_some()).count() as u64;
    let bands = viewed.latency.as_ref().map_or(0, |latency| latency.hits.iter().flatten().sum());
    assert_eq!(bands, took, "{}", viewed.filter);
}

fn check_percentiles(viewed: &ViewResult, sizes: &[u64], parsed: &[&Plain]) {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let found = viewed.percentiles.bytes;
    assert_eq!(found.is_some(), !sorted.is_empty());
    if let Some(found) = found {
        assert_eq!((found.count, found.max as u64), (sorted.len() as u64, sorted[sorted.len() - 1]));
        for (quantile, value) in [(0.5, found.p50), (0.9, found.p90), (0.95, found.p95), (0.99, found.p99)] {
            let exact = sorted[((quantile * sorted.len() as f64).ceil() as usize).max(1) - 1] as f64;
            assert!(value >= exact && value <= exact * 1.01, "{value} for {exact}");
        }
    }
    let took = parsed.iter().filter_map(|row| row.request_time_us).max();
    assert_eq!(viewed.percentiles.request_time.map(|found| (found.max * 1e6).round() as u64), took);
}

fn setups() -> impl Strategy<Value = Setup> {
    let spilled = prop_oneof![Just((256 << 20, None)), Just((2 << 20, Some(1 << 30)))];
    let segment_rows = prop_oneof![Just(1), Just(7), Just(100), Just(1 << 16)];
    (1..=3usize, segment_rows, spilled).prop_map(|(threads, segment_rows, (memory_bytes, spill_bytes))| Setup {
        threads,
        segment_rows,
        memory_bytes,
        spill_bytes,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn views_equal_a_look_at_every_row(
        seed in any::<u64>(),
        count in 1usize..900,
        setup in setups(),
        filters in prop::collection::vec((filter(), prop::option::of((0i64..20 * 86_400, 0i64..5 * 86_400)), 0..5usize), 1..6),
    ) {
        let rows = rows(seed, count);
        let store = setup.record(text_of(&rows));
        for (filter, span, stack) in filters {
            let parsed = Filter::parse(&filter.written);
            prop_assert!(parsed.is_ok(), "{}: {:?}", filter.written, parsed);
            let base = START + 2 * 86_400;
            let view = View {
                from_us: span.map(|(from, _)| (base + from) * 1_000_000),
                to_us: span.map(|(from, width)| (base + from + width) * 1_000_000),
                filter: parsed.unwrap_or_default(),
            };
            let within = |row: &&Plain| span.is_none_or(|(from, width)| !row.rejected() && (from..from + width).contains(&row.time));
            let meant: Vec<&Plain> = rows.iter().filter(within).filter(|row| (filter.meets)(row)).collect();
            let stacks = [
                ("class", Stack::Class), ("bot", Stack::Bot), ("method", Stack::Values(TextColumn::METHOD)),
                ("client", Stack::Values(TextColumn::CLIENT)), ("net", Stack::Values(TextColumn::NET)),
            ];
            let (name, stack) = stacks[stack];
            check(&look(&store, &view, stack), &meant, &rows, name);
        }
    }
}

/// So many values that views of few rows hold only those that they meet, and others the sums of
/// all.
#[test]
fn few_rows_of_many_values() {
    let mut all = rows(9, 9_000);
    for (index, row) in all.iter_mut().enumerate() {
        row.client = format!("10.{}.{}.{}", index % 3, index / 3 % 40, index * 7 % 250);
        row.path = format!("/{}/{}.css", index % 5, index * 3 % 9_000);
        row.referrer = format!("http://site{}.example/{index}", index % 2_000);
    }
    let filters: [(&str, fn(&Plain) -> bool); 8] = [
        ("client = 10.1.3.70", |row| value(row, "client") == "10.1.3.70"),
        ("net = 10.2.7.0/24 and path contains \"/3/\"", |row| {
            value(row, "net") == "10.2.7.0/24" && value(row, "path").contains("/3/")
        }),
        ("path = /0/30.css and net = 10.1.3.0/24", |row| value(row, "path") == "/0/30.css" && value(row, "net") == "10.1.3.0/24"),
        ("status = 404 and bytes >= 100", |row| {
            !row.rejected() && row.status == 404 && row.size().is_some_and(|size| size >= 100)
        }),
        ("not status in (200, 301) and hour = 3", |row| {
            !row.rejected() && ![200, 301].contains(&row.status) && clock(row).1 == 3
        }),
        ("not net = 10.0.3.0/24", |row| value(row, "net") != "10.0.3.0/24"),
        ("not client = 10.1.3.70 and not rejected", |row| value(row, "client") != "10.1.3.70" && !row.rejected()),
        ("url contains \"x=1\" and (status = 500 or net = 10.1.9.0/24)", |row| {
            value(row, "url").contains("x=1") && (row.status == 500 || value(row, "net") == "10.1.9.0/24")
        }),
    ];
    for (threads, segment_rows, memory_bytes, spill_bytes) in
        [(1, 1 << 16, 256 << 20, None), (3, 700, 256 << 20, None), (2, 900, 16 << 20, Some(1 << 30))]
    {
        let store = Setup { threads, segment_rows, memory_bytes, spill_bytes }.record(text_of(&all));
        for (written, meets) in filters {
            let view = View { filter: Filter::parse(written).expect("a filter"), ..View::default() };
            let meant: Vec<&Plain> = all.iter().filter(|row| meets(row)).collect();
            assert!(!meant.is_empty(), "{written}");
            check(&look(&store, &view, Stack::Values(TextColumn::CLIENT)), &meant, &all, "client");
            let panel = |search: &str, offset| {
                let wanted = PanelWanted { search: Some(search.to_owned()), offset, limit: 7 };
                let page = store.panel(&view, TextColumn::REFERRER, &wanted, &Control::default()).expect("nobody cancels");
                (page.found, page.rows.into_iter().map(|row| (row.value, row.hits, row.bytes)).collect::<Vec<_>>())
            };
            let mut found: Vec<_> =
                crate::naive::panel(&meant, "referrer").into_iter().filter(|(value, _)| value.contains("site1")).collect();
            found.sort_by(|a, b| b.1.0.cmp(&a.1.0).then_with(|| a.0.cmp(&b.0)));
            let listed = found.iter().skip(2).take(7).map(|(value, sums)| (value.clone(), sums.0, sums.1)).collect();
            assert_eq!(panel("SITE1", 2), (found.len() as u64, listed), "{written}");
        }
    }
}

/// Both sides are of the same moment.
#[test]
fn comparisons_while_rows_arrive() {
    let all = rows(41, 40_000);
    let setup = Setup { threads: 2, segment_rows: 300, ..Setup::default() };
    let store = setup.store();
    let analyzer = setup.analyzer(&store);
    let text = text_of(&all);
    let run = std::thread::spawn(move || {
        let input = Input::from_reader("log", Box::new(std::io::Cursor::new(text)));
        analyzer.run::<std::io::Sink>(input, &Control::default(), |_, _| {}, None).map(drop).map_err(|error| error.to_string())
    });
    let side = |filter: &str| View { filter: Filter::parse(filter).expect("a filter"), ..View::default() };
    let (a, b) = (side("bytes = - or bytes >= 0"), side("not rejected"));
    let mut looks = 0;
    while looks < 3 || !run.is_finished() {
        store.refresh();
        let compared = store.compare([&a, &b], ComparisonBase::View, &ALL, &Control::default()).expect("nobody cancels");
        assert_eq!(compared.a.rows, compared.b.rows);
        assert_eq!((compared.a.lines.total, compared.a.lines.parsed), (compared.a.rows.total, compared.b.lines.total));
        assert!(compared.exact);
        looks += 1;
    }
    run.join().expect("no panic").expect("a known format");
}

/// The list of values does not depend on which came first.
#[test]
fn equal_differences_are_listed_by_their_texts() {
    let mut rows = rows(17, 3_000);
    let listed = [false, true].map(|reversed| {
        if reversed {
            rows.reverse();
        }
        let store = Setup::default().record(text_of(&rows));
        let side = |filter: &str| View { filter: Filter::parse(filter).expect("a filter"), ..View::default() };
        let wanted = ViewParts { top: 7, ..ALL };
        let compared =
            store.compare([&side("status = 200"), &side("status != 200")], ComparisonBase::View, &wanted, &Control::default());
        serde_json::to_string(&compared.expect("nobody cancels").panels).expect("JSON")
    });
    assert_eq!(listed[0], listed[1]);
}

/// G by the definition, 2 Σ O ln (O / E) over the four cells.
fn g_of(hits: [u64; 2], rows: [u64; 2]) -> f64 {
    let (all_hits, all_rows) = ((hits[0] + hits[1]) as f64, (rows[0] + rows[1]) as f64);
    let cells = (0..2).flat_map(|side| {
        let (hits, rows) = (hits[side] as f64, rows[side] as f64);
        [(hits, rows * all_hits / all_rows), (rows - hits, rows * (all_rows - all_hits) / all_rows)]
    });
    2.0 * cells
        .filter(|(observed, _)| *observed > 0.0)
        .map(|(observed, expected)| observed * (observed / expected).ln())
        .sum::<f64>()
}

#[test]
fn values_are_compared_by_the_significance_of_their_change() {
    let store = Setup::default().record(text_of(&rows(29, 20_000)));
    let side = |filter: &str| View { filter: Filter::parse(filter).expect("a filter"), ..View::default() };
    let (part, rest, all) = (side("status = 404"), side("not (status = 404)"), View::default());
    let compare = |sides: [&View; 2], base| {
        store.compare(sides, base, &ViewParts { top: 20_000, ..ALL }, &Control::default()).expect("nobody cancels")
    };
    let apart = compare([&part, &rest], ComparisonBase::View);
    let within = compare([&part, &all], ComparisonBase::Rest);
    let totals = [apart.a.lines.total, apart.b.lines.total];
    assert_eq!(totals[0] + totals[1], within.b.lines.total);
    let mut looked_at = 0;
    for (panel, panel_within) in apart.panels.iter().zip(&within.panels) {
        for row in &panel.rows {
            let expected = g_of([row.hits_a, row.hits_b], totals);
            assert!((row.g - expected).abs() < 1e-6 * expected.max(1.0), "{row:?}: {expected}");
        }
        assert!(panel.rows.is_sorted_by(|x, y| x.g >= y.g), "{panel:?}");
        // A part is beside the rest of all as beside a view of the rest.
        let order = |rows: &[ComparedRow]| rows.iter().map(|row| (row.value.clone(), row.hits_a, row.g)).collect::<Vec<_>>();
        assert_eq!(order(&panel.rows), order(&panel_within.rows), "{}", panel.field);
        looked_at += panel.rows.len();
    }
    assert!(looked_at > 100, "{looked_at}");
    // Few are the first of all.
    let few = store
        .compare([&part, &rest], ComparisonBase::View, &ViewParts { top: 3, ..ALL }, &Control::default())
        .expect("nobody cancels");
    for (few, all) in few.panels.iter().zip(&apart.panels) {
        assert_eq!(few.rows[..], all.rows[..few.rows.len()], "{}", few.field);
    }
}

/// Each threshold is a filter with as many rows.
#[test]
fn measures_are_compared_by_how_many_rows_have_at_least_so_much() {
    let has_times = |rows: &Vec<Plain>| rows.iter().any(|row| row.request_time_us.is_some());
    let timed = (23..50).map(|seed| rows(seed, 5_000)).find(has_times).expect("half of the seeds");
    let store = Setup::default().record(text_of(&timed));
    let control = Control::default();
    let view = |filter: &str| View { filter: Filter::parse(filter).expect("a filter"), ..View::default() };
    let sides = ["status = 200", "status != 200"];
    let compared =
        store.compare([&view(sides[0]), &view(sides[1])], ComparisonBase::View, &ALL, &control).expect("nobody cancels");
    for field in ["request_time", "upstream_time", "bytes"] {
        let panel = compared.panels.iter().find(|panel| panel.field == field).expect("the panel");
        assert!(!panel.rows.is_empty(), "{panel:?}");
        for row in &panel.rows {
            let counted = sides.map(|side| {
                let with_least = view(&format!("{side} and {field} {}", row.value));
                store.page(&with_least, 0, 0, None, &control).expect("nobody cancels").total
            });
            assert_eq!([row.hits_a, row.hits_b], counted, "{field} {row:?}");
        }
        assert!(panel.rows.is_sorted_by(|x, y| x.g >= y.g), "{panel:?}");
    }
}

#[test]
fn a_span_with_a_filter_that_means_most_rows() {
    let rows = rows(5, 3_000);
    for spill_bytes in [None, Some(1 << 30)] {
        let setup = Setup {
            threads: 2,
            segment_rows: 64,
            memory_bytes: if spill_bytes.is_some() { 2 << 20 } else { 256 << 20 },
            spill_bytes,
        };
        let store = setup.record(text_of(&rows));
        assert_eq!(store.spilled_bytes() > 0, spill_bytes.is_some());
        let view = View { filter: Filter::parse("not status = 301").expect("a filter"), ..View::default() };
        let meant: Vec<&Plain> = rows.iter().filter(|row| row.rejected() || row.status != 301).collect();
        check(&look(&store, &view, Stack::Class), &meant, &rows, "class");
        // Again, now that it is known.
        check(&look(&store, &view, Stack::Class), &meant, &rows, "class");
    }
}

#[test]
fn more_of_a_panel_and_what_is_searched_for() {
    let rows = rows(11, 2_000);
    let store = Setup::default().record(text_of(&rows));
    let view = View { filter: Filter::parse("method = GET").expect("a filter"), ..View::default() };
    let meant: Vec<&Plain> = rows.iter().filter(|row| value(row, "method") == "GET").collect();
    let mut expected: Vec<(String, u64)> = panel(&meant, "client").into_iter().map(|(value, (hits, _))| (value, hits)).collect();
    expected.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let page = |search: Option<&str>, offset, limit| {
        let wanted = PanelWanted { search: search.map(str::to_owned), offset, limit };
        let page = store.panel(&view, TextColumn::CLIENT, &wanted, &Control::default()).expect("nobody cancels");
        (page.found, page.rows.into_iter().map(|row| (row.value, row.hits)).collect::<Vec<_>>())
    };
    assert_eq!(page(None, 3, 5), (expected.len() as u64, expected[3..8].to_vec()));
    assert_eq!(page(None, expected.len() - 1, 5).1, expected[expected.len() - 1..]);
    assert_eq!(page(None, 10_000, 5).1, []);
    let found: Vec<_> = expected.iter().filter(|(value, _)| value.contains("db8")).cloned().collect();
    assert_eq!(page(Some("DB8"), 1, 3), (found.len() as u64, found[1..4].to_vec()));
}

#[test]
fn paths_with_their_queries() {
    let rows = rows(12, 3_000);
    let parsed: Vec<&Plain> = rows.iter().filter(|row| row.status == 200 && !row.rejected()).collect();
    let mut expected: Vec<(String, u64, u64)> =
        panel(&parsed, "url").into_iter().map(|(value, (hits, bytes))| (value, hits, bytes)).collect();
    expected.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    let view = View { filter: Filter::parse("status = 200").expect("a filter"), ..View::default() };
    for threads in [1, 2] {
        let store = Setup { threads, segment_rows: 100, ..Setup::default() }.record(text_of(&rows));
        let page = |search: Option<&str>, offset, limit| {
            let wanted = PanelWanted { search: search.map(str::to_owned), offset, limit };
            let page = store.panel(&view, TextColumn::URL, &wanted, &Control::default()).expect("nobody cancels");
            assert!(page.exact);
            let rows = page.rows.into_iter().map(|row| (row.value, row.hits, row.bytes)).collect::<Vec<_>>();
            (page.distinct.distinct, page.found, page.hits, rows)
        };
        let (all, hits) = (expected.len() as u64, expected.iter().map(|row| row.1).sum());
        assert_eq!(page(None, 0, 10_000), (all, all, hits, expected.clone()));
        assert_eq!(page(None, 2, 3).3, expected[2..5]);
        let found: Vec<_> = expected.iter().filter(|row| row.0.contains("?X=1") || row.0.contains("?x=1")).cloned().collect();
        assert!(!found.is_empty());
        assert_eq!(page(Some("?X=1"), 0, 10_000), (all, found.len() as u64, hits, found));
    }
}

#[test]
fn more_paths_with_queries_than_are_held_at_once() {
    let line =
        |n: u32| format!("10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET /p?q={} HTTP/1.1\" 200 2 \"-\" \"a\"\n", n % 200_000);
    let log: String = (0..300_000).map(line).collect();
    let store = Setup { threads: 2, ..Setup::default() }.record(log.into_bytes());
    let wanted = PanelWanted { search: None, offset: 99_998, limit: 4 };
    let page = store.panel(&View::default(), TextColumn::URL, &wanted, &Control::default()).expect("nobody cancels");
    assert_eq!((page.distinct.distinct, page.found, page.hits), (200_000, 200_000, 300_000));
    // Beyond the listed rows.
    assert!(page.rows.is_empty());
    let wanted = PanelWanted { search: Some("=99999".to_owned()), offset: 0, limit: 4 };
    let page = store.panel(&View::default(), TextColumn::URL, &wanted, &Control::default()).expect("nobody cancels");
    let rows: Vec<_> = page.rows.iter().map(|row| (row.value.as_str(), row.hits, row.bytes)).collect();
    assert_eq!((page.found, rows), (1, vec![("/p?q=99999", 2, 4)]));
}

#[test]
fn many_paths_with_the_same_query() {
    let line = |n: u32| format!("10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET /p{n}?x=1 HTTP/1.1\" 200 2 \"-\" \"a\"\n");
    let log: String = (0..200_000).map(line).collect();
    let store = Setup { threads: 2, ..Setup::default() }.record(log.into_bytes());
    let wanted = PanelWanted { search: None, offset: 0, limit: 2 };
    let page = store.panel(&View::default(), TextColumn::URL, &wanted, &Control::default()).expect("nobody cancels");
    assert_eq!((page.distinct.distinct, page.hits, page.exact), (200_000, 200_000, true));
    assert_eq!(page.rows.iter().map(|row| row.value.as_str()).collect::<Vec<_>>(), ["/p0?x=1", "/p100000?x=1"]);
}

#[test]
fn a_stopped_view_is_cancelled() {
    let store = Setup::default().record(text_of(&rows(3, 100)));
    let control = Control::default();
    control.stop();
    for filter in ["", "path ~ a", "bytes > 5", "url contains a"] {
        let view = View { filter: Filter::parse(filter).expect("a filter"), ..View::default() };
        assert!(matches!(store.view(&view, &ALL, &control), Err(ViewError::Cancelled)), "{filter}");
        assert!(store.view(&view, &ALL, &Control::default()).is_ok());
    }
}

#[test]
fn rows_without_a_place_are_counted() {
    let rows = rows(3, 8_000);
    // Little memory, and no file, or too small a one.
    for spill_bytes in [None, Some(1_000)] {
        let setup = Setup { threads: 2, segment_rows: 100, memory_bytes: 0, spill_bytes };
        let store = setup.store();
        let analyzer = setup.analyzer(&store);
        // In pieces, with looks at the rows so far: rows that are dropped again and again are
        // dropped once, and views are not remembered beyond them.
        for piece in rows.chunks(500) {
            store.refresh();
            let input = Input::from_reader("piece", Box::new(std::io::Cursor::new(text_of(piece))));
            analyzer.run::<std::io::Sink>(input, &Control::default(), |_, _| {}, None).map(drop).expect("a known format");
            let _ = look(&store, &View::default(), Stack::Class);
        }
        let viewed = look(&store, &View::default(), Stack::Class);
        assert!(viewed.rows.dropped > 0 && !viewed.exact);
        assert!(viewed.panels.iter().all(|panel| !panel.distinct.exact) && !viewed.clients.exact);
        assert_eq!(viewed.rows.total + viewed.rows.dropped, rows.len() as u64);
    }
}

/// Gives blocks as they come through a channel.
struct Trickle {
    receiver: Receiver<Vec<u8>>,
    pool: BufferPool,
}

impl BlockSource for Trickle {
    fn next_block(&mut self) -> Result<Option<FilledBlock>, Error> {
        let Ok(bytes) = self.receiver.recv() else { return Ok(None) };
        let mut lease = self.pool.lease().expect("the system has memory for a test");
        let range = 4096..4096 + bytes.len();
        lease[range.clone()].copy_from_slice(&bytes);
        Ok(Some(FilledBlock { lease, range }))
    }
}

#[test]
fn views_while_rows_arrive() {
    let rows = rows(21, 4_000);
    for threads in [1, 2] {
        let setup = Setup { threads, segment_rows: 300, ..Setup::default() };
        let store = setup.store();
        let analyzer = setup.analyzer(&store);
        let (sender, receiver) = channel();
        let source = Trickle { receiver, pool: analyzer.pool().clone() };
        let run = std::thread::spawn(move || {
            let input = Input::from_source("trickle", Box::new(source));
            analyzer
                .run::<std::io::Sink>(input, &Control::default(), |_, _| {}, None)
                .map(drop)
                .map_err(|error| error.to_string())
        });
        let view = View { filter: Filter::parse("status = 200 or rejected").expect("a filter"), ..View::default() };
        let most = View { filter: Filter::parse("not status = 301").expect("a filter"), ..View::default() };
        let mut sent = 0;
        for burst in [10, 1, 500, 0, 700, 30, 900] {
            sender.send(text_of(&rows[sent..sent + burst])).expect("it runs");
            sent += burst;
            let deadline = Instant::now() + Duration::from_secs(60);
            while store.rows() < sent as u64 {
                assert!(Instant::now() < deadline, "{} of {sent} rows show", store.rows());
                store.refresh();
                // Whatever is there by now is whole.
                let viewed = look(&store, &most, Stack::Class);
                assert_eq!(viewed.status.iter().map(|row| row.hits).sum::<u64>(), viewed.lines.parsed);
            }
            let of = |meant: fn(&Plain) -> bool| rows[..sent].iter().filter(|row| meant(row)).collect::<Vec<_>>();
            check(&look(&store, &view, Stack::Class), &of(|row| row.rejected() || row.status == 200), &rows[..sent], "class");
            check(&look(&store, &most, Stack::Bot), &of(|row| row.rejected() || row.status != 301), &rows[..sent], "bot");
            check(&look(&store, &View::default(), Stack::Class), &of(|_| true), &rows[..sent], "class");
        }
        drop(sender);
        run.join().expect("no panic").expect("a known format");
        assert_eq!(Arc::strong_count(&store), 1, "recorders are gone");
    }
}

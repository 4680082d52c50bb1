//! Rows in the order of a column, against rows that are sorted here.

use crate::log::{Plain, Random, Setup, State, format, text_of};
use crate::naive;
use rorqual_accesslog::filter::Filter;
use rorqual_crossfilter::limits::{SORT_TEXT_BYTES_MAX, SORTED_ROWS_MAX};
use rorqual_crossfilter::{FindTarget, FindWanted, RowOrder, RowStore, SortedPage, View};
use rorqual_pipe::Control;
use std::cmp::Ordering;

fn rows(count: usize) -> Vec<Plain> {
    let mut random = Random(91);
    (0..count)
        .map(|index| Plain {
            state: if random.one_in(9) { State::Rejected(format!("garbage {index}")) } else { State::Sound },
            // Not in their order.
            time: (index as i64 * 7919) % 80_000,
            zone_hours: [0, -7][(index / 500) % 2],
            client: format!("10.{}.0.{}", random.below(3), random.below(90)),
            user: if random.one_in(50) { format!("user{}", random.below(4)) } else { String::new() },
            method: ["GET", "POST", "HEAD"][random.below(3) as usize].to_owned(),
            path: format!("/{}/{}", random.zipf(40), random.below(4_000)),
            query: if random.one_in(3) { format!("q={}", random.below(50)) } else { String::new() },
            status: *random.pick(&[200, 200, 200, 304, 404, 500]),
            bytes: (!random.one_in(11)).then(|| random.zipf(1 << 40)),
            referrer: format!("http://site{}.example/{}", random.below(30), random.below(3)),
            agent: ["Mozilla/5.0 (X11; Linux x86_64; rv:1.0) Gecko/20100101 Firefox/1.0", "curl/8.0"][random.below(2) as usize]
                .to_owned(),
            host: "one.example".to_owned(),
            request_time_us: (!random.one_in(7)).then(|| random.below(5_000_000)),
            upstream_time_us: None,
        })
        .collect()
}

/// A value in its order, `None` where the row has none.
fn key(row: &Plain, field: &str) -> Option<Vec<u8>> {
    let number = |number: u64| number.to_be_bytes().to_vec();
    let sound = Some(row).filter(|row| !row.rejected());
    match field {
        // All after the epoch.
        "time" => sound.map(|row| number(row.unix().unsigned_abs())),
        "status" => sound.map(|row| number(u64::from(row.status))),
        "bytes" => sound.and_then(Plain::size).map(number),
        "request_time" => sound.and_then(|row| row.request_time_us).map(number),
        "upstream_time" => None,
        text => Some(naive::value(row, text).into_bytes()).filter(|text| !text.is_empty()),
    }
}

fn sorted<'a>(rows: impl Iterator<Item = &'a Plain>, field: &str, descending: bool) -> Vec<&'a Plain> {
    let mut rows: Vec<&Plain> = rows.collect();
    rows.sort_by(|a, b| match (key(a, field), key(b, field)) {
        (Some(a), Some(b)) => {
            if descending {
                b.cmp(&a)
            } else {
                a.cmp(&b)
            }
        }
        (a, b) => {
            if a.is_none() == b.is_none() {
                Ordering::Equal
            } else {
                a.is_none().cmp(&b.is_none())
            }
        }
    });
    rows
}

fn page(store: &RowStore, filter: &str, field: &str, descending: bool, (offset, limit): (usize, usize)) -> SortedPage {
    let view = View { filter: Filter::parse(filter).expect("a filter"), ..View::default() };
    let order = RowOrder::named(&store.schema(), field, descending).expect("a field of logs");
    store.sorted_page((&view, order), offset as u64, limit, Some(&format()), &Control::default()).expect("nobody cancels")
}

const FIELDS: [&str; 19] = [
    "time",
    "status",
    "bytes",
    "request_time",
    "upstream_time",
    "path",
    "url",
    "query",
    "client",
    "net",
    "user",
    "method",
    "referrer",
    "site",
    "agent",
    "browser",
    "bot",
    "kind",
    "flaw",
];

#[test]
fn rows_are_in_the_order_of_any_column_and_ties_in_that_of_the_log() {
    let rows = rows(6_000);
    let setups = [
        Setup { segment_rows: 70, ..Setup::default() },
        Setup { threads: 4, segment_rows: 1_000, ..Setup::default() },
        Setup { threads: 1, segment_rows: 90, memory_bytes: 2 << 20, spill_bytes: Some(1 << 30) },
        // Most texts have no code.
        Setup { threads: 4, segment_rows: 500, memory_bytes: 128 << 10, spill_bytes: Some(1 << 30) },
    ];
    let filters: [(&str, fn(&Plain) -> bool); 3] = [
        ("", |_| true),
        ("status >= 400", |row| !row.rejected() && row.status >= 400),
        ("client = 10.1.0.3", |row| !row.rejected() && row.client == "10.1.0.3"),
    ];
    for setup in setups {
        let store = setup.record(text_of(&rows));
        assert_eq!(store.spilled_bytes() > 0, setup.spill_bytes.is_some());
        for (filter, meets) in filters {
            for field in FIELDS {
                for descending in [true, false] {
                    let expected = sorted(rows.iter().filter(|row| meets(row)), field, descending);
                    for (offset, limit) in [(0, 40), (expected.len() / 2, 25), (expected.len().saturating_sub(3), 10)] {
                        let found = page(&store, filter, field, descending, (offset, limit));
                        let lines: Vec<&str> = found.page.rows.iter().map(|row| row.line.as_str()).collect();
                        let end = (offset + limit).min(expected.len());
                        let wanted: Vec<String> = expected[offset..end].iter().map(|row| row.line()).collect();
                        assert_eq!(lines, wanted, "{field} {descending} {filter} {offset} {setup:?}");
                        assert_eq!(found.page.total, expected.len() as u64);
                        assert!(found.exact, "{field}");
                    }
                }
            }
        }
    }
}

#[test]
fn only_the_first_rows_of_an_order_are_shown_and_each_is_called_by_its_place() {
    let rows = rows(SORTED_ROWS_MAX + 500);
    let store = Setup { threads: 2, segment_rows: 1_000, ..Setup::default() }.record(text_of(&rows));
    let found = page(&store, "", "bytes", true, (SORTED_ROWS_MAX - 10, 100));
    assert_eq!((found.page.rows.len(), found.page.total), (10, rows.len() as u64));
    let expected = sorted(rows.iter(), "bytes", true);
    assert_eq!(found.page.rows[9].line, expected[SORTED_ROWS_MAX - 1].line());
    assert!(page(&store, "", "bytes", true, (SORTED_ROWS_MAX, 100)).page.rows.is_empty());
    // The same row has the same name in any view.
    let first = page(&store, "", "bytes", true, (0, 1)).page.rows.remove(0);
    let filter = format!("bytes = {}", first.bytes.expect("the largest has one"));
    let view = View { filter: Filter::parse(&filter).expect("a filter"), ..View::default() };
    let of_log = store.page(&view, 0, 10, Some(&format()), &Control::default()).expect("nobody cancels");
    assert!(of_log.rows.iter().any(|row| row.place == first.place && row.line == first.line));
    let mut places: Vec<String> = (0..rows.len() / 1_000 + 1)
        .flat_map(|page| {
            store.page(&View::default(), page as u64 * 1_000, 1_000, None, &Control::default()).expect("nobody cancels").rows
        })
        .map(|row| row.place)
        .collect();
    assert_eq!(places.len(), rows.len());
    places.sort_unstable();
    places.dedup();
    assert_eq!(places.len(), rows.len());
}

#[test]
fn an_order_of_rows_of_which_some_had_no_room_is_marked() {
    let rows = rows(20_000);
    let whole = Setup::default().record(text_of(&rows));
    let part = Setup { segment_rows: 400, memory_bytes: 128 << 10, ..Setup::default() }.record(text_of(&rows));
    assert!(whole.rows_dropped() == 0 && part.rows_dropped() > 0);
    for field in ["time", "bytes", "path"] {
        assert!(page(&whole, "", field, true, (0, 10)).exact, "{field}");
        assert!(!page(&part, "", field, true, (0, 10)).exact, "{field}: another may come before");
    }
}

#[test]
fn texts_that_differ_beyond_the_bytes_that_are_compared_are_told() {
    let start = "/".to_owned() + &"long".repeat(SORT_TEXT_BYTES_MAX / 4);
    let with_paths = |ends: &[&str]| {
        let template = rows(30).into_iter().find(|row| !row.rejected()).expect("most are sound");
        let path = |end: &&str| Plain { path: format!("{start}{end}"), ..template.clone() };
        Setup::default().record(text_of(&ends.iter().map(path).collect::<Vec<_>>()))
    };
    let of = |store: &RowStore, limit| page(store, "", "path", false, (0, limit));
    let differ = of(&with_paths(&["b", "a", "b"]), 3);
    assert!(!differ.exact);
    assert_eq!(
        differ.page.rows.iter().map(|row| row.path.clone()).collect::<Vec<_>>(),
        ["b", "a", "b"].map(|end| start.clone() + end)
    );
    assert!(of(&with_paths(&["b", "b", "b"]), 3).exact, "all the same");
    assert!(!of(&with_paths(&["", "b"]), 2).exact, "one is no longer than what is compared");
}

#[test]
fn the_next_and_the_previous_row_that_is_looked_for() {
    let rows = rows(3_000);
    let is_sought = |row: &Plain| !row.rejected() && row.status == 500 && row.method == "HEAD";
    let setups = [
        Setup { segment_rows: 70, ..Setup::default() },
        Setup { threads: 3, segment_rows: 400, ..Setup::default() },
        Setup { threads: 2, segment_rows: 90, memory_bytes: 128 << 10, spill_bytes: Some(1 << 30) },
    ];
    for setup in setups {
        let store = setup.record(text_of(&rows));
        let view = View { filter: Filter::parse("not status = 404").expect("a filter"), ..View::default() };
        let schema = store.schema();
        for by in [None, Some("bytes"), Some("path")] {
            let order = by.map(|field| RowOrder::named(&schema, field, true).expect("a field of logs"));
            let meant = rows.iter().filter(|row| row.rejected() || row.status != 404);
            let expected = by.map_or_else(|| meant.clone().collect(), |field| sorted(meant.clone(), field, true));
            let find = |target: FindTarget, from, backwards| {
                let wanted = FindWanted { view: &view, order, target, from, backwards };
                store.find(&wanted, &Control::default()).expect("nobody cancels")
            };
            let sought = || FindTarget::Filter(Filter::parse("status = 500 and method = HEAD").expect("a filter"));
            let next = |at: usize| (at + 1..expected.len()).find(|at| is_sought(expected[*at])).map(|at| at as u64);
            let previous = |at: usize| (0..at).rev().find(|at| is_sought(expected[*at])).map(|at| at as u64);
            for at in [0, 1, 500, 1_234, expected.len() - 1] {
                assert_eq!(find(sought(), Some(at as u64), false), next(at), "{by:?} {at} {setup:?}");
                assert_eq!(find(sought(), Some(at as u64), true), previous(at), "{by:?} {at} {setup:?}");
            }
            assert_eq!(find(sought(), None, false), (0..expected.len()).find(|at| is_sought(expected[*at])).map(|at| at as u64));
            assert_eq!(find(sought(), None, true), previous(expected.len()));
            assert_eq!(find(sought(), Some(1 << 40), false), None);
            // Rows by their names.
            let shown = |at: u64| match order {
                None => store.page(&view, at, 1, None, &Control::default()).expect("nobody cancels").rows.remove(0).place,
                Some(order) => {
                    let page = store.sorted_page((&view, order), at, 1, None, &Control::default()).expect("nobody cancels");
                    page.page.rows[0].place.clone()
                }
            };
            let others = store.page(
                &View { filter: Filter::parse("status = 404").expect("a filter"), ..View::default() },
                0,
                1,
                None,
                &Control::default(),
            );
            let other = others.expect("nobody cancels").rows.remove(0).place;
            let marked =
                || FindTarget::Places(vec![shown(700), other.clone(), shown(20), "0.1.2".to_owned(), "9.9.9999.9".to_owned()]);
            let found = [(None, false), (Some(20), false), (Some(700), false), (None, true), (Some(700), true), (Some(20), true)]
                .map(|(from, backwards)| find(marked(), from, backwards));
            assert_eq!(found, [Some(20), Some(700), None, Some(700), Some(20), None], "{by:?}");
        }
    }
}

#[test]
fn a_stopped_question_ends() {
    let store = Setup { segment_rows: 500, ..Setup::default() }.record(text_of(&rows(3_000)));
    let control = Control::default();
    control.stop();
    let order = RowOrder::named(&store.schema(), "path", true).expect("a field of logs");
    assert!(store.sorted_page((&View::default(), order), 0, 10, None, &control).is_err());
    assert!(
        ["hour", "weekday", "class", "nothing", ""].iter().all(|name| RowOrder::named(&store.schema(), name, true).is_none())
    );
}

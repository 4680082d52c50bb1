//! Typed texts with the rows that they mean, counted one by one.

use crate::log::{Plain, Random, START, Setup, State, format, text_of};
use crate::naive::{is_anywhere, value};
use rorqual_accesslog::filter::Filter;
use rorqual_crossfilter::{RowStore, SuggestWanted, Suggestion, View};
use rorqual_pipe::Control;
use std::time::Duration;

/// Noon of the first day of the rows.
const NOON: i64 = START + 2 * 86_400 + 43_200;

fn rows() -> Vec<Plain> {
    let mut random = Random(11);
    let row = |number: usize| Plain {
        state: if number.is_multiple_of(101) { State::Rejected("garbage /checkout".to_owned()) } else { State::Sound },
        time: number as i64 * 60,
        zone_hours: 0,
        client: format!("10.{}.0.{}", number % 3, number % 40),
        user: if number.is_multiple_of(50) { "ann".to_owned() } else { String::new() },
        method: (*random.pick(&["GET", "GET", "POST"])).to_owned(),
        path: (*random.pick(&["/", "/checkout", "/checkout/done", "/api/login", "/Checkout"])).to_owned(),
        query: (*random.pick(&["", "", "step=2"])).to_owned(),
        status: *random.pick(&[200, 200, 304, 404, 504]),
        bytes: Some(random.below(3 << 20)),
        referrer: (*random.pick(&["", "https://shop.example/checkout"])).to_owned(),
        agent: (*random.pick(&["Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0", "curl/8.5.0"]))
            .to_owned(),
        host: "one.example".to_owned(),
        request_time_us: Some(random.below(5_000_000)),
        upstream_time_us: None,
    };
    (0..4_000).map(row).collect()
}

fn suggest(store: &RowStore, view: &View, text: &str) -> Vec<Suggestion> {
    let format = format();
    let wanted = SuggestWanted { text, format: Some(&format), zone_seconds: 0, limit: 20, time_max: Duration::from_secs(300) };
    let found = store.suggest(view, &wanted, &Control::default()).expect("nobody cancels");
    // Little memory has no room for all expressions.
    assert!(found.complete || store.memory_bytes() < 16 << 20, "{text}");
    found.rows
}

type Meets = fn(&Plain) -> bool;

/// Typed texts, each with the filter that is the best suggestion and a test of the rows it means.
const TYPED: [(&str, &str, Meets); 14] = [
    ("504", "status = 504", |row| !row.rejected() && row.status == 504),
    ("checkout", "path contains \"checkout\"", |row| value(row, "path").contains("checkout")),
    ("/checkout", "path = /checkout", |row| value(row, "path") == "/checkout"),
    ("get", "method = GET", |row| value(row, "method") == "GET"),
    ("firefox", "browser = Firefox", |row| value(row, "browser") == "Firefox"),
    ("10.1.0", "client = 10.1.0.0/24", |row| value(row, "client").starts_with("10.1.0.")),
    ("GET login 504", "method = GET and path contains \"login\" and status = 504", |row| {
        !row.rejected() && row.method == "GET" && row.path.contains("login") && row.status == 504
    }),
    ("\"GET /checkout?step\" 404", "any contains \"GET /checkout?step\" and status = 404", |row| {
        !row.rejected() && is_anywhere(row, "GET /checkout?step") && row.status == 404
    }),
    ("404 or 504 ann", "(status = 404 or status = 504) and user = ann", |row| {
        !row.rejected() && [404, 504].contains(&row.status) && row.user == "ann"
    }),
    ("slower than 4s", "request_time >= 4.000001", |row| !row.rejected() && row.request_time_us.is_some_and(|us| us > 4_000_000)),
    ("garbage", "any contains \"garbage\"", |row| is_anywhere(row, "garbage")),
    ("checkout without post", "path contains \"checkout\" and method != POST", |row| {
        row.path.contains("checkout") && !row.rejected() && row.method != "POST"
    }),
    ("staus >= 500", "status >= 500", |row| !row.rejected() && row.status >= 500),
    ("not bot", "not bot", |row| value(row, "bot").is_empty()),
];

#[test]
fn the_best_suggestion_has_the_rows_that_are_meant() {
    let all = rows();
    for setup in [
        Setup { threads: 1, segment_rows: 1 << 16, memory_bytes: 256 << 20, spill_bytes: None },
        Setup { threads: 3, segment_rows: 300, memory_bytes: 2 << 20, spill_bytes: Some(1 << 30) },
    ] {
        let store = setup.record(text_of(&all));
        for view in [View::default(), View { filter: Filter::parse("status != 200").expect("one"), ..View::default() }] {
            for (text, filter, meets) in TYPED {
                let base = |row: &&Plain| view.filter.is_everything() || row.rejected() || row.status != 200;
                let hits = all.iter().filter(base).filter(|row| meets(row)).count() as u64;
                let found = suggest(&store, &view, text);
                assert_eq!((found[0].filter.as_str(), found[0].hits), (filter, hits), "{text}: {found:?}");
                assert!(found[0].exact && hits > 0, "{text}");
            }
        }
    }
}

#[test]
fn spans_take_the_place_of_the_views_own() {
    let all = rows();
    let store = Setup::default().record(text_of(&all));
    let view = View { from_us: Some(0), to_us: Some(1), filter: Filter::default() };
    let found = suggest(&store, &view, "2000-10-03 12:00 to 13:00");
    let hour = all.iter().filter(|row| !row.rejected() && (NOON..NOON + 3_600).contains(&row.unix())).count() as u64;
    assert_eq!((found[0].from, found[0].to, found[0].hits), (Some(NOON as f64), Some(NOON as f64 + 3_600.0), hour));
    assert!(found[0].filter.is_empty() && hour > 0);
    // Within its own span the view has no row.
    assert_eq!(suggest(&store, &view, "504")[0].hits, 0);
}

#[test]
fn a_line_of_the_log_leads_to_itself() {
    let all = rows();
    let store = Setup::default().record(text_of(&all));
    let found = suggest(&store, &View::default(), &all[1234].line());
    assert_eq!((found[0].label.as_str(), found[0].hits), ("this line", 1), "{found:?}");
    let client = all.iter().filter(|row| value(row, "client") == all[1234].client).count() as u64;
    assert_eq!((found[1].label.as_str(), found[1].hits), (&*format!("the same client: {}", all[1234].client), client));
}

#[test]
fn what_no_row_has_is_said_and_letters_in_any_case_are_found() {
    let all = rows();
    let store = Setup::default().record(text_of(&all));
    let none = suggest(&store, &View::default(), "nowhere-at-all");
    assert!(!none.is_empty() && none.iter().all(|row| row.hits == 0 && row.exact), "{none:?}");
    let found = suggest(&store, &View::default(), "LOGIN");
    let login = all.iter().filter(|row| value(row, "path").contains("login")).count() as u64;
    assert_eq!((found[0].label.as_str(), found[0].hits), ("path contains LOGIN", login), "{found:?}");
}

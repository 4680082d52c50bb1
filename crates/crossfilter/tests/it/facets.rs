//! Facets equal a count by one row after another of the rows that meet the other conditions.

use crate::log::{Plain, Setup, State, text_of};
use crate::naive::{panel, value};
use crate::turns;
use crate::views::{ALL, rows};
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::report::ReportRow;
use rorqual_accesslog::schema::{Schema, TextColumn};
use rorqual_crossfilter::limits::FACETS_MAX;
use rorqual_crossfilter::{Facet, PanelPage, PanelWanted, RowStore, View, ViewParts, ViewResult};
use rorqual_pipe::Control;
use std::collections::BTreeMap;

/// A condition of a filter, its test of a row, and the values of its field that it names.
#[derive(Clone, Copy)]
struct TestedCondition {
    /// Empty where it is no choice of values.
    field: &'static str,
    written: &'static str,
    meets: fn(&Plain) -> bool,
    chosen: &'static [&'static str],
    excluded: &'static [&'static str],
}

const fn part(field: &'static str, written: &'static str, meets: fn(&Plain) -> bool) -> TestedCondition {
    TestedCondition { field, written, meets, chosen: &[], excluded: &[] }
}

const fn choice(part: TestedCondition, chosen: &'static [&'static str]) -> TestedCondition {
    TestedCondition { chosen, ..part }
}

const fn without(part: TestedCondition, excluded: &'static [&'static str]) -> TestedCondition {
    TestedCondition { excluded, ..part }
}

const METHOD: TestedCondition = choice(part("method", "method = POST", |row| value(row, "method") == "POST"), &["POST"]);
const PATHS: TestedCondition = choice(
    part("path", "path in (/a.css, /b.js, /none)", |row| ["/a.css", "/b.js"].contains(&&*value(row, "path"))),
    &["/a.css", "/b.js"],
);
const NO_PATH: TestedCondition = without(part("path", "path != /b.js", |row| value(row, "path") != "/b.js"), &["/b.js"]);
const NO_PATHS: TestedCondition =
    without(part("path", "path not in (/, /b.js)", |row| !["/", "/b.js"].contains(&&*value(row, "path"))), &["/", "/b.js"]);
const STATUSES: TestedCondition =
    choice(part("status", "status in (404, 500)", |row| !row.rejected() && [404, 500].contains(&row.status)), &["404", "500"]);
const NO_STATUS: TestedCondition =
    without(part("status", "not status = 200", |row| row.rejected() || row.status != 200), &["200"]);
const BROWSER: TestedCondition =
    choice(part("browser", "browser = Firefox", |row| value(row, "browser") == "Firefox"), &["Firefox"]);
const NO_OS: TestedCondition = without(part("os", "os != Windows", |row| value(row, "os") != "Windows"), &["Windows"]);
const AGENT: TestedCondition =
    choice(part("agent", "agent = curl/8.5.0", |row| value(row, "agent") == "curl/8.5.0"), &["curl/8.5.0"]);
const NET: TestedCondition = choice(part("net", "net = 10.0.0.0/24", |row| value(row, "net") == "10.0.0.0/24"), &["10.0.0.0/24"]);
const NO_HOST: TestedCondition = part("host", "host = -", |row| value(row, "host").is_empty());
const FLAW: TestedCondition = without(
    part("flaw", "flaw != \"the line ends before the user\"", |row| value(row, "flaw") != "the line ends before the user"),
    &["the line ends before the user"],
);
const LARGE: TestedCondition = part("", "bytes >= 100", |row| row.size().is_some_and(|size| size >= 100));
const STYLE: TestedCondition = part("", "path ~ \"[.]css$\"", |row| value(row, "path").ends_with(".css"));
const ERRORS: TestedCondition = part("", "status = 5xx", |row| !row.rejected() && row.status / 100 == 5);
const CLIENTS: TestedCondition = part("", "client in 10.0.0.0/16", |row| value(row, "client").starts_with("10.0."));
const EITHER: TestedCondition =
    part("", "(method = GET or path = /)", |row| !row.rejected() && (row.method == "GET" || row.path == "/"));
const NO_QUERY: TestedCondition = part("", "query != \"x=1\"", |row| value(row, "query") != "x=1");

const CASES: [&[TestedCondition]; 12] = [
    &[PATHS],
    &[NO_PATH],
    &[PATHS, LARGE],
    &[METHOD, PATHS, STATUSES],
    &[NO_STATUS, NO_PATHS, EITHER],
    &[BROWSER, NO_OS, LARGE],
    &[AGENT, NO_OS, METHOD],
    &[NET, CLIENTS, NO_HOST],
    &[ERRORS, STATUSES, NO_QUERY],
    &[STYLE, NO_PATH, METHOD],
    &[FLAW, NO_STATUS],
    &[LARGE, STYLE],
];

fn view_of(parts: &[TestedCondition]) -> View {
    let written: Vec<&str> = parts.iter().map(|part| part.written).collect();
    View { filter: Filter::parse(&written.join(" and ")).expect("a filter"), ..View::default() }
}

fn look(store: &RowStore, view: &View, facets: bool) -> ViewResult {
    store.view(view, &ViewParts { facets, ..ALL }, &Control::default()).expect("nobody cancels")
}

/// Hits and bytes by value of the rows that meet all parts but those of a field.
fn expected(parts: &[TestedCondition], rows: &[Plain], field: &str) -> BTreeMap<String, (u64, u64)> {
    let others: Vec<&TestedCondition> = parts.iter().filter(|part| part.field != field).collect();
    let rows: Vec<&Plain> = rows.iter().filter(|row| others.iter().all(|part| (part.meets)(row))).collect();
    if field != "status" {
        return panel(&rows, field);
    }
    let mut sums = BTreeMap::<String, (u64, u64)>::new();
    for row in rows.iter().filter(|row| !row.rejected()) {
        let sum = sums.entry(row.status.to_string()).or_default();
        *sum = (sum.0 + 1, sum.1 + row.size().unwrap_or(0));
    }
    sums
}

fn amounts(rows: &[ReportRow]) -> Vec<(String, (u64, u64))> {
    rows.iter().map(|row| (row.value.clone(), (row.hits, row.bytes))).collect()
}

/// Most hits first, ties by text.
fn ranked(values: impl Iterator<Item = (String, (u64, u64))>) -> Vec<(String, (u64, u64))> {
    let mut order: Vec<_> = values.collect();
    order.sort_by(|a, b| b.1.0.cmp(&a.1.0).then_with(|| a.0.cmp(&b.0)));
    order
}

fn check(store: &RowStore, parts: &[TestedCondition], rows: &[Plain], context: &str) {
    let view = view_of(parts);
    let viewed = look(store, &view, true);
    let mut fields: Vec<&str> = parts.iter().map(|part| part.field).filter(|field| !field.is_empty()).collect();
    // A field that no row has, has no panel.
    fields.retain(|field| *field == "status" || rows.iter().any(|row| !value(row, field).is_empty()));
    let found: Vec<&str> = viewed.facets.iter().map(|facet| &*facet.panel.field).collect();
    assert_eq!(found, fields, "{} {context}", viewed.filter);
    for Facet { panel, chosen, excluded } in &viewed.facets {
        let context = format!("{} of {}, {context}", panel.field, viewed.filter);
        let expected = expected(parts, rows, &panel.field);
        assert_eq!(amounts(&panel.rows), ranked(expected.clone().into_iter()), "{context}");
        let hits = expected.values().map(|(hits, _)| hits).sum::<u64>();
        assert_eq!((panel.hits, panel.distinct.distinct, panel.exact), (hits, expected.len() as u64, true), "{context}");
        let own = || parts.iter().filter(|part| part.field == panel.field);
        let named = |values: Vec<&str>| {
            ranked(values.into_iter().filter_map(|value| expected.get_key_value(value)).map(|(v, s)| (v.clone(), *s)))
        };
        assert_eq!(amounts(chosen), named(own().flat_map(|part| part.chosen).copied().collect()), "{context}");
        assert_eq!(amounts(excluded), named(own().flat_map(|part| part.excluded).copied().collect()), "{context}");
        // A panel by itself, and one of a view without these conditions.
        let column = Schema::access_log().text(&panel.field).filter(|_| panel.field != "status");
        assert_eq!(amounts(&page(store, &view.without_choices(column), column).rows), amounts(&panel.rows), "{context}");
    }
    // All else is as without facets.
    let (with, without) = (ViewResult { facets: Vec::new(), ..viewed }, look(store, &view, false));
    let json = |viewed: &ViewResult| serde_json::to_string(viewed).expect("JSON");
    assert_eq!(json(&with), json(&without), "{context}");
}

fn page(store: &RowStore, view: &View, column: Option<TextColumn>) -> PanelPage {
    let wanted = PanelWanted { search: None, offset: 0, limit: 10_000 };
    match column {
        Some(column) => store.panel(view, column, &wanted, &Control::default()),
        None => store.statuses(view, &wanted, &Control::default()),
    }
    .expect("nobody cancels")
}

fn setups() -> [Setup; 4] {
    let setup = |threads, segment_rows, memory_bytes, spill_bytes| Setup { threads, segment_rows, memory_bytes, spill_bytes };
    [
        setup(1, 1 << 16, 256 << 20, None),
        setup(3, 100, 256 << 20, None),
        setup(2, 7, 2 << 20, Some(1 << 30)),
        // Too small for sums of all rows.
        setup(2, 64, 1 << 20, Some(1 << 30)),
    ]
}

#[test]
fn facets_equal_a_look_at_every_row() {
    for (setup, seed) in setups().into_iter().zip([3, 11, 90, 4_711]) {
        let rows = rows(seed, 900);
        let store = setup.record(text_of(&rows));
        for parts in CASES {
            check(&store, parts, &rows, &format!("{setup:?}"));
        }
        assert!(look(&store, &View::default(), true).facets.is_empty());
    }
}

/// Values chosen one after another, each of whose views the one before helps to count; and a span.
#[test]
fn choices_one_after_another() {
    let rows = rows(7, 2_000);
    let store = Setup { threads: 2, segment_rows: 100, ..Setup::default() }.record(text_of(&rows));
    look(&store, &View::default(), true);
    for parts in [&[PATHS][..], &[PATHS, METHOD], &[NO_PATH, METHOD], &[METHOD], &[METHOD, STATUSES], &[PATHS, STATUSES]] {
        check(&store, parts, &rows, "one after another");
    }
    let (from, to) = (rows[300].unix(), rows[1_500].unix());
    let timed: Vec<Plain> = rows.iter().filter(|row| !row.rejected() && (from..to).contains(&row.unix())).cloned().collect();
    let view = View { from_us: Some(from * 1_000_000), to_us: Some(to * 1_000_000), ..view_of(&[PATHS, METHOD]) };
    for facet in look(&store, &view, true).facets {
        let expected = expected(&[PATHS, METHOD], &timed, &facet.panel.field);
        assert_eq!(amounts(&facet.panel.rows), ranked(expected.into_iter()), "{}", facet.panel.field);
    }
}

#[test]
fn facets_of_rows_that_still_come() {
    let rows = rows(5, 1_200);
    let setup = Setup { threads: 2, segment_rows: 128, memory_bytes: 2 << 20, spill_bytes: Some(1 << 30) };
    let store = setup.store();
    let analyzer = turns::turns(&setup, &store);
    for end in [400, 800, 1_200] {
        turns::take(&analyzer, &rows[end - 400..end]);
        for parts in CASES {
            check(&store, parts, &rows[..end], &format!("{end} rows"));
        }
    }
}

/// So many values that few of them are met by the rows of a facet, or most.
#[test]
fn facets_of_many_values() {
    let mut rows = rows(9, 9_000);
    for (index, row) in rows.iter_mut().enumerate() {
        row.client = format!("10.{}.{}.{}", index % 3, index / 3 % 40, index * 7 % 250);
        row.path = format!("/{}/{}.css", index % 5, index * 3 % 9_000);
    }
    let meets = |row: &Plain| value(row, "client") != "10.1.3.70";
    let client = || without(part("client", "client != 10.1.3.70", meets), &["10.1.3.70"]);
    let net = choice(part("net", "net = 10.2.7.0/24", |row| value(row, "net") == "10.2.7.0/24"), &["10.2.7.0/24"]);
    let path = choice(part("path", "path = /0/30.css", |row| value(row, "path") == "/0/30.css"), &["/0/30.css"]);
    let cases = [[client(), net, path], [client(), METHOD, LARGE]];
    for setup in [Setup { threads: 3, segment_rows: 1_000, ..Setup::default() }, Setup::default()] {
        let store = setup.record(text_of(&rows));
        cases.iter().for_each(|parts| check(&store, parts, &rows, "many values"));
        check_top(&store, &rows);
    }
}

/// Fewer rows than the panel has: a value that is named is there all the same.
fn check_top(store: &RowStore, rows: &[Plain]) {
    let view = view_of(&[choice(part("path", "path in (/0/30.css, /1/33.css)", |_| true), &[])]);
    let facets =
        store.view(&view, &ViewParts { top: 1, facets: true, ..ALL }, &Control::default()).expect("nobody cancels").facets;
    let named = ["/0/30.css", "/1/33.css"].map(|path| rows.iter().filter(|row| value(row, "path") == path).count() as u64);
    assert_eq!((facets[0].panel.rows.len(), facets[0].chosen.len()), (1, 1));
    assert_eq!(facets[0].chosen[0].hits, named.into_iter().max().unwrap_or(0));
}

/// Of more fields than have a place the others' conditions stay applied.
#[test]
fn many_fields() {
    let rows = rows(21, 300);
    let store = Setup::default().record(text_of(&rows));
    let fields = ["client", "host", "protocol", "referrer", "site", "browser", "os", "bot", "agent", "user", "flaw", "source"];
    let others = ["kind != archive", "net != 192.0.2.0/24", "country != ZZ", "status != 404", "path != /a.css", "method != POST"];
    assert_eq!(fields.len() + others.len() - 2, FACETS_MAX, "all but the last two");
    let written: Vec<String> = fields.iter().map(|field| format!("{field} != 999")).chain(others.map(str::to_owned)).collect();
    let view = View { filter: Filter::parse(&written.join(" and ")).expect("a filter"), ..View::default() };
    let viewed = look(&store, &view, true);
    let panel_of = |field: &str| viewed.panels.iter().find(|panel| panel.field == field).expect("a panel");
    let faceted: Vec<&str> = viewed.facets.iter().map(|facet| &*facet.panel.field).collect();
    assert!(!faceted.contains(&"path") && !faceted.contains(&"method"), "{faceted:?}");
    let meets = |row: &&Plain| value(row, "path") != "/a.css" && value(row, "method") != "POST";
    let met: Vec<&Plain> = rows.iter().filter(meets).collect();
    let hits = met.iter().filter(|row| !row.rejected()).count() as u64;
    let (status, rest): (Vec<&Facet>, Vec<&Facet>) = viewed.facets.iter().partition(|facet| facet.panel.field == "status");
    assert_eq!(status.iter().map(|facet| facet.panel.hits).collect::<Vec<_>>(), [hits]);
    assert!(rest.len() > 8, "{faceted:?}");
    for facet in rest {
        // Their conditions leave out no row.
        assert_eq!(amounts(&panel_of(&facet.panel.field).rows), amounts(&facet.panel.rows), "{}", facet.panel.field);
        assert!(facet.chosen.is_empty() && facet.excluded.is_empty());
    }
}

/// Bytes that are no UTF-8 are chosen as they were shown, which more than one value may be.
#[test]
fn values_that_are_no_utf8() {
    let mut text = text_of(&rows(13, 50).into_iter().map(|row| Plain { state: State::Sound, ..row }).collect::<Vec<_>>());
    for byte in [0xe9u8, 0xe8] {
        let mut line = text.split(|byte| *byte == b'\n').next().expect("a line").to_vec();
        let at = line.windows(5).position(|part| part == b"GET /" || part == b"POST ").expect("a request") + 5;
        line.insert(at, byte);
        text.extend(line);
        text.push(b'\n');
    }
    let store = Setup::default().record(text);
    let all = look(&store, &View::default(), false);
    let paths = all.panels.iter().find(|panel| panel.field == "path").expect("paths");
    let odd: Vec<&ReportRow> = paths.rows.iter().filter(|row| row.value.contains('\u{fffd}')).collect();
    assert_eq!((odd.len(), odd[0].value == odd[1].value), (2, true), "two that look alike");
    let view = View { filter: Filter::parse(&format!("path = {:?}", odd[0].value)).expect("a filter"), ..View::default() };
    let facet = &look(&store, &view, true).facets[0];
    assert_eq!(amounts(&facet.chosen).len(), 2);
    assert_eq!(amounts(&facet.panel.rows), amounts(&paths.rows));
}

//! Values that turn up when there is no room for more.

use crate::log::{Plain, Setup, State, text_of};
use rorqual_accesslog::filter::{Filter, TextColumn};
use rorqual_crossfilter::limits::BASE_BYTES_MIN;
use rorqual_crossfilter::{PanelWanted, RateGrouping, RowStore, View, ViewParts, ViewResult};
use rorqual_pipe::Control;

/// Distinct clients that come first, each once, and the requests of the one that comes then.
const CLIENTS: u32 = 120_000;
const ATTACK: u64 = 30_000;
const ATTACKER: &str = "203.0.113.9";

/// A client that comes too seldom for a code.
const SELDOM: &str = "198.51.100.7";

fn plain(time: i64, client: String, status: u16) -> Plain {
    Plain {
        state: State::Sound,
        time,
        zone_hours: 0,
        client,
        user: String::new(),
        method: "GET".to_owned(),
        path: "/".to_owned(),
        query: String::new(),
        status,
        bytes: Some(10),
        referrer: String::new(),
        agent: "an agent".to_owned(),
        host: String::new(),
        request_time_us: None,
        upstream_time_us: None,
    }
}

/// An hour of clients that come once, and an hour in which one comes all the time.
fn rows() -> Vec<Plain> {
    let one = |number: u32| {
        let [_, a, b, c] = number.to_be_bytes();
        plain(i64::from(number) * 3_600 / i64::from(CLIENTS), format!("10.{a}.{b}.{c}"), 200)
    };
    let seldom = (0..5).map(|second| plain(3_500 + second, SELDOM.to_owned(), 200));
    let attack = (0..ATTACK).map(|hit| plain(3_600 + (hit * 3_600 / ATTACK) as i64, ATTACKER.to_owned(), 403));
    (0..CLIENTS).map(one).chain(seldom).chain(attack).collect()
}

/// A store with room for some of the clients.
fn store(threads: usize) -> std::sync::Arc<RowStore> {
    let setup = Setup { threads, segment_rows: 4_096, memory_bytes: 8 << 20, spill_bytes: Some(1 << 30) };
    assert!(setup.memory_bytes > BASE_BYTES_MIN);
    setup.record(text_of(&rows()))
}

fn view_of(filter: &str) -> View {
    View { filter: Filter::parse(filter).expect("a filter"), ..View::default() }
}

fn viewed(store: &RowStore, view: &View) -> ViewResult {
    store.view(view, &ViewParts::default(), &Control::default()).expect("nobody cancels")
}

fn attack_hour() -> View {
    let from = rows().last().expect("rows").unix() / 3_600 * 3_600;
    View { from_us: Some(from * 1_000_000), to_us: Some((from + 3_600) * 1_000_000), ..View::default() }
}

#[test]
fn a_client_that_comes_often_is_listed_though_there_was_no_room_for_it() {
    for threads in [1, 3] {
        let store = store(threads);
        let all = viewed(&store, &View::default());
        let clients = all.panels.iter().find(|panel| panel.field == "client").expect("clients");
        let others = clients.others.expect("not all have a code").hits;
        assert!(!clients.exact && clients.hits == all.lines.total && others < u64::from(CLIENTS), "{others} others");
        let first = &clients.rows[0];
        assert_eq!(first.value, ATTACKER);
        // 30,000 by the log: within its bounds, and nearly all of them have a code.
        assert!(first.hits <= ATTACK && first.hits_max >= ATTACK && first.hits > ATTACK * 9 / 10, "{first:?}");
        assert!(first.hits_max - first.hits < ATTACK / 10, "{first:?}");
        // No value without a row has more than so many: the true most is 5.
        assert!(clients.error_max >= 5 && clients.error_max < ATTACK / 10, "{}", clients.error_max);
        let hour = viewed(&store, &attack_hour());
        let clients = hour.panels.iter().find(|panel| panel.field == "client").expect("clients");
        assert_eq!((hour.lines.total, &clients.rows[0].value[..]), (ATTACK, ATTACKER));
        assert_eq!(clients.rows[0].hits + clients.others.map_or(0, |others| others.hits), ATTACK);
    }
}

#[test]
fn a_filter_on_a_value_without_a_code_tells_its_bounds() {
    let store = store(1);
    let all = u64::from(CLIENTS) + 5 + ATTACK;
    for (filter, truth) in [
        (format!("client = {ATTACKER}"), ATTACK),
        (format!("client = {SELDOM}"), 5),
        (format!("client = {SELDOM} and status = 200"), 5),
        ("client = 192.0.2.1".to_owned(), 0),
        (format!("not client = {ATTACKER}"), all - ATTACK),
        (format!("client != {SELDOM}"), all - 5),
        (format!("client ~ \"^203[.]\" or client = {SELDOM}"), ATTACK + 5),
        ("net = 203.0.113.0/24".to_owned(), ATTACK),
    ] {
        let found = viewed(&store, &view_of(&filter));
        let bounds = found.bounds.unwrap_or_else(|| panic!("{filter} has bounds"));
        assert!(!found.exact && bounds.least <= truth && truth <= bounds.most, "{filter}: {truth} in {bounds:?}");
        assert!(bounds.least <= found.lines.total && found.lines.total <= bounds.most, "{filter}: {found:?}");
        if filter.starts_with("client = ") || filter.starts_with("client !=") || filter.starts_with("not client = ") {
            assert!(bounds.most - bounds.least < 3_000, "{filter}: {bounds:?}");
        }
        // Every line has the same path, so that its row in the panel is as many as the truth.
        let paths = found.panels.iter().find(|panel| panel.field == "path").expect("paths");
        let Some(row) = paths.rows.first() else {
            assert_eq!(found.lines.total, 0, "{filter}");
            continue;
        };
        assert!(row.hits_min <= truth && truth <= row.hits_max, "{filter}: {truth} in {row:?}");
        assert!((row.hits_min, row.hits_max) == (bounds.least, bounds.most), "{filter}: {row:?} in {bounds:?}");
    }
    // A client that came while there was room, and fields with room for all.
    for (filter, truth) in [("client = 10.0.0.7", 1), ("status = 403", ATTACK), ("path = \"/\"", all), ("", all)] {
        let found = viewed(&store, &view_of(filter));
        assert_eq!((found.lines.total, found.exact, found.bounds), (truth, true, None), "{filter}");
    }
}

#[test]
fn what_had_no_room_is_told_by_panels_rates_and_explanations() {
    let store = store(1);
    let control = Control::default();
    let nets = store.panel(&View::default(), TextColumn::Net, &PanelWanted { limit: 5, ..PanelWanted::default() }, &control);
    let nets = nets.expect("nobody cancels");
    assert!(nets.others.is_some_and(|others| others.hits > 0 && others.bytes == others.hits * 10), "{:?}", nets.others);
    let rates = store.rates(&attack_hour(), RateGrouping::Client, 1, &[], &control).expect("nobody cancels");
    assert_eq!(&rates.fastest[0].value[..], ATTACKER);
    assert_eq!(rates.fastest[0].hits + rates.unknown, ATTACK);
    let rates = store.rates(&View::default(), RateGrouping::Client, 1, &[], &control).expect("nobody cancels");
    assert!(!rates.exact && rates.rows + rates.unknown == u64::from(CLIENTS) + 5 + ATTACK && rates.unknown > 0);
    let explained = store.explain(&attack_hour(), &View::default(), &control).expect("nobody cancels");
    assert!(explained.findings.iter().any(|finding| finding.filter.contains(ATTACKER)), "{:?}", explained.findings);
    let unknown = explained.unknown.iter().map(|field| field.field).collect::<Vec<_>>();
    assert_eq!((unknown, explained.exact), (vec!["client"], false));
}

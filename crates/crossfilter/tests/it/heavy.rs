//! Values that turn up when there is no room for more.

use crate::log::{Plain, Setup, State, text_of};
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::schema::TextColumn;
use rorqual_crossfilter::limits::BASE_BYTES_MIN;
use rorqual_crossfilter::limits::WORK_BYTES_MIN;
use rorqual_crossfilter::{PanelWanted, RateGrouping, RowStore, RowStoreSettings, ValueCount, View, ViewParts, ViewResult};
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

fn one() -> PanelWanted {
    PanelWanted { limit: 1, ..PanelWanted::default() }
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
        let control = Control::default();
        let urls = store.panel(&view_of(&filter), TextColumn::URL, &one(), &control).expect("nobody cancels");
        let url = &urls.rows[0];
        assert_eq!((&url.value[..], url.hits_min, url.hits_max), ("/", bounds.least, bounds.most), "{filter}");
        let statuses = store.statuses(&view_of(&filter), &PanelWanted { limit: 9, ..PanelWanted::default() }, &control);
        let statuses = statuses.expect("nobody cancels").rows;
        let status = |hits: u64, value: &str| statuses.iter().find(|row| row.value == value).map(|row| (row, hits));
        let attacks = if filter.contains("not") || filter.contains('!') {
            if filter.contains(ATTACKER) { 0 } else { ATTACK }
        } else {
            truth.min(ATTACK) / ATTACK * ATTACK
        };
        for (row, hits) in [status(attacks, "403"), status(truth - attacks, "200")].into_iter().flatten() {
            assert!(row.hits_min <= hits && hits <= row.hits_max, "{filter}: {hits} in {row:?}");
        }
        let values = store.values(&view_of(&filter), TextColumn::PATH, &control).expect("nobody cancels");
        assert!(!values.is_exact(), "{filter}");
        let mut found = Vec::new();
        let take = |value: &ValueCount<'_>| {
            found.push((value.text.to_vec(), value.hits_min, value.hits_max));
            Ok(())
        };
        store.each_value(&values, take).expect("nothing fails");
        assert_eq!(found, [(b"/".to_vec(), bounds.least, bounds.most)], "{filter}");
    }
    // A client that came while there was room, and fields with room for all.
    for (filter, truth) in [("client = 10.0.0.7", 1), ("status = 403", ATTACK), ("path = \"/\"", all), ("", all)] {
        let found = viewed(&store, &view_of(filter));
        assert_eq!((found.lines.total, found.exact, found.bounds), (truth, true, None), "{filter}");
    }
}

/// Clients that come twice each, in paths of their own: neither has room for all.
#[test]
fn urls_without_room_have_bounds_that_hold() {
    let row = |number: u32| {
        let frequent = number.is_multiple_of(4);
        let path = if frequent { "/often".to_owned() } else { format!("/a/path/of/its/own/{:06}", number / 2) };
        Plain { path, ..plain(i64::from(number) / 40, "10.0.0.1".to_owned(), 200) }
    };
    let late = |hit: u32| Plain { path: "/late".to_owned(), ..plain(3_500 + i64::from(hit) / 40, "10.0.0.1".to_owned(), 200) };
    let rows: Vec<Plain> = (0..CLIENTS).map(row).chain((0..4_000).map(late)).collect();
    let setup = Setup { threads: 1, segment_rows: 4_096, memory_bytes: 8 << 20, spill_bytes: Some(1 << 30) };
    let store = setup.record(text_of(&rows));
    let wanted = PanelWanted { limit: 2, ..PanelWanted::default() };
    let urls = store.panel(&View::default(), TextColumn::URL, &wanted, &Control::default()).expect("nobody cancels");
    let others = urls.others.expect("not all have a code").hits;
    // Known from the first line on.
    let often = &urls.rows[0];
    assert_eq!((&often.value[..], often.hits_min, often.hits_max), ("/often", 30_000, 30_000));
    let late = &urls.rows[1];
    assert!(late.value == "/late" && late.hits_min <= 4_000 && 4_000 <= late.hits_max, "{late:?}");
    assert!(late.hits_max - late.hits_min < 2_000 && others > 20_000, "{late:?} of {others}");
    assert!(urls.error_max < 4_000, "{}", urls.error_max);
    // `…` is the last row of all values.
    let values = store.values(&View::default(), TextColumn::URL, &Control::default()).expect("nobody cancels");
    let mut last = (Vec::new(), 0);
    let take = |value: &ValueCount<'_>| {
        last = (value.text.to_vec(), value.hits);
        Ok(())
    };
    store.each_value(&values, take).expect("nothing fails");
    assert_eq!(last, ("…".as_bytes().to_vec(), others));
}

#[test]
fn bounds_outlive_the_process() {
    let setup = Setup { threads: 1, segment_rows: 4_096, memory_bytes: 8 << 20, spill_bytes: None };
    let settings = || RowStoreSettings {
        segment_rows: setup.segment_rows,
        ..RowStoreSettings::new(setup.memory_bytes, WORK_BYTES_MIN, setup.threads)
    };
    let (rows, file) = (rows(), tempfile::tempfile().expect("a file"));
    let handle = || file.try_clone().expect("a handle");
    let mut store = RowStore::with_journal(settings(), handle(), 1 << 30).expect("a journal");
    let attack_begins = rows.len() - ATTACK as usize;
    let half = attack_begins + ATTACK as usize / 2;
    let attacker = |store: &RowStore| {
        let all = viewed(store, &View::default());
        let clients = all.panels.into_iter().find(|panel| panel.field == "client").expect("clients");
        (clients.rows.into_iter().next().expect("a client"), clients.error_max)
    };
    // Restored before the attack, in it and after it: the bounds of one part are added to the last.
    for (part, truth) in [(0..attack_begins, None), (attack_begins..half, Some(ATTACK / 2)), (half..rows.len(), Some(ATTACK))] {
        crate::turns::take(&crate::turns::turns(&setup, &store), &rows[part]);
        let (before, most) = attacker(&store);
        let head = store.checkpoint().expect("there is room");
        store = RowStore::restore(settings(), handle(), 1 << 30, &head).expect("it is whole");
        let (after, later_most) = attacker(&store);
        assert_eq!((&after.value, after.hits, after.hits_min), (&before.value, before.hits, before.hits_min));
        assert!(after.hits_max >= before.hits_max && later_most == most, "{before:?} {after:?} {most} {later_most}");
        assert_eq!(store.checkpoint().expect("there is room"), head, "nothing is new");
        let Some(truth) = truth else { continue };
        assert_eq!(after.value, ATTACKER);
        assert!(after.hits_min <= truth && truth <= after.hits_max, "{truth} in {after:?}");
        // Without the counts of before, all rows without a value were in doubt: some 90,000.
        assert!(after.hits_max - after.hits_min < 5_000, "{after:?}");
        let found = viewed(&store, &view_of(&format!("client = {ATTACKER}")));
        let bounds = found.bounds.expect("bounds");
        assert!(bounds.least <= truth && truth <= bounds.most && bounds.most - bounds.least < 5_000, "{bounds:?}");
    }
}

#[test]
fn what_had_no_room_is_told_by_panels_rates_and_explanations() {
    let store = store(1);
    let control = Control::default();
    let nets = store.panel(&View::default(), TextColumn::NET, &PanelWanted { limit: 5, ..PanelWanted::default() }, &control);
    let nets = nets.expect("nobody cancels");
    assert!(nets.others.is_some_and(|others| others.hits > 0 && others.bytes == others.hits * 10), "{:?}", nets.others);
    let rates = store.rates(&attack_hour(), RateGrouping::Client, 1, &[], &control).expect("nobody cancels");
    assert_eq!(&rates.fastest[0].value[..], ATTACKER);
    assert_eq!(rates.fastest[0].hits + rates.unknown, ATTACK);
    let rates = store.rates(&View::default(), RateGrouping::Client, 1, &[], &control).expect("nobody cancels");
    assert!(!rates.exact && rates.rows + rates.unknown == u64::from(CLIENTS) + 5 + ATTACK && rates.unknown > 0);
    let explained = store.explain(&attack_hour(), &View::default(), &control).expect("nobody cancels");
    assert!(explained.findings.iter().any(|finding| finding.filter.contains(ATTACKER)), "{:?}", explained.findings);
    let unknown = explained.unknown.iter().map(|field| &*field.field).collect::<Vec<_>>();
    assert_eq!((unknown, explained.exact), (vec!["client"], false));
}

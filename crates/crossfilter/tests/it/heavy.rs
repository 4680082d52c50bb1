//! Texts that turn up when the dictionary is full: they lie in their segments, and every answer
//! about them is exact.

use crate::log::{Plain, Setup, State, text_of};
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::schema::TextColumn;
use rorqual_crossfilter::limits::BASE_BYTES_MIN;
use rorqual_crossfilter::limits::WORK_BYTES_MIN;
use rorqual_crossfilter::{PanelWanted, RateGrouping, RowStore, RowStoreSettings, ValueCount, View, ViewParts, ViewResult};
use rorqual_pipe::Control;
use std::os::unix::fs::FileExt;

/// Distinct clients that come first, each once, and the requests of the one that comes then.
const CLIENTS: u32 = 120_000;
const ATTACK: u64 = 30_000;
const ATTACKER: &str = "203.0.113.9";

/// A client that comes too late and too seldom to be listed.
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
    let setup = Setup { threads, segment_rows: 4_096, memory_bytes: 9 << 20, spill_bytes: Some(1 << 30) };
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
fn a_client_that_comes_often_leads_though_there_was_no_room_for_it() {
    for threads in [1, 3] {
        let store = store(threads);
        let all = viewed(&store, &View::default());
        let clients = all.panels.iter().find(|panel| panel.field == "client").expect("clients");
        let others = clients.others.expect("not all are listed").hits;
        assert!(!clients.exact && clients.hits == all.lines.total && others < u64::from(CLIENTS), "{others} others");
        let first = &clients.rows[0];
        assert_eq!((&first.value[..], first.hits, first.hits_min, first.hits_max), (ATTACKER, ATTACK, ATTACK, ATTACK));
        // Of clients without a row the one with most has 5, of 120,000 in a few thousand buckets.
        assert!((5..=60).contains(&clients.error_max), "{}", clients.error_max);
        let truth = f64::from(CLIENTS) + 2.0;
        let distinct = clients.distinct;
        // The error is two standard errors, which one store in twenty goes beyond.
        assert!(
            (distinct.distinct as f64 - truth).abs() <= 2.5 * truth * distinct.error && distinct.error < 0.05,
            "{distinct:?}"
        );
        let hour = viewed(&store, &attack_hour());
        let clients = hour.panels.iter().find(|panel| panel.field == "client").expect("clients");
        assert_eq!((hour.lines.total, &clients.rows[0].value[..], clients.rows[0].hits), (ATTACK, ATTACKER, ATTACK));
        assert!(clients.others.is_none() && clients.exact && clients.distinct.distinct == 1, "{clients:?}");
    }
}

/// Rows that a store of every number of threads and of every memory tells the same of.
#[test]
fn a_filter_on_a_text_without_a_code_is_exact() {
    let all = u64::from(CLIENTS) + 5 + ATTACK;
    for (threads, spill_bytes) in [(1, Some(1 << 30)), (3, Some(1 << 30)), (1, None)] {
        let memory_bytes = if spill_bytes.is_some() { 8 << 20 } else { 24 << 20 };
        let store = Setup { threads, segment_rows: 4_096, memory_bytes, spill_bytes }.record(text_of(&rows()));
        for (filter, truth) in [
            (format!("client = {ATTACKER}"), ATTACK),
            (format!("client = {SELDOM}"), 5),
            (format!("client = {SELDOM} and status = 200"), 5),
            (format!("client = {SELDOM} and status = 403"), 0),
            ("client = 192.0.2.1".to_owned(), 0),
            (format!("not client = {ATTACKER}"), all - ATTACK),
            (format!("client != {SELDOM}"), all - 5),
            (format!("client ~ \"^203[.]\" or client = {SELDOM}"), ATTACK + 5),
            // 10.0.100.7 and 10.0.100.70 to .79, the same of 10.1, and the seldom one.
            ("client contains \".100.7\"".to_owned(), 2 * 11 + 5),
            ("net = 203.0.113.0/24".to_owned(), ATTACK),
            ("net != 203.0.113.0/24".to_owned(), all - ATTACK),
            ("client = 198.51.100.0/24".to_owned(), 5),
            ("client = 10.0.0.7".to_owned(), 1),
            ("client = 10.1.200.7".to_owned(), 1),
            ("status = 403".to_owned(), ATTACK),
            (String::new(), all),
        ] {
            let found = viewed(&store, &view_of(&filter));
            assert_eq!((found.lines.total, found.exact), (truth, true), "{filter} by {threads}");
            let values = store.values(&view_of(&filter), TextColumn::PATH, &Control::default()).expect("nobody cancels");
            let mut listed = Vec::new();
            let take = |value: &ValueCount<'_>| {
                listed.push((value.text.to_vec(), value.hits_min, value.hits_max));
                Ok(())
            };
            store.each_value(&values, take).expect("nothing fails");
            let expected = if truth == 0 { vec![] } else { vec![(b"/".to_vec(), truth, truth)] };
            assert_eq!(listed, expected, "{filter}");
        }
    }
}

#[test]
fn rows_show_their_texts_without_a_code() {
    let store = store(2);
    for (filter, client) in [(format!("client = {SELDOM}"), SELDOM), ("client = 10.1.200.7".to_owned(), "10.1.200.7")] {
        let view = view_of(&filter);
        let page = store.page(&view, 0, 10, None, &Control::default()).expect("nobody cancels");
        assert!(!page.rows.is_empty() && page.rows.iter().all(|row| row.client == client), "{:?}", page.rows);
        let net = if client == SELDOM { "198.51.100.0/24" } else { "10.1.200.0/24" };
        assert!(page.rows.iter().all(|row| row.net == net), "{:?}", page.rows);
        let mut clients = Vec::new();
        let take = |row: &rorqual_crossfilter::ViewRow<'_>| {
            clients.push(row.record.client.to_vec());
            Ok(())
        };
        let count = store.each(&view, &Control::default(), take).expect("nobody cancels");
        assert!(count as usize == clients.len() && clients.iter().all(|found| *found == client.as_bytes()), "{clients:?}");
    }
    // All clients come back, each as often as it came.
    let mut seen = std::collections::HashMap::new();
    let take = |row: &rorqual_crossfilter::ViewRow<'_>| {
        *seen.entry(row.record.client.to_vec()).or_insert(0_u64) += 1;
        Ok(())
    };
    store.each(&View::default(), &Control::default(), take).expect("nobody cancels");
    let mut expected = std::collections::HashMap::new();
    rows().into_iter().for_each(|row| *expected.entry(row.client.into_bytes()).or_insert(0_u64) += 1);
    assert!(seen == expected, "{} clients of {}", seen.len(), expected.len());
}

#[test]
fn a_panel_lists_what_a_search_finds_among_texts_without_a_code() {
    let store = store(1);
    for (search, values) in [
        ("198.51", vec![(SELDOM, 5), ("10.0.198.51", 1), ("10.1.198.51", 1)]),
        ("10.1.200.77", vec![("10.1.200.77", 1)]),
        ("203.0.113.9", vec![(ATTACKER, ATTACK)]),
        ("no such client", vec![]),
    ] {
        let wanted = PanelWanted { search: Some(search.to_owned()), offset: 0, limit: 10 };
        let page = store.panel(&View::default(), TextColumn::CLIENT, &wanted, &Control::default()).expect("nobody cancels");
        let listed: Vec<_> = page.rows.iter().map(|row| (&row.value[..], row.hits)).collect();
        assert_eq!(listed, values, "{search}: {page:?}");
    }
}

/// Clients that come twice each, in paths of their own: neither has room for all.
#[test]
fn urls_that_many_rows_have_are_exact_though_their_paths_had_no_room() {
    let row = |number: u32| {
        let frequent = number.is_multiple_of(4);
        let path = if frequent { "/often".to_owned() } else { format!("/a/path/of/its/own/{:06}", number / 2) };
        Plain { path, ..plain(i64::from(number) / 40, "10.0.0.1".to_owned(), 200) }
    };
    let late = |hit: u32| Plain { path: "/late".to_owned(), ..plain(3_500 + i64::from(hit) / 40, "10.0.0.1".to_owned(), 200) };
    let rows: Vec<Plain> = (0..CLIENTS).map(row).chain((0..4_000).map(late)).collect();
    let setup = Setup { threads: 1, segment_rows: 4_096, memory_bytes: 9 << 20, spill_bytes: Some(1 << 30) };
    let store = setup.record(text_of(&rows));
    let wanted = PanelWanted { limit: 2, ..PanelWanted::default() };
    let urls = store.panel(&View::default(), TextColumn::URL, &wanted, &Control::default()).expect("nobody cancels");
    let others = urls.others.expect("not all are listed").hits;
    let listed: Vec<_> = urls.rows.iter().map(|row| (&row.value[..], row.hits, row.hits_min, row.hits_max)).collect();
    assert_eq!(listed, [("/often", 30_000, 30_000, 30_000), ("/late", 4_000, 4_000, 4_000)]);
    // `…` is the last row of all values.
    let values = store.values(&View::default(), TextColumn::URL, &Control::default()).expect("nobody cancels");
    let mut last = (Vec::new(), 0);
    let take = |value: &ValueCount<'_>| {
        last = (value.text.to_vec(), value.hits);
        Ok(())
    };
    store.each_value(&values, take).expect("nothing fails");
    assert_eq!(last, ("…".as_bytes().to_vec(), others));
    for (filter, truth) in [("url = \"/late\"", 4_000), ("url ~ \"own/0599\"", 150), ("path contains \"own/059999\"", 2)] {
        assert_eq!(viewed(&store, &view_of(filter)).lines.total, truth, "{filter}");
    }
}

#[test]
fn texts_without_a_code_outlive_the_process() {
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
    let first_client = |store: &RowStore| {
        let all = viewed(store, &View::default());
        let clients = all.panels.into_iter().find(|panel| panel.field == "client").expect("clients");
        (clients.rows.into_iter().next().expect("a client"), clients.error_max, clients.distinct)
    };
    // Restored before the attack, in it and after it, while segments are half full.
    for (part, truth) in [(0..attack_begins, None), (attack_begins..half, Some(ATTACK / 2)), (half..rows.len(), Some(ATTACK))] {
        crate::turns::take(&crate::turns::turns(&setup, &store), &rows[part]);
        let before = first_client(&store);
        let head = store.checkpoint().expect("there is room");
        store = RowStore::restore(settings(), handle(), 1 << 30, &head).expect("it is whole");
        assert_eq!(first_client(&store), before);
        assert_eq!(store.checkpoint().expect("there is room"), head, "nothing is new");
        assert_eq!(viewed(&store, &view_of(&format!("client = {SELDOM}"))).lines.total, 5);
        let Some(truth) = truth else { continue };
        assert_eq!((&before.0.value[..], before.0.hits), (ATTACKER, truth));
        let found = viewed(&store, &view_of(&format!("net = 203.0.113.0/24 and client = {ATTACKER}")));
        assert_eq!((found.lines.total, found.exact), (truth, true));
    }
}

#[test]
fn a_restored_store_knows_the_leaders_among_texts_without_a_code_at_once() {
    let setup = Setup { threads: 2, segment_rows: 4_096, memory_bytes: 8 << 20, spill_bytes: None };
    let settings = || {
        let base = RowStoreSettings::new(setup.memory_bytes, WORK_BYTES_MIN, setup.threads);
        RowStoreSettings { segment_rows: setup.segment_rows, ..base }
    };
    let file = tempfile::tempfile().expect("a file");
    let handle = || file.try_clone().expect("a handle");
    let restore = |head: &[u8]| RowStore::restore(settings(), handle(), 1 << 30, head).expect("it is whole");
    let store = RowStore::with_journal(settings(), handle(), 1 << 30).expect("a journal");
    crate::turns::take(&crate::turns::turns(&setup, &store), &rows());
    let head = store.checkpoint_counted(&Control::default()).expect("there is room");
    let wanted = ViewParts { top: 20, buckets: 20, ..ViewParts::default() };
    let first_view = |store: &RowStore| {
        let all = store.view(&View::default(), &wanted, &Control::default()).expect("no segment is read");
        serde_json::to_string(&all).expect("JSON")
    };
    let expected = first_view(&store);
    assert!(expected.contains(ATTACKER));
    let mut whole = vec![0; file.metadata().expect("a size").len() as usize];
    file.read_exact_at(&mut whole, 0).expect("it can be read");
    let seldom = |store: &RowStore| {
        store.view(&view_of(&format!("client = {SELDOM}")), &wanted, &Control::default()).map(|found| found.lines.total)
    };
    // Records of segments are those of kind 2: without them, the first view is the same.
    let mut at = 16;
    while at < whole.len() {
        let length = u32::from_le_bytes([whole[at + 1], whole[at + 2], whole[at + 3], whole[at + 4]]) as usize;
        if whole[at] == 2 {
            file.write_all_at(&vec![0; length], at as u64 + 9).expect("it can be written");
        }
        at += 9 + length;
    }
    let restored = restore(&head);
    assert_eq!(first_view(&restored), expected);
    assert!(!restored.is_damaged() && seldom(&restored).is_err() && restored.is_damaged());
    // A damaged hash or text is found by the question that reads it.
    file.write_all_at(&whole, 0).expect("it can be written");
    assert_eq!(seldom(&restore(&head)).expect("it is whole"), 5);
    let end = 16 + 9 + u32::from_le_bytes([whole[17], whole[18], whole[19], whole[20]]) as usize;
    file.write_all_at(&[whole[end - 1] ^ 1], end as u64 - 1).expect("it can be written");
    assert!(restore(&head).verify().is_err(), "the last byte of a segment");
}

/// A network of 30,000 clients that come once each, after 120,000 networks of one client.
#[test]
fn a_network_that_comes_often_is_listed_though_there_was_no_room_for_it() {
    let one = |number: u32| {
        let [_, a, b, c] = number.to_be_bytes();
        plain(i64::from(number) / 40, format!("{}.{b}.{c}.9", 10 + a), 200)
    };
    let attack = (0..ATTACK).map(|hit| plain(3_600 + hit as i64 / 10, format!("2001:db8:0:7::{:x}", hit + 1), 403));
    let rows: Vec<Plain> = (0..CLIENTS).map(one).chain(attack).collect();
    for threads in [1, 3] {
        let setup = Setup { threads, segment_rows: 4_096, memory_bytes: 9 << 20, spill_bytes: Some(1 << 30) };
        let store = setup.record(text_of(&rows));
        let wanted = PanelWanted { limit: 3, ..PanelWanted::default() };
        let nets = store.panel(&View::default(), TextColumn::NET, &wanted, &Control::default()).expect("nobody cancels");
        let first = &nets.rows[0];
        assert!(!nets.exact && first.value == "2001:db8::/48", "{nets:?}");
        // A few came before it was known to be frequent: its number is a bound.
        assert!(first.hits >= ATTACK - 1_000 && first.hits_min <= ATTACK && first.hits_max >= ATTACK, "{first:?}");
        let found = viewed(&store, &view_of("net = 2001:db8::/48"));
        assert_eq!((found.lines.total, found.exact), (ATTACK, true));
    }
}

#[test]
fn texts_without_a_code_are_told_by_panels_rates_and_explanations() {
    let store = store(1);
    let control = Control::default();
    let wanted = PanelWanted { limit: 1_000, ..PanelWanted::default() };
    let nets = store.panel(&View::default(), TextColumn::NET, &wanted, &control).expect("nobody cancels");
    // Networks follow from all clients, with a code or without one.
    let attacker = nets.rows.iter().find(|row| row.value == "203.0.113.0/24");
    let attacker = attacker.unwrap_or_else(|| {
        panic!(
            "the attacker's network is not among {:?} {:?}",
            (nets.exact, nets.others, nets.distinct, nets.hits, nets.error_max),
            &nets.rows[..4]
        )
    });
    assert_eq!((attacker.hits, attacker.hits_min, attacker.hits_max), (ATTACK, ATTACK, ATTACK));
    assert!(nets.exact && nets.others.is_none() && nets.distinct.distinct == u64::from(CLIENTS.div_ceil(256)) + 2, "{nets:?}");
    let rates = store.rates(&attack_hour(), RateGrouping::Client, 1, &[], &control).expect("nobody cancels");
    assert_eq!((&rates.fastest[0].value[..], rates.fastest[0].hits, rates.unknown), (ATTACKER, ATTACK, 0));
    let rates = store.rates(&View::default(), RateGrouping::Client, 1, &[], &control).expect("nobody cancels");
    assert_eq!((&rates.fastest[0].value[..], rates.fastest[0].hits), (ATTACKER, ATTACK));
    assert!(!rates.exact && rates.rows + rates.unknown == u64::from(CLIENTS) + 5 + ATTACK && rates.unknown > 0);
    let explained = store.explain(&attack_hour(), &View::default(), &control).expect("nobody cancels");
    let found = explained.findings.iter().find(|finding| finding.filter.contains(ATTACKER));
    assert_eq!(found.map(|finding| (finding.hits_in, finding.hits_out)), Some((ATTACK, 0)), "{:?}", explained.findings);
    let unknown = explained.unknown.iter().map(|field| &*field.field).collect::<Vec<_>>();
    assert_eq!((unknown, explained.exact), (vec!["client"], false));
    // Stacked by client, the attacker has a series of its own.
    let stacked = ViewParts { stack: rorqual_crossfilter::Stack::Values(TextColumn::CLIENT), ..ViewParts::default() };
    let viewed = store.view(&View::default(), &stacked, &control).expect("nobody cancels");
    let series = &viewed.histogram.expect("there are times").series;
    let of = series.iter().find(|line| line.class == ATTACKER).expect("a series");
    assert_eq!(of.hits.iter().sum::<u64>(), ATTACK);
}

#[test]
fn facets_of_clients_that_there_was_no_room_for() {
    for threads in [1, 3] {
        let store = store(threads);
        let faceted = |filter: &str| {
            let wanted = ViewParts { facets: true, ..ViewParts::default() };
            store.view(&view_of(filter), &wanted, &Control::default()).expect("nobody cancels")
        };
        let (without, seldom) = (faceted(&format!("client != {ATTACKER}")), faceted(&format!("client = {SELDOM}")));
        assert_eq!(without.lines.total, u64::from(CLIENTS) + 5);
        assert_eq!(seldom.lines.total, 5);
        let hits = |rows: &[rorqual_accesslog::report::ReportRow]| -> Vec<(String, u64)> {
            rows.iter().map(|row| (row.value.clone(), row.hits)).collect()
        };
        // Both leave all rows to the panel of clients.
        for facet in [&without.facets[0], &seldom.facets[0]] {
            assert_eq!((facet.panel.hits, facet.panel.exact), (u64::from(CLIENTS) + 5 + ATTACK, false));
            assert_eq!(hits(&facet.panel.rows[..1]), [(ATTACKER.to_owned(), ATTACK)]);
            let others = facet.panel.others.expect("not all are listed").hits;
            assert!(others < u64::from(CLIENTS) && facet.panel.error_max < others, "{others}, {}", facet.panel.error_max);
            let distinct = facet.panel.distinct.distinct as f64;
            let true_number = f64::from(CLIENTS) + 2.0;
            assert!((distinct - true_number).abs() <= 2.0 * facet.panel.distinct.error.max(0.01) * true_number, "{distinct}");
        }
        assert_eq!(hits(&without.facets[0].excluded), [(ATTACKER.to_owned(), ATTACK)]);
        assert_eq!(hits(&seldom.facets[0].chosen), [(SELDOM.to_owned(), 5)]);
    }
}

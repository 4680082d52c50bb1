//! A store's memory is the sum of its holders, and within its limit.

use crate::log::{Plain, Random, Setup, State, text_of};
use rorqual_crossfilter::{Stack, View, ViewParts};
use rorqual_pipe::Control;

fn rows(count: usize) -> Vec<Plain> {
    let mut random = Random(31);
    (0..count)
        .map(|index| Plain {
            state: State::Sound,
            time: index as i64 % 86_400,
            zone_hours: 0,
            client: format!("10.{}.{}.{}", random.below(4), random.below(256), random.below(256)),
            user: String::new(),
            method: "GET".to_owned(),
            path: format!("/a/long/path/that/is/different/{index}/{}", random.next()),
            query: String::new(),
            status: 200,
            bytes: Some(random.below(1 << 30)),
            referrer: String::new(),
            agent: "an agent".to_owned(),
            host: String::new(),
            request_time_us: None,
            upstream_time_us: None,
        })
        .collect()
}

/// Memory that is not the store's rows.
const OTHER_BYTES: u64 = 8 << 20;

#[test]
fn a_store_keeps_within_its_memory() {
    let rows = rows(150_000);
    for memory_bytes in [32 << 20, 40 << 20] {
        let setup = Setup { threads: 1, segment_rows: 4_096, memory_bytes, spill_bytes: Some(1 << 30) };
        let store = setup.record(text_of(&rows));
        let viewed = store.view(&View::default(), &ViewParts::default(), &Control::default()).expect("nobody cancels");
        let held: u64 = store.holders().iter().map(|(_, bytes)| bytes).sum();
        assert!(held <= memory_bytes, "{held} bytes are held of {memory_bytes}");
        assert_eq!((viewed.rows.total, viewed.rows.dropped), (rows.len() as u64, 0));
        let paths = viewed.panels.iter().find(|panel| panel.field == "path").expect("there are paths");
        // There is no room for 150,000 long paths; those that are listed are counted exactly.
        assert!(!paths.exact && paths.error_max > 0 && paths.hits == rows.len() as u64);
        assert!(paths.rows.iter().all(|row| row.hits == 1 && row.hits_max == 1));
        let clients = viewed.panels.iter().find(|panel| panel.field == "method").expect("there are methods");
        assert!(clients.exact);
        assert!(store.is_whole(), "{:?}", store.shortage());
    }
}

#[test]
fn what_the_memory_was_too_little_for_is_told() {
    let few =
        |(index, row): (usize, Plain)| Plain { path: format!("/{}", index % 7), client: format!("10.0.0.{}", index % 5), ..row };
    let rows = |count| rows(count).into_iter().enumerate().map(few).collect::<Vec<_>>();
    let shortage = |setup: Setup, count| setup.record(text_of(&rows(count))).shortage();
    assert_eq!(shortage(Setup::default(), 1_000), None);
    let small = Setup { memory_bytes: 0, ..Setup::default() };
    let spilling = Setup { spill_bytes: Some(1 << 30), ..small.clone() };
    assert!(shortage(spilling, 500_000).is_some_and(|shortage| shortage.contains("temporary file")));
    assert!(shortage(small, 500_000).is_some_and(|shortage| shortage.contains("in no answer")));
}

#[test]
fn rows_take_as_little_as_they_can() {
    let rows = rows(60_000);
    let store = Setup::default().record(text_of(&rows));
    let of = |holder: &str| store.holders().iter().find(|(name, _)| *name == holder).map_or(0, |(_, bytes)| *bytes);
    // Time and status of a second and a constant: 2 bytes; client 2, path 2 and 4 in the list of
    // its values, bytes 4, clients' list 4.
    let expected = rows.len() as u64 * (4 + 2 + 2 + 4 + 4 + 4);
    let held = of("rows");
    assert!(held <= expected && held >= expected / 2, "{held} for {expected}");
    // The text of the paths, twice at most, and the memory of each value beside it.
    let texts: u64 = rows.iter().map(|row| row.path.len() as u64).sum();
    let values = of("distinct values and their sums");
    assert!(values >= texts && values <= 2 * texts + 2 * rows.len() as u64 * 130 + OTHER_BYTES, "{values} for {texts}");
}

/// Agents without room are neither bots nor people, and the totals add up.
#[test]
fn agents_without_room_are_unknown() {
    let mut rows = rows(120_000);
    for (index, row) in rows.iter_mut().enumerate() {
        row.path = "/".to_owned();
        row.agent = if index % 2 == 0 {
            format!("Mozilla/5.0 (compatible; Some{index}bot/1.0)")
        } else {
            format!("Mozilla/5.0 (X11; Linux x86_64; rv:{index}.0) Gecko/20100101 Firefox/{index}.0")
        };
    }
    let setup = Setup { threads: 1, segment_rows: 4_096, memory_bytes: 32 << 20, spill_bytes: Some(1 << 30) };
    let store = setup.record(text_of(&rows));
    let wanted = ViewParts { stack: Stack::Bot, ..ViewParts::default() };
    let viewed = store.view(&View::default(), &wanted, &Control::default()).expect("nobody cancels");
    assert!(!viewed.exact && viewed.bots.hits > 0 && viewed.unknown.hits > 0, "{:?} {:?}", viewed.bots, viewed.unknown);
    assert_eq!(viewed.bots.hits + viewed.people.hits + viewed.unknown.hits, rows.len() as u64);
    assert_eq!(viewed.bots.bytes + viewed.people.bytes + viewed.unknown.bytes, viewed.bytes_sent);
    let histogram = viewed.histogram.expect("there are times");
    let series: Vec<(&str, u64)> = histogram.series.iter().map(|line| (line.class.as_str(), line.hits.iter().sum())).collect();
    assert_eq!(series, [("bot", viewed.bots.hits), ("human", viewed.people.hits), ("unknown", viewed.unknown.hits)]);
    // With room for all there is nothing unknown.
    let store = Setup::default().record(text_of(&rows[..1_000]));
    let viewed = store.view(&View::default(), &wanted, &Control::default()).expect("nobody cancels");
    assert_eq!((viewed.unknown.hits, viewed.bots.hits, viewed.people.hits), (0, 500, 500));
    assert_eq!(viewed.histogram.expect("there are times").series.len(), 2);
}

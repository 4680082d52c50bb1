//! Rates against a count by hand.

use crate::log::{Plain, Random, Setup, State, text_of};
use crate::naive::value;
use rorqual_accesslog::filter::Filter;
use rorqual_crossfilter::{Limit, RateGrouping, RateUnit, View};
use rorqual_pipe::Control;
use std::collections::BTreeMap;

fn rows() -> Vec<Plain> {
    let mut random = Random(99);
    (0..20_000)
        .map(|index| Plain {
            state: if random.one_in(30) { State::Rejected("garbage".to_owned()) } else { State::Sound },
            // Not in order, in bursts.
            time: (index / 400) * 60 + random.zipf(120) as i64,
            zone_hours: 0,
            client: if random.one_in(20) { String::new() } else { format!("10.0.{}.{}", random.zipf(20), random.zipf(4)) },
            user: String::new(),
            method: if random.one_in(2) { "GET" } else { "POST" }.to_owned(),
            path: "/".to_owned(),
            query: String::new(),
            status: 200,
            bytes: None,
            referrer: String::new(),
            agent: String::new(),
            host: String::new(),
            request_time_us: None,
            upstream_time_us: None,
        })
        .collect()
}

/// For each window of so many seconds, the rows of each client.
fn counts(rows: &[&Plain], field: &str, seconds: i64) -> BTreeMap<(String, i64), u64> {
    let mut counts = BTreeMap::new();
    for row in rows {
        let client = value(row, field);
        if !client.is_empty() {
            *counts.entry((client, row.unix().div_euclid(seconds) * seconds)).or_default() += 1;
        }
    }
    counts
}

/// The most of each client, and when that was first.
fn peaks(counts: &BTreeMap<(String, i64), u64>) -> BTreeMap<String, (u64, i64)> {
    let mut peaks: BTreeMap<String, (u64, i64)> = BTreeMap::new();
    for ((client, at), hits) in counts {
        let peak = peaks.entry(client.clone()).or_default();
        if *hits > peak.0 {
            *peak = (*hits, *at);
        }
    }
    peaks
}

#[test]
fn a_client_with_more_rows_in_a_minute_than_are_sorted_at_once() {
    let line = |n: u32| format!("10.0.0.1 - - [02/Jan/2025:00:00:{:02} +0000] \"GET / HTTP/1.1\" 200 2 \"-\" \"a\"\n", n % 50);
    let log: String = (0..400_000).map(line).collect();
    let store = Setup { threads: 2, memory_bytes: 0, spill_bytes: Some(1 << 30), ..Setup::default() }.record(log.into_bytes());
    let limit = Limit { requests: 1_000, per: RateUnit::Minute };
    let rates = store.rates(&View::default(), RateGrouping::Client, 5, &[limit], &Control::default()).expect("nobody cancels");
    let [client] = &rates.fastest[..] else { panic!("{rates:?}") };
    assert_eq!((client.hits, client.second_hits_max, client.minute_hits_max), (400_000, 8_000, 400_000));
    assert_eq!((client.second_at, client.minute_at), (1_735_776_000, 1_735_776_000));
    assert_eq!((rates.limits[0].blocked, rates.limits[0].clients), (399_000, 1));
}

#[test]
fn rates_equal_a_count_by_hand() {
    let rows = rows();
    for threads in [1, 2] {
        let store = Setup { threads, segment_rows: 1_000, ..Setup::default() }.record(text_of(&rows));
        for (by, field) in [(RateGrouping::Client, "client"), (RateGrouping::Net, "net")] {
            let view = View { filter: Filter::parse("method = GET").expect("a filter"), ..View::default() };
            let meant: Vec<&Plain> = rows.iter().filter(|row| value(row, "method") == "GET").collect();
            let limit = |per: RateUnit| [0, 1, 5, 20, 1_000].map(|requests| Limit { requests, per });
            let limits = [limit(RateUnit::Second), limit(RateUnit::Minute)].concat();
            let rates = store.rates(&view, by, 1_000, &limits, &Control::default()).expect("nobody cancels");
            let (minutes, seconds) = (counts(&meant, field, 60), counts(&meant, field, 1));
            let (by_minute, by_second) = (peaks(&minutes), peaks(&seconds));
            assert_eq!((rates.clients, rates.rows), (by_minute.len() as u64, minutes.values().sum()));
            assert!(rates.exact && rates.fastest.len() == by_minute.len());
            assert!(rates.fastest.windows(2).all(|pair| pair[0].minute_hits_max >= pair[1].minute_hits_max));
            for client in &rates.fastest {
                assert_eq!((u64::from(client.minute_hits_max), client.minute_at), by_minute[&client.value]);
                assert_eq!((u64::from(client.second_hits_max), client.second_at), by_second[&client.value]);
            }
            for (effect, limit) in rates.limits.iter().zip(&limits) {
                let (counts, peaks) = if limit.per == RateUnit::Minute { (&minutes, &by_minute) } else { (&seconds, &by_second) };
                let blocked: u64 = counts.values().map(|hits| hits.saturating_sub(limit.requests)).sum();
                let clients = peaks.values().filter(|(hits, _)| *hits > limit.requests).count() as u64;
                assert_eq!((effect.requests, effect.per), (limit.requests, limit.per));
                assert_eq!((effect.blocked, effect.clients), (blocked, clients), "{limit:?}");
                let alone = store.rates(&view, by, 1_000, &[*limit], &Control::default()).expect("nobody cancels");
                assert_eq!(alone.limits, std::slice::from_ref(effect));
                let mut expected: BTreeMap<&String, u64> = BTreeMap::new();
                counts
                    .iter()
                    .for_each(|((client, _), hits)| *expected.entry(client).or_default() += hits.saturating_sub(limit.requests));
                assert!(alone.fastest.is_sorted_by_key(|client| std::cmp::Reverse(client.blocked)));
                assert!(alone.fastest.iter().all(|client| client.blocked == Some(expected[&client.value])));
            }
        }
    }
}

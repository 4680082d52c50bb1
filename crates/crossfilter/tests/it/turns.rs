//! Rows that come in turns: a run over one stretch of the log after another.

use crate::log::{Plain, Random, Setup, State, format, text_of};
use rorqual_accesslog::analyze::Analyzer;
use rorqual_accesslog::filter::Filter;
use rorqual_crossfilter::{Recordings, RowStore, Stack, View, ViewParts};
use rorqual_pipe::{Control, Input};
use std::io::Cursor;
use std::sync::Arc;

pub(crate) fn rows(seed: u64, count: usize) -> Vec<Plain> {
    let mut random = Random(seed | 1);
    (0..count)
        .map(|index| Plain {
            state: match random.below(30) {
                0 => State::Repaired,
                1 => State::Rejected(format!("nonsense{}", index % 5)),
                _ => State::Sound,
            },
            time: index as i64,
            zone_hours: if random.one_in(9) { 1 } else { 0 },
            client: format!("10.0.{}.{}", random.zipf(8), random.zipf(200)),
            user: String::new(),
            method: "GET".to_owned(),
            path: format!("/{}", random.zipf(500)),
            query: if random.one_in(4) { format!("q={}", random.below(9)) } else { String::new() },
            status: *random.pick(&[200, 200, 200, 404, 500]),
            bytes: (!random.one_in(7)).then(|| random.zipf(1 << 30)),
            referrer: String::new(),
            agent: format!("agent {}", random.zipf(30)),
            host: String::new(),
            request_time_us: Some(random.zipf(1_000_000)),
            upstream_time_us: None,
        })
        .collect()
}

/// An analyzer that takes rows into `store`, slice by slice.
pub(crate) fn turns(setup: &Setup, store: &Arc<RowStore>) -> Analyzer {
    setup.recorded_by(Arc::new(Recordings::in_turns(store)))
}

pub(crate) fn take(analyzer: &Analyzer, rows: &[Plain]) {
    let input = Input::from_reader("turn", Box::new(Cursor::new(text_of(rows))));
    let ran = analyzer.run::<std::io::Sink>(input, &Control::default(), |_, _| {}, None);
    assert!(ran.is_ok_and(|ran| ran.error.is_none()));
}

/// All that a store says of its rows.
pub(crate) fn answers(store: &RowStore) -> Vec<String> {
    let control = Control::default();
    let view = |filter: &str| View { filter: Filter::parse(filter).expect("a filter"), ..View::default() };
    let mut answers = Vec::new();
    for filter in ["", "status = 404", "not path = /0", "rejected", "client contains \".1\" and bytes > 1000"] {
        let view = view(filter);
        let viewed = store.view(&view, &ViewParts { top: 50, buckets: 60, stack: Stack::Class, facets: false }, &control);
        answers.push(serde_json::to_string(&viewed.expect("nobody cancels")).expect("JSON"));
        for offset in [0, 700] {
            let mut page = store.page(&view, offset, 200, Some(&format()), &control).expect("nobody cancels");
            // Names of rows are a store's own.
            page.rows.iter_mut().for_each(|row| row.place.clear());
            answers.push(serde_json::to_string(&page).expect("JSON"));
        }
    }
    let explained = store.explain(&view("status = 404"), &View::default(), &control).expect("nobody cancels");
    answers.push(serde_json::to_string(&explained).expect("JSON"));
    let mut lines = Vec::new();
    let take = |row: &rorqual_crossfilter::ViewRow<'_>| {
        lines.push(format!("{:?} {:?} {:?}", row.record, row.flaw, row.line));
        Ok(())
    };
    store.each(&View::default(), &control, take).expect("nobody cancels");
    answers.extend(lines);
    answers
}

#[test]
fn a_lend_that_can_make_no_room_leaves_segments_open() {
    let setup = Setup { threads: 1, segment_rows: 10_000, memory_bytes: 1 << 20, spill_bytes: Some(1 << 30) };
    let (store, rows) = (setup.store(), rows(7, 300));
    take(&turns(&setup, &store), &rows[..100]);
    assert!(store.try_reserve(store.memory_bytes()).is_none());
    take(&turns(&setup, &store), &rows[100..200]);
    assert_eq!((store.segments(), store.rows(), store.spilled_bytes()), (1, 200, 0), "the second run goes on with it");
    // One that needs all that rows have ends it.
    assert!((0..256).rev().find_map(|parts| store.try_reserve(store.memory_bytes() / 256 * parts)).is_some());
    take(&turns(&setup, &store), &rows[200..]);
    assert_eq!((store.segments(), store.rows()), (2, 300));
}

#[test]
fn turns_give_the_same_answers_as_one_run() {
    let rows = rows(7, 4_000);
    for (threads, segment_rows, spill_bytes) in [(1, 512, None), (2, 100, None), (2, 512, Some(1 << 30)), (3, 1 << 16, None)] {
        let setup = Setup { threads, segment_rows, memory_bytes: 8 << 20, spill_bytes };
        let expected = answers(&setup.record(text_of(&rows)));
        let store = setup.store();
        let analyzer = turns(&setup, &store);
        let mut random = Random(segment_rows as u64);
        let mut taken = 0;
        while taken < rows.len() {
            let end = (taken + 1 + random.below(300) as usize).min(rows.len());
            take(&analyzer, &rows[taken..end]);
            taken = end;
            assert_eq!(store.rows(), taken as u64, "rows of a turn are shown at its end");
            // They are full but for one of each worker, or those of many values.
            let most = 3 * taken / segment_rows + threads;
            assert!(store.segments() <= most, "{} segments of {taken} rows", store.segments());
        }
        assert_eq!(answers(&store), expected, "{threads} threads, {segment_rows} rows");
        store.complete();
        setup.spill(&store);
        assert_eq!(answers(&store), expected, "{threads} threads, {segment_rows} rows");
        take(&analyzer, &rows[..10]);
        assert_eq!(store.rows(), rows.len() as u64 + 10);
    }
}

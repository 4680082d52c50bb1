//! The table of rows against the rows themselves, and the lines rebuilt.

use crate::log::{Plain, Random, Setup, State, format, text_of};
use rorqual_accesslog::filter::Filter;
use rorqual_crossfilter::View;
use rorqual_pipe::Control;

fn rows(count: usize) -> Vec<Plain> {
    let mut random = Random(77);
    (0..count)
        .map(|index| Plain {
            state: if random.one_in(9) { State::Rejected(format!("garbage {index}")) } else { State::Sound },
            time: index as i64,
            zone_hours: [0, -7][(index / 500) % 2],
            client: format!("10.0.0.{}", random.below(5)),
            user: String::new(),
            method: "GET".to_owned(),
            path: format!("/{index}"),
            query: if random.one_in(3) { "q=1".to_owned() } else { String::new() },
            status: 200,
            bytes: Some(index as u64),
            referrer: "http://www.example.org/".to_owned(),
            agent: "an agent".to_owned(),
            host: "one.example".to_owned(),
            request_time_us: Some(1_500),
            upstream_time_us: Some(20),
        })
        .collect()
}

#[test]
fn pages_are_in_the_order_of_the_file_and_lines_as_they_were() {
    let rows = rows(6_000);
    let setups = [
        Setup { segment_rows: 70, ..Setup::default() },
        Setup { threads: 3, segment_rows: 1_000, ..Setup::default() },
        Setup { threads: 2, segment_rows: 90, memory_bytes: 2 << 20, spill_bytes: Some(1 << 30) },
    ];
    for setup in setups {
        let store = setup.record(text_of(&rows));
        assert_eq!(store.spilled_bytes() > 0, setup.spill_bytes.is_some());
        let filters: [(&str, fn(&Plain) -> bool); 3] = [
            ("", |_| true),
            ("client = 10.0.0.3", |row| !row.rejected() && row.client == "10.0.0.3"),
            ("rejected", Plain::rejected),
        ];
        for (filter, meets) in filters {
            let view = View { filter: Filter::parse(filter).expect("a filter"), ..View::default() };
            let expected: Vec<String> = rows.iter().filter(|row| meets(row)).map(Plain::line).collect();
            for (offset, limit) in [(0, 50), (3, 1), (expected.len() - 7, 50), (expected.len(), 5), (expected.len() / 2, 300)] {
                let page = store.page(&view, offset as u64, limit, Some(&format()), &Control::default()).expect("nobody cancels");
                let lines: Vec<&str> = page.rows.iter().map(|row| row.line.as_str()).collect();
                let end = (offset + limit).min(expected.len());
                assert_eq!(
                    (page.total, lines),
                    (expected.len() as u64, expected[offset..end].iter().map(String::as_str).collect())
                );
            }
        }
    }
}

#[test]
fn inputs_come_one_behind_the_other() {
    use rorqual_pipe::Input;
    let rows = rows(40);
    let setup = Setup::default();
    let store = setup.store();
    let analyzer = setup.analyzer(&store);
    for part in [&rows[20..], &rows[..20]] {
        let input = Input::from_reader("log", Box::new(std::io::Cursor::new(text_of(part))));
        analyzer.run::<std::io::Sink>(input, &Control::default(), |_, _| {}, None).map(drop).expect("a known format");
    }
    let page = store.page(&View::default(), 0, 100, Some(&format()), &Control::default()).expect("nobody cancels");
    let expected: Vec<String> = rows[20..].iter().chain(&rows[..20]).map(Plain::line).collect();
    assert_eq!(page.rows.into_iter().map(|row| row.line).collect::<Vec<_>>(), expected);
}

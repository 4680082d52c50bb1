//! Rows of a table, whose columns are its own.

use rorqual_accesslog::format::LogFormat;
use rorqual_accesslog::schema::{NumberUnit, OwnColumn, Schema, TextColumn, float_step, integer_step};
use rorqual_accesslog::{ABSENT, NO_TIME};
use rorqual_crossfilter::{
    BreakdownError, BreakdownMetric, BreakdownWanted, OwnValue, PanelWanted, RowOrder, RowStore, RowStoreSettings, RowTexts,
    Stack, TableRecorder, TableRows, View, ViewError, ViewParts,
};
use rorqual_pipe::Control;
use std::collections::BTreeMap;
use std::sync::Arc;

const ROWS: usize = 20_000;
const HOUR_US: i64 = 3_600_000_000;

/// One row, as the test has it.
#[derive(Clone)]
struct Row {
    time_us: Option<i64>,
    level: &'static str,
    message: String,
    count: Option<i64>,
    share: Option<f64>,
}

fn row(number: usize) -> Row {
    let n = number as i64;
    Row {
        time_us: (number % 50 != 7).then_some(1_769_472_000_000_000 + n * 1_000_000),
        level: ["info", "info", "warn", "error", ""][number % 5],
        message: format!("request {} took long", number % 700),
        count: (!number.is_multiple_of(3)).then_some(n % 201 - 100),
        share: (!number.is_multiple_of(4)).then_some((n % 97) as f64 / 8.0 - 3.0),
    }
}

/// Texts one after another, and where each is.
#[derive(Default)]
struct Texts {
    bytes: Vec<u8>,
    ranges: Vec<(u32, u32)>,
}

impl Texts {
    fn of<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut all = Self::default();
        for text in texts {
            let start = all.bytes.len() as u32;
            all.bytes.extend_from_slice(text.as_bytes());
            all.ranges.push((start, all.bytes.len() as u32));
        }
        all
    }

    fn as_rows(&self) -> RowTexts<'_> {
        RowTexts { bytes: &self.bytes, ranges: &self.ranges }
    }
}

fn schema() -> Schema {
    let own = |(name, unit): (&str, Option<NumberUnit>)| OwnColumn { name: name.to_owned(), unit };
    let columns =
        [("level", None), ("count", Some(NumberUnit::Integer)), ("message text", None), ("share", Some(NumberUnit::Float))];
    Schema::table(columns.into_iter().map(own).collect(), true)
}

fn settings(memory_bytes: u64) -> RowStoreSettings {
    RowStoreSettings { schema: Arc::new(schema()), ..RowStoreSettings::new(memory_bytes, 16 << 20, 2) }
}

fn record(store: &Arc<RowStore>, rows: &[Row]) {
    let mut recorders = TableRecorder::several(store, 2);
    for (number, rows) in rows.chunks(777).enumerate() {
        // As threads take chunks: in no fixed turns.
        let recorder = &mut recorders[number * 5 % 7 % 2];
        let times: Vec<i64> = rows.iter().map(|row| row.time_us.unwrap_or(NO_TIME)).collect();
        let counts: Vec<u64> = rows.iter().map(|row| row.count.map_or(ABSENT, integer_step)).collect();
        let shares: Vec<u64> = rows.iter().map(|row| row.share.map_or(ABSENT, float_step)).collect();
        let levels = Texts::of(rows.iter().map(|row| row.level));
        let messages = Texts::of(rows.iter().map(|row| row.message.as_str()));
        recorder.take(&TableRows {
            offset: number as u64 * 1_000,
            rows: rows.len(),
            times: &times,
            texts: &[levels.as_rows(), messages.as_rows()],
            numbers: &[&counts, &shares],
        });
        if number == 3 {
            recorder.reject(number as u64 * 1_000 + 999, "not JSON", b"{\"level\":");
        }
    }
    recorders.into_iter().for_each(TableRecorder::finish);
}

fn rows() -> Vec<Row> {
    (0..ROWS).map(row).collect()
}

/// Values of a column with their rows, most first, ties by text.
fn top<'a>(values: impl Iterator<Item = &'a str>) -> Vec<(String, u64)> {
    let mut hits = BTreeMap::<String, u64>::new();
    values.filter(|value| !value.is_empty()).for_each(|value| *hits.entry(value.to_owned()).or_default() += 1);
    let mut hits: Vec<_> = hits.into_iter().collect();
    hits.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    hits
}

fn check(store: &RowStore, rows: &[Row]) {
    type Means = fn(&Row) -> bool;
    let from = 1_769_472_000_000_000;
    let cases: [(&str, Means); 8] = [
        ("", |_| true),
        ("level = error", |row| row.level == "error"),
        ("not level = error and count >= 0", |row| row.level != "error" && row.count.is_some_and(|count| count >= 0)),
        ("\"message text\" contains \" 69\" and share < -1.5", |row| {
            row.message.contains(" 69") && row.share.is_some_and(|share| share < -1.5)
        }),
        ("count = - or share = 0.5", |row| row.count.is_none() || row.share == Some(0.5)),
        ("level = -", |row| row.level.is_empty()),
        ("count in (-100, 7..9)", |row| row.count.is_some_and(|count| count == -100 || (7..=9).contains(&count))),
        ("hour = 3", |row| row.time_us.is_some_and(|time_us| time_us / HOUR_US % 24 == 3)),
    ];
    let control = Control::default();
    for (text, means) in cases {
        let filter = store.schema().filter(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let view = View { filter, ..View::default() };
        let wanted = ViewParts { top: 1_000, buckets: 50, stack: Stack::Values(TextColumn::own(0)), facets: false };
        let viewed = store.view(&view, &wanted, &control).expect("nobody cancels");
        let meant: Vec<&Row> = rows.iter().filter(|row| means(row)).collect();
        // The rejected record has no value: it is meant where the absent one is.
        let rejected = u64::from(["", "level = -", "count = - or share = 0.5"].contains(&text));
        assert_eq!((viewed.lines.parsed, viewed.lines.rejected), (meant.len() as u64, rejected), "{text}");
        assert!(viewed.exact);
        let names: Vec<&str> = viewed.panels.iter().map(|panel| &*panel.field).collect();
        assert_eq!(names, ["flaw", "level", "message text"]);
        for (panel, expected) in
            viewed.panels[1..].iter().zip([top(meant.iter().map(|row| row.level)), top(meant.iter().map(|row| &*row.message))])
        {
            let found: Vec<(String, u64)> = panel.rows.iter().map(|row| (row.value.clone(), row.hits)).collect();
            assert_eq!(found, expected, "{} of {text}", panel.field);
        }
        check_numbers(&viewed.numbers, &meant, text);
        let times = || meant.iter().filter_map(|row| row.time_us);
        let histogram = viewed.histogram.as_ref().expect("a table with times has one");
        assert_eq!(histogram.stack, "level");
        assert_eq!(histogram.series.iter().flat_map(|line| &line.hits).sum::<u64>(), times().count() as u64, "{text}");
        let span = viewed.time.map(|time| (time.first, time.last));
        let seconds = |time_us: Option<i64>| time_us.map(|time_us| time_us as f64 / 1e6);
        assert_eq!(span, seconds(times().min()).zip(seconds(times().max())), "{text}");
    }
    let view = View { from_us: Some(from + HOUR_US), to_us: Some(from + 2 * HOUR_US), ..View::default() };
    let wanted = PanelWanted { search: Some("REQUEST 1".to_owned()), offset: 1, limit: 3 };
    let page = store.panel(&view, TextColumn::own(1), &wanted, &control).expect("nobody cancels");
    let within = rows.iter().filter(|row| row.time_us.is_some_and(|time_us| (HOUR_US..2 * HOUR_US).contains(&(time_us - from))));
    let expected: Vec<_> =
        top(within.map(|row| &*row.message)).into_iter().filter(|(text, _)| text.contains("request 1")).collect();
    assert_eq!(page.found, expected.len() as u64);
    let found: Vec<_> = page.rows.iter().map(|row| (row.value.clone(), row.hits)).collect();
    assert_eq!(found, expected[1..4]);
}

fn check_numbers(found: &[rorqual_crossfilter::NumberSummary], meant: &[&Row], text: &str) {
    let columns: [(&str, Vec<f64>); 2] = [
        ("count", meant.iter().filter_map(|row| row.count.map(|count| count as f64)).collect()),
        ("share", meant.iter().filter_map(|row| row.share).collect()),
    ];
    let expected: Vec<_> = columns.into_iter().filter(|(_, numbers)| !numbers.is_empty()).collect();
    assert_eq!(found.len(), expected.len(), "{text}");
    for (summary, (field, mut numbers)) in found.iter().zip(expected) {
        numbers.sort_by(f64::total_cmp);
        assert_eq!((&*summary.field, summary.hits), (field, numbers.len() as u64), "{text}");
        let own = |number: f64| if field == "count" { OwnValue::Integer(number as i64) } else { OwnValue::Float(number) };
        let expected = (own(numbers[0]), own(numbers[numbers.len() - 1]));
        assert_eq!((&summary.min, &summary.max), (&expected.0, &expected.1), "{field} of {text}");
        let quantiles = summary.quantiles.expect("no moments");
        for (percent, quantile) in [(50, quantiles.p50), (90, quantiles.p90), (95, quantiles.p95), (99, quantiles.p99)] {
            let exact = numbers[(numbers.len() * percent).div_ceil(100) - 1];
            assert!(
                (quantile - exact).abs() <= (exact.abs() / 64.0).max(if field == "count" { 0.5 } else { 0.0 }),
                "p{percent} of {field} of {text}: {quantile}, not {exact}"
            );
        }
    }
}

#[test]
fn a_table_is_counted_as_by_hand() {
    let store = RowStore::new(settings(64 << 20)).expect("no file is needed");
    record(&store, &rows());
    check(&store, &rows());
}

#[test]
fn rows_of_a_table_that_were_spilled_are_read_back() {
    let folder = tempfile::tempdir().expect("a folder");
    let spill = Some((folder.path().to_owned(), 1 << 30));
    let store = RowStore::new(RowStoreSettings { spill, ..settings(256 << 10) }).expect("a file");
    record(&store, &rows());
    assert!(store.spilled_bytes() > 0, "{:?}", store.holders());
    assert_eq!((store.rows_dropped(), store.is_whole()), (0, true));
    check(&store, &rows());
}

#[test]
fn a_table_is_restored_from_its_journal_and_no_other_columns_are() {
    let open = || tempfile::tempfile().expect("a file");
    let journal = open();
    let store =
        RowStore::with_journal(settings(8 << 20), journal.try_clone().expect("a handle"), 1 << 30).expect("an empty file");
    record(&store, &rows());
    let head = store.checkpoint().expect("a journal");
    drop(store);
    let access_log = RowStoreSettings::new(8 << 20, 16 << 20, 2);
    assert!(RowStore::restore(access_log, journal.try_clone().expect("a handle"), 1 << 30, &head).is_err(), "other columns");
    let store = RowStore::restore(settings(8 << 20), journal, 1 << 30, &head).expect("it is whole");
    check(&store, &rows());
}

#[test]
fn rows_are_shown_with_their_own_columns() {
    let store = RowStore::new(settings(64 << 20)).expect("no file is needed");
    record(&store, &rows());
    let view = View { filter: store.schema().filter("level = warn and count = -").expect("a filter"), ..View::default() };
    let format = LogFormat::parse("combined").expect("a known one");
    let page = store.page(&view, 1, 2, Some(&format), &Control::default()).expect("nobody cancels");
    let meant: Vec<Row> = rows().into_iter().filter(|row| row.level == "warn" && row.count.is_none()).collect();
    assert_eq!((page.total, page.rows.len()), (meant.len() as u64, 2));
    for (shown, row) in page.rows.iter().zip(&meant[1..]) {
        let own = |name: &str, value: OwnValue| (name.to_owned(), value);
        let expected = [
            own("level", OwnValue::Text("warn".to_owned())),
            own("count", OwnValue::Absent),
            own("message text", OwnValue::Text(row.message.clone())),
            own("share", row.share.map_or(OwnValue::Absent, OwnValue::Float)),
        ];
        assert_eq!(shown.columns, expected);
        assert_eq!(shown.time, row.time_us.map(|time_us| time_us as f64 / 1e6));
    }
}

#[test]
fn whole_numbers_keep_all_their_digits() {
    let own = |name: &str, unit| OwnColumn { name: name.to_owned(), unit: Some(unit) };
    let schema = Schema::table(vec![own("id", NumberUnit::Integer), own("key", NumberUnit::Natural)], true);
    let store = RowStore::new(RowStoreSettings { schema: Arc::new(schema), ..settings(8 << 20) }).expect("no file is needed");
    let ids = [-9_007_199_254_740_993, 1_234_567_890_123_456_789].map(integer_step);
    let keys = [9_007_199_254_740_993, 18_446_744_073_709_551_613];
    let mut recorder = TableRecorder::several(&store, 1).remove(0);
    recorder.take(&TableRows { offset: 0, rows: 2, times: &[], texts: &[], numbers: &[&ids, &keys] });
    recorder.finish();
    let viewed = store.view(&View::default(), &ViewParts::default(), &Control::default()).expect("nobody cancels");
    let found: Vec<_> = viewed.numbers.iter().map(|number| (number.min.clone(), number.max.clone())).collect();
    assert_eq!(found[0], (OwnValue::Integer(-9_007_199_254_740_993), OwnValue::Integer(1_234_567_890_123_456_789)));
    assert_eq!(found[1], (OwnValue::Natural(9_007_199_254_740_993), OwnValue::Natural(18_446_744_073_709_551_613)));
}

#[test]
fn metrics_of_a_table_are_of_the_numbers_that_are_named() {
    let rows = rows();
    let store = RowStore::new(settings(64 << 20)).expect("no file is needed");
    record(&store, &rows);
    let control = Control::default();
    let wanted = |sort: BreakdownMetric, measure: Option<&str>| BreakdownWanted {
        field: "level".to_owned(),
        sort,
        show: None,
        measure: measure.map(str::to_owned),
        limit: 10,
        trend_buckets: 10,
    };
    let found =
        store.breakdown(&View::default(), &wanted(BreakdownMetric::Total, Some("count")), &control).expect("it has counts");
    let total = |level: &str| rows.iter().filter(|row| row.level == level).filter_map(|row| row.count).sum::<i64>();
    let mut expected: Vec<(&str, i64)> = ["info", "warn", "error"].map(|level| (level, total(level))).to_vec();
    expected.sort_by_key(|(_, total)| std::cmp::Reverse(*total));
    let totals: Vec<(&str, i64)> =
        found.values.iter().map(|value| (&*value.value, value.total.expect("a total") as i64)).collect();
    assert_eq!(totals, expected);
    let value = &found.values[0];
    assert_eq!((value.errors, value.bytes, value.clients), (None, None, None));
    assert!(value.trend.is_some() && found.exact && found.others > 0);
    let shares =
        store.breakdown(&View::default(), &wanted(BreakdownMetric::Max, Some("share")), &control).expect("it has shares");
    let most = rows.iter().filter(|row| row.level == "warn").filter_map(|row| row.share).fold(f64::MIN, f64::max);
    let warn = shares.values.iter().find(|value| value.value == "warn").expect("it has warnings");
    assert_eq!(warn.max, Some(OwnValue::Float(most)));
    for (sort, measure) in
        [(BreakdownMetric::P95, None), (BreakdownMetric::Errors, None), (BreakdownMetric::Clients, Some("count"))]
    {
        let refused = store.breakdown(&View::default(), &wanted(sort, measure), &control);
        let Err(ViewError::Unanswerable(BreakdownError::Metric(metric, has))) = refused else { panic!("{refused:?}") };
        assert!(metric == sort && has.contains(BreakdownMetric::Hits) && !has.contains(sort));
    }
}

/// A range of numbers and values of a text: each panel has the rows under the other's condition.
#[test]
fn facets_of_columns() {
    let (all, wanted) = (rows(), ViewParts { top: 1_000, facets: true, ..ViewParts::default() });
    for memory_bytes in [64 << 20, 2 << 20] {
        let store = RowStore::new(settings(memory_bytes)).expect("no file");
        record(&store, &all);
        let text = "level in (error, warn) and count >= 0 and count < 50 and share >= 1";
        let view = View { filter: store.schema().filter(text).expect("a filter"), ..View::default() };
        let viewed = store.view(&view, &wanted, &Control::default()).expect("nobody cancels");
        let is_level = |row: &&Row| ["error", "warn"].contains(&row.level);
        let is_count = |row: &&Row| row.count.is_some_and(|count| (0..50).contains(&count));
        let is_share = |row: &&Row| row.share.is_some_and(|share| share >= 1.0);
        let [facet] = &viewed.facets[..] else { panic!("{:?}", viewed.facets) };
        let found: Vec<(String, u64)> = facet.panel.rows.iter().map(|row| (row.value.clone(), row.hits)).collect();
        assert_eq!(found, top(all.iter().filter(is_count).filter(is_share).map(|row| row.level)));
        let chosen: Vec<&str> = facet.chosen.iter().map(|row| &*row.value).collect();
        assert_eq!(chosen, found.iter().map(|(value, _)| &**value).filter(|value| *value != "info").collect::<Vec<_>>());
        let [count, share] = &viewed.number_facets[..] else { panic!("{:?}", viewed.number_facets) };
        let counts: Vec<i64> = all.iter().filter(is_level).filter(is_share).filter_map(|row| row.count).collect();
        assert_eq!((&*count.field, count.hits), ("count", counts.len() as u64));
        let integer = |number: Option<&i64>| number.map(|number| OwnValue::Integer(*number));
        assert_eq!(
            (Some(count.min.clone()), Some(count.max.clone())),
            (integer(counts.iter().min()), integer(counts.iter().max()))
        );
        assert_eq!(count.buckets.as_ref().map(|bars| bars.hits.iter().sum()), Some(counts.len() as u64));
        let shares = all.iter().filter(is_level).filter(is_count).filter(|row| row.share.is_some()).count();
        assert_eq!((&*share.field, share.hits), ("share", shares as u64));
    }
}

#[test]
fn rows_of_a_table_are_in_the_order_of_its_columns() {
    let mut rows = rows();
    // Infinities, zeros of both signs, and the largest numbers.
    for (number, share) in [f64::INFINITY, -0.0, f64::NEG_INFINITY, 0.0, f64::MAX, -f64::MIN_POSITIVE].into_iter().enumerate() {
        rows[number * 400].share = Some(share);
    }
    let folder = tempfile::tempdir().expect("a folder");
    let spill = Some((folder.path().to_owned(), 1 << 30));
    for settings in [settings(64 << 20), RowStoreSettings { spill, ..settings(256 << 10) }] {
        let store = RowStore::new(settings).expect("a file");
        record(&store, &rows);
        type Compare = fn(&Row, &Row) -> std::cmp::Ordering;
        let cases: [(&str, fn(&Row) -> bool, Compare); 4] = [
            (
                "share",
                |row| row.share.is_some(),
                |a, b| (a.share.unwrap_or(0.0) + 0.0).total_cmp(&(b.share.unwrap_or(0.0) + 0.0)),
            ),
            ("count", |row| row.count.is_some(), |a, b| a.count.cmp(&b.count)),
            ("level", |row| !row.level.is_empty(), |a, b| a.level.cmp(b.level)),
            ("message text", |_| true, |a, b| a.message.cmp(&b.message)),
        ];
        for (field, has, compare) in cases {
            for descending in [true, false] {
                let mut expected: Vec<&Row> = rows.iter().filter(|row| has(row)).collect();
                expected.sort_by(|a, b| if descending { compare(b, a) } else { compare(a, b) });
                let order = RowOrder::named(&store.schema(), field, descending).expect("its own column");
                let page =
                    store.sorted_page((&View::default(), order), 20, 60, None, &Control::default()).expect("nobody cancels");
                // One record was rejected.
                assert_eq!((page.page.total, page.exact), (rows.len() as u64 + 1, true));
                for (shown, row) in page.page.rows.iter().zip(&expected[20..80]) {
                    assert_eq!(shown.time, row.time_us.map(|time_us| time_us as f64 / 1e6), "{field} {descending}");
                    assert_eq!(shown.columns[2].1, OwnValue::Text(row.message.clone()), "{field} {descending}");
                }
            }
        }
        assert!(RowOrder::named(&store.schema(), "time", true).is_none(), "its time is a column of its own");
    }
}

//! Unusual spans are found where they were planted, and none where nothing was.

use rorqual_accesslog::Options;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings, Analyzer, Formats};
use rorqual_accesslog::format::LogFormat;
use rorqual_crossfilter::limits::{UNUSUAL_BYTES_MAX, WORK_BYTES_MIN};
use rorqual_crossfilter::{Recordings, RowStore, RowStoreSettings, UnusualKind, UnusualSpan, UnusualSpans, View, ViewParts};
use rorqual_pipe::{Control, Input};
use rorqual_testkit::generate::{UNUSUAL_CASES, UnusualIncident, UnusualLog, write_count};
use std::io::Cursor;
use std::sync::Arc;

/// A store of the log of a case, and its incident.
fn recorded(lines: u64, seed: u64, case: usize, threads: usize) -> (Arc<RowStore>, Option<UnusualIncident>) {
    let mut log = UnusualLog::new(lines, seed, case);
    let mut text = Vec::new();
    write_count(&mut log, lines, &mut text).expect("a Vec takes everything");
    let truth = log.truth();
    let format = LogFormat::parse(truth.format).expect("a format");
    let settings = RowStoreSettings::new(512 << 20, WORK_BYTES_MIN + 8 * UNUSUAL_BYTES_MAX, threads);
    let store = RowStore::new(settings.of_format(&format, 0, threads, false)).expect("no file is needed");
    let settings = AnalyzeSettings {
        memory_bytes: 256 << 20,
        threads: Some(threads),
        line_bytes_max: 4096,
        span: SpanFilter::default(),
        formats: Formats { given: Some(format), candidates: Vec::new() },
        feed_buffers: 0,
        kept: None,
        countries: None,
    };
    let shares = settings.shares(8 << 20, 1).expect("enough");
    let recording = Some(Arc::new(Recordings::new(&store)) as Arc<dyn rorqual_accesslog::Recording>);
    let analyzer = Analyzer::new(&settings, shares, Options { recording, untallied: true, ..Options::default() });
    let input = Input::from_reader("log", Box::new(Cursor::new(text)));
    let ran = analyzer.run::<std::io::Sink>(input, &Control::default(), |_, _| {}, None);
    assert!(ran.is_ok_and(|ran| ran.error.is_none()));
    (store, truth.incident.cloned())
}

/// True if a span names the incident at its time.
fn names(span: &UnusualSpan, incident: &UnusualIncident) -> bool {
    let overlap = span.to.min(incident.to) - span.from.max(incident.from);
    let longer = (span.to - span.from).max(incident.to - incident.from);
    let value = (span.field.as_deref().unwrap_or(""), span.value.as_deref().unwrap_or(""));
    overlap > 0 && overlap * 4 >= longer && incident.causes.contains(&value)
}

fn spans(store: &RowStore) -> UnusualSpans {
    store.unusual(&Control::default()).expect("nobody cancels")
}

/// Cases of one of each kind: an outage, a slow endpoint, a scan, missing traffic, an agent, sizes
/// and an upstream.
const CASES: [usize; 7] = [1, 4, 8, 12, 13, 17, 18];

/// Lines of a log here; `tools/unusual.py` has millions.
const LINES: u64 = 120_000;

#[test]
fn planted_incidents_are_among_the_first_three() {
    for case in CASES {
        let (store, incident) = recorded(LINES, 31, case, 2);
        let incident = incident.expect("it has one");
        let found = spans(&store);
        assert!(found.spans.iter().take(3).any(|span| names(span, &incident)), "{incident:?}: {:#?}", found.spans);
        assert!(found.exact && found.rows == LINES && found.dropped == 0);
    }
}

#[test]
fn of_quiet_logs_nothing_is_said() {
    for case in UNUSUAL_CASES..UNUSUAL_CASES + 6 {
        let found = spans(&recorded(LINES, 31, case, 2).0);
        assert!(found.spans.is_empty() && found.tried > 10_000, "{case}: {:#?}", found.spans);
    }
}

#[test]
fn any_number_of_threads_finds_the_same() {
    let found = [1, 3].map(|threads| {
        let (store, _) = recorded(60_000, 31, 8, threads);
        serde_json::to_string(&spans(&store)).expect("JSON")
    });
    assert!(found[0].contains("203.0.113.0/24"), "{}", found[0]);
    assert_eq!(found[0], found[1]);
}

#[test]
fn numbers_of_a_span_are_those_of_its_filter() {
    let (store, _) = recorded(LINES, 31, 18, 2);
    let found = spans(&store);
    let span = found.spans.first().expect("an upstream fails");
    assert_eq!((span.kind, span.field.as_deref()), (UnusualKind::Errors, Some("upstream_addr")));
    let filter = store.schema().filter(&span.filter).expect("a filter");
    let view = View { from_us: Some(span.from * 1_000_000), to_us: Some(span.to * 1_000_000), filter };
    let counted = store.view(&view, &ViewParts::default(), &Control::default()).expect("nobody cancels");
    assert_eq!(counted.lines.total, span.hits);
}

#[test]
fn a_log_without_times_or_with_few_lines_has_none() {
    for lines in [0, 40, 2_000] {
        assert_eq!(spans(&recorded(lines, 31, 1, 1).0).spans, [], "{lines} lines");
    }
}

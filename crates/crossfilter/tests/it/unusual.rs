//! Unusual spans are found where they were planted, and none where nothing was.

use rorqual_accesslog::Options;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings, Analyzer, Formats};
use rorqual_accesslog::format::LogFormat;
use rorqual_crossfilter::limits::UNUSUAL_BYTES_MAX;
use rorqual_crossfilter::limits::WORK_BYTES_MIN;
use rorqual_crossfilter::{Recordings, RowStore, RowStoreSettings, UnusualKind, UnusualSpan, UnusualSpans};
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
    let settings = RowStoreSettings::new(512 << 20, WORK_BYTES_MIN + 2 * UNUSUAL_BYTES_MAX, threads);
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
    let analyzer = Analyzer::new(&settings, shares, Options { only: None, recording, untallied: true });
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
    overlap > 0 && overlap * 4 >= longer && incident.causes.iter().any(|cause| *cause == value)
}

#[test]
fn develop() {
    let number = |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let (lines, first, last) = (number("LINES", 300_000), number("FROM", 1), number("TO", 1));
    let (mut found, mut false_quiet, mut false_other) = (0, 0, 0);
    for seed in first..=last {
        for case in 0..2 * UNUSUAL_CASES {
            let (store, incident) = recorded(lines, seed, case, 2);
            let start = std::time::Instant::now();
            let UnusualSpans { spans, tried, .. } = store.unusual(&Control::default()).expect("nobody cancels");
            let took = start.elapsed();
            let rank = incident.as_ref().and_then(|incident| spans.iter().position(|span| names(span, incident)));
            let other = spans.len() - usize::from(rank.is_some());
            let is_found = rank.is_some_and(|rank| rank < 3);
            found += usize::from(is_found);
            if incident.is_none() { false_quiet += spans.len() } else { false_other += other }
            println!("seed {seed} case {case} tried {tried} in {took:?}: {:?} rank {rank:?}, others {other}", incident.as_ref().map(|one| (one.name, one.from, one.to, one.lines)));
            if !is_found || other > 0 {
                for span in &spans {
                    println!("    {}..{} {:?} {:?}={:?} {} of {} exp {:.1} ratio {:.1} z {:.1} with {:?}", span.from, span.to, span.kind, span.field, span.value, span.hits, span.rows, span.expected, span.ratio, span.z, span.companions);
                }
            }
        }
    }
    println!("FOUND {found} of {}, false on quiet {false_quiet}, false beside incidents {false_other}", 20 * (last - first + 1));
    let _ = UnusualKind::More;
}

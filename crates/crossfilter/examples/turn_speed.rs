//! Memory of many small stores, and cost of a slice and of a checkpoint: `cargo run --release -p
//! rorqual-crossfilter --example turn_speed [STORES] [KIB]`
#![allow(clippy::print_stdout, clippy::expect_used)]

use rorqual_accesslog::Options;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings as AnalyzerSettings, Analyzer, Formats};
use rorqual_accesslog::format::LogFormat;
use rorqual_crossfilter::limits::WORK_BYTES_MIN;
use rorqual_crossfilter::{Recordings, RowStore, RowStoreSettings, View, ViewParts};
use rorqual_pipe::{Control, Input, stats};
use std::io::Cursor;
use std::sync::Arc;
use std::time::Instant;

const THREADS: usize = 2;
const TURNS: usize = 1_000;

fn main() {
    let argument = |index: usize| std::env::args().nth(index).and_then(|text| text.parse::<usize>().ok());
    let (count, memory_bytes) = (argument(1).unwrap_or(1_000), argument(2).unwrap_or(256) << 10);
    let settings = RowStoreSettings::new(memory_bytes as u64, WORK_BYTES_MIN, THREADS);
    let spill = Some((std::env::temp_dir(), 64 << 20));
    let lines = lines(TURNS * 900);
    // Memory that any run keeps is not the stores'.
    let first = RowStore::new(settings.clone()).expect("no file is needed");
    (0..20).for_each(|number| run(Some(&first), lines[number * 900..][..900].concat()));
    let before = stats::resident_bytes().unwrap_or(0);
    let store = |_| RowStore::new(RowStoreSettings { spill: spill.clone(), ..settings.clone() }).expect("a folder");
    let stores: Vec<Arc<RowStore>> = (0..count).map(store).collect();
    let grown = |what: &str| {
        let grown = stats::resident_bytes().unwrap_or(0).saturating_sub(before);
        println!("{what}: {} KiB resident a store", grown as f64 / 1024.0 / count as f64);
    };
    grown("empty");
    let turn = |number: usize| lines[number * 900..][..900].concat();
    for number in 0..8 {
        stores.iter().for_each(|store| run(Some(store), turn(number)));
        let held: u64 = stores.iter().flat_map(|store| store.holders()).map(|(_, bytes)| bytes).sum();
        println!("{} rows each, held {} KiB a store, {} whole", (number + 1) * 900, held / 1024 / count as u64, whole(&stores));
        println!("  {:?}, {} spilled", stores[0].holders(), stores[0].spilled_bytes());
        grown("  with them");
    }
    for store in &stores {
        store.view(&View::default(), &ViewParts::default(), &Control::default()).expect("it can be read");
    }
    grown("looked at");
    drop(stores);
    costs(&settings, &lines);
}

fn whole(stores: &[Arc<RowStore>]) -> usize {
    stores.iter().filter(|store| store.is_whole()).count()
}

/// Costs of one store, with one row a slice, so that nearly all is the cost of a slice.
fn costs(settings: &RowStoreSettings, lines: &[String]) {
    for segment_rows in [512, settings.segment_rows, 1 << 16] {
        let settings = RowStoreSettings { segment_rows, memory_bytes: settings.memory_bytes.max(1 << 20), ..settings.clone() };
        let journal = tempfile::tempfile().expect("a file");
        let store = RowStore::with_journal(settings, journal, 1 << 30).expect("a journal");
        run(Some(&store), lines[..segment_rows * 3 / 4].concat());
        let turns = |what: &str, turn: &mut dyn FnMut(String)| {
            let (start, before) = (Instant::now(), cpu_seconds());
            lines[..TURNS].iter().for_each(|line| turn(line.clone()));
            let micros = |seconds: f64| seconds * 1e6 / TURNS as f64;
            println!(
                "  {what}: {:.0} us, {:.0} us of CPU",
                micros(start.elapsed().as_secs_f64()),
                micros(cpu_seconds() - before)
            );
        };
        println!("{segment_rows} rows a segment, turns of one row");
        turns("nothing recorded", &mut |line| run(None, line));
        turns("recorded", &mut |line| run(Some(&store), line));
        let mut head = 0;
        turns("recorded and checkpointed", &mut |line| {
            run(Some(&store), line);
            head = store.checkpoint().expect("there is room").len();
        });
        println!("  head {head} bytes, journal {}", store.spilled_bytes());
    }
}

/// CPU time of the process so far, to hundredths of a second.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> =
        stat.rsplit(')').next().unwrap_or_default().split(' ').filter_map(|field| field.parse().ok()).collect();
    fields.get(10..12).map_or(0.0, |ticks| (ticks[0] + ticks[1]) / 100.0)
}

fn run(store: Option<&Arc<RowStore>>, text: String) {
    let settings = AnalyzerSettings {
        memory_bytes: 256 << 20,
        threads: Some(THREADS),
        line_bytes_max: 4096,
        span: SpanFilter::default(),
        formats: Formats { given: LogFormat::named("combined"), candidates: Vec::new() },
        feed_buffers: 0,
        kept: None,
        countries: None,
    };
    let recording = store.map(|store| Arc::new(Recordings::in_turns(store)) as Arc<dyn rorqual_accesslog::Recording>);
    let options = Options { untallied: true, recording, ..Options::default() };
    let analyzer = Analyzer::new(&settings, settings.shares(8 << 20, 1).expect("enough"), options);
    let input = Input::from_reader("turn", Box::new(Cursor::new(text.into_bytes())));
    let ran = analyzer.run::<std::io::Sink>(input, &Control::default(), |_, _| {}, None);
    assert!(ran.is_ok_and(|ran| ran.error.is_none()));
}

/// Lines with as few and as many values as a small site's.
fn lines(count: usize) -> Vec<String> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |end: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let share = (state >> 11) as f64 / (1u64 << 53) as f64;
        (end as f64).powf(share) as u64 - 1
    };
    let line = |index: usize| {
        format!(
            "10.0.{}.{} - - [02/Jan/2025:00:{:02}:{:02} +0000] \"GET /path/{} HTTP/1.1\" {} {} \"https://site{}.example/\" \"Mozilla/5.0 (X11; Linux x86_64; rv:{}.0) Gecko/20100101 Firefox/121.0\"\n",
            random(4),
            random(250),
            index / 6_000 % 60,
            index / 100 % 60,
            random(2_000),
            [200, 200, 304, 404][random(4) as usize],
            random(100_000),
            random(100),
            random(100),
        )
    };
    (0..count).map(line).collect()
}

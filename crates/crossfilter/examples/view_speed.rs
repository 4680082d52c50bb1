//! Time of views of many rows: `cargo run --release -p rorqual-crossfilter --example view_speed
//! [MILLIONS] [MEMORY_MIB] [LOG]` Rows are shaped as a real log's: 5,000 paths and 20,000 agents by
//! Zipf, 300,000 clients, 90 days; or those of LOG, in the combined format. With MEMORY_MIB rows
//! spill beyond it.
#![allow(clippy::print_stdout, clippy::expect_used)]

use rorqual_accesslog::Options;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings as AnalyzerSettings, Analyzer, Formats};
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::format::LogFormat;
use rorqual_crossfilter::{RateGrouping, Recordings, RowStore, RowStoreSettings, Stack, View, ViewParts};
use rorqual_pipe::{Control, Input, stats};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Instant;

const START: u64 = 1_735_689_600;
const DAYS: u64 = 90;
const THREADS: usize = 2;

fn main() {
    let argument = |index: usize| std::env::args().nth(index).and_then(|text| text.parse::<u64>().ok());
    let rows = argument(1).unwrap_or(10) * 1_000_000;
    let memory_bytes = argument(2).unwrap_or(4096) << 20;
    let spill = Some((std::env::temp_dir(), 64 << 30));
    let store = RowStore::new(RowStoreSettings { spill, ..RowStoreSettings::only(memory_bytes, THREADS) }).expect("a folder");
    let start = Instant::now();
    let log = std::env::args().nth(3);
    record(rows, log.as_deref(), None);
    let without = start.elapsed();
    let start = Instant::now();
    record(rows, log.as_deref(), Some(&store));
    let with = start.elapsed();
    let rows = store.rows();
    let per_row = |nanoseconds: u128| nanoseconds as f64 / rows as f64 * THREADS as f64;
    println!("parsed and tallied: {:.0} ns a row and core", per_row(without.as_nanos()));
    println!("parsed and recorded: {:.0} ns a row and core, {:.2} s in all", per_row(with.as_nanos()), with.as_secs_f64());
    for (holder, bytes) in store.holders() {
        println!("  {holder}: {} MiB, {:.1} bytes a row", bytes >> 20, bytes as f64 / rows as f64);
    }
    println!("  spilled: {} MiB", store.spilled_bytes() >> 20);
    println!("  resident: {} MiB, peak {} MiB", mib(stats::resident_bytes()), mib(stats::peak_bytes()));
    views(&store);
    one_path_and_net(&store);
    questions(&store);
    println!("peak {} MiB", mib(stats::peak_bytes()));
}

fn mib(bytes: Option<u64>) -> u64 {
    bytes.unwrap_or(0) >> 20
}

fn views(store: &RowStore) {
    let day = |number: u64| Some(((START + number * 86_400) * 1_000_000).cast_signed());
    let filters = [
        ("everything", "", None),
        ("one path", "path = /path/3", None),
        ("status 5xx", "status = 5xx", None),
        ("not bot", "not bot", None),
        ("half", "client ~ \"[02468]$\"", None),
        ("path ~", "path ~ \"[13]/?\"", None),
        ("a day", "", Some(40)),
        ("url contains", "url contains \"7\" and bytes > 1KiB", None),
    ];
    for (name, filter, from) in filters {
        let view = View {
            from_us: from.and_then(day),
            to_us: from.and_then(|from| day(from + 1)),
            filter: Filter::parse(filter).expect("a filter"),
        };
        let cpu_before = cpu_seconds();
        // Another number of buckets is another view to the store's memory of views.
        let mut seconds: Vec<f64> = (0..5)
            .map(|round| {
                let wanted = ViewParts { top: 100, buckets: 390 + round, stack: Stack::Class, facets: false };
                let start = Instant::now();
                let viewed = store.view(&view, &wanted, &Control::default()).expect("it can be read");
                if round == 0 {
                    print!("{name}: {} rows, first {:.1} ms, ", viewed.lines.total, start.elapsed().as_secs_f64() * 1e3);
                }
                start.elapsed().as_secs_f64()
            })
            .collect();
        seconds.sort_by(f64::total_cmp);
        let cpu = (cpu_seconds() - cpu_before) / seconds.len() as f64;
        println!("median {:.1} ms, {:.0} ms of all threads' CPU", seconds[2] * 1e3, cpu * 1e3);
    }
}

/// Of each of the first networks, the path that it asked for most after those that were taken: as
/// `bench/harness/explore_peers.py` asks.
fn one_path_and_net(store: &RowStore) {
    let view = |filter: &str| {
        let view = View { filter: Filter::parse(filter).expect("a filter"), ..View::default() };
        store.view(&view, &ViewParts { top: 30, ..ViewParts::default() }, &Control::default()).expect("it can be read")
    };
    let values = |viewed: &rorqual_crossfilter::ViewResult, field: &str| -> Vec<String> {
        let panel = viewed.panels.iter().find(|panel| panel.field == field).expect("a panel");
        panel.rows.iter().map(|row| row.value.clone()).collect()
    };
    let nets = values(&view(""), "net");
    let filters: Vec<String> = (0..15)
        .map(|place| (place, &nets[place % nets.len()]))
        .map(|(place, net)| (values(&view(&format!("net = {net}")), "path"), place, net))
        .map(|(paths, place, net)| format!("path = {:?} and net = {net}", paths[place % paths.len()]))
        .collect();
    let cpu_before = cpu_seconds();
    let mut asked: Vec<(f64, u64)> = filters
        .iter()
        .map(|filter| {
            let start = Instant::now();
            let viewed = view(filter);
            (millis(start), viewed.lines.total)
        })
        .collect();
    let cpu = (cpu_seconds() - cpu_before) / asked.len() as f64;
    asked.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (least, most) = (asked[0].0, asked[asked.len() - 1].0);
    println!(
        "one path and net: {} to {} rows, median {:.1} ms ({least:.1} to {most:.1}), {:.0} ms of all threads' CPU",
        asked.iter().map(|one| one.1).min().unwrap_or(0),
        asked.iter().map(|one| one.1).max().unwrap_or(0),
        asked[asked.len() / 2].0,
        cpu * 1e3
    );
}

fn questions(store: &RowStore) {
    let day = |number: u64| Some(((START + number * 86_400) * 1_000_000).cast_signed());
    let control = Control::default();
    let view = View { from_us: day(40), to_us: day(42), ..View::default() };
    let start = Instant::now();
    let explained = store.explain(&view, &View::default(), &control).expect("it can be read");
    println!("explain: {:.1} ms, {} findings, {} tried", millis(start), explained.findings.len(), explained.tried);
    let start = Instant::now();
    let rates = store.rates(&View::default(), RateGrouping::Client, 100, &[], &control).expect("it can be read");
    println!("rates: {:.1} ms, {} clients", millis(start), rates.clients);
    let start = Instant::now();
    let format = LogFormat::named("combined").expect("a known format");
    let page = store.page(&View::default(), 5_000_000, 100, Some(&format), &control).expect("it can be read");
    println!("page: {:.1} ms, {} rows", millis(start), page.rows.len());
}

/// CPU time of the process so far, to hundredths of a second: a busy machine does not change it.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<f64> =
        stat.rsplit(')').next().unwrap_or_default().split(' ').filter_map(|field| field.parse().ok()).collect();
    // User and system time; the state before them is no number, and parent, group and session,
    // among others, are.
    fields.get(10..12).map_or(0.0, |ticks| (ticks[0] + ticks[1]) / 100.0)
}

fn millis(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn record(rows: u64, log: Option<&str>, store: Option<&Arc<RowStore>>) {
    let formats = Formats { given: LogFormat::named("combined"), candidates: Vec::new() };
    let settings = AnalyzerSettings {
        memory_bytes: 512 << 20,
        threads: Some(THREADS),
        line_bytes_max: 4096,
        span: SpanFilter::default(),
        formats,
        feed_buffers: 0,
        kept: None,
        countries: None,
    };
    let recording = store.map(|store| Arc::new(Recordings::new(store)) as Arc<dyn rorqual_accesslog::Recording>);
    let options = Options { untallied: recording.is_some(), recording, ..Options::default() };
    let analyzer = Analyzer::new(&settings, settings.shares(8 << 20, 1).expect("enough"), options);
    let input = match log {
        Some(log) => Input::open(std::path::Path::new(log)).expect("a log"),
        None => Input::from_reader("rows", Box::new(Lines::new(rows))),
    };
    let ran = analyzer.run::<std::io::Sink>(input, &Control::default(), |_, _| {}, None);
    assert!(ran.is_ok_and(|ran| ran.error.is_none()));
}

/// Makes one million lines and gives them again and again, with times of their own.
struct Lines {
    lines: Vec<Vec<u8>>,
    next: u64,
    rows: u64,
    rest: Vec<u8>,
    at: usize,
    stamp: (u64, String),
}

impl Lines {
    fn new(rows: u64) -> Self {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 11
        };
        let lines = (0..rows.min(1_000_000)).map(|_| line(&mut random)).collect();
        Self { lines, next: 0, rows, rest: Vec::new(), at: 0, stamp: (0, String::new()) }
    }

    fn fill(&mut self) {
        self.rest.clear();
        self.at = 0;
        while self.rest.len() < 200 << 10 && self.next < self.rows {
            let second = START + DAYS * 86_400 * self.next / self.rows;
            if self.stamp.0 != second {
                self.stamp = (second, clf(second));
            }
            let line = &self.lines[(self.next % self.lines.len() as u64) as usize];
            let mut parts = line.splitn(2, |byte| *byte == b'@');
            self.rest.extend_from_slice(parts.next().unwrap_or_default());
            self.rest.extend_from_slice(self.stamp.1.as_bytes());
            self.rest.extend_from_slice(parts.next().unwrap_or_default());
            self.next += 1;
        }
    }
}

impl Read for Lines {
    fn read(&mut self, mut buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.at == self.rest.len() {
            self.fill();
        }
        let written = buffer.write(&self.rest[self.at..])?;
        self.at += written;
        Ok(written)
    }
}

/// A line with `@` where the time goes.
fn line(random: &mut impl FnMut() -> u64) -> Vec<u8> {
    let zipf = |random: u64, end: f64| end.powf(random as f64 / (1u64 << 53) as f64) as u64 - 1;
    let client = random() % 300_000;
    let agent = zipf(random(), 20_000.0);
    let product = match agent % 7 {
        0 => format!("Mozilla/5.0 (compatible; Bot{agent}bot/1.0)"),
        _ => format!(
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/{}.{agent}.0 Safari/537.36",
            agent % 50 + 80
        ),
    };
    let query = if random().is_multiple_of(10) { format!("?id={}", zipf(random(), 50_000.0)) } else { String::new() };
    let status = [200, 200, 200, 200, 200, 200, 304, 301, 404, 500][(random() % 10) as usize];
    let referrer =
        if random().is_multiple_of(2) { "-".to_owned() } else { format!("https://site{}.example/", zipf(random(), 3_000.0)) };
    format!(
        "10.{}.{}.{} - - [@] \"GET /path/{}{query} HTTP/1.1\" {status} {} \"{referrer}\" \"{product}\"\n",
        client >> 16,
        client >> 8 & 255,
        client & 255,
        zipf(random(), 5_000.0),
        zipf(random(), 1_000_000.0),
    )
    .into_bytes()
}

/// The time as an access log writes it; all days are in one year.
fn clf(second: u64) -> String {
    const MONTHS: [(&str, u64); 4] = [("Jan", 31), ("Feb", 28), ("Mar", 31), ("Apr", 30)];
    let mut day = (second - START) / 86_400;
    let mut month = 0;
    while day >= MONTHS[month].1 {
        day -= MONTHS[month].1;
        month += 1;
    }
    let of_day = second % 86_400;
    format!("{:02}/{}/2025:{:02}:{:02}:{:02} +0000", day + 1, MONTHS[month].0, of_day / 3600, of_day / 60 % 60, of_day % 60)
}

//! Rows as plain structs, the log that they are, and a store of it.

use rorqual_accesslog::Options;
use rorqual_accesslog::aggregate::SpanFilter;
use rorqual_accesslog::analyze::{AnalyzeSettings as AnalyzerSettings, Analyzer, Formats};
use rorqual_accesslog::format::LogFormat;
use rorqual_crossfilter::limits::{SEGMENT_ROWS_MAX, WORK_BYTES_MIN};
use rorqual_crossfilter::{Recordings, RowStore, RowStoreSettings};
use rorqual_pipe::{Control, Input};
use std::io::Cursor;
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) const FORMAT: &str = r#"$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $host $request_time $upstream_response_time"#;

/// 2000-10-01, a Sunday, in UTC.
pub(crate) const START: i64 = 970_358_400;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum State {
    Sound,
    /// The number of bytes is none.
    Repaired,
    /// The line is this text.
    Rejected(String),
}

/// A row; empty texts are absent.
#[derive(Debug, Clone)]
pub(crate) struct Plain {
    pub(crate) state: State,
    /// Unix seconds from [`START`] on, less than 25 days.
    pub(crate) time: i64,
    pub(crate) zone_hours: i64,
    pub(crate) client: String,
    pub(crate) user: String,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) status: u16,
    pub(crate) bytes: Option<u64>,
    pub(crate) referrer: String,
    pub(crate) agent: String,
    pub(crate) host: String,
    pub(crate) request_time_us: Option<u64>,
    pub(crate) upstream_time_us: Option<u64>,
}

impl Plain {
    pub(crate) fn rejected(&self) -> bool {
        matches!(self.state, State::Rejected(_))
    }

    pub(crate) fn line(&self) -> String {
        if let State::Rejected(text) = &self.state {
            return text.clone();
        }
        let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        // Two days in, so that no zone leaves the month.
        let local = self.time + 2 * 86_400 + self.zone_hours * 3600;
        let query = if self.query.is_empty() { String::new() } else { format!("?{}", self.query) };
        let seconds = |us: Option<u64>| us.map_or("-".to_owned(), |us| format!("{}.{:06}", us / 1_000_000, us % 1_000_000));
        let bytes = match self.state {
            State::Repaired => "many".to_owned(),
            _ => self.bytes.map_or("-".to_owned(), |bytes| bytes.to_string()),
        };
        format!(
            "{} - {} [{:02}/Oct/2000:{:02}:{:02}:{:02} {}{:02}00] \"{} {}{query} HTTP/1.1\" {} {bytes} \"{}\" \"{}\" {} {} {}",
            or_dash(&self.client),
            or_dash(&self.user),
            local / 86_400 + 1,
            local / 3600 % 24,
            local / 60 % 60,
            local % 60,
            if self.zone_hours < 0 { '-' } else { '+' },
            self.zone_hours.abs(),
            self.method,
            self.path,
            self.status,
            or_dash(&self.referrer),
            or_dash(&self.agent),
            or_dash(&self.host),
            seconds(self.request_time_us),
            seconds(self.upstream_time_us),
        )
    }

    /// Unix seconds.
    pub(crate) fn unix(&self) -> i64 {
        START + 2 * 86_400 + self.time
    }

    /// The number of bytes, if there is one.
    pub(crate) fn size(&self) -> Option<u64> {
        if self.state == State::Sound { self.bytes } else { None }
    }
}

/// The format of the lines.
pub(crate) fn format() -> LogFormat {
    LogFormat::parse(FORMAT).expect("a format")
}

pub(crate) fn text_of(rows: &[Plain]) -> Vec<u8> {
    rows.iter().map(|row| row.line() + "\n").collect::<String>().into_bytes()
}

/// Settings of a store.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) threads: usize,
    pub(crate) segment_rows: usize,
    pub(crate) memory_bytes: u64,
    pub(crate) spill_bytes: Option<u64>,
}

impl Default for Setup {
    fn default() -> Self {
        Self { threads: 1, segment_rows: SEGMENT_ROWS_MAX, memory_bytes: 256 << 20, spill_bytes: None }
    }
}

impl Setup {
    pub(crate) fn store(&self) -> Arc<RowStore> {
        let spill = self.spill_bytes.map(|bytes_max| (std::env::temp_dir(), bytes_max) as (PathBuf, u64));
        let settings = RowStoreSettings {
            spill,
            segment_rows: self.segment_rows,
            ..RowStoreSettings::new(self.memory_bytes, WORK_BYTES_MIN, self.threads)
        };
        RowStore::new(settings).expect("there is a folder for temporary files")
    }

    pub(crate) fn analyzer(&self, store: &Arc<RowStore>) -> Analyzer {
        self.recorded_by(Arc::new(Recordings::new(store)))
    }

    pub(crate) fn recorded_by(&self, recording: Arc<dyn rorqual_accesslog::Recording>) -> Analyzer {
        let formats = Formats { given: Some(format()), candidates: Vec::new() };
        let settings = AnalyzerSettings {
            memory_bytes: 256 << 20,
            threads: Some(self.threads),
            line_bytes_max: 4096,
            span: SpanFilter::default(),
            formats,
            feed_buffers: 0,
            kept: None,
            countries: None,
        };
        let shares = settings.shares(8 << 20, 1).expect("enough");
        Analyzer::new(&settings, shares, Options { recording: Some(recording), untallied: true, ..Options::default() })
    }

    /// A store of the log.
    pub(crate) fn record(&self, text: Vec<u8>) -> Arc<RowStore> {
        let store = self.store();
        let input = Input::from_reader("log", Box::new(Cursor::new(text)));
        let ran = self.analyzer(&store).run::<std::io::Sink>(input, &Control::default(), |_, _| {}, None);
        assert!(ran.is_ok_and(|ran| ran.error.is_none()));
        self.spill(&store);
        store
    }

    /// Has complete rows written to the file, where there is one: all but less than a part in 256
    /// of the memory.
    pub(crate) fn spill(&self, store: &RowStore) {
        if self.spill_bytes.is_some() {
            let memory = store.memory_bytes();
            let lent = (0..256).rev().find_map(|parts| store.try_reserve(memory / 256 * parts));
            assert!(lent.is_some(), "what rows leave can be lent");
        }
    }
}

/// Numbers by xorshift: the same for the same seed, everywhere.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// Small numbers often, large ones seldom.
    pub(crate) fn zipf(&mut self, end: u64) -> u64 {
        let share = self.next() as f64 / (1u64 << 53) as f64;
        ((end as f64).powf(share) as u64 - 1).min(end - 1)
    }

    pub(crate) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

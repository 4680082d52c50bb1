//! The report, which `rorqual logs --json` prints and the page shows, from one place.
//!
//! The fields are the schema `rorqual.logs/1`, which is described in `docs/api.md`.

pub use crate::aggregate::NoteSample;
use crate::aggregate::{Analysis, Buckets, HitsAndBytes, KEY_BYTES_SHOWN, LineCounts, Top, TopRow, sort_rows};
use crate::format::Field;
pub use crate::input_report::{Guess, InputReport};
pub use crate::log_histogram::Percentiles;
use crate::status_class::CLASSES;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::HashMap;

/// The schema's name; it changes when a field changes its meaning.
pub const SCHEMA: &str = "rorqual.logs/1";

/// Buckets of the histogram in a report, unless asked otherwise.
pub const BUCKETS_DEFAULT: usize = 400;

/// Costs of the report.
#[derive(Debug, Clone, Serialize)]
pub struct RunStats {
    /// Wall-clock time.
    pub seconds: f64,
    /// Bytes analysed, after decoding.
    pub bytes: u64,
    /// The quotient of the two.
    pub bytes_per_second: f64,
    /// Worker threads.
    pub threads: usize,
    /// The budget.
    pub memory_max_bytes: u64,
    /// The process's peak resident size, where the system tells.
    pub peak_bytes: Option<u64>,
}

/// A whole report.
#[derive(Debug, Clone, Serialize)]
pub struct LogReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// True if all inputs were read to their end.
    pub complete: bool,
    /// The inputs, in order.
    pub sources: Vec<InputReport>,
    /// Lines by their outcome.
    pub lines: LineCounts,
    /// Rows that had no room: everything below but rejects and repairs is of the others then.
    #[serde(skip_serializing_if = "is_zero")]
    pub rows_dropped: u64,
    /// Sum of the response sizes; 2^64 - 1 stands for that or more, here and below.
    pub bytes_sent: u64,
    /// Times of the lines.
    pub time: Option<TimeSpan>,
    /// Lines over time.
    pub histogram: Option<TimeHistogram>,
    /// By status code, most hits first; lines without one as `-`.
    pub status: Vec<StatusRow>,
    /// Number of client addresses.
    pub clients: Distinct,
    /// The top tables.
    pub panels: Vec<Panel>,
    /// Distributions of numbers.
    pub percentiles: PercentileSet,
    /// Rejected lines.
    pub rejects: ReportSamples,
    /// Repaired lines.
    pub repairs: ReportSamples,
    /// Cost.
    pub stats: RunStats,
}

/// First and last time in Unix seconds, and the log's own offset from UTC.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TimeSpan {
    /// Earliest.
    pub first: f64,
    /// Latest.
    pub last: f64,
    /// East of UTC.
    pub zone_seconds: i32,
}

/// Lines over time: non-empty buckets only.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct TimeHistogram {
    /// Width of a bucket.
    pub bucket_seconds: i64,
    /// The finest width held in memory.
    pub finest_seconds: i64,
    /// Start of each bucket, Unix seconds.
    pub at: Vec<i64>,
    /// Hits for each class, parallel to `at`.
    pub series: Vec<ReportSeries>,
}

/// One status class over time.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct ReportSeries {
    /// `2xx`, `3xx`, `4xx`, `5xx` or `other`.
    pub class: &'static str,
    /// Hits for each bucket.
    pub hits: Vec<u64>,
}

/// Hits and bytes of a status code.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct StatusRow {
    /// The code, or `-`.
    pub value: String,
    /// Lines.
    pub hits: u64,
    /// Sum of response sizes.
    pub bytes: u64,
}

/// A number of distinct values.
#[derive(Debug, Clone, Copy, Serialize, PartialEq)]
pub struct Distinct {
    /// Their number; an estimate unless exact.
    #[serde(rename = "count")]
    pub distinct: u64,
    /// True if every value was held.
    pub exact: bool,
    /// Relative error, two standard deviations.
    pub error: f64,
}

/// A top table.
#[derive(Debug, Clone, Serialize)]
pub struct Panel {
    /// Name for programs.
    pub field: Cow<'static, str>,
    /// Name for people.
    pub title: Cow<'static, str>,
    /// Number of values.
    pub distinct: Distinct,
    /// Lines that have the field.
    pub hits: u64,
    /// True if all counts are exact.
    pub exact: bool,
    /// The most hits that a value which is not listed can have beyond what was counted for it.
    pub error_max: u64,
    /// Hits of the values that had no room for rows of their own; absent where every value had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<OtherValues>,
    /// Most hits first.
    pub rows: Vec<ReportRow>,
}

/// Values without a row, together.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq)]
pub struct OtherValues {
    /// Lines.
    pub hits: u64,
    /// Sum of response sizes.
    pub bytes: u64,
}

/// A row of a top table.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct ReportRow {
    /// The value, as in the log.
    pub value: String,
    /// Counted lines.
    pub hits: u64,
    /// Least true number: below `hits` where lines were counted that a filter may leave out.
    pub hits_min: u64,
    /// Most true number.
    pub hits_max: u64,
    /// Sum of response sizes of the counted lines.
    pub bytes: u64,
}

/// The distributions that a log can have.
#[derive(Debug, Clone, Serialize)]
pub struct PercentileSet {
    /// Response sizes in bytes.
    pub bytes: Option<Percentiles>,
    /// Request times in seconds.
    pub request_time: Option<Percentiles>,
    /// Upstream times in seconds.
    pub upstream_time: Option<Percentiles>,
}

/// Lines with something wrong.
#[derive(Debug, Clone, Serialize)]
pub struct ReportSamples {
    /// All of them.
    pub count: u64,
    /// A few, at most three for one reason.
    pub samples: Vec<NoteSample>,
}

/// The top tables in the order in which they are shown, by name and title; sites and classes of
/// agents are derived.
pub const PANELS: [(&str, &str); 14] = [
    ("path", "Paths"),
    ("client", "Clients"),
    ("country", "Countries"),
    ("host", "Virtual hosts"),
    ("method", "Methods"),
    ("protocol", "Protocols"),
    ("referrer", "Referrers"),
    ("site", "Referring sites"),
    ("browser", "Browsers"),
    ("os", "Operating systems"),
    ("bot", "Bots"),
    ("agent", "User agents"),
    ("user", "Users"),
    ("source", "Sources"),
];

impl LogReport {
    /// The report of the present state of `analysis`, with `top` rows in each table.
    #[must_use]
    pub fn new(analysis: &Analysis, sources: Vec<InputReport>, complete: bool, top: usize, stats: RunStats) -> Self {
        let totals = analysis.totals().clone();
        let (rejects, repairs) = analysis.sample_lists();
        let panels = panels(analysis, top);
        let clients = panels.iter().find(|panel| panel.field == "client").map(|panel| panel.distinct);
        Self {
            schema: SCHEMA,
            complete,
            sources,
            lines: totals.lines,
            rows_dropped: 0,
            bytes_sent: totals.bytes_sent,
            time: totals.span_us.map(|(first, last)| TimeSpan {
                first: first as f64 / 1e6,
                last: last as f64 / 1e6,
                zone_seconds: analysis.zone_seconds().unwrap_or(0),
            }),
            histogram: totals.span_us.map(|_| histogram(analysis, None, None, BUCKETS_DEFAULT)),
            status: status_rows(&totals.status),
            clients: clients.unwrap_or(Distinct { distinct: 0, exact: true, error: 0.0 }),
            panels,
            percentiles: PercentileSet {
                bytes: totals.bytes.percentiles(1.0),
                request_time: totals.request_time_us.percentiles(1e6),
                upstream_time: totals.upstream_time_us.percentiles(1e6),
            },
            rejects: ReportSamples { count: totals.lines.rejected, samples: rejects },
            repairs: ReportSamples { count: totals.lines.repaired, samples: repairs },
            stats,
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Lines in `[from, to)` (Unix seconds) in at most `buckets_max` buckets, give or take the
/// alignment.
#[must_use]
pub fn histogram(analysis: &Analysis, from: Option<i64>, to: Option<i64>, buckets_max: usize) -> TimeHistogram {
    let Buckets { width_seconds, finest_seconds, rows } = analysis.buckets(from, to, buckets_max);
    let series = CLASSES
        .iter()
        .enumerate()
        .map(|(index, class)| ReportSeries { class, hits: rows.iter().map(|(_, counts)| counts[index]).collect() });
    TimeHistogram {
        bucket_seconds: width_seconds,
        finest_seconds,
        series: series.collect(),
        at: rows.iter().map(|(at, _)| *at).collect(),
    }
}

fn panels(analysis: &Analysis, count: usize) -> Vec<Panel> {
    let classes = analysis.agent_classes();
    let panel = |(name, title): (&'static str, &'static str)| {
        let top = match name {
            "country" => class_top(&analysis.countries(), count),
            "site" => analysis.top_sites(count),
            "browser" => class_top(&classes.browsers, count),
            "os" => class_top(&classes.systems, count),
            "bot" => class_top(&classes.bots, count),
            _ => Field::ALL
                .into_iter()
                .find(|field| field.name() == name)
                .map_or_else(Top::default, |field| analysis.top(field, count)),
        };
        (top.hits > 0).then(|| to_panel(name, title, top))
    };
    PANELS.into_iter().filter_map(panel).collect()
}

/// The panel of files by their counted lines, where there are any.
pub(crate) fn files_panel(files: &[TopRow], count: usize) -> Option<Panel> {
    let mut rows: Vec<TopRow> = files.iter().filter(|file| file.amount.hits > 0).cloned().collect();
    let (distinct, hits) = (rows.len() as u64, rows.iter().map(|row| row.amount.hits).sum());
    sort_rows(&mut rows, count);
    (hits > 0).then(|| to_panel("file", "Files", Top { rows, distinct, hits, ..Top::default() }))
}

fn class_top(sums: &HashMap<String, HitsAndBytes>, count: usize) -> Top {
    let row = |(name, amount): (&String, &HitsAndBytes)| TopRow { key: name.clone().into_bytes(), amount: *amount, missed: 0 };
    let mut rows: Vec<TopRow> = sums.iter().map(row).collect();
    let hits = sums.values().map(|amount| amount.hits).sum();
    sort_rows(&mut rows, count);
    Top { rows, distinct: sums.len() as u64, hits, ..Top::default() }
}

fn to_panel(field: &'static str, title: &'static str, top: Top) -> Panel {
    let exact = top.floor == 0;
    let row = |row: TopRow| ReportRow {
        value: shown_value(&row.key),
        hits: row.amount.hits,
        hits_min: row.amount.hits,
        hits_max: row.amount.hits + row.missed,
        bytes: row.amount.bytes,
    };
    Panel {
        field: field.into(),
        title: title.into(),
        distinct: Distinct { distinct: top.distinct, exact, error: top.distinct_error },
        hits: top.hits,
        exact,
        error_max: top.floor,
        others: None,
        rows: top.rows.into_iter().map(row).collect(),
    }
}

/// A value as text; one that is too long to show ends in `…`.
#[must_use]
pub fn shown_value(key: &[u8]) -> String {
    let cut = key.len() > KEY_BYTES_SHOWN;
    let mut text = String::from_utf8_lossy(&key[..key.len().min(KEY_BYTES_SHOWN)]).into_owned();
    if cut {
        text.push('…');
    }
    text
}

fn status_rows(status: &[HitsAndBytes]) -> Vec<StatusRow> {
    let row = |(code, amount): (usize, &HitsAndBytes)| StatusRow {
        value: if code == 0 { "-".to_owned() } else { code.to_string() },
        hits: amount.hits,
        bytes: amount.bytes,
    };
    let mut rows: Vec<StatusRow> = status.iter().enumerate().filter(|(_, amount)| amount.hits > 0).map(row).collect();
    rows.sort_by(|a, b| b.hits.cmp(&a.hits).then_with(|| a.value.cmp(&b.value)));
    rows
}

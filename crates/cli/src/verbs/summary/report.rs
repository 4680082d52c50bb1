//! The summary as data: schema `rorqual.summary/1`.

use rorqual_accesslog::report::{Distinct, Panel, ReportRow, ReportSeries, TimeHistogram};
use rorqual_accesslog::schema::{NumberUnit, OwnColumn, Schema, TextColumn, TextContent};
use rorqual_crossfilter::{NumberQuantiles, NumberSummary, OwnValue, TimeRange, ViewHistogram, ViewResult, finite_or_text};
use rorqual_pipe::stats;
use serde::Serialize;
use std::time::Instant;

/// The schema's name; it changes when a field changes its meaning.
const SCHEMA: &str = "rorqual.summary/1";

/// Name of the column of values that have none of their own.
const REST: &str = "_rest";

/// A file by its columns.
#[derive(Debug, Serialize)]
pub(crate) struct SummaryReport {
    schema: &'static str,
    pub(crate) file: String,
    /// The bytes of its name in base64, where that is no UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) file_bytes: Option<String>,
    /// The whole file was read.
    pub(crate) complete: bool,
    #[serde(rename = "where")]
    pub(crate) filter: String,
    pub(crate) rows: SummaryRows,
    /// All counts are exact.
    pub(crate) exact: bool,
    pub(crate) time: Option<SummaryTime>,
    pub(crate) histogram: Option<SummaryHistogram>,
    pub(crate) columns: Vec<SummaryColumn>,
    pub(crate) seconds: f64,
    pub(crate) peak_bytes: Option<u64>,
    /// Name of the column of values that have none of their own.
    #[serde(skip)]
    rest: Option<String>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SummaryRows {
    /// Rows of the file.
    pub(crate) total: u64,
    /// Rows that the condition means.
    pub(crate) matching: u64,
    /// Rows that there was no room for: nothing here is of them.
    pub(crate) dropped: u64,
}

#[derive(Debug, Serialize)]
pub(crate) struct SummaryTime {
    /// Name of the column that is the time of a row.
    pub(crate) column: String,
    #[serde(flatten)]
    pub(crate) span: TimeRange,
}

/// Rows over time: buckets with at least one.
#[derive(Debug, Serialize)]
pub(crate) struct SummaryHistogram {
    pub(crate) bucket_seconds: i64,
    /// Start of each bucket, Unix seconds.
    pub(crate) at: Vec<i64>,
    pub(crate) hits: Vec<u64>,
}

#[derive(Debug, Serialize)]
pub(crate) struct SummaryColumn {
    pub(crate) name: String,
    #[serde(flatten)]
    pub(crate) values: ColumnSummary,
}

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum ColumnSummary {
    Text {
        /// Rows with a value.
        hits: u64,
        distinct: Distinct,
        exact: bool,
        /// Most hits first.
        top: Vec<TextRow>,
    },
    Number {
        unit: &'static str,
        hits: u64,
        min: Option<OwnValue>,
        max: Option<OwnValue>,
        quantiles: Option<NumberQuantiles>,
        #[serde(serialize_with = "finite_or_text")]
        quantile_error: f64,
    },
}

#[derive(Debug, Serialize)]
pub(crate) struct TextRow {
    pub(crate) value: String,
    pub(crate) hits: u64,
    pub(crate) hits_min: u64,
    pub(crate) hits_max: u64,
}

impl SummaryColumn {
    fn hits(&self) -> u64 {
        let (ColumnSummary::Text { hits, .. } | ColumnSummary::Number { hits, .. }) = &self.values;
        *hits
    }
}

impl SummaryReport {
    /// The column of values that have none of their own, and the rows that have such, where there
    /// are any.
    pub(crate) fn rest(&self) -> Option<(&str, u64)> {
        let column = self.columns.iter().find(|column| Some(&column.name) == self.rest.as_ref());
        column.map(|column| (&*column.name, column.hits()))
    }

    /// Rows over time, as a histogram of one series.
    pub(crate) fn time_histogram(&self) -> Option<TimeHistogram> {
        let SummaryHistogram { bucket_seconds, at, hits } = self.histogram.as_ref()?;
        let series = vec![ReportSeries { class: "rows", hits: hits.clone() }];
        Some(TimeHistogram { bucket_seconds: *bucket_seconds, finest_seconds: 1, at: at.clone(), series })
    }

    /// The columns of a view of the file of that name; without `begun` it took no time.
    pub(crate) fn new(file: &str, schema: &Schema, viewed: ViewResult, complete: bool, begun: Option<Instant>) -> Self {
        let column = |own: &OwnColumn| SummaryColumn {
            name: own.name.clone(),
            values: match own.unit {
                None => text(viewed.panels.iter().find(|panel| panel.field == own.name)),
                Some(unit) => number(unit, viewed.numbers.iter().find(|number| number.field == own.name)),
            },
        };
        let own_rest = schema.text(REST).and_then(TextColumn::as_own);
        // A file's own column of that name is none, unless its values are JSON.
        let rest = own_rest.filter(|own| schema.text_kind(*own) == TextContent::Json).map(|_| REST.to_owned());
        // The column of what has none of its own is left out where there is no such value.
        let is_shown = |column: &SummaryColumn| Some(&column.name) != rest.as_ref() || column.hits() > 0;
        let mut report = Self {
            schema: SCHEMA,
            file: file.to_owned(),
            file_bytes: None,
            complete,
            filter: viewed.filter.clone(),
            rows: SummaryRows { total: viewed.rows.total, matching: viewed.lines.total, dropped: viewed.rows.dropped },
            exact: viewed.exact && viewed.panels.iter().all(|panel| panel.exact),
            time: schema.time().zip(viewed.time).map(|(column, span)| SummaryTime { column: column.to_owned(), span }),
            columns: schema.own().iter().map(column).filter(is_shown).collect(),
            histogram: viewed.histogram.map(joined),
            seconds: begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64()),
            peak_bytes: stats::peak_bytes(),
            rest,
        };
        report.exact &= report.rest().is_none();
        report
    }
}

fn text(panel: Option<&Panel>) -> ColumnSummary {
    let row =
        |row: &ReportRow| TextRow { value: row.value.clone(), hits: row.hits, hits_min: row.hits_min, hits_max: row.hits_max };
    match panel {
        Some(Panel { hits, distinct, exact, rows, .. }) => {
            ColumnSummary::Text { hits: *hits, distinct: *distinct, exact: *exact, top: rows.iter().map(row).collect() }
        }
        None => ColumnSummary::Text {
            hits: 0,
            distinct: Distinct { distinct: 0, exact: true, error: 0.0 },
            exact: true,
            top: Vec::new(),
        },
    }
}

fn number(unit: NumberUnit, number: Option<&NumberSummary>) -> ColumnSummary {
    ColumnSummary::Number {
        unit: unit.name(),
        hits: number.map_or(0, |number| number.hits),
        min: number.map(|number| number.min.clone()),
        max: number.map(|number| number.max.clone()),
        quantiles: number.and_then(|number| number.quantiles),
        quantile_error: number.map_or(0.0, |number| number.quantile_error),
    }
}

fn joined(histogram: ViewHistogram) -> SummaryHistogram {
    let hits = |bucket: usize| histogram.series.iter().map(|line| line.hits[bucket]).sum();
    SummaryHistogram {
        bucket_seconds: histogram.bucket_seconds,
        hits: (0..histogram.at.len()).map(hits).collect(),
        at: histogram.at,
    }
}

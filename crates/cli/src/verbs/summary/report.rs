//! The summary as data: schema `rorqual.summary/1`.

use rorqual_accesslog::report::{Distinct, Panel, ReportRow};
use rorqual_accesslog::schema::{NumberUnit, OwnColumn, Schema};
use rorqual_columnar::render::FlatColumns;
use rorqual_crossfilter::{NumberQuantiles, NumberSummary, OwnValue, TimeRange, ViewHistogram, ViewResult, finite_or_text};
use rorqual_pipe::stats;
use serde::Serialize;
use std::path::Path;
use std::time::Instant;

/// The schema's name; it changes when a field changes its meaning.
const SCHEMA: &str = "rorqual.summary/1";

/// A file by its columns.
#[derive(Debug, Serialize)]
pub(super) struct SummaryReport {
    schema: &'static str,
    pub(super) file: String,
    /// The whole file was read.
    pub(super) complete: bool,
    #[serde(rename = "where")]
    pub(super) filter: String,
    pub(super) rows: SummaryRows,
    /// All counts are exact.
    pub(super) exact: bool,
    pub(super) time: Option<SummaryTime>,
    pub(super) histogram: Option<SummaryHistogram>,
    pub(super) columns: Vec<SummaryColumn>,
    pub(super) seconds: f64,
    pub(super) peak_bytes: Option<u64>,
    /// Name of the column of values that have none of their own.
    #[serde(skip)]
    rest: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct SummaryRows {
    /// Rows of the file.
    pub(super) total: u64,
    /// Rows that the condition means.
    pub(super) matching: u64,
    /// Rows that there was no room for: nothing here is of them.
    pub(super) dropped: u64,
}

#[derive(Debug, Serialize)]
pub(super) struct SummaryTime {
    /// Name of the column that is the time of a row.
    pub(super) column: String,
    #[serde(flatten)]
    pub(super) span: TimeRange,
}

/// Rows over time: buckets with at least one.
#[derive(Debug, Serialize)]
pub(super) struct SummaryHistogram {
    pub(super) bucket_seconds: i64,
    /// Start of each bucket, Unix seconds.
    pub(super) at: Vec<i64>,
    pub(super) hits: Vec<u64>,
}

#[derive(Debug, Serialize)]
pub(super) struct SummaryColumn {
    pub(super) name: String,
    #[serde(flatten)]
    pub(super) values: ColumnSummary,
}

#[derive(Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum ColumnSummary {
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
pub(super) struct TextRow {
    pub(super) value: String,
    pub(super) hits: u64,
    pub(super) hits_min: u64,
    pub(super) hits_max: u64,
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
    pub(super) fn rest(&self) -> Option<(&str, u64)> {
        let column = self.columns.iter().find(|column| Some(&column.name) == self.rest.as_ref());
        column.map(|column| (&*column.name, column.hits()))
    }

    pub(super) fn new(
        file: &Path,
        flat: &FlatColumns,
        schema: &Schema,
        viewed: ViewResult,
        complete: bool,
        begun: Instant,
    ) -> Self {
        let column = |own: &OwnColumn| SummaryColumn {
            name: own.name.clone(),
            values: match own.unit {
                None => text(viewed.panels.iter().find(|panel| panel.field == own.name)),
                Some(unit) => number(unit, viewed.numbers.iter().find(|number| number.field == own.name)),
            },
        };
        let rest = flat.rest().map(|(_, name)| name.to_owned());
        // The column of what has none of its own is left out where there is no such value.
        let is_shown = |column: &SummaryColumn| Some(&column.name) != rest.as_ref() || column.hits() > 0;
        let mut report = Self {
            schema: SCHEMA,
            file: file.to_string_lossy().into_owned(),
            complete,
            filter: viewed.filter.clone(),
            rows: SummaryRows { total: viewed.rows.total, matching: viewed.lines.total, dropped: viewed.rows.dropped },
            exact: viewed.exact && viewed.panels.iter().all(|panel| panel.exact),
            time: flat.time().zip(viewed.time).map(|(column, span)| SummaryTime { column: column.to_owned(), span }),
            columns: schema.own().iter().map(column).filter(is_shown).collect(),
            histogram: viewed.histogram.map(joined),
            seconds: begun.elapsed().as_secs_f64(),
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

//! Views: questions and answers.

use crate::breakdown::error::BreakdownError;
use crate::number_spread::NumberSummary;
use rorqual_accesslog::filter::Filter;
use rorqual_accesslog::report::{Distinct, OtherValues, Panel, PercentileSet, ReportRow, StatusRow};
use rorqual_accesslog::schema::TextColumn;
use rorqual_pipe::Error;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::{fmt, io};

/// Selection of rows.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct View {
    /// Rows at or after this time, in Unix microseconds. A row without time is in no bounded span.
    pub from_us: Option<i64>,
    /// Rows before this time.
    pub to_us: Option<i64>,
    /// Rows that it means.
    pub filter: Filter,
}

/// Series of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stack {
    /// Classes of status.
    #[default]
    Class,
    /// Bots and people.
    Bot,
    /// The values of a column with most rows, and the rest. A URL stands for its path.
    Values(TextColumn),
}

/// Parts of a view that are wanted, and their sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ViewParts {
    /// Rows of each panel.
    pub top: usize,
    /// Buckets of the histogram at most, give or take the alignment.
    pub buckets: usize,
    /// Its series.
    pub stack: Stack,
    /// Panels of the fields whose values the filter chooses, under its other conditions.
    pub facets: bool,
}

/// Range of a panel that is wanted.
#[derive(Debug, Clone, Default)]
pub struct PanelWanted {
    /// Text that the values shall contain, in any case of ASCII letters.
    pub search: Option<String>,
    /// Rows before the first one wanted.
    pub offset: usize,
    /// Rows at most.
    pub limit: usize,
}

/// Reason for which there is no answer.
#[derive(Debug)]
pub enum ViewError {
    /// The control was stopped.
    Cancelled,
    /// Spilled rows can't be read back.
    Io(Error),
    /// The rows have no such metrics.
    Unanswerable(BreakdownError),
}

impl ViewError {
    pub(crate) fn spilled(cause: io::Error) -> Self {
        Self::Io(Error::io("rows", "cannot read spilled rows", cause))
    }
}

impl fmt::Display for ViewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cancelled => f.write_str("cancelled"),
            Self::Io(error) => error.fmt(f),
            Self::Unanswerable(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ViewError {}

/// A view, counted. Fields that a report has too are as there.
#[derive(Debug, Clone, Serialize)]
pub struct ViewResult {
    /// The filter, as it is written.
    pub filter: String,
    /// Rows there are to look at.
    pub rows: RowCounts,
    /// Rows of the view by the outcome of their lines.
    pub lines: Outcomes,
    /// Sum of the response sizes; 2^64 - 1 stands for that or more.
    pub bytes_sent: u64,
    /// True if all counts are exact: no row was dropped, and the filter means these rows whatever
    /// the values are that there was no room for.
    pub exact: bool,
    /// First and last time of the view.
    pub time: Option<TimeRange>,
    /// Rows over time.
    pub histogram: Option<ViewHistogram>,
    /// By status code, most hits first; lines without one as `-`.
    pub status: Vec<StatusRow>,
    /// Number of client addresses.
    pub clients: Distinct,
    /// Rows of bots.
    pub bots: Amounts,
    /// Rows of people: of parsed lines those of no bot.
    pub people: Amounts,
    /// Rows of agents that there was no room for: of bots or people.
    pub unknown: Amounts,
    /// The top tables.
    pub panels: Vec<Panel>,
    /// Of fields whose values the filter chooses, the same under its other conditions; empty where
    /// they are not wanted.
    pub facets: Vec<Facet>,
    /// Distributions of numbers.
    pub percentiles: PercentileSet,
    /// The numbers of the schema's own columns, in their order; those that no row has are left out.
    pub numbers: Vec<NumberSummary>,
    /// The same of those that the filter has conditions on, under its other conditions; empty where
    /// facets are not wanted.
    pub number_facets: Vec<NumberSummary>,
    /// Rows by weekday (Monday first) and hour, by the clock of the log.
    pub week: Vec<Vec<u64>>,
    /// Durations of requests over time; absent where no line has one.
    pub latency: Option<LatencyGrid>,
}

/// Rows of a store.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows that were looked at.
    pub total: u64,
    /// Rows that there was no place for: the view is of those that came before.
    pub dropped: u64,
}

/// Lines by outcome.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct Outcomes {
    /// All lines: parsed and rejected.
    pub total: u64,
    /// Lines with fields.
    pub parsed: u64,
    /// Of the parsed ones, those with one flaw.
    pub repaired: u64,
    /// Lines that do not fit the format.
    pub rejected: u64,
}

/// Rows and the sum of their response sizes.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Amounts {
    pub hits: u64,
    pub bytes: u64,
}

/// First and last time in Unix seconds.
#[derive(Debug, Clone, Copy, Serialize, PartialEq)]
#[allow(missing_docs)]
pub struct TimeRange {
    pub first: f64,
    pub last: f64,
}

/// Rows over time: non-empty buckets only.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct ViewHistogram {
    /// Name of the column that the series are values of, for programs, or `class` or `bot`.
    #[serde(skip)]
    pub stack: Cow<'static, str>,
    /// Width of a bucket.
    pub bucket_seconds: i64,
    /// The finest width there is.
    pub finest_seconds: i64,
    /// Start of each bucket, Unix seconds.
    pub at: Vec<i64>,
    /// Hits for each value, parallel to `at`.
    pub series: Vec<PageLine>,
}

/// One series of a histogram.
#[derive(Debug, Clone, Serialize, PartialEq, Eq)]
pub struct PageLine {
    /// A class, or another value.
    pub class: String,
    /// Hits for each bucket.
    pub hits: Vec<u64>,
}

/// Rows by time and by how long they took.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct LatencyGrid {
    /// Borders of the bands in seconds: the first band is below the first, the last one from the
    /// last on.
    pub borders_seconds: Vec<f64>,
    /// Width of a bucket.
    pub bucket_seconds: i64,
    /// Start of each bucket, Unix seconds.
    pub at: Vec<i64>,
    /// For each bucket, hits by band.
    pub hits: Vec<Vec<u64>>,
}

/// A panel under all conditions of a filter but those that choose values of its field.
#[derive(Debug, Clone, Serialize)]
pub struct Facet {
    /// Counted under the other conditions.
    #[serde(flatten)]
    pub panel: Panel,
    /// Values that the filter names, of those that have rows there: most hits first, at most as
    /// many as the panel has.
    pub chosen: Vec<ReportRow>,
    /// The same of values that it excludes.
    pub excluded: Vec<ReportRow>,
}

/// A stretch of a panel.
#[derive(Debug, Clone, Serialize)]
pub struct PanelPage {
    /// Name for programs.
    pub field: Cow<'static, str>,
    /// Number of values of the view.
    pub distinct: Distinct,
    /// Rows that have the field.
    pub hits: u64,
    /// True if all counts are exact.
    pub exact: bool,
    /// The most hits that a value which is not listed can have beyond its counted ones.
    pub error_max: u64,
    /// Rows of values that there was no room for; absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<OtherValues>,
    /// Values that match the search.
    pub found: u64,
    /// Most hits first.
    pub rows: Vec<ReportRow>,
}

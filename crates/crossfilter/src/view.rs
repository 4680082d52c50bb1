//! Views: questions and answers.

use crate::breakdown::BreakdownError;
use crate::columns::{AGENT, FLAW, REJECTED, REPAIRED, STATUS, source};
use crate::counted::CountedViews;
use crate::dictionary::{NONE, OTHERS};
use crate::facets::Facet;
use crate::number_spread::{NumberSpread, NumberSummary};
use crate::plan::WEEK_HOURS;
use crate::segment::unbiased;
use crate::sparse_counts::SparseCounts;
use crate::store::RowStore;
use crate::sums::{Distributions, RowsAndBytes};
use crate::timeline::{Axis, BANDS_US, Grid};
use rorqual_accesslog::filter::{Filter, FilterRegex, TextTest};
use rorqual_accesslog::report::{Distinct, OtherValues, Panel, PercentileSet, ReportRow, StatusRow};
use rorqual_accesslog::schema::{NumberColumn, Schema, TextColumn};
use rorqual_pipe::{Control, Error};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::io;

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

impl Distributions {
    pub(crate) fn time_range(&self) -> Option<TimeRange> {
        let seconds = |time: u64| unbiased(time) as f64 / 1e6;
        self.times.map(|(first, last)| TimeRange { first: seconds(first), last: seconds(last) })
    }

    pub(crate) fn percentiles(&self) -> PercentileSet {
        PercentileSet {
            bytes: self.bytes.percentiles(1.0),
            request_time: self.request_time.percentiles(1e6),
            upstream_time: self.upstream_time.percentiles(1e6),
        }
    }

    /// Rows by weekday and hour.
    pub(crate) fn week_rows(&self) -> Vec<Vec<u64>> {
        self.week.chunks(WEEK_HOURS / 7).map(<[u64]>::to_vec).collect()
    }
}

impl ViewResult {
    /// The panel of statuses with `top` rows; `None` where no row that is kept has a field.
    #[must_use]
    pub fn status_panel(&self, top: usize) -> Option<Panel> {
        let page = status_page(&self.status, &PanelWanted { search: None, offset: 0, limit: top }, self.exact);
        (!self.panels.is_empty()).then(|| page.titled(STATUS_TITLE.into()))
    }
}

impl RowStore {
    /// All panels of a view.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn view(&self, view: &View, wanted: &ViewParts, control: &Control) -> Result<ViewResult, ViewError> {
        self.asked(|| {
            let counted = self.counted(view, wanted, control)?;
            Ok(self.viewed(view, &counted, wanted.top))
        })
    }

    /// The counts of a view, as they are shown.
    pub(crate) fn viewed(&self, view: &View, counted: &CountedViews, top: usize) -> ViewResult {
        let panel = |column: &TextColumn| self.panel_of(counted, *column, top);
        let mut panels: Vec<Panel> = self.schema().panels().iter().filter_map(panel).collect();
        // Rows that had no room may have any value.
        let is_whole = counted.rows_dropped == 0;
        panels.iter_mut().for_each(|panel| panel.distinct.exact &= is_whole);
        let lines = self.outcomes(counted);
        let [bots, people, unknown] = self.bots(counted, lines.rejected);
        let clients =
            panels.iter().find(|panel| panel.field == self.schema().text_name(TextColumn::CLIENT)).map(|panel| panel.distinct);
        let mut facets = self.facets(view, counted, top);
        facets.iter_mut().for_each(|facet| facet.panel.distinct.exact &= is_whole);
        facets.retain(|facet| {
            // Those of the panels that there are.
            let is_it = |panel: &Panel| panel.field == facet.panel.field;
            panels.iter().any(is_it) || (facet.panel.field == STATUS_FIELD && !panels.is_empty())
        });
        let spreads = &counted.spreads;
        let stack = counted.stack_name(&self.schema());
        let over_time = RowsOverTime {
            axis: counted.axis,
            stack: &stack,
            names: &counted.series.names,
            classes: &counted.histogram,
            bands: Some(&counted.bands),
        };
        ViewResult {
            filter: self.schema().written(&view.filter),
            rows: RowCounts { total: counted.rows_total, dropped: counted.rows_dropped },
            lines,
            bytes_sent: counted.sums.all.bytes,
            exact: self.is_exact(counted, unknown),
            time: spreads.time_range(),
            histogram: over_time.histogram(),
            status: status_rows(counted, lines.rejected),
            clients: clients.unwrap_or(Distinct { distinct: 0, exact: is_whole, error: 0.0 }),
            bots,
            people,
            unknown,
            panels,
            facets,
            percentiles: spreads.percentiles(),
            numbers: self.numbers(counted),
            number_facets: self.number_facets(counted),
            week: spreads.week_rows(),
            latency: over_time.latency(),
        }
    }

    /// A range of a panel of a view, with its search.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn panel(
        &self,
        view: &View,
        column: TextColumn,
        wanted: &PanelWanted,
        control: &Control,
    ) -> Result<PanelPage, ViewError> {
        let searched = self.searched(view, column, wanted);
        self.asked(|| {
            if column == TextColumn::URL {
                // Paths and queries of many rows get their codes first.
                self.sums_of(view, control)?;
                return self.urls(view, wanted, control);
            }
            Ok(self.page_of(&*self.sums_of(&searched, control)?, column, wanted))
        })
    }

    /// The rows of a view whose value has the text that is searched for, where texts without a code
    /// may have it: then those with most rows among these are listed.
    fn searched<'a>(&self, view: &'a View, column: TextColumn, wanted: &PanelWanted) -> Cow<'a, View> {
        let (index, derived) = source(column);
        let search = wanted.search.as_deref().filter(|search| !search.is_empty() && derived.is_none());
        let Some(search) = search.filter(|_| self.dictionaries[index].lock().has_groups()) else { return Cow::Borrowed(view) };
        let Ok(pattern) = FilterRegex::new(&format!("(?i-u){}", escaped(search))) else { return Cow::Borrowed(view) };
        let test = Filter::Text(column, TextTest::Matches(pattern));
        Cow::Owned(View { filter: Filter::All(vec![view.filter.clone(), test]), ..view.clone() })
    }

    /// A stretch of the panel of statuses.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn statuses(&self, view: &View, wanted: &PanelWanted, control: &Control) -> Result<PanelPage, ViewError> {
        let counted = self.asked(|| self.sums_of(view, control))?;
        Ok(status_page(&status_rows(&counted, self.outcomes(&counted).rejected), wanted, counted.exact))
    }

    /// True if all counts of a view are exact, in which so many rows are of unknown agents.
    pub(crate) fn is_exact(&self, counted: &CountedViews, unknown: Amounts) -> bool {
        counted.exact && unknown.hits == 0 && !self.dictionaries[AGENT].lock().has_cut()
    }

    fn numbers(&self, counted: &CountedViews) -> Vec<NumberSummary> {
        let schema = self.schema();
        let summary = |(number, spread): (usize, &NumberSpread)| {
            let column = NumberColumn::own(number);
            spread.summary(schema.number_name(column), schema.unit(column))
        };
        counted.spreads.own.iter().enumerate().filter_map(summary).collect()
    }

    pub(crate) fn outcomes(&self, counted: &CountedViews) -> Outcomes {
        let flaws = self.dictionaries[FLAW].lock();
        let of = |kind: u8| -> u64 {
            let of_kind = counted.sums.column(FLAW).iter().filter(|(code, _)| flaws.text(*code).first() == Some(&kind));
            of_kind.map(|(_, amount)| amount.hits).sum()
        };
        let (total, rejected) = (counted.sums.all.hits, of(REJECTED));
        Outcomes { total, parsed: total - rejected, repaired: of(REPAIRED), rejected }
    }

    /// Rows of bots, of people, and of agents that there was no room for, of which nobody knows.
    pub(crate) fn bots(&self, counted: &CountedViews, rejected: u64) -> [Amounts; 3] {
        let agents = self.dictionaries[AGENT].lock();
        let classes = agents.classes(TextColumn::BOT);
        let mut bots = RowsAndBytes::default();
        let of_bots = counted.sums.column(AGENT).iter().filter(|(code, _)| ![NONE, OTHERS].contains(&classes[*code as usize]));
        of_bots.for_each(|(_, amount)| bots.add(amount));
        let (all, mut unknown) = (counted.sums.all, RowsAndBytes::default());
        let of_unknown = counted.sums.column(AGENT).iter().filter(|(code, _)| classes[*code as usize] == OTHERS);
        of_unknown.for_each(|(_, amount)| unknown.add(amount));
        let people = RowsAndBytes {
            hits: all.hits - bots.hits - rejected - unknown.hits,
            bytes: all.bytes.saturating_sub(bots.bytes).saturating_sub(unknown.bytes),
        };
        [bots, people, unknown].map(|RowsAndBytes { hits, bytes }| Amounts { hits, bytes })
    }
}

/// An expression that means this text.
fn escaped(text: &str) -> String {
    text.chars().flat_map(|one| one.is_ascii_punctuation().then_some('\\').into_iter().chain([one])).collect()
}

/// Name of the panel of statuses, for programs.
pub(crate) const STATUS_FIELD: &str = "status";
/// Name of the panel of statuses, for people.
pub const STATUS_TITLE: &str = "Statuses";

/// Rows over time, by series and by how long they took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowsOverTime<'a> {
    pub(crate) axis: Option<Axis>,
    /// Name of the column of the series, for programs.
    pub(crate) stack: &'a str,
    pub(crate) names: &'a [String],
    pub(crate) classes: &'a Grid,
    pub(crate) bands: Option<&'a Grid>,
}

impl CountedViews {
    /// Name of the column of its series, for programs.
    pub(crate) fn stack_name(&self, schema: &Schema) -> Cow<'static, str> {
        match self.stack {
            Stack::Class => "class".into(),
            Stack::Bot => "bot".into(),
            Stack::Values(column) => schema.text_name(column),
        }
    }
}

impl RowsOverTime<'_> {
    /// Buckets with at least one row.
    fn buckets(&self) -> Vec<usize> {
        let buckets = self.axis.map_or(0, |axis| axis.buckets);
        (0..buckets).filter(|bucket| self.classes.bucket(*bucket).iter().any(|hits| *hits > 0)).collect()
    }

    pub(crate) fn histogram(&self) -> Option<ViewHistogram> {
        let axis = self.axis?;
        let buckets = self.buckets();
        let hits = |series: usize| buckets.iter().map(|bucket| self.classes.bucket(*bucket)[series]).collect();
        let line = |(series, name): (usize, &String)| PageLine { class: name.clone(), hits: hits(series) };
        Some(ViewHistogram {
            stack: self.stack.to_owned().into(),
            bucket_seconds: axis.width_seconds,
            finest_seconds: 1,
            at: buckets.iter().map(|bucket| axis.start(*bucket)).collect(),
            series: self.names.iter().enumerate().map(line).collect(),
        })
    }

    pub(crate) fn latency(&self) -> Option<LatencyGrid> {
        let (axis, bands) = (self.axis?, self.bands?);
        let buckets = self.buckets();
        let hits: Vec<Vec<u64>> = buckets.iter().map(|bucket| bands.bucket(*bucket).to_vec()).collect();
        hits.iter().flatten().any(|hits| *hits > 0).then(|| LatencyGrid {
            borders_seconds: BANDS_US.iter().map(|border| *border as f64 / 1e6).collect(),
            bucket_seconds: axis.width_seconds,
            at: buckets.iter().map(|bucket| axis.start(*bucket)).collect(),
            hits,
        })
    }
}

/// The listed part of the statuses; lines without one are not among them.
pub(crate) fn status_page(rows: &[StatusRow], wanted: &PanelWanted, exact: bool) -> PanelPage {
    let rows = || rows.iter().filter(|row| row.value != "-");
    let found = || rows().filter(|row| row.value.contains(wanted.search.as_deref().unwrap_or_default()));
    let listed = |row: &StatusRow| ReportRow {
        value: row.value.clone(),
        hits: row.hits,
        hits_min: row.hits,
        hits_max: row.hits,
        bytes: row.bytes,
    };
    PanelPage {
        field: STATUS_FIELD.into(),
        distinct: Distinct { distinct: rows().count() as u64, exact: true, error: 0.0 },
        hits: rows().map(|row| row.hits).sum(),
        exact,
        error_max: 0,
        others: None,
        found: found().count() as u64,
        rows: found().skip(wanted.offset).take(wanted.limit).map(listed).collect(),
    }
}

/// By status; a rejected line has none, and is not among the lines without one.
pub(crate) fn status_rows(counted: &CountedViews, rejected: u64) -> Vec<StatusRow> {
    statuses(counted.sums.column(STATUS), rejected)
}

/// Amounts by status, without so many rejected lines.
pub(crate) fn statuses(amounts: &SparseCounts, rejected: u64) -> Vec<StatusRow> {
    let row = |(status, amount): (u32, RowsAndBytes)| {
        let hits = if status == 0 { amount.hits - rejected } else { amount.hits };
        let value = if status == 0 { "-".to_owned() } else { status.to_string() };
        StatusRow { value, hits, bytes: amount.bytes }
    };
    let mut rows: Vec<StatusRow> = amounts.iter().map(row).filter(|row| row.hits > 0).collect();
    rows.sort_by(|a, b| b.hits.cmp(&a.hits).then_with(|| a.value.cmp(&b.value)));
    rows
}

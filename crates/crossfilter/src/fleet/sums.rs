//! Sums of a view: totals, distributions and rows over time.

use crate::histogram::RowsOverTime;
use crate::limits::{BUCKETS_MAX, SERIES_MAX, STORE_ROWS_MAX};
use crate::number_spread::{NumberSpread, NumberSummary};
use crate::segment::unbiased;
use crate::series::REST;
use crate::statuses::{status_page, status_rows};
use crate::store::RowStore;
use crate::sums::Distributions;
use crate::time_axis::{Axis, BANDS, Grid};
use crate::view::{Amounts, Outcomes, PanelPage, PanelWanted, RowCounts, View, ViewError, ViewHistogram, ViewParts, ViewResult};
use crate::view_cache::SharedAxes;
use rorqual_accesslog::report::{Distinct, Panel, StatusRow};
use rorqual_accesslog::schema::{NumberColumn, NumberUnit, TextColumn};
use rorqual_pipe::Control;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;

/// Bytes of a name in a part that another process sent, at most.
const NAME_BYTES_MAX: usize = 4 << 10;

/// Statuses with rows, and `-`.
const STATUS_ROWS_MAX: usize = 1_001;

/// Rows of a store, and their times.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, PartialEq, Eq)]
pub struct StoreExtent {
    /// Rows, and those that had no room.
    pub rows: RowCounts,
    /// Rises with each change of the rows.
    pub generation: u64,
    /// First and last time in Unix microseconds.
    pub times_us: Option<(i64, i64)>,
}

impl StoreExtent {
    /// True if it may be one of a store.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let RowCounts { total, dropped } = self.rows;
        total <= STORE_ROWS_MAX && dropped <= STORE_ROWS_MAX && self.times_us.is_none_or(|(first, last)| first <= last)
    }
}

/// Sums of a view, which those of other stores can be added to.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ViewSums {
    /// Of the rows that were counted.
    pub generation: u64,
    rows: RowCounts,
    exact: bool,
    lines: Outcomes,
    bytes_sent: u64,
    bots: Amounts,
    people: Amounts,
    unknown: Amounts,
    status: Vec<StatusRow>,
    spreads: Distributions,
    axis: Option<Axis>,
    stack: String,
    series: Vec<String>,
    classes: Grid,
    /// By how long they took; absent where they come apart.
    bands: Option<BandsPart>,
}

/// Rows over time by how long they took.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BandsPart(Grid);

/// The numbers of one column of a view.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct NumberPart {
    /// Name for programs.
    pub field: String,
    spread: NumberSpread,
}

impl RowStore {
    /// Its rows, and their times.
    #[must_use]
    pub fn extent(&self) -> StoreExtent {
        let snapshot = self.snapshot();
        let total = snapshot.rows();
        StoreExtent {
            rows: RowCounts { total, dropped: snapshot.rows_dropped },
            generation: snapshot.generation,
            times_us: snapshot.times().map(|(first, last)| (unbiased(first), unbiased(last))),
        }
    }

    /// Sums of a view over an axis that other stores have as well: of the rows of a generation
    /// where they are still known, otherwise of those of now.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn view_sums(
        &self,
        view: &View,
        wanted: &ViewParts,
        (shared, generation): (&SharedAxes, Option<u64>),
        control: &Control,
    ) -> Result<ViewSums, ViewError> {
        self.asked(|| {
            let shared = (shared.clone(), generation);
            let (generation, counted) = self.counted_alike(view, (wanted.buckets, wanted.stack), shared, control)?;
            let lines = self.outcomes(&counted);
            let [bots, people, unknown] = self.bots(&counted, lines.rejected);
            Ok(ViewSums {
                generation,
                rows: RowCounts { total: counted.rows_total, dropped: counted.rows_dropped },
                exact: self.is_exact(&counted, unknown),
                lines,
                bytes_sent: counted.sums.all.bytes,
                bots,
                people,
                unknown,
                status: status_rows(&counted, lines.rejected),
                spreads: Distributions { own: Vec::new(), ..counted.spreads.clone() },
                axis: counted.axis,
                stack: counted.stack_name(&self.schema()).into_owned(),
                series: counted.series.names.clone(),
                classes: counted.histogram.clone(),
                bands: Some(BandsPart(counted.bands.clone())),
            })
        })
    }

    /// The numbers of a view, of the schema's own columns.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn number_parts(&self, view: &View, generation: u64, control: &Control) -> Result<Vec<NumberPart>, ViewError> {
        let counted = self.asked(|| self.sums_at(view, generation, control))?;
        let schema = self.schema();
        let part = |(number, spread): (usize, &NumberSpread)| {
            spread.extent()?;
            Some(NumberPart { field: schema.number_name(NumberColumn::own(number)).into_owned(), spread: spread.clone() })
        };
        Ok(counted.spreads.own.iter().enumerate().filter_map(part).collect())
    }
}

impl NumberPart {
    /// True if it may be one of a store.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.field.len() <= NAME_BYTES_MAX && self.spread.is_sound(STORE_ROWS_MAX)
    }

    /// True if its numbers may be of that unit.
    #[must_use]
    pub fn is_of(&self, unit: NumberUnit) -> bool {
        self.spread.is_of(unit)
    }

    pub(super) fn spread(&self) -> &NumberSpread {
        &self.spread
    }

    /// Adds the numbers of another store's column.
    pub fn take(&mut self, other: &Self) {
        self.spread.take(&other.spread);
    }

    /// The numbers as they are shown.
    #[must_use]
    pub fn summary(&self, unit: NumberUnit) -> Option<NumberSummary> {
        self.spread.summary(self.field.clone().into(), unit)
    }
}

impl ViewSums {
    /// True if they may be sums of a store.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        let Outcomes { total, parsed, repaired, rejected } = self.lines;
        let rows = self.rows.total;
        let buckets = self.axis.map_or(0, |axis| axis.buckets);
        let amounts = [self.bots.hits, self.people.hits, self.unknown.hits, parsed, repaired, rejected];
        rows <= STORE_ROWS_MAX
            && self.rows.dropped <= STORE_ROWS_MAX
            && total <= rows
            && amounts.iter().all(|hits| *hits <= total)
            && self.status.len() <= STATUS_ROWS_MAX
            && self.status.iter().all(|row| row.hits <= total && row.value.len() <= 3)
            && self.are_statuses_once(total)
            && self.spreads.is_sound(rows)
            && self.spreads.own.is_empty()
            && self.axis.is_none_or(|axis| axis.is_sound(BUCKETS_MAX + 1))
            && self.series.len() <= SERIES_MAX + 1
            && self.series.iter().chain([&self.stack]).all(|name| name.len() <= NAME_BYTES_MAX)
            && self.classes.is_of(buckets, self.series.len(), total)
            && self.bands.as_ref().is_none_or(|bands| bands.0.is_of(buckets, BANDS, total))
    }

    /// True if each status comes once, and they are of no more rows than that.
    fn are_statuses_once(&self, total: u64) -> bool {
        let sum = self.status.iter().try_fold(0u64, |sum, row| sum.checked_add(row.hits));
        let values: HashSet<&str> = self.status.iter().map(|row| &*row.value).collect();
        values.len() == self.status.len() && sum.is_some_and(|sum| sum <= total)
    }

    /// True if they are over the axis that was asked for.
    #[must_use]
    pub fn is_over(&self, times_us: Option<(i64, i64)>, buckets: usize) -> bool {
        self.axis == SharedAxes { times_us, ..SharedAxes::default() }.axis(buckets)
    }

    /// Marks sums whose parts may be of different moments.
    pub fn mark_inexact(&mut self) {
        self.exact = false;
    }

    /// The same without rows by how long they took, and these.
    #[must_use]
    pub fn without_bands(mut self) -> (Self, Option<BandsPart>) {
        let bands = self.bands.take();
        (self, bands)
    }

    /// Adds rows by how long they took; false where they are over another axis. Where rows came
    /// between both parts there may be more of them than were counted: the sums are marked then.
    #[must_use]
    pub fn take_bands(&mut self, bands: &BandsPart) -> bool {
        let buckets = self.axis.map_or(0, |axis| axis.buckets);
        let is_of = bands.0.is_of(buckets, BANDS, STORE_ROWS_MAX);
        if is_of {
            self.exact &= bands.0.is_of(buckets, BANDS, self.lines.total);
            self.add_bands(Some(bands));
        }
        is_of
    }

    fn add_bands(&mut self, other: Option<&BandsPart>) {
        match (&mut self.bands, other) {
            (Some(own), Some(other)) => own.0.take(&other.0),
            (None, Some(other)) => self.bands = Some(other.clone()),
            (_, None) => {}
        }
    }

    /// Adds the sums of another store; false where they are over another axis or by other series.
    #[must_use]
    pub fn take(&mut self, other: &Self) -> bool {
        let shorter = self.series.len().min(other.series.len());
        if self.bands.is_some() != other.bands.is_some()
            || self.axis != other.axis
            || self.series[..shorter] != other.series[..shorter]
        {
            return false;
        }
        if other.series.len() > self.series.len() {
            self.classes = self.classes.widened(other.series.len());
            self.series.clone_from(&other.series);
        }
        self.classes.take(&other.classes.widened(self.series.len()));
        self.add_bands(other.bands.as_ref());
        self.rows.total += other.rows.total;
        self.rows.dropped += other.rows.dropped;
        self.exact &= other.exact;
        self.lines.total += other.lines.total;
        self.lines.parsed += other.lines.parsed;
        self.lines.repaired += other.lines.repaired;
        self.lines.rejected += other.lines.rejected;
        self.bytes_sent = self.bytes_sent.saturating_add(other.bytes_sent);
        add(&mut self.bots, other.bots);
        add(&mut self.people, other.people);
        add(&mut self.unknown, other.unknown);
        self.spreads.take(&other.spreads);
        self.take_statuses(&other.status);
        true
    }

    /// Makes all rows those without a value of a column that has these series.
    pub fn unstack(&mut self, stack: &str, series: &[String]) {
        let buckets = self.axis.map_or(0, |axis| axis.buckets);
        self.classes = self.classes.joined_into_last(buckets, series.len() + 1);
        self.series = series.iter().cloned().chain([REST.to_owned()]).collect();
        stack.clone_into(&mut self.stack);
    }

    fn take_statuses(&mut self, others: &[StatusRow]) {
        for other in others {
            match self.status.iter_mut().find(|row| row.value == other.value) {
                Some(row) => {
                    row.hits = row.hits.saturating_add(other.hits);
                    row.bytes = row.bytes.saturating_add(other.bytes);
                }
                None => self.status.push(other.clone()),
            }
        }
        self.status.sort_by(|a, b| b.hits.cmp(&a.hits).then_with(|| a.value.cmp(&b.value)));
    }

    /// A stretch of the panel of statuses.
    #[must_use]
    pub fn status_page(&self, wanted: &PanelWanted) -> PanelPage {
        status_page(&self.status, wanted, self.exact)
    }

    /// Buckets of time with rows: start in Unix seconds, width, and rows.
    #[must_use]
    pub fn buckets(&self) -> Vec<(i64, i64, u64)> {
        let Some(axis) = self.axis else { return Vec::new() };
        let bucket = |bucket: usize| (axis.start(bucket), axis.width_seconds, self.classes.bucket(bucket).iter().sum());
        (0..axis.buckets).map(bucket).filter(|(_, _, rows)| *rows > 0).collect()
    }

    pub(super) fn status_rows(&self) -> &[StatusRow] {
        &self.status
    }

    pub(super) fn spreads(&self) -> &Distributions {
        &self.spreads
    }

    /// True if all counts are exact.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.exact
    }

    /// The sum of the response sizes.
    #[must_use]
    pub fn bytes_sent(&self) -> u64 {
        self.bytes_sent
    }

    /// Rows over time.
    #[must_use]
    pub fn histogram(&self) -> Option<ViewHistogram> {
        self.over_time().histogram()
    }

    fn over_time(&self) -> RowsOverTime<'_> {
        RowsOverTime {
            axis: self.axis,
            stack: &self.stack,
            names: &self.series,
            classes: &self.classes,
            bands: self.bands.as_ref().map(|bands| &bands.0),
        }
    }

    /// Rows by their outcome.
    #[must_use]
    pub fn lines(&self) -> Outcomes {
        self.lines
    }

    /// The view, with its panels, the numbers of its own columns, and its filter as it is written.
    #[must_use]
    pub fn into_result(self, filter: String, panels: Vec<Panel>, numbers: Vec<NumberSummary>) -> ViewResult {
        let clients = TextColumn::CLIENT;
        let client = rorqual_accesslog::schema::Schema::access_log().text_name(clients);
        let clients = panels.iter().find(|panel| panel.field == client).map(|panel| panel.distinct);
        let over_time = self.over_time();
        let (histogram, latency) = (over_time.histogram(), over_time.latency());
        ViewResult {
            filter,
            rows: self.rows,
            lines: self.lines,
            bytes_sent: self.bytes_sent,
            exact: self.exact,
            time: self.spreads.time_range(),
            histogram,
            latency,
            status: self.status,
            clients: clients.unwrap_or(Distinct { distinct: 0, exact: true, error: 0.0 }),
            bots: self.bots,
            people: self.people,
            unknown: self.unknown,
            panels,
            facets: Vec::new(),
            percentiles: self.spreads.percentiles(),
            numbers,
            number_facets: Vec::new(),
            week: self.spreads.week_rows(),
        }
    }
}

fn add(sum: &mut Amounts, other: Amounts) {
    sum.hits += other.hits;
    sum.bytes = sum.bytes.saturating_add(other.bytes);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn sums() -> ViewSums {
        let axis = Axis::new(1 << 63, (1 << 63) + 9_000_000, 20);
        let series = vec!["2xx".to_owned(), "other".to_owned()];
        let (mut classes, bands) = (Grid::new(axis.buckets, 2), Grid::new(axis.buckets, BANDS));
        classes = serde_json::from_value(with(&serde_json::to_value(&classes).unwrap(), "/counts/0", json!(3))).unwrap();
        ViewSums {
            generation: 1,
            rows: RowCounts { total: 9, dropped: 0 },
            exact: true,
            lines: Outcomes { total: 3, parsed: 3, repaired: 0, rejected: 0 },
            bytes_sent: u64::MAX - 1,
            bots: Amounts { hits: 1, bytes: 2 },
            people: Amounts { hits: 2, bytes: 3 },
            unknown: Amounts::default(),
            status: vec![StatusRow { value: "200".to_owned(), hits: 3, bytes: 9 }],
            spreads: Distributions::default(),
            axis: Some(axis),
            stack: "class".to_owned(),
            series,
            classes,
            bands: Some(BandsPart(bands)),
        }
    }

    #[test]
    fn bands_of_more_rows_than_were_counted_are_taken_and_marked() {
        let bands = |rows: u64| {
            let grid = sums().bands.expect("bands");
            let grid = serde_json::to_value(&grid).unwrap();
            serde_json::from_value::<BandsPart>(with(&grid, "/counts/0", json!(rows))).unwrap()
        };
        for (rows, exact) in [(3, true), (4, false)] {
            let (mut own, _) = sums().without_bands();
            assert!(own.take_bands(&bands(rows)));
            assert_eq!(own.is_exact(), exact);
        }
        let (mut own, _) = sums().without_bands();
        assert!(!own.take_bands(&bands(u64::MAX)));
        assert!(!own.take_bands(&BandsPart(Grid::new(1, BANDS))));
    }

    #[test]
    fn sums_over_another_axis_than_was_asked_for_are_known() {
        let times = Some((0, 9_000_000));
        assert!(sums().is_over(times, 20) && !sums().is_over(times, 2) && !sums().is_over(None, 20));
    }

    fn with(value: &Value, pointer: &str, new: Value) -> Value {
        let mut value = value.clone();
        *value.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = new;
        value
    }

    #[test]
    fn sums_are_added_and_stay_at_their_most() {
        let mut both = sums();
        assert!(both.take(&sums()));
        assert_eq!((both.rows.total, both.lines.total, both.bytes_sent), (18, 6, u64::MAX));
        assert_eq!((both.status[0].hits, both.classes.bucket(0)), (6, &[6, 0][..]));
        assert_eq!(both.buckets(), [(0, 1, 6)]);
    }

    #[test]
    fn sums_that_lie_are_refused() {
        let told = serde_json::to_value(sums()).unwrap();
        let read = |value: Value| serde_json::from_value::<ViewSums>(value).ok().filter(ViewSums::is_sound);
        assert!(read(told.clone()).is_some());
        for (pointer, lie) in [
            ("/rows/total", json!(u64::MAX)),
            ("/rows/dropped", json!(u64::MAX)),
            ("/lines/total", json!(10)),
            ("/lines/rejected", json!(4)),
            ("/bots/hits", json!(4)),
            ("/status/0/hits", json!(4)),
            ("/status/0/value", json!("a long status")),
            ("/status", json!([{"value": "200", "hits": 1, "bytes": 9}, {"value": "200", "hits": 1, "bytes": 9}])),
            ("/status", json!([{"value": "200", "hits": 2, "bytes": 9}, {"value": "404", "hits": 2, "bytes": 9}])),
            ("/spreads/week", json!([1])),
            ("/spreads/bytes/count", json!(7)),
            ("/axis/width_seconds", json!(0)),
            ("/axis/buckets", json!(u32::MAX)),
            ("/axis/first", json!(i64::MAX)),
            ("/series", json!(["2xx"])),
            ("/classes/counts/1", json!(u64::MAX)),
            ("/classes/counts", json!([3])),
            ("/classes/columns", json!(0)),
            ("/bands/columns", json!(usize::MAX)),
            ("/bytes_sent", json!(-1)),
            ("/exact", json!("yes")),
        ] {
            assert!(read(with(&told, pointer, lie)).is_none(), "{pointer}");
        }
        // Sums over another axis, or by other series, can't be added.
        let mut own = sums();
        let other = ViewSums { axis: None, ..sums() };
        assert!(!own.take(&other));
        assert!(!own.take(&sums().without_bands().0));
        assert!(!own.take(&ViewSums { series: vec!["bot".to_owned(), "human".to_owned()], ..sums() }));
    }
}

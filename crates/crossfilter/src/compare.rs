//! Two views side by side.

use crate::columns::{STATUS, source};
use crate::dictionary::NONE;
use crate::evidence::Evidence;
use crate::number_buckets::Threshold;
use crate::number_spread::NumberSpread;
use crate::panel_counts::amounts_of;
use crate::sparse_counts::SparseCounts;
use crate::statuses::{STATUS_FIELD, STATUS_TITLE};
use crate::store::RowStore;
use crate::sums::Distributions;
use crate::top::shown;
use crate::view::{Stack, View, ViewError, ViewParts, ViewResult};
use crate::view_cache::CountedViews;
use rorqual_accesslog::LogHistogram;
use rorqual_accesslog::schema::{NumberColumn, NumberUnit, Schema, TextColumn};
use rorqual_pipe::Control;
use serde::Serialize;
use std::borrow::Cow;
use std::cmp::Ordering;

/// Quantiles of both views together whose numbers are compared.
const QUANTILES: [u64; 4] = [50, 75, 90, 99];

/// Two views: each whole, and panel by panel with the values of both.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// The first view.
    pub a: ViewResult,
    /// The second view.
    pub b: ViewResult,
    /// True if all counts are exact: no row was dropped, and every value had room.
    pub exact: bool,
    /// Values whose shares differ most significantly, by status first and then by panel.
    pub panels: Vec<ComparedPanel>,
}

/// A panel of two views.
#[derive(Debug, Clone, Serialize)]
pub struct ComparedPanel {
    /// Name for programs.
    pub field: Cow<'static, str>,
    /// Name for people.
    pub title: Cow<'static, str>,
    /// The most significant difference of shares first.
    pub rows: Vec<ComparedRow>,
}

/// A value in two views.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct ComparedRow {
    /// The value as in the log.
    pub value: String,
    /// Rows of the first view.
    pub hits_a: u64,
    /// Rows of the second view.
    pub hits_b: u64,
    /// Response sizes of the first view.
    pub bytes_a: u64,
    /// Response sizes of the second view.
    pub bytes_b: u64,
    /// Its share of the second view's rows less its share of the first's, -1 to 1.
    pub share_difference: f64,
    /// The G statistic of the two shares, twice the logarithm of the likelihood ratio, by which
    /// values are ranked: a small share that grows tenfold is above a large one that varies.
    pub g: f64,
}

/// The rows that a first view is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComparisonBase {
    /// All rows of the second view.
    View,
    /// Rows of the second view that are not in the first. All of the first must be within the
    /// second, which is not checked: the order means nothing otherwise. Only the order and G use
    /// these rows; counts and shares are those of the whole second view.
    Rest,
}

/// Rows of two views, and how the first is compared with the second.
#[derive(Debug, Clone, Copy)]
pub struct ComparedRows {
    rows: [u64; 2],
    base: ComparisonBase,
}

/// Significance of the difference of a value's shares, and its rows, by which values are ranked.
pub(crate) type Rank = (f64, u64);

/// The most significant first, then the one with most rows.
pub(crate) fn by_rank(a: &Rank, b: &Rank) -> Ordering {
    b.0.total_cmp(&a.0).then_with(|| b.1.cmp(&a.1))
}

impl ComparedRows {
    /// The rows of two views: `rows` of the first and of the second.
    #[must_use]
    pub fn new(rows: [u64; 2], base: ComparisonBase) -> Self {
        Self { rows, base }
    }

    /// Rows of the base, by those of both views.
    fn of_base(&self, [a, b]: [u64; 2]) -> u64 {
        match self.base {
            ComparisonBase::View => b,
            ComparisonBase::Rest => b.saturating_sub(a),
        }
    }

    /// The G statistic of a value with so many rows in both views.
    fn g(&self, hits: [u64; 2]) -> f64 {
        // Of a log that grows, rows of a value may be of a later moment than all rows are.
        let (rows_in, rows_out) = (self.rows[0], self.of_base(self.rows));
        Evidence { hits_in: hits[0].min(rows_in), rows_in, hits_out: self.of_base(hits).min(rows_out), rows_out }.g()
    }

    /// The rank of a value with so many rows in both views.
    pub(crate) fn rank(&self, hits: [u64; 2]) -> Rank {
        (self.g(hits), hits[0].saturating_add(self.of_base(hits)))
    }

    /// All of some counts, each in both views, that quantiles are taken of.
    fn together<C: Clone>(&self, [a, b]: [&C; 2], take: impl Fn(&mut C, &C)) -> C {
        let mut all = b.clone();
        if self.base == ComparisonBase::View {
            take(&mut all, a);
        }
        all
    }

    /// Share of the second view's rows less that of the first's.
    fn share_difference(&self, hits: [u64; 2]) -> f64 {
        let share = |side: usize| hits[side] as f64 / self.rows[side].max(1) as f64;
        share(1) - share(0)
    }

    /// A value with so many rows and bytes in both views.
    pub(crate) fn row(&self, value: String, hits: [u64; 2], bytes: [u64; 2]) -> ComparedRow {
        ComparedRow {
            value,
            hits_a: hits[0],
            hits_b: hits[1],
            bytes_a: bytes[0],
            bytes_b: bytes[1],
            share_difference: self.share_difference(hits),
            g: self.g(hits),
        }
    }
}

impl RowStore {
    /// Two views side by side, with at most `wanted.top` rows in each panel: those whose shares
    /// differ most significantly.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn compare(
        &self,
        [a, b]: [&View; 2],
        base: ComparisonBase,
        wanted: &ViewParts,
        control: &Control,
    ) -> Result<Compared, ViewError> {
        self.asked(|| self.side_by_side(a, b, base, wanted, control))
    }

    fn side_by_side(
        &self,
        a: &View,
        b: &View,
        base: ComparisonBase,
        wanted: &ViewParts,
        control: &Control,
    ) -> Result<Compared, ViewError> {
        let [counted_a, counted_b] = self.counted_together([a, b], wanted.buckets, wanted.stack, control)?;
        let (viewed_a, viewed_b) = (self.viewed(a, &counted_a, wanted.top), self.viewed(b, &counted_b, wanted.top));
        let rows = ComparedRows::new([counted_a.sums.all.hits, counted_b.sums.all.hits], base);
        let panel = |column: &TextColumn| self.compared(&counted_a, &counted_b, *column, rows, wanted.top);
        let status = [compared_status(&counted_a, &counted_b, rows, wanted.top)];
        let measures = compared_measures(&self.schema(), [&counted_a.spreads, &counted_b.spreads], rows, wanted.top);
        let numbers = self.compared_numbers(&counted_a, &counted_b, rows, wanted.top);
        let schema = self.schema();
        let panels = status.into_iter().chain(schema.panels().iter().map(panel)).chain(measures).chain(numbers);
        let panels = panels.filter(|panel| !panel.rows.is_empty()).collect();
        let is_whole = |viewed: &ViewResult| viewed.exact && viewed.panels.iter().all(|panel| panel.exact);
        let exact = is_whole(&viewed_a) && is_whole(&viewed_b);
        Ok(Compared { a: viewed_a, b: viewed_b, exact, panels })
    }

    /// The schema's own columns of numbers: the rows that have at least some number.
    fn compared_numbers(&self, a: &CountedViews, b: &CountedViews, rows: ComparedRows, top: usize) -> Vec<ComparedPanel> {
        let schema = self.schema();
        let panel = |(number, (own_a, own_b)): (usize, (&NumberSpread, &NumberSpread))| {
            let column = NumberColumn::own(number);
            compared_numbers(schema.number_name(column), schema.unit(column), [own_a, own_b], rows, top)
        };
        a.spreads.own.iter().zip(&b.spreads.own).enumerate().map(panel).collect()
    }

    fn compared(&self, a: &CountedViews, b: &CountedViews, field: TextColumn, rows: ComparedRows, top: usize) -> ComparedPanel {
        let (index, derived) = source(field);
        let tables = self.dictionaries[index].lock();
        let of_a = amounts_of(a.sums.column(index), &tables, derived);
        let of_b = amounts_of(b.sums.column(index), &tables, derived);
        let sides = Sides { a: &of_a, b: &of_b, rows };
        let text = |code: u32| tables.text_of(derived, code);
        let row = |code: u32| sides.row(code, shown(text(code)));
        let (title, field) = (self.schema().title(field), self.schema().text_name(field));
        ComparedPanel {
            field,
            title,
            rows: sides.top(|code| tables.is_value(derived, code), text, top).into_iter().map(row).collect(),
        }
    }
}

fn compared_status(a: &CountedViews, b: &CountedViews, rows: ComparedRows, top: usize) -> ComparedPanel {
    let sides = Sides { a: a.sums.column(STATUS), b: b.sums.column(STATUS), rows };
    // 0 is the absent status.
    let rows = sides
        .top(|status| status > NONE, |status| status, top)
        .into_iter()
        .map(|status| sides.row(status, status.to_string()))
        .collect();
    ComparedPanel { field: STATUS_FIELD.into(), title: STATUS_TITLE.into(), rows }
}

/// Measures of access logs in two views of so many rows: the rows that have at least some number.
pub(crate) fn compared_measures(
    schema: &Schema,
    [a, b]: [&Distributions; 2],
    rows: ComparedRows,
    top: usize,
) -> Vec<ComparedPanel> {
    let columns = [(NumberColumn::REQUEST_TIME, 1e6), (NumberColumn::UPSTREAM_TIME, 1e6), (NumberColumn::BYTES, 1.0)];
    let panel = |((column, divisor), (of_a, of_b)): ((NumberColumn, f64), (&LogHistogram, &LogHistogram))| {
        let both = rows.together([of_a, of_b], LogHistogram::take);
        let row = |start: &u64| at_least(*start as f64 / divisor, [of_a, of_b].map(|spread| spread.hits_from(*start)), rows);
        let listed = both.bucket_starts(&QUANTILES).iter().map(row).collect();
        number_panel(schema.number_name(column), listed, top)
    };
    columns.into_iter().zip(measures(a).into_iter().zip(measures(b))).map(panel).collect()
}

/// Numbers of a column in two views of so many rows: the rows that have at least some number.
pub(crate) fn compared_numbers(
    field: Cow<'static, str>,
    unit: NumberUnit,
    [a, b]: [&NumberSpread; 2],
    rows: ComparedRows,
    top: usize,
) -> ComparedPanel {
    let (a, b) = a.alike(b);
    let both = rows.together([&a, &b], NumberSpread::take);
    let row = |threshold: &Threshold| {
        let hits = [&a, &b].map(|own| own.hits_from(threshold.value, unit));
        at_least(threshold.value, hits, rows)
    };
    let thresholds = if unit == NumberUnit::Moment { Vec::new() } else { both.nearest_thresholds(unit, &QUANTILES) };
    number_panel(field, thresholds.iter().map(row).collect(), top)
}

fn number_panel(field: Cow<'static, str>, mut rows: Vec<ComparedRow>, top: usize) -> ComparedPanel {
    // Lower thresholds come first where two are as significant.
    rows.sort_by(|x, y| y.g.total_cmp(&x.g));
    rows.truncate(top);
    ComparedPanel { title: field.clone(), field, rows }
}

/// The measures of access logs.
fn measures(spreads: &Distributions) -> [&LogHistogram; 3] {
    [&spreads.request_time, &spreads.upstream_time, &spreads.bytes]
}

/// The rows of both views that have at least some number.
fn at_least(value: f64, hits: [u64; 2], rows: ComparedRows) -> ComparedRow {
    rows.row(format!(">= {value}"), hits, [0; 2])
}

/// Amounts by code of a column in both views, and all rows of these.
struct Sides<'a> {
    a: &'a SparseCounts,
    b: &'a SparseCounts,
    rows: ComparedRows,
}

impl Sides<'_> {
    /// The codes of values whose shares differ most significantly, ties by hits and then by a name,
    /// as codes depend on which thread came first.
    fn top<N: Ord>(&self, is_value: impl Fn(u32) -> bool, name: impl Fn(u32) -> N, count: usize) -> Vec<u32> {
        let only_b = self.b.iter().filter(|(code, _)| self.a.get(*code).hits == 0);
        let codes = self.a.iter().chain(only_b).map(|(code, _)| code).filter(|code| is_value(*code));
        let order =
            |(x, code_x): &(Rank, u32), (y, code_y): &(Rank, u32)| by_rank(x, y).then_with(|| name(*code_x).cmp(&name(*code_y)));
        // At most four times as many as are listed are held, and not all values of the column.
        let mut best = Vec::new();
        let keep_best = |best: &mut Vec<(Rank, u32)>| {
            if best.len() > count {
                best.select_nth_unstable_by(count, order);
                best.truncate(count);
            }
        };
        for code in codes {
            best.push((self.rows.rank([self.a.get(code).hits, self.b.get(code).hits]), code));
            if best.len() >= 4 * count.max(64) {
                keep_best(&mut best);
            }
        }
        keep_best(&mut best);
        best.sort_unstable_by(order);
        best.into_iter().map(|(_, code)| code).collect()
    }

    fn row(&self, code: u32, value: String) -> ComparedRow {
        let (a, b) = (self.a.get(code), self.b.get(code));
        self.rows.row(value, [a.hits, b.hits], [a.bytes, b.bytes])
    }
}

impl Default for ViewParts {
    /// The parts of a report: 100 rows, 400 buckets by class.
    fn default() -> Self {
        Self { top: 100, buckets: 400, stack: Stack::Class, facets: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Statuses of the documents: 0.1 to 2 %, and 90 to 88 % of a thousand rows each.
    #[test]
    fn a_rare_value_that_became_frequent_is_above_a_frequent_one_that_varies() {
        let rows = ComparedRows::new([1_000, 1_000], ComparisonBase::View);
        let (rare, frequent) = ([1, 20], [900, 880]);
        assert!(rows.share_difference(rare).abs() < rows.share_difference(frequent).abs());
        assert!(by_rank(&rows.rank(rare), &rows.rank(frequent)).is_lt());
    }

    #[test]
    fn g_is_a_number_for_any_counts() {
        let counts = [0, 1, 2, 50, 1 << 56];
        let pairs = || counts.iter().flat_map(|a| counts.iter().map(|b| [*a, *b]));
        for base in [ComparisonBase::View, ComparisonBase::Rest] {
            for (rows, hits) in pairs().flat_map(|rows| pairs().map(move |hits| (rows, hits))) {
                let row = ComparedRows::new(rows, base).row(String::new(), hits, [0; 2]);
                assert!(row.g.is_finite() && row.g >= 0.0, "{base:?} {rows:?} {hits:?}: {}", row.g);
            }
        }
    }
}

//! Two views side by side.

use crate::columns::{STATUS, source};
use crate::dictionary::NONE;
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
    /// Values whose shares differ most, by status first and then by panel.
    pub panels: Vec<ComparedPanel>,
}

/// A panel of two views.
#[derive(Debug, Clone, Serialize)]
pub struct ComparedPanel {
    /// Name for programs.
    pub field: Cow<'static, str>,
    /// Name for people.
    pub title: Cow<'static, str>,
    /// The largest difference of shares first.
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
}

impl RowStore {
    /// Two views side by side, with at most `wanted.top` rows in each panel: those whose shares
    /// differ most.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn compare(&self, a: &View, b: &View, wanted: &ViewParts, control: &Control) -> Result<Compared, ViewError> {
        self.asked(|| self.side_by_side(a, b, wanted, control))
    }

    fn side_by_side(&self, a: &View, b: &View, wanted: &ViewParts, control: &Control) -> Result<Compared, ViewError> {
        let [counted_a, counted_b] = self.counted_together([a, b], wanted.buckets, wanted.stack, control)?;
        let (viewed_a, viewed_b) = (self.viewed(a, &counted_a, wanted.top), self.viewed(b, &counted_b, wanted.top));
        let panel = |column: &TextColumn| self.compared(&counted_a, &counted_b, *column, wanted.top);
        let status = [compared_status(&counted_a, &counted_b, wanted.top)];
        let measures = self.compared_measures(&counted_a, &counted_b, wanted.top);
        let numbers = self.compared_numbers(&counted_a, &counted_b, wanted.top);
        let schema = self.schema();
        let panels = status.into_iter().chain(schema.panels().iter().map(panel)).chain(measures).chain(numbers);
        let panels = panels.filter(|panel| !panel.rows.is_empty()).collect();
        let is_whole = |viewed: &ViewResult| viewed.exact && viewed.panels.iter().all(|panel| panel.exact);
        let exact = is_whole(&viewed_a) && is_whole(&viewed_b);
        Ok(Compared { a: viewed_a, b: viewed_b, exact, panels })
    }

    /// Measures of access logs: the rows that have at least some number.
    fn compared_measures(&self, a: &CountedViews, b: &CountedViews, top: usize) -> Vec<ComparedPanel> {
        compared_measures(&self.schema(), [&a.spreads, &b.spreads], [rows(a), rows(b)], top)
    }

    /// The schema's own columns of numbers: the rows that have at least some number.
    fn compared_numbers(&self, a: &CountedViews, b: &CountedViews, top: usize) -> Vec<ComparedPanel> {
        let schema = self.schema();
        let panel = |(number, (own_a, own_b)): (usize, (&NumberSpread, &NumberSpread))| {
            let column = NumberColumn::own(number);
            compared_numbers(schema.number_name(column), schema.unit(column), [own_a, own_b], [rows(a), rows(b)], top)
        };
        a.spreads.own.iter().zip(&b.spreads.own).enumerate().map(panel).collect()
    }

    fn compared(&self, a: &CountedViews, b: &CountedViews, field: TextColumn, top: usize) -> ComparedPanel {
        let (index, derived) = source(field);
        let tables = self.dictionaries[index].lock();
        let of_a = amounts_of(a.sums.column(index), &tables, derived);
        let of_b = amounts_of(b.sums.column(index), &tables, derived);
        let sides = Sides { a: &of_a, b: &of_b, rows_a: rows(a), rows_b: rows(b) };
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

fn compared_status(a: &CountedViews, b: &CountedViews, top: usize) -> ComparedPanel {
    let sides = Sides { a: a.sums.column(STATUS), b: b.sums.column(STATUS), rows_a: rows(a), rows_b: rows(b) };
    // 0 is the absent status.
    let rows = sides
        .top(|status| status > NONE, |status| status, top)
        .into_iter()
        .map(|status| sides.row(status, status.to_string()))
        .collect();
    ComparedPanel { field: STATUS_FIELD.into(), title: STATUS_TITLE.into(), rows }
}

/// Measures of access logs in two views of so many rows: the rows that have at least some number.
pub(crate) fn compared_measures(schema: &Schema, [a, b]: [&Distributions; 2], rows: [u64; 2], top: usize) -> Vec<ComparedPanel> {
    let columns = [(NumberColumn::REQUEST_TIME, 1e6), (NumberColumn::UPSTREAM_TIME, 1e6), (NumberColumn::BYTES, 1.0)];
    let panel = |((column, divisor), (of_a, of_b)): ((NumberColumn, f64), (&LogHistogram, &LogHistogram))| {
        let mut both = of_a.clone();
        both.take(of_b);
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
    rows: [u64; 2],
    top: usize,
) -> ComparedPanel {
    let (a, b) = a.alike(b);
    let mut both = a.clone();
    both.take(&b);
    let row = |threshold: &Threshold| {
        let hits = [&a, &b].map(|own| own.hits_from(threshold.value, unit));
        at_least(threshold.value, hits, rows)
    };
    let thresholds = if unit == NumberUnit::Moment { Vec::new() } else { both.nearest_thresholds(unit, &QUANTILES) };
    number_panel(field, thresholds.iter().map(row).collect(), top)
}

fn number_panel(field: Cow<'static, str>, mut rows: Vec<ComparedRow>, top: usize) -> ComparedPanel {
    rows.sort_by(|x, y| y.share_difference.abs().total_cmp(&x.share_difference.abs()));
    rows.truncate(top);
    ComparedPanel { title: field.clone(), field, rows }
}

/// Share of one view's rows less that of the other's.
pub(crate) fn share_difference([hits_a, hits_b]: [u64; 2], [rows_a, rows_b]: [u64; 2]) -> f64 {
    let share = |hits: u64, rows: u64| hits as f64 / rows.max(1) as f64;
    share(hits_b, rows_b) - share(hits_a, rows_a)
}

/// The measures of access logs.
fn measures(spreads: &Distributions) -> [&LogHistogram; 3] {
    [&spreads.request_time, &spreads.upstream_time, &spreads.bytes]
}

/// The rows of both views that have at least some number.
fn at_least(value: f64, [hits_a, hits_b]: [u64; 2], [rows_a, rows_b]: [u64; 2]) -> ComparedRow {
    let share_difference = share_difference([hits_a, hits_b], [rows_a, rows_b]);
    ComparedRow { value: format!(">= {value}"), hits_a, hits_b, bytes_a: 0, bytes_b: 0, share_difference }
}

fn rows(counted: &CountedViews) -> u64 {
    counted.sums.all.hits
}

/// Amounts by code of a column in both views, and all rows of these.
struct Sides<'a> {
    a: &'a SparseCounts,
    b: &'a SparseCounts,
    rows_a: u64,
    rows_b: u64,
}

impl Sides<'_> {
    /// The codes of values whose shares differ most, ties by hits, and then by a name: codes depend
    /// on which thread came first.
    fn top<N: Ord>(&self, is_value: impl Fn(u32) -> bool, name: impl Fn(u32) -> N, count: usize) -> Vec<u32> {
        let only_b = self.b.iter().filter(|(code, _)| self.a.get(*code).hits == 0);
        let mut codes: Vec<u32> = self.a.iter().chain(only_b).map(|(code, _)| code).filter(|code| is_value(*code)).collect();
        let hits = |code: &u32| self.hits(*code).0 + self.hits(*code).1;
        let order = |x: &u32, y: &u32| {
            let by_share = self.difference(*y).abs().total_cmp(&self.difference(*x).abs());
            by_share.then_with(|| hits(y).cmp(&hits(x))).then_with(|| name(*x).cmp(&name(*y)))
        };
        if codes.len() > count {
            codes.select_nth_unstable_by(count, order);
            codes.truncate(count);
        }
        codes.sort_unstable_by(order);
        codes
    }

    fn hits(&self, code: u32) -> (u64, u64) {
        (self.a.get(code).hits, self.b.get(code).hits)
    }

    fn difference(&self, code: u32) -> f64 {
        let (a, b) = self.hits(code);
        share_difference([a, b], [self.rows_a, self.rows_b])
    }

    fn row(&self, code: u32, value: String) -> ComparedRow {
        let (a, b) = (self.a.get(code), self.b.get(code));
        ComparedRow {
            value,
            hits_a: a.hits,
            hits_b: b.hits,
            bytes_a: a.bytes,
            bytes_b: b.bytes,
            share_difference: self.difference(code),
        }
    }
}

impl Default for ViewParts {
    /// The parts of a report: 100 rows, 400 buckets by class.
    fn default() -> Self {
        Self { top: 100, buckets: 400, stack: Stack::Class, facets: false }
    }
}

//! Two views side by side.

use crate::columns::{STATUS, STATUSES, source};
use crate::counted::Counted;
use crate::dictionary::OTHERS;
use crate::panels::{PANELS, amounts_of, shown};
use crate::store::Store;
use crate::sums::Amount;
use crate::view::{Stack, View, ViewError, Viewed, Wanted, column};
use rorqual_pipe::Control;
use rorqual_table::filter::{NumberColumn, TextColumn};
use serde::Serialize;

/// Two views: each whole, and panel by panel with the values of both.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// The first view.
    pub a: Viewed,
    /// The second view.
    pub b: Viewed,
    /// Values whose shares differ most, by status first and then by panel.
    pub panels: Vec<ComparedPanel>,
}

/// A panel of two views.
#[derive(Debug, Clone, Serialize)]
pub struct ComparedPanel {
    /// Name for programs.
    pub field: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// The largest difference of shares first.
    pub rows: Vec<ComparedRow>,
}

/// A value in two views.
#[derive(Debug, Clone, Serialize, PartialEq)]
pub struct ComparedRow {
    /// As in the log.
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

impl Store {
    /// Two views side by side, with at most `wanted.top` rows in each panel: those whose shares differ most.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn compare(&self, a: &View, b: &View, wanted: &Wanted, control: &Control) -> Result<Compared, ViewError> {
        let (viewed_a, viewed_b) = (self.view(a, wanted, control)?, self.view(b, wanted, control)?);
        let counted_a = self.counted(a, wanted.buckets, wanted.stack, control)?;
        let counted_b = self.counted(b, wanted.buckets, wanted.stack, control)?;
        let panel =
            |(column, title): &(TextColumn, &'static str)| self.compared(&counted_a, &counted_b, *column, title, wanted.top);
        let status = [compared_status(&counted_a, &counted_b, wanted.top)];
        let panels = status.into_iter().chain(PANELS.iter().map(panel)).filter(|panel| !panel.rows.is_empty()).collect();
        Ok(Compared { a: viewed_a, b: viewed_b, panels })
    }

    fn compared(&self, a: &Counted, b: &Counted, field: TextColumn, title: &'static str, top: usize) -> ComparedPanel {
        let (index, derived) = source(field);
        let tables = self.dictionaries[index].lock();
        let of = |counted: &Counted| {
            let mut amounts = amounts_of(column(counted, index), &tables, derived);
            amounts.resize(tables.len_of(derived), Amount::default());
            amounts
        };
        let sides = Sides { a: of(a), b: of(b), rows_a: rows(a), rows_b: rows(b) };
        let text = |code: u32| tables.text_of(derived, code);
        let row = |code: u32| sides.row(code, shown(text(code)));
        ComparedPanel { field: field.name(), title, rows: sides.top(OTHERS + 1, top).into_iter().map(row).collect() }
    }
}

fn compared_status(a: &Counted, b: &Counted, top: usize) -> ComparedPanel {
    let of = |counted: &Counted| {
        let mut amounts = column(counted, STATUS).to_vec();
        amounts.resize(STATUSES, Amount::default());
        amounts
    };
    let sides = Sides { a: of(a), b: of(b), rows_a: rows(a), rows_b: rows(b) };
    // 0 is the absent status.
    let rows = sides.top(1, top).into_iter().map(|status| sides.row(status, status.to_string())).collect();
    ComparedPanel { field: NumberColumn::Status.name(), title: "Statuses", rows }
}

fn rows(counted: &Counted) -> u64 {
    counted.sums.all.hits
}

/// Amounts by code of a column in both views, and all rows of these.
struct Sides {
    a: Vec<Amount>,
    b: Vec<Amount>,
    rows_a: u64,
    rows_b: u64,
}

impl Sides {
    /// The codes from `first` on whose shares differ most, ties by hits.
    fn top(&self, first: u32, count: usize) -> Vec<u32> {
        let hits = |code: &u32| self.hits(*code).0 + self.hits(*code).1;
        let mut codes: Vec<u32> = (first..self.a.len() as u32).filter(|code| hits(code) > 0).collect();
        let order = |x: &u32, y: &u32| {
            let by_share = self.difference(*y).abs().total_cmp(&self.difference(*x).abs());
            by_share.then_with(|| hits(y).cmp(&hits(x))).then_with(|| x.cmp(y))
        };
        if codes.len() > count {
            codes.select_nth_unstable_by(count, order);
            codes.truncate(count);
        }
        codes.sort_unstable_by(order);
        codes
    }

    fn hits(&self, code: u32) -> (u64, u64) {
        (self.a[code as usize].hits, self.b[code as usize].hits)
    }

    fn difference(&self, code: u32) -> f64 {
        let share = |hits: u64, rows: u64| hits as f64 / rows.max(1) as f64;
        let (a, b) = self.hits(code);
        share(b, self.rows_b) - share(a, self.rows_a)
    }

    fn row(&self, code: u32, value: String) -> ComparedRow {
        let (a, b) = (self.a[code as usize], self.b[code as usize]);
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

impl Default for Wanted {
    /// As a report: 100 rows, 400 buckets by class.
    fn default() -> Self {
        Self { top: 100, buckets: 400, stack: Stack::Class }
    }
}

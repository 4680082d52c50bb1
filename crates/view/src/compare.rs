//! Two views side by side.

use crate::columns::source;
use crate::counted::Counted;
use crate::panels::{PANELS, amounts_of, shown, top_codes};
use crate::store::Store;
use crate::sums::Amount;
use crate::view::{Stack, View, ViewError, Viewed, Wanted, column};
use rorqual_pipe::Control;
use rorqual_table::filter::TextColumn;
use serde::Serialize;

/// Two views: each whole, and panel by panel with the values of both.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// The first view.
    pub a: Viewed,
    /// The second view.
    pub b: Viewed,
    /// The values with most hits in both together.
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
    /// Two views side by side, with at most `wanted.top` rows in each panel.
    ///
    /// # Errors
    /// When it was cancelled, or spilled rows can't be read back.
    pub fn compare(&self, a: &View, b: &View, wanted: &Wanted, control: &Control) -> Result<Compared, ViewError> {
        let (viewed_a, viewed_b) = (self.view(a, wanted, control)?, self.view(b, wanted, control)?);
        let counted_a = self.counted(a, wanted.buckets, wanted.stack, control)?;
        let counted_b = self.counted(b, wanted.buckets, wanted.stack, control)?;
        let panel =
            |(column, title): &(TextColumn, &'static str)| self.compared(&counted_a, &counted_b, *column, title, wanted.top);
        let panels = PANELS.iter().map(panel).filter(|panel| !panel.rows.is_empty()).collect();
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
        let (amounts_a, amounts_b) = (of(a), of(b));
        let mut both = amounts_a.clone();
        both.iter_mut().zip(&amounts_b).for_each(|(sum, amount)| sum.add(*amount));
        let share = |amount: Amount, counted: &Counted| amount.hits as f64 / counted.sums.all.hits.max(1) as f64;
        let row = |code: u32| {
            let (in_a, in_b) = (amounts_a[code as usize], amounts_b[code as usize]);
            ComparedRow {
                value: shown(tables.text_of(derived, code)),
                hits_a: in_a.hits,
                hits_b: in_b.hits,
                bytes_a: in_a.bytes,
                bytes_b: in_b.bytes,
                share_difference: share(in_b, b) - share(in_a, a),
            }
        };
        let codes = top_codes(&both, |code| tables.text_of(derived, code), top);
        let mut rows: Vec<ComparedRow> = codes.into_iter().map(row).collect();
        rows.sort_by(|x, y| y.share_difference.abs().total_cmp(&x.share_difference.abs()));
        ComparedPanel { field: field.name(), title, rows }
    }
}

impl Default for Wanted {
    /// As a report: 100 rows, 400 buckets by class.
    fn default() -> Self {
        Self { top: 100, buckets: 400, stack: Stack::Class }
    }
}

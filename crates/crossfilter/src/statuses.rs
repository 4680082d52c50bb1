//! The panel of statuses.

use crate::columns::STATUS;
use crate::sparse_counts::{RowsAndBytes, SparseCounts};
use crate::view::{PanelPage, PanelWanted, ViewResult};
use crate::view_cache::CountedViews;
use rorqual_accesslog::report::{Distinct, Panel, ReportRow, StatusRow};

/// Name of the panel of statuses, for programs.
pub(crate) const STATUS_FIELD: &str = "status";

/// Name of the panel of statuses, for people.
pub const STATUS_TITLE: &str = "Statuses";

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

impl ViewResult {
    /// The panel of statuses with `top` rows; `None` where no row that is kept has a field.
    #[must_use]
    pub fn status_panel(&self, top: usize) -> Option<Panel> {
        let page = status_page(&self.status, &PanelWanted { search: None, offset: 0, limit: top }, self.exact);
        (!self.panels.is_empty()).then(|| page.titled(STATUS_TITLE.into()))
    }
}

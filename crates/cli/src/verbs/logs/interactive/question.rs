//! Questions of the screen, and their answers.

use super::order::{LineOrder, SORTED_LINES_MAX};
use crate::verbs::logs::explore::FormatRows;
use rorqual_accesslog::filter::Filter;
use rorqual_crossfilter::{
    Breakdown, BreakdownMetric, BreakdownWanted, Explained, FindTarget, FindWanted, LineFormats, RowPage, RowStore, Stack,
    SuggestWanted, Suggestions, UnusualSpans, View, ViewError, ViewParts, ViewResult,
};
use rorqual_pipe::Control;
use std::time::Duration;

/// Rows of each panel, of which a screen shows a part.
pub(super) const PANEL_ROWS: usize = 30;

/// Rows of lists: findings, explanations, suggestions, metrics.
const LIST_ROWS: usize = 50;

/// Longest time for readings of a typed text.
const SUGGEST_TIME: Duration = Duration::from_secs(1);

/// Question of a screen.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum ScreenQuestion {
    /// Panels and histogram, of at most so many buckets; the last is the state of the reading.
    Overview(View, usize, u64),
    Lines(LinesQuestion),
    Find(FindQuestion),
    /// The lines of the first view against the others of the second.
    Explain(View, View),
    Findings,
    /// Metrics of the values of a field, by one of them.
    Metrics(View, String, BreakdownMetric),
    /// Filters that a text may mean.
    Suggest(View, String),
}

/// A page of the lines.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LinesQuestion {
    pub(super) view: View,
    /// `None` is the order of the log.
    pub(super) order: Option<LineOrder>,
    pub(super) offset: u64,
    /// Rows at most.
    pub(super) limit: usize,
    /// State of the reading.
    pub(super) tick: u64,
}

/// A search among lines.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct FindQuestion {
    pub(super) view: View,
    pub(super) order: Option<LineOrder>,
    pub(super) target: LineTarget,
    /// The line that it begins after.
    pub(super) from: Option<u64>,
    pub(super) backwards: bool,
}

/// Line that is looked for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum LineTarget {
    Filter(Filter),
    /// A row by its name.
    Place(String),
}

/// Answer to a question of a screen.
#[derive(Debug)]
pub(super) enum ScreenAnswer {
    Overview(Box<ViewResult>),
    /// Lines, and their order.
    Lines(RowPage, LineOrderNote),
    Found(Option<u64>),
    Explained(Explained),
    Findings(UnusualSpans),
    Metrics(Breakdown),
    Suggested(Suggestions),
}

/// A question, and its answer or the reason for which there is none.
#[derive(Debug)]
pub(super) struct AnsweredQuestion {
    pub(super) question: ScreenQuestion,
    pub(super) answer: Result<ScreenAnswer, String>,
}

impl ScreenQuestion {
    /// Asks the rows; `None` where it was cancelled.
    pub(super) fn ask(&self, rows: &FormatRows, control: &Control) -> Option<Result<ScreenAnswer, String>> {
        let Some(store) = rows.store() else { return Some(Err("no line was read yet".to_owned())) };
        if let Some(error) = self.too_large(store) {
            return Some(Err(error));
        }
        // Rows that workers have at hand are in the next answer.
        store.refresh();
        match self.answer(rows, store, control) {
            Err(ViewError::Cancelled) => None,
            answer => Some(answer.map_err(|error| error.to_string())),
        }
    }

    fn answer(&self, rows: &FormatRows, store: &RowStore, control: &Control) -> Result<ScreenAnswer, ViewError> {
        match self {
            Self::Overview(view, buckets, _) => {
                let wanted = ViewParts { top: PANEL_ROWS, buckets: *buckets, stack: Stack::Class, facets: true };
                store.view(view, &wanted, control).map(Box::new).map(ScreenAnswer::Overview)
            }
            Self::Lines(lines) => lines.answer(rows, store, control),
            Self::Find(find) => find.answer(store, control),
            Self::Explain(view, against) => store.explain(view, against, control).map(ScreenAnswer::Explained),
            Self::Findings => store.unusual(control).map(ScreenAnswer::Findings),
            Self::Metrics(view, field, sort) => {
                let wanted = metrics_wanted(field, *sort);
                store.breakdown(view, &wanted, control).map(ScreenAnswer::Metrics)
            }
            Self::Suggest(view, text) => {
                let known = rows.formats();
                let format = known.first.as_deref();
                let wanted = SuggestWanted { text, format, zone_seconds: 0, limit: 20, time_max: SUGGEST_TIME };
                store.suggest(view, &wanted, control).map(ScreenAnswer::Suggested)
            }
        }
    }

    /// The error for a filter that there is no memory for.
    fn too_large(&self, store: &RowStore) -> Option<String> {
        let filter = match self {
            Self::Overview(view, ..) | Self::Metrics(view, ..) | Self::Suggest(view, _) => &view.filter,
            Self::Explain(view, _) => &view.filter,
            Self::Lines(lines) => &lines.view.filter,
            Self::Find(find) => &find.view.filter,
            Self::Findings => return None,
        };
        let is_too_large = filter.bytes_of_values(store.threads()) > store.filter_bytes_max();
        is_too_large.then(|| "this filter takes more memory than there is for one: give more by --memory".to_owned())
    }
}

/// The order that lines are in.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LineOrderNote {
    /// No other lines may come before.
    pub(super) is_exact: bool,
    /// All lines; an order has the first of them.
    pub(super) lines: u64,
}

impl LinesQuestion {
    fn answer(&self, rows: &FormatRows, store: &RowStore, control: &Control) -> Result<ScreenAnswer, ViewError> {
        let known = rows.formats();
        let formats = LineFormats { first: known.first.as_deref(), of_files: Some(&known.of_files) };
        let (view, offset, limit) = (&self.view, self.offset, self.limit);
        match self.order.as_ref().and_then(|order| order.of_rows(&store.schema())) {
            Some(order) => {
                let sorted = store.sorted_page((view, order), offset, limit, formats, control)?;
                let note = LineOrderNote { is_exact: sorted.exact, lines: sorted.page.total };
                let total = sorted.page.total.min(SORTED_LINES_MAX);
                Ok(ScreenAnswer::Lines(RowPage { total, ..sorted.page }, note))
            }
            None => store.page(view, offset, limit, formats, control).map(|page| {
                let note = LineOrderNote { is_exact: true, lines: page.total };
                ScreenAnswer::Lines(page, note)
            }),
        }
    }
}

impl FindQuestion {
    fn answer(&self, store: &RowStore, control: &Control) -> Result<ScreenAnswer, ViewError> {
        let target = match &self.target {
            LineTarget::Filter(filter) => FindTarget::Filter(filter.clone()),
            LineTarget::Place(place) => FindTarget::Places(vec![place.clone()]),
        };
        let order = self.order.as_ref().and_then(|order| order.of_rows(&store.schema()));
        let wanted = FindWanted { view: &self.view, order, target, from: self.from, backwards: self.backwards };
        store.find(&wanted, control).map(ScreenAnswer::Found)
    }
}

fn metrics_wanted(field: &str, sort: BreakdownMetric) -> BreakdownWanted {
    BreakdownWanted { field: field.to_owned(), sort, show: None, measure: None, limit: LIST_ROWS, trend_buckets: 16 }
}

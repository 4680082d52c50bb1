//! The histogram and the panels: their numbers, and the cursor among them.

use super::question::ScreenQuestion;
use crate::verbs::logs::columns::{TimeColumns, columns};
use rorqual_accesslog::filter::CLASSES;
use rorqual_accesslog::report::{Panel, ReportRow, ReportSeries, TimeHistogram};
use rorqual_crossfilter::{Facet, ViewHistogram, ViewResult};
use std::collections::BTreeMap;

/// A panel as it is shown: under the conditions on other fields, where its own chooses values.
#[derive(Debug)]
pub(super) struct ShownPanel {
    pub(super) panel: Panel,
    /// Values that the filter chooses, or leaves out.
    pub(super) chosen: Vec<String>,
    pub(super) excluded: Vec<String>,
}

/// Numbers of the overview and the cursor.
#[derive(Debug, Default)]
pub(super) struct OverviewScreen {
    /// The question that these numbers answer.
    pub(super) question: Option<ScreenQuestion>,
    pub(super) counted: Option<Box<ViewResult>>,
    pub(super) panels: Vec<ShownPanel>,
    pub(super) columns: Option<TimeColumns>,
    /// Field of the panel with the cursor; `None` is the histogram.
    pub(super) focus: Option<String>,
    /// Row of the cursor in panels that it was in.
    pub(super) rows: BTreeMap<String, usize>,
    /// Time of the cursor in the histogram, in Unix seconds, and of the other end of a span.
    pub(super) cursor: Option<i64>,
    pub(super) mark: Option<i64>,
}

impl OverviewScreen {
    /// Takes an answer, for a histogram of so many columns.
    pub(super) fn answered(&mut self, question: ScreenQuestion, mut counted: Box<ViewResult>, width: usize) {
        self.panels = shown_panels(&mut counted);
        self.question = Some(question);
        self.counted = Some(counted);
        self.plot(width);
        if self.focus.as_ref().is_some_and(|field| self.panel(field).is_none()) {
            self.focus = None;
        }
    }

    /// Makes the columns of the histogram for another width.
    pub(super) fn plot(&mut self, width: usize) {
        let histogram = self.counted.as_ref().and_then(|counted| counted.histogram.as_ref());
        self.columns = histogram.and_then(|histogram| columns(&classes(histogram), width));
    }

    fn panel(&self, field: &str) -> Option<usize> {
        self.panels.iter().position(|shown| shown.panel.field == field)
    }

    /// Place of the focus: 0 is the histogram.
    pub(super) fn focused(&self) -> usize {
        self.focus.as_ref().and_then(|field| self.panel(field)).map_or(0, |place| place + 1)
    }

    /// Goes to the next part, or to the one before.
    pub(super) fn turn(&mut self, forwards: bool) {
        let parts = self.panels.len() + 1;
        let next = (self.focused() + if forwards { 1 } else { parts - 1 }) % parts;
        self.focus = next.checked_sub(1).map(|place| self.panels[place].panel.field.to_string());
    }

    /// The panel with the cursor, and its row there.
    pub(super) fn cursor_row(&self) -> Option<(&ShownPanel, usize)> {
        let field = self.focus.as_ref()?;
        let shown = &self.panels[self.panel(field)?];
        let last = shown.panel.rows.len().checked_sub(1)?;
        Some((shown, self.rows.get(field).copied().unwrap_or(0).min(last)))
    }

    /// The field and the value at the cursor.
    pub(super) fn value(&self) -> Option<(String, String)> {
        let (shown, row) = self.cursor_row()?;
        Some((shown.panel.field.to_string(), shown.panel.rows[row].value.clone()))
    }

    /// Moves within the panel; at its ends to the part beside it.
    pub(super) fn step(&mut self, by: isize) {
        let at = self.cursor_row().map(|(shown, row)| (row, shown.panel.rows.len() - 1));
        let next = at.map(|(row, last)| (row, row.saturating_add_signed(by).min(last)));
        match (next, &self.focus) {
            (Some((row, next)), Some(field)) if next != row => {
                self.rows.insert(field.clone(), next);
            }
            _ => self.turn(by > 0),
        }
    }

    /// Moves in the histogram; `marks` keeps the other end of a span.
    pub(super) fn move_cursor(&mut self, by: i64, marks: bool) {
        let Some(columns) = &self.columns else { return };
        let last = columns.hits.len().cast_signed() as i64 - 1;
        let column = match self.cursor {
            Some(cursor) => (cursor - columns.start).div_euclid(columns.span).saturating_add(by),
            None if by < 0 => last,
            None => 0,
        };
        let time = columns.start + column.clamp(0, last) * columns.span;
        if marks && self.mark.is_none() {
            self.mark = self.cursor.or(Some(time));
        }
        self.cursor = Some(time);
        self.focus = None;
    }

    /// Begins a span at the cursor, or gives it up.
    pub(super) fn toggle_mark(&mut self) {
        if self.cursor.is_none() {
            self.move_cursor(0, false);
        }
        self.mark = if self.mark.is_some() { None } else { self.cursor };
        self.focus = None;
    }

    /// The marked span, or the column at the cursor, in Unix seconds; its end is not in it.
    pub(super) fn selection(&self) -> Option<(i64, i64)> {
        let (columns, cursor) = (self.columns.as_ref()?, self.cursor?);
        let other = self.mark.unwrap_or(cursor);
        let start = |time: i64| columns.start + (time - columns.start).div_euclid(columns.span) * columns.span;
        Some((start(cursor.min(other)), start(cursor.max(other)).saturating_add(columns.span)))
    }

    /// Lines by class in the selection.
    pub(super) fn selected_hits(&self) -> Vec<u64> {
        let (Some((from, to)), Some(columns)) = (self.selection(), &self.columns) else { return Vec::new() };
        let index =
            |time: i64| ((time - columns.start) / columns.span).clamp(0, columns.hits.len().cast_signed() as i64) as usize;
        let chosen = &columns.hits[index(from)..index(to).max(index(from))];
        let sum = |class: usize| chosen.iter().map(|column| column[class]).sum();
        (0..CLASSES.len()).map(sum).collect()
    }

    /// Forgets the cursor in the histogram.
    pub(super) fn unmark(&mut self) {
        (self.cursor, self.mark) = (None, None);
    }
}

/// Panels with statuses first, and facets in place of those that the filter chooses in.
fn shown_panels(counted: &mut ViewResult) -> Vec<ShownPanel> {
    let status = counted.status_panel(super::question::PANEL_ROWS);
    let panels = std::mem::take(&mut counted.panels);
    let mut facets = std::mem::take(&mut counted.facets);
    let mut shown = |panel: Panel| match facets.iter().position(|facet| facet.panel.field == panel.field) {
        Some(place) => with_choice(facets.swap_remove(place)),
        None => ShownPanel { panel, chosen: Vec::new(), excluded: Vec::new() },
    };
    let all: Vec<ShownPanel> = status.into_iter().chain(panels).map(&mut shown).collect();
    all.into_iter().filter(|shown| shown.panel.hits > 0).collect()
}

fn with_choice(facet: Facet) -> ShownPanel {
    let values = |rows: Vec<ReportRow>| rows.into_iter().map(|row| row.value).collect();
    ShownPanel { panel: facet.panel, chosen: values(facet.chosen), excluded: values(facet.excluded) }
}

fn classes(of: &ViewHistogram) -> TimeHistogram {
    let series = CLASSES.iter().zip(&of.series);
    TimeHistogram {
        bucket_seconds: of.bucket_seconds,
        finest_seconds: of.finest_seconds,
        at: of.at.clone(),
        series: series.map(|(class, line)| ReportSeries { class, hits: line.hits.clone() }).collect(),
    }
}

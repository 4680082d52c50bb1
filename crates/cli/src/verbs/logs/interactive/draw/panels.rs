//! The panels: values with their lines, in one column or two.

use super::{BOLD, CURSOR, DIM, PLAIN, ScreenCells};
use crate::verbs::logs::interactive::layout::{OverviewLayout, scrolled};
use crate::verbs::logs::interactive::overview::ShownPanel;
use crate::verbs::logs::interactive::state::Explorer;
use crate::verbs::logs::terminal::bar;
use crate::verbs::logs::words::{distinct, thousands};
use ratatui_core::style::Style;

/// Columns between two panels.
const GAP: u16 = 2;

/// Columns of the sign of the cursor and of a choice, of the bar, of the lines and of their share.
const SIGNS: u16 = 2;
const BAR: u16 = 12;
const HITS: u16 = 11;
const SHARE: u16 = 8;

pub(super) fn draw(explorer: &Explorer, cells: &mut ScreenCells<'_>) {
    let layout = explorer.layout();
    let shown = layout.panels();
    let focused = explorer.overview.focused().saturating_sub(1);
    let first = focused / shown * shown;
    for (place, panel) in explorer.overview.panels.iter().skip(first).take(shown).enumerate() {
        let (column, row) = ((place as u16) / layout.stacked, (place as u16) % layout.stacked);
        let at = (column * (layout.panel_width + GAP), layout.panels_top + row * layout.panel_height);
        draw_panel(explorer, panel, at, &layout, cells);
    }
    let more = explorer.overview.panels.len();
    if more > shown {
        let last = (first + shown).min(more);
        cells.right(cells.height() - super::FOOT_ROWS, &format!("panels {}–{last} of {more}", first + 1), DIM);
    }
}

fn draw_panel(explorer: &Explorer, shown: &ShownPanel, (x, y): (u16, u16), layout: &OverviewLayout, cells: &mut ScreenCells<'_>) {
    let panel = &shown.panel;
    let cursor = explorer.overview.cursor_row().filter(|(focused, _)| focused.panel.field == panel.field).map(|(_, row)| row);
    let title = format!("{} ", panel.title);
    let style = if cursor.is_some() { BOLD.patch(CURSOR) } else { BOLD };
    let end = cells.put((x, y), &title, style, layout.panel_width);
    let mark = if panel.exact { "" } else { ", ≈ counts may be too low" };
    let plural = if panel.distinct.distinct == 1 { "value" } else { "values" };
    let about = format!(" {} {plural}{mark}", distinct(panel.distinct));
    cells.put((end, y), &about, DIM, layout.panel_width.saturating_sub(end - x));
    let first = scrolled(0, cursor.unwrap_or(0), layout.values());
    let rows = panel.rows.iter().enumerate().skip(first).take(layout.values());
    for (line, (index, _)) in rows.enumerate() {
        let at = (x, y + 1 + line as u16);
        draw_row(shown, index, at, layout.panel_width, cells);
        if cursor == Some(index) {
            cells.put(at, "▸", BOLD, 1);
            cells.reverse(x + SIGNS + BAR, at.1, layout.panel_width - SIGNS - BAR);
        }
    }
}

/// Sign of a choice, bar by the panel's own maximum, lines, share and value.
fn draw_row(shown: &ShownPanel, index: usize, (x, y): (u16, u16), width: u16, cells: &mut ScreenCells<'_>) {
    let (panel, row) = (&shown.panel, &shown.panel.rows[index]);
    let most = panel.rows.iter().map(|row| row.hits).max().unwrap_or(0).max(1);
    let style = value_style(panel.field.as_ref(), &row.value, cells);
    if shown.chosen.contains(&row.value) {
        cells.put((x + 1, y), "●", BOLD, 1);
    } else if shown.excluded.contains(&row.value) {
        cells.put((x + 1, y), "×", BOLD, 1);
    }
    cells.put((x + SIGNS, y), &bar(row.hits as f64 / most as f64), style, BAR);
    let about = if row.hits_max > row.hits || row.hits_min < row.hits { "≈" } else { "" };
    let hits = format!("{:>width$}", format!("{about}{}", thousands(row.hits)), width = usize::from(HITS));
    let share =
        format!("{:>width$}", format!("{:.1} %", 100.0 * row.hits as f64 / panel.hits.max(1) as f64), width = usize::from(SHARE));
    let after_bar = x + SIGNS + BAR;
    cells.put((after_bar, y), &hits, PLAIN, HITS);
    cells.put((after_bar + HITS, y), &share, DIM, SHARE);
    let value_x = after_bar + HITS + SHARE + 2;
    cells.put((value_x, y), &row.value, style, (x + width).saturating_sub(value_x));
}

/// Statuses have the colours of their classes.
fn value_style(field: &str, value: &str, cells: &ScreenCells<'_>) -> Style {
    match value.as_bytes().first() {
        Some(first @ b'2'..=b'5') if field == "status" => cells.palette.class(usize::from(first - b'2')),
        _ => PLAIN,
    }
}

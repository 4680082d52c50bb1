//! Lists of answers.

use super::{BOLD, CURSOR, DIM, PLAIN, ScreenCells, wrapped};
use crate::verbs::logs::interactive::layout::scrolled;
use crate::verbs::logs::interactive::list::ListEntry;
use crate::verbs::logs::interactive::state::Explorer;

/// First row of the entries, below title, note and heading.
const TOP: u16 = 5;

/// Rows of an entry's detail at most.
const DETAIL_ROWS: usize = 2;

pub(super) fn draw(explorer: &Explorer, cells: &mut ScreenCells<'_>) {
    let Some(list) = &explorer.list else { return };
    cells.rest((0, 2), &list.title, BOLD);
    cells.rest((0, 3), &list.note, DIM);
    cells.rest((1, 4), &list.heading, DIM);
    let entries = list.entries.as_deref().unwrap_or_default();
    let width = usize::from(cells.width()) - 4;
    let each = entries.iter().map(|entry| rows(entry, width).len() + 1).max().unwrap_or(1);
    let height = (explorer.height().saturating_sub(usize::from(TOP) - 2) / each).max(1);
    let first = scrolled(0, list.cursor, height);
    for (place, (index, entry)) in entries.iter().enumerate().skip(first).take(height).enumerate() {
        draw_entry(entry, TOP + (place * each) as u16, index == list.cursor, cells);
    }
}

fn draw_entry(entry: &ListEntry, y: u16, is_at: bool, cells: &mut ScreenCells<'_>) {
    let style = if is_at { CURSOR } else { PLAIN };
    let width = cells.width();
    cells.put((0, y), if is_at { "▸" } else { " " }, BOLD, 1);
    cells.put((1, y), &entry.text, style, width - 1);
    for (y, row) in (y + 1..).zip(rows(entry, usize::from(width) - 4)) {
        cells.rest((4, y), &row, DIM);
    }
}

/// The detail in rows of a width.
fn rows(entry: &ListEntry, width: usize) -> Vec<String> {
    wrapped(&entry.detail, width, DETAIL_ROWS)
}

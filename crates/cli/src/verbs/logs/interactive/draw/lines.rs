//! The lines of the place.

use super::{BOLD, DIM, PLAIN, ScreenCells};
use crate::verbs::logs::interactive::lines::wrapped_rows;
use crate::verbs::logs::interactive::state::Explorer;
use crate::verbs::logs::words::{shown, thousands};
use rorqual_crossfilter::PageRow;

/// First row of the lines.
const TOP: u16 = 2;

pub(super) fn draw(explorer: &Explorer, cells: &mut ScreenCells<'_>) {
    let lines = &explorer.lines;
    let Some(page) = &lines.page else {
        cells.rest((0, TOP), "reading lines …", DIM);
        return;
    };
    if page.total == 0 {
        cells.rest((0, TOP), "no line matches", DIM);
    }
    // The page may still be that of the screen before.
    let first = if lines.is_wrapped { shown_first(explorer) } else { lines.first };
    let skipped = first.saturating_sub(page.offset) as usize;
    let bottom = TOP + explorer.height() as u16;
    let mut y = TOP;
    for (row, number) in page.rows.iter().skip(skipped).zip(page.offset + skipped as u64..) {
        if y >= bottom {
            break;
        }
        let texts = texts(explorer, row, usize::from(bottom - y));
        line(explorer, row, (&texts, y), cells);
        let after = y + texts.len() as u16;
        if number == lines.cursor {
            cells.put((0, y), "▸", BOLD, 1);
            (y..after).for_each(|y| cells.reverse(1, y, cells.width() - 1));
        }
        y = after;
    }
    let order = lines.order.as_ref().map_or_else(String::new, |order| format!("  {}", order.named(&explorer.schema)));
    let unsure = if lines.note.is_exact { "" } else { ", others may come before" };
    let (at, total) = (thousands((lines.cursor + 1).min(page.total)), thousands(page.total));
    let of = if lines.note.lines > page.total { format!("the first {total} of {}", thousands(lines.note.lines)) } else { total };
    cells.right(cells.height() - super::FOOT_ROWS, &format!("line {at} of {of}{order}{unsure}"), DIM);
}

/// First line of a screen whose lines are wrapped.
fn shown_first(explorer: &Explorer) -> u64 {
    let shown = explorer.lines.shown_wrapped(explorer.line_width(), explorer.height());
    shown.map_or(explorer.lines.first, |shown| shown.start)
}

/// The rows of a line, from the shown column on or wrapped.
fn texts(explorer: &Explorer, row: &PageRow, height: usize) -> Vec<String> {
    if explorer.lines.is_wrapped {
        return wrapped_rows(&row.line, explorer.line_width(), height);
    }
    vec![shown(&row.line, usize::MAX).chars().skip(explorer.lines.shift).collect()]
}

/// The texts of a line; one with a flaw has a sign.
fn line(explorer: &Explorer, row: &PageRow, (texts, y): (&[String], u16), cells: &mut ScreenCells<'_>) {
    if row.flaw.is_some() {
        cells.put((0, y), "!", cells.palette.fault(), 1);
    }
    for (y, text) in (y..).zip(texts) {
        cells.rest((1, y), text, PLAIN);
        found(explorer, text, y, cells);
    }
}

/// Marks the text that is looked for.
fn found(explorer: &Explorer, text: &str, y: u16, cells: &mut ScreenCells<'_>) {
    let Some(sought) = &explorer.lines.text else { return };
    // In small letters of ASCII, so that places stay the same.
    let (lower, sought) = (text.to_ascii_lowercase(), shown(sought, usize::MAX).to_ascii_lowercase());
    for (at, found) in lower.match_indices(&sought) {
        let before = lower[..at].chars().count() as u16;
        cells.put((1 + before, y), &text[at..at + found.len()], BOLD.underlined(), found.chars().count() as u16);
    }
}

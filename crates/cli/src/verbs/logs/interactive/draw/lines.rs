//! The lines of the place.

use super::{BOLD, DIM, PLAIN, ScreenCells};
use crate::verbs::logs::interactive::state::Explorer;
use crate::verbs::logs::shown;
use crate::verbs::logs::words::thousands;
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
        cells.rest((0, TOP), "no line is meant", DIM);
    }
    // The page may still be that of the screen before.
    let skipped = lines.first.saturating_sub(page.offset) as usize;
    let rows = page.rows.iter().skip(skipped).take(explorer.height());
    for (y, (row, number)) in (TOP..).zip(rows.zip(page.offset + skipped as u64..)) {
        line(explorer, row, y, cells);
        if number == lines.cursor {
            cells.put((0, y), "▸", BOLD, 1);
            cells.reverse(1, y, cells.width() - 1);
        }
    }
    let at = format!("line {} of {}", thousands((lines.cursor + 1).min(page.total)), thousands(page.total));
    cells.right(cells.height() - super::FOOT_ROWS, &at, DIM);
}

/// A line from the shown column on; one with a flaw has a sign.
fn line(explorer: &Explorer, row: &PageRow, y: u16, cells: &mut ScreenCells<'_>) {
    if row.flaw.is_some() {
        cells.put((0, y), "!", cells.palette.fault(), 1);
    }
    let text = shown(&row.line, usize::MAX);
    let text: String = text.chars().skip(explorer.lines.shift).collect();
    cells.rest((1, y), &text, PLAIN);
    let Some(sought) = &explorer.lines.text else { return };
    // In small letters of ASCII, so that places stay the same.
    let (lower, sought) = (text.to_ascii_lowercase(), shown(sought, usize::MAX).to_ascii_lowercase());
    for (at, found) in lower.match_indices(&sought) {
        let before = lower[..at].chars().count() as u16;
        cells.put((1 + before, y), &text[at..at + found.len()], BOLD.underlined(), found.chars().count() as u16);
    }
}

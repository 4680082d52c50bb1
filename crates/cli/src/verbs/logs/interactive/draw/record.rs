//! One line with all its fields.

use super::{BOLD, DIM, PLAIN, ScreenCells};
use crate::verbs::logs::interactive::state::Explorer;

/// First row, and the column of values.
const TOP: u16 = 2;
const VALUES: u16 = 18;

pub(super) fn draw(explorer: &Explorer, cells: &mut ScreenCells<'_>) {
    let Some(record) = &explorer.record else { return };
    let width = usize::from(cells.width() - VALUES);
    let (rows, first) = record.rows(width, explorer.height());
    let mut before = None;
    for (y, (field, text)) in (TOP..).zip(rows.iter().skip(first).take(explorer.height())) {
        if before != Some(*field) {
            let style = if *field == record.cursor { BOLD } else { DIM };
            let sign = if *field == record.cursor { "▸" } else { " " };
            cells.put((0, y), &format!("{sign} {}", record.fields[*field].name), style, VALUES - 1);
        }
        before = Some(*field);
        cells.rest((VALUES, y), text, PLAIN);
        if *field == record.cursor {
            cells.reverse(VALUES, y, cells.width() - VALUES);
        }
    }
}

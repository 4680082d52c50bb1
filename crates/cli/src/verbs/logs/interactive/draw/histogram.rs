//! Lines over time by class of status, with the cursor and the marked span.

use super::{BOLD, CURSOR, DIM, PLAIN, ScreenCells};
use crate::verbs::logs::columns::TimeColumns;
use crate::verbs::logs::interactive::layout::HEAD_ROWS;
use crate::verbs::logs::interactive::state::Explorer;
use crate::verbs::logs::terminal::{EIGHTHS, SCALE, axis, filled};
use crate::verbs::logs::time::{show, show_width};
use crate::verbs::logs::words::thousands;
use rorqual_accesslog::filter::CLASSES;

/// First column of the plot.
const LEFT: u16 = SCALE as u16;

pub(super) fn draw(explorer: &Explorer, cells: &mut ScreenCells<'_>) {
    let layout = explorer.layout();
    let Some(columns) = &explorer.overview.columns else {
        let text = if explorer.overview.counted.is_some() { "no line has a time" } else { "waiting for the first lines …" };
        cells.rest((LEFT, HEAD_ROWS), text, DIM);
        return;
    };
    legend(explorer, columns, cells);
    let highest = columns.hits.iter().map(|column| column.iter().sum::<u64>()).max().unwrap_or(0).max(1);
    cells.put((0, HEAD_ROWS), &format!("{:>width$}", thousands(highest), width = SCALE - 1), DIM, LEFT);
    for (x, column) in (LEFT..).zip(&columns.hits) {
        bar(cells, (x, usize::from(layout.plot_height)), column, highest);
    }
    let below = HEAD_ROWS + layout.plot_height;
    cells.rest((0, below), &axis(columns, usize::from(cells.width())), DIM);
    cursor(explorer, columns, cells, below);
}

/// One column: its rows, each of the class that has most of it.
fn bar(cells: &mut ScreenCells<'_>, (x, height): (u16, usize), column: &[u64], highest: u64) {
    for row in 0..height {
        if let Some((eighths, class)) = filled(column, (row, height), highest) {
            let is_full = eighths == EIGHTHS.len() - 1 || !cells.palette.has_colours;
            let block = if is_full { cells.palette.block(class) } else { EIGHTHS[eighths] };
            let style = cells.palette.class(class);
            let y = HEAD_ROWS + (height - 1 - row) as u16;
            cells.put((x, y), block.encode_utf8(&mut [0; 4]), style, 1);
        }
    }
}

/// Width of a column and the classes; in place of these the lines of the chosen span.
fn legend(explorer: &Explorer, columns: &TimeColumns, cells: &mut ScreenCells<'_>) {
    let y = HEAD_ROWS - 1;
    let mut x = cells.rest((0, y), &format!("lines per {}", show_width(columns.span)), BOLD);
    let hits = match explorer.overview.selection() {
        Some((from, to)) => {
            let end = show(to);
            let end = end.split_once(' ').map_or(&*end, |(_, time)| time);
            x = cells.rest((x + 2, y), &format!("{} to {end}", show(from)), PLAIN);
            explorer.overview.selected_hits()
        }
        None => (0..CLASSES.len()).map(|class| columns.hits.iter().map(|column| column[class]).sum()).collect(),
    };
    for (class, hits) in hits.iter().enumerate().filter(|(_, hits)| **hits > 0) {
        let style = cells.palette.class(class);
        x = cells.rest((x + 2, y), cells.palette.block(class).encode_utf8(&mut [0; 4]), style);
        x = cells.rest((x, y), &format!(" {} {}", CLASSES[class], thousands(*hits)), PLAIN);
    }
}

/// The span on the axis, and the column of the cursor turned over.
fn cursor(explorer: &Explorer, columns: &TimeColumns, cells: &mut ScreenCells<'_>, below: u16) {
    let (Some((from, to)), Some(at)) = (explorer.overview.selection(), explorer.overview.cursor) else { return };
    let last = columns.hits.len().cast_signed() as i64 - 1;
    let column = |time: i64| LEFT + ((time - columns.start).div_euclid(columns.span)).clamp(0, last) as u16;
    for x in column(from)..=column(to - 1) {
        cells.put((x, below), "━", BOLD, 1);
    }
    let x = column(at);
    cells.put((x, below), "▲", BOLD, 1);
    if explorer.overview.focus.is_none() {
        (HEAD_ROWS..below).for_each(|y| {
            if let Some(cell) = cells.buffer.cell_mut((x, y)) {
                cell.set_style(CURSOR);
            }
        });
    }
}

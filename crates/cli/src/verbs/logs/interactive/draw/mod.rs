//! Draws the state into cells.

mod help;
mod histogram;
mod lines;
mod list;
mod panels;
mod record;

use super::layout::{FOOT_ROWS, HEIGHT_MIN, WIDTH_MIN, fits};
use super::prompt::{PromptKind, PromptLine};
use super::state::{Explorer, ExplorerMode};
use crate::verbs::logs::terminal::TEXTURES;
use crate::verbs::logs::time::show;
use crate::verbs::logs::words::{shown, thousands};
use ratatui_core::buffer::Buffer;
use ratatui_core::style::{Color, Modifier, Style};
use rorqual_crossfilter::View;
use rorqual_pipe::format_size;

/// Styles by meaning, with colours or without.
#[derive(Debug, Clone, Copy)]
pub(super) struct ScreenPalette {
    pub(super) has_colours: bool,
}

/// Colours of classes of status, in the order of the histogram's series.
const CLASSES: [Color; 5] = [Color::Cyan, Color::Blue, Color::Yellow, Color::Red, Color::DarkGray];

pub(super) const PLAIN: Style = Style::new();
pub(super) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub(super) const DIM: Style = Style::new().add_modifier(Modifier::DIM);
pub(super) const CURSOR: Style = Style::new().add_modifier(Modifier::REVERSED);

impl ScreenPalette {
    fn class(self, class: usize) -> Style {
        if self.has_colours { Style::new().fg(CLASSES[class]) } else { PLAIN }
    }

    /// The sign of a class in a legend, and of a full block.
    fn block(self, class: usize) -> char {
        if self.has_colours { '█' } else { TEXTURES[class] }
    }

    fn fault(self) -> Style {
        if self.has_colours { Style::new().fg(Color::Red).add_modifier(Modifier::BOLD) } else { BOLD }
    }
}

/// Cells of a screen, and a way to write into them.
pub(super) struct ScreenCells<'a> {
    pub(super) buffer: &'a mut Buffer,
    pub(super) palette: ScreenPalette,
}

impl ScreenCells<'_> {
    fn width(&self) -> u16 {
        self.buffer.area.width
    }

    fn height(&self) -> u16 {
        self.buffer.area.height
    }

    /// Writes text that steers no terminal, as much as there is room for; the column after it.
    fn put(&mut self, (x, y): (u16, u16), text: &str, style: Style, width: u16) -> u16 {
        let room = width.min(self.width().saturating_sub(x));
        if y >= self.height() || room == 0 {
            return x;
        }
        let text = shown(text, usize::from(room));
        self.buffer.set_stringn(x, y, text, usize::from(room), style).0
    }

    /// Writes to the end of the row.
    fn rest(&mut self, at: (u16, u16), text: &str, style: Style) -> u16 {
        let width = self.width();
        self.put(at, text, style, width)
    }

    /// Writes at the end of the row.
    fn right(&mut self, y: u16, text: &str, style: Style) -> u16 {
        let x = self.width().saturating_sub(text.chars().count() as u16);
        self.rest((x, y), text, style);
        x
    }

    /// Empties a row.
    fn clear(&mut self, y: u16) {
        (0..self.width()).for_each(|x| self.buffer[(x, y)].reset());
    }

    /// Turns a row of cells over, as a cursor.
    fn reverse(&mut self, x: u16, y: u16, width: u16) {
        let area = ratatui_core::layout::Rect { x, y, width, height: 1 };
        self.buffer.set_style(area.intersection(self.buffer.area), CURSOR);
    }
}

/// Draws the screen; the place of the terminal's cursor, where there is a line being typed.
pub(super) fn draw(explorer: &Explorer, cells: &mut ScreenCells<'_>) -> Option<(u16, u16)> {
    let size = (cells.width(), cells.height());
    if !fits(size) {
        cells.rest((0, 0), &format!("{WIDTH_MIN}x{HEIGHT_MIN} are needed, this is {}x{}", size.0, size.1), PLAIN);
        cells.rest((0, 1), "Enlarge the window; q quits", DIM);
        return None;
    }
    if explorer.has_help {
        help::draw(cells);
        return None;
    }
    title(explorer, cells);
    place(explorer, cells);
    match explorer.mode {
        ExplorerMode::Overview => overview(explorer, cells),
        ExplorerMode::Lines => lines::draw(explorer, cells),
        ExplorerMode::Record => record::draw(explorer, cells),
        ExplorerMode::List => list::draw(explorer, cells),
    }
    foot(explorer, cells)
}

fn overview(explorer: &Explorer, cells: &mut ScreenCells<'_>) {
    histogram::draw(explorer, cells);
    panels::draw(explorer, cells);
}

/// The log, its lines, and those of the place.
fn title(explorer: &Explorer, cells: &mut ScreenCells<'_>) {
    let state = reading(explorer);
    let end = cells.right(0, &state, DIM);
    let Some(counted) = &explorer.overview.counted else {
        cells.put((0, 0), &explorer.title, BOLD, end.saturating_sub(2));
        return;
    };
    let (total, all) = (counted.lines.total, counted.rows.total);
    let part = 100.0 * total as f64 / all.max(1) as f64;
    let mut lines = if total == all {
        format!("{} lines", thousands(all))
    } else {
        format!("{} of {} lines, {part:.1} %", thousands(total), thousands(all))
    };
    if counted.rows.dropped > 0 {
        lines.push_str(&format!(", {} without room", thousands(counted.rows.dropped)));
    }
    let name = usize::from(end).saturating_sub(lines.chars().count() + 4);
    let x = cells.put((0, 0), &shown(&explorer.title, name), BOLD, end);
    cells.put((x + 2, 0), &lines, PLAIN, end.saturating_sub(x + 3));
}

/// State of the reading and of the question.
fn reading(explorer: &Explorer) -> String {
    let reading = &explorer.reading;
    let asking = if explorer.is_current() || !reading.has_rows { "" } else { "counting … " };
    let spilled =
        if reading.spilled_bytes > 0 { format!("{} on disk ", format_size(reading.spilled_bytes)) } else { String::new() };
    let read = match (reading.is_done, reading.part) {
        (true, _) => "? help".to_owned(),
        (false, Some(part)) => format!("reading {:.0} %", part * 100.0),
        (false, None) => format!("reading {}", format_size(reading.read_bytes)),
    };
    format!("{asking}{spilled}{read}")
}

/// Filter and span of the place, and the sums of its lines.
fn place(explorer: &Explorer, cells: &mut ScreenCells<'_>) {
    let filter = explorer.written();
    let span = span_text(&explorer.place.view, explorer);
    let end = cells.right(1, &span, PLAIN);
    if filter.is_empty() {
        cells.put((0, 1), "no filter (/ sets one)", DIM, end.saturating_sub(2));
        return;
    }
    let x = cells.put((0, 1), "filter ", DIM, 7);
    cells.put((x, 1), &filter, BOLD, end.saturating_sub(x + 2));
}

fn span_text(view: &View, explorer: &Explorer) -> String {
    let time = |time_us: i64| show(time_us.div_euclid(1_000_000));
    match (view.from_us, view.to_us) {
        (Some(from), Some(to)) => format!("zoom {} to {}", time(from), time(to)),
        _ => match explorer.overview.counted.as_ref().and_then(|counted| counted.time) {
            Some(times) => format!("{} to {} UTC", show(times.first as i64), show(times.last as i64)),
            None => String::new(),
        },
    }
}

/// Keys of the screens, by their use.
const OVERVIEW_KEYS: &str = "/ filter  Tab panels  ⏎ choose  x leave out  ←→ v span  e explain  L lines  ? q";
const LINES_KEYS: &str = "⏎ fields  / n N find  & filter  s sort  w wrap  t ±30 s  C client  q back  ?";
const RECORD_KEYS: &str = "⏎ filter by the field  x leave out  t ±30 s  C same client  q back";
const LIST_KEYS: &str = "⏎ takes the filter  j k move  q back";
const METRICS_KEYS: &str = "⏎ takes the filter  s next metric  j k move  q back";

/// Message or typed line, and keys.
fn foot(explorer: &Explorer, cells: &mut ScreenCells<'_>) -> Option<(u16, u16)> {
    let y = cells.height() - FOOT_ROWS;
    if let Some(prompt) = &explorer.prompt {
        return Some(prompt_line(prompt, cells));
    }
    if let Some(message) = &explorer.message {
        cells.clear(y);
        cells.rest((0, y), message.trim_end(), cells.palette.fault());
    } else if explorer.mode == ExplorerMode::Overview {
        sums(explorer, cells, y);
    }
    let keys = match explorer.mode {
        ExplorerMode::Overview => OVERVIEW_KEYS,
        ExplorerMode::Lines => LINES_KEYS,
        ExplorerMode::Record => RECORD_KEYS,
        ExplorerMode::List if explorer.has_metrics() => METRICS_KEYS,
        ExplorerMode::List => LIST_KEYS,
    };
    cells.rest((0, y + 1), keys, DIM);
    None
}

/// Sizes, clients and durations of the lines.
fn sums(explorer: &Explorer, cells: &mut ScreenCells<'_>, y: u16) {
    let Some(counted) = &explorer.overview.counted else { return };
    let mut parts = Vec::new();
    if counted.percentiles.bytes.is_some() {
        parts.push(format!("{} sent", format_size(counted.bytes_sent)));
    }
    if counted.clients.distinct > 0 {
        parts.push(format!("{} clients", crate::verbs::logs::words::distinct(counted.clients)));
    }
    if let Some(time) = counted.percentiles.request_time {
        let seconds = crate::verbs::logs::words::seconds;
        parts.push(format!("p50 {}, p95 {}, p99 {}", seconds(time.p50), seconds(time.p95), seconds(time.p99)));
    }
    if counted.lines.rejected > 0 {
        parts.push(format!("{} not read", thousands(counted.lines.rejected)));
    }
    if !counted.exact {
        parts.push("not all counts are exact".to_owned());
    }
    cells.rest((0, y), &parts.join("  "), DIM);
}

/// Rows of a fault.
const FAULT_ROWS: usize = 4;

/// A text in rows of a width.
fn wrapped(text: &str, width: usize, rows: usize) -> Vec<String> {
    let letters: Vec<char> = shown(text, width * rows).chars().collect();
    letters.chunks(width).map(|row| row.iter().collect()).collect()
}

/// Keys of a line that is typed.
const PROMPT_KEYS: &str = "⏎ takes it  Esc cancels  ↑↓ earlier ones  examples: status >= 500, checkout";
const SORT_KEYS: &str = "⏎ sorts, by nothing in the log's order  Esc cancels  ↑↓ earlier ones";

/// The line that is typed, scrolled to its cursor, with its fault or its keys below.
fn prompt_line(prompt: &PromptLine, cells: &mut ScreenCells<'_>) -> (u16, u16) {
    let keys = if prompt.kind == PromptKind::SortColumn { SORT_KEYS } else { PROMPT_KEYS };
    let below = wrapped(prompt.error.as_deref().unwrap_or(keys), usize::from(cells.width()), FAULT_ROWS);
    let style = if prompt.error.is_some() { cells.palette.fault() } else { DIM };
    let y = cells.height() - 1 - below.len() as u16;
    cells.clear(y);
    for (row, text) in (y + 1..).zip(&below) {
        cells.clear(row);
        cells.rest((0, row), text, style);
    }
    let label = match prompt.kind {
        PromptKind::Filter => "filter or text: ",
        PromptKind::FindText => "find: ",
        PromptKind::SortColumn => "sort by column: ",
    };
    let x = cells.rest((0, y), label, BOLD);
    let room = usize::from(cells.width() - x - 1);
    let (before, after) = prompt.halves();
    let before = shown(&before, usize::MAX);
    let hidden = before.chars().count().saturating_sub(room);
    let before: String = before.chars().skip(hidden).collect();
    let cursor = cells.rest((x, y), &before, PLAIN);
    cells.rest((cursor, y), &after, PLAIN);
    (cursor.min(cells.width() - 1), y)
}

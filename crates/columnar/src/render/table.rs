//! Rows as a table that is no wider than the terminal.

use super::Csv;
use arrow_array::RecordBatch;
use arrow_schema::{DataType, SchemaRef};
use rorqual_pipe::escaped;
use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Rows of one table; after them comes the next, with widths of its own.
const ROWS_MAX: usize = 200;

/// A cell keeps so many bytes of its value: more than a terminal is wide.
const CELL_BYTES_MAX: usize = 512;

/// No column is made narrower.
const WIDTH_MIN: usize = 6;

/// Between columns.
const GAP: &str = "  ";

/// Rows that wait for being printed.
pub struct TextTable {
    /// The names of the columns, and then rows.
    lines: Vec<Vec<String>>,
    /// Columns that are numbers, which are aligned to the right.
    numbers: Vec<bool>,
    room: usize,
    /// Advice about columns that have no room.
    advice: &'static str,
}

impl TextTable {
    /// A table of these columns, which has room for so many characters beside each other. `advice`
    /// says how to see those that have none.
    #[must_use]
    pub fn new(schema: &SchemaRef, room: usize, advice: &'static str) -> Self {
        let names = schema.fields().iter().map(|field| shown(field.name().as_bytes())).collect();
        let numbers = schema.fields().iter().map(|field| is_number(field.data_type())).collect();
        Self { lines: vec![names], numbers, room, advice }
    }

    /// Adds rows; a full table is printed.
    ///
    /// # Errors
    /// When a type has no text, or nothing can be written.
    pub fn add(&mut self, batch: &RecordBatch, out: &mut impl Write) -> io::Result<()> {
        let csv = Csv::new(batch).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        let mut text = Vec::new();
        for row in 0..batch.num_rows() {
            let cell = |column| {
                text.clear();
                csv.push_bare(column, row, &mut text);
                shown(&text)
            };
            self.lines.push((0..batch.num_columns()).map(cell).collect());
            if self.lines.len() > ROWS_MAX {
                self.print(out)?;
            }
        }
        Ok(())
    }

    /// Prints the waiting rows.
    ///
    /// # Errors
    /// When nothing can be written.
    pub fn print(&mut self, out: &mut impl Write) -> io::Result<()> {
        if self.lines.len() == 1 {
            return Ok(());
        }
        let widths = widths(&self.lines, self.room);
        for line in &self.lines {
            print_line(line, &widths, &self.numbers, out)?;
        }
        let hidden = self.lines[0].len() - widths.len();
        if hidden > 0 {
            writeln!(out, "… and {hidden} more columns: {}", self.advice)?;
        }
        self.lines.truncate(1);
        Ok(())
    }
}

fn is_number(data_type: &DataType) -> bool {
    data_type.is_numeric() || matches!(data_type, DataType::Dictionary(_, values) if values.is_numeric())
}

/// A value on one line, safe for a terminal, and not too long.
fn shown(value: &[u8]) -> String {
    let value = &value[..value.len().min(CELL_BYTES_MAX)];
    let text = String::from_utf8_lossy(value);
    escaped(text.trim_end_matches('\u{fffd}')).replace('\n', "\\n")
}

/// The widths of the columns that have room: those they need, and where that is too much the widest
/// ones give way.
fn widths(lines: &[Vec<String>], room: usize) -> Vec<usize> {
    let mut widths = vec![0; lines.first().map_or(0, Vec::len)];
    for line in lines {
        widths.iter_mut().zip(line).for_each(|(width, cell)| *width = cell.width().max(*width));
    }
    let whole = |widths: &[usize]| widths.iter().sum::<usize>() + GAP.len() * widths.len().saturating_sub(1);
    let least: Vec<usize> = widths.iter().map(|width| (*width).min(WIDTH_MIN)).collect();
    let fitting = (1..=widths.len()).rev().find(|columns| whole(&least[..*columns]) <= room).unwrap_or(1);
    widths.truncate(fitting);
    while whole(&widths) > room {
        let Some(widest) = widths.iter_mut().max().filter(|width| **width > 1) else { break };
        *widest -= 1;
    }
    widths
}

fn print_line(line: &[String], widths: &[usize], numbers: &[bool], out: &mut impl Write) -> io::Result<()> {
    let mut printed = String::new();
    for ((cell, width), number) in line.iter().zip(widths).zip(numbers) {
        let cell = cut_to_width(cell, *width);
        let padding = " ".repeat(width - cell.width().min(*width));
        let (first, second) = if *number { (padding, cell) } else { (cell, padding) };
        printed.push_str(&first);
        printed.push_str(&second);
        printed.push_str(GAP);
    }
    writeln!(out, "{}", printed.trim_end())
}

/// A text that takes at most so many columns on a terminal; an ellipsis says that there is more.
#[must_use]
pub fn cut_to_width(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut room = width.saturating_sub(1);
    for character in text.chars() {
        let wide = character.width().unwrap_or(0);
        if wide > room {
            break;
        }
        room -= wide;
        kept.push(character);
    }
    kept.push('…');
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(cells: &[&str]) -> Vec<String> {
        cells.iter().map(|cell| (*cell).to_owned()).collect()
    }

    #[test]
    fn the_widest_gives_way() {
        let lines = [line(&["id", "text"]), line(&["1234567", &"x".repeat(100)])];
        assert_eq!(widths(&lines, 200), [7, 100]);
        assert_eq!(widths(&lines, 40), [7, 31]);
    }

    #[test]
    fn columns_without_room_are_left_out() {
        let lines = [line(&["aaaaaaaa"; 10])];
        assert_eq!(widths(&lines, 30).len(), 4);
        assert_eq!(widths(&lines, 3).len(), 1);
    }

    #[test]
    fn cuts_by_what_is_seen() {
        assert_eq!(cut_to_width("日本語", 6), "日本語");
        assert_eq!(cut_to_width("日本語", 5), "日本…");
        assert_eq!(cut_to_width("日本語", 4), "日…");
        assert_eq!(shown(b"a\x1b[2J\nb"), "a\\u{1b}[2J\\nb");
    }
}

//! A table for people.

use super::Out;
use crate::message::{self, steers};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Characters of a value that are shown.
const CELL_CHARACTERS_MAX: usize = 120;

/// Between columns.
const GAP: &str = "  ";

/// The rows of a table until it is printed, since each column is as wide as its widest value.
pub(super) struct Table {
    out: Out,
    names: Vec<String>,
    is_number: Vec<bool>,
    rows: Vec<Vec<String>>,
    rows_max: usize,
    has_more: bool,
    /// The rows are a plan, whose lines are shown as they are.
    is_plan: bool,
}

impl Table {
    pub(super) fn new(out: Out, schema: &SchemaRef, rows_max: usize, is_plan: bool) -> Self {
        let names = schema.fields().iter().map(|field| shown(field.name())).collect();
        let is_number = schema.fields().iter().map(|field| field.data_type().is_numeric()).collect();
        Self { out, names, is_number, rows: Vec::new(), rows_max, has_more: false, is_plan }
    }

    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<(), ArrowError> {
        let options = FormatOptions::default().with_null("");
        let formatters: Vec<_> =
            batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options)).collect::<Result<_, _>>()?;
        for row in 0..batch.num_rows() {
            if self.rows.len() == self.rows_max {
                self.has_more = true;
                break;
            }
            let cell = |formatter: &ArrayFormatter<'_>| {
                let text = formatter.value(row).to_string();
                if self.is_plan { message::escaped(&text) } else { shown(&text) }
            };
            self.rows.push(formatters.iter().map(cell).collect());
        }
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<Out> {
        if self.is_plan {
            for row in &self.rows {
                writeln!(self.out, "{}", row.join("\n").trim_end())?;
            }
            return Ok(self.out);
        }
        let widths: Vec<usize> = (0..self.names.len()).map(|column| self.width(column)).collect();
        let line = |cells: &[String]| self.line(cells, &widths);
        let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
        let mut text = line(&self.names) + &line(&rule);
        text.extend(self.rows.iter().map(|row| line(row)));
        self.out.write_all(text.as_bytes())?;
        if self.has_more {
            self.out.flush()?;
            let rows = self.rows.len();
            message::note(&format!("these are the first {rows} rows; there are more (--max-rows N shows N, --to csv has all)"));
        }
        Ok(self.out)
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column));
        cells.chain(self.names.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    }

    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for ((cell, width), is_number) in cells.iter().zip(widths).zip(&self.is_number) {
            let _ = if *is_number { write!(line, "{cell:>width$}{GAP}") } else { write!(line, "{cell:<width$}{GAP}") };
        }
        line.truncate(line.trim_end().len());
        line.push('\n');
        line
    }
}

/// A value in one line that can't steer the terminal, cut where it is long.
fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (number, character) in text.chars().enumerate() {
        if number == CELL_CHARACTERS_MAX {
            shown.push('…');
            break;
        }
        if steers(character) { shown.extend(character.escape_default()) } else { shown.push(character) }
    }
    shown
}

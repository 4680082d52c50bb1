//! The first rows of a result, for people.

use super::{OutputWriter, unprintable};
use crate::message;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use rorqual_columnar::render::{Csv, TextTable};
use rorqual_pipe::escaped;
use std::io::{self, Write};

/// Width of a table where there is no terminal.
const WIDTH_DEFAULT: usize = 200;

/// Advice about columns that have no room.
const ADVICE: &str = "SELECT chooses, --to ndjson has all";

/// The first rows, and whether there are more.
pub(super) struct First {
    out: OutputWriter,
    table: TextTable,
    rows_max: usize,
    rows: usize,
    has_more: bool,
}

impl First {
    pub(super) fn new(out: OutputWriter, schema: &SchemaRef, rows_max: usize) -> Self {
        let room = terminal_size::terminal_size().map_or(WIDTH_DEFAULT, |(width, _)| usize::from(width.0));
        Self { out, table: TextTable::new(schema, room, ADVICE), rows_max, rows: 0, has_more: false }
    }

    pub(super) fn add(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let rows = batch.num_rows().min(self.rows_max - self.rows);
        self.has_more |= rows < batch.num_rows();
        self.rows += rows;
        self.table.add(&batch.slice(0, rows), &mut self.out)
    }

    pub(super) fn finish(mut self) -> io::Result<()> {
        self.table.print(&mut self.out)?;
        self.out.flush()?;
        let rows = self.rows;
        match (rows, self.has_more) {
            (_, true) => {
                message::note(&format!(
                    "these are the first {rows} rows; there are more (--max-rows N shows N, --to csv has all)"
                ));
            }
            (0, false) => message::note(&"no rows"),
            _ => {}
        }
        Ok(())
    }
}

/// A plan, whose lines are shown as they are.
pub(super) fn print_plan(batch: &RecordBatch, out: &mut OutputWriter) -> io::Result<()> {
    let cells = Csv::new(batch).map_err(unprintable)?;
    for row in 0..batch.num_rows() {
        for column in 0..batch.num_columns() {
            let mut text = Vec::new();
            cells.push_bare(column, row, &mut text);
            writeln!(out, "{}", escaped(String::from_utf8_lossy(&text).trim_end()))?;
        }
    }
    Ok(())
}

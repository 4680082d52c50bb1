//! Rows on stdout.

use super::unprintable;
use crate::args::{RowForm, ShownArgs};
use arrow_array::RecordBatch;
use rorqual_columnar::render::{Csv, JsonRows, TextTable};
use rorqual_pipe::Control;
use rorqual_pipe::gather::OutputFd;
use std::io::{self, BufWriter, IsTerminal, Write};

/// Width of a table where there is no terminal.
const WIDTH_DEFAULT: usize = 120;

/// Advice about columns of a table that have no room.
const ADVICE: &str = "--columns chooses, --to ndjson has all";

/// Greatest width of a table.
fn room() -> usize {
    terminal_size::terminal_size().map_or(WIDTH_DEFAULT, |(width, _)| usize::from(width.0))
}

/// Prints batches.
pub(crate) struct BatchPrinter {
    form: RowForm,
    out: BufWriter<OutputFd>,
    /// Rows that wait for their table to be full.
    rows: Option<TextTable>,
    header: bool,
}

impl BatchPrinter {
    pub(crate) fn new(args: &ShownArgs, control: &Control) -> io::Result<Self> {
        let usual = if io::stdout().is_terminal() { RowForm::Table } else { RowForm::Ndjson };
        let form = if args.json { RowForm::Ndjson } else { args.to.unwrap_or(usual) };
        Ok(Self { form, out: BufWriter::new(OutputFd::stdout(control)?), rows: None, header: false })
    }

    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> io::Result<()> {
        let mut text = Vec::new();
        match self.form {
            RowForm::Ndjson => JsonRows::new(batch).map_err(unprintable)?.lines(&mut text),
            RowForm::Csv => {
                if !std::mem::replace(&mut self.header, true) {
                    text = Csv::header(batch.schema_ref());
                }
                Csv::new(batch).map_err(unprintable)?.lines(&mut text);
            }
            RowForm::Table => {
                return self
                    .rows
                    .get_or_insert_with(|| TextTable::new(batch.schema_ref(), room(), ADVICE))
                    .add(batch, &mut self.out);
            }
        }
        self.out.write_all(&text)
    }

    pub(crate) fn finish(mut self) -> io::Result<()> {
        if let Some(rows) = &mut self.rows {
            rows.print(&mut self.out)?;
        }
        self.out.flush()
    }
}

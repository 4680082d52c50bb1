//! Formats of text: rows are rendered by any worker, and written in order.

use super::WriteSummary;
use super::counted::CountedWriter;
use super::failure::WriteFailure;
use crate::render::{Csv, JsonRows};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use rorqual_pipe::{Error, ErrorClass};
use std::io::Write;
use std::sync::{Mutex, PoisonError};

/// Format of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextStyle {
    /// A JSON object a line.
    Ndjson,
    /// Comma-separated values with a header (RFC 4180).
    Csv,
}

/// Writes lines.
pub(super) struct TextWriter {
    name: String,
    style: TextStyle,
    file: Mutex<(CountedWriter, WriteSummary)>,
}

impl TextWriter {
    pub(super) fn new(file: Box<dyn Write + Send>, name: &str, style: TextStyle, schema: &SchemaRef) -> Result<Self, Error> {
        let text = Self { name: name.to_owned(), style, file: Mutex::new((CountedWriter::new(file), WriteSummary::default())) };
        if style == TextStyle::Csv {
            text.push(0, &Csv::header(schema))?;
        }
        Ok(text)
    }

    /// The lines of a batch. An error is about the rows, so that it names no file: that of their
    /// input is added where it is known.
    pub(super) fn render(&self, batch: &RecordBatch) -> Result<Vec<u8>, Error> {
        let mut out = Vec::new();
        let rendered = match self.style {
            TextStyle::Ndjson => JsonRows::new(batch).map(|json| json.lines(&mut out)),
            TextStyle::Csv => Csv::new(batch).map(|csv| csv.lines(&mut out)),
        };
        rendered.map(|()| out).map_err(|error| Error::new(ErrorClass::Corrupt, "", format!("a value has no text: {error}")))
    }

    pub(super) fn push(&self, rows: u64, bytes: &[u8]) -> Result<(), Error> {
        let (file, written) = &mut *self.file.lock().unwrap_or_else(PoisonError::into_inner);
        written.rows += rows;
        file.write_all(bytes).map_err(|error| WriteFailure::from(&error).error(&self.name))
    }

    pub(super) fn finish(self) -> Result<WriteSummary, Error> {
        let (mut file, written) = self.file.into_inner().unwrap_or_else(PoisonError::into_inner);
        file.flush().map_err(|error| WriteFailure::from(&error).error(&self.name))?;
        Ok(WriteSummary { bytes: file.bytes, ..written })
    }
}

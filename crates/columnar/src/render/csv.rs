//! Rows as fields between commas.

use super::cells::{CellTexts, CellValues, members};
use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema};

/// The rows of a batch as RFC 4180 has them, lines ending in a newline alone. A null is nothing, an
/// empty text is `""`, and a nested value is JSON. Where there is one column a null is `""` too:
/// nothing would be no row.
pub struct Csv {
    rows: usize,
    cells: Vec<CellTexts>,
}

impl Csv {
    /// The names of the columns, a line.
    #[must_use]
    pub fn header(schema: &Schema) -> Vec<u8> {
        let mut out = Vec::new();
        for (place, field) in schema.fields().iter().enumerate() {
            push_comma(&mut out, place);
            push_text(&mut out, field.name().as_bytes());
        }
        out.push(b'\n');
        out
    }

    /// The rows of `batch`.
    ///
    /// # Errors
    /// When a type has no text.
    pub fn new(batch: &RecordBatch) -> Result<Self, ArrowError> {
        let fields = members(batch.schema_ref().fields().iter().map(AsRef::as_ref), batch.columns())?;
        Ok(Self { rows: batch.num_rows(), cells: fields.into_iter().map(|(_, cells)| cells).collect() })
    }

    /// Appends all rows, each a line.
    pub fn lines(&self, out: &mut Vec<u8>) {
        for row in 0..self.rows {
            for (place, cells) in self.cells.iter().enumerate() {
                push_comma(out, place);
                if !cells.is_null(row) {
                    push_field(out, cells, row);
                } else if self.cells.len() == 1 {
                    push_text(out, b"");
                }
            }
            out.push(b'\n');
        }
    }

    /// Appends a text as a field: in quotes where it needs them.
    pub fn push_text(out: &mut Vec<u8>, text: &[u8]) {
        push_text(out, text);
    }

    /// Appends one field as it is, without quotes.
    pub fn push_bare(&self, column: usize, row: usize, out: &mut Vec<u8>) {
        let cells = &self.cells[column];
        if !cells.is_null(row) {
            push_bare(out, cells, row);
        }
    }
}

fn push_comma(out: &mut Vec<u8>, place: usize) {
    if place > 0 {
        out.push(b',');
    }
}

fn push_field(out: &mut Vec<u8>, cells: &CellTexts, row: usize) {
    match &cells.values {
        CellValues::Text(texts) => push_text(out, texts.value(row).as_bytes()),
        CellValues::LargeText(texts) => push_text(out, texts.value(row).as_bytes()),
        CellValues::Coded(codes, values) if !values.is_null(codes[row]) => push_field(out, values, codes[row]),
        CellValues::Struct(_) | CellValues::List(..) | CellValues::Map(..) | CellValues::Raw(_) => {
            let mut json = Vec::new();
            cells.push_json(row, &mut json);
            push_text(out, &json);
        }
        _ => cells.push_plain(row, out),
    }
}

fn push_bare(out: &mut Vec<u8>, cells: &CellTexts, row: usize) {
    match &cells.values {
        CellValues::Text(texts) => out.extend_from_slice(texts.value(row).as_bytes()),
        CellValues::LargeText(texts) => out.extend_from_slice(texts.value(row).as_bytes()),
        CellValues::Coded(codes, values) if !values.is_null(codes[row]) => push_bare(out, values, codes[row]),
        CellValues::Struct(_) | CellValues::List(..) | CellValues::Map(..) => cells.push_json(row, out),
        _ => cells.push_plain(row, out),
    }
}

/// Appends a text, in quotes where it needs them.
fn push_text(out: &mut Vec<u8>, text: &[u8]) {
    let quoted = text.is_empty() || text.iter().any(|byte| matches!(byte, b',' | b'"' | b'\n' | b'\r'));
    if !quoted {
        return out.extend_from_slice(text);
    }
    out.push(b'"');
    for part in text.split_inclusive(|byte| *byte == b'"') {
        out.extend_from_slice(part);
        if part.ends_with(b"\"") {
            out.push(b'"');
        }
    }
    out.push(b'"');
}

//! Rows as JSON objects.

use super::cells::{Cells, members, push_object};
use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

/// The rows of a batch as JSON objects. A null is left out of its object, since an absent key reads as one; in lists it is kept. Texts that
/// are JSON (`arrow.json`) are written as what they are, instants in RFC 3339, bytes in hexadecimal, NaN and infinity as null.
pub struct Json {
    rows: usize,
    fields: Vec<(Vec<u8>, Cells)>,
}

impl Json {
    /// The rows of `batch`.
    ///
    /// # Errors
    /// When a type has no text.
    pub fn new(batch: &RecordBatch) -> Result<Self, ArrowError> {
        let fields = members(batch.schema_ref().fields().iter().map(AsRef::as_ref), batch.columns())?;
        Ok(Self { rows: batch.num_rows(), fields })
    }

    /// Appends all rows, each a line.
    pub fn lines(&self, out: &mut Vec<u8>) {
        for row in 0..self.rows {
            push_object(out, &self.fields, row);
            out.push(b'\n');
        }
    }
}

//! Rows as JSON objects.

use super::cells::{CellTexts, is_json, members, push_object, push_raw};
use super::rest;
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field};

/// Metadata of a column that is the whole record: records that are no objects.
const RECORD_KEY: &str = "rorqual:record";

/// The rows of a batch as JSON objects. A null is left out of its object, since an absent key reads
/// as one; in lists it is kept. Texts that are JSON (`arrow.json`) are written unquoted, instants
/// in RFC 3339, bytes in hexadecimal, NaN and infinity as null. A member of `_rest` is a member of
/// the row again, as far as it is a member of the record itself.
pub struct JsonRows {
    rows: usize,
    fields: Vec<(Vec<u8>, CellTexts)>,
    rest: Option<StringArray>,
    /// The one field is the whole record.
    record: bool,
}

impl JsonRows {
    /// The rows of `batch`.
    ///
    /// # Errors
    /// When a type has no text.
    pub fn new(batch: &RecordBatch) -> Result<Self, ArrowError> {
        let fields = batch.schema_ref().fields();
        let rest = fields.iter().position(|field| is_rest(field));
        let places: Vec<usize> = (0..fields.len()).filter(|place| Some(*place) != rest).collect();
        let columns = batch.project(&places)?;
        let own = columns.schema_ref().fields();
        Ok(Self {
            rows: batch.num_rows(),
            record: own.len() == 1 && own[0].metadata().contains_key(RECORD_KEY),
            fields: members(own.iter().map(AsRef::as_ref), columns.columns())?,
            rest: rest.map(|place| batch.column(place).as_string().clone()),
        })
    }

    /// Appends all rows, each a line.
    pub fn lines(&self, out: &mut Vec<u8>) {
        for row in 0..self.rows {
            self.push(row, out);
            out.push(b'\n');
        }
    }

    fn push(&self, row: usize, out: &mut Vec<u8>) {
        let rest = self.rest.as_ref().filter(|rest| rest.is_valid(row)).map(|rest| rest.value(row));
        if let Some(record) = rest.and_then(rest::record) {
            return push_raw(out, record);
        }
        match self.fields.first().filter(|_| self.record) {
            Some((_, cells)) => cells.push_json(row, out),
            None => push_object(out, &self.fields, row),
        }
        if let Some(rest) = rest {
            rest::push(out, rest);
        }
    }
}

pub(super) fn is_rest(field: &Field) -> bool {
    field.name() == rest::NAME && is_json(field) && field.data_type() == &DataType::Utf8
}

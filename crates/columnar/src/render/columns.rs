//! The values of a batch one by one, as a template asks for them.

use super::cells::{CellTexts, CellValues};
use super::{json, rest, time};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
use rorqual_render::{RowBatch, RowCell, Value};
use std::fmt;
use std::sync::OnceLock;

/// The columns of a batch without `_rest`, whose members are found by name.
pub struct RenderColumns {
    rows: usize,
    names: Vec<String>,
    cells: Vec<CellTexts>,
    /// Of columns of instants, when one is first asked for.
    texts: Vec<OnceLock<ColumnTexts>>,
    rest: Option<StringArray>,
}

impl RenderColumns {
    /// The values of `batch`.
    ///
    /// # Errors
    /// When a type has no text.
    pub fn new(batch: &RecordBatch) -> Result<Self, ArrowError> {
        let fields = batch.schema_ref().fields();
        let mut columns = Self { rows: batch.num_rows(), names: Vec::new(), cells: Vec::new(), texts: Vec::new(), rest: None };
        for (field, array) in fields.iter().zip(batch.columns()) {
            if json::is_rest(field) {
                columns.rest = Some(array.as_string().clone());
                continue;
            }
            columns.names.push(field.name().clone());
            columns.cells.push(CellTexts::new(field, array)?);
            columns.texts.push(OnceLock::new());
        }
        Ok(columns)
    }
}

impl fmt::Debug for RenderColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} rows", self.rows)
    }
}

impl RowBatch for RenderColumns {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> &[String] {
        &self.names
    }

    /// A value that was no value of its column's type is in `_rest`, and comes from there.
    #[inline]
    fn cell(&self, row: usize, column: usize) -> RowCell<'_> {
        let cells = &self.cells[column];
        if cells.is_null(row) {
            return RowCell::Value(self.other(row, &self.names[column]).unwrap_or_else(|| ().into()));
        }
        match &cells.values {
            CellValues::Time(values, unit, utc) => {
                let texts = self.texts[column]
                    .get_or_init(|| ColumnTexts::new(cells, values, |out, value| time::push(out, value, *unit, *utc)));
                RowCell::Text(texts.get(row))
            }
            _ => cell(cells, row),
        }
    }

    /// A member of a row that has no column.
    fn other(&self, row: usize, name: &str) -> Option<Value> {
        let rest = self.rest.as_ref().filter(|rest| rest.is_valid(row))?;
        rest::own(rest.value(row), name).map(|value| of_json(value.as_bytes()))
    }
}

/// Texts stand for instants in RFC 3339, bytes in hexadecimal, and decimals with their digits.
fn cell(cells: &CellTexts, row: usize) -> RowCell<'_> {
    if cells.is_null(row) {
        return RowCell::Value(().into());
    }
    match &cells.values {
        CellValues::Null => RowCell::Value(().into()),
        CellValues::Bool(values) => RowCell::Value(values.value(row).into()),
        CellValues::Int(values) => RowCell::Integer(values.value(row)),
        CellValues::UInt(values) => RowCell::Value(values.value(row).into()),
        CellValues::Float(values) => RowCell::Value(values.value(row).into()),
        // By its shortest text: 0.1 stays 0.1.
        CellValues::Float32(values) => RowCell::Value(values.value(row).to_string().parse().unwrap_or(f64::NAN).into()),
        CellValues::Number(texts) => RowCell::Text(texts.value(row)),
        CellValues::Text(texts) => RowCell::Text(texts.value(row)),
        CellValues::LargeText(texts) => RowCell::Text(texts.value(row)),
        CellValues::Coded(codes, values) => cell(values, codes[row]),
        _ => {
            let mut json = Vec::new();
            cells.push_json(row, &mut json);
            RowCell::Value(of_json(&json))
        }
    }
}

/// JSON as a value; a number that none of ours can hold stays a text.
fn of_json(json: &[u8]) -> Value {
    serde_json::from_slice(json).unwrap_or_else(|_| String::from_utf8_lossy(json).into_owned().into())
}

/// The texts of a column, one after the other.
struct ColumnTexts {
    text: String,
    ends: Vec<usize>,
}

impl ColumnTexts {
    fn new(cells: &CellTexts, values: &[i64], push: impl Fn(&mut Vec<u8>, i64)) -> Self {
        let mut text = Vec::new();
        let ends = values.iter().enumerate().map(|(row, value)| {
            if !cells.is_null(row) {
                push(&mut text, *value);
            }
            text.len()
        });
        let ends = ends.collect();
        Self { text: String::from_utf8_lossy(&text).into_owned(), ends }
    }

    fn get(&self, row: usize) -> &str {
        let start = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[row]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{ArrayRef, Int64Array, TimestampSecondArray};
    use std::sync::Arc;

    #[test]
    fn cells_as_they_are() {
        let times: TimestampSecondArray = [Some(0), None, Some(86_399)].into_iter().collect();
        let numbers: Int64Array = [Some(1), None, Some(-3)].into_iter().collect();
        let columns: [(&str, ArrayRef); 2] = [("time", Arc::new(times.with_timezone("UTC"))), ("n", Arc::new(numbers))];
        let columns = RenderColumns::new(&RecordBatch::try_from_iter(columns).unwrap()).unwrap();
        assert_eq!(columns.columns(), ["time", "n"]);
        let cell = |row, column| columns.cell(row, column).into_value();
        assert_eq!(cell(0, 0), "1970-01-01T00:00:00Z".into());
        assert_eq!(cell(1, 0), ().into());
        assert_eq!(cell(2, 0), "1970-01-01T23:59:59Z".into());
        assert_eq!((cell(1, 1), cell(2, 1)), (().into(), (-3).into()));
    }
}

//! The values of a batch one by one, as a template asks for them.

use super::cells::{CellTexts, CellValues};
use super::{json, rest, time};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch, StringArray};
use arrow_schema::ArrowError;
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

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum RenderCell<'a> {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number.
    Int(i64),
    /// A number.
    UInt(u64),
    /// A number.
    Float(f64),
    /// A text; an instant in RFC 3339, bytes in hexadecimal, a decimal with its digits.
    Text(&'a str),
    /// A list, a map, a text that is JSON.
    Json(Vec<u8>),
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

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns' names.
    #[must_use]
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Value of a row in a column. A value that was no value of its column's type is in `_rest`,
    /// and comes from there.
    #[must_use]
    #[inline]
    pub fn cell(&self, row: usize, column: usize) -> RenderCell<'_> {
        let cells = &self.cells[column];
        if cells.is_null(row) {
            return self.other(row, &self.names[column]).map_or(RenderCell::Null, RenderCell::Json);
        }
        match &cells.values {
            CellValues::Time(values, unit, utc) => {
                let texts = self.texts[column]
                    .get_or_init(|| ColumnTexts::new(cells, values, |out, value| time::push(out, value, *unit, *utc)));
                RenderCell::Text(texts.get(row))
            }
            _ => cell(cells, row),
        }
    }

    /// The JSON of a member of a row that has no column.
    #[must_use]
    pub fn other(&self, row: usize, name: &str) -> Option<Vec<u8>> {
        let rest = self.rest.as_ref().filter(|rest| rest.is_valid(row))?;
        rest::own(rest.value(row), name).map(|value| value.as_bytes().to_vec())
    }
}

fn cell(cells: &CellTexts, row: usize) -> RenderCell<'_> {
    if cells.is_null(row) {
        return RenderCell::Null;
    }
    match &cells.values {
        CellValues::Null => RenderCell::Null,
        CellValues::Bool(values) => RenderCell::Bool(values.value(row)),
        CellValues::Int(values) => RenderCell::Int(values.value(row)),
        CellValues::UInt(values) => RenderCell::UInt(values.value(row)),
        CellValues::Float(values) => RenderCell::Float(values.value(row)),
        // By its shortest text: 0.1 stays 0.1.
        CellValues::Float32(values) => RenderCell::Float(values.value(row).to_string().parse().unwrap_or(f64::NAN)),
        CellValues::Number(texts) => RenderCell::Text(texts.value(row)),
        CellValues::Text(texts) => RenderCell::Text(texts.value(row)),
        CellValues::LargeText(texts) => RenderCell::Text(texts.value(row)),
        CellValues::Coded(codes, values) => cell(values, codes[row]),
        _ => {
            let mut json = Vec::new();
            cells.push_json(row, &mut json);
            RenderCell::Json(json)
        }
    }
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
        assert_eq!(columns.names(), ["time", "n"]);
        assert_eq!(columns.cell(0, 0), RenderCell::Text("1970-01-01T00:00:00Z"));
        assert_eq!(columns.cell(1, 0), RenderCell::Null);
        assert_eq!(columns.cell(2, 0), RenderCell::Text("1970-01-01T23:59:59Z"));
        assert_eq!((columns.cell(1, 1), columns.cell(2, 1)), (RenderCell::Null, RenderCell::Int(-3)));
    }
}

//! Orders of rows, and the rows that come first in one.

use crate::columns::number_source;
use crate::segment::InputRun;
use rorqual_accesslog::schema::{NumberColumn, Schema, TextColumn};
use std::fmt;

/// An order of rows: by a column, and where that is the same by their place in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowOrder {
    pub(crate) column: SortColumn,
    pub(crate) descending: bool,
}

/// Column that rows are ordered by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SortColumn {
    /// The time of a row.
    Time,
    /// Statuses, which are codes.
    Status,
    /// Index of a column of numbers.
    Number(usize),
    Text(TextColumn),
}

impl RowOrder {
    /// The order by the column with this name; `None` where these rows have none, or it is one
    /// whose numbers only follow from others, such as the hour of a time.
    #[must_use]
    pub fn named(schema: &Schema, field: &str, descending: bool) -> Option<Self> {
        let number = |column| match column {
            NumberColumn::STATUS => Some(SortColumn::Status),
            other => number_source(other).map(SortColumn::Number),
        };
        let column = match (schema.text(field), schema.number(field)) {
            (Some(column), _) => Some(SortColumn::Text(column)),
            (None, Some(column)) => number(column),
            (None, None) => (field == "time" && !schema.is_table()).then_some(SortColumn::Time),
        };
        column.map(|column| Self { column, descending })
    }
}

/// Place of a row in the order of the inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RowPosition {
    pub(crate) input: u32,
    /// Offset of its chunk.
    pub(crate) offset: u64,
    pub(crate) segment: u32,
    pub(crate) row: u16,
}

impl RowPosition {
    pub(crate) fn of(segment: usize, runs: &[InputRun], row: usize) -> Self {
        let after = runs.partition_point(|run| run.row as usize <= row);
        let (input, offset) = runs.get(after.saturating_sub(1)).map_or((0, 0), |run| (run.input, run.offset));
        Self { input, offset, segment: segment as u32, row: row as u16 }
    }

    /// The inverse of its text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let (input, offset) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let (segment, row) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        parts.next().is_none().then_some(Self { input, offset, segment, row })
    }
}

impl fmt::Display for RowPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}.{}", self.input, self.offset, self.segment, self.row)
    }
}

/// The first rows of an order.
#[derive(Debug)]
pub(crate) struct OrderedRows {
    pub(crate) rows: Vec<RowPosition>,
    pub(crate) exact: bool,
}

impl OrderedRows {
    pub(crate) fn rows(&self) -> &[RowPosition] {
        &self.rows
    }

    /// Bytes in memory.
    pub(crate) fn bytes(&self) -> usize {
        self.rows.capacity() * size_of::<RowPosition>()
    }
}

//! Source of rows: the few things that a template needs to know of them.

use crate::error::RenderError;
use minijinja::Value;
use rorqual_pipe::{Control, Sink};
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// Rows that can be read from their start, again and again or once.
pub trait Source: Debug + Send + Sync {
    /// Starts at the first row. Nothing is read before [`RowSequence::next`] is called, and nothing
    /// after `control` was stopped.
    ///
    /// # Errors
    /// When the rows can't be read, or were read before and can't be read again.
    fn open(&self, control: &Control) -> Result<Box<dyn RowSequence>, RenderError>;
}

/// Rows on their way.
pub trait RowSequence: Send {
    /// The next rows, in order; none of these is empty.
    ///
    /// # Errors
    /// When they can't be read; rows before that were there.
    fn next(&mut self) -> Result<Option<Arc<dyn RowBatch>>, RenderError>;

    /// Sends all remaining rows through `body`, which depends on nothing but its row, and its
    /// output into `sink`, in order; a source with threads renders on them. Returns the number of
    /// rows.
    ///
    /// # Errors
    /// The first of reading, rendering and writing, in the order of the rows.
    fn render(&mut self, body: &dyn LoopBody, sink: &mut dyn Sink) -> Result<u64, RenderError> {
        let mut rows = 0;
        while let Some(batch) = self.next()? {
            body.render(&batch, 0..batch.rows(), sink)?;
            rows += batch.rows() as u64;
        }
        Ok(rows)
    }
}

/// The body of a loop over rows in which no row depends on another.
pub trait LoopBody: Sync {
    /// Renders rows of a batch.
    ///
    /// # Errors
    /// When the template or the sink fails.
    fn render(&self, batch: &Arc<dyn RowBatch>, rows: Range<usize>, sink: &mut dyn Sink) -> Result<(), RenderError>;

    /// Renders rows from `from` on while `sink` holds no more than `bytes_max`, and returns the
    /// first row that was not rendered: one that does not fit leaves no trace.
    ///
    /// # Errors
    /// When the template fails; `sink` has all that came before.
    fn render_some(
        &self,
        batch: &Arc<dyn RowBatch>,
        from: usize,
        sink: &mut Vec<u8>,
        bytes_max: usize,
    ) -> Result<usize, RenderError>;
}

/// Some rows with the same columns.
pub trait RowBatch: Debug + Send + Sync {
    /// Number of rows.
    fn rows(&self) -> usize;

    /// The columns' names.
    fn columns(&self) -> &[String];

    /// Value of row `row` in column `column`; both are below their numbers.
    fn cell(&self, row: usize, column: usize) -> RowCell<'_>;

    /// Value of row `row` under a name that is no column's.
    fn other(&self, row: usize, name: &str) -> Option<Value> {
        let _ = (row, name);
        None
    }
}

/// Value of a row in a column.
#[derive(Debug, Clone)]
pub enum RowCell<'a> {
    /// A number.
    Integer(i64),
    /// A text.
    Text(&'a str),
    /// Anything else: nothing, a boolean, a float, a list, a map.
    Value(Value),
}

impl RowCell<'_> {
    /// A value of its own.
    #[must_use]
    pub fn into_value(self) -> Value {
        match self {
            Self::Integer(number) => number.into(),
            Self::Text(text) => text.into(),
            Self::Value(value) => value,
        }
    }
}

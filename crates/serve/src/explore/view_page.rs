//! A view as one page, which the program makes.

use rorqual_accesslog::report::LogReport;
use rorqual_accesslog::schema::Schema;
use rorqual_crossfilter::ViewResult;
use rorqual_pipe::{Control, Sink};
use rorqual_render::RenderError;
use std::sync::Arc;

/// Makes the page of a view.
pub type ViewPage = fn(&ShownView, &Control, &mut dyn Sink) -> Result<(), RenderError>;

/// A view as a page shows it.
#[derive(Debug)]
pub struct ShownView {
    /// Its numbers; the lines that are not meant are filtered ones.
    pub report: LogReport,
    /// Rows by weekday (Monday first) and hour, by the clock of the log.
    pub week: Vec<Vec<u64>>,
    /// The filter, as it is written; empty for all rows.
    pub filter: String,
    /// The span in Unix seconds, `[from, to)`.
    pub from: Option<f64>,
    /// Its end.
    pub to: Option<f64>,
    /// Rows of each table.
    pub top: usize,
    /// Of a table its columns, in place of a log's numbers.
    pub table: Option<ShownTable>,
}

/// The columns of a table.
#[derive(Debug)]
pub struct ShownTable {
    /// Name of the file.
    pub name: String,
    /// Its columns.
    pub schema: Arc<Schema>,
    /// Their values.
    pub view: ViewResult,
    /// All of it was read.
    pub complete: bool,
}

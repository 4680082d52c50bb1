//! Sources of tables, which another crate knows how to read.

use rorqual_accesslog::schema::Schema;
use rorqual_crossfilter::RowStore;
use rorqual_pipe::{Control, FollowStatus};
use std::path::Path;
use std::sync::Arc;

/// Recognises tables, of whose formats the server knows none, and opens them.
pub trait TableOpener: Send + Sync {
    /// The format of a table with that file name that begins with these bytes, for people; `None`
    /// where they begin none, or an access log.
    fn format(&self, name: &str, head: &[u8]) -> Option<String>;

    /// Refuses to read a table in so little memory.
    ///
    /// # Errors
    /// A sentence that says how much is needed.
    fn check(&self, memory_bytes: u64) -> Result<(), String>;

    /// The table in the file at `path`, which is called `name`; `None` where it is none.
    fn open(&self, name: &str, path: &Path) -> Option<Box<dyn TableSource>>;

    /// The table in the file at `path`, which is read as it grows; `None` where it is none that can
    /// be.
    fn follow(&self, path: &Path) -> Option<Box<dyn TableSource>>;
}

/// A file of rows that is no access log.
pub trait TableSource: Send {
    /// Name of its format, for people.
    fn format(&self) -> String;

    /// A reader of the same file, at its start.
    fn reopened(&self) -> Box<dyn TableSource>;

    /// Its columns: of the start of the file at first, and of all of it after
    /// [`TableEnd::MoreColumns`]. From here on it is read in so many bytes of memory.
    ///
    /// # Errors
    /// A sentence with the name of the file.
    fn columns(&mut self, memory_bytes: u64, control: &Control) -> Result<Schema, String>;

    /// Goes on at a point that an earlier reading told: its columns, as [`TableSource::columns`]
    /// has them, for the rows after it. `None` where it can't.
    ///
    /// # Errors
    /// A sentence with the name of the file.
    fn go_on(&mut self, point: &TablePoint, memory_bytes: u64, control: &Control) -> Result<Option<Schema>, String>;

    /// Gives all its rows to a store that has these columns; of a file of lines those that have an
    /// end.
    ///
    /// # Errors
    /// A sentence with the name of the file; the rows before it stay.
    fn record(&mut self, store: &Arc<RowStore>, control: &Control) -> Result<TableEnd, String>;

    /// End of the rows that were recorded, where others may be appended to the file.
    fn point(&self) -> Option<TablePoint>;

    /// Gives the rest of its rows: a last line without an end.
    ///
    /// # Errors
    /// As [`TableSource::record`].
    fn record_rest(&mut self, store: &Arc<RowStore>, control: &Control) -> Result<TableEnd, String>;

    /// Its state where it is followed; `None` where it is read to its end.
    fn followed(&self) -> Option<FollowStatus>;

    /// True if there are lines that were appended since.
    ///
    /// # Errors
    /// A sentence with the name of the file.
    fn has_appended(&mut self) -> Result<bool, String>;

    /// Gives these lines to the store.
    ///
    /// # Errors
    /// As [`TableSource::record`].
    fn record_appended(&mut self, store: &Arc<RowStore>) -> Result<(), String>;
}

/// A place in a file of lines, where its reading can go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TablePoint {
    /// Offset of the line that is next.
    pub offset: u64,
    /// The columns, in a form of the source's own.
    pub columns: Vec<u8>,
}

/// End of the rows of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableEnd {
    /// All were given, or it was stopped.
    Whole,
    /// A row has a value that none of the columns is for: they are to be told anew.
    MoreColumns,
}

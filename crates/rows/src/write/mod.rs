//! Batches as files: Parquet, Arrow IPC, NDJSON, CSV.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use rorqual_pipe::Error;
use std::fs::File;

/// What a file is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Parquet.
    Parquet,
    /// Arrow IPC, the file format.
    Arrow,
    /// One JSON object a line.
    Ndjson,
    /// Comma-separated, with a header.
    Csv,
}

/// How it is written.
#[derive(Debug, Clone)]
pub struct Settings {
    /// As what.
    pub target: Target,
    /// Columns that get a Bloom filter (Parquet), by their paths (`actor.login`).
    pub index: Vec<String>,
    /// Most bytes of rows, as arrays, in a row group.
    pub group_bytes_max: usize,
}

/// Writes batches, with the help of all workers. `prepare` and `help` are called by any worker at any time; `push` is called in the
/// order of the rows, by one at a time.
pub struct Writer {}

/// A batch that is ready to be pushed.
pub struct Prepared {}

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    /// Rows.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Row groups (Parquet) or batches (Arrow).
    pub groups: u64,
}

impl Writer {
    /// Writes rows of `schema` to `file`. `name` is the file's in messages.
    ///
    /// # Errors
    /// When a column that is to be indexed does not exist.
    pub fn new(_file: File, _name: &str, _schema: SchemaRef, _settings: &Settings) -> Result<Self, Error> {
        todo!()
    }

    /// What can be done with a batch out of order: text is rendered.
    ///
    /// # Errors
    /// When a value can't be written.
    pub fn prepare(&self, _batch: RecordBatch) -> Result<Prepared, Error> {
        todo!()
    }

    /// Takes the next batch.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn push(&self, _prepared: Prepared) -> Result<(), Error> {
        todo!()
    }

    /// Works off what waits, until little waits.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn help(&self) -> Result<(), Error> {
        todo!()
    }

    /// Writes what is left, and the footer.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn finish(self) -> Result<Written, Error> {
        todo!()
    }
}

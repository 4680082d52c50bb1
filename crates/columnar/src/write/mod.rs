//! Batches as files: Parquet, Arrow IPC, NDJSON, CSV.

mod arrow;
mod counted;
mod failure;
mod parquet;
mod text;

use crate::limits::{FOOTER_BYTES_MAX_DEFAULT, GROUP_BYTES_MAX_DEFAULT};
use crate::read::twice;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use rorqual_pipe::{Error, ErrorClass};
use std::io::Write;

/// Format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteTarget {
    /// Parquet.
    Parquet,
    /// Arrow IPC, the file format.
    Arrow,
    /// One JSON object a line.
    Ndjson,
    /// Comma-separated, with a header.
    Csv,
}

/// Compression of columns (Parquet, Arrow).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// Not at all.
    None,
    /// LZ4.
    Lz4,
    /// Zstandard of that level, 1 to 22; a level that is out of range is taken for the nearest.
    Zstd(i32),
}

/// Settings of a writer.
#[derive(Debug, Clone)]
pub struct WriteSettings {
    /// Format.
    pub target: WriteTarget,
    /// Compression of columns.
    pub codec: Codec,
    /// Columns that get a Bloom filter (Parquet), by their paths (`actor.login`).
    pub index: Vec<String>,
    /// Most bytes of rows, as arrays, in a row group. Up to two groups are held, see
    /// [`WriteSettings::bytes`].
    pub group_bytes_max: usize,
    /// Most bytes of the metadata of row groups until it is written as the footer (Parquet).
    pub footer_bytes_max: usize,
}

/// Writes batches, with the help of all workers. `prepare` and `help` are called by any worker at
/// any time; `push` is called in the order of the rows, by one at a time.
pub struct BatchWriter(WriteForm);

enum WriteForm {
    Parquet(Box<parquet::Groups>),
    Arrow(Box<arrow::ArrowWriter>),
    Text(text::TextWriter),
}

/// A batch that is ready to be pushed.
pub struct PreparedBatch(ReadyGroup);

enum ReadyGroup {
    Columns(parquet::Split),
    Batch(RecordBatch),
    Text { rows: u64, bytes: Vec<u8> },
}

/// Totals of a written file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriteSummary {
    /// Rows.
    pub rows: u64,
    /// Bytes of the file.
    pub bytes: u64,
    /// Row groups (Parquet) or batches (Arrow).
    pub groups: u64,
}

impl WriteSettings {
    /// The usual way to write a `target`: zstd of level 1 for Parquet, nothing compressed in Arrow
    /// files, nothing indexed.
    #[must_use]
    pub fn new(target: WriteTarget) -> Self {
        let codec = if target == WriteTarget::Parquet { Codec::Zstd(1) } else { Codec::None };
        Self {
            target,
            codec,
            index: Vec::new(),
            group_bytes_max: GROUP_BYTES_MAX_DEFAULT,
            footer_bytes_max: FOOTER_BYTES_MAX_DEFAULT,
        }
    }

    /// Most memory of a writer of rows of that schema while `threads` help, beside the batches that
    /// are prepared and not yet pushed.
    #[must_use]
    pub fn bytes(&self, schema: &SchemaRef, threads: usize) -> u64 {
        match self.target {
            WriteTarget::Parquet => parquet::bytes(self, schema, threads),
            WriteTarget::Arrow => arrow::BYTES,
            WriteTarget::Ndjson | WriteTarget::Csv => 0,
        }
    }
}

impl BatchWriter {
    /// Writes rows of `schema` to `file`. `name` is the file's in messages.
    ///
    /// # Errors
    /// When a column that is to be indexed does not exist, or the format has no place for a type.
    pub fn new(
        file: impl Write + Send + 'static,
        name: &str,
        schema: &SchemaRef,
        settings: &WriteSettings,
    ) -> Result<Self, Error> {
        if settings.target != WriteTarget::Csv
            && let Some(twice) = twice(schema.fields())
        {
            let text = format!("two columns are named '{twice}', which no reader would tell apart: name one anew");
            return Err(Error::new(ErrorClass::Limit, name, text));
        }
        let file = Box::new(file);
        Ok(Self(match settings.target {
            WriteTarget::Parquet => WriteForm::Parquet(Box::new(parquet::Groups::new(file, name, schema, settings)?)),
            WriteTarget::Arrow => WriteForm::Arrow(Box::new(arrow::ArrowWriter::new(file, name, schema, settings.codec)?)),
            WriteTarget::Ndjson => WriteForm::Text(text::TextWriter::new(file, name, text::TextStyle::Ndjson, schema)?),
            WriteTarget::Csv => WriteForm::Text(text::TextWriter::new(file, name, text::TextStyle::Csv, schema)?),
        }))
    }

    /// The work on a batch that can be done out of order: text is rendered.
    ///
    /// # Errors
    /// When a value can't be written; of one that has no text the error names no file
    /// ([`Error::of_input`] adds it).
    #[allow(clippy::needless_pass_by_value, reason = "the batch's memory goes where it is needed")]
    pub fn prepare(&self, batch: RecordBatch) -> Result<PreparedBatch, Error> {
        Ok(PreparedBatch(match &self.0 {
            WriteForm::Parquet(groups) => ReadyGroup::Columns(groups.split(batch)?),
            WriteForm::Arrow(batches) => ReadyGroup::Batch(batches.plain(&batch)?),
            WriteForm::Text(text) => ReadyGroup::Text { rows: batch.num_rows() as u64, bytes: text.render(&batch)? },
        }))
    }

    /// Takes the next batch.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn push(&self, prepared: PreparedBatch) -> Result<(), Error> {
        match (&self.0, prepared.0) {
            (WriteForm::Parquet(groups), ReadyGroup::Columns(split)) => groups.push(split),
            (WriteForm::Arrow(batches), ReadyGroup::Batch(batch)) => batches.push(batch),
            (WriteForm::Text(text), ReadyGroup::Text { rows, bytes }) => text.push(rows, &bytes),
            _ => unreachable!("a batch that another writer has prepared"),
        }
    }

    /// Works off waiting tasks, until every task is done or taken. Of the formats only Parquet has
    /// such work.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn help(&self) -> Result<(), Error> {
        match &self.0 {
            WriteForm::Parquet(groups) => groups.help(),
            WriteForm::Arrow(_) | WriteForm::Text(_) => Ok(()),
        }
    }

    /// Ends the input: no more rows are pushed. Other threads may then [`help`](Self::help) with
    /// the remaining tasks, before one calls [`finish`](Self::finish). Without it that thread
    /// encodes the last row group alone.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn end(&self) -> Result<(), Error> {
        match &self.0 {
            WriteForm::Parquet(groups) => groups.seal(),
            WriteForm::Arrow(_) | WriteForm::Text(_) => Ok(()),
        }
    }

    /// Writes the remaining rows, and the footer.
    ///
    /// # Errors
    /// When the file can't be written.
    pub fn finish(self) -> Result<WriteSummary, Error> {
        match self.0 {
            WriteForm::Parquet(groups) => groups.finish(),
            WriteForm::Arrow(batches) => batches.finish(),
            WriteForm::Text(text) => text.finish(),
        }
    }
}

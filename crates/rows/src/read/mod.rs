//! Files of columns as batches: Parquet and Arrow IPC.
//!
//! A [`Table`] is an open file of either; what it gives are batches of at most about [`BATCH_BYTES_MAX`](crate::limits::BATCH_BYTES_MAX)
//! of the columns and rows asked for, with nothing shared between rows but dictionaries. Only what is needed for them is read, and counted.
//!
//! A file may be foreign, and hostile: what it says of itself is looked at before anything is allocated for it.

mod arrow;
mod chunks;
mod cut;
mod find;
mod groups;
mod guard;
mod merge;
mod pages;
mod parquet;
mod row_bytes;
mod value;

use self::chunks::{Chunks, read_at};
use self::guard::{Guarded, guarded};
pub use self::merge::{fit, merge};
use crate::limits::{BATCH_BYTES_MAX, READ_FOOTER_SHARE, READ_SHARE, share};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use rorqual_pipe::{Error, Kind};
use std::fs::File;
use std::ops::Range;

/// Which rows, by their number from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rows {
    /// All.
    All,
    /// Those from one to before another.
    Range(Range<u64>),
    /// These, in ascending order.
    These(Vec<u64>),
}

/// Batches, or what is wrong with the file.
pub type Batches = Box<dyn Iterator<Item = Result<RecordBatch, Error>>>;

/// A file of columns.
pub struct Table {
    name: String,
    chunks: Chunks,
    form: Form,
}

enum Form {
    Parquet(parquet::Footer),
    Arrow(arrow::Footer),
}

/// Whether a file that starts so is a file of columns.
#[must_use]
pub fn is_table(head: &[u8]) -> bool {
    head.starts_with(b"PAR1") || head.starts_with(b"ARROW1")
}

impl Table {
    /// Opens a file of columns, to be read within shares of `memory_bytes` (see [`crate::limits::READ_SHARE`]); `None` when it is something
    /// else.
    ///
    /// # Errors
    /// When it can't be read, its footer is broken, or takes more than [`crate::limits::READ_FOOTER_SHARE`].
    pub fn open(file: File, name: &str, memory_bytes: u64) -> Result<Option<Self>, Error> {
        let metadata = file.metadata().map_err(|error| Error::io(name, "cannot read", error))?;
        let mut head = [0; 8];
        if !metadata.is_file() || metadata.len() < head.len() as u64 {
            return Ok(None);
        }
        let chunks = Chunks::new(file, metadata.len(), share(memory_bytes, READ_FOOTER_SHARE));
        read_at(&chunks, &mut head, 0).map_err(|error| Error::io(name, "cannot read", error))?;
        let form = if head.starts_with(b"PAR1") {
            Form::Parquet(guarded(name, || parquet::Footer::read(&chunks, name, memory_bytes))?)
        } else if head.starts_with(b"ARROW1") {
            Form::Arrow(guarded(name, || arrow::Footer::read(&chunks, name, memory_bytes))?)
        } else {
            return Ok(None);
        };
        Ok(Some(Self { name: name.to_owned(), chunks, form }))
    }

    /// Its name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its columns.
    #[must_use]
    pub fn schema(&self) -> &SchemaRef {
        match &self.form {
            Form::Parquet(footer) => footer.schema(),
            Form::Arrow(footer) => footer.schema(),
        }
    }

    /// How many rows it has. Parquet's footer says it; of an Arrow file each batch is read.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn rows(&self) -> Result<u64, Error> {
        match &self.form {
            Form::Parquet(footer) => Ok(footer.rows()),
            Form::Arrow(footer) => guarded(&self.name, || footer.rows(&self.chunks, &self.name)),
        }
    }

    /// The rows asked for, of these columns or of all. A column is named by its path (`actor.login`), which names what is below it too.
    ///
    /// # Errors
    /// When there is no such column.
    pub fn batches(&self, columns: Option<&[String]>, rows: &Rows) -> Result<Batches, Error> {
        self.guarded(|| match &self.form {
            Form::Parquet(footer) => footer.batches(&self.chunks, &self.name, columns, rows),
            Form::Arrow(footer) => footer.batches(&self.chunks, &self.name, columns, rows.clone()),
        })
    }

    /// The rows where a column has that value, which is written as the column's type is: a number, a text, an instant in RFC 3339, `true`.
    /// In Parquet files, statistics, Bloom filters and the page index tell what need not be read.
    ///
    /// # Errors
    /// When there is no such column, or the value is none of its type.
    pub fn find(&self, column: &str, value: &str, columns: Option<&[String]>) -> Result<Batches, Error> {
        self.guarded(|| match &self.form {
            Form::Parquet(footer) => find::in_parquet(footer, &self.chunks, &self.name, (column, value), columns),
            Form::Arrow(footer) => find::in_arrow(footer, &self.chunks, &self.name, (column, value), columns),
        })
    }

    fn guarded(&self, batches: impl FnOnce() -> Result<Batches, Error>) -> Result<Batches, Error> {
        Ok(Box::new(Guarded::new(&self.name, guarded(&self.name, batches)?)))
    }

    /// What is held of the file as long as it is open: its footer with the page index, or its dictionaries.
    #[must_use]
    pub fn footer_bytes(&self) -> u64 {
        let bytes = match &self.form {
            Form::Parquet(footer) => footer.bytes(),
            Form::Arrow(footer) => footer.bytes(),
        };
        bytes as u64
    }

    /// What reading takes at most beside the footer, in such a memory: pages or a stored batch, once more as rows, and a piece of these
    /// with what is made of it.
    #[must_use]
    pub fn reading_bytes(memory_bytes: u64) -> u64 {
        2 * share(memory_bytes, READ_SHARE) as u64 + 4 * BATCH_BYTES_MAX as u64
    }

    /// What the largest batch of an Arrow file takes, compressed or not; 0 of other files.
    ///
    /// # Errors
    /// When a batch contradicts itself, or has too many rows.
    pub fn batch_bytes_max(&self) -> Result<u64, Error> {
        match &self.form {
            Form::Parquet(_) => Ok(0),
            Form::Arrow(footer) => footer.batch_bytes_max(&self.chunks, &self.name),
        }
    }

    /// The size of the file.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.chunks.size_bytes()
    }

    /// Bytes that were read so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.chunks.bytes_read()
    }
}

/// There is no column of that name.
fn no_column<'a>(name: &str, wanted: &str, paths: impl Iterator<Item = &'a str>) -> Error {
    let near = crate::near::nearest(wanted, paths);
    Error::new(Kind::Limit, name, format!("there is no column '{wanted}'; there is: {}", near.join(", ")))
}

/// Whether the column at `path` is `wanted` or below it.
fn is_below(path: &str, wanted: &str) -> bool {
    path.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

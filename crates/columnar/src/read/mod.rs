//! Files of columns as batches: Parquet and Arrow IPC, whose streams may come from a pipe.
//!
//! A [`TableFile`] is an open file of either; it gives batches of at most about
//! [`BATCH_BYTES_MAX`](crate::limits::BATCH_BYTES_MAX) of the columns and rows asked for, with
//! nothing shared between rows but dictionaries. Only the bytes for them are read, and counted.
//!
//! A file may be foreign, and hostile: its metadata is checked before anything is allocated for it.

mod arrow;
mod catch_panic;
mod chunks;
mod find;
mod groups;
mod merge;
mod null_structs;
mod pages;
mod parquet;
mod plain;
mod row_bytes;
mod schema_bytes;
mod split_batches;
mod stream;
mod turns;
mod value;

use self::catch_panic::{FusedBatches, guarded};
use self::chunks::{Chunks, read_at};
pub use self::merge::{fit, merge};
pub use self::null_structs::{nullable_below, nulls_below};
pub use self::parquet::{LargePages, check_footer};
pub(crate) use self::plain::{is_plain, plain, twice};
pub use self::schema_bytes::{schema_bytes, schema_of_bytes};
use crate::limits::{BATCH_BYTES_MAX, READ_FOOTER_SHARE, READ_SHARE, share};
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use rorqual_pipe::{Error, ErrorClass};
use std::fs::File;
use std::io::{Cursor, Read};
use std::ops::Range;
use std::sync::Arc;

/// Choice of rows, by their number from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowChoice {
    /// All.
    All,
    /// The rows from one to before another.
    Range(Range<u64>),
    /// These, in ascending order.
    These(Vec<u64>),
}

/// Batches, or the error of the file.
pub type ReadBatches = Box<dyn Iterator<Item = Result<RecordBatch, Error>> + Send>;

/// A file of columns, or a stream of them.
pub struct TableFile {
    name: String,
    form: StoredForm,
}

enum StoredForm {
    Parquet(Arc<parquet::ParquetFooter>, Chunks),
    Arrow(arrow::ArrowFooter, Chunks),
    Stream(stream::ArrowStream, Option<Chunks>),
}

/// The refusal of numbers in the order of other machines.
const BIG_ENDIAN: &str = "its numbers are big-endian, which is not read: a program of Arrow's writes them anew";

/// Refusal of an encrypted file.
const ENCRYPTED: &str = "is encrypted Parquet, which is not read: no keys are taken, so decrypt it first";

/// True if a file that starts so is a file of columns, or a stream of them.
#[must_use]
pub fn is_table(head: &[u8]) -> bool {
    is_parquet(head) || is_stream(head) || head.starts_with(ARROW)
}

/// True if a file that starts so is Parquet, encrypted or not.
#[must_use]
pub fn is_parquet(head: &[u8]) -> bool {
    head.starts_with(PARQUET) || head.starts_with(PARQUET_ENCRYPTED)
}

/// True if something that starts so is a stream of Arrow IPC, which is read in order.
#[must_use]
pub fn is_stream(head: &[u8]) -> bool {
    stream::is_stream(head)
}

/// Refuses, by its first bytes, a file that would be read wrong by another reader; a broken one is
/// left to that reader.
///
/// # Errors
/// When it is encrypted, or Arrow with columns or numbers that are not read.
pub fn check_head(name: &str, head: &[u8]) -> Result<(), Error> {
    if head.starts_with(PARQUET_ENCRYPTED) {
        return Err(Error::new(ErrorClass::Limit, name, ENCRYPTED));
    }
    // After its magic and the zeros up to the writer's alignment (8 or 64 bytes), a file begins as
    // a stream does.
    let messages = head.strip_prefix(ARROW).map_or(head, |rest| &rest[rest.iter().take_while(|byte| **byte == 0).count()..]);
    if !is_stream(messages) {
        return Ok(());
    }
    let opened = guarded(name, || stream::ArrowStream::once(Box::new(Cursor::new(messages.to_vec())), name, u64::MAX));
    opened.map(drop).or_else(|error| if error.kind() == ErrorClass::Limit { Err(error) } else { Ok(()) })
}

const PARQUET: &[u8] = b"PAR1";
const PARQUET_ENCRYPTED: &[u8] = b"PARE";
const ARROW: &[u8] = b"ARROW1";

impl TableFile {
    /// Opens a file of columns, to be read within shares of `memory_bytes` (see
    /// [`crate::limits::READ_SHARE`]); `None` when it is something else.
    ///
    /// # Errors
    /// When it can't be read, its footer is broken, or takes more than
    /// [`crate::limits::READ_FOOTER_SHARE`]; or it has columns that would be read wrong.
    pub fn open(file: File, name: &str, memory_bytes: u64) -> Result<Option<Self>, Error> {
        let metadata = file.metadata().map_err(|error| Error::io(name, "cannot read", error))?;
        let mut head = [0; 8];
        if !metadata.is_file() || metadata.len() < head.len() as u64 {
            return Ok(None);
        }
        let mut chunks = Chunks::new(file, metadata.len(), share(memory_bytes, READ_FOOTER_SHARE));
        read_at(&chunks, &mut head, 0).map_err(|error| Error::io(name, "cannot read", error))?;
        let form = if head.starts_with(PARQUET_ENCRYPTED) {
            return Err(Error::new(ErrorClass::Limit, name, ENCRYPTED));
        } else if head.starts_with(PARQUET) {
            let footer = guarded(name, || parquet::ParquetFooter::read(&mut chunks, name, memory_bytes))?;
            StoredForm::Parquet(Arc::new(footer), chunks)
        } else if head.starts_with(ARROW) {
            let footer = guarded(name, || arrow::ArrowFooter::read(&chunks, name, memory_bytes))?;
            StoredForm::Arrow(footer, chunks)
        } else if is_stream(&head) {
            let stream = guarded(name, || stream::ArrowStream::of_file(&chunks, name, memory_bytes))?;
            StoredForm::Stream(stream, Some(chunks))
        } else {
            return Ok(None);
        };
        Ok(Some(Self { name: name.to_owned(), form }))
    }

    /// A stream of Arrow IPC that can be read once, by one call that gives rows.
    ///
    /// # Errors
    /// As [`TableFile::open`].
    pub fn stream(reader: Box<dyn Read + Send>, name: &str, memory_bytes: u64) -> Result<Self, Error> {
        let stream = guarded(name, || stream::ArrowStream::once(reader, name, memory_bytes))?;
        Ok(Self { name: name.to_owned(), form: StoredForm::Stream(stream, None) })
    }

    fn chunks(&self) -> Option<&Chunks> {
        match &self.form {
            StoredForm::Parquet(_, chunks) | StoredForm::Arrow(_, chunks) => Some(chunks),
            StoredForm::Stream(_, chunks) => chunks.as_ref(),
        }
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
            StoredForm::Parquet(footer, _) => footer.schema(),
            StoredForm::Arrow(footer, _) => footer.plain(),
            StoredForm::Stream(stream, _) => stream.plain(),
        }
    }

    /// Number of its rows. Parquet's footer says it; of Arrow each batch is read, after which a
    /// stream that is no file has none.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn rows(&self) -> Result<u64, Error> {
        match &self.form {
            StoredForm::Parquet(footer, _) => Ok(footer.rows()),
            StoredForm::Arrow(footer, chunks) => guarded(&self.name, || footer.rows(chunks, &self.name)),
            StoredForm::Stream(stream, _) => guarded(&self.name, || stream.rows(&self.name)),
        }
    }

    /// The rows asked for, of these columns or of all. A column is named by its path
    /// (`actor.login`), which names all columns below it too.
    ///
    /// # Errors
    /// When there is no such column.
    pub fn batches(&self, columns: Option<&[String]>, rows: &RowChoice) -> Result<ReadBatches, Error> {
        self.guarded(|| match &self.form {
            StoredForm::Parquet(footer, chunks) => footer.batches(chunks, &self.name, columns, rows),
            StoredForm::Arrow(footer, chunks) => footer.batches(chunks, &self.name, columns, rows.clone()),
            StoredForm::Stream(stream, _) => stream.batches(&self.name, columns, rows.clone()),
        })
    }

    /// The rows where a column has that value, which is written as the column's type is: a number,
    /// a text, an instant in RFC 3339, `true`. In Parquet files, statistics, Bloom filters and the
    /// page index tell the parts that need not be read.
    ///
    /// # Errors
    /// When there is no such column, or the value is none of its type.
    pub fn find(&self, column: &str, value: &str, columns: Option<&[String]>) -> Result<ReadBatches, Error> {
        self.guarded(|| match &self.form {
            StoredForm::Parquet(footer, chunks) => find::in_parquet(footer, chunks, &self.name, (column, value), columns),
            StoredForm::Arrow(footer, chunks) => {
                let all = footer.batches(chunks, &self.name, None, RowChoice::All)?;
                find::in_arrow((footer.plain(), all), &self.name, (column, value), columns)
            }
            StoredForm::Stream(stream, _) => {
                let all = stream.batches(&self.name, None, RowChoice::All)?;
                find::in_arrow((stream.plain(), all), &self.name, (column, value), columns)
            }
        })
    }

    fn guarded(&self, batches: impl FnOnce() -> Result<ReadBatches, Error>) -> Result<ReadBatches, Error> {
        Ok(Box::new(FusedBatches::new(&self.name, guarded(&self.name, batches)?)))
    }

    /// True if it is Parquet.
    #[must_use]
    pub fn is_parquet(&self) -> bool {
        matches!(self.form, StoredForm::Parquet(..))
    }

    /// Memory of the file as long as it is open: its footer with the page index, or its
    /// dictionaries.
    #[must_use]
    pub fn footer_bytes(&self) -> u64 {
        let bytes = match &self.form {
            StoredForm::Parquet(footer, _) => footer.bytes(),
            StoredForm::Arrow(footer, _) => footer.bytes(),
            StoredForm::Stream(stream, _) => stream.bytes(),
        };
        bytes as u64
    }

    /// Most memory of reading beside the footer, in such a memory: pages (large ones where a file
    /// has them) or a stored batch, once more as rows, and a piece of these with its output.
    #[must_use]
    pub fn reading_bytes(memory_bytes: u64, large_page_bytes: u64) -> u64 {
        let share = share(memory_bytes, READ_SHARE) as u64;
        share.max(large_page_bytes) + share + 4 * BATCH_BYTES_MAX as u64
    }

    /// Memory of its pages that are held at once, where that is more than their usual share.
    #[must_use]
    pub fn large_page_bytes(&self) -> u64 {
        if let StoredForm::Parquet(footer, _) = &self.form { footer.large_bytes() as u64 } else { 0 }
    }

    /// Pages that would be larger than their share, if the file were read within `memory_bytes`;
    /// none of other files than Parquet.
    #[must_use]
    pub fn large_pages(&self, memory_bytes: u64) -> LargePages {
        match &self.form {
            StoredForm::Parquet(footer, chunks) => LargePages::find(footer.parquet(), chunks, memory_bytes),
            StoredForm::Arrow(..) | StoredForm::Stream(..) => LargePages::default(),
        }
    }

    /// Memory of the largest batch of an Arrow file, compressed or not, or its limit in a stream; 0
    /// of other files.
    ///
    /// # Errors
    /// When a batch contradicts itself, or has too many rows.
    pub fn batch_bytes_max(&self) -> Result<u64, Error> {
        match &self.form {
            StoredForm::Parquet(..) => Ok(0),
            StoredForm::Arrow(footer, chunks) => footer.batch_bytes_max(chunks, &self.name),
            StoredForm::Stream(stream, _) => Ok(stream.batch_bytes_max()),
        }
    }

    /// The size of the file; 0 of an input that is none.
    #[must_use]
    pub fn file_bytes(&self) -> u64 {
        self.chunks().map_or(0, Chunks::size_bytes)
    }

    /// Bytes of the file that were read so far.
    #[must_use]
    pub fn bytes_read(&self) -> u64 {
        self.chunks().map_or(0, Chunks::bytes_read)
    }
}

/// There is no column of that name.
fn no_column<'a>(name: &str, wanted: &str, paths: impl Iterator<Item = &'a str>) -> Error {
    let near = crate::suggest::nearest(wanted, paths);
    Error::new(ErrorClass::Limit, name, format!("there is no column '{wanted}'; its columns include: {}", near.join(", ")))
}

/// True if the column at `path` is `wanted` or below it.
fn is_below(path: &str, wanted: &str) -> bool {
    path.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

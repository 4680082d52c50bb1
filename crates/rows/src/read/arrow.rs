//! Arrow IPC files.

use super::chunks::Chunks;
use super::{Batches, Rows, is_below, no_column};
use crate::limits::BATCH_ROWS_MAX;
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, root_as_footer};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::take_record_batch;
use rorqual_pipe::{Error, Kind};
use std::io;
use std::sync::Arc;

/// Behind a file's footer: its length and the magic.
const TRAILER_BYTES: usize = 10;

/// What a file says of itself.
pub(super) struct Footer {
    schema: SchemaRef,
    decoder: Arc<FileDecoder>,
    blocks: Vec<Block>,
}

impl Footer {
    pub(super) fn read(chunks: &Chunks, name: &str) -> Result<Self, Error> {
        let sound = |text: &str| Error::new(Kind::Corrupt, name, format!("not a sound Arrow file: {text}"));
        let io = |error| failed(name, error);
        let end = chunks.size_bytes().checked_sub(TRAILER_BYTES as u64).ok_or_else(|| sound("it is too short"))?;
        let trailer: [u8; TRAILER_BYTES] = chunks.bytes(end, TRAILER_BYTES).map_err(io)?.try_into().unwrap_or_default();
        let length = read_footer_length(trailer).map_err(|error| sound(&error.to_string()))?;
        let start = end.checked_sub(length as u64).ok_or_else(|| sound("its footer is longer than itself"))?;
        let bytes = chunks.bytes(start, length).map_err(io)?;
        let footer = root_as_footer(&bytes).map_err(|error| sound(&error.to_string()))?;
        let schema = footer.schema().ok_or_else(|| sound("it has no schema"))?;
        let schema: SchemaRef = Arc::new(fb_to_schema(schema));
        let mut decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        for block in footer.dictionaries().iter().flatten() {
            let buffer = read_block(chunks, block).map_err(io)?;
            decoder.read_dictionary(block, &buffer).map_err(|error| sound(&error.to_string()))?;
        }
        let blocks = footer.recordBatches().iter().flatten().copied().collect();
        Ok(Self { schema, decoder: Arc::new(decoder), blocks })
    }

    pub(super) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// A batch as it is stored and as it is read, and what is taken of it.
    pub(super) fn bytes(&self) -> u64 {
        let lengths = self.blocks.iter().map(|block| u64::try_from(block.bodyLength()).unwrap_or(0));
        4 * lengths.max().unwrap_or(0)
    }

    pub(super) fn rows(&self, chunks: &Chunks, name: &str) -> Result<u64, Error> {
        let mut rows = 0;
        for block in &self.blocks {
            rows += batch(&self.decoder, chunks, block, name)?.map_or(0, |batch| batch.num_rows() as u64);
        }
        Ok(rows)
    }

    pub(super) fn batches(&self, chunks: &Chunks, name: &str, columns: Option<&[String]>, rows: Rows) -> Result<Batches, Error> {
        let columns = self.projection(name, columns)?;
        let (decoder, chunks, name) = (Arc::clone(&self.decoder), chunks.clone(), name.to_owned());
        let mut blocks = self.blocks.clone().into_iter();
        let mut start = 0;
        let end = match &rows {
            Rows::All => u64::MAX,
            Rows::Range(range) => range.end,
            Rows::These(rows) => rows.last().map_or(0, |last| last + 1),
        };
        let mut next = move || -> Result<Option<RecordBatch>, Error> {
            while start < end {
                let Some(block) = blocks.next() else { return Ok(None) };
                let Some(batch) = batch(&decoder, &chunks, &block, &name)? else { continue };
                let wanted = part(&batch, start, &rows, columns.as_deref());
                start += batch.num_rows() as u64;
                let wanted = wanted.map_err(|error| Error::new(Kind::Corrupt, name.clone(), error.to_string()))?;
                if wanted.num_rows() > 0 {
                    return Ok(Some(wanted));
                }
            }
            Ok(None)
        };
        Ok(Box::new(std::iter::from_fn(move || next().transpose()).flat_map(small)))
    }

    /// Which top-level columns these are.
    pub(super) fn projection(&self, name: &str, columns: Option<&[String]>) -> Result<Option<Vec<usize>>, Error> {
        let Some(columns) = columns else { return Ok(None) };
        let names = || self.schema.fields().iter().map(|field| field.name().as_str());
        for wanted in columns {
            if !names().any(|path| is_below(path, wanted) || is_below(wanted, path)) {
                return Err(no_column(name, wanted, names()));
            }
        }
        let wanted = |path: &str| columns.iter().any(|wanted| is_below(path, wanted) || is_below(wanted, path));
        Ok(Some(names().enumerate().filter(|(_, path)| wanted(path)).map(|(place, _)| place).collect()))
    }
}

/// A batch in pieces of not too many rows.
fn small(batch: Result<RecordBatch, Error>) -> Vec<Result<RecordBatch, Error>> {
    match batch {
        Ok(batch) if batch.num_rows() > BATCH_ROWS_MAX => {
            let starts = (0..batch.num_rows()).step_by(BATCH_ROWS_MAX);
            starts.map(|start| Ok(batch.slice(start, BATCH_ROWS_MAX.min(batch.num_rows() - start)))).collect()
        }
        other => vec![other],
    }
}

/// Of a batch that starts with row `start`, what was asked for.
fn part(batch: &RecordBatch, start: u64, rows: &Rows, columns: Option<&[usize]>) -> Result<RecordBatch, ArrowError> {
    let projected = columns.map_or(Ok(batch.clone()), |columns| batch.project(columns))?;
    let end = start + batch.num_rows() as u64;
    match rows {
        Rows::All => Ok(projected),
        Rows::Range(range) => {
            let (from, to) = (range.start.clamp(start, end), range.end.clamp(start, end));
            Ok(projected.slice((from - start) as usize, to.saturating_sub(from) as usize))
        }
        Rows::These(rows) => {
            let here = &rows[rows.partition_point(|row| *row < start)..rows.partition_point(|row| *row < end)];
            let places = here.iter().map(|row| row - start).collect::<Vec<_>>();
            take_record_batch(&projected, &arrow_array::UInt64Array::from(places))
        }
    }
}

fn batch(decoder: &FileDecoder, chunks: &Chunks, block: &Block, name: &str) -> Result<Option<RecordBatch>, Error> {
    let buffer = read_block(chunks, block).map_err(|error| failed(name, error))?;
    let sound = |error: ArrowError| Error::new(Kind::Corrupt, name, format!("not a sound Arrow file: {error}"));
    decoder.read_record_batch(block, &buffer).map_err(sound)
}

fn read_block(chunks: &Chunks, block: &Block) -> io::Result<Buffer> {
    let invalid = || io::Error::new(io::ErrorKind::InvalidData, "a block with a negative length");
    let length =
        i64::from(block.metaDataLength()).checked_add(block.bodyLength()).and_then(|length| usize::try_from(length).ok());
    let start = u64::try_from(block.offset()).map_err(|_| invalid())?;
    if block.metaDataLength() < 8 || block.bodyLength() < 0 {
        return Err(invalid());
    }
    chunks.bytes(start, length.ok_or_else(invalid)?).map(Buffer::from_vec)
}

fn failed(name: &str, error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(_) => Error::io(name, "cannot read", error),
        None => Error::new(Kind::Corrupt, name, format!("not a sound Arrow file: {error}")),
    }
}

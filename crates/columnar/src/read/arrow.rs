//! Arrow IPC files.

use super::chunks::Chunks;
use super::plain::{check, plain_schema};
use super::split_batches::BatchSplitter;
use super::{ReadBatches, RowChoice, is_below, no_column};
use crate::limits::{READ_FOOTER_SHARE, READ_SHARE, STORED_ROWS_MAX, share};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, Endianness, KeyValue, root_as_footer, root_as_message};
use arrow_schema::{ArrowError, SchemaRef};
use arrow_select::take::take_record_batch;
use rorqual_pipe::setting::MEMORY;
use rorqual_pipe::{Error, ErrorClass, format_size};
use std::fmt::Display;
use std::io;
use std::sync::Arc;

/// Bytes after a file's footer: its length and the magic.
const TRAILER_BYTES: usize = 10;

/// Metadata of a file.
pub(super) struct ArrowFooter {
    /// The schema as it is stored, and as its rows are given.
    schema: SchemaRef,
    plain: SchemaRef,
    decoder: Arc<FileDecoder>,
    blocks: Arc<[Block]>,
    /// Most bytes of a stored batch, and as many again before compression.
    bytes_max: usize,
    /// Memory held as long as the file is open: the schema, the places of batches, and the
    /// dictionaries.
    bytes: usize,
}

/// Memory of a column, its name and metadata aside.
const FIELD_BYTES: usize = 512;

/// Memory of a name or a text of metadata beside its bytes.
const TEXT_BYTES: usize = 64;

impl ArrowFooter {
    pub(super) fn read(chunks: &Chunks, name: &str, memory_bytes: u64) -> Result<Self, Error> {
        let sound = |text: &str| Error::new(ErrorClass::Corrupt, name, format!("not a sound Arrow file: {text}"));
        let io = |error| failed(name, error);
        let end = chunks.size_bytes().checked_sub(TRAILER_BYTES as u64).ok_or_else(|| sound("it is too short"))?;
        let trailer: [u8; TRAILER_BYTES] = chunks.bytes(end, TRAILER_BYTES).map_err(io)?.try_into().unwrap_or_default();
        let length = read_footer_length(trailer).map_err(|error| sound(&error.to_string()))?;
        let start = end.checked_sub(length as u64).ok_or_else(|| sound("its footer is longer than the file"))?;
        let bytes = chunks.bytes(start, length).map_err(io)?;
        let footer = root_as_footer(&bytes).map_err(|error| sound(&error.to_string()))?;
        let schema = footer.schema().ok_or_else(|| sound("it has no schema"))?;
        if schema.endianness() == Endianness::Big {
            return Err(Error::new(ErrorClass::Limit, name, super::BIG_ENDIAN));
        }
        let bytes_max = share(memory_bytes, READ_FOOTER_SHARE);
        let mut held = length + size_of::<Block>() * footer.recordBatches().map_or(0, |blocks| blocks.len());
        if !schema_fits(&schema, &mut held, bytes_max) {
            let text = format!("its footer takes more than {}: more {MEMORY} would take it", format_size(bytes_max as u64));
            return Err(Error::new(ErrorClass::Limit, name, text));
        }
        let schema: SchemaRef = Arc::new(fb_to_schema(schema));
        check(name, &schema)?;
        let mut decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        for (number, block) in footer.dictionaries().iter().flatten().enumerate() {
            let what = format!("dictionary batch {number}");
            let (buffer, bytes) = read_block(chunks, block, name, &what, bytes_max - held)?;
            held += bytes;
            decoder.read_dictionary(block, &buffer).map_err(|error| sound(&error.to_string()))?;
        }
        let blocks = footer.recordBatches().iter().flatten().copied().collect();
        let bytes_max = share(memory_bytes, READ_SHARE);
        Ok(Self { plain: plain_schema(&schema), schema, decoder: Arc::new(decoder), blocks, bytes_max, bytes: held })
    }

    pub(super) fn plain(&self) -> &SchemaRef {
        &self.plain
    }

    /// Memory of the footer and the dictionaries.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Memory of the largest batch, as it is stored or before compression; each was looked at, and
    /// its buffers left unread.
    pub(super) fn batch_bytes_max(&self, chunks: &Chunks, name: &str) -> Result<u64, Error> {
        let mut most = 0;
        for (number, block) in self.blocks.iter().enumerate() {
            let what = format!("batch {number}");
            let sound = |text: &str| Error::new(ErrorClass::Corrupt, name, format!("not a sound Arrow file: {what}: {text}"));
            let (start, head, body) = place(block).ok_or_else(|| sound("a negative length or place"))?;
            let bytes = chunks.bytes(start, head).map_err(|error| failed(name, error))?;
            let prefix = |at: usize| {
                let within = at.checked_add(8).is_some_and(|end| end <= body);
                within.then(|| chunks.bytes(start + head as u64 + at as u64, 8).ok()).flatten()?.try_into().ok()
            };
            let (rows, plain_bytes) = stated(&bytes, prefix).ok_or_else(|| sound("a broken message"))?;
            if rows > STORED_ROWS_MAX {
                return Err(too_many_rows(name, &what, rows));
            }
            most = most.max(plain_bytes.max(body) as u64);
        }
        Ok(most)
    }

    pub(super) fn rows(&self, chunks: &Chunks, name: &str) -> Result<u64, Error> {
        let mut stored = self.stored(chunks, name);
        let mut rows = 0;
        while let Some(batch) = stored.step()? {
            rows += batch.num_rows() as u64;
        }
        Ok(rows)
    }

    pub(super) fn batches(
        &self,
        chunks: &Chunks,
        name: &str,
        columns: Option<&[String]>,
        rows: RowChoice,
    ) -> Result<ReadBatches, Error> {
        let columns = projection(&self.schema, name, columns)?;
        cut(self.stored(chunks, name), name, (&self.plain, columns), rows, self.bytes_max)
    }

    fn stored(&self, chunks: &Chunks, name: &str) -> ArrowBatches {
        ArrowBatches {
            decoder: Arc::clone(&self.decoder),
            chunks: chunks.clone(),
            name: name.to_owned(),
            blocks: Arc::clone(&self.blocks),
            next: 0,
            bytes_max: self.bytes_max,
        }
    }
}

/// Of batches as they are stored, the columns and rows asked for, in pieces.
pub(super) fn cut(
    mut stored: impl Iterator<Item = Result<RecordBatch, Error>> + Send + 'static,
    name: &str,
    (schema, columns): (&SchemaRef, Option<Vec<usize>>),
    rows: RowChoice,
    bytes_max: usize,
) -> Result<ReadBatches, Error> {
    let schema = match &columns {
        Some(columns) => Arc::new(schema.project(columns).map_err(|error| unsound(name, error))?),
        None => Arc::clone(schema),
    };
    let mut cutter = BatchSplitter::new(name, &schema, bytes_max / 2);
    let name = name.to_owned();
    let mut start = 0;
    let end = match &rows {
        RowChoice::All => u64::MAX,
        RowChoice::Range(range) => range.end,
        RowChoice::These(rows) => rows.last().map_or(0, |last| last + 1),
    };
    let mut next = move || -> Result<Option<RecordBatch>, Error> {
        loop {
            if let Some(piece) = cutter.next() {
                return piece.map(Some);
            }
            if start >= end {
                return Ok(None);
            }
            let Some(batch) = stored.next() else { return Ok(None) };
            let batch = batch?;
            let wanted = part(&batch, start, &rows, columns.as_deref());
            start += batch.num_rows() as u64;
            cutter.put(wanted.map_err(|error| unsound(&name, error))?);
        }
    };
    Ok(Box::new(std::iter::from_fn(move || next().transpose())))
}

/// Numbers of these top-level columns.
pub(super) fn projection(schema: &SchemaRef, name: &str, columns: Option<&[String]>) -> Result<Option<Vec<usize>>, Error> {
    let Some(columns) = columns else { return Ok(None) };
    let names = || schema.fields().iter().map(|field| field.name().as_str());
    for wanted in columns {
        if !names().any(|path| is_below(path, wanted) || is_below(wanted, path)) {
            return Err(no_column(name, wanted, names()));
        }
    }
    let wanted = |path: &str| columns.iter().any(|wanted| is_below(path, wanted) || is_below(wanted, path));
    Ok(Some(names().enumerate().filter(|(_, path)| wanted(path)).map(|(place, _)| place).collect()))
}

/// Adds the memory of a schema; true if that is no more than `bytes_max` together. A footer may
/// name one field any number of times.
pub(super) fn schema_fits(schema: &arrow_ipc::Schema<'_>, bytes: &mut usize, bytes_max: usize) -> bool {
    texts_fit(schema.custom_metadata().iter().flatten(), bytes, bytes_max)
        && schema.fields().iter().flatten().all(|field| field_fits(&field, bytes, bytes_max))
}

fn field_fits(field: &arrow_ipc::Field<'_>, bytes: &mut usize, bytes_max: usize) -> bool {
    *bytes = bytes.saturating_add(FIELD_BYTES + field.name().map_or(0, str::len));
    texts_fit(field.custom_metadata().iter().flatten(), bytes, bytes_max)
        && field.children().iter().flatten().all(|below| field_fits(&below, bytes, bytes_max))
}

/// The same of metadata.
fn texts_fit<'a>(mut texts: impl Iterator<Item = KeyValue<'a>>, bytes: &mut usize, bytes_max: usize) -> bool {
    let fit = texts.all(|text| {
        let lengths = text.key().map_or(0, str::len) + text.value().map_or(0, str::len);
        *bytes = bytes.saturating_add(2 * TEXT_BYTES + lengths);
        *bytes <= bytes_max
    });
    fit && *bytes <= bytes_max
}

/// Batches as they are stored.
struct ArrowBatches {
    decoder: Arc<FileDecoder>,
    chunks: Chunks,
    name: String,
    blocks: Arc<[Block]>,
    next: usize,
    bytes_max: usize,
}

impl Iterator for ArrowBatches {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

impl ArrowBatches {
    fn step(&mut self) -> Result<Option<RecordBatch>, Error> {
        while let Some(block) = self.blocks.get(self.next) {
            let what = format!("batch {}", self.next);
            self.next += 1;
            let (buffer, _) = read_block(&self.chunks, block, &self.name, &what, self.bytes_max)?;
            let batch = self.decoder.read_record_batch(block, &buffer).map_err(|error| unsound(&self.name, error))?;
            if batch.is_some() {
                return Ok(batch);
            }
        }
        Ok(None)
    }
}

/// The requested part of a batch that starts with row `start`.
fn part(batch: &RecordBatch, start: u64, rows: &RowChoice, columns: Option<&[usize]>) -> Result<RecordBatch, ArrowError> {
    let projected = columns.map_or(Ok(batch.clone()), |columns| batch.project(columns))?;
    let end = start + batch.num_rows() as u64;
    match rows {
        RowChoice::All => Ok(projected),
        RowChoice::Range(range) => {
            let (from, to) = (range.start.clamp(start, end), range.end.clamp(start, end));
            Ok(projected.slice((from - start) as usize, to.saturating_sub(from) as usize))
        }
        RowChoice::These(rows) => {
            let here = &rows[rows.partition_point(|row| *row < start)..rows.partition_point(|row| *row < end)];
            let places = here.iter().map(|row| row - start).collect::<Vec<_>>();
            take_record_batch(&projected, &arrow_array::UInt64Array::from(places))
        }
    }
}

/// A message with its buffers, and their memory before compression, which is `bytes_max` at most.
fn read_block(chunks: &Chunks, block: &Block, name: &str, what: &str, bytes_max: usize) -> Result<(Buffer, usize), Error> {
    let sound = |text: &str| Error::new(ErrorClass::Corrupt, name, format!("not a sound Arrow file: {what}: {text}"));
    let (start, head, body) = place(block).ok_or_else(|| sound("a negative length or place"))?;
    let fits = |bytes: usize| {
        if bytes <= bytes_max {
            return Ok(bytes);
        }
        let [bytes, max] = [bytes, bytes_max].map(|bytes| format_size(bytes as u64));
        let text = format!("{what} takes {bytes}, more than {max} of memory: more {MEMORY} would take it, or smaller batches");
        Err(Error::new(ErrorClass::Limit, name, text))
    };
    let stored_bytes = head.saturating_add(body);
    // Bytes that the file does not have are damage, for which no memory is enough.
    if chunks.has(start, stored_bytes) {
        fits(stored_bytes)?;
    }
    let bytes = chunks.bytes(start, stored_bytes).map_err(|error| failed(name, error))?;
    let (message, buffers) = bytes.split_at_checked(head).ok_or_else(|| sound("it is cut short"))?;
    let prefix = |at: usize| buffers.get(at..at.checked_add(8)?)?.try_into().ok();
    let (rows, plain_bytes) = stated(message, prefix).ok_or_else(|| sound("a broken message"))?;
    if rows > STORED_ROWS_MAX {
        return Err(too_many_rows(name, what, rows));
    }
    fits(plain_bytes)?;
    Ok((Buffer::from_vec(bytes), plain_bytes.max(body)))
}

/// Place of a message, and its length and that of its buffers.
fn place(block: &Block) -> Option<(u64, usize, usize)> {
    let (head, body) = (usize::try_from(block.metaDataLength()).ok()?, usize::try_from(block.bodyLength()).ok()?);
    (head >= 8).then_some((u64::try_from(block.offset()).ok()?, head, body))
}

fn too_many_rows(name: &str, what: &str, rows: u64) -> Error {
    let text = format!("{what} has {rows} rows, more than {STORED_ROWS_MAX}: smaller batches would be read");
    Error::new(ErrorClass::Limit, name, text)
}

/// Contents that a message states: rows, and bytes of compressed buffers before compression, which
/// the first eight bytes of each tell.
pub(super) fn stated(bytes: &[u8], prefix: impl Fn(usize) -> Option<[u8; 8]>) -> Option<(u64, usize)> {
    // Since version 0.15 the length has four bytes before it.
    let start = if bytes.starts_with(&[0xff; 4]) { 8 } else { 4 };
    let message = root_as_message(bytes.get(start..)?).ok()?;
    let dictionary = || message.header_as_dictionary_batch()?.data();
    let Some(batch) = message.header_as_record_batch().or_else(dictionary) else { return Some((0, 0)) };
    let rows = u64::try_from(batch.length()).ok()?;
    if batch.compression().is_none() {
        return Some((rows, 0));
    }
    let mut sum = 0_usize;
    for buffer in batch.buffers()?.iter().filter(|buffer| buffer.length() > 0) {
        let length = i64::from_le_bytes(prefix(usize::try_from(buffer.offset()).ok()?)?);
        // -1 says that this one is not compressed.
        sum = sum.checked_add(usize::try_from(length.max(0)).ok()?)?;
    }
    Some((rows, sum))
}

pub(super) fn unsound(name: &str, error: impl Display) -> Error {
    Error::new(ErrorClass::Corrupt, name, format!("not a sound Arrow file: {error}"))
}

pub(super) fn failed(name: &str, error: io::Error) -> Error {
    match error.raw_os_error() {
        Some(_) => Error::io(name, "cannot read", error),
        None => Error::new(ErrorClass::Corrupt, name, format!("not a sound Arrow file: {error}")),
    }
}

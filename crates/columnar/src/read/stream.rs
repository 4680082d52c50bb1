//! Arrow IPC streams: messages one after another, without a footer that says where each is.

use super::arrow::{cut, failed, projection, schema_fits, stated, unsound};
use super::chunks::Chunks;
use super::plain::{check, plain_schema};
use super::{ReadBatches, RowChoice};
use crate::limits::{READ_FOOTER_SHARE, READ_SHARE, STORED_ROWS_MAX, share};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::FileDecoder;
use arrow_ipc::{Block, Endianness, MetadataVersion, root_as_message};
use arrow_schema::SchemaRef;
use rorqual_pipe::setting::MEMORY;
use rorqual_pipe::{Error, ErrorClass, format_size};
use std::collections::HashMap;
use std::io::{self, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// Before the length of each message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Bytes before a message: a mark, and its length.
const PREFIX_BYTES: usize = 8;

/// Bytes of a message, 1 TiB: one that says it is larger is damaged, not large.
const MESSAGE_BYTES_SOUND_MAX: usize = 1 << 40;

/// An open stream.
pub(super) struct ArrowStream {
    schema: SchemaRef,
    plain: SchemaRef,
    version: MetadataVersion,
    bytes: usize,
    limits: StreamLimits,
    source: MessageSource,
    /// Begin of the messages after the schema.
    start: u64,
}

/// Shares of the memory.
#[derive(Debug, Clone, Copy)]
struct StreamLimits {
    /// For the schema and the dictionaries.
    held_bytes_max: usize,
    /// For a batch as it is stored, and as much again before compression.
    batch_bytes_max: usize,
}

/// Source of the messages after the schema.
enum MessageSource {
    /// A file.
    File(Chunks),
    /// Something that can be read once.
    Once(Mutex<Option<Box<dyn Read + Send>>>),
}

/// True if something that starts so is a stream.
pub(super) fn is_stream(head: &[u8]) -> bool {
    let length = head.get(4..PREFIX_BYTES).and_then(|length| length.try_into().ok()).map(i32::from_le_bytes);
    // Messages are padded, and a schema is no more than this.
    head.starts_with(&CONTINUATION) && length.is_some_and(|length| length > 0 && length % 8 == 0 && length < 1 << 28)
}

impl ArrowStream {
    /// The stream in a file.
    pub(super) fn of_file(chunks: &Chunks, name: &str, memory_bytes: u64) -> Result<Self, Error> {
        let mut messages = Messages { name, reader: &mut BufReader::new(chunks.reader(0)), read: 0 };
        let opened = OpenedStream::read(&mut messages, memory_bytes)?;
        let start = messages.read;
        Ok(opened.with(MessageSource::File(chunks.clone()), start))
    }

    /// A stream that can be read once.
    pub(super) fn once(mut reader: Box<dyn Read + Send>, name: &str, memory_bytes: u64) -> Result<Self, Error> {
        let mut messages = Messages { name, reader: &mut reader, read: 0 };
        let opened = OpenedStream::read(&mut messages, memory_bytes)?;
        let start = messages.read;
        Ok(opened.with(MessageSource::Once(Mutex::new(Some(reader))), start))
    }

    pub(super) fn plain(&self) -> &SchemaRef {
        &self.plain
    }

    /// Most memory of the schema and the dictionaries.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Most memory of a batch.
    pub(super) fn batch_bytes_max(&self) -> u64 {
        self.limits.batch_bytes_max as u64
    }

    /// Number of rows; they are gone then, where the stream can be read once.
    pub(super) fn rows(&self, name: &str) -> Result<u64, Error> {
        self.stored(name)?.try_fold(0, |rows, batch| Ok(rows + batch?.num_rows() as u64))
    }

    pub(super) fn batches(&self, name: &str, columns: Option<&[String]>, rows: RowChoice) -> Result<ReadBatches, Error> {
        let columns = projection(&self.schema, name, columns)?;
        cut(self.stored(name)?, name, (&self.plain, columns), rows, self.limits.batch_bytes_max)
    }

    fn stored(&self, name: &str) -> Result<StreamBatches, Error> {
        let reader: Box<dyn Read + Send> = match &self.source {
            MessageSource::File(chunks) => Box::new(BufReader::new(chunks.reader(self.start))),
            MessageSource::Once(reader) => {
                let reader = reader.lock().unwrap_or_else(PoisonError::into_inner).take();
                reader.ok_or_else(|| Error::new(ErrorClass::Io, name, "can be read only once; put it into a file first"))?
            }
        };
        Ok(StreamBatches {
            name: name.to_owned(),
            reader,
            decoder: FileDecoder::new(Arc::clone(&self.schema), self.version),
            dictionaries: HashMap::new(),
            held_bytes: self.bytes,
            limits: self.limits,
            read: self.start,
            number: 0,
        })
    }
}

/// Content of the first message.
struct OpenedStream {
    schema: SchemaRef,
    version: MetadataVersion,
    bytes: usize,
    limits: StreamLimits,
}

impl OpenedStream {
    fn read(messages: &mut Messages<'_>, memory_bytes: u64) -> Result<Self, Error> {
        let limits = StreamLimits {
            held_bytes_max: share(memory_bytes, READ_FOOTER_SHARE),
            batch_bytes_max: share(memory_bytes, READ_SHARE),
        };
        let name = messages.name;
        let sound = |text: &str| unsound(name, text);
        let Some(message) = messages.head(limits.held_bytes_max)? else { return Err(sound("it has no schema")) };
        let (root, mut bytes) = (root(&message).ok_or_else(|| sound("a broken message"))?, message.len());
        let schema = root.header_as_schema().ok_or_else(|| sound("it does not begin with a schema"))?;
        if schema.endianness() == Endianness::Big {
            return Err(Error::new(ErrorClass::Limit, name, super::BIG_ENDIAN));
        }
        if !schema_fits(&schema, &mut bytes, limits.held_bytes_max) {
            let max = format_size(limits.held_bytes_max as u64);
            return Err(Error::new(
                ErrorClass::Limit,
                name,
                format!("its schema takes more than {max}: more {MEMORY} would take it"),
            ));
        }
        let schema: SchemaRef = Arc::new(fb_to_schema(schema));
        check(name, &schema)?;
        Ok(Self { schema, version: root.version(), bytes, limits })
    }

    fn with(self, source: MessageSource, start: u64) -> ArrowStream {
        let Self { schema, version, bytes, limits } = self;
        ArrowStream { plain: plain_schema(&schema), schema, version, bytes, limits, source, start }
    }
}

fn root(message: &[u8]) -> Option<arrow_ipc::Message<'_>> {
    root_as_message(message.get(PREFIX_BYTES..)?).ok()
}

/// Reads messages.
struct Messages<'a> {
    name: &'a str,
    reader: &'a mut dyn Read,
    /// Bytes that were read.
    read: u64,
}

impl Messages<'_> {
    /// The next message with its prefix, without its buffers; `None` at the end.
    fn head(&mut self, bytes_max: usize) -> Result<Option<Vec<u8>>, Error> {
        let mut head = Vec::new();
        self.take(4, &mut head)?;
        // A stream may end without a word.
        if head.is_empty() {
            return Ok(None);
        }
        if head != CONTINUATION {
            return Err(unsound(self.name, "a message without its mark").at(self.read));
        }
        self.exactly(4, &mut head)?;
        let length = head[4..].try_into().map_or(-1, i32::from_le_bytes);
        let length = usize::try_from(length).map_err(|_| unsound(self.name, "a negative length").at(self.read))?;
        if length == 0 {
            return self.end().map(|()| None);
        }
        self.fits("a message", length, bytes_max)?;
        self.exactly(length, &mut head)?;
        Ok(Some(head))
    }

    /// Nothing follows the mark of the end: what does is another stream, or damage.
    fn end(&mut self) -> Result<(), Error> {
        let (end, mut after) = (self.read, Vec::new());
        self.take(1, &mut after)?;
        if after.is_empty() { Ok(()) } else { Err(unsound(self.name, "bytes follow the end of the stream").at(end)) }
    }

    fn fits(&self, what: &str, bytes: usize, bytes_max: usize) -> Result<(), Error> {
        if bytes <= bytes_max {
            return Ok(());
        }
        if bytes > MESSAGE_BYTES_SOUND_MAX {
            return Err(unsound(self.name, format!("{what} of {bytes} bytes")).at(self.read));
        }
        let [bytes, max] = [bytes, bytes_max].map(|bytes| format_size(bytes as u64));
        let text = format!("{what} takes {bytes}, more than {max} of memory: more {MEMORY} would take it, or smaller batches");
        Err(Error::new(ErrorClass::Limit, self.name, text).at(self.read))
    }

    /// Appends so many bytes, or those that are there; room is made as they come.
    fn take(&mut self, length: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let read = self.reader.take(length as u64).read_to_end(out).map_err(|error| failed(self.name, error))?;
        self.read += read as u64;
        Ok(())
    }

    fn exactly(&mut self, length: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let end = out.len() + length;
        self.take(length, out)?;
        if out.len() < end {
            return Err(failed(self.name, io::Error::new(io::ErrorKind::UnexpectedEof, "it is cut short")).at(self.read));
        }
        Ok(())
    }
}

/// Batches as they are stored.
struct StreamBatches {
    name: String,
    reader: Box<dyn Read + Send>,
    decoder: FileDecoder,
    /// Memory of each dictionary: one may be replaced, and one may grow.
    dictionaries: HashMap<i64, usize>,
    held_bytes: usize,
    limits: StreamLimits,
    /// Bytes of the stream that were read.
    read: u64,
    number: usize,
}

impl StreamBatches {
    fn step(&mut self) -> Result<Option<RecordBatch>, Error> {
        loop {
            let Self { name, reader, limits, read, .. } = self;
            let mut messages = Messages { name, reader, read: *read };
            let Some(mut bytes) = messages.head(limits.batch_bytes_max)? else { return Ok(None) };
            let what = format!("message {}", self.number);
            self.number += 1;
            let sound = |text: &str| unsound(name, format!("{what}: {text}"));
            let head = bytes.len();
            let message = root(&bytes).ok_or_else(|| sound("it is broken"))?;
            let body = usize::try_from(message.bodyLength()).map_err(|_| sound("a negative length"))?;
            let dictionary = message.header_as_dictionary_batch().map(|batch| (batch.id(), batch.isDelta()));
            messages.fits(&what, head.saturating_add(body), limits.batch_bytes_max)?;
            messages.exactly(body, &mut bytes)?;
            *read = messages.read;
            let (message, buffers) = bytes.split_at(head);
            let prefix = |at: usize| buffers.get(at..at.checked_add(8)?)?.try_into().ok();
            let (rows, plain_bytes) = stated(message, prefix).ok_or_else(|| sound("it is broken"))?;
            if rows > STORED_ROWS_MAX {
                let text = format!("{what} has {rows} rows, more than {STORED_ROWS_MAX}: smaller batches would be read");
                return Err(Error::new(ErrorClass::Limit, name.as_str(), text));
            }
            messages.fits(&what, plain_bytes, limits.batch_bytes_max)?;
            let lengths = i32::try_from(head).ok().zip(i64::try_from(body).ok());
            let block = lengths.map(|(head, body)| Block::new(0, head, body)).ok_or_else(|| sound("it is too long"))?;
            let buffer = Buffer::from_vec(bytes);
            if let Some((id, is_delta)) = dictionary {
                self.dictionary(&block, &buffer, (id, is_delta, plain_bytes.max(body)))?;
                continue;
            }
            let batch = self.decoder.read_record_batch(&block, &buffer).map_err(|error| unsound(&self.name, error))?;
            if batch.is_some() {
                return Ok(batch);
            }
        }
    }

    fn dictionary(&mut self, block: &Block, buffer: &Buffer, (id, is_delta, bytes): (i64, bool, usize)) -> Result<(), Error> {
        let known = self.dictionaries.entry(id).or_default();
        self.held_bytes = self.held_bytes.saturating_add(bytes);
        if is_delta {
            *known += bytes;
        } else {
            self.held_bytes -= std::mem::replace(known, bytes);
        }
        if self.held_bytes > self.limits.held_bytes_max {
            let [held, max] = [self.held_bytes, self.limits.held_bytes_max].map(|bytes| format_size(bytes as u64));
            let text = format!("its dictionaries take {held}, more than {max}: more {MEMORY} would take them");
            return Err(Error::new(ErrorClass::Limit, self.name.as_str(), text));
        }
        self.decoder.read_dictionary(block, buffer).map_err(|error| unsound(&self.name, error))
    }
}

impl Iterator for StreamBatches {
    type Item = Result<RecordBatch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        self.step().transpose()
    }
}

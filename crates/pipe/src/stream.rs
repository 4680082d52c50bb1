//! Streams: input that comes once, in order. One reader cuts it into chunks at newlines.

use crate::chunk::Chunk;
use crate::decode::{Encoding, MAGIC_BYTES, decoder};
use crate::error::{Error, Kind};
use crate::limits::BLOCK_BYTES;
use crate::pool::{Lease, Pool};
use crate::run::{Control, Framing};
use bytes::Bytes;
use memchr::{memchr, memrchr};
use std::io::{self, BufRead, ErrorKind, Read};
use std::ops::Range;

/// A leased buffer with data in `range`. `range.start` is at least the longest line: the room before it is
/// where the end of the last block's unfinished line is put, so that no block is ever copied.
#[derive(Debug)]
pub struct Filled {
    /// The buffer.
    pub lease: Lease,
    /// Where the data is.
    pub range: Range<usize>,
}

/// Something that fills buffers: a pipe, a decoder, an upload.
pub trait BlockSource: Send {
    /// The next filled buffer, or `None` at the end.
    ///
    /// # Errors
    /// When the source fails; it is not asked again.
    fn next_block(&mut self) -> Result<Option<Filled>, Error>;
}

/// Fills buffers from anything that reads.
pub(crate) struct ReadSource<R> {
    reader: R,
    name: String,
    pool: Pool,
    headroom: usize,
    offset: u64,
    failed: Option<Error>,
    describe: fn(&str, io::Error) -> Error,
    count: Option<Control>,
}

impl<R: Read + Send> ReadSource<R> {
    /// `count` is told of the bytes as they are read, when they are the stored ones.
    pub(crate) fn new(reader: R, name: &str, pool: &Pool, headroom: usize, count: Option<Control>) -> Self {
        let describe = |name: &str, cause| Error::io(name, "cannot read", cause);
        Self { reader, name: name.into(), pool: pool.clone(), headroom, offset: 0, failed: None, describe, count }
    }
}

impl<R: Read + Send> BlockSource for ReadSource<R> {
    fn next_block(&mut self) -> Result<Option<Filled>, Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let mut lease = self.pool.lease().map_err(|cause| Error::io(&self.name, "no memory for a block", cause))?;
        let (start, mut end) = (self.headroom, self.headroom);
        while end < start + BLOCK_BYTES {
            match self.reader.read(&mut lease[end..start + BLOCK_BYTES]) {
                Ok(0) => break,
                Ok(read) => end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    // What came before the failure is good: hand it over first.
                    self.failed = Some((self.describe)(&self.name, error));
                    break;
                }
            }
        }
        self.offset += (end - start) as u64;
        if let Some(control) = &self.count {
            control.stored(end as u64 - start as u64);
        }
        match (end > start, self.failed.take()) {
            (true, failed) => {
                self.failed = failed;
                Ok(Some(Filled { lease, range: start..end }))
            }
            (false, Some(error)) => Err(error),
            (false, None) => Ok(None),
        }
    }
}

/// Reads a source as plain bytes, without copying them.
pub struct BlockReader {
    source: Box<dyn BlockSource>,
    current: Bytes,
    /// Bytes handed out so far.
    offset: u64,
    /// An error of the source, kept whole while it travels through a decoder as an `io::Error`.
    failed: bool,
}

impl BlockReader {
    fn new(source: Box<dyn BlockSource>) -> Self {
        Self { source, current: Bytes::new(), offset: 0, failed: false }
    }
}

impl BufRead for BlockReader {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.current.is_empty() && !self.failed {
            // Given back before the next lease: a decoder holds one input buffer, never two.
            self.current = Bytes::new();
            match self.source.next_block() {
                Ok(Some(filled)) => self.current = Bytes::from_owner(filled.lease).slice(filled.range),
                Ok(None) => break,
                Err(error) => {
                    self.failed = true;
                    return Err(io::Error::other(error));
                }
            }
        }
        Ok(&self.current)
    }

    fn consume(&mut self, amount: usize) {
        self.offset += amount as u64;
        let _ = self.current.split_to(amount);
    }
}

impl Read for BlockReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let amount = available.len().min(buffer.len());
        buffer[..amount].copy_from_slice(&available[..amount]);
        self.consume(amount);
        Ok(amount)
    }
}

/// A source with its encoding undone; which one is known from its first block.
pub(crate) struct Decoded {
    inner: Option<Box<dyn BlockSource>>,
    decided: Option<Box<dyn BlockSource>>,
    name: String,
    pool: Pool,
    headroom: usize,
    window_log_max: u32,
}

/// Gives back a block that was looked at, and the failure that came after it.
struct Again {
    first: Option<Filled>,
    failed: Option<Error>,
    rest: Box<dyn BlockSource>,
}

impl Again {
    /// Looks at the first block, made long enough to recognise an encoding by: a slow upload may begin with one byte.
    fn new(mut rest: Box<dyn BlockSource>, name: &str) -> Result<Self, Error> {
        let mut first = rest.next_block()?;
        let mut failed = None;
        while let Some(filled) = first.as_mut().filter(|filled| filled.range.len() < MAGIC_BYTES) {
            match rest.next_block() {
                Ok(Some(next)) => append(filled, &next, name)?,
                Ok(None) => break,
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        Ok(Self { first, failed, rest })
    }

    fn head(&self) -> &[u8] {
        self.first.as_ref().map_or(&[], |filled| &filled.lease[filled.range.clone()])
    }
}

fn append(filled: &mut Filled, next: &Filled, name: &str) -> Result<(), Error> {
    let bytes = &next.lease[next.range.clone()];
    let end = filled.range.end + bytes.len();
    let room = filled.lease.get_mut(filled.range.end..end);
    room.ok_or_else(|| Error::new(Kind::Limit, name, "a source left too little room behind its block"))?.copy_from_slice(bytes);
    filled.range.end = end;
    Ok(())
}

impl BlockSource for Again {
    fn next_block(&mut self) -> Result<Option<Filled>, Error> {
        match (self.first.take(), self.failed.take()) {
            (Some(filled), failed) => {
                self.failed = failed;
                Ok(Some(filled))
            }
            (None, Some(error)) => Err(error),
            (None, None) => self.rest.next_block(),
        }
    }
}

impl Decoded {
    pub(crate) fn new(source: Box<dyn BlockSource>, name: &str, pool: &Pool, headroom: usize, window_log_max: u32) -> Self {
        Self { inner: Some(source), decided: None, name: name.into(), pool: pool.clone(), headroom, window_log_max }
    }

    fn decide(&mut self, source: Box<dyn BlockSource>) -> Result<Box<dyn BlockSource>, Error> {
        let again = Box::new(Again::new(source, &self.name)?);
        let encoding = Encoding::detect(again.head());
        if encoding == Encoding::Plain {
            return Ok(again);
        }
        let reader = decoder(encoding, BlockReader::new(again), self.window_log_max)
            .map_err(|cause| Error::io(&self.name, "cannot start the decoder", cause))?;
        let mut decoded = ReadSource::new(reader, &self.name, &self.pool, self.headroom, None);
        decoded.describe = match encoding {
            Encoding::Zstd => describe_zstd,
            _ => describe_gzip,
        };
        Ok(Box::new(decoded))
    }
}

impl BlockSource for Decoded {
    fn next_block(&mut self) -> Result<Option<Filled>, Error> {
        if let Some(source) = self.inner.take() {
            self.decided = Some(self.decide(source)?);
        }
        match &mut self.decided {
            Some(source) => source.next_block(),
            None => Ok(None),
        }
    }
}

fn describe_gzip(name: &str, cause: io::Error) -> Error {
    describe(name, "gzip", cause)
}

fn describe_zstd(name: &str, cause: io::Error) -> Error {
    describe(name, "zstd", cause)
}

/// A decoder's failure in our words; a failure of the source below it comes through as it was.
fn describe(name: &str, encoding: &str, cause: io::Error) -> Error {
    let text = cause.to_string();
    if cause.kind() == ErrorKind::UnexpectedEof || text.contains("incomplete frame") {
        return Error::new(Kind::Truncated, name, format!("the {encoding} data ends too early (the file is cut short)"));
    }
    match cause.downcast::<Error>() {
        Ok(source_error) => source_error,
        Err(_) if text.contains("too much memory") => Error::new(
            Kind::Limit,
            name,
            format!(
                "this {encoding} data needs a larger window than a 32nd of the memory given (a larger --memory moves the limit)"
            ),
        ),
        Err(_) => Error::new(Kind::Corrupt, name, format!("the {encoding} data is damaged ({text})")),
    }
}

/// Cuts a source into chunks.
pub struct Blocks {
    source: Box<dyn BlockSource>,
    name: String,
    framing: Framing,
    offset: u64,
    /// The unfinished line at the end of what was handed over; at most `line_bytes_max` bytes.
    carry: Bytes,
    /// Inside an over-long line whose head was handed over.
    skipping: bool,
    ended: bool,
}

impl Blocks {
    pub(crate) fn new(source: Box<dyn BlockSource>, name: &str, framing: Framing) -> Self {
        Self { source, name: name.into(), framing, offset: 0, carry: Bytes::new(), skipping: false, ended: false }
    }

    /// The next chunk, or `None` at the end.
    ///
    /// # Errors
    /// When the source fails. What came before the failure, an unfinished line included, was handed over.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<Chunk>, Error> {
        while !self.ended {
            let filled = match self.source.next_block() {
                Ok(Some(filled)) => filled,
                Ok(None) => {
                    self.ended = true;
                    break;
                }
                Err(error) => {
                    self.ended = true;
                    let error = if error.offset().is_some() { error } else { error.at(self.offset) };
                    return Err(error);
                }
            };
            let chunk = match self.framing {
                Framing::Bytes => Some(self.whole(filled)),
                Framing::Lines { line_bytes_max } => self.cut(filled, line_bytes_max)?,
            };
            if chunk.is_some() {
                return Ok(chunk);
            }
        }
        Ok(self.last())
    }

    /// Where the next block starts: how much was taken in, after decoding.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// The unfinished line at the end, once; also after an error.
    pub(crate) fn last(&mut self) -> Option<Chunk> {
        let rest = std::mem::take(&mut self.carry);
        if rest.is_empty() {
            return None;
        }
        let offset = self.offset - rest.len() as u64;
        Some(self.chunk(offset, rest, false))
    }

    fn whole(&mut self, filled: Filled) -> Chunk {
        let offset = self.offset;
        self.offset += filled.range.len() as u64;
        let bytes = Bytes::from_owner(filled.lease).slice(filled.range);
        self.chunk(offset, bytes, false)
    }

    /// Whole lines of the block with the carried start of the first one before them; the rest is carried.
    fn cut(&mut self, filled: Filled, line_bytes_max: usize) -> Result<Option<Chunk>, Error> {
        let Filled { mut lease, mut range } = filled;
        self.offset += range.len() as u64;
        let end_offset = self.offset;
        if self.skipping {
            match memchr(b'\n', &lease[range.clone()]) {
                None => return Ok(None),
                Some(newline) => range.start += newline + 1,
            }
            self.skipping = false;
        }
        let carried = std::mem::take(&mut self.carry);
        let start = range
            .start
            .checked_sub(carried.len())
            .ok_or_else(|| Error::new(Kind::Limit, &self.name, "a source left too little room before its block"))?;
        lease[start..range.start].copy_from_slice(&carried);
        drop(carried);
        let rest = memrchr(b'\n', &lease[start..range.end]).map_or(start, |newline| start + newline + 1);
        let bytes = Bytes::from_owner(lease);
        let offset = end_offset - (range.end - start) as u64;
        if range.end - rest > line_bytes_max {
            self.skipping = true;
            return Ok(Some(self.chunk(offset, bytes.slice(start..rest + line_bytes_max), true)));
        }
        self.carry = bytes.slice(rest..range.end);
        let lines = bytes.slice(start..rest);
        Ok((!lines.is_empty()).then(|| self.chunk(offset, lines, false)))
    }

    fn chunk(&self, offset: u64, bytes: Bytes, cut: bool) -> Chunk {
        let line_bytes_max = match self.framing {
            Framing::Bytes => usize::MAX,
            Framing::Lines { line_bytes_max } => line_bytes_max,
        };
        Chunk { offset, bytes, zeros: 0, line_bytes_max, cut }
    }
}

//! Stretches of a file, counted as they are read.

use super::pages::{Pages, peeked};
use crate::thrift::PageHeader;
use bytes::Bytes;
use parquet::errors::Result;
use parquet::file::reader::{ChunkReader, Length};
use rorqual_pipe::format_size;
use rorqual_pipe::setting::MEMORY;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A file that is read at any place.
#[derive(Debug, Clone)]
pub(super) struct Chunks {
    file: Arc<File>,
    size_bytes: u64,
    /// Most that is read at once.
    piece_bytes_max: usize,
    read: Arc<AtomicU64>,
    /// Counter of the pages, while rows are read.
    pages: Option<Arc<Pages>>,
}

impl Chunks {
    pub(super) fn new(file: File, size_bytes: u64, piece_bytes_max: usize) -> Self {
        Self { file: Arc::new(file), size_bytes, piece_bytes_max, read: Arc::default(), pages: None }
    }

    /// The same file, whose pages are counted.
    pub(super) fn with_pages(&self, pages: &Arc<Pages>) -> Self {
        Self { pages: Some(Arc::clone(pages)), ..self.clone() }
    }

    pub(super) fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    pub(super) fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// True if the file has that stretch.
    pub(super) fn has(&self, start: u64, length: usize) -> bool {
        start.saturating_add(length as u64) <= self.size_bytes
    }

    /// The stretch from `start`. Nothing is allocated for one that is not there, or that is larger
    /// than any should be.
    pub(super) fn bytes(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        if !self.has(start, length) {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, format!("{length} bytes at byte {start} are not there")));
        }
        if length > self.piece_bytes_max {
            let max = format_size(self.piece_bytes_max as u64);
            let text = format!("a piece at byte {start} has {length} bytes, more than {max}: more {MEMORY} would take it");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, text));
        }
        let mut bytes = vec![0; length];
        read_at(self, &mut bytes, start)?;
        Ok(bytes)
    }

    /// Allows pieces of so many bytes.
    pub(super) fn takes(&mut self, bytes: usize) {
        self.piece_bytes_max = self.piece_bytes_max.max(bytes);
    }

    /// The header of the page at a place, and that place, where there is one.
    pub(super) fn page_header(&self, start: u64) -> Option<(u64, PageHeader)> {
        peeked(|length| self.peek(start, length)).ok().map(|page| (start, page))
    }

    /// The bytes after a place.
    pub(super) fn reader(&self, place: u64) -> ChunksFrom {
        ChunksFrom { chunks: self.clone(), place }
    }

    /// Reads a byte range as far as it is there.
    fn peek(&self, start: u64, length: usize) -> io::Result<Vec<u8>> {
        let there = usize::try_from(self.size_bytes.saturating_sub(start)).unwrap_or(usize::MAX);
        self.bytes(start, length.min(there))
    }
}

/// Fills `bytes` from that place on.
pub(super) fn read_at(chunks: &Chunks, bytes: &mut [u8], start: u64) -> io::Result<()> {
    chunks.file.read_exact_at(bytes, start)?;
    chunks.read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
    Ok(())
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.size_bytes
    }
}

impl ChunkReader for Chunks {
    type T = BufReader<ChunksFrom>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        if let Some(pages) = &self.pages {
            pages.stream_at(start, |length| self.peek(start, length))?;
        }
        Ok(BufReader::new(self.reader(start)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        self.pages.as_ref().map_or(Ok(()), |pages| pages.before_bytes(start, length))?;
        let bytes = self.bytes(start, length).inspect_err(|error| {
            if let (Some(pages), io::ErrorKind::FileTooLarge) = (&self.pages, error.kind()) {
                pages.refuse(error.to_string());
            }
        })?;
        self.pages.as_ref().map_or(Ok(()), |pages| pages.bytes_at(start, &bytes))?;
        Ok(Bytes::from(bytes))
    }
}

/// The bytes after a place in a file.
#[derive(Debug)]
pub(super) struct ChunksFrom {
    chunks: Chunks,
    place: u64,
}

impl Read for ChunksFrom {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.chunks.file.read_at(bytes, self.place)?;
        self.place += read as u64;
        self.chunks.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

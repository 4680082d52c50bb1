//! Many pieces in, few large writes out.

use crate::error::reason;
use crate::pool::{Lease, Pool};
use bytes::Bytes;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::ops::Range;

/// Pieces up to this size are copied together; larger ones are pointed at. A `writev` entry costs the
/// kernel about as much as copying this many bytes.
pub const COPY_BYTES_MAX: usize = 4 << 10;

/// Entries of one `writev`; Linux takes at most 1,024 (`IOV_MAX`).
const ENTRIES_MAX: usize = 256;

/// Takes the pieces of an output, in order.
pub trait Sink: Send {
    /// Takes a piece that its owner may change after the call.
    ///
    /// # Errors
    /// When a write that became due fails.
    fn copy(&mut self, piece: &[u8]) -> io::Result<()>;

    /// Takes a piece that stays as it is for as long as somebody holds it: a large one need not be copied.
    ///
    /// # Errors
    /// As [`Sink::copy`].
    fn point(&mut self, piece: &Bytes) -> io::Result<()> {
        self.copy(piece)
    }

    /// Sends what was taken on its way: before a wait of unknown length.
    ///
    /// # Errors
    /// As [`Sink::copy`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Vec<u8> {
    fn copy(&mut self, piece: &[u8]) -> io::Result<()> {
        self.extend_from_slice(piece);
        Ok(())
    }
}

impl<W: Write + Send> Sink for Gather<W> {
    fn copy(&mut self, piece: &[u8]) -> io::Result<()> {
        self.push_copy(piece)
    }

    fn point(&mut self, piece: &Bytes) -> io::Result<()> {
        if piece.len() <= COPY_BYTES_MAX { self.push_copy(piece) } else { self.push(piece.clone()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Gather::flush(self)
    }
}

/// Pieces that leave together by `writev`.
#[derive(Debug)]
pub struct Gather<W: Write> {
    writer: W,
    small: Lease,
    small_used: usize,
    pieces: Vec<Piece>,
    /// Why a write failed, and so something is missing.
    failed: Option<String>,
    stats: GatherStats,
}

#[derive(Debug)]
enum Piece {
    Copied(Range<usize>),
    Shared(Bytes),
}

/// What a gather sink did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GatherStats {
    /// Pieces taken.
    pub pieces: u64,
    /// Bytes that were copied together.
    pub copied_bytes: u64,
    /// Bytes that were pointed at.
    pub shared_bytes: u64,
    /// Write system calls.
    pub writes: u64,
}

impl<W: Write> Gather<W> {
    /// A sink that writes to `writer` and holds one buffer of `pool`.
    ///
    /// # Errors
    /// When the system has no memory for the buffer.
    pub fn new(writer: W, pool: &Pool) -> io::Result<Self> {
        let small = pool.lease()?;
        Ok(Self {
            writer,
            small,
            small_used: 0,
            pieces: Vec::with_capacity(ENTRIES_MAX),
            failed: None,
            stats: GatherStats::default(),
        })
    }

    /// Takes one piece. A large one keeps its buffer alive until the next flush.
    ///
    /// # Errors
    /// When a write that became due fails.
    pub fn push(&mut self, piece: Bytes) -> io::Result<()> {
        if piece.len() <= COPY_BYTES_MAX {
            return self.push_copy(&piece);
        }
        self.stats.pieces += 1;
        self.stats.shared_bytes += piece.len() as u64;
        self.pieces.push(Piece::Shared(piece));
        if self.pieces.len() >= ENTRIES_MAX { self.flush() } else { Ok(()) }
    }

    /// Takes one piece by copying it, whatever its size.
    ///
    /// # Errors
    /// When a write that became due fails.
    pub fn push_copy(&mut self, mut piece: &[u8]) -> io::Result<()> {
        self.stats.pieces += 1;
        self.stats.copied_bytes += piece.len() as u64;
        while !piece.is_empty() {
            if self.small_used == self.small.len() || self.pieces.len() >= ENTRIES_MAX {
                self.flush()?;
            }
            let length = piece.len().min(self.small.len() - self.small_used);
            let start = self.small_used;
            self.small[start..start + length].copy_from_slice(&piece[..length]);
            self.small_used += length;
            piece = &piece[length..];
            match self.pieces.last_mut() {
                Some(Piece::Copied(range)) if range.end == start => range.end += length,
                _ => self.pieces.push(Piece::Copied(start..start + length)),
            }
        }
        Ok(())
    }

    /// Writes everything taken so far, and lets go of every buffer but its own.
    ///
    /// # Errors
    /// When writing fails; the pieces are dropped then, as how far they got is unknown to the reader.
    pub fn flush(&mut self) -> io::Result<()> {
        let small = &self.small;
        let mut slices: Vec<IoSlice<'_>> = self
            .pieces
            .iter()
            .map(|piece| match piece {
                Piece::Copied(range) => IoSlice::new(&small[range.clone()]),
                Piece::Shared(bytes) => IoSlice::new(bytes),
            })
            .collect();
        let result = write_all_vectored(&mut self.writer, &mut slices, &mut self.stats.writes);
        drop(slices);
        self.pieces.clear();
        self.small_used = 0;
        if let Err(cause) = &result {
            self.failed.get_or_insert_with(|| reason(cause));
        }
        result
    }

    /// Writes what was taken when it points into others' buffers, so that those can be used again.
    ///
    /// # Errors
    /// As [`Gather::flush`].
    pub fn flush_shared(&mut self) -> io::Result<()> {
        let shared = self.pieces.iter().any(|piece| matches!(piece, Piece::Shared(_)));
        if shared { self.flush() } else { Ok(()) }
    }

    /// What was done so far.
    #[must_use]
    pub fn stats(&self) -> GatherStats {
        self.stats
    }

    /// Flushes and gives the writer back.
    ///
    /// # Errors
    /// When the last write fails, or an earlier one has: then something is missing.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        if let Some(cause) = self.failed {
            return Err(io::Error::other(format!("an earlier write failed: {cause}")));
        }
        self.writer.flush()?;
        Ok(self.writer)
    }
}

/// Writes all slices, whatever part of them each call takes.
fn write_all_vectored(writer: &mut impl Write, mut slices: &mut [IoSlice<'_>], writes: &mut u64) -> io::Result<()> {
    // Skips empty slices, so that "nothing written" below means what it says.
    IoSlice::advance_slices(&mut slices, 0);
    while !slices.is_empty() {
        *writes += 1;
        match writer.write_vectored(slices) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => IoSlice::advance_slices(&mut slices, written),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

//! Many pieces in, few large writes out.

use crate::control::Control;
use crate::error::reason;
use crate::limits::{STOP_CHECK, STOPPED_PATIENCE};
use crate::pool::{BufferPool, Lease};
use crate::sink::Sink;
use bytes::Bytes;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, IoSlice, Write};
use std::ops::Range;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

/// Pieces up to this size are copied together; larger ones are pointed at. A `writev` entry costs
/// the kernel about as much as copying this many bytes (`gather_sweep` measures it).
pub const COPY_BYTES_MAX: usize = 4 << 10;

/// Entries of one `writev`; Linux takes at most 1,024 (`IOV_MAX`).
const ENTRIES_MAX: usize = 256;

/// A pipe as large as anyone may make one: one of 64 KiB makes writer and reader take turns.
const PIPE_BYTES: usize = 1 << 20;

/// Room of a pipe that has room for anything: a page.
const ROOM_BYTES: usize = 4 << 10;

/// Thresholds for copying pieces, and for writing them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GatherSettings {
    /// The largest piece that is copied although it might be pointed at.
    pub copy_bytes_max: usize,
    /// Copied bytes that are written at a time; at most the room of a buffer.
    pub write_bytes: usize,
    /// Most bytes in foreign buffers that wait for a write (default 1 MiB): their owners can't use
    /// them again until then.
    pub shared_bytes_max: usize,
}

impl Default for GatherSettings {
    fn default() -> Self {
        Self { copy_bytes_max: COPY_BYTES_MAX, write_bytes: 256 << 10, shared_bytes_max: 1 << 20 }
    }
}

/// Pieces that leave together by `writev`.
#[derive(Debug)]
pub struct Gather<W: Write> {
    writer: W,
    settings: GatherSettings,
    small: Lease,
    /// Start and end of the run of copied bytes that is not among the pieces yet.
    run_start: usize,
    small_used: usize,
    /// Used part of the buffer.
    small_max: usize,
    pieces: Vec<GatherPiece>,
    shared_bytes: usize,
    /// Reason for which a write failed, and so something is missing.
    failed: Option<String>,
    stats: GatherStats,
}

#[derive(Debug)]
enum GatherPiece {
    Copied(Range<usize>),
    Shared(Bytes),
}

/// Totals of a gather sink.
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
    pub fn new(writer: W, pool: &BufferPool) -> io::Result<Self> {
        Self::with_settings(writer, pool, GatherSettings::default())
    }

    /// The same as [`Gather::new`], with thresholds of one's own.
    ///
    /// # Errors
    /// As [`Gather::new`].
    pub fn with_settings(writer: W, pool: &BufferPool, settings: GatherSettings) -> io::Result<Self> {
        let small = pool.lease()?;
        Ok(Self {
            writer,
            settings,
            run_start: 0,
            small_used: 0,
            small_max: small.len().min(settings.write_bytes.max(1)),
            small,
            pieces: Vec::with_capacity(ENTRIES_MAX),
            shared_bytes: 0,
            failed: None,
            stats: GatherStats::default(),
        })
    }

    /// Takes one piece. A large one keeps its buffer alive until the next flush.
    ///
    /// # Errors
    /// When a write that became due fails.
    pub fn push(&mut self, piece: Bytes) -> io::Result<()> {
        if piece.len() <= self.settings.copy_bytes_max {
            return self.push_copy(&piece);
        }
        self.end_run();
        self.stats.pieces += 1;
        self.stats.shared_bytes += piece.len() as u64;
        self.shared_bytes += piece.len();
        self.pieces.push(GatherPiece::Shared(piece));
        // A run of copied bytes may come after it.
        if self.pieces.len() + 1 >= ENTRIES_MAX || self.shared_bytes >= self.settings.shared_bytes_max {
            return self.flush();
        }
        Ok(())
    }

    /// Takes one piece by copying it, whatever its size.
    ///
    /// # Errors
    /// When a write that became due fails.
    #[inline]
    pub fn push_copy(&mut self, piece: &[u8]) -> io::Result<()> {
        self.stats.pieces += 1;
        let end = self.small_used + piece.len();
        if end > self.small_max {
            return self.push_over(piece);
        }
        self.small[self.small_used..end].copy_from_slice(piece);
        self.small_used = end;
        Ok(())
    }

    /// A piece that does not fit the rest of the buffer.
    #[cold]
    fn push_over(&mut self, mut piece: &[u8]) -> io::Result<()> {
        while !piece.is_empty() {
            if self.small_used == self.small_max {
                self.flush()?;
            }
            let length = piece.len().min(self.small_max - self.small_used);
            self.small[self.small_used..self.small_used + length].copy_from_slice(&piece[..length]);
            self.small_used += length;
            piece = &piece[length..];
        }
        Ok(())
    }

    /// Makes a piece of the bytes that were copied since the last one.
    fn end_run(&mut self) {
        if self.small_used > self.run_start {
            self.pieces.push(GatherPiece::Copied(self.run_start..self.small_used));
            self.stats.copied_bytes += (self.small_used - self.run_start) as u64;
            self.run_start = self.small_used;
        }
    }

    /// Writes everything taken so far, and lets go of every buffer but its own.
    ///
    /// # Errors
    /// When writing fails; the pieces are dropped then, as how far they got is unknown to the
    /// reader.
    pub fn flush(&mut self) -> io::Result<()> {
        self.end_run();
        let small = &self.small;
        let mut slices: Vec<IoSlice<'_>> = self
            .pieces
            .iter()
            .map(|piece| match piece {
                GatherPiece::Copied(range) => IoSlice::new(&small[range.clone()]),
                GatherPiece::Shared(bytes) => IoSlice::new(bytes),
            })
            .collect();
        let result = write_all_vectored(&mut self.writer, &mut slices, &mut self.stats.writes);
        drop(slices);
        self.pieces.clear();
        (self.run_start, self.small_used, self.shared_bytes) = (0, 0, 0);
        if let Err(cause) = &result {
            self.failed.get_or_insert_with(|| reason(cause));
        }
        result
    }

    /// Writes all that was taken when it points into others' buffers, so that those can be used
    /// again.
    ///
    /// # Errors
    /// As [`Gather::flush`].
    pub fn flush_shared(&mut self) -> io::Result<()> {
        if self.shared_bytes > 0 { self.flush() } else { Ok(()) }
    }

    /// Totals so far.
    #[must_use]
    pub fn stats(&self) -> GatherStats {
        let running = (self.small_used - self.run_start) as u64;
        GatherStats { copied_bytes: self.stats.copied_bytes + running, ..self.stats }
    }

    /// The output.
    #[must_use]
    pub fn writer(&self) -> &W {
        &self.writer
    }

    /// The output. Pieces that were not flushed are not in it yet.
    pub fn writer_mut(&mut self) -> &mut W {
        &mut self.writer
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

impl<W: Write + Send> Sink for Gather<W> {
    #[inline]
    fn copy(&mut self, piece: &[u8]) -> io::Result<()> {
        self.push_copy(piece)
    }

    #[inline]
    fn point(&mut self, piece: &Bytes) -> io::Result<()> {
        if piece.len() <= self.settings.copy_bytes_max { self.push_copy(piece) } else { self.push(piece.clone()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Gather::flush(self)
    }
}

/// An open file, pipe or socket that is written until it has taken everything, and that hears a
/// stop while nobody reads.
#[derive(Debug)]
pub struct OutputFd {
    file: File,
    control: Control,
    way: WaitMode,
    /// A stop has ended the wait for a reader: the others that follow do not wait again.
    given_up: bool,
}

/// Way to wait for a reader and hear a stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WaitMode {
    /// Nobody reads: files. An output that does not block says so itself.
    Plain,
    /// An output that is shared with other programs and may block: it is asked for room, and given
    /// no more than fits.
    Asking,
}

impl OutputFd {
    /// Writes to `file`. After a stop, a reader that takes nothing is waited for
    /// [`STOPPED_PATIENCE`], then treated as gone.
    #[must_use]
    pub fn new(file: File, control: &Control) -> Self {
        let kind = file.metadata().map(|data| data.file_type());
        let waits = kind.is_ok_and(|kind| kind.is_fifo() || kind.is_socket() || kind.is_char_device() && is_terminal(&file));
        let (file, way) = match opened_again(&file) {
            _ if !waits => (file, WaitMode::Plain),
            Ok(own) => (own, WaitMode::Plain),
            Err(_) => (file, WaitMode::Asking),
        };
        // An output that is no pipe stays as it is, as all do when the user has too many large
        // ones.
        let _ = rustix::pipe::fcntl_setpipe_size(&file, PIPE_BYTES);
        Self { file, control: control.clone(), way, given_up: false }
    }

    /// Standard output.
    ///
    /// # Errors
    /// When the system has no descriptor for it.
    pub fn stdout(control: &Control) -> io::Result<Self> {
        Ok(Self::new(io::stdout().as_fd().try_clone_to_owned()?.into(), control))
    }

    /// The file.
    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Waits for room.
    fn wait(&mut self) -> io::Result<()> {
        loop {
            let stopped = self.control.stopped();
            let timeout = Timespec::try_from(if stopped { STOPPED_PATIENCE } else { STOP_CHECK }).ok();
            match poll(&mut [PollFd::new(&self.file.as_fd(), PollFlags::OUT)], timeout.as_ref()) {
                Ok(0) if stopped => {
                    self.given_up = true;
                    return Err(ErrorKind::BrokenPipe.into());
                }
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn write_asking(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.wait()?;
        let first = slices.iter().find(|slice| !slice.is_empty());
        first.map_or(Ok(0), |slice| self.file.write(&slice[..slice.len().min(ROOM_BYTES)]))
    }
}

fn is_terminal(file: &File) -> bool {
    std::io::IsTerminal::is_terminal(file)
}

/// A pipe or terminal by a description of our own that does not block, so that a stop is seen while
/// its reader takes nothing: the one we were given is shared with other programs.
///
/// # Errors
/// Where there is no `/proc`, it is another user's, or a socket.
fn opened_again(file: &File) -> io::Result<File> {
    let path = format!("/proc/self/fd/{}", file.as_raw_fd());
    let flags = (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed();
    OpenOptions::new().write(true).custom_flags(flags).open(path)
}

impl Write for OutputFd {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        if self.given_up {
            return Err(ErrorKind::BrokenPipe.into());
        }
        loop {
            let written = match self.way {
                WaitMode::Plain => self.file.write_vectored(slices),
                WaitMode::Asking => self.write_asking(slices),
            };
            match written {
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.wait()?,
                result => return result,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes all slices, whatever part of them each call takes.
fn write_all_vectored(writer: &mut impl Write, mut slices: &mut [IoSlice<'_>], writes: &mut u64) -> io::Result<()> {
    // Skips empty slices, so that "nothing written" below is true.
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

//! Joins an input, stages on threads, and a sink. The only place that starts threads.

use crate::chunk::Chunk;
use crate::error::{Error, Kind};
use crate::input::{Body, Input};
use crate::limits::{BLOCK_BYTES, IDLE_AFTER, OVERREAD_BYTES, QUEUE_PER_WORKER, WINDOW_PER_WORKER};
use crate::pool::{Lease, Pool};
use crate::queue::{Giver, Queue, Taken, Taker};
use crate::sequence::Sequence;
use crate::stream::{BlockSource, Blocks, Decoded, ReadSource};
use crate::throttle::Throttle;
use bytes::Bytes;
use memchr::memchr;
use rustix::fs::SeekFrom;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How the input is cut for the stages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Anywhere.
    Bytes,
    /// After newlines; a line longer than `line_bytes_max` comes as its head, marked as long.
    Lines {
        /// The longest line that is handed over whole, in bytes without the newline; at least 1.
        line_bytes_max: usize,
    },
}

/// What a run needs beside its input.
#[derive(Debug, Clone)]
pub struct Plan {
    /// How the input is cut.
    pub framing: Framing,
    /// The largest zstd window that an input may ask for, as a power of two.
    pub zstd_window_log_max: u32,
}

/// One worker's work. There is one stage a thread, so a stage needs no lock of its own.
pub trait Stage: Send {
    /// What a chunk becomes; given to the sink in the order of the input.
    type Output: Send;

    /// Takes one chunk. A stage sees some of the chunks, in ascending order.
    ///
    /// # Errors
    /// An error ends the run.
    fn chunk(&mut self, chunk: &Chunk) -> Result<Self::Output, Error>;

    /// Called when a stream has given this worker nothing for [`IDLE_AFTER`]: the time to show others what it knows.
    fn idle(&mut self) {}
}

/// Watches and steers a run from outside; clones share one state.
#[derive(Debug, Clone, Default)]
pub struct Control {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    stored_bytes: AtomicU64,
    decoded_bytes: AtomicU64,
    reads: AtomicU64,
    throttle: Option<Throttle>,
}

impl Control {
    /// A control that lets at most `bytes_per_second` stored bytes pass (`None`: no limit).
    #[must_use]
    pub fn with_rate_limit(bytes_per_second: Option<u64>) -> Self {
        let throttle = bytes_per_second.map(Throttle::new);
        Self { shared: Arc::new(Shared { throttle, ..Shared::default() }) }
    }

    /// Asks the run to end soon; what was taken by then is complete.
    pub fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }

    /// Whether [`Control::stop`] was called.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed)
    }

    /// Bytes read so far, as stored (compressed, where the input is).
    #[must_use]
    pub fn stored_bytes(&self) -> u64 {
        self.shared.stored_bytes.load(Ordering::Relaxed)
    }

    /// Bytes taken in so far, after decoding; holes of sparse files and the rest of over-long lines included.
    #[must_use]
    pub fn decoded_bytes(&self) -> u64 {
        self.shared.decoded_bytes.load(Ordering::Relaxed)
    }

    /// Read system calls on the input so far.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.shared.reads.load(Ordering::Relaxed)
    }

    /// Counts stored bytes, and sleeps where there is a rate limit. Called by whoever takes them in.
    pub fn stored(&self, bytes: u64) {
        self.shared.stored_bytes.fetch_add(bytes, Ordering::Relaxed);
        if let Some(throttle) = &self.shared.throttle {
            // In slices: a block may cost minutes, and a stop should not wait for them.
            let until = Instant::now() + throttle.take(bytes);
            while !self.stopped() {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                std::thread::sleep(left.min(Duration::from_millis(50)));
            }
        }
    }

    fn decoded(&self, bytes: u64) {
        self.shared.decoded_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// How a run ended. The stages come back in any case, with what they gathered.
#[derive(Debug)]
pub struct Finish<S> {
    /// The stages, in the order in which they were given.
    pub stages: Vec<S>,
    /// What ended the run early; everything before it was handed to the stages.
    pub error: Option<Error>,
}

/// Runs `input` through stages, one thread each, and their outputs in order through `sink`.
///
/// `start` is given the first stretch of the decoded input (at most one block, empty for an empty input) and makes
/// the stages, so that they can depend on what the input looks like; `None` ends the run before it began.
/// The pool's buffers must be at least [`crate::limits::buffer_bytes`] of the line limit, and there should be
/// [`crate::limits::buffers_needed`] of them (fewer work down to three, with less overlap).
pub fn run<S: Stage>(
    input: Input,
    plan: &Plan,
    pool: &Pool,
    control: &Control,
    start: impl FnOnce(&[u8]) -> Option<Vec<S>>,
    sink: impl FnMut(S::Output) -> Result<(), Error> + Send,
) -> Finish<S> {
    let name = input.name;
    let headroom = match plan.framing {
        Framing::Bytes => 0,
        Framing::Lines { line_bytes_max } => line_bytes_max,
    };
    debug_assert!(pool.buffer_bytes() >= headroom + BLOCK_BYTES, "buffers are too small for the line limit");
    let source: Box<dyn BlockSource> = match input.body {
        Body::File { file, size_bytes } => {
            let file = SharedFile::new(file, name, size_bytes, plan.framing, control.clone());
            return run_file(&file, pool, control, start, sink);
        }
        Body::Read(reader) => Box::new(ReadSource::new(reader, &name, pool, headroom, Some(control.clone()))),
        Body::Source(source) => source,
    };
    let decoded = Decoded::new(source, &name, pool, headroom, plan.zstd_window_log_max);
    let blocks = Blocks::new(Box::new(decoded), &name, plan.framing);
    run_stream(blocks, control, start, sink)
}

/// Remembers the error that is nearest to the start of the input, and tells everyone to stop.
struct Failure<'a> {
    first: Mutex<Option<Error>>,
    stop: AtomicBool,
    control: &'a Control,
}

impl<'a> Failure<'a> {
    fn new(control: &'a Control) -> Self {
        Self { first: Mutex::new(None), stop: AtomicBool::new(false), control }
    }

    fn set(&self, error: Error) {
        self.stop.store(true, Ordering::Relaxed);
        let mut first = self.first.lock().unwrap_or_else(PoisonError::into_inner);
        // Workers meet the end of a shrunken file in several blocks; the first of these is where it ends.
        let offsets = first.as_ref().and_then(Error::offset).zip(error.offset());
        if first.is_none() || offsets.is_some_and(|(known, new)| new < known) {
            *first = Some(error);
        }
    }

    fn stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.control.stopped()
    }

    fn into_inner(self) -> Option<Error> {
        self.first.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Aborts the sequence when a worker leaves by a panic, so that nobody waits for its number.
struct AbortOnDrop<'a, O, F: FnMut(O) -> Result<(), Error>>(Option<&'a Sequence<O, F>>);

impl<O, F: FnMut(O) -> Result<(), Error>> Drop for AbortOnDrop<'_, O, F> {
    fn drop(&mut self) {
        if let Some(sequence) = self.0 {
            sequence.abort();
        }
    }
}

/// Gives a chunk to the stage and its output to the sequence; `false` ends the worker.
fn work<S, F>(stage: &mut S, number: u64, chunk: &Chunk, sequence: &Sequence<S::Output, F>, failure: &Failure<'_>) -> bool
where
    S: Stage,
    F: FnMut(S::Output) -> Result<(), Error>,
{
    let submitted = match stage.chunk(chunk) {
        Ok(output) => sequence.submit(number, output),
        Err(error) => Err(Err(error)),
    };
    match submitted {
        Ok(()) => return true,
        Err(Ok(_aborted)) => {}
        Err(Err(error)) => failure.set(error),
    }
    sequence.abort();
    false
}

fn run_stream<S: Stage>(
    mut blocks: Blocks,
    control: &Control,
    start: impl FnOnce(&[u8]) -> Option<Vec<S>>,
    sink: impl FnMut(S::Output) -> Result<(), Error> + Send,
) -> Finish<S> {
    let failure = Failure::new(control);
    let mut next = || {
        let before = blocks.offset();
        let chunk = blocks.next_chunk();
        control.decoded(blocks.offset() - before);
        chunk.unwrap_or_else(|error| {
            failure.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            blocks.last()
        })
    };
    let first = next();
    let Some(mut stages) = start(first.as_ref().map_or(&[], |chunk| &chunk.bytes)) else {
        return Finish { stages: Vec::new(), error: failure.into_inner() };
    };
    let threads = stages.len();
    let sequence = Sequence::new(threads * WINDOW_PER_WORKER, sink);
    let queue = Queue::<(u64, Chunk)>::new(threads * QUEUE_PER_WORKER);
    std::thread::scope(|scope| {
        for stage in &mut stages {
            let (taker, sequence, failure) = (Taker(&queue), &sequence, &failure);
            scope.spawn(move || {
                let mut guard = AbortOnDrop(Some(sequence));
                loop {
                    match taker.take(IDLE_AFTER) {
                        Taken::One((number, chunk)) if !work(stage, number, &chunk, sequence, failure) => return,
                        Taken::One(_) => {}
                        Taken::Nothing => stage.idle(),
                        Taken::End => break,
                    }
                }
                guard.0 = None;
            });
        }
        let giver = Giver(&queue);
        let mut chunk = first;
        let mut number = 0;
        while let Some(ready) = chunk.take() {
            if !giver.put((number, ready)) || failure.stopping() {
                break;
            }
            number += 1;
            chunk = next();
        }
    });
    Finish { stages, error: failure.into_inner() }
}

fn run_file<S: Stage>(
    file: &SharedFile,
    pool: &Pool,
    control: &Control,
    start: impl FnOnce(&[u8]) -> Option<Vec<S>>,
    sink: impl FnMut(S::Output) -> Result<(), Error> + Send,
) -> Finish<S> {
    let failure = Failure::new(control);
    let stages = match file.first_stretch(pool) {
        Ok(first) => start(&first),
        Err(error) => return Finish { stages: Vec::new(), error: Some(error) },
    };
    let Some(mut stages) = stages else {
        return Finish { stages: Vec::new(), error: None };
    };
    let sequence = Sequence::new(stages.len() * WINDOW_PER_WORKER, sink);
    std::thread::scope(|scope| {
        for stage in &mut stages {
            let (sequence, failure) = (&sequence, &failure);
            scope.spawn(move || {
                let mut guard = AbortOnDrop(Some(sequence));
                if let Err(error) = file_worker(file, pool, stage, sequence, failure) {
                    failure.set(error);
                }
                // No abort after an error: the numbers before it are with other workers, and still to come.
                guard.0 = None;
            });
        }
    });
    Finish { stages, error: failure.into_inner() }
}

fn file_worker<S, F>(
    file: &SharedFile,
    pool: &Pool,
    stage: &mut S,
    sequence: &Sequence<S::Output, F>,
    failure: &Failure<'_>,
) -> Result<(), Error>
where
    S: Stage,
    F: FnMut(S::Output) -> Result<(), Error>,
{
    while !failure.stopping() {
        // The lease comes before the claim: whoever holds the lowest number then never waits for a buffer.
        let lease = pool.lease().map_err(|cause| Error::io(&file.name, "no memory for a block", cause))?;
        let Some(claim) = file.claim() else { break };
        let (chunk, error) = file.chunk(&claim, lease);
        if !work(stage, claim.number, &chunk, sequence, failure) {
            break;
        }
        if let Some(error) = error {
            return Err(error);
        }
    }
    Ok(())
}

/// A plain file that all workers read, each the blocks that it claims.
struct SharedFile {
    file: File,
    name: String,
    size_bytes: u64,
    framing: Framing,
    control: Control,
    next: Mutex<Next>,
}

#[derive(Default)]
struct Next {
    number: u64,
    offset: u64,
    /// Where the data extent that contains `offset` ends.
    data_end: u64,
    /// The file system can't tell data from holes.
    no_holes: bool,
}

struct Claim {
    number: u64,
    offset: u64,
    length: u64,
    hole: bool,
}

impl SharedFile {
    fn new(file: File, name: String, size_bytes: u64, framing: Framing, control: Control) -> Self {
        Self { file, name, size_bytes, framing, control, next: Mutex::default() }
    }

    /// The next block, or the next hole rounded to blocks. The first block is never part of a hole: the
    /// line that starts the file is its owner's.
    fn claim(&self) -> Option<Claim> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = next.offset;
        if offset >= self.size_bytes {
            return None;
        }
        let hole_end = if offset == 0 { 0 } else { self.hole_end(&mut next) };
        let hole = hole_end > offset;
        let end = if hole { hole_end } else { (offset + BLOCK_BYTES as u64).min(self.size_bytes) };
        let claim = Claim { number: next.number, offset, length: end - offset, hole };
        next.number += 1;
        next.offset = end;
        Some(claim)
    }

    /// End of the hole at the next offset, as a block border or the end of the file; 0 when it is data.
    fn hole_end(&self, next: &mut Next) -> u64 {
        if next.no_holes || next.offset < next.data_end {
            return 0;
        }
        let seek = |from| rustix::fs::seek(&self.file, from);
        let data = match seek(SeekFrom::Data(next.offset)) {
            Ok(data) => data,
            // No data after the offset: the hole goes to the end, or the file shrank, which reading will tell.
            Err(rustix::io::Errno::NXIO) if self.file.metadata().is_ok_and(|now| now.len() < self.size_bytes) => return 0,
            Err(rustix::io::Errno::NXIO) => self.size_bytes,
            Err(_) => {
                next.no_holes = true;
                return 0;
            }
        };
        if data > next.offset {
            return if data >= self.size_bytes { self.size_bytes } else { data - data % BLOCK_BYTES as u64 };
        }
        next.data_end = seek(SeekFrom::Hole(next.offset)).unwrap_or(self.size_bytes);
        0
    }

    fn first_stretch(&self, pool: &Pool) -> Result<Bytes, Error> {
        let mut lease = pool.lease().map_err(|cause| Error::io(&self.name, "no memory for a block", cause))?;
        let wanted = self.size_bytes.min(BLOCK_BYTES as u64) as usize;
        let read = self.read(&mut lease[..wanted], 0)?;
        Ok(Bytes::from_owner(lease).slice(..read))
    }

    /// Reads a claimed stretch. What was read comes back even when the file ended early or reading failed.
    fn chunk(&self, claim: &Claim, mut lease: Lease) -> (Chunk, Option<Error>) {
        if claim.hole {
            self.control.decoded(claim.length);
            let chunk =
                Chunk { offset: claim.offset, bytes: Bytes::new(), zeros: claim.length, line_bytes_max: usize::MAX, cut: false };
            return (chunk, None);
        }
        let length = claim.length as usize;
        let overread = match self.framing {
            Framing::Bytes => 0,
            Framing::Lines { .. } => OVERREAD_BYTES.min((self.size_bytes - claim.offset) as usize - length),
        };
        let (read, mut error) = match self.read(&mut lease[..length + overread], claim.offset) {
            Ok(read) => (read, None),
            Err(error) => (0, Some(error)),
        };
        if read < length + overread && error.is_none() {
            error = Some(self.shrank(claim.offset + read as u64));
        }
        self.control.decoded(read.min(length) as u64);
        self.control.stored(read.min(length) as u64);
        let chunk = match self.framing {
            Framing::Bytes => {
                let bytes = Bytes::from_owner(lease).slice(..read);
                Chunk { offset: claim.offset, bytes, zeros: 0, line_bytes_max: usize::MAX, cut: false }
            }
            Framing::Lines { line_bytes_max } => self.lines(claim, lease, read, line_bytes_max, &mut error),
        };
        (chunk, error)
    }

    /// The lines that this block owns: those whose preceding newline lies in it (and the file's first).
    fn lines(&self, claim: &Claim, mut lease: Lease, mut read: usize, line_bytes_max: usize, error: &mut Option<Error>) -> Chunk {
        let length = read.min(claim.length as usize);
        let start = if claim.offset == 0 { Some(0) } else { memchr(b'\n', &lease[..length]).map(|newline| newline + 1) };
        let Some(start) = start else {
            return Chunk { offset: claim.offset, bytes: Bytes::new(), zeros: 0, line_bytes_max, cut: false };
        };
        // From here on the newline that ends the line which crosses the border is looked for.
        let mut searched = length;
        let (end, cut) = loop {
            if let Some(newline) = memchr(b'\n', &lease[searched..read]) {
                break (searched + newline + 1, false);
            }
            searched = read;
            let at = claim.offset + read as u64;
            if at >= self.size_bytes || error.is_some() {
                break (read, false);
            }
            if read > length + line_bytes_max {
                break (length + line_bytes_max, true);
            }
            let more =
                (read - length).max(OVERREAD_BYTES).min(length + line_bytes_max + 1 - read).min((self.size_bytes - at) as usize);
            match self.read(&mut lease[read..read + more], at) {
                Ok(0) => *error = Some(self.shrank(at)),
                Ok(count) => read += count,
                Err(failed) => *error = Some(failed),
            }
        };
        let bytes = Bytes::from_owner(lease).slice(start.min(end)..end);
        Chunk { offset: claim.offset + start as u64, bytes, zeros: 0, line_bytes_max, cut }
    }

    /// Fills `buffer` from `offset`; less only at the end of the file.
    fn read(&self, buffer: &mut [u8], offset: u64) -> Result<usize, Error> {
        let mut filled = 0;
        while filled < buffer.len() {
            self.control.shared.reads.fetch_add(1, Ordering::Relaxed);
            match self.file.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(cause) => return Err(Error::io(&self.name, "cannot read", cause).at(offset + filled as u64)),
            }
        }
        Ok(filled)
    }

    fn shrank(&self, end: u64) -> Error {
        let message = format!("the file shrank while it was read: it had {} bytes when opened and now ends", self.size_bytes);
        Error::new(Kind::Truncated, &self.name, message).at(end)
    }
}

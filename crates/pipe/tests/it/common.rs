//! Shared by the tests: sources of any block size, stages that keep their chunks, and a reference
//! that splits by hand.

use rorqual_pipe::limits::{BLOCK_BYTES, buffer_bytes, buffers_needed};
use rorqual_pipe::{BlockSource, BufferPool, Chunk, Control, Error, FilledBlock, Finish, Framing, Input, RunPlan, Stage, run};
use rorqual_testkit::process::in_time;
use std::collections::VecDeque;
use std::time::Duration;

/// A run that takes longer hangs.
pub(crate) const TIME_MAX: Duration = Duration::from_secs(60);

/// Fewest buffers with which a stream moves: a decoder's input, the carried line's block, the one
/// being filled.
pub(crate) const BUFFERS_MIN: usize = 3;

/// A line as a stage saw it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) offset: u64,
    pub(crate) head: Vec<u8>,
    pub(crate) long: bool,
}

/// The lines of `bytes`, found one byte after the other.
pub(crate) fn split(bytes: &[u8], line_bytes_max: usize) -> Vec<Seen> {
    let mut seen = Vec::new();
    let mut start = 0;
    for (index, byte) in bytes.iter().enumerate() {
        if *byte == b'\n' {
            seen.push(line(bytes, start, index, line_bytes_max));
            start = index + 1;
        }
    }
    if start < bytes.len() {
        seen.push(line(bytes, start, bytes.len(), line_bytes_max));
    }
    seen
}

fn line(bytes: &[u8], start: usize, end: usize, line_bytes_max: usize) -> Seen {
    let shown = (end - start).min(line_bytes_max);
    Seen { offset: start as u64, head: bytes[start..start + shown].to_vec(), long: end - start > line_bytes_max }
}

/// Keeps the lines of each chunk.
pub(crate) struct KeepLines;

impl Stage for KeepLines {
    type Output = Vec<Seen>;

    fn chunk(&mut self, chunk: &Chunk) -> Result<Vec<Seen>, Error> {
        let seen = chunk.lines().map(|line| Seen {
            offset: chunk.offset + line.start as u64,
            head: line.bytes.to_vec(),
            long: line.long,
        });
        Ok(seen.collect())
    }
}

/// Keeps the bytes of each chunk with their offset, holes written out.
pub(crate) struct KeepBytes;

impl Stage for KeepBytes {
    type Output = (u64, Vec<u8>);

    fn chunk(&mut self, chunk: &Chunk) -> Result<(u64, Vec<u8>), Error> {
        let bytes = if chunk.zeros > 0 { vec![0; chunk.zeros as usize] } else { chunk.bytes.to_vec() };
        Ok((chunk.offset, bytes))
    }
}

/// Result of a run: the outputs in the order of the sink, and its error.
pub(crate) struct Outcome<O> {
    pub(crate) outputs: Vec<O>,
    pub(crate) error: Option<Error>,
}

/// Settings of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setup {
    pub(crate) framing: Framing,
    pub(crate) threads: usize,
    pub(crate) buffers: usize,
}

impl Setup {
    pub(crate) fn lines(line_bytes_max: usize, threads: usize) -> Self {
        Self { framing: Framing::Lines { line_bytes_max }, threads, buffers: buffers_needed(threads) }
    }

    pub(crate) fn bytes(threads: usize) -> Self {
        Self { framing: Framing::Bytes, threads, buffers: buffers_needed(threads) }
    }

    pub(crate) fn with_buffers(self, buffers: usize) -> Self {
        Self { buffers, ..self }
    }

    pub(crate) fn headroom(self) -> usize {
        match self.framing {
            Framing::Bytes => 0,
            Framing::Lines { line_bytes_max: max }
            | Framing::LogLines { line_bytes_max: max }
            | Framing::NulLines { line_bytes_max: max }
            | Framing::Records { record_bytes_max: max } => max,
        }
    }

    pub(crate) fn plan(self) -> RunPlan {
        RunPlan { framing: self.framing, zstd_window_log_max: 23 }
    }

    pub(crate) fn pool(self) -> BufferPool {
        BufferPool::new(buffer_bytes(self.headroom()), self.buffers)
    }

    /// Runs the input of `input` with the pool through stages that `stage` makes. Ends the test
    /// when the run hangs or keeps a buffer.
    pub(crate) fn run<S: Stage + 'static>(
        self,
        input: impl FnOnce(&BufferPool) -> Input + Send + 'static,
        stage: impl Fn() -> S + Send + 'static,
    ) -> Outcome<S::Output>
    where
        S::Output: 'static,
    {
        in_time(TIME_MAX, move || {
            let pool = self.pool();
            let mut outputs = Vec::new();
            let keep = |output| {
                outputs.push(output);
                Ok(())
            };
            let stages = |_: &[u8]| Some((0..self.threads).map(|_| stage()).collect());
            let Finish { error, .. } = run(input(&pool), &self.plan(), &pool, &Control::default(), stages, keep);
            assert_eq!(pool.lent(), 0, "every buffer comes home");
            Outcome { outputs, error }
        })
    }

    /// The lines of an input that has nothing wrong.
    pub(crate) fn lines_of(self, input: impl FnOnce(&BufferPool) -> Input + Send + 'static) -> Vec<Seen> {
        let outcome = self.run(input, || KeepLines);
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        outcome.outputs.concat()
    }

    /// The bytes of an input that has nothing wrong; checks that the chunks touch.
    pub(crate) fn bytes_of(self, input: impl FnOnce(&BufferPool) -> Input + Send + 'static) -> Vec<u8> {
        let outcome = self.run(input, || KeepBytes);
        assert!(outcome.error.is_none(), "{:?}", outcome.error);
        let mut all = Vec::new();
        for (offset, bytes) in outcome.outputs {
            assert_eq!(offset, all.len() as u64);
            all.extend(bytes);
        }
        all
    }
}

/// Gives its bytes in blocks of one size.
pub(crate) struct Pieces {
    pool: BufferPool,
    headroom: usize,
    pieces: VecDeque<Vec<u8>>,
    /// Comes after the last piece.
    error: Option<Error>,
}

impl Pieces {
    pub(crate) fn new(bytes: &[u8], piece_bytes: usize, headroom: usize, pool: &BufferPool) -> Self {
        let pieces = bytes.chunks(piece_bytes.min(BLOCK_BYTES)).map(<[u8]>::to_vec).collect();
        Self { pool: pool.clone(), headroom, pieces, error: None }
    }

    /// An input that `setup` can run.
    pub(crate) fn input(bytes: &[u8], piece_bytes: usize, setup: Setup) -> impl FnOnce(&BufferPool) -> Input + Send + 'static {
        let bytes = bytes.to_vec();
        move |pool| Input::from_source("pieces", Box::new(Self::new(&bytes, piece_bytes, setup.headroom(), pool)))
    }

    /// Fails after `blocks` of its blocks.
    pub(crate) fn failing_after(mut self, blocks: usize, error: Error) -> Self {
        self.pieces.truncate(blocks);
        self.error = Some(error);
        self
    }
}

impl BlockSource for Pieces {
    fn next_block(&mut self) -> Result<Option<FilledBlock>, Error> {
        let Some(piece) = self.pieces.pop_front() else {
            return self.error.take().map_or(Ok(None), Err);
        };
        let mut lease = self.pool.lease().expect("the system has memory for a test");
        let range = self.headroom..self.headroom + piece.len();
        lease[range.clone()].copy_from_slice(&piece);
        Ok(Some(FilledBlock { lease, range }))
    }
}

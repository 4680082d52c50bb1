//! The hits of one chunk, as a worker found them.

use rorqual_pipe::Chunk;

/// A stretch of a chunk: selected lines that follow one another, or one match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HitRange {
    /// Its start in the chunk's bytes.
    pub start: u32,
    /// Its end: after the last line's newline, or after the match.
    pub end: u32,
    /// Lines of the chunk before the one in which it starts; 0 where lines are not numbered.
    pub line: u32,
}

/// The hits of a chunk, with the chunk.
#[derive(Debug)]
pub struct ChunkHits {
    /// The chunk, which keeps its buffer.
    pub(crate) chunk: Chunk,
    pub(crate) batch: HitBatch,
}

/// The hits of a chunk, or of a part of it where there are many.
#[derive(Debug, Default)]
pub(crate) struct HitBatch {
    pub(crate) hits: Vec<HitRange>,
    /// Selected lines.
    pub(crate) selected: u64,
    /// The place to go on at; the end of the chunk's whole lines when it was searched to its end.
    pub(crate) next: usize,
    /// Newlines before `next`, where lines are numbered.
    pub(crate) lines: u32,
    /// The input is to be passed over.
    pub(crate) binary: bool,
}

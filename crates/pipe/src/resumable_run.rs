//! A stream on its way through stages: all at once, or by stretches with pauses in between.

use crate::chunk::{Chunk, Framing, RunPlan};
use crate::control::Control;
use crate::descriptor::{Descriptor, Prefixed};
use crate::error::Error;
use crate::input::{Input, InputBody};
use crate::pool::BufferPool;
use crate::run::{Finish, FirstFailure, Stage, run_beside};
use crate::splitter::Splitter;
use crate::stream::{BlockSource, Blocks, DecodedSource, ReadSource, ResumePoint};
use bytes::Bytes;

/// A stream that is run to the next pause of its source, and on from there by the next
/// [`ResumableRun::run`]. In between it holds no block, and of its bytes an unfinished line only.
pub struct ResumableRun {
    blocks: Blocks,
    after_long: bool,
    /// A first line that is too long to tell anything, while the bytes after it are waited for.
    head: Option<Chunk>,
    begun: bool,
    in_place: bool,
}

impl ResumableRun {
    /// The course of a stream, or of a file as a stream.
    #[must_use]
    pub fn new(input: Input, plan: &RunPlan, pool: &BufferPool, control: &Control) -> Self {
        Self::of(input.sequential(), None, plan, pool, control)
    }

    pub(crate) fn of(
        input: Input,
        splitter: Option<Box<dyn Splitter>>,
        plan: &RunPlan,
        pool: &BufferPool,
        control: &Control,
    ) -> Self {
        let (after_long, undo, framing) = (input.after_long, input.undo, plan.framing);
        let name = input.name.clone();
        let source = source(input, framing, pool, control);
        let headroom = framing.headroom();
        let source: Box<dyn BlockSource> = if undo.compression || undo.charset {
            Box::new(DecodedSource::new(source, &name, pool, headroom, plan.zstd_window_log_max, undo))
        } else {
            source
        };
        let blocks = Blocks::new(source, &name, framing, splitter);
        Self { blocks, after_long, head: None, begun: false, in_place: false }
    }

    /// The same from `place` on, with a source that begins there.
    #[must_use]
    pub fn at(self, place: ResumePoint) -> Self {
        Self { blocks: self.blocks.at(place), begun: place != ResumePoint::default(), ..self }
    }

    /// The same with a source that begins at `place`, whose first bytes tell what they are.
    pub(crate) fn from(self, place: ResumePoint) -> Self {
        Self { blocks: self.blocks.at(place), ..self }
    }

    /// Place from which one could go on that has only the bytes given to stages.
    #[must_use]
    pub fn place(&self) -> ResumePoint {
        if self.head.is_some() { ResumePoint::default() } else { self.blocks.place() }
    }

    /// Held bytes that stages were not given.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.blocks.carried() + self.head.as_ref().map_or(0, |head| head.bytes.len())
    }

    /// Forgets bytes that stages were not given: the source goes on at the place. Returns how many
    /// come again.
    pub fn rewind(&mut self) -> u64 {
        let before = self.blocks.offset();
        self.blocks.rewind();
        if self.head.take().is_some() {
            self.blocks.restart();
        }
        before - self.blocks.offset()
    }

    /// True if the source has ended, or failed.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.blocks.ended()
    }

    /// A single stage is from now on worked by the calling thread, between its reads: for stretches
    /// so short that starting another thread would cost more.
    pub fn in_place(&mut self, in_place: bool) {
        self.in_place = in_place;
    }

    /// Runs to the next pause of the source, or to its end. `start` is given the first stretch of
    /// all, at most one block, and later none; where nothing came before a pause it is not asked.
    /// Otherwise as [`run`](crate::run).
    pub fn run<S: Stage>(
        &mut self,
        control: &Control,
        start: impl FnOnce(&[u8]) -> Option<Vec<S>>,
        sink: impl FnMut(S::Output) -> Result<(), Error> + Send,
    ) -> Finish<S> {
        let failure = FirstFailure::new(control);
        let mut reading = ChunksToPause { blocks: &mut self.blocks, control, failure: &failure };
        let first = self.head.take().or_else(|| reading.next());
        let is_rest = |chunk: &Chunk| chunk.bytes.is_empty() && !chunk.before.is_empty();
        let silent = self.after_long && !self.begun && first.as_ref().is_some_and(|chunk| chunk.long_start == Some(0));
        let second = if silent { reading.by_ref().find(|chunk| !is_rest(chunk)) } else { None };
        if !reading.blocks.ended() && (first.is_none() || (silent && second.is_none())) {
            // A block is much larger than its content here.
            self.head = first.map(|chunk| Chunk { bytes: Bytes::copy_from_slice(&chunk.bytes), ..chunk });
            return Finish { stages: Vec::new(), error: failure.into_inner() };
        }
        let telling = if self.begun { None } else { second.as_ref().or(first.as_ref()) };
        self.begun = true;
        let Some(mut stages) = start(telling.map_or(&[], |chunk| &chunk.bytes)) else {
            return Finish { stages: Vec::new(), error: failure.into_inner() };
        };
        let chunks = first.into_iter().chain(second).chain(reading);
        match &mut stages[..] {
            [stage] if self.in_place => run_here(stage, chunks, sink, &failure),
            stages => run_beside(stages, chunks, sink, &failure),
        }
        Finish { stages, error: failure.into_inner() }
    }
}

/// The chunks to the next pause.
struct ChunksToPause<'a, 'c> {
    blocks: &'a mut Blocks,
    control: &'a Control,
    failure: &'a FirstFailure<'c>,
}

impl Iterator for ChunksToPause<'_, '_> {
    type Item = Chunk;

    fn next(&mut self) -> Option<Chunk> {
        let Self { blocks, control, failure } = self;
        let before = blocks.offset();
        let chunk = blocks.next_chunk();
        control.decoded(blocks.offset() - before);
        let chunk = chunk.unwrap_or_else(|error| {
            // A stop ends the waiting for a pipe, which a decoder takes for the end of its data.
            if !control.stopped() {
                failure.at_end(error);
            }
            blocks.last()
        });
        // A stop ends the wait for a pipe anywhere: half a line is none.
        chunk.filter(|chunk| !(control.stopped() && chunk.is_unfinished()))
    }
}

fn run_here<S: Stage>(
    stage: &mut S,
    chunks: impl Iterator<Item = Chunk>,
    mut sink: impl FnMut(S::Output) -> Result<(), Error>,
    failure: &FirstFailure<'_>,
) {
    for (number, chunk) in (0..).zip(chunks) {
        let chunk = Chunk { number, ..chunk };
        if let Err(error) = stage.chunk(&chunk).and_then(&mut sink) {
            failure.set(error);
        }
        if failure.stopping() {
            return;
        }
    }
}

/// Source that fills blocks with the bytes of a stream, as they are stored.
pub(crate) fn source(input: Input, framing: Framing, pool: &BufferPool, control: &Control) -> Box<dyn BlockSource> {
    let (name, headroom) = (input.name, framing.headroom());
    let count = Some(control.clone());
    match input.body {
        InputBody::File { file, .. } | InputBody::Descriptor(file) => {
            let reader = Prefixed::new(input.prefix, Descriptor::new(file, control.clone()).pausing(input.pauses));
            Box::new(ReadSource::new(reader, &name, pool, headroom, count).with_first(input.enough))
        }
        InputBody::Following(following) => {
            let reader = following.reader(control.clone()).pausing(input.pauses);
            Box::new(ReadSource::new(reader, &name, pool, headroom, count).with_first(input.enough))
        }
        InputBody::Read(reader) => Box::new(ReadSource::new(Prefixed::new(input.prefix, reader), &name, pool, headroom, count)),
        InputBody::Source(source) => source,
    }
}

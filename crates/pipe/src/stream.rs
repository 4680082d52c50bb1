//! Streams: input that comes once, in order. One reader cuts it into chunks at newlines.

use crate::chunk::{Chunk, Framing};
use crate::control::Control;
use crate::decode::{DecodeDepth, MAGIC_BYTES, decoder_of, describe};
use crate::descriptor::PollableRead;
use crate::error::{Error, ErrorClass};
use crate::limits::{BLOCK_BYTES, HELD_FIRST_BYTES_MAX, TURN_BYTES_MAX};
use crate::pool::{BufferPool, Lease};
use crate::splitter::{LineEnds, RecordEnds, SplitError, Splitter};
use bytes::Bytes;
use std::io::{self, BufRead, ErrorKind, Read};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A leased buffer with data in `range`. `range.start` is at least the longest line: the room
/// before it is where the end of the last block's unfinished line is put, so that no block is ever
/// copied.
#[derive(Debug)]
pub struct FilledBlock {
    /// The buffer.
    pub lease: Lease,
    /// Range of the data.
    pub range: Range<usize>,
}

/// Something that fills buffers: a pipe, a decoder, an upload.
pub trait BlockSource: Send {
    /// The next filled buffer, or `None` at the end.
    ///
    /// # Errors
    /// When the source fails; it is not asked again.
    fn next_block(&mut self) -> Result<Option<FilledBlock>, Error>;

    /// True if the `None` that was just given is no end: more comes when it is asked again, in
    /// another [`ResumableRun::run`]. A source of compressed data never pauses, as a decoder takes
    /// that for the end of its data.
    ///
    /// [`ResumableRun::run`]: crate::Course::run
    fn paused(&self) -> bool {
        false
    }
}

/// Makes an error of a failed read, for the input of this name.
type Describe = Box<dyn Fn(&str, io::Error) -> Error + Send>;

/// True if the bytes of a first block that is not full yet are enough to detect the format.
pub(crate) type EnoughForDetection = Box<dyn FnMut(&[u8]) -> bool + Send>;

/// Fills buffers from anything that reads.
pub(crate) struct ReadSource<R> {
    reader: R,
    name: String,
    pool: BufferPool,
    headroom: usize,
    offset: u64,
    failed: Option<Error>,
    describe: Describe,
    count: Option<Control>,
    /// Asked about the first block until it is enough.
    enough: Option<EnoughForDetection>,
    /// Start of a first block that was not enough before a pause.
    held: Vec<u8>,
    /// The last read gave nothing, and is no end.
    paused: bool,
    /// Bytes since it paused last.
    turn_bytes: u64,
}

impl<R: PollableRead> ReadSource<R> {
    /// `count` is told of the bytes as they are read, when they are the stored ones.
    pub(crate) fn new(reader: R, name: &str, pool: &BufferPool, headroom: usize, count: Option<Control>) -> Self {
        let describe = Box::new(|name: &str, cause| Error::io(name, "cannot read", cause));
        Self {
            reader,
            name: name.into(),
            pool: pool.clone(),
            headroom,
            offset: 0,
            failed: None,
            describe,
            count,
            enough: None,
            held: Vec::new(),
            paused: false,
            turn_bytes: 0,
        }
    }

    /// The same with a first block that is handed on only when it is `enough`, or full, or the end.
    pub(crate) fn with_first(self, enough: Option<EnoughForDetection>) -> Self {
        Self { enough, ..self }
    }

    /// True if a block goes on being filled.
    fn goes_on(&mut self, so_far: &[u8]) -> bool {
        so_far.is_empty() || self.reader.more_soon() || self.enough.as_mut().is_some_and(|enough| !enough(so_far))
    }
}

impl<R: PollableRead> BlockSource for ReadSource<R> {
    fn next_block(&mut self) -> Result<Option<FilledBlock>, Error> {
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        if self.turn_bytes >= TURN_BYTES_MAX && self.reader.pauses() {
            (self.paused, self.turn_bytes) = (true, 0);
            return Ok(None);
        }
        let mut lease = self.pool.lease().map_err(|cause| Error::io(&self.name, "no memory for a block", cause))?;
        let (start, mut end) = (self.headroom, self.headroom);
        let held = std::mem::take(&mut self.held);
        lease[start..start + held.len()].copy_from_slice(&held);
        end += held.len();
        self.paused = false;
        while end < start + BLOCK_BYTES && self.goes_on(&lease[start..end]) {
            match self.reader.read(&mut lease[end..start + BLOCK_BYTES]) {
                Ok(0) => {
                    self.paused = !self.reader.ended();
                    break;
                }
                Ok(read) => end += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    // Bytes before the failure are good: hand them over first.
                    self.failed = Some((self.describe)(&self.name, error));
                    break;
                }
            }
        }
        let is_few = end > start && end - start < HELD_FIRST_BYTES_MAX;
        if self.paused && is_few && self.enough.as_mut().is_some_and(|enough| !enough(&lease[start..end])) {
            self.held = lease[start..end].to_vec();
            return Ok(None);
        }
        self.enough = None;
        // A block that was begun leaves, and the pause is told by the next.
        self.paused &= end == start;
        self.offset += (end - start) as u64;
        self.turn_bytes += (end - start) as u64;
        if let Some(control) = &self.count {
            control.stored(end as u64 - start as u64);
        }
        match (end > start, self.failed.take()) {
            (true, failed) => {
                self.failed = failed;
                Ok(Some(FilledBlock { lease, range: start..end }))
            }
            (false, Some(error)) => Err(error),
            (false, None) => Ok(None),
        }
    }

    fn paused(&self) -> bool {
        self.paused
    }
}

/// Reads a source as plain bytes, without copying them.
pub struct BlockReader {
    source: Box<dyn BlockSource>,
    current: Bytes,
    /// Bytes handed out so far.
    taken: Arc<AtomicU64>,
    /// An error of the source, kept whole while it travels through a decoder as an `io::Error`.
    failed: bool,
}

impl BlockReader {
    fn new(source: Box<dyn BlockSource>) -> Self {
        Self { source, current: Bytes::new(), taken: Arc::default(), failed: false }
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
        self.taken.fetch_add(amount as u64, Ordering::Relaxed);
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
pub(crate) struct DecodedSource {
    inner: Option<Box<dyn BlockSource>>,
    decided: Option<Box<dyn BlockSource>>,
    name: String,
    pool: BufferPool,
    headroom: usize,
    window_log_max: u32,
    undo: DecodeDepth,
}

/// Gives back a block that was looked at, and the failure that came after it.
struct PushedBack {
    first: Option<FilledBlock>,
    failed: Option<Error>,
    rest: Box<dyn BlockSource>,
}

impl PushedBack {
    /// Looks at the first block, made long enough to recognise an encoding by: a slow upload may
    /// begin with one byte.
    fn new(mut rest: Box<dyn BlockSource>, name: &str, undo: DecodeDepth) -> Result<Self, Error> {
        let mut first = rest.next_block()?;
        let mut failed = None;
        while let Some(filled) = first.as_mut().filter(|filled| is_short(filled, undo)) {
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

fn is_short(filled: &FilledBlock, undo: DecodeDepth) -> bool {
    filled.range.len() < undo.head_bytes(&filled.lease[filled.range.clone()])
}

fn append(filled: &mut FilledBlock, next: &FilledBlock, name: &str) -> Result<(), Error> {
    let bytes = &next.lease[next.range.clone()];
    let end = filled.range.end + bytes.len();
    let room = filled.lease.get_mut(filled.range.end..end);
    room.ok_or_else(|| Error::new(ErrorClass::Limit, name, "a source left too little room after its block"))?
        .copy_from_slice(bytes);
    filled.range.end = end;
    Ok(())
}

impl BlockSource for PushedBack {
    fn next_block(&mut self) -> Result<Option<FilledBlock>, Error> {
        match (self.first.take(), self.failed.take()) {
            (Some(filled), failed) => {
                self.failed = failed;
                Ok(Some(filled))
            }
            (None, Some(error)) => Err(error),
            (None, None) => self.rest.next_block(),
        }
    }

    fn paused(&self) -> bool {
        self.rest.paused()
    }
}

impl DecodedSource {
    pub(crate) fn new(
        source: Box<dyn BlockSource>,
        name: &str,
        pool: &BufferPool,
        headroom: usize,
        window_log_max: u32,
        undo: DecodeDepth,
    ) -> Self {
        Self { inner: Some(source), decided: None, name: name.into(), pool: pool.clone(), headroom, window_log_max, undo }
    }

    fn decide(&mut self, source: Box<dyn BlockSource>) -> Result<Box<dyn BlockSource>, Error> {
        let undo = self.undo;
        let again = Box::new(PushedBack::new(source, &self.name, undo)?);
        if !undo.decodes(again.head()) {
            return Ok(again);
        }
        let head = again.head()[..again.head().len().min(MAGIC_BYTES)].to_vec();
        let encoding = undo.encoding(&head);
        let input = BlockReader::new(again);
        let taken = Arc::clone(&input.taken);
        let reader = decoder_of(undo, &head, input, self.window_log_max)
            .map_err(|cause| Error::io(&self.name, "cannot start the decoder", cause))?;
        let mut decoded = ReadSource::new(reader, &self.name, &self.pool, self.headroom, None);
        decoded.describe = Box::new(move |name, cause| describe(name, encoding, taken.load(Ordering::Relaxed), cause));
        Ok(Box::new(decoded))
    }
}

impl BlockSource for DecodedSource {
    fn next_block(&mut self) -> Result<Option<FilledBlock>, Error> {
        if let Some(source) = self.inner.take() {
            self.decided = Some(self.decide(source)?);
        }
        match &mut self.decided {
            Some(source) => source.next_block(),
            None => Ok(None),
        }
    }

    fn paused(&self) -> bool {
        self.decided.as_ref().is_some_and(|source| source.paused())
    }
}

/// Position from which a partly run stream resumes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ResumePoint {
    /// The first byte that was not handed over.
    pub offset: u64,
    /// True inside an over-long line whose head was handed over.
    pub skipping: bool,
}

/// Finds where pieces end.
enum Cutter {
    Lines(LineEnds),
    Records(Box<dyn Splitter>),
}

/// Cuts a source into chunks.
pub struct Blocks {
    source: Box<dyn BlockSource>,
    name: String,
    framing: Framing,
    cutter: Cutter,
    offset: u64,
    /// The unfinished line or record at the end of the chunks; at most as long as one may be.
    carry: Bytes,
    /// Inside an over-long line or record whose head was handed over.
    skipping: bool,
    /// The next chunk begins after a hole.
    after_hole: bool,
    ended: bool,
}

impl Blocks {
    /// `splitter` finds the records where the framing is one of records.
    pub(crate) fn new(source: Box<dyn BlockSource>, name: &str, framing: Framing, splitter: Option<Box<dyn Splitter>>) -> Self {
        let cutter = splitter.map_or_else(|| Cutter::Lines(LineEnds::new(framing)), Cutter::Records);
        Self {
            source,
            name: name.into(),
            framing,
            cutter,
            offset: 0,
            carry: Bytes::new(),
            skipping: false,
            after_hole: false,
            ended: false,
        }
    }

    /// The next chunk, or `None` at the end.
    ///
    /// # Errors
    /// When the source fails. All bytes before the failure, an unfinished line included, were
    /// handed over.
    pub(crate) fn next_chunk(&mut self) -> Result<Option<Chunk>, Error> {
        while !self.ended {
            let filled = match self.source.next_block() {
                Ok(Some(filled)) => filled,
                Ok(None) if self.source.paused() => {
                    // No block is held while nothing comes.
                    self.carry = Bytes::copy_from_slice(&self.carry);
                    return Ok(None);
                }
                Ok(None) => {
                    self.ended = true;
                    if let Cutter::Records(splitter) = &mut self.cutter {
                        splitter.finish().map_err(|fault| self.error(fault))?;
                    }
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
                Framing::Lines { .. } | Framing::LogLines { .. } | Framing::NulLines { .. } | Framing::Records { .. } => {
                    self.cut(filled)?
                }
            };
            if chunk.is_some() {
                return Ok(chunk);
            }
        }
        Ok(self.last())
    }

    /// Offset of the next block: bytes taken in, after decoding.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// True if nothing more comes.
    pub(crate) fn ended(&self) -> bool {
        self.ended
    }

    /// Position from which a run resumes after the chunks so far: the start of the unfinished line,
    /// or inside an over-long one. There the NULs at the end come again, as they may end it.
    pub(crate) fn place(&self) -> ResumePoint {
        let again = match &self.cutter {
            Cutter::Lines(ends) if self.skipping => ends.lookback_bytes(),
            _ => self.carry.len(),
        };
        ResumePoint { offset: self.offset - again as u64, skipping: self.skipping }
    }

    /// Resumes at `place`, with a source that begins there.
    pub(crate) fn at(self, place: ResumePoint) -> Self {
        Self { offset: place.offset, skipping: place.skipping, ..self }
    }

    /// Bytes that are held of an unfinished line.
    pub(crate) fn carried(&self) -> usize {
        self.carry.len()
    }

    /// Forgets the unfinished line, for a source that resumes at its start.
    pub(crate) fn rewind(&mut self) {
        if !self.carry.is_empty() {
            self.offset -= self.carry.len() as u64;
            self.carry = Bytes::new();
            self.restart_ends();
        }
    }

    /// Forgets everything, for a source that begins anew.
    pub(crate) fn restart(&mut self) {
        (self.offset, self.carry, self.skipping) = (0, Bytes::new(), false);
        self.restart_ends();
    }

    fn restart_ends(&mut self) {
        if let Cutter::Lines(ends) = &mut self.cutter {
            ends.restart();
        }
    }

    /// The unfinished line at the end, once; also after an error.
    pub(crate) fn last(&mut self) -> Option<Chunk> {
        let rest = std::mem::take(&mut self.carry);
        if rest.is_empty() {
            return None;
        }
        let offset = self.offset - rest.len() as u64;
        let after_hole = self.after_hole;
        Some(Chunk { bytes: rest, unfinished: true, after_hole, ..Chunk::empty(offset, self.framing.piece_bytes_max()) })
    }

    fn whole(&mut self, filled: FilledBlock) -> Chunk {
        let offset = self.offset;
        self.offset += filled.range.len() as u64;
        Chunk::of_bytes(offset, Bytes::from_owner(filled.lease).slice(filled.range))
    }

    /// Whole lines or records of the block with the carried start of the first one before them; the
    /// rest is carried.
    fn cut(&mut self, filled: FilledBlock) -> Result<Option<Chunk>, Error> {
        let piece_bytes_max = self.framing.piece_bytes_max();
        let FilledBlock { mut lease, range: block } = filled;
        let split = match self.ends(&lease[block.clone()]) {
            Ok(split) => split,
            Err(fault) => {
                self.ended = true;
                return Err(self.error(fault));
            }
        };
        // Counted from the end of the block: bytes that the splitter drops are part of the input,
        // too.
        self.offset += block.len() as u64;
        let end_offset = self.offset;
        let mut range = block.start + split.records.start..block.start + split.records.end;
        let in_lease = |index: usize| block.start + index;
        let has_holes = self.framing.has_holes();
        let is_hole_end = |lease: &[u8], end: usize| has_holes && (end == block.start || lease[end - 1] == 0);
        // Either a piece is carried or one is being skipped, never both: the bytes before the
        // pieces are one or the other.
        let before_start = range.start;
        let before_offset = end_offset - (block.end - before_start) as u64;
        if self.skipping {
            match split.first_end.map(in_lease) {
                None => {
                    let before = Bytes::from_owner(lease).slice(range);
                    return Ok(Some(Chunk { before, ..Chunk::empty(before_offset, piece_bytes_max) }));
                }
                Some(end) => range.start = end,
            }
            self.skipping = false;
            self.after_hole = is_hole_end(&lease, range.start);
        }
        // The carried start is copied into the headroom before the block, so that the first line is
        // in one piece without a copy of the whole block.
        let carried = std::mem::take(&mut self.carry);
        let start = range
            .start
            .checked_sub(carried.len())
            .ok_or_else(|| Error::new(ErrorClass::Limit, &self.name, "a source left too little room before its block"))?;
        lease[start..range.start].copy_from_slice(&carried);
        // Gives the block before back: the pool counts it as long as a slice of it is held.
        drop(carried);
        let rest = split.last_end.map_or(start, |index| in_lease(index).max(start));
        let next_after_hole = if rest > start { is_hole_end(&lease, rest) } else { self.after_hole };
        let after_hole = std::mem::replace(&mut self.after_hole, next_after_hole);
        // An unfinished line above the limit fits no headroom: its head leaves with this chunk, and
        // its further bytes leave as `before` of the next ones. So `carry` is never longer than the
        // limit.
        self.skipping = range.end - rest > piece_bytes_max;
        let all = Bytes::from_owner(lease);
        let end = if self.skipping { range.end } else { rest };
        if !self.skipping {
            self.carry = all.slice(rest..range.end);
        }
        let (before, bytes) = (all.slice(before_start..range.start), all.slice(start..end));
        let offset = end_offset - (block.end - start) as u64;
        let chunk = Chunk {
            offset,
            bytes,
            zeros: 0,
            before,
            before_offset,
            number: 0,
            line_bytes_max: piece_bytes_max,
            long_start: self.skipping.then(|| rest - start),
            unfinished: false,
            has_holes,
            after_hole,
        };
        Ok((!chunk.bytes.is_empty() || !chunk.before.is_empty()).then_some(chunk))
    }

    fn ends(&mut self, block: &[u8]) -> Result<RecordEnds, SplitError> {
        match &mut self.cutter {
            Cutter::Lines(ends) => Ok(ends.split(block)),
            Cutter::Records(splitter) => splitter.split(block)?.checked(block.len(), self.offset),
        }
    }

    fn error(&self, fault: SplitError) -> Error {
        let kind = if fault.truncated { ErrorClass::Truncated } else { ErrorClass::Corrupt };
        Error::new(kind, &self.name, fault.message).at(fault.offset)
    }
}

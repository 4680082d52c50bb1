//! Inputs through stages: the work of every verb that reads rows.

use crate::decode::{Decode, DecodedRecords};
use crate::json::{DocumentCount, FirstDocument};
use crate::record_format::RecordFormat;
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{BufferPool, Chunk, Control, Error, ErrorClass, Finish, Framing, Input, RunPlan, Stage, run, run_records};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Settings for reading inputs.
#[derive(Debug, Clone)]
pub struct ScanSettings {
    /// Source of blocks: [`rorqual_pipe::limits::buffer_bytes`] of the longest record each.
    pub pool: BufferPool,
    /// Stop and counts of a run.
    pub control: Control,
    /// Longest record, in bytes.
    pub record_bytes_max: usize,
    /// The largest zstd window that an input may ask for, as a power of two.
    pub zstd_window_log_max: u32,
}

/// The start of an input, after decoding.
#[derive(Debug, Clone, Default)]
pub struct ScanHead {
    /// Its first bytes.
    pub bytes: Vec<u8>,
    /// This is all there is.
    pub whole: bool,
    /// Documents of JSON, where the first does not end within these bytes.
    pub documents: DocumentCount,
}

/// NULs at the start of an input that are a hole: longer than what formats of binary data begin
/// with.
const HOLE_BYTES_MIN: usize = 64 << 10;

/// Longest hole at the start of a file that is looked through for what comes after it.
const HOLE_BYTES_MAX: u64 = 64 << 20;

/// Ends a run that has seen enough.
pub(crate) fn enough() -> Error {
    Error::new(ErrorClass::Stopped, "", "enough was seen")
}

impl ScanSettings {
    /// Runs an input's records through stages, which come back with all that they gathered. All
    /// records before an error were handed to them.
    pub fn run<S: Stage>(
        &self,
        input: Input,
        format: &RecordFormat,
        stages: Vec<S>,
        sink: impl FnMut(S::Output) -> Result<(), Error> + Send,
    ) -> Finish<S> {
        let plan = self.plan(format.framing(self.record_bytes_max));
        let start = |_: &[u8]| Some(stages);
        let name = input.name().to_owned();
        let finish = match format.splitter() {
            None => run(input, &plan, &self.pool, &self.control, start, sink),
            Some(splitter) => run_records(input, splitter, &plan, &self.pool, &self.control, start, sink),
        };
        Finish { error: finish.error.map(|error| error.of_input(&name)), ..finish }
    }

    /// Decodes an input's records, on one thread a decoder, and hands what they give to `take`, in
    /// order, with the chunk. The rest of a chunk that is too much to be decoded at once is decoded
    /// by `own` in its turn. The error is the one that ended it early.
    pub fn decode(
        &self,
        input: Input,
        format: &RecordFormat,
        decoders: Vec<Box<dyn Decode>>,
        mut own: Box<dyn Decode>,
        mut take: impl FnMut(DecodedRecords, &Chunk) -> Result<(), Error> + Send,
    ) -> Option<Error> {
        let stages = decoders.into_iter().map(DecodeStage).collect();
        let finish = self.run(input, format, stages, |(mut decoded, mut chunk): (DecodedRecords, Chunk)| {
            while let Some(rest) = decoded.rest {
                take(decoded, &chunk)?;
                chunk = chunk.from(rest);
                decoded = own.decode(&chunk)?;
            }
            take(decoded, &chunk)
        });
        finish.error
    }

    /// The first block of an input. Of a stream up to `ahead_bytes` stored bytes are read ahead,
    /// and read again by the run.
    ///
    /// # Errors
    /// When it can't be read or decoded.
    pub fn head(&self, input: &mut Input, ahead_bytes: usize) -> Result<ScanHead, Error> {
        if let Some(file) = input.file_again()? {
            return self.head_of_file(&file).map_err(|cause| Error::io(input.name(), "cannot read", cause));
        }
        let (mut bytes, mut first) = (Vec::new(), None);
        let keep = |block: Chunk| {
            if bytes.len() < BLOCK_BYTES {
                bytes.extend_from_slice(&block.bytes);
                bytes.drain(..hole_bytes(&bytes).saturating_sub(1));
                if bytes.len() < BLOCK_BYTES {
                    return Ok(());
                }
                first = FirstDocument::unfinished(&bytes, self.record_bytes_max);
            } else if let Some(first) = &mut first {
                first.push(&block.bytes);
            }
            if first.as_ref().is_some_and(FirstDocument::goes_on) { Ok(()) } else { Err(enough()) }
        };
        let (ahead, whole) = self.ahead(input, ahead_bytes)?;
        let finish = run(ahead, &self.plan(Framing::Bytes), &self.pool, &Control::default(), |_| Some(vec![BlockScan]), keep);
        let is_full = bytes.len() >= BLOCK_BYTES;
        match finish.error {
            Some(error) if whole && !is_full && error.kind() != ErrorClass::Stopped => Err(error),
            error => {
                let at_end = whole && error.is_none();
                let documents = first.map_or(DocumentCount::Unknown, |first| first.documents(at_end));
                Ok(ScanHead { bytes, whole: at_end && !is_full, documents })
            }
        }
    }

    /// The first block of a file, and whether its first document is alone where it is longer.
    fn head_of_file(&self, file: &File) -> io::Result<ScanHead> {
        let (head, mut next) = first_block(file)?;
        let first = FirstDocument::unfinished(&head.bytes, self.record_bytes_max).filter(|_| !head.whole);
        let Some(mut first) = first else { return Ok(head) };
        let mut block = vec![0; BLOCK_BYTES];
        let mut read = block.len();
        while first.goes_on() && read > 0 {
            read = file.read_at(&mut block, next)?;
            first.push(&block[..read]);
            next += read as u64;
        }
        Ok(ScanHead { documents: first.documents(read == 0), ..head })
    }

    /// The bytes of a stream that were read ahead, as an input of its own, and whether they are all
    /// there is.
    ///
    /// # Errors
    /// When it can't be read.
    pub(crate) fn ahead(&self, input: &mut Input, ahead_bytes: usize) -> Result<(Input, bool), Error> {
        let bytes = input.read_ahead(ahead_bytes, &self.control)?.to_vec();
        let whole = bytes.len() < ahead_bytes;
        Ok((input.copy_of(bytes), whole))
    }

    fn plan(&self, framing: Framing) -> RunPlan {
        RunPlan { framing, zstd_window_log_max: self.zstd_window_log_max }
    }
}

/// The first block of a file, or of what follows the hole that it begins with: a log that was cut
/// while its writer had it open. With the offset after it.
fn first_block(file: &File) -> io::Result<(ScanHead, u64)> {
    let mut start = 0;
    loop {
        let mut bytes = vec![0; BLOCK_BYTES];
        let read = file.read_at(&mut bytes, start)?;
        bytes.truncate(read);
        let hole = hole_bytes(&bytes);
        if hole == 0 || hole == read && read < BLOCK_BYTES || start >= HOLE_BYTES_MAX {
            let head = ScanHead { whole: read < BLOCK_BYTES, bytes, ..ScanHead::default() };
            return Ok((head, start + read as u64));
        }
        start += hole as u64 - 1;
    }
}

/// Length of the hole that some bytes begin with, if they do. Its last NUL is left to them, so that
/// they are told from a text.
fn hole_bytes(bytes: &[u8]) -> usize {
    let nuls = bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len());
    if nuls < HOLE_BYTES_MIN { 0 } else { nuls }
}

/// Decodes, as far as that can be done at once.
struct DecodeStage(Box<dyn Decode>);

impl Stage for DecodeStage {
    type Output = (DecodedRecords, Chunk);

    fn chunk(&mut self, chunk: &Chunk) -> Result<Self::Output, Error> {
        Ok((self.0.decode(chunk)?, chunk.clone()))
    }
}

/// Hands blocks on as they are.
struct BlockScan;

impl Stage for BlockScan {
    type Output = Chunk;

    fn chunk(&mut self, chunk: &Chunk) -> Result<Chunk, Error> {
        Ok(chunk.clone())
    }
}

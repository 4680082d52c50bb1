//! Inputs through stages: what every verb that reads rows does.

use crate::format::RecordFormat;
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{BufferPool, Chunk, Control, Error, ErrorClass, Framing, Input, RunPlan, Stage, run, run_records};
use std::os::unix::fs::FileExt;

/// With what inputs are read.
#[derive(Debug, Clone)]
pub struct ScanSettings {
    /// Where blocks come from: [`rorqual_pipe::limits::buffer_bytes`] of the longest record each.
    pub pool: BufferPool,
    /// How a run is stopped and counted.
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
}

/// Ends a run that has seen enough.
pub(crate) fn enough() -> Error {
    Error::new(ErrorClass::Stopped, "", "enough was seen")
}

impl ScanSettings {
    /// Runs an input's records through stages. An error is what ended it early; what came before
    /// was handed to them.
    pub fn run<S: Stage>(
        &self,
        input: Input,
        format: &RecordFormat,
        stages: Vec<S>,
        sink: impl FnMut(S::Output) -> Result<(), Error> + Send,
    ) -> Option<Error> {
        let plan = self.plan(format.framing(self.record_bytes_max));
        let start = |_: &[u8]| Some(stages);
        let name = input.name().to_owned();
        let finish = match format.splitter() {
            None => run(input, &plan, &self.pool, &self.control, start, sink),
            Some(splitter) => run_records(input, splitter, &plan, &self.pool, &self.control, start, sink),
        };
        finish.error.map(|error| error.of_input(&name))
    }

    /// The first block of an input. Of a stream up to `ahead_bytes` of what is stored are read
    /// ahead, and read again by the run.
    ///
    /// # Errors
    /// When it can't be read or decoded.
    pub fn head(&self, input: &mut Input, ahead_bytes: usize) -> Result<ScanHead, Error> {
        if let Some(file) = input.file_again()? {
            let mut bytes = vec![0; BLOCK_BYTES];
            let read = file.read_at(&mut bytes, 0).map_err(|cause| Error::io(input.name(), "cannot read", cause))?;
            bytes.truncate(read);
            return Ok(ScanHead { whole: read < BLOCK_BYTES, bytes });
        }
        let mut bytes = Vec::new();
        let keep = |block: Chunk| {
            bytes.extend_from_slice(&block.bytes);
            if bytes.len() < BLOCK_BYTES { Ok(()) } else { Err(enough()) }
        };
        let (ahead, whole) = self.ahead(input, ahead_bytes)?;
        let finish = run(ahead, &self.plan(Framing::Bytes), &self.pool, &Control::default(), |_| Some(vec![BlockScan]), keep);
        match finish.error {
            Some(error) if whole && error.kind() != ErrorClass::Stopped => Err(error),
            error => Ok(ScanHead { bytes, whole: whole && error.is_none() }),
        }
    }

    /// What of a stream was read ahead as an input of its own, and whether it is all there is.
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

/// Hands blocks on as they are.
struct BlockScan;

impl Stage for BlockScan {
    type Output = Chunk;

    fn chunk(&mut self, chunk: &Chunk) -> Result<Chunk, Error> {
        Ok(chunk.clone())
    }
}

//! A stretch of a plain file, read by the thread that works on it.

use super::context::external;
use super::opener::RecordOpener;
use super::skip::Skip;
use crate::limits::BATCH_BYTES_MAX;
use bytes::Bytes;
use datafusion::arrow::compute::concat_batches;
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::common::{Result, exec_datafusion_err};
use futures::stream::{BoxStream, StreamExt, try_unfold};
use rorqual_columnar::{Decode, DecodedRecords};
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{Chunk, Error, FileRanges, HeldFile, Lease};
use std::path::Path;

/// The rows of the lines that start in `range`.
pub(super) fn read(
    opener: &RecordOpener,
    path: &Path,
    (file, held): (FileRanges, Option<HeldFile>),
    (start, end): (u64, u64),
) -> BoxStream<'static, Result<RecordBatch>> {
    let reader = RangeReader {
        name: path.display().to_string(),
        opener: opener.clone(),
        decoder: opener.decoder(),
        skip: opener.skip(),
        file,
        held,
        next: start,
        end,
        rest: None,
        failed: None,
    };
    try_unfold(reader, |mut reader| async move { Ok(reader.batch().await?.map(|batch| (batch, reader))) }).boxed()
}

struct RangeReader {
    name: String,
    opener: RecordOpener,
    decoder: Box<dyn Decode>,
    skip: Option<Skip>,
    file: FileRanges,
    /// The same, if it has to stay as it is.
    held: Option<HeldFile>,
    next: u64,
    end: u64,
    /// The rest of a block that was too much to be decoded at once, in memory of its own: nobody
    /// holds a block while others work.
    rest: Option<Chunk>,
    /// Error to tell once the rows before it were handed on.
    failed: Option<Error>,
}

impl RangeReader {
    /// Rows of as many blocks as a batch has room for.
    async fn batch(&mut self) -> Result<Option<RecordBatch>> {
        let batch = self.read_batch().await;
        // Of a file that changed, any error may be one of the mixture.
        self.held.as_ref().map_or(Ok(()), HeldFile::check).map_err(external)?;
        batch
    }

    async fn read_batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut parts = Vec::new();
        let (mut rows, mut bytes) = (0, 0);
        while self.has_more() && rows < self.opener.batch_rows && bytes < BATCH_BYTES_MAX {
            let decoded = match self.rest.take() {
                Some(rest) => self.decode(&rest)?,
                None => {
                    // Held until the block is decoded, and never while anything is waited for.
                    let lease = self.opener.context.blocks.lease_async().await;
                    self.block(lease.map_err(|cause| external(Error::io(&self.name, "no memory for a block", cause)))?)?
                }
            };
            for part in decoded.batches {
                rows += part.num_rows();
                bytes += part.get_array_memory_size();
                parts.push(part);
            }
        }
        match (parts.len(), self.failed.take()) {
            (0, Some(error)) => Err(external(error)),
            (0, None) => Ok(None),
            (count, failed) => {
                self.failed = failed;
                let whole = if count == 1 { parts.pop() } else { None };
                whole.map_or_else(|| Ok(concat_batches(&self.opener.schema, &parts)?), Ok).map(Some)
            }
        }
    }

    fn has_more(&self) -> bool {
        self.rest.is_some() || (self.failed.is_none() && self.next < self.end)
    }

    fn block(&mut self, lease: Lease) -> Result<DecodedRecords> {
        let length = (self.end - self.next).min(BLOCK_BYTES as u64) as usize;
        let (chunk, failed) = self.file.chunk(self.next, length, lease);
        self.next += length as u64;
        self.failed = failed;
        if let Some(skip) = &mut self.skip
            && skip.skips(&chunk).map_err(|error| external(error.of_input(&self.name)))?
        {
            self.opener.counts.chunks_skipped.add(1);
            return Ok(DecodedRecords::default());
        }
        self.decode(&chunk)
    }

    fn decode(&mut self, chunk: &Chunk) -> Result<DecodedRecords> {
        let decoded = self.decoder.decode(chunk).map_err(|error| external(error.of_input(&self.name)))?;
        self.opener.count(&self.name, chunk, &decoded).map_err(external)?;
        fits(&self.name, &decoded)?;
        self.rest = decoded.rest.map(|rest| {
            let mut rest = chunk.from(rest);
            rest.bytes = Bytes::copy_from_slice(&rest.bytes);
            rest
        });
        Ok(decoded)
    }
}

/// A value that the columns have no place for ends the query: a wrong answer would be worse.
pub(super) fn fits(name: &str, decoded: &DecodedRecords) -> Result<()> {
    match decoded.misfit {
        None => Ok(()),
        Some(_) => Err(exec_datafusion_err!(
            "{name}: a value has another type than the column that was found in the first records; \
             give --infer-all, which looks at all records of files first"
        )),
    }
}

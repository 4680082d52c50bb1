//! Chunks of records of which a filter leaves nothing.
//!
//! # Why?
//! Records are often written in the order of time, so that a span of it lies in a few chunks. The
//! columns that a filter needs are decoded first, and the others only where it leaves a row. Where
//! that saves nothing, it is soon given up.

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::physical_expr::PhysicalExpr;
use rorqual_columnar::Decode;
use rorqual_pipe::{Chunk, Error};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Chunks that are looked at before it is judged whether that saves anything.
const CHUNKS_TRIED: u64 = 16;

/// At least one of so many chunks has to be skipped, or no more are looked at.
const CHUNKS_FOR_ONE: u64 = 4;

/// Results of looking at chunks so far, in all ranges of a scan.
#[derive(Debug, Default)]
pub(crate) struct SkipStats {
    chunks: AtomicU64,
    skipped: AtomicU64,
}

impl SkipStats {
    /// True if it is worth going on.
    fn pays(&self) -> bool {
        let chunks = self.chunks.load(Ordering::Relaxed);
        chunks < CHUNKS_TRIED || self.skipped.load(Ordering::Relaxed) * CHUNKS_FOR_ONE >= chunks
    }
}

/// Tells the rows that a filter leaves.
pub(super) struct Skip {
    /// To the columns that the filter needs.
    decoder: Box<dyn Decode>,
    filter: Arc<dyn PhysicalExpr>,
    tried: Arc<SkipStats>,
}

impl Skip {
    /// A filter on the columns that `decoder` gives.
    pub(super) fn new(decoder: Box<dyn Decode>, filter: Arc<dyn PhysicalExpr>, tried: Arc<SkipStats>) -> Self {
        Self { decoder, filter, tried }
    }

    /// True if the filter leaves nothing of a chunk.
    ///
    /// # Errors
    /// As [`Decode::decode`].
    pub(super) fn skips(&mut self, chunk: &Chunk) -> Result<bool, Error> {
        if !self.tried.pays() {
            return Ok(false);
        }
        let decoded = self.decoder.decode(chunk)?;
        // An odd chunk is left to the decoder of all of it.
        let odd = decoded.rest.is_some() || decoded.misfit.is_some() || !decoded.bad.is_empty() || chunk.long_start().is_some();
        self.tried.chunks.fetch_add(1, Ordering::Relaxed);
        if odd || decoded.batches.iter().any(|batch| self.leaves(batch)) {
            return Ok(false);
        }
        self.tried.skipped.fetch_add(1, Ordering::Relaxed);
        Ok(true)
    }

    /// True if the filter leaves a row. One that fails here fails where the engine can tell it.
    fn leaves(&self, batch: &RecordBatch) -> bool {
        let kept = self.filter.evaluate(batch).and_then(|value| value.into_array(batch.num_rows()));
        kept.map_or(true, |kept| kept.as_boolean_opt().is_none_or(|kept| kept.true_count() > 0))
    }
}

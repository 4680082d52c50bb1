//! What columns records have, by the first of them or by all.

use crate::budget::Shares;
use crate::scan::external;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{Result, plan_err};
use rorqual_pipe::limits::{buffer_bytes, buffers_needed};
use rorqual_pipe::{Chunk, Control, Error, Input, Kind, Plan, Pool, Stage, run, run_records};
use rorqual_rows::{Format, Infer, Inferred, Shape};

/// The columns that the records in the first `bytes_max` bytes of an input have, and one for what has none, where there is `more` that was
/// not looked at.
///
/// # Errors
/// When no record can be read.
pub(super) fn schema(format: &Format, input: Input, shares: &Shares, bytes_max: u64, more: bool) -> Result<SchemaRef> {
    let name = input.name().to_owned();
    let framing = format.framing(shares.record_bytes_max);
    let plan = Plan { framing, zstd_window_log_max: shares.zstd_window_log_max };
    let pool = Pool::new(buffer_bytes(shares.record_bytes_max), buffers_needed(shares.threads));
    let control = Control::default();
    let stages = (0..shares.threads).filter_map(|_| format.infer().map(Inferring)).collect();
    let mut shape = None::<Shape>;
    let sink = |(inferred, end): (Inferred, u64)| {
        match &mut shape {
            Some(shape) => shape.merge(inferred.shape),
            None => shape = Some(inferred.shape),
        }
        if end >= bytes_max { Err(Error::new(Kind::Stopped, &name, "enough was seen")) } else { Ok(()) }
    };
    let start = |_: &[u8]| Some(stages);
    let finish = match format.splitter() {
        None => run(input, &plan, &pool, &control, start, sink),
        Some(splitter) => run_records(input, splitter, &plan, &pool, &control, start, sink),
    };
    match (shape, finish.error) {
        (Some(shape), error) => Ok(shape.to_schema(error.is_some() || more)),
        (None, Some(error)) => Err(external(error)),
        (None, None) => plan_err!("{name}: there is no record in it to tell its columns by"),
    }
}

struct Inferring(Box<dyn Infer>);

impl Stage for Inferring {
    type Output = (Inferred, u64);

    fn chunk(&mut self, chunk: &Chunk) -> Result<Self::Output, Error> {
        Ok((self.0.infer(chunk)?, chunk.offset + chunk.bytes.len() as u64))
    }
}

//! Checksums.

use crate::failure::OperationFailure;
use crate::resources::Resources;
use crate::running::Running;
use crate::source::DataSource;
use rorqual_digest::{Algorithm, Digest};
use rorqual_pipe::limits::{BLOCK_BYTES, buffers_needed};
use rorqual_pipe::{BufferPool, Control};

/// The digest of a source's bytes as they are stored.
///
/// # Errors
/// When the memory is too little.
pub fn digest(source: DataSource, algorithm: Algorithm, resources: Resources) -> Result<Running<Digest>, OperationFailure> {
    let threads = resources.fitting(|budget, threads| {
        let buffers = buffers_needed(threads);
        budget.reserve(format!("{buffers} blocks"), (buffers * BLOCK_BYTES) as u64);
    })?;
    let control = Control::default();
    let stop = control.clone();
    Ok(Running::one(&control, move || {
        let pool = BufferPool::new(BLOCK_BYTES, buffers_needed(threads));
        Ok(rorqual_digest::digest(source.open_stored()?, algorithm, &pool, &stop, threads)?)
    }))
}

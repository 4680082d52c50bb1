//! Work beside the transfers, on blocking threads: the digest and the keeper.

use crate::error::FetchError;
use crate::limits::{BLOCK_BYTES, SYNC_BYTES, SYNC_EVERY};
use crate::part::Ledger;
use crate::range_board::{PrefixAnswer, RangeBoard};
use rorqual_digest::Hasher;
use rorqual_pipe::BufferPool;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Follows the first gap and digests all bytes before it, read back from the page cache; `None`
/// when the transfer ended early.
///
/// So one way serves every order in which pieces come, a resumed part is digested from its start,
/// and the bytes that are verified are those of the file.
pub(crate) fn digest(
    board: &RangeBoard,
    file: &File,
    mut hashers: Vec<Hasher>,
    pool: &BufferPool,
) -> Result<Option<Vec<Hasher>>, FetchError> {
    let failed = |cause: io::Error| FetchError::local("cannot read the part back", &cause);
    let mut buffer = pool.lease().map_err(failed)?;
    let mut at = 0;
    loop {
        let (prefix, whole) = match board.wait_prefix(at + BLOCK_BYTES as u64) {
            PrefixAnswer::Grown(prefix) => (prefix, false),
            PrefixAnswer::Whole(prefix) => (prefix, true),
            PrefixAnswer::Ended => return Ok(None),
        };
        let length = (prefix - at).min(BLOCK_BYTES as u64) as usize;
        file.read_exact_at(&mut buffer[..length], at).map_err(failed)?;
        hashers.iter_mut().for_each(|hasher| hasher.update(&buffer[..length]));
        at += length as u64;
        if whole && at == prefix {
            return Ok(Some(hashers));
        }
    }
}

/// Flushes the part and then records its ranges in the sidecar, again and again until the end of
/// the transfer. That also starts the disk early, so that the last flush has little left to do.
pub(crate) fn keep(board: &RangeBoard, ledger: &Ledger) -> Result<(), FetchError> {
    while let Some(done) = board.wait_unkept(SYNC_BYTES, SYNC_EVERY) {
        ledger.keep(&done)?;
    }
    Ok(())
}

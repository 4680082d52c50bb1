//! The bytes of a hole in a sparse file, without reading or making them.

use rorqual_pipe::limits::BLOCK_BYTES;
use std::sync::LazyLock;

/// Never written, so that it is the system's one page of zeros many times over.
static ZEROS: LazyLock<Box<[u8]>> = LazyLock::new(|| vec![0; BLOCK_BYTES].into());

/// `length` zeros in pieces.
pub(crate) fn zeros(length: u64) -> impl Iterator<Item = &'static [u8]> {
    let whole = length / BLOCK_BYTES as u64;
    let rest = &ZEROS[..(length % BLOCK_BYTES as u64) as usize];
    (0..whole).map(|_| &ZEROS[..]).chain((!rest.is_empty()).then_some(rest))
}

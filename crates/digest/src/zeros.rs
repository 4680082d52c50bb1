//! The bytes of a hole in a sparse file, without reading or making them.

/// Bytes of a piece: few, as they are a part of the program's file.
const PIECE_BYTES: usize = 1 << 14;

static ZEROS: [u8; PIECE_BYTES] = [0; PIECE_BYTES];

/// `length` zeros in pieces.
pub(crate) fn zeros(length: u64) -> impl Iterator<Item = &'static [u8]> {
    let whole = length / PIECE_BYTES as u64;
    let rest = &ZEROS[..(length % PIECE_BYTES as u64) as usize];
    (0..whole).map(|_| &ZEROS[..]).chain((!rest.is_empty()).then_some(rest))
}

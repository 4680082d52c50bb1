//! Bytes of a store's file: numbers, and stretches that are packed.

use lz4_flex::block::{compress, decompress};
use std::io;

pub(crate) fn damaged() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the file of rows is damaged")
}

/// A number as bytes.
pub(crate) trait NumberBytes: Sized {
    /// Takes it from the front of `bytes`; `None` where these are too few.
    fn take(bytes: &mut &[u8]) -> Option<Self>;
}

macro_rules! field {
    ($($type:ty),*) => {
        $(impl NumberBytes for $type {
            fn take(bytes: &mut &[u8]) -> Option<Self> {
                let (own, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(Self::from_le_bytes(*own))
            }
        })*
    };
}

field!(u8, u16, u32, u64);

/// `bytes` as they are stored: after their number, packed where that is a gain.
pub(crate) fn pack(bytes: &[u8], out: &mut Vec<u8>) {
    let packed = compress(bytes);
    out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
    out.extend_from_slice(if packed.len() < bytes.len() { &packed } else { bytes });
}

/// The inverse of [`pack`], of at most `bytes_max`.
pub(crate) fn unpacked(mut stored: &[u8], bytes_max: usize) -> io::Result<Vec<u8>> {
    let length = u32::take(&mut stored).ok_or_else(damaged)? as usize;
    if length == stored.len() {
        return Ok(stored.to_vec());
    }
    // No packed byte stands for more than 255.
    if length > bytes_max || length / 255 > stored.len() {
        return Err(damaged());
    }
    let bytes = decompress(stored, length).map_err(|_| damaged())?;
    if bytes.len() == length { Ok(bytes) } else { Err(damaged()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_back() {
        for bytes in [vec![], vec![1], vec![7; 100_000], (0..=255).collect()] {
            let mut stored = Vec::new();
            pack(&bytes, &mut stored);
            assert_eq!(unpacked(&stored, bytes.len()).expect("it is whole"), bytes);
        }
        // A length that nothing can have.
        assert!(unpacked(&[255, 255, 255, 255, 0], usize::MAX).is_err());
        assert!(unpacked(&[200, 0, 0, 0, 0x1f, 7, 1, 0, 255], 100).is_err());
        assert!(unpacked(&[1, 0], 100).is_err());
    }
}

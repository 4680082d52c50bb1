//! Compressed input, recognised by its first bytes and decoded as it passes.

use crate::limits::ZSTD_WINDOW_SHARE;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, Read};

/// How many first bytes tell an encoding.
pub(crate) const MAGIC_BYTES: usize = 4;

/// How a stream is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// As it is.
    Plain,
    /// RFC 1952, one member or several.
    Gzip,
    /// RFC 8878, frames and skippable frames.
    Zstd,
}

impl Encoding {
    /// Recognises an encoding by the first bytes of a stream; anything unknown is plain.
    #[must_use]
    pub fn detect(head: &[u8]) -> Self {
        match head {
            // 8 is deflate, the only method RFC 1952 defines.
            [0x1f, 0x8b, 8, ..] => Self::Gzip,
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd,
            // A skippable frame, which a zstd file may start with.
            [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// Its name in messages: `gzip`, `zstd`, `plain`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// The largest zstd window, as a power of two, that a budget of `memory_bytes` lets a stream ask for:
/// a 32nd of it, between 2^20 and 2^31.
#[must_use]
pub fn zstd_window_log_max(memory_bytes: u64) -> u32 {
    (memory_bytes / ZSTD_WINDOW_SHARE).max(1).ilog2().clamp(20, 31)
}

/// Memory that a decoder may need beside its input buffer, in bytes.
#[must_use]
pub fn decoder_bytes(memory_bytes: u64) -> u64 {
    (1 << zstd_window_log_max(memory_bytes)) + crate::limits::DECODER_BYTES
}

/// A decoder of `encoding` over `input`; concatenated members and frames are one stream.
pub(crate) fn decoder<'a>(
    encoding: Encoding,
    input: impl BufRead + Send + 'a,
    window_log_max: u32,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    Ok(match encoding {
        Encoding::Plain => Box::new(input),
        Encoding::Gzip => Box::new(MultiGzDecoder::new(input)),
        Encoding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
            decoder.window_log_max(window_log_max)?;
            Box::new(decoder)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_a_share_of_the_budget() {
        assert_eq!(zstd_window_log_max(256 << 20), 23);
        assert_eq!(zstd_window_log_max(0), 20);
        assert_eq!(zstd_window_log_max(u64::MAX), 31);
    }

    #[test]
    fn short_heads_are_plain() {
        for length in 0..3 {
            assert_eq!(Encoding::detect(&[0x1f, 0x8b, 8][..length]), Encoding::Plain);
        }
        assert_eq!(Encoding::detect(&[0x1f, 0x8b, 8]), Encoding::Gzip);
    }
}

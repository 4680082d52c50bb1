//! Compressed input, recognised by its first bytes and decoded as it passes.

mod fault;
mod lz4;
mod members;
mod utf16;

use crate::limits::{BZIP2_BYTES, DECODER_BYTES, ZSTD_WINDOW_SHARE};
use bzip2::bufread::BzDecoder;
pub(crate) use fault::describe;
use flate2::bufread::GzDecoder;
use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use lz4::Lz4Decoder;
use members::Members;
use std::io::{self, BufRead, Read};
pub use utf16::Charset;
use utf16::Utf8Reader;

/// Number of first bytes that tell an encoding.
pub const MAGIC_BYTES: usize = 13;

/// Encoding of a stored stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// None.
    Plain,
    /// RFC 1952, one member or several, and zeros after them.
    Gzip,
    /// RFC 8878, frames and skippable frames.
    Zstd,
    /// One stream or several.
    Bzip2,
    /// One stream or several, and their padding.
    Xz,
    /// The predecessor of xz; its header has no magic number, but is unlikely enough.
    Lzma,
    /// Frames and skippable frames; the first of them is no skippable one.
    Lz4,
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
            // The size of the blocks, then the first of them, or the end of an empty stream: a text
            // may begin with `BZh`.
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, ..] => Self::Bzip2,
            [b'B', b'Z', b'h', b'1'..=b'9', 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, ..] => Self::Bzip2,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            [0x5d, 0, 0, dictionary @ .., _, _, _, _, _, _, _, _] if is_lzma(dictionary, head) => Self::Lzma,
            [0x5d, 0, 0, ..] if head.len() > MAGIC_BYTES => Self::detect(&head[..MAGIC_BYTES]),
            [0x04, 0x22, 0x4d, 0x18, ..] => Self::Lz4,
            _ => Self::Plain,
        }
    }

    /// Number of first bytes that are needed of a stream that begins like this.
    pub(crate) fn head_bytes(head: &[u8]) -> usize {
        match head {
            [b'B', b'Z', b'h', ..] | [0xfd, b'7', b'z', b'X', ..] => 10,
            [0x5d, 0, 0, ..] => MAGIC_BYTES,
            _ => 4,
        }
    }

    /// Its name in messages: `gzip`, `zstd`, `plain`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
            Self::Xz => "xz",
            Self::Lzma => "lzma",
            Self::Lz4 => "lz4",
        }
    }
}

/// True if the 13 bytes of `head` could be from an encoder of LZMA: `dictionary` (its size after
/// two zeros) is a power of two or one and a half, and the size that follows is unknown or below
/// 256 GiB, as liblzma asks of it as well.
fn is_lzma(dictionary: &[u8], head: &[u8]) -> bool {
    let ([low, high], [.., a, b, c, d, e, f, g, h]) = (dictionary, head) else { return false };
    let dictionary = u32::from_le_bytes([0, 0, *low, *high]);
    let sound = dictionary.is_power_of_two() || (dictionary / 3 * 3 == dictionary && (dictionary / 3).is_power_of_two());
    let size = u64::from_le_bytes([*a, *b, *c, *d, *e, *f, *g, *h]);
    sound && (size == u64::MAX || size < 1 << 38)
}

/// The largest zstd window, as a power of two, that a budget of `memory_bytes` lets a stream ask
/// for: a 32nd of it, between 2^20 and 2^31.
#[must_use]
pub fn zstd_window_log_max(memory_bytes: u64) -> u32 {
    (memory_bytes / ZSTD_WINDOW_SHARE).max(1).ilog2().clamp(20, 31)
}

/// Memory that a decoder may need beside its input buffer, in bytes.
#[must_use]
pub fn decoder_bytes(memory_bytes: u64) -> u64 {
    state_bytes_max(zstd_window_log_max(memory_bytes))
}

/// Most memory of a decoder, whatever the encoding, where zstd may have such a window.
fn state_bytes_max(window_log_max: u32) -> u64 {
    ((1 << window_log_max) + DECODER_BYTES).max(BZIP2_BYTES)
}

/// Depth of decoding: the encodings of the first bytes that are undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DecodeDepth {
    /// Compressed data is decompressed.
    pub(crate) compression: bool,
    /// UTF-16, compressed or not, is made UTF-8.
    pub(crate) charset: bool,
}

impl DecodeDepth {
    /// True if a stream that begins so is decoded.
    pub(crate) fn decodes(self, head: &[u8]) -> bool {
        self.encoding(head) != Encoding::Plain || (self.charset && Charset::detect(head) != Charset::Utf8)
    }

    pub(crate) fn encoding(self, head: &[u8]) -> Encoding {
        if self.compression { Encoding::detect(head) } else { Encoding::Plain }
    }

    /// Number of first bytes that are needed of a stream that begins like this.
    pub(crate) fn head_bytes(self, head: &[u8]) -> usize {
        let charset = if self.charset { Charset::head_bytes(head) } else { 0 };
        Encoding::head_bytes(head).max(charset)
    }
}

/// A decoder over `input`, which begins with `head`: of its compression, and of UTF-16 in it.
pub(crate) fn decoder_of<'a>(
    undo: DecodeDepth,
    head: &[u8],
    input: impl BufRead + Send + 'a,
    window_log_max: u32,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    let reader = decoder(undo.encoding(head), input, window_log_max)?;
    Ok(if undo.charset { Box::new(Utf8Reader::new(reader)) } else { reader })
}

/// True if a stream of text that begins so is compressed or UTF-16, and so decoded.
#[must_use]
pub fn is_encoded(head: &[u8]) -> bool {
    DecodeDepth { compression: true, charset: true }.decodes(head)
}

/// A decoder of `encoding` over `input`; concatenated members and frames are one stream.
pub(crate) fn decoder<'a>(
    encoding: Encoding,
    input: impl BufRead + Send + 'a,
    window_log_max: u32,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    let memory_bytes_max = state_bytes_max(window_log_max);
    Ok(match encoding {
        Encoding::Plain => Box::new(input),
        Encoding::Gzip => Box::new(Members::<_, GzDecoder<_>>::new(input)),
        Encoding::Bzip2 => Box::new(Members::<_, BzDecoder<_>>::new(input)),
        Encoding::Zstd => {
            let mut decoder = zstd::stream::read::Decoder::with_buffer(input)?;
            decoder.window_log_max(window_log_max)?;
            Box::new(decoder)
        }
        Encoding::Xz => Box::new(XzDecoder::new_stream(input, Stream::new_stream_decoder(memory_bytes_max, CONCATENATED)?)),
        // Through the general decoder: it alone sees to it that nothing follows.
        Encoding::Lzma => Box::new(XzDecoder::new_stream(input, Stream::new_auto_decoder(memory_bytes_max, CONCATENATED)?)),
        Encoding::Lz4 => Box::new(Lz4Decoder::new(input, memory_bytes_max)),
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

    #[test]
    fn texts_that_begin_like_an_encoding_are_plain() {
        let texts: [&[u8]; 6] = [
            b"BZh9 is how bzip2 begins",
            b"]\0\0\0\0 is how lzma begins",
            b"]\0\0\x80\0 is how lzma begins",
            b"\xfd7zX",
            b"BZh91AY&S",
            b"]\0\0",
        ];
        for text in texts {
            assert_eq!(Encoding::detect(text), Encoding::Plain, "{}", text.escape_ascii());
        }
        assert_eq!(Encoding::detect(b"]\0\0\x80\0\xff\xff\xff\xff\xff\xff\xff\xff and more"), Encoding::Lzma);
        assert_eq!(Encoding::detect(b"]\0\0\x10\0\x05\0\0\0\0\0\0\0"), Encoding::Lzma);
    }
}

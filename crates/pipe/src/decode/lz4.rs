//! LZ4 frames (lz4_Frame_format.md 1.6.4): several of them, linked blocks, all checksums, skippable
//! frames between them.
//!
//! # Why not lz4_flex's own frame decoder?
//! It takes a file that is cut between two blocks for a whole one, and sets no limit to its memory.
//! Its decoder of blocks is used here.

use super::fault::DecodeError;
use lz4_flex::block::decompress_into_with_dict;
use std::hash::Hasher;
use std::io::{self, BufRead, ErrorKind, Read};
use twox_hash::XxHash32;

const MAGIC: u32 = 0x184d_2204;

/// The last four bits are free.
const MAGIC_SKIPPABLE: u32 = 0x184d_2a50;

/// Distance that a linked block may reach back.
const WINDOW_BYTES: usize = 64 << 10;

/// The highest bit of a block's size says that it is stored as it is.
const STORED: u32 = 1 << 31;

/// Decodes all frames of an input. Holds a block as stored, the same decoded, and the window: at
/// most 8.1 MiB.
pub(super) struct Lz4Decoder<R> {
    input: R,
    memory_bytes_max: u64,
    frame: Option<Lz4Frame>,
    stored: Vec<u8>,
    block: Vec<u8>,
    window: Vec<u8>,
    /// Start of the rest of `block` that was not given away yet.
    from: usize,
    to: usize,
}

/// The header of a frame, and its progress.
struct Lz4Frame {
    block_bytes_max: usize,
    linked: bool,
    block_checksums: bool,
    content_bytes: Option<u64>,
    checksum: Option<XxHash32>,
    decoded_bytes: u64,
}

impl<R: BufRead> Lz4Decoder<R> {
    pub(super) fn new(input: R, memory_bytes_max: u64) -> Self {
        let (stored, block, window) = Default::default();
        Self { input, memory_bytes_max, frame: None, stored, block, window, from: 0, to: 0 }
    }

    /// Steps to the next frame; `false` at the end of the input.
    fn next_frame(&mut self) -> io::Result<bool> {
        loop {
            if self.input.fill_buf()?.is_empty() {
                return Ok(false);
            }
            match self.number()? {
                MAGIC => {
                    self.frame = Some(self.header()?);
                    return Ok(true);
                }
                magic if magic & !0xf == MAGIC_SKIPPABLE => {
                    let length = u64::from(self.number()?);
                    if io::copy(&mut self.input.by_ref().take(length), &mut io::sink())? < length {
                        return Err(ErrorKind::UnexpectedEof.into());
                    }
                }
                _ => return Err(DecodeError::Trailing.into()),
            }
        }
    }

    fn header(&mut self) -> io::Result<Lz4Frame> {
        // Flags, block size, content size.
        let mut bytes = [0; 10];
        self.input.read_exact(&mut bytes[..2])?;
        let [flags, sizes, ..] = bytes;
        if flags & 0xc2 != 0x40 || sizes & 0x8f != 0 || sizes >> 4 < 4 {
            return Err(DecodeError::Damaged("a frame's header is not of version 1").into());
        }
        if flags & 1 != 0 {
            return Err(DecodeError::Damaged("it needs a dictionary, which is not in the file").into());
        }
        let sized = flags & 8 != 0;
        let length = if sized { 10 } else { 2 };
        self.input.read_exact(&mut bytes[2..length])?;
        let [checksum] = self.bytes()?;
        if checksum != (XxHash32::oneshot(0, &bytes[..length]) >> 8) as u8 {
            return Err(DecodeError::Damaged("the checksum of a frame's header does not match").into());
        }
        let block_bytes_max = 1 << (8 + 2 * (sizes >> 4));
        if (2 * block_bytes_max + WINDOW_BYTES) as u64 > self.memory_bytes_max {
            return Err(DecodeError::Memory("larger blocks").into());
        }
        self.window.clear();
        Ok(Lz4Frame {
            block_bytes_max,
            linked: flags & 0x20 == 0,
            block_checksums: flags & 0x10 != 0,
            content_bytes: sized.then(|| u64::from_le_bytes(bytes[2..].try_into().unwrap_or_default())),
            checksum: (flags & 4 != 0).then(|| XxHash32::with_seed(0)),
            decoded_bytes: 0,
        })
    }

    /// Decodes the next block of `frame`; `false` at the frame's end.
    fn next_block(&mut self, frame: &mut Lz4Frame) -> io::Result<bool> {
        let size = self.number()?;
        if size == 0 {
            self.end(frame)?;
            return Ok(false);
        }
        let (is_stored, length) = (size & STORED != 0, (size & !STORED) as usize);
        if length > frame.block_bytes_max {
            return Err(DecodeError::Damaged("a block is larger than its frame says").into());
        }
        self.stored.resize(length, 0);
        self.input.read_exact(&mut self.stored)?;
        if frame.block_checksums && self.number()? != XxHash32::oneshot(0, &self.stored) {
            return Err(DecodeError::Damaged("a block's checksum does not match").into());
        }
        self.from = 0;
        if is_stored {
            std::mem::swap(&mut self.stored, &mut self.block);
            self.to = length;
        } else {
            self.block.resize(frame.block_bytes_max, 0);
            let decoded = decompress_into_with_dict(&self.stored, &mut self.block, &self.window);
            self.to = decoded.map_err(|_| DecodeError::Damaged("a block can't be decoded"))?;
        }
        let block = &self.block[..self.to];
        frame.decoded_bytes += block.len() as u64;
        frame.checksum.iter_mut().for_each(|checksum| checksum.write(block));
        if frame.linked {
            keep_last(&mut self.window, block);
        }
        Ok(true)
    }

    fn end(&mut self, frame: &Lz4Frame) -> io::Result<()> {
        if let Some(checksum) = &frame.checksum
            && self.number()? != checksum.finish_32()
        {
            return Err(DecodeError::Damaged("the checksum of the content does not match").into());
        }
        if frame.content_bytes.is_some_and(|expected| expected != frame.decoded_bytes) {
            return Err(DecodeError::Damaged("the content is not as long as its frame says").into());
        }
        Ok(())
    }

    fn number(&mut self) -> io::Result<u32> {
        Ok(u32::from_le_bytes(self.bytes()?))
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Keeps the last bytes of `window` followed by `block`, as many as a block may refer to.
fn keep_last(window: &mut Vec<u8>, block: &[u8]) {
    let block = &block[block.len().saturating_sub(WINDOW_BYTES)..];
    let surplus = (window.len() + block.len()).saturating_sub(WINDOW_BYTES);
    window.drain(..surplus);
    window.extend_from_slice(block);
}

impl<R: BufRead> Read for Lz4Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.from == self.to {
            match self.frame.take() {
                Some(mut frame) => {
                    if self.next_block(&mut frame)? {
                        self.frame = Some(frame);
                    }
                }
                None if self.next_frame()? => {}
                None => return Ok(0),
            }
        }
        let amount = buffer.len().min(self.to - self.from);
        buffer[..amount].copy_from_slice(&self.block[self.from..self.from + amount]);
        self.from += amount;
        Ok(amount)
    }
}

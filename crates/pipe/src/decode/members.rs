//! Compressed members one after the other: gzip and bzip2.
//!
//! The decoders of flate2 and bzip2 have a mode for this, but take any bytes after a member for
//! another one: zeros, which tapes and some devices add to a file, and junk, which they call cut
//! short.

use super::fault::DecodeError;
use bzip2::bufread::BzDecoder;
use flate2::bufread::GzDecoder;
use std::io::{self, BufRead, ErrorKind, Read};

/// A decoder of one member.
pub(super) trait Member<R>: Read {
    /// First bytes of every member.
    const MAGIC: &'static [u8];

    fn start(input: Unread<R>) -> Self;

    /// Gives the input back, after the member.
    fn end(self) -> Unread<R>;
}

impl<R: BufRead> Member<R> for GzDecoder<Unread<R>> {
    const MAGIC: &'static [u8] = &[0x1f, 0x8b];

    fn start(input: Unread<R>) -> Self {
        Self::new(input)
    }

    fn end(self) -> Unread<R> {
        self.into_inner()
    }
}

impl<R: BufRead> Member<R> for BzDecoder<Unread<R>> {
    const MAGIC: &'static [u8] = b"BZh";

    fn start(input: Unread<R>) -> Self {
        Self::new(input)
    }

    fn end(self) -> Unread<R> {
        self.into_inner()
    }
}

/// Decodes all members of `input`.
pub(super) struct Members<R, D> {
    state: MemberState<R, D>,
}

enum MemberState<R, D> {
    Between(R),
    Inside(D),
    Failed,
}

impl<R: BufRead, D: Member<R>> Members<R, D> {
    pub(super) fn new(input: R) -> Self {
        Self { state: MemberState::Between(input) }
    }
}

impl<R: BufRead, D: Member<R>> Read for Members<R, D> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if let MemberState::Inside(decoder) = &mut self.state {
                let read = decoder.read(buffer)?;
                if read > 0 || buffer.is_empty() {
                    return Ok(read);
                }
            }
            self.state = match std::mem::replace(&mut self.state, MemberState::Failed) {
                MemberState::Inside(decoder) => MemberState::Between(decoder.end().input),
                MemberState::Failed => return Err(DecodeError::Damaged("it was damaged before").into()),
                MemberState::Between(mut input) => {
                    if !at_magic(&mut input, D::MAGIC)? {
                        self.state = MemberState::Between(input);
                        return Ok(0);
                    }
                    MemberState::Inside(D::start(Unread { prefix: D::MAGIC, input }))
                }
            };
        }
    }
}

/// Takes the first bytes of a member, and zeros before it; `false` at the end of the input.
fn at_magic(input: &mut impl BufRead, magic: &[u8]) -> io::Result<bool> {
    loop {
        let available = fill(input)?;
        let zeros = available.iter().take_while(|byte| **byte == 0).count();
        match (available.is_empty(), zeros == available.len()) {
            (true, _) => return Ok(false),
            (_, true) => input.consume(zeros),
            _ => {
                input.consume(zeros);
                break;
            }
        }
    }
    for expected in magic {
        match fill(input)?.first() {
            Some(byte) if byte == expected => input.consume(1),
            Some(_) => return Err(DecodeError::Trailing.into()),
            None => return Err(ErrorKind::UnexpectedEof.into()),
        }
    }
    Ok(true)
}

fn fill(input: &mut impl BufRead) -> io::Result<&[u8]> {
    // An interrupted read is tried again by the source itself.
    input.fill_buf()
}

/// An input with bytes that were taken from it before it.
pub(super) struct Unread<R> {
    prefix: &'static [u8],
    input: R,
}

impl<R: BufRead> BufRead for Unread<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.prefix.is_empty() { self.input.fill_buf() } else { Ok(self.prefix) }
    }

    fn consume(&mut self, amount: usize) {
        if self.prefix.is_empty() {
            self.input.consume(amount);
        } else {
            self.prefix = &self.prefix[amount..];
        }
    }
}

impl<R: BufRead> Read for Unread<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let amount = available.len().min(buffer.len());
        buffer[..amount].copy_from_slice(&available[..amount]);
        self.consume(amount);
        Ok(amount)
    }
}

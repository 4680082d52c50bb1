//! Receiver of the pieces of an output.

use bytes::Bytes;
use std::io;

/// Takes the pieces of an output, in order.
pub trait Sink: Send {
    /// Takes a piece that its owner may change after the call.
    ///
    /// # Errors
    /// When a write that became due fails.
    fn copy(&mut self, piece: &[u8]) -> io::Result<()>;

    /// Takes a piece that stays as it is for as long as somebody holds it: a large one need not be
    /// copied.
    ///
    /// # Errors
    /// As [`Sink::copy`].
    fn point(&mut self, piece: &Bytes) -> io::Result<()> {
        self.copy(piece)
    }

    /// Sends all that was taken on its way: before a wait of unknown length.
    ///
    /// # Errors
    /// As [`Sink::copy`].
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<S: Sink + ?Sized> Sink for &mut S {
    fn copy(&mut self, piece: &[u8]) -> io::Result<()> {
        (**self).copy(piece)
    }

    fn point(&mut self, piece: &Bytes) -> io::Result<()> {
        (**self).point(piece)
    }

    fn flush(&mut self) -> io::Result<()> {
        (**self).flush()
    }
}

impl Sink for Vec<u8> {
    #[inline]
    fn copy(&mut self, piece: &[u8]) -> io::Result<()> {
        self.extend_from_slice(piece);
        Ok(())
    }
}

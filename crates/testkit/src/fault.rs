//! Readers and writers that fail at the nth call, once or for ever, and until then as short as they
//! may.

use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Plan of failing calls.
#[derive(Debug, Clone)]
pub struct FaultPlan {
    /// The first call that fails, from 0.
    pub at: u64,
    /// True if later calls fail as well.
    pub for_ever: bool,
    /// The error.
    pub kind: ErrorKind,
    calls: Arc<AtomicU64>,
}

impl FaultPlan {
    /// Fails at call `at`, once or `for_ever`, with `kind`.
    #[must_use]
    pub fn new(at: u64, for_ever: bool, kind: ErrorKind) -> Self {
        Self { at, for_ever, kind, calls: Arc::default() }
    }

    /// A fault that never comes.
    #[must_use]
    pub fn never() -> Self {
        Self::new(u64::MAX, false, ErrorKind::Other)
    }

    /// True if a call has failed yet. A loop over `at` ends when this stays false.
    #[must_use]
    pub fn reached(&self) -> bool {
        self.calls.load(Ordering::Relaxed) > self.at
    }

    /// Counts a call.
    ///
    /// # Errors
    /// When its turn to fail has come.
    pub fn call(&self) -> io::Result<()> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let fails = call == self.at || (self.for_ever && call > self.at);
        if fails { Err(io::Error::new(self.kind, "the fault of this test")) } else { Ok(()) }
    }
}

/// Reads from or writes to `inner`, at most `bytes_max` a call, until the fault.
#[derive(Debug)]
pub struct FaultyIo<T> {
    inner: T,
    bytes_max: usize,
    fault: FaultPlan,
}

impl<T> FaultyIo<T> {
    /// `inner` with a fault in it.
    pub fn new(inner: T, bytes_max: usize, fault: &FaultPlan) -> Self {
        Self { inner, bytes_max, fault: fault.clone() }
    }

    /// The inner reader or writer.
    pub fn into_inner(self) -> T {
        self.inner
    }
}

impl<R: Read> Read for FaultyIo<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.fault.call()?;
        let length = buffer.len().min(self.bytes_max);
        self.inner.read(&mut buffer[..length])
    }
}

impl<W: Write> Write for FaultyIo<W> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(buffer)])
    }

    /// Takes from the first slices as a kernel does, across their borders.
    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.fault.call() {
            // Not an error of the call, but its answer.
            Err(error) if error.kind() == ErrorKind::WriteZero => return Ok(0),
            result => result?,
        }
        let mut room = self.bytes_max;
        for slice in slices {
            let length = slice.len().min(room);
            self.inner.write_all(&slice[..length])?;
            room -= length;
        }
        Ok(self.bytes_max - room)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fails_when_it_says_and_not_before() {
        let fault = FaultPlan::new(2, false, ErrorKind::Other);
        let failed: Vec<bool> = (0..5).map(|_| fault.call().is_err()).collect();
        assert_eq!(failed, [false, false, true, false, false]);
        let fault = FaultPlan::new(3, true, ErrorKind::Other);
        let failed: Vec<bool> = (0..5).map(|_| fault.call().is_err()).collect();
        assert_eq!(failed, [false, false, false, true, true]);
        assert!(fault.reached() && !FaultPlan::never().reached());
    }

    #[test]
    fn writes_short_across_slices() {
        let mut writer = FaultyIo::new(Vec::new(), 3, &FaultPlan::never());
        let slices = [IoSlice::new(b"ab"), IoSlice::new(b""), IoSlice::new(b"cd")];
        assert!(matches!(writer.write_vectored(&slices), Ok(3)));
        assert_eq!(writer.into_inner(), b"abc");
    }
}

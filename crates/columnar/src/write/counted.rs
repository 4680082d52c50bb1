//! A file that knows its length.

use std::io::{self, BufWriter, Write};

/// Large enough that a system call costs nothing beside its bytes.
const BUFFER_BYTES: usize = 256 << 10;

/// Counts the written bytes.
pub(super) struct CountedWriter {
    inner: BufWriter<Box<dyn Write + Send>>,
    pub(super) bytes: u64,
}

impl CountedWriter {
    pub(super) fn new(file: Box<dyn Write + Send>) -> Self {
        Self { inner: BufWriter::with_capacity(BUFFER_BYTES, file), bytes: 0 }
    }
}

impl Write for CountedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

//! Pipes, terminals, and others that keep a reader waiting.

use crate::control::Control;
use crate::limits::{PARTIAL_BLOCK_AFTER, STOP_CHECK};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::time::Duration;

/// Something that reads, and may know whether reading would wait.
pub(crate) trait PollableRead: Read + Send {
    /// True if more comes soon: then a block is filled before it is handed on, instead of letting
    /// its bytes wait.
    fn more_soon(&self) -> bool {
        true
    }

    /// True if a read of nothing is the end, and not only a pause.
    fn ended(&self) -> bool {
        true
    }

    /// True if it may pause: then others are read beside it, by turns.
    fn pauses(&self) -> bool {
        false
    }
}

impl PollableRead for Box<dyn Read + Send> {}

/// A pipe, a FIFO, a device or a terminal: waiting for it ends when the run is stopped.
pub(crate) struct Descriptor {
    file: File,
    control: Control,
    /// The end was met. A terminal would go on after it.
    ended: bool,
    /// Nothing is read instead of waiting.
    pauses: bool,
}

impl Descriptor {
    pub(crate) fn new(file: File, control: Control) -> Self {
        Self { file, control, ended: false, pauses: false }
    }

    /// The same, which reads nothing where it would wait, if it `pauses`.
    pub(crate) fn pausing(self, pauses: bool) -> Self {
        Self { pauses, ..self }
    }

    fn ready(&self, patience: Duration) -> bool {
        let timeout = Timespec::try_from(patience).ok();
        // A descriptor that can't be polled is read at once, and the read has the error.
        match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], timeout.as_ref()) {
            Ok(ready) => ready > 0,
            Err(error) => error != rustix::io::Errno::INTR,
        }
    }
}

impl Read for Descriptor {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.ended && !self.control.stopped() {
            if !self.ready(if self.pauses { Duration::ZERO } else { STOP_CHECK }) {
                if self.pauses {
                    break;
                }
                continue;
            }
            match self.file.read(buffer) {
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
                result => {
                    self.ended = matches!(result, Ok(0));
                    return result;
                }
            }
        }
        Ok(0)
    }
}

impl PollableRead for Descriptor {
    fn more_soon(&self) -> bool {
        self.ready(PARTIAL_BLOCK_AFTER)
    }

    fn ended(&self) -> bool {
        self.ended || self.control.stopped()
    }

    fn pauses(&self) -> bool {
        self.pauses
    }
}

/// A stream of which the first bytes were read already.
pub(crate) struct Prefixed<R> {
    prefix: io::Cursor<Vec<u8>>,
    rest: R,
}

impl<R> Prefixed<R> {
    pub(crate) fn new(prefix: Vec<u8>, rest: R) -> Self {
        Self { prefix: io::Cursor::new(prefix), rest }
    }

    fn in_prefix(&self) -> bool {
        self.prefix.position() < self.prefix.get_ref().len() as u64
    }
}

impl<R: Read> Read for Prefixed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if !self.in_prefix() {
            return self.rest.read(buffer);
        }
        let read = self.prefix.read(buffer)?;
        if !self.in_prefix() {
            self.prefix = io::Cursor::default();
        }
        Ok(read)
    }
}

impl<R: PollableRead> PollableRead for Prefixed<R> {
    fn more_soon(&self) -> bool {
        self.in_prefix() || self.rest.more_soon()
    }

    fn ended(&self) -> bool {
        !self.in_prefix() && self.rest.ended()
    }

    fn pauses(&self) -> bool {
        self.rest.pauses()
    }
}

//! The place at which standard input is left for the next program that reads it, as POSIX asks of
//! a file.

use rorqual_pipe::decode::{MAGIC_BYTES, is_encoded};
use rustix::fs::SeekFrom;
use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

/// Standard input that is a file: the place in it is shared with who started this, and who comes
/// next.
pub(crate) struct SharedOffset {
    file: File,
    start: u64,
    /// Offsets are of what is stored.
    plain: bool,
}

impl SharedOffset {
    pub(crate) fn of_stdin() -> Option<Self> {
        let file: File = std::io::stdin().as_fd().try_clone_to_owned().ok()?.into();
        if !file.metadata().is_ok_and(|data| data.is_file()) {
            return None;
        }
        let start = rustix::fs::tell(&file).ok()?;
        let mut head = [0; MAGIC_BYTES];
        let read = file.read_at(&mut head, start).ok()?;
        Some(Self { file, start, plain: !is_encoded(&head[..read]) })
    }

    /// Leaves it after `end` bytes of what was read, or at the end of the file.
    pub(crate) fn leave_at(&self, end: Option<u64>) {
        let to = end.filter(|_| self.plain).map_or(SeekFrom::End(0), |end| SeekFrom::Start(self.start + end));
        // A place that can't be set was none that another program could go on from.
        let _ = rustix::fs::seek(&self.file, to);
    }
}

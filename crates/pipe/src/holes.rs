//! Holes of logs: NUL bytes, as `copytruncate` and a machine that lost power leave them.
//!
//! A hole that is longer than a line may be ends the line that it is in, and a line begins after
//! it. Whether one begins at a byte follows from the bytes just before it, so that blocks which are
//! cut side by side agree. A shorter hole is part of its line.

/// Length of the NULs at the start of `bytes`.
pub(crate) fn leading_nuls(bytes: &[u8]) -> usize {
    bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len())
}

/// Length of the NULs at the end of `bytes`.
pub(crate) fn trailing_nuls(bytes: &[u8]) -> usize {
    bytes.len() - bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1)
}

/// Indices of the bytes that follow holes and begin a line.
#[derive(Debug)]
pub(crate) struct HoleEnds<'a> {
    bytes: &'a [u8],
    /// A hole has more bytes than this.
    line_bytes_max: usize,
    /// NULs before `bytes`.
    nuls_before: usize,
    position: usize,
}

impl<'a> HoleEnds<'a> {
    /// The ends in `bytes`, before which there are `nuls_before` NULs.
    pub(crate) fn new(bytes: &'a [u8], line_bytes_max: usize, nuls_before: usize) -> Self {
        Self { bytes, line_bytes_max, nuls_before, position: 0 }
    }

    /// True if a line begins at `end`, after `nuls` NULs.
    fn is_start(&self, nuls: usize, end: usize) -> bool {
        nuls > self.line_bytes_max && self.bytes.get(end).is_some_and(|byte| *byte != b'\n')
    }
}

impl Iterator for HoleEnds<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let before = std::mem::take(&mut self.nuls_before);
        if before > 0 {
            let end = leading_nuls(self.bytes);
            self.position = end;
            if self.is_start(before.saturating_add(end), end) {
                return Some(end);
            }
        }
        loop {
            // Every hole from `position` on has this byte, or begins after it: one look at a line's
            // length of bytes.
            let probe = self.position.checked_add(self.line_bytes_max)?;
            if *self.bytes.get(probe)? != 0 {
                self.position = probe + 1;
                continue;
            }
            let start = probe - trailing_nuls(&self.bytes[self.position..probe]);
            let end = probe + leading_nuls(&self.bytes[probe..]);
            self.position = end;
            if self.is_start(end - start, end) {
                return Some(end);
            }
        }
    }
}

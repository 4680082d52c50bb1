//! Test data of any size, made from a seed, streamed, in constant memory.
//!
//! A [`GeneratedLines`] makes one line after the other without end; [`write_lines`] pours it into
//! anything that is
//! [`Write`]: a file, a pipe, a socket. The same seed and size give the same bytes on every
//! machine.

mod access;
mod addresses;
mod clock;
mod distinct;
mod events;
mod hostile;
mod incidents;
mod random;
mod sample;
mod site;
mod unusual;

use std::io::{self, Write};

pub use access::{AccessLog, NEEDLE, NEEDLE_EVERY_LINES};
pub use addresses::write_addresses_log;
pub use distinct::{DistinctLog, Truth, TruthOf, ValueRank};
pub use events::{EventLines, write_array};
pub use hostile::{BEHIND, write_behind_log, write_gzip_bomb, write_nul_log, write_sparse_behind_log, write_sparse_log};
pub use incidents::{Incident, IncidentLog, IncidentSpan, IncidentTruth};
pub use random::Rng;
pub use site::SiteLog;
pub use unusual::{UNUSUAL_CASES, UnusualIncident, UnusualLog, UnusualTruth};

/// The seed of every generator unless another is asked for.
pub const SEED_DEFAULT: u64 = 20_251_121;

/// Lines are gathered to writes of this size.
const WRITE_BYTES: usize = 256 << 10;

/// An endless log.
pub trait GeneratedLines {
    /// Appends the next line, with its newline, to `out`.
    fn line(&mut self, out: &mut Vec<u8>);
}

/// Counts of the written lines, so that a test knows the answer without counting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeneratedSummary {
    /// Newlines.
    pub lines: u64,
    /// Bytes, before compression if there is one.
    pub bytes: u64,
}

/// Writes whole lines up to the first line end at or past `bytes_min`.
///
/// # Errors
/// Any error of `out`; all lines written until then are in `out`.
pub fn write_lines(lines: &mut impl GeneratedLines, bytes_min: u64, out: &mut impl Write) -> io::Result<GeneratedSummary> {
    let mut written = GeneratedSummary::default();
    let mut buffer = Vec::with_capacity(2 * WRITE_BYTES);
    while written.bytes < bytes_min {
        let room = bytes_min - written.bytes;
        written.lines += fill(lines, room, &mut buffer);
        written.bytes += buffer.len() as u64;
        out.write_all(&buffer)?;
        buffer.clear();
    }
    Ok(written)
}

/// Writes so many lines.
///
/// # Errors
/// Any error of `out`; all lines written until then are in `out`.
pub fn write_count(lines: &mut impl GeneratedLines, count: u64, out: &mut impl Write) -> io::Result<GeneratedSummary> {
    let mut written = GeneratedSummary::default();
    let mut buffer = Vec::with_capacity(2 * WRITE_BYTES);
    while written.lines < count {
        while written.lines < count && buffer.len() < WRITE_BYTES {
            lines.line(&mut buffer);
            written.lines += 1;
        }
        written.bytes += buffer.len() as u64;
        out.write_all(&buffer)?;
        buffer.clear();
    }
    Ok(written)
}

/// Fills `buffer` with lines up to `room_bytes` or a write's worth, whichever is less; returns how
/// many.
fn fill(lines: &mut impl GeneratedLines, room_bytes: u64, buffer: &mut Vec<u8>) -> u64 {
    let enough = usize::try_from(room_bytes).unwrap_or(usize::MAX).min(WRITE_BYTES);
    let mut count = 0;
    while buffer.len() < enough {
        lines.line(buffer);
        count += 1;
    }
    count
}

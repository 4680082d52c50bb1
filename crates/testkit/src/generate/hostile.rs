//! Files that other programs choke on.

use super::{AccessLog, GeneratedSummary, SEED_DEFAULT, write_lines};
use flate2::{Compression, write::GzEncoder};
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};

const CHUNK_BYTES: usize = 256 << 10;
static ZEROS: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];

/// An access log of about `log_bytes` with one line of `nul_bytes` NULs in its middle.
///
/// # Errors
/// Whatever `out` answers.
pub fn write_nul_log(log_bytes: u64, nul_bytes: u64, out: &mut impl Write) -> io::Result<GeneratedSummary> {
    write_log_around(log_bytes, out, |out| {
        write_zeros(nul_bytes, out)?;
        Ok(nul_bytes)
    })
}

/// The same with a hole of `hole_bytes`, which reads as NULs and takes no room on the disk.
///
/// # Errors
/// Whatever the file system answers, among it that the file is too large for it.
pub fn write_sparse_log(log_bytes: u64, hole_bytes: u64, out: &mut File) -> io::Result<GeneratedSummary> {
    write_log_around(log_bytes, out, |out| {
        seek_over(hole_bytes, out)?;
        Ok(hole_bytes)
    })
}

/// The text that ends the line of [`write_behind_log`], and stands nowhere else in it.
pub const BEHIND: &str = "zq9behind";

/// A log of about `log_bytes` with one line of `nul_bytes` NULs and then [`BEHIND`] in its middle.
///
/// # Errors
/// Whatever `out` answers.
pub fn write_behind_log(log_bytes: u64, nul_bytes: u64, out: &mut impl Write) -> io::Result<GeneratedSummary> {
    write_log_around(log_bytes, out, |out| {
        write_zeros(nul_bytes, out)?;
        behind(nul_bytes, out)
    })
}

/// The same bytes as [`write_behind_log`] with the NULs as a hole.
///
/// # Errors
/// As [`write_sparse_log`].
pub fn write_sparse_behind_log(log_bytes: u64, hole_bytes: u64, out: &mut File) -> io::Result<GeneratedSummary> {
    write_log_around(log_bytes, out, |out| {
        seek_over(hole_bytes, out)?;
        behind(hole_bytes, out)
    })
}

fn behind(before_bytes: u64, out: &mut impl Write) -> io::Result<u64> {
    out.write_all(BEHIND.as_bytes())?;
    Ok(before_bytes + BEHIND.len() as u64)
}

fn seek_over(hole_bytes: u64, out: &mut File) -> io::Result<()> {
    let hole = i64::try_from(hole_bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    out.seek(SeekFrom::Current(hole)).map(drop)
}

/// A gzip file that unpacks to `bytes` zeros: a thousand times its own size.
///
/// # Errors
/// Whatever `out` answers.
pub fn write_gzip_bomb(bytes: u64, out: &mut impl Write) -> io::Result<GeneratedSummary> {
    let mut encoder = GzEncoder::new(out, Compression::best());
    write_zeros(bytes, &mut encoder)?;
    encoder.finish()?;
    Ok(GeneratedSummary { lines: 0, bytes })
}

/// Half a log, the output of `middle` and a newline, the other half. `middle` returns its number of
/// bytes.
fn write_log_around<W: Write>(
    log_bytes: u64,
    out: &mut W,
    middle: impl FnOnce(&mut W) -> io::Result<u64>,
) -> io::Result<GeneratedSummary> {
    let mut log = AccessLog::new(log_bytes, SEED_DEFAULT);
    let before = write_lines(&mut log, log_bytes / 2, out)?;
    let middle_bytes = middle(out)?;
    out.write_all(b"\n")?;
    let after = write_lines(&mut log, log_bytes.saturating_sub(before.bytes), out)?;
    Ok(GeneratedSummary { lines: before.lines + 1 + after.lines, bytes: before.bytes + middle_bytes + 1 + after.bytes })
}

fn write_zeros(bytes: u64, out: &mut impl Write) -> io::Result<()> {
    let mut left = bytes;
    while left > 0 {
        let now = left.min(CHUNK_BYTES as u64);
        out.write_all(&ZEROS[..now as usize])?;
        left -= now;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn the_nul_line_is_one_line_in_the_middle() {
        let mut out = Vec::new();
        let written = write_nul_log(1_000_000, 300_000, &mut out).expect("a Vec takes everything");
        assert_eq!(written.bytes, out.len() as u64);
        let lines: Vec<_> = out.split_inclusive(|&byte| byte == b'\n').collect();
        assert_eq!(written.lines, lines.len() as u64);
        let nul_lines: Vec<_> = lines.iter().filter(|line| line.contains(&0)).collect();
        assert_eq!(nul_lines.len(), 1);
        assert_eq!(nul_lines[0].len(), 300_001);
        assert_eq!(nul_lines[0].iter().filter(|&&byte| byte == 0).count(), 300_000);
    }

    #[test]
    fn the_match_is_behind_the_nuls_whether_they_are_stored_or_not() {
        let mut stored = Vec::new();
        let written = write_behind_log(1_000_000, 300_000, &mut stored).expect("a Vec takes everything");
        let line = stored.split(|&byte| byte == b'\n').find(|line| line.contains(&0)).expect("there is one");
        assert_eq!(line, [&[0; 300_000][..], BEHIND.as_bytes()].concat());
        assert_eq!(memchr::memmem::find_iter(&stored, BEHIND).count(), 1);
        let mut file = tempfile::tempfile().expect("a temporary file");
        assert_eq!(write_sparse_behind_log(1_000_000, 300_000, &mut file).expect("room on the disk"), written);
        let mut sparse = Vec::new();
        file.rewind().and_then(|()| file.read_to_end(&mut sparse)).expect("it can be read");
        assert!(sparse == stored);
    }

    #[test]
    fn the_bomb_unpacks_to_what_it_says() {
        let mut out = Vec::new();
        let written = write_gzip_bomb(10_000_001, &mut out).expect("a Vec takes everything");
        assert!(out.len() < 20_000);
        let mut unpacked = Vec::new();
        flate2::read::GzDecoder::new(&out[..]).read_to_end(&mut unpacked).expect("it is gzip");
        assert_eq!(unpacked.len() as u64, written.bytes);
        assert!(unpacked.iter().all(|&byte| byte == 0));
    }
}

//! An access log of any size out of 10,000 real lines.

use super::clock::LogClock;
use super::random::Rng;
use super::sample::{SampleLine, records};
use super::{GeneratedLines, SEED_DEFAULT};
use memchr::memmem;

/// A directory that no real line has, for searches with few hits.
pub const NEEDLE: &str = "zq7needle";

/// Every so many lines the path starts with [`NEEDLE`].
pub const NEEDLE_EVERY_LINES: u64 = 1_000_003;

/// Varying part of a line: the last octet, the time and the size, in bytes, about.
const VARYING_BYTES: f64 = 2.6 + 26.0 + 5.2;

/// The sample's lines in order, over and over. The time advances over 90 days from 2025-01-01, the
/// last octet of the address and the size of the response vary; request, status, referrer and agent
/// stay those of the real line.
pub struct AccessLog {
    records: Vec<SampleLine>,
    next: usize,
    lines: u64,
    clock: LogClock,
    random: Rng,
    digits: itoa::Buffer,
}

impl AccessLog {
    /// A log whose 90 days are over after about `bytes`.
    #[must_use]
    pub fn new(bytes: u64, seed: u64) -> Self {
        let records = records();
        let lines_expected = bytes as f64 / mean_bytes(&records);
        Self {
            records,
            next: 0,
            lines: 0,
            clock: LogClock::new(lines_expected),
            random: Rng::new(seed),
            digits: itoa::Buffer::new(),
        }
    }

    /// The same as [`AccessLog::new`] with the usual seed.
    #[must_use]
    pub fn of_bytes(bytes: u64) -> Self {
        Self::new(bytes, SEED_DEFAULT)
    }
}

impl GeneratedLines for AccessLog {
    fn line(&mut self, out: &mut Vec<u8>) {
        let record = &self.records[self.next];
        self.next = (self.next + 1) % self.records.len();
        self.lines += 1;
        let roll = self.random.next();
        out.extend_from_slice(record.network);
        out.extend_from_slice(self.digits.format(roll as u8).as_bytes());
        out.extend_from_slice(record.user);
        out.extend_from_slice(self.clock.tick());
        if self.lines.is_multiple_of(NEEDLE_EVERY_LINES) {
            push_with_needle(record.request, out);
        } else {
            out.extend_from_slice(record.request);
        }
        match record.sent {
            Some(sent) => {
                let size = vary(sent, roll >> 32);
                out.extend_from_slice(self.digits.format(size).as_bytes());
            }
            None => out.push(b'-'),
        }
        out.extend_from_slice(record.tail);
    }
}

/// A half to one and a half of `sent`, as `fraction` of 2^32 says.
fn vary(sent: u64, fraction: u64) -> u64 {
    sent / 2 + ((u128::from(sent) * u128::from(fraction)) >> 32) as u64
}

fn push_with_needle(request: &[u8], out: &mut Vec<u8>) {
    let path_at = memmem::find(request, b" /").map_or(request.len(), |space| space + 1);
    out.extend_from_slice(&request[..path_at]);
    out.push(b'/');
    out.extend_from_slice(NEEDLE.as_bytes());
    out.extend_from_slice(&request[path_at..]);
}

fn mean_bytes(records: &[SampleLine]) -> f64 {
    let fixed: usize = records.iter().map(|r| r.network.len() + r.user.len() + r.request.len() + r.tail.len()).sum();
    fixed as f64 / records.len() as f64 + VARYING_BYTES
}

#[cfg(test)]
mod tests {
    use super::super::{GeneratedSummary, write_lines};
    use super::*;

    fn text(bytes: u64, seed: u64) -> (Vec<u8>, GeneratedSummary) {
        let mut out = Vec::new();
        let written = write_lines(&mut AccessLog::new(bytes, seed), bytes, &mut out).expect("a Vec takes everything");
        (out, written)
    }

    #[test]
    fn says_truly_what_it_wrote() {
        let (out, written) = text(3_000_000, 1);
        assert_eq!(written.bytes, out.len() as u64);
        assert_eq!(written.lines, memchr::memchr_iter(b'\n', &out).count() as u64);
        assert!((3_000_000..3_004_000).contains(&written.bytes));
    }

    #[test]
    fn the_seed_decides() {
        assert_eq!(text(100_000, 7), text(100_000, 7));
        assert_ne!(text(100_000, 7).0, text(100_000, 8).0);
    }

    #[test]
    fn keeps_the_real_lines_in_order_and_every_one() {
        let (out, _) = text(3_000_000, SEED_DEFAULT);
        let records = records();
        for (line, record) in out.split_inclusive(|&byte| byte == b'\n').zip(records.iter().cycle()) {
            assert!(line.starts_with(record.network));
            assert!(line.ends_with(record.tail));
            assert!(memmem::find(line, record.request).is_some());
        }
    }

    #[test]
    fn the_needle_is_where_it_was_promised() {
        let mut log = AccessLog::of_bytes(1 << 30);
        let mut line = Vec::new();
        for number in 1..=NEEDLE_EVERY_LINES {
            line.clear();
            log.line(&mut line);
            let found = memmem::find(&line, b" /zq7needle/").is_some();
            assert_eq!(found, number == NEEDLE_EVERY_LINES, "line {number}");
        }
    }

    #[test]
    fn sizes_stay_within_half_of_the_real_one() {
        assert_eq!(vary(1000, 0), 500);
        assert_eq!(vary(1000, u64::from(u32::MAX)), 1499);
        assert_eq!(vary(0, u64::from(u32::MAX)), 0);
    }
}

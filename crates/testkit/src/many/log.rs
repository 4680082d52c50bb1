//! The lines that are sent, and the true totals of each range of them.

use crate::generate::{GeneratedLines, SEED_DEFAULT, SiteLog};
use std::ops::Range;

/// Lines at which stretches begin are so far apart that neighbours differ, and a prime, so that
/// they do not meet soon.
const STRIDE_LINES: usize = 7_919;

/// Mask of a WebSocket client's frames; applied once, as masking is no work that is measured here.
const MASK: [u8; 4] = [0x5a, 0xc3, 0x99, 0x3c];

/// Lines of a busy site, twice as many bytes as an upload has.
pub(super) struct LoadLog {
    bytes: Vec<u8>,
    masked: Vec<u8>,
    /// Ends of the lines, and the bytes of all answers up to each.
    lines: Vec<(usize, u64)>,
}

/// Lines of one upload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LogSlice {
    pub(super) range: Range<usize>,
    pub(super) lines: u64,
    /// Sum of the answers' sizes, as the lines have them.
    pub(super) bytes_sent: u64,
}

impl LoadLog {
    pub(super) fn new(upload_bytes: u64) -> Self {
        let upload_bytes = usize::try_from(upload_bytes).unwrap_or(usize::MAX / 4);
        // Lines of a site have some 230 bytes; how many there are only spreads them over its days.
        let mut site = SiteLog::new(upload_bytes as u64 / 100 + 1, SEED_DEFAULT);
        let (mut bytes, mut lines, mut sum) = (Vec::new(), Vec::new(), 0);
        while bytes.len() < 2 * upload_bytes.max(1) {
            let start = bytes.len();
            site.line(&mut bytes);
            sum += answer_bytes(&bytes[start..]);
            lines.push((bytes.len(), sum));
        }
        let masked = bytes.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
        Self { bytes, masked, lines }
    }

    /// Whole lines, at least `bytes` bytes of them, another stretch for each number.
    pub(super) fn stretch(&self, number: usize, bytes: u64) -> LogSlice {
        let length = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.bytes.len() / 2);
        let starts = self.lines.partition_point(|(end, _)| end + length <= self.bytes.len());
        let first = number * STRIDE_LINES % starts.max(1);
        let (start, before) = if first == 0 { (0, 0) } else { self.lines[first - 1] };
        let last = self.lines.partition_point(|(end, _)| *end < start + length.max(1));
        let (end, sum) = self.lines[last];
        LogSlice { range: start..end, lines: (last + 1 - first) as u64, bytes_sent: sum - before }
    }

    pub(super) fn plain(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[range]
    }

    /// The same bytes masked, and the mask.
    pub(super) fn masked(&self, range: Range<usize>) -> ([u8; 4], &[u8]) {
        let mut mask = MASK;
        mask.rotate_left(range.start % MASK.len());
        (mask, &self.masked[range])
    }
}

/// The size of the answer: the second word after the request's closing quote.
fn answer_bytes(line: &[u8]) -> u64 {
    let text = String::from_utf8_lossy(line);
    let behind = text.splitn(3, '"').nth(2).unwrap_or_default();
    behind.split_whitespace().nth(1).and_then(|size| size.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_whole_lines_and_knows_them() {
        let log = LoadLog::new(10_000);
        let stretches: Vec<LogSlice> = (0..50).map(|number| log.stretch(number, 10_000)).collect();
        for stretch in &stretches {
            let bytes = log.plain(stretch.range.clone());
            let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
            assert!(bytes.ends_with(b"\n") && bytes.len() >= 10_000 && bytes.len() < 12_000);
            assert!(stretch.range.start == 0 || log.bytes[stretch.range.start - 1] == b'\n');
            assert_eq!(stretch.lines, lines.len() as u64);
            assert_eq!(stretch.bytes_sent, lines.iter().map(|line| answer_bytes(line)).sum::<u64>());
        }
        assert_ne!(stretches[0], stretches[1]);
    }

    #[test]
    fn the_size_of_an_answer_is_the_lines_own() {
        let line = br#"1.2.3.4 - - [01/Jan/2025:00:00:00 +0000] "GET /a HTTP/1.1" 200 1234 "-" "x 9""#;
        assert_eq!(answer_bytes(line), 1234);
        assert_eq!(answer_bytes(br#"1.2.3.4 - - [x] "GET / HTTP/1.1" 304 - "-" "-""#), 0);
    }

    #[test]
    fn a_mask_taken_off_leaves_the_line() {
        let log = LoadLog::new(1_000);
        for start in 0..8 {
            let (mask, masked) = log.masked(start..start + 99);
            let plain: Vec<u8> = masked.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask).collect();
            assert_eq!(plain, log.plain(start..start + 99));
        }
    }
}

//! The places of matches in lines that are known to match.

use crate::limits::WINDOW_BYTES;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use std::ops::Range;

/// What assertions look at before a match.
const LOOK_BYTES: usize = 4;

/// Gives the matches of a line (without its newline) that are not empty, in order, until `each` fails.
///
/// # Errors
/// As `each`.
pub fn each_match<E>(matcher: &RegexMatcher, line: &[u8], mut each: impl FnMut(Range<usize>) -> Result<(), E>) -> Result<(), E> {
    let mut failed = Ok(());
    let _ = matcher.find_iter(line, |found| {
        if !found.is_empty() {
            failed = each(found.start()..found.end());
        }
        failed.is_ok()
    });
    failed
}

/// Finds the matches of a line that comes in pieces, by looking at a window of it.
///
/// Matches of up to half a window ([`WINDOW_BYTES`]) are found as in a line that is held whole; of a longer one only its beginning.
pub struct LongMatches {
    matcher: RegexMatcher,
    window: Vec<u8>,
    /// Where the window starts in the line.
    base: u64,
    /// Where in the window to go on.
    next: usize,
    /// A match was longer than what was looked at.
    cut: bool,
}

impl LongMatches {
    /// A finder for one line after another.
    #[must_use]
    pub fn new(matcher: RegexMatcher) -> Self {
        Self { matcher, window: Vec::new(), base: 0, next: 0, cut: false }
    }

    /// Takes the next bytes, and gives each match that is known by then, with its place in the line.
    ///
    /// # Errors
    /// As `each`.
    pub fn feed<E>(&mut self, mut bytes: &[u8], mut each: impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        while !bytes.is_empty() {
            let taken = bytes.len().min(WINDOW_BYTES - self.window.len());
            self.window.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.window.len() == WINDOW_BYTES {
                self.look(WINDOW_BYTES / 2, false, &mut each)?;
                let keep = self.next.saturating_sub(LOOK_BYTES);
                self.window.drain(..keep);
                self.base += keep as u64;
                self.next -= keep;
            }
        }
        Ok(())
    }

    /// The line is over: gives the rest of its matches. Whether one was longer than what could be looked at, and was given in part.
    ///
    /// # Errors
    /// As `each`.
    pub fn finish<E>(&mut self, mut each: impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<bool, E> {
        let end = self.window.len() + 1;
        let looked = self.look(end, true, &mut each);
        self.window.clear();
        (self.base, self.next) = (0, 0);
        looked.map(|()| std::mem::take(&mut self.cut))
    }

    /// Gives matches that start before `limit`.
    fn look<E>(&mut self, limit: usize, last: bool, each: &mut impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        while self.next < limit.min(self.window.len()) {
            let found = self.matcher.find_at(&self.window, self.next).ok().flatten();
            let Some(found) = found.filter(|found| found.start() < limit) else { break };
            if !found.is_empty() {
                each(self.base + found.start() as u64, &self.window[found.start()..found.end()])?;
                self.cut |= !last && found.end() == self.window.len();
            }
            self.next = found.end() + usize::from(found.is_empty());
        }
        self.next = self.next.max(limit.min(self.window.len()));
        Ok(())
    }
}

//! The places of matches in lines that are known to match.

use crate::limits::{MATCH_BYTES_MAX, WINDOW_BYTES};
use crate::long::{LOOK_BYTES, MatchFollower};
use crate::pattern::{Expression, Syntax};
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use std::ops::Range;
use std::sync::Arc;

/// Gives the matches of a line (without its newline) that are not empty, in order, until `each`
/// fails.
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
/// Matches of up to [`MATCH_BYTES_MAX`] are given as of a line that is held whole; of a longer one
/// its beginning, once, and the next is looked for after its end.
pub struct LongMatches {
    matcher: RegexMatcher,
    syntax: Arc<Syntax>,
    /// Made when the first match is met.
    extent: Option<MatchFollower>,
    window: Vec<u8>,
    /// Start of the window in the line.
    base: u64,
    /// Place in the window to go on at.
    next: usize,
    /// The match whose end did not come yet.
    open: Option<OpenMatch>,
    /// A match was given.
    any: bool,
    /// A match was given in part, or may be missing.
    cut: bool,
}

/// A match that goes on after the window.
struct OpenMatch {
    /// Its start in the line.
    start: u64,
    /// Its beginning, as far as it is given.
    head: Vec<u8>,
    /// Bytes that left the window, after its end as that is known so far, have a match.
    unsure: bool,
}

impl LongMatches {
    /// A finder for one line after another.
    #[must_use]
    pub fn new(expression: &Expression) -> Self {
        Self {
            matcher: expression.matcher(),
            syntax: expression.syntax(),
            extent: None,
            window: Vec::new(),
            base: 0,
            next: 0,
            open: None,
            any: false,
            cut: false,
        }
    }

    /// Takes the next bytes, and gives each match that is known by then, with its place in the
    /// line.
    ///
    /// # Errors
    /// As `each`.
    pub fn feed<E>(&mut self, mut bytes: &[u8], mut each: impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(WINDOW_BYTES - self.window.len()));
            self.window.extend_from_slice(piece);
            bytes = rest;
            if self.open.is_some() && !self.extent.as_mut().is_some_and(|extent| extent.feed(piece)) {
                self.close(&mut each)?;
            }
            if self.window.len() == WINDOW_BYTES {
                self.make_room(&mut each)?;
            }
        }
        Ok(())
    }

    /// The line is over: gives the rest of its matches. Whether one was longer than is given of
    /// one, or is missing; `matched` says whether there is one at all.
    ///
    /// # Errors
    /// As `each`.
    pub fn finish<E>(&mut self, matched: bool, mut each: impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<bool, E> {
        if let (Some(_), Some(extent)) = (&self.open, &mut self.extent) {
            extent.finish();
        }
        let looked = self.close(&mut each).and_then(|()| self.look(usize::MAX, &mut each));
        let missing = self.cut || !self.any && !self.syntax.may_be_empty();
        self.window.clear();
        (self.base, self.next, self.open, self.any, self.cut) = (0, 0, None, false, false);
        looked.map(|()| matched && missing)
    }

    /// Looks at the first half of a window that is full, and lets go of it.
    fn make_room<E>(&mut self, each: &mut impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        if self.open.is_none() {
            self.look(WINDOW_BYTES / 2, each)?;
        }
        if self.open.is_some() {
            self.pass_open();
        }
        let past = self.next.saturating_sub(LOOK_BYTES);
        self.window.drain(..past);
        self.base += past as u64;
        self.next -= past;
        Ok(())
    }

    /// Gives matches that start before `limit`, up to one that goes on after the window; with a
    /// limit beyond the window, which is the line's end then, all.
    fn look<E>(&mut self, limit: usize, each: &mut impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        while self.next < limit.min(self.window.len()) {
            let found = find(&self.matcher, &self.window, self.next).filter(|found| found.start < limit);
            // Where none ends within the window, one may have begun here.
            let start = found.as_ref().map_or(self.next, |found| found.start);
            if limit < self.window.len() && self.goes_on(start) {
                let head = self.window[start..][..MATCH_BYTES_MAX].to_vec();
                self.open = Some(OpenMatch { start: self.base + start as u64, head, unsure: false });
                self.next = start + 1;
                return Ok(());
            }
            let Some(found) = found else { break };
            self.any = true;
            self.cut |= found.len() > MATCH_BYTES_MAX;
            each(self.base + found.start as u64, &self.window[found.clone()][..found.len().min(MATCH_BYTES_MAX)])?;
            self.next = found.end;
        }
        self.next = self.next.max(limit.min(self.window.len()));
        Ok(())
    }

    /// True where the match at `start` may end after the window.
    fn goes_on(&mut self, start: usize) -> bool {
        if self.extent.is_none() {
            self.extent = self.syntax.extent().ok();
        }
        let Some(extent) = &mut self.extent else { return false };
        extent.start(&self.window[start.saturating_sub(LOOK_BYTES)..start]);
        extent.feed(&self.window[start..])
    }

    /// Passes over the open match, and else over the first half of the window.
    fn pass_open(&mut self) {
        self.pass_to_end();
        if let Some(open) = self.open.as_mut().filter(|_| self.next < WINDOW_BYTES / 2) {
            open.unsure |= find(&self.matcher, &self.window, self.next).is_some_and(|found| found.start < WINDOW_BYTES / 2);
            self.next = WINDOW_BYTES / 2;
        }
    }

    /// Goes on after the open match, as far as it is known; gives its length.
    fn pass_to_end(&mut self) -> u64 {
        let length = self.extent.as_ref().and_then(MatchFollower::end).unwrap_or(0);
        if let Some(open) = &mut self.open {
            let end = (open.start + length).saturating_sub(self.base) as usize;
            // The bytes passed over were in it.
            open.unsure &= end < self.next;
            self.next = self.next.max(end);
        }
        length
    }

    /// Gives the open match, as it is known now where it ends.
    fn close<E>(&mut self, each: &mut impl FnMut(u64, &[u8]) -> Result<(), E>) -> Result<(), E> {
        let length = self.pass_to_end();
        let Some(OpenMatch { start, head, unsure }) = self.open.take() else { return Ok(()) };
        self.cut |= unsure || length > MATCH_BYTES_MAX as u64;
        self.any |= length > 0;
        let given = length.min(MATCH_BYTES_MAX as u64) as usize;
        if given > 0 { each(start, &head[..given]) } else { Ok(()) }
    }
}

/// The first match at or after `from` that is not empty.
fn find(matcher: &RegexMatcher, bytes: &[u8], mut from: usize) -> Option<Range<usize>> {
    while from <= bytes.len() {
        let found = matcher.find_at(bytes, from).ok().flatten()?;
        if !found.is_empty() {
            return Some(found.start()..found.end());
        }
        from = found.end() + 1;
    }
    None
}

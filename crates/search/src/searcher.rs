//! Finds the selected lines of a chunk: the work of a worker.

use crate::hits::{Batch, Found, Hit};
use crate::limits::HITS_MAX;
use bytes::Bytes;
use grep_matcher::{LineMatchKind, Matcher};
use grep_regex::RegexMatcher;
use memchr::{memchr, memchr_iter, memrchr};
use rorqual_pipe::{Chunk, Error, Stage};
use std::ops::Range;

/// What is wanted of the selected lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// How many there are.
    Count,
    /// The lines.
    Lines,
}

/// Searches chunks of whole lines.
#[derive(Debug, Clone)]
pub struct Searcher {
    /// What is looked for.
    pub matcher: RegexMatcher,
    /// What is wanted of the selected lines.
    pub mode: Mode,
    /// Lines that do not match are selected.
    pub invert: bool,
    /// Lines are numbered.
    pub numbered: bool,
    /// Lines around selected ones are shown, so that all bytes are needed.
    pub around: bool,
}

impl Stage for Searcher {
    type Output = Found;

    fn chunk(&mut self, chunk: &Chunk) -> Result<Found, Error> {
        Ok(self.found(chunk.clone()))
    }
}

impl Searcher {
    /// What is found in a chunk.
    #[must_use]
    pub fn found(&self, mut chunk: Chunk) -> Found {
        let mut batch = Batch::default();
        let whole = chunk.long_start().unwrap_or(chunk.bytes.len());
        self.search(&chunk.bytes[..whole], &mut batch);
        if whole == chunk.bytes.len() && batch.next == whole && batch.hits.is_empty() && !self.around {
            let_go(&mut chunk);
        }
        Found { chunk, batch }
    }

    /// Searches whole lines from `batch.next` on, until there are enough hits for one batch.
    pub(crate) fn search(&self, lines: &[u8], batch: &mut Batch) {
        batch.hits.clear();
        batch.selected = 0;
        let fast = self.matcher.line_terminator().is_some();
        let mut counted = batch.next;
        while batch.next < lines.len() && batch.hits.len() < HITS_MAX {
            let found =
                if fast { next_fast(&self.matcher, lines, batch.next) } else { next_slow(&self.matcher, lines, batch.next) };
            let (selected, next) = match found {
                Some(line) if self.invert => (batch.next..line.start, line.end),
                Some(line) => (line.clone(), line.end),
                None if self.invert => (batch.next..lines.len(), lines.len()),
                None => (lines.len()..lines.len(), lines.len()),
            };
            batch.next = next;
            if selected.is_empty() {
                continue;
            }
            batch.selected += if self.invert { count_lines(&lines[selected.clone()]) } else { 1 };
            if self.mode == Mode::Lines {
                if self.numbered {
                    batch.lines += count_newlines(&lines[counted..selected.start]);
                    counted = selected.start;
                }
                add(&mut batch.hits, selected, batch.lines);
            }
        }
        if self.numbered {
            batch.lines += count_newlines(&lines[counted..batch.next]);
        }
    }
}

/// Gives a buffer back as early as possible, while it is still in its core's cache: nothing of it will be shown, and what it has of
/// an earlier line is mostly short.
fn let_go(chunk: &mut Chunk) {
    const COPY_BYTES_MAX: usize = 4 << 10;
    if chunk.before.len() <= COPY_BYTES_MAX {
        chunk.before = Bytes::copy_from_slice(&chunk.before);
        chunk.bytes = Bytes::new();
    }
}

/// Adds lines, to the last hit where they follow it.
fn add(hits: &mut Vec<Hit>, lines: Range<usize>, line: u32) {
    // A chunk is a few hundred KiB: its places fit.
    let (start, end) = (lines.start as u32, lines.end as u32);
    match hits.last_mut() {
        Some(last) if last.end == start => last.end = end,
        _ => hits.push(Hit { start, end, line }),
    }
}

/// The next matching line at or behind `from`, which is the start of a line. The expression can't match across lines, so all of them
/// are searched as one.
fn next_fast(matcher: &RegexMatcher, lines: &[u8], mut from: usize) -> Option<Range<usize>> {
    while from < lines.len() {
        let found = matcher.find_candidate_line(&lines[from..]).ok().flatten()?;
        let (LineMatchKind::Confirmed(at) | LineMatchKind::Candidate(at)) = found;
        let line = line_around(lines, from, from + at);
        // An empty match behind the last newline is in no line.
        if line.is_empty() {
            return None;
        }
        if matches!(found, LineMatchKind::Confirmed(_)) || is_match(matcher, content(&lines[line.clone()])) {
            return Some(line);
        }
        from = line.end;
    }
    None
}

/// The same, line by line: the expression has `\A` or `\z`, which mean the borders of each line.
fn next_slow(matcher: &RegexMatcher, lines: &[u8], mut from: usize) -> Option<Range<usize>> {
    while from < lines.len() {
        let line = line_around(lines, from, from);
        if is_match(matcher, content(&lines[line.clone()])) {
            return Some(line);
        }
        from = line.end;
    }
    None
}

fn is_match(matcher: &RegexMatcher, line: &[u8]) -> bool {
    matcher.is_match(line).unwrap_or(false)
}

/// The line with its newline that contains `at`, not looking before `from`.
fn line_around(lines: &[u8], from: usize, at: usize) -> Range<usize> {
    let start = memrchr(b'\n', &lines[from..at]).map_or(from, |newline| from + newline + 1);
    let end = memchr(b'\n', &lines[at..]).map_or(lines.len(), |newline| at + newline + 1);
    start..end
}

/// A line without its newline.
pub(crate) fn content(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

fn count_newlines(bytes: &[u8]) -> u32 {
    memchr_iter(b'\n', bytes).count() as u32
}

/// Lines in a stretch that starts with one; the last may lack its newline.
pub(crate) fn count_lines(bytes: &[u8]) -> u64 {
    u64::from(count_newlines(bytes)) + u64::from(!bytes.is_empty() && bytes.last() != Some(&b'\n'))
}

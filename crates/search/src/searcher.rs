//! Finds the selected lines of a chunk: the work of a worker.

use crate::hits::{ChunkHits, HitBatch, HitRange};
use crate::limits::HITS_MAX;
use bytes::Bytes;
use grep_matcher::{LineMatchKind, Matcher};
use grep_regex::RegexMatcher;
use memchr::{memchr, memchr_iter, memrchr};
use rorqual_pipe::{Chunk, Error, Stage};
use std::ops::Range;

/// Wanted of the selected lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchMode {
    /// Their number.
    Count,
    /// The lines themselves.
    Lines,
}

/// Searches chunks of whole lines.
#[derive(Debug, Clone)]
pub struct Searcher {
    /// The compiled pattern.
    pub matcher: RegexMatcher,
    /// Wanted of the selected lines.
    pub mode: SearchMode,
    /// Lines that do not match are selected.
    pub invert: bool,
    /// Lines are numbered.
    pub numbered: bool,
    /// Lines around selected ones are shown, so that all bytes are needed.
    pub around: bool,
    /// The byte that ends a line.
    pub terminator: u8,
    /// An input with a NUL in its first block is passed over.
    pub skip_binary: bool,
}

impl Stage for Searcher {
    type Output = ChunkHits;

    fn chunk(&mut self, chunk: &Chunk) -> Result<ChunkHits, Error> {
        Ok(self.found(chunk.clone()))
    }
}

impl Searcher {
    /// The hits of a chunk.
    #[must_use]
    pub fn found(&self, mut chunk: Chunk) -> ChunkHits {
        let mut batch = HitBatch::default();
        if self.skip_binary && chunk.offset == 0 && memchr(0, &chunk.bytes).is_some() {
            batch.binary = true;
            return ChunkHits { chunk, batch };
        }
        let whole = chunk.long_start().unwrap_or(chunk.bytes.len());
        batch.next = start_of_text(&chunk).min(whole);
        self.search(&chunk.bytes[..whole], &mut batch);
        if whole == chunk.bytes.len() && batch.next == whole && batch.hits.is_empty() && !self.around {
            let_go(&mut chunk);
        }
        ChunkHits { chunk, batch }
    }

    /// Searches whole lines from `batch.next` on, until there are enough hits for one batch.
    pub(crate) fn search(&self, lines: &[u8], batch: &mut HitBatch) {
        batch.hits.clear();
        batch.selected = 0;
        let fast = self.matcher.line_terminator().is_some();
        let mut counted = batch.next;
        while batch.next < lines.len() && batch.hits.len() < HITS_MAX {
            let found = if fast { self.next_fast(lines, batch.next) } else { self.next_slow(lines, batch.next) };
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
            batch.selected += if self.invert { count_lines(&lines[selected.clone()], self.terminator) } else { 1 };
            if self.mode == SearchMode::Lines {
                if self.numbered {
                    batch.lines += count_ends(&lines[counted..selected.start], self.terminator);
                    counted = selected.start;
                }
                add(&mut batch.hits, selected, batch.lines);
            }
        }
        if self.numbered {
            batch.lines += count_ends(&lines[counted..batch.next], self.terminator);
        }
    }

    /// The next matching line at or after `from`, which is the start of a line. The expression
    /// can't match across lines, so all of them are searched as one.
    fn next_fast(&self, lines: &[u8], mut from: usize) -> Option<Range<usize>> {
        while from < lines.len() {
            let found = self.matcher.find_candidate_line(&lines[from..]).ok().flatten()?;
            let (LineMatchKind::Confirmed(at) | LineMatchKind::Candidate(at)) = found;
            let line = line_around(lines, from, from + at, self.terminator);
            // An empty match after the last newline is in no line.
            if line.is_empty() {
                return None;
            }
            if matches!(found, LineMatchKind::Confirmed(_)) || self.is_match(&lines[line.clone()]) {
                return Some(line);
            }
            from = line.end;
        }
        None
    }

    /// The next matching line, line by line: the expression looks at the borders of each line.
    fn next_slow(&self, lines: &[u8], mut from: usize) -> Option<Range<usize>> {
        while from < lines.len() {
            let line = line_around(lines, from, from, self.terminator);
            if self.is_match(&lines[line.clone()]) {
                return Some(line);
            }
            from = line.end;
        }
        None
    }

    fn is_match(&self, line: &[u8]) -> bool {
        let content = content(line, self.terminator);
        let crlf = self.matcher.line_terminator().is_some_and(|end| end.is_crlf());
        self.matcher.is_match(if crlf { content.strip_suffix(b"\r").unwrap_or(content) } else { content }).unwrap_or(false)
    }
}

/// Start of the text in a chunk: after the mark that some programs begin UTF-8 with, which is
/// in no line.
pub(crate) fn start_of_text(chunk: &Chunk) -> usize {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    if chunk.offset == 0 && chunk.bytes.starts_with(MARK) { MARK.len() } else { 0 }
}

/// Gives a buffer back as early as possible, while it is still in its core's cache: nothing of it
/// will be shown, and its part of an earlier line is mostly short.
fn let_go(chunk: &mut Chunk) {
    const COPY_BYTES_MAX: usize = 4 << 10;
    if chunk.before.len() <= COPY_BYTES_MAX {
        chunk.before = Bytes::copy_from_slice(&chunk.before);
        chunk.bytes = Bytes::new();
    }
}

/// Adds lines, to the last hit where they follow it.
fn add(hits: &mut Vec<HitRange>, lines: Range<usize>, line: u32) {
    // A chunk is a few hundred KiB: its places fit.
    let (start, end) = (lines.start as u32, lines.end as u32);
    match hits.last_mut() {
        Some(last) if last.end == start => last.end = end,
        _ => hits.push(HitRange { start, end, line }),
    }
}

/// The line with its end that contains `at`, not looking before `from`.
fn line_around(lines: &[u8], from: usize, at: usize, terminator: u8) -> Range<usize> {
    let start = memrchr(terminator, &lines[from..at]).map_or(from, |end| from + end + 1);
    let end = memchr(terminator, &lines[at..]).map_or(lines.len(), |end| at + end + 1);
    start..end
}

/// A line without its end.
fn content(line: &[u8], terminator: u8) -> &[u8] {
    line.strip_suffix(&[terminator]).unwrap_or(line)
}

fn count_ends(bytes: &[u8], terminator: u8) -> u32 {
    memchr_iter(terminator, bytes).count() as u32
}

/// Lines in a stretch that starts with one; the last may lack its end.
#[must_use]
pub fn count_lines(bytes: &[u8], terminator: u8) -> u64 {
    u64::from(count_ends(bytes, terminator)) + u64::from(!bytes.is_empty() && bytes.last() != Some(&terminator))
}

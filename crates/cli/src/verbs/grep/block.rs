//! Lines as text whose matches may go on over their ends.

use super::replacement::Replacing;
use super::text::{LinePieces, LinePosition, TextPrinter};
use grep_matcher::{Captures, Matcher};
use rorqual_search::MatchedBlock;
use std::io;
use std::ops::Range;
use std::sync::Arc;

impl TextPrinter {
    /// Lines with their matches marked, or the part of each match that lies in a line alone.
    pub(super) fn block_lines(&mut self, block: &MatchedBlock<'_>) -> io::Result<()> {
        let matcher = Arc::clone(&self.matcher);
        let alone = self.style.only_matching;
        let marked = (alone || self.style.colour).then(|| block.matches(&matcher).filter(|found| !found.is_empty()));
        let mut marked = marked.into_iter().flatten().peekable();
        let column = self.block_column(block);
        let mut pieces = self.pieces();
        for (number, line) in (block.number..).zip(lines_of(block, self.style.terminator)) {
            let offset = block.base + line.start as u64;
            let mut at = line.start;
            if !alone {
                self.prefix(&mut pieces.out, LinePosition { number, offset, column }, b':', line.is_empty());
            }
            while let Some(found) = next_in(&mut marked, at, line.end) {
                let part = found.start.max(at)..found.end.min(line.end);
                if alone {
                    let place = LinePosition::of_match(
                        number,
                        block.base + block.range.start as u64,
                        (found.start - block.range.start) as u64,
                    );
                    self.prefix(&mut pieces.out, place, b':', false);
                } else {
                    self.push(&mut pieces, false, &block.text[at..part.start]);
                }
                at = part.end;
                self.push(&mut pieces, true, &block.text[part]);
                if alone {
                    self.end_pieces(&mut pieces);
                }
            }
            if !alone {
                self.push(&mut pieces, false, &block.text[at..line.end]);
                self.end_pieces(&mut pieces);
            }
            if pieces.failed.is_err() {
                break;
            }
        }
        self.end(pieces)
    }

    /// Lines with their matches replaced, or these alone. A replacement may end lines, and a match
    /// that is replaced may have ended some.
    pub(super) fn block_replaced(&mut self, block: &MatchedBlock<'_>) -> io::Result<()> {
        let matcher = Arc::clone(&self.matcher);
        let replacement = std::mem::take(&mut self.replacement);
        let mut groups = matcher.new_captures().map_err(io::Error::other)?;
        let (text, range) = (block.text, block.range.clone());
        let offset = block.base + range.start as u64;
        let place = LinePosition { number: block.number, offset, column: self.block_column(block) };
        let mut lines = ReplacedLines { pieces: self.pieces(), place, begun: false };
        let mut end = range.start;
        let _ = matcher.captures_iter_at(text, range.start, &mut groups, |groups| {
            let Some(found) = groups.get(0).filter(|found| found.start() < range.end && found.end() <= range.end) else {
                return false;
            };
            self.push_lines(&mut lines, false, &text[end..found.start()]);
            end = found.end();
            if self.style.only_matching {
                let at = (found.start() - range.start) as u64;
                lines.place = LinePosition::of_match(lines.place.number, offset, at);
            }
            for part in &replacement {
                let bytes = match part {
                    Replacing::Text(text) => text,
                    Replacing::Group(group) => groups.get(*group).map_or(&[][..], |found| &text[found]),
                };
                self.push_lines(&mut lines, true, bytes);
            }
            if self.style.only_matching {
                self.end_replaced(&mut lines);
            }
            lines.pieces.failed.is_ok()
        });
        self.push_lines(&mut lines, false, &text[end..range.end]);
        self.end_replaced(&mut lines);
        self.replacement = replacement;
        self.end(lines.pieces)
    }

    /// Start of the first match from the start of the lines, from 1: as ripgrep has it, on each of
    /// them.
    fn block_column(&self, block: &MatchedBlock<'_>) -> Option<u64> {
        let first = || block.matches(&self.matcher).next().map_or(block.range.start, |found| found.start);
        self.style.columns.then(|| (first() - block.range.start) as u64 + 1)
    }

    fn push_lines(&mut self, lines: &mut ReplacedLines, matched: bool, bytes: &[u8]) {
        let (alone, end) = (self.style.only_matching, self.style.terminator);
        for part in bytes.split_inclusive(|byte| *byte == end) {
            let content = part.strip_suffix(&[end]).unwrap_or(part);
            let shown = matched || !alone;
            if shown && !(alone && content.is_empty()) {
                if !std::mem::replace(&mut lines.begun, true) {
                    self.prefix(&mut lines.pieces.out, lines.place, b':', content.is_empty());
                }
                self.push(&mut lines.pieces, matched, content);
            }
            if !alone {
                lines.place.offset += part.len() as u64;
            }
            if content.len() < part.len() {
                self.end_replaced(lines);
                lines.place.number += 1;
            }
        }
    }

    fn end_replaced(&mut self, lines: &mut ReplacedLines) {
        if std::mem::take(&mut lines.begun) {
            self.end_pieces(&mut lines.pieces);
        }
    }
}

/// Lines as they come of replacing.
struct ReplacedLines {
    pieces: LinePieces,
    /// Place of the present line, or of the match that is printed alone.
    place: LinePosition,
    /// Something of the present line was printed.
    begun: bool,
}

/// Lines of a block without their ends, as places in the text.
fn lines_of(block: &MatchedBlock<'_>, terminator: u8) -> impl Iterator<Item = Range<usize>> {
    let mut next = block.range.start;
    block.text[block.range.clone()].split_inclusive(move |byte| *byte == terminator).map(move |line| {
        let start = next;
        next += line.len();
        start..next - usize::from(line.last() == Some(&terminator))
    })
}

/// The next match that has bytes between `at` and `end`.
fn next_in(matches: &mut std::iter::Peekable<impl Iterator<Item = Range<usize>>>, at: usize, end: usize) -> Option<Range<usize>> {
    while matches.next_if(|found| found.end <= at).is_some() {}
    matches.peek().filter(|found| at < end && found.start < end).cloned()
}

//! Matches that may go on over the ends of lines, in a text that is held whole.

use crate::context_buffer::{lines_backward, lines_forward};
use crate::limits::BINARY_BYTES;
use crate::report::{LineSink, ReportSettings, ShownLines, Summary};
use crate::searcher::{SearchMode, Searcher, count_lines};
use bytes::Bytes;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use memchr::{memchr, memchr_iter, memrchr};
use rorqual_pipe::{Control, Error};
use std::ops::Range;

/// Lines that follow one another, each of which a match touches.
#[derive(Debug, Clone)]
pub struct MatchedBlock<'a> {
    /// The whole text.
    pub text: &'a Bytes,
    /// The lines in it.
    pub range: Range<usize>,
    /// Number of the first line, from 1; meaningless where lines are not numbered.
    pub number: u64,
    /// Start of the text in the decoded input.
    pub base: u64,
}

impl<'a> MatchedBlock<'a> {
    /// Its matches, in order, as places in the text. Empty ones are among them.
    #[must_use]
    pub fn matches<'m>(&self, matcher: &'m RegexMatcher) -> BlockMatches<'m>
    where
        'a: 'm,
    {
        BlockMatches { matcher, text: self.text, at: self.range.start, end: self.range.end, last_end: None }
    }

    /// Its lines.
    #[must_use]
    pub fn lines(&self) -> ShownLines<'a> {
        ShownLines {
            buffer: Some((self.text, self.range.start)),
            lines: &self.text[self.range.clone()],
            selected: true,
            number: self.number,
            offset: self.base + self.range.start as u64,
        }
    }
}

/// Matches of a [`MatchedBlock`], found again one after another: there may be as many as bytes.
#[derive(Debug)]
pub struct BlockMatches<'m> {
    matcher: &'m RegexMatcher,
    text: &'m [u8],
    at: usize,
    end: usize,
    last_end: Option<usize>,
}

impl Iterator for BlockMatches<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        while self.at < self.end {
            let found = self.matcher.find_at(self.text, self.at).ok().flatten();
            // After the last match of --max-count one may begin here and end after these lines.
            let Some(found) = found.filter(|found| found.start() < self.end && found.end() <= self.end) else {
                self.at = self.end;
                break;
            };
            self.at = found.end() + usize::from(found.is_empty());
            // After a match there is no empty one.
            if found.is_empty() && self.last_end == Some(found.end()) {
                continue;
            }
            self.last_end = Some(found.end());
            return Some(found.start()..found.end());
        }
        None
    }
}

/// Searches a text that is held whole, and that begins at `base` of the decoded input. The lines to
/// show are handed to `sink`; a stop ends it after those found by then. Selected are matches, and
/// with [`Searcher::invert`] lines.
///
/// # Errors
/// When the sink fails.
pub fn search_text<S: LineSink>(
    text: &Bytes,
    searcher: &Searcher,
    settings: ReportSettings,
    control: &Control,
    sink: S,
) -> Result<Summary, Error> {
    const MARK: &[u8] = b"\xef\xbb\xbf";
    let start = if text.starts_with(MARK) { MARK.len() } else { 0 };
    let is_binary = searcher.skip_binary && memchr(0, &text[..text.len().min(BINARY_BYTES)]).is_some();
    if is_binary {
        return Ok(Summary { enough: true, ..Summary::default() });
    }
    let text = &text.slice(start..);
    let search = TextSearch {
        text,
        base: start as u64,
        searcher,
        settings,
        control,
        sink,
        summary: Summary::default(),
        at: 0,
        found: 0,
        open: 0..0,
        shown_to: 0,
        shown_any: false,
        after_left: 0,
        counted_to: 0,
        lines: 0,
    };
    search.run()
}

struct TextSearch<'a, S> {
    text: &'a Bytes,
    base: u64,
    searcher: &'a Searcher,
    settings: ReportSettings,
    control: &'a Control,
    sink: S,
    summary: Summary,
    /// The place to look for the next match from.
    at: usize,
    /// Matches so far.
    found: u64,
    /// Lines that the last matches touch, to which the next may add.
    open: Range<usize>,
    /// Everything up to here was shown or passed over for good.
    shown_to: usize,
    shown_any: bool,
    /// Lines still to be shown after the last selected one.
    after_left: usize,
    /// Lines before `counted_to`.
    lines: u64,
    counted_to: usize,
}

impl<S: LineSink> TextSearch<'_, S> {
    /// The byte at the end of each line.
    fn end(&self) -> u8 {
        self.searcher.terminator
    }

    fn run(mut self) -> Result<Summary, Error> {
        let mut passed = 0;
        while let Some(block) = self.next_block() {
            if self.searcher.invert {
                self.lines_without_match(passed..block.start)?;
                passed = block.end;
            } else {
                self.block(block)?;
            }
            let enough = self.searcher.invert && self.summary.selected >= self.settings.selected_max;
            if enough || self.control.stopped() {
                break;
            }
        }
        if self.searcher.invert && !self.control.stopped() {
            self.lines_without_match(passed..self.text.len())?;
        }
        self.show_after(self.text.len())?;
        let of_all = if self.searcher.invert { self.summary.selected } else { self.found };
        self.summary.enough = of_all >= self.settings.selected_max;
        Ok(self.summary)
    }

    /// The next lines that matches touch: those of matches whose lines overlap or adjoin.
    fn next_block(&mut self) -> Option<Range<usize>> {
        while let Some(found) = self.next_match() {
            if found.start < self.open.end {
                if found.end > self.open.end {
                    self.open.end = self.end_of_line(found.start, found.end);
                }
                continue;
            }
            let from = self.open.end;
            let start = memrchr(self.end(), &self.text[from..found.start]).map_or(from, |end| from + end + 1);
            let end = self.end_of_line(start, found.end);
            if self.open.end >= start {
                self.open.end = end;
                continue;
            }
            let block = std::mem::replace(&mut self.open, start..end);
            if !block.is_empty() {
                return Some(block);
            }
        }
        let last = std::mem::replace(&mut self.open, self.text.len()..self.text.len());
        (!last.is_empty()).then_some(last)
    }

    /// End of the line of the last byte of a match, or of the place of an empty one.
    fn end_of_line(&self, start: usize, end: usize) -> usize {
        if end > start && self.text[end - 1] == self.end() {
            return end;
        }
        memchr(self.end(), &self.text[end..]).map_or(self.text.len(), |length| end + length + 1)
    }

    fn next_match(&mut self) -> Option<Range<usize>> {
        let enough = !self.searcher.invert && self.found >= self.settings.selected_max;
        if self.at >= self.text.len() || enough || self.control.stopped() {
            return None;
        }
        let Some(found) = self.searcher.matcher.find_at(self.text, self.at).ok().flatten() else {
            self.at = self.text.len();
            return None;
        };
        // After the end of the last line there is none.
        let is_last = found.start() == self.text.len() && self.text.last() == Some(&self.end());
        self.found += u64::from(!is_last);
        self.at = found.end() + usize::from(found.is_empty());
        (!is_last).then(|| found.start()..found.end())
    }

    fn block(&mut self, range: Range<usize>) -> Result<(), Error> {
        self.summary.selected_end = self.base + range.end as u64;
        if self.searcher.mode == SearchMode::Count {
            let block = MatchedBlock { text: self.text, range, number: 0, base: self.base };
            let matches = block.matches(&self.searcher.matcher).take_while(|_| !self.control.stopped()).count();
            // An empty match at the end of a last line without its end is after its bytes.
            self.summary.selected += matches.max(1) as u64;
            return Ok(());
        }
        self.show_around(range.start)?;
        let number = self.number(range.start);
        let (shown_to, text, base) = (range.end, self.text, self.base);
        self.sink.block(MatchedBlock { text, range, number, base })?;
        self.selected(shown_to, 1);
        Ok(())
    }

    fn lines_without_match(&mut self, mut range: Range<usize>) -> Result<(), Error> {
        let room = usize::try_from(self.settings.selected_max - self.summary.selected).unwrap_or(usize::MAX);
        if room < range.len() {
            range.end = range.start + lines_forward(&self.text[range.clone()], room, self.end()).0;
        }
        if range.is_empty() {
            return Ok(());
        }
        self.summary.selected_end = self.base + range.end as u64;
        let lines = count_lines(&self.text[range.clone()], self.end());
        if self.searcher.mode == SearchMode::Count {
            self.summary.selected += lines;
            return Ok(());
        }
        self.show_around(range.start)?;
        self.part(range.clone(), true)?;
        self.selected(range.end, lines);
        Ok(())
    }

    fn selected(&mut self, to: usize, count: u64) {
        self.summary.selected += count;
        (self.shown_to, self.shown_any, self.after_left) = (to, true, self.settings.after);
    }

    /// Lines after the last selected one and before the one at `start`.
    fn show_around(&mut self, start: usize) -> Result<(), Error> {
        if !self.settings.around {
            return Ok(());
        }
        self.show_after(start)?;
        let (length, _) = lines_backward(&self.text[self.shown_to..start], self.settings.before, self.end());
        let from = start - length;
        if self.shown_any && from > self.shown_to {
            self.sink.gap()?;
        }
        if length > 0 { self.part(from..start, false) } else { Ok(()) }
    }

    fn show_after(&mut self, limit: usize) -> Result<(), Error> {
        let start = self.shown_to;
        if self.after_left == 0 || start >= limit {
            return Ok(());
        }
        let (length, lines) = lines_forward(&self.text[start..limit], self.after_left, self.end());
        self.part(start..start + length, false)?;
        self.after_left -= lines;
        self.shown_to = start + length;
        Ok(())
    }

    fn part(&mut self, range: Range<usize>, selected: bool) -> Result<(), Error> {
        let number = self.number(range.start);
        let (lines, offset) = (&self.text[range.clone()], self.base + range.start as u64);
        self.sink.part(ShownLines { buffer: Some((self.text, range.start)), lines, selected, number, offset })
    }

    /// Number of the line at `start`, which is at or after the one asked for before.
    fn number(&mut self, start: usize) -> u64 {
        if self.searcher.numbered {
            self.lines += memchr_iter(self.end(), &self.text[self.counted_to..start]).count() as u64;
            self.counted_to = start;
        }
        self.lines + 1
    }
}

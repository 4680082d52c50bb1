//! Joins the hits of all workers, in the order of the input.

use crate::context_buffer::{ContextBuffer, ContextPiece, PassedLine, lines_backward, lines_forward};
use crate::hits::{ChunkHits, HitBatch, HitRange};
use crate::multiline::MatchedBlock;
use crate::pattern::Expression;
use crate::searcher::{SearchMode, Searcher, count_lines, start_of_text};
use bytes::Bytes;
use rorqual_pipe::{Chunk, Error, ErrorClass, Lease};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Use of the selected lines.
#[derive(Debug, Clone, Copy)]
pub struct ReportSettings {
    /// Lines around selected ones were asked for, so that gaps between them are said;
    /// also where none are.
    pub around: bool,
    /// Lines shown before a selected one.
    pub before: usize,
    /// Lines shown after a selected one.
    pub after: usize,
    /// Stop after this many selected lines.
    pub selected_max: u64,
    /// Over-long lines are shown as they come, before it is known whether they are selected: who
    /// prints matches alone prints nothing of the others.
    pub eager: bool,
    /// Most memory for lines before a selected one that lie in earlier chunks, in bytes.
    pub context_bytes_max: usize,
}

/// Lines to show: whole, each with its newline but for the last of the input.
#[derive(Debug, Clone, Copy)]
pub struct ShownLines<'a> {
    /// The buffer that holds them, where they can be pointed at, with the place in it; or where
    /// they were copied to.
    pub buffer: Option<(&'a Bytes, usize)>,
    /// The lines.
    pub lines: &'a [u8],
    /// True for selected lines, false for lines around them.
    pub selected: bool,
    /// Number of the first line, from 1; meaningless where lines are not numbered.
    pub number: u64,
    /// Start of the first line in the decoded input.
    pub offset: u64,
}

/// An over-long line to show, in pieces.
#[derive(Debug, Clone, Copy)]
pub enum LongPiece<'a> {
    /// The line begins.
    Start {
        /// True for a selected line, false for one around it.
        selected: bool,
        /// Its number, from 1.
        number: u64,
        /// Its start in the decoded input.
        offset: u64,
    },
    /// Its next bytes.
    Bytes(&'a [u8]),
    /// Its next bytes were not kept: the input can't be read again, and it was not known yet that
    /// the line is selected.
    Lost(u64),
    /// The line is over; with its newline, unless it is the input's last.
    End {
        /// True where it had a newline.
        newline: bool,
        /// True where it matches; of one that is shown as it comes, this is known now.
        matched: bool,
    },
}

/// Shows lines.
pub trait LineSink {
    /// Lines that follow one another.
    ///
    /// # Errors
    /// An error ends the search.
    fn part(&mut self, part: ShownLines<'_>) -> Result<(), Error>;

    /// Selected lines with matches that may go on over their ends.
    ///
    /// # Errors
    /// An error ends the search.
    fn block(&mut self, block: MatchedBlock<'_>) -> Result<(), Error>;

    /// Lines were left out since the part before.
    ///
    /// # Errors
    /// An error ends the search.
    fn gap(&mut self) -> Result<(), Error>;

    /// A line that is not held whole.
    ///
    /// # Errors
    /// An error ends the search.
    fn long(&mut self, piece: LongPiece<'_>) -> Result<(), Error>;
}

/// Result of one input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Selected lines; at most `selected_max`.
    pub selected: u64,
    /// Lines before a selected one were left out: there was no memory to keep that many.
    pub context_cut: bool,
    /// The wanted number of lines was found, and the rest of the input was left.
    pub enough: bool,
    /// After the last selected line, in the decoded input; meaningless where lines are counted
    /// only.
    pub selected_end: u64,
}

/// An input that can be read again, and a buffer to do it with.
pub struct RereadInput {
    /// The file.
    pub file: File,
    /// Its name in messages.
    pub name: String,
    /// The buffer.
    pub buffer: Lease,
}

/// Takes the hits of one input, chunk after chunk.
pub struct SearchReport<'a, S> {
    settings: ReportSettings,
    name: &'a str,
    expression: &'a mut Expression,
    searcher: Searcher,
    again: Option<RereadInput>,
    sink: S,
    summary: Summary,
    /// Lines before the present chunk.
    lines: u64,
    /// Everything up to here was shown or passed over for good, and how many lines that were.
    shown_to: u64,
    shown_lines: u64,
    shown_any: bool,
    /// Lines still to be shown after the last selected one.
    after_left: usize,
    passed: ContextBuffer,
    long: Option<LongLine>,
}

/// An over-long line that is passing.
struct LongLine {
    offset: u64,
    number: u64,
    /// Everything before this offset was fed to the automaton.
    fed_to: u64,
    /// Its first bytes, as long as they may have to be shown.
    head: Bytes,
    /// True while it is shown as it comes.
    shown: bool,
}

impl<'a, S: LineSink> SearchReport<'a, S> {
    /// A report on the input called `name`. `again` is the same input where it is a plain file.
    #[must_use]
    pub fn new(
        settings: ReportSettings,
        name: &'a str,
        expression: &'a mut Expression,
        searcher: Searcher,
        again: Option<RereadInput>,
        sink: S,
    ) -> Self {
        let passed = ContextBuffer::new(settings.before, settings.context_bytes_max, searcher.terminator);
        Self {
            settings,
            name,
            expression,
            searcher,
            again,
            sink,
            summary: Summary::default(),
            lines: 0,
            shown_to: 0,
            shown_lines: 0,
            shown_any: false,
            after_left: 0,
            passed,
            long: None,
        }
    }

    /// Takes the hits of the next chunk.
    ///
    /// # Errors
    /// When the sink fails, or a pattern can't be made fit for over-long lines; and
    /// [`ErrorClass::Stopped`] when there is enough.
    pub fn take(&mut self, found: ChunkHits) -> Result<(), Error> {
        let ChunkHits { chunk, mut batch } = found;
        if batch.binary {
            self.summary.enough = true;
            return Err(Error::new(ErrorClass::Stopped, "", "it is not text"));
        }
        if self.long.is_some() {
            self.long_goes_on(&chunk)?;
        }
        // A worker lets go of a chunk in which it found nothing.
        let whole = chunk.long_start().unwrap_or(chunk.bytes.len());
        let start = start_of_text(&chunk).min(whole);
        self.shown_to = self.shown_to.max(start as u64);
        self.batch(&chunk, &batch)?;
        while batch.next < whole {
            self.searcher.search(&chunk.bytes[..whole], &mut batch);
            self.batch(&chunk, &batch)?;
        }
        if self.around() && whole > 0 {
            self.show_after(&chunk, whole)?;
            self.passed.add_lines(&chunk.bytes[start..whole], chunk.offset + start as u64, self.lines + 1);
        }
        self.lines += u64::from(batch.lines);
        match chunk.long_start() {
            Some(long) => self.long_starts(&chunk, long.max(start_of_text(&chunk))),
            None => Ok(()),
        }
    }

    /// The input is over: ends an over-long line that has no newline.
    ///
    /// # Errors
    /// When the sink fails.
    pub fn finish(mut self) -> Result<Summary, Error> {
        let ended = if self.long.is_some() { self.long_ends(false) } else { Ok(()) };
        self.summary.context_cut = self.passed.missed;
        match ended {
            Err(error) if !self.summary.enough => Err(error),
            _ => Ok(self.summary),
        }
    }

    /// The sink that shows lines.
    pub fn sink(&mut self) -> &mut S {
        &mut self.sink
    }

    fn around(&self) -> bool {
        self.settings.around
    }

    fn count_lines(&self, bytes: &[u8]) -> u64 {
        count_lines(bytes, self.searcher.terminator)
    }

    fn batch(&mut self, chunk: &Chunk, batch: &HitBatch) -> Result<(), Error> {
        if self.searcher.mode == SearchMode::Count {
            return self.select(batch.selected).map(|_| ());
        }
        for hit in &batch.hits {
            let bytes = &chunk.bytes[hit.start as usize..hit.end as usize];
            let room = self.settings.selected_max - self.summary.selected;
            let hit = if room < bytes.len() as u64 { self.first_lines(bytes, *hit, room) } else { *hit };
            self.show_hit(chunk, hit)?;
            let lines = self.count_lines(&chunk.bytes[hit.start as usize..hit.end as usize]);
            if lines > 0 && room > 0 {
                self.summary.selected_end = chunk.offset + u64::from(hit.end);
            }
            self.select(lines)?;
        }
        Ok(())
    }

    /// Counts selected lines; an error once there are enough and nothing is left to show.
    fn select(&mut self, lines: u64) -> Result<(), Error> {
        self.summary.selected = self.summary.selected.saturating_add(lines).min(self.settings.selected_max);
        self.check_enough()
    }

    fn has_enough(&self) -> bool {
        self.summary.selected >= self.settings.selected_max
    }

    fn check_enough(&mut self) -> Result<(), Error> {
        if !self.has_enough() || self.after_left > 0 {
            return Ok(());
        }
        self.summary.enough = true;
        Err(Error::new(ErrorClass::Stopped, "", "enough lines were found"))
    }

    fn show_hit(&mut self, chunk: &Chunk, hit: HitRange) -> Result<(), Error> {
        let (start, end) = (hit.start as usize, hit.end as usize);
        let number = self.lines + u64::from(hit.line) + 1;
        if self.around() {
            self.show_after(chunk, start)?;
            if self.has_enough() {
                return Ok(());
            }
            self.show_before(chunk, start, number)?;
        }
        self.show(chunk, start..end, true, number)?;
        self.after_left = self.settings.after;
        Ok(())
    }

    fn show(&mut self, chunk: &Chunk, range: std::ops::Range<usize>, selected: bool, number: u64) -> Result<(), Error> {
        let offset = chunk.offset + range.start as u64;
        let lines = &chunk.bytes[range.clone()];
        self.sink.part(ShownLines { buffer: Some((&chunk.bytes, range.start)), lines, selected, number, offset })?;
        if self.around() {
            self.mark_shown(offset + lines.len() as u64, number.saturating_sub(1) + self.count_lines(lines));
        }
        Ok(())
    }

    fn mark_shown(&mut self, to: u64, lines: u64) {
        (self.shown_to, self.shown_lines, self.shown_any) = (to, lines, true);
    }

    /// Shows the lines still owed after the last selected one, up to `limit` of the chunk.
    fn show_after(&mut self, chunk: &Chunk, limit: usize) -> Result<(), Error> {
        let start = self.shown_to.saturating_sub(chunk.offset) as usize;
        if self.after_left == 0 || start >= limit {
            return Ok(());
        }
        let (length, lines) = lines_forward(&chunk.bytes[start..limit], self.after_left, self.searcher.terminator);
        self.show(chunk, start..start + length, false, self.shown_lines + 1)?;
        self.after_left -= lines;
        if self.after_left == 0 { self.check_enough() } else { Ok(()) }
    }

    /// Shows the lines before the one at `start` that were not shown yet.
    fn show_before(&mut self, chunk: &Chunk, start: usize, number: u64) -> Result<(), Error> {
        let first = (self.shown_to.saturating_sub(chunk.offset) as usize).min(start);
        let (length, lines) = lines_backward(&chunk.bytes[first..start], self.settings.before, self.searcher.terminator);
        let from = start - length;
        // Lines before the chunk, where those in it reach up to its start.
        let wanted = if from == 0 { self.settings.before - lines } else { 0 };
        let earlier = self.passed.last_lines(wanted, self.shown_to, chunk.offset);
        let offset = earlier.first().map_or(chunk.offset + from as u64, ContextPiece::offset);
        if self.shown_any && offset > self.shown_to {
            self.sink.gap()?;
        }
        for piece in earlier {
            match piece {
                ContextPiece::Lines { bytes, number, offset, .. } => {
                    let part = ShownLines { buffer: None, lines: &bytes, selected: false, number, offset };
                    self.sink.part(part)?;
                }
                ContextPiece::Long(line) => self.show_passed(&line, false, self.searcher.invert)?,
            }
        }
        if length > 0 {
            // Where lines are not numbered, it is nothing anyway.
            self.show(chunk, from..start, false, number.saturating_sub(lines as u64))?;
        }
        Ok(())
    }

    // Over-long lines.

    fn long_starts(&mut self, chunk: &Chunk, start: usize) -> Result<(), Error> {
        self.expression.long().map_err(|error| Error::new(ErrorClass::Limit, self.name, error.to_string()))?.start();
        let offset = chunk.offset + start as u64;
        let head = chunk.bytes.slice(start..);
        let (number, shown) = (self.lines + 1, self.settings.eager);
        self.long = Some(LongLine { offset, number, fed_to: offset, head: Bytes::new(), shown });
        if shown {
            self.sink.long(LongPiece::Start { selected: true, number, offset })?;
        }
        self.long_bytes(&head)?;
        if let Some(long) = self.long.as_mut().filter(|long| !long.shown && self.searcher.mode == SearchMode::Lines) {
            long.head = head;
        }
        Ok(())
    }

    fn long_goes_on(&mut self, chunk: &Chunk) -> Result<(), Error> {
        let fed_to = self.long.as_ref().map_or(0, |long| long.fed_to);
        if chunk.zeros > 0 {
            return self.long_zeros((chunk.offset + chunk.zeros).saturating_sub(fed_to));
        }
        let known = fed_to.saturating_sub(chunk.before_offset).min(chunk.before.len() as u64) as usize;
        let piece = &chunk.before[known..];
        match piece.strip_suffix(&[self.searcher.terminator]) {
            Some(content) => {
                self.long_bytes(content)?;
                self.long_ends(true)
            }
            None => self.long_bytes(piece),
        }
    }

    fn long_bytes(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let wanted = !self.searcher.invert && !self.has_enough();
        let (Some(long), Ok(matcher)) = (&mut self.long, self.expression.long()) else { return Ok(()) };
        let at = long.fed_to;
        long.fed_to += bytes.len() as u64;
        let matched = matcher.feed(bytes);
        if long.shown {
            return self.sink.long(LongPiece::Bytes(bytes));
        }
        // Everything so far is at hand, so it can be shown from here on as it comes.
        let at_hand = at == long.offset + long.head.len() as u64;
        if matched && at_hand && wanted && self.searcher.mode == SearchMode::Lines {
            long.shown = true;
            let head = std::mem::take(&mut long.head);
            let (number, offset) = (long.number, long.offset);
            self.before_long(number, offset)?;
            self.sink.long(LongPiece::Start { selected: true, number, offset })?;
            if !head.is_empty() {
                self.sink.long(LongPiece::Bytes(&head))?;
            }
            return self.sink.long(LongPiece::Bytes(bytes));
        }
        Ok(())
    }

    fn long_zeros(&mut self, count: u64) -> Result<(), Error> {
        let (Some(long), Ok(matcher)) = (&mut self.long, self.expression.long()) else { return Ok(()) };
        long.fed_to += count;
        matcher.feed_zeros(count);
        if long.shown {
            return self.show_zeros(count);
        }
        Ok(())
    }

    fn show_zeros(&mut self, mut count: u64) -> Result<(), Error> {
        const ZEROS: [u8; 16 << 10] = [0; 16 << 10];
        while count > 0 {
            let length = count.min(ZEROS.len() as u64);
            self.sink.long(LongPiece::Bytes(&ZEROS[..length as usize]))?;
            count -= length;
        }
        Ok(())
    }

    fn long_ends(&mut self, newline: bool) -> Result<(), Error> {
        let Some(long) = self.long.take() else { return Ok(()) };
        let matched = self.expression.long().is_ok_and(|matcher| matcher.finish(newline));
        // Of the lines after the last one that is wanted, none is selected any more.
        let selected = matched != self.searcher.invert && !self.has_enough();
        let lines = self.searcher.mode == SearchMode::Lines;
        let around = lines && !selected && self.after_left > 0;
        let line =
            PassedLine { offset: long.offset, number: long.number, bytes: long.fed_to - long.offset, newline, head: long.head };
        if long.shown {
            self.sink.long(LongPiece::End { newline, matched })?;
        } else if lines && selected {
            self.before_long(line.number, line.offset)?;
            self.show_passed(&line, true, matched)?;
        } else if around {
            self.show_passed(&line, false, matched)?;
        }
        self.lines = line.number;
        if selected || around {
            self.mark_shown(line.end(), line.number);
        }
        self.passed.add_long(&line);
        if selected {
            self.summary.selected_end = line.end();
            self.after_left = if lines { self.settings.after } else { 0 };
            return self.select(1);
        }
        self.after_left -= usize::from(around);
        if around && self.after_left == 0 { self.check_enough() } else { Ok(()) }
    }

    /// Shows the lines before an over-long one that is selected.
    fn before_long(&mut self, number: u64, offset: u64) -> Result<(), Error> {
        if self.around() { self.show_before(&Chunk::empty(offset, usize::MAX), 0, number) } else { Ok(()) }
    }

    /// Shows an over-long line that has passed: the file is read again, or else its head is all
    /// there is.
    fn show_passed(&mut self, line: &PassedLine, selected: bool, matched: bool) -> Result<(), Error> {
        self.sink.long(LongPiece::Start { selected, number: line.number, offset: line.offset })?;
        let end = line.offset + line.bytes;
        if let Some(again) = &mut self.again {
            let mut at = line.offset;
            while at < end {
                let length = (end - at).min(again.buffer.len() as u64) as usize;
                let read = again.file.read_at(&mut again.buffer[..length], at);
                let read = read.map_err(|cause| Error::io(&again.name, "cannot read again", cause).at(at))?;
                if read == 0 {
                    return Err(Error::new(ErrorClass::Truncated, &again.name, "the file shrank while it was read").at(at));
                }
                self.sink.long(LongPiece::Bytes(&again.buffer[..read]))?;
                at += read as u64;
            }
        } else {
            self.sink.long(LongPiece::Bytes(&line.head))?;
            let lost = line.bytes - line.head.len() as u64;
            if lost > 0 {
                self.sink.long(LongPiece::Lost(lost))?;
            }
        }
        self.sink.long(LongPiece::End { newline: line.newline, matched })
    }

    /// The first `count` lines of a hit.
    fn first_lines(&self, bytes: &[u8], hit: HitRange, count: u64) -> HitRange {
        let (length, _) = lines_forward(bytes, usize::try_from(count).unwrap_or(usize::MAX), self.searcher.terminator);
        HitRange { end: hit.start + length as u32, ..hit }
    }
}

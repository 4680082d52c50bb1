//! Found lines as text, as grep prints them.

use crate::args::GrepArgs;
use crate::message;
use crate::verbs::grep::one_line;
use crate::verbs::grep::ordered_output::OrderedOutput;
use crate::verbs::grep::printer::output_error;
use crate::verbs::grep::replacement::{self, Replacing};
use anstyle::{AnsiColor, Style as Colour};
use grep_matcher::{Captures, Matcher};
use grep_regex::RegexMatcher;
use rorqual_pipe::Error;
use rorqual_pipe::gather::{COPY_BYTES_MAX, Gather};
use rorqual_search::{Expression, LongMatches, LongPiece, MatchedBlock, ShownLines, each_match};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

/// A line on a terminal is cut after this many bytes unless a flag says otherwise.
const COLUMNS_MAX_TERMINAL: usize = 4096;

/// Reasons why a line of which only pieces are held is not printed as asked for.
const NOT_REPLACED: &str = "is longer than --line-max, and its matches are not replaced (a larger --line-max holds more)";
const WITHOUT_COLUMN: &str = "is longer than --line-max, and is printed without its column (a larger --line-max holds more)";

/// Bytes of a line that wait before they are printed.
const WAITING_BYTES: usize = 64 << 10;

/// Style of printed lines.
pub(crate) struct PrintStyle {
    names: bool,
    /// A tab follows what stands before a line.
    tab: bool,
    /// A NUL follows a name.
    null: bool,
    numbers: bool,
    pub(super) columns: bool,
    offsets: bool,
    /// Groups of lines are told apart.
    around: bool,
    /// Something else is printed in place of a match.
    replaces: bool,
    /// The byte that ends a line.
    pub(super) terminator: u8,
    /// Selected lines have no match.
    invert: bool,
    pub(super) only_matching: bool,
    pub(super) colour: bool,
    /// Control characters are made visible.
    escape: bool,
    columns_max: usize,
}

impl PrintStyle {
    pub(crate) fn of(args: &GrepArgs, names: bool) -> Self {
        let terminal = io::stdout().is_terminal();
        let columns_max = args.max_columns.unwrap_or(if terminal { COLUMNS_MAX_TERMINAL } else { 0 });
        Self {
            names,
            tab: args.initial_tab,
            null: args.null,
            numbers: args.line_number || args.column,
            columns: args.column,
            around: [args.context, args.before_context, args.after_context] != [None; 3],
            replaces: args.replace.is_some(),
            terminator: if args.null_data { 0 } else { b'\n' },
            invert: args.invert_match,
            offsets: args.byte_offset,
            only_matching: args.only_matching,
            colour: anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
            escape: terminal,
            columns_max: if columns_max == 0 { usize::MAX } else { columns_max },
        }
    }

    /// Lines leave as they are.
    fn plain(&self) -> bool {
        let dressed = self.names || self.numbers || self.offsets || self.only_matching || self.colour || self.escape;
        !dressed && !self.replaces && self.columns_max == usize::MAX
    }
}

/// Prints lines.
pub(crate) struct TextPrinter {
    pub(super) style: PrintStyle,
    plain: bool,
    /// Shared, as a clone of a matcher begins with empty caches.
    pub(super) matcher: Arc<RegexMatcher>,
    pub(super) out: Gather<OrderedOutput>,
    name: Vec<u8>,
    /// Something was shown of this input.
    shown: bool,
    /// Parts printed in place of a match.
    pub(super) replacement: Vec<Replacing>,
    /// One line with its dress; kept for its room.
    line: Vec<u8>,
    long: TextLongLine,
    /// The present one is around a selected line, and matches alone are printed.
    long_hidden: bool,
    /// `None` while it is at work.
    long_matches: Option<LongMatches>,
    /// Something could not be printed whole, and that was said.
    pub(crate) lost_something: bool,
}

/// Place of a line or a match.
#[derive(Clone, Copy)]
pub(super) struct LinePosition {
    pub(super) number: u64,
    pub(super) offset: u64,
    pub(super) column: Option<u64>,
}

impl LinePosition {
    /// A match at `at` of a line.
    pub(super) fn of_match(number: u64, offset: u64, at: u64) -> Self {
        Self { number, offset: offset + at, column: Some(at + 1) }
    }
}

/// A line that is printed in pieces.
pub(super) struct LinePieces {
    pub(super) out: Vec<u8>,
    /// Bytes of it that may still be printed, and that were not.
    room: usize,
    lost: usize,
    pub(super) failed: io::Result<()>,
}

/// The over-long line that is being printed.
#[derive(Default)]
struct TextLongLine {
    number: u64,
    offset: u64,
    /// Bytes of it that were given so far, and that were printed.
    given: u64,
    printed: u64,
    lost: u64,
    /// Part of the output that takes the whole line, as a reason.
    lacks: Option<&'static str>,
}

impl TextPrinter {
    pub(crate) fn new(style: PrintStyle, replacement: Option<&str>, expression: &Expression, out: Gather<OrderedOutput>) -> Self {
        let replacement = replacement.map_or_else(Vec::new, |text| replacement::parts(text, &expression.matcher()));
        Self {
            replacement,
            plain: style.plain(),
            style,
            matcher: Arc::new(expression.matcher()),
            out,
            name: Vec::new(),
            shown: false,
            line: Vec::new(),
            long: TextLongLine::default(),
            long_hidden: false,
            long_matches: Some(LongMatches::new(expression)),
            lost_something: false,
        }
    }

    pub(crate) fn start(&mut self, name: &[u8]) {
        name.clone_into(&mut self.name);
        self.shown = false;
    }

    /// The input is over.
    pub(super) fn input_ended(&self) {
        if self.shown {
            self.out.writer().mark_shown();
        }
    }

    pub(crate) fn settle(&mut self, live: bool) -> Result<(), Error> {
        let flushed = if live { self.out.flush() } else { self.out.flush_shared() };
        flushed.map_err(output_error)
    }

    pub(crate) fn part(&mut self, part: ShownLines<'_>) -> Result<(), Error> {
        self.begin()?;
        if self.style.only_matching && (!part.selected || self.style.invert) {
            return Ok(());
        }
        if self.plain { self.whole(part).map_err(output_error) } else { self.dressed(part).map_err(output_error) }
    }

    /// Lines with matches that may go on over their ends.
    pub(crate) fn block(&mut self, block: &MatchedBlock<'_>) -> Result<(), Error> {
        self.begin()?;
        let printed = match &self.style {
            _ if self.plain => self.whole(block.lines()),
            PrintStyle { replaces: true, .. } => self.block_replaced(block),
            _ => self.block_lines(block),
        };
        printed.map_err(output_error)
    }

    /// Something of the input is to be shown: the first of it does not follow what was shown of
    /// another.
    fn begin(&mut self) -> Result<(), Error> {
        let is_first = !std::mem::replace(&mut self.shown, true);
        if is_first && self.style.around && self.out.writer_mut().needs_gap(&gap_line(self.style.colour)) {
            return self.gap();
        }
        Ok(())
    }

    pub(crate) fn gap(&mut self) -> Result<(), Error> {
        self.out.push_copy(&gap_line(self.style.colour)).map_err(output_error)
    }

    /// Lines as they are: large stretches leave from where they are.
    fn whole(&mut self, part: ShownLines<'_>) -> io::Result<()> {
        match part.buffer {
            Some((buffer, start)) if part.lines.len() > COPY_BYTES_MAX => {
                self.out.push(buffer.slice(start..start + part.lines.len()))?;
            }
            _ => self.out.push_copy(part.lines)?,
        }
        let end = self.style.terminator;
        if part.lines.last() == Some(&end) { Ok(()) } else { self.out.push_copy(&[end]) }
    }

    fn dressed(&mut self, part: ShownLines<'_>) -> io::Result<()> {
        let mut rest = part.lines;
        let (mut number, mut offset) = (part.number, part.offset);
        while !rest.is_empty() {
            let end = memchr::memchr(self.style.terminator, rest).unwrap_or(rest.len());
            let line = &rest[..end];
            if self.style.replaces && part.selected && !self.style.invert {
                self.replaced(line, number, offset)?;
            } else if self.style.only_matching {
                self.only_matches(line, number, offset)?;
            } else {
                self.line(line, number, offset, part.selected)?;
            }
            let length = (end + 1).min(rest.len());
            rest = &rest[length..];
            number += 1;
            offset += length as u64;
        }
        Ok(())
    }

    fn only_matches(&mut self, line: &[u8], number: u64, offset: u64) -> io::Result<()> {
        let matcher = Arc::clone(&self.matcher);
        each_match(&matcher, line, |found| {
            let place = LinePosition { number, offset: offset + found.start as u64, column: Some(found.start as u64 + 1) };
            self.one_match(&line[found.clone()], place)
        })
    }

    fn one_match(&mut self, bytes: &[u8], place: LinePosition) -> io::Result<()> {
        let mut out = std::mem::take(&mut self.line);
        out.clear();
        self.prefix(&mut out, place, b':', bytes.is_empty());
        let shown = &bytes[..bytes.len().min(self.style.columns_max)];
        put_bytes(&mut out, &self.style, true, shown);
        more(&mut out, bytes.len() - shown.len());
        out.push(self.style.terminator);
        let pushed = self.out.push_copy(&out);
        self.line = out;
        pushed
    }

    fn line(&mut self, line: &[u8], number: u64, offset: u64, selected: bool) -> io::Result<()> {
        let mut pieces = self.pieces();
        let place = LinePosition { number, offset, column: if selected { self.column(line) } else { None } };
        self.prefix(&mut pieces.out, place, if selected { b':' } else { b'-' }, line.is_empty());
        let mut end = 0;
        if self.style.colour && selected && !self.style.invert {
            let matcher = Arc::clone(&self.matcher);
            let _ = each_match(&matcher, line, |found| {
                self.push(&mut pieces, false, &line[end..found.start]);
                self.push(&mut pieces, true, &line[found.clone()]);
                end = found.end;
                if pieces.room > 0 { Ok(()) } else { Err(()) }
            });
        }
        self.push(&mut pieces, false, &line[end..]);
        self.end_pieces(&mut pieces);
        self.end(pieces)
    }

    /// Start of the first match, from 1.
    fn column(&self, line: &[u8]) -> Option<u64> {
        let wanted = self.style.columns && !self.style.invert;
        wanted.then(|| self.matcher.find(line).ok().flatten().map_or(1, |found| found.start() as u64 + 1))
    }

    /// A line with its matches replaced, or these alone. What comes of it may be many times as long
    /// as the line: it leaves in pieces.
    fn replaced(&mut self, line: &[u8], number: u64, offset: u64) -> io::Result<()> {
        let matcher = Arc::clone(&self.matcher);
        let replacement = std::mem::take(&mut self.replacement);
        let mut groups = matcher.new_captures().map_err(io::Error::other)?;
        let alone = self.style.only_matching;
        let mut pieces = self.pieces();
        if !alone {
            let place = LinePosition { number, offset, column: self.column(line) };
            self.prefix(&mut pieces.out, place, b':', line.is_empty());
        }
        // Where a carriage return belongs to the end of the line, there is no place after it.
        let crlf = matcher.line_terminator().is_some_and(|end| end.is_crlf());
        let text = if crlf { line.strip_suffix(b"\r").unwrap_or(line) } else { line };
        let mut end = 0;
        let _ = matcher.captures_iter(text, &mut groups, |groups| {
            let Some(found) = groups.get(0) else { return true };
            if alone && found.is_empty() {
                return true;
            }
            if alone {
                self.prefix(&mut pieces.out, LinePosition::of_match(number, offset, found.start() as u64), b':', false);
            } else {
                self.push(&mut pieces, false, &line[end..found.start()]);
            }
            end = found.end();
            for part in &replacement {
                let bytes = match part {
                    Replacing::Text(text) => text,
                    Replacing::Group(group) => groups.get(*group).map_or(&[][..], |found| &line[found]),
                };
                self.push(&mut pieces, true, bytes);
            }
            if alone {
                self.end_pieces(&mut pieces);
            }
            pieces.failed.is_ok()
        });
        if !alone {
            self.push(&mut pieces, false, &line[end..]);
            self.end_pieces(&mut pieces);
        }
        self.replacement = replacement;
        self.end(pieces)
    }

    /// A line to be printed, which may be as long as the memory: it leaves in pieces.
    pub(super) fn pieces(&mut self) -> LinePieces {
        let mut out = std::mem::take(&mut self.line);
        out.clear();
        LinePieces { out, room: self.style.columns_max, lost: 0, failed: Ok(()) }
    }

    pub(super) fn push(&mut self, pieces: &mut LinePieces, matched: bool, bytes: &[u8]) {
        let mut shown = &bytes[..bytes.len().min(pieces.room)];
        pieces.room -= shown.len();
        pieces.lost += bytes.len() - shown.len();
        while !shown.is_empty() {
            let (piece, rest) = shown.split_at(piece_length(shown));
            put_bytes(&mut pieces.out, &self.style, matched, piece);
            shown = rest;
            if pieces.out.len() > WAITING_BYTES {
                self.push_out(pieces);
            }
        }
    }

    pub(super) fn end_pieces(&mut self, pieces: &mut LinePieces) {
        more(&mut pieces.out, std::mem::take(&mut pieces.lost));
        pieces.out.push(self.style.terminator);
        pieces.room = self.style.columns_max;
        self.push_out(pieces);
    }

    /// Ends what was printed in pieces.
    pub(super) fn end(&mut self, pieces: LinePieces) -> io::Result<()> {
        self.line = pieces.out;
        pieces.failed
    }

    fn push_out(&mut self, pieces: &mut LinePieces) {
        if pieces.failed.is_ok() {
            pieces.failed = self.out.push_copy(&pieces.out);
        }
        pieces.out.clear();
    }

    pub(super) fn prefix(&self, out: &mut Vec<u8>, place: LinePosition, separator: u8, is_empty: bool) {
        let colour = self.style.colour;
        if self.style.names {
            put(out, colour, AnsiColor::Magenta, &shown_name(&self.name, self.style.null));
            if self.style.null {
                out.push(0);
            } else {
                put(out, colour, AnsiColor::Cyan, &[separator]);
            }
        }
        let LinePosition { number, offset, column } = place;
        let numbers = self.style.numbers.then_some(number);
        let columns = column.filter(|_| self.style.columns);
        let offsets = self.style.offsets.then_some(offset);
        for value in [numbers, columns, offsets].into_iter().flatten() {
            put(out, colour, AnsiColor::Green, value.to_string().as_bytes());
            put(out, colour, AnsiColor::Cyan, &[separator]);
        }
        // As GNU grep: where something stands before something.
        if self.style.tab && !is_empty && (self.style.names || numbers.or(columns).or(offsets).is_some()) {
            out.push(b'\t');
        }
    }

    /// A piece of a line that is not held whole.
    pub(crate) fn long(&mut self, piece: LongPiece<'_>) -> Result<(), Error> {
        if let LongPiece::Start { selected, .. } = piece {
            self.long_hidden = self.style.only_matching && !selected;
        }
        // Of a line that is shown before it is known to match, nothing may come.
        if self.long_hidden || !self.style.only_matching {
            self.begin()?;
        }
        if self.long_hidden {
            return Ok(());
        }
        match piece {
            LongPiece::Start { selected, number, offset } => {
                self.long = TextLongLine { number, offset, lacks: self.lacks().filter(|_| selected), ..TextLongLine::default() };
                if self.style.only_matching { Ok(()) } else { self.long_prefix(number, offset, selected) }
            }
            LongPiece::Bytes(bytes) if self.style.only_matching => self.long_only(bytes),
            LongPiece::Bytes(bytes) => self.long_bytes(bytes),
            LongPiece::Lost(count) => {
                self.long.lost += count;
                Ok(())
            }
            LongPiece::End { matched, .. } => self.long_end(matched),
        }
        .map_err(output_error)
    }

    fn long_prefix(&mut self, number: u64, offset: u64, selected: bool) -> io::Result<()> {
        let mut out = std::mem::take(&mut self.line);
        out.clear();
        self.prefix(&mut out, LinePosition { number, offset, column: None }, if selected { b':' } else { b'-' }, false);
        let pushed = self.out.push_copy(&out);
        self.line = out;
        pushed
    }

    /// Reason why a selected line that is printed in pieces is not as asked for.
    fn lacks(&self) -> Option<&'static str> {
        match &self.style {
            PrintStyle { invert: true, .. } => None,
            PrintStyle { replaces: true, .. } => Some(NOT_REPLACED),
            PrintStyle { columns: true, only_matching: false, .. } => Some(WITHOUT_COLUMN),
            _ => None,
        }
    }

    fn long_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        let room = self.style.columns_max as u64 - self.long.printed.min(self.style.columns_max as u64);
        let shown = &bytes[..usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len())];
        self.long.given += bytes.len() as u64;
        self.long.printed += shown.len() as u64;
        if !self.style.escape {
            return self.out.push_copy(shown);
        }
        let mut out = std::mem::take(&mut self.line);
        out.clear();
        put_bytes(&mut out, &self.style, false, shown);
        let pushed = self.out.push_copy(&out);
        self.line = out;
        pushed
    }

    fn long_only(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(mut matches) = self.long_matches.take() else { return Ok(()) };
        let (number, offset) = (self.long.number, self.long.offset);
        let fed = matches.feed(bytes, |at, found| self.one_match(found, LinePosition::of_match(number, offset, at)));
        self.long_matches = Some(matches);
        fed
    }

    fn long_end(&mut self, matched: bool) -> io::Result<()> {
        let missing = if self.style.only_matching { self.matches_end(matched)? } else { self.long_line_end()? };
        let missing = self.long.lacks.filter(|_| matched).or(missing);
        // Who asked for cut lines has them.
        if let Some(missing) = missing.filter(|_| self.style.columns_max == usize::MAX || self.long.lacks.is_some()) {
            self.lost_something = true;
            self.out.writer_mut().take_turn()?;
            let (name, offset) = (String::from_utf8_lossy(&self.name), self.long.offset);
            message::error(&one_line(&format!("{name}: the line at byte {offset} {missing}")));
        }
        Ok(())
    }

    /// Reason why matches of a line that is over are missing.
    fn matches_end(&mut self, matched: bool) -> io::Result<Option<&'static str>> {
        let Some(mut matches) = self.long_matches.take() else { return Ok(None) };
        let TextLongLine { number, offset, .. } = self.long;
        let cut = matches.finish(matched, |at, found| self.one_match(found, LinePosition::of_match(number, offset, at)));
        self.long_matches = Some(matches);
        Ok(cut?.then_some(
            "has a match that is longer than 256 KiB, of which no more than the beginning is printed (a larger --line-max holds more)",
        ))
    }

    /// Reason why a part of a line that is over is missing.
    fn long_line_end(&mut self) -> io::Result<Option<&'static str>> {
        let TextLongLine { given, printed, lost, .. } = self.long;
        let mut out = Vec::new();
        more(&mut out, usize::try_from(given - printed + lost).unwrap_or(usize::MAX));
        out.push(self.style.terminator);
        self.out.push_copy(&out)?;
        Ok((lost > 0).then_some(
            "is printed in part: it was not known in time that it matches, and the input can't be read again \
             (give the file itself, or a larger --line-max)",
        ))
    }
}

/// A name as it is, but for newlines, which would forge lines; with its control characters made
/// visible where they could steer a terminal. A NUL after it (`null`) tells its end.
pub(crate) fn shown_name(name: &[u8], null: bool) -> Cow<'_, [u8]> {
    let is_terminal = io::stdout().is_terminal();
    if !is_terminal && (null || !name.contains(&b'\n')) {
        return Cow::Borrowed(name);
    }
    let line = if null { name.to_vec() } else { name.split(|byte| *byte == b'\n').collect::<Vec<_>>().join(&b"\\n"[..]) };
    Cow::Owned(if is_terminal { message::escaped(&String::from_utf8_lossy(&line)).into_bytes() } else { line })
}

/// Length of the first piece of some bytes, which parts no character.
fn piece_length(bytes: &[u8]) -> usize {
    const CHARACTER_BYTES: usize = 4;
    let is_inside = |byte: u8| byte & 0b1100_0000 == 0b1000_0000;
    let most = WAITING_BYTES.min(bytes.len());
    let start = (most - most.min(CHARACTER_BYTES)..most)
        .rev()
        .map(|at| at + 1)
        .find(|at| bytes.get(*at).is_none_or(|byte| !is_inside(*byte)));
    start.unwrap_or(most)
}

/// Says how much was left out of a line.
fn more(out: &mut Vec<u8>, bytes: usize) {
    if bytes > 0 {
        let _ = write!(out, " [… {bytes} more bytes]");
    }
}

fn put(out: &mut Vec<u8>, colour: bool, of: AnsiColor, bytes: &[u8]) {
    if !colour {
        return out.extend_from_slice(bytes);
    }
    let style = of.on_default();
    let _ = write!(out, "{style}");
    out.extend_from_slice(bytes);
    let _ = write!(out, "{style:#}");
}

/// Bytes of a line: a match in bold red where there are colours; control characters made visible
/// where they could steer a terminal.
fn put_bytes(out: &mut Vec<u8>, style: &PrintStyle, matched: bool, bytes: &[u8]) {
    let colour = Colour::new().fg_color(Some(AnsiColor::Red.into())).bold();
    let paint = matched && style.colour && !bytes.is_empty();
    if paint {
        let _ = write!(out, "{colour}");
    }
    if style.escape {
        for chunk in bytes.utf8_chunks() {
            put_visible(out, chunk.valid());
            for byte in chunk.invalid() {
                let _ = write!(out, "\\x{byte:02x}");
            }
        }
    } else {
        out.extend_from_slice(bytes);
    }
    if paint {
        let _ = write!(out, "{colour:#}");
    }
}

fn put_visible(out: &mut Vec<u8>, text: &str) {
    // A tab only moves to the right.
    for (index, part) in text.split('\t').enumerate() {
        if index > 0 {
            out.push(b'\t');
        }
        out.extend_from_slice(message::escaped(part).as_bytes());
    }
}

/// The line between groups of lines.
fn gap_line(colour: bool) -> Vec<u8> {
    let mut line = Vec::new();
    put(&mut line, colour, AnsiColor::Cyan, b"--");
    line.push(b'\n');
    line
}

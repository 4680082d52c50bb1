//! Found lines as text, as grep prints them.

use crate::args::GrepArgs;
use crate::message;
use crate::verbs::grep::printer::output_error;
use anstyle::{AnsiColor, Style as Colour};
use grep_regex::RegexMatcher;
use rorqual_pipe::Error;
use rorqual_pipe::gather::{COPY_BYTES_MAX, Gather, Output as Stdout};
use rorqual_search::{Expression, Long, LongMatches, Part, each_match};
use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;

/// A line on a terminal is cut behind this many bytes unless a flag says otherwise.
const COLUMNS_MAX_TERMINAL: usize = 4096;

/// How lines are dressed.
pub(crate) struct Style {
    names: bool,
    numbers: bool,
    offsets: bool,
    only_matching: bool,
    colour: bool,
    /// Control characters are made visible.
    escape: bool,
    columns_max: usize,
}

impl Style {
    pub(crate) fn of(args: &GrepArgs, names: bool) -> Self {
        let terminal = io::stdout().is_terminal();
        let columns_max = args.max_columns.unwrap_or(if terminal { COLUMNS_MAX_TERMINAL } else { 0 });
        Self {
            names,
            numbers: args.line_number,
            offsets: args.byte_offset,
            only_matching: args.only_matching,
            colour: anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
            escape: terminal,
            columns_max: if columns_max == 0 { usize::MAX } else { columns_max },
        }
    }

    /// Lines leave as they are.
    fn plain(&self) -> bool {
        !(self.names || self.numbers || self.offsets || self.only_matching || self.colour || self.escape)
            && self.columns_max == usize::MAX
    }
}

/// Prints lines.
pub(crate) struct Text {
    style: Style,
    plain: bool,
    /// Shared, as a clone of a matcher begins with empty caches.
    matcher: Arc<RegexMatcher>,
    out: Gather<Stdout>,
    name: Vec<u8>,
    /// One line with its dress; kept for its room.
    line: Vec<u8>,
    long: LongState,
    /// `None` while it is at work.
    long_matches: Option<LongMatches>,
    /// Something could not be printed whole, and that was said.
    pub(crate) lost_something: bool,
}

/// The over-long line that is being printed.
#[derive(Default)]
struct LongState {
    number: u64,
    offset: u64,
    /// Bytes of it that were given so far, and that were printed.
    given: u64,
    printed: u64,
    lost: u64,
}

impl Text {
    pub(crate) fn new(style: Style, expression: &Expression, out: Gather<Stdout>) -> Self {
        Self {
            plain: style.plain(),
            style,
            matcher: Arc::new(expression.matcher()),
            out,
            name: Vec::new(),
            line: Vec::new(),
            long: LongState::default(),
            long_matches: Some(LongMatches::new(expression)),
            lost_something: false,
        }
    }

    pub(crate) fn start(&mut self, name: &[u8]) {
        name.clone_into(&mut self.name);
    }

    pub(crate) fn settle(&mut self, live: bool) -> Result<(), Error> {
        let flushed = if live { self.out.flush() } else { self.out.flush_shared() };
        flushed.map_err(output_error)
    }

    pub(crate) fn part(&mut self, part: Part<'_>) -> Result<(), Error> {
        if self.plain { self.whole(part).map_err(output_error) } else { self.dressed(part).map_err(output_error) }
    }

    pub(crate) fn gap(&mut self) -> Result<(), Error> {
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        put(&mut line, self.style.colour, AnsiColor::Cyan, b"--");
        line.push(b'\n');
        let pushed = self.out.push_copy(&line);
        self.line = line;
        pushed.map_err(output_error)
    }

    /// Lines as they are: large stretches leave from where they are.
    fn whole(&mut self, part: Part<'_>) -> io::Result<()> {
        match part.buffer {
            Some((buffer, start)) if part.lines.len() > COPY_BYTES_MAX => {
                self.out.push(buffer.slice(start..start + part.lines.len()))?;
            }
            _ => self.out.push_copy(part.lines)?,
        }
        if part.lines.last() == Some(&b'\n') { Ok(()) } else { self.out.push_copy(b"\n") }
    }

    fn dressed(&mut self, part: Part<'_>) -> io::Result<()> {
        let mut rest = part.lines;
        let (mut number, mut offset) = (part.number, part.offset);
        while !rest.is_empty() {
            let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let line = &rest[..end];
            if self.style.only_matching {
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
        each_match(&matcher, line, |found| self.one_match(&line[found.clone()], number, offset + found.start as u64))
    }

    fn one_match(&mut self, bytes: &[u8], number: u64, offset: u64) -> io::Result<()> {
        let mut out = std::mem::take(&mut self.line);
        out.clear();
        self.prefix(&mut out, number, offset, b':');
        let shown = &bytes[..bytes.len().min(self.style.columns_max)];
        put_bytes(&mut out, &self.style, true, shown);
        more(&mut out, bytes.len() - shown.len());
        out.push(b'\n');
        let pushed = self.out.push_copy(&out);
        self.line = out;
        pushed
    }

    fn line(&mut self, line: &[u8], number: u64, offset: u64, selected: bool) -> io::Result<()> {
        let mut out = std::mem::take(&mut self.line);
        out.clear();
        self.prefix(&mut out, number, offset, if selected { b':' } else { b'-' });
        let shown = &line[..line.len().min(self.style.columns_max)];
        if self.style.colour && selected {
            let mut end = 0;
            let _ = each_match(&self.matcher, line, |found| {
                let found = found.start.min(shown.len())..found.end.min(shown.len());
                put_bytes(&mut out, &self.style, false, &shown[end..found.start]);
                put_bytes(&mut out, &self.style, true, &shown[found.clone()]);
                end = found.end;
                if end < shown.len() { Ok(()) } else { Err(()) }
            });
            put_bytes(&mut out, &self.style, false, &shown[end..]);
        } else {
            put_bytes(&mut out, &self.style, false, shown);
        }
        more(&mut out, line.len() - shown.len());
        out.push(b'\n');
        let pushed = self.out.push_copy(&out);
        self.line = out;
        pushed
    }

    fn prefix(&self, out: &mut Vec<u8>, number: u64, offset: u64, separator: u8) {
        let colour = self.style.colour;
        if self.style.names {
            put(out, colour, AnsiColor::Magenta, &shown_name(&self.name));
            put(out, colour, AnsiColor::Cyan, &[separator]);
        }
        for (wanted, value) in [(self.style.numbers, number), (self.style.offsets, offset)] {
            if wanted {
                put(out, colour, AnsiColor::Green, value.to_string().as_bytes());
                put(out, colour, AnsiColor::Cyan, &[separator]);
            }
        }
    }

    /// A piece of a line that is not held whole.
    pub(crate) fn long(&mut self, piece: Long<'_>) -> Result<(), Error> {
        match piece {
            Long::Start { selected, number, offset } => {
                self.long = LongState { number, offset, ..LongState::default() };
                if self.style.only_matching { Ok(()) } else { self.long_prefix(number, offset, selected) }
            }
            Long::Bytes(bytes) if self.style.only_matching => self.long_only(bytes),
            Long::Bytes(bytes) => self.long_bytes(bytes),
            Long::Lost(count) => {
                self.long.lost += count;
                Ok(())
            }
            Long::End { matched, .. } => self.long_end(matched),
        }
        .map_err(output_error)
    }

    fn long_prefix(&mut self, number: u64, offset: u64, selected: bool) -> io::Result<()> {
        let mut out = std::mem::take(&mut self.line);
        out.clear();
        self.prefix(&mut out, number, offset, if selected { b':' } else { b'-' });
        let pushed = self.out.push_copy(&out);
        self.line = out;
        pushed
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
        let fed = matches.feed(bytes, |at, found| self.one_match(found, number, offset + at));
        self.long_matches = Some(matches);
        fed
    }

    fn long_end(&mut self, matched: bool) -> io::Result<()> {
        let missing = if self.style.only_matching { self.matches_end(matched)? } else { self.long_line_end()? };
        // Who asked for cut lines has them.
        if let Some(missing) = missing.filter(|_| self.style.columns_max == usize::MAX) {
            self.lost_something = true;
            let (name, offset) = (String::from_utf8_lossy(&self.name), self.long.offset);
            message::error(&format!("{name}: the line at byte {offset} {missing}"));
        }
        Ok(())
    }

    /// What is missing of the matches of a line that is over.
    fn matches_end(&mut self, matched: bool) -> io::Result<Option<&'static str>> {
        let Some(mut matches) = self.long_matches.take() else { return Ok(None) };
        let LongState { number, offset, .. } = self.long;
        let cut = matches.finish(matched, |at, found| self.one_match(found, number, offset + at));
        self.long_matches = Some(matches);
        Ok(cut?.then_some(
            "has a match that is longer than 256 KiB, of which no more than the beginning is printed (a larger --line-max holds more)",
        ))
    }

    /// What is missing of a line that is over.
    fn long_line_end(&mut self) -> io::Result<Option<&'static str>> {
        let LongState { given, printed, lost, .. } = self.long;
        let mut out = Vec::new();
        more(&mut out, usize::try_from(given - printed + lost).unwrap_or(usize::MAX));
        out.push(b'\n');
        self.out.push_copy(&out)?;
        Ok((lost > 0).then_some(
            "is printed in part: it was not known in time that it matches, and the input can't be read again \
             (give the file itself, or a larger --line-max)",
        ))
    }
}

/// A name as it is; with its control characters made visible where they could steer a terminal.
pub(crate) fn shown_name(name: &[u8]) -> Cow<'_, [u8]> {
    if io::stdout().is_terminal() {
        Cow::Owned(message::escaped(&String::from_utf8_lossy(name)).into_bytes())
    } else {
        Cow::Borrowed(name)
    }
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

/// Bytes of a line: a match in bold red where there are colours; control characters made visible where they could steer a terminal.
fn put_bytes(out: &mut Vec<u8>, style: &Style, matched: bool, bytes: &[u8]) {
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

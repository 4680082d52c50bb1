//! Found lines as JSON, an object a line, of ripgrep's types.

use crate::args::GrepArgs;
use crate::message;
use crate::verbs::grep::one_line;
use crate::verbs::grep::ordered_output::OrderedOutput;
use crate::verbs::grep::printer::output_error;
use data_encoding::BASE64;
use grep_regex::RegexMatcher;
use rorqual_pipe::Error;
use rorqual_pipe::gather::Gather;
use rorqual_search::{Expression, LongMatches, LongPiece, MatchedBlock, ShownLines, Summary, count_lines, each_match};
use serde_json::{Value, json};
use std::convert::Infallible;
use std::fmt;
use std::io::Write;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Bytes given of a line that is not held whole.
const LONG_BYTES_MAX: usize = 64 << 10;

/// Bytes of a text that are written at a time: as base64 they are whole groups.
const PIECE_BYTES: usize = 24 << 10;

/// Prints events.
pub(crate) struct JsonEvents {
    /// Shared, as a clone of a matcher begins with empty caches.
    matcher: Arc<RegexMatcher>,
    pub(super) out: Gather<OrderedOutput>,
    /// A piece of an event; kept for its room.
    piece: Vec<u8>,
    path: Value,
    /// The byte that ends a line.
    terminator: u8,
    /// Matches are those of blocks: lines by themselves have none.
    is_multiline: bool,
    /// Something could not be printed whole, and that was said.
    pub(crate) lost_something: bool,
    /// The input's `begin` was printed, as something was found.
    begun: bool,
    started: Instant,
    input_started: Instant,
    input: GrepCounts,
    all: GrepCounts,
    long: JsonLongLine,
    long_matches: LongMatches,
}

/// The over-long line that is passing: its head.
#[derive(Default)]
struct JsonLongLine {
    selected: bool,
    number: u64,
    offset: u64,
    head: Vec<u8>,
    rest_bytes: u64,
    /// Matches that lie in the head.
    submatches: Vec<Range<usize>>,
    matches: u64,
}

/// Counts a match of an over-long line, and notes it where it lies in the head.
fn count_match(submatches: &mut Vec<Range<usize>>, matches: &mut u64, at: u64, found: &[u8]) -> Result<(), Infallible> {
    *matches += 1;
    let end = at + found.len() as u64;
    if end <= LONG_BYTES_MAX as u64 {
        submatches.push(at as usize..end as usize);
    }
    Ok(())
}

/// Bytes not given of an over-long line.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
struct OmittedParts {
    bytes: u64,
    submatches: u64,
    /// A match is longer than what is looked at together, or one may not have been found.
    cut: bool,
}

#[derive(Default, Clone, Copy)]
struct GrepCounts {
    searches: u64,
    searches_with_match: u64,
    bytes_printed: u64,
    matched_lines: u64,
    matches: u64,
}

impl JsonEvents {
    pub(crate) fn new(args: &GrepArgs, expression: &Expression, out: Gather<OrderedOutput>) -> Self {
        Self {
            matcher: Arc::new(expression.matcher()),
            out,
            piece: Vec::new(),
            path: Value::Null,
            terminator: if args.null_data { 0 } else { b'\n' },
            is_multiline: expression.is_multiline(),
            lost_something: false,
            begun: false,
            started: Instant::now(),
            input_started: Instant::now(),
            input: GrepCounts::default(),
            all: GrepCounts::default(),
            long: JsonLongLine::default(),
            long_matches: LongMatches::new(expression),
        }
    }

    pub(crate) fn start(&mut self, name: &[u8]) {
        self.path = match std::str::from_utf8(name) {
            Ok(text) => json!({ "text": text }),
            Err(_) => json!({ "bytes": BASE64.encode(name) }),
        };
        self.begun = false;
        self.input_started = Instant::now();
        self.input = GrepCounts { searches: 1, ..GrepCounts::default() };
    }

    pub(crate) fn settle(&mut self, live: bool) -> Result<(), Error> {
        let flushed = if live { self.out.flush() } else { self.out.flush_shared() };
        flushed.map_err(output_error)
    }

    pub(crate) fn part(&mut self, part: ShownLines<'_>) -> Result<(), Error> {
        let (mut number, mut offset) = (part.number, part.offset);
        let end = self.terminator;
        for line in part.lines.split_inclusive(|byte| *byte == end) {
            self.line(line, part.selected, number, offset)?;
            number += 1;
            offset += line.len() as u64;
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], selected: bool, number: u64, offset: u64) -> Result<(), Error> {
        let content = line.strip_suffix(&[self.terminator]).unwrap_or(line);
        let matcher = Arc::clone(&self.matcher);
        self.open(line, selected, number, offset)?;
        let mut matches = 0;
        if !self.is_multiline {
            each_match(&matcher, content, |found| {
                matches += 1;
                self.submatch(&content[found.clone()], found.start, matches > 1)
            })?;
        }
        self.close(u64::from(selected), matches, OmittedParts::default())
    }

    /// Lines with matches that may go on over their ends.
    pub(crate) fn block(&mut self, block: &MatchedBlock<'_>) -> Result<(), Error> {
        let ShownLines { lines, number, offset, .. } = block.lines();
        let matcher = Arc::clone(&self.matcher);
        self.open(lines, true, number, offset)?;
        let mut matches = 0;
        for found in block.matches(&matcher).filter(|found| !found.is_empty()) {
            matches += 1;
            self.submatch(&block.text[found.clone()], found.start - block.range.start, matches > 1)?;
        }
        self.close(count_lines(lines, self.terminator), matches, OmittedParts::default())
    }

    /// An over-long line: its head, and the matches that lie whole in that. What is missing is
    /// marked, and said.
    fn long_line(&mut self, cut: bool) -> Result<(), Error> {
        let JsonLongLine { selected, number, offset, head, rest_bytes, submatches, matches } = std::mem::take(&mut self.long);
        self.open(&head, selected, number, offset)?;
        for (index, found) in submatches.iter().enumerate() {
            self.submatch(&head[found.clone()], found.start, index > 0)?;
        }
        let missing = OmittedParts { bytes: rest_bytes, submatches: matches - submatches.len() as u64, cut };
        if missing != OmittedParts::default() {
            self.lost_something = true;
            self.out.writer_mut().take_turn().map_err(output_error)?;
            let name = self.path["text"].as_str().unwrap_or("a file whose name is not UTF-8").to_owned();
            message::error(&one_line(&format!(
                "{name}: of the line at byte {offset} the first 64 KiB are given, with the matches in them \
                 (missing_bytes, missing_submatches; a larger --line-max holds more)"
            )));
        }
        self.close(u64::from(selected), matches, missing)
    }

    fn open(&mut self, line: &[u8], selected: bool, number: u64, offset: u64) -> Result<(), Error> {
        self.begin()?;
        let kind = if selected { "match" } else { "context" };
        self.write(format_args!("{{\"type\":\"{kind}\",\"data\":{{\"path\":{},\"lines\":", self.path.clone()))?;
        self.write_data(line)?;
        self.write(format_args!(",\"line_number\":{number},\"absolute_offset\":{offset},\"submatches\":["))
    }

    fn submatch(&mut self, bytes: &[u8], start: usize, further: bool) -> Result<(), Error> {
        self.write(format_args!("{}{{\"match\":", if further { "," } else { "" }))?;
        self.write_data(bytes)?;
        self.write(format_args!(",\"start\":{start},\"end\":{}}}", start + bytes.len()))
    }

    /// Ends an event of so many selected lines.
    fn close(&mut self, selected: u64, matches: u64, missing: OmittedParts) -> Result<(), Error> {
        if selected > 0 {
            self.input.matched_lines += selected;
            self.input.matches += matches;
        }
        if missing == OmittedParts::default() {
            return self.write(format_args!("]}}}}\n"));
        }
        let OmittedParts { bytes, submatches, cut } = missing;
        self.write(format_args!("],\"missing_bytes\":{bytes},\"missing_submatches\":{submatches},\"cut_match\":{cut}}}}}\n"))
    }

    fn begin(&mut self) -> Result<(), Error> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        self.event(&json!({"type": "begin", "data": {"path": self.path}}))
    }

    pub(crate) fn long(&mut self, piece: LongPiece<'_>) -> Result<(), Error> {
        match piece {
            LongPiece::Start { selected, number, offset } => {
                self.long = JsonLongLine { selected, number, offset, ..JsonLongLine::default() }
            }
            LongPiece::Bytes(bytes) => {
                let JsonLongLine { head, rest_bytes, submatches, matches, .. } = &mut self.long;
                let room = (LONG_BYTES_MAX - head.len()).min(bytes.len());
                head.extend_from_slice(&bytes[..room]);
                *rest_bytes += (bytes.len() - room) as u64;
                let _ = self.long_matches.feed(bytes, |at, found| count_match(submatches, matches, at, found));
            }
            LongPiece::Lost(bytes) => self.long.rest_bytes += bytes,
            LongPiece::End { matched, .. } => {
                let JsonLongLine { submatches, matches, .. } = &mut self.long;
                let cut = self.long_matches.finish(matched, |at, found| count_match(submatches, matches, at, found));
                self.long_line(cut.unwrap_or(true))?;
            }
        }
        Ok(())
    }

    pub(crate) fn end(&mut self, summary: &Summary) -> Result<(), Error> {
        self.input.searches_with_match = u64::from(summary.selected > 0);
        if self.begun {
            let stats = self.input.stats(self.input_started.elapsed());
            self.event(&json!({"type": "end", "data": {"path": self.path, "binary_offset": null, "stats": stats}}))?;
        }
        self.all.add(self.input);
        Ok(())
    }

    /// Takes the totals of another one.
    pub(super) fn add_totals(&mut self, other: &mut Self) {
        self.all.add(std::mem::take(&mut other.all));
        self.lost_something |= other.lost_something;
    }

    pub(crate) fn finish(&mut self) -> Result<(), Error> {
        let elapsed = self.started.elapsed();
        let (total, stats) = (span(elapsed), self.all.stats(elapsed));
        self.event(&json!({"type": "summary", "data": {"elapsed_total": total, "stats": stats}}))?;
        self.settle(true)
    }

    fn event(&mut self, event: &Value) -> Result<(), Error> {
        self.write(format_args!("{event}\n"))
    }

    /// Writes a piece of an event: an event of a line with many matches is many times as long as
    /// the line.
    fn write(&mut self, piece: fmt::Arguments<'_>) -> Result<(), Error> {
        self.piece.clear();
        self.piece.write_fmt(piece).map_err(output_error)?;
        self.input.bytes_printed += self.piece.len() as u64;
        self.out.push_copy(&self.piece).map_err(output_error)
    }

    /// Text where it is UTF-8, and else bytes; in pieces, as it may be as long as the memory.
    fn write_data(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let Ok(mut text) = std::str::from_utf8(bytes) else {
            self.write(format_args!("{{\"bytes\":\""))?;
            for piece in bytes.chunks(PIECE_BYTES) {
                self.write(format_args!("{}", BASE64.encode_display(piece)))?;
            }
            return self.write(format_args!("\"}}"));
        };
        self.write(format_args!("{{\"text\":\""))?;
        while !text.is_empty() {
            let (piece, rest) = text.split_at(text.floor_char_boundary(PIECE_BYTES));
            let quoted = json!(piece).to_string();
            self.write(format_args!("{}", &quoted[1..quoted.len() - 1]))?;
            text = rest;
        }
        self.write(format_args!("\"}}"))
    }
}

impl GrepCounts {
    fn add(&mut self, other: Self) {
        self.searches += other.searches;
        self.searches_with_match += other.searches_with_match;
        self.bytes_printed += other.bytes_printed;
        self.matched_lines += other.matched_lines;
        self.matches += other.matches;
    }

    fn stats(self, elapsed: Duration) -> Value {
        json!({
            "elapsed": span(elapsed), "searches": self.searches, "searches_with_match": self.searches_with_match,
            "bytes_printed": self.bytes_printed, "matched_lines": self.matched_lines, "matches": self.matches,
        })
    }
}

fn span(elapsed: Duration) -> Value {
    json!({"secs": elapsed.as_secs(), "nanos": elapsed.subsec_nanos(), "human": format!("{:.6}s", elapsed.as_secs_f64())})
}

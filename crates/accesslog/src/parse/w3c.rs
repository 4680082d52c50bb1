//! Reads lines of W3C's extended format by the columns that the last `#Fields:` line said.

use super::general::{self, status};
use super::number::{self, Unit, present};
use super::record::{Draft, FlawPosition, LineFlaw, LineOutcome};
use super::time::{self, Instant};
use super::{request, with_values};
use crate::format::Field;
use crate::format::w3c::{W3cColumn, W3cColumns, W3cDirectives, W3cWriter};
use crate::own::{LogVariable, OwnPlace, OwnReader};
use std::sync::Arc;

/// Room for undone escapes that is kept from line to line.
const SCRATCH_BYTES_KEPT: usize = 64 << 10;

/// State of a parser from line to line.
#[derive(Clone, Debug)]
pub(crate) struct W3cState {
    columns: Arc<W3cColumns>,
    /// The agent of the current line, with its escapes undone.
    scratch: Vec<u8>,
    /// True if another `#Fields:` line is a flaw: no other parser would know its columns.
    is_strict: bool,
    /// Values of the columns that no field of a record is for, where these are asked for.
    own: Option<OwnReader>,
    /// Of each column its place, where it is one of these, and whether it is a header.
    places: Vec<Option<(OwnPlace, bool)>>,
}

impl W3cState {
    pub(crate) fn new(columns: &Arc<W3cColumns>) -> W3cState {
        W3cState { columns: Arc::clone(columns), scratch: Vec::new(), is_strict: false, own: None, places: Vec::new() }
    }

    /// The same with the values of the log's own columns.
    pub(crate) fn with_own(self, own: OwnReader) -> W3cState {
        let mut state = W3cState { own: Some(own), ..self };
        state.set(Arc::clone(&state.columns));
        state
    }

    /// The same for lines of which others may be read elsewhere at the same time.
    pub(crate) fn strict(self) -> W3cState {
        W3cState { is_strict: true, ..self }
    }

    /// The columns from now on.
    pub(crate) fn set(&mut self, columns: Arc<W3cColumns>) {
        if let Some(own) = &self.own
            && (self.places.is_empty() || columns != self.columns)
        {
            let place = |variable: Option<LogVariable>| {
                let variable = variable?;
                Some((own.columns.place(&variable)?, variable.column().name.starts_with("cs(")))
            };
            self.places = columns.variables().map(place).collect();
        }
        self.columns = columns;
    }

    fn directive(&mut self, line: &[u8]) -> LineOutcome<'static> {
        let mut directives = W3cDirectives::default();
        directives.read(line);
        match directives.after(&self.columns) {
            Some(columns) if columns != *self.columns => {
                if self.is_strict && !self.columns.columns.is_empty() {
                    return LineOutcome::Rejected(LineFlaw::OtherColumns);
                }
                self.set(Arc::new(columns));
            }
            _ => {}
        }
        LineOutcome::Blank
    }
}

/// Reads one line, without its line end.
pub(crate) fn parse<'a>(state: &'a mut W3cState, line: &'a [u8]) -> LineOutcome<'a> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return LineOutcome::Blank;
    }
    if line.starts_with(b"#") {
        return state.directive(line);
    }
    let W3cState { columns, scratch, own, places, .. } = state;
    if let Some(own) = own {
        own.values.clear();
    }
    if columns.columns.is_empty() {
        return LineOutcome::Rejected(LineFlaw::NoColumns);
    }
    let separator = separator(line, columns.columns.len());
    let agent = columns.columns.iter().position(|column| *column == W3cColumn::Agent);
    let agent = agent.and_then(|at| W3cValues::new(line, separator).nth(at));
    if scratch.capacity() > SCRATCH_BYTES_KEPT {
        *scratch = Vec::new();
    }
    scratch.clear();
    undo(agent.unwrap_or_default(), columns.writing, scratch);
    let mut reader = W3cReader { draft: Draft::default(), date: None, clock: None, agent: &*scratch };
    let mut values = W3cValues::new(line, separator);
    for (at, column) in columns.columns.iter().enumerate() {
        let Some(value) = values.next() else {
            reader.draft.note(LineFlaw::Missing(FlawPosition::Other));
            return with_values(reader.outcome(columns), own.as_ref());
        };
        match (&mut *own, places.get(at).copied().flatten()) {
            // A header has the escapes that the agent has.
            (Some(own), Some((place, true))) => own.set_with(place, |bytes| undo(present(value), columns.writing, bytes)),
            (Some(own), Some((place, false))) => own.set(place, unquoted(value)),
            _ => {}
        }
        if let Err(flaw) = reader.read(*column, unquoted(value)) {
            reader.draft.note(flaw);
        }
    }
    if values.rest.is_some_and(|more| !more.trim_ascii().is_empty()) {
        // Which value belongs to which column can't be told.
        return LineOutcome::Rejected(LineFlaw::TextAfter);
    }
    with_values(reader.outcome(columns), own.as_ref())
}

/// Bytes between the values of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum W3cSeparator {
    Tab,
    Blank,
    /// Any number of blanks, as servers write that fill columns up.
    Blanks,
}

/// The separator of a line of so many columns. W3C has any white space between values and a `-` for
/// none; but some write nothing for none, so that blanks count as one only where each by itself
/// makes other columns than there are.
fn separator(line: &[u8], columns: usize) -> W3cSeparator {
    if memchr::memchr(b'\t', line).is_some() {
        return W3cSeparator::Tab;
    }
    let is_filled = memchr::memmem::find(line, b"  ").is_some()
        && W3cValues::new(line.trim_ascii_end(), W3cSeparator::Blank).count() != columns;
    if is_filled { W3cSeparator::Blanks } else { W3cSeparator::Blank }
}

/// The values of a line, as they stand there.
struct W3cValues<'a> {
    rest: Option<&'a [u8]>,
    separator: W3cSeparator,
}

impl<'a> W3cValues<'a> {
    fn new(line: &'a [u8], separator: W3cSeparator) -> W3cValues<'a> {
        let line = if separator == W3cSeparator::Blanks { line.trim_ascii() } else { line };
        W3cValues { rest: Some(line), separator }
    }
}

impl<'a> Iterator for W3cValues<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.rest?;
        let end = if self.separator == W3cSeparator::Tab { memchr::memchr(b'\t', rest) } else { word_end(rest) };
        let (value, rest) = end.map_or((rest, None), |end| (&rest[..end], Some(&rest[end + 1..])));
        self.rest = if self.separator == W3cSeparator::Blanks { rest.map(<[u8]>::trim_ascii_start) } else { rest };
        Some(value)
    }
}

/// Place of the blank after the first word; blanks in quotes are the word's.
fn word_end(text: &[u8]) -> Option<usize> {
    let quoted = if text.starts_with(b"\"") { quoted_bytes(text) } else { None };
    match quoted {
        Some(length) if length == text.len() => None,
        Some(length) => Some(length),
        None => memchr::memchr(b' ', text),
    }
}

/// Length of the text in quotes that a blank or the line's end follows, where two quotes stand for
/// one; `None` where none ends so.
fn quoted_bytes(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        at += memchr::memchr(b'"', &text[at..])?;
        match text.get(at + 1) {
            None | Some(b' ') => return Some(at + 1),
            Some(b'"') => at += 2,
            Some(_) => at += 1,
        }
    }
}

fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value)
}

struct W3cReader<'s, 'a> {
    draft: Draft<'a>,
    date: Option<&'a [u8]>,
    clock: Option<&'a [u8]>,
    agent: &'s [u8],
}

impl<'a> W3cReader<'a, 'a> {
    fn read(&mut self, column: W3cColumn, text: &'a [u8]) -> Result<(), LineFlaw> {
        let text = present(text);
        let record = &mut self.draft.record;
        match column {
            W3cColumn::Skip => {}
            W3cColumn::Date => self.date = Some(text),
            W3cColumn::Time => self.clock = Some(text),
            W3cColumn::Client => record.client = general::client_of(text)?,
            W3cColumn::User => record.user = text,
            W3cColumn::Host => record.host = text,
            W3cColumn::Method => record.method = text,
            W3cColumn::Target => request::read_target(text, record),
            W3cColumn::Path => record.path = text,
            W3cColumn::Query => record.query = text,
            W3cColumn::Protocol => record.protocol = text,
            W3cColumn::Status => {
                record.status = status(text)?;
                self.draft.sound |= Field::Status.bit();
            }
            W3cColumn::Bytes => record.bytes = general::bytes(text)?,
            W3cColumn::Referrer => record.referrer = text,
            W3cColumn::Agent => record.agent = present(self.agent),
            W3cColumn::TakenMillis | W3cColumn::TakenSeconds => {
                let unit = if column == W3cColumn::TakenMillis { Unit::Millis } else { Unit::Seconds };
                let taken = number::duration_sum_us(text, unit);
                record.request_time_us = taken.map_err(|error| general::flaw_of(error, Field::RequestTime))?;
            }
        }
        Ok(())
    }

    fn outcome(mut self, columns: &W3cColumns) -> LineOutcome<'a> {
        match instant(self.date, self.clock) {
            Ok(Some(Instant { time_us, .. })) => {
                self.draft.record.time_us = Some(time_us);
                self.draft.sound |= Field::Time.bit();
            }
            Ok(None) => self.draft.sound |= Field::Time.bit(),
            Err(flaw) => self.draft.note(flaw),
        }
        self.draft.outcome(general::needed(columns.fields()))
    }
}

/// Date and time of day, in UTC as W3C has it.
fn instant(date: Option<&[u8]>, clock: Option<&[u8]>) -> Result<Option<Instant>, LineFlaw> {
    let (Some(date), Some(clock)) = (date, clock) else { return Ok(None) };
    if date.is_empty() && clock.is_empty() {
        return Ok(None);
    }
    const FRACTION_DIGITS_MAX: usize = 10;
    if date.len() != 10 || !(8..=8 + FRACTION_DIGITS_MAX).contains(&clock.len()) {
        return Err(LineFlaw::NotTime);
    }
    let mut text = [b' '; 11 + 8 + FRACTION_DIGITS_MAX];
    text[..10].copy_from_slice(date);
    text[11..11 + clock.len()].copy_from_slice(clock);
    time::iso(&text[..11 + clock.len()]).map(Some)
}

/// Appends a text with its blanks; where nothing is to be undone, as it is.
fn undo(value: &[u8], writing: W3cWriter, out: &mut Vec<u8>) {
    let start = out.len();
    let text = unquoted(value);
    match writing {
        // In quotes blanks may stand as they are, and a quote is doubled.
        W3cWriter::Iis | W3cWriter::Millis | W3cWriter::Seconds | W3cWriter::Other if text.len() < value.len() => {
            out.extend_from_slice(text);
            let mut was_quote = false;
            let mut at = 0;
            out.retain(|byte| {
                at += 1;
                was_quote = *byte == b'"' && !was_quote;
                at <= start || *byte != b'"' || was_quote
            });
        }
        W3cWriter::Iis => out.extend(text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte })),
        W3cWriter::CloudFront => {
            percent_decode(text, out);
            // Years ago CloudFront encoded twice.
            if memchr::memmem::find(&out[start..], b"%20").is_some() {
                let once = out.split_off(start);
                percent_decode(&once, out);
            }
        }
        W3cWriter::Millis | W3cWriter::Seconds | W3cWriter::Other => out.extend_from_slice(text),
    }
}

/// Undoes `%20` and its like.
pub(super) fn percent_decode(text: &[u8], out: &mut Vec<u8>) {
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'%', rest) {
        out.extend_from_slice(&rest[..at]);
        let digit = |index: usize| rest.get(at + index).and_then(|byte| char::from(*byte).to_digit(16));
        match digit(1).zip(digit(2)) {
            Some((high, low)) => {
                out.push((high * 16 + low) as u8);
                rest = &rest[at + 3..];
            }
            None => {
                out.push(b'%');
                rest = &rest[at + 1..];
            }
        }
    }
    out.extend_from_slice(rest);
}

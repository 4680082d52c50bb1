//! Reads the lines of an access log.
//!
//! [`LogParser::parse`] takes a line and gives a [`LogRecord`] whose fields are slices of it:
//! nothing is copied or allocated per line. Lines of the combined format, which most logs have, are
//! read by one straight function (`combined`); whatever that one does not take, and every other
//! format, by a loop over the compiled format (`general`). Tests hold that both agree.

pub(crate) mod address;
mod clock;
mod combined;
pub(crate) mod docker;
mod escape;
mod general;
mod json;
mod json_own;
mod memo;
pub(crate) mod number;
pub(crate) mod record;
pub(crate) mod relay;
mod request;
pub(crate) mod time;
mod w3c;

pub(crate) use number::present;
pub use record::{FlawPosition, LineFlaw, LineOutcome, LogRecord};
pub use time::clf;

use crate::format::prefix::LinePrefix;
use crate::format::program::{FastPath, Program};
use crate::format::w3c::W3cColumns;
use crate::format::{Field, LineSyntax, LogFormat};
use crate::own::{LogVariable, OwnColumns, OwnReader};
use docker::EnvelopeState;
use general::ProgramOwn;
use json::JsonState;
use std::fmt::Write;
use std::sync::Arc;
use time::ClfClock;
use w3c::W3cState;

/// Reads lines of one format. Each worker thread has its own: it remembers the last date.
#[derive(Clone, Debug)]
pub struct LogParser {
    format: LogFormat,
    clock: ClfClock,
    /// Only for JSON formats.
    json: Option<JsonState>,
    /// Only where the format has a prefix: reads the text after it.
    inner: Option<Box<LogParser>>,
    /// Only for W3C's format.
    w3c: Option<W3cState>,
    /// Only for lines in envelopes.
    unwrapping: Option<Box<EnvelopeState>>,
    /// Nobody wants more of a record than its time, status and number of bytes.
    numbers_only: bool,
    /// Only of a text format whose own values are asked for.
    own: Option<Box<ProgramOwn>>,
    /// Client of the last line whose log has an IPv4 address in IPv6's form.
    unmapped: String,
}

impl LogParser {
    /// A parser for lines of `format`.
    pub fn new(format: &LogFormat) -> LogParser {
        let json = format.is_json().then(JsonState::new);
        let w3c = if let LineSyntax::W3c(columns) = format.kind() { Some(W3cState::new(columns)) } else { None };
        let unwrapping = match format.kind() {
            LineSyntax::Docker(inner) => Some(Box::new(EnvelopeState::new(LogParser::new(inner)))),
            _ => None,
        };
        let inner =
            if let LineSyntax::Prefixed(_, format) = format.kind() { Some(Box::new(LogParser::new(format))) } else { None };
        LogParser {
            format: format.clone(),
            clock: ClfClock::default(),
            json,
            inner,
            w3c,
            unwrapping,
            numbers_only: false,
            own: None,
            unmapped: String::new(),
        }
    }

    /// The same for lines of which others are read elsewhere at the same time, where a line that
    /// says other columns is a flaw ([`LineFlaw::OtherColumns`]) unless each stretch is told what
    /// it begins with.
    #[must_use]
    pub fn strict(self) -> LogParser {
        let unwrapping = self.unwrapping.map(|unwrapping| Box::new(unwrapping.map(LogParser::strict)));
        let inner = self.inner.map(|parser| Box::new(parser.strict()));
        LogParser { w3c: self.w3c.map(W3cState::strict), inner, unwrapping, ..self }
    }

    /// The same with the values of `columns`, which get those of the format and of keys that turn
    /// up. Of a text at most `text_bytes_max` are kept.
    #[must_use]
    pub fn with_own(mut self, columns: &Arc<OwnColumns>, text_bytes_max: usize) -> LogParser {
        let reader = || OwnReader::new(columns, text_bytes_max);
        match self.format.kind() {
            LineSyntax::Text(Program { variables, .. }) if !variables.is_empty() => {
                let places = variables.iter().map(|variable| columns.place(variable)).collect();
                self.own = Some(Box::new(ProgramOwn { reader: reader(), places }));
            }
            LineSyntax::Text(_) => {}
            LineSyntax::Json(_) | LineSyntax::Labels(_) => self.json = self.json.map(|json| json.with_own(reader())),
            LineSyntax::W3c(_) => self.w3c = self.w3c.map(|state| state.with_own(reader())),
            LineSyntax::Prefixed(..) => {
                self.inner = self.inner.map(|parser| Box::new(parser.with_own(columns, text_bytes_max)));
            }
            LineSyntax::Docker(_) => {
                let with_own = |parser: LogParser| parser.with_own(columns, text_bytes_max);
                self.unwrapping = self.unwrapping.map(|unwrapping| Box::new(unwrapping.map(with_own)));
            }
        }
        self
    }

    /// The same that also learns the keys of the lines, where each value has one.
    pub(crate) fn learning(self) -> LogParser {
        let unwrapping = self.unwrapping.map(|unwrapping| Box::new(unwrapping.map(LogParser::learning)));
        let inner = self.inner.map(|parser| Box::new(parser.learning()));
        LogParser { json: self.json.map(JsonState::learning), inner, unwrapping, ..self }
    }

    /// The variables that it has learnt.
    pub(crate) fn learnt(&self) -> Vec<LogVariable> {
        let inner = self.inner.as_deref().or_else(|| self.unwrapping.as_ref().map(|unwrapping| unwrapping.parser()));
        inner.map(LogParser::learnt).or_else(|| self.json.as_ref().map(JsonState::learnt)).unwrap_or_default()
    }

    /// The key of a time of the last line, in JSON, that is not read, as nothing tells its unit.
    pub(crate) fn unitless(&self) -> Option<&'static str> {
        let inner = self.inner.as_ref().and_then(|parser| parser.unitless());
        inner.or_else(|| self.json.as_ref().and_then(JsonState::unitless))
    }

    /// Sets the columns that a stretch of lines begins with.
    pub(crate) fn begin(&mut self, columns: Arc<W3cColumns>) {
        if let Some(state) = &mut self.w3c {
            state.set(columns);
        }
    }

    /// The same for who wants only `fields` of each record: others may be absent. Which lines are
    /// parsed, repaired and rejected, and why, stays the same.
    #[must_use]
    pub fn only(self, fields: &[Field]) -> LogParser {
        let is_number = |field: &Field| matches!(field, Field::Time | Field::Status | Field::Bytes);
        let inner = self.inner.map(|parser| Box::new(parser.only(fields)));
        LogParser { numbers_only: fields.iter().all(is_number), inner, ..self }
    }

    /// Reads one line, given without its final newline; a carriage return at its end is ignored.
    #[inline]
    pub fn parse<'a>(&'a mut self, line: &'a [u8]) -> LineOutcome<'a> {
        let mut outcome = LineOutcome::Blank;
        self.parse_into(line, &mut outcome);
        outcome
    }

    /// The same into an outcome that is there, whatever it is: a record is large, and handing it
    /// back would copy it for each line.
    pub(crate) fn parse_into<'a>(&'a mut self, line: &'a [u8], outcome: &mut LineOutcome<'a>) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = if line.first() == Some(&0) { after_nuls(line) } else { line };
        if let LineSyntax::Text(Program { shape: FastPath::Combined, .. }) = self.format.kind() {
            *outcome = LineOutcome::Parsed(LogRecord::default());
            if let LineOutcome::Parsed(record) = outcome {
                let parsed = match self.numbers_only {
                    true => combined::parse_numbers(&mut self.clock, line, record),
                    false => combined::parse(&mut self.clock, line, record),
                };
                if parsed.is_some() {
                    return;
                }
            }
        }
        *outcome = self.parse_other(line);
    }

    /// Reads a line that is of no shape with a function of its own.
    fn parse_other<'a>(&'a mut self, line: &'a [u8]) -> LineOutcome<'a> {
        let mut outcome = match self.format.kind() {
            LineSyntax::Text(program) => {
                let outcome = general::parse(program, &mut self.clock, line, self.own.as_deref_mut());
                with_values(outcome, self.own.as_deref().map(|own| &own.reader))
            }
            LineSyntax::Json(keys) => {
                let state = self.json.get_or_insert_with(JsonState::new);
                json::parse(keys, &mut self.clock, state, line)
            }
            LineSyntax::Prefixed(prefix, _) => parse_after(*prefix, self.inner.as_deref_mut(), line, LogParser::parse),
            LineSyntax::Labels(keys) => {
                let state = self.json.get_or_insert_with(JsonState::new);
                json::parse_labels(keys, &mut self.clock, state, line)
            }
            LineSyntax::Docker(inner) => {
                let unwrapping = self.unwrapping.get_or_insert_with(|| Box::new(EnvelopeState::new(LogParser::new(inner))));
                unwrapping.parse(line)
            }
            LineSyntax::W3c(columns) => w3c::parse(self.w3c.get_or_insert_with(|| W3cState::new(columns)), line),
        };
        unmap(&mut outcome, &mut self.unmapped);
        outcome
    }

    /// The same as [`LogParser::parse`], but never by a specialised function: for tests that hold
    /// both to one answer.
    #[doc(hidden)]
    pub fn parse_slow<'a>(&'a mut self, line: &'a [u8]) -> LineOutcome<'a> {
        let text = after_nuls(line.strip_suffix(b"\r").unwrap_or(line));
        match self.format.kind() {
            LineSyntax::Text(program) => {
                let outcome = general::parse(program, &mut self.clock, text, self.own.as_deref_mut());
                let mut outcome = with_values(outcome, self.own.as_deref().map(|own| &own.reader));
                unmap(&mut outcome, &mut self.unmapped);
                outcome
            }
            LineSyntax::Json(_) | LineSyntax::Labels(_) | LineSyntax::W3c(_) | LineSyntax::Docker(_) => self.parse(line),
            LineSyntax::Prefixed(prefix, _) => parse_after(*prefix, self.inner.as_deref_mut(), text, LogParser::parse_slow),
        }
    }
}

/// The outcome with the values that were read.
#[inline]
fn with_values<'a>(mut outcome: LineOutcome<'a>, own: Option<&'a OwnReader>) -> LineOutcome<'a> {
    if let (Some(own), LineOutcome::Parsed(record) | LineOutcome::Repaired(record, _)) = (own, &mut outcome) {
        record.own = Some(&own.values);
    }
    outcome
}

/// Gives the client of a record that is an IPv4 address in IPv6's form as the IPv4 address.
#[inline]
fn unmap<'a>(outcome: &mut LineOutcome<'a>, room: &'a mut String) {
    if let LineOutcome::Parsed(record) | LineOutcome::Repaired(record, _) = outcome
        && let Some(address) = address::mapped(record.client)
    {
        room.clear();
        // A text takes all that is written to it.
        let _ = write!(room, "{address}");
        record.client = room.as_bytes();
    }
}

/// The line after the NUL bytes that it begins with: a log that was cut while its writer had it
/// open (logrotate's `copytruncate`) goes on after a hole. A line of nothing but NULs and blanks
/// stays: it is rejected, and not passed over as blank.
fn after_nuls(line: &[u8]) -> &[u8] {
    match line.iter().position(|byte| *byte != 0) {
        Some(start) if start > 0 && !line[start..].trim_ascii().is_empty() => &line[start..],
        _ => line,
    }
}

/// Takes a prefix off a line, and reads the text after it.
#[inline(never)]
fn parse_after<'a>(
    prefix: LinePrefix,
    parser: Option<&'a mut LogParser>,
    line: &'a [u8],
    parse: fn(&'a mut LogParser, &'a [u8]) -> LineOutcome<'a>,
) -> LineOutcome<'a> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return LineOutcome::Blank;
    }
    let (Some(parser), Some((source, rest))) = (parser, prefix.split(line)) else {
        return LineOutcome::Rejected(LineFlaw::Start);
    };
    if prefix.is_of_piece(line) {
        return LineOutcome::Rejected(LineFlaw::Piece);
    }
    let mut outcome = parse(parser, rest);
    if let LineOutcome::Parsed(record) | LineOutcome::Repaired(record, _) = &mut outcome
        && !present(source).is_empty()
    {
        record.source = source;
    }
    outcome
}

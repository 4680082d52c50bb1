//! Reads the lines of an access log.
//!
//! [`Parser::parse`] takes a line and gives a [`Record`] whose fields are slices of it: nothing is copied
//! or allocated per line. Lines of the combined format, which most logs have, are read by one straight
//! function (`combined`); whatever that one does not take, and every other format, by a loop over the
//! compiled format (`general`). Tests hold that both agree.

pub(crate) mod address;
mod clock;
mod combined;
pub(crate) mod docker;
mod escape;
mod general;
mod json;
mod memo;
pub(crate) mod number;
pub(crate) mod record;
pub(crate) mod relay;
mod request;
pub(crate) mod time;
mod w3c;

pub use record::{Flaw, Outcome, Record, Spot};
pub use time::clf;

use crate::format::prefix::Prefix;
use crate::format::program::{Program, Shape};
use crate::format::w3c::W3cColumns;
use crate::format::{Field, Format, Kind};
use docker::Unwrapping;
use json::JsonState;
use std::sync::Arc;
use time::ClfClock;
use w3c::W3cState;

/// Reads lines of one format. Each worker thread has its own: it remembers the last date.
#[derive(Clone, Debug)]
pub struct Parser {
    format: Format,
    clock: ClfClock,
    /// Only for JSON formats.
    json: Option<JsonState>,
    /// Only where the format has a prefix: reads what is behind it.
    behind: Option<Box<Parser>>,
    /// Only for W3C's format.
    w3c: Option<W3cState>,
    /// Only for lines in envelopes.
    unwrapping: Option<Box<Unwrapping>>,
    /// Nobody wants more of a record than its time, status and number of bytes.
    numbers_only: bool,
}

impl Parser {
    /// A parser for lines of `format`.
    pub fn new(format: &Format) -> Parser {
        let json = format.is_json().then(JsonState::new);
        let w3c = if let Kind::W3c(columns) = format.kind() { Some(W3cState::new(columns)) } else { None };
        let unwrapping = match format.kind() {
            Kind::Docker(inner) => Some(Box::new(Unwrapping::new(Parser::new(inner)))),
            _ => None,
        };
        let behind = if let Kind::Prefixed(_, format) = format.kind() { Some(Box::new(Parser::new(format))) } else { None };
        Parser { format: format.clone(), clock: ClfClock::default(), json, behind, w3c, unwrapping, numbers_only: false }
    }

    /// The same for lines of which others are read elsewhere at the same time, where a line that says other columns is a flaw
    /// ([`Flaw::OtherColumns`]) unless each stretch is told what it begins with.
    #[must_use]
    pub fn strict(self) -> Parser {
        let unwrapping = self.unwrapping.map(|unwrapping| Box::new(unwrapping.map(Parser::strict)));
        let behind = self.behind.map(|parser| Box::new(parser.strict()));
        Parser { w3c: self.w3c.map(W3cState::strict), behind, unwrapping, ..self }
    }

    /// What a stretch of lines begins with.
    pub(crate) fn begin(&mut self, columns: Arc<W3cColumns>) {
        if let Some(state) = &mut self.w3c {
            state.set(columns);
        }
    }

    /// The same for who wants only `fields` of each record: others may be absent. Which lines are parsed, repaired and rejected, and
    /// why, stays the same.
    #[must_use]
    pub fn only(self, fields: &[Field]) -> Parser {
        let is_number = |field: &Field| matches!(field, Field::Time | Field::Status | Field::Bytes);
        let behind = self.behind.map(|parser| Box::new(parser.only(fields)));
        Parser { numbers_only: fields.iter().all(is_number), behind, ..self }
    }

    /// Reads one line, given without its final newline; a carriage return at its end is ignored.
    #[inline]
    pub fn parse<'a>(&'a mut self, line: &'a [u8]) -> Outcome<'a> {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match self.format.kind() {
            Kind::Text(program) => parse_text(program, &mut self.clock, self.numbers_only, line),
            Kind::Json(keys) => {
                let state = self.json.get_or_insert_with(JsonState::new);
                json::parse(keys, &mut self.clock, state, line)
            }
            Kind::Prefixed(prefix, _) => parse_behind(*prefix, self.behind.as_deref_mut(), line, Parser::parse),
            Kind::Labels(keys) => {
                let state = self.json.get_or_insert_with(JsonState::new);
                json::parse_labels(keys, &mut self.clock, state, line)
            }
            Kind::Docker(inner) => {
                let unwrapping = self.unwrapping.get_or_insert_with(|| Box::new(Unwrapping::new(Parser::new(inner))));
                unwrapping.parse(line)
            }
            Kind::W3c(columns) => w3c::parse(self.w3c.get_or_insert_with(|| W3cState::new(columns)), line),
        }
    }

    /// As [`Parser::parse`], but never by a specialised function: for tests that hold both to one answer.
    #[doc(hidden)]
    pub fn parse_slow<'a>(&'a mut self, line: &'a [u8]) -> Outcome<'a> {
        match self.format.kind() {
            Kind::Text(program) => general::parse(program, &mut self.clock, line.strip_suffix(b"\r").unwrap_or(line)),
            Kind::Json(_) | Kind::Labels(_) | Kind::W3c(_) | Kind::Docker(_) => self.parse(line),
            Kind::Prefixed(prefix, _) => parse_behind(*prefix, self.behind.as_deref_mut(), line, Parser::parse_slow),
        }
    }
}

/// Takes a prefix off a line, and reads what is behind it.
#[inline(never)]
fn parse_behind<'a>(
    prefix: Prefix,
    parser: Option<&'a mut Parser>,
    line: &'a [u8],
    parse: fn(&'a mut Parser, &'a [u8]) -> Outcome<'a>,
) -> Outcome<'a> {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    if line.trim_ascii().is_empty() {
        return Outcome::Blank;
    }
    let (Some(parser), Some((source, behind))) = (parser, prefix.split(line)) else {
        return Outcome::Rejected(Flaw::Start);
    };
    let mut outcome = parse(parser, behind);
    if let Outcome::Parsed(record) | Outcome::Repaired(record, _) = &mut outcome
        && !general::present(source).is_empty()
    {
        record.source = source;
    }
    outcome
}

#[inline]
fn parse_text<'a>(program: &Program, clock: &mut ClfClock, numbers_only: bool, line: &'a [u8]) -> Outcome<'a> {
    if program.shape == Shape::Combined {
        let mut outcome = Outcome::Parsed(Record::default());
        if let Outcome::Parsed(record) = &mut outcome {
            let parsed =
                if numbers_only { combined::parse_numbers(clock, line, record) } else { combined::parse(clock, line, record) };
            if parsed.is_some() {
                return outcome;
            }
        }
    }
    general::parse(program, clock, line)
}

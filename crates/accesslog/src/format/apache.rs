//! Apache's `LogFormat` strings.

use super::compile::{FieldSlot, FormatPiece, unit};
use super::error::FormatError;
use super::nginx::is_time;
use super::program::{ClockItem, FieldPart};
use super::strftime;
use crate::own::{LogVariable, ValueKind};
use crate::parse::number::Unit;

/// Names of the columns of directives of a letter.
const NAMES: [(&str, &str, ValueKind); 19] = [
    ("A", "local_address", ValueKind::Text),
    ("B", "bytes_sent", ValueKind::Bytes),
    ("H", "protocol", ValueKind::Text),
    ("I", "bytes_received", ValueKind::Bytes),
    ("L", "log_id", ValueKind::Text),
    ("O", "bytes_sent", ValueKind::Bytes),
    ("R", "handler", ValueKind::Text),
    ("S", "bytes_transferred", ValueKind::Bytes),
    ("U", "path", ValueKind::Text),
    ("V", "server_name", ValueKind::Text),
    ("X", "connection_status", ValueKind::Text),
    ("a", "client_address", ValueKind::Text),
    ("b", "bytes_sent", ValueKind::Bytes),
    ("f", "filename", ValueKind::Text),
    ("h", "client_host", ValueKind::Text),
    ("k", "keepalive_requests", ValueKind::Natural),
    ("m", "method", ValueKind::Text),
    ("q", "query", ValueKind::Text),
    ("s", "first_status", ValueKind::Text),
];

/// Splits a `LogFormat` string into text and directives. `\"`, `\\`, `\t` and `\n` stand for the
/// byte.
pub(crate) fn pieces(text: &str) -> Result<Vec<FormatPiece>, FormatError> {
    let mut pieces = Vec::new();
    let mut literal = Vec::new();
    let mut rest = text;
    while let Some(byte) = rest.bytes().next() {
        let column = text.len() - rest.len() + 1;
        if byte == b'%' {
            let (directive, after) = directive(&rest[1..], column)?;
            rest = after;
            directive.push_to(&mut pieces, &mut literal, column)?;
        } else {
            let (byte, length) = text_byte(rest.as_bytes());
            literal.push(byte);
            rest = rest.get(length..).unwrap_or_else(|| unescaped_multibyte(rest, &mut literal));
        }
    }
    pieces.push(FormatPiece::Text(literal));
    Ok(pieces)
}

/// The byte that the text begins with, and how many bytes of the format write it.
fn text_byte(text: &[u8]) -> (u8, usize) {
    match text {
        [b'\\', b't', ..] => (b'\t', 2),
        [b'\\', b'n', ..] => (b'\n', 2),
        [b'\\', byte @ (b'"' | b'\\'), ..] => (*byte, 2),
        [byte, ..] => (*byte, 1),
        [] => (0, 0),
    }
}

/// `text` begins with a character of several bytes, whose first is already in `literal`.
fn unescaped_multibyte<'t>(text: &'t str, literal: &mut Vec<u8>) -> &'t str {
    let length = text.chars().next().map_or(0, char::len_utf8);
    literal.extend(&text.as_bytes()[1..length]);
    &text[length..]
}

/// `%!200,304{Referer}>i` taken apart.
struct Directive<'t> {
    argument: Option<&'t str>,
    /// `<` or `>`: before or after internal redirects.
    side: Option<char>,
    letter: &'t str,
}

fn directive(text: &str, column: usize) -> Result<(Directive<'_>, &str), FormatError> {
    let conditions = text.bytes().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b'!' | b',')).count();
    let mut rest = &text[conditions..];
    let (mut argument, mut side) = (None, None);
    loop {
        if let Some(after) = rest.strip_prefix(['<', '>']) {
            side = rest.chars().next();
            rest = after;
        } else if let Some(after) = rest.strip_prefix('{') {
            let close = after.find('}').ok_or_else(|| FormatError::new(column, "no '}' after '%{'"))?;
            argument = Some(&after[..close]);
            rest = &after[close + 1..];
        } else {
            break;
        }
    }
    let length = match rest.chars().next() {
        // ^FB, ^ti and ^to are the directives of three letters.
        Some('^') => 3.min(rest.len()),
        Some(letter) => letter.len_utf8(),
        None => return Err(FormatError::new(column, "a '%' without a directive")),
    };
    let letter = rest.get(..length).ok_or_else(|| FormatError::new(column, "a '%^' without a directive"))?;
    Ok((Directive { argument, side, letter }, &rest[length..]))
}

impl Directive<'_> {
    fn push_to(&self, pieces: &mut Vec<FormatPiece>, literal: &mut Vec<u8>, column: usize) -> Result<(), FormatError> {
        let bracketed = self.letter == "t" && self.argument.is_none();
        match self.letter {
            "%" => {
                literal.push(b'%');
                return Ok(());
            }
            // Apache writes the brackets of a bare %t itself.
            "t" if bracketed => literal.push(b'['),
            _ => {}
        }
        let (part, rank) = self.part(column)?;
        pieces.push(FormatPiece::Text(std::mem::take(literal)));
        let list = self.argument.is_some_and(|name| name.eq_ignore_ascii_case("x-forwarded-for"));
        let variable = self.variable().filter(|_| !is_time(&part));
        pieces.push(FormatPiece::Slot(FieldSlot {
            part,
            rank,
            list,
            is_skipped: false,
            variable,
            source: self.source(),
            column,
        }));
        if bracketed {
            literal.push(b']');
        }
        Ok(())
    }

    fn source(&self) -> String {
        match self.argument {
            Some(argument) => format!("%{{{argument}}}{}", self.letter),
            None => format!("%{}", self.letter),
        }
    }

    /// The column of the directive, for where no field of a record has its value. The identity of
    /// the client (`%l`) is `-` everywhere, and `%%` says nothing.
    fn variable(&self) -> Option<LogVariable> {
        let (name, kind) = match (self.letter, self.argument) {
            ("l", _) => return None,
            ("T", argument) => ("request_time", ValueKind::Duration(unit(argument.unwrap_or("s"))?)),
            ("D", _) => ("request_time", ValueKind::Duration(Unit::Micros)),
            ("^FB", _) => ("time_to_first_byte", ValueKind::Duration(Unit::Micros)),
            ("a", Some(_)) => ("peer_address", ValueKind::Text),
            ("p", Some("remote")) => ("remote_port", ValueKind::Text),
            ("p", Some("local")) => ("local_port", ValueKind::Text),
            ("P", Some("tid" | "hextid")) => ("thread", ValueKind::Text),
            ("p" | "P", _) => (if self.letter == "p" { "port" } else { "process" }, ValueKind::Text),
            (_, Some(argument)) => return Some(LogVariable::named(argument)),
            (letter, None) => NAMES.iter().find(|(known, ..)| *known == letter).map(|(_, name, kind)| (*name, *kind))?,
        };
        Some(LogVariable::new(name, kind))
    }

    /// The part that the directive is, and its rank among those that say the same.
    fn part(&self, column: usize) -> Result<(FieldPart, u8), FormatError> {
        Ok(match (self.letter, self.argument) {
            ("h", _) => (FieldPart::Client, 1),
            ("a", None) => (FieldPart::Client, 0),
            ("a", Some(_)) => (FieldPart::Client, 2),
            ("u", _) => (FieldPart::User, 0),
            ("t", None) => (FieldPart::Clf, 1),
            ("t", Some(argument)) => (clock(argument, column)?, 1),
            ("r", _) => (FieldPart::Request, 0),
            ("m", _) => (FieldPart::Method, 1),
            ("U", _) => (FieldPart::Path, 1),
            ("q", _) => (FieldPart::MarkedQuery, 1),
            ("H", _) => (FieldPart::Protocol, 1),
            ("s", _) => (FieldPart::Status, u8::from(self.side != Some('>'))),
            ("b" | "B", _) => (FieldPart::Bytes, 0),
            ("O", _) => (FieldPart::Bytes, 1),
            ("D", _) => (FieldPart::RequestTime(Unit::Micros), 0),
            ("T", argument) => (self.duration(argument, column)?, if argument.is_some() { 1 } else { 2 }),
            ("v", _) => (FieldPart::Host, 0),
            ("V", _) => (FieldPart::Host, 1),
            ("i", Some(header)) => header_part(header),
            (
                "A" | "C" | "I" | "c" | "x" | "L" | "P" | "R" | "S" | "X" | "e" | "f" | "i" | "k" | "l" | "n" | "o" | "p" | "^FB"
                | "^ti" | "^to",
                _,
            ) => (FieldPart::Skip, 0),
            (letter, _) => {
                return Err(FormatError::new(column, format!("%{letter} is not a directive of Apache's LogFormat")));
            }
        })
    }

    fn duration(&self, argument: Option<&str>, column: usize) -> Result<FieldPart, FormatError> {
        let name = argument.unwrap_or("s");
        match unit(name) {
            Some(unit) => Ok(FieldPart::RequestTime(unit)),
            None => Err(FormatError::new(column, format!("%{{{name}}}T: the unit is not s, ms or us"))),
        }
    }
}

fn header_part(header: &str) -> (FieldPart, u8) {
    match header.to_ascii_lowercase().as_str() {
        "referer" | "referrer" => (FieldPart::Referrer, 0),
        "user-agent" => (FieldPart::Agent, 0),
        "host" => (FieldPart::Host, 1),
        "x-forwarded-for" => (FieldPart::Client, 3),
        "x-real-ip" | "cf-connecting-ip" | "true-client-ip" => (FieldPart::Client, 3),
        _ => (FieldPart::Skip, 0),
    }
}

/// `%{…}t`: the time by strftime, or one of Apache's own words for it.
fn clock(argument: &str, column: usize) -> Result<FieldPart, FormatError> {
    let format = argument.strip_prefix("begin:").or_else(|| argument.strip_prefix("end:")).unwrap_or(argument);
    Ok(match format {
        "sec" => FieldPart::Epoch(Unit::Seconds),
        "msec" => FieldPart::Epoch(Unit::Millis),
        "usec" => FieldPart::Epoch(Unit::Micros),
        "msec_frac" => FieldPart::Clock([ClockItem::FractionMillis].into()),
        "usec_frac" => FieldPart::Clock([ClockItem::FractionMicros].into()),
        "begin" | "end" => FieldPart::Clf,
        _ => FieldPart::Clock(strftime::items(format, column)?.into()),
    })
}

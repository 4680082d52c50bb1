//! From the pieces of a format string to a [`Program`]: what nginx's and Apache's languages share.

use super::error::FormatError;
use super::program::{Op, Part, Program, Shape, Stop};
use crate::parse::number::Unit;

/// A piece of a format string.
#[derive(Debug, Clone)]
pub(crate) enum Piece {
    Text(Vec<u8>),
    Slot(Slot),
}

/// A field of a format string, before it is known whether another one says the same better.
#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) part: Part,
    /// Where two slots fill one field, the lower rank does and the other is skipped.
    pub(crate) rank: u8,
    /// Whether the value may hold `, ` and ` : `.
    pub(crate) list: bool,
    pub(crate) is_skipped: bool,
    /// The slot as written, for errors.
    pub(crate) source: String,
    /// Column of the slot in the format string, from 1.
    pub(crate) column: usize,
}

/// How a server keeps a quote inside a quoted field apart from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escaping {
    Backslash,
    None,
}

/// Compiles the pieces of a format string.
pub(crate) fn compile(pieces: Vec<Piece>, escaping: Escaping) -> Result<Program, FormatError> {
    let mut pieces = fuse(pieces);
    skip_doubles(&mut pieces);
    let mut pieces = pieces.into_iter().peekable();
    let lead = match pieces.next_if(|piece| matches!(piece, Piece::Text(_))) {
        Some(Piece::Text(text)) => text,
        _ => Vec::new(),
    };
    let mut ops: Vec<Op> = Vec::new();
    let mut before = lead.clone();
    while let Some(Piece::Slot(slot)) = pieces.next() {
        let end = match pieces.next_if(|piece| matches!(piece, Piece::Text(_))) {
            Some(Piece::Text(text)) => text,
            _ => Vec::new(),
        };
        let stop = stop(&slot, &end, pieces.peek())?;
        let is_bare = before.last().is_none_or(|byte| *byte == b' ') && end.first().is_none_or(|byte| *byte == b' ');
        let next = pieces.peek().and_then(|piece| if let Piece::Slot(next) = piece { Some(&next.part) } else { None });
        let may_end = slot.part == Part::Bytes && end == b" \"" && next == Some(&Part::Referrer);
        let quoted = before.last().is_some_and(|byte| matches!(byte, b'"' | b'\'')) && before.last() == end.first();
        let escaped = quoted && escaping == Escaping::Backslash;
        before.clone_from(&end);
        ops.push(Op {
            part: slot.part,
            end: end.into(),
            stop,
            is_skipped: slot.is_skipped,
            escaped,
            is_bare,
            may_end,
            source: slot.source.into(),
        });
    }
    finish(lead, ops)
}

/// Where the field of `slot` ends, given the text behind it and the next slot.
fn stop(slot: &Slot, end: &[u8], next: Option<&Piece>) -> Result<Stop, FormatError> {
    let Some(Piece::Slot(next)) = next else {
        return Ok(Stop::LineEnd);
    };
    if !end.is_empty() {
        let list = slot.list || (slot.part == Part::Client && end.starts_with(b" ") && !end.starts_with(b" :"));
        return Ok(if list { Stop::List } else { Stop::Literal });
    }
    match (&slot.part, &next.part) {
        (Part::Clock(_), _) => Ok(Stop::Literal),
        (Part::Host, Part::Target | Part::Path) => Ok(Stop::Slash),
        (part, _) if part.is_number() => Ok(Stop::Number),
        _ => Err(FormatError::new(
            next.column,
            format!("nothing between {} and {} tells where one ends and the other begins", slot.source, next.source),
        )),
    }
}

/// Joins neighbours that are one field in two slots: path and query, and fields that are skipped.
fn fuse(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut fused: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (fused.last_mut(), piece) {
            (Some(Piece::Text(text)), Piece::Text(more)) => text.extend(more),
            (Some(Piece::Slot(last)), Piece::Slot(slot)) => match joined(&last.part, &slot.part) {
                Some(part) => last.part = part,
                None => fused.push(Piece::Slot(slot)),
            },
            (_, Piece::Text(text)) if text.is_empty() => {}
            (_, piece) => fused.push(piece),
        }
    }
    fused
}

fn joined(left: &Part, right: &Part) -> Option<Part> {
    match (left, right) {
        (Part::Path | Part::Target, Part::MarkedQuery | Part::Query) => Some(Part::Target),
        (Part::MarkedQuery, Part::Query) => Some(Part::MarkedQuery),
        (Part::Skip, Part::Skip) => Some(Part::Skip),
        _ => None,
    }
}

/// Marks a slot as skipped where another fills the same field with a lower rank, or earlier with
/// the same rank.
fn skip_doubles(pieces: &mut [Piece]) {
    let mut by_rank: Vec<(u8, usize)> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        if let Piece::Slot(slot) = piece {
            by_rank.push((slot.rank, at));
        }
    }
    by_rank.sort_unstable();
    let mut taken = 0u16;
    for (_rank, at) in by_rank {
        let Piece::Slot(slot) = &mut pieces[at] else {
            continue;
        };
        let fields = slot.part.fields();
        // The pieces of a time add up; every other field has one source.
        let adds_up = matches!(slot.part, Part::Clock(_));
        if fields & taken != 0 && !adds_up {
            slot.is_skipped = true;
        }
        taken |= fields;
    }
}

fn finish(lead: Vec<u8>, ops: Vec<Op>) -> Result<Program, FormatError> {
    let fields = ops.iter().filter(|op| !op.is_skipped).fold(0, |bits, op| bits | op.part.fields());
    if fields == 0 {
        return Err(FormatError::new(1, "the format has no field that a report could use"));
    }
    let has_clock = ops.iter().any(|op| matches!(op.part, Part::Clock(_)));
    let shape = if is_combined(&lead, &ops) { Shape::Combined } else { Shape::General };
    Ok(Program { lead: lead.into(), ops: ops.into(), fields, has_clock, shape })
}

fn is_combined(lead: &[u8], ops: &[Op]) -> bool {
    const COMBINED: [(Part, &[u8]); 9] = [
        (Part::Client, b" "),
        (Part::Skip, b" "),
        (Part::User, b" ["),
        (Part::Clf, b"] \""),
        (Part::Request, b"\" "),
        (Part::Status, b" "),
        (Part::Bytes, b" \""),
        (Part::Referrer, b"\" \""),
        (Part::Agent, b"\""),
    ];
    let same = |(op, (part, end)): (&Op, &(Part, &[u8]))| {
        let quoted = matches!(op.part, Part::Request | Part::Referrer | Part::Agent);
        let list = op.stop == Stop::List;
        op.part == *part && &*op.end == *end && op.escaped == quoted && list == (op.part == Part::Client) && !op.is_skipped
    };
    lead.is_empty() && ops.len() == COMBINED.len() && ops.iter().zip(&COMBINED).all(same)
}

/// The unit that a `%{unit}T` names.
pub(crate) fn unit(name: &str) -> Option<Unit> {
    match name {
        "s" => Some(Unit::Seconds),
        "ms" => Some(Unit::Millis),
        "us" => Some(Unit::Micros),
        _ => None,
    }
}

//! From the pieces of a format string to a [`Program`]: the parts that nginx and Apache share.

use super::error::FormatError;
use super::program::{FastPath, FieldEnd, FieldPart, Op, Program};
use crate::own::{LogVariable, ValueKind};
use crate::parse::number::Unit;

/// A piece of a format string.
#[derive(Debug, Clone)]
pub(crate) enum FormatPiece {
    Text(Vec<u8>),
    Slot(FieldSlot),
}

/// A field of a format string, before it is known whether another one says the same better.
#[derive(Debug, Clone)]
pub(crate) struct FieldSlot {
    pub(crate) part: FieldPart,
    /// Of two slots for one field the lower rank fills it and the other is skipped.
    pub(crate) rank: u8,
    /// True if the value may hold `, ` and ` : `.
    pub(crate) list: bool,
    pub(crate) is_skipped: bool,
    /// Its column, where no field of a record has its value; `None` of what says nothing.
    pub(crate) variable: Option<LogVariable>,
    /// The slot as written, for errors.
    pub(crate) source: String,
    /// Column of the slot in the format string, from 1.
    pub(crate) column: usize,
}

/// The escape that keeps a quote inside a quoted field apart from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuoteEscaping {
    Backslash,
    None,
}

/// Compiles the pieces of a format string.
pub(crate) fn compile(pieces: Vec<FormatPiece>, escaping: QuoteEscaping) -> Result<Program, FormatError> {
    let mut pieces = fuse(pieces);
    skip_doubles(&mut pieces);
    let mut pieces = pieces.into_iter().peekable();
    let lead = match pieces.next_if(|piece| matches!(piece, FormatPiece::Text(_))) {
        Some(FormatPiece::Text(text)) => text,
        _ => Vec::new(),
    };
    let mut ops: Vec<Op> = Vec::new();
    let mut variables: Vec<LogVariable> = Vec::new();
    let mut before = lead.clone();
    while let Some(FormatPiece::Slot(slot)) = pieces.next() {
        let end = match pieces.next_if(|piece| matches!(piece, FormatPiece::Text(_))) {
            Some(FormatPiece::Text(text)) => text,
            _ => Vec::new(),
        };
        let stop = stop(&slot, &end, pieces.peek())?;
        let is_bare = before.last().is_none_or(|byte| *byte == b' ') && end.first().is_none_or(|byte| *byte == b' ');
        let next = pieces.peek().and_then(|piece| if let FormatPiece::Slot(next) = piece { Some(&next.part) } else { None });
        let may_end = slot.part == FieldPart::Bytes && end == b" \"" && next == Some(&FieldPart::Referrer);
        let quoted = before.last().is_some_and(|byte| matches!(byte, b'"' | b'\'')) && before.last() == end.first();
        let escaped = quoted && escaping == QuoteEscaping::Backslash;
        before.clone_from(&end);
        let own = slot.variable.filter(|_| matches!(slot.part, FieldPart::Skip | FieldPart::Hierarchy) || slot.is_skipped);
        let variable = own.as_ref().map(|_| variables.len() as u16);
        variables.extend(own);
        ops.push(Op {
            part: slot.part,
            end: end.into(),
            stop,
            is_skipped: slot.is_skipped,
            variable,
            escaped,
            is_bare,
            may_end,
            source: slot.source.into(),
        });
    }
    finish(lead, ops, variables)
}

/// The end of the field of `slot`, given the text after it and the next slot.
fn stop(slot: &FieldSlot, end: &[u8], next: Option<&FormatPiece>) -> Result<FieldEnd, FormatError> {
    let Some(FormatPiece::Slot(next)) = next else {
        return Ok(FieldEnd::LineEnd);
    };
    if !end.is_empty() {
        let list = slot.list || (slot.part == FieldPart::Client && end.starts_with(b" ") && !end.starts_with(b" :"));
        return Ok(if list { FieldEnd::List } else { FieldEnd::Literal });
    }
    match (&slot.part, &next.part) {
        (FieldPart::Clock(_), _) => Ok(FieldEnd::Literal),
        (FieldPart::Host, FieldPart::Target | FieldPart::Path) => Ok(FieldEnd::Slash),
        (part, _) if part.is_number() => Ok(FieldEnd::Number),
        _ => Err(FormatError::new(
            next.column,
            format!("nothing between {} and {} tells where one ends and the other begins", slot.source, next.source),
        )),
    }
}

/// Joins neighbours that are one field in two slots: path and query, and fields that are skipped.
fn fuse(pieces: Vec<FormatPiece>) -> Vec<FormatPiece> {
    let mut fused: Vec<FormatPiece> = Vec::new();
    for piece in pieces {
        match (fused.last_mut(), piece) {
            (Some(FormatPiece::Text(text)), FormatPiece::Text(more)) => text.extend(more),
            (Some(FormatPiece::Slot(last)), FormatPiece::Slot(slot)) => match joined(&last.part, &slot.part) {
                Some(part) => join(last, &slot, part),
                None => fused.push(FormatPiece::Slot(slot)),
            },
            (_, FormatPiece::Text(text)) if text.is_empty() => {}
            (_, piece) => fused.push(piece),
        }
    }
    fused
}

/// Makes one slot of two. Where both are stepped over, nothing tells their values apart.
fn join(last: &mut FieldSlot, slot: &FieldSlot, part: FieldPart) {
    if part == FieldPart::Skip
        && let (Some(one), Some(other)) = (&last.variable, &slot.variable)
    {
        let [one, other] = [one, other].map(|variable| variable.column().name);
        last.variable = Some(LogVariable::new(&format!("{one}${other}"), ValueKind::Text));
    }
    last.part = part;
}

fn joined(left: &FieldPart, right: &FieldPart) -> Option<FieldPart> {
    match (left, right) {
        (FieldPart::Path | FieldPart::Target, FieldPart::MarkedQuery | FieldPart::Query) => Some(FieldPart::Target),
        (FieldPart::MarkedQuery, FieldPart::Query) => Some(FieldPart::MarkedQuery),
        (FieldPart::Skip, FieldPart::Skip) => Some(FieldPart::Skip),
        _ => None,
    }
}

/// Marks a slot as skipped where another fills the same field with a lower rank, or earlier with
/// the same rank.
fn skip_doubles(pieces: &mut [FormatPiece]) {
    let mut by_rank: Vec<(u8, usize)> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        if let FormatPiece::Slot(slot) = piece {
            by_rank.push((slot.rank, at));
        }
    }
    by_rank.sort_unstable();
    let mut taken = 0u16;
    for (_rank, at) in by_rank {
        let FormatPiece::Slot(slot) = &mut pieces[at] else {
            continue;
        };
        let fields = slot.part.fields();
        // The pieces of a time add up; every other field has one source.
        let adds_up = matches!(slot.part, FieldPart::Clock(_));
        if fields & taken != 0 && !adds_up {
            slot.is_skipped = true;
        }
        taken |= fields;
    }
}

fn finish(lead: Vec<u8>, ops: Vec<Op>, variables: Vec<LogVariable>) -> Result<Program, FormatError> {
    let fields = ops.iter().filter(|op| !op.is_skipped).fold(0, |bits, op| bits | op.part.fields());
    if fields == 0 {
        return Err(FormatError::new(1, "the format has no field that a report could use"));
    }
    let has_clock = ops.iter().any(|op| matches!(op.part, FieldPart::Clock(_)));
    let shape = if is_combined(&lead, &ops) { FastPath::Combined } else { FastPath::General };
    let begins_as_common = begins_as_common(&lead, &ops);
    let begins_with_host = begins_with_host(&lead, &ops);
    Ok(Program {
        lead: lead.into(),
        ops: ops.into(),
        fields,
        has_clock,
        shape,
        variables: variables.into(),
        begins_as_common,
        begins_with_host,
    })
}

fn begins_as_common(lead: &[u8], ops: &[Op]) -> bool {
    let user = match ops {
        [client, user, ..] if *client.end == *b" - " => user,
        [client, skipped, user, ..] if skipped.part == FieldPart::Skip && *client.end == *b" " && *skipped.end == *b" " => user,
        _ => return false,
    };
    let is_client = ops[0].part == FieldPart::Client && !ops[0].is_skipped;
    lead.is_empty() && is_client && user.part == FieldPart::User && *user.end == *b" ["
}

fn begins_with_host(lead: &[u8], ops: &[Op]) -> bool {
    let [host, after @ ..] = ops else { return false };
    // The port may be between them.
    let after = if *host.end == *b":" { after.get(1..).unwrap_or_default() } else { after };
    lead.is_empty() && host.part == FieldPart::Host && !host.is_skipped && begins_as_common(b"", after)
}

fn is_combined(lead: &[u8], ops: &[Op]) -> bool {
    const COMBINED: [(FieldPart, &[u8]); 9] = [
        (FieldPart::Client, b" "),
        (FieldPart::Skip, b" "),
        (FieldPart::User, b" ["),
        (FieldPart::Clf, b"] \""),
        (FieldPart::Request, b"\" "),
        (FieldPart::Status, b" "),
        (FieldPart::Bytes, b" \""),
        (FieldPart::Referrer, b"\" \""),
        (FieldPart::Agent, b"\""),
    ];
    let same = |(op, (part, end)): (&Op, &(FieldPart, &[u8]))| {
        let quoted = matches!(op.part, FieldPart::Request | FieldPart::Referrer | FieldPart::Agent);
        let list = op.stop == FieldEnd::List;
        op.part == *part && &*op.end == *end && op.escaped == quoted && list == (op.part == FieldPart::Client) && !op.is_skipped
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

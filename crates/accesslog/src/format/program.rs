//! A format string compiled: fields, each with the literal text that follows it.

use super::field::Field;
use crate::parse::number::Unit;
use crate::parse::record::Spot;

/// A compiled format string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// Text that every line begins with.
    pub(crate) lead: Box<[u8]>,
    pub(crate) ops: Box<[Op]>,
    /// Bits of the fields that the program reads.
    pub(crate) fields: u16,
    /// Whether the time is put together from pieces ([`Part::Clock`]).
    pub(crate) has_clock: bool,
    pub(crate) shape: Shape,
}

/// Which specialised function, if any, reads lines of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    General,
    Combined,
}

/// Reads one field and the text behind it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Op {
    pub(crate) part: Part,
    /// Literal text behind the field; for the last field, what the line ends with.
    pub(crate) end: Box<[u8]>,
    pub(crate) stop: Stop,
    /// Whether another field of the line says the same better, so that this one is only stepped over.
    pub(crate) is_skipped: bool,
    /// Whether a backslash in the field escapes what follows it.
    pub(crate) escaped: bool,
    /// Whether it stands between blanks, so that a server that fills columns up may write several.
    pub(crate) is_bare: bool,
    /// Whether a line may end with it though fields follow: common lines stand among combined ones.
    pub(crate) may_end: bool,
    /// The field as the format writes it.
    pub(crate) source: Box<str>,
}

/// Where a field ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Before the first occurrence of the literal.
    Literal,
    /// Likewise, but a `,` or ` :` before it, or a `: ` after it, goes on: nginx lists several upstreams so.
    List,
    /// With the line, less the literal.
    LineEnd,
    /// Before the first byte that is no digit or point.
    Number,
    /// Before the first `/` or literal: a host directly followed by a path.
    Slash,
}

/// What a field is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// A field that no record has.
    Skip,
    /// An address or a list of them, each with a port or without.
    Client,
    User,
    Host,
    Clf,
    Iso,
    Epoch(Unit),
    /// A time in any of the forms that are known, only in JSON.
    AnyTime,
    /// A time or a piece of one, as strftime writes it.
    Clock(Box<[ClockItem]>),
    Request,
    Method,
    /// Path and query together.
    Target,
    Path,
    Query,
    /// Query with its `?`, or nothing.
    MarkedQuery,
    Protocol,
    Status,
    Bytes,
    Referrer,
    Agent,
    RequestTime(Unit),
    UpstreamTime(Unit),
}

impl Part {
    /// Bits of the fields that this part fills.
    pub(crate) fn fields(&self) -> u16 {
        let all = |fields: &[Field]| fields.iter().fold(0, |bits, field| bits | field.bit());
        match self {
            Part::Skip => 0,
            Part::Client => Field::Client.bit(),
            Part::User => Field::User.bit(),
            Part::Host => Field::Host.bit(),
            Part::Clf | Part::Iso | Part::Epoch(_) | Part::AnyTime | Part::Clock(_) => Field::Time.bit(),
            Part::Request => all(&[Field::Method, Field::Path, Field::Query, Field::Protocol]),
            Part::Method => Field::Method.bit(),
            Part::Target => all(&[Field::Path, Field::Query]),
            Part::Path => Field::Path.bit(),
            Part::Query | Part::MarkedQuery => Field::Query.bit(),
            Part::Protocol => Field::Protocol.bit(),
            Part::Status => Field::Status.bit(),
            Part::Bytes => Field::Bytes.bit(),
            Part::Referrer => Field::Referrer.bit(),
            Part::Agent => Field::Agent.bit(),
            Part::RequestTime(_) => Field::RequestTime.bit(),
            Part::UpstreamTime(_) => Field::UpstreamTime.bit(),
        }
    }

    /// The part's name in a flaw.
    pub(crate) fn spot(&self) -> Spot {
        match self {
            Part::Request => Spot::Request,
            other => {
                let bits = other.fields();
                Field::ALL.into_iter().find(|field| field.bit() & bits != 0).map_or(Spot::Other, Spot::Field)
            }
        }
    }

    /// Whether every line has something there, if only a `-`.
    pub(crate) fn is_never_empty(&self) -> bool {
        let is_time = matches!(self, Part::Clf | Part::Iso | Part::Epoch(_));
        is_time || matches!(self, Part::Client | Part::Status | Part::Bytes | Part::RequestTime(_) | Part::UpstreamTime(_))
    }

    /// Whether the part's text is digits, so that its end shows without a literal.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self, Part::Epoch(_) | Part::Status | Part::Bytes | Part::RequestTime(_))
    }
}

/// A piece of a strftime string.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClockItem {
    Literal(u8),
    Space,
    Year,
    Century,
    YearOfCentury,
    Month,
    MonthName,
    WeekdayName,
    Day,
    DayOfYear,
    Hour,
    Hour12,
    AmPm,
    Minute,
    Second,
    Zone,
    ZoneName,
    EpochSeconds,
    FractionMillis,
    FractionMicros,
    /// Digits that say nothing new, such as a week's number.
    Digits,
}

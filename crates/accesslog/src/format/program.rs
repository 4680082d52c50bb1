//! A format string compiled: fields, each with the literal text that follows it.

use super::field::Field;
use crate::own::LogVariable;
use crate::parse::number::Unit;
use crate::parse::record::FlawPosition;

/// A compiled format string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// Text that every line begins with.
    pub(crate) lead: Box<[u8]>,
    pub(crate) ops: Box<[Op]>,
    /// Bits of the fields that the program reads.
    pub(crate) fields: u16,
    /// True if the time is put together from pieces ([`FieldPart::Clock`]).
    pub(crate) has_clock: bool,
    pub(crate) shape: FastPath,
    /// The variables that no field of a record is for.
    pub(crate) variables: Box<[LogVariable]>,
    /// True if lines begin with client, identity and user, in words: `%h %l %u [`.
    pub(crate) begins_as_common: bool,
    /// True if these come after a host.
    pub(crate) begins_with_host: bool,
}

/// The specialised function, if any, that reads lines of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FastPath {
    General,
    Combined,
}

/// Reads one field and the text after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Op {
    pub(crate) part: FieldPart,
    /// Literal text after the field; for the last field, the end of the line.
    pub(crate) end: Box<[u8]>,
    pub(crate) stop: FieldEnd,
    /// True if another field of the line says the same better, so that this one is only stepped
    /// over.
    pub(crate) is_skipped: bool,
    /// The number of the variable of the format's own that it is.
    pub(crate) variable: Option<u16>,
    /// True if a backslash in the field escapes the byte after it.
    pub(crate) escaped: bool,
    /// True if it stands between blanks, so that a server that fills columns up may write several.
    pub(crate) is_bare: bool,
    /// True if a line may end with it though fields follow: common lines stand among combined ones.
    pub(crate) may_end: bool,
    /// The field as the format writes it.
    pub(crate) source: Box<str>,
}

/// The end of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldEnd {
    /// Before the first occurrence of the literal.
    Literal,
    /// Likewise, but a `,` or ` :` before it, or a `: ` after it, goes on: nginx lists several
    /// upstreams so.
    List,
    /// With the line, less the literal.
    LineEnd,
    /// Before the first byte that is no digit or point.
    Number,
    /// Before the first `/` or literal: a host directly followed by a path.
    Slash,
}

/// The kinds of fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FieldPart {
    /// A field that no record has.
    Skip,
    /// Squid's code of how a request was passed on, with the peer, which no record has. Where there
    /// is anything else, a blank is in a field before it.
    Hierarchy,
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
    /// A request whose target has its host in it.
    AbsoluteRequest,
    Method,
    /// Path and query together.
    Target,
    /// The same with the host before it, only in JSON.
    Url,
    Path,
    Query,
    /// Query with its `?`, or nothing.
    MarkedQuery,
    Protocol,
    Status,
    Bytes,
    Referrer,
    Agent,
    /// The two in the encoding of URLs, only in JSON.
    EncodedReferrer,
    EncodedAgent,
    RequestTime(Unit),
    UpstreamTime(Unit),
}

impl FieldPart {
    /// Bits of the fields that this part fills.
    pub(crate) fn fields(&self) -> u16 {
        let all = |fields: &[Field]| fields.iter().fold(0, |bits, field| bits | field.bit());
        match self {
            FieldPart::Skip | FieldPart::Hierarchy => 0,
            FieldPart::Client => Field::Client.bit(),
            FieldPart::User => Field::User.bit(),
            FieldPart::Host => Field::Host.bit(),
            FieldPart::Clf | FieldPart::Iso | FieldPart::Epoch(_) | FieldPart::AnyTime | FieldPart::Clock(_) => Field::Time.bit(),
            FieldPart::Request => all(&[Field::Method, Field::Path, Field::Query, Field::Protocol]),
            FieldPart::AbsoluteRequest => FieldPart::Request.fields() | Field::Host.bit(),
            FieldPart::Method => Field::Method.bit(),
            FieldPart::Target => all(&[Field::Path, Field::Query]),
            FieldPart::Url => all(&[Field::Host, Field::Path, Field::Query]),
            FieldPart::Path => Field::Path.bit(),
            FieldPart::Query | FieldPart::MarkedQuery => Field::Query.bit(),
            FieldPart::Protocol => Field::Protocol.bit(),
            FieldPart::Status => Field::Status.bit(),
            FieldPart::Bytes => Field::Bytes.bit(),
            FieldPart::Referrer | FieldPart::EncodedReferrer => Field::Referrer.bit(),
            FieldPart::Agent | FieldPart::EncodedAgent => Field::Agent.bit(),
            FieldPart::RequestTime(_) => Field::RequestTime.bit(),
            FieldPart::UpstreamTime(_) => Field::UpstreamTime.bit(),
        }
    }

    /// The part's name in a flaw.
    pub(crate) fn spot(&self) -> FlawPosition {
        match self {
            FieldPart::Request | FieldPart::AbsoluteRequest => FlawPosition::Request,
            other => {
                let bits = other.fields();
                Field::ALL.into_iter().find(|field| field.bit() & bits != 0).map_or(FlawPosition::Other, FlawPosition::Field)
            }
        }
    }

    /// True if the part is the time of the request.
    pub(crate) fn is_time(&self) -> bool {
        matches!(self, FieldPart::Clf | FieldPart::Iso | FieldPart::Epoch(_))
    }

    /// True if every line has something there, if only a `-`.
    pub(crate) fn is_never_empty(&self) -> bool {
        self.is_time()
            || matches!(
                self,
                FieldPart::Client | FieldPart::Status | FieldPart::Bytes | FieldPart::RequestTime(_) | FieldPart::UpstreamTime(_)
            )
    }

    /// True if the part's text has no blanks where nothing is around it.
    pub(crate) fn is_word(&self) -> bool {
        matches!(
            self,
            FieldPart::Client | FieldPart::Host | FieldPart::Method | FieldPart::Target | FieldPart::Path | FieldPart::Protocol
        )
    }

    /// True if the part's text is digits, so that its end shows without a literal.
    pub(crate) fn is_number(&self) -> bool {
        matches!(self, FieldPart::Epoch(_) | FieldPart::Status | FieldPart::Bytes | FieldPart::RequestTime(_))
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

//! The record of one line of an access log, and the flaws that a line can have.

use std::fmt;

use crate::format::Field;
use crate::own::OwnValues;

/// One access-log line: its fields as slices of the line, or of the parser's scratch where an
/// escape had to be undone. An empty slice is an absent field (`-` in the log, or not in the format
/// at all).
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct LogRecord<'a> {
    /// Unix time in microseconds, UTC.
    pub time_us: Option<i64>,
    /// The log's own offset in seconds east of UTC; 0 when the line does not say.
    pub zone_seconds: i32,
    /// Address or name of the client, as in the log.
    pub client: &'a [u8],
    /// Authenticated user.
    pub user: &'a [u8],
    /// Virtual host the request was for.
    pub host: &'a [u8],
    /// Request method, such as `GET`.
    pub method: &'a [u8],
    /// Target of the request up to its first `?`; an absolute target keeps its scheme and host.
    pub path: &'a [u8],
    /// The target after its first `?`.
    pub query: &'a [u8],
    /// Protocol of the request, such as `HTTP/1.1`.
    pub protocol: &'a [u8],
    /// Response status, 100 to 999; 0 when absent.
    pub status: u16,
    /// Bytes of the response.
    pub bytes: Option<u64>,
    /// `Referer` of the request.
    pub referrer: &'a [u8],
    /// `User-Agent` of the request.
    pub agent: &'a [u8],
    /// Time the request took, in microseconds.
    pub request_time_us: Option<u64>,
    /// Time spent with upstream servers, in microseconds, summed where there were several.
    pub upstream_time_us: Option<u64>,
    /// Host, container or file that a prefix of the line names.
    pub source: &'a [u8],
    /// Values in the columns of the log's own, where the parser was asked for them.
    pub own: Option<&'a OwnValues>,
}

impl<'a> LogRecord<'a> {
    /// The fields that it has.
    pub fn fields(&self) -> impl Iterator<Item = Field> {
        let Self { time_us, client, user, host, method, path, query, protocol, status, bytes, referrer, agent, .. } = self;
        [
            (Field::Time, time_us.is_some()),
            (Field::Client, !client.is_empty()),
            (Field::User, !user.is_empty()),
            (Field::Host, !host.is_empty()),
            (Field::Method, !method.is_empty()),
            (Field::Path, !path.is_empty()),
            (Field::Query, !query.is_empty()),
            (Field::Protocol, !protocol.is_empty()),
            (Field::Status, *status != 0),
            (Field::Bytes, bytes.is_some()),
            (Field::Referrer, !referrer.is_empty()),
            (Field::Agent, !agent.is_empty()),
            (Field::RequestTime, self.request_time_us.is_some()),
            (Field::UpstreamTime, self.upstream_time_us.is_some()),
            (Field::Source, !self.source.is_empty()),
        ]
        .into_iter()
        .filter_map(|(field, is_there)| is_there.then_some(field))
    }

    /// The texts, in the order of `TEXT_FIELDS`, where they are: copies of all of them would not be
    /// held in registers.
    #[inline]
    pub(crate) fn texts(&self) -> [&&'a [u8]; 10] {
        let Self { client, user, host, method, path, query, protocol, referrer, agent, source, .. } = self;
        [client, user, host, method, path, query, protocol, referrer, agent, source]
    }

    pub(crate) fn texts_mut(&mut self) -> [&mut &'a [u8]; 10] {
        let Self { client, user, host, method, path, query, protocol, referrer, agent, source, .. } = self;
        [client, user, host, method, path, query, protocol, referrer, agent, source]
    }
}

/// The outcome of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineOutcome<'a> {
    /// Every field was sound.
    Parsed(LogRecord<'a>),
    /// One field was not sound and is absent (or, if it was a text cut short, holds what there
    /// was); time and status are sound.
    Repaired(LogRecord<'a>, LineFlaw),
    /// The line could not be used, for the first flaw found.
    Rejected(LineFlaw),
    /// Nothing but white space.
    Blank,
}

/// A place in a line that a flaw can be at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlawPosition {
    /// A field of the record.
    Field(Field),
    /// The request line, which holds method, target and protocol.
    Request,
    /// A field of the format that no record has.
    Other,
}

impl fmt::Display for FlawPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            FlawPosition::Field(field) => field.title(),
            FlawPosition::Request => "request",
            FlawPosition::Other => "unnamed field",
        })
    }
}

/// Reason for which a line is not sound. `Display` gives the sentence to show to people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineFlaw {
    /// The line does not begin with the text that the format begins with.
    Start,
    /// The mark that closes a field was not found.
    Unclosed(FlawPosition, char),
    /// The line ends where this field should begin, or before.
    Missing(FlawPosition),
    /// A number was expected.
    NotNumber(Field),
    /// The number does not fit in 64 bits.
    TooLarge(Field),
    /// A status outside 100 to 999.
    StatusRange,
    /// The time is not written as the format says.
    NotTime,
    /// The time is written well, but there is no such date or hour.
    ImpossibleTime,
    /// The request is not `METHOD target PROTOCOL`.
    NotRequest,
    /// There is text after the last field of the format.
    TextAfter,
    /// The line is not one JSON object; the number is the byte where it stops being one, from 0.
    NotJson(u32),
    /// The JSON object has neither a status nor a request.
    NoAccess,
    /// The line is no `label:value` with tabs between, or has neither a status nor a request.
    NoLabels,
    /// No `#Fields:` line before it names its columns.
    NoColumns,
    /// A `#Fields:` line says other columns from here on, where nobody else would know.
    OtherColumns,
    /// The name of a virtual host stands before the client, where the format has none.
    HostFirst,
    /// A part of a line that a container's runtime cut because of its length.
    Piece,
    /// The client is neither an address nor a name.
    NotClient,
    /// A second line begins within the line.
    TwoLines,
    /// A number has a plus before it, as HAProxy writes those of a request that goes on
    /// (`option logasap`): the final one is larger.
    SoFar,
}

impl fmt::Display for LineFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LineFlaw::Start => f.write_str("the line does not begin as the format says"),
            LineFlaw::Unclosed(spot, mark) => {
                write!(f, "no closing {:?} after the {spot}", mark.to_string())
            }
            LineFlaw::Missing(spot) => write!(f, "the line ends before the {spot}"),
            LineFlaw::NotNumber(field @ (Field::RequestTime | Field::UpstreamTime)) => {
                write!(f, "{} is no number of a known unit", field.title())
            }
            LineFlaw::NotNumber(field) => write!(f, "{} is not a number", field.title()),
            LineFlaw::TooLarge(field) => write!(f, "{} does not fit in 64 bits", field.title()),
            LineFlaw::StatusRange => f.write_str("status is not between 100 and 999"),
            LineFlaw::NotTime => f.write_str("time is not written as the format says"),
            LineFlaw::ImpossibleTime => f.write_str("the date or time does not exist"),
            LineFlaw::NotRequest => f.write_str("request is not 'METHOD target PROTOCOL'"),
            LineFlaw::TextAfter => f.write_str("there is text after the last field"),
            LineFlaw::NotJson(at) => write!(f, "not a JSON object at byte {at}"),
            LineFlaw::NoLabels => f.write_str("not label:value with tabs between, or neither a status nor a request"),
            LineFlaw::NoColumns => f.write_str("no #Fields line before it says what its columns are"),
            LineFlaw::OtherColumns => f.write_str("#Fields says other columns from here on"),
            LineFlaw::HostFirst => f.write_str("a host stands before the client, where the format has none"),
            LineFlaw::Piece => {
                f.write_str("a piece of a line that the container's runtime cut: docker logs and kubectl logs write it whole")
            }
            LineFlaw::TwoLines => f.write_str("another line begins within it: one of the two was cut"),
            LineFlaw::NotClient => f.write_str("client is neither an address nor a name"),
            LineFlaw::SoFar => f.write_str("logged before its end: bytes or time are those so far (+)"),
            LineFlaw::NoAccess => f.write_str("the JSON object has neither a status nor a request"),
        }
    }
}

/// Collects the fields of one line and the flaws met on the way; decides the outcome.
#[derive(Default)]
pub(crate) struct Draft<'a> {
    pub(crate) record: LogRecord<'a>,
    /// Fields among time and status that were read and sound, as bits of [`Field::bit`].
    pub(crate) sound: u16,
    flaw: Option<LineFlaw>,
    flaws: u32,
    /// A number is the one so far.
    is_so_far: bool,
}

impl<'a> Draft<'a> {
    /// Notes a flaw; the first is the one reported.
    #[cold]
    pub(crate) fn note(&mut self, flaw: LineFlaw) {
        self.flaw.get_or_insert(flaw);
        self.flaws += 1;
    }

    /// Digits of a number, without the plus that HAProxy puts before one of a request that goes on.
    pub(crate) fn so_far<'t>(&mut self, text: &'t [u8]) -> &'t [u8] {
        match text {
            [b'+', digits @ ..] if digits.first().is_some_and(u8::is_ascii_digit) => {
                self.is_so_far = true;
                digits
            }
            _ => text,
        }
    }

    /// The outcome, where `needed` are the fields that must be sound for a flawed line to be kept.
    pub(crate) fn outcome(self, needed: u16) -> LineOutcome<'a> {
        match self.flaw {
            None if self.is_so_far => LineOutcome::Repaired(self.record, LineFlaw::SoFar),
            None => LineOutcome::Parsed(self.record),
            Some(flaw) if self.flaws == 1 && self.sound & needed == needed => LineOutcome::Repaired(self.record, flaw),
            Some(flaw) => LineOutcome::Rejected(flaw),
        }
    }
}

/// Bits of the fields that the record has.
pub(crate) fn field_bits(record: &LogRecord<'_>) -> u16 {
    let mut bits = 0;
    for field in Field::ALL {
        if has(record, field) {
            bits |= field.bit();
        }
    }
    bits
}

fn has(record: &LogRecord<'_>, field: Field) -> bool {
    match field {
        Field::Time => record.time_us.is_some(),
        Field::Status => record.status != 0,
        Field::Bytes => record.bytes.is_some(),
        Field::RequestTime => record.request_time_us.is_some(),
        Field::UpstreamTime => record.upstream_time_us.is_some(),
        text => !bytes_of(record, text).is_empty(),
    }
}

fn bytes_of<'a>(record: &LogRecord<'a>, field: Field) -> &'a [u8] {
    match field {
        Field::Client => record.client,
        Field::User => record.user,
        Field::Host => record.host,
        Field::Method => record.method,
        Field::Path => record.path,
        Field::Query => record.query,
        Field::Protocol => record.protocol,
        Field::Referrer => record.referrer,
        Field::Agent => record.agent,
        Field::Source => record.source,
        Field::Time | Field::Status | Field::Bytes | Field::RequestTime | Field::UpstreamTime => &[],
    }
}

/// The field as text for people: the time in RFC 3339, durations in seconds; `None` if it is
/// absent.
pub(crate) fn field_text(record: &LogRecord<'_>, field: Field) -> Option<String> {
    if !has(record, field) {
        return None;
    }
    Some(match field {
        Field::Time => super::time::rfc3339(record.time_us?, record.zone_seconds),
        Field::Status => record.status.to_string(),
        Field::Bytes => record.bytes?.to_string(),
        Field::RequestTime => seconds(record.request_time_us?),
        Field::UpstreamTime => seconds(record.upstream_time_us?),
        text => String::from_utf8_lossy(bytes_of(record, text)).into_owned(),
    })
}

fn seconds(duration_us: u64) -> String {
    format!("{}.{:06} s", duration_us / 1_000_000, duration_us % 1_000_000)
}

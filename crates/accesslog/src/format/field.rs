//! The fields a record can have.

/// A field of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Field {
    /// Time of the request (or of the answer: servers differ).
    Time,
    /// Client address.
    Client,
    /// Authenticated user.
    User,
    /// Virtual host.
    Host,
    /// Request method.
    Method,
    /// Request target up to `?`.
    Path,
    /// Request target after `?`.
    Query,
    /// Request protocol.
    Protocol,
    /// Response status.
    Status,
    /// Response bytes.
    Bytes,
    /// Referring page.
    Referrer,
    /// User agent.
    Agent,
    /// Time the request took.
    RequestTime,
    /// Time spent with upstream servers.
    UpstreamTime,
    /// Host, container or file that a prefix of the line names.
    Source,
}

impl Field {
    /// All fields, in the order in which they are shown.
    pub const ALL: [Field; 15] = [
        Field::Time,
        Field::Client,
        Field::User,
        Field::Host,
        Field::Method,
        Field::Path,
        Field::Query,
        Field::Protocol,
        Field::Status,
        Field::Bytes,
        Field::Referrer,
        Field::Agent,
        Field::RequestTime,
        Field::UpstreamTime,
        Field::Source,
    ];

    /// Name for programs: lower case, words joined by `_`.
    pub fn name(self) -> &'static str {
        match self {
            Field::Time => "time",
            Field::Client => "client",
            Field::User => "user",
            Field::Host => "host",
            Field::Method => "method",
            Field::Path => "path",
            Field::Query => "query",
            Field::Protocol => "protocol",
            Field::Status => "status",
            Field::Bytes => "bytes",
            Field::Referrer => "referrer",
            Field::Agent => "agent",
            Field::RequestTime => "request_time",
            Field::UpstreamTime => "upstream_time",
            Field::Source => "source",
        }
    }

    /// Name for sentences.
    pub fn title(self) -> &'static str {
        match self {
            Field::Bytes => "number of bytes",
            Field::RequestTime => "request time",
            Field::UpstreamTime => "upstream time",
            other => other.name(),
        }
    }

    pub(crate) fn bit(self) -> u16 {
        1 << self as u16
    }
}

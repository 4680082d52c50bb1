//! Columns of filters: the fields of a record, and values derived from them.

use crate::format::Field;

/// A column of texts. An absent value is the empty text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum TextColumn {
    Client,
    /// The client's network: /24 of an IPv4 address, /48 of an IPv6 one.
    Net,
    /// The client's country by two letters, where a database is given.
    Country,
    User,
    Host,
    Method,
    Path,
    /// Path and query, as in the request.
    Url,
    Query,
    Protocol,
    Referrer,
    /// Host of the referrer.
    Site,
    Agent,
    Browser,
    Os,
    /// Name of the bot; absent for people.
    Bot,
    /// Kind of content, by the path's extension.
    Kind,
    /// Host, container or file that a prefix of the line names.
    Source,
    /// The flaw of a line that was repaired or rejected.
    Flaw,
}

/// A column of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum NumberColumn {
    Status,
    /// Index into [`CLASSES`](crate::filter::CLASSES).
    Class,
    Bytes,
    /// In microseconds.
    RequestTime,
    /// In microseconds.
    UpstreamTime,
    /// 0 to 23, by the clock of the log.
    Hour,
    /// 1 (Monday) to 7, by the clock of the log.
    Weekday,
}

/// Properties that a row has or has not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Flag {
    /// The agent is no person's browser.
    Bot,
    /// The line did not fit the format: it has no field at all.
    Rejected,
    /// The line had one flaw.
    Repaired,
}

impl TextColumn {
    /// All of them, in the order in which they are shown.
    pub const ALL: [TextColumn; 19] = [
        Self::Path,
        Self::Url,
        Self::Query,
        Self::Client,
        Self::Net,
        Self::Country,
        Self::Host,
        Self::Method,
        Self::Protocol,
        Self::Referrer,
        Self::Site,
        Self::Browser,
        Self::Os,
        Self::Bot,
        Self::Agent,
        Self::User,
        Self::Kind,
        Self::Source,
        Self::Flaw,
    ];

    /// Name in filters, for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Net => "net",
            Self::Country => "country",
            Self::Url => "url",
            Self::Site => "site",
            Self::Browser => "browser",
            Self::Os => "os",
            Self::Bot => "bot",
            Self::Kind => "kind",
            Self::Flaw => "flaw",
            Self::Client => Field::Client.name(),
            Self::User => Field::User.name(),
            Self::Host => Field::Host.name(),
            Self::Method => Field::Method.name(),
            Self::Path => Field::Path.name(),
            Self::Query => Field::Query.name(),
            Self::Protocol => Field::Protocol.name(),
            Self::Referrer => Field::Referrer.name(),
            Self::Agent => Field::Agent.name(),
            Self::Source => Field::Source.name(),
        }
    }
}

impl NumberColumn {
    /// All of them.
    pub const ALL: [NumberColumn; 7] =
        [Self::Status, Self::Class, Self::Bytes, Self::RequestTime, Self::UpstreamTime, Self::Hour, Self::Weekday];

    /// Name in filters, for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Status => Field::Status.name(),
            Self::Class => "class",
            Self::Bytes => Field::Bytes.name(),
            Self::RequestTime => Field::RequestTime.name(),
            Self::UpstreamTime => Field::UpstreamTime.name(),
            Self::Hour => "hour",
            Self::Weekday => "weekday",
        }
    }
}

impl Flag {
    /// All of them.
    pub const ALL: [Flag; 3] = [Self::Bot, Self::Rejected, Self::Repaired];

    /// Name in filters, for programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Bot => "bot",
            Self::Rejected => "rejected",
            Self::Repaired => "repaired",
        }
    }
}

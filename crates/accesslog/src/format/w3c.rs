//! W3C's extended log format, as IIS and CloudFront write it: a `#Fields:` line says which columns
//! follow.

use super::field::Field;
use crate::own::{LogVariable, ValueKind};
use std::sync::Arc;

/// Columns that a `#Fields:` line may name; of a longer one nothing is known.
const COLUMNS_MAX: usize = 256;

/// The text that every such line begins with.
const FIELDS: &[u8] = b"#Fields:";

/// The text that the line with the server's name begins with.
const SOFTWARE: &[u8] = b"#Software:";

/// Parts of names of servers, in small letters, and the unit of their times: IIS by its
/// documentation, ProxySG as well; WebLogic has the draft's seconds.
const SERVERS: [(&str, W3cWriter); 4] = [
    ("internet information services", W3cWriter::Iis),
    ("iis advanced logging", W3cWriter::Iis),
    ("sgos", W3cWriter::Millis),
    ("weblogic", W3cWriter::Seconds),
];

/// CloudFront's columns. Years added to their end, so that an older log has the first of them.
const CLOUDFRONT: &str = "date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) \
    cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken \
    x-forwarded-for ssl-protocol ssl-cipher x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields \
    c-port time-to-first-byte x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start sc-range-end";

/// The least that CloudFront ever wrote.
const CLOUDFRONT_COLUMNS_MIN: usize = 12;

/// IIS's columns where nobody chose others: of IIS 7, and from IIS 8 on with the referrer.
const IIS: [&str; 2] = [
    "date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) sc-status sc-substatus \
     sc-win32-status time-taken",
    "date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status \
     sc-substatus sc-win32-status time-taken",
];

/// Names of the columns of fields, as most servers write them.
const NAMES: [(Field, &str); 12] = [
    (Field::Client, "c-ip"),
    (Field::User, "cs-username"),
    (Field::Host, "cs-host"),
    (Field::Method, "cs-method"),
    (Field::Path, "cs-uri-stem"),
    (Field::Query, "cs-uri-query"),
    (Field::Protocol, "cs-version"),
    (Field::Status, "sc-status"),
    (Field::Bytes, "sc-bytes"),
    (Field::Referrer, "cs(Referer)"),
    (Field::Agent, "cs(User-Agent)"),
    (Field::RequestTime, "time-taken"),
];

/// The columns of lines, until another `#Fields:` line says others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct W3cColumns {
    pub(crate) columns: Box<[W3cColumn]>,
    /// The names, as they were written.
    names: Arc<str>,
    /// The server that wrote them, which escapes texts in its own way.
    pub(crate) writing: W3cWriter,
    /// The server that a `#Software:` line names.
    server: Option<W3cServer>,
}

/// A server as `#Software:` names it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct W3cServer {
    name: Arc<str>,
    writing: W3cWriter,
}

/// The directives of a stretch of a log that say how its lines are read; of two of a kind the
/// last.
#[derive(Debug, Clone, Default)]
pub(crate) struct W3cDirectives {
    server: Option<W3cServer>,
    columns: Option<W3cColumns>,
}

impl W3cDirectives {
    /// Takes a line in that is such a directive.
    pub(crate) fn read(&mut self, line: &[u8]) {
        if !line.starts_with(b"#") && !line.starts_with(b"\xef\xbb\xbf#") {
            return;
        }
        match W3cColumns::of_line(line) {
            Some(columns) => self.columns = Some(columns),
            None => self.server = W3cServer::of_line(line).or_else(|| self.server.take()),
        }
    }

    /// The columns after the stretch; `None` where it says nothing.
    pub(crate) fn after(self, before: &W3cColumns) -> Option<W3cColumns> {
        if self.server.is_none() && self.columns.is_none() {
            return None;
        }
        let server = self.server.or_else(|| before.server.clone());
        let columns = self.columns.unwrap_or_else(|| before.clone());
        Some(if columns.server == server { columns } else { W3cColumns::written_by(server, &columns.names) })
    }
}

/// True if a line says something about the log.
pub(crate) fn is_directive(line: &[u8]) -> bool {
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).starts_with(b"#")
}

impl W3cServer {
    /// The server that a `#Software:` line names.
    fn of_line(line: &[u8]) -> Option<W3cServer> {
        const NAME_BYTES_MAX: usize = 100;
        let name = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).strip_prefix(SOFTWARE)?.trim_ascii();
        let name = String::from_utf8_lossy(&name[..name.len().min(NAME_BYTES_MAX)]);
        let lower = name.to_ascii_lowercase();
        let known = SERVERS.iter().find(|(known, _)| lower.contains(known));
        Some(W3cServer { name: name.as_ref().into(), writing: known.map_or(W3cWriter::Other, |(_, writing)| *writing) })
    }
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum W3cColumn {
    /// One that no record has, or that another says better.
    Skip,
    Date,
    Time,
    Client,
    User,
    Host,
    Method,
    /// Path and query.
    Target,
    Path,
    Query,
    Protocol,
    Status,
    Bytes,
    Referrer,
    Agent,
    TakenMillis,
    TakenSeconds,
}

/// The server that wrote a log: it decides the escape of blanks and the unit of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum W3cWriter {
    /// IIS: `+` for a blank, milliseconds.
    Iis,
    /// CloudFront: tabs between columns, `%20` for a blank, seconds.
    CloudFront,
    /// Another server whose times are milliseconds.
    Millis,
    /// Another server whose times are seconds.
    Seconds,
    /// Another server: the unit of its times is not known, so they are left out.
    Other,
}

impl W3cColumns {
    /// None: no line says which there are.
    pub(crate) fn unknown() -> W3cColumns {
        W3cColumns { columns: Box::default(), names: "".into(), writing: W3cWriter::Other, server: None }
    }

    /// The columns that a line says; `None` of one that is no `#Fields:` line.
    pub(crate) fn of_line(line: &[u8]) -> Option<W3cColumns> {
        let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        let names = line.strip_prefix(FIELDS)?;
        let words = || names.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        if words().count() > COLUMNS_MAX {
            return Some(W3cColumns::unknown());
        }
        let names = words().map(String::from_utf8_lossy).collect::<Vec<_>>().join(" ");
        Some(W3cColumns::written_by(None, &names))
    }

    /// The columns of these names, in a log of a server.
    fn written_by(server: Option<W3cServer>, names: &str) -> W3cColumns {
        let words = || names.split(' ').filter(|word| !word.is_empty());
        let has = |name: &str| words().any(|word| word.eq_ignore_ascii_case(name));
        let writing = match &server {
            _ if words().any(|word| word.starts_with("x-edge-")) => W3cWriter::CloudFront,
            _ if has("sc-win32-status") || has("sc-substatus") || has("s-sitename") || has("s-computername") => W3cWriter::Iis,
            Some(server) => server.writing,
            None => W3cWriter::Other,
        };
        let mut columns: Vec<(W3cColumn, u8)> = words().map(|word| column(word.as_bytes(), writing)).collect();
        for at in 0..columns.len() {
            let (kind, rank) = columns[at];
            let better = |other: usize| columns[other].0 == kind && (columns[other].1, other) < (rank, at);
            if kind != W3cColumn::Skip && (0..columns.len()).any(better) {
                columns[at].0 = W3cColumn::Skip;
            }
        }
        // A time of a day that no column names is none: `#Date:` says when a log began.
        if columns.iter().all(|(column, _)| *column != W3cColumn::Date) {
            columns.iter_mut().filter(|(column, _)| *column == W3cColumn::Time).for_each(|column| column.0 = W3cColumn::Skip);
        }
        let columns = columns.into_iter().map(|(column, _)| column).collect();
        W3cColumns { columns, names: names.into(), writing, server }
    }

    /// The columns that servers write by default and a line without `#Fields:` may have, by how
    /// many values it has.
    pub(crate) fn defaults(line: &[u8]) -> impl Iterator<Item = W3cColumns> {
        let count = |separator: u8| line.split(|byte| *byte == separator).count();
        let of_cloudfront: Vec<&str> = CLOUDFRONT.split_whitespace().take(count(b'\t')).collect();
        let of_cloudfront = (of_cloudfront.len() >= CLOUDFRONT_COLUMNS_MIN).then(|| of_cloudfront.join(" "));
        let blanks = count(b' ');
        let of_iis = IIS.into_iter().filter(move |names| names.split_whitespace().count() == blanks);
        let names = of_cloudfront.into_iter().chain(of_iis.map(str::to_owned));
        names.filter_map(|names| W3cColumns::of_line(format!("#Fields: {names}").as_bytes()))
    }

    /// The columns of the first line of a sample that says them, with the server that a line before
    /// it names, or one between it and the first record.
    pub(crate) fn of_sample(lines: &[&[u8]]) -> Option<W3cColumns> {
        let said = lines.iter().position(|line| W3cColumns::of_line(line).is_some())?;
        let is_more = |line: &&&[u8]| is_directive(line) && W3cColumns::of_line(line).is_none();
        let more = lines[said + 1..].iter().take_while(is_more).count();
        let mut directives = W3cDirectives::default();
        lines[..=said + more].iter().for_each(|line| directives.read(line));
        directives.after(&W3cColumns::unknown())
    }

    /// True if a column is one that only requests have: firewalls and mail servers write other
    /// events in this format, and servers of FTP and of streams their commands.
    pub(crate) fn are_of_requests(&self) -> bool {
        const OF_OTHERS: [&str; 5] = ["x-session", "x-fullpath", "x-event", "x-sname", "x-ctx"];
        let is_other = |name: &str| OF_OTHERS.iter().any(|other| name.eq_ignore_ascii_case(other));
        !self.names().any(is_other) && self.fields() & (Field::Method.bit() | Field::Path.bit() | Field::Status.bit()) != 0
    }

    /// The lines that say them; `w3c` where none did.
    pub(crate) fn source(&self) -> String {
        let software = self.server.as_ref().map_or(String::new(), |server| format!("#Software: {}\n", server.name));
        if self.columns.is_empty() { "w3c".to_owned() } else { format!("{software}#Fields: {}", self.names) }
    }

    /// The names of the columns.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.split(' ')
    }

    /// Of each column the variable that it is, where no field of a record is for it. Of several
    /// times of a request all say the same.
    pub(crate) fn variables(&self) -> impl Iterator<Item = Option<LogVariable>> {
        const TIMES: [&str; 4] = ["date", "time", "date-local", "time-local"];
        let variable = |(column, name): (&W3cColumn, &str)| {
            let is_own = *column == W3cColumn::Skip && !TIMES.iter().any(|time| name.eq_ignore_ascii_case(time));
            // Its unit is not known.
            let is_taken = name.eq_ignore_ascii_case("time-taken");
            is_own.then(|| if is_taken { LogVariable::new(name, ValueKind::Float) } else { LogVariable::named(name) })
        };
        self.columns.iter().zip(self.names()).map(variable)
    }

    /// The names of the times that are not read: no column tells the server, and so the unit, or
    /// none has the date.
    pub(crate) fn unread(&self) -> Option<String> {
        let has_time = self.columns.contains(&W3cColumn::Time);
        let is_time = |name: &str| name.eq_ignore_ascii_case("time-taken") || (name.eq_ignore_ascii_case("time") && !has_time);
        let columns = self.names().zip(&*self.columns).filter(|(_, column)| **column == W3cColumn::Skip);
        let unread: Vec<&str> = columns.map(|(name, _)| name).filter(|name| is_time(name)).collect();
        (!unread.is_empty()).then(|| unread.join(" "))
    }

    /// The columns, and after them those of all other fields, and of variables: a later line of a
    /// log may say more columns than the first.
    pub(crate) fn with_more<'a>(&'a self, variables: impl Iterator<Item = &'a str>) -> W3cColumns {
        let mut names: Vec<&str> = self.names().filter(|name| !name.is_empty()).collect();
        let fields = NAMES.iter().filter(|(field, _)| self.fields() & field.bit() == 0).map(|(_, name)| *name);
        for name in fields.chain(variables) {
            if names.len() < COLUMNS_MAX && !names.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                names.push(name);
            }
        }
        W3cColumns::written_by(self.server.clone(), &names.join(" "))
    }

    /// Bits of the fields that lines can have.
    pub(crate) fn fields(&self) -> u16 {
        let all = [
            W3cColumn::Date,
            W3cColumn::Client,
            W3cColumn::User,
            W3cColumn::Host,
            W3cColumn::Method,
            W3cColumn::Target,
            W3cColumn::Protocol,
        ];
        let more = [W3cColumn::Status, W3cColumn::Bytes, W3cColumn::Referrer, W3cColumn::Agent, W3cColumn::TakenMillis];
        match &*self.columns {
            [] => all.into_iter().chain(more).fold(0, |bits, column| bits | column.fields()),
            columns => columns.iter().fold(0, |bits, column| bits | column.fields()),
        }
    }
}

impl W3cColumn {
    /// Bits of the fields that it fills.
    fn fields(self) -> u16 {
        match self {
            W3cColumn::Skip => 0,
            W3cColumn::Date | W3cColumn::Time => Field::Time.bit(),
            W3cColumn::Client => Field::Client.bit(),
            W3cColumn::User => Field::User.bit(),
            W3cColumn::Host => Field::Host.bit(),
            W3cColumn::Method => Field::Method.bit(),
            W3cColumn::Target => Field::Path.bit() | Field::Query.bit(),
            W3cColumn::Path => Field::Path.bit(),
            W3cColumn::Query => Field::Query.bit(),
            W3cColumn::Protocol => Field::Protocol.bit(),
            W3cColumn::Status => Field::Status.bit(),
            W3cColumn::Bytes => Field::Bytes.bit(),
            W3cColumn::Referrer => Field::Referrer.bit(),
            W3cColumn::Agent => Field::Agent.bit(),
            W3cColumn::TakenMillis | W3cColumn::TakenSeconds => Field::RequestTime.bit(),
        }
    }
}

/// The column that a name means, and its rank among those that mean the same.
fn column(name: &[u8], writing: W3cWriter) -> (W3cColumn, u8) {
    match &*name.to_ascii_lowercase() {
        b"date" => (W3cColumn::Date, 0),
        b"time" => (W3cColumn::Time, 0),
        // IIS Advanced Logging's, of the machine's own zone, which it does not write.
        b"date-local" => (W3cColumn::Date, 1),
        b"time-local" => (W3cColumn::Time, 1),
        b"timetakenms" => (W3cColumn::TakenMillis, 1),
        b"c-ip" => (W3cColumn::Client, 0),
        b"cs(x-forwarded-for)" | b"x-forwarded-for" => (W3cColumn::Client, 1),
        b"cs-username" => (W3cColumn::User, 0),
        // CloudFront's cs(Host) is the name of the distribution.
        b"x-host-header" => (W3cColumn::Host, 0),
        b"cs-host" => (W3cColumn::Host, 1),
        b"cs(host)" => (W3cColumn::Host, 2),
        b"cs-method" => (W3cColumn::Method, 0),
        b"cs-uri-stem" => (W3cColumn::Path, 0),
        b"cs-uri-query" => (W3cColumn::Query, 0),
        b"cs-uri" => (W3cColumn::Target, 0),
        b"cs-version" | b"cs-protocol-version" => (W3cColumn::Protocol, 0),
        b"sc-status" => (W3cColumn::Status, 0),
        b"sc-bytes" => (W3cColumn::Bytes, 0),
        // W3C's own names need not say whose they are.
        b"bytes" => (W3cColumn::Bytes, 1),
        // Streaming servers'.
        b"c-status" => (W3cColumn::Status, 1),
        b"cs(referer)" | b"cs(referrer)" => (W3cColumn::Referrer, 0),
        b"cs(user-agent)" => (W3cColumn::Agent, 0),
        b"time-taken" => match writing {
            W3cWriter::Iis | W3cWriter::Millis => (W3cColumn::TakenMillis, 0),
            W3cWriter::CloudFront | W3cWriter::Seconds => (W3cColumn::TakenSeconds, 0),
            W3cWriter::Other => (W3cColumn::Skip, 0),
        },
        _ => (W3cColumn::Skip, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_of_time_follows_from_who_wrote() {
        let taken = |line: &str| W3cColumns::of_line(line.as_bytes()).and_then(|columns| columns.columns.last().copied());
        assert_eq!(taken("#Fields: date time sc-win32-status time-taken"), Some(W3cColumn::TakenMillis));
        assert_eq!(taken("#Fields: date time x-edge-location time-taken"), Some(W3cColumn::TakenSeconds));
        assert_eq!(taken("#Fields: date time time-taken"), Some(W3cColumn::Skip));
        assert_eq!(taken("#Software: x"), None);
        let unread = |line: &str| W3cColumns::of_line(line.as_bytes()).and_then(|columns| columns.unread());
        assert_eq!(unread("#Fields: date time time-taken sc-status").as_deref(), Some("time-taken"));
        assert_eq!(unread("#Fields: date time sc-win32-status time-taken"), None);
    }

    #[test]
    fn the_unit_of_time_follows_from_the_software() {
        let taken = |software: &str, fields: &str| {
            let lines = [software.as_bytes(), b"#Version: 1.0", fields.as_bytes()];
            W3cColumns::of_sample(&lines).and_then(|columns| columns.columns.last().copied())
        };
        let plain = "#Fields: date time time-taken";
        assert_eq!(taken("#Software: Microsoft Internet Information Services 10.0", plain), Some(W3cColumn::TakenMillis));
        assert_eq!(taken("#Software: SGOS 6.7.4.3", plain), Some(W3cColumn::TakenMillis));
        assert_eq!(taken("#Software:\tWebLogic", plain), Some(W3cColumn::TakenSeconds));
        assert_eq!(taken("#Software: Mine 1.0", plain), Some(W3cColumn::Skip));
        // Columns that only one server has say more than a name.
        let of_cloudfront = "#Fields: date time x-edge-location time-taken";
        assert_eq!(
            taken("#Software: Microsoft Internet Information Services 10.0", of_cloudfront),
            Some(W3cColumn::TakenSeconds)
        );
    }

    #[test]
    fn what_says_the_columns_gives_the_same_again() {
        let lines: [&[u8]; 2] = [b"#Software: Microsoft Internet Information Services 10.0", b"#Fields: date time time-taken"];
        let columns = W3cColumns::of_sample(&lines).expect("columns");
        let source = columns.source();
        let again: Vec<&[u8]> = source.split('\n').map(str::as_bytes).collect();
        assert_eq!(W3cColumns::of_sample(&again), Some(columns));
    }

    #[test]
    fn of_two_that_say_the_same_one_counts() {
        let columns = W3cColumns::of_line(b"#Fields: cs(Host) x-host-header c-ip c-ip").expect("columns");
        assert_eq!(*columns.columns, [W3cColumn::Skip, W3cColumn::Host, W3cColumn::Client, W3cColumn::Skip]);
    }

    /// `#Date:` says when a log began, and a log goes on after midnight.
    #[test]
    fn a_time_without_a_date_is_not_read_and_said() {
        let columns = W3cColumns::of_line(b"#Fields: time c-ip sc-status time-taken").unwrap();
        assert_eq!(columns.fields() & Field::Time.bit(), 0);
        assert_eq!(columns.unread().as_deref(), Some("time time-taken"));
        let columns = W3cColumns::of_line(b"#Fields: date time c-ip sc-status").unwrap();
        assert_eq!((columns.fields() & Field::Time.bit(), columns.unread()), (Field::Time.bit(), None));
    }
}

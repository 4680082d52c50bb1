//! Columns by the names that people give them, and words for what filters write otherwise.

use crate::filter::nearest;
use crate::schema::{NumberColumn, Schema, TextColumn};

/// Names that people give the columns of access logs.
const NAMES: [(&str, &[&str]); 17] = [
    ("client", &["ip", "addr", "address", "remote", "remote_addr", "clientip", "client_ip", "visitor"]),
    ("agent", &["ua", "useragent", "user-agent", "user_agent", "http_user_agent"]),
    ("referrer", &["referer", "ref", "http_referer"]),
    ("path", &["uri", "page", "endpoint", "route", "file", "resource"]),
    ("bytes", &["size", "length", "sent", "body"]),
    ("request_time", &["duration", "latency", "took", "rt", "response_time", "time_taken", "elapsed"]),
    ("upstream_time", &["upstream", "upstream_response_time", "backend"]),
    ("method", &["verb"]),
    ("status", &["code", "statuscode", "status_code", "response", "http_status"]),
    ("host", &["domain", "vhost", "server"]),
    ("user", &["username", "login", "remote_user"]),
    ("query", &["args", "params", "querystring", "query_string"]),
    ("os", &["platform", "system"]),
    ("bot", &["crawler", "robot", "spider"]),
    ("net", &["network", "subnet"]),
    ("protocol", &["proto", "http"]),
    ("weekday", &["day"]),
];

/// A column that a name means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NamedColumn {
    pub(super) name: String,
    pub(super) kind: ColumnKind,
    /// The name was a slip.
    pub(super) is_guess: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnKind {
    Text(TextColumn),
    Number(NumberColumn),
}

/// The column with this very name, or one that people give it.
pub(super) fn named(schema: &Schema, name: &str) -> Option<NamedColumn> {
    let other = |name: &str| NAMES.iter().find(|(_, others)| others.iter().any(|other| other.eq_ignore_ascii_case(name)));
    column(schema, name).or_else(|| column(schema, other(name)?.0))
}

/// The same, or else the one that is spelt most like it.
pub(super) fn named_or_near(schema: &Schema, name: &str) -> Option<NamedColumn> {
    let near = || column(schema, &nearest(name, schema)?).map(|near| NamedColumn { is_guess: true, ..near });
    named(schema, name).or_else(near)
}

fn column(schema: &Schema, name: &str) -> Option<NamedColumn> {
    let of = |kind, name: std::borrow::Cow<'_, str>| NamedColumn { name: name.into_owned(), kind, is_guess: false };
    let text = schema.text(name).map(|column| of(ColumnKind::Text(column), schema.text_name(column)));
    text.or_else(|| schema.number(name).map(|column| of(ColumnKind::Number(column), schema.number_name(column))))
}

/// Filters of access logs that a few words stand for; the longer ones first. Of several filters
/// those count that the columns allow.
pub(super) const SAYINGS: [(&str, &str); 66] = [
    ("internal server error", "status = 500"),
    ("internal server errors", "status = 500"),
    ("too many requests", "status = 429"),
    ("method not allowed", "status = 405"),
    ("service unavailable", "status = 503"),
    ("gateway timeout", "status = 504"),
    ("gateway timeouts", "status = 504"),
    ("not modified", "status = 304"),
    ("not found", "status = 404"),
    ("bad gateway", "status = 502"),
    ("bad request", "status = 400"),
    ("bad requests", "status = 400"),
    ("server error", "status = 5xx"),
    ("server errors", "status = 5xx"),
    ("client error", "status = 4xx"),
    ("client errors", "status = 4xx"),
    ("slow requests", "request_time >= 1s"),
    ("large responses", "bytes >= 1MiB"),
    ("no referrer", "not referrer exists"),
    ("no user agent", "not agent exists"),
    ("unauthorized", "status = 401"),
    ("unauthorised", "status = 401"),
    ("forbidden", "status = 403"),
    ("error", "status >= 400"),
    ("errors", "status >= 400"),
    ("failed", "status >= 400"),
    ("failures", "status >= 400"),
    ("redirect", "status = 3xx"),
    ("redirects", "status = 3xx"),
    ("success", "status = 2xx"),
    ("successful", "status = 2xx"),
    ("ok", "status = 2xx"),
    ("slow", "request_time >= 1s"),
    ("large", "bytes >= 1MiB"),
    ("big", "bytes >= 1MiB"),
    ("huge", "bytes >= 10MiB"),
    ("bots", "bot"),
    ("crawlers", "bot"),
    ("robots", "bot"),
    ("humans", "not bot and not rejected"),
    ("people", "not bot and not rejected"),
    ("broken lines", "rejected"),
    ("unreadable", "rejected"),
    ("pages", "kind = page"),
    ("stylesheets", "kind = style"),
    ("scripts", "kind = script"),
    ("images", "kind = image"),
    ("pictures", "kind = image"),
    ("fonts", "kind = font"),
    ("videos", "kind = media"),
    ("documents", "kind = document"),
    ("archives", "kind = archive"),
    ("downloads", "kind in (archive, document)"),
    ("weekend", "weekday in (sat, sun)"),
    ("weekends", "weekday in (sat, sun)"),
    ("monday", "weekday = mon"),
    ("tuesday", "weekday = tue"),
    ("wednesday", "weekday = wed"),
    ("thursday", "weekday = thu"),
    ("friday", "weekday = fri"),
    ("saturday", "weekday = sat"),
    ("sunday", "weekday = sun"),
    ("at night", "hour in 0..5"),
    ("logged in", "user exists"),
    ("ipv6", "client in ::/0"),
    ("ipv4", "client in 0.0.0.0/0"),
];

/// Words that say nothing about rows.
pub(super) const FILLERS: [&str; 26] = [
    "a", "all", "and", "any", "are", "by", "for", "from", "give", "in", "is", "lines", "me", "of", "on", "only", "requests",
    "rows", "show", "that", "the", "to", "was", "where", "with", "were",
];

/// Words that turn round what comes next.
pub(super) const NEGATIONS: [&str; 6] = ["not", "no", "without", "except", "excluding", "non"];

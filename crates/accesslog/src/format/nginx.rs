//! nginx's `log_format` strings.

use super::compile::{FieldSlot, FormatPiece};
use super::error::FormatError;
use super::json::JsonKeys;
use super::program::{ClockItem, FieldPart};
use super::tail;
use crate::own::LogVariable;
use crate::parse::number::Unit;

/// Splits a `log_format` string, quotes already undone, into text and variables.
pub(crate) fn pieces(text: &str) -> Result<Vec<FormatPiece>, FormatError> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(dollar) = rest.find('$') {
        let column = text.len() - rest.len() + dollar + 1;
        pieces.push(FormatPiece::Text(rest.as_bytes()[..dollar].to_vec()));
        let (name, after) = variable(&rest[dollar + 1..], column)?;
        pieces.push(FormatPiece::Slot(slot(name, column)));
        rest = after;
    }
    pieces.push(FormatPiece::Text(rest.as_bytes().to_vec()));
    Ok(pieces)
}

/// The name at the start of `text`, which follows a `$`, and the text after it.
fn variable(text: &str, column: usize) -> Result<(&str, &str), FormatError> {
    let braced = text.strip_prefix('{');
    let body = braced.unwrap_or(text);
    let length = body.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
    let (name, after) = body.split_at(length);
    if name.is_empty() {
        return Err(FormatError::new(column, "a '$' without the name of a variable"));
    }
    match braced {
        None => Ok((name, after)),
        Some(_) => match after.strip_prefix('}') {
            Some(after) => Ok((name, after)),
            None => Err(FormatError::new(column, format!("no '}}' after '${{{name}'"))),
        },
    }
}

/// Name in our own formats of the client's identity by RFC 1413, which is `-` everywhere.
const IDENTITY: &str = "ident";

/// True of a part that says the time of the request: of several all say the same.
pub(super) fn is_time(part: &FieldPart) -> bool {
    part.is_time() || matches!(part, FieldPart::Clock(_))
}

fn slot(name: &str, column: usize) -> FieldSlot {
    let (part, rank) = part(name);
    let list = name.starts_with("upstream_") || name.contains("forwarded_for") || name.starts_with(tail::UNREAD);
    let variable = (name != IDENTITY && !is_time(&part)).then(|| LogVariable::named(name));
    FieldSlot { part, rank, list, is_skipped: false, variable, source: format!("${name}"), column }
}

/// The part that a variable is, and its rank among those that say the same; one we have no use for
/// is skipped.
pub(crate) fn part(name: &str) -> (FieldPart, u8) {
    match name {
        "remote_addr" => (FieldPart::Client, 0),
        "realip_remote_addr" | "binary_remote_addr" => (FieldPart::Client, 2),
        "http_x_forwarded_for" | "proxy_add_x_forwarded_for" => (FieldPart::Client, 3),
        "http_x_real_ip" | "http_cf_connecting_ip" | "http_true_client_ip" => (FieldPart::Client, 3),
        "remote_user" => (FieldPart::User, 0),
        "time_iso8601" => (FieldPart::Iso, 1),
        // HAProxy's: of the machine's own zone, which it does not write, and with milliseconds.
        "time_local_ms" => (FieldPart::Clock(local_ms().into()), 2),
        // C's `ctime`: of the machine's own zone, too.
        "time_ctime" => (FieldPart::Clock(ctime().into()), 2),
        "time_local" => (FieldPart::Clf, 2),
        // Finer than the others, and the same instant.
        "msec" => (FieldPart::Epoch(Unit::Seconds), 0),
        "request" => (FieldPart::Request, 0),
        // Of load balancers: `GET https://example.com:443/a HTTP/2.0`.
        "absolute_request" => (FieldPart::AbsoluteRequest, 0),
        "request_method" => (FieldPart::Method, 1),
        "request_uri" => (FieldPart::Target, 1),
        "uri" | "document_uri" => (FieldPart::Path, 2),
        "args" | "query_string" => (FieldPart::Query, 2),
        "is_args" => (FieldPart::MarkedQuery, 3),
        "server_protocol" => (FieldPart::Protocol, 1),
        "status" => (FieldPart::Status, 0),
        "body_bytes_sent" => (FieldPart::Bytes, 0),
        "bytes_sent" => (FieldPart::Bytes, 1),
        "http_referer" => (FieldPart::Referrer, 0),
        "http_user_agent" => (FieldPart::Agent, 0),
        "request_time" => (FieldPart::RequestTime(Unit::Seconds), 0),
        "request_time_s" => (FieldPart::RequestTime(Unit::PointSeconds), 1),
        "request_time_ms" => (FieldPart::RequestTime(Unit::Millis), 1),
        "request_time_us" => (FieldPart::RequestTime(Unit::Micros), 1),
        "upstream_response_time_s" => (FieldPart::UpstreamTime(Unit::PointSeconds), 1),
        "upstream_response_time_us" => (FieldPart::UpstreamTime(Unit::Micros), 1),
        "upstream_response_time_ms" => (FieldPart::UpstreamTime(Unit::Millis), 1),
        "upstream_response_time" => (FieldPart::UpstreamTime(Unit::Seconds), 0),
        "hierarchy" => (FieldPart::Hierarchy, 0),
        "host" => (FieldPart::Host, 0),
        "http_host" => (FieldPart::Host, 1),
        "server_name" => (FieldPart::Host, 2),
        _ => (FieldPart::Skip, 0),
    }
}

/// `06/Feb/2009:12:14:14.655`
fn local_ms() -> Vec<ClockItem> {
    let slash = ClockItem::Literal(b'/');
    let colon = ClockItem::Literal(b':');
    let date = [ClockItem::Day, slash, ClockItem::MonthName, slash, ClockItem::Year, colon];
    let time = [ClockItem::Hour, colon, ClockItem::Minute, colon, ClockItem::Second];
    date.into_iter().chain(time).chain([ClockItem::Literal(b'.'), ClockItem::FractionMillis]).collect()
}

/// `Wed Jan 14 11:44:29 2015`
fn ctime() -> Vec<ClockItem> {
    let colon = ClockItem::Literal(b':');
    let date = [ClockItem::WeekdayName, ClockItem::Space, ClockItem::MonthName, ClockItem::Space, ClockItem::Day];
    let time = [ClockItem::Space, ClockItem::Hour, colon, ClockItem::Minute, colon, ClockItem::Second];
    date.into_iter().chain(time).chain([ClockItem::Space, ClockItem::Year]).collect()
}

/// True if the text names a variable, so that it is nginx's and not Apache's.
pub(crate) fn has_variable(text: &str) -> bool {
    text.split('$').skip(1).any(|after| after.starts_with(|char: char| char.is_ascii_alphabetic() || char == '{'))
}

/// The keys of a format string that makes JSON objects, by the variables that are their values;
/// `None` if the string is no JSON object, or has no value that is a field.
pub(crate) fn json_keys(text: &str) -> Option<JsonKeys> {
    if !text.trim_start().starts_with('{') {
        return None;
    }
    let value: serde_json::Value = serde_json::from_str(&with_quoted_variables(text)).ok()?;
    let mut keys = Vec::new();
    collect_keys(&value, "", &mut keys);
    let keys = JsonKeys::new(keys.iter().map(|(path, part, rank)| (path.as_str(), part.clone(), *rank)));
    (keys.fields() != 0).then_some(keys)
}

/// Puts quotes around each variable that is not in a string, which makes JSON of the format string.
fn with_quoted_variables(text: &str) -> String {
    let mut json = String::new();
    let (mut in_string, mut in_variable, mut in_braces, mut escaped) = (false, false, false, false);
    for char in text.chars() {
        let goes_on = char.is_ascii_alphanumeric() || matches!(char, '_' | '$') || (char == '{' && json.ends_with('$'));
        if in_variable && !goes_on && !(in_braces && char == '}') {
            json.push('"');
            in_variable = false;
        }
        if char == '$' && !in_string && !in_variable {
            json.push('"');
            in_variable = true;
        }
        in_braces = in_variable && (in_braces || char == '{') && char != '}';
        in_string ^= char == '"' && !escaped;
        escaped = char == '\\' && !escaped;
        json.push(char);
    }
    json
}

fn collect_keys(value: &serde_json::Value, path: &str, keys: &mut Vec<(String, FieldPart, u8)>) {
    match value {
        serde_json::Value::Object(members) => {
            for (key, value) in members {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect_keys(value, &path, keys);
            }
        }
        serde_json::Value::String(text) => {
            keys.extend(value_part(text).map(|(part, rank)| (path.to_owned(), part, rank)));
        }
        _ => {}
    }
}

/// The part that a value made of variables is: one variable, a request line, or a path with its
/// query.
fn value_part(text: &str) -> Option<(FieldPart, u8)> {
    let bare = text.replace(['{', '}'], "");
    match bare.as_str() {
        "$request_method $request_uri $server_protocol" => return Some((FieldPart::Request, 1)),
        "$uri$is_args$args" | "$uri?$args" | "$uri?$query_string" => {
            return Some((FieldPart::Target, 2));
        }
        _ => {}
    }
    let name = bare.strip_prefix('$').filter(|name| !name.contains(|char: char| !char.is_ascii_alphanumeric() && char != '_'))?;
    match part(name) {
        (FieldPart::Skip | FieldPart::Hierarchy, _) => None,
        known => Some(known),
    }
}

//! LTSV: `label:value` with tabs between, by the labels that ltsv.org recommends for access logs,
//! and by the names of nginx's variables, which many take for labels.

use super::json::JsonKeys;
use super::program::FieldPart;
use crate::parse::number::Unit;

/// The labels that ltsv.org recommends. `host` is the client's there, and `vhost` the server's.
const RECOMMENDED: [(&str, FieldPart, u8); 16] = [
    ("time", FieldPart::AnyTime, 0),
    ("host", FieldPart::Client, 1),
    ("forwardedfor", FieldPart::Client, 2),
    ("user", FieldPart::User, 0),
    ("vhost", FieldPart::Host, 0),
    ("req", FieldPart::Request, 0),
    ("method", FieldPart::Method, 0),
    ("uri", FieldPart::Target, 1),
    ("protocol", FieldPart::Protocol, 0),
    ("status", FieldPart::Status, 0),
    ("size", FieldPart::Bytes, 0),
    ("referer", FieldPart::Referrer, 0),
    ("ua", FieldPart::Agent, 0),
    ("reqtime_microsec", FieldPart::RequestTime(Unit::Micros), 0),
    ("reqtime", FieldPart::RequestTime(Unit::Seconds), 1),
    ("apptime", FieldPart::UpstreamTime(Unit::Seconds), 0),
];

/// Others: nginx's variables, and a few that mean nothing else. Beside `remote_addr`, `host` is not
/// the client; `uri` may be without a query, which `request_uri` has.
const VARIABLES: [(&str, FieldPart, u8); 24] = [
    ("time_iso8601", FieldPart::AnyTime, 1),
    ("time_local", FieldPart::AnyTime, 1),
    ("msec", FieldPart::AnyTime, 1),
    ("remote_addr", FieldPart::Client, 0),
    ("http_x_forwarded_for", FieldPart::Client, 3),
    ("remote_user", FieldPart::User, 1),
    ("http_host", FieldPart::Host, 1),
    ("server_name", FieldPart::Host, 2),
    ("request", FieldPart::Request, 1),
    ("request_method", FieldPart::Method, 1),
    ("request_uri", FieldPart::Target, 0),
    ("path", FieldPart::Target, 2),
    ("args", FieldPart::Query, 0),
    ("query_string", FieldPart::Query, 0),
    ("query", FieldPart::Query, 1),
    ("server_protocol", FieldPart::Protocol, 1),
    ("body_bytes_sent", FieldPart::Bytes, 1),
    ("body_bytes", FieldPart::Bytes, 1),
    ("bytes_sent", FieldPart::Bytes, 2),
    ("http_referer", FieldPart::Referrer, 1),
    ("http_user_agent", FieldPart::Agent, 1),
    ("user_agent", FieldPart::Agent, 2),
    ("request_time", FieldPart::RequestTime(Unit::Seconds), 2),
    ("upstream_response_time", FieldPart::UpstreamTime(Unit::Seconds), 1),
];

/// The labels with a meaning; lines are written with those that are recommended.
pub(super) fn labels() -> JsonKeys {
    JsonKeys::new(RECOMMENDED.into_iter().chain(VARIABLES)).written_as(JsonKeys::new(RECOMMENDED))
}

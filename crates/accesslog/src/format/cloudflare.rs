//! Cloudflare's Logpush: JSON with the keys of its `http_requests` data set.

use super::json::JsonKeys;
use super::program::FieldPart;
use crate::parse::number::Unit;

/// The keys with a meaning. No key says how long a request took: `EdgeEndTimestamp` is when it
/// ended.
pub(super) fn keys() -> JsonKeys {
    let keys = [
        ("EdgeStartTimestamp", FieldPart::AnyTime, 0),
        ("ClientIP", FieldPart::Client, 0),
        ("ClientRequestHost", FieldPart::Host, 0),
        ("ClientRequestMethod", FieldPart::Method, 0),
        ("ClientRequestURI", FieldPart::Target, 0),
        ("ClientRequestPath", FieldPart::Target, 1),
        ("ClientRequestProtocol", FieldPart::Protocol, 0),
        ("EdgeResponseStatus", FieldPart::Status, 0),
        ("EdgeResponseBytes", FieldPart::Bytes, 0),
        ("ClientRequestReferer", FieldPart::Referrer, 0),
        ("ClientRequestUserAgent", FieldPart::Agent, 0),
        ("OriginResponseDurationMs", FieldPart::UpstreamTime(Unit::Millis), 0),
        ("OriginResponseTime", FieldPart::UpstreamTime(Unit::Nanos), 1),
    ];
    JsonKeys::new(keys)
}

//! Cloudflare's Logpush: JSON with the keys of its `http_requests` data set.

use super::json::JsonKeys;
use super::program::Part;
use crate::parse::number::Unit;

/// The keys with a meaning. No key says how long a request took: `EdgeEndTimestamp` is when it ended.
pub(super) fn keys() -> JsonKeys {
    let keys = [
        ("EdgeStartTimestamp", Part::AnyTime, 0),
        ("ClientIP", Part::Client, 0),
        ("ClientRequestHost", Part::Host, 0),
        ("ClientRequestMethod", Part::Method, 0),
        ("ClientRequestURI", Part::Target, 0),
        ("ClientRequestPath", Part::Target, 1),
        ("ClientRequestProtocol", Part::Protocol, 0),
        ("EdgeResponseStatus", Part::Status, 0),
        ("EdgeResponseBytes", Part::Bytes, 0),
        ("ClientRequestReferer", Part::Referrer, 0),
        ("ClientRequestUserAgent", Part::Agent, 0),
        ("OriginResponseDurationMs", Part::UpstreamTime(Unit::Millis), 0),
        ("OriginResponseTime", Part::UpstreamTime(Unit::Nanos), 1),
    ];
    JsonKeys::new(keys)
}

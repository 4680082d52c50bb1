//! Akamai's DataStream 2: JSON with the keys of its data sets for delivery.

use super::json::JsonKeys;
use super::program::FieldPart;
use crate::parse::number::Unit;

/// The keys with a meaning. Of the times none is that of the whole request: `transferTimeMSec`
/// begins with the first byte of the answer. `proto` is the scheme.
pub(super) fn keys() -> JsonKeys {
    let keys = [
        ("reqTimeSec", FieldPart::Epoch(Unit::Seconds), 0),
        ("cliIP", FieldPart::Client, 0),
        ("reqHost", FieldPart::Host, 0),
        ("reqMethod", FieldPart::Method, 0),
        ("reqPath", FieldPart::Target, 0),
        ("queryStr", FieldPart::Query, 0),
        ("statusCode", FieldPart::Status, 0),
        ("bytes", FieldPart::Bytes, 0),
        ("referer", FieldPart::EncodedReferrer, 0),
        ("UA", FieldPart::EncodedAgent, 0),
    ];
    JsonKeys::new(keys)
}

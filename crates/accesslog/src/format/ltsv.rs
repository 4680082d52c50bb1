//! LTSV: `label:value` with tabs between, by the labels that ltsv.org recommends for access logs.

use super::json::JsonKeys;
use super::program::FieldPart;
use crate::parse::number::Unit;

/// The labels with a meaning. `host` is the client's there, and `vhost` the server's.
pub(super) fn labels() -> JsonKeys {
    let labels = [
        ("time", FieldPart::AnyTime, 0),
        ("host", FieldPart::Client, 0),
        ("forwardedfor", FieldPart::Client, 1),
        ("user", FieldPart::User, 0),
        ("vhost", FieldPart::Host, 0),
        ("req", FieldPart::Request, 0),
        ("method", FieldPart::Method, 0),
        ("uri", FieldPart::Target, 0),
        ("protocol", FieldPart::Protocol, 0),
        ("status", FieldPart::Status, 0),
        ("size", FieldPart::Bytes, 0),
        ("referer", FieldPart::Referrer, 0),
        ("ua", FieldPart::Agent, 0),
        ("reqtime_microsec", FieldPart::RequestTime(Unit::Micros), 0),
        ("reqtime", FieldPart::RequestTime(Unit::Seconds), 1),
        ("apptime", FieldPart::UpstreamTime(Unit::Seconds), 0),
    ];
    JsonKeys::new(labels)
}

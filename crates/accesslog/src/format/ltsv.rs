//! LTSV: `label:value` with tabs between, by the labels that ltsv.org recommends for access logs.

use super::json::JsonKeys;
use super::program::Part;
use crate::parse::number::Unit;

/// The labels with a meaning. `host` is the client's there, and `vhost` the server's.
pub(super) fn labels() -> JsonKeys {
    let labels = [
        ("time", Part::AnyTime, 0),
        ("host", Part::Client, 0),
        ("forwardedfor", Part::Client, 1),
        ("user", Part::User, 0),
        ("vhost", Part::Host, 0),
        ("req", Part::Request, 0),
        ("method", Part::Method, 0),
        ("uri", Part::Target, 0),
        ("protocol", Part::Protocol, 0),
        ("status", Part::Status, 0),
        ("size", Part::Bytes, 0),
        ("referer", Part::Referrer, 0),
        ("ua", Part::Agent, 0),
        ("reqtime_microsec", Part::RequestTime(Unit::Micros), 0),
        ("reqtime", Part::RequestTime(Unit::Seconds), 1),
        ("apptime", Part::UpstreamTime(Unit::Seconds), 0),
    ];
    JsonKeys::new(labels)
}

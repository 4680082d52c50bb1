//! Keys of JSON access logs, and the fields that they mean.
//!
//! Keys are compared without case and without anything but letters and digits, and a nested key is
//! its path run together: `RequestMethod`, `request_method` and `{"request": {"method": …}}` are
//! one key.

use std::collections::HashMap;

use super::field::Field;
use super::program::FieldPart;
use crate::parse::number::Unit;

/// Longest key that can mean something.
pub(crate) const KEY_BYTES_MAX: usize = 40;

/// Objects that may hold fields, counting the outermost.
const OBJECTS_MAX: usize = 200;

/// The keys of a format.
#[derive(Debug, Clone)]
pub(crate) struct JsonKeys {
    /// Number of the slot, by key path.
    by_path: HashMap<Vec<u8>, u16>,
    slots: Vec<JsonSlot>,
    /// Paths of the objects worth entering; the first is the outermost.
    objects: Vec<Vec<u8>>,
    /// Keys and parts that lines are written with.
    written: Vec<(String, FieldPart)>,
    /// Keys of the outermost object that only one writer has.
    writers: HashMap<Vec<u8>, JsonWriterKind>,
}

/// Writers of objects, whose `duration` or `latency` has a unit of theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonWriterKind {
    /// Envoy, and Istio and Envoy Gateway, which run it.
    Envoy,
    /// Envoy, if the line has both this and its other half.
    EnvoyStart,
    EnvoyCode,
    /// Rails by its gem lograge.
    Lograge,
    /// Gateways that write milliseconds: APISIX, Skipper, Gravitee.
    Gateway,
    /// Servers that write seconds: Caddy, and nginx by the names of its variables.
    Seconds,
    /// nginx by the keys that alp, a reader of logs, proposes: its `host` is the client.
    Alp,
    /// Any program: messages with a level. Some servers write their requests so.
    Application,
}

impl JsonWriterKind {
    /// The unit of its `duration`.
    pub(crate) fn unit(self) -> Option<Unit> {
        match self {
            JsonWriterKind::Envoy | JsonWriterKind::Lograge | JsonWriterKind::Gateway => Some(Unit::Millis),
            JsonWriterKind::Seconds => Some(Unit::Seconds),
            JsonWriterKind::EnvoyStart | JsonWriterKind::EnvoyCode | JsonWriterKind::Alp | JsonWriterKind::Application => None,
        }
    }

    /// The writer of a line with keys of both.
    pub(crate) fn and(self, other: JsonWriterKind) -> JsonWriterKind {
        match (self, other) {
            (JsonWriterKind::EnvoyStart, JsonWriterKind::EnvoyCode) => JsonWriterKind::Envoy,
            (JsonWriterKind::EnvoyCode, JsonWriterKind::EnvoyStart) => JsonWriterKind::Envoy,
            (JsonWriterKind::Application, other) => other,
            (known, JsonWriterKind::Application) => known,
            (JsonWriterKind::Alp, other) | (other, JsonWriterKind::Alp) => other,
            (JsonWriterKind::EnvoyStart | JsonWriterKind::EnvoyCode, other) => other,
            // A gateway may be made of nginx.
            (JsonWriterKind::Seconds, other) if other.unit().is_some() => other,
            (known, _) => known,
        }
    }
}

/// Keys by which a writer is known, by its documentation.
const WRITERS: [(&str, JsonWriterKind); 36] = [
    ("response_flags", JsonWriterKind::Envoy),
    ("response_code_details", JsonWriterKind::Envoy),
    ("upstream_cluster", JsonWriterKind::Envoy),
    ("upstream_transport_failure_reason", JsonWriterKind::Envoy),
    ("downstream_remote_address", JsonWriterKind::Envoy),
    ("downstream_local_address", JsonWriterKind::Envoy),
    ("requested_server_name", JsonWriterKind::Envoy),
    ("x-envoy-upstream-service-time", JsonWriterKind::Envoy),
    ("upstream_service_time", JsonWriterKind::Envoy),
    ("start_time", JsonWriterKind::EnvoyStart),
    ("response_code", JsonWriterKind::EnvoyCode),
    ("controller", JsonWriterKind::Lograge),
    ("apisix_latency", JsonWriterKind::Gateway),
    ("flow-id", JsonWriterKind::Gateway),
    ("api-response-time", JsonWriterKind::Gateway),
    ("proxy-latency", JsonWriterKind::Gateway),
    ("resp_headers", JsonWriterKind::Seconds),
    ("bytes_read", JsonWriterKind::Seconds),
    ("common_log", JsonWriterKind::Seconds),
    ("body_bytes_sent", JsonWriterKind::Seconds),
    ("http_user_agent", JsonWriterKind::Seconds),
    ("request_length", JsonWriterKind::Seconds),
    ("upstream_addr", JsonWriterKind::Seconds),
    ("upstream_response_time", JsonWriterKind::Seconds),
    // Azure: of Application Gateway's second version, whose first wrote milliseconds, and of Front
    // Door.
    ("properties.serverRouted", JsonWriterKind::Seconds),
    ("properties.serverResponseLatency", JsonWriterKind::Seconds),
    ("properties.WAFEvaluationTime", JsonWriterKind::Seconds),
    ("properties.sslClientVerify", JsonWriterKind::Seconds),
    ("properties.trackingReference", JsonWriterKind::Seconds),
    ("properties.timeToFirstByte", JsonWriterKind::Seconds),
    ("body_bytes", JsonWriterKind::Alp),
    ("level", JsonWriterKind::Application),
    ("severity", JsonWriterKind::Application),
    ("msg", JsonWriterKind::Application),
    ("message", JsonWriterKind::Application),
    ("logger", JsonWriterKind::Application),
];

/// Keys of times that some write in seconds and others in milliseconds, and what they are.
const UNITLESS: [&str; 9] = [
    "properties.timeTaken",
    "duration",
    "latency",
    "elapsed",
    "took",
    "response_time",
    "upstream_latency",
    "upstream_duration",
    "upstream_time",
];

/// Added to the rank of such a key: others, which say their unit, come before it.
const UNITLESS_RANK: u8 = 16;

/// A field of a JSON format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonSlot {
    pub(crate) part: FieldPart,
    /// Of two keys of a line for one field the lower rank is taken.
    pub(crate) rank: u8,
    /// The key, where its name does not tell the unit of the time: the writer does, if it is known.
    pub(crate) unitless: Option<&'static str>,
}

/// The meaning of a key in the object it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct KeyMeaning {
    /// Number of the slot that the value fills.
    pub(crate) slot: Option<u16>,
    /// Number of the object to enter, if the value is one.
    pub(crate) object: Option<u8>,
    /// The only writer of such a key.
    pub(crate) writer: Option<JsonWriterKind>,
}

impl JsonKeys {
    /// Keys from dotted paths; the earlier of two for one path counts.
    pub(crate) fn new<'k>(keys: impl IntoIterator<Item = (&'k str, FieldPart, u8)>) -> JsonKeys {
        let mut made = JsonKeys {
            by_path: HashMap::new(),
            slots: Vec::new(),
            objects: vec![Vec::new()],
            written: Vec::new(),
            writers: HashMap::new(),
        };
        for (path, part, rank) in keys {
            for (dot, _) in path.match_indices('.') {
                made.add_object(plain(&path.as_bytes()[..dot]));
            }
            if let Ok(number) = u16::try_from(made.slots.len()) {
                made.by_path.entry(plain(path.as_bytes())).or_insert(number);
                made.slots.push(JsonSlot { part: part.clone(), rank, unitless: None });
                made.add_written(path, part, rank);
            }
        }
        made
    }

    /// Of the keys that say the same the one of the lowest rank is written.
    fn add_written(&mut self, path: &str, part: FieldPart, rank: u8) {
        let fields = part.fields();
        let ranks = self.slots.iter().filter(|slot| slot.part.fields() == fields).map(|slot| slot.rank);
        if ranks.min().is_some_and(|least| least < rank) {
            return;
        }
        self.written.retain(|(_, other)| other.fields() != fields);
        self.written.push((path.to_owned(), part));
    }

    /// The same keys, with lines written as by others.
    pub(super) fn written_as(self, other: JsonKeys) -> JsonKeys {
        JsonKeys { written: other.written, ..self }
    }

    fn add_object(&mut self, path: Vec<u8>) {
        if !self.objects.contains(&path) && self.objects.len() < OBJECTS_MAX {
            self.objects.push(path);
        }
    }

    /// The keys that the servers and frameworks known here use.
    pub(crate) fn well_known() -> JsonKeys {
        let known = |(path, part, rank): &(&'static str, FieldPart, u8)| (*path, part.clone(), *rank);
        let mut keys = JsonKeys::new(WELL_KNOWN.iter().map(known));
        let written = WRITTEN.iter().filter_map(|name| WELL_KNOWN.iter().find(|(path, ..)| path == name));
        keys.writers = WRITERS.iter().map(|(key, writer)| (plain(key.as_bytes()), *writer)).collect();
        for key in UNITLESS {
            let slot = keys.by_path.get(&plain(key.as_bytes())).map(|slot| usize::from(*slot));
            if let Some(slot) = slot.and_then(|slot| keys.slots.get_mut(slot)) {
                slot.rank += UNITLESS_RANK;
                slot.unitless = Some(key);
            }
        }
        keys.written = written.map(|(path, part, _)| ((*path).to_owned(), part.clone())).collect();
        keys
    }

    /// Keys and parts that lines are written with.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&str, &FieldPart)> {
        self.written.iter().map(|(path, part)| (path.as_str(), part))
    }

    pub(crate) fn slot(&self, number: u16) -> &JsonSlot {
        &self.slots[usize::from(number)]
    }

    /// True if the keys are those of everybody, and not of a format that somebody gave.
    pub(crate) fn is_well_known(&self) -> bool {
        !self.writers.is_empty()
    }

    /// Bits of the fields that the keys can fill.
    pub(crate) fn fields(&self) -> u16 {
        let mut bits = self.slots.iter().fold(0, |bits, slot| bits | slot.part.fields());
        if bits & Field::Path.bit() != 0 {
            bits |= Field::Query.bit();
        }
        bits
    }

    /// The meaning of `key` in the object numbered `object` (0 is the outermost).
    pub(crate) fn meaning(&self, object: u8, key: &[u8]) -> KeyMeaning {
        if key.len() > KEY_BYTES_MAX {
            return KeyMeaning::default();
        }
        // The same word, written otherwise, is another writer's, with another unit.
        let key: &[u8] = match key {
            // Traefik
            b"Duration" => b"duration_ns",
            // pino-http and others that write JavaScript's objects
            b"responseTime" => b"response_time_ms",
            // Serilog
            b"Elapsed" => b"elapsed_ms",
            _ => key,
        };
        let plain = plain(key);
        // A key without a letter would lead from an object into itself, to any depth.
        if plain.is_empty() {
            return KeyMeaning::default();
        }
        let mut path = self.objects[usize::from(object)].clone();
        path.extend(plain);
        let slot = self.by_path.get(&path).copied();
        let object = self.objects.iter().skip(1).position(|known| *known == path);
        let writer = self.writers.get(&path).copied();
        KeyMeaning { slot, object: object.and_then(|at| u8::try_from(at + 1).ok()), writer }
    }
}

/// Letters and digits of a key, in lower case.
fn plain(key: &[u8]) -> Vec<u8> {
    let kept = key.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    kept.map(u8::to_ascii_lowercase).collect()
}

const SECONDS: Unit = Unit::Seconds;

/// Keys that lines are written with where those of the log are not known: nginx's names.
const WRITTEN: [&str; 13] = [
    "time_iso8601",
    "remote_addr",
    "remote_user",
    "host",
    "request_method",
    "request_uri",
    "server_protocol",
    "status",
    "body_bytes_sent",
    "http_referer",
    "http_user_agent",
    "request_time",
    "upstream_response_time",
];

/// Dotted key paths, what they are, and their rank among keys for the same field.
#[rustfmt::skip]
const WELL_KNOWN: &[(&str, FieldPart, u8)] = &[
    // Time: the start of the request before its end, the finer before the coarser.
    ("StartUTC", FieldPart::AnyTime, 0), ("StartLocal", FieldPart::AnyTime, 1), ("ts", FieldPart::AnyTime, 2),
    ("msec", FieldPart::AnyTime, 2), ("time_iso8601", FieldPart::AnyTime, 3), ("time_local", FieldPart::AnyTime, 4),
    ("@timestamp", FieldPart::AnyTime, 5), ("time", FieldPart::AnyTime, 6), ("datetime", FieldPart::AnyTime, 7),
    ("date", FieldPart::AnyTime, 8), ("start_time", FieldPart::AnyTime, 5), ("event.created", FieldPart::AnyTime, 9), ("t", FieldPart::AnyTime, 9), ("started_at", FieldPart::AnyTime, 9),
    // Client
    ("request.client_ip", FieldPart::Client, 0), ("ClientHost", FieldPart::Client, 1), ("request.remote_ip", FieldPart::Client, 1),
    ("remote_addr", FieldPart::Client, 1), ("request.remote_addr", FieldPart::Client, 2), 
    ("remote_ip", FieldPart::Client, 2), ("ip", FieldPart::Client, 3), ("client.ip", FieldPart::Client, 3), ("client.address", FieldPart::Client, 4),
    ("client", FieldPart::Client, 3), ("clientip", FieldPart::Client, 2), ("client_addr", FieldPart::Client, 4), ("source.ip", FieldPart::Client, 4),
    ("source.address", FieldPart::Client, 5), ("remote_host", FieldPart::Client, 4), ("host_ip", FieldPart::Client, 8),
    ("c_ip", FieldPart::Client, 4), ("httpRequest.remoteIp", FieldPart::Client, 2), ("downstream_remote_address", FieldPart::Client, 4),
    ("remote", FieldPart::Client, 5), ("peer", FieldPart::Client, 6), ("id.orig_h", FieldPart::Client, 4),
    ("http_x_forwarded_for", FieldPart::Client, 7), ("forwarded_for", FieldPart::Client, 7), ("x_forwarded_for", FieldPart::Client, 7),
    // User
    ("remote_user", FieldPart::User, 0), ("user_id", FieldPart::User, 1), ("ClientUsername", FieldPart::User, 1), ("user", FieldPart::User, 2),
    ("user.name", FieldPart::User, 2), ("username", FieldPart::User, 3), ("auth", FieldPart::User, 4),
    // Host
    ("request.host", FieldPart::Host, 0), ("RequestHost", FieldPart::Host, 1), ("http_host", FieldPart::Host, 1), ("host", FieldPart::Host, 2),
    ("url.domain", FieldPart::Host, 3), ("server_name", FieldPart::Host, 3), ("vhost", FieldPart::Host, 3), ("virtual_host", FieldPart::Host, 3),
    ("authority", FieldPart::Host, 3), ("request.headers.host", FieldPart::Host, 3), ("domain", FieldPart::Host, 4), ("RequestAddr", FieldPart::Host, 4),
    // Request
    ("request", FieldPart::Request, 0), ("request_line", FieldPart::Request, 1), ("http_request", FieldPart::Request, 2),
    ("request.method", FieldPart::Method, 0), ("request_method", FieldPart::Method, 0), ("method", FieldPart::Method, 1),
    ("verb", FieldPart::Method, 2), ("http_method", FieldPart::Method, 2), ("http.request.method", FieldPart::Method, 2),
    ("http.method", FieldPart::Method, 3), ("httpRequest.requestMethod", FieldPart::Method, 2),
    ("request_uri", FieldPart::Target, 0), ("request.uri", FieldPart::Target, 0), ("RequestPath", FieldPart::Target, 1),
    ("uri", FieldPart::Target, 2), ("url.original", FieldPart::Target, 3), ("url", FieldPart::Target, 4), ("request_url", FieldPart::Target, 4),
    ("request.url", FieldPart::Target, 4), ("httpRequest.requestUrl", FieldPart::Url, 4), ("target", FieldPart::Target, 5), ("path", FieldPart::Target, 5),
    ("request.path", FieldPart::Target, 5), ("url.path", FieldPart::Target, 5), ("x-envoy-origin-path", FieldPart::Target, 4), ("http.path", FieldPart::Target, 6), ("resource", FieldPart::Target, 7),
    ("args", FieldPart::Query, 0), ("query_string", FieldPart::Query, 1), ("query", FieldPart::Query, 2), ("url.query", FieldPart::Query, 2),
    ("request.query", FieldPart::Query, 2),
    ("request.proto", FieldPart::Protocol, 0), ("server_protocol", FieldPart::Protocol, 0), ("RequestProtocol", FieldPart::Protocol, 1),
    ("protocol", FieldPart::Protocol, 2), ("proto", FieldPart::Protocol, 2), ("http_version", FieldPart::Protocol, 3),
    ("httpRequest.protocol", FieldPart::Protocol, 2), ("http.version", FieldPart::Protocol, 3),
    // Response
    ("status", FieldPart::Status, 0), ("DownstreamStatus", FieldPart::Status, 0), ("status_code", FieldPart::Status, 1),
    ("response_code", FieldPart::Status, 1), ("response.status", FieldPart::Status, 1), ("http.response.status_code", FieldPart::Status, 1),
    ("http_status", FieldPart::Status, 1), ("http.status_code", FieldPart::Status, 1), ("httpRequest.status", FieldPart::Status, 1),
    ("response", FieldPart::Status, 2), ("code", FieldPart::Status, 3), ("OriginStatus", FieldPart::Status, 4),
    ("body_bytes_sent", FieldPart::Bytes, 0), ("body_bytes", FieldPart::Bytes, 1), ("size", FieldPart::Bytes, 1), ("DownstreamContentSize", FieldPart::Bytes, 1),
    ("bytes_sent", FieldPart::Bytes, 2), ("bytes_out", FieldPart::Bytes, 2), ("bytes", FieldPart::Bytes, 3), ("written_bytes", FieldPart::Bytes, 3), ("response_size", FieldPart::Bytes, 3),
    ("response_length", FieldPart::Bytes, 3), ("response_body_size", FieldPart::Bytes, 3), ("content_length", FieldPart::Bytes, 5), ("body_size", FieldPart::Bytes, 4),
    ("http.response.body.bytes", FieldPart::Bytes, 2), ("http.response.bytes", FieldPart::Bytes, 3), ("httpRequest.responseSize", FieldPart::Bytes, 2),
    ("response.size", FieldPart::Bytes, 3), ("response_body_len", FieldPart::Bytes, 3), ("length", FieldPart::Bytes, 6), ("OriginContentSize", FieldPart::Bytes, 7),
    // Azure's load balancers
    ("properties.clientIP", FieldPart::Client, 1), ("properties.httpMethod", FieldPart::Method, 1), ("properties.requestUri", FieldPart::Url, 1),
    ("properties.requestQuery", FieldPart::Query, 1), ("properties.httpVersion", FieldPart::Protocol, 1), ("properties.httpStatus", FieldPart::Status, 1),
    ("properties.httpStatusCode", FieldPart::Status, 1), ("properties.sentBytes", FieldPart::Bytes, 2), ("properties.responseBytes", FieldPart::Bytes, 2),
    ("properties.userAgent", FieldPart::Agent, 1), ("properties.referer", FieldPart::Referrer, 1), ("properties.originalHost", FieldPart::Host, 1),
    ("properties.hostName", FieldPart::Host, 1), ("properties.host", FieldPart::Host, 2), ("properties.timeTaken", FieldPart::RequestTime(SECONDS), 1),
    ("properties.serverResponseLatency", FieldPart::UpstreamTime(SECONDS), 1),
    // Headers
    ("http_referer", FieldPart::Referrer, 0), ("http_referrer", FieldPart::Referrer, 0), ("request.headers.Referer", FieldPart::Referrer, 0),
    ("request_Referer", FieldPart::Referrer, 0), ("referer", FieldPart::Referrer, 1), ("referrer", FieldPart::Referrer, 1),
    ("http.request.referrer", FieldPart::Referrer, 1), ("httpRequest.referer", FieldPart::Referrer, 1), ("headers.referer", FieldPart::Referrer, 2),
    ("http_user_agent", FieldPart::Agent, 0), ("request.headers.User-Agent", FieldPart::Agent, 0), ("request_User-Agent", FieldPart::Agent, 0),
    ("user_agent", FieldPart::Agent, 1), ("user_agent.original", FieldPart::Agent, 1), ("agent", FieldPart::Agent, 2), ("ua", FieldPart::Agent, 3),
    ("httpRequest.userAgent", FieldPart::Agent, 1), ("headers.user-agent", FieldPart::Agent, 2), ("http.user_agent", FieldPart::Agent, 2),
    // Durations: in the unit of the key, the value or the writer. nginx's are seconds.
    ("request_time", FieldPart::RequestTime(SECONDS), 0), ("duration", FieldPart::RequestTime(SECONDS), 1),
    ("duration_ms", FieldPart::RequestTime(Unit::Millis), 1), ("duration_us", FieldPart::RequestTime(Unit::Micros), 1),
    ("duration_ns", FieldPart::RequestTime(Unit::Nanos), 1), ("duration_s", FieldPart::RequestTime(SECONDS), 1),
    ("latency_human", FieldPart::RequestTime(SECONDS), 1), ("latency", FieldPart::RequestTime(SECONDS), 2),
    ("latency_ms", FieldPart::RequestTime(Unit::Millis), 1), ("latency_us", FieldPart::RequestTime(Unit::Micros), 1),
    ("latency_ns", FieldPart::RequestTime(Unit::Nanos), 1), ("httpRequest.latency", FieldPart::RequestTime(SECONDS), 1),
    ("request_time_ms", FieldPart::RequestTime(Unit::Millis), 1), ("request_time_us", FieldPart::RequestTime(Unit::Micros), 1),
    ("response_time", FieldPart::RequestTime(SECONDS), 3), ("response_time_ms", FieldPart::RequestTime(Unit::Millis), 2),
    ("response_time_us", FieldPart::RequestTime(Unit::Micros), 2), ("elapsed", FieldPart::RequestTime(SECONDS), 3),
    ("elapsed_ms", FieldPart::RequestTime(Unit::Millis), 2), ("elapsed_us", FieldPart::RequestTime(Unit::Micros), 2),
    ("took", FieldPart::RequestTime(SECONDS), 4), ("took_ms", FieldPart::RequestTime(Unit::Millis), 3),
    ("event.duration", FieldPart::RequestTime(Unit::Nanos), 2), ("latencies.request", FieldPart::RequestTime(Unit::Millis), 1),
    ("upstream_response_time", FieldPart::UpstreamTime(SECONDS), 0), ("OriginDuration", FieldPart::UpstreamTime(Unit::Nanos), 0),
    ("latencies.proxy", FieldPart::UpstreamTime(Unit::Millis), 1), ("upstream_time", FieldPart::UpstreamTime(SECONDS), 1), ("upstream_duration", FieldPart::UpstreamTime(SECONDS), 1),
    ("upstream_service_time", FieldPart::UpstreamTime(Unit::Millis), 2), ("x-envoy-upstream-service-time", FieldPart::UpstreamTime(Unit::Millis), 2),
    ("upstream_latency", FieldPart::UpstreamTime(SECONDS), 1), ("upstream_response_time_ms", FieldPart::UpstreamTime(Unit::Millis), 1),
];

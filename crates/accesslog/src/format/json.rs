//! Which keys of a JSON access log mean which field.
//!
//! Keys are compared without case and without anything but letters and digits, and a nested key is its
//! path run together: `RequestMethod`, `request_method` and `{"request": {"method": …}}` are one key.

use std::collections::HashMap;

use super::field::Field;
use super::program::Part;
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
    written: Vec<(String, Part)>,
    /// Keys of the outermost object that only one writer has.
    writers: HashMap<Vec<u8>, Writer>,
}

/// Who writes objects whose `duration` is not in seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writer {
    /// Envoy, and Istio and Envoy Gateway, which run it.
    Envoy,
    /// Rails by its gem lograge.
    Lograge,
}

impl Writer {
    /// The unit of its `duration`.
    pub(crate) fn unit(self) -> Unit {
        match self {
            Writer::Envoy | Writer::Lograge => Unit::Millis,
        }
    }
}

/// Keys by which a writer is known, by its documentation.
const WRITERS: [(&str, Writer); 10] = [
    ("response_flags", Writer::Envoy),
    ("response_code_details", Writer::Envoy),
    ("upstream_cluster", Writer::Envoy),
    ("upstream_transport_failure_reason", Writer::Envoy),
    ("downstream_remote_address", Writer::Envoy),
    ("downstream_local_address", Writer::Envoy),
    ("requested_server_name", Writer::Envoy),
    ("x-envoy-upstream-service-time", Writer::Envoy),
    ("upstream_service_time", Writer::Envoy),
    ("controller", Writer::Lograge),
];

/// A field of a JSON format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct JsonSlot {
    pub(crate) part: Part,
    /// Where a line has two keys for one field, the lower rank is taken.
    pub(crate) rank: u8,
    /// Whether the writer says the unit of the time.
    pub(crate) is_unit_of_writer: bool,
}

/// What a key is in the object it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Meaning {
    /// Number of the slot that the value fills.
    pub(crate) slot: Option<u16>,
    /// Number of the object to enter, if the value is one.
    pub(crate) object: Option<u8>,
    /// Who writes such a key.
    pub(crate) writer: Option<Writer>,
}

impl JsonKeys {
    /// Keys from dotted paths; the earlier of two for one path counts.
    pub(crate) fn new<'k>(keys: impl IntoIterator<Item = (&'k str, Part, u8)>) -> JsonKeys {
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
                made.slots.push(JsonSlot { part: part.clone(), rank, is_unit_of_writer: false });
                made.add_written(path, part, rank);
            }
        }
        made
    }

    /// Of the keys that say the same the one of the lowest rank is written.
    fn add_written(&mut self, path: &str, part: Part, rank: u8) {
        let fields = part.fields();
        let ranks = self.slots.iter().filter(|slot| slot.part.fields() == fields).map(|slot| slot.rank);
        if ranks.min().is_some_and(|least| least < rank) {
            return;
        }
        self.written.retain(|(_, other)| other.fields() != fields);
        self.written.push((path.to_owned(), part));
    }

    fn add_object(&mut self, path: Vec<u8>) {
        if !self.objects.contains(&path) && self.objects.len() < OBJECTS_MAX {
            self.objects.push(path);
        }
    }

    /// The keys that the servers and frameworks known here use.
    pub(crate) fn well_known() -> JsonKeys {
        let known = |(path, part, rank): &(&'static str, Part, u8)| (*path, part.clone(), *rank);
        let mut keys = JsonKeys::new(WELL_KNOWN.iter().map(known));
        let written = WRITTEN.iter().filter_map(|name| WELL_KNOWN.iter().find(|(path, ..)| path == name));
        keys.writers = WRITERS.iter().map(|(key, writer)| (plain(key.as_bytes()), *writer)).collect();
        let duration = keys.by_path.get(&b"duration"[..]).map(|slot| usize::from(*slot));
        if let Some(slot) = duration.and_then(|slot| keys.slots.get_mut(slot)) {
            slot.is_unit_of_writer = true;
        }
        keys.written = written.map(|(path, part, _)| ((*path).to_owned(), part.clone())).collect();
        keys
    }

    /// Keys and parts that lines are written with.
    pub(crate) fn written(&self) -> impl Iterator<Item = (&str, &Part)> {
        self.written.iter().map(|(path, part)| (path.as_str(), part))
    }

    pub(crate) fn slot(&self, number: u16) -> &JsonSlot {
        &self.slots[usize::from(number)]
    }

    /// Whether the keys are those of everybody, and not of a format that somebody gave.
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

    /// What `key` means in the object numbered `object` (0 is the outermost).
    pub(crate) fn meaning(&self, object: u8, key: &[u8]) -> Meaning {
        if key.len() > KEY_BYTES_MAX {
            return Meaning::default();
        }
        // The same word, written otherwise, is another writer's, with another unit.
        let key: &[u8] = match key {
            // Traefik
            b"Duration" => b"duration_ns",
            // pino-http and what else writes JavaScript's objects
            b"responseTime" => b"response_time_ms",
            // Serilog
            b"Elapsed" => b"elapsed_ms",
            _ => key,
        };
        let plain = plain(key);
        // A key without a letter would lead from an object into itself, to any depth.
        if plain.is_empty() {
            return Meaning::default();
        }
        let mut path = self.objects[usize::from(object)].clone();
        path.extend(plain);
        let slot = self.by_path.get(&path).copied();
        let object = self.objects.iter().skip(1).position(|known| *known == path);
        let writer = self.writers.get(&path).copied();
        Meaning { slot, object: object.and_then(|at| u8::try_from(at + 1).ok()), writer }
    }
}

/// Letters and digits of a key, in lower case.
fn plain(key: &[u8]) -> Vec<u8> {
    let kept = key.iter().filter(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
    kept.map(u8::to_ascii_lowercase).collect()
}

const SECONDS: Unit = Unit::Seconds;

/// What lines are written with where the keys of the log are not known: nginx's names.
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
const WELL_KNOWN: &[(&str, Part, u8)] = &[
    // Time: the start of the request before its end, the finer before the coarser.
    ("StartUTC", Part::AnyTime, 0), ("StartLocal", Part::AnyTime, 1), ("ts", Part::AnyTime, 2),
    ("msec", Part::AnyTime, 2), ("time_iso8601", Part::AnyTime, 3), ("time_local", Part::AnyTime, 4),
    ("@timestamp", Part::AnyTime, 5), ("time", Part::AnyTime, 6), ("datetime", Part::AnyTime, 7),
    ("date", Part::AnyTime, 8), ("start_time", Part::AnyTime, 5), ("event.created", Part::AnyTime, 9), ("t", Part::AnyTime, 9),
    // Client
    ("request.client_ip", Part::Client, 0), ("ClientHost", Part::Client, 1), ("request.remote_ip", Part::Client, 1),
    ("remote_addr", Part::Client, 1), ("request.remote_addr", Part::Client, 2), 
    ("remote_ip", Part::Client, 2), ("ip", Part::Client, 3), ("client.ip", Part::Client, 3), ("client.address", Part::Client, 4),
    ("client", Part::Client, 3), ("clientip", Part::Client, 2), ("client_addr", Part::Client, 4), ("source.ip", Part::Client, 4),
    ("source.address", Part::Client, 5), ("remote_host", Part::Client, 4), ("host_ip", Part::Client, 8),
    ("c_ip", Part::Client, 4), ("httpRequest.remoteIp", Part::Client, 2), ("downstream_remote_address", Part::Client, 4),
    ("remote", Part::Client, 5), ("peer", Part::Client, 6),
    ("http_x_forwarded_for", Part::Client, 7), ("x_forwarded_for", Part::Client, 7),
    // User
    ("remote_user", Part::User, 0), ("user_id", Part::User, 1), ("ClientUsername", Part::User, 1), ("user", Part::User, 2),
    ("user.name", Part::User, 2), ("username", Part::User, 3), ("auth", Part::User, 4),
    // Host
    ("request.host", Part::Host, 0), ("RequestHost", Part::Host, 1), ("http_host", Part::Host, 1), ("host", Part::Host, 2),
    ("url.domain", Part::Host, 3), ("server_name", Part::Host, 3), ("vhost", Part::Host, 3), ("virtual_host", Part::Host, 3),
    ("authority", Part::Host, 3), ("domain", Part::Host, 4), ("RequestAddr", Part::Host, 4),
    // Request
    ("request", Part::Request, 0), ("request_line", Part::Request, 1), ("http_request", Part::Request, 2),
    ("request.method", Part::Method, 0), ("request_method", Part::Method, 0), ("method", Part::Method, 1),
    ("verb", Part::Method, 2), ("http_method", Part::Method, 2), ("http.request.method", Part::Method, 2),
    ("http.method", Part::Method, 3), ("httpRequest.requestMethod", Part::Method, 2),
    ("request_uri", Part::Target, 0), ("request.uri", Part::Target, 0), ("RequestPath", Part::Target, 1),
    ("uri", Part::Target, 2), ("url.original", Part::Target, 3), ("url", Part::Target, 4), ("request_url", Part::Target, 4),
    ("request.url", Part::Target, 4), ("httpRequest.requestUrl", Part::Target, 4), ("target", Part::Target, 5), ("path", Part::Target, 5),
    ("request.path", Part::Target, 5), ("url.path", Part::Target, 5), ("x-envoy-origin-path", Part::Target, 4), ("http.path", Part::Target, 6), ("resource", Part::Target, 7),
    ("args", Part::Query, 0), ("query_string", Part::Query, 1), ("query", Part::Query, 2), ("url.query", Part::Query, 2),
    ("request.query", Part::Query, 2),
    ("request.proto", Part::Protocol, 0), ("server_protocol", Part::Protocol, 0), ("RequestProtocol", Part::Protocol, 1),
    ("protocol", Part::Protocol, 2), ("proto", Part::Protocol, 2), ("http_version", Part::Protocol, 3),
    ("httpRequest.protocol", Part::Protocol, 2), ("http.version", Part::Protocol, 3),
    // Response
    ("status", Part::Status, 0), ("DownstreamStatus", Part::Status, 0), ("status_code", Part::Status, 1),
    ("response_code", Part::Status, 1), ("response.status", Part::Status, 1), ("http.response.status_code", Part::Status, 1),
    ("http_status", Part::Status, 1), ("http.status_code", Part::Status, 1), ("httpRequest.status", Part::Status, 1),
    ("response", Part::Status, 2), ("code", Part::Status, 3), ("OriginStatus", Part::Status, 4),
    ("body_bytes_sent", Part::Bytes, 0), ("size", Part::Bytes, 1), ("DownstreamContentSize", Part::Bytes, 1),
    ("bytes_sent", Part::Bytes, 2), ("bytes_out", Part::Bytes, 2), ("bytes", Part::Bytes, 3), ("response_size", Part::Bytes, 3),
    ("response_length", Part::Bytes, 3), ("content_length", Part::Bytes, 5), ("body_size", Part::Bytes, 4),
    ("http.response.body.bytes", Part::Bytes, 2), ("http.response.bytes", Part::Bytes, 3), ("httpRequest.responseSize", Part::Bytes, 2),
    ("response.size", Part::Bytes, 3), ("length", Part::Bytes, 6), ("OriginContentSize", Part::Bytes, 7),
    // Headers
    ("http_referer", Part::Referrer, 0), ("http_referrer", Part::Referrer, 0), ("request.headers.Referer", Part::Referrer, 0),
    ("request_Referer", Part::Referrer, 0), ("referer", Part::Referrer, 1), ("referrer", Part::Referrer, 1),
    ("http.request.referrer", Part::Referrer, 1), ("httpRequest.referer", Part::Referrer, 1), ("headers.referer", Part::Referrer, 2),
    ("http_user_agent", Part::Agent, 0), ("request.headers.User-Agent", Part::Agent, 0), ("request_User-Agent", Part::Agent, 0),
    ("user_agent", Part::Agent, 1), ("user_agent.original", Part::Agent, 1), ("agent", Part::Agent, 2), ("ua", Part::Agent, 3),
    ("httpRequest.userAgent", Part::Agent, 1), ("headers.user-agent", Part::Agent, 2), ("http.user_agent", Part::Agent, 2),
    // Durations: seconds unless the key, the value or the writer says another unit.
    ("request_time", Part::RequestTime(SECONDS), 0), ("duration", Part::RequestTime(SECONDS), 1),
    ("duration_ms", Part::RequestTime(Unit::Millis), 1), ("duration_us", Part::RequestTime(Unit::Micros), 1),
    ("duration_ns", Part::RequestTime(Unit::Nanos), 1), ("duration_s", Part::RequestTime(SECONDS), 1),
    ("latency_human", Part::RequestTime(SECONDS), 1), ("latency", Part::RequestTime(SECONDS), 2),
    ("latency_ms", Part::RequestTime(Unit::Millis), 1), ("latency_us", Part::RequestTime(Unit::Micros), 1),
    ("latency_ns", Part::RequestTime(Unit::Nanos), 1), ("httpRequest.latency", Part::RequestTime(SECONDS), 1),
    ("request_time_ms", Part::RequestTime(Unit::Millis), 1), ("request_time_us", Part::RequestTime(Unit::Micros), 1),
    ("response_time", Part::RequestTime(SECONDS), 3), ("response_time_ms", Part::RequestTime(Unit::Millis), 2),
    ("response_time_us", Part::RequestTime(Unit::Micros), 2), ("elapsed", Part::RequestTime(SECONDS), 3),
    ("elapsed_ms", Part::RequestTime(Unit::Millis), 2), ("elapsed_us", Part::RequestTime(Unit::Micros), 2),
    ("took", Part::RequestTime(SECONDS), 4), ("took_ms", Part::RequestTime(Unit::Millis), 3),
    ("event.duration", Part::RequestTime(Unit::Nanos), 2),
    ("upstream_response_time", Part::UpstreamTime(SECONDS), 0), ("OriginDuration", Part::UpstreamTime(Unit::Nanos), 0),
    ("upstream_time", Part::UpstreamTime(SECONDS), 1), ("upstream_duration", Part::UpstreamTime(SECONDS), 1),
    ("upstream_service_time", Part::UpstreamTime(Unit::Millis), 2), ("x-envoy-upstream-service-time", Part::UpstreamTime(Unit::Millis), 2),
    ("upstream_latency", Part::UpstreamTime(SECONDS), 1), ("upstream_response_time_ms", Part::UpstreamTime(Unit::Millis), 1),
];

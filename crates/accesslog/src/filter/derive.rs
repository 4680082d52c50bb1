//! Values derived from a field: networks, kinds of content, hours.

use crate::parse::address::address;
use crate::schema::TextColumn;
use crate::status_class::class_of;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Names of the weekdays, Monday first.
pub const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Index into [`CLASSES`] of a status; 0, the absent one, is among `other`.
#[must_use]
pub fn class(status: u16) -> usize {
    class_of(status)
}

/// Bits of the networks of IPv4 and of IPv6 addresses.
pub(super) const NET_BITS: (u32, u32) = (24, 48);

/// The network of a client: `192.0.2.0/24`, `2001:db8::/48`; empty where it is no address.
#[must_use]
pub fn net(client: &[u8]) -> String {
    match address(client) {
        Some(IpAddr::V4(address)) => {
            let [a, b, c, _] = address.octets();
            format!("{}/{}", Ipv4Addr::new(a, b, c, 0), NET_BITS.0)
        }
        Some(IpAddr::V6(address)) => {
            let [a, b, c, ..] = address.segments();
            format!("{}/{}", Ipv6Addr::new(a, b, c, 0, 0, 0, 0, 0), NET_BITS.1)
        }
        None => String::new(),
    }
}

/// Puts into `request` the request as it was sent: method, path with query, and protocol, as far as
/// they are there.
pub fn request(method: &[u8], [path, query]: [&[u8]; 2], protocol: &[u8], request: &mut Vec<u8>) {
    request.clear();
    for (before, part) in [(&b""[..], method), (b" ", path), (b"?", query), (b" ", protocol)] {
        if !part.is_empty() {
            request.extend_from_slice(if request.is_empty() { b"" } else { before });
            request.extend_from_slice(part);
        }
    }
}

/// Extensions and the kind of content that they name.
const KINDS: [(&str, &[&str]); 9] = [
    ("page", &["html", "htm", "xhtml", "shtml", "php", "asp", "aspx", "jsp", "cgi", "do"]),
    ("style", &["css", "less", "scss"]),
    ("script", &["js", "mjs", "map", "wasm", "ts"]),
    ("image", &["png", "jpg", "jpeg", "gif", "webp", "avif", "svg", "ico", "bmp", "tif", "tiff"]),
    ("font", &["woff", "woff2", "ttf", "otf", "eot"]),
    ("media", &["mp4", "webm", "mp3", "ogg", "m4a", "mov", "avi", "mkv", "flac", "wav", "m3u8", "m4s"]),
    ("document", &["pdf", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "txt", "md", "epub", "ps", "odt"]),
    ("archive", &["zip", "gz", "tgz", "bz2", "xz", "zst", "7z", "rar", "tar", "iso", "deb", "rpm", "jar", "exe", "dmg"]),
    ("data", &["json", "xml", "csv", "rss", "atom", "yaml", "yml", "parquet", "ndjson", "sql", "log"]),
];

/// The methods of HTTP.
const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE"];

/// The value of a column that `word` would be in capitals, as these are in a log.
pub(super) fn in_capitals(column: TextColumn, word: &str) -> Option<String> {
    let capitals = word.to_ascii_uppercase();
    let is_value = match column {
        TextColumn::METHOD => METHODS.contains(&&*capitals),
        TextColumn::COUNTRY => word.len() == 2 && word.bytes().all(|byte| byte.is_ascii_alphabetic()),
        _ => false,
    };
    (is_value && capitals != word).then_some(capitals)
}

/// A client as records have it: an IPv4 address in IPv6's form is the IPv4 address.
pub(super) fn unmapped(client: &str) -> String {
    crate::parse::address::mapped(client.as_bytes()).map_or_else(|| client.to_owned(), |address| address.to_string())
}

/// True if there is such a kind of content.
pub(super) fn is_kind(name: &str) -> bool {
    name == "other" || KINDS.iter().any(|(kind, _)| *kind == name)
}

/// Longest extension that is looked for.
const EXTENSION_BYTES_MAX: usize = 7;

/// Kind of content by the path's extension; `page` where it has none, `other` where nobody knows
/// it, empty without a path.
#[must_use]
pub fn kind(path: &[u8]) -> &'static str {
    if path.is_empty() {
        return "";
    }
    let name = memchr::memrchr(b'/', path).map_or(path, |slash| &path[slash + 1..]);
    let Some(dot) = memchr::memrchr(b'.', name) else { return "page" };
    let extension = &name[dot + 1..];
    if extension.is_empty() || extension.len() > EXTENSION_BYTES_MAX {
        return "other";
    }
    let named =
        |(_, extensions): &&(&str, &[&str])| extensions.iter().any(|known| extension.eq_ignore_ascii_case(known.as_bytes()));
    KINDS.iter().find(named).map_or("other", |(kind, _)| kind)
}

/// Hour (0 to 23) by the clock that is `zone_seconds` east of UTC.
#[must_use]
pub fn hour(time_us: i64, zone_seconds: i32) -> u64 {
    local_hours(time_us, zone_seconds).rem_euclid(24).unsigned_abs()
}

/// Weekday (1 is Monday, 7 Sunday) by the clock that is `zone_seconds` east of UTC.
#[must_use]
pub fn weekday(time_us: i64, zone_seconds: i32) -> u64 {
    // 1970-01-01 was a Thursday.
    (local_hours(time_us, zone_seconds).div_euclid(24) + 3).rem_euclid(7).unsigned_abs() + 1
}

fn local_hours(time_us: i64, zone_seconds: i32) -> i64 {
    (time_us.div_euclid(1_000_000) + i64::from(zone_seconds)).div_euclid(3600)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        for (client, network) in [
            ("192.0.2.77", "192.0.2.0/24"),
            ("2001:db8:1:2::3", "2001:db8:1::/48"),
            ("::ffff:192.0.2.77", "192.0.2.0/24"),
            ("host.example", ""),
            ("", ""),
        ] {
            assert_eq!(net(client.as_bytes()), network);
        }
    }

    #[test]
    fn kinds() {
        for (path, name) in [
            ("/", "page"),
            ("/a.b/c", "page"),
            ("/index.PHP", "page"),
            ("/x.woff2", "font"),
            ("/x.tar.gz", "archive"),
            ("/v1.2", "other"),
            ("/a.", "other"),
            ("", ""),
        ] {
            assert_eq!(kind(path.as_bytes()), name, "{path}");
        }
    }

    #[test]
    fn clocks() {
        // 2000-10-10 13:55:36 at -07:00, a Tuesday.
        let time_us = 971_211_336_000_000;
        assert_eq!((hour(time_us, -25_200), weekday(time_us, -25_200)), (13, 2));
        assert_eq!((hour(time_us, 0), weekday(time_us, 4 * 3600)), (20, 3));
        assert_eq!((hour(-1, 0), weekday(-1, 0)), (23, 3));
    }
}

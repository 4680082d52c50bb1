//! Headers that say much in little: ranges and conditions, tus, and who may ask; each against a
//! strict reading of its grammar.

use rorqual_serve::fuzzing::http::{HeaderMap, HeaderName, HeaderValue, Method};
use rorqual_serve::fuzzing::{AuthDoor, part, tus_checksum, tus_name, tus_size};
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;

const ETAG: &str = "\"abc\"";
const ADDRESS: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);

thread_local!(static DOOR: AuthDoor = AuthDoor::new(ADDRESS));

/// A method and a target, and then headers, a line each. `TOKEN` stands for the token, `COOKIE` for
/// the session key.
pub fn requests(data: &[u8]) {
    DOOR.with(|door| {
        let (token, key) = (door.token(), door.key());
        let has = |word: &[u8]| data.windows(word.len()).any(|bytes| bytes == word);
        let mut lines = data.split(|byte| *byte == b'\n');
        let first = String::from_utf8_lossy(lines.next().unwrap_or_default()).replace("TOKEN", &token).replace("COOKIE", &key);
        let headers: HeaderMap = lines.filter_map(|line| header(line, &token, &key)).collect();
        ranges(&headers, data.len() as u64);
        tus(&headers);
        let (method, target) = first.split_once(' ').unwrap_or(("GET", &first));
        let method = Method::from_bytes(method.as_bytes()).unwrap_or(Method::GET);
        let refused = door.refuses(&method, target, &headers);
        assert!(refused.is_none_or(|status| [401, 403].contains(&status)), "{refused:?}");
        let is_answered = refused.is_none() && target.parse::<rorqual_serve::fuzzing::http::Uri>().is_ok();
        if is_answered {
            let by_cookie = has(b"COOKIE") && headers.contains_key("cookie");
            let by_token = has(b"TOKEN") && (headers.contains_key("authorization") || first.contains("token="));
            assert!(by_cookie || by_token, "it was let through without the token");
            assert!(is_ours(&method, target, &headers), "{method} {target} {headers:?}");
        }
    });
}

fn header(line: &[u8], token: &str, key: &str) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let value = line[colon + 1..].trim_ascii();
    let value = match std::str::from_utf8(value) {
        Ok(text) => text.replace("TOKEN", token).replace("COOKIE", key).into_bytes(),
        Err(_) => value.to_vec(),
    };
    Some((HeaderName::from_bytes(&line[..colon]).ok()?, HeaderValue::from_bytes(&value).ok()?))
}

/// True for every request that is let through: one host of ours, and no origin or site but ours.
fn is_ours(method: &Method, target: &str, headers: &HeaderMap) -> bool {
    let all = |name: &str| -> Vec<&[u8]> { headers.get_all(name).iter().map(HeaderValue::as_bytes).collect() };
    let hosts: [&[u8]; 2] = [b"127.0.0.1:8080", b"localhost:8080"];
    let named = matches!(all("host")[..], [host] if hosts.iter().any(|own| own.eq_ignore_ascii_case(host)));
    let origins: [&[u8]; 2] = [b"http://127.0.0.1:8080", b"http://localhost:8080"];
    let own = all("origin").iter().all(|origin| origins.iter().any(|own| own.eq_ignore_ascii_case(origin)));
    let path = target.split('?').next().unwrap_or_default();
    let opening = method == Method::GET && (path == "/" || path.is_empty() || path.contains("://"));
    let near = opening || all("sec-fetch-site").iter().all(|site| [&b"same-origin"[..], b"none"].contains(site));
    let by_bearer = all("authorization").iter().any(|given| given.to_ascii_lowercase().starts_with(b"bearer "));
    let reads = [Method::GET, Method::HEAD].contains(method) && all("upgrade").is_empty() && all("lease-seconds").is_empty();
    let said = !all("origin").is_empty() || all("sec-fetch-site").first() == Some(&&b"same-origin"[..]);
    named && own && near && (by_bearer || reads || said)
}

fn ranges(headers: &HeaderMap, size_bytes: u64) {
    let (status, part) = part(headers, ETAG, size_bytes);
    assert!(part.iter().all(|part| part.start <= part.end && part.end <= size_bytes), "{part:?} of {size_bytes}");
    assert!(status != 206 || part.as_ref().is_some_and(|part| !part.is_empty()), "nothing is no part: {headers:?}");
    let lists: Vec<Option<bool>> =
        ["if-match", "if-none-match"].map(|name| is_listed(headers, name, name == "if-none-match")).into();
    let expected = match (lists[0], lists[1], if_range(headers)) {
        (Some(false), ..) => (412, None),
        (_, Some(true), _) => (304, None),
        (_, _, false) => (200, Some(0..size_bytes)),
        _ => match range(headers, size_bytes) {
            None => (200, Some(0..size_bytes)),
            Some(range) if range.is_empty() => (416, None),
            Some(range) => (206, Some(range)),
        },
    };
    let sound = ["if-match", "if-none-match"].iter().all(|name| headers.get_all(*name).iter().all(is_sound_list));
    if sound && headers.get("range").is_none_or(|range| !range.as_bytes().iter().any(u8::is_ascii_whitespace)) {
        assert_eq!((status, part), expected, "{headers:?} of {size_bytes}");
    }
}

/// Entity tags in quotes, perhaps weak, with commas between them; or a star.
fn is_sound_list(value: &HeaderValue) -> bool {
    let Ok(text) = value.to_str() else { return false };
    let is_tag = |tag: &str| {
        let tag = tag.strip_prefix("W/").unwrap_or(tag);
        tag.len() >= 2 && tag.starts_with('"') && tag.ends_with('"') && !tag[1..tag.len() - 1].contains(['"', ' ', '\t'])
    };
    text == "*" || text.split(',').all(|tag| is_tag(tag.trim_matches([' ', '\t'])))
}

fn is_listed(headers: &HeaderMap, name: &str, weakly: bool) -> Option<bool> {
    let values: Vec<&str> = headers.get_all(name).iter().filter_map(|value| value.to_str().ok()).collect();
    headers.contains_key(name).then(|| {
        let tags = values.iter().flat_map(|value| value.split(',')).map(|tag| tag.trim_matches([' ', '\t']));
        tags.into_iter().any(|tag| tag == "*" || tag == ETAG || (weakly && tag == format!("W/{ETAG}")))
    })
}

fn if_range(headers: &HeaderMap) -> bool {
    headers.get("if-range").is_none_or(|value| value.to_str().is_err() || value == ETAG)
}

/// One range of bytes, by hand; what is none is ignored.
fn range(headers: &HeaderMap, size_bytes: u64) -> Option<Range<u64>> {
    let text = headers.get("range")?.to_str().ok()?.to_ascii_lowercase();
    let (first, last) = text.strip_prefix("bytes=")?.split_once('-')?;
    let number = |digits: &str| -> Option<u64> {
        let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| digits.bytes().fold(0_u64, |n, digit| n.saturating_mul(10).saturating_add(u64::from(digit - b'0'))))
    };
    let (from, to) = (number(first)?, number(last)?);
    match (first.is_empty(), last.is_empty()) {
        (true, true) => None,
        (true, false) => Some(size_bytes - to.min(size_bytes)..size_bytes),
        (false, true) => Some(from.min(size_bytes)..size_bytes),
        (false, false) if to < from => None,
        (false, false) => Some(from.min(size_bytes)..to.min(size_bytes.saturating_sub(1)).saturating_add(1).min(size_bytes)),
    }
}

fn tus(headers: &HeaderMap) {
    let all = [tus_size(headers).err(), tus_name(headers).err(), tus_checksum(headers).err()];
    assert!(all.iter().flatten().all(|status| [400, 413].contains(status)), "{all:?}");
    let length = headers.get("upload-length").map(|value| value.to_str().ok().and_then(|text| text.parse::<u64>().ok()));
    if let Ok(size) = tus_size(headers) {
        assert_eq!(size, length.flatten(), "{headers:?}");
        assert!(size.is_some() || headers.get("upload-defer-length").is_some_and(|value| value == "1"));
    }
    if let Ok(name) = tus_name(headers) {
        let text = headers.get("upload-metadata").and_then(|value| value.to_str().ok()).unwrap_or_default();
        // The last of that key, and what it says in base64.
        let given = text.split(',').map(str::trim).filter_map(|pair| pair.strip_prefix("filename")).rfind(is_value);
        let bytes = given.map(|coded| base64(coded.trim().as_bytes()).expect("it was taken for base64"));
        assert_eq!(name, bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()), "{text:?}");
    }
    if let Ok(Some((name, bytes))) = tus_checksum(headers) {
        let text = headers.get("upload-checksum").and_then(|value| value.to_str().ok()).expect("it was read");
        let (algorithm, coded) = text.split_once(' ').expect("two words");
        assert!(matches!((algorithm, bytes.len()), ("sha1", 20) | ("sha256", 32)), "{text:?}");
        assert!(name.eq_ignore_ascii_case(algorithm) && base64(coded.as_bytes()).as_ref() == Some(&bytes), "{text:?}");
    }
}

/// True if these bytes follow a key.
fn is_value(rest: &&str) -> bool {
    rest.is_empty() || rest.starts_with(' ')
}

/// RFC 4648, section 4, with its padding.
fn base64(text: &[u8]) -> Option<Vec<u8>> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let end = text.len() - text.iter().rev().take(2).take_while(|byte| **byte == b'=').count();
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for byte in &text[..end] {
        bits = bits << 6 | ALPHABET.iter().position(|letter| letter == byte)? as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    (bits == 0).then_some(bytes)
}

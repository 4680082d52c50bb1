//! The request line: `METHOD target PROTOCOL`.

use super::record::{LineFlaw, LogRecord};

/// Longest method taken for one; the longest registered is 17 bytes (`UPDATEREDIRECTREF`).
const METHOD_BYTES_MAX: usize = 32;

/// Fills method, path, query and protocol. An absent request (`-`, `- - -` or nothing) is sound.
///
/// `GET /path` without a protocol (HTTP/0.9, or cut short) keeps what it has, and is a flaw.
#[inline]
pub(crate) fn read<'a>(text: &'a [u8], record: &mut LogRecord<'a>) -> Result<(), LineFlaw> {
    read_marked(text, memchr::memchr(b'?', text), record)
}

/// The same of a request whose first `?` is at `mark`. In a sound one it is in the target: neither
/// a method nor a protocol can have it.
#[inline]
pub(crate) fn read_marked<'a>(text: &'a [u8], mark: Option<usize>, record: &mut LogRecord<'a>) -> Result<(), LineFlaw> {
    let Some(space) = method_bytes(text) else {
        return read_unusual(text);
    };
    if text.starts_with(b"- ") {
        return read_dashed(text, record);
    }
    let Some(protocol) = protocol_at(text, space) else {
        return read_without_protocol(text, space, record);
    };
    record.method = &text[..space];
    record.protocol = &text[protocol..];
    let end = protocol - 1;
    match mark {
        Some(mark) => (record.path, record.query) = (&text[space + 1..mark], &text[mark + 1..end]),
        None => record.path = &text[space + 1..end],
    }
    Ok(())
}

/// The same of a request whose target is absolute, `scheme://host:port/path`, as load balancers
/// write it: its host is taken off the path. A port stays with the host where it is not the
/// scheme's own, as in the header `Host`.
pub(crate) fn read_absolute<'a>(text: &'a [u8], record: &mut LogRecord<'a>) -> Result<(), LineFlaw> {
    let outcome = read(text, record);
    take_host(record);
    outcome
}

/// Splits a URL at its host and its first `?`; a target without a host is that.
pub(crate) fn read_url<'a>(url: &'a [u8], record: &mut LogRecord<'a>) {
    read_target(url, record);
    take_host(record);
}

fn take_host(record: &mut LogRecord<'_>) {
    if let Some((host, path)) = split_authority(record.path) {
        (record.host, record.path) = (host, path);
    }
}

/// Host and path of an absolute target; `None` of any other.
fn split_authority(target: &[u8]) -> Option<(&[u8], &[u8])> {
    let mark = memchr::memmem::find(target, b"://")?;
    let (scheme, rest) = (&target[..mark], &target[mark + 3..]);
    let (authority, path) = rest.split_at(memchr::memchr(b'/', rest).unwrap_or(rest.len()));
    let port: &[u8] = match scheme {
        b"http" | b"ws" => b":80",
        b"https" | b"wss" => b":443",
        _ => b"",
    };
    let host = authority.strip_suffix(port).unwrap_or(authority);
    let is_absolute = mark > 0 && !scheme.contains(&b'/') && !host.is_empty();
    is_absolute.then_some((host, if path.is_empty() { b"/" } else { path }))
}

/// True if [`read`] takes it without a flaw.
#[inline]
pub(crate) fn check(text: &[u8]) -> Result<(), LineFlaw> {
    let Some(space) = method_bytes(text) else {
        return read_unusual(text);
    };
    if text.starts_with(b"- ") {
        return read_dashed(text, &mut LogRecord::default());
    }
    protocol_at(text, space).map(|_| ()).ok_or(LineFlaw::NotRequest)
}

/// A request without a method: Envoy and load balancers write `-` for each part that there was not.
#[cold]
fn read_dashed<'a>(text: &'a [u8], record: &mut LogRecord<'a>) -> Result<(), LineFlaw> {
    let mut parts = text.trim_ascii_end().split(|byte| *byte == b' ').skip(1);
    let (Some(b"-"), Some(protocol), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err(LineFlaw::NotRequest);
    };
    if protocol != b"-" {
        record.protocol = protocol;
    }
    Ok(())
}

/// Splits a target at its first `?`.
#[inline]
pub(crate) fn read_target<'a>(target: &'a [u8], record: &mut LogRecord<'a>) {
    match memchr::memchr(b'?', target) {
        Some(mark) => (record.path, record.query) = (&target[..mark], &target[mark + 1..]),
        None => record.path = target,
    }
}

/// Length of the method that the request begins with; `None` if it does not begin with a method and
/// a space.
#[inline]
fn method_bytes(text: &[u8]) -> Option<usize> {
    match text {
        [b'G', b'E', b'T', b' ', ..] => Some(3),
        [b'P', b'O', b'S', b'T', b' ', ..] | [b'H', b'E', b'A', b'D', b' ', ..] => Some(4),
        _ => method_bytes_any(text),
    }
}

fn method_bytes_any(text: &[u8]) -> Option<usize> {
    let window = &text[..text.len().min(METHOD_BYTES_MAX + 1)];
    let space = window.iter().position(|byte| *byte == b' ')?;
    let is_method = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    (space > 0 && window[..space].iter().all(is_method)).then_some(space)
}

/// Place of the protocol, after the last space; `None` if there is no `NAME/version`.
#[inline]
fn protocol_at(text: &[u8], space: usize) -> Option<usize> {
    // Nearly all requests end in ` HTTP/1.1` or ` HTTP/1.0`: look at that place first.
    let usual = text.len().wrapping_sub(9);
    if let Some([b' ', b'H', b'T', b'T', b'P', b'/', b'1', b'.', b'0'..=b'9']) = text.get(usual..)
        && usual > space
    {
        return Some(usual + 1);
    }
    protocol_at_any(text, space)
}

fn protocol_at_any(text: &[u8], space: usize) -> Option<usize> {
    let last = memchr::memrchr(b' ', text).filter(|last| *last > space)?;
    let protocol = &text[last + 1..];
    let slash = protocol.iter().position(|byte| *byte == b'/')?;
    let named = slash > 0 && protocol[..slash].iter().all(u8::is_ascii_alphabetic);
    let version = &protocol[slash + 1..];
    let versioned = !version.is_empty() && version.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    (named && versioned).then_some(last + 1)
}

#[cold]
fn read_unusual(text: &[u8]) -> Result<(), LineFlaw> {
    if text.is_empty() || text == b"-" { Ok(()) } else { Err(LineFlaw::NotRequest) }
}

#[cold]
fn read_without_protocol<'a>(text: &'a [u8], space: usize, record: &mut LogRecord<'a>) -> Result<(), LineFlaw> {
    let target = &text[space + 1..];
    if target.first().is_some_and(|byte| matches!(byte, b'/' | b'*')) || target.windows(3).any(|part| part == b"://") {
        record.method = &text[..space];
        read_target(target, record);
    }
    Err(LineFlaw::NotRequest)
}

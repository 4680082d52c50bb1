//! Range of an entry that a request asks for, if any (RFC 9110, sections 13 and 14).

use axum::http::{HeaderMap, Method, header};
use std::ops::Range;

/// Answer to a GET or HEAD.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RangeRequest {
    /// All bytes.
    Whole,
    /// These.
    Part(Range<u64>),
    /// The client has them.
    NotModified,
    /// The entry is not the one that was meant.
    Failed,
    /// It has no such bytes.
    OutOfRange,
}

/// The range that `headers` ask for, of an entry of `size_bytes` with `etag`, its digest in quotes.
pub(crate) fn wanted(headers: &HeaderMap, method: &Method, etag: &str, size_bytes: u64) -> RangeRequest {
    if fails(headers, etag) {
        return RangeRequest::Failed;
    }
    if matches(headers, header::IF_NONE_MATCH, etag, true) == Some(true) {
        return RangeRequest::NotModified;
    }
    let ranged = *method == Method::GET && text(headers, header::IF_RANGE).is_none_or(|validator| validator == etag);
    match text(headers, header::RANGE).filter(|_| ranged).and_then(|range| part(range, size_bytes)) {
        None => RangeRequest::Whole,
        Some(part) if part.is_empty() => RangeRequest::OutOfRange,
        Some(part) => RangeRequest::Part(part),
    }
}

/// True if `If-Match` names other entries only.
pub(super) fn fails(headers: &HeaderMap, etag: &str) -> bool {
    matches(headers, header::IF_MATCH, etag, false) == Some(false)
}

/// True if one of the entity tags that `name` lists is `etag`; `None` where the header is absent.
fn matches(headers: &HeaderMap, name: header::HeaderName, etag: &str, weakly: bool) -> Option<bool> {
    let lists = headers.get_all(name);
    lists.iter().next()?;
    let tags = lists.iter().filter_map(|list| list.to_str().ok()).flat_map(|list| list.split(',')).map(str::trim);
    let is_meant = |tag: &str| tag == "*" || tag == etag || (weakly && tag.strip_prefix("W/") == Some(etag));
    Some(tags.into_iter().any(is_meant))
}

/// The bytes of one range, empty where there are none of them. `None` for all but a single range of
/// bytes, which has to be ignored.
fn part(range: &str, size_bytes: u64) -> Option<Range<u64>> {
    let (unit, spec) = range.split_once('=')?;
    let (first, last) = spec.trim().split_once('-').filter(|_| unit.trim().eq_ignore_ascii_case("bytes"))?;
    let part = match (first, last) {
        ("", suffix) => size_bytes.saturating_sub(number(suffix)?)..size_bytes,
        (first, "") => number(first)?.min(size_bytes)..size_bytes,
        (first, last) => {
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return None;
            }
            first.min(size_bytes)..last.saturating_add(1).min(size_bytes)
        }
    };
    Some(part)
}

fn number(digits: &str) -> Option<u64> {
    // `parse` takes a sign.
    let decimal = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if decimal { Some(digits.parse().unwrap_or(u64::MAX)) } else { None }
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    const ETAG: &str = "\"abc\"";

    fn ask(pairs: &[(header::HeaderName, &'static str)], size_bytes: u64) -> RangeRequest {
        let headers = pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_static(value))).collect();
        wanted(&headers, &Method::GET, ETAG, size_bytes)
    }

    #[test]
    fn ranges_are_those_of_rfc_9110() {
        let cases = [
            ("bytes=0-0", RangeRequest::Part(0..1)),
            ("bytes=0-499", RangeRequest::Part(0..500)),
            ("bytes=500-", RangeRequest::Part(500..1000)),
            ("bytes=-300", RangeRequest::Part(700..1000)),
            ("bytes=-3000", RangeRequest::Part(0..1000)),
            ("bytes=999-99999999999999999999999", RangeRequest::Part(999..1000)),
            ("bytes=1000-", RangeRequest::OutOfRange),
            ("bytes=1000-1001", RangeRequest::OutOfRange),
            ("bytes=-0", RangeRequest::OutOfRange),
            // No range, several, or none of bytes: ignored.
            ("bytes=5-4", RangeRequest::Whole),
            ("bytes=0-1,3-4", RangeRequest::Whole),
            ("bytes=-", RangeRequest::Whole),
            ("bytes=+1-2", RangeRequest::Whole),
            ("bytes", RangeRequest::Whole),
            ("lines=0-1", RangeRequest::Whole),
        ];
        for (range, expected) in cases {
            assert_eq!(ask(&[(header::RANGE, range)], 1000), expected, "{range}");
        }
        assert_eq!(ask(&[(header::RANGE, "bytes=0-0")], 0), RangeRequest::OutOfRange);
        assert_eq!(ask(&[(header::RANGE, "bytes=-5")], 0), RangeRequest::OutOfRange);
    }

    #[test]
    fn preconditions_come_in_their_order() {
        let range = (header::RANGE, "bytes=1-2");
        assert_eq!(ask(&[(header::IF_MATCH, "\"x\", \"abc\"")], 9), RangeRequest::Whole);
        assert_eq!(ask(&[(header::IF_MATCH, "\"x\"")], 9), RangeRequest::Failed);
        // A weak tag says too little for If-Match and for If-Range.
        assert_eq!(ask(&[(header::IF_MATCH, "W/\"abc\"")], 9), RangeRequest::Failed);
        assert_eq!(ask(&[(header::IF_NONE_MATCH, "W/\"abc\""), range.clone()], 9), RangeRequest::NotModified);
        assert_eq!(ask(&[(header::IF_NONE_MATCH, "*")], 9), RangeRequest::NotModified);
        assert_eq!(ask(&[(header::IF_NONE_MATCH, "\"x\""), range.clone()], 9), RangeRequest::Part(1..3));
        assert_eq!(ask(&[(header::IF_RANGE, ETAG), range.clone()], 9), RangeRequest::Part(1..3));
        assert_eq!(ask(&[(header::IF_RANGE, "W/\"abc\""), range.clone()], 9), RangeRequest::Whole);
        assert_eq!(ask(&[(header::IF_RANGE, "Sat, 29 Oct 1994 19:43:31 GMT"), range], 9), RangeRequest::Whole);
    }
}

//! The head of an answer, and whether it can be believed.

use crate::sidecar::Validator;
use reqwest::header::{CONTENT_ENCODING, CONTENT_RANGE, DATE, ETAG, HeaderMap, HeaderName, LAST_MODIFIED, TRANSFER_ENCODING};
use reqwest::{Response, StatusCode, Version};
use std::ops::Range;
use std::time::{Duration, SystemTime};

/// The head of a 200 or 206.
#[derive(Debug, Clone)]
pub(crate) struct ResponseHead {
    pub(crate) partial: bool,
    /// The part of the file that the body has; to `u64::MAX` where the end is not told.
    pub(crate) range: Range<u64>,
    pub(crate) size_bytes: Option<u64>,
    pub(crate) validator: Option<Validator>,
    pub(crate) etag: Option<String>,
    pub(crate) last_modified: Option<String>,
    pub(crate) encoding: Option<String>,
    pub(crate) length_told: bool,
    pub(crate) http_version: String,
}

impl ResponseHead {
    /// # Errors
    /// When a 206 contradicts itself, with the reason.
    pub(crate) fn of(response: &Response) -> Result<Self, String> {
        let (headers, length) = (response.headers(), response.content_length());
        let partial = response.status() == StatusCode::PARTIAL_CONTENT;
        let (range, size_bytes) = if partial { partial_range(headers, length)? } else { (0..length.unwrap_or(u64::MAX), length) };
        let framed = response.version() >= Version::HTTP_2 || headers.contains_key(TRANSFER_ENCODING);
        Ok(Self {
            partial,
            range,
            size_bytes,
            validator: validator(headers),
            etag: text(headers, &ETAG),
            last_modified: text(headers, &LAST_MODIFIED),
            encoding: text(headers, &CONTENT_ENCODING)
                .filter(|encoding| !encoding.eq_ignore_ascii_case("identity"))
                .or_else(|| transfer_coding(headers)),
            length_told: length.is_some() || framed,
            http_version: format!("{:?}", response.version()),
        })
    }

    /// True if this is an answer about the same bytes as another one with `validator`.
    pub(crate) fn is_same(&self, validator: &Validator) -> bool {
        match validator {
            // A 206 need not repeat Last-Modified, but has to repeat the ETag.
            Validator::Etag(etag) => self.etag.as_ref() == Some(etag),
            Validator::LastModified(date) => self.last_modified.as_ref().is_none_or(|told| told == date),
        }
    }
}

fn text(headers: &HeaderMap, name: &HeaderName) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// A coding of the transfer that hides the bytes: the client below undoes `chunked` and no other.
fn transfer_coding(headers: &HeaderMap) -> Option<String> {
    let codings = headers.get_all(TRANSFER_ENCODING).into_iter().flat_map(|value| value.to_str().unwrap_or("?").split(','));
    let known =
        |coding: &&str| !coding.is_empty() && !["chunked", "identity"].iter().any(|known| coding.eq_ignore_ascii_case(known));
    codings.map(str::trim).find(known).map(|coding| format!("{coding} (Transfer-Encoding)"))
}

fn partial_range(headers: &HeaderMap, length: Option<u64>) -> Result<(Range<u64>, Option<u64>), String> {
    let Some(value) = text(headers, &CONTENT_RANGE) else {
        return Err("a 206 without a Content-Range".to_owned());
    };
    let Some((range, size_bytes)) = content_range(&value) else {
        return Err(format!("a Content-Range that is none: {value}"));
    };
    match length {
        Some(length) if length != range.end - range.start => Err(format!("Content-Range {value}, but Content-Length {length}")),
        _ => Ok((range, size_bytes)),
    }
}

/// Reads `bytes 0-99/1234` or `bytes 0-99/*`.
fn content_range(value: &str) -> Option<(Range<u64>, Option<u64>)> {
    let (range, size) = value.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let range = number(first)?..number(last)?.checked_add(1)?;
    let size_bytes = if size == "*" { None } else { Some(number(size)?) };
    (range.start < range.end && size_bytes.is_none_or(|size| range.end <= size)).then_some((range, size_bytes))
}

/// Digits only: `parse` would take a sign.
fn number(text: &str) -> Option<u64> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// A strong ETag, or a Last-Modified that is strong (RFC 9110, 8.8.2.2: the file was not written in
/// the second of the answer).
fn validator(headers: &HeaderMap) -> Option<Validator> {
    if let Some(etag) = text(headers, &ETAG) {
        return (etag.starts_with('"') && etag.len() > 1 && etag.ends_with('"')).then_some(Validator::Etag(etag));
    }
    let modified = text(headers, &LAST_MODIFIED)?;
    let now = text(headers, &DATE).and_then(|date| httpdate::parse_http_date(&date).ok()).unwrap_or_else(SystemTime::now);
    let age = now.duration_since(httpdate::parse_http_date(&modified).ok()?).ok()?;
    (age >= Duration::from_secs(1)).then_some(Validator::LastModified(modified))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn content_ranges() {
        for (value, read) in [
            ("bytes 0-99/1234", Some((0..100, Some(1234)))),
            ("bytes 5-5/*", Some((5..6, None))),
            ("bytes 5-4/10", None),
            ("bytes 0-10/10", None),
            ("bytes +0-9/10", None),
            ("bytes 0-18446744073709551615/*", None),
            ("bytes */10", None),
            ("items 0-9/10", None),
            ("bytes 0-/10", None),
            ("bytes", None),
        ] {
            assert_eq!(content_range(value), read, "{value}");
        }
    }

    #[test]
    fn only_strong_validators() {
        let of = |pairs: &[(&str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
            }
            validator(&headers)
        };
        let (noon, later) = ("Sun, 06 Nov 1994 12:00:00 GMT", "Sun, 06 Nov 1994 12:00:01 GMT");
        assert_eq!(of(&[("etag", "\"a\"")]), Some(Validator::Etag("\"a\"".to_owned())));
        assert_eq!(of(&[("etag", "W/\"a\""), ("last-modified", noon), ("date", later)]), None);
        assert_eq!(of(&[("etag", "a")]), None);
        assert_eq!(of(&[("last-modified", noon), ("date", later)]), Some(Validator::LastModified(noon.to_owned())));
        assert_eq!(of(&[("last-modified", noon), ("date", noon)]), None);
        assert_eq!(of(&[("last-modified", "yesterday")]), None);
        assert_eq!(of(&[]), None);
    }
}

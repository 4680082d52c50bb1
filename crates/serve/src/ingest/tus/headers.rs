//! Headers of a tus client.

use super::{CHECKSUM, DEFER_LENGTH, LENGTH, METADATA};
use crate::http::error::ApiError;
use crate::limits::{TUS_METADATA_BYTES_MAX, TUS_SIZE_MAX};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use data_encoding::BASE64;
use rorqual_digest::{Algorithm, Digest};

/// The type of a body that is a part of an upload.
pub(super) const PART: &str = "application/offset+octet-stream";

pub(super) const CHECKSUM_ALGORITHMS: &str = "sha1,sha256";

/// The number that a header gives.
pub(super) fn number(headers: &HeaderMap, name: &HeaderName) -> Result<Option<u64>, ApiError> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    // A sign would be taken by a parser of numbers.
    let digits = value.to_str().ok().filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    let number = digits.and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| ApiError::bad_request(format!("{name} is not a number of bytes")))
}

/// The size of an upload, which has to be given or to be put off.
pub(crate) fn announced(headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
    let size = length(headers)?;
    let deferred = headers.get(DEFER_LENGTH);
    if deferred.is_some_and(|deferred| deferred != "1") || size.is_some() == deferred.is_some() {
        return Err(ApiError::bad_request("one of Upload-Length and Upload-Defer-Length: 1 has to be given"));
    }
    Ok(size)
}

/// The size where it is given.
pub(super) fn length(headers: &HeaderMap) -> Result<Option<u64>, ApiError> {
    match number(headers, &LENGTH)? {
        Some(size) if size > TUS_SIZE_MAX => {
            let message = format!("an upload has at most {TUS_SIZE_MAX} bytes (Tus-Max-Size)");
            Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, "too_long", message).with("size", TUS_SIZE_MAX))
        }
        size => Ok(size),
    }
}

/// Metadata of a client's upload.
#[derive(Debug, Default)]
pub(crate) struct Metadata {
    /// The header as it was given.
    pub(super) text: Option<String>,
    pub(crate) filename: Option<String>,
}

impl Metadata {
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, ApiError> {
        let Some(value) = headers.get(METADATA) else { return Ok(Self::default()) };
        let text = value.to_str().ok().filter(|text| text.len() <= TUS_METADATA_BYTES_MAX).ok_or_else(|| {
            ApiError::bad_request(format!("Upload-Metadata has at most {TUS_METADATA_BYTES_MAX} bytes, all of them ASCII"))
        })?;
        let mut metadata = Self { text: Some(text.to_owned()), filename: None };
        for pair in text.split(',').map(str::trim).filter(|pair| !pair.is_empty()) {
            let (key, coded) = pair.split_once(' ').unwrap_or((pair, ""));
            let value = base64(coded.trim());
            let value = value.ok_or_else(|| ApiError::bad_request(format!("Upload-Metadata: {key:?} is not in base64")))?;
            if key == "filename" {
                metadata.filename = Some(String::from_utf8_lossy(&value).into_owned());
            }
        }
        Ok(metadata)
    }
}

/// One value; the decoder would take several, each with its padding.
fn base64(coded: &str) -> Option<Vec<u8>> {
    BASE64.decode(coded.as_bytes()).ok().filter(|_| !coded.trim_end_matches('=').contains('='))
}

/// The digest that a part has to have.
pub(crate) fn checksum(headers: &HeaderMap) -> Result<Option<Digest>, ApiError> {
    let Some(value) = headers.get(CHECKSUM) else { return Ok(None) };
    let (name, coded) = value.to_str().ok().and_then(|value| value.split_once(' ')).unwrap_or_default();
    let algorithm = match name {
        "sha1" => Algorithm::Sha1,
        "sha256" => Algorithm::Sha256,
        _ => return Err(ApiError::bad_request(format!("Upload-Checksum: the algorithm is not one of {CHECKSUM_ALGORITHMS}"))),
    };
    let digest = base64(coded).and_then(|bytes| Digest::from_bytes(algorithm, &bytes));
    digest.map(Some).ok_or_else(|| ApiError::bad_request(format!("Upload-Checksum: that is no {name} in base64")))
}

#[cfg(test)]
mod tests {
    use super::{Metadata, checksum};
    use axum::http::{HeaderMap, HeaderName, HeaderValue};

    fn of(name: &'static str, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"))])
    }

    #[test]
    fn metadata_are_pairs_of_a_key_and_base64() {
        let name = |text: &str| Metadata::of(&of("upload-metadata", text)).map(|metadata| metadata.filename).ok().flatten();
        assert_eq!(name("filename YWNjZXNzLmxvZw==").as_deref(), Some("access.log"));
        assert_eq!(name("is_confidential,filetype dGV4dA==, filename w6QubG9n").as_deref(), Some("ä.log"));
        assert_eq!(name("is_confidential"), None);
        for bad in ["filename YWNj!", "filename a b", "filename eA==Lmxv", &format!("x {}", "A".repeat(5_000))] {
            assert!(Metadata::of(&of("upload-metadata", bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_checksum_has_a_known_algorithm_and_its_length() {
        // Of nothing, by sha1sum and base64.
        assert!(checksum(&of("upload-checksum", "sha1 2jmj7l5rSw0yVb/vlWAYkK/YBwk=")).is_ok_and(|digest| digest.is_some()));
        for bad in [
            "md5 1B2M2Y8AsgTpgAmY7PhCfg==",
            "sha1",
            "sha1 2jmj7l5rSw0yVb/vlWAYkK/YBw==",
            "sha1 2jmj7l5rSw0yVb/vlWAYkK/YBw==CQ==",
            "sha256 2jmj7l5rSw0yVb/vlWAYkK/YBwk=",
        ] {
            assert!(checksum(&of("upload-checksum", bad)).is_err(), "{bad}");
        }
    }
}

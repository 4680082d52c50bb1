//! The opening handshake (RFC 6455, 4.2): the headers by which a client becomes a WebSocket, and
//! the answer.

use crate::http::error::ApiError;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, StatusCode, Version, header};
use axum::response::{IntoResponse, Response};
use data_encoding::BASE64;
use rorqual_digest::{Algorithm, DigestForm, Hasher};

const VERSION: &str = "13";
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Bytes of a client's key.
const KEY_BYTES: usize = 16;

/// The answer's proof that the request was understood; or the refusal.
#[expect(clippy::result_large_err, reason = "it is an answer, once a connection")]
pub(super) fn accept(request: &Request) -> Result<String, Response> {
    let headers = request.headers();
    if request.version() < Version::HTTP_11 {
        // HTTP/1.0 has no upgrades: the header is ignored there (RFC 9110, 7.8).
        return Err(refusal("this address is for WebSockets, which begin with HTTP/1.1"));
    }
    if !names(headers, header::CONNECTION, "upgrade") || !names(headers, header::UPGRADE, "websocket") {
        return Err(refusal("this address is for WebSockets: ask with Connection: Upgrade and Upgrade: websocket"));
    }
    if headers.get(header::SEC_WEBSOCKET_VERSION).is_none_or(|version| version != VERSION) {
        return Err(refusal("this server speaks version 13 of the WebSocket protocol"));
    }
    let key = headers.get(header::SEC_WEBSOCKET_KEY).map(|key| key.as_bytes()).unwrap_or_default();
    if BASE64.decode(key).is_ok_and(|key| key.len() == KEY_BYTES) {
        let mut hasher = Hasher::new(Algorithm::Sha1);
        hasher.update(key);
        hasher.update(GUID);
        return Ok(hasher.finish().encode(DigestForm::Base64));
    }
    Err(ApiError::bad_request("Sec-WebSocket-Key has to be 16 bytes in base64").into_response())
}

/// True if a header's list has a word, in any case.
fn names(headers: &HeaderMap, name: HeaderName, word: &str) -> bool {
    let lines = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|part| part.trim().eq_ignore_ascii_case(word))
}

fn refusal(message: &str) -> Response {
    let headers = [(header::UPGRADE, "websocket"), (header::CONNECTION, "upgrade"), (header::SEC_WEBSOCKET_VERSION, VERSION)];
    (headers, ApiError::new(StatusCode::UPGRADE_REQUIRED, "upgrade_required", message)).into_response()
}

#[cfg(test)]
mod tests {
    use super::accept;
    use axum::body::Body;
    use axum::extract::Request;
    use axum::http::{HeaderMap, Version};

    fn request(lines: &[(&'static str, &str)]) -> Request {
        let mut request = Request::new(Body::empty());
        *request.headers_mut() = headers(lines);
        request
    }

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        lines.iter().map(|(name, value)| (name.parse().expect("a name"), value.parse().expect("a value"))).collect()
    }

    const EXAMPLE: [(&str, &str); 4] = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "WebSocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];

    #[test]
    fn the_example_of_the_rfc() {
        assert_eq!(accept(&request(&EXAMPLE)).expect("a handshake"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        for (name, value, status) in [
            ("connection", "close", 426),
            ("upgrade", "h2c", 426),
            ("sec-websocket-version", "8", 426),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ", 400),
            ("sec-websocket-key", "AAAA", 400),
        ] {
            let mut asked = request(&EXAMPLE);
            asked.headers_mut().insert(name, value.parse().expect("a value"));
            assert_eq!(accept(&asked).expect_err("no handshake").status(), status, "{name}: {value}");
            asked.headers_mut().remove(name);
            assert!(accept(&asked).is_err(), "no {name}");
        }
    }

    #[test]
    fn http_1_0_has_no_upgrades() {
        let mut asked = request(&EXAMPLE);
        *asked.version_mut() = Version::HTTP_10;
        assert_eq!(accept(&asked).expect_err("no handshake").status(), 426);
    }
}

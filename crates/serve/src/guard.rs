//! Who may ask: a token against other users of the machine, Host against DNS rebinding, Origin and Sec-Fetch-Site
//! against other pages in the same browser.

use crate::connections::{Connections, Place};
use crate::error::ApiError;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use std::sync::Arc;

/// What a request must show.
#[derive(Debug)]
pub(crate) struct Guard {
    token: String,
    cookie: String,
    hosts: Vec<String>,
}

const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Bytes of randomness in a token.
const TOKEN_BYTES: usize = 24;

impl Guard {
    /// A guard with a fresh token for a server on the loopback `port`.
    pub(crate) fn new(port: u16) -> Result<Self, getrandom::Error> {
        let hosts = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")).to_vec();
        Ok(Self { token: random_text(TOKEN_BYTES)?, cookie: format!("rorqual_{port}"), hosts })
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    fn check(&self, request: &Request) -> Result<(), ApiError> {
        let headers = request.headers();
        let host = text(headers, header::HOST).unwrap_or_default();
        if !self.hosts.iter().any(|allowed| allowed.eq_ignore_ascii_case(host)) {
            return Err(ApiError::new(StatusCode::FORBIDDEN, "wrong_host", "this server answers only to its own address"));
        }
        if let Some(origin) = text(headers, header::ORIGIN) {
            let own = origin.strip_prefix("http://").is_some_and(|host| self.hosts.iter().any(|allowed| allowed == host));
            if !own {
                return Err(ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", "requests from other pages are refused"));
            }
        }
        // Opening the page by a link from elsewhere is fine; anything else from another site is not.
        let opening = request.method() == Method::GET && request.uri().path() == "/";
        let site = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
        if !opening && site.is_some_and(|site| site != "same-origin" && site != "none") {
            return Err(ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", "requests from other sites are refused"));
        }
        if self.knows_token(headers) || self.sign_in(request).is_some() {
            return Ok(());
        }
        Err(ApiError::new(
            StatusCode::UNAUTHORIZED,
            "no_token",
            "the token is missing or wrong; open the address that `rorqual serve` printed",
        ))
    }

    fn knows_token(&self, headers: &HeaderMap) -> bool {
        let bearer = text(headers, header::AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let cookie = cookies
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(name, _)| *name == self.cookie)
            .map(|(_, value)| value);
        bearer.into_iter().chain(cookie).any(|given| same(given, &self.token))
    }

    /// `GET /?token=…`: the token becomes a cookie and leaves the address bar.
    fn sign_in(&self, request: &Request) -> Option<Response> {
        if request.method() != Method::GET || request.uri().path() != "/" {
            return None;
        }
        let given = request.uri().query()?.split('&').find_map(|pair| pair.strip_prefix("token="))?;
        if !same(given, &self.token) {
            return None;
        }
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/", self.cookie, self.token);
        // Where another page led here (the file that `--open` hands to the browser), a redirect would still count as its
        // doing, and the browser would keep the strict cookie back. Our own page may go where it likes.
        let site = request.headers().get("sec-fetch-site");
        if site.is_some_and(|site| site != "none" && site != "same-origin") {
            let page = Html("<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=/\"><title>rorqual</title>");
            return Some(([(header::SET_COOKIE, cookie)], page).into_response());
        }
        Some((StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, "/".to_owned())]).into_response())
    }
}

/// What stands before every request: the guard, and the places of those that it let through.
pub(crate) struct Gate {
    pub(crate) guard: Guard,
    pub(crate) connections: Arc<Connections>,
}

/// Lets a request through or not, and puts the security headers on every answer.
pub(crate) async fn guard(State(gate): State<Arc<Gate>>, request: Request, next: Next) -> Response {
    let mut response = match gate.guard.check(&request) {
        Ok(()) => {
            if let Some(place) = request.extensions().get::<Arc<Place>>().cloned() {
                gate.connections.welcome(&place).await;
            }
            match gate.guard.sign_in(&request) {
                Some(signed_in) => signed_in,
                None => next.run(request).await,
            }
        }
        Err(refused) => refused.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers
        .entry(header::HeaderName::from_static("cross-origin-opener-policy"))
        .or_insert(HeaderValue::from_static("same-origin"));
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    response
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"))
}

/// Compares without telling by its duration how much was right.
fn same(given: &str, token: &str) -> bool {
    let differing = given.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == token.len() && differing == 0
}

/// Random bytes in hexadecimal.
pub(crate) fn random_text(bytes: usize) -> Result<String, getrandom::Error> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

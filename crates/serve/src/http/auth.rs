//! Authorisation of requests: a token against other users of the machine, Host against DNS
//! rebinding, Origin and Sec-Fetch-Site against other pages in the same browser.

use crate::admission::Admission;
use crate::http::access::HostNames;
use crate::http::connections::{ConnectionSlot, Connections};
use crate::http::drain::Drain;
use crate::http::error::ApiError;
use crate::http::token::{AccessGrant, AccessToken};
use crate::setting::TOKEN_FILE;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use std::sync::Arc;

/// Conditions that a request must meet.
#[derive(Debug)]
pub(crate) struct Auth {
    pub(crate) token: AccessToken,
    pub(crate) names: HostNames,
    cookie: String,
    /// Probes need no token.
    open_probes: bool,
}

/// The credential of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Credential {
    /// The token, in a header that only programs and scripts of our own page set.
    Bearer,
    /// The session key, in a cookie, which browsers send along whoever asks, and to every port of
    /// the host.
    Cookie,
    /// The token, in the address that opens the page.
    Link,
}

/// For a person who opened the address without its token.
fn no_token_page() -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>rorqual: the token is missing</title>\n\
     <h1>The token is missing or wrong</h1>\n\
     <p>Open the whole link that <code>rorqual serve</code> printed when it was started: it ends in <code>/?token=</code> and the token.</p>\n\
     <p>Without <code>{TOKEN_FILE}</code> each start has a new token, and links of earlier ones are no longer good. With it, the token is what \
     that file has.</p>\n</html>\n"
    )
}

/// Scripts, workers and all else come from the page's own files; text becomes markup only through
/// the one policy of the page's framework, for its own templates, and the address of a worker only
/// through the page's own, which knows one.
const CONTENT_SECURITY_POLICY: &str = "default-src 'none'; script-src 'self'; worker-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
     require-trusted-types-for 'script'; trusted-types svelte-trusted-html rorqual-worker";

/// A year. Not of the names below it, which are not ours.
const STRICT_TRANSPORT_SECURITY: &str = "max-age=31536000";

/// Headers of every answer, unless it has its own.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

impl Auth {
    /// A guard of a server on `port` that answers to these names.
    pub(crate) fn new(token: AccessToken, names: HostNames, port: u16, open_probes: bool) -> Self {
        // Browsers take a cookie of this kind by https alone, and from nobody but the host itself.
        let prefix = if names.secure { "__Host-" } else { "" };
        Self { token, cookie: format!("{prefix}rorqual_{port}"), names, open_probes }
    }

    /// Lets a request in for as long as its token is the token; `None` is a probe, which has shown
    /// none.
    pub(crate) fn check(&self, request: &Request) -> Result<Option<AccessGrant>, ApiError> {
        if self.open_probes && is_probe(request) {
            return Ok(None);
        }
        self.check_host(request)?;
        self.check_site(request)?;
        let (shown, pass) = self.shown(request).ok_or_else(no_token)?;
        if shown == Credential::Cookie && changes(request) && !self.is_of_our_page(request.headers()) {
            let message =
                "a cookie alone changes nothing: the browser has to say by Origin or Sec-Fetch-Site that our own page asks";
            return Err(ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", message));
        }
        Ok(Some(pass))
    }

    /// One `Host`, and it is ours; and so is the host in an absolute target, which stands above it.
    fn check_host(&self, request: &Request) -> Result<(), ApiError> {
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let ours = |host: &str| self.names.has_host(host);
        let named = hosts.next().is_some_and(|host| host.to_str().is_ok_and(ours)) && hosts.next().is_none();
        if named && request.uri().authority().is_none_or(|authority| ours(authority.as_str())) {
            return Ok(());
        }
        Err(ApiError::new(StatusCode::FORBIDDEN, "wrong_host", "this server answers only to its own address"))
    }

    fn check_site(&self, request: &Request) -> Result<(), ApiError> {
        let headers = request.headers();
        if headers.get_all(header::ORIGIN).iter().any(|origin| !origin.to_str().is_ok_and(|origin| self.names.has_origin(origin)))
        {
            return Err(ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", "requests from other pages are refused"));
        }
        // Opening the page by a link from elsewhere is fine; anything else from another site is
        // not.
        let opening = request.method() == Method::GET && request.uri().path() == "/";
        let own = |site: &HeaderValue| site == "same-origin" || site == "none";
        if !opening && !headers.get_all("sec-fetch-site").iter().all(own) {
            return Err(ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", "requests from other sites are refused"));
        }
        Ok(())
    }

    /// True if the browser says so. Other pages were refused before.
    fn is_of_our_page(&self, headers: &HeaderMap) -> bool {
        headers.contains_key(header::ORIGIN) || headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin")
    }

    fn shown(&self, request: &Request) -> Option<(Credential, AccessGrant)> {
        let headers = request.headers();
        let bearer = text(headers, header::AUTHORIZATION).and_then(|value| value.split_once(' '));
        let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        if let Some(pass) = bearer.and_then(|(_, given)| self.token.pass(given)) {
            return Some((Credential::Bearer, pass));
        }
        let cookies = headers.get_all(header::COOKIE).into_iter().filter_map(|value| value.to_str().ok());
        let mut cookies = cookies
            .flat_map(|line| line.split(';'))
            .filter_map(|pair| pair.trim().split_once('='))
            .filter(|(name, _)| *name == self.cookie)
            .map(|(_, value)| value);
        if let Some(pass) = cookies.find_map(|given| self.token.pass_of_key(given)) {
            return Some((Credential::Cookie, pass));
        }
        self.opens(request).map(|pass| (Credential::Link, pass))
    }

    /// `GET /?token=…`
    fn opens(&self, request: &Request) -> Option<AccessGrant> {
        if request.method() != Method::GET || request.uri().path() != "/" {
            return None;
        }
        let given = request.uri().query().and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("token=")));
        self.token.pass(given?)
    }

    /// For the token of the address there is a session key, and it leaves the address bar.
    fn sign_in(&self, request: &Request) -> Option<Response> {
        self.opens(request)?;
        let secure = if self.names.secure { "; Secure" } else { "" };
        let cookie = format!("{}={}; HttpOnly; SameSite=Strict; Path=/{secure}", self.cookie, self.token.key());
        // Where another page led here (the file that `--open` hands to the browser), a redirect
        // would still count as its doing, and the browser would keep the strict cookie back. Our
        // own page may go where it likes.
        let site = request.headers().get("sec-fetch-site");
        if site.is_some_and(|site| site != "none" && site != "same-origin") {
            let page = Html("<!doctype html><meta http-equiv=\"refresh\" content=\"0;url=/\"><title>rorqual</title>");
            return Some(([(header::SET_COOKIE, cookie)], page).into_response());
        }
        Some((StatusCode::SEE_OTHER, [(header::SET_COOKIE, cookie), (header::LOCATION, "/".to_owned())]).into_response())
    }

    /// True if browsers may be told to come by https alone. For `localhost` that would hold for all
    /// servers of a machine.
    fn is_strict(&self, request: &Request) -> bool {
        let host = text(request.headers(), header::HOST).unwrap_or_default();
        let name = host.rsplit_once(':').filter(|(_, port)| !port.ends_with(']')).map_or(host, |(name, _)| name);
        let local = ["localhost", "127.0.0.1", "[::1]"].iter().any(|local| name.eq_ignore_ascii_case(local));
        self.names.secure && !local
    }
}

/// True for requests that need no token where that is wanted: the answer is nothing but a status.
fn is_probe(request: &Request) -> bool {
    matches!(*request.method(), Method::GET | Method::HEAD) && matches!(request.uri().path(), "/healthz" | "/readyz")
}

/// True if it may change something: all but reading, an upgrade that begins as reading, and reading
/// that takes a lease.
fn changes(request: &Request) -> bool {
    let headers = request.headers();
    let reads = matches!(*request.method(), Method::GET | Method::HEAD);
    !reads || headers.contains_key(header::UPGRADE) || headers.contains_key("lease-seconds")
}

/// The layer before every request: the authorisation, and the slots of requests that it let
/// through.
pub(crate) struct RequestGate {
    pub(crate) guard: Auth,
    pub(crate) connections: Arc<Connections>,
    pub(crate) drain: Arc<Drain>,
    pub(crate) admission: Admission,
}

/// Lets a request through or not, and puts the security headers on every answer.
pub(crate) async fn guard(State(gate): State<Arc<RequestGate>>, mut request: Request, next: Next) -> Response {
    let strict = gate.guard.is_strict(&request);
    // A proxy may have seen another end of such a body: the bytes after it are not taken for a
    // request.
    let last = request.headers().contains_key(header::TRANSFER_ENCODING);
    let mut response = match admit(&gate, &mut request).await {
        Ok(Some(signed_in)) => signed_in,
        Ok(None) => next.run(request).await,
        Err(refused) if refused.status() == StatusCode::UNAUTHORIZED && is_navigation(&request) => explained(refused),
        Err(refused) => refused.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    headers.insert("cross-origin-resource-policy", HeaderValue::from_static("same-origin"));
    if strict {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(STRICT_TRANSPORT_SECURITY));
    }
    if last {
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// Admits a request; returns the answer itself where the request opens the page.
async fn admit(gate: &RequestGate, request: &mut Request) -> Result<Option<Response>, ApiError> {
    let Some(pass) = gate.guard.check(request)? else { return Ok(None) };
    check_transfer_coding(request.headers())?;
    if let Some(place) = request.extensions().get::<Arc<ConnectionSlot>>().cloned() {
        place.show(pass.clone());
        gate.connections.welcome(&place).await;
    }
    // Changed before its connection could hear of it.
    if pass.is_revoked() {
        return Err(no_token());
    }
    request.extensions_mut().insert(pass);
    Ok(gate.guard.sign_in(request))
}

/// Refuses a body in a transfer coding beside chunks (RFC 9112, 6.1): its bytes would be taken for
/// the body itself.
fn check_transfer_coding(headers: &HeaderMap) -> Result<(), ApiError> {
    let other = |value: &HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"chunked");
    if headers.get_all(header::TRANSFER_ENCODING).iter().any(other) {
        let message = "the only transfer coding that is understood is chunked; send the body itself, or name its coding in Content-Encoding";
        return Err(ApiError::new(StatusCode::NOT_IMPLEMENTED, "unsupported_transfer_coding", message));
    }
    Ok(())
}

fn no_token() -> ApiError {
    let message = "the token is missing or wrong; open the address that `rorqual serve` printed";
    ApiError::new(StatusCode::UNAUTHORIZED, "no_token", message)
}

/// True if a browser asks for a page to show, and not a program or a page for something of its own.
fn is_navigation(request: &Request) -> bool {
    let accepted = request.headers().get_all(header::ACCEPT).into_iter().filter_map(|value| value.to_str().ok());
    let mut types = accepted.flat_map(|line| line.split(',')).filter_map(|part| part.split(';').next());
    matches!(*request.method(), Method::GET | Method::HEAD) && types.any(|media| media.trim().eq_ignore_ascii_case("text/html"))
}

/// The same refusal for a person.
fn explained(refused: ApiError) -> Response {
    let (mut parts, _json) = refused.into_response().into_parts();
    parts.headers.remove(header::CONTENT_LENGTH);
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    Response::from_parts(parts, no_token_page().into())
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("\u{fffd}"))
}

//! The HTTP client: TLS, proxies, redirects.

use crate::error::{FetchError, FetchErrorKind};
use crate::given::GivenCertificates;
use crate::limits::{CONNECTION_WINDOW_BYTES, FRAME_BYTES_MAX, STREAM_WINDOW_BYTES};
use crate::proxy::Proxies;
use crate::setting::{ALLOW_DOWNGRADE, CA_CERT, HEADER, MAX_REDIRECTS};
use crate::settings::Fetch;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Proxy};
use rorqual_pipe::escaped_path;
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// A refused redirect; found again in the error's chain.
#[derive(Debug)]
pub(crate) struct RefusedRedirect(String);

impl std::fmt::Display for RefusedRedirect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RefusedRedirect {}

pub(crate) fn client(fetch: &Fetch, proxies: &Proxies) -> Result<Client, FetchError> {
    let (redirects_max, allow_downgrade) = (fetch.redirects_max, fetch.allow_downgrade);
    let proxies = proxies.clone();
    let builder = Client::builder().no_proxy();
    let secret = fetch.headers.iter().map(|(name, _)| name.to_ascii_lowercase()).find(|name| !stays_home(name));
    builder
        .proxy(Proxy::custom(move |url| proxies.of(url).map(|proxy| proxy.url.clone())))
        .user_agent(concat!("rorqual/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers(&fetch.headers)?)
        .redirect(Policy::custom(move |attempt| follow(attempt, redirects_max, allow_downgrade, secret.as_deref())))
        // The URL that was asked for is nobody else's business.
        .referer(false)
        .connect_timeout(fetch.connect_timeout)
        .pool_max_idle_per_host(fetch.parallel)
        .http2_initial_stream_window_size(STREAM_WINDOW_BYTES)
        .http2_initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .http2_max_frame_size(FRAME_BYTES_MAX)
        .tls_backend_preconfigured(tls(&fetch.ca_certs)?)
        .build()
        .map_err(|error| FetchError::new(FetchErrorKind::Local, format!("no HTTP client: {error}")))
}

/// A client for requests to known servers: it takes no proxy, follows no redirect, and trusts the
/// certificates of these files where there are some, and those of the system otherwise.
///
/// # Errors
/// When a file has no certificate, or there can be no TLS.
pub fn direct_client(ca_certs: &[impl AsRef<Path>], connect_timeout: Duration) -> Result<Client, FetchError> {
    Client::builder()
        .no_proxy()
        .user_agent(concat!("rorqual/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(connect_timeout)
        .tls_backend_preconfigured(tls(ca_certs)?)
        .build()
        .map_err(|error| FetchError::new(FetchErrorKind::Local, format!("no HTTP client: {error}")))
}

/// True if a header may meet a redirect to another host: it has no secret, or reqwest does not send
/// it on.
fn stays_home(name: &str) -> bool {
    let removed = ["authorization", "cookie", "cookie2", "proxy-authorization", "www-authenticate"];
    removed.contains(&name) || name == "user-agent" || name.starts_with("accept")
}

fn follow(attempt: Attempt<'_>, redirects_max: usize, allow_downgrade: bool, secret: Option<&str>) -> reqwest::redirect::Action {
    if !["http", "https"].contains(&attempt.url().scheme()) {
        let (scheme, host) = (attempt.url().scheme(), attempt.url().host_str().unwrap_or(""));
        let text = format!("a redirect to {scheme}://{host}, and only http and https are fetched");
        return attempt.error(RefusedRedirect(text));
    }
    if attempt.previous().len() > redirects_max {
        return attempt.error(RefusedRedirect(format!("more than {redirects_max} redirects ({MAX_REDIRECTS})")));
    }
    let secure_before = attempt.previous().iter().any(|url| url.scheme() == "https");
    if secure_before && attempt.url().scheme() != "https" && !allow_downgrade {
        let host = attempt.url().host_str().unwrap_or("").to_owned();
        return attempt.error(RefusedRedirect(format!("a redirect from https to http at {host} ({ALLOW_DOWNGRADE})")));
    }
    let origin = |url: &reqwest::Url| (url.host_str().map(str::to_owned), url.port_or_known_default());
    let elsewhere = attempt.previous().first().is_some_and(|first| origin(first) != origin(attempt.url()));
    if let Some(name) = secret.filter(|_| elsewhere) {
        let host = attempt.url().host_str().unwrap_or("").to_owned();
        let text = format!(
            "a redirect to {host} would take {HEADER} {name} along; give that address itself, with the headers it may have"
        );
        return attempt.error(RefusedRedirect(text));
    }
    attempt.follow()
}

fn headers(pairs: &[(String, String)]) -> Result<HeaderMap, FetchError> {
    let mut headers = HeaderMap::new();
    // The bytes as they are stored: a size, a range and a digest are of those.
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    for (name, value) in pairs {
        let wrong = |what| FetchError::new(FetchErrorKind::Local, format!("{HEADER} {name:?}: not a header {what}"));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("name"))?;
        if ["range", "if-range", "accept-encoding"].contains(&key.as_str()) {
            return Err(FetchError::new(FetchErrorKind::Local, format!("{HEADER} {name:?}: a fetch sets this one itself")));
        }
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong("value"))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

fn tls(ca_certs: &[impl AsRef<Path>]) -> Result<rustls::ClientConfig, FetchError> {
    let (mut roots, mut given) = (RootCertStore::empty(), Vec::new());
    for path in ca_certs {
        add_file(&mut roots, &mut given, path.as_ref())?;
    }
    if ca_certs.is_empty() {
        // A machine without any still fetches by http; https then fails with an unknown issuer.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let failed = |error: &dyn std::fmt::Display| FetchError::new(FetchErrorKind::Local, format!("no TLS: {error}"));
    let versions = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let versions = versions.map_err(|error| failed(&error))?;
    let mut config = if given.is_empty() {
        versions.with_root_certificates(roots).with_no_client_auth()
    } else {
        let verifier = GivenCertificates::new(roots, given, provider).map_err(|error| failed(&error))?;
        versions.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn add_file(roots: &mut RootCertStore, given: &mut Vec<CertificateDer<'static>>, path: &Path) -> Result<(), FetchError> {
    let wrong = |what: &dyn std::fmt::Display| {
        FetchError::new(FetchErrorKind::Local, format!("{CA_CERT} {}: {what}", escaped_path(path)))
    };
    let mut count = 0;
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(&error))? {
        let certificate = certificate.map_err(|error| wrong(&error))?;
        roots.add(certificate.clone()).map_err(|error| wrong(&error))?;
        given.push(certificate);
        count += 1;
    }
    if count == 0 { Err(wrong(&"no certificate in it")) } else { Ok(()) }
}

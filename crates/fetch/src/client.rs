//! The HTTP client: TLS, proxies, redirects.

use crate::error::{FetchError, FetchErrorKind};
use crate::given::GivenCertificates;
use crate::limits::{CERTIFICATES_BYTES_MAX, CONNECTION_WINDOW_BYTES, FRAME_BYTES_MAX, STREAM_WINDOW_BYTES};
use crate::proxy::Proxies;
use crate::setting::{ALLOW_DOWNGRADE, CA_CERT, HEADER, MAX_REDIRECTS};
use crate::settings::Fetch;
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Proxy};
use rorqual_pipe::{Control, Input, escaped_path, format_size, reason};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::io::Read;
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
    let local = |error: &dyn std::fmt::Display| FetchError::new(FetchErrorKind::Local, format!("{CA_CERT} {error}"));
    let file =
        Input::open_stored(path).and_then(|input| input.into_reader(&Control::default())).map_err(|error| local(&error))?;
    let mut text = Vec::new();
    let read = file.take(CERTIFICATES_BYTES_MAX + 1).read_to_end(&mut text);
    read.map_err(|cause| wrong(&format!("cannot read: {}", reason(&cause))))?;
    if text.len() as u64 > CERTIFICATES_BYTES_MAX {
        return Err(wrong(&format!("is larger than {}, which no file of certificates is", format_size(CERTIFICATES_BYTES_MAX))));
    }
    let mut count = 0;
    for certificate in CertificateDer::pem_slice_iter(&text) {
        count += 1;
        let damaged = |error: &dyn std::fmt::Display| wrong(&format!("certificate {count} is damaged: {error}"));
        let certificate = certificate.map_err(|error| damaged(&error))?;
        roots.add(certificate.clone()).map_err(|error| damaged(&error))?;
        given.push(certificate);
    }
    if count == 0 { Err(wrong(&without_certificate(&text))) } else { Ok(()) }
}

/// Reason for which there is no certificate in a file.
fn without_certificate(file: &[u8]) -> &'static str {
    // A sequence whose length follows in some bytes, or a short one that begins with a number, as
    // certificates and keys do.
    let is_der = matches!(file, [0x30, 0x81..=0x83, ..] | [0x30, _, 0x02, ..]);
    let text = String::from_utf8_lossy(file);
    let has = |label: &str| text.lines().any(|line| line.starts_with("-----BEGIN ") && line.contains(label));
    match () {
        () if file.is_empty() => "is empty",
        () if is_der => {
            "is binary (DER or PKCS #12), and PEM is wanted: openssl x509 -inform der -in FILE, or openssl pkcs12 -nokeys -in FILE, makes it"
        }
        () if has(" TRUSTED CERTIFICATE") => {
            "has a certificate with OpenSSL's own trust settings: openssl x509 -in FILE makes a plain one"
        }
        () if has(" ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED") => {
            "has an encrypted private key and no certificate; the certificate is wanted, which is no secret"
        }
        () if has(" PRIVATE KEY") => "has a private key and no certificate; the certificate is wanted, which is no secret",
        () if has(" CERTIFICATE REQUEST") => {
            "has a request for a certificate, and not the certificate that an authority made of it"
        }
        () if has(" PKCS7") => "has PKCS #7: openssl pkcs7 -print_certs -in FILE makes certificates of it",
        () => "has no certificate (-----BEGIN CERTIFICATE-----)",
    }
}

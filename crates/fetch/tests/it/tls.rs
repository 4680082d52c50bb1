//! TLS by an authority of our own, HTTP/2 by ALPN, and refusals.

use crate::common::{Folder, PIECE, run, settings, sha256};
use bytes::Bytes;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rorqual_fetch::{Fetch, FetchErrorKind};
use rorqual_testkit::http::{GeneratedContent, HttpReply, Request, ResponseEnd, TestServer};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_rustls::TlsAcceptor;

/// An HTTP/2 server on a thread; its runtime ends with the process.
struct Secure {
    address: SocketAddr,
    authority_pem: String,
    folder: Folder,
}

impl Secure {
    fn start(answer: impl Fn(&Request) -> HttpReply + Send + Sync + 'static) -> Self {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate().unwrap();
        let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &Issuer::new(authority, authority_key)).unwrap();
        Self::with(certificate.der().clone(), PrivatePkcs8KeyDer::from(key.serialize_der()).into(), authority_pem, answer)
    }

    /// One that shows this certificate, and is trusted by `authority_pem`.
    fn with(
        certificate: CertificateDer<'static>,
        key: PrivateKeyDer<'static>,
        authority_pem: String,
        answer: impl Fn(&Request) -> HttpReply + Send + Sync + 'static,
    ) -> Self {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec()];
        let (sender, address) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(listen(TlsAcceptor::from(Arc::new(config)), Arc::new(answer), &sender));
        });
        Self { address: address.recv().unwrap(), authority_pem, folder: Folder::new() }
    }

    fn fetch(&self, folder: &Folder) -> Fetch {
        let authority = self.folder.at("authority.pem");
        std::fs::write(&authority, &self.authority_pem).unwrap();
        let mut fetch = settings(&format!("https://{}/file", self.address), &folder.target(), 3);
        fetch.ca_certs = vec![authority];
        fetch
    }
}

type Answer = dyn Fn(&Request) -> HttpReply + Send + Sync;

async fn listen(acceptor: TlsAcceptor, answer: Arc<Answer>, sender: &std::sync::mpsc::Sender<SocketAddr>) {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    sender.send(listener.local_addr().unwrap()).unwrap();
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let (acceptor, answer) = (acceptor.clone(), Arc::clone(&answer));
        tokio::spawn(async move {
            // A client that does not trust us ends here.
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((request, respond))) = connection.accept().await {
                let headers = request.headers().iter();
                let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned())).collect();
                let target = request.uri().path().to_owned();
                let reply = answer(&Request { number: 0, method: "GET".to_owned(), target, headers });
                tokio::spawn(send(reply, respond));
            }
        });
    }
}

async fn send(reply: HttpReply, mut respond: h2::server::SendResponse<Bytes>) {
    let mut head = http::Response::builder().status(reply.status);
    for (name, value) in &reply.headers {
        head = head.header(name, value);
    }
    if let Some(length) = reply.length {
        head = head.header("content-length", length);
    }
    let mut body = respond.send_response(head.body(()).unwrap(), false).unwrap();
    let bytes = reply.content.bytes(reply.range.start..reply.range.end.min(reply.range.start.saturating_add(reply.bytes_max)));
    // h2 holds it until the client's window opens.
    let _ = body.send_data(bytes.into(), true);
}

#[test]
fn http_2_by_an_authority_of_our_own() {
    let (content, folder) = (GeneratedContent::new(40 * PIECE, 1), Folder::new());
    let served = content.clone();
    let server = Secure::start(move |request| served.answer(request));
    let mut fetch = server.fetch(&folder);
    fetch.digests = vec![sha256(&content.all())];
    let ran = run(fetch);
    assert_eq!((ran.done().http_version.as_str(), ran.done().ranges, ran.done().failures), ("HTTP/2.0", true, 0));
    folder.has_only(&content);
}

#[test]
fn a_stream_that_ends_early_is_resumed() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let (served, first) = (content.clone(), AtomicBool::new(true));
    let server = Secure::start(move |request| {
        let reply = served.answer(request);
        if first.swap(false, Ordering::Relaxed) { reply.cut(3 * PIECE + 1, ResponseEnd::Keep) } else { reply }
    });
    let mut fetch = server.fetch(&folder);
    fetch.parallel = 1;
    let ran = run(fetch);
    assert_eq!(ran.done().failures, 1, "{ran:?}");
    folder.has_only(&content);
}

#[test]
fn strangers_are_not_trusted_and_not_asked_again() {
    let folder = Folder::new();
    let server = Secure::start(|_| HttpReply::empty(200));
    let mut fetch = server.fetch(&folder);
    fetch.ca_certs.clear();
    let ran = run(fetch);
    assert!(ran.failed(FetchErrorKind::Connect).message.contains("certificate"), "{ran:?}");
    assert!(ran.retries.is_empty());
    assert!(folder.names().is_empty());
}

/// A server whose certificate is its own authority, of this name.
fn self_signed(names: &[&str], content: &GeneratedContent) -> Secure {
    let mut params = CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let served = content.clone();
    let key_der = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
    Secure::with(certificate.der().clone(), key_der, certificate.pem(), move |request| served.answer(request))
}

#[test]
fn a_certificate_that_is_its_own_authority_is_trusted_where_it_is_the_one_that_was_given() {
    let (content, folder) = (GeneratedContent::new(2 * PIECE, 1), Folder::new());
    let server = self_signed(&["127.0.0.1"], &content);
    run(server.fetch(&folder)).done();
    folder.has_only(&content);
    // Another one of the same name is not the one.
    let folder = Folder::new();
    let mut fetch = server.fetch(&folder);
    let other = self_signed(&["127.0.0.1"], &content);
    fetch.ca_certs = other.fetch(&folder).ca_certs;
    let ran = run(fetch);
    assert!(ran.failed(FetchErrorKind::Connect).message.contains("is its own authority"), "{ran:?}");
    // Neither is it trusted under a name that it has not.
    let elsewhere = self_signed(&["files.example"], &content);
    let ran = run(elsewhere.fetch(&folder));
    assert!(ran.failed(FetchErrorKind::Connect).message.contains("not valid for name"), "{ran:?}");
    let nameless = self_signed(&[], &content);
    let ran = run(nameless.fetch(&folder));
    assert!(ran.failed(FetchErrorKind::Connect).message.contains("-addext subjectAltName"), "{ran:?}");
    assert!(folder.names().is_empty());
}

/// The certificate that `openssl req -x509` makes, and the one it makes with `CA:FALSE`.
#[test]
fn certificates_as_openssl_makes_them_are_taken() {
    let content = GeneratedContent::new(2 * PIECE, 1);
    for (extension, works) in [("subjectAltName=IP:127.0.0.1", true), ("basicConstraints=critical,CA:FALSE", false)] {
        let folder = Folder::new();
        let (key, certificate) = (folder.at("key.pem"), folder.at("cert.pem"));
        let made = std::process::Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
            ])
            .args(["-addext", extension])
            .arg("-keyout")
            .arg(&key)
            .arg("-out")
            .arg(&certificate)
            .output();
        let Ok(made) = made else {
            // Of a machine without it the test above shows the same.
            return;
        };
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let pem = std::fs::read_to_string(&certificate).unwrap();
        let served = content.clone();
        let der = CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
        let server = Secure::with(der, PrivateKeyDer::from_pem_file(&key).unwrap(), pem, move |request| served.answer(request));
        let target = Folder::new();
        let ran = run(server.fetch(&target));
        if works {
            ran.done();
            target.has_only(&content);
        } else {
            assert!(ran.failed(FetchErrorKind::Connect).message.contains("-addext subjectAltName"), "{ran:?}");
        }
    }
}

#[test]
fn a_redirect_to_http_is_followed_only_when_allowed() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let plain = TestServer::honest(&content);
    let away = plain.url("/file");
    let server = Secure::start(move |_| HttpReply::empty(302).header("location", away.clone()));
    let ran = run(server.fetch(&folder));
    assert!(ran.failed(FetchErrorKind::Answer).message.contains("from https to http"), "{ran:?}");
    assert_eq!(plain.requests().len(), 0);
    let mut fetch = server.fetch(&folder);
    fetch.allow_downgrade = true;
    run(fetch).done();
    folder.has_only(&content);
}

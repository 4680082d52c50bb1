//! TLS by an authority of our own, HTTP/2 by ALPN, and what is refused.

use crate::common::{Folder, PIECE, run, settings, sha256};
use bytes::Bytes;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rorqual_fetch::{Fetch, Kind};
use rorqual_testkit::http::{Content, End, Reply, Request, Server};
use rustls::pki_types::PrivatePkcs8KeyDer;
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
    fn start(answer: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority_key = KeyPair::generate().unwrap();
        let authority_pem = authority.self_signed(&authority_key).unwrap().pem();
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &Issuer::new(authority, authority_key)).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], PrivatePkcs8KeyDer::from(key.serialize_der()).into())
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

type Answer = dyn Fn(&Request) -> Reply + Send + Sync;

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

async fn send(reply: Reply, mut respond: h2::server::SendResponse<Bytes>) {
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
    let (content, folder) = (Content::new(40 * PIECE, 1), Folder::new());
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
    let (content, folder) = (Content::new(6 * PIECE, 1), Folder::new());
    let (served, first) = (content.clone(), AtomicBool::new(true));
    let server = Secure::start(move |request| {
        let reply = served.answer(request);
        if first.swap(false, Ordering::Relaxed) { reply.cut(3 * PIECE + 1, End::Keep) } else { reply }
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
    let server = Secure::start(|_| Reply::empty(200));
    let mut fetch = server.fetch(&folder);
    fetch.ca_certs.clear();
    let ran = run(fetch);
    assert!(ran.failed(Kind::Connect).message.contains("certificate"), "{ran:?}");
    assert!(ran.retries.is_empty());
    assert!(folder.names().is_empty());
}

#[test]
fn a_redirect_to_http_is_followed_only_when_allowed() {
    let (content, folder) = (Content::new(6 * PIECE, 1), Folder::new());
    let plain = Server::honest(&content);
    let away = plain.url("/file");
    let server = Secure::start(move |_| Reply::empty(302).header("location", away.clone()));
    let ran = run(server.fetch(&folder));
    assert!(ran.failed(Kind::Answer).message.contains("from https to http"), "{ran:?}");
    assert_eq!(plain.requests().len(), 0);
    let mut fetch = server.fetch(&folder);
    fetch.allow_downgrade = true;
    run(fetch).done();
    folder.has_only(&content);
}

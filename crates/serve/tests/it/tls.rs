//! TLS on a real socket, by a client that trusts one certificate only.

use crate::access::refused_by;
use crate::common::{Reached, config};
use crate::render::{all_places_are_free_by, endless, eventually};
use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use rorqual_serve::{Access, Config};
use rorqual_store::{Store, StoreSettings};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const NAME: &str = "logs.example";

struct Files {
    folder: TempDir,
    trusted: CertificateDer<'static>,
}

impl Files {
    fn new() -> Self {
        let folder = TempDir::new().expect("a folder");
        let trusted = certificate(&folder);
        Self { folder, trusted }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn access(&self) -> Access {
        Access {
            tls: Some((self.path("cert.pem"), self.path("key.pem"))),
            public_url: Some(format!("https://{NAME}")),
            ..Access::default()
        }
    }
}

/// Writes a new certificate with its key.
fn certificate(folder: &TempDir) -> CertificateDer<'static> {
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(vec![NAME.to_owned()]).expect("a certificate");
    fs::write(folder.path().join("cert.pem"), cert.pem()).expect("our folder");
    write_key(folder, &signing_key);
    cert.der().clone()
}

fn write_key(folder: &TempDir, key: &KeyPair) {
    let path = folder.path().join("key.pem");
    fs::write(&path, key.serialize_pem()).expect("our folder");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).expect("our file");
}

type Stream = StreamOwned<ClientConnection, TcpStream>;

fn connect(server: &Reached, trusted: &CertificateDer<'static>, protocols: &[&[u8]]) -> Stream {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
    let mut config = config.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let name = ServerName::try_from(NAME).expect("a name");
    let socket = TcpStream::connect(server.address).expect("it listens");
    socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a time");
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).expect("a client"), socket)
}

fn ask(stream: &mut Stream, request: &str) -> std::io::Result<String> {
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

fn head(server: &Reached, line: &str, headers: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: {NAME}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n{headers}\r\n", server.token())
}

#[test]
fn over_tls_an_entry_of_the_store_is_read_and_encrypted() {
    let files = Files::new();
    let store = Store::init(&StoreSettings::new(files.path("store")), None, None).expect("a store");
    let config = Config { access: files.access(), store: Some(store), ..config(Duration::from_secs(60)) };
    let server = Reached::with(config);
    // Longer than the blocks of a reader.
    let content: String = (0..400_000).map(|number| format!("{number}\n")).collect();
    let put = head(&server, "PUT /store/numbers", &format!("Content-Length: {}\r\n", content.len())) + &content;
    let answer = ask(&mut connect(&server, &files.trusted, &[]), &put).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    for (range, part) in [("", &content[..]), ("Range: bytes=5-2000000\r\n", &content[5..=2_000_000])] {
        let answer =
            ask(&mut connect(&server, &files.trusted, &[]), &head(&server, "GET /store/numbers", range)).expect("an answer");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a head");
        assert!(body == part, "{} bytes", body.len());
    }
}

#[test]
fn over_tls_it_answers_and_the_cookie_is_for_tls_alone() {
    let files = Files::new();
    let server = Reached::start(files.access());
    let token = server.token();
    let entered = ask(
        &mut connect(&server, &files.trusted, &[]),
        &format!("GET /?token={token} HTTP/1.1\r\nHost: {NAME}\r\nConnection: close\r\n\r\n"),
    );
    let entered = entered.expect("an answer");
    let cookie = format!("set-cookie: __Host-rorqual_{}=", server.address.port());
    assert!(entered.starts_with("HTTP/1.1 303") && entered.contains(&cookie), "{entered}");
    assert!(entered.contains("; HttpOnly; SameSite=Strict; Path=/; Secure\r\n"), "{entered}");
    let get = |headers: &str| {
        ask(&mut connect(&server, &files.trusted, &[]), &head(&server, "GET /api/server", headers)).expect("an answer")
    };
    let answer = get(&format!("Origin: https://{NAME}\r\n"));
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("strict-transport-security: "), "{answer}");
    assert!(get(&format!("Origin: http://{NAME}\r\n")).contains("foreign_origin"));
    // In the clear there is no answer.
    let plain = server.raw(head(&server, "GET /api/server", "").as_bytes());
    assert!(!plain.contains("HTTP/"), "{plain:?}");
}

#[test]
fn only_http_1_1_is_spoken() {
    let files = Files::new();
    let server = Reached::start(files.access());
    let mut both = connect(&server, &files.trusted, &[b"h2", b"http/1.1"]);
    assert!(ask(&mut both, &head(&server, "GET /api/server", "")).expect("an answer").starts_with("HTTP/1.1 200"));
    assert_eq!(both.conn.alpn_protocol(), Some(&b"http/1.1"[..]));
    let mut newer = connect(&server, &files.trusted, &[b"h2"]);
    assert!(ask(&mut newer, &head(&server, "GET /api/server", "")).is_err());
}

#[test]
fn a_changed_certificate_is_shown_after_a_reload() {
    let files = Files::new();
    let server = Reached::start(files.access());
    let works = |trusted| ask(&mut connect(&server, trusted, &[]), &head(&server, "GET /api/server", "")).is_ok();
    assert!(works(&files.trusted));
    // A key that is not that of the certificate changes nothing.
    let stranger = KeyPair::generate().expect("a key");
    write_key(&files.folder, &stranger);
    let said = server.reload.reload().expect_err("they do not belong together");
    assert!(said.contains("key.pem") && works(&files.trusted), "{said}");
    let newer = certificate(&files.folder);
    assert!(works(&files.trusted) && !works(&newer));
    server.reload.reload().expect("a fit pair");
    assert!(works(&newer) && !works(&files.trusted));
}

#[test]
fn files_that_are_unfit_are_told() {
    let files = Files::new();
    let key = files.path("key.pem");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o644)).expect("our file");
    let said = refused_by(files.access());
    assert!(said.contains("key.pem") && said.contains("chmod 600"), "{said}");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("our file");
    fs::write(&key, "no key").expect("our file");
    let said = refused_by(files.access());
    assert!(said.contains("\"tls_key\"") && said.contains("key.pem"), "{said}");
    fs::write(files.path("cert.pem"), "").expect("our file");
    let said = refused_by(files.access());
    assert!(said.contains("\"tls_cert\"") && said.contains("no certificate"), "{said}");
    fs::remove_file(files.path("cert.pem")).expect("our file");
    assert!(refused_by(files.access()).contains("cert.pem"));
}

#[test]
fn handshakes_that_never_end_do_not_hold_the_server() {
    let files = Files::new();
    let server = Reached::start(files.access());
    let started = Instant::now();
    // A ClientHello that is announced, and does not come.
    let stalled: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).expect("it listens");
            stream.write_all(&[0x16, 3, 1, 2, 0, 1]).expect("it listens");
            stream
        })
        .collect();
    let answer = ask(&mut connect(&server, &files.trusted, &[]), &head(&server, "GET /api/server", ""));
    assert!(answer.expect("an answer").starts_with("HTTP/1.1 200"));
    // Did they not give way, each round of 16 places would take the ten seconds of a handshake: two
    // minutes.
    assert!(started.elapsed() < Duration::from_secs(60), "after {:?}", started.elapsed());
    drop(stalled);
}

#[test]
fn a_reader_that_leaves_by_tls_stops_its_rendering() {
    let files = Files::new();
    let server = Reached::rendering(files.access(), endless());
    for name in ["silent.txt", "endless.txt"] {
        let mut stream = connect(&server, &files.trusted, &[]);
        stream.write_all(head(&server, &format!("GET /render/{name}"), "").as_bytes()).expect("it listens");
        let places = || ask(&mut connect(&server, &files.trusted, &[]), &head(&server, "GET /render", "")).unwrap_or_default();
        eventually("it is rendered", || places().contains("\"taken\":1"));
        stream.conn.send_close_notify();
        let _ = stream.flush();
        drop(stream);
        all_places_are_free_by(places);
    }
}

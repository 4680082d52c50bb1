//! `rorqual serve` with TLS: memory of many connections in their worst states, and uploads above
//! the memory.

use crate::client::{Encrypted, Server, least_memory, read_answer};
use crate::common::{MIB, TestFolder, eventually, rorqual};
use crate::crowd::REPORTS_EACH;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rorqual_testkit::generate::{DistinctLog, write_lines};
use rustls::{ClientConfig, RootCertStore};
use serde_json::json;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::thread;

const SAMPLE: &[u8] = include_bytes!("../../../../samples/apache_combined.log");

/// Clients of a server, one for each place and one for the observer.
const CLIENTS: usize = 138;

/// Handshakes that do not end, more than may be at once.
const HANDSHAKES: usize = 48;

/// Connections with large buffers are those that come first.
const WIDE: usize = 28;

/// A server with TLS, in the least memory that it starts with, and that memory.
pub(crate) fn tight(args: &[&str]) -> (Server, u64) {
    let folder = TestFolder::new();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
    let (certificate, key) = (folder.file("cert.pem", cert.pem()), folder.file("key.pem", signing_key.serialize_pem()));
    std::fs::set_permissions(&key, Permissions::from_mode(0o600)).expect("our file");
    let args = [args, &["--tls-cert", &certificate, "--tls-key", &key]].concat();
    let (memory, bytes) = least_memory(&args);
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let trust = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().expect("versions");
    let trust = trust.with_root_certificates(roots).with_no_client_auth();
    // The files are read at the start, and need not stay.
    let run = rorqual(&["serve", "--port", "0", "--memory", &memory]).args(&args);
    (Server::trusted_by(run, Some(Arc::new(trust))), bytes)
}

/// The head of a request on a connection that stays, without its end.
fn kept(server: &Server, method: &str, target: &str) -> String {
    server.head(method, target).replace("Connection: close\r\n", "")
}

/// A connection that stays, and has shown the token.
fn known(server: &Server) -> Encrypted {
    let mut stream = server.encrypted();
    stream.write_all(format!("{}\r\n", kept(server, "GET", "/api/sessions/none")).as_bytes()).expect("it listens");
    let mut status = [0; 12];
    stream.read_exact(&mut status).expect("an answer");
    assert!(status.ends_with(b"404"), "{}", String::from_utf8_lossy(&status));
    stream
}

/// Says as much as the sockets take, which may be all that ever is.
fn say(stream: &mut Encrypted, bytes: &[u8]) {
    stream.sock.set_nonblocking(true).expect("a socket");
    let _ = stream.write_all(bytes);
    let _ = stream.flush();
}

/// A head as long as the connection's buffer, without its end.
fn endless_head(server: &Server, number: usize) -> Encrypted {
    let mut stream = known(server);
    let bytes = if number < WIDE { 250 << 10 } else { 15 << 10 };
    // Where it is no longer waited for, the server has closed it.
    let _ = stream.write_all(format!("{}X: {}", kept(server, "GET", "/api/server"), "x".repeat(bytes)).as_bytes());
    stream
}

/// A body of the greatest length, without its last byte.
fn stalled_body(server: &Server) -> Encrypted {
    let (mut stream, length) = (known(server), 150 << 10);
    let head = kept(server, "POST", "/api/sessions");
    say(&mut stream, format!("{head}Content-Length: {length}\r\n\r\n{}", " ".repeat(length - 1)).as_bytes());
    stream
}

/// Answers far above the buffers, which nobody reads.
fn unread_answers(server: &Server, id: &str) -> Encrypted {
    let mut stream = known(server);
    let request = format!("{}\r\n", kept(server, "GET", &format!("/api/sessions/{id}")));
    say(&mut stream, request.repeat(REPORTS_EACH).as_bytes());
    stream
}

/// A handshake of the greatest length, without its last byte.
fn half_handshake(server: &Server) -> TcpStream {
    const RECORD_BYTES: usize = 16 << 10;
    let hello = [&[1, 0, 0xff, 0xff][..], &[0; 0xffff]].concat();
    let mut stream = server.connect();
    for record in hello[..hello.len() - 1].chunks(RECORD_BYTES) {
        let length = u16::try_from(record.len()).expect("a short record").to_be_bytes();
        // Another one may have taken its place by now.
        let _ = stream.write_all(&[&[0x16, 3, 1], &length[..], record].concat());
    }
    stream
}

#[test]
fn connections_in_their_worst_states_hold_what_they_are_counted_with() {
    let connections = (CLIENTS + 1).to_string();
    let (server, memory) = tight(&["--connections", &connections, "--sessions", "1", "--threads", "1"]);
    // Of many values: its report is long.
    let id = server.session_of(SAMPLE.len());
    assert_eq!(server.put(&id, 0, SAMPLE).status, 200);
    let client = |number: usize| match number % 3 {
        0 => endless_head(&server, number),
        1 => stalled_body(&server),
        _ => unread_answers(&server, &id),
    };
    let clients: Vec<Encrypted> = (0..CLIENTS).map(client).collect();
    let handshakes: Vec<TcpStream> = (0..HANDSHAKES).map(|_| half_handshake(&server)).collect();
    for head in clients.iter().step_by(3) {
        let address = head.sock.local_addr().expect("an address");
        eventually("its head is read", || (server.unread_bytes(address) == 0).then_some(()));
    }
    eventually("all tickets are taken", || {
        let vitals = server.vitals();
        let all_taken = |name: &str| vitals[name]["taken"] == vitals[name]["places"];
        (all_taken("answers") && all_taken("bodies")).then_some(())
    });
    server.within(memory);
    drop((clients, handshakes));
    eventually("all is given back, but by the one that asks", || {
        let vitals = server.vitals();
        let free = |name: &str| vitals[name]["taken"] == 0;
        (free("answers") && free("bodies") && vitals["connections"]["known"] == 1).then_some(())
    });
    assert_eq!(server.live(&id)["report"]["complete"], true);
    server.within(memory);
}

#[test]
fn uploads_far_above_the_memory_come_to_their_ends() {
    const UPLOADS: u64 = 4;
    const TIMES: u64 = 6;
    let (server, memory) = tight(&["--sessions", "4", "--threads", "2"]);
    // More distinct values than a session's share has room for.
    let mut block = Vec::new();
    let lines = write_lines(&mut DistinctLog::new(24 * MIB, 3), 24 * MIB, &mut block).expect("a Vec takes everything").lines;
    let bytes = block.len() as u64 * TIMES;
    assert!(bytes * UPLOADS > memory, "{} MiB", memory / MIB);
    let upload = || {
        let id = server.session(&json!({"name": "test.log", "size": bytes}));
        let mut stream = server.encrypted();
        let head = server.head("PUT", &format!("/api/sessions/{id}/data"));
        stream.write_all(format!("{head}Content-Length: {bytes}\r\n\r\n").as_bytes()).expect("it listens");
        (0..TIMES).for_each(|_| stream.write_all(&block).expect("it listens"));
        assert_eq!(read_answer(&mut stream).json()["state"], "finished");
        assert_eq!(server.live(&id)["report"]["lines"]["parsed"], lines * TIMES);
    };
    thread::scope(|scope| {
        for _ in 0..UPLOADS {
            scope.spawn(upload);
        }
    });
    server.within(memory);
}

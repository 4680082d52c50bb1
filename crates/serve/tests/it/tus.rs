//! tus 1.0: what a client that knows it may ask, and what it is told.

use crate::wire::{Server, log};
use rorqual_digest::{Algorithm, DigestForm, Hasher};
use std::io::Write;

const TUS: &str = "Tus-Resumable: 1.0.0";
const PART: &str = "Content-Type: application/offset+octet-stream";

/// The header of a part's checksum.
pub(crate) fn checksum(name: &str, part: &[u8]) -> String {
    let mut hasher = Hasher::new(if name == "sha1" { Algorithm::Sha1 } else { Algorithm::Sha256 });
    hasher.update(part);
    format!("Upload-Checksum: {name} {}", hasher.finish().encode(DigestForm::Base64))
}

/// A new upload's id.
fn create(server: &Server, headers: &[&str]) -> String {
    let answer = server.ask("POST /api/tus/", &[&[TUS], headers].concat(), b"");
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.header("location").and_then(|location| location.strip_prefix("/api/tus/")).expect("an address").to_owned()
}

#[test]
fn a_server_says_what_it_speaks() {
    let server = Server::start();
    for target in ["/api/tus", "/api/tus/", "/api/tus/none"] {
        let answer = server.ask(&format!("OPTIONS {target}"), &[], b"");
        assert_eq!(answer.status, 204);
        for (name, value) in [
            ("tus-resumable", "1.0.0"),
            ("tus-version", "1.0.0"),
            ("tus-extension", "creation,creation-defer-length,creation-with-upload,checksum,termination"),
            ("tus-max-size", "9007199254740991"),
            ("tus-checksum-algorithm", "sha1,sha256"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name} of {target}");
        }
    }
    for version in [&[][..], &["Tus-Resumable: 0.2.2"]] {
        let answer = server.ask("POST /api/tus", &[version, &["Upload-Length: 1"]].concat(), b"");
        answer.refused(412, "tus_version");
        assert_eq!((answer.header("tus-version"), answer.header("tus-resumable")), (Some("1.0.0"), Some("1.0.0")));
    }
    let wrong = server.ask("DELETE /api/tus", &[TUS], b"");
    wrong.refused(405, "method_not_allowed");
    assert_eq!(wrong.header("allow"), Some("OPTIONS, POST"));
}

#[test]
fn an_upload_is_made_asked_for_and_ended() {
    let server = Server::start();
    let log = log(1_000);
    let length = format!("Upload-Length: {}", log.len());
    // access.log, and a key without a value.
    let metadata = "filename YWNjZXNzLmxvZw==,is_confidential";
    let id = create(&server, &[&length, &format!("Upload-Metadata: {metadata}")]);
    assert_eq!(server.live(&id)["session"]["name"], "access.log");
    let (start, rest) = log.split_at(3_001);
    let patch = |offset: usize, part: &[u8]| {
        server.ask(&format!("PATCH /api/tus/{id}"), &[TUS, PART, &format!("Upload-Offset: {offset}")], part)
    };
    assert_eq!(patch(0, start).status, 204);
    let head = server.ask(&format!("HEAD /api/tus/{id}"), &[TUS], b"");
    assert_eq!(head.status, 200);
    assert_eq!((head.header("upload-offset"), head.header("cache-control")), (Some("3001"), Some("no-store")));
    assert_eq!((head.header("upload-metadata"), head.header("upload-length")), (Some(metadata), length.split(' ').nth(1)));
    assert_eq!(patch(0, start).refused(409, "offset_mismatch")["offset"], 3_001);
    let head_of_override = server.ask(&format!("POST /api/tus/{id}"), &[TUS, "X-HTTP-Method-Override: HEAD"], b"");
    assert_eq!(head_of_override.header("upload-offset"), Some("3001"));
    let overridden = [TUS, PART, "Upload-Offset: 3001", "X-HTTP-Method-Override: PATCH"];
    assert_eq!(server.ask(&format!("POST /api/tus/{id}"), &overridden, rest).status, 204);
    let head = server.ask(&format!("HEAD /api/tus/{id}"), &[TUS], b"");
    assert_eq!(head.header("upload-offset"), Some(log.len().to_string().as_str()));
    assert_eq!(server.live(&id)["report"]["lines"]["parsed"], 1_000);
    assert_eq!(server.ask(&format!("DELETE /api/tus/{id}"), &[TUS], b"").status, 204);
    server.ask(&format!("PATCH /api/tus/{id}"), &[TUS, PART, "Upload-Offset: 0"], b"").refused(404, "no_session");
    assert_eq!(server.ask(&format!("HEAD /api/tus/{id}"), &[TUS], b"").status, 404);
}

#[test]
fn bad_requests_are_told() {
    let server = Server::start();
    for headers in [
        &[][..],
        &["Upload-Length: 1", "Upload-Defer-Length: 1"],
        &["Upload-Defer-Length: 2"],
        &["Upload-Length: -1"],
        &["Upload-Length: +1"],
        &["Upload-Length: 18446744073709551616"],
        &["Upload-Length: 1", "Upload-Metadata: filename !"],
        &["Upload-Length: 1", "Upload-Checksum: md5 1B2M2Y8AsgTpgAmY7PhCfg=="],
    ] {
        server.ask("POST /api/tus", &[&[TUS], headers].concat(), b"").refused(400, "bad_request");
    }
    server.ask("POST /api/tus", &[TUS, "Upload-Length: 9007199254740992"], b"").refused(413, "too_long");
    let id = create(&server, &["Upload-Length: 100"]);
    let target = format!("PATCH /api/tus/{id}");
    server.ask(&target, &[TUS, "Upload-Offset: 0"], b"x").refused(415, "bad_request");
    server.ask(&target, &[TUS, PART], b"x").refused(400, "bad_request");
    server.ask(&target, &[TUS, PART, "Upload-Offset: x"], b"x").refused(400, "bad_request");
    server.ask(&target, &[TUS, PART, "Upload-Offset: 0", "Upload-Length: 99"], b"x").refused(400, "bad_request");
    server.ask(&target, &[TUS, PART, "Upload-Offset: 0"], &[b'x'; 101]).refused(413, "too_long");
    assert_eq!(server.live(&id)["session"]["offset"], 0);
    server.forget(&id);
    // A size that was put off is told by who has the upload, and is one that its part fits.
    let id = create(&server, &["Upload-Defer-Length: 1"]);
    let target = format!("PATCH /api/tus/{id}");
    server.ask(&target, &[TUS, PART, "Upload-Offset: 1", "Upload-Length: 100"], b"x").refused(409, "offset_mismatch");
    server.ask(&target, &[TUS, PART, "Upload-Offset: 0", "Upload-Length: 99"], &[b'x'; 100]).refused(413, "too_long");
    let head = server.ask(&format!("HEAD /api/tus/{id}"), &[TUS], b"");
    assert_eq!((head.header("upload-defer-length"), head.header("upload-length")), (Some("1"), None));
    assert_eq!(server.ask(&format!("POST /api/sessions/{id}/cancel"), &[], b"").status, 200);
    assert_eq!(server.ask(&format!("HEAD /api/tus/{id}"), &[TUS], b"").status, 410);
    server.ask(&target, &[TUS, PART, "Upload-Offset: 0"], b"x").refused(410, "finished");
    // A log of nothing is an upload of nothing.
    let id = create(&server, &["Upload-Length: 0"]);
    assert!(["finished", "failed"].contains(&server.live(&id)["session"]["state"].as_str().expect("a state")));
}

#[test]
fn a_part_with_a_wrong_checksum_is_not_counted() {
    let server = Server::start();
    let log = log(20_000);
    let id = create(&server, &[&format!("Upload-Length: {}", log.len())]);
    let (start, rest) = log.split_at(1_000_001);
    let target = format!("PATCH /api/tus/{id}");
    for name in ["sha1", "sha256"] {
        let wrong = checksum(name, &start[1..]);
        let answer = server.ask(&target, &[TUS, PART, "Upload-Offset: 0", &wrong], start);
        assert_eq!(answer.refused(460, "checksum_mismatch")["offset"], 0);
        let live = server.live(&id);
        assert_eq!((&live["session"]["offset"], &live["report"]), (&0.into(), &serde_json::Value::Null));
    }
    // Of unknown length, and right.
    let right = checksum("sha1", start);
    assert_eq!(server.ask_chunked(&target, &[TUS, PART, "Upload-Offset: 0", &right], start, 7_777).status, 204);
    let at = format!("Upload-Offset: {}", start.len());
    server.ask(&target, &[TUS, PART, &at, &checksum("sha256", start)], rest).refused(460, "checksum_mismatch");
    // A part that breaks off was not checked, and is not counted either.
    let mut stream = server.connect();
    let length = format!("Content-Length: {}", rest.len());
    let head = server.head(&target, &[TUS, PART, &at, &checksum("sha256", rest), &length]);
    stream.write_all(format!("{head}\r\n").as_bytes()).expect("it listens");
    stream.write_all(&rest[..rest.len() - 1]).expect("it listens");
    server.when_state(&id, "receiving");
    server.ask(&target, &[TUS, PART, &at], b"x").refused(423, "busy");
    drop(stream);
    assert_eq!(server.when_state(&id, "interrupted")["session"]["offset"], start.len());
    assert_eq!(server.ask(&target, &[TUS, PART, &at, &checksum("sha256", rest)], rest).status, 204);
    assert_eq!(server.report(&id)["lines"]["parsed"], 20_000);
}

#[test]
fn a_part_with_a_checksum_has_a_limit() {
    let server = Server::start();
    let id = create(&server, &["Upload-Defer-Length: 1"]);
    let target = format!("PATCH /api/tus/{id}");
    let long = vec![b'x'; (16 << 20) + 1];
    let sum = checksum("sha1", &long);
    let headers = [TUS, PART, "Upload-Offset: 0", &sum];
    assert_eq!(server.ask(&target, &headers, &long).refused(413, "part_too_long")["size"], 16 << 20);
    assert_eq!(server.ask_chunked(&target, &headers, &long, 1 << 20).refused(413, "part_too_long")["size"], 16 << 20);
    let live = server.live(&id);
    assert_eq!((&live["session"]["offset"], &live["session"]["state"]), (&0.into(), &"waiting".into()));
    // As much as there may be, of lines; and the end of it, of which the size tells.
    let line = log(1);
    let most: Vec<u8> = line.iter().copied().cycle().take(16 << 20).collect();
    let sum = checksum("sha256", &most);
    assert_eq!(server.ask(&target, &[TUS, PART, "Upload-Offset: 0", &sum], &most).status, 204);
    let (at, size) = (format!("Upload-Offset: {}", most.len()), format!("Upload-Length: {}", most.len()));
    assert_eq!(server.ask(&target, &[TUS, PART, &at, &size], b"").status, 204);
    assert_eq!(server.report(&id)["lines"]["total"], most.len().div_ceil(line.len()));
}

#[test]
fn a_connection_that_is_dropped_again_and_again_loses_nothing() {
    let server = Server::start();
    let log = log(20_000);
    let id = create(&server, &[&format!("Upload-Length: {}", log.len())]);
    let target = format!("PATCH /api/tus/{id}");
    let offset = || {
        let head = server.ask(&format!("HEAD /api/tus/{id}"), &[TUS], b"");
        head.header("upload-offset").and_then(|offset| offset.parse::<usize>().ok()).expect("an offset")
    };
    for time in 1..=60 {
        let at = offset();
        let mut stream = server.connect();
        let head =
            server.head(&target, &[TUS, PART, &format!("Upload-Offset: {at}"), &format!("Content-Length: {}", log.len() - at)]);
        stream.write_all(format!("{head}\r\n").as_bytes()).expect("it listens");
        stream.write_all(&log[at..(at + 13_331).min(log.len() - 1)]).expect("it listens");
        server.when(&id, "it has begun", |live| live["session"]["offset"].as_u64() > Some(at as u64));
        drop(stream);
        server.when_state(&id, "interrupted");
        assert!(offset() > at, "{time}");
    }
    let at = offset();
    assert_eq!(server.ask(&target, &[TUS, PART, &format!("Upload-Offset: {at}")], &log[at..]).status, 204);
    assert_eq!(server.report(&id)["lines"]["parsed"], 20_000);
}

//! The store over HTTP.

use crate::common::{Running, config, exchange, send_head};
use rorqual_digest::{Algorithm, Hasher};
use rorqual_serve::Config;
use rorqual_store::{Store, StoreSettings};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// The header as docs/api.md has it.
const PUTS_MAX: usize = 4;

struct Served {
    running: Running,
    store: Store,
    folder: TempDir,
}

impl Served {
    fn new() -> Self {
        Self::bounded(64 << 20)
    }

    fn bounded(bytes_max: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::init(&StoreSettings::new(folder.path()), None, Some(bytes_max)).unwrap();
        let config = Config { store: Some(store.clone()), ..config(Duration::from_secs(60)) };
        Self { running: Running::of(config), store, folder }
    }

    fn ask(&self, line: &str, headers: &str, body: &[u8]) -> (u16, String, Vec<u8>) {
        let (head, body) = exchange(&self.running.url, line, headers, body);
        (head[9..12].parse().unwrap(), head.to_ascii_lowercase(), body)
    }

    /// Each put has its file from its place on, and nothing is left of it but its entry.
    fn when_temp_files(&self, number: usize) {
        let temp_files = || std::fs::read_dir(self.folder.path().join("tmp")).map_or(0, Iterator::count);
        let deadline = Instant::now() + PATIENCE;
        while temp_files() != number {
            assert!(Instant::now() < deadline, "there are {} files", temp_files());
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Bytes in which every stretch of four is another one.
fn content(length: usize) -> Vec<u8> {
    (0..length.div_ceil(4) as u32).flat_map(u32::to_le_bytes).take(length).collect()
}

fn sha256(bytes: &[u8]) -> String {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    hasher.update(bytes);
    hasher.finish().to_string()
}

fn json(body: &[u8]) -> Value {
    serde_json::from_slice(body).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(body)))
}

fn code(body: &[u8]) -> String {
    json(body)["error"]["code"].as_str().unwrap_or_default().to_owned()
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[test]
fn what_is_put_comes_back_by_name_and_by_digest_whole_and_in_parts() {
    let served = Served::new();
    // Longer than a stand-in, and than a socket's buffers.
    let bytes = content(9_000_001);
    let digest = sha256(&bytes);
    let (status, head, body) = served.ask("PUT /store/some/file.bin", "", &bytes);
    assert_eq!((status, json(&body)["digest"].as_str()), (201, Some(&*digest)), "{head}");
    assert_eq!(header(&head, "location"), Some(&*format!("/store/{digest}")));
    // It is there already.
    assert_eq!(served.ask("POST /store", "", &bytes).0, 200);
    for key in ["some/file.bin", &digest, &digest[..8]] {
        let (status, head, body) = served.ask(&format!("GET /store/{key}"), "", b"");
        assert_eq!(status, 200);
        assert_eq!(header(&head, "content-length"), Some("9000001"));
        assert_eq!(header(&head, "etag"), Some(&*format!("\"{digest}\"")));
        assert!(body == bytes, "{key}: {} bytes", body.len());
        let (status, head, body) = served.ask(&format!("HEAD /store/{key}"), "", b"");
        assert_eq!((status, header(&head, "content-length"), body.len()), (200, Some("9000001"), 0));
    }
    for (range, part) in [("0-0", 0..1), ("1048575-1048576", 1_048_575..1_048_577), ("8999990-", 8_999_990..9_000_001)] {
        let (status, head, body) = served.ask("GET /store/some/file.bin", &format!("Range: bytes={range}\r\n"), b"");
        assert_eq!(status, 206);
        assert_eq!(header(&head, "content-range"), Some(&*format!("bytes {}-{}/9000001", part.start, part.end - 1)));
        assert!(body == bytes[part], "{range}");
    }
    let (status, head, body) = served.ask("GET /store/some/file.bin", "Range: bytes=9000001-\r\n", b"");
    assert_eq!((status, header(&head, "content-range"), body.len()), (416, Some("bytes */9000001"), 0));
    let etag = format!("If-None-Match: \"{digest}\"\r\n");
    assert_eq!(served.ask("GET /store/some/file.bin", &etag, b"").0, 304);
    let (status, unchanged, _) = served.ask("HEAD /store/some/file.bin", &etag, b"");
    assert_eq!(status, 304);
    // The length of what a GET would get, or none: a cache would take 0 for it.
    let length = unchanged.lines().find_map(|line| line.strip_prefix("content-length: "));
    assert!(length.is_none_or(|length| length == bytes.len().to_string()), "{unchanged}");
    assert_eq!(served.ask("GET /store/some/file.bin", "If-Match: \"other\"\r\n", b"").0, 412);
}

#[test]
fn answers_follow_each_other_on_one_connection() {
    let served = Served::new();
    let (first, second) = (content(5_000_000), b"short".to_vec());
    served.ask("PUT /store/first", "", &first);
    served.ask("PUT /store/second", "", &second);
    served.ask("PUT /store/empty", "", b"");
    let mut stream = send_head(&served.running.url, "HEAD /store/first", "", 0);
    // The head says that the connection closes, so all others go before it on another one.
    stream.read_to_end(&mut Vec::new()).unwrap();
    let (address, token) = served.running.url.strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    let order = ["HEAD first", "GET first", "GET empty", "GET second", "GET missing", "GET first"];
    for (at, asked) in order.iter().enumerate() {
        let (method, key) = asked.split_once(' ').unwrap();
        let close = if at + 1 == order.len() { "Connection: close\r\n" } else { "" };
        write!(stream, "{method} /store/{key} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{close}\r\n")
            .unwrap();
    }
    let mut answers = Vec::new();
    stream.read_to_end(&mut answers).unwrap();
    let mut rest = &answers[..];
    for asked in order {
        let end = rest.windows(4).position(|bytes| bytes == b"\r\n\r\n").unwrap() + 4;
        let head = String::from_utf8(rest[..end].to_vec()).unwrap().to_ascii_lowercase();
        let length: usize = header(&head, "content-length").unwrap().parse().unwrap();
        rest = &rest[end..];
        let expected: &[u8] = match asked {
            "GET first" => &first,
            "GET second" => &second,
            "GET missing" => &rest[..length],
            _ => b"",
        };
        assert!(rest.starts_with(expected), "{asked}");
        rest = &rest[expected.len()..];
    }
    assert!(rest.is_empty());
}

#[test]
fn a_put_with_another_digest_or_without_its_end_leaves_nothing() {
    let served = Served::new();
    let bytes = content(3_000_000);
    let (status, _, body) = served.ask(&format!("PUT /store/{}", sha256(b"other")), "", &bytes);
    assert_eq!((status, code(&body)), (422, "digest_mismatch".to_owned()));
    // The SHA-256 of nothing.
    let header = "Repr-Digest: sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:\r\n";
    let (status, _, body) = served.ask("PUT /store/name", header, &bytes);
    assert_eq!((status, code(&body)), (422, "digest_mismatch".to_owned()));
    assert_eq!(served.ask("PUT /store/name", header, b"").0, 201);
    let digest = sha256(&bytes);
    assert_eq!(served.ask(&format!("PUT /store/{digest}"), "", &bytes).0, 201);
    let mut stream = send_head(&served.running.url, "PUT /store/broken", "", 5_000_000);
    stream.write_all(&bytes).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 400") && answer.contains("interrupted"), "{answer}");
    // One that vanishes gets no answer; its file goes all the same.
    let vanishing = send_head(&served.running.url, "PUT /store/broken", "", 5_000_000);
    served.when_temp_files(1);
    drop(vanishing);
    served.when_temp_files(0);
    assert_eq!(served.ask("GET /store/broken", "", b"").0, 404);
    assert_eq!(served.store.usage().unwrap().entries, 2);
}

#[test]
fn leases_come_by_header_and_keep_the_entry() {
    let served = Served::new();
    let (status, head, _) = served.ask("PUT /store/kept", "Lease-Seconds: 3600\r\nLease-Holder: job 7\r\n", b"kept");
    let id = header(&head, "lease-id").unwrap().to_owned();
    assert_eq!(status, 201);
    assert_eq!(code(&served.ask("DELETE /store/kept", "", b"").2), "held");
    let listed = json(&served.ask("GET /leases", "", b"").2);
    assert_eq!((listed["leases"][0]["id"].as_str(), listed["leases"][0]["holder"].as_str()), (Some(&*id), Some("job 7")));
    let before = listed["leases"][0]["expires"].as_f64().unwrap();
    let (status, _, body) = served.ask(&format!("POST /leases/{id}"), "Lease-Seconds: 7200\r\n", b"");
    let after = json(&body)["expires"].as_f64().unwrap();
    assert!(status == 200 && after - before > 3_500.0, "{before} {after}");
    assert_eq!(served.ask(&format!("DELETE /leases/{id}"), "", b"").0, 204);
    assert_eq!(code(&served.ask(&format!("DELETE /leases/{id}"), "", b"").2), "no_lease");
    assert_eq!(served.ask("GET /store/kept", "Lease-Seconds: soon\r\n", b"").0, 400);
    let (_, head, _) = served.ask("GET /store/kept", "Lease-Seconds: 60\r\n", b"");
    assert!(header(&head, "lease-id").is_some());
    assert_eq!(served.ask("DELETE /store/kept?force=true", "If-Match: \"other\"\r\n", b"").0, 412);
    assert_eq!(served.ask("DELETE /store/kept?force=true", "", b"").0, 204);
    assert_eq!(served.ask("GET /store/kept", "", b"").0, 404);
}

#[test]
fn what_does_not_fit_is_refused_and_the_list_says_what_is_there() {
    let served = Served::bounded(1_000_000);
    let (status, _, body) = served.ask("PUT /store/large", "", &content(2_000_000));
    assert_eq!((status, code(&body)), (507, "store_full".to_owned()));
    for number in 0..300_u32 {
        served.ask(&format!("PUT /store/n{number}"), "", &number.to_le_bytes());
    }
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = json(&served.ask(&format!("GET /store{after}"), "", b"").2);
        assert_eq!((page["count"].as_u64(), page["bytes"].as_u64()), (Some(300), Some(1_200)));
        seen.extend(page["entries"].as_array().unwrap().iter().map(|entry| entry["names"][0].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => after = format!("?after={next}"),
            None => break,
        }
    }
    seen.sort();
    let mut expected: Vec<String> = (0..300).map(|number| format!("n{number}")).collect();
    expected.sort();
    assert_eq!(seen, expected);
    for name in ["%00", "a%0Ab", &"n".repeat(256)] {
        assert_eq!(served.ask(&format!("PUT /store/{name}"), "", b"x").0, 400, "{name}");
    }
    // A name is a name: no path leads out of the store.
    let out = format!("out-of-{}", served.folder.path().file_name().unwrap().display());
    assert_eq!(served.ask(&format!("PUT /store/..%2F..%2F{out}"), "", b"x").0, 201);
    assert!(!served.folder.path().parent().unwrap().join(&out).exists());
    assert_eq!(served.ask(&format!("GET /store/..%2F..%2F{out}"), "", b"").2, b"x");
}

#[test]
fn a_slow_put_holds_one_place_and_further_ones_are_told_to_come_again() {
    let served = Served::new();
    let mut slow: Vec<_> = (0..PUTS_MAX)
        .map(|number| {
            let mut stream = send_head(&served.running.url, &format!("PUT /store/slow{number}"), "", 2);
            stream.write_all(b"a").unwrap();
            stream
        })
        .collect();
    // Each has its file once it has its place.
    served.when_temp_files(PUTS_MAX);
    let (status, head, body) = served.ask("PUT /store/late", "", b"x");
    assert_eq!((status, code(&body), header(&head, "retry-after")), (503, "store_busy".to_owned(), Some("1")));
    // Readers are not held up.
    assert_eq!(served.ask("GET /store", "", b"").0, 200);
    for stream in &mut slow {
        stream.write_all(b"b").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 20"), "{answer}");
    }
    assert_eq!(served.ask("PUT /store/late", "", b"x").0 / 100, 2);
}

#[test]
fn names_that_are_no_text_are_refused_as_all_else() {
    let served = Served::new();
    for line in [
        "GET /store/%ff",
        "POST /leases/%ff",
        "DELETE /leases/%ff",
        "PUT /api/upload/%ff",
        "HEAD /api/tus/%ff",
        "PATCH /api/tus/%ff",
    ] {
        let (status, head, body) = served.ask(line, "Tus-Resumable: 1.0.0\r\n", b"");
        assert_eq!(status, 400, "{line}: {head}");
        if !line.starts_with("HEAD") {
            assert_eq!(code(&body), "bad_request", "{line}");
        }
    }
}

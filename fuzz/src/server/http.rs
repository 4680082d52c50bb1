//! The whole surface of a server: whatever is sent, there is a documented answer or none, without
//! the token nothing but refusals, and nothing is held afterwards.

use super::{Choices, config, log, pieces};
use rorqual_digest::Algorithm;
use rorqual_serve::Config;
use rorqual_serve::fuzzing::{ClientEnding, Surface};
use rorqual_store::{Store, StoreSettings};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::LazyLock;
use tempfile::TempDir;

/// A server with a store, and a session that is looked at.
struct FuzzServer {
    surface: Surface,
    session: String,
    _folder: TempDir,
}

thread_local!(static SERVER: RefCell<FuzzServer> = RefCell::new(FuzzServer::new()));

/// A text as long as a token, and none.
const NO_TOKEN: &str = "000000000000000000000000000000000000000000000000";

const NAME: &str = "fixture.log";

/// Names in a request, each of which its value replaces.
const NAMES: [&str; 5] = ["TOKEN", "COOKIE", "SESSION", "HOST", "PORT"];

/// A byte of flags and one for the cuts; then requests as they are, in which `TOKEN`, `COOKIE`,
/// `SESSION`, `HOST` and `PORT` have values, or what requests are built from.
pub fn http(data: &[u8]) {
    let Some((&[flags, cuts], data)) = data.split_first_chunk::<2>() else { return };
    let known = flags & 1 == 0;
    let then = [ClientEnding::Ends, ClientEnding::Ends, ClientEnding::Leaves, ClientEnding::Waits][usize::from(flags >> 1 & 3)];
    SERVER.with_borrow_mut(|server| {
        let (text, methods) = if flags & 8 == 0 { (data.to_vec(), None) } else { built(data) };
        // Of what may be a HEAD by chance it can't be said where its answer ends.
        let methods = methods.or_else(|| (!text.windows(4).any(|bytes| bytes == b"HEAD")).then(Vec::new));
        let request = server.fill(&text, known);
        let answer = server.surface.exchange(&pieces(&request, cuts), then);
        let shown = || format!("{} got {}", request.escape_ascii(), answer.escape_ascii());
        let answers = answers(&answer, methods.as_deref());
        if known {
            check_known(&answers, &shown);
        } else {
            check_unknown(&answers, &answer, server, &shown);
        }
        if !server.surface.clear(&server.session) {
            server.session = upload(&server.surface);
        }
    });
}

impl FuzzServer {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let settings = StoreSettings { fsync: false, ..StoreSettings::new(folder.path()) };
        let store = Store::init(&settings, Some(Algorithm::Sha256), Some(1 << 20)).expect("a store");
        let surface = Surface::new(Config { store: Some(store), ..config() }).expect("enough memory");
        let session = upload(&surface);
        let put = request(&surface, "PUT /store/entry", b"0123456789abcdef");
        assert!(put.starts_with(b"HTTP/1.1 201"), "{}", put.escape_ascii());
        Self { surface, session, _folder: folder }
    }

    fn fill(&self, text: &[u8], known: bool) -> Vec<u8> {
        let (host, token) = (self.surface.authority(), self.surface.token());
        let port = host.rsplit(':').next().unwrap_or_default();
        let token = if known { token.as_str() } else { NO_TOKEN };
        let key = if known { self.surface.key() } else { NO_TOKEN.to_owned() };
        let values = [token, key.as_str(), self.session.as_str(), host, port];
        NAMES.iter().zip(values).fold(text.to_vec(), |text, (name, value)| replaced(&text, name.as_bytes(), value.as_bytes()))
    }
}

fn replaced(text: &[u8], name: &[u8], value: &[u8]) -> Vec<u8> {
    let (mut rest, mut whole) = (text, Vec::new());
    while let Some(at) = rest.windows(name.len()).position(|window| window == name) {
        whole.extend_from_slice(&rest[..at]);
        whole.extend_from_slice(value);
        rest = &rest[at + name.len()..];
    }
    whole.extend_from_slice(rest);
    whole
}

/// Asks as a good client does.
fn request(surface: &Surface, line: &str, body: &[u8]) -> Vec<u8> {
    let (host, token, length) = (surface.authority(), surface.token(), body.len());
    let head = format!(
        "{line} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n"
    );
    surface.exchange(&[head.as_bytes(), body], ClientEnding::Ends)
}

fn upload(surface: &Surface) -> String {
    let answer = request(surface, &format!("PUT /api/upload/{NAME}"), &log(60));
    let answers = answers(&answer, Some(&[]));
    let told: Value = serde_json::from_slice(&answers[0].body).expect("JSON");
    assert_eq!(told["session"]["state"], "finished", "{told}");
    told["session"]["id"].as_str().expect("an id").to_owned()
}

/// An answer, as far as it came.
struct FuzzAnswer {
    status: u16,
    head: String,
    body: Vec<u8>,
    whole: bool,
}

/// Reads the answers to requests of these methods, behind which there is no HEAD; where these are
/// not known, the head of the first.
fn answers(mut bytes: &[u8], methods: Option<&[String]>) -> Vec<FuzzAnswer> {
    let mut answers: Vec<FuzzAnswer> = Vec::new();
    while let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
        let head = std::str::from_utf8(&bytes[..end]).expect("heads are ASCII").to_ascii_lowercase();
        let status = head.strip_prefix("http/1.").and_then(|rest| rest.get(2..5)).and_then(|status| status.parse().ok());
        let status: u16 = status.unwrap_or_else(|| panic!("no status: {head}"));
        // A method of many answers: those that say "continue" belong to the same request.
        let nth = answers.iter().filter(|answer| answer.status >= 200).count();
        let to_head = methods.and_then(|methods| methods.get(nth)).is_some_and(|method| method == "HEAD");
        let bodiless = to_head || matches!(status, 100..=199 | 204 | 304);
        let rest = if methods.is_some() { &bytes[end + 4..] } else { &[] };
        let header = |name: &str| {
            let lines = head.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            lines.map(str::to_owned).next()
        };
        let (body, whole, behind) = if status == 101 {
            (rest.to_vec(), true, &rest[rest.len()..])
        } else if bodiless {
            (Vec::new(), true, rest)
        } else if header("transfer-encoding").is_some() {
            chunked(rest)
        } else {
            let length = header("content-length").map_or(rest.len(), |length| length.parse().expect("a length"));
            let here = length.min(rest.len());
            (rest[..here].to_vec(), here == length, &rest[here..])
        };
        bytes = behind;
        answers.push(FuzzAnswer { status, head, body, whole });
    }
    answers
}

/// A body in chunks, whether it has its end, and what is behind it.
fn chunked(mut rest: &[u8]) -> (Vec<u8>, bool, &[u8]) {
    let mut body = Vec::new();
    while let Some(end) = rest.windows(2).position(|window| window == b"\r\n") {
        let length = std::str::from_utf8(&rest[..end]).ok().and_then(|digits| usize::from_str_radix(digits, 16).ok());
        let length = length.expect("the length of a chunk");
        let Some(data) = rest.get(end + 2..end + 4 + length) else { break };
        assert!(data.ends_with(b"\r\n"), "a chunk has its end");
        rest = &rest[end + 4 + length..];
        if length == 0 {
            return (body, true, rest);
        }
        body.extend_from_slice(&data[..length]);
    }
    (body, false, &[])
}

/// Each error's status and code that `docs/api.md` has.
static DOCUMENTED: LazyLock<HashSet<(u16, String)>> = LazyLock::new(|| {
    let mut documented = HashSet::new();
    for row in include_str!("../../../docs/api.md").lines().filter(|line| line.starts_with('|')) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let [_, statuses, codes, ..] = &cells[..] else { continue };
        let codes: Vec<&str> = codes.split('`').skip(1).step_by(2).collect();
        for status in statuses.split(", ").filter_map(|status| status.parse().ok()) {
            documented.extend(codes.iter().map(|code| (status, (*code).to_owned())));
        }
    }
    assert!(documented.len() > 50, "{documented:?}");
    documented
});

/// Statuses of what is no error.
const GOOD: [u16; 9] = [100, 101, 200, 201, 204, 206, 303, 304, 416];

fn check_known(answers: &[FuzzAnswer], shown: &dyn Fn() -> String) {
    for answer in answers {
        check_head(answer, shown);
        if GOOD.contains(&answer.status) {
            if answer.status == 101 {
                check_frames(&answer.body);
            }
            continue;
        }
        assert!(answer.status >= 400, "{}", shown());
        let bare = answer.body.is_empty() || !answer.whole;
        if bare || is_text_of_ours(answer) {
            continue;
        }
        let told: Value = serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("no JSON: {}", shown()));
        let (code, message) = (told["error"]["code"].as_str(), told["error"]["message"].as_str());
        let code = code.unwrap_or_else(|| panic!("no code: {}", shown())).to_owned();
        assert!(message.is_some_and(|message| !message.is_empty()), "{}", shown());
        assert!(code != "internal" && DOCUMENTED.contains(&(answer.status, code)), "{}", shown());
    }
}

/// The two errors that are for people, or for probes.
fn is_text_of_ours(answer: &FuzzAnswer) -> bool {
    let page = answer.status == 404 && answer.body.starts_with(b"This binary was built without its page");
    page || (answer.status == 503 && answer.body == b"not ready\n")
}

/// All but what is no HTTP at all tells browsers what not to do with it.
fn check_head(answer: &FuzzAnswer, shown: &dyn Fn() -> String) {
    let bare = matches!(answer.status, 100 | 400 | 414 | 431) && answer.body.is_empty();
    assert!(bare || answer.head.contains("x-content-type-options: nosniff"), "{}", shown());
}

/// Messages of the server's WebSocket are whole frames, or the start of one.
fn check_frames(mut bytes: &[u8]) {
    while let [first, second, rest @ ..] = bytes {
        assert!(first & 0x70 == 0 && second & 0x80 == 0, "{}", bytes.escape_ascii());
        let (length, at) = match (second, rest) {
            (126, [high, low, ..]) => (usize::from(u16::from_be_bytes([*high, *low])), 2),
            (126 | 127, _) => return,
            (short, _) => (usize::from(*short), 0),
        };
        bytes = rest.get(at + length..).unwrap_or_default();
    }
}

/// Without the token: refusals alone, and probes; nothing of what the server has.
fn check_unknown(answers: &[FuzzAnswer], bytes: &[u8], server: &FuzzServer, shown: &dyn Fn() -> String) {
    for answer in answers {
        check_head(answer, shown);
        let probe = [&b"ok\n"[..], b"ready\n", b"not ready\n", b""].contains(&&answer.body[..]);
        let is_refusal = matches!(answer.status, 400 | 401 | 403 | 414 | 431);
        assert!(is_refusal || (probe && matches!(answer.status, 200 | 503)), "{}", shown());
    }
    for secret in [NAME, &server.session, &server.surface.token(), &server.surface.key()] {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{}", shown());
    }
}

const METHODS: [&str; 9] = ["GET", "POST", "PUT", "HEAD", "DELETE", "PATCH", "OPTIONS", "CONNECT", "BREW"];

const TARGETS: [&str; 62] = [
    "/api/server",
    "/",
    "/?token=TOKEN",
    "/assets/x",
    "/api/sessions",
    "/api/sessions/SESSION",
    "/api/sessions/SESSION/data?offset=0",
    "/api/sessions/SESSION/data",
    "/api/sessions/SESSION/data?offset=18446744073709551615",
    "/api/sessions/SESSION/data?offset=-1",
    "/api/sessions/SESSION/socket?offset=0",
    "/api/sessions/SESSION/cancel",
    "/api/sessions/SESSION/live",
    "/api/sessions/SESSION/histogram",
    "/api/sessions/SESSION/histogram?from=1e308&to=-1e308&buckets=2000",
    "/api/sessions/SESSION/histogram?from=NaN&buckets=0",
    "/api/sessions/SESSION/view",
    "/api/sessions/SESSION/panel",
    "/api/sessions/SESSION/rows",
    "/api/sessions/SESSION/compare",
    "/api/sessions/SESSION/explain",
    "/api/sessions/SESSION/rates",
    "/api/sessions/SESSION/rejects",
    "/api/sessions/SESSION/export?format=csv",
    "/api/sessions/SESSION/export?format=ndjson&where=status=404",
    "/api/sessions/SESSION/export?format=parquet",
    "/api/sessions/SESSION/export?format=log&from=0",
    "/api/sessions/SESSION/export",
    "/api/sessions/SESSION/panel.csv?field=path",
    "/api/sessions/SESSION/panel.csv?field=%00&where=((",
    "/api/sessions/SESSION/report.html",
    "/api/sessions/SESSION/format/try",
    "/api/sessions/%ff%00",
    "/api/sessions/%2e%2e/x",
    "/api/sessions/none/view",
    "/api/upload",
    "/api/upload/",
    "/api/upload/x.log",
    "/api/upload/%ff",
    "/api/upload/x?format=combined",
    "/api/upload/x?format=%22&name=y",
    "/api/tus",
    "/api/tus/",
    "/api/tus/SESSION",
    "/api/tus/%ff",
    "/api/discard",
    "/api/discard/socket",
    "/api/vitals",
    "/metrics",
    "/healthz",
    "/readyz",
    "/store",
    "/store?after=x",
    "/store/entry",
    "/store/9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f",
    "/store/9f",
    "/store/%ff",
    "/store/%2e%2e%2fx",
    "/leases",
    "/leases/x",
    "http://HOST/api/server",
    "*",
];

const HEADERS: [&str; 44] = [
    "Origin: http://HOST",
    "Origin: http://evil.example",
    "Sec-Fetch-Site: same-origin",
    "Sec-Fetch-Site: cross-site",
    "Cookie: rorqual_PORT=COOKIE",
    "Cookie: a=\"; rorqual_PORT=TOKEN; rorqual_PORT=COOKIE",
    "Authorization: Basic OnRva2Vu",
    "Host: evil.example",
    "Expect: 100-continue",
    "Connection: close",
    "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
    "Upgrade: h2c",
    "Content-Type: application/offset+octet-stream",
    "Content-Encoding: gzip",
    "Content-Encoding: br",
    "Range: bytes=0-3",
    "Range: bytes=-1",
    "Range: bytes=16-",
    "Range: bytes=5-4,0-0",
    "If-Match: *",
    "If-Match: \"x\"",
    "If-None-Match: \"9f9f5111f7b27a781f1f1ddde5ebc2dd2b796bfc7365c9c28b548e564176929f\"",
    "If-None-Match: *",
    "If-Range: \"x\"",
    "Lease-Seconds: 1",
    "Lease-Seconds: 18446744073709551615",
    "Lease-Holder: x",
    "Repr-Digest: sha-256=:x:",
    "Repr-Digest: sha-256=:n59RERezh6ePHx3d5evC3St5a/xzZcnCi1SOVkF2kp8=:",
    "Tus-Resumable: 1.0.0",
    "Tus-Resumable: 0.2.2",
    "Upload-Length: 99",
    "Upload-Length: 0",
    "Upload-Length: 18446744073709551615",
    "Upload-Defer-Length: 1",
    "Upload-Offset: 0",
    "Upload-Offset: 3",
    "Upload-Metadata: filename eC5sb2c=,x",
    "Upload-Metadata: filename !",
    "Upload-Checksum: sha1 2jmj7l5rSw0yVb/vlWAYkK/YBwk=",
    "Upload-Checksum: md5 x",
    "X-HTTP-Method-Override: PATCH",
    "X-Forwarded-Host: evil.example",
    "Accept-Encoding: gzip, \u{e9}",
];

const BODIES: [&str; 24] = [
    "",
    "{}",
    "{\"name\": \"x\", \"size\": 5}",
    "{\"name\": \"x\", \"sample\": true}",
    "{\"format\": \"combined\"}",
    "{\"format\": \"main\", \"lines\": [\"x\"]}",
    "{\"where\": \"status = 404\"}",
    "{\"where\": \"status = (((((((((((((((((((((\"}",
    "{\"where\": \"path ~ '(a+)+$'\"}",
    "{\"from\": 1e999}",
    "{\"from\": 1735776000, \"to\": 1735776030, \"buckets\": 10}",
    "{\"field\": \"path\", \"search\": \"p\", \"offset\": 0, \"limit\": 10}",
    "{\"field\": \"none\"}",
    "{\"offset\": 18446744073709551615, \"limit\": 1}",
    "{\"select\": {\"where\": \"status = 404\"}, \"against\": \"rest\"}",
    "{\"a\": {\"where\": \"status = 404\"}, \"b\": {}}",
    "{\"field\": \"client\", \"window\": 10}",
    "{\"format\": \"$remote_addr\"}",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    "\u{0}\u{1}\u{2}",
    "\u{1f}\u{8b}\u{8}",
    "127.0.0.1 - - [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 17 \"-\" \"curl/8\"\n",
    "0123456789abcdef",
    "{\"kind\": \"requests\", \"by\": \"client\", \"window_seconds\": 60, \"limit\": 5}",
];

/// Requests made of parts that mean something here, and their methods as long as where each begins
/// is sure.
fn built(data: &[u8]) -> (Vec<u8>, Option<Vec<String>>) {
    let mut choices = Choices(data);
    let (mut text, mut methods, mut sure) = (Vec::new(), Vec::new(), true);
    while !choices.is_over() && text.len() < 16 << 10 {
        let method = choices.of(&METHODS);
        let (target, count) = (choices.of(&TARGETS), choices.below(5));
        text.extend(format!("{method} {target} HTTP/1.1\r\nHost: HOST\r\nAuthorization: Bearer TOKEN\r\n").bytes());
        for _ in 0..count {
            text.extend(choices.of(&HEADERS).bytes());
            text.extend(b"\r\n");
        }
        let body = match choices.below(BODIES.len() + 4) {
            at if at < BODIES.len() => BODIES[at].as_bytes().to_vec(),
            at if at == BODIES.len() => log(choices.below(60)),
            _ => {
                let length = choices.below(200);
                choices.bytes(length).to_vec()
            }
        };
        // The value of a name is longer than the name, and than the length that was said.
        let keeps_length = !NAMES.iter().any(|name| body.windows(name.len()).any(|window| window == name.as_bytes()));
        sure &= push_body(&mut text, &body, &mut choices) && keeps_length && method != "CONNECT";
        if sure {
            methods.push(method.to_owned());
        }
    }
    // What is behind a body that lies may be taken for a request, of any method.
    (text, sure.then_some(methods))
}

/// Ends a head and appends a body; whether it is as long as the head says.
fn push_body(text: &mut Vec<u8>, body: &[u8], choices: &mut Choices<'_>) -> bool {
    let how = choices.below(8);
    let length = match how {
        0..=3 => body.len(),
        4 => body.len() + 10,
        5 => body.len() / 2,
        _ => {
            text.extend(b"Transfer-Encoding: chunked\r\n\r\n");
            for piece in body.chunks(1 + choices.below(100)) {
                text.extend(format!("{:x}\r\n", piece.len()).bytes());
                text.extend(piece);
                text.extend(b"\r\n");
            }
            text.extend(if how == 6 { &b"0\r\n\r\n"[..] } else { b"fffffff\r\n" });
            return how == 6;
        }
    };
    text.extend(format!("Content-Length: {length}\r\n\r\n").bytes());
    text.extend(body);
    length == body.len()
}

//! Access: names, tokens and connections that are let in.

use crate::common::{Reached, config};
use rorqual_serve::{Access, Server};
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::runtime::Builder;

/// Longer than a handshake may take, and a request's head.
const PATIENCE: Duration = Duration::from_secs(60);

/// The reason for which a server with this access does not start.
pub(crate) fn refused_by(access: Access) -> String {
    let runtime = Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let config = rorqual_serve::Config { access, ..config(PATIENCE) };
    match runtime.block_on(Server::bind(config)) {
        Ok(server) => panic!("it listens on {:?}", server.address()),
        Err(error) => error.to_string(),
    }
}

fn token_file(path: &Path) -> Access {
    Access { token_file: Some(path.to_owned()), ..Access::default() }
}

fn write(path: &Path, text: &str, mode: u32) {
    // Another file, as editors and `install` make it.
    let new = path.with_extension("new");
    fs::write(&new, text).expect("our folder");
    fs::set_permissions(&new, fs::Permissions::from_mode(mode)).expect("our file");
    fs::rename(&new, path).expect("our folder");
}

#[test]
fn an_address_that_others_reach_is_refused_without_tls() {
    for bind in ["0.0.0.0", "::", "192.0.2.1"] {
        let said = refused_by(Access { bind: bind.parse().expect("an address"), ..Access::default() });
        assert!(said.contains("\"tls_cert\"") && said.contains("\"behind_proxy\""), "{said}");
    }
    let said = refused_by(Access { behind_proxy: true, ..Access::default() });
    assert!(said.contains("\"public_url\""), "{said}");
}

#[test]
fn behind_a_proxy_it_answers_to_the_name_that_browsers_see() {
    let public_url = Some("https://logs.example".to_owned());
    let server = Reached::start(Access { behind_proxy: true, public_url, ..Access::default() });
    assert!(server.url.starts_with("https://logs.example/?token="), "{}", server.url);
    let ask = |host: &str, headers: &str| server.plain(&format!("GET /api/server HTTP/1.1\r\nHost: {host}\r\n{headers}"));
    for host in ["logs.example", "LOGS.example", "logs.example:443"] {
        assert!(ask(host, "Origin: https://logs.example\r\n").starts_with("HTTP/1.1 200"), "{host}");
    }
    assert!(ask("logs.example", "").contains("strict-transport-security: max-age=31536000\r\n"));
    // The proxy may ask by the address that it has; a page that came in the clear may not.
    let own = server.address.to_string();
    let by_address = ask(&own, "");
    assert!(by_address.starts_with("HTTP/1.1 200") && !by_address.contains("strict-transport"), "{by_address}");
    for (host, headers) in [
        ("logs.example.evil", ""),
        ("logs.example:8631", ""),
        ("evil.example", "X-Forwarded-Host: logs.example\r\nForwarded: host=logs.example\r\n"),
    ] {
        assert!(ask(host, headers).contains("wrong_host"), "{host}");
    }
    assert!(ask("logs.example", "Origin: http://logs.example\r\n").contains("foreign_origin"));
    let token = server.token();
    let entered = server.plain(&format!("GET /?token={token} HTTP/1.1\r\nHost: logs.example\r\n"));
    let cookie = format!("{}; HttpOnly; SameSite=Strict; Path=/; Secure\r\n", server.cookie());
    assert!(cookie.starts_with(&format!("__Host-rorqual_{}=", server.address.port())), "{cookie}");
    assert!(entered.contains(&cookie), "{entered}");
}

/// Cookies go to all ports of a host: what another server there learns by one must be no token.
#[test]
fn the_cookie_is_a_session_key_and_no_token() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("token");
    let server = Reached::start(token_file(&path));
    let (own, cookie, token) = (server.address, server.cookie(), server.token());
    let (name, key) = cookie.split_once('=').expect("a name and a value");
    assert!(key.len() >= 32 && !key.contains(&token) && !token.contains(key), "{key}");
    let status = |server: &Reached, target: &str, shown: &str| {
        let head = format!("GET {target} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{shown}\r\n", server.address);
        server.raw(head.as_bytes()).split(' ').nth(1).map(str::to_owned).expect("a status")
    };
    assert_eq!(status(&server, "/api/server", &format!("Cookie: {cookie}\r\n")), "200");
    assert_eq!(status(&server, "/api/server", &format!("Authorization: Bearer {key}\r\n")), "401");
    assert_eq!(status(&server, &format!("/?token={key}"), ""), "401");
    assert_eq!(status(&server, "/api/server", &format!("Cookie: {name}={token}\r\n")), "401");
    // A page goes on after a restart with the same token.
    let next = Reached::start(token_file(&path));
    let again = format!("Cookie: rorqual_{}={key}\r\n", next.address.port());
    assert_eq!(status(&next, "/api/server", &again), "200");
    write(&path, "another-token-that-somebody-chose\n", 0o600);
    server.reload.reload().expect("a fit file");
    assert_eq!(status(&server, "/api/server", &format!("Cookie: {cookie}\r\n")), "401");
    assert_ne!(Reached::start(Access::default()).cookie().split('=').nth(1), Some(key), "of another token, at {own}");
}

/// Reads until that text came.
fn read_until(stream: &mut TcpStream, text: &str) {
    let (mut read, mut piece) = (Vec::new(), [0; 4096]);
    while !read.windows(text.len()).any(|window| window == text.as_bytes()) {
        let count = stream.read(&mut piece).expect("it is answered in time");
        assert!(count > 0, "{}", String::from_utf8_lossy(&read));
        read.extend_from_slice(&piece[..count]);
    }
}

/// All bytes until the connection is over, in whatever way.
fn rest(stream: &mut TcpStream) -> Vec<u8> {
    let mut rest = Vec::new();
    let started = Instant::now();
    let ended = stream.read_to_end(&mut rest);
    assert!(started.elapsed() < PATIENCE, "{ended:?}: it is still open");
    rest
}

#[test]
fn what_was_begun_with_a_token_ends_when_it_is_changed() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("token");
    let mut config = rorqual_serve::Config { access: token_file(&path), sessions_max: 3, ..config(PATIENCE) };
    config.settings.memory_bytes = 1 << 30;
    let server = Reached::with(config);
    let (own, first) = (server.address, server.token());
    let open = |token: &str, line: &str, headers: &str| {
        let mut stream = TcpStream::connect(own).expect("it listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        let head = format!("{line} HTTP/1.1\r\nHost: {own}\r\nAuthorization: Bearer {token}\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).expect("it listens");
        stream
    };
    let session = |size: usize| {
        let made = server.post("/api/sessions", &format!("{{\"name\": \"test.log\", \"size\": {size}}}"));
        made.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an id").to_owned()
    };
    let log = crate::wire::log(100_000);
    let (whole, body, socket) = (session(log.len()), session(1 << 20), session(1 << 20));
    let mut put = open(&first, &format!("PUT /api/sessions/{whole}/data"), &format!("Content-Length: {}\r\n", log.len()));
    put.write_all(&log).expect("it is taken");
    read_until(&mut put, "\"finished\"");
    // The session of the live events still waits for bytes: they would go on.
    let mut live = open(&first, &format!("GET /api/sessions/{body}/live"), "");
    read_until(&mut live, "event: live");
    let mut upload = open(&first, &format!("PUT /api/sessions/{body}/data"), "Content-Length: 1048576\r\n");
    upload.write_all(&log[..1_000]).expect("it is taken");
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let mut upgraded = open(&first, &format!("GET /api/sessions/{socket}/socket"), upgrade);
    read_until(&mut upgraded, "\"ready\"");
    // More than the system holds for a reader that takes nothing.
    let mut export = open(&first, &format!("GET /api/sessions/{whole}/export?format=ndjson"), "");
    read_until(&mut export, "transfer-encoding: chunked");
    let second = "a-token-that-somebody-chose_1";
    let mut waiting = open(&first, "GET /api/server", "");
    assert!(is_answered(&mut waiting));
    write(&path, &format!("{second}\n"), 0o600);
    assert!(is_answered(&mut open(second, "GET /api/server", "")), "who shows the new one stays");
    let ended = rest(&mut live);
    assert!(!ended.ends_with(b"0\r\n\r\n"), "no end in order: {}", String::from_utf8_lossy(&ended));
    assert!(!rest(&mut export).ends_with(b"0\r\n\r\n"), "an export that was cut off is not whole");
    rest(&mut upload);
    rest(&mut upgraded);
    for id in [&body, &socket] {
        let show = || {
            let mut shown = Vec::new();
            let mut stream = open(second, &format!("GET /api/sessions/{id}"), "Connection: close\r\n");
            stream.read_to_end(&mut shown).expect("an answer");
            String::from_utf8(shown).expect("text")
        };
        let deadline = Instant::now() + PATIENCE;
        while !show().contains("\"state\":\"interrupted\"") {
            assert!(Instant::now() < deadline, "{}", show());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    // A connection on which nothing was under way is only asked for the new one.
    waiting
        .write_all(format!("GET /api/server HTTP/1.1\r\nHost: {own}\r\nAuthorization: Bearer {second}\r\n\r\n").as_bytes())
        .expect("it is open");
    assert!(is_answered(&mut waiting));
}

#[test]
fn a_browser_without_the_token_is_told_what_to_do() {
    let server = Reached::start(Access::default());
    let ask = |line: &str, headers: &str| {
        server.raw(format!("{line} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n{headers}\r\n", server.address).as_bytes())
    };
    let navigation = "Accept: text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8\r\n";
    for target in ["/", "/?token=000000000000000000000000000000000000000000000000", "/api/server", "/%3Cscript%3E"] {
        let page = ask(&format!("GET {target}"), navigation);
        assert!(page.starts_with("HTTP/1.1 401") && page.contains("content-type: text/html; charset=utf-8\r\n"), "{page}");
        assert!(page.contains("/?token=") && page.contains("rorqual serve") && page.ends_with("</html>\n"), "{page}");
        assert!(page.contains("content-security-policy: default-src 'none'") && !page.contains("script>"), "{page}");
        // A page's own requests, and programs, get the contract's object.
        for accept in ["", "Accept: */*\r\n", "Accept: application/json\r\n"] {
            assert!(ask(&format!("GET {target}"), accept).contains("{\"error\":{\"code\":\"no_token\""), "{accept}");
        }
    }
    assert!(ask("POST /api/sessions", navigation).contains("{\"error\""), "that is no page");
    assert!(ask("HEAD /", navigation).starts_with("HTTP/1.1 401"));
    let known = format!("Authorization: Bearer {}\r\n{navigation}", server.token());
    assert!(ask("GET /api/sessions/none", &known).contains("{\"error\":{\"code\":\"no_session\""));
}

#[test]
fn a_token_in_a_file_stays_and_can_be_changed() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("token");
    let first = Reached::start(token_file(&path)).token();
    assert_eq!(fs::metadata(&path).expect("it was made").permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(&path).expect("ours"), format!("{first}\n"));
    let server = Reached::start(token_file(&path));
    assert_eq!(server.token(), first, "a restart keeps it");
    let status = |token: &str| {
        let own = server.address;
        let head =
            format!("GET /api/server HTTP/1.1\r\nHost: {own}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n");
        server.raw(head.as_bytes()).split(' ').nth(1).map(str::to_owned)
    };
    let second = "a-token-that-somebody-chose_1";
    assert_eq!((status(&first).as_deref(), status(second).as_deref()), (Some("200"), Some("401")));
    write(&path, &format!("{second}\n"), 0o600);
    // Seen when somebody shows it; from then on the old one is none.
    assert_eq!((status(second).as_deref(), status(&first).as_deref()), (Some("200"), Some("401")));
    // A file that is unfit changes nothing.
    for (text, mode) in [("short\n", 0o600), ("third-token-third-token-third\n", 0o644), ("", 0o600)] {
        write(&path, text, mode);
        assert!(server.reload.reload().is_err(), "{text:?}");
        assert_eq!(status("third-token-third-token-third").as_deref(), Some("401"));
        assert_eq!(status(second).as_deref(), Some("200"));
    }
    // By SIGHUP the old one is none at once, although nobody has shown the new one.
    write(&path, &format!("{first}\r\n"), 0o400);
    server.reload.reload().expect("a fit file");
    assert_eq!((status(second).as_deref(), status(&first).as_deref()), (Some("401"), Some("200")));
    fs::remove_file(&path).expect("ours");
    assert_eq!(status(&first).as_deref(), Some("200"));
}

#[test]
fn a_token_that_others_can_read_or_guess_is_refused() {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("token");
    let good = "0123456789abcdef01234567";
    for (text, mode, word) in [
        (good.to_owned(), 0o644, "chmod 600"),
        (good.to_owned(), 0o620, "chmod 600"),
        (String::new(), 0o600, "no token"),
        (good[..23].to_owned(), 0o600, "no token"),
        (format!("{good}; Domain=evil.example"), 0o600, "no token"),
        (format!("{good}\n{good}"), 0o600, "no token"),
        (good.repeat(100), 0o600, "longer than"),
    ] {
        write(&path, &text, mode);
        let said = refused_by(token_file(&path));
        assert!(said.contains(word) && said.contains("token") && !said.contains(good), "{text:?}: {said}");
    }
    let said = refused_by(token_file(folder.path()));
    assert!(said.contains("not a regular file"), "{said}");
    let said = refused_by(token_file(&folder.path().join("none/token")));
    assert!(said.contains("none/token"), "{said}");
}

#[test]
fn a_cookie_alone_changes_nothing() {
    let server = Reached::start(Access::default());
    let (own, token) = (server.address, server.token());
    let cookie = format!("Cookie: {}\r\n", server.cookie());
    let bearer = format!("Authorization: Bearer {token}\r\n");
    let ask = |line: &str, headers: &str| {
        let head = format!("{line} HTTP/1.1\r\nHost: {own}\r\nConnection: close\r\nContent-Length: 2\r\n{headers}\r\n{{}}");
        server.raw(head.as_bytes())
    };
    let origin = format!("Origin: http://{own}\r\n");
    for line in
        ["POST /api/sessions", "DELETE /api/sessions/none", "PUT /api/sessions/none/data", "POST /api/tus", "PUT /store/none"]
    {
        for shown in
            ["", "Sec-Fetch-Site: none\r\n", "Sec-Fetch-Site: same-site\r\n", "Origin: null\r\n", "Origin: http://localhost\r\n"]
        {
            let answer = ask(line, &format!("{cookie}{shown}"));
            assert!(answer.contains("403") && answer.contains("foreign_origin"), "{line} {shown:?}: {answer}");
        }
        for shown in [&origin, "Sec-Fetch-Site: same-origin\r\n"] {
            let answer = ask(line, &format!("{cookie}{shown}"));
            assert!(!answer.contains("foreign_origin"), "{line} {shown:?}: {answer}");
        }
        assert!(!ask(line, &bearer).contains("foreign_origin"), "a program has no origin");
    }
    assert!(ask("GET /api/server", &cookie).starts_with("HTTP/1.1 200"), "looking is no change");
    // A header that could change something, does not in a GET.
    let listed = ask("GET /api/sessions", &bearer);
    let id = listed.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("an id");
    let overridden = format!("{cookie}X-HTTP-Method-Override: DELETE\r\nTus-Resumable: 1.0.0\r\n");
    assert!(ask(&format!("GET /api/tus/{id}"), &overridden).starts_with("HTTP/1.1 405"));
    assert!(ask(&format!("GET /api/sessions/{id}"), &cookie).starts_with("HTTP/1.1 200"), "it is still there");
    assert!(ask("GET /store/none", &format!("{cookie}Lease-Seconds: 60\r\n")).contains("foreign_origin"));
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    assert!(ask("GET /api/server", &format!("{cookie}{upgrade}")).contains("foreign_origin"));
    assert!(!ask("GET /api/server", &format!("{cookie}{upgrade}{origin}")).contains("foreign_origin"));
}

#[test]
fn probes_need_a_token_unless_they_are_opened_and_then_say_one_word() {
    let closed = Reached::start(Access::default());
    let probe = |server: &Reached, line: &str| {
        server.raw(format!("{line} HTTP/1.1\r\nHost: 10.1.2.3\r\nConnection: close\r\n\r\n").as_bytes())
    };
    for path in ["/healthz", "/readyz"] {
        assert!(probe(&closed, &format!("GET {path}")).starts_with("HTTP/1.1 403"), "{path}");
    }
    assert!(closed.get("/healthz").ends_with("\r\n\r\nok\n") && closed.get("/readyz").ends_with("\r\n\r\nready\n"));
    let open = Reached::start(Access { open_probes: true, ..Access::default() });
    assert!(probe(&open, "GET /healthz").ends_with("\r\n\r\nok\n"));
    assert!(probe(&open, "GET /readyz?verbose").ends_with("\r\n\r\nready\n"));
    for line in ["POST /healthz", "GET /healthz/", "GET //healthz", "GET /metrics", "GET /api/vitals", "GET /"] {
        assert!(probe(&open, line).starts_with("HTTP/1.1 403"), "{line}");
    }
    // The only place is taken by an upload that may still come.
    assert!(open.post("/api/sessions", "{}").starts_with("HTTP/1.1 201"));
    let full = probe(&open, "GET /readyz");
    assert!(full.starts_with("HTTP/1.1 503") && full.ends_with("\r\n\r\nnot ready\n"), "{full}");
    assert!(probe(&open, "HEAD /healthz").starts_with("HTTP/1.1 200"));
}

/// Of connections that say nothing, or one byte at a time.
#[test]
fn a_connection_that_asks_for_nothing_is_closed() {
    let server = Reached::start(Access::default());
    let head =
        format!("GET /api/server HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n", server.address, server.token());
    let started = Instant::now();
    let mut idle = TcpStream::connect(server.address).expect("it listens");
    idle.set_read_timeout(Some(PATIENCE)).expect("a time");
    idle.write_all(head.as_bytes()).expect("it listens");
    let mut silent = TcpStream::connect(server.address).expect("it listens");
    silent.set_read_timeout(Some(PATIENCE)).expect("a time");
    let mut slow = silent.try_clone().expect("a descriptor");
    slow.write_all(b"G").expect("it listens");
    let mut answer = String::new();
    idle.read_to_string(&mut answer).expect("its end, and no time that ran out");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let _ = silent.read_to_end(&mut Vec::new());
    assert!(started.elapsed() < PATIENCE, "{:?}", started.elapsed());
}

/// A client may have connected and not come to ask: it is told, and may come again.
#[test]
fn a_connection_that_gives_way_before_it_asked_is_told_so() {
    let server = Reached::start(Access::default());
    let strangers: Vec<TcpStream> = (0..16).map(|_| TcpStream::connect(server.address).expect("it listens")).collect();
    assert!(server.get("/api/server").starts_with("HTTP/1.1 200"), "one gives way");
    let mut told = Vec::new();
    for mut stream in strangers {
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        // Of those that stay the head is due in time.
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        told.extend(Some(answer).filter(|answer| !answer.is_empty()));
    }
    let [answer] = &told[..] else { panic!("{told:?}") };
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after: 1\r\n"), "{answer}");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(
        body.contains("\"code\":\"strangers_full\"") && head.contains(&format!("content-length: {}", body.len())),
        "{answer}"
    );
}

/// An answer on a connection that stays; `false` where it was closed.
fn is_answered(stream: &mut TcpStream) -> bool {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read_exact(&mut byte).is_err() {
            return false;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("text").to_ascii_lowercase();
    let length = head.split_once("content-length: ").and_then(|(_, rest)| rest.split_once("\r\n")).expect("a length").0;
    stream.read_exact(&mut vec![0; length.parse().expect("a number")]).expect("a whole body");
    head.starts_with("http/1.1 200")
}

#[test]
fn a_connection_that_asks_for_nothing_gives_way_to_a_new_one_at_once() {
    let server = Reached::start(Access::default());
    let head =
        format!("GET /api/server HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\r\n", server.address, server.token());
    let ask = |stream: &mut TcpStream| stream.write_all(head.as_bytes()).is_ok() && is_answered(stream);
    let mut idle: Vec<TcpStream> = (0..32)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).expect("it listens");
            stream.set_read_timeout(Some(PATIENCE)).expect("a time");
            assert!(ask(&mut stream));
            stream
        })
        .collect();
    // Before that all places were taken until the idle ones ran into the time for the next head,
    // all at once.
    assert!(server.get("/api/server").starts_with("HTTP/1.1 200"));
    assert!(!ask(&mut idle[0]), "it was idle for longest");
    for (number, stream) in idle.iter_mut().enumerate().skip(1) {
        assert!(ask(stream), "connection {number} was closed as well");
    }
}

#[test]
fn the_scheme_of_the_token_is_the_same_in_any_case() {
    let server = Reached::start(Access::default());
    for (scheme, status) in [("bearer", 200), ("BEARER", 200), ("Basic", 401), ("Bearer:", 401)] {
        let head = format!("GET /api/server HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n", server.address);
        let answer = server.raw(format!("{head}Authorization: {scheme} {}\r\n\r\n", server.token()).as_bytes());
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{scheme}: {answer}");
    }
}

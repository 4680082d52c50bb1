//! `rorqual serve` as a service: begin and end, its messages, its files.

use crate::client::{Server, read_answer};
use crate::common::{PROGRAM, TestFolder, Truth, eventually, log, rorqual};
use rorqual_testkit::process::ProcessRun;
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

#[test]
fn flags_that_would_show_the_token_to_others_are_refused() {
    let refused = |args: &[&str], words: &[&str]| {
        rorqual(&["serve", "--port", "0"]).args(args).run().exits(2).says(words);
    };
    refused(&["--bind", "0.0.0.0"], &["--tls-cert", "--behind-proxy"]);
    refused(&["--behind-proxy"], &["--public-url"]);
    refused(&["--behind-proxy", "--public-url", "http://logs.example"], &["https://"]);
    refused(&["--public-url", "https://logs.example"], &["--behind-proxy"]);
    refused(&["--tls-cert", "cert.pem"], &["--tls-key"]);
    refused(&["--tls-cert", "/none/cert.pem", "--tls-key", "/none/key.pem"], &["/none/cert.pem"]);
}

#[test]
fn the_token_file_is_read_again_at_a_hangup_and_outlives_the_server() {
    let folder = TestFolder::new();
    let file = folder.text("token");
    let server = Server::start(&["--token-file", &file, "--log-level", "info"]);
    assert_eq!(std::fs::read_to_string(&file).expect("it was made"), format!("{}\n", server.token));
    assert_eq!(std::fs::metadata(&file).expect("ours").permissions().mode() & 0o777, 0o600);
    std::fs::write(&file, "another-token-of-32-characters--\n").expect("ours");
    server.running.hang_up();
    eventually("the old token is none", || Some(server.get("/api/server")).filter(|answer| answer.status == 401));
    server.running.terminate();
    let ran = server.running.wait().exits(0);
    ran.says(&["read again"]);
    let again = Server::start(&["--token-file", &file]);
    assert_eq!(again.token, "another-token-of-32-characters--");
    assert_eq!(again.get("/api/server").status, 200);
}

#[test]
fn without_files_to_read_again_a_hangup_ends_it() {
    let server = Server::start(&[]);
    server.running.hang_up();
    let _ = server.running.wait().exits(0);
}

#[test]
fn an_upload_that_runs_may_end_and_nothing_else_is_begun() {
    let server = Server::start(&["--grace", "60"]);
    let body = log(20_000);
    let id = server.session_of(body.len());
    let mut upload = server.begin_put(&id, 0, body.len() as u64);
    let mut waiting = server.connect();
    let unused = server.session_of(10);
    waiting
        .write_all(format!("{}\r\n", server.head("GET", &format!("/api/sessions/{unused}/live"))).as_bytes())
        .expect("it listens");
    waiting.read_exact(&mut [0; 15]).expect("it begins");
    upload.write_all(&body[..100_000]).expect("it listens");
    server.when(&id, "some of it is taken", |live| live["session"]["offset"] == 100_000);
    server.running.terminate();
    eventually("it says so", || server.running.stderr_so_far().contains("ending: what runs has 60 s").then_some(()));
    // A view of a log that nobody uploads is ended, and new connections are not taken.
    waiting.read_to_end(&mut Vec::new()).expect("its end");
    eventually("no new connection", || TcpStream::connect(("127.0.0.1", server.port)).is_err().then_some(()));
    upload.write_all(&body[100_000..]).expect("it is still read");
    let answer = read_answer(&mut upload);
    assert_eq!((answer.status, &answer.json()["state"], &answer.json()["offset"]), (200, &"finished".into(), &body.len().into()));
    let ran = server.running.wait().exits(0);
    assert!(!ran.stderr.contains("broken off"), "{}", ran.stderr);
    assert_eq!(Truth::of(&body).parsed, 20_000);
}

#[test]
fn what_does_not_end_in_time_or_at_a_second_signal_is_broken_off() {
    let stalled = |grace: &str| {
        let server = Server::start(&["--grace", grace]);
        let id = server.session_of(1 << 20);
        let mut upload = server.begin_put(&id, 0, 1 << 20);
        upload.write_all(&log(100)).expect("it listens");
        server.when_state(&id, "receiving");
        (server, upload)
    };
    let started = Instant::now();
    let (server, _upload) = stalled("1");
    server.running.interrupt();
    server.running.wait().exits(0).says(&["has 1 s", "broken off"]);
    let (server, _upload) = stalled("3600");
    server.running.interrupt();
    eventually("it says so", || server.running.stderr_so_far().contains("a second signal").then_some(()));
    server.running.interrupt();
    server.running.wait().exits(0).says(&["broken off"]);
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
}

#[test]
fn the_log_has_a_line_a_request_and_nothing_that_a_client_wrote() {
    let server = Server::start(&["--log-format", "json", "--log-level", "debug"]);
    let evil = "\u{1b}[31mevil";
    let body = format!("{{\"name\": \"{}\", \"{evil}\": 1}}", "x".repeat(10));
    server.request("POST", "/api/sessions", body.as_bytes()).refused(400, "bad_request");
    server.get("/no/such/secret-path").refused(404, "not_found");
    let lines = log(10);
    let id = server.session(&serde_json::json!({"name": evil}));
    assert_eq!(server.put(&id, 0, &lines).status, 200);
    server.raw(format!("GET /?token={} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n", server.token).as_bytes());
    let token = server.token.clone();
    server.running.terminate();
    let ran = server.running.wait().exits(0);
    let said: Vec<Value> =
        ran.stderr.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}"))).collect();
    for secret in [token.as_str(), "evil", "secret-path", "/p1"] {
        assert!(!ran.stderr.contains(secret), "{secret} in {}", ran.stderr);
    }
    let requests: Vec<&Value> = said.iter().filter(|line| line["message"] == "request").collect();
    let of = |route: &str, status: u64| requests.iter().filter(|line| line["route"] == route && line["status"] == status).count();
    assert_eq!((of("/api/sessions", 400), of("/api/sessions", 201), of("page", 404), of("page", 403)), (1, 1, 1, 1));
    assert_eq!(of("/api/sessions/{id}/data", 200), 1);
    assert!(said.iter().any(|line| line["message"] == "session" && line["state"] == "Finished" && line["level"] == "INFO"));
    // Without the flag there is nothing of it.
    let server = Server::start(&[]);
    server.get("/no/such/path").refused(404, "not_found");
    server.running.interrupt();
    let ran = server.running.wait().exits(0);
    assert!(ran.stderr.lines().all(|line| line.starts_with("rorqual: ")), "{}", ran.stderr);
}

/// The variables of a program's environment.
fn environment(bytes: &[u8], between: u8) -> Vec<String> {
    bytes.split(|byte| *byte == between).map(|variable| String::from_utf8_lossy(variable).into_owned()).collect()
}

/// True if a server runs with its settings of the allocator.
fn is_settled(server: &Server) -> bool {
    let variables = std::fs::read(format!("/proc/{}/environ", server.running.id())).expect("it runs");
    environment(&variables, 0).contains(&"MALLOC_ARENA_MAX=4".to_owned())
}

/// A server that a shell becomes by `script`, with the program as `$0`.
fn by_a_shell(script: &str, program: &str) -> Server {
    Server::start_as(ProcessRun::new("sh").args(["-c", script, program, "serve", "--port", "0"]))
}

#[test]
fn it_starts_itself_again_for_settings_of_the_allocator_but_once() {
    assert!(is_settled(&Server::start(&[])));
    // The program after a loader that took the settings away.
    assert!(!is_settled(&by_a_shell("RORQUAL_SETTLED=$$ exec \"$0\" \"$@\"", PROGRAM)));
    // The number of another, which started it, means nothing.
    assert!(is_settled(&by_a_shell("RORQUAL_SETTLED=1 exec \"$0\" \"$@\"", PROGRAM)));
}

#[test]
fn a_program_that_cannot_start_itself_again_goes_on() {
    let folder = TestFolder::new();
    let copy = folder.text("rorqual");
    assert_eq!(ProcessRun::new("cp").args([PROGRAM, &copy]).run().code, Some(0));
    let server = by_a_shell("exec 3< \"$0\"; rm \"$0\"; exec /proc/self/fd/3 \"$@\"", &copy);
    assert!(!is_settled(&server));
    eventually("it says so", || server.running.stderr_so_far().contains("cannot start this program again").then_some(()));
    assert_eq!(server.get("/api/server").status, 200);
}

#[test]
fn the_browser_has_settings_of_the_allocator_of_its_own() {
    let folder = TestFolder::new();
    let script = "printf '#!/bin/sh\n/usr/bin/env > \"$0.new\"; /bin/mv \"$0.new\" \"$0.env\"\n' > \"$0\"; chmod +x \"$0\"";
    assert_eq!(ProcessRun::new("sh").args(["-c", script, &folder.text("xdg-open")]).run().code, Some(0));
    let set = |command: &mut Command| {
        command.env("PATH", folder.text("")).env("MALLOC_TRIM_THRESHOLD_", "123456");
    };
    let server = Server::start_as(rorqual(&["serve", "--port", "0", "--open"]).with(set));
    assert!(is_settled(&server));
    let variables = eventually("it is opened", || std::fs::read(folder.at("xdg-open.env")).ok());
    let variables = environment(&variables, b'\n');
    let ours = |variable: &&String| variable.starts_with("MALLOC_") || variable.starts_with("RORQUAL_SETTLED");
    // A setting of the user stays.
    assert_eq!(variables.iter().filter(ours).collect::<Vec<_>>(), ["MALLOC_TRIM_THRESHOLD_=123456"]);
}

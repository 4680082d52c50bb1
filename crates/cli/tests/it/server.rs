//! `rorqual serve`: access, and the fates of an upload.

use crate::client::{Answer, Server, chunks, read_answer};
use crate::common::{TestFolder, Truth, advised, comparable, eventually, line, log, panel, rorqual};
use rorqual_testkit::paths::{gzip, zstd_frame};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, Instant};

/// The report of an upload that nothing disturbed.
fn undisturbed(server: &Server, body: &[u8]) -> Value {
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, body).status, 200);
    comparable(server.live(&id)["report"].clone())
}

/// A session's report once it has one that is complete.
fn report(server: &Server, id: &str) -> Value {
    let live = server.when_state(id, "finished");
    assert_eq!(live["report"]["complete"], true);
    comparable(live["report"].clone())
}

#[test]
fn an_upload_gives_the_report_of_the_command_line() {
    let server = Server::start(&[]);
    let body = log(30_000);
    let id = server.session_of(body.len());
    let answer = server.put(&id, 0, &body);
    assert_eq!(answer.status, 200, "{answer:?}");
    let session = answer.json();
    assert_eq!((&session["state"], &session["offset"]), (&"finished".into(), &body.len().into()));
    let report = server.live(&id)["report"].clone();
    Truth::of(&body).check(&report);
    let printed = crate::common::rorqual(&["logs", "--json", "--top", "100"]).stdin(body).run().exits(0).json();
    assert_eq!(comparable(report), comparable(printed));
}

#[test]
fn a_request_without_the_token_is_refused() {
    let server = Server::start(&[]);
    let host = format!("Host: 127.0.0.1:{}\r\n", server.port);
    let ask =
        |line: &str, headers: &str| server.raw(format!("{line} HTTP/1.1\r\n{host}Connection: close\r\n{headers}\r\n").as_bytes());
    let wrong = "0".repeat(server.token.len());
    let cookie = format!("rorqual_{}", server.port);
    for target in [
        "/",
        "/api/server",
        "/api/sessions",
        "/no/such/page",
        &format!("/?token={wrong}"),
        "/?token=",
        &format!("/api/server?token={}", server.token),
    ] {
        for headers in [
            "",
            &format!("Authorization: Bearer {wrong}\r\n"),
            &format!("Cookie: {cookie}={wrong}\r\n"),
            &format!("Cookie: rorqual={}\r\n", server.token),
            &format!("Cookie: {cookie}={}\r\n", server.token),
        ] {
            ask(&format!("GET {target}"), headers).refused(401, "no_token");
        }
    }
    let entered = ask(&format!("GET /?token={}", server.token), "");
    assert_eq!(entered.status, 303);
    for part in ["set-cookie: ", "httponly", "samesite=strict", "path=/", "location: /\r"] {
        assert!(entered.head.contains(part), "{part} is missing in {}", entered.head);
    }
    let key = entered.head.split(&format!("{cookie}=")).nth(1).and_then(|rest| rest.split(';').next()).expect("a session key");
    let known = ask("GET /api/server", &format!("Cookie: other=1; {cookie}={key}\r\n"));
    assert_eq!(known.status, 200);
}

#[test]
fn a_foreign_host_origin_or_site_is_refused_even_with_the_token() {
    let server = Server::start(&[]);
    let ask = |target: &str, host: &str, header: &str| {
        let head = format!(
            "GET {target} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n{header}\r\n",
            server.token
        );
        server.raw(head.as_bytes())
    };
    let own = format!("127.0.0.1:{}", server.port);
    for host in [
        "evil.example",
        "127.0.0.1",
        &format!("evil.example:{}", server.port),
        &format!("127.0.0.1.evil.example:{}", server.port),
        "127.0.0.1:1",
        // It listens at 127.0.0.1 alone: this is another server's.
        &format!("[::1]:{}", server.port),
    ] {
        ask("/api/server", host, "").refused(403, "wrong_host");
    }
    for header in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Origin: https://127.0.0.1\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
    ] {
        ask("/api/server", &own, header).refused(403, "foreign_origin");
    }
    for header in [&format!("Origin: http://{own}\r\n"), "Sec-Fetch-Site: same-origin\r\n", "Sec-Fetch-Site: none\r\n"] {
        assert_eq!(ask("/api/server", &own, header).status, 200, "{header}");
    }
    // A link to the page is no attack, a link to the interface would be.
    assert_ne!(ask("/", &own, "Sec-Fetch-Site: cross-site\r\n").status, 403);
    for host in ["localhost", "LOCALHOST"] {
        assert_eq!(ask("/api/server", &format!("{host}:{}", server.port), "").status, 200, "{host}");
    }
}

#[test]
fn every_answer_has_the_security_headers() {
    let server = Server::start(&[]);
    for answer in [
        server.get("/"),
        server.get("/api/server"),
        server.get("/api/sessions/none"),
        server.raw(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
    ] {
        for part in [
            "content-security-policy: default-src 'none'",
            "x-content-type-options: nosniff",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            // Two named policies, and no other: the framework's for its templates, the page's for
            // its worker.
            "; trusted-types svelte-trusted-html rorqual-worker\r\n",
            "; worker-src 'self';",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
            "referrer-policy: no-referrer",
        ] {
            assert!(answer.head.contains(part), "{part} is missing in {}", answer.head);
        }
    }
}

#[test]
fn a_finished_session_takes_no_more() {
    let server = Server::start(&[]);
    let body = log(100);
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, &body).status, 200);
    server.put(&id, 0, &body).refused(409, "finished");
    server.put(&id, body.len(), b"more").refused(409, "finished");
    Truth::of(&body).check(&server.live(&id)["report"]);
}

#[test]
fn a_wrong_offset_is_told_the_right_one() {
    let server = Server::start(&[]);
    let body = log(1_000);
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 1, &body).refused(409, "offset_mismatch")["offset"], 0);
    let first = server.put(&id, 0, &body[..5_001]);
    assert_eq!((first.status, &first.json()["state"]), (200, &"waiting".into()));
    for offset in [0, 5_000, 5_002] {
        assert_eq!(server.put(&id, offset, b"x").refused(409, "offset_mismatch")["offset"], 5_001);
    }
    assert_eq!(server.put(&id, 5_001, &body[5_001..]).status, 200);
    assert_eq!(report(&server, &id), undisturbed(&server, &body));
}

#[test]
fn a_dropped_connection_goes_on_where_it_was() {
    let server = Server::start(&[]);
    let plain = log(30_000);
    for body in [plain.clone(), gzip(&plain), zstd_frame(&plain)] {
        let id = server.session_of(body.len());
        let mut offset = 0;
        // Anywhere in a line, a block, a compressed block.
        for sent in [10, body.len() / 3, body.len() / 2 + 1] {
            let mut stream = server.begin_put(&id, offset, (body.len() - offset) as u64);
            stream.write_all(&body[offset..sent]).expect("it listens");
            stream.shutdown(Shutdown::Both).expect("it is open");
            let live = server.when_state(&id, "interrupted");
            assert_eq!(live["session"]["error"]["code"], "interrupted");
            offset = live["session"]["offset"].as_u64().expect("a number") as usize;
            assert!(offset <= sent);
        }
        put_to_the_end(&server, &id, offset, &body);
        let interrupted = report(&server, &id);
        assert_eq!(interrupted, undisturbed(&server, &body));
        Truth::of(&plain).check(&interrupted);
    }
}

/// Sends the rest as a client should: a connection that broke off a moment ago may still be taken
/// in, and then the server says that it is busy, or where to go on.
fn put_to_the_end(server: &Server, id: &str, mut offset: usize, body: &[u8]) {
    for _attempt in 0..1_000 {
        let answer = server.put(id, offset, &body[offset..]);
        if answer.status == 200 {
            return;
        }
        let error = &answer.json()["error"];
        match error["code"].as_str() {
            Some("busy") => std::thread::yield_now(),
            Some("offset_mismatch") => offset = error["offset"].as_u64().expect("a number") as usize,
            _ => panic!("{answer:?}"),
        }
    }
    panic!("busy or elsewhere a thousand times");
}

#[test]
fn two_uploads_into_one_session_do_not_mix() {
    let server = Server::start(&[]);
    let body = log(5_000);
    let id = server.session_of(body.len());
    let mut first = server.begin_put(&id, 0, body.len() as u64);
    first.write_all(&body[..100_000]).expect("it listens");
    server.when_state(&id, "receiving");
    server.put(&id, 0, &body).refused(409, "busy");
    first.write_all(&body[100_000..]).expect("it listens");
    assert_eq!(read_answer(&mut first).status, 200);
    Truth::of(&body).check(&server.live(&id)["report"]);
}

#[test]
fn a_full_server_says_when_to_come_again() {
    let server = Server::start(&["--sessions", "2"]);
    let first = server.session_of(10);
    let _second = server.session_of(10);
    let answer = server.request("POST", "/api/sessions", b"{}");
    answer.refused(503, "sessions_full");
    assert!(answer.head.contains("retry-after: "), "{}", answer.head);
    assert_eq!(server.request("DELETE", &format!("/api/sessions/{first}"), b"").status, 204);
    let _third = server.session_of(10);
}

#[test]
fn an_unknown_format_of_the_servers_own_file_is_told_to_its_operator() {
    let folder = TestFolder::new();
    let server = Server::start(&[&folder.file("poem.log", "Call me Ishmael.\nSome years ago\n")]);
    let id = server.get("/api/sessions").json()["sessions"][0]["id"].as_str().expect("a session").to_owned();
    server.when(&id, "the end", |live| live["session"]["state"] == "failed");
    let message = server.live(&id)["session"]["error"]["message"].as_str().expect("a message").to_owned();
    assert!(message.ends_with("Some years ago\nStart the server anew with the format of this log"), "{message}");
}

#[test]
fn an_unknown_format_shows_the_first_lines() {
    let server = Server::start(&[]);
    let body = b"Call me Ishmael.\nSome years ago\n<script>alert(1)</script>\n";
    let id = server.session_of(body.len());
    let error = server.put(&id, 0, body).refused(422, "unknown_format");
    assert_eq!(error["lines"][0], "Call me Ishmael.");
    assert_eq!(error["lines"][2], "<script>alert(1)</script>");
    // A sender has fields, and no flags.
    let message = error["message"].as_str().expect("a message");
    let shown =
        "known log formats. It starts with:\n  Call me Ishmael.\n  Some years ago\n  <script>alert(1)</script>\nSend it anew";
    assert!(message.contains(shown) && message.contains("?format=") && message.contains("\"format\""), "{message}");
    assert!(!message.contains("--"), "{message}");
    let live = server.live(&id);
    assert_eq!((&live["session"]["state"], &live["session"]["error"]["code"]), (&"failed".into(), &"unknown_format".into()));
    assert!(live["report"].is_null());
    let given = server.session(&json!({"name": "poem", "size": body.len(), "format": "$remote_user"}));
    assert_eq!(server.put(&given, 0, body).status, 200);
    assert_eq!(server.live(&given)["report"]["lines"]["parsed"], 3);
}

#[test]
fn a_damaged_upload_keeps_what_came_before() {
    let server = Server::start(&[]);
    let stored = gzip(&log(20_000));
    let body = &stored[..stored.len() - 20];
    let id = server.session_of(body.len());
    server.put(&id, 0, body).refused(422, "bad_input");
    let live = server.live(&id);
    assert_eq!((&live["session"]["state"], &live["report"]["complete"]), (&"failed".into(), &false.into()));
    assert!(live["report"]["lines"]["parsed"].as_u64() > Some(10_000));
}

#[test]
fn bad_requests_are_told() {
    let server = Server::start(&[]);
    for body in [&b""[..], b"no json", b"{\"nam\": 1}", b"[]"] {
        server.request("POST", "/api/sessions", body).refused(400, "bad_request");
    }
    server.request("POST", "/api/sessions", br#"{"format": ""}"#).refused(400, "bad_format");
    server.request("POST", "/api/sessions", &vec![b' '; 1 << 20]).refused(413, "too_long");
    let long = json!({"name": "n".repeat(2_000)}).to_string();
    server.request("POST", "/api/sessions", long.as_bytes()).refused(400, "bad_request");
    for target in ["/api/sessions/none", "/api/sessions/none/live", "/api/sessions/none/histogram"] {
        server.get(target).refused(404, "no_session");
    }
    server.put("none", 0, b"x").refused(404, "no_session");
    let id = server.session_of(1);
    for query in ["offset=-1", "offset=x", "offset=", "ofset=0", "offset=0&offset=0"] {
        server.request("PUT", &format!("/api/sessions/{id}/data?{query}"), b"x").refused(400, "bad_request");
    }
    for query in ["from=NaN", "to=inf", "from=-Infinity", "from=x", "buckets=-1", "buckets=0", "bucket=1"] {
        server.get(&format!("/api/sessions/{id}/histogram?{query}")).refused(400, "bad_request");
    }
    for (method, target) in [("PATCH", "/api/sessions"), ("GET", "/api/sessions/x/data"), ("DELETE", "/api/server")] {
        let answer = server.request(method, target, b"");
        answer.refused(405, "method_not_allowed");
        assert!(answer.head.contains("allow: "), "{}", answer.head);
    }
    for (method, target) in [("GET", "/no/such/page"), ("GET", "/api/no"), ("POST", "/api/no"), ("GET", "/api/sessions/a/b")] {
        server.request(method, target, b"").refused(404, "not_found");
    }
    server.get("/api/sessions/%ff").refused(404, "no_session");
}

#[test]
fn the_format_is_not_judged_by_a_first_drop() {
    let server = Server::start(&[]);
    let body = log(1_000);
    let id = server.session_of(6 + body.len());
    // A body that ends, and says nothing of the format; then one that is as short; then the rest.
    assert_eq!(server.put(&id, 0, b"odd").status, 200);
    assert_eq!(server.put(&id, 3, b"ly\n").json()["state"], "waiting");
    assert!(server.live(&id)["report"].is_null());
    assert_eq!(server.put(&id, 6, &body).status, 200);
    let lines = server.live(&id)["report"]["lines"].clone();
    assert_eq!((&lines["parsed"], &lines["rejected"]), (&1_000.into(), &1.into()));
    // An upload that never becomes a log is still refused, at its end.
    let id = server.session_of(12);
    assert_eq!(server.put(&id, 0, b"oddly\n").status, 200);
    server.put(&id, 6, b"odder\n").refused(422, "unknown_format");
}

#[test]
fn more_than_was_announced_is_refused() {
    let server = Server::start(&[]);
    let body = log(1_000);
    let id = server.session_of(body.len());
    let longer = [&body[..], b"and more\n"].concat();
    // Its length is announced: nothing of it is taken, and the session goes on.
    let error = server.put(&id, 0, &longer).refused(413, "too_long");
    assert_eq!(error["size"], body.len());
    assert_eq!(server.live(&id)["session"]["offset"], 0);
    // It is not: the announced bytes are analysed, and the answer says so.
    let mut stream = server.connect();
    let head = server.head("PUT", &format!("/api/sessions/{id}/data"));
    stream.write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", longer.len()).as_bytes()).expect("it listens");
    stream.write_all(&longer).expect("it listens");
    stream.write_all(b"\r\n0\r\n\r\n").expect("it listens");
    read_answer(&mut stream).refused(413, "too_long");
    let live = server.live(&id);
    assert_eq!((&live["session"]["state"], &live["session"]["offset"]), (&"finished".into(), &body.len().into()));
    Truth::of(&body).check(&live["report"]);
}

#[test]
fn an_interrupted_upload_gives_its_place_to_a_new_session_oldest_first() {
    let server = Server::start(&["--sessions", "2"]);
    let body = log(2_000);
    let interrupted = || {
        let id = server.session_of(body.len());
        let mut stream = server.begin_put(&id, 0, body.len() as u64);
        stream.write_all(&body[..body.len() / 2]).expect("it listens");
        server.when(&id, "half is taken", |live| live["session"]["offset"] == body.len() / 2);
        stream.shutdown(Shutdown::Both).expect("it is open");
        server.when_state(&id, "interrupted");
        id
    };
    let (older, newer) = (interrupted(), interrupted());
    // Its sender may come back at once.
    server.request("POST", "/api/sessions", b"{}").refused(503, "sessions_full");
    eventually("a place", || Some(server.request("POST", "/api/sessions", b"{}")).filter(|answer| answer.status == 201));
    let live = server.live(&older);
    assert_eq!((&live["session"]["state"], &live["session"]["error"]["code"]), (&"failed".into(), &"displaced".into()));
    assert!(live["report"]["lines"]["parsed"].as_u64() > Some(0), "what was analysed stays");
    assert_eq!(server.put(&newer, body.len() / 2, &body[body.len() / 2..]).status, 200);
    Truth::of(&body).check(&server.live(&newer)["report"]);
}

#[test]
fn a_report_has_a_limit_whatever_the_values() {
    let server = Server::start(&[]);
    // Six bytes of JSON for one of the log, in several fields.
    let value = |number: u64| format!("{number}{}", "\u{1}".repeat(900));
    let line = |number| {
        let value = value(number);
        format!("10.0.0.1 - {value} [02/Jan/2025:00:00:00 +0000] \"GET /{value} HTTP/1.1\" 200 1 \"{value}\" \"{value}\"\n")
    };
    let body: String = (0..200).map(line).collect();
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, body.as_bytes()).status, 200);
    let answer = server.get(&format!("/api/sessions/{id}"));
    assert!(answer.body.len() < (512 << 10) + (4 << 10), "{} bytes", answer.body.len());
    let report = answer.json()["report"].clone();
    let rows = panel(&report, "path")["rows"].as_array().map_or(0, Vec::len);
    assert!((1..100).contains(&rows), "{rows} rows");
    assert_eq!(panel(&report, "path")["distinct"]["count"], 200);
}

#[test]
fn a_client_that_sends_everything_first_reads_the_refusal() {
    let server = Server::start(&[]);
    // More than the kernel takes on its way.
    let body = vec![b'x'; 64 << 20];
    let host = format!("Host: 127.0.0.1:{}\r\n", server.port);
    let stranger = format!("PUT /api/sessions/x/data HTTP/1.1\r\n{host}");
    for (head, status, code) in [(stranger, 401, "no_token"), (server.head("PUT", "/api/sessions/x/data"), 404, "no_session")] {
        let mut stream = server.connect();
        stream
            .write_all(format!("{head}Connection: close\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes())
            .expect("it listens");
        stream.write_all(&body).expect("it is read to its end");
        read_answer(&mut stream).refused(status, code);
    }
}

#[test]
fn a_client_that_has_closed_its_half_gets_its_answer() {
    let server = Server::start(&[]);
    let body = log(2_000);
    let id = server.session_of(body.len());
    let mut stream = server.begin_put(&id, 0, body.len() as u64);
    stream.write_all(&body).expect("it listens");
    stream.shutdown(Shutdown::Write).expect("it is open");
    assert_eq!(read_answer(&mut stream).status, 200);
}

#[test]
fn cancel_keeps_what_was_parsed_and_delete_forgets() {
    let server = Server::start(&[]);
    let body = log(50_000);
    let id = server.session(&json!({"name": "test.log"}));
    let mut upload = server.begin_put(&id, 0, 10 * body.len() as u64);
    upload.write_all(&body).expect("it listens");
    server.when(&id, "everything is parsed", |live| live["report"]["lines"]["parsed"] == 50_000);
    // The upload is silent now, and must not hold the cancel until its time is over.
    let started = std::time::Instant::now();
    let cancelled = server.request("POST", &format!("/api/sessions/{id}/cancel"), b"");
    assert_eq!((cancelled.status, &cancelled.json()["state"]), (200, &"cancelled".into()));
    assert!(started.elapsed().as_secs() < 30, "a cancel took {:?}", started.elapsed());
    let live = server.live(&id);
    assert_eq!((&live["report"]["complete"], &live["report"]["lines"]["parsed"]), (&false.into(), &50_000.into()));
    assert_eq!(server.request("DELETE", &format!("/api/sessions/{id}"), b"").status, 204);
    server.get(&format!("/api/sessions/{id}")).refused(404, "no_session");
    assert_eq!(server.get("/api/sessions").json()["sessions"], json!([]));
}

#[test]
fn a_session_that_never_began_can_be_cancelled() {
    let server = Server::start(&[]);
    let id = server.session_of(10);
    let cancelled = server.request("POST", &format!("/api/sessions/{id}/cancel"), b"");
    assert_eq!(cancelled.json()["state"], "cancelled");
    server.put(&id, 0, b"0123456789").refused(409, "finished");
}

#[test]
fn sessions_side_by_side_know_nothing_of_each_other() {
    let server = Server::start(&["--sessions", "4", "--memory", "1GiB"]);
    let bodies: Vec<Vec<u8>> = (1..=4).map(|factor| log(factor * 4_000)).collect();
    std::thread::scope(|scope| {
        for body in &bodies {
            let server = &server;
            scope.spawn(move || {
                let id = server.session_of(body.len());
                assert_eq!(server.put(&id, 0, body).status, 200);
                Truth::of(body).check(&server.live(&id)["report"]);
            });
        }
    });
    assert_eq!(server.get("/api/sessions").json()["sessions"].as_array().map(Vec::len), Some(4));
}

#[test]
fn an_upload_of_unknown_length_in_chunks_of_one_byte() {
    let server = Server::start(&[]);
    let body = log(200);
    let id = server.session(&json!({"name": "test.log"}));
    let mut stream = server.connect();
    stream.set_nodelay(true).expect("a socket");
    let head = server.head("PUT", &format!("/api/sessions/{id}/data"));
    stream.write_all(format!("{head}Transfer-Encoding: chunked\r\n\r\n").as_bytes()).expect("it listens");
    for byte in &body {
        stream.write_all(&[b'1', b'\r', b'\n', *byte, b'\r', b'\n']).expect("it listens");
    }
    stream.write_all(b"0\r\n\r\n").expect("it listens");
    let answer = read_answer(&mut stream);
    assert_eq!((answer.status, &answer.json()["state"]), (200, &"finished".into()));
    // The format is guessed from the lines that have come after a while, which may not be all.
    let without_guess = |mut report: Value| {
        let guess = report["sources"][0]["guess"].take();
        assert!(guess["lines"].as_u64() > Some(0) && guess["lines"] == guess["sound"], "{guess}");
        report
    };
    assert_eq!(without_guess(report(&server, &id)), without_guess(undisturbed(&server, &body)));
}

#[test]
fn a_slow_trickle_shows_as_it_comes() {
    let server = Server::start(&[]);
    let id = server.session(&json!({"name": "test.log"}));
    let mut upload = server.begin_put(&id, 0, 1 << 20);
    for number in 0..4 {
        upload.write_all((line(number) + "\n").as_bytes()).expect("it listens");
        server.when(&id, "the line shows", |live| live["report"]["lines"]["parsed"] == number + 1);
    }
}

#[test]
fn a_gzip_that_begins_with_single_bytes_is_recognised() {
    let server = Server::start(&[]);
    let body = gzip(&log(1_000));
    let id = server.session_of(body.len());
    for offset in 0..5 {
        // A body of its own each: the block is handed on at its end.
        let answer = server.put(&id, offset, &body[offset..=offset]);
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    assert_eq!(server.put(&id, 5, &body[5..]).status, 200);
    Truth::of(&log(1_000)).check(&server.live(&id)["report"]);
}

#[test]
fn live_events_end_with_end() {
    let server = Server::start(&[]);
    let body = log(20_000);
    let id = server.session_of(body.len());
    let mut watcher = server.connect();
    watcher.write_all(format!("{}\r\n", server.head("GET", &format!("/api/sessions/{id}/live"))).as_bytes()).expect("it listens");
    let mut reader = BufReader::new(watcher);
    while !matches!(line_of(&mut reader).as_str(), "\r\n" | "") {}
    let mut texts = chunks(reader);
    assert!(texts.next().is_some_and(|text| text.starts_with("event: live\n")), "the first comes at once");
    assert_eq!(server.put(&id, 0, &body).status, 200);
    let rest: String = texts.collect();
    let events: Vec<&str> = rest.split_inclusive("\n\n").collect();
    let (end, before) = events.split_last().expect("it ends");
    assert_eq!(*end, "event: end\ndata: {}\n\n", "nothing follows it");
    let last = before.last().expect("a state before the end");
    let last = last.trim_start_matches("event: live\n").strip_prefix("data: ").expect("data");
    let last: Value = serde_json::from_str(last).expect("JSON");
    assert_eq!((&last["session"]["state"], &last["report"]["complete"]), (&"finished".into(), &true.into()));
}

fn line_of(reader: &mut impl BufRead) -> String {
    let mut line = String::new();
    reader.read_line(&mut line).expect("text");
    line
}

#[test]
fn files_of_the_command_line_are_sessions_where_it_is_asked_for() {
    let folder = crate::common::TestFolder::new();
    let (one, two) = (folder.file("one", log(3_000)), folder.file("two", gzip(&log(2_000))));
    let server = Server::start(&["--separate", &one, &two]);
    let sessions = server.get("/api/sessions").json()["sessions"].clone();
    assert_eq!((&sessions[0]["name"], &sessions[1]["name"]), (&two.as_str().into(), &one.as_str().into()));
    for (session, count) in [(&sessions[1], 3_000), (&sessions[0], 2_000)] {
        let id = session["id"].as_str().expect("an id");
        let live = server.when_state(id, "finished");
        Truth::of(&log(count)).check(&live["report"]);
    }
}

#[test]
fn the_histogram_of_a_span_counts_the_lines_in_it() {
    let server = Server::start(&[]);
    let body = log(7_200);
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, &body).status, 200);
    let start = 1_735_776_000; // 2025-01-02T00:00:00Z
    let target = format!("/api/sessions/{id}/histogram?from={}&to={}&buckets=20", start + 600, start + 1_800);
    let histogram = server.get(&target).json();
    let hits: u64 = histogram["series"]
        .as_array()
        .expect("series")
        .iter()
        .flat_map(|series| series["hits"].as_array().expect("hits"))
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!(hits, 1_200);
    assert_eq!(histogram["bucket_seconds"], 60);
}

#[test]
fn the_sample_is_built_in() {
    let server = Server::start(&[]);
    let id = server.session(&json!({"sample": true}));
    let live = server.when_state(&id, "finished");
    assert_eq!(live["report"]["lines"]["total"], 10_000);
}

#[test]
fn an_interrupt_ends_the_server_even_in_the_middle_of_an_upload() {
    let server = Server::start(&["--grace", "0"]);
    let id = server.session_of(1 << 20);
    let mut upload = server.begin_put(&id, 0, 1 << 20);
    upload.write_all(&log(100)).expect("it listens");
    server.when_state(&id, "receiving");
    server.running.interrupt();
    let _ = server.running.wait().exits(0);
}

#[test]
fn a_taken_port_and_bad_files_are_told() {
    let server = Server::start(&[]);
    let port = server.port.to_string();
    let ran = rorqual(&["serve", "--port", &port]).run().exits(2);
    ran.says(&["cannot listen", &port, "--port"]);
    let folder = TestFolder::new();
    let (missing, fifo) = (folder.text("missing"), folder.text("fifo"));
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo").success());
    // Nothing is left to show.
    let ran = rorqual(&["serve", "--port", "0", &missing, &fifo]).run().exits(2);
    ran.says(&[&missing, "cannot open", &fifo, "not a regular file"]);
    let good = folder.file("good", log(10));
    let server = Server::start(&[&missing, &good, &fifo]);
    let sessions = server.get("/api/sessions").json()["sessions"].clone();
    assert_eq!((sessions.as_array().map(Vec::len), &sessions[0]["name"]), (Some(1), &good.as_str().into()));
    server.running.interrupt();
    server.running.wait().exits(2).says(&[&missing, &fifo]);
}

#[test]
fn flags_that_do_nothing_here_are_refused_and_stats_are_told() {
    rorqual(&["serve", "--port", "0", "--progress", "always"]).run().exits(2).says(&["--progress", "page"]);
    let many = rorqual(&["serve", "--port", "0", "--memory", "512MiB", "--sessions", "3000"]).run().exits(2);
    many.says(&["3000 x ", "latest reports", "connections", "or --sessions 1 or fewer --connections."]);
    // The memory that a refusal names is enough, however little was given.
    for sessions in ["1", "4", "100"] {
        let refused = rorqual(&["serve", "--port", "0", "--memory", "1MiB", "--sessions", sessions]).run().exits(2);
        drop(Server::start(&["--memory", &advised(&refused.stderr), "--sessions", sessions]));
    }
    let server = Server::start(&["--stats"]);
    let body = log(100);
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, &body).status, 200);
    assert_eq!(server.request("DELETE", &format!("/api/sessions/{id}"), b"").status, 204);
    server.session(&json!({"name": "another"}));
    server.running.interrupt();
    let ran = server.running.wait().exits(0);
    let stats: Value = serde_json::from_str(ran.stderr.lines().last().expect("a line")).expect("JSON");
    assert_eq!((&stats["sessions"], &stats["stored_bytes"]), (&2.into(), &body.len().into()));
}

#[test]
fn the_token_is_in_no_argument_of_the_browser() {
    let folder = TestFolder::new();
    let browser = folder.file(
        "xdg-open",
        "#!/bin/sh\ncp -p \"$1\" \"$SAW/page\"\necho \"$@\" > \"$SAW/new\"\nmv \"$SAW/new\" \"$SAW/arguments\"\n",
    );
    std::fs::set_permissions(&browser, PermissionsExt::from_mode(0o755)).expect("our file");
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let temporary = folder.at("tmp");
    std::fs::create_dir(&temporary).expect("our folder");
    let server = Server::start_as(rorqual(&["serve", "--port", "0", "--open"]).with(|command| {
        command.env("PATH", path).env("SAW", folder.path()).env("TMPDIR", &temporary).env_remove("XDG_RUNTIME_DIR");
    }));
    let arguments = eventually("the browser", || std::fs::read_to_string(folder.at("arguments")).ok());
    assert!(!arguments.contains(&server.token), "{arguments}");
    let page = arguments.trim();
    assert!(page.starts_with(temporary.to_str().expect("a path of ours")) && page.ends_with(".html"), "{page}");
    assert_eq!(std::fs::metadata(page).expect("it is there").permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(folder.at("page")).expect("a copy");
    assert!(text.contains(&format!("http://127.0.0.1:{}/?token={}", server.port, server.token)), "{text}");
    // From that page, which is another site to the browser, a redirect would not carry the cookie.
    let head = server.head("GET", &format!("/?token={}", server.token));
    let entered = server.raw(format!("{head}Sec-Fetch-Site: cross-site\r\n\r\n").as_bytes());
    assert_eq!(entered.status, 200);
    assert!(entered.head.contains("set-cookie: ") && entered.body.contains("url=/"), "{entered:?}");
    server.running.interrupt();
    let _ = server.running.wait().exits(0);
    assert!(!std::path::Path::new(page).exists(), "it is removed");
}

#[test]
fn requests_that_never_end_do_not_hold_the_server() {
    let server = Server::start(&[]);
    let started = Instant::now();
    let stalled: Vec<_> = (0..200)
        .map(|_| {
            let mut stream = server.connect();
            stream.write_all(b"GET / HTTP/1.1\r\nHo").expect("it listens");
            stream
        })
        .collect();
    let answer: Answer = server.get("/api/server");
    assert_eq!(answer.status, 200);
    // Did they not give way, each round of 16 places would take the ten seconds that a head may
    // take: two minutes.
    assert!(started.elapsed() < Duration::from_secs(60), "after {:?}", started.elapsed());
    drop(stalled);
}

//! Promise 1 for the server: an upload of any size at any pace, in the memory given, and no copy of
//! it on the disk.

use crate::client::{Server, read_answer};
use crate::common::{GIB, MIB, Truth, eventually, log};
use rorqual_testkit::generate::{DistinctLog, write_lines};
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

const DEFAULT: u64 = GIB;

/// Bytes that the kernel may hold between the two ends of a connection, and the server's own blocks
/// on top.
fn in_flight_max() -> u64 {
    let max = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap_or_default();
        text.split_whitespace().last().and_then(|bytes| bytes.parse().ok()).unwrap_or(32 * MIB)
    };
    max("tcp_rmem") + max("tcp_wmem") + 16 * MIB
}

/// Sends `block` over and over, counting the bytes that the kernel took.
fn send(mut stream: TcpStream, block: &[u8], times: u64, sent: &AtomicU64) -> TcpStream {
    for _ in 0..times {
        stream.write_all(block).expect("it listens");
        sent.fetch_add(block.len() as u64, Ordering::Relaxed);
    }
    stream
}

#[test]
fn an_upload_of_2_gib_into_a_slow_analysis() {
    let server = Server::start(&["--limit-rate", "200MiB"]);
    let block = log(9_000);
    let times = 2 * GIB / block.len() as u64;
    let bytes = times * block.len() as u64;
    let id = server.session(&json!({"name": "test.log", "size": bytes}));
    let stream = server.begin_put(&id, 0, bytes);
    let (sent, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let written_before = server.running.disk_write_bytes();
    let truth = Truth::of(&block).times(times);
    let sender = {
        let (sent, done) = (Arc::clone(&sent), Arc::clone(&done));
        std::thread::spawn(move || {
            let stream = send(stream, &block, times, &sent);
            done.store(true, Ordering::Relaxed);
            stream
        })
    };
    let mut ahead_max = 0;
    while !done.load(Ordering::Relaxed) {
        // Read first: the bytes sent by now can't be more than those taken by then and those on
        // their way.
        let sent = sent.load(Ordering::Relaxed);
        let offset = server.live(&id)["session"]["offset"].as_u64().expect("a number");
        ahead_max = ahead_max.max(sent.saturating_sub(offset));
        std::thread::sleep(Duration::from_millis(20));
    }
    let answer = read_answer(&mut sender.join().expect("it sends"));
    assert_eq!((answer.status, &answer.json()["state"]), (200, &"finished".into()));
    assert!(ahead_max < in_flight_max(), "the sender was {} MiB ahead", ahead_max / MIB);
    truth.check(&server.live(&id)["report"]);
    assert!(server.running.peak_bytes() <= DEFAULT, "peak {} MiB", server.running.peak_bytes() / MIB);
    let written = server.running.disk_write_bytes() - written_before;
    // Rows that do not fit the memory are, compressed; the log is not.
    assert!(written < bytes / 20, "{} KiB were written to disk", written >> 10);
}

#[test]
fn a_silent_run_stops_the_sender() {
    // A block takes minutes: further bytes have to wait in the sender.
    let server = Server::start(&["--limit-rate", "1KiB"]);
    let id = server.session(&json!({"name": "test.log"}));
    let stream = server.begin_put(&id, 0, GIB);
    let sent = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&sent);
    stream.set_write_timeout(Some(Duration::from_secs(2))).expect("a valid time");
    let block = log(9_000);
    let blocked = std::thread::spawn(move || {
        let mut stream = stream;
        while stream.write_all(&block).is_ok() {
            counted.fetch_add(block.len() as u64, Ordering::Relaxed);
        }
        stream
    });
    // The kernel takes no more for two seconds: that is the back pressure.
    let stream = blocked.join().expect("it sends until it may not");
    let sent = sent.load(Ordering::Relaxed);
    assert!(sent < in_flight_max(), "{} MiB went into a server that takes nothing", sent / MIB);
    drop(stream);
}

#[test]
fn many_sessions_one_after_another_and_side_by_side() {
    let server = Server::start(&["--sessions", "4", "--memory", "1GiB"]);
    // More distinct values than a session's share has room for, so that every table is full.
    let mut body = Vec::new();
    write_lines(&mut DistinctLog::new(96 * MIB, 3), 96 * MIB, &mut body).expect("a Vec takes everything");
    for _round in 0..4 {
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let id = server.session_of(body.len());
                    assert_eq!(server.put(&id, 0, &body).status, 200);
                });
            }
        });
    }
    let peak = server.running.peak_bytes();
    assert!(peak <= GIB, "peak {} MiB", peak / MIB);
}

#[test]
fn sessions_that_are_deleted_in_the_middle_give_their_memory_back() {
    let server = Server::start(&[]);
    let mut body = Vec::new();
    write_lines(&mut DistinctLog::new(48 * MIB, 3), 48 * MIB, &mut body).expect("a Vec takes everything");
    for _ in 0..20 {
        let id = server.session(&json!({"name": "test.log"}));
        let mut upload = server.begin_put(&id, 0, GIB);
        upload.write_all(&body).expect("it listens");
        assert_eq!(server.request("DELETE", &format!("/api/sessions/{id}"), b"").status, 204);
    }
    let peak = server.running.peak_bytes();
    assert!(peak <= DEFAULT, "peak {} MiB", peak / MIB);
}

/// Once all blocks are gone, no upload goes on.
#[test]
fn uploads_that_fail_give_their_blocks_back() {
    let server = Server::start(&["--sessions", "60", "--memory", "512MiB"]);
    let body = log(1_000);
    let mut damaged = rorqual_testkit::paths::gzip(&body);
    damaged[300..304].copy_from_slice(b"xxxx");
    let upload = |bytes: &[u8]| server.request("PUT", "/api/upload/x", bytes).status;
    for _ in 0..20 {
        assert_eq!(upload(b"ab\ncd\nef"), 422);
        assert_eq!(upload(&rorqual_testkit::paths::gzip(b"ab\r\ncd\r\nef")), 422);
        assert_eq!(upload(&damaged), 422);
        // Half of it, and gone.
        let id = server.session_of(1 << 30);
        assert_eq!(server.put(&id, 0, &body[..body.len() / 2 + 5]).status, 200);
    }
    assert_eq!(server.get("/api/vitals").json()["pool_lent_bytes"], 0);
    assert_eq!(upload(&body), 201);
}

/// A client that left delays the others for a short time only, whatever the length of its
/// unfinished line.
#[test]
fn the_starts_of_long_lines_are_given_back_by_who_is_away() {
    let server = Server::start(&["--sessions", "60", "--memory", "512MiB"]);
    let mut long = log(10);
    long.extend(std::iter::repeat_n(b'x', 20_000));
    // Part of a log: all of them wait for the rest.
    let part = |id: &str| {
        let offset = server.live(id)["session"]["offset"].as_u64().expect("an offset") as usize;
        server.put(id, offset, &long[offset..]).status
    };
    let ids: Vec<String> = (0..40).map(|_| server.session_of(1 << 20)).collect();
    let statuses: Vec<u16> = ids.iter().map(|id| part(id)).collect();
    let taken = statuses.iter().filter(|status| **status == 200).count();
    // On a slow machine some places come back meanwhile.
    assert!(taken >= 32 && statuses.iter().all(|status| [200, 503].contains(status)), "{statuses:?}");
    eventually("a place", || (part(&ids[39]) == 200).then_some(()));
    assert_eq!(server.get("/api/vitals").json()["pool_lent_bytes"], 0);
}

/// A zstd frame and an xz stream, each with a window of 8 MiB, of which all is used.
fn with_large_windows(lines: u64) -> [Vec<u8>; 2] {
    // Few lines, of one value each: their rows are small.
    let agent = "x".repeat(30_000);
    let line = format!("10.0.0.1 - - [02/Jan/2025:00:00:00 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"{agent}\"\n");
    let body = line.repeat(lines as usize);
    let mut frame = zstd::Encoder::new(Vec::new(), 1).expect("a Vec takes everything");
    frame.window_log(23).expect("a window");
    frame.write_all(body.as_bytes()).expect("a Vec takes everything");
    let greedy = rorqual_testkit::paths::greedy_encodings(body.as_bytes());
    let (_, xz) = greedy.into_iter().find(|(name, _)| *name == "xz").expect("one of them");
    [frame.finish().expect("a Vec takes everything"), xz]
}

#[test]
fn decoders_and_their_windows_go_with_the_ends_of_their_logs() {
    const WINDOW: u64 = 8 * MIB;
    const LINES: u64 = 10 * MIB / 30_000;
    let server = Server::start(&["--sessions", "16", "--memory", "1GiB"]);
    let logs = with_large_windows(LINES);
    let round = || {
        for body in &logs {
            let id = server.session_of(body.len());
            assert_eq!(server.put(&id, 0, body).status, 200);
            assert_eq!(server.live(&id)["report"]["lines"]["parsed"], LINES);
        }
        server.vitals()["resident_bytes"].as_u64().expect("a number")
    };
    let before = round();
    let rounds = 6;
    let after = (0..rounds).fold(None, |_, _| Some(round())).expect("some rounds");
    // Two sessions each, which all stay, with their rows and reports.
    let risen = after.saturating_sub(before);
    assert!(risen < rounds * WINDOW / 2, "{} MiB more", risen / MIB);
}

#[test]
fn what_ends_a_run_at_its_start_is_answered_however_much_comes_and_the_next_log_is_taken() {
    let server = Server::start(&["--sessions", "8"]);
    let noise: Vec<u8> = (0..5 * MIB).map(|number| (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8).collect();
    let mut bodies = vec![("unknown_format", "this is no log at all\n".repeat(250_000).into_bytes())];
    for magic in [&b"\x1f\x8b\x08\x00"[..], b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\x00", b"BZh91AY&SY"] {
        bodies.push(("bad_input", [magic, &noise[..]].concat()));
    }
    for (code, body) in bodies {
        let id = server.session_of(body.len());
        server.put(&id, 0, &body).refused(422, code);
        assert_eq!(server.live(&id)["session"]["error"]["code"], code);
        // It has given back all that the next needs.
        let log = log(20_000);
        let id = server.session_of(log.len());
        assert_eq!(server.put(&id, 0, &log).status, 200);
        assert_eq!(server.live(&id)["report"]["lines"]["parsed"], 20_000);
        assert_eq!(server.vitals()["pool_lent_bytes"], 0);
    }
}

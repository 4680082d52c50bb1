//! Transfers that break off, at every place.

use crate::common::{Folder, PIECE, run, settings, sha256};
use rorqual_fetch::FetchErrorKind;
use rorqual_testkit::http::{GeneratedContent, HttpReply, ResponseEnd, TestServer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[test]
fn every_size_whole_and_in_pieces() {
    for size in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE, 10 * PIECE + 5] {
        for parallel in [1, 3] {
            let (content, folder) = (GeneratedContent::new(size, size + 1), Folder::new());
            let server = TestServer::honest(&content);
            let mut fetch = settings(&server.url("/file"), &folder.target(), parallel);
            fetch.digests = vec![sha256(&content.all())];
            let ran = run(fetch);
            let fetched = ran.done();
            assert_eq!((fetched.size_bytes, fetched.received_bytes, fetched.resumed_bytes), (size, size, 0));
            assert_eq!(Some(fetched.digests[0]), sha256(&content.all()).expected);
            folder.has_only(&content);
            // Nothing comes twice.
            let requests = if parallel == 1 { 1 } else { size.div_ceil(PIECE).max(2 - size.min(1)) };
            assert_eq!(server.requests().len() as u64, requests, "{size} {parallel}");
        }
    }
}

#[test]
fn a_cut_at_any_byte_of_any_request_is_mended() {
    let content = GeneratedContent::new(5 * PIECE + 77, 1);
    for (parallel, end) in [(1, ResponseEnd::Close), (1, ResponseEnd::Reset), (3, ResponseEnd::Close), (3, ResponseEnd::Reset)] {
        for nth in 0..4 {
            for bytes in [0, 1, 100, PIECE / 2, PIECE - 1] {
                let folder = Folder::new();
                let (served, reached) = (content.clone(), Arc::new(AtomicBool::new(false)));
                let cut = Arc::clone(&reached);
                let server = TestServer::start(move |request| {
                    let reply = served.answer(request);
                    // The last piece is short, and may come at any place in the order.
                    if request.number != nth || reply.range.end - reply.range.start <= bytes {
                        return reply;
                    }
                    cut.store(true, Ordering::Relaxed);
                    reply.cut(bytes, end)
                });
                let mut fetch = settings(&server.url("/file"), &folder.target(), parallel);
                fetch.digests = vec![sha256(&content.all())];
                let ran = run(fetch);
                assert_eq!(ran.done().failures, u32::from(reached.load(Ordering::Relaxed)), "{parallel} {nth} {bytes}: {ran:?}");
                assert_eq!(ran.start_overs.len(), 0);
                assert!(
                    end == ResponseEnd::Reset || ran.done().received_bytes == content.size_bytes,
                    "what was there came again"
                );
                folder.has_only(&content);
            }
        }
    }
}

#[test]
fn a_failed_fetch_keeps_what_came_and_the_next_goes_on() {
    let content = GeneratedContent::new(8 * PIECE, 2);
    for parallel in [1, 3] {
        for cut in 1..8 {
            let folder = Folder::new();
            let served = content.clone();
            // Everything after some byte is out of reach.
            let broken = TestServer::start(move |request| {
                let reply = served.answer(request);
                let left = (cut * PIECE + 123).saturating_sub(reply.range.start);
                if reply.range.end - reply.range.start > left { reply.cut(left, ResponseEnd::Close) } else { reply }
            });
            let mut fetch = settings(&broken.url("/file"), &folder.target(), parallel);
            fetch.retries = 1;
            let ran = run(fetch);
            let error = ran.failed(FetchErrorKind::Broken);
            let claimed = folder.has_part_of(&content);
            assert_eq!(error.kept, Some((folder.at("file.part"), claimed)));
            assert!(claimed > 0 && claimed <= cut * PIECE + 123);
            if parallel == 1 {
                assert_eq!(claimed, cut * PIECE + 123);
            }
            drop(broken);
            // The same URL needs the same port; the sidecar is told of the other one instead.
            let server = TestServer::honest(&content);
            redirect_part(&folder, &server.url("/file"));
            let mut fetch = settings(&server.url("/file"), &folder.target(), parallel);
            fetch.digests = vec![sha256(&content.all())];
            let ran = run(fetch);
            assert_eq!((ran.done().resumed_bytes, ran.done().received_bytes), (claimed, content.size_bytes - claimed));
            folder.has_only(&content);
        }
    }
}

/// Makes the part one of `url`.
fn redirect_part(folder: &Folder, url: &str) {
    let path = folder.at("file.part.json");
    let mut record: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    record["url"] = url.into();
    std::fs::write(path, record.to_string()).unwrap();
}

#[test]
fn a_stall_is_ended_and_mended() {
    for parallel in [1, 3] {
        let (content, folder) = (GeneratedContent::new(4 * PIECE, 3), Folder::new());
        let served = content.clone();
        let server = TestServer::start(move |request| {
            let reply = served.answer(request);
            if request.number == 1 || (parallel == 1 && request.number == 0) {
                reply.cut(PIECE / 2, ResponseEnd::Stall)
            } else {
                reply
            }
        });
        let mut fetch = settings(&server.url("/file"), &folder.target(), parallel);
        fetch.idle_timeout = Duration::from_secs(1);
        let ran = run(fetch);
        ran.done();
        assert!(ran.retries[0].contains("no byte came for 1 s (\"idle_timeout\")"), "{ran:?}");
        folder.has_only(&content);
    }
}

#[test]
fn a_server_that_only_stalls_is_a_timeout_with_a_part() {
    let (content, folder) = (GeneratedContent::new(4 * PIECE, 3), Folder::new());
    let served = content.clone();
    let server = TestServer::start(move |request| served.answer(request).cut(PIECE / 2, ResponseEnd::Stall));
    let mut fetch = settings(&server.url("/file"), &folder.target(), 1);
    fetch.idle_timeout = Duration::from_secs(1);
    fetch.retries = 1;
    run(fetch).failed(FetchErrorKind::Timeout);
    assert_eq!(folder.has_part_of(&content), PIECE);

    let mut fetch = settings(&server.url("/file"), &folder.target(), 1);
    fetch.time_max = Some(Duration::from_secs(2));
    let ran = run(fetch);
    assert!(ran.failed(FetchErrorKind::Timeout).message.contains("(\"max_time\")"));
    assert_eq!(folder.has_part_of(&content), 3 * PIECE / 2);
}

#[test]
fn without_a_validator_it_starts_over() {
    for etag in ["", "W/\"weak\""] {
        let (mut content, folder) = (GeneratedContent::new(4 * PIECE, 4), Folder::new());
        content.etag = etag.to_owned();
        let served = content.clone();
        let server = TestServer::start(move |request| {
            let reply = served.answer(request);
            if request.number == 1 { reply.cut(PIECE + 5, ResponseEnd::Close) } else { reply }
        });
        let ran = run(settings(&server.url("/file"), &folder.target(), 3));
        ran.done();
        assert!(ran.start_overs[0].contains("no strong ETag"), "{ran:?}");
        assert!(ran.start_overs[1].contains("the transfer broke"), "{ran:?}");
        folder.has_only(&content);
    }
}

#[test]
fn last_modified_is_a_validator_too() {
    let (mut content, folder) = (GeneratedContent::new(4 * PIECE, 4), Folder::new());
    content.etag = String::new();
    content.last_modified = "Sun, 06 Nov 1994 12:00:00 GMT".to_owned();
    let served = content.clone();
    let server = TestServer::start(move |request| {
        let reply = served.answer(request);
        if request.number == 1 { reply.cut(5, ResponseEnd::Close) } else { reply }
    });
    let ran = run(settings(&server.url("/file"), &folder.target(), 2));
    assert_eq!((ran.done().received_bytes, ran.start_overs.len()), (content.size_bytes, 0));
    assert!(server.requests()[1..].iter().all(|request| request.header("if-range") == Some(&content.last_modified)));
    folder.has_only(&content);
}

#[test]
fn chunked_bodies_have_no_length_and_are_resumed_too() {
    let content = GeneratedContent::new(4 * PIECE, 5);
    for cut in [None, Some(0), Some(PIECE + 5)] {
        let folder = Folder::new();
        let served = content.clone();
        let server = TestServer::start(move |request| {
            let reply = served.answer(request);
            let reply = if reply.status == 200 { reply.chunked() } else { reply };
            match cut {
                Some(bytes) if request.number == 0 => reply.cut(bytes, ResponseEnd::Close),
                _ => reply,
            }
        });
        let ran = run(settings(&server.url("/file"), &folder.target(), 1));
        assert_eq!((ran.done().received_bytes, ran.done().length_told), (content.size_bytes, true));
        assert_eq!(ran.retries.len(), usize::from(cut.is_some()));
        folder.has_only(&content);
    }
}

#[test]
fn a_body_that_ends_with_the_connection_is_marked() {
    let (content, folder) = (GeneratedContent::new(4 * PIECE, 5), Folder::new());
    let served = content.clone();
    let server =
        TestServer::start(move |request| HttpReply { length: None, ..served.answer(request).cut(u64::MAX, ResponseEnd::Close) });
    let ran = run(settings(&server.url("/file"), &folder.target(), 1));
    assert!(!ran.done().length_told);
    folder.has_only(&content);
}

//! Servers that lie.

use crate::common::{Folder, PIECE, run, settings, sha256, wrong_digest};
use rorqual_fetch::FetchErrorKind;
use rorqual_testkit::http::{GeneratedContent, HttpReply, ResponseEnd, TestServer};
use std::time::{Duration, Instant};

#[test]
fn a_file_that_changes_between_ranges_is_fetched_anew() {
    for parallel in [1, 3] {
        for change in 1..5 {
            let (old, new, folder) =
                (GeneratedContent::new(6 * PIECE, 1), GeneratedContent::new(6 * PIECE + 9, 2), Folder::new());
            let (first, second) = (old.clone(), new.clone());
            let server = TestServer::start(move |request| {
                let content = if request.number < change { &first } else { &second };
                let reply = content.answer(request);
                // One stream sees no change unless it breaks.
                if parallel == 1 && request.number < change { reply.cut(PIECE / 3, ResponseEnd::Close) } else { reply }
            });
            let ran = run(settings(&server.url("/file"), &folder.target(), parallel));
            ran.done();
            assert_eq!(ran.start_overs.len(), 1, "{ran:?}");
            assert!(ran.start_overs[0].contains("the file on the server changed"), "{ran:?}");
            folder.has_only(&new);
        }
    }
}

#[test]
fn one_that_changes_with_every_request_is_given_up() {
    let folder = Folder::new();
    let server = TestServer::start(|request| GeneratedContent::new(6 * PIECE, request.number as u64).answer(request));
    let ran = run(settings(&server.url("/file"), &folder.target(), 2));
    assert!(ran.failed(FetchErrorKind::Broken).message.contains("changed"), "{ran:?}");
    assert_eq!(ran.start_overs.len(), 3);
    assert!(!folder.target().exists());
}

#[test]
fn a_206_of_a_changed_file_that_ignores_if_range_is_seen() {
    let (old, new, folder) = (GeneratedContent::new(6 * PIECE, 1), GeneratedContent::new(6 * PIECE, 2), Folder::new());
    let served = new.clone();
    let server = TestServer::start(move |request| {
        let content = if request.number == 0 { &old } else { &served };
        let mut blunt = request.clone();
        blunt.headers.retain(|(name, _)| name != "if-range");
        content.answer(&blunt)
    });
    let ran = run(settings(&server.url("/file"), &folder.target(), 2));
    ran.done();
    assert_eq!(ran.start_overs.len(), 1, "{ran:?}");
    folder.has_only(&new);
}

#[test]
fn a_server_without_ranges_gives_the_whole() {
    for cut in [None, Some(PIECE)] {
        let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
        let served = content.clone();
        let server = TestServer::start(move |request| {
            let mut deaf = request.clone();
            deaf.headers.retain(|(name, _)| name != "range");
            let reply = served.answer(&deaf);
            if let Some(bytes) = cut.filter(|_| request.number == 0) { reply.cut(bytes, ResponseEnd::Close) } else { reply }
        });
        let ran = run(settings(&server.url("/file"), &folder.target(), 3));
        assert!(!ran.done().ranges);
        // Asked for the rest it gave all: said so, and begun again.
        assert_eq!(ran.start_overs.iter().filter(|why| why.contains("200 to a range")).count(), usize::from(cut.is_some()));
        folder.has_only(&content);
    }
}

#[test]
fn wrong_ranges_are_never_written() {
    type Spoil = fn(HttpReply) -> HttpReply;
    let spoils: [(&str, Spoil); 6] = [
        ("shifted", |reply| {
            let (start, end) = (reply.range.start + 1, reply.range.end);
            reply.without("content-range").header("Content-Range", format!("bytes {start}-{end}/60000"))
        }),
        ("from the start", |reply| {
            let end = reply.range.end - reply.range.start;
            reply.without("content-range").header("Content-Range", format!("bytes 0-{}/60000", end - 1))
        }),
        ("no Content-Range", |reply| reply.without("content-range")),
        ("nonsense", |reply| reply.without("content-range").header("Content-Range", "bytes 5-1/7")),
        ("longer than the body", |reply| {
            let (start, end) = (reply.range.start, reply.range.end);
            reply.without("content-range").header("Content-Range", format!("bytes {start}-{}/60000", end - 2))
        }),
        ("416", |reply| HttpReply { status: 416, ..reply }.without("content-range")),
    ];
    for (name, spoil) in spoils {
        for nth in [0, 1, 2] {
            let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
            let served = content.clone();
            let server = TestServer::start(move |request| {
                let reply = served.answer(request);
                if request.number >= nth && reply.status == 206 && reply.range.start > 0 || nth == 0 && reply.status == 206 {
                    spoil(reply)
                } else {
                    reply
                }
            });
            let ran = run(settings(&server.url("/file"), &folder.target(), 2));
            if name == "416" && nth > 0 {
                // Which says that the file became shorter, again and again.
                ran.failed(FetchErrorKind::Broken);
                continue;
            }
            assert!(!ran.done().ranges, "{name}: {ran:?}");
            folder.has_only(&content);
        }
    }
}

#[test]
fn a_server_may_give_less_than_was_asked_for() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let served = content.clone();
    let server = TestServer::start(move |request| {
        let mut less = request.clone();
        if let Some((first, Some(last))) = request.range() {
            less.headers.retain(|(name, _)| name != "range");
            less.headers.push(("range".to_owned(), format!("bytes={first}-{}", first + (last - first) / 3)));
        }
        served.answer(&less)
    });
    let ran = run(settings(&server.url("/file"), &folder.target(), 3));
    assert_eq!(ran.done().received_bytes, content.size_bytes);
    assert_eq!(ran.done().failures, 0);
    folder.has_only(&content);
}

#[test]
fn lengths_that_are_too_long_break_and_too_short_ones_end() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let served = content.clone();
    let server = TestServer::start(move |request| {
        let reply = served.answer(request);
        HttpReply { length: reply.length.map(|length| length + 100), end: ResponseEnd::Close, ..reply }
    });
    let mut fetch = settings(&server.url("/file"), &folder.target(), 1);
    fetch.retries = 1;
    let ran = run(fetch);
    ran.result.as_ref().expect_err("it is not whole");
    assert!(!folder.target().exists());

    let folder = Folder::new();
    let served = content.clone();
    let server = TestServer::start(move |request| {
        let reply = served.answer(request);
        HttpReply { length: reply.length.map(|length| length - 100), end: ResponseEnd::Close, ..reply }
    });
    let ran = run(settings(&server.url("/file"), &folder.target(), 1));
    assert_eq!(ran.done().size_bytes, 6 * PIECE - 100);
    let mut fetch = settings(&server.url("/file"), &folder.at("other"), 1);
    fetch.digests = vec![sha256(&content.all())];
    run(fetch).failed(FetchErrorKind::Digest);
}

#[test]
fn an_absurd_length_is_refused_before_it_fills_the_disk() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let server = TestServer::start(move |request| HttpReply { length: Some(1 << 60), ..content.answer(request) });
    let ran = run(settings(&server.url("/file"), &folder.target(), 1));
    assert!(ran.failed(FetchErrorKind::Local).message.contains("no room for the 1152921504606846976 bytes"), "{ran:?}");
    assert!(folder.names().is_empty());
}

#[test]
fn an_encoding_is_refused_unless_wanted() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let served = content.clone();
    let server = TestServer::start(move |request| served.answer(request).header("Content-Encoding", "gzip"));
    let ran = run(settings(&server.url("/file"), &folder.target(), 2));
    assert!(ran.failed(FetchErrorKind::Answer).message.contains("encoded as gzip"));
    assert!(folder.names().is_empty());
    let mut fetch = settings(&server.url("/file"), &folder.target(), 2);
    fetch.keep_encoding = true;
    run(fetch).done();
    folder.has_only(&content);
}

/// The client below undoes chunks alone: a body with another coding is not the file.
#[test]
fn a_coding_of_the_transfer_is_refused() {
    for coding in ["gzip", "gzip, chunked", "deflate"] {
        let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
        let served = content.clone();
        let server = TestServer::start(move |request| {
            let mut deaf = request.clone();
            deaf.headers.retain(|(name, _)| name != "range");
            HttpReply { length: None, end: ResponseEnd::Close, ..served.answer(&deaf) }.header("Transfer-Encoding", coding)
        });
        let ran = run(settings(&server.url("/file"), &folder.target(), 1));
        let error = ran.failed(FetchErrorKind::Answer);
        assert!(error.message.contains("(Transfer-Encoding)"), "{coding}: {ran:?}");
        assert!(folder.names().is_empty());
    }
}

#[test]
fn a_redirect_to_another_scheme_is_an_answer_that_names_it() {
    for (to, named) in [("ftp://files.example/a", "ftp://files.example"), ("file:///etc/passwd", "file://")] {
        let folder = Folder::new();
        let server = TestServer::start(move |_| HttpReply::empty(302).header("Location", to));
        let ran = run(settings(&server.url("/file"), &folder.target(), 1));
        let error = ran.failed(FetchErrorKind::Answer);
        assert!(error.message.contains(named) && error.message.contains("only http and https"), "{ran:?}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn statuses() {
    for (status, tries) in [(404, 1), (403, 1), (500, 5), (503, 5), (429, 5), (204, 1), (304, 1)] {
        let folder = Folder::new();
        let server = TestServer::start(move |_| HttpReply::empty(status));
        let ran = run(settings(&server.url("/file"), &folder.target(), 3));
        assert!(ran.failed(FetchErrorKind::Answer).message.contains(&status.to_string()));
        assert_eq!(server.requests().len(), tries, "{status}");
        assert!(folder.names().is_empty());
    }
}

#[test]
fn retry_after_is_waited_for() {
    let (content, folder) = (GeneratedContent::new(PIECE, 1), Folder::new());
    let served = content.clone();
    let server = TestServer::start(move |request| {
        if request.number == 0 { HttpReply::empty(503).header("Retry-After", "1") } else { served.answer(request) }
    });
    let start = Instant::now();
    let ran = run(settings(&server.url("/file"), &folder.target(), 3));
    ran.done();
    assert!(start.elapsed() >= Duration::from_secs(1));
    assert!(ran.retries[0].contains("to come back in 1 s"));
    folder.has_only(&content);
}

#[test]
fn a_wrong_digest_makes_no_file_and_keeps_the_part() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let server = TestServer::honest(&content);
    let fetch = |digest| {
        let mut fetch = settings(&server.url("/file"), &folder.target(), 3);
        fetch.digests = vec![digest];
        fetch
    };
    let ran = run(fetch(wrong_digest()));
    assert_eq!(ran.failed(FetchErrorKind::Digest).kept.as_ref().map(|(_, bytes)| *bytes), Some(content.size_bytes));
    assert_eq!(folder.has_part_of(&content), content.size_bytes);
    // A part of another time is not trusted against the digest: once more from nothing.
    let ran = run(fetch(wrong_digest()));
    ran.failed(FetchErrorKind::Digest);
    assert_eq!(ran.start_overs.len(), 1);
    assert!(ran.start_overs[0].contains("sha256"));
    // With the right digest, all that is asked is whether it is still the same file.
    let ran = run(fetch(sha256(&content.all())));
    assert_eq!(ran.done().received_bytes, 1);
    folder.has_only(&content);
}

#[test]
fn redirects_are_followed_so_far_and_credentials_stay() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let other = TestServer::honest(&content);
    let away = other.url("/deep/file");
    let server = TestServer::start(move |request| match request.target.as_str() {
        "/file" => HttpReply::empty(302).header("Location", "second?x=1"),
        "/second?x=1" => HttpReply::empty(307).header("Location", away.clone()),
        _ => HttpReply::empty(301).header("Location", "/loop"),
    });
    let mut fetch = settings(&server.url("/file"), &folder.target(), 2);
    fetch.headers = vec![("Authorization".to_owned(), "Basic c2VjcmV0".to_owned())];
    let ran = run(fetch);
    assert_eq!(ran.done().url, other.url("/deep/file"));
    folder.has_only(&content);
    assert!(other.requests().iter().all(|request| request.header("authorization").is_none()));
    assert!(server.requests().iter().all(|request| request.header("authorization").is_some()));
    let ran = run(settings(&server.url("/loop"), &folder.at("other"), 2));
    assert!(ran.failed(FetchErrorKind::Answer).message.contains("more than 3 redirects"), "{ran:?}");
    assert_eq!(folder.names(), ["file"]);
}

#[test]
fn one_of_several_choices_is_named_and_not_taken() {
    let folder = Folder::new();
    let server = TestServer::start(|_| HttpReply::empty(300).header("Location", "http://elsewhere.invalid/file"));
    let ran = run(settings(&server.url("/file"), &folder.target(), 1));
    let message = &ran.failed(FetchErrorKind::Answer).message;
    let told = "the server answers 300 Multiple Choices and names \"http://elsewhere.invalid/file\", which is not followed";
    assert!(message.contains(told), "{message}");
}

/// Without an ETag or a date nothing can be gone on from: nothing is said to be kept, nor kept.
#[test]
fn bytes_that_no_validator_vouches_for_are_not_kept() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let server = TestServer::start(move |request| {
        content.answer(request).cut(PIECE, ResponseEnd::Close).without("etag").without("last-modified")
    });
    let ran = run(settings(&server.url("/file"), &folder.target(), 1));
    let error = ran.failed(FetchErrorKind::Broken);
    assert_eq!(error.kept, None, "{error}");
    assert!(folder.names().is_empty(), "{:?}", folder.names());
}

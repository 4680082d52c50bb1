//! Parts that are not as they were left.

use crate::common::{Folder, PIECE, run, settings, sha256};
use rorqual_fetch::FetchErrorKind;
use rorqual_testkit::http::{GeneratedContent, HttpReply, ResponseEnd, TestServer};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A server that serves the first half, until it is told to serve all.
struct Half {
    server: TestServer,
    whole: Arc<AtomicBool>,
}

impl Half {
    fn of(content: &GeneratedContent) -> Self {
        let (whole, served) = (Arc::new(AtomicBool::new(false)), content.clone());
        let theirs = Arc::clone(&whole);
        let server = TestServer::start(move |request| {
            let reply = served.answer(request);
            let left = (served.size_bytes / 2).saturating_sub(reply.range.start);
            if theirs.load(Ordering::Relaxed) || reply.range.end - reply.range.start <= left {
                reply
            } else {
                reply.cut(left, ResponseEnd::Close)
            }
        });
        Self { server, whole }
    }

    /// Leaves half of the file as a part.
    fn leave(&self, folder: &Folder) {
        let mut fetch = settings(&self.server.url("/file"), &folder.target(), 1);
        fetch.retries = 0;
        run(fetch).failed(FetchErrorKind::Broken);
        self.whole.store(true, Ordering::Relaxed);
    }
}

#[test]
fn what_was_cut_off_a_part_is_fetched_again() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let half = Half::of(&content);
    half.leave(&folder);
    std::fs::OpenOptions::new().write(true).open(folder.at("file.part")).unwrap().set_len(1_234).unwrap();
    let ran = run(settings(&half.server.url("/file"), &folder.target(), 2));
    assert_eq!(ran.done().resumed_bytes, 1_234);
    folder.has_only(&content);
}

#[test]
fn a_part_gone_bad_is_seen_by_the_digest() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let half = Half::of(&content);
    half.leave(&folder);
    let mut bytes = std::fs::read(folder.at("file.part")).unwrap();
    bytes[77] ^= 1;
    std::fs::write(folder.at("file.part"), bytes).unwrap();
    let mut fetch = settings(&half.server.url("/file"), &folder.target(), 2);
    fetch.digests = vec![sha256(&content.all())];
    let ran = run(fetch);
    ran.done();
    assert_eq!(ran.start_overs.len(), 1);
    folder.has_only(&content);
}

#[test]
fn a_sidecar_that_can_not_be_read_claims_nothing() {
    for text in [
        "",
        "{",
        "\0\0\0",
        "{\"schema\":\"rorqual.fetch.part/1\"}",
        "{\"schema\":\"rorqual.fetch.part/9\",\"url\":\"\",\"done\":[[0,9]]}",
    ] {
        let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
        let half = Half::of(&content);
        half.leave(&folder);
        std::fs::write(folder.at("file.part.json"), text).unwrap();
        let ran = run(settings(&half.server.url("/file"), &folder.target(), 2));
        assert_eq!(ran.done().resumed_bytes, 0);
        folder.has_only(&content);
    }
}

#[test]
fn files_that_are_no_record_or_no_part_are_left_alone() {
    let (content, server) = (GeneratedContent::new(3 * PIECE, 1), TestServer::honest(&GeneratedContent::new(3 * PIECE, 1)));
    for (names, text) in [
        (&["file.part", "file.part.json"][..], "precious"),
        (&["file.part.json"], "null"),
        (&["file.part.json"], "{\"schema\":\"other/9\"}"),
        (&["file.part"], "precious"),
    ] {
        let folder = Folder::new();
        names.iter().for_each(|name| std::fs::write(folder.at(name), text).unwrap());
        let ran = run(settings(&server.url("/file"), &folder.target(), 2));
        assert!(ran.failed(FetchErrorKind::Local).message.contains("move it away"), "{ran:?}");
        assert_eq!(folder.names(), names);
        assert!(names.iter().all(|name| std::fs::read_to_string(folder.at(name)).unwrap() == text));
        names.iter().for_each(|name| std::fs::remove_file(folder.at(name)).unwrap());
        run(settings(&server.url("/file"), &folder.target(), 2)).done();
        folder.has_only(&content);
    }
}

#[test]
fn impossible_claims_do_no_harm() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let half = Half::of(&content);
    half.leave(&folder);
    let text = std::fs::read_to_string(folder.at("file.part.json")).unwrap();
    let mut record: serde_json::Value = serde_json::from_str(&text).unwrap();
    record["done"] = serde_json::json!([[5, 3], [0, 10], [u64::MAX - 1, u64::MAX], [4, 10], [29_999, 1_u64 << 62]]);
    std::fs::write(folder.at("file.part.json"), record.to_string()).unwrap();
    let ran = run(settings(&half.server.url("/file"), &folder.target(), 2));
    assert_eq!(ran.done().resumed_bytes, 11);
    folder.has_only(&content);
}

#[test]
fn a_part_of_another_url_or_an_older_file_is_begun_anew() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let half = Half::of(&content);
    half.leave(&folder);
    let ran = run(settings(&half.server.url("/file?other"), &folder.target(), 2));
    assert_eq!((ran.done().resumed_bytes, ran.start_overs.len()), (0, 0));
    folder.has_only(&content);

    let (newer, folder) = (GeneratedContent::new(6 * PIECE, 2), Folder::new());
    let half = Half::of(&content);
    half.leave(&folder);
    let url = half.server.url("/file");
    let served = newer.clone();
    let server = TestServer::start(move |request| served.answer(request));
    let text = std::fs::read_to_string(folder.at("file.part.json")).unwrap();
    std::fs::write(folder.at("file.part.json"), text.replace(&url, &server.url("/file"))).unwrap();
    let ran = run(settings(&server.url("/file"), &folder.target(), 2));
    ran.done();
    assert!(ran.start_overs[0].contains("the file on the server changed"), "{ran:?}");
    folder.has_only(&newer);
}

#[test]
fn two_at_once_do_not_mix() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let served = content.clone();
    let (path, url) = (folder.target(), Arc::new(std::sync::OnceLock::<String>::new()));
    let theirs = Arc::clone(&url);
    let server = TestServer::start(move |request| {
        if request.number == 0 {
            // While the first waits for its answer.
            let ran = run(settings(theirs.get().unwrap(), &path, 2));
            assert!(ran.failed(FetchErrorKind::Local).message.contains("another fetch is at work on it"));
        }
        served.answer(request)
    });
    url.set(server.url("/file")).unwrap();
    run(settings(&server.url("/file"), &folder.target(), 2)).done();
    assert!(server.requests().len() > 1, "the second one did not ask");
    folder.has_only(&content);
}

#[test]
fn a_part_of_somebody_else_is_not_touched() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let server = TestServer::honest(&content);
    std::fs::write(folder.at("file.part"), "precious").unwrap();
    let ran = run(settings(&server.url("/file"), &folder.target(), 2));
    assert!(ran.failed(FetchErrorKind::Local).message.contains("not the part of a fetch"));
    assert_eq!(std::fs::read(folder.at("file.part")).unwrap(), b"precious");
    assert_eq!(server.requests().len(), 0);
    std::fs::remove_file(folder.at("file.part")).unwrap();
    std::os::unix::fs::symlink(folder.at("elsewhere"), folder.at("file.part")).unwrap();
    let ran = run(settings(&server.url("/file"), &folder.target(), 2));
    assert!(ran.failed(FetchErrorKind::Local).message.contains("symbolic link"));
    assert!(!folder.at("elsewhere").exists());
}

#[test]
fn a_target_that_appears_meanwhile_is_not_replaced() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let (served, path) = (content.clone(), folder.target());
    let server = TestServer::start(move |request| {
        std::fs::write(&path, "precious").unwrap();
        served.answer(request)
    });
    let ran = run(settings(&server.url("/file"), &folder.target(), 2));
    let error = ran.failed(FetchErrorKind::Local);
    assert_eq!(error.kept.as_ref().map(|(_, bytes)| *bytes), Some(content.size_bytes));
    assert_eq!(std::fs::read(folder.target()).unwrap(), b"precious");
}

#[test]
fn nothing_is_left_where_nothing_came() {
    let folder = Folder::new();
    let server = TestServer::start(|_| HttpReply::empty(404));
    run(settings(&server.url("/file"), &folder.target(), 2)).failed(FetchErrorKind::Answer);
    assert!(folder.names().is_empty());
}

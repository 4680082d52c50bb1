//! Bytes in order to a writer.

use crate::common::{Folder, PIECE, Ran, run, run_with, settings, sha256, wrong_digest};
use rorqual_fetch::{Fetch, FetchErrorKind, FetchTarget};
use rorqual_pipe::Control;
use rorqual_testkit::http::{GeneratedContent, ResponseEnd, TestServer};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Taken(Arc<Mutex<Vec<u8>>>);

impl Write for Taken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn given(url: &str, change: impl FnOnce(&mut Fetch)) -> (Ran, Vec<u8>) {
    let (taken, folder) = (Taken::default(), Folder::new());
    let mut fetch = settings(url, &folder.target(), 4);
    fetch.target = FetchTarget::Writer(Box::new(taken.clone()));
    change(&mut fetch);
    let ran = run(fetch);
    assert!(folder.names().is_empty());
    let bytes = taken.0.lock().unwrap().clone();
    (ran, bytes)
}

#[test]
fn it_is_in_order_and_resumed() {
    let content = GeneratedContent::new(6 * PIECE, 1);
    for cut in [0, 1, PIECE, 5 * PIECE] {
        let served = content.clone();
        let server = TestServer::start(move |request| {
            let reply = served.answer(request);
            if request.number == 0 { reply.cut(cut, ResponseEnd::Close) } else { reply }
        });
        let (ran, bytes) = given(&server.url("/file"), |fetch| fetch.digests = vec![sha256(&content.all())]);
        assert_eq!(ran.done().received_bytes, content.size_bytes);
        assert!(bytes == content.all());
    }
}

#[test]
fn what_was_given_can_not_be_taken_back() {
    let server = TestServer::start(|request| {
        let reply = GeneratedContent::new(6 * PIECE, request.number as u64).answer(request);
        if request.number == 0 { reply.cut(PIECE, ResponseEnd::Close) } else { reply }
    });
    let (ran, bytes) = given(&server.url("/file"), |_| {});
    assert!(ran.failed(FetchErrorKind::Broken).message.contains("can't be taken back"), "{ran:?}");
    assert_eq!(bytes.len() as u64, PIECE);
}

#[test]
fn a_wrong_digest_is_told_at_the_end() {
    let content = GeneratedContent::new(6 * PIECE, 1);
    let server = TestServer::honest(&content);
    let (ran, bytes) = given(&server.url("/file"), |fetch| fetch.digests = vec![wrong_digest()]);
    ran.failed(FetchErrorKind::Digest);
    assert!(bytes == content.all());
}

#[test]
fn a_stop_keeps_what_came() {
    let (content, folder) = (GeneratedContent::new(6 * PIECE, 1), Folder::new());
    let (served, control) = (content.clone(), Control::default());
    let theirs = control.clone();
    let server = TestServer::start(move |request| {
        if request.number == 1 {
            theirs.stop();
        }
        let end = if request.number == 0 { ResponseEnd::Close } else { ResponseEnd::Stall };
        served.answer(request).cut(PIECE * (1 - request.number as u64), end)
    });
    run_with(settings(&server.url("/file"), &folder.target(), 1), &control).failed(FetchErrorKind::Stopped);
    assert_eq!(folder.has_part_of(&content), PIECE);
}

//! Targets that can't be written.

use crate::common::{Folder, PIECE, run, settings};
use rorqual_fetch::{FetchErrorKind, FetchTarget};
use rorqual_testkit::http::{GeneratedContent, TestServer};
use std::path::Path;

#[test]
fn only_a_plain_file_is_replaced_and_only_when_asked() {
    let (content, folder) = (GeneratedContent::new(3 * PIECE, 1), Folder::new());
    let server = TestServer::honest(&content);
    let refused = |target: &Path, replace, says: &str| {
        let mut fetch = settings(&server.url("/file"), target, 2);
        fetch.target = FetchTarget::File { path: target.to_owned(), replace };
        let ran = run(fetch);
        assert!(ran.failed(FetchErrorKind::Local).message.contains(says), "{ran:?}");
    };
    std::fs::write(folder.at("old"), "old").unwrap();
    std::fs::create_dir(folder.at("directory")).unwrap();
    std::os::unix::fs::symlink(folder.at("old"), folder.at("link")).unwrap();
    std::os::unix::fs::symlink(folder.at("nowhere"), folder.at("dangling")).unwrap();
    refused(&folder.at("old"), false, "exists; \"force\" replaces it");
    refused(&folder.at("directory"), true, "is a directory");
    refused(&folder.at("link"), true, "symbolic link");
    refused(&folder.at("dangling"), false, "symbolic link");
    refused(Path::new("/dev/null"), true, "not a plain file");
    refused(&folder.at("missing/file"), false, "No such file");
    assert_eq!(server.requests().len(), 0);
    assert_eq!(folder.names(), ["dangling", "directory", "link", "old"]);

    let mut fetch = settings(&server.url("/file"), &folder.at("old"), 2);
    fetch.target = FetchTarget::File { path: folder.at("old"), replace: true };
    run(fetch).done();
    assert!(std::fs::read(folder.at("old")).unwrap() == content.all());
}

#[test]
fn the_rest_of_a_killed_fetch_is_cleared_away() {
    let (content, folder) = (GeneratedContent::new(3 * PIECE, 1), Folder::new());
    let server = TestServer::honest(&content);
    std::fs::write(folder.target(), "done").unwrap();
    std::fs::write(folder.at("file.part.json"), "{\"schema\":\"rorqual.fetch.part/1\"").unwrap();
    run(settings(&server.url("/file"), &folder.target(), 2)).failed(FetchErrorKind::Local);
    assert_eq!(folder.names(), ["file"]);
    // Another program's file of that name is not.
    std::fs::write(folder.at("file.part.json"), "{}").unwrap();
    run(settings(&server.url("/file"), &folder.target(), 2)).failed(FetchErrorKind::Local);
    assert_eq!(folder.names(), ["file", "file.part.json"]);
}

#[test]
fn a_full_disk_is_told() {
    // A device that is full: the part can't be one, so the file is a writer here.
    let (content, folder) = (GeneratedContent::new(3 * PIECE, 1), Folder::new());
    let server = TestServer::honest(&content);
    let mut fetch = settings(&server.url("/file"), &folder.target(), 1);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    fetch.target = FetchTarget::Writer(Box::new(full));
    let ran = run(fetch);
    assert!(ran.failed(FetchErrorKind::Local).message.contains("No space left"), "{ran:?}");
}

#[test]
fn urls_and_headers_that_are_none() {
    let folder = Folder::new();
    for url in ["", "file", "ftp://127.0.0.1/file", "http://", "http://[/"] {
        run(settings(url, &folder.target(), 1)).failed(FetchErrorKind::Local);
    }
    for header in [("a b", "c"), ("a", "b\nc"), ("Range", "bytes=0-1")] {
        let mut fetch = settings("http://127.0.0.1:1/file", &folder.target(), 1);
        fetch.headers = vec![(header.0.to_owned(), header.1.to_owned())];
        run(fetch).failed(FetchErrorKind::Local);
    }
    assert!(folder.names().is_empty());
}

#[test]
fn nobody_there() {
    let folder = Folder::new();
    let mut fetch = settings("http://127.0.0.1:1/file", &folder.target(), 3);
    fetch.retries = 2;
    let ran = run(fetch);
    assert!(ran.failed(FetchErrorKind::Connect).message.contains("Connection refused"), "{ran:?}");
    assert_eq!(ran.retries.len(), 2);
    assert!(folder.names().is_empty());
}

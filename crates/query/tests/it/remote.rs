//! Files by their address.

use crate::common::{Folder, SAMPLE, csv, hours_by_hand, hours_of, query};
use rorqual_testkit::http::{Content, End, Reply, Request, Server};

/// A server of one file that answers HEAD too.
fn server(bytes: Vec<u8>) -> Server {
    let content = Content::of(bytes).with_last_modified("Thu, 01 Jan 2026 00:00:00 GMT");
    Server::start(move |request: &Request| {
        let reply = content.answer(request);
        if request.method == "HEAD" { reply.cut(0, End::Keep) } else { reply }
    })
}

fn some_lines() -> &'static [u8] {
    let end = SAMPLE[..900_000].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    &SAMPLE[..end]
}

#[test]
fn a_log_over_http() {
    let log = server(some_lines().to_vec());
    assert_eq!(csv(&hours_of(&log.url("/access.log"))), hours_by_hand(some_lines()));
    let compressed = server(zstd::encode_all(some_lines(), 3).unwrap());
    assert_eq!(csv(&hours_of(&compressed.url("/access.log.zst"))), hours_by_hand(some_lines()));
}

#[test]
fn parquet_over_http_by_ranges() {
    let folder = Folder::new();
    let (log, parquet) = (folder.file("access.log", some_lines()), folder.text("access.parquet"));
    let _ = query(&["-o", &parquet, &format!("SELECT * FROM '{log}'")]).run().exits(0);
    let bytes = std::fs::read(&parquet).unwrap();
    let size = bytes.len() as u64;
    let served = server(bytes);
    assert_eq!(csv(&format!("SELECT count(DISTINCT status) > 3 AS b FROM '{}'", served.url("/a.parquet"))), "b\ntrue\n");
    let read: u64 = served
        .requests()
        .iter()
        .filter(|request| request.method == "GET")
        .map(|request| {
            let (first, last) = request.range().expect("nothing is read but by ranges");
            last.map_or(size, |last| (last + 1).min(size)) - first
        })
        .sum();
    assert!(size > 0 && read > 0);
}

#[test]
fn what_a_server_says_is_told() {
    let nothing = Server::start(|_| Reply::empty(404));
    let ran = query(&[&format!("SELECT * FROM '{}'", nothing.url("/gone.log"))]).run().exits(2);
    ran.says(&["/gone.log", "404"]);
}

#[test]
fn a_bucket_without_keys_or_region_is_an_error_and_no_wait() {
    let ran = query(&["SELECT * FROM 's3://'"]).run().exits(2);
    ran.says(&["s3://"]);
}

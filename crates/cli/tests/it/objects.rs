//! Verbs over objects of a bucket: the answers are those of the same file on the disk.

use crate::common::{MIB, TestFolder, Truth, log, rorqual};
use rorqual_testkit::http::{GeneratedContent, HttpReply, PERIOD_BYTES, Request, ResponseEnd, TestServer};
use rorqual_testkit::paths::gzip;
use rorqual_testkit::process::{ProcessEnd, ProcessRun};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};

/// Bytes of two logs: one plain, one compressed.
struct Bucket {
    server: TestServer,
    log: Vec<u8>,
    packed: Vec<u8>,
}

impl Bucket {
    fn new() -> Self {
        let log = log(8_000);
        let packed = gzip(&log);
        let [plain, compressed] = [&log, &packed].map(|bytes| content(bytes.clone()));
        let listed = content(listing(&[("2026/a.log", log.len()), ("2026/b.log.gz", packed.len())]).into_bytes());
        let server = TestServer::start(move |request: &Request| match request.target.as_str() {
            target if target.contains("list-type=2") => honest(&listed, request),
            "/logs/2026/a.log" => honest(&plain, request),
            "/logs/2026/b.log.gz" => honest(&compressed, request),
            _ => HttpReply::empty(404),
        });
        Self { server, log, packed }
    }

    fn run(&self, args: &[&str]) -> ProcessEnd {
        in_bucket(&self.server, rorqual(args)).run()
    }
}

fn content(bytes: Vec<u8>) -> GeneratedContent {
    GeneratedContent::of(bytes).with_last_modified("Thu, 01 Jan 2026 00:00:00 GMT")
}

fn honest(content: &GeneratedContent, request: &Request) -> HttpReply {
    let reply = content.answer(request);
    if request.method == "HEAD" { reply.cut(0, ResponseEnd::Keep) } else { reply }
}

fn listing(objects: &[(&str, usize)]) -> String {
    let each = |(key, size): &(&str, usize)| {
        format!(
            "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00Z</LastModified><Size>{size}</Size>\
             <ETag>\"given\"</ETag></Contents>"
        )
    };
    let contents: String = objects.iter().map(each).collect();
    format!("<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>")
}

/// The settings of a client of that server, which asks it as S3 is asked.
fn in_bucket(server: &TestServer, run: ProcessRun) -> ProcessRun {
    let endpoint = server.url("");
    run.with(|command| {
        command
            .env("AWS_ENDPOINT_URL", endpoint)
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", "key")
            .env("AWS_SECRET_ACCESS_KEY", "a secret key")
            .env("AWS_REGION", "us-east-1");
    })
}

#[test]
fn every_verb_reads_objects() {
    let bucket = Bucket::new();
    let folder = TestFolder::new();
    let (plain, packed) = (folder.file("a.log", &bucket.log), folder.file("b.log.gz", &bucket.packed));
    let count = bucket.run(&["count", "-l", "s3://logs/2026/a.log"]).exits(0);
    assert_eq!(count.text().split_whitespace().next(), Some("8000"));
    let local = |args: &[&str]| rorqual(args).run().exits(0).stdout;
    // Of a hash the stored bytes count, of a search those in it.
    let hash = bucket.run(&["hash", "s3://logs/2026/b.log.gz"]).exits(0);
    assert_eq!(hash.text().split(' ').next(), String::from_utf8_lossy(&local(&["hash", &packed])).split(' ').next());
    let found = bucket.run(&["grep", " 404 ", "s3://logs/2026/b.log.gz"]).exits(0);
    assert_eq!(found.stdout, local(&["grep", " 404 ", &plain]));
    let report = bucket.run(&["logs", "--json", "s3://logs/2026/a.log"]).exits(0).json();
    Truth::of(&bucket.log).check(&report);
    let converted = bucket.run(&["convert", "--to", "csv", "-o", "-", "s3://logs/2026/b.log.gz"]).exits(0);
    assert_eq!(converted.stdout, local(&["convert", "--to", "csv", "-o", "-", &plain]));
    let stored = bucket.run(&["store", "put", "--store", &folder.text("store"), "s3://logs/2026/a.log"]);
    let digest = String::from_utf8_lossy(&local(&["hash", "--algorithm", "sha256", &plain])).into_owned();
    assert_eq!(stored.exits(0).text().trim().split(':').next_back(), digest.split(' ').next());
}

#[test]
fn a_wildcard_is_all_objects_that_it_stands_for() {
    let bucket = Bucket::new();
    let report = bucket.run(&["logs", "--json", "s3://logs/2026/*"]).exits(0).json();
    Truth::of(&bucket.log).times(2).check(&report);
    let names: Vec<&Value> = report["sources"].as_array().expect("sources").iter().map(|source| &source["name"]).collect();
    assert_eq!(names, ["s3://logs/2026/a.log", "s3://logs/2026/b.log.gz"]);
    let folder = bucket.run(&["grep", "-c", "\" 404 ", "s3://logs/2026/"]).exits(0);
    let hits = Truth::of(&bucket.log).statuses["404"];
    assert_eq!(folder.text(), format!("s3://logs/2026/a.log:{hits}\ns3://logs/2026/b.log.gz:{hits}\n"));
}

#[test]
fn an_object_that_can_not_be_read_is_an_error_of_the_verb() {
    let bucket = Bucket::new();
    for args in [&["count", "s3://logs/gone"][..], &["grep", "x", "s3://logs/gone"], &["logs", "s3://logs/gone"]] {
        let ran = bucket.run(args).exits(2);
        ran.says(&["s3://logs/gone", "404"]);
        assert_eq!(ran.stderr.matches("rorqual: ").count(), 1, "{}", ran.stderr);
        assert!(!ran.stderr.contains("a secret key"), "{}", ran.stderr);
    }
    bucket.run(&["count", "s3://logs/none*"]).exits(2).says(&["s3://logs/none*", "no object has such a name"]);
    rorqual(&["count", "https://h/x.log?signature=1"]).run().exits(2).says(&["what follows the ?"]);
}

/// After 20 MiB the store has another object: no count may look whole.
#[test]
fn an_object_that_changes_while_it_is_read_is_an_error() {
    let large = large_log(40);
    let is_replaced = AtomicBool::new(false);
    let server = TestServer::start(move |request: &Request| {
        let is_late = request.range().is_some_and(|(first, _)| first > 20 * MIB);
        is_replaced.fetch_or(is_late, Ordering::Relaxed);
        if is_replaced.load(Ordering::Relaxed) { HttpReply::empty(412) } else { honest(&large, request) }
    });
    let ran = in_bucket(&server, rorqual(&["count", "s3://logs/large.log"])).run().exits(2);
    ran.says(&["s3://logs/large.log", "the object was changed while it was read"]);
}

/// A log of so many times a mebibyte.
fn large_log(periods: u64) -> GeneratedContent {
    let mut lines = log(12_000);
    let cut = lines[..PERIOD_BYTES - 1].iter().rposition(|byte| *byte == b'\n').expect("a line");
    lines.truncate(cut);
    // The last line is as long as it takes.
    lines.resize(PERIOD_BYTES - 1, b' ');
    lines.push(b'\n');
    content(lines).repeated(periods)
}

#[test]
fn the_memory_of_a_verb_holds_for_objects() {
    let large = large_log(200);
    let lines = large.bytes(0..PERIOD_BYTES as u64).iter().filter(|byte| **byte == b'\n').count() * 200;
    let server = TestServer::start(move |request: &Request| honest(&large, request));
    let ran = in_bucket(&server, rorqual(&["count", "-l", "--memory", "24MiB", "s3://logs/large.log"])).run().exits(0);
    assert_eq!(ran.text().split_whitespace().next(), Some(lines.to_string().as_str()));
    ran.within(24 * MIB);
}

//! Verbs over objects of a bucket: the answers are those of the same file on the disk.

use crate::common::{MIB, PROGRAM, TestFolder, Truth, eventually, log, rorqual};
use rorqual_testkit::http::{GeneratedContent, HttpReply, PERIOD_BYTES, Request, TestServer};
use rorqual_testkit::paths::gzip;
use rorqual_testkit::process::{ProcessEnd, ProcessRun};
use serde_json::Value;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A bucket with the same log twice: plain and compressed.
struct BucketServer {
    server: TestServer,
    log: Vec<u8>,
    packed: Vec<u8>,
}

impl BucketServer {
    fn new() -> Self {
        let log = log(8_000);
        let packed = gzip(&log);
        let [plain, compressed] = [&log, &packed].map(|bytes| content(bytes.clone()));
        let server = serve(vec![("2026/a.log", plain), ("2026/b.log.gz", compressed)]);
        Self { server, log, packed }
    }

    fn run(&self, args: &[&str]) -> ProcessEnd {
        self.server.as_s3(rorqual(args)).run()
    }
}

fn content(bytes: Vec<u8>) -> GeneratedContent {
    GeneratedContent::of(bytes).with_last_modified("Thu, 01 Jan 2026 00:00:00 GMT")
}

/// A server of the bucket `logs`, which has objects by their keys.
fn serve(objects: Vec<(&'static str, GeneratedContent)>) -> TestServer {
    let listed = content(listing(&objects).into_bytes());
    TestServer::start(move |request: &Request| {
        if request.target.contains("list-type=2") {
            return listed.answer(request);
        }
        let target = request.target.replace("%5B", "[").replace("%5D", "]");
        let found = objects.iter().find(|(key, _)| target == format!("/logs/{key}"));
        found.map_or_else(|| HttpReply::empty(404), |(_, content)| content.answer(request))
    })
}

/// The list of a bucket as the service has it.
fn listing(objects: &[(&str, GeneratedContent)]) -> String {
    let each = |(key, content): &(&str, GeneratedContent)| {
        format!(
            "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00Z</LastModified><Size>{}</Size>\
             <ETag>\"given\"</ETag></Contents>",
            content.size_bytes
        )
    };
    let contents: String = objects.iter().map(each).collect();
    format!("<?xml version=\"1.0\"?><ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>")
}

#[test]
fn every_verb_reads_objects() {
    let bucket = BucketServer::new();
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
    let bucket = BucketServer::new();
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
    let bucket = BucketServer::new();
    for args in [&["count", "s3://logs/gone"][..], &["grep", "x", "s3://logs/gone"], &["logs", "s3://logs/gone"]] {
        let ran = bucket.run(args).exits(2);
        ran.says(&["s3://logs/gone", "404"]);
        assert_eq!(ran.stderr.matches("rorqual: ").count(), 1, "{}", ran.stderr);
        assert_eq!(ran.stderr.matches("s3://logs/gone").count(), 1, "{}", ran.stderr);
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
        if is_replaced.load(Ordering::Relaxed) { HttpReply::empty(412) } else { large.answer(request) }
    });
    let ran = server.as_s3(rorqual(&["count", "s3://logs/large.log"])).run().exits(2);
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
fn both_processes_stay_within_their_memory() {
    let large = large_log(200);
    let lines = large.bytes(0..PERIOD_BYTES as u64).iter().filter(|byte| **byte == b'\n').count() * 200;
    let server = TestServer::honest(&large);
    let ran = server.as_s3(rorqual(&["count", "-l", "--stats", "--memory", "24MiB", "s3://logs/large.log"])).run().exits(0);
    assert_eq!(ran.text().split_whitespace().next(), Some(lines.to_string().as_str()));
    // The system tells the larger of the two, and the program its own.
    ran.within(80 * MIB);
    let stats: Value = serde_json::from_str(ran.stderr.trim()).expect("one line of JSON");
    assert!(stats["peak_bytes"].as_u64().is_some_and(|bytes| bytes <= 24 * MIB), "{stats}");
}

/// A key may look like a pattern that another key fits.
#[test]
fn a_key_with_the_signs_of_a_wildcard_is_that_key() {
    let [odd, fitting] = [3, 5].map(|lines| content(log(lines)));
    let server = serve(vec![("2026/a1.log", fitting), ("2026/a[1].log", odd)]);
    let ran = server.as_s3(rorqual(&["count", "-l", "s3://logs/2026/"])).run().exits(0);
    let counts: Vec<&str> = ran.text().lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(counts, ["5", "3", "8"], "{}", ran.text());
}

/// Nothing comes, and the run ends all the same.
#[test]
fn a_store_that_stalls_does_not_hold_up_a_stop() {
    let is_over = Arc::new(AtomicBool::new(false));
    let over = Arc::clone(&is_over);
    let server = TestServer::start(move |_: &Request| {
        while !over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(5));
        }
        HttpReply::empty(404)
    });
    let running = server.as_s3(rorqual(&["count", "s3://logs/a.log"])).start();
    eventually("a request", || (!server.requests().is_empty()).then_some(()));
    let interrupted = Instant::now();
    running.interrupt();
    let ran = running.wait().exits(130);
    is_over.store(true, Ordering::Relaxed);
    assert!(interrupted.elapsed() < Duration::from_secs(10), "the client waits for 30 s");
    assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
}

#[test]
fn a_list_of_checksums_sends_nobody_to_an_address() {
    let server = TestServer::honest(&content(log(10)));
    let folder = TestFolder::new();
    let list = folder.file("SHA256SUMS", format!("{:064x}  {}\n", 7, server.url("/a.log")));
    let ran = rorqual(&["hash", "--check", &list]).run().exits(1);
    ran.says(&["/a.log", "No such file"]);
    assert!(server.requests().is_empty());
}

#[test]
fn without_the_program_that_reads_objects_the_way_to_it_is_told() {
    let folder = TestFolder::new();
    let alone = folder.text("rorqual");
    std::fs::hard_link(PROGRAM, &alone).or_else(|_| std::fs::copy(PROGRAM, &alone).map(drop)).expect("room");
    let run = ProcessRun::new(&alone).args(["count", "s3://logs/a.log"]).with(|command| {
        command.env("PATH", "");
    });
    run.run().exits(2).says(&["s3://logs/a.log", "rorqual-query is neither beside this program nor in PATH"]);
}

//! Files by their address.

use crate::common::{MIB, SAMPLE, TestFolder, answer, csv, hours_by_hand, hours_of, query};
use rorqual_testkit::http::{GeneratedContent, HttpReply, PERIOD_BYTES, Request, ResponseEnd, TestServer};
use rorqual_testkit::process::ProcessRun;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// A server of one file.
fn server(bytes: Vec<u8>) -> TestServer {
    TestServer::honest(&dated(GeneratedContent::of(bytes)))
}

/// The same with the date that clients of buckets ask for.
fn dated(content: GeneratedContent) -> GeneratedContent {
    content.with_last_modified("Thu, 01 Jan 2026 00:00:00 GMT")
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
    let folder = TestFolder::new();
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

fn s3(server: &TestServer, sql: &str) -> ProcessRun {
    server.as_s3(query(&["--to", "csv", sql]))
}

#[test]
fn a_log_and_parquet_in_a_bucket() {
    let log = server(some_lines().to_vec());
    assert_eq!(answer(s3(&log, &hours_of("s3://logs/2015/access.log"))), hours_by_hand(some_lines()));
    let paths: Vec<String> = log.requests().iter().map(|request| request.target.clone()).collect();
    assert!(paths.iter().all(|path| path.starts_with("/logs/2015/access.log")), "{paths:?}");
    assert!(log.requests().iter().all(|request| request.method == "HEAD" || request.range().is_some()));
    assert!(log.requests().iter().all(|request| request.header("authorization").is_some_and(|key| key.contains("key/"))));
    let folder = TestFolder::new();
    let (local, parquet) = (folder.file("access.log", some_lines()), folder.text("access.parquet"));
    let _ = query(&["-o", &parquet, &format!("SELECT * FROM '{local}'")]).run().exits(0);
    let served = server(std::fs::read(&parquet).unwrap());
    assert_eq!(answer(s3(&served, &hours_of("s3://logs/a.parquet"))), hours_by_hand(some_lines()));
}

/// A list of objects as the service has it.
const LISTED: &str = r#"<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>
<Contents><Key>2015/b.log</Key><LastModified>2026-01-01T00:00:00Z</LastModified><Size>SIZE</Size><ETag>"given"</ETag></Contents>
<Contents><Key>2015/a.log</Key><LastModified>2026-01-01T00:00:00Z</LastModified><Size>SIZE</Size><ETag>"given"</ETag></Contents>
<Contents><Key>2015/a.txt</Key><LastModified>2026-01-01T00:00:00Z</LastModified><Size>SIZE</Size><ETag>"given"</ETag></Contents>
<Contents><Key>2015/deeper/c.log</Key><LastModified>2026-01-01T00:00:00Z</LastModified><Size>SIZE</Size><ETag>"given"</ETag></Contents>
</ListBucketResult>"#;

#[test]
fn a_wildcard_in_a_bucket() {
    let log = dated(GeneratedContent::of(some_lines().to_vec()));
    let list = GeneratedContent::of(LISTED.replace("SIZE", &log.size_bytes.to_string()).into_bytes());
    let served =
        TestServer::start(
            move |request: &Request| {
                if request.target.contains("list-type=2") { list.answer(request) } else { log.answer(request) }
            },
        );
    let lines = some_lines().split(|byte| *byte == b'\n').count() - 1;
    let count = |table: &str| answer(s3(&served, &format!("SELECT count(*) AS n FROM '{table}'")));
    assert_eq!(count("s3://logs/2015/*.log"), format!("n\n{}\n", 2 * lines));
    assert_eq!(count("s3://logs/2015/"), format!("n\n{}\n", 4 * lines));
}

/// The engine would read both by the columns of the first.
#[test]
fn parquet_in_a_bucket_has_the_same_columns_in_any_order() {
    let folder = TestFolder::new();
    let object = |name: &str, sql: &str| {
        let _ = query(&["--force", "-o", &folder.text(name), sql]).run().exits(0);
        dated(GeneratedContent::of(std::fs::read(folder.at(name)).unwrap()))
    };
    for (second, same) in [("SELECT 'x' AS m, 2 AS n", true), ("SELECT 2.5 AS n, 'x' AS m", false), ("SELECT 2 AS n", false)] {
        let [one, other] = [object("a.parquet", "SELECT 1 AS n, 'w' AS m"), object("b.parquet", second)];
        let entry = |name: &str, content: &GeneratedContent| {
            let size = content.size_bytes;
            format!(
                "<Contents><Key>t/{name}</Key><LastModified>2026-01-01T00:00:00Z</LastModified><Size>{size}</Size>\
                 <ETag>\"given\"</ETag></Contents>"
            )
        };
        let entries = entry("a.parquet", &one) + &entry("b.parquet", &other);
        let list = format!("<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>");
        let list = GeneratedContent::of(list.into_bytes());
        let served = TestServer::start(move |request: &Request| match &request.target {
            target if target.contains("list-type=2") => list.answer(request),
            target if target.contains("b.parquet") => other.answer(request),
            _ => one.answer(request),
        });
        let asked = s3(&served, "SELECT sum(n) AS s, max(m) AS m FROM 's3://logs/t/*.parquet'");
        if same {
            assert_eq!(answer(asked), "s,m\n3,x\n");
        } else {
            asked.run().exits(2).says(&[
                "t/b.parquet: its columns are others than those of ",
                "t/a.parquet",
                "UNION ALL BY NAME",
            ]);
        }
    }
}

#[test]
fn a_log_in_a_bucket_of_the_other_kind() {
    let log = server(some_lines().to_vec());
    let key = format!(
        r#"{{"gcs_base_url":"{}","disable_oauth":true,"client_email":"","private_key":"","private_key_id":""}}"#,
        log.url("")
    );
    let run = query(&["--to", "csv", &hours_of("gs://logs/access.log")]);
    let run = run.with(|command| {
        command.env("GOOGLE_SERVICE_ACCOUNT_KEY", &key).env("GOOGLE_ALLOW_HTTP", "true");
    });
    assert_eq!(answer(run), hours_by_hand(some_lines()));
}

#[test]
fn an_address_that_would_be_changed_is_refused() {
    query(&["SELECT * FROM 'https://h/x.log?signature=1'"]).run().exits(2).says(&["what follows the ?"]);
}

#[test]
fn what_a_server_says_is_told() {
    let nothing = TestServer::start(|_| HttpReply::empty(404));
    let ran = query(&[&format!("SELECT * FROM '{}'", nothing.url("/gone.log"))]).run().exits(2);
    ran.says(&["/gone.log", "404"]);
}

#[test]
fn a_bucket_without_keys_or_region_is_an_error_and_no_wait() {
    let ran = query(&["SELECT * FROM 's3://'"]).run().exits(2);
    ran.says(&["s3://"]);
}

/// An object of JSON lines, each with the same number, of so many periods of 131,072 lines.
fn sevens(periods: u64) -> GeneratedContent {
    let mut lines = "{\"n\":7}\n".repeat(131_071).into_bytes();
    lines.extend(b"{\"n\":7       }\n");
    assert_eq!(lines.len(), PERIOD_BYTES);
    dated(GeneratedContent::of(lines)).repeated(periods)
}

fn sum_of(periods: u64) -> String {
    format!("lines,sum\n{},{}\n", periods * 131_072, periods * 131_072 * 7)
}

fn sum_sql(server: &TestServer) -> String {
    format!("SELECT count(*) AS lines, sum(n) AS sum FROM '{}'", server.url("/sevens.ndjson"))
}

/// True for a request of a piece that is read, and not of the beginning that tells the format.
fn is_piece(request: &Request) -> bool {
    matches!(request.range(), Some((first, Some(last))) if request.method == "GET" && last - first > MIB)
}

/// No answer comes before four pieces were asked for, so that one at a time would never end.
#[test]
fn pieces_of_an_object_are_read_side_by_side() {
    let content = sevens(40);
    let asked = Arc::new((Mutex::new(0), Condvar::new()));
    let (pieces, script) = (Arc::clone(&asked), content.clone());
    let served = TestServer::start(move |request: &Request| {
        if is_piece(request) {
            *pieces.0.lock().unwrap() += 1;
            pieces.1.notify_all();
            let few = |count: &mut i32| *count < 4;
            drop(pieces.1.wait_timeout_while(pieces.0.lock().unwrap(), Duration::from_secs(20), few));
        }
        script.answer(request)
    });
    assert_eq!(csv(&sum_sql(&served)), sum_of(40));
    let pieces: Vec<Request> = served.requests().into_iter().filter(is_piece).collect();
    let read: u64 = pieces.iter().filter_map(Request::range).map(|(first, last)| last.unwrap() + 1 - first).sum();
    assert!(read < content.size_bytes * 5 / 4, "{read} of {}: nothing is read for nothing", content.size_bytes);
    // The first one is looked at for the columns, before it is read.
    let is_first = |request: &Request| request.range().is_some_and(|(first, _)| first == 0);
    assert!(pieces.iter().all(|request| is_first(request) || request.header("if-match") == Some("\"given\"")));
}

#[test]
fn a_piece_that_does_not_come_is_asked_for_again() {
    let content = sevens(40);
    let (stuck, ended) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let is_over = Arc::clone(&ended);
    let served = TestServer::start(move |request: &Request| {
        let is_third = request.range().is_some_and(|(first, _)| first == 12 * MIB);
        if is_piece(request) && is_third && !stuck.swap(true, Ordering::Relaxed) {
            while !is_over.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        content.answer(request)
    });
    let begun = Instant::now();
    let found = csv(&sum_sql(&served));
    ended.store(true, Ordering::Relaxed);
    assert_eq!(found, sum_of(40));
    assert!(begun.elapsed() < Duration::from_secs(25), "not by the client's own limit of 30 s");
    let third = |request: &Request| is_piece(request) && request.range().is_some_and(|(first, _)| first == 12 * MIB);
    assert_eq!(served.requests().iter().filter(|request| third(request)).count(), 2);
}

#[test]
fn a_piece_that_is_cut_is_right_or_an_error() {
    for etag in ["\"given\"", ""] {
        let mut content = sevens(20);
        etag.clone_into(&mut content.etag);
        let cut = AtomicBool::new(false);
        let served = TestServer::start(move |request: &Request| {
            let reply = content.answer(request);
            let is_first = is_piece(request) && !cut.swap(true, Ordering::Relaxed);
            if is_first { reply.cut(300_000, ResponseEnd::Close) } else { reply }
        });
        let ran = query(&["--to", "csv", &sum_sql(&served)]).run();
        if etag.is_empty() && ran.code != Some(0) {
            ran.exits(2).says(&["/sevens.ndjson"]);
        } else {
            assert_eq!(ran.exits(0).text(), sum_of(20), "{etag}");
        }
    }
}

#[test]
fn an_object_that_is_replaced_while_it_is_read_is_an_error() {
    let content = sevens(40);
    let served = TestServer::start(move |request: &Request| match request.range() {
        Some((first, _)) if first > 16 * MIB => HttpReply::empty(412),
        _ => content.answer(request),
    });
    let ran = query(&["--to", "csv", &sum_sql(&served)]).run().exits(2);
    ran.says(&["/sevens.ndjson", "the object was changed while it was read"]);
    assert_eq!(ran.text(), "");
}

#[test]
fn pieces_that_are_read_ahead_stay_within_the_memory() {
    let content = sevens(400);
    let served = TestServer::honest(&content);
    let ran = query(&["--memory", "160MiB", "--to", "csv", &sum_sql(&served)]).run().exits(0);
    assert_eq!(ran.text(), sum_of(400));
    ran.within(160 * MIB);
}

/// The other verbs read objects through this.
#[test]
fn an_object_is_copied_within_little_memory() {
    let content = sevens(200);
    let served = TestServer::honest(&content);
    let ran = query(&["--copy-object", &served.url("/sevens.ndjson")]).run().exits(0);
    assert!(ran.stdout == content.all(), "{} of {} bytes", ran.stdout.len(), content.size_bytes);
    ran.within(80 * MIB);
}

#[test]
fn a_log_in_a_container() {
    let log = server(some_lines().to_vec());
    let run = query(&["--to", "csv", &hours_of("az://logs/2015/access.log")]).with(|command| {
        command
            .env("AZURE_STORAGE_ENDPOINT", log.url("/account"))
            .env("AZURE_ALLOW_HTTP", "true")
            .env("AZURE_STORAGE_ACCOUNT_NAME", "account")
            .env("AZURE_STORAGE_ACCOUNT_KEY", "a2V5");
    });
    assert_eq!(answer(run), hours_by_hand(some_lines()));
    let targets: Vec<String> = log.requests().into_iter().map(|request| request.target).collect();
    assert!(targets.iter().all(|target| target.starts_with("/account/logs/2015/access.log")), "{targets:?}");
}

//! Files by their address.

use crate::common::{SAMPLE, TestFolder, answer, csv, hours_by_hand, hours_of, query};
use rorqual_testkit::http::{GeneratedContent, HttpReply, Request, ResponseEnd, TestServer};
use rorqual_testkit::process::ProcessRun;

/// A server of one file that answers HEAD too.
fn server(bytes: Vec<u8>) -> TestServer {
    let content = GeneratedContent::of(bytes).with_last_modified("Thu, 01 Jan 2026 00:00:00 GMT");
    TestServer::start(move |request: &Request| {
        let reply = content.answer(request);
        if request.method == "HEAD" { reply.cut(0, ResponseEnd::Keep) } else { reply }
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

/// Settings of a query for a server that is asked as S3 is.
fn s3(server: &TestServer, sql: &str) -> ProcessRun {
    query(&["--to", "csv", sql]).with(|command| {
        command
            .env("AWS_ENDPOINT_URL", server.url(""))
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_ACCESS_KEY_ID", "key")
            .env("AWS_SECRET_ACCESS_KEY", "secret")
            .env("AWS_REGION", "us-east-1");
    })
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
    let log = GeneratedContent::of(some_lines().to_vec()).with_last_modified("Thu, 01 Jan 2026 00:00:00 GMT");
    let list = GeneratedContent::of(LISTED.replace("SIZE", &log.size_bytes.to_string()).into_bytes());
    let served = TestServer::start(move |request: &Request| {
        let content = if request.target.contains("list-type=2") { &list } else { &log };
        let reply = content.answer(request);
        if request.method == "HEAD" { reply.cut(0, ResponseEnd::Keep) } else { reply }
    });
    let lines = some_lines().split(|byte| *byte == b'\n').count() - 1;
    let count = |table: &str| answer(s3(&served, &format!("SELECT count(*) AS n FROM '{table}'")));
    assert_eq!(count("s3://logs/2015/*.log"), format!("n\n{}\n", 2 * lines));
    assert_eq!(count("s3://logs/2015/"), format!("n\n{}\n", 4 * lines));
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

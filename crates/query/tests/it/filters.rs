//! Filters as SQL: a query has the rows that a filter means.

use crate::common::{SAMPLE, TestFolder, answer, query, said};
use rorqual_accesslog::filter::{Matcher, Subject};
use rorqual_accesslog::format::{LogFormat, detect};
use rorqual_accesslog::parse::{LineOutcome, LogParser};
use rorqual_accesslog::schema::{NumberUnit, OwnColumn, Schema, TextContent};
use std::sync::Arc;

/// Lines that a filter means, of those that are read.
fn meeting(log: &[u8], format: &LogFormat, filter: &str) -> usize {
    let mut matcher = Matcher::new(Arc::new(Schema::access_log().filter(filter).unwrap()));
    let mut parser = LogParser::new(format);
    let mut meets = |line: &[u8]| match parser.parse(line) {
        LineOutcome::Parsed(record) | LineOutcome::Repaired(record, _) => {
            matcher.meets(&Subject { record: Some(&record), flaw: "", line: b"" })
        }
        LineOutcome::Rejected(_) | LineOutcome::Blank => false,
    };
    log.split(|byte| *byte == b'\n').filter(|line| !line.is_empty() && meets(line)).count()
}

#[test]
fn filters_and_their_sql_mean_the_same_lines() {
    let folder = TestFolder::new();
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples");
    let haproxy = std::fs::read(format!("{samples}/haproxy.log")).unwrap();
    let mut found = 0;
    for (name, log, filters) in [
        (
            "access.log",
            SAMPLE,
            &[
                "",
                "status = 404",
                "status = 4xx",
                "status in (200, 304)",
                "status >= 300 and not status = 304",
                "class = 5xx or class = other",
                "not class in (2xx, 3xx)",
                "bytes > 100000",
                "bytes in 100..2000",
                "bytes = -",
                "not bytes > 10",
                "client in 66.249.0.0/16",
                "not client in 66.0.0.0/8",
                "client = 83.149.9.216",
                "net = 66.249.73.0/24",
                "path ~ \"^/(blog|files)/\"",
                "path !~ \"[0-9]\"",
                "path contains \"it's\" or path contains presentations",
                "referrer = - and method != GET",
                "not (referrer contains google or agent contains bot)",
                "agent has \"Tiny Tiny RSS/1.11 (http://tt-rss.org/)\"",
                "query != -",
                "status = 200 and (bytes < 50 or bytes >= 1000000) and not path contains png",
            ][..],
        ),
        ("haproxy.log", &haproxy, &["request_time > 0.1", "request_time in 0..0.05", "request_time = -", "not request_time < 1"]),
    ] {
        let path = folder.file(name, log);
        let format = detect(log, &[]).unwrap().format;
        for filter in filters {
            let schema = Schema::access_log();
            let sql = schema.sql(&schema.filter(filter).unwrap()).unwrap_or_else(|error| panic!("{filter}: {error}"));
            let ran = query(&["--to", "csv", &format!("SELECT count(*) AS n FROM '{path}' WHERE {sql}")]).run().exits(0);
            let expected = meeting(log, &format, filter);
            assert_eq!(ran.text(), format!("n\n{expected}\n"), "{filter}: {sql}: {}", said(&ran));
            found += usize::from(expected > 0);
        }
    }
    assert!(found > 20, "{found}");
}

/// Counted by hand.
#[test]
fn filters_of_a_table() {
    let folder = TestFolder::new();
    let rows = "{\"at\":\"2026-01-27T10:00:00Z\",\"it\\\"s\":\"a'b\",\"n\":-3,\"x\":0.5,\"ok\":true}\n\
                {\"at\":\"2026-01-27T11:00:00Z\",\"it\\\"s\":\"c\",\"n\":7,\"x\":1e300,\"ok\":false}\n\
                {\"at\":\"2026-01-27T12:30:00.25Z\",\"n\":9}\n";
    let path = folder.file("rows.ndjson", rows);
    let own = |name: &str, unit| OwnColumn { name: name.to_owned(), unit };
    let columns = [
        own("at", Some(NumberUnit::Moment)),
        own("it\"s", None),
        own("n", Some(NumberUnit::Integer)),
        own("x", Some(NumberUnit::Float)),
        own("ok", None),
        own("a.b", None),
        own("list", None),
    ];
    let kinds = vec![TextContent::Text, TextContent::Flag, TextContent::Text, TextContent::Json];
    let schema = Schema::table(columns.into(), true).with_text_kinds(kinds).with_time(Some("at".to_owned()));
    for (filter, expected) in [
        ("\"it\\\"s\" = \"a'b\"", 1),
        ("\"it\\\"s\" = -", 1),
        ("not \"it\\\"s\" = c", 2),
        ("n < 0", 1),
        ("n >= -3 and n != 7", 2),
        ("x > 0.5", 1),
        ("x <= 0.5", 1),
        ("x = -", 1),
        ("ok = true", 1),
        ("not ok = true", 2),
        ("at >= 2026-01-27T11:00:00Z", 2),
        ("at = 2026-01-27T12:30:00.25Z", 1),
    ] {
        let sql = schema.sql(&schema.filter(filter).unwrap_or_else(|error| panic!("{filter}: {error}"))).unwrap();
        let count = answer(query(&["--to", "csv", &format!("SELECT count(*) AS n FROM '{path}' WHERE {sql}")]));
        assert_eq!(count, format!("n\n{expected}\n"), "{filter}: {sql}");
    }
    for (schema, filter, why) in [
        (&schema, "list has a", "'list' is no plain column"),
        (&schema, "\"a.b\" = c", "'a.b' is no plain column"),
        (&schema, "hour = 3", "'hour' is no plain column"),
        (Schema::access_log(), "not bot", "'bot' is not a column"),
        (Schema::access_log(), "browser = Firefox", "'browser' is not a column"),
        (Schema::access_log(), "client in 10.0.0.0/9", "the network 10.0.0.0/9 has no words in SQL"),
        (Schema::access_log(), "any contains x", "no search through all columns"),
    ] {
        let error = schema.sql(&schema.filter(filter).unwrap()).unwrap_err();
        assert!(error.contains(why), "{filter}: {error}");
    }
}

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
    // Names of hosts, of which some begin as an address does; no referrers and no agents.
    let common = ["10.1.2.3", "10.1.2.3.pool.example.net", "10.1.20.3", "host.example", "2001:db8::1"]
        .map(|client| format!("{client} - - [01/Jan/2025:08:00:00 +0000] \"GET /a HTTP/1.1\" 200 12\n"))
        .concat();
    let mut found = 0;
    let logs: [(&str, &[u8], &[&str]); 3] = [
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
                "query != -",
                "status = 200 and (bytes < 50 or bytes >= 1000000) and not path contains png",
            ],
        ),
        (
            "common.log",
            common.as_bytes(),
            &[
                "client in 10.1.2.0/24",
                "client in 10.1.0.0/16",
                "not client in 10.0.0.0/8",
                "client = 10.1.2.3/32",
                "net = 10.1.20.0/24",
                "net = \"10.1.0.0/16\"",
                "referrer = -",
                "agent != curl",
                "not referrer contains a",
                "request_time = - and status = 200",
            ],
        ),
        ("haproxy.log", &haproxy, &["request_time > 0.1", "request_time in 0..0.05", "request_time = -", "not request_time < 1"]),
    ];
    for (name, log, filters) in logs {
        let path = folder.file(name, log);
        let format = detect(log, &[]).unwrap().format;
        for filter in filters {
            let schema = Schema::access_log();
            let has = |name: &str| format.fields().any(|field| field.name() == name);
            let sql = schema.sql(&schema.filter(filter).unwrap(), &has).unwrap_or_else(|error| panic!("{filter}: {error}"));
            let ran = query(&["--to", "csv", &format!("SELECT count(*) AS n FROM '{path}' WHERE {sql}")]).run().exits(0);
            let expected = meeting(log, &format, filter);
            assert_eq!(ran.text(), format!("n\n{expected}\n"), "{filter}: {sql}: {}", said(&ran));
            found += usize::from(expected > 0);
        }
    }
    assert!(found > 20, "{found}");
}

/// A filter of a table as SQL.
fn sql_of(schema: &Schema, filter: &str) -> String {
    let read = schema.filter(filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
    schema.sql(&read, &|_| true).unwrap_or_else(|error| panic!("{filter}: {error}"))
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
    let rows_schema = Schema::table(columns.into(), true).with_text_kinds(kinds).with_time(Some("at".to_owned()));
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
        let sql = sql_of(&rows_schema, filter);
        let count = answer(query(&["--to", "csv", &format!("SELECT count(*) AS n FROM '{path}' WHERE {sql}")]));
        assert_eq!(count, format!("n\n{expected}\n"), "{filter}: {sql}");
    }
    // As a filter has them: a NaN and an empty text are absent, both zeros are one, a number in
    // single precision is that of its digits, dates and nanoseconds are moments.
    let typed = folder.text("typed.parquet");
    let made = "SELECT * FROM (VALUES \
         (1, 1.5, CAST(0.1 AS FLOAT), DATE '2026-01-27', arrow_cast('2026-01-27T10:00:00.000001999', 'Timestamp(Nanosecond, None)'), ''), \
         (2, CAST('NaN' AS DOUBLE), CAST(7 AS FLOAT), DATE '2026-01-28', arrow_cast('2026-01-27T11:00:00', 'Timestamp(Nanosecond, None)'), 'a'), \
         (3, CAST('Infinity' AS DOUBLE), NULL, NULL, NULL, NULL), \
         (4, CAST('-0.0' AS DOUBLE), CAST(1 AS FLOAT), DATE '1969-12-31', arrow_cast('1969-12-31T23:00:00', 'Timestamp(Nanosecond, None)'), '[\"a\"]')) \
         AS t(n, x, f, day, at, s)";
    let _ = query(&["-o", &typed, made]).run().exits(0);
    let columns = [
        own("x", Some(NumberUnit::Float)),
        own("f", Some(NumberUnit::Float)),
        own("day", Some(NumberUnit::Moment)),
        own("at", Some(NumberUnit::Moment)),
        own("s", None),
    ];
    let schema = Schema::table(columns.into(), true);
    for (filter, rows) in [
        ("x > 1", "1 3"),
        ("x = -", "2"),
        ("not x = -", "1 3 4"),
        ("not x > 1", "2 4"),
        ("x = 0", "4"),
        ("x >= 0 and x < 2", "1 4"),
        ("f = 0.1", "1"),
        ("f in 0.5..7", "2 4"),
        ("day >= 2026-01-27T00:00:00Z and day < 2026-01-27T11:00:00Z", "1"),
        ("day < 1970-01-01T00:00:00Z", "4"),
        ("at = 2026-01-27T10:00:00.000001Z", "1"),
        ("at <= 2026-01-27T11:00:00Z", "1 2 4"),
        ("s = -", "1 3"),
        ("s ~ \"^[a-z]*$\"", "2"),
        ("not s contains a", "1 3"),
    ] {
        let sql = sql_of(&schema, filter);
        let found = answer(query(&["--to", "csv", &format!("SELECT n FROM '{typed}' WHERE {sql} ORDER BY n")]));
        assert_eq!(found.lines().skip(1).collect::<Vec<_>>().join(" "), rows, "{filter}: {sql}");
    }
    for (schema, filter, why) in [
        (&schema, "s has a", "no test like 'has'"),
        (&rows_schema, "list = a", "'list' can't be used in SQL"),
        (&rows_schema, "\"a.b\" = c", "'a.b' can't be used in SQL"),
        (&rows_schema, "hour = 3", "'hour' can't be used in SQL"),
        (Schema::access_log(), "not bot", "'bot' is not a column"),
        (Schema::access_log(), "browser = Firefox", "'browser' is not a column"),
        (Schema::access_log(), "client in 10.0.0.0/9", "the network 10.0.0.0/9 can't be written in SQL"),
        (Schema::access_log(), "any contains x", "can't search all columns"),
    ] {
        let error = schema.sql(&schema.filter(filter).unwrap(), &|_| true).unwrap_err();
        assert!(error.contains(why), "{filter}: {error}");
    }
}

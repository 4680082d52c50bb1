//! The same answer on every path, and the right one.

use crate::common::{SAMPLE, TestFolder, answer, csv, hours_by_hand, hours_of, query};
use std::io::Write;

#[test]
fn hours_and_statuses_of_the_sample() {
    let folder = TestFolder::new();
    let path = folder.file("access.log", SAMPLE);
    assert_eq!(csv(&hours_of(&path)), hours_by_hand(SAMPLE));
}

/// A log that is many blocks and stretches long, so that lines cross their borders.
fn long_log() -> Vec<u8> {
    SAMPLE.repeat(6)
}

#[test]
fn any_number_of_threads_any_encoding_file_or_pipe() {
    let folder = TestFolder::new();
    let log = long_log();
    let expected = hours_by_hand(&log);
    let plain = folder.file("access.log", &log);
    for threads in ["1", "2", "5"] {
        let run = query(&["--to", "csv", "--threads", threads, &hours_of(&plain)]);
        assert_eq!(answer(run), expected, "{threads} threads");
    }
    let gz = folder.file("access.log.gz", gzip(&log));
    let zst = folder.file("access.log.zst", zstd::encode_all(&log[..], 1).unwrap());
    for path in [&gz, &zst] {
        assert_eq!(csv(&hours_of(path)), expected, "{path}");
    }
    for bytes in [log, gzip(&long_log())] {
        let run = query(&["--to", "csv", &hours_of("-")]).stdin(bytes);
        assert_eq!(answer(run), expected, "standard input");
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn several_files_by_wildcards_and_by_folder() {
    let folder = TestFolder::new();
    let half = SAMPLE[..SAMPLE.len() / 2].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    folder.file("a.log", &SAMPLE[..half]);
    folder.file("b.log", gzip(&SAMPLE[half..]));
    folder.file(".hidden", "no log\n");
    let expected = hours_by_hand(SAMPLE);
    for table in [folder.text("*.log*"), folder.text("[ab].log"), folder.text("")] {
        assert_eq!(csv(&hours_of(&table)), expected, "{table}");
    }
}

#[test]
fn every_column_of_a_line() {
    let folder = TestFolder::new();
    let line = r#"10.1.2.3 - ann [17/May/2015:10:05:03 +0200] "GET /a%20b?c=d HTTP/1.1" 404 1234 "http://r/" "agent/1.0 (x)""#;
    let path = folder.file("one.log", format!("{line}\n"));
    let expected = "time,client,user,method,path,query,protocol,status,bytes,referrer,agent\n\
                    2015-05-17T08:05:03Z,10.1.2.3,ann,GET,/a%20b,c=d,HTTP/1.1,404,1234,http://r/,agent/1.0 (x)\n";
    assert_eq!(csv(&format!("SELECT * FROM '{path}'")), expected);
    assert_eq!(csv(&format!("SELECT count(*) AS n FROM '{path}'")), "n\n1\n");
    assert_eq!(csv(&format!("SELECT upper(method) || path AS x FROM '{path}' WHERE bytes > 1000")), "x\nGET/a%20b\n");
}

#[test]
fn a_span_of_time_leaves_out_only_what_is_outside() {
    let folder = TestFolder::new();
    // Not in order, and one line in another zone.
    let times =
        ["02/Jan/2025:00:00:00 +0000", "01/Jan/2025:23:59:59 +0000", "02/Jan/2025:01:00:00 +0100", "03/Jan/2025:00:00:00 +0000"];
    let lines: String = times.iter().map(|time| format!("h - - [{time}] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n")).collect();
    let path = folder.file("access.log", lines);
    for (condition, expected) in [
        ("time >= '2025-01-02T00:00:00Z'", 3),
        ("time > '2025-01-02T00:00:00Z'", 1),
        ("'2025-01-02T00:00:00Z' > time", 1),
        ("time BETWEEN '2025-01-01T23:59:59Z' AND '2025-01-02T00:00:00Z'", 3),
        ("time NOT BETWEEN '2025-01-01T23:59:59Z' AND '2025-01-02T00:00:00Z'", 1),
        ("time < '2025-01-02T00:00:00Z' OR time > '2025-01-02T00:00:00Z'", 2),
        ("time = '2025-01-02T00:00:00Z' AND status = 200", 2),
        ("time != '2025-01-02T00:00:00Z'", 2),
    ] {
        assert_eq!(
            csv(&format!("SELECT count(*) AS n FROM '{path}' WHERE {condition}")),
            format!("n\n{expected}\n"),
            "{condition}"
        );
    }
    let explained = answer(query(&["--explain", &format!("SELECT status FROM '{path}' WHERE time >= '2025-01-02T00:00:00Z'")]));
    assert!(explained.contains("time_us=1735776000000000..="), "{explained}");
    assert!(explained.contains("projection=[time, status]"), "{explained}");
}

#[test]
fn lines_that_are_none_are_counted_and_told() {
    let folder = TestFolder::new();
    let good = "h - - [02/Jan/2025:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"-\"\n";
    let long = format!("h - - [02/Jan/2025:00:00:00 +0000] \"GET /{} HTTP/1.1\" 200 1 \"-\" \"-\"\n", "x".repeat(2 << 20));
    let path = folder.file("access.log", format!("{good}what is this\n{good}{long}{good}\n"));
    let sql = format!("SELECT count(*) AS n FROM '{path}'");
    for threads in ["1", "3"] {
        let ran = query(&["--to", "csv", "--threads", threads, &sql]).run().exits(0);
        assert_eq!(ran.text(), "n\n3\n");
        ran.says(&["access.log: 2 records were left out; the first at byte 66: "]);
    }
    let ran = query(&["--to", "csv", "SELECT count(*) AS n FROM '-'"]).stdin(std::fs::read(&path).unwrap()).run().exits(0);
    assert_eq!(ran.text(), "n\n3\n");
    ran.says(&["standard input: 2 records were left out; the first at byte 66: "]);
}

#[test]
fn a_join_of_a_log_with_itself() {
    let folder = TestFolder::new();
    let path = folder.file("access.log", SAMPLE);
    let sql = format!(
        "SELECT count(*) AS n FROM (SELECT client, count(*) AS c FROM '{path}' GROUP BY 1) a JOIN '{path}' b ON a.client = b.client"
    );
    assert_eq!(csv(&sql), "n\n10000\n");
}

#[test]
fn parquet_and_what_it_was_made_of() {
    let folder = TestFolder::new();
    let (log, parquet) = (folder.file("access.log", SAMPLE), folder.text("access.parquet"));
    let _ = query(&["-o", &parquet, &format!("SELECT * FROM '{log}'")]).run().exits(0);
    assert_eq!(csv(&hours_of(&parquet)), hours_by_hand(SAMPLE));
    for columns in ["client, path, bytes, agent", "time, referrer, query"] {
        let sql = |table: &str| format!("SELECT {columns} FROM '{table}' ORDER BY {columns}");
        assert_eq!(csv(&sql(&parquet)), csv(&sql(&log)));
    }
}

#[test]
fn views_and_tables_in_memory() {
    let folder = TestFolder::new();
    let path = folder.file("access.log", SAMPLE);
    let text = format!(
        "CREATE VIEW logs AS SELECT * FROM '{path}';\n\
         CREATE TABLE missing AS SELECT path FROM logs WHERE status = 404;\n\
         SELECT count(*) AS n FROM missing;"
    );
    assert_eq!(answer(query(&["--to", "csv"]).stdin(text.clone())), "n\n213\n");
    let file = folder.file("statements.sql", text);
    assert_eq!(answer(query(&["--to", "csv", "-f", &file])), "n\n213\n");
}

#[test]
fn json_as_lines_as_an_array_and_inside_a_document() {
    let folder = TestFolder::new();
    let rows: Vec<String> = (0..5_000)
        .map(|n| format!("{{\"n\":{n},\"kind\":\"k{}\",\"in\":{{\"x\":{}.5}},\"pad\":\"{:60}\"}}", n % 3, n % 10, ""))
        .collect();
    let lines = folder.file("rows.ndjson", rows.join("\n"));
    let array = folder.file("rows.json", format!("[{}]", rows.join(",\n")));
    let nested = folder.file("nested.json", format!("{{\"data\":{{\"items\":[{}]}}}}", rows.join(",")));
    for path in [lines, array, nested] {
        let sql =
            format!("SELECT kind, count(*) AS c, sum(n) AS n, max(t.\"in\"['x']) AS x FROM '{path}' t GROUP BY 1 ORDER BY 1");
        let rows = if path.ends_with("nested.json") { &["--rows", "$.data.items"][..] } else { &[] };
        let csv = |sql: &str| answer(query(&["--to", "csv"]).args(rows).args([sql]));
        // 0, 3, 6 … 4998 and so on; tenths come round in each third.
        assert_eq!(csv(&sql), "kind,c,n,x\nk0,1667,4165833,9.5\nk1,1667,4167500,9.5\nk2,1666,4164167,9.5\n", "{path}");
        assert_eq!(csv(&format!("SELECT count(*) AS c FROM '{path}'")), "c\n5000\n");
    }
}

#[test]
fn rows_of_each_table_and_a_delimiter() {
    let folder = TestFolder::new();
    let one = folder.file("one.json", r#"{"a":{"items":[{"n":1},{"n":2}]},"b":[{"n":10}]}"#);
    let two = folder.file("two.json", r#"{"list":[{"n":3}]}"#);
    let sql = format!("SELECT sum(n) AS n FROM (SELECT n FROM '{one}' UNION ALL SELECT n FROM '{two}')");
    let (own, all) = (format!("{one}=$.b"), "$.list");
    let ran = query(&["--to", "csv", "--rows", &own, "--rows", all, &sql]).run().exits(0);
    assert_eq!((ran.text(), ran.stderr.as_str()), ("n\n13\n", ""));
    let ran = query(&["--to", "csv", "--rows", "wrong.json=$.b", "--rows", all, &format!("SELECT n FROM '{two}'")]).run();
    ran.exits(0).says(&["--rows wrong.json=…", "no table 'wrong.json'"]);
    let csv_file = folder.file("t.txt", "a|b\n1|x,y\n2|z\n");
    let sql = format!("SELECT b FROM '{csv_file}' ORDER BY a");
    assert_eq!(answer(query(&["--to", "csv", "--from", "csv", "--delimiter", "|", &sql])), "b\n\"x,y\"\nz\n");
    query(&["--delimiter", "é", "SELECT 1"]).run().exits(2).says(&["--delimiter", "not a separator"]);
}

#[test]
fn what_is_odd_is_told_once() {
    let folder = TestFolder::new();
    let records =
        "{\"id\":1,\"id\":2,\"big\":123456789012345678901234567890}\n{\"id\":3,\"big\":5}\n{\"id\":4,\"id\":5,\"big\":6}\n";
    let path = folder.file("odd.ndjson", records);
    let ran = query(&["--to", "csv", "--threads", "1", &format!("SELECT * FROM '{path}'")]).run().exits(0);
    assert_eq!(ran.text(), "id,big\n2,123456789012345678901234567890\n3,5\n5,6\n");
    ran.says(&["2 x a key twice in one object", "odd.ndjson at byte 0", "1 x a number that 64 bits or a double would change"]);
    let mixed = folder.file("mixed.ndjson", "{\"a\":1}\n{\"a\":\"x\"}\n");
    let sql = format!("SELECT a FROM '{mixed}'");
    assert_eq!(csv(&sql), "a\n1\nx\n");
    query(&["--conflicts", "error", &sql]).run().exits(2).says(&["--conflicts widen"]);
}

/// The second file has a field that the first has not; the third another type.
#[test]
fn all_files_are_looked_at_where_that_is_asked_for() {
    let folder = TestFolder::new();
    for (name, record) in [("1", "{\"a\":1}"), ("2", "{\"a\":2,\"b\":\"x\"}"), ("3", "{\"a\":2.5}")] {
        folder.file(&format!("{name}.ndjson"), record);
    }
    let sql = format!("SELECT a, b FROM '{}' ORDER BY a, b", folder.text("*.ndjson"));
    assert_eq!(answer(query(&["--to", "csv", "--infer-all", &sql])), "a,b\n1.0,\n2.0,x\n2.5,\n");
}

#[test]
fn arithmetic_beyond_64_bits_is_an_error_and_no_other_number() {
    let folder = TestFolder::new();
    let large = folder.file("large.csv", "k,n\n1,9000000000000000000\n2,3\n");
    let no_room = ["has no room in Int64", "DECIMAL(38,0)"];
    for (expr, number) in [
        ("n * 2", "9000000000000000000 * 2"),
        ("n + n", "9000000000000000000 + 9000000000000000000"),
        ("0 - n - n", "-9000000000000000000 - 9000000000000000000"),
        ("-(0 - n - 223372036854775808)", "0 - -9223372036854775808"),
        ("max(n) + max(n)", "9000000000000000000 + 9000000000000000000"),
        ("9223372036854775807 + 1", "9223372036854775807 + 1"),
        ("(SELECT max(n) * 2 FROM 'FILE')", "9000000000000000000 * 2"),
        ("sum(n * 2)", "9000000000000000000 * 2"),
    ] {
        let sql = format!("SELECT {expr} FROM 'FILE'").replace("FILE", &large);
        query(&[&sql]).run().exits(2).says(&no_room).says(&[number]);
    }
    let filter = format!("SELECT k FROM '{large}' WHERE n * 2 > 5 ORDER BY n + n");
    query(&[&filter]).run().exits(2).says(&no_room);
    // Names, groups, other types, and arms that no row takes are as before.
    let sql = format!(
        "SELECT k + 1, -k AS m, k * 1.5 AS f, CASE WHEN k > 1 THEN n * 2 END AS c, n::DECIMAL(38,0) * 2 AS d, \
         (SELECT max(b.k - 1) FROM '{large}' b WHERE b.k = a.k) AS s FROM '{large}' a ORDER BY k"
    );
    let table = answer(query(&["--to", "csv", &sql]));
    let (head, rows) = table.split_once('\n').unwrap();
    assert_eq!(head, "a.k + Int64(1),m,f,c,d,s");
    assert_eq!(rows, "2,-1,1.5,,18000000000000000000,0\n3,-2,3.0,6,6,1\n");
    let sets = format!("SELECT k + 1 AS g, count(*) AS c, grouping(k + 1) AS s FROM '{large}' GROUP BY ROLLUP(k + 1) ORDER BY 1");
    assert_eq!(answer(query(&["--to", "csv", &sets])), "g,c,s\n2,1,0\n3,1,0\n,2,1\n");
    let cube = format!("SELECT k * 2 AS a, 0 - k AS b, count(*) AS c FROM '{large}' GROUP BY CUBE(k * 2, 0 - k) ORDER BY 1, 2");
    assert_eq!(answer(query(&["--to", "csv", &cube])), "a,b,c\n2,-1,1\n2,,1\n4,-2,1\n4,,1\n,-2,1\n,-1,1\n,,2\n");
    let grouped =
        format!("SELECT k % 2 + 1 AS g, count(*) AS c FROM '{large}' GROUP BY k % 2 + 1 HAVING k % 2 + 1 > 0 ORDER BY g");
    assert_eq!(answer(query(&["--to", "csv", &grouped])), "g,c\n1,1\n2,1\n");
}

#[test]
fn a_sum_beyond_64_bits_is_an_error_and_no_other_number() {
    let folder = TestFolder::new();
    let large = folder.file("large.ndjson", "{\"k\":1,\"n\":9000000000000000000}\n".repeat(2));
    let said = ["is beyond a whole number of 64 bits", "DECIMAL(38,0)"];
    for select in ["sum(n)", "k, sum(n)", "sum(n) OVER (ORDER BY k ROWS 1 PRECEDING)"] {
        let group = if select.starts_with('k') { " GROUP BY k" } else { "" };
        query(&[&format!("SELECT {select} FROM '{large}'{group}")]).run().exits(2).says(&said);
    }
    let wide = format!("SELECT sum(CAST(n AS DECIMAL(38,0))) AS s, max(n) AS m FROM '{large}'");
    assert_eq!(answer(query(&["--to", "csv", &wide])), "s,m\n18000000000000000000,9000000000000000000\n");
    let others = folder.file("others.csv", "k,n\n1,9000000000000000000\n1,8000000000000000000\n");
    query(&[&format!("SELECT sum(DISTINCT n), count(n) FROM '{others}'")]).run().exits(2).says(&said);
    // On the way to a sum that has room there is more.
    let rows = "9000000000000000000 9000000000000000000 -9000000000000000000 5".split(' ').map(|n| format!("1,{n}\n"));
    let there = folder.file("there.csv", ["k,n\n".to_owned()].into_iter().chain(rows).collect::<String>());
    let sums = "SELECT k, sum(n) AS s, sum(n) FILTER (WHERE n < 6) AS f, sum(DISTINCT n) AS d FROM 'FILE' GROUP BY k";
    let asked = query(&["--to", "csv", &sums.replace("FILE", &there)]);
    assert_eq!(answer(asked), "k,s,f,d\n1,9000000000000000005,-8999999999999999995,5\n");
    let moving = format!("SELECT sum(n) OVER (ORDER BY n ROWS 1 PRECEDING) AS s FROM '{there}' WHERE n < 6");
    assert_eq!(answer(query(&["--to", "csv", &moving])), "s\n-9000000000000000000\n-8999999999999999995\n");
}

/// A CSV of decimals of 38 digits, as a table whose column `n` has that type.
fn decimals(folder: &TestFolder, rows: &[&str]) -> String {
    let text = rows.iter().map(|n| format!("1,x{n}\n")).collect::<String>();
    let file = folder.file("decimals.csv", format!("k,t\n{text}"));
    format!("(SELECT k, CAST(substr(t, 2) AS DECIMAL(38,0)) AS n FROM '{file}')")
}

#[test]
fn a_sum_beyond_its_digits_is_an_error_and_no_other_number() {
    let folder = TestFolder::new();
    let large = "9".repeat(38);
    let table = decimals(&folder, &[large.as_str(); 4]);
    let said = ["has more than 38 digits", "DECIMAL(76,0)"];
    for select in ["sum(n)", "k, sum(n)", "sum(n) OVER (ORDER BY k ROWS 1 PRECEDING)", "sum(n) OVER ()"] {
        let group = if select.starts_with('k') { " GROUP BY k" } else { "" };
        query(&[&format!("SELECT {select} FROM {table}{group}")]).run().exits(2).says(&said);
    }
    // With room it is right, and so is one that has room at its end only.
    let sums = "SELECT k, sum(CAST(n AS DECIMAL(76,0))) AS s, sum(DISTINCT n) AS d, min(n) AS m";
    let wide = answer(query(&["--to", "csv", &format!("{sums} FROM {table} GROUP BY k")]));
    assert_eq!(wide, format!("k,s,d,m\n1,3{}6,{large},{large}\n", "9".repeat(37)));
    let minus = format!("-{large}");
    let table = decimals(&folder, &[&large, &large, &large, &minus, &minus, "5"]);
    let back = "CAST('99999999999999999999999999999999999999' AS DECIMAL(38,0))";
    let there = format!("SELECT sum(n) - {back} AS s, count(n) AS c FROM {table}");
    assert_eq!(answer(query(&["--to", "csv", &there.replace("sum(n) -", "sum(n - 5) + 30 -")])), "s,c\n5,6\n");
    query(&[&format!("SELECT sum(n) FROM {table}")]).run().exits(2).says(&said);
}

#[test]
fn sums_of_76_digits_and_averages_are_right_or_an_error() {
    let folder = TestFolder::new();
    let large = "5".repeat(38);
    let table = decimals(&folder, &[large.as_str(); 9]);
    let huge = "CAST(n AS DECIMAL(76,0)) * CAST('99999999999999999999999999999999999999' AS DECIMAL(76,0))";
    for select in ["sum(h)", "k, sum(h)", "sum(h) OVER (ORDER BY k ROWS 2 PRECEDING)"] {
        let group = if select.starts_with('k') { " GROUP BY k" } else { "" };
        let sql = format!("SELECT {select} FROM (SELECT k, {huge} AS h FROM {table}){group}");
        query(&[&sql]).run().exits(2).says(&["has more than 76 digits"]);
    }
    let one = format!("SELECT k, sum(h) AS s FROM (SELECT k, {huge} AS h FROM {table} LIMIT 1) GROUP BY k");
    let product = format!("{}4{}5", "5".repeat(37), "4".repeat(37));
    assert_eq!(answer(query(&["--to", "csv", &one])), format!("k,s\n1,{product}\n"));
    query(&[&format!("SELECT avg({huge}) FROM {table}")]).run().exits(2).says(&["CAST them AS DECIMAL(63,0)"]);
    let average = format!("SELECT avg(CAST(n AS DECIMAL(60,0))) AS a, avg(DISTINCT CAST(n AS DECIMAL(60,0))) AS b FROM {table}");
    let averages = answer(query(&["--to", "csv", &average]));
    assert_eq!(averages, format!("a,b\n{large}.0000,{large}.0000\n"));
    query(&[&format!("SELECT avg(n) FROM {table}")]).run().exits(2).says(&["verflow"]);
}

#[test]
fn sums_and_averages_of_durations_are_right_or_an_error() {
    let folder = TestFolder::new();
    let row = "{\"k\":1,\"a\":\"1700-01-01T00:00:00Z\",\"b\":\"2250-01-01T00:00:00Z\"}\n";
    let file = folder.file("spans.ndjson", row.repeat(3));
    let span = |unit: &str| {
        let cast = |name: &str| format!("CAST({name} AS TIMESTAMP({unit}))");
        format!("(SELECT k, {} - {} AS d FROM '{file}')", cast("b"), cast("a"))
    };
    let days = 200_883_u64;
    let micros = answer(query(&["--to", "csv", &format!("SELECT arrow_typeof(d) AS t FROM {} LIMIT 1", span("6"))]));
    assert_eq!(micros, "t\nDuration(µs)\n");
    let averages = format!("SELECT k, avg(d) AS a, CAST(avg(d) AS BIGINT) AS n FROM {} GROUP BY k", span("6"));
    let averages = answer(query(&["--to", "csv", &averages]));
    assert!(averages.contains(&format!(",{}\n", days * 86_400_000_000)), "{averages}");
    // Of nanoseconds 64 bits have room for 292 years.
    let most = |data_type: &str, text: &str| {
        let one = format!("SELECT k, arrow_cast({text}, '{data_type}') AS d FROM '{file}'");
        format!("SELECT k, FUNCTION(d) AS d FROM ({one}) GROUP BY k")
    };
    let durations = most("Duration(Nanosecond)", "9223372036854775807");
    query(&[&durations.replace("FUNCTION", "sum")]).run().exits(2).says(&["is beyond a duration of 64 bits"]);
    let averages = answer(query(&["--to", "csv", &durations.replace("FUNCTION", "avg")]));
    assert_eq!(averages, "k,d\n1,PT9223372036.854775807S\n");
    let intervals = most("Interval(MonthDayNano)", "'9223372036854775807 nanoseconds'");
    query(&[&intervals.replace("FUNCTION", "sum")]).run().exits(2).says(&["is beyond an interval of 64 bits"]);
    let months = most("Interval(MonthDayNano)", "'2 months 1 day'").replace("FUNCTION", "sum");
    assert_eq!(answer(query(&["--to", "csv", &months])), "k,d\n1,6 mons 3 days\n");
}

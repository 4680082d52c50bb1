//! A cluster answers as one process does, with the same messages.

use crate::common::{MIB, SAMPLE, TestCluster, TestFolder, alone, listening, names_in, program, repeated_log, same};
use rorqual_testkit::generate::{EventLines, write_array, write_lines};
use rorqual_testkit::http::{GeneratedContent, Request, TestServer};
use rorqual_testkit::paths::gzip;
use std::collections::BTreeSet;
use std::io::Write;
use std::time::{Duration, Instant};

/// A log of some MiB, with lines that are none and a field that can't be read.
fn log() -> Vec<u8> {
    let mut log = Vec::new();
    for _ in 0..6 {
        log.extend_from_slice(SAMPLE);
        log.extend_from_slice(b"this is no line of a log\n");
    }
    log
}

/// Questions about a log whose answers do not depend on the order of rows.
const QUESTIONS: [&str; 15] = [
    "SELECT count(*) AS n FROM '{}'",
    "SELECT status, count(*) AS n, sum(bytes) AS b, min(time) AS t FROM '{}' GROUP BY status ORDER BY status",
    "SELECT date_trunc('hour', time) AS h, status, count(*) AS n FROM '{}' GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT client, count(*) AS n FROM '{}' GROUP BY client ORDER BY n DESC, client LIMIT 20",
    "SELECT count(DISTINCT client) AS c, count(DISTINCT path) AS p FROM '{}' WHERE status <> 200",
    "SELECT time, client, path FROM '{}' WHERE status = 404 ORDER BY time, client, path LIMIT 50",
    "SELECT count(*) AS n FROM '{}' WHERE time >= '2015-05-18T00:00:00Z' AND time < '2015-05-19T00:00:00Z'",
    "SELECT a.status, count(*) AS n FROM '{}' a JOIN (SELECT DISTINCT client FROM '{}' WHERE status = 404) b ON a.client = b.client \
     GROUP BY 1 ORDER BY 1",
    "SELECT status, bytes * 2 + 1 AS twice, count(*) AS n FROM '{}' GROUP BY 1, 2 ORDER BY n DESC, 1, 2 LIMIT 10",
    "SELECT status, n, sum(n) OVER (ORDER BY status) AS run FROM (SELECT status, count(*) AS n FROM '{}' GROUP BY status) ORDER BY 1",
    "SELECT client, path FROM '{}' WHERE bytes > (SELECT max(bytes) / 2 FROM '{}') ORDER BY 1, 2 LIMIT 5",
    "SELECT status, n, sum(n) OVER (PARTITION BY status / 100 + 1) AS s FROM (SELECT status, count(*) AS n FROM '{}' GROUP BY status) \
     ORDER BY 1",
    "SELECT bytes * 2 AS b, client FROM '{}' WHERE status = 404 ORDER BY bytes * 3 DESC, client, 1 LIMIT 30",
    "SELECT status + 1 AS s, client FROM '{}' WHERE status > 400 UNION SELECT status * 2, client FROM '{}' WHERE status = 206 ORDER BY 1, 2",
    "SELECT path, count(*) AS n FROM '{}' WHERE path LIKE '%presentations%' GROUP BY path HAVING count(*) > 50 ORDER BY n, path",
];

/// The questions to a table; those with a note of lines that were left out are told it once.
fn asked(cluster: &TestCluster, table: &str, flags: &[&str]) {
    for question in QUESTIONS {
        let sql = question.replace("{}", table);
        let ran = same(cluster, &[flags, &[&sql]].concat());
        assert!(ran.text().lines().count() > 1, "{sql}");
    }
}

#[test]
fn questions_to_a_log_in_every_form() {
    let folder = TestFolder::new();
    let log = log();
    let plain = folder.file("access.log", &log);
    let compressed = folder.file("access.log.gz", gzip(&log));
    let parquet = folder.text("access.parquet");
    let _ = alone(&["-o", &parquet, &format!("SELECT * FROM '{plain}'")]).run().exits(0);
    let cluster = TestCluster::start(&folder, 2);
    asked(&cluster, &plain, &[]);
    asked(&cluster, &compressed, &[]);
    asked(&cluster, &parquet, &[]);
    // Files that are read as one table, some of them whole and some in stretches.
    for name in ["part-1.log", "part-2.log", "part-3.log"] {
        let _ = folder.file(name, SAMPLE);
    }
    let parts = folder.text("part-*.log");
    asked(&cluster, &parts, &[]);
    let told = same(&cluster, &[&QUESTIONS[0].replace("{}", &plain)]);
    told.says(&["6 records were left out"]);
    cluster.waits_for_clean_folders();
}

/// Samples of all formats of logs, as their servers write them.
#[test]
fn samples_of_all_formats() {
    let folder = TestFolder::new();
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples");
    let names: Vec<String> = names_in(samples.as_ref()).into_iter().filter(|name| name.ends_with(".log")).collect();
    assert!(names.len() > 20, "{names:?}");
    let cluster = TestCluster::start(&folder, 1);
    let mut answered = 0;
    for name in names {
        let path = folder.file(&name, std::fs::read(format!("{samples}/{name}")).unwrap());
        let sql =
            format!("SELECT count(*) AS n, count(time) AS t, min(time) AS first, count(DISTINCT client) AS c FROM '{path}'");
        let expected = alone(&[&sql]).run();
        let ran = cluster.query(&[&sql]).run();
        assert_eq!((ran.text(), ran.code), (expected.text(), expected.code), "{name}: {} {}", ran.stderr, expected.stderr);
        answered += usize::from(ran.code == Some(0));
    }
    assert!(answered > 20, "{answered}");
    // Keys that are no field are columns of their own.
    let path = folder.text("fastly.log");
    let own = format!("SELECT response_state, count(*) AS n, count(geo_country) AS g FROM '{path}' GROUP BY 1 ORDER BY 1");
    assert!(same(&cluster, &[&own]).text().lines().count() > 1);
}

#[test]
fn records_of_json_and_csv() {
    let folder = TestFolder::new();
    let (mut lines, mut array) = (Vec::new(), Vec::new());
    write_lines(&mut EventLines::new(7), 12 * MIB, &mut lines).unwrap();
    write_array(&mut EventLines::new(7), 3 * MIB, "", &mut array).unwrap();
    let ndjson = folder.file("events.ndjson", &lines);
    let array = folder.file("events.json", &array);
    let csv = folder.text("events.csv");
    let columns = alone(&["--to", "ndjson", &format!("SELECT * FROM '{ndjson}' LIMIT 1")]).run().exits(0);
    let first: serde_json::Value = serde_json::from_str(columns.text().lines().next().unwrap()).unwrap();
    let texts: Vec<&String> =
        first.as_object().unwrap().iter().filter(|(_, value)| value.is_string()).map(|(key, _)| key).collect();
    let text = texts.first().expect("a column of texts");
    let _ = alone(&["-o", &csv, &format!("SELECT \"{text}\" FROM '{ndjson}'")]).run().exits(0);
    let cluster = TestCluster::start(&folder, 2);
    for table in [&ndjson, &array, &csv] {
        let count = format!("SELECT count(*) AS n, count(DISTINCT \"{text}\") AS d, min(\"{text}\") AS m FROM '{table}'");
        let _ = same(&cluster, &[&count]);
        let top = format!("SELECT \"{text}\" AS v, count(*) AS n FROM '{table}' GROUP BY 1 ORDER BY n DESC, v LIMIT 7");
        let _ = same(&cluster, &[&top]);
    }
    // A damaged record ends the query, or is left out and told.
    let mut damaged = lines.clone();
    damaged.extend_from_slice(b"{\"torn\": \n");
    let damaged = folder.file("damaged.ndjson", &damaged);
    let count = format!("SELECT count(*) AS n FROM '{damaged}'");
    let refused = cluster.query(&[&count]).run().exits(2);
    refused.says(&["damaged.ndjson", "--bad skip"]);
    assert_eq!(refused.text(), "");
    same(&cluster, &["--bad", "skip", &count]).says(&["1 record was left out"]);
}

#[test]
fn objects_by_the_keys_of_the_executors() {
    let folder = TestFolder::new();
    let end = SAMPLE[..900_000].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    let lines = [&SAMPLE[..end], b"this is no line of a log\n"].concat();
    let content = GeneratedContent::of(lines).with_last_modified("Thu, 01 Jan 2026 00:00:00 GMT");
    let served = TestServer::honest(&content);
    let cluster = TestCluster::with(&folder, 2, |run| served.as_s3(run));
    for question in QUESTIONS {
        let sql = question.replace("{}", "s3://logs/access.log");
        let expected = served.as_s3(alone(&[&sql])).run().exits(0);
        let ran = served.as_s3(cluster.query(&[&sql])).run().exits(0);
        assert_eq!((ran.text(), &ran.stderr), (expected.text(), &expected.stderr), "{sql}");
    }
    // An executor without keys says so; none came with the plan.
    let other = TestFolder::new();
    let without = TestCluster::with(&other, 1, |run| {
        run.with(|command| {
            command.env("AWS_ENDPOINT_URL", "http://127.0.0.1:9").env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
            command.env("AWS_ACCESS_KEY_ID", "none").env("AWS_SECRET_ACCESS_KEY", "none");
        })
    });
    let refused = served.as_s3(without.query(&["SELECT count(*) FROM 's3://logs/access.log'"])).run().exits(2);
    refused.says(&["access.log"]);
}

/// A plain object is cut into stretches; each is read by its range, and no line twice. One that is
/// compressed, whatever its name, is read as a whole.
#[test]
fn stretches_of_an_object() {
    let folder = TestFolder::new();
    let (content, lines) = repeated_log(40);
    let served = TestServer::honest(&content);
    let cluster = TestCluster::with(&folder, 2, |run| served.as_s3(run));
    let count = "SELECT count(*) AS n, sum(bytes) AS b FROM 's3://logs/access.log'";
    let expected = served.as_s3(alone(&[count])).run().exits(0);
    let before = served.requests().len();
    let ran = served.as_s3(cluster.query(&[count])).run().exits(0);
    assert_eq!((ran.text(), &ran.stderr), (expected.text(), &expected.stderr));
    assert!(expected.text().contains(&lines.to_string()), "{}", expected.text());
    // Lines that are none are left out: one of each repetition.
    ran.says(&["40 records were left out"]);
    let starts: BTreeSet<u64> = served.requests()[before..].iter().filter_map(Request::range).map(|(start, _)| start).collect();
    assert!(starts.iter().filter(|start| **start > 7 << 20).count() >= 4, "{starts:?}");
    let text = GeneratedContent::of(gzip(&SAMPLE[..4_000_000.min(SAMPLE.len())]));
    let compressed = TestServer::honest(&text.with_last_modified("Thu, 01 Jan 2026 00:00:00 GMT"));
    let cluster = TestCluster::with(&folder, 2, |run| compressed.as_s3(run));
    let expected = compressed.as_s3(alone(&[count])).run().exits(0);
    let ran = compressed.as_s3(cluster.query(&[count])).run().exits(0);
    assert_eq!((ran.text(), &ran.stderr), (expected.text(), &expected.stderr));
}

/// Clients at once, and one that ends in the middle: each has its own answer and its own notes.
#[test]
fn clients_at_once() {
    let folder = TestFolder::new();
    let noted = folder.file("noted.log", log());
    let clean = folder.file("clean.log", SAMPLE.repeat(4));
    let cluster = TestCluster::start(&folder, 2);
    let asked: Vec<String> =
        QUESTIONS.iter().enumerate().map(|(number, sql)| sql.replace("{}", [&noted, &clean][number % 2])).collect();
    for asked in asked.chunks(4) {
        let left = cluster.query(&[&format!("SELECT * FROM '{noted}' a, '{clean}' b ORDER BY a.path")]).start();
        let running: Vec<_> = asked.iter().map(|sql| cluster.query(&[sql]).start()).collect();
        // It may not listen yet, and Ctrl-C is ignored till then where tests run in the background.
        left.terminate();
        for (sql, running) in asked.iter().zip(running) {
            let expected = alone(&[sql]).run().exits(0);
            let ran = running.wait().exits(0);
            assert_eq!((ran.text(), &ran.stderr), (expected.text(), &expected.stderr), "{sql}");
        }
        let _ = left.wait();
    }
    cluster.waits_for_clean_folders();
}

/// Joins that make rows for hours, or look for some in vain, are ended with their client: the only
/// thread of the executor is free for others.
#[test]
fn joins_without_end_end_with_their_clients() {
    let folder = TestFolder::new();
    let (log, long) = (folder.file("access.log", SAMPLE.repeat(4)), folder.file("long.log", SAMPLE.repeat(40)));
    let cluster = TestCluster::start(&folder, 1);
    let lines = SAMPLE.iter().filter(|byte| **byte == b'\n').count() * 4;
    for endless in [
        format!("SELECT * FROM '{log}' a, '{log}' b ORDER BY a.path"),
        format!("SELECT count(*) AS n FROM '{long}' a, '{long}' b WHERE a.bytes + b.bytes < 0"),
        format!("SELECT count(*) AS n FROM '{long}' a JOIN '{long}' b ON a.status = b.status WHERE a.bytes + b.bytes < 0"),
    ] {
        let before = cpu_seconds(cluster.executors[0].id());
        let left = cluster.query(&[&endless]).start();
        // It is at it.
        let begun = Instant::now();
        while cpu_seconds(cluster.executors[0].id()) < before + 4.0 {
            assert!(begun.elapsed() < Duration::from_secs(120), "the executor has nothing to do");
            std::thread::sleep(Duration::from_millis(50));
        }
        left.interrupt();
        let _ = left.wait().exits(130);
        let count = cluster.query(&[&format!("SELECT count(*) AS n FROM '{log}'")]).time_max(Duration::from_secs(30));
        assert_eq!(count.run().exits(0).text(), format!("n\n{lines}\n"), "{endless}");
    }
}

/// Time of a processor that a process has taken.
fn cpu_seconds(id: u32) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).expect("the process");
    let (_, fields) = stat.rsplit_once(") ").expect("its name");
    let ticks: f64 = fields.split(' ').skip(11).take(2).map(|field| field.parse::<f64>().expect("a number")).sum();
    ticks / 100.0
}

/// By IPv6, and with executors of two threads.
#[test]
fn addresses_of_ipv6() {
    let folder = TestFolder::new();
    let log = folder.file("access.log", log());
    let (scheduler, address) = listening(program(&["scheduler", "--listen", "[::1]:0"]));
    let executor = || {
        let run = program(&["executor", "--scheduler", &address, "--listen", "[::1]:0", "--threads", "2"]);
        listening(run.args(["--files", folder.path().to_str().unwrap()])).0
    };
    let executors = [executor(), executor()];
    for question in QUESTIONS {
        let sql = question.replace("{}", &log);
        let expected = alone(&[&sql]).run().exits(0);
        let ran = program(&["query", "--cluster", &address, "--to", "csv", &sql]).run().exits(0);
        assert_eq!((ran.text(), &ran.stderr), (expected.text(), &expected.stderr), "{sql}");
    }
    drop((scheduler, executors));
}

/// Errors of executors are told in the words of one process.
#[test]
fn errors_are_told() {
    let folder = TestFolder::new();
    let numbers = folder.file("numbers.csv", "n\n9223372036854775807\n1\n");
    let cluster = TestCluster::start(&folder, 2);
    for sql in [
        format!("SELECT n + n AS twice FROM '{numbers}'"),
        format!("SELECT sum(n) AS s FROM '{numbers}'"),
        format!("SELECT CAST('x' || n AS INT) AS i FROM '{numbers}'"),
        format!("SELECT no_such_column FROM '{numbers}'"),
    ] {
        let expected = alone(&[&sql]).run().exits(2);
        let ran = cluster.query(&[&sql]).run().exits(2);
        // One process knows the files of a query where an error of a library names none.
        let (cluster, one) = (ran.stderr.trim(), expected.stderr.trim().split(" (the query reads").next().unwrap());
        assert_eq!(cluster.split(" (on the executor at 127.0.0.1:").next().unwrap(), one, "{sql}");
        assert_eq!(ran.text(), "");
    }
    // The output is whole or not there.
    let output = folder.text("out.parquet");
    let _ = cluster.query(&["-o", &output, &format!("SELECT n + n AS twice FROM '{numbers}'")]).run().exits(2);
    assert!(!folder.at("out.parquet").exists());
    let _ = cluster.query(&["-o", &output, &format!("SELECT n FROM '{numbers}'")]).run().exits(0);
    assert!(folder.at("out.parquet").exists());
    // A pipe is of one process.
    let piped = cluster.query(&["SELECT count(*) FROM '-'"]).feed(|stdin| stdin.write_all(SAMPLE)).run().exits(2);
    piped.says(&["standard input and pipes can be read by this process only"]);
    cluster.waits_for_clean_folders();
}

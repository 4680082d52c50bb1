//! The memory given is the memory taken, by each process.

use crate::common::{MIB, TestCluster, TestFolder, alone, repeated_log};
use rorqual_testkit::generate::write_addresses_log;
use rorqual_testkit::http::TestServer;
use std::fs::File;
use std::io::BufWriter;

const MEMORY: u64 = 256 * MIB;

/// A log of so many lines, each with a client of its own.
fn addresses(folder: &TestFolder, lines: u32) -> String {
    let path = folder.text("addresses.log");
    write_addresses_log(lines, &mut BufWriter::new(File::create(&path).unwrap())).unwrap();
    path
}

/// Groups and a sort far beyond the memory of an executor.
#[test]
fn executors_keep_their_memory() {
    let folder = TestFolder::new();
    let path = addresses(&folder, 3_000_000);
    let cluster = TestCluster::with(&folder, 2, |run| run.args(["--memory", "256MiB", "--threads", "2"]));
    let groups = format!("SELECT count(*) AS g, max(n) AS m FROM (SELECT client, count(*) AS n FROM '{path}' GROUP BY client)");
    let ran = cluster.query(&["--memory", "256MiB", &groups]).run().exits(0);
    assert_eq!(ran.text(), "g,m\n3000000,1\n");
    let sorted = folder.text("sorted.csv");
    let sort = format!("SELECT client, time, path FROM '{path}' ORDER BY client, time");
    let ran = cluster.query(&["--memory", "256MiB", "-o", &sorted, &sort]).run().exits(0);
    ran.within(MEMORY);
    let text = std::fs::read_to_string(&sorted).unwrap();
    let clients: Vec<&str> = text.lines().skip(1).map(|line| line.split(',').next().unwrap()).collect();
    assert_eq!(clients.len(), 3_000_000);
    assert!(clients.is_sorted());
    // A client that has much more memory than they have: their sorts go by their own.
    let large = folder.text("large.csv");
    let _ = cluster.query(&["--memory", "16GiB", "-o", &large, &sort]).run().exits(0);
    assert!(std::fs::read_to_string(&large).unwrap() == text, "the rows are others");
    for process in cluster.executors.iter().chain([&cluster.scheduler]) {
        let peak = process.peak_bytes();
        assert!(peak <= MEMORY, "{} MiB", peak / MIB);
    }
    cluster.waits_for_clean_folders();
}

/// An object some times as large as an executor's memory, read in stretches by two threads of each.
#[test]
fn objects_far_above_the_memory() {
    let folder = TestFolder::new();
    let (content, rows) = repeated_log(800);
    let served = TestServer::honest(&content);
    let cluster = TestCluster::with(&folder, 2, |run| served.as_s3(run.args(["--memory", "160MiB", "--threads", "2"])));
    let sql = "SELECT count(*) AS n, count(DISTINCT client) > 100 AS many FROM 's3://logs/access.log'";
    let ran = served.as_s3(cluster.query(&["--memory", "160MiB", sql])).run().exits(0);
    assert_eq!(ran.text(), format!("n,many\n{rows},true\n"));
    ran.says(&["800 records were left out"]);
    for process in cluster.executors.iter().chain([&cluster.scheduler]) {
        let peak = process.peak_bytes();
        assert!(peak <= 160 * MIB, "{} MiB", peak / MIB);
    }
}

/// A task that has no room ends its query, with the name of the limit, and no executor.
#[test]
fn a_task_without_room_ends_its_query_only() {
    let folder = TestFolder::new();
    let path = addresses(&folder, 1_500_000);
    let cluster = TestCluster::with(&folder, 2, |run| run.args(["--memory", "192MiB"]));
    // All texts in one value, which no operator can move out.
    let sql =
        format!("SELECT length(string_agg(client, ',')) AS l, count(*) AS n FROM '{path}', (VALUES (1), (2), (3), (4)) t(x)");
    let ran = cluster.query(&[&sql]).run().exits(2);
    ran.says(&["--memory"]);
    let count = format!("SELECT count(*) AS n FROM '{path}'");
    let expected = alone(&[&count]).run().exits(0);
    assert_eq!(cluster.query(&[&count]).run().exits(0).text(), expected.text());
    cluster.within(192 * MIB);
}

/// Results between stages have a bound, too.
#[test]
fn a_full_folder_ends_the_query() {
    let folder = TestFolder::new();
    let path = addresses(&folder, 2_000_000);
    let cluster = TestCluster::with(&folder, 2, |run| run.args(["--temp-max", "4MiB"]));
    let sql = format!("SELECT client, time, path, agent, count(*) AS n FROM '{path}' GROUP BY 1, 2, 3, 4 ORDER BY 1 LIMIT 5");
    let ran = cluster.query(&[&sql]).run().exits(2);
    ran.says(&["--temp-max"]);
    cluster.waits_for_clean_folders();
}

//! The ways into a cluster, and the files that its executors read.

use crate::common::{SAMPLE, TestCluster, TestFolder, listening, program};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

#[test]
fn other_machines_need_a_key() {
    for role in ["scheduler", "executor", "local"] {
        let refused = program(&[role, "--listen", "0.0.0.0:0"]).run().exits(2);
        refused.says(&["--listen 0.0.0.0:0", "--key FILE", "rorqual cluster key"]);
    }
}

#[test]
fn key_files() {
    let folder = TestFolder::new();
    let key = folder.text("cluster.key");
    let _ = program(&["key", &key]).run().exits(0);
    assert_eq!(folder.at("cluster.key").metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let before = std::fs::read(&key).unwrap();
    program(&["key", &key]).run().exits(2).says(&["cluster.key", "exists"]);
    assert_eq!(std::fs::read(&key).unwrap(), before);
    std::fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).unwrap();
    program(&["scheduler", "--key", &key]).run().exits(2).says(&["others can read the key"]);
    for damaged in ["", "hello", &String::from_utf8_lossy(&before[..before.len() / 2])] {
        let damaged = folder.file("damaged.key", damaged);
        std::fs::set_permissions(&damaged, PermissionsExt::from_mode(0o600)).unwrap();
        program(&["scheduler", "--key", &damaged]).run().exits(2).says(&["damaged.key", "is not the key"]);
    }
    program(&["scheduler", "--key", &folder.text("none")]).run().exits(2).says(&["none", "No such file"]);
}

/// Neither tasks nor queries go to another machine in the clear.
#[test]
fn a_scheduler_elsewhere_needs_a_key() {
    for run in [
        program(&["executor", "--scheduler", "192.0.2.1:50050", "--listen", "127.0.0.1:0"]),
        program(&["query", "--cluster", "scheduler.example", "SELECT 1"]),
        program(&["query", "--cluster", "[2001:db8::1]:50050", "SELECT 1"]),
    ] {
        run.run().exits(2).says(&["another machine", "--key"]);
    }
}

/// With a key, nothing is answered to those who have none, or another one.
#[test]
fn a_key_opens_every_port_and_nothing_else_does() {
    let folder = TestFolder::new();
    let log = folder.file("access.log", SAMPLE);
    let (key, other) = (folder.text("cluster.key"), folder.text("other.key"));
    for key in [&key, &other] {
        let _ = program(&["key", key]).run().exits(0);
    }
    let (scheduler, address) = listening(program(&["scheduler", "--listen", "127.0.0.1:0", "--key", &key]));
    let work = |key: &[&str]| {
        let run = program(&["executor", "--scheduler", &address, "--listen", "127.0.0.1:0", "--threads", "1"]);
        listening(run.args(["--files", folder.path().to_str().unwrap()]).args(key))
    };
    let (mut executors, mut ports) = (Vec::new(), vec![address.clone()]);
    for _ in 0..2 {
        let (executor, port) = work(&["--key", &key]);
        executors.push(executor);
        ports.push(port);
    }
    let sql = format!("SELECT client, count(*) AS n FROM '{log}' GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 3");
    let ask = |key: &[&str]| program(&["query", "--cluster", &address, "--to", "csv", &sql]).args(key).run();
    let expected = program(&["query", "--to", "csv", &sql]).run().exits(0);
    assert_eq!(ask(&["--cluster-key", &key]).exits(0).text(), expected.text());
    ask(&[]).exits(2).says(&["--cluster-key"]);
    ask(&["--cluster-key", &other]).exits(2).says(&["no connection"]);
    // The start of HTTP/2 without TLS gets no frame of HTTP/2 on any port.
    for port in &ports {
        let mut stream = TcpStream::connect(port).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let _ = stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        // At most an alert of TLS, which begins with 21.
        assert!(answer.is_empty() || answer[0] == 21, "{port}: {answer:?}");
    }
    // An executor without the key, or with another one, gets no work, and says why.
    let (stranger, _) = work(&[]);
    let (other_key, _) = work(&["--key", &other]);
    std::thread::sleep(Duration::from_secs(3));
    for (executor, words) in [(&stranger, "does it want a key (--key)"), (&other_key, "is --key that of the cluster")] {
        let said = executor.stderr_so_far();
        assert!(said.contains(&address) && said.matches(words).count() == 1, "{said}");
    }
    assert_eq!(scheduler.stderr_so_far().matches("executor 127.0.0.1").count(), 2, "{}", scheduler.stderr_so_far());
    drop((stranger, other_key));
}

/// An executor reads no file but below its folders, by whatever path or link, and says so.
#[test]
fn files_are_below_the_folders_of_the_executor() {
    let (inside, outside) = (TestFolder::new(), TestFolder::new());
    let log = inside.file("access.log", SAMPLE);
    let secret = outside.file("secret.log", SAMPLE);
    let parquet = outside.text("secret.parquet");
    let _ = program(&["query", "-o", &parquet, &format!("SELECT * FROM '{secret}'")]).run().exits(0);
    std::os::unix::fs::symlink(&secret, inside.at("link.log")).unwrap();
    std::os::unix::fs::symlink(&parquet, inside.at("link.parquet")).unwrap();
    let cluster = TestCluster::start(&inside, 1);
    let count = |table: &str| cluster.query(&[&format!("SELECT count(DISTINCT client) AS n FROM '{table}'")]).run();
    let _ = count(&log).exits(0);
    let (link, parquet_link) = (inside.text("link.log"), inside.text("link.parquet"));
    let up = format!("{}/../{}/secret.log", inside.path().display(), outside.path().file_name().unwrap().to_string_lossy());
    for table in [&secret, &parquet, &link, &parquet_link, &up] {
        let refused = count(table).exits(2);
        refused.says(&["is not below", "--files of an executor"]);
        assert_eq!(refused.text(), "", "{table}");
    }
    // Without folders it reads objects only.
    let (scheduler, address) = listening(program(&["scheduler", "--listen", "127.0.0.1:0"]));
    let run = program(&["executor", "--scheduler", &address, "--listen", "127.0.0.1:0", "--threads", "1"]);
    let (executor, _) = listening(run);
    let sql = format!("SELECT count(*) AS n FROM '{log}'");
    let refused = program(&["query", "--cluster", &address, "--to", "csv", &sql]).run().exits(2);
    refused.says(&["reads no files of its machine", "--files"]);
    drop((scheduler, executor));
}

//! `rorqual logs --cluster` gives the report of `rorqual logs`.

use crate::common::{MIB, PROGRAM, SAMPLE, TestCluster, TestFolder, names_in, repeated_log};
use rorqual_testkit::generate::write_addresses_log;
use rorqual_testkit::http::{GeneratedContent, TestServer};
use rorqual_testkit::paths::{gzip, zstd_frame_of_window};
use rorqual_testkit::process::{ProcessEnd, ProcessRun};
use serde_json::Value;
use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The everyday program, which is built beside this one.
fn rorqual() -> PathBuf {
    let program = Path::new(PROGRAM).with_file_name("rorqual");
    assert!(program.is_file(), "{} is not built: cargo build -p rorqual", program.display());
    program
}

fn logs(args: &[&str]) -> ProcessRun {
    ProcessRun::new(rorqual().to_str().unwrap()).args(["logs", "--json"]).args(args).time_max(Duration::from_secs(300))
}

fn on(cluster: &TestCluster, args: &[&str]) -> ProcessRun {
    logs(&["--cluster", &cluster.address]).args(args)
}

/// A report without its costs.
fn report(ran: &ProcessEnd) -> Value {
    let mut report = ran.json();
    assert!(report["stats"].take().is_object());
    report
}

/// Holds the reports of a cluster and of one process, with all messages, to be the same.
fn same(cluster: &TestCluster, args: &[&str]) -> Value {
    let alone = logs(args).run();
    let ran = on(cluster, args).run().exits(alone.code.unwrap());
    assert_eq!(ran.stderr, alone.stderr, "{args:?}");
    let (found, expected) = (report(&ran), report(&alone));
    for (key, value) in expected.as_object().unwrap() {
        assert!(found[key] == *value, "{key} of {args:?}:\n{}\n{value}", found[key]);
    }
    found
}

/// A log that is cut into some parts: lines that are none at several places, one of them long.
fn log() -> Vec<u8> {
    let mut log = Vec::new();
    for number in 0..24 {
        log.extend_from_slice(SAMPLE);
        log.extend_from_slice(format!("this is no line of a log: {number}\n").as_bytes());
        if number == 17 {
            log.extend_from_slice(&[0; 700_000]);
        }
    }
    log
}

#[test]
fn reports_of_files_in_every_form() {
    let folder = TestFolder::new();
    let log = log();
    assert!(log.len() as u64 > 40 * MIB, "{} bytes are too few to be cut", log.len());
    let plain = folder.file("access.log", &log);
    let compressed = folder.file("access.log.gz", gzip(&log));
    // Its name does not say that it is compressed.
    let unnamed = folder.file("access.log.old", gzip(&log));
    let sample = folder.file("sample.log", SAMPLE);
    let empty = folder.file("empty.log", "");
    let cluster = TestCluster::start(&folder, 2);
    for args in [
        &[&plain[..]][..],
        &["--top", "1000", &plain],
        &[&compressed],
        &[&unnamed],
        &["--top", "50", &plain, &compressed, &sample, &empty, &unnamed],
        &["--where", "status >= 400 and not bot", &plain],
        &["--where", "path contains \"logstash\" and hour = 10", &sample, &plain],
        &["--where", "rejected", &plain],
        &["--since", "2015-05-18T10:00", "--until", "2015-05-19", &plain],
        &["--format", "combined", "--line-max", "64KiB", &plain],
        &["--format", "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"", &plain],
    ] {
        let report = same(&cluster, args);
        assert!(report["lines"]["total"].as_u64() > Some(1_000));
    }
    // The same page and the same text.
    for args in [&[&plain[..]][..], &["--top", "3", &plain, &sample]] {
        let text = |run: ProcessRun| run.args(args).run().exits(0);
        let program = || ProcessRun::new(rorqual().to_str().unwrap()).args(["logs"]);
        let (alone, ran) = (text(program()), text(program().args(["--cluster", &cluster.address])));
        let told = |ran: &ProcessEnd| ran.text().lines().filter(|line| !line.contains("/s")).collect::<Vec<_>>().join("\n");
        assert_eq!(told(&ran), told(&alone));
    }
    cluster.waits_for_clean_folders();
}

/// Samples of all formats, among them those in which lines say the columns of others.
#[test]
fn reports_of_all_formats() {
    let folder = TestFolder::new();
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../samples");
    let cluster = TestCluster::start(&folder, 1);
    for name in names_in(samples.as_ref()).into_iter().filter(|name| name.ends_with(".log")) {
        let sample = std::fs::read(Path::new(samples).join(&name)).unwrap();
        // Some of them often enough to be cut.
        let times = if sample.len() < 20_000 { 1 } else { (20 * MIB as usize) / sample.len() };
        let path = folder.file(&name, sample.repeat(times.max(1)));
        let _ = same(&cluster, &[&path]);
    }
    let iis = "#Software: IIS\n#Fields: date time c-ip cs-method cs-uri-stem sc-status\n";
    let other = "#Fields: date time cs-uri-stem c-ip sc-status\n";
    let line = "2026-01-27 14:10:00 203.0.113.7 GET /a 200\n".repeat(200_000);
    let turned = "2026-01-27 14:10:00 /b 203.0.113.8 404\n".repeat(300_000);
    let path = folder.file("w3c.log", [iis, &line, other, &turned].concat());
    let report = same(&cluster, &[&path]);
    assert_eq!(report["status"][0]["hits"], 300_000);
    let config =
        folder.file("nginx.conf", "log_format main '$remote_addr [$time_local] \"$request\" $status $request_time $my_own';");
    let line = "203.0.113.7 [27/Jan/2026:14:10:00 +0100] \"GET /a HTTP/1.1\" 200 0.25 x\n".repeat(200_000);
    let path =
        folder.file("own.log", [&line[..], "203.0.113.8 [27/Jan/2026:14:10:00 +0100] \"GET /a HTTP/1.1\" 500 0.5 y\n"].concat());
    for args in
        [&["--format-file", &config, &path][..], &["--format-file", &config, "--format", "main", "--where", "my_own = y", &path]]
    {
        let report = same(&cluster, args);
        assert_eq!(report["sources"][0]["format"], "main");
    }
}

/// Files that are wrong are told as by one process, and the others counted.
#[test]
fn files_that_are_wrong() {
    let folder = TestFolder::new();
    let sample = folder.file("sample.log", SAMPLE);
    let mut torn = gzip(SAMPLE);
    torn.truncate(torn.len() / 2);
    let torn = folder.file("torn.log.gz", torn);
    let prose = folder.file("prose.log", "It was a dark and stormy night;\nthe rain fell in torrents\n".repeat(100));
    let archive = folder.file("archive.log", b"PK\x03\x04 and more".repeat(10));
    let doubtful = folder.file("doubtful.log", [&SAMPLE[..20_000], &b"\nwhat is this?".repeat(400)].concat());
    let nuls = folder.file("nuls.log", [&[0; 9 * MIB as usize][..], SAMPLE].concat());
    let cluster = TestCluster::start(&folder, 2);
    for args in [
        &[&torn[..]][..],
        &[&archive],
        &[&doubtful],
        &[&nuls],
        &[&sample, &torn, &archive, &doubtful, &nuls, &sample],
        &["--where", "no_such_column = 1", &sample],
    ] {
        let alone = logs(args).run();
        let ran = on(&cluster, args).run();
        assert_eq!((ran.code, &ran.stderr), (alone.code, &alone.stderr), "{args:?}");
        if !alone.text().is_empty() {
            assert_eq!(report(&ran), report(&alone), "{args:?}");
        }
    }
    for (args, said) in [
        (&["no-such.log"][..], &["no-such.log"][..]),
        // One process would show it as a table.
        (&[&prose], &["prose.log: this is in none of the known log formats", "--format"]),
        (&["-"], &["--cluster goes without standard input"]),
        (&["--geoip", "countries.mmdb", &sample], &["--geoip"]),
        (&["/etc/hostname"], &["--files"]),
        (&["s3://logs/none/"], &["s3://logs/none/"]),
    ] {
        on(&cluster, args).run().exits(2).says(said);
    }
    for flags in
        [&["--rejects", "x.log"][..], &["-i"], &["--findings"], &["--by", "path"], &["--explain", "2015-05-18..2015-05-19"]]
    {
        let program = ProcessRun::new(rorqual().to_str().unwrap()).args(["logs", "--cluster", &cluster.address]);
        program.args(flags).args([&sample]).run().exits(2).says(&["--cluster"]);
    }
    let small = TestCluster::with(&folder, 1, |run| run.args(["--memory", "124MiB"]));
    let refused = on(&small, &[&sample]).run().exits(2);
    refused.says(&["of --memory 124 MiB of the executor", "are for reports"]);
    let of_folder = logs(&["--cluster", "127.0.0.1:1", folder.path().to_str().unwrap()]).run().exits(2);
    of_folder.says(&["--cluster goes without a folder: name the files in it"]);
    let nobody = logs(&["--cluster", "127.0.0.1:1", &sample]).run().exits(2);
    nobody.says(&["127.0.0.1:1"]);
    assert_eq!(nobody.text(), "");
}

/// Objects are cut into parts, and each process stays within its memory.
#[test]
fn objects_within_the_memory() {
    let folder = TestFolder::new();
    let (content, _) = repeated_log(500);
    let served = TestServer::honest(&content);
    let cluster = TestCluster::with(&folder, 2, |run| served.as_s3(run.args(["--memory", "192MiB", "--threads", "2"])));
    let path = "s3://logs/access.log";
    let expected = report(&served.as_s3(logs(&[path])).run().exits(0));
    let ran = served.as_s3(on(&cluster, &["--memory", "192MiB", path])).run().exits(0);
    assert_eq!(report(ran.within(192 * MIB)), expected);
    for process in cluster.executors.iter().chain([&cluster.scheduler]) {
        let peak = process.peak_bytes();
        assert!(peak <= 192 * MIB, "{} MiB", peak / MIB);
    }
    let text = GeneratedContent::of(gzip(SAMPLE)).with_last_modified("Thu, 01 Jan 2026 00:00:00 GMT");
    let compressed = TestServer::honest(&text);
    let cluster = TestCluster::with(&folder, 1, |run| compressed.as_s3(run));
    let expected = report(&compressed.as_s3(logs(&[path])).run().exits(0));
    assert_eq!(report(&compressed.as_s3(on(&cluster, &[path])).run().exits(0)), expected);
}

/// More values than there is room for: those that are shown have their bounds.
#[test]
fn more_values_than_room() {
    let folder = TestFolder::new();
    let path = folder.text("addresses.log");
    write_addresses_log(2_000_000, &mut BufWriter::new(File::create(&path).unwrap())).unwrap();
    let hits = b"203.0.113.77 - - [27/Jan/2026:14:10:00 +0000] \"GET /often HTTP/1.1\" 200 5 \"-\" \"curl/8\"\n".repeat(50_000);
    let often = folder.file("often.log", hits);
    let cluster = TestCluster::with(&folder, 2, |run| run.args(["--memory", "192MiB", "--threads", "2"]));
    let ran = on(&cluster, &["--memory", "128MiB", &path, &often]).run().exits(0);
    let report = report(&ran);
    assert_eq!(report["lines"]["parsed"], 2_050_000);
    let clients = report["panels"].as_array().unwrap().iter().find(|panel| panel["field"] == "client").unwrap();
    assert_eq!(clients["exact"], false);
    let top = &clients["rows"][0];
    assert_eq!(top["value"], "203.0.113.77");
    assert!(top["hits"].as_u64() <= Some(50_000) && top["hits_max"].as_u64() >= Some(50_000), "{top}");
    let (count, error) = (clients["distinct"]["count"].as_f64().unwrap(), clients["distinct"]["error"].as_f64().unwrap());
    assert!(error > 0.0 && (count / 2_000_001.0 - 1.0).abs() <= 1.5 * error, "{count} ± {error}");
    cluster.within(192 * MIB);
}

/// Executors that die, and a client that leaves.
#[test]
fn processes_that_are_lost() {
    let folder = TestFolder::new();
    let log = folder.file("access.log", log().repeat(6));
    let expected = report(&logs(&[&log]).run().exits(0));
    let cluster = TestCluster::start(&folder, 2);
    let begun = Instant::now();
    assert_eq!(report(&on(&cluster, &[&log]).run().exits(0)), expected);
    let whole = begun.elapsed();
    for moment in [0.3, 0.6] {
        let cluster = TestCluster::start(&folder, 2);
        let running = on(&cluster, &[&log]).start();
        std::thread::sleep(whole.mul_f64(moment));
        cluster.executors[0].kill();
        let ran = running.wait().exits(0);
        assert_eq!(report(&ran), expected, "killed at {moment} of {whole:?}");
    }
    // An executor that stands still keeps the report from ending before the client leaves.
    cluster.executors[0].pause();
    let running = on(&cluster, &[&log]).start();
    std::thread::sleep(whole / 2);
    running.interrupt();
    let ran = running.wait().exits(130);
    assert_eq!(ran.text(), "");
    let running = on(&cluster, &[&log]).start();
    std::thread::sleep(whole / 2);
    running.kill();
    let _ = running.wait();
    cluster.executors[0].go_on();
    // It had parts of both, and may have worked on.
    cluster.waits_for_clean_folders();
    assert_eq!(report(&on(&cluster, &[&log]).run().exits(0)), expected);
}

/// Executors with more threads than their memory has room for reports: fewer tasks run at a time.
#[test]
fn more_threads_than_reports_have_room_for() {
    let folder = TestFolder::new();
    let log = folder.file("access.log", log());
    let expected = report(&logs(&[&log]).run().exits(0));
    let cluster = TestCluster::with(&folder, 2, |run| run.args(["--memory", "256MiB", "--threads", "12"]));
    let running: Vec<_> = (0..3).map(|_| on(&cluster, &["--memory", "64MiB", &log]).start()).collect();
    for running in running {
        assert_eq!(report(running.wait().exits(0).within(64 * MIB)), expected);
    }
    cluster.within(256 * MIB);
}

/// Windows of zstd are those that the whole memory of an executor allows.
#[test]
fn windows_of_compressed_files() {
    let folder = TestFolder::new();
    let log = log();
    let mut compressed = Vec::new();
    for (name, window_log) in [("4mib", 22), ("8mib", 23)] {
        compressed.push(folder.file(&format!("{name}.log.zst"), zstd_frame_of_window(&log, window_log)));
    }
    let cluster = TestCluster::with(&folder, 1, |run| run.args(["--memory", "256MiB", "--threads", "8"]));
    for path in &compressed {
        let _ = same(&cluster, &[path]);
    }
    // What one process can't read either is an error of the executor, not a damaged file.
    let large = folder.file("64mib.log.zst", zstd_frame_of_window(&log, 26));
    on(&cluster, &[&large]).run().exits(2).says(&["64mib.log.zst", "window", "executor"]);
}

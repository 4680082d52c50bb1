//! Open files of the server: allowed as many as it may need, refused where they can't be, and its
//! behaviour while there are none.

use crate::client::Server;
use crate::common::{PROGRAM, TestFolder, eventually, rorqual};
use rorqual_testkit::process::{ProcessEnd, ProcessRun, RunningProcess};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

/// The server started by a shell with these limits.
fn limited(limits: &str, args: &[&str]) -> ProcessRun {
    let script = format!("{limits}; exec \"$0\" serve --port 0 \"$@\"");
    ProcessRun::new("bash").args(["-c", &script, PROGRAM]).args(args)
}

/// Sets the soft limit of a running program.
fn allow(running: &RunningProcess, files: u32) {
    let (id, files) = (running.id().to_string(), format!("--nofile={files}:"));
    assert!(Command::new("prlimit").args(["--pid", &id, &files]).status().expect("prlimit").success());
}

/// Asks on a connection that stays.
fn is_answered(server: &Server, stream: &mut TcpStream) -> bool {
    let head = server.head("GET", "/api/server").replace("Connection: close\r\n", "");
    let mut status = [0; 12];
    stream.write_all(format!("{head}\r\n").as_bytes()).is_ok()
        && stream.read_exact(&mut status).is_ok()
        && status.ends_with(b"200")
}

#[test]
fn as_many_connections_as_were_asked_for_have_their_files() {
    let server = Server::start_as(limited("ulimit -Sn 100", &["--connections", "200"]));
    let streams: Vec<TcpStream> = (0..200)
        .map(|number| {
            let mut stream = server.connect();
            assert!(is_answered(&server, &mut stream), "connection {number}");
            stream
        })
        .collect();
    let open = std::fs::read_dir(format!("/proc/{}/fd", server.running.id())).expect("it runs").count();
    assert!(open > 400, "{open} are open: a socket and its twin each");
    drop(streams);
}

#[test]
fn more_connections_than_there_may_be_files_for_are_refused_at_the_start() {
    let ran = limited("ulimit -n 300", &["--connections", "200"]).run().exits(2);
    // 216 connections, sixteen of them of strangers, with three files each; two sessions and the
    // eight that may have ended, with two each; and 64.
    ran.says(&["--connections 200", "732 open files", "300 (the hard limit)", "ulimit -n 732"]);
    let server = Server::start_as(limited("ulimit -n 300", &["--connections", "16"]));
    assert_eq!(server.get("/api/server").status, 200);
}

#[test]
fn while_there_are_no_files_that_is_told_once_and_then_it_goes_on() {
    let server = Server::start(&[]);
    allow(&server.running, 12);
    let waiting: Vec<TcpStream> = (0..30).map(|_| server.connect()).collect();
    let told = || server.running.stderr_so_far().matches("not accepted").count();
    eventually("it says so", || (told() > 0).then_some(()));
    // At twenty tries a second there would be another one soon.
    std::thread::sleep(std::time::Duration::from_millis(500));
    allow(&server.running, 1_000);
    assert_eq!(server.get("/api/server").status, 200);
    assert_eq!(told(), 1, "{}", server.running.stderr_so_far());
    drop(waiting);
}

/// A run with more files open than its soft limit allows.
fn many_tables(limits: &str) -> ProcessEnd {
    let folder = TestFolder::new();
    let table = folder.text("table.parquet");
    let _ = rorqual(&["convert", "-", "--from", "ndjson", "-o", &table]).stdin("{\"a\":1}\n").run().exits(0);
    for number in 0..300 {
        std::fs::hard_link(&table, folder.at(&format!("many{number}.parquet"))).expect("one file system");
    }
    let script = format!("{limits}; exec \"$0\" convert \"$1\"/many*.parquet --to csv -o -");
    ProcessRun::new("bash").args(["-c", &script, PROGRAM, &folder.path().to_string_lossy()]).run()
}

#[test]
fn as_many_files_are_open_as_the_hard_limit_allows() {
    let ran = many_tables("ulimit -Sn 64").exits(0);
    assert_eq!(ran.text().lines().count(), 301);
    let ran = many_tables("ulimit -n 64").exits(2);
    ran.says(&[".parquet", "Too many open files", "this process may have 64 at a time", "raise the hard limit (`ulimit -n`)"]);
}

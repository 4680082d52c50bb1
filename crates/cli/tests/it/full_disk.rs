//! A folder for temporary files that is full: it is named, with what moves it, and memory is not
//! asked for.

use crate::client::Server;
use crate::common::{MIB, TestFolder, log, rorqual};
use rorqual_testkit::disk::{TestDisk, own_mounts};
use serde_json::json;

const LINES: u64 = 1_000_000;

/// Runs a test with a folder of so many bytes on a thread with mounts of its own; nothing where
/// that is not allowed.
fn on_disk_of(bytes: u64, test: impl FnOnce(&str) + Send) {
    let folder = TestFolder::new();
    let full = folder.path().join("full");
    let run = || {
        let disk = own_mounts().then(|| TestDisk::mount(&full, bytes)).flatten();
        disk.map(|_disk| test(&full.to_string_lossy()))
    };
    let _ = std::thread::scope(|threads| threads.spawn(run).join()).expect("the test holds");
}

#[test]
fn rows_of_a_question_to_a_log_name_the_folder_that_is_full() {
    on_disk_of(MIB, |folder| {
        for verb in [&["logs", "-", "--findings"][..], &["logs", "-", "--by", "path"]] {
            let args = ["--memory", "96MiB", "--threads", "1", "--temp-dir", folder];
            let ran = rorqual(verb).args(args).stdin(log(LINES)).run();
            let told = format!("could not be written to the temporary file: {folder}: No space left on device: make room there");
            ran.says(&["the answer is of the first", &told, "(--temp-dir)"]);
            assert!(!ran.stderr.contains("--temp-max"), "{}", ran.stderr);
        }
    });
}

#[test]
fn exports_name_the_folder_that_is_full() {
    on_disk_of(MIB, |folder| {
        let args = ["--memory", "256MiB", "--threads", "1", "--sessions", "4", "--temp-dir", folder];
        let server = Server::start(&args);
        let id = server.session_of(log(LINES).len());
        assert_eq!(server.put(&id, 0, &log(LINES)).status, 200);
        let told = format!("{folder}: No space left on device: make room there or name another folder (--temp-dir)");
        let viewed = server.request("POST", &format!("/api/sessions/{id}/view"), json!({}).to_string().as_bytes()).json();
        let reason = viewed["kept"]["reason"].as_str().expect("rows are missing");
        assert_eq!(reason, format!("the file for rows could not be written: {told}"));
        for format in ["csv", "parquet", "lines"] {
            let error = server.get(&format!("/api/sessions/{id}/export?format={format}")).refused(503, "export_no_room");
            let message = error["message"].as_str().expect("a message");
            assert!(message.contains(&told) && !message.contains("memory"), "{message}");
        }
    });
}

/// The same of a limit that was set.
#[test]
fn exports_name_the_limit_of_the_file_for_rows() {
    let server = Server::start(&["--memory", "256MiB", "--threads", "1", "--sessions", "4", "--temp-max", "1MiB"]);
    let id = server.session_of(log(LINES).len());
    assert_eq!(server.put(&id, 0, &log(LINES)).status, 200);
    let error = server.get(&format!("/api/sessions/{id}/export?format=csv")).refused(503, "export_no_room");
    let message = error["message"].as_str().expect("a message");
    assert!(message.contains("its limit of 256 KiB is reached: give more --temp-max"), "{message}");
}

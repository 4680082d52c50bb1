//! `rorqual serve --state` where checkpoints can't be made: the disk is full, or the log is
//! compressed.

use crate::client::Server;
use crate::common::{MIB, TestFolder, Truth, eventually, log};
use rorqual_testkit::disk::{TestDisk, own_mounts};
use rorqual_testkit::paths::gzip;
use std::path::Path;

/// Offset from which an upload would go on.
fn kept_offset(state: &Path, id: &str) -> Option<u64> {
    let bytes = std::fs::read(state.join(format!("{id}.session"))).ok()?;
    let line = bytes.split(|byte| *byte == b'\n').nth(1)?;
    serde_json::from_slice::<serde_json::Value>(line).ok()?["offset"].as_u64()
}

/// Waits until an upload would go on from there.
pub(crate) fn is_kept(state: &Path, id: &str, offset: usize) {
    eventually("its checkpoint", || (kept_offset(state, id) == Some(offset as u64)).then_some(()));
}

/// The line ends next to a third, two thirds and all of it.
fn thirds(body: &[u8]) -> [usize; 3] {
    [1, 2, 3].map(|part| body[..body.len() * part / 3].iter().rposition(|byte| *byte == b'\n').expect("a line") + 1)
}

#[allow(clippy::print_stderr, reason = "who reads the output is to know that this was not tried")]
fn a_full_disk() {
    let folder = TestFolder::new();
    let state = folder.at("state");
    let disk = own_mounts().then(|| TestDisk::mount(&state, 8 * MIB)).flatten();
    let Some(disk) = disk else {
        eprintln!("not tried: there may be no mounts here");
        return;
    };
    let text = folder.text("state");
    let body = log(60_000);
    let [first, second, third] = thirds(&body);
    let server = Server::start(&["--state", &text]);
    let id = server.session_of(body.len());
    assert_eq!(server.put(&id, 0, &body[..first]).status, 200);
    is_kept(&state, &id, first);
    disk.fill();
    assert_eq!(server.put(&id, first, &body[first..second]).status, 200);
    eventually("it says so", || server.running.stderr_so_far().contains("no checkpoint").then_some(()));
    assert_eq!(kept_offset(&state, &id), Some(first as u64), "the one before stays");
    disk.clear();
    // Lines that could not be kept are kept with the next.
    let part = second + (third - second) / 2;
    assert_eq!(server.put(&id, second, &body[second..part]).status, 200);
    let line = body[..part].iter().rposition(|byte| *byte == b'\n').expect("a line") + 1;
    is_kept(&state, &id, line);
    server.running.kill();
    drop(server.running.wait());
    let server = Server::start(&["--state", &text]);
    assert_eq!(server.live(&id)["session"]["offset"], line);
    assert_eq!(server.put(&id, line, &body[line..]).status, 200);
    Truth::of(&body).check(&server.live(&id)["report"]);
    let rows = server.request("POST", &format!("/api/sessions/{id}/view"), b"{}").json();
    assert_eq!(rows["lines"]["parsed"], 60_000);
}

#[test]
fn a_checkpoint_that_fails_is_made_later_and_the_upload_goes_on() {
    // The mounts are of a thread of their own, and of the servers that it starts.
    std::thread::spawn(a_full_disk).join().expect("no panic");
}

#[test]
fn a_compressed_log_in_a_hundred_parts_holds_up_nobody() {
    let folder = TestFolder::new();
    let server = Server::start(&["--state", &folder.text("")]);
    let body = log(60_000);
    let other = server.session_of(body.len());
    assert_eq!(server.put(&other, 0, &body).status, 200);
    let packed = gzip(&body);
    let tus = |method: &str, target: &str, headers: &str, part: &[u8]| {
        let head = format!("{}Tus-Resumable: 1.0.0\r\n{headers}", server.head(method, target));
        server.raw(&[format!("{head}Content-Length: {}\r\n\r\n", part.len()).as_bytes(), part].concat())
    };
    let made = tus("POST", "/api/tus", &format!("Upload-Length: {}\r\n", packed.len()), b"");
    let location = made.head.lines().find_map(|line| line.strip_prefix("location: ")).expect("a location").to_owned();
    let part_bytes = packed.len().div_ceil(100);
    for (number, part) in packed.chunks(part_bytes).enumerate() {
        let headers = format!("Content-Type: application/offset+octet-stream\r\nUpload-Offset: {}\r\n", number * part_bytes);
        assert_eq!(tus("PATCH", &location, &headers, part).status, 204, "part {number}");
        if number % 5 == 0 {
            let view = server.request("POST", &format!("/api/sessions/{other}/view"), b"{}");
            assert_eq!(view.json()["lines"]["parsed"], 60_000);
        }
    }
    let id = location.rsplit('/').next().expect("an id");
    Truth::of(&body).check(&server.when_state(id, "finished")["report"]);
}

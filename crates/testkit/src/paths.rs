//! Every path that the same bytes can take into the program: files, pipes and FIFOs, plain and compressed, with one
//! thread and with several. Promise 4 is that they all give one answer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't write its files has failed")]

use crate::process::{Ran, Run};
use flate2::{Compression, write::GzEncoder};
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::JoinHandle;

/// The same bytes in every form in which they can be stored, by name.
#[must_use]
pub fn encodings(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let (first, second) = bytes.split_at(bytes.len() / 2);
    let frames = [zstd_frame(first), skippable_frame(), zstd_frame(second)];
    vec![
        ("plain", bytes.to_vec()),
        ("gzip", gzip(bytes)),
        ("gzip of two members", [gzip(first), gzip(second)].concat()),
        ("zstd", zstd_frame(bytes)),
        ("zstd of two frames and a skippable one", frames.concat()),
    ]
}

/// One gzip member.
///
/// # Panics
/// Never: a `Vec` takes everything.
#[must_use]
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One zstd frame.
///
/// # Panics
/// Never: a `Vec` takes everything.
#[must_use]
pub fn zstd_frame(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).unwrap()
}

/// A frame that a decoder has to step over (RFC 8878, 3.1.2).
fn skippable_frame() -> Vec<u8> {
    [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat()
}

/// Runs `program` on `bytes` along every path, once with each of `settings` (further arguments), and gives each end to
/// `check` with the path's name. `args` come before the input's name.
///
/// # Panics
/// When a file can't be written; otherwise as `check` and [`Run::run`] do.
pub fn on_every_path(program: &str, args: &[&str], settings: &[&[&str]], bytes: &[u8], check: impl Fn(&str, Ran)) {
    let folder = tempfile::tempdir().unwrap();
    for (encoding, stored) in encodings(bytes) {
        let file = folder.path().join("input");
        std::fs::write(&file, &stored).unwrap();
        for setting in settings {
            let run = || Run::new(program).args(args).args(*setting);
            let name = |way: &str| format!("{encoding}, {way}, {setting:?}");
            check(&name("file"), run().arg(&file).run());
            check(&name("pipe"), run().arg("-").stdin(stored.clone()).run());
            let (fifo, writer) = fifo(folder.path(), stored.clone());
            check(&name("FIFO"), run().arg(&fifo).run());
            writer.join().unwrap();
        }
    }
}

/// A FIFO in `folder` that a thread writes `bytes` to, once somebody reads.
///
/// # Panics
/// When it can't be made.
pub fn fifo(folder: &Path, bytes: Vec<u8>) -> (PathBuf, JoinHandle<()>) {
    let path = folder.join("fifo");
    let _ = std::fs::remove_file(&path);
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let opened = path.clone();
    let writer = std::thread::spawn(move || {
        let mut fifo = OpenOptions::new().write(true).open(opened).unwrap();
        // A reader that has enough closes its end.
        let _ = fifo.write_all(&bytes);
    });
    (path, writer)
}

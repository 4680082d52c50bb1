//! Every path that the same bytes can take into the program: files, pipes and FIFOs, plain and
//! compressed, with one thread and with several. Promise 4 is that they all give one answer.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't write its files has failed")]

use crate::process::{ProcessEnd, ProcessRun};
use bzip2::write::BzEncoder;
use flate2::{Compression, write::GzEncoder};
use liblzma::stream::{Check, Filters, LzmaOptions, Stream};
use liblzma::write::XzEncoder;
use lz4_flex::frame::{BlockMode, BlockSize, FrameEncoder, FrameInfo};
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
        ("gzip with zeros behind it", [gzip(bytes), vec![0; 1_000]].concat()),
        ("zstd", zstd_frame(bytes)),
        ("zstd of two frames and a skippable one", frames.concat()),
        ("bzip2 of two streams", [bzip2(first), bzip2(second)].concat()),
        ("xz of two streams and padding", [xz(first), vec![0; 8], xz(second)].concat()),
        ("lzma", lzma(bytes)),
        ("lz4 of two frames and a skippable one", [lz4(first, true), skippable_frame(), lz4(second, false)].concat()),
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

/// One zstd frame that asks for a window of two to this power.
///
/// # Panics
/// When zstd has no such window.
#[must_use]
pub fn zstd_frame_of_window(bytes: &[u8], window_log: u32) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(window_log).unwrap();
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

/// One bzip2 stream.
///
/// # Panics
/// Never: a `Vec` takes everything.
#[must_use]
pub fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = BzEncoder::new(Vec::new(), bzip2::Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One xz stream with a dictionary of 1 MiB.
///
/// # Panics
/// Never: a `Vec` takes everything.
#[must_use]
pub fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One xz stream with a dictionary of 8 MiB, one lz4 frame of blocks of 4 MiB, linked, and one
/// bzip2 stream: the decoders with the most memory that the default budget allows, by name.
///
/// # Panics
/// Never: a `Vec` takes everything.
#[must_use]
pub fn greedy_encodings(bytes: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let mut options = LzmaOptions::new_preset(0).unwrap();
    let mut filters = Filters::new();
    filters.lzma2(options.dict_size(8 << 20));
    let stream = Stream::new_stream_encoder(&filters, Check::Crc64).unwrap();
    let mut xz = XzEncoder::new_stream(Vec::new(), stream);
    xz.write_all(bytes).unwrap();
    let info = FrameInfo::new().block_size(BlockSize::Max4MB).block_mode(BlockMode::Linked);
    let mut lz4 = FrameEncoder::with_frame_info(info, Vec::new());
    lz4.write_all(bytes).unwrap();
    vec![("xz", xz.finish().unwrap()), ("lz4", lz4.finish().unwrap()), ("bzip2", bzip2(bytes))]
}

/// A `.lzma` file.
///
/// # Panics
/// Never: a `Vec` takes everything.
#[must_use]
pub fn lzma(bytes: &[u8]) -> Vec<u8> {
    let options = LzmaOptions::new_preset(1).unwrap();
    let mut encoder = XzEncoder::new_stream(Vec::new(), Stream::new_lzma_encoder(&options).unwrap());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// One lz4 frame of blocks of 64 KiB, either linked and with all checksums, or independent and with
/// none.
///
/// # Panics
/// Never: a `Vec` takes everything.
#[must_use]
pub fn lz4(bytes: &[u8], linked: bool) -> Vec<u8> {
    let mode = if linked { BlockMode::Linked } else { BlockMode::Independent };
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).block_mode(mode).block_checksums(linked).content_checksum(linked);
    let mut encoder = FrameEncoder::with_frame_info(info.content_size(linked.then_some(bytes.len() as u64)), Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// A frame that a decoder has to step over (RFC 8878, 3.1.2), in lz4 as in zstd.
fn skippable_frame() -> Vec<u8> {
    [&[0x5a, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"abc"].concat()
}

/// Runs `program` on `bytes` along every path, once with each of `settings` (further arguments),
/// and gives each end to `check` with the path's name. `args` come before the input's name.
///
/// # Panics
/// When a file can't be written; otherwise as `check` and [`ProcessRun::run`] do.
pub fn on_every_path(program: &str, args: &[&str], settings: &[&[&str]], bytes: &[u8], check: impl Fn(&str, ProcessEnd)) {
    let folder = tempfile::tempdir().unwrap();
    for (encoding, stored) in encodings(bytes) {
        let file = folder.path().join("input");
        std::fs::write(&file, &stored).unwrap();
        for setting in settings {
            let run = || ProcessRun::new(program).args(args).args(*setting);
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

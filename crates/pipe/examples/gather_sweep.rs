//! Speed of copying beside pointing: bytes a second of the gather sink for pieces of each size, so
//! many of them a write, to each kind of output. CSV on stdout:
//! `target,piece_bytes,pieces_per_write,mode,bytes_per_second`.
//!
//! `gather_sweep [--seconds S] [--target pipe|socket|file|null]…`; each cell runs for S seconds
//! (0.2). A file is one in the folder for temporary files, written over and over in its first 256
//! MiB.
#![allow(clippy::print_stdout, clippy::unwrap_used, clippy::expect_used)]

use bytes::Bytes;
use rorqual_pipe::gather::{Gather, GatherSettings, OutputFd};
use rorqual_pipe::{BufferPool, Control, Sink};
use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Room for the largest write that is copied.
const BUFFER_BYTES: usize = 4 << 20;

/// Size at which a file is rewound, so that it stays in the page cache.
const FILE_BYTES_MAX: u64 = 256 << 20;

/// More at once than this is no longer a matter of copying or pointing.
const WRITE_BYTES_MAX: usize = 4 << 20;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let values = |flag: &str| args.windows(2).filter(|pair| pair[0] == flag).map(|pair| pair[1].clone()).collect::<Vec<_>>();
    let seconds = values("--seconds").last().map_or(0.2, |text| text.parse().expect("a number"));
    let mut targets = values("--target");
    if targets.is_empty() {
        targets = ["pipe", "socket", "file", "null"].map(str::to_owned).to_vec();
    }
    println!("target,piece_bytes,pieces_per_write,mode,bytes_per_second");
    for target in &targets {
        for piece_bytes in (4..=18).map(|power| 1 << power) {
            for pieces in [1, 4, 16, 64, 254].into_iter().filter(|pieces| pieces * piece_bytes <= WRITE_BYTES_MAX) {
                for mode in ["copy", "point"] {
                    let rate = measured(target, piece_bytes, pieces, mode, Duration::from_secs_f64(seconds));
                    println!("{target},{piece_bytes},{pieces},{mode},{rate:.0}");
                }
            }
        }
    }
}

/// Bytes a second.
fn measured(target: &str, piece_bytes: usize, pieces: usize, mode: &str, time: Duration) -> f64 {
    let (file, reader) = opened(target);
    let copy_bytes_max = if mode == "copy" { usize::MAX } else { 0 };
    let settings = GatherSettings { copy_bytes_max, write_bytes: BUFFER_BYTES, shared_bytes_max: usize::MAX };
    let mut gather =
        Gather::with_settings(OutputFd::new(file, &Control::default()), &BufferPool::new(BUFFER_BYTES, 1), settings).unwrap();
    // As many different pieces as a write has, as a page's would be.
    let made: Vec<Bytes> = (0..pieces).map(|number| Bytes::from(vec![number as u8; piece_bytes])).collect();
    let (start, mut bytes) = (Instant::now(), 0_u64);
    while start.elapsed() < time {
        for _ in 0..16 {
            made.iter().for_each(|piece| gather.point(piece).unwrap());
            gather.flush().unwrap();
            bytes += (pieces * piece_bytes) as u64;
        }
        if target == "file" && bytes % FILE_BYTES_MAX < (16 * pieces * piece_bytes) as u64 {
            gather.writer().file().rewind().unwrap();
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    drop(gather);
    if let Some(reader) = reader {
        reader.join().unwrap();
    }
    bytes as f64 / seconds
}

/// Opens an output of that kind; a thread drains it where it needs a reader.
fn opened(target: &str) -> (File, Option<JoinHandle<()>>) {
    match target {
        "pipe" => {
            let (read, write) = std::io::pipe().unwrap();
            (File::from(OwnedFd::from(write)), Some(drained(File::from(OwnedFd::from(read)))))
        }
        "socket" => {
            let (read, write) = UnixStream::pair().unwrap();
            (File::from(OwnedFd::from(write)), Some(drained(File::from(OwnedFd::from(read)))))
        }
        "file" => (tempfile::tempfile().unwrap(), None),
        "null" => (File::options().write(true).open("/dev/null").unwrap(), None),
        other => panic!("no target {other}"),
    }
}

fn drained(mut file: File) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut buffer = vec![0; 256 << 10];
        while file.read(&mut buffer).unwrap() > 0 {}
    })
}

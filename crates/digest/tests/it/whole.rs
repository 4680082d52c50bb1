//! The digest of a whole input is the hash of its bytes, whatever the input, its size and the
//! number of threads.

use proptest::prelude::*;
use rorqual_digest::{Algorithm, Hasher, digest};
use rorqual_pipe::limits::{BLOCK_BYTES, buffers_needed};
use rorqual_pipe::{BufferPool, Control, Error, ErrorClass, Input};
use rorqual_testkit::fault::{FaultPlan, FaultyIo};
use rorqual_testkit::process::in_time;
use std::fs::File;
use std::io::{Cursor, ErrorKind, Seek, SeekFrom, Write};
use std::time::Duration;

const BLOCK: usize = BLOCK_BYTES;

/// Bytes that repeat at no block's length.
fn bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Digest by one call to the algorithm's own crate, of all bytes at once.
fn expected(algorithm: Algorithm, bytes: &[u8]) -> String {
    if algorithm == Algorithm::Blake3 {
        return blake3::hash(bytes).to_hex().to_string();
    }
    let mut hasher = Hasher::new(algorithm);
    hasher.update(bytes);
    hasher.finish().to_string()
}

fn digest_of(input: Input, algorithm: Algorithm, threads: usize) -> Result<String, Error> {
    let pool = BufferPool::new(BLOCK, buffers_needed(threads));
    let digest = digest(input, algorithm, &pool, &Control::default(), threads);
    assert_eq!(pool.lent(), 0, "every buffer comes home");
    digest.map(|digest| digest.to_string())
}

fn check_everywhere(bytes: &[u8], algorithm: Algorithm) {
    let expected = expected(algorithm, bytes);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    for threads in 1..=4 {
        let from_file = digest_of(Input::open(file.path()).unwrap(), algorithm, threads).unwrap();
        assert_eq!(from_file, expected, "{algorithm} of a file of {} bytes, {threads} threads", bytes.len());
    }
    for bytes_max in [BLOCK, 65_536, 1_000] {
        let reader = FaultyIo::new(Cursor::new(bytes.to_vec()), bytes_max, &FaultPlan::never());
        let from_stream = digest_of(Input::from_reader("stream", Box::new(reader)), algorithm, 2).unwrap();
        assert_eq!(from_stream, expected, "{algorithm} of a stream of {} bytes in {bytes_max}", bytes.len());
    }
}

#[test]
fn sizes_around_every_border() {
    let all = bytes(9 * BLOCK + 1_025, 1);
    let borders = [0, 64, 1 << 10, 2 << 10, 3 << 10, BLOCK, 2 * BLOCK, 3 * BLOCK, 4 * BLOCK, 7 * BLOCK, 8 * BLOCK, 9 * BLOCK];
    for border in borders {
        for size in [border.saturating_sub(1), border, border + 1, border + 1_024, border + 1_025] {
            check_everywhere(&all[..size], Algorithm::Blake3);
        }
        check_everywhere(&all[..border + 1], Algorithm::Sha256);
    }
    for algorithm in Algorithm::ALL {
        check_everywhere(&all[..2 * BLOCK + 77], algorithm);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_size(size in 0..(6 * BLOCK), seed: u64) {
        check_everywhere(&bytes(size, seed), Algorithm::Blake3);
    }

    /// Data and holes in turns, with borders anywhere.
    #[test]
    fn any_holes(parts in prop::collection::vec((1..BLOCK, 0..(3 * BLOCK)), 1..5), tail in 0..(2 * BLOCK), seed: u64) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut all = Vec::new();
        for (data, hole) in parts {
            file.seek(SeekFrom::Start(all.len() as u64)).unwrap();
            file.write_all(&bytes(data, seed)).unwrap();
            all.extend(bytes(data, seed));
            all.resize(all.len() + hole, 0);
        }
        all.resize(all.len() + tail, 0);
        file.as_file().set_len(all.len() as u64).unwrap();
        for algorithm in [Algorithm::Blake3, Algorithm::Sha256] {
            for threads in 1..=3 {
                let seen = digest_of(Input::open(file.path()).unwrap(), algorithm, threads).unwrap();
                prop_assert_eq!(seen, expected(algorithm, &all), "{}, {} threads", algorithm, threads);
            }
        }
    }
}

#[test]
fn a_hole_of_a_gibibyte_is_that_many_zeros() {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len((1 << 30) + 12_345).unwrap();
    let mut zeros = blake3::Hasher::new();
    let buffer = vec![0; 1 << 20];
    (0..1_024).for_each(|_| _ = zeros.update(&buffer));
    zeros.update(&buffer[..12_345]);
    let seen = digest_of(Input::open(file.path()).unwrap(), Algorithm::Blake3, 2).unwrap();
    assert_eq!(seen, zeros.finalize().to_hex().to_string());
}

#[test]
fn compressed_bytes_are_hashed_as_they_are_stored() {
    let stored = rorqual_testkit::paths::gzip(&bytes(2 * BLOCK, 3));
    for algorithm in Algorithm::ALL {
        check_everywhere(&stored, algorithm);
    }
}

#[test]
fn a_failing_read_gives_no_digest_at_any_call() {
    let all = bytes(3 * BLOCK, 5);
    for at in 0.. {
        let fault = FaultPlan::new(at, false, ErrorKind::ConnectionReset);
        let reader = FaultyIo::new(Cursor::new(all.clone()), 50_000, &fault);
        let input = Input::from_reader("flaky", Box::new(reader));
        let result = in_time(Duration::from_secs(60), move || digest_of(input, Algorithm::Sha256, 2));
        if !fault.reached() {
            assert_eq!(result.unwrap(), expected(Algorithm::Sha256, &all));
            assert!(at > 10);
            break;
        }
        let error = result.expect_err("a digest of a part");
        assert_eq!((error.kind(), error.name()), (ErrorClass::Io, "flaky"));
    }
}

#[test]
fn a_file_that_shrank_gives_no_digest() {
    for threads in [1, 3] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes(8 * BLOCK, 9)).unwrap();
        let input = Input::open(file.path()).unwrap();
        File::options().write(true).open(file.path()).unwrap().set_len(5 * BLOCK as u64 + 7).unwrap();
        let error = digest_of(input, Algorithm::Blake3, threads).expect_err("a digest of a part");
        assert_eq!((error.kind(), error.offset()), (ErrorClass::Truncated, Some(5 * BLOCK as u64 + 7)));
    }
}

#[test]
fn a_stop_gives_no_digest() {
    let file = tempfile::NamedTempFile::new().unwrap();
    // More than a test could hash: only a stop ends it.
    file.as_file().set_len(1 << 43).unwrap();
    for (algorithm, threads) in [(Algorithm::Blake3, 2), (Algorithm::Blake3, 1), (Algorithm::Sha256, 1), (Algorithm::Sha256, 2)] {
        let (pool, control) = (BufferPool::new(BLOCK, buffers_needed(threads)), Control::default());
        let input = Input::open(file.path()).unwrap();
        let (watched, home) = (control.clone(), pool.clone());
        let run = move || digest(input, algorithm, &pool, &control, threads);
        let stop = std::thread::spawn(move || {
            while watched.decoded_bytes() == 0 {
                std::thread::yield_now();
            }
            watched.stop();
        });
        let error = in_time(Duration::from_secs(60), run).expect_err("a digest of a part");
        stop.join().unwrap();
        assert_eq!(error.kind(), ErrorClass::Stopped, "{error}");
        assert_eq!(home.lent(), 0);
    }
}

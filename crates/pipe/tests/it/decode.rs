//! Compressed streams give the bytes that were put in, in whatever pieces they come.

use crate::common::{BUFFERS_MIN, Pieces, Setup, split};
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{Input, Kind};
use rorqual_testkit::paths::{encodings, gzip, zstd_frame};
use std::io::Cursor;

/// Text that does not shrink to nothing.
fn text() -> Vec<u8> {
    (0u64..8_000).flat_map(|n| format!("{n} {:x}\n", n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).into_bytes()).collect()
}

#[test]
fn every_encoding_in_pieces_of_any_size() {
    let bytes = text();
    let expected = split(&bytes, 100);
    for (name, stored) in encodings(&bytes) {
        for piece_bytes in [1, 2, 3, 5, 1_001, BLOCK_BYTES] {
            let setup = Setup::lines(100, 2).with_buffers(BUFFERS_MIN);
            let seen = setup.lines_of(Pieces::input(&stored, piece_bytes, setup));
            assert!(seen == expected, "{name} in pieces of {piece_bytes}");
        }
    }
}

#[test]
fn a_cut_stream_gives_what_came_before_and_says_so() {
    let bytes = text();
    for (name, stored) in [("gzip", gzip(&bytes)), ("zstd", zstd_frame(&bytes))] {
        for length in [5, 30, stored.len() / 2, stored.len() - 1] {
            let reader = Cursor::new(stored[..length].to_vec());
            let outcome = Setup::bytes(2).run(|_| Input::from_reader("cut", Box::new(reader)), || crate::common::KeepBytes);
            let got: Vec<u8> = outcome.outputs.into_iter().flat_map(|(_, bytes)| bytes).collect();
            assert!(bytes.starts_with(&got), "{name} cut at {length}");
            let error = outcome.error.expect("it is cut");
            assert_eq!(error.kind(), Kind::Truncated, "{name} cut at {length}: {error}");
            assert_eq!((error.name(), error.offset()), ("cut", Some(got.len() as u64)), "{error}");
            assert!(error.to_string().contains(name) && error.to_string().contains("too early"), "{error}");
        }
    }
}

#[test]
fn a_flipped_bit_is_never_missed() {
    let bytes = text();
    for (name, stored) in [("gzip", gzip(&bytes)), ("zstd with a checksum", zstd_with_checksum(&bytes))] {
        for index in (stored.len() / 8..stored.len()).step_by(stored.len() / 13) {
            let mut damaged = stored.clone();
            damaged[index] ^= 0x10;
            let reader = Cursor::new(damaged);
            let outcome = Setup::bytes(1).run(|_| Input::from_reader("hurt", Box::new(reader)), || crate::common::KeepBytes);
            let error = outcome.error.unwrap_or_else(|| panic!("{name}: byte {index} went unnoticed"));
            assert!(matches!(error.kind(), Kind::Corrupt | Kind::Truncated), "{name}, byte {index}: {error}");
        }
    }
}

fn zstd_with_checksum(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("a level that exists");
    encoder.include_checksum(true).expect("before the first byte");
    std::io::Write::write_all(&mut encoder, bytes).expect("a Vec takes everything");
    encoder.finish().expect("a Vec takes everything")
}

//! Compressed streams give the bytes that were put in, in whatever pieces they come.

use crate::common::{BUFFERS_MIN, KeepBytes, Pieces, Setup, split};
use liblzma::write::XzEncoder;
use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{Control, Error, Framing, Input, Kind, Plan, run};
use rorqual_testkit::paths::{bzip2, encodings, gzip, lz4, lzma, xz};
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

/// One member, stream or frame of each encoding, by the name that messages have for it; all with checksums but lzma, which has none.
fn single() -> Vec<(&'static str, Vec<u8>)> {
    let bytes = text();
    vec![
        ("gzip", gzip(&bytes)),
        ("zstd", zstd_with_checksum(&bytes)),
        ("bzip2", bzip2(&bytes)),
        ("xz", xz(&bytes)),
        ("lz4", lz4(&bytes, true)),
        ("lzma", lzma(&bytes)),
    ]
}

/// What a run over `stored` gives, and what it breaks off with.
fn decoded(stored: Vec<u8>, threads: usize) -> (Vec<u8>, Option<Error>) {
    let outcome = Setup::bytes(threads).run(|_| Input::from_reader("input", Box::new(Cursor::new(stored))), || KeepBytes);
    (outcome.outputs.into_iter().flat_map(|(_, bytes)| bytes).collect(), outcome.error)
}

#[test]
fn a_cut_stream_gives_what_came_before_and_says_so() {
    let bytes = text();
    for (name, stored) in single() {
        for length in [14, 30, stored.len() / 2, stored.len() - 1] {
            let (got, error) = decoded(stored[..length].to_vec(), 2);
            assert!(bytes.starts_with(&got), "{name} cut at {length}");
            let error = error.unwrap_or_else(|| panic!("{name}: a cut at {length} went unnoticed"));
            assert_eq!(error.kind(), Kind::Truncated, "{name} cut at {length}: {error}");
            assert_eq!((error.name(), error.offset()), ("input", Some(got.len() as u64)), "{error}");
            assert!(error.to_string().contains(&format!("the {name} data ends too early")), "{error}");
            assert!(
                error.to_string().contains(&format!("after byte {length} of the file; of the decoded data at byte")),
                "{error}"
            );
        }
    }
}

#[test]
fn a_stream_that_is_cut_at_any_byte_is_never_whole() {
    for (name, stored) in [
        ("gzip", gzip(b"a line\n")),
        ("bzip2", bzip2(b"a line\n")),
        ("xz", xz(b"a line\n")),
        ("lz4", lz4(b"a line\n", true)),
        ("lz4", lz4(b"a line\n", false)),
        ("lzma", lzma(b"a line\n")),
    ] {
        for length in 13..stored.len() {
            assert!(decoded(stored[..length].to_vec(), 1).1.is_some(), "{name}: a cut at {length} of {}", stored.len());
        }
        assert_eq!(decoded(stored, 1).0, b"a line\n");
    }
}

#[test]
fn a_flipped_bit_is_never_missed() {
    for (name, stored) in single().into_iter().filter(|(name, _)| *name != "lzma") {
        for index in (stored.len() / 8..stored.len()).step_by(stored.len() / 13) {
            let mut damaged = stored.clone();
            damaged[index] ^= 0x10;
            let error = decoded(damaged, 1).1.unwrap_or_else(|| panic!("{name}: byte {index} went unnoticed"));
            assert!(matches!(error.kind(), Kind::Corrupt | Kind::Truncated), "{name}, byte {index}: {error}");
        }
    }
}

#[test]
fn what_follows_is_either_padding_or_an_error_that_says_so() {
    let bytes = text();
    for (name, stored) in single() {
        for junk in [&b"junk"[..], b"x", b"\0\0\0\0junk and more of it", &[0xff; 300]] {
            let (_, error) = decoded([&stored, junk].concat(), 1);
            let error = error.unwrap_or_else(|| panic!("{name}: {} went unnoticed", junk.escape_ascii()));
            // These two cut nothing short, whatever follows; the others' libraries can't tell a short word from a cut header.
            if matches!(name, "gzip" | "bzip2") || (name == "lz4" && junk.len() >= 4) {
                assert_eq!(error.kind(), Kind::Corrupt, "{name}: {error}");
                assert!(error.to_string().contains("is followed by something else"), "{name}: {error}");
                let end = stored.len();
                let near = (end..end + 9).any(|byte| error.to_string().contains(&format!("near byte {byte} of the file")));
                assert!(near, "{name} ends at {end}: {error}");
            }
        }
    }
    for zeros in [1, 512, 3 * BLOCK_BYTES] {
        for (name, stored) in [("gzip", gzip(&bytes)), ("bzip2", bzip2(&bytes))] {
            let (got, error) = decoded([&stored[..], &vec![0; zeros]].concat(), 1);
            assert!(error.is_none() && got == bytes, "{name} and {zeros} zeros: {error:?}");
        }
    }
}

#[test]
fn memory_is_asked_for_within_the_budget() {
    // Tests run with a window of 8 MiB; the headers alone tell what is needed.
    let lz4_of_4_mib = {
        let info = FrameInfo::new().block_size(BlockSize::Max4MB);
        let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
        std::io::Write::write_all(&mut encoder, &text()).expect("a Vec takes everything");
        encoder.finish().expect("a Vec takes everything")
    };
    let xz_of = |preset| {
        let mut encoder = XzEncoder::new(Vec::new(), preset);
        std::io::Write::write_all(&mut encoder, &text()).expect("a Vec takes everything");
        encoder.finish().expect("a Vec takes everything")
    };
    for (name, stored) in [("lz4", lz4_of_4_mib.clone()), ("xz", xz_of(6))] {
        let (got, error) = decoded(stored, 1);
        assert!(error.is_none() && got == text(), "{name}: {error:?}");
    }
    let error = decoded(xz_of(9), 1).1.expect("64 MiB");
    assert_eq!(error.kind(), Kind::Limit, "{error}");
    assert!(error.to_string().contains("a larger dictionary") && error.to_string().contains("--memory"), "{error}");
    let small = Plan { framing: Framing::Bytes, zstd_window_log_max: 20 };
    let pool = Setup::bytes(1).pool();
    let input = Input::from_reader("input", Box::new(Cursor::new(lz4_of_4_mib)));
    let finish = run(input, &small, &pool, &Control::default(), |_| Some(vec![KeepBytes]), |_| Ok(()));
    let error = finish.error.expect("8 MiB");
    assert_eq!(error.kind(), Kind::Limit, "{error}");
    assert!(error.to_string().contains("larger blocks") && error.to_string().contains("--memory"), "{error}");
}

fn zstd_with_checksum(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("a level that exists");
    encoder.include_checksum(true).expect("before the first byte");
    std::io::Write::write_all(&mut encoder, bytes).expect("a Vec takes everything");
    encoder.finish().expect("a Vec takes everything")
}

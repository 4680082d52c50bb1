//! Compressed streams give the bytes that were put in, in whatever pieces they come.

use crate::common::{BUFFERS_MIN, KeepBytes, Pieces, Setup, split};
use liblzma::write::XzEncoder;
use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_pipe::{Control, Error, ErrorClass, Framing, Input, RunPlan, run};
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

/// One member, stream or frame of each encoding, by the name that messages have for it; all with
/// checksums but lzma, which has none.
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

/// Output of a run over `stored`, and its error.
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
            assert_eq!(error.kind(), ErrorClass::Truncated, "{name} cut at {length}: {error}");
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
            assert!(matches!(error.kind(), ErrorClass::Corrupt | ErrorClass::Truncated), "{name}, byte {index}: {error}");
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
            // These two cut nothing short, whatever follows; the others' libraries can't tell a
            // short word from a cut header.
            if matches!(name, "gzip" | "bzip2") || (name == "lz4" && junk.len() >= 4) {
                assert_eq!(error.kind(), ErrorClass::Corrupt, "{name}: {error}");
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
    // Tests run with a window of 8 MiB; the headers alone tell the needed memory.
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
    assert_eq!(error.kind(), ErrorClass::Limit, "{error}");
    assert!(error.to_string().contains("a larger dictionary") && error.to_string().contains("\"memory\""), "{error}");
    let small = RunPlan { framing: Framing::Bytes, zstd_window_log_max: 20 };
    let pool = Setup::bytes(1).pool();
    let input = Input::from_reader("input", Box::new(Cursor::new(lz4_of_4_mib)));
    let finish = run(input, &small, &pool, &Control::default(), |_| Some(vec![KeepBytes]), |_| Ok(()));
    let error = finish.error.expect("8 MiB");
    assert_eq!(error.kind(), ErrorClass::Limit, "{error}");
    assert!(error.to_string().contains("larger blocks") && error.to_string().contains("\"memory\""), "{error}");
}

fn zstd_with_checksum(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).expect("a level that exists");
    encoder.include_checksum(true).expect("before the first byte");
    std::io::Write::write_all(&mut encoder, bytes).expect("a Vec takes everything");
    encoder.finish().expect("a Vec takes everything")
}

/// UTF-16 with its mark and without, of either order, by a name.
fn utf16(text: &str) -> [(&'static str, Vec<u8>); 4] {
    let marked = format!("\u{feff}{text}");
    let stored = |text: &str, unit: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(unit).collect::<Vec<u8>>();
    [
        ("le", stored(text, u16::to_le_bytes)),
        ("be", stored(text, u16::to_be_bytes)),
        ("le, marked", stored(&marked, u16::to_le_bytes)),
        ("be, marked", stored(&marked, u16::to_be_bytes)),
    ]
}

/// Longer than a block as UTF-16, and with characters of one to four bytes.
fn characters() -> String {
    (0u32..20_000).map(|n| format!("line {n} äß € \u{1f600}\n")).collect()
}

#[test]
fn utf16_in_pieces_of_any_size() {
    let text = characters();
    let expected = split(text.as_bytes(), 100);
    for (name, stored) in utf16(&text) {
        for piece_bytes in [1, 3, 13, 1_001, BLOCK_BYTES] {
            let setup = Setup::lines(100, 2).with_buffers(BUFFERS_MIN);
            let pieces = Pieces::input(&stored, piece_bytes, setup);
            let seen = setup.lines_of(move |pool| pieces(pool).into_utf8());
            assert!(seen == expected, "{name} in pieces of {piece_bytes}");
        }
        for compressed in [gzip(&stored), lz4(&stored, true)] {
            let setup = Setup::lines(100, 2).with_buffers(BUFFERS_MIN);
            let pieces = Pieces::input(&compressed, 777, setup);
            let seen = setup.lines_of(move |pool| pieces(pool).into_utf8());
            assert!(seen == expected, "{name}, compressed");
        }
    }
}

#[test]
fn nobody_gets_utf16_undone_who_did_not_ask() {
    for (_, stored) in utf16("a line\n") {
        let input = stored.clone();
        let outcome = Setup::bytes(1).run(|_| Input::from_reader("input", Box::new(Cursor::new(input))), || KeepBytes);
        assert_eq!(outcome.outputs, [(0, stored)]);
    }
}

/// Output of a run over UTF-16, and its error.
fn as_utf8(stored: Vec<u8>) -> (String, Option<String>) {
    let input = |_: &_| Input::from_reader("input", Box::new(Cursor::new(stored))).into_utf8();
    let outcome = Setup::bytes(1).run(input, || KeepBytes);
    let bytes = outcome.outputs.into_iter().flat_map(|(_, bytes)| bytes).collect::<Vec<u8>>();
    (String::from_utf8_lossy(&bytes).into_owned(), outcome.error.map(|error| error.to_string()))
}

#[test]
fn half_a_character_ends_utf16_with_its_place() {
    let unit = |unit: u16| unit.to_le_bytes();
    let before: Vec<u8> = "\u{feff}line\n".encode_utf16().flat_map(unit).collect();
    for halves in [vec![0xd83d, u16::from(b'x')], vec![0xde00], vec![0xd83d]] {
        let stored = [before.clone(), halves.into_iter().flat_map(unit).collect()].concat();
        let (text, error) = as_utf8(stored);
        let said = "input: the UTF-16 text has half a surrogate pair, which is no character, at byte 12 of it; of the text as UTF-8 at byte 5";
        assert_eq!((text.as_str(), error.as_deref()), ("line\n", Some(said)));
    }
    let (text, error) = as_utf8([before, vec![b'x']].concat());
    let said = "input: the UTF-16 text ends in half a character (the file is cut short), at byte 12 of it; of the text as UTF-8 at byte 5";
    assert_eq!((text.as_str(), error.as_deref()), ("line\n", Some(said)));
}

#[test]
fn a_cut_gzip_of_utf16_gives_what_came_before() {
    let text = characters();
    let stored = gzip(&utf16(&text)[0].1);
    for length in [20, 200, stored.len() / 2, stored.len() - 1] {
        let (read, error) = as_utf8(stored[..length].to_vec());
        assert!(text.starts_with(&read), "cut at {length}");
        assert!(error.is_some_and(|error| error.contains("the gzip data ends too early")), "cut at {length}");
    }
}

#[test]
fn utf8_stays_a_file_and_its_mark_stays() {
    let folder = rorqual_testkit::folder::TestFolder::new();
    let path = folder.file("marked.txt", "\u{feff}line\n");
    let input = Input::open(std::path::Path::new(&path)).map(Input::into_utf8).expect("a file");
    assert!(input.is_file());
    let utf16 = folder.file("utf16.txt", &utf16("line\n")[0].1);
    let input = Input::open(std::path::Path::new(&utf16)).map(Input::into_utf8).expect("a file");
    assert!(!input.is_file() && input.is_stored());
}

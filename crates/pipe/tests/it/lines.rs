//! Streams in blocks of any size give the lines that a reference finds byte by byte.

use crate::common::{BUFFERS_MIN, Pieces, Setup, split};
use proptest::collection::vec;
use proptest::prelude::*;
use rorqual_pipe::Input;
use rorqual_pipe::limits::BLOCK_BYTES;
use rorqual_testkit::fault::{FaultPlan, FaultyIo};
use std::io::Cursor;

const PIECES: [usize; 6] = [1, 2, 7, 64, 1_001, BLOCK_BYTES];

/// Text in which lines of all lengths from 0 are likely.
fn newline_rich() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![2 => Just(b'\n'), 5 => Just(b'a'), 1 => Just(b'\r'), 1 => Just(0), 2 => any::<u8>()];
    let line = vec(prop_oneof![Just(b'b'), Just(b'c')], 90..=110).prop_map(|mut line| {
        line.push(b'\n');
        line
    });
    vec(prop_oneof![4 => vec(byte, 0..20), 1 => line], 0..20).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_block_size_gives_the_same_lines(bytes in newline_rich(), threads in 1usize..=4, line_bytes_max in prop_oneof![Just(1usize), Just(16), Just(100)]) {
        let expected = split(&bytes, line_bytes_max);
        for piece_bytes in PIECES {
            for buffers in [BUFFERS_MIN, 32] {
                let setup = Setup::lines(line_bytes_max, threads).with_buffers(buffers);
                let seen = setup.lines_of(Pieces::input(&bytes, piece_bytes, setup));
                prop_assert_eq!(&seen, &expected, "{:?} in pieces of {}", setup, piece_bytes);
            }
        }
    }

    #[test]
    fn any_block_size_gives_the_same_bytes(bytes in newline_rich(), threads in 1usize..=4) {
        for piece_bytes in PIECES {
            let setup = Setup::bytes(threads).with_buffers(BUFFERS_MIN);
            prop_assert_eq!(&setup.bytes_of(Pieces::input(&bytes, piece_bytes, setup)), &bytes);
        }
    }

    #[test]
    fn short_reads_give_the_same_lines(bytes in newline_rich(), read_bytes in 1usize..50) {
        let setup = Setup::lines(16, 2);
        let expected = split(&bytes, 16);
        let reader = FaultyIo::new(Cursor::new(bytes), read_bytes, &FaultPlan::never());
        prop_assert_eq!(setup.lines_of(|_| Input::from_reader("short", Box::new(reader))), expected);
    }
}

#[test]
fn a_line_over_many_blocks_is_one_line() {
    let mut bytes = b"before\n".to_vec();
    bytes.resize(3 * BLOCK_BYTES + 17, b'x');
    bytes.extend(b"\nafter\n\nend");
    for line_bytes_max in [1, 100, BLOCK_BYTES, 3 * BLOCK_BYTES, 4 * BLOCK_BYTES] {
        for piece_bytes in [64 << 10, BLOCK_BYTES - 1, BLOCK_BYTES] {
            let setup = Setup::lines(line_bytes_max, 2).with_buffers(BUFFERS_MIN);
            let seen = setup.lines_of(Pieces::input(&bytes, piece_bytes, setup));
            assert!(seen == split(&bytes, line_bytes_max), "{line_bytes_max} in pieces of {piece_bytes}");
        }
    }
}

#[test]
fn a_line_as_long_as_the_limit_is_whole_and_one_byte_more_is_long() {
    for length in [15, 16, 17] {
        for end in [&b"\n"[..], b"", b"\nx"] {
            let bytes = [&vec![b'a'; length][..], end].concat();
            for piece_bytes in 1..=20 {
                let setup = Setup::lines(16, 1);
                let seen = setup.lines_of(Pieces::input(&bytes, piece_bytes, setup));
                assert_eq!(seen[0].long, length > 16, "{length} in pieces of {piece_bytes}");
                assert_eq!(seen, split(&bytes, 16));
            }
        }
    }
}

#[test]
fn an_empty_stream_has_no_lines() {
    let setup = Setup::lines(16, 2);
    assert_eq!(setup.lines_of(Pieces::input(b"", 1, setup)), []);
}

#[test]
fn what_was_read_ahead_is_read_again() {
    let bytes: Vec<u8> = (0..3 * BLOCK_BYTES).map(|index| (index % 251) as u8).collect();
    for (first, then) in [(0, 0), (1, 5), (100, BLOCK_BYTES), (BLOCK_BYTES + 1, 2 * BLOCK_BYTES), (10 * BLOCK_BYTES, 0)] {
        let expected = bytes.clone();
        let reader = FaultyIo::new(Cursor::new(bytes.clone()), 1_000, &FaultPlan::never());
        let read = Setup::bytes(2).bytes_of(move |_| {
            let mut input = Input::from_reader("ahead", Box::new(reader));
            for bytes_max in [first, then] {
                let control = rorqual_pipe::Control::default();
                let ahead = input.read_ahead(bytes_max, &control).expect("nothing fails").to_vec();
                assert_eq!(ahead, expected[..bytes_max.max(first).min(expected.len())]);
            }
            input
        });
        assert!(read == bytes, "{first} and then {then} bytes ahead");
    }
}

//! Counts are those of a loop over the bytes, however the input is cut.

use crate::common::{BUFFERS_MIN, Pieces, Setup};
use proptest::collection::vec;
use proptest::prelude::*;
use rorqual_pipe::count::{ByteCounts, Counter};
use rorqual_pipe::limits::BLOCK_BYTES;

/// Words and characters, by the standard library.
fn words_and_characters(bytes: &[u8]) -> (u64, u64) {
    let words = bytes.split(|byte| byte.is_ascii_whitespace() || *byte == 0x0b).filter(|word| !word.is_empty()).count();
    let characters: usize = bytes.utf8_chunks().map(|chunk| chunk.valid().chars().count()).sum();
    (words as u64, characters as u64)
}

/// Newlines, bytes, longest line, one byte after the other.
fn by_hand(bytes: &[u8]) -> (u64, u64, u64) {
    let (mut newlines, mut longest, mut length) = (0, 0, 0);
    for byte in bytes {
        if *byte == b'\n' {
            newlines += 1;
            length = 0;
        } else {
            length += 1;
            longest = longest.max(length);
        }
    }
    (newlines, bytes.len() as u64, longest)
}

fn counted(bytes: &[u8], piece_bytes: usize, setup: Setup) -> (u64, u64, u64) {
    let outcome = setup.run(Pieces::input(bytes, piece_bytes, setup), || ALL);
    assert!(outcome.error.is_none());
    let total = outcome.outputs.into_iter().fold(ByteCounts::default(), ByteCounts::then);
    assert_eq!((total.words(), total.characters()), words_and_characters(bytes), "in pieces of {piece_bytes}: {bytes:?}");
    (total.newlines, total.bytes, total.longest_bytes())
}

const ALL: Counter = Counter { longest: true, words: true, characters: true };

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_cut_gives_the_same_counts(bytes in vec(prop_oneof![1 => Just(b'\n'), 4 => any::<u8>()], 0..400), threads in 1usize..=3) {
        for piece_bytes in [1, 7, 64, 333, BLOCK_BYTES] {
            let setup = Setup::bytes(threads).with_buffers(BUFFERS_MIN);
            prop_assert_eq!(counted(&bytes, piece_bytes, setup), by_hand(&bytes), "in pieces of {}", piece_bytes);
        }
    }

    #[test]
    fn characters_and_words_are_cut_anywhere(
        parts in vec(prop::sample::select(vec!["a", " ", "\u{b}", "é", "€", "😀", "\n"].into_iter().map(str::as_bytes).chain([&b"\x80"[..], b"\xe2\x82", b"\xf0\x9f", b"\xff", b"\xed\xa0\x80"]).collect::<Vec<_>>()), 0..60),
    ) {
        let bytes = parts.concat();
        for piece_bytes in [1, 2, 3, 5, BLOCK_BYTES] {
            counted(&bytes, piece_bytes, Setup::bytes(2).with_buffers(BUFFERS_MIN));
        }
    }

    #[test]
    fn the_longest_of_few_long_lines(lengths in vec(0usize..3_000, 0..40)) {
        let bytes: Vec<u8> = lengths.iter().flat_map(|length| std::iter::repeat_n(b'.', *length).chain([b'\n'])).collect();
        for piece_bytes in [1_000, BLOCK_BYTES] {
            let setup = Setup::bytes(2);
            prop_assert_eq!(counted(&bytes, piece_bytes, setup), by_hand(&bytes));
        }
    }
}

#[test]
fn files_beside_each_other_share_no_line() {
    let setup = Setup::bytes(1);
    let one = setup.run(Pieces::input(b"ab", 9, setup), || ALL).outputs[0];
    assert_eq!(one.beside(one).longest_bytes(), 2);
    assert_eq!(one.then(one).longest_bytes(), 4);
    assert_eq!((one.beside(one).words(), one.then(one).words()), (2, 1));
}

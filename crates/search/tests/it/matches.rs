//! The places of matches in a line that comes in pieces.

use rorqual_search::limits::{MATCH_BYTES_MAX, WINDOW_BYTES};
use rorqual_search::{CaseMatching, Expression, LineEnd, LongMatches, SearchPattern, each_match};

fn expression(pattern: &str) -> Expression {
    let (patterns, line_end) = (vec![pattern.as_bytes().to_vec()], LineEnd::Newline);
    let case = CaseMatching::Sensitive;
    let plain = SearchPattern {
        patterns,
        fixed: false,
        case,
        word: false,
        whole_line: false,
        line_end,
        multiline: false,
        dot_newline: false,
        groups: false,
        bytes_max: 1 << 20,
        cache_bytes_max: 1 << 20,
        memory_setting: "memory",
    };
    Expression::new(plain).expect("a regular expression")
}

/// Places and lengths of the matches, and whether one was cut.
fn in_pieces(pattern: &str, line: &[u8], piece: usize) -> (Vec<(u64, usize)>, bool) {
    let mut found = Vec::new();
    let mut add = |at, bytes: &[u8]| {
        found.push((at, bytes.len()));
        Ok::<(), ()>(())
    };
    let mut matches = LongMatches::new(&expression(pattern));
    line.chunks(piece).for_each(|piece| matches.feed(piece, &mut add).expect("it never fails"));
    let matched = !at_once(pattern, line).is_empty();
    let cut = matches.finish(matched, &mut add).expect("it never fails");
    (found, cut)
}

fn at_once(pattern: &str, line: &[u8]) -> Vec<(u64, usize)> {
    let mut found = Vec::new();
    let _ = each_match(&expression(pattern).matcher(), line, |range| {
        found.push((range.start as u64, range.len()));
        Ok::<(), ()>(())
    });
    found
}

#[test]
fn the_same_as_at_once_wherever_the_window_ends() {
    let mut line = Vec::new();
    for number in 0..200_000 {
        line.extend(format!("w{number} é{} ", number % 7).bytes());
    }
    for pattern in [r"\bw\d*7\b", "^w0", "é6", "w1.{0,100}?w2", "é2 $", "[^ ]+"] {
        let expected = at_once(pattern, &line);
        assert!(!expected.is_empty(), "{pattern}");
        for piece in [1_000, WINDOW_BYTES - 1, WINDOW_BYTES, line.len()] {
            assert_eq!(in_pieces(pattern, &line, piece), (expected.clone(), false), "{pattern} in pieces of {piece}");
        }
    }
}

/// Whatever the matches are like, each is given once, with its place, and up to so much of it.
#[test]
fn a_match_longer_than_the_window_is_one_match_of_which_the_beginning_is_given() {
    let long = |byte: u8, times: usize| vec![byte; times];
    let most = MATCH_BYTES_MAX;
    let lines = [
        long(b'x', 3 * WINDOW_BYTES),
        [b"- xx ", &long(b'x', 5 * most + 7)[..], b" x "].concat(),
        [b"ab", &b"xz".repeat(3 * WINDOW_BYTES)[..], b" ab z"].concat(),
        // It could have ended early.
        [b"abz", &long(b'-', 4 * most)[..], b"z-ab"].concat(),
        // The end of a window looks like the end of the line, and is none.
        [&long(b'x', 3 * most)[..], b"y abz", &long(0, 2_000_000), b"z"].concat(),
        ["é".repeat(2 * most).as_bytes(), b" ", &long(b'x', most), b"\xff", &long(b'x', most + 1)].concat(),
    ];
    for pattern in ["x+", "x+$", "^x+", "a(?:bz?|b.*z)", "ab.*z", r"\bx+\b", r"\w+", "x{9}", "x+y|-{3,}z?", "^.*z", "(?s-u:.)*z"]
    {
        for line in &lines {
            let expected = at_once(pattern, line);
            let shown = expected.iter().map(|(at, length)| (*at, *length.min(&most))).collect::<Vec<_>>();
            for piece in [10_007, line.len()] {
                let (found, cut) = in_pieces(pattern, line, piece);
                assert_eq!(cut, expected.iter().any(|(_, length)| *length > most), "{pattern} in pieces of {piece}");
                assert_eq!(found, shown, "{pattern} in pieces of {piece}");
            }
        }
    }
}

#[test]
fn a_match_that_cannot_end_within_what_is_held_is_missed_and_said() {
    let line = [&b"- ab"[..], &vec![b'-'; 2 * WINDOW_BYTES], b"z"].concat();
    assert_eq!(in_pieces("ab-*z", &line, 4096), (Vec::new(), true));
    // Such behind a match that could have gone on.
    let line = [&b"ax"[..], &b"x".repeat(2 * WINDOW_BYTES), b" "].concat();
    assert!(in_pieces("a(?:x*y)?|x", &line, 4096).1);
    // Nothing is missing where only the empty text matches, or nothing does.
    assert_eq!(in_pieces("y*", &line, 4096), (Vec::new(), false));
    assert_eq!(in_pieces("x+y", &line, 4096), (Vec::new(), false));
}

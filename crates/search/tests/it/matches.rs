//! The places of matches in a line that comes in pieces.

use rorqual_search::limits::WINDOW_BYTES;
use rorqual_search::{Case, Expression, LongMatches, Pattern, each_match};

fn expression(pattern: &str) -> Expression {
    let patterns = vec![pattern.to_owned()];
    Expression::new(Pattern { patterns, fixed: false, case: Case::Sensitive, word: false, whole_line: false, bytes_max: 1 << 20 })
        .expect("a regular expression")
}

/// Places and lengths of the matches, and whether one was cut.
fn in_pieces(pattern: &str, line: &[u8], piece: usize) -> (Vec<(u64, usize)>, bool) {
    let mut found = Vec::new();
    let mut add = |at, bytes: &[u8]| {
        found.push((at, bytes.len()));
        Ok::<(), ()>(())
    };
    let mut matches = LongMatches::new(expression(pattern).matcher());
    line.chunks(piece).for_each(|piece| matches.feed(piece, &mut add).expect("it never fails"));
    let cut = matches.finish(&mut add).expect("it never fails");
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

#[test]
fn a_match_longer_than_the_window_is_said_to_be_cut() {
    let line = vec![b'x'; 3 * WINDOW_BYTES];
    let (found, cut) = in_pieces("x+", &line, 4096);
    assert!(cut);
    assert_eq!(found[0], (0, WINDOW_BYTES));
}

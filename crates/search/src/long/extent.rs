//! The end of a match that goes on after the bytes that are held.

use super::{Automaton, Dfa, LOOK_BYTES, Simulation, run_length};
use regex_automata::Anchored;
use regex_automata::util::start;
use regex_syntax::hir::Hir;

/// Bytes that the simulation takes at once: most matches end within them.
const PIECE_BYTES: usize = 1 << 10;

/// Follows one match after another from its start, however far it goes.
pub(crate) struct MatchFollower {
    automaton: Automaton,
    /// Bytes that it was given since the start of the match.
    given: u64,
    end: Option<u64>,
}

impl MatchFollower {
    pub(crate) fn new(hir: &Hir, sizes_max: (usize, usize)) -> Result<Self, String> {
        Ok(Self { automaton: Automaton::new(hir, sizes_max)?, given: 0, end: None })
    }

    /// A match starts here, after `before`: a few bytes, or none where the line starts.
    pub(crate) fn start(&mut self, before: &[u8]) {
        (self.given, self.end) = (0, None);
        match &mut self.automaton {
            Automaton::Dfa(dfa) => dfa.start_at(before.last().copied()),
            Automaton::Nfa(nfa) => nfa.start_at(before),
        }
    }

    /// The next bytes. True while it may end after them.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> bool {
        let at = self.given;
        self.given += bytes.len() as u64;
        match &mut self.automaton {
            Automaton::Dfa(dfa) => dfa.follow(bytes, at, &mut self.end),
            Automaton::Nfa(nfa) => nfa.follow(bytes, &mut self.end),
        }
    }

    /// The line is over.
    pub(crate) fn finish(&mut self) {
        match &mut self.automaton {
            Automaton::Dfa(dfa) => self.end = if dfa.finish() { Some(self.given) } else { self.end },
            Automaton::Nfa(nfa) => nfa.follow_to_end(&mut self.end),
        }
    }

    /// Its end, counted from its start, by the bytes so far; `None` where nothing matches
    /// yet.
    pub(crate) fn end(&self) -> Option<u64> {
        self.end
    }
}

impl Dfa {
    fn start_at(&mut self, before: Option<u8>) {
        let config = start::Config::new().anchored(Anchored::Yes).look_behind(before);
        self.state = self.dfa.start_state(&mut self.cache, &config).unwrap_or_default();
        self.settled = None;
    }

    fn follow(&mut self, bytes: &[u8], at: u64, end: &mut Option<u64>) -> bool {
        let mut position = 0;
        while let Some(&byte) = bytes.get(position) {
            if self.settled == Some(byte) {
                position += run_length(&bytes[position..], byte) - 1;
            }
            self.advance(byte);
            // A match is known at the byte after it.
            if self.state.is_match() {
                *end = Some(at + position as u64);
            }
            if self.state.is_dead() {
                return false;
            }
            position += 1;
        }
        true
    }
}

impl Simulation {
    fn start_at(&mut self, before: &[u8]) {
        self.start();
        self.window.extend_from_slice(before);
        self.now.insert(self.nfa.start_anchored());
        (self.anchored, self.at, self.origin) = (true, before.len(), before.len() as u64);
    }

    fn follow(&mut self, bytes: &[u8], end: &mut Option<u64>) -> bool {
        bytes.chunks(PIECE_BYTES).all(|piece| {
            self.window.extend_from_slice(piece);
            self.follow_to(self.window.len().saturating_sub(LOOK_BYTES), end);
            self.forget();
            !self.now.list.is_empty()
        })
    }

    fn follow_to(&mut self, limit: usize, end: &mut Option<u64>) {
        while self.at < limit && !self.now.list.is_empty() {
            if self.advance(limit) {
                *end = Some(self.forgotten + self.at as u64 - 1 - self.origin);
            }
        }
    }

    fn follow_to_end(&mut self, end: &mut Option<u64>) {
        self.follow_to(self.window.len(), end);
        if self.reach() {
            *end = Some(self.forgotten + self.at as u64 - self.origin);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::long::LOOK_BYTES;
    use crate::{CaseMatching, Expression, LineEnd, SearchPattern};
    use grep_matcher::Matcher;
    use proptest::prelude::*;

    const PATTERNS: [&str; 10] =
        ["a+", "ab?|a.*b", "a.*?b", "(?:ab|a)(?:c|bcd)?", r"\ba+\b", r"\w+", "a*$", "[^ ]+", r"(?:é|a)+\b.", "a(?:b*c)?|b"];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

        /// The end of a match that is known to start somewhere: as the matcher says of the whole
        /// line, however the line comes.
        #[test]
        fn the_end_of_a_match_is_where_it_is_in_one_piece(
            pieces in prop::collection::vec(prop::sample::select(vec!["a", "b", "c", "d", " ", "é", "aaaaaaaa", "bbbb"]), 0..40),
            size in 1_usize..9,
            word: bool,
        ) {
            let line = pieces.concat().into_bytes();
            for pattern in PATTERNS {
                let pattern = SearchPattern {
                    patterns: vec![pattern.as_bytes().to_vec()], fixed: false, case: CaseMatching::Sensitive, word, whole_line: false,
                    line_end: LineEnd::Newline, multiline: false, dot_newline: false, groups: true, bytes_max: 1 << 20, cache_bytes_max: 1 << 20, memory_setting: "memory",
                };
                let expression = Expression::new(pattern).unwrap();
                let (mut extent, matcher) = (expression.syntax().extent().unwrap(), expression.matcher());
                let mut found = Vec::new();
                matcher.find_iter(&line, |each| { found.push((each.start(), each.end())); true }).unwrap();
                for (start, end) in found {
                    extent.start(&line[start.saturating_sub(LOOK_BYTES)..start]);
                    if line[start..].chunks(size).all(|piece| extent.feed(piece)) {
                        extent.finish();
                    }
                    prop_assert_eq!(extent.end(), Some((end - start) as u64));
                }
            }
        }
    }
}

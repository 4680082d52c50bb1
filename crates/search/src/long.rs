//! Matching of lines that are longer than the memory.
//!
//! A lazy DFA keeps its state from block to block. What it can't express, Unicode's word boundaries
//! (`\b`, `-w`), is simulated on the NFA instead: slower, and as exact. Both pass over a run of one
//! byte once it no longer changes their state, so that a hole or an accident of NULs costs what
//! looking for its end costs. Many plain words go by their trie.

mod extent;
mod words;

use crate::limits::WINDOW_BYTES;
pub(crate) use extent::MatchFollower;
use regex_automata::hybrid::LazyStateID;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson::{self, NFA, State, WhichCaptures};
use regex_automata::util::primitives::StateID;
use regex_automata::util::start;
use regex_syntax::hir::Hir;
use words::WordTrie;

/// Bytes that an assertion looks at on each side: one character.
pub(crate) const LOOK_BYTES: usize = 4;

/// Zeros that are stepped through at once where a hole has no bytes of its own.
static ZEROS: [u8; 4 << 10] = [0; 4 << 10];

/// Goes through one line after another, piece by piece.
pub(crate) struct LongMatcher {
    stepper: Stepper,
    /// A carriage return belongs to the newline after it.
    crlf: bool,
    matched: bool,
}

enum Stepper {
    Automaton(Automaton),
    Words(Box<WordTrie>),
}

enum Automaton {
    Dfa(Box<Dfa>),
    Nfa(Box<Simulation>),
}

impl LongMatcher {
    pub(crate) fn new(hir: &Hir, sizes_max: (usize, usize), crlf: bool) -> Result<Self, String> {
        Ok(Self { stepper: Stepper::Automaton(Automaton::new(hir, sizes_max)?), crlf, matched: false })
    }

    /// The same of plain words, none of which has an end of a line.
    pub(crate) fn of_words(words: &[String]) -> Result<Self, String> {
        Ok(Self { stepper: Stepper::Words(Box::new(WordTrie::new(words)?)), crlf: false, matched: false })
    }

    /// Starts with a new line.
    pub(crate) fn start(&mut self) {
        self.matched = match &mut self.stepper {
            Stepper::Automaton(Automaton::Dfa(dfa)) => dfa.start(),
            Stepper::Automaton(Automaton::Nfa(nfa)) => nfa.start(),
            Stepper::Words(words) => words.start(),
        };
    }

    /// The next bytes of the line; no newline among them. Whether it is known by now that the line
    /// matches.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> bool {
        if !self.matched {
            self.matched = match &mut self.stepper {
                Stepper::Automaton(Automaton::Dfa(dfa)) => dfa.feed(bytes),
                Stepper::Automaton(Automaton::Nfa(nfa)) => nfa.feed(bytes),
                Stepper::Words(words) => words.feed(bytes),
            };
        }
        self.matched
    }

    /// The next `count` bytes of the line, which are zeros.
    pub(crate) fn feed_zeros(&mut self, mut count: u64) -> bool {
        while count > 0 && !self.matched {
            let is_settled = match &self.stepper {
                Stepper::Automaton(automaton) => automaton.is_settled_on(0),
                Stepper::Words(words) => words.is_settled_on(0),
            };
            if is_settled {
                break;
            }
            let step = count.min(ZEROS.len() as u64);
            self.feed(&ZEROS[..step as usize]);
            count -= step;
        }
        self.matched
    }

    /// The line is over, at a newline or at the end of the input; whether it matches.
    pub(crate) fn finish(&mut self, newline: bool) -> bool {
        // Only the newline tells whether a carriage return before it is an end of its own.
        let before_newline = newline && self.crlf;
        self.matched = self.matched
            || match &mut self.stepper {
                Stepper::Automaton(Automaton::Dfa(dfa)) if before_newline => dfa.feed(b"\n"),
                Stepper::Automaton(Automaton::Dfa(dfa)) => dfa.finish(),
                Stepper::Automaton(Automaton::Nfa(nfa)) if before_newline => nfa.finish_before_newline(),
                Stepper::Automaton(Automaton::Nfa(nfa)) => nfa.finish(),
                Stepper::Words(_) => false,
            };
        self.matched
    }
}

impl Automaton {
    /// An automaton of at most so many bytes, and so many for its states.
    fn new(hir: &Hir, (size_max, cache_max): (usize, usize)) -> Result<Self, String> {
        let config = thompson::Config::new().utf8(false).nfa_size_limit(Some(size_max)).which_captures(WhichCaptures::None);
        let nfa = thompson::Compiler::new().configure(config).build_from_hir(hir).map_err(|error| error.to_string())?;
        Ok(match nfa.look_set_any().contains_word_unicode() {
            false => Self::Dfa(Box::new(Dfa::new(nfa, cache_max)?)),
            true => Self::Nfa(Box::new(Simulation::new(nfa))),
        })
    }

    /// True where more of `byte` changes nothing.
    fn is_settled_on(&self, byte: u8) -> bool {
        match self {
            Self::Dfa(dfa) => dfa.settled == Some(byte),
            Self::Nfa(nfa) => nfa.settled == Some(byte),
        }
    }
}

struct Dfa {
    dfa: DFA,
    cache: Cache,
    state: LazyStateID,
    /// The byte that led from this state to itself, where the last one did.
    settled: Option<u8>,
}

impl Dfa {
    fn new(nfa: NFA, size_max: usize) -> Result<Self, String> {
        let config = DFA::config().cache_capacity(size_max).skip_cache_capacity_check(true);
        let dfa = DFA::builder().configure(config).build_from_nfa(nfa).map_err(|error| error.to_string())?;
        let mut cache = dfa.create_cache();
        let state = start_state(&dfa, &mut cache);
        Ok(Self { dfa, cache, state, settled: None })
    }

    fn start(&mut self) -> bool {
        self.state = start_state(&self.dfa, &mut self.cache);
        self.settled = None;
        false
    }

    fn feed(&mut self, bytes: &[u8]) -> bool {
        let mut position = 0;
        while let Some(&byte) = bytes.get(position) {
            if self.settled == Some(byte) {
                position += run_length(&bytes[position..], byte);
                continue;
            }
            self.advance(byte);
            if self.state.is_match() {
                return true;
            }
            position += 1;
        }
        false
    }

    /// Steps over a byte.
    fn advance(&mut self, byte: u8) {
        let clears = self.cache.clear_count();
        let next = step(&self.dfa, &mut self.cache, self.state, byte);
        // A cache that was cleared gives its numbers anew.
        let same = next == self.state && self.cache.clear_count() == clears;
        self.settled = same.then_some(byte);
        self.state = next;
    }

    fn finish(&mut self) -> bool {
        let end = self.dfa.next_eoi_state(&mut self.cache, self.state);
        end.is_ok_and(|end| end.is_match())
    }
}

// The cache only fails to take one more state when it was told to give up, which it was not.
fn step(dfa: &DFA, cache: &mut Cache, state: LazyStateID, byte: u8) -> LazyStateID {
    dfa.next_state(cache, state, byte).unwrap_or(state)
}

fn start_state(dfa: &DFA, cache: &mut Cache) -> LazyStateID {
    dfa.start_state(cache, &start::Config::new()).unwrap_or_default()
}

/// Number of the first bytes that are `byte`; in strides, as this is where an accident of NULs is
/// passed over.
fn run_length(bytes: &[u8], byte: u8) -> usize {
    let whole =
        bytes.chunks_exact(64).take_while(|stride| stride.iter().fold(true, |same, next| same & (*next == byte))).count() * 64;
    whole + bytes[whole..].iter().take_while(|next| **next == byte).count()
}

/// All states that the NFA can be in, kept over the bytes.
struct Simulation {
    nfa: NFA,
    /// States after the bytes so far, before those that need no byte are added.
    now: StateSet,
    reached: StateSet,
    next: StateSet,
    stack: Vec<StateID>,
    /// Bytes that were not stepped over yet, and some before them: assertions look both ways.
    window: Vec<u8>,
    /// The first byte of the window that was not stepped over.
    at: usize,
    settled: Option<u8>,
    /// It follows one match from its start, and begins no others.
    anchored: bool,
    /// Bytes that left the window.
    forgotten: u64,
    /// Start of the match, in all bytes.
    origin: u64,
}

impl Simulation {
    fn new(nfa: NFA) -> Self {
        let set = || StateSet::new(nfa.states().len());
        let (now, reached, next) = (set(), set(), set());
        let (stack, window) = (Vec::new(), Vec::new());
        Self { nfa, now, reached, next, stack, window, at: 0, settled: None, anchored: false, forgotten: 0, origin: 0 }
    }

    fn start(&mut self) -> bool {
        self.now.clear();
        self.window.clear();
        (self.at, self.forgotten) = (0, 0);
        self.settled = None;
        false
    }

    fn feed(&mut self, bytes: &[u8]) -> bool {
        bytes.chunks(WINDOW_BYTES / 8).any(|piece| {
            self.window.extend_from_slice(piece);
            // The last character may be looked at from before it, and its bytes may not all be
            // here.
            let matched = self.run_to(self.window.len().saturating_sub(LOOK_BYTES));
            self.forget();
            matched
        })
    }

    /// Drops bytes that no assertion looks at any more.
    fn forget(&mut self) {
        let past = self.at.saturating_sub(LOOK_BYTES);
        self.window.drain(..past);
        self.at -= past;
        self.forgotten += past as u64;
    }

    fn finish_before_newline(&mut self) -> bool {
        self.window.push(b'\n');
        self.run_to(self.window.len())
    }

    fn finish(&mut self) -> bool {
        let end = self.window.len();
        self.run_to(end) || self.reach()
    }

    fn run_to(&mut self, end: usize) -> bool {
        while self.at < end {
            if self.advance(end) {
                return true;
            }
        }
        false
    }

    /// Steps over a byte, and before it over a run of the same; whether a match ended before it.
    fn advance(&mut self, end: usize) -> bool {
        let byte = self.window[self.at];
        if self.settled == Some(byte) {
            // The last of a run see the bytes after it.
            self.at += run_length(&self.window[self.at..end], byte).saturating_sub(LOOK_BYTES);
        }
        let matched = self.reach();
        self.step(byte);
        self.at += 1;
        let same = self.next.list == self.now.list && self.around().iter().all(|near| *near == byte);
        self.settled = same.then_some(byte);
        std::mem::swap(&mut self.now, &mut self.next);
        matched
    }

    /// Bytes that an assertion at the next position, or after a byte more of the same, could see.
    fn around(&self) -> &[u8] {
        let end = (self.at + LOOK_BYTES).min(self.window.len());
        &self.window[self.at.saturating_sub(LOOK_BYTES + 1)..end]
    }

    /// Adds what is reached without a byte, from the states so far and from a match that would
    /// start here; whether one has ended, which is preferred to the states after it.
    fn reach(&mut self) -> bool {
        self.reached.clear();
        self.stack.extend(self.now.list.iter().rev());
        if !self.anchored {
            self.stack.insert(0, self.nfa.start_anchored());
        }
        while let Some(id) = self.stack.pop() {
            if !self.reached.insert(id) {
                continue;
            }
            match self.nfa.state(id) {
                State::Match { .. } => {
                    self.stack.clear();
                    return true;
                }
                State::Look { look, next } => {
                    if self.nfa.look_matcher().matches(*look, &self.window, self.at) {
                        self.stack.push(*next);
                    }
                }
                State::Union { alternates } => self.stack.extend(alternates.iter().rev()),
                State::BinaryUnion { alt1, alt2 } => self.stack.extend([*alt2, *alt1]),
                State::Capture { next, .. } => self.stack.push(*next),
                State::ByteRange { .. } | State::Sparse(_) | State::Dense(_) | State::Fail => {}
            }
        }
        false
    }

    fn step(&mut self, byte: u8) {
        self.next.clear();
        for id in &self.reached.list {
            let next = match self.nfa.state(*id) {
                State::ByteRange { trans } if trans.matches_byte(byte) => Some(trans.next),
                State::Sparse(sparse) => sparse.matches_byte(byte),
                State::Dense(dense) => dense.matches_byte(byte),
                _ => None,
            };
            if let Some(next) = next {
                self.next.insert(next);
            }
        }
    }
}

/// States in the order in which they came, each once.
struct StateSet {
    list: Vec<StateID>,
    member: Vec<bool>,
}

impl StateSet {
    fn new(states: usize) -> Self {
        Self { list: Vec::with_capacity(states), member: vec![false; states] }
    }

    fn insert(&mut self, id: StateID) -> bool {
        let new = !std::mem::replace(&mut self.member[id.as_usize()], true);
        if new {
            self.list.push(id);
        }
        new
    }

    fn clear(&mut self) {
        for id in self.list.drain(..) {
            self.member[id.as_usize()] = false;
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use crate::hits::HitBatch;
    use crate::{CaseMatching, Expression, LineEnd, SearchMode, SearchPattern, Searcher};
    use grep_matcher::Matcher;
    use proptest::prelude::*;

    fn expression(pattern: &str, word: bool, whole_line: bool, case: CaseMatching) -> Expression {
        expression_of(pattern, word, whole_line, case, LineEnd::Newline)
    }

    fn expression_of(pattern: &str, word: bool, whole_line: bool, case: CaseMatching, line_end: LineEnd) -> Expression {
        let patterns = vec![pattern.as_bytes().to_vec()];
        Expression::new(SearchPattern {
            patterns,
            fixed: false,
            case,
            word,
            whole_line,
            line_end,
            multiline: false,
            dot_newline: false,
            groups: false,
            bytes_max: 1 << 20,
            cache_bytes_max: 1 << 20,
            memory_setting: "memory",
        })
        .unwrap()
    }

    /// The automaton's answer for a line that comes in pieces, a run of zeros as such.
    fn in_pieces(expression: &mut Expression, line: &[u8], piece: usize) -> bool {
        let long = expression.long().unwrap();
        long.start();
        for part in line.chunks(piece) {
            if part.iter().all(|byte| *byte == 0) {
                long.feed_zeros(part.len() as u64);
            } else {
                long.feed(part);
            }
        }
        long.finish(true)
    }

    const PATTERNS: [&str; 16] = [
        "a",
        "ab+",
        "^a",
        "b$",
        "^$",
        "",
        "(?i)éa",
        r"\bab\b",
        r"\Bb",
        "a.*b",
        "[^a]b",
        r"\x00a",
        "(?-u:\\xff)",
        r"\w+é",
        "^(ab|ba)*$",
        r"\Aab|a\z",
    ];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_automaton_says_what_the_matcher_says(
            pattern in prop::sample::select(&PATTERNS[..]),
            parts in prop::collection::vec(prop::sample::select(vec![&b"a"[..], b"b", b"A", b" ", b"\0", b"\0\0\0\0\0\0\0\0\0\0", "é".as_bytes(), b"\xff", b"\xc3", b"bbbbbbbbbbbbbbbbbbbb"]), 0..24),
            piece in 1_usize..40,
            word in any::<bool>(),
            whole_line in any::<bool>(),
        ) {
            let line = parts.concat();
            let mut expression = expression(pattern, word, whole_line, CaseMatching::Sensitive);
            let expected = expression.matcher().is_match(&line).unwrap();
            prop_assert_eq!(in_pieces(&mut expression, &line, piece), expected, "{} in {:?}", pattern, line);
        }
    }

    const CRLF_PATTERNS: [&str; 12] =
        ["0*", "a", "^$", "b$", "[^a]", "[^a]b?$", "a.", "a*", r"\s", r"(?-u)\W", r"\bab?$", "^(a|b)*$"];

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn with_crlf_the_automaton_says_what_a_search_of_whole_lines_says(
            pattern in prop::sample::select(&CRLF_PATTERNS[..]),
            parts in prop::collection::vec(prop::sample::select(vec!["a", "b", "\r", " ", "é", "bbbbbbbbbbbb"]), 0..12),
            piece in 1_usize..20,
            whole_line in any::<bool>(),
        ) {
            let mut expression = expression_of(pattern, false, whole_line, CaseMatching::Sensitive, LineEnd::Crlf);
            let searcher = Searcher {
                matcher: expression.matcher(),
                mode: SearchMode::Count,
                invert: false,
                numbered: false,
                around: false,
                terminator: b'\n',
                skip_binary: false,
            };
            let lines = [parts.concat().as_str(), "\r\n"].concat().into_bytes();
            let mut batch = HitBatch::default();
            searcher.search(&lines, &mut batch);
            let line = lines.strip_suffix(b"\n").unwrap();
            prop_assert_eq!(in_pieces(&mut expression, line, piece), batch.selected == 1, "{} in {:?}", pattern, line);
        }
    }

    #[test]
    fn smart_case_is_the_same_for_both() {
        for (pattern, line) in [("ab", "AB"), ("aB", "AB"), (r"\pL", "AB"), ("[a-c]b", "AB"), ("[A-C]b", "AB")] {
            let mut ours = expression(pattern, false, false, CaseMatching::Smart);
            let theirs = grep_regex::RegexMatcherBuilder::new().case_smart(true).build(pattern).unwrap();
            let expected = theirs.is_match(line.as_bytes()).unwrap();
            assert_eq!(ours.matcher().is_match(line.as_bytes()).unwrap(), expected, "{pattern}");
            assert_eq!(in_pieces(&mut ours, line.as_bytes(), 1), expected, "{pattern}");
        }
    }

    #[test]
    fn zeros_without_end_cost_nothing_once_they_change_nothing() {
        let mut expression = expression(r"\x00x", true, false, CaseMatching::Sensitive);
        let long = expression.long().unwrap();
        long.start();
        long.feed(b"head");
        assert!(!long.feed_zeros(u64::MAX >> 1));
        assert!(!long.feed(b" "));
        long.feed(b"\0x");
        assert!(long.finish(true));
    }
}

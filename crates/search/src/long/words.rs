//! Many plain words, by their trie.

use aho_corasick::Anchored;
use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::NFA;

/// A trie that goes on after a word's beginning that turned out to be none.
pub(super) struct WordTrie {
    trie: NFA,
    start: StateID,
    state: StateID,
    /// The byte that led from this state to itself, where the last one did.
    settled: Option<u8>,
}

impl WordTrie {
    pub(super) fn new(words: &[String]) -> Result<Self, String> {
        let trie = NFA::builder().prefilter(false).build(words).map_err(|error| error.to_string())?;
        let start = trie.start_state(Anchored::No).map_err(|error| error.to_string())?;
        Ok(Self { trie, start, state: start, settled: None })
    }

    /// Begins a line, in which no word was met.
    pub(super) fn start(&mut self) -> bool {
        (self.state, self.settled) = (self.start, None);
        false
    }

    pub(super) fn feed(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().any(|byte| {
            let next = self.trie.next_state(Anchored::No, self.state, *byte);
            self.settled = (next == self.state).then_some(*byte);
            self.state = next;
            self.trie.is_match(next)
        })
    }

    /// True where more of `byte` changes nothing.
    pub(super) fn is_settled_on(&self, byte: u8) -> bool {
        self.settled == Some(byte)
    }
}

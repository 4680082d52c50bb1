//! Memory of the compiled patterns of a search.

use rorqual_pipe::{BudgetError, format_size};
use rorqual_search::limits::{CACHE_BYTES_MIN, CACHE_FACTOR_MAX, CACHES_PER_WORKER, ONE_PASS_BYTES, cache_bytes_max};
use rorqual_search::{PatternCost, PatternError, SearchPattern};

/// Memory of compiled patterns, as far as it is known.
pub(super) struct ProgramNeeds {
    /// Memory of looking at the patterns.
    parse_bytes: u64,
    cost: PatternCost,
    /// Memory for states beyond the share that automata always have, for each of them.
    rest_bytes: u64,
    /// Borders of words are looked at.
    borders: bool,
}

impl ProgramNeeds {
    pub(super) fn of(pattern: &SearchPattern) -> Self {
        // A backslash, and a letter that begins the name of a border.
        let names_border = |pattern: &Vec<u8>| pattern.windows(2).any(|pair| matches!(pair, b"\\b" | b"\\B" | b"\\<" | b"\\>"));
        Self {
            parse_bytes: pattern.parse_bytes(),
            cost: PatternCost::default(),
            rest_bytes: 0,
            borders: pattern.word || (!pattern.fixed && pattern.patterns.iter().any(names_border)),
        }
    }

    /// True if the memory may have no room for looking at the patterns.
    pub(super) fn is_costly(&self, memory_bytes: u64) -> bool {
        self.parse_bytes > memory_bytes / 8
    }

    /// Looks at the patterns.
    pub(super) fn measure(&mut self, pattern: &SearchPattern, memory_bytes: u64) -> Result<(), PatternError> {
        // Half of it has room for the trees of one that are there beside nothing else.
        self.cost = pattern.cost(memory_bytes / 2)?;
        Ok(())
    }

    /// The message where the memory has no room.
    pub(super) fn too_large(&self, error: &BudgetError) -> String {
        if self.cost.program_bytes() <= CACHE_BYTES_MIN {
            return error.to_string();
        }
        format!(
            "the compiled pattern takes up to {} for each direction, and there is no memory for it: {error}",
            format_size(self.cost.program_bytes())
        )
    }

    /// Goes on to a larger automaton.
    pub(super) fn grow(&mut self) {
        self.cost = self.cost.grown();
        self.rest_bytes = 0;
    }

    /// Gives large automata of so many threads what is left for their states: one that has no room
    /// for these is slow.
    pub(super) fn take_rest(&mut self, threads: usize, memory_bytes: u64, rest_bytes: u64) {
        let each = rest_bytes / 2 / (CACHES_PER_WORKER * automata(threads) + 1);
        let is_large = 2 * self.cost.program_bytes() > cache_bytes_max(memory_bytes);
        self.rest_bytes = if is_large { each.min(CACHE_FACTOR_MAX * self.cost.program_bytes()) } else { 0 };
    }

    /// Sets the limits of the pattern.
    pub(super) fn set(&self, pattern: &mut SearchPattern, memory_bytes: u64) {
        pattern.bytes_max = self.cost.limit_bytes();
        pattern.cache_bytes_max = self.cache_bytes(memory_bytes);
    }

    /// Memory of compiling; with `follows`, also of what finds the end of a match in an over-long
    /// line.
    pub(super) fn compile_bytes(&self, follows: bool) -> u64 {
        let one_pass = if self.borders { ONE_PASS_BYTES } else { 0 };
        self.parse_bytes.max(self.cost.compile_bytes(follows) + one_pass)
    }

    /// Memory of the automata of one thread.
    pub(super) fn worker_bytes(&self, memory_bytes: u64) -> u64 {
        CACHES_PER_WORKER * self.cache_bytes(memory_bytes) + self.cost.simulation_bytes()
    }

    /// Memory of the automaton that goes through an over-long line.
    fn long_bytes(&self, memory_bytes: u64) -> u64 {
        self.cache_bytes(memory_bytes) + self.cost.long_bytes()
    }

    /// Memory of the automaton that finds the end of a match.
    pub(super) fn follower_bytes(&self, memory_bytes: u64) -> u64 {
        self.cache_bytes(memory_bytes) + self.cost.follower_bytes()
    }

    /// Memory of the automata of a search by so many threads.
    pub(super) fn automata_bytes(&self, threads: usize, memory_bytes: u64) -> u64 {
        automata(threads) * self.worker_bytes(memory_bytes) + self.long_bytes(memory_bytes)
    }

    /// Memory of the automata of one of several inputs that are searched side by side, which makes
    /// its own.
    pub(super) fn lane_bytes(&self, memory_bytes: u64) -> u64 {
        2 * self.worker_bytes(memory_bytes) + self.long_bytes(memory_bytes) + self.cost.making_long_bytes()
    }

    fn cache_bytes(&self, memory_bytes: u64) -> u64 {
        cache_bytes_max(memory_bytes) + self.rest_bytes
    }
}

/// The workers, and the one that looks at what they found.
fn automata(threads: usize) -> u64 {
    threads as u64 + 1
}

//! Every limit of a search, with the memory it costs.

/// Hits that a worker notes for a chunk before it leaves the rest of that chunk to the report: 12
/// bytes each, at most once a worker and once for each chunk that waits.
pub const HITS_MAX: usize = 16 << 10;

/// Share of the budget that an automaton of a worker may keep of its states: a 64th, 4 MiB of 256
/// MiB. Where an automaton is large, they take more of what is left.
pub const CACHE_SHARE: u64 = 64;

/// Least memory for these states, in bytes; enough for every pattern that a person types.
pub const CACHE_BYTES_MIN: u64 = 1 << 20;

/// Most memory for these states, as a multiple of the automaton; more gains nothing.
pub const CACHE_FACTOR_MAX: u64 = 16;

/// Least memory of a compiled pattern, in bytes; enough for every pattern that a person types.
pub const PROGRAM_BYTES_MIN: u64 = 64 << 10;

/// Memory of an automaton while it is made, as a multiple of it. Measured: up to 4.6.
pub const COMPILE_FACTOR: u64 = 5;

/// Memory of compiling any pattern, in bytes: the tables with which classes are compiled. Measured:
/// up to 700 KiB.
pub const COMPILE_BYTES: u64 = 1 << 20;

/// Memory of each letter of alternatives that are all plain texts while their automaton is made, in
/// bytes: a trie of them comes first. Measured: up to 180.
pub const TRIE_LETTER_BYTES: u64 = 200;

/// Memory of the automaton for anchored searches, which is tried where borders of words are looked
/// at, in bytes.
pub const ONE_PASS_BYTES: u64 = 10 << 20;

/// Memory of a state in a search that keeps no tables of them, in bytes: its places in two lists.
pub const STATE_SLOT_BYTES: u64 = 16;

/// The same for the places of each group, and of the match.
pub const SLOT_BYTES: u64 = 32;

/// The same in a search that goes through an over-long line: three lists, and one of those that are
/// still to be followed.
pub const SIMULATED_STATE_BYTES: u64 = 24;

/// Memory of the tree of one pattern for each byte of its text, at most. Measured: up to 210.
pub const TEXT_FACTOR: u64 = 256;

/// Memory of compiling a plain word among many, which need no trees, in bytes. Measured: up to 265;
/// with the bytes of it 600 to 720 for one of nine letters.
pub const WORD_BYTES: u64 = 272;

/// The same for each byte of it. Measured: up to 57.
pub const WORD_FACTOR: u64 = 57;

/// The same for each two bytes that words begin with, for each byte that words have: a table of
/// those that may come next.
pub const WORD_PAIR_BYTES: u64 = 12;

/// Automata that one worker may fill: forward, backward, and the one for candidate lines.
pub const CACHES_PER_WORKER: u64 = 3;

/// Share of the budget for the lines before a selected one that lie in earlier chunks (`-B`): an
/// 8th.
pub const CONTEXT_SHARE: u64 = 8;

/// Share of the budget for names of files that are sorted (`--sort`): an 8th.
pub const SORT_SHARE: u64 = 8;

/// Share of the budget for the output of one of several files that are searched side by side, while
/// those before it print: a 64th, 4 MiB of 256 MiB.
pub const HELD_SHARE: u64 = 64;

/// Memory of one name of a folder while the folder is sorted: its path, twice, and its kind.
pub const SORTED_ENTRY_BYTES: u64 = 512;

/// Share of the budget for a text that is held whole, where matches may go on over the ends of
/// lines (`--multiline`): half. A larger text is refused.
pub const MULTILINE_SHARE: u64 = 2;

/// First bytes of a text that is held whole in which a NUL says that it is binary, in bytes: as
/// many as the first block of others.
pub const BINARY_BYTES: usize = 256 << 10;

/// Bytes of a line that is not held whole that are searched together for the places of its matches,
/// in bytes. A match whose nearest end is further than half of it from its start is found where it
/// starts with the line or after another, and else late or not at all; whether the line matches is
/// always exact.
pub const WINDOW_BYTES: usize = 512 << 10;

/// Most bytes given of one match in such a line; of a longer one the beginning.
pub const MATCH_BYTES_MAX: usize = WINDOW_BYTES / 2;

/// Memory that an automaton may take for states, of a budget of `memory_bytes`.
#[must_use]
pub fn cache_bytes_max(memory_bytes: u64) -> u64 {
    (memory_bytes / CACHE_SHARE).max(CACHE_BYTES_MIN)
}

/// Memory that a text may take that is held whole, of a budget of `memory_bytes`.
#[must_use]
pub fn multiline_bytes_max(memory_bytes: u64) -> u64 {
    memory_bytes / MULTILINE_SHARE
}

/// Memory that names of files may take which are sorted, of a budget of `memory_bytes`.
#[must_use]
pub fn sort_bytes_max(memory_bytes: u64) -> u64 {
    memory_bytes / SORT_SHARE
}

/// Output of a file that is held until those before it have printed, of a budget of `memory_bytes`.
#[must_use]
pub fn held_bytes_max(memory_bytes: u64) -> usize {
    usize::try_from(memory_bytes / HELD_SHARE).unwrap_or(usize::MAX)
}

const _: () = assert!(HITS_MAX * size_of::<crate::HitRange>() < 256 << 10);

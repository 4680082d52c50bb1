//! Every limit of a search, with the memory it costs.

/// Hits that a worker notes for a chunk before it leaves the rest of that chunk to the report: 12
/// bytes each, at most once a worker and once for each chunk that waits.
pub const HITS_MAX: usize = 16 << 10;

/// Share of the budget that the patterns may take when compiled, and that a worker's automaton may
/// keep of its states. Each is a 64th: 4 MiB of 256 MiB. Patterns that are larger have twice as
/// much, and twice that, as long as there is memory for it with fewer threads.
pub const PATTERN_SHARE: u64 = 64;

/// Least memory for compiled patterns, in bytes; enough for every pattern that a person types.
pub const PATTERN_BYTES_MIN: u64 = 1 << 20;

/// Memory needed while patterns are compiled, as a multiple of their limit: syntax trees,
/// the automaton for each direction, literals. Measured with the patterns of the tests.
pub const COMPILE_FACTOR: u64 = 6;

/// Memory that compiling may take for each byte of the patterns' text: trees of syntax and of
/// meaning. Measured: up to 234 where case is folded, 210 for regular expressions.
pub const TEXT_FACTOR: u64 = 256;

/// Memory that compiling may take for each byte of plain words, which need no trees. Measured: up
/// to 56.
pub const WORD_FACTOR: u64 = 64;

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

/// Memory that compiled patterns may take, of a budget of `memory_bytes`.
#[must_use]
pub fn pattern_bytes_max(memory_bytes: u64) -> u64 {
    (memory_bytes / PATTERN_SHARE).max(PATTERN_BYTES_MIN)
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

//! The limits of filters, and their costs.

/// Longest text that is read as a filter, in bytes.
pub const FILTER_BYTES_MAX: usize = 64 << 10;

/// Memory of the tree, in bytes for each of its text at most: a condition is some 100
/// bytes and takes at least two, an `and` or `or` has room for four.
const TREE_BYTES: usize = 50;

/// Parentheses and `not`s within each other; each takes some hundred bytes of stack.
pub const FILTER_DEPTH_MAX: usize = 64;

/// Conditions of a filter; each takes a bit for each distinct value of its column while a view is
/// counted. `in (…)` is one.
pub const CONDITIONS_MAX: usize = 64;

/// Conditions `any` of a filter; each takes a bit for each distinct value of all columns.
pub const ANYWHERE_MAX: usize = 8;

/// Bytes of a rejected line that are kept of it, and looked through.
pub const REJECTED_BYTES_MAX: usize = 1 << 10;

/// Regular expressions of one filter.
pub const PATTERNS_MAX: usize = 8;

/// Text of a regular expression, in bytes. What it stands for is spelt out before its size is
/// known: three bytes (`\pL`) become 6 KiB, so this is 4 MiB for a moment.
pub const PATTERN_TEXT_BYTES_MAX: usize = 2 << 10;

/// The memory that the program of a regular expression may take, in bytes, and what a thread may
/// remember of it.
pub const PATTERN_BYTES_MAX: usize = 256 << 10;

/// Memory of a regular expression in all: there is a program for each direction, and what was
/// found out about it. Measured at the limits: 1.7 times the limit, and by each thread that asks
/// 1.4 times.
const PATTERN_BYTES: usize = 2 * PATTERN_BYTES_MAX;
const PATTERN_THREAD_BYTES: usize = PATTERN_BYTES_MAX * 3 / 2;

/// Agents whose classes a matcher remembers, and the bytes that each may have; a full memory starts
/// afresh.
pub(super) const AGENTS_MAX: usize = 2048;
pub(super) const AGENT_BYTES_MAX: usize = 512;

/// Memory of these: beside its text each has an entry of the table, and maybe the name of a bot.
const AGENTS_BYTES: usize = AGENTS_MAX * (AGENT_BYTES_MAX + 512);

/// The most memory of any filter when as many threads ask it, in bytes.
#[must_use]
pub const fn filter_bytes_max(threads: usize) -> u64 {
    bytes(FILTER_BYTES_MAX, PATTERNS_MAX, 0, threads)
}

/// Memory of a filter whose text, whose regular expressions and whose memories of agents are so
/// many.
pub(super) const fn bytes(text_bytes: usize, patterns: usize, memories: usize, threads: usize) -> u64 {
    let each = patterns * PATTERN_THREAD_BYTES + memories * AGENTS_BYTES;
    (text_bytes * TREE_BYTES + patterns * PATTERN_BYTES + threads * each) as u64
}

//! A condition that must be true, and the comparison of a process's resources.

use crate::process::Held;
use std::collections::BTreeMap;

/// Tolerance of the resident size at rest: the server's allocator has four arenas, whose fill
/// depends on the order in which threads met.
const RESIDENT_TOLERANCE_BYTES: u64 = 24 << 20;

/// A blocking thread that has nothing to do stays for a little; of these there are as many as there
/// were calls at once.
const SERVER_THREADS_TOLERANCE: usize = 4;

/// One thing that must be true.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) ok: bool,
    pub(crate) text: String,
}

impl Check {
    pub(crate) fn new(name: &'static str, ok: bool, text: String) -> Self {
        Self { name, ok, text }
    }

    pub(crate) fn print(&self) {
        println!("{} {}: {}", if self.ok { "  ok  " } else { "FAILED" }, self.name, self.text);
    }
}

pub(crate) fn server_threads(before: &Held, after: &Held) -> Check {
    Check::new(
        "server's threads",
        after.threads <= before.threads + SERVER_THREADS_TOLERANCE,
        format!("{} before, {} after", before.threads, after.threads),
    )
}

pub(crate) fn resident(name: &'static str, before: &Held, after: &Held) -> Check {
    let (was, is) = (before.resident_bytes, after.resident_bytes);
    let text = format!("{:.1} MiB before, {:.1} MiB after, tolerance {} MiB", mib(was), mib(is), RESIDENT_TOLERANCE_BYTES >> 20);
    Check::new(name, is <= was + RESIDENT_TOLERANCE_BYTES, text)
}

pub(crate) fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// True if nothing has come to those before.
pub(crate) fn same(name: &'static str, before: &[String], after: &[String]) -> Check {
    let (more, less) = (surplus(after, before), surplus(before, after));
    let text = match (more.is_empty(), less.is_empty()) {
        (true, true) => format!("{} before and after", before.len()),
        _ => format!("more: {more:?}, fewer: {less:?}"),
    };
    // Fewer are no leak: a connection that the warm-up had kept.
    Check::new(name, more.is_empty(), text)
}

/// Of `these`, those that `those` has fewer of.
fn surplus(these: &[String], those: &[String]) -> Vec<String> {
    let mut counts = BTreeMap::<&str, i64>::new();
    these.iter().for_each(|one| *counts.entry(kind(one)).or_default() += 1);
    those.iter().for_each(|one| *counts.entry(kind(one)).or_default() -= 1);
    counts.into_iter().filter(|(_, count)| *count > 0).map(|(name, count)| format!("{count} x {name}")).collect()
}

/// `socket:[1234]` is another number each time.
fn kind(descriptor: &str) -> &str {
    descriptor.split_once(":[").map_or(descriptor, |(kind, _)| kind)
}

//! What must be true at the end.

use crate::process::Held;
use crate::recorder::Recorder;
use crate::serve::Serve;
use crate::work::Kit;
use crate::work::store::BLOBS;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How far the resident size at rest may be from what it was: the allocator keeps what it may need again, in an arena a thread, and
/// how full those are depends on who met whom.
const RESIDENT_TOLERANCE_BYTES: u64 = 24 << 20;

/// tokio keeps a blocking thread that has nothing to do for ten seconds; of these there are as many as there were calls at once.
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

/// What is there while no operation is under way.
pub(crate) struct Rest {
    own: Held,
    server: Held,
    files: Vec<PathBuf>,
    buffers: usize,
}

impl Rest {
    /// Looks once nothing is being closed any more.
    pub(crate) fn of(kit: &Kit, server: &Serve) -> Self {
        let server = server.at_rest();
        kit.pool.release_free();
        let own = Held::settled("self");
        Self { own, server, files: files_below(kit.folder()), buffers: kit.pool.lent() }
    }
}

/// All that is left over.
pub(crate) fn leftovers(before: &Rest, after: &Rest) -> Vec<Check> {
    vec![
        same("descriptors", &before.own.descriptors, &after.own.descriptors),
        Check::new(
            "threads",
            before.own.threads == after.own.threads,
            format!("{} before, {} after", before.own.threads, after.own.threads),
        ),
        same("files", &shown(&before.files), &shown(&after.files)),
        Check::new("buffers", after.buffers == 0, format!("{} on lease", after.buffers)),
        resident("resident size", &before.own, &after.own),
        same("server's descriptors", &before.server.descriptors, &after.server.descriptors),
        Check::new(
            "server's threads",
            after.server.threads <= before.server.threads + SERVER_THREADS_TOLERANCE,
            format!("{} before, {} after", before.server.threads, after.server.threads),
        ),
        resident("server's resident size", &before.server, &after.server),
    ]
}

/// What the operations themselves said.
pub(crate) fn of_work(kit: &Kit, recorder: &Recorder) -> Vec<Check> {
    let wrong = kit.tallies.wrong();
    let in_flight: Vec<String> = recorder
        .all()
        .into_iter()
        .filter(|(name, _, sum)| name.starts_with("rorqual_operations_in_flight") && *sum != 0.0)
        .map(|(name, _, sum)| format!("{name}: {sum}"))
        .collect();
    vec![
        Check::new("answers", wrong.is_empty(), if wrong.is_empty() { "all as expected".to_owned() } else { wrong.join("; ") }),
        Check::new(
            "in flight",
            in_flight.is_empty(),
            if in_flight.is_empty() { "none".to_owned() } else { in_flight.join("; ") },
        ),
        idle(kit),
    ]
}

/// A kind of operation that never ran, or never did what it is for, was not soaked.
fn idle(kit: &Kit) -> Check {
    let done = kit.tallies.done();
    let idle: Vec<&str> = kit.operations().filter(|name| !done.contains(*name)).collect();
    Check::new(
        "every operation ran",
        idle.is_empty(),
        if idle.is_empty() { "yes".to_owned() } else { format!("not {}", idle.join(", ")) },
    )
}

fn resident(name: &'static str, before: &Held, after: &Held) -> Check {
    let (was, is) = (before.resident_bytes, after.resident_bytes);
    let text = format!("{:.1} MiB before, {:.1} MiB after, tolerance {} MiB", mib(was), mib(is), RESIDENT_TOLERANCE_BYTES >> 20);
    Check::new(name, is <= was + RESIDENT_TOLERANCE_BYTES, text)
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

fn same(name: &'static str, before: &[String], after: &[String]) -> Check {
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

fn shown(files: &[PathBuf]) -> Vec<String> {
    files.iter().map(|path| path.to_string_lossy().into_owned()).collect()
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("it is there").flatten() {
        let path = entry.path();
        if path.ends_with(BLOBS) {
            continue;
        }
        if path.is_dir() { found.extend(files_below(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

//! Conditions at the end of a soak.

use crate::check::{Check, resident, same, server_threads};
use crate::process::Held;
use crate::recorder::Recorder;
use crate::serve::Serve;
use crate::work::Kit;
use crate::work::store::BLOBS;
use std::path::{Path, PathBuf};

/// Resources that are held while no operation is under way.
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
        server_threads(&before.server, &after.server),
        resident("server's resident size", &before.server, &after.server),
    ]
}

/// Results of the operations themselves.
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

/// Operations that never ran, or never succeeded, were not soaked.
fn idle(kit: &Kit) -> Check {
    let done = kit.tallies.done();
    let idle: Vec<&str> = kit.operations().filter(|name| !done.contains(*name)).collect();
    Check::new(
        "every operation ran",
        idle.is_empty(),
        if idle.is_empty() { "yes".to_owned() } else { format!("not {}", idle.join(", ")) },
    )
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

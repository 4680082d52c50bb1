//! Conditions of the server at rest: over the first life, with its watched memory, and at every
//! look.

use crate::check::{Check, mib, same, server_threads};
use crate::director::Rest;
use crate::lives::MEMORY_BYTES;
use crate::slope::slope;

/// Growth of the resident size from the first look to the last: between large logs and small ones
/// the allocator keeps some 40 MiB more or less.
const RESIDENT_TOLERANCE_BYTES: u64 = 48 << 20;

/// The same where there are only seconds: its arenas still come to their size.
const RESIDENT_TOLERANCE_FAST_BYTES: u64 = 64 << 20;

pub(crate) fn checks(rests: &[Rest], peak_bytes: u64, fast: bool) -> Vec<Check> {
    let first_life: Vec<&Rest> = rests.iter().filter(|rest| rest.life == 0).collect();
    let (Some(first), Some(last)) = (first_life.first(), first_life.last()) else {
        return vec![Check::new("looks at rest", false, "none".to_owned())];
    };
    vec![
        same("server's descriptors", &first.held.descriptors, &last.held.descriptors),
        server_threads(&first.held, &last.held),
        growth(&first_life, if fast { RESIDENT_TOLERANCE_FAST_BYTES } else { RESIDENT_TOLERANCE_BYTES }),
        Check::new(
            "server's peak",
            peak_bytes <= MEMORY_BYTES,
            format!("{:.1} MiB of {:.0} MiB", mib(peak_bytes), mib(MEMORY_BYTES)),
        ),
        none(rests, "buffers", |rest| rest.lent_bytes, "bytes on lease"),
        none(rests, "sessions", |rest| rest.sessions as u64, "left"),
        none(rests, "temporary files", |rest| rest.temp.len() as u64, "left"),
        state(rests),
    ]
}

/// Growth of the resident size from the first look to the last, by the slope of all.
fn growth(rests: &[&Rest], tolerance_bytes: u64) -> Check {
    let points: Vec<(f64, f64)> = rests.iter().map(|rest| (rest.seconds, rest.held.resident_bytes as f64)).collect();
    let seconds = points[points.len() - 1].0 - points[0].0;
    let slope = slope(&points);
    let grown = slope * seconds;
    let text = format!(
        "{:+.2} MiB/min over {seconds:.0} s and {} looks, {:.1} MiB at the first and {:.1} at the last, tolerance {} MiB in all",
        slope * 60.0 / f64::from(1 << 20),
        points.len(),
        points[0].1 / f64::from(1 << 20),
        points[points.len() - 1].1 / f64::from(1 << 20),
        tolerance_bytes >> 20
    );
    Check::new("server's resident size", points.len() > 2 && grown <= tolerance_bytes as f64, text)
}

fn none(rests: &[Rest], name: &'static str, count: impl Fn(&Rest) -> u64, what: &str) -> Check {
    let most = rests.iter().map(count).max().unwrap_or(u64::MAX);
    Check::new(name, most == 0, format!("{most} {what} at most, {} looks", rests.len()))
}

/// Without sessions there are no files of sessions: the files are those of the first look.
fn state(rests: &[Rest]) -> Check {
    let first = &rests[0].state;
    let more: Vec<&String> = rests.iter().flat_map(|rest| &rest.state).filter(|name| !first.contains(name)).collect();
    Check::new("files of the state", more.is_empty(), format!("{first:?}, and later {more:?}"))
}

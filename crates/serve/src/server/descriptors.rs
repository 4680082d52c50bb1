//! Open files: as many as the server may need are allowed at its start, or it does not start.

use crate::limits::{FILES_BASE, FILES_PER_CONNECTION, FILES_PER_SESSION};
use crate::setting::CONNECTIONS;
use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Files that a server of so many connections and sessions may have open at a time.
pub(crate) fn needed(connections: usize, sessions: usize) -> u64 {
    FILES_BASE + connections as u64 * FILES_PER_CONNECTION + sessions as u64 * FILES_PER_SESSION
}

/// Raises the soft limit of this process to `needed`, where it is lower.
///
/// # Errors
/// When the hard limit is lower; the message has both, and the ways out.
pub(crate) fn allow(needed: u64, connections: usize) -> Result<(), String> {
    // Where the system does not tell its limit, it has none that is known.
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return Ok(()) };
    if soft >= needed {
        return Ok(());
    }
    let cannot = |why: &str| {
        format!(
            "{CONNECTIONS} {connections}: the server may need {needed} open files, and {why}; raise that (`ulimit -n {needed}`), or give fewer \
             {CONNECTIONS}"
        )
    };
    if hard < needed {
        return Err(cannot(&format!("this process may have {hard} (the hard limit)")));
    }
    setrlimit(Resource::RLIMIT_NOFILE, needed, hard).map_err(|error| cannot(&format!("may have {soft}: {error}")))
}

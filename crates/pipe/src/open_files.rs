//! Open files: as many at a time as the system lets this process have.

use nix::sys::resource::{Resource, getrlimit, setrlimit};
use rustix::io::Errno;
use std::io;

/// Raises the soft limit of this process to the hard one: a run over thousands of files has as many
/// open. Where that fails the run goes on, and an error at a file tells the limit.
pub fn raise() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

/// The limit and the way to a higher one, for the error of a file that could not be opened because
/// of it.
#[must_use]
pub fn advice(cause: &io::Error) -> Option<String> {
    if cause.raw_os_error() != Some(Errno::MFILE.raw_os_error()) {
        return None;
    }
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or_else(|_| String::new(), |(soft, _)| format!(" {soft} at a time, and"));
    Some(format!(": this process may have{limit} no more: raise the hard limit (`ulimit -n`), or name fewer files"))
}

//! Exit codes, as documented in the README.

use std::process::ExitCode;

/// How the process ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Exit {
    /// Everything was done, or the reader of our output had enough.
    Done,
    /// Wrong usage, or at least one bad input; what could be done was done.
    Bad,
    /// Ctrl-C; what was printed is of what was read by then.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Bad => 2,
            // As shells report a death by SIGINT.
            Exit::Interrupted => 130,
        })
    }
}

//! Exit codes, as documented in `docs/scripts.md`.

use std::process::ExitCode;

/// Exit code of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum QueryExit {
    /// Everything was done, or the reader of our output had enough.
    Done,
    /// Wrong usage, a query that can't be answered, or a bad input.
    Bad,
    /// Ctrl-C, or a signal that asks to end.
    Interrupted,
}

impl QueryExit {
    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Bad => 2,
            // As shells report a death by SIGINT.
            Self::Interrupted => 130,
        }
    }
}

impl From<QueryExit> for ExitCode {
    fn from(exit: QueryExit) -> Self {
        Self::from(exit.code())
    }
}

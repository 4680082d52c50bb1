//! Exit codes, as documented in `docs/scripts.md`.

use std::process::ExitCode;

/// Exit code of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitStatus {
    /// Everything was done, or the reader of our output had enough.
    Done,
    /// Nothing was found, or something differs, where `grep` and `sha256sum` say so.
    Not,
    /// Wrong usage, or at least one bad input; all other work was done.
    Bad,
    /// `fetch`: no connection: an unknown name, a port without a server, or an untrusted
    /// certificate.
    NoConnection,
    /// `fetch`: the server answered with something other than the file.
    BadAnswer,
    /// `fetch`: the transfer broke and trying again did not help; the received part is kept.
    Broken,
    /// `fetch`: everything has arrived and has another digest; it is kept aside.
    WrongDigest,
    /// `fetch`: a time limit; the received part is kept.
    TimedOut,
    /// Ctrl-C; the output is of the input read by then.
    Interrupted,
}

impl ExitStatus {
    /// Exit code of the process.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Not => 1,
            Self::Bad => 2,
            Self::NoConnection => 3,
            Self::BadAnswer => 4,
            Self::Broken => 5,
            Self::WrongDigest => 6,
            Self::TimedOut => 7,
            // As shells report a death by SIGINT.
            Self::Interrupted => 130,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(exit: ExitStatus) -> Self {
        Self::from(exit.code())
    }
}

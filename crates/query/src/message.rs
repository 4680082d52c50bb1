//! Messages on stderr.

use crate::exit::QueryExit;
use rorqual_pipe::escaped;
use std::fmt::Display;
use std::io::{self, ErrorKind};

/// Says an error and gives the exit code for it. Control characters are escaped: names and causes
/// may be foreign.
pub(crate) fn error(error: &dyn Display) -> QueryExit {
    note(error);
    QueryExit::Bad
}

/// Says something that is no error.
pub(crate) fn note(text: &dyn Display) {
    eprintln!("rorqual: {}", escaped(&text.to_string()));
}

/// The end after a failure to print: silent success when the reader closed the pipe.
pub(crate) fn print_error(cause: &io::Error) -> QueryExit {
    if cause.kind() == ErrorKind::BrokenPipe {
        return QueryExit::Done;
    }
    error(&format!("cannot write: {}", rorqual_pipe::reason(cause)))
}

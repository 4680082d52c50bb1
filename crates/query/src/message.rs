//! What is said on stderr.

use crate::exit::Exit;
use rorqual_pipe::escaped;
use std::fmt::Display;
use std::io::{self, ErrorKind};

/// Says an error and gives the exit code for it. Control characters are escaped: names and causes may be foreign.
pub(crate) fn error(error: &dyn Display) -> Exit {
    note(error);
    Exit::Bad
}

/// Says something that is no error.
pub(crate) fn note(text: &dyn Display) {
    eprintln!("rorqual: {}", escaped(&text.to_string()));
}

/// The end after a failure to print: silent success when the reader closed the pipe.
pub(crate) fn print_error(cause: &io::Error) -> Exit {
    if cause.kind() == ErrorKind::BrokenPipe {
        return Exit::Done;
    }
    error(&format!("cannot write: {}", rorqual_pipe::reason(cause)))
}

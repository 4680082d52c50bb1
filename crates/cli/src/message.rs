//! What is said on stderr, and how output errors end a verb.

use crate::exit::Exit;
pub(crate) use rorqual_pipe::escaped;
use rorqual_pipe::reason;
use std::fmt::Display;
use std::io::{self, ErrorKind};

/// Says an error and gives the exit code for it. Control characters are escaped: names and causes may be foreign.
pub(crate) fn error(error: &dyn Display) -> Exit {
    anstream::eprintln!("rorqual: {}", escaped(&error.to_string()));
    Exit::Bad
}

/// Says something that is no error.
pub(crate) fn note(text: &dyn Display) {
    anstream::eprintln!("rorqual: {}", escaped(&text.to_string()));
}

/// The end after a failure to print: silent success when the reader closed the pipe.
pub(crate) fn print_error(cause: &io::Error) -> Exit {
    if cause.kind() == ErrorKind::BrokenPipe { Exit::Done } else { error(&format!("cannot write: {}", reason(cause))) }
}

//! What is said on stderr.

use crate::exit::Exit;
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

/// Text with its control characters made visible, newlines kept: safe to show on a terminal.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if steers(character) && character != '\n' {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    safe
}

/// Whether a terminal would do something else with it than show it. Bidirectional controls too: they reverse what follows.
pub(crate) fn steers(character: char) -> bool {
    character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

//! What is said on stderr, and how output errors end a verb.

use crate::exit::Exit;
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

/// Text with its control characters made visible, newlines kept: safe to show on a terminal.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        // Bidirectional controls too: they reverse what is shown of the rest of the line.
        let steers = character.is_control() || matches!(character, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if steers && character != '\n' {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_log_line_can_not_steer_the_terminal() {
        assert_eq!(super::escaped("a\u{1b}[2Jb\u{9b}31m\tc\nd"), "a\\u{1b}[2Jb\\u{9b}31m\\tc\nd");
    }
}

//! Messages on stderr, and the end of a verb at output errors.

use crate::exit::ExitStatus;
use crate::interrupt;
use rorqual_pipe::reason;
pub use rorqual_pipe::{escaped, escaped_line};
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Says an error and gives the exit code for it. Control characters are escaped: names and causes
/// may be foreign.
pub fn error(error: &dyn Display) -> ExitStatus {
    note(error);
    ExitStatus::Bad
}

/// Says something that is no error.
pub fn note(text: &dyn Display) {
    line(&format_args!("rorqual: {}", harmless(&text.to_string())));
}

/// Writes a line to stderr, as it is. Where nobody reads that any more the work goes on: it ends
/// with the exit code that it has earned.
pub fn line(text: &dyn Display) {
    let text = format!("{text}\n");
    match &mut *held() {
        Some(held) if held.len() < HELD_MAX => held.push(text),
        Some(_) => {}
        None => {
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}

/// Messages that are held at most; later ones are lost.
const HELD_MAX: usize = 200;

/// Messages that wait, while the terminal is a screen.
static HELD: Mutex<Option<Vec<String>>> = Mutex::new(None);

fn held() -> MutexGuard<'static, Option<Vec<String>>> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Holds messages until it is dropped, which writes them.
#[derive(Debug)]
pub struct HeldMessages(());

impl HeldMessages {
    /// Begins to hold messages.
    #[must_use]
    pub fn hold() -> Self {
        held().get_or_insert_default();
        Self(())
    }

    /// Number of messages by now, and the last of them.
    #[must_use]
    pub fn last(&self) -> (usize, Option<String>) {
        held().as_ref().map_or((0, None), |held| (held.len(), held.last().cloned()))
    }
}

impl Drop for HeldMessages {
    fn drop(&mut self) {
        for text in held().take().unwrap_or_default() {
            let _ = io::stderr().write_all(text.as_bytes());
        }
    }
}

/// Text that steers no terminal, in which no argument begins a line: a message may have several,
/// and its quotes are on one.
fn harmless(text: &str) -> String {
    let mut text = text.to_owned();
    for arg in std::env::args_os().filter_map(|arg| arg.into_string().ok()).filter(|arg| arg.contains('\n')) {
        let name = Path::new(&arg).file_name().map(|name| name.to_string_lossy().into_owned());
        for quoted in [Some(arg), name].into_iter().flatten().filter(|quoted| !quoted.trim().is_empty()) {
            text = text.replace(&quoted, &escaped_line(&quoted));
        }
    }
    escaped(&text)
}

/// The end after a failure to print: silent success when the reader closed the pipe.
pub fn print_error(cause: &io::Error) -> ExitStatus {
    match cause.kind() {
        ErrorKind::BrokenPipe => interrupt::exit_of_closed(),
        _ => error(&format!("cannot write: {}", reason(cause))),
    }
}

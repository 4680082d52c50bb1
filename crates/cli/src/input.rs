//! Inputs as verbs open them.

use crate::message;
use rorqual_pipe::{Error, Input};
use std::io::IsTerminal;
use std::path::Path;

/// The path of a file that is read as a whole: `-` is standard input.
pub(crate) fn real_path(path: &Path) -> &Path {
    if path.as_os_str() == "-" { Path::new("/dev/stdin") } else { path }
}

/// The same as [`Input::open`]; a user before a silent terminal is told that it is waited for.
///
/// # Errors
/// As [`Input::open`].
pub(crate) fn open(path: &Path) -> Result<Input, Error> {
    if path.as_os_str() == "-" && std::io::stdin().is_terminal() {
        message::note(&"reading standard input, which is this terminal: Ctrl-D ends it");
    }
    Input::open(path)
}

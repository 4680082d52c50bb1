//! Foreign text that a terminal is shown.

use std::ffi::OsString;
use std::path::Path;

/// Text with its control characters made visible, newlines kept: safe to show on a terminal.
#[must_use]
pub fn escaped(text: &str) -> String {
    visible(text, |character| character == '\n')
}

/// Text on one line, its newlines made visible too: a name, which must not forge a line of its own.
#[must_use]
pub fn escaped_line(text: &str) -> String {
    visible(text, |_| false)
}

/// A path on one line of a message.
#[must_use]
pub fn escaped_path(path: impl AsRef<Path>) -> String {
    escaped_line(&path.as_ref().to_string_lossy())
}

/// The program's arguments as they may be shown. A parser's message about them holds for the real
/// ones, and steers no terminal.
pub fn escaped_args() -> impl Iterator<Item = OsString> {
    std::env::args_os().map(|arg| match arg.to_str() {
        Some(text) => escaped_line(text).into(),
        None => arg,
    })
}

fn visible(text: &str, kept: impl Fn(char) -> bool) -> String {
    let mut safe = String::with_capacity(text.len());
    for character in text.chars() {
        if steers(character) && !kept(character) {
            safe.extend(character.escape_default());
        } else {
            safe.push(character);
        }
    }
    safe
}

/// Control characters, those that reverse the rest of a line, and those that end one.
fn steers(character: char) -> bool {
    let bidirectional =
        matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    bidirectional || character.is_control() || matches!(character, '\u{2028}' | '\u{2029}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_line_can_not_steer_the_terminal() {
        assert_eq!(escaped("a\u{1b}[2Jb\u{9b}31m\tc\nd\u{202e}e"), "a\\u{1b}[2Jb\\u{9b}31m\\tc\nd\\u{202e}e");
    }

    #[test]
    fn a_name_is_one_line() {
        assert_eq!(escaped_line("a\r\nb\u{2028}c"), "a\\r\\nb\\u{2028}c");
    }
}

//! Foreign text that a terminal is shown.

/// Text with its control characters made visible, newlines kept: safe to show on a terminal.
#[must_use]
pub fn escaped(text: &str) -> String {
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

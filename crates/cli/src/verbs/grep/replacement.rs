//! Text printed in place of a match, with the matches of the pattern's groups.

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;

/// A part of a replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Replacing {
    Text(Vec<u8>),
    Group(usize),
}

/// The parts of a replacement as ripgrep reads it: `$1`, `$name` with the longest name there can
/// be, `${name}`, `$$`. A group that the pattern has not is nothing.
pub(crate) fn parts(text: &str, matcher: &RegexMatcher) -> Vec<Replacing> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        parts.push(Replacing::Text(before.as_bytes().to_vec()));
        let plain = after.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
        let (name, length) = match after.strip_prefix('{').and_then(|inner| inner.split_once('}')) {
            Some((name, _)) => (name, name.len() + 2),
            None => (&after[..plain], plain),
        };
        if after.starts_with('$') || name.is_empty() {
            parts.push(Replacing::Text(b"$".to_vec()));
            rest = after.strip_prefix('$').unwrap_or(after);
            continue;
        }
        let group = name.parse().ok().or_else(|| matcher.capture_index(name));
        parts.extend(group.map(Replacing::Group));
        rest = &after[length..];
    }
    parts.push(Replacing::Text(rest.as_bytes().to_vec()));
    parts.retain(|part| *part != Replacing::Text(Vec::new()));
    parts
}

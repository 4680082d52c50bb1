//! Formats that stand in a server's configuration.

use super::compile::Escaping;
use super::error::FormatError;
use super::{Format, nginx};

/// All formats that a configuration defines: `log_format name …;` of nginx and `LogFormat "…" name` of
/// Apache. A definition that cannot be compiled is listed with its error, whose column counts in the
/// format string as the server would see it.
pub fn formats_in_config(text: &str) -> Vec<(String, Result<Format, FormatError>)> {
    let mut formats = nginx_formats(text);
    formats.extend(apache_formats(text));
    formats
}

fn nginx_formats(text: &str) -> Vec<(String, Result<Format, FormatError>)> {
    let mut formats = Vec::new();
    for words in nginx_statements(text) {
        let [directive, name, rest @ ..] = &*words else {
            continue;
        };
        if directive != "log_format" {
            continue;
        }
        formats.push((name.clone(), nginx_format(name, rest)));
    }
    formats
}

fn nginx_format(name: &str, words: &[String]) -> Result<Format, FormatError> {
    let (escaping, words) = match words {
        [first, rest @ ..] if first.starts_with("escape=") => (first["escape=".len()..].to_owned(), rest),
        all => (String::new(), all),
    };
    let source = words.concat();
    let escaping = if escaping == "none" { Escaping::None } else { Escaping::Backslash };
    Format::nginx(name, &source, escaping)
}

/// Statements of an nginx configuration as words, quotes and escapes undone. A block's head counts as one.
fn nginx_statements(text: &str) -> Vec<Vec<String>> {
    let mut statements = Vec::new();
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            ';' | '{' | '}' => {
                statements.push(std::mem::take(&mut words));
                &rest[1..]
            }
            '#' => rest.find('\n').map_or("", |end| &rest[end..]),
            '"' | '\'' => {
                let (word, after) = nginx_quoted(&rest[1..], first);
                words.push(word);
                after
            }
            space if space.is_whitespace() => &rest[space.len_utf8()..],
            _ => {
                let (word, after) = nginx_bare(rest);
                words.push(word);
                after
            }
        };
    }
    statements.push(words);
    statements
}

/// The text up to an unescaped `quote`, and what follows it.
fn nginx_quoted(text: &str, quote: char) -> (String, &str) {
    let mut word = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => push_nginx_escape(chars.next().map(|(_, escaped)| escaped), &mut word),
            _ if char == quote => return (word, &text[at + 1..]),
            _ => word.push(char),
        }
    }
    (word, "")
}

fn nginx_bare(text: &str) -> (String, &str) {
    let mut word = String::new();
    let mut chars = text.char_indices();
    while let Some((at, char)) = chars.next() {
        match char {
            '\\' => push_nginx_escape(chars.next().map(|(_, escaped)| escaped), &mut word),
            // A block, unless it is the brace of ${name}.
            '{' if word.ends_with('$') => {
                word.push('{');
                word.extend(chars.by_ref().map(|(_, inner)| inner).take_while(|inner| *inner != '}'));
                word.push('}');
            }
            ';' | '{' => return (word, &text[at..]),
            _ if char.is_whitespace() => return (word, &text[at..]),
            _ => word.push(char),
        }
    }
    (word, "")
}

fn push_nginx_escape(escaped: Option<char>, word: &mut String) {
    match escaped {
        Some(char @ ('"' | '\'' | '\\')) => word.push(char),
        Some('t') => word.push('\t'),
        Some('r') => word.push('\r'),
        Some('n') => word.push('\n'),
        other => {
            word.push('\\');
            word.extend(other);
        }
    }
}

fn apache_formats(text: &str) -> Vec<(String, Result<Format, FormatError>)> {
    let joined = text.replace("\\\r\n", "").replace("\\\n", "");
    joined.lines().filter_map(apache_format).collect()
}

/// `LogFormat "…" name`; one without a name is Apache's default format.
fn apache_format(line: &str) -> Option<(String, Result<Format, FormatError>)> {
    let line = line.trim();
    let (directive, rest) = line.split_once(char::is_whitespace)?;
    if !directive.eq_ignore_ascii_case("LogFormat") {
        return None;
    }
    let (source, rest) = apache_word(rest.trim_start());
    let name = apache_word(rest.trim_start()).0;
    let name = if name.is_empty() { "default" } else { name };
    Some((name.to_owned(), Format::apache(name, source)))
}

/// The first word, without its quotes but with its escapes, which mean the same in a format string.
fn apache_word(text: &str) -> (&str, &str) {
    let Some(quote @ ('"' | '\'')) = text.chars().next() else {
        return text.split_once(char::is_whitespace).unwrap_or((text, ""));
    };
    let inner = &text[1..];
    let mut escaped = false;
    for (at, char) in inner.char_indices() {
        if char == quote && !escaped {
            return (&inner[..at], &inner[at + 1..]);
        }
        escaped = char == '\\' && !escaped;
    }
    (inner, "")
}

/// A whole definition given where a format string was asked for, if it is one.
pub(crate) fn definition(text: &str) -> Option<Result<Format, FormatError>> {
    if text.starts_with("log_format") || text.get(..9).is_some_and(|start| start.eq_ignore_ascii_case("LogFormat")) {
        return formats_in_config(text).into_iter().next().map(|(_, format)| format);
    }
    // The quoted pieces of a log_format without its head.
    if text.starts_with('\'') && nginx::has_variable(text) {
        return nginx_formats(&format!("log_format custom {text};")).into_iter().next().map(|(_, format)| format);
    }
    None
}
